"""Bins: rows counted and summed by the size of one number, in bins that are the same everywhere.

A number belongs to the bin of its nearest float with a few significant bits: `resolution` bins per factor of two. Two
products and two differences find that float, and these are the same to the last bit in every engine; a logarithm is
not, and costs more than all the rest. Numbers are moved by half a bin first, so that 1, the scale as delivered, is the
upper end of its bin at every resolution.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt

from uccurve._arrays import Flags, Indices
from uccurve._refusals import shown
from uccurve._vocabulary import Array

RESOLUTIONS = (16, 32, 64, 128)
PER_OCTAVE = RESOLUTIONS[0]  # bins per factor of two unless another resolution is asked for
OCTAVES = (
    256  # bins cover 2**-OCTAVES to 2**OCTAVES; the first and the last one take everything beyond
)
_DOWN = 2.0**-49  # keeps the product that splits a number within float64

Integers = npt.NDArray[np.int64]
T = TypeVar("T")


def checked(resolution: Any) -> int:
    """Return a number of bins per factor of two that there is."""
    if isinstance(resolution, bool) or resolution not in RESOLUTIONS:
        raise ValueError(
            f"`resolution` must be one of {', '.join(map(str, RESOLUTIONS))}; got {shown(resolution)}."
        )
    return int(resolution)


def bits(resolution: int) -> int:
    """Significant bits of the floats that mark bins."""
    return resolution.bit_length()


def last(resolution: int = PER_OCTAVE) -> int:
    """Return the number of the last bin of finite numbers; the next takes infinity, the one before the first 0.

    Infinity is the critical scale of uncoverable rows; what is less than 1e-307 is 0.
    """
    return OCTAVES * resolution


class Splitting(NamedTuple):
    """How `mark` splits a number, and how the bits of a mark become the place of its bin among all bins."""

    scaling: float  # moves numbers by half a bin, and down
    split: float
    shift: int  # bits that follow those of the mark
    below: int  # what the leading bits are at the place 0, which takes zero
    end: int  # place of infinity, the last

    @classmethod
    def at(cls, resolution: int) -> Self:
        """Bins of one resolution."""
        kept, end = bits(resolution), last(resolution)
        below = (1022 - 49) * resolution - end - 1
        return cls((1 + 2.0**-kept) * _DOWN, 2.0 ** (53 - kept) + 1, 53 - kept, below, 2 * end + 2)


def mark(number: T, resolution: int = PER_OCTAVE) -> T:
    """Return the float that marks the bin of a number, an array or a column: Veltkamp's splitting.

    >>> [float(mark(x)) for x in (0.98, 1.0, 1.02)] == [mark(1.0), mark(1.0), mark(1.03)]
    True
    """
    bins = Splitting.at(resolution)
    moved: Any = number * bins.scaling  # type: ignore[operator]  # anything with arithmetic
    high: Any = moved * bins.split
    return high - (high - moved)  # type: ignore[no-any-return]


def bin_of(marks: Array, resolution: int = PER_OCTAVE) -> Integers:
    """Bins as ascending integers; bin 0 ends at 1/2, bin `resolution` at 1, and so on."""
    head, exponent = np.frexp(np.where(np.isfinite(marks), marks, 0.0) / _DOWN)
    numbers = (
        exponent.astype(np.int64) * resolution
        + (head * 2 * resolution).astype(np.int64)
        - resolution
    )
    end = last(resolution)
    return np.select(
        [~np.isfinite(marks), marks == 0], [end + 1, -end - 1], np.clip(numbers, -end, end)
    )


def bins(numbers: Array, resolution: int = PER_OCTAVE) -> Integers:
    """Bins of nonnegative numbers.

    >>> bins(np.array([0.0, 0.5, 0.501, 1.0, 1.001, np.inf])).tolist()
    [-4097, 0, 1, 16, 17, 4097]
    >>> bins(np.array([0.5, 0.501, 1.0]), resolution=64).tolist()
    [0, 1, 64]
    """
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        return bin_of(mark(numbers, resolution), resolution)


def lower_ends(bin: Integers, resolution: int = PER_OCTAVE) -> Array:  # noqa: A002
    """Largest number below each bin; 0 for those that take everything down to it.

    >>> lower_ends(np.array([1, 17])).tolist(), lower_ends(bins(np.array([0.0, 1e-200]))).tolist()
    ([0.5, 1.0], [0.0, 0.0])
    """
    octave, part = np.divmod(bin - 1, resolution)
    ends = np.ldexp(
        (2.0 * (resolution + part) + 1) / (4 * resolution) / (1 + 2.0 ** -bits(resolution)), octave
    )
    for _ in range(2):  # the last digit is left to the bins themselves
        ends = np.where(bins(ends, resolution) < bin, ends, np.nextafter(ends, 0.0))
        more = np.nextafter(ends, np.inf)
        ends = np.where(bins(more, resolution) < bin, more, ends)
    return np.where(bin <= -last(resolution), 0.0, ends)


def sums_by(group: Indices, values: Array, count: int = 0) -> Array:
    """Sum of the values in each group."""
    return np.bincount(group, values, count).astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class Histogram:
    """Number of rows, maximum and some sums of each nonempty bin."""

    bin: Integers
    rows: Integers
    maximum: Array
    sums: Mapping[str, Array]

    @classmethod
    def empty(cls, names: Sequence[str]) -> Self:
        """No rows yet."""
        return cls(
            np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), dict.fromkeys(names, NOTHING)
        )

    @classmethod
    def grouped(
        cls, numbers: Integers, rows: Integers, maximum: Array, sums: Mapping[str, Array]
    ) -> Self:
        """Combine the entries of each bin. O(n)."""
        order = np.argsort(
            numbers.astype(np.int16 if np.abs(numbers).max(initial=0) < 2**15 else np.int32),
            kind="stable",
        )
        chosen = numbers[order]
        starts = np.flatnonzero(np.diff(chosen, prepend=chosen[:1] - 1))
        return cls(
            chosen[starts],
            np.add.reduceat(rows[order], starts),
            np.maximum.reduceat(maximum[order], starts),
            {name: np.add.reduceat(values[order], starts) for name, values in sums.items()},
        )

    @classmethod
    def of_rows(
        cls, numbers: Array, sums: Mapping[str, Array], resolution: int = PER_OCTAVE
    ) -> Self:
        """Put single rows into their bins."""
        return cls.grouped(
            bins(numbers, resolution), np.ones(len(numbers), np.int64), numbers, sums
        )

    @classmethod
    def union(cls, parts: Sequence[Self]) -> Self:
        """Rows of all parts."""
        bin_, rows, maximum = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ARRAYS
        )
        sums = {name: np.concatenate([part.sums[name] for part in parts]) for name in parts[0].sums}
        return cls.grouped(bin_, rows, maximum, sums)

    @property
    def infinite(self) -> Flags:
        """Which bin is that of infinity."""
        return np.isinf(self.maximum)

    @property
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All arrays by name."""
        return {name: getattr(self, name) for name in ARRAYS} | dict(self.sums)

    def where(self, keep: Flags) -> Self:
        """Only some bins."""
        sums = {name: values[keep] for name, values in self.sums.items()}
        return type(self)(self.bin[keep], self.rows[keep], self.maximum[keep], sums)

    def total(self, name: str) -> float:
        """Sum over all bins."""
        return float(self.sums[name].sum())

    @cached_property
    def rounding(self) -> float:
        """Relative error of a float64 sum over any bins, in whatever order it was formed."""
        return float(
            (int(self.rows.max(initial=0)) + len(self.rows) + 64) * np.finfo(np.float64).eps
        )

    def agrees(self, other: Self) -> bool:
        """Whether bins, counts and maxima are equal, and sums equal up to the order of summation."""
        if not all(np.array_equal(getattr(self, name), getattr(other, name)) for name in ARRAYS):
            return False
        slack = (self.rows + 64) * np.finfo(np.float64).eps
        return all(
            bool(np.all(np.abs(v - other.sums[n]) <= slack * np.abs(v)))
            for n, v in self.sums.items()
        )


ARRAYS = ("bin", "rows", "maximum")
NOTHING = np.empty(0)
