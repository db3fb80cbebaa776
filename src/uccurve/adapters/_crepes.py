"""crepes: what ``predict_int`` of its regressors returns, with the points of ``predict``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from uccurve.intervals import Intervals

from ._levels import Options, bounded, finite_bounds, level_of


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
    return Intervals.from_bounds(y_true, y_pred, *_bounds(intervals), **options)


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
    bounds = {level_of(level, "intervals"): _bounds(one) for level, one in intervals.items()}
    return bounded(y_true, y_pred, bounds, options)


def _bounds(intervals: Any) -> tuple[Any, Any]:
    both = np.asarray(intervals)
    if both.ndim != 2 or both.shape[1] != 2:
        raise ValueError(f"`intervals` must have two columns, as predict_int returns them; its shape is {both.shape}.")
    finite_bounds(both[:, 0], both[:, 1], "crepes")
    return both[:, 0], both[:, 1]
