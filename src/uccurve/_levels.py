"""Levels: the path through a model's own nested intervals."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, NamedTuple, Self

import numpy as np

from . import _refusals as checks
from ._arrays import Flags, Indices, cumulative, exact_sum
from ._paths import Events, Path, ScalePath, refuse_unresolved
from ._rows import ALL, Part, known
from ._vocabulary import Array, Metric, Vary
from .intervals import Intervals

# Growth of the mean half-width, in mean errors or in its growth above the widest level, beyond which rounding would
# show where slopes cancel each other.
STEEP = 1e3
SORT_HINT = "sort crossing quantiles first"


@dataclass(frozen=True, slots=True, eq=False)
class LevelsPath(Path):
    """A model's own nested intervals, straight lines from one level to the next, scaled above the widest.

    t = 1 is the widest level as delivered. `knots` are 0 and the places of the levels, the last one 1; `actives` and
    `others` hold the bands at each knot, one line per knot.
    """

    knots: Array
    actives: Array
    others: Array
    vary: ClassVar[Vary] = "levels"
    delivered: ClassVar[float] = 1.0

    @classmethod
    def of(cls, levels: Sequence[Intervals], knots: Array) -> Self:
        """Bands and critical t of all rows. O(n) per level."""
        paths = [ScalePath.of(intervals) for intervals in levels]
        rows = paths[-1].rows
        nothing = np.zeros(len(rows))
        actives = np.stack([nothing, *(path.active for path in paths)])
        others = actives
        if not all(path.symmetric for path in paths):
            others = np.stack([nothing, *(path.other for path in paths)])
            if rows.above is None:
                rows = replace(rows, above=np.ones(len(rows), np.bool_))
        critical = _between_levels(rows.error, paths, knots, actives)
        path = cls(rows, critical, 0.0, knots, actives, others)
        largest = float(max(actives[-1].max(), others[-1].max()))
        refuse_unresolved(path, "a curve of levels needs", largest, float(np.max(path.growth())))
        return path

    def bands(self, t: float, part: Part = ALL) -> tuple[Array, Array]:
        """Active and other bands at t."""
        if t >= 1:
            active = t * self.actives[-1, part]
            other = t * self.others[-1, part]
            return self.rows.within_limits(active, other, part)
        i = self._stretch_at(t)
        share = (t - self.knots[i]) / (self.knots[i + 1] - self.knots[i])
        active = _between(self.actives[i, part], self.actives[i + 1, part], share)
        other = _between(self.others[i, part], self.others[i + 1, part], share)
        return self.rows.within_limits(active, other, part)

    def _stretch_at(self, t: float) -> int:
        """Number of the stretch between two knots that t lies in."""
        return int(np.searchsorted(self.knots, t, side="right")) - 1

    def slopes(self, t: float) -> tuple[Array, Array]:
        """How fast the active and the other band grow between the levels around t."""
        growth, other_growth = self.growth()
        i = self._stretch_at(t)
        if not self.limited:
            return growth[i], other_growth[i]
        active, other = self.bands(t)
        grows, other_grows = self.rows.below_limits(active, other)
        return growth[i] * grows, other_growth[i] * other_grows

    @property
    def widths(self) -> Array:
        """Mean half-width at each knot."""
        half_widths = self.actives / 2 + self.others / 2
        return np.array([self.mean(knot) for knot in half_widths])

    def half_width(self, t: Array) -> Array:
        """Mean half-width at each t: straight lines between the knots, in proportion to t above 1."""
        widths = self.widths
        return np.where(t < 1, np.interp(t, self.knots, widths), t * widths[-1])

    def growth(self) -> tuple[Array, Array]:
        """Growth of the active and other bands from each knot to the next, and beyond the last: one line per knot."""
        knots = self.knots[:, None]
        active = _slopes(self.actives, knots)
        other = active if self.symmetric else _slopes(self.others, knots)
        return active, other

    def events(self) -> Iterator[Events]:
        """Coverage and crossovers of rows, and at each level the change of all rows together."""
        growth, other_growth = self.growth()
        widths = _slopes(self.widths, self.knots)
        limits = Limits(self) if self.limited else None
        yield self._coverage(growth, other_growth, limits)
        steep = bool(widths.max() > STEEP * min(self.mean(self.error), widths[-1]))
        exact = steep or limits is not None
        for i in np.flatnonzero(self.knots < self.largest).tolist():
            if i > 0:
                yield self._change_at_knot(i, growth, other_growth, limits, exact=exact)
            crossing = None
            if not self.symmetric:
                crossing = self._crossovers(i, growth[i], other_growth[i], limits)
                yield crossing.events
            if limits is not None:
                yield from limits.widths_at_knot(i)
                yield from limits.ends(i, None if crossing is None else crossing.rows)

    def width_integrals(self, t: Array, mass: Array) -> Array:
        """Integral of each row's half-width."""
        if self.limited:
            return self._limited_width_integrals(t, mass)
        edges, count, moment = self._cumulative(t, mass)
        masses = np.diff(count[edges])
        further = np.diff(moment[edges]) / np.diff(self.knots, append=2.0)
        masses[:-1] -= further[:-1]
        masses += np.append(0.0, further[:-1])
        masses[-1] += further[-1]
        widths: Array = masses @ self.actives
        return widths if self.symmetric else (widths + masses @ self.others) / 2

    def _limited_width_integrals(self, t: Array, mass: Array) -> Array:
        """Integral of each row's half-width, whose bands end where the support does."""
        edges, count, moment = self._cumulative(t, mass)
        sides = Limits(self).sides
        widths = np.zeros(len(self))
        for side in sides:
            place = np.searchsorted(t, side.position)
            for i, (first, last) in enumerate(pairwise(edges.tolist())):
                stop = np.clip(place, first, last)
                widths += side.bands[i] * (count[stop] - count[first])
                widths += side.growth[i] * (moment[stop] - moment[first])
            beyond = count[-1] - count[place]
            widths += np.where(beyond != 0, side.limit, 0.0) * beyond
        return widths / len(sides)

    def deficit_integrals(self, t: Array, mass: Array, place: Indices) -> Array:
        """Integral of each row's deficit; the masses must not be negative."""
        edges, count, moment = self._cumulative(t, mass)
        missed = count[place]
        further = moment[place]
        growth, _ = self.growth()
        short = self.error * missed
        for i, (first, last) in enumerate(pairwise(edges.tolist())):
            stretch = np.clip(missed, count[first], count[last]) - count[first]
            way = np.clip(further, moment[first], moment[last]) - moment[first]
            short -= self.actives[i] * stretch
            short -= growth[i] * way
        return short

    def _cumulative(self, t: Array, mass: Array) -> tuple[Indices, Array, Array]:
        """Where the knots lie among ascending t, and cumulative masses and moments around the knot before each t."""
        edges = np.append(np.searchsorted(t, self.knots), len(t))
        knot_before = np.repeat(self.knots, np.diff(edges))
        return edges, cumulative(mass), cumulative(mass * (t - knot_before))

    def subset(self, rows: Part) -> Self:
        """Some of the rows."""
        chosen = super(LevelsPath, self).subset(rows)
        return replace(chosen, actives=self.actives[:, rows], others=self.others[:, rows])

    def after(self, rows: Part = ALL) -> Indices:
        """Number of the stretch between two knots that begins at or before the critical t of each row."""
        critical = self.critical[rows]
        after: Indices = np.sum([critical >= knot for knot in self.knots[1:]], axis=0)
        return after

    def _coverage(self, growth: Array, other_growth: Array, limits: "Limits | None") -> Events:
        """Growth of the active band after (overshoot, excess) and before (deficit) each row's critical t."""
        rows = self.coverable
        numbers = np.arange(len(self))[rows]
        critical = self.critical[rows]
        after = self.after(rows)
        rising = growth[after, numbers]
        nearer = rising
        falling = rising.copy()
        at_knot = np.flatnonzero((self.knots[after] == critical) & (after > 0))
        falling[at_knot] = growth[after[at_knot] - 1, numbers[at_knot]]
        if not self.symmetric:
            at_start = np.minimum(growth[0], other_growth[0])[rows]
            nearer = np.where(critical > 0, rising, at_start)
        if limits is not None:
            rising = rising * limits.sides[0].opens[rows]
            nearer = nearer * limits.opens[rows]
        changes: dict[Metric, Array | tuple[Array, Array]] = {
            "overshoot": self.weighted(rising, rows),
            "deficit": self.weighted(falling, rows),
            "excess": self.weighted(nearer, rows),
        }
        return Events(critical, changes)

    def _change_at_knot(
        self, i: int, growth: Array, other_growth: Array, limits: "Limits | None", *, exact: bool
    ) -> Events:
        """Sums over all rows of what the slopes of their metrics change by at a knot."""

        def change(before: Array, after: Array) -> Array | tuple[Array, Array]:
            if not exact:
                return np.array([np.sum(self.weighted(after - before))])
            return exact_sum(self.weighted(after), -self.weighted(before))

        left, right = growth[i - 1 : i + 1]
        covered = self.critical < self.knots[i]
        missed = self.critical > self.knots[i]
        grows = covered
        nearer_grows = covered
        if limits is not None:
            grows = covered & limits.sides[0].is_below(i)
            nearer_grows = covered & limits.is_below(i)
        rising = change(left * grows, right * grows)
        changes: dict[Metric, Array | tuple[Array, Array]] = {
            "bandwidth": np.zeros(1),  # which has a vertex here, and its values from `half_width`
            "overshoot": rising,
            "deficit": change(right * missed, left * missed),
            "excess": rising,
        }
        if not self.symmetric:
            gap = self.gap(i)
            other_left, other_right = other_growth[i - 1 : i + 1]
            before = _of_nearer_bound(gap, left, other_left, np.maximum(left, other_left))
            after = _of_nearer_bound(gap, right, other_right, np.minimum(right, other_right))
            changes["excess"] = change(before * nearer_grows, after * nearer_grows)
        return Events(self.knots[i : i + 1], changes)

    def _crossovers(
        self, i: int, active: Array, other: Array, limits: "Limits | None"
    ) -> "Crossover":
        """Rows whose nearer bound changes between knot `i` and the next: the excess then grows more slowly.

        They are covered there, whatever rounding says: the active band is the other one and two errors more. `active`
        and `other` are the growth of the bands there.
        """
        gap = self.gap(i)
        if i == len(self.knots) - 1:
            rows = np.flatnonzero((gap < 0) & (active > other))
            with np.errstate(over="ignore"):
                position = self.knots[i] - gap[rows] / (active - other)[rows]
        else:
            following = self.gap(i + 1)
            rows = np.flatnonzero(np.sign(gap) * np.sign(following) < 0)
            share = gap[rows] / (gap[rows] - following[rows])
            position = self.knots[i] + share * (self.knots[i + 1] - self.knots[i])
        position = np.maximum(position, self.critical[rows])
        kept = position < self.largest
        if limits is not None:
            kept &= limits.is_open_at(i, rows, position)
        rows = rows[kept]
        faster = self.weighted(np.maximum(active, other)[rows], rows)
        slower = self.weighted(np.minimum(active, other)[rows], rows)
        return Crossover(rows, Events(position[kept], {"excess": (-faster, slower)}))

    def gap(self, i: int) -> Array:
        """By how much the other bound is nearer to the observation than the bound on the error's side."""
        gap: Array = self.actives[i] - self.others[i] - 2 * self.error
        return gap


class Crossover(NamedTuple):
    """Rows whose nearer bound changes between two knots, and what that does to the excess."""

    rows: Indices
    events: Events


class Limited:
    """Bands of one side, and where they end at the support."""

    def __init__(self, path: LevelsPath, bands: Array, limit: Array) -> None:
        self.bands = bands
        self.limit = limit
        self.growth = _slopes(bands, path.knots[:, None])
        self.stretch: Indices = np.sum(bands[1:] < limit, axis=0)
        rows = np.arange(len(limit))
        slope = self.growth[self.stretch, rows]
        room = limit - bands[self.stretch, rows]
        self.position: Array = path.knots[self.stretch] + _way(room, slope)
        self.opens: Flags = (limit > path.error) & (self.stretch >= path.after())

    def is_below(self, i: int) -> Flags:
        """Which bands have not reached their limit at a knot, of rows that they ever cover with room."""
        below: Flags = (self.bands[i] < self.limit) & self.opens
        return below


class Limits:
    """What a support does to a path through levels: how far bands and excess of each row grow."""

    def __init__(self, path: LevelsPath) -> None:
        self.path = path
        rows = path.rows
        self.sides = [Limited(path, path.actives, known(rows.active_limit))]
        if not path.symmetric:
            self.sides.append(Limited(path, path.others, known(rows.other_limit)))
        self.largest = rows.largest_excess
        rooms = np.array([self._room(i) for i in range(1, len(path.knots))])
        self.stretch: Indices = np.sum(rooms < self.largest, axis=0)
        self.opens: Flags = (self.largest > 0) & (self.stretch >= path.after())

    def is_below(self, i: int) -> Flags:
        """In which rows the excess can still grow at a knot."""
        below: Flags = (self._room(i) < self.largest) & self.opens
        return below

    def is_open_at(self, i: int, rows: Indices, position: Array) -> Flags:
        """Whether the excess of rows can still grow where their nearer bound changes after a knot."""
        active = self.sides[0]
        way = position - self.path.knots[i]
        reached = active.bands[i, rows] + active.growth[i, rows] * way
        before = reached - self.path.error[rows] < self.largest[rows]
        stretch = self.stretch[rows]
        open_rows: Flags = (stretch > i) | ((stretch == i) & before)
        return open_rows & self.opens[rows]

    def widths_at_knot(self, i: int) -> Iterator[Events]:
        """What the slopes of the half-width change by at a knot."""
        share = 1 / len(self.sides)
        for side in self.sides:
            right = self.path.weighted(side.growth[i])
            left = np.zeros_like(right)
            if i > 0:
                below = side.bands[i] < side.limit
                left = self.path.weighted(side.growth[i - 1]) * below
                right = right * below
            high, low = exact_sum(right * share, -left * share)
            yield Events(self.path.knots[i : i + 1], {"bandwidth": (high, low)})

    def ends(self, i: int, crossing: Indices | None) -> Iterator[Events]:
        """Rows whose bands, or whose excess, reach their limit in the stretch after a knot."""
        path = self.path
        share = 1 / len(self.sides)
        for side in self.sides:
            rows = np.flatnonzero((side.stretch == i) & (side.position < path.largest))
            mass = path.weighted(side.growth[i, rows], rows)
            yield Events(side.position[rows], {"bandwidth": -mass * share})
        active = self.sides[0]
        rows = np.flatnonzero((active.stretch == i) & active.opens & np.isfinite(active.position))
        yield self._end(rows, active.position[rows], "overshoot", active.growth[i, rows])
        if path.symmetric:
            return
        rows = np.flatnonzero((self.stretch == i) & self.opens)
        start, slope = self._nearer_line(i, rows, crossing)
        position = path.knots[i] + _way(self.largest[rows] - start, slope)
        yield self._end(rows, position, "excess", slope)

    def _room(self, i: int) -> Array:
        """Excess at a knot, negative where a row is not covered there."""
        path = self.path
        room: Array = path.actives[i] - path.error
        return room if path.symmetric else np.minimum(room, path.others[i] + path.error)

    def _nearer_line(self, i: int, rows: Indices, crossing: Indices | None) -> tuple[Array, Array]:
        """Excess at a knot and its slope, by the bound that is the nearer one where the limit is reached."""
        path = self.path
        active, other = self.sides
        gap = path.gap(i)[rows]
        slower_is_active = active.growth[i, rows] <= other.growth[i, rows]
        by_active = (gap < 0) | ((gap == 0) & slower_is_active)
        if crossing is not None:
            by_active ^= np.isin(rows, crossing)
        error = path.error[rows]
        above = active.bands[i, rows] - error
        below = other.bands[i, rows] + error
        slope = np.where(by_active, active.growth[i, rows], other.growth[i, rows])
        return np.where(by_active, above, below), slope

    def _end(self, rows: Indices, position: Array, metric: Metric, slope: Array) -> Events:
        """Where a metric stops growing in these rows."""
        place = np.maximum(position, self.path.critical[rows])
        kept = place < self.path.largest
        return Events(place[kept], {metric: -self.path.weighted(slope[kept], rows[kept])})


def _way(room: Array, slope: Array) -> Array:
    """How far a line with this slope goes until it has filled its room; infinite where it does not rise."""
    with np.errstate(divide="ignore", invalid="ignore"):
        way: Array = np.where(slope > 0, room / slope, np.inf)
    return way


def _between(lower: Array, upper: Array, share: float) -> Array:
    """Straight line from one value to the next."""
    line: Array = lower + share * (upper - lower)
    return line


def _of_nearer_bound(gap: Array, active: Array, other: Array, tied: Array) -> Array:
    """Growth of the bound that is nearer to the observation, where `gap` is negative the active one."""
    nearer = np.where(gap < 0, active, other)
    return np.where(gap == 0, tied, nearer)


def _slopes(values: Array, knots: Array) -> Array:
    """Slopes from each knot to the next, and beyond the last, at t = 1, of what is in proportion to t from there on."""
    rise = np.diff(values, axis=0, append=2 * values[-1:])
    run = np.diff(knots, axis=0, append=2 * knots[-1:])
    slopes: Array = rise / run
    return slopes


def _between_levels(
    error: Array, paths: Sequence[ScalePath], knots: Array, actives: Array
) -> Array:
    """Smallest t that covers each row; the delivered bounds say between which levels it lies."""
    missed = np.sum([path.critical > 1 for path in paths], axis=0)
    i = np.minimum(missed, len(paths) - 1)
    rows = np.arange(len(error))
    low = actives[i, rows]
    high = actives[i + 1, rows]
    share = np.divide(error - low, high - low, out=np.ones(len(rows)), where=high > low)
    first = np.nextafter(knots, 1)[i]
    inside = np.clip(knots[i] + share * np.diff(knots)[i], first, knots[i + 1])
    inside[error == 0] = 0.0
    return np.where(missed == len(paths), paths[-1].critical, inside)


def checked_levels(levels: Mapping[float, Intervals]) -> list[tuple[float, Intervals]]:
    """Levels in ascending order, of the same rows and each inside the next."""
    if not isinstance(levels, Mapping) or not levels:
        raise TypeError(
            "`levels` must be a dict from level to Intervals, such as {0.5: inner, 0.9: outer}."
        )
    nested = []
    for level, intervals in levels.items():
        if not isinstance(intervals, Intervals):
            raise TypeError(
                f"`levels` must hold Intervals; level {level!r} holds {type(intervals).__name__}."
            )
        nested.append((float(checks.proportion("level", level)), intervals))
    nested.sort(key=lambda pair: pair[0])
    if len(nested) > 1 and not nested[0][1].has_prediction:
        raise ValueError(
            "`levels` of a single bound need a prediction to measure them from. "
            "Hint: pass `y_pred`, for which the median will do, "
            "or name one bound (on the command line --model NAME=,,COLUMN)."
        )
    for inner, outer in pairwise(nested):
        _refuse_other_rows(inner, outer)
        _refuse_crossing("lower", inner, outer)
        _refuse_crossing("upper", inner, outer)
    return nested


def _refuse_other_rows(inner: tuple[float, Intervals], outer: tuple[float, Intervals]) -> None:
    """Refuse two levels of different rows, or one level twice."""
    if inner[0] == outer[0]:
        raise ValueError(f"`levels` must differ; level {inner[0]:g} is given twice.")
    for name in ("y_true", "y_pred", "_weight"):
        if not np.array_equal(getattr(inner[1], name), getattr(outer[1], name)):
            raise ValueError(
                f"`levels` must share {name.strip('_')}: level {inner[0]:g} and level {outer[0]:g} differ. "
                "Hint: build all levels from the same rows."
            )


def _refuse_crossing(side: str, *levels: tuple[float, Intervals]) -> None:
    """Refuse two levels of which the inner one reaches beyond the outer one."""
    inner, outer = (getattr(intervals, f"{side}_band") for _, intervals in levels)
    rule = checks.Rule(
        "levels", f"be nested in their {side} bounds", ("is not", "are not"), SORT_HINT
    )
    bounds = [(getattr(intervals, side), level) for level, intervals in levels]
    checks.rows(
        inner > outer,
        rule,
        lambda at: ", ".join(f"{bound[at]!s} at level {level:g}" for bound, level in bounds),
    )
