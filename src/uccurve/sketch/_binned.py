"""Binned: the metrics of a sketch at any scale, each as a bracket.

A metric is made of sums over binned rows: of steps at the critical scales (the miss rate), of ramps that begin there
(overshoot and deficit) or at the crossovers, from which a row's other bound is the nearer one (overshoot minus excess,
called the surplus). Of each bin the minimum, the maximum and the mean position are known. Where bins end a sum is known
exactly; inside a bin a sum of ramps is convex, so it lies below the chord and above the tangents at both ends, which
meet at the mean (Jensen). Sums and positions are rounded; brackets allow for that by a share of what was summed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import product
from math import inf
from typing import Any, NamedTuple

import numpy as np

from uccurve._arrays import Flags, Indices
from uccurve._vocabulary import FALLING, Array, Axes, Metric

from ._bins import NOTHING, Histogram, Integers, SketchState, lower_ends

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class Bracket:
    """Bounds of one value, or of an array of them.

    >>> b = Bracket(1.0, 2.0)
    >>> (b - b).pair, (b * Bracket(-1.0, 3.0)).pair
    ((-1.0, 1.0), (-2.0, 6.0))
    """

    low: Any
    high: Any

    def __add__(self, other: Bracket | float) -> Bracket:
        other = bracket(other)
        return Bracket(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Bracket | float) -> Bracket:
        other = bracket(other)
        return Bracket(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Bracket | float) -> Bracket:
        other = bracket(other)
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Bracket(reduce(np.minimum, ends), reduce(np.maximum, ends))

    def over(self, other: Bracket | float) -> Bracket:
        """Divide a nonnegative value by a positive one."""
        other = bracket(other)
        return Bracket(self.low / other.high, self.high / other.low)

    def positive(self) -> Bracket:
        """The bracket of a value that cannot be negative."""
        return Bracket(np.maximum(self.low, 0.0), np.maximum(self.high, 0.0))

    @property
    def pair(self) -> tuple[float, float]:
        """Both ends as floats."""
        return float(self.low), float(self.high)

    @property
    def width(self) -> Any:
        """Distance between the ends."""
        return self.high - self.low

    @property
    def middles(self) -> Array:
        """Midpoints of an array of brackets."""
        middles: Array = np.where(
            self.low == self.high, self.low, self.low + (self.high - self.low) / 2
        )
        return middles

    @property
    def middle(self) -> float:
        """Midpoint: the answer as a single number."""
        low, high = self.pair
        return low if low == high else low + (high - low) / 2


def bracket(value: Any) -> Bracket:
    """The bracket of a known value."""
    return value if isinstance(value, Bracket) else Bracket(value, value)


def outward(inner: Bracket, size: float = 0.0) -> Bracket:
    """Widen a bracket by the rounding of a few operations on numbers of at least `size`."""
    low, high = inner.pair
    if low == high and not np.isfinite(low):
        return inner
    room = [16 * EPS * max(abs(end), size) for end in (low, high)]
    return Bracket(
        low - room[0] if np.isfinite(low) else low, high + room[1] if np.isfinite(high) else high
    )


@dataclass(frozen=True, eq=False)
class Masses:
    """Binned masses at positions: extreme positions, mass, and mass times position and its square of each bin.

    Bins ascend and do not overlap. `rounding` is the relative error of a sum over any of them; where it is 0 the sums
    and positions count as they are.
    """

    bin: Integers
    minimum: Array
    maximum: Array
    mass: Array
    moment: Array
    square: Array
    rounding: float

    @cached_property
    def mean(self) -> Array:
        """Mean position in each bin."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            mean: Array = self.moment / self.mass
        return np.fmin(np.fmax(mean, self.minimum), self.maximum)

    @cached_property
    def remaining(self) -> Array:
        """Mass at or above each bin, and 0 above the last."""
        return np.append(np.cumsum(self.mass[::-1])[::-1], 0.0)

    @property
    def breakpoints(self) -> Array:
        """Breakpoints of the bounds of `ramps`."""
        return np.concatenate([self.minimum, self.mean, self.maximum])

    def over(self, size: float, rounding: float) -> Masses:
        """Divide the masses by a number; the quotients have another relative error."""
        mass, moment, square = (sums / size for sums in (self.mass, self.moment, self.square))
        return replace(self, mass=mass, moment=moment, square=square, rounding=rounding)

    def ramps(self, t: Array, *, rising: bool) -> Bracket:
        """Sum of ``mass * max(0, t - position)`` at each t, or of ``mass * max(0, position - t)``."""
        if not len(self.mass):
            return Bracket(np.zeros(len(t)), np.zeros(len(t)))
        sign, j = (
            (1.0 if rising else -1.0),
            np.minimum(np.searchsorted(self.maximum, t), len(self.mass) - 1),
        )
        whole = [_cumulated(sums, rising=rising)[j] for sums in (self.mass, self.moment)]
        p, q, m, n = (values[j] for values in (self.minimum, self.maximum, self.mass, self.moment))
        done, low = sign * (whole[0] * t - whole[1]), np.maximum(sign * (m * t - n), 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            chord = (t - p) / (q - p) * (q * m - n) if rising else (q - t) / (q - p) * (n - p * m)
        high = np.where((p < t) & (t < q), np.maximum(chord, low), low)
        room = np.where(rising | (t <= q * (1 + 8 * EPS)), self.rounding, 0.0)
        slack = room * ((whole[0] + m) * t + whole[1] + n)
        return Bracket(done + low - slack, done + high + slack)

    def beyond(self, t: Array, *, exact: bool) -> Bracket:
        """Mass at positions above t; a bin's mean limits how much of it can lie on one side (Markov)."""
        j = np.searchsorted(self.maximum, t, side="right")
        cut = np.append(self.minimum, np.inf)[j] < t
        done, at = self.remaining[j + cut], np.flatnonzero(cut)
        low, high = np.zeros(len(t)), np.zeros(len(t))
        x, (p, q, m, n) = (
            t[at],
            (values[j[at]] for values in (self.minimum, self.maximum, self.mass, self.moment)),
        )
        slack = self.rounding * (n + q * m)
        low[at] = np.clip((n - x * m - slack) / (q - x), 0, m)
        high[at] = np.minimum((n - p * m + slack) / (x - p), m)
        room = 0.0 if exact else self.rounding * (done + high)
        return Bracket(done + low - room, done + high + room)

    def remainder(self, start: Array, stop: Array, *, steps: bool) -> tuple[Bracket, Array]:
        """Return how far `ramps`, or the steps of `beyond`, lie off the straight line over cells that hold the bins.

        The first is the integral of the remainder over each cell, the second bounds its size.
        """
        width, (mass, moment) = stop - start, (self.mass, self.moment)
        if steps:
            bend, size, gap = moment - mass * (start + stop) / 2, moment + mass * stop, mass
        else:
            edges, both = start * stop * mass, (start + stop) * moment
            bend, size = (edges + self.square - both) / 2, edges + self.square + both
            with np.errstate(divide="ignore", invalid="ignore"):
                gap = (
                    mass * (self.mean - start) * (stop - self.mean) / width
                    + self.rounding * mass * stop
                )
            gap = np.fmin(gap, mass * width / 4)
        slack = self.rounding * size
        lowest, highest = -gap * width, gap * width * steps
        return Bracket(
            np.clip(bend - slack, lowest, highest), np.clip(bend + slack, lowest, highest)
        ), gap


def _cumulated(values: Array, *, rising: bool) -> Array:
    """Sum over the bins before each bin, or after it."""
    if rising:
        return np.append(0.0, np.cumsum(values)[:-1])
    return np.append(np.cumsum(values[::-1])[::-1][1:], 0.0)


class Cells(NamedTuple):
    """Bins of all kinds together: where each begins and ends, and what is known of a component in between.

    A metric is a straight line between its values at both ends plus a remainder, which is the sum of those of its
    components. `bends` are the integrals of a component's remainder over the scale, and `gaps` bound its size.
    """

    start: Array
    stop: Array
    bends: dict[str, Bracket]
    gaps: dict[str, Array]


@dataclass(frozen=True, eq=False)
class Binned:
    """Weights and active bands at the critical scales, and gaps between the bands at the crossovers.

    Sums are over all rows; metrics are divided by `total`.
    """

    total: float
    half_width: float
    weight: Masses
    active: Masses
    gap: Masses
    uncoverable_weight: float
    uncoverable_error: float
    weighted: bool

    @classmethod
    def of(cls, state: SketchState) -> Binned:
        """Metrics of the rows of a sketch."""
        critical, wider = state.critical, state.crossover.sums
        finite, uncoverable = critical.where(~critical.infinite), critical.where(critical.infinite)
        sums, total, rounding = finite.sums, state.total, critical.rounding * (1 + state.weighted)
        masses = _masses(
            finite, state, rounding, [sums[name] for name in ("active", "error", "product")]
        )
        return cls(
            total,
            critical.total("width") / (2 * total),
            replace(masses, mass=sums["weight"], moment=sums["scale"]),
            masses,
            _masses(
                state.crossover,
                state,
                rounding,
                [wider["gap"], 2 * wider["error"], 2 * wider["product"]],
            ),
            uncoverable.total("weight"),
            uncoverable.total("error"),
            state.weighted,
        )

    @classmethod
    def constant(cls, state: SketchState) -> Binned:
        """Metrics of the reference: the same errors with bands of 1 on both sides."""
        sums, rounding = state.errors.sums, state.errors.rounding * (1 + state.weighted)
        masses = _masses(
            state.errors, state, rounding, [sums[name] for name in ("weight", "error", "product")]
        )
        nothing = _masses(Histogram.empty(()), state, rounding, [NOTHING] * 3)
        return cls(
            state.errors.total("weight"), 1.0, masses, masses, nothing, 0.0, 0.0, state.weighted
        )

    @property
    def rounding(self) -> float:
        """Relative error of the sums."""
        return self.active.rounding

    @property
    def end(self) -> float:
        """Last finite critical scale, where the curve ends."""
        return float(self.active.maximum.max(initial=0.0))

    @property
    def has_uncoverable_rows(self) -> bool:
        """Whether an error lies on the side of a zero band, so that no scale covers its row."""
        return self.uncoverable_weight > 0

    def restated(self, size: float, rounding: float) -> Binned:
        """The same in another unit, with another relative error of the sums."""
        active, gap = (masses.over(size, rounding) for masses in (self.active, self.gap))
        error, half_width = self.uncoverable_error / size, self.half_width / size
        weight = replace(self.weight, rounding=rounding)
        return replace(
            self,
            half_width=half_width,
            weight=weight,
            active=active,
            gap=gap,
            uncoverable_error=error,
        )

    def values(self, name: Metric, t: Array) -> Bracket:
        """Metric at scales t; lower bounds may be negative by rounding."""
        if name == "bandwidth":
            return self._rounded(self.half_width * t)
        if name == "miss_rate":
            uncoverable = (
                self._rounded(self.uncoverable_weight) if self.weighted else self.uncoverable_weight
            )
            return (self.weight.beyond(t, exact=not self.weighted) + uncoverable).over(self.total)
        if name == "deficit":
            return (
                self.active.ramps(t, rising=False) + self._rounded(self.uncoverable_error)
            ).over(self.total)
        overshoot = self.active.ramps(t, rising=True)
        if name == "excess":
            overshoot -= self.gap.ramps(t, rising=True)
        elif name != "overshoot":
            raise KeyError(name)
        return overshoot.over(self.total)

    def _rounded(self, value: Any) -> Bracket:
        """Bracket of a sum that is rounded."""
        return Bracket(value * (1 - self.rounding), value * (1 + self.rounding))

    @cached_property
    def breakpoints(self) -> Array:
        """Breakpoints of the bounds of all metrics, from 0 to the end."""
        every = [
            self.active.breakpoints,
            self.weight.minimum,
            self.weight.maximum,
            self.gap.breakpoints,
        ]
        places = np.concatenate([[0.0, self.end], *every])
        return np.unique(places[places <= self.end])

    def cells(self, components: Iterable[str]) -> Cells:
        """Bins of the critical scales, and of the crossovers where the surplus is one of the components."""
        parts = {"missed": self.weight, "ramps": self.active}
        if "surplus" in components:
            parts["surplus"] = self.gap
        numbers = np.unique(np.concatenate([part.bin for part in parts.values()]))
        cells = Cells(np.full(len(numbers), np.inf), np.zeros(len(numbers)), {}, {})
        for part in parts.values():
            at = np.searchsorted(numbers, part.bin)
            cells.start[at] = np.minimum(cells.start[at], part.minimum)
            cells.stop[at] = np.maximum(cells.stop[at], part.maximum)
        for name, part in parts.items():
            at = np.searchsorted(numbers, part.bin)
            bend, gap = part.remainder(cells.start[at], cells.stop[at], steps=name == "missed")
            low, high, cells.gaps[name] = (np.zeros(len(numbers)) for _ in range(3))
            low[at], high[at], cells.gaps[name][at] = (
                bend.low / self.total,
                bend.high / self.total,
                gap / self.total,
            )
            cells.bends[name] = Bracket(low, high)
        return cells


def _masses(
    histogram: Histogram, state: SketchState, rounding: float, sums: Sequence[Array]
) -> Masses:
    """Masses, moments and squares in the bins of a histogram, with bounds for the minima of these.

    A single row is the minimum itself, and tied rows are recognised by a mean that is the maximum.
    """
    low = np.maximum(
        lower_ends(histogram.bin, state.resolution), np.append(0.0, histogram.maximum)[:-1]
    )
    if "weight" in histogram.sums and not state.weighted:
        mean = histogram.sums["scale" if "scale" in histogram.sums else "error"] / histogram.rows
        low = np.maximum(
            low, histogram.maximum - histogram.rows * (histogram.maximum * (1 + rounding) - mean)
        )
    minimum = np.where(histogram.rows == 1, histogram.maximum, np.minimum(low, histogram.maximum))
    mass, moment, square = sums
    return Masses(histogram.bin, minimum, histogram.maximum, mass, moment, square, rounding)


# ---- areas


# The smallest and the largest scale at which a target may be reached; infinity where it may be out of reach.
Scales = tuple[float, float]
# What makes up the remainder of a metric inside a bin.
COMPONENTS: dict[Metric, dict[str, float]] = {
    "bandwidth": {},
    "miss_rate": {"missed": 1.0},
    "deficit": {"ramps": 1.0},
    "overshoot": {"ramps": 1.0},
    "excess": {"ramps": 1.0, "surplus": -1.0},
}


def partial(binned: Binned, axes: Axes, name: Metric, span: tuple[float, float]) -> Bracket:
    """Area under the part of the curve on which one metric lies in a range."""
    from_end, to_end = span[::-1] if name in FALLING else span
    first, last = reach(binned, name, from_end), reach(binned, name, to_end)
    if axes[0] == name == "miss_rate":
        if first[0] == inf:
            return bracket(0.0)
        if last[1] == inf and _is_infinite(binned, axes):
            return Bracket(inf if last[0] == inf > first[1] else 0.0, inf)
        return between(binned, axes, 0.0, binned.end, levels=span)
    first, last = _around(first), _around(last)
    return Bracket(
        area(binned, axes, first[1], last[0]).low, area(binned, axes, first[0], last[1]).high
    )


def area(binned: Binned, axes: Axes, first: float = 0.0, last: float = inf) -> Bracket:
    """Area under the curve, or between two scales, which may extend beyond it."""
    if last == inf > first and _is_infinite(binned, axes):
        return bracket(inf)
    end = inf if binned.has_uncoverable_rows and last < inf else binned.end
    return between(binned, axes, first, min(last, end)) if first < min(last, end) else bracket(0.0)


def _is_infinite(binned: Binned, axes: Axes) -> bool:
    """Whether the area under the whole curve is infinite."""
    return binned.has_uncoverable_rows and not FALLING.issuperset(axes)


def between(
    binned: Binned,
    axes: Axes,
    first: float,
    last: float,
    *,
    levels: tuple[float, float] | None = None,
) -> Bracket:
    """Area under the curve between two scales; `levels` cut the steps of a miss rate that is the x axis."""
    cells = binned.cells([part for name in axes for part in COMPONENTS[name]])
    used = np.flatnonzero((cells.stop >= first) & (cells.start <= last))
    start, stop = np.clip(cells.start[used], first, last), np.clip(cells.stop[used], first, last)
    grid = np.concatenate([[first], np.stack([start, stop], axis=1).ravel(), [last]])
    x, y = (_at_grid(binned, name, grid) for name in axes)
    whole = (start == cells.start[used]) & (stop == cells.stop[used])
    if levels is not None:
        cut = Bracket(np.clip(x.low, *levels), np.clip(x.high, *levels))
        whole &= (cut.low == x.low)[1:-1:2] & (cut.low == x.low)[2::2]
        x = cut
    if axes[0] == axes[1]:
        ends = [Bracket(x.low[i] ** 2, x.high[i] ** 2) * 0.5 for i in (0, -1)]
        return (ends[0] - ends[1] if axes[0] in FALLING else ends[1] - ends[0]).positive()
    dx, dy = np.diff(x.middles), np.diff(y.middles)
    trapezoids = float(np.sum((y.middles[1:] + y.middles[:-1]) / 2 * dx))
    room = _means(y.width) @ np.abs(dx) / 2 + _means(x.width) @ np.abs(dy) / 2
    room += sum(float(y.high[i]) * float(x.width[i]) for i in (0, -1)) + 16 * EPS * abs(trapezoids)
    under = _inside(cells, axes, used, (dx[1::2], dy[1::2]), whole) + trapezoids
    under = Bracket(-under.high, -under.low) if axes[0] in FALLING else under
    return Bracket(under.low - room, under.high + room).positive()


def _at_grid(binned: Binned, name: Metric, grid: Array) -> Bracket:
    """Metric at the grid; before its steps where a cell begins."""
    values = binned.values(name, grid).positive()
    if name == "miss_rate":
        for end in (values.low, values.high):
            end[1:-1:2] = end[:-2:2]
    return values


def _inside(
    cells: Cells, axes: Axes, used: Indices, steps: tuple[Array, Array], whole: Flags
) -> Bracket:
    """What the trapezoids leave out of the cells in use; little is known of those that are cut."""
    dx, dy = steps
    high, at = np.abs(dx * dy) / 2, used[whole]
    low, width = -high, (cells.stop - cells.start)[at]
    slopes = [
        np.divide(step[whole], width, out=np.zeros(len(at)), where=width > 0) for step in steps
    ]
    total = bracket(np.zeros(len(at)))
    for sign, slope, name in ((1.0, slopes[0], axes[1]), (-1.0, slopes[1], axes[0])):
        for part, share in COMPONENTS[name].items():
            bend = cells.bends[part]
            total += Bracket(bend.low[at], bend.high[at]) * bracket(sign * share * slope)
    for first, second in product(*(COMPONENTS[name] for name in axes)):
        if first != second:
            largest = (cells.gaps[first] * cells.gaps[second])[at]
            total += Bracket(-largest, largest)
    low[whole], high[whole] = total.low, total.high
    return Bracket(float(low.sum()), float(high.sum()))


def _means(values: Array) -> Array:
    return (values[1:] + values[:-1]) / 2


def reach(binned: Binned, name: Metric, target: float) -> Scales:
    """Bounds of the smallest scale at which the metric reaches its target."""
    if name == "miss_rate":
        return _first_bin(binned, target, surely=False), _first_bin(binned, target, surely=True)
    return _around(_crossings(binned, name, target))


def _around(scales: Scales) -> Scales:
    """Allow for the rounding of positions and of the scales themselves."""
    return scales[0] * (1 - 8 * EPS), scales[1] * (1 + 8 * EPS)


def _first_bin(binned: Binned, level: float, *, surely: bool) -> float:
    """Where the miss rate may, or surely does, reach a level: 0, or an end of the first bin after which it does."""
    rates = binned.values("miss_rate", np.append(0.0, binned.weight.maximum))
    reached = np.append((rates.high if surely else rates.low) <= level, True)
    ends = binned.weight.maximum if surely else binned.weight.minimum
    return float(np.concatenate([[0.0], ends, [inf]])[np.argmax(reached)])


def _crossings(binned: Binned, name: Metric, target: float) -> Scales:
    """Where the upper and the lower bound of another metric reach a target."""
    grid = np.unique(np.concatenate([[0.0], binned.active.breakpoints, binned.gap.breakpoints]))
    end = max(float(grid[-1]), 1.0)
    grid = np.append(
        grid, [end * (1 + 16 * EPS), 2 * end]
    )  # all metrics are straight lines after the last
    values = binned.values(name, grid)
    if name in FALLING:
        values, target = Bracket(-values.high, -values.low), -target
    return _crossing(grid, values.high, target), _crossing(grid, values.low, target)


def _crossing(grid: Array, values: Array, target: float) -> float:
    """First place where a polyline, continued after its last vertex, is at its target or above."""
    i = min(int(np.argmax(np.append(values >= target, True))), len(grid) - 1)
    if i == 0:
        return float(grid[0])
    rise = values[i] - values[i - 1]
    return (
        float(grid[i - 1] + (target - values[i - 1]) / rise * (grid[i] - grid[i - 1]))
        if rise > 0
        else inf
    )
