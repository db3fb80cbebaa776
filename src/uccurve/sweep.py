"""Sweep: answers that need order, for many weightings of the same rows, which are sorted once.

With ``t`` the scale or the shift and the vertices of all rows in order, every metric of a weighting is one or two
running sums over them. A row of weight 0 leaves a vertex without a bend, which changes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .checks import FLOOR_HINT, Array, Metric
from .curve import Range
from .moments import Moments
from .profile import FALLING, Indices, Profile
from .question import Question
from .track import BENDS, KINDS, _sum_error, _vertices, kinks

Flags = npt.NDArray[np.bool_]
EVENTS = 1 << 18
"""Vertices that one batch of weightings goes through."""
STRIDES = 64
"""Into how many strides running sums are cut: one vectorised addition each."""


class Column(NamedTuple):
    """A metric at each vertex, times the sum of the weights, and its change since the vertex before."""

    value: Array
    step: Array


class Places(NamedTuple):
    """One t for each weighting: the vertex before it, and how far on the way to the next one it lies."""

    vertex: Indices
    share: Array


class Sweep:
    """Area, partial area or least cost of any weighting of rows; O(n) each after one sort.

    Arrays over vertices have the shape (strides, runs, weightings): vertex number ``run * strides + stride``, so that
    neighbours in a running sum lie in neighbouring lines and lines are added at once.
    """

    __slots__ = (
        "_bends",
        "_gaps",
        "_half_width",
        "_memory",
        "_never",
        "_number",
        "_question",
        "_row",
        "_sizes",
        "_t",
        "_uncovered",
        "_vary",
        "events",
        "t",
    )

    def __init__(self, profile: Profile, question: Question) -> None:
        names = {*question.axes, *([question.part[0]] if question.part else [])}
        self._never = np.flatnonzero(np.isinf(profile.critical)), profile.error[np.isinf(profile.critical)]
        if question.part and question.part[0] != "miss_rate" and len(self._never[0]):
            raise ValueError(
                f"`{question.part[0]}` as a range needs rows that some {profile.vary} covers: {len(self._never[0])} of "
                f"{len(profile.error)} rows have an error on the side of a zero band. Hint: {FLOOR_HINT}."
            )
        kinds = ["critical", *(kind for kind in KINDS if kind in kinks(profile.vary, names))]
        self.t, row, mass, code = _events(profile, kinds)
        self.events = len(self.t)
        self._number = _strided(np.arange(self.events))
        self._t, self._row = _strided(self.t), _strided(row)
        self._gaps = _strided(np.diff(self.t, prepend=self.t[0]))
        critical = (code == 0) & (self.t > profile.start)
        bends = {name: [BENDS[profile.vary][name].get(kind, 0.0) for kind in kinds] for name in names}
        self._bends = {name: _strided(mass * np.array([*bend, 0.0])[code]) for name, bend in bends.items()}
        self._bends["miss_rate"] = _strided(np.where(critical, -1.0, 0.0))
        self._memory: dict[str, Array] = {}
        self._half_width = profile.lower_band / 2 + profile.upper_band / 2
        self._uncovered = (profile.critical > profile.start).astype(np.float64)
        self._vary, self._question = profile.vary, question
        self._sizes = {name: question.size(profile, name) for name in names}

    def answers(self, weights: Array) -> Array:
        """Answer for each column of `weights`, which has one line a row of the data."""
        question, total = self._question, weights.sum(axis=0)
        columns = self._columns(weights)
        x, y = (columns[name] for name in question.axes)
        x_size, y_size = (self._sizes[name] / total for name in question.axes)
        if question.c is not None:
            costs = question.c * x_size * x.value
            costs += (1 - question.c) * y_size * y.value
            return np.asarray(costs.min(axis=(0, 1)))
        area = np.abs(self._area(weights, total, columns)) * x_size * y_size
        return np.where(self._endless(weights, total), np.inf, area)

    def curves(self, weights: Array) -> tuple[Array, Array]:
        """Return x and y of each weighting's curve at all vertices: (weightings, vertices)."""
        columns, total = self._columns(weights), weights.sum(axis=0)[:, None]
        x, y = (
            columns[name].value.transpose(2, 1, 0).reshape(len(total), -1) * (self._sizes[name] / total)
            for name in self._question.axes
        )
        return x, y

    def _space(self, name: str, count: int) -> Array:
        """Memory for an array over the vertices, the same at each call: fresh pages take longer than to fill them."""
        shape = (*self._row.shape, count)
        if name not in self._memory or self._memory[name].shape != shape:
            self._memory[name] = np.empty(shape)
        return self._memory[name]

    def _columns(self, weights: Array) -> dict[Metric, Column]:
        count = weights.shape[1]
        events = np.take(weights, self._row, axis=0, out=self._space("events", count), mode="clip")
        out: dict[Metric, Column] = {}
        for name in self._sizes:
            column = Column(self._space(f"{name} value", count), self._space(f"{name} step", count))
            if name == "bandwidth" and self._vary == "scale":
                width = _dot(self._half_width, weights)
                np.multiply(self._t[:, :, None], width, out=column.value)
                np.multiply(self._gaps[:, :, None], width, out=column.step)
            elif name == "miss_rate":
                np.multiply(events, self._bends[name][:, :, None], out=column.step)
                _running(column.step, column.value)
                np.add(column.value, _dot(self._uncovered, weights), out=column.value)
            else:
                np.multiply(events, self._bends[name][:, :, None], out=column.step)
                self._ramps(name, weights, column)
            out[name] = column
        return out

    def _ramps(self, name: Metric, weights: Array, column: Column) -> None:
        """Turn changes of the slope, which stand in the steps, into the sum of ramps; falling ones for the deficit."""
        value, step = column
        start: Array | float = 0.0
        if name == "deficit":
            start = np.einsum("ijk,ij->k", step, self._t - self.t[0]) + _dot(self._never[1], weights[self._never[0]])
        _running(step, value)
        np.subtract(value, step, out=step)
        if name == "deficit":
            np.subtract(step, value[-1, -1], out=step)
        np.multiply(step, self._gaps[:, :, None], out=step)
        _running(step, value)
        np.add(value, start, out=value)

    def _endless(self, weights: Array, total: Array) -> Flags | bool:
        """Whether a range of the miss rate reaches below the share of rows that nothing covers."""
        part = self._question.part
        if part is None or FALLING.issuperset(self._question.axes) or not len(self._never[0]):
            return False
        return np.asarray(weights[self._never[0]].sum(axis=0) > part[1][0] * total)

    def _area(self, weights: Array, total: Array, columns: dict[Metric, Column]) -> Array:
        part, axes = self._question.part, self._question.axes
        x, y = (columns[name] for name in axes)
        if part and part[0] == axes[0] == "miss_rate":
            x = _cut(x, *(end * total for end in part[1]))
            part, y = None, x if axes[1] == "miss_rate" else y
        if part is None and FALLING.intersection(axes) and axes[0] != axes[1]:
            return np.asarray(self._cells(x, y).sum(axis=(0, 1)))
        first, last = self._ends(weights, total, columns, part)
        if axes[0] == axes[1]:
            return self._squared(x, last) - self._squared(x, first)
        cells = self._cells(x, y)
        cells *= self._number[:, :, None] > first.vertex
        cells *= self._number[:, :, None] <= last.vertex
        return np.asarray(cells.sum(axis=(0, 1)) + self._rest(x, y, last) - self._rest(x, y, first))

    def _ends(
        self, weights: Array, total: Array, columns: dict[Metric, Column], part: tuple[Metric, Range] | None
    ) -> tuple[Places, Places]:
        """Return where the part of the curve begins and ends; without a part, the curve."""
        zero, end = np.zeros(len(total)), np.full(len(total), self.events - 1)
        if not FALLING.intersection(self._question.axes):  # else nothing changes after the last row is covered
            present = weights[self._row] * self._bends["miss_rate"][:, :, None] < 0
            end = np.max(present * self._number[:, :, None], axis=(0, 1))
        if part is None:
            return Places(np.zeros(len(total), np.intp), zero), Places(end, zero)
        name, (low, high) = part
        first, last = (high, low) if name in FALLING else (low, high)
        scale = total / self._sizes[name]
        places = (self._reach(name, columns[name], target, scale) for target in (first, last))
        begin, stop = (_earlier(place, end) for place in places)
        return begin, stop

    def _reach(self, name: Metric, column: Column, target: float, scale: Array) -> Places:
        """Return the least t at which the metric reaches the target; the last vertex where none does."""
        goal = (target + _sum_error(self.events) if name == "miss_rate" else target) * scale
        after = np.sum(column.value > goal if name in FALLING else column.value < goal, axis=(0, 1))
        vertex, share = np.minimum(after, self.events - 1), np.zeros(len(goal))
        if name != "miss_rate":
            way = (after > 0) & (after < self.events)
            value, step = (self._at(array, vertex) for array in column)
            way &= np.divide(goal - (value - step), step, out=share, where=way) < 1
            vertex, share = np.where(way, vertex - 1, vertex), np.where(way, share, 0)
        return Places(np.searchsorted(self.t, self.t[vertex], side="right") - 1, share)

    def _at(self, array: Array, vertex: Indices) -> Array:
        """Values at one vertex for each weighting."""
        strides = len(array)
        return np.asarray(array[vertex % strides, vertex // strides, np.arange(len(vertex))])

    def _cells(self, x: Column, y: Column) -> Array:
        """Integral of y dx between each vertex and the one before; a jump of x counts where it ends."""
        names, cells = self._question.axes, self._space("cells", x.value.shape[2])
        back = 1.0 if names[1] == "miss_rate" else 0.0 if names[0] == "miss_rate" else 0.5
        np.multiply(y.step, -back, out=cells)
        np.add(cells, y.value, out=cells)
        return np.multiply(cells, x.step, out=cells)

    def _rest(self, x: Column, y: Column, place: Places) -> Array:
        """Integral of y dx from a vertex to a place after it."""
        names, following = self._question.axes, np.minimum(place.vertex + 1, self.events - 1)
        dx, dy = (self._at(column.step, following) * place.share for column in (x, y))
        if names[0] == "miss_rate":
            return np.zeros(len(dx))
        return np.asarray(dx * (self._at(y.value, place.vertex) + (0 if names[1] == "miss_rate" else dy / 2)))

    def _squared(self, x: Column, place: Places) -> Array:
        """Half the square of a metric at a place."""
        following = np.minimum(place.vertex + 1, self.events - 1)
        on_the_way = 0.0 if self._question.axes[0] == "miss_rate" else self._at(x.step, following) * place.share
        return np.asarray((self._at(x.value, place.vertex) + on_the_way) ** 2 / 2)


class Ordered:
    """Answers of any weighting where order is needed: areas and costs by one sweep, gains by a second one."""

    __slots__ = ("_reference", "_sweep", "batch")

    def __init__(self, profile: Profile, question: Question) -> None:
        self._sweep = Sweep(profile, question)
        self._reference = None
        if question.statistic == "gain":
            flat, area = replace(constant(profile), weight=None), replace(question, statistic="area")
            self._reference = Moments.of(flat, area) or Sweep(flat, question)
        self.batch = max(1, EVENTS // self._sweep.events)

    def answers(self, weights: Array) -> Array:
        """Answer for each column of `weights`, which has one line a row of the data."""
        own = self._sweep.answers(weights)
        if self._reference is None:
            return own
        reference = self._reference.answers(weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            return (reference - own) / reference


def constant(profile: Profile) -> Profile:
    """Rows of the reference: the same errors in bands of 1."""
    band = np.ones(len(profile.error))
    critical = profile.error.copy() if profile.vary == "scale" else np.where(profile.error > 0, profile.error - 1, -1.0)
    start = 0.0 if profile.vary == "scale" else -1.0
    return replace(profile, active=band, lower_band=band, upper_band=band, above=None, critical=critical, start=start)


def _events(profile: Profile, kinds: list[str]) -> tuple[Array, Indices, Array, Indices]:
    """Position, row, mass and kind of every vertex of the curve, by position; first the start, last some that repeat.

    The start and the repeated ones have no mass and the kind -1.
    """
    columns = [(np.array([profile.start]), np.zeros(1, np.intp), np.zeros(1), np.array([-1]))]
    for code, kind in enumerate(kinds):
        rows, position, mass = _vertices(profile, kind)
        row = np.arange(len(profile.error))[rows]
        columns.append((position, row, mass, np.full(len(row), code)))
    t, numbers, masses, codes = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    order = np.argsort(t, kind="stable")
    missing = -len(t) % STRIDES
    t, numbers = np.pad(t[order], (0, missing), mode="edge"), np.pad(numbers[order], (0, missing))
    return t, numbers, np.pad(masses[order], (0, missing)), np.pad(codes[order], (0, missing), constant_values=-1)


def _strided(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Bring vertices in order to the shape (strides, runs)."""
    return np.ascontiguousarray(values.reshape(-1, STRIDES).T)


def _dot(values: Array, weights: Array) -> Array:
    """Weighted sums; not by BLAS, whose threads cost more than they bring for one column."""
    return np.asarray(np.einsum("i,ij->j", values, weights))


def _running(steps: Array, out: Array) -> None:
    """Running sum over the vertices."""
    out[0] = steps[0]
    for line in range(1, len(steps)):
        np.add(steps[line], out[line - 1], out=out[line])
    out[:, 1:] += np.cumsum(out[-1, :-1], axis=0)


def _cut(column: Column, low: Array, high: Array) -> Column:
    """A falling metric cut at the ends of a range."""
    before = np.clip(column.value - column.step, low, high)
    value = np.clip(column.value, low, high)
    return Column(value, value - before)


def _earlier(place: Places, end: Indices) -> Places:
    beyond = place.vertex >= end
    return Places(np.where(beyond, end, place.vertex), np.where(beyond, 0, place.share))
