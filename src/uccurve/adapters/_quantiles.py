"""Quantiles and whole distributions: arrays of quantiles, draws, and frozen distributions of scipy.stats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from uccurve._arrays import first_axis
from uccurve._checks import Array
from uccurve.intervals import Intervals, Options, draw_quantiles

from ._levels import QuantileOptions, around_median, bounded, central, chosen, level_of, pairs
from ._names import told_quantile

# Levels asked of a model that has a whole distribution.
DECILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
DRAWS = ("chain", "draw", "sample")  # dimensions of xarray that number draws


def from_quantiles(
    y_true: npt.ArrayLike,
    quantiles: Any,
    *,
    levels: Sequence[float | str] | None = None,
    axis: int = 0,
    y_pred: npt.ArrayLike | None = None,
    level: float | None = None,
    **options: Unpack[QuantileOptions],
) -> Intervals:
    """Central intervals of one level from predicted quantiles.

    Parameters
    ----------
    y_true : array_like
    quantiles : array_like, or mapping from quantile level to array_like
        An array holds the quantiles along `axis`: the first for GluonTS (``forecast.forecast_array``), the last for
        darts (``series.values()`` of ``predict_likelihood_parameters=True``). Many GluonTS forecasts, of quantiles or
        of samples, are ``{q: np.concatenate([f.quantile(q) for f in forecasts]) for q in (0.05, 0.5, 0.95)}``. Fitted
        quantile models of LightGBM or scikit-learn are ``{q: model.predict(X) for q, model in models.items()}``; those
        of XGBoost with many ``quantile_alpha`` are an array with ``axis=-1``.
    levels : sequence, for an array
        Quantile level of each of them, as numbers or as the libraries name them: ``"0.05"`` (GluonTS
        ``forecast_keys``) or ``"sales_q0.05"`` (darts ``components``).
    y_pred : array_like, optional
        By default the median, which then must be among the quantiles.
    level : float, optional
        Which central level to take; needed where there are several. 0.9 lies between the quantiles 0.05 and 0.95.
    **options
        `weight`, `min_band` and `missing` as in `Intervals.from_bounds`. Quantiles that cross are refused, or put in
        ascending order with ``crossing="sort"`` and a warning that counts the rows.

    Examples
    --------
    >>> quantiles = [[1.0, 2.0], [2.0, 4.0], [5.0, 5.0]]
    >>> iv = from_quantiles([1.5, 6.0], quantiles, levels=[0.1, 0.5, 0.9])
    >>> iv.y_pred.tolist(), iv.lower.tolist(), iv.upper.tolist()
    ([2.0, 4.0], [1.0, 2.0], [5.0, 5.0])
    """
    return chosen(levels_from_quantiles(y_true, quantiles, levels=levels, axis=axis, y_pred=y_pred, **options), level)


def levels_from_quantiles(
    y_true: npt.ArrayLike,
    quantiles: Any,
    *,
    levels: Sequence[float | str] | None = None,
    axis: int = 0,
    y_pred: npt.ArrayLike | None = None,
    **options: Unpack[QuantileOptions],
) -> dict[float, Intervals]:
    """Central intervals of every pair of quantiles, by level; parameters as in `from_quantiles`.

    Examples
    --------
    >>> quantiles = {0.05: [0.0], 0.25: [1.0], 0.5: [2.0], 0.75: [4.0], 0.95: [9.0]}
    >>> {level: iv.upper.tolist() for level, iv in levels_from_quantiles([3.0], quantiles).items()}
    {0.5: [4.0], 0.9: [9.0]}
    """
    if isinstance(quantiles, Mapping):
        if levels is not None:
            raise ValueError("`levels` go with an array; a mapping names its quantiles itself.")
        levels, arrays = list(quantiles), list(quantiles.values())
    elif levels is None:
        raise ValueError("`levels` must name the quantiles of an array. Hint: levels=[0.05, 0.5, 0.95].")
    else:
        array: Array = np.asarray(quantiles)
        if array.ndim not in (2, 3) or not -array.ndim <= axis < array.ndim or array.shape[axis] != len(levels):
            raise ValueError(
                f"`quantiles` must have {len(levels)} entries along axis {axis}, one for each of the `levels`; "
                f"its shape is {array.shape}."
            )
        arrays = list(np.moveaxis(array, axis, 0))
    names = [_level(key) for key in levels]
    bounds = {level: (arrays[low], arrays[high]) for level, (low, high) in pairs(names).items()}
    if y_pred is None and 0.5 not in names:
        raise ValueError("`y_pred` must be given: there is no median (level 0.5) among the quantiles.")
    point = arrays[names.index(0.5)] if y_pred is None else y_pred
    return bounded(y_true, point, bounds, options, median=y_pred is None)


def _level(key: Any) -> float:
    """Return the level behind a number or a name such as "0.05", "p5" or "sales_q0.05"."""
    level = told_quantile(key) if isinstance(key, str) else key
    if level is None:
        raise ValueError(
            f"`levels` must name quantiles such as 0.05, '0.05' or 'sales_q0.05'; {key!r} is none. "
            "Hint: leave a mean out, or pass it as y_pred."
        )
    return level_of(level, "levels")


def from_posterior(y_true: npt.ArrayLike, draws: Any, *, level: float = 0.9, **options: Unpack[Options]) -> Intervals:
    """Central intervals of posterior predictive draws, around their median.

    Parameters
    ----------
    y_true : array_like
    draws : DataArray or array_like
        One variable, such as ``data.posterior_predictive["y"]`` of ArviZ, whose observations are
        ``data.observed_data["y"]``, or ``Predictive(...)(key, x)["y"]`` of NumPyro. An xarray object has its draws
        along the dimensions ``chain``, ``draw`` or ``sample``, as ``series.data_array()`` of darts has them; an array
        (``forecast.samples`` of GluonTS) has them on the first axis.
    level : float
        Probability between the two quantiles.
    **options
        `weight`, `min_band` and `missing` as in `Intervals.from_bounds`.

    Notes
    -----
    Between two quantiles of m draws (as numpy defines them) a further draw lies with a probability of about
    ``level * (m - 1) / (m + 1)``: 87% instead of 90% for 60 draws. So few draws make intervals that are too narrow even
    where the distribution is right, and the assessment says so.

    Examples
    --------
    >>> iv = from_posterior([1.0], [[0.0], [1.0], [2.0], [3.0], [4.0]], level=0.5)
    >>> iv.y_pred.tolist(), iv.lower.tolist(), iv.upper.tolist()
    ([2.0], [1.0], [3.0])
    """
    (found,) = levels_from_posterior(y_true, draws, levels=[level], **options).values()
    return found


def levels_from_posterior(
    y_true: npt.ArrayLike, draws: Any, *, levels: Sequence[float] = DECILES, **options: Unpack[Options]
) -> dict[float, Intervals]:
    """Central intervals of posterior predictive draws at each of the `levels`; parameters as in `from_posterior`."""
    if isinstance(draws, Mapping):  # also Dataset, DataTree and InferenceData
        raise TypeError(
            f"`draws` must be an array; got {type(draws).__name__}. Hint: choose the variable, such as "
            'data.posterior_predictive["y"].'
        )
    if hasattr(draws, "dims"):
        numbering = [dim for dim in draws.dims if dim in DRAWS]
        if not numbering:
            has = ", ".join(map(str, draws.dims))
            raise ValueError(f"`draws` must have a dimension chain, draw or sample; it has {has}.")
        array = np.asarray(draws.transpose(*numbering, ...))
        draws = array.reshape(-1, *array.shape[len(numbering) :])
    names, points = central(levels)
    samples = first_axis("draws", draws, np.shape(y_true))
    return around_median(y_true, names, draw_quantiles(samples, points, options.get("missing")), options)


def from_scipy(y_true: npt.ArrayLike, dist: Any, *, level: float = 0.9, **options: Unpack[Options]) -> Intervals:
    """Central intervals of frozen distributions such as ``scipy.stats.norm(loc=mean, scale=std)``, around the median.

    Parameters
    ----------
    y_true : array_like
    dist : frozen distribution
        With ``ppf``, or with ``icdf`` as in scipy's newer ``Normal(mu=..., sigma=...)``; parameters of the shape of
        `y_true`.
    level : float
        Probability between the two quantiles.
    **options
        `weight`, `min_band` and `missing` as in `Intervals.from_bounds`.

    Examples
    --------
    >>> from scipy.stats import uniform
    >>> iv = from_scipy([1.0, 6.0], uniform(loc=[0.0, 5.0], scale=10.0), level=0.5)
    >>> iv.lower.tolist(), iv.y_pred.tolist(), iv.upper.tolist()
    ([2.5, 7.5], [5.0, 10.0], [7.5, 12.5])
    """
    (found,) = levels_from_scipy(y_true, dist, levels=[level], **options).values()
    return found


def levels_from_scipy(
    y_true: npt.ArrayLike, dist: Any, *, levels: Sequence[float] = DECILES, **options: Unpack[Options]
) -> dict[float, Intervals]:
    """Central intervals of frozen distributions at each of the `levels`; parameters as in `from_scipy`."""
    quantile = getattr(dist, "ppf", None) or getattr(dist, "icdf", None)
    if quantile is None:
        raise TypeError(f"`dist` must be a frozen distribution with ppf or icdf; got {type(dist).__name__}.")
    names, points = central(levels)
    found = [np.asarray(quantile(point)) for point in points]
    if found[0].shape != np.shape(y_true):
        raise ValueError(
            f"`dist` must be frozen with one set of parameters per row: {found[0].shape} against {np.shape(y_true)}. "
            "Hint: norm(loc=mean, scale=std) with arrays."
        )
    return around_median(y_true, names, found, options)
