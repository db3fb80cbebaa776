"""Console: tables for people at a terminal, plain text for a pipe, and one sentence for what went wrong."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from operator import itemgetter
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Any, TextIO

from uccurve._outputs import shown_path
from uccurve.compare import _tables
from uccurve.compare._columns import Column
from uccurve.compare._formats import Cell, short, words
from uccurve.compare._tables import Table

from ._sources import is_open

if TYPE_CHECKING:
    from uccurve.compare.results import Assessment

ROOMY = 100
"""Columns of a terminal from which tables are spaced."""
WORD = 7
"""Columns that words need at least."""
FLAGS = (
    ('pass min_band="5%"', "--min-band 5%"),
    ('pass missing="drop"', "--missing drop"),
    ('min_band="5%"', "--min-band 5%"),
    ('pass crossing="sort"', "--sort-crossing"),
    ("sort crossing quantiles first", "--sort-crossing puts crossing bounds in order"),
    ("put the rows of both in the same order", "put the rows of both in the same order, or match them by --on"),
    ("raise zero bands by `min_band`", "--min-band raises zero bands"),
    ("which is the baseline?", "which is the baseline? Hint: --baseline NAME."),
    ("or a larger miss_rate", "or promise a lower --coverage"),
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
    if isinstance(error, ModuleNotFoundError):
        return f'the command line needs {error.name}: pip install "uccurve[cli]"'
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
    stream, crossings = output(), _crossings(assessment) if full else []
    if not stream.isatty():
        stream.write("\n".join([_tables.text(assessment, full=full), *crossings]) + "\n")
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False)
    console.print(Text(assessment.verdict.text, style="bold"), end="\n\n")
    reasons = assessment.verdict.reasons if full else ()
    if reasons:
        console.print(Text("\n".join(f"- {reason}" for reason in reasons)), end="\n\n")
    for table in _tables.tables(assessment, full=full):
        _draw(stream, table)
    for sentence in (*_tables.sentences(assessment), *crossings):
        if sentence not in reasons:
            console.print(Text(sentence, style="dim"))


def _crossings(assessment: Assessment) -> list[str]:
    """Return where curves cross, for the pairs that the reasons of the verdict leave out."""
    told = {assessment.verdict.model, assessment.verdict.runner_up}
    others = [one for one in assessment.crossings if set(one.names) != told]
    return [f"{' vs. '.join(map(short, one.names))}: {one.verdict.rstrip('.')}." for one in others]


def show_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of texts: the first column on the left, all others on the right."""
    columns = [
        Column(name, name, Cell if place else words, "", value=itemgetter(place)) for place, name in enumerate(header)
    ]
    stream, table = output(), Table(title, columns, rows)
    if not stream.isatty():
        stream.write(f"{_tables.aligned(table)}\n")
        return
    _draw(stream, table)


def show_text(lines: Iterable[str]) -> None:
    """Print sentences, wrapped to the width of a terminal and as they are to a pipe."""
    stream = output()
    for line in lines:
        stream.write(f"{fill(printable(line), get_terminal_size()[0]) if stream.isatty() else printable(line)}\n")


def _draw(stream: TextIO, table: Table) -> None:
    """Draw a table; where the terminal is too narrow, headings are broken between words, and words in cells."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table as Drawing
    from rich.text import Text

    room = get_terminal_size().columns
    gap = 2 if room >= ROOMY else 1
    columns = [[column.heading, *(_cell(column, row) for row in table.rows)] for column in table.columns]
    if sum(gap + _width(cells) for cells in columns) > room:
        columns = [[_broken(heading, _width(cells)), *cells] for heading, *cells in columns]
    drawing = Drawing(title=Text(table.title, style="italic"), title_justify="left", box=SIMPLE_HEAD, show_edge=False)
    drawing.pad_edge, drawing.padding = False, (0, gap - 1, 0, 0)
    needed = 0
    for column, cells in zip(table.columns, columns, strict=True):
        side: Any = "left" if column.is_text else "right"
        drawing.add_column(Text(cells[0]), justify=side, no_wrap=not column.is_text, overflow="fold")
        needed += gap + min(_width(cells), WORD if column.is_text else room)
    for row in zip(*(cells[1:] for cells in columns), strict=True):
        drawing.add_row(*map(Text, row))
    Console(file=stream, highlight=False, width=max(room, needed)).print(drawing, "")


def _width(cells: Iterable[str]) -> int:
    return max(len(line) for cell in cells for line in cell.splitlines())


def _broken(heading: str, width: int) -> str:
    return fill(heading, width, break_long_words=False, break_on_hyphens=False)


def _cell(column: Column, row: Any) -> str:
    cell = column.cell(row)
    return f"{cell.text}\n{cell.interval}" if cell.interval and not column.brief else cell.text
