"""Gate words: the checks of a gate as lines for a terminal and as Markdown for a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ._formats import Cell, amount, coverage, number, p, share, short

if TYPE_CHECKING:
    from .gate import Check, Gate

SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~>-])")


def lines(gate: Gate) -> Iterator[str]:
    """Return the outcome, one line per check, and what they mean."""
    yield _outcome(gate)
    names = [_name(one) for one in gate.checks]
    width = max(map(len, names))
    for one, name in zip(gate.checks, names, strict=True):
        yield f"{_word(one)}  {name:<{width}}  {_facts(one, gate)}"
    yield from (f"Note: {note}." for note in gate.notes)
    yield f"False-alarm rate of the whole gate: {coverage(gate.level)}."


def markdown(gate: Gate) -> str:
    """Return a heading, a table of the checks and what they mean; names cannot become markup."""
    rows = [f"| {_word(one)} | {_escaped(_name(one))} | {_escaped(_facts(one, gate))} |" for one in gate.checks]
    notes = [f"- {_escaped(note)}." for note in gate.notes]
    head = [f"### {_escaped(_outcome(gate))}", "", "| | check | |", "|---|---|---|"]
    level = f"False-alarm rate of the whole gate: {coverage(gate.level)}."
    return "\n".join([*head, *rows, "", *notes, *([""] if notes else []), level]) + "\n"


def _outcome(gate: Gate) -> str:
    failed, total = sum(not one.passed for one in gate.checks), len(gate.checks)
    if gate.passed:
        return f"Gate passed: {short(gate.proposed)} may replace {short(gate.baseline)} ({total} checks)."
    return f"Gate failed: {failed} of {total} checks."


def _word(one: Check) -> str:
    return "ok  " if one.passed else "FAIL"


def _name(one: Check) -> str:
    return one.statistic if one.segment is None else f"{one.statistic}, {short(one.segment)}"


def _facts(one: Check, gate: Gate) -> str:
    sure = f"adjusted {p(one.pvalue_holm)}" if one.pvalue_holm == one.pvalue_holm else "not tested"
    if one.statistic == "coverage":
        covers = share(one.value, one.low + one.reference, one.high + one.reference)
        return f"{covers} where {coverage(gate.coverage)} is promised, n = {one.n:,}, {sure}"
    margin = f", margin {gate.margin}" if gate.margin not in (0, "0", "0%") else ""
    change = _change(one)
    return f"{number(one.value)} vs. {number(one.reference)} of {short(gate.baseline)}, {change}{margin}, {sure}"


def _change(one: Check) -> Cell:
    return amount(one.difference, one.low, one.high)


def _escaped(text: str) -> str:
    """Return text that Markdown shows as it is, and that mentions nobody."""
    plain = SPECIAL.sub(r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;"))
    return plain.replace("@", "&#64;")
