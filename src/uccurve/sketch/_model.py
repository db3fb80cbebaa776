"""Streamed model: the numbers of one model in an assessment, from its bins and from sums of its influence."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import ceil, inf, isfinite, nan, sqrt
from typing import Any, Self

import numpy as np

from uccurve import _refusals as checks
from uccurve._distributions import order_statistic_ranks
from uccurve._vocabulary import HEADLINE, METRICS, SUMMARY, Array
from uccurve.assess.assemble import notes_on
from uccurve.assess.model import partial_gain_and_costs, promise_of
from uccurve.results import AssessmentSettings, ModelRow
from uccurve.words.formats import coverage as percentage

from ._answers import Answers, Place
from ._binned import Bracket, bracket
from ._influence import NUMBERS, Changes, Form, Look, Pairs, Units, forms, numbers_of
from ._state import State
from .sketch import SketchUCC, UCCSketch

# Share of the rows by which an interpolated factor may miss the coverage; or a quarter of its standard error.
SHORTFALL = 0.0005


@dataclass(frozen=True, eq=False)
class StreamedModel:
    """One model of an assessment, on all rows or on those of a segment."""

    name: str
    state: State
    settings: AssessmentSettings
    y_pred: str | None = None  # column of its predictions
    place: int = 0  # which of the intervals of a scan are the delivered ones
    # Which ones are those of each level, narrowest first; empty for a model of one level.
    levels: Mapping[float, int] = field(default_factory=dict)
    # What the bins of each level answer.
    level_answers: Mapping[float, Answers] = field(default_factory=dict)
    # Whether the factor to ship is the end of its bin, because one inside was seen to cover too few of the rows.
    to_the_end: bool = False

    @cached_property
    def curve(self) -> SketchUCC:
        """The model as a curve."""
        return SketchUCC(UCCSketch._of(self.state))

    @cached_property
    def answers(self) -> Answers:
        """What the curve answers, with brackets, in the caller's unit."""
        return self.curve._within(self.settings.unit)

    @cached_property
    def alpha(self) -> Fraction:
        """Miss rate that is asked for."""
        return checks.miss_rate_of(self.settings.shown_coverage)

    @cached_property
    def coverage(self) -> float:
        """Share of the rows inside their interval, as delivered."""
        return 1 - self.curve.at(1.0).miss_rate

    @cached_property
    def size(self) -> float:
        """One of the caller's units in units of y_true."""
        return self.answers.size.middle

    @cached_property
    def target(self) -> Place:
        """Scale of the conformal rank; of unequal weights the smallest whose coverage reaches the target."""
        low, value, high = self.answers.place_for_new_rows(self.settings.shown_coverage)
        return Place(low, high if self.to_the_end else value, high)

    def checked(self, covered: float) -> Self:
        """Return the model with a factor that covers enough rows, given the share that the interpolated one covers."""
        alpha = float(self.alpha)
        room = max(SHORTFALL, sqrt(alpha * (1 - alpha) / self.state.rows) / 4)
        short = isfinite(self.target.value) and covered < 1 - alpha - room
        return replace(self, to_the_end=True) if short else self

    @property
    def level(self) -> float | None:
        """Nominal coverage of the delivered intervals, of a model of several levels."""
        return min(self.settings.shown_coverage, max(self.levels)) if self.levels else None

    # ---- influence

    @cached_property
    def look(self) -> Look:
        """Scales at which the second pass looks at the rows."""
        return Look.at(
            self.answers.plain, self.answers.constant, float(self.alpha), self.target.high
        )

    @cached_property
    def means(self) -> Array:
        """Means of the numbers over all rows, as far as the bins know them."""
        means: Array = numbers_of(self.state, self.look) / self.state.total
        return means

    @cached_property
    def forms(self) -> dict[str, Form]:
        """What the rows add to each statistic."""
        n, binned = self.state.rows, self.answers.binned
        low, high = order_statistic_ranks(n, 1 - self.alpha, self.settings.confidence_level)
        first, last = Fraction(max(low, 1), n), Fraction(min(high, n), n)
        growth = nan
        if last > first and isfinite(self.target.value) and self.target.value > 0:
            step = self.answers.place(last).value - self.answers.place(first).value
            growth = step / float(last - first) / self.target.value
        symmetric = self.state.crossover.total("gap") <= 1e-9 * self.state.critical.total("width")
        uncoverable = binned.has_uncoverable_rows
        found = forms(self.look, self.means, growth, symmetric=symmetric, uncoverable=uncoverable)
        return found | ({"wis": np.eye(len(NUMBERS))[-1]} if self.levels else {})

    def value_of(self, name: str) -> float:
        """What a form of mean 1 stands for, in units of y_true."""
        return 1.0 if name == "wis" else self.brackets[name].middle * self.size

    # ---- the row

    def row(
        self, units: Units, changes: Changes, above: float, levels: Mapping[str, Any]
    ) -> ModelRow:
        """All numbers of the model; its rank and p-value depend on the others.

        `above` is the share of the rows above their interval, `levels` are fields of its levels.
        """
        low, high = units.share_ends(
            self.coverage, changes.get("covered"), self.settings.confidence_level
        )
        fields: dict[str, Any] = {
            "coverage": self.coverage,
            "coverage_low": low,
            "coverage_high": high,
        }
        delivered = self.curve.at(1.0, unit=self.settings.unit)
        fields |= {name: getattr(delivered, name) for name in METRICS}
        fields |= {"missed_above": above, "missed_below": max(delivered.miss_rate - above, 0.0)}
        fields |= self._calibration(units, changes)
        for name, value in self.brackets.items():
            if name.startswith(("score", "crps", "area")):
                fields |= self._with_interval(name, value, units, changes)
            elif name.startswith(("skill", "gain")):
                fields |= self._saved(name, value, units, changes)
        if self.levels:
            wis = sum(value for name, value in levels.items() if name.startswith("wis"))
            change = {"wis": changes["wis"] / (wis * self.size)} if wis > 0 else {}
            fields |= self._with_interval("wis", Bracket(wis, wis), units, change)
            fields["potential_wis"] = self.brackets["potential_wis"].middle
        coverage, scale, shipped = 1 - self.alpha, self.target.value, nan
        if isfinite(scale):
            shipped = self.answers.interval_score(coverage=coverage, at=scale).middle
        return ModelRow(
            name=self.name,
            n=self.state.rows,
            promise=promise_of(fields, self.settings.coverage),
            decomposition=self.curve.decompose(coverage=coverage, unit=self.settings.unit),
            concentration=self._concentration(),
            level=self.level,
            shipped_score=shipped,
            **fields,
            **levels,
            **partial_gain_and_costs(self.curve, self.settings),
        )

    @cached_property
    def brackets(self) -> dict[str, Bracket]:
        """Both ends around each number of the row that the bins do not tell exactly."""
        ask, coverage, axes = self.answers, 1 - self.alpha, self.settings.axes
        found = {
            "score": ask.best_score(coverage=coverage),
            "crps": ask.potential_crps(),
            "skill": ask.skill(),
        }
        for pair in SUMMARY:
            found[f"area_{'_'.join(pair)}"] = ask.area(axes=pair)
            found[f"gain_{'_'.join(pair)}"] = ask.gain(axes=pair)
        if self.settings.partial is not None:
            found["partial_gain"] = ask.gain(axes=axes, miss_rate=self.settings.partial)
        if self.settings.c is not None:
            found["cheapest_cost"] = ask.cheapest(self.settings.c, axes=axes)
        if isfinite(self.target.value):
            found["scale"] = Bracket(self.target.low, self.target.high)
            ends = (ask.interval_score(at=end, coverage=coverage) for end in found["scale"].pair)
            found["shipped_score"] = Bracket(
                found["score"].low, max(end.high for end in ends)
            )  # convex in the scale
        if self.levels:
            total = bracket(self.means[NUMBERS.index("error")] / 2)
            for level, own in self.level_answers.items():
                total += own.best_score(coverage=level) * float(checks.miss_rate_of(level) / 2)
            found["potential_wis"] = total * (1 / (len(self.levels) + 0.5) / self.size)
        return found

    def _with_interval(
        self, name: str, value: Bracket, units: Units, changes: Changes
    ) -> dict[str, float]:
        low, high = units.ends(value, changes.get(name), self.settings.confidence_level)
        return {name: value.middle, f"{name}_low": low, f"{name}_high": high}

    def _saved(self, name: str, value: Bracket, units: Units, changes: Changes) -> dict[str, float]:
        """Share of what the constant band has that is saved; the influence is on the logarithm of what is left."""
        left = Bracket(1 - value.high, 1 - value.low)
        low, high = units.ends(left, changes.get(name), self.settings.confidence_level)
        return {name: value.middle, f"{name}_low": 1 - high, f"{name}_high": 1 - low}

    def _calibration(self, units: Units, changes: Changes) -> dict[str, float]:
        """Factor for the target and the half-width there, with their intervals."""
        n, (low, value, high), level = self.state.rows, self.target, self.settings.confidence_level
        ends = nan, nan
        if units.count > 1:
            count = max(
                int(units.effective_rows(float(1 - self.alpha), changes.get("reached"), level)), 1
            )
            first, last = order_statistic_ranks(count, 1 - self.alpha, level)
            ends = (
                self.answers.place(Fraction(max((first * n) // count, 1), n)).low if first else 0.0,
                inf
                if last > count
                else self.answers.place(Fraction(ceil(last * n / count), n)).high,
            )
        width = self.answers.binned.half_width
        widths = self._with_interval(
            "half_width", Bracket(width * low, width * high), units, changes
        )
        widths["half_width"] = width * value if isfinite(value) else inf
        return {"scale": value, "scale_low": ends[0], "scale_high": ends[1], **widths}

    def _concentration(self) -> int:
        """Rows of the last bins that carry half the area of miss_rate vs. bandwidth, an upper end; 0 for other axes."""
        critical = self.state.critical
        if self.settings.axes != HEADLINE or not critical.total("scale"):
            return 0
        carried = np.cumsum(
            critical.sums["scale"][::-1]
        )  # each row adds its critical scale to the area
        last = int(critical.rows[::-1][: np.searchsorted(carried, carried[-1] / 2) + 1].sum())
        return 1 if critical.infinite.any() else last

    def notes(self, row: ModelRow) -> Iterator[str]:
        """What a reader must know of the model before trusting its numbers."""
        state = self.state
        uncoverable = int(state.critical.rows[state.critical.infinite].sum())
        active, width = (state.critical.total(name) for name in ("active", "width"))
        asymmetry = (
            (2 * state.crossover.total("gap") - (2 * active - width)) / width if width > 0 else 0.0
        )
        facts: Any = {"raised": state.raised, "dropped": state.dropped, "weighted": state.weighted}
        yield from notes_on(
            row, self.settings, uncoverable=uncoverable, asymmetry=asymmetry, **facts
        )
        if self.level is not None:
            yield f"{row.name}: areas, CRPS and skill are those of its {percentage(self.level)} intervals, scaled"


def block_pairs(models: Sequence[StreamedModel], changes: Sequence[Changes]) -> dict[str, Pairs]:
    """Influence of blocks on the differences of two models, from that on each."""
    found: dict[str, Pairs] = {}
    for name in (models[0].settings.ranked_by, "wis"):
        own = [
            (i, change[name] * models[i].value_of(name))
            for i, change in enumerate(changes)
            if name in change
        ]
        found[name] = {(i, j): first - second for (i, first), (j, second) in combinations(own, 2)}
    return found
