"""Summary: what a person at a terminal reads of an assessment."""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan
from typing import TYPE_CHECKING

from uccurve.compare.assess import GAINS

from ._console import Cell, show_table, show_text

if TYPE_CHECKING:
    from uccurve._checks import Axes, Range
    from uccurve.compare.assessment import Assessment, ModelRow, Segment

SEGMENTS = 12
"""Segments that are listed at most."""


GAIN_HEADS: list[Cell] = ["model", *((f"{x}/", y) for _, (x, y) in GAINS), "partial"]
"""Columns of a table of gains."""
GAIN_FIELDS = (*(name for name, _ in GAINS), "partial_gain")
"""What stands in them, beside the model."""


def cost_title(c: float, axes: Axes) -> str:
    """Title of a table of costs.

    >>> cost_title(0.1, ("bandwidth", "miss_rate"))
    'As delivered, and at the least cost 0.1 x bandwidth + 0.9 x miss_rate'
    """
    return f"As delivered, and at the least cost {c:g} x {axes[0]} + {1 - c:g} x {axes[1]}"


def partial_note(axes: Axes, miss_rate: Range) -> str:
    """What the column of partial gains holds.

    >>> partial_note(("bandwidth", "miss_rate"), (0, 0.5))
    'partial: bandwidth/miss_rate where the miss rate is 0 to 0.5'
    """
    return f"partial: {'/'.join(axes)} where the miss rate is {miss_rate[0]:g} to {miss_rate[1]:g}"


def show(found: Assessment) -> None:
    """Print the tables of an assessment, then what they mean in words."""
    settings = found.settings
    level = f"{100 * settings.confidence_level:g} %"
    heads: list[Cell] = ["model", "rank", f"miss rate [{level}]", "bandwidth", "cost", "least cost", "at scale"]
    if settings.alpha is not None:
        heads.append("interval score")
    show_table(cost_title(settings.c, settings.axes), heads, map(_delivered, found.ranking))
    gains: list[list[Cell]] = [[row.name, *(_gain(row, name) for name in GAIN_FIELDS)] for row in found.ranking]
    note = partial_note(settings.axes, settings.miss_rate)
    show_table(f"Gain over the constant band, % [{level} interval]", GAIN_HEADS, gains, note=note)
    _show_pairs(found)
    _show_segments(found)
    crossings = [f"{' / '.join(one.names)}: {one.verdict}." for one in found.crossings]
    show_text([*crossings, *(f"Note: {note}" for note in found.notes)])


def _show_pairs(found: Assessment) -> None:
    if not found.comparisons:
        return
    title = f"Paired permutation tests of the {found.comparisons[0].statistic} on {'/'.join(found.settings.axes)}"
    pairs = [
        [f"{one.first} / {one.second}", *_digits(one.difference, one.pvalue, one.pvalue_holm), one.better or "-"]
        for one in found.comparisons
    ]
    show_table(title, ["pair", "difference", "p", "adjusted p", "better"], pairs)


def _digits(difference: float, *pvalues: float) -> list[str]:
    return [f"{difference:.4g}", *(f"{pvalue:.3g}" for pvalue in pvalues)]


def _delivered(row: ModelRow) -> list[Cell]:
    miss = f"{100 * row.miss_rate:.1f} % [{100 * row.miss_rate_low:.1f}, {100 * row.miss_rate_high:.1f}]"
    cells = [row.name, str(row.rank), miss, f"{row.bandwidth:.4g}", f"{row.cost:.4g}", f"{row.cheapest_cost:.4g}"]
    score = [] if row.interval_score is None else [f"{row.interval_score:.4g}"]
    return [*cells, f"{row.cheapest_scale:.4g}", *score]


def _gain(row: ModelRow, name: str) -> Cell:
    value, low, high = (round(100 * getattr(row, name + end), 1) + 0.0 for end in ("", "_low", "_high"))
    if isnan(value):
        return "-"
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
