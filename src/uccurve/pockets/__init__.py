"""Pockets: regions of the features where shipped intervals fail, found without being told where to look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from uccurve import _refusals as checks
from uccurve._arrays import Flags, Indices
from uccurve._distributions import clopper_pearson
from uccurve._vocabulary import Array
from uccurve.assess.choice import t_of
from uccurve.assess.missing import kept_rows
from uccurve.curve import UCC
from uccurve.evidence.inference import checked_level, holm
from uccurve.evidence.models import curves_by_name
from uccurve.evidence.units import Blocks
from uccurve.intervals import Intervals
from uccurve.pockets.features import Feature, at_rows, read_features, usable
from uccurve.pockets.regions import (
    Asked,
    Candidate,
    Half,
    Misses,
    PocketKind,
    Search,
    ShippedRows,
    Surroundings,
    conformal_move,
    halves,
    merged,
    misses_of,
    moved,
    smallest_found,
    tested_regions,
)
from uccurve.pockets.results import ModelPockets, Pocket, Pockets, feature_map
from uccurve.pockets.trees import FEWEST_BLOCKS, FEWEST_ROWS, risk_test
from uccurve.points import UNKNOWN, Estimate, Move, MoveKind
from uccurve.words.verdict import worded

if TYPE_CHECKING:
    from uccurve.assess.memory import RowsSource
    from uccurve.results import Assessment, AssessmentSettings, Verdict


def find_pockets(
    models: Intervals | UCC | Mapping[Any, Any],
    features: Any,
    *,
    coverage: float = 0.9,
    rows: Sequence[Any] | None = None,
    block: int | npt.ArrayLike | None = None,
    confidence_level: float = 0.95,
    seed: int = 0,
) -> Pockets:
    """Find the regions of the features where shipped intervals fail, without being told where to look.

    Parameters
    ----------
    models : Intervals, UCC, or mapping from names to models
        As for `assess`. What ships is each model's intervals with the conformal factor (or shift) for `coverage`.
    features : data frame or mapping from name to array
        One value per row: numbers, dates, booleans or labels; missing values are allowed.
    coverage : float
        The coverage that is promised.
    rows, block
        As for `assess`. Blocks stay whole: none is on both sides of a split.
    confidence_level : float
    seed : int
        Of the random order in which blocks are learnt from and tested.

    Returns
    -------
    Pockets
        `len()` of it is the number of pockets found.

    Notes
    -----
    First one test for each model: can a miss be predicted from the features? Boosted trees learn on 40%, 60% and 80% of
    the rows and predict the next fifth each time; p-values are adjusted over models. Where misses can be predicted, a
    tree of at most 8 regions, of at least 5% of the rows each, is grown on one half of the blocks and tested on the
    other, then the halves are swapped. Regions are tested on both sides, by the binomial tail with the effective number
    of rows, and adjusted by Holm's method. Both tests hold at most 5% false alarms; scikit-learn is needed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> temp, weekend = rng.uniform(10, 40, 4000), rng.uniform(size=4000) < 0.3
    >>> y = rng.normal(size=4000) * np.where((temp > 30) & weekend, 2.5, 1.0)
    >>> iv = Intervals.from_std(y, np.zeros(4000), np.ones(4000))
    >>> found = find_pockets(iv, {"temp": temp, "weekend": weekend}, coverage=0.9)
    >>> [pocket.title for pocket in found]
    ['weekend and temp > 30.2']
    """
    alpha = checks.miss_rate_of(coverage)
    given = curves_by_name(models, rows)
    first = next(iter(given.curves.values())).intervals
    blocks = Blocks.of(first, block, repeated=given.repeated)
    asked = Asked(alpha, checked_level(confidence_level), seed)
    shipped = [shipped_rows(name, curve, asked) for name, curve in given.curves.items()]
    kept = kept_rows(next(iter(given.curves.values())))
    return pockets_in(
        shipped, features, blocks.of_row, asked, sources=Sources(blocks.row, len(first), kept)
    )


def shipped_rows(name: str, curve: UCC, asked: Asked) -> ShippedRows:
    """Return a model with the conformal factor (or shift) for the coverage that was asked for."""
    path = curve.delivered_curve(1 - asked.alpha).path()
    kind: MoveKind = "shift" if path.vary == "shift" else "scale"
    none_covered = np.zeros(len(path), np.bool_)
    model = ShippedRows(name, none_covered, path.critical, Move(kind, UNKNOWN), path.weight)
    return moved(model, conformal_move(model, asked.alpha))


def pockets_of_sources(
    sources: Sequence[RowsSource], verdict: Verdict, features: Any, settings: AssessmentSettings
) -> Pockets:
    """Find the pockets of assessed models: of the one that ships with the verdict's factor, of others with their own.

    Models that have rows of their own are left out, but for the one that ships.
    """
    chosen = next(source for source in sources if source.name == verdict.model)
    same_rows = [source for source in sources if source.units is chosen.units]
    shipped = [_as_assessed(source, verdict) for source in same_rows]
    asked = Asked(chosen.alpha, settings.confidence_level, settings.seed or 0)
    units = chosen.units
    rows = Sources(units.row, units.given, kept_rows(chosen.curve))
    return pockets_in(shipped, features, units.of_row, asked, sources=rows)


def with_pockets_of_sample(
    assessment: Assessment,
    curves: Mapping[str, UCC],
    features: Any,
    *,
    block: npt.ArrayLike | None = None,
    sampled_from: int | None = None,
) -> Assessment:
    """Return an assessment of rows that were streamed, with the pockets of a sample of them.

    Parameters
    ----------
    assessment : Assessment
    curves : mapping from name to UCC
        The models on the rows of the sample.
    features : data frame or mapping from name to array
    block : array_like, optional
        Label of each row of the sample; blocks are in it whole.
    sampled_from : int, optional
        Of how many rows it is a random sample, where it is one.
    """
    settings = assessment.settings
    verdict = assessment.verdict
    alpha = checks.miss_rate_of(settings.shown_coverage)
    asked = Asked(alpha, settings.confidence_level, settings.seed or 0)
    shipped: list[ShippedRows] = []
    for name, curve in curves.items():
        path = curve.delivered_curve(1 - alpha).path()
        move = assessment[name].move
        t = t_of(verdict) if name == verdict.model else float(move.estimate)
        move = Move(move.kind, Estimate(t))
        shipped.append(ShippedRows(name, path.critical <= t, path.critical, move, path.weight))
    first = next(iter(curves.values()))
    blocks = Blocks.of(first.intervals, block)
    rows = Sources(blocks.row, len(first.intervals))
    pockets = pockets_in(
        shipped, features, blocks.of_row, asked, sources=rows, sampled_from=sampled_from
    )
    reworded = worded(
        verdict,
        rows=assessment.rows,
        settings=settings,
        comparisons=assessment.comparisons,
        segments=assessment.segments,
        missing=assessment.missing,
        not_tested=assessment.not_tested,
        pockets=pockets,
    )
    return replace(assessment, pockets=pockets, verdict=reworded)


def _as_assessed(source: RowsSource, verdict: Verdict) -> ShippedRows:
    """Return an assessed model as it ships."""
    path = source.path
    t = t_of(verdict) if source.name == verdict.model else source.t
    move = Move(source.kind, Estimate(t))
    return ShippedRows(source.name, source.covered_at(t), path.critical, move, path.weight)


MOST_ROWS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """Where flattened rows come from.

    `row` is the row of the data of each, `rows` the number of these, `kept` which of the rows that were given they are
    where some were dropped.
    """

    row: Indices
    rows: int
    kept: Flags | None = None


def pockets_in(
    models: Sequence[ShippedRows],
    features: Any,
    of_row: Indices,
    asked: Asked,
    *,
    sources: Sources | None = None,
    sampled_from: int | None = None,
) -> Pockets:
    """Find the pockets of shipped models.

    Parameters
    ----------
    models : sequence of ShippedRows
        By their flattened rows, the same for all.
    features : data frame or mapping from name to array
    of_row : array of int
        Block of each flattened row, from 0.
    asked : Asked
    sources : Sources, optional
        Which rows of the features the flattened rows come from, where these are not the same.
    sampled_from : int, optional
        Of how many rows these are a random sample, where they are one.
    """
    rows = len(of_row)
    columns = columns_at(features, rows if sources is None else sources)
    kept = sampled(of_row, asked.seed)
    if kept is not None:
        sampled_from = sampled_from or rows
        models = [model.take(kept) for model in models]
        columns = at_rows(columns, kept)
        of_row = of_row[kept]
    columns, notes = usable(columns)
    if sampled_from is not None:
        notes.append(
            f"pockets were sought in a random sample of {len(of_row):,} of {sampled_from:,} rows"
        )
    of_row = np.unique(of_row, return_inverse=True)[1]
    data = Surroundings(columns, of_row, int(of_row.max()) + 1, asked)
    return Pockets(
        coverage=float(1 - asked.alpha),
        models=tuple(_all_models(models, data)),
        features=tuple(column.name for column in columns),
        rows=len(of_row),
        notes=tuple(notes),
    )


def columns_at(features: Any, sources: Sources | int) -> list[Feature]:
    """Return the features of the flattened rows, from those of the data or of all rows that were given."""
    if isinstance(sources, int):
        return read_features(features, sources)
    columns = read_features(features)
    row = sources.row
    if sources.kept is not None and len(columns[0]) == len(sources.kept):
        row = np.flatnonzero(sources.kept)[row]
    else:
        columns = read_features(features, sources.rows)
    return at_rows(columns, row)


def sampled(of_row: Indices, seed: int) -> Indices | None:
    """Return the rows of a random sample of whole blocks, of at most `MOST_ROWS`; None where all rows are taken."""
    if len(of_row) <= MOST_ROWS:
        return None
    sizes = np.bincount(of_row)
    order = np.random.default_rng(seed).permutation(len(sizes))
    chosen = order[np.cumsum(sizes[order]) <= MOST_ROWS]
    return np.flatnonzero(np.isin(of_row, chosen))


def why_not(data: Surroundings) -> str:
    """Return why nothing can be tested; empty where it can."""
    rows = len(data.of_row)
    if not data.features:
        return "no feature is left in which a region could be sought"
    if rows < FEWEST_ROWS:
        return f"it takes at least {FEWEST_ROWS} rows, and there are {rows}"
    if data.count < FEWEST_BLOCKS:
        return f"it takes at least {FEWEST_BLOCKS} blocks, and there are {data.count}"
    return ""


def _all_models(models: Sequence[ShippedRows], data: Surroundings) -> list[ModelPockets]:
    """Test every model, then look for the regions of those whose misses can be predicted."""
    reasons: list[str] = []
    pvalues: list[float] = []
    for model in models:
        reason = why_not(data) or _unshippable(model)
        reasons.append(reason or "too few blocks have a miss")
        pvalues.append(nan if reason else risk_test(model, data).pvalue)
    results: list[ModelPockets] = []
    for model, pvalue, reason in zip(models, holm(pvalues), reasons, strict=True):
        if np.isnan(pvalue):
            results.append(ModelPockets(model=model.name, shipped=model.move, reason=reason))
        else:
            results.append(_of_model(model, data, pvalue))
    return results


def _unshippable(model: ShippedRows) -> str:
    """Return why a model cannot be tested."""
    if not isfinite(model.move.estimate.value):
        return "no finite factor brings the intervals to the coverage"
    return "" if not model.covered.all() else "no row is missed"


def _of_model(model: ShippedRows, data: Surroundings, pvalue: float) -> ModelPockets:
    """Return everything about one model; regions are named only where the test of the whole is significant."""
    level = data.asked.confidence_level
    alpha = data.asked.alpha
    trees = halves(model, data)
    regions = tested_regions(model, data, trees)
    predictable = pvalue <= 1 - level
    if not predictable:
        regions = replace(regions, found=())
    by_kind: dict[PocketKind, list[Pocket]] = {"too narrow": [], "too wide": []}
    for group in merged(regions.found, data.features):
        pocket = _pocket(model, data, regions, group)
        by_kind[pocket.kind].append(pocket)
    elsewhere, elsewhere_after = _elsewhere(model, data, regions)
    overall = data.misses(model, np.arange(len(data.of_row)))
    risks = [misses.share for misses in regions.risks if misses.rows]
    return ModelPockets(
        model=model.name,
        shipped=model.move,
        pvalue=pvalue,
        predictable=predictable,
        lowest_risk=min(risks),
        highest_risk=max(risks),
        explained=_explained(model, regions),
        excess_risk=excess_risk(model.covered, 1 - regions.expected, 1 - data.alpha, model.weights),
        pockets=tuple(by_kind["too narrow"]),
        wide=tuple(by_kind["too wide"]),
        elsewhere=elsewhere,
        elsewhere_after=elsewhere_after,
        power=smallest_found(
            effective=overall.effective, alpha=float(alpha), confidence_level=level
        ),
        map=feature_map(model, data.features, _strength(trees)),
    )


def _strength(trees: Sequence[Half]) -> Array:
    """Return how much each feature gained in both trees."""
    first, second = trees
    strength: Array = first.tree.gains + second.tree.gains
    return strength


def _pocket(
    model: ShippedRows, data: Surroundings, regions: Search, group: Sequence[Candidate]
) -> Pocket:
    """Return the most significant of the finds that are one pocket."""
    first = group[0]
    alpha = data.asked.alpha
    level = data.asked.confidence_level
    tested = model.take(first.rows)
    after = misses_of(
        moved(tested, _grown_move(model, data, first)), data.of_row[first.rows], level
    )
    return Pocket(
        model=model.name,
        kind=first.kind,
        region=first.region,
        title=str(first.region),
        n=int(np.count_nonzero(first.region.holds(data.features))),
        tested=first.misses.rows,
        blocks=first.misses.blocks,
        coverage=first.misses.coverage(level),
        target=float(1 - alpha),
        pvalue=first.pvalue,
        bound=_bound(first, regions.tests, level),
        move=conformal_move(tested, alpha),
        after=after.coverage(level),
        halves=len({id(candidate.half) for candidate in group}),
    )


def _grown_move(model: ShippedRows, data: Surroundings, candidate: Candidate) -> Move:
    """Return the factor (or shift) that the half where a region was found gives it."""
    grown = candidate.half.grown
    inside = grown[candidate.region.holds(data.features_at(grown))]
    return conformal_move(model.take(inside), data.asked.alpha)


def _bound(candidate: Candidate, tests: int, level: float) -> float:
    """Return the end of the coverage that holds for all regions at once."""
    misses: Misses = candidate.misses
    confidence = 1 - 2 * (1 - level) / max(tests, 1)
    low, high = clopper_pearson((1 - misses.share) * misses.effective, misses.effective, confidence)
    return high if candidate.kind == "too narrow" else low


def _elsewhere(
    model: ShippedRows, data: Surroundings, regions: Search
) -> tuple[Estimate, Estimate]:
    """Return the coverage outside all found regions as shipped, and with a factor of the rest's own."""
    outside = np.zeros(len(model.covered), np.bool_)
    covered = model.covered.copy()
    for half in regions.halves:
        candidates = [candidate for candidate in regions.found if candidate.half is half]
        if not candidates:
            continue
        rest = ~_inside(candidates, data.features)
        tested = half.tested[rest[half.tested]]
        grown = half.grown[rest[half.grown]]
        outside[tested] = True
        if len(grown):
            move = conformal_move(model.take(grown), data.asked.alpha)
            covered[tested] = moved(model.take(tested), move).covered
    rows = np.flatnonzero(outside)
    level = data.asked.confidence_level
    before = data.misses(model, rows)
    after = data.misses(replace(model, covered=covered), rows)
    return before.coverage(level), after.coverage(level)


def _inside(candidates: Sequence[Candidate], features: Sequence[Feature]) -> Flags:
    inside = np.zeros(len(features[0]), np.bool_)
    for candidate in candidates:
        inside |= candidate.region.holds(features)
    return inside


def _explained(model: ShippedRows, regions: Search) -> float:
    """Return the share of the variance of misses that regions predict for rows they were not found on."""
    missed = ~model.covered
    overall = np.average(missed, weights=model.weights)
    left = np.average((missed - regions.expected) ** 2, weights=model.weights)
    return float(max(1 - left / (overall * (1 - overall)), 0.0))


def excess_risk(
    covered: Flags, predicted: Array, coverage: float, weights: Array | None = None
) -> float:
    """Return the excess risk of the target coverage, for its absolute loss (Braun et al. 2025).

    A lower bound of the mean distance of the coverage given the features from the promised one; `predicted` is the
    coverage that some rule foretells for rows that it did not learn from.

    >>> excess_risk(np.array([True, False, True, True]), np.array([0.8, 0.8, 0.95, 0.95]), 0.9)
    0.25
    """
    side = np.sign(coverage - predicted)
    return float(np.average(side * (coverage - covered), weights=weights))
