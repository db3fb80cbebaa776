"""Crossings: where two curves cross, and which model is lower in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from uccurve import _checks as checks
from uccurve._checks import HEADLINE, Array, Axes, Unit, Vary
from uccurve.curve import UCC
from uccurve.intervals import Intervals

from ._formats import short
from ._leads import Lead, Words, leads, verdict
from ._lines import Line, Runs, View, shared
from ._models import curve_of, refuse_other_rows


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
    vary: Vary | None = None,
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
    vary : {"scale", "shift"}, optional
        How the bands of Intervals move, by default by a factor; a UCC knows.
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
    axes = checks.axes(axes)
    if axes[0] == axes[1]:
        raise ValueError(f"`axes` must be two different metrics to make a curve; got {axes!r}.")
    if names[0] == names[1]:
        raise ValueError(f"`names` must be two different names; both are {names[0]!r}.")
    curves = curve_of("a", a, vary), curve_of("b", b, vary)
    refuse_other_rows(*curves)
    lines = []
    for model, curve in zip((a, b), curves, strict=True):
        lines.append(Line.of(curve, View.of(axes), unit))
        if model is not curve:
            curve._forget_order()  # one order is held at a time
    return crossings_of_lines(*lines, names=names)


def crossings_of_lines(one: Line, two: Line, *, names: tuple[str, str]) -> Crossings:
    """Crossings of two curves of the same rows whose vertices are in order already."""
    view, found = one.view, Runs.of(one, two)
    material, flips = leads(one, two, found), found.crossings
    level, value = found.level[flips], found.value[flips]
    at = list(zip(level.tolist(), value.tolist(), strict=True))[view.order]
    places = ([line.place(*point, found.slack) for point in at] for line in (one, two))
    points = tuple(Crossing(*point) for point in zip(*view.on_axes(level, value), *places, strict=True))
    ends = np.array([*(lead.low for lead in material), *(lead.high for lead in material[-1:])])
    values = shared(one, two, ends, found.slack)
    return Crossings(
        names=names,
        axes=(view.level, view.compared) if view.level_is_x else (view.compared, view.level),
        vary=(one.curve.vary, two.curve.vary),
        points=points,
        stretches=_stretches(view, found.level, found.value, found.sign.tolist(), names),
        material_points=tuple(points[view.order][i] for i in _nearest(level, material))[view.order],
        material_stretches=_stretches(view, ends, values, [lead.sign for lead in material], names),
        shares=found.shares,
        verdict=verdict(found, material, (short(names[0]), short(names[1])), Words.of(one, two)),
    )


def _stretches(
    view: View, level: Array, value: Array, signs: Sequence[float], names: tuple[str, str]
) -> tuple[Stretch, ...]:
    """Stretches between ends, given by rising level, in the order in which the bands widen."""
    x, y = view.on_axes(level, value)
    lower = {-1: names[0], 0: None, 1: names[1]}
    spans = zip(signs[view.order], pairwise(x), pairwise(y), strict=True)
    return tuple(Stretch(lower[int(sign)], *span) for sign, *span in spans)


def _nearest(level: Array, leads: Sequence[Lead]) -> list[int]:
    """Return for each change of the leader the crossing that is nearest to it."""
    pairs = pairwise(lead for lead in leads if lead.sign)
    middle = [(one.high + two.low) / 2 for one, two in pairs if one.sign != two.sign]
    return [int(np.argmin(np.abs(level - place))) for place in middle if len(level)]
