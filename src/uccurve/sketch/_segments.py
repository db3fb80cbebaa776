"""Streamed segments: what sums say of each model on the rows with one label."""

from collections.abc import Mapping, Sequence
from math import isfinite, nan
from typing import Any, NamedTuple

from uccurve._refusals import sentence
from uccurve.assess.segments import NOTHING_SHIPS, SegmentFacts, tested_segments
from uccurve.evidence.units import labelled
from uccurve.results import Segment

from ._answers import Answers
from ._influence import joined_label
from ._scan import FrameRequest
from ._second_pass import Sums, of
from ._source import BinsSource
from ._state import SketchState

Parts = Mapping[tuple[Any, ...], SketchState]


class Streamed(NamedTuple):
    """A streamed model with the factor that ships, and its number among the columns of the sums."""

    number: int
    source: BinsSource
    t: float


def streamed_segments(
    streamed: Streamed, parts: Parts, request: FrameRequest, sums: Sums
) -> list[Segment]:
    """One model on the segments of each feature."""
    facts = []
    for feature in request.features:
        places = [request.by.index(name) for name in feature]
        labels = sums.labels(places)
        for label, state in rows_by_label(parts, places).items():
            if not state.rows:
                continue
            inside, rest = sums.split(labels == label, state)
            named = (", ".join(feature), label)
            facts.append(_facts(streamed, named, state, inside, rest))
    return tested_segments(facts, streamed.source)


def rows_by_label(parts: Parts, places: Sequence[int]) -> dict[str, SketchState]:
    """State of the rows with each label of a feature."""
    unlabelled = [state for key, state in parts.items() if None in key]
    if unlabelled:
        missing = sum(state.rows + state.dropped for state in unlabelled)
        total = sum(state.rows + state.dropped for state in parts.values())
        raise ValueError(sentence(labelled("by"), missing, total))
    states: dict[str, list[SketchState]] = {}
    for key, state in parts.items():
        states.setdefault(joined_label(key[place] for place in places), []).append(state)
    return {label: SketchState.union(states[label]) for label in sorted(states)}


def _facts(
    streamed: Streamed, named: tuple[str, str], state: SketchState, inside: Sums, rest: Sums
) -> SegmentFacts:
    """One model on one segment."""
    i, source, t = streamed
    level = source.settings.confidence_level
    model = source.model
    answers = Answers(state)
    coverage = 1 - model.alpha
    constant_t = model.constant_target.value
    ships = isfinite(t) and isfinite(constant_t)
    against_rest = nan
    if source.settings.coverage is None and inside.units.count > 1:
        against_rest = inside.missed_more_often(rest, of(i, "open"))
    half_width = score = constant = nan
    if ships:
        half_width = answers.binned.half_width * t / source.unit
        score = answers.interval_score(coverage=coverage, at=t).middle / source.unit
        constant = answers.constant_score(coverage=coverage, at=constant_t).middle / source.unit
    feature, label = named
    return SegmentFacts(
        feature=feature,
        label=label,
        n=state.rows,
        blocks=inside.units.count,
        delivered=inside.covered(of(i, "open"), level),
        shipped=inside.covered(_flag_at(i, source, t), level) if isfinite(t) else NOTHING_SHIPS,
        t=answers.place_for_new_rows(coverage).value,
        half_width=half_width,
        score=score,
        constant_score=constant,
        against_rest=against_rest,
    )


def _flag_at(i: int, source: BinsSource, t: float) -> str:
    """Column that says which rows are missed with a factor."""
    if t == source.model.target.value:
        return of(i, "missed")
    if t == 1:
        return of(i, "open")
    return of(i, "chosen")
