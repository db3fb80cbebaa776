"""Assessing: from files to a verdict, in memory where they fit and streamed where they do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from uccurve import _checks as checks
from uccurve.compare._formats import coverage as percent
from uccurve.compare.assess import SHOWN, assess
from uccurve.compare.results import AssessmentSettings

from ._console import say
from ._demo import example
from ._labels import block_option, hint_at_blocks
from ._loading import Part, Request, coverage_told, load, parts
from ._results import Outputs, named_inputs
from ._scans import Engine, choose_engine
from ._streaming import stream

SETTINGS = ("axes", "partial", "c", "unit", "confidence_level", "seed")


def assess_files(
    paths: Sequence[str],
    request: Request,
    outputs: Outputs,
    *,
    engine: Engine | None = None,
    coverage: Fraction | None = None,
    **options: Any,
) -> None:
    """Assess the models in the files; `options` as in `uccurve.assess`. Files too large for memory are streamed."""
    outputs.check(named_inputs(*paths))
    found, request = look_into(paths, request)
    coverage = choose_coverage(coverage, found)
    if engine is None:
        engine, why = choose_engine(found, request)
        if why:
            say(why)
    if engine != "memory":
        outputs.check_streamed(engine)
        if options["n_resamples"] is not None:
            raise ValueError(f"--resamples needs the rows, and {engine} keeps none. Hint: --engine memory.")
        outputs.write_streamed(stream(found, request, engine, _settings(coverage, **options)))
        return
    loaded = load(found, request)
    asked: Any = {"coverage": None if coverage is None else float(coverage), "by": loaded.by, "block": loaded.block}
    if options["n_resamples"] is not None:  # slow: what is known at once comes at once
        quick = assess(loaded.models, **asked, **{**options, "n_resamples": None, "progress": False})
        say(f"without resampling: {quick.verdict}")
    outputs.write(assess(loaded.models, **asked, **options))


def look_into(paths: Sequence[str], request: Request) -> tuple[list[Part], Request]:
    """Settle which columns are read, and say so."""
    found = parts(paths, request)
    for part in found:
        for line in part.said():
            say(line)
    first = found[0].table
    block = block_option(None if request.block is None else str(request.block), first.columns)
    labels = [name for feature in request.by for name in feature] + ([block] if isinstance(block, str) else [])
    first.require(labels)
    if block is None:
        for line in hint_at_blocks(first):
            say(line)
    return found, replace(request, block=block)


def choose_coverage(given: Fraction | None, found: Sequence[Part]) -> Fraction | None:
    """Return the coverage that was given, or that all column names tell."""
    told = coverage_told(found)
    if given is None and told is not None:
        say(f"coverage {percent(float(told))}, as the column names say")
    return told if given is None else given


def demo(out: Path, *, seed: int, force: bool) -> None:
    """Assess made-up models and write the report."""
    outputs = Outputs(report=out, force=force)
    outputs.check({})
    say("Four made-up models of x sin x with noise, which promise to cover 90% of 1,000 new rows:")
    models, by = example(seed)
    outputs.write(assess(models, coverage=0.9, by=by, seed=seed))


def _settings(coverage: Fraction | None, **options: Any) -> AssessmentSettings:
    alpha = checks.miss_rate_of(SHOWN if coverage is None else coverage)
    return AssessmentSettings(
        coverage=None if coverage is None else float(coverage),
        n_resamples=None,
        block=None,
        ranked_by="crps" if coverage is None else "score",
        shown_coverage=float(1 - alpha),
        **{name: options[name] for name in SETTINGS},
    )
