"""skpro (and sktime): the frames of ``predict_interval`` and ``predict_quantiles``."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from uccurve.intervals import Intervals

from ._levels import QuantileOptions, bounded, chosen, level_of
from ._quantiles import levels_from_quantiles


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
        return _flat(prediction[wanted])

    y, point = _flat(y_true), None if y_pred is None else _flat(y_pred)
    if prediction.columns.nlevels == 2:
        return levels_from_quantiles(y, {alpha: values(alpha) for alpha in levels}, y_pred=point, **options)
    if point is None:
        raise ValueError("`y_pred` must be given: the frame holds no median. Hint: y_pred=regressor.predict(X).")
    bounds = {level_of(level, "coverage"): (values(level, "lower"), values(level, "upper")) for level in levels}
    return bounded(y, point, bounds, options)


def _flat(values: Any) -> Any:
    """Return an array without the second dimension of a frame with one column."""
    array = np.asarray(values)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
