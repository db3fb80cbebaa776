"""Regions: leaves of a tree grown on one half of the blocks and tested on the other, then the halves swapped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import nan
from typing import Literal

import numpy as np

from uccurve._arrays import Flags, Indices
from uccurve._vocabulary import Array
from uccurve.evidence.tests import holm
from uccurve.pockets.features import Feature
from uccurve.pockets.misses import Misses, ShippedRows, Surroundings
from uccurve.pockets.rules import Region
from uccurve.pockets.trees import Ground, Node, Tree, grow
from uccurve.pockets.whole import savage_scores, shuffled

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
    narrow = [tester.pvalue("too narrow", one) for one in misses]
    wide = [tester.pvalue("too wide", one) for one in misses]
    adjusted = holm([*narrow, *wide])
    is_found = [pvalue <= 1 - level for pvalue in adjusted]
    pvalues: dict[PocketKind, dict[int, float]] = {"too narrow": {}, "too wide": {}}
    for number, leaf in enumerate(tested):
        if is_found[number]:
            pvalues["too narrow"][id(leaf.node)] = adjusted[number]
        if is_found[number + len(tested)]:
            pvalues["too wide"][id(leaf.node)] = adjusted[number + len(tested)]
    found: list[Candidate] = []
    for half in trees:
        for kind, by_node in pvalues.items():
            found += _candidates(tester, half, kind, by_node)
    count = sum(not np.isnan(pvalue) for pvalue in adjusted)
    return Search(tuple(trees), count, tuple(found), tuple(misses), _expected(model, tested))


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
    is_whole = len(both) == 2 and all(
        one is child for (one, _), child in zip(both, node.children, strict=True)
    )
    if is_whole:
        return [(node, max(pvalue for _, pvalue in both))]
    return [*parts[0], *parts[1]]


def _expected(model: ShippedRows, tested: Sequence[_Leaf]) -> Array:
    """Return, for each row, the miss rate of its region in the half that the region was grown on."""
    expected = np.full(len(model.covered), np.nan)
    for leaf in tested:
        grown = model.take(leaf.half.grown[leaf.node.rows])
        expected[leaf.rows] = np.average(~grown.covered, weights=grown.weights)
    return expected


def merged(found: Sequence[Candidate], features: Sequence[Feature]) -> list[list[Candidate]]:
    """Return finds that overlap together, the surest first in each."""
    inside = {id(one): one.region.holds(features) for one in found}
    together: list[list[Candidate]] = []
    for candidate in sorted(found, key=lambda one: one.pvalue):
        for group in together:
            first = group[0]
            if (
                first.kind == candidate.kind
                and overlap(inside[id(first)], inside[id(candidate)]) >= OVERLAP
            ):
                group.append(candidate)
                break
        else:
            together.append([candidate])
    return together


def overlap(first: Flags, second: Flags) -> float:
    """Return the rows that two regions share, as a share of the smaller one."""
    smaller = min(np.count_nonzero(first), np.count_nonzero(second))
    return float(np.count_nonzero(first & second) / smaller) if smaller else 0.0
