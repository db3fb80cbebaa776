"""Levels: the path through a model's own nested intervals."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import fsum
from typing import ClassVar, Self

import numpy as np

from . import _refusals as checks
from ._arrays import Indices
from ._paths import Events, Path, ScalePath, cumulative, refuse_unresolved
from ._rows import ALL, Part
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
            return t * self.actives[-1, part], t * self.others[-1, part]
        i = int(np.searchsorted(self.knots, t, side="right")) - 1
        share = (t - self.knots[i]) / (self.knots[i + 1] - self.knots[i])
        active, other = (
            bands[i, part] + share * (bands[i + 1, part] - bands[i, part])
            for bands in (self.actives, self.others)
        )
        return active, other

    def slopes(self, t: float) -> tuple[Array, Array]:
        """How fast the active and the other band grow between the levels around t."""
        active, other = self.growth()
        i = int(np.searchsorted(self.knots, t, side="right")) - 1
        return active[i], other[i]

    @property
    def widths(self) -> Array:
        """Mean half-width at each knot."""
        return np.array(
            [self.mean(a / 2 + o / 2) for a, o in zip(self.actives, self.others, strict=True)]
        )

    def half_width(self, t: Array) -> Array:
        """Mean half-width at each t: straight lines between the knots, in proportion to t above 1."""
        widths = self.widths
        return np.where(t < 1, np.interp(t, self.knots, widths), t * widths[-1])

    def growth(self) -> tuple[Array, Array]:
        """Growth of the active and other bands from each knot to the next, and beyond the last: one line per knot."""
        active = _slopes(self.actives, self.knots[:, None])
        return active, active if self.symmetric else _slopes(self.others, self.knots[:, None])

    def events(self) -> Iterator[Events]:
        """Coverage and crossovers of rows, and at each level the change of all rows together."""
        growth, widths = self.growth(), _slopes(self.widths, self.knots)
        yield self._coverage(*growth)
        exact = bool(widths.max() > STEEP * min(self.mean(self.error), widths[-1]))
        for i in np.flatnonzero(self.knots < self.largest).tolist():
            if i > 0:
                yield self._change_at_knot(i, *growth, exact=exact)
            if not self.symmetric:
                yield self._crossovers(i, growth[0][i], growth[1][i])

    def width_integrals(self, t: Array, mass: Array) -> Array:
        """Integral of each row's half-width."""
        edges, count, moment = self._cumulative(t, mass)
        masses, further = (
            np.diff(count[edges]),
            np.diff(moment[edges]) / np.diff(self.knots, append=2.0),
        )
        masses[:-1] -= further[:-1]
        masses += np.append(0.0, further[:-1])
        masses[-1] += further[-1]
        widths: Array = masses @ self.actives
        return widths if self.symmetric else (widths + masses @ self.others) / 2

    def deficit_integrals(self, t: Array, mass: Array, place: Indices) -> Array:
        """Integral of each row's deficit; the masses must not be negative."""
        edges, count, moment = self._cumulative(t, mass)
        missed, further, growth = count[place], moment[place], self.growth()[0]
        short = self.error * missed
        for i, (first, last) in enumerate(pairwise(edges.tolist())):
            short -= self.actives[i] * (np.clip(missed, count[first], count[last]) - count[first])
            short -= growth[i] * (np.clip(further, moment[first], moment[last]) - moment[first])
        return short

    def _cumulative(self, t: Array, mass: Array) -> tuple[Indices, Array, Array]:
        """Where the knots lie among ascending t, and cumulative masses and moments around the knot before each t."""
        edges = np.append(np.searchsorted(t, self.knots), len(t))
        return (
            edges,
            cumulative(mass),
            cumulative(mass * (t - np.repeat(self.knots, np.diff(edges)))),
        )

    def subset(self, rows: Part) -> Self:
        """Some of the rows."""
        chosen = super(LevelsPath, self).subset(rows)
        return replace(chosen, actives=self.actives[:, rows], others=self.others[:, rows])

    def _coverage(self, growth: Array, other_growth: Array) -> Events:
        """Growth of the active band after (overshoot, excess) and before (deficit) each row's critical t."""
        rows = self.coverable
        numbers, critical = np.arange(len(self))[rows], self.critical[rows]
        after = np.sum([critical >= knot for knot in self.knots[1:]], axis=0)
        rising = nearer = growth[after, numbers]
        falling, at_knot = (
            rising.copy(),
            np.flatnonzero((self.knots[after] == critical) & (after > 0)),
        )
        falling[at_knot] = growth[after[at_knot] - 1, numbers[at_knot]]
        if not self.symmetric:
            nearer = np.where(critical > 0, rising, np.minimum(growth[0], other_growth[0])[rows])
        changes: dict[Metric, Array] = {"overshoot": rising, "deficit": falling, "excess": nearer}
        return Events(
            critical, {name: self.weighted(change, rows) for name, change in changes.items()}
        )

    def _change_at_knot(self, i: int, growth: Array, other_growth: Array, *, exact: bool) -> Events:
        """Sums over all rows of what the slopes of their metrics change by at a knot."""

        def change(before: Array, after: Array) -> Array | tuple[Array, Array]:
            if not exact:
                return np.array([np.sum(self.weighted(after - before))])
            terms = [*self.weighted(after).tolist(), *(-self.weighted(before)).tolist()]
            high = fsum(terms)
            return np.array([high]), np.array([fsum([*terms, -high])])

        (left, right), (other_left, other_right) = (
            growth[i - 1 : i + 1],
            other_growth[i - 1 : i + 1],
        )
        covered, missed = self.critical < self.knots[i], self.critical > self.knots[i]
        rising = change(left * covered, right * covered)
        changes: dict[Metric, Array | tuple[Array, Array]] = {
            "bandwidth": np.zeros(1),  # which has a vertex here, and its values from `half_width`
            "overshoot": rising,
            "deficit": change(right * missed, left * missed),
            "excess": rising,
        }
        if not self.symmetric:
            gap = self._gap(i)
            nearer_left = np.where(
                gap == 0, np.maximum(left, other_left), np.where(gap < 0, left, other_left)
            )
            nearer_right = np.where(
                gap == 0, np.minimum(right, other_right), np.where(gap < 0, right, other_right)
            )
            changes["excess"] = change(nearer_left * covered, nearer_right * covered)
        return Events(self.knots[i : i + 1], changes)

    def _crossovers(self, i: int, active: Array, other: Array) -> Events:
        """Rows whose nearer bound changes between knot `i` and the next: the excess then grows more slowly.

        They are covered there, whatever rounding says: the active band is the other one and two errors more. `active`
        and `other` are the growth of the bands there.
        """
        gap = self._gap(i)
        if i == len(self.knots) - 1:
            rows = np.flatnonzero((gap < 0) & (active > other))
            with np.errstate(over="ignore"):
                position = self.knots[i] - gap[rows] / (active - other)[rows]
        else:
            following = self._gap(i + 1)
            rows = np.flatnonzero(np.sign(gap) * np.sign(following) < 0)
            share = gap[rows] / (gap[rows] - following[rows])
            position = self.knots[i] + share * (self.knots[i + 1] - self.knots[i])
        position = np.maximum(position, self.critical[rows])
        kept = position < self.largest
        rows = rows[kept]
        faster, slower = np.maximum(active, other)[rows], np.minimum(active, other)[rows]
        change = -self.weighted(faster, rows), self.weighted(slower, rows)
        return Events(position[kept], {"excess": change})

    def _gap(self, i: int) -> Array:
        """By how much the other bound is nearer to the observation than the bound on the error's side."""
        gap: Array = self.actives[i] - self.others[i] - 2 * self.error
        return gap


def _slopes(values: Array, knots: Array) -> Array:
    """Slopes from each knot to the next, and beyond the last, at t = 1, of what is in proportion to t from there on."""
    return np.diff(values, axis=0, append=2 * values[-1:]) / np.diff(
        knots, axis=0, append=2 * knots[-1:]
    )


def _between_levels(
    error: Array, paths: Sequence[ScalePath], knots: Array, actives: Array
) -> Array:
    """Smallest t that covers each row; the delivered bounds say between which levels it lies."""
    missed = np.sum([path.critical > 1 for path in paths], axis=0)
    i, rows = np.minimum(missed, len(paths) - 1), np.arange(len(error))
    low, high = actives[i, rows], actives[i + 1, rows]
    share = np.divide(error - low, high - low, out=np.ones(len(rows)), where=high > low)
    inside = np.clip(knots[i] + share * np.diff(knots)[i], np.nextafter(knots, 1)[i], knots[i + 1])
    return np.where(missed == len(paths), paths[-1].critical, np.where(error > 0, inside, 0))


def checked_levels(levels: Mapping[float, Intervals]) -> list[tuple[float, Intervals]]:
    """Levels in ascending order, of the same rows and each inside the next."""
    if not isinstance(levels, Mapping) or not levels:
        raise TypeError(
            "`levels` must be a dict from level to Intervals, such as {0.5: inner, 0.9: outer}."
        )
    found = []
    for level, intervals in levels.items():
        if not isinstance(intervals, Intervals):
            raise TypeError(
                f"`levels` must hold Intervals; level {level!r} holds {type(intervals).__name__}."
            )
        found.append((float(checks.proportion("level", level)), intervals))
    found.sort(key=lambda pair: pair[0])
    for inner, outer in pairwise(found):
        for name in ("y_true", "y_pred", "_weight"):
            if not np.array_equal(getattr(inner[1], name), getattr(outer[1], name)):
                raise ValueError(
                    f"`levels` must share {name.strip('_')}: level {inner[0]:g} and level {outer[0]:g} differ. "
                    "Hint: build all levels from the same rows."
                )
        _refuse_crossing("lower", inner, outer)
        _refuse_crossing("upper", inner, outer)
    return found


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
