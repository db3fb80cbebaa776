"""Crossings: where two curves cross, and who is lower in between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from uccurve import checks
from uccurve.checks import HEADLINE, Array, Axes, Metric
from uccurve.curve import UCC, Unit
from uccurve.intervals import Intervals
from uccurve.profile import FALLING, Vary

TIE = 1e-12
"""Share of an axis below which two positions on it are taken for equal."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """One point that two curves share, and the scale (or shift) that puts each model there."""

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
    """Where two curves cross and who is lower in between.

    Attributes
    ----------
    names : tuple of str
    axes : tuple of str
    points : tuple of Crossing
        In the order in which the bands widen.
    stretches : tuple of Stretch
        What lies between them, in the same order.
    shares : tuple of float
        For which part of the levels the first and the second model are lower.
    verdict : str
        The same in a sentence.
    """

    names: tuple[str, str]
    axes: Axes
    vary: Vary
    points: tuple[Crossing, ...]
    stretches: tuple[Stretch, ...]
    shares: tuple[float, float]
    verdict: str

    def __len__(self) -> int:
        return len(self.points)

    @property
    def dominant(self) -> str | None:
        """The model that is lower wherever the curves differ; None where each is somewhere, or neither."""
        lower = {stretch.lower for stretch in self.stretches} - {None}
        return lower.pop() if len(lower) == 1 else None

    def __repr__(self) -> str:
        return f"Crossings({len(self)} on {'/'.join(self.axes)}: {self.verdict})"


def crossings(
    a: Intervals,
    b: Intervals,
    *,
    axes: Axes = HEADLINE,
    vary: Vary = "scale",
    names: tuple[str, str] = ("a", "b"),
    unit: Unit = "raw",
) -> Crossings:
    """Operating points at which the curves of two models cross, exactly, and who is lower in between.

    Curves are compared at each level of the falling axis: lower is who needs less of the other metric to get there.
    Steps are taken as steps and lines as lines. Where neither axis falls they are compared at each x, and miss_rate
    and deficit at each deficit. Places that differ by less than 1e-12 of an axis are taken for one.

    Parameters
    ----------
    a, b : Intervals
        Intervals of two models for the same rows.
    axes, vary, unit
        As in `UCC`.
    names : tuple of str
        What the verdict calls them.

    Examples
    --------
    >>> y, p = [1.0, 2.0, 3.0, 4.0], [0.0] * 4
    >>> one = Intervals.from_bands(y, p, [1.0, 2.0, 3.0, 2.0])
    >>> crossings(one, one.constant(), names=("GBR", "flat"))
    Crossings(1 on bandwidth/miss_rate: GBR needs less bandwidth at every miss rate below 0.5; flat above 0.75)
    """
    axes = checks.axes(axes)
    if a.y_true.shape != b.y_true.shape or not np.array_equal(a.y_true, b.y_true):
        raise ValueError("`a` and `b` must have the same y_true: curves compare where their rows are the same.")
    if axes[0] == axes[1]:
        raise ValueError(f"`axes` must be two different metrics to make a curve; got {axes!r}.")
    view = _View.of(axes)
    first, second = _aligned(*(_line(UCC(intervals, vary=vary), view, unit) for intervals in (a, b)))
    points, stretches = _told(first, second, names, _walk(first, second))
    shares, verdict = _shares(stretches, names), _verdict(points, stretches, names, view)
    if view.level == axes[1]:
        points = [Crossing(point.y, point.x, point.a, point.b) for point in points]
        stretches = [Stretch(stretch.lower, stretch.y, stretch.x) for stretch in stretches]
    if view.falls:  # bands widen where the level falls
        points, stretches = points[::-1], [_turned(stretch) for stretch in stretches[::-1]]
    return Crossings(names, axes, vary, tuple(points), tuple(stretches), shares, verdict)


class _View(NamedTuple):
    """Which metric is the level at which two curves are compared, and which one is compared there."""

    level: Metric
    compared: Metric

    @classmethod
    def of(cls, axes: Axes) -> _View:
        """Return the falling axis as the level, against what reaching it takes; x where none falls."""
        falling = [name for name in axes if name in FALLING]
        level = falling[0] if len(falling) == 1 else "deficit" if len(falling) == 2 else axes[0]
        return cls(level, axes[1] if level == axes[0] else axes[0])

    @property
    def falls(self) -> bool:
        return self.level in FALLING

    @property
    def open(self) -> bool:
        """Whether levels beyond the ends of a curve count: nothing reaches those below, no band at all those above."""
        return self.falls and self.compared not in FALLING


class _Line(NamedTuple):
    """A curve as a function of the level: vertices by rising level, and the values before and after each of them."""

    level: Array
    value: Array
    t: Array
    before: Array
    after: Array
    view: _View

    @property
    def steps(self) -> bool:
        return "miss_rate" in self.view


def _line(curve: UCC, view: _View, unit: Unit) -> _Line:
    points = curve.points(axes=view, unit=unit)
    t = points.scale if points.scale is not None else points.shift
    assert t is not None  # noqa: S101  # one of the two is always there
    order = slice(None, None, -1 if view.falls else 1)
    level, value, t = points.x[order], points.y[order], t[order]
    before, after = value, value
    if view.level == "miss_rate":  # a level is kept by the scale that reached it until the next one above
        before = np.append(value[0], value[:-1])
    elif view.compared == "miss_rate":  # deficit falls while the miss rate keeps its value
        after = np.append(value[1:], value[-1])
    return _Line(level, value, t, before, after, view)


def _aligned(first: _Line, second: _Line) -> tuple[_Line, _Line]:
    """Give levels and values that only rounding tells apart the same number."""
    kept = _distinct(first.level, second.level)
    values = _distinct(first.value, second.value)

    def settled(line: _Line) -> _Line:
        value, before, after = (_nearest(values, column) for column in (line.value, line.before, line.after))
        return line._replace(level=_nearest(kept, line.level), value=value, before=before, after=after)

    return settled(first), settled(second)


def _distinct(one: Array, two: Array) -> Array:
    places = np.sort(np.concatenate([one, two]))
    kept: Array = places[np.append(True, np.diff(places) > TIE * max(abs(places[0]), abs(places[-1])))]
    return kept


def _nearest(kept: Array, values: Array) -> Array:
    """Return the largest kept number up to each value."""
    return np.asarray(kept[np.searchsorted(kept, values, side="right") - 1])


def _at(line: _Line, level: Array) -> tuple[Array, Array]:
    """Return the values just below and just above each level."""
    first, last = np.searchsorted(line.level, level, side="left"), np.searchsorted(line.level, level, side="right") - 1
    on, left, right = first <= last, np.maximum(last, 0), np.minimum(last + 1, len(line.level) - 1)
    between = line.after[left]
    if not line.steps:
        width = line.level[right] - line.level[left]
        way = np.divide(level - line.level[left], width, out=np.zeros(len(level)), where=width > 0)
        between = between + way * (line.before[right] - between)
    below = np.where(on, line.before[np.minimum(first, len(line.level) - 1)], between)
    above = np.where(on, line.after[left], between)
    if line.view.open:
        below[level <= line.level[0]] = np.inf
        above[level < line.level[0]] = np.inf
    return below, above


class _Runs(NamedTuple):
    """Where the sign of the difference changes: level and value there, the sign from there on; and the last place."""

    level: Array
    value: Array
    sign: Array
    last: tuple[float, float]


def _walk(first: _Line, second: _Line) -> _Runs:
    """Go along the level from vertex to vertex of both."""
    level = np.unique(np.concatenate([first.level, second.level]))
    low, high = ([line.level[end] for line in (first, second)] for end in (0, -1))
    if not first.view.open:
        level = level[(level >= max(low)) & (level <= min(high))]
    (a0, a1), (b0, b1) = _at(first, level), _at(second, level)
    size = max(float(np.abs(line.value).max()) for line in (first, second))
    with np.errstate(invalid="ignore"):
        begin, end = ((np.where(np.abs(d) > TIE * size, d, 0.0)) for d in ((a1 - b1)[:-1], (a0 - b0)[1:]))
        inside = begin * end < 0
        way = np.divide(begin, begin - end, out=np.zeros(len(begin)), where=inside)
    places = np.column_stack([level[:-1], level[:-1] + way * np.diff(level)])
    shared = np.maximum(np.minimum(a0, a1), np.minimum(b0, b1))
    with np.errstate(invalid="ignore"):
        values = np.column_stack([shared[:-1], np.where(inside, a1[:-1] + way * (a0[1:] - a1[:-1]), 0)])
    signs = np.sign(np.column_stack([np.where(begin != 0, begin, end), end]))
    there = np.column_stack([np.ones(len(begin), bool), inside])
    sign = signs[there]
    new = np.append(True, sign[1:] != sign[:-1]) if len(sign) else np.empty(0, bool)
    last = float(level[-1]), float(shared[-1])
    return _Runs(places[there][new], values[there][new], sign[new], last)


def _told(first: _Line, second: _Line, names: tuple[str, str], runs: _Runs) -> tuple[list[Crossing], list[Stretch]]:
    """Crossings and stretches with the level as x."""
    points, stretches, leader = [], [], 0.0
    ends = [*zip(runs.level.tolist(), runs.value.tolist(), strict=True), runs.last]
    for here, there, sign in zip(ends, ends[1:], runs.sign.tolist(), strict=False):
        lower = {-1.0: names[0], 1.0: names[1]}.get(sign)
        stretches.append(Stretch(lower, (here[0], there[0]), (here[1], there[1])))
        if leader * sign < 0:
            points.append(Crossing(*here, _place(first, *here), _place(second, *here)))
        leader = sign or leader
    return points, stretches


def _place(line: _Line, level: float, value: float) -> float:
    """Return the scale or shift that puts a line at a point on it."""
    i, j = np.searchsorted(line.level, level, side="left"), np.searchsorted(line.level, level, side="right")
    if line.view.level == "miss_rate":
        return float(np.interp(value, line.value[::-1], line.t[::-1]))
    if j - i > 1:
        order = np.argsort(line.value[i:j], kind="stable")
        return float(np.interp(value, line.value[i:j][order], line.t[i:j][order]))
    return float(np.interp(level, line.level, line.t))


def _turned(stretch: Stretch) -> Stretch:
    return Stretch(stretch.lower, stretch.x[::-1], stretch.y[::-1])


def _shares(stretches: list[Stretch], names: tuple[str, str]) -> tuple[float, float]:
    """Part of the levels at which each model is lower."""
    total = sum(stretch.x[1] - stretch.x[0] for stretch in stretches)
    own = [sum(stretch.x[1] - stretch.x[0] for stretch in stretches if stretch.lower == name) for name in names]
    return (own[0] / total, own[1] / total) if total else (0.0, 0.0)


def _verdict(points: list[Crossing], stretches: list[Stretch], names: tuple[str, str], view: _View) -> str:
    level, compared = (name.replace("_", " ") for name in view)
    verb = f"{'needs' if view.open else 'has'} less {compared}"
    told = [stretch for stretch in stretches if stretch.lower is not None]
    if not told:
        return f"{names[0]} and {names[1]} have the same curve"
    if not points:
        where = "" if len(told) == len(stretches) else " where the two differ"
        return f"{told[0].lower} {verb} at every {level}{where}"
    levels = [point.x for point in points]
    if len(points) == 1:
        low, high = told[0].x[1], told[-1].x[0]
        above = "above" if low == high else f"above {high:.3g}"
        return f"{told[0].lower} {verb} at every {level} below {low:.3g}; {told[-1].lower} {above}"
    shares = _shares(stretches, names)
    best = int(shares[1] > shares[0])
    range_of = "miss rates" if level == "miss rate" else f"the range of {level}"
    return (
        f"{names[best]} {verb} at {shares[best]:.0%} of {range_of}; "
        f"the curves cross {len(points)} times, at {level} {min(levels):.3g} to {max(levels):.3g}"
    )
