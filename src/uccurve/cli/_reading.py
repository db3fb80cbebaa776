"""Tables: CSV and Parquet, looked into before they are read, or refused in one sentence."""

import csv
import errno
import io
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, cast

import polars as pl

from uccurve._refusals import nearest
from uccurve.words.formats import listed, short

from ._sources import Source

HEADER_LIMIT = 1 << 20  # bytes in which the first line of a CSV file must end
MISSING = (
    "",
    "NA",
    "N/A",
    "n/a",
    "#N/A",
    "NULL",
    "null",
    "None",
    "none",
    "NaN",
    "nan",
    "NAN",
    "-nan",
    "?",
)
COMMA_NUMBER, POINT_NUMBER = re.compile(r"[+-]?\d+,\d+"), re.compile(r"[+-]?\d+\.\d+(e[+-]?\d+)?")


@dataclass(frozen=True, slots=True)
class Table:
    """CSV or Parquet that was looked into and not yet read.

    `decimal` and `missing` are how a person says that numbers are written in a CSV file: the decimal sign, and further
    signs of missing ones.
    """

    source: Source
    kind: Literal["csv", "parquet"]
    columns: tuple[str, ...]
    separator: str = ","
    decimal: str = "."
    missing: tuple[str, ...] = ()

    @classmethod
    def open(
        cls, path: str | Source, decimal: str = ".", missing: Iterable[str] | None = None
    ) -> Self:
        """Look into the file at `path`, or into standard input where that is ``-``."""
        source = path if isinstance(path, Source) else Source.of(path)
        with source.opened() as stream:
            start = stream.read(HEADER_LIMIT)
        if not start.strip():
            raise ValueError(f"{source.label} is empty.")
        if start.startswith(b"PAR1"):
            return cls(source, "parquet", _parquet_columns(source))
        separator, columns = _header(source.label, start)
        return cls(source, "csv", columns, separator, decimal, tuple(missing or ()))

    @property
    def label(self) -> str:
        """What sentences call it."""
        return self.source.label

    def holding(self, frame: pl.DataFrame) -> Self:
        """Return other rows under the same name."""
        content = io.BytesIO()
        frame.write_parquet(content)
        return type(self)(
            replace(self.source, content=content.getvalue()), "parquet", tuple(frame.columns)
        )

    def require(self, names: Iterable[str]) -> None:
        """Refuse where a column is not there, or there twice."""
        counts = Counter(self.columns)
        for name in names:
            if not counts[name]:
                near = nearest(name, self.columns)
                raise ValueError(
                    f"{self.label} has no column {short(name)}; it has {listed(self.columns)}.{near}"
                )
            if counts[name] > 1:
                raise ValueError(
                    f"{self.label} has {counts[name]} columns named {short(name)}: which one is meant?"
                )

    def lazy(self, numbers: Sequence[str], labels: Sequence[str] = ()) -> pl.LazyFrame:
        """Return the named columns, read when they are asked for: `numbers` as float64, `labels` as they are."""
        frame = self._scanned([*numbers, *labels])
        if self.kind == "parquet":
            return frame
        return frame.with_columns(
            self._with_point(pl.col(name)).cast(pl.Float64) for name in numbers
        )

    def read(self, numbers: Sequence[str], labels: Sequence[str] = ()) -> pl.DataFrame:
        """Return the named columns in memory; a cell that is not a number is refused by its row."""
        frame = self._collected(self._scanned([*numbers, *labels]))
        for name in dict.fromkeys(numbers):
            if self.kind == "csv":
                frame = frame.with_columns(self._numbers(frame[name]))
            elif not frame[name].dtype.is_numeric():
                kind = str(frame[name].dtype).lower()
                raise ValueError(
                    f"column {short(name)} of {self.label} must hold numbers; it holds {kind}."
                )
        return frame

    def texts(self) -> pl.DataFrame:
        """Return the whole table; every cell of a CSV file as the text it is."""
        return self._collected(self._scanned(self.columns, ()))

    def _scanned(self, names: Sequence[str], missing: Iterable[str] = MISSING) -> pl.LazyFrame:
        self.require(names)
        content: Any = self.source.content
        if self.kind == "parquet":
            frame = pl.scan_parquet(content, glob=False)
        else:
            signs = [*missing, *(self.missing if missing else ())]
            frame = pl.scan_csv(
                content, separator=self.separator, null_values=signs, infer_schema=False, glob=False
            )
        return frame.select(list(dict.fromkeys(names)))

    def _collected(self, rows: pl.LazyFrame) -> pl.DataFrame:
        try:
            frame = rows.collect()
        except pl.exceptions.ComputeError as error:
            _refuse_encoding(self.source)
            if "more fields" in str(error):
                raise ValueError(
                    f"{self.label} has a row with more cells than the header has columns."
                ) from None
            raise ValueError(f"{self.label} cannot be read: {_first_line(error)}") from None
        if self.kind == "csv":
            frame = frame.head(len(frame) - self._blank_tail())
        if not len(frame):
            raise ValueError(f"{self.label} has a header but no rows.")
        return frame

    def _with_point(self, text: Any) -> Any:
        """Return texts of numbers as Polars reads them; a point among commas makes them unreadable, not smaller."""
        plain = text.str.strip_chars()
        if self.decimal == ".":
            return plain
        return plain.str.replace_all(".", "?", literal=True).str.replace(",", ".", literal=True)

    def _numbers(self, text: pl.Series) -> pl.Series:
        """Return the numbers that cells of a CSV file are, or refuse those that are none, with what would help."""
        found: pl.Series = self._with_point(text).cast(pl.Float64, strict=False)
        if found.null_count() == text.null_count():
            return found
        bad = (
            found.is_null() & ~text.fill_null("").str.strip_chars().is_in([*MISSING, *self.missing])
        ).arg_true()
        if not len(bad):
            return found
        cell, hint = text[bad[0]].strip(), "write numbers without thousands separators"
        if self.decimal == "." and COMMA_NUMBER.fullmatch(cell):
            hint = "--decimal , where a comma is the decimal sign"
        elif self.decimal == "," and POINT_NUMBER.fullmatch(cell):
            hint = "leave out --decimal , where a point is the decimal sign"
        elif not any(sign.isdigit() for sign in cell):
            hint = f"--na '{short(cell, 12)}' where that means missing"
        raise ValueError(
            f"column {short(text.name)} of {self.label} must hold numbers: {len(bad)} of {len(text)} rows "
            f"{'do' if len(bad) > 1 else 'does'} not, first row {bad[0]} ({short(cell)}). Hint: {hint}."
        )

    def _blank_tail(self) -> int:
        """Return how many empty lines end a CSV file: they are no rows."""
        with self.source.opened() as stream:
            stream.seek(max(0, self.source.size - 65536))
            tail = stream.read()
        return max(tail[len(tail.rstrip()) :].count(b"\n") - 1, 0)


def _parquet_columns(source: Source) -> tuple[str, ...]:
    content, label = cast("Any", source.content), source.label
    try:
        return tuple(pl.scan_parquet(content, glob=False).collect_schema().names())
    except (pl.exceptions.PolarsError, OSError) as error:
        if os.strerror(errno.ENOMEM) in str(error):
            raise MemoryError(
                f"{label} is too large for the free memory. Hint: raise the limit (ulimit -v)."
            ) from None
        raise ValueError(
            f"{label} begins like a Parquet file but cannot be read: {_first_line(error)}"
        ) from None


def _header(label: str, start: bytes) -> tuple[str, tuple[str, ...]]:
    """Separator and column names of a CSV file from its first bytes."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in start[:4096]:
        raise ValueError(
            f"{label} is neither Parquet nor UTF-8 text. Hint: iconv -f UTF-16 -t UTF-8 if it is UTF-16."
        )
    if start.lstrip().startswith(b"{"):
        raise ValueError(f"{label} is JSON, not a table. Hint: CSV and Parquet are read.")
    if b"\n" not in start and len(start) == HEADER_LIMIT:
        raise ValueError(
            f"{label} has no line break in its first {HEADER_LIMIT:,} bytes: is it a CSV file?"
        )
    try:
        text = start[: start.rfind(b"\n") + 1 or None].decode("utf-8-sig").lstrip("\r\n")
    except UnicodeDecodeError:
        _refuse_encoding(Source(label, "", start))
        raise
    first = text.partition("\n")[0]
    separator = max(",;\t|", key=lambda mark: (first.count(mark), mark == ","))
    try:
        return separator, tuple(next(csv.reader(io.StringIO(text), delimiter=separator)))
    except csv.Error as error:
        raise ValueError(f"the header of {label} cannot be read: {error}.") from None


def _refuse_encoding(source: Source) -> None:
    """Say where the text stops being UTF-8, if it does."""
    with source.opened() as stream:
        for number, line in enumerate(stream):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{source.label} must be UTF-8: after line {number} comes the byte 0x{line[error.start]:02x}. "
                    "Hint: iconv -f LATIN1 -t UTF-8 if it is Latin-1."
                ) from None


def _first_line(error: BaseException) -> str:
    return short(str(error).partition("\n")[0], 200) + "."
