"""Rows: the same rows of several files, matched by keys and complete, with their segments, groups and blocks."""

import re
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import reduce
from typing import Any

import numpy as np
import polars as pl

from uccurve._vocabulary import DroppedRowsWarning
from uccurve.adapters._names import SERIES, TIMES, plain_name
from uccurve.words.formats import listed, short

from ._files import Table

LABELS = 60  # an integer with at most so many different values is a label, not a number to be cut into bins
LOOKED_AT = 10_000  # rows that are looked at for a sorted time
ISO_DATE = re.compile(r"\d{4}-\d{2}(-\d{2}([T ]\d{2}(:\d{2}.*)?)?)?")


def matched_rows(
    frames: Sequence[pl.DataFrame],
    labels: Sequence[str],
    keys: Sequence[Sequence[str]],
    *,
    drop: bool,
) -> list[pl.DataFrame]:
    """Return the rows of every file matched by its keys, in the order of the first file with the most keys.

    A file with fewer keys has a row for several of another. Keys that repeat within a file are refused. Rows that not
    all files have are refused, or left out with `drop`.
    """
    most, fewest = max(keys, key=len), min(keys, key=len)
    frames = _with_equal_types(frames, most)
    for frame, label, own in zip(frames, labels, keys, strict=True):
        repeated = frame.filter(frame.select(own).is_duplicated())
        if len(repeated):
            raise ValueError(
                f"--on must name each row once: {len(repeated)} of {len(frame)} rows of {label} share their key, "
                f"first {_shown_key(repeated, own)}. Hint: name more columns."
            )
    common = frames[keys.index(most)].select(most)
    for frame, own in zip(frames, keys, strict=True):
        common = common.join(frame, on=own, how="semi", maintain_order="left")
    if not len(common):
        raise ValueError(
            f"files must have rows in common by {listed(fewest)}: none of them has the same key."
        )
    alone = [
        frame.join(common, on=own, how="anti") for frame, own in zip(frames, keys, strict=True)
    ]
    lost = [
        (label, rows, len(frame))
        for label, rows, frame in zip(labels, alone, frames, strict=True)
        if len(rows)
    ]
    if lost and not drop:
        label, rows, total = lost[0]
        raise ValueError(
            f"files must have the same rows by {listed(fewest)}: {len(rows)} of {total} rows of {label} have no match "
            f"in another file, first {_shown_key(rows, fewest)}. Hint: --missing drop compares the common rows."
        )
    if lost:
        counts = ", ".join(f"{len(rows)} of {label}" for label, rows, _ in lost)
        warnings.warn(
            f"dropped rows without a match in every file: {counts}",
            DroppedRowsWarning,
            stacklevel=2,
        )
    joined = zip(frames, keys, strict=True)
    return [
        pl.DataFrame(common.join(frame, on=own, how="left", maintain_order="left"))
        for frame, own in joined
    ]


def _shown_key(rows: pl.DataFrame, keys: Sequence[str]) -> str:
    return short(", ".join(str(rows[name][0]) for name in keys), 60)


def refuse_other_rows(
    frames: Sequence[pl.DataFrame], labels: Sequence[str], keys: Sequence[str]
) -> None:
    """Refuse files that do not hold the same rows in the same order, by their number and the `keys` they share."""
    hint = f"Hint: --on {','.join(keys) or 'KEYS'} matches them."
    if any(len(frame) != len(frames[0]) for frame in frames):
        counts = ", ".join(
            f"{label} {len(frame):,}" for label, frame in zip(labels, frames, strict=True)
        )
        raise ValueError(f"files must have the same rows: {counts}. {hint}")
    if not keys or len(frames) == 1:
        return
    first, *others = (frame.select(keys) for frame in _with_equal_types(frames, keys))
    for label, other in zip(labels[1:], others, strict=True):
        if not other.equals(first) and other.sort(keys).equals(first.sort(keys)):
            raise ValueError(
                f"{label} must have its rows in the order of {labels[0]} by {listed(keys)}. {hint}"
            )


def _with_equal_types(frames: Sequence[pl.DataFrame], keys: Sequence[str]) -> list[pl.DataFrame]:
    """Return keys that not all files hold in the same type as text, so that a CSV file matches a Parquet file."""
    mixed = [
        name
        for name in keys
        if len({frame[name].dtype for frame in frames if name in frame.columns}) > 1
    ]
    return [
        frame.cast({name: pl.String for name in mixed if name in frame.columns}) for frame in frames
    ]


def complete_rows(
    frames: Sequence[pl.DataFrame], numbers: Sequence[Sequence[str]], done: str = "dropped"
) -> pl.Series:
    """Return whether each row has all its numbers in all files, and say what is `done` with the others."""
    columns = (frame[name] for frame, names in zip(frames, numbers, strict=True) for name in names)
    whole = reduce(
        pl.Series.__and__, (column.is_finite().fill_null(value=False) for column in columns)
    )
    if not whole.any():
        raise ValueError(f"all {len(whole):,} rows have a missing value.")
    if not whole.all():
        message = f"{done} {len(whole) - whole.sum()} of {len(whole)} rows: they have a missing or infinite value"
        warnings.warn(message, DroppedRowsWarning, stacklevel=2)
    return whole


def group_labels(frame: pl.DataFrame, keys: Sequence[str]) -> dict[str, Any] | None:
    """Return the labels of groups to calibrate apart, by key, as text: CSV knows no other."""
    return {key: frame[key].cast(pl.String).to_list() for key in keys} or None


def segment_labels(columns: Sequence[pl.Series]) -> Any:
    """Return numbers to be cut into bins, or labels: text, integers with few different values, several columns."""
    if len(columns) > 1:
        rows = zip(*(column.to_list() for column in columns), strict=True)
        return [None if None in row else ", ".join(map(str, row)) for row in rows]
    (column,) = columns
    if (
        column.dtype == pl.String and not column.str.contains(r"^[+-]?0\d").any()
    ):  # leading zeros make no number
        casts = (
            column.str.strip_chars().cast(kind, strict=False) for kind in (pl.Int64, pl.Float64)
        )
        column = next((one for one in casts if one.null_count() == column.null_count()), column)
    if column.dtype.is_integer() and column.n_unique() <= LABELS:
        return np.array(column.to_list(), dtype=object)
    return (
        column.to_numpy()
        if column.dtype.is_numeric() and not column.null_count()
        else column.to_list()
    )


def hint_at_blocks(table: Table) -> str | None:
    """Return a word where a file has a time and no blocks were asked for: rows of a series are dependent.

    A time is a column called so, or the first sorted one of times, or of dates as text in ISO 8601.
    """
    name = next((one for one in table.columns if plain_name(one) in TIMES), None)
    if name is None:
        with suppress(
            pl.exceptions.PolarsError
        ):  # a file that cannot be read is refused where it is read
            names = [one for one in table.columns if table.columns.count(one) == 1]
            rows = table.lazy([], names).head(LOOKED_AT).collect()
            times = (
                one
                for one in rows
                if one.dtype.is_temporal() or ISO_DATE.fullmatch(str(one.first()))
            )
            name = next((one.name for one in times if one.is_sorted()), None)
    series = next((one for one in table.columns if plain_name(one) in SERIES), "COLUMN")
    return name and (
        f"Note: rows that follow each other in time ({short(name)}) are usually dependent, and p-values then are "
        f"too small. Hint: --block {short(series)}, or --block N for N consecutive rows."
    )
