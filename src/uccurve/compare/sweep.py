"""Sweep: answers that need order, for many weightings of the same rows."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from uccurve._checks import FALLING, FLOOR_HINT, Array, Axes, Metric, Range
from uccurve.profile import Indices, Profile
from uccurve.track import sum_error

from .moments import Moments
from .question import Question
from .vertices import Column, Stretch, Vertices

Flags = npt.NDArray[np.bool_]
EVENTS = 1 << 18
"""Vertices that one batch of weightings goes through."""


class Places(NamedTuple):
    """One t for each weighting: the vertex before it, and how far on the way to the next one it lies."""

    vertex: Indices
    share: Array


class Sweep:
    """Area, partial area or least cost of any weighting of rows: one or two walks along the vertices."""

    __slots__ = ("_never", "_question", "_sizes", "_vertices", "batch")

    def __init__(self, profile: Profile, question: Question) -> None:
        names = dict.fromkeys([*question.axes, *([question.part[0]] if question.part else [])])
        self._never = np.flatnonzero(np.isinf(profile.critical))
        if question.part and question.part[0] != "miss_rate" and len(self._never):
            raise ValueError(
                f"`{question.part[0]}` as a range needs rows that some {profile.vary} covers: {len(self._never)} of "
                f"{len(profile.error)} rows have an error on the side of a zero band. Hint: {FLOOR_HINT}."
            )
        self._sizes = {name: question.size(profile, name) for name in names}
        if not FALLING.intersection(question.axes):
            names["miss_rate"] = None  # tells where a curve ends
        self._question, self._vertices = question, Vertices(profile, names)
        self.batch = max(1, EVENTS // self._vertices.count)

    def answers(self, weights: Array) -> Array:
        """Answer for each column of `weights`, which has one line a row of the data."""
        question, total = self._question, weights.sum(axis=0)
        sizes = [self._sizes[name] / total for name in question.axes]
        if question.c is not None:
            return self._least_cost(weights, question.c * sizes[0], (1 - question.c) * sizes[1])
        area = np.abs(self._area(weights, total)) * sizes[0] * sizes[1]
        return np.where(self._endless(weights, total), np.inf, area)

    def curves(self, weights: Array) -> tuple[Array, Array]:
        """Return x and y of each weighting's curve at all vertices: (weightings, vertices)."""
        total = weights.sum(axis=0)[:, None]
        x, y = (np.empty((len(total), self._vertices.count)) for _ in range(2))
        for stretch in self._vertices.walk(weights, self._question.axes):
            place = slice(stretch.first, stretch.first + stretch.size)
            for name, out in zip(self._question.axes, (x, y), strict=True):
                flat = stretch.columns[name].value.transpose(2, 1, 0).reshape(len(total), -1)
                np.multiply(flat, self._sizes[name] / total, out=out[:, place])
        return x, y

    def _least_cost(self, weights: Array, c: Array, rest: Array) -> Array:
        least = np.full(weights.shape[1], np.inf)
        for stretch in self._vertices.walk(weights, self._question.axes):
            x, y = (stretch.columns[name].value for name in self._question.axes)
            np.minimum(least, np.min(c * x + rest * y, axis=(0, 1)), out=least)
        return least

    def _endless(self, weights: Array, total: Array) -> Flags | bool:
        """Whether a range of the miss rate reaches below the share of rows that nothing covers."""
        part = self._question.part
        if part is None or FALLING.issuperset(self._question.axes) or not len(self._never):
            return False
        return np.asarray(weights[self._never].sum(axis=0) > part[1][0] * total)

    def _area(self, weights: Array, total: Array) -> Array:
        part, axes = self._question.part, self._question.axes
        cut = None
        if part and part[0] == axes[0] == "miss_rate":
            cut, part = (part[1][0] * total, part[1][1] * total), None
        first, last = self._ends(weights, total, part)
        area, ends = np.zeros(len(total)), [_End(place, axes) for place in (first, last)]
        for stretch in self._vertices.walk(weights, axes):
            x, y = (stretch.columns[name] for name in axes)
            x = x if cut is None else _cut(x, *cut)
            y = x if axes[0] == axes[1] else y
            for end in ends:
                end.look(stretch, x, y)
            if axes[0] != axes[1] and not _outside(stretch, first, last):
                cells = _cells(x, y, axes)
                if not _inside(stretch, first, last):
                    numbers = stretch.numbers()
                    cells *= (numbers > first.vertex) & (numbers <= last.vertex)
                area += cells.sum(axis=(0, 1))
        return area + ends[1].rest() - ends[0].rest()

    def _ends(self, weights: Array, total: Array, part: tuple[Metric, Range] | None) -> tuple[Places, Places]:
        """Return where the part of the curve begins and ends; without a part, the curve."""
        zero, end = np.zeros(len(total)), np.full(len(total), self._vertices.count - 1)
        if not FALLING.intersection(self._question.axes):  # else nothing changes after the last row is covered
            end = self._last(weights)
        if part is None:
            return Places(np.zeros(len(total), np.intp), zero), Places(end, zero)
        name, (low, high) = part
        goals = [target * total / self._sizes[name] for target in ((high, low) if name in FALLING else (low, high))]
        if name == "miss_rate":
            goals = [goal + sum_error(self._vertices.count) * total for goal in goals]
        first, last = (_earlier(place, end) for place in self._reach(weights, name, goals))
        return first, last

    def _reach(self, weights: Array, name: Metric, goals: list[Array]) -> list[Places]:
        """Return the least t at which the metric reaches each goal; the last vertex where none does."""
        search = [_Search(name, goal) for goal in goals]
        for stretch in self._vertices.walk(weights, (name,)):
            for one in search:
                one.look(stretch)
        return [one.places(self._vertices) for one in search]

    def _last(self, weights: Array) -> Indices:
        """Return the vertex at which the last row of each weighting is covered, where its curve ends."""
        last = np.zeros(weights.shape[1], np.intp)
        names: tuple[Metric, ...] = ("miss_rate",)
        for stretch in self._vertices.walk(weights, names):
            covered = stretch.columns["miss_rate"].step < 0
            np.maximum(last, np.max(covered * stretch.numbers(), axis=(0, 1)), out=last)
        return last


class _Search:
    """Looks for the first vertex at which a metric reaches a goal, for each weighting."""

    def __init__(self, name: Metric, goal: Array) -> None:
        self._name, self._goal = name, goal
        self.vertex = np.full(len(goal), -1)
        self._value, self._step = np.zeros(len(goal)), np.zeros(len(goal))

    def look(self, stretch: Stretch) -> None:
        column, goal = stretch.columns[self._name], self._goal
        before = np.sum(column.value > goal if self._name in FALLING else column.value < goal, axis=(0, 1))
        new = np.flatnonzero((self.vertex < 0) & (before < stretch.size))
        if len(new):
            self.vertex[new] = stretch.first + before[new]
            self._value[new], self._step[new] = (_at(array, before[new], new) for array in column)

    def places(self, vertices: Vertices) -> Places:
        """Return the least t that reaches the goal; the last vertex where none does."""
        missing, share = self.vertex < 0, np.zeros(len(self._goal))
        vertex = np.where(missing, vertices.count - 1, self.vertex)
        if self._name == "miss_rate":
            return Places(vertex, share)
        between = ~missing & (vertex > 0) & (self._step != 0)
        np.divide(self._goal - (self._value - self._step), self._step, out=share, where=between)
        between &= share < 1
        return Places(np.where(between, vertex - 1, vertices.last_alike(vertex)), np.where(between, share, 0))


class _End:
    """Picks what an integral needs to end between two vertices."""

    def __init__(self, place: Places, axes: Axes) -> None:
        self._place, self._axes = place, axes
        self._here, self._ahead = np.zeros((2, len(place.vertex))), np.zeros((2, len(place.vertex)))

    def look(self, stretch: Stretch, x: Column, y: Column) -> None:
        for ahead, found in ((0, self._here), (1, self._ahead)):
            local = self._place.vertex + ahead - stretch.first
            new = np.flatnonzero((local >= 0) & (local < stretch.size))
            for i, column in enumerate((x, y)):
                found[i, new] = _at(column.step if ahead else column.value, local[new], new)

    def rest(self) -> Array:
        """Integral of y dx from the vertex to the place; of a metric over itself, half its square there."""
        dx, dy = self._ahead * self._place.share
        x, y = self._here
        if self._axes[0] == self._axes[1]:
            return np.asarray((x + (0 if self._axes[0] == "miss_rate" else dx)) ** 2 / 2)
        if self._axes[0] == "miss_rate":
            return np.zeros(len(x))
        return np.asarray(dx * (y + (0 if self._axes[1] == "miss_rate" else dy / 2)))


def _at(array: Array, local: Indices, weighting: Indices) -> Array:
    """Values at one vertex of a block for each weighting."""
    return np.asarray(array[local % len(array), local // len(array), weighting])


def _inside(stretch: Stretch, first: Places, last: Places) -> bool:
    """Whether all vertices of a stretch lie after the first place and up to the last, for all weightings."""
    begins = np.all(first.vertex < max(stretch.first, 1))  # nothing has happened at vertex 0
    return bool(begins and np.all(last.vertex >= stretch.first + stretch.size - 1))


def _outside(stretch: Stretch, first: Places, last: Places) -> bool:
    """Whether none of them does."""
    return bool(np.all((last.vertex < stretch.first) | (first.vertex >= stretch.first + stretch.size - 1)))


def _cells(x: Column, y: Column, axes: Axes) -> Array:
    """Integral of y dx between each vertex and the one before; a jump of x counts where it ends."""
    back = 1.0 if axes[1] == "miss_rate" else 0.0 if axes[0] == "miss_rate" else 0.5
    cells = np.multiply(y.step, -back)
    cells += y.value
    cells *= x.step
    return cells


def _cut(column: Column, low: Array, high: Array) -> Column:
    """A falling metric cut at the ends of a range."""
    before = np.clip(column.value - column.step, low, high)
    value = np.clip(column.value, low, high)
    return Column(value, value - before)


def _earlier(place: Places, end: Indices) -> Places:
    beyond = place.vertex >= end
    return Places(np.where(beyond, end, place.vertex), np.where(beyond, 0, place.share))


class Ordered:
    """Answers of any weighting where order is needed: areas and costs by one sweep, gains by a second one."""

    __slots__ = ("_reference", "_sweep", "batch")

    def __init__(self, profile: Profile, question: Question) -> None:
        self._sweep = Sweep(profile, question)
        self._reference = None
        if question.statistic == "gain":
            flat, area = replace(constant(profile), weight=None), replace(question, statistic="area")
            self._reference = Moments.of(flat, area) or Sweep(flat, question)
        self.batch = self._sweep.batch

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
