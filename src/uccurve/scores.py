"""Scores: the same answers as plain functions, in scikit-learn's manner."""

from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from . import _refusals as checks
from . import _scoring as rows
from ._arrays import Indices, average
from ._door import ascending, finite, first_axis, floats, refuse_missing, within_range
from ._vocabulary import HEADLINE, Array, Axes, Range, Unit, Vary
from .curve import UCC
from .intervals import Intervals

__all__ = [
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
    "wis_score",
]


class RowOptions(TypedDict, total=False):
    """What every score of predictions with their intervals takes; `min_band` as in `Intervals.from_bounds`."""

    sample_weight: ArrayLike | None
    min_band: float | str | None


class CurveOptions(RowOptions, total=False):
    """What every score of a curve takes; `vary` as in `UCC`."""

    vary: Vary


def ucc_curve(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    axes: Axes = HEADLINE,
    unit: Unit = "raw",
    **options: Unpack[CurveOptions],
) -> tuple[Array, Array, Array]:
    """Points of the curve and the scales (or shifts) they belong to, like ``sklearn.metrics.roc_curve``. O(n log n).

    Several outputs make one curve, of the flattened rows. Parameters as in `auucc_score`.

    Returns
    -------
    x, y, scales : read-only arrays

    Examples
    --------
    >>> x, y, scales = ucc_curve([1, 2, 4], y_pred=[0, 0, 0], lower=[-1, -1, -4], upper=[1, 1, 4])
    >>> x.tolist(), y.round(3).tolist(), scales.tolist()
    ([0.0, 2.0, 4.0], [1.0, 0.333, 0.0], [0.0, 1.0, 2.0])
    """
    points = _curve(y_true, y_pred, lower, upper, **options).points(axes=axes, unit=unit)
    return points.x, points.y, getattr(points, options.get("vary", "scale"))


def auucc_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    axes: Axes = HEADLINE,
    unit: Unit = "raw",
    miss_rate: Range | None = None,
    **options: Unpack[CurveOptions],
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

    Notes
    -----
    On miss_rate vs. bandwidth the area is ``b * mean(r / a)``, on deficit vs. bandwidth ``b * mean(r**2 / a) / 2``,
    with b the mean half-width, r the absolute errors and a the bands on their side.

    Examples
    --------
    >>> auucc_score([1, 2, 4], y_pred=[0, 0, 0], lower=[-1, -1, -4], upper=[1, 1, 4])
    2.6666666666666665
    """
    curve = _curve(y_true, y_pred, lower, upper, **options)
    return curve.area(axes=axes, unit=unit, miss_rate=miss_rate)


def auucc_gain_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    axes: Axes = HEADLINE,
    miss_rate: Range | None = None,
    **options: Unpack[CurveOptions],
) -> float:
    """Share of the constant band's area that the intervals save; larger is better. Parameters as in `auucc_score`.

    Notes
    -----
    ``1 - area / area of the constant band``, on the same rows, axes and range.

    Examples
    --------
    >>> y_true, zeros, bands = [1, 2, 4], [0, 0, 0], [1, 2, 4]
    >>> round(
    ...     auucc_gain_score(y_true, zeros, [-1, -2, -4], bands, axes=("bandwidth", "deficit")), 3
    ... )
    0.222
    """
    return _curve(y_true, y_pred, lower, upper, **options).gain(axes=axes, miss_rate=miss_rate)


def skill_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    **options: Unpack[CurveOptions],
) -> float:
    """Share of the constant band's potential CRPS that the intervals save; larger is better. O(n log n).

    It is `UCC.skill`: how much better the intervals are than equal ones around the same predictions, where each
    coverage may use its own best scale (or shift). Parameters as in `auucc_score`.

    Notes
    -----
    ``1 - W / W_constant`` with the potential CRPS ``W`` of `UCC.potential_crps`.

    Examples
    --------
    >>> y_true, zeros, bands = [1, 2, 4], [0, 0, 0], [1, 2, 4]
    >>> round(skill_score(y_true, zeros, [-1, -2, -4], bands), 3)
    0.222
    """
    return _curve(y_true, y_pred, lower, upper, **options).skill()


def bandwidth_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    **options: Unpack[RowOptions],
) -> float:
    """Half the mean width of the intervals. O(n).

    `sample_weight` and `min_band` as in `auucc_score`.

    >>> bandwidth_score([1, 2], y_pred=[0, 0], lower=[-1, -2], upper=[1, 4])
    2.0
    """
    return _curve(y_true, y_pred, lower, upper, **options).at(1.0).bandwidth


def excess_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    **options: Unpack[RowOptions],
) -> float:
    """Mean distance from covered observations to their nearer bound; missed ones count 0. O(n).

    `sample_weight` and `min_band` as in `auucc_score`.

    >>> excess_score(
    ...     [1, 5], y_pred=[0, 0], lower=[-1, -2], upper=[4, 4]
    ... )  # 2 to the lower bound; the 5 is missed
    1.0
    """
    return _curve(y_true, y_pred, lower, upper, **options).at(1.0).excess


def deficit_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    **options: Unpack[RowOptions],
) -> float:
    """Mean distance from missed observations to their nearer bound; covered ones count 0. O(n).

    `sample_weight` and `min_band` as in `auucc_score`.

    >>> deficit_score(
    ...     [1, 5], y_pred=[0, 0], lower=[-1, -2], upper=[4, 4]
    ... )  # the 5 lies 1 above its bound
    0.5
    """
    return _curve(y_true, y_pred, lower, upper, **options).at(1.0).deficit


def miss_rate_score(
    y_true: ArrayLike, lower: ArrayLike, upper: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Share of observations that lie outside their interval; a value on a bound is inside. O(n).

    >>> miss_rate_score(
    ...     [1, 2, 9, 4], lower=[0, 0, 0, 4], upper=[2, 4, 6, 8]
    ... )  # only the 9 is outside
    0.25
    """
    (y, low, high), weight = _bounds(y_true, lower, upper, sample_weight)
    return average((y < low) | (y > high), weight)


def coverage_score(
    y_true: ArrayLike, lower: ArrayLike, upper: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Share of observations that lie inside their interval; a value on a bound is inside. O(n).

    >>> coverage_score(
    ...     [1, 2, 9, 4], lower=[0, 0, 0, 4], upper=[2, 4, 6, 8]
    ... )  # only the 9 is outside
    0.75
    """
    (y, low, high), weight = _bounds(y_true, lower, upper, sample_weight)
    return average((low <= y) & (y <= high), weight)


def interval_score(
    y_true: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    coverage: float,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean of width + (2 / alpha) × distance outside, for intervals meant to miss a share alpha = 1 - coverage. O(n).

    Smaller is better. It is ``2 * bandwidth + (2 / alpha) * deficit``, a proper score of the quantiles alpha/2 and
    1 - alpha/2.

    References
    ----------
    Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and Estimation, section 6.2.

    Examples
    --------
    >>> interval_score(
    ...     [1, 5], lower=[-1, -2], upper=[4, 4], coverage=0.5
    ... )  # widths 5 and 6, and 4 times 1 / 2
    7.5
    """
    alpha = float(checks.miss_rate_of(coverage))
    (y, low, high), weight = _bounds(y_true, lower, upper, sample_weight)
    width, below, above = rows.distances(y, low, high)
    with np.errstate(over="ignore"):  # a tiny alpha may take the score out of float64
        return average(rows.penalised(width, below + above, alpha), weight)


def pinball_score(
    y_true: ArrayLike,
    y_quantile: ArrayLike,
    *,
    quantile: float,
    sample_weight: ArrayLike | None = None,
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
    level = float(checks.proportion("quantile", quantile))
    (y, predicted), weight = rows.data_columns(sample_weight, y_true=y_true, y_quantile=y_quantile)
    with np.errstate(over="ignore"):
        error = y - predicted
    within_range(error, y_true=y, y_quantile=predicted)
    return average(rows.pinball(error, level), weight)


def crps_score(
    y_true: ArrayLike,
    samples: ArrayLike,
    *,
    quantile_levels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean continuous ranked probability score (CRPS) of predictive distributions; smaller is better.

    Parameters
    ----------
    y_true : array_like, of shape (n,) or (n, outputs)
    samples : array_like
        Draws on the first axis, then the shape of `y_true`. The draws are the distribution: the score is exact for
        them, in O(m log m) per row, and needs little memory beside them.
    quantile_levels : array_like, optional
        With it, the first axis of `samples` holds predicted quantiles instead, at these levels between 0 and 1, in any
        order.
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
    (y,), weight = rows.data_columns(sample_weight, y_true=y_true)
    if quantile_levels is None:
        return average(rows.crps_of_samples(y, first_axis("draws", samples, y.shape)), weight)
    levels, order = _levels("quantile_levels", quantile_levels)
    if len(levels) < 2:
        raise ValueError(
            "`quantile_levels` must hold at least two levels: one quantile is no distribution. "
            "Hint: `pinball_score` scores a single quantile."
        )
    quantiles = floats(
        "samples", first_axis("one quantile per level", samples, y.shape, len(levels))
    )[order]
    refuse_missing(finite("samples", rows.LEAVE_OUT), quantiles)
    rows.refuse_crossing("samples", list(quantiles))
    return average(rows.crps_of_quantiles(y, quantiles, levels), weight)


def wis_score(
    y_true: ArrayLike,
    median: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    levels: ArrayLike,
    sample_weight: ArrayLike | None = None,
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
    quantiles, and tends to the CRPS for many evenly spaced levels.

    References
    ----------
    Bracher, Ray, Gneiting and Reich (2021), Evaluating epidemic forecasts in an interval format, PLOS Computational
    Biology 17(2), e1008618.

    Examples
    --------
    >>> wis_score(
    ...     [5], median=[3], lower=[[2, 0]], upper=[[4, 6]], levels=[0.5, 0.9]
    ... )  # (1 + 1.5 + 0.3) / 2.5
    1.12
    """
    (y, middle), weight = rows.data_columns(sample_weight, y_true=y_true, median=median)
    promised, order = _levels("levels", levels)
    low, high = (
        _level_columns(name, bounds, y.shape, order)
        for name, bounds in (("lower", lower), ("upper", upper))
    )
    rows.refuse_crossing("lower`, `median` and `upper", [*low[::-1], middle, *high])
    alpha = [float(1 - checks.as_written(level)) for level in promised.tolist()]
    return average(rows.wis(y, middle, low, high, alpha).score, weight)


def _curve(
    *data: ArrayLike,
    sample_weight: ArrayLike | None = None,
    min_band: float | str | None = None,
    vary: Vary = "scale",
) -> UCC:
    """Curve of observations, predictions, lower and upper bounds."""
    names = ("y_true", "y_pred", "lower", "upper")
    columns, weight = rows.data_columns(sample_weight, **dict(zip(names, data, strict=True)))
    return UCC(Intervals.from_bounds(*columns, weight=weight, min_band=min_band), vary=vary)


def _bounds(
    y_true: ArrayLike, lower: ArrayLike, upper: ArrayLike, sample_weight: Any
) -> tuple[list[Array], Any]:
    """Observations, intervals that are not upside down, and weights."""
    columns, weight = rows.data_columns(sample_weight, y_true=y_true, lower=lower, upper=upper)
    ascending(*columns[1:])
    return columns, weight


def _level_columns(
    name: str, bounds: ArrayLike, shape: tuple[int, ...], order: Indices
) -> list[Array]:
    """Bounds of each level, from the lowest level to the highest."""
    array, wanted = floats(name, bounds), (*shape, len(order))
    if array.shape != wanted:
        raise ValueError(
            f"`{name}` must have the shape of `y_true`, then one column per level: {array.shape} against {wanted}."
        )
    refuse_missing(finite(name, rows.LEAVE_OUT), array, axis=-1)
    return [array[..., column] for column in order]


def _levels(name: str, value: ArrayLike) -> tuple[Array, Indices]:
    """Levels in ascending order, and the place at which each of them was given."""
    levels = floats(name, value)
    if levels.ndim != 1 or not len(levels):
        raise ValueError(
            f"`{name}` must be a list of numbers between 0 and 1; got {checks.shown(value)}."
        )
    for level in levels.tolist():
        checks.proportion(name, level)
    order = np.argsort(levels)
    levels = levels[order]
    if (twice := np.diff(levels) == 0).any():
        raise ValueError(
            f"`{name}` must differ from each other; {levels[:-1][twice][0]:g} is given twice."
        )
    return levels, order
