"""Findings: what two passes over a frame, or kept sketches, say about the models whose intervals they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite, nan
from typing import Any, NamedTuple

from narwhals.typing import IntoFrame

from uccurve import _checks as checks
from uccurve._checks import Array
from uccurve.compare.results import AssessmentSettings, ModelRow, Segment
from uccurve.compare.segments import adjusted_segments

from ._answers import Answers
from ._engines import Columns, Request, Scan, states
from ._influence import Pairs, Units, joined_label
from ._model import StreamedModel, block_pairs
from ._second_pass import Sums, level_fields, second_pass
from ._state import SUMS, State

# Names of a model's columns: y_pred, lower, upper; or y_pred and a mapping from level to lower and upper.
Bounds = Sequence[Any]


class Findings(NamedTuple):
    """Models on the same rows, with what is known about chance."""

    models: Sequence[StreamedModel]
    rows: Sequence[ModelRow]
    units: Units
    pairs: Mapping[str, Pairs]  # by statistic
    segments: Sequence[Segment] = ()
    engine: str | None = None


def findings(
    frame: IntoFrame, models: Mapping[str, Bounds], request: Request, settings: AssessmentSettings
) -> Findings:
    """Assess the models of a frame in two passes."""
    intervals, given = _intervals(models, settings.shown_coverage)
    scan = Scan.of(frame, intervals, request)
    groups = states(scan)
    whole = [State.union(list(parts.values())) for parts in groups]
    streamed = []
    for name, (place, levels) in given.items():
        own = {level: Answers(whole[at]) for level, at in levels.items()}
        streamed.append(StreamedModel(name, whole[place], settings, models[name][0], place, levels, own))
    sums = second_pass(scan, streamed, blocks=request.block is not None)
    streamed = [model.checked(sums.mean(f"{i} shipped")) for i, model in enumerate(streamed)]
    rows, segments = list[ModelRow](), list[Segment]()
    changes = [sums.changes(i, model) for i, model in enumerate(streamed)]
    for i, model in enumerate(streamed):
        rows.append(model.row(sums.units, changes[i], sums.mean(f"{i} above"), level_fields(i, model, sums)))
        segments += _segments(i, model, groups[model.place], request, sums)
    pairs = sums.pairs(streamed) if sums.labels is None else block_pairs(streamed, changes)
    engine = str(scan.rows.implementation.value)
    return Findings(streamed, rows, sums.units, pairs, segments, "spark" if "spark" in engine else engine)


def _intervals(
    models: Mapping[str, Bounds], coverage: float
) -> tuple[list[Columns], dict[str, tuple[int, dict[float, int]]]]:
    """Intervals of all models and levels, and for each model the places of the delivered ones and of its levels."""
    if not models:
        raise ValueError("`models` must name at least one model.")
    found, places = list[Columns](), dict[str, tuple[int, dict[float, int]]]()
    for name, columns in models.items():
        y_pred, *bounds = columns
        if len(bounds) == 2:
            places[name] = len(found), {}
            found.append(Columns(name, y_pred, *bounds))
            continue
        if len(bounds) != 1 or not isinstance(bounds[0], Mapping):
            raise ValueError(f"`models[{name!r}]` must be three columns: y_pred, lower, upper; got {columns!r}.")
        levels = dict(sorted(bounds[0].items()))
        if not levels or not all(0 < checks.real("level", level) < 1 for level in levels):
            raise ValueError(f"`models[{name!r}]` must have levels between 0 and 1, both excluded.")
        own = {level: len(found) + k for k, level in enumerate(levels)}
        above = min((level for level in own if level >= coverage), default=max(own))
        below = max((level for level in own if level < above), default=0.0)
        share = min((coverage - below) / (above - below), 1.0)
        for level, (lower, upper) in levels.items():
            delivered = share == 1 and level == above
            found.append(Columns(name, y_pred, lower, upper, tuple(SUMS) if delivered else ("critical",)))
        if share < 1:
            found.append(Columns(name, y_pred, None, None, between=(own.get(below), own[above], share)))
        places[name] = own[above] if share == 1 else len(found) - 1, own
    return found, places


# ---- segments


def _segments(
    i: int, model: StreamedModel, parts: Mapping[tuple[Any, ...], State], request: Request, sums: Sums
) -> list[Segment]:
    """One model on the segments of each feature, p-values adjusted for all of them."""
    found = []
    for feature in request.features:
        places = [request.by.index(name) for name in feature]
        for label, state in _by_label(parts, places).items():
            part = StreamedModel(model.name, state, model.settings)
            sides = sums.split(places, label, state.rows, state.total)
            found.append(_segment(i, (model, part), (", ".join(feature), label), sides))
    return adjusted_segments(found, model.settings.confidence_level)


def _by_label(parts: Mapping[tuple[Any, ...], State], places: Sequence[int]) -> dict[str, State]:
    """State of the rows with each label of a feature."""
    unlabelled = sum(state.rows + state.dropped for key, state in parts.items() if None in key)
    if unlabelled:
        total = sum(state.rows + state.dropped for state in parts.values())
        raise ValueError(
            f"`by` must hold a label in each row: {unlabelled} of {total} rows have none. "
            "Hint: give such rows a label of their own."
        )
    found: dict[str, list[State]] = {}
    for key, state in parts.items():
        if state.rows:
            found.setdefault(joined_label(key[place] for place in places), []).append(state)
    return {label: State.union(found[label]) for label in sorted(found)}


def _segment(
    i: int, models: tuple[StreamedModel, StreamedModel], key: tuple[str, str], sides: tuple[Sums, Sums]
) -> Segment:
    """One model on one segment, with the one-sided p-values of too little coverage."""
    (whole, part), (inside, rest) = models, sides
    settings, level = whole.settings, whole.settings.confidence_level
    shipped: tuple[float, Array | None] = nan, None
    share, change = part.coverage, inside.share({f"{i} covered": 1.0})[1]
    if isfinite(whole.target.value):
        shipped = inside.share({f"{i} reached" if whole.to_the_end else f"{i} shipped": 1.0})
    pvalue = shipped_pvalue = nan
    if settings.coverage is not None:
        pvalue = inside.units.share_tail(share, change, whole.alpha, level)
        shipped_pvalue = inside.units.share_tail(*shipped, whole.alpha, level)
    elif rest.units.rows and inside.units.count > 1:
        pvalue = inside.lower_share_test(rest, f"{i} covered")
    low, high = inside.units.share_ends(share, change, level)
    scale = part.target.value
    return Segment(
        feature=key[0],
        label=key[1],
        model=whole.name,
        n=part.state.rows,
        coverage=share,
        coverage_low=low,
        coverage_high=high,
        scale=scale,
        half_width=part.answers.binned.half_width * scale if isfinite(scale) else inf,
        score=part.brackets["score"].middle,
        skill=part.brackets["skill"].middle,
        target=settings.coverage,
        pvalue=pvalue,
        pvalue_holm=pvalue,
        fails=False,
        shipped_coverage=shipped[0],
        shipped_pvalue=shipped_pvalue,
    )
