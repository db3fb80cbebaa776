"""Regions: leaves of a tree grown on one half of the blocks and tested on the other, then the halves swapped.

Misses are counted with dependent rows for what they are worth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, inf, nan, sqrt
from operator import attrgetter
from typing import Literal

import numpy as np

from uccurve._arrays import Flags, Indices, equal_weights
from uccurve._distributions import binomial_tail, clopper_pearson, t_quantile, t_tail
from uccurve._vocabulary import Array
from uccurve.evidence.inference import holm
from uccurve.pockets.features import Feature, Region, at_rows
from uccurve.pockets.trees import Ground, Node, Tree, grow, savage_scores, shuffled
from uccurve.points import Estimate, Move

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
        return at_rows(self.features, rows)

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


PocketKind = Literal["too narrow", "too wide"]
OVERLAP = 0.5  # share of the smaller of two regions from which they are one


@dataclass(frozen=True, slots=True, eq=False)
class Half:
    """A tree, with the rows that it was grown on and those that it is tested on."""

    tree: Tree
    grown: Indices
    tested: Indices

    @property
    def nodes(self) -> list[Node]:
        """The regions of the tree."""
        return list(self.tree.root.leaves())


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A region that was found on one side, with what the tested half says of it."""

    kind: PocketKind
    region: Region
    half: Half
    rows: Indices  # of the tested half, in the region
    misses: Misses
    pvalue: float


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """All regions of both halves, and those that were found."""

    halves: tuple[Half, ...]
    tests: int
    found: tuple[Candidate, ...]
    risks: tuple[Misses, ...]  # of all regions
    expected: Array  # miss rate that the other half's regions predict for each row


def halves(model: ShippedRows, data: Surroundings) -> tuple[Half, ...]:
    """Grow a tree on either half of the blocks."""
    order, reached = shuffled(data, data.asked.seed + 1)
    first = np.sort(order[reached <= 0.5])
    second = np.sort(order[reached > 0.5])
    trees: list[Half] = []
    for grown, tested in ((first, second), (second, first)):
        score = savage_scores(model.critical[grown])
        ground = Ground.of(data.features_at(grown), score, model.weights[grown])
        trees.append(Half(grow(ground), grown, tested))
    return tuple(trees)


def tested_regions(model: ShippedRows, data: Surroundings, trees: Sequence[Half]) -> Search:
    """Test all leaves of both trees on both sides, adjusted by Holm's method, and name those that fail."""
    tester = _Tester(model, data)
    level = data.asked.confidence_level
    tested = [_Leaf(half, node, tester.rows(half, node)) for half in trees for node in half.nodes]
    misses = [tester.misses(leaf.rows) for leaf in tested]
    narrow = [tester.pvalue("too narrow", counted) for counted in misses]
    wide = [tester.pvalue("too wide", counted) for counted in misses]
    adjusted = holm([*narrow, *wide])
    is_found = [pvalue <= 1 - level for pvalue in adjusted]
    pvalues: dict[PocketKind, dict[int, float]] = {"too narrow": {}, "too wide": {}}
    for number, leaf in enumerate(tested):
        if is_found[number]:
            pvalues["too narrow"][id(leaf.node)] = adjusted[number]
        if is_found[number + len(tested)]:
            pvalues["too wide"][id(leaf.node)] = adjusted[number + len(tested)]
    candidates: list[Candidate] = []
    for half in trees:
        for kind, by_node in pvalues.items():
            candidates += _candidates(tester, half, kind, by_node)
    count = int(np.count_nonzero(~np.isnan(adjusted)))
    expected = _expected(model, tested)
    return Search(tuple(trees), count, tuple(candidates), tuple(misses), expected)


@dataclass(frozen=True, slots=True, eq=False)
class _Leaf:
    half: Half
    node: Node
    rows: Indices


@dataclass(frozen=True, slots=True, eq=False)
class _Tester:
    """Counts and tests the misses of a model in regions."""

    model: ShippedRows
    data: Surroundings

    def rows(self, half: Half, node: Node) -> Indices:
        """Return the rows of the tested half that lie in a region."""
        parts = self.data.features_at(half.tested)
        return half.tested[node.region.holds(parts)]

    def misses(self, rows: Indices) -> Misses:
        """Count the misses of some rows."""
        return self.data.misses(self.model, rows)

    def pvalue(self, kind: PocketKind, misses: Misses) -> float:
        """Return the one-sided p-value of a region; nan where it has too few rows or blocks."""
        if not misses.is_testable:
            return nan
        if kind == "too narrow":
            return misses.narrow_pvalue(self.data.alpha)
        return misses.wide_pvalue(self.data.alpha)


def _candidates(
    tester: _Tester, half: Half, kind: PocketKind, pvalues: dict[int, float]
) -> Iterator[Candidate]:
    """Yield what was found in one tree; regions that make up a larger one are that one."""
    for node, pvalue in _largest(half.tree.root, pvalues):
        rows = tester.rows(half, node)
        yield Candidate(kind, node.region, half, rows, tester.misses(rows), pvalue)


def _largest(node: Node, pvalues: dict[int, float]) -> list[tuple[Node, float]]:
    """Return the largest nodes all of whose leaves were found, with the largest of their p-values."""
    if not node.children:
        return [(node, pvalues[id(node)])] if id(node) in pvalues else []
    parts = [_largest(child, pvalues) for child in node.children]
    both = [part[0] for part in parts if len(part) == 1]
    if len(both) == 2:
        (first, one_pvalue), (second, other_pvalue) = both
        if (first, second) == node.children:
            return [(node, max(one_pvalue, other_pvalue))]
    return [*parts[0], *parts[1]]


def _expected(model: ShippedRows, tested: Sequence[_Leaf]) -> Array:
    """Return, for each row, the miss rate of its region in the half that the region was grown on."""
    expected = np.full(len(model.covered), np.nan)
    for leaf in tested:
        grown = model.take(leaf.half.grown[leaf.node.rows])
        expected[leaf.rows] = np.average(~grown.covered, weights=grown.weights)
    return expected


def merged(candidates: Sequence[Candidate], features: Sequence[Feature]) -> list[list[Candidate]]:
    """Return finds that overlap together, the most significant first in each."""
    groups: list[list[Candidate]] = []
    for candidate in sorted(candidates, key=attrgetter("pvalue")):
        group = next((group for group in groups if is_same(group[0], candidate, features)), None)
        if group is None:
            groups.append([candidate])
        else:
            group.append(candidate)
    return groups


def is_same(first: Candidate, second: Candidate, features: Sequence[Feature]) -> bool:
    """Whether two finds are the same pocket."""
    if first.kind != second.kind:
        return False
    return overlap(first.region.holds(features), second.region.holds(features)) >= OVERLAP


def overlap(first: Flags, second: Flags) -> float:
    """Return the rows that two regions share, as a share of the smaller one."""
    smaller = min(np.count_nonzero(first), np.count_nonzero(second))
    return float(np.count_nonzero(first & second) / smaller) if smaller else 0.0


PROBABILITY = 0.8
SHARES = (
    0.05,
    0.1,
    0.2,
)  # sizes of a pocket, of which the smallest one that could be found is told
TESTS = 16  # of two trees with a pocket, on two sides
BLURRED = 0.15  # share of a found region that lies outside the pocket it is found for
HEADROOM = 0.9  # of the tested rows, for a tree that does not see every pocket


@dataclass(frozen=True, slots=True)
class PocketPower:
    """A pocket of a `share` of the rows that covers less than `coverage` is found with this `probability`.

    >>> smallest_found(effective=4000.0, alpha=0.1, confidence_level=0.95)
    PocketPower(share=0.05, coverage=0.73, probability=0.8)
    """

    share: float
    coverage: float
    probability: float = PROBABILITY


def smallest_found(
    *, effective: float, alpha: float, confidence_level: float
) -> PocketPower | None:
    """Return the smallest pocket that would have been found; None where none would.

    `effective` is the number of independent rows that the data are worth. One half of them tests what the other half
    found, at the level that is left for each of `TESTS` regions.
    """
    for share in SHARES:
        rows = int(share * effective * HEADROOM / 2)
        for percent in range(int(100 * (1 - alpha)) - 1, 0, -1):
            miss_rate = 1 - percent / 100
            if detection(rows, miss_rate, alpha, (1 - confidence_level) / TESTS) >= PROBABILITY:
                return PocketPower(share, percent / 100)
    return None


def detection(rows: int, miss_rate: float, alpha: float, level: float) -> float:
    """Return the probability that a region of so many rows is shown to miss more often than `alpha`."""
    blurred = (1 - BLURRED) * miss_rate + BLURRED * alpha
    count = _critical_count(rows, alpha, round(level, 9))
    return binomial_tail(count, rows, blurred) if count <= rows else 0.0


@lru_cache(maxsize=64)
def _critical_count(rows: int, alpha: float, level: float) -> int:
    """Return the smallest number of misses that is significant."""
    for count in range(rows + 1):
        if binomial_tail(count, rows, alpha) <= level:
            return count
    return rows + 1
