"""Scores: the same answers as plain functions, in scikit-learn's manner."""

from __future__ import annotations

from collections.abc import Callable

import numpy.typing as npt

from . import _checks as checks
from ._checks import HEADLINE, Array, Axes, Metric, Range, Unit, Vary
from ._distribution_scores import WISDecomposition, crps_score, pinball_score, wis_decomposition, wis_score
from ._rowscores import Multioutput, Score, average, bounds, data_columns, interval, over_outputs
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
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    *,
    axes: Axes = HEADLINE,
    vary: Vary = "scale",
    unit: Unit = "raw",
    sample_weight: npt.ArrayLike | None = None,
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
    intervals = Intervals.from_bounds(y_true, y_pred, lower, upper, weight=sample_weight, min_band=min_band)
    points = UCC(intervals, vary=vary).points(axes=axes, unit=unit)
    return points.x, points.y, getattr(points, vary)


def auucc_score(
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    *,
    axes: Axes = HEADLINE,
    vary: Vary = "scale",
    unit: Unit = "raw",
    miss_rate: Range | None = None,
    sample_weight: npt.ArrayLike | None = None,
    multioutput: Multioutput = "uniform_average",
    min_band: float | str | None = None,
) -> Score:
    """Area under the curve, whole or over a range of the miss rate; smaller is better. O(n) on the headline axes.

    Parameters
    ----------
    y_true, y_pred, lower, upper : array_like, of shape (n,) or (n, outputs)
    axes, vary, unit, miss_rate, min_band
        As in `UCC.area` and `Intervals.from_bounds`.
    sample_weight : array_like of shape (n,), optional
    multioutput : {"uniform_average", "raw_values"} or array_like of output weights
        Mean of the outputs' scores, all of them, or their weighted mean. (`UCC` of two-dimensional data pools
        the outputs into one curve instead.)

    Examples
    --------
    >>> auucc_score([1, 2, 4], y_pred=[0, 0, 0], lower=[-1, -1, -4], upper=[1, 1, 4])
    2.6666666666666665
    """

    def one(intervals: Intervals) -> float:
        return UCC(intervals, vary=vary).area(axes=axes, unit=unit, miss_rate=miss_rate)

    return _each_output(one, (y_true, y_pred, lower, upper), sample_weight, multioutput, min_band)


def auucc_gain_score(
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    *,
    axes: Axes = HEADLINE,
    vary: Vary = "scale",
    miss_rate: Range | None = None,
    sample_weight: npt.ArrayLike | None = None,
    multioutput: Multioutput = "uniform_average",
    min_band: float | str | None = None,
) -> Score:
    """Share of the constant band's area that the intervals save; larger is better. Parameters as in `auucc_score`.

    Examples
    --------
    >>> y_true, zeros, bands = [1, 2, 4], [0, 0, 0], [1, 2, 4]
    >>> round(auucc_gain_score(y_true, zeros, [-1, -2, -4], bands, axes=("bandwidth", "deficit")), 3)
    0.222
    """

    def one(intervals: Intervals) -> float:
        return UCC(intervals, vary=vary).gain(axes=axes, miss_rate=miss_rate)

    return _each_output(one, (y_true, y_pred, lower, upper), sample_weight, multioutput, min_band)


def skill_score(
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    *,
    vary: Vary = "scale",
    sample_weight: npt.ArrayLike | None = None,
    multioutput: Multioutput = "uniform_average",
    min_band: float | str | None = None,
) -> Score:
    """Share of the constant band's potential CRPS that the intervals save; larger is better. O(n log n).

    It is `UCC.skill`: how much better the intervals are than equal ones around the same predictions, where each
    coverage may use its own best scale (or shift). Parameters as in `auucc_score`.

    Examples
    --------
    >>> y_true, zeros, bands = [1, 2, 4], [0, 0, 0], [1, 2, 4]
    >>> round(skill_score(y_true, zeros, [-1, -2, -4], bands), 3)
    0.222
    """

    def one(intervals: Intervals) -> float:
        return UCC(intervals, vary=vary).skill()

    return _each_output(one, (y_true, y_pred, lower, upper), sample_weight, multioutput, min_band)


def bandwidth_score(
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    *,
    sample_weight: npt.ArrayLike | None = None,
    multioutput: Multioutput = "uniform_average",
    min_band: float | str | None = None,
) -> Score:
    """Half the mean width of the intervals. O(n).

    >>> bandwidth_score([1, 2], y_pred=[0, 0], lower=[-1, -2], upper=[1, 4])
    2.0
    """
    return _metric("bandwidth", (y_true, y_pred, lower, upper), sample_weight, multioutput, min_band)


def excess_score(
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    *,
    sample_weight: npt.ArrayLike | None = None,
    multioutput: Multioutput = "uniform_average",
    min_band: float | str | None = None,
) -> Score:
    """Mean distance from covered observations to their nearer bound; missed ones count 0. O(n).

    >>> excess_score([1, 5], y_pred=[0, 0], lower=[-1, -2], upper=[4, 4])  # 2 to the lower bound; the 5 is missed
    1.0
    """
    return _metric("excess", (y_true, y_pred, lower, upper), sample_weight, multioutput, min_band)


def deficit_score(
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    *,
    sample_weight: npt.ArrayLike | None = None,
    multioutput: Multioutput = "uniform_average",
    min_band: float | str | None = None,
) -> Score:
    """Mean distance from missed observations to their nearer bound; covered ones count 0. O(n).

    >>> deficit_score([1, 5], y_pred=[0, 0], lower=[-1, -2], upper=[4, 4])  # the 5 lies 1 above its bound
    0.5
    """
    return _metric("deficit", (y_true, y_pred, lower, upper), sample_weight, multioutput, min_band)


def miss_rate_score(
    y_true: npt.ArrayLike,
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    *,
    sample_weight: npt.ArrayLike | None = None,
    multioutput: Multioutput = "uniform_average",
) -> Score:
    """Share of observations that lie outside their interval; a value on a bound is inside. O(n).

    >>> miss_rate_score([1, 2, 9, 4], lower=[0, 0, 0, 4], upper=[2, 4, 6, 8])  # only the 9 is outside
    0.25
    """
    (y, low, high), weight = bounds(y_true, lower, upper, sample_weight)
    return average((y < low) | (y > high), weight, multioutput)


def coverage_score(
    y_true: npt.ArrayLike,
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    *,
    sample_weight: npt.ArrayLike | None = None,
    multioutput: Multioutput = "uniform_average",
) -> Score:
    """Share of observations that lie inside their interval; a value on a bound is inside. O(n).

    >>> coverage_score([1, 2, 9, 4], lower=[0, 0, 0, 4], upper=[2, 4, 6, 8])  # only the 9 is outside
    0.75
    """
    (y, low, high), weight = bounds(y_true, lower, upper, sample_weight)
    return average((low <= y) & (y <= high), weight, multioutput)


def interval_score(
    y_true: npt.ArrayLike,
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    *,
    alpha: float,
    sample_weight: npt.ArrayLike | None = None,
    multioutput: Multioutput = "uniform_average",
) -> Score:
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
    (y, low, high), weight = bounds(y_true, lower, upper, sample_weight)
    return average(interval(y, low, high, alpha), weight, multioutput)


def _metric(
    name: Metric,
    data: tuple[npt.ArrayLike, ...],
    weight: npt.ArrayLike | None,
    multioutput: Multioutput,
    min_band: float | str | None,
) -> Score:
    def one(intervals: Intervals) -> float:
        return float(getattr(UCC(intervals).at(1.0), name))

    return _each_output(one, data, weight, multioutput, min_band)


def _each_output(
    one: Callable[[Intervals], float],
    data: tuple[npt.ArrayLike, ...],
    sample_weight: npt.ArrayLike | None,
    multioutput: Multioutput,
    min_band: float | str | None,
) -> Score:
    """Score each column of two-dimensional data by itself, then average as asked."""
    arrays, weight = data_columns(("y_true", "y_pred", "lower", "upper"), data, sample_weight)
    each = zip(*(array.reshape(len(array), -1).T for array in arrays), strict=True)
    return over_outputs(
        [one(Intervals.from_bounds(*one_output, weight=weight, min_band=min_band)) for one_output in each], multioutput
    )
