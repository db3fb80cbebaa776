"""The definition of a curve over levels in slow, exact loops, and rows of several levels to try it on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import inf

from hypothesis import strategies as st

import uccurve as ucc
from oracle import Oracle, Row
from strategies import Data, dyadic, judged, mixed, refused_beyond


@dataclass(frozen=True)
class LevelRow(Row):
    """A row with its bands at each place on the scale, from 0 to the widest level at 1."""

    knots: tuple[Fraction, ...] = ()
    lowers: tuple[Fraction, ...] = ()
    uppers: tuple[Fraction, ...] = ()

    def raw_bounds(self, vary: str, t: Fraction) -> tuple[Fraction, Fraction]:
        del vary
        lower, upper = (self.band(bands, t) for bands in (self.lowers, self.uppers))
        return self.y_pred - lower, self.y_pred + upper

    def band(self, bands: tuple[Fraction, ...], t: Fraction) -> Fraction:
        if t >= 1:
            return t * bands[-1]
        for (left, right), (low, high) in zip(pairwise(self.knots), pairwise(bands), strict=True):
            if left <= t <= right:
                return low + (high - low) * (t - left) / (right - left)
        raise AssertionError

    def slopes(self, bands: tuple[Fraction, ...]) -> Iterator[Fraction]:
        """Growth of a band between the knots, and beyond the last."""
        for (left, right), (low, high) in zip(pairwise(self.knots), pairwise(bands), strict=True):
            yield (high - low) / (right - left)
        yield bands[-1]

    @property
    def actives(self) -> tuple[Fraction, ...]:
        return self.uppers if self.is_above else self.lowers

    @property
    def others(self) -> tuple[Fraction, ...]:
        return self.lowers if self.is_above else self.uppers


class LevelsOracle(Oracle):
    """Only the breakpoints differ; values, areas, targets and costs are the oracle's own."""

    rows: list[LevelRow]  # type: ignore[assignment]  # rows of one kind only

    def critical(self, row: Row) -> Fraction | float:
        assert isinstance(row, LevelRow)
        if row.error == 0:
            return Fraction(0)
        for (left, right), (low, high) in zip(
            pairwise(row.knots), pairwise(row.actives), strict=True
        ):
            if high >= row.error:
                return left + (right - left) * (row.error - low) / (high - low)
        return row.error / row.actives[-1] if row.actives[-1] else inf

    @property
    def decided_by_rounding(self) -> bool:
        """Whether an error and a band differ beyond float64, so that the rounded bounds say which one is larger."""
        gaps = ((abs(band - row.error), row.error) for row in self.rows for band in row.actives)
        return any(0 < gap < error / 10**12 for gap, error in gaps)

    @cached_property
    def breakpoints(self) -> list[Fraction]:
        found = {self.start, *self.criticals, *self.rows[0].knots}
        for row in self.rows:
            if row.side == "both":
                found.update(self._crossovers(row))
            found.update(self._limits(row))
        return sorted(t for t in found if self.start <= t <= self.end)

    @staticmethod
    def _crossovers(row: LevelRow) -> Iterator[Fraction]:
        """Where both bounds are equally far from the observation."""
        gaps = [a - o - 2 * row.error for a, o in zip(row.actives, row.others, strict=True)]
        for (left, right), (g, h) in zip(pairwise(row.knots), pairwise(gaps), strict=True):
            if g * h < 0:
                yield left + (right - left) * g / (g - h)
        if row.actives[-1] > row.others[-1]:
            yield 2 * row.error / (row.actives[-1] - row.others[-1])

    def _limits(self, row: LevelRow) -> Iterator[Fraction]:
        """Where a band has one of the lengths at which a support changes a slope."""
        lengths = self._ends_of(row)
        for bands, wanted in ((row.actives, lengths), (row.others, lengths[::-1])):
            for length in wanted:
                if not isinstance(length, Fraction):
                    continue
                for (left, right), (low, high) in zip(
                    pairwise(row.knots), pairwise(bands), strict=True
                ):
                    if low <= length <= high and high > low:
                        yield left + (right - left) * (length - low) / (high - low)
                if bands[-1]:
                    yield length / bands[-1]

    def delivered_crps(self, widest: Fraction) -> Fraction:
        """Integral over alpha of alpha * bandwidth + deficit with the model's own interval at each level 1 - alpha.

        Above the widest level that is the widest one. Between two breakpoints the bands are straight and the sum is a
        quadratic in alpha, which Simpson's rule integrates exactly.
        """

        def cost(alpha: Fraction) -> Fraction:
            metrics = self.values(min((1 - alpha) / widest, Fraction(1)))
            return alpha * metrics["bandwidth"] + metrics["deficit"]

        inside = {1 - widest * t for t in (*self.breakpoints, *self.rows[0].knots) if t <= 1}
        places = sorted(inside | {Fraction(0), Fraction(1)})
        total = Fraction(0)
        for left, right in pairwise(places):
            total += (right - left) * (cost(left) + 4 * cost((left + right) / 2) + cost(right)) / 6
        return total

    def at(self, t: Fraction) -> Oracle:
        """The intervals at one place, as a model with a single level."""
        bounds = ((row, row.raw_bounds("levels", t)) for row in self.rows)
        return Oracle(
            [
                Row(
                    r.y_true,
                    r.y_pred,
                    r.y_pred - low,
                    up - r.y_pred,
                    r.weight,
                    r.side,
                    r.low,
                    r.high,
                )
                for r, (low, up) in bounds
            ]
        )

    def constant(self) -> Oracle:
        return Oracle(
            [Row(r.y_true, r.y_pred, Fraction(1), Fraction(1), r.weight) for r in self.rows]
        )


@dataclass(frozen=True)
class Nested:
    """One set of rows at several levels, for the package and for the oracle alike."""

    names: tuple[float, ...]
    levels: tuple[Data, ...]

    def curve(self) -> ucc.UCC:
        """The package's curve; other rows are drawn where it must refuse these, and does."""
        c = ucc.UCC.from_levels(
            {name: data.intervals() for name, data in zip(self.names, self.levels, strict=True)}
        )
        rows = self.oracle().rows
        slopes = [
            step for row in rows for bands in (row.lowers, row.uppers) for step in row.slopes(bands)
        ]
        refused_beyond(c, float(max(slopes)), float(sum(row.weight * row.error for row in rows)))
        return c

    def delivered(self, coverage: float) -> Oracle:
        """The model's own interval of a level, interpolated between two; the widest one above it."""
        level = min(coverage, self.names[-1])
        place = (
            Fraction(level / self.names[-1])
            if level in self.names
            else Fraction(level) / Fraction(self.names[-1])
        )
        return self.oracle().at(place)

    def oracle(self) -> LevelsOracle:
        widest = self.levels[-1]
        weights = [Fraction(w) for w in (widest.weight or [1.0] * len(widest.y_true))]
        knots = (Fraction(0), *(Fraction(name / self.names[-1]) for name in self.names))
        low, high = (
            default if end is None else Fraction(end)
            for end, default in zip(widest.support, (-inf, inf), strict=True)
        )
        rows = []
        for i, weight in enumerate(weights):
            lowers, uppers = (
                (Fraction(0), *(Fraction(getattr(data, side)[i]) for data in self.levels))
                for side in ("lower_band", "upper_band")
            )
            y, p = Fraction(widest.y_true[i]), Fraction(widest.y_pred[i])
            if weight:
                rows.append(
                    LevelRow(
                        y,
                        p,
                        lowers[-1],
                        uppers[-1],
                        weight / sum(weights),
                        widest.side,
                        low,
                        high,
                        knots=knots,
                        lowers=lowers,
                        uppers=uppers,
                    )
                )
        return LevelsOracle(rows)


@st.composite
def nested(
    draw: st.DrawFn, *, weighted: bool = True, rounded: bool = True, sided: bool = False
) -> Nested:
    """Rows of one to four levels, each as wide as the one inside or wider; quarters, so that ties abound, or floats."""
    names = draw(
        st.sampled_from([(0.5,), (0.5, 1 - 1e-9), (0.2, 0.25, 0.8), (0.5, 0.8, 0.9, 0.95)])
    )
    rows = mixed if rounded else dyadic
    drawn = rows(max_size=6, weighted=weighted, never=draw(st.booleans()))
    inner = draw(judged(drawn) if sided else drawn)
    levels, n = [inner], len(inner.y_true)
    step = st.integers(0, 8).map(lambda k: k / 4)
    for _ in names[1:]:
        more = [draw(st.lists(step, min_size=n, max_size=n)) for _ in range(2)]
        last = levels[-1]
        bands = [
            tuple(band + wider for band, wider in zip(old, new, strict=True))
            for old, new in zip((last.lower_band, last.upper_band), more, strict=True)
        ]
        levels.append(replace(inner, lower_band=bands[0], upper_band=bands[1]))
    return Nested(names, tuple(levels))
