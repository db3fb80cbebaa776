"""Binned: the metrics of a sketch at any scale, each as a bracket.

Where the active band is the wider one there is a crossover: the scale from which the other bound is the nearer one.
Overshoot minus excess, called the `surplus`, is a sum of ramps that begin there, as overshoot is one of ramps that
begin at the critical scales; so every area of excess is one of overshoot minus one of the surplus. The gap between a
row's bands is a difference of rounded numbers and may vanish in their rounding, but its error is smaller than that of
the active band, which the bracket of overshoot allows for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from uccurve._checks import Array, Metric

from ._bins import Histogram
from ._brackets import NOTHING, Bracket, Masses, around, bracket, near

Term = Metric | Literal["surplus"]
ULP = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Binned:
    """Weights and active bands at the critical scales, and gaps between the bands at the crossovers.

    Sums are over all rows; metrics are divided by `total`.
    """

    total: float
    half_width: Bracket
    weight: Masses
    active: Masses
    gap: Masses
    uncoverable_weight: Bracket
    uncoverable_error: Bracket

    @classmethod
    def of(cls, critical: Histogram, crossover: Histogram, *, weighted: bool) -> Binned:
        """Metrics of the rows of a sketch."""
        rounding = critical.rounding * (1 + weighted)
        finite, uncoverable = critical.where(~critical.infinite), critical.where(critical.infinite)
        total = critical.total("weight")
        return cls(
            total,
            _within(critical.total("width"), rounding).over(2 * total),
            _masses(finite, ("weight", "scale", None), rounding, exact=not weighted),
            _masses(finite, ("active", "error", "product"), rounding),
            _gaps(crossover, crossover.rounding * (1 + weighted)),
            _within(uncoverable.total("weight"), rounding * weighted),
            _within(uncoverable.total("error"), rounding),
        )

    @classmethod
    def constant(cls, errors: Histogram, *, weighted: bool) -> Binned:
        """Metrics of the reference: the same errors with bands of 1 on both sides."""
        rounding, total = errors.rounding * (1 + weighted), errors.total("weight")
        masses = _masses(errors, ("weight", "error", "product"), rounding, exact=not weighted)
        none = Masses(NOTHING, NOTHING, *[Bracket(NOTHING, NOTHING)] * 3)
        return cls(total, bracket(1.0), masses, masses, none, bracket(0.0), bracket(0.0))

    @property
    def end(self) -> float:
        """Last finite critical scale, where the curve ends."""
        return float(self.active.maximum.max(initial=0.0))

    @property
    def has_uncoverable_rows(self) -> bool:
        """Whether an error lies on the side of a zero band, so that no scale covers its row."""
        return float(self.uncoverable_weight.high) > 0

    @property
    def slope(self) -> Bracket:
        """Growth of overshoot minus deficit with the scale: the mean active band."""
        return Bracket(self.active.mass.low.sum(), self.active.mass.high.sum()).over(self.total)

    def values(self, name: Term, t: Array) -> Bracket:
        """Metric at scales t; lower bounds may be negative by rounding."""
        if name in ("bandwidth", "miss_rate"):
            return self.rounded(name, t)
        if name == "excess":
            return self.values("overshoot", t) - self.values("surplus", t)
        return near(lambda place: self.rounded(name, place), t, falling=name == "deficit")

    def rounded(self, name: Term, t: Array) -> Bracket:
        """Metric at scales t, with critical scales and crossovers as they were rounded."""
        if name == "bandwidth":
            return self.half_width * Bracket(t, t)
        if name == "miss_rate":
            return (self.weight.beyond(t) + self.uncoverable_weight).over(self.total)
        if name == "excess":
            return self.rounded("overshoot", t) - self.rounded("surplus", t)
        if name == "deficit":
            return (self.active.falling(t) + self.uncoverable_error).over(self.total)
        return {"surplus": self.gap, "overshoot": self.active}[name].rising(t).over(self.total)

    def value(self, name: Term, t: float) -> Bracket:
        """Metric at one scale."""
        found = self.values(name, np.array([t])).positive()
        return Bracket(found.low[0], found.high[0])

    def integral(self, name: Term, first: float, last: float) -> Bracket:
        """Integral of a metric over the scales from `first` to `last`."""
        t, start, stop = np.array([first, last]), around(first), around(last)
        if name == "bandwidth":
            return self.half_width * ((stop.squared() - start.squared()) * 0.5).positive()
        if name == "excess":
            return (self.integral("overshoot", first, last) - self.integral("surplus", first, last)).positive()
        if name in ("miss_rate", "deficit"):
            missed = name == "miss_rate"
            ahead = near(self.weight.falling if missed else self.active.falling_integral, t, falling=True)
            uncoverable = (self.uncoverable_weight if missed else self.uncoverable_error) * (stop - start).positive()
            return (_step(ahead, 0, 1) + uncoverable).over(self.total).positive()
        behind = near({"surplus": self.gap, "overshoot": self.active}[name].rising_integral, t)
        return _step(behind, 1, 0).over(self.total).positive()

    def drops(self, name: Term, first: float, last: float) -> Bracket:
        """Sum of weight times metric over the rows whose critical scale lies after `first`, up to `last`."""
        if name == "excess":
            return (self.drops("overshoot", first, last) - self.drops("surplus", first, last)).positive()
        p, q = self.weight[:2]
        full = (p > first) & (q <= last)
        cut = ~full & (q > first) & (p <= last)
        sums = self.weight.sums(lambda t: self.values(name, t))
        upper = self.weight.mass.high * self._upper(name, np.maximum(p, first), np.minimum(q, last))
        found = Bracket(np.sum(sums.low[full]), np.sum(sums.high[full]) + np.sum(upper[cut]))
        return found.over(self.total).positive()

    def level_drops(self, name: Term, low: float, high: float) -> Bracket:
        """Integral of a metric over miss rates: its value where each of them is reached first."""
        if name == "excess":
            return (self.level_drops("overshoot", low, high) - self.level_drops("surplus", low, high)).positive()
        p, q = self.weight[:2]
        after = self.values("miss_rate", q)
        share = self.weight.mass.over(self.total)
        inside = np.clip(np.minimum(high, after.high + share.high) - np.maximum(low, after.low), 0, share.high)
        inside[q == 0] = 0
        full = (after.low >= low) & (after.high + share.high <= high) & (p > 0)
        sums = self.weight.sums(lambda t: self.values(name, t)).over(self.total)
        lowest = np.minimum(self.values(name, p).low, self.values(name, q).low)
        some = np.where(p > 0, inside - 8 * ULP - (share.high - share.low) - (after.high - after.low), 0)
        lows = np.where(full, sums.low, np.maximum(some, 0) * np.maximum(lowest, 0))
        highs = np.where(full, sums.high, (inside + 8 * ULP * (inside > 0)) * self._upper(name, p, q))
        return Bracket(lows.sum(), highs.sum()).positive()

    def surplus_integral(self, name: Literal["deficit", "overshoot"], first: float, last: float) -> Bracket:
        """Integral of a metric over the surplus, from scale `first` to `last`."""

        def ahead(t: Array) -> Bracket:
            t, end = np.clip(t, first, last), np.full(len(t), last)
            if name == "overshoot":
                return near(self.active.rising_integral, end) - near(self.active.rising_integral, t)
            rest = near(self.active.falling_integral, t, falling=True)
            rest -= near(self.active.falling_integral, end, falling=True)
            return rest + self.uncoverable_error * (around(last) - around(t)).positive()

        p, q = self.gap[:2]
        if not len(p):
            return bracket(0.0)
        sums = self.gap.sums(ahead, convex=name == "deficit")
        cut = ((p < first) & (first < q)) | ((p < last) & (last < q) & (name == "overshoot"))
        crude = self.gap.mass * Bracket(ahead(q).low, ahead(p).high)
        low, high = np.where(cut, crude.low, sums.low), np.where(cut, crude.high, sums.high)
        low[p >= last] = high[p >= last] = 0
        return Bracket(low.sum(), high.sum()).over(self.total).over(self.total).positive()

    def concentration(self, name: Metric, share: float) -> Bracket:
        """Smallest number of rows that carry a share of the area between miss rate and another metric."""

        def grown(t: Array) -> Bracket:
            start = self.values(name, np.zeros(len(t)))
            ahead = self.values(name, t)
            return (start - ahead if name == "deficit" else ahead - start).positive()

        rows = self.weight.mass.low[::-1]
        each = Bracket(grown(self.weight.minimum).low[::-1], grown(self.weight.maximum).high[::-1])
        total = Bracket(np.sum(rows * each.low), np.sum(rows * each.high)) * share
        fewest, most = _count(rows, each.high, total.low), _count(rows, each.low, total.high)
        return Bracket(fewest if np.any(each.low > 0) else 0.0, most if np.any(each.high > 0) else 0.0)

    def _upper(self, name: Term, first: Array, last: Array) -> Array:
        """Upper bound of a metric between two scales."""
        upper: Array = np.maximum(self.values(name, first).high, self.values(name, last).high)
        return np.maximum(upper, 0)

    @cached_property
    def breakpoints(self) -> Array:
        """Breakpoints of the bounds of all metrics, from 0 to the end."""
        every = around(np.concatenate([self.active.breakpoints, self.weight[0], self.weight[1], self.gap.breakpoints]))
        found = np.concatenate([[0.0, self.end], every.low, every.high])
        return np.unique(found[found <= self.end])


def _count(rows: Array, part: Array, need: float) -> float:
    """Number of rows, bin after bin, whose parts add up to what is needed; from one to all."""
    if need <= 0:
        return 1.0
    before = np.append(0.0, np.cumsum(rows * part))
    i = int(np.searchsorted(before[1:], need))
    if i == len(rows):
        return float(rows.sum())
    return float(rows[:i].sum() + np.ceil((need - before[i]) / part[i]))


def _within(value: float, rounding: float) -> Bracket:
    return Bracket(value * (1 - rounding), value * (1 + rounding))


def _step(ends: Bracket, more: int, less: int) -> Bracket:
    return Bracket(ends.low[more] - ends.high[less], ends.high[more] - ends.low[less])


def _around(values: Array, slack: Array) -> Bracket:
    return Bracket(np.maximum(values - slack, 0), values + slack)


def _masses(found: Histogram, names: tuple[str, str, str | None], rounding: float, *, exact: bool = False) -> Masses:
    sums = [found.sums[name] if name else np.zeros(len(found.bin)) for name in names]
    slack = [values * (0 if exact and not i else rounding) for i, values in enumerate(sums)]
    return Masses(found.minimum, found.maximum, *map(_around, sums, slack))


def _gaps(found: Histogram, rounding: float) -> Masses:
    """Active minus other band at the crossovers: a difference of sums, off by a share of these."""
    twice, width = 2 * found.sums["active"], found.sums["width"]
    moment, square = 2 * found.sums["error"], 2 * found.sums["product"]
    gap = _around(twice - width, rounding * (twice + width))
    return Masses(
        found.minimum, found.maximum, gap, _around(moment, rounding * moment), _around(square, rounding * square)
    )
