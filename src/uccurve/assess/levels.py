"""Levels: what a model of several levels promises at each of them, and where its observations really fall."""

from collections.abc import Mapping
from math import isnan, nan

import numpy as np

from uccurve._distributions import order_statistic_ranks
from uccurve._paths import ScalePath
from uccurve._refusals import miss_rate_of
from uccurve._rows import ALL
from uccurve._scoring import WISRows, conformal_t, quantiles, wis
from uccurve._vocabulary import Array
from uccurve.evidence.contributions import effective_at, factor_ends
from uccurve.evidence.inference import (
    coverage_estimate,
    effective_rows,
    missed_on_sides,
    on_bounds_of,
    share_estimate,
)
from uccurve.evidence.units import Blocks
from uccurve.intervals import Intervals
from uccurve.points import Estimate
from uccurve.results import PIT, AssessmentSettings, LevelRow, Promised


def level_rows(
    model: str,
    levels: Mapping[float, Intervals],
    blocks: Blocks,
    settings: AssessmentSettings,
    unit: float,
) -> list[LevelRow]:
    """One row per level of a model, narrowest first."""
    rows = []
    for level, intervals in levels.items():
        path = ScalePath.of(intervals)
        covered = path.critical <= path.delivered
        coverage = coverage_estimate(covered, path.weight, blocks, settings.confidence_level)
        strictly = path.mean(covered & ~on_bounds_of(path))
        rows_worth = effective_rows(covered, path.weight, blocks, settings.confidence_level)
        inside = share_estimate(strictly, rows_worth, settings.confidence_level)
        above, below = missed_on_sides(intervals)
        alpha = miss_rate_of(level)
        effective = effective_at(path, 1 - alpha, blocks, settings.confidence_level)
        ends = factor_ends(path, 1 - alpha, effective, settings.confidence_level)
        row = LevelRow(
            model=model,
            level=level,
            coverage=coverage,
            promise=Promised.of(level).kept_by(coverage, inside),
            missed_above=above,
            missed_below=below,
            scale=Estimate(conformal_t(path, alpha), *ends),
            half_width=path.mean_half_width / unit,
        )
        rows.append(row)
    return rows


def pit(levels: Mapping[float, Intervals], blocks: Blocks, confidence_level: float) -> PIT:
    """Count observations between the quantiles of nested central intervals around the median.

    The bins are the model's own quantiles, so nothing is interpolated. An observation on the median counts half in
    each of the bins beside it. The band has exact binomial ends for each bin, with the effective number of rows and
    the confidence level of Šidák for all bins together.
    """
    ordered = [levels[level] for level in sorted(levels)]
    count = len(ordered)
    first = ordered[0]
    y = _flat(first, first.y_true)
    median = _flat(first, first.y_pred)
    weight = None if first._weight is None else _flat(first, first._weight)
    below = np.zeros(len(y), np.intp)
    above = np.zeros(len(y), np.intp)
    for intervals in ordered:
        below += y < _flat(intervals, intervals.lower)
        above += y > _flat(intervals, intervals.upper)
    place = np.where(y > median, count + 1 + above, count - below)
    tied = y == median
    edges = pit_edges(levels)
    shares = np.bincount(place, weight, len(edges) - 1).astype(np.float64)
    half = np.sum(tied if weight is None else weight[tied]) / 2
    shares[count : count + 2] += -half, half
    shares /= shares.sum()
    each = confidence_level ** (1 / len(shares))
    density = []
    for i, width in enumerate(np.diff(edges).tolist()):
        inside = (place == i) | tied if i == count + 1 else place == i
        effective = effective_rows(inside, weight, blocks, each)
        density.append(pit_density(float(shares[i]), effective, width, each))
    return PIT(edges, tuple(density))


def pit_edges(levels: Mapping[float, object]) -> tuple[float, ...]:
    """Probabilities of the quantiles that central intervals around the median are made of, with 0 and 1."""
    lower = [0.0]
    upper = [1.0]
    for level in sorted(levels, reverse=True):
        tail = miss_rate_of(level) / 2
        lower.append(float(tail))
        upper.append(float(1 - tail))
    return (*lower, 0.5, *reversed(upper))


def pit_density(share: float, effective: float, width: float, confidence_level: float) -> Estimate:
    """Density of one bin, between the ends where it lies with this confidence if its probability is right."""
    density = share / width
    if isnan(effective):
        return Estimate(density, nan, nan)
    count = max(int(effective), 1)
    low, high = order_statistic_ranks(count, width, confidence_level)
    return Estimate(density, low / count / width, (high - 1) / count / width)


def wis_rows(levels: Mapping[float, Intervals]) -> WISRows:
    """Weighted interval score of each row, in its three parts; the prediction is the median."""
    first = next(iter(levels.values()))
    lower = []
    upper = []
    alphas = []
    for level, intervals in levels.items():
        lower.append(_in_units(intervals, intervals.lower))
        upper.append(_in_units(intervals, intervals.upper))
        alphas.append(float(miss_rate_of(level)))
    y_true = _in_units(first, first.y_true)
    y_pred = _in_units(first, first.y_pred)
    return wis(y_true, y_pred, lower, upper, alphas)


def potential_wis(levels: Mapping[float, Intervals]) -> float:
    """WIS with each level at the factor that is best for it."""
    total = 0.0
    for level, intervals in levels.items():
        path = ScalePath.of(intervals)
        alpha = float(miss_rate_of(level))
        point = path.at(best_factor(path, alpha))
        total += alpha * point["bandwidth"] + point["deficit"]
    return (total + path.mean(path.error) / 2) / (len(levels) + 0.5)


def best_factor(path: ScalePath, alpha: float) -> float:
    """Factor with the smallest interval score: a quantile of the critical scales, weighted by the active band."""
    active = path.mean(path.active)
    share = 1 - alpha * path.mean_half_width / active if active else 0.0
    if share <= 0:
        return 0.0
    rows = np.flatnonzero(path.active) if path.has_uncoverable_rows else ALL
    return quantiles(path.critical[rows], path.weighted(path.active[rows], rows), share)[0]


def _in_units(intervals: Intervals, values: Array) -> Array:
    """Values of the flattened rows that carry weight, each in the unit of its row."""
    return _flat(intervals, intervals.in_units(values))


def _flat(intervals: Intervals, values: Array) -> Array:
    """Values of the flattened rows that carry weight."""
    if intervals._weight is None:
        return values.ravel()
    return values.ravel()[np.flatnonzero(intervals._weight)]
