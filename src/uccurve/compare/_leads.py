"""Leads: which of two lines is lower by more than a negligible difference, over wide ranges of levels, in a sentence.

Two lines are sampled in the middle of `CELLS` cells of equal width that cover the levels. A difference is relative to
the larger of the two values or, where that is larger, to the median over all levels of the smaller one: near a miss
rate of 1 all half-widths are close to 0, and what they differ by matters to nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from uccurve._arrays import Flags
from uccurve._checks import Array, Metric

from ._lines import TIE, Line, Runs, rounded

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
LEVELS: dict[Metric, str] = {"bandwidth": "half-width", "miss_rate": "miss rate"}
LESS: dict[Metric, str] = {"bandwidth": "a smaller half-width", "miss_rate": "a lower miss rate"}
MANY = 3
"""Leads that a sentence lists at most."""

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
    edges = np.linspace(found.level[0], found.level[-1], CELLS + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    difference = _relative(one.at(middle), two.at(middle), found.value_slack)
    groups = [*_groups(_leaders(difference))]
    ends = [_end(found, edges, difference, *pair) for pair in pairwise(groups)]
    levels = pairwise([float(found.level[0]), *ends, float(found.level[-1])])
    return [Lead(sign, *span) for (sign, _, _), span in zip(groups, levels, strict=True)]


def _relative(one: Array, two: Array, slack: float) -> Array:
    """Difference of two values, from -1 to 1, 0 where it is negligible; a value is infinite at a level out of reach."""
    larger, smaller = np.maximum(one, two), np.minimum(one, two)
    reached = smaller[np.isfinite(smaller)]
    usual = float(np.median(reached)) if len(reached) else 0.0
    difference = rounded(one, two, slack)
    out, finite = np.sign(difference), np.isfinite(difference) & (difference != 0)
    out[finite] = difference[finite] / np.maximum(larger[finite], usual)
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


def _end(found: Runs, edges: Array, difference: Array, one: Group, two: Group) -> float:
    """Return the level that separates two groups: a crossing where both lead, else where a sign changes nearby."""
    sign, cell, _ = two
    first, last, candidates = edges[cell - 1], edges[cell + 1], found.level
    if one[0] and sign:
        ahead = cell + np.flatnonzero(np.sign(difference[cell:]) == sign)[0]
        first, last = edges[cell - 1 : cell + 1].mean(), edges[ahead : ahead + 2].mean()
        candidates = found.level[found.crossings]
    near = candidates[(candidates >= first) & (candidates <= last)]
    return float(near[np.argmin(np.abs(near - edges[cell]))] if len(near) else edges[cell])


class Words(NamedTuple):
    """What is said of the lower model, the name of a level, and which levels are meant."""

    verb: str
    level: str
    both: str

    @classmethod
    def of(cls, one: Line, two: Line) -> Self:
        """Words for two lines, which may be compared at some of their levels only."""
        view, ends = one.view, [(line.level[0], line.level[-1]) for line in (one, two)]
        whole = view.open or np.allclose(ends[0], ends[1], rtol=TIE, atol=0)
        less = LESS.get(view.compared, f"less {view.compared}")
        verb = f"{'needs' if view.open else 'has'} {less}"
        return cls(verb, LEVELS.get(view.level, view.level), "" if whole else " that both have")

    def share(self, share: float) -> str:
        """Part of the levels, never all of them."""
        percent = f"{min(share, 0.99):.0%}"
        return (
            f"at {percent} of miss rates" if self.level == "miss rate" else f"over {percent} of the {self.level} range"
        )


def verdict(found: Runs, leads: Sequence[Lead], names: tuple[str, str], words: Words) -> str:
    """Return which model is materially lower where."""
    leading = [lead for lead in leads if lead.sign]
    if not leading:
        return f"{names[0]} and {names[1]} {_alike(found, words)}"
    return _summed_up(found, leading, names, words) if len(leading) > MANY else _listed(found, leads, names, words)


def _alike(found: Runs, words: Words) -> str:
    if found.sign.any():
        return f"are practically equal at almost every {words.level}{words.both}"
    if not words.both:
        return "have the same curve"
    return f"do not differ at any {words.level}{words.both}" if len(found.sign) else f"have no {words.level} in common"


def _summed_up(found: Runs, leading: Sequence[Lead], names: tuple[str, str], words: Words) -> str:
    """Return at how many levels one model is lower, and between which ones the order changes."""
    changes = [(one.high, two.low) for one, two in pairwise(leading) if one.sign != two.sign]
    if not changes:
        share = sum(lead.high - lead.low for lead in leading) / float(found.level[-1] - found.level[0])
        lower = names[leading[0].sign > 0]
        return f"{lower} {words.verb} {words.share(share)}; practically equal elsewhere"
    best = int(found.shares[1] > found.shares[0])
    low, high = _number(changes[0][0]), _number(changes[-1][1])
    span = f"at {low}" if low == high else f"between {low} and {high}"
    often = " more than once" if len(changes) > 1 else ""
    return f"{names[best]} {words.verb} {words.share(found.shares[best])}; the order changes{often} {span}"


def _listed(found: Runs, leads: Sequence[Lead], names: tuple[str, str], words: Words) -> str:
    """Return the levels of the model that leads at the lowest ones, then of the other, then where neither does."""
    sign = next(lead.sign for lead in leads if lead.sign)
    lower, other = names if sign < 0 else names[::-1]
    mine, theirs, equal = _ranges(leads, [sign, -sign, 0])
    every, differ = _every(found, leads, sign)
    text = f"{lower} {words.verb} at {every} {words.level}{f' {mine}' if mine else ''}{words.both}{differ}"
    text += f", {other} {theirs}" if theirs else ""
    return text + (f"; practically equal {equal}" if equal else "")


def _every(found: Runs, leads: Sequence[Lead], sign: int) -> tuple[str, str]:
    """Return whether a model is lower at all levels of its leads, and what that leaves out."""
    signs = {int(run) for lead in leads if lead.sign == sign for run in found.between(lead.low, lead.high)}
    if len(leads) == 1 and signs == {sign, 0}:
        return "every", " where the two differ"
    return "every" if signs == {sign} else "almost every", ""


def _ranges(leads: Sequence[Lead], signs: list[int]) -> list[str]:
    """Return the levels of each sign, told in this order, so that a number just said need not be repeated."""
    texts: dict[int, list[str]] = {sign: [] for sign in signs}
    order, last = sorted(range(len(leads)), key=lambda i: signs.index(leads[i].sign)), ""
    for i in order:
        low, high = _number(leads[i].low) if i else "", _number(leads[i].high) if i < len(leads) - 1 else ""
        texts[leads[i].sign].append(
            "in between" if len(leads) == 3 and i == 1 == order[-1] else _range(low, high, last)
        )
        last = high or low
    if len(texts[0]) > 1:
        texts[0] = ["elsewhere"]
    return [" and ".join(texts[sign]) for sign in signs]


def _range(low: str, high: str, last: str) -> str:
    if low and high:
        return f"from {low} to {high}"
    if low:
        return "above" if low == last else f"above {low}"
    return ("below" if high == last else f"below {high}") if high else ""


def _number(level: float) -> str:
    """Three significant digits, without an exponent below a billion."""
    return f"{float(f'{level:.3g}'):,.9g}"
