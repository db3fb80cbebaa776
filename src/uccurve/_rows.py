"""Rows: errors and bands of the rows that carry weight, as every path needs them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ._arrays import Flags, Indices, blocks, equal_weights
from ._vocabulary import Array, Side
from .intervals import Intervals

Part = slice | Indices
ALL = slice(None)
LARGEST_WEIGHT = (
    60  # power of two beyond which weights are brought to 1, so that no product leaves float64
)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Errors and bands, flattened.

    `active` is the band on the side of the error, `above` whether `y_true` is not below `y_pred` (None: both bands are
    one array).
    """

    error: Array
    active: Array
    lower_band: Array
    upper_band: Array
    above: Flags | None = None
    weight: Array | None = None
    side: Side = "both"

    def __len__(self) -> int:
        return len(self.error)

    @property
    def symmetric(self) -> bool:
        """Whether both bands are one array."""
        return self.above is None

    @property
    def other(self) -> Array:
        """The band on the side away from the error."""
        if self.above is None:
            return self.active
        return select(self.above, self.lower_band, self.upper_band)

    @property
    def half_widths(self) -> Array:
        """Half-width of each row as delivered."""
        if self.symmetric:
            return self.active
        return self.lower_band / 2 + self.upper_band / 2

    @property
    def total(self) -> float:
        """Sum of the weights as given; the number of rows without any."""
        return float(len(self)) if self.weight is None else float(self.weight.sum())

    @property
    def equally_weighted(self) -> bool:
        """Whether every row counts the same."""
        return equal_weights(self.weight)

    @property
    def mean_half_width(self) -> float:
        """Mean half-width as delivered."""
        lower = self.mean(self.lower_band)
        if self.symmetric:
            return lower
        return lower / 2 + self.mean(self.upper_band) / 2

    def mean(self, values: Array | Flags) -> float:
        """Weighted mean over the rows."""
        return float(np.average(values, weights=self.weight))

    def weighted(self, values: Array, part: Part = ALL) -> Array:
        """Values times the weights as given; the values themselves without weights."""
        return values if self.weight is None else values * self.weight[part]

    def subset(self, rows: Part) -> Self:
        """Some of the rows."""
        return replace(
            self,
            error=self.error[rows],
            active=self.active[rows],
            lower_band=self.lower_band[rows],
            upper_band=self.upper_band[rows],
            above=None if self.above is None else self.above[rows],
            weight=None if self.weight is None else self.weight[rows],
        )

    def in_bands_of_one(self) -> Self:
        """Return the same errors in bands of 1: the reference."""
        one = np.broadcast_to(1.0, self.error.shape)
        return replace(self, active=one, lower_band=one, upper_band=one, above=None)


class Source:
    """Columns of intervals, flattened and without the rows of no weight."""

    def __init__(self, intervals: Intervals) -> None:
        self._intervals = intervals
        weight = intervals._weight
        self._weight = None if weight is None else weight.ravel()
        every_row = self._weight is None or self._weight.all()
        self._kept: Part = ALL if every_row else np.flatnonzero(self._weight)

    def rows(self) -> Rows:
        """Errors and bands as delivered."""
        error = (self._intervals.y_true - self._intervals.y_pred).ravel()[self._kept]
        lower = self._column("lower_band")
        if self._intervals.symmetric:
            np.abs(error, out=error)
            return Rows(error, lower, lower, lower, None, self._weights())
        upper = self._column("upper_band")
        above = error >= 0
        np.abs(error, out=error)
        active = select(above, upper, lower)
        return Rows(error, active, lower, upper, above, self._weights())

    def critical(
        self, rows: Rows, critical_t: Callable[[Array, Array], Array], delivered: float
    ) -> Array:
        """Critical t of each row; the bounds decide where rounding made an error equal to its band."""
        critical = critical_t(rows.error, rows.active)
        equal = np.flatnonzero(critical == delivered)
        if len(equal):
            y, low, high = (self._column(name)[equal] for name in ("y_true", "lower", "upper"))
            missed = (y < low) | (y > high)
            critical[equal[missed]] = np.nextafter(delivered, np.inf)
        return critical

    def _column(self, name: str) -> Array:
        column: Array = getattr(self._intervals, name)
        return column.ravel()[self._kept]

    def _weights(self) -> Array | None:
        """Weights of these rows, near 1 where products with those given could leave float64."""
        if self._weight is None:
            return None
        weight = self._weight[self._kept]
        exponent = int(np.frexp(weight.max())[1])
        return weight if abs(exponent) <= LARGEST_WEIGHT else np.ldexp(weight, -exponent)


def select(which: Flags, yes: Array, no: Array) -> Array:
    """Return ``np.where(which, yes, no)`` of finite values, in half the time where `which` is random."""
    out = np.empty(len(which))
    for part in blocks(len(out)):
        np.multiply(which[part], yes[part], out=out[part])
        out[part] += ~which[part] * no[part]
    return out
