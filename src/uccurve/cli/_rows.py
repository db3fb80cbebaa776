"""Rows: the same rows of several files, matched by keys and complete, with their segments, units and blocks."""

import re
import shlex
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import reduce
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from uccurve._vocabulary import DroppedRowsWarning
from uccurve.adapters._names import ORIGINS, TIMES, plain_name
from uccurve.words.formats import listed, short

from ._tables import DataFile

LABELS = 50  # an integer with at most so many different values is a label, not a number to be cut into bins
LOOKED_INTO = 200  # columns that are looked at for a time without a name of one
LOOKED_AT = 10_000  # rows that are looked at for a sorted time
FEW_ORIGINS = 10  # blocks from which on a forecast origin is chosen unasked
ISO_DATE = re.compile(r"\d{4}-\d{2}(-\d{2}([T ]\d{2}(:\d{2}.*)?)?)?")
SPREAD = "each {series}'s own spread"


Unmatched = Literal["refuse", "drop", "keep"]  # what becomes of forecasts that not all files have


class Unobserved(NamedTuple):
    """Labels of the forecasts, such as locations, that a file of observations has nowhere."""

    title: str
    column: str
    labels: tuple[str, ...]
    forecasts: int


class Matched(NamedTuple):
    """Rows of each file in the same order, and how many forecasts have no observation and were left out.

    Among these are forecasts of labels that will never be observed.
    """

    frames: list[pl.DataFrame]
    without_observation: int
    unobserved: tuple[Unobserved, ...] = ()


def matched_rows(
    frames: Sequence[pl.DataFrame],
    labels: Sequence[str],
    keys: Sequence[Sequence[str]],
    observing: Sequence[bool],
    *,
    unmatched: Unmatched,
) -> Matched:
    """Return the rows of every file matched by its keys: those of all forecasts that were observed.

    A file that only observes has a row for several of another, and its other rows are no forecasts. Keys that repeat
    within a file are refused. Forecasts that not all files have are refused, dropped, or kept with nulls.
    """
    most = max(keys, key=len)
    fewest = min(keys, key=len)
    frames = with_equal_types(frames, most)
    for frame, label, by in zip(frames, labels, keys, strict=True):
        _refuse_repeated(frame, label, by)
    forecasts = [place for place, only in enumerate(observing) if not only]
    every = frames[forecasts[0]].select(most)
    for place in forecasts[1:]:
        others = frames[place].select(most)
        if not others.equals(every):
            every = pl.concat([every, others.join(every, on=most, how="anti")])
    total = len(every)
    unobserved: list[Unobserved] = []
    for frame, label, by, only in zip(frames, labels, keys, observing, strict=True):
        if only:
            unobserved += _unobserved(every, frame, label, by)
            every = every.join(frame, on=by, how="semi", maintain_order="left")
    waiting = total - len(every)
    if unmatched == "keep":
        _refuse_alone([frames[place].select(most) for place in forecasts], fewest)
    else:
        named = {labels[place]: frames[place] for place in forecasts}
        every = _in_all(every, named, fewest, unmatched)
    if not len(every):
        raise ValueError(
            f"files must have rows in common by {listed(fewest)}: none of them has the same key."
        )
    matched = []
    for frame, by in zip(frames, keys, strict=True):
        matched.append(pl.DataFrame(every.join(frame, on=by, how="left", maintain_order="left")))
    return Matched(matched, waiting, tuple(unobserved))


def _is_later(lacking: pl.Series, observed: pl.Series) -> bool:
    """Whether all values that observations lack lie beyond them in an order, as times do that are still to come.

    Digits after a leading zero are a code, as of a county, and no number.
    """
    both = [lacking, observed]
    if lacking.dtype == pl.String:
        is_date = all(values.str.contains(f"^{ISO_DATE.pattern}$").all() for values in both)
        is_number = all(values.str.contains(r"^(0|[1-9]\d*)$").all() for values in both)
        if is_number:
            both = [values.cast(pl.Int64, strict=False) for values in both]
        elif not is_date:
            return False
    first: Any = both[0].min()
    last: Any = both[1].max()
    return first is not None and last is not None and bool(first > last)


def _unobserved(
    forecasts: pl.DataFrame, observed: pl.DataFrame, title: str, keys: Sequence[str]
) -> list[Unobserved]:
    """Return the labels of forecasts that no observation has; times that it lacks may still come."""
    found: list[Unobserved] = []
    origins, times = times_of(keys)
    for name in keys:
        if name in (*origins, *times):
            continue
        alone = forecasts.join(observed, on=name, how="anti")
        if len(alone) and not _is_later(alone[name], observed[name]):
            labels = sorted(str(value) for value in alone[name].unique().to_list())
            found.append(Unobserved(title, name, tuple(labels), len(alone)))
            forecasts = forecasts.join(observed, on=name, how="semi")
    return found


def _refuse_alone(forecasts: Sequence[pl.DataFrame], named: Sequence[str]) -> None:
    """Refuse a file that shares no forecast with any other one."""
    for place, frame in enumerate(forecasts):
        others = [*forecasts[:place], *forecasts[place + 1 :]]
        if others and all(
            frame.join(other, on=frame.columns, how="semi").is_empty() for other in others
        ):
            raise ValueError(
                f"files must have rows in common by {listed(named)}: one of them shares no key with another."
            )


def _in_all(
    every: pl.DataFrame, frames: Mapping[str, pl.DataFrame], named: Sequence[str], unmatched: str
) -> pl.DataFrame:
    """Return the keys that all files have, by their label; refuse the others, or say how many are dropped."""
    keys = every.columns
    common = every
    for frame in frames.values():
        common = common.join(frame, on=keys, how="semi", maintain_order="left")
    lost = []
    for label, frame in frames.items():
        present = every.join(frame, on=keys, how="semi", maintain_order="left")
        alone = present.join(common, on=keys, how="anti")
        if len(alone) and unmatched == "refuse" and len(common):
            raise ValueError(
                f"files must have the same rows by {listed(named)}: {len(alone)} of {len(present)} rows of {label} "
                f"have no match in another file, first {_shown_key(alone, named)}. "
                "Hint: --missing drop compares the common rows."
            )
        if len(alone):
            lost.append(f"{len(alone)} of {label}")
    if lost and len(common):
        message = f"dropped rows without a match in every file: {', '.join(lost)}"
        warnings.warn(message, DroppedRowsWarning, stacklevel=2)
    return common


def _refuse_repeated(frame: pl.DataFrame, label: str, keys: Sequence[str]) -> None:
    """Refuse a file in which rows share their key."""
    repeated = frame.filter(frame.select(keys).is_duplicated())
    if len(repeated):
        raise ValueError(
            f"{listed(keys)} must name each row once: {len(repeated)} of {len(frame)} rows of {label} share their key, "
            f"first {_shown_key(repeated, keys)}. Hint: name more columns by --on."
        )


def _shown_key(rows: pl.DataFrame, keys: Sequence[str]) -> str:
    return short(", ".join(str(rows[name][0]) for name in keys), 60)


def refuse_other_rows(
    frames: Sequence[pl.DataFrame], labels: Sequence[str], keys: Sequence[str]
) -> None:
    """Refuse files that do not hold the same rows in the same order, by their number and the `keys` they share."""
    hint = f"Hint: --on {','.join(keys) or 'KEYS'} matches them."
    if any(len(frame) != len(frames[0]) for frame in frames):
        counts = [f"{label} {len(frame):,}" for label, frame in zip(labels, frames, strict=True)]
        raise ValueError(f"files must have the same rows: {', '.join(counts)}. {hint}")
    if not keys or len(frames) == 1:
        return
    first, *others = (frame.select(keys) for frame in with_equal_types(frames, keys))
    for label, other in zip(labels[1:], others, strict=True):
        if not other.equals(first) and other.sort(keys).equals(first.sort(keys)):
            raise ValueError(
                f"{label} must have its rows in the order of {labels[0]} by {listed(keys)}. {hint}"
            )


def with_equal_types(frames: Sequence[pl.DataFrame], keys: Sequence[str]) -> list[pl.DataFrame]:
    """Return keys that not all files hold in the same type as text, so that a CSV file matches a Parquet file."""
    mixed = []
    for name in keys:
        types = {frame[name].dtype for frame in frames if name in frame.columns}
        if len(types) > 1:
            mixed.append(name)
    as_text = []
    for frame in frames:
        here = [name for name in mixed if name in frame.columns]
        as_text.append(frame.with_columns(pl.col(here).cast(pl.String)) if here else frame)
    return as_text


def complete_rows(
    frames: Sequence[pl.DataFrame], numbers: Sequence[Sequence[str]], done: str = "dropped"
) -> pl.Series:
    """Return whether each row has all its numbers in all files, and say what is `done` with the others."""
    whole = whole_rows(frames, numbers)
    if not whole.any():
        raise ValueError(f"all {len(whole):,} rows have a missing value.")
    if not whole.all():
        message = f"{done} {len(whole) - whole.sum()} of {len(whole)} rows: they have a missing or infinite value"
        warnings.warn(message, DroppedRowsWarning, stacklevel=2)
    return whole


def whole_rows(frames: Sequence[pl.DataFrame], numbers: Sequence[Sequence[str]]) -> pl.Series:
    """Return whether each row has all its numbers in all files."""
    columns = (frame[name] for frame, names in zip(frames, numbers, strict=True) for name in names)
    return reduce(
        pl.Series.__and__, (column.is_finite().fill_null(value=False) for column in columns)
    )


def group_labels(frame: pl.DataFrame, keys: Sequence[str]) -> dict[str, Any] | None:
    """Return the labels of groups to calibrate apart, by key, as text: CSV knows no other."""
    return {key: frame[key].cast(pl.String).to_list() for key in keys} or None


def segment_labels(columns: Sequence[pl.Series]) -> Any:
    """Return numbers to be cut into bins, or labels: text, integers with few different values, several columns."""
    if len(columns) > 1:
        return [_joined(row) for row in zip(*(column.to_list() for column in columns), strict=True)]
    column = _as_numbers(columns[0])
    if column.dtype.is_integer() and column.n_unique() <= LABELS:
        return np.array(column.to_list(), dtype=object)
    if column.dtype.is_numeric() and not column.null_count():
        return column.to_numpy()
    return column.to_list()


def _joined(labels: Sequence[Any]) -> str | None:
    """Return several labels of a row as one; labels that hold a comma are in quotes.

    >>> _joined(["a", "b, c"]), _joined(["a, b", "c"]), _joined(["a", None])
    ('a, "b, c"', '"a, b", c', None)
    """
    if None in labels:
        return None
    quoted = []
    for label in labels:
        text = str(label)
        needs_quotes = "," in text or '"' in text
        quoted.append('"' + text.replace('"', '""') + '"' if needs_quotes else text)
    return ", ".join(quoted)


def _as_numbers(column: pl.Series) -> pl.Series:
    """Return texts of numbers as numbers; leading zeros make no number."""
    if column.dtype != pl.String or column.str.contains(r"^[+-]?0\d").any():
        return column
    for kind in (pl.Int64, pl.Float64):
        numbers = column.str.strip_chars().cast(kind, strict=False)
        if numbers.null_count() == column.null_count():
            return numbers
    return column


def series_units(frame: pl.DataFrame, series: str, y: str, floor: float | None) -> pl.Series:
    """Return each row's unit: the mean absolute deviation of its series from its median.

    A series that never moves has no unit, unless a `floor` is given, which is the smallest unit of any series.
    """
    centre = pl.col(y).drop_nans().median().over(series)
    spread = (pl.col(y) - centre).abs().drop_nans().mean().over(series)
    units = frame.select(spread.alias("unit"), pl.col(series))
    units = units.with_columns(pl.col("unit").fill_null(0.0))
    if floor is not None:
        units = units.with_columns(pl.max_horizontal(pl.col("unit"), pl.lit(floor)))
    still = units.filter(pl.col("unit") <= 0)[series].unique(maintain_order=True)
    if len(still):
        raise ValueError(
            f"each series needs a spread to be its unit: {listed(still.to_list())} of {short(series)} "
            f"{'has' if len(still) == 1 else 'have'} one value only. Hint: --unit-floor 1 is the smallest unit."
        )
    return units["unit"].alias(SPREAD.format(series=series))


def horizon_of(frame: pl.DataFrame) -> pl.Series:
    """Return how many steps each row lies after its forecast origin.

    >>> horizon_of(pl.DataFrame({"cutoff": ["4", "4"], "ds": ["5", "7"]})).to_list()
    [1, 3]
    """
    plain = {plain_name(name): name for name in reversed(frame.columns)}
    origin = next((plain[word] for word in ORIGINS if word in plain), None)
    time = next((plain[word] for word in TIMES if word in plain and word not in ORIGINS), None)
    if origin is None or time is None:
        raise ValueError(
            f"there is no column horizon, and none for the origin and the time that it lies between; there are "
            f"{listed(frame.columns)}. Hint: --by COLUMN names another column."
        )
    ahead = _as_times(frame[time]) - _as_times(frame[origin])
    if ahead.null_count():
        raise ValueError(
            f"{ahead.null_count():,} of {len(ahead):,} rows have no number or date in {short(time)} or "
            f"{short(origin)}. "
            "Hint: --by COLUMN names another column."
        )
    steps = ahead.cast(pl.Int64)
    step = int(np.gcd.reduce(np.abs(steps.to_numpy())))
    return (steps // max(step, 1)).alias("horizon")


def _as_times(column: pl.Series) -> pl.Series:
    """Return times as numbers: of days, of microseconds or as they are."""
    if column.dtype == pl.String:
        numbers = column.str.strip_chars().cast(pl.Int64, strict=False)
        if numbers.null_count() < len(numbers):
            return numbers
        times = column.str.strip_chars().str.to_datetime(strict=False, exact=False)
        return times.cast(pl.Int64)
    if column.dtype == pl.Date:
        return column.cast(pl.Datetime("us")).cast(pl.Int64)
    if column.dtype.is_temporal():
        return column.cast(pl.Datetime("us")).cast(pl.Int64)
    return column.cast(pl.Int64)


def times_of(columns: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the columns of forecast origins, and those of other times."""
    plain = {plain_name(name): name for name in reversed(columns)}
    origins = [plain[word] for word in ORIGINS if word in plain]
    times = [plain[word] for word in TIMES if word in plain and word not in ORIGINS]
    return origins, times


def block_column(
    origins: Sequence[str], times: Sequence[str], rows: int, counts: Mapping[str, int]
) -> str | None:
    """Return the column of dependent rows that a long frame has, from how many values each has; None for none.

    It is the forecast origin where it has at least ten values, else the date where that has, else the origin. A frame
    is long where it has several rows of most dates.

    >>> block_column(["cutoff"], ["ds"], 6624, {"cutoff": 4, "ds": 96})
    'ds'
    """
    for name in (*origins, *times):
        if FEW_ORIGINS <= counts[name] <= rows / 2:
            return name
    for name in origins:
        if 1 < counts[name] <= rows / 2:
            return name
    return None


def hint_at_blocks(table: DataFile) -> str | None:
    """Return a word where a file has a time and no blocks were asked for: rows of a series are dependent.

    A time is a column called so, or the first sorted one of times, or of dates as text in ISO 8601.
    """
    name = next((name for name in table.columns if plain_name(name) in TIMES), None)
    if name is None:
        with suppress(
            pl.exceptions.PolarsError
        ):  # a file that cannot be read is refused where it is read
            name = _sorted_time(table)
    if name is None:
        return None
    rows, counts = table.distinct([name])
    hint = "--block 20 makes blocks of 20 consecutive rows"
    if 1 < counts[name] <= rows / 2:
        hint = f"--block {shlex.quote(name)} makes blocks of the same {short(name)}"
    return (
        f"Note: rows that follow each other in time ({short(name)}) are usually dependent, and p-values then are "
        f"too small. Hint: {hint}."
    )


def _sorted_time(table: DataFile) -> str | None:
    """Return the first sorted column of times, or of dates as text in ISO 8601."""
    first = table.columns[:LOOKED_INTO]
    names = [name for name, count in Counter(first).items() if count == 1]
    rows = table.lazy([], names).head(LOOKED_AT).collect()
    for column in rows:
        is_time = column.dtype.is_temporal() or ISO_DATE.fullmatch(str(column.first()))
        if is_time and column.is_sorted():
            return column.name
    return None
