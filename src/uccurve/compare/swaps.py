"""Swaps: ways to swap units between two models, what the difference becomes under each, and how extreme it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from uccurve._checks import Array
from uccurve._progress import Tick

from . import subsets
from .units import Units

Alternative = Literal["two-sided", "less", "greater"]
Flags = npt.NDArray[np.bool_]
TIE = 1e-12
"""Share of the statistic's own size below which two of its values are taken for equal."""


class Swaps:
    """All ways to swap the units where they are at most one more than `count`, or that many random ones."""

    def __init__(self, units: Units, count: int, rng: np.random.Generator) -> None:
        self.units, self._rng = units, rng
        self.exact = units.count < 63 and 2**units.count <= count + 1
        self.count = 2**units.count if self.exact else count

    def sums(self, columns: Array, tick: Tick | None) -> Array:
        """Sum of the rows' columns over the swapped units, for each swap."""
        per_unit = np.column_stack([self.units.sums(column) for column in columns.T])
        subset = (
            subsets.every(self.units.count) if self.exact else subsets.slabs(self._coins, self.units.count, self.count)
        )
        return subsets.sums(per_unit, subset, self.count, tick)

    def _coins(self, length: int) -> subsets.Bytes:
        return subsets.coins(self._rng, length)

    def batches(self, size: int) -> Iterator[Flags]:
        """Which rows (lines) are swapped, for at most `size` swaps (columns) at a time."""
        for start in range(0, self.count, size):
            stop = min(start + size, self.count)
            if self.exact:
                units = (np.arange(start, stop) >> np.arange(self.units.count)[:, None] & 1).astype(bool)
            else:
                units = self._rng.integers(0, 2, size=(self.units.count, stop - start), dtype=np.bool_)
            yield units if self.units.each else units[self.units.of_row]


class Null(NamedTuple):
    """Differences under the swaps, the delivered one by the same arithmetic, and the size of what they are made of."""

    values: Array
    observed: float
    size: float

    @property
    def slack(self) -> float:
        """Return what two differences may be apart and yet be taken for equal."""
        return TIE * self.size

    @property
    def constant(self) -> bool:
        """Whether the difference is 0 however rows are swapped."""
        return bool(np.all(np.abs(self.values) <= self.slack))

    def pvalue(self, alternative: Alternative, *, exact: bool) -> float:
        """Share of swaps at least as extreme as none; where not every swap was tried, that one counts as one more."""
        if alternative == "less":
            extreme = self.values <= self.observed + self.slack
        elif alternative == "greater":
            extreme = self.values >= self.observed - self.slack
        else:
            extreme = np.abs(self.values) >= abs(self.observed) - self.slack
        count = int(extreme.sum())
        return count / len(extreme) if exact else (count + 1) / (len(extreme) + 1)


class AnswersFromSums(Protocol):
    """Columns of a pool of rows whose sums over some of them answer a question."""

    columns: dict[str, Array]

    def from_sums(self, sums: Array) -> Array:
        """Answers from sums of the columns, which stand in the last dimension."""


def by_rows(amounts: Array, swaps: Swaps, tick: Tick | None) -> Null:
    """Differences that are sums of an amount for each row of each model (two lines), which a swap turns around."""
    difference = amounts[0] - amounts[1]
    observed = float(np.sum(difference))
    moved = swaps.sums(difference[:, None], tick)[:, 0]
    return Null(observed - 2 * moved, observed, float(np.sum(np.abs(amounts))))


def by_sums(moments: AnswersFromSums, swaps: Swaps, tick: Tick | None) -> Null:
    """Differences of answers that depend on each half of the pool through a few sums."""
    first, second = np.split(np.column_stack(list(moments.columns.values())), 2)
    totals = first.sum(axis=0), second.sum(axis=0)
    moved = swaps.sums(second - first, tick)
    values = moments.from_sums(totals[0] + moved) - moments.from_sums(totals[1] - moved)
    answers = moments.from_sums(np.stack(totals))
    return Null(values, float(answers[0] - answers[1]), 1 + float(np.abs(answers).sum()))


def by_order(
    answers: Callable[[Array], Array], weight: Array, batch: int, swaps: Swaps, tick: Tick | None, *, unit: float
) -> Null:
    """Differences of answers that need the order of the pool, for weights of its rows at a time.

    `unit` is what the answers are differences from, where that is more than their own size: 1 for gains.
    """
    values, done = np.empty(swaps.count), 0
    for flags in swaps.batches(batch):
        one, two = _halves(answers, weight[:, None], flags)
        values[done : done + len(one)] = one - two
        done += len(one)
        if tick:
            tick(done, swaps.count)
    (one,), (two,) = _halves(answers, weight[:, None], np.zeros((len(weight), 1), bool))
    return Null(values, float(one - two), float(abs(one) + abs(two)) + unit)


def _halves(answers: Callable[[Array], Array], weight: Array, swapped: Flags) -> tuple[Array, Array]:
    """Answers for the two halves into which swaps split the pool."""
    flags = np.concatenate([swapped, ~swapped])
    pool = np.concatenate([weight, weight])
    return answers(np.where(flags, 0, pool)), answers(np.where(flags, pool, 0))
