"""Scores of single rows and their means: what the score functions share."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _refusals as checks
from ._arrays import DRAW, Draws, blocks, columns, finite, refuse_missing, within_range
from ._refusals import Hint, Rule
from ._vocabulary import Array

LEAVE_OUT = "leave such rows out first"
BLOCK = (
    2**15
)  # numbers that are sorted at a time: a block and its copy fit into the cache of a core


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
        width, below, above = upper - lower, np.maximum(lower - y, 0), np.maximum(y - upper, 0)
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
    dispersion, under, over = np.zeros_like(y), above * (share / 2), below * (share / 2)
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
    total = np.zeros_like(y)
    with np.errstate(over="ignore", invalid="ignore"):
        for quantile, level, weight in zip(
            quantiles, levels.tolist(), np.diff(edges).tolist(), strict=True
        ):
            total += 2 * weight * pinball(y - quantile, level)
    _refuse_overflow(total, y, quantiles)
    return total


def crps_of_samples(y: Array, samples: Draws) -> Array:
    """CRPS of the empirical distribution of the draws on the first axis, one block of rows after the other.

    With the distances ``z_1 <= ... <= z_m`` of m draws from the observation it is
    ``2 / m^2 * sum((i - 1/2) * (-z_i)_+ + (m - i + 1/2) * (z_i)_+)``: no term is negative, so nothing cancels.
    """
    observed, draws = y.ravel(), samples.reshape(len(samples), -1)
    count, step = len(draws), max(1, BLOCK // len(draws))
    below = (np.arange(count) + 0.5) * (2 / count**2)
    above = below[::-1].copy()
    scores, buffers = np.empty(y.shape), np.empty((2, min(step, y.size), count))
    flat = scores.reshape(-1)
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
    if not np.isfinite(scores).all():
        refuse_missing(finite("samples", LEAVE_OUT)._replace(verbs=DRAW), samples)
        farthest = np.abs(samples / 2 - y / 2).argmax(axis=0, keepdims=True)
        within_range(scores, samples=np.take_along_axis(samples, farthest, axis=0)[0], y_true=y)


def refuse_crossing(
    names: str, quantiles: Sequence[Array], hint: str | Hint = "sort the quantiles of each row first"
) -> None:
    """Refuse rows whose quantiles are not in the order of their levels."""

    def first(at: Any) -> str:
        return next(
            f"{low[at]!s} > {high[at]!s}" for low, high in pairwise(quantiles) if low[at] > high[at]
        )

    crossing = np.logical_or.reduce([low > high for low, high in pairwise(quantiles)])
    checks.rows(
        crossing, Rule(names, "not cross from one level to the next", ("does", "do"), hint), first
    )
