"""Case: the model to ship, the others and the evidence, and the phrases that sentences about them share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, isnan, nan
from typing import TYPE_CHECKING

from ._formats import Cell, coverage, factor, number, percent, pvalue, share, short

if TYPE_CHECKING:
    from .crossings import Crossings
    from .results import AssessmentSettings, Comparison, ModelRow, Segment

LISTED = 3
"""Models or segments that are named before the rest are counted."""


@dataclass(frozen=True, slots=True)
class Case:
    """The model to ship, the others (next best first) and the evidence."""

    best: ModelRow
    others: tuple[ModelRow, ...]
    settings: AssessmentSettings
    comparisons: Sequence[Comparison]
    segments: Sequence[Segment]
    crossings: Sequence[Crossings]

    @property
    def name(self) -> str:
        """The model to ship, as it appears in a sentence."""
        return short(self.best.name)

    @property
    def second(self) -> ModelRow | None:
        """The next best model, where there is one."""
        return self.others[0] if self.others else None

    @property
    def target(self) -> Cell:
        """The coverage that was asked for, or is shown."""
        return coverage(self.settings.shown_coverage)

    @property
    def short(self) -> list[Segment]:
        """Segments that the model to ship leaves short, surest first."""
        own = (one for one in self.segments if one.model == self.best.name and one.short)
        return sorted(own, key=lambda one: (one.short_pvalue, one.pvalue))

    def pvalue(self, row: ModelRow) -> float:
        """Adjusted p-value of the model to ship against another; nan where they were not tested."""
        pair = {self.best.name, row.name}
        return next((one.pvalue_holm for one in self.comparisons if {one.first, one.second} == pair), nan)

    def is_worse(self, row: ModelRow) -> bool:
        """Whether a model is shown to be worse than the one to ship."""
        return row.rank > self.best.rank and self.pvalue(row) <= 1 - self.settings.confidence_level


def is_reachable(row: ModelRow) -> bool:
    """Whether some factor, or shift, brings the model to the target."""
    return isfinite(row.half_width) and (isfinite(row.scale) or isfinite(row.shift))


def knob(row: ModelRow) -> str:
    """Return what calibrates the bands of a model."""
    return "shift" if isnan(row.scale) else "factor"


def change(one: ModelRow | Segment) -> str:
    """Return what is done to the bands: a factor, or by how much they are widened or narrowed."""
    if not isnan(one.scale):
        return str(factor(one.scale))
    return f"{'narrowed' if one.shift < 0 else 'widened'} by {number(abs(one.shift))}"


def need(segment: Segment) -> str:
    """Return what a segment alone would need; nothing where that is not known."""
    if isfinite(segment.scale):
        return f"would need {factor(segment.scale)}"
    return f"would need bands {change(segment)}" if isfinite(segment.shift) else ""


def covered(segment: Segment) -> str:
    """Return the coverage of a segment that counts: with what is shipped or, where nothing is, as delivered."""
    if isnan(segment.shipped_pvalue):
        return f"{share(segment.coverage)} as delivered"
    return f"{share(segment.shipped_coverage)} as shipped"


def fixed(row: ModelRow, segments: Sequence[Segment]) -> str:
    """Return how many failing segments the factor for all rows fixes; nothing where it fixes none."""
    failing = [one for one in segments if one.model == row.name and one.fails]
    left, total = sum(one.short for one in failing), len(failing)
    if left == total:
        return ""
    every = {1: "the", 2: "both"}.get(total, f"all {total}")
    which = f"{total - left} of the {total}" if left else every
    return f"Bands {change(row)} fix {which} failing segment{'s' if total > 1 else ''} of {short(row.name)}."


def p(value: float) -> str:
    """Return a p-value as part of a sentence.

    >>> p(0.03), p(1e-9), p(nan)
    ('p = 0.03', 'p < 0.001', 'not tested')
    """
    text = pvalue(value).text
    return "not tested" if isnan(value) else f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


def joined(words: Sequence[str], last: str) -> str:
    """Return words as a list, with "and" or "or" before the last.

    >>> joined(["A"], "or"), joined(["A", "B", "C"], "or")
    ('A', 'A, B or C')
    """
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def few_rows(row: ModelRow) -> str:
    """Return that few rows carry something, as the beginning of a sentence."""
    return f"{row.concentration:,} of {row.n:,} rows {'carries' if row.concentration == 1 else 'carry'}"


def skill(row: ModelRow, bands: str) -> str:
    """Return what a model's bands, as they are called, know beyond a constant band; nothing where that is undefined."""
    value = percent(row.skill, row.skill_low, row.skill_high)
    if isnan(row.skill):
        return ""
    if isnan(row.skill_low):
        return f"{bands} have a skill of {value} over a constant band."
    if percent(row.skill_low) == percent(row.skill_high) == percent(0.0):
        return f"{bands} do as well as a constant band: skill {value.text}."
    does = "do better" if row.skill_low > 0 else "do worse" if row.skill_high < 0 else "are not shown to do better"
    return f"{bands} {does} than a constant band: skill {value}."
