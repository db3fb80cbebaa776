"""Crossings: where two curves cross, and which model is lower in between, without what is negligible.

Curves are compared along the falling axis, the level, by what it takes to reach each level: in the middle of `CELLS`
cells of equal width that cover the levels, and where the leader changes to the last bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, nextafter
from typing import Any, NamedTuple, Self

import numpy as np

from uccurve import _refusals as checks
from uccurve._vocabulary import FALLING, HEADLINE, Array, Axes, Metric, Unit, Vary
from uccurve.curve import UCC
from uccurve.evidence.models import curve_of, refuse_other_rows
from uccurve.intervals import Intervals
from uccurve.words.formats import short

CELLS = 1000
NEGLIGIBLE = 0.01  # relative difference up to which two curves are practically equal at a level
# Sum of relative differences over cells that another lead must be worth: 1% at a tenth of the levels.
CHANGE = NEGLIGIBLE * CELLS / 10
TIE = 1e-12  # share of the largest value below which two values are treated as equal
LEVELS: dict[Metric, str] = {"bandwidth": "half-width", "miss_rate": "miss rate"}
LESS: dict[Metric, str] = {"bandwidth": "a smaller half-width", "miss_rate": "a lower miss rate"}
MANY = 3  # leads that a sentence lists at most

Group = tuple[int, int, int]  # a sign, the first cell that has it, and the first cell after these


@dataclass(frozen=True, slots=True)
class Crossing:
    """A point that two curves share, and the scale (or shift) `a` and `b` that puts each model there.

    It is infinite for a model whose bands are all 0, which only the other one's curve passes.
    """

    x: float
    y: float
    a: float
    b: float


@dataclass(frozen=True, slots=True)
class Stretch:
    """Part of the axes on which one model is lower (None: neither is), from its first to its last x and y."""

    lower: str | None
    x: tuple[float, float]
    y: tuple[float, float]


@dataclass(frozen=True, slots=True, repr=False)
class Crossings:
    """Where two curves cross and which model is lower in between.

    Attributes
    ----------
    names : tuple of str
    axes : tuple of str
    vary : tuple of str
        What moves the bands of the first and of the second model.
    points : tuple of Crossing
        Where the lower model changes, in the order in which the bands widen.
    stretches : tuple of Stretch
        Who is lower where, in the same order; neither model is where the curves are practically equal.
    shares : tuple of float
        Share of the levels at which the first and the second model are lower.
    verdict : str
        The stretches in a sentence.
    """

    names: tuple[str, str]
    axes: Axes
    vary: tuple[Vary, Vary]
    points: tuple[Crossing, ...]
    stretches: tuple[Stretch, ...]
    shares: tuple[float, float]
    verdict: str

    def __len__(self) -> int:
        return len(self.points)

    @property
    def dominant(self) -> str | None:
        """The model that is lower wherever either is; None where each is somewhere, or neither."""
        lower = {stretch.lower for stretch in self.stretches} - {None}
        return lower.pop() if len(lower) == 1 else None

    def __repr__(self) -> str:
        return f"Crossings({' vs. '.join(self.names)}, {' vs. '.join(self.axes[::-1])}: {self.verdict})"


def crossings(
    a: Intervals | UCC,
    b: Intervals | UCC,
    *,
    axes: Axes = HEADLINE,
    vary: Vary | None = None,
    names: tuple[str, str] = ("a", "b"),
    unit: Unit = "raw",
) -> Crossings:
    """Operating points at which the curves of two models cross, and which model is lower in between.

    Curves are compared at each level of the falling axis: the lower one needs less of the other metric to get there.
    Steps are steps and lines are lines. Where neither axis falls they are compared at each x, and miss_rate and deficit
    at each deficit. Values that differ by less than 1e-12 of the largest are treated as equal.

    Parameters
    ----------
    a, b : Intervals or UCC
        Two models of the same rows. Curves may be over different paths, such as levels and the scale.
    axes, unit
        As in `UCC`.
    vary : {"scale", "shift"}, optional
        How the bands of Intervals move, by default by a factor; a UCC knows.
    names : tuple of str
        What the verdict calls them.

    Notes
    -----
    What is negligible is left out. Two curves are practically equal where they differ by at most 1% of the larger
    value, or of the median over all levels if that is larger. A stretch of its own must be worth the cost of its ends:
    stretches are those with the largest sum of leads (1% where neither leads), less 1% at a tenth of the levels for
    each change. Curves are compared at 1,000 levels; points and ends of stretches are then found to the last bit.

    Examples
    --------
    >>> y, p = [1.0, 2.0, 3.0, 4.0], [0.0] * 4
    >>> one = Intervals.from_bands(y, p, [1.0, 2.0, 3.0, 2.0])
    >>> found = crossings(one, one.constant(), names=("A", "B"))
    >>> found.verdict
    'A needs a smaller half-width at every miss rate from 0.25 to 0.5, B above 0.75; practically equal elsewhere'
    >>> found.points
    (Crossing(x=2.0, y=0.75, a=1.0, b=1.0),)
    """
    axes = checks.axes(axes)
    if axes[0] == axes[1]:
        raise ValueError(f"`axes` must be two different metrics to make a curve; got {axes!r}.")
    if names[0] == names[1]:
        raise ValueError(f"`names` must be two different names; both are {names[0]!r}.")
    curves = curve_of("a", a, vary), curve_of("b", b, vary)
    refuse_other_rows(*curves)
    one, two = (LevelCurve.of(curve, axes, unit) for curve in curves)
    return crossings_of_lines(one, two, axes=axes, names=names)


class LevelCurve(NamedTuple):
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
        return cls(
            np.maximum.accumulate(points.x[rising]), points.y[rising], names, t[rising], curve, unit
        )

    @property
    def open(self) -> bool:
        """Whether levels beyond the ends of a curve count: nothing reaches those below, no band at all those above."""
        return self.names[0] in FALLING and self.names[1] not in FALLING

    def at(self, level: Any) -> Any:
        """Return the value at each level, the one just above where it jumps; infinite where nothing reaches it."""
        vertex = np.searchsorted(self.level, level, side="right") - 1
        if (
            "miss_rate" in self.names
        ):  # a miss rate is kept by the t that reached it until the next lower one is
            place = vertex + (self.names[1] == "miss_rate")
            value = self.value[np.clip(place, 0, len(self.value) - 1)]
        else:
            value = np.interp(level, self.level, self.value)
        return np.where(vertex < 0, np.inf, value) if self.open else value

    def t_at(self, level: float, value: float) -> float:
        """Return the scale or shift that puts the curve at a point; infinite for none."""
        if value > self.value.max():  # past its end, where wider bands gain nothing
            target: dict[str, Any] = {self.names[1]: value}
            try:
                point = self.curve.find(**target, unit=self.unit)
            except ValueError:  # all bands are 0, and stay so
                return inf
            return point.shift if self.curve.vary == "shift" else point.scale
        widest_first = slice(None, None, 1 if self.names[0] in FALLING else -1)
        found = []
        for name, values, wanted in zip(
            self.names, (self.level, self.value), (level, value), strict=True
        ):
            if name != "miss_rate":
                sign = 1 if name in FALLING else -1
                found.append(
                    float(
                        np.interp(sign * wanted, sign * values[widest_first], self.t[widest_first])
                    )
                )
        return max(found)  # where one of the two stays the same for a while, the other one tells


class Lead(NamedTuple):
    """Levels at which the first curve (-1), the second (1) or neither (0) is materially lower."""

    sign: int
    low: float
    high: float
    every: bool = True  # whether it is the lower one in every cell of them


class Pair:
    """Two curves of the same rows at the levels that count for both."""

    def __init__(self, one: LevelCurve, two: LevelCurve) -> None:
        self.lines = one, two
        levels = (line.level[np.isfinite(line.level)] for line in self.lines)
        (first, last), (begin, end) = ((float(level[0]), float(level[-1])) for level in levels)
        self.low, self.high = (
            (min(first, begin), max(last, end)) if one.open else (max(first, begin), min(last, end))
        )
        self.both_whole = one.open or np.allclose((first, last), (begin, end), rtol=TIE, atol=0)
        edges = np.linspace(self.low, self.high, CELLS + 1)
        self._middle = edges[1:] / 2 + edges[:-1] / 2
        self._slack = TIE * max(
            float(line.value.max(initial=0, where=np.isfinite(line.value))) for line in self.lines
        )
        smaller = np.minimum(one.at(self._middle), two.at(self._middle))
        reached = smaller[np.isfinite(smaller)]
        self._usual = float(np.median(reached)) if len(reached) else 0.0
        self.difference = self._relative(self._middle, self._slack)
        signs = _leaders(self.difference)
        ends = [0, *(np.flatnonzero(np.diff(signs)) + 1).tolist(), CELLS]
        self._groups = (
            [(signs[start], start, stop) for start, stop in pairwise(ends)]
            if self.low < self.high
            else []
        )

    def leads(self) -> list[Lead]:
        """Return who leads where, by rising level."""
        ends = [self.low, *(self._end(one, two) for one, two in pairwise(self._groups)), self.high]
        return [
            Lead(sign, low, high, every=bool(np.all(np.sign(self.difference[start:stop]) == sign)))
            for (sign, start, stop), (low, high) in zip(self._groups, pairwise(ends), strict=False)
        ]

    def crossings(self) -> list[float]:
        """Return the levels from which on another curve leads, whether or not they are practically equal before."""
        leading = [group for group in self._groups if group[0]]
        return [self._end(one, two) for one, two in pairwise(leading) if one[0] != two[0]]

    def value(self, level: float) -> float:
        """Return the smallest value that both curves have at a level, between what they have just below and above."""
        return float(
            max(min(line.at(nextafter(level, -inf)), line.at(level)) for line in self.lines)
        )

    def _end(self, one: Group, two: Group) -> float:
        """Return where a group ends: at a crossing where both curves lead, else where a difference is negligible."""
        leader, begins = two[0] or one[0], two[0] != 0
        least, slack = (0.0, 0.0) if one[0] and two[0] else (NEGLIGIBLE, self._slack)
        first = two[1] + int(
            np.argmax((leader * self.difference[two[1] : two[2]] > least) == begins)
        )
        low, high = float(self._middle[one[2] - 1]), float(self._middle[first])
        while low < (middle := low / 2 + high / 2) < high:
            leads = leader * self._relative(np.array([middle]), slack)[0] > least
            low, high = (low, middle) if leads == begins else (middle, high)
        return high

    def _relative(self, level: Array, slack: float) -> Array:
        """Difference of the two values, 0 up to a slack, relative to the larger of them and of the usual one.

        Near a miss rate of 1 all half-widths are close to 0, and what they differ by matters to nobody.
        """
        one, two = (line.at(level) for line in self.lines)
        with np.errstate(divide="ignore", invalid="ignore"):
            difference = np.where(
                np.abs(one - two) > slack, one - two, 0.0
            )  # 0 also where neither is finite
            relative = difference / np.maximum(np.maximum(one, two), self._usual)
        return np.where(np.isfinite(relative), relative, np.sign(difference))


def _leaders(difference: Array) -> list[int]:
    """Return who leads in each cell: what has the largest sum of leads, if each change of the leader costs `CHANGE`.

    That neither does counts as a lead by `NEGLIGIBLE`.
    """
    best, before = [0.0, 0.0, 0.0], []
    for lead in difference.tolist():
        most = max(best)
        before.append(
            [i if value >= most - CHANGE else best.index(most) for i, value in enumerate(best)]
        )
        best = [
            max(value, most - CHANGE) + gain
            for value, gain in zip(best, (-lead, NEGLIGIBLE, lead), strict=True)
        ]
    state = best.index(max(best))
    signs = [state - 1]
    for came_from in before[:0:-1]:
        state = came_from[state]
        signs.append(state - 1)
    return signs[::-1]


def crossings_of_lines(
    one: LevelCurve, two: LevelCurve, *, axes: Axes, names: tuple[str, str]
) -> Crossings:
    """Crossings of two curves of the same rows whose vertices are in order already."""
    pair = Pair(one, two)
    leads, order = (
        pair.leads(),
        slice(None, None, -1 if one.names[0] in FALLING else 1),
    )  # as the bands widen

    def xy(level: float) -> tuple[float, float]:
        place = level, pair.value(level)
        return place if one.names[0] == axes[0] else place[::-1]

    def crossing(level: float) -> Crossing:
        return Crossing(*xy(level), *(line.t_at(level, pair.value(level)) for line in pair.lines))

    def stretch(lead: Lead) -> Stretch:
        x, y = zip(*[xy(lead.low), xy(lead.high)][order], strict=True)
        return Stretch((names[0], None, names[1])[lead.sign + 1], x, y)

    return Crossings(
        names=names,
        axes=axes,
        vary=(one.curve.vary, two.curve.vary),
        points=tuple(map(crossing, pair.crossings()[order])),
        stretches=tuple(map(stretch, leads[order])),
        shares=(_share(leads, -1), _share(leads, 1)),
        verdict=_verdict(pair, leads, (short(names[0]), short(names[1]))),
    )


def _share(leads: Sequence[Lead], sign: int) -> float:
    """Part of the levels at which one of the curves leads."""
    total = leads[-1].high - leads[0].low if leads else 1.0
    return sum(lead.high - lead.low for lead in leads if lead.sign == sign) / total


def _verdict(pair: Pair, leads: Sequence[Lead], names: tuple[str, str]) -> str:
    """Return which model is materially lower where, in a sentence."""
    line, leading = pair.lines[0], [lead for lead in leads if lead.sign]
    level, compared = LEVELS.get(line.names[0], line.names[0]), line.names[1]
    verb = f"{'needs' if line.open else 'has'} {LESS.get(compared, f'less {compared}')}"
    both = "" if pair.both_whole else " that both have"
    if not (leads and pair.difference.any()):
        differ = f"do not differ at any {level}{both}" if leads else f"have no {level} in common"
        return f"{names[0]} and {names[1]} {differ if both else 'have the same curve'}"
    if not leading:
        return f"{names[0]} and {names[1]} are practically equal at almost every {level}{both}"
    if len(leading) > MANY:
        shares = _share(leads, -1), _share(leads, 1)
        first = 1 if shares[1] > shares[0] else -1
        mine, theirs = (
            f" over {shares[sign > 0]:.1%}" if shares[sign > 0] else "" for sign in (first, -first)
        )
        where = f"{mine} of the {level} range"
    else:
        first = leading[0].sign
        mine, theirs = _ranges(leads, first), _ranges(leads, -first)
        every = (
            "every" if all(lead.every for lead in leading if lead.sign == first) else "almost every"
        )
        where = f" at {every} {level}{mine}"
    text = (
        f"{names[first > 0]} {verb}{where}{both}{f', {names[first < 0]}{theirs}' if theirs else ''}"
    )
    return text if len(leading) == len(leads) else f"{text}; practically equal elsewhere"


def _ranges(leads: Sequence[Lead], sign: int) -> str:
    """Return the levels at which one model leads; nothing where it does at all of them."""
    texts = []
    for lead in leads if len(leads) > 1 else ():
        low, high = (
            f"{float(f'{level:.3g}'):,.9g}" for level in (lead.low, lead.high)
        )  # no exponent below a billion
        if lead.sign == sign:
            inner = f"above {low}" if lead is leads[-1] else f"from {low} to {high}"
            texts.append(f"below {high}" if lead is leads[0] else inner)
    return f" {' and '.join(texts)}" if texts else ""
