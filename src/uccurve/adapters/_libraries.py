"""Other libraries: what MAPIE, crepes, skpro, sktime, statsmodels and scikit-learn's estimators return."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, Literal, Unpack

import numpy as np
import numpy.typing as npt

from uccurve._checks import Array
from uccurve.intervals import Intervals, Options

from ._levels import QuantileOptions, bounded, chosen, level_of
from ._quantiles import levels_from_quantiles


def from_mapie(y_true: npt.ArrayLike, prediction: tuple[Any, Any], **options: Unpack[Options]) -> Intervals:
    """Intervals from ``regressor.predict_interval(X)`` with one confidence level.

    Parameters
    ----------
    y_true : array_like of shape (n,)
    prediction : tuple
        Points of shape (n,) and intervals of shape (n, 2, 1), as MAPIE 1 returns them.
    **options
        `weight`, `min_band` and `missing` as in `Intervals.from_bounds`; conformalised quantile regression may put
        its point outside the interval, so it may need `min_band`.

    Examples
    --------
    >>> import numpy as np
    >>> y_pred, y_pis = np.array([1.0, 2.0]), np.array([[[0.0], [3.0]], [[1.0], [2.5]]])
    >>> from_mapie([1.5, 3.0], (y_pred, y_pis)).upper.tolist()
    [3.0, 2.5]
    """
    y_pred, bounds = _mapie_parts(prediction)
    if bounds.shape[2] != 1:
        raise ValueError(
            f"`prediction` must hold one confidence level; it holds {bounds.shape[2]}. "
            "Hint: levels_from_mapie(y_true, prediction, levels=[...]) takes them all."
        )
    return Intervals.from_bounds(y_true, y_pred, bounds[:, 0, 0], bounds[:, 1, 0], **options)


def levels_from_mapie(
    y_true: npt.ArrayLike, prediction: tuple[Any, Any], *, levels: Sequence[float], **options: Unpack[Options]
) -> dict[float, Intervals]:
    """Intervals of every confidence level, by level; `levels` is the ``confidence_level`` that MAPIE was given.

    Examples
    --------
    >>> import numpy as np
    >>> y_pred, y_pis = np.array([1.0]), np.array([[[0.5, 0.0], [2.0, 3.0]]])
    >>> {level: iv.upper.tolist() for level, iv in levels_from_mapie([1.5], (y_pred, y_pis), levels=[0.5, 0.9]).items()}
    {0.5: [2.0], 0.9: [3.0]}
    """
    y_pred, bounds = _mapie_parts(prediction)
    names = [level_of(level, "levels") for level in levels]
    if len({*names}) != bounds.shape[2]:
        raise ValueError(
            f"`levels` must name each of the {bounds.shape[2]} confidence levels of `prediction` once; got {names}."
        )
    return bounded(y_true, y_pred, dict(zip(names, bounds.transpose(2, 1, 0), strict=True)), options)


def _mapie_parts(prediction: Any) -> tuple[Array, Array]:
    """Return points, and intervals of shape (n, 2, levels)."""
    if not isinstance(prediction, tuple) or len(prediction) != 2:
        raise TypeError(
            "`prediction` must be the pair (points, intervals) that predict_interval returns; "
            f"got {type(prediction).__name__}. Hint: `predict` gives points only."
        )
    y_pred, bounds = (np.asarray(part) for part in prediction)
    if bounds.ndim != 3 or bounds.shape[1] != 2 or y_pred.shape != bounds.shape[:1]:
        raise ValueError(
            f"`prediction` must have points of shape (n,) and intervals of shape (n, 2, levels); "
            f"got {y_pred.shape} and {bounds.shape}."
        )
    return y_pred, _without_infinite(bounds, "MAPIE")


def from_crepes(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, intervals: Any, **options: Unpack[Options]) -> Intervals:
    """Intervals from ``predict(X)`` and ``predict_int(X)``.

    For the percentiles of a predictive system see `from_quantiles` with ``axis=-1``.

    Parameters
    ----------
    y_true, y_pred : array_like of shape (n,)
    intervals : array_like of shape (n, 2)
        Without infinite bounds: crepes gives them where its calibration rows are too few for the confidence.
    **options
        `weight`, `min_band` and `missing` as in `Intervals.from_bounds`.

    Examples
    --------
    >>> from_crepes([1.5, 3.0], y_pred=[1.0, 2.0], intervals=[[0.0, 3.0], [1.0, 2.5]]).upper.tolist()
    [3.0, 2.5]
    """
    return Intervals.from_bounds(y_true, y_pred, *_two_columns(intervals, "crepes"), **options)


def _two_columns(intervals: Any, source: str) -> Array:
    """Return lower and upper bounds from two columns."""
    both = np.asarray(intervals)
    if both.ndim != 2 or both.shape[1] != 2:
        raise ValueError(f"intervals of {source} must be two columns, lower and upper; their shape is {both.shape}.")
    return _without_infinite(both, source).T


def _without_infinite(bounds: Array, source: str) -> Array:
    """Refuse the infinite bounds that conformal predictors give where their calibration rows are too few."""
    infinite = int(np.isinf(bounds).reshape(len(bounds), -1).any(axis=1).sum())
    if infinite:
        raise ValueError(
            f"{source} gave infinite bounds in {infinite} of {len(bounds)} rows: its calibration rows are too few for "
            "this level. Hint: use more of them or a lower level."
        )
    return bounds


def from_skpro(
    y_true: npt.ArrayLike,
    prediction: Any,
    *,
    y_pred: Any = None,
    level: float | None = None,
    **options: Unpack[QuantileOptions],
) -> Intervals:
    """Intervals of one level from a ``predict_interval`` or ``predict_quantiles`` frame.

    Parameters
    ----------
    y_true : array_like
        Of shape (n,), or (n, variables) where the frame has several; a frame's columns in the order of `prediction`.
    prediction : pandas.DataFrame
        Columns (variable, coverage, "lower" or "upper"), or (variable, alpha).
    y_pred : array_like, optional
        From ``predict(X)``. By default the median, which then must be among the quantiles.
    level : float, optional
        Which level to take; needed where there are several.
    **options
        As in `from_quantiles`.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame([[0.0, 3.0]], columns=pd.MultiIndex.from_product([["y"], [0.9], ["lower", "upper"]]))
    >>> from_skpro([1.5], frame, y_pred=[1.0]).upper.tolist()
    [3.0]
    """
    return chosen(levels_from_skpro(y_true, prediction, y_pred=y_pred, **options), level)


def levels_from_skpro(
    y_true: npt.ArrayLike, prediction: Any, *, y_pred: Any = None, **options: Unpack[QuantileOptions]
) -> dict[float, Intervals]:
    """Intervals of every level, by level; parameters as in `from_skpro`."""
    columns = list(getattr(prediction, "columns", []))
    held = f"the columns {', '.join(map(str, columns))}" if columns else type(prediction).__name__
    if not columns or prediction.columns.nlevels not in (2, 3):
        raise TypeError(
            "`prediction` must be a frame of predict_interval (columns variable, coverage, lower/upper) or of "
            f"predict_quantiles (columns variable, alpha); got {held}."
        )
    variables, levels = (list(dict.fromkeys(column[place] for column in columns)) for place in (0, 1))

    def values(*name: Any) -> Any:
        wanted = [(variable, *name) for variable in variables]
        if absent := [column for column in wanted if column not in columns]:
            raise ValueError(
                f"`prediction` must hold each level of every variable: {absent[0]} not found. It has {held}."
            )
        return flat(prediction[wanted])

    def flat(table: Any) -> Any:  # an array, without the second dimension where there is one variable
        array = np.asarray(table)
        return array[:, 0] if array.ndim == 2 and len(variables) == 1 else array

    y, point = flat(y_true), None if y_pred is None else flat(y_pred)
    if prediction.columns.nlevels == 2:
        return levels_from_quantiles(y, {alpha: values(alpha) for alpha in levels}, y_pred=point, **options)
    if point is None:
        raise ValueError("`y_pred` must be given: the frame holds no median. Hint: y_pred=regressor.predict(X).")
    bounds = {level_of(level, "coverage"): (values(level, "lower"), values(level, "upper")) for level in levels}
    return bounded(y, point, bounds, options)


def from_statsmodels(
    y_true: npt.ArrayLike,
    frame: Any,
    *,
    bounds: Literal["obs_ci", "pi", "mean_ci"] | None = None,
    **options: Unpack[Options],
) -> Intervals:
    """Intervals from the frame of ``results.get_prediction(X).summary_frame(alpha=0.1)``.

    Parameters
    ----------
    y_true : array_like of shape (n,)
    frame : pandas.DataFrame
    bounds : {"obs_ci", "pi", "mean_ci"}, optional
        Which columns hold the bounds of the observation; by default ``obs_ci_lower`` and ``obs_ci_upper`` (linear and
        quantile regression), or ``pi_lower`` and ``pi_upper`` (exponential smoothing). Forecasts of state space models
        (ARIMA) name them ``mean_ci``, which elsewhere is the confidence interval of the mean, far too narrow for an
        observation; so it is only taken when asked for.
    **options
        `weight`, `min_band` and `missing` as in `Intervals.from_bounds`.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"mean": [1.0], "obs_ci_lower": [0.0], "obs_ci_upper": [3.0]})
    >>> from_statsmodels([1.5], frame).upper.tolist()
    [3.0]
    """
    found = [str(name) for name in getattr(frame, "columns", [])]
    if not found:
        raise TypeError(
            f"`frame` must be what summary_frame returns; got {type(frame).__name__}. "
            "Hint: call summary_frame(alpha=0.1)."
        )
    kinds = [bounds] if bounds else ["obs_ci", "pi"]
    wanted = [("mean", f"{kind}_lower", f"{kind}_upper") for kind in kinds]
    columns = next((names for names in wanted if {*names} <= {*found}), None)
    if columns is None:
        hint = ' Hint: for forecasts of state space models pass bounds="mean_ci".' if "mean_ci_lower" in found else ""
        raise ValueError(
            f"`frame` must have mean, {kinds[0]}_lower and {kinds[0]}_upper: not all found. "
            f"It has {', '.join(found)}.{hint}"
        )
    return Intervals.from_bounds(y_true, *(np.asarray(frame[name]) for name in columns), **options)


def from_estimator(
    estimator: Any, X: Any, y_true: npt.ArrayLike, *, level: float | None = None, **options: Unpack[Options]
) -> Intervals:
    """Intervals that a fitted estimator predicts for `X`.

    Parameters
    ----------
    estimator : fitted estimator
        With ``predict`` and ``predict_interval`` (`IntervalRegressor`; MAPIE's regressors), or with
        ``predict(X, return_std=True)`` (Gaussian processes, Bayesian ridge). A pipeline transforms `X` by its steps
        before the last; a fitted search stands for its best estimator.
    X : array_like
    y_true : array_like of shape (n,)
    level : float, optional
        Level of intervals from a standard deviation, which are those of a normal distribution: 0.9 by default, so that
        they stand beside other models' 90% intervals. One standard deviation would be the level 0.683. Intervals of an
        estimator's own have the level that it was given, so there `level` is refused.
    **options
        `weight`, `min_band` and `missing` as in `Intervals.from_bounds`.

    Examples
    --------
    >>> from sklearn.linear_model import BayesianRidge
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 2.0, 3.0, 7.0]
    >>> model = BayesianRidge().fit(X, y)
    >>> one, two = (from_estimator(model, X, y, level=level) for level in (0.6827, 0.9545))
    >>> (two.upper_band / one.upper_band).round(2).tolist()  # standard deviations
    [2.0, 2.0, 2.0, 2.0]
    """
    if hasattr(estimator, "best_estimator_"):
        return from_estimator(estimator.best_estimator_, X, y_true, level=level, **options)
    if hasattr(estimator, "steps"):
        features = estimator[:-1].transform(X) if len(estimator) > 1 else X
        return from_estimator(estimator[-1], features, y_true, level=level, **options)
    name = type(estimator).__name__
    if not hasattr(estimator, "predict"):
        raise TypeError(f"`estimator` must have predict; {name} has none.")
    if hasattr(estimator, "predict_interval"):
        if level is not None:
            raise ValueError(
                f"`level` is for estimators with a standard deviation; {name} has intervals of its own. "
                "Hint: leave it out, and set the level where the estimator is made."
            )
        found = estimator.predict_interval(X)
        is_pair = isinstance(found, tuple) and len(found) == 2
        if is_pair and np.ndim(found[1]) == 3:
            return from_mapie(y_true, found, **options)
        lower, upper = found if is_pair else _two_columns(found, name)
        return Intervals.from_bounds(y_true, estimator.predict(X), lower, upper, **options)
    if "return_std" in inspect.signature(estimator.predict).parameters:
        mean, std = estimator.predict(X, return_std=True)
        deviations = NormalDist().inv_cdf((1 + level_of(0.9 if level is None else level)) / 2)
        return Intervals.from_std(y_true, mean, deviations * std, **options)
    raise TypeError(
        f"`estimator` must have predict_interval, or predict with return_std; {name} has neither. "
        "Hint: wrap it, IntervalRegressor(estimator)."
    )
