"""Loading: the models' intervals from files, and the words for which columns were recognised."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from uccurve.adapters._frame import Model, named_levels, one_or_many
from uccurve.adapters._long import widened
from uccurve.adapters._names import Bounds, Columns, Long, key_columns, long_columns, model_columns, observed_column
from uccurve.compare._formats import coverage, short

from ._console import say
from ._labels import block_labels, segment_labels
from ._options import Request
from ._rows import complete_rows, matched_rows, refuse_other_rows
from ._sources import Source
from ._tables import Table, listed

LISTED = 5
"""Models whose columns are told."""


@dataclass(frozen=True, slots=True)
class Part:
    """One file with the columns that are read from it; one of several may lack the observation, or models."""

    table: Table
    y: str | None
    models: Mapping[str, Columns]

    def said(self) -> Iterator[str]:
        """Return what was recognised, one line per model; of many models, their names in one line."""
        lines = [self._recognised(name, columns) for name, columns in self.models.items()]
        if len(lines) > LISTED:
            lines = [f"{len(lines)} models, {listed([*self.models])}"]
        observed = "" if self.y is None else f"observed is {short(self.y)}"
        for line in lines or [""]:
            yield f"{self.table.label}: {'; '.join(filter(None, (line, observed)))}"

    def _recognised(self, name: str, columns: Columns) -> str:
        model = "" if name == self.table.source.name else f"{short(name)} is "
        levels = [str(coverage(float(level))) for level in columns.levels if level is not None]
        names = f"{len(columns.samples)} samples" if columns.samples else listed(columns.names)
        told = f" ({', '.join(levels)})" if levels else ""
        return f"{model}{names}{told}"

    def numbers(self, request: Request) -> list[str]:
        """Columns that must hold numbers."""
        columns = [name for model in self.models.values() for name in model.names]
        named = [name for name in (self.y, request.weight) if name is not None and name in self.table.columns]
        return list(dict.fromkeys([*named, *columns]))


def parts(paths: Sequence[str | Source], request: Request) -> list[Part]:
    """Look into the files, settle which columns are read from each, and say so."""
    found = [part_of(Table.open(path, request.dialect), request) for path in paths]
    _refuse_incomplete(found, request)
    names = [name for part in found for name in part.models]
    repeated = {name for name in names if names.count(name) > 1}
    if len(found) > 1 and repeated:
        titled = zip(found, _titles(found), strict=True)
        found = [replace(part, models=_renamed(part, title, repeated)) for part, title in titled]
    for part in found:
        for line in part.said():
            say(line)
    return found


def part_of(table: Table, request: Request) -> Part:
    """Settle which columns are read from one file."""
    y = request.y or observed_column(table.columns, hint="choose one by --y")
    y = y if y in table.columns else None  # another file may have it
    models = request.models
    if request.on:
        models = {name: one for name, one in models.items() if set(one.names) <= {*table.columns}}
    if not request.models:
        hint = "choose by --model {model}=PRED,LOWER,UPPER"
        models = model_columns(table.columns, y=y, nameless=table.source.name, hint=hint)
    if not models and (long := long_columns(table.columns, y=y)):
        return _widened(table, long, y, request)
    return Part(table, y, models)


def load(found: Sequence[Part], request: Request) -> tuple[dict[str, Model], dict[str, Any]]:
    """Read the models of all files, of the same rows in the same order, and their segments and blocks."""
    frames = read_frames(found, request)
    labels = frames[_holder(found, request.labels)]
    by = segment_labels(labels, request.by) if request.by else None
    return models_of(found, frames, request), {"by": by, "block": block_labels(labels, request.block)}


def read_frames(found: Sequence[Part], request: Request) -> list[pl.DataFrame]:
    """Read the columns of all files that are needed, rows matched and complete where that was asked for."""
    shared = _shared_keys(found) if len(found) > 1 else []
    keys = [list(request.on or shared) for _ in found]
    if request.on and not all(part.models for part in found):  # an observation may belong to several forecasts
        own = _shared_keys([part for part in found if part.models])
        keys = [list(dict.fromkeys([*request.on, *(own if part.models else [])])) for part in found]
    holder = _holder(found, request.labels)
    frames = [
        part.table.read(part.numbers(request), [*keys[place], *(request.labels if place == holder else [])])
        for place, part in enumerate(found)
    ]
    titles = [part.table.label for part in found]
    if request.on:
        frames = matched_rows(frames, titles, keys, drop=request.missing == "drop")
    else:
        refuse_other_rows(frames, titles, shared)
    if request.missing == "drop":
        frames = complete_rows(frames, [part.numbers(request) for part in found])
    return frames


def models_of(found: Sequence[Part], frames: Sequence[pl.DataFrame], request: Request) -> dict[str, Model]:
    """Return the intervals of every model."""
    places = [place for place, part in enumerate(found) if part.y is not None]
    models: dict[str, Model] = {}
    for place, (part, frame) in enumerate(zip(found, frames, strict=True)):
        observed = place if place in places else places[0]
        y = frames[observed][str(found[observed].y)].to_numpy()
        for name, columns in part.models.items():
            models[name] = _model(name, frame, y, columns, request)
    return models


def _model(name: str, frame: pl.DataFrame, y: Any, columns: Columns, request: Request) -> Model:
    weight = frame[request.weight].to_numpy() if request.weight else None
    crossing: Any = "sort" if request.sort_crossing else "raise"
    options: Any = {"weight": weight, "min_band": request.min_band, "crossing": crossing}
    return one_or_many(named_levels(name, y, columns, lambda column: frame[column].to_numpy(), **options))


def _widened(table: Table, long: Long, y: str | None, request: Request) -> Part:
    """Return a file with one row per quantile as one with a row per forecast."""
    import narwhals as nw

    constant = [name for name in (y, request.weight) if name is not None]
    numbers = [long.value, *constant]
    frame = table.read(numbers, [name for name in table.columns if name not in numbers])
    try:
        wide, models = widened(nw.from_native(frame), long, constant=constant, nameless=table.source.name)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{table.label}: {error}") from None
    return Part(table.holding(wide.to_native()), y, models)


def _refuse_incomplete(found: Sequence[Part], request: Request) -> None:
    """Refuse files without an observation or a model, unless keys match them with a file that has it."""
    has_y, has_models = any(part.y is not None for part in found), any(part.models for part in found)
    for part in found:
        table = part.table
        if part.y is None and not (request.on and has_y):
            table.require([request.y] if request.y else [])
            raise ValueError(
                f"{table.label} has no column for the observation (such as y, y_true, actual, observed); it has "
                f"{listed(table.columns)}. Hint: --y COLUMN, or --on KEYS where another file has it."
            )
        if not part.models and not (request.on and has_models and part.y is not None):
            raise ValueError(
                f"{table.label} has no prediction with its bounds (such as pred, lower, upper); it has "
                f"{listed(table.columns)}. Hint: --model NAME=PRED,LOWER,UPPER."
            )
        weight = [request.weight] if request.weight and part.models else []
        table.require([*part.numbers(request), *weight, *(request.on or ())])


def _shared_keys(found: Sequence[Part]) -> list[str]:
    """Return the key columns that all files have."""
    return [name for name in key_columns(found[0].table.columns) if all(name in one.table.columns for one in found)]


def _holder(found: Sequence[Part], labels: Sequence[str]) -> int:
    """Return the place of the first file that has all labels; 0 where none has."""
    return next((place for place, part in enumerate(found) if {*labels} <= {*part.table.columns}), 0)


def _titles(found: Sequence[Part]) -> list[str]:
    """Return a different name for each file: its own, with its folder where several files have the same."""
    sources = [part.table.source for part in found]
    own = [source.name for source in sources]
    names = [
        source.label.rpartition(".")[0] or source.label if own.count(source.name) > 1 and source.paths else source.name
        for source in sources
    ]
    return [name if names.count(name) == 1 else f"{name} {i + 1}" for i, name in enumerate(names)]


def _renamed(part: Part, title: str, repeated: set[str]) -> dict[str, Columns]:
    """Return models under the file's name where their own is not enough to tell them apart."""
    if len(part.models) == 1:
        return {title: next(iter(part.models.values()))}
    return {f"{title}: {name}" if name in repeated else name: columns for name, columns in part.models.items()}


def level_name(name: str, columns: Columns, bounds: Bounds) -> str:
    """Return what one level of a model is called."""
    return name if len(columns.bounds) == 1 else f"{name} {coverage(float(bounds.level or 0))}"
