"""Assess where the rows are: the verdict of `assess` from frames that stay in their engine, or from kept sketches."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import nan
from typing import Any, NamedTuple

import numpy as np
from narwhals.typing import IntoFrame

from uccurve import _refusals as checks
from uccurve._refusals import Hint, Refusal
from uccurve._vocabulary import HEADLINE, Array, Axes, Range, Unit
from uccurve.assess import cautions
from uccurve.assess.assemble import asked_settings, choice_notes, coverage_of, known_model
from uccurve.assess.choice import (
    Contender,
    NestedChoice,
    PairTest,
    Tested,
    decide,
    ranking_values,
    t_of,
    verdict_of,
    with_ranks,
)
from uccurve.assess.source import CRPS, SCORE, WIS_SCORE, Statistic, model_row
from uccurve.evidence.units import SummedUnits
from uccurve.intervals import Missing
from uccurve.results import Assessment, AssessmentSettings, Comparison, ModelRow, Segment
from uccurve.results import Missing as MissingRows
from uccurve.words import notes as sentences
from uccurve.words.formats import counted, short
from uccurve.words.verdict import worded

from ._answers import Answers
from ._bins import PER_OCTAVE, SUMS, SketchState
from ._engines import states
from ._influence import numbers_of
from ._model import StreamedModel
from ._scan import FrameRequest, IntervalColumns, Scan
from ._second_pass import Sums, of, refuse_crossing, second_pass, seen_of_blocks
from ._source import BinsSource, LevelSums, Parts, Streamed, rows_by_label, streamed_segments
from .sketch import UCCSketch

NEED_COVERAGE = Hint(
    "models of several levels need {coverage} where they are streamed: they have no level in common, and their "
    "potential CRPS needs the rows.",
    {"coverage": None},
)
# Names of a model's columns: y_pred, lower, upper; or y_pred and a mapping from level to lower and upper.
Bounds = Sequence[Any]
# Influence of independent rows on the difference of two models, by their names.
Pairs = Mapping[frozenset[str], Array]


def assess_frame(
    frame: IntoFrame,
    models: Mapping[str, Bounds],
    *,
    y_true: str = "y_true",
    coverage: float | None = None,
    weight: str | None = None,
    by: str | Sequence[str | tuple[str, ...]] | None = None,
    block: str | None = None,
    incumbent: str | None = None,
    reference: str | None = None,
    tolerance: float | None = None,
    axes: Axes = HEADLINE,
    partial: Range | None = None,
    c: float | None = None,
    unit: Unit = "raw",
    confidence_level: float = 0.95,
    min_band: float | str | None = None,
    missing: Missing = "raise",
    resolution: int = PER_OCTAVE,
) -> Assessment:
    """Assess models whose intervals are columns of a frame that stays where it is.

    The verdict, intervals and tests of `assess`, from two passes over the rows: the first sketches each model, the
    second sums the influence of the rows. Only these sums are kept, however many rows there are.

    Parameters
    ----------
    frame : IntoFrame
        pandas, Polars, PyArrow, DuckDB, Ibis, Dask, PySpark and others; lazy ones are not collected.
    models : mapping of str to columns
        Names of each model's columns: ``(y_pred, lower, upper)``, or ``(y_pred, {level: (lower, upper), ...})``.
    y_true, weight : str
        Columns of the observations and, if there are any, of the weights.
    coverage, axes, partial, c, unit, confidence_level
        As in `assess`. Models of several levels need a coverage.
    by : str or list, optional
        Columns of at most 1,000 labels, each of which makes segments; a tuple of columns is combined into one label.
        Cut numbers into bins first.
    block : str, optional
        Column of labels of dependent rows, such as a date, a series or a shop. Without it rows are independent.
    min_band, missing, resolution
        As in `UCCSketch.from_frame`. A row that lacks a value of one model is dropped for all of them.

    Returns
    -------
    Assessment
        An `Assessment` with the brackets of what the bins leave open.

    Notes
    -----
    Scales are interpolated inside their bin. Confidence intervals are widened by the bracket of their number, and a
    test counts only as much of a difference as the brackets cannot hide; a higher `resolution` narrows both. Where
    bands are asymmetric there is no interval for the area and gain on deficit vs. excess, and without the rows no
    crossings, `climatology` and `prediction`.

    Examples
    --------
    >>> import polars as pl
    >>> data = {
    ...     "y_true": [1.0, 2.0, 4.0, 0.5],
    ...     "y_pred": [0.0] * 4,
    ...     "lower": [-1.0, -1.0, -4.0, -1.0],
    ...     "upper": [1.0, 1.0, 4.0, 1.0],
    ... }
    >>> found = assess_frame(
    ...     pl.LazyFrame(data), {"GBR": ("y_pred", "lower", "upper")}, coverage=0.5
    ... )
    >>> found.verdict.model, found.verdict.scale
    ('GBR', 1.0)
    """
    columns = _model_columns(models)
    settings = asked_settings(
        coverage_of(coverage, [tuple(model.levels) for model in columns.values()]),
        tolerance=tolerance,
        incumbent=known_model("incumbent", incumbent, columns),
        reference=known_model("reference", reference, columns),
        axes=axes,
        partial=partial,
        c=c,
        unit=unit,
        confidence_level=confidence_level,
    )
    if settings.coverage is None and any(len(model.levels) > 1 for model in columns.values()):
        raise Refusal(NEED_COVERAGE, Hint("pass {coverage}", {"coverage": 0.9}))
    request = FrameRequest(y_true, weight, block, _features(by), min_band, missing, resolution)
    intervals, places = _intervals(columns, settings.shown_coverage)
    scan = Scan.of(frame, intervals, request)
    _refuse_floats(scan, request)
    groups = states(scan, _label_columns(scan, request))
    whole = [SketchState.union(list(parts.values())) for parts in groups]
    streamed = []
    for name, (place, levels) in places.items():
        answers = {level: Answers(whole[at]) for level, at in levels.items()}
        y_pred = columns[name].y_pred
        streamed.append(StreamedModel(name, whole[place], settings, y_pred, place, levels, answers))
    sums, streamed = _seen(scan, streamed, blocks=block is not None)
    sources = []
    for i, model in enumerate(streamed):
        refuse_crossing(i, model, sums)
        level_sums = LevelSums(i, model, sums) if model.levels else None
        sources.append(BinsSource(model, sums.seen(i, model), sums.units, level_sums))
    pairs = None
    if not sums.blocked:
        pairs = {name: sums.pairs(streamed, name) for name in (settings.ranked_by, "wis")}
    parts = [groups[model.place] for model in streamed] if request.features else []
    segmented = Segmented(parts, request, sums)
    streams = Streams(sources, sums.units, pairs, _engine(scan), sums.block_names, block, segmented)
    return _assessed(streams, settings, asked=coverage)


def _seen(
    scan: Scan, models: Sequence[StreamedModel], *, blocks: bool
) -> tuple[Sums, list[StreamedModel]]:
    """Pass over the rows once more, and again where interpolated factors turn out to cover too few of them."""
    streamed = list(models)
    sums = second_pass(scan, streamed, blocks=blocks)
    few = [model.covers_too_few(sums.mean(of(i, "missed"))) for i, model in enumerate(streamed)]
    if any(few):
        streamed = [
            model.at_the_end() if is_short else model
            for model, is_short in zip(streamed, few, strict=True)
        ]
        sums = second_pass(scan, streamed, blocks=blocks)
    return sums, streamed


def _features(by: Any) -> list[tuple[str, ...]]:
    """Columns of labels, each tuple of which makes segments."""
    given = [by] if isinstance(by, str) else by or ()
    return [(feature,) if isinstance(feature, str) else tuple(feature) for feature in given]


def _label_columns(scan: Scan, request: FrameRequest) -> dict[str, list[str]]:
    """Columns that hold the labels of each feature."""
    return {
        ", ".join(feature): [scan.groups[request.by.index(name)] for name in feature]
        for feature in request.features
    }


def _refuse_floats(scan: Scan, request: FrameRequest) -> None:
    """Refuse features that are numbers."""
    schema = scan.rows.collect_schema()
    for name, group in zip(request.by, scan.groups, strict=True):
        if schema[group].is_float():
            raise TypeError(
                f"`by` must name columns of labels; {name} holds floats. Hint: cut them into bins first."
            )


def _engine(scan: Scan) -> str:
    engine = str(scan.rows.implementation.value)
    return "spark" if "spark" in engine else engine


class StreamedColumns(NamedTuple):
    """Columns of a model: of its predictions, and of its bounds or of those of each level."""

    y_pred: str
    bounds: tuple[str, str] | None
    levels: Mapping[float, tuple[str, str]]


def _model_columns(models: Mapping[str, Bounds]) -> dict[str, StreamedColumns]:
    """Columns of each model, checked."""
    if not models:
        raise ValueError("`models` must name at least one model.")
    return {name: _columns_of(name, columns) for name, columns in models.items()}


def _columns_of(name: str, columns: Bounds) -> StreamedColumns:
    y_pred, *bounds = columns
    if len(bounds) == 2 and None not in bounds:
        return StreamedColumns(y_pred, (bounds[0], bounds[1]), {})
    if len(bounds) != 1 or not isinstance(bounds[0], Mapping):
        raise ValueError(
            f"`models[{name!r}]` must be three columns: y_pred, lower, upper; got {columns!r}."
        )
    levels = _levels(name, bounds[0])
    return StreamedColumns(y_pred, None, levels)


def _levels(name: str, given: Mapping[Any, tuple[str, str]]) -> dict[float, tuple[str, str]]:
    """Columns of each level, narrowest first."""
    if not given:
        raise ValueError(f"`models[{name!r}]` must have levels between 0 and 1, both excluded.")
    levels: dict[float, tuple[str, str]] = {}
    for key, columns in given.items():
        level = float(checks.proportion("level", key))
        if level in levels:
            raise ValueError(f"`levels` must differ; level {level:g} is given twice.")
        levels[level] = columns
    return dict(sorted(levels.items()))


# Place of the delivered intervals of a model, and of those of its levels.
Places = tuple[int, dict[float, int]]


def _intervals(
    models: Mapping[str, StreamedColumns], coverage: float
) -> tuple[list[IntervalColumns], dict[str, Places]]:
    """Intervals of all models and levels, and where those of each model are."""
    intervals: list[IntervalColumns] = []
    places: dict[str, Places] = {}
    for name, model in models.items():
        if model.bounds is not None:
            places[name] = len(intervals), {}
            intervals.append(IntervalColumns(name, model.y_pred, *model.bounds))
        else:
            places[name] = _add_levels(intervals, name, model, coverage)
    return intervals, places


def _add_levels(
    intervals: list[IntervalColumns], name: str, model: StreamedColumns, coverage: float
) -> Places:
    """Add the intervals of all levels, and those at the coverage where they lie between two."""
    places = {level: len(intervals) + k for k, level in enumerate(model.levels)}
    above = min((level for level in places if level >= coverage), default=max(places))
    below = max((level for level in places if level < above), default=0.0)
    widest = max(places)  # as `UCC.intervals_at` of the rows, to the last digit
    knots = below / widest, above / widest
    share = min((coverage / widest - knots[0]) / (knots[1] - knots[0]), 1.0)
    for level, (lower, upper) in model.levels.items():
        delivered = share == 1 and level == above
        histograms = tuple(SUMS) if delivered else ("critical",)
        intervals.append(IntervalColumns(name, model.y_pred, lower, upper, histograms))
    if share == 1:
        return places[above], places
    between = places.get(below), places[above], share
    intervals.append(IntervalColumns(name, model.y_pred, None, None, between=between))
    return len(intervals) - 1, places


def assess_sketches(
    models: Mapping[str, UCCSketch | Mapping[Any, UCCSketch] | Sequence[UCCSketch]],
    *,
    coverage: float | None = None,
    incumbent: str | None = None,
    reference: str | None = None,
    tolerance: float | None = None,
    axes: Axes = HEADLINE,
    partial: Range | None = None,
    c: float | None = None,
    unit: Unit = "raw",
    confidence_level: float = 0.95,
) -> Assessment:
    """Assess models from sketches that were kept for each block of dependent rows, such as each day.

    The verdict, intervals and tests of `assess` without any row: a sketch holds all sums over its block that they
    need.

    Parameters
    ----------
    models : mapping of str to mapping or list of UCCSketch
        For each model the sketches of all blocks, by a label that is the same for all models, or in the same order.
    coverage, axes, partial, c, unit, confidence_level
        As in `assess`.

    Returns
    -------
    Assessment
        As of `assess_frame`; `missed_above` and `missed_below` are nan, because sketches do not keep them.

    Examples
    --------
    >>> from uccurve import Intervals
    >>> days = [
    ...     Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, b])
    ...     for b in (4, 5, 6)
    ... ]
    >>> found = assess_sketches({"GBR": [UCCSketch().update(day) for day in days]}, coverage=0.5)
    >>> found.settings.block, found["GBR"].n
    ('3 blocks', 9)
    """
    given = {name: _labelled(parts) for name, parts in models.items()}
    labels = list(next(iter(given.values()), ()))
    if not labels or any({*parts} != {*labels} for parts in given.values()):
        raise ValueError(
            "`models` must have the same blocks for each model, at least one. Hint: label them by date."
        )
    settings = asked_settings(
        coverage,
        tolerance=tolerance,
        incumbent=known_model("incumbent", incumbent, given),
        reference=known_model("reference", reference, given),
        axes=axes,
        partial=partial,
        c=c,
        unit=unit,
        confidence_level=confidence_level,
    )
    kept = {name: [parts[label]._state for label in labels] for name, parts in given.items()}
    streamed = [
        StreamedModel(name, SketchState.union(parts), settings, to_the_end=True)
        for name, parts in kept.items()
    ]
    _refuse_other_rows(streamed)
    whole = streamed[0].state
    independent = len(labels) == whole.rows and not whole.unequal
    units = SummedUnits(whole.rows, len(labels), independent)
    sources = []
    for model in streamed:
        blocks = [numbers_of(state, model.first_scales) for state in kept[model.name]]
        numbers = np.stack(blocks, axis=1)
        seen = seen_of_blocks(model, numbers, units, above=nan, on_bounds=nan)
        sources.append(BinsSource(model, seen, units, None))
    names = [str(label) for label in labels]
    return _assessed(Streams(sources, units, None, "sketches", names), settings, asked=coverage)


def _refuse_other_rows(models: Sequence[StreamedModel]) -> None:
    """Refuse sketches of different rows."""
    if len({(model.state.rows, model.state.dropped) for model in models}) > 1:
        counts = ", ".join(
            f"{short(model.name)} {model.state.rows + model.state.dropped:,}" for model in models
        )
        raise ValueError(
            f"all models must have the same rows: {counts}. Hint: sketch the rows that all of them have."
        )


def _labelled(parts: Any) -> dict[Any, UCCSketch]:
    """Sketches by label; blocks without rows say nothing."""
    parts = [parts] if isinstance(parts, UCCSketch) else parts
    sketches = dict(parts) if isinstance(parts, Mapping) else dict(enumerate(parts))
    for sketch in sketches.values():
        if not isinstance(sketch, UCCSketch):
            raise TypeError(
                f"`models` must hold a UCCSketch for each block; got {type(sketch).__name__}."
            )
    return {label: sketch for label, sketch in sketches.items() if sketch.rows}


# ---- assembly


class Segmented(NamedTuple):
    """Rows of each model by their labels, and the sums over these."""

    parts: Sequence[Parts]
    request: FrameRequest
    sums: Sums


class Streams(NamedTuple):
    """Models without their rows, and what is independent among these."""

    sources: Sequence[BinsSource]
    units: SummedUnits
    pairs: Mapping[str, Pairs] | None  # None: blocks have an influence each
    engine: str
    block_names: Sequence[str]
    block: str | None = None  # column of their labels
    segmented: Segmented | None = None


def _assessed(streams: Streams, settings: AssessmentSettings, *, asked: float | None) -> Assessment:
    """Return the verdict on models of the same rows."""
    sources, units = streams.sources, streams.units
    if units.count < units.rows:
        by_name = f" by {streams.block}" if streams.block else ""
        settings = replace(settings, block=counted(units.count, "block") + by_name)
    rows = [_model_row(source) for source in sources]
    by_score = settings.ranked_by == "score"
    comparisons = _compared(streams, SCORE if by_score else CRPS, settings.ranked_by)
    ranked = with_ranks(rows, comparisons, ranking_values(rows, settings))
    decision = decide(ranked, comparisons, settings)
    contenders = [source for source in sources if source.name != settings.reference]
    nested: NestedChoice | None = None
    chosen = next(source for source in sources if source.name == decision.model.name)
    verdict = verdict_of(decision, chosen, settings, models=len(contenders), nested=nested)
    segments = _segments(streams, verdict.model, t_of(verdict))
    untested = cautions.not_tested(ranked, comparisons, segments, verdict.model)
    missing = _missing(streams)
    notes = [*_notes(streams, ranked, settings, asked), *choice_notes(verdict, units)]
    return Assessment(
        rows=tuple(ranked),
        comparisons=tuple(comparisons),
        wis_comparisons=tuple(_on_wis(streams)),
        segments=tuple(segments),
        notes=tuple(dict.fromkeys(notes)),
        not_tested=untested,
        missing=missing,
        settings=settings,
        verdict=worded(
            verdict,
            rows=ranked,
            settings=settings,
            comparisons=comparisons,
            segments=segments,
            missing=missing,
            not_tested=untested,
        ),
        curves={source.name: source.curve for source in sources},
        comparable=_comparable(streams),
        engine=streams.engine,
        brackets={source.name: source.model.known_brackets() for source in sources},
    )


def _model_row(source: BinsSource) -> ModelRow:
    """All numbers of a model but for those that need the rows."""
    row = model_row(source)
    unknown = source.model.unknown
    return replace(
        row,
        partial_gain=None if "partial_gain" in unknown else row.partial_gain,
        cost=None if "cost_cheapest" in unknown else row.cost,
    )


def _compared(streams: Streams, statistic: Statistic, name: Tested) -> list[Comparison]:
    """Paired t tests of all pairs on one statistic."""
    contenders = [Contender(source.name, source.evidence(statistic)) for source in streams.sources]
    level = streams.sources[0].settings.confidence_level
    if streams.pairs is None:
        return PairTest(streams.units, name, level).of_all(contenders)
    size = streams.sources[0].unit
    pairs = streams.pairs[name]

    def change(first: Contender, second: Contender) -> Array | None:
        influence = pairs.get(frozenset((first.name, second.name)))
        return None if influence is None else influence / size

    return PairTest(streams.units, name, level, change).of_all(contenders)


def _on_wis(streams: Streams) -> list[Comparison]:
    """Compare models on their WIS, where all of them have the same levels."""
    levels = {tuple(source.model.levels) for source in streams.sources}
    if len(levels) > 1 or not levels.pop():
        return []
    return _compared(streams, WIS_SCORE, "wis")


def _comparable(streams: Streams) -> bool:
    return len({source.model.y_pred for source in streams.sources}) == 1


def _segments(streams: Streams, model: str, t: float) -> list[Segment]:
    """Return all models on all segments: the one that ships with the verdict's factor, others with their own."""
    if streams.segmented is None:
        return []
    parts, request, sums = streams.segmented
    segments: list[Segment] = []
    for i, (source, labelled_parts) in enumerate(zip(streams.sources, parts, strict=False)):
        factor = t if source.name == model else source.model.target.value
        streamed = Streamed(i, source, factor)
        segments += streamed_segments(streamed, labelled_parts, request, sums)
    return segments


def _missing(streams: Streams) -> MissingRows | None:
    """Return which rows were left out, and of which labels none is left."""
    state = streams.sources[0].model.state
    if not state.dropped:
        return None
    vanished: list[str] = []
    if streams.segmented is not None and streams.segmented.parts:
        parts, request, _ = streams.segmented
        for feature in request.features:
            places = [request.by.index(name) for name in feature]
            labels = rows_by_label(parts[0], places)
            gone = [label for label, part in labels.items() if not part.rows]
            vanished += [f"{', '.join(feature)} {label}" for label in gone]
    return MissingRows(state.dropped, state.rows, {}, tuple(vanished))


def _notes(
    streams: Streams,
    rows: Sequence[ModelRow],
    settings: AssessmentSettings,
    asked: float | None,
) -> list[str]:
    """Return what a reader must know before trusting the numbers."""
    units = streams.units
    notes: list[str] = []
    if asked is None and settings.coverage is not None:
        notes.append(sentences.level_as_coverage(settings.coverage))
    notes += cautions.common_notes(units.count, units.rows, comparable=True)
    if not _comparable(streams):
        notes.append(sentences.predictions_may_differ())
    for source, row in zip(streams.sources, rows, strict=True):
        notes += cautions.notes_on(row, settings, source.facts())
        scores = source.seen.score_of_blocks
        if scores is not None and not units.independent:
            carrying = cautions.carrying_blocks(scores)
            names = [streams.block_names[number] for number in carrying]
            if names:
                notes.append(sentences.carried_by_few_blocks(source.name, names, units.count))
        if source.model.unknown:
            notes.append(sentences.levels_need_rows(source.name))
        if source.level is not None:
            notes.append(sentences.scaled_level(source.name, source.level))
    return notes
