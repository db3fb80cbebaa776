"""Console: tables for people at a terminal, plain text for a pipe, and one sentence for what went wrong."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TextIO

from uccurve._outputs import shown_path
from uccurve.compare import _tables
from uccurve.compare._formats import short

from ._sources import is_open

if TYPE_CHECKING:
    from uccurve.compare._columns import Column
    from uccurve.compare.results import Assessment

ROOMY = 100
"""Columns of a terminal from which tables are spaced."""
FLAGS = (
    ('pass min_band="5%"', "--min-band 5%"),
    ('pass missing="drop"', "--missing drop"),
    ('min_band="5%"', "--min-band 5%"),
    ("sort crossing quantiles first", "--sort-crossing puts crossing bounds in order"),
    ("put the rows of both in the same order", "put the rows of both in the same order, or match them by --on"),
    ("raise zero bands by `min_band`", "--min-band raises zero bands"),
    ("which is the baseline?", "which is the baseline? Hint: --baseline NAME."),
)
"""Hints of the library in the words of the command line."""


_asides: ContextVar[list[str] | None] = ContextVar("asides", default=None)


def say(text: str, *, at_once: bool = False) -> None:
    """Tell the person, beside the output: one line on the error stream, where it is open."""
    asides = _asides.get()
    if asides is not None and not at_once:
        asides.append(text)
    elif is_open(sys.stderr):
        sys.stderr.write(f"{printable(text)}\n")


@contextmanager
def answer_first() -> Iterator[None]:
    """Hold back what is said beside the output until the output is there, or until it is refused."""
    asides: list[str] = []
    token = _asides.set(asides)
    try:
        yield
    finally:
        _asides.reset(token)
        if asides and is_open(sys.stdout):
            sys.stdout.flush()
        for text in asides:
            say(text)


def output() -> TextIO:
    """Return standard output, or refuse where the shell has closed it."""
    if not is_open(sys.stdout):
        raise OSError("standard output is closed. Hint: leave it open, or redirect it to /dev/null.")
    return sys.stdout


def printable(text: str) -> str:
    r"""Text on one line, without characters that steer a terminal.

    >>> printable("a\x1b[2J\r\u202e")
    'a\\x1b[2J\\r\\u202e'
    """
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def refusal(error: BaseException) -> str:
    """One sentence for an error: what was refused, and what to do on the command line."""
    if isinstance(error, MemoryError) and not str(error):
        return "there is not enough memory for this. Hint: --engine polars streams the file."
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{shown_path(str(error.filename))}: {error.strerror}."
    if isinstance(error, OSError) and error.strerror:
        return f"the output cannot be written: {error.strerror}."
    text = " ".join(str(error).split()) or type(error).__name__
    for call, flag in FLAGS:
        text = text.replace(call, flag)
    return text


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show the library's warnings as one line each."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        say(f"uccurve: {' '.join(str(message).split())}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def watch(wanted: bool | None) -> bool | Callable[[int, int], None] | None:
    """Return how progress is shown: as a bar at a terminal, as lines in a log, where that was asked for."""
    if not wanted or not is_open(sys.stderr):
        return False if wanted is None and not is_open(sys.stderr) else wanted
    return True if sys.stderr.isatty() else lambda done, total: say(f"{done} of {total} done", at_once=True)


def show(assessment: Assessment, *, full: bool = False) -> None:
    """Print the verdict, then the tables: drawn for a terminal, in aligned columns for a pipe or a file."""
    stream = output()
    if not stream.isatty():
        stream.write("\n".join([_tables.text(assessment, full=full), *_crossings(assessment, full=full)]) + "\n")
        return
    console, text = _console(stream)
    console.print(text(assessment.verdict.text, style="bold"), end="\n\n")
    reasons = assessment.verdict.reasons if full else ()
    if reasons:
        console.print(text("\n".join(f"- {reason}" for reason in reasons)), end="\n\n")
    for table in _tables.tables(assessment, full=full):
        cells = [[_cell(column, row) for column in table.columns] for row in table.rows]
        left = {place for place, column in enumerate(table.columns) if column.is_text}
        _draw(stream, table.title, [column.heading for column in table.columns], cells, left=left)
    for sentence in (*_tables.sentences(assessment), *_crossings(assessment, full=full)):
        if sentence not in reasons:
            console.print(text(sentence, style="dim"))


def _crossings(assessment: Assessment, *, full: bool) -> Iterator[str]:
    """Return where curves cross, for the pairs that the reasons of the verdict leave out."""
    told = {assessment.verdict.model, assessment.verdict.runner_up}
    for one in assessment.crossings if full else ():
        if set(one.names) != told:
            yield f"{' vs. '.join(map(short, one.names))}: {one.verdict.rstrip('.')}."


def show_rows(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table of texts: the first column on the left, all others on the right."""
    stream = output()
    if not stream.isatty():
        stream.write("\n".join([title, *_aligned([header, *rows])]) + "\n")
        return
    _draw(stream, title, header, [list(map(printable, row)) for row in rows], left={0})


def show_text(lines: Iterable[str]) -> None:
    """Print sentences, wrapped to the width of a terminal and as they are to a pipe."""
    stream = output()
    if not stream.isatty():
        stream.writelines(f"{printable(line)}\n" for line in lines)
        return
    console, text = _console(stream)
    for line in lines:
        console.print(text(printable(line)))


def _console(stream: TextIO) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.text import Text

    return Console(file=stream, highlight=False), Text


def _draw(stream: TextIO, title: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, left: set[int]) -> None:
    """Draw a table; headings are broken between words where the terminal is too narrow for them."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Drawing

    console, text = _console(stream)
    gap = 2 if console.width >= ROOMY else 1
    drawing = Drawing(title=text(title, style="italic"), title_justify="left", box=SIMPLE_HEAD, show_edge=False)
    drawing.pad_edge, drawing.padding = False, (0, gap - 1, 0, 0)
    widths = _widths(list(zip(header, *rows, strict=True)), console.width - gap * len(header))
    for place, (name, width) in enumerate(zip(header, widths, strict=True)):
        drawing.add_column(text(name), justify="left" if place in left else "right", width=width, overflow="fold")
    for row in rows:
        drawing.add_row(*map(text, row))
    console.print(drawing)
    console.print()


def _widths(columns: Sequence[Sequence[str]], room: int) -> list[int]:
    r"""Widths of columns: of their lines where there is room for them, else of their words; the first gives way.

    >>> _widths([("model", "GBR"), ("half-width at 90%", "1.67\n[1.49, 1.86]")], 24)
    [5, 17]
    """
    lines = [max(len(line) for cell in column for line in cell.splitlines()) for column in columns]
    words = [max(_longest_word(cell, heading=not i) for i, cell in enumerate(column)) for column in columns]
    spare = room - sum(words)
    if spare < 0:
        return [max(words[0] + spare, 5), *words[1:]]
    widths = []
    for line, word in zip(lines, words, strict=True):
        widths.append(min(line, word + spare))
        spare -= widths[-1] - word
    return widths


def _longest_word(cell: str, *, heading: bool) -> int:
    """Length of the longest word; a number with its interval is not broken inside the interval."""
    parts = cell.split() if heading or not cell.rstrip().endswith("]") else cell.splitlines()
    return max(map(len, parts), default=1)


def _cell(column: Column, row: Any) -> str:
    cell = column.cell(row)
    return f"{cell.text}\n{cell.interval}" if cell.interval and not column.brief else cell.text


def _aligned(table: Sequence[Sequence[str]]) -> Iterator[str]:
    cells = [[printable(cell) for cell in row] for row in table]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for first, *rest in cells:
        padded = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))]
        yield "  ".join(padded).rstrip()
