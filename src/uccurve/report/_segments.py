"""Segments: where models fail, that is the worst first, a map of all, and the full table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from uccurve.compare._case import change, fixed
from uccurve.compare._columns import SEGMENTS, chosen
from uccurve.compare._formats import counted, coverage, short
from uccurve.compare._tables import SEGMENTS_SHOWN, Table, listed_segments

if TYPE_CHECKING:
    from uccurve.compare.results import Assessment, Segment

NAMED = 5
"""Models that a sentence names."""
MAPPED = 12
"""Models that the map has room for."""


class Segments(NamedTuple):
    """What the page says of segments; the map has one row per title, one column per model."""

    sentences: Sequence[str]
    worst: Table
    full: Table
    titles: Sequence[str]
    models: Sequence[str]
    spots: Mapping[tuple[str, str], Segment]


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
        {(one.title, one.model): one for one in every},
    )


def _sentences(found: Assessment) -> list[str]:
    """Return how many segments are left short, and how many failing ones the factors of their models fix."""
    left, total, promised = len(listed_segments(found)), len(found.segments), found.settings.coverage
    count = f"{left} of {total}" if left else f"None of the {total}"
    short_of = "the model's other rows" if promised is None else f"{coverage(promised)} as shipped"
    short = f"{count} segments {'falls' if left < 2 else 'fall'} short of {short_of} by more than chance explains."
    fixes = [sentence for row in found.ranking if (sentence := fixed(row, found.segments))]
    more = (
        [f"Factors fix failing segments of {counted(len(fixes) - NAMED, 'more model')}."] if len(fixes) > NAMED else []
    )
    return [short, *fixes[:NAMED], *more]


def _worst(found: Assessment) -> Table:
    """Return the surest failures with the factor that each would need; where none fails, the lowest coverages."""
    failing = listed_segments(found)
    own = [one for one in found.segments if one.model == found.verdict.model]
    listed = (failing or sorted(own, key=lambda one: one.coverage))[:SEGMENTS_SHOWN]
    title = "Segments left short" if failing else "Lowest coverage"
    if len(failing) > len(listed):
        title = f"The worst {len(listed)} of {len(failing)}"
    columns = chosen(SEGMENTS, listed, found.settings)
    if len({one.model for one in listed}) > 1:
        return Table(title, columns, listed)
    row = found[listed[0].model]
    title = f"{title}: {short(row.name)}, which needs bands {change(row)} as a whole"
    return Table(title, [column for column in columns if column.field != "model"], listed)
