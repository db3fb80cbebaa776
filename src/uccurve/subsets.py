"""Subsets: sums over many random subsets of rows, eight rows at a time.

A random byte says which of eight rows are in; a table of the 256 possible sums turns it into their sum. That is an
eighth of the additions, and a 64th of the memory, of a product with a matrix of zeros and ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from .checks import Array

Bytes = npt.NDArray[np.uint8]
Tick = Callable[[int, int], None]
SLAB = 1 << 21
"""Bytes of randomness that are held at a time."""
GROUPS = 512
"""Groups of eight rows whose tables are held at a time."""
ROWS_IN_BYTE = 8


def random_bytes(rng: np.random.Generator, length: int, count: int) -> Iterator[Bytes]:
    """Slabs of `length` rows of `count` bytes each in which every bit is a fair coin."""
    step = min(GROUPS, max(1, SLAB // count))
    for start in range(0, length, step):
        size = (min(step, length - start), count)
        words = rng.integers(0, 2**64, size=-(-size[0] * size[1] // 8), dtype=np.uint64)
        yield words.view(np.uint8)[: size[0] * size[1]].reshape(size)


def all_bytes(length: int, rows: int) -> Iterator[Bytes]:
    """One slab in which each of the ``2**rows`` subsets comes once."""
    every = np.arange(1 << rows)
    yield np.stack([(every >> (ROWS_IN_BYTE * i) & 255).astype(np.uint8) for i in range(length)])


def sums(values: Array, slabs: Iterator[Bytes], count: int, tick: Tick | None = None) -> Array:
    """Sum of the columns of `values` (rows, columns) over each of `count` subsets: an array (count, columns)."""
    rows, columns = values.shape
    length = byte_count(rows)
    padded = np.zeros((length * ROWS_IN_BYTE, columns))
    padded[:rows] = values
    groups = padded.reshape(length, ROWS_IN_BYTE, columns)
    total, done = np.zeros((count, columns)), 0
    for slab in slabs:
        for table, byte in zip(_tables(groups[done : done + len(slab)]), slab, strict=True):
            total += table.take(byte, axis=0)
        done += len(slab)
        if tick:
            tick(done, length)
    return total


def byte_count(rows: int) -> int:
    """How many bytes hold one bit a row."""
    return -(-rows // ROWS_IN_BYTE)


def _tables(values: Array) -> Array:
    """Return the 256 sums of each group of eight rows: (groups, 256, columns)."""
    table = np.zeros((len(values), 1, values.shape[2]))
    for bit in range(ROWS_IN_BYTE):
        table = np.concatenate([table, table + values[:, bit : bit + 1]], axis=1)
    return table
