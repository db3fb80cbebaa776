"""Binned: the metrics of a sketch at any scale, each as a bracket.

Beside the metrics there is the `fold`: what excess lacks of overshoot because the other bound is the nearer one. It is
a sum of ramps as overshoot is, so every area of excess is one of overshoot less one of the fold. Its gaps between the
bands are differences of rounded numbers, and may even vanish in them; but they are off by less than the row's active
band may be, for which overshoot allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from uccurve._checks import Array, Metric

from ._bins import NEVER, Histogram
from ._brackets import NOTHING, Bracket, Masses, around, bracket, near

Part = Metric | Literal["fold"]
ULP = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Binned:
    """Weights and active bands at the critical scales, and gaps between the bands at the second bends.

    Sums are over all rows; metrics are divided by `total`.
    """

    total: float
    half_width: Bracket
    weight: Masses
    active: Masses
    fold: Masses
    never_weight: Bracket
    never_error: Bracket

    @classmethod
    def of(cls, critical: Histogram, folds: Histogram, *, weighted: bool) -> Binned:
        """Metrics of the rows of a sketch."""
        off = critical.rounding * (1 + weighted)
        finite = critical.without(NEVER)
        total = critical.total("weight")
        return cls(
            total,
            _off(critical.total("width"), off).over(2 * total),
            _masses(finite, ("weight", "scale", None), off, exact=not weighted),
            _masses(finite, ("active", "error", "product"), off),
            _gaps(folds.without(NEVER), folds.rounding * (1 + weighted)),
            _off(critical.total("weight", NEVER), off * weighted),
            _off(critical.total("error", NEVER), off),
        )

    @classmethod
    def constant(cls, errors: Histogram, *, weighted: bool) -> Binned:
        """Metrics of the reference: the same errors, and bands of 1 on both sides."""
        off, total = errors.rounding * (1 + weighted), errors.total("weight")
        masses = _masses(errors, ("weight", "error", "product"), off, exact=not weighted)
        none = Masses(NOTHING, NOTHING, *[Bracket(NOTHING, NOTHING)] * 3)
        return cls(total, bracket(1.0), masses, masses, none, bracket(0.0), bracket(0.0))

    @property
    def end(self) -> float:
        """Last finite critical scale, where the curve ends."""
        return float(self.active.greatest.max(initial=0.0))

    @property
    def endless(self) -> bool:
        """Whether no scale covers all rows."""
        return float(self.never_weight.high) > 0

    @property
    def slope(self) -> Bracket:
        """By how much overshoot less deficit grows with the scale: the mean active band."""
        return Bracket(self.active.mass.low.sum(), self.active.mass.high.sum()).over(self.total)

    def values(self, name: Part, t: Array) -> Bracket:
        """Metric at scales t; lower bounds may be negative by rounding."""
        if name in ("bandwidth", "miss_rate"):
            return self.rounded(name, t)
        if name == "excess":
            return self.values("overshoot", t) - self.values("fold", t)
        return near(lambda place: self.rounded(name, place), t, falling=name == "deficit")

    def rounded(self, name: Part, t: Array) -> Bracket:
        """Metric at scales t, for critical scales and second bends that are what they were rounded to."""
        if name == "bandwidth":
            return self.half_width * Bracket(t, t)
        if name == "miss_rate":
            return (self.weight.beyond(t) + self.never_weight).over(self.total)
        if name == "excess":
            return self.rounded("overshoot", t) - self.rounded("fold", t)
        if name == "deficit":
            return (self.active.falling(t) + self.never_error).over(self.total)
        return (self.fold if name == "fold" else self.active).rising(t).over(self.total)

    def value(self, name: Part, t: float) -> Bracket:
        """Metric at one scale."""
        found = self.values(name, np.array([t])).positive()
        return Bracket(found.low[0], found.high[0])

    def integral(self, name: Part, first: float, last: float) -> Bracket:
        """Integral of a metric over the scales from `first` to `last`."""
        t, start, stop = np.array([first, last]), around(first), around(last)
        if name == "bandwidth":
            return self.half_width * ((stop.squared() - start.squared()) * 0.5).positive()
        if name == "excess":
            return (self.integral("overshoot", first, last) - self.integral("fold", first, last)).positive()
        if name in ("miss_rate", "deficit"):
            missed = name == "miss_rate"
            ahead = near(self.weight.falling if missed else self.active.falling_integral, t, falling=True)
            never = (self.never_weight if missed else self.never_error) * (stop - start).positive()
            return (_step(ahead, 0, 1) + never).over(self.total).positive()
        behind = near((self.fold if name == "fold" else self.active).rising_integral, t)
        return _step(behind, 1, 0).over(self.total).positive()

    def drops(self, name: Part, first: float, last: float) -> Bracket:
        """Sum of weight times metric over the rows whose critical scale lies after `first`, up to `last`."""
        if name == "excess":
            return (self.drops("overshoot", first, last) - self.drops("fold", first, last)).positive()
        p, q = self.weight[:2]
        full = (p > first) & (q <= last)
        cut = ~full & (q > first) & (p <= last)
        sums = self.weight.sums(lambda t: self.values(name, t))
        most = self.weight.mass.high * self._most(name, np.maximum(p, first), np.minimum(q, last))
        found = Bracket(np.sum(sums.low[full]), np.sum(sums.high[full]) + np.sum(most[cut]))
        return found.over(self.total).positive()

    def level_drops(self, name: Part, low: float, high: float) -> Bracket:
        """Integral of a metric over miss rates: its value where each of them is reached first."""
        if name == "excess":
            return (self.level_drops("overshoot", low, high) - self.level_drops("fold", low, high)).positive()
        p, q = self.weight[:2]
        after = self.values("miss_rate", q)
        share = self.weight.mass.over(self.total)
        inside = np.clip(np.minimum(high, after.high + share.high) - np.maximum(low, after.low), 0, share.high)
        inside[q == 0] = 0
        full = (after.low >= low) & (after.high + share.high <= high) & (p > 0)
        sums = self.weight.sums(lambda t: self.values(name, t)).over(self.total)
        least = np.minimum(self.values(name, p).low, self.values(name, q).low)
        some = np.where(p > 0, inside - 8 * ULP - (share.high - share.low) - (after.high - after.low), 0)
        lows = np.where(full, sums.low, np.maximum(some, 0) * np.maximum(least, 0))
        highs = np.where(full, sums.high, (inside + 8 * ULP * (inside > 0)) * self._most(name, p, q))
        return Bracket(lows.sum(), highs.sum()).positive()

    def fold_integral(self, name: Literal["deficit", "overshoot"], first: float, last: float) -> Bracket:
        """Integral of a metric over the fold, from scale `first` to `last`."""

        def ahead(t: Array) -> Bracket:
            t, end = np.clip(t, first, last), np.full(len(t), last)
            if name == "overshoot":
                return near(self.active.rising_integral, end) - near(self.active.rising_integral, t)
            rest = near(self.active.falling_integral, t, falling=True)
            rest -= near(self.active.falling_integral, end, falling=True)
            return rest + self.never_error * (around(last) - around(t)).positive()

        p, q = self.fold[:2]
        if not len(p):
            return bracket(0.0)
        sums = self.fold.sums(ahead, convex=name == "deficit")
        cut = ((p < first) & (first < q)) | ((p < last) & (last < q) & (name == "overshoot"))
        crude = self.fold.mass * Bracket(ahead(q).low, ahead(p).high)
        low, high = np.where(cut, crude.low, sums.low), np.where(cut, crude.high, sums.high)
        low[p >= last] = high[p >= last] = 0
        return Bracket(low.sum(), high.sum()).over(self.total).over(self.total).positive()

    def carriers(self, name: Metric, share: float) -> Bracket:
        """Least number of rows that carry a share of the area between miss rate and another metric."""

        def grown(t: Array) -> Bracket:
            start = self.values(name, np.zeros(len(t)))
            ahead = self.values(name, t)
            return (start - ahead if name == "deficit" else ahead - start).positive()

        rows = self.weight.mass.low[::-1]
        each = Bracket(grown(self.weight.least).low[::-1], grown(self.weight.greatest).high[::-1])
        total = Bracket(np.sum(rows * each.low), np.sum(rows * each.high)) * share
        least, most = _count(rows, each.high, total.low), _count(rows, each.low, total.high)
        return Bracket(least if np.any(each.low > 0) else 0.0, most if np.any(each.high > 0) else 0.0)

    def _most(self, name: Part, first: Array, last: Array) -> Array:
        most: Array = np.maximum(self.values(name, first).high, self.values(name, last).high)
        return np.maximum(most, 0)

    @cached_property
    def vertices(self) -> Array:
        """Scales up to the end at which the bounds of some metric may bend, from 0."""
        every = around(np.concatenate([self.active.vertices, self.weight[0], self.weight[1], self.fold.vertices]))
        found = np.concatenate([[0.0, self.end], every.low, every.high])
        return np.unique(found[found <= self.end])


def _count(rows: Array, part: Array, need: float) -> float:
    """Rows to take, bin after bin, until their parts add up to what is needed; at least one and at most all."""
    if need <= 0:
        return 1.0
    before = np.append(0.0, np.cumsum(rows * part))
    i = int(np.searchsorted(before[1:], need))
    if i == len(rows):
        return float(rows.sum())
    return float(rows[:i].sum() + np.ceil((need - before[i]) / part[i]))


def _off(value: float, share: float) -> Bracket:
    return Bracket(value * (1 - share), value * (1 + share))


def _step(ends: Bracket, more: int, less: int) -> Bracket:
    return Bracket(ends.low[more] - ends.high[less], ends.high[more] - ends.low[less])


def _around(values: Array, slack: Array) -> Bracket:
    return Bracket(np.maximum(values - slack, 0), values + slack)


def _masses(found: Histogram, names: tuple[str, str, str | None], off: float, *, exact: bool = False) -> Masses:
    sums = [found.sums[name] if name else np.zeros(len(found.bin)) for name in names]
    slack = [values * (0 if exact and not i else off) for i, values in enumerate(sums)]
    return Masses(found.least, found.greatest, *map(_around, sums, slack))


def _gaps(folds: Histogram, off: float) -> Masses:
    """Masses of the fold: the active band less the other one, a difference of sums, so off by a share of these."""
    twice, width = 2 * folds.sums["active"], folds.sums["width"]
    moment, square = 2 * folds.sums["error"], 2 * folds.sums["product"]
    gap = _around(twice - width, off * (twice + width))
    return Masses(folds.least, folds.greatest, gap, _around(moment, off * moment), _around(square, off * square))
