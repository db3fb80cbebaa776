"""Vertices: the places at which some row bends a curve, in order, and the metrics there for any weights of the rows.

With ``t`` the scale or the shift, every metric of a weighting is one or two running sums over the vertices. A row of
weight 0 leaves a vertex without a bend, which changes nothing, so rows are sorted once for all weightings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from uccurve._checks import Array, Metric
from uccurve.profile import Indices, Profile
from uccurve.track import BENDS, KINDS, kinks, vertices

BLOCK = 1 << 17
"""Vertices that are gone through at a time, so that memory stays small and in the cache."""
STRIDES = 32
"""Into how many strides a block is cut, so that a running sum is as many vectorised additions."""


class Column(NamedTuple):
    """A metric at each vertex, times the sum of the weights, and its change since the vertex before."""

    value: Array
    step: Array


class Stretch(NamedTuple):
    """Metrics at `size` vertices from number `first` on: arrays (strides, runs, weightings)."""

    first: int
    size: int
    columns: dict[Metric, Column]

    def numbers(self) -> Indices:
        """Number of each vertex in order."""
        return (self.first + np.arange(self.size)).reshape(-1, STRIDES).T[:, :, None]


class _Block(NamedTuple):
    """What one block keeps: vertex ``run * strides + stride`` stands in line `stride`, column `run`."""

    first: int
    row: npt.NDArray[np.int32]
    gaps: Array
    columns: dict[str, npt.NDArray[Any]]
    """By metric what bends it, or for a straight one the t."""


class Vertices:
    """Vertices of all rows for some metrics. O(n log n) once, then O(n) to walk along them for some weightings."""

    __slots__ = ("_alike", "_blocks", "_rows", "_spaces", "_vary", "count")

    def __init__(self, profile: Profile, names: Collection[Metric]) -> None:
        kinds = ["critical", *(kind for kind in KINDS if kind in kinks(profile.vary, names))]
        events = _Events(profile, kinds)
        self.count, size = events.count, events.size
        gaps, row = events.split(events.gaps()), events.split(events.rows())
        columns = {name: events.split(events.bends(name)) for name in names}
        self._blocks = [
            _Block(i * size, row[i], gaps[i], {name: column[i] for name, column in columns.items()})
            for i in range(len(row))
        ]
        self._vary, self._rows = profile.vary, _row_values(profile, names)
        self._spaces: dict[Any, Array] = {}
        self._alike: Indices | None = None

    def walk(self, weights: Array, names: Collection[Metric]) -> Iterator[Stretch]:
        """Metrics block by block for each column of `weights`, which has one line a row of the data.

        The arrays are the same ones at each step: take what is needed before going on.
        """
        walkers = {name: self._walker(name, weights) for name in names}
        for block in self._blocks:
            shape = (*block.row.shape, weights.shape[1])
            events = np.take(weights, block.row, axis=0, out=self._space("events", shape), mode="clip")
            columns = {name: walker.column(block, events, self._pair(name, shape)) for name, walker in walkers.items()}
            yield Stretch(block.first, block.row.size, columns)

    def last_alike(self, vertex: Indices) -> Indices:
        """Return the last vertex at the same t."""
        if self._alike is None:
            new = np.concatenate([block.gaps.T.ravel() > 0 for block in self._blocks])
            last = np.flatnonzero(np.append(new[1:], True))
            self._alike = last[np.searchsorted(last, np.arange(self.count))]
        return np.asarray(self._alike[vertex])

    def _walker(self, name: Metric, weights: Array) -> _Walker:
        start = _dot(self._rows[name], weights) if name in self._rows else np.zeros(weights.shape[1])
        if name == "miss_rate":
            return _Steps(start)
        if name == "bandwidth" and self._vary == "scale":
            return _Line(start)
        fall = _dot(self._rows["fall"], weights) if name == "deficit" and "fall" in self._rows else np.zeros(len(start))
        return _Ramps(name, start, fall)

    def _pair(self, name: Metric, shape: tuple[int, ...]) -> Column:
        return Column(self._space(f"{name} value", shape), self._space(f"{name} step", shape))

    def _space(self, name: str, shape: tuple[int, ...]) -> Array:
        """Memory for an array, the same at each call: fresh pages take longer than to fill them."""
        if (name, shape) not in self._spaces:
            self._spaces[name, shape] = np.empty(shape)
        return self._spaces[name, shape]


class _Steps:
    """Miss rate: it falls by the weight of a row where that is covered."""

    def __init__(self, uncovered: Array) -> None:
        self._last = uncovered

    def column(self, block: _Block, events: Array, out: Column) -> Column:
        np.multiply(events, block.columns["miss_rate"][:, :, None], out=out.step)
        np.negative(out.step, out=out.step)
        _running(out.step, out.value)
        np.add(out.value, self._last, out=out.value)
        self._last = out.value[-1, -1].copy()
        return out


class _Line:
    """Bandwidth over the scale: a straight line."""

    def __init__(self, width: Array) -> None:
        self._width = width

    def column(self, block: _Block, events: Array, out: Column) -> Column:  # noqa: ARG002  # all walkers are called alike
        np.multiply(block.columns["bandwidth"][:, :, None], self._width, out=out.value)
        np.multiply(block.gaps[:, :, None], self._width, out=out.step)
        return out


class _Ramps:
    """Sum of ramps that begin (or end, for the deficit) at the vertices: two running sums."""

    def __init__(self, name: Metric, value: Array, fall: Array) -> None:
        self._name, self._last, self._slope = name, value, -fall

    def column(self, block: _Block, events: Array, out: Column) -> Column:
        value, step = out
        np.multiply(events, block.columns[self._name][:, :, None], out=step)
        _running(step, value)
        np.subtract(value, step, out=step)
        np.add(step, self._slope, out=step)
        self._slope = self._slope + value[-1, -1]
        np.multiply(step, block.gaps[:, :, None], out=step)
        _running(step, value)
        np.add(value, self._last, out=value)
        self._last = value[-1, -1].copy()
        return out


_Walker = _Steps | _Line | _Ramps


class _Events:
    """Every vertex of the curve by its position; before them the start, after them some that repeat the last one.

    Columns are made one at a time, as they are long.
    """

    def __init__(self, profile: Profile, kinds: list[str]) -> None:
        self._profile, self._kinds = profile, kinds
        t = self._joined(1, profile.start)
        self._order = np.argsort(t, kind="stable").astype(np.int32)
        blocks = -(-len(t) // BLOCK)
        self.size = -(-len(t) // (blocks * STRIDES)) * STRIDES
        self.count = blocks * self.size

    def t(self) -> Array:
        values = self._joined(1, self._profile.start)
        return self._sorted(values, values[self._order[-1]])

    def gaps(self) -> Array:
        t = self.t()
        return np.diff(t, prepend=t[0])

    def rows(self) -> npt.NDArray[np.int32]:
        numbers = np.arange(len(self._profile.error), dtype=np.int32)
        found = (numbers[vertices(self._profile, kind)[0]] for kind in self._kinds)
        return self._sorted(np.concatenate([[0], *found], dtype=np.int32), 0)

    def bends(self, name: Metric) -> npt.NDArray[Any]:
        """Changes of a metric's slope; where rows are covered, for the miss rate; t, for a straight metric."""
        profile = self._profile
        if name == "bandwidth" and profile.vary == "scale":
            return self.t()
        if name == "miss_rate":
            critical = vertices(profile, "critical")[1] > profile.start
            others = len(self._order) - 1 - len(critical)
            return self._sorted(np.concatenate([[False], critical, np.zeros(others, np.bool_)]), False)
        values = self._joined(2, 0.0)
        at = 1
        for kind in self._kinds:
            length = len(vertices(profile, kind)[1])
            values[at : at + length] *= BENDS[profile.vary][name].get(kind, 0.0)
            at += length
        return self._sorted(values, 0.0)

    def split(self, values: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """Cut into blocks of the shape (strides, runs)."""
        parts = values.reshape(-1, self.size // STRIDES, STRIDES)
        return [np.ascontiguousarray(part.T) for part in parts]

    def _joined(self, column: Literal[1, 2], start: float) -> Array:
        """Positions (1) or masses (2) of all kinds."""
        return np.concatenate([[start], *(vertices(self._profile, kind)[column] for kind in self._kinds)])

    def _sorted(self, values: npt.NDArray[Any], last: Any) -> npt.NDArray[Any]:
        out = np.empty(self.count, values.dtype)
        values.take(self._order, out=out[: len(values)], mode="clip")
        out[len(values) :] = last
        return out


def _row_values(profile: Profile, names: Collection[Metric]) -> dict[str, Array]:
    """What the rows' weighted sums give at the start: uncovered rows, half-widths, the deficit and its fall."""
    out: dict[str, Array] = {}
    if "miss_rate" in names:
        out["miss_rate"] = (profile.critical > profile.start).astype(np.float64)
    if "bandwidth" in names and profile.vary == "scale":
        out["bandwidth"] = profile.lower_band / 2 + profile.upper_band / 2
    if "deficit" in names:  # all bands are 0 at the start; over the shift they stay 0 for a while
        out["deficit"] = profile.error
        if profile.vary == "scale":
            out["fall"] = profile.active
    return out


def _dot(values: Array, weights: Array) -> Array:
    """Weighted sums; not by BLAS, whose threads cost more than they bring for one column."""
    return np.asarray(np.einsum("i,ij->j", values, weights))


def _running(steps: Array, out: Array) -> None:
    """Running sum over the vertices of a block."""
    out[0] = steps[0]
    for line in range(1, len(steps)):
        np.add(steps[line], out[line - 1], out=out[line])
    out[:, 1:] += np.cumsum(out[-1, :-1], axis=0)
