"""Segments: where models fail, that is the worst first, a map of all, and the full table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from uccurve.compare._case import change
from uccurve.compare._columns import SEGMENTS, chosen
from uccurve.compare._formats import coverage, share, short
from uccurve.compare._tables import SEGMENTS_SHOWN, Table, listed_segments

if TYPE_CHECKING:
    from uccurve.compare.results import Assessment, Segment

NAMED = 5
"""Models that a sentence names."""
MAPPED = 12
"""Models that the map has room for."""
STRONGEST = 0.15
"""Distance from the target, as a share of rows, from which on colours do not deepen."""


class Spot(NamedTuple):
    """One cell of the map: a coverage, how strong its colour is, and on which side of the target it lies."""

    text: str
    heat: float
    side: str
    fails: bool
    hover: str


class Segments(NamedTuple):
    """What the page says of segments; the map has one row per title, one column per model."""

    sentences: Sequence[str]
    worst: Table
    full: Table
    titles: Sequence[str]
    models: Sequence[str]
    spots: Mapping[tuple[str, str], Spot]


def segments(found: Assessment) -> Segments | None:
    """Return what the page says of segments; None where there are none."""
    every = found.segments
    if not every:
        return None
    return Segments(
        _sentences(found),
        _worst(found),
        Table(f"All {len(every):,} segments", chosen(SEGMENTS, every, found.settings), every),
        list(dict.fromkeys(one.title for one in every)),
        [row.name for row in found.ranking[:MAPPED]],
        {(one.title, one.model): _spot(found, one) for one in every},
    )


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


def _worst(found: Assessment) -> Table:
    """Return the surest failures with the factor that each would need; where none fails, the lowest coverages."""
    failing = listed_segments(found)
    own = [one for one in found.segments if one.model == found.verdict.model]
    listed = (failing or sorted(own, key=lambda one: one.coverage))[:SEGMENTS_SHOWN]
    title = "Segments that fail" if failing else "Lowest coverage"
    if len(failing) > len(listed):
        title = f"The worst {len(listed)} of {len(failing)}"
    columns = chosen(SEGMENTS, listed, found.settings)
    if len({one.model for one in listed}) > 1:
        return Table(title, columns, listed)
    row = found[listed[0].model]
    title = f"{title}: {short(row.name)}, which needs bands {change(row)} as a whole"
    return Table(title, [column for column in columns if column.field != "model"], listed)


def _spot(found: Assessment, one: Segment) -> Spot:
    far = one.coverage - (found[one.model].coverage if one.target is None else one.target)
    said = f"{short(one.model)}, {short(one.title)}: {share(one.coverage, one.coverage_low, one.coverage_high)}"
    heat = round(min(abs(far) / STRONGEST, 1.0), 2)
    return Spot(str(share(one.coverage)), heat, "below" if far < 0 else "above", one.fails, f"{said}, {one.n:,} rows")
