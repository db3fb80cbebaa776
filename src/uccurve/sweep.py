"""Sweep: answers that need order, for many weightings of the same rows, which are sorted once.

With ``t`` the scale or the shift and the vertices of all rows in order, every metric of a weighting is one or two
running sums over them. A row of weight 0 leaves a vertex without a bend, which changes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .checks import FLOOR_HINT, Array, Metric
from .curve import Range
from .profile import FALLING, Indices, Profile
from .question import Question
from .track import BENDS, KINDS, _sum_error, _vertices, kinks

Flags = npt.NDArray[np.bool_]
EVENTS = 1 << 18
"""Vertices that one batch of weightings goes through."""


class Places(NamedTuple):
    """One t for each weighting: the vertex before it, and how far on the way to the next one it lies."""

    vertex: Indices
    share: Array


class Sweep:
    """Area, partial area or least cost of any weighting of rows; O(n) each after one sort."""

    __slots__ = (
        "_bends",
        "_critical",
        "_half_width",
        "_never",
        "_question",
        "_row",
        "_sizes",
        "_start",
        "_vary",
        "events",
        "t",
    )

    def __init__(self, profile: Profile, question: Question) -> None:
        names = {*question.axes, *([question.part[0]] if question.part else [])}
        kinds = ["critical", *(kind for kind in KINDS if kind in kinks(profile.vary, names))]
        position, mass, row, code = _events(profile, kinds)
        order = np.argsort(position, kind="stable")
        self.t = np.append(profile.start, position[order])
        self.events = len(order)
        self._row, code, mass = row[order], code[order], mass[order]
        self._critical = None if len(kinds) == 1 else code == 0
        self._bends = {name: mass * _bends(profile, name, kinds)[code] for name in names if name != "miss_rate"}
        self._half_width = profile.lower_band / 2 + profile.upper_band / 2
        self._start = int(np.searchsorted(self.t, profile.start, side="right")) - 1
        never = np.flatnonzero(np.isinf(profile.critical))
        if len(never) and question.part and question.part[0] != "miss_rate":
            raise ValueError(
                f"`{question.part[0]}` as a range needs rows that some {profile.vary} covers: {len(never)} of "
                f"{len(profile.error)} rows have an error on the side of a zero band. Hint: {FLOOR_HINT}."
            )
        self._never = (never, profile.error[never]) if len(never) else None
        self._vary, self._question = profile.vary, question
        self._sizes = {name: question.size(profile, name) for name in names}

    def answers(self, weights: Array) -> Array:
        """Answer for each row of `weights`, which has one column a row of the data."""
        question, values = self._question, self._metrics(weights)
        x, y = (values[name] for name in question.axes)
        if question.c is not None:
            return np.asarray(np.min(question.c * x + (1 - question.c) * y, axis=1))
        part = question.part
        endless = self._endless(values)
        if part and part[0] == question.axes[0] == "miss_rate":
            cut = np.clip(x, *part[1])
            area = (cut[:, 0] ** 2 - cut[:, -1] ** 2) / 2 if x is y else np.sum(self._cells(cut, y), axis=1)
        elif not part and FALLING.intersection(question.axes) and x is not y:
            area = np.sum(self._cells(x, y), axis=1)
        else:
            first, last = self._ends(weights, values, part)
            area = self._until(x, y, last) - self._until(x, y, first)
        return np.where(endless, np.inf, np.abs(area))

    def _metrics(self, weights: Array) -> dict[Metric, Array]:
        """Return the metrics at the start and at each vertex, in the question's unit; the miss rate after its step."""
        total = weights.sum(axis=1, keepdims=True)
        events = weights[:, self._row]
        out: dict[Metric, Array] = {}
        for name, size in self._sizes.items():
            if name == "miss_rate":
                out[name] = self._miss_rate(weights, events)
            elif name == "bandwidth" and self._vary == "scale":
                out[name] = (weights @ self._half_width)[:, None] / total * self.t * size
            elif name == "deficit":
                out[name] = self._falling(weights, events * self._bends[name]) / total * size
            else:
                out[name] = self._rising(events * self._bends[name]) / total * size
        return out

    def _rising(self, slopes: Array) -> Array:
        out = np.zeros((len(slopes), len(self.t)))
        np.cumsum(slopes[:, :-1], axis=1, out=out[:, 2:])
        out[:, 1:] *= np.diff(self.t)
        return np.cumsum(out, axis=1, out=out)

    def _falling(self, weights: Array, slopes: Array) -> Array:
        out = np.zeros((len(slopes), len(self.t)))
        np.cumsum(slopes[:, ::-1], axis=1, out=out[:, -2::-1])
        out[:, :-1] *= np.diff(self.t)
        np.cumsum(out[:, ::-1], axis=1, out=out[:, ::-1])
        if self._never is not None:
            out += (weights[:, self._never[0]] @ self._never[1])[:, None]
        return out

    def _miss_rate(self, weights: Array, events: Array) -> Array:
        out = np.zeros((len(events), len(self.t)))
        covered = events if self._critical is None else events * self._critical
        np.cumsum(covered[:, ::-1], axis=1, out=out[:, -2::-1])
        if self._never is not None:
            out += weights[:, self._never[0]].sum(axis=1, keepdims=True)
        out /= out[:, :1].copy()
        out[:, : self._start] = out[:, self._start : self._start + 1]
        return out

    def _endless(self, values: dict[Metric, Array]) -> Flags | bool:
        """Whether a range of the miss rate reaches below the share of rows that nothing covers."""
        part = self._question.part
        if self._never is None or part is None or FALLING.issuperset(self._question.axes):
            return False
        return values["miss_rate"][:, -1] > part[1][0]

    def _ends(
        self, weights: Array, values: dict[Metric, Array], part: tuple[Metric, Range] | None
    ) -> tuple[Places, Places]:
        """Return where the part of the curve begins and ends; without a part, the curve."""
        nowhere = np.zeros(len(weights))
        end = np.full(len(weights), self.events)
        if not FALLING.intersection(self._question.axes):
            end = self._last(weights)
        if part is None:
            return Places(np.full(len(weights), self._start), nowhere), Places(end, nowhere)
        name, (low, high) = part
        targets = (high, low) if name in FALLING else (low, high)
        first, last = (_earlier(self._reach(name, values[name], target), end) for target in targets)
        return first, last

    def _reach(self, name: Metric, values: Array, target: float) -> Places:
        """Return the least t at which the metric reaches the target; the last vertex where none does."""
        if name == "miss_rate":
            target += _sum_error(self.events)
        after = np.sum(values > target if name in FALLING else values < target, axis=1)
        vertex, share = np.minimum(after, self.events), np.zeros(len(values))
        if name != "miss_rate":
            rows = np.flatnonzero((after > 0) & (after <= self.events))
            before = values[rows, after[rows] - 1]
            way = (target - before) / (values[rows, after[rows]] - before)
            rows, way = rows[way < 1], way[way < 1]
            vertex[rows], share[rows] = after[rows] - 1, way
        return Places(np.searchsorted(self.t, self.t[vertex], side="right") - 1, share)

    def _last(self, weights: Array) -> Indices:
        """Return the vertex at which the last row of each weighting is covered, where its curve ends."""
        present: Flags = weights[:, self._row] > 0
        if self._critical is not None:
            present &= self._critical
        return np.asarray(self.events - np.argmax(present[:, ::-1], axis=1))

    def _cells(self, x: Array, y: Array) -> Array:
        """Integral of y dx between neighbouring vertices; a jump of x counts where it ends."""
        if self._question.axes[0] == "miss_rate":
            return np.diff(x) * y[:, 1:]
        heights = y[:, :-1] if self._question.axes[1] == "miss_rate" else (y[:, :-1] + y[:, 1:]) / 2
        return np.diff(x) * heights

    def _until(self, x: Array, y: Array, place: Places) -> Array:
        """Integral of y dx from the start to a place."""
        each, (vertex, share) = np.arange(len(x)), place
        following = np.minimum(vertex + 1, self.events)
        x0, dx = x[each, vertex], (x[each, following] - x[each, vertex]) * share
        if x is y:
            return (x0 + dx * (self._question.axes[0] != "miss_rate")) ** 2 / 2
        y0, dy = y[each, vertex], (y[each, following] - y[each, vertex]) * share
        done = np.where(vertex > 0, np.cumsum(self._cells(x, y), axis=1)[each, vertex - 1], 0)
        if "miss_rate" in self._question.axes:
            return done + dx * y0 * (self._question.axes[1] == "miss_rate")
        return done + dx * (y0 + dy / 2)


def _earlier(place: Places, end: Indices) -> Places:
    beyond = place.vertex >= end
    return Places(np.where(beyond, end, place.vertex), np.where(beyond, 0, place.share))


def _events(profile: Profile, kinds: list[str]) -> tuple[Array, Array, Indices, Indices]:
    """Position, mass, row and kind of every vertex at a finite t."""
    columns: list[tuple[Array, Array, Indices, Indices]] = []
    for code, kind in enumerate(kinds):
        rows, at, mass = _vertices(profile, kind)
        row = np.arange(len(profile.error))[rows]
        columns.append((at, mass, row, np.full(len(row), code)))
    positions, masses, numbers, codes = zip(*columns, strict=True)
    return np.concatenate(positions), np.concatenate(masses), np.concatenate(numbers), np.concatenate(codes)


def _bends(profile: Profile, name: Metric, kinds: list[str]) -> Array:
    return np.array([BENDS[profile.vary][name].get(kind, 0.0) for kind in kinds])


def constant(profile: Profile) -> Profile:
    """Rows of the reference: the same errors in bands of 1."""
    band = np.ones(len(profile.error))
    critical = profile.error.copy() if profile.vary == "scale" else np.where(profile.error > 0, profile.error - 1, -1.0)
    start = 0.0 if profile.vary == "scale" else -1.0
    return replace(profile, active=band, lower_band=band, upper_band=band, above=None, critical=critical, start=start)


class Ordered:
    """Answers of any weighting where order is needed: areas and costs by one sweep, gains by a second one."""

    __slots__ = ("_reference", "_sweep", "batch")

    def __init__(self, profile: Profile, question: Question) -> None:
        self._sweep = Sweep(profile, question)
        self._reference = Sweep(constant(profile), question) if question.statistic == "gain" else None
        self.batch = max(1, EVENTS // self._sweep.events)

    def answers(self, weights: Array) -> Array:
        """Answer for each row of `weights`, which has one column a row of the data."""
        own = self._sweep.answers(weights)
        if self._reference is None:
            return own
        reference = self._reference.answers(weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            return (reference - own) / reference
