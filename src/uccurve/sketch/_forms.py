"""Linear forms: what each row of a curve over the scale adds to a statistic and to its logarithm.

A row adds to a minimum over the scale what it costs at the common best scale (`compare._influence`). At a fixed scale t
that is linear in its half-width and in its own deficit ``max(0, error - t * active)``, so these forms hold for single
rows, where an engine evaluates them, and for sums over the rows of a block, which the bins of a sketch give where t is
the end of a bin. The same lines below serve both. The potential CRPS averages over many scales; `KNOTS` of them give
standard errors that differ by less than one percent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from uccurve._arrays import Indices
from uccurve._checks import Array

from ._binned import Binned
from ._bins import Histogram, sums_by
from ._rows import State

KNOTS = 5
"""Number of scales that stand for all of them in the potential CRPS."""


class Numbers(Protocol):
    """Columns of rows, or their sums over the rows of each block; anything with arithmetic."""

    one: Any
    half_width: Any
    error: Any
    critical: Any
    product: Any
    """Error times critical scale."""
    square: Any
    """Square of the error."""

    def deficits(self, mix: Mix) -> Any:
        """Sum of shares of the deficit at some scales."""

    def flat_deficits(self, mix: Mix) -> Any:
        """The same in constant bands of these half-widths."""

    def covered(self, t: float) -> Any:
        """Whether scale t covers the row."""


class Mix(NamedTuple):
    """Shares of the deficit at some scales, and of the half-width, that make up a score."""

    width: float
    scales: Sequence[float]
    shares: Sequence[float]


class Form(NamedTuple):
    """What the rows add to the logarithm of a statistic, and the mean of that; their difference is the influence."""

    value: Any
    mean: float


@dataclass(frozen=True)
class Forms:
    """Forms of one model at the scales that its bins know."""

    state: State
    binned: Binned
    constant: Binned
    alpha: float
    target: float
    """End of the bin that holds the scale for the coverage."""
    growth: float
    """Relative growth of that scale with the coverage; nan where there is no such scale."""

    @cached_property
    def _score(self) -> Mix:
        ends, width = _ends(self.binned), 2 * self.binned.half_width
        scores = width * ends + 2 / self.alpha * self.binned.values("deficit", ends, rounded=True).middles
        best = float(ends[np.argmin(scores)])
        return Mix(2 * best, [best], [2 / self.alpha])

    @cached_property
    def _crps(self) -> Mix:
        return _average(self.binned)

    @cached_property
    def _flat(self) -> Mix:
        return _average(self.constant)

    @property
    def _symmetric(self) -> bool:
        """Whether all bands are symmetric, up to rounding."""
        return self.state.crossover.total("gap") <= 1e-9 * self.state.critical.total("width")

    def _scores(self, x: Numbers) -> tuple[Any, Any, Any]:
        """Interval score at the best scale, potential CRPS, and that of a constant band around the same predictions."""
        own = (x.half_width * mix.width + x.deficits(mix) for mix in (self._score, self._crps))
        return *own, x.flat_deficits(self._flat) + x.one * self._flat.width

    def logarithms(self, x: Numbers) -> dict[str, Form]:
        """What the rows add to the logarithm of each statistic that has one."""
        mean, found = self.means, dict[str, Form]()
        if mean.error == 0:
            return found
        score, crps, flat = (value / size for value, size in zip(self._scores(x), mean[-3:], strict=True))
        found |= {"score": Form(score, 1), "crps": Form(crps, 1), "skill": Form(crps - flat, 0)}
        if mean.half_width == 0:
            return found
        width = x.half_width / mean.half_width
        if np.isfinite(self.growth):
            found["half_width"] = Form(width - x.covered(self.target) * self.growth, 1 - mean.covered * self.growth)
        return found if self.binned.has_uncoverable_rows else found | self._closed_areas(x, width)

    def shares(self, x: Numbers) -> dict[str, Form]:
        """What the rows add to the coverage as delivered and at the target."""
        mean = self.means
        return {"covered": Form(x.covered(1.0), mean.delivered), "reached": Form(x.covered(self.target), mean.covered)}

    def _closed_areas(self, x: Numbers, width: Any) -> dict[str, Form]:
        """Areas that are products of means, and their gains over the constant band."""
        mean = self.means
        steps, lines = width + x.critical / mean.critical, width + x.product / mean.product
        found = {
            "area_bandwidth_miss_rate": Form(steps, 2),
            "area_bandwidth_deficit": Form(lines, 2),
            "gain_bandwidth_miss_rate": Form(steps - x.error / mean.error, 1),
            "gain_bandwidth_deficit": Form(lines - x.square / mean.square, 1),
        }
        # Where bands are symmetric excess is overshoot, and the area (a q - r^2) / 2 of the means a, q and r.
        own, constant = mean.half_width * mean.product - mean.error**2, mean.square - mean.error**2
        if not self._symmetric or min(own, constant) <= 1e-12 * mean.error**2:
            return found
        cross = x.error * (2 * mean.error)
        area = (x.half_width * mean.product + x.product * mean.half_width - cross) / own
        gain = area - (x.square - cross) / constant
        return found | {"area_excess_deficit": Form(area, 2), "gain_excess_deficit": Form(gain, mean.square / constant)}

    @cached_property
    def means(self) -> Means:
        """Means over all rows."""
        x = BlockSums([self.state])
        one = float(x.one[0])
        numbers = x.half_width, x.error, x.critical, x.product, x.square, x.covered(self.target), x.covered(1.0)
        return Means(*(float(values[0]) / one for values in (*numbers, *self._scores(x))))


class Means(NamedTuple):
    """Means of the numbers and forms of one model."""

    half_width: float
    error: float
    critical: float
    product: float
    square: float
    covered: float
    delivered: float
    score: float
    crps: float
    flat: float


class BlockSums:
    """Sums of the numbers over the rows of each of several sketches."""

    def __init__(self, states: Sequence[State]) -> None:
        self._count = len(states)
        self._critical = _Joined.of([state.critical for state in states])
        self._errors = _Joined.of([state.errors for state in states])
        self.one = self._sum(self._critical, "weight")
        self.half_width = self._sum(self._critical, "width") / 2
        self.error = self._sum(self._critical, "error")
        self.critical = self._sum(self._critical, "scale")
        self.product = self._sum(self._critical, "product")
        self.square = self._sum(self._errors, "product")

    def _sum(self, found: _Joined, name: str) -> Array:
        return sums_by(found.block, found.sums[name], self._count)

    def deficits(self, mix: Mix) -> Array:
        """Shares of the deficit at ends of bins."""
        return self._deficits(self._critical, "active", mix)

    def flat_deficits(self, mix: Mix) -> Array:
        """Shares of the deficit in constant bands that are ends of bins."""
        return self._deficits(self._errors, "weight", mix)

    def _deficits(self, found: _Joined, name: str, mix: Mix) -> Array:
        deficits = np.zeros(len(found.block))
        for t, share in zip(mix.scales, mix.shares, strict=True):
            deficits += (found.minimum > t) * share * (found.sums["error"] - t * found.sums[name])
        return sums_by(found.block, deficits, self._count)

    def covered(self, t: float) -> Array:
        """Weight of the covered rows at the end of a bin."""
        found = self._critical
        return sums_by(found.block, found.sums["weight"] * (found.maximum <= t), self._count)


class _Joined(NamedTuple):
    """Bins of several histograms, and which one each comes from."""

    block: Indices
    minimum: Array
    maximum: Array
    sums: Mapping[str, Array]

    @classmethod
    def of(cls, parts: Sequence[Histogram]) -> _Joined:
        block = np.repeat(np.arange(len(parts)), [len(part.bin) for part in parts])
        minimum, maximum = (np.concatenate([getattr(part, end) for part in parts]) for end in ("minimum", "maximum"))
        sums = {name: np.concatenate([part.sums[name] for part in parts]) for name in parts[0].sums}
        return cls(block, minimum, maximum, sums)


def _average(binned: Binned) -> Mix:
    """Potential CRPS: the shares of alpha for which each scale is the best, gathered at a few ends of bins."""
    half_width = binned.half_width
    if half_width == 0:
        return Mix(0.0, [0.0], [1.0])
    beyond = np.append(1.0, np.minimum(binned.active.remaining / (half_width * binned.total), 1.0))
    shares, squares = beyond[:-1] - beyond[1:], (beyond[:-1] ** 2 - beyond[1:] ** 2) / 2
    scales = np.append(0.0, binned.active.mean)
    size = np.cumsum(shares * np.sqrt(scales))
    group = np.minimum(np.floor((size - shares * np.sqrt(scales) / 2) / (size[-1] or 1.0) * KNOTS), KNOTS - 1)
    group = np.arange(len(scales)) if len(scales) <= KNOTS else group.astype(np.intp)
    masses, moments = sums_by(group, shares), sums_by(group, shares * scales)
    used, ends = masses > 0, _ends(binned)
    places = moments[used] / masses[used]
    nearest = ends[np.abs(places[:, None] - ends).argmin(axis=1)]
    return Mix(float(np.sum(scales * squares)), nearest.tolist(), masses[used].tolist())


def _ends(binned: Binned) -> Array:
    """Scales at which everything is known."""
    return np.append(0.0, binned.active.maximum)


def _middle(found: Any) -> Array:
    return np.asarray((found.low + found.high) / 2)
