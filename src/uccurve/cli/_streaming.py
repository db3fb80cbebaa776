"""Streaming: an assessment of files that stay where they are, and the engine that should read them."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from math import inf
from typing import Any

import polars as pl
from rich.filesize import decimal

from uccurve.sketch.assess import StreamedAssessment, assess_frame

from ._loading import Part
from ._options import BINS, Engine, Request
from ._output import say
from ._reading import Table
from ._sources import SHARE, room

WORK = 40  # numbers per row that an assessment in memory takes beside its columns
STREAM = 700 << 20  # bytes that Polars takes for each thread while it streams


def choose_engine(found: Sequence[Part], request: Request) -> Engine:
    """Return the engine that the memory allows, and say why where it is not the exact one."""
    free = room()
    if free is None:
        return "memory"
    stream = STREAM * pl.thread_pool_size() + sum(part.table.source.size for part in found)
    try:
        need: float = sum(
            _rows(part.table) * 8 * (2 * len(part.numbers(request)) + WORK) for part in found
        )
    except OSError:  # not even the file fits into the address space
        need = inf
    if need <= SHARE * free or stream > free >= need:
        return "memory"
    if stream > free or need == inf:
        raise MemoryError(
            f"{found[0].table.label} is too large: even streaming takes about {decimal(stream)}, and {decimal(free)} "
            "are free. Hint: raise the limit (ulimit -v), or choose another engine with --engine."
        )
    sizes = f"about {decimal(int(need))} would be needed in memory and {decimal(free)} are free"
    say(f"{sizes}: streamed by polars (--engine memory loads it all)")
    return "polars"


def _rows(table: Table) -> int:
    """Rows of a Parquet file, and of a CSV file as many as its bytes can hold."""
    if table.kind == "csv":
        return table.source.size // max(8 * len(table.columns), 1)
    content: Any = table.source.content
    return int(pl.scan_parquet(content, glob=False).select(pl.len()).collect().item())


def stream(
    found: Sequence[Part], request: Request, engine: Engine, options: Mapping[str, Any]
) -> StreamedAssessment:
    """Assess the models of files without loading them; what cannot be done one row at a time is refused."""
    in_memory = {
        "--sort-crossing": request.sort_crossing,
        f"--block {request.block}, unlike --block COLUMN,": isinstance(request.block, int),
        "--resamples": options["n_resamples"] is not None,
        "--bins": options["bins"] != BINS,
        "a model of samples": any(
            columns.samples for part in found for columns in part.models.values()
        ),
    }
    if refused := [what for what, asked in in_memory.items() if asked]:
        raise ValueError(
            f"{refused[0]} needs the rows in memory, and {engine} streams them. Hint: --engine memory."
        )
    part, *others = found
    if others:
        raise ValueError(
            "rows of several files cannot be paired while they are streamed. "
            "Hint: put all models into one file, or --engine memory."
        )
    models: dict[str, Any] = {}
    for name, columns in part.models.items():
        bounds = {float(one.level or 0): one[:2] for one in columns.bounds}
        models[name] = (columns.pred, bounds) if len(bounds) > 1 else columns.names
    asked: Any = {
        name: options[name]
        for name in ("coverage", "axes", "partial", "c", "unit", "confidence_level")
    }
    asked |= {
        name: getattr(request, name) for name in ("weight", "by", "block", "min_band", "missing")
    }
    try:
        rows = _scanned(engine, part.table, part.numbers(request), request.labels)
        return assess_frame(rows, models, y_true=str(part.y), **asked)
    except ImportError as error:
        raise ImportError(
            f'--engine {engine} needs {error.name}: pip install "uccurve[{engine}]"'
        ) from None
    except NotImplementedError as error:  # PyArrow's, for types that it cannot read
        why = str(error).rpartition(": ")[2]
        raise ValueError(
            f"{engine} cannot read {part.table.label}: {why}. Hint: --engine polars."
        ) from None


def _scanned(engine: Engine, table: Table, numbers: Sequence[str], labels: Sequence[str]) -> Any:
    """Return the named columns of a table in the engine's own lazy frame."""
    table.require([*numbers, *labels])
    if engine == "polars":
        return table.lazy(numbers, labels)
    paths, parquet = table.source.content, table.kind == "parquet"
    if isinstance(paths, bytes):
        raise ValueError(f"{engine} reads files, not {table.label}. Hint: --engine polars.")
    if (table.separator, table.decimal, table.missing) != (",", ".", ()):
        raise ValueError(
            f"{engine} reads CSV with commas, decimal points and no --na. Hint: --engine polars."
        )
    if engine == "spark":
        from pyspark.sql import SparkSession

        try:
            spark = SparkSession.builder.appName("uccurve").getOrCreate().read
        except RuntimeError:
            raise OSError(
                "--engine spark needs Java 17 or later. Hint: install it, or --engine polars."
            ) from None
        return spark.parquet(*paths) if parquet else spark.csv(paths, header=True, inferSchema=True)
    library = import_module({"duckdb": "duckdb", "dask": "dask.dataframe"}[engine])
    return library.read_parquet(paths) if parquet else library.read_csv(paths)
