"""skpro (and sktime): the frames of ``predict_interval`` and ``predict_quantiles``."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from uccurve.intervals import Intervals

from ._levels import QuantileOptions, bounded, chosen, level_of, pairs


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
    found = levels_from_skpro(y_true, prediction, y_pred=y_pred, **options)
    return found[chosen(found, level)]


def levels_from_skpro(
    y_true: npt.ArrayLike, prediction: Any, *, y_pred: Any = None, **options: Unpack[QuantileOptions]
) -> dict[float, Intervals]:
    """Intervals of every level, by level; parameters as in `from_skpro`."""
    depth = getattr(getattr(prediction, "columns", None), "nlevels", None)
    if depth not in (2, 3):
        raise TypeError(
            "`prediction` must be a frame of predict_interval (columns variable, coverage, lower/upper) or of "
            f"predict_quantiles (columns variable, alpha); got {_columns(prediction)}."
        )
    variables = list(dict.fromkeys(column[0] for column in prediction.columns))
    bounds = _from_intervals(prediction, variables) if depth == 3 else _from_quantiles(prediction, variables)
    point = _point(y_pred, prediction, variables, depth)
    return bounded(
        _shaped(y_true, variables), _shaped(point, variables), bounds, options, median=y_pred is None and depth == 2
    )


def _from_intervals(frame: Any, variables: list[Any]) -> dict[float, tuple[Any, Any]]:
    found = list(frame.columns)
    bounds = {}
    for coverage in dict.fromkeys(column[1] for column in found):
        both = []
        for side in ("lower", "upper"):
            absent = [variable for variable in variables if (variable, coverage, side) not in found]
            if absent:
                raise ValueError(
                    f"`prediction` must have a lower and an upper column for each coverage: "
                    f"({absent[0]!r}, {coverage!r}, {side!r}) not found. It has {_columns(frame)}."
                )
            both.append(_values(frame, [(variable, coverage, side) for variable in variables]))
        bounds[level_of(coverage, "coverage")] = (both[0], both[1])
    return bounds


def _from_quantiles(frame: Any, variables: list[Any]) -> dict[float, tuple[Any, Any]]:
    alphas = [column[1] for column in frame.columns if column[0] == variables[0]]
    for variable in variables[1:]:
        if [column[1] for column in frame.columns if column[0] == variable] != alphas:
            raise ValueError(f"`prediction` must have the same quantiles for every variable. It has {_columns(frame)}.")
    values = {alpha: _values(frame, [(variable, alpha) for variable in variables]) for alpha in alphas}
    places = pairs(alphas, "alpha")
    return {level: (values[alphas[low]], values[alphas[high]]) for level, (low, high) in places.items()}


def _point(y_pred: Any, frame: Any, variables: list[Any], depth: int) -> Any:
    if y_pred is not None:
        return y_pred
    median = [(variable, 0.5) for variable in variables]
    if depth == 3 or not set(median) <= set(frame.columns):
        raise ValueError("`y_pred` must be given: the frame holds no median. Hint: y_pred=regressor.predict(X).")
    return _values(frame, median)


def _values(frame: Any, columns: list[Any]) -> Any:
    values = np.asarray(frame[columns])
    return values[:, 0] if len(columns) == 1 else values


def _shaped(values: Any, variables: list[Any]) -> Any:
    """Drop the second dimension of a frame with one column, as the bounds of one variable have none."""
    array = np.asarray(values)
    return array[:, 0] if len(variables) == 1 and array.ndim == 2 and array.shape[1] == 1 else array


def _columns(frame: Any) -> str:
    columns = getattr(frame, "columns", None)
    return type(frame).__name__ if columns is None else f"the columns {', '.join(map(str, columns))}"
