"""Order: sorting with the row numbers, and running sums that stay accurate at any length."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

import numpy as np

from ._checks import Array
from .profile import Indices, blocks

SHORT = 1024
LANES, DEPTH = 40, 4000
Negative = Literal["none", "dropped", "added"]


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


def running_integral(slopes: Array, t: Array, out: Array, *, negative: Negative = "none") -> None:
    """Write the integral from ``t[0]`` on of the running sum of `slopes`, each of which holds from its t on. O(n).

    Negative slopes may be absent, dropped, or added like the others; then a sum that rounding made negative counts as
    0: what cannot fall does not fall.
    """
    slope = integral = out[0] = 0.0
    memory, other = _memory(len(slopes)), _memory(len(slopes))
    before, after = (t[:-1], t[1:]) if t[0] <= t[-1] else (t[1:], t[:-1])
    for part, lanes in _stretches(len(slopes)):
        items = _in_lanes(slopes[part], lanes)
        sums, steps = memory[: items.size].reshape(items.shape), other[: items.size]
        if negative == "dropped":
            np.maximum(items, 0, out=sums)
        else:
            sums[:] = items
        slope = _accumulate(sums, slope)
        if negative == "added":
            np.maximum(sums, 0, out=sums)
        np.subtract(after[part], before[part], out=steps)
        sums *= _in_lanes(steps, lanes)
        integral = _accumulate(sums, integral)
        _in_lanes(out[part.start + 1 : part.stop + 1], lanes)[:] = sums


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

    Long arrays are sorted as whole numbers whose last bits are the row number, in half the time of ``np.argsort``;
    the few rows that only the overwritten bits tell apart are put right afterwards.
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
    """Return the values in their order, divided, in the memory of the order: fresh memory would cost more than they."""
    memory = order.view(np.float64)
    for block in blocks(len(order)):
        np.divide(values.take(order[block], mode="clip"), divisor, out=memory[block])
    return memory


def _row_bits(length: int) -> np.int64:
    """Return the last bits of a whole number that hold any row number."""
    return np.int64((1 << (length - 1).bit_length()) - 1)


def _coarsely_ordered(values: Array) -> Indices:
    """Order of the values without their last bits; the row numbers decide between equal ones."""
    row, negative = _row_bits(len(values)), values.min() < 0
    keys = np.empty(len(values), np.int64)
    for block in blocks(len(values)):
        bits = values[block].view(np.int64)
        if negative:  # whole numbers in the order of the values: all bits but the sign flipped
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
