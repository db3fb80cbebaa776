"""Binned area: brackets of the area under a sketch's curve, on any axes and over any range.

Over a cell two metrics are straight lines X and Y plus remainders e and f that vanish at both ends, so
``integral of y dx = integral of Y dX + integral of f dX - integral of e dY + integral of f de``. The first is a
trapezoid, the next two follow from integrals of remainders over the scale, which the sums of the bins give exactly, and
the last is at most the product of the largest remainders. It vanishes where both metrics have the same remainder, as on
overshoot and deficit, or where one is a line, as the bandwidth is.
"""

from itertools import product
from math import inf

import numpy as np

from uccurve._arrays import Flags, Indices
from uccurve._vocabulary import FALLING, Array, Axes, Metric

from ._binned import EPS, Binned, Bracket, Cells, bracket

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
