"""Command line: assess, gate, calibrate, apply, watch and demo, from files to a verdict, a page or a new file.

What a command needs is imported when it runs, so that help is there at once.
"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

try:
    import typer
except ImportError as error:
    sys.exit(f'uccurve: the command line needs {error.name}: pip install "uccurve[cli]"')

from uccurve import __version__
from uccurve._refusals import as_written

from . import _options as options
from ._options import Request, argument, option, reads_files
from ._output import Outputs, plain_warnings, refusal, say, speak_plainly, tell, watch

NOT_GATED = (
    "unit",
    "unit_by",
    "unit_floor",
    "features",
)  # options of files that a gate has no use for
READ_TO_CALIBRATE = (
    *("y", "model", "by", "block", "truth", "where", "min_band", "support", "side", "missing"),
    *("features", "sort_crossing", "decimal", "na"),
)

app = typer.Typer(
    help="Say which model's prediction intervals to ship, with what factor on the bands, and how sure that is.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line: exit code 0 fine, 1 refused data, 2 usage, 3 a check that fails, 4 a watch that rings."""
    speak_plainly()
    try:
        with plain_warnings():
            app(prog_name="uccurve")
    except _refused() as error:
        say(f"uccurve: {refusal(error)}", at_once=True)
        sys.exit(1)


def _refused() -> tuple[type[BaseException], ...]:
    """Return the errors that are a refusal; those of Polars only where it was imported."""
    polars: Any = sys.modules.get("polars")
    own = (polars.exceptions.PolarsError, polars.exceptions.PanicException) if polars else ()
    return (ValueError, TypeError, OSError, ImportError, MemoryError, *own)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"uccurve {__version__}")
        raise typer.Exit


@app.callback()
def common(
    context: typer.Context,
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options of the program itself."""
    context.call_on_close(tell)


@app.command("assess")
@reads_files()
def assess_command(
    files: Annotated[list[str], argument("FILE", options.FILE_HELP)],
    *,
    request: Request,
    coverage: options.Coverage = None,
    full: Annotated[bool, option("--full", "Also show areas, gains, pairs and crossings.")] = False,
    json: options.Json = None,
    report: Annotated[
        Path | None, option("--report", "Write the interactive report.", "OUT.html")
    ] = None,
    plot: Annotated[
        Path | None, option("--plot", "Draw the assessment.", "OUT.png|svg|pdf")
    ] = None,
    bins: options.Bins = options.BINS,
    axes: options.Axes = "bandwidth,miss_rate",
    cost: Annotated[
        float | None, option("--cost", "Show the cost C x + (1 - C) y.", "C", min=0, max=1)
    ] = None,
    partial: Annotated[
        Any, option("--partial", "Miss rate range for a partial gain.", "LO:HI", options.span)
    ] = None,
    incumbent: Annotated[
        str | None,
        option("--incumbent", "The model in use: stays unless another is better.", "NAME"),
    ] = None,
    reference: Annotated[
        str | None, option("--reference", "A model that others are only compared with.", "NAME")
    ] = None,
    tolerance: options.Tolerance = None,
    level: Annotated[
        Any, option("--confidence-level", "Level of intervals and tests.", "P", options.share)
    ] = "0.95",
    resamples: Annotated[
        int | None, option("--resamples", "Bootstrap with N resamples (slow).", "N", min=1)
    ] = None,
    seed: options.Seed = 0,
    progress: Annotated[
        bool | None, typer.Option(help="Show progress; a bar at a terminal.")
    ] = None,
    engine: Annotated[
        options.Engine | None, option("--engine", "Engine that reads files; default: by size.")
    ] = None,
    fail_on: Annotated[
        Literal["too-narrow", "promise"] | None,
        option(
            "--fail-on", "Exit code 3 where a model is too narrow, or does not keep its promise."
        ),
    ] = None,
    force: options.Force = False,
) -> None:
    """Say which model's intervals to ship, with what factor on the bands, and whether the difference is significant."""
    from ._assessing import assess_files

    outputs = Outputs({"--json": json, "--report": report, "--plot": plot}, force)
    asked: Any = {
        "axes": axes,
        "c": cost,
        "partial": partial,
        "bins": bins,
        "n_resamples": resamples,
        "incumbent": incumbent,
        "reference": reference,
        "tolerance": tolerance,
    }
    asked |= {
        "coverage": coverage,
        "confidence_level": level,
        "seed": seed,
        "progress": watch(progress),
    }
    check: Any = None if fail_on is None else fail_on.replace("-", " ")
    if not assess_files(files, request, outputs, full=full, engine=engine, fail_on=check, **asked):
        raise typer.Exit(3)


@app.command("gate")
@reads_files(*(name for name in options.ALL if name not in NOT_GATED))
def gate_command(
    baseline: Annotated[
        str, argument("BASELINE", "The present model's intervals, or its assessment (JSON).")
    ],
    proposed: Annotated[
        str | None, argument("PROPOSED", "The new model's intervals, if not in BASELINE.")
    ] = None,
    *,
    request: Request,
    coverage: options.Coverage = None,
    level: Annotated[
        Any, option("--level", "False-alarm rate of the whole gate.", "P", options.share)
    ] = "0.05",
    margin: Annotated[
        Any, option("--margin", "How much worse it may score: 0.3 or 2%.", "M", options.amount)
    ] = "0",
    tolerance: options.Tolerance = None,
    allow_unclear: Annotated[
        bool, option("--allow-unclear", "Pass too little evidence on coverage or score.")
    ] = False,
    old: Annotated[str | None, option("--baseline", "Model to compare with.", "NAME")] = None,
    new: Annotated[str | None, option("--proposed", "Model to judge.", "NAME")] = None,
    markdown: Annotated[
        str | None, option("--markdown", "Write a Markdown table; - is stdout.", "OUT.md")
    ] = None,
    json: options.Json = None,
    bins: options.Bins = options.BINS,
    force: options.Force = False,
) -> None:
    """Say whether PROPOSED keeps its promise and scores no worse than BASELINE: exit code 0, or 3 where it does not."""
    from ._assessing import gate_files

    outputs = Outputs({"--json": json, "--markdown": markdown}, force)
    asked: Any = {"coverage": coverage, "level": level, "margin": margin, "bins": bins}
    asked |= {"tolerance": tolerance, "allow_unclear": allow_unclear}
    if not gate_files((baseline, proposed), (old, new), request, outputs, **asked).passed:
        raise typer.Exit(3)


@app.command()
def demo(
    *,
    out: Annotated[Path, option("--out", "The report.", "OUT.html", short="-o")] = Path(
        "uccurve-demo.html"
    ),
    seed: options.Seed = 0,
    force: options.Force = False,
) -> None:
    """Assess four made-up models in a second, and write the report."""
    from uccurve.assess.assemble import assess

    from ._assessing import example, write

    outputs = Outputs({"--json": None, "--report": out, "--plot": None}, force)
    outputs.check()
    say(
        "Four made-up models of x sin x with noise, which promise to cover 90% of 1,000 new rows:",
        at_once=True,
    )
    models, by = example(seed)
    write(assess(models, coverage=0.9, by=by, seed=seed), outputs)


Out = Annotated[
    Path | None, option("--out", "NEW with calibrated bounds; - is stdout.", "OUT", short="-o")
]


@app.command()
@reads_files(*READ_TO_CALIBRATE)
def calibrate(
    calibration: Annotated[
        str, argument("CALIBRATION", "Rows with observations; - is stdin. With --from: NEW.")
    ],
    new: Annotated[str | None, argument("NEW", "Rows whose bounds are to be calibrated.")] = None,
    *,
    request: Request,
    out: Out = None,
    save: Annotated[
        Path | None, option("--save", "Save what was learnt, for `uccurve apply`.", "CAL.json")
    ] = None,
    coverage: options.Coverage = None,
    miss_rate: Annotated[
        Any, option("--miss-rate", "1 minus the coverage, 0.1 or 10%.", "M", options.share)
    ] = None,
    confidence: Annotated[
        Any,
        option(
            "--confidence",
            "Confidence of reaching the coverage; default: on average.",
            "P",
            options.share,
        ),
    ] = None,
    vary: Annotated[
        Literal["scale", "shift"], option("--vary", "Multiply both bands, or add to both.")
    ] = "scale",
    tails: Annotated[
        Literal["joint", "separate"], option("--tails", "One factor, or one per side.")
    ] = "joint",
    assessment: Annotated[
        str | None,
        option("--from", "Ship what a saved assessment names.", "ASSESSMENT.json"),
    ] = None,
    fallback: Annotated[
        Literal["pooled"] | None, option("--fallback", "Used for groups not in CALIBRATION.")
    ] = None,
    pockets: Annotated[
        bool, option("--pockets", "A factor for each pocket among --features (default: all).")
    ] = False,
    force: options.Force = False,
) -> None:
    """Learn a factor on CALIBRATION, and write NEW with calibrated bounds to OUT or save it to CAL.json."""
    from ._calibrating import calibrate_files, ship_verdict

    if assessment is not None:
        if new is not None or (out is None and save is None):
            raise typer.BadParameter(
                "with --from ASSESSMENT.json give NEW alone, and --out or --save."
            )
        outputs = Outputs({"--out": out, "--save": save}, force)
        ship_verdict(assessment, calibration, request, outputs)
        return
    if (new is None) != (out is None) or (new is None and save is None):
        raise typer.BadParameter("give NEW and --out, or --save, or all three.")
    if coverage is not None and miss_rate is not None:
        raise typer.BadParameter(
            "give --coverage or --miss-rate, not both: a coverage of 90% is a miss rate of 10%."
        )
    if pockets and request.by:
        raise typer.BadParameter("give --by or --pockets, not both: pockets are groups themselves.")
    if request.features and not pockets:
        raise typer.BadParameter("--features is for --pockets: give both.")
    if pockets and not request.features:
        request = replace(request, features=("all",))
    target = coverage if miss_rate is None else float(1 - as_written(miss_rate))
    asked: Any = {"confidence": confidence, "vary": vary, "tails": tails, "fallback": fallback}
    calibrate_files(
        calibration,
        new,
        request,
        Outputs({"--out": out, "--save": save}, force),
        target=target,
        **asked,
    )


@app.command("apply")
@reads_files("model", "where", "missing", "decimal", "na")
def apply_command(
    saved: Annotated[str, argument("CAL.json", "What calibrate --save wrote.")],
    new: Annotated[str, argument("NEW", "Rows whose bounds are to be calibrated; - is stdin.")],
    *,
    request: Request,
    out: Out,
    force: options.Force = False,
) -> None:
    """Write NEW with bounds calibrated by what an earlier `calibrate --save` wrote."""
    from ._calibrating import apply_file

    apply_file(saved, new, request, Outputs({"--out": out}, force))


@app.command("watch")
@reads_files(*options.WATCHED)
def watch_command(
    state: Annotated[
        Path, argument("STATE.json", "What is known so far; created where it is not there.")
    ],
    files: Annotated[
        list[str] | None, argument("FILE", "Rows with outcomes; days are taken once.")
    ] = None,
    *,
    request: Request,
    coverage: options.Coverage = None,
    day: Annotated[
        str | None, option("--day", "Column of the day; default: a date, or the path's.", "COL")
    ] = None,
    false_alarm_every: Annotated[
        float | None,
        option("--false-alarm-every", "Days to a false alarm, on average [1000].", "N", min=1),
    ] = None,
    ring_for: Annotated[
        Literal["both", "narrow", "wide"] | None,
        option("--ring-for", "Too little coverage, too much, or both (default)."),
    ] = None,
    tolerance: Annotated[
        Any, option("--tolerance", "How much coverage may differ, 0.01 or 1%.", "T", options.share)
    ] = None,
    calibrated_on: Annotated[
        int | None, option("--calibrated-on", "Rows that the factor was learnt on.", "N", min=1)
    ] = None,
    period: Annotated[
        int | None, option("--period", "Length of a pattern, 7 for weekdays.", "N", min=2)
    ] = None,
    challenger: Annotated[
        str | None, option("--challenger", "Model to compare with the first.", "NAME")
    ] = None,
    late: Annotated[
        bool, option("--replace", "Take late rows: days again, with all their rows.")
    ] = False,
    acknowledge: Annotated[
        bool, option("--acknowledge", "Start anew after the last day: it was repaired.")
    ] = False,
    follow: Annotated[
        bool, option("--follow", "Follow the factor; FILEs hold the model's own bounds.")
    ] = False,
    out: Annotated[
        Path | None,
        option("--out", "The next day's factor, for `uccurve apply`.", "NEXT.json", short="-o"),
    ] = None,
    json: options.Json = None,
    markdown: Annotated[
        str | None, option("--markdown", "Write a Markdown table; - is stdout.", "OUT.md")
    ] = None,
    report: Annotated[Path | None, option("--report", "Write the history.", "OUT.html")] = None,
    force: options.Force = False,
) -> None:
    """Take the new days of FILEs into STATE.json, and say whether the promise still holds: exit code 4 if not."""
    from ._watching import Wish, watch_files

    if follow != (out is not None):
        raise typer.BadParameter("give --follow and --out together.")
    settings = {
        "coverage": coverage,
        "false_alarm_every": false_alarm_every,
        "side": ring_for,
        "tolerance": tolerance,
        "calibrated_on": calibrated_on,
        "period": period,
        "challenger": challenger,
    }
    wish = Wish(settings=settings, day=day, replace=late, acknowledge=acknowledge, follow=follow)
    paths = {"--json": json, "--markdown": markdown, "--report": report, "--out": out}
    if watch_files(state, files or [], request, Outputs(paths, force), wish):
        raise typer.Exit(4)
