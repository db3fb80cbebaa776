"""Binned scores: brackets of the best interval score and of the potential CRPS.

The bandwidth is ``b`` times the scale. The deficit is a convex function of it with slope ``-A``, where A is the sum of
the active bands of the rows that are not covered yet. Both are known where bins begin and end; inside a bin the deficit
lies below the chord and above the tangents at both ends, which meet at the bin's mean critical scale (Jensen).
"""

from __future__ import annotations

import numpy as np

from uccurve._checks import Array

from ._binned import Binned
from ._brackets import Bracket, around, outward


def interval_scores(binned: Binned, penalty: float, t: Array) -> Bracket:
    """``2 * bandwidth + penalty * deficit`` at scales t; the penalty is ``2 / alpha``."""
    return binned.values("bandwidth", t) * 2.0 + binned.values("deficit", t).positive() * penalty


def best_score(binned: Binned, penalty: float) -> Bracket:
    """Minimum of the interval score over the scale."""
    known = np.concatenate([[0.0, 1.0], binned.active.minimum, binned.active.maximum])
    corners = around(binned.active.breakpoints)
    high = float(interval_scores(binned, penalty, known).high.min())
    every = np.concatenate([known, corners.low, corners.high])
    return outward(Bracket(min(float(interval_scores(binned, penalty, every).low.min()), high), high))


def best_scale(binned: Binned, alpha: float) -> Bracket:
    """Smallest scale with the minimum interval score: the first at which A is at most ``alpha * b``."""
    limit, beyond = outward(binned.half_width * alpha), binned.active.remaining.over(binned.total)
    starts, ends = (np.append(0.0, scales) for scales in binned.active[:2])
    return Bracket(starts[np.argmax(beyond.low <= limit.high)], ends[np.argmax(beyond.high <= limit.low)])


def potential_crps(binned: Binned) -> Bracket:
    """Integral over alpha from 0 to 1 of the minimum over the scale of ``alpha * bandwidth + deficit``.

    The minimum for one alpha is the mean error of uncoverable rows plus the integral over the scale of
    ``min(alpha * b, A)``. Its integral over alpha is in closed form (`_averaged`) and
    grows with A, so it is smallest where all mass of a bin is at its mean and largest where it is at both ends.
    """
    masses, half_width = binned.active, binned.half_width
    beyond = masses.remaining.over(binned.total)
    p, q = masses.minimum, masses.maximum
    low = np.diff(masses.mean.low, prepend=0.0) * _averaged(beyond.low[:-1], half_width.low)
    high = (p - np.append(0.0, q)[:-1]) * _averaged(beyond.high[:-1], half_width.high)
    high += (q - p) * _averaged(beyond.high[1:] + masses.at_maximum / binned.total, half_width.high)
    integral = Bracket(np.sum(low), np.sum(high)) * around(1.0)
    return outward(integral + binned.uncoverable_error.over(binned.total)).positive()


def _averaged(active: Array, half_width: float) -> Array:
    """Integral of ``min(alpha * half_width, active)`` over alpha from 0 to 1."""
    if half_width == 0:
        return np.zeros(len(active))
    ratio = np.minimum(active / half_width, 1.0)
    return half_width * ratio * (1 - ratio / 2)
