"""Scoring: scores of rows and their means, what a model is held against, and the share it saves."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil, inf, isfinite, nan
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from . import _refusals as checks
from ._arrays import average, blocks, equal_weights
from ._door import DRAW, Draws, columns, finite, refuse_missing, within_range
from ._paths import Path
from ._ramps import Ramps
from ._refusals import Hint, Rule
from ._vocabulary import Array, Metric
from .intervals import Intervals
from .points import Decomposition

Values = TypeVar("Values", float, Array)
SHORT = 1000  # weighted values up to which a quantile sorts them all
ROUNDING = 1e-14  # share below which two scores, or two sums of weights, are the same
LEAVE_OUT = "leave such rows out first"
BLOCK = (
    2**15
)  # numbers that are sorted at a time: a block and its copy fit into the cache of a core


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
        away = average(bound - y, weight)
        deficit = average(np.maximum(y - bound, 0), weight)
        return away + deficit / float(alpha)
    lower, upper = quantiles(y, weight, alpha / 2, 1 - alpha / 2)
    outside = np.maximum(lower - y, 0) + np.maximum(y - upper, 0)
    return penalised(upper - lower, average(outside, weight), float(alpha))


def quantiles(values: Array, weight: Array | None, *shares: Fraction | float) -> list[float]:
    """Smallest values at and below which at least these shares of the weight lie; infinite for a share above 1. O(n).

    A sum of unequal weights that rounding left just below a share reaches it.
    """
    if weight is not None and not equal_weights(weight):
        return [_weighted_quantile(values, weight, float(share)) for share in shares]
    ranks = [max(ceil(len(values) * share), 1) for share in shares]
    within = sorted({min(rank, len(values)) - 1 for rank in ranks})
    ordered = np.partition(values, within)
    return [float(ordered[rank - 1]) if rank <= len(values) else inf for rank in ranks]


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


# ---- scores of single rows


class WISRows(NamedTuple):
    """Weighted interval score of each row, in three parts that add up to it."""

    dispersion: Array
    underprediction: Array
    overprediction: Array

    @property
    def score(self) -> Array:
        """The whole score of each row."""
        return self.dispersion + self.underprediction + self.overprediction


def data_columns(
    sample_weight: npt.ArrayLike | None, **data: npt.ArrayLike
) -> tuple[list[Array], Array | None]:
    """Columns of one shape, and their weights."""
    read = columns(data, sample_weight, "raise", weight_name="sample_weight", hint=LEAVE_OUT)
    return [*read.data.values()], read.weight


def distances(
    y: Array, lower: Array, upper: Array, name: str = "lower"
) -> tuple[Array, Array, Array]:
    """Width of each interval, and the distances by which an observation lies below it and above it."""
    with np.errstate(over="ignore"):
        width = upper - lower
        below = np.maximum(lower - y, 0)
        above = np.maximum(y - upper, 0)
    within_range(width, upper=upper, lower=lower)
    within_range(below + above, **{"y_true": y, name: lower})
    return width, below, above


def wis(
    y: Array, median: Array, lower: Sequence[Array], upper: Sequence[Array], alpha: Sequence[float]
) -> WISRows:
    """Weighted interval score; `lower`, `upper` and `alpha` hold one item per level.

    ``alpha / 2`` times the interval score is ``alpha / 2 * width + outside``, so nothing is divided by `alpha`. The
    median is an interval of alpha = 1 and width 0 that counts half.
    """
    share = 1 / (len(alpha) + 0.5)  # into each term, so that no sum leaves float64
    _, below, above = distances(y, median, median, "median")
    dispersion = np.zeros_like(y)
    under = above * (share / 2)
    over = below * (share / 2)
    for low, high, a in zip(lower, upper, alpha, strict=True):
        width, below, above = distances(y, low, high)
        dispersion += width * (share * a / 2)
        under += above * share
        over += below * share
    return WISRows(dispersion, under, over)


def pinball(error: Array, level: float) -> Array:
    """Pinball loss of a quantile that lies `error` below the observation."""
    return np.maximum(level * error, (level - 1) * error)


def crps_of_quantiles(y: Array, quantiles: Array, levels: Array) -> Array:
    """Twice the pinball loss over all levels: trapezoids between the given ones, constant beyond the outermost."""
    edges = np.concatenate([[0.0], (levels[:-1] + levels[1:]) / 2, [1.0]])
    weights = np.diff(edges).tolist()
    total = np.zeros_like(y)
    with np.errstate(over="ignore", invalid="ignore"):
        for quantile, level, weight in zip(quantiles, levels.tolist(), weights, strict=True):
            total += 2 * weight * pinball(y - quantile, level)
    _refuse_overflow(total, y, quantiles)
    return total


def crps_of_samples(y: Array, samples: Draws) -> Array:
    """CRPS of the empirical distribution of the draws on the first axis, one block of rows after the other.

    With the distances ``z_1 <= ... <= z_m`` of m draws from the observation it is
    ``2 / m^2 * sum((i - 1/2) * (-z_i)_+ + (m - i + 1/2) * (z_i)_+)``: no term is negative, so nothing cancels.
    """
    observed = y.ravel()
    draws = samples.reshape(len(samples), -1)
    count = len(draws)
    step = max(1, BLOCK // count)
    below = (np.arange(count) + 0.5) * (2 / count**2)
    above = below[::-1].copy()
    scores = np.empty(y.shape)
    flat = scores.reshape(-1)
    buffers = np.empty((2, min(step, y.size), count))
    with np.errstate(over="ignore", invalid="ignore"):
        for block in blocks(y.size, step):
            z, positive = buffers[:, : block.stop - block.start]
            np.subtract(draws[:, block].T, observed[block, None], out=z)
            z.sort(axis=1)
            np.maximum(z, 0, out=positive)
            z -= positive
            flat[block] = positive @ above - z @ below
    _refuse_overflow(scores, y, samples)
    return scores


def _refuse_overflow(scores: Array, y: Array, samples: Draws) -> None:
    """Refuse scores that are not finite: of draws that are not, or that lie too far from their observation."""
    if np.isfinite(scores).all():
        return
    refuse_missing(finite("samples", LEAVE_OUT)._replace(verbs=DRAW), samples)
    place = np.abs(samples / 2 - y / 2).argmax(axis=0, keepdims=True)
    farthest = np.take_along_axis(samples, place, axis=0)[0]
    within_range(scores, samples=farthest, y_true=y)


def refuse_crossing(
    names: str,
    quantiles: Sequence[Array],
    hint: str | Hint = "sort the quantiles of each row first",
) -> None:
    """Refuse rows whose quantiles are not in the order of their levels."""
    neighbours = list(pairwise(quantiles))

    def first(at: Any) -> str:
        low, high = next(pair for pair in neighbours if pair[0][at] > pair[1][at])
        return f"{low[at]!s} > {high[at]!s}"

    crossing = np.zeros(quantiles[0].shape, np.bool_)
    for low, high in neighbours:
        crossing |= low > high
    rule = Rule(names, "not cross from one level to the next", ("does", "do"), hint)
    checks.rows(crossing, rule, first)
