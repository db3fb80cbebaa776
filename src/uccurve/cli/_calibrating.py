"""Calibrating: learn factors on one file, keep them, and write other files with calibrated bounds."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uccurve._outputs import shown_path, written
from uccurve.calibrate.calibrator import Calibration, IntervalCalibrator
from uccurve.compare._formats import amount, count, coverage, factor, share, short
from uccurve.intervals import Intervals

from ._console import output, say, show_rows, show_text
from ._conventions import Bounds, Columns, detect_columns
from ._labels import group_labels
from ._loading import Part, Request, bound_arrays, flat, level_name, models_of, parts, read_frames
from ._results import check_outputs, named_inputs, write_text
from ._saved import SavedCalibration, SavedModel
from ._sources import refuse_two_readers
from ._tables import Table, listed

if TYPE_CHECKING:
    import polars as pl

LISTED = 40
"""Groups that are listed at most."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to calibrate for, as `IntervalCalibrator` takes it; without a target each level is its own."""

    target: Mapping[str, float]
    options: Mapping[str, Any]

    def calibrator(self, model: str, bounds: Bounds, *, levels: int) -> IntervalCalibrator:
        """Return the calibrator of one pair of bounds."""
        if self.target:
            if levels > 1 and not {"coverage", "miss_rate"}.isdisjoint(self.target):
                raise ValueError(
                    f"--coverage is one promise, and {short(model)} has {levels} levels. Hint: leave it out, so that "
                    "each level keeps its own, or choose one level by --model."
                )
            return IntervalCalibrator(**self.target, **self.options)  # type: ignore[arg-type]  # floats by name
        if bounds.level is None:
            raise ValueError(
                f"the bounds of {short(model)} do not tell their coverage by their names. Hint: --coverage 90%."
            )
        return IntervalCalibrator(coverage=float(bounds.level), **self.options)


@dataclass(frozen=True, slots=True)
class Targets:
    """Files to write."""

    out: Path | None
    save: Path | None
    force: bool

    def check(self, *inputs: str) -> None:
        """Refuse what cannot be written before long work starts."""
        check_outputs({"--out": self.out, "--save": self.save}, named_inputs(*inputs), force=self.force)
        if self.out is not None and self.out.suffix.lower() == ".zst":
            raise ValueError("calibrated bounds are written as CSV, .csv.gz or Parquet, not as .zst.")

    def write(self, frame: pl.DataFrame, table: Table) -> None:
        """Write calibrated rows, as the file that they come from is written."""
        if self.out is None:
            return
        if str(self.out) == "-":
            output().write(frame.write_csv(separator=table.separator))
            return
        with written(self.out, force=self.force) as path:
            _write_table(frame, path, self.out, table)
        say(f"written: {shown_path(self.out)}, {len(frame):,} rows with calibrated bounds")


def calibrate_files(calibration: str, new: str | None, wanted: Wanted, request: Request, targets: Targets) -> None:
    """Learn on one file; keep what was learnt, and write another file with calibrated bounds, where that is asked."""
    inputs = [calibration, *([new] if new is not None else [])]
    refuse_two_readers(*inputs)
    targets.check(*inputs)
    (found,) = parts([calibration], request)
    for line in found.said():
        say(line)
    keys = [name for feature in request.by for name in feature]
    found.table.require(keys)
    learnt = _learnt(found, request, wanted, keys)
    table = None if new is None else Table.open(new, request.dialect)
    frame = None if table is None else _calibrated(table, learnt, request)  # refused before anything is written
    if targets.save is not None:
        write_text(targets.save, learnt.to_json() + "\n", force=targets.force)
    if table is not None and frame is not None:
        targets.write(frame, table)
    _report(learnt, to_stdout=str(targets.out) != "-")


def apply_file(saved: str, new: str, request: Request, targets: Targets) -> None:
    """Write a file with bounds calibrated by what an earlier `calibrate` kept."""
    targets.check(saved, new)
    table = Table.open(new, request.dialect)
    targets.write(_calibrated(table, SavedCalibration.read(saved), request), table)


def _learnt(found: Part, request: Request, wanted: Wanted, keys: Sequence[str]) -> SavedCalibration:
    """Fit one calibrator for each level of each model."""
    frames = read_frames([found], request)
    groups = group_labels(frames[0], keys)
    models = []
    for title, model in models_of([found], frames, request).items():
        columns = found.models[title]
        levels = [model] if isinstance(model, Intervals) else list(model.values())
        for bounds, intervals in zip(columns.bounds, levels, strict=True):
            calibrator = wanted.calibrator(title, bounds, levels=len(levels)).fit(intervals, groups=groups)
            name = level_name(title, columns, bounds)
            models.append(SavedModel(name, columns.pred, bounds.lower, bounds.upper, calibrator))
    band = request.min_band if isinstance(request.min_band, float) else None
    return SavedCalibration(tuple(models), tuple(keys), band, request.sort_crossing)


def _calibrated(table: Table, learnt: SavedCalibration, request: Request) -> pl.DataFrame:
    """Return a table with calibrated bounds; all its other cells are as they were."""
    models = _columns_in(table, learnt, request)
    table.require([*(name for columns in models.values() for name in columns.names), *learnt.by])
    frame = table.texts()
    for one in learnt.models:
        frame = _with_bounds(table, frame, models[one.name], one, learnt, drop=request.missing == "drop")
    return frame


def _columns_in(table: Table, learnt: SavedCalibration, request: Request) -> dict[str, Columns]:
    """Return the columns in a new file of each model that was learnt: those of the same names, or by convention."""
    if request.models is None or not request.models:
        same = {one.name: Columns(one.pred, (Bounds(one.lower, one.upper),)) for one in learnt.models}
        if all(name in table.columns for one in same.values() for name in one.names):
            return same
    found = flat(dict(request.models or detect_columns(table.columns, y=request.y, nameless=table.source.name).models))
    names = [one.name for one in learnt.models]
    if len(found) == len(names) == 1:
        return {names[0]: next(iter(found.values()))}
    if set(found) != set(names):
        raise ValueError(
            f"both files must have the same models: {listed(names)} in the first, "
            f"{listed(list(found)) or 'none'} in {table.label}. Hint: --model NAME=PRED,LOWER,UPPER."
        )
    return found


def _with_bounds(
    table: Table, frame: pl.DataFrame, columns: Columns, one: SavedModel, learnt: SavedCalibration, *, drop: bool
) -> pl.DataFrame:
    """Return the frame with calibrated bounds of one model; all its other cells are as they were."""
    import polars as pl

    numbers = table.read(list(dict.fromkeys(columns.names)), learnt.by)
    whole = _complete(table, numbers, columns, drop=drop)
    numbers = numbers.filter(whole)
    ((pred, lower, upper),) = bound_arrays(numbers, columns, sort_crossing=learnt.sort_crossing)
    groups = group_labels(numbers, learnt.by)
    bounds = one.calibrator.apply_bounds(pred, lower, upper, groups=groups, min_band=learnt.min_band)
    new = {name: pl.Series(name, bound) for name, bound in zip(columns.names[1:], bounds, strict=True)}
    if table.kind == "csv":
        sign = table.dialect.decimal
        new = {name: pl.Series(name, [repr(v).replace(".", sign) for v in s.to_list()]) for name, s in new.items()}
    rows = whole.arg_true()
    return frame.with_columns(frame[name].cast(s.dtype).scatter(rows, s) for name, s in new.items())


def _complete(table: Table, numbers: pl.DataFrame, columns: Columns, *, drop: bool) -> pl.Series:
    """Return which rows have all their numbers; the others are refused, or left as they are."""
    import polars as pl

    whole = pl.Series([True] * len(numbers))
    for name in columns.names:
        finite = numbers[name].is_finite().fill_null(value=False)
        missing = (~finite).arg_true()
        if len(missing) and not drop:
            count = f"{len(missing)} of {len(numbers)} rows {'does' if len(missing) == 1 else 'do'} not"
            raise ValueError(
                f"column {short(name)} of {table.label} must hold a number in each row: {count}, "
                f"first row {missing[0]}. Hint: --missing drop leaves such rows as they are."
            )
        whole &= finite
    if not whole.any():
        raise ValueError(f"all {len(numbers):,} rows of {table.label} lack a number.")
    if not whole.all():
        say(f"rows that lack a number and were left as they are: {len(whole) - int(whole.sum())} of {len(whole)}")
    return whole


def _write_table(frame: pl.DataFrame, path: Path, out: Path, table: Table) -> None:
    suffix = out.suffix.lower()
    if suffix in (".parquet", ".pq"):
        frame.write_parquet(path)
    elif suffix == ".gz":
        path.write_bytes(gzip.compress(frame.write_csv(separator=table.separator).encode()))
    else:
        frame.write_csv(path, separator=table.separator)


def _report(learnt: SavedCalibration, *, to_stdout: bool) -> None:
    """Say what was learnt and what may be expected of it."""
    rows = [row for one in learnt.models for row in _rows_of(one)]
    vary = learnt.models[0].calibrator.vary
    header = ["model", "rows", "factor" if vary == "scale" else "shift", "coverage here", "of new rows (95% range)"]
    title = "What was learnt" if len(rows) <= LISTED else f"What was learnt: the first {LISTED} of {len(rows)}"
    sentences = [_promise(one.calibrator) for one in learnt.models]
    if to_stdout:
        show_rows(title, header, rows[:LISTED])
        show_text(dict.fromkeys(filter(None, sentences)))
    else:
        for line in dict.fromkeys(filter(None, sentences)):
            say(line)


def _rows_of(one: SavedModel) -> list[list[str]]:
    calibrator = one.calibrator
    found = [
        (one.name if group is None else f"{one.name}, {_label(group)}", learnt)
        for group, learnt in calibrator.calibrations_.items()
    ]
    if calibrator.pooled_ is not None:
        found.append((f"{one.name}, any other", calibrator.pooled_))
    return [[name, str(count(learnt.rows)), *_numbers(calibrator, learnt)] for name, learnt in found]


def _numbers(calibrator: IntervalCalibrator, learnt: Calibration) -> tuple[str, str, str]:
    write = factor if calibrator.vary == "scale" else amount
    moves = learnt.tails or (getattr(learnt.point, calibrator.vary),)
    change = " below, ".join(str(write(value)) for value in moves) + (" above" if len(moves) > 1 else "")
    low, high = _range(calibrator, learnt.rows)
    expected = "-" if isnan(low) else f"{share(low)} to {share(high)}"
    return change, str(share(1 - learnt.point.miss_rate)), expected


def _range(calibrator: IntervalCalibrator, rows: int) -> tuple[float, float]:
    try:
        return calibrator.coverage_range(rows)
    except ValueError:  # another target than a coverage
        return nan, nan


def _label(group: Any) -> str:
    return ", ".join(map(str, group)) if isinstance(group, tuple) else str(group)


def _promise(calibrator: IntervalCalibrator) -> str:
    """Return what the numbers promise, in words."""
    target = calibrator.targets.get("coverage", 1 - calibrator.targets.get("miss_rate", nan))
    if isnan(target):
        return ""
    sure = f"{coverage(target)} of new rows like these will be covered, on average"
    if calibrator.confidence is not None:
        sure = f"at least {coverage(target)} of new rows like these will be covered, with "
        sure += f"{coverage(calibrator.confidence)} confidence"
    elif not calibrator.conformal:
        sure = f"{coverage(target)} of these rows are covered, and fewer of new ones"
    return f"Promise: {sure}. One calibration set does better or worse: 95% of sets of that size lie in the range."
