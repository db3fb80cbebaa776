"""Segments: where models fail, that is the worst first, a map of all, and the full table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uccurve.compare._case import change
from uccurve.compare._columns import SEGMENTS, chosen
from uccurve.compare._formats import coverage, share, short
from uccurve.compare._tables import SEGMENTS_SHOWN, Table, listed_segments

from ._grids import Grid, grid, hover

if TYPE_CHECKING:
    from uccurve.compare.results import Assessment, Segment

NAMED = 5
"""Models that a sentence names."""
MAPPED = 12
"""Models that the map has room for."""
STRONGEST = 0.15
"""Distance from the target, as a share of rows, from which on colours do not deepen."""


@dataclass(frozen=True, slots=True)
class Spot:
    """One cell of the map: a coverage, how strong its colour is, and on which side of the target it lies."""

    text: str
    heat: float
    side: str
    fails: bool
    hover: str


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Coverage as delivered: one row per segment, one column per model, with names and their full texts."""

    caption: str
    against: str
    models: Sequence[tuple[str, str]]
    rows: Sequence[tuple[str, str, Sequence[Spot | None]]]


@dataclass(frozen=True, slots=True)
class Segments:
    """What the page says of segments."""

    sentences: Sequence[str]
    worst: Grid
    heat: HeatMap
    full: Grid


def segments(found: Assessment) -> Segments | None:
    """Return what the page says of segments; None where there are none."""
    if not found.segments:
        return None
    return Segments(_sentences(found), _worst(found), _heat_map(found), _full(found))


def _sentences(found: Assessment) -> list[str]:
    """Return which models fail as a whole, once, and how many segments of the others fail."""
    skipped, listed = found.uncalibrated, listed_segments(found)
    total = sum(one.model not in skipped for one in found.segments)
    if not total:
        return [_as_a_whole(found)]
    count = f"{len(listed)} of {total}" if listed else f"None of the {total}"
    other = " of the other models" if skipped else ""
    verb = "falls" if len(listed) < 2 else "fall"
    short_of = "the model's other rows" if found.settings.coverage is None else coverage(found.settings.coverage)
    fails = f"{count} segments{other} {verb} short of {short_of} by more than chance explains."
    return [_as_a_whole(found), fails] if skipped else [fails]


def _as_a_whole(found: Assessment) -> str:
    """Return which models are too narrow everywhere, each with how many of its segments fail for that reason."""
    names = [row.name for row in found.ranking if row.name in found.uncalibrated]
    fails = {name: [one.fails for one in found.segments if one.model == name] for name in names}
    counted = [f"{short(name)} ({sum(fails[name])} of its {len(fails[name])} segments fail)" for name in names]
    listed = ", ".join(counted[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
    return f"Too narrow as a whole, so calibrate before looking at segments: {listed}."


def _worst(found: Assessment) -> Grid:
    """Return the surest failures with the factor that each would need; where none fails, the lowest coverages."""
    failing = listed_segments(found)
    listed = failing[:SEGMENTS_SHOWN]
    if failing:
        title = f"The worst {len(listed)} of {len(failing)}" if len(failing) > len(listed) else "Segments that fail"
    else:
        own = [one for one in found.segments if one.model == found.verdict.model]
        listed = sorted(own, key=lambda one: one.coverage)[:SEGMENTS_SHOWN]
        title = "Lowest coverage"
    return grid(_one_model(Table(title, chosen(SEGMENTS, listed, found.settings), listed), found))


def _one_model(table: Table, found: Assessment) -> Table:
    """Return the table without the model's column where all rows are of one model, with what all its rows need."""
    names = {one.model for one in table.rows}
    if len(names) > 1:
        return table
    row = found[names.pop()]
    title = f"{table.title}: {short(row.name)}, which needs bands {change(row)} as a whole"
    return Table(title, [column for column in table.columns if column.field != "model"], table.rows)


def _full(found: Assessment) -> Grid:
    count = len(found.segments)
    return grid(Table(f"All {count:,} segments", chosen(SEGMENTS, found.segments, found.settings), found.segments))


def _heat_map(found: Assessment) -> HeatMap:
    names = [row.name for row in found.ranking[:MAPPED]]
    spots = {(one.title, one.model): one for one in found.segments}
    titles = list(dict.fromkeys(one.title for one in found.segments))
    few = f", the best {MAPPED} of {len(found)} models" if len(found) > MAPPED else ""
    rows = [
        (short(title), hover(title, short(title)), [_spot(found, spots.get((title, name))) for name in names])
        for title in titles
    ]
    caption = f"Coverage as delivered by segment{few}"
    against = "the model as a whole" if found.settings.coverage is None else "promised"
    return HeatMap(caption, against, [(short(name, 18), hover(name, short(name, 18))) for name in names], rows)


def _spot(found: Assessment, one: Segment | None) -> Spot | None:
    if one is None:
        return None
    far = one.coverage - (found[one.model].coverage if one.target is None else one.target)
    said = f"{short(one.model)}, {short(one.title)}: {share(one.coverage, one.coverage_low, one.coverage_high)}"
    heat = round(min(abs(far) / STRONGEST, 1.0), 2)
    return Spot(str(share(one.coverage)), heat, "below" if far < 0 else "above", one.fails, f"{said}, {one.n:,} rows")
