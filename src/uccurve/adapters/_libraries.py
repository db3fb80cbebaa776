"""Other libraries: fitted estimators with intervals of their own."""

import inspect
from statistics import NormalDist
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from uccurve.intervals import Intervals, Options

from ._quantiles import level_of


def from_estimator(
    estimator: Any,
    X: Any,
    y_true: npt.ArrayLike,
    *,
    level: float | None = None,
    **options: Unpack[Options],
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
        return Intervals.from_bounds(y_true, *_predicted(estimator, X), **options)
    if "return_std" in inspect.signature(estimator.predict).parameters:
        mean, std = estimator.predict(X, return_std=True)
        deviations = NormalDist().inv_cdf((1 + level_of(0.9 if level is None else level)) / 2)
        return Intervals.from_std(y_true, mean, deviations * std, **options)
    raise TypeError(
        f"`estimator` must have predict_interval, or predict with return_std; {name} has neither. "
        "Hint: wrap it, IntervalRegressor(estimator)."
    )


def _predicted(estimator: Any, X: Any) -> tuple[Any, Any, Any]:
    """Return the prediction and its two bounds, from a pair, from two columns, or from MAPIE's points and bounds."""
    found = estimator.predict_interval(X)
    levels: Any = [found if isinstance(found, tuple) else np.asarray(found).T]
    if isinstance(found, tuple) and np.ndim(found[-1]) == 3:
        y_pred, levels = found[0], np.asarray(found[1]).T
    else:
        y_pred = estimator.predict(X)
    if len(levels) != 1 or len(levels[0]) != 2:
        raise ValueError(
            f"{type(estimator).__name__} must predict one lower and one upper bound per row; it predicts bounds of "
            f"shape {np.shape(levels)[::-1]}. Hint: pass each level to Intervals.from_bounds."
        )
    return y_pred, *levels[0]
