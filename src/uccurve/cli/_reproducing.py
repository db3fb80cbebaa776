"""Reproducing: the experiments of the paper, with a bar that shows where they are."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ._console import output, say


def reproduce(names: Sequence[str], *, quick: bool, seeds: int | None, out: Path) -> None:
    """Run experiments of the paper and print our values beside the paper's."""
    from uccurve.experiments import run
    from uccurve.experiments.results import as_text

    stream = output()
    with _steps() as progress:
        found = run(names, quick=quick, seeds=seeds, out=out, progress=progress)
    stream.write("\n\n".join(map(as_text, found.values())) + "\n")
    say(f"written to {out}: {out / 'index.html'} shows it all")


@contextmanager
def _steps() -> Iterator[Any]:
    """Yield what shows a bar of steps on a terminal; None elsewhere."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda label, done, total: bar.update(task, description=label, completed=done, total=total)
