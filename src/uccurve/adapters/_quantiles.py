"""Quantiles: arrays in the style of GluonTS and darts, and fitted quantile models."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from uccurve._checks import Array
from uccurve.intervals import Intervals

from ._levels import QuantileOptions, bounded, chosen, level_of, pairs
from ._names import told_quantile


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
        of samples, are ``{q: np.concatenate([f.quantile(q) for f in forecasts]) for q in (0.05, 0.5, 0.95)}``.
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
    names, arrays = _named(quantiles, levels, axis)
    bounds = {level: (arrays[low], arrays[high]) for level, (low, high) in pairs(names).items()}
    if y_pred is None and 0.5 not in names:
        raise ValueError("`y_pred` must be given: there is no median (level 0.5) among the quantiles.")
    point = arrays[names.index(0.5)] if y_pred is None else y_pred
    return bounded(y_true, point, bounds, options, median=y_pred is None)


def _named(quantiles: Any, levels: Sequence[float | str] | None, axis: int) -> tuple[list[float], list[Any]]:
    if isinstance(quantiles, Mapping):
        if levels is not None:
            raise ValueError("`levels` go with an array; a mapping names its quantiles itself.")
        return [_level(key) for key in quantiles], list(quantiles.values())
    if levels is None:
        raise ValueError("`levels` must name the quantiles of an array. Hint: levels=[0.05, 0.5, 0.95].")
    arrays: Array = np.asarray(quantiles)
    if arrays.ndim not in (2, 3) or not -arrays.ndim <= axis < arrays.ndim or arrays.shape[axis] != len(levels):
        raise ValueError(
            f"`quantiles` must have {len(levels)} entries along axis {axis}, one for each of the `levels`; "
            f"its shape is {arrays.shape}."
        )
    return [_level(key) for key in levels], list(np.moveaxis(arrays, axis, 0))


def _level(key: Any) -> float:
    """Return the level behind a number or a name such as "0.05", "p5" or "sales_q0.05"."""
    level = told_quantile(key) if isinstance(key, str) else key
    if level is None:
        raise ValueError(
            f"`levels` must name quantiles such as 0.05, '0.05' or 'sales_q0.05'; {key!r} is none. "
            "Hint: leave a mean out, or pass it as y_pred."
        )
    return level_of(level, "levels")


def from_quantile_models(
    y_true: npt.ArrayLike,
    X: Any,
    models: Any,
    *,
    y_pred: Any = None,
    level: float | None = None,
    **options: Unpack[QuantileOptions],
) -> Intervals:
    """Central intervals that fitted quantile models predict for `X`.

    Parameters
    ----------
    y_true : array_like
    X : whatever the models' ``predict`` takes
    models : one model, a sequence of models, or a mapping from quantile level to model
        The levels are read from LightGBM (``objective="quantile"``), XGBoost (``objective="reg:quantileerror"``, one or
        many ``quantile_alpha``) and scikit-learn (``loss="quantile"``, ``QuantileRegressor``); name them for others.
    y_pred : fitted model or array_like, optional
        By default the median, which then must be among the models.
    level : float, optional
        Which central level to take; needed where there are several.
    **options
        As in `from_quantiles`; quantile models often cross, so ``crossing="sort"`` or `min_band` is often needed.

    Examples
    --------
    >>> from sklearn.linear_model import QuantileRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 2.0, 3.0, 7.0]
    >>> models = [QuantileRegressor(quantile=q, alpha=0).fit(X, y) for q in (0.1, 0.5, 0.9)]
    >>> from_quantile_models(y, X, models).upper.round(6).tolist()
    [0.0, 2.333333, 4.666667, 7.0]
    """
    return chosen(levels_from_quantile_models(y_true, X, models, y_pred=y_pred, **options), level)


def levels_from_quantile_models(
    y_true: npt.ArrayLike, X: Any, models: Any, *, y_pred: Any = None, **options: Unpack[QuantileOptions]
) -> dict[float, Intervals]:
    """Central intervals of every pair of quantiles, by level; parameters as in `from_quantile_models`."""
    if isinstance(models, Mapping):
        named = [([float(level)], model) for level, model in models.items()]
    else:
        named = [(_quantiles_of(model), model) for model in (models if isinstance(models, Sequence) else [models])]
    quantiles: dict[float, Any] = {}
    for levels, model in named:
        predicted = np.asarray(model.predict(X))
        columns = predicted[:, None] if predicted.ndim == 1 else predicted
        if columns.ndim != 2 or columns.shape[1] != len(levels):
            raise ValueError(
                f"`models` must predict {len(levels)} quantile{'s' if len(levels) > 1 else ''} per row where "
                f"{type(model).__name__} names {levels}; it predicts an array of shape {predicted.shape}."
            )
        if repeated := quantiles.keys() & levels:
            raise ValueError(f"`models` must not repeat a quantile; {min(repeated):g} is there twice.")
        quantiles |= zip(levels, columns.T, strict=True)
    point = y_pred.predict(X) if hasattr(y_pred, "predict") else y_pred
    return levels_from_quantiles(y_true, quantiles, y_pred=point, **options)


def _quantiles_of(model: Any) -> list[float]:
    """Return the quantile levels that a model was fitted for, from its own parameters."""
    params = model.get_params() if hasattr(model, "get_params") else getattr(model, "params", None)
    if params is None and hasattr(model, "save_config"):  # XGBoost's Booster
        objective = json.loads(model.save_config())["learner"]["objective"]
        alpha = objective.get("quantile_loss_param", {}).get("quantile_alpha", "null")
        params = {"objective": objective["name"], "quantile_alpha": json.loads(alpha)}
    params = params or {}
    found = params.get("quantile") if "loss" not in params else None
    if params.get("objective") == "reg:quantileerror":
        found = params.get("quantile_alpha")
    elif "quantile" in (params.get("objective"), params.get("loss")):
        found = params.get("quantile") if params.get("quantile") is not None else params.get("alpha")
    if found is None:
        raise ValueError(
            f"`models` must be quantile models; no quantile can be read from {type(model).__name__}. "
            "Hint: pass a dict such as {0.05: lower, 0.95: upper}."
        )
    return [float(level) for level in np.atleast_1d(np.asarray(found, dtype=np.float64))]
