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
from ._calibrating import Wanted, apply_file, calibrate_files
from ._console import answer_first, plain_warnings, refusal, say, watch
from ._gating import gate_files
from ._loading import Request
from ._options import option, reads_files, switch
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
@reads_files()
def assess_command(
    files: options.Files,
    *,
    request: Request,
    coverage: options.Coverage = None,
    full: Annotated[bool, switch("--full", "Show areas, gains, pairs and crossings too.")] = False,
    json: options.Json = None,
    report: Annotated[Path | None, option("--report", "OUT.html", "Write the interactive page.")] = None,
    plot: Annotated[Path | None, option("--plot", "OUT.png|svg|pdf", "Draw the assessment.")] = None,
    bins: options.Bins = 4,
    axes: options.Axes = "bandwidth,miss_rate",
    cost: options.Cost = None,
    partial: Annotated[Any, option("--partial", "LO:HI", "Miss rates of a partial gain.", options.span)] = None,
    unit: Annotated[Any, option("--unit", "UNIT", "raw, std (of y) or a number.", options.unit)] = "raw",
    confidence_level: Annotated[
        Any, option("--confidence-level", "P", "Of intervals and tests.", options.share)
    ] = "0.95",
    resamples: Annotated[int | None, option("--resamples", "N", "Bootstrap intervals instead: slow.", min=1)] = None,
    seed: options.Seed = 0,
    progress: Annotated[bool | None, typer.Option(help="Show progress; a bar at a terminal.")] = None,
    engine: Annotated[options.Engine | None, switch("--engine", "What reads the files, by default by size.")] = None,
    force: options.Force = False,
) -> None:
    """Say which model's intervals to ship, at what factor, and whether the difference is noise."""
    outputs = Outputs({"--json": json, "--report": report, "--plot": plot}, force)
    asked: Any = {"coverage": coverage, "bins": bins, "axes": axes, "c": cost, "partial": partial, "unit": unit}
    asked |= {"confidence_level": float(confidence_level), "n_resamples": resamples, "seed": seed}
    asked |= {"engine": None if engine is None else engine.value, "progress": watch(progress)}
    with answer_first():
        assess_files(files, request, outputs, full=full, **asked)


@app.command("gate")
@reads_files()
def gate_command(
    baseline: Annotated[
        str, typer.Argument(metavar="BASELINE", help="Intervals of the present model, or its saved assessment (JSON).")
    ],
    proposed: Annotated[
        str | None,
        typer.Argument(metavar="PROPOSED", help="Intervals of the new model; without it BASELINE holds both."),
    ] = None,
    *,
    request: Request,
    coverage: options.Coverage = None,
    level: Annotated[Any, option("--level", "P", "False-alarm rate of the whole gate.", options.share)] = "0.05",
    margin: Annotated[Any, option("--margin", "M", "How much worse: 0.3 or 2%.", options.amount("margin"))] = "0",
    old: Annotated[str | None, option("--baseline", "NAME", "Model to compare with.")] = None,
    new: Annotated[str | None, option("--proposed", "NAME", "Model to judge.")] = None,
    markdown: Annotated[str | None, option("--markdown", "OUT.md", "Write a comment; - is standard output.")] = None,
    json: options.Json = None,
    bins: options.Bins = 4,
    force: options.Force = False,
) -> None:
    """Say whether PROPOSED keeps its promise and scores no worse than BASELINE: exit code 0, or 3 where it does not."""
    outputs = Outputs({"--json": json, "--markdown": markdown}, force)
    asked: Any = {"coverage": coverage, "level": float(level), "margin": margin, "bins": bins}
    with answer_first():
        outcome = gate_files((baseline, proposed), (old, new), request, outputs, **asked)
    if not outcome.passed:
        raise typer.Exit(3)


@app.command()
def demo(
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="OUT.html", help="The report.")] = Path(
        "uccurve-demo.html"
    ),
    seed: options.Seed = 0,
    force: options.Force = False,
) -> None:
    """Assess four made-up models in a second, and write the report."""
    run_demo(out, seed=seed, force=force)


Out = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="OUT", help="NEW with calibrated bounds; - is stdout.")
]


@app.command()
@reads_files("y", "model", "by", "min_band", "missing", "sort_crossing", "decimal", "na")
def calibrate(
    calibration: Annotated[str, typer.Argument(metavar="CALIBRATION", help="Rows with observations; - is stdin.")],
    new: Annotated[str | None, typer.Argument(metavar="NEW", help="Rows whose bounds are to be calibrated.")] = None,
    *,
    request: Request,
    out: Out = None,
    save: Annotated[Path | None, option("--save", "CAL.json", "Keep what was learnt, for apply.")] = None,
    coverage: options.Coverage = None,
    miss_rate: Annotated[Any, option("--miss-rate", "A", "Share of new rows to miss.", options.share)] = None,
    bandwidth: Annotated[float | None, option("--bandwidth", "B", "Half the mean width to reach.", min=0)] = None,
    cost: options.Cost = None,
    axes: options.Axes = "bandwidth,miss_rate",
    confidence: Annotated[
        Any, option("--confidence", "P", "Reach the coverage in this share of calibration sets.", options.share)
    ] = None,
    conformal: Annotated[bool, typer.Option(help="Reach the coverage for new rows, with a guarantee.")] = True,
    vary: Annotated[options.Vary, switch("--vary", "Multiply both bands, or add to both.")] = options.Vary.scale,
    tails: Annotated[options.Tails, switch("--tails", "One factor for both sides, or one each.")] = options.Tails.joint,
    fallback: Annotated[options.Fallback | None, switch("--fallback", "What calibrates groups never seen.")] = None,
    force: options.Force = False,
) -> None:
    """Learn a factor on CALIBRATION, and write NEW with calibrated bounds to OUT or keep it in CAL.json."""
    given = {"coverage": coverage, "miss_rate": miss_rate, "bandwidth": bandwidth, "cost": cost}
    target = {name: float(value) for name, value in given.items() if value is not None}
    if len(target) > 1:
        raise typer.BadParameter("give one target: --coverage, --miss-rate, --bandwidth or --cost.")
    if (new is None) != (out is None) or (new is None and save is None):
        raise typer.BadParameter("give NEW and --out, or --save, or all three.")
    if isinstance(request.min_band, str):
        raise typer.BadParameter(
            "a percentage depends on the rows: give a number in units of y.", param_hint="--min-band"
        )
    choices: Any = {"axes": axes, "conformal": conformal, "vary": vary.value, "tails": tails.value}
    choices |= {"confidence": None if confidence is None else float(confidence)}
    choices |= {"fallback": None if fallback is None else fallback.value}
    calibrate_files(calibration, new, Wanted(target, choices), request, Outputs({"--out": out, "--save": save}, force))


@app.command("apply")
@reads_files("model", "missing", "decimal", "na")
def apply_command(
    saved: Annotated[str, typer.Argument(metavar="CAL.json", help="What calibrate --save kept.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Rows whose bounds are to be calibrated; - is stdin.")],
    *,
    request: Request,
    out: Out,
    force: options.Force = False,
) -> None:
    """Write NEW with bounds calibrated by what an earlier calibrate kept."""
    apply_file(saved, new, request, Outputs({"--out": out}, force))


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
