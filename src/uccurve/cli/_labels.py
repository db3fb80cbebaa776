"""Labels: segments and blocks of rows from the columns of a file, and a word where blocks seem to be missing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import polars as pl

from uccurve.adapters._names import SERIES, TIMES, plain_name
from uccurve.compare._formats import short

from ._tables import Table

LABELS = 60
"""An integer with at most so many different values is a label, not a number to be cut into bins."""
LOOKED_AT = 10_000
"""Rows that are looked at for a sorted time."""
ISO_DATE = re.compile(r"\d{4}-\d{2}(-\d{2}([T ]\d{2}(:\d{2}.*)?)?)?")


def block_option(given: int | str | None, columns: Sequence[str]) -> int | str | None:
    """Return a column of blocks, or the length of blocks where no column is called so.

    >>> block_option("day", ["y", "day"]), block_option("24", ["y", "day"])
    ('day', 24)
    """
    text = str(given)
    return int(text) if text not in columns and text.isascii() and text.isdecimal() else given


def segment_labels(frame: pl.DataFrame, by: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return the labels or numbers of each feature by its name."""
    return {", ".join(feature): _feature([frame[name] for name in feature]) for feature in by}


def block_labels(frame: pl.DataFrame, block: int | str | None) -> Any:
    """Return one label per row, or the length of the blocks."""
    return frame[block].to_list() if isinstance(block, str) else block


def group_labels(frame: pl.DataFrame, keys: Sequence[str]) -> dict[str, Any] | None:
    """Return the labels of groups to calibrate apart, by key, as text: CSV knows no other."""
    return {key: _texts(frame[key]) for key in keys} or None


def _texts(column: pl.Series) -> Any:
    if column.null_count():
        verb = "has" if column.null_count() == 1 else "have"
        raise ValueError(
            f"column {short(column.name)} must hold a label in each row: {column.null_count()} of {len(column)} rows "
            f"{verb} none. Hint: give such rows a label of their own."
        )
    return [str(label) for label in column.to_list()]


def _feature(columns: Sequence[pl.Series]) -> Any:
    if len(columns) == 1:
        return _numbers_or_labels(columns[0])
    rows = zip(*(column.to_list() for column in columns), strict=True)
    return [None if None in row else ", ".join(map(str, row)) for row in rows]


def _numbers_or_labels(column: pl.Series) -> Any:
    """Return numbers to be cut into bins, or labels: text, and integers with few different values."""
    column = _as_numbers(column)
    if column.dtype.is_integer() and column.n_unique() <= LABELS:
        return np.array(column.to_list(), dtype=object)
    return column.to_numpy() if column.dtype.is_numeric() and not column.null_count() else column.to_list()


def _as_numbers(column: pl.Series) -> pl.Series:
    """Return the numbers that texts of a CSV file are, where all are numbers and none has leading zeros."""
    if column.dtype != pl.String or column.str.contains(r"^[+-]?0\d").any():
        return column
    for kind in (pl.Int64, pl.Float64):
        found = column.str.strip_chars().cast(kind, strict=False)
        if found.null_count() == column.null_count():
            return found
    return column


def hint_at_blocks(table: Table) -> Iterator[str]:
    """Return a word where a file has a time and no blocks were asked for: rows of a series are dependent."""
    name = next((one for one in table.columns if plain_name(one) in TIMES), None)
    if name is None:
        with suppress(pl.exceptions.PolarsError):  # a file that cannot be read is refused where it is read
            name = _sorted_time(table)
    if name is not None:
        series = next((one for one in table.columns if plain_name(one) in SERIES), "COLUMN")
        yield (
            f"Note: rows that follow each other in time ({short(name)}) are usually dependent, and p-values then are "
            f"too small. Hint: --block {short(series)}, or --block N for N consecutive rows."
        )


def _sorted_time(table: Table) -> str | None:
    """Return the first sorted column that holds times by its type, or dates as ISO 8601 writes them in text."""
    names = [name for name in table.columns if table.columns.count(name) == 1]
    rows = table.lazy([], names).head(LOOKED_AT).collect()
    times = (one for one in rows if one.dtype.is_temporal() or ISO_DATE.fullmatch(str(one.first())))
    return next((one.name for one in times if one.is_sorted()), None)
