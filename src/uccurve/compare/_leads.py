"""Leads: two curves as functions of one metric, the level, and which is lower by more than a negligible difference.

Curves are compared at the falling axis, against what it takes to reach each level. They are sampled in the middle of
`CELLS` cells of equal width that cover the levels; where the leader changes is then found to the last bit. A difference
is relative to the larger of the two values or, where that is larger, to the median over all levels of the smaller one:
near a miss rate of 1 all half-widths are close to 0, and what they differ by matters to nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from uccurve._arrays import Flags
from uccurve._checks import FALLING, Array, Axes, Metric, Unit
from uccurve.curve import UCC

CELLS = 1000
NEGLIGIBLE = 0.01
"""Relative difference up to which two curves are practically equal at a level."""
MATERIAL = 0.002 * CELLS
"""Sum of relative differences over cells from which a lead counts: 2% at a tenth of the levels, 20% at a hundredth."""
WIDE = CELLS // 20
"""Smallest number of cells in a range of practically equal levels."""
SPIKES = 0.1
"""Sum of larger differences over `WIDE` cells that such a range tolerates."""
TIE = 1e-12
"""Share of the largest value below which two values are treated as equal."""

Signs = npt.NDArray[np.int8]
Group = tuple[int, int, int]
"""A sign, the first cell that has it, and the first cell after these."""


class Line(NamedTuple):
    """A curve as a function of the level: its vertices by rising level, the metrics of level and value, and t."""

    level: Array
    value: Array
    names: tuple[Metric, Metric]
    t: Array
    curve: UCC
    unit: Unit = "raw"

    @classmethod
    def of(cls, curve: UCC, axes: Axes, unit: Unit) -> Self:
        """Read a curve along its falling axis, the deficit where both fall, or x where none does."""
        falling = [name for name in axes if name in FALLING]
        level = falling[0] if len(falling) == 1 else "deficit" if falling else axes[0]
        names = level, axes[1] if level == axes[0] else axes[0]
        points = curve.points(axes=names, unit=unit)
        t: Array = getattr(points, "scale" if points.shift is None else "shift")
        rising = slice(None, None, -1 if falling else 1)
        return cls(np.maximum.accumulate(points.x[rising]), points.y[rising], names, t[rising], curve, unit)

    @property
    def open(self) -> bool:
        """Whether levels beyond the ends of a curve count: nothing reaches those below, no band at all those above."""
        return self.names[0] in FALLING and self.names[1] not in FALLING

    def at(self, level: Any) -> Any:
        """Return the value at each level, the one just above where it jumps; infinite where nothing reaches it."""
        vertex = np.searchsorted(self.level, level, side="right") - 1
        if "miss_rate" in self.names:  # a miss rate is kept by the t that reached it until the next lower one is
            place = vertex + (self.names[1] == "miss_rate")
            value = self.value[np.clip(place, 0, len(self.value) - 1)]
        else:
            value = np.interp(level, self.level, self.value)
        return np.where(vertex < 0, np.inf, value) if self.open else value

    def t_at(self, level: float, value: float) -> float:
        """Return the scale or shift that puts the curve at a point, which may lie past its end; infinite for none."""
        if value > self.value.max():
            return self._t_beyond(value)
        lines = [
            self._smallest_t(name, values, target)
            for name, values, target in zip(self.names, (self.level, self.value), (level, value), strict=True)
            if name != "miss_rate"
        ]
        return max(lines)  # where one of the two stays the same for a while, the other one tells

    def _smallest_t(self, name: Metric, values: Array, target: float) -> float:
        """Return the smallest t at which a metric that rises or falls with it has a value."""
        sign = 1 if name in FALLING else -1
        widest_first = slice(None, None, 1 if self.names[0] in FALLING else -1)
        return float(np.interp(sign * target, sign * values[widest_first], self.t[widest_first]))

    def _t_beyond(self, value: float) -> float:
        """Return the t that has a value past the end of the curve, where wider bands gain nothing."""
        target: dict[str, Any] = {self.names[1]: value}
        try:
            point = self.curve.find(**target, unit=self.unit)
        except ValueError:  # all bands are 0, and stay so
            return np.inf
        return point.shift if self.curve.vary == "shift" else point.scale


class Flip(NamedTuple):
    """Neighbouring levels between which something changes."""

    below: float
    above: float

    def value(self, one: Line, two: Line) -> float:
        """Return the smallest value that both curves have there, between what they have below and above."""
        return float(max(min(line.at(self.below), line.at(self.above)) for line in (one, two)))


class Lead(NamedTuple):
    """Levels at which the first curve (-1), the second (1) or neither (0) is materially lower."""

    sign: int
    low: Flip
    high: Flip
    every: bool = True
    """Whether it is the lower one in every cell of them."""


class Sampled:
    """Two curves at the levels that count for both, and who leads where."""

    def __init__(self, one: Line, two: Line) -> None:
        self.one, self.two = one, two
        levels = (line.level[np.isfinite(line.level)] for line in (one, two))
        (first, last), (begin, end) = ((float(level[0]), float(level[-1])) for level in levels)
        self.low, self.high = (min(first, begin), max(last, end)) if one.open else (max(first, begin), min(last, end))
        self.both_whole = one.open or np.allclose((first, last), (begin, end), rtol=TIE, atol=0)
        edges = np.linspace(self.low, self.high, CELLS + 1)
        self._middle = edges[1:] / 2 + edges[:-1] / 2
        self._slack = TIE * max(float(line.value.max(initial=0, where=np.isfinite(line.value))) for line in (one, two))
        smaller = np.minimum(one.at(self._middle), two.at(self._middle))
        reached = smaller[np.isfinite(smaller)]
        self._usual = float(np.median(reached)) if len(reached) else 0.0
        self.signs = np.sign(self._differences(self._middle, self._slack)[0])
        self._groups = [*_groups(_leaders(self._relative(self._middle)))] if self.low < self.high else []

    def leads(self) -> list[Lead]:
        """Return ranges of levels by who leads there, from the lowest to the highest level; neighbours differ."""
        ends = [Flip(self.low, self.low), *map(self._end, self._groups, self._groups[1:]), Flip(self.high, self.high)]
        return [
            Lead(sign, low, high, every=bool(np.all(self.signs[self._inside(low, high)] == sign)))
            for (sign, _, _), (low, high) in zip(self._groups, pairwise(ends), strict=False)
        ]

    def crossings(self) -> Iterator[Flip]:
        """Return where the leader changes, whether or not curves are practically equal in between."""
        leading = [group for group in self._groups if group[0]]
        return (self._end(one, two) for one, two in pairwise(leading) if one[0] != two[0])

    def _inside(self, low: Flip, high: Flip) -> Flags:
        """Return the cells whose middle lies between two ends."""
        return np.asarray((self._middle > low.above) & (self._middle < high.below))

    def _end(self, one: Group, two: Group) -> Flip:
        """Return where one group ends: at a crossing where both lead, else where a difference becomes negligible."""
        (sign, start, stop), (other, begin, end) = one, two
        if not (sign and other):
            return self._flip(self._material_sign, stop - 1, begin)
        last = start + np.flatnonzero(self.signs[start:stop] == sign)[-1]
        return self._flip(self._sign, last, begin + np.flatnonzero(self.signs[begin:end] == other)[0])

    def _flip(self, state: Callable[[Array], Array], first: int, last: int) -> Flip:
        """Return where between the middles of two cells the state of the second begins."""
        low, high = self._middle[first], self._middle[last]
        goal = state(self._middle[last : last + 1])
        for _ in range(7):
            levels = np.linspace(low, high, CELLS + 1)
            place = max(int(np.argmax(state(levels) == goal)), 1)
            low, high = levels[place - 1], levels[place]
        return Flip(float(low), float(high))

    def _differences(self, level: Array, slack: float = 0.0) -> tuple[Array, Array]:
        """Difference of the two values, 0 up to a slack or where neither is finite, and the larger one."""
        one, two = self.one.at(level), self.two.at(level)
        with np.errstate(invalid="ignore"):
            difference = one - two
        difference[~(np.abs(difference) > slack)] = 0.0
        return difference, np.maximum(one, two)

    def _sign(self, level: Array) -> Array:
        return np.sign(self._differences(level)[0])

    def _material_sign(self, level: Array) -> Array:
        return np.sign(self._relative(level))

    def _relative(self, level: Array) -> Array:
        """Relative difference from -1 to 1, 0 where it is negligible."""
        difference, larger = self._differences(level, self._slack)
        out, finite = np.sign(difference), np.isfinite(difference) & (difference != 0)
        out[finite] = difference[finite] / np.maximum(larger[finite], self._usual)
        out[np.abs(out) <= NEGLIGIBLE] = 0.0
        return out


def _leaders(difference: Array) -> Signs:
    """Sign of the material lead in each cell."""
    equal = _equal(difference)
    rest = np.where(equal, 0.0, difference)
    signs = np.zeros(CELLS, np.int8)
    for sign, start, stop in _turns(rest):
        signs[start:stop] = sign
    signs[equal] = 0
    for sign, start, stop in _groups(signs):  # what equal levels cut off from a lead may be small
        if np.maximum(sign * rest[start:stop], 0).sum() < MATERIAL:
            signs[start:stop] = 0
    return signs


def _equal(difference: Array) -> Flags:
    """Return the cells of wide ranges without differences, apart from a few spikes inside them."""
    total = np.append(0.0, np.cumsum(np.abs(difference)))
    equal = np.zeros(CELLS, np.bool_)
    for first in np.flatnonzero(total[WIDE:] - total[:-WIDE] <= SPIKES).tolist():
        equal[first : first + WIDE] = True
    for sign, start, stop in _groups(equal.astype(np.int8)):
        inner = start + np.flatnonzero(difference[start:stop] == 0)
        if sign:
            equal[start : inner[0]] = equal[inner[-1] + 1 : stop] = False
    return equal


def _turns(difference: Array) -> Iterator[Group]:
    """Ranges between the turning points of the running sum of differences: all cells, or none.

    A lead lasts until the running sum turns back by `MATERIAL`, so that every change of the leader is worth knowing.
    """
    total = np.append(0.0, np.cumsum(difference)).tolist()
    sign = start = low = high = 0
    for i, value in enumerate(total):
        low, high = (i if value < total[low] else low), (i if value > total[high] else high)
        if sign <= 0 and value - total[low] >= MATERIAL:
            turn, new, high = low, 1, i
        elif sign >= 0 and total[high] - value >= MATERIAL:
            turn, new, low = high, -1, i
        else:
            continue
        if sign:
            yield sign, start, turn
            start = turn
        sign = new
    if sign:
        yield sign, start, CELLS


def _groups(signs: Signs) -> Iterator[Group]:
    """Neighbouring cells of the same sign."""
    ends = [0, *(np.flatnonzero(np.diff(signs)) + 1).tolist(), len(signs)]
    return ((int(signs[start]), start, stop) for start, stop in pairwise(ends))
