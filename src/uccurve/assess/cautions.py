"""Cautions: which notes are true of an assessment, and what could not be tested."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, isfinite, nan
from typing import Any, Self

import numpy as np

from uccurve._arrays import Indices
from uccurve._vocabulary import Array
from uccurve.assess.memory import RowsSource
from uccurve.evidence import contributions
from uccurve.evidence.clusters import Clustering, clustering
from uccurve.evidence.inference import holm, paired_t_test
from uccurve.evidence.units import Blocks, codes, labels, sums
from uccurve.results import AssessmentSettings, Comparison, ModelRow, Segment
from uccurve.words import notes

FEW_BLOCKS = 8
# Shares of rows above which observations on bounds, raised bands and repeated rows are worth a note.
MANY = 0.05
REPEATED = 0.01
MANY_REPEATED = 0.3  # where there are few different predictions per row, and not few observations
FEW_DISTINCT = 0.05
FEW_COUNTS = 0.15
MATERIAL_RUNS = (
    1.5  # ratio of the share of misses after a miss to that of all rows that is worth a note
)
SLACK = 0.05  # share of the score above which the cost of the promise is worth a note
# A score that is carried by at most so many blocks, and at most this share of all blocks, is worth a note.
MOST_CARRYING = 3
CARRYING_SHARE = 0.05
FEW_ROWS = 50  # half of an area on one row in so many is worth a note
ASYMMETRIC = 1e-9
COUNTED_ROWS = 20_000  # rows about of which repetitions are counted
MIX = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93], np.uint64
)  # odd multipliers of hashes
# Coverage that choosing among m models on n rows costs at most: the larger of two simulations of models that are all
# equally good, rounded up; `python -m benchmarks evidence` makes the table.
CHOSEN_FROM = (2, 5, 20, 100)
COST_OF_CHOOSING = {
    30: (0.023, 0.047, 0.089, 0.131),
    100: (0.010, 0.023, 0.041, 0.059),
    300: (0.006, 0.013, 0.021, 0.030),
    1000: (0.004, 0.007, 0.011, 0.016),
    3000: (0.002, 0.004, 0.007, 0.010),
}


@dataclass(frozen=True, slots=True)
class RowFacts:
    """What the notes on a model are about.

    Attributes
    ----------
    raised, dropped, uncoverable : int
        Bands that `min_band` raised, rows with missing values that were dropped, rows that no factor covers.
    weighted : bool
        Whether rows have unequal weights.
    asymmetry : float
        How far the two bands differ, as a share of the mean width.
    on_bounds, open_coverage : float
        Share of the observations exactly on a bound, and the coverage as delivered without these.
    from_middle : bool
        Whether there was no prediction.
    """

    raised: int = 0
    dropped: int = 0
    uncoverable: int = 0
    weighted: bool = False
    asymmetry: float = 0.0
    on_bounds: float = 0.0
    open_coverage: float = 0.0
    from_middle: bool = False


def facts_of(source: RowsSource) -> RowFacts:
    """Return the facts of a model whose rows are at hand."""
    path = source.path
    intervals = source.delivered_intervals
    width = 2 * path.mean_half_width
    asymmetry = 0.0
    if source.side == "both" and path.vary == "scale" and not path.symmetric and width:
        asymmetry = path.mean(np.abs(path.upper_band - path.lower_band)) / width
    on_bounds = path.mean(source.on_bounds)
    return RowFacts(
        raised=intervals.raised,
        dropped=intervals.dropped,
        uncoverable=int(np.isinf(path.critical).sum()),
        weighted=not path.equally_weighted,
        asymmetry=asymmetry,
        on_bounds=on_bounds,
        open_coverage=path.mean(source.covered) - on_bounds,
        from_middle=getattr(intervals, "from_middle", False),
    )


def common_notes(blocks: int, rows: int, *, comparable: bool) -> Iterator[str]:
    """What a reader must know of all models before comparing them."""
    if not comparable:
        yield notes.predictions_differ()
    if blocks < 2:
        yield notes.one_block()
    elif blocks < min(FEW_BLOCKS, rows):
        yield notes.few_blocks(blocks)


def notes_on(row: ModelRow, settings: AssessmentSettings, facts: RowFacts) -> Iterator[str]:
    """What a reader must know of one model before trusting its numbers."""
    yield from _notes_on_its_data(row, facts)
    yield from _notes_on_its_factor(row, settings.shown_coverage, facts)
    yield from _notes_on_its_numbers(row, settings, facts)


def _notes_on_its_data(row: ModelRow, facts: RowFacts) -> Iterator[str]:
    """What was done to the rows of a model before anything was computed."""
    if facts.raised:
        yield notes.raised_bands(row.name, facts.raised, row.n)
    if facts.dropped:
        yield notes.dropped_rows(row.name, facts.dropped)
    if facts.from_middle:
        yield notes.middle_as_prediction(row.name)


def _notes_on_its_factor(row: ModelRow, target: float, facts: RowFacts) -> Iterator[str]:
    """What the factor promises, and what keeps it from hitting the target."""
    out_of_reach = not row.move.is_reachable
    if out_of_reach and not facts.uncoverable:
        yield notes.too_few_rows(row.n, target)
    elif facts.weighted:
        yield notes.unequal_weights()
    if facts.uncoverable:
        yield notes.uncoverable_rows(
            row.name, facts.uncoverable, out_of_reach=out_of_reach, target=target
        )
    if facts.on_bounds > MANY:
        yield notes.observations_on_bounds(
            row.name,
            share_on_bounds=facts.on_bounds,
            closed=row.coverage.value,
            open_coverage=facts.open_coverage,
        )


def _notes_on_its_numbers(
    row: ModelRow, settings: AssessmentSettings, facts: RowFacts
) -> Iterator[str]:
    """What the scores and areas of a model rest on."""
    parts = row.decomposition
    if parts.slack > SLACK * parts.best and isfinite(parts.slack):
        share = parts.slack / parts.best
        yield notes.slack(row.name, slack_share=share, target=settings.shown_coverage)
    if facts.asymmetry > ASYMMETRIC:
        yield notes.asymmetric_bands()
    if _is_carried_by_few_rows(row):
        yield notes.carried_by_few_rows(row.name, row.concentration, row.n, settings.axes)
    if row.level is not None and row.level not in [level.level for level in row.levels]:
        yield notes.interpolated_level(row.name, row.level)


@dataclass(frozen=True, slots=True)
class RowSeries:
    """Which series each row is of: the column that tells it, a code for each row, and what the codes stand for."""

    column: str
    code: Indices
    names: Sequence[Any]

    @classmethod
    def of(cls, series: Any, units: Blocks) -> Self:
        """Return the series that one label per row tells."""
        code, names = codes("series", labels("series", series, units.given))
        name = getattr(series, "name", None)
        return cls(name if isinstance(name, str) and name else "series", code[units.row], names)

    def carrying(self, score: Array) -> list[str]:
        """Return the few series that carry more than half of a score."""
        totals = sums(self.code, score, len(self.names))
        return [str(self.names[number]) for number in carrying_blocks(totals)]


def notes_on_rows(
    source: RowsSource, series: RowSeries | None = None, *, is_first: bool
) -> Iterator[str]:
    """What only rows at hand tell: who carries a score, rows that repeat, and whether levels beat multiples."""
    units = source.units
    score = source.weighted_score_rows()
    carrying = carrying_blocks(units.sums(score))
    carrying_series = [] if series is None else series.carrying(score)
    if series is not None and carrying_series:
        yield notes.carried_by_few_series(
            source.name, carrying_series, len(series.names), series.column
        )
    elif carrying and units.independent:
        yield notes.score_carried_by_few_rows(source.name, len(carrying), units.count)
    elif carrying:
        names = [units.name(number) for number in carrying]
        yield notes.carried_by_few_blocks(source.name, names, units.count)
    if is_first and units.independent:
        repeated = repeated_share(source)
        if repeated > least_repeated(source):
            yield notes.repeated_rows(round(repeated * units.rows), units.rows)
    if source.level is not None:
        yield from _levels_or_multiples(source)


def notes_on_order(sources: Sequence[RowsSource]) -> Iterator[str]:
    """Whether misses as shipped come in runs, where the order of the rows is known; adjusted over models."""
    by_model: list[tuple[str, Clustering]] = []
    for source in sources:
        t = source.t if isfinite(source.t) else source.path.delivered
        runs = clustering(~source.covered_at(t), source.units)
        if runs is not None and runs.after_a_miss >= MATERIAL_RUNS * runs.overall:
            by_model.append((source.name, runs))
    adjusted = holm([runs.pvalue for _, runs in by_model])
    for (name, runs), pvalue in zip(by_model, adjusted, strict=True):
        if pvalue <= 1 - sources[0].settings.confidence_level:
            yield notes.clustered_misses(
                name, after_a_miss=runs.after_a_miss, overall=runs.overall, pvalue=pvalue
            )


def _levels_or_multiples(source: RowsSource) -> Iterator[str]:
    """Whether a model's own levels or multiples of one interval fit the errors better, by a paired test."""
    of_levels = source.crps_rows
    of_multiples = source.crps_rows_of_multiples()
    path = source.path
    levels_crps = path.mean(of_levels)
    multiples_crps = path.mean(of_multiples)
    difference = levels_crps - multiples_crps
    influence = (of_levels - of_multiples - difference) * contributions.weights(path)
    pvalue = paired_t_test(difference, source.units.spread(influence), size=levels_crps)
    if source.level is not None and pvalue <= 1 - source.settings.confidence_level:
        yield notes.levels_or_multiples(
            source.name,
            level=source.level,
            levels_crps=levels_crps / source.unit,
            multiples_crps=multiples_crps / source.unit,
            pvalue=pvalue,
        )


def carrying_blocks(totals: np.ndarray) -> Sequence[int]:
    """Return the few blocks that carry more than half of a score; none where it takes more than a few.

    `totals` is what each block adds to the score.
    """
    if len(totals) <= MOST_CARRYING:
        return ()
    largest = np.argpartition(totals, -MOST_CARRYING)[-MOST_CARRYING:]
    largest = largest[np.argsort(-totals[largest])]
    running = np.cumsum(totals[largest])
    needed = int(np.searchsorted(running, totals.sum() / 2, side="right")) + 1
    if needed > len(largest) or needed >= CARRYING_SHARE * len(totals):
        return ()
    return [int(block) for block in largest[:needed]]


def repeated_share(source: RowsSource) -> float:
    """Return the share of rows that repeat another row's observation and prediction.

    Of many rows only those are counted whose hash is a multiple of some number: equal pairs have equal hashes.
    """
    intervals = source.delivered_intervals
    y = intervals.y_true.ravel().view(np.uint64)
    predicted = intervals.y_pred.ravel().view(np.uint64)
    hashes = (y * MIX[0]) ^ (predicted * MIX[1])
    hashes ^= hashes >> np.uint64(29)
    hashes *= MIX[2]
    if len(hashes) > 2 * COUNTED_ROWS:
        part = np.uint64(len(hashes) // COUNTED_ROWS)
        hashes = hashes[(hashes >> np.uint64(32)) % part == 0]
    if not len(hashes):
        return 0.0
    return 1 - len(np.unique(hashes)) / len(hashes)


def least_repeated(source: RowsSource) -> float:
    """Return the share of repeated rows from which it is worth a note.

    Where few predictions stand beside observations that are rounded or counted, pairs are equal by chance: only many
    of them tell anything, and none where the observations themselves are few.
    """
    intervals = source.delivered_intervals
    if _distinct_share(intervals.y_pred) > FEW_DISTINCT:
        return REPEATED
    return MANY_REPEATED if _distinct_share(intervals.y_true) > FEW_COUNTS else inf


def _distinct_share(values: np.ndarray) -> float:
    """Different values per row, among at most `COUNTED_ROWS` of them."""
    rows = values.ravel()[:COUNTED_ROWS]
    return len(np.unique(rows)) / len(rows)


def cost_of_choosing(models: int, rows: int) -> float:
    """Return how much coverage choosing among so many models on so many rows costs at most; nan where nobody knows.

    >>> cost_of_choosing(4, 500), cost_of_choosing(4, 20)
    (0.013, nan)
    """
    fewer_rows = [n for n in COST_OF_CHOOSING if n <= rows]
    more_models = [place for place, m in enumerate(CHOSEN_FROM) if m >= models]
    if not (fewer_rows and more_models):
        return nan
    return COST_OF_CHOOSING[max(fewer_rows)][more_models[0]]


def not_tested(
    rows: Sequence[ModelRow],
    comparisons: Sequence[Comparison],
    segments: Sequence[Segment],
    model: str,
) -> tuple[str, ...]:
    """Return what could not be tested: coverages, pairs and segments of the model that ships."""
    of_model = [segment for segment in segments if segment.model == model]
    return (
        *_coverages_not_tested(rows),
        *_pairs_not_tested(rows, comparisons),
        *_segments_not_tested(of_model),
    )


def _coverages_not_tested(rows: Sequence[ModelRow]) -> Iterator[str]:
    untested = [row.name for row in rows if not row.coverage.has_interval]
    if len(untested) == len(rows) > 1:
        yield "the coverage of any model"
        return
    for name in untested:
        yield notes.coverage_not_tested(name)


def _pairs_not_tested(rows: Sequence[ModelRow], comparisons: Sequence[Comparison]) -> Iterator[str]:
    """Pairs of models that can ship and could not be tested."""
    shippable = [pair for pair in comparisons if isfinite(pair.difference.value)]
    untested = sum(not pair.is_tested for pair in shippable)
    if untested:
        has_units = any(row.coverage.has_interval for row in rows)
        why = "fewer than two rows or blocks have a miss" if has_units else ""
        yield notes.pairs_not_tested(untested, len(comparisons), why)


def _segments_not_tested(segments: Sequence[Segment]) -> Iterator[str]:
    untested = [segment.title for segment in segments if not segment.is_tested]
    if untested:
        yield notes.segments_not_tested(len(untested), len(segments), untested)


def _is_carried_by_few_rows(row: ModelRow) -> bool:
    """Whether half of a model's area lies on few rows: on one row in `FEW_ROWS`, or fewer.

    Of fewer rows than that, from ten: on a single one. An infinite area lies on the rows that no factor covers.
    """
    few = max(1, row.n // FEW_ROWS)
    area = row.areas["bandwidth_miss_rate"].value
    return row.n >= 10 and 0 < row.concentration <= few and isfinite(area)
