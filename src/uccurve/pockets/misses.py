"""Misses: what the rows of a region say about its coverage, with dependent rows counted for what they are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, inf, nan, sqrt

import numpy as np

from uccurve._arrays import Flags, Indices, equal_weights
from uccurve._distributions import binomial_tail, clopper_pearson, t_quantile, t_tail
from uccurve._vocabulary import Array
from uccurve.estimate import Estimate, Move
from uccurve.pockets.features import Feature

FEWEST_BLOCKS = 8  # of dependent rows, in a region that is tested


@dataclass(frozen=True, slots=True, eq=False)
class ShippedRows:
    """One model as shipped, by its flattened rows.

    Attributes
    ----------
    covered : array of bool
        Which rows lie inside their interval as shipped.
    critical : array
        The smallest factor (or shift) that covers each row.
    move : Move
        What ships: the factor on the bands as delivered, or the shift.
    weight : array or None
    """

    name: str
    covered: Flags
    critical: Array
    move: Move
    weight: Array | None = None

    def take(self, rows: Indices) -> ShippedRows:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return ShippedRows(self.name, self.covered[rows], self.critical[rows], self.move, weight)

    @property
    def weights(self) -> Array:
        """Weights of mean 1."""
        if self.weight is None:
            return np.ones(len(self.covered))
        weights: Array = self.weight / self.weight.mean()
        return weights


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for: the miss rate that was promised, the confidence level and the random seed."""

    alpha: Fraction
    confidence_level: float = 0.95
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """The features and blocks of the rows, which all models share, and what is asked for."""

    features: Sequence[Feature]
    of_row: Indices
    count: int  # number of blocks
    asked: Asked

    @property
    def alpha(self) -> float:
        """The miss rate that was promised."""
        return float(self.asked.alpha)

    def features_at(self, rows: Indices) -> list[Feature]:
        """Return the features at some rows."""
        return [feature.take(rows) for feature in self.features]

    def misses(self, model: ShippedRows, rows: Indices) -> Misses:
        """Count the misses of a model among some rows."""
        return misses_of(model.take(rows), self.of_row[rows], self.asked.confidence_level)


@dataclass(frozen=True, slots=True)
class Misses:
    """The share of misses among some rows, and what it rests on.

    `effective` is the number of independent rows that say as much, `error` the standard error by blocks.
    """

    share: float
    rows: int
    blocks: int
    effective: float
    error: float

    @property
    def is_independent(self) -> bool:
        """Whether every row is a block of its own."""
        return self.blocks == self.rows

    @property
    def is_testable(self) -> bool:
        """Whether enough blocks are there for a test."""
        return self.rows > 0 and (self.is_independent or self.blocks >= FEWEST_BLOCKS)

    def narrow_pvalue(self, alpha: float) -> float:
        """Return the probability of this many misses or more at a miss rate of `alpha`."""
        counted = binomial_tail(self.share * self.effective, self.effective, alpha)
        return max(counted, self._t_pvalue(self.share - alpha))

    def wide_pvalue(self, alpha: float) -> float:
        """Return the probability of this few misses or fewer."""
        counted = binomial_tail((1 - self.share) * self.effective, self.effective, 1 - alpha)
        return max(counted, self._t_pvalue(alpha - self.share))

    def _t_pvalue(self, difference: float) -> float:
        """Return that of the t test over blocks, which guards effective rows that rest on few of them."""
        if self.is_independent or self.error <= 0:
            return 0.0
        half = t_tail(difference / self.error, self.blocks - 1) / 2
        return half if difference > 0 else 1 - half

    def coverage(self, confidence_level: float) -> Estimate:
        """Return the coverage with its interval."""
        if not self.is_testable:
            return Estimate(1 - self.share)
        low, high = clopper_pearson(
            (1 - self.share) * self.effective, self.effective, confidence_level
        )
        return Estimate(1 - self.share, low, high)


def misses_of(model: ShippedRows, of_row: Indices, confidence_level: float) -> Misses:
    """Count the misses of a model; `of_row` is the block of each row."""
    missed = ~model.covered
    rows = len(missed)
    if not rows:
        return Misses(nan, 0, 0, nan, nan)
    weights = model.weights / rows
    share = float(weights[missed].sum())
    block = np.unique(of_row, return_inverse=True)[1]
    blocks = int(block.max()) + 1
    sums = np.bincount(block, weights * (missed - share))
    squares = float(np.sum(sums**2))
    error = sqrt(squares * blocks / (blocks - 1)) if blocks > 1 else nan
    if blocks == rows and equal_weights(model.weight):
        return Misses(share, rows, blocks, float(rows), error)
    misses = Misses(share, rows, blocks, nan, error)
    return replace(misses, effective=effective_rows(misses, confidence_level))


def effective_rows(misses: Misses, confidence_level: float) -> float:
    """Return the effective number of rows of Korn and Graubard; nan for a single block."""
    if misses.blocks < 2:
        return nan
    if not 0 < misses.share < 1:
        return float(misses.blocks)
    if misses.error <= 0:
        return float(misses.rows)
    upper = (1 + confidence_level) / 2
    ratio = t_quantile(upper, misses.rows - 1) / t_quantile(upper, misses.blocks - 1)
    independent = misses.share * (1 - misses.share) / misses.error**2
    return min(float(misses.rows), independent * ratio**2)


def conformal_move(model: ShippedRows, alpha: Fraction) -> Move:
    """Return the factor (or shift) with which a new row of the region is covered as promised; inf where none does."""
    order = np.argsort(model.critical, kind="stable")
    rows = len(order)
    if equal_weights(model.weight):
        rank = ceil((rows + 1) * (1 - alpha))
    else:
        reached = np.cumsum(model.weights[order]) / rows
        rank = int(np.searchsorted(reached, float(1 - alpha) * (rows + 1) / rows)) + 1
    value = float(model.critical[order[rank - 1]]) if rank <= rows else inf
    return Move(model.move.kind, Estimate(value))


def moved(model: ShippedRows, move: Move) -> ShippedRows:
    """Return the model with another factor (or shift)."""
    covered = model.critical <= float(move.estimate)
    return ShippedRows(model.name, covered, model.critical, move, model.weight)
