"""Resamples: how often a bootstrap draws each row, or each group of rows that hang together."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np
import numpy.typing as npt

from . import subsets
from .checks import Array
from .progress import Tick
from .units import Units

MANY = 10_000
"""Units from which on weights of two values stand for counts."""
CELLS = 1 << 20
"""Counts that are held at a time."""
WIDTH = 8
"""Columns to a line of a table: numpy copies lines of 32 bytes fastest."""
PICKED = (9, 5)
"""Probability of the larger weight: 9 / 2**5. It makes the third moment of the weights 0.97."""


class Resamples:
    """Weights of units under resampling, the same sequence for the same seed.

    Up to `MANY` units they are drawn with replacement, and blocks of consecutive rows as circular blocks (Politis and
    Romano 1992): with random starts, wrapped around the end, the last one cut to the number of rows.

    Beyond, each unit gets one of two weights at random, with mean 1, variance 1 and third central moment 0.97, which
    for counts would be 1, 1 and 1. Intervals agree with those of counts to the second order, which is what a BCa
    interval has (exchangeably weighted bootstrap: Mason and Newton 1992; the two values are close to Mammen's 1993),
    and sums over a random subset take an eighth of the additions.
    """

    def __init__(self, units: Units, count: int, rng: np.random.Generator) -> None:
        self.units, self.count, self._rng = units, count, rng
        self.circular = units.length is not None and units.length > 1
        self.two_valued = not self.circular and units.count > MANY
        share = PICKED[0] / 2 ** PICKED[1]
        self._low = 1 - sqrt(share / (1 - share))
        self._high = 1 + sqrt((1 - share) / share)

    def batches(self, size: int) -> Iterator[Array]:
        """Weights of the rows, for at most `size` resamples at a time."""
        for start in range(0, self.count, size):
            count = min(size, self.count - start)
            if self.circular:
                yield self._circular(count)[:, self.units.row]
            else:
                weights = self._two_values(count) if self.two_valued else self._drawn(count)
                yield weights if self.units.each else weights[:, self.units.of_row]

    def sums(self, columns: Array, tick: Tick | None = None) -> Array:
        """Weighted sums of the rows' columns, one line a resample."""
        key, length = (self.units.row, self.units.rows) if self.circular else (self.units.of_row, self.units.count)
        if not self.units.each:
            columns = np.column_stack([np.bincount(key, column, length) for column in columns.T])
        if self.two_valued:
            return self._subset_sums(columns, tick)
        out, size = np.empty((self.count, columns.shape[1])), max(1, CELLS // length)
        for start in range(0, self.count, size):
            stop = min(start + size, self.count)
            out[start:stop] = (self._circular if self.circular else self._drawn)(stop - start) @ columns
            if tick:
                tick(stop, self.count)
        return out

    def _drawn(self, count: int) -> Array:
        """How often each unit comes when as many are drawn with replacement."""
        units = self.units.count
        return _tallies(self._rng.integers(0, units, size=(count, units)), units)

    def _circular(self, count: int) -> Array:
        """How often each row of the data comes in circular blocks that make up as many rows."""
        length, rows = int(self.units.length or 1), self.units.rows
        starts = self._rng.integers(0, rows, size=(count, -(-rows // length)))
        place = (starts[:, :, None] + np.arange(length)).reshape(count, -1)[:, :rows]
        return _tallies(place % rows, rows)

    def _two_values(self, count: int) -> Array:
        units = self.units.count
        picked = self._picked(count * subsets.byte_count(units)).reshape(count, -1)
        weights = np.unpackbits(picked, axis=1, count=units).astype(np.float64)
        weights *= self._high - self._low
        weights += self._low
        return weights

    def _subset_sums(self, columns: Array, tick: Tick | None) -> Array:
        """Sums of standardised columns in single precision, whose rounding is far below the noise of resampling."""
        mean, spread = columns.mean(axis=0), columns.std(axis=0)
        spread[spread == 0] = 1
        units, width = columns.shape
        table = np.zeros((units, max(WIDTH, width + 1)), np.float32)
        table[:, 0] = 1
        np.divide(columns - mean, spread, out=table[:, 1 : width + 1], casting="same_kind")
        slabs = subsets.slabs(self._picked, units, self.count, table.shape[1])
        picked = subsets.sums(table, slabs, self.count, tick).astype(np.float64)
        inside = picked[:, :1] * mean + picked[:, 1 : width + 1] * spread
        return np.asarray(self._low * columns.sum(axis=0) + (self._high - self._low) * inside)

    def _picked(self, length: int) -> subsets.Bytes:
        """Bytes in which each bit is set with the probability of the larger weight."""
        out = np.zeros(length, np.uint8)
        for bit in range(PICKED[1]):
            coin = subsets.coins(self._rng, length)
            (np.bitwise_or if PICKED[0] >> bit & 1 else np.bitwise_and)(out, coin, out=out)
        return out


def _tallies(drawn: npt.NDArray[np.int64], units: int) -> Array:
    """How often each unit stands in each line."""
    lines = len(drawn)
    flat = (drawn + units * np.arange(lines)[:, None]).ravel()
    return np.bincount(flat, minlength=lines * units).reshape(lines, units).astype(np.float64)
