"""Assessing and gating: from files to a verdict, or to a yes or no; in memory where they fit, else streamed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from math import inf
from typing import Any, Literal

import polars as pl
from rich.filesize import decimal

from uccurve._saved import ANY, Growing, Named, exactly, parsed
from uccurve.assess.assemble import assess
from uccurve.curve import UCC
from uccurve.gate import Gate, SavedScore, gate
from uccurve.points import Curve
from uccurve.results import SCHEMA, Assessment
from uccurve.words.formats import listed, short
from uccurve.words.tables import layout

from ._files import SHARE, Source, Table, room
from ._loading import Part, labels_of, load, look_into
from ._options import BINS, Engine, Request, joined_names
from ._output import Outputs, say, show

WORK = 40  # numbers per row that an assessment in memory takes beside its columns
STREAM = 700 << 20  # bytes that Polars takes for each thread while it streams
ASSESSMENT = Growing({"schema": exactly(SCHEMA), "models": Named(ANY), "settings": ANY})
FailOn = Literal["too narrow", "promise"]  # what makes an assessment fail
Pair = tuple[str | None, str | None]  # of the baseline and of the proposed model


def assess_files(
    paths: Sequence[str],
    request: Request,
    outputs: Outputs,
    *,
    full: bool,
    engine: Engine | None,
    fail_on: FailOn | None = None,
    **options: Any,
) -> bool:
    """Assess the models in the files, and return whether what `fail_on` asks for holds.

    `options` are those of `uccurve.assess`. Files too large for memory are streamed.
    """
    outputs.check(*paths)
    found, request, options["coverage"] = look_into(paths, request, options["coverage"])
    engine = engine or choose_engine(found, request)
    if engine != "memory":
        assessment: Assessment = stream(found, request, engine, options)
    else:
        models, frame = load(found, request)
        asked: Any = options | labels_of(frame, request)
        if options["n_resamples"] is not None:  # slow: what is known at once comes at once
            quick = assess(models, **{**asked, "n_resamples": None, "progress": False})
            say(f"without resampling: {quick.verdict}", at_once=True)
        assessment = assess(models, **asked)
    if fail_on is not None and any(row.promise is None for row in assessment.rows):
        raise ValueError("--fail-on needs to know what is promised. Hint: --coverage 90%.")
    best = assessment.verdict.model
    path, part = next(pair for pair in zip(paths, found, strict=True) if best in pair[1].models)
    reading = _read_again(path, part, request, best, assessment.curves[best])
    write(
        assessment,
        outputs,
        full=full,
        files=[path for path in paths if path != "-"],
        reading=reading,
    )
    return fail_on is None or _passes(assessment, fail_on)


def _passes(assessment: Assessment, fail_on: FailOn) -> bool:
    """Whether no model breaks its promise as delivered; with "promise" each must be shown to keep it."""
    broken: list[str] = []
    for row in assessment.rows:
        fails = row.promise != "kept" if fail_on == "promise" else row.promise == fail_on
        if fails:
            broken.append(f"{short(row.name)} ({row.promise})")
    if broken:
        say(f"failed: {listed(broken)}")
    return not broken


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
) -> Assessment:
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
    from uccurve.sketch.assess import assess_frame

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


def _read_again(
    path: str, part: Part, request: Request, name: str, curve: Curve
) -> list[str] | None:
    """Return a model's file and the options with which `calibrate` reads it as here; None where it cannot.

    It takes no weights, no samples and no observations of another file, and a minimum band as a number only.
    """
    columns, minimum = part.models[name], request.min_band
    if request.weight is not None or part.y is None or columns.samples:
        return None
    if isinstance(minimum, str):  # the smallest band of a single level, where any was raised to it
        if not isinstance(curve, UCC) or curve.levels:
            return None
        rows = curve.intervals
        minimum = float(min(rows.lower_band.min(), rows.upper_band.min())) if rows.raised else None
    read = replace(request, min_band=minimum).written(
        "y", "missing", "min_band", "sort_crossing", "decimal", "na"
    )
    if len(columns.bounds) == 1 and (request.models or len(part.models) > 1):
        read += ["--model", f"{name.partition('=')[0] or 'model'}={joined_names(columns.names)}"]
    return [
        "calibration.csv" if path.startswith(("-", "/dev/")) else path,
        *read,
    ]  # what was piped is gone


def write(found: Assessment, outputs: Outputs, *, full: bool = False, **files: Any) -> None:
    """Write each file whole or not at all, then print the verdict and the tables; `files` as in `page`."""
    if outputs.paths["--report"] is not None:
        from uccurve.report._page import page

        outputs.write("--report", lambda: page(found, **files))
    if outputs.paths["--plot"] is not None:
        with outputs.file("--plot") as path:
            found.plot().savefig(
                path, dpi=150, format=str(outputs.paths["--plot"]).rpartition(".")[2].lower()
            )
    outputs.write("--json", lambda: found.to_json() + "\n")
    if not outputs.streams:
        show(layout(found, full=full))


def gate_files(
    files: Pair,
    names: Pair,
    request: Request,
    outputs: Outputs,
    *,
    coverage: float | None,
    **options: Any,
) -> Gate:
    """Judge a proposed model by the baseline, each by its file and its name in it; `options` as in `compare.gate`."""
    outputs.check(*(path for path in files if path is not None))
    first = Source.of(str(files[0]))
    saved = _saved(first)
    if saved is not None and files[1] is None:
        raise ValueError(
            f"{first.label} is a saved assessment: give the intervals of the new model too."
        )
    sources = [source for source in (files[1], None if saved else first) if source is not None]
    found, request, coverage = look_into(
        sources, request, coverage
    )  # the labels are those of PROPOSED
    if coverage is None:
        raise ValueError("a gate needs to know what is promised. Hint: --coverage 90%.")
    models, frame = load(found, request)
    own, baseline = list(found[0].models), None
    if saved is None and len(found) == 1 and names == (None, None) and len(own) == 2:
        old, new = own
    else:
        new = _chosen(found[0], names[1], "--proposed")
        baseline = None if saved is None else SavedScore.of(saved, coverage=coverage, name=names[0])
        old = _chosen(found[-1], names[0], "--baseline") if baseline is None else baseline.name
        old = f"{old} (saved)" if baseline is not None and old == new else old
    say(f"baseline: {old}; proposed: {new}")
    asked: Any = {"coverage": coverage, "names": (old, new), **labels_of(frame, request), **options}
    outcome = gate(models[old] if baseline is None else baseline, models[new], **asked)
    outputs.write(
        "--json",
        lambda: json.dumps(outcome.to_dict(), indent=2, allow_nan=False, ensure_ascii=False) + "\n",
    )
    outputs.write("--markdown", outcome.to_markdown)
    if not outputs.streams:
        show([outcome.to_text()])
    return outcome


def _saved(source: Source) -> Any:
    """Return the saved assessment that a file holds; None for another file."""
    text = source.json_text()
    if not text:
        return None
    try:
        return parsed(text, ASSESSMENT)
    except ValueError as error:
        raise ValueError(
            f"{source.label} must be intervals, or an assessment that `uccurve assess --json` wrote: {error}."
        ) from None


def _chosen(part: Part, name: str | None, option: str) -> str:
    """Return the model that is meant among those of a file, also by its name there where both files have it."""
    models = list(part.models)
    meant = [one for one in models if name in (None, one, one.partition(": ")[2])]
    if len(meant) != 1:
        what = (
            f"no model is called {name}."
            if name is not None and not meant
            else "which model is meant?"
        )
        raise ValueError(f"{what} There are {listed(models)}. Hint: {option} NAME.")
    return meant[0]
