"""Knots: places along a curve at which the metrics of rows are summed up once, for all curves of resampled rows.

The metrics of a unit of rows at a knot are sums over its rows. Units that are resampled or swapped add up to another
curve, whose metrics at the knots are the sums of theirs; no row is looked at again.
"""

from collections.abc import Iterable
from math import inf, isqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from uccurve._arrays import Indices, blocks, sum_error
from uccurve._paths import Path, ScalePath
from uccurve._ramps import falls_per_step, hull_corners
from uccurve._scoring import quantiles
from uccurve._vocabulary import FALLING, Array, Axes, Metric, Range
from uccurve.evidence.units import sums

MOST_VERTICES = (
    1024  # vertices up to which each of them is a knot; curves of more have knots at some
)
RANKS = 64  # knots at equally spaced ranks of the vertices, where not all of them are knots
# By how much the distances of further knots from the ends of the curve and from what is asked for grow, in ranks.
RATIO = 1.25


class Curves(NamedTuple):
    """Metrics of several curves at the knots `t`: arrays (curves, knots).

    Between knots metrics are straight lines, but for the miss rate, which is a step down at each row. `between` is its
    mean over t from each knot to the next. Where every vertex is a knot that is what it was at the knot before, and all
    answers are exact. Miss rates may be off by `slack` because of rounding.
    """

    t: Array
    metrics: dict[Metric, Array]
    between: Array
    is_every_vertex: bool
    slack: float

    def reaching(self, miss_rate: float | Array) -> Array:
        """Return where each curve first reaches a miss rate: the number of a knot, or between two; else the last."""
        missed = self.metrics["miss_rate"]
        target = np.reshape(miss_rate, (-1, 1))
        reached = missed <= target + self.slack
        last = len(self.t) - 1
        knot = np.where(reached[:, -1], reached.argmax(axis=1), last)[:, None]
        if self.is_every_vertex:
            return knot[:, 0].astype(np.float64)
        start = np.take_along_axis(missed, np.maximum(knot - 1, 0), axis=1)
        stop = np.take_along_axis(missed, knot, axis=1)
        back = np.zeros(start.shape)
        np.divide(target - stop, start - stop, out=back, where=start > stop)
        return np.asarray(knot - np.clip(back, 0, 1))[:, 0]

    def unreached(self, miss_rate: float) -> npt.NDArray[np.bool_]:
        """Return the curves that end above a miss rate."""
        return np.asarray(self.metrics["miss_rate"][:, -1] > miss_rate + self.slack)

    def at(self, values: Array, place: Array) -> Array:
        """Return values that run straight between knots at one place of each curve."""
        curve = np.arange(len(place))
        knot = np.minimum(place.astype(np.intp), len(self.t) - 2)
        here = values[curve, knot]
        following = values[curve, knot + 1]
        return np.asarray(here + (place - knot) * (following - here))

    def area(self, axes: Axes, span: Range | None = None) -> Array:
        """Return the area of each curve, or that of its part on which the miss rate lies in a range."""
        if axes[0] == "miss_rate":
            area = self._area_over_misses(axes[1], span or (0, inf))
        else:
            area = self._area_over(axes, span)
        if span is None or FALLING.issuperset(axes):
            return np.abs(area)
        return np.where(self.unreached(span[0]), inf, np.abs(area))

    def _area_over_misses(self, name: Metric, span: Range) -> Array:
        """Return the integral over the miss rate, whose steps are cut at the ends of the range; by parts."""
        x = np.clip(self.metrics["miss_rate"], *span)
        y = self.metrics[name]
        between = np.clip(self.between, *span)
        if name == "miss_rate":
            y = x
            between = (x[:, 1:] + x[:, :-1]) / 2
        ends = x[:, -1] * y[:, -1] - x[:, 0] * y[:, 0]
        return np.asarray(ends - np.sum(np.diff(y) * between, axis=1))

    def _area_over(self, axes: Axes, span: Range | None) -> Array:
        """Return the integral over any other metric, on the part where the miss rate lies in the range."""
        x, y = (self.metrics[name] for name in axes)
        first, last = (np.zeros(1), np.ones(1))  # of each cell, what part of it counts
        if "miss_rate" in self.metrics:
            low, high = span or (self.metrics["miss_rate"][:, -1], inf)
            cell = np.arange(len(self.t) - 1)
            first = np.clip(self.reaching(high)[:, None] - cell, 0, 1)
            last = np.clip(self.reaching(low)[:, None] - cell, 0, 1)
        middle = self.between if axes[1] == "miss_rate" else (y[:, 1:] + y[:, :-1]) / 2
        height = y[:, :-1] + (first + last) * (middle - y[:, :-1])
        return np.asarray(np.sum(np.diff(x) * (last - first) * height, axis=1))

    def potential_crps(self) -> Array:
        """Return the minimum of alpha * bandwidth + deficit, integrated over alpha from 0 to 1."""
        curves = zip(self.metrics["bandwidth"], self.metrics["deficit"], strict=True)
        return np.array([_under_hull(x, y) for x, y in curves])


def _under_hull(x: Array, y: Array) -> float:
    """Integral over alpha of the minimum of alpha * x + y over the points of a curve."""
    corners = hull_corners(x, y)
    x = x[corners]
    y = y[corners]
    low = np.minimum(falls_per_step(x, y), 1.0)
    high = np.append(1.0, low[:-1])
    return float(np.sum((high - low) * (y + x * (high + low) / 2)))


class Knots:
    """Knots of a path for some metrics: all vertices that these have, or a selection of them.

    A selection is closer at both ends of the curve and where it reaches the `miss_rates`. A `smooth` one is a few
    equally spaced ranks of the vertices, so that a range of miss rates depends smoothly on each row.
    """

    def __init__(
        self,
        path: Path,
        names: Iterable[Metric],
        miss_rates: Iterable[float] = (),
        *,
        smooth: bool = False,
    ) -> None:
        self._path = path
        self._is_scaled = isinstance(path, ScalePath)
        # Metrics that are summed up at each knot; the bandwidth of scaled bands follows from the mean half-width.
        followed = {"bandwidth"} if self._is_scaled else set()
        self._names = [name for name in dict.fromkeys(names) if name not in followed]
        positions = [np.array([path.start, path.end])]
        for place, group in enumerate(path.events()):
            if place == 0 or not group.changes.keys().isdisjoint(self._names):
                positions.append(group.position)
        self.t, last = _distinct(np.concatenate(positions), path.end)
        self.is_every_vertex = len(last) <= MOST_VERTICES and not smooth
        if smooth:
            places = np.linspace(0, len(last) - 1, 2 * isqrt(len(last)))
            self.t = self.t[places.astype(np.intp)]
        elif not self.is_every_vertex:
            shares = [1 - rate for rate in (0, *miss_rates)]
            wanted = quantiles(path.critical, path.weight, *shares)
            focus = np.searchsorted(self.t, [*wanted, path.start])
            self.t = self.t[_selected(last, focus)]

    def table(self, unit: Indices, count: int) -> Array:
        """Sums over each of `count` units of rows, times the weight; `unit` has that of each row.

        Columns are the weight, the half-width as delivered, the metrics at the knots, and the mean miss rates over t
        from each knot to the next.
        """
        path = self._path
        metrics = {name: np.zeros((count, len(self.t))) for name in self._names}
        weights = sums(unit, path.weight, count)
        half_widths = sums(unit, path.weighted(path.half_widths), count)
        columns = [weights, half_widths, *metrics.values()]
        if "miss_rate" in metrics:
            columns.append(self._add_misses(metrics.pop("miss_rate"), unit))
        if not metrics:
            return np.column_stack(columns)
        for i, t in enumerate(self.t.tolist()):
            for part in blocks(len(path)):
                rows = path.per_row(t, part)
                for name, column in metrics.items():
                    column[:, i] += sums(unit[part], path.weighted(rows[name], part), count)
        return np.column_stack(columns)

    def _add_misses(self, missed: Array, unit: Indices) -> Array:
        """Add the miss rate at the knots; return its mean over t from each knot to the next."""
        path = self._path
        cells = len(self.t) + 1
        cell = unit * cells
        for part in blocks(len(unit)):
            cell[part] += np.searchsorted(self.t, path.critical[part])

        def binned(values: Array | None) -> Array:
            return sums(cell, values, len(missed) * cells).reshape(-1, cells)

        weight = binned(path.weight)
        criticals = binned(path.weighted(path.critical))
        missed += np.cumsum(weight[:, :0:-1], axis=1)[:, ::-1]
        inside = criticals[:, 1:-1] - self.t[:-1] * weight[:, 1:-1]
        return missed[:, 1:] + inside / np.diff(self.t)

    def curves(self, means: Array) -> Curves:
        """Curves whose columns have these means: (curves, columns)."""
        starts = 1 + len(self.t) * np.arange(1 + len(self._names))
        half_width, *columns, between = np.split(means, starts, axis=1)
        metrics = dict(zip(self._names, columns, strict=True))
        if self._is_scaled:
            metrics["bandwidth"] = half_width * self.t
        return Curves(self.t, metrics, between, self.is_every_vertex, sum_error(len(self._path)))


def _distinct(position: Array, end: float) -> tuple[Array, Indices]:
    """Return different positions up to the end in order, and the rank of the last one at each, from 0."""
    position.sort()
    position = position[: np.searchsorted(position, end, side="right")]
    last = np.flatnonzero(np.append(position[1:] > position[:-1], True))
    return position[last], last


def _selected(last: Indices, focus: Indices) -> Indices:
    """Which vertices are knots: at equally spaced ranks, and closer and closer towards the vertices in `focus`."""
    n = int(last[-1]) + 1
    # until they are as far apart as others
    count = np.log(max(n / RANKS / (RATIO - 1), 1)) / np.log(RATIO)
    near = np.append(0, (RATIO ** np.arange(count)).astype(np.intp))
    centre = last[np.minimum(focus, len(last) - 1)][:, None]
    around = np.clip((centre + np.concatenate([-near, near])).ravel(), 0, n - 1)
    equal = np.linspace(0, n - 1, RANKS).astype(np.intp)
    chosen = np.unique(np.searchsorted(last, np.concatenate([equal, around])))
    # a step begins at the vertex before it
    heavy = chosen[np.diff(last, prepend=-1)[chosen] > n // MOST_VERTICES]
    return np.union1d(chosen, np.maximum(heavy - 1, 0))
