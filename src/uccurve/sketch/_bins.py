"""Bins: rows counted and summed by the size of one number, in bins that are the same everywhere.

A number belongs to the bin of its nearest float with `BITS` significant bits: `PER_OCTAVE` bins per factor of two. Two
products and two differences find that float, and these are the same to the last bit in every engine; a logarithm is
not, and costs more than all the rest. Numbers are moved by half a bin first, so that 1, the scale as delivered, is the
upper end of its bin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from uccurve._checks import Array

BITS = 5
PER_OCTAVE = 2 ** (BITS - 1)
OCTAVES = 256
"""Bins cover 2**-OCTAVES to 2**OCTAVES; the first and the last one take everything beyond."""
LAST = OCTAVES * PER_OCTAVE
ZERO, INFINITE = -LAST - 1, LAST + 1
"""Separate bins for 0 (or less than 1e-307) and for infinity, the critical scale of uncoverable rows."""
_DOWN = 2.0**-49
"""Keeps the product with `_SPLIT` within float64."""
_MOVE = (1 + 2.0**-BITS) * _DOWN
_SPLIT = 2.0 ** (53 - BITS) + 1

Integers = npt.NDArray[np.int64]
T = TypeVar("T")


def mark(number: T) -> T:
    """Return the float that marks the bin of a number, an array or a column: Veltkamp's splitting.

    >>> [float(mark(x)) for x in (0.98, 1.0, 1.02)] == [mark(1.0), mark(1.0), mark(1.03)]
    True
    """
    moved: Any = number * _MOVE  # type: ignore[operator]  # anything with arithmetic
    high: Any = moved * _SPLIT
    return high - (high - moved)  # type: ignore[no-any-return]


def bin_of(marks: Array) -> Integers:
    """Bins as ascending integers; bin 0 ends at 1/2, bin `PER_OCTAVE` at 1, and so on."""
    head, exponent = np.frexp(np.where(np.isfinite(marks), marks, 0.0) / _DOWN)
    bins = exponent.astype(np.int64) * PER_OCTAVE + (head * 2 * PER_OCTAVE).astype(np.int64) - PER_OCTAVE
    return np.select([~np.isfinite(marks), marks == 0], [INFINITE, ZERO], np.clip(bins, -LAST, LAST))


def bins(numbers: Array) -> Integers:
    """Bins of nonnegative numbers.

    >>> bins(np.array([0.0, 0.5, 0.501, 1.0, 1.001, np.inf])).tolist()
    [-4097, 0, 1, 16, 17, 4097]
    """
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        return bin_of(mark(numbers))


def edges(numbers: Integers) -> Array:
    """Return the largest float of each bin between the outermost ones.

    >>> edges(np.array([0, 16, 17, 32])).tolist()
    [0.5, 1.0, 1.0606060606060603, 2.0]
    """
    octave, part = np.divmod(numbers, PER_OCTAVE)
    middle = (2.0 * (PER_OCTAVE + part) + 1) / (4 * PER_OCTAVE)
    near = np.ldexp(middle / (1 + 2.0**-BITS), octave)
    steps = [near]
    for _ in range(2):
        steps = [np.nextafter(steps[0], 0.0), *steps, np.nextafter(steps[-1], np.inf)]
    inside = np.stack([bins(step) <= numbers for step in steps])
    found: Array = np.take_along_axis(np.stack(steps), inside.sum(axis=0)[None] - 1, axis=0)[0]
    return found


@dataclass(frozen=True, slots=False, eq=False)
class Histogram:
    """Number of rows, minimum, maximum and some sums of each nonempty bin."""

    bin: Integers
    rows: Integers
    minimum: Array
    maximum: Array
    sums: Mapping[str, Array]

    @classmethod
    def empty(cls, names: tuple[str, ...]) -> Self:
        """No rows yet."""
        return cls(
            np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0), dict.fromkeys(names, NOTHING)
        )

    @classmethod
    def grouped(cls, bin: Integers, rows: Integers, minimum: Array, maximum: Array, sums: Mapping[str, Array]) -> Self:  # noqa: A002
        """Combine the entries of each bin. O(n)."""
        order = np.argsort(bin.astype(np.int16), kind="stable")
        chosen = bin[order]
        starts = np.flatnonzero(np.append(True, chosen[1:] != chosen[:-1])) if len(chosen) else np.empty(0, np.intp)
        if not len(starts):
            return cls.empty(tuple(sums))
        return cls(
            chosen[starts],
            np.add.reduceat(rows[order], starts),
            np.minimum.reduceat(minimum[order], starts),
            np.maximum.reduceat(maximum[order], starts),
            {name: np.add.reduceat(values[order], starts) for name, values in sums.items()},
        )

    @classmethod
    def of_rows(cls, numbers: Array, sums: Mapping[str, Array]) -> Self:
        """Put single rows into their bins."""
        return cls.grouped(bins(numbers), np.ones(len(numbers), np.int64), numbers, numbers, sums)

    def merged(self, other: Self) -> Self:
        """Rows of both."""

        def both(name: str) -> npt.NDArray[Any]:
            return np.concatenate([getattr(self, name), getattr(other, name)])

        sums = {name: np.concatenate([values, other.sums[name]]) for name, values in self.sums.items()}
        return self.grouped(both("bin"), both("rows"), both("minimum"), both("maximum"), sums)

    def without(self, *special: int) -> Self:
        """All but some bins."""
        keep = ~np.isin(self.bin, special)
        sums = {name: values[keep] for name, values in self.sums.items()}
        return type(self)(self.bin[keep], self.rows[keep], self.minimum[keep], self.maximum[keep], sums)

    def total(self, name: str, *only: int) -> float:
        """Sum over all bins, or over `only` some."""
        values = self.sums[name]
        return float(values[np.isin(self.bin, only)].sum() if only else values.sum())

    @cached_property
    def rounding(self) -> float:
        """Relative error of a float64 sum over any bins, in whatever order it was formed."""
        return float((int(self.rows.max(initial=0)) + len(self.rows) + 64) * np.finfo(np.float64).eps)

    def agrees(self, other: Histogram) -> bool:
        """Whether bins, counts and extremes are equal, and sums equal up to the order of summation."""
        names = ("bin", "rows", "minimum", "maximum")
        if not all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names):
            return False
        slack = (self.rows + 64) * np.finfo(np.float64).eps
        return all(bool(np.all(np.abs(v - other.sums[n]) <= slack * np.abs(v))) for n, v in self.sums.items())

    @property
    def nbytes(self) -> int:
        """Size of all arrays."""
        arrays = (self.bin, self.rows, self.minimum, self.maximum, *self.sums.values())
        return sum(array.nbytes for array in arrays)


NOTHING = np.empty(0)
