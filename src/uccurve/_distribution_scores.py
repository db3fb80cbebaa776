"""Scores of predictive distributions, given as draws, quantiles or intervals at several levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _checks as checks
from . import _rowscores as rowscores
from ._arrays import Indices, finite, first_axis, floats, refuse_missing, within_range
from ._checks import Array, Rule
from ._rowscores import LEAVE_OUT, average, data_columns
from .points import short_repr


@dataclass(frozen=True, slots=True, repr=False)
class WISDecomposition:
    """Weighted interval score and its three parts, which add up to it.

    Attributes
    ----------
    score : float
    dispersion : float
        What the width of the intervals contributes.
    underprediction, overprediction : float
        What observations above and below the intervals contribute, and those above and below the median.
    """

    score: float
    dispersion: float
    underprediction: float
    overprediction: float

    __repr__ = short_repr


def pinball_score(
    y_true: npt.ArrayLike,
    y_quantile: npt.ArrayLike,
    *,
    quantile: float,
    sample_weight: npt.ArrayLike | None = None,
) -> float:
    """Mean pinball loss of a predicted quantile; smaller is better. O(n).

    An observation above the prediction costs `quantile` times its distance, one below ``1 - quantile`` times. It is
    ``sklearn.metrics.mean_pinball_loss``, and half the absolute error where `quantile` is 0.5.

    Parameters
    ----------
    y_true, y_quantile : array_like, of shape (n,) or (n, outputs)
    quantile : float
        Which quantile was predicted, between 0 and 1: 0.95 for the 95% quantile.
    sample_weight : array_like, optional

    Examples
    --------
    >>> pinball_score([1, 5], y_quantile=[3, 4], quantile=0.75)  # 0.25 x 2 and 0.75 x 1
    0.625
    """
    level = checks.inside_unit("quantile", quantile)
    (y, predicted), weight = data_columns(sample_weight, y_true=y_true, y_quantile=y_quantile)
    with np.errstate(over="ignore"):
        error = y - predicted
    within_range(error, y_true=y, y_quantile=predicted)
    return average(rowscores.pinball(error, level), weight)


def crps_score(
    y_true: npt.ArrayLike,
    samples: npt.ArrayLike,
    *,
    quantile_levels: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
) -> float:
    """Mean continuous ranked probability score (CRPS) of predictive distributions; smaller is better.

    Parameters
    ----------
    y_true : array_like, of shape (n,) or (n, outputs)
    samples : array_like
        Draws on the first axis, then the shape of `y_true`. The draws are the distribution: the score is exact for
        them, in O(m log m) per row, and needs little memory beside them.
    quantile_levels : array_like, optional
        With it, the first axis of `samples` holds predicted quantiles instead, at these increasing levels between 0
        and 1.
    sample_weight : array_like, optional

    Notes
    -----
    Draws ``x_1, ..., x_m`` of one row have the score
    ``mean |x_i - y| - 1/2 mean |x_i - x_j|``, the second mean over all ``m^2`` pairs. (Some libraries divide by
    ``m (m - 1)``, the "fair" score of an ensemble: it estimates what infinitely many draws would score.)

    The CRPS is twice the integral of the pinball loss over all levels. Quantiles ``q_k`` at levels ``p_k`` have the
    score ``2 * sum w_k pinball(y, q_k, p_k)``, where ``w_k`` is the distance between the midpoints to the neighbouring
    levels, and the first and the last reach to 0 and 1: the trapezoidal rule between the levels, and the outermost
    loss carried to the ends. The m sorted draws as quantiles at ``(i - 1/2) / m`` have the same score as draws.
    `wis_score` gives all its quantiles equal weights instead.

    References
    ----------
    Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and Estimation, section 4.2.
    Laio and Tamea (2007), Verification tools for probabilistic forecasts of continuous hydrological variables.

    Examples
    --------
    >>> crps_score([1, 5], samples=[[0, 5], [2, 5]])  # 1 - 1/2, and both draws at the observation
    0.25
    >>> crps_score([1, 5], samples=[[0, 5], [2, 5]], quantile_levels=[0.25, 0.75])
    0.25
    """
    (y,), weight = data_columns(sample_weight, y_true=y_true)
    if quantile_levels is None:
        return average(rowscores.crps_of_samples(y, first_axis("draws", samples, y.shape)), weight)
    levels = _quantile_levels(quantile_levels)
    quantiles = floats("samples", first_axis("one quantile per level", samples, y.shape, len(levels)))
    refuse_missing(finite("samples", LEAVE_OUT), quantiles)
    refuse_crossing("samples", list(quantiles))
    return average(rowscores.crps_of_quantiles(y, quantiles, levels), weight)


def wis_score(
    y_true: npt.ArrayLike,
    median: npt.ArrayLike,
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    *,
    levels: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None = None,
) -> float:
    """Mean weighted interval score (WIS) of a median and central intervals at several levels; smaller is better. O(n).

    Parameters
    ----------
    y_true, median : array_like, of shape (n,) or (n, outputs)
    lower, upper : array_like
        Bounds in the shape of `y_true`, then one column per level.
    levels : array_like
        Coverage that each column promises, in any order: 0.9 lies between the quantiles 0.05 and 0.95.
    sample_weight : array_like, optional

    Notes
    -----
    With ``alpha_k = 1 - level_k`` and the interval score ``S`` of `interval_score`, K levels have the score
    ``(|y - median| / 2 + sum alpha_k / 2 * S_k) / (K + 1/2)``. It is twice the mean pinball loss of the ``2 K + 1``
    quantiles, and tends to the CRPS for many evenly spaced levels. `wis_decomposition` splits it.

    References
    ----------
    Bracher, Ray, Gneiting and Reich (2021), Evaluating epidemic forecasts in an interval format, PLOS Computational
    Biology 17(2), e1008618.

    Examples
    --------
    >>> wis_score([5], median=[3], lower=[[2, 0]], upper=[[4, 6]], levels=[0.5, 0.9])  # (1 + 1.5 + 0.3) / 2.5
    1.12
    """
    parts, weight = _wis_rows(y_true, median, (lower, upper), levels, sample_weight)
    return average(parts.score, weight)


def wis_decomposition(
    y_true: npt.ArrayLike,
    median: npt.ArrayLike,
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    *,
    levels: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None = None,
) -> WISDecomposition:
    """Split the weighted interval score into dispersion, underprediction and overprediction.

    Parameters as in `wis_score`; several outputs are averaged.

    Examples
    --------
    >>> wis_decomposition([5], median=[3], lower=[[2, 0]], upper=[[4, 6]], levels=[0.5, 0.9])
    WISDecomposition(score=1.12, dispersion=0.32, underprediction=0.8, overprediction=0)
    """
    parts, weight = _wis_rows(y_true, median, (lower, upper), levels, sample_weight)
    return WISDecomposition(*(average(part, weight) for part in (parts.score, *parts)))


def _wis_rows(
    y_true: Any, median: Any, bounds: tuple[Any, Any], levels: Any, sample_weight: Any
) -> tuple[rowscores.WISRows, Array | None]:
    """Parts of each row's score, and the weights of the rows."""
    (y, middle), weight = data_columns(sample_weight, y_true=y_true, median=median)
    promised = _levels("levels", levels)
    order = np.argsort(promised)
    if (twice := np.diff(promised[order]) == 0).any():
        raise ValueError(f"`levels` must differ from each other; {promised[order][:-1][twice][0]:g} comes twice.")
    lower = _level_columns("lower", bounds[0], y.shape, order)
    upper = _level_columns("upper", bounds[1], y.shape, order)
    refuse_crossing("lower`, `median` and `upper", [*lower[::-1], middle, *upper])
    alpha = [float(1 - checks.as_written(level)) for level in promised[order].tolist()]
    return rowscores.wis(y, middle, lower, upper, alpha), weight


def _level_columns(name: str, bounds: npt.ArrayLike, shape: tuple[int, ...], order: Indices) -> list[Array]:
    """Bounds of each level, from the lowest level to the highest."""
    array, wanted = floats(name, bounds), (*shape, len(order))
    if array.shape != wanted:
        raise ValueError(
            f"`{name}` must have the shape of `y_true`, then one column per level: {array.shape} against {wanted}."
        )
    refuse_missing(finite(name, LEAVE_OUT), array, axis=-1)
    return [array[..., column] for column in order]


def _quantile_levels(value: npt.ArrayLike) -> Array:
    levels = _levels("quantile_levels", value)
    if len(levels) < 2:
        raise ValueError(
            "`quantile_levels` must hold at least two levels: one quantile is no distribution. "
            "Hint: `pinball_score` scores a single quantile."
        )
    if (wrong := np.diff(levels) <= 0).any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"`quantile_levels` must increase; {levels[at]:g} is followed by {levels[at + 1]:g}. "
            "Hint: sort levels and quantiles together."
        )
    return levels


def _levels(name: str, value: npt.ArrayLike) -> Array:
    levels = floats(name, value)
    if levels.ndim != 1 or not len(levels):
        raise ValueError(f"`{name}` must be a list of numbers between 0 and 1; got {checks.shown(value)}.")
    for level in levels.tolist():
        checks.inside_unit(name, level)
    return levels


def refuse_crossing(names: str, quantiles: Sequence[Array], hint: str = "sort the quantiles of each row first") -> None:
    """Refuse rows whose quantiles are not in the order of their levels."""

    def first(at: Any) -> str:
        return next(f"{low[at]!s} > {high[at]!s}" for low, high in pairwise(quantiles) if low[at] > high[at])

    crossing = np.logical_or.reduce([low > high for low, high in pairwise(quantiles)])
    checks.rows(crossing, Rule(names, "not cross from one level to the next", ("does", "do"), hint), first)
