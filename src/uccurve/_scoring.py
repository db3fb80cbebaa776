"""Scoring: interval scores, what a model is held against, and the share it saves."""

from collections.abc import Mapping
from fractions import Fraction
from math import ceil
from typing import TypeVar

import numpy as np

from ._arrays import average, equal_weights
from ._paths import Path
from ._vocabulary import Array, Metric
from .intervals import Intervals
from .points import Decomposition

Values = TypeVar("Values", float, Array)


def penalised(width: Values, outside: Values, alpha: float) -> Values:
    """Interval score of a width and a distance outside, of single rows or of means over rows."""
    return width + 2 * (outside / alpha)


def interval_score(point: Mapping[Metric, float], alpha: float) -> float:
    """Interval score of metrics at one operating point."""
    return penalised(2 * point["bandwidth"], point["deficit"], alpha)


def saved_share(theirs: float, mine: float, negligible: float = 0.0) -> float:
    """Share of a reference's area or score that is saved; what is at most `negligible` counts as 0."""
    if theirs <= negligible:
        return float("nan") if mine <= negligible else -np.inf
    return (theirs - mine) / theirs if np.isfinite(theirs) else (1.0 if np.isfinite(mine) else float("nan"))


def rows_carrying(share: float, parts: Array) -> int:
    """Smallest number of rows, at least one, whose parts add up to a share of all; 0 where all parts are 0."""
    running = np.cumsum(-np.sort(-parts))
    need = share * running[-1] if share else 0.0
    return int(np.searchsorted(running, need)) + 1 if running[-1] > 0 else 0


def decomposition(path: Path, intervals: Intervals, alpha: Fraction, t: float, unit: float) -> Decomposition:
    """What makes up the interval score as delivered; `t` minimises the score, `unit` is the caller's."""
    size = path.unit / unit
    score, best = (interval_score(path.at(place), float(alpha)) * size for place in (path.delivered, t))
    if best >= score:  # no t is better than the delivered one, up to rounding
        best, t = score, path.delivered
    (width,) = quantiles(path.error, path.weight, 1 - alpha)  # the half-width of the best constant band
    constant = size * penalised(2 * width, path.mean(np.maximum(path.error - width, 0)), float(alpha))
    overall = climatology(intervals, alpha) / unit
    if abs(constant - best) <= 1e-14 * constant:
        constant = best  # a constant band, but for rounding
    return Decomposition.of(score, best, t * path.t_unit, uncertainty=constant, climatology=overall)


def climatology(intervals: Intervals, alpha: Fraction) -> float:
    """Smallest interval score of one interval for all rows, between the quantiles alpha/2 and 1 - alpha/2 of y_true."""
    y, weight = intervals.y_true.ravel(), None if intervals._weight is None else intervals._weight.ravel()
    lower, upper = quantiles(y, weight, alpha / 2, 1 - alpha / 2)
    with np.errstate(over="ignore"):  # in halves, which are exact: a distance may be twice the largest float
        outside = np.maximum(lower / 2 - y / 2, 0) + np.maximum(y / 2 - upper / 2, 0)
        return penalised(upper - lower, 2 * average(outside, weight), float(alpha))


def quantiles(values: Array, weight: Array | None, *shares: Fraction | float) -> list[float]:
    """Smallest values at and below which at least these shares of the weight lie; infinite for a share above 1. O(n).

    A sum of unequal weights that rounding left just below a share reaches it.
    """
    if weight is not None and not equal_weights(weight):
        return [_weighted_quantile(values, weight, float(share)) for share in shares]
    places = [max(ceil(len(values) * share), 1) - 1 for share in shares]
    ordered = np.partition(values, sorted({place for place in places if place < len(values)} or {0}))
    return [float(ordered[place]) if place < len(values) else np.inf for place in places]


def _weighted_quantile(values: Array, weight: Array, share: float) -> float:
    """Smallest value at and below which a share of the weight lies: halves the values until few are left."""
    need = (share - 1e-14) * float(np.sum(weight))
    while len(values) > 1000:
        middle = len(values) // 2
        order = np.argpartition(values, middle)
        lower = float(np.sum(weight[order[:middle]]))
        half = order[:middle] if lower >= need else order[middle:]
        need -= 0.0 if lower >= need else lower
        values, weight = values[half], weight[half]
    order = np.argsort(values, kind="stable")
    place = int(np.searchsorted(np.cumsum(weight[order]), need))
    return float(values[order[place]]) if place < len(values) else np.inf
