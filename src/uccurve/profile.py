"""Profile: the scale or shift at which each row is just covered, and the five metrics at any of them.

Rows are counted by the rank of their critical scale; ``error <= scale * band`` is never tested, because rounding
loses the row that defines the scale.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ._arrays import Flags
from ._checks import Array, Metric, Vary
from .intervals import Intervals

Indices = npt.NDArray[np.intp]
BLOCK = 1 << 16


def blocks(length: int, size: int = BLOCK) -> Iterator[slice]:
    """Slices that cover `length` items, each small enough for its temporaries to stay in the cache."""
    return (slice(start, min(start + size, length)) for start in range(0, length, size))


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """What the curve needs of each row that carries weight.

    ``t`` is the scale or the shift; `active` is the band on the side of the error. Errors and bands (and shifts) are in
    units of `size`, a power of two that is 1 except for data near the ends of float64.
    """

    vary: Vary
    error: Array
    active: Array
    lower_band: Array
    upper_band: Array
    above: Flags | None
    weight: Array | None
    critical: Array
    start: float
    size: float
    largest: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "largest", float(self.critical.max()))

    @classmethod
    def of(cls, intervals: Intervals, vary: Vary, *, checked: bool = True) -> Profile:
        """Errors, bands and critical t of the rows that carry weight. O(n), no sort.

        Not `checked`, it serves sums of rows that are not near the ends of float64: nothing may be counted by it.
        """
        error, above, lower_band, upper_band = intervals.sides()
        weight = None if intervals._weight is None else intervals._weight.ravel()
        rows = None
        if weight is not None and not weight.all():
            rows = np.flatnonzero(weight)
            error, weight, lower_band, upper_band = error[rows], weight[rows], lower_band[rows], upper_band[rows]
            above = above if above is None else above[rows]
        active = lower_band if above is None else _chosen(above, upper_band, lower_band)
        critical = _critical(error, active, vary)
        size = 1.0
        if checked:
            _settle(critical, intervals, vary, rows)
            size = _size(error, lower_band, upper_band)
        if size != 1:
            error, active, lower_band, upper_band = error / size, active / size, lower_band / size, upper_band / size
            critical = critical / size if vary == "shift" else critical
        start = 0.0
        if vary == "shift":
            start -= float(max(lower_band.max(), upper_band.max()))
            critical[error == 0] = start  # a band of 0 still holds its own prediction
        return cls(vary, error, active, lower_band, upper_band, above, weight, critical, start, size)

    @property
    def other(self) -> Array:
        """The band on the side away from the error."""
        return self.active if self.above is None else _chosen(self.above, self.lower_band, self.upper_band)

    @property
    def half_width(self) -> float:
        """Mean of the two bands."""
        lower = self.mean(self.lower_band)
        return lower if self.above is None else lower / 2 + self.mean(self.upper_band) / 2

    @property
    def end(self) -> float:
        """Last finite critical t, where the curve ends."""
        if not self.endless:
            return self.largest
        return float(self.critical.max(initial=self.start, where=np.isfinite(self.critical)))

    @property
    def endless(self) -> bool:
        """Whether no t covers all rows: an error above 0 on a side whose band is 0."""
        return bool(np.isinf(self.largest))

    def folding(self) -> tuple[Indices, Array, Array]:
        """Rows whose other bound becomes the nearer one on the curve, the t from which it is, and active - other."""
        if self.above is None:
            return np.empty(0, np.intp), np.empty(0), np.empty(0)
        length, limit = len(self.error), np.inf if self.endless else self.largest
        rows, position, gap, count = np.empty(length, np.intp), np.empty(length), np.empty(length), 0
        for block in blocks(length):
            found, *where = self._folding(self.above[block], block, limit)
            here = slice(count, count := count + len(found))
            np.add(found, block.start, out=rows[here])
            for values, out in zip(where, (position, gap), strict=True):
                values.take(found, out=out[here], mode="clip")  # other modes would write to a copy first
        return rows[:count], position[:count], gap[:count]

    def _folding(self, above: Flags, block: slice, limit: float) -> tuple[Indices, Array, Array]:
        """Places in a block of the rows that fold; for all its rows where they would, and active - other."""
        gap, position = self.upper_band[block] - self.lower_band[block], 2 * self.error[block]
        gap *= 2.0 * above - 1
        if self.vary == "shift":
            folds = gap > position
            position -= self.active[block]
        else:
            folds = gap > 0
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                position /= gap
        folds &= position < limit
        return np.flatnonzero(folds), position, gap

    @property
    def total(self) -> float:
        """Sum of the weights as given; the number of rows without any."""
        return float(len(self.error)) if self.weight is None else float(self.weight.sum())

    def mean(self, values: Array) -> float:
        """Weighted mean over the rows."""
        if self.weight is None:
            return float(np.mean(values))
        return float(np.sum(values * self.weight) / np.sum(self.weight))

    def _bands(self, t: float) -> tuple[Array, Array]:
        """Return the active and the other bands at t."""
        bands = (self.active,) if self.above is None else (self.active, self.other)
        moved = [t * band if self.vary == "scale" else np.maximum(band + t, 0) for band in bands]
        return moved[0], moved[-1]

    def at(self, t: float) -> dict[Metric, float]:
        """All metrics at one t, by their definitions. O(n), no sort."""
        with np.errstate(over="ignore"):
            active, other = self._bands(t)
        covered = self.critical <= max(t, self.start)
        over, under = np.maximum(active - self.error, 0), np.maximum(self.error - active, 0)
        return {
            "bandwidth": self.mean(active / 2 + other / 2),
            "miss_rate": self.mean((~covered).astype(np.float64)),
            "excess": self.mean(np.where(covered, np.minimum(over, other + self.error), 0)),
            "deficit": self.mean(np.where(covered, 0, under)),
            "overshoot": self.mean(np.where(covered, over, 0)),
        }


def _chosen(which: Flags, yes: Array, no: Array) -> Array:
    """Return ``np.where(which, yes, no)`` of finite values that are not negative, fast where `which` is random."""
    out = np.empty(len(which))
    for block in blocks(len(out)):
        np.multiply(which[block], yes[block], out=out[block])
        out[block] += ~which[block] * no[block]
    return out


def _critical(error: Array, active: Array, vary: Vary) -> Array:
    if vary == "shift":
        return error - active
    critical = np.empty(len(error))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for block in blocks(len(error)):
            np.divide(error[block], active[block], out=critical[block])
            if active[block].min() == 0:
                critical[block][(active[block] == 0) & (error[block] == 0)] = 0.0
    return critical


def _settle(critical: Array, intervals: Intervals, vary: Vary, rows: Indices | None) -> None:
    """Let the bounds decide where rounding made an error equal to its band."""
    delivered = 1.0 if vary == "scale" else 0.0
    equal = np.flatnonzero(critical == delivered)
    if not len(equal):
        return
    places = equal if rows is None else rows[equal]
    y, lower, upper = (array.ravel()[places] for array in (intervals.y_true, intervals.lower, intervals.upper))
    critical[equal[(y < lower) | (y > upper)]] = np.nextafter(delivered, np.inf)


def _size(*arrays: Array) -> float:
    """Return a power of two that brings values near the ends of float64 to where their squares fit, else 1."""
    largest = max(float(array.max()) for array in {id(array): array for array in arrays}.values())
    exponent = int(np.frexp(largest)[1])
    if exponent > 500:
        return float(np.ldexp(1.0, exponent - 500))
    return float(np.ldexp(1.0, exponent)) if largest and exponent < -400 else 1.0
