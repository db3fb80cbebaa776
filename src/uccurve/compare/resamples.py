"""Resamples: how often a bootstrap draws each row, or each group of rows that hang together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from uccurve._checks import Array
from uccurve._progress import Tick
from uccurve.profile import Indices

from .units import Units

MOST = 1 << 12
"""Units that are drawn one by one; more are first put into this many groups at random."""
PRODUCTS = 1 << 18
"""Products that are summed at a time: few enough for BLAS not to start threads, which cost more than they bring."""


class Resamples:
    """How often each unit is drawn with replacement.

    Blocks of consecutive rows are circular (Politis and Romano 1992): they start anywhere, wrap around the end, and the
    last one is cut to the number of rows.

    More than `MOST` units are put into that many groups at random, and groups are drawn: the variance of a sum under
    resampling is then off by a random factor with a standard deviation of ``sqrt(2 / MOST)``, 2.2 %. That moves the
    ends of an interval by less than thousands of resamples leave them uncertain, and the effort does not grow with
    the rows.
    """

    def __init__(self, units: Units, count: int, rng: np.random.Generator) -> None:
        self.count, self.units, self._rng = count, units, rng
        self.circular = units.length is not None and units.length > 1
        self._drawn, self._of_row = units.count, units.of_row
        if self.circular:
            self._drawn, self._of_row = units.rows, units.row
        elif units.count > MOST:
            group = rng.permutation(np.arange(units.count, dtype=np.intp) % MOST)
            self._drawn, self._of_row = MOST, group[units.of_row]

    def batches(self, size: int) -> Iterator[Array]:
        """How often each row (line) comes in each of at most `size` resamples (columns) at a time."""
        for start in range(0, self.count, size):
            counts = self._counts(min(size, self.count - start))
            yield np.ascontiguousarray(counts.T)[self._of_row]

    def sums(self, columns: Sequence[Array], tick: Tick | None = None) -> Array:
        """Sums of the rows' columns over each resample: (resamples, columns)."""
        per_unit = np.column_stack([np.bincount(self._of_row, column, self._drawn) for column in columns])
        out, size = np.empty((self.count, len(columns))), max(2, PRODUCTS // per_unit.size)
        for start in range(0, self.count, size):
            stop = min(start + size, self.count)
            np.matmul(self._counts(stop - start), per_unit, out=out[start:stop])
            if tick:
                tick(stop, self.count)
        return out

    def _counts(self, count: int) -> Array:
        """How often each unit is drawn: (resamples, units)."""
        drawn = self._circular(count) if self.circular else self._random(count)
        drawn += self._drawn * np.arange(count)[:, None]
        return np.bincount(drawn.ravel(), minlength=self._drawn * count).reshape(count, -1).astype(np.float64)

    def _random(self, count: int) -> Indices:
        if self._drawn != MOST:
            return self._rng.integers(0, self._drawn, size=(count, self._drawn))
        words = self._rng.integers(0, 2**64, size=(count, MOST // 4), dtype=np.uint64).view(np.uint16)
        return np.bitwise_and(words, MOST - 1, dtype=np.uint16).astype(np.intp)

    def _circular(self, count: int) -> Indices:
        """Rows of the data in circular blocks that make up as many rows."""
        length, rows = int(self.units.length or 1), self.units.rows
        starts = self._rng.integers(0, rows, size=(count, -(-rows // length), 1))
        drawn = (starts + np.arange(length)).reshape(count, -1)[:, :rows]
        return np.asarray(drawn % rows)
