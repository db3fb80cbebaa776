"""Console: tables for people at a terminal, plain text for a pipe, and one sentence for what went wrong."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from ._files import shown

Cell = str | tuple[str, str]
"""What a cell shows; of a pair the second part goes below the first where there is room for lines."""
FLAGS = (
    ('pass min_band="5%"', "--min-band 5%"),
    ('pass missing="drop"', "--missing drop"),
    ('min_band="5%"', "--min-band 5%"),
)
"""Hints of the library in the words of the command line."""


def say(text: str) -> None:
    """Tell the person, beside the output: one line on the error stream."""
    sys.stderr.write(f"{text}\n")


def refusal(error: BaseException) -> str:
    """One sentence for an error: what was refused, and what to do on the command line."""
    if isinstance(error, MemoryError) and not str(error):
        return "there is not enough memory for this. Hint: --engine polars streams the file."
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{shown(str(error.filename), 200)}: {error.strerror}."
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


def show_table(
    title: str, header: Sequence[Cell], rows: Iterable[Sequence[Cell]], *, stream: TextIO | None = None, note: str = ""
) -> None:
    """Print a table: drawn for a terminal, in aligned columns of plain text for a pipe or a file."""
    stream = stream or sys.stdout
    if stream.isatty():
        _drawn(title, header, rows, stream, note)
        return
    stream.write(f"{title}\n")
    for line in _aligned([[_flat(cell, " ") for cell in row] for row in (header, *rows)]):
        stream.write(f"{line}\n")
    stream.write(f"{note}\n\n" if note else "\n")


def show_text(lines: Sequence[str], *, stream: TextIO | None = None) -> None:
    """Print sentences, wrapped to the width of a terminal and as they are to a pipe."""
    stream = stream or sys.stdout
    plain = [shown(line, 600) for line in lines]
    if stream.isatty():
        from rich.console import Console
        from rich.text import Text

        console = Console(file=stream, highlight=False)
        for line in plain:
            console.print(Text(line))
        return
    stream.writelines(f"{line}\n" for line in plain)


def _drawn(title: str, header: Sequence[Cell], rows: Iterable[Sequence[Cell]], stream: TextIO, note: str) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for place, name in enumerate(header):
        table.add_column(Text(_flat(name, "\n")), justify="right" if place else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_flat(cell, "\n")) for cell in row))
    console = Console(file=stream, highlight=False)
    console.print(Text(title, style="italic"))
    console.print(table)
    if note:
        console.print(Text(note, style="dim"), end="\n\n")


def _flat(cell: Cell, join: str) -> str:
    """A cell as text; its two parts, where it has two, joined by a space or a line break."""
    if isinstance(cell, str):
        return shown(cell)
    join = "" if join == " " and cell[0].endswith("/") else join
    return join.join(shown(part) for part in cell if part)


def _aligned(table: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        first, *rest = (
            cell.ljust(width) if not place else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join([first, *rest]).rstrip()
