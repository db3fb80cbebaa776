"""Bootstrap: how far a statistic, or a whole curve, may be off because these rows are a sample."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from uccurve import _refusals as checks
from uccurve._arrays import evenly
from uccurve._vocabulary import FALLING, HEADLINE, Array, Axes, Range, Unit, Vary
from uccurve.curve import UCC
from uccurve.evidence.inference import checked_level
from uccurve.evidence.models import curve_of
from uccurve.evidence.units import Blocks, positive
from uccurve.intervals import Intervals
from uccurve.resampling import TIE, DrawnUnits, Progress, Seed, watched
from uccurve.resampling.statistics import Asked, CurveStatistic, called, knots_for, means, summed

Method = Literal["BCa", "percentile"]
Kind = Literal["pointwise", "simultaneous"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BootstrapInterval:
    """Confidence interval of one statistic.

    Attributes
    ----------
    estimate : float
        The statistic of the rows as they are.
    low, high : float
        Ends of the interval.
    standard_error : float
    confidence_level : float
    method : {"BCa", "percentile"}
    distribution : read-only array
        The statistic of each resample.
    note : str
        What a reader must know before trusting the interval; empty where there is nothing.
    """

    estimate: float
    low: float
    high: float
    standard_error: float
    confidence_level: float
    method: Method
    distribution: Array
    note: str = ""

    def __repr__(self) -> str:
        note = f", note={self.note!r}" if self.note else ""
        return (
            f"BootstrapInterval(estimate={self.estimate:.4g}, low={self.low:.4g}, high={self.high:.4g}, "
            f"{self.confidence_level * 100:g}% {self.method}, {len(self.distribution)} resamples{note})"
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ConfidenceBand:
    """Lower and upper ends for y at some places on x, as read-only arrays.

    A pointwise band holds the true curve at any one place with the given confidence; a simultaneous band at all places
    at once.
    """

    axes: Axes
    x: Array
    y: Array
    low: Array
    high: Array
    kind: Kind
    confidence_level: float

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        return (
            f"ConfidenceBand({self.kind}, {self.confidence_level * 100:g}%, {self.axes[1]} vs. {self.axes[0]}, "
            f"{len(self)} places, mean width {np.mean(self.high - self.low):.4g})"
        )


def bootstrap(
    intervals: Intervals | UCC,
    *,
    statistic: Asked = "gain",
    axes: Axes = HEADLINE,
    miss_rate: Range | None = None,
    coverage: float | None = None,
    unit: Unit = "raw",
    vary: Vary | None = None,
    confidence_level: float = 0.95,
    method: Method = "BCa",
    n_resamples: int = 1999,
    seed: Seed = None,
    block: int | npt.ArrayLike | Blocks | None = None,
    progress: Progress = None,
) -> BootstrapInterval:
    """Confidence interval of a statistic, by resampling the rows with replacement.

    Parameters
    ----------
    intervals : Intervals or UCC
        A UCC says how its bands move: by a factor, by an amount, or through a model's levels.
    statistic, axes, vary, miss_rate, coverage, unit
        As in `permutation_test`.
    confidence_level : float
    method : {"BCa", "percentile"}
        ``"percentile"`` reads the interval off the resamples; ``"BCa"`` corrects it for bias and skewness
        (Efron 1987).
    n_resamples : int
    seed : int or numpy.random.Generator, optional
    block : int or array_like, optional
        Dependent rows are drawn together: blocks of this many consecutive rows (time series), or one label per row
        (groups, repeated measures). The outputs of a row of two-dimensional data always are.
    progress : bool or callable, optional
        As in `permutation_test`.

    Returns
    -------
    BootstrapInterval

    Notes
    -----
    Every statistic is computed from sums over rows: whole areas over the scale on miss_rate vs. bandwidth, deficit vs.
    bandwidth and deficit vs. overshoot from a few, all others from the metrics at knots of the curve. A curve of at
    most 1,024 vertices has a knot at each, and every resample is exact. A larger one has about 200 knots, at equally
    spaced ranks of its vertices and closer at both ends and where it reaches what is asked for; in between metrics are
    treated as straight lines, and all resamples are moved so that all rows have the exact value. That changes standard
    errors by about 1%, less than the choice of 1,999 resamples does.

    Weights go with their rows. More than 4,096 rows (or blocks) are put into that many groups at random, and groups are
    drawn. The acceleration of a BCa interval comes from leaving out each row or block in turn, or each of 200 random
    groups of them; a callable is called for each resample and each of these.

    References
    ----------
    B. Efron (1987), Better Bootstrap Confidence Intervals.

    Examples
    --------
    >>> y = [1.0, 2.0, 4.0, 0.5, 3.0, 2.5, 5.0, 1.5]
    >>> sharp = Intervals.from_bands(y, [0.0] * 8, [0.9, 2.2, 3.9, 0.6, 2.8, 2.6, 5.2, 1.3])
    >>> bootstrap(sharp, axes=("bandwidth", "deficit"), seed=0)
    BootstrapInterval(estimate=0.2504, low=0.1262, high=0.4499, 95% BCa, 1999 resamples)
    """
    curve = curve_of("intervals", intervals, vary)
    asked = CurveStatistic.of(
        curve, statistic, axes=axes, miss_rate=miss_rate, coverage=coverage, unit=unit
    )
    level = checked_level(confidence_level)
    checks.choice("method", method, ("BCa", "percentile"))
    count = positive("n_resamples", n_resamples)
    units = DrawnUnits(curve.intervals, block, seed, what="a bootstrap")
    with watched(progress, "resamples") as tick:
        curve = asked.curve(curve)
        estimate = asked.finite_value(curve, "intervals")
        if callable(asked.asked):
            value = called(asked.asked, curve.intervals, *units.of_data())
        else:
            value = summed(curve.path(), asked, units.of_row, units.count).of_counts
        # What knots leave out of the statistic of all rows, they leave out of that of a resample.
        missing = estimate - float(value(np.ones((1, units.count)))[0])
        missing = missing if np.isfinite(missing) else 0.0
        parts = [value(counts) for counts in units.resamples(count, tick)]
        values = np.concatenate(parts) + missing
        left_out = value(units.left_out()) if method == "BCa" else np.empty(0)
    values.setflags(write=False)
    interval = _interval(values, left_out, estimate, level, method)
    return BootstrapInterval(
        estimate=estimate,
        low=interval.low,
        high=interval.high,
        standard_error=interval.standard_error,
        confidence_level=level,
        method=method,
        distribution=values,
        note="; ".join(interval.notes),
    )


class _Interval(NamedTuple):
    """What resampled values say of a statistic."""

    low: float
    high: float
    standard_error: float
    notes: list[str]


def _interval(
    values: Array, left_out: Array, estimate: float, level: float, method: Method
) -> _Interval:
    """Interval of a statistic from its resampled values, and from those without each unit in turn."""
    notes = []
    defined = values[~np.isnan(values)]
    if len(defined) < len(values):
        undefined = len(values) - len(defined)
        notes.append(f"the statistic of {undefined} of {len(values)} resamples is undefined")
    tails = (1 - level) / 2, (1 + level) / 2
    slack = TIE * max(abs(estimate), 1e-300)
    equal = np.abs(defined - estimate) <= slack
    if equal.all():
        notes.append("the statistic is the same in every resample")
        defined = np.array([estimate])
    elif method == "BCa":
        below = np.sum(defined < estimate - slack) + np.sum(equal) / 2
        if 0 < below < len(defined):
            share = float(below) / len(defined)
            tails = _corrected(tails, share, left_out[np.isfinite(left_out)])
        else:
            notes.append(
                "all resamples lie on one side of the estimate, so percentiles are used instead of BCa"
            )
    finite = defined[np.isfinite(defined)]
    between: Literal["linear", "nearest"] = "linear" if len(finite) == len(defined) else "nearest"
    low, high = np.quantile(defined, tails, method=between).tolist()
    error = float(np.std(finite, ddof=1)) if len(finite) > 1 else 0.0
    return _Interval(low, high, error, notes)


def _corrected(tails: tuple[float, float], below: float, left_out: Array) -> tuple[float, float]:
    """Levels of the quantiles corrected for bias, from the share of resamples below, and for acceleration."""
    normal = NormalDist()
    bias = normal.inv_cdf(below)
    change = left_out.mean() - left_out
    spread = float(np.sum(change**2)) ** 1.5
    acceleration = float(np.sum(change**3)) / (6 * spread) if spread > 0 else 0.0

    def level(tail: float) -> float:
        z = bias + normal.inv_cdf(tail)
        if acceleration * z >= 1:
            return float(z > 0)
        return normal.cdf(bias + z / (1 - acceleration * z))

    return level(tails[0]), level(tails[1])


def confidence_band(
    intervals: Intervals | UCC,
    *,
    axes: Axes = HEADLINE,
    vary: Vary | None = None,
    unit: Unit = "raw",
    kind: Kind = "pointwise",
    confidence_level: float = 0.95,
    n_points: int = 201,
    n_resamples: int = 999,
    seed: Seed = None,
    block: int | npt.ArrayLike | Blocks | None = None,
    progress: Progress = None,
) -> ConfidenceBand:
    """Confidence band of the curve, by resampling the rows with replacement.

    Parameters
    ----------
    intervals : Intervals or UCC
    axes, unit
        As in `UCC`.
    vary, n_resamples, seed, block, progress
        As in `bootstrap`.
    kind : {"pointwise", "simultaneous"}
        For any one place on x: percentiles of the resampled curves. For all at once: as many standard errors as the
        largest deviation of a resampled curve has with the given confidence (the sup-t band of Montiel Olea and
        Plagborg-Møller 2019).
    confidence_level : float
    n_points : int
        The maximum number of places; they are spread evenly over the vertices of the curve.

    Returns
    -------
    ConfidenceBand

    Notes
    -----
    Resampled curves are exact up to 1,024 vertices, and straight lines between knots beyond; see `bootstrap`.

    Examples
    --------
    >>> iv = Intervals.from_bands([1, 2, 4, 3], y_pred=[0] * 4, lower_band=[1, 1, 4, 2])
    >>> band = confidence_band(iv, seed=0)
    >>> band.x.tolist(), band.y.tolist()
    ([0.0, 2.0, 3.0, 4.0], [1.0, 0.5, 0.25, 0.0])
    >>> bool((band.low <= band.y).all() and (band.y <= band.high).all())
    True
    """
    checks.choice("kind", kind, ("pointwise", "simultaneous"))
    level = checked_level(confidence_level)
    if positive("n_resamples", n_resamples) < 2:
        raise ValueError(f"`n_resamples` must be at least 2 for a band; got {n_resamples}.")
    curve = curve_of("intervals", intervals, vary)
    asked = CurveStatistic.of(curve, "area", axes=axes, unit=unit)
    x, y = _places(curve, asked, positive("n_points", n_points))
    units = DrawnUnits(curve.intervals, block, seed, what="a confidence band")
    with watched(progress, "resamples") as tick:
        resampled = _Resampled(curve, asked, units)
        curves = np.array(
            [
                y_drawn
                for counts in units.resamples(n_resamples, tick)
                for y_drawn in resampled.at(x, counts)
            ]
        )
    if kind == "pointwise":
        ends = np.quantile(curves, ((1 - level) / 2, (1 + level) / 2), axis=0)
    else:
        reach = _simultaneous_reach(curves, y, level)
        ends = np.stack([y - reach, y + reach])
    limit = 1.0 if asked.axes[1] == "miss_rate" else np.inf
    low, high = (np.clip(end, 0, limit) for end in ends)
    for array in (x, y, low, high):
        array.setflags(write=False)
    return ConfidenceBand(asked.axes, x, y, low, high, kind, level)


class _Resampled:
    """The curves of resampled units, from sums over each unit."""

    def __init__(self, curve: UCC, asked: CurveStatistic, units: DrawnUnits) -> None:
        self._asked = asked
        self._knots = knots_for(curve.path(), asked)
        self._table = self._knots.table(units.of_row, units.count)
        self._steps = self._knots.is_every_vertex and "miss_rate" in asked.axes

    def at(self, places: Array, counts: Array) -> Iterator[Array]:
        """Yield y at the places of the curve of each resample, in which units are drawn so many times."""
        axes = self._asked.axes
        drawn = self._knots.curves(means(counts @ self._table)).metrics
        xs, ys = (drawn[name] * self._asked.size(name) for name in axes)
        for x, y in zip(xs, ys, strict=True):
            yield _at(x, y, places, axes, steps=self._steps)


def _simultaneous_reach(curves: Array, y: Array, level: float) -> Array:
    """How far a band reaches at each place: as many standard errors as the largest deviation has at this level."""
    error = np.std(curves, axis=0, ddof=1)
    deviation = np.abs(curves - y)
    np.divide(deviation, error, out=deviation, where=error > 0)
    largest = np.where(error > 0, deviation, 0).max(axis=1)
    return np.asarray(np.quantile(largest, level) * error)


def _places(curve: UCC, asked: CurveStatistic, count: int) -> tuple[Array, Array]:
    """Places on x that are spread evenly over the vertices of the curve, and y there."""
    points = curve.points(axes=asked.axes, unit=asked.unit)
    chosen = evenly(len(points), count)
    order = _ascending(asked.axes)
    x = points.x[chosen][order]
    y = points.y[chosen][order]
    keep = np.append(x[1:] > x[:-1], True)
    return x[keep], y[keep]


def _at(x: Array, y: Array, places: Array, axes: Axes, *, steps: bool) -> Array:
    """Return y of one curve at the places; where only rounding keeps x from a place, it is there."""
    order = _ascending(axes)
    x = x[order]
    y = y[order]
    falls = axes[0] == "deficit"
    places = places + (-TIE if falls else TIE) * x[-1]
    if not steps:
        return np.interp(places, x, y)
    # the miss rate stays until the next row is covered
    place = np.searchsorted(x, places) if falls else np.searchsorted(x, places, side="right") - 1
    return np.asarray(y[np.clip(place, 0, len(y) - 1)])


def _ascending(axes: Axes) -> slice:
    """Return the order in which x rises."""
    return slice(None, None, -1 if axes[0] in FALLING else 1)
