"""Curves: what plots and pages need of any curve beyond its own answers, and few vertices that stand for many."""

from typing import Literal

import numpy as np

from uccurve._arrays import Indices
from uccurve._vocabulary import Array, Unit
from uccurve.curve import UCC
from uccurve.points import Curve, OperatingPoint


def knob(curve: Curve) -> Literal["scale", "shift"]:
    """What moves the bands: levels are scales too."""
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


def knots(t: Array, values: Array, most: int) -> Indices:
    """At most so many of two or more places in `t`, between which straight lines follow every row of `values`.

    Places are added where the lines are furthest off, until none is off.

    >>> t = np.arange(9.0)
    >>> knots(t, np.abs(t - 3)[None], most=5)
    array([0, 3, 8])
    """
    kept = np.array([0, len(t) - 1])
    while len(kept) < most:
        worst, off = _worst(t, values, kept)
        furthest = np.argsort(-off, kind="stable")[: most - len(kept)]
        new = worst[furthest[off[furthest] > 0]]
        if not len(new):
            break
        kept = np.sort(np.concatenate([kept, new]))
    return kept


def _worst(t: Array, values: Array, kept: Indices) -> tuple[Indices, Array]:
    """Between each two kept places, the one furthest from the straight line, and how far it is."""
    off = np.max([np.abs(row - np.interp(t, t[kept], row[kept])) for row in values], axis=0)
    off[kept] = 0.0  # also where two vertices share one t
    largest = np.maximum.reduceat(off[:-1], kept[:-1])
    segment = np.repeat(np.arange(len(kept) - 1), np.diff(kept))
    hits = np.flatnonzero(off[:-1] == largest[segment])
    return hits[np.unique(segment[hits], return_index=True)[1]], largest
