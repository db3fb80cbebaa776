"""Assess: one call that says which model's intervals to ship, at what scale, how sure that is, and why."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import inf, isfinite, isinf, isnan
from typing import Any

import numpy as np
import numpy.typing as npt

from uccurve import _refusals as checks
from uccurve._progress import Progress, watched
from uccurve._vocabulary import HEADLINE, SUMMARY, Array, Axes, Range, Unit
from uccurve.assess.model import Model
from uccurve.assess.models import curves_by_name
from uccurve.assess.segments import assessed_segments, segment_rows
from uccurve.crossings import Line, crossings_of_lines
from uccurve.curve import UCC
from uccurve.evidence.contributions import weights
from uccurve.evidence.tests import ROUNDING, checked_level, holm, interval, paired_t_test
from uccurve.evidence.units import Blocks, generator, positive
from uccurve.intervals import Intervals
from uccurve.resampling.bootstrap import bootstrap
from uccurve.results import Assessment, AssessmentSettings, Comparison, ModelRow, Segment, few_rows
from uccurve.words.formats import alike, counted, p
from uccurve.words.formats import coverage as percentage
from uccurve.words.verdict import adjusted_pvalue, verdict

Models = Intervals | UCC | Mapping[Any, Any]
SHOWN = 0.9  # coverage that scales and half-widths are shown for where none was asked for
# Rows of all models together up to which curves keep their order, for plots and pages that may follow.
KEPT_ROWS = 1_000_000
FEW_BLOCKS = 8
ONE_BLOCK = "all rows form one block, so there are no confidence intervals or tests; use shorter blocks, or more rows"


@np.errstate(over="ignore", invalid="ignore")  # what lies beyond float64 is infinite, a difference of two such nan
def assess(
    models: Models,
    *,
    coverage: float | None = None,
    by: Any = None,
    bins: int = 4,
    rows: Sequence[Any] | None = None,
    block: int | npt.ArrayLike | None = None,
    axes: Axes = HEADLINE,
    partial: Range | None = None,
    c: float | None = None,
    unit: Unit = "raw",
    confidence_level: float = 0.95,
    n_resamples: int | None = None,
    seed: int | None = 0,
    progress: Progress = None,
) -> Assessment:
    """Assess the intervals of one model, or decide between several.

    Parameters
    ----------
    models : Intervals, UCC, or mapping from names to models
        A model is Intervals, a `UCC` of any path, a mapping from level to Intervals, or a list of these for the folds
        of a cross-validation or repeated runs, which are joined. All models must have the same rows.
    coverage : float, optional
        Coverage that the intervals promise, such as 0.9: models are ranked by their interval score at this coverage,
        and told whether they keep it. Without it they are ranked by their potential CRPS.
    by : array_like or mapping, optional
        One label or number per row (of the joined folds), to assess segments of the rows too; a mapping has several
        features by name.
    bins : int
        Number of equal-count bins into which a numeric feature is cut.
    rows : list of array_like, optional
        Names of the rows of each fold where rows occur more than once: a row's repetitions form one block. Without it,
        folds with the same ``y_true`` in the same order are treated as runs over the same rows.
    block : int or array_like, optional
        Dependent rows: a number of consecutive rows (time series), or one label per row (groups, repeated measures).
    axes : tuple of str
        For crossings, concentration, partial gain and cost.
    partial : tuple of float, optional
        Range of the miss rate for a partial gain.
    c : float, optional
        Weight of the first axis in a cost.
    unit : {"raw", "std"} or float
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
    scale with one degree of freedom less than there are blocks. Pairs are compared by the paired t test of what ranks
    the models, segments by one-sided tests; both are adjusted by Holm's method. The interval of a coverage is that of
    Clopper and Pearson for the effective number of rows (Korn and Graubard 1998).

    Examples
    --------
    >>> y = [1.0, 2.0, 4.0, 0.5, 3.0, 2.5, 5.0, 1.5]
    >>> sharp = Intervals.from_bands(y, [0.0] * 8, [0.9, 2.2, 3.9, 0.6, 2.8, 2.6, 5.2, 1.3])
    >>> a = assess({"sharp": sharp, "flat": sharp.constant()}, coverage=0.5)
    >>> [row.name for row in a.ranking], a.verdict.model, round(a.verdict.scale, 2)
    (['sharp', 'flat'], 'sharp', 1.03)
    """
    asked: Any = {"axes": axes, "partial": partial, "c": c, "unit": unit, "confidence_level": confidence_level}
    asked["n_resamples"] = None if n_resamples is None else positive("n_resamples", n_resamples)
    settings = asked_settings(coverage, seed=seed, **asked)
    generator(seed)  # refuses what is no seed
    curves, repeated = curves_by_name(models, rows)
    first, *others = curves.values()
    blocks = Blocks.of(first.intervals, block, row_ids=repeated)
    if not blocks.independent:
        is_length = block is not None and np.ndim(block) == 0
        settings = replace(settings, block=f"blocks of {block!s} rows" if is_length else counted(blocks.count, "block"))
    comparable = all(np.array_equal(one.intervals.y_pred, first.intervals.y_pred) for one in others)
    find_crossings = comparable and len(curves) > 1 and settings.axes[0] != settings.axes[1]
    parts = segment_rows(by, blocks, bins)
    notes = [*common_notes(blocks.count, len(blocks.of_row), comparable=comparable)]
    found, segments, lines = list[ModelRow](), list[Segment](), dict[str, Line]()
    ranking_rows, wis_rows = dict[str, Array](), dict[str, Array]()
    with watched(progress, "assessment") as tick:
        for name, curve in curves.items():
            model = Model(name, curve, settings, blocks)
            segments += assessed_segments(model, parts)
            if not (found and comparable):
                constant_rows = model.constant_crps_rows()
            found.append(_row(model, constant_rows))
            notes += [*notes_on(found[-1], settings, **_facts(model)), *_note_on_levels(model)]
            ranking_rows[name] = model.score_rows(model.best_t) if settings.ranked_by == "score" else model.crps_rows
            if curve.levels:
                wis_rows[name] = model.wis_rows.score
            if find_crossings:
                lines[name] = Line.of(curve, settings.axes, unit)
            if len(first.intervals) * len(curves) > KEPT_ROWS:
                curve._forget_order()
            if tick is not None:
                tick(len(found), len(curves))
    comparisons = _comparisons(ranking_rows, model, settings.ranked_by)
    same_levels = len({curve.levels for curve in curves.values()}) == 1 and first.levels
    ranked = with_ranks(found, comparisons, settings.ranked_by)
    crossings = [
        crossings_of_lines(lines[a], lines[b], axes=settings.axes, names=(a, b))
        for a, b in combinations(lines, 2)
        if curves[a].vary == curves[b].vary
    ]
    return Assessment(
        rows=tuple(ranked),
        comparisons=tuple(comparisons),
        crossings=tuple(crossings),
        segments=tuple(segments),
        notes=tuple(dict.fromkeys(notes)),
        settings=settings,
        verdict=verdict(ranked, settings, comparisons=comparisons, segments=segments),
        curves=curves,
        comparable=comparable,
        wis_comparisons=tuple(_comparisons(wis_rows, model, "wis")) if same_levels else (),
    )


def asked_settings(coverage: float | Fraction | None, **given: Any) -> AssessmentSettings:
    """Return what is asked for, checked; `given` are fields of the settings."""
    alpha, partial, c = checks.miss_rate_of(SHOWN if coverage is None else coverage), given["partial"], given["c"]
    checked = {
        "coverage": None if coverage is None else float(1 - alpha),
        "axes": checks.axes(given["axes"]),
        "partial": None if partial is None else checks.span("partial", partial),
        "c": None if c is None else checks.real("c", c, 0, 1),
        "confidence_level": checked_level(given["confidence_level"]),
        "ranked_by": "crps" if coverage is None else "score",
        "shown_coverage": float(1 - alpha),
    }
    return AssessmentSettings(**(given | checked))


def _facts(model: Model) -> dict[str, Any]:
    """What the notes on a model are about."""
    path, intervals, width = model.path, model.delivered, 2 * model.path.mean_half_width
    asymmetry = path.mean(np.abs(path.upper_band - path.lower_band)) / width if path.vary == "scale" and width else 0.0
    uncoverable, weighted = int(np.isinf(path.critical).sum()), not path.equally_weighted
    facts = {"uncoverable": uncoverable, "weighted": weighted, "asymmetry": asymmetry}
    return facts | {"raised": intervals.raised, "dropped": intervals.dropped}


def _row(model: Model, constant_rows: Array) -> ModelRow:
    """All numbers of a model, with bootstrap intervals in place of those by influence where they were asked for."""
    row, settings, ends = model.row(constant_rows), model.settings, dict[str, Any]()
    if settings.n_resamples is None:
        return row
    coverage = {"coverage": settings.shown_coverage}
    asked: dict[str, Any] = {"score": coverage, "half_width": coverage, "scale": coverage, "skill": {}}
    asked |= {f"gain_{'_'.join(axes)}": {"axes": axes} for axes in SUMMARY}
    if settings.partial is not None:
        asked["partial_gain"] = {"axes": settings.axes, "miss_rate": settings.partial}
    how: Any = {name: getattr(settings, name) for name in ("unit", "confidence_level", "n_resamples", "seed")}
    how |= {"block": model.blocks, "progress": False}
    for name, options in asked.items():
        if isfinite(getattr(row, name)):
            found = bootstrap(model.curve, **how | {"statistic": "gain" if "gain" in name else name}, **options)
            ends |= {f"{name}_low": found.low, f"{name}_high": found.high}
    return replace(row, **ends)


def _comparisons(rows: Mapping[str, Array], model: Model, statistic: Any) -> list[Comparison]:
    """Paired t tests of all pairs on what ranks the models, or on their WIS; `model` is any of them."""
    compared = [
        Comparison(first, second, statistic, *_paired(rows[first], rows[second], model))
        for first, second in combinations(rows, 2)
    ]
    return adjusted_comparisons(compared, model.confidence_level)


def adjusted_comparisons(compared: Sequence[Comparison], confidence_level: float) -> list[Comparison]:
    """Adjust the p-values for all pairs, and say which model of each is better."""
    out = []
    for one, pvalue in zip(compared, holm([one.pvalue for one in compared]), strict=True):
        better = one.first if one.difference < 0 else one.second
        out.append(replace(one, pvalue_holm=pvalue, better=better if pvalue <= 1 - confidence_level else None))
    return out


def _paired(first: Array, second: Array, model: Model) -> tuple[float, float, float, float]:
    """Difference of two means over the rows of a model with its interval, and the p-value of the paired t test."""
    share, blocks, unit, change = weights(model.path), model.blocks, model.unit, first - second
    largest = max(float(np.sum(np.abs(rows) * share)) for rows in (first, second))
    difference = float(np.sum(change * share))
    difference = difference if abs(difference) > ROUNDING * largest else 0.0
    change -= difference
    change *= share
    low, high = interval(difference, change, blocks, model.confidence_level)
    if max(abs(low), abs(high)) <= ROUNDING * largest:
        low = high = 0.0
    pvalue = paired_t_test(change, difference, blocks, size=largest)
    return difference / unit, low / unit, high / unit, pvalue


def with_ranks(rows: Sequence[ModelRow], comparisons: Sequence[Comparison], ranked_by: str) -> list[ModelRow]:
    """Rank by what ranks, in the order given where only rounding differs, with the p-values against the best."""
    values = [getattr(row, ranked_by) for row in rows]
    size = max(filter(isfinite, map(abs, values)), default=1.0) or 1.0
    order = sorted(range(len(rows)), key=lambda i: inf if isnan(values[i]) else round(values[i] / size, 12))
    best = rows[order[0]]
    return [
        replace(row, rank=1 + order.index(i), pvalue=adjusted_pvalue(comparisons, best, row))
        for i, row in enumerate(rows)
    ]


def common_notes(blocks: int, rows: int, *, comparable: bool) -> Iterator[str]:
    """What a reader must know of all models before comparing them."""
    if not comparable:
        yield (
            "the models' predictions differ: score and CRPS judge predictions and bands together, skill and gains "
            "the bands alone"
        )
    if blocks < 2:
        yield ONE_BLOCK
    elif blocks < min(FEW_BLOCKS, rows):
        yield f"there are only {blocks} blocks: confidence intervals and tests from so few are rough; use 8 to 16"


def notes_on(
    row: ModelRow,
    settings: AssessmentSettings,
    *,
    raised: int,
    dropped: int,
    uncoverable: int,
    weighted: bool,
    asymmetry: float = 0.0,
) -> Iterator[str]:
    """What a reader must know of one model before trusting its numbers.

    `raised`, `dropped` and `uncoverable` count bands and rows, `asymmetry` is how far the two bands differ.
    """
    name, target, out_of_reach = row.name, percentage(settings.shown_coverage), isinf(row.half_width)
    if raised:
        yield f"{name}: {counted(raised, 'band was', 'bands were')} raised by min_band"
    if dropped:
        what = counted(dropped, "row with a missing value was", "rows with missing values were")
        yield f"{name}: {what} dropped"
    if out_of_reach and not uncoverable:
        rows = counted(row.n, "row is", "rows are")
        yield f"{rows} too few to promise {target} coverage for new rows; no factor is sure to reach it"
    elif weighted:
        yield (
            "rows have unequal weights: the factor (or shift) is the smallest whose weighted coverage reaches the "
            "target, without the correction for new rows"
        )
    if uncoverable:
        rows = counted(uncoverable, "row has", "rows have")
        reach = f"no factor reaches {target} coverage and " if out_of_reach else ""
        yield (
            f"{name}: {rows} an error on the side of a zero band, which no factor covers, so {reach}areas are "
            "infinite; raise such bands with min_band"
        )
    elif few := few_rows(row, settings):
        yield few
    if asymmetry > 0.01:
        yield (
            "some bands are asymmetric: the gain on deficit vs. excess can reward asymmetry that carries no "
            "information; score, skill and the gain on deficit vs. bandwidth cannot"
        )


def _note_on_levels(model: Model) -> Iterator[str]:
    """Whether a model's own levels or multiples of its delivered interval fit the errors better, if either does."""
    if len(model.curve.levels) < 2 or model.blocks.count < 2:
        return
    own, scaled = model.crps_rows, model.scaled_crps_rows
    difference, _, _, pvalue = _paired(own, scaled, model)
    if pvalue <= 1 - model.confidence_level:
        levels, multiples = "its own levels", f"multiples of its {percentage(model.level)} interval"
        better, worse = (levels, multiples) if difference < 0 else (multiples, levels)
        low, high = alike(*sorted(model.path.mean(rows) / model.unit for rows in (own, scaled)))
        yield f"{model.name}: {better} do better than {worse} (potential CRPS {low} vs. {high}, {p(pvalue)})"
