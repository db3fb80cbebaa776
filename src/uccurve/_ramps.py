"""Ramps: the vertices of a curve in order, the metrics at each of them, and the smallest t that reaches a value.

Every metric but the miss rate is a sum of ramps ``slope * max(0, t - position)``, or of falling ones for the deficit.
One sort and two running sums give its value at every vertex, and between vertices it is a straight line. The miss rate
is a step down at each critical t.
"""

from __future__ import annotations

from collections.abc import Collection
from math import isqrt
from typing import NamedTuple

import numpy as np

from ._arrays import Indices, blocks
from ._checks import FALLING, Array, Metric
from ._order import ordered, rearranged, running_integral, running_sum, signed_running_integral
from ._paths import Events, Path, ScalePath

APART = 1.0625
"""How far t must be from where overshoot equals deficit for either to come from the other: 33 roundings at most."""


class Ramps:
    """Vertices ``t`` of a path's curve from its start, distinct and ascending, and the metrics there.

    The curve ends at index `end`; later vertices are slope changes after all rows that can be covered are. O(n log n)
    once, then O(n) for the first look at a metric.
    """

    __slots__ = (
        *("_critical", "_distinct", "_groups", "_means", "_order", "_rows", "_total", "_values", "_width"),
        *("end", "t"),
    )

    def __init__(self, path: Path) -> None:
        critical, *others = path.events()
        self._groups = [critical, *(group for group in others if len(group.position))]
        self._order, t = ordered(_joined([group.position for group in self._groups]), first=path.start)
        rises = t[1:] != t[:-1]
        self._distinct: Indices | slice = slice(None) if rises.all() else np.flatnonzero(np.append(rises, True))
        self.t = _frozen(t[self._distinct])
        self.end = int(np.searchsorted(self.t, path.end))
        self._critical = _CriticalRows.of(path, critical)
        self._rows, self._total = len(path), path.total
        self._means = _means(path) if isinstance(path, ScalePath) else None
        self._width = path.mean_half_width if isinstance(path, ScalePath) else None
        self._groups = [group._replace(position=np.empty(0)) for group in self._groups]  # t has them
        self._values: dict[Metric, Array] = {}

    @property
    def crosses_over(self) -> bool:
        """Whether some other bound becomes the nearer one, so that excess is not overshoot."""
        return self._means is None or len(self._groups) > 1

    @np.errstate(over="ignore")  # what lies beyond float64 is infinite
    def values(self, name: Metric) -> Array:
        """Metric at each vertex, read-only; the miss rate after its step."""
        if name == "excess" and not self.crosses_over:
            name = "overshoot"
        if name not in self._values:
            if name == "bandwidth" and self._width is not None:
                self._values[name] = _frozen(self._width * self.t)
            elif self._means is not None and name in ("overshoot", "deficit"):
                for side, values in self._sides(self._means).items():
                    self._values[side] = _frozen(values[self._distinct])
            else:
                values = self._miss_rate() if name == "miss_rate" else self._signed(name)
                self._values[name] = _frozen(values[self._distinct])
        return self._values[name]

    def value(self, name: Metric, t: float) -> float:
        """Metric at one t up to the last vertex. O(log n)."""
        if name == "miss_rate":
            return float(self.values(name)[np.searchsorted(self.t, t, side="right") - 1])
        return float(np.interp(t, self.t, self.values(name)))

    def smallest_t_reaching(self, name: Metric, target: float) -> float | None:
        """Return the smallest t up to the last vertex at which the metric reaches `target`; None where none does."""
        values, sign = self.values(name), -1.0 if name in FALLING else 1.0
        if name == "miss_rate" and self._critical.weight is not None:
            target += sum_error(self._rows)  # a level that only the order of the sums moved is reached
        i = int(np.searchsorted(sign * values, sign * target))
        if i in (0, len(values)):
            return None if i else float(self.t[0])
        if name == "miss_rate" or values[i] == target:  # the vertex itself: interpolation may round to its neighbour
            return float(self.t[i])
        (t0, t1), (v0, v1) = self.t[i - 1 : i + 1].tolist(), values[i - 1 : i + 1].tolist()
        return float(max(t0, min(t1, t0 + (target - v0) / (v1 - v0) * (t1 - t0))))

    def minimum(self, x: Metric, y: Metric, weights: tuple[float, float]) -> float:
        """Smallest t that minimises a weighted sum of two metrics; it is a vertex."""
        costs = np.zeros(self.end + 1)
        for name, weight in zip((x, y), weights, strict=True):
            if weight:  # in units of the larger one, so that no product leaves float64
                costs += weight / max(weights) * self.values(name)[: self.end + 1]
        return float(self.t[index_of_minimum(costs)])

    def vertices(self, names: Collection[Metric]) -> Indices | slice:
        """Places of the vertices up to the curve's end that these metrics have."""
        wanted = [i == 0 or any(name in group.changes for name in names) for i, group in enumerate(self._groups)]
        if all(wanted):
            return slice(self.end + 1)
        flags = np.repeat(wanted, [_length(group) for group in self._groups])[self._order]
        kept = np.append(True, flags)
        if not isinstance(self._distinct, slice):
            kept = np.logical_or.reduceat(kept, np.append(0, self._distinct[:-1] + 1))
        return np.flatnonzero(kept[: self.end + 1])

    def places(self) -> Indices:
        """Place among the vertices of each row's critical t; that after the last for uncoverable rows."""
        if isinstance(self._distinct, slice):
            vertex = np.arange(1, len(self._order) + 1)
        else:
            vertex = np.repeat(np.arange(len(self.t)), np.diff(self._distinct, prepend=-1))[1:]
        covers = self._order < self._critical.number
        places = np.empty(self._critical.number, np.intp)
        places[self._order[covers]] = vertex[covers]
        if self._critical.number == self._rows:
            return places
        out = np.full(self._rows, len(self.t), np.intp)
        out[self._groups[0].rows] = places
        return out

    def lower_hull(self) -> Hull:
        """Vertices on the lower convex hull of (bandwidth, deficit), and the costs for which each is the best."""
        curve, corners = slice(self.end + 1), None
        t = self.t[curve]
        if self._width is not None:  # convex already, and the slopes are known without subtracting
            slopes = _sums_after(np.append(0.0, self._changes("deficit")[0]))[self._distinct][curve]
            slopes /= self._width or 1.0
        else:
            x, y = self.values("bandwidth")[curve], self.values("deficit")[curve]
            corners = _hull_corners(x, y)
            t, x, y = t[corners], x[corners], y[corners]
            slopes = np.append((y[:-1] - y[1:]) / (x[1:] - x[:-1]), 0.0)
        low = np.minimum(slopes, 1.0)
        return Hull(t, low, np.append(1.0, low[:-1]), corners)

    def potential_crps(self) -> float:
        """Minimum of alpha * bandwidth + deficit over t, integrated over alpha from 0 to 1."""
        hull = self.lower_hull()
        x, y = (self.values(name)[: self.end + 1] for name in ("bandwidth", "deficit"))
        if hull.corners is not None:
            x, y = x[hull.corners], y[hull.corners]
        return float(np.sum(hull.share * y + hull.square * x))

    def _changes(self, name: Metric) -> tuple[Array, Array | None]:
        """Slope changes of a metric in order, and the second halves of those that are pairs."""
        parts = [_pair(group, name) for group in self._groups]
        if len(parts) == 1 and parts[0][0] is not None:
            return rearranged(parts[0][0], self._order, divisor=self._total), None
        lengths = [_length(group) for group in self._groups]
        columns: list[Array] = []
        for half in (0, 1):
            some = [part[half] for part in parts]
            if half and all(one is None for one in some):
                return columns[0], None
            joined = _joined([np.zeros(n) if one is None else one for one, n in zip(some, lengths, strict=True)])
            columns.append(rearranged(joined, self._order, divisor=self._total))
        return columns[0], columns[1]

    def _signed(self, name: Metric) -> Array:
        """Sum of ramps with slope changes of both signs, at the start and at each event."""
        t, values = self._events(), np.empty(len(self._order) + 1)
        high, low = self._changes(name)
        if name in FALLING:
            signed_running_integral(high[::-1], None if low is None else low[::-1], t[::-1], values[::-1])
            values += self._critical.uncoverable_error
        else:
            values[:1] = 0.0
            if len(high):  # nothing grows before the first event
                signed_running_integral(high[:-1], None if low is None else low[:-1], t[1:], values[1:])
        return values

    def _sides(self, means: tuple[float, float]) -> dict[Metric, Array]:
        """Overshoot and deficit over the scale, each summed up on its own side of the curve only.

        Overshoot minus deficit is ``t * mean band - mean error`` everywhere. Well beyond the t where this is 0, both
        terms of ``overshoot = deficit + (...)`` are positive and nothing cancels; well before it, the deficit's are.
        """
        t, (band, error), mass = self._events(), means, self._changes("overshoot")[0]
        over, under = np.empty(len(t)), np.empty(len(t))
        low, high = 0, len(t)
        if band > 0:
            low, high = np.searchsorted(t, [error / band / APART, error / band * APART])
        over[:1] = 0.0
        if high > 1:
            running_integral(mass[: high - 2], t[1:high], over[1:high])
        running_integral(mass[low:][::-1], t[low:][::-1], under[low:][::-1])
        for part in blocks(len(t)):
            difference = band * t[part] - error
            ahead, behind = max(high - part.start, 0), max(low - part.start, 0)
            np.add(under[part][ahead:], difference[ahead:], out=over[part][ahead:])
            np.subtract(over[part][:behind], difference[:behind], out=under[part][:behind])
        _never_fall(over[max(high - 1, 0) :])
        _never_fall(under[: low + 1][::-1])
        if self._critical.uncoverable_error:
            under += self._critical.uncoverable_error
        return {"overshoot": over, "deficit": under}

    def _events(self) -> Array:
        """Return t at the start and at each event."""
        return self.t if isinstance(self._distinct, slice) else np.repeat(self.t, np.diff(self._distinct, prepend=-1))

    def _miss_rate(self) -> Array:
        critical = self._critical
        if critical.weight is not None:
            covers = self._order < critical.number
            steps = np.zeros(len(self._order) + 1)
            steps[1:][covers] = critical.weight[self._order[covers]]
            missed = _sums_after(steps) + critical.uncoverable_weight
            missed /= missed[0]
            return missed
        missed = np.empty(len(self._order) + 1)
        missed[0], left = 1.0, self._rows
        for part in blocks(len(self._order)):
            covered = np.cumsum(self._order[part] < critical.number, dtype=np.int64)
            np.subtract(float(left), covered, out=missed[1:][part])
            missed[1:][part] /= self._rows
            left -= int(covered[-1])
        return missed


class Hull(NamedTuple):
    """Best operating points of all costs: `t` is the best one for alpha from `low` to `high`.

    There alpha * bandwidth + deficit, half of alpha times the interval score, has its minimum.
    """

    t: Array
    low: Array
    high: Array
    corners: Indices | None
    """Which of the curve's vertices they are; None: all."""

    @property
    def share(self) -> Array:
        """Integral of 1 over the alpha of each point."""
        return self.high - self.low

    @property
    def square(self) -> Array:
        """Integral of alpha over the alpha of each point."""
        return self.share * (self.high + self.low) / 2

    def best_t(self, alpha: float) -> float:
        """Smallest t with the smallest interval score at alpha."""
        return float(self.t[np.argmax(self.low <= alpha * (1 + sum_error(len(self.t))))])


class _CriticalRows(NamedTuple):
    """How many rows some t covers, and weight and error (a part of the mean) of those that nothing covers."""

    number: int
    weight: Array | None
    uncoverable_weight: float
    uncoverable_error: float

    @classmethod
    def of(cls, path: Path, critical: Events) -> _CriticalRows:
        """Count the critical events of a path."""
        weight = None if path.weight is None else path.weight[critical.rows]
        count = len(critical.position)
        if not path.has_uncoverable_rows:
            return cls(count, weight, 0.0, 0.0)
        missed = np.isinf(path.critical)
        lost = missed.sum() if path.weight is None else path.weight[missed].sum()
        return cls(count, weight, float(lost), path.mean(np.where(missed, path.error, 0)))


def index_of_minimum(costs: Array) -> int:
    """Place of the first of the costs that differ from the smallest by rounding alone."""
    return int(np.argmax(costs <= costs.min() * (1 + sum_error(len(costs)))))


def sum_error(length: int) -> float:
    """Return how far running sums of `length` weights that add up to 1 may be off."""
    return 4 * float(np.finfo(np.float64).eps) * (1 + isqrt(length))


def _means(path: Path) -> tuple[float, float]:
    """Mean over all rows of the active band and of the error of those that some t covers."""
    if not path.has_uncoverable_rows:
        return path.mean(path.active), path.mean(path.error)
    missed = np.isinf(path.critical)
    return path.mean(np.where(missed, 0, path.active)), path.mean(np.where(missed, 0, path.error))


def _sums_after(steps: Array) -> Array:
    """Sum of the steps after each place."""
    later = np.empty(len(steps))
    later[-1] = 0.0
    later[:-1] = running_sum(steps[:0:-1].copy())[::-1]
    return later


def _pair(group: Events, name: Metric) -> tuple[Array | None, Array | None]:
    change = group.changes.get(name)
    return change if isinstance(change, tuple) else (change, None)


def _length(group: Events) -> int:
    change = next(iter(group.changes.values()))
    return len(change[0] if isinstance(change, tuple) else change)


def _hull_corners(x: Array, y: Array) -> Indices:
    """Places of the lower convex hull of points with ascending x (Andrew's monotone chain)."""
    kept: list[int] = []
    xs, ys = x.tolist(), y.tolist()
    for i in range(len(xs)):
        while len(kept) > 1 and _turns_up(xs, ys, kept[-2], kept[-1], i):
            kept.pop()
        if len(kept) == 1 and xs[kept[0]] == xs[i]:
            kept.pop()
        kept.append(i)
    return np.array(kept, np.intp)


def _turns_up(x: list[float], y: list[float], a: int, b: int, c: int) -> bool:
    """Whether b lies on or above the line from a to c."""
    return (y[b] - y[a]) * (x[c] - x[a]) >= (y[c] - y[a]) * (x[b] - x[a])


def _never_fall(values: Array) -> None:
    """Put right in place what only rounding made fall."""
    if (values[1:] < values[:-1]).any():
        np.maximum.accumulate(values, out=values)


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _frozen(values: Array) -> Array:
    values.setflags(write=False)
    return values
