"""Page: the tables of a Markdown page between ``<!-- bench NAME -->`` and ``<!-- end NAME -->``, and what they hold."""

from __future__ import annotations

import re
import tempfile
from itertools import groupby
from pathlib import Path
from typing import Any

from .measure import Row, cell, kind

FIGURES = ("median wall", "value", "memory", "times as fast", "cpu")
"""Columns that a limit speaks of; the first one a row has."""


def section(text: str, name: str) -> re.Match[str]:
    """Return the match of one benchmark's place on the page."""
    found = re.search(rf"(?<=<!-- bench {name} -->\n).*?(?=<!-- end {name} -->)", text, re.DOTALL)
    if found is None:
        raise ValueError(
            f"the page must have a place between <!-- bench {name} --> and <!-- end {name} -->."
        )
    return found


def replaced(text: str, name: str, rows: list[Row], machine: dict[str, Any]) -> str:
    """Return the page with new figures of one benchmark."""
    place = section(text, name)
    body = "\n\n".join(_table(list(group)) for _, group in groupby(rows, key=kind))
    return f"{text[: place.start()]}\n{_measured_on(machine)}\n\n{body}\n\n{text[place.end() :]}"


def write(page: Path, results: dict[str, dict[str, Any]]) -> None:
    """Put the results on the page, whole or not at all."""
    text = page.read_text(encoding="utf-8")
    for name, result in results.items():
        text = replaced(text, name, result["rows"], result["machine"])
    with tempfile.NamedTemporaryFile("w", dir=page.parent, delete=False, encoding="utf-8") as file:
        file.write(text)
    Path(file.name).chmod(page.stat().st_mode)
    Path(file.name).replace(page)


def tables(text: str) -> list[list[dict[str, str]]]:
    """Return all tables of a text; every row must have as many cells as the heading of its table."""
    found = []
    for block in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        heading, rule, *lines = (
            [part.strip() for part in line.strip("|").split("|")] for line in block.splitlines()
        )
        if not all(re.fullmatch("-+:?", mark) for mark in rule):
            raise ValueError(f"a table needs a rule under its heading: {' '.join(heading)}.")
        found.append([dict(zip(heading, line, strict=True)) for line in (rule, *lines)][1:])
    return found


def misses(text: str) -> list[str]:
    """Return the first cell of every row whose figure breaks the limit in the same row."""
    rows = [row for table in tables(text) for row in table]
    return [next(iter(row.values())) for row in rows if _broken(row)]


def _broken(row: dict[str, str]) -> bool:
    figure = next((float(row[name]) for name in FIGURES if row.get(name)), None)
    if figure is None:
        return False
    most, least = (
        float(row.get(name) or nothing)
        for name, nothing in (("at most", "inf"), ("at least", "-inf"))
    )
    return not least <= figure <= most


def _measured_on(machine: dict[str, Any]) -> str:
    names = ("processor", "system")
    parts = [
        f"{machine['cores']} cores",
        f"Python {machine['python']}",
        f"numpy {machine['numpy']}",
    ]
    load = "" if machine["load"] is None else f"; load {machine['load']} before the run"
    return f"Measured on {', '.join([*(str(machine[name]) for name in names), *parts])}{load}."


def _table(rows: list[Row]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    numeric = [all(not isinstance(row.get(name), str) for row in rows) for name in names]
    rule = ["--:" if right else "---" for right in numeric]
    lines = [
        names,
        rule,
        *([cell(row.get(name)).replace("|", "/") for name in names] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
