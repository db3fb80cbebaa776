"""Areas: the exact integral of the empirical curve, steps as steps and lines as lines, and its closed forms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._arrays import Indices, blocks
from ._checks import FALLING, Array, Axes, Metric
from ._levels import LevelsPath
from ._paths import Path, ScalePath
from ._ramps import Ramps, sum_error
from .intervals import Intervals

CLOSED_AXES: tuple[frozenset[Metric], ...] = (
    frozenset({"bandwidth", "miss_rate"}),
    frozenset({"bandwidth", "deficit"}),
    frozenset({"overshoot", "deficit"}),
)
"""Axes on which the whole area over the scale is a product of means."""


class Piece(NamedTuple):
    """The part of a curve between two t; `span` is the range of the miss rate where that is what cuts it."""

    first: float
    last: float
    infinite: bool = False
    span: tuple[float, float] | None = None


def closed_axes(axes: Axes, *, crosses_over: bool) -> frozenset[Metric] | None:
    """Metrics of the closed form of an area over the scale; None where there is none."""
    names = frozenset(axes)
    if names == {"excess", "deficit"} and not crosses_over:
        names = frozenset({"overshoot", "deficit"})
    return names if names in CLOSED_AXES else None


def closed_area(intervals: Intervals, axes: Axes) -> tuple[float, float] | None:
    """Whole area over the scale that needs no order, and the unit it is in; None for other axes. O(n), in blocks.

    With b the mean half-width and k the critical scales the areas are b mean(k), b mean(error k) / 2, and
    mean(active)^2 / 2 times the variance of k under weights in proportion to the active band.
    """
    if set(axes) == {"excess", "deficit"} and not intervals.symmetric:
        names = closed_axes(axes, crosses_over=len(ScalePath.of(intervals).crossovers()[0]) > 0)
    else:
        names = closed_axes(axes, crosses_over=False)
    if names is None:
        return None
    parts = (intervals[part] for part in blocks(len(intervals)))
    weighted = (part for part in parts if part._weight is None or part._weight.any())
    with np.errstate(over="ignore", invalid="ignore"):
        paths = (ScalePath.of(part) for part in weighted)
        found = [(path.unit, _sums(path, names)) for path in paths]
    if all(unit == 1 for unit, _ in found) and _safe([sums for _, sums in found]):
        return _closed([sums for _, sums in found], names), 1.0
    path = ScalePath.of(intervals)
    return closed_area_of_path(path, names), path.unit


@np.errstate(over="ignore", invalid="ignore")
def closed_area_of_path(path: ScalePath, names: frozenset[Metric]) -> float:
    """Whole area over the scale on metrics of `CLOSED_AXES`."""
    return _closed([_sums(path, names)], names)


class _Sums(NamedTuple):
    """What some rows add to a closed form: their weight, that times a mean band, and the rest."""

    total: float
    mass: float
    middle: float
    rest: float


def _sums(path: ScalePath, names: frozenset[Metric]) -> _Sums:
    total = path.total
    if "bandwidth" in names:
        falling = path.critical if "miss_rate" in names else path.error * path.critical / 2
        return _Sums(total, total * path.mean_half_width, 0.0, total * path.mean(falling))
    if path.has_uncoverable_rows:
        return _Sums(total, 0.0, 0.0, np.inf)
    active = path.mean(path.active)
    middle = path.mean(path.error) / active if active else 0.0
    off = path.critical - middle
    spread = path.active * off  # in this order: the square alone may overflow
    spread *= off
    return _Sums(total, total * active, middle, total * path.mean(spread))


def _closed(sums: list[_Sums], names: frozenset[Metric]) -> float:
    total, mass, middle, rest = (np.array(column) for column in zip(*sums, strict=True))
    if np.isinf(rest).any():
        return np.inf
    if "bandwidth" in names:
        return float(mass.sum() / total.sum() * (rest.sum() / total.sum()))
    if mass.sum() == 0:
        return 0.0
    off = middle - np.sum(mass * middle) / mass.sum()
    spread = rest.sum() + np.sum(mass * off * off)
    return float(mass.sum() / total.sum() * (spread / total.sum()) / 2)


def _safe(sums: list[_Sums]) -> bool:
    """Whether the sums are so far from the ends of float64 that no product in them can have left it."""
    total = sum(part.total for part in sums)
    means = sum(part.mass for part in sums) / total, sum(part.rest for part in sums) / total
    return all(1e-120 < mean < 1e120 for mean in means)


def t_reaching(
    ramps: Ramps, path: Path, name: Metric, target: float, *, beyond_the_curve: bool = False
) -> float | None:
    """Return the smallest t at which the metric reaches `target`; None where none does.

    The curve ends where all rows are covered; a rising metric goes on after it.
    """
    t = ramps.smallest_t_reaching(name, target)
    if t is None and name != "miss_rate":  # a largest or smallest value that rounding moved away from the target
        off = sum_error(len(path))
        t = ramps.smallest_t_reaching(name, target * (1 + off if name in FALLING else 1 - off))
    if t is None and name not in FALLING and np.isfinite(target) and (beyond_the_curve or path.has_uncoverable_rows):
        return _beyond(path, name, target)
    return t


def _beyond(path: Path, name: Metric, target: float) -> float | None:
    """Return the t after the last critical one at which a rising metric reaches `target`. O(n) per bisection step."""
    covered, other = np.isfinite(path.critical), path.other
    growth = {"bandwidth": path.active + other, "overshoot": np.where(covered, path.active, 0)}
    last = growth.get(name, np.where(covered, np.minimum(path.active, other), 0))
    if path.vary != "shift" and not last.any():  # without other bands nothing rises after the last crossover
        largest = path.at(2 * max(path.end, path.delivered))[name]
        if largest < target * (1 - sum_error(len(path))):
            return None
        target = min(target, largest)
    low, step = path.end, max(abs(path.end), 1.0)
    while path.at(low + step)[name] < target:
        low, step = low + step, 2 * step
        if not np.isfinite(low + step):
            return None
    high = low + step
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (middle, high) if path.at(middle)[name] < target else (low, middle)
    return high


def piece(ramps: Ramps, path: Path, name: Metric, low: float, high: float) -> Piece:
    """Return the part of the curve on which the metric lies in (low, high), cut exactly at its ends."""
    end = float(ramps.t[ramps.end])
    ends = (high, low) if name in FALLING else (low, high)
    first, last = (t_reaching(ramps, path, name, target) for target in ends)
    uncoverable = path.has_uncoverable_rows
    first, infinite = (end, False) if first is None else (first, last is None and uncoverable)
    last = max(first, end) if last is None else last if uncoverable else min(last, end)
    return Piece(first, max(first, last), infinite, (low, high) if name == "miss_rate" else None)


@np.errstate(over="ignore", invalid="ignore")  # an area beyond float64 is infinite
def integral(ramps: Ramps, path: Path, axes: Axes, part: Piece | None = None) -> float:
    """Absolute value of the integral of y dx over a part of the curve, by default all of it. O(n)."""
    part = part or Piece(float(ramps.t[0]), float(ramps.t[ramps.end]), path.has_uncoverable_rows)
    if part.infinite and not FALLING.issuperset(axes):
        return np.inf
    x, y = (_nodes(ramps, path, name, part) for name in axes)
    if axes[0] == "miss_rate":
        x = _cut_steps(ramps, x, part)
        return float(x[0] ** 2 - x[-1] ** 2) / 2 if axes[1] == "miss_rate" else float(np.sum((x[:-1] - x[1:]) * y))
    heights = y[:-1] if axes[1] == "miss_rate" else (y[:-1] + y[1:]) / 2
    area = abs(float(np.sum((x[1:] - x[:-1]) * heights)))
    return np.inf if np.isnan(area) else area


def _nodes(ramps: Ramps, path: Path, name: Metric, part: Piece) -> Array:
    """Metric at both ends of the part and at the vertices between them."""
    if part.first == ramps.t[0] and part.last == ramps.t[-1]:
        return ramps.values(name)
    i, j = np.searchsorted(ramps.t, part.first, side="right"), np.searchsorted(ramps.t, part.last, side="left")
    ends = [ramps.value(name, t) if t <= ramps.t[-1] else path.at(t)[name] for t in (part.first, part.last)]
    return np.concatenate([ends[:1], ramps.values(name)[i:j], ends[1:]])


def _cut_steps(ramps: Ramps, x: Array, part: Piece) -> Array:
    """Miss rate before each node's step and after the last; a step that leaves the range is cut at its end."""
    low, high = part.span or (0.0, 1.0)
    before = x[0]
    if part.span and part.first > ramps.t[0]:
        before = ramps.values("miss_rate")[np.searchsorted(ramps.t, part.first) - 1]
    steps: Array = np.clip(np.concatenate([[before], x]), low, high)
    return steps


@np.errstate(over="ignore", invalid="ignore")
def row_shares(ramps: Ramps, path: Path, falling: Metric, other: Metric) -> Array:
    """Each row's part of the area: the other metric summed up to where the row is covered."""
    x = np.abs(ramps.values(other) - ramps.values(other)[0])
    place = np.minimum(ramps.places(), len(ramps.t) - 1)
    if falling == "miss_rate":
        parts = x[place]
    else:
        heights = x[:-1] if other == "miss_rate" else (x[1:] + x[:-1]) / 2
        below = np.append(0.0, np.cumsum(heights * np.diff(ramps.t)))
        parts = _under_deficit(ramps, path, below, place)
    if path.has_uncoverable_rows:
        parts = np.where(np.isinf(path.critical), np.inf, parts)
    return path.weighted(parts)


def _under_deficit(ramps: Ramps, path: Path, below: Array, place: Indices) -> Array:
    """Integral of the other metric over the growth of each row's active band up to its critical t."""
    if isinstance(path, LevelsPath):
        edges = np.append(np.searchsorted(ramps.t, path.knots), len(ramps.t) - 1)
        parts = np.zeros(len(path))
        for i in range(len(path.knots)):
            first, last = np.minimum(edges[i : i + 2], len(ramps.t) - 1)
            parts += path.slopes(i)[0] * (below[np.clip(place, first, last)] - below[first])
        return parts
    if isinstance(path, ScalePath):
        return path.active * below[place]
    first = np.searchsorted(ramps.t, 0.0 - path.active)
    return np.where(path.error > 0, below[place] - below[np.minimum(first, len(below) - 1)], 0)
