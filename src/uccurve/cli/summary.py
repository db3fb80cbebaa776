"""Summary: what a person at a terminal reads of an assessment."""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan
from typing import TYPE_CHECKING

from uccurve.compare.assess import GAINS

from .console import Cell, show_table, show_text

if TYPE_CHECKING:
    from uccurve.compare.assessment import Assessment, ModelRow, Segment

SEGMENTS = 12
"""Segments that are listed at most."""


def show(found: Assessment) -> None:
    """Print the tables of an assessment, then what they mean in words."""
    settings = found.settings
    level = f"{100 * settings.confidence_level:g} %"
    axes = "/".join(settings.axes)
    heads: list[Cell] = ["model", "rank", f"miss rate [{level}]", "bandwidth", "cost", "least cost", "at scale"]
    if settings.alpha is not None:
        heads.append("interval score")
    cost = f"{settings.c:g} x {settings.axes[0]} + {1 - settings.c:g} x {settings.axes[1]}"
    show_table(f"As delivered, and at the least cost {cost}", heads, [_delivered(row) for row in found.ranking])
    heads = ["model", *((f"{x}/", y) for _, (x, y) in GAINS), "partial"]
    low, high = settings.miss_rate
    note = f"partial: {axes} where the miss rate is {low:g} to {high:g}"
    gains: list[list[Cell]] = [
        [row.name, *(_gain(row, name) for name in (*(name for name, _ in GAINS), "partial_gain"))]
        for row in found.ranking
    ]
    show_table(f"Gain over the constant band, % [{level} interval]", heads, gains, note=note)
    if found.comparisons:
        pairs = [
            [
                f"{one.first} / {one.second}",
                f"{one.difference:.4g}",
                f"{one.pvalue:.3g}",
                f"{one.pvalue_holm:.3g}",
                one.better or "-",
            ]
            for one in found.comparisons
        ]
        what = f"Paired permutation tests of the {found.comparisons[0].statistic} on {axes}"
        show_table(what, ["pair", "difference", "p", "adjusted p", "better"], pairs)
    _show_segments(found)
    crossings = [f"{' / '.join(one.names)}: {one.verdict}." for one in found.crossings]
    show_text([*crossings, *(f"Note: {note}" for note in found.notes)])


def _delivered(row: ModelRow) -> list[Cell]:
    miss = f"{100 * row.miss_rate:.1f} % [{100 * row.miss_rate_low:.1f}, {100 * row.miss_rate_high:.1f}]"
    cells = [row.name, str(row.rank), miss, f"{row.bandwidth:.4g}", f"{row.cost:.4g}", f"{row.cheapest_cost:.4g}"]
    score = [] if row.interval_score is None else [f"{row.interval_score:.4g}"]
    return [*cells, f"{row.cheapest_scale:.4g}", *score]


def _gain(row: ModelRow, name: str) -> Cell:
    value, low, high = (round(100 * getattr(row, name + end), 1) + 0.0 for end in ("", "_low", "_high"))
    return (f"{value:+.1f}", "" if isnan(low + high) else f"[{low:.1f}, {high:.1f}]")


def _show_segments(found: Assessment) -> None:
    if not found.segments:
        return
    listed: Iterable[Segment] = found.failing[:SEGMENTS] or found.segments[:SEGMENTS]
    cells: list[list[Cell]] = [
        [
            f"{one.feature}: {one.label}",
            one.row.name,
            str(one.row.n),
            f"{100 * one.row.miss_rate:.1f} %",
            _gain(one.row, "gain_excess_deficit"),
            f"{one.pvalue_holm:.3g}",
        ]
        for one in listed
    ]
    count = f"{len(found.failing)} of {len(found.segments)} segments miss more than their target beyond chance"
    heads: list[Cell] = ["segment", "model", "rows", "miss rate", ("gain", "excess/deficit"), "adjusted p"]
    note = "" if len(cells) in (len(found.failing), len(found.segments)) else f"the first {len(cells)} are shown"
    show_table(count, heads, cells, note=note)
