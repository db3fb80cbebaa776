"""Search: the tests, regions, factors and the map of each shipped model, put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan
from typing import Any

import numpy as np

from uccurve._arrays import Flags, Indices
from uccurve._distributions import clopper_pearson
from uccurve._vocabulary import Array
from uccurve.estimate import Estimate, Move
from uccurve.evidence.tests import holm
from uccurve.pockets.features import Feature, read_features, usable
from uccurve.pockets.maps import feature_map
from uccurve.pockets.misses import (
    Asked,
    Misses,
    ShippedRows,
    Surroundings,
    conformal_move,
    misses_of,
    moved,
)
from uccurve.pockets.power import smallest_found
from uccurve.pockets.regions import Candidate, Half, Search, halves, merged, tested_regions
from uccurve.pockets.results import ModelPockets, Pocket, Pockets
from uccurve.pockets.whole import FEWEST_BLOCKS, FEWEST_ROWS, RiskTest, test_of_risk

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
        columns = [column.take(kept) for column in columns]
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
    return [column.take(row) for column in columns]


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
    reasons = [why_not(data) or _unshippable(model) for model in models]
    tests = [_risk_test(model, data, reason) for model, reason in zip(models, reasons, strict=True)]
    adjusted = holm([test.pvalue for test in tests])
    found: list[ModelPockets] = []
    for model, pvalue, reason in zip(models, adjusted, reasons, strict=True):
        if np.isnan(pvalue):
            why = reason or "too few blocks have a miss"
            found.append(ModelPockets(model=model.name, shipped=model.move, reason=why))
        else:
            found.append(_of_model(model, data, pvalue))
    return found


def _unshippable(model: ShippedRows) -> str:
    """Return why a model cannot be tested."""
    if not isfinite(model.move.estimate.value):
        return "no finite factor brings the intervals to the coverage"
    return "" if not model.covered.all() else "no row is missed"


def _risk_test(model: ShippedRows, data: Surroundings, reason: str) -> RiskTest:
    if reason:
        return RiskTest(nan, 0, nan)
    return test_of_risk(model, data)


def _of_model(model: ShippedRows, data: Surroundings, pvalue: float) -> ModelPockets:
    """Return everything about one model; regions are named only where the test of the whole is significant."""
    level = data.asked.confidence_level
    alpha = data.asked.alpha
    trees = halves(model, data)
    regions = tested_regions(model, data, trees)
    predictable = pvalue <= 1 - level
    if not predictable:
        regions = replace(regions, found=())
    pockets = [
        _pocket(model, data, regions, group) for group in merged(regions.found, data.features)
    ]
    elsewhere, elsewhere_after = _elsewhere(model, data, regions)
    overall = data.misses(model, np.arange(len(data.of_row)))
    risks = [one.share for one in regions.risks if one.rows]
    return ModelPockets(
        model=model.name,
        shipped=model.move,
        pvalue=pvalue,
        predictable=predictable,
        lowest_risk=min(risks),
        highest_risk=max(risks),
        explained=_explained(model, regions),
        excess_risk=excess_risk(model.covered, 1 - regions.expected, 1 - data.alpha, model.weights),
        pockets=tuple(pocket for pocket in pockets if pocket.kind == "too narrow"),
        wide=tuple(pocket for pocket in pockets if pocket.kind == "too wide"),
        elsewhere=elsewhere,
        elsewhere_after=elsewhere_after,
        power=smallest_found(
            effective=overall.effective, alpha=float(alpha), confidence_level=level
        ),
        map=feature_map(model, data.features, _strength(trees)),
    )


def _strength(trees: Sequence[Half]) -> Array:
    """Return how much each feature gained in both trees."""
    strength: Array = np.sum([half.tree.gains for half in trees], axis=0)
    return strength


def _pocket(
    model: ShippedRows, data: Surroundings, regions: Search, group: Sequence[Candidate]
) -> Pocket:
    """Return the surest of the finds that are one pocket."""
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
        halves=len({id(one.half) for one in group}),
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
        found = [one for one in regions.found if one.half is half]
        if not found:
            continue
        rest = ~_inside(found, data.features)
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


def _inside(found: Sequence[Candidate], features: Sequence[Feature]) -> Flags:
    inside: Flags = np.any([one.region.holds(features) for one in found], axis=0)
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
