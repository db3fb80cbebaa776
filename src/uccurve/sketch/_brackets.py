"""Brackets: pairs (low, high) that contain a value, or arrays of such pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from uccurve._checks import Array

EPS = float(np.finfo(np.float64).eps)


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

    def positive(self) -> Bracket:
        """The bracket of a value that cannot be negative."""
        return Bracket(np.maximum(self.low, 0.0), np.maximum(self.high, 0.0))

    @property
    def pair(self) -> tuple[float, float]:
        """Both ends as floats."""
        return float(self.low), float(self.high)

    @property
    def width(self) -> Any:
        """Distance between the ends."""
        return self.high - self.low

    @property
    def middles(self) -> Array:
        """Midpoints of an array of brackets."""
        found: Array = np.where(self.low == self.high, self.low, self.low + (self.high - self.low) / 2)
        return found

    @property
    def middle(self) -> float:
        """Midpoint: the answer as a single number."""
        low, high = self.pair
        return low if low == high else low + (high - low) / 2


def bracket(value: Any) -> Bracket:
    """The bracket of a known value."""
    return value if isinstance(value, Bracket) else Bracket(value, value)


def outward(found: Bracket, size: float = 0.0) -> Bracket:
    """Widen a bracket by the rounding of a few operations on numbers of at least `size`."""
    low, high = found.pair
    if low == high and not np.isfinite(low):
        return found
    room = [16 * EPS * max(abs(end), size) for end in (low, high)]
    return Bracket(low - room[0] if np.isfinite(low) else low, high + room[1] if np.isfinite(high) else high)
