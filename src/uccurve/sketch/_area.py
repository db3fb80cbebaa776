"""Binned area: brackets of the area under a sketch's curve, on any axes and over any range.

On all axes but those with the miss rate or the fold, integration by parts and the shear ``overshoot - deficit =
slope * scale - mean(error)`` leave integrals over the scale, which the sums of the bins give exactly at their ends.
"""

from __future__ import annotations

import numpy as np

from uccurve._checks import FALLING, Array, Axes, Metric

from ._binned import ULP, Binned, Part
from ._brackets import Bracket, around, bracket

Places = tuple[float | None, float | None]
"""The earliest and the latest scale at which something may be reached; None where it may never be."""


def area(binned: Binned, axes: Axes) -> Bracket:
    """Area under the whole curve."""
    if binned.endless and not FALLING.issuperset(axes):
        return bracket(np.inf)
    return between(binned, axes, 0.0, binned.end)


def partial(binned: Binned, axes: Axes, name: Metric, span: tuple[Bracket, Bracket]) -> Bracket:
    """Area under the part of the curve on which a metric lies in a range."""
    from_end, to_end = span[::-1] if name in FALLING else span
    first, last = reach(binned, name, from_end), reach(binned, name, to_end)
    endless = binned.endless and not FALLING.issuperset(axes)
    if axes[0] == name == "miss_rate":
        if first[0] is None:
            return bracket(0.0)
        if endless and (last[0] is None or last[1] is None):
            return Bracket(np.inf if last[0] is None and first[1] is not None else 0.0, np.inf)
        low, high = (float(end.low) for end in span)
        return binned.level_drops(axes[1], low, high) if axes[1] != name else _levels(binned, low, high)
    if name == "miss_rate":
        first, last = _around(first), _around(last)
    return Bracket(
        _over(binned, axes, (first[1], last[0]), endless).low,
        _over(binned, axes, (first[0], last[1]), endless).high,
    )


def _around(places: Places) -> Places:
    early, late = places
    return None if early is None else around(early).low, None if late is None else around(late).high


def _levels(binned: Binned, low: float, high: float) -> Bracket:
    """Miss rate over itself."""
    start, least = binned.value("miss_rate", 0.0), binned.value("miss_rate", binned.end)
    ends = [np.clip(np.array([low, high]), a, b) for a, b in zip(least.pair, start.pair, strict=True)]
    squares = [(high_end**2 - low_end**2) / 2 for low_end, high_end in ends]
    slack = 8 * ULP
    return Bracket(max(min(squares) - slack, 0.0), max(squares) + slack)


def _over(binned: Binned, axes: Axes, places: Places, endless: bool) -> Bracket:
    """Area between two scales, by the rules of ranges that reach beyond the curve."""
    first, last = places
    if first is None:
        return bracket(0.0)
    if last is None and endless:
        return bracket(np.inf)
    last = binned.end if last is None else last
    if not binned.endless:
        first, last = min(first, binned.end), min(last, binned.end)
    return between(binned, axes, first, last) if first < last else bracket(0.0)


def between(binned: Binned, axes: Axes, first: float, last: float) -> Bracket:
    """Area under the curve between two scales."""
    x, y = axes
    if x == y:
        return _own(binned, x, first, last)
    if x == "miss_rate":
        return binned.drops(y, first, last)
    if x == "bandwidth":
        return binned.half_width * binned.integral(y, first, last)
    if y in ("bandwidth", "miss_rate"):
        swapped = (
            binned.half_width * binned.integral(x, first, last) if y == "bandwidth" else binned.drops(x, first, last)
        )
        return _by_parts(binned, axes, swapped, first, last)
    if y == "deficit" or (x, y) == ("excess", "overshoot"):
        return _over_rising(binned, x, y, first, last)
    return _by_parts(binned, axes, _over_rising(binned, y, x, first, last), first, last)


def _own(binned: Binned, name: Metric, first: float, last: float) -> Bracket:
    """Half the difference of the squares."""
    one, two = binned.value(name, first), binned.value(name, last)
    big, small = (one, two) if name in FALLING else (two, one)
    return ((big.squared() - small.squared()) * 0.5).positive()


def _over_rising(binned: Binned, x: Part, y: Part, first: float, last: float) -> Bracket:
    """Integral of deficit over overshoot or excess, or of overshoot over excess."""
    if y == "deficit":
        whole = binned.slope * binned.integral("deficit", first, last) - _own(binned, "deficit", first, last)
    else:
        whole = _own(binned, "overshoot", first, last)
    if x == "excess":
        whole = whole - binned.fold_integral("deficit" if y == "deficit" else "overshoot", first, last)
    return whole.positive()


def _by_parts(binned: Binned, axes: Axes, swapped: Bracket, first: float, last: float) -> Bracket:
    """Area under y over x from the one under x over y."""
    products = [binned.value(axes[0], t) * binned.value(axes[1], t) for t in (first, last)]
    falling = [name in FALLING for name in axes]
    rise = products[0] - products[1] if falling[0] else products[1] - products[0]
    return (rise + swapped if falling[0] != falling[1] else rise - swapped).positive()


def reach(binned: Binned, name: Metric, target: Bracket) -> Places:
    """Earliest and latest that the least scale can be at which the metric reaches its target."""
    if name == "miss_rate":
        return _first_bin(binned, float(target.high), late=False), _first_bin(binned, float(target.low), late=True)
    grid = np.unique(np.concatenate([[0.0], binned.active.vertices, binned.fold.vertices]))
    values, slope = binned.rounded(name, grid), bracket(0.0)
    if name in FALLING:
        values, target = Bracket(-values.high, -values.low), Bracket(-target.high, -target.low)
    elif name == "bandwidth":
        slope = binned.half_width
    else:
        slope = binned.slope
        if name == "excess":
            folded = binned.fold.mass
            slope = slope - Bracket(np.sum(folded.low), np.sum(folded.high)).over(binned.total)
    early = _crossing(grid, values.high, float(target.low), float(slope.high))
    late = _crossing(grid, values.low, float(target.high), float(slope.low))
    return _around((early, late))


def _first_bin(binned: Binned, level: float, *, late: bool) -> float | None:
    """Where the miss rate has come down to a level: the start, or one end of the first bin after which it has."""
    places = np.append(0.0, binned.weight.greatest)
    rates = binned.values("miss_rate", places)
    down = np.flatnonzero((rates.high if late else rates.low) <= level)
    if not len(down):
        return None
    if down[0] == 0:
        return 0.0
    return float((binned.weight.greatest if late else binned.weight.least)[down[0] - 1])


def _crossing(grid: Array, values: Array, target: float, slope: float) -> float | None:
    """First place where a broken line, with a slope after its last vertex, is at its target or above."""
    above = np.flatnonzero(values >= target)
    if not len(above):
        return float(grid[-1] + (target - values[-1]) / slope) if slope > 0 else None
    i = int(above[0])
    if i == 0:
        return float(grid[0])
    share = (target - values[i - 1]) / (values[i] - values[i - 1])
    return float(grid[i - 1] + share * (grid[i] - grid[i - 1]))
