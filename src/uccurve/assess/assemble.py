"""Assess: one call that says which model's intervals to ship, at what factor, how sure that is, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from uccurve import _refusals as checks
from uccurve._vocabulary import HEADLINE, Axes, Range, Side, Unit
from uccurve.assess import cautions
from uccurve.assess.choice import (
    Contender,
    Decision,
    NestedChoice,
    PairTest,
    decide,
    nested_choice,
    ranking_values,
    t_of,
    verdict_of,
    with_ranks,
)
from uccurve.assess.memory import RowsSource, resampled_row, saved_of
from uccurve.assess.missing import (
    CHOICES,
    Aligned,
    MissingRows,
    aligned,
    kept_rows,
    lack_different_rows,
    pairwise_comparisons,
    pairwise_missing,
    pairwise_values,
    vanished_segments,
)
from uccurve.assess.segments import (
    AsShipped,
    SegmentRows,
    across_segments,
    across_series,
    assessed_segments,
    segment_rows,
    winners_of,
)
from uccurve.assess.source import CRPS, SCORE, SKILL, WIS_SCORE, estimate_of, model_row
from uccurve.crossings import Crossings, LevelCurve, crossings_of_lines
from uccurve.curve import UCC
from uccurve.evidence.inference import checked_level
from uccurve.evidence.models import Given, given_models, measured_in, refuse_different
from uccurve.evidence.units import Blocks, Repeated, Units, generator, positive
from uccurve.intervals import Intervals
from uccurve.resampling import Progress, watched
from uccurve.results import (
    USUAL_TOLERANCE,
    AcrossSegments,
    Assessment,
    AssessmentSettings,
    Comparison,
    Missing,
    ModelRow,
    Segment,
    SegmentWinner,
    Verdict,
)
from uccurve.words import notes as sentences
from uccurve.words.formats import counted
from uccurve.words.verdict import worded

Models = Intervals | UCC | Mapping[Any, Any]
SHOWN = 0.9  # coverage that factors and half-widths are shown for where none was asked for
# Rows of all models together up to which curves keep their order, for plots and pages that may follow.
KEPT_ROWS = 1_000_000


@np.errstate(
    over="ignore", invalid="ignore"
)  # what lies beyond float64 is infinite, a difference of two such nan
def assess(
    models: Models,
    *,
    coverage: float | None = None,
    by: Any = None,
    bins: int = 4,
    series: npt.ArrayLike | None = None,
    rows: Sequence[Any] | None = None,
    block: int | npt.ArrayLike | None = None,
    incumbent: str | None = None,
    reference: str | None = None,
    tolerance: float | None = None,
    missing: MissingRows = "raise",
    features: Any = None,
    axes: Axes = HEADLINE,
    partial: Range | None = None,
    c: float | None = None,
    unit: Unit | npt.ArrayLike = "raw",
    confidence_level: float = 0.95,
    n_resamples: int | None = None,
    seed: int | None = 0,
    progress: Progress = None,
) -> Assessment:
    """Assess the intervals of one model, or decide between several.

    Parameters
    ----------
    models : Intervals, UCC, or mapping from names to models
        A model is Intervals, a `UCC` of any path, a mapping from level to Intervals, or a list of these: training runs
        over the same rows where all have the same ``y_true``, else the folds of a cross-validation, which are joined.
        All models must have the same rows.
    coverage : float, optional
        Coverage that the intervals promise, such as 0.9: models are ranked by their interval score with the factor
        that reaches it, and told whether they keep it as delivered. Without it they are ranked by their potential
        CRPS; models of several levels by the common level nearest 0.9.
    by : array_like or mapping, optional
        One label or number per row (of the joined folds), to assess segments of the rows too; a mapping has several
        features by name.
    bins : int
        Number of equal-count bins into which a numeric feature is cut.
    series : array_like, optional
        The series of each row: in how many of them each model is best, and its median skill over them, stand in
        `Assessment.across`.
    rows : list of array_like, optional
        Names of the rows of each item where these are training runs in a different order.
    block : int or array_like, optional
        Dependent rows: a number of consecutive rows (time series), or one label per row (a date, a forecast origin, a
        patient). Of many series over the same dates: the date or the origin.
    incumbent : str, optional
        The model in use: it stays unless another one is shown to be better.
    reference : str, optional
        A model that others are only compared with: it takes part in no choice.
    tolerance : float, optional
        How far the delivered coverage may lie from the promised one and still keep it; by default 5% of the miss rate.
    missing : {"raise", "drop", "pairwise"}
        What to do where models lack different rows, as `Intervals` built with ``missing="drop"`` may: refuse, compare
        all on the rows that they share, or each pair on the rows that these two share.
    features : frame or mapping, optional
        Features of the rows among which to look for pockets where shipped intervals fail; see `find_pockets`.
    axes : tuple of str
        For crossings, concentration, partial gain and cost.
    partial : tuple of float, optional
        Range of the miss rate for a partial gain.
    c : float, optional
        Weight of the first axis in a cost.
    unit : {"raw", "std"}, float or array_like
        What numbers are divided by; an array has one positive number per row, such as the size of its series.
    confidence_level : float
    n_resamples : int, optional
        Number of resamples of bootstrap intervals, which replace those by influence.
    seed : int, optional
        For these resamples; nothing else is random.
    progress : bool or callable, optional
        A progress bar; by default at a terminal.

    Returns
    -------
    Assessment

    Notes
    -----
    Intervals and tests come from the influence of each row, which needs one sort per model: t quantiles on the log
    scale with one degree of freedom less than there are blocks, or blocks with a miss where the statistic rests on
    these. Pairs are compared by the paired t test of what ranks the models, segments by one-sided tests; both are
    adjusted by Holm's method. The interval of a coverage is that of Clopper and Pearson for the effective number of
    rows (Korn and Graubard 1998), that of a half-width is by MOVER (Zou and Donner 2008).

    Where the choice among the models spends coverage, the verdict's factor is the chosen model's own one times a
    multiplier that is found by choosing again without each of ten folds.

    Examples
    --------
    >>> y = [1.0, 2.0, 4.0, 0.5, 3.0, 2.5, 5.0, 1.5]
    >>> sharp = Intervals.from_bands(y, [0.0] * 8, [0.9, 2.2, 3.9, 0.6, 2.8, 2.6, 5.2, 1.3])
    >>> a = assess({"sharp": sharp, "flat": sharp.constant()}, coverage=0.5)
    >>> [row.name for row in a.ranking], a.verdict.model, round(float(a["sharp"].scale), 2)
    (['sharp', 'flat'], 'sharp', 1.03)
    """
    given = given_models(models, rows)
    generator(seed)  # refuses what is no seed
    checks.choice("missing", missing, CHOICES)
    per_row, one_unit = _units(unit)
    settings = asked_settings(
        coverage_of(coverage, [promised_levels(curve) for curve in given.curves.values()]),
        side=next(iter(given.curves.values())).intervals.side,
        tolerance=tolerance,
        incumbent=known_model("incumbent", incumbent, given.curves),
        reference=known_model("reference", reference, given.curves),
        axes=axes,
        partial=partial,
        c=c,
        unit=one_unit,
        confidence_level=confidence_level,
        n_resamples=None if n_resamples is None else positive("n_resamples", n_resamples),
        seed=seed,
    )
    labels = RowLabels(block, by, bins, features, per_row, series)
    subject = _subject(given, labels, missing)
    units = subject.entries[0].units
    settings = replace(
        settings, block=_block_in_words(block, units), row_unit=_unit_in_words(per_row)
    )
    with watched(progress, "assessment") as tick:
        evidence = _evidence(subject.entries, settings, tick, subject.series)
    evidence.rows = against_reference(evidence.rows, evidence.sources, settings)
    tests = _tests(evidence, subject, settings)
    decision = decide(tests.ranked, tests.comparisons, settings)
    verdict = _verdict(decision, evidence, settings)
    on_segments = _segments(evidence.sources, verdict, subject)
    segments = on_segments.segments
    pockets = _pockets(evidence.sources, verdict, subject.features, settings)
    untested = cautions.not_tested(tests.ranked, tests.comparisons, segments, verdict.model)
    notes = [
        *_coverage_note(coverage, given, settings),
        *evidence.notes,
        *choice_notes(verdict, units),
    ]
    return Assessment(
        rows=tuple(tests.ranked),
        comparisons=tuple(tests.comparisons),
        wis_comparisons=tuple(tests.on_wis),
        crossings=tuple(evidence.crossings),
        segments=tuple(segments),
        winners=tuple(on_segments.winners),
        across=tuple(on_segments.across),
        pockets=pockets,
        notes=tuple(dict.fromkeys(notes)),
        not_tested=untested,
        missing=subject.missing,
        settings=settings,
        verdict=worded(
            verdict,
            rows=tests.ranked,
            settings=settings,
            comparisons=tests.comparisons,
            segments=segments,
            missing=subject.missing,
            not_tested=untested,
            pockets=pockets,
            weighted=not evidence.sources[0].path.equally_weighted,
        ),
        curves={entry.name: entry.curve for entry in subject.entries},
        comparable=evidence.comparable,
    )


@dataclass(frozen=True, slots=True, eq=False)
class RowLabels:
    """What is told of each row beside the models: blocks, segments, features and units, as given."""

    block: Any
    by: Any
    bins: int
    features: Any
    unit: Any
    series: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A model with its rows: their dependence, and their segments."""

    name: str
    curve: UCC
    units: Blocks
    parts: list[SegmentRows]


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """What is assessed: models on their rows, what these lack, and features of the rows."""

    entries: list[Entry]
    missing: Missing | None
    features: Any
    series: Any = None

    @property
    def is_pairwise(self) -> bool:
        """Whether each model has rows of its own."""
        return self.entries[0].units is not self.entries[-1].units


def _units(unit: Any) -> tuple[Any, Unit]:
    """Return one unit per row, or None, and the unit of all numbers."""
    return (unit, "raw") if np.ndim(unit) else (None, unit)


def _unit_in_words(per_row: Any) -> str | None:
    """Say in what rows are measured; units may come with a name, such as a column of a data frame."""
    if per_row is None:
        return None
    name = getattr(per_row, "name", None)
    return name if isinstance(name, str) and name else "each row's own unit"


def _subject(given: Given, labels: RowLabels, missing: MissingRows) -> Subject:
    """Return the models on the rows that all of them have, or each on its own."""
    if missing == "pairwise" and lack_different_rows(given.curves):
        entries = []
        for name, curve in given.curves.items():
            own_rows = Aligned({name: curve}, kept_rows(curve), None)
            entries += _entries(own_rows, None, labels)
        return Subject(entries, pairwise_missing(given.curves), None)
    on_rows = aligned(given.curves, missing=missing)
    refuse_different(on_rows.curves)
    lost = on_rows.missing
    if lost is not None:
        lost = replace(lost, vanished=vanished_segments(labels.by, on_rows.kept))
    entries = _entries(on_rows, given.repeated, labels)
    series = on_rows.labels(labels.series)
    return Subject(entries, lost, on_rows.labels(labels.features), series)


def _entries(on_rows: Aligned, repeated: Repeated | None, labels: RowLabels) -> list[Entry]:
    """Return models that have the same rows."""
    curves = on_rows.curves
    if labels.unit is not None:
        unit = on_rows.labels(labels.unit)
        curves = {name: measured_in(curve, unit) for name, curve in curves.items()}
    first = next(iter(curves.values()))
    units = Blocks.of(first.intervals, on_rows.labels(labels.block), repeated=repeated)
    parts = segment_rows(on_rows.labels(labels.by), units, labels.bins)
    return [Entry(name, curve, units, parts) for name, curve in curves.items()]


@dataclass(slots=True)
class ModelEvidence:
    """What was found on each model, before they are compared."""

    sources: list[RowsSource]
    rows: list[ModelRow]
    contenders: list[Contender]
    on_wis: list[Contender]
    crossings: list[Crossings]
    notes: list[str]
    comparable: bool


class Tests(NamedTuple):
    """Comparisons of all pairs on what ranks the models and on their WIS, and the rows with their ranks."""

    ranked: list[ModelRow]
    comparisons: list[Comparison]
    on_wis: list[Comparison]


def asked_settings(
    coverage: float | Fraction | None,
    *,
    axes: Axes = HEADLINE,
    partial: Range | None = None,
    c: float | None = None,
    unit: Unit = "raw",
    confidence_level: float = 0.95,
    side: Side = "both",
    tolerance: float | None = None,
    incumbent: str | None = None,
    reference: str | None = None,
    n_resamples: int | None = None,
    seed: int | None = None,
) -> AssessmentSettings:
    """Return what is asked for, checked."""
    alpha = checks.miss_rate_of(SHOWN if coverage is None else coverage)
    return AssessmentSettings(
        coverage=None if coverage is None else float(1 - alpha),
        shown_coverage=float(1 - alpha),
        ranked_by="crps" if coverage is None else "score",
        side=side,
        tolerance=_checked_tolerance(tolerance, alpha),
        incumbent=incumbent,
        reference=reference,
        axes=checks.axes(axes),
        partial=None if partial is None else checks.span("partial", partial),
        c=None if c is None else checks.real("c", c, 0, 1),
        unit=unit,
        confidence_level=checked_level(confidence_level),
        n_resamples=n_resamples,
        seed=seed,
    )


def promised_levels(curve: UCC) -> tuple[float, ...]:
    """Return the levels of a model: several of its own, or the one that a quantile was made for."""
    level = curve.intervals.level
    return curve.levels or (() if level is None else (level,))


def coverage_of(coverage: float | None, levels: Sequence[tuple[float, ...]]) -> float | None:
    """Return the coverage that counts: the one asked for, or the common level nearest 0.9 of models with levels."""
    if coverage is not None or not all(levels):
        return coverage
    common = set(levels[0]).intersection(*levels[1:])
    if not common:
        return None
    return min(common, key=lambda level: (abs(level - SHOWN), -level))


def known_model(name: str, model: str | None, curves: Mapping[str, Any]) -> str | None:
    """Return the name of a model, or refuse what is none."""
    if model is None or model in curves:
        return model
    listed = ", ".join(curves)
    hint = checks.nearest(model, list(curves))
    raise ValueError(
        f"`{name}` must be one of the models ({listed}); got {checks.shown(model)}.{hint}"
    )


def _checked_tolerance(tolerance: float | None, alpha: Fraction) -> float:
    if tolerance is None:
        return USUAL_TOLERANCE * float(alpha)
    value = checks.real("tolerance", tolerance, 0)
    if value >= alpha:
        raise ValueError(
            f"`tolerance` must be below the miss rate, {float(alpha):g}; got {value:g}. "
            "Hint: it is a difference of coverages, such as 0.005."
        )
    return value


def _block_in_words(block: Any, units: Blocks) -> str | None:
    """Say which rows are dependent; labels may come with a name, such as a column of a data frame."""
    if units.independent:
        return None
    if units.runs > 1 and block is None:
        return f"{units.runs} runs over the same rows"
    if block is not None and np.ndim(block) == 0:
        return f"blocks of {block!s} rows"
    name = getattr(block, "name", None)
    by_name = f" by {name}" if isinstance(name, str) and name else ""
    return counted(units.count, "block") + by_name


def _coverage_note(coverage: float | None, given: Given, settings: AssessmentSettings) -> list[str]:
    has_levels = any(curve.levels for curve in given.curves.values())
    if coverage is None and settings.coverage is not None and has_levels:
        return [sentences.level_as_coverage(settings.coverage)]
    return []


def _evidence(
    entries: Sequence[Entry], settings: AssessmentSettings, tick: Any, given_series: Any
) -> ModelEvidence:
    """Return all numbers of each model, and what the comparisons need."""
    curves = {entry.name: entry.curve for entry in entries}
    first = entries[0]
    y_pred = first.curve.intervals.y_pred
    comparable = all(np.array_equal(curve.intervals.y_pred, y_pred) for curve in curves.values())
    crosses = comparable and len(entries) > 1 and settings.axes[0] != settings.axes[1]
    has_predictions = all(curve.intervals.has_prediction for curve in curves.values())
    notes = list(
        cautions.common_notes(
            first.units.count, first.units.rows, comparable=comparable or not has_predictions
        )
    )
    evidence = ModelEvidence([], [], [], [], [], notes, comparable)
    series = None
    if given_series is not None and settings.row_unit is None:
        series = cautions.RowSeries.of(given_series, first.units)
    lines: dict[str, LevelCurve] = {}
    for entry in entries:
        name = entry.name
        curve = entry.curve
        source = RowsSource(name, curve, settings, entry.units)
        _share_constant(source, evidence.sources, comparable=comparable)
        row = model_row(source)
        if settings.n_resamples is not None:
            row = resampled_row(row, source)
        evidence.sources.append(source)
        evidence.rows.append(row)
        evidence.contenders.append(Contender(name, source.evidence(_ranking_statistic(settings))))
        if source.has_central_levels:
            evidence.on_wis.append(Contender(name, source.evidence(WIS_SCORE)))
        evidence.notes += cautions.notes_on(row, settings, cautions.facts_of(source))
        evidence.notes += cautions.notes_on_rows(
            source, series, is_first=len(evidence.sources) == 1
        )
        if crosses:
            lines[name] = LevelCurve.of(curve, settings.axes, settings.unit)
        if len(curve.intervals) * len(curves) > KEPT_ROWS:
            curve.forget_order()
            source.forget()
        if tick is not None:
            tick(len(evidence.rows), len(curves))
    evidence.notes += cautions.notes_on_order(evidence.sources)
    evidence.crossings = _crossings(lines, curves, settings)
    return evidence


def _share_constant(source: RowsSource, earlier: Sequence[RowsSource], *, comparable: bool) -> None:
    """Let models with the same predictions share what is known of the constant band around these."""
    if earlier and comparable:
        source.share_constant(earlier[0])


def _ranking_statistic(settings: AssessmentSettings) -> Any:
    return SCORE if settings.ranked_by == "score" else CRPS


def _crossings(
    lines: Mapping[str, LevelCurve], curves: Mapping[str, UCC], settings: AssessmentSettings
) -> list[Crossings]:
    return [
        crossings_of_lines(lines[first], lines[second], axes=settings.axes, names=(first, second))
        for first, second in combinations(lines, 2)
        if curves[first].vary == curves[second].vary
    ]


def _tests(evidence: ModelEvidence, subject: Subject, settings: AssessmentSettings) -> Tests:
    """Compare all pairs of models, and rank them."""
    rows = evidence.rows
    if subject.is_pairwise:
        comparisons = pairwise_comparisons(evidence.sources, settings)
        values = pairwise_values(comparisons, rows, settings)
        ranked = without_rank(with_ranks(rows, comparisons, values), settings.reference)
        return Tests(ranked, comparisons, [])
    units = subject.entries[0].units
    level = settings.confidence_level
    comparisons = PairTest(units, settings.ranked_by, level).of_all(evidence.contenders)
    ranked = with_ranks(rows, comparisons, ranking_values(rows, settings))
    ranked = without_rank(ranked, settings.reference)
    same_levels = len({source.curve.levels for source in evidence.sources}) == 1
    has_levels = len(evidence.on_wis) == len(rows)
    on_wis: list[Comparison] = []
    if same_levels and has_levels:
        on_wis = PairTest(units, "wis", level).of_all(evidence.on_wis)
    return Tests(ranked, comparisons, on_wis)


def against_reference(
    rows: Sequence[ModelRow], sources: Sequence[RowsSource], settings: AssessmentSettings
) -> list[ModelRow]:
    """Return rows with their skill against the model that was named as the reference, where one was."""
    by_name = {source.name: source for source in sources}
    if settings.reference is None:
        return list(rows)
    reference = by_name[settings.reference].evidence(SCORE)
    out = []
    for row in rows:
        source = by_name[row.name]
        if row.name == settings.reference or source.units is not sources[0].units:
            out.append(row)
            continue
        evidence = saved_of(source.evidence(SCORE), reference)
        out.append(replace(row, reference_skill=estimate_of(source, SKILL, evidence)))
    return out


def without_rank(rows: Sequence[ModelRow], reference: str | None) -> list[ModelRow]:
    """Return rows in which the reference comes last, behind all models that are ranked."""
    if reference is None:
        return list(rows)
    own = next(row.rank for row in rows if row.name == reference)
    out = []
    for row in rows:
        if row.name == reference:
            out.append(replace(row, rank=len(rows)))
        else:
            out.append(replace(row, rank=row.rank - (row.rank > own)))
    return out


def _verdict(decision: Decision, evidence: ModelEvidence, settings: AssessmentSettings) -> Verdict:
    """Return the verdict without its words."""
    chosen = next(source for source in evidence.sources if source.name == decision.model.name)
    nested: NestedChoice | None = None
    contenders = [source for source in evidence.sources if source.name != settings.reference]
    same_rows = all(source.units is chosen.units for source in contenders)
    if decision.spends and same_rows:
        nested = nested_choice([source.path for source in contenders], chosen.units, chosen.alpha)
    return verdict_of(decision, chosen, settings, models=len(contenders), nested=nested)


class OnSegments(NamedTuple):
    """All models on all segments, and the best of them in each."""

    segments: list[Segment]
    winners: list[SegmentWinner]
    across: list[AcrossSegments]


def _segments(sources: Sequence[RowsSource], verdict: Verdict, subject: Subject) -> OnSegments:
    """Return all models on all segments: the one that ships with the verdict's factor, others with their own."""
    entries = subject.entries
    segments: list[Segment] = []
    models: list[AsShipped] = []
    for source, entry in zip(sources, entries, strict=True):
        if not entry.parts and subject.series is None:
            continue
        t = t_of(verdict) if source.name == verdict.model else source.t
        shipped = AsShipped.of(source, t)
        if entry.parts:
            segments += assessed_segments(shipped, entry.parts)
        models.append(shipped)
    if subject.is_pairwise or not models:
        return OnSegments(segments, [], [])
    settings = sources[0].settings
    winners = winners_of(models, entries[0].parts, settings.reference)
    across = across_segments(segments, winners, settings)
    if subject.series is not None:
        across += across_series(models, subject.series, settings)
    return OnSegments(segments, winners, across)


def choice_notes(verdict: Verdict, units: Units) -> list[str]:
    """Return what choosing may cost, where the factor does not allow for it."""
    if verdict.choice.corrected:
        return []
    models = verdict.choice.models
    return [
        sentences.choosing_not_corrected(
            models, units.rows, cautions.cost_of_choosing(models, units.rows)
        )
    ]


def _pockets(
    sources: Sequence[RowsSource], verdict: Verdict, features: Any, settings: AssessmentSettings
) -> Any:
    """Look for pockets where shipped intervals fail, where features were given."""
    if features is None:
        return None
    from uccurve.pockets import pockets_of_sources

    return pockets_of_sources(sources, verdict, features, settings)
