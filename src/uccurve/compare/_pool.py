"""Pool: the rows of two models as one path, brought to one pace, so that rows can be swapped between the models.

A curve depends on which intervals a model passes through, not on how fast. A mixture of two models' rows does depend on
it, so both are first brought to one mean half-width, which leaves each of the two curves as it is.
"""

from __future__ import annotations

import numpy as np

from uccurve._levels import LevelsPath
from uccurve._paths import Path
from uccurve.curve import UCC
from uccurve.intervals import Intervals, mean_half_width


def alike(a: UCC, b: UCC) -> tuple[UCC, UCC]:
    """Return curves over the same kind of path: one interval that is scaled is a model with one level."""
    if a.vary == b.vary:
        return a, b
    if "shift" in (a.vary, b.vary):
        moves = ("are shifted" if curve.vary == "shift" else "are scaled" for curve in (a, b))
        raise ValueError(
            "`a` and `b` must have bands that move alike: a's {}, b's {}. Hint: pass Intervals, or "
            "a UCC of each with the same `vary`.".format(*moves)
        )
    one, two = (curve if curve.levels else UCC.from_levels({0.5: curve.intervals}) for curve in (a, b))
    return one, two


def pooled(a: UCC, b: UCC, *, same_pace: bool = True) -> Path:
    """Rows of the first, then rows of the second, in one unit and (by default) at one mean half-width."""
    if a.levels:
        return _levels(a, b)
    one, two = a.intervals, b.intervals
    if same_pace:
        first, second = (mean_half_width(iv.lower_band, iv.upper_band, iv._weight) for iv in (one, two))
        if a.vary == "shift":
            one, two = one.calibrated(shift=max(second - first, 0)), two.calibrated(shift=max(first - second, 0))
        elif min(first, second) > 0:
            two = two.calibrated(scale=first / second)
    return UCC(Intervals.join([one, two]), vary="shift" if a.vary == "shift" else "scale")._path()


def _levels(a: UCC, b: UCC) -> LevelsPath:
    """Levels wherever either model has one, both with the same mean half-width at each."""
    paths = [LevelsPath.of(curve._levels, curve._knots()) for curve in (a, b)]
    widths = np.unique(np.concatenate([path.widths * path.unit for path in paths]))
    widths = widths if len(widths) > 1 else np.array([0.0, 1.0])
    places = zip(*(path.at_half_width(widths[1:] / path.unit).tolist() for path in paths), strict=True)
    levels = [Intervals.join([a.intervals_at(one), b.intervals_at(two)]) for one, two in places]
    return LevelsPath.of(levels, widths / widths[-1])
