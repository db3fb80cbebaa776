"""Days: the rows of files, day by day, as far as their outcomes are known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from uccurve._refusals import prefixed
from uccurve.adapters._frame import Model, models_of
from uccurve.adapters._names import TIMES, ModelColumns, plain_name
from uccurve.curve import UCC
from uccurve.intervals import Intervals
from uccurve.watch.days import Label, order_key
from uccurve.words.formats import counted, coverage, joined, listed, short

from ._files import FileSource
from ._loading import Part, part_of, truth_of
from ._options import Request
from ._rows import complete_rows, with_equal_types
from ._tables import DataFile

USUAL_COVERAGE = 0.9  # of models with several levels, the one nearest to this is watched
NAMELESS = "model"  # what the only model of a file is called, whatever the file
DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
COMPACT_DATE = re.compile(r"(19|20)(\d{2})(0[1-9]|1[0-2])([0-2]\d|3[01])")
PARTITION = re.compile(r"[\w.-]+=([^/=]+)")
LONGEST_NUMBER = 15  # digits of a day that is a number
REPEATED = 0.01  # share of a day's rows that may be there twice
CONTINUOUS = 0.9  # share of different predictions from which the same row is no coincidence


@dataclass(slots=True)
class DayRows:
    """Rows of one day from one file, or from several that hold parts of it."""

    label: Label
    frame: pl.DataFrame
    models: Mapping[str, ModelColumns]
    y: str
    title: str

    def with_more(self, other: DayRows) -> DayRows:
        """Return both parts of the day; refuse the same rows twice."""
        if self.frame.equals(other.frame):
            raise ValueError(
                f"{self.title} and {other.title} hold the same {counted(len(self.frame), 'row')} of {self.label}. "
                "Hint: give one of them."
            )
        if self.models != other.models or self.frame.columns != other.frame.columns:
            raise ValueError(
                f"{self.title} and {other.title} hold rows of {self.label} with different columns. "
                "Hint: put all models of a day into one file."
            )
        return DayRows(
            self.label, pl.concat([self.frame, other.frame]), self.models, self.y, self.title
        )


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is read from each file, besides its models: the column of the day, those of groups, and the observations.

    `truth` is a file that only holds what was observed.
    """

    request: Request
    column: str | None
    by: Sequence[str]
    truth: DataFile | None


@dataclass(slots=True)
class Days:
    """The days of some files, in order, and how many of their rows wait for an outcome."""

    rows: list[DayRows]
    waiting: int = 0

    @property
    def coverage(self) -> float | None:
        """The coverage that all models' columns tell; of several common levels the one nearest 90%."""
        common: set[float] | None = None
        for rows in self.rows:
            for columns in rows.models.values():
                levels = {float(level) for level in columns.levels if level is not None}
                common = levels if common is None else common & levels
        if not common:
            return None
        return min(common, key=lambda level: (abs(level - USUAL_COVERAGE), level))


def days_of(files: Sequence[str], request: Request, column: str | None, by: Sequence[str]) -> Days:
    """Return the rows with outcomes of each day, in order; `column` tells the day, `by` are columns of groups."""
    days = Days([])
    by_label: dict[Label, DayRows] = {}
    truth = None
    if request.truth is not None:
        truth = DataFile.open(request.truth, request.decimal, request.na)
    wanted = Wanted(request, column, by, truth)
    for path in files:
        for source in FileSource.each_of(path):
            for rows in _of_file(source, wanted, days):
                earlier = by_label.get(rows.label)
                by_label[rows.label] = rows if earlier is None else earlier.with_more(rows)
    if len(set(map(type, by_label))) > 1:
        shown = listed([*map(repr, by_label)])
        raise ValueError(f"days must be all numbers or all text; got {shown}. Hint: --day COLUMN.")
    days.rows = sorted(by_label.values(), key=lambda rows: order_key(rows.label))
    return days


def _of_file(source: FileSource, wanted: Wanted, days: Days) -> Iterator[DayRows]:
    """Yield the days of one file; count in `days` what waits."""
    request = wanted.request
    nameless = replace(source, name=NAMELESS)
    table = DataFile.open(nameless, request.decimal, request.na, request.conditions)
    for condition in request.conditions:
        table.require([condition.column])
    part = part_of(table, request)
    if wanted.truth is not None and part.y is None:
        part = _observed_by(wanted.truth, part, request)
    table = part.table
    y = _observed(part)
    day = wanted.column or _day_column(table.columns)
    named = None if day is not None else _day_in_path(source.path)
    if day is None and named is None:
        raise ValueError(
            f"{table.label} has no column that tells the day (such as date or ds), and its name holds no date; "
            f"it has {listed(table.columns)}. Hint: --day COLUMN."
        )
    labels = [*wanted.by] if day is None else [day, *wanted.by]
    frame = table.read(part.numbers(request), labels)
    is_observed = frame[y].is_finite().fill_null(value=False)
    days.waiting += len(frame) - int(is_observed.sum())
    frame = frame.filter(is_observed)
    missing = request.missing or ("drop" if part.is_long else "raise")
    if missing == "drop" and len(frame):
        numbers = [*chain.from_iterable(columns.names for columns in part.models.values())]
        frame = frame.filter(complete_rows([frame], [numbers]))
    for label, rows in _by_day(frame, day, named, table.label):
        day_rows = DayRows(label, rows, part.models, y, table.label)
        _refuse_repeated(day_rows)
        yield day_rows


def _observed_by(truth: DataFile, part: Part, request: Request) -> Part:
    """Return forecasts with what another file has observed of them; what it has not, waits."""
    observed = truth_of(truth, [part], request)
    keys = [name for name in observed.table.columns if name in part.table.columns]
    if not keys:
        raise ValueError(
            f"{part.table.label} and {truth.label} have no column in common that tells their rows apart."
        )
    y = str(observed.y)
    observations = observed.table.read([y], keys)
    repeated = int(observations.select(keys).is_duplicated().sum())
    if repeated:
        raise ValueError(
            f"{listed(keys)} must name each row once: {repeated:,} of {counted(len(observations), 'row')} of "
            f"{truth.label} share their key. Hint: name what was observed by more columns in both files."
        )
    others = [name for name in part.table.columns if name not in part.numbers(request)]
    forecasts, observations = with_equal_types(
        [part.table.read(part.numbers(request), others), observations], keys
    )
    joined = forecasts.join(observations, on=keys, how="left", maintain_order="left")
    return replace(part, table=part.table.holding(joined), y=y)


def _observed(part: Part) -> str:
    """Return the column of the observations; refuse a file without one, or without a model."""
    table = part.table
    if part.y is None:
        raise ValueError(
            f"{table.label} has no column for the observation (such as y, y_true, actual, observed); "
            f"it has {listed(table.columns)}. Hint: --y COLUMN, or --truth FILE where another file has it."
        )
    if not part.models:
        raise ValueError(
            f"{table.label} has no prediction with its bounds (such as pred, lower, upper). "
            "Hint: --model NAME=PRED,LOWER,UPPER."
        )
    return part.y


def _by_day(
    frame: pl.DataFrame, column: str | None, named: str | None, title: str
) -> Iterator[tuple[Label, pl.DataFrame]]:
    """Yield the label and the rows of each day."""
    if column is None:
        if len(frame):
            yield _label(named or ""), frame
        return
    if frame[column].null_count():
        count = frame[column].null_count()
        raise ValueError(
            f"column {short(column)} of {title} must tell the day of each row: "
            f"{count} of {counted(len(frame), 'row')} lack it."
        )
    text = frame[column].cast(pl.String)
    marked = frame.with_columns(text.alias(column))
    days: dict[Label, list[str]] = {}
    for value in text.unique().to_list():
        days.setdefault(_label(value), []).append(value)
    for label in sorted(days, key=lambda label: (str(type(label)), order_key(label))):
        rows = marked if len(days) == 1 else marked.filter(text.is_in(days[label]))
        yield label, rows


def _day_column(columns: Sequence[str]) -> str | None:
    """Return the column that tells the day: one called day, else the first of the names of times."""
    plain = {plain_name(name): name for name in reversed(columns)}
    return next((plain[name] for name in ("day", *TIMES) if name in plain), None)


def _day_in_path(path: str) -> str | None:
    """Return the day that a path names, as a partition or as a date.

    >>> (
    ...     _day_in_path("rows/day=17/part-0.parquet"),
    ...     _day_in_path("out/2026-03-01.csv"),
    ...     _day_in_path("new.csv"),
    ... )
    ('17', '2026-03-01', None)
    """
    for part in reversed(Path(path).parts):
        partition = PARTITION.fullmatch(part)
        if partition:
            return partition[1]
        date = DATE.search(part) or COMPACT_DATE.search(part)
        if date:
            return date[0]
    return None


def _label(text: str) -> Label:
    """Return a day as the monitor calls it: a date without its time, a number, or text.

    >>> _label("2026-03-01T07:30:00"), _label("20260301"), _label("17"), _label("week 3")
    ('2026-03-01', '2026-03-01', 17, 'week 3')
    """
    text = text.strip()
    compact = COMPACT_DATE.fullmatch(text)
    if compact:
        return f"{compact[1]}{compact[2]}-{compact[3]}-{compact[4]}"
    date = DATE.match(text)
    if date:
        return date[0]
    return int(text) if text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER else text


def _refuse_repeated(rows: DayRows) -> None:
    """Refuse a day of which rows are there twice, where no two rows are alike by coincidence."""
    distinct = rows.frame.unique()
    twice = len(rows.frame) - len(distinct)
    if twice <= REPEATED * len(rows.frame):
        return
    names = next(iter(rows.models.values())).names
    different = len(distinct.select(names[:1]).unique())
    if different >= CONTINUOUS * len(distinct):
        raise ValueError(
            f"{rows.title} holds {counted(twice, 'row')} of {rows.label} twice, of {len(rows.frame):,}. "
            "Hint: give each row once."
        )


def intervals_of(rows: DayRows, request: Request, promised: float) -> dict[str, Intervals]:
    """Return the intervals of each model at the level that is watched."""
    weight = rows.frame[request.weight] if request.weight else None
    options: Any = {
        "min_band": request.min_band,
        "crossing": "sort" if request.sort_crossing else "raise",
        "weight": weight,
        "support": request.support,
    }
    try:
        models = models_of(rows.models, rows.frame[rows.y], rows.frame, **options)
    except (TypeError, ValueError) as error:
        raise prefixed(f"{rows.title}, {rows.label}: ", error) from None
    intervals: dict[str, Intervals] = {}
    for name, model in models.items():
        intervals[name] = _level_of(name, model, promised, rows.title)
    return intervals


def _level_of(name: str, model: Model, promised: float, title: str) -> Intervals:
    """Return the intervals of the level that is watched."""
    if isinstance(model, Intervals):
        return model
    if isinstance(model, UCC):  # a bound that only a shift can move
        return model.intervals
    near = [level for level in model if abs(level - promised) < 1e-9]
    if not near:
        levels = joined([*map(str, map(coverage, model))])
        raise ValueError(
            f"{short(name)} of {title} has the levels {levels}, and {coverage(promised)} is watched. "
            "Hint: --coverage chooses the level of a new watch."
        )
    return model[near[0]]


def watched_level(columns: ModelColumns, promised: float) -> ModelColumns:
    """Return the columns of the level that is watched."""
    bounds = [
        pair
        for pair in columns.bounds
        if len(columns.bounds) == 1 or abs(float(pair.level or 0) - promised) < 1e-9
    ]
    return columns._replace(bounds=tuple(bounds))


def is_later(label: Label, other: Label) -> bool:
    """Whether a day is after another; of labels of different kinds none is."""
    return type(label) is type(other) and order_key(label) > order_key(other)
