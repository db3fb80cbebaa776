"""Bounds: the path that shifts a single bound, which may pass the prediction and starts nowhere."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ._arrays import Indices, cumulative
from ._paths import Events, ShiftPath, refuse_too_wide
from ._rows import ALL, Flattened, Part, Rows, known
from ._vocabulary import Array, Metric
from .intervals import Intervals


@dataclass(frozen=True, slots=True, eq=False)
class BoundPath(ShiftPath):
    """An amount t added to a single bound: the critical t is the distance from the bound to the observation.

    The curve starts just before the first critical t, where no row is covered but those that a bound at the end of the
    support covers. Areas over it are not defined.
    """

    @classmethod
    def of(cls, intervals: Intervals) -> Self:
        """Critical shifts of all rows. O(n), no sort."""
        source = Flattened(intervals)
        rows = source.rows()
        critical = source.critical(rows, _distances(rows), cls.delivered)
        if source.unit is not None:
            critical = critical / source.unit
            rows = rows.divided_by(source.unit)
        path = cls._starting(rows, critical)
        largest = float(np.abs(rows.active).max())
        away = path.mean(np.abs(path.signed - rows.active))
        refuse_too_wide('`vary="shift"` needs', largest, away, largest)
        return path

    @classmethod
    def _starting(cls, rows: Rows, critical: Array) -> Self:
        """The path from just before its first vertex."""
        floor = None if rows.other_limit is None else 0.0 - rows.other_limit
        first = float(critical.min())
        if floor is not None:
            first = min(first, float((floor - rows.active).min()))
        start = float(np.nextafter(first, -np.inf))
        path = cls(rows, critical, start)
        if floor is None:
            return path
        return replace(path, critical=np.where(floor >= path.signed, start, critical))

    @property
    def signed(self) -> Array:
        """Distance from the prediction to the observation, towards the bound; negative on the other side."""
        signed: Array = 0.0 - known(self.rows.offset)
        return signed

    @property
    def floor(self) -> Array | None:
        """How far from the prediction the support ends on the other side, which no bound passes."""
        return None if self.rows.other_limit is None else 0.0 - self.rows.other_limit

    @property
    def linear_width(self) -> tuple[float, float] | None:
        """Mean distance of the bound from the prediction at t = 0 and its slope; at the start where rows bend it."""
        if self.bends:
            return self.mean(self.bands(self.start)[0]), 0.0
        return self.mean(self.active), 1.0

    @property
    def excess_is_overshoot(self) -> bool:
        """Whether the excess is the overshoot and a constant: not where the bound passes the prediction."""
        return False

    @property
    def has_area(self) -> bool:
        """Whether the curve starts somewhere: it does not."""
        return False

    @property
    def bends(self) -> bool:
        """Whether the mean distance of the bound is no straight line."""
        return self.limited or self.floor is not None

    def falls_without_end(self, weights: Mapping[Metric, float]) -> bool:
        """Whether a weighted sum of metrics falls for ever as the bound is moved inwards."""
        gained = weights.get("bandwidth", 0.0) - weights.get("deficit", 0.0)
        return self.floor is None and gained > 0

    def bands(self, t: float, part: Part = ALL) -> tuple[Array, Array]:
        """Distance of the bound from the prediction at t, twice."""
        band = self.active[part] + t
        if self.floor is not None:
            band = np.maximum(band, self.floor[part])
        if self.rows.active_limit is not None:
            band = np.minimum(band, self.rows.active_limit[part])
        return band, band

    def slopes(self, t: float) -> tuple[Array, Array]:
        """How fast the bound moves: by 1 where it is not held at an end of the support."""
        band = self.active + t
        moves = np.ones(len(self), np.bool_)
        if self.floor is not None:
            moves &= band >= self.floor
        if self.rows.active_limit is not None:
            moves &= band < self.rows.active_limit
        slopes = moves.astype(np.float64)
        return slopes, slopes

    def shortfalls(self, active: Array, part: Part) -> Array:
        """How far observations lie beyond the bound."""
        return -known(self.rows.offset)[part] - active

    def per_row(self, t: float, part: Part = ALL) -> dict[Metric, Array]:
        """Every metric of each row at t."""
        band, _ = self.bands(t, part)
        covered = self.is_covered(t, part)
        room = -self.shortfalls(band, part)
        return {
            "bandwidth": band,
            "miss_rate": (~covered).astype(np.float64),
            "excess": np.maximum(room, 0) * covered,
            "deficit": np.maximum(-room, 0) * ~covered,
            "overshoot": np.maximum(band - self.error[part], 0) * covered,
        }

    def events(self) -> Iterator[Events]:
        """Coverage of a row, and where its bound passes the prediction or an end of the support."""
        weights = self.weighted(np.ones(len(self)))
        floor = self.floor
        band = self.active
        held = np.zeros(len(self), np.bool_) if floor is None else self.critical == self.start
        missed = weights * ~held
        yield Events(self.critical, {"deficit": missed, "excess": missed})
        yield Events(np.maximum(self.error - band, self.critical), {"overshoot": weights})
        if floor is not None:
            leaves: dict[Metric, Array] = {
                "bandwidth": weights,
                "deficit": -missed,
                "excess": weights * held,
            }
            yield Events(np.maximum(floor - band, self.start), leaves)
        limit = self.rows.active_limit
        if limit is not None:
            if floor is None:
                yield Events(np.full(len(self), self.start), {"bandwidth": weights})
            yield Events(np.maximum(limit - band, self.start), {"bandwidth": -weights})
            yield Events(np.maximum(limit - band, self.critical), {"excess": -weights})
            position = np.maximum(np.maximum(limit, self.error) - band, self.critical)
            yield Events(position, {"overshoot": -weights})

    def width_integrals(self, t: Array, mass: Array) -> Array:
        """Integral of each row's distance of the bound."""
        count = cumulative(mass)
        moment = cumulative(mass * t)
        band, floor, limit = self.active, self.floor, self.rows.active_limit
        first: Indices = np.zeros(len(self), np.intp)
        last: Indices = np.full(len(self), len(t), np.intp)
        if floor is not None:
            first = np.searchsorted(t, floor - band)
        if limit is not None:
            last = np.searchsorted(t, limit - band)
        out: Array = band * (count[last] - count[first]) + (moment[last] - moment[first])
        if floor is not None:
            out += floor * count[first]
        if limit is not None:
            out += limit * (count[-1] - count[last])
        return out

    def deficit_integrals(self, t: Array, mass: Array, place: Indices) -> Array:
        """Integral of each row's deficit."""
        count = cumulative(mass)
        moment = cumulative(mass * t)
        short: Array = (self.signed - self.active) * count[place] - moment[place]
        if self.floor is not None:
            first = np.minimum(np.searchsorted(t, self.floor - self.active), place)
            short -= (self.floor - self.active) * count[first] - moment[first]
        return short

    def constant(self) -> "BoundPath":
        """The reference: the same errors and one distance for all rows."""
        nothing = np.zeros(len(self))
        rows = replace(self.rows, active=nothing, lower_band=nothing, upper_band=nothing)
        return self._starting(rows, self.signed)


def _distances(rows: Rows) -> Callable[[Array, Array], Array]:
    """How far an observation lies beyond its bound."""

    def distance(error: Array, active: Array) -> Array:
        del error
        beyond: Array = -known(rows.offset) - active
        return beyond

    return distance
