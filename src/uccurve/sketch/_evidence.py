"""Evidence: what blocks of rows, or independent rows, say about chance in the numbers of streamed models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import nan, sqrt
from typing import Any, NamedTuple

import numpy as np

from uccurve._checks import Array
from uccurve._distributions import clopper_pearson, t_quantile
from uccurve.compare._blocks import Blocks
from uccurve.compare._evidence import interval, one_sided_t_test

from ._brackets import Bracket

Changes = Mapping[str, Array]
"""Influence of the units on each statistic, by its name; they sum to 0."""


@dataclass(frozen=True)
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
        low, high = (interval(end, change, self.blocks, confidence_level, log=True) for end in value.pair)
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


class Side(NamedTuple):
    """Some of the rows: their units, and the influence of these on the share that is covered."""

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
    return one_sided_t_test(rest.share - inside.share, error, fewer - 1, size=1.0)
