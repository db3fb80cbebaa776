"""Calibrating: learn factors on one file, keep them, and write other files with calibrated bounds."""

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
import zstandard

from uccurve._refusals import as_written, prefixed
from uccurve._saved import ANY, FLAG, SIZE, TEXT, exactly, list_of, or_null, parsed
from uccurve._vocabulary import Array
from uccurve.adapters._frame import levels_of
from uccurve.adapters._names import Bounds, ModelColumns, model_columns
from uccurve.calibrate import IntervalCalibrator
from uccurve.words.columns import Column
from uccurve.words.formats import Cell, amount, count, coverage, factor, listed, share, short, words
from uccurve.words.tables import Table

from ._files import FileSource
from ._loading import Part, load, part_of, parts
from ._options import Request
from ._output import Outputs, say, show
from ._rows import complete_rows, group_labels
from ._tables import DataFile

PACKERS: Mapping[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".zst": zstandard.compress}
LISTED = 40  # groups that are listed at most
HEAD = {"kind": "uccurve.calibration", "version": 3}
LEVEL = {"lower": TEXT, "upper": TEXT, "level": or_null(SIZE), "calibrator": ANY}
SHAPE = {
    **{name: exactly(value) for name, value in HEAD.items()},
    "by": list_of(TEXT, "a list of names"),
    "min_band": or_null(SIZE),
    "sort_crossing": FLAG,
    "models": [{"name": TEXT, "pred": TEXT, "median": FLAG, "levels": [LEVEL]}],
}


@dataclass(frozen=True, slots=True)
class SavedModel:
    """One model: where its columns were, and what was learnt for each pair of bounds."""

    name: str
    columns: ModelColumns
    calibrators: tuple[IntervalCalibrator, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as `of` reads it."""
        levels = [
            {**bounds._asdict(), "level": None if bounds.level is None else float(bounds.level)}
            | {"calibrator": json.loads(calibrator.to_json())}
            for bounds, calibrator in zip(self.columns.bounds, self.calibrators, strict=True)
        ]
        return {
            "name": self.name,
            "pred": self.columns.pred,
            "median": self.columns.median,
            "levels": levels,
        }

    @classmethod
    def of(cls, data: dict[str, Any]) -> Self:
        """Return the model that `to_dict` wrote."""
        bounds, calibrators = [], []
        for level in data["levels"]:
            told = None if level["level"] is None else as_written(level["level"])
            bounds.append(Bounds(level["lower"], level["upper"], told))
            try:
                calibrators.append(IntervalCalibrator.from_json(json.dumps(level["calibrator"])))
            except ValueError as error:
                raise ValueError(
                    f"in a `calibrator`, {str(error).partition('to_json: ')[2]}"
                ) from None
        return cls(
            data["name"],
            ModelColumns(data["pred"], tuple(bounds), median=data["median"]),
            tuple(calibrators),
        )


@dataclass(frozen=True, slots=True)
class SavedCalibration:
    """What was learnt from one file."""

    models: tuple[SavedModel, ...]
    by: tuple[str, ...] = ()
    min_band: float | None = None
    sort_crossing: bool = False

    def to_json(self) -> str:
        """Return it as JSON text."""
        data = {
            **HEAD,
            "by": self.by,
            "min_band": self.min_band,
            "sort_crossing": self.sort_crossing,
        }
        data["models"] = [model.to_dict() for model in self.models]
        return json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False)

    @classmethod
    def read(cls, source: FileSource) -> Self:
        """Read what `to_json` wrote; anything else is refused."""
        try:
            data = parsed(source.json_text(), SHAPE)
            models = tuple(map(SavedModel.of, data["models"]))
        except ValueError as error:
            why = str(error).rstrip(".")
            raise ValueError(
                f"{source.label} must be a calibration that `calibrate --save` wrote: {why}."
            ) from None
        return cls(models, tuple(data["by"]), data["min_band"], data["sort_crossing"])


def calibrate_files(
    calibration: str,
    new: str | None,
    request: Request,
    outputs: Outputs,
    *,
    target: float | None,
    **options: Any,
) -> None:
    """Learn on one file; keep what was learnt, and write another file with calibrated bounds, where that is asked."""
    outputs.check(calibration, *([new] if new is not None else []))
    (found,) = parts([calibration], request)
    learnt = _learnt(found, request, target, options)
    calibrated = (
        None if new is None else _calibrated(new, learnt, request)
    )  # refused before anything is written
    outputs.write("--save", lambda: learnt.to_json() + "\n")
    if calibrated is not None:
        _write(*calibrated, outputs)
    _report(learnt, to_stdout=not outputs.streams)


def apply_file(saved: str, new: str, request: Request, outputs: Outputs) -> None:
    """Write a file with bounds calibrated by what an earlier `calibrate` kept."""
    outputs.check(saved, new)
    _write(*_calibrated(new, SavedCalibration.read(FileSource.of(saved)), request), outputs)


def _learnt(
    found: Part, request: Request, target: float | None, options: Mapping[str, Any]
) -> SavedCalibration:
    """Fit one calibrator for each level of each model, to the target or to the coverage that its names tell."""
    loaded = load([found], request)
    given = loaded.models
    groups, models = group_labels(loaded.frame, request.labels), []
    untold = any(
        found.models[name].levels == (None,) for name in given
    )  # whose promise --coverage is, if only theirs
    for name, model in given.items():
        columns = found.models[name]
        targets = _targets(name, columns, None if untold and len(columns.bounds) > 1 else target)
        levels = list(model.values()) if isinstance(model, dict) else [model]
        calibrators = [
            IntervalCalibrator(coverage=one, **options).fit(intervals, groups=groups)
            for one, intervals in zip(targets, levels, strict=True)
        ]
        models.append(SavedModel(name, columns, tuple(calibrators)))
    return SavedCalibration(
        tuple(models), tuple(request.labels), request.min_band, request.sort_crossing
    )


def _targets(name: str, columns: ModelColumns, target: float | None) -> list[float]:
    """Return the coverage to promise of each pair of bounds."""
    if columns.samples:
        raise ValueError(
            f"{short(name)} has samples, and bounds are calibrated. Hint: write its quantiles."
        )
    if target is not None and len(columns.bounds) > 1:
        raise ValueError(
            f"--coverage is one promise, and {short(name)} has {len(columns.bounds)} levels. Hint: leave it out, so "
            "that each level keeps its own, or choose one level by --model."
        )
    told = (
        [float(level) for level in columns.levels if level is not None]
        if target is None
        else [target]
    )
    if not told:
        raise ValueError(
            f"the column names of {short(name)} do not state a coverage. Hint: --coverage 90%."
        )
    return told


def _calibrated(
    new: str, learnt: SavedCalibration, request: Request
) -> tuple[pl.DataFrame, DataFile]:
    """Return a table with calibrated bounds, all its other cells as they were, and what it was read from."""
    table, models = _columns_in(DataFile.open(new, request.decimal, request.na), learnt, request)
    frame = table.texts()
    for one in (one for one in learnt.models if one.name in models):
        columns = models[one.name]
        numbers = table.read(list(dict.fromkeys(columns.names)), learnt.by)
        rows = np.arange(len(numbers))
        if request.missing == "drop":
            rows = rows[complete_rows([numbers], [columns.names], "did not calibrate").to_numpy()]
        try:
            bounds = _moved(numbers[rows], columns, one, learnt)
            _refuse_crossing_others(table, columns, rows, bounds)
        except ValueError as error:
            raise prefixed(f"{table.label}, {short(one.name)}: ", error) from None
        for name, bound in bounds.items():
            texts = [repr(value).replace(".", table.decimal) for value in bound.tolist()]
            values = pl.Series(name, texts if table.kind == "csv" else bound)
            frame = frame.with_columns(frame[name].cast(values.dtype).scatter(rows, values))
    return frame, table


def _columns_in(
    table: DataFile, learnt: SavedCalibration, request: Request
) -> tuple[DataFile, dict[str, ModelColumns]]:
    """Return the columns of the models in a new file, all of them learnt: of the same names, or by convention."""
    same = {one.name: one.columns for one in learnt.models}
    if not request.models and all(
        name in table.columns for columns in same.values() for name in columns.names
    ):
        return table, same
    part = part_of(table, request)
    found = dict(part.models)
    if len(found) == len(same) == 1:
        found = {next(iter(same)): next(iter(found.values()))}
    absent = {name: one for name, one in same.items() if name not in found}
    partly = any(bound in table.columns for one in absent.values() for bound in one.names[1:])
    other = any(
        name not in same or len(one.bounds) != len(same[name].bounds) for name, one in found.items()
    )
    if partly or other or not found:
        first, second = (
            listed(
                [
                    _level_name(name, one, bounds)
                    for name, one in models.items()
                    for bounds in one.bounds
                ]
            )
            for models in (same, found)
        )
        raise ValueError(
            f"{table.label} must have whole models that were calibrated: it has {second or 'none'}, the "
            f"calibration has {first}. Hint: --model NAME=PRED,LOWER,UPPER."
        )
    if absent:
        say(f"not in {table.label}, so left out: {', '.join(map(short, absent))}")
    return part.table, found


def _level_name(name: str, columns: ModelColumns, bounds: Bounds) -> str:
    """Return what one level of a model is called."""
    return name if len(columns.bounds) == 1 else f"{name} {coverage(float(bounds.level or 0))}"


def _moved(
    numbers: pl.DataFrame, columns: ModelColumns, one: SavedModel, learnt: SavedCalibration
) -> dict[str, Array]:
    """Return calibrated bounds by column; levels that no longer contain narrower ones are widened, and that is said."""
    groups = group_labels(numbers, learnt.by)
    options: Any = {
        "crossing": "sort" if learnt.sort_crossing else "raise",
        "min_band": learnt.min_band,
    }
    levels = levels_of(
        numbers[columns.pred], columns, numbers, **options
    )  # nobody knows the observation yet
    pairs = zip(levels.values(), one.calibrators, strict=True)
    moved = [calibrator.apply(intervals, groups=groups) for intervals, calibrator in pairs]
    lower, upper = (
        np.array([getattr(level, side) for level in moved]) for side in ("lower", "upper")
    )
    nested = [np.minimum.accumulate(lower), np.maximum.accumulate(upper)]
    widened = int(((nested[0] != lower) | (nested[1] != upper)).any(axis=0).sum())
    if widened:
        rows = f"{widened} of {len(numbers)} rows"
        say(f"{short(one.name)}: wider levels were widened to contain narrower ones in {rows}")
    bounds = [bound for level in zip(*nested, strict=True) for bound in level]
    return dict(zip(columns.names[1:], bounds, strict=True))


def _refuse_crossing_others(
    table: DataFile, columns: ModelColumns, rows: Any, bounds: Mapping[str, Array]
) -> None:
    """Refuse bounds that would cross the model's other levels in the same file, which nobody asked to change."""
    try:
        models = model_columns(table.columns).values()
    except ValueError:  # names that only --model can settle
        return
    levels = next((one.bounds for one in models if {*columns.bounds} < {*one.bounds}), ())
    ascending = [*(one.lower for one in reversed(levels)), *(one.upper for one in levels)]
    others = [name for name in ascending if name not in bounds]
    if not others:
        return
    given = table.read(others)[rows]
    edges = [bounds[name] if name in bounds else given[name].to_numpy() for name in ascending]
    crossing = (np.diff(edges, axis=0) < 0).any(axis=0)
    if crossing.any():
        raise ValueError(
            f"calibrated bounds must not cross the model's other levels ({listed(others)}): they would in "
            f"{int(crossing.sum())} of {len(rows)} rows, first row {int(rows[np.argmax(crossing)])}. "
            "Hint: calibrate all levels together, or leave those columns out of the new file."
        )


def _write(frame: pl.DataFrame, table: DataFile, outputs: Outputs) -> None:
    """Write calibrated rows, as the file that they come from is written."""
    suffix, more = (
        Path(str(outputs.paths["--out"])).suffix.lower(),
        f", {len(frame):,} rows with calibrated bounds",
    )
    if suffix not in (".parquet", ".pq", *PACKERS):
        outputs.write("--out", lambda: frame.write_csv(separator=table.separator), more)
        return
    with outputs.file("--out", more) as path:
        if suffix in PACKERS:
            path.write_bytes(PACKERS[suffix](frame.write_csv(separator=table.separator).encode()))
        else:
            frame.write_parquet(path)


def _report(learnt: SavedCalibration, *, to_stdout: bool) -> None:
    """Say what was learnt and what may be expected of it."""
    fitted = [
        (_level_name(one.name, one.columns, bounds), calibrator)
        for one in learnt.models
        for bounds, calibrator in zip(one.columns.bounds, one.calibrators, strict=True)
    ]
    promises = [*dict.fromkeys(_promise(calibrator) for _, calibrator in fitted)]
    if not to_stdout:
        for line in promises:
            say(line)
        return
    lines = [line for name, calibrator in fitted for line in _lines(name, calibrator)]
    title = (
        "What was learnt"
        if len(lines) <= LISTED
        else f"What was learnt: the first {LISTED} of {len(lines)}"
    )
    move = "factor" if fitted[0][1].vary == "scale" else "shift"
    headings = ("model", "rows", move, "coverage here", "coverage of new rows (95% range)")
    columns = [
        Column(one, one, Cell if i else words, "", read=itemgetter(i))
        for i, one in enumerate(headings)
    ]
    show([Table(title, columns, lines[:LISTED]), "\n".join(promises)])


def _lines(name: str, calibrator: IntervalCalibrator) -> Iterator[list[str]]:
    """Return what was learnt for each group, one line each."""
    written = factor if calibrator.vary == "scale" else amount
    found = calibrator.calibrations_
    for group, learnt in found.items():
        labels = group if isinstance(group, tuple) else ["any other" if group is None else group]
        lower, upper = written(learnt.lower), written(learnt.upper)
        move = str(upper) if calibrator.tails == "joint" else f"{lower} below, {upper} above"
        expected = " to ".join(str(share(end)) for end in calibrator.coverage_range(learnt.rows))
        title = name if [*found] == [None] else ", ".join(map(str, [name, *labels]))
        yield [title, str(count(learnt.rows)), move, str(share(1 - learnt.miss_rate)), expected]


def _promise(calibrator: IntervalCalibrator) -> str:
    """Return what the numbers promise, in words."""
    target = f"{coverage(calibrator.coverage)} of new rows like these will be covered"
    sure = f"{target}, on average"
    if calibrator.confidence is not None:
        sure = f"at least {target}, with {coverage(calibrator.confidence)} confidence"
    return f"Promise: {sure}. A single calibration set may do better or worse: 95% of such sets stay within the range."
