"""Pairs: which models differ by more than chance explains, and where their curves cross."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from uccurve.compare._columns import PAIRS, chosen
from uccurve.compare._formats import short
from uccurve.compare._tables import Table

if TYPE_CHECKING:
    from uccurve.compare.results import Assessment, Comparison

LISTED, CROSSINGS = 1000, 40
"""Pairs and crossings that the page lists at most."""


class Pairs(NamedTuple):
    """Pairs of models: how many differ, those with the model to ship, all of them, and where curves cross."""

    sentences: Sequence[str]
    own: Table
    full: Table | None
    crossings: Sequence[str]


def pairs(found: Assessment) -> Pairs | None:
    """Return what the page says of pairs, those of the model to ship first; None for a single model."""
    tested, best = found.comparisons, found.verdict.model
    if not tested:
        return None
    rank = {row.name: row.rank for row in found.rows}
    own = [one for one in tested if best in (one.first, one.second)]
    own.sort(key=lambda one: rank[one.first] + rank[one.second])
    crossed = sorted(found.crossings, key=lambda one: (best not in one.names, sum(rank[name] for name in one.names)))
    count = f"The first {LISTED:,} of {len(tested):,}" if len(tested) > LISTED else f"All {len(tested):,}"
    return Pairs(
        [_significant(tested), *dict.fromkeys(f"Note: {one.note}" for one in tested if one.note)],
        _table(found, own, f"{short(best)} vs. {'the others' if len(own) > 1 else 'the other'}"),
        _table(found, tested[:LISTED], f"{count} pairs") if len(tested) > len(own) else None,
        [f"{' vs. '.join(map(short, one.names))}: {one.verdict}" for one in crossed[:CROSSINGS]],
    )


def _significant(tested: Sequence[Comparison]) -> str:
    sure = sum(one.better is not None for one in tested)
    if len(tested) > 1:
        return f"{sure} of {len(tested):,} pairs differ significantly (paired tests, adjusted by Holm's method)."
    return f"The two models {'differ' if sure else 'do not differ'} significantly (paired test)."


def _table(found: Assessment, tested: Sequence[Comparison], title: str) -> Table:
    return Table(title, chosen(PAIRS, tested, found.settings), tested)
