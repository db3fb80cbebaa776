"""Loading: the models' intervals from files, and the words for which columns were recognised."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from uccurve.compare._formats import coverage, short
from uccurve.intervals import Intervals, Missing

from ._conventions import Bounds, Columns, detect_columns, told_coverage
from ._labels import block_labels, label_columns, segment_labels
from ._rows import complete_rows, matched_rows, refuse_other_lengths
from ._sources import refuse_two_readers
from ._tables import Dialect, Table, listed

if TYPE_CHECKING:
    import polars as pl

Model = Intervals | dict[float, Intervals]
"""Intervals of one level, or those of several by their level."""


@dataclass(frozen=True, slots=True)
class Request:
    """Which columns a person asked for, and how to read them; what is None or empty is found by convention."""

    y: str | None = None
    models: Mapping[str, Columns] | None = None
    weight: str | None = None
    by: tuple[tuple[str, ...], ...] = ()
    """Features to segment by; several columns of one feature are combined."""
    block: int | str | None = None
    on: tuple[str, ...] = ()
    min_band: float | str | None = None
    missing: Missing = "raise"
    sort_crossing: bool = False
    dialect: Dialect = field(default_factory=Dialect)


@dataclass(frozen=True, slots=True)
class Part:
    """One file with the columns that are read from it."""

    table: Table
    y: str
    models: Mapping[str, Columns]

    def said(self) -> Iterator[str]:
        """Return what was recognised, one line per model."""
        for name, columns in self.models.items():
            model = "" if name == self.table.source.name else f"{short(name)} is "
            levels = [str(coverage(float(level))) for level in columns.levels if level is not None]
            told = f" ({', '.join(levels)})" if levels else ""
            yield f"{self.table.label}: {model}{listed(columns.names)}{told}; observed is {short(self.y)}"

    def numbers(self, request: Request) -> list[str]:
        """Columns that must hold numbers."""
        columns = [name for model in self.models.values() for name in model.names]
        return list(dict.fromkeys([self.y, *columns, *([request.weight] if request.weight else [])]))


@dataclass(frozen=True, slots=True)
class Loaded:
    """Models with what is known of their rows, as `assess` takes them."""

    models: dict[str, Model]
    by: dict[str, Any] | None = None
    block: Any = None


def parts(paths: Sequence[str], request: Request) -> list[Part]:
    """Look into the files and settle which columns are read from each."""
    refuse_two_readers(*paths)
    found = [_part(Table.open(path, request.dialect), request) for path in paths]
    names = [name for part in found for name in part.models]
    repeated = {name for name in names if names.count(name) > 1}
    if len(found) == 1 or not repeated:
        return found
    return [
        replace(part, models=_renamed(part, title, repeated)) for part, title in zip(found, _titles(found), strict=True)
    ]


def coverage_told(found: Sequence[Part]) -> Fraction | None:
    """Return the coverage on which the column names of all models agree."""
    return told_coverage(columns for part in found for columns in part.models.values())


def load(found: Sequence[Part], request: Request) -> Loaded:
    """Read the models of all files, of the same rows in the same order, with their segments and blocks."""
    frames = read_frames(found, request)
    by = segment_labels(frames[0], request.by) if request.by else None
    return Loaded(models_of(found, frames, request), by, block_labels(frames[0], request.block))


def read_frames(found: Sequence[Part], request: Request) -> list[pl.DataFrame]:
    """Read the columns of all files that are needed, rows matched and complete where that was asked for."""
    labels = label_columns(request.by, request.block)
    wanted = [[*request.on, *(labels if part is found[0] else [])] for part in found]
    frames = [
        part.table.read(part.numbers(request), list(dict.fromkeys(names)))
        for part, names in zip(found, wanted, strict=True)
    ]
    titles = [part.table.label for part in found]
    if request.on:
        frames = matched_rows(frames, titles, request.on, drop=request.missing == "drop")
    refuse_other_lengths(frames, titles)
    if request.missing == "drop":
        frames = complete_rows(frames, [part.numbers(request) for part in found])
    return frames


def models_of(found: Sequence[Part], frames: Sequence[pl.DataFrame], request: Request) -> dict[str, Model]:
    """Return the intervals of every model."""
    return {
        name: _model(name, frame, part.y, columns, request)
        for part, frame in zip(found, frames, strict=True)
        for name, columns in part.models.items()
    }


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


def _part(table: Table, request: Request) -> Part:
    found = detect_columns(table.columns, y=request.y, nameless=table.source.name)
    models = request.models or found.models
    if found.y is None:
        raise ValueError(
            f"{table.label} has no column for the observation (such as y, y_true, actual, observed); it has "
            f"{listed(table.columns)}. Hint: --y COLUMN."
        )
    if not models:
        raise ValueError(
            f"{table.label} has no prediction with its bounds (such as pred, lower, upper); it has "
            f"{listed(table.columns)}. Hint: --model NAME=PRED,LOWER,UPPER."
        )
    part = Part(table, found.y, models)
    table.require([*part.numbers(request), *request.on])
    return part


def _model(name: str, frame: pl.DataFrame, y: str, columns: Columns, request: Request) -> Model:
    weight = frame[request.weight].to_numpy() if request.weight else None
    observed, arrays = frame[y].to_numpy(), bound_arrays(frame, columns, sort_crossing=request.sort_crossing)
    try:
        found = [
            Intervals.from_bounds(observed, pred, lower, upper, weight=weight, min_band=request.min_band)
            for pred, lower, upper in arrays
        ]
    except (TypeError, ValueError) as error:
        raise type(error)(f"{short(name)}: {error}") from None
    if len(found) == 1:
        return found[0]
    return {float(bounds.level or 0): one for bounds, one in zip(columns.bounds, found, strict=True)}


def bound_arrays(frame: pl.DataFrame, columns: Columns, *, sort_crossing: bool) -> list[tuple[Any, Any, Any]]:
    """Return prediction, lower and upper bound for each level; crossing bounds in ascending order on request."""
    lower = [frame[bounds.lower].to_numpy() for bounds in reversed(columns.bounds)]
    upper = [frame[bounds.upper].to_numpy() for bounds in columns.bounds]
    pred, levels = frame[columns.pred].to_numpy(), len(columns.bounds)
    if sort_crossing:
        ends = np.sort(np.stack([*lower, *upper]), axis=0)
        lower, upper = list(ends[:levels]), list(ends[levels:])
    return [(pred, lower[levels - 1 - i], upper[i]) for i in range(levels)]


def flat(models: Mapping[str, Columns]) -> dict[str, Columns]:
    """Return each level as a model of its own, called after its coverage where there are several."""
    return {
        level_name(name, columns, bounds): Columns(columns.pred, (bounds,))
        for name, columns in models.items()
        for bounds in columns.bounds
    }


def level_name(name: str, columns: Columns, bounds: Bounds) -> str:
    """Return what one level of a model is called."""
    return name if len(columns.bounds) == 1 else f"{name} {coverage(float(bounds.level or 0))}"
