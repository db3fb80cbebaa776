"""Area: the exact integral of the empirical curve, steps as steps and lines as lines."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._checks import FALLING, Array, Axes, Metric, Vary
from .intervals import Intervals
from .profile import Profile, blocks
from .targets import least
from .track import Track


class Piece(NamedTuple):
    """The part of a curve between two t; `span` is the range of the miss rate where that is what cuts it."""

    first: float
    last: float
    endless: bool = False
    span: tuple[float, float] | None = None


def closed_form(intervals: Intervals, vary: Vary, axes: Axes) -> tuple[float, float] | None:
    """Whole-curve areas over the scale that need no order, and their size (None for other axes). O(n).

    With b the mean half-width and k the critical scales they are b mean(k), b mean(error k) / 2, and
    mean(active)^2 / 2 times the variance of k under weights in proportion to the active band.
    """
    names = frozenset(axes)
    if vary != "scale" or len(names) != 2:
        return None
    if names == {"excess", "deficit"} and (intervals.symmetric or not folds(Profile.of(intervals, vary))):
        names = frozenset({"overshoot", "deficit"})
    if names not in ({"bandwidth", "miss_rate"}, {"bandwidth", "deficit"}, {"overshoot", "deficit"}):
        return None
    parts = (intervals[rows] for rows in blocks(len(intervals)))
    weighed = (part for part in parts if part._weight is None or part._weight.any())
    with np.errstate(over="ignore", invalid="ignore"):
        sums = [_sums(Profile.of(part, vary, checked=False), names) for part in weighed]
    if not _safe(sums):
        sums = [_sums(Profile.of(intervals, vary), names)]
    total, mass, middle, rest, _ = (np.array(column) for column in zip(*sums, strict=True))
    if np.isinf(rest).any():
        return np.inf, 1.0
    if "bandwidth" in names:
        return float(mass.sum() / total.sum() * (rest.sum() / total.sum())), sums[0].size
    if mass.sum() == 0:
        return 0.0, 1.0
    off = middle - np.sum(mass * middle) / mass.sum()
    spread = rest.sum() + np.sum(mass * off * off)
    return float(mass.sum() / total.sum() * (spread / total.sum()) / 2), sums[0].size


class _Sums(NamedTuple):
    """What some rows add to a closed form: their weight, that times a mean band, and the rest."""

    total: float
    mass: float
    middle: float
    rest: float
    size: float


def _sums(profile: Profile, names: frozenset[Metric]) -> _Sums:
    """Sums over a profile that nobody else needs: its critical scales are overwritten."""
    total, critical = profile.total, profile.critical
    if "bandwidth" in names:
        if "deficit" in names:
            critical *= profile.error
        rest = profile.mean(critical) / (2 if "deficit" in names else 1)
        return _Sums(total, total * profile.half_width, 0.0, total * rest, profile.size)
    if profile.endless:
        return _Sums(total, 0.0, 0.0, np.inf, profile.size)
    active = profile.mean(profile.active)
    middle = profile.mean(profile.error) / active if active else 0.0
    critical -= middle
    spread = profile.active * critical  # in this order: the square alone may overflow
    spread *= critical
    return _Sums(total, total * active, middle, total * profile.mean(spread), profile.size)


def _safe(sums: list[_Sums]) -> bool:
    """Whether the sums are so far from the ends of float64 that no product in them can have left it."""
    total = sum(part.total for part in sums)
    means = sum(part.mass for part in sums) / total, sum(part.rest for part in sums) / total
    return all(1e-120 < mean < 1e120 for mean in means)


def folds(profile: Profile) -> bool:
    """Whether the other bound ever becomes the nearer one on the curve, so that excess differs from overshoot."""
    return len(profile.folding()[0]) > 0


def piece(track: Track, profile: Profile, name: Metric, low: float, high: float) -> Piece:
    """Return the part of the curve on which the metric lies in (low, high), cut exactly at its ends."""
    end = float(track.t[track.end])
    ends = (high, low) if name in FALLING else (low, high)
    first, last = (least(track, profile, name, target) for target in ends)
    first, endless = (end, False) if first is None else (first, last is None and profile.endless)
    last = max(first, end) if last is None else last if profile.endless else min(last, end)
    return Piece(first, max(first, last), endless, (low, high) if name == "miss_rate" else None)


def integral(track: Track, profile: Profile, axes: Axes, part: Piece | None) -> float:
    """Absolute value of the integral of y dx over a part of the curve, by default all of it. O(n)."""
    part = part or Piece(float(track.t[0]), float(track.t[track.end]), profile.endless)
    if part.endless and not FALLING.issuperset(axes):
        return np.inf
    x, y = (_nodes(track, profile, name, part) for name in axes)
    if axes[0] == "miss_rate":
        x = _cut_steps(track, x, part)
        return float(x[0] ** 2 - x[-1] ** 2) / 2 if axes[1] == "miss_rate" else float(np.sum((x[:-1] - x[1:]) * y))
    heights = y[:-1] if axes[1] == "miss_rate" else (y[:-1] + y[1:]) / 2
    return abs(float(np.sum((x[1:] - x[:-1]) * heights)))


def _nodes(track: Track, profile: Profile, name: Metric, part: Piece) -> Array:
    """Metric at both ends of the part and at the vertices between them."""
    if part.first == track.t[0] and part.last == track.t[-1]:
        return track.values(name)
    i, j = np.searchsorted(track.t, part.first, side="right"), np.searchsorted(track.t, part.last, side="left")
    ends = [track.value(name, t) if t <= track.t[-1] else profile.at(t)[name] for t in (part.first, part.last)]
    return np.concatenate([ends[:1], track.values(name)[i:j], ends[1:]])


def _cut_steps(track: Track, x: Array, part: Piece) -> Array:
    """Miss rate before each node's step and after the last; a step that leaves the range is cut at its end."""
    low, high = part.span or (0.0, 1.0)
    before = x[0]
    if part.span and part.first > track.t[0]:
        before = track.values("miss_rate")[np.searchsorted(track.t, part.first) - 1]
    steps: Array = np.clip(np.concatenate([[before], x]), low, high)
    return steps


def shares(track: Track, profile: Profile, falling: Metric, other: Metric) -> Array:
    """Each row's part of the area: the other metric summed up to where the row is covered."""
    x = np.abs(track.values(other) - track.values(other)[0])
    weight = 1.0 if profile.weight is None else profile.weight
    never = np.isinf(profile.critical)
    t = np.where(never, profile.start, profile.critical)
    if falling == "miss_rate":
        parts = np.interp(t, track.t, x) * weight
        return np.where(never, np.inf, parts)
    heights = x[:-1] if other == "miss_rate" else (x[1:] + x[:-1]) / 2
    below = np.append(0.0, np.cumsum(heights * np.diff(track.t)))
    place = np.searchsorted(track.t, t)
    if profile.vary == "scale":
        return np.where(never, np.inf, below[place] * profile.active * weight)
    start = np.searchsorted(track.t, 0.0 - profile.active)
    return np.where(profile.error > 0, below[place] - below[start], 0) * weight
