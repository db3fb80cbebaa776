"""Curves: what plots and pages need of any curve beyond its own answers, and few vertices that stand for many."""

from typing import Literal

import numpy as np

from uccurve._arrays import Indices
from uccurve._checks import Array, Unit
from uccurve.curve import UCC
from uccurve.points import Curve, OperatingPoint

Knob = Literal["scale", "shift"]  # what a curve is followed by: levels are scales too


def knob(curve: Curve) -> Knob:
    """What moves the bands."""
    return "shift" if curve.vary == "shift" else "scale"


def delivered_at(curve: Curve, level: float | None = None) -> float:
    """Scale (or shift) of the intervals as delivered; of several levels, that of one `level`, or of the widest."""
    if level is not None and isinstance(curve, UCC) and curve.levels:
        return level / curve.levels[-1]
    return 0.0 if curve.vary == "shift" else 1.0


def reached(curve: Curve, coverage: float, unit: Unit = "raw") -> OperatingPoint | None:
    """Operating point at a coverage; None where the curve never reaches it."""
    try:
        return curve.find(coverage=coverage, unit=unit)
    except ValueError:
        return None


def constant_curve(curve: Curve) -> UCC | None:
    """Curve of the constant band around the same predictions; None for a sketch, which keeps no rows."""
    return UCC(curve.intervals.constant(), vary=knob(curve)) if isinstance(curve, UCC) else None


def knots(t: Array, values: Array, *, tolerance: float, most: int | None = None) -> tuple[Indices, float]:
    """Places in `t` between which straight lines follow every row of `values`, and the largest distance left.

    Places are added where the lines are furthest off until all are within `tolerance`, or `most` are taken.

    >>> t = np.arange(9.0)
    >>> knots(t, np.abs(t - 3)[None], tolerance=0)
    (array([0, 3, 8]), 0.0)
    """
    kept = np.array([0, len(t) - 1]) if len(t) > 1 else np.zeros(1, dtype=np.intp)
    while True:
        worst, off = _worst(t, values, kept)
        wrong = off > tolerance
        room = len(t) if most is None else max(most - len(kept), 0)
        if not wrong.any() or not room:
            return kept, float(off.max(initial=0.0))
        new = worst[wrong]
        if len(new) > room:
            new = new[np.argsort(-off[wrong], kind="stable")[:room]]
        kept = np.sort(np.concatenate([kept, new]))


def _worst(t: Array, values: Array, kept: Indices) -> tuple[Indices, Array]:
    """Between each two kept places, the one furthest from the straight line, and how far it is."""
    if len(t) < 2:
        return kept[:0], np.zeros(0)
    off = np.max([np.abs(row - np.interp(t, t[kept], row[kept])) for row in values], axis=0)
    off[kept] = 0.0  # also where two vertices share one t
    largest = np.maximum.reduceat(off[:-1], kept[:-1])
    segment = np.repeat(np.arange(len(kept) - 1), np.diff(kept))
    hits = np.flatnonzero(off[:-1] == largest[segment])
    return hits[np.unique(segment[hits], return_index=True)[1]], largest
