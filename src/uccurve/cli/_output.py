"""Output: files that a command writes, tables for a terminal or a pipe, and one sentence for what went wrong."""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, TextIO

from uccurve._files import check_apart, check_target, shown_path, written
from uccurve._refusals import Refusal
from uccurve.words.formats import coverage, short
from uccurve.words.tables import Table, aligned

ROOMY = 100  # columns of a terminal from which tables are spaced
WORD = 7  # columns that words need at least
STDIN = ("-", "/dev/stdin", "/dev/fd/0")
WORDS = {  # arguments that the command line calls otherwise
    "lower": "LOWER",
    "upper": "UPPER in --model NAME=PRED,LOWER,UPPER",
    "crossing": "--sort-crossing",
    "conformal": "calibrating",
    "name": "--baseline NAME",
    "miss_rate": "--miss-rate",
}
_asides: list[str] = []  # what is said beside the output, which comes first


@dataclass(frozen=True, slots=True)
class Outputs:
    """Files to write, by the option that asks for them; ``-`` is standard output, None is not asked for."""

    paths: Mapping[str, str | Path | None]
    force: bool = False

    @property
    def streams(self) -> list[str]:
        """The options that write to standard output, where nothing else is printed then."""
        return [option for option, path in self.paths.items() if str(path) == "-"]

    def check(self, *inputs: str) -> None:
        """Refuse what cannot be read or written before long work starts."""
        if sum(path in STDIN for path in inputs) > 1:
            raise ValueError("standard input can be read once only. Hint: give - once.")
        check_apart(self.paths, {f"the input {short(path, 60)}": path for path in inputs})
        if len(self.streams) > 1:
            raise ValueError(f"{' and '.join(self.streams)} cannot both be standard output.")
        for path in self.paths.values():
            if path is not None and str(path) != "-":
                check_target(path, force=self.force)

    def write(self, option: str, text: Callable[[], str], more: str = "") -> None:
        """Write a text file whole or not at all, where it is asked for."""
        if str(self.paths[option]) == "-":
            output().write(text())
        elif self.paths[option] is not None:
            with self.file(option, more) as place:
                place.write_text(text(), encoding="utf-8")

    @contextmanager
    def file(self, option: str, more: str = "") -> Iterator[Path]:
        """Yield the path that takes the place of a file once it is written, and say so."""
        path = Path(str(self.paths[option]))
        with written(path, force=self.force) as place:
            yield place
        say(f"written: {shown_path(path)}{more}")


def output() -> TextIO:
    """Return standard output, or refuse where the shell has closed it."""
    if sys.stdout is None:
        raise OSError(
            "standard output is closed. Hint: leave it open, or redirect it to /dev/null."
        )
    return sys.stdout


def say(text: str, *, at_once: bool = False) -> None:
    """Tell the person, beside the output: one line on the error stream, where it is open, once the output is there."""
    if not at_once:
        _asides.append(text)
    elif sys.stderr is not None:
        sys.stderr.write(f"{printable(text)}\n")


def tell() -> None:
    """Tell what was held back until the output was there, or refused."""
    if _asides and sys.stdout is not None:
        sys.stdout.flush()
    while _asides:
        say(_asides.pop(0), at_once=True)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show the library's warnings as one line each, and each of them once."""
    shown: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        text = " ".join(str(message).split())
        if text not in shown:
            shown.add(text)
            say(f"uccurve: {text}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def watch(wanted: bool | None) -> bool | Callable[[int, int], None] | None:
    """Return how progress is shown: as a bar at a terminal, as lines in a log, where that was asked for."""
    if sys.stderr is None:
        return False
    lines = wanted and not sys.stderr.isatty()
    return (lambda done, total: say(f"{done} of {total} done", at_once=True)) if lines else wanted


def printable(text: str) -> str:
    r"""Text on one line, without characters that steer a terminal.

    >>> printable("a\x1b[2J\r\u202e")
    'a\\x1b[2J\\r\\u202e'
    """
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )


def refusal(error: BaseException) -> str:
    """Return one sentence for an error: what was refused, and what to do on the command line."""
    if isinstance(error, MemoryError) and not str(error):
        return "there is not enough memory for this. Hint: --engine polars streams the file."
    if isinstance(error, OSError) and error.strerror:
        what = (
            "the output cannot be written"
            if error.filename is None
            else shown_path(str(error.filename))
        )
        return f"{what}: {error.strerror}."
    if isinstance(error, ModuleNotFoundError):
        return f'the command line needs {error.name}: pip install "uccurve[cli]"'
    text = error.written(as_option) if isinstance(error, Refusal) else str(error)
    return " ".join(text.split()) or type(error).__name__


def as_option(name: str, value: Any) -> str:
    """Return an argument of the library as a person writes it on the command line.

    >>> as_option("min_band", "5%"), as_option("missing", None), as_option("miss_rate", 0.1)
    ('--min-band 5%', '--missing', 'a miss rate of 10%')
    """
    if name == "miss_rate" and value is not None:
        return f"a miss rate of {coverage(value)}"
    if name in WORDS:
        return WORDS[name]
    flag = f"--{name.replace('_', '-')}"
    if value is None or value is True:
        return flag
    return f"{flag} {coverage(value) if name == 'coverage' else value}"


def show(parts: Iterable[str | Table]) -> None:
    """Print texts and tables with blank lines between: wrapped and drawn at a terminal, as they are to a pipe."""
    stream = output()
    for place, part in enumerate(parts):
        stream.write("\n" if place else "")
        if not stream.isatty():
            stream.write(f"{part if isinstance(part, str) else aligned(part)}\n")
        elif isinstance(part, str):
            _wrap(stream, part, first="" if place else "bold")
        else:
            _draw(stream, part)


def _wrap(stream: TextIO, text: str, *, first: str) -> None:
    """Print a text whose first line has a style of its own."""
    from rich.console import Console
    from rich.text import Text

    line, end, rest = text.partition("\n")
    Console(file=stream, highlight=False).print(Text.assemble((line, first), end, rest))


def _draw(stream: TextIO, table: Table) -> None:
    """Draw a table; headings are broken between words, and words in cells where the terminal is too narrow."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table as Drawing
    from rich.text import Text

    room = get_terminal_size().columns
    gap, least = (2, 12) if room >= ROOMY else (1, 1)
    drawing = Drawing(
        title=Text(table.title, style="italic") if table.title else None, title_justify="left"
    )
    drawing.box, drawing.show_edge, drawing.pad_edge, drawing.padding = (
        SIMPLE_HEAD,
        False,
        False,
        (0, gap - 1, 0, 0),
    )
    columns, needed = [], 0
    for column in table.columns:
        cells = (column.cell(row, interval=not column.brief) for row in table.rows)
        columns.append([f"{cell.text}\n{cell.interval}".rstrip() for cell in cells])
        lines = [
            *column.heading.split(),
            *(line for cell in columns[-1] for line in cell.splitlines()),
        ]
        width = max(min(least, len(column.heading)), *map(len, lines))
        if column.is_text:
            width = min(width, WORD)
            drawing.add_column(Text(column.heading), min_width=width, overflow="fold")
        else:
            drawing.add_column(Text(column.heading), width=width, justify="right")
        needed += gap + width
    for row in zip(*columns, strict=True):
        drawing.add_row(*map(Text, row))
    Console(file=stream, highlight=False, width=max(room, needed)).print(drawing)
