"""Sections: what the page says of the model to ship, of pairs of models and of segments, in words and tables."""

import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from uccurve import view
from uccurve.results import Assessment
from uccurve.view import SegmentMap, segment_map
from uccurve.words.columns import OTHERS, PAIRS, POCKETS, SEGMENTS, chosen
from uccurve.words.formats import Shipment, counted, joined, short
from uccurve.words.tables import (
    SEGMENTS_SHOWN,
    Table,
    fixed,
    listed_pockets,
    listed_segments,
    lowest_first,
    pairs_of_best,
    pocket_lines,
    segments_title,
    winner_tables,
)

PAIRS_LISTED, SEGMENTS_LISTED, CROSSINGS = 500, 500, 40  # that the page lists at most


def command(assessment: Assessment, reading: Sequence[str] | None) -> str:
    """Return what applies the verdict: on the command line or, where no command can read the file, in Python.

    `reading` are the file of the model to ship and the options that say how to read it. It is empty where nothing is
    to be done, or nothing helps.
    """
    verdict = assessment.verdict
    if verdict.unchanged or not verdict.reachable:
        return ""
    if reading is None:
        return python_command(assessment)
    files = ["--from", "ASSESSMENT.json", "new.csv", "-o", "calibrated.csv"]
    return shlex.join(["uccurve", "calibrate", *files, *reading[1:]])


def python_command(assessment: Assessment) -> str:
    """Return the call that moves the bands of intervals as the verdict says."""
    verdict = assessment.verdict
    intervals = (
        "intervals" if verdict.level is None else f"curve.intervals_at(level={verdict.level:g})"
    )
    if assessment[verdict.model].move.kind == "shift":
        return f"{intervals}.calibrated(shift={verdict.shift:.6g})"
    return f"{intervals}.calibrated(scale={verdict.scale:.6g})"


def findings(assessment: Assessment) -> dict[str, str]:
    """Return what each section found, in a few words, by its id."""
    has_levels = any(len(row.levels) > 1 for row in assessment.rows)
    calibrated = view.levels_finding if has_levels else view.calibration_finding
    return {
        "why": view.decomposition_finding(assessment),
        "calibration": calibrated(assessment),
        "pit": view.pit_finding(assessment) if has_levels else "",
        "curves": view.half_width_finding(assessment),
        "pairs": _differ(assessment) if assessment.comparisons else "",
        "segments": view.segments_finding(assessment),
        "pockets": _pockets_finding(assessment),
        "paper": view.areas_finding(assessment),
    }


def _pockets_finding(assessment: Assessment) -> str:
    """How many regions of the features the factor for all rows leaves too narrow or too wide."""
    model = _own_pockets(assessment)
    if model is None:
        return ""
    name = short(model.model)
    if not model.pockets and not model.wide:
        return f"No pocket of {name} was found"
    counts = []
    for kind, regions in (("too narrow", model.pockets), ("too wide", model.wide)):
        if regions:
            counts.append(f"{kind} in {counted(len(regions), 'region')}")
    return f"{name} is {joined(counts)} of the features"


class Pairs(NamedTuple):
    """Pairs of models: those with the model to ship, all of them, and where curves cross."""

    of_shipped: Table
    full: Table | None
    crossings: Sequence[str]


def pairs(assessment: Assessment) -> Pairs | None:
    """Return which models differ significantly, the model to ship first; None for a single model."""
    tested = assessment.comparisons
    if not tested:
        return None
    settings = assessment.settings
    shipped = pairs_of_best(assessment)
    listed = tested[:PAIRS_LISTED]
    title = f"{len(listed):,} of {len(tested):,} pairs"
    others = "the others" if len(shipped) > 1 else "the other"
    of_shipped = Table(
        f"{short(assessment.verdict.model)} vs. {others}: paired tests, adjusted by Holm's method",
        chosen(OTHERS, shipped, settings),
        shipped,
    )
    full = Table(title, chosen(PAIRS, listed, settings), listed)
    return Pairs(of_shipped, full if len(tested) > len(shipped) else None, _crossings(assessment))


def _differ(assessment: Assessment) -> str:
    """How many pairs differ significantly."""
    tested = assessment.comparisons
    different = sum(pair.better is not None for pair in tested)
    if len(tested) == 1:
        differ = "differ" if different else "do not differ"
        return f"The two models {differ} significantly"
    return f"{different} of {len(tested):,} pairs differ significantly"


def _crossings(assessment: Assessment) -> list[str]:
    """Where curves cross, those of the model to ship first, then by rank."""
    shipped = assessment.verdict.model
    rank = {row.name: row.rank for row in assessment.rows}
    ordered = sorted(
        assessment.crossings,
        key=lambda pair: (shipped not in pair.names, sum(rank[name] for name in pair.names)),
    )
    return [
        f"{' vs. '.join(map(short, pair.names))}: {pair.verdict}" for pair in ordered[:CROSSINGS]
    ]


class Segments(NamedTuple):
    """What the page says of segments: what the factor fixes, the worst, all of them, the map, and who wins where."""

    headline: str
    sentences: Sequence[str]
    worst: Table
    full: Table
    map: SegmentMap
    winners: Sequence[Table]


def segments(assessment: Assessment) -> Segments | None:
    """Return where models fail, the worst first; None where there are no segments."""
    every = assessment.segments
    if not every:
        return None
    return Segments(
        f"{segments_title(assessment)}.",
        [sentence for row in assessment.ranking for sentence in fixed(row, assessment)],
        _worst(assessment),
        _all(assessment),
        segment_map(assessment),
        list(winner_tables(assessment, full=True)),
    )


def _all(assessment: Assessment) -> Table:
    """All segments, or as many as a page can hold, those of the best models first."""
    every = assessment.segments
    title = f"All {len(every):,} segments"
    if len(every) > SEGMENTS_LISTED:
        rank = {row.name: row.rank for row in assessment.rows}
        every = tuple(sorted(every, key=lambda segment: rank[segment.model])[:SEGMENTS_LISTED])
        title = f"{len(every):,} of {len(assessment.segments):,} segments, those of the best models"
    return Table(title, chosen(SEGMENTS, every, assessment.settings), every)


class MapCell(NamedTuple):
    """One cell of the map of two features: its coverage, its rows, and whether a pocket is there."""

    covered: float
    rows: int
    fails: bool


class PocketsPart(NamedTuple):
    """What the page says of pockets: sentences, a table of all, and the map of the two strongest features."""

    sentences: Sequence[str]
    table: Table | None
    grid: Any
    across: Sequence[str]
    cells: Sequence[tuple[str, Sequence[MapCell]]]


def pockets(assessment: Assessment) -> PocketsPart | None:
    """Return where the model to ship fails by the features; None where there were no features."""
    model = _own_pockets(assessment)
    if model is None:
        return None
    sentences = [
        *pocket_lines(model, assessment),
        *(f"{note}." for note in assessment.pockets.notes),
    ]
    listed = listed_pockets(assessment, full=True)
    table = Table("Pockets", chosen(POCKETS, listed, assessment.settings), listed)
    shown = table if listed else None
    if model.map is None:
        return PocketsPart(sentences, shown, None, [], [])
    across, cells = _map_cells(model)
    return PocketsPart(sentences, shown, model.map, across, cells)


def _own_pockets(assessment: Assessment) -> Any:
    """What the features tell about the misses of the model to ship; None where they were not looked at."""
    if assessment.pockets is None:
        return None
    for model in assessment.pockets.models:
        if model.model == assessment.verdict.model:
            return model
    return None


def _map_cells(model: Any) -> tuple[list[str], list[tuple[str, list[MapCell]]]]:
    """Return the places across that hold rows, and the lines of the map from top to bottom, each with its name."""
    grid = model.map
    rows = np.array(grid.rows)
    inside = np.zeros(rows.shape, np.bool_)
    for pocket in model.pockets:
        inside |= grid.inside(pocket.region)
    columns = np.flatnonzero(rows.sum(axis=0))
    lines = []
    for y in np.flatnonzero(rows.sum(axis=1))[::-1]:
        fails = inside[y].tolist()
        cells = [MapCell(grid.coverage[y][x], grid.rows[y][x], fails[x]) for x in columns]
        lines.append((grid.y.places[y], cells))
    return [grid.x.places[x] for x in columns], lines


def _worst(assessment: Assessment) -> Table:
    """The most significant failures with the factor each would need; where none fails, the lowest coverages."""
    failing = listed_segments(assessment)
    listed = (failing or lowest_first(assessment))[:SEGMENTS_SHOWN]
    title = "Segments left short" if failing else "Lowest coverage"
    if len(failing) > len(listed):
        title = f"The worst {len(listed)} of {len(failing)}"
    columns = chosen(SEGMENTS, listed, assessment.settings)
    if failing:  # the title says it of all
        columns = [column for column in columns if column.name != "state"]
    if len({segment.model for segment in listed}) == 1:
        title = f"{title}: {_as_a_whole(assessment, listed[0].model)}"
        columns = [column for column in columns if column.name != "model"]
    return Table(title, columns, listed)


def _as_a_whole(assessment: Assessment, name: str) -> str:
    """A model and what all its rows together need."""
    row = assessment[name]
    need = Shipment(name, row.move, row.side).change
    return f"{short(name)}, which needs bands {need} as a whole"
