"""Lines: two curves as functions of one metric, the level, and where the sign of their difference changes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np

from uccurve._arrays import Indices
from uccurve._checks import FALLING, Array, Axes, Metric, Unit, Vary
from uccurve.curve import UCC

TIE = 1e-12
"""Share of an axis below which two positions on it are treated as equal."""
STEP = 1 << 15
"""Vertices of each line that are merged at a time."""


class View(NamedTuple):
    """Which metric is the level at which two curves are compared, and which one is compared there."""

    level: Metric
    compared: Metric

    @classmethod
    def of(cls, axes: Axes) -> View:
        """Return the falling axis as the level, against what reaching it takes; x where none falls."""
        falling = [name for name in axes if name in FALLING]
        level = falling[0] if len(falling) == 1 else "deficit" if len(falling) == 2 else axes[0]
        return cls(level, axes[1] if level == axes[0] else axes[0])

    @property
    def falls(self) -> bool:
        """Whether wider bands lower the level."""
        return self.level in FALLING

    @property
    def open(self) -> bool:
        """Whether levels beyond the ends of a curve count: nothing reaches those below, no band at all those above."""
        return self.falls and self.compared not in FALLING

    @property
    def steps(self) -> bool:
        """Whether curves keep their value between vertices; they are straight lines otherwise."""
        return "miss_rate" in self


class Line(NamedTuple):
    """A curve as a function of the level: its vertices by rising level, and the scale or shift of each."""

    level: Array
    value: Array
    t: Array
    vary: Vary
    view: View

    @classmethod
    def of(cls, curve: UCC, view: View, unit: Unit) -> Self:
        """Read a curve along the level."""
        points = curve.points(axes=view, unit=unit)
        t: Array = getattr(points, "scale" if points.shift is None else "shift")
        order = slice(None, None, -1 if view.falls else 1)
        level = np.maximum.accumulate(points.x[order])  # rounding must not break the order
        return cls(level, points.y[order], t[order], curve.vary, view)

    def at(self, level: Array) -> Array:
        """Return the value just above each level."""
        return self.across(level, level, np.searchsorted(self.level, level, side="right") - 1)[0]

    def around(self, level: Array, slack: float) -> tuple[Array, Array]:
        """Return the values just below and just above each level, give or take the slack."""
        first, last = self.near(level, slack)
        return self.across(level, level, first - 1)[1], self.across(level, level, last - 1)[0]

    def near(self, level: Array, slack: float) -> tuple[Indices, Indices]:
        """Return the first vertex that is less than the slack away from each level, and the first one after these."""
        return np.searchsorted(self.level, level - slack), np.searchsorted(self.level, level + slack, side="right")

    def across(self, left: Array, right: Array, vertex: Indices) -> tuple[Array, Array]:
        """Return the values where spans begin and end; `vertex` is the last one before each span, -1 for none."""
        here, there = np.maximum(vertex, 0), np.minimum(vertex + 1, len(self.value) - 1)
        if self.view.steps:  # a miss rate is kept by the scale that reached it until the next lower one is
            begin = end = self.value[there if self.view.compared == "miss_rate" else here]
        else:
            begin, end, from_, to = self.value[here], self.value[there], self.level[here], self.level[there]
            width = to - from_
            width[width == 0] = 1.0
            with np.errstate(invalid="ignore"):  # a value may be too large for a float
                rise = end - begin
                begin = begin + np.maximum(left - from_, 0) / width * rise
                end = end - np.maximum(to - right, 0) / width * rise
        if self.view.open:
            begin[vertex < 0] = end[vertex < 0] = np.inf  # nothing reaches this level
        return begin, end

    def places(self, level: Array, value: Array, slack: float) -> list[float]:
        """Return the scale or shift that puts the line at each of some points on it."""
        if self.view.level == "miss_rate":
            return _floats(np.interp(value, self.value[::-1], self.t[::-1]))
        t, (first, last) = np.interp(level, self.level, self.t), self.near(level, slack)
        for i in np.flatnonzero(last - first > 1):
            t[i] = self._t_by_value(slice(first[i], last[i]), value[i])
        return _floats(t)

    def _t_by_value(self, vertices: slice, value: float) -> float:
        """Return where vertices of the same level have a value, which rises or falls with t up to rounding."""
        order, sign = slice(None, None, -1 if self.view.falls else 1), -1 if self.view.compared in FALLING else 1
        values = np.maximum.accumulate(sign * self.value[vertices][order])
        return float(np.interp(sign * value, values, self.t[vertices][order]))


def _floats(values: Array) -> list[float]:
    return list(map(float, values))


class Runs(NamedTuple):
    """Runs of levels on which the difference of two lines keeps its sign: level and value of all ends, and the signs.

    The sign is negative where the first line is lower. Levels or values that differ by no more than the slack of theirs
    are treated as equal.
    """

    level: Array
    value: Array
    sign: Array
    slack: float
    value_slack: float

    @classmethod
    def of(cls, one: Line, two: Line) -> Self:
        """Go along the levels that belong to both lines."""
        slack = TIE * max(float(line.level[-1]) for line in (one, two))
        value_slack = TIE * max(float(line.value.max(initial=0, where=np.isfinite(line.value))) for line in (one, two))
        parts = [_changes(one, two, spans, value_slack) for spans in _spans(one, two, slack)]
        if not parts:
            return cls(np.empty(0), np.empty(0), np.empty(0), slack, value_slack)
        level, sign = (np.concatenate(column) for column in zip(*((part[0], part[1]) for part in parts), strict=True))
        new = np.append(True, sign[1:] != sign[:-1])
        level = np.append(level[new], parts[-1][2])
        return cls(level, shared(one, two, level, slack), sign[new], slack, value_slack)

    @property
    def crossings(self) -> Indices:
        """Ends from which on the other line is lower than before, whether or not they were equal in between."""
        unequal = np.flatnonzero(self.sign)
        flips: Indices = unequal[1:][self.sign[unequal[1:]] != self.sign[unequal[:-1]]]
        return flips

    @property
    def shares(self) -> tuple[float, float]:
        """Share of the levels at which the first and the second line are lower."""
        width = np.diff(self.level)
        total = float(width.sum())
        first, second = (float(width[self.sign == sign].sum()) for sign in (-1, 1))
        return (first / total, second / total) if total else (0.0, 0.0)

    def between(self, low: float, high: float) -> Array:
        """Signs of the runs that have more than rounding in common with a range of levels."""
        part = np.minimum(self.level[1:], high) - np.maximum(self.level[:-1], low)
        return np.asarray(self.sign[part > 1e-9 * (self.level[-1] - self.level[0])])


class Spans(NamedTuple):
    """Spans of levels without a vertex inside, and the last vertex of either line before each."""

    left: Array
    right: Array
    one: Indices
    two: Indices


def _spans(one: Line, two: Line, slack: float) -> Iterator[Spans]:
    """Merge the vertices of two lines, some at a time; leave out spans that are no wider than rounding."""
    low, high = -np.inf, np.inf
    if not one.view.open:
        low, high = max(one.level[0], two.level[0]), min(one.level[-1], two.level[-1])
    cuts = np.unique(np.concatenate([one.level[::STEP], two.level[::STEP], [np.inf]]))
    parts = (pairwise(np.searchsorted(line.level, cuts).tolist()) for line in (one, two))
    before = np.empty(0)
    for (i, i_end), (j, j_end) in zip(*parts, strict=True):
        both = np.concatenate([before, one.level[i:i_end], two.level[j:j_end]])
        order = np.argsort(both, kind="stable")  # merges sorted parts in O(n)
        level, passed = both[order], np.cumsum((order >= len(before)) & (order < len(before) + i_end - i))
        end = np.flatnonzero(np.diff(level) > slack)
        end = end[(level[end] >= low) & (level[end + 1] <= high)]
        last = i + passed[end] - 1
        spans = Spans(level[end], level[end + 1], last, i + j + end - len(before) - last - 1)
        before = level[-1:]
        if len(end):
            yield spans


def _changes(one: Line, two: Line, spans: Spans, slack: float) -> tuple[Array, Array, float]:
    """Return the levels at which a new sign begins, that of the first span included, the signs, and the last level."""
    (a0, a1), (b0, b1) = one.across(*spans[:2], spans.one), two.across(*spans[:2], spans.two)
    begin = rounded(a0, b0, slack)
    end = begin if one.view.steps else rounded(a1, b1, slack)
    first, last = np.sign(begin), np.sign(end)
    inside = np.flatnonzero(first * last < 0)
    first = np.where(first != 0, first, last)
    last = np.where(first * last < 0, last, first)
    new = np.append(0, np.flatnonzero(first[1:] != last[:-1]) + 1)
    way = begin[inside] / (begin[inside] - end[inside])
    level = np.append(spans.left[new], spans.left[inside] + way * (spans.right - spans.left)[inside])
    order = np.argsort(level, kind="stable")
    return level[order], np.append(first[new], last[inside])[order], float(spans.right[-1])


def rounded(one: Array, two: Array, slack: float) -> Array:
    """Difference of two values; 0 where only rounding separates them, or neither is finite."""
    with np.errstate(invalid="ignore"):
        difference = one - two
    difference[~(np.abs(difference) > slack)] = 0.0
    return difference


def shared(one: Line, two: Line, level: Array, slack: float) -> Array:
    """Return the smallest value that both lines have at a level, between what they have below and above it."""
    a, b = one.around(level, slack), two.around(level, slack)
    return np.maximum(np.minimum(*a), np.minimum(*b))
