"""Long tables: one row per quantile or per sample, as forecast hubs have them, turned into one row per forecast."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from uccurve import _refusals as checks
from uccurve._arrays import Flags, Indices
from uccurve._door import outside
from uccurve._refusals import Rule, as_written, shown
from uccurve._vocabulary import Array, DroppedRowsWarning

from ._names import Bounds, Columns, Long
from ._quantiles import level_of, pairs

if TYPE_CHECKING:
    import narwhals as nw

HINT = "add the key column that tells such rows apart"
ROW = "row of the long table"
# What stands where a row has no quantile: it is a point forecast, or it only observes.
NO_QUANTILE = ("", "na", "nan", "none", "null")
KINDS = ("quantile", "sample")


class Cell(NamedTuple):
    """What a column of the wide table holds: one quantile, or one sample, of a model."""

    model: str
    level: float | None
    sample: str = ""

    @property
    def name(self) -> str:
        """Name of the column."""
        return f"{self.model} {self.sample if self.level is None else self.level}"


def widened(
    frame: nw.DataFrame[Any], long: Long, *, constant: Sequence[str] = (), nameless: str = "model"
) -> tuple[nw.DataFrame[Any], dict[str, Columns]]:
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
    _say_dropped(~wanted & ~np.isnan(value), len(frame), long)
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
    return _with_columns(wide, cells, values), _models(cells)


def _first_rows(frame: nw.DataFrame[Any], names: Sequence[str]) -> Indices:
    """Return for each row the number of the first one with the same values in these columns."""
    import narwhals as nw

    if not names:
        return np.zeros(len(frame), dtype=np.intp)
    first = nw.col(ROW).min().over(*names)
    return np.asarray(frame.with_row_index(ROW).select(first)[ROW].to_numpy(), dtype=np.intp)


def _cells(labels: nw.DataFrame[Any], long: Long, nameless: str) -> tuple[list[Cell], Flags]:
    """Return the cells that rows with these labels belong to, and which of the labels name one."""
    kind = _wanted_kind(labels, long)
    found: list[Cell | None] = []
    for row in labels.select(*long.labels).iter_rows(named=True):
        model = nameless if long.model is None else str(row[long.model])
        label = row[long.label]
        is_other = long.kind is not None and str(row[long.kind]).lower() != kind
        if is_other or _is_missing(label):
            found.append(None)
        elif kind == "sample":
            found.append(Cell(model, None, f"sample_{label}"))
        else:
            found.append(Cell(model, level_of(label, "quantile")))
    return [cell for cell in found if cell is not None], np.array(
        [cell is not None for cell in found]
    )


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


def _say_dropped(dropped: Flags, total: int, long: Long) -> None:
    """Say how many rows hold something else than a quantile."""
    count = int(np.count_nonzero(dropped))
    if not count:
        return
    why = f"their {long.kind} is not quantile" if long.kind else "they are point forecasts"
    message = f"dropped {count} of {total} rows: {why}"
    warnings.warn(message, DroppedRowsWarning, stacklevel=outside())


def _with_columns(
    wide: nw.DataFrame[Any], cells: Sequence[Cell], values: Array
) -> nw.DataFrame[Any]:
    """Return a frame with one more column for each cell."""
    import narwhals as nw

    backend = nw.get_native_namespace(wide)
    new = [
        nw.new_series(cell.name, column, backend=backend)
        for cell, column in zip(cells, values, strict=True)
    ]
    return wide.with_columns(*new)


def _models(cells: Sequence[Cell]) -> dict[str, Columns]:
    """Return the columns of each model."""
    models: dict[str, list[Cell]] = {}
    for cell in cells:
        models.setdefault(cell.model, []).append(cell)
    return {model: _model(model, of_model) for model, of_model in models.items()}


def _model(model: str, cells: Sequence[Cell]) -> Columns:
    """Return the columns of one model, its quantiles in pairs."""
    samples = tuple(cell.name for cell in cells if cell.level is None)
    if samples:
        return Columns("", (), samples=samples)
    names = {cell.level: cell.name for cell in cells if cell.level is not None}
    try:
        ends = pairs(sorted(names))
    except ValueError as error:
        raise ValueError(f"{model}: {error}") from None
    if 0.5 not in names:
        raise ValueError(
            f"{model} must have a median, the quantile 0.5, as its prediction; there is none."
        )
    bounds = [
        Bounds(names[low], names[high], as_written(level)) for level, (low, high) in ends.items()
    ]
    return Columns(names[0.5], tuple(bounds), median=True)


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
