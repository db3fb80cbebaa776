"""Jobs: what the commands do, from files to files, in steps that can be read from top to bottom."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uccurve.compare.assess import assess
from uccurve.plots import figures as plots

from . import _streaming as streaming
from . import _summary as summary
from ._console import say, show_table
from ._conventions import Columns, taken
from ._demo import example
from ._files import Table, listed, shown
from ._loading import Request, models_in_memory, parts
from ._outputs import check_target, written
from ._scans import Engine, fitting
from ._streaming import Choices, curves

if TYPE_CHECKING:
    import polars as pl

    from uccurve.calibrate.calibrator import IntervalCalibrator
    from uccurve.compare.assessment import Assessment
    from uccurve.sketch.curve import SketchUCC


@dataclass(frozen=True, slots=True)
class Outputs:
    """Files to write besides what is printed; ``-`` as JSON goes to standard output in place of the tables."""

    json: str | None = None
    report: Path | None = None
    plot: Path | None = None
    force: bool = False

    def check(self) -> None:
        """Refuse what cannot be written before long work starts."""
        for path in (self.json, self.report, self.plot):
            if path is not None and str(path) != "-":
                check_target(path, force=self.force)
        kinds = (".png", ".svg", ".pdf")
        if self.plot is not None and self.plot.suffix.lower() not in kinds:
            raise ValueError(f"a plot is written as {', '.join(kinds)}; got {shown(self.plot.name)}.")

    def check_streamed(self, engine: Engine) -> None:
        """Refuse what cannot be made of sketches."""
        if self.report is not None:
            raise ValueError(f"a report shows rows, and {engine} keeps none. Hint: --engine memory, --json or --plot.")

    def write(self, found: Assessment) -> None:
        """Write each file whole or not at all, then print the tables."""
        if self.report is not None:
            self._text(self.report, found.to_html())
        self._picture(lambda: plots.assessment(found))
        if self._numbers(found.to_json):
            summary.show(found)

    def write_streamed(self, found: dict[str, dict[str, SketchUCC]], choices: Choices, engine: Engine) -> None:
        """Do the same for the curves of sketches."""
        whole = {name: one[""] for name, one in found.items()}
        self._picture(lambda: plots.curves(whole, axes=choices.axes, unit=choices.unit).figure)
        if self._numbers(lambda: streaming.as_json(found, choices, engine)):
            streaming.show(found, choices)

    def _numbers(self, text: Callable[[], str]) -> bool:
        """Write the numbers where they are asked for; whether standard output is left for tables."""
        if self.json == "-":
            sys.stdout.write(text() + "\n")
        elif self.json is not None:
            self._text(self.json, text() + "\n")
        return self.json != "-"

    def _picture(self, figure: Callable[[], Any]) -> None:
        if self.plot is not None:
            with written(self.plot, force=self.force) as path:
                figure().savefig(path, dpi=150)
            say(f"written: {self.plot}")

    def _text(self, target: str | Path, text: str) -> None:
        with written(target, force=self.force) as path:
            path.write_text(text, encoding="utf-8")
        say(f"written: {target}")


def assess_files(
    paths: Sequence[str], request: Request, outputs: Outputs, *, engine: Engine | None = None, **options: Any
) -> None:
    """Assess the models in the files; `options` as in `uccurve.assess`. Files too large for memory are streamed."""
    outputs.check()
    found = parts(paths, request)
    for part in found:
        for line in part.said():
            say(line)
    if engine is None:
        engine, why = fitting(found, request)
        if why:
            say(why)
    if engine != "memory":
        outputs.check_streamed(engine)
        choices = Choices(**{name: options[name] for name in ("axes", "c", "miss_rate", "unit", "alpha")})
        outputs.write_streamed(curves(found, request, engine), choices, engine)
        return
    models, labels = models_in_memory(found, request)
    by = None if request.by is None else {request.by: labels}
    outputs.write(assess(models, by=by, **options))


def demo(out: Path, *, seed: int, force: bool) -> None:
    """Assess the paper's synthetic example and write its report."""
    outputs = Outputs(report=out, force=force)
    outputs.check()
    say("x sin x with noise, and k nearest neighbours for the paper's trees")
    say("(the paper's own models: uccurve reproduce synthetic)")
    outputs.write(assess(example(seed), seed=seed))


def calibrate_files(
    calibration: str, new: str, out: Path, calibrator: IntervalCalibrator, request: Request, *, force: bool
) -> None:
    """Learn on one file, and write another with calibrated bounds; all its other columns and its rows are kept."""
    check_target(out, force=force)
    if calibration == new == "-":
        raise ValueError("standard input can be read once only: give - once.")
    found = parts([calibration], request)
    for line in found[0].said():
        say(line)
    held_out, groups = models_in_memory(found, request)
    table = Table.open(new)
    models = _same_models(table, found[0].models, request)
    frame = table.texts()
    report = []
    for name, columns in models.items():
        fitted = calibrator.fit(held_out[name], groups=groups)
        frame = _with_bounds(table, frame, columns, fitted, request)
        for group, learnt in fitted.calibrations_.items():
            model = name if group is None else f"{name}, {group}"
            amount = learnt.point.scale if calibrator.vary == "scale" else learnt.point.shift
            report.append([model, f"{learnt.rows}", f"{amount:.6g}", f"{learnt.point.miss_rate:.4g}"])
    with written(out, force=force) as path:
        _write_table(frame, path, out, table)
    header = ["model", "rows", calibrator.vary, "miss rate there"]
    show_table(f"{shown(str(out), 200)}: {len(frame):,} rows with calibrated bounds", header, report)


def _same_models(table: Table, learnt: Any, request: Request) -> dict[str, Columns]:
    """The columns in the new file of each model that was learnt."""
    found = dict(request.models or taken(table.columns, y=request.y, nameless=table.name).models)
    if len(found) == len(learnt) == 1:
        found = {next(iter(learnt)): next(iter(found.values()))}
    if list(found) != list(learnt):
        raise ValueError(
            f"both files must hold the same models: {listed(list(learnt))} in the first, "
            f"{listed(list(found)) or 'none'} in {table.label}. Hint: --model NAME=PRED,LOWER,UPPER."
        )
    table.require([*(name for columns in found.values() for name in columns), *([request.by] if request.by else [])])
    return found


def _with_bounds(
    table: Table, frame: pl.DataFrame, columns: Columns, fitted: IntervalCalibrator, request: Request
) -> pl.DataFrame:
    import polars as pl

    labels = [request.by] if request.by else []
    numbers = table.read(columns, labels)
    groups = numbers[request.by].to_list() if request.by else None
    arrays: list[Any] = [numbers[name].to_numpy() for name in columns]
    least: Any = request.min_band
    bounds = fitted.apply_bounds(*arrays, groups=groups, min_band=least)
    new = {name: pl.Series(name, bound) for name, bound in zip(columns[1:], bounds, strict=True)}
    if table.kind == "csv":
        new = {name: pl.Series(name, list(map(repr, bound.to_list()))) for name, bound in new.items()}
    return frame.with_columns(**new)


def _write_table(frame: pl.DataFrame, path: Path, out: Path, table: Table) -> None:
    if out.suffix.lower() in (".parquet", ".pq"):
        frame.write_parquet(path)
    else:
        frame.write_csv(path, separator=table.separator)


def reproduce(names: Sequence[str], *, quick: bool, seeds: int | None, out: Path) -> None:
    """Run experiments of the paper and print our values beside the paper's."""
    from uccurve.experiments import run
    from uccurve.experiments.results import as_text

    with steps() as progress:
        found = run(names, quick=quick, seeds=seeds, out=out, progress=progress)
    sys.stdout.write("\n\n".join(map(as_text, found.values())) + "\n")
    say(f"written to {out}: {out / 'index.html'} shows it all")


@contextmanager
def steps() -> Iterator[Any]:
    """A bar of steps on a terminal; one line a step otherwise nowhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda label, done, total: bar.update(task, description=label, completed=done, total=total)
