"""Order: sorting with the row numbers, and running sums that stay accurate at any length."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from .checks import Array
from .profile import Indices, blocks

SHORT = 1024
LANES, DEPTH = 40, 4000


def running_sum(values: Array) -> Array:
    """Cumulative sum, in place. O(n)."""
    total, memory = 0.0, _memory(len(values))
    for part in blocks(len(values), LANES * DEPTH):
        lanes = _lanes(values[part], memory)
        total = _accumulate(lanes, total)
        _unlaned(lanes, values[part])
    return values


def running_integral(slopes: Array, t: Array, out: Array, *, least: float = -np.inf) -> None:
    """Write the integral from ``t[0]`` on of the running sum of `slopes`, each of which holds from its t on. O(n).

    Slopes below `least` count as `least`, a sum that rounding made negative as 0: what cannot fall does not fall.
    """
    slope = integral = out[0] = 0.0
    memory, other = _memory(len(slopes)), _memory(len(slopes))
    for part in blocks(len(slopes), LANES * DEPTH):
        lanes = _lanes(slopes[part], memory)
        np.maximum(lanes, least, out=lanes)
        slope = _accumulate(lanes, slope)
        np.maximum(lanes, 0, out=lanes)
        lanes *= _lanes(np.abs(np.diff(t[part.start : part.stop + 1])), other)
        integral = _accumulate(lanes, integral)
        _unlaned(lanes, out[part.start + 1 : part.stop + 1])


def _memory(length: int) -> Array:
    return np.empty((LANES, min(DEPTH, -(-length // LANES))))


def _lanes(items: Array, memory: Array) -> Array:
    """Item i in lane ``i % LANES`` of the `memory`, filled up by zeros.

    A running sum then adds lanes to each other, faster than ``np.cumsum`` goes from item to item, and its rounding
    error grows with the depth of the lanes, not with the length.
    """
    depth, rest = divmod(len(items), LANES)
    lanes = memory[:, : depth + (rest > 0)]
    lanes[:, :depth] = items[: len(items) - rest].reshape(depth, LANES).T
    if rest:
        lanes[:rest, -1], lanes[rest:, -1] = items[len(items) - rest :], 0.0
    return lanes


def _unlaned(lanes: Array, out: Array) -> None:
    """Write the items in lanes back in their order."""
    depth, rest = divmod(len(out), LANES)
    out[: len(out) - rest].reshape(depth, LANES)[:] = lanes[:, :depth].T
    if rest:
        out[len(out) - rest :] = lanes[:rest, -1]


def _accumulate(lanes: Array, total: float) -> float:
    """Sum up the items in lanes, in place, on top of a `total` before them; return the last sum."""
    for before, lane in pairwise(lanes):
        np.add(lane, before, out=lane)
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
    wrong = np.flatnonzero(inner[1:] < inner[:-1])
    if len(wrong):
        places = _alike(inner, wrong, ~_row_bits(len(values)))
        if places is None:
            order = np.argsort(values, kind="stable")
            values.take(order, out=inner, mode="clip")
        else:
            right = places[np.argsort(inner[places], kind="stable")]
            order[places], inner[places] = order[right], inner[right]
    return order, out


def _row_bits(length: int) -> np.int64:
    """Return the last bits of a whole number that hold any row number."""
    return np.int64((1 << (length - 1).bit_length()) - 1)


def _coarsely_ordered(values: Array) -> Indices:
    """Order of the values without their last bits; the row numbers decide between equal ones."""
    row = _row_bits(len(values))
    keys = np.empty(len(values), np.int64)
    for block in blocks(len(values)):
        key = _comparable(values[block])
        np.bitwise_and(key, ~row, out=keys[block])
        keys[block] |= np.arange(block.start, block.stop)
    if values.min() < 0:
        keys.sort()
    else:
        keys.view(np.float64).sort()  # the same order, and numpy's fastest sort
    keys &= row
    return keys.view(np.intp)


def _comparable(values: Array) -> npt.NDArray[np.int64]:
    """Whole numbers in the order of the values: their bits, all but the sign flipped where they are negative."""
    bits = values.view(np.int64)
    if values.min() >= 0:
        return bits
    return bits ^ ((bits >> 63) & np.int64(2**63 - 1))


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
