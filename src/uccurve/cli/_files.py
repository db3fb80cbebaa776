"""Files: tables in CSV and Parquet files, looked into before they are read, or refused in one sentence."""

from __future__ import annotations

import csv
import errno
import glob
import io
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

if TYPE_CHECKING:
    import polars as pl

HEADER_LIMIT = 1 << 20
"""Bytes in which the first line of a CSV file must end."""
PATH = 200
"""Characters that are shown of a path."""
WILDCARD = re.compile(r"[*?\[]")
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "None", "none", "NaN", "nan", "NAN", "-nan", "?")
"""Cells that say that a number is missing."""


@dataclass(frozen=True, slots=True)
class Table:
    """CSV or Parquet that was looked into and not yet read.

    `source` is a path, a list of paths (Parquet only), or the bytes of standard input.
    """

    label: str
    name: str
    kind: Literal["csv", "parquet"]
    columns: tuple[str, ...]
    source: Any = field(repr=False)
    separator: str = ","

    @classmethod
    def open(cls, path: str) -> Table:
        """Look into the file at `path`, or into standard input where that is ``-``."""
        if path == "-":
            return cls._of("standard input", "model", sys.stdin.buffer.read())
        place = Path(path)
        if place.is_dir() or (WILDCARD.search(path) and not place.exists()):
            return cls._many(path)
        return cls._of(shown(path, PATH), place.stem, place)

    @classmethod
    def _many(cls, path: str) -> Table:
        """All Parquet files of a folder or of a pattern as one table."""
        folder = Path(path).is_dir()
        pattern = str(Path(glob.escape(path)) / "*.parquet") if folder else path
        names = glob.glob(pattern, recursive=True)  # noqa: PTH207  a pattern may start anywhere
        found = [Path(name) for name in sorted(names) if Path(name).is_file()]
        if not found:
            what = "is a folder without Parquet files" if folder else "matches no file"
            raise FileNotFoundError(f"{shown(path, PATH)} {what}.")
        for one in found:
            with one.open("rb") as stream:
                if stream.read(4) != b"PAR1":
                    raise ValueError(f"{shown(str(one), PATH)} is no Parquet file: several files at once must be.")
        label = f"{shown(path, PATH)} ({len(found)} file{'s' if len(found) > 1 else ''})"
        name = WILDCARD.split(Path(path).stem)[0].strip("-_. ") or Path(path).parent.name or "model"
        return cls(label, name, "parquet", _parquet_columns(label, found), found)

    @classmethod
    def _of(cls, label: str, name: str, source: Path | bytes) -> Table:
        with _opened(source) as stream:
            start = stream.read(HEADER_LIMIT)
        if not start.strip():
            raise ValueError(f"{label} is empty.")
        if start.startswith(b"PAR1"):
            return cls(label, name, "parquet", _parquet_columns(label, source), source)
        separator, columns = _header(label, start)
        return cls(label, name, "csv", columns, source, separator)

    @property
    def bytes(self) -> int:
        """Size as it is stored."""
        return (
            len(self.source) if isinstance(self.source, bytes) else sum(Path(one).stat().st_size for one in self.paths)
        )

    @property
    def paths(self) -> list[str]:
        """Where its files are."""
        return list(map(str, self.source)) if isinstance(self.source, list) else [str(self.source)]

    def require(self, names: Iterable[str]) -> None:
        """Refuse where a column is not there, or there twice."""
        counts = Counter(self.columns)
        for name in names:
            if not counts[name]:
                raise ValueError(f"{self.label} has no column {shown(name)}: it has {listed(self.columns)}.")
            if counts[name] > 1:
                raise ValueError(f"{self.label} has {counts[name]} columns named {shown(name)}: which one is meant?")

    def lazy(self, numbers: Sequence[str], labels: Sequence[str] = ()) -> pl.LazyFrame:
        """The named columns, not read before they are asked for: `numbers` as float64, `labels` as they are."""
        import polars as pl

        self.require([*numbers, *labels])
        if self.kind == "parquet":
            frame = pl.scan_parquet(self.source, glob=False)
        else:
            types: dict[str, Any] = {**dict.fromkeys(labels, pl.String), **dict.fromkeys(numbers, pl.Float64)}
            options: Any = {"separator": self.separator, "null_values": list(MISSING), "glob": False}
            frame = pl.scan_csv(self.source, infer_schema=False, schema_overrides=types, **options)
        return frame.select(list(dict.fromkeys([*numbers, *labels])))

    def read(self, numbers: Sequence[str], labels: Sequence[str] = ()) -> pl.DataFrame:
        """The named columns in memory; a cell that is no number is refused by its row."""
        import polars as pl

        try:
            frame = self.lazy(numbers, labels).collect()
            frame = frame.head(len(frame) - _blank_tail(self.source)) if self.kind == "csv" else frame
        except pl.exceptions.ComputeError as error:
            if self.kind == "parquet":
                raise ValueError(f"{self.label} cannot be read: {_first_line(error)}") from None
            frame = self._from_texts(numbers, labels)
        if not len(frame):
            raise ValueError(f"{self.label} has a header but no rows.")
        for name in numbers:
            if not frame[name].dtype.is_numeric():
                kind = str(frame[name].dtype).lower()
                raise ValueError(f"column {shown(name)} of {self.label} must hold numbers; it holds {kind}.")
        return frame

    def texts(self) -> pl.DataFrame:
        """The whole table; every cell of a CSV file as the text it is."""
        import polars as pl

        if self.kind == "parquet":
            return pl.read_parquet(self.source, glob=False)
        self.require(self.columns)
        try:
            frame = pl.read_csv(self.source, separator=self.separator, infer_schema=False, glob=False)
        except pl.exceptions.ComputeError as error:
            _refuse_encoding(self.label, self.source)
            if "more fields" in str(error):
                raise ValueError(f"{self.label} has a row with more cells than the header has columns.") from None
            raise ValueError(f"{self.label} cannot be read: {_first_line(error)}") from None
        return frame.head(len(frame) - _blank_tail(self.source))

    def _from_texts(self, numbers: Sequence[str], labels: Sequence[str]) -> pl.DataFrame:
        """Named columns of a CSV file cell by cell: slower, and able to say which cell is no number."""
        import polars as pl

        frame = self.texts()
        cells = {name: frame[name].str.strip_chars().replace(list(MISSING), None) for name in numbers}
        columns = {name: text.cast(pl.Float64, strict=False) for name, text in cells.items()}
        for name, text in cells.items():
            bad = (text.is_not_null() & columns[name].is_null()).arg_true()
            if len(bad):
                count = f"{len(bad)} of {len(frame)} rows {'do' if len(bad) > 1 else 'does'} not"
                raise ValueError(
                    f"column {shown(name)} of {self.label} must hold numbers: {count}, first row {bad[0]} "
                    f"({shown(text[bad[0]])}). Hint: write numbers with a decimal point, no thousands separators."
                )
        return pl.DataFrame(columns | {name: frame[name].replace(list(MISSING), None) for name in labels})


def shown(text: str, limit: int = 60) -> str:
    r"""Text from a file as one short line that cannot steer a terminal.

    >>> shown("a\x1b[31m" + "b" * 99, limit=12)
    'a\\x1b[31mbb…'
    """
    start = text[: 2 * limit]
    plain = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in start)
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"


def listed(names: Sequence[str], limit: int = 12) -> str:
    """Names as a short list."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(shown(name, 30) for name in names[:limit]) + more


@contextmanager
def _opened(source: Path | bytes) -> Iterator[BinaryIO]:
    if isinstance(source, bytes):
        yield io.BytesIO(source)
        return
    with source.open("rb") as stream:
        yield stream


def _parquet_columns(label: str, source: Path | bytes | list[Path]) -> tuple[str, ...]:
    import polars as pl

    try:
        return tuple(pl.scan_parquet(source, glob=False).collect_schema().names())
    except (pl.exceptions.PolarsError, OSError) as error:
        if os.strerror(errno.ENOMEM) in str(error):
            raise MemoryError(
                f"{label} is too large for the memory that is free. Hint: raise the limit (ulimit -v)."
            ) from None
        raise ValueError(f"{label} begins like a Parquet file but cannot be read: {_first_line(error)}") from None


def _header(label: str, start: bytes) -> tuple[str, tuple[str, ...]]:
    """Separator and column names of a CSV file from its first bytes."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in start[:4096]:
        raise ValueError(f"{label} is neither Parquet nor UTF-8 text. Hint: iconv -f UTF-16 -t UTF-8 if it is UTF-16.")
    line_end = start.find(b"\n")
    if line_end < 0 and len(start) == HEADER_LIMIT:
        raise ValueError(f"{label} has no line break in its first {HEADER_LIMIT:,} bytes: is it a CSV file?")
    try:
        text = start[: start.rfind(b"\n") + 1 or None].decode("utf-8-sig")
    except UnicodeDecodeError:
        _refuse_encoding(label, start)
        raise
    first = text.lstrip("\r\n").partition("\n")[0]
    separator = max(",;\t|", key=lambda mark: (first.count(mark), mark == ","))
    try:
        columns = next(csv.reader(io.StringIO(text.lstrip("\r\n")), delimiter=separator))
    except csv.Error as error:
        raise ValueError(f"the header of {label} cannot be read: {error}.") from None
    return separator, tuple(columns)


def _refuse_encoding(label: str, source: Path | bytes) -> None:
    """Say where the text stops being UTF-8, if it does."""
    with _opened(source) as stream:
        for number, line in enumerate(stream):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{label} must be UTF-8: after line {number} comes the byte 0x{line[error.start]:02x}. "
                    "Hint: iconv -f LATIN1 -t UTF-8 if it is Latin-1."
                ) from None


def _blank_tail(source: Path | bytes) -> int:
    """How many empty lines end a CSV file: they are no rows."""
    with _opened(source) as stream:
        size = stream.seek(0, io.SEEK_END)
        stream.seek(max(0, size - 65536))
        tail = stream.read()
    return max(tail[len(tail.rstrip()) :].count(b"\n") - 1, 0)


def _first_line(error: BaseException) -> str:
    return shown(str(error).partition("\n")[0], 200) + "."
