"""Statistics: which number of a curve is asked for, and how it follows from sums over rows.

Resampling and swapping rows then need additions only. Whole areas over the scale that have a closed form are products
of a few means. Everything else is read off the metrics at the knots of the curve, which are means too. A share that is
saved compares two such statistics, the model's and the constant band's.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, NamedTuple, Self, get_args

import numpy as np

from uccurve import _refusals as checks
from uccurve._arrays import Indices
from uccurve._paths import Path
from uccurve._ramps import closed_axes, rounding_of_area
from uccurve._refusals import FLOOR_HINT
from uccurve._scoring import penalised
from uccurve._vocabulary import FALLING, HEADLINE, Array, Axes, Metric, Range, Unit
from uccurve.curve import UCC
from uccurve.evidence.contributions import closed_columns
from uccurve.evidence.units import sums
from uccurve.intervals import Intervals
from uccurve.resampling.knots import Knots

Name = Literal["area", "gain", "crps", "skill", "score", "scale", "half_width"]
Asked = Name | Callable[[Intervals], float]
WITH_COVERAGE = ("score", "scale", "half_width")
ROUNDING = 1e-14  # share of two equal terms that their difference may be off; less is treated as 0


@dataclass(frozen=True, slots=True)
class CurveStatistic:
    """One number of a curve: `span` is the range of the miss rate, `alpha` a miss rate, `unit` a number."""

    asked: Asked
    axes: Axes
    span: Range | None
    alpha: Fraction | None
    unit: float

    @classmethod
    def of(
        cls,
        curve: UCC,
        asked: Asked,
        *,
        axes: Axes = HEADLINE,
        miss_rate: Range | None = None,
        coverage: float | None = None,
        unit: Unit = "raw",
    ) -> Self:
        """Refuse options that do not go together; everything else is as in `UCC`."""
        if not callable(asked):
            checks.choice("statistic", asked, get_args(Name))
        name = asked if isinstance(asked, str) else "a callable"
        if name == "scale" and curve.vary == "shift":
            raise ValueError(
                '`statistic="scale"` needs bands that are scaled, not shifted. Hint: ask for "half_width".'
            )
        if name == "a callable" and curve.vary == "levels":
            raise ValueError(
                "`statistic` as a callable takes Intervals; a curve of levels has several. "
                "Hint: pass the Intervals of one level."
            )
        if miss_rate is not None and name not in ("area", "gain"):
            raise ValueError(
                f"`miss_rate` as a range goes with an area or a gain, not with {name}."
            )
        if name in WITH_COVERAGE and coverage is None:
            raise ValueError(f"`coverage` must be given for {name}, such as coverage=0.9.")
        if name not in WITH_COVERAGE and coverage is not None:
            raise ValueError(f"`coverage` goes with {' or '.join(WITH_COVERAGE)}, not with {name}.")
        span = None if miss_rate is None else checks.span("miss_rate", miss_rate)
        alpha = None if coverage is None else checks.miss_rate_of(coverage)
        return cls(asked, checks.axes(axes), span, alpha, curve.unit_size(unit))

    @property
    def depends_on_scale(self) -> bool:
        """Whether multiplying all bands by one factor changes it."""
        return self.asked == "scale" or callable(self.asked)

    @property
    def relative(self) -> bool:
        """Whether it is a share that is saved of what the constant band has."""
        return self.asked in ("gain", "skill")

    def curve(self, curve: UCC) -> UCC:
        """Return the curve it is a number of: for levels and a coverage, that of the interval of that level, scaled."""
        return curve if self.alpha is None else curve.delivered_curve(1 - self.alpha)

    def value(self, curve: UCC) -> float:
        """Statistic of one curve."""
        if callable(self.asked):
            return float(self.asked(curve.intervals))
        if self.asked in ("area", "gain"):
            ask = curve.area if self.asked == "area" else curve.gain
            return ask(axes=self.axes, unit=self.unit, miss_rate=self.span)
        if self.asked == "skill":
            return curve.skill()
        if self.alpha is None:
            return curve.potential_crps(unit=self.unit)
        coverage = float(1 - self.alpha)
        if self.asked == "score":
            alpha = float(self.alpha)
            best = curve.cheapest(alpha / (1 + alpha), axes=("bandwidth", "deficit"))
            at = best.shift if curve.vary == "shift" else best.scale
            return curve.interval_score(coverage=coverage, at=at, unit=self.unit)
        point = curve.find(coverage=coverage, unit=self.unit)
        return point.scale if self.asked == "scale" else point.bandwidth

    def finite_value(self, curve: UCC, name: str) -> float:
        """Statistic of the argument `name`; refuse one that is infinite or undefined, which resampling cannot judge."""
        value = self.value(curve)
        curve.forget_order()  # what a curve sorts for its value takes memory
        if np.isfinite(value):
            return value
        if callable(self.asked):
            raise ValueError(
                f"`statistic` must return a finite number; it returned {value} for `{name}`."
            )
        critical = curve.path().critical
        uncoverable = int(np.isinf(critical).sum())
        if uncoverable:
            raise ValueError(
                f"`{name}` must have a finite {self.asked}: {uncoverable} of {len(critical)} rows have an error on the "
                f"side of a zero band. Hint: {FLOOR_HINT}."
            )
        raise ValueError(
            f"`{name}` must have a defined {self.asked}; it is {value} on {'/'.join(self.axes)}: "
            "the constant band leaves nothing to save."
        )

    def size(self, *names: Metric) -> float:
        """What turns a product of these metrics into the caller's unit."""
        return float(self.unit ** -sum(name != "miss_rate" for name in names))


class Summed(NamedTuple):
    """Sums over the rows of each unit, (units, columns), and the statistic of sums over sets of units, (sets, columns).

    The first column is the weight.
    """

    table: Array
    values: Callable[[Array], Array]

    def of_counts(self, counts: Array) -> Array:
        """Return the statistic of sets of units that are drawn so many times: (sets, units)."""
        return self.values(counts @ self.table)


def called(
    function: Callable[[Intervals], float], data: Intervals, row: Indices, unit: Indices
) -> Callable[[Array], Array]:
    """Return how a function of Intervals follows from how often units are drawn; each `row` belongs to a `unit`."""

    def values(counts: Array) -> Array:
        drawn = (np.repeat(row, count[unit].astype(np.intp)) for count in counts)
        return np.array([float(function(data[rows])) for rows in drawn])

    return values


def summed(
    path: Path, statistic: CurveStatistic, unit: Indices, count: int, *, smooth: bool = False
) -> Summed:
    """Sum up the rows of each of `count` units; `unit` has that of each row. Where `smooth`, values are approximate."""
    if statistic.relative:
        return _saved(path, statistic, unit, count, smooth=smooth)
    whole_area = statistic.asked == "area" and not statistic.span and not path.has_uncoverable_rows
    closed = closed_axes(path, statistic.axes) if whole_area else None
    if closed is None:
        knots = knots_for(path, statistic, smooth=smooth)
        return Summed(
            knots.table(unit, count),
            lambda drawn: _from_knots(knots, means(drawn), statistic),
        )
    size = statistic.size(*statistic.axes)

    def values(drawn: Array) -> Array:
        band, falling, error = means(drawn).T
        area = band * falling
        less = error**2 / 2
        return size * np.where(area > less * (1 + ROUNDING), area - less, 0)

    weighted = [path.weighted(column) for column in closed_columns(path, closed)]
    columns = [sums(unit, column, count) for column in (path.weight, *weighted)]
    return Summed(np.column_stack(columns), values)


def means(drawn: Array) -> Array:
    """Means from sums of which the first is the weight."""
    with np.errstate(divide="ignore", invalid="ignore"):
        # a resample of rows without weight has no mean
        return np.asarray(drawn[:, 1:] / drawn[:, :1])


def knots_for(path: Path, statistic: CurveStatistic, *, smooth: bool = False) -> Knots:
    """Knots for the metrics that a statistic of the curve is computed from."""
    names: tuple[Metric, ...] = ("bandwidth", "miss_rate")
    if statistic.asked in ("crps", "score"):
        names = ("bandwidth", "deficit")
    if statistic.asked == "area":
        tells_the_end = statistic.span or not FALLING.intersection(statistic.axes)
        names = (*statistic.axes, "miss_rate") if tells_the_end else statistic.axes
    ends: tuple[float, ...] = statistic.span or ()
    if not ends and statistic.alpha:
        ends = (float(statistic.alpha),)
    return Knots(path, names, ends, smooth=smooth and len(ends) > 0)


def _saved(
    path: Path, statistic: CurveStatistic, unit: Indices, count: int, *, smooth: bool
) -> Summed:
    """Share of the constant band's area or potential CRPS that is saved; nan where both are 0."""
    compared = replace(statistic, asked="area" if statistic.asked == "gain" else "crps")
    constant = path.constant()
    mine = summed(path, compared, unit, count, smooth=smooth)
    theirs = summed(constant, compared, unit, count, smooth=smooth)
    negligible = 0.0
    if compared.asked == "area":
        negligible = rounding_of_area(constant, compared.axes) * compared.size(*compared.axes)
    width = mine.table.shape[1]

    def values(drawn: Array) -> Array:
        area = mine.values(drawn[:, :width])
        reference = theirs.values(drawn[:, width:])
        undefined = np.where(area <= negligible, np.nan, -np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            saved = (reference - area) / reference
        return np.where(reference <= negligible, undefined, saved)

    return Summed(np.hstack([mine.table, theirs.table]), values)


def _from_knots(knots: Knots, means: Array, statistic: CurveStatistic) -> Array:
    """Return the statistic of several curves, from their metrics at the knots."""
    curves = knots.curves(means)
    size = statistic.size("bandwidth")
    alpha = float(statistic.alpha or 0)
    if statistic.asked == "area":
        return curves.area(statistic.axes, statistic.span) * statistic.size(*statistic.axes)
    if statistic.asked == "crps":
        return curves.potential_crps() * size
    width = curves.metrics["bandwidth"]
    if statistic.asked == "score":
        scores = penalised(2 * width, curves.metrics["deficit"], alpha)
        return np.asarray(scores.min(axis=1)) * size  # the smallest lies on a vertex
    values = np.broadcast_to(curves.t, width.shape) if statistic.asked == "scale" else width * size
    return np.where(curves.unreached(alpha), np.inf, curves.at(values, curves.reaching(alpha)))
