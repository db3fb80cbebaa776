"""Paths: ways to move the bands of every row with one number t, by a factor, by an amount, or through a model's levels.

A path knows for each row the smallest t that covers it (its critical t), the bands at any t, and the events at which
the slope of a metric changes. Rows are counted by the rank of their critical t; ``error <= t * band`` is never tested
again, because rounding loses the row that defines t.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ._arrays import Flags, Indices, blocks, equal_weights
from ._vocabulary import METRICS, Array, Metric, Vary
from .intervals import Intervals

Part = slice | Indices
ALL = slice(None)
# Smallest mean error, as a share of the largest band, that a curve over shifts or levels resolves to nine digits.
RESOLUTION = 2.0**-53 / 1e-9
INCOMPARABLE = "bands and errors must be of comparable size: {}. Hint: raise such bands with `min_band`."
LARGEST = 2.0**500  # upper limit of bands and errors in their unit; critical scales above it need a closer look


class Events(NamedTuple):
    """Places at which rows change the slope of metrics.

    A rising metric is the sum of ``change * max(0, t - position)``, the deficit that of ``change * max(0, position -
    t)``. A change may be a pair of arrays whose sum it is, where one of them would vanish in the rounding of the other.
    """

    position: Array
    changes: Mapping[Metric, Array | tuple[Array, Array]]


@dataclass(frozen=True, slots=True, eq=False)
class Path(ABC):
    """Errors, bands and critical t of the rows that carry weight, flattened and in one unit.

    `active` is the band on the side of the error, `above` whether `y_true` is not below `y_pred` (None: symmetric
    bands), `critical` the smallest t that covers a row: error / active for a scale, error - active for a shift. `unit`
    is a power of two, and 1 except for data near the ends of float64, so that nobody behind meets 1e300.
    """

    error: Array
    active: Array
    lower_band: Array
    upper_band: Array
    above: Flags | None
    weight: Array | None
    critical: Array
    start: float
    unit: float  # what errors and bands are in units of; callers multiply by it, no formula here uses it
    vary: ClassVar[Vary]
    delivered: ClassVar[float]  # the t of the intervals as delivered

    def __len__(self) -> int:
        return len(self.error)

    @property
    def t_unit(self) -> float:
        """What t is in units of: that of the bands for shifts, 1 for factors."""
        return self.unit if self.vary == "shift" else 1.0

    @property
    def symmetric(self) -> bool:
        """Whether both bands are one array."""
        return self.above is None

    @property
    def other(self) -> Array:
        """The band on the side away from the error."""
        return self.active if self.above is None else _select(self.above, self.lower_band, self.upper_band)

    @property
    def half_widths(self) -> Array:
        """Half-width of each row as delivered."""
        return self.active if self.symmetric else self.lower_band / 2 + self.upper_band / 2

    @property
    def largest(self) -> float:
        """Largest critical t, infinite where no t covers all rows."""
        return float(self.critical.max())

    @property
    def has_uncoverable_rows(self) -> bool:
        """Whether some error lies on the side of a zero band, so that no t covers it."""
        return bool(np.isinf(self.largest))

    @property
    def coverable(self) -> Part:
        """Rows that some t covers."""
        return np.flatnonzero(np.isfinite(self.critical)) if self.has_uncoverable_rows else ALL

    @property
    def end(self) -> float:
        """Last finite critical t, where the curve ends."""
        return float(self.critical.max(initial=self.start, where=np.isfinite(self.critical)))

    @property
    def total(self) -> float:
        """Sum of the weights as given; the number of rows without any."""
        return float(len(self)) if self.weight is None else float(self.weight.sum())

    @property
    def equally_weighted(self) -> bool:
        """Whether every row counts the same."""
        return equal_weights(self.weight)

    def mean(self, values: Array | Flags) -> float:
        """Weighted mean over the rows."""
        return float(np.average(values, weights=self.weight))

    @property
    def mean_half_width(self) -> float:
        """Mean half-width as delivered."""
        lower = self.mean(self.lower_band)
        return lower if self.symmetric else lower / 2 + self.mean(self.upper_band) / 2

    def weighted(self, values: Array, part: Part = ALL) -> Array:
        """Values times the weights as given; the values themselves without weights."""
        return values if self.weight is None else values * self.weight[part]

    @staticmethod
    def band_at(band: Array, t: float) -> Array:
        """Bands at t of rows that have these as delivered."""
        return t * band

    def bands(self, t: float, part: Part = ALL) -> tuple[Array, Array]:
        """Active and other bands at t."""
        active = self.band_at(self.active[part], t)
        if self.above is None:
            return active, active
        return active, self.band_at(_select(self.above[part], self.lower_band[part], self.upper_band[part]), t)

    @abstractmethod
    def events(self) -> Iterator[Events]:
        """Slope changes after the start, first those of the coverable rows at their critical t."""

    @np.errstate(over="ignore")  # what lies beyond float64 is infinite
    def per_row(self, t: float, part: Part = ALL) -> dict[Metric, Array]:
        """Every metric of each row at t; their weighted means are the metrics of the curve."""
        active, other = self.bands(t, part)
        error, covered = self.error[part], self.critical[part] <= max(t, self.start)
        over = np.maximum(active - error, 0)
        over *= covered
        under = np.maximum(error - active, 0)
        under *= ~covered
        return {
            "bandwidth": active if self.symmetric else active / 2 + other / 2,
            "miss_rate": (~covered).astype(np.float64),
            "excess": over if self.symmetric else np.minimum(over, np.where(covered, other + error, 0)),
            "deficit": under,
            "overshoot": over,
        }

    @np.errstate(over="ignore")
    def at(self, t: float) -> dict[Metric, float]:
        """All metrics at one t, by their definitions. O(n), no sort."""
        sums = dict.fromkeys(METRICS, 0.0)
        for part in blocks(len(self)):
            for name, values in self.per_row(t, part).items():
                sums[name] += float(self.weighted(values, part).sum())
        return {name: value / self.total for name, value in sums.items()}

    def contributions(self, t: float, weights: Mapping[Metric, float]) -> Array:
        """Each row's own weighted sum of metrics at t, such as its part of an interval score. O(n)."""
        out = np.zeros(len(self))
        for part in blocks(len(self)):
            rows = self.per_row(t, part)
            for name, factor in weights.items():
                out[part] += factor * rows[name]
        return out

    @abstractmethod
    def width_integrals(self, t: Array, mass: Array) -> Array:
        """Integral of each row's half-width by a measure with these masses at ascending `t`."""

    @abstractmethod
    def deficit_integrals(self, t: Array, mass: Array, place: Indices) -> Array:
        """The same of each row's deficit; `place` is how many of the `t` lie before its critical one."""

    def critical_of_rank(self, rank: int) -> float:
        """Critical t of a rank from 1; the start for rank 0. O(n), by selection."""
        return float(np.partition(self.critical, rank - 1)[rank - 1]) if rank else self.start

    def constant(self) -> "ScalePath":
        """The reference: the same errors in bands of 1."""
        one = np.broadcast_to(1.0, self.error.shape)
        return ScalePath(self.error, one, one, one, None, self.weight, self.error, 0.0, self.unit)

    def subset(self, rows: Part) -> Self:
        """Some of the rows."""
        names = ("error", "active", "lower_band", "upper_band", "critical", "above", "weight")
        given = ((name, getattr(self, name)) for name in names)
        chosen: dict[str, Any] = {name: array if array is None else array[rows] for name, array in given}
        return replace(self, **chosen)


@dataclass(frozen=True, slots=True, eq=False)
class ScalePath(Path):
    """Both bands multiplied by t."""

    vary: ClassVar[Vary] = "scale"
    delivered: ClassVar[float] = 1.0

    @classmethod
    def of(cls, intervals: Intervals) -> Self:
        """Critical scales of all rows. O(n), no sort."""
        path = cls(**_rows(intervals, cls.delivered, _quotients), start=0.0)
        if path.largest >= LARGEST:
            critical = np.where(path.active > 0, path.critical, 0)
            row = int(critical.argmax())
            if critical[row] == np.inf or path.end * path.mean_half_width >= LARGEST**2:
                error, band = path.error[row] * path.unit, path.active[row] * path.unit
                what = f"scaling a band of {band:.3g} up to an error of {error:.3g} leaves the range of float64"
                raise ValueError(INCOMPARABLE.format(what))
        return path

    def events(self) -> Iterator[Events]:
        """Coverage of a row, and where its other bound becomes the nearer one."""
        rows = self.coverable
        mass = self.weighted(self.active[rows], rows)
        yield Events(self.critical[rows], {"overshoot": mass, "deficit": mass, "excess": mass})
        rows, position = self.crossovers()
        active, other = (self.weighted(band[rows], rows) for band in (self.active, self.other))
        yield Events(position, {"excess": (-active, other)})

    def crossovers(self) -> tuple[Indices, Array]:
        """Rows whose other bound becomes the nearer one on the curve, and the t from which it is."""
        if self.symmetric:
            return np.empty(0, np.intp), np.empty(0)
        gap = self.active - self.other
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            position = 2 * self.error / gap
        rows = np.flatnonzero((gap > 0) & (position < self.largest))
        return rows, position[rows]

    def width_integrals(self, t: Array, mass: Array) -> Array:
        """Integral of each row's half-width."""
        return self.half_widths * float(np.sum(mass * t))

    def deficit_integrals(self, t: Array, mass: Array, place: Indices) -> Array:
        """Integral of each row's deficit."""
        short = self.error * cumulative(mass)[place]
        short -= self.active * cumulative(mass * t)[place]
        return short


@dataclass(frozen=True, slots=True, eq=False)
class ShiftPath(Path):
    """An amount t added to both bands, which end at 0."""

    vary: ClassVar[Vary] = "shift"
    delivered: ClassVar[float] = 0.0

    @classmethod
    def of(cls, intervals: Intervals) -> Self:
        """Critical shifts of all rows. O(n), no sort."""
        fields = _rows(intervals, cls.delivered, np.subtract)
        largest = float(max(fields["lower_band"].max(), fields["upper_band"].max()))
        start, missed = 0.0 - largest, fields["error"] > 0
        fields["critical"][~missed] = start  # a zero-width interval covers y_true == y_pred
        np.maximum(
            fields["critical"], np.nextafter(start, np.inf), out=fields["critical"], where=missed
        )  # and no other
        path = cls(**fields, start=start)
        refuse_unresolved(path, '`vary="shift"` needs', largest, largest)
        return path

    @staticmethod
    def band_at(band: Array, t: float) -> Array:
        """Bands at t of rows that have these as delivered."""
        return np.maximum(band + t, 0)

    def events(self) -> Iterator[Events]:
        """Coverage and crossover of a row, and where its bands leave 0."""
        one, error, other = self.weighted(np.ones(len(self))), self.error, self.other
        missed, zero_error = one * (error > 0), one * (error == 0)
        yield Events(self.critical, {"overshoot": missed, "deficit": missed, "excess": missed})
        leaves_zero: dict[Metric, Array] = {
            "bandwidth": one / 2,
            "deficit": -missed,
            "overshoot": zero_error,
            "excess": zero_error,
        }
        yield Events(0.0 - self.active, leaves_zero)
        crossover = np.maximum(2 * error - self.active, self.critical)
        crosses = self.active - other > 2 * error
        yield Events(0.0 - other, {"bandwidth": one / 2, "excess": one * crosses})
        yield Events(crossover[crosses], {"excess": -one[crosses]})

    def width_integrals(self, t: Array, mass: Array) -> Array:
        """Integral of each row's half-width."""
        count, moment = cumulative(mass), cumulative(mass * t)
        widths = np.zeros(len(self))
        for band in (self.lower_band, self.upper_band):
            first = np.searchsorted(t, 0.0 - band)
            widths += band * (count[-1] - count[first]) + (moment[-1] - moment[first])
        return widths / 2

    def deficit_integrals(self, t: Array, mass: Array, place: Indices) -> Array:
        """Integral of each row's deficit."""
        count, moment = cumulative(mass), cumulative(mass * t)
        first = np.searchsorted(t, 0.0 - self.active)
        last = np.where(self.error > 0, np.maximum(place, first), first)
        short: Array = self.error * count[first] * (self.error > 0)
        short += (self.error - self.active) * (count[last] - count[first]) - (moment[last] - moment[first])
        return short


def _rows(intervals: Intervals, delivered: float, critical_t: Callable[[Array, Array], Array]) -> dict[str, Any]:
    """Fields of a path; the bounds decide where rounding made an error equal to its band."""
    weight = None if intervals._weight is None else intervals._weight.ravel()
    kept: Part = ALL if weight is None or weight.all() else np.flatnonzero(weight)
    error = (intervals.y_true - intervals.y_pred).ravel()[kept]
    bands = [band.ravel()[kept] for band in (intervals.lower_band, intervals.upper_band)[: 2 - intervals.symmetric]]
    above = None if intervals.symmetric else error >= 0
    unit, (error, lower, *others) = _in_one_unit(np.abs(error, out=error), *bands)
    upper = others[0] if others else lower
    active = lower if above is None else _select(above, upper, lower)
    critical = critical_t(error, active)
    equal = np.flatnonzero(critical == delivered)
    if len(equal):
        y, low, high = (array.ravel()[kept][equal] for array in (intervals.y_true, intervals.lower, intervals.upper))
        critical[equal[(y < low) | (y > high)]] = np.nextafter(delivered, np.inf)
    fields = {"error": error, "active": active, "lower_band": lower, "upper_band": upper, "above": above}
    return fields | {"weight": None if weight is None else weight[kept], "critical": critical, "unit": unit}


def _select(which: Flags, yes: Array, no: Array) -> Array:
    """Return ``np.where(which, yes, no)`` of finite values, in half the time where `which` is random."""
    out = np.empty(len(which))
    for part in blocks(len(out)):
        np.multiply(which[part], yes[part], out=out[part])
        out[part] += ~which[part] * no[part]
    return out


def _in_one_unit(*columns: Array) -> tuple[float, list[Array]]:
    """Power of two that brings values near the ends of float64 to where their squares fit, else 1; and values in it."""
    largest = max(float(column.max()) for column in columns)
    exponent = int(np.frexp(largest)[1])
    if not largest or -400 <= exponent <= 500:
        return 1.0, [*columns]
    unit = float(np.ldexp(1.0, exponent - 500 if exponent > 0 else max(exponent, -700)))  # 1 / unit must fit too
    smallest = min(float(column.min(initial=largest, where=column > 0)) for column in columns)
    if unit > 1 and smallest / unit < np.finfo(np.float64).tiny:
        what = f"float64 cannot hold {smallest:.3g} beside values above {unit * 2.0**499:.3g}"
        raise ValueError(INCOMPARABLE.format(what))
    return unit, [values / unit for values in columns]


def _quotients(error: Array, active: Array) -> Array:
    """Critical scales ``error / active``; 0 where both are 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        critical: Array = error / active
    if np.isnan(critical.max()):
        critical[np.isnan(critical)] = 0.0
    return critical


def refuse_unresolved(path: Path, who: str, largest: float, steepest: float) -> None:
    """Refuse bands so wide that t, moved by one rounding, changes them by more than nine digits of the mean error."""
    error = path.mean(path.error)
    if 0 < error < RESOLUTION * steepest:
        raise ValueError(
            f"{who} bands and errors of comparable size: the largest band is {largest * path.unit:.3g}, the mean error "
            f"{error * path.unit:.3g}, which float64 cannot add to nine digits. Hint: leave out or cap such bands."
        )


def cumulative(mass: Array) -> Array:
    """Sums of the first 0, 1, 2, ... items."""
    sums = np.zeros(len(mass) + 1)
    np.cumsum(mass, out=sums[1:])
    return sums
