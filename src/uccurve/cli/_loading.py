"""Loading: which columns of each file are read, said in words, and the models' intervals from them."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from uccurve._refusals import floor, prefixed
from uccurve._vocabulary import DroppedRowsWarning
from uccurve.adapters._frame import Model, models_of, widened
from uccurve.adapters._names import (
    ORIGINS,
    SERIES,
    TARGETS,
    TRUTH,
    ModelColumns,
    key_columns,
    long_columns,
    model_columns,
    observed_column,
    plain_name,
    told_coverage,
)
from uccurve.words.formats import counted, joined, listed, number, short, spelled
from uccurve.words.formats import coverage as percent
from uccurve.words.notes import few_origins

from ._files import FileSource, sources_of, truth_in
from ._options import Request
from ._output import say
from ._rows import (
    FEW_ORIGINS,
    Unmatched,
    Unobserved,
    block_column,
    complete_rows,
    hint_at_blocks,
    horizon_of,
    matched_rows,
    refuse_other_rows,
    segment_labels,
    series_units,
    times_of,
    whole_rows,
)
from ._tables import DataFile, without_horizon

LISTED = 5  # models whose columns are told
UNOBSERVED_NAMED = 3  # labels that are named of those without observations
ALL = "all"  # features
DATES = ("target_end_date", "target_date", "date", "ds")  # how hubs call the day that is forecast


@dataclass(frozen=True, slots=True)
class Part:
    """One file with the columns that are read from it; one of several may lack the observation, or models.

    `is_long` says that it had one row per quantile or sample.
    """

    table: DataFile
    y: str | None
    models: Mapping[str, ModelColumns]
    is_long: bool = False

    @property
    def only_observes(self) -> bool:
        """Whether it holds observations and no model."""
        return self.y is not None and not self.models

    def numbers(self, request: Request) -> list[str]:
        """Columns that must hold numbers."""
        names = [] if self.y is None else [self.y]
        if self.models:
            asked = (request.weight, request.unit_column)
            names += [name for name in asked if name is not None and name in self.table.columns]
        for model in self.models.values():
            names += model.names
        return list(dict.fromkeys(names))

    def row_keys(self) -> list[str]:
        """Columns that may tell its rows apart: those that are no model's and no observation."""
        if not self.is_long:
            return key_columns(self.table.columns)
        others = {self.y}
        for model in self.models.values():
            others.update(model.names)
        return [name for name in self.table.columns if name not in others]

    def say(self) -> None:
        """Say what was recognised, one line per model; of many models, their names in one line."""
        lines = [f"{len(self.models)} models, {listed([*self.models])}"]
        if self.is_long and len(self.models) > 1:
            lines[0] += f", {_of_one_row(next(iter(self.models.values())))}"
        elif len(self.models) <= LISTED:
            lines = [self._recognised(name, columns) for name, columns in self.models.items()]
        observed = "" if self.y is None else f"observed is {short(self.y)}"
        for line in lines or [""]:
            say(f"{self.table.label}: {'; '.join(filter(None, (line, observed)))}")

    def _recognised(self, name: str, columns: ModelColumns) -> str:
        model = "" if name == self.table.source.name else f"{short(name)} is "
        if self.is_long:
            return f"{model}{_of_one_row(columns)}"
        names = f"{len(columns.samples)} samples" if columns.samples else listed(columns.names)
        levels = [str(percent(float(level))) for level in columns.levels if level is not None]
        at_levels = f" ({', '.join(levels)})" if levels else ""
        return f"{model}{names}{at_levels}"


def _of_one_row(columns: ModelColumns) -> str:
    """Return how many quantiles or samples a forecast of a long table has."""
    if columns.samples:
        return counted(len(columns.samples), "sample")
    return counted(len(columns.names), "quantile")


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read from the files, settled before it is read, and what a reader of the results must know of that."""

    parts: list[Part]
    request: Request
    coverage: float | None
    series: str | None = None
    chooses_block: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Loaded:
    """Models of the same rows; `frame` holds their observations `y`, labels and units."""

    models: dict[str, Model]
    frame: pl.DataFrame
    y: str
    request: Request
    notes: tuple[str, ...] = ()


def parts(paths: Sequence[str | FileSource], request: Request) -> list[Part]:
    """Look into the files, settle which columns are read from each, and say so."""
    files = [_opened(source, request) for source in sources_of(paths)]
    truth = request.truth or truth_in([path for path in paths if isinstance(path, str)])
    truths = [] if truth is None else [_opened(truth, request)]
    _refuse_unknown_conditions([*files, *truths], request)
    recognised = [part_of(table, request) for table in files]
    recognised += [truth_of(table, recognised, request) for table in truths]
    _refuse_incomplete(recognised, request)
    recognised = _with_names_apart(recognised)
    for part in recognised:
        part.say()
    return recognised


def _opened(path: str | FileSource, request: Request) -> DataFile:
    return DataFile.open(path, request.decimal, request.na, request.conditions)


def _refuse_unknown_conditions(files: Sequence[DataFile], request: Request) -> None:
    """Refuse a condition on a column that no file has."""
    for condition in request.conditions:
        if all(condition.column not in table.columns for table in files):
            files[0].require([condition.column])


def _with_names_apart(recognised: Sequence[Part]) -> list[Part]:
    """Return parts with models of different names: where several files have the same, the file's name is added."""
    names = [name for part in recognised for name in part.models]
    repeated = {name for name in names if names.count(name) > 1}
    if len(recognised) < 2 or not repeated:
        return list(recognised)
    renamed = []
    for part in recognised:
        title = part.table.source.name
        if len(part.models) == 1:
            models = dict(zip([title], part.models.values(), strict=True))
        else:
            models = {
                f"{title}: {name}" if name in repeated else name: columns
                for name, columns in part.models.items()
            }
        renamed.append(replace(part, models=models))
    return renamed


def part_of(table: DataFile, request: Request) -> Part:
    """Settle which columns are read from one file; one with a row per quantile is read as one per forecast."""
    y = request.y or observed_column(table.columns, hint="choose one with --y")
    y = y if y in table.columns else None  # another file may have it
    models = request.models
    if request.on or request.truth:
        models = {
            name: columns
            for name, columns in models.items()
            if {*columns.names} <= {*table.columns}
        }
    if not request.models:
        hint = "choose with --model {model}=PRED,LOWER,UPPER"
        models = model_columns(
            table.columns, y=y, nameless=table.source.name, hint=hint, side=request.side
        )
    long = None if models else long_columns(table.columns, y=y)
    if long is None:
        return Part(table, y, models)
    asked = (y, request.weight, request.unit_column)
    constant = [name for name in asked if name in table.columns]
    numbers = [long.value, *constant]
    others = [name for name in table.columns if name not in numbers]
    frame = without_horizon(table.read(numbers, others))
    _refuse_several_targets(frame, table, long.label, request)
    try:
        wide, models = widened(
            nw.from_native(frame),
            long,
            constant=constant,
            nameless=table.source.name,
            side=request.side,
        )
    except (TypeError, ValueError) as error:
        raise prefixed(f"{table.label}: ", error) from None
    return Part(table.holding(wide.to_native()), y, models, is_long=True)


def _refuse_several_targets(
    frame: pl.DataFrame, table: DataFile, label: str, request: Request
) -> None:
    """Refuse forecasts of several targets, whose scores are not of one kind, unless `--by` separates them."""
    for name in frame.columns:
        if plain_name(name) not in TARGETS or name in request.labels:
            continue
        targets = frame.filter(pl.col(label).is_not_null())[name].drop_nulls().unique().sort()
        if len(targets) > 1:
            raise ValueError(
                f"{table.label} forecasts {len(targets)} targets ({listed(targets.to_list())}), and one score would "
                f"mix them. Hint: --where '{name}={targets[0]}'."
            )


def truth_of(table: DataFile, forecasts: Sequence[Part], request: Request) -> Part:
    """Settle which column of a file that only observes holds what was observed, and how its dates are called."""
    y = request.y if request.y in table.columns else None
    y = y or observed_column(table.columns, hint="choose one with --y")
    if y is None:
        named = {plain_name(name): name for name in reversed(table.columns)}
        y = next((named[word] for word in TRUTH if word in named), None)
    if y is None:
        raise ValueError(
            f"{table.label} has no column of what was observed (such as observed, value, oracle_value); it has "
            f"{listed(table.columns)}. Hint: --y COLUMN."
        )
    for part in forecasts:
        if part.y is not None:
            raise ValueError(
                f"{part.table.label} holds observations itself ({short(part.y)}). Hint: leave out --truth."
            )
    labels = [name for name in table.columns if name != y]
    frame = without_horizon(table.read([y], labels))
    frame = _with_date_of(forecasts, frame)
    if "output_type" in frame.columns:  # hubverse's, which also holds observed classes
        frame = frame.filter(pl.col("output_type").is_in(["quantile", "sample", "mean", "median"]))
        frame = frame.drop("output_type", "output_type_id", strict=False)
    if (
        "as_of" in frame.columns
    ):  # several versions of what was observed, of which the last one counts
        keys = [name for name in frame.columns if name not in ("as_of", y)]
        frame = frame.sort("as_of").unique(keys, keep="last", maintain_order=True).drop("as_of")
    return Part(table.holding(frame.unique(maintain_order=True)), y, {})


def _with_date_of(forecasts: Sequence[Part], frame: pl.DataFrame) -> pl.DataFrame:
    """Return observations whose date is called as that of the forecasts."""
    columns = {name for part in forecasts for name in part.table.columns}
    theirs = next((name for name in DATES if name in columns), None)
    ours = next((name for name in DATES if name in frame.columns), None)
    if theirs is None or ours is None or theirs in frame.columns:
        return frame
    return frame.rename({ours: theirs})


def _refuse_incomplete(recognised: Sequence[Part], request: Request) -> None:
    """Refuse files without an observation or a model, unless keys match them with a file that has it."""
    has_y = any(part.y is not None for part in recognised)
    has_models = any(part.models for part in recognised)
    matched = request.on or _are_matched(recognised)
    for part in recognised:
        table, absent, hint = part.table, "", ""
        if part.y is None and not (matched and has_y):
            table.require([request.y] if request.y else [])
            absent = "column for the observation (such as y, y_true, actual, observed)"
            hint = "--y COLUMN, or --truth FILE where another file has it"
        elif not part.models and not (matched and has_models and part.y is not None):
            absent = "prediction with its bounds (such as pred, lower, upper)"
            hint = "--model NAME=PRED,LOWER,UPPER"
        if absent:
            raise ValueError(
                f"{table.label} has no {absent}; it has {listed(table.columns)}. Hint: {hint}."
            )


def _are_matched(recognised: Sequence[Part]) -> bool:
    """Whether rows of several files are matched by what tells them apart, and not by their order."""
    if len(recognised) < 2:
        return False
    if any(part.is_long for part in recognised):
        return True
    observed = any(part.models and part.y is not None for part in recognised)
    return not observed and any(part.only_observes for part in recognised)


def look_into(
    paths: Sequence[str | FileSource], request: Request, coverage: float | None
) -> Reading:
    """Settle which columns are read, which hold blocks, and the coverage that was given or that all names tell."""
    recognised = parts(paths, request)
    request = _with_features(recognised, request)
    matched = bool(request.on) or _are_matched(recognised)
    chooses_block = matched and request.block is None
    request, notes = _with_blocks(recognised, request)
    level = told_coverage(model for part in recognised for model in part.models.values())
    if coverage is None and level is not None:
        coverage = float(level)
        say(f"coverage {percent(coverage)}, as the column names say")
    series = _series_column(recognised, request)
    return Reading(recognised, request, coverage, series, chooses_block, notes)


def _series_column(recognised: Sequence[Part], request: Request) -> str | None:
    """Return the column that names the series of each row, unless they are segments anyway."""
    segments = {names[0] for names in request.by or () if len(names) == 1}
    for part in recognised:
        for name in part.table.columns if part.models else ():
            if plain_name(name) in SERIES and name not in segments:
                return name
    return None


def _with_features(recognised: Sequence[Part], request: Request) -> Request:
    """Return a request whose features are named: all of them are the columns that are nothing else."""
    if request.features != (ALL,):
        return request
    features = []
    for part in recognised:
        others = {part.y, *key_columns(part.table.columns), *request.named_columns}
        for columns in part.models.values():
            others.update(columns.names)
        features += [name for name in part.table.columns if name not in others]
    if not features:
        raise ValueError("there are no columns that are features: all of them are something else.")
    return replace(request, features=tuple(dict.fromkeys(features)))


def _with_blocks(recognised: Sequence[Part], request: Request) -> tuple[Request, tuple[str, ...]]:
    """Return a request that says which rows are dependent, as asked for or as the columns say, and what to note."""
    columns = {name for part in recognised for name in part.table.columns}
    if request.block == "none" and "none" not in columns:
        return replace(request, block=None), ()
    if request.block is not None:
        is_length = request.block not in columns and str(request.block).isdecimal()
        return (replace(request, block=int(request.block)) if is_length else request), ()
    if request.on or _are_matched(recognised):
        return request, ()  # which rows there are is known once they are matched
    table = recognised[0].table
    origins, times = times_of(table.columns)
    rows, counts = table.distinct([*origins, *times]) if origins or times else (0, {})
    name = block_column(origins, times, rows, counts)
    if name is None:
        hint = hint_at_blocks(table)
        if hint:
            say(hint)
        return request, ()
    return _blocked_by(name, counts[name], request)


def _blocked_by(name: str, count: int, request: Request) -> tuple[Request, tuple[str, ...]]:
    """Return a request with blocks that nobody asked for, which is said, and what to note."""
    say(
        f"rows of the same {short(name)} form a block: --block COLUMN chooses another, --block none takes none"
    )
    is_weak = plain_name(name) in ORIGINS and count < FEW_ORIGINS
    return replace(request, block=name), ((few_origins(count, name),) if is_weak else ())


def _blocks_of_rows(labels: pl.DataFrame, request: Request) -> tuple[Request, tuple[str, ...]]:
    """Return a request with the blocks that matched rows have, and what to note."""
    origins, times = times_of(labels.columns)
    counts = {name: labels[name].n_unique() for name in (*origins, *times)}
    name = block_column(origins, times, len(labels), counts)
    return (request, ()) if name is None else _blocked_by(name, counts[name], request)


def load(reading: Reading, *, own_rows: bool = False, fixes_floor: bool = False) -> Loaded:
    """Read the models of all files, of the same rows in the same order, and the frame that holds their labels.

    With `own_rows` each model keeps all of its own rows, for an assessment that says who lacks which. With
    `fixes_floor` a percentage as minimum band becomes one number, which other rows can have too.
    """
    recognised, request = reading.parts, reading.request
    matched = bool(request.on) or _are_matched(recognised)
    keys = _keys(recognised, request)
    frames = _frames(reading, keys, own_rows=own_rows)
    notes: list[str] = []
    is_hub = any(part.is_long for part in recognised)
    missing = request.missing or ("drop" if is_hub else "raise")
    request = replace(request, missing=missing)
    if matched:
        unmatched: Unmatched = "refuse"
        if missing != "raise":
            unmatched = "keep" if own_rows else "drop"
        titles = [part.table.label for part in recognised]
        observing = [part.only_observes for part in recognised]
        match = matched_rows(frames, titles, keys, observing, unmatched=unmatched)
        frames, waiting = match.frames, match.without_observation
        if waiting:
            total = waiting + len(frames[0])
            notes.append(_without_observation(match.unobserved, waiting, total))
    else:
        shared = _shared_keys(recognised)
        refuse_other_rows(frames, [part.table.label for part in recognised], shared)
        _refuse_other_observations(recognised, frames, shared)
    if missing == "drop" and not own_rows:
        numbers = [part.numbers(request) for part in recognised]
        whole = complete_rows(frames, numbers)  # so that models are compared on the same rows
        frames = [frame.filter(whole) for frame in frames]
    labels = _labels_frame(frames, request)
    if reading.chooses_block:
        whole = whole_rows(frames, [part.numbers(request) for part in recognised])
        request, weak = _blocks_of_rows(labels.filter(whole), request)
        notes += weak
    if fixes_floor and isinstance(request.min_band, str):
        request = replace(request, min_band=_floor(request.min_band, recognised, frames))
    models = _models(recognised, frames, request, own_rows=own_rows and missing != "raise")
    y = next(part.y for part in recognised if part.y is not None)
    return Loaded(models, labels, y, request, tuple(notes))


def _without_observation(unobserved: Sequence[Unobserved], left_out: int, total: int) -> str:
    """Return how many forecasts wait for their observation, and how many are of labels that the truth lacks."""
    forecasts = counted(total, "forecast")
    if not unobserved:
        return f"{left_out:,} of {forecasts} wait for their observation and were left out"
    waiting = left_out
    claims = []
    for lack in unobserved:
        labels = [short(label) for label in lack.labels[:UNOBSERVED_NAMED]]
        more = len(lack.labels) - len(labels)
        which = joined([*labels, f"{spelled(more)} more"] if more else labels)
        claims.append(
            f"{lack.title} does not have the {short(lack.column)} ({which}) of {lack.forecasts:,} of {forecasts}"
        )
        waiting -= lack.forecasts
    if not waiting:
        return f"{joined(claims)}, which were left out"
    waits = "waits for its" if waiting == 1 else "wait for their"
    return (
        f"{joined(claims)}, and {waiting:,} {waits} observation: these {left_out:,} were left out"
    )


def _keys(recognised: Sequence[Part], request: Request) -> list[list[str]]:
    """Return the columns that match the rows of each file with those of the others."""
    if len(recognised) == 1:
        return [[]]
    forecasts = [part for part in recognised if part.models]
    shared = _shared_keys(forecasts)
    if request.on:
        if len(forecasts) == len(recognised):
            return [list(request.on) for _ in recognised]
        every = list(dict.fromkeys([*request.on, *shared]))
        return [every if part.models else list(request.on) for part in recognised]
    keys = []
    for part in recognised:
        if part.only_observes:
            keys.append([name for name in shared if name in part.table.columns])
        else:
            keys.append(shared)
    if _are_matched(recognised) and not all(keys):
        labels = [part.table.label for part in recognised]
        raise ValueError(
            f"{listed(labels)} have no column in common that tells their rows apart. Hint: --on KEYS names it."
        )
    return keys


def _shared_keys(recognised: Sequence[Part]) -> list[str]:
    """Return the key columns that all files have."""
    if len(recognised) < 2 and not any(part.is_long for part in recognised):
        return key_columns(recognised[0].table.columns) if recognised else []
    return [
        name
        for name in recognised[0].row_keys()
        if all(name in part.table.columns for part in recognised)
    ]


def _frames(
    reading: Reading, keys: Sequence[Sequence[str]], *, own_rows: bool
) -> list[pl.DataFrame]:
    """Read the columns of each file that are needed: numbers, keys and those labels that it has."""
    recognised, request = reading.parts, reading.request
    wanted = list(request.labels)
    if own_rows and reading.series is not None:
        wanted.append(reading.series)
    if reading.chooses_block:
        origins, times = times_of([name for part in recognised for name in part.table.columns])
        wanted += [*origins, *times]
    everywhere = {name for part in recognised for name in part.table.columns}
    derived = {name for name in wanted if name == "horizon" and name not in everywhere}
    for name in (*wanted, request.weight, request.unit_column):
        if name is not None and name not in everywhere and name not in derived:
            recognised[0].table.require([name])
    frames = []
    for part, own_keys in zip(recognised, keys, strict=True):
        labels = [name for name in wanted if name in part.table.columns]
        if derived:
            labels += [name for name in key_columns(part.table.columns) if name not in labels]
        frames.append(part.table.read(part.numbers(request), [*own_keys, *labels]))
    return frames


def _labels_frame(frames: Sequence[pl.DataFrame], request: Request) -> pl.DataFrame:
    """Return one frame with the observation and each label, from the first file that has it for a row."""
    columns: dict[str, pl.Series] = {}
    for frame in frames:
        for column in frame:
            known = columns.setdefault(column.name, column)
            if known.null_count() and known.dtype == column.dtype:
                columns[column.name] = known.zip_with(known.is_not_null(), column)
    labels = pl.DataFrame(columns)
    if "horizon" in request.labels and "horizon" not in labels.columns:
        labels = labels.with_columns(horizon_of(labels).alias("horizon"))
    return labels


def _floor(min_band: str, recognised: Sequence[Part], frames: Sequence[pl.DataFrame]) -> float:
    """Return a percentage of the smallest mean half-width of all models and levels as a number, and say it."""
    half_widths: list[tuple[float, str]] = []
    for part, frame in zip(recognised, frames, strict=True):
        for name, columns in part.models.items():
            for pair in columns.bounds:
                ends = [column for column in (pair.lower, pair.upper) if column]
                if len(ends) == 2:
                    half_widths.append((_mean_distance(frame, *ends) / 2, name))
                elif columns.pred:
                    half_widths.append((_mean_distance(frame, columns.pred, *ends), name))
    if not half_widths:
        raise ValueError(
            "--min-band as a percentage needs bands, and these models have none. Hint: give a number in units of y."
        )
    least, name = min(half_widths)
    found = floor(min_band, least)
    whose = f"that share of the mean half-width of {short(name)}"
    say(f"--min-band {min_band} is {number(found)}, {whose}; new rows have the same minimum")
    return found


def _mean_distance(frame: pl.DataFrame, first: str, second: str) -> float:
    """Return how far two columns are apart, on average."""
    return float(np.mean(np.abs(frame[second].to_numpy() - frame[first].to_numpy())))


def _models(
    recognised: Sequence[Part], frames: Sequence[pl.DataFrame], request: Request, *, own_rows: bool
) -> dict[str, Model]:
    """Return the intervals of all models; with `own_rows` each leaves out the rows that it lacks."""
    observed = next(frame[part.y] for part, frame in zip(recognised, frames, strict=True) if part.y)
    options: Any = {
        "min_band": request.min_band,
        "support": request.support,
        "crossing": "sort" if request.sort_crossing else "raise",
        "missing": "drop" if own_rows else "raise",
    }
    models: dict[str, Model] = {}
    with warnings.catch_warnings():
        if own_rows:  # the assessment says who lacks which rows
            warnings.simplefilter("ignore", DroppedRowsWarning)
        for part, frame in zip(recognised, frames, strict=True):
            if not part.models:
                continue
            y = frame[part.y] if part.y else observed
            weight = frame[request.weight] if request.weight else None
            models |= models_of(part.models, y, frame, weight=weight, **options)
    return models


def _refuse_other_observations(
    recognised: Sequence[Part], frames: Sequence[pl.DataFrame], keys: Sequence[str]
) -> None:
    """Refuse files whose rows have other observations: they are not the same rows, or not in the same order."""
    first: tuple[str, pl.Series] | None = None
    for part, frame in zip(recognised, frames, strict=True):
        if part.y is None:
            continue
        values = frame[part.y]
        if first is None:
            first = (part.table.label, values)
            continue
        differ = (values != first[1]).sum()
        if differ:
            matching = f"--on {','.join(keys) or 'KEYS'} matches them"
            raise ValueError(
                f"{first[0]} and {part.table.label} must have the same observations: {differ} of {len(values)} rows "
                f"differ. Hint: put the rows of both in the same order, or {matching}."
            )


def labels_of(loaded: Loaded) -> dict[str, Any]:
    """Return the segments, and the blocks or their length, as `assess` and `gate` take them."""
    request, frame = loaded.request, loaded.frame
    by = {}
    for names in request.by or ():
        by[", ".join(names)] = segment_labels([frame[name] for name in names])
    block = request.block
    return {"by": by or None, "block": frame[block] if isinstance(block, str) else block}


def units_of(loaded: Loaded) -> Any:
    """Return what numbers are divided by: raw, std, a number, or one positive number per row with a name."""
    request, frame = loaded.request, loaded.frame
    if request.unit_by is not None:
        return series_units(frame, request.unit_by, loaded.y, request.unit_floor)
    if request.unit_column is not None:
        return frame[request.unit_column]
    return request.unit


def features_of(loaded: Loaded) -> dict[str, Any] | None:
    """Return the features among which pockets are looked for, where some were asked for."""
    names = loaded.request.features
    if names is None:
        return None
    return {name: segment_labels([loaded.frame[name]]) for name in names}
