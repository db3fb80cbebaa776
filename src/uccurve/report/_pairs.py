"""Pairs: which models differ by more than chance explains, and where their curves cross."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uccurve.compare._columns import PAIRS, chosen
from uccurve.compare._formats import short
from uccurve.compare._tables import Table

from ._grids import Grid, grid, sentence

if TYPE_CHECKING:
    from uccurve.compare.results import Assessment, Comparison

LISTED, CROSSINGS = 1000, 40
"""Pairs and crossings that the page lists at most."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of models: how many differ, those with the model to ship, all of them, and where curves cross."""

    sentences: Sequence[str]
    own: Grid
    full: Grid | None
    crossings: Sequence[str]


def pairs(found: Assessment) -> Pairs | None:
    """Return what the page says of pairs; None for a single model."""
    tested, best = found.comparisons, found.verdict.model
    if not tested:
        return None
    rank = {row.name: row.rank for row in found.rows}
    own = sorted(
        (one for one in tested if best in (one.first, one.second)), key=lambda one: rank[one.first] + rank[one.second]
    )
    notes = dict.fromkeys(sentence(f"Note: {one.note}") for one in tested if one.note)
    return Pairs(
        [_significant(tested), *notes],
        _grid(found, own, f"{short(best)} vs. {'the others' if len(own) > 1 else 'the other'}"),
        _grid(found, tested[:LISTED], _all(len(tested))) if len(tested) > len(own) else None,
        _crossings(found),
    )


def _significant(tested: Sequence[Comparison]) -> str:
    sure = sum(one.better is not None for one in tested)
    if len(tested) > 1:
        return f"{sure} of {len(tested):,} pairs differ significantly (paired tests, adjusted by Holm's method)."
    return f"The two models {'differ' if sure else 'do not differ'} significantly (paired test)."


def _all(count: int) -> str:
    return f"The first {LISTED:,} of {count:,} pairs" if count > LISTED else f"All {count:,} pairs"


def _grid(found: Assessment, tested: Sequence[Comparison], title: str) -> Grid:
    return grid(Table(title, chosen(PAIRS, tested, found.settings), tested))


def _crossings(found: Assessment) -> list[str]:
    """Return where curves cross, those of the model to ship first."""
    rank = {row.name: row.rank for row in found.rows}
    best = found.verdict.model
    ordered = sorted(found.crossings, key=lambda one: (best not in one.names, sum(rank[name] for name in one.names)))
    return [sentence(f"{' vs. '.join(map(short, one.names))}: {one.verdict}") for one in ordered[:CROSSINGS]]
