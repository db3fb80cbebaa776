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
SAME = "have the same curve"


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
    >>> bands = Intervals.from_bands(y, p, [1.0, 2.0, 3.0, 2.0])
    >>> lines = crossings(bands, bands.constant(), names=("A", "B"))
    >>> lines.verdict
    'A needs a smaller half-width at every miss rate from 0.25 to 0.5, B above 0.75; practically equal elsewhere'
    >>> lines.points
    (Crossing(x=2.0, y=0.75, a=1.0, b=1.0),)
    """
    axes = checks.axes(axes)
    if axes[0] == axes[1]:
        raise ValueError(f"`axes` must be two different metrics to make a curve; got {axes!r}.")
    if names[0] == names[1]:
        raise ValueError(f"`names` must be two different names; both are {names[0]!r}.")
    first = curve_of("a", a, vary)
    second = curve_of("b", b, vary)
    refuse_other_rows(first, second)
    return crossings_of_lines(
        LevelCurve.of(first, axes, unit), LevelCurve.of(second, axes, unit), axes=axes, names=names
    )


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
        level = _level_axis(axes)
        names = level, axes[1] if level == axes[0] else axes[0]
        points = curve.points(axes=names, unit=unit)
        t: Array = getattr(points, "scale" if points.shift is None else "shift")
        rising = slice(None, None, -1 if level in FALLING else 1)
        levels = np.maximum.accumulate(points.x[rising])
        return cls(levels, points.y[rising], names, t[rising], curve, unit)

    @property
    def open(self) -> bool:
        """Whether levels beyond the ends of a curve count: nothing reaches those below, no band at all those above."""
        return self.names[0] in FALLING and self.names[1] not in FALLING

    def at(self, level: Any) -> Any:
        """Return the value at each level, the one just above where it jumps; infinite where nothing reaches it."""
        vertex = np.searchsorted(self.level, level, side="right") - 1
        if "miss_rate" in self.names:
            # a miss rate is kept by the t that reached it until the next lower one is
            place = vertex + (self.names[1] == "miss_rate")
            value = self.value[np.clip(place, 0, len(self.value) - 1)]
        else:
            value = np.interp(level, self.level, self.value)
        return np.where(vertex < 0, np.inf, value) if self.open else value

    def t_at(self, level: float, value: float) -> float:
        """Return the scale or shift that puts the curve at a point; infinite for none."""
        if value > self.value.max():  # past its end, where wider bands gain nothing
            return self._t_beyond(value)
        # where one of the two stays the same for a while, the other one tells
        on_level = self._t_reaching(self.names[0], self.level, level)
        on_value = self._t_reaching(self.names[1], self.value, value)
        return max(on_level, on_value)

    def _t_reaching(self, metric: Metric, values: Array, wanted: float) -> float:
        """Return the t at which a metric has a value, the widest bands first; none for a miss rate, which jumps."""
        if metric == "miss_rate":
            return -inf
        widest_first = slice(None, None, 1 if self.names[0] in FALLING else -1)
        sign = 1 if metric in FALLING else -1
        t = np.interp(sign * wanted, sign * values[widest_first], self.t[widest_first])
        return float(t)

    def _t_beyond(self, value: float) -> float:
        """Return the t of a value that no vertex has; infinite where all bands are 0, and stay so."""
        target: dict[str, Any] = {self.names[1]: value}
        try:
            point = self.curve.find(**target, unit=self.unit)
        except ValueError:
            return inf
        return point.shift if self.curve.vary == "shift" else point.scale


def _level_axis(axes: Axes) -> Metric:
    """Return the falling axis, the deficit where both fall, or x where none does."""
    if axes[0] in FALLING and axes[1] in FALLING:
        return "deficit"
    return axes[1] if axes[1] in FALLING else axes[0]


class Lead(NamedTuple):
    """Levels at which the first curve (-1), the second (1) or neither (0) is materially lower."""

    sign: int
    low: float
    high: float
    every: bool = True  # whether it is the lower one in every cell of them


class Group(NamedTuple):
    """Cells in a row that have the same leader: its sign, the first cell, and the first one after them."""

    sign: int
    start: int
    stop: int


class Pair:
    """Two curves of the same rows at the levels that count for both."""

    def __init__(self, first: LevelCurve, second: LevelCurve) -> None:
        self.lines = first, second
        ends = [_ends(line) for line in self.lines]
        lows = [low for low, _ in ends]
        highs = [high for _, high in ends]
        self.low = min(lows) if first.open else max(lows)
        self.high = max(highs) if first.open else min(highs)
        self.both_whole = first.open or np.allclose(ends[0], ends[1], rtol=TIE, atol=0)
        edges = np.linspace(self.low, self.high, CELLS + 1)
        self._middle = edges[1:] / 2 + edges[:-1] / 2
        self._slack = TIE * max(_largest(line) for line in self.lines)
        smaller = np.minimum(first.at(self._middle), second.at(self._middle))
        reached = smaller[np.isfinite(smaller)]
        self._usual = float(np.median(reached)) if len(reached) else 0.0
        self.difference = self._relative(self._middle, self._slack)
        self._groups = _groups(_leaders(self.difference)) if self.low < self.high else []

    def leads(self) -> list[Lead]:
        """Return who leads where, by rising level."""
        between = [self._end(*pair) for pair in pairwise(self._groups)]
        ends = pairwise([self.low, *between, self.high])
        leads = []
        for group, (low, high) in zip(self._groups, ends, strict=False):
            signs = np.sign(self.difference[group.start : group.stop])
            leads.append(Lead(group.sign, low, high, every=bool(np.all(signs == group.sign))))
        return leads

    def crossings(self) -> list[float]:
        """Return the levels from which on another curve leads, whether or not they are practically equal before."""
        leading = [group for group in self._groups if group.sign]
        return [
            self._end(group, after)
            for group, after in pairwise(leading)
            if group.sign != after.sign
        ]

    def value(self, level: float) -> float:
        """Return the smallest value that both curves have at a level, between what they have just below and above."""
        below = nextafter(level, -inf)
        smallest = [min(line.at(below), line.at(level)) for line in self.lines]
        return float(max(smallest))

    def _end(self, group: Group, after: Group) -> float:
        """Return where a group ends: at a crossing where both curves lead, else where a difference is negligible."""
        leader = after.sign or group.sign
        begins = after.sign != 0
        crosses = bool(group.sign and after.sign)
        least = 0.0 if crosses else NEGLIGIBLE
        slack = 0.0 if crosses else self._slack
        material = leader * self.difference[after.start : after.stop] > least
        first = after.start + int(np.argmax(material == begins))
        low = float(self._middle[group.stop - 1])
        high = float(self._middle[first])
        while low < (middle := low / 2 + high / 2) < high:
            leads = leader * self._relative(np.array([middle]), slack)[0] > least
            if leads == begins:
                high = middle
            else:
                low = middle
        return high

    def _relative(self, level: Array, slack: float) -> Array:
        """Difference of the two values, 0 up to a slack, relative to the larger of them and of the usual one.

        Near a miss rate of 1 all half-widths are close to 0, and what they differ by matters to nobody.
        """
        first = self.lines[0].at(level)
        second = self.lines[1].at(level)
        with np.errstate(divide="ignore", invalid="ignore"):
            # 0 also where neither is finite
            difference = np.where(np.abs(first - second) > slack, first - second, 0.0)
            relative = difference / np.maximum(np.maximum(first, second), self._usual)
        return np.where(np.isfinite(relative), relative, np.sign(difference))


def _ends(line: LevelCurve) -> tuple[float, float]:
    """Return the first and the last finite level of a curve."""
    finite = line.level[np.isfinite(line.level)]
    return float(finite[0]), float(finite[-1])


def _largest(line: LevelCurve) -> float:
    """Return the largest finite value of a curve."""
    return float(line.value.max(initial=0, where=np.isfinite(line.value)))


def _groups(signs: Sequence[int]) -> list[Group]:
    """Return cells in a row that have the same sign."""
    changes = (np.flatnonzero(np.diff(signs)) + 1).tolist()
    ends = pairwise([0, *changes, len(signs)])
    return [Group(signs[start], start, stop) for start, stop in ends]


def _leaders(difference: Array) -> list[int]:
    """Return who leads in each cell: what has the largest sum of leads, if each change of the leader costs `CHANGE`.

    That neither does counts as a lead by `NEGLIGIBLE`.
    """
    best = [0.0, 0.0, 0.0]
    came_from: list[list[int]] = []
    for lead in difference.tolist():
        most = max(best)
        top = best.index(most)
        stays = [value >= most - CHANGE for value in best]
        came_from.append([state if stays[state] else top for state in range(3)])
        gains = (-lead, NEGLIGIBLE, lead)
        best = [max(best[state], most - CHANGE) + gains[state] for state in range(3)]
    state = best.index(max(best))
    signs = [state - 1]
    for earlier in came_from[:0:-1]:
        state = earlier[state]
        signs.append(state - 1)
    return signs[::-1]


def crossings_of_lines(
    first: LevelCurve, second: LevelCurve, *, axes: Axes, names: tuple[str, str]
) -> Crossings:
    """Crossings of two curves of the same rows whose vertices are in order already."""
    pair = Pair(first, second)
    leads = pair.leads()
    as_bands_widen = slice(None, None, -1 if first.names[0] in FALLING else 1)

    def xy(level: float) -> tuple[float, float]:
        value = pair.value(level)
        return (level, value) if first.names[0] == axes[0] else (value, level)

    def crossing(level: float) -> Crossing:
        value = pair.value(level)
        return Crossing(*xy(level), first.t_at(level, value), second.t_at(level, value))

    def stretch(lead: Lead) -> Stretch:
        begin, end = [xy(lead.low), xy(lead.high)][as_bands_widen]
        lower = (names[0], None, names[1])[lead.sign + 1]
        return Stretch(lower, (begin[0], end[0]), (begin[1], end[1]))

    return Crossings(
        names=names,
        axes=axes,
        vary=(first.curve.vary, second.curve.vary),
        points=tuple(map(crossing, pair.crossings()[as_bands_widen])),
        stretches=tuple(map(stretch, leads[as_bands_widen])),
        shares=(_share(leads, -1), _share(leads, 1)),
        verdict=_verdict(pair, leads, (short(names[0]), short(names[1]))),
    )


def _share(leads: Sequence[Lead], sign: int) -> float:
    """Part of the levels at which one of the curves leads."""
    total = leads[-1].high - leads[0].low if leads else 1.0
    return sum(lead.high - lead.low for lead in leads if lead.sign == sign) / total


def _verdict(pair: Pair, leads: Sequence[Lead], names: tuple[str, str]) -> str:
    """Return which model is materially lower where, in a sentence."""
    line = pair.lines[0]
    level = LEVELS.get(line.names[0], line.names[0])
    both = "" if pair.both_whole else " that both have"
    if not leads:
        return f"{names[0]} and {names[1]} {f'have no {level} in common' if both else SAME}"
    if not pair.difference.any():
        return (
            f"{names[0]} and {names[1]} {f'do not differ at any {level}{both}' if both else SAME}"
        )
    leading = [lead for lead in leads if lead.sign]
    if not leading:
        return f"{names[0]} and {names[1]} are practically equal at almost every {level}{both}"
    less = LESS.get(line.names[1], f"less {line.names[1]}")
    verb = f"{'needs' if line.open else 'has'} {less}"
    claim = _claim(leads, leading, level)
    text = f"{names[claim.sign > 0]} {verb}{claim.where}{both}"
    if claim.theirs:
        text += f", {names[claim.sign < 0]}{claim.theirs}"
    return text if len(leading) == len(leads) else f"{text}; practically equal elsewhere"


class Claim(NamedTuple):
    """Who is told first (-1 for the first curve), where it leads, and where the other one does."""

    sign: int
    where: str
    theirs: str


def _claim(leads: Sequence[Lead], leading: Sequence[Lead], level: str) -> Claim:
    """Return where the two curves lead: in ranges, or of many ranges only what they add up to."""
    if len(leading) > MANY:
        sign = 1 if _share(leads, 1) > _share(leads, -1) else -1
        mine = _share_in_words(leads, sign)
        return Claim(sign, f"{mine} of the {level} range", _share_in_words(leads, -sign))
    sign = leading[0].sign
    mine = _ranges(leads, sign)
    everywhere = all(lead.every for lead in leading if lead.sign == sign)
    every = "every" if everywhere else "almost every"
    return Claim(sign, f" at {every} {level}{mine}", _ranges(leads, -sign))


def _share_in_words(leads: Sequence[Lead], sign: int) -> str:
    part = _share(leads, sign)
    return f" over {part:.1%}" if part else ""


def _ranges(leads: Sequence[Lead], sign: int) -> str:
    """Return the levels at which one model leads; nothing where it does at all of them."""
    if len(leads) == 1:
        return ""
    texts = []
    for lead in leads:
        if lead.sign != sign:
            continue
        if lead is leads[0]:
            texts.append(f"below {_three_digits(lead.high)}")
        elif lead is leads[-1]:
            texts.append(f"above {_three_digits(lead.low)}")
        else:
            texts.append(f"from {_three_digits(lead.low)} to {_three_digits(lead.high)}")
    return f" {' and '.join(texts)}" if texts else ""


def _three_digits(level: float) -> str:
    """Return a level with three digits, and no exponent below a billion."""
    return f"{float(f'{level:.3g}'):,.9g}"
