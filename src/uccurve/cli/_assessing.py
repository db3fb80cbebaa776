"""Assessing: from files to a verdict, in memory where they fit and streamed where they do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uccurve.adapters._names import told_coverage
from uccurve.compare._formats import coverage as percent
from uccurve.compare._formats import short
from uccurve.compare.assess import asked_settings, assess

from ._console import say, show
from ._demo import example
from ._labels import block_option, hint_at_blocks
from ._loading import Part, load, parts
from ._options import Request
from ._results import Outputs
from ._scans import Engine, choose_engine
from ._sources import Source

if TYPE_CHECKING:
    from uccurve.compare.results import Assessment

PICTURES = (".png", ".svg", ".pdf")
SETTINGS = ("axes", "partial", "c", "unit", "confidence_level", "seed")


def assess_files(
    paths: Sequence[str],
    request: Request,
    outputs: Outputs,
    *,
    full: bool = False,
    engine: Engine | None = None,
    coverage: Fraction | None = None,
    **options: Any,
) -> None:
    """Assess the models in the files; `options` as in `uccurve.assess`. Files too large for memory are streamed."""
    outputs.check(*paths)
    _check_picture(outputs.paths["--plot"])
    found, request = look_into(paths, request)
    coverage = choose_coverage(coverage, found)
    if engine is None:
        engine, why = choose_engine(found, request)
        if why:
            say(why)
    if engine != "memory":
        from ._streaming import stream

        if options["n_resamples"] is not None:
            raise ValueError(f"--resamples needs the rows, and {engine} keeps none. Hint: --engine memory.")
        settings = asked_settings(coverage, **{name: options[name] for name in SETTINGS})
        _write(stream(found, request, engine, settings), outputs, full=full)
        return
    models, labels = load(found, request)
    asked: Any = labels | {"coverage": None if coverage is None else float(coverage)}
    if options["n_resamples"] is not None:  # slow: what is known at once comes at once
        quick = assess(models, **asked, **{**options, "n_resamples": None, "progress": False})
        say(f"without resampling: {quick.verdict}", at_once=True)
    files = {name: path for path, part in zip(paths, found, strict=True) for name in part.models if path != "-"}
    _write(assess(models, **asked, **options), outputs, full=full, files=files)


def look_into(paths: Sequence[str | Source], request: Request) -> tuple[list[Part], Request]:
    """Settle which columns are read, and which hold blocks."""
    found = parts(paths, request)
    columns = list(dict.fromkeys(name for part in found for name in part.table.columns))
    request = replace(request, block=block_option(request.block, columns))
    if not any({*request.labels} <= {*part.table.columns} for part in found):
        found[0].table.require(request.labels)
    if request.block is None:
        for line in hint_at_blocks(found[0].table):
            say(line)
    return found, request


def choose_coverage(given: Fraction | None, found: Sequence[Part]) -> Fraction | None:
    """Return the coverage that was given, or that all column names tell."""
    told = told_coverage(columns for part in found for columns in part.models.values())
    if given is None and told is not None:
        say(f"coverage {percent(float(told))}, as the column names say")
    return told if given is None else given


def demo(out: Path, *, seed: int, force: bool) -> None:
    """Assess made-up models and write the report."""
    outputs = Outputs({"--json": None, "--report": out, "--plot": None}, force)
    outputs.check()
    say("Four made-up models of x sin x with noise, which promise to cover 90% of 1,000 new rows:")
    models, by = example(seed)
    _write(assess(models, coverage=0.9, by=by, seed=seed), outputs)


def _write(found: Assessment, outputs: Outputs, *, full: bool = False, files: Mapping[str, str] | None = None) -> None:
    """Write each file whole or not at all, then print the verdict and the tables; `files` are those of the models."""
    if outputs.paths["--report"] is not None:
        from uccurve.report._page import page

        outputs.write("--report", lambda: page(found, files=files))
    if outputs.paths["--plot"] is not None:
        with outputs.file("--plot") as path:
            found.plot().savefig(path, dpi=150)
    outputs.write("--json", lambda: found.to_json() + "\n")
    if outputs.leave_stdout:
        show(found, full=full)


def _check_picture(path: str | Path | None) -> None:
    if path is not None and Path(path).suffix.lower() not in PICTURES:
        raise ValueError(f"a plot is written as {', '.join(PICTURES)}; got {short(Path(path).name)}.")
