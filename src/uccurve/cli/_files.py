"""Files: what lies behind a path, be it a file, a folder, a pipe or standard input, and the table in it.

Each is read once, CSV and Parquet, and looked into before that; what cannot be read is refused in one sentence.
"""

import csv
import errno
import glob
import io
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Literal, Self, cast

import polars as pl

from uccurve._files import is_packed, shown_path, unpacked
from uccurve._refusals import nearest
from uccurve.words.formats import listed, short

WILDCARD = re.compile(r"[*?\[]")
PIECE = 1 << 20  # bytes that are read from a pipe at a time
SHARE = 0.5  # of the free memory that a pipe, or a packed file once it is unpacked, may fill
JSON_LIMIT = 64 << 20  # bytes that a saved result may have
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
class Source:
    """Where a table is: the path of a file, several paths (Parquet only), or the bytes of a pipe or of a packed file.

    `name` is what a model without a name of its own is called.
    """

    label: str
    name: str
    content: list[str] | bytes = field(repr=False)

    @classmethod
    def of(cls, path: str) -> Self:
        """Source at `path`; ``-`` is standard input."""
        if path == "-":
            if sys.stdin is None:
                raise OSError(
                    "standard input is closed. Hint: give the name of a file, or pipe one in."
                )
            return cls("standard input", "model", _content("standard input", sys.stdin.buffer))
        place = Path(path)
        if place.is_dir() or (WILDCARD.search(path) and not place.exists()):
            return cls._of_many(path)
        label = shown_path(path)
        with place.open("rb", buffering=0) as stream:
            if place.is_file():
                if not is_packed(stream.read(4)):
                    return cls(label, place.stem, [path])
                stream.seek(0)
                return cls(label, Path(place.stem).stem, _content(label, stream))
            if place.is_block_device() or (
                place.is_char_device() and not stream.isatty() and path != os.devnull
            ):
                raise ValueError(f"{label} is a device, not a file.")
            return cls(label, "model", _content(label, stream))

    @classmethod
    def _of_many(cls, path: str) -> Self:
        """All Parquet files of a folder or of a pattern."""
        folder = Path(path).is_dir()
        pattern = str(Path(glob.escape(path)) / "*.parquet") if folder else path
        names = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207  a pattern may start anywhere
        found = [name for name in names if Path(name).is_file()]
        if not found:
            what = "is a folder without Parquet files" if folder else "matches no file"
            raise FileNotFoundError(f"{shown_path(path)} {what}.")
        for one in found:
            with Path(one).open("rb") as stream:
                if stream.read(4) != b"PAR1":
                    raise ValueError(
                        f"{shown_path(one)} is not a Parquet file; several files at once must be."
                    )
        label = f"{shown_path(path)} ({len(found)} file{'s' if len(found) > 1 else ''})"
        name = WILDCARD.split(Path(path).stem)[0].strip("-_. ") or Path(path).parent.name or "model"
        return cls(label, name, found)

    @property
    def size(self) -> int:
        """Bytes as they are stored, or as they lie in memory."""
        return (
            len(self.content)
            if isinstance(self.content, bytes)
            else sum(map(os.path.getsize, self.content))
        )

    def opened(self) -> BinaryIO:
        """Return a stream of the bytes, or of the first file."""
        return (
            io.BytesIO(self.content)
            if isinstance(self.content, bytes)
            else Path(self.content[0]).open("rb")
        )

    def json_text(self) -> bytes:
        """Return the text where it begins like a JSON object; nothing of any other."""
        with self.opened() as stream:
            text = stream.read(64)
            return text + stream.read(JSON_LIMIT) if text.lstrip().startswith(b"{") else b""


def _content(label: str, stream: BinaryIO | io.RawIOBase) -> bytes:
    """Return all bytes of a stream, unpacked; more than the memory can hold are refused."""
    free = room()
    most = None if free is None else int(SHARE * free)
    pieces, size = [], 0
    while piece := stream.read(PIECE):
        size += len(piece)
        if most is not None and size > most:
            raise MemoryError(
                f"{label} is larger than half of the free memory. Hint: save it as a file, unpacked."
            )
        pieces.append(piece)
    return unpacked(b"".join(pieces), name=label, limit=most)


def room() -> int | None:
    """Bytes that this process may still take; None where the system does not tell.

    It is the minimum of what the machine has free, what its container may use and what the process was limited to.
    """
    free = re.search(r"MemAvailable:\s+(\d+) kB", _text("/proc/meminfo"))
    most, used = (_text(f"/sys/fs/cgroup/memory.{name}").strip() for name in ("max", "current"))
    contained = max(0, int(most) - int(used)) if most.isdecimal() and used.isdecimal() else None
    limits = (1024 * int(free[1]) if free else None, contained, _address_space())
    return min((limit for limit in limits if limit is not None), default=None)


def _address_space() -> int | None:
    """What is left of the address space that `ulimit -v` allows; None without such a limit."""
    try:
        import resource
    except ImportError:  # not a Unix
        return None
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most == resource.RLIM_INFINITY:
        return None
    used = re.search(r"VmSize:\s+(\d+) kB", _text("/proc/self/status"))
    return max(0, most - 1024 * int(used[1])) if used else most


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""


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
