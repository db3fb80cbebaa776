"""Frames: every model that the columns of a data frame name, as `assess` takes it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from uccurve import _refusals as checks
from uccurve._arrays import Flags, Indices
from uccurve._door import floats, opened, outside
from uccurve._refusals import Rule, as_written, prefixed, shown
from uccurve._scoring import refuse_crossing
from uccurve._vocabulary import Array, DroppedRowsWarning, Side
from uccurve.curve import UCC
from uccurve.intervals import Intervals, Missing
from uccurve.words.formats import short

from ._names import Bounds, Long, ModelColumns, long_columns, model_columns, observed_column
from ._quantiles import (
    SORT,
    Crossing,
    QuantileOptions,
    bounded,
    level_of,
    levels_from_posterior,
    missing_in,
    pairs,
)

if TYPE_CHECKING:
    import narwhals as nw
    from narwhals.typing import IntoFrame

HINT = "add the key column that tells such rows apart"
ROW = "row of the long table"
# What stands where a row has no quantile: it is a point forecast, or it only observes.
NO_QUANTILE = ("", "na", "nan", "none", "null")
KINDS = ("quantile", "sample")
POINTS = ("point", "mean", "median")

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
    models: Mapping[str, ModelColumns], y_true: Any, values: Any, **options: Unpack[QuantileOptions]
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
    y_true: Any,
    columns: ModelColumns,
    values: Any,
    *,
    who: str = "",
    **options: Unpack[QuantileOptions],
) -> dict[float, Intervals]:
    """Return one model from its columns in `values`, by level; a level that no name tells is 0."""
    if columns.samples:
        of_samples: Any = dict(options)
        of_samples.pop("crossing", None)  # draws are sorted anyway
        draws = np.stack([values[name] for name in columns.samples])
        return levels_from_posterior(y_true, draws, **of_samples)
    if not columns.pred and columns.side == "both" and len(columns.bounds) > 1:
        raise ValueError(
            "a model of several levels must have a prediction beside its bounds. "
            "Hint: add its column, or keep the bounds of one level."
        )
    bounds: dict[float, tuple[Any, Any]] = {}
    for pair in columns.bounds:
        bounds[float(pair.level or 0)] = _given(values, pair.lower), _given(values, pair.upper)
    y_pred = _given(values, columns.pred)
    return bounded(y_true, y_pred, bounds, median=columns.median, who=who, **options)


def _given(values: Any, name: str) -> Any:
    """Return a column; None where a model has none."""
    return values[name] if name else None


class LongColumn(NamedTuple):
    """What a column of the wide table holds: one quantile, or one sample, of a model."""

    model: str
    level: float | None
    sample: str = ""

    @property
    def name(self) -> str:
        """Name of the column."""
        return f"{self.model} {self.sample if self.level is None else self.level}"


def widened(
    frame: nw.DataFrame[Any],
    long: Long,
    *,
    constant: Sequence[str] = (),
    nameless: str = "model",
    side: Side | None = None,
) -> tuple[nw.DataFrame[Any], dict[str, ModelColumns]]:
    """Return a frame with one row per forecast and one column per quantile or sample of each model, and those columns.

    A forecast is what all other columns identify together. The columns `constant` (the observation, a weight) must
    have one value in it and identify nothing. Rows that only observe are left out, and so are point forecasts, which
    are counted.
    """
    keys = [name for name in frame.columns if name not in (*constant, *long.names)]
    value = np.asarray(frame[long.value].to_numpy(), dtype=np.float64)
    first, code = np.unique(_first_rows(frame, long.labels), return_inverse=True)
    cells, kept = _cells(frame[first.tolist()], long, nameless)
    wanted = kept[code]
    _say_dropped(frame, ~wanted & ~np.isnan(value), long)
    if not wanted.any():
        raise ValueError(
            f"column {long.label} must hold a quantile or a sample in at least one row."
        )
    if not wanted.all():
        rows = np.flatnonzero(wanted)
        frame, value, code = frame[rows.tolist()], value[rows], code[rows]
    place = np.cumsum(kept)[code] - 1
    start, forecast = np.unique(_first_rows(frame, keys), return_inverse=True)
    _refuse_repeated(forecast * len(cells) + place, long.label, frame.select(keys))
    for name in constant:
        _refuse_changing(frame[name].to_numpy(), start[forecast], name)
    values = np.full((len(cells), len(start)), np.nan)
    values[place, forecast] = value
    wide = frame[start.tolist()].select(*keys, *constant)
    return _with_columns(wide, cells, values), _models(cells, side)


def _first_rows(frame: nw.DataFrame[Any], names: Sequence[str]) -> Indices:
    """Return for each row the number of the first one with the same values in these columns."""
    import narwhals as nw

    if not names:
        return np.zeros(len(frame), dtype=np.intp)
    first = nw.col(ROW).min().over(*names)
    return np.asarray(frame.with_row_index(ROW).select(first)[ROW].to_numpy(), dtype=np.intp)


def _cells(labels: nw.DataFrame[Any], long: Long, nameless: str) -> tuple[list[LongColumn], Flags]:
    """Return the columns that rows with these labels belong to, and which of the labels name one."""
    kind = _wanted_kind(labels, long)
    cells: list[LongColumn] = []
    kept: list[bool] = []
    for row in labels.select(*long.labels).iter_rows(named=True):
        label = row[long.label]
        is_other = long.kind is not None and str(row[long.kind]).lower() != kind
        is_read = not (is_other or _is_missing(label))
        kept.append(is_read)
        if is_read:
            model = nameless if long.model is None else str(row[long.model])
            cells.append(_long_column(model, kind, label))
    return cells, np.array(kept)


def _long_column(model: str, kind: str, label: Any) -> LongColumn:
    """Return the column of one quantile or of one sample."""
    if kind == "sample":
        return LongColumn(model, None, f"sample_{label}")
    return LongColumn(model, level_of(label, "quantile"))


def _wanted_kind(labels: nw.DataFrame[Any], long: Long) -> str:
    """Return which rows are read: those of quantiles where there are any, else those of samples."""
    if long.kind is None:
        return "sample" if long.quantile is None else "quantile"
    kinds = {str(kind).lower() for kind in labels[long.kind].to_list()}
    wanted = next((kind for kind in KINDS if kind in kinds), None)
    if wanted is None:
        raise ValueError(f"column {long.kind} must be 'quantile' or 'sample' in at least one row.")
    return wanted


def _is_missing(label: Any) -> bool:
    return label is None or str(label).strip().lower() in NO_QUANTILE


def _say_dropped(frame: nw.DataFrame[Any], dropped: Flags, long: Long) -> None:
    """Say how many rows hold something else than a quantile; point forecasts are not needed and not missed."""
    if long.kind is None or not dropped.any():
        return
    kinds = frame[long.kind].to_list()
    others = [kind for kind, is_dropped in zip(kinds, dropped, strict=True) if is_dropped]
    count = sum(str(kind).lower() not in (*POINTS, "quantile") for kind in others)
    if count:
        message = f"dropped {count} of {len(frame)} rows: their {long.kind} is not quantile"
        warnings.warn(message, DroppedRowsWarning, stacklevel=outside())


def _with_columns(
    wide: nw.DataFrame[Any], cells: Sequence[LongColumn], values: Array
) -> nw.DataFrame[Any]:
    """Return a frame with one more column for each quantile or sample."""
    import narwhals as nw

    backend = nw.get_native_namespace(wide)
    columns = []
    for cell, column in zip(cells, values, strict=True):
        columns.append(nw.new_series(cell.name, column, backend=backend))
    return wide.with_columns(*columns)


def _models(cells: Sequence[LongColumn], side: Side | None) -> dict[str, ModelColumns]:
    """Return the columns of each model."""
    models: dict[str, list[LongColumn]] = {}
    for cell in cells:
        models.setdefault(cell.model, []).append(cell)
    return {model: _model(model, of_model, side) for model, of_model in models.items()}


def _model(model: str, cells: Sequence[LongColumn], side: Side | None) -> ModelColumns:
    """Return the columns of one model: its samples, its quantiles in pairs, or those of one side."""
    samples = tuple(cell.name for cell in cells if cell.level is None)
    if samples:
        return ModelColumns("", (), samples=samples)
    names = {cell.level: cell.name for cell in cells if cell.level is not None}
    pred = names.get(0.5, "")
    side = side or _side_of(names)
    if side != "both":
        return ModelColumns(pred, _bounds_of_side(model, names, side), median=bool(pred))
    try:
        ends = pairs(sorted(names))
    except ValueError as error:
        raise ValueError(f"{model}: {error}") from None
    if not pred and len(ends) > 1:
        raise ValueError(
            f"{model} must have a median, the quantile 0.5, as its prediction; there is none."
        )
    bounds = []
    for level, (low, high) in ends.items():
        bounds.append(Bounds(names[low], names[high], as_written(level)))
    return ModelColumns(pred, tuple(bounds), median=bool(pred))


def _side_of(quantiles: Mapping[float, str]) -> Side:
    """Return which bounds quantiles are: all below or all above the median are of one side."""
    if all(level >= 0.5 for level in quantiles) and max(quantiles) > 0.5:
        return "upper"
    if all(level <= 0.5 for level in quantiles) and min(quantiles) < 0.5:
        return "lower"
    return "both"


def _bounds_of_side(model: str, names: Mapping[float, str], side: Side) -> tuple[Bounds, ...]:
    """Return the quantiles of one side as bounds, the narrowest level first."""
    bounds = []
    for quantile in sorted(names, key=lambda quantile: abs(quantile - 0.5)):
        level = as_written(quantile)
        if side == "upper" and quantile > 0.5:
            bounds.append(Bounds("", names[quantile], level))
        elif side == "lower" and quantile < 0.5:
            bounds.append(Bounds(names[quantile], "", 1 - level))
    if not bounds:
        where = "above" if side == "upper" else "below"
        raise ValueError(f"{model} must have a quantile {where} 0.5 for side={side!r}.")
    return tuple(bounds)


def _refuse_repeated(cells: Indices, label: str, keys: nw.DataFrame[Any]) -> None:
    """Refuse forecasts in which a quantile of a model occurs twice."""
    counts = np.bincount(cells)
    must = f"occur once in each forecast ({', '.join(keys.columns)})"
    rule = Rule(label, must, ("is repeated", "are repeated"), HINT)
    if counts.max() > 1:
        checks.rows(counts[cells] > 1, rule, lambda at: shown(", ".join(map(str, keys.row(*at)))))


def _refuse_changing(values: Any, first: Indices, name: str) -> None:
    """Refuse a column that differs from the first row of its forecast."""
    changing = ~np.isclose(values, values[first], rtol=0, atol=0, equal_nan=True)
    rule = Rule(name, "be the same in all rows of a forecast", ("differs", "differ"), HINT)
    checks.rows(changing, rule, lambda at: values[at])
