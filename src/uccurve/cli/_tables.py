"""Tables: the columns and the rows of CSV and Parquet files, each read once, of which conditions choose some.

A file is looked into before it is read; what cannot be read is refused in one sentence.
"""

import csv
import errno
import io
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self, cast

import polars as pl

from uccurve._refusals import nearest
from uccurve.words.formats import listed, short

from ._files import FileSource

HEADER_LIMIT = 1 << 20  # bytes in which the first line of a CSV file must end
MISSING = (
    *("", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "None", "none"),
    *("NaN", "nan", "NAN", "-nan", "?"),
)
COMMA_NUMBER = re.compile(r"[+-]?\d+,\d+")
POINT_NUMBER = re.compile(r"[+-]?\d+\.\d+(e[+-]?\d+)?")
CONDITION = re.compile(r"\s*(?P<column>.+?)\s*(?P<relation>!=|<=|>=|=|<|>)\s*(?P<value>.*?)\s*")
# What a hub's target says besides the target: how far ahead it lies.
AHEAD = r"^(-?\d+) (?:day|wk|week|month)s? ahead (.+)$"
STANDS_FOR_MANY = re.compile(r"\*|\^.*\$")
NO_SEPARATOR = "\x01"
NAMED_VALUES = 10  # of a column, in a sentence


@dataclass(frozen=True, slots=True)
class Condition:
    """Which rows are wanted: those with a value, or in an order with it."""

    column: str
    relation: str
    value: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a condition as a person writes it.

        >>> Condition.parse("target = wk inc flu hosp")
        Condition(column='target', relation='=', value='wk inc flu hosp')
        """
        match = CONDITION.fullmatch(text)
        if match is None:
            raise ValueError(
                f"a condition is written COLUMN=VALUE, with =, !=, <, <=, > or >=; got {short(text)}."
            )
        return cls(**match.groupdict())

    def __str__(self) -> str:
        return f"--where '{self.column}{self.relation}{self.value}'"

    def of(self, dtype: pl.DataType) -> pl.Expr:
        """Return the condition on a column of this type; numbers are compared as numbers, dates as dates."""
        column = pl.col(self.column)
        number = _number(self.value)
        if dtype.is_temporal():
            return self._related(column.cast(pl.String), self.value)
        if dtype.is_numeric():
            if number is None:
                raise ValueError(
                    f"{self} must name a number: column {short(self.column)} holds numbers."
                )
            return self._related(column.cast(pl.Float64), number)
        text = column.cast(pl.String).str.strip_chars()
        if self.column == "target":  # a person may leave out how far ahead it lies
            named = text.str.extract(AHEAD, 2).fill_null(text)
            text = text if re.search(AHEAD, self.value) else named
        as_text = self._related(text, self.value)
        if number is None:
            return as_text
        value = text.cast(pl.Float64, strict=False)
        as_number = self._related(value, number)
        return pl.when(value.is_null()).then(as_text).otherwise(as_number)

    def _related(self, column: pl.Expr, value: str | float) -> pl.Expr:
        if self.relation == "!=":
            return column.ne_missing(pl.lit(value))
        relations = {
            "=": column == value,
            "<": column < value,
            "<=": column <= value,
            ">": column > value,
            ">=": column >= value,
        }
        return relations[self.relation]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class DataFile:
    """A table that was looked into and not yet read.

    `decimal` and `missing` are how a person says that numbers are written in a CSV file: the decimal sign, and further
    signs of missing ones. `where` are the conditions on its rows.
    """

    source: FileSource
    kind: Literal["csv", "parquet", "frame"]
    columns: tuple[str, ...]
    separator: str = ","
    decimal: str = "."
    missing: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()

    @classmethod
    def open(
        cls,
        path: str | FileSource,
        decimal: str = ".",
        missing: Iterable[str] | None = None,
        where: Iterable[Condition] = (),
    ) -> Self:
        """Look into the file at `path`, or into standard input where that is ``-``."""
        source = path if isinstance(path, FileSource) else FileSource.of(path)
        if isinstance(source.content, pl.DataFrame):
            table = cls(source, "frame", tuple(source.content.columns))
        else:
            table = cls._looked_into(source, decimal, tuple(missing or ()))
        chosen = tuple(condition for condition in where if condition.column in table.columns)
        return replace(table, where=chosen)

    @classmethod
    def _looked_into(cls, source: FileSource, decimal: str, missing: tuple[str, ...]) -> Self:
        with source.opened() as stream:
            start = stream.read(HEADER_LIMIT)
        if not start.strip():
            raise ValueError(f"{source.label} is empty.")
        if start.startswith(b"PAR1"):
            _refuse_other_schemas(source)
            return cls(source, "parquet", _parquet_columns(source))
        separator, columns = _header(source.label, start)
        for path in source.content[1:] if isinstance(source.content, list) else ():
            _refuse_other_header(str(path), separator, columns, source)
        partitions = tuple(name for name in _partition_names(source) if name not in columns)
        return cls(source, "csv", columns + partitions, separator, decimal, missing)

    @property
    def label(self) -> str:
        """What sentences call it."""
        return self.source.label

    def holding(self, frame: pl.DataFrame) -> Self:
        """Return other rows under the same name."""
        source = replace(self.source, content=frame, partitions=())
        return type(self)(source, "frame", tuple(frame.columns))

    def require(self, names: Iterable[str]) -> None:
        """Refuse where a column is not there, or there twice."""
        counts = Counter(self.columns)
        for name in names:
            if not counts[name]:
                near = nearest(name, self.columns)
                raise ValueError(
                    f"{self.label} has no column {short(name)}; it has {listed(self.columns)}.{near}"
                )
            if STANDS_FOR_MANY.fullmatch(name):
                raise ValueError(
                    f"{self.label} has a column named {short(name)}, which stands for several columns. Hint: rename it."
                )
            if counts[name] > 1:
                raise ValueError(
                    f"{self.label} has {counts[name]} columns named {short(name)}: which one is meant?"
                )

    def lazy(self, numbers: Sequence[str], labels: Sequence[str] = ()) -> pl.LazyFrame:
        """Return the named columns, read when they are asked for: `numbers` as float64, `labels` as they are."""
        frame = self._scanned([*numbers, *labels])
        if self.kind != "csv":
            return frame
        casts = [self._with_point(pl.col(name)).cast(pl.Float64) for name in dict.fromkeys(numbers)]
        return frame.with_columns(casts)

    def read(self, numbers: Sequence[str], labels: Sequence[str] = ()) -> pl.DataFrame:
        """Return the named columns in memory; a cell that is not a number is refused by its row."""
        frame = self._collected(self._scanned([*numbers, *labels]))
        as_numbers = []
        for name in dict.fromkeys(numbers):
            column = frame[name]
            if self.kind == "csv":
                as_numbers.append(self._numbers(column))
            elif column.dtype.is_decimal():
                as_numbers.append(column.cast(pl.Float64))
            elif not column.dtype.is_numeric() and column.dtype != pl.Null:
                kind = str(column.dtype).lower()
                raise ValueError(
                    f"column {short(name)} of {self.label} must hold numbers; it holds {kind}."
                )
        return frame.with_columns(as_numbers)

    def texts(self) -> pl.DataFrame:
        """Return the whole table; every cell of a CSV file as the text it is."""
        return self._collected(self._scanned(self.columns, ()))

    def distinct(self, names: Sequence[str]) -> tuple[int, dict[str, int]]:
        """Return the number of rows, and how many different values each column has."""
        counts = [pl.col(name).n_unique().alias(f"of {name}") for name in names]
        (values,) = self.lazy([], names).select(pl.len(), *counts).collect().rows()
        rows, *different = values
        return rows, dict(zip(names, different, strict=True))

    def _scanned(self, names: Sequence[str], missing: Iterable[str] = MISSING) -> pl.LazyFrame:
        needed = [*names, *(condition.column for condition in self.where)]
        self.require(needed)
        frame = self._csv(missing) if self.kind == "csv" else self._rows_at_hand()
        frame = frame.select(list(dict.fromkeys(needed)))
        if self.where:
            types = frame.collect_schema()
            frame = frame.filter(*(each.of(types[each.column]) for each in self.where))
        return frame.select(list(dict.fromkeys(names)))

    def _rows_at_hand(self) -> pl.LazyFrame:
        content = self.source.content
        if isinstance(content, pl.DataFrame):
            return content.lazy()
        hive = bool(self.source.partitions)
        return pl.scan_parquet(cast("Any", content), glob=False, hive_partitioning=hive)

    def _csv(self, missing: Iterable[str]) -> pl.LazyFrame:
        signs = [*missing, *(self.missing if missing else ())]
        options: Any = {
            "separator": self.separator,
            "null_values": signs,
            "infer_schema": False,
            "glob": False,
        }
        content: Any = self.source.content
        if not self.source.partitions:
            return pl.scan_csv(content, **options)
        files = []
        for path, values in zip(content, self.source.partitions, strict=True):
            labels = [pl.lit(value).alias(name) for name, value in values.items()]
            files.append(pl.scan_csv(path, **options).with_columns(labels))
        return pl.concat(files, how="diagonal")

    def _collected(self, rows: pl.LazyFrame) -> pl.DataFrame:
        try:
            frame = rows.collect()
        except pl.exceptions.ComputeError as error:
            self._refuse_unreadable(str(error))
            raise ValueError(f"{self.label} cannot be read: {first_line(error)}") from None
        if self.kind == "csv":
            self.refuse_surplus(len(rows.collect_schema()))
        if self.kind == "csv" and not self.where:
            frame = frame.head(len(frame) - self._blank_tail())
        if not len(frame):
            self._refuse_empty()
        return frame

    def refuse_surplus(self, columns_read: int = 0) -> None:
        """Refuse a CSV file with more cells in a row than there are columns, which Polars sees if it reads them all."""
        if self.kind != "csv" or columns_read == len(self.columns):
            return
        mark = self.separator
        content: Any = self.source.content
        lines = pl.scan_csv(
            content,
            separator=NO_SEPARATOR,
            quote_char=None,
            has_header=False,
            skip_rows=1,
            new_columns=["line"],
            infer_schema=False,
            truncate_ragged_lines=True,
            glob=False,
        )
        most = len(self.columns) - 1 - len(_partition_names(self.source))
        surplus = pl.col("line").str.count_matches(mark, literal=True) > most
        longer = lines.filter(surplus).collect()["line"].to_list()
        for line in longer:
            is_whole = line.count('"') % 2 == 0  # a cell in quotes may hold a line break
            if is_whole and len(next(csv.reader([line], delimiter=mark))) - 1 > most:
                raise ValueError(
                    f"{self.label} has a row with more cells than the header has columns ({short(line, 60)})."
                )

    def _refuse_unreadable(self, why: str) -> None:
        """Refuse a CSV file for what is known to be wrong with it."""
        if self.kind != "csv":
            return
        refuse_encoding(self.source)
        if "more fields" in why:
            raise ValueError(f"{self.label} has a row with more cells than the header has columns.")

    def _refuse_empty(self) -> None:
        """Refuse a table of which no row is left."""
        if not self.where:
            raise ValueError(f"{self.label} has a header but no rows.")
        every = replace(self, where=())
        for condition in self.where:
            values = every.lazy([], [condition.column]).unique().sort(condition.column).collect()
            shown = listed([str(value) for value in values.to_series().head(NAMED_VALUES)])
            if not len(values.lazy().filter(condition.of(values.dtypes[0])).collect()):
                raise ValueError(
                    f"{condition} leaves no row of {self.label}: column {short(condition.column)} holds {shown}."
                )
        conditions = " ".join(map(str, self.where))
        raise ValueError(f"{conditions} together leave no row of {self.label}.")

    def _with_point(self, text: Any) -> Any:
        """Return texts of numbers as Polars reads them; a point among commas makes them unreadable, not smaller."""
        plain = text.str.strip_chars()
        if self.decimal == ".":
            return plain
        return plain.str.replace_all(".", "?", literal=True).str.replace(",", ".", literal=True)

    def _numbers(self, text: pl.Series) -> pl.Series:
        """Return the numbers that cells of a CSV file are, or refuse those that are none, with what would help."""
        numbers: pl.Series = self._with_point(text).cast(pl.Float64, strict=False)
        if numbers.null_count() == text.null_count():
            return numbers
        is_missing = text.fill_null("").str.strip_chars().is_in([*MISSING, *self.missing])
        bad = (numbers.is_null() & ~is_missing).arg_true()
        if not len(bad):
            return numbers
        cell = text[bad[0]].strip()
        raise ValueError(
            f"column {short(text.name)} of {self.label} must hold numbers: {len(bad)} of {len(text)} rows "
            f"{'do' if len(bad) > 1 else 'does'} not, first row {bad[0]} ({short(cell)}). "
            f"Hint: {self._hint_for(cell)}."
        )

    def _hint_for(self, cell: str) -> str:
        """Return what makes a cell readable that is no number."""
        if self.decimal == "." and COMMA_NUMBER.fullmatch(cell):
            return "--decimal , where a comma is the decimal sign"
        if self.decimal == "," and POINT_NUMBER.fullmatch(cell):
            return "leave out --decimal , where a point is the decimal sign"
        if not any(sign.isdigit() for sign in cell):
            return f"--na '{short(cell, 12)}' where that means missing"
        return "write numbers without thousands separators"

    def _blank_tail(self) -> int:
        """Return how many empty lines end a CSV file: they are no rows."""
        if isinstance(self.source.content, list) and len(self.source.content) > 1:
            return 0
        with self.source.opened() as stream:
            stream.seek(max(0, self.source.size - 65536))
            tail = stream.read()
        return max(tail[len(tail.rstrip(b" \r\n")) :].count(b"\n") - 1, 0)


def without_horizon(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose targets do not say how far ahead they lie; that becomes a horizon.

    >>> frame = pl.DataFrame({"target": ["2 wk ahead inc case"], "value": [7.0]})
    >>> without_horizon(frame).row(0, named=True)
    {'target': 'inc case', 'value': 7.0, 'horizon': '2'}
    """
    if "target" not in frame.columns or frame["target"].dtype != pl.String:
        return frame
    targets = frame["target"].drop_nulls()
    if not len(targets) or not targets.str.contains(AHEAD).all():
        return frame
    ahead = pl.col("target").str.extract(AHEAD, 1).alias("horizon")
    named = pl.col("target").str.extract(AHEAD, 2).alias("target")
    return (
        frame.with_columns(named)
        if "horizon" in frame.columns
        else frame.with_columns(named, ahead)
    )


def _partition_names(source: FileSource) -> list[str]:
    return list(dict.fromkeys(name for values in source.partitions for name in values))


def _refuse_other_header(
    path: str, separator: str, columns: Sequence[str], source: FileSource
) -> None:
    """Refuse files of one table that have different columns."""
    with Path(path).open("rb") as stream:
        start = stream.read(HEADER_LIMIT)
    other = _header(path, start)
    if other != (separator, tuple(columns)):
        lacking = [name for name in columns if name not in other[1]]
        more = [name for name in other[1] if name not in columns]
        what = f"lacks {listed(lacking)}" if lacking else f"also has {listed(more)}"
        if not lacking and not more:
            what = "has them in another order"
        raise ValueError(
            f"files of one table must have the same columns: {short(path, 100)} {what}, unlike the first of "
            f"{source.label}."
        )


def _refuse_other_schemas(source: FileSource) -> None:
    """Refuse Parquet files of one table that have other columns, or columns of another type."""
    if not isinstance(source.content, list) or len(source.content) < 2:
        return
    schemas: list[Mapping[str, pl.DataType]] = []
    for path in source.content:
        try:
            schemas.append(pl.read_parquet_schema(path))
        except (pl.exceptions.PolarsError, OSError):
            return  # which is refused where it is read
    first = schemas[0]
    for path, other in zip(source.content, schemas, strict=True):
        lacking = [name for name in first if name not in other]
        changed = [name for name in first if name in other and other[name] != first[name]]
        if not (lacking or changed):
            continue
        what = f"lacks {listed(lacking)}"
        if not lacking:
            name = changed[0]
            what = f"holds {short(name)} as {other[name]!s}, not as {first[name]!s}"
        raise ValueError(
            f"files of one table must have the same columns: {short(path, 100)} {what}, unlike the first of "
            f"{source.label}."
        )


def _parquet_columns(source: FileSource) -> tuple[str, ...]:
    label = source.label
    hive = bool(source.partitions)
    content: Any = source.content
    try:
        frame = pl.scan_parquet(content, glob=False, hive_partitioning=hive)
        return tuple(frame.collect_schema().names())
    except (pl.exceptions.PolarsError, OSError) as error:
        if os.strerror(errno.ENOMEM) in str(error):
            raise MemoryError(
                f"{label} is too large for the free memory. Hint: raise the limit (ulimit -v)."
            ) from None
        raise ValueError(
            f"{label} begins like a Parquet file but cannot be read: {first_line(error)}"
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
    if b"\r" in start and b"\n" not in start:
        raise ValueError(
            f"{label} has lines that end with a carriage return only. Hint: tr '\\r' '\\n' makes them lines."
        )
    try:
        text = start[: start.rfind(b"\n") + 1 or None].decode("utf-8-sig").lstrip("\r\n")
    except UnicodeDecodeError:
        refuse_encoding(FileSource(label, "", start))
        raise
    first = text.partition("\n")[0]
    separator = max(",;\t|", key=lambda mark: (first.count(mark), mark == ","))
    try:
        return separator, tuple(next(csv.reader(io.StringIO(text), delimiter=separator)))
    except csv.Error as error:
        raise ValueError(f"the header of {label} cannot be read: {error}.") from None


def refuse_encoding(source: FileSource) -> None:
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


def first_line(error: BaseException) -> str:
    """Return the first line of what another library says."""
    return short(str(error).partition("\n")[0], 200) + "."
