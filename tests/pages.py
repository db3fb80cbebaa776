"""Pages: a Markdown page as the steps that a reader would take, and a way to take them."""

import contextlib
import doctest
import io
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
COMMANDS = ("uccurve", "python", "pip", "make")
FENCE = re.compile(r"^ {0,3}```(\w*)\s*$")
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True, slots=True)
class Step:
    """One block of a page: its language ("" where none is named), its text and the line it starts on."""

    kind: str
    text: str
    line: int


def pages() -> list[Path]:
    """The README and every page of the site."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def steps(page: Path) -> list[Step]:
    """Fenced blocks, and indented lines that start with a command, in the order of the page."""
    return list(_steps(page.read_text(encoding="utf-8").splitlines()))


def _steps(lines: list[str]) -> Iterator[Step]:
    number = 0
    while number < len(lines):
        line = lines[number]
        if fence := FENCE.match(line):
            end = next(i for i in range(number + 1, len(lines)) if lines[i].strip() == "```")
            yield Step(fence[1], "\n".join(lines[number + 1 : end]) + "\n", number + 2)
            number = end
        elif line.startswith("    ") and line.strip().startswith(
            tuple(f"{word} " for word in COMMANDS)
        ):
            yield Step("sh", line.strip() + "\n", number + 1)
        number += 1


@dataclass(slots=True)
class Reader:
    """Someone who follows a page from top to bottom in one folder and one Python session.

    `whole` is for pages that bring all they need; of the others only what has prompts is run.
    """

    page: Path
    folder: Path
    whole: bool = True
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    said: str = ""

    def follow(self) -> None:
        """Take every step; raise where one does not do what the page shows."""
        for step in steps(self.page):
            where = f"{self.page.name}, line {step.line}"
            if step.kind == "python" and ">>>" in step.text:
                self._prompts(step, where)
            elif not self.whole:
                continue
            elif step.kind == "python":
                self.said = self._python(step, where)
            elif step.kind == "sh":
                self.said = "".join(self._shell(line, where) for line in step.text.splitlines())
            elif step.kind == "text":
                self._same(step, where)

    def _python(self, step: Step, where: str) -> str:
        """Run a block as a script, and return what it prints."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(step.text, where, "exec"), self.names)  # noqa: S102  the page's own code
        return printed.getvalue()

    def _prompts(self, step: Step, where: str) -> None:
        test = doctest.DocTestParser().get_doctest(
            step.text, self.names, where, str(self.page), step.line - 1
        )
        report: list[str] = []
        runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
        runner.run(test, out=report.append, clear_globs=False)
        self.names.update(test.globs)
        assert not runner.failures, "".join(report)

    def _shell(self, line: str, where: str) -> str:
        if not line.strip() or line.lstrip().startswith(("#", "pip ", "make ")):
            return ""
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{where}: {line}\n{done.stdout}{done.stderr}"
        return done.stdout

    def _same(self, step: Step, where: str) -> None:
        """Compare what the last command said with the text block under it."""
        checker = doctest.OutputChecker()
        example = doctest.Example("", step.text)
        same = checker.check_output(step.text, self.said, OPTIONS)
        assert same, f"{where}\n{checker.output_difference(example, self.said, OPTIONS)}"


def environment() -> dict[str, str]:
    """The environment of a person who has activated the environment of the tests and sits at no terminal."""
    import os

    here = str(Path(sys.executable).parent)
    return {
        **os.environ,
        "PATH": f"{here}{os.pathsep}{os.environ['PATH']}",
        "NO_COLOR": "1",
        "COLUMNS": "160",
    }


def commands(page: Path, word: str) -> list[str]:
    """Lines of a page's shell steps that start with a command, comments taken off."""
    text = "".join(step.text for step in steps(page) if step.kind == "sh")
    lines = (line.partition(" #")[0].strip() for line in text.splitlines())
    return [line for line in lines if line.startswith(f"{word} ")]
