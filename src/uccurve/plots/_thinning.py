"""Thinning: the few vertices of a long path that draw the same picture."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from uccurve._checks import Array

Indices = npt.NDArray[np.intp]
RESOLUTION = 2**15
"""Steps that a drawing's width and height are told apart in: an eighth of a pixel on a screen 4,096 pixels wide."""


def evenly(count: int, most: int) -> Indices:
    """Return at most `most` of `count` places, evenly chosen, with both ends.

    >>> evenly(9, 3), evenly(2, 3)
    (array([0, 4, 8]), array([0, 1]))
    """
    return np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(np.intp))


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
    return some[knots(along[some], np.stack([x[some], y[some]]), tolerance=3 / (4 * resolution))[0]]


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
