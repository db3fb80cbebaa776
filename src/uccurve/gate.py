"""Gate: whether proposed intervals may replace the present ones, as checks with one false-alarm rate for all."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from math import hypot, isfinite, isnan, log, nan
from typing import Any, Literal, Self

from uccurve import _refusals as checks
from uccurve._distributions import t_quantile
from uccurve._vocabulary import HEADLINE
from uccurve.assess.assemble import asked_settings
from uccurve.assess.model import Model
from uccurve.assess.models import curves_by_name
from uccurve.assess.segments import SegmentRows, segment_rows
from uccurve.curve import UCC
from uccurve.evidence.contributions import weights
from uccurve.evidence.tests import (
    checked_level,
    coverage_interval,
    coverage_tail,
    holm,
    one_sided_t_test,
    standard_error,
)
from uccurve.evidence.units import Blocks
from uccurve.intervals import Intervals
from uccurve.words.columns import plain
from uccurve.words.formats import amount, number, p, share, short
from uccurve.words.formats import coverage as percentage

SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~>-])")
SCHEMA = 1  # version of what `Gate.to_dict` returns
Intervalled = Intervals | UCC | Mapping[float, Intervals]


@dataclass(frozen=True, slots=True)
class SavedScore:
    """Interval score as delivered of a model whose rows are gone, with its standard error."""

    name: str
    score: float
    error: float

    @classmethod
    def of(cls, data: Mapping[str, Any], *, coverage: float | Fraction, name: str | None = None) -> Self:
        """Score of a model in a saved assessment (`Assessment.to_dict`, or what its JSON holds).

        The standard error is that of the score at its best scale, relative to it: a saved assessment has no other.
        """
        models = data.get("models", {})
        if name is None and len(models) > 1:
            raise ValueError(f"the saved assessment has several models ({', '.join(models)}): which is the baseline?")
        name = next(iter(models), None) if name is None else name
        try:
            settings, row = data["settings"], models[name]
            value, low, high = row["decomposition"]["score"], row["score_low"], row["score_high"]
            level, n, told, unit = settings["confidence_level"], row["n"], settings["shown_coverage"], settings["unit"]
        except (KeyError, TypeError):
            raise ValueError(f"no model {name!r} with its score is in the saved assessment.") from None
        if checks.as_written(told) != checks.as_written(coverage):
            raise ValueError(
                f"the saved assessment is for a coverage of {told:g}, the gate for {float(coverage):g}. "
                "Hint: assess the baseline at the same coverage."
            )
        if unit != "raw":
            raise ValueError("the saved assessment must be in units of y. Hint: assess the baseline without a unit.")
        if None in (value, low, high):
            raise ValueError(f"the saved assessment does not know how sure the score of {name!r} is: too few rows.")
        relative = (log(high) - log(low)) / (2 * t_quantile((1 + level) / 2, n - 1)) if low > 0 else 0.0
        return cls(str(name), float(value), float(value) * relative)


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of a gate.

    Attributes
    ----------
    statistic : {"coverage", "score"}
    segment : str or None
        The rows it is about; None for all of them.
    n : int
    value, reference : float
        Coverage as delivered and the promised one, or the interval scores as delivered of both models.
    difference, low, high : float
        Value minus reference, with its confidence interval.
    pvalue, pvalue_holm : float
        Probability of a difference as bad as this by chance, and the same adjusted for all checks; nan where it could
        not be tested.
    passed : bool
    """

    statistic: Literal["coverage", "score"]
    segment: str | None
    n: int
    value: float
    reference: float
    difference: float
    low: float
    high: float
    pvalue: float
    pvalue_holm: float = nan
    passed: bool = True


@dataclass(frozen=True, slots=True)
class Gate:
    """Whether proposed intervals pass, and every check behind it.

    Attributes
    ----------
    passed : bool
    checks : tuple of Check
    coverage, level : float
        The promised coverage, and the false-alarm rate of all checks together.
    margin : float or str
        How much worse the score may be.
    baseline, proposed : str
        Names of the models.
    paired : bool
        Whether scores were compared row by row.
    notes : tuple of str
    """

    passed: bool
    checks: tuple[Check, ...]
    coverage: float
    level: float
    margin: float | str
    baseline: str
    proposed: str
    paired: bool
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists; what is infinite or undefined is None."""
        return dict(plain({"schema": SCHEMA, **asdict(self)}))

    def to_text(self) -> str:
        """Return the outcome and one line per check."""
        rows, notes = self._rows(), [f"Note: {note}." for note in self.notes]
        width = max(len(name) for _, name, _ in rows)
        lines = [f"{word:<4}  {name:<{width}}  {facts}" for word, name, facts in rows]
        return "\n".join([self._outcome(), *lines, *notes, self._meaning()])

    def to_markdown(self) -> str:
        """Return the same for a comment on a pull request; names cannot become markup, and mention nobody."""
        rows = [f"| {' | '.join(map(_escaped, row))} |" for row in self._rows()]
        notes = [f"- {_escaped(note)}." for note in self.notes]
        head = [f"### {_escaped(self._outcome())}", "", "| | check | |", "|---|---|---|"]
        return "\n".join([*head, *rows, "", *notes, *([""] if notes else []), self._meaning()]) + "\n"

    def __repr__(self) -> str:
        return self.to_text()

    def _outcome(self) -> str:
        failed, total = sum(not one.passed for one in self.checks), len(self.checks)
        if self.passed:
            return f"Gate passed: {short(self.proposed)} may replace {short(self.baseline)} ({total} checks)."
        return f"Gate failed: {failed} of {total} checks."

    def _meaning(self) -> str:
        return f"False-alarm rate of the whole gate: {percentage(self.level)}."

    def _rows(self) -> list[tuple[str, str, str]]:
        """Outcome, name and facts of each check."""
        margin, out = "" if self.margin in (0, "0", "0%") else f", margin {self.margin}", []
        for one in self.checks:
            sure = "not tested" if isnan(one.pvalue_holm) else f"adjusted {p(one.pvalue_holm)}"
            if one.statistic == "coverage":
                covers = share(one.value, one.low + one.reference, one.high + one.reference)
                facts = f"{covers} where {percentage(self.coverage)} is promised, n = {one.n:,}, {sure}"
            else:
                change = amount(one.difference, one.low, one.high)
                scores = f"{number(one.value)} vs. {number(one.reference)} for {short(self.baseline)}"
                facts = f"{scores}, {change}{margin}, {sure}"
            name = one.statistic if one.segment is None else f"{one.statistic}, {short(one.segment)}"
            out.append(("ok" if one.passed else "FAIL", name, facts))
        return out


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return SPECIAL.sub(r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;")).replace("@", "&#64;")


def gate(
    baseline: Intervalled | SavedScore,
    proposed: Intervalled,
    *,
    coverage: float | Fraction,
    level: float = 0.05,
    margin: float | str = 0.0,
    by: Any = None,
    bins: int = 4,
    block: Any = None,
    names: tuple[str, str] = ("baseline", "proposed"),
) -> Gate:
    """Check that proposed intervals keep their promise and score no worse than the baseline.

    Parameters
    ----------
    baseline, proposed : Intervals, UCC, or mapping from level to Intervals
        Of the same rows in the same order. A baseline may also be a `SavedScore`, which is not paired.
    coverage : float
        What the intervals promise.
    level : float
        False-alarm rate of all checks together: how often a gate says no to intervals that keep the promise and score
        as well as the baseline.
    margin : float or str
        How much worse the score may be: a number in units of `y_true`, or a percentage of the baseline's such as "2%".
    by, bins, block
        As in `assess`: segments that must keep the promise too, and dependent rows.
    names : tuple of str

    Notes
    -----
    Coverage as delivered, of all rows and of each segment: one-sided binomial tail with the effective number of rows.
    Interval score as delivered: one-sided paired t test of the rows' differences. Holm's method over all of them.

    Examples
    --------
    >>> y, zero = [1.0, -2.0, 0.5, 1.5, -0.7, 0.2, -1.1, 2.2] * 5, [0.0] * 40
    >>> old, new = (Intervals.from_bands(y, zero, [width] * 40) for width in (2.0, 0.4))
    >>> print(gate(old, new, coverage=0.8))
    Gate failed: 2 of 2 checks.
    FAIL  coverage  12.5% [4.2, 26.8] where 80% is promised, n = 40, adjusted p < 0.001
    FAIL  score     8.55 vs. 4.25 for baseline, +4.30 [2.39, 6.21], adjusted p < 0.001
    False-alarm rate of the whole gate: 5%.
    """
    asked: Any = {"axes": HEADLINE, "partial": None, "c": None, "unit": "raw"}
    settings = asked_settings(coverage, confidence_level=1 - checked_level(level, "level"), **asked)
    allowed = checks.amount("margin", margin, "the baseline's score")
    saved = baseline if isinstance(baseline, SavedScore) else None
    given = {names[1]: proposed} if saved else {names[0]: baseline, names[1]: proposed}
    if len(given) == 1 and not saved:
        raise ValueError("`names` must be different.")
    curves, _ = curves_by_name(given, None)
    blocks = Blocks.of(curves[names[1]].intervals, block)
    blocks.require_two("a gate")
    models = {name: Model(name, curve, settings, blocks) for name, curve in curves.items()}
    new = models[names[1]]
    found = [_coverage_check(new), _score_check(new, saved or models[names[0]], allowed)]
    found += [_coverage_check(new, part) for part in segment_rows(by, blocks, bins)]
    pvalues = holm([one.pvalue for one in found])
    judged = tuple(replace(one, pvalue_holm=p, passed=not p <= level) for one, p in zip(found, pvalues, strict=True))
    return Gate(
        passed=all(one.passed for one in judged),
        checks=judged,
        coverage=settings.shown_coverage,
        level=float(level),
        margin=margin,
        baseline=saved.name if saved else names[0],
        proposed=names[1],
        paired=saved is None,
        notes=tuple(_notes(judged, saved)),
    )


def _coverage_check(model: Model, part: SegmentRows | None = None) -> Check:
    """Whether the coverage as delivered is not below the promised one by more than chance."""
    path, blocks, segment = model.path, model.blocks, None
    if part is not None:
        path, blocks = path.subset(part.rows), part.blocks
        segment = part.label if part.feature == "segment" else f"{part.feature} {part.label}"
    covered, promised, level = path.critical <= path.delivered, float(1 - model.alpha), model.confidence_level
    value, (low, high) = path.mean(covered), coverage_interval(covered, path.weight, blocks, level)
    pvalue = coverage_tail(covered, path.weight, blocks, level, promised=1 - model.alpha)
    ends = low - promised, high - promised
    return Check("coverage", segment, len(path), value, promised, value - promised, *ends, pvalue)


def _score_check(model: Model, baseline: Model | SavedScore, margin: tuple[float, float]) -> Check:
    """Whether the score as delivered is not above the baseline's, with its margin, by more than chance."""
    path, own, allowed = model.path, model.score_rows(model.path.delivered), 1 + margin[1]
    if isinstance(baseline, SavedScore):
        rows, reference, noise = own, baseline.score, allowed * baseline.error
    else:
        theirs = baseline.score_rows(baseline.path.delivered)
        rows, reference, noise = own - allowed * theirs, path.mean(theirs), 0.0
    value, change = path.mean(own), (rows - path.mean(rows)) * weights(path)
    error, degrees = hypot(standard_error(change, model.blocks), noise), model.blocks.count - 1
    excess, difference = value - allowed * reference - margin[0], value - reference
    pvalue = one_sided_t_test(excess, error, degrees, size=max(value, reference))
    reach = t_quantile((1 + model.confidence_level) / 2, degrees) * error
    return Check("score", None, len(own), value, reference, difference, difference - reach, difference + reach, pvalue)


def _notes(found: tuple[Check, ...], saved: SavedScore | None) -> Iterator[str]:
    if saved is not None:
        yield "the baseline is a saved assessment: scores are not compared row by row, which finds large changes only"
    untested = [one.segment for one in found if not isfinite(one.pvalue) and one.segment is not None]
    if untested:
        what = "segment is a single block" if len(untested) == 1 else "segments are a single block each"
        yield f"{len(untested)} {what} and could not be tested, first {untested[0]}"
