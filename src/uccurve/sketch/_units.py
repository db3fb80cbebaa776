"""Units of chance: blocks of rows, or independent rows, and what they say about the numbers of streamed models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan, sqrt
from typing import Any, NamedTuple, Self

import numpy as np

from uccurve._arrays import Flags, Indices
from uccurve._checks import Array
from uccurve._distributions import clopper_pearson, t_quantile, t_tail
from uccurve.compare._blocks import Blocks
from uccurve.compare._evidence import interval

from ._bins import NOTHING, sums_by
from ._brackets import Bracket

Changes = Mapping[str, Array]
"""Influence of the units on each statistic, by its name; they sum to 0."""


@dataclass(frozen=True, eq=False)
class Units:
    """Number of rows and of independent units among them.

    An influence is an array with one number per unit. Where units are single rows, too many to be kept, an array of
    one number stands for it: the root of their sum of squares, which is all that standard errors need.
    """

    rows: int
    count: int
    equal: bool
    """Whether units are rows of equal weight."""

    @property
    def blocks(self) -> Blocks:
        """Units as `compare` takes them; an influence holds their sums already."""
        nothing = np.broadcast_to(np.intp(0), self.count)
        return Blocks(nothing, self.count, nothing, self.count)

    def ends(self, value: Bracket, change: Array | None, confidence_level: float) -> tuple[float, float]:
        """Interval of a positive value by its influence on the logarithm, widened by the value's bracket."""
        if change is None:
            return nan, nan
        blocks = self.blocks
        low, high = (interval(end, change, blocks, confidence_level, log=True) for end in value.pair)
        return low[0], high[1]

    def effective_rows(self, share: float, change: Array | None, confidence_level: float) -> float:
        """Return the number of independent rows that a share says as much about (Korn and Graubard 1998)."""
        if self.equal:
            return float(self.rows)
        if change is None or not 0 < share < 1:
            return float(self.count)
        upper, variance = (1 + confidence_level) / 2, float(np.dot(change, change)) * self.count / (self.count - 1)
        ratio = t_quantile(upper, self.rows - 1) / t_quantile(upper, self.count - 1)
        return min(float(self.rows), share * (1 - share) * ratio**2 / variance) if variance > 0 else float(self.rows)

    def share_ends(self, share: float, change: Array | None, confidence_level: float) -> tuple[float, float]:
        """Interval of a share of the rows."""
        if self.count < 2:
            return nan, nan
        effective = self.effective_rows(share, change, confidence_level)
        return clopper_pearson(share * effective, effective, confidence_level)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known about chance: the influence of the units on each model's numbers and on their differences."""

    units: Units
    changes: Sequence[Changes]
    pairs: Mapping[tuple[int, int], Array]
    above: Sequence[float]
    """Share of the rows above their interval, for each model."""
    labels: Sequence[Any] | None = None
    """Labels of the blocks; None where rows are independent."""

    @classmethod
    def joined(cls, parts: Sequence[Evidence], pairs: Callable[[list[Changes]], dict[tuple[int, int], Array]]) -> Self:
        """Evidence on models of several frames; `pairs` of different ones need the same blocks."""
        first, changes, within = parts[0], list[Changes](), dict[tuple[int, int], Array]()
        for part in parts:
            at = len(changes)
            within |= {(at + i, at + j): change for (i, j), change in part.pairs.items()}
            changes += [part._in_order(one, first.labels) for one in part.changes]
        above = [share for part in parts for share in part.above]
        found = within if len(parts) == 1 or first.labels is None else pairs(changes)
        return cls(first.units, changes, found, above, first.labels)

    def _in_order(self, change: Changes, labels: Sequence[Any] | None) -> Changes:
        """Influence of the blocks in the order of these labels."""
        if labels is None or self.labels is None or self.labels is labels:
            return change
        place = {label: i for i, label in enumerate(self.labels)}
        if place.keys() != set(labels):
            raise ValueError("`block` must have the same labels for all models. Hint: put them into one frame.")
        order = [place[label] for label in labels]
        return {name: values[order] for name, values in change.items()}


@dataclass(frozen=True, eq=False)
class Coverages:
    """Weight of groups of rows, and weight of the covered ones: by block, or as sums of squared weights."""

    units: Units
    weight: Array
    covered: Array
    squares: Array
    """Sum of the squared weights of each group."""
    block: Indices | None
    labels: Sequence[Sequence[Any]] = ()
    """Columns of labels, one label per group."""
    chosen: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    """Which groups are those of a segment."""

    def of_label(self, places: Sequence[int], label: str) -> Coverages:
        """Choose the groups whose labels in some columns make up a label."""
        if not self.labels:  # rows of equal weight, of which only the number counts
            return self
        found = [joined_label(one) == label for one in zip(*(self.labels[i] for i in places), strict=True)]
        return replace(self, chosen=np.array(found, np.bool_))

    def inside(self, share: float, total: float, rows: int) -> Side:
        """Return the chosen rows, of which a share is covered."""
        return self._side(self.chosen, share, total, rows)

    def outside(self, share: float, total: float, rows: int) -> Side:
        """Return all other rows, of which a share is covered."""
        return self._side(~self.chosen, share, total, rows)

    def _side(self, chosen: Flags, share: float, total: float, rows: int) -> Side:
        if self.units.equal:
            return Side(Units(rows, rows, equal=True), NOTHING, share, total, rows)
        weight, covered, size = self.weight[chosen], self.covered[chosen], float(self.squares[chosen].sum())
        if self.block is None:
            change = root(squares(weight.sum(), covered.sum(), share)) / total
            return Side(Units(rows, rows, equal=False), change, share, total, size)
        weight, covered = (sums_by(self.block[chosen], one, self.units.count) for one in (weight, covered))
        units = Units(rows, int(np.count_nonzero(weight)), equal=False)
        return Side(units, (covered - share * weight) / total, share, total, size)


class Side(NamedTuple):
    """Rows of a segment, or all others: their units, and the influence of these on the share that is covered."""

    units: Units
    change: Array
    share: float
    total: float
    squares: float
    """Sum of the squared weights."""


def joined_label(labels: Iterable[Any]) -> str:
    """Return one label from those of several columns."""
    return ", ".join(map(str, labels))


def squares(weight: float, covered: float, share: float) -> float:
    """Sum of squared influences on a share, from the squared weights of all and of the covered rows."""
    return covered * (1 - 2 * share) + share**2 * weight


def root(square: float) -> Array:
    """Return the root of a sum of squares over rows, which rounding may have made negative."""
    return np.array([sqrt(max(float(square), 0.0))])


def lower_share_test(inside: Side, rest: Side) -> float:
    """One-sided p-value of a smaller share of covered rows in a segment than in the rest of the rows.

    As `compare._evidence.segment_test`, from sums.
    """
    fewer = min(inside.units.count, rest.units.count)
    if fewer < 2:
        return nan
    blocks = len(inside.change) == len(rest.change) > 1
    change = inside.change - rest.change if blocks else np.append(inside.change, rest.change)
    overall = (inside.share * inside.total + rest.share * rest.total) / (inside.total + rest.total)
    independent = overall * (1 - overall) * sum(side.squares / side.total**2 for side in (inside, rest))
    error = sqrt(max(float(np.dot(change, change)) * fewer / (fewer - 1), independent))
    if error == 0:
        return 1.0
    half = t_tail((inside.share - rest.share) / error, fewer - 1) / 2
    return half if inside.share < rest.share else 1 - half
