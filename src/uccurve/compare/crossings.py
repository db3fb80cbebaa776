"""Crossings: where two curves cross, and which model is lower in between, without what is negligible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from uccurve import _checks as checks
from uccurve._checks import FALLING, HEADLINE, Axes, Metric, Unit, Vary
from uccurve.curve import UCC
from uccurve.intervals import Intervals

from ._formats import short
from ._leads import Flip, Lead, Line, Sampled
from ._models import curve_of, refuse_other_rows

LEVELS: dict[Metric, str] = {"bandwidth": "half-width", "miss_rate": "miss rate"}
LESS: dict[Metric, str] = {"bandwidth": "a smaller half-width", "miss_rate": "a lower miss rate"}
MANY = 3
"""Leads that a sentence lists at most."""


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
    What is negligible is left out. Two curves are practically equal at a level if they differ there by at most 1% of
    the larger value, or of the median over all levels if that is larger. A change of the leader counts if, on either
    side of it, differences of more than 1% average at least 0.2% over all levels: 2% at a tenth of them, or 20% at a
    hundredth. Curves are compared at 1,000 levels; points and ends of stretches are then found to the last bit.

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
        lines.append(Line.of(curve, axes, unit))
        if model is not curve:
            curve._forget_order()  # one order is held at a time
    return crossings_of_lines(*lines, axes=axes, names=names)


def crossings_of_lines(one: Line, two: Line, *, axes: Axes, names: tuple[str, str]) -> Crossings:
    """Crossings of two curves of the same rows whose vertices are in order already."""
    found = Sampled(one, two)
    leads, order = found.leads(), slice(None, None, -1 if one.names[0] in FALLING else 1)  # as the bands widen

    def xy(flip: Flip) -> tuple[float, float]:
        place = flip.above, flip.value(one, two)
        return place if one.names[0] == axes[0] else place[::-1]

    def crossing(flip: Flip) -> Crossing:
        value = flip.value(one, two)
        return Crossing(*xy(flip), one.t_at(flip.above, value), two.t_at(flip.above, value))

    def stretch(lead: Lead) -> Stretch:
        x, y = zip(*[xy(end) for end in (lead.low, lead.high)][order], strict=True)
        return Stretch({-1: names[0], 0: None, 1: names[1]}[lead.sign], x, y)

    return Crossings(
        names=names,
        axes=axes,
        vary=(one.curve.vary, two.curve.vary),
        points=tuple(map(crossing, [*found.crossings()][order])),
        stretches=tuple(map(stretch, leads[order])),
        shares=(_share(leads, -1), _share(leads, 1)),
        verdict=_verdict(found, leads, (short(names[0]), short(names[1]))),
    )


def _share(leads: Sequence[Lead], sign: int) -> float:
    """Part of the levels at which one of the curves leads."""
    total = leads[-1].high.above - leads[0].low.above if leads else 1.0
    return sum(lead.high.above - lead.low.above for lead in leads if lead.sign == sign) / total


def _verdict(found: Sampled, leads: Sequence[Lead], names: tuple[str, str]) -> str:
    """Return which model is materially lower where, in a sentence."""
    level, compared = found.one.names
    name, leading = LEVELS.get(level, level), [lead for lead in leads if lead.sign]
    verb = f"{'needs' if found.one.open else 'has'} {LESS.get(compared, f'less {compared}')}"
    both = "" if found.both_whole else " that both have"
    if not (leads and found.signs.any()):
        differ = f"do not differ at any {name}{both}" if leads else f"have no {name} in common"
        return f"{names[0]} and {names[1]} {differ if both else 'have the same curve'}"
    if not leading:
        return f"{names[0]} and {names[1]} are practically equal at almost every {name}{both}"
    if len(leading) > MANY:
        return _summed_up(leads, names, verb, name)
    lower, other = names[leading[0].sign > 0], names[leading[0].sign < 0]
    every = "every" if all(lead.every for lead in leading if lead.sign == leading[0].sign) else "almost every"
    mine, theirs = (_ranges(leads, sign) for sign in (leading[0].sign, -leading[0].sign))
    text = f"{lower} {verb} at {every} {name}{mine}{both}{f', {other}{theirs}' if theirs else ''}"
    return text if len(leading) == len(leads) else f"{text}; practically equal elsewhere"


def _ranges(leads: Sequence[Lead], sign: int) -> str:
    """Return the levels at which one model leads; nothing where it does at all of them."""
    first, last = leads[0], leads[-1]
    texts = []
    for lead in leads:
        low, high = _number(lead.low.above), _number(lead.high.above)
        if lead.sign == sign and first is not last:
            texts.append(
                f"below {high}" if lead is first else f"above {low}" if lead is last else f"from {low} to {high}"
            )
    return f" {' and '.join(texts)}" if texts else ""


def _summed_up(leads: Sequence[Lead], names: tuple[str, str], verb: str, level: str) -> str:
    """Return at how many levels one model is lower, and between which ones the order changes."""
    leading = [lead for lead in leads if lead.sign]
    shares = _share(leads, -1), _share(leads, 1)
    best = int(shares[1] > shares[0])
    percent = f"{min(shares[best], 0.99):.0%}"
    where = f"at {percent} of miss rates" if level == "miss rate" else f"over {percent} of the {level} range"
    changes = [(one.high.above, two.low.above) for one, two in pairwise(leading) if one.sign != two.sign]
    if not changes:
        return f"{names[best]} {verb} {where}; practically equal elsewhere"
    low, high = _number(changes[0][0]), _number(changes[-1][1])
    span = f"at {low}" if low == high else f"between {low} and {high}"
    return f"{names[best]} {verb} {where}; the order changes{' more than once' if len(changes) > 1 else ''} {span}"


def _number(level: float) -> str:
    """Three significant digits, without an exponent below a billion."""
    return f"{float(f'{level:.3g}'):,.9g}"
