"""Output: files that a command writes, tables for a terminal or a pipe, and one sentence for what went wrong."""

import sys
import warnings
from codecs import register_error
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import filterfalse, takewhile
from operator import attrgetter
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, Self, TextIO

from uccurve._files import check_apart, check_target, shown_path, written
from uccurve._refusals import Refusal
from uccurve.view import STATES
from uccurve.words.columns import Column
from uccurve.words.formats import ISOLATES, columns_of, coverage, padded, short
from uccurve.words.tables import MARKS, Table, aligned

IS_TEXT, HEADING = attrgetter("is_text"), attrgetter("heading")
INDENT = 2  # columns of a terminal before the numbers of a row whose name stands above them
KEPT = 12  # columns that are kept for names
SPACED = 36  # columns of a name that may be spaced from its numbers
INKS = {"kept": "green", "broken": "red", "wider": "yellow", "unclear": "dim", "muted": ""}
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
        for option, path in self.paths.items():
            if path is not None and not str(path):
                raise ValueError(f"{option} must name a file; it is empty.")
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


PLAIN = {"×": "x", "–": "-", "✗": "!", "…": "..."}  # for terminals that know ASCII only


def speak_plainly() -> None:
    """Let streams that cannot write a sign write a plain one instead of failing."""

    def plain(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        signs = error.object[error.start : error.end]
        return "".join(PLAIN.get(sign, "?") for sign in signs), error.end

    register_error("uccurve.plain", plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="uccurve.plain")


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
        sign if sign.isprintable() or sign in ISOLATES else sign.encode("unicode_escape").decode()
        for sign in text
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


def show(parts: Iterable[str | Table], headline: str = "") -> None:
    """Print texts and tables with blank lines between: wrapped and drawn at a terminal, as they are to a pipe.

    A terminal shows the headline in bold, and once more at the end where it has scrolled away by then.
    """
    stream = output()
    if not stream.isatty():
        texts = [part if isinstance(part, str) else aligned(part) for part in parts]
        stream.write("\n\n".join(texts) + "\n")
        return
    from rich.console import Console

    columns, lines = get_terminal_size()
    console = Console(file=stream, highlight=False, width=columns)
    shown = 0
    for part in parts:
        if shown:
            stream.write("\n")
        drawn = _wrapped(console, part, headline) if isinstance(part, str) else draw(part, columns)
        for line in drawn:
            line.rstrip()
            console.print(line, soft_wrap=True)
        shown += len(drawn) + 1
    if headline and shown > lines:
        stream.write("\n")
        for line in _wrapped(console, headline, headline):
            console.print(line, soft_wrap=True)


def _wrapped(console: Any, text: str, headline: str) -> list[Any]:
    """Return the lines of a text, the headline that it begins with in bold and on lines of its own."""
    from rich.text import Text

    lines: list[Any] = []
    rest = text
    if headline and text.startswith(headline):
        lines += Text(headline, style="bold").wrap(console, console.width)
        rest = text[len(headline) :].lstrip(" ")
    if rest:
        lines += Text(rest).wrap(console, console.width)
    return lines


@dataclass(frozen=True, slots=True)
class Strip:
    """One column of a table as a terminal shows it: values, what stands below each, and their colours."""

    heading: str
    values: Sequence[str]
    below: Sequence[str]
    styles: Sequence[str]
    is_text: bool

    @classmethod
    def of(cls, column: Column, rows: Sequence[Any]) -> Self:
        """Return a column of results, states with their signs."""
        cells = column.cells(rows, interval=not column.brief)
        values = []
        styles = []
        for cell in cells:
            state = STATES.get(cell.text) if column.is_text else None
            values.append(f"{state.sign} {cell.text}" if state else cell.text)
            styles.append(INKS[state.colour] if state else "")
        below = list(map(attrgetter("interval"), cells))
        return cls(column.heading, values, below, styles, column.is_text)

    @property
    def width(self) -> int:
        """Columns of a terminal that it takes; its heading is broken between words."""
        return max(map(columns_of, [*self.heading.split(), *self.values, *self.below]))

    @property
    def side(self) -> str:
        """Where its texts stand: words on the left, numbers on the right."""
        return "<" if self.is_text else ">"

    def head(self, width: int) -> list[str]:
        """Return the lines of its heading."""
        lines = [""]
        for word in self.heading.split():
            longer = f"{lines[-1]} {word}".strip()
            if columns_of(longer) <= width:
                lines[-1] = longer
            else:
                lines.append(word)
        return lines


def draw(table: Table, room: int) -> list[Any]:
    """Return the lines of a table in a terminal of `room` columns, in which no word is broken.

    A name for which there is no room beside the numbers stands on a line of its own, with the words of its row. Columns
    for which there is none follow below, with the names once more.
    """
    from rich.text import Text

    strips = [Strip.of(column, table.rows) for column in table.columns]
    leading = list(takewhile(IS_TEXT, strips))
    beside = strips[len(leading) :]
    names = Names.of(leading, table)
    if _taken(beside) + min(names.width, KEPT) > room:
        names = names.with_words(list(filter(IS_TEXT, beside)))
        beside = list(filterfalse(IS_TEXT, beside))
    lines = _plain_lines(table.title, room) if table.title else []
    for place, block in enumerate(_blocks(beside, room)):
        lines += [Text("")] if place else []
        lines += _drawn(names, block, room)
    if table.marks:
        used = [f"{mark} {MARKS[mark]}" for mark in dict.fromkeys(table.marks.values())]
        lines.append(Text(", ".join(used), style="dim"))
    return lines


@dataclass(frozen=True, slots=True)
class Names:
    """What stands at the left of each row: names, with the words of the row where there is no room beside."""

    heading: str
    lines: Sequence[Any]

    @classmethod
    def of(cls, strips: Sequence[Strip], table: Table) -> Self:
        """Return the names of the rows, with the signs of the table before them."""
        from rich.text import Text

        first = table.columns[0]
        lines = []
        for place, row in enumerate(table.rows):
            mark = f"{table.marks.get(str(first.read(row)), ' ')} " if table.marks else ""
            name = " · ".join(strip.values[place] for strip in strips)
            lines.append(Text(f"{mark}{name}"))
        return cls(" · ".join(map(HEADING, strips)), lines)

    def with_words(self, strips: Sequence[Strip]) -> Self:
        """Return the names followed by the words of other columns."""
        from rich.text import Text

        lines = []
        for place, line in enumerate(self.lines):
            words = [(f" · {strip.values[place]}", strip.styles[place]) for strip in strips]
            lines.append(Text.assemble(line, *words))
        return type(self)(" · ".join([self.heading, *map(HEADING, strips)]), lines)

    @property
    def width(self) -> int:
        """Columns of a terminal that the longest takes."""
        texts = [self.heading, *map(attrgetter("plain"), self.lines)]
        return max(map(columns_of, texts))


def _plain_lines(title: str, room: int) -> list[Any]:
    from rich.console import Console
    from rich.text import Text

    return list(Text(title, style="italic").wrap(Console(width=room), room))


def _taken(strips: Sequence[Strip], gap: int = 1) -> int:
    """Columns of a terminal that the columns of a table take, with the gap before each."""
    return sum(strip.width + gap for strip in strips)


def _blocks(strips: Sequence[Strip], room: int) -> list[list[Strip]]:
    """Return the columns that stand beside each other, as many as there is room for."""
    blocks: list[list[Strip]] = [[]]
    for strip in strips:
        if blocks[-1] and _taken([*blocks[-1], strip]) > room - INDENT:
            blocks.append([])
        blocks[-1].append(strip)
    return blocks


def _drawn(names: Names, strips: Sequence[Strip], room: int) -> list[Any]:
    """Return the lines of columns that stand beside each other."""
    from rich.text import Text

    gap = 2 if _taken(strips, 2) + min(names.width, SPACED) <= room else 1
    first = min(names.width, max(room - _taken(strips, gap), INDENT))
    between = " " * gap
    lines = _heads(names.heading, strips, first, between)
    lines.append(Text("─" * min(room, first + _taken(strips, gap))))
    for place, name in enumerate(names.lines):
        width = columns_of(name.plain)
        beside = name
        if width > first:
            lines.append(name)
            beside = Text("")
            width = 0
        filled = Text.assemble(beside, " " * (first - width))
        lines += _row(filled, strips, place, between)
    return lines


def _heads(heading: str, strips: Sequence[Strip], first: int, between: str) -> list[Any]:
    """Return the lines of the headings, the last line of each above the rule."""
    from rich.text import Text

    heads = [strip.head(strip.width) for strip in strips]
    tall = max([1, *map(len, heads)])
    fits = columns_of(heading) <= first
    lines = [] if fits else [Text(heading, style="bold")]
    for place in range(tall):
        words = [padded(heading if fits and place == tall - 1 else "", first)]
        for strip, head in zip(strips, heads, strict=True):
            missing = tall - len(head)
            word = head[place - missing] if place >= missing else ""
            words.append(padded(word, strip.width, strip.side))
        lines.append(Text(between.join(words).rstrip(), style="bold"))
    return lines


def _row(name: Any, strips: Sequence[Strip], place: int, between: str) -> list[Any]:
    """Return the line of one row, and a second one where something stands below its values."""
    from rich.text import Text

    line = name.copy()
    below = " " * columns_of(name.plain)
    for strip in strips:
        line.append(between)
        value = padded(strip.values[place], strip.width, strip.side)
        line.append(value, style=strip.styles[place])
        below += between + padded(strip.below[place], strip.width, strip.side)
    line.rstrip()
    return [line, Text(below.rstrip(), style="dim")] if below.strip() else [line]
