"""Rows: errors and bands of the rows that carry weight, as every path needs them."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from ._arrays import Flags, Indices, equal_weights, select
from ._vocabulary import Array, Side
from .intervals import Intervals

Part = slice | Indices
ALL = slice(None)
MEASURED = ("error", "active", "lower_band", "upper_band", "offset", "active_limit", "other_limit")
# Power of two beyond which weights are brought to 1, so that no product leaves float64.
LARGEST_WEIGHT = 60


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Errors and bands, flattened.

    `active` is the band on the side of the error, `above` whether `y_true` is not below `y_pred` (None: both bands are
    one array). Of a single bound, all bands are the one that is judged, and the error is 0 where the observation lies
    on the other side of the prediction; `offset` is how far it lies there, less the error. Where there is a support,
    bands end at `active_limit` and `other_limit`; of a single bound the latter is how far it may move past the
    prediction.
    """

    error: Array
    active: Array
    lower_band: Array
    upper_band: Array
    above: Flags | None = None
    weight: Array | None = None
    side: Side = "both"
    offset: Array | None = None
    active_limit: Array | None = None
    other_limit: Array | None = None

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
    def limited(self) -> bool:
        """Whether bands end where the support does."""
        return self.active_limit is not None

    @property
    def largest_excess(self) -> Array:
        """Largest distance to the nearer bound that the support leaves room for."""
        room = known(self.active_limit) - self.error
        if self.symmetric:
            return room
        return np.minimum(room, known(self.other_limit) + self.error)

    def within_limits(self, active: Array, other: Array, part: Part) -> tuple[Array, Array]:
        """Bands of some rows, which end where the support does."""
        if self.active_limit is None:
            return active, other
        limited = np.minimum(active, self.active_limit[part])
        if self.symmetric:
            return limited, limited
        return limited, np.minimum(other, known(self.other_limit)[part])

    def below_limits(self, active: Array, other: Array) -> tuple[Flags, Flags]:
        """Which bands have not reached the end of the support."""
        if self.active_limit is None:
            every = np.ones(len(self), np.bool_)
            return every, every
        first = active < self.active_limit
        second = first if self.symmetric else other < known(self.other_limit)
        return first, second

    @property
    def half_widths(self) -> Array:
        """Half-width of each row as delivered."""
        if self.limited:
            active = np.minimum(self.active, known(self.active_limit))
            if self.symmetric:
                return active
            other: Array = np.minimum(self.other, known(self.other_limit))
            return active / 2 + other / 2
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
        if self.limited:
            return self.mean(self.half_widths)
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
        chosen: dict[str, Any] = {}
        for column in fields(self):
            values = getattr(self, column.name)
            if isinstance(values, np.ndarray):
                chosen[column.name] = values[rows]
        return replace(self, **chosen)

    def divided_by(self, unit: Array | None) -> Self:
        """The same rows in other units."""
        if unit is None:
            return self
        quotients: dict[int, Array] = {}  # one array is divided once, so that equal bands stay one
        divided: dict[str, Any] = {}
        for name in MEASURED:
            column = getattr(self, name)
            if column is not None:
                if id(column) not in quotients:
                    quotients[id(column)] = column / unit
                divided[name] = quotients[id(column)]
        return replace(self, **divided)

    def in_bands_of_one(self) -> Self:
        """Return the same errors in bands of 1: the reference."""
        unit_band = np.broadcast_to(1.0, self.error.shape)
        above = self.above if self.limited else None
        return replace(
            self, active=unit_band, lower_band=unit_band, upper_band=unit_band, above=above
        )


def known(column: Array | None) -> Array:
    """Return a column that the rows at hand have, as whoever asks has made sure."""
    if column is None:
        raise TypeError("these rows have no such column")
    return column


class Flattened:
    """Columns of intervals, flattened and without the rows of no weight."""

    def __init__(self, intervals: Intervals) -> None:
        self._intervals = intervals
        weight = intervals._weight
        self._weight = None if weight is None else weight.ravel()
        self._kept: Part = ALL
        if self._weight is not None and not self._weight.all():
            self._kept = np.flatnonzero(self._weight)

    def rows(self) -> Rows:
        """Errors and bands as delivered, in units of y_true."""
        error = (self._intervals.y_true - self._intervals.y_pred).ravel()[self._kept]
        if self._intervals.side != "both":
            return self._single_bound(error)
        lower = self._column("lower_band")
        limits = self._limits()
        if self._intervals.symmetric and limits is None:
            np.abs(error, out=error)
            return Rows(error, lower, lower, lower, None, self._weights())
        upper = self._column("upper_band")
        above = error >= 0
        np.abs(error, out=error)
        active = select(above, upper, lower)
        rows = Rows(error, active, lower, upper, above, self._weights())
        if limits is None:
            return rows
        return replace(
            rows,
            active_limit=np.where(above, limits[1], limits[0]),
            other_limit=np.where(above, limits[0], limits[1]),
        )

    def _single_bound(self, error: Array) -> Rows:
        """Rows of which one bound is judged: errors and bands towards it."""
        side = self._intervals.side
        if side == "lower":
            np.negative(error, out=error)
        band = self._column(f"{side}_band")
        limits: list[Array | None] = [None, None]
        for place, limit in enumerate(self._limits() or ()):
            if np.isfinite(limit[0]):
                limits[place] = limit
        if side == "upper":
            limits.reverse()
        beyond = np.negative(error)
        error = np.maximum(error, 0)
        weights = self._weights()
        return Rows(error, band, band, band, None, weights, side, beyond, limits[0], limits[1])

    def _limits(self) -> tuple[Array, Array] | None:
        """How far lower and upper bands can reach; None where there is no support."""
        low, high = self._intervals.support
        if np.isinf(low) and np.isinf(high):
            return None
        predicted = self._column("y_pred")
        return predicted - low, high - predicted

    @property
    def unit(self) -> Array | None:
        """What each row is divided by."""
        unit = self._intervals.unit
        return None if unit is None else unit.ravel()[self._kept]

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
