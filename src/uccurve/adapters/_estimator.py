"""Estimators: anything fitted in scikit-learn's manner that can say how sure it is."""

from __future__ import annotations

import inspect
from statistics import NormalDist
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from uccurve.intervals import Intervals, Options

from ._conformal import from_mapie, two_columns
from ._levels import level_of, tails


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
    estimator, X = _last(estimator, X)
    if hasattr(estimator, "predict_interval"):
        if level is not None:
            raise ValueError(
                f"`level` is for estimators with a standard deviation; {type(estimator).__name__} has intervals of its "
                "own. Hint: leave it out, and set the level where the estimator is made."
            )
        found = estimator.predict_interval(X)
        is_pair = isinstance(found, tuple) and len(found) == 2
        if is_pair and np.ndim(found[1]) == 3:
            return from_mapie(y_true, found, **options)
        bounds = found if is_pair else two_columns(found, type(estimator).__name__)
        return Intervals.from_bounds(y_true, estimator.predict(X), *bounds, **options)
    if "return_std" in inspect.signature(estimator.predict).parameters:
        mean, std = estimator.predict(X, return_std=True)
        deviations = NormalDist().inv_cdf(tails(0.9 if level is None else level_of(level))[1])
        return Intervals.from_std(y_true, mean, deviations * std, **options)
    raise TypeError(
        f"`estimator` must have predict_interval, or predict with return_std; {type(estimator).__name__} has neither. "
        "Hint: wrap it, IntervalRegressor(estimator)."
    )


def _last(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return what really predicts, and the features as it takes them."""
    if hasattr(estimator, "best_estimator_"):
        return _last(estimator.best_estimator_, X)
    if hasattr(estimator, "steps"):
        return _last(estimator[-1], estimator[:-1].transform(X) if len(estimator) > 1 else X)
    if not hasattr(estimator, "predict"):
        raise TypeError(f"`estimator` must have predict; {type(estimator).__name__} has none.")
    return estimator, X
