"""Frames: every model that the columns of a data frame name, as `assess` takes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from uccurve._checks import Array
from uccurve._frames import opened
from uccurve.intervals import Intervals, Missing

from ._levels import DECILES, Crossing, QuantileOptions, bounded
from ._long import widened
from ._names import Columns, long_columns, model_columns, observed_column

if TYPE_CHECKING:
    import narwhals as nw
    from narwhals.typing import IntoFrame

Model = Intervals | dict[float, Intervals]
"""Intervals of one level, or those of several by their level."""


def models_from_frame(
    frame: IntoFrame,
    *,
    y_true: str | None = None,
    weight: str | None = None,
    min_band: float | str | None = None,
    missing: Missing = "raise",
    crossing: Crossing = "raise",
) -> dict[str, Model]:
    """Every model in a data frame, by name, recognised by the names of its columns.

    Parameters
    ----------
    frame : any data frame that narwhals knows
        With columns such as ``pred, lower, upper``; ``MODEL, MODEL-lo-90, MODEL-hi-90`` (Nixtla); ``q05, q50, q95``,
        ``p5, p50, p95`` or ``0.05, 0.5, 0.95`` (AutoGluon, GluonTS, darts); ``sample_0, sample_1, ...``; or one row per
        quantile, as forecast hubs have it: ``output_type_id`` (or ``quantile``) and ``value``.
    y_true : str, optional
        Column of the observations, by default the one called ``y``, ``y_true``, ``actual``, ``observed`` or alike.
    weight : str, optional
        Column of the weights.
    min_band, missing
        As in `Intervals.from_bounds`.
    crossing : {"raise", "sort"}
        Refuse quantiles that cross, or put them in ascending order with a warning that counts the rows.

    Returns
    -------
    dict from str to Intervals, or to dict from level to Intervals where a model has several levels
        As `assess` takes it. Quantiles q and 1 - q make a level, and the median is the prediction where there is no
        other.

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"y": 3.0, "0.05": 0.0, "0.25": 1.0, "0.5": 2.0, "0.75": 4.0, "0.95": 9.0}
    >>> {name: list(levels) for name, levels in models_from_frame(pd.DataFrame([row])).items()}
    {'model': [0.5, 0.9]}
    """
    named = {role: name for role, name in (("y_true", y_true), ("weight", weight)) if name is not None}
    table = collected(frame, named)
    observed = y_true or observed_column(table.columns)
    models = model_columns(table.columns, y=observed)
    if not models and (long := long_columns(table.columns, y=observed)):
        constant = [name for name in (observed, weight) if name is not None]
        table, models = widened(table, long, constant=constant)
    if observed is None or not models:
        what = "a prediction with its bounds, quantiles or samples (such as pred, lower, upper)"
        what = "a column of observations (such as y, y_true, actual, observed)" if observed is None else what
        raise ValueError(f"`frame` must have {what}: none found. It has {', '.join(table.columns)}.")
    options: Any = {"min_band": min_band, "missing": missing, "crossing": crossing}
    options |= {"weight": None if weight is None else table[weight].to_numpy()}
    y = table[observed].to_numpy()
    return {
        name: model_of(y, columns, lambda one: table[one].to_numpy(), **options) for name, columns in models.items()
    }


def model_of(y_true: Any, columns: Columns, read: Callable[[str], Array], **options: Unpack[QuantileOptions]) -> Model:
    """Return one model from its columns; `read` gives the values of a column."""
    found = levels_of(y_true, columns, read, **options)
    return found if len(found) > 1 else next(iter(found.values()))


def levels_of(
    y_true: Any, columns: Columns, read: Callable[[str], Array], **options: Unpack[QuantileOptions]
) -> dict[float, Intervals]:
    """Return the same by level, also where there is one; a level that no name tells is 0."""
    if columns.samples:
        bounds, pred = _sample_bounds([read(name) for name in columns.samples])
        return bounded(y_true, pred, bounds, options)
    bounds = {float(one.level or 0): (read(one.lower), read(one.upper)) for one in columns.bounds}
    return bounded(y_true, read(columns.pred), bounds, options, median=columns.median)


def collected(frame: Any, names: Mapping[str, str]) -> nw.DataFrame[Any]:
    """Return a frame for narwhals that has the columns `names` (role to column name); lazy ones are collected."""
    import narwhals as nw

    native = opened(frame, names)
    return native.collect() if isinstance(native, nw.LazyFrame) else native


def _sample_bounds(samples: list[Array]) -> tuple[Mapping[float, tuple[Array, Array]], Array]:
    """Return central bounds of samples by level, and their median."""
    points = [(1 - level) / 2 for level in DECILES]
    quantiles = np.quantile(np.stack(samples), [*points, 0.5, *(1 - point for point in points)], axis=0)
    count = len(points)
    bounds = {level: (quantiles[i], quantiles[count + 1 + i]) for i, level in enumerate(DECILES)}
    return bounds, quantiles[count]
