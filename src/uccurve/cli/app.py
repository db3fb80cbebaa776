"""Command line: assess, gate, calibrate, apply, demo and reproduce, from files to a verdict, a page or a new file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

try:
    import polars as pl
    import typer
except ImportError as error:
    sys.exit(f'uccurve: the command line needs {error.name}: pip install "uccurve[cli]"')

from uccurve import __version__
from uccurve.experiments import NAMES

from . import _options as options
from ._assessing import assess_files
from ._assessing import demo as run_demo
from ._calibrating import Targets, Wanted, apply_file, calibrate_files
from ._console import plain_warnings, refusal, say, watch
from ._gating import Reports, Sides, gate_files
from ._options import Engine, Missing
from ._results import Outputs

REFUSED = (ValueError, TypeError, OSError, ImportError, MemoryError)
app = typer.Typer(
    help="Say which model's prediction intervals to ship, at what factor, and how sure that is.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line: exit code 0 is fine, 1 refused data or files, 2 a usage error, 3 a gate that says no."""
    try:
        with plain_warnings():
            app(prog_name="uccurve")
    except (*REFUSED, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        say(f"uccurve: {refusal(error)}")
        sys.exit(1)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"uccurve {__version__}")
        raise typer.Exit


@app.callback()
def common(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    """Options of the program itself."""


def _experiments(names: list[str]) -> list[str]:
    for name in names:
        if name not in (*NAMES, "all"):
            raise typer.BadParameter(f"no experiment is called {name!r}: there are {', '.join(NAMES)}, and all.")
    return names


@app.command("assess")
def assess_command(
    files: options.Files,
    *,
    coverage: options.Coverage = None,
    by: options.By = None,
    block: options.Block = None,
    full: Annotated[bool, typer.Option("--full", help="Show areas, gains, pairs and crossings too.")] = False,
    json: options.Json = None,
    report: Annotated[Path | None, typer.Option(metavar="OUT.html", help="Write the interactive page.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="OUT.png|svg|pdf", help="Draw the assessment.")] = None,
    y: options.Y = None,
    model: options.Models = None,
    weight: options.Weight = None,
    on: options.On = None,
    missing: options.Rows = Missing.RAISE,
    min_band: options.MinBand = None,
    sort_crossing: options.SortCrossing = False,
    decimal: options.DecimalSign = options.Decimal.POINT,
    na: options.Na = None,
    bins: options.Bins = 4,
    axes: options.AxesOption = "bandwidth,miss_rate",
    cost: options.Cost = None,
    partial: options.Partial = None,
    unit: options.UnitOption = "raw",
    confidence_level: options.ConfidenceLevel = "0.95",
    resamples: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Bootstrap intervals with N resamples: slow.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Random seed of the resamples.")] = 0,
    progress: Annotated[
        bool | None, typer.Option(help="Show a progress bar; by default at a terminal.", show_default=False)
    ] = None,
    engine: Annotated[
        Engine | None, typer.Option(help="What reads the files; by default memory, or polars where they are too large.")
    ] = None,
    force: options.Force = False,
) -> None:
    """Say which model's intervals to ship, at what factor, and whether the difference is noise."""
    asked = options.request(
        y=y,
        model=model,
        weight=weight,
        by=by,
        block=block,
        on=on or (),
        missing=missing,
        min_band=min_band,
        sort_crossing=sort_crossing,
        decimal=decimal,
        na=na,
    )
    assess_files(
        files,
        asked,
        Outputs(json, report, plot, force, full),
        engine=None if engine is None else engine.value,
        coverage=coverage,
        bins=bins,
        axes=axes,
        c=cost,
        partial=partial,
        unit=unit,
        confidence_level=float(confidence_level),
        n_resamples=resamples,
        seed=seed,
        progress=watch(progress),
    )


@app.command("gate")
def gate_command(
    baseline: Annotated[
        str, typer.Argument(metavar="BASELINE", help="Intervals of the present model, or its saved assessment (JSON).")
    ],
    proposed: Annotated[
        str | None,
        typer.Argument(metavar="PROPOSED", help="Intervals of the new model; without it BASELINE holds both."),
    ] = None,
    *,
    coverage: options.Coverage = None,
    level: options.Level = "0.05",
    margin: options.Margin = "0",
    by: options.By = None,
    block: options.Block = None,
    on: options.On = None,
    old: Annotated[str | None, typer.Option("--baseline", metavar="NAME", help="Model to compare with.")] = None,
    new: Annotated[str | None, typer.Option("--proposed", metavar="NAME", help="Model to judge.")] = None,
    markdown: Annotated[
        str | None, typer.Option(metavar="OUT.md", help="Write a comment for a pull request; - is standard output.")
    ] = None,
    json: options.Json = None,
    y: options.Y = None,
    model: options.Models = None,
    weight: options.Weight = None,
    bins: options.Bins = 4,
    missing: options.Rows = Missing.RAISE,
    min_band: options.MinBand = None,
    sort_crossing: options.SortCrossing = False,
    decimal: options.DecimalSign = options.Decimal.POINT,
    na: options.Na = None,
    force: options.Force = False,
) -> None:
    """Say whether PROPOSED keeps its promise and scores no worse than BASELINE: exit code 0, or 3 where it does not."""
    asked = options.request(
        y=y,
        model=model,
        weight=weight,
        by=by,
        block=block,
        on=on or (),
        missing=missing,
        min_band=min_band,
        sort_crossing=sort_crossing,
        decimal=decimal,
        na=na,
    )
    outcome = gate_files(
        Sides(baseline, proposed, old, new),
        asked,
        Reports(json, markdown, force),
        coverage=coverage,
        level=float(level),
        margin=margin,
        bins=bins,
    )
    if not outcome.passed:
        raise typer.Exit(3)


@app.command()
def demo(
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="OUT.html", help="The report.")] = Path(
        "uccurve-demo.html"
    ),
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Random seed of the data.")] = 0,
    force: options.Force = False,
) -> None:
    """Assess four made-up models in a second, and write the report."""
    run_demo(out, seed=seed, force=force)


@app.command()
def calibrate(
    calibration: Annotated[str, typer.Argument(metavar="CALIBRATION", help="Rows with observations; - is stdin.")],
    new: Annotated[str | None, typer.Argument(metavar="NEW", help="Rows whose bounds are to be calibrated.")] = None,
    *,
    out: options.Out = None,
    save: Annotated[Path | None, typer.Option(metavar="CAL.json", help="Keep what was learnt, for apply.")] = None,
    coverage: options.Coverage = None,
    miss_rate: Annotated[
        Any, typer.Option(metavar="A", parser=options.share, help="Share of new rows that may be missed.")
    ] = None,
    bandwidth: Annotated[float | None, typer.Option(metavar="B", min=0, help="Half the mean width to reach.")] = None,
    cost: Annotated[
        float | None, typer.Option(metavar="C", min=0, max=1, help="Cost C x + (1 - C) y to minimise.")
    ] = None,
    axes: options.AxesOption = "bandwidth,miss_rate",
    confidence: options.Confidence = None,
    conformal: Annotated[bool, typer.Option(help="Reach the coverage for new rows, with a guarantee.")] = True,
    vary: Annotated[options.Vary, typer.Option(help="Multiply both bands, or add to both.")] = options.Vary.SCALE,
    tails: Annotated[options.Tails, typer.Option(help="One factor for both sides, or one each.")] = options.Tails.JOINT,
    by: options.By = None,
    fallback: Annotated[
        options.Fallback | None, typer.Option(help="Calibrate groups never seen by all rows, not refuse them.")
    ] = None,
    y: options.Y = None,
    model: options.Models = None,
    min_band: options.MinBand = None,
    missing: options.Rows = Missing.RAISE,
    sort_crossing: options.SortCrossing = False,
    decimal: options.DecimalSign = options.Decimal.POINT,
    na: options.Na = None,
    force: options.Force = False,
) -> None:
    """Learn a factor on CALIBRATION, and write NEW with calibrated bounds to OUT or keep it in CAL.json."""
    given = {"coverage": coverage, "miss_rate": miss_rate, "bandwidth": bandwidth, "cost": cost}
    target = {name: float(value) for name, value in given.items() if value is not None}
    if len(target) > 1:
        raise typer.BadParameter("give one target: --coverage, --miss-rate, --bandwidth or --cost.")
    if (new is None) != (out is None) or (new is None and save is None):
        raise typer.BadParameter("give NEW and --out, or --save, or all three.")
    if isinstance(min_band, str):
        raise typer.BadParameter(
            "a percentage depends on the rows: give a number in units of y.", param_hint="--min-band"
        )
    choices = {
        "axes": axes,
        "confidence": None if confidence is None else float(confidence),
        "conformal": conformal,
        "vary": vary.value,
        "tails": tails.value,
        "fallback": None if fallback is None else fallback.value,
    }
    asked = options.request(
        y=y, model=model, by=by, min_band=min_band, missing=missing, sort_crossing=sort_crossing, decimal=decimal, na=na
    )
    calibrate_files(calibration, new, Wanted(target, choices), asked, Targets(out, save, force))


@app.command("apply")
def apply_command(
    saved: Annotated[str, typer.Argument(metavar="CAL.json", help="What calibrate --save kept.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Rows whose bounds are to be calibrated; - is stdin.")],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="OUT", help="NEW with calibrated bounds.")],
    model: options.Models = None,
    missing: options.Rows = Missing.RAISE,
    decimal: options.DecimalSign = options.Decimal.POINT,
    na: options.Na = None,
    force: options.Force = False,
) -> None:
    """Write NEW with bounds calibrated by what an earlier calibrate kept."""
    asked = options.request(y=None, model=model, missing=missing, decimal=decimal, na=na)
    apply_file(saved, new, asked, Targets(out, None, force))


@app.command()
def reproduce(
    names: Annotated[
        list[str], typer.Argument(metavar="EXPERIMENT", callback=_experiments, help=f"{', '.join(NAMES)}, or all.")
    ],
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Small data and models, few seeds.")] = False,
    seeds: Annotated[int | None, typer.Option(metavar="N", min=1, help="Number of seeds.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write to.")] = Path("paper"),
) -> None:
    """Recompute tables and figures of the paper: values beside the paper's, JSON, figures and a page."""
    from ._reproducing import reproduce as run

    run(names, quick=quick, seeds=seeds, out=out)
