"""Crossings: where two curves cross, and which model is lower in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from uccurve import _checks as checks
from uccurve._arrays import Indices
from uccurve._checks import HEADLINE, Array, Axes, Unit, Vary
from uccurve.curve import UCC
from uccurve.intervals import Intervals

from ._leads import Lead, leads
from ._lines import Line, Runs, View, shared
from ._pairs import refuse_other_rows
from ._wording import Words, verdict


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
        All crossings, in the order in which the bands widen.
    stretches : tuple of Stretch
        What lies between them, in the same order.
    material_points, material_stretches : tuple of Crossing, tuple of Stretch
        The same without negligible differences; neither model is lower where the curves are practically equal.
    shares : tuple of float
        Share of the levels at which the first and the second model are lower.
    verdict : str
        The material stretches in a sentence.
    """

    names: tuple[str, str]
    axes: Axes
    vary: tuple[Vary, Vary]
    points: tuple[Crossing, ...]
    stretches: tuple[Stretch, ...]
    material_points: tuple[Crossing, ...]
    material_stretches: tuple[Stretch, ...]
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
        return f"Crossings({' vs. '.join(self.names)}, {' vs. '.join(self.axes[::-1])}: {self.verdict})"


def crossings(
    a: Intervals | UCC,
    b: Intervals | UCC,
    *,
    axes: Axes = HEADLINE,
    vary: Vary = "scale",
    names: tuple[str, str] = ("a", "b"),
    unit: Unit = "raw",
) -> Crossings:
    """Operating points at which the curves of two models cross, exactly, and which model is lower in between.

    Curves are compared at each level of the falling axis: the lower one needs less of the other metric to get there.
    Steps are steps and lines are lines. Where neither axis falls they are compared at each x, and miss_rate and deficit
    at each deficit. Positions that differ by less than 1e-12 of an axis are treated as one.

    Parameters
    ----------
    a, b : Intervals or UCC
        Two models of the same rows. Curves may be over different paths, such as levels and the scale.
    axes, unit
        As in `UCC`.
    vary : {"scale", "shift"}
        As in `UCC`, for Intervals; a UCC has its own.
    names : tuple of str
        What the verdict calls them.

    Notes
    -----
    The verdict leaves out what is negligible. Two curves are practically equal at a level if they differ there by at
    most 1% of the larger value, or of the median over all levels if that is larger. A change of the leader is material
    if, on either side of it, differences of more than 1% average at least 0.2% over all levels: 2% at a tenth of them,
    or 20% at a hundredth. `points`, `stretches` and `shares` leave out nothing.

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
    axes, names = checks.axes(axes), _different(names)
    if axes[0] == axes[1]:
        raise ValueError(f"`axes` must be two different metrics to make a curve; got {axes!r}.")
    checks.choice("vary", vary, ("scale", "shift"))
    refuse_other_rows(a, b)
    view = View.of(axes)
    curves = [partial(_curve, model, name, vary) for model, name in ((a, "a"), (b, "b"))]
    first, second = (Line.of(curve(), view, unit) for curve in curves)  # one order is held at a time
    found = Runs.of(first, second)
    material = leads(first, second, found)
    flips = found.crossings
    level, value = found.level[flips], found.value[flips]
    places = [_places(line, curve, found, flips, unit) for line, curve in zip((first, second), curves, strict=True)]
    points = [Crossing(*row) for row in zip(level.tolist(), value.tolist(), *places, strict=True)]
    chosen = [points[i] for i in _nearest(found.level[flips], material)]
    whole = view.open or (first.level[0], first.level[-1]) == (second.level[0], second.level[-1])
    return Crossings(
        names=names,
        axes=axes,
        vary=(first.vary, second.vary),
        points=_drawn_points(points, view, axes),
        stretches=_drawn_stretches(_stretches(found.level, found.value, found.sign, names), view, axes),
        material_points=_drawn_points(chosen, view, axes),
        material_stretches=_drawn_stretches(_material(first, second, found, material, names), view, axes),
        shares=found.shares,
        verdict=verdict(found, material, names, Words.of(view, whole=whole)),
    )


def _different(names: tuple[str, str]) -> tuple[str, str]:
    first, second = map(str, names)
    if first == second:
        raise ValueError(f"`names` must be two different names; both are {first!r}.")
    return first, second


def _curve(model: Intervals | UCC, name: str, vary: Vary) -> UCC:
    if isinstance(model, Intervals):
        return UCC(model, vary=vary)
    if vary not in ("scale", model.vary):
        raise ValueError(f"`vary` is for Intervals: `{name}` is a curve over the {model.vary}, not the {vary}.")
    return model


def _places(line: Line, curve: Callable[[], UCC], found: Runs, flips: Indices, unit: Unit) -> list[float]:
    """Return the scale or shift at each crossing; one may lie past the curve's end, where wider bands gain nothing."""
    value = found.value[flips]
    places = line.places(found.level[flips], value, found.slack)
    for i in np.flatnonzero(value > line.value.max()):
        target: dict[str, Any] = {line.view.compared: float(value[i])}
        try:
            point = curve().find(**target, unit=unit)
        except ValueError:  # all bands are 0, and stay so
            places[i] = np.inf
        else:
            places[i] = point.shift if line.vary == "shift" else point.scale
    return places


def _stretches(level: Array, value: Array, signs: Iterable[float], names: tuple[str, str]) -> list[Stretch]:
    """Stretches with the level as x, by rising level."""
    spans = zip(signs, pairwise(level.tolist()), pairwise(value.tolist()), strict=True)
    lower = {-1: names[0], 0: None, 1: names[1]}
    return [Stretch(lower[int(sign)], levels, values) for sign, levels, values in spans]


def _material(first: Line, second: Line, found: Runs, leads: Sequence[Lead], names: tuple[str, str]) -> list[Stretch]:
    if not leads:
        return []
    level = np.array([*(lead.low for lead in leads), leads[-1].high])
    return _stretches(level, shared(first, second, level, found.slack), (lead.sign for lead in leads), names)


def _nearest(level: Array, leads: Sequence[Lead]) -> list[int]:
    """Return for each change of the leader the crossing that is nearest to it."""
    pairs = pairwise(lead for lead in leads if lead.sign)
    middle = [(one.high + two.low) / 2 for one, two in pairs if one.sign != two.sign]
    return [int(np.argmin(np.abs(level - place))) for place in middle if len(level)]


def _drawn_points(points: Sequence[Crossing], view: View, axes: Axes) -> tuple[Crossing, ...]:
    """Return crossings on the axes asked for, in the order in which the bands widen."""
    if view.level == axes[1]:
        points = [Crossing(point.y, point.x, point.a, point.b) for point in points]
    return tuple(points[::-1] if view.falls else points)


def _drawn_stretches(stretches: Sequence[Stretch], view: View, axes: Axes) -> tuple[Stretch, ...]:
    """Return stretches on the axes asked for, in the order in which the bands widen."""
    if view.level == axes[1]:
        stretches = [Stretch(stretch.lower, stretch.y, stretch.x) for stretch in stretches]
    if view.falls:
        stretches = [Stretch(stretch.lower, stretch.x[::-1], stretch.y[::-1]) for stretch in stretches[::-1]]
    return tuple(stretches)
