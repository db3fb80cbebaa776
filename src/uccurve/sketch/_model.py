"""Streamed model: the numbers of one model in an assessment, from its bins and from sums of its influence."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from math import ceil, inf, isfinite, nan
from typing import Any, NamedTuple

import numpy as np

from uccurve import _checks as checks
from uccurve._checks import METRICS, SUMMARY, Array
from uccurve._distributions import order_statistic_ranks
from uccurve.compare._formats import coverage as percentage
from uccurve.compare._model import asked_for, promise_of
from uccurve.compare.assess import Facts, notes_on
from uccurve.compare.results import AssessmentSettings, ModelRow, Segment

from ._answers import Answers
from ._brackets import Bracket
from ._forms import BlockSums, Forms
from ._rows import State
from ._units import Changes, Units
from .curve import SketchUCC
from .sketch import UCCSketch


class Place(NamedTuple):
    """A quantile of the critical scales: interpolated inside its bin, and the ends of that bin."""

    low: float
    value: float
    high: float


class StreamedModel:
    """One model of an assessment, on all rows or on those of a segment."""

    def __init__(
        self,
        name: str,
        state: State,
        settings: AssessmentSettings,
        *,
        y_pred: str | None = None,
        level: float | None = None,
    ) -> None:
        self.name, self.state, self.settings, self.y_pred, self.level = name, state, settings, y_pred, level
        self.alpha = checks.miss_rate_of(settings.shown_coverage)
        self.curve = SketchUCC(UCCSketch._of(state))
        self.answers: Answers = self.curve._answers
        self.coverage = 1 - self.curve.at(1.0).miss_rate
        self._options: Any = {"coverage": 1 - self.alpha, "unit": settings.unit}

    @cached_property
    def size(self) -> float:
        """One of the caller's units in units of y_true."""
        return self.answers._unit(self.settings.unit).middle

    @cached_property
    def target(self) -> Place:
        """Scale of the conformal rank; of unequal weights the smallest whose coverage reaches the target."""
        n, share = self.state.rows, 1 - self.alpha
        return self._place(share if self.state.weighted else Fraction(ceil((n + 1) * share), n))

    @cached_property
    def forms(self) -> Forms:
        """What the rows add to each statistic."""
        n = self.state.rows
        low, high = order_statistic_ranks(n, 1 - self.alpha, self.settings.confidence_level)
        first, last = Fraction(max(low, 1), n), Fraction(min(high, n), n)
        growth = nan
        if last > first and isfinite(self.target.value) and self.target.value > 0:
            step = self._place(last).value - self._place(first).value
            growth = step / float(last - first) / self.target.value
        return Forms(
            self.state, self.answers.binned, self.answers.constant, float(self.alpha), self.target.high, growth
        )

    @property
    def ranked_value(self) -> float:
        """What ranks the models, in units of y_true."""
        return self.brackets[self.settings.ranked_by].middle * self.size

    def _place(self, share: Fraction) -> Place:
        """Smallest critical scale at and below which a share of the weight lies."""
        weight = self.answers.binned.weight
        mass = weight.mass
        running, goal = np.cumsum(mass), float(share) * self.state.total
        goal = goal * (1 - 1e-14) if self.state.weighted else ceil(share * self.state.rows)
        i = int(np.searchsorted(running, goal))
        if i == len(running):
            return Place(inf, inf, inf)
        low, high = float(weight.minimum[i]), float(weight.maximum[i])
        before, first = running[i] - mass[i], 0.0 if self.state.weighted else 1.0
        part = (goal - before - first) / (mass[i] - first) if mass[i] > first else 1.0
        return Place(low, low + float(np.clip(part, 0, 1)) * (high - low), high)

    def changes(self, x: BlockSums) -> dict[str, Array]:
        """Influence of blocks on each statistic, from their sketches."""
        forms = self.forms.logarithms(x) | self.forms.shares(x)
        return {name: (one.value - one.mean * x.one) / self.state.total for name, one in forms.items()}

    # ---- the row

    def row(self, units: Units, changes: Changes, above: float) -> ModelRow:
        """All numbers of the model; its rank and p-value depend on the others."""
        unit, coverage = self.settings.unit, self.coverage
        low, high = units.share_ends(coverage, changes.get("covered"), self.settings.confidence_level)
        fields: dict[str, Any] = {"coverage": coverage, "coverage_low": low, "coverage_high": high}
        delivered = self.curve.at(1.0, unit=unit)
        fields |= {name: getattr(delivered, name) for name in METRICS}
        fields |= {"missed_above": above, "missed_below": max(delivered.miss_rate - above, 0.0)}
        fields |= self._calibration(units, changes)
        for name, value in self.brackets.items():
            if name.startswith(("score", "crps", "area")):
                fields |= self._with_ends(name, value, units, changes)
            elif name.startswith(("skill", "gain")):
                fields |= self._saved(name, value, units, changes)
        return ModelRow(
            name=self.name,
            rank=0,
            n=self.state.rows,
            promise=promise_of(fields, self.settings.coverage),
            shift=nan,
            pvalue=nan,
            decomposition=self.curve.decompose(**self._options),
            concentration=self._concentration(),
            level=self.level,
            shipped_score=self._shipped_score(),
            **fields,
            **asked_for(self.curve, self.settings),
        )

    def _shipped_score(self) -> float:
        scale = self.target.value
        return self.curve.interval_score(at=scale, **self._options) if isfinite(scale) else nan

    @cached_property
    def brackets(self) -> dict[str, Bracket]:
        """Both ends around each number of the row that the bins do not tell exactly."""
        unit: Any = {"unit": self.settings.unit}
        found = {"score": self.answers.best_score(**self._options), "crps": self.answers.potential_crps(**unit)}
        found["skill"] = self.answers.skill()
        for axes in SUMMARY:
            found[f"area_{'_'.join(axes)}"] = self.answers.area(axes=axes, **unit)
            found[f"gain_{'_'.join(axes)}"] = self.answers.gain(axes=axes)
        axes = self.settings.axes
        if self.settings.partial is not None:
            found["partial_gain"] = self.answers.gain(axes=axes, miss_rate=self.settings.partial)
        if self.settings.c is not None:
            found["cheapest_cost"] = self.answers.cheapest(self.settings.c, axes=axes, **unit)
        if isfinite(self.target.value):
            found["scale"] = Bracket(self.target.low, self.target.high)
            ends = (self.answers.interval_score(at=end, **self._options) for end in found["scale"].pair)
            found["shipped_score"] = Bracket(found["score"].low, max(end.high for end in ends))  # convex in the scale
        return found

    def _with_ends(self, name: str, value: Bracket, units: Units, changes: Changes) -> dict[str, float]:
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
            share = float(1 - self.alpha)
            count = max(int(units.effective_rows(share, changes.get("reached"), level)), 1)
            first, last = order_statistic_ranks(count, 1 - self.alpha, level)
            ends = (
                self._place(Fraction(max((first * n) // count, 1), n)).low if first else 0.0,
                inf if last > count else self._place(Fraction(ceil(last * n / count), n)).high,
            )
        width = self.answers.binned.half_width / self.size
        widths = self._with_ends("half_width", Bracket(width * low, width * high), units, changes)
        widths["half_width"] = width * value if isfinite(value) else inf
        return {"scale": value, "scale_low": ends[0], "scale_high": ends[1], **widths}

    def _concentration(self) -> int:
        try:
            return self.curve.concentration(axes=self.settings.axes)
        except ValueError:  # weighted rows, or axes that bins cannot attribute to rows
            return 0

    def notes(self, row: ModelRow) -> Iterator[str]:
        """What a reader must know of the model before trusting its numbers."""
        state = self.state
        uncoverable = int(state.critical.rows[state.critical.infinite].sum())
        facts = Facts(state.raised, state.dropped, uncoverable, state.weighted, self._asymmetry)
        yield from notes_on(row, self.settings, facts)
        if self.level is not None:
            yield f"{row.name}: areas, CRPS and skill are those of its {percentage(self.level)} intervals, scaled"

    @property
    def _asymmetry(self) -> float:
        """Mean difference between the two bands, as a share of the mean width."""
        active, width = (self.state.critical.total(name) for name in ("active", "width"))
        gaps = self.state.crossover.total("gap")
        return (2 * gaps - (2 * active - width)) / width if width > 0 else 0.0

    # ---- segments

    def segment(self, key: tuple[str, str], pvalue: float, ends: tuple[float, float]) -> Segment:
        """Return the model's numbers on these rows, which are a segment."""
        scale = self.target.value
        return Segment(
            feature=key[0],
            label=key[1],
            model=self.name,
            n=self.state.rows,
            coverage=self.coverage,
            coverage_low=ends[0],
            coverage_high=ends[1],
            scale=scale,
            half_width=self.answers.binned.half_width / self.size * scale if isfinite(scale) else inf,
            score=self.answers.best_score(**self._options).middle,
            skill=self.answers.skill().middle,
            target=self.settings.coverage,
            pvalue=pvalue,
            pvalue_holm=pvalue,
            fails=False,
        )

    @property
    def missed(self) -> int:
        """Number of rows outside their interval as delivered."""
        found = self.state.critical
        return int(found.rows[found.maximum > 1].sum())
