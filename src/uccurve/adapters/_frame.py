"""Frames: every model that the columns of a data frame name, as `assess` takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from uccurve._door import floats, opened
from uccurve._refusals import prefixed
from uccurve._scoring import refuse_crossing
from uccurve._vocabulary import Array
from uccurve.curve import UCC
from uccurve.intervals import Intervals, Missing
from uccurve.words.formats import short

from ._long import widened
from ._names import Columns, long_columns, model_columns, observed_column
from ._quantiles import SORT, Crossing, QuantileOptions, bounded, levels_from_posterior, missing_in

if TYPE_CHECKING:
    import narwhals as nw
    from narwhals.typing import IntoFrame

# Intervals of one level, those of several by their level, or a bound that only a shift can move.
Model = Intervals | UCC | dict[float, Intervals]


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
    frame : any data frame that narwhals supports
        With columns such as ``pred, lower, upper``; ``yhat, yhat_lower, yhat_upper`` (Prophet); ``MODEL, MODEL-lo-90,
        MODEL-hi-90`` (Nixtla); ``q05, q50, q95``, ``p5, p50, p95``, ``0.05, 0.5, 0.95`` or ``5%, 50%, 95%`` (AutoGluon,
        darts, skforecast); ``sample_0, sample_1, ...``; or one row per quantile, as forecast hubs have it:
        ``output_type_id`` (or ``quantile``) and ``value``.
    y_true : str, optional
        Column of the observations, by default the one called ``y``, ``y_true``, ``actual``, ``observed`` or alike.
    weight : str, optional
        Column of the weights.
    min_band
        As in `Intervals.from_bounds`.
    missing : {"raise", "drop"}
        Refuse missing values, or leave out rows on which any model lacks one: models are compared on the same rows.
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
    table = _collected(frame, {"y_true": y_true, "weight": weight})
    observed = y_true or observed_column(table.columns)
    models = model_columns(table.columns, y=observed)
    if not models and (long := long_columns(table.columns, y=observed)):
        constant = [name for name in (observed, weight) if name is not None]
        table, models = widened(table, long, constant=constant)
    if observed is None or not models:
        what = "a prediction with its bounds, quantiles or samples (such as pred, lower, upper)"
        what = (
            "a column of observations (such as y, y_true, actual, observed)"
            if observed is None
            else what
        )
        raise ValueError(
            f"`frame` must have {what}: none found. It has {short(', '.join(table.columns), 200)}."
        )
    names = [observed, *(name for columns in models.values() for name in columns.names)]
    values = {name: floats(name, table[name].to_numpy()) for name in names}
    y = values[observed]
    if missing == "drop":  # so that every model leaves out the same rows
        y[missing_in([*values.values()])] = np.nan
    weights = None if weight is None else table[weight].to_numpy()
    return models_of(
        models, y, values, weight=weights, min_band=min_band, missing=missing, crossing=crossing
    )


def _collected(frame: Any, names: dict[str, str | None]) -> nw.DataFrame[Any]:
    """Return a frame for narwhals that has the columns `names` (role to column name); lazy ones are collected."""
    import narwhals as nw

    native = opened(frame, names.items())
    table = native.collect() if isinstance(native, nw.LazyFrame) else native
    tuples = [name for name in table.columns if isinstance(name, tuple)]
    if tuples:
        raise TypeError(
            f"`frame` must have text as column names; it has {short(str(tuples[0]))}. "
            "Hint: choose the variable of a frame of skpro or sktime, frame['sales']."
        )
    return table.rename(
        {name: str(name) for name in table.columns}
    )  # pandas has quantiles as column names


def models_of(
    models: Mapping[str, Columns], y_true: Any, values: Any, **options: Unpack[QuantileOptions]
) -> dict[str, Model]:
    """Return models from their columns in `values`, by name; what is wrong with one is said by its name."""
    found: dict[str, Model] = {}
    for name, columns in models.items():
        try:
            levels = levels_of(y_true, columns, values, who=f"{short(name)}: ", **options)
            if len(levels) > 1:
                refuse_crossing("quantiles", _edges(levels), SORT)
                UCC.from_levels(levels)  # refuses levels of other rows
        except (TypeError, ValueError) as error:
            raise prefixed(f"{short(name)}: ", error) from None
        found[name] = levels if len(levels) > 1 else _shippable(next(iter(levels.values())))
    return found


def _shippable(intervals: Intervals) -> Intervals | UCC:
    """Return intervals, or those that only a shift can move as a curve over the shift."""
    return UCC(intervals, vary="shift") if not intervals.has_prediction else intervals


def _edges(levels: Mapping[float, Intervals]) -> list[Array]:
    """Return the bounds of all levels from the lowest to the highest."""
    inner = [levels[level] for level in sorted(levels)]
    side = inner[0].side
    lower = [] if side == "upper" else [intervals.lower for intervals in reversed(inner)]
    upper = [] if side == "lower" else [intervals.upper for intervals in inner]
    return [*lower, *upper]


def levels_of(
    y_true: Any, columns: Columns, values: Any, *, who: str = "", **options: Unpack[QuantileOptions]
) -> dict[float, Intervals]:
    """Return one model from its columns in `values`, by level; a level that no name tells is 0."""
    if columns.samples:
        own: Any = {
            name: value for name, value in options.items() if name != "crossing"
        }  # the draws are sorted here
        return levels_from_posterior(
            y_true, np.stack([values[name] for name in columns.samples]), **own
        )
    bounds = {
        float(each.level or 0): (_given(values, each.lower), _given(values, each.upper))
        for each in columns.bounds
    }
    y_pred = _given(values, columns.pred)
    return bounded(y_true, y_pred, bounds, median=columns.median, who=who, **options)


def _given(values: Any, name: str) -> Any:
    """Return a column; None where a model has none."""
    return values[name] if name else None
