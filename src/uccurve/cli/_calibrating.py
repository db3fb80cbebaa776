"""Calibrating: learn factors on one file, keep them, and write other files with calibrated bounds."""

import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from operator import itemgetter
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
import zstandard

from uccurve._refusals import Hint, Refusal, as_written, prefixed
from uccurve._saved import (
    ANY,
    FLAG,
    NUMBER,
    SIZE,
    TEXT,
    Kind,
    OrNull,
    exactly,
    list_of,
    or_null,
    parsed,
)
from uccurve._vocabulary import Array
from uccurve.adapters._frame import levels_of
from uccurve.adapters._names import Bounds, ModelColumns, model_columns
from uccurve.calibrate import IntervalCalibrator
from uccurve.curve import UCC
from uccurve.intervals import Intervals
from uccurve.pockets import find_pockets
from uccurve.pockets.features import (
    REGION_SHAPE,
    Region,
    from_data,
    labels_of_rows,
    read_features,
    to_data,
)
from uccurve.words.columns import Column
from uccurve.words.formats import (
    DASH,
    Cell,
    amount,
    count,
    coverage,
    factor,
    listed,
    share,
    short,
    words,
)
from uccurve.words.tables import Table

from ._files import FileSource
from ._loading import Part, Reading, features_of, labels_of, load, look_into, part_of
from ._options import Request
from ._output import Outputs, say, show
from ._rows import complete_rows, group_labels, segment_labels
from ._tables import DataFile

PACKERS: Mapping[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".zst": zstandard.compress}
NAMED = "--model NAME=PRED,LOWER,UPPER"
LISTED = 40  # groups that are listed at most
HEAD = {"kind": "uccurve.calibration", "version": 5}
SUPPORT = Kind(
    "two numbers or nulls",
    lambda value: (
        isinstance(value, list) and len(value) == 2 and all(map(or_null(NUMBER).holds, value))
    ),
)
LEVEL = {
    "lower": TEXT,
    "upper": TEXT,
    "level": or_null(SIZE),
    "calibrator": ANY,
    "pockets": OrNull([REGION_SHAPE]),
}
SHAPE = {
    **{name: exactly(value) for name, value in HEAD.items()},
    "by": list_of(TEXT, "a list of names"),
    "min_band": or_null(SIZE),
    "sort_crossing": FLAG,
    "support": or_null(SUPPORT),
    "models": [{"name": TEXT, "pred": TEXT, "median": FLAG, "levels": [LEVEL]}],
}


@dataclass(frozen=True, slots=True)
class SavedModel:
    """One model: where its columns were, and what was learnt for each pair of bounds, perhaps in each pocket."""

    name: str
    columns: ModelColumns
    calibrators: tuple[IntervalCalibrator, ...]
    pockets: tuple[tuple[Region, ...], ...] = ()

    def groups(self, place: int, frame: pl.DataFrame, by: Sequence[str]) -> Any:
        """Return the groups of new rows for one pair of bounds: their pockets, or labels."""
        regions = self.pockets[place] if self.pockets else ()
        return pocket_labels(regions, frame) if regions else group_labels(frame, by)

    @property
    def features(self) -> list[str]:
        """The columns that its pockets are cut by."""
        named: dict[str, None] = {}
        for regions in self.pockets:
            for region in regions:
                named.update(dict.fromkeys(cut.feature for cut in region.conditions))
        return list(named)

    def to_dict(self) -> dict[str, Any]:
        """Return it as `of` reads it."""
        pockets = self.pockets or ((),) * len(self.calibrators)
        levels: list[dict[str, Any]] = []
        for bounds, calibrator, regions in zip(
            self.columns.bounds, self.calibrators, pockets, strict=True
        ):
            level: dict[str, Any] = bounds._asdict()
            level["level"] = None if bounds.level is None else float(bounds.level)
            level["calibrator"] = json.loads(calibrator.to_json())
            level["pockets"] = to_data(regions) or None
            levels.append(level)
        return {
            "name": self.name,
            "pred": self.columns.pred,
            "median": self.columns.median,
            "levels": levels,
        }

    @classmethod
    def of(cls, data: dict[str, Any]) -> Self:
        """Return the model that `to_dict` wrote."""
        bounds, calibrators, pockets = [], [], []
        for level in data["levels"]:
            told = None if level["level"] is None else as_written(level["level"])
            bounds.append(Bounds(level["lower"], level["upper"], told))
            pockets.append(from_data(level["pockets"] or ()))
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
            tuple(pockets),
        )


def pocket_labels(regions: Sequence[Region], frame: pl.DataFrame) -> dict[str, list[str]]:
    """Return the pocket of each row, as groups."""
    names = dict.fromkeys(cut.feature for region in regions for cut in region.conditions)
    columns = read_features({name: segment_labels([frame[name]]) for name in names})
    return {"pocket": labels_of_rows(regions, columns)}


@dataclass(frozen=True, slots=True)
class SavedCalibration:
    """What was learnt from one file, and how its rows were read."""

    models: tuple[SavedModel, ...]
    by: tuple[str, ...] = ()
    min_band: float | None = None
    sort_crossing: bool = False
    support: tuple[float | None, float | None] | None = None

    def to_json(self) -> str:
        """Return it as JSON text."""
        data = {
            **HEAD,
            "by": self.by,
            "min_band": self.min_band,
            "sort_crossing": self.sort_crossing,
            "support": self.support,
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
        support = None if data["support"] is None else tuple(data["support"])
        return cls(models, tuple(data["by"]), data["min_band"], data["sort_crossing"], support)


@dataclass(frozen=True, slots=True)
class Learnt:
    """What was learnt from one file, or taken from an assessment, and what is said of it."""

    saved: SavedCalibration
    block: str = "block"
    hint: str = f"--save CAL.json keeps what is learnt, and uccurve apply CAL.json NEW {NAMED} names the columns"


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
    learnt = _learnt(look_into([calibration], request, target), target, options)
    _ship(learnt, new, request, outputs)


def ship_verdict(assessment: str, new: str, request: Request, outputs: Outputs) -> None:
    """Write a file with the bounds that the verdict of a saved assessment ships."""
    outputs.check(assessment, new)
    source = FileSource.of(assessment)
    try:
        calibrator = IntervalCalibrator.from_assessment(source.json_text())
    except ValueError as error:
        why = str(error).removeprefix(
            "`assessment` must be one, or the JSON that its to_json wrote: "
        )
        raise ValueError(
            f"{source.label} must be an assessment that `uccurve assess --json` wrote: {why}"
        ) from None
    verdict = json.loads(source.json_text())["verdict"]
    part = part_of(_opened(new, request), request)
    columns = _of_verdict(part, verdict["model"], verdict["level"])
    saved = SavedModel(verdict["model"], columns, (calibrator,))
    minimum = request.min_band
    shipped = SavedCalibration((saved,), (), minimum, request.sort_crossing, request.support)
    _ship(
        Learnt(shipped, hint=NAMED), new, replace(request, model=[(saved.name, columns)]), outputs
    )


def _of_verdict(part: Part, name: str, level: float | None) -> ModelColumns:
    """Return the columns of the model of a verdict, and of its level, in a new file."""
    models = dict(part.models)
    if name not in models and len(models) != 1:
        raise ValueError(
            f"{part.table.label} must have the model of the verdict, {short(name)}; it has "
            f"{listed([*models]) or 'none'}. Hint: --model {short(name)}=PRED,LOWER,UPPER."
        )
    columns = models.get(name) or next(iter(models.values()))
    if level is None:
        return columns
    pairs = [pair for pair in columns.bounds if pair.level is None or float(pair.level) == level]
    if not pairs:
        raise ValueError(
            f"{part.table.label} has no {coverage(level)} interval of {short(name)}, which the verdict ships. "
            f"Hint: --model {short(name)}=PRED,LOWER,UPPER."
        )
    return columns._replace(bounds=tuple(pairs[:1]))


def apply_file(saved: str, new: str, request: Request, outputs: Outputs) -> None:
    """Write a file with bounds calibrated by what an earlier `calibrate` kept."""
    outputs.check(saved, new)
    learnt = SavedCalibration.read(FileSource.of(saved))
    try:
        calibrated = _calibrated(new, learnt, request)
    except Refusal as error:
        if "min_band" not in error.hint.arguments:
            raise
        again = Hint("calibrate again with {min_band} to raise such bands", error.hint.arguments)
        raise Refusal(error.what, again) from None
    _write(*calibrated, outputs)


def _ship(learnt: Learnt, new: str | None, request: Request, outputs: Outputs) -> None:
    """Write what was learnt and the new file, where they are asked for, and say what was learnt."""
    # refused before anything is written
    calibrated = None if new is None else _calibrated(new, learnt.saved, request, learnt.hint)
    outputs.write("--save", lambda: learnt.saved.to_json() + "\n")
    if calibrated is not None:
        _write(*calibrated, outputs)
    _report(learnt, to_stdout=not outputs.streams)


def _opened(path: str, request: Request) -> DataFile:
    return DataFile.open(path, request.decimal, request.na, request.conditions)


def _learnt(reading: Reading, target: float | None, options: Mapping[str, Any]) -> Learnt:
    """Fit one calibrator for each level of each model, to the target or to the coverage that its names tell."""
    loaded = load(reading, fixes_floor=True)
    request = loaded.request
    columns_of: dict[str, ModelColumns] = {}
    for part in reading.parts:
        columns_of |= part.models
    by = list(dict.fromkeys(name for names in request.by or () for name in names))
    groups = group_labels(loaded.frame, by)
    block = labels_of(loaded)["block"]
    features = features_of(loaded)
    # Whose promise --coverage is, if only theirs.
    untold = any(columns.levels == (None,) for columns in columns_of.values())
    models = []
    for name, model in loaded.models.items():
        columns = columns_of[name]
        targets = _targets(name, columns, None if untold and len(columns.bounds) > 1 else target)
        levels = list(model.values()) if isinstance(model, dict) else [model]
        calibrators: list[IntervalCalibrator] = []
        pockets: list[tuple[Region, ...]] = []
        for promised, level in zip(targets, levels, strict=True):
            own = options
            own_groups: Any = groups
            regions = _pockets(name, level, promised, features, block)
            if regions:
                own = {**options, "fallback": "pooled"}
                own_groups = pocket_labels(regions, loaded.frame)
            calibrator = _calibrator(name, level, promised, own)
            calibrators.append(calibrator.fit(_intervals(level), groups=own_groups, block=block))
            pockets.append(regions)
        models.append(SavedModel(name, columns, tuple(calibrators), tuple(pockets)))
    saved = SavedCalibration(
        tuple(models), tuple(by), request.min_band, request.sort_crossing, request.support
    )
    return Learnt(saved, request.block if isinstance(request.block, str) else "block")


def _pockets(
    name: str, model: Intervals | UCC, target: float, features: Any, block: Any
) -> tuple[Region, ...]:
    """Return the pockets of a model as shipped, and say what a factor for each does; none where none are asked for."""
    if features is None:
        return ()
    found = find_pockets({name: model}, features, coverage=target, block=block)
    for line in (*found[name].summary, *found.notes):
        say(f"{short(name)}: {line}")
    return found[name].regions


def _calibrator(
    name: str, model: Intervals | UCC, target: float, options: Mapping[str, Any]
) -> IntervalCalibrator:
    """Return what learns to reach the target; bounds without a prediction can only be shifted."""
    settings = dict(options)
    if isinstance(model, UCC) and settings["vary"] == "scale":
        say(f"{short(name)} has a bound and no prediction to scale it from: it is shifted")
        settings["vary"] = "shift"
    return IntervalCalibrator(coverage=target, **settings)


def _intervals(model: Intervals | UCC) -> Intervals:
    return model.intervals if isinstance(model, UCC) else model


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
    if target is not None:
        return [target]
    promised = [float(level) for level in columns.levels if level is not None]
    if not promised:
        raise ValueError(
            f"the column names of {short(name)} do not state a coverage. Hint: --coverage 90%."
        )
    return promised


def _calibrated(
    new: str, saved: SavedCalibration, request: Request, hint: str = NAMED
) -> tuple[pl.DataFrame, DataFile]:
    """Return a table with calibrated bounds, all its other cells as they were, and what it was read from."""
    table, models = _columns_in(_opened(new, request), saved, request, hint)
    frame = table.texts()
    for model in saved.models:
        if model.name not in models:
            continue
        columns = models[model.name]
        labels = [*saved.by, *model.features]
        numbers = table.read(list(dict.fromkeys(columns.names)), labels)
        rows = np.arange(len(numbers))
        if request.missing == "drop":
            rows = rows[complete_rows([numbers], [columns.names], "did not calibrate").to_numpy()]
        try:
            bounds = _moved(numbers[rows], columns, model, saved)
            _refuse_crossing_others(table, columns, rows, bounds)
        except ValueError as error:
            raise prefixed(f"{table.label}, {short(model.name)}: ", error) from None
        for name, bound in bounds.items():
            frame = _with_bound(frame, table, name, rows, bound)
    return frame, table


def _with_bound(
    frame: pl.DataFrame, table: DataFile, name: str, rows: Any, bound: Array
) -> pl.DataFrame:
    """Return a table in which some rows of a column have calibrated values."""
    if table.kind == "csv":
        texts = [repr(value).replace(".", table.decimal) for value in bound.tolist()]
        values = pl.Series(name, texts)
    else:
        values = pl.Series(name, bound)
    return frame.with_columns(frame[name].cast(values.dtype).scatter(rows, values))


def _columns_in(
    table: DataFile, saved: SavedCalibration, request: Request, hint: str
) -> tuple[DataFile, dict[str, ModelColumns]]:
    """Return the columns of the models in a new file, all of them learnt: of the same names, or by convention."""
    same = {model.name: model.columns for model in saved.models}
    names = [name for columns in same.values() for name in columns.names]
    if not request.models and {*names} <= {*table.columns}:
        return table, same
    part = part_of(table, request)
    present = dict(part.models)
    if len(present) == len(same) == 1:
        present = {next(iter(same)): next(iter(present.values()))}
    absent = {name: columns for name, columns in same.items() if name not in present}
    bounds = [name for columns in absent.values() for name in columns.bound_names]
    partly = any(name in table.columns for name in bounds)
    other = any(
        name not in same or len(columns.bounds) != len(same[name].bounds)
        for name, columns in present.items()
    )
    if partly or other or not present:
        raise ValueError(
            f"{table.label} must have whole models that were calibrated: it has {_level_names(present) or 'none'}, "
            f"the calibration has {_level_names(same)}. Hint: {hint}."
        )
    if absent:
        say(f"not in {table.label}, so left out: {', '.join(map(short, absent))}")
    return part.table, present


def _level_names(models: Mapping[str, ModelColumns]) -> str:
    """Return what all levels of all models are called."""
    names = []
    for name, columns in models.items():
        names += [_level_name(name, columns, bounds) for bounds in columns.bounds]
    return listed(names)


def _level_name(name: str, columns: ModelColumns, bounds: Bounds) -> str:
    """Return what one level of a model is called."""
    return name if len(columns.bounds) == 1 else f"{name} {coverage(float(bounds.level or 0))}"


def _moved(
    numbers: pl.DataFrame, columns: ModelColumns, model: SavedModel, saved: SavedCalibration
) -> dict[str, Array]:
    """Return calibrated bounds by column; levels that no longer contain narrower ones are widened, and that is said."""
    options: Any = {
        "crossing": "sort" if saved.sort_crossing else "raise",
        "min_band": saved.min_band,
        "support": saved.support,
    }
    levels = levels_of(_any_observation(numbers, columns), columns, numbers, **options)
    lower: list[Array] = []
    upper: list[Array] = []
    for place, (intervals, calibrator) in enumerate(
        zip(levels.values(), model.calibrators, strict=True)
    ):
        groups = model.groups(place, numbers, saved.by)
        moved = calibrator.apply(intervals, groups=groups)
        lower.append(moved.lower)
        upper.append(moved.upper)
    nested_lower = np.minimum.accumulate(np.array(lower))
    nested_upper = np.maximum.accumulate(np.array(upper))
    is_widened = (nested_lower != np.array(lower)) | (nested_upper != np.array(upper))
    widened = int(is_widened.any(axis=0).sum())
    if widened:
        rows = f"{widened} of {len(numbers)} rows"
        say(f"{short(model.name)}: wider levels were widened to contain narrower ones in {rows}")
    bounds: dict[str, Array] = {}
    for place, pair in enumerate(columns.bounds):
        bounds |= {pair.lower: nested_lower[place], pair.upper: nested_upper[place]}
    return {name: bound for name, bound in bounds.items() if name}


def _any_observation(numbers: pl.DataFrame, columns: ModelColumns) -> pl.Series:
    """Return something to stand for observations, which nobody knows yet."""
    if columns.pred:
        return numbers[columns.pred]
    ends = [numbers[name] for name in columns.bounds[0][:2] if name]
    return sum(ends[1:], ends[0]) / len(ends)


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


def _report(learnt: Learnt, *, to_stdout: bool) -> None:
    """Say what was learnt and what may be expected of it."""
    fitted: list[tuple[str, IntervalCalibrator]] = []
    for model in learnt.saved.models:
        for bounds, calibrator in zip(model.columns.bounds, model.calibrators, strict=True):
            fitted.append((_level_name(model.name, model.columns, bounds), calibrator))
    sentences = [*dict.fromkeys(_promise(calibrator) for _, calibrator in fitted)]
    for name, calibrator in fitted:
        if calibrator.outlook_ is not None:
            who = f"{short(name)}: " if len(fitted) > 1 else ""
            sentences += [f"{who}{warning}" for warning in calibrator.outlook_.warnings]
    if not to_stdout:
        for line in sentences:
            say(line)
        return
    lines = [line for name, calibrator in fitted for line in _lines(name, calibrator)]
    title = "What was learnt"
    if len(lines) > LISTED:
        title += f": the first {LISTED} of {len(lines)}"
    move = "factor" if fitted[0][1].vary == "scale" else "shift"
    headings = ["model", "rows", move, "coverage here", "coverage of new rows (95% range)"]
    if any(calibrator.outlook_ is not None for _, calibrator in fitted):
        headings.append(f"of the next {learnt.block}")
    columns = []
    for place, heading in enumerate(headings):
        form = Cell if place else words
        columns.append(Column(heading, heading, form, "", read=itemgetter(place)))
    show([Table(title, columns, lines[:LISTED]), "\n".join(sentences)])


def _lines(name: str, calibrator: IntervalCalibrator) -> Iterator[list[str]]:
    """Return what was learnt for each group, one line each."""
    written = factor if calibrator.vary == "scale" else amount
    outlook = calibrator.outlook_
    calibrations = calibrator.calibrations_
    for group, learnt in calibrations.items():
        labels = group if isinstance(group, tuple) else ["any other" if group is None else group]
        title = name if [*calibrations] == [None] else ", ".join(map(str, [name, *labels]))
        move = f"{written(learnt.lower)} below, {written(learnt.upper)} above"
        if calibrator.tails == "joint":
            move = str(written(learnt.upper))
        if outlook is not None and outlook.move.has_interval:
            move = str(written(learnt.upper, outlook.move.low, outlook.move.high))
        here = "–" if isnan(learnt.miss_rate) else str(share(1 - learnt.miss_rate))
        is_whole = len(calibrations) == 1 or group is None
        if outlook is not None and not is_whole:  # which is about all rows together
            yield [title, str(count(learnt.rows)), move, here, DASH, DASH]
            continue
        line = [title, str(count(learnt.rows)), move, here, _of_new_rows(calibrator, learnt.rows)]
        if outlook is not None:
            line.append(_span(outlook.next_block.low, outlook.next_block.high))
        yield line


def _of_new_rows(calibrator: IntervalCalibrator, rows: int) -> str:
    """Return the range of the coverage of new rows; a factor that was learnt elsewhere promises none."""
    outlook = calibrator.outlook_
    if outlook is not None and outlook.new_rows.has_interval:
        return _span(outlook.new_rows.low, outlook.new_rows.high)
    if not calibrator.conformal:
        return "–"
    return _span(*calibrator.coverage_range(rows))


def _span(low: float, high: float) -> str:
    return "unknown" if isnan(low) else f"{share(low)} to {share(high)}"


def _promise(calibrator: IntervalCalibrator) -> str:
    """Return what the numbers promise, in words."""
    target = f"{coverage(calibrator.coverage)} of new rows like these"
    if not calibrator.conformal:
        return f"The verdict's own: it allows for the choice among the models, so that {target} will be covered."
    sure = f"{target} will be covered, on average"
    if calibrator.confidence is not None:
        sure = (
            f"at least {target} will be covered, with {coverage(calibrator.confidence)} confidence"
        )
    return (
        f"Promise: {sure}, by a model that was not chosen on these rows. A single calibration set may do better or "
        "worse: 95% of such sets stay within the range."
    )
