"""Ramps: the vertices of a curve in order, the metrics at each of them, and the smallest t that reaches a value.

Every metric but the miss rate is a sum of ramps ``slope * max(0, t - position)``, or of falling ones for the deficit.
One sort and two running sums give its value at every vertex, and between vertices it is a straight line. The miss rate
is a step down at each critical t.
"""

from collections.abc import Collection
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._arrays import Indices, blocks
from ._levels import LevelsPath
from ._paths import Path, ScalePath
from ._vocabulary import FALLING, Array, Metric

SHORT = 400  # arrays below this length are sorted plainly
# Running sums are taken this many items at a time: few enough for their rounding, enough for numpy's speed.
SUMMED = 2048
LANES, DEPTH = 40, 4000


class Hull(NamedTuple):
    """Best operating points of all costs: `t` is the best one for alpha from `low` to `high`.

    There alpha * bandwidth + deficit, half of alpha times the interval score, has its minimum, so the potential CRPS is
    the sum of ``alpha_moment * bandwidth + alpha_length * deficit``.
    """

    t: Array
    low: Array
    high: Array
    corners: Indices | None  # which of the curve's vertices they are; None: all

    @property
    def alpha_length(self) -> Array:
        """Integral of 1 over the alpha of each point."""
        return self.high - self.low

    @property
    def alpha_moment(self) -> Array:
        """Integral of alpha over the alpha of each point."""
        return self.alpha_length * (self.high + self.low) / 2

    def best_t(self, alpha: float) -> float:
        """Smallest t with the smallest interval score at alpha."""
        return float(self.t[np.argmax(self.low <= alpha * (1 + sum_error(len(self.t))))])


class Ramps:
    """Vertices ``t`` of a path's curve from its start, distinct and ascending, and the metrics there.

    The curve ends at index `end`; later vertices are slope changes after all rows that can be covered are. O(n log n)
    once, then O(n) for the first look at a metric.
    """

    def __init__(self, path: Path) -> None:
        critical, *others = path.events()
        groups = [critical, *(group for group in others if len(group.position))]
        self._changes = [group.changes for group in groups]
        self._lengths = [len(group.position) for group in groups]
        order, t = ordered(_joined([group.position for group in groups]), first=path.start)
        self._order = order.astype(np.int32) if len(order) < 2**31 else order  # half the memory
        del order
        rises = t[1:] != t[:-1]
        self._distinct: Indices | slice = (
            slice(None) if rises.all() else np.flatnonzero(np.append(rises, True))
        )
        self.t = t[self._distinct]
        self.end = int(np.searchsorted(self.t, path.end))
        self._rows, self._total = len(path), path.total
        self._coverable = path.coverable
        self._weight = None if path.weight is None else path.weight[self._coverable]
        uncoverable = np.flatnonzero(np.isinf(path.critical))
        self._uncoverable_weight = float(
            np.sum(path.weighted(np.ones(len(uncoverable)), uncoverable))
        )
        self._uncoverable_error = (
            float(np.sum(path.weighted(path.error[uncoverable], uncoverable))) / path.total
        )
        self._line = path.linear_width
        self._offset = path.mean_offset
        self._excess_at_start = path.at(path.start)["excess"] if path.side != "both" else 0.0
        self._sides = path.sides
        self._convex = self._line is not None and not path.bends
        # Over the scale, events after those of the critical t are other bounds that become the nearer ones.
        self._excess_is_overshoot = path.excess_is_overshoot or (
            isinstance(path, ScalePath) and len(groups) == 1
        )
        self._values: dict[Metric, Array] = {}
        if isinstance(path, LevelsPath) and not path.limited:
            self._values["bandwidth"] = path.half_width(self.t)

    @np.errstate(over="ignore")  # what lies beyond float64 is infinite
    def values(self, name: Metric) -> Array:
        """Metric at each vertex; the miss rate after its step."""
        if name == "excess" and self._excess_is_overshoot:
            if not self._excess_at_start:
                return self.values("overshoot")
            if name not in self._values:
                self._values[name] = self.values("overshoot") + self._excess_at_start
        if name not in self._values:
            if name == "bandwidth" and self._line is not None and self._convex:
                at_zero, slope = self._line
                self._values[name] = slope * self.t + at_zero if at_zero else slope * self.t
            else:
                values = self._miss_rate() if name == "miss_rate" else self._sum_of_ramps(name)
                self._values[name] = values[self._distinct]
                if name == "bandwidth" and self._line is not None:
                    at_zero, slope = self._line
                    self._values[name] = self._values[name] + (at_zero + slope * self.t)
        return self._values[name]

    def value(self, name: Metric, t: float) -> float:
        """Metric at one t up to the last vertex. O(log n)."""
        if name == "miss_rate":
            return float(self.values(name)[np.searchsorted(self.t, t, side="right") - 1])
        return float(np.interp(t, self.t, self.values(name)))

    def smallest_t_reaching(self, name: Metric, target: float) -> float:
        """Return the smallest t up to the last vertex at which the metric reaches `target`, or infinity."""
        values, sign = self.values(name), -1.0 if name in FALLING else 1.0
        if name == "miss_rate" and self._weight is not None:
            target += sum_error(
                self._rows
            )  # a level that only the order of the sums moved is reached
        i = int(np.searchsorted(sign * values, sign * target))
        if i in (0, len(values)):
            return np.inf if i else float(self.t[0])
        if (
            name == "miss_rate" or values[i] == target
        ):  # the vertex itself: interpolation may round to its neighbour
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
        wanted = [
            i == 0 or not changes.keys().isdisjoint(names)
            for i, changes in enumerate(self._changes)
        ]
        if all(wanted):
            return slice(self.end + 1)
        flags = np.repeat(wanted, self._lengths)[self._order]
        kept = np.append(True, flags)
        if not isinstance(self._distinct, slice):
            kept = np.logical_or.reduceat(kept, np.append(0, self._distinct[:-1] + 1))
        return np.flatnonzero(kept[: self.end + 1])

    def places(self) -> Indices:
        """Place among the vertices of each row's critical t; that after the last for uncoverable rows."""
        vertex = self._at_events(np.arange(len(self.t)))[1:]
        covers = self._order < self._lengths[0]
        places = np.empty(self._lengths[0], np.intp)
        places[self._order[covers]] = vertex[covers]
        out = np.full(self._rows, len(self.t), np.intp)
        out[self._coverable] = places
        return out

    def lower_hull(self) -> Hull:
        """Vertices on the lower convex hull of (bandwidth, deficit), and the costs for which each is the best."""
        curve, corners = slice(self.end + 1), None
        t = self.t[curve]
        if self._convex and self._line is not None:  # and the slopes are known without subtracting
            slopes = np.zeros(len(self._order) + 1)
            self._slope_changes("deficit", slopes[:-1])
            slopes = running_sum(slopes[::-1])[::-1][self._distinct][curve]
            slopes /= self._total * (self._line[1] or 1.0)
        else:
            x, y = self.values("bandwidth")[curve], self.values("deficit")[curve]
            corners = _hull_corners(x, y)
            t, x, y = t[corners], x[corners], y[corners]
            slopes = np.append((y[:-1] - y[1:]) / (x[1:] - x[:-1]), 0.0)
        low = np.minimum(slopes, 1.0)
        return Hull(t, low, np.append(1.0, low[:-1]), corners)

    def potential_crps(self, hull: Hull | None = None) -> float:
        """Minimum of alpha * bandwidth + deficit over t, integrated over alpha from 0 to 1; `hull` is the lower one."""
        hull = hull or self.lower_hull()
        x, y = (self.values(name)[: self.end + 1] for name in ("bandwidth", "deficit"))
        if hull.corners is not None:
            x, y = x[hull.corners], y[hull.corners]
        whole = float(np.sum(hull.alpha_length * y + hull.alpha_moment * x))
        return whole if self._sides == 2 else 2 * whole + self._offset

    def _slope_changes(self, name: Metric, out: Array) -> Array | None:
        """Write the slope changes of a metric in order; return the second halves of those that are pairs."""
        given = [changes.get(name, 0.0) for changes in self._changes]
        firsts = [change[0] if isinstance(change, tuple) else change for change in given]
        seconds = [change[1] if isinstance(change, tuple) else 0.0 for change in given]
        rest = np.empty(len(out)) if any(isinstance(change, tuple) for change in given) else None
        for halves, ordered_halves in ((firsts, out), (seconds, rest)):
            if ordered_halves is not None:
                filled = map(np.broadcast_to, halves, self._lengths)
                rearrange(_joined([*filled]), self._order, ordered_halves)
        return rest

    def _sum_of_ramps(self, name: Metric) -> Array:
        """Metric at the start and at each event."""
        t, values, falls = self._at_events(self.t), np.zeros(len(self._order) + 1), name in FALLING
        # A slope is put where it ends: nothing grows before the first event, and the one after the last is left out.
        sums = values[:-1] if falls else values[2:]
        rest = self._slope_changes(name, sums)
        if falls:
            running_integral(
                sums[::-1], None if rest is None else rest[::-1], t[::-1], divisor=self._total
            )
            values += self._uncoverable_error
        else:
            running_integral(sums, rest, t[1:], divisor=self._total)
        return values

    def _at_events(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return values at the vertices, at the start and at each event."""
        return (
            values
            if isinstance(self._distinct, slice)
            else np.repeat(values, np.diff(self._distinct, prepend=-1))
        )

    def _miss_rate(self) -> Array:
        """Share of the weight of all rows that are covered after each event, or never."""
        covers = self._order < self._lengths[0]
        missed = np.append(covers, False).astype(np.float64)
        if self._weight is not None:
            missed[:-1][covers] = self._weight[self._order[covers]]
        running_sum(missed[::-1])
        missed += self._uncoverable_weight
        missed /= missed[0]
        return missed


def index_of_minimum(costs: Array) -> int:
    """Place of the first of the costs that differ from the smallest by rounding alone."""
    return int(np.argmax(costs <= costs.min() * (1 + sum_error(len(costs)))))


def sum_error(length: int) -> float:
    """Return how far running sums of `length` weights that add up to 1 may be off."""
    return 4 * float(np.finfo(np.float64).eps) * (1 + isqrt(length))


def _hull_corners(x: Array, y: Array) -> Indices:
    """Places of the lower convex hull of points with ascending x and falling y.

    Points on or above the line between their neighbours are taken out, all at once and a few times over; what is left
    goes from point to point (Andrew's monotone chain).
    """
    places = np.flatnonzero(np.append(x[1:] > x[:-1], True))
    for _ in range(20):
        xs, ys = x[places], y[places]
        below = np.ones(len(places), np.bool_)
        below[1:-1] = _height(xs, ys, slice(-2), slice(1, -1), slice(2, None)) < 0
        if below.all():
            return places
        places = places[below]
    kept: list[int] = []
    xs, ys = x[places].tolist(), y[places].tolist()
    for i in range(len(xs)):
        while len(kept) > 1 and _height(xs, ys, kept[-2], kept[-1], i) >= 0:
            kept.pop()
        kept.append(i)
    return places[kept]


def _height(x: Any, y: Any, a: Any, b: Any, c: Any) -> Any:
    """Positive where b lies above the line from a to c, and 0 on it; of single places, or of slices."""
    return (y[b] - y[a]) * (x[c] - x[a]) - (y[c] - y[a]) * (x[b] - x[a])


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def running_sum(values: Array) -> Array:
    """Cumulative sum, in place; its rounding error grows with the length of a block, not with that of all. O(n)."""
    whole, total = len(values) - len(values) % SUMMED, 0.0
    if whole:
        lines = values[:whole].reshape(-1, SUMMED)
        np.cumsum(lines, axis=1, out=lines)
        ends = np.cumsum(lines[:, -1])
        lines[1:] += ends[:-1, None]
        total = float(ends[-1])
    np.cumsum(values[whole:], out=values[whole:])
    values[whole:] += total
    return values


def running_integral(slopes: Array, rest: Array | None, t: Array, *, divisor: float = 1.0) -> None:
    """Overwrite slope changes by the integral of the accumulated slope: item i is the value at t[i + 1]. O(n).

    Values are divided by `divisor`. The running sum of the slopes is never negative. Where single ones are, or where
    they have a `rest` that would vanish in their rounding, the sum is taken in twice the precision of float64: where a
    large slope comes and goes, what is left is exact.
    """
    if rest is None and not (slopes < 0).any():
        running_sum(slopes)
    else:
        rest = np.zeros(len(slopes)) if rest is None else rest
        _accumulate_exactly(slopes, rest)
        slopes += rest
        np.maximum(slopes, 0, out=slopes)
    for part in blocks(len(slopes)):
        slopes[part] /= (
            divisor  # now, not before: changes that cancel each other do so without rounding
        )
        slopes[part] *= np.abs(t[part.start + 1 : part.stop + 1] - t[part])
    running_sum(slopes)


def _accumulate_exactly(high: Array, low: Array) -> None:
    """Running sum in place, rounded in `high` and what rounding took off in `low`.

    Item i is in lane ``i % LANES``: lanes are added to each other as whole arrays.
    """
    carry = (0.0, 0.0)
    whole = len(high) - len(high) % LANES
    for part in (
        *blocks(whole, LANES * DEPTH),
        *(slice(i, i + 1) for i in range(whole, len(high))),
    ):
        lanes = min(LANES, part.stop - part.start)
        sums, lost = (
            np.ascontiguousarray(array[part].reshape(-1, lanes).T) for array in (high, low)
        )
        for i in range(1, lanes):
            lost[i] += lost[i - 1] + _add_exactly(sums[i], sums[i - 1])
        if sums.shape[1] > 1:
            ends, ends_lost = sums[-1].copy(), lost[-1].copy()
            _accumulate_exactly(ends, ends_lost)
            lost[:, 1:] += _add_exactly(sums[:, 1:], ends[:-1]) + ends_lost[:-1]
        lost += _add_exactly(sums, carry[0]) + carry[1]
        carry = float(sums[-1, -1]), float(lost[-1, -1])
        high[part], low[part] = sums.T.ravel(), lost.T.ravel()


def _add_exactly(values: Array, other: Array | float) -> Array:
    """Add in place and return what rounding took off (Knuth's two-sum)."""
    total = values + other
    share = total - other
    lost: Array = (values - share) + (other - (total - share))
    values[...] = total
    return lost


def ordered(values: Array, *, first: float) -> tuple[Indices, Array]:
    """Order of `values`, and `first` followed by the values in their order. O(n log n).

    Long arrays without negative values are sorted as integers whose last bits are the row number, in half the time of
    ``np.argsort``; the few rows that differ in the overwritten bits only are put right afterwards.
    """
    plainly = len(values) < SHORT or values.min() < 0
    order = np.argsort(values, kind="stable") if plainly else _coarsely_ordered(values)
    out = np.empty(len(values) + 1)
    out[0], inner = first, out[1:]
    values.take(order, out=inner, mode="clip")  # other modes would write to a copy first
    for attempt in range(9):
        falls = np.flatnonzero(inner[1:] < inner[:-1])
        if not len(falls):
            break
        places = np.union1d(falls, falls + 1) if attempt < 8 else np.arange(len(inner))
        right = places[np.argsort(inner[places], kind="stable")]
        order[places], inner[places] = order[right], inner[right]
    return order, out


def rearrange(values: Array, order: npt.NDArray[np.integer], out: Array) -> None:
    """Write ``out[i] = values[order[i]]``, for as many i as `out` has."""
    for part in blocks(len(out)):
        out[part] = values.take(order[part], mode="clip")


def _coarsely_ordered(values: Array) -> Indices:
    """Order of non-negative values without their last bits; the row numbers decide between equal ones."""
    row = np.int64(
        (1 << (len(values) - 1).bit_length()) - 1
    )  # the last bits, which hold any row number
    keys = np.empty(len(values), np.int64)
    for block in blocks(len(values)):
        np.bitwise_and(values[block].view(np.int64), ~row, out=keys[block])
        keys[block] += np.arange(block.start, block.stop)
    keys.view(np.float64).sort()  # the order of the integers, and numpy's fastest sort
    keys &= row
    return keys.view(np.intp)
