"""Scans: a table as the lazy frame of the engine that is to summarise it, and which engine that should be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import polars as pl

from ._loading import Part
from ._memory import room
from ._options import Dialect, Request
from ._tables import Table

Engine = Literal["memory", "polars", "duckdb", "dask", "spark"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
SHARE = 0.5
"""Share of the free memory above which files are streamed rather than loaded."""
WORK = 40
"""Numbers per row that an assessment in memory takes beside its columns."""
STREAM = 700 << 20
"""Bytes that Polars takes for each thread while it streams."""


def choose_engine(parts: Sequence[Part], request: Request) -> tuple[Engine, str]:
    """Return the engine that the memory allows, and why it is not the exact one ('' where it is)."""
    free = room()
    if free is None:
        return "memory", ""
    stream = STREAM * pl.thread_pool_size() + sum(part.table.source.size for part in parts)
    try:
        need = sum(_rows(part.table) * 8 * (2 * len(part.numbers(request)) + WORK) for part in parts)
    except OSError:  # not even the file fits into the address space
        raise _too_large(parts[0].table, stream, free) from None
    if need <= SHARE * free:
        return "memory", ""
    sizes = f"about {_shown(need)} would be needed in memory and {_shown(free)} are free"
    if stream > free >= need:
        return "memory", f"{sizes}: loaded all the same, because streaming takes about {_shown(stream)}"
    if stream > free:
        raise _too_large(parts[0].table, stream, free)
    return "polars", f"{sizes}: streamed by polars (--engine memory loads it all)"


def _too_large(table: Table, stream: float, free: float) -> MemoryError:
    return MemoryError(
        f"{table.label} is too large: even streaming takes about {_shown(stream)}, and {_shown(free)} "
        "are free. Hint: raise the limit (ulimit -v), or choose another engine by --engine."
    )


def _rows(table: Table) -> int:
    """Rows of a Parquet file, and of a CSV file as many as its bytes can hold."""
    if table.kind == "csv":
        return table.source.size // max(8 * len(table.columns), 1)
    content: Any = table.source.content
    return int(pl.scan_parquet(content, glob=False).select(pl.len()).collect().item())


def _shown(size: float) -> str:
    """Bytes for people.

    >>> _shown(2_400_000_000), _shown(3_000_000)
    ('2.4 GB', '3 MB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def frame(engine: Engine, table: Table, numbers: Sequence[str], labels: Sequence[str]) -> Any:
    """Return the named columns of a table in the engine's own lazy frame."""
    table.require([*numbers, *labels])
    if engine == "polars":
        return table.lazy(numbers, labels)
    if isinstance(table.source.content, bytes):
        raise ValueError(
            f"{engine} reads files, not {table.label}. Hint: --engine polars, or save it as a plain file first."
        )
    if table.kind == "csv" and (table.separator != "," or table.dialect != Dialect()):
        raise ValueError(
            f"{engine} reads CSV with commas, decimal points and the usual signs of missing numbers; "
            f"{table.label} is written in another way. Hint: --engine polars."
        )
    readers: dict[str, Callable[[Table], Any]] = {"duckdb": _duckdb, "dask": _dask, "spark": _spark}
    try:
        return readers[engine](table)
    except ImportError as error:
        raise ImportError(f'--engine {engine} needs {error.name}: pip install "uccurve[{engine}]"') from None


def _duckdb(table: Table) -> Any:
    import duckdb

    return duckdb.read_parquet(table.source.paths) if table.kind == "parquet" else duckdb.read_csv(table.source.paths)


def _dask(table: Table) -> Any:
    import dask.dataframe as dd

    return dd.read_parquet(table.source.paths) if table.kind == "parquet" else dd.read_csv(table.source.paths)


def _spark(table: Table) -> Any:
    from pyspark.sql import SparkSession

    session = SparkSession.builder.appName("uccurve").getOrCreate()
    if table.kind == "parquet":
        return session.read.parquet(*table.source.paths)
    return session.read.csv(table.source.paths, header=True, inferSchema=True)
