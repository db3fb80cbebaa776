"""Brackets: pairs (low, high) that contain a value, and bracketed sums over binned rows.

The minimum, the maximum and the mean of the positions in a bin are known, and the bin's mass. Over the bin, the sum of
mass times ``g(position)`` with convex g is smallest where all mass is at the mean (Jensen) and largest where it is at
the two ends.

Positions are quotients of rounded differences, so each is off by a few units in its last place, and so is any place
derived from them. A bound for the exact positions is therefore evaluated `near` the place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from uccurve._checks import Array

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Bracket:
    """Bounds of one value, or of an array of them.

    >>> b = Bracket(1.0, 2.0)
    >>> (b - b).pair, (b * Bracket(-1.0, 3.0)).pair
    ((-1.0, 1.0), (-2.0, 6.0))
    """

    low: Any
    high: Any

    def __add__(self, other: Bracket | float) -> Bracket:
        other = bracket(other)
        return Bracket(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Bracket | float) -> Bracket:
        other = bracket(other)
        return Bracket(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Bracket | float) -> Bracket:
        other = bracket(other)
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Bracket(reduce(np.minimum, ends), reduce(np.maximum, ends))

    def over(self, other: Bracket | float) -> Bracket:
        """Divide a nonnegative value by a positive one."""
        other = bracket(other)
        return Bracket(self.low / other.high, self.high / other.low)

    def squared(self) -> Bracket:
        """Square of a nonnegative value."""
        return Bracket(self.low * self.low, self.high * self.high)

    def positive(self) -> Bracket:
        """The bracket of a value that cannot be negative."""
        return Bracket(np.maximum(self.low, 0.0), np.maximum(self.high, 0.0))

    @property
    def pair(self) -> tuple[float, float]:
        """Both ends as floats."""
        return float(self.low), float(self.high)

    @property
    def width(self) -> float:
        """Distance between the ends."""
        return float(self.high - self.low)

    @property
    def middle(self) -> float:
        """Midpoint: the answer as a single number."""
        low, high = self.pair
        return low if low == high else low + (high - low) / 2


def bracket(value: Bracket | float) -> Bracket:
    """The bracket of a known value."""
    return value if isinstance(value, Bracket) else Bracket(value, value)


def outward(found: Bracket, size: float = 0.0) -> Bracket:
    """Widen a bracket by the rounding of a few operations on numbers of at least `size`."""
    low, high = found.pair
    if low == high and not np.isfinite(low):
        return found
    room = [16 * float(np.finfo(np.float64).eps) * max(abs(end), size) for end in (low, high)]
    return Bracket(low - room[0] if np.isfinite(low) else low, high + room[1] if np.isfinite(high) else high)


def around(t: Any) -> Bracket:
    """All places that differ from t by the rounding of a position and of t itself."""
    rounding = 8 * float(np.finfo(np.float64).eps)
    return Bracket(t * (1 - rounding), np.minimum(t * (1 + rounding), LARGEST))


LARGEST = float(np.finfo(np.float64).max)
Function = Callable[[Array], Bracket]


def near(bounds: Function, t: Array, *, falling: bool = False) -> Bracket:
    """Bounds of a monotone function of t that are valid all around t, whatever the exact positions are."""
    ends = around(t)
    low, high = (ends.high, ends.low) if falling else (ends.low, ends.high)
    return Bracket(bounds(low).low, bounds(high).high)


class Masses(NamedTuple):
    """Binned masses at positions: each bin's extreme positions, its mass, and mass times position and its square.

    Bins ascend and do not overlap; the brackets of the sums allow for rounding. All methods take an array of places t.
    """

    minimum: Array
    maximum: Array
    mass: Bracket
    moment: Bracket
    square: Bracket

    @property
    def mean(self) -> Bracket:
        """Mean position in each bin."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ends = (self.moment.low / self.mass.high, self.moment.high / self.mass.low)
        low, high = (np.fmin(np.fmax(end, self.minimum), self.maximum) for end in ends)
        return Bracket(low, high)

    @property
    def remaining(self) -> Bracket:
        """Mass at or above each bin, and 0 above the last."""
        return _remaining(self.mass, np.arange(len(self.minimum) + 1))

    @property
    def at_maximum(self) -> Array:
        """Upper bound of each bin's mass at its maximum, where all of it is at the two extremes."""
        p, q = self.minimum, self.maximum
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (self.moment.high - p * self.mass.low) / (q - p)
        return np.where(q > p, np.clip(share, 0.0, self.mass.high), 0.0)

    @property
    def breakpoints(self) -> Array:
        """Breakpoints of the bounds of `rising` and `falling`."""
        return np.concatenate([self.minimum, self.mean.low, self.mean.high, self.maximum])

    def rising(self, t: Array) -> Bracket:
        """Sum of ``mass * max(0, t - position)``; the lower bound may be negative by rounding."""
        i = np.searchsorted(self.maximum, t, side="left")
        mass, moment = _running(self.mass, i), _running(self.moment, i)
        low, high = mass.low * t - moment.high, mass.high * t - moment.low
        at, (p, q, m, n, _) = self._cut(t, i)
        x = t[at]
        low[at] += np.maximum(m.low * x - n.high, 0)
        high[at] += (x - p) / (q - p) * (q * m.high - n.low)
        return Bracket(low, high)

    def falling(self, t: Array) -> Bracket:
        """Sum of ``mass * max(0, position - t)``; the lower bound may be negative by rounding."""
        i = np.searchsorted(self.minimum, t, side="right")
        mass, moment = _remaining(self.mass, i), _remaining(self.moment, i)
        low, high = moment.low - mass.high * t, moment.high - mass.low * t
        at, (p, q, m, n, _) = self._cut(t, i - 1)
        x = t[at]
        low[at] += np.maximum(n.low - m.high * x, 0)
        high[at] += (q - x) / (q - p) * (n.high - p * m.low)
        return Bracket(low, high)

    def rising_integral(self, t: Array) -> Bracket:
        """Integral of `rising` up to t: sum of ``mass * max(0, t - position)**2 / 2``."""
        i = np.searchsorted(self.maximum, t, side="left")
        low, high = _squares(t, *(_running(total, i) for total in self[2:]))
        at, (p, q, m, n, _) = self._cut(t, i)
        x = t[at]
        low[at] += _shared(m.low * x - n.high, m.high)
        high[at] += (x - p) ** 2 / (q - p) * (q * m.high - n.low)
        return Bracket(low / 2, high / 2).positive()

    def falling_integral(self, t: Array) -> Bracket:
        """Integral of `falling` from t on: sum of ``mass * max(0, position - t)**2 / 2``."""
        i = np.searchsorted(self.minimum, t, side="right")
        low, high = _squares(t, *(_remaining(total, i) for total in self[2:]))
        at, (p, q, m, n, _) = self._cut(t, i - 1)
        x = t[at]
        low[at] += _shared(n.low - m.high * x, m.high)
        high[at] += (q - x) ** 2 / (q - p) * (n.high - p * m.low)
        return Bracket(low / 2, high / 2).positive()

    def beyond(self, t: Array) -> Bracket:
        """Mass at positions above t; a bin's mean limits how much of it can lie on one side (Markov)."""
        i = np.searchsorted(self.minimum, t, side="right")
        mass = _remaining(self.mass, i)
        low, high = mass.low.copy(), mass.high.copy()
        at, (p, q, m, n, _) = self._cut(t, i - 1)
        x = t[at]
        with np.errstate(divide="ignore", invalid="ignore"):
            fewest, most = (n.low - x * m.high) / (q - x), (n.high - p * m.low) / (x - p)
        low[at] += np.where(x < q, np.clip(fewest, 0, m.low), 0)
        m = Bracket(m.low, np.where(x < q, m.high, 0))
        high[at] += np.fmin(np.maximum(most, 0), m.high)
        return Bracket(low, high)

    def sums(self, g: Function, *, convex: bool = True) -> Bracket:
        """Sum of ``mass * g(position)`` over each bin, for a monotone g that is convex or concave."""
        mean, (p, q) = self.mean, self[:2]
        inner = [g(mean.low), g(mean.high)]
        shares = [(end - p) / np.where(q > p, q - p, 1.0) for end in (mean.low, mean.high)]
        first, last = g(p), g(q)
        if convex:
            chords = [first.high + share * (last.high - first.high) for share in shares]
            values = Bracket(np.minimum(inner[0].low, inner[1].low), np.maximum(*chords))
        else:
            chords = [first.low + share * (last.low - first.low) for share in shares]
            values = Bracket(np.minimum(*chords), np.maximum(inner[0].high, inner[1].high))
        return self.mass * values

    def _cut(self, t: Array, i: Indices) -> tuple[Indices, tuple[Any, ...]]:
        """Indices of the t that split their bin, number i, and those bins."""
        if not len(self.minimum):
            return np.empty(0, np.intp), (NOTHING, NOTHING, *[Bracket(NOTHING, NOTHING)] * 3)
        j = np.clip(i, 0, len(self.minimum) - 1)
        p, q = self.minimum[j], self.maximum[j]
        at = np.flatnonzero((i == j) & (p <= t) & (t <= q) & (p < q))
        j = j[at]
        return at, (self.minimum[j], self.maximum[j], *(Bracket(total.low[j], total.high[j]) for total in self[2:]))


NOTHING = np.empty(0)


def _running(total: Bracket, i: Indices) -> Bracket:
    """Sums over the first i bins."""
    low, high = (np.append(0.0, np.cumsum(end)) for end in (total.low, total.high))
    return Bracket(low[i], high[i])


def _remaining(total: Bracket, i: Indices) -> Bracket:
    """Sums over all but the first i bins."""
    low, high = (np.append(np.cumsum(end[::-1])[::-1], 0.0) for end in (total.low, total.high))
    return Bracket(low[i], high[i])


def _squares(t: Array, mass: Bracket, moment: Bracket, square: Bracket) -> tuple[Array, Array]:
    """Sum of ``mass * (t - position)**2``."""
    low = mass.low * t**2 - 2 * t * moment.high + square.low
    return low, mass.high * t**2 - 2 * t * moment.low + square.high


def _shared(moment: Array, mass: Array) -> Array:
    """Smallest sum of squares with a given moment: all mass in one place."""
    return np.maximum(moment, 0) ** 2 / np.where(mass > 0, mass, 1.0)
