"""Resampling: how often rows are drawn with replacement, and which are swapped."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from uccurve._arrays import Indices, blocks
from uccurve._checks import Array
from uccurve._progress import Tick

from ._blocks import Blocks

Seed = int | np.random.Generator | None
MOST = 1 << 12  # units that are drawn or swapped one by one; more are first put into this many groups at random
GROUPS = 200  # groups of units that are left out in turn
BATCH = 64  # resamples at a time
TIE = 1e-12  # share of a statistic below which two of its values are treated as equal


def grouped(rows: Blocks, rng: np.random.Generator) -> tuple[Indices, int]:
    """Unit of each flattened row, and how many units there are: blocks, or random groups of them where they are many.

    Groups make the variance of a resampled sum off by a random factor with a standard deviation of
    ``sqrt(2 / MOST)``, 2.2%. That moves the ends of an interval by less than thousands of resamples leave them
    uncertain, and the effort does not grow with the rows. Swapping whole groups is as valid as swapping rows.
    """
    if rows.count <= MOST:
        return rows.of_row, rows.count
    group = rng.permutation(np.arange(rows.count, dtype=np.intp) % MOST)
    return group[rows.of_row], MOST


class Resamples:
    """How often each unit is drawn with replacement."""

    def __init__(self, rows: Blocks, rng: np.random.Generator) -> None:
        self._rng, (self.of_row, self.units) = rng, grouped(rows, rng)

    def batches(self, count: int, tick: Tick | None) -> Iterator[Array]:
        """Yield the `counts` of so many resamples, some at a time."""
        return (self.counts(part.stop - part.start) for part in batches(count, tick))

    def counts(self, count: int) -> Array:
        """How often each unit is drawn: (resamples, units)."""
        drawn = self._rng.integers(0, self.units, size=(count, self.units))
        drawn += self.units * np.arange(count)[:, None]
        return np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape).astype(np.float64)

    def left_out(self) -> Array:
        """All units but those of one group, for each of at most `GROUPS` random groups."""
        group = self._rng.permutation(self.units) % GROUPS
        return np.not_equal.outer(np.unique(group), group).astype(np.float64)


class Swaps:
    """All ways to swap units where they are at most one more than `count`, or that many random ones."""

    def __init__(self, rows: Blocks, count: int, rng: np.random.Generator) -> None:
        self.of_row, self.units = grouped(rows, rng)
        self._rng = rng
        self.every = self.units < 63 and 2**self.units <= count + 1
        self.count = 2**self.units if self.every else count

    def batches(self, tick: Tick | None) -> Iterator[Array]:
        """Yield whether each unit is swapped (1) or not (0), for some swaps at a time: (swaps, units)."""
        for part in batches(self.count, tick):
            if self.every:
                yield (np.arange(part.start, part.stop)[:, None] >> np.arange(self.units) & 1).astype(np.float64)
            else:
                shape = part.stop - part.start, self.units
                yield self._rng.integers(0, 2, size=shape, dtype=np.bool_).astype(np.float64)


def batches(total: int, tick: Tick | None = None) -> Iterator[slice]:
    """Slices of `total` resamples."""
    for part in blocks(total, BATCH):
        yield part
        if tick:
            tick(part.stop, total)
