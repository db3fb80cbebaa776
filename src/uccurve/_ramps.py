"""Ramps: the vertices of a curve in order, the metrics at each, the smallest t that reaches a value, and areas.

Every metric but the miss rate is a sum of ramps ``slope * max(0, t - position)``, or of falling ones for the deficit.
One sort and two running sums give its value at every vertex, and between vertices it is a straight line. The miss rate
is a step down at each critical t. An area is the exact integral of that: steps as steps, lines as lines.
"""

import sys
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._arrays import (
    Indices,
    index_of_minimum,
    ordered,
    rearrange,
    running_integral,
    running_sum,
    sum_error,
)
from ._levels import LevelsPath
from ._paths import Path, ScalePath
from ._vocabulary import FALLING, Array, Axes, Metric


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
        slack = 1 + sum_error(len(self.t))
        return float(self.t[np.argmax(self.low <= alpha * slack)])


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
        positions = [group.position for group in groups]
        order, t = ordered(_joined(positions), first=path.start)
        self._order = order.astype(np.int32) if len(order) < 2**31 else order  # half the memory
        del order
        self._distinct = _last_of_each(t)
        self.t = t[self._distinct]
        self.end = int(np.searchsorted(self.t, path.end))
        self._rows = len(path)
        self._total = path.total
        self._coverable = path.coverable
        self._weight = None if path.weight is None else path.weight[self._coverable]
        self._sum_uncoverable(path)
        self._line = path.linear_width
        self._offset = path.mean_offset
        self._sides = path.sides
        self._excess_at_start = 0.0
        if path.side != "both":
            self._excess_at_start = path.at(path.start)["excess"]
        self._convex = self._line is not None and not path.bends
        # Over the scale, events after those of the critical t are other bounds that become the nearer ones.
        never_nearer = isinstance(path, ScalePath) and len(groups) == 1
        self._excess_is_overshoot = path.excess_is_overshoot or never_nearer
        self._places: Indices | None = None
        self._values: dict[Metric, Array] = {}
        if isinstance(path, LevelsPath) and not path.limited:
            self._values["bandwidth"] = path.half_width(self.t)

    def _sum_uncoverable(self, path: Path) -> None:
        """Sum the weights, and the errors, of the rows that no t covers."""
        rows = np.flatnonzero(np.isinf(path.critical))
        weight = path.weighted(np.ones(len(rows)), rows)
        error = path.weighted(path.error[rows], rows)
        self._uncoverable_weight = float(np.sum(weight))
        self._uncoverable_error = float(np.sum(error)) / path.total

    def values(self, name: Metric) -> Array:
        """Metric at each vertex; the miss rate after its step."""
        if name == "excess" and self._excess_is_overshoot and not self._excess_at_start:
            return self.values("overshoot")
        if name not in self._values:
            self._values[name] = self._values_anew(name)
        return self._values[name]

    @np.errstate(over="ignore")  # what lies beyond float64 is infinite
    def _values_anew(self, name: Metric) -> Array:
        if name == "excess" and self._excess_is_overshoot:
            return self.values("overshoot") + self._excess_at_start
        if name == "miss_rate":
            return self._miss_rate()[self._distinct]
        if name != "bandwidth" or self._line is None:
            return self._sum_of_ramps(name)[self._distinct]
        at_zero, slope = self._line
        line = slope * self.t
        if at_zero:
            line += at_zero
        if self._convex:
            return line
        return self._sum_of_ramps(name)[self._distinct] + line

    def value(self, name: Metric, t: float) -> float:
        """Metric at one t up to the last vertex. O(log n)."""
        if name == "miss_rate":
            return float(self.values(name)[np.searchsorted(self.t, t, side="right") - 1])
        return float(np.interp(t, self.t, self.values(name)))

    def smallest_t_reaching(self, name: Metric, target: float) -> float:
        """Return the smallest t up to the last vertex at which the metric reaches `target`, or infinity."""
        values = self.values(name)
        sign = -1.0 if name in FALLING else 1.0
        if name == "miss_rate" and self._weight is not None:
            # a level that only the order of the sums moved is reached
            target += sum_error(self._rows)
        i = int(np.searchsorted(sign * values, sign * target))
        if i == 0:
            return float(self.t[0])
        if i == len(values):
            return np.inf
        if name == "miss_rate" or values[i] == target:
            # the vertex itself: interpolation may round to its neighbour
            return float(self.t[i])
        t_before, t_after = self.t[i - 1 : i + 1].tolist()
        before, after = values[i - 1 : i + 1].tolist()
        share = (target - before) / (after - before)
        t = t_before + share * (t_after - t_before)
        return float(max(t_before, min(t_after, t)))

    def minimum(self, x: Metric, y: Metric, weights: tuple[float, float]) -> float:
        """Smallest t that minimises a weighted sum of two metrics; it is a vertex."""
        costs = np.zeros(self.end + 1)
        for name, weight in zip((x, y), weights, strict=True):
            if weight:
                share = weight / max(weights)  # so that no product leaves float64
                costs += share * self.values(name)[: self.end + 1]
        return float(self.t[index_of_minimum(costs)])

    def vertices(self, names: Collection[Metric]) -> Indices | slice:
        """Places of the vertices up to the curve's end that these metrics have."""
        wanted = [not changes.keys().isdisjoint(names) for changes in self._changes]
        wanted[0] = True
        if all(wanted):
            return slice(self.end + 1)
        flags = np.repeat(wanted, self._lengths)[self._order]
        kept = np.append(True, flags)
        if not isinstance(self._distinct, slice):
            first_of_each = np.append(0, self._distinct[:-1] + 1)
            kept = np.logical_or.reduceat(kept, first_of_each)
        return np.flatnonzero(kept[: self.end + 1])

    def places(self) -> Indices:
        """Place among the vertices of each row's critical t; that after the last for uncoverable rows."""
        if self._places is None:
            self._places = self._places_anew()
        return self._places

    def _places_anew(self) -> Indices:
        vertex = self._at_events(np.arange(len(self.t)))[1:]
        covers = self._order < self._lengths[0]
        places = np.empty(self._lengths[0], np.intp)
        places[self._order[covers]] = vertex[covers]
        out = np.full(self._rows, len(self.t), np.intp)
        out[self._coverable] = places
        out.setflags(write=False)
        return out

    def lower_hull(self) -> Hull:
        """Vertices on the lower convex hull of (bandwidth, deficit), and the costs for which each is the best."""
        curve = slice(self.end + 1)
        t = self.t[curve]
        if self._convex and self._line is not None:
            corners = None
            slopes = self._deficit_slopes(self._line[1])[curve]
        else:
            bandwidth = self.values("bandwidth")[curve]
            deficit = self.values("deficit")[curve]
            corners = hull_corners(bandwidth, deficit)
            t = t[corners]
            slopes = falls_per_step(bandwidth[corners], deficit[corners])
        low = np.minimum(slopes, 1.0)
        high = np.append(1.0, low[:-1])
        return Hull(t, low, high, corners)

    def _deficit_slopes(self, width_slope: float) -> Array:
        """How fast the deficit falls per bandwidth after each vertex, which needs no difference of values."""
        slopes = np.zeros(len(self._order) + 1)
        self._slope_changes("deficit", slopes[:-1])
        running_sum(slopes[::-1])
        return slopes[self._distinct] / (self._total * (width_slope or 1.0))

    def potential_crps(self, hull: Hull | None = None) -> float:
        """Minimum of alpha * bandwidth + deficit over t, integrated over alpha from 0 to 1; `hull` is the lower one."""
        hull = hull or self.lower_hull()
        x = self.values("bandwidth")[: self.end + 1]
        y = self.values("deficit")[: self.end + 1]
        if hull.corners is not None:
            x = x[hull.corners]
            y = y[hull.corners]
        whole = float(np.sum(hull.alpha_length * y + hull.alpha_moment * x))
        return whole if self._sides == 2 else 2 * whole + self._offset

    def _slope_changes(self, name: Metric, out: Array) -> Array | None:
        """Write the slope changes of a metric in order; return the second halves of those that are pairs."""
        firsts = []
        seconds = []
        has_pairs = False
        for changes, length in zip(self._changes, self._lengths, strict=True):
            change: Any = changes.get(name, 0.0)
            second: Any = 0.0
            if isinstance(change, tuple):
                change, second = change
                has_pairs = True
            firsts.append(np.broadcast_to(change, length))
            seconds.append(np.broadcast_to(second, length))
        rearrange(_joined(firsts), self._order, out)
        if not has_pairs:
            return None
        rest = np.empty(len(out))
        rearrange(_joined(seconds), self._order, rest)
        return rest

    def _sum_of_ramps(self, name: Metric) -> Array:
        """Metric at the start and at each event."""
        t = self._at_events(self.t)
        values = np.zeros(len(self._order) + 1)
        # A slope is put where it ends: nothing grows before the first event, and the one after the last is left out.
        if name not in FALLING:
            sums = values[2:]
            rest = self._slope_changes(name, sums)
            running_integral(sums, rest, t[1:], divisor=self._total)
            return values
        sums = values[:-1]
        rest = self._slope_changes(name, sums)
        backwards = None if rest is None else rest[::-1]
        running_integral(sums[::-1], backwards, t[::-1], divisor=self._total)
        values += self._uncoverable_error
        return values

    def _at_events(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return values at the vertices, at the start and at each event."""
        if isinstance(self._distinct, slice):
            return values
        events = np.diff(self._distinct, prepend=-1)
        return np.repeat(values, events)

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


def hull_corners(x: Array, y: Array) -> Indices:
    """Places of the lower convex hull of points with ascending x and falling y.

    Points on or above the line between their neighbours are taken out, all at once and a few times over; what is left
    goes from point to point (Andrew's monotone chain).
    """
    places = np.flatnonzero(np.append(x[1:] > x[:-1], True))
    for _ in range(20):
        xs = x[places]
        ys = y[places]
        below = np.ones(len(places), np.bool_)
        below[1:-1] = _height(xs, ys, slice(-2), slice(1, -1), slice(2, None)) < 0
        if below.all():
            return places
        places = places[below]
    kept: list[int] = []
    xs = x[places].tolist()
    ys = y[places].tolist()
    for i in range(len(xs)):
        while len(kept) > 1 and _height(xs, ys, kept[-2], kept[-1], i) >= 0:
            kept.pop()
        kept.append(i)
    return places[kept]


def falls_per_step(x: Array, y: Array) -> Array:
    """How fast y falls per x after each corner of a hull; 0 after the last."""
    slopes = (y[:-1] - y[1:]) / (x[1:] - x[:-1])
    return np.append(slopes, 0.0)


def _height(x: Any, y: Any, a: Any, b: Any, c: Any) -> Any:
    """Positive where b lies above the line from a to c, and 0 on it; of single places, or of slices."""
    return (y[b] - y[a]) * (x[c] - x[a]) - (y[c] - y[a]) * (x[b] - x[a])


def _last_of_each(t: Array) -> Indices | slice:
    """Places of the last of equal values; all of them where no two are equal."""
    rises = t[1:] != t[:-1]
    return slice(None) if rises.all() else np.flatnonzero(np.append(rises, True))


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


# ---- areas


EXCESS_AXES: frozenset[Metric] = frozenset({"excess", "deficit"})
OVERSHOOT_AXES: frozenset[Metric] = frozenset({"overshoot", "deficit"})
CLOSED: frozenset[frozenset[Metric]] = frozenset(
    {
        frozenset({"bandwidth", "miss_rate"}),
        frozenset({"bandwidth", "deficit"}),
        OVERSHOOT_AXES,
    }
)


class Piece(NamedTuple):
    """The part of a curve between two t; `span` is the range of the miss rate where that is what cuts it."""

    first: float
    last: float
    infinite: bool = False
    span: tuple[float, float] | None = None


def closed_axes(path: Path, axes: Axes) -> frozenset[Metric] | None:
    """Metrics of the closed form of an area over the scale; None where there is none."""
    if path.limited or not isinstance(path, ScalePath):
        return None
    if path.side != "both" and axes == ("deficit", "excess"):
        return None
    names = frozenset(axes)
    if names == EXCESS_AXES and not len(path.crossovers()[0]):
        return OVERSHOOT_AXES  # which is the excess where no other bound becomes the nearer one
    return names if names in CLOSED else None


@np.errstate(over="ignore", invalid="ignore")
def closed_area(path: Path, names: frozenset[Metric]) -> float:
    """Whole area over the scale on metrics of `closed_axes`. O(n), no sort.

    With b the mean half-width and k the critical scales the areas are b mean(k), b mean(error k) / 2, and
    mean(active)^2 / 2 times the variance of k under weights in proportion to the active band.
    """
    if path.has_uncoverable_rows:
        return np.inf
    if "miss_rate" in names:
        return path.mean_half_width * path.mean(path.critical)
    if "bandwidth" in names:
        return path.mean_half_width * path.mean(path.error * path.critical / 2)
    active = path.mean(path.active)
    if active == 0:
        return 0.0
    off = path.critical - path.mean(path.error) / active
    spread = path.active * off  # in this order: the square alone may overflow
    spread *= off
    return active * path.mean(spread) / 2


def size_of_area(path: Path, axes: Axes) -> float:
    """Return the order of magnitude of an area in the unit of the path."""
    return path.mean(path.error) ** sum(name != "miss_rate" for name in axes)


def rounding_of_area(path: Path, axes: Axes) -> float:
    """What an area may be off by rounding, where it is a difference of sums."""
    if isinstance(path, ScalePath) and "bandwidth" in axes:
        return 0.0  # a product
    return sum_error(len(path)) * size_of_area(path, axes)


def t_reaching(
    ramps: Ramps, path: Path, name: Metric, target: float, *, beyond_the_curve: bool = False
) -> float:
    """Return the smallest t at which the metric reaches `target`; infinite where none does.

    The curve ends where all rows are covered; a rising metric goes on after it.
    """
    t = ramps.smallest_t_reaching(name, target)
    if t == np.inf and name != "miss_rate":
        # a largest or smallest value that rounding moved away from the target
        off = sum_error(len(path))
        nearest = target * (1 + off if name in FALLING else 1 - off)
        t = ramps.smallest_t_reaching(name, nearest)
    goes_on = beyond_the_curve or path.has_uncoverable_rows
    if t < np.inf or name in FALLING or target == np.inf or not goes_on:
        return t
    return _t_after_the_curve(path, name, target)


def _t_after_the_curve(path: Path, name: Metric, target: float) -> float:
    """Smallest t after the last critical one at which a rising metric reaches the target: by bisection, O(n) a step."""
    # infinite, unless there is nothing that rises after the last crossover
    largest = path.at(sys.float_info.max)[name]
    if largest < target * (1 - sum_error(len(path))):
        return np.inf
    target = min(target, largest)
    low = path.end
    step = max(abs(path.end), 1.0)
    while path.at(low + step)[name] < target:
        low += step
        step *= 2
        if not np.isfinite(low + step):
            return np.inf
    high = low + step
    while low < (middle := low + (high - low) / 2) < high:
        if path.at(middle)[name] < target:
            low = middle
        else:
            high = middle
    return high


def piece(ramps: Ramps, path: Path, name: Metric, low: float, high: float) -> Piece:
    """Return the part of the curve on which the metric lies in (low, high), cut exactly at its ends."""
    end = float(ramps.t[ramps.end])
    uncoverable = path.has_uncoverable_rows
    first_target, last_target = (high, low) if name in FALLING else (low, high)
    first = t_reaching(ramps, path, name, first_target)
    last = t_reaching(ramps, path, name, last_target)
    infinite = uncoverable and first < last == np.inf
    # the curve ends before what is never reached
    first = end if first == np.inf else first
    last = end if last == np.inf else last
    if not uncoverable:
        last = min(last, end)
    span = (low, high) if name == "miss_rate" else None
    return Piece(first, max(first, last), infinite, span)


@np.errstate(over="ignore", invalid="ignore")  # an area beyond float64 is infinite
def integral(ramps: Ramps, path: Path, axes: Axes, part: Piece | None = None) -> float:
    """Absolute value of the integral of y dx over a part of the curve, by default all of it. O(n)."""
    if part is None:
        start = float(ramps.t[0])
        end = float(ramps.t[ramps.end])
        part = Piece(start, end, path.has_uncoverable_rows)
    if part.infinite and not FALLING.issuperset(axes):
        return np.inf
    x, y = (_nodes(ramps, path, name, part) for name in axes)
    if axes[0] == "miss_rate":
        steps = _steps(ramps, x, part)
        if axes[1] == "miss_rate":
            return float(steps[0] ** 2 - steps[-1] ** 2) / 2
        return float(np.sum((steps[:-1] - steps[1:]) * y))
    heights = y[:-1] if axes[1] == "miss_rate" else (y[:-1] + y[1:]) / 2
    area = abs(float(np.sum((x[1:] - x[:-1]) * heights)))
    return np.inf if np.isnan(area) else area


def _steps(ramps: Ramps, missed: Array, part: Piece) -> Array:
    """Miss rate before each node's step and after the last; a step that leaves the range is cut at its end."""
    low, high = part.span or (0.0, 1.0)
    before = missed[0]
    if part.span and part.first > ramps.t[0]:
        vertex = np.searchsorted(ramps.t, part.first) - 1
        before = ramps.values("miss_rate")[vertex]
    steps: Array = np.clip(np.append(before, missed), low, high)
    return steps


def _nodes(ramps: Ramps, path: Path, name: Metric, part: Piece) -> Array:
    """Metric at both ends of the part and at the vertices between them."""
    if part.first == ramps.t[0] and part.last == ramps.t[-1]:
        return ramps.values(name)
    ends = []
    for t in (part.first, part.last):
        on_curve = t <= ramps.t[-1]
        ends.append(ramps.value(name, t) if on_curve else path.at(t)[name])
    inner = slice(
        np.searchsorted(ramps.t, part.first, side="right"),
        np.searchsorted(ramps.t, part.last, side="left"),
    )
    return np.concatenate([ends[:1], ramps.values(name)[inner], ends[1:]])


@np.errstate(over="ignore", invalid="ignore")
def row_shares(ramps: Ramps, path: Path, falling: Metric, other: Metric) -> Array:
    """Each row's part of the area: its own miss or deficit, integrated over the other metric."""
    t = ramps.t
    place = np.minimum(ramps.places(), len(t) - 1)
    values = ramps.values(other)
    x = np.abs(values - values[0])
    if falling == "miss_rate":
        parts = x[place]
    else:
        # between vertices a deficit is a straight line, whose mean is the middle; a step is where it is
        middle = t[1:] if other == "miss_rate" else (t[:-1] + t[1:]) / 2
        parts = path.deficit_integrals(middle, np.diff(x), place)
    if path.has_uncoverable_rows:
        parts = np.where(np.isinf(path.critical), np.inf, parts)
    return path.weighted(parts)
