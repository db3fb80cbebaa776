"""Crossings: where two curves cross, and who is lower in between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from uccurve import _checks as checks
from uccurve._checks import HEADLINE, Axes, Unit, Vary
from uccurve.curve import UCC
from uccurve.intervals import Intervals

from .lines import Line, Runs, View, runs
from .pool import refuse_other_rows


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
        return f"Crossings({' / '.join(self.names)}, {len(self)} on {'/'.join(self.axes)}: {self.verdict})"


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
    >>> crossings(one, one.constant(), names=("A", "B"))
    Crossings(A / B, 1 on bandwidth/miss_rate: A needs less bandwidth at every miss rate below 0.5; B above 0.75)
    """
    axes = checks.axes(axes)
    refuse_other_rows(a, b)
    if axes[0] == axes[1]:
        raise ValueError(f"`axes` must be two different metrics to make a curve; got {axes!r}.")
    names, view = _different(names), View.of(axes)
    first, second = (Line.of(UCC(intervals, vary=vary), view, unit) for intervals in (a, b))
    points, stretches = _told(first, second, names, runs(first, second))
    shares, verdict = _shares(stretches, names), _verdict(points, stretches, names, _words(first, second))
    if view.level == axes[1]:
        points = [Crossing(point.y, point.x, point.a, point.b) for point in points]
        stretches = [Stretch(stretch.lower, stretch.y, stretch.x) for stretch in stretches]
    if view.falls:  # bands widen where the level falls
        points, stretches = points[::-1], [_turned(stretch) for stretch in stretches[::-1]]
    return Crossings(names, axes, vary, tuple(points), tuple(stretches), shares, verdict)


def _different(names: tuple[str, str]) -> tuple[str, str]:
    first, second = map(str, names)
    if first == second:
        raise ValueError(f"`names` must be two different names; both are {first!r}.")
    return first, second


def _told(
    first: Line, second: Line, names: tuple[str, str], found: Runs | None
) -> tuple[list[Crossing], list[Stretch]]:
    """Crossings and stretches with the level as x."""
    points: list[Crossing] = []
    stretches: list[Stretch] = []
    if found is None:
        return points, stretches
    leader, ends = 0.0, [*zip(found.level.tolist(), found.value.tolist(), strict=True), found.last]
    for here, there, sign in zip(ends, ends[1:], found.sign.tolist(), strict=False):
        lower = {-1.0: names[0], 1.0: names[1]}.get(sign)
        stretches.append(Stretch(lower, (here[0], there[0]), (here[1], there[1])))
        if leader * sign < 0:
            points.append(Crossing(*here, first.place(*here), second.place(*here)))
        leader = sign or leader
    return points, stretches


def _turned(stretch: Stretch) -> Stretch:
    return Stretch(stretch.lower, stretch.x[::-1], stretch.y[::-1])


def _shares(stretches: list[Stretch], names: tuple[str, str]) -> tuple[float, float]:
    """Part of the levels at which each model is lower."""
    total = sum(stretch.x[1] - stretch.x[0] for stretch in stretches)
    own = [sum(stretch.x[1] - stretch.x[0] for stretch in stretches if stretch.lower == name) for name in names]
    return (own[0] / total, own[1] / total) if total else (0.0, 0.0)


class _Words(NamedTuple):
    """How a verdict speaks: who does what, at which level, and whether all levels of either curve were compared."""

    verb: str
    level: str
    all_levels: bool


def _words(first: Line, second: Line) -> _Words:
    view = first.view
    level, compared = (name.replace("_", " ") for name in view)
    ends = [(line.level[0], line.level[-1]) for line in (first, second)]
    return _Words(f"{'needs' if view.open else 'has'} less {compared}", level, view.open or ends[0] == ends[1])


def _verdict(points: list[Crossing], stretches: list[Stretch], names: tuple[str, str], words: _Words) -> str:
    verb, level = words.verb, words.level
    told = [stretch for stretch in stretches if stretch.lower is not None]
    if not told and not words.all_levels:
        return f"{names[0]} and {names[1]} do not differ at any {level} that both have"
    if not told:
        return f"{names[0]} and {names[1]} have the same curve"
    if not points:
        where = "" if len(told) == len(stretches) else " where the two differ"
        return f"{told[0].lower} {verb} at every {level}{'' if words.all_levels else ' that both have'}{where}"
    if len(points) == 1:
        low, high = told[0].x[1], told[-1].x[0]
        above = "above" if low == high else f"above {high:.3g}"
        return f"{told[0].lower} {verb} at every {level} below {low:.3g}; {told[-1].lower} {above}"
    levels, shares = [point.x for point in points], _shares(stretches, names)
    best = int(shares[1] > shares[0])
    range_of = "miss rates" if level == "miss rate" else f"the range of {level}"
    return (
        f"{names[best]} {verb} at {shares[best]:.0%} of {range_of}; "
        f"the curves cross {len(points)} times, at {level} {min(levels):.3g} to {max(levels):.3g}"
    )
