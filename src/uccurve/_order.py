"""Order: sorting with the row numbers, and running sums that stay accurate at any length."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from ._arrays import Indices, blocks
from ._checks import Array

SHORT = 1024
LANES, DEPTH = 40, 4000


def running_sum(values: Array) -> Array:
    """Cumulative sum, in place. O(n)."""
    total, memory = 0.0, _memory(len(values))
    for part, lanes in _stretches(len(values)):
        items = _in_lanes(values[part], lanes)
        sums = memory[: items.size].reshape(items.shape)
        sums[:] = items
        total = _accumulate(sums, total)
        items[:] = sums
    return values


def running_integral(slopes: Array, t: Array, out: Array) -> None:
    """Write the integral from ``t[0]`` on of the running sum of `slopes`, each of which holds from its t on. O(n)."""
    slope = integral = out[0] = 0.0
    memory, other = _memory(len(slopes)), _memory(len(slopes))
    before, after = (t[:-1], t[1:]) if t[0] <= t[-1] else (t[1:], t[:-1])
    for part, lanes in _stretches(len(slopes)):
        items = _in_lanes(slopes[part], lanes)
        sums, steps = memory[: items.size].reshape(items.shape), other[: items.size]
        sums[:] = items
        slope = _accumulate(sums, slope)
        np.subtract(after[part], before[part], out=steps)
        sums *= _in_lanes(steps, lanes)
        integral = _accumulate(sums, integral)
        _in_lanes(out[part.start + 1 : part.stop + 1], lanes)[:] = sums


def signed_running_integral(high: Array, low: Array | None, t: Array, out: Array) -> None:
    """Write the integral of the running sum of slopes of both signs, ``high + low``, that is never negative. O(n).

    The sum is taken in twice the precision of float64: where a large slope comes and goes, what is left is exact. The
    slopes are overwritten.
    """
    low = np.zeros(len(high)) if low is None else low
    _accumulate_exactly(high, low)
    high += low
    np.maximum(high, 0, out=high)
    for part in blocks(len(high)):
        high[part] *= np.abs(t[part.start + 1 : part.stop + 1] - t[part])
    out[0] = 0.0
    out[1:] = running_sum(high)


def _accumulate_exactly(high: Array, low: Array) -> None:
    """Running sum in place, rounded in `high` and what rounding took off in `low`."""
    carry = (0.0, 0.0)
    for part, lanes in _stretches(len(high)):
        sums, errors = (np.ascontiguousarray(_in_lanes(array[part], lanes)) for array in (high, low))
        if lanes == 1:
            sums, errors = sums.T, errors.T
        for i in range(1, len(sums)):
            errors[i] += errors[i - 1] + _add_exactly(sums[i], sums[i - 1])
        if sums.shape[1] > 1:
            ends, lost = sums[-1].copy(), errors[-1].copy()
            _accumulate_exactly(ends, lost)
            errors[:, 1:] += _add_exactly(sums[:, 1:], ends[:-1]) + lost[:-1]
        errors += _add_exactly(sums, carry[0]) + carry[1]
        carry = float(sums[-1, -1]), float(errors[-1, -1])
        for array, lines in ((high, sums), (low, errors)):
            array[part] = lines.T.ravel()


def _add_exactly(values: Array, other: Array | float) -> Array:
    """Add in place and return what rounding took off (Knuth's two-sum)."""
    total = values + other
    share = total - other
    lost: Array = (values - share) + (other - (total - share))
    values[...] = total
    return lost


def _memory(length: int) -> Array:
    return np.empty(min(length, LANES * DEPTH))


def _stretches(length: int) -> Iterator[tuple[slice, int]]:
    """Slices that cover `length` items, and the number of lanes for each."""
    rest = length % LANES
    yield from ((part, LANES) for part in blocks(length - rest, LANES * DEPTH))
    if rest:
        yield slice(length - rest, length), 1


def _in_lanes(items: Array, lanes: int) -> Array:
    """View of the items with item i in lane ``i % lanes``.

    A running sum then adds lanes to each other, faster than ``np.cumsum`` goes from item to item, and its rounding
    error grows with the depth of the lanes, not with the length.
    """
    return items.reshape(-1, lanes).T


def _accumulate(lanes: Array, total: float) -> float:
    """Sum up the items in lanes, in place, on top of a `total` before them; return the last sum."""
    for before, lane in pairwise(lanes):
        np.add(lane, before, lane)
    ends = np.cumsum(lanes[-1])
    lanes[:, 1:] += ends[:-1]
    lanes += total
    return float(lanes[-1, -1])


def ordered(values: Array, *, first: float) -> tuple[Indices, Array]:
    """Order of `values`, and `first` followed by the values in their order. O(n log n).

    Long arrays are sorted as integers whose last bits are the row number, in half the time of ``np.argsort``;
    the few rows that differ in the overwritten bits only are put right afterwards.
    """
    out = np.empty(len(values) + 1)
    out[0], inner = first, out[1:]
    order = np.argsort(values, kind="stable") if len(values) < SHORT else _coarsely_ordered(values)
    values.take(order, out=inner, mode="clip")  # other modes would write to a copy first
    falls = inner[1:] < inner[:-1]
    if falls.any():
        places = _alike(inner, np.flatnonzero(falls), ~_row_bits(len(values)))
        if places is None:
            order = np.argsort(values, kind="stable")
            values.take(order, out=inner, mode="clip")
        else:
            right = places[np.argsort(inner[places], kind="stable")]
            order[places], inner[places] = order[right], inner[right]
    return order, out


def rearranged(values: Array, order: Indices, *, divisor: float = 1.0) -> Array:
    """Return the values in their order, divided."""
    out = np.empty(len(order))
    for part in blocks(len(order)):
        np.divide(values.take(order[part], mode="clip"), divisor, out=out[part])
    return out


def _row_bits(length: int) -> np.int64:
    """Return the last bits of an integer that hold any row number."""
    return np.int64((1 << (length - 1).bit_length()) - 1)


def _coarsely_ordered(values: Array) -> Indices:
    """Order of the values without their last bits; the row numbers decide between equal ones."""
    row, negative = _row_bits(len(values)), values.min() < 0
    keys = np.empty(len(values), np.int64)
    for block in blocks(len(values)):
        bits = values[block].view(np.int64)
        if negative:  # integers in the order of the values: all bits but the sign flipped
            bits = bits ^ ((bits >> 63) & np.int64(2**63 - 1))
        np.bitwise_and(bits, ~row, out=keys[block])
        keys[block] += np.arange(block.start, block.stop)
    if negative:
        keys.sort()
    else:
        keys.view(np.float64).sort()  # the same order, and numpy's fastest sort
    keys &= row
    return keys.view(np.intp)


def _alike(values: Array, wrong: Indices, mask: np.int64, longest: int = 64) -> Indices | None:
    """Places of the runs around `wrong` whose values agree in the bits of `mask`; None where a run is too long."""
    coarse = values.view(np.int64)
    ends = []
    for step, edge in ((-1, 0), (1, len(values) - 1)):
        at = wrong.copy()
        for _ in range(longest):
            following = np.clip(at + step, 0, len(values) - 1)
            more = (at != edge) & ((coarse[following] ^ coarse[at]) & mask == 0)
            at = np.where(more, following, at)
            if not more.any():
                break
        else:
            return None
        ends.append(at)
    lengths = ends[1] - ends[0] + 1
    first = np.repeat(ends[0] - np.append(0, np.cumsum(lengths)[:-1]), lengths)
    return np.unique(first + np.arange(lengths.sum()))
