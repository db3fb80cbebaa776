"""Arrays: order, sums and means of long columns, a part at a time, without losing digits."""

from collections.abc import Iterator
from math import fsum, isqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from ._vocabulary import Array

Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]
BLOCK = 1 << 16
SHORT = 400  # arrays below this length are sorted plainly
# Running sums are taken this many items at a time: few enough for their rounding, enough for numpy's speed.
SUMMED = 2048
LANES, DEPTH = 40, 4000


def blocks(length: int, size: int = BLOCK) -> Iterator[slice]:
    """Slices that cover `length` items, each small enough for its temporaries to stay in the cache."""
    return (slice(start, min(start + size, length)) for start in range(0, length, size))


def average(values: npt.NDArray[Any], weight: Array | None) -> float:
    """Weighted mean over rows and outputs, in another unit where values times weights could leave float64."""
    unit = 2.0**500 if np.abs(values).max() > 2.0**500 else 1.0
    return float(unit * np.average(values / unit, weights=weight))


def equal_weights(weight: Array | None) -> bool:
    """Whether every row counts the same."""
    return weight is None or bool(np.ptp(weight) == 0)


def evenly(count: int, most: int) -> Indices:
    """Return at most `most` of `count` places, evenly chosen, with both ends.

    >>> evenly(9, 3), evenly(2, 3)
    (array([0, 4, 8]), array([0, 1]))
    """
    return np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(np.intp))


def select(which: Flags, yes: Array, no: Array) -> Array:
    """Return ``np.where(which, yes, no)`` of finite values, in half the time where `which` is random."""
    out = np.empty(len(which))
    for part in blocks(len(out)):
        np.multiply(which[part], yes[part], out=out[part])
        out[part] += ~which[part] * no[part]
    return out


def cumulative(mass: Array) -> Array:
    """Sums of the first 0, 1, 2, ... items."""
    sums = np.zeros(len(mass) + 1)
    np.cumsum(mass, out=sums[1:])
    return sums


def exact_sum(*terms: Array) -> tuple[Array, Array]:
    """Sum in two floats, the second of which is what rounding takes off the first."""
    values = [value for array in terms for value in array.tolist()]
    high = fsum(values)
    return np.array([high]), np.array([fsum([*values, -high])])


def index_of_minimum(costs: Array) -> int:
    """Place of the first of the costs that differ from the smallest by rounding alone."""
    return int(np.argmax(costs <= costs.min() * (1 + sum_error(len(costs)))))


def sum_error(length: int) -> float:
    """Return how far running sums of `length` weights that add up to 1 may be off."""
    return 4 * float(np.finfo(np.float64).eps) * (1 + isqrt(length))


def running_sum(values: Array) -> Array:
    """Cumulative sum, in place; its rounding error grows with the length of a block, not with that of all. O(n)."""
    whole, total = len(values) - len(values) % SUMMED, 0.0
    if whole:
        lines = values[:whole].reshape(-1, SUMMED)
        np.cumsum(lines, axis=1, out=lines)
        ends = np.cumsum(lines[:, -1])
        lines[1:] += ends[:-1, None]
        total = float(ends[-1])
    np.cumsum(values[whole:], out=values[whole:])
    values[whole:] += total
    return values


def running_integral(slopes: Array, rest: Array | None, t: Array, *, divisor: float = 1.0) -> None:
    """Overwrite slope changes by the integral of the accumulated slope: item i is the value at t[i + 1]. O(n).

    Values are divided by `divisor`. The running sum of the slopes is never negative. Where single ones are, or where
    they have a `rest` that would vanish in their rounding, the sum is taken in twice the precision of float64: where a
    large slope comes and goes, what is left is exact.
    """
    if rest is None and not (slopes < 0).any():
        running_sum(slopes)
    else:
        rest = np.zeros(len(slopes)) if rest is None else rest
        _accumulate_exactly(slopes, rest)
        slopes += rest
        np.maximum(slopes, 0, out=slopes)
    for part in blocks(len(slopes)):
        slopes[part] /= (
            divisor  # now, not before: changes that cancel each other do so without rounding
        )
        slopes[part] *= np.abs(t[part.start + 1 : part.stop + 1] - t[part])
    running_sum(slopes)


def _accumulate_exactly(high: Array, low: Array) -> None:
    """Running sum in place, rounded in `high` and what rounding took off in `low`.

    Item i is in lane ``i % LANES``: lanes are added to each other as whole arrays.
    """
    carry = (0.0, 0.0)
    whole = len(high) - len(high) % LANES
    for part in (
        *blocks(whole, LANES * DEPTH),
        *(slice(i, i + 1) for i in range(whole, len(high))),
    ):
        lanes = min(LANES, part.stop - part.start)
        sums, lost = (
            np.ascontiguousarray(array[part].reshape(-1, lanes).T) for array in (high, low)
        )
        for i in range(1, lanes):
            lost[i] += lost[i - 1] + _add_exactly(sums[i], sums[i - 1])
        if sums.shape[1] > 1:
            ends, ends_lost = sums[-1].copy(), lost[-1].copy()
            _accumulate_exactly(ends, ends_lost)
            lost[:, 1:] += _add_exactly(sums[:, 1:], ends[:-1]) + ends_lost[:-1]
        lost += _add_exactly(sums, carry[0]) + carry[1]
        carry = float(sums[-1, -1]), float(lost[-1, -1])
        high[part], low[part] = sums.T.ravel(), lost.T.ravel()


def _add_exactly(values: Array, other: Array | float) -> Array:
    """Add in place and return what rounding took off (Knuth's two-sum)."""
    total = values + other
    share = total - other
    lost: Array = (values - share) + (other - (total - share))
    values[...] = total
    return lost


def ordered(values: Array, *, first: float) -> tuple[Indices, Array]:
    """Order of `values`, and `first` followed by the values in their order. O(n log n).

    Long arrays without negative values are sorted as integers whose last bits are the row number, in half the time of
    ``np.argsort``; the few rows that differ in the overwritten bits only are put right afterwards.
    """
    plainly = len(values) < SHORT or values.min() < 0
    order = np.argsort(values, kind="stable") if plainly else _coarsely_ordered(values)
    out = np.empty(len(values) + 1)
    out[0], inner = first, out[1:]
    values.take(order, out=inner, mode="clip")  # other modes would write to a copy first
    for attempt in range(9):
        falls = np.flatnonzero(inner[1:] < inner[:-1])
        if not len(falls):
            break
        places = np.union1d(falls, falls + 1) if attempt < 8 else np.arange(len(inner))
        right = places[np.argsort(inner[places], kind="stable")]
        order[places], inner[places] = order[right], inner[right]
    return order, out


def rearrange(values: Array, order: npt.NDArray[np.integer], out: Array) -> None:
    """Write ``out[i] = values[order[i]]``, for as many i as `out` has."""
    for part in blocks(len(out)):
        out[part] = values.take(order[part], mode="clip")


def _coarsely_ordered(values: Array) -> Indices:
    """Order of non-negative values without their last bits; the row numbers decide between equal ones."""
    row = np.int64(
        (1 << (len(values) - 1).bit_length()) - 1
    )  # the last bits, which hold any row number
    keys = np.empty(len(values), np.int64)
    for block in blocks(len(values)):
        np.bitwise_and(values[block].view(np.int64), ~row, out=keys[block])
        keys[block] += np.arange(block.start, block.stop)
    keys.view(np.float64).sort()  # the order of the integers, and numpy's fastest sort
    keys &= row
    return keys.view(np.intp)
