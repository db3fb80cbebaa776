"""Areas: the exact integral of the empirical curve, steps as steps and lines as lines, and its closed forms."""

import sys
from typing import NamedTuple

import numpy as np

from ._paths import Path, ScalePath
from ._ramps import Ramps, sum_error
from ._vocabulary import FALLING, Array, Axes, Metric


class Piece(NamedTuple):
    """The part of a curve between two t; `span` is the range of the miss rate where that is what cuts it."""

    first: float
    last: float
    infinite: bool = False
    span: tuple[float, float] | None = None


def closed_axes(path: Path, axes: Axes) -> frozenset[Metric] | None:
    """Metrics of the closed form of an area over the scale; None where there is none."""
    names = frozenset(axes)
    if path.limited or (path.side != "both" and axes == ("deficit", "excess")):
        return None
    if (
        names == {"excess", "deficit"}
        and isinstance(path, ScalePath)
        and not len(path.crossovers()[0])
    ):
        names = frozenset(
            {"overshoot", "deficit"}
        )  # which is the excess where no other bound becomes the nearer one
    closed = ({"bandwidth", "miss_rate"}, {"bandwidth", "deficit"}, {"overshoot", "deficit"})
    return names if isinstance(path, ScalePath) and names in closed else None


@np.errstate(over="ignore", invalid="ignore")
def closed_area(path: Path, names: frozenset[Metric]) -> float:
    """Whole area over the scale on metrics of `closed_axes`. O(n), no sort.

    With b the mean half-width and k the critical scales the areas are b mean(k), b mean(error k) / 2, and
    mean(active)^2 / 2 times the variance of k under weights in proportion to the active band.
    """
    if path.has_uncoverable_rows:
        return np.inf
    if "bandwidth" in names:
        falling = path.critical if "miss_rate" in names else path.error * path.critical / 2
        return path.mean_half_width * path.mean(falling)
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
    is_product = isinstance(path, ScalePath) and "bandwidth" in axes
    return 0.0 if is_product else sum_error(len(path)) * size_of_area(path, axes)


def t_reaching(
    ramps: Ramps, path: Path, name: Metric, target: float, *, beyond_the_curve: bool = False
) -> float:
    """Return the smallest t at which the metric reaches `target`; infinite where none does.

    The curve ends where all rows are covered; a rising metric goes on after it.
    """
    t = ramps.smallest_t_reaching(name, target)
    if (
        t == np.inf and name != "miss_rate"
    ):  # a largest or smallest value that rounding moved away from the target
        off = sum_error(len(path))
        t = ramps.smallest_t_reaching(name, target * (1 + off if name in FALLING else 1 - off))
    if (
        t < np.inf
        or name in FALLING
        or target == np.inf
        or not (beyond_the_curve or path.has_uncoverable_rows)
    ):
        return t
    # after the last critical t, by bisection: O(n) per step
    largest = path.at(sys.float_info.max)[
        name
    ]  # infinite, unless there is nothing that rises after the last crossover
    if largest < target * (1 - sum_error(len(path))):
        return np.inf
    target = min(target, largest)
    low, step = path.end, max(abs(path.end), 1.0)
    while path.at(low + step)[name] < target:
        low, step = low + step, 2 * step
        if not np.isfinite(low + step):
            return np.inf
    high = low + step
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (middle, high) if path.at(middle)[name] < target else (low, middle)
    return high


def piece(ramps: Ramps, path: Path, name: Metric, low: float, high: float) -> Piece:
    """Return the part of the curve on which the metric lies in (low, high), cut exactly at its ends."""
    end, uncoverable = float(ramps.t[ramps.end]), path.has_uncoverable_rows
    ends = (high, low) if name in FALLING else (low, high)
    first, last = (t_reaching(ramps, path, name, target) for target in ends)
    infinite = uncoverable and first < last == np.inf
    first, last = (
        end if t == np.inf else t for t in (first, last)
    )  # the curve ends before what is never reached
    last = max(first, last if uncoverable else min(last, end))
    return Piece(first, last, infinite, (low, high) if name == "miss_rate" else None)


@np.errstate(over="ignore", invalid="ignore")  # an area beyond float64 is infinite
def integral(ramps: Ramps, path: Path, axes: Axes, part: Piece | None = None) -> float:
    """Absolute value of the integral of y dx over a part of the curve, by default all of it. O(n)."""
    part = part or Piece(float(ramps.t[0]), float(ramps.t[ramps.end]), path.has_uncoverable_rows)
    if part.infinite and not FALLING.issuperset(axes):
        return np.inf
    x, y = (_nodes(ramps, path, name, part) for name in axes)
    if axes[0] == "miss_rate":
        # the miss rate before each node's step and after the last; a step that leaves the range is cut at its end
        before, (low, high) = x[0], part.span or (0.0, 1.0)
        if part.span and part.first > ramps.t[0]:
            before = ramps.values("miss_rate")[np.searchsorted(ramps.t, part.first) - 1]
        x = np.clip(np.append(before, x), low, high)
        return (
            float(x[0] ** 2 - x[-1] ** 2) / 2
            if axes[1] == "miss_rate"
            else float(np.sum((x[:-1] - x[1:]) * y))
        )
    heights = y[:-1] if axes[1] == "miss_rate" else (y[:-1] + y[1:]) / 2
    area = abs(float(np.sum((x[1:] - x[:-1]) * heights)))
    return np.inf if np.isnan(area) else area


def _nodes(ramps: Ramps, path: Path, name: Metric, part: Piece) -> Array:
    """Metric at both ends of the part and at the vertices between them."""
    if part.first == ramps.t[0] and part.last == ramps.t[-1]:
        return ramps.values(name)
    i, j = (
        np.searchsorted(ramps.t, part.first, side="right"),
        np.searchsorted(ramps.t, part.last, side="left"),
    )
    ends = [
        ramps.value(name, t) if t <= ramps.t[-1] else path.at(t)[name]
        for t in (part.first, part.last)
    ]
    return np.concatenate([ends[:1], ramps.values(name)[i:j], ends[1:]])


@np.errstate(over="ignore", invalid="ignore")
def row_shares(ramps: Ramps, path: Path, falling: Metric, other: Metric) -> Array:
    """Each row's part of the area: its own miss or deficit, integrated over the other metric."""
    t, place = ramps.t, np.minimum(ramps.places(), len(ramps.t) - 1)
    x = np.abs(ramps.values(other) - ramps.values(other)[0])
    if falling == "miss_rate":
        parts = x[place]
    else:  # between vertices a deficit is a straight line, whose mean is the middle; a step is where it is
        middle = t[1:] if other == "miss_rate" else (t[:-1] + t[1:]) / 2
        parts = path.deficit_integrals(middle, np.diff(x), place)
    if path.has_uncoverable_rows:
        parts = np.where(np.isinf(path.critical), np.inf, parts)
    return path.weighted(parts)
