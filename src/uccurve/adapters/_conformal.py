"""MAPIE and crepes: what ``predict_interval`` and ``predict_int`` of their conformal regressors return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from uccurve._arrays import Flags
from uccurve._checks import Array
from uccurve.intervals import Intervals, Options

from ._levels import bounded, level_of


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
    y_pred, bounds = _parts(prediction)
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
    y_pred, bounds = _parts(prediction)
    names = [level_of(level, "levels") for level in np.atleast_1d(levels).tolist()]
    if len(set(names)) != bounds.shape[2]:
        raise ValueError(
            f"`levels` must name each of the {bounds.shape[2]} confidence levels of `prediction` once; got {names}."
        )
    return bounded(y_true, y_pred, {name: (bounds[:, 0, i], bounds[:, 1, i]) for i, name in enumerate(names)}, options)


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
    return Intervals.from_bounds(y_true, y_pred, *two_columns(intervals, "crepes"), **options)


def levels_from_crepes(
    y_true: npt.ArrayLike, y_pred: npt.ArrayLike, intervals: Mapping[float, Any], **options: Unpack[Options]
) -> dict[float, Intervals]:
    """Intervals by level, from one ``predict_int(X, confidence=level)`` each.

    Examples
    --------
    >>> found = levels_from_crepes([1.5], [1.0], {0.5: [[0.5, 2.0]], 0.9: [[0.0, 3.0]]})
    >>> {level: iv.upper.tolist() for level, iv in found.items()}
    {0.5: [2.0], 0.9: [3.0]}
    """
    bounds = {level_of(level, "intervals"): two_columns(one, "crepes") for level, one in intervals.items()}
    return bounded(y_true, y_pred, bounds, options)


def _parts(prediction: Any) -> tuple[Array, Array]:
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
    _refuse_infinite(bounds, "MAPIE")
    return y_pred, bounds


def two_columns(intervals: Any, source: str) -> tuple[Array, Array]:
    """Return lower and upper bounds from two columns."""
    both = np.asarray(intervals)
    if both.ndim != 2 or both.shape[1] != 2:
        raise ValueError(f"intervals of {source} must be two columns, lower and upper; their shape is {both.shape}.")
    _refuse_infinite(both, source)
    return both[:, 0], both[:, 1]


def _refuse_infinite(bounds: Array, source: str) -> None:
    """Refuse the infinite bounds that conformal predictors give where their calibration rows are too few."""
    infinite: Flags = np.logical_or.reduce(np.isinf(bounds.reshape(len(bounds), -1)), axis=1)
    if infinite.any():
        raise ValueError(
            f"{source} gave infinite bounds in {int(infinite.sum())} of {len(infinite)} rows: its calibration rows "
            "are too few for this level. Hint: use more of them or a lower level."
        )
