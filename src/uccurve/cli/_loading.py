"""Loading: the models' intervals from files, and the words for which columns were taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from uccurve.intervals import Intervals, Missing

from ._conventions import Columns, taken
from ._files import Table, listed, shown

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Request:
    """Which columns a person asked for; what is None or empty is found by convention."""

    y: str | None = None
    models: Mapping[str, Columns] | None = None
    weight: str | None = None
    by: str | None = None
    min_band: float | str | None = None
    missing: Missing = "raise"


@dataclass(frozen=True, slots=True)
class Part:
    """One file with the columns that are taken from it."""

    table: Table
    y: str
    models: Mapping[str, Columns]

    def said(self) -> Iterator[str]:
        """What was taken, one line a model."""
        for name, columns in self.models.items():
            yield (
                f"{self.table.label}: {shown(name)} is {listed(columns)}; observed is {shown(self.y)}"
                if name != self.table.name
                else f"{self.table.label}: {listed(columns)}; observed is {shown(self.y)}"
            )

    def numbers(self, request: Request) -> list[str]:
        """Columns that must hold numbers."""
        columns = [name for model in self.models.values() for name in model]
        return list(dict.fromkeys([self.y, *columns, *([request.weight] if request.weight else [])]))


def parts(paths: Sequence[str], request: Request) -> list[Part]:
    """Look into the files and settle which columns are taken from each."""
    if list(paths).count("-") > 1:
        raise ValueError("standard input can be read once only: give - once.")
    found = [_part(Table.open(path), request) for path in paths]
    names = [name for part in found for name in part.models]
    twice = {name for name in names if names.count(name) > 1}
    if len(found) == 1 or not twice:
        return found
    return [Part(part.table, part.y, _qualified(part, twice)) for part in found]


def _qualified(part: Part, twice: set[str]) -> dict[str, Columns]:
    """Models under the file's name where their own is not enough to tell them apart."""
    if len(part.models) == 1:
        return {part.table.name: next(iter(part.models.values()))}
    return {f"{part.table.name}: {name}" if name in twice else name: columns for name, columns in part.models.items()}


def _part(table: Table, request: Request) -> Part:
    found = taken(table.columns, y=request.y, nameless=table.name)
    models = request.models or found.models
    if found.y is None:
        raise ValueError(
            f"{table.label} has no column for the observation (y, y_true, actual, target): it has "
            f"{listed(table.columns)}. Hint: --y COLUMN."
        )
    if not models:
        raise ValueError(
            f"{table.label} has no prediction with its bounds (such as pred, lower, upper): it has "
            f"{listed(table.columns)}. Hint: --model NAME=PRED,LOWER,UPPER."
        )
    part = Part(table, found.y, models)
    table.require([*part.numbers(request), *([request.by] if request.by else [])])
    return part


def models_in_memory(found: Sequence[Part], request: Request) -> tuple[dict[str, Intervals], Any]:
    """Intervals of every model, and the labels of the `by` column (None without one)."""
    labels = [request.by] if request.by else []
    frames = [part.table.read(part.numbers(request), labels) for part in found]
    if request.missing == "drop":
        frames = _whole_rows(frames, found, request)
    models: dict[str, Intervals] = {}
    for part, frame in zip(found, frames, strict=True):
        for name, columns in part.models.items():
            models[name] = _intervals(name, frame, part.y, columns, request)
    return models, frames[0][request.by].to_list() if request.by else None


def _intervals(name: str, frame: pl.DataFrame, y: str, columns: Columns, request: Request) -> Intervals:
    arrays = [frame[column].to_numpy() for column in (y, *columns)]
    weight = frame[request.weight].to_numpy() if request.weight else None
    try:
        return Intervals.from_bounds(*arrays, weight=weight, min_band=request.min_band)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{shown(name)}: {error}") from None


def _whole_rows(frames: list[pl.DataFrame], found: Sequence[Part], request: Request) -> list[pl.DataFrame]:
    """The rows on which every model has all its numbers: models are compared on the same rows."""
    import warnings

    import polars as pl

    from uccurve._checks import DroppedRowsWarning

    total = len(frames[0])
    if any(len(frame) != total for frame in frames):
        counts = ", ".join(f"{part.table.label} {len(frame):,}" for part, frame in zip(found, frames, strict=True))
        raise ValueError(f"files must have the same rows: {counts}.")
    finite = [
        frame[name].is_finite().fill_null(False)
        for part, frame in zip(found, frames, strict=True)
        for name in part.numbers(request)
    ]
    whole = reduce(pl.Series.__and__, finite)
    if not whole.any():
        raise ValueError(f"all {total:,} rows have a missing value.")
    if not whole.all():
        dropped = total - int(whole.sum())
        message = f"dropped {dropped} of {total} rows: they have a missing or infinite value"
        warnings.warn(message, DroppedRowsWarning, stacklevel=2)
    return [frame.filter(whole) for frame in frames]
