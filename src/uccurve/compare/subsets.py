"""Subsets: sums over many random subsets of rows, eight rows at a time.

A random byte says which of eight rows are in; a table of the 256 possible sums turns it into their sum. That is an
eighth of the additions, and a 64th of the memory, of a product with a matrix of zeros and ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from uccurve._progress import Tick

Bytes = npt.NDArray[np.uint8]
Real = TypeVar("Real", np.float32, np.float64)
SLAB = 1 << 20
"""Bytes of randomness that are held at a time."""
TABLES = 1 << 20
"""Entries of tables that are held at a time."""
ROWS = 8
"""Rows to a byte."""
SUBSETS = np.arange(1 << ROWS)[:, None] >> np.arange(ROWS) & 1
"""Which of eight rows each byte stands for."""


def coins(rng: np.random.Generator, length: int) -> Bytes:
    """Bytes in which every bit is a fair coin."""
    return rng.integers(0, 2**64, size=-(-length // 8), dtype=np.uint64).view(np.uint8)[:length]


def byte_count(rows: int) -> int:
    """How many bytes hold one bit a row."""
    return -(-rows // ROWS)


def slabs(source: Callable[[int], Bytes], rows: int, count: int, columns: int = 1) -> Iterator[Bytes]:
    """Random bytes for `count` subsets of `rows` rows: a slab has a line for each of the next groups of eight rows."""
    length = byte_count(rows)
    step = max(1, min(SLAB // count, TABLES // (256 * columns)))
    for start in range(0, length, step):
        lines = min(step, length - start)
        yield source(lines * count).reshape(lines, count)


def every(rows: int) -> Iterator[Bytes]:
    """One slab in which each of the ``2**rows`` subsets comes once."""
    numbers = np.arange(1 << rows)
    yield np.stack([(numbers >> (ROWS * i) & 255).astype(np.uint8) for i in range(byte_count(rows))])


def sums(
    values: npt.NDArray[Real], subsets: Iterator[Bytes], count: int, tick: Tick | None = None
) -> npt.NDArray[Real]:
    """Sum of the columns of `values` (rows, columns) over each of `count` subsets: an array (count, columns)."""
    length, columns = byte_count(len(values)), values.shape[1]
    groups = np.zeros((length, ROWS, columns), values.dtype)
    groups.reshape(-1, columns)[: len(values)] = values
    total, done = np.zeros((count, columns), values.dtype), 0
    for slab in subsets:
        tables = SUBSETS.astype(values.dtype) @ groups[done : done + len(slab)]
        for table, byte in zip(tables, slab, strict=True):
            total += table.take(byte, axis=0)
        done += len(slab)
        if tick:
            tick(done, length)
    return total
