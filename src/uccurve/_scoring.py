"""Scoring: interval scores, what a model is held against, and the share it saves."""

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, inf, isfinite, nan
from typing import TypeVar

import numpy as np

from ._arrays import average, equal_weights
from ._paths import Path
from ._ramps import Ramps
from ._vocabulary import Array, Metric
from .intervals import Intervals
from .points import Decomposition

Values = TypeVar("Values", float, Array)
SHORT = 1000  # weighted values up to which a quantile sorts them all
ROUNDING = 1e-14  # share below which two scores, or two sums of weights, are the same


def penalised(width: Values, outside: Values, alpha: float) -> Values:
    """Interval score of a width and a distance outside, of single rows or of means over rows."""
    return width + 2 * (outside / alpha)


def interval_score(point: Mapping[Metric, float], alpha: float) -> float:
    """Interval score of metrics at one operating point."""
    return penalised(2 * point["bandwidth"], point["deficit"], alpha)


def saved_share(theirs: float, mine: float, negligible: float = 0.0) -> float:
    """Share of a reference's area or score that is saved; what is at most `negligible` counts as 0."""
    if theirs <= negligible:
        return nan if mine <= negligible else -inf
    if isfinite(theirs):
        return (theirs - mine) / theirs
    return 1.0 if isfinite(mine) else nan


def rows_carrying(share: float, parts: Array) -> int:
    """Smallest number of rows, at least one, whose parts add up to a share of all; 0 where all parts are 0."""
    running = np.cumsum(-np.sort(-parts))
    if not running[-1] > 0:
        return 0
    need = share * running[-1] if share else 0.0
    return int(np.searchsorted(running, need)) + 1


def conformal_t(path: Path, alpha: Fraction) -> float:
    """Return the t that ships for a miss rate, infinite where there is none.

    It is the critical t of the conformal rank, which too few rows do not have; with unequal weights the smallest t that
    reaches the miss rate on these rows.
    """
    if not path.equally_weighted:
        return quantiles(path.critical, path.weight, 1 - alpha)[0]
    rank = ceil((len(path) + 1) * (1 - alpha))
    return path.critical_of_rank(rank) if rank <= len(path) else inf


def score_at(path: Path, t: float, alpha: float) -> float:
    """Mean interval score at t; infinite where t is."""
    return path.score(t, alpha) if isfinite(t) else inf


def shipped_score(path: Path, alpha: Fraction) -> float:
    """Mean interval score at the conformal t; infinite where there is none."""
    return score_at(path, conformal_t(path, alpha), float(alpha))


def decomposition(
    path: Path, ramps: Ramps, intervals: Intervals, alpha: Fraction, unit: float = 1.0
) -> Decomposition:
    """What makes up the interval score as delivered, in the caller's `unit`.

    Where no t ships, the scores as shipped are infinite and what follows from them infinite or nan.
    """
    miss_rate = float(alpha)
    delivered = path.score(path.delivered, miss_rate)
    shipped = shipped_score(path, alpha)
    best = path.score(ramps.lower_hull().best_t(miss_rate), miss_rate)
    constant = shipped_score(path.constant(), alpha)
    if isfinite(constant) and abs(constant - shipped) <= ROUNDING * abs(constant):
        constant = shipped  # a constant band, but for rounding
    return Decomposition.of(
        delivered=delivered / unit,
        shipped=shipped / unit,
        constant=constant / unit,
        climatology=climatology(intervals, alpha) / unit,
        best=min(best, delivered, shipped) / unit,
    )


def climatology(intervals: Intervals, alpha: Fraction) -> float:
    """Smallest interval score of one interval for all rows, between the quantiles alpha/2 and 1 - alpha/2 of y_true.

    Of a single bound that of one bound for all rows, the quantile 1 - alpha (or alpha) of y_true.
    """
    y = intervals.in_units(intervals.y_true).ravel()
    weight = None if intervals._weight is None else intervals._weight.ravel()
    if intervals.side != "both":
        y = y if intervals.side == "upper" else -y
        bound = quantiles(y, weight, 1 - alpha)[0]
        return average(bound - y, weight) + average(np.maximum(y - bound, 0), weight) / float(alpha)
    lower, upper = quantiles(y, weight, alpha / 2, 1 - alpha / 2)
    outside = np.maximum(lower - y, 0) + np.maximum(y - upper, 0)
    return penalised(upper - lower, average(outside, weight), float(alpha))


def quantiles(values: Array, weight: Array | None, *shares: Fraction | float) -> list[float]:
    """Smallest values at and below which at least these shares of the weight lie; infinite for a share above 1. O(n).

    A sum of unequal weights that rounding left just below a share reaches it.
    """
    if weight is not None and not equal_weights(weight):
        return [_weighted_quantile(values, weight, float(share)) for share in shares]
    last = len(values) - 1
    places = [max(ceil(len(values) * share), 1) - 1 for share in shares]
    wanted = sorted({min(place, last) for place in places})
    ordered = np.partition(values, wanted)
    return [float(ordered[place]) if place <= last else inf for place in places]


def _weighted_quantile(values: Array, weight: Array, share: float) -> float:
    """Smallest value at and below which a share of the weight lies: halves the values until few are left."""
    need = (share - ROUNDING) * float(np.sum(weight))
    while len(values) > SHORT:
        middle = len(values) // 2
        order = np.argpartition(values, middle)
        lower = float(np.sum(weight[order[:middle]]))
        if lower >= need:
            half = order[:middle]
        else:
            half = order[middle:]
            need -= lower
        values = values[half]
        weight = weight[half]
    order = np.argsort(values, kind="stable")
    place = int(np.searchsorted(np.cumsum(weight[order]), need))
    return float(values[order[place]]) if place < len(values) else inf
