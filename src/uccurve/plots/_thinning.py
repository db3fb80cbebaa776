"""Thinning: the few vertices of a long path that draw the same picture."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from uccurve._checks import Array

Indices = npt.NDArray[np.intp]
RESOLUTION = 2**15
"""Steps that a drawing's width and height are told apart in: an eighth of a pixel on a screen 4,096 pixels wide."""


def staircase(x: Array, y: Array, *, first: str = "x") -> tuple[Array, Array]:
    """Corners of the path that goes from each point to the next in two straight steps, along `first` to begin with.

    >>> x, y = staircase(np.array([0.0, 2, 4]), np.array([1.0, 0.5, 0]))
    >>> x.tolist(), y.tolist()
    ([0.0, 2.0, 2.0, 4.0, 4.0], [1.0, 1.0, 0.5, 0.5, 0.0])
    """
    early, late = np.repeat(x, 2), np.repeat(y, 2)
    return (early[1:], late[:-1]) if first == "x" else (early[:-1], late[1:])


def drawn(x: Array, y: Array, *, resolution: int = RESOLUTION) -> Indices:
    """Vertices to draw of a path within the unit square, so that no point of it moves by more than 1 / `resolution`.

    Straight runs, and wiggles too small to be seen, need no vertices of their own.

    >>> x = np.linspace(0, 1, 2**17 + 1)
    >>> drawn(x, 1 - x).tolist()
    [0, 131072]
    """
    along = np.append(0.0, np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y))))
    some = _cells(along, 1 / (4 * resolution))
    return some[_corners(along[some], np.stack([x[some], y[some]]), 3 / (4 * resolution))]


def knots(t: Array, values: Array, *, tolerance: float, most: int | None = None) -> tuple[Indices, float]:
    """Places in `t` between which straight lines follow every row of `values`, and the largest distance left.

    Places are added where the lines are furthest off until all are within `tolerance`, or `most` are taken.

    >>> t = np.arange(9.0)
    >>> knots(t, np.abs(t - 3)[None], tolerance=0)
    (array([0, 3, 8]), 0.0)
    """
    kept = np.array([0, len(t) - 1]) if len(t) > 1 else np.zeros(1, dtype=np.intp)
    while True:
        worst, off = _worst(t, values, kept)
        wrong = off > tolerance
        room = len(t) if most is None else max(most - len(kept), 0)
        if not wrong.any() or not room:
            return kept, float(off.max(initial=0.0))
        new = worst[wrong]
        if len(new) > room:
            new = new[np.argsort(-off[wrong], kind="stable")[:room]]
        kept = np.sort(np.concatenate([kept, new]))


def _worst(t: Array, values: Array, kept: Indices) -> tuple[Indices, Array]:
    """Between each two kept places, the one furthest from the straight line, and how far it is."""
    if len(t) < 2:
        return kept[:0], np.zeros(0)
    off = np.max([np.abs(row - np.interp(t, t[kept], row[kept])) for row in values], axis=0)
    off[kept] = 0.0  # also where two vertices share one t
    largest = np.maximum.reduceat(off[:-1], kept[:-1])
    segment = np.repeat(np.arange(len(kept) - 1), np.diff(kept))
    hits = np.flatnonzero(off[:-1] == largest[segment])
    return hits[np.unique(segment[hits], return_index=True)[1]], largest


def _cells(along: Array, size: float) -> Indices:
    """First and last vertex in each stretch of length `size`."""
    cell = np.floor(along / size)
    change = np.concatenate([[True], cell[1:] != cell[:-1], [True]])
    return np.flatnonzero(change[1:] | change[:-1])


def _corners(along: Array, values: Array, tolerance: float) -> Indices:
    """Ends of the largest dyadic blocks that are straight within `tolerance`. O(n log n), one pass a block size."""
    kept = np.ones(len(along), dtype=bool)
    straight, size = np.ones(len(along) - 1, dtype=bool), 1
    while len(straight) > 1:
        size, pairs = 2 * size, len(straight) // 2
        both = np.flatnonzero(straight[: 2 * pairs].reshape(pairs, 2).all(axis=1))
        straight = np.zeros(pairs, dtype=bool)
        first, inner = both * size, both[:, None] * size + np.arange(1, size)
        off = _off_chord(along, values, first, first + size, inner)
        fits = off.max(axis=1, initial=0.0) <= tolerance
        straight[both[fits]] = True
        kept[inner[fits]] = False
    return np.flatnonzero(kept)


def _off_chord(along: Array, values: Array, first: Indices, last: Indices, inner: Indices) -> Array:
    """How far the inner vertices of each block lie from the straight line between its ends."""
    length = along[last] - along[first]
    share = (along[inner] - along[first][:, None]) / np.where(length > 0, length, 1)[:, None]
    off = np.zeros(inner.shape)
    for row in values:
        line = row[first][:, None] + share * (row[last] - row[first])[:, None]
        np.maximum(off, np.abs(row[inner] - line), out=off)
    return off
