"""Streamed segments: how each model does on the rows with one label, and whether it covers too few of them."""

from collections.abc import Mapping, Sequence
from math import inf, isfinite, nan
from typing import Any

from uccurve._refusals import sentence
from uccurve.assess.segments import adjusted_segments
from uccurve.evidence.units import labelled
from uccurve.results import Segment

from ._influence import joined_label
from ._model import StreamedModel
from ._scan import Request
from ._second_pass import Sums
from ._state import State


def segments_of(
    i: int,
    model: StreamedModel,
    parts: Mapping[tuple[Any, ...], State],
    request: Request,
    sums: Sums,
) -> list[Segment]:
    """One model on the segments of each feature, p-values adjusted for all of them."""
    found = []
    for feature in request.features:
        places = [request.by.index(name) for name in feature]
        labels = sums.labels(places)
        for label, state in _by_label(parts, places).items():
            part = StreamedModel(model.name, state, model.settings)
            sides = sums.split(labels == label, state.rows, state.total)
            found.append(_segment(i, (model, part), (", ".join(feature), label), sides))
    return adjusted_segments(found, model.settings.confidence_level)


def _by_label(parts: Mapping[tuple[Any, ...], State], places: Sequence[int]) -> dict[str, State]:
    """State of the rows with each label of a feature."""
    if unlabelled := sum(state.rows + state.dropped for key, state in parts.items() if None in key):
        total = sum(state.rows + state.dropped for state in parts.values())
        raise ValueError(sentence(labelled("by"), unlabelled, total))
    found: dict[str, list[State]] = {}
    for key, state in parts.items():
        if state.rows:
            found.setdefault(joined_label(key[place] for place in places), []).append(state)
    return {label: State.union(found[label]) for label in sorted(found)}


def _segment(
    i: int,
    models: tuple[StreamedModel, StreamedModel],
    key: tuple[str, str],
    sides: tuple[Sums, Sums],
) -> Segment:
    """One model on one segment, with the one-sided p-values of too little coverage."""
    (whole, part), (inside, rest) = models, sides
    settings, level = whole.settings, whole.settings.confidence_level
    share, change = part.coverage, inside.share({f"{i} covered": 1.0})[1]
    flag = f"{i} reached" if whole.to_the_end else f"{i} shipped"
    shipped = inside.share({flag: 1.0}) if isfinite(whole.target.value) else (nan, None)
    pvalue = shipped_pvalue = nan
    if settings.coverage is not None:
        pvalue = inside.units.share_tail(share, change, whole.alpha, level)
        shipped_pvalue = inside.units.share_tail(*shipped, whole.alpha, level)
    elif rest.units.rows and inside.units.count > 1:
        pvalue = inside.lower_share_test(rest, f"{i} covered")
    low, high = inside.units.share_ends(share, change, level)
    return Segment(
        feature=key[0],
        label=key[1],
        model=whole.name,
        n=part.state.rows,
        coverage=share,
        coverage_low=low,
        coverage_high=high,
        scale=part.target.value,
        half_width=part.answers.binned.half_width * part.target.value
        if isfinite(part.target.value)
        else inf,
        score=part.answers.best_score(coverage=1 - part.alpha).middle,
        skill=part.answers.skill().middle,
        target=settings.coverage,
        pvalue=pvalue,
        shipped_coverage=shipped[0],
        shipped_pvalue=shipped_pvalue,
    )
