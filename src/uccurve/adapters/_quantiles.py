"""Quantile arrays: many quantiles of each row, in the style of GluonTS and darts."""

from __future__ import annotations

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
        darts (``series.values()`` of ``predict_likelihood_parameters=True``).
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
    found = levels_from_quantiles(y_true, quantiles, levels=levels, axis=axis, y_pred=y_pred, **options)
    return found[chosen(found, level)]


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
    places = pairs(names)
    median = y_pred is None
    if y_pred is None:
        if 0.5 not in names:
            raise ValueError("`y_pred` must be given: there is no median (level 0.5) among the quantiles.")
        y_pred = arrays[names.index(0.5)]
    bounds = {level: (arrays[low], arrays[high]) for level, (low, high) in places.items()}
    return bounded(y_true, y_pred, bounds, options, median=median)


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
    if not isinstance(key, str):
        return level_of(key, "levels")
    level = told_quantile(key)
    if level is None:
        raise ValueError(
            f"`levels` must name quantiles such as 0.05, '0.05' or 'sales_q0.05'; {key!r} is none. "
            "Hint: leave a mean out, or pass it as y_pred."
        )
    return level_of(level, "levels")
