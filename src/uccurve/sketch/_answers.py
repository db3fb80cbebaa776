"""Sketch answers: a bracket around the exact value of everything that a curve can be asked."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from uccurve import _checks as checks
from uccurve._checks import FALLING, HEADLINE, Array, Axes, Metric, Unit, as_written
from uccurve._distributions import conformal_rank
from uccurve.curve import UCC
from uccurve.intervals import Intervals

from ._area import area, partial, reach
from ._binned import Binned, Bracket, bracket, outward
from ._state import State

Reference: TypeAlias = "Intervals | UCC | Answers"


class Answers:
    """Brackets from one state; methods and options are those of `SketchUCC`."""

    __slots__ = ("binned", "constant", "state")
    state: State
    binned: Binned
    constant: Binned  # the reference, in bands of 1: its scale is a half-width

    def __init__(self, state: State) -> None:
        self.state = state
        self.binned = Binned.of(state)
        self.constant = Binned.constant(state)

    # ---- the curve

    def scales(self) -> Array:
        """Scales at which bins begin and end, from 0 to the end of the curve."""
        found = np.unique(np.concatenate([[0.0], self.binned.active.minimum, self.binned.active.maximum]))
        found.setflags(write=False)
        return found

    def column(self, name: Metric, t: Array, unit: Unit) -> Array:
        """Midpoints of a metric's brackets at scales t, by the sums as they are."""
        column = self.binned.values(name, t, rounded=True).positive().over(self._unit(unit, name)).middles
        column.setflags(write=False)
        return column

    def metrics(self, name: Metric, t: Array, unit: Unit) -> Bracket:
        """Metric at scales t."""
        return self.binned.values(name, t).positive().over(self._unit(unit, name))

    def metric(self, name: Metric, at: float = 1.0, *, unit: Unit = "raw") -> Bracket:
        """Metric at one scale."""
        return self.binned.value(name, checks.real("at", at, 0)).over(self._unit(unit, name))

    # ---- targets

    def find(
        self, *, conformal: bool = False, confidence: float | None = None, unit: Unit = "raw", **targets: Any
    ) -> Bracket:
        """Smallest scale that reaches a target."""
        name, target = checks.target(targets)
        if checks.flag("conformal", conformal):
            if name != "miss_rate":
                raise ValueError(f"`conformal` needs a target coverage or miss_rate, not {name}.")
            return self._conformal(target, confidence)
        if confidence is not None:
            raise ValueError("`confidence` needs conformal=True: it is about new rows.")
        return self._reached(name, checks.real(name, target, 0, 1 if name == "miss_rate" else np.inf), unit)

    def _reached(self, name: Metric, target: float, unit: Unit) -> Bracket:
        first, last = reach(self.binned, name, self._unit(unit, name) * target)
        if first is not None and last is not None:
            return Bracket(first, last)
        if first is not None:
            raise ValueError(
                f"no scale is sure to reach {name}={target:g}: the bins leave open whether one does. "
                f"Hint: ask for slightly {'more' if name in FALLING else 'less'}, or use a UCC of the rows."
            )
        limit = self.metric(name, at=self.binned.end, unit=unit).middle
        word = "minimum" if name in FALLING else "maximum"
        raise ValueError(
            f"no scale reaches {name}={target:g}: the {word} is {limit:.4g}. Hint: raise zero bands with `min_band`."
        )

    def _conformal(self, target: float | Fraction, confidence: float | None) -> Bracket:
        checks.real("miss_rate", target, 0, 1)
        if self.state.weighted:
            raise ValueError("`conformal` counts rows, so it needs equal weights. Hint: leave `weight` out.")
        n, found = self.state.rows, self.binned.weight
        rank = conformal_rank(n, as_written(target), confidence)
        if rank == 0:
            return bracket(0.0)
        i = int(np.searchsorted(np.cumsum(found.mass), rank))
        if i == len(found.minimum):
            raise ValueError(
                f"no scale reaches miss_rate={float(target):g} with conformal rank {rank} of {n}: "
                "too many errors lie on the side of a zero band. Hint: raise them with `min_band`."
            )
        return Bracket(found.minimum[i], found.maximum[i])

    # ---- areas

    def area(self, *, axes: Axes = HEADLINE, unit: Unit = "raw", **part: Any) -> Bracket:
        """Area under the curve or a part of it."""
        return self._area(self.binned, checks.axes(axes), part, unit)

    def _area(self, binned: Binned, axes: Axes, part: dict[str, Any], unit: Unit) -> Bracket:
        given = checks.only("range", part)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if given is None:
                found = area(binned, axes)
            else:
                name, span = given
                low, high = checks.span(name, span)
                size = self._unit(unit, name)
                found = partial(binned, axes, name, (size * low, size * high))
            for name in axes:
                found = found.over(self._unit(unit, name))
        return outward(
            Bracket(0.0 if np.isnan(found.low) else found.low, np.inf if np.isnan(found.high) else found.high)
        )

    def gain(
        self, *, axes: Axes = HEADLINE, reference: Reference | None = None, unit: Unit = "raw", **part: Any
    ) -> Bracket:
        """Share of the reference's area that is saved."""
        mine = self.area(axes=axes, unit=unit, **part)
        if reference is None:
            return _saved(mine, self._area(self.constant, checks.axes(axes), part, unit))
        other = _answers(reference)
        if isinstance(other, Answers):
            return _saved(mine, other.area(axes=axes, unit=unit, **part))
        points = other.points(axes=axes, unit=unit)
        size = float(points.x.max() * points.y.max())
        return _saved(mine, _computed(other.area(axes=axes, unit=unit, **part), size))

    def concentration(self, *, axes: Axes = HEADLINE, share: float = 0.5) -> Bracket:
        """Number of rows that carry a share of the area."""
        axes, share = checks.axes(axes), checks.real("share", share, 0, 1)
        if "miss_rate" not in axes or axes[0] == axes[1]:
            raise ValueError(
                f"`axes` must hold miss_rate and another metric: a sketch cannot attribute other areas to rows; "
                f"got {axes!r}."
            )
        if self.state.weighted:
            raise ValueError("`concentration` counts rows, so a sketch needs equal weights. Hint: leave `weight` out.")
        other = axes[0] if axes[1] == "miss_rate" else axes[1]
        return bracket(1.0) if self.binned.has_uncoverable_rows else rows_carrying(self.binned, other, share)

    # ---- costs

    def cost(self, c: float, *, axes: Axes = HEADLINE, at: float | None = None, unit: Unit = "raw") -> Bracket:
        """Cost at one scale, by default as delivered."""
        c, axes = checks.real("c", c, 0, 1), checks.axes(axes)
        x, y = (self.metric(name, at=1.0 if at is None else at, unit=unit) for name in axes)
        return outward(x * c + y * (1 - c))

    def costs(self, c: float, axes: Axes, t: Array, unit: Unit) -> Bracket:
        """Cost at scales t."""
        x, y = (self.metrics(name, t, unit) for name in axes)
        return x * c + y * (1 - c)

    def cheapest(self, c: float, *, axes: Axes = HEADLINE, unit: Unit = "raw") -> Bracket:
        """Minimum cost."""
        c, axes = checks.real("c", c, 0, 1), checks.axes(axes)
        t = self.binned.breakpoints
        high = self.costs(c, axes, self.scales(), unit).high.min()
        lows = [self.metrics(name, t, unit).low for name in axes]
        if "miss_rate" in axes:  # a step between breakpoints, where other bounds are straight lines
            lows = [
                np.append(low[1:], low[-1]) if name in FALLING else low for name, low in zip(axes, lows, strict=True)
            ]
        return outward(Bracket(min((lows[0] * c + lows[1] * (1 - c)).min(), high), high))

    # ---- scores

    def interval_score(self, *, coverage: float, at: float | None = None, unit: Unit = "raw") -> Bracket:
        """Interval score at one scale, by default as delivered."""
        t = 1.0 if at is None else checks.real("at", at, 0)
        found = self.binned.value("bandwidth", t) * 2.0 + self.binned.value("deficit", t) * _penalty(coverage)
        return outward(found).over(self._unit(unit))

    def best_score(self, *, coverage: float, unit: Unit = "raw") -> Bracket:
        """Minimum interval score over the scale."""
        return best_score(self.binned, _penalty(coverage)).over(self._unit(unit))

    def best_scale(self, *, coverage: float) -> Bracket:
        """Smallest scale with the minimum interval score."""
        return best_scale(self.binned, float(checks.miss_rate_of(coverage)))

    def uncertainty(self, *, coverage: float, unit: Unit = "raw") -> Bracket:
        """Minimum interval score of the constant band."""
        return best_score(self.constant, _penalty(coverage)).over(self._unit(unit))

    def miscalibration(self, *, coverage: float, unit: Unit = "raw") -> Bracket:
        """Interval score as delivered minus the minimum."""
        score = self.interval_score(coverage=coverage, unit=unit)
        return (score - self.best_score(coverage=coverage, unit=unit)).positive()

    def discrimination(self, *, coverage: float, unit: Unit = "raw") -> Bracket:
        """Minimum interval score of the constant band minus that of these bands."""
        return self.uncertainty(coverage=coverage, unit=unit) - self.best_score(coverage=coverage, unit=unit)

    def potential_crps(self, *, unit: Unit = "raw") -> Bracket:
        """CRPS with each level at its best scale."""
        return potential_crps(self.binned).over(self._unit(unit))

    def skill(self, *, reference: Reference | None = None) -> Bracket:
        """Share of the reference's potential CRPS that is saved."""
        mine = self.potential_crps()
        if reference is None:
            return _saved(mine, potential_crps(self.constant))
        other = _answers(reference)
        if isinstance(other, Answers):
            return _saved(mine, other.potential_crps())
        value = other.potential_crps()
        return _saved(mine, _computed(value, value))

    # ---- units

    def _unit(self, unit: Unit, name: Metric | None = None) -> Bracket:
        """One of the caller's units in units of y_true; 1 for the miss rate."""
        size = 1.0 if name == "miss_rate" else checks.unit(unit)
        return self._standard_deviation() if size is None else bracket(size)

    def _standard_deviation(self) -> Bracket:
        s = self.state
        squares = s.y_squares / s.total
        variance, slack = squares - (s.y_sum / s.total) ** 2, 8 * s.errors.rounding * squares
        if not 0 < variance - slack < np.inf:
            raise ValueError(
                '`unit="std"` needs a y_true that varies by more than the rounding of its squares. '
                "Hint: pass the standard deviation as a number."
            )
        return Bracket(np.sqrt(variance - slack), np.sqrt(variance + slack))


def _penalty(coverage: float) -> float:
    """What the interval score multiplies the deficit by: 2 / alpha."""
    return float(2 / checks.miss_rate_of(coverage))


def _answers(reference: Reference) -> Answers | UCC:
    """A reference as something that answers."""
    if isinstance(reference, Intervals):
        return UCC(reference)
    if not isinstance(reference, UCC | Answers):
        raise TypeError(f"`reference` must be Intervals, a UCC or a sketch; got {type(reference).__name__}.")
    return reference


def _computed(value: float, size: float) -> Bracket:
    """What a curve in memory computed from numbers of that size."""
    return Bracket(max(value - 1e-12 * size, 0.0), value + 1e-12 * size)


def _saved(mine: Bracket, theirs: Bracket) -> Bracket:
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


def best_scale(binned: Binned, alpha: float) -> Bracket:
    """Smallest scale with the minimum interval score: the first at which the mass beyond is at most ``alpha * b``."""
    active, room = binned.active, 4 * binned.rounding
    limit, beyond = alpha * binned.half_width * binned.total, active.remaining
    starts, ends = np.append(0.0, active.minimum), np.append(0.0, active.maximum)
    first, last = beyond <= limit * (1 + room), beyond <= limit * (1 - room)
    return Bracket(starts[np.argmax(first)], ends[np.argmax(last) if last.any() else -1])


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
        at_maximum = np.where(q > p, np.clip((masses.moment - p * masses.mass) / (q - p), 0, masses.mass), 0.0)
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


def rows_carrying(binned: Binned, name: Metric, share: float) -> Bracket:
    """Smallest number of rows that carry a share of the area between miss rate and another metric."""
    rows = binned.weight.mass[::-1]
    ends = [
        binned.values(name, t) - binned.values(name, np.zeros(1))
        for t in (binned.weight.minimum, binned.weight.maximum)
    ]
    if name == "deficit":
        ends = [Bracket(-end.high, -end.low) for end in ends]
    low, high = (np.maximum(part, 0)[::-1] for part in (ends[0].low, ends[1].high))
    total = Bracket(np.sum(rows * low), np.sum(rows * high)) * share
    fewest, most = _count(rows, high, total.low), _count(rows, low, total.high)
    return Bracket(fewest if np.any(low > 0) else 0.0, most if np.any(high > 0) else 0.0)


def _count(rows: Array, part: Array, need: float) -> float:
    """Number of rows, bin after bin, whose parts add up to what is needed; from one to all."""
    if need <= 0:
        return 1.0
    before = np.append(0.0, np.cumsum(rows * part))
    i = int(np.searchsorted(before[1:], need))
    if i == len(rows):
        return float(rows.sum())
    return float(rows[:i].sum() + np.ceil((need - before[i]) / part[i]))
