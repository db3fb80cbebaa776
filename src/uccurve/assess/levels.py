"""Calibration: what a model of several levels promises at each of them, and where its observations really fall."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan, nan
from typing import Literal

import numpy as np

from uccurve._distributions import order_statistic_ranks
from uccurve._paths import ALL, ScalePath
from uccurve._refusals import miss_rate_of
from uccurve._rowscores import WISRows, wis
from uccurve._scoring import quantiles
from uccurve._vocabulary import Array
from uccurve.evidence.tests import ROUNDING, effective_rows
from uccurve.evidence.units import Blocks
from uccurve.intervals import Intervals

Promise = Literal["kept", "too narrow", "too wide"]


@dataclass(frozen=True, slots=True)
class LevelRow:
    """One level of a model: what its own interval of that level covers, and the factor it needs to keep its promise.

    Attributes
    ----------
    model : str
        Name of the model.
    level : float
        Nominal coverage.
    coverage, coverage_low, coverage_high : float
        Observed coverage and its confidence interval.
    promise : {"kept", "too narrow", "too wide"} or None
        Whether the confidence interval contains the level; None where nothing is known about chance.
    missed_above, missed_below : float
        Share of the observations above the upper and below the lower bound.
    scale : float
        Factor on this level's bands with which a new row is covered with probability `level`.
    half_width : float
        Half the mean width as delivered.
    """

    model: str
    level: float
    coverage: float
    coverage_low: float
    coverage_high: float
    promise: Promise | None
    missed_above: float
    missed_below: float
    scale: float
    half_width: float


@dataclass(frozen=True, slots=True)
class PIT:
    """Histogram of the probability integral transform: where observations fall among a model's own quantiles.

    Attributes
    ----------
    edges : tuple of float
        Probabilities of the model's quantiles, from 0 to 1: the bins are what lies between two of them.
    density : tuple of float
        Observed share of each bin over its probability; 1 throughout for a calibrated model.
    low, high : tuple of float
        Simultaneous band: with the confidence level, all bins of a calibrated model lie inside.
    """

    edges: tuple[float, ...]
    density: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def is_flat(self) -> bool:
        """Whether all bins lie inside the band, so that the histogram shows no miscalibration."""
        ends = zip(self.density, self.low, self.high, strict=True)
        return all(low <= x * (1 + ROUNDING) and x <= high * (1 + ROUNDING) for x, low, high in ends)


def pit(levels: Mapping[float, Intervals], blocks: Blocks, confidence_level: float) -> PIT:
    """Count observations between the quantiles of nested central intervals around the median.

    The bins are the model's own quantiles, so nothing is interpolated. An observation on the median counts half in
    each of the bins beside it. The band has exact binomial ends for each bin, with the effective number of rows and
    the confidence level of Šidák for all bins together.
    """
    ordered = [levels[level] for level in sorted(levels)]
    first, count = ordered[0], len(ordered)
    y, median = _flat(first, first.y_true), _flat(first, first.y_pred)
    weight = None if first._weight is None else _flat(first, first._weight)
    below = np.sum([y < _flat(iv, iv.lower) for iv in ordered], axis=0)
    above = np.sum([y > _flat(iv, iv.upper) for iv in ordered], axis=0)
    place, tied = np.where(y > median, count + 1 + above, count - below), y == median
    tails = [miss_rate_of(level) / 2 for level in sorted(levels, reverse=True)]
    edges = (0.0, *map(float, tails), 0.5, *(float(1 - tail) for tail in reversed(tails)), 1.0)
    shares = np.bincount(place, weight, len(edges) - 1).astype(np.float64)
    half = np.sum(tied if weight is None else weight[tied]) / 2
    shares[count : count + 2] += -half, half
    each, bins = confidence_level ** (1 / (len(edges) - 1)), []
    for i, width in enumerate(np.diff(edges).tolist()):
        inside = (place == i) | tied if i == count + 1 else place == i
        effective = effective_rows(inside, weight, blocks, each)[1] if blocks.count > 1 else nan
        bins.append((shares[i] / shares.sum() / width, *pit_band(effective, width, each)))
    return PIT(edges, *(tuple(map(float, column)) for column in zip(*bins, strict=True)))


def pit_band(effective: float, width: float, confidence_level: float) -> tuple[float, float]:
    """Ends between which the density of one bin lies with this confidence, if its probability is right."""
    if isnan(effective):
        return nan, nan
    count = max(int(effective), 1)
    low, high = order_statistic_ranks(count, width, confidence_level)
    return low / count / width, (high - 1) / count / width


def wis_rows(levels: Mapping[float, Intervals]) -> WISRows:
    """Weighted interval score of each row, in its three parts; the prediction is the median."""
    first, *_ = every = list(levels.values())
    lower, upper = ([_flat(iv, getattr(iv, side)) for iv in every] for side in ("lower", "upper"))
    y, median = _flat(first, first.y_true), _flat(first, first.y_pred)
    return wis(y, median, lower, upper, [float(miss_rate_of(level)) for level in levels])


def potential_wis(paths: Mapping[float, ScalePath]) -> float:
    """WIS with each level at the factor that is best for it."""
    total = 0.0
    for level, path in paths.items():
        alpha = float(miss_rate_of(level))
        point = path.at(best_factor(path, alpha))
        total += (alpha * point["bandwidth"] + point["deficit"]) * path.unit
    return (total + path.mean(path.error) * path.unit / 2) / (len(paths) + 0.5)


def best_factor(path: ScalePath, alpha: float) -> float:
    """Factor with the smallest interval score: a quantile of the critical scales, weighted by the active band."""
    active = path.mean(path.active)
    share = 1 - alpha * path.mean_half_width / active if active else 0.0
    if share <= 0:
        return 0.0
    rows = np.flatnonzero(path.active) if path.has_uncoverable_rows else ALL
    return quantiles(path.critical[rows], path.weighted(path.active[rows], rows), share)[0]


def _flat(intervals: Intervals, values: Array) -> Array:
    """Values of the flattened rows that carry weight."""
    if intervals._weight is None:
        return values.ravel()
    return values.ravel()[np.flatnonzero(intervals._weight)]
