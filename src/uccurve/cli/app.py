"""Command line: assess, calibrate, demo and reproduce, from files to a table, a page or a new file."""

from __future__ import annotations

import sys
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

try:
    import polars as pl
    import typer
except ImportError as error:
    sys.exit(f'uccurve: the command line needs {error.name}: pip install "uccurve[cli]"')

from uccurve import _checks as checks
from uccurve._checks import Range, Unit
from uccurve.experiments import NAMES

from . import _jobs as jobs
from ._console import plain_warnings, refusal, say
from ._conventions import Columns, model_option
from ._loading import Request

REFUSED = (ValueError, TypeError, OSError, ImportError, MemoryError)
app = typer.Typer(
    help="Say whether prediction intervals are any good, which model's are better, and which calibration to ship.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Vary(StrEnum):
    """What a calibration does to the bands."""

    SCALE = "scale"
    SHIFT = "shift"


class Engine(StrEnum):
    """What reads the files: memory answers exactly and knows tests, the others stream and give brackets."""

    MEMORY = "memory"
    POLARS = "polars"
    DUCKDB = "duckdb"
    DASK = "dask"
    SPARK = "spark"


class Missing(StrEnum):
    """What happens to rows with a missing number."""

    RAISE = "raise"
    DROP = "drop"


def main() -> None:
    """Run the command line: exit code 0 is fine, 1 refused data or files, 2 a command that cannot be meant."""
    try:
        with plain_warnings():
            app(prog_name="uccurve")
    except (*REFUSED, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        say(f"uccurve: {refusal(error)}")
        sys.exit(1)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"uccurve {version('uccurve')}")
        raise typer.Exit


@app.callback()
def common(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    """Options of the program itself."""


def _axes(text: str) -> Any:
    try:
        return checks.axes([name.strip().replace("-", "_") for name in text.split(",")])
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _range(text: str) -> Range:
    try:
        low, high = (float(end) for end in text.split(":"))
        return checks.span("range", (low, high))
    except ValueError:
        raise typer.BadParameter(f"a range is written LOW:HIGH, such as 0:0.5; got {text!r}.") from None


def _unit(text: str) -> Unit:
    try:
        return text if text in ("raw", "std") else float(text)
    except ValueError:
        raise typer.BadParameter(f"a unit is raw, std or a number; got {text!r}.") from None


def _min_band(text: str) -> float | str:
    try:
        return text if text.endswith("%") else float(text)
    except ValueError:
        raise typer.BadParameter(f"a least band is a number in units of y, or a percentage; got {text!r}.") from None


def _models(texts: list[str] | None) -> dict[str, Columns]:
    try:
        pairs = [model_option(text) for text in texts or []]
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--model") from None
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise typer.BadParameter(f"the model name {name!r} is given twice.", param_hint="--model")
    return dict(pairs)


def _experiments(names: list[str]) -> list[str]:
    for name in names:
        if name not in (*NAMES, "all"):
            raise typer.BadParameter(f"no experiment is called {name!r}: there are {', '.join(NAMES)}, and all.")
    return names


Y = Annotated[str | None, typer.Option("--y", metavar="COL", help="Column of the observation.", show_default=False)]
Models = Annotated[
    list[str] | None,
    typer.Option("--model", metavar="NAME=PRED,LOWER,UPPER", help="A model and its columns; repeatable."),
]
Weight = Annotated[str | None, typer.Option("--weight", metavar="COL", help="Column of the row weights.")]
MinBand = Annotated[
    Any, typer.Option("--min-band", metavar="BAND", parser=_min_band, help="Raise smaller bands to this: 0.3 or 5%.")
]
Rows = Annotated[Missing, typer.Option("--missing", help="Refuse rows with a missing number, or drop them.")]
AxesOption = Annotated[
    Any, typer.Option("--axes", metavar="X,Y", parser=_axes, help=f"Two of {', '.join(checks.METRICS)}.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace existing output files.")]


@app.command("assess")
def assess_command(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="CSV or Parquet, a folder of Parquet files, or - for standard input."),
    ],
    *,
    y: Y = None,
    model: Models = None,
    weight: Weight = None,
    by: Annotated[str | None, typer.Option(metavar="COL", help="Assess the segments of this column too.")] = None,
    axes: AxesOption = "bandwidth,miss_rate",
    cost: Annotated[float, typer.Option(metavar="C", min=0, max=1, help="The cost is C x + (1 - C) y.")] = 0.1,
    miss_rate: Annotated[
        Any, typer.Option(metavar="LO:HI", parser=_range, help="Range of miss rates for the partial gain.")
    ] = "0:0.5",
    alpha: Annotated[
        float | None,
        typer.Option(metavar="A", min=0, max=1, help="Miss rate the intervals aim at: interval scores, segments."),
    ] = None,
    unit: Annotated[
        Any, typer.Option(metavar="UNIT", parser=_unit, help="raw, std (deviation of y) or a number.")
    ] = "raw",
    min_band: MinBand = None,
    missing: Rows = Missing.RAISE,
    resamples: Annotated[
        int, typer.Option(metavar="N", min=1, help="For the intervals; tests take five times as many.")
    ] = 1999,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of all that is random.")] = 0,
    engine: Annotated[
        Engine | None, typer.Option(help="What reads the files; by itself memory, or polars where they are too large.")
    ] = None,
    json: Annotated[
        str | None, typer.Option(metavar="OUT", help="Write all numbers as JSON; - is standard output.")
    ] = None,
    report: Annotated[Path | None, typer.Option(metavar="OUT.html", help="Write the interactive page.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="OUT.png|svg|pdf", help="Draw curves and gains.")] = None,
    force: Force = False,
) -> None:
    """Say how good the intervals in FILE are, which model's are better, and whether that is noise."""
    request = Request(y, _models(model), weight, by, min_band, missing.value)
    jobs.assess_files(
        files,
        request,
        jobs.Outputs(json, report, plot, force),
        engine=None if engine is None else engine.value,
        axes=axes,
        c=cost,
        miss_rate=miss_rate,
        alpha=alpha,
        unit=unit,
        n_resamples=resamples,
        n_permutations=5 * resamples + 4,
        seed=seed,
    )


@app.command()
def demo(
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="OUT.html", help="The report.")] = Path(
        "uccurve-demo.html"
    ),
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the data and of all that is random.")] = 0,
    force: Force = False,
) -> None:
    """Assess the paper's synthetic example, x sin x, in seconds, and write its report."""
    jobs.demo(out, seed=seed, force=force)


@app.command()
def calibrate(
    calibration: Annotated[str, typer.Argument(metavar="CALIBRATION", help="Rows with observations; - is stdin.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Rows whose bounds are to be calibrated.")],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="OUT", help="NEW with calibrated bounds.")],
    miss_rate: Annotated[
        float | None, typer.Option(metavar="A", min=0, max=1, help="Share of new rows that may be missed.")
    ] = None,
    bandwidth: Annotated[float | None, typer.Option(metavar="B", min=0, help="Half the mean width to reach.")] = None,
    cost: Annotated[
        float | None, typer.Option(metavar="C", min=0, max=1, help="Cost factor whose least cost is taken.")
    ] = None,
    axes: AxesOption = "bandwidth,miss_rate",
    vary: Annotated[Vary, typer.Option(help="Multiply both bands, or add to both.")] = Vary.SCALE,
    conformal: Annotated[bool, typer.Option(help="Reach the miss rate for new rows, with a guarantee.")] = True,
    by: Annotated[str | None, typer.Option(metavar="COL", help="Calibrate each group by itself.")] = None,
    y: Y = None,
    model: Models = None,
    min_band: MinBand = None,
    missing: Rows = Missing.RAISE,
    force: Force = False,
) -> None:
    """Learn a scale or shift on CALIBRATION and write NEW with calibrated bounds to OUT."""
    if sum(target is not None for target in (miss_rate, bandwidth, cost)) != 1:
        raise typer.BadParameter("give one target: --miss-rate, --bandwidth or --cost.")
    if isinstance(min_band, str):
        raise typer.BadParameter(
            "a percentage depends on the rows: give a number in units of y.", param_hint="--min-band"
        )
    from uccurve.calibrate.calibrator import IntervalCalibrator

    calibrator = IntervalCalibrator(
        miss_rate=miss_rate, bandwidth=bandwidth, cost=cost, axes=axes, conformal=conformal, vary=vary.value
    )
    request = Request(y=y, models=_models(model), by=by, min_band=min_band, missing=missing.value)
    jobs.calibrate_files(calibration, new, out, calibrator, request, force=force)


@app.command()
def reproduce(
    names: Annotated[
        list[str], typer.Argument(metavar="EXPERIMENT", callback=_experiments, help=f"{', '.join(NAMES)}, or all.")
    ],
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Small data and models, few seeds.")] = False,
    seeds: Annotated[int | None, typer.Option(metavar="N", min=1, help="How many seeds.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write to.")] = Path("paper"),
) -> None:
    """Recompute tables and figures of the paper: values beside the paper's, JSON, figures and a page."""
    jobs.reproduce(names, quick=quick, seeds=seeds, out=out)
