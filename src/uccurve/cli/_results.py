"""Results: what an assessment leaves behind, on standard output and in files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uccurve._outputs import check_apart, check_target, written
from uccurve.compare._formats import short

from ._console import output, say, show

if TYPE_CHECKING:
    from uccurve.compare.results import Assessment

    from ._scans import Engine
    from ._streaming import Streamed

PICTURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True, slots=True)
class Outputs:
    """Files to write besides what is printed; ``-`` as JSON goes to standard output in place of the tables."""

    json: str | None = None
    report: Path | None = None
    plot: Path | None = None
    force: bool = False
    full: bool = False

    def check(self, inputs: Mapping[str, str]) -> None:
        """Refuse what cannot be written before long work starts."""
        check_outputs({"--json": self.json, "--report": self.report, "--plot": self.plot}, inputs, force=self.force)
        if self.plot is not None and self.plot.suffix.lower() not in PICTURES:
            raise ValueError(f"a plot is written as {', '.join(PICTURES)}; got {short(self.plot.name)}.")

    def check_streamed(self, engine: Engine) -> None:
        """Refuse what cannot be made from sketches."""
        if self.report is not None:
            raise ValueError(f"a report shows rows, and {engine} keeps none. Hint: --engine memory, --json or --plot.")

    def write(self, found: Assessment) -> None:
        """Write each file whole or not at all, then print the verdict and the tables."""
        if self.report is not None:
            write_text(self.report, found.to_html(), force=self.force)
        self._picture(found.plot)
        if self._numbers(found.to_json):
            show(found, full=self.full)

    def write_streamed(self, found: Streamed) -> None:
        """Do the same for an assessment from sketches."""
        from uccurve.plots import figures

        settings = found.assessment.settings
        self._picture(
            lambda: figures.curves(dict(found.assessment.curves), axes=settings.axes, unit=settings.unit).figure
        )
        if self._numbers(found.to_json):
            show(found.assessment, full=self.full)

    def _numbers(self, text: Callable[[], str]) -> bool:
        """Write the numbers where they are asked for; whether standard output is left for tables."""
        if self.json is not None:
            write_text(self.json, text() + "\n", force=self.force)
        return self.json != "-"

    def _picture(self, figure: Callable[[], Any]) -> None:
        if self.plot is not None:
            with written(self.plot, force=self.force) as path:
                figure().savefig(path, dpi=150)
            say(f"written: {self.plot}")


def check_outputs(outputs: Mapping[str, str | Path | None], inputs: Mapping[str, str], *, force: bool) -> None:
    """Refuse outputs that cannot be written, that are one file, or that are an input."""
    check_apart(outputs, inputs)
    for path in outputs.values():
        if path is not None and str(path) != "-":
            check_target(path, force=force)
    if "-" in map(str, outputs.values()):
        output()


def write_text(target: str | Path, text: str, *, force: bool) -> None:
    """Write a text file whole or not at all; ``-`` is standard output."""
    if str(target) == "-":
        output().write(text)
        return
    with written(target, force=force) as path:
        path.write_text(text, encoding="utf-8")
    say(f"written: {target}")


def named_inputs(*paths: str) -> dict[str, str]:
    """Input files by what a sentence calls them."""
    return {f"the input {short(path, 60)}": path for path in paths}
