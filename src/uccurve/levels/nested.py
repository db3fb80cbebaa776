"""Nested: rows whose bands grow from one delivered level to the next, instead of in proportion.

The scale 1 is the widest level as delivered. Below it a level p lies at p divided by the widest level, bands run
straight from one level to the next (and from 0 to the first), and above it the widest level's bands are multiplied. So
every metric again is a sum of ramps, now with a bend at each level too, and one level alone gives the ordinary curve.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from uccurve._checks import Array, Metric
from uccurve._order import running_sum
from uccurve.intervals import Intervals
from uccurve.profile import Indices, Profile
from uccurve.track import Track, _frozen, _never


@dataclass(frozen=True, slots=True, eq=False)
class NestedProfile(Profile):
    """A profile of the widest level, with the bands of all levels.

    `knots` are 0 and the places of the levels on the scale, the last one 1; `actives` and `others` hold the bands on
    the error's side and on the other side, one row a knot.
    """

    knots: Array
    actives: Array
    others: Array

    @classmethod
    def nested(cls, levels: Sequence[Intervals], knots: Array) -> NestedProfile:
        """Bands and critical scales of the rows that carry weight. O(n) a level."""
        profiles = [Profile.of(intervals, "scale") for intervals in levels]
        widest = profiles[-1]
        zero = np.zeros(len(widest.error))
        actives = np.stack([zero, *(profile.active * (profile.size / widest.size) for profile in profiles)])
        others = np.stack([zero, *(profile.other * (profile.size / widest.size) for profile in profiles)])
        covered = np.stack([profile.critical <= 1 for profile in profiles])
        base = {field.name: getattr(widest, field.name) for field in fields(Profile) if field.init}
        base["critical"] = _critical(widest, covered, knots, actives)
        return cls(**base, knots=knots, actives=actives, others=others)

    def _bands(self, t: float) -> tuple[Array, Array]:
        if t >= 1:
            return t * self.actives[-1], t * self.others[-1]
        i = int(np.searchsorted(self.knots, t, side="right")) - 1
        share = (t - self.knots[i]) / (self.knots[i + 1] - self.knots[i])
        active, other = (bands[i] + share * (bands[i + 1] - bands[i]) for bands in (self.actives, self.others))
        return active, other

    def segments(self) -> Iterator[Segment]:
        """Pieces of the scale on which all bands are straight lines, from left to right."""
        for i in range(len(self.knots) - 1):
            left, right = float(self.knots[i]), float(self.knots[i + 1])
            slopes = [(bands[i + 1] - bands[i]) / (right - left) for bands in (self.actives, self.others)]
            yield Segment(left, right, slopes[0], slopes[1], self._gap(i), self._gap(i + 1))
        yield Segment(1.0, np.inf, self.actives[-1], self.others[-1], self._gap(-1), None)

    def folds(self) -> bool:
        """Whether the other bound is ever the nearer one on the curve, so that excess differs from overshoot."""
        limit = max(self.end, 1.0)
        beyond = limit * (self.actives[-1] - self.others[-1]) > 2 * self.error
        return bool(beyond.any()) or any((self._gap(i) > 0).any() for i in range(len(self.knots)))

    def _gap(self, i: int) -> Array:
        """By how much the other bound is nearer to the observation than the bound on the error's side."""
        gap: Array = self.actives[i] - self.others[i] - 2 * self.error
        return gap


class Segment(NamedTuple):
    """Slopes of the bands between two knots, and at both which bound is the nearer one; the last is endless."""

    left: float
    right: float
    active: Array
    other: Array
    gap: Array
    next_gap: Array | None

    def folds(self) -> tuple[Indices, Array]:
        """Rows whose nearer bound changes inside the segment, and where."""
        if self.next_gap is None:
            growth = self.active - self.other
            rows = np.flatnonzero((self.gap < 0) & (growth > 0))
            return rows, self.left - self.gap[rows] / growth[rows]
        rows = np.flatnonzero(np.sign(self.gap) * np.sign(self.next_gap) < 0)
        share = self.gap[rows] / (self.gap[rows] - self.next_gap[rows])
        return rows, self.left + share * (self.right - self.left)

    def excess_slope(self) -> Array:
        """Growth of the distance to the nearer bound at the left end."""
        nearer = np.where(self.gap < 0, self.active, self.other)
        return np.where(self.gap == 0, np.minimum(self.active, self.other), nearer)


class NestedTrack(Track):
    """Vertices of the curve of a `NestedProfile`; with `folds` also those that only the excess needs."""

    __slots__ = ("_knots", "_pieces", "_place", "_profile")

    def __init__(self, profile: NestedProfile, *, folds: bool) -> None:
        limit = np.inf if profile.endless else profile.end
        segments = list(profile.segments())
        found = [segment.folds()[1] for segment in segments] if folds else []
        bends = np.concatenate([profile.knots, *found])
        critical = profile.critical[np.isfinite(profile.critical)]
        self.t = _frozen(np.unique(np.concatenate([profile.knots[:1], bends[bends < limit], critical])))
        self.end = int(np.searchsorted(self.t, profile.end))
        self.size, self._weight, self._never = profile.size, profile.weight, _never(profile)
        self._profile, self.plain = profile, False
        self._place = np.searchsorted(self.t, profile.critical)
        self._values: dict[Metric, Array] = {}
        self._knots: dict[float, dict[Metric, float]] = {}
        self._pieces: list[tuple[Segment, int, int]] = []
        for segment in segments:
            if segment.left < self.t[-1]:
                first, stop = (int(np.searchsorted(self.t, edge)) for edge in (segment.left, segment.right))
                self._pieces.append((segment, first, min(stop, len(self.t) - 1)))

    def values(self, name: Metric) -> Array:
        """Metric at each vertex, read-only; the miss rate after its step."""
        if name not in self._values:
            if name == "miss_rate":
                values = self._miss_rate()
            elif name == "bandwidth":
                values = self._bandwidth()
            else:
                values = self._falling() if name == "deficit" else self._rising(name)
            self._values[name] = _frozen(values)
        return self._values[name]

    def shares(self, other: Metric) -> Array:
        """Each row's part of the area under the deficit: the other metric summed over the growth of the row's band."""
        x = np.abs(self.values(other) - self.values(other)[0])
        heights = x[:-1] if other == "miss_rate" else (x[1:] + x[:-1]) / 2
        below = np.append(0.0, np.cumsum(heights * np.diff(self.t)))
        parts = np.where(np.isfinite(self._profile.critical), 0.0, np.inf)
        for segment, first, last in self._pieces:
            covered = np.clip(self._place, first, last)
            parts += self._share(segment.active) * (below[covered] - below[first])
        return parts

    def _miss_rate(self) -> Array:
        finite = self._place < len(self.t)
        weight = np.ones(len(finite)) if self._weight is None else self._weight
        steps = _sums(self._place[finite], weight[finite], len(self.t))
        missed = running_sum(np.append(0.0, steps[::-1]))[::-1] + self._never.weight
        missed /= missed[0]
        return missed[1:].copy()

    def _bandwidth(self) -> Array:
        profile = self._profile
        at_knots = [profile.mean((a + o) / 2) for a, o in zip(profile.actives, profile.others, strict=True)]
        inside = np.interp(self.t, profile.knots, at_knots)
        return np.where(self.t < 1, inside, self.t * at_knots[-1])

    def _knot(self, t: float, name: Metric) -> float:
        """Metric at a level as delivered."""
        if t not in self._knots:
            self._knots[t] = self._profile.at(t)
        return self._knots[t][name]

    def _share(self, slopes: Array) -> Array:
        """What each row's slope adds to that of the mean."""
        weight = self._profile.weight
        return (slopes if weight is None else slopes * weight) / self._profile.total

    def _rising(self, name: Metric) -> Array:
        """Overshoot or excess: exact at each knot, then the integral of its slope over the segment."""
        out = np.zeros(len(self.t))
        for segment, first, last in self._pieces:
            inside = (first < self._place) & (self._place < last)
            start = segment.excess_slope() if name == "excess" else segment.active
            slopes = _sums(self._place[inside] - first, self._share(segment.active)[inside], last - first)
            slopes[0] = self._share(start)[self._place <= first].sum()
            if name == "excess":
                self._bend(slopes, segment, first)
            slopes = np.maximum(running_sum(slopes), 0)
            out[first] = self._knot(segment.left, name)
            out[first + 1 : last + 1] = out[first] + running_sum(slopes * np.diff(self.t[first : last + 1]))
        return np.maximum.accumulate(out)

    def _bend(self, slopes: Array, segment: Segment, first: int) -> None:
        """Take off what rows lose in slope where their other bound becomes the nearer one."""
        rows, position = segment.folds()
        place = np.searchsorted(self.t, position) - first
        kept = (place > 0) & (place < len(slopes))
        rows, place = rows[kept], place[kept]
        np.subtract.at(slopes, place, self._share(np.abs(segment.active - segment.other))[rows])

    def _falling(self) -> Array:
        """Deficit: exact at each knot, then the integral of its slope, from right to left."""
        out = np.full(len(self.t), self._never.error)
        for segment, first, last in reversed(self._pieces):
            if segment.right <= self.t[-1]:
                out[last] = self._knot(segment.right, "deficit")
            mass, length = self._share(segment.active), last - first
            inside = (first < self._place) & (self._place <= last)
            slopes = _sums(self._place[inside] - first - 1, mass[inside], length)
            slopes[-1] += mass[self._place > last].sum()
            drops = running_sum(slopes[::-1]) * np.diff(self.t[first : last + 1])[::-1]
            out[first:last] = (out[last] + running_sum(drops))[::-1]
        return np.maximum.accumulate(out[::-1])[::-1]


def _critical(widest: Profile, covered: npt.NDArray[np.bool_], knots: Array, actives: Array) -> Array:
    """Least scale that covers each row; the delivered bounds say between which levels it lies."""
    critical, first = widest.critical.copy(), covered.argmax(axis=0)
    for i in range(len(knots) - 1):
        rows = np.flatnonzero(covered[i] & (first == i))
        low, high, error = actives[i, rows], actives[i + 1, rows], widest.error[rows]
        share = np.divide(error - low, high - low, out=np.ones(len(rows)), where=high > low)
        places = knots[i] + share * (knots[i + 1] - knots[i])
        critical[rows] = np.where(error > 0, np.clip(places, np.nextafter(knots[i], 1), knots[i + 1]), 0)
    return critical


def _sums(places: Indices, values: Array, length: int) -> Array:
    """Sum of the values at each place; floats where there are none."""
    return np.bincount(places, values, minlength=length).astype(np.float64, copy=False)
