"""Moving: intervals whose two sides, or whose groups, are calibrated apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from uccurve._checks import Array, Vary
from uccurve.intervals import Intervals


def one_sided(intervals: Intervals) -> tuple[Intervals, Intervals]:
    """Return the lower and the upper side as intervals of their own, in which the other side never misses."""
    y, p, weight = intervals.y_true, intervals.y_pred, intervals._weight
    below = Intervals.from_bands(np.minimum(y, p), p, intervals.lower_band, weight=weight)
    return below, Intervals.from_bands(np.maximum(y, p), p, intervals.upper_band, weight=weight)


def moved_apart(intervals: Intervals, vary: Vary, lower: float, upper: float) -> Intervals:
    """Return intervals with each band moved by its own scale or shift."""
    moves: Any = ({vary: lower}, {vary: upper})
    below, above = (intervals.calibrated(**move) for move in moves)
    lower_side = {"lower": below.lower, "lower_band": below.lower_band}
    return _rebuilt(intervals, lower_side | {"upper": above.upper, "upper_band": above.upper_band})


def put_together(whole: Intervals, parts: list[tuple[npt.NDArray[np.intp], Intervals]]) -> Intervals:
    """Put the parts back where they were taken from."""
    moved = {name: getattr(whole, name).copy() for name in ("lower", "upper", "lower_band", "upper_band")}
    for rows, part in parts:
        for name, array in moved.items():
            array[rows] = getattr(part, name)
    return _rebuilt(whole, moved)


def _rebuilt(whole: Intervals, moved: Mapping[str, Array]) -> Intervals:
    kept = {"y_true": whole.y_true, "y_pred": whole.y_pred}
    return Intervals._of(whole._weight, whole.raised, whole.dropped, **kept, **moved)
