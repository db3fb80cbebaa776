"""Track: the vertices of a curve in order, and the metrics at each of them.

With ``t`` the scale or the shift, every metric but the miss rate is a sum of ramps ``slope * max(0, t - position)``,
or of falling ones for the deficit. One sort and two running sums give its value at every vertex, and between vertices
it is a straight line. The miss rate is a step down at each critical t.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isqrt
from typing import NamedTuple

import numpy as np

from ._checks import FALLING, Array, Metric, Vary
from ._order import Negative, ordered, rearranged, running_integral, running_sum
from .profile import Indices, Profile, blocks

BENDS: Mapping[Vary, Mapping[Metric, Mapping[str, float]]] = {
    "scale": {
        "bandwidth": {},
        "miss_rate": {},
        "overshoot": {"critical": 1},
        "deficit": {"critical": 1},
        "excess": {"critical": 1, "fold": 1},
    },
    "shift": {
        "bandwidth": {"active": 0.5, "exact": 0.5, "other": 0.5, "opposite": 0.5},
        "miss_rate": {},
        "overshoot": {"critical": 1, "exact": 1},
        "deficit": {"critical": 1, "active": -1},
        "excess": {"critical": 1, "exact": 1, "fold": -1, "opposite": 1},
    },
}
"""By how many times its mass a row changes the slope of a metric at each kind of vertex.

`critical`: the row is covered; `fold`: its other bound becomes the nearer one; and where a shifted band leaves 0:
`active` and `exact` (rows without error) the band on the error's side, `other` and `opposite` (rows that fold) the
other one.
"""
KINDS = ("critical", "fold", "active", "exact", "other", "opposite")
APART = 1.0625
"""How far t must be from where overshoot equals deficit for either to come from the other: 33 roundings at most."""


def kinks(vary: Vary, names: Iterable[Metric]) -> frozenset[str]:
    """Return the kinds of vertices beside the critical ones that these metrics need."""
    return frozenset(kind for name in names for kind in BENDS[vary][name]) - {"critical"}


class Track:
    """Vertices ``t`` of the curve from its start, distinct and ascending; after index `end` only where it is endless.

    It is `plain` where all vertices are critical ones, over the scale: then no row folds and excess is overshoot.
    O(n log n) once, then O(n) for the first look at a metric.
    """

    __slots__ = (
        "_codes",
        "_distinct",
        "_half_width",
        "_mass",
        "_means",
        "_never",
        "_rows",
        "_values",
        "_vary",
        "_weight",
        "end",
        "plain",
        "size",
        "t",
    )

    def __init__(self, profile: Profile, kinds: frozenset[str]) -> None:
        groups = [_group(profile, kind) for kind in KINDS if kind == "critical" or kind in kinds]
        groups = [group for group in groups if group.code == 0 or len(group.position)]
        order, t = ordered(_joined([group.position for group in groups]), first=profile.start)
        rises = t[1:] != t[:-1]
        self._distinct: Indices | slice = slice(None) if rises.all() else np.flatnonzero(np.append(rises, True))
        self.t = _frozen(t[self._distinct])
        self.end = int(np.searchsorted(self.t, profile.end))
        self._weight: Array | None = None
        if profile.weight is not None:
            self._weight = _joined([group.weight for group in groups if group.weight is not None]).take(order)
        self._codes = None
        if profile.vary == "shift":
            codes = [np.full(len(group.position), group.code, np.int8) for group in groups]
            self._codes = np.concatenate(codes).take(order)
        self._mass = rearranged(_joined([group.mass for group in groups]), order, divisor=profile.total)
        self.size = profile.size
        self._vary, self._half_width, self._rows = profile.vary, profile.half_width, len(profile.error)
        self._never, self._means = _never(profile), _means(profile)
        self.plain = profile.vary == "scale" and len(groups) == 1
        self._values: dict[Metric, Array] = {}

    def values(self, name: Metric) -> Array:
        """Metric at each vertex, read-only; the miss rate after its step."""
        if name == "excess" and self.plain:
            name = "overshoot"
        if name not in self._values:
            if name == "bandwidth" and self._vary == "scale":
                self._values[name] = _frozen(self._half_width * self.t)
            elif self._vary == "scale" and name in ("overshoot", "deficit"):
                for side, values in self._sides().items():
                    self._values[side] = _frozen(values[self._distinct])
            else:
                values = self._miss_rate() if name == "miss_rate" else self._ramps(name)
                self._values[name] = _frozen(values[self._distinct])
        return self._values[name]

    def value(self, name: Metric, t: float) -> float:
        """Metric at one t up to the last vertex. O(log n)."""
        if name == "miss_rate":
            return float(self.values(name)[np.searchsorted(self.t, t, side="right") - 1])
        return float(np.interp(t, self.t, self.values(name)))

    def reach(self, name: Metric, target: float) -> float | None:
        """Return the least t up to the last vertex at which the metric reaches `target`; None where none does."""
        values, sign = self.values(name), -1.0 if name in FALLING else 1.0
        if name == "miss_rate" and self._weight is not None:
            target += sum_error(len(self._weight))  # a level that only the order of the sums moved is reached
        i = int(np.searchsorted(sign * values, sign * target))
        if i in (0, len(values)):
            return None if i else float(self.t[0])
        if name == "miss_rate" or values[i] == target:  # the vertex itself: interpolation may round to its neighbour
            return float(self.t[i])
        (t0, t1), (v0, v1) = self.t[i - 1 : i + 1].tolist(), values[i - 1 : i + 1].tolist()
        return float(max(t0, min(t1, t0 + (target - v0) / (v1 - v0) * (t1 - t0))))

    def _ramps(self, name: Metric) -> Array:
        """Sum of the ramps at the start and at each event."""
        t, slopes = self._events(), self._mass
        if self._codes is not None:
            slopes = slopes * np.array([BENDS[self._vary][name].get(kind, 0.0) for kind in KINDS]).take(self._codes)
        values = np.empty(len(t))
        if name not in FALLING:
            _rise(slopes, t, values, "added")
            return values
        running_integral(slopes[::-1], t[::-1], values[::-1], negative="added")
        if self._never.error:
            values += self._never.error
        return values

    def _sides(self) -> dict[Metric, Array]:
        """Overshoot and deficit over the scale, each summed up on its own side of the curve only.

        Overshoot less deficit is ``t * mean band - mean error`` everywhere. Well beyond the t where this is 0, both
        terms of ``overshoot = deficit + (...)`` are positive and nothing cancels; well before it, the deficit's are.
        """
        t, (band, error) = self._events(), self._means
        negative: Negative = "none" if self.plain else "dropped"  # masses below 0 are those of folds
        over, under = np.empty(len(t)), np.empty(len(t))
        low, high = 0, len(t)
        if band > 0:
            low, high = np.searchsorted(t, [error / band / APART, error / band * APART])
        _rise(self._mass[: max(high - 1, 0)], t[:high], over[:high], negative)
        running_integral(self._mass[low:][::-1], t[low:][::-1], under[low:][::-1], negative=negative)
        for part in blocks(len(t)):
            difference = band * t[part] - error
            ahead, behind = max(high - part.start, 0), max(low - part.start, 0)
            np.add(under[part][ahead:], difference[ahead:], out=over[part][ahead:])
            np.subtract(over[part][:behind], difference[:behind], out=under[part][:behind])
        _never_fall(over[max(high - 1, 0) :])
        _never_fall(under[: low + 1][::-1])
        if self._never.error:
            under += self._never.error
        return {"overshoot": over, "deficit": under}

    def _events(self) -> Array:
        """Return t at the start and at each event."""
        return self.t if isinstance(self._distinct, slice) else np.repeat(self.t, np.diff(self._distinct, prepend=-1))

    def _miss_rate(self) -> Array:
        if self._weight is not None:
            later = np.append(0.0, self._weight[::-1])
            later = running_sum(later)[::-1] + self._never.weight
            later /= later[0]
            return later
        if self.plain:
            missed = np.arange(self._rows, self._rows - len(self._mass) - 1, -1, dtype=np.float64)
            missed /= self._rows
            return missed
        missed, left = np.empty(len(self._mass) + 1), self._rows
        missed[0] = 1.0
        for part in blocks(len(self._mass)):
            critical = self._mass[part] >= 0 if self._codes is None else self._codes[part] == 0
            covered = np.cumsum(critical, dtype=np.int32)
            np.subtract(float(left), covered, out=missed[1:][part])
            missed[1:][part] /= self._rows
            left -= int(covered[-1])
        return missed


class _Group(NamedTuple):
    """Vertices of one kind up to where the curve ends."""

    code: int
    position: Array
    mass: Array
    weight: Array | None


class _Never(NamedTuple):
    """Rows that nothing covers: their weight, and their errors' part of the mean over all rows."""

    weight: float
    error: float


def _group(profile: Profile, kind: str) -> _Group:
    rows, position, mass = vertices(profile, kind)
    weight = profile.weight
    if weight is not None:
        weight = weight[rows]
        mass, weight = mass * weight, weight if kind == "critical" else np.zeros(len(weight))
    return _Group(KINDS.index(kind), position, mass, weight)


def vertices(profile: Profile, kind: str) -> tuple[Indices | slice, Array, Array]:
    """Rows that have a vertex of this kind on the curve, its position, and its mass before weighting."""
    if kind == "critical":
        rows: Indices | slice = np.flatnonzero(np.isfinite(profile.critical)) if profile.endless else slice(None)
        mass = profile.active if profile.vary == "scale" else (profile.error > 0).astype(np.float64)
        return rows, profile.critical[rows], mass[rows]
    folding, position, gap = profile.folding()
    if kind == "fold":
        return folding, position, np.negative(gap, out=gap) if profile.vary == "scale" else np.ones(len(folding))
    band, special = (profile.active, profile.error == 0) if kind in ("active", "exact") else (profile.other, None)
    if special is None:
        special = np.zeros(len(band), np.bool_)
        special[folding] = True
    rows = np.flatnonzero((special if kind in ("exact", "opposite") else ~special) & (0.0 - band < profile.end))
    return rows, 0.0 - band[rows], np.ones(len(rows))


def _never(profile: Profile) -> _Never:
    if not profile.endless:
        return _Never(0.0, 0.0)
    never = np.isinf(profile.critical)
    weight = never.sum() if profile.weight is None else profile.weight[never].sum()
    return _Never(float(weight), profile.mean(np.where(never, profile.error, 0)))


def _means(profile: Profile) -> tuple[float, float]:
    """Mean over all rows of the active band and of the error of those that some t covers."""
    if not profile.endless:
        return profile.mean(profile.active), profile.mean(profile.error)
    never = np.isinf(profile.critical)
    return profile.mean(np.where(never, 0, profile.active)), profile.mean(np.where(never, 0, profile.error))


def _rise(slopes: Array, t: Array, out: Array, negative: Negative) -> None:
    """Write the sum of rising ramps, `slopes` from ``t[1]`` on."""
    out[:1] = 0.0
    if len(slopes):  # nothing grows before the first event
        running_integral(slopes[:-1], t[1:], out[1:], negative=negative)


def _never_fall(values: Array) -> None:
    """Put right in place what only rounding made fall."""
    if (values[1:] < values[:-1]).any():
        np.maximum.accumulate(values, out=values)


def sum_error(length: int) -> float:
    """Return how far running sums of `length` weights that add up to 1 may be off."""
    return 4 * float(np.finfo(np.float64).eps) * (1 + isqrt(length))


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _frozen(values: Array) -> Array:
    values.setflags(write=False)
    return values
