"""Leads: which of two lines is lower by more than a negligible difference, over wide ranges of levels.

Two lines are sampled in the middle of `CELLS` cells of equal width that cover the levels. A difference is relative to
the larger of the two values or, where that is larger, to the median over all levels of the smaller one: near a miss
rate of 1 all half-widths are close to 0, and what they differ by matters to nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from uccurve._arrays import Flags
from uccurve._checks import Array

from ._lines import Line, Runs, rounded

CELLS = 1000
NEGLIGIBLE = 0.01
"""Relative difference up to which two lines are practically equal at a level."""
MATERIAL = 0.002 * CELLS
"""Sum of relative differences over cells from which a lead counts: 2% at a tenth of the levels, 20% at a hundredth."""
WIDE = CELLS // 20
"""Smallest number of cells in a range of practically equal levels."""
SPIKES = 0.1
"""Sum of larger differences over `WIDE` cells that such a range tolerates."""

Signs = npt.NDArray[np.int8]
Group = tuple[int, int, int]
"""A sign, the first cell that has it, and the first cell after these."""


class Lead(NamedTuple):
    """Levels at which the first line (-1), the second (1) or neither (0) is materially lower."""

    sign: int
    low: float
    high: float


def leads(one: Line, two: Line, found: Runs) -> list[Lead]:
    """Return ranges of levels by who leads there, from the lowest to the highest level; neighbours differ."""
    if not len(found.sign):
        return []
    sample = _Sample.of(one, two, found)
    groups = [*_groups(_leaders(sample.difference))]
    ends = [_end(found, sample, *pair) for pair in pairwise(groups)]
    levels = pairwise([float(found.level[0]), *ends, float(found.level[-1])])
    return [Lead(sign, *span) for (sign, _, _), span in zip(groups, levels, strict=True)]


class _Sample(NamedTuple):
    """Cells of levels, and by how much the lines differ in the middle of each; 0 where that is negligible."""

    edges: Array
    middle: Array
    difference: Array

    @classmethod
    def of(cls, one: Line, two: Line, found: Runs) -> Self:
        edges = np.linspace(found.level[0], found.level[-1], CELLS + 1)
        middle = (edges[1:] + edges[:-1]) / 2
        difference = _relative(one.at(middle), two.at(middle), found.value_slack)
        return cls(edges, middle, np.where(np.abs(difference) > NEGLIGIBLE, difference, 0.0))


def _relative(one: Array, two: Array, slack: float) -> Array:
    """Difference of two values, from -1 to 1; a value is infinite where the line does not reach the level."""
    larger, smaller = np.maximum(one, two), np.minimum(one, two)
    reached = smaller[np.isfinite(smaller)]
    usual = float(np.median(reached)) if len(reached) else 0.0
    difference = rounded(one, two, slack)
    out, finite = np.sign(difference), np.isfinite(difference) & (difference != 0)
    out[finite] = difference[finite] / np.maximum(larger[finite], usual)
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


def _end(found: Runs, sample: _Sample, one: Group, two: Group) -> float:
    """Return the level that separates two groups: a crossing where both lead, else where a sign changes nearby."""
    sign, cell, _ = two
    edge, candidates = sample.edges[cell], found.level
    low, high = sample.edges[cell - 1], sample.edges[cell + 1]
    if one[0] and sign:
        ahead = cell + np.flatnonzero(np.sign(sample.difference[cell:]) == sign)[0]
        low, high, candidates = sample.middle[cell - 1], sample.middle[ahead], found.level[found.crossings]
    near = candidates[(candidates >= low) & (candidates <= high)]
    return float(near[np.argmin(np.abs(near - edge))] if len(near) else edge)
