"""Quantile models: fitted LightGBM, XGBoost or scikit-learn regressors, one a quantile or one for many."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from uccurve.intervals import Intervals

from ._levels import QuantileOptions, chosen
from ._quantiles import levels_from_quantiles


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
    found = levels_from_quantile_models(y_true, X, models, y_pred=y_pred, **options)
    return found[chosen(found, level)]


def levels_from_quantile_models(
    y_true: npt.ArrayLike, X: Any, models: Any, *, y_pred: Any = None, **options: Unpack[QuantileOptions]
) -> dict[float, Intervals]:
    """Central intervals of every pair of quantiles, by level; parameters as in `from_quantile_models`."""
    quantiles: dict[float, Any] = {}
    for levels, model in _named(models):
        predicted = np.asarray(model.predict(X))
        columns = predicted[:, None] if predicted.ndim == 1 else predicted
        if columns.ndim != 2 or columns.shape[1] != len(levels):
            raise ValueError(
                f"`models` must predict {len(levels)} quantile{'s' if len(levels) > 1 else ''} a row where "
                f"{type(model).__name__} names {levels}; it predicts an array of shape {predicted.shape}."
            )
        for i, level in enumerate(levels):
            if level in quantiles:
                raise ValueError(f"`models` must not repeat a quantile; {level:g} is there twice.")
            quantiles[level] = columns[:, i]
    point = y_pred.predict(X) if hasattr(y_pred, "predict") else y_pred
    return levels_from_quantiles(y_true, quantiles, y_pred=point, **options)


def _named(models: Any) -> list[tuple[list[float], Any]]:
    if isinstance(models, Mapping):
        return [([float(level)], model) for level, model in models.items()]
    every = models if isinstance(models, Sequence) else [models]
    return [(_quantiles_of(model), model) for model in every]


def _quantiles_of(model: Any) -> list[float]:
    """Return the quantile levels that a model was fitted for, from its own parameters."""
    params = model.get_params() if hasattr(model, "get_params") else getattr(model, "params", None)
    if params is None and hasattr(model, "save_config"):
        objective = json.loads(model.save_config())["learner"]["objective"]
        params = {
            "objective": objective["name"],
            "quantile_alpha": json.loads(objective.get("quantile_loss_param", {}).get("quantile_alpha", "null")),
        }
    params = params or {}
    if params.get("objective") == "reg:quantileerror":
        found = params.get("quantile_alpha")
    elif "quantile" in (params.get("objective"), params.get("loss")):
        found = params.get("quantile") if params.get("quantile") is not None else params.get("alpha")
    else:
        found = params.get("quantile") if "loss" not in params else None
    if found is None:
        raise ValueError(
            f"`models` must be quantile models; no quantile can be read from {type(model).__name__}. "
            "Hint: pass a dict such as {0.05: lower, 0.95: upper}."
        )
    return [float(level) for level in np.atleast_1d(np.asarray(found, dtype=np.float64))]
