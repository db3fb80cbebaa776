"""Sketch answers: a bracket around the exact value of everything that a curve can be asked."""

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from math import ceil, inf, nan
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from uccurve import _refusals as checks
from uccurve._distributions import conformal_rank
from uccurve._paths import DOUBLED, INCOMPARABLE, LEFT_BEHIND, SIDE_HINT
from uccurve._refusals import as_written
from uccurve._vocabulary import FALLING, HEADLINE, Array, Axes, Metric, Unit
from uccurve.curve import UCC
from uccurve.intervals import Intervals
from uccurve.points import Decomposition

from ._binned import Binned, Bracket, area, bracket, outward, partial, reach
from ._bins import SketchState

Reference: TypeAlias = "Intervals | UCC | Answers | None"


class QuantilePlace(NamedTuple):
    """A quantile of the critical scales: interpolated inside its bin, and the ends of that bin."""

    low: float
    value: float
    high: float


class Answers:
    """Brackets from one state, in one unit; methods and options are those of `SketchUCC`."""

    def __init__(self, state: SketchState, unit: Unit = "raw") -> None:
        self.state, self.unit, size = state, unit, checks.unit(unit)
        self.size = _standard_deviation(state) if size is None else bracket(size)

    @cached_property
    def binned(self) -> Binned:
        """Metrics of the rows."""
        return self._in_unit(Binned.of(self.state))

    @cached_property
    def plain(self) -> Binned:
        """The same without room for the rounding of sums."""
        return self.binned.restated(1.0, rounding=0.0)

    @cached_property
    def constant(self) -> Binned:
        """Metrics of the reference in bands of 1, so that its scale is a half-width."""
        return self._in_unit(Binned.constant(self.state))

    def _in_unit(self, binned: Binned) -> Binned:
        return binned.restated(self.size.middle, binned.rounding + self.size.width / self.size.low)

    def refuse_incomparable(self) -> None:
        """Refuse bands so unlike the errors that no excess can be told beside them, as memory does."""
        total = self.state.total
        huge = self.state.crossover.total("gap") / total
        error = self.state.critical.total("error") / total
        if DOUBLED * self.binned.end * huge > LEFT_BEHIND * error > 0:
            sizes = f"bands of {huge:.3g} on average beside a mean error of {error:.3g}"
            what = f"float64 cannot hold {sizes} to nine digits"
            raise ValueError(INCOMPARABLE.format(what, SIDE_HINT))

    # ---- the curve

    def scales(self) -> Array:
        """Scales at which bins begin and end, from 0 to the end of the curve."""
        scales = np.unique(
            np.concatenate([[0.0], self.binned.active.minimum, self.binned.active.maximum])
        )
        scales.setflags(write=False)
        return scales

    def column(self, name: Metric, t: Array) -> Array:
        """Midpoints of a metric's brackets at scales t, by the sums as they are."""
        column = self.plain.values(name, t).positive().middles
        column.setflags(write=False)
        return column

    def metrics(self, name: Metric, t: Array) -> Bracket:
        """Metric at scales t."""
        return self.binned.values(name, t).positive()

    def metric(self, name: Metric, at: float = 1.0) -> Bracket:
        """Metric at one scale."""
        values = self.metrics(name, np.array([checks.real("at", at, 0)]))
        return Bracket(values.low[0], values.high[0])

    # ---- targets

    def find(
        self, *, conformal: bool = False, confidence: float | None = None, **targets: Any
    ) -> Bracket:
        """Smallest scale that reaches a target."""
        name, target = checks.target(targets, conformal=conformal, confidence=confidence)
        (first, last), wanted = reach(self.binned, name, float(target)), f"{name}={float(target):g}"
        if conformal:
            if self.state.unequal:
                raise ValueError(
                    "`conformal` counts rows, so it needs equal weights. Hint: leave `weight` out."
                )
            rank = conformal_rank(self.state.rows, as_written(target), confidence)
            first, _, last = (
                self.place(Fraction(rank, self.state.rows))
                if rank
                else QuantilePlace(0.0, 0.0, 0.0)
            )
            wanted += f" with conformal rank {rank} of {self.state.rows}"
        if last < inf:
            return Bracket(first, last)
        if first < inf:
            raise ValueError(
                f"no scale is sure to reach {wanted}: the bins leave open whether one does. "
                f"Hint: ask for slightly {'more' if name in FALLING else 'less'}, or use a UCC of the rows."
            )
        limit = f"{'minimum' if name in FALLING else 'maximum'} is {self.metric(name, at=self.binned.end).middle:.4g}"
        raise ValueError(
            f"no scale reaches {wanted}: the {limit}. Hint: raise zero bands with `min_band`."
        )

    def place_for_new_rows(self, coverage: float | Fraction) -> QuantilePlace:
        """Scale of the conformal rank; of unequal weights the smallest whose coverage reaches the target."""
        return self.place(self._share_for_new_rows(coverage))

    def constant_place(self, coverage: float | Fraction) -> QuantilePlace:
        """Half-width of the constant band for new rows."""
        return place_of(self.constant, self.state, self._share_for_new_rows(coverage))

    def _share_for_new_rows(self, coverage: float | Fraction) -> Fraction:
        share = 1 - checks.miss_rate_of(coverage)
        rows = self.state.rows
        return share if self.state.unequal else Fraction(ceil((rows + 1) * share), rows)

    def place(self, share: Fraction) -> QuantilePlace:
        """Smallest critical scale at and below which a share of the weight lies."""
        return place_of(self.binned, self.state, share)

    # ---- areas

    def area(self, *, axes: Axes = HEADLINE, **part: Any) -> Bracket:
        """Area under the curve or a part of it."""
        return _area(self.binned, axes=axes, **part)

    def gain(self, *, axes: Axes = HEADLINE, reference: Reference = None, **part: Any) -> Bracket:
        """Share of the reference's area that is saved."""
        return saved(
            self.area(axes=axes, **part), self._theirs(_area, "area", reference, axes=axes, **part)
        )

    # ---- costs

    def cost(self, c: float, *, axes: Axes = HEADLINE, at: float | None = None) -> Bracket:
        """Cost at one scale, by default as delivered."""
        c, axes = checks.real("c", c, 0, 1), checks.axes(axes)
        x, y = (self.metric(name, at=1.0 if at is None else at) for name in axes)
        return outward(x * c + y * (1 - c))

    def costs(self, c: float, axes: Axes, t: Array) -> Bracket:
        """Cost at scales t."""
        x, y = (self.metrics(name, t) for name in axes)
        return x * c + y * (1 - c)

    def cheapest(self, c: float, *, axes: Axes = HEADLINE) -> Bracket:
        """Minimum cost."""
        c, axes = checks.real("c", c, 0, 1), checks.axes(axes)
        t = self.binned.breakpoints
        high = self.costs(c, axes, self.scales()).high.min()
        lows = [self.metrics(name, t).low for name in axes]
        if "miss_rate" in axes:  # a step between breakpoints, where other bounds are straight lines
            lows = [
                np.append(low[1:], low[-1]) if name in FALLING else low
                for name, low in zip(axes, lows, strict=True)
            ]
        return outward(Bracket(min((lows[0] * c + lows[1] * (1 - c)).min(), high), high))

    # ---- scores

    def interval_score(self, *, coverage: float | Fraction, at: float | None = None) -> Bracket:
        """Interval score at one scale, by default as delivered."""
        width, deficit = (
            self.metric(name, 1.0 if at is None else at) for name in ("bandwidth", "deficit")
        )
        return outward(width * 2.0 + deficit * _penalty(coverage))

    def constant_score(self, *, coverage: float | Fraction, at: float) -> Bracket:
        """Interval score of the constant band of one half-width."""
        t = np.array([at])
        width, deficit = (self.constant.values(name, t) for name in ("bandwidth", "deficit"))
        scores = width * 2.0 + deficit.positive() * _penalty(coverage)
        return outward(Bracket(scores.low[0], scores.high[0]))

    def best_score(self, *, coverage: float | Fraction) -> Bracket:
        """Minimum interval score over the scale."""
        return best_score(self.binned, _penalty(coverage))

    def shipped(self, *, coverage: float | Fraction) -> Bracket:
        """Interval score at the factor for new rows."""
        place = self.place_for_new_rows(coverage)
        return score_between(self.binned, _penalty(coverage), place.low, place.high)

    def constant_shipped(self, *, coverage: float | Fraction) -> Bracket:
        """Interval score of the constant band at its half-width for new rows."""
        place = self.constant_place(coverage)
        return score_between(self.constant, _penalty(coverage), place.low, place.high)

    def rescaling(self, *, coverage: float | Fraction) -> Bracket:
        """Interval score as delivered minus that as shipped."""
        return self.interval_score(coverage=coverage) - self.shipped(coverage=coverage)

    def bands(self, *, coverage: float | Fraction) -> Bracket:
        """Interval score of the constant band as shipped minus that of these bands."""
        return self.constant_shipped(coverage=coverage) - self.shipped(coverage=coverage)

    def slack(self, *, coverage: float | Fraction) -> Bracket:
        """Interval score as shipped minus the smallest one."""
        return (self.shipped(coverage=coverage) - self.best_score(coverage=coverage)).positive()

    def shipped_skill(self, *, coverage: float | Fraction) -> Bracket:
        """Share of the constant band's score that is saved, both as shipped."""
        return saved(self.shipped(coverage=coverage), self.constant_shipped(coverage=coverage))

    def decomposition(self, *, coverage: float | Fraction) -> Decomposition:
        """What bands and calibration contribute to the interval score; infinite as shipped where nothing ships."""
        delivered = self.interval_score(coverage=coverage).middle
        shipped = self.shipped_score(coverage=coverage).middle
        return Decomposition.of(
            delivered=delivered,
            shipped=shipped,
            constant=self.constant_shipped(coverage=coverage).middle,
            climatology=nan,
            best=min(self.best_score(coverage=coverage).middle, delivered, shipped),
        )

    def shipped_score(self, *, coverage: float | Fraction) -> Bracket:
        """Interval score at the factor that is shown, which is interpolated inside its bin."""
        place = self.place_for_new_rows(coverage)
        if place.value == inf:
            return bracket(inf)
        return self.interval_score(coverage=coverage, at=place.value)

    def potential_crps(self) -> Bracket:
        """CRPS with each level at its best scale."""
        return potential_crps(self.binned)

    def skill(
        self, *, coverage: float | Fraction | None = None, reference: Reference = None
    ) -> Bracket:
        """Share of the reference's score that is saved: as shipped for a coverage, else of the potential CRPS."""
        if coverage is None:
            theirs = self._theirs(potential_crps, "potential_crps", reference)
            return saved(self.potential_crps(), theirs)
        if reference is None:
            return self.shipped_skill(coverage=coverage)
        if isinstance(reference, Answers):
            other = Answers(reference.state, self.unit).shipped(coverage=coverage)
        else:
            curve = _curve(reference)
            other = bracket(curve.decompose(coverage=float(coverage), unit=self.unit).shipped)
        return saved(self.shipped(coverage=coverage), other)

    def _theirs(
        self, of_bins: Callable[..., Bracket], answer: str, reference: Reference, **options: Any
    ) -> Bracket:
        """What a reference answers in the same unit, from bins or from a curve in memory."""
        if reference is None or isinstance(reference, Answers):
            bins = (
                self.constant if reference is None else Answers(reference.state, self.unit).binned
            )
            return of_bins(bins, **options)
        curve = _curve(reference)
        value = size = getattr(curve, answer)(unit=self.unit, **options)
        if "axes" in options:  # rounding is a share of the rectangle that holds the curve
            points = curve.points(axes=options["axes"], unit=self.unit)
            size = float(points.x.max() * points.y.max())
        return Bracket(max(value - 1e-12 * size, 0.0), value + 1e-12 * size)


def _curve(reference: Any) -> UCC:
    """Return the curve of a reference in memory."""
    if not isinstance(reference, UCC | Intervals):
        raise TypeError(
            f"`reference` must be Intervals, a UCC or a sketch; got {type(reference).__name__}."
        )
    return reference if isinstance(reference, UCC) else UCC(reference)


def _penalty(coverage: float | Fraction) -> float:
    """What the interval score multiplies the deficit by: 2 / alpha."""
    return float(2 / checks.miss_rate_of(coverage))


def _standard_deviation(state: SketchState) -> Bracket:
    """Return the standard deviation of y_true."""
    squares = state.y_squares / state.total
    variance, slack = (
        squares - (state.y_sum / state.total) ** 2,
        8 * state.errors.rounding * squares,
    )
    if not 0 < variance - slack < np.inf:
        raise ValueError(
            '`unit="std"` needs a y_true that varies by more than the rounding of its squares. '
            "Hint: pass the standard deviation as a number."
        )
    return Bracket(np.sqrt(variance - slack), np.sqrt(variance + slack))


def _area(binned: Binned, *, axes: Axes, **part: Any) -> Bracket:
    """Area under a curve or a part of it."""
    axes, given = checks.axes(axes), checks.only("range", part)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        whole_or_part = (
            area(binned, axes)
            if given is None
            else partial(binned, axes, given[0], checks.span(*given))
        )
    return outward(Bracket(np.fmax(whole_or_part.low, 0.0), np.fmin(whole_or_part.high, np.inf)))


def saved(mine: Bracket, theirs: Bracket) -> Bracket:
    """``1 - mine / theirs``; nan where both are 0, as far as rounding can say, or both infinite."""
    if theirs.high == 0:
        return bracket(-np.inf if mine.low > 0 else np.nan)
    if np.isinf(theirs.low):
        return bracket(np.nan if np.isinf(mine.low) else 1.0)
    low = 1 - mine.high / theirs.low if theirs.low > 0 else -np.inf
    high = 1 - mine.low / theirs.high if np.isfinite(mine.low) else -np.inf
    return outward(Bracket(low, high), 1.0)


def best_score(binned: Binned, penalty: float) -> Bracket:
    """Minimum over the scale of ``2 * bandwidth + penalty * deficit``, which is convex; the penalty is 2 / alpha.

    Bounds of the deficit are straight lines between the ends and the mean of a bin.
    """
    t = np.concatenate([[0.0, 1.0], binned.active.breakpoints])
    scores = binned.values("bandwidth", t) * 2.0 + binned.values("deficit", t).positive() * penalty
    high = float(scores.high.min())
    return outward(Bracket(min(float(scores.low.min()), high), high)).positive()


def score_between(binned: Binned, penalty: float, first: float, last: float) -> Bracket:
    """Interval score at a scale that lies between two: convex, so largest at one of these."""
    if not last < inf:
        return bracket(inf) if first == inf else Bracket(0.0, inf)
    inside = binned.active.breakpoints
    inside = inside[(inside > first) & (inside < last)]
    t = np.concatenate([[first, last], inside])
    scores = binned.values("bandwidth", t) * 2.0 + binned.values("deficit", t).positive() * penalty
    high = float(scores.high[:2].max())
    return outward(Bracket(min(float(scores.low.min()), high), high)).positive()


def place_of(binned: Binned, state: SketchState, share: Fraction | float) -> QuantilePlace:
    """Smallest critical scale at and below which a share of the weight lies.

    Inside its bin the density is treated as a power with the mean of the bin, and the last row at its end.
    """
    weight = binned.weight
    if state.unequal:
        goal = float(share) * state.total * (1 - 1e-14)
        masses = weight.mass
    else:
        goal = ceil(share * state.rows)
        masses = weight.mass * (state.rows / state.total)
    i = int(np.searchsorted(np.cumsum(masses), goal * (1 - 1e-12)))
    if i == len(masses):
        return QuantilePlace(inf, inf, inf)
    low = float(weight.minimum[i])
    high = float(weight.maximum[i])
    part = min(max((goal - float(masses[:i].sum())) / float(masses[i]), 0.0), 1.0)
    mean = (float(weight.mean[i]) - low) / (high - low or 1.0)
    return QuantilePlace(
        low, low + (high - low) * (part ** ((1 - mean) / mean) if mean > 0 else 0.0), high
    )


def potential_crps(binned: Binned) -> Bracket:
    """Integral over alpha from 0 to 1 of the minimum over the scale of ``alpha * bandwidth + deficit``.

    The minimum for one alpha is the mean error of uncoverable rows plus the integral over the scale of ``min(alpha * b,
    A)``, with b the mean half-width and A the mean active band of the rows beyond. Its integral over alpha is in
    closed form (`_averaged`) and grows with A, so it is smallest where all mass of a bin is at its mean and largest
    where it is at both ends.
    """
    masses, half_width = binned.active, binned.half_width
    p, q, beyond = masses.minimum, masses.maximum, masses.remaining / binned.total
    with np.errstate(divide="ignore", invalid="ignore"):
        at_maximum = np.where(
            q > p, np.clip((masses.moment - p * masses.mass) / (q - p), 0, masses.mass), 0.0
        )
    low = np.sum(np.diff(masses.mean, prepend=0.0) * _averaged(beyond[:-1], half_width))
    high = np.sum((p - np.append(0.0, q)[:-1]) * _averaged(beyond[:-1], half_width))
    high += np.sum((q - p) * _averaged(beyond[1:] + at_maximum / binned.total, half_width))
    error, room = binned.uncoverable_error / binned.total, 8 * binned.rounding
    return Bracket((low + error) * (1 - room), (max(high, low) + error) * (1 + room))


def _averaged(active: Array, half_width: float) -> Array:
    """Integral of ``min(alpha * half_width, active)`` over alpha from 0 to 1."""
    if half_width == 0:
        return np.zeros(len(active))
    ratio = np.minimum(active / half_width, 1.0)
    return half_width * ratio * (1 - ratio / 2)
