"""Binned area: brackets of the area under a sketch's curve, on any axes and over any range.

On all axes without miss rate or excess, integration by parts and ``overshoot - deficit = slope * scale - mean(error)``
leave integrals over the scale, which the sums of the bins give exactly where bins end.
"""

from __future__ import annotations

import numpy as np

from uccurve._checks import FALLING, Array, Axes, Metric

from ._binned import ULP, Binned, Term
from ._brackets import Bracket, around, bracket

Scales = tuple[float | None, float | None]
"""The smallest and the largest scale at which a target may be reached; None where it may be out of reach."""


def area(binned: Binned, axes: Axes) -> Bracket:
    """Area under the whole curve."""
    if binned.has_uncoverable_rows and not FALLING.issuperset(axes):
        return bracket(np.inf)
    return between(binned, axes, 0.0, binned.end)


def partial(binned: Binned, axes: Axes, name: Metric, span: tuple[Bracket, Bracket]) -> Bracket:
    """Area under the part of the curve on which one metric lies in a range."""
    from_end, to_end = span[::-1] if name in FALLING else span
    first, last = reach(binned, name, from_end), reach(binned, name, to_end)
    infinite = binned.has_uncoverable_rows and not FALLING.issuperset(axes)
    if axes[0] == name == "miss_rate":
        if first[0] is None:
            return bracket(0.0)
        if infinite and (last[0] is None or last[1] is None):
            return Bracket(np.inf if last[0] is None and first[1] is not None else 0.0, np.inf)
        low, high = (float(end.low) for end in span)
        return binned.level_drops(axes[1], low, high) if axes[1] != name else _levels(binned, low, high)
    if name == "miss_rate":
        first, last = _around(first), _around(last)
    return Bracket(
        _over(binned, axes, (first[1], last[0]), infinite).low,
        _over(binned, axes, (first[0], last[1]), infinite).high,
    )


def _around(scales: Scales) -> Scales:
    first, last = scales
    return None if first is None else around(first).low, None if last is None else around(last).high


def _levels(binned: Binned, low: float, high: float) -> Bracket:
    """Area of the miss rate over itself."""
    start, end = binned.value("miss_rate", 0.0), binned.value("miss_rate", binned.end)
    ends = [np.clip(np.array([low, high]), a, b) for a, b in zip(end.pair, start.pair, strict=True)]
    squares = [(high_end**2 - low_end**2) / 2 for low_end, high_end in ends]
    slack = 8 * ULP
    return Bracket(max(min(squares) - slack, 0.0), max(squares) + slack)


def _over(binned: Binned, axes: Axes, scales: Scales, infinite: bool) -> Bracket:
    """Area between two scales, of a range that may extend beyond the curve; `infinite` if that of the curve is."""
    first, last = scales
    if first is None:
        return bracket(0.0)
    if last is None and infinite:
        return bracket(np.inf)
    last = binned.end if last is None else last
    if not binned.has_uncoverable_rows:
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
    """Area of a metric over itself: half the difference of the squares."""
    one, two = binned.value(name, first), binned.value(name, last)
    big, small = (one, two) if name in FALLING else (two, one)
    return ((big.squared() - small.squared()) * 0.5).positive()


def _over_rising(binned: Binned, x: Term, y: Term, first: float, last: float) -> Bracket:
    """Integral of deficit over overshoot or excess, or of overshoot over excess."""
    if y == "deficit":
        whole = binned.slope * binned.integral("deficit", first, last) - _own(binned, "deficit", first, last)
    else:
        whole = _own(binned, "overshoot", first, last)
    if x == "excess":
        whole = whole - binned.surplus_integral("deficit" if y == "deficit" else "overshoot", first, last)
    return whole.positive()


def _by_parts(binned: Binned, axes: Axes, swapped: Bracket, first: float, last: float) -> Bracket:
    """Area of y over x from that of x over y."""
    products = [binned.value(axes[0], t) * binned.value(axes[1], t) for t in (first, last)]
    falling = [name in FALLING for name in axes]
    rise = products[0] - products[1] if falling[0] else products[1] - products[0]
    return (rise + swapped if falling[0] != falling[1] else rise - swapped).positive()


def reach(binned: Binned, name: Metric, target: Bracket) -> Scales:
    """Bounds of the smallest scale at which the metric reaches its target."""
    if name == "miss_rate":
        return _first_bin(binned, float(target.high), surely=False), _first_bin(binned, float(target.low), surely=True)
    grid = np.unique(np.concatenate([[0.0], binned.active.breakpoints, binned.gap.breakpoints]))
    values, slope = binned.rounded(name, grid), bracket(0.0)
    if name in FALLING:
        values, target = Bracket(-values.high, -values.low), Bracket(-target.high, -target.low)
    elif name == "bandwidth":
        slope = binned.half_width
    else:
        slope = binned.slope
        if name == "excess":
            gap = binned.gap.mass
            slope = slope - Bracket(np.sum(gap.low), np.sum(gap.high)).over(binned.total)
    first = _crossing(grid, values.high, float(target.low), float(slope.high))
    last = _crossing(grid, values.low, float(target.high), float(slope.low))
    return _around((first, last))


def _first_bin(binned: Binned, level: float, *, surely: bool) -> float | None:
    """Where the miss rate may, or surely does, reach a level: 0, or an end of the first bin after which it does."""
    scales = np.append(0.0, binned.weight.maximum)
    rates = binned.values("miss_rate", scales)
    down = np.flatnonzero((rates.high if surely else rates.low) <= level)
    if not len(down):
        return None
    if down[0] == 0:
        return 0.0
    return float((binned.weight.maximum if surely else binned.weight.minimum)[down[0] - 1])


def _crossing(grid: Array, values: Array, target: float, slope: float) -> float | None:
    """First place where a polyline, continued with a slope after its last vertex, is at its target or above."""
    above = np.flatnonzero(values >= target)
    if not len(above):
        return float(grid[-1] + (target - values[-1]) / slope) if slope > 0 else None
    i = int(above[0])
    if i == 0:
        return float(grid[0])
    share = (target - values[i - 1]) / (values[i] - values[i - 1])
    return float(grid[i - 1] + share * (grid[i] - grid[i - 1]))
