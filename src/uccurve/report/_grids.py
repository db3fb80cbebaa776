"""Grids: tables of results as a page shows them, made from the columns that every other output is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from uccurve.compare._columns import Column
from uccurve.compare._formats import short
from uccurve.compare._tables import HOVER, Table

SENTENCE = 400
"""Characters of a sentence, which may hold long names."""
KINDS = {"kept": "good", "too narrow": "bad", "too wide": "bad"}
"""How words are marked that say whether a promise is kept."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What one cell of a table shows, the number that it is sorted by, and its full text where that was shortened."""

    text: str
    value: float | None = None
    small: str = ""
    kind: str = ""
    hover: str = ""
    colour: int | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """Name of a column, what it means, and whether it holds words."""

    name: str
    help: str = ""
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """A table whose first column names the rows."""

    caption: str
    heads: Sequence[Head]
    rows: Sequence[Sequence[Cell]]


def grid(table: Table, colours: Mapping[str, int] | None = None) -> Grid:
    """Return a table of results as a page shows it; `colours` has those of the models that have one of their own."""
    heads = [Head(column.heading, column.help, column.is_text) for column in table.columns]
    rows = [[cell(column, row, colours or {}) for column in table.columns] for row in table.rows]
    return Grid(table.title, heads, rows)


def cell(column: Column, row: Any, colours: Mapping[str, int]) -> Cell:
    """Return one cell: words with their full text, numbers with what they are sorted by."""
    shown, value = column.cell(row), column.read(row)
    if column.is_text:
        name = str(value)
        colour = colours.get(name) if column.field == "name" else None
        return Cell(
            shown.text, kind=f"text {KINDS.get(name, '')}".strip(), hover=hover(name, shown.text), colour=colour
        )
    return Cell(shown.text, sortable(value), shown.interval)


def hover(full: str, shown: str) -> str:
    """Return the text that is shown on hover; nothing where the text says it all."""
    return "" if shown == full else short(full, HOVER)


def sentence(text: str) -> str:
    """Return a sentence that ends in one stop, its middle left out where it is long.

    >>> sentence("Note: all rows form one block")
    'Note: all rows form one block.'
    """
    return short(f"{text.rstrip('.')}.", SENTENCE)


def sortable(value: Any) -> float | None:
    """Return the number that a cell is sorted by; None for what is undefined or infinite."""
    first = value[0] if isinstance(value, tuple) else value
    return float(first) if isinstance(first, int | float) and isfinite(first) else None
