"""Long tables: one row per quantile, as forecast hubs have them, turned into one row per forecast."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uccurve import _refusals as checks
from uccurve._arrays import Indices, outside
from uccurve._refusals import Rule, as_written, shown
from uccurve._vocabulary import DroppedRowsWarning

from ._names import Bounds, Columns, Long
from ._quantiles import level_of, pairs

if TYPE_CHECKING:
    import narwhals as nw

HINT = "add the key column that tells such rows apart"


def widened(
    frame: nw.DataFrame[Any], long: Long, *, constant: Sequence[str] = (), nameless: str = "model"
) -> tuple[nw.DataFrame[Any], dict[str, Columns]]:
    """Return a frame with one row per forecast and one column per quantile of each model, and those columns.

    A forecast is what all other columns identify together. The columns `constant` (the observation, a weight) must
    have one value in it and identify nothing.
    """
    import narwhals as nw

    if long.kind is not None:
        frame = _quantile_rows(frame, long.kind)
    keys = [name for name in frame.columns if name not in (*constant, *filter(None, long))]
    labels = (
        [nameless] * len(frame)
        if long.model is None
        else [str(name) for name in frame[long.model].to_list()]
    )
    given = frame[long.quantile].to_list()
    known = {value: level_of(value, "quantile") for value in set(given)}
    cells = list(zip(labels, (known[value] for value in given), strict=True))
    columns = {one: place for place, one in enumerate(sorted({*cells}))}
    place = np.array([columns[one] for one in cells])
    row = "row of the long table"
    number = (
        nw.col(row).min().over(*keys) if keys else nw.lit(0)
    )  # the first row of the same forecast
    first, forecast = np.unique(
        frame.with_row_index(row).select(number)[row].to_numpy(), return_inverse=True
    )
    _refuse_repeated(forecast * len(columns) + place, long.quantile, frame.select(keys))
    for name in constant:
        _refuse_changing(frame[name].to_numpy(), first[forecast], name)
    values = np.full((len(first), len(columns)), np.nan)
    values[forecast, place] = frame[long.value].to_numpy()
    wide = frame[first.tolist()].select(*keys, *constant)
    backend = nw.get_native_namespace(wide)
    new = (
        nw.new_series(_name(*one), values[:, i], backend=backend) for i, one in enumerate(columns)
    )
    models = {
        model: [level for name, level in columns if name == model]
        for model in dict.fromkeys(labels)
    }
    return wide.with_columns(*new), {
        model: _model(model, levels) for model, levels in models.items()
    }


def _quantile_rows(frame: nw.DataFrame[Any], kind: str) -> nw.DataFrame[Any]:
    """Leave out rows that hold something else than a quantile, and say how many."""
    found = frame.filter(frame[kind] == "quantile")
    if not len(found):
        raise ValueError(f"column {kind} must be 'quantile' in at least one row.")
    if len(found) < len(frame):
        message = (
            f"dropped {len(frame) - len(found)} of {len(frame)} rows: their {kind} is not quantile"
        )
        warnings.warn(message, DroppedRowsWarning, stacklevel=outside())
    return found


def _name(model: str, level: float) -> str:
    return f"{model} {level}"


def _model(model: str, levels: Sequence[float]) -> Columns:
    """Return the columns of one model, its quantiles in pairs."""
    try:
        ends = pairs(levels)
    except ValueError as error:
        raise ValueError(f"{model}: {error}") from None
    if 0.5 not in levels:
        raise ValueError(
            f"{model} must have a median, the quantile 0.5, as its prediction; there is none."
        )
    bounds = [
        Bounds(_name(model, low), _name(model, high), as_written(level))
        for level, (low, high) in ends.items()
    ]
    return Columns(_name(model, 0.5), tuple(bounds), median=True)


def _refuse_repeated(cells: Indices, quantile: str, keys: nw.DataFrame[Any]) -> None:
    """Refuse forecasts in which a quantile of a model occurs twice."""
    _, place, counts = np.unique(cells, return_inverse=True, return_counts=True)
    must = f"occur once in each forecast ({', '.join(keys.columns)})"
    rule = Rule(quantile, must, ("is repeated", "are repeated"), HINT)
    checks.rows(counts[place] > 1, rule, lambda at: shown(", ".join(map(str, keys.row(*at)))))


def _refuse_changing(values: Any, first: Indices, name: str) -> None:
    """Refuse a column that differs from the first row of its forecast."""
    changing = ~np.isclose(values, values[first], rtol=0, atol=0, equal_nan=True)
    rule = Rule(name, "be the same in all rows of a forecast", ("differs", "differ"), HINT)
    checks.rows(changing, rule, lambda at: values[at])
