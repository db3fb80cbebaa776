"""Curves: many curves over the same knots at once, and their areas, costs and operating points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uccurve._arrays import Indices
from uccurve._checks import FALLING, Array, Axes, Metric, Range
from uccurve._ramps import _hull_corners, sum_error
from uccurve._scoring import penalised


class Places(NamedTuple):
    """One place on each curve: the knot before it, and how far on the way to the next one it lies."""

    knot: Indices
    share: Array


class Curves(NamedTuple):
    """Metrics of several curves at the knots `t`: arrays (curves, knots).

    Between knots metrics are straight lines, but for the miss rate, which is a step down at each row. `between` is its
    mean over t from each knot to the next. Where every vertex is a knot that is what it was at the knot before, and all
    answers are exact.
    """

    t: Array
    metrics: dict[Metric, Array]
    between: Array
    is_every_vertex: bool
    rows: int

    @property
    def _slack(self) -> float:
        """By how much a miss rate may be off by rounding."""
        return sum_error(self.rows)

    def reaching(self, miss_rate: float) -> Places:
        """Return where each curve first reaches a miss rate; its last knot where it never does."""
        values = self.metrics["miss_rate"]
        reached = values <= miss_rate + self._slack
        none = ~reached[:, -1]
        knot = np.where(none, len(self.t) - 1, reached.argmax(axis=1))
        share = np.zeros(len(knot))
        if self.is_every_vertex:
            return Places(knot, share)
        before = np.maximum(knot - 1, 0)
        start, stop = _at(values, before), _at(values, knot)
        between = ~none & (knot > 0) & (start != stop)
        np.divide(miss_rate - start, stop - start, out=share, where=between)
        between &= share < 1
        return Places(np.where(between, before, knot), np.where(between, np.maximum(share, 0), 0))

    def line(self, values: Array, place: Places) -> Array:
        """Return values that run straight between knots at one place of each curve."""
        here = _at(values, place.knot)
        return here + place.share * (_at(values, np.minimum(place.knot + 1, len(self.t) - 1)) - here)

    def area(self, axes: Axes, span: Range | None = None) -> Array:
        """Return the area of each curve, or that of its part on which the miss rate lies in a range."""
        if span is not None and axes[0] == "miss_rate":  # steps that leave the range are cut at its ends
            missed, between = (np.clip(values, *span) for values in (self.metrics["miss_rate"], self.between))
            metrics = self.metrics | {"miss_rate": missed}
            area = np.abs(self._replace(metrics=metrics, between=between).area(axes))
        else:
            running = self._running(axes)
            first, last = (self._until(running, axes, place) for place in self._ends(axes, span))
            area = np.abs(last - first)
        if span is not None and not FALLING.issuperset(axes):
            area[self.metrics["miss_rate"][:, -1] > span[0] + self._slack] = np.inf
        return area

    def best_score(self, alpha: float) -> Array:
        """Return the smallest interval score; it lies on a vertex."""
        return np.asarray(penalised(2 * self.metrics["bandwidth"], self.metrics["deficit"], alpha).min(axis=1))

    def covering(self, alpha: float) -> tuple[Array, Array]:
        """Smallest t at which a miss rate is reached, infinite where none does, and the bandwidth there."""
        place = self.reaching(alpha)
        unreached = self.metrics["miss_rate"][:, -1] > alpha + self._slack
        t = self.line(np.broadcast_to(self.t, (len(place.knot), len(self.t))), place)
        width = self.line(self.metrics["bandwidth"], place)
        return np.where(unreached, np.inf, t), np.where(unreached, np.inf, width)

    def potential_crps(self, *, convex: bool) -> Array:
        """Return the minimum of alpha * bandwidth + deficit, integrated over alpha from 0 to 1."""
        x, y = self.metrics["bandwidth"], self.metrics["deficit"]
        if convex:
            return _under_hull(x, y)
        found = np.empty(len(x))
        for i in range(len(x)):
            corners = _hull_corners(x[i], y[i])
            found[i] = _under_hull(x[i : i + 1, corners], y[i : i + 1, corners])[0]
        return found

    def _ends(self, axes: Axes, span: Range | None) -> tuple[Places, Places]:
        """Return where the part of each curve begins and ends; without a range, the curve."""
        if span is not None:
            return self.reaching(span[1]), self.reaching(span[0])
        count = len(self.metrics[axes[0]])
        end = np.full(count, len(self.t) - 1)
        if not FALLING.intersection(axes):  # else nothing changes after a curve's last row is covered
            missed = self.metrics["miss_rate"]
            end = np.argmax(missed <= missed[:, -1:] + self._slack, axis=1)
        return Places(np.zeros(count, np.intp), np.zeros(count)), Places(end, np.zeros(count))

    def _running(self, axes: Axes) -> Array:
        """Integral of y dx from the first knot to each."""
        x, y = (self.metrics[name] for name in axes)
        running = np.zeros(x.shape)
        if "miss_rate" not in axes or axes[0] == axes[1]:
            cells = (x[:, 1:] - x[:, :-1]) * (y[:, 1:] + y[:, :-1]) / 2
        elif axes[1] == "miss_rate":
            cells = (x[:, 1:] - x[:, :-1]) * self.between
        else:
            cells = (self.between - x[:, :-1]) * y[:, :-1] + (x[:, 1:] - self.between) * y[:, 1:]
        np.cumsum(cells, axis=1, out=running[:, 1:])
        return running

    def _until(self, running: Array, axes: Axes, place: Places) -> Array:
        """Integral of y dx from the first knot to a place."""
        whole = _at(running, place.knot)
        if not place.share.any():
            return whole
        steps = [self._step(name, place) for name in axes]
        return whole + steps[0] * (_at(self.metrics[axes[1]], place.knot) + steps[1] / 2)

    def _step(self, name: Metric, place: Places) -> Array:
        """By how much a metric changes from the knot before a place to the place."""
        here = _at(self.metrics[name], place.knot)
        if name != "miss_rate":
            return self.line(self.metrics[name], place) - here
        fall = here - _at(self.between, np.minimum(place.knot, len(self.t) - 2))
        return -2 * place.share * fall  # no fall before the next knot where every vertex is one


def _at(values: Array, knot: Indices) -> Array:
    """Return values at one knot of each curve."""
    return np.asarray(values[np.arange(len(values)), knot])


def _under_hull(x: Array, y: Array) -> Array:
    """Integral over alpha of the minimum of alpha * x + y over the corners of each convex curve."""
    low, steps = np.zeros(x.shape), x[:, 1:] - x[:, :-1]
    np.divide(y[:, :-1] - y[:, 1:], steps, out=low[:, :-1], where=steps > 0)
    np.clip(low, 0, 1, out=low)
    high = np.concatenate([np.ones((len(x), 1)), low[:, :-1]], axis=1)
    return np.asarray(np.sum((high - low) * (y + x * (high + low) / 2), axis=1))
