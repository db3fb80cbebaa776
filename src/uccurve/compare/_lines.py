"""Lines: two curves as functions of one metric, the level, and where the sign of their difference changes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from uccurve._arrays import Indices
from uccurve._checks import FALLING, Array, Axes, Metric, Unit
from uccurve.curve import UCC

TIE = 1e-12
"""Share of an axis below which two positions on it are treated as equal."""
STEP = 1 << 15
"""Vertices of each line that are merged at a time."""


class View(NamedTuple):
    """Which metric is the level at which two curves are compared, and which one is compared there."""

    level: Metric
    compared: Metric
    level_is_x: bool = True

    @classmethod
    def of(cls, axes: Axes) -> View:
        """Return the falling axis as the level, against what reaching it takes; x where none falls."""
        falling = [name for name in axes if name in FALLING]
        level = falling[0] if len(falling) == 1 else "deficit" if len(falling) == 2 else axes[0]
        return cls(level, axes[1], True) if level == axes[0] else cls(level, axes[0], False)

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
        return "miss_rate" in (self.level, self.compared)

    @property
    def order(self) -> slice:
        """From the order of rising levels to that in which the bands widen, and back."""
        return slice(None, None, -1 if self.falls else 1)

    def on_axes(self, level: Array, value: Array) -> tuple[list[float], list[float]]:
        """Return x and y of points, in the order in which the bands widen."""
        x, y = (level, value) if self.level_is_x else (value, level)
        return x[self.order].tolist(), y[self.order].tolist()


class Line(NamedTuple):
    """A curve as a function of the level: its vertices by rising level, and the scale or shift of each."""

    level: Array
    value: Array
    t: Array
    view: View
    curve: UCC
    unit: Unit = "raw"

    @classmethod
    def of(cls, curve: UCC, view: View, unit: Unit) -> Self:
        """Read a curve along the level."""
        points = curve.points(axes=(view.level, view.compared), unit=unit)
        t: Array = getattr(points, "scale" if points.shift is None else "shift")
        level = np.maximum.accumulate(points.x[view.order])  # rounding must not break the order
        return cls(level, points.y[view.order], t[view.order], view, curve, unit)

    def at(self, level: Array) -> Array:
        """Return the value just above each level."""
        return self.across(level, level)[0]

    def around(self, level: Array, slack: float) -> tuple[Array, Array]:
        """Return the values just below and just above each level, give or take the slack."""
        below = self.across(level, level, np.searchsorted(self.level, level - slack) - 1)[1]
        return below, self.across(level, level, np.searchsorted(self.level, level + slack, side="right") - 1)[0]

    def across(self, left: Array, right: Array, vertex: Indices | None = None) -> tuple[Array, Array]:
        """Return the values where spans without a vertex inside begin and end.

        `vertex` is the last one before each span, -1 for none; by default, the last one up to where it begins.
        """
        vertex = np.searchsorted(self.level, left, side="right") - 1 if vertex is None else vertex
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

    def place(self, level: float, value: float, slack: float) -> float:
        """Return the scale or shift that puts the curve at a point, which may lie past the end of the line."""
        if value > max(self.value[0], self.value[-1]):
            return self._beyond(value)
        first = int(np.searchsorted(self.level, level - slack))
        last = int(np.searchsorted(self.level, level + slack, side="right"))
        if self.view.level == "miss_rate":
            return self._t_by_value(slice(max(first - 1, 0), last), value)
        if last - first > 1:
            return self._t_by_value(slice(first, last), value)
        nearby = slice(max(first - 1, 0), last + 1)
        return float(np.interp(level, self.level[nearby], self.t[nearby]))

    def _t_by_value(self, vertices: slice, value: float) -> float:
        """Return where neighbouring vertices have a value, which rises or falls with t up to rounding."""
        order, sign = self.view.order, -1 if self.view.compared in FALLING else 1
        values = np.maximum.accumulate(sign * self.value[vertices][order])
        return float(np.interp(sign * value, values, self.t[vertices][order]))

    def _beyond(self, value: float) -> float:
        """Return the scale or shift that has a value past the end of the curve, where wider bands gain nothing."""
        target: dict[str, Any] = {self.view.compared: value}
        try:
            point = self.curve.find(**target, unit=self.unit)
        except ValueError:  # all bands are 0, and stay so
            return np.inf
        return point.shift if self.curve.vary == "shift" else point.scale


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
        levels, signs, end = [np.empty(0)], [np.empty(0)], np.empty(0)
        for left, right in _spans(one, two, slack):
            level, sign = _signs(one, two, left, right, value_slack)
            levels.append(level)
            signs.append(sign)
            end = right[-1:]
        level, sign = _merged(np.concatenate(levels), np.concatenate(signs))
        level = np.append(level, end)
        return cls(level, shared(one, two, level, slack), sign, slack, value_slack)

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
        total = float(width.sum()) or 1.0
        return float(width[self.sign < 0].sum()) / total, float(width[self.sign > 0].sum()) / total

    def between(self, low: float, high: float) -> Array:
        """Signs of the runs that have more than rounding in common with a range of levels."""
        part = np.minimum(self.level[1:], high) - np.maximum(self.level[:-1], low)
        return np.asarray(self.sign[part > 1e-9 * (self.level[-1] - self.level[0])])


def _spans(one: Line, two: Line, slack: float) -> Iterator[tuple[Array, Array]]:
    """Levels between which neither line has a vertex, some at a time, without spans that are no wider than rounding."""
    both, low, high = (one.level, two.level), -np.inf, np.inf
    if not one.view.open:
        low, high = max(level[0] for level in both), min(level[-1] for level in both)
    cuts = np.unique(np.concatenate([*(level[::STEP] for level in both), *(level[-1:] for level in both)]))
    for cut in pairwise(cuts):
        parts = (level[slice(*np.searchsorted(level, cut))] for level in both)
        grid = np.unique(np.concatenate([cut, *parts]))
        grid = grid[(grid >= low) & (grid <= high)]
        wide = np.flatnonzero(np.diff(grid) > slack)
        if len(wide):
            yield grid[wide], grid[wide + 1]


def _signs(one: Line, two: Line, left: Array, right: Array, slack: float) -> tuple[Array, Array]:
    """Levels from which on the difference of two lines has a new sign, and the signs."""
    (a0, a1), (b0, b1) = one.across(left, right), two.across(left, right)
    begin, end = rounded(a0, b0, slack), rounded(a1, b1, slack)
    first, last = np.sign(begin), np.sign(end)
    inside = first * last < 0
    way = begin[inside] / (begin[inside] - end[inside])
    level = np.append(left, left[inside] + way * (right - left)[inside])
    order = np.argsort(level, kind="stable")
    return _merged(level[order], np.append(np.where(first == 0, last, first), last[inside])[order])


def _merged(level: Array, sign: Array) -> tuple[Array, Array]:
    """Join neighbouring runs of the same sign."""
    new = np.append(True, sign[1:] != sign[:-1])[: len(sign)]
    return level[new], sign[new]


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
