"""Paths: ways to move the bands of every row with one number t, by a factor, by an amount, or through a model's levels.

A path knows for each row the smallest t that covers it (its critical t), the bands at any t, and the events at which
the slope of a metric changes. Rows are counted by the rank of their critical t; ``error <= t * band`` is never tested
again, because rounding loses the row that defines t.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np

from ._arrays import Flags, Indices, blocks, cumulative, select
from ._rows import ALL, Flattened, Part, Rows, known
from ._vocabulary import METRICS, Array, Metric, Side, Vary
from .intervals import NO_PREDICTION, Intervals

# Smallest mean error, as a share of the largest band, that a curve over shifts or levels resolves to nine digits.
RESOLUTION = 2.0**-53 / 1e-9
LARGEST = 1e200  # limit of the half-width on a curve, so that no area leaves float64
# Share of the excess at the end of a curve that the slopes of huge bands, which come and go, may leave behind.
LEFT_BEHIND = 1e-9
DOUBLED = 2.0**-100  # precision of a sum of slopes in two floats
INCOMPARABLE = "bands and errors must be of comparable size: {}. Hint: {}."
RAISE_HINT = "raise such bands with `min_band`"
SIDE_HINT = (
    "if such a bound stands for none, judge one side: from_bounds(..., lower=None) or upper=None"
)


PAST_PREDICTION = (
    '`vary="scale"` needs bounds on their own side of `y_pred`; a shift has moved some past it. '
    'Hint: pass vary="shift".'
)


class Events(NamedTuple):
    """Places at which rows change the slope of metrics.

    A rising metric is the sum of ``change * max(0, t - position)``, the deficit that of ``change * max(0, position -
    t)``. A change may be a pair of arrays whose sum it is, where one of them would vanish in the rounding of the other.
    """

    position: Array
    changes: Mapping[Metric, Array | tuple[Array, Array]]


@dataclass(frozen=True, slots=True, eq=False)
class Path(ABC):
    """Rows and their critical t, the smallest that covers each: error / active for a scale, error - active for a shift.

    `start` is where the curve begins.
    """

    rows: Rows
    critical: Array
    start: float
    vary: ClassVar[Vary]
    delivered: ClassVar[float]  # the t of the intervals as delivered

    def __len__(self) -> int:
        return len(self.rows)

    # ---- the rows

    @property
    def side(self) -> Side:
        """Which bounds are judged."""
        return self.rows.side

    @property
    def sides(self) -> int:
        """How many bounds are judged."""
        return 2 if self.side == "both" else 1

    @property
    def error(self) -> Array:
        """Distance between observation and prediction."""
        return self.rows.error

    @property
    def active(self) -> Array:
        """The band on the side of the error."""
        return self.rows.active

    @property
    def other(self) -> Array:
        """The band on the side away from the error."""
        return self.rows.other

    @property
    def lower_band(self) -> Array:
        """Lower bands as delivered."""
        return self.rows.lower_band

    @property
    def upper_band(self) -> Array:
        """Upper bands as delivered."""
        return self.rows.upper_band

    @property
    def above(self) -> Flags | None:
        """Whether `y_true` is not below `y_pred`; None where both bands are one array."""
        return self.rows.above

    @property
    def weight(self) -> Array | None:
        """Weight of each row as given; None where all are equal."""
        return self.rows.weight

    @property
    def symmetric(self) -> bool:
        """Whether both bands are one array."""
        return self.rows.symmetric

    @property
    def half_widths(self) -> Array:
        """Half-width of each row as delivered."""
        return self.rows.half_widths

    @property
    def mean_half_width(self) -> float:
        """Mean half-width as delivered."""
        return self.rows.mean_half_width

    @property
    def total(self) -> float:
        """Sum of the weights as given; the number of rows without any."""
        return self.rows.total

    @property
    def equally_weighted(self) -> bool:
        """Whether every row counts the same."""
        return self.rows.equally_weighted

    def mean(self, values: Array | Flags) -> float:
        """Weighted mean over the rows."""
        return self.rows.mean(values)

    def weighted(self, values: Array, part: Part = ALL) -> Array:
        """Values times the weights as given; the values themselves without weights."""
        return self.rows.weighted(values, part)

    @property
    def limited(self) -> bool:
        """Whether bands end where the support does."""
        return self.rows.limited

    @property
    def excess_is_overshoot(self) -> bool:
        """Whether the excess is the overshoot and a constant: where no other bound can be the nearer one."""
        return self.symmetric

    @property
    def has_area(self) -> bool:
        """Whether the curve starts somewhere, so that it has areas."""
        return True

    @property
    def bends(self) -> bool:
        """Whether single rows bend the curve of the half-width."""
        return self.limited

    @property
    def linear_width(self) -> tuple[float, float] | None:
        """Mean half-width at t = 0 and its slope, where it is a straight line before rows reach a limit."""
        return None

    # ---- the critical t

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
        finite = np.isfinite(self.critical)
        return float(self.critical.max(initial=self.start, where=finite))

    def critical_of_rank(self, rank: int) -> float:
        """Critical t of a rank from 1; the start for rank 0. O(n), by selection."""
        return float(np.partition(self.critical, rank - 1)[rank - 1]) if rank else self.start

    def is_covered(self, t: float, part: Part = ALL) -> Flags:
        """Whether each row is covered at t; at the start and before, the rows that the start covers are."""
        covered: Flags = self.critical[part] <= max(t, self.start)
        return covered

    # ---- the bands at t

    @abstractmethod
    def bands(self, t: float, part: Part = ALL) -> tuple[Array, Array]:
        """Active and other bands at t."""

    @abstractmethod
    def slopes(self, t: float) -> tuple[Array, Array]:
        """How fast the active and the other band grow just after t."""

    @abstractmethod
    def events(self) -> Iterator[Events]:
        """Slope changes after the start, first those of the coverable rows at their critical t."""

    @abstractmethod
    def width_integrals(self, t: Array, mass: Array) -> Array:
        """Integral of each row's half-width by a measure with these masses at ascending `t`."""

    @abstractmethod
    def deficit_integrals(self, t: Array, mass: Array, place: Indices) -> Array:
        """The same of each row's deficit; `place` is how many of the `t` lie before its critical one."""

    # ---- what rows have at t

    @np.errstate(over="ignore")  # what lies beyond float64 is infinite
    def per_row(self, t: float, part: Part = ALL) -> dict[Metric, Array]:
        """Every metric of each row at t; their weighted means are the metrics of the curve."""
        active, other = self.bands(t, part)
        error = self.error[part]
        covered = self.is_covered(t, part)
        over = np.maximum(active - error, 0)
        over *= covered
        under = np.maximum(error - active, 0)
        under *= ~covered
        width = excess = active
        if self.symmetric:
            excess = over if self.rows.offset is None else over + self._beyond(part) * covered
        else:
            width = active / 2 + other / 2
            excess = np.minimum(over, np.where(covered, other + error, 0))
        return {
            "bandwidth": width,
            "miss_rate": (~covered).astype(np.float64),
            "excess": excess,
            "deficit": under,
            "overshoot": over,
        }

    def _beyond(self, part: Part) -> Array:
        """How far observations lie on the side of the prediction that a single bound does not judge."""
        return np.maximum(known(self.rows.offset)[part], 0)

    @np.errstate(over="ignore")
    def at(self, t: float) -> dict[Metric, float]:
        """All metrics at one t, by their definitions. O(n), no sort."""
        sums = dict.fromkeys(METRICS, 0.0)
        for part in blocks(len(self)):
            for name, values in self.per_row(t, part).items():
                sums[name] += float(self.weighted(values, part).sum())
        return {name: value / self.total for name, value in sums.items()}

    @np.errstate(over="ignore")
    def half_widths_at(self, t: float) -> Array:
        """Each row's half-width at t. O(n)."""
        widths = np.empty(len(self))
        for part in blocks(len(self)):
            active, other = self.bands(t, part)
            widths[part] = active if self.symmetric else active / 2 + other / 2
        return widths

    def mean_half_width_at(self, t: float) -> float:
        """Mean half-width at t; where it is a straight line, no row is looked at."""
        line = self.linear_width
        if line is None or self.bends:
            return self.mean(self.half_widths_at(t))
        at_zero, slope = line
        return at_zero + slope * t

    def shortfalls(self, active: Array, part: Part) -> Array:
        """How far observations lie beyond the end of the active band."""
        return self.error[part] - active

    def score(self, t: float, alpha: float) -> float:
        """Mean interval score at t for a miss rate of alpha. O(n)."""
        point = self.at(t)
        return self.sides * (point["bandwidth"] + point["deficit"] / alpha) + self.mean_offset

    @property
    def offset(self) -> Array | float:
        """Part of each row's score that no t changes: prediction less observation, towards a single bound."""
        return 0.0 if self.rows.offset is None else self.rows.offset

    @property
    def mean_offset(self) -> float:
        """Part of the score that no t changes, on average."""
        return 0.0 if self.rows.offset is None else self.mean(self.rows.offset)

    def score_rows(self, t: float, alpha: float) -> Array:
        """Each row's interval score at t for a miss rate of alpha; their mean is the score of the curve there."""
        rows = np.empty(len(self))
        for part in blocks(len(self)):
            active, other = self.bands(t, part)
            width = active if self.symmetric else active / 2 + other / 2
            deficit = np.maximum(self.shortfalls(active, part), 0)
            deficit *= ~self.is_covered(t, part)
            rows[part] = self.sides * width + self.sides / alpha * deficit
        if self.rows.offset is not None:
            rows += self.rows.offset
        return rows

    def score_slopes(self, t: float, alpha: float) -> Array:
        """How fast each row's interval score grows at t, where no row is about to be covered."""
        missed = ~self.is_covered(t)
        return self.sides * (self.half_width_slopes(t) - self.active_slopes(t) * missed / alpha)

    def half_width_slopes(self, t: float) -> Array:
        """How fast each row's half-width grows just after t."""
        active, other = self.slopes(t)
        return active if self.symmetric else active / 2 + other / 2

    def active_slopes(self, t: float) -> Array:
        """How fast each row's band on the side of its error grows just after t."""
        return self.slopes(t)[0]

    # ---- other paths

    def constant(self) -> "Path":
        """The reference: the same errors in bands of 1."""
        return ScalePath(self.rows.in_bands_of_one(), self.error, 0.0)

    def subset(self, rows: Part) -> Self:
        """Some of the rows."""
        return replace(self, rows=self.rows.subset(rows), critical=self.critical[rows])


@dataclass(frozen=True, slots=True, eq=False)
class ScalePath(Path):
    """Both bands multiplied by t."""

    vary: ClassVar[Vary] = "scale"
    delivered: ClassVar[float] = 1.0

    @classmethod
    def of(cls, intervals: Intervals) -> Self:
        """Critical scales of all rows. O(n), no sort."""
        if not intervals.has_prediction:
            raise ValueError(NO_PREDICTION.format('`vary="scale"`'))
        source = Flattened(intervals)
        rows = source.rows()
        if rows.side != "both" and rows.active.min() < 0:
            raise ValueError(PAST_PREDICTION)
        critical = source.critical(rows, _quotients, cls.delivered)
        path = cls(rows.divided_by(source.unit), critical, 0.0)
        path.refuse_incomparable()
        return path

    @property
    def linear_width(self) -> tuple[float, float] | None:
        """Mean half-width at t = 0 and its slope."""
        return None if self.limited else (0.0, self.mean_half_width)

    def bands(self, t: float, part: Part = ALL) -> tuple[Array, Array]:
        """Active and other bands at t."""
        active = t * self.active[part]
        other = active
        if self.above is not None:
            other = t * select(self.above[part], self.lower_band[part], self.upper_band[part])
        return self.rows.within_limits(active, other, part)

    def slopes(self, t: float) -> tuple[Array, Array]:
        """How fast the active and the other band grow: they are what they grow by."""
        if not self.limited:
            return self.active, self.other
        grows, other_grows = self.rows.below_limits(t * self.active, t * self.other)
        return self.active * grows, self.other * other_grows

    def events(self) -> Iterator[Events]:
        """Coverage of a row, where its other bound becomes the nearer one, and where bounds reach the support's end."""
        rows = self.coverable
        mass = self.weighted(self.active[rows], rows)
        yield Events(self.critical[rows], {"overshoot": mass, "deficit": mass, "excess": mass})
        rows, position = self.crossovers()
        active = self.weighted(self.active[rows], rows)
        other = self.weighted(self.other[rows], rows)
        yield Events(position, {"excess": (-active, other)})
        if self.limited:
            yield from self._events_at_limits(rows)

    def _events_at_limits(self, crossing: Indices) -> Iterator[Events]:
        """Growth of the bands from t = 0, and its end where bounds reach the end of the support."""
        count = 1 if self.symmetric else 2
        crosses = np.zeros(len(self), np.bool_)
        crosses[crossing] = True
        active_limit = known(self.rows.active_limit)
        mass = self.weighted(self.active)
        yield Events(np.zeros(len(self)), {"bandwidth": mass / count})
        yield self._end_of(mass, active_limit / _or_nan(self.active), "overshoot", mass / count)
        nearest = self.rows.largest_excess
        if not self.symmetric:
            other_limit = known(self.rows.other_limit)
            other_mass = self.weighted(self.other)
            yield Events(np.zeros(len(self)), {"bandwidth": other_mass / count})
            position = other_limit / _or_nan(self.other)
            yield self._end_of(None, position, "excess", other_mass / count)
            mass = np.where(crosses, other_mass, mass)
        with np.errstate(invalid="ignore"):
            position = np.where(
                crosses,
                (nearest - self.error) / _or_nan(self.other),
                (nearest + self.error) / _or_nan(self.active),
            )
        yield self._end_of(mass, position, "excess", None)

    def _end_of(
        self, mass: Array | None, position: Array, metric: Metric, width: Array | None
    ) -> Events:
        """Where on the curve a metric, and a half-width, stop growing."""
        rows = np.flatnonzero(position < self.largest)
        changes: dict[Metric, Array] = {}
        if mass is not None:
            changes[metric] = -mass[rows]
            position = np.maximum(position, self.critical)
        if width is not None:
            changes["bandwidth"] = -width[rows]
        return Events(position[rows], changes)

    def crossovers(self) -> tuple[Indices, Array]:
        """Rows whose other bound becomes the nearer one on the curve, and the t from which it is."""
        if self.symmetric:
            return np.empty(0, np.intp), np.empty(0)
        gap = self.active - self.other
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            position = 2 * self.error / gap
            on_curve = (gap > 0) & (position < self.largest)
            if self.limited:
                on_curve &= position * self.active < self.rows.largest_excess + self.error
        rows = np.flatnonzero(on_curve)
        return rows, position[rows]

    def width_integrals(self, t: Array, mass: Array) -> Array:
        """Integral of each row's half-width."""
        if not self.limited:
            return self.half_widths * float(np.sum(mass * t))
        count, moment = cumulative(mass), cumulative(mass * t)

        def integral_of(band: Array, limit: Array) -> Array:
            with np.errstate(divide="ignore", invalid="ignore"):
                place = np.searchsorted(t, np.where(band > 0, limit / band, np.inf))
            beyond = count[-1] - count[place]
            out: Array = band * moment[place] + np.where(beyond != 0, limit, 0.0) * beyond
            return out

        active = integral_of(self.active, known(self.rows.active_limit))
        if self.symmetric:
            return active
        other: Array = integral_of(self.other, known(self.rows.other_limit))
        return (active + other) / 2

    def deficit_integrals(self, t: Array, mass: Array, place: Indices) -> Array:
        """Integral of each row's deficit."""
        short = self.error * cumulative(mass)[place]
        short -= self.active * cumulative(mass * t)[place]
        return short

    def refuse_incomparable(self) -> None:
        """Refuse bands and errors so unlike each other that float64 cannot hold what follows to nine digits."""
        largest = self.largest
        end = largest if np.isfinite(largest) else self.end
        widest = float(self.lower_band.max())
        if not self.symmetric:
            widest = max(widest, float(self.upper_band.max()))
        if end * widest >= LARGEST and end * self.mean_half_width >= LARGEST:
            critical = np.where(np.isfinite(self.critical), self.critical, 0)
            row = int(critical.argmax())
            band, error = self.active[row], self.error[row]
            what = f"scaling a band of {band:.3g} up to an error of {error:.3g} leaves the range of float64"
            raise ValueError(INCOMPARABLE.format(what, RAISE_HINT))
        if not self.symmetric and DOUBLED * end * widest > LEFT_BEHIND * self.mean(self.error):
            self._refuse_huge_bands(end)

    def _refuse_huge_bands(self, end: float) -> None:
        """Refuse bands whose slopes leave more behind, where their other bound becomes the nearer one, than 1e-9."""
        rows, _ = self.crossovers()
        if not len(rows):
            return
        huge = float(self.weighted(self.active[rows], rows).sum()) / self.total
        if DOUBLED * end * huge > LEFT_BEHIND * self.at(end)["excess"]:
            largest, error = float(self.active[rows].max()), self.mean(self.error)
            what = f"float64 cannot hold a band of {largest:.3g} beside a mean error of {error:.3g} to nine digits"
            raise ValueError(INCOMPARABLE.format(what, SIDE_HINT))


@dataclass(frozen=True, slots=True, eq=False)
class ShiftPath(Path):
    """An amount t added to both bands, which end at 0."""

    vary: ClassVar[Vary] = "shift"
    delivered: ClassVar[float] = 0.0

    @classmethod
    def of(cls, intervals: Intervals) -> Self:
        """Critical shifts of all rows. O(n), no sort."""
        source = Flattened(intervals)
        rows = source.rows()
        critical = source.critical(rows, np.subtract, cls.delivered)
        if source.unit is not None:
            critical = critical / source.unit
            rows = rows.divided_by(source.unit)
        largest = float(max(rows.lower_band.max(), rows.upper_band.max()))
        start = 0.0 - largest
        missed = rows.error > 0
        critical[~missed] = start  # a zero-width interval covers y_true == y_pred
        np.maximum(
            critical, np.nextafter(start, np.inf), out=critical, where=missed
        )  # and no other
        path = cls(rows, critical, start)
        refuse_unresolved(path, '`vary="shift"` needs', largest, largest)
        return path

    def bands(self, t: float, part: Part = ALL) -> tuple[Array, Array]:
        """Active and other bands at t."""
        active = np.maximum(self.active[part] + t, 0)
        other = active
        if self.above is not None:
            other = select(self.above[part], self.lower_band[part], self.upper_band[part])
            other = np.maximum(other + t, 0)
        return self.rows.within_limits(active, other, part)

    def slopes(self, t: float) -> tuple[Array, Array]:
        """How fast the active and the other band grow: by 1 where they are not held at 0."""
        active = self.active + t
        other = active if self.symmetric else self.other + t
        grows, other_grows = self.rows.below_limits(active, other)
        return (
            ((active >= 0) & grows).astype(np.float64),
            ((other >= 0) & other_grows).astype(np.float64),
        )

    def events(self) -> Iterator[Events]:
        """Coverage and crossover of a row, and where its bands leave 0."""
        weights = self.weighted(np.ones(len(self)))
        error = self.error
        other = self.other
        missed = weights * (error > 0)
        zero_error = weights * (error == 0)
        yield Events(self.critical, {"overshoot": missed, "deficit": missed, "excess": missed})
        leaves_zero: dict[Metric, Array] = {
            "bandwidth": weights / 2,
            "deficit": -missed,
            "overshoot": zero_error,
            "excess": zero_error,
        }
        yield Events(0.0 - self.active, leaves_zero)
        crossover = np.maximum(2 * error - self.active, self.critical)
        crosses = self.active - other > 2 * error
        if self.limited:
            crosses &= self.rows.largest_excess > error
        yield Events(0.0 - other, {"bandwidth": weights / 2, "excess": weights * crosses})
        yield Events(crossover[crosses], {"excess": -weights[crosses]})
        if self.limited:
            yield from self._events_at_limits(weights, crosses)

    def _events_at_limits(self, weights: Array, crosses: Flags) -> Iterator[Events]:
        """Where bounds reach the end of the support."""
        nearest = self.rows.largest_excess
        active_room = known(self.rows.active_limit) - self.active
        other_room = known(self.rows.other_limit) - self.other
        ends: list[tuple[Array, Metric, float]] = [
            (active_room, "overshoot", 1.0),
            (active_room, "bandwidth", 0.5),
            (other_room, "bandwidth", 0.5),
            (
                np.where(
                    crosses, nearest - self.error - self.other, nearest + self.error - self.active
                ),
                "excess",
                1.0,
            ),
        ]
        for position, metric, share in ends:
            rows = np.flatnonzero(np.isfinite(position))
            place = position[rows]
            if metric != "bandwidth":
                place = np.maximum(place, self.critical[rows])
            yield Events(place, {metric: -share * weights[rows]})

    def width_integrals(self, t: Array, mass: Array) -> Array:
        """Integral of each row's half-width."""
        count = cumulative(mass)
        moment = cumulative(mass * t)
        widths = np.zeros(len(self))
        sides = (self.active, self.rows.active_limit), (self.other, self.rows.other_limit)
        for band, limit in sides:
            first = np.searchsorted(t, 0.0 - band)
            if limit is None:
                widths += band * (count[-1] - count[first]) + (moment[-1] - moment[first])
                continue
            last = np.searchsorted(t, limit - band)
            beyond = count[-1] - count[last]
            widths += band * (count[last] - count[first]) + (moment[last] - moment[first])
            widths += np.where(beyond != 0, limit, 0.0) * beyond
        return widths / 2

    def deficit_integrals(self, t: Array, mass: Array, place: Indices) -> Array:
        """Integral of each row's deficit."""
        count = cumulative(mass)
        moment = cumulative(mass * t)
        first = np.searchsorted(t, 0.0 - self.active)
        last = np.where(self.error > 0, np.maximum(place, first), first)
        short: Array = self.error * count[first] * (self.error > 0)
        short += (self.error - self.active) * (count[last] - count[first]) - (
            moment[last] - moment[first]
        )
        return short


def _or_nan(values: Array) -> Array:
    """Values to divide by; nan for 0."""
    return np.where(values > 0, values, np.nan)


def _quotients(error: Array, active: Array) -> Array:
    """Critical scales ``error / active``; 0 where both are 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        critical: Array = error / active
    if np.isnan(critical.max()):
        critical[np.isnan(critical)] = 0.0
    return critical


def refuse_unresolved(path: Path, who: str, largest: float, steepest: float) -> None:
    """Refuse bands so wide that t, moved by one rounding, changes them by more than nine digits of the mean error."""
    refuse_too_wide(who, largest, path.mean(path.error), steepest)


def refuse_too_wide(who: str, largest: float, error: float, steepest: float) -> None:
    """Refuse bands beside a mean error that float64 cannot add to them to nine digits."""
    if 0 < error < RESOLUTION * steepest:
        raise ValueError(
            f"{who} bands and errors of comparable size: the largest band is {largest:.3g}, the mean error "
            f"{error:.3g}, which float64 cannot add to nine digits. Hint: leave out or cap such bands."
        )
