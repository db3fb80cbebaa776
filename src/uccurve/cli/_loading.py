"""Loading: which columns of each file are read, said in words, and the models' intervals from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from uccurve._refusals import prefixed
from uccurve.adapters._frame import Model, models_of
from uccurve.adapters._long import widened
from uccurve.adapters._names import (
    Columns,
    key_columns,
    long_columns,
    model_columns,
    observed_column,
    told_coverage,
)
from uccurve.words.formats import coverage as percent
from uccurve.words.formats import listed, short

from ._files import Source, Table
from ._options import Request
from ._output import say
from ._rows import complete_rows, hint_at_blocks, matched_rows, refuse_other_rows, segment_labels

LISTED = 5  # models whose columns are told


@dataclass(frozen=True, slots=True)
class Part:
    """One file with the columns that are read from it; one of several may lack the observation, or models."""

    table: Table
    y: str | None
    models: Mapping[str, Columns]

    def numbers(self, request: Request) -> list[str]:
        """Columns that must hold numbers."""
        columns = [name for model in self.models.values() for name in model.names]
        named = (self.y, request.weight if self.models else None, *columns)
        return list(dict.fromkeys(name for name in named if name is not None))

    def say(self) -> None:
        """Say what was recognised, one line per model; of many models, their names in one line."""
        lines = [f"{len(self.models)} models, {listed([*self.models])}"]
        if len(self.models) <= LISTED:
            lines = [self._recognised(name, columns) for name, columns in self.models.items()]
        observed = "" if self.y is None else f"observed is {short(self.y)}"
        for line in lines or [""]:
            say(f"{self.table.label}: {'; '.join(filter(None, (line, observed)))}")

    def _recognised(self, name: str, columns: Columns) -> str:
        model = "" if name == self.table.source.name else f"{short(name)} is "
        names = f"{len(columns.samples)} samples" if columns.samples else listed(columns.names)
        levels = ", ".join(
            str(percent(float(level))) for level in columns.levels if level is not None
        )
        return f"{model}{names}{f' ({levels})' if levels else ''}"


def parts(paths: Sequence[str | Source], request: Request) -> list[Part]:
    """Look into the files, settle which columns are read from each, and say so."""
    found = [part_of(Table.open(path, request.decimal, request.na), request) for path in paths]
    _refuse_incomplete(found, request)
    names = [name for part in found for name in part.models]
    repeated = {name for name in names if names.count(name) > 1}
    if len(found) > 1 and repeated:
        for place, title in enumerate(_titles([part.table.source for part in found])):
            own = found[place].models
            names = (
                [title]
                if len(own) == 1
                else [f"{title}: {name}" if name in repeated else name for name in own]
            )
            found[place] = replace(found[place], models=dict(zip(names, own.values(), strict=True)))
    for part in found:
        part.say()
    return found


def _titles(sources: Sequence[Source]) -> list[str]:
    """Return a different name for each file: its own, with its folder where several files have the same."""
    names = [one.name for one in sources]
    if len({*names}) < len(names):
        names = [
            one.name
            if isinstance(one.content, bytes)
            else one.label.rpartition(".")[0] or one.label
            for one in sources
        ]
    return [name if names.count(name) == 1 else f"{name} {i}" for i, name in enumerate(names, 1)]


def part_of(table: Table, request: Request) -> Part:
    """Settle which columns are read from one file; one with a row per quantile is read as one per forecast."""
    y = request.y or observed_column(table.columns, hint="choose one with --y")
    y = y if y in table.columns else None  # another file may have it
    models = request.models
    if request.on:
        models = {name: one for name, one in models.items() if set(one.names) <= {*table.columns}}
    if not request.models:
        hint = "choose with --model {model}=PRED,LOWER,UPPER"
        models = model_columns(table.columns, y=y, nameless=table.source.name, hint=hint)
    long = None if models else long_columns(table.columns, y=y)
    if long is None:
        return Part(table, y, models)
    import narwhals as nw

    constant = [name for name in (y, request.weight) if name is not None]
    numbers = [long.value, *constant]
    frame = table.read(numbers, [name for name in table.columns if name not in numbers])
    try:
        wide, models = widened(
            nw.from_native(frame), long, constant=constant, nameless=table.source.name
        )
    except (TypeError, ValueError) as error:
        raise prefixed(f"{table.label}: ", error) from None
    return Part(table.holding(wide.to_native()), y, models)


def _refuse_incomplete(found: Sequence[Part], request: Request) -> None:
    """Refuse files without an observation or a model, unless keys match them with a file that has it."""
    has_y, has_models = (
        any(part.y is not None for part in found),
        any(part.models for part in found),
    )
    for part in found:
        table, absent, hint = part.table, "", ""
        if part.y is None and not (request.on and has_y):
            table.require([request.y] if request.y else [])
            absent = "column for the observation (such as y, y_true, actual, observed)"
            hint = "--y COLUMN, or --on KEYS where another file has it"
        elif not part.models and not (request.on and has_models and part.y is not None):
            absent = "prediction with its bounds (such as pred, lower, upper)"
            hint = "--model NAME=PRED,LOWER,UPPER"
        if absent:
            raise ValueError(
                f"{table.label} has no {absent}; it has {listed(table.columns)}. Hint: {hint}."
            )


def look_into(
    paths: Sequence[str | Source], request: Request, coverage: float | None
) -> tuple[list[Part], Request, float | None]:
    """Settle which columns are read, which hold blocks, and the coverage that was given or that all names tell."""
    found = parts(paths, request)
    columns = {name for part in found for name in part.table.columns}
    if request.block not in columns and str(request.block).isdecimal():
        request = replace(request, block=int(request.block))
    if request.block is None and (hint := hint_at_blocks(found[0].table)):
        say(hint)
    told = told_coverage(columns for part in found for columns in part.models.values())
    if coverage is None and told is not None:
        coverage = float(told)
        say(f"coverage {percent(coverage)}, as the column names say")
    return found, request, coverage


def load(found: Sequence[Part], request: Request) -> tuple[dict[str, Model], pl.DataFrame]:
    """Read the models of all files, of the same rows in the same order, and the frame that holds their labels."""
    shared = _shared_keys(found) if len(found) > 1 else []
    keys = [list(request.on or shared) for _ in found]
    if request.on and not all(
        part.models for part in found
    ):  # an observation may belong to several forecasts
        own = _shared_keys([part for part in found if part.models])
        keys = [list(dict.fromkeys([*request.on, *(own if part.models else [])])) for part in found]
    holder = next(
        (i for i, part in enumerate(found) if {*request.labels} <= {*part.table.columns}), 0
    )
    numbers, titles = (
        [part.numbers(request) for part in found],
        [part.table.label for part in found],
    )
    frames = [
        part.table.read(numbers[i], [*keys[i], *(request.labels if i == holder else [])])
        for i, part in enumerate(found)
    ]
    if request.on:
        frames = matched_rows(frames, titles, keys, drop=request.missing == "drop")
    else:
        refuse_other_rows(frames, titles, shared)
        _refuse_other_observations(found, frames, shared)
    if request.missing == "drop":
        whole = complete_rows(frames, numbers)  # so that models are compared on the same rows
        frames = [frame.filter(whole) for frame in frames]
    observed = next(frame[part.y] for part, frame in zip(found, frames, strict=True) if part.y)
    options: Any = {
        "min_band": request.min_band,
        "crossing": "sort" if request.sort_crossing else "raise",
    }
    models: dict[str, Model] = {}
    for part, frame in zip(found, frames, strict=True):
        y = frame[part.y] if part.y else observed
        weight = frame[request.weight] if request.weight and part.models else None
        models |= models_of(part.models, y, frame, weight=weight, **options)
    return models, frames[holder]


def _refuse_other_observations(
    found: Sequence[Part], frames: Sequence[pl.DataFrame], keys: Sequence[str]
) -> None:
    """Refuse files whose rows have other observations: they are not the same rows, or not in the same order."""
    observed = [
        (part.table.label, frame[part.y])
        for part, frame in zip(found, frames, strict=True)
        if part.y is not None
    ]
    first, *others = observed
    for label, values in others:
        differ = (values != first[1]).sum()
        if differ:
            raise ValueError(
                f"{first[0]} and {label} must have the same observations: {differ} of {len(values)} rows differ. "
                f"Hint: put the rows of both in the same order, or --on {','.join(keys) or 'KEYS'} matches them."
            )


def _shared_keys(found: Sequence[Part]) -> list[str]:
    """Return the key columns that all files have."""
    return [
        name
        for name in key_columns(found[0].table.columns)
        if all(name in one.table.columns for one in found)
    ]


def labels_of(frame: pl.DataFrame, request: Request) -> dict[str, Any]:
    """Return the segments, and the blocks or their length, as `assess` and `gate` take them."""
    by = {
        ", ".join(names): segment_labels([frame[name] for name in names])
        for names in request.by or ()
    }
    block = frame[request.block].to_list() if isinstance(request.block, str) else request.block
    return {"by": by or None, "block": block}
