"""Lines: two curves as functions of one metric, the level, and where the sign of their difference changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from uccurve._checks import FALLING, Array, Axes, Metric, Unit
from uccurve.curve import UCC
from uccurve.profile import Indices, blocks

TIE = 1e-12
"""Share of an axis below which two positions on it are taken for equal."""


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


class Line(NamedTuple):
    """A curve as a function of the level: its vertices by rising level, and the scale or shift of each."""

    level: Array
    value: Array
    t: Array
    view: View

    @classmethod
    def of(cls, curve: UCC, view: View, unit: Unit) -> Line:
        """Read a curve along the level."""
        points = curve.points(axes=view, unit=unit)
        t: Array = getattr(points, curve.vary)
        order = slice(None, None, -1 if view.falls else 1)
        return cls(points.x[order].copy(), points.y[order].copy(), t[order], view)

    def before(self, vertex: Indices) -> Array:
        """Return the value just below the level of a vertex."""
        if self.view.level == "miss_rate":  # a level is kept by the scale that reached it until the next one above
            vertex = np.maximum(vertex - 1, 0)
        return np.asarray(self.value[vertex])

    def after(self, vertex: Indices) -> Array:
        """Return the value just above the level of a vertex."""
        if self.view.compared == "miss_rate":  # deficit falls while the miss rate keeps its value
            vertex = np.minimum(vertex + 1, len(self.value) - 1)
        return np.asarray(self.value[vertex])

    def around(self, level: Array) -> tuple[Array, Array]:
        """Return the values just below and just above each level."""
        first = np.searchsorted(self.level, level, side="left")
        last = np.searchsorted(self.level, level, side="right") - 1
        on, left, right = first <= last, np.maximum(last, 0), np.minimum(last + 1, len(self.level) - 1)
        between = self.after(left)
        below = np.where(on, self.before(np.minimum(first, len(self.level) - 1)), between)
        above = between
        if "miss_rate" not in self.view:
            start = self.level[left]
            way = np.zeros(len(level))
            np.divide(level - start, self.level[right] - start, out=way, where=~on & (right > left))
            between = between + way * (self.before(right) - between)
            below, above = np.where(on, below, between), np.where(on, above, between)
        if self.view.open:
            below[level <= self.level[0]] = np.inf
            above[level < self.level[0]] = np.inf
        return below, above

    def place(self, level: float, value: float) -> float:
        """Return the scale or shift that puts the line at a point on it."""
        i, j = np.searchsorted(self.level, level, side="left"), np.searchsorted(self.level, level, side="right")
        if self.view.level == "miss_rate":
            return float(np.interp(value, self.value[::-1], self.t[::-1]))
        if j - i > 1:
            order = np.argsort(self.value[i:j], kind="stable")
            return float(np.interp(value, self.value[i:j][order], self.t[i:j][order]))
        return float(np.interp(level, self.level, self.t))


class Runs(NamedTuple):
    """Where the sign of the difference changes: level and value there, the sign from there on; and the last place."""

    level: Array
    value: Array
    sign: Array
    last: tuple[float, float]


def runs(first: Line, second: Line) -> Runs | None:
    """Go along the level from vertex to vertex of both lines; None where no level belongs to both.

    Levels and values that only rounding tells apart become the same number, in place.
    """
    level = _settled(first.level, second.level)
    _settled(first.value, second.value)
    if not first.view.open:
        low, high = max(first.level[0], second.level[0]), min(first.level[-1], second.level[-1])
        level = level[np.searchsorted(level, low) : np.searchsorted(level, high, side="right")]
    if not len(level):
        return None
    slack = TIE * max(float(line.value.max()) for line in (first, second))
    parts = [_changes(first, second, level[part.start : part.stop + 1], slack) for part in blocks(len(level) - 1)]
    columns = (np.concatenate(column) for column in zip(*parts, strict=True)) if parts else [np.empty(0)] * 3
    last = _shared(first.around(level[-1:]), second.around(level[-1:]))
    return Runs(*_new(*columns), (float(level[-1]), float(last[0])))


def _settled(one: Array, two: Array) -> Array:
    """Give numbers that only rounding tells apart the least of them; return the different ones that are left."""
    places = np.concatenate([one, two])
    places.sort()
    slack = TIE * max(abs(places[0]), abs(places[-1]))
    kept: Array = places[np.append(True, np.diff(places) > slack)]
    for values in (one, two):
        for part in blocks(len(values)):
            values[part] = kept[np.searchsorted(kept, values[part], side="right") - 1]
    return kept


def _changes(first: Line, second: Line, level: Array, slack: float) -> tuple[Array, Array, Array]:
    """Return the first place and those at which the sign of the difference changes, values and signs from there on."""
    (a0, a1), (b0, b1) = a, b = first.around(level), second.around(level)
    with np.errstate(invalid="ignore"):  # where neither line gets there, both are infinite and do not differ
        begin, end = (_rounded(one - two, slack) for one, two in ((a1[:-1], b1[:-1]), (a0[1:], b0[1:])))
    inside = begin * end < 0
    way, crossed = np.zeros(len(begin)), np.zeros(len(begin))
    way[inside] = begin[inside] / (begin[inside] - end[inside])
    here, ahead = a1[:-1][inside], a0[1:][inside]
    crossed[inside] = here + way[inside] * (ahead - here)
    places = np.column_stack([level[:-1], level[:-1] + way * np.diff(level)])
    values = np.column_stack([_shared(a, b)[:-1], crossed])
    signs = np.sign(np.column_stack([np.where(begin != 0, begin, end), end]))
    there: npt.NDArray[np.bool_] = np.column_stack([np.ones(len(begin), bool), inside])
    return _new(places[there], values[there], signs[there])


def _new(places: Array, values: Array, signs: Array) -> tuple[Array, Array, Array]:
    """Leave out places that go on with the sign of the one before."""
    new = np.append(True, signs[1:] != signs[:-1])[: len(signs)]
    return places[new], values[new], signs[new]


def _rounded(difference: Array, slack: float) -> Array:
    return np.where(np.abs(difference) > slack, difference, 0.0)


def _shared(a: tuple[Array, Array], b: tuple[Array, Array]) -> Array:
    """Return the least value that both lines have at a level, between what they have below and above it."""
    return np.maximum(np.minimum(*a), np.minimum(*b))
