"""Scores: the same answers as plain functions, in scikit-learn's manner."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _checks as checks
from ._arrays import ascending
from ._checks import HEADLINE, Array, Axes, Range, Unit, Vary
from ._distribution_scores import WISDecomposition, crps_score, pinball_score, wis_decomposition, wis_score
from ._rowscores import average, data_columns, distances
from ._scoring import penalised
from .curve import UCC
from .intervals import Intervals

__all__ = [
    "WISDecomposition",
    "auucc_gain_score",
    "auucc_score",
    "bandwidth_score",
    "coverage_score",
    "crps_score",
    "deficit_score",
    "excess_score",
    "interval_score",
    "miss_rate_score",
    "pinball_score",
    "skill_score",
    "ucc_curve",
    "wis_decomposition",
    "wis_score",
]


def ucc_curve(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    axes: Axes = HEADLINE,
    vary: Vary = "scale",
    unit: Unit = "raw",
    sample_weight: ArrayLike | None = None,
    min_band: float | str | None = None,
) -> tuple[Array, Array, Array]:
    """Points of the curve and the scales (or shifts) they belong to, like ``sklearn.metrics.roc_curve``. O(n log n).

    Several outputs make one curve, of the flattened rows.

    Returns
    -------
    x, y, scales : read-only arrays

    Examples
    --------
    >>> x, y, scales = ucc_curve([1, 2, 4], y_pred=[0, 0, 0], lower=[-1, -1, -4], upper=[1, 1, 4])
    >>> x.tolist(), y.round(3).tolist(), scales.tolist()
    ([0.0, 2.0, 4.0], [1.0, 0.333, 0.0], [0.0, 1.0, 2.0])
    """
    points = _curve((y_true, y_pred, lower, upper), sample_weight, min_band, vary).points(axes=axes, unit=unit)
    return points.x, points.y, getattr(points, vary)


def auucc_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    axes: Axes = HEADLINE,
    vary: Vary = "scale",
    unit: Unit = "raw",
    miss_rate: Range | None = None,
    sample_weight: ArrayLike | None = None,
    min_band: float | str | None = None,
) -> float:
    """Area under the curve, whole or over a range of the miss rate; smaller is better. O(n) on the headline axes.

    Several outputs make one curve, of the flattened rows.

    Parameters
    ----------
    y_true, y_pred, lower, upper : array_like, of shape (n,) or (n, outputs)
    axes, vary, unit, miss_rate, min_band
        As in `UCC.area` and `Intervals.from_bounds`.
    sample_weight : array_like, optional
        One weight per row.

    Examples
    --------
    >>> auucc_score([1, 2, 4], y_pred=[0, 0, 0], lower=[-1, -1, -4], upper=[1, 1, 4])
    2.6666666666666665
    """
    curve = _curve((y_true, y_pred, lower, upper), sample_weight, min_band, vary)
    return curve.area(axes=axes, unit=unit, miss_rate=miss_rate)


def auucc_gain_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    axes: Axes = HEADLINE,
    vary: Vary = "scale",
    miss_rate: Range | None = None,
    sample_weight: ArrayLike | None = None,
    min_band: float | str | None = None,
) -> float:
    """Share of the constant band's area that the intervals save; larger is better. Parameters as in `auucc_score`.

    Examples
    --------
    >>> y_true, zeros, bands = [1, 2, 4], [0, 0, 0], [1, 2, 4]
    >>> round(auucc_gain_score(y_true, zeros, [-1, -2, -4], bands, axes=("bandwidth", "deficit")), 3)
    0.222
    """
    return _curve((y_true, y_pred, lower, upper), sample_weight, min_band, vary).gain(axes=axes, miss_rate=miss_rate)


def skill_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    vary: Vary = "scale",
    sample_weight: ArrayLike | None = None,
    min_band: float | str | None = None,
) -> float:
    """Share of the constant band's potential CRPS that the intervals save; larger is better. O(n log n).

    It is `UCC.skill`: how much better the intervals are than equal ones around the same predictions, where each
    coverage may use its own best scale (or shift). Parameters as in `auucc_score`.

    Examples
    --------
    >>> y_true, zeros, bands = [1, 2, 4], [0, 0, 0], [1, 2, 4]
    >>> round(skill_score(y_true, zeros, [-1, -2, -4], bands), 3)
    0.222
    """
    return _curve((y_true, y_pred, lower, upper), sample_weight, min_band, vary).skill()


def bandwidth_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    min_band: float | str | None = None,
) -> float:
    """Half the mean width of the intervals. O(n).

    >>> bandwidth_score([1, 2], y_pred=[0, 0], lower=[-1, -2], upper=[1, 4])
    2.0
    """
    return _curve((y_true, y_pred, lower, upper), sample_weight, min_band).at(1.0).bandwidth


def excess_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    min_band: float | str | None = None,
) -> float:
    """Mean distance from covered observations to their nearer bound; missed ones count 0. O(n).

    >>> excess_score([1, 5], y_pred=[0, 0], lower=[-1, -2], upper=[4, 4])  # 2 to the lower bound; the 5 is missed
    1.0
    """
    return _curve((y_true, y_pred, lower, upper), sample_weight, min_band).at(1.0).excess


def deficit_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    min_band: float | str | None = None,
) -> float:
    """Mean distance from missed observations to their nearer bound; covered ones count 0. O(n).

    >>> deficit_score([1, 5], y_pred=[0, 0], lower=[-1, -2], upper=[4, 4])  # the 5 lies 1 above its bound
    0.5
    """
    return _curve((y_true, y_pred, lower, upper), sample_weight, min_band).at(1.0).deficit


def miss_rate_score(
    y_true: ArrayLike, lower: ArrayLike, upper: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Share of observations that lie outside their interval; a value on a bound is inside. O(n).

    >>> miss_rate_score([1, 2, 9, 4], lower=[0, 0, 0, 4], upper=[2, 4, 6, 8])  # only the 9 is outside
    0.25
    """
    (y, low, high), weight = _bounds(y_true, lower, upper, sample_weight)
    return average((y < low) | (y > high), weight)


def coverage_score(
    y_true: ArrayLike, lower: ArrayLike, upper: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Share of observations that lie inside their interval; a value on a bound is inside. O(n).

    >>> coverage_score([1, 2, 9, 4], lower=[0, 0, 0, 4], upper=[2, 4, 6, 8])  # only the 9 is outside
    0.75
    """
    (y, low, high), weight = _bounds(y_true, lower, upper, sample_weight)
    return average((low <= y) & (y <= high), weight)


def interval_score(
    y_true: ArrayLike, lower: ArrayLike, upper: ArrayLike, *, alpha: float, sample_weight: ArrayLike | None = None
) -> float:
    """Mean of width + (2 / alpha) x distance outside, for intervals meant to miss a share `alpha`. O(n).

    Smaller is better. It is ``2 * bandwidth + (2 / alpha) * deficit``, a proper score of the quantiles alpha/2 and
    1 - alpha/2.

    References
    ----------
    Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and Estimation, section 6.2.

    Examples
    --------
    >>> interval_score([1, 5], lower=[-1, -2], upper=[4, 4], alpha=0.5)  # widths 5 and 6, and 4 times 1 / 2
    7.5
    """
    alpha = checks.real("alpha", alpha, 0, 1)
    if alpha == 0:
        raise ValueError("`alpha` must be above 0: it is the share of observations that the intervals may miss.")
    (y, low, high), weight = _bounds(y_true, lower, upper, sample_weight)
    width, below, above = distances(y, low, high)
    with np.errstate(over="ignore"):  # a tiny `alpha` may take the score out of float64
        return average(penalised(width, below + above, alpha), weight)


def _curve(data: tuple[ArrayLike, ...], sample_weight: Any, min_band: Any, vary: Vary = "scale") -> UCC:
    """Curve of observations, predictions, lower and upper bounds."""
    columns, weight = data_columns(
        sample_weight, **dict(zip(("y_true", "y_pred", "lower", "upper"), data, strict=True))
    )
    return UCC(Intervals.from_bounds(*columns, weight=weight, min_band=min_band), vary=vary)


def _bounds(y_true: ArrayLike, lower: ArrayLike, upper: ArrayLike, sample_weight: Any) -> tuple[list[Array], Any]:
    """Observations, intervals that are not upside down, and weights."""
    columns, weight = data_columns(sample_weight, y_true=y_true, lower=lower, upper=upper)
    ascending(*columns[1:])
    return columns, weight
