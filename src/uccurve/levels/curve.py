"""Levels: the curve of a model that delivers intervals at several levels, by its own levels instead of by scaling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from uccurve import _checks as checks
from uccurve._checks import Array, Axes, Metric, Range, Unit
from uccurve.area import integral
from uccurve.curve import UCC
from uccurve.intervals import Intervals
from uccurve.points import OperatingPoint
from uccurve.profile import Profile

from .nested import NestedProfile, NestedTrack

if TYPE_CHECKING:
    from uccurve.compare.permutation import PermutationTest
    from uccurve.compare.replicates import BootstrapInterval


@dataclass(frozen=True, slots=True, repr=False)
class LevelPoint(OperatingPoint):
    """An operating point with its nominal `level`: None where the scale is above 1, wider than any level delivered."""

    level: float | None = None


class LevelsUCC(UCC):
    """Curve of intervals at several nominal levels; build it by `UCC.from_levels`.

    Every method of `UCC` answers, and every operating point also has a `level`. A scale of 1 is the widest level as
    delivered; below, a level p lies at the scale p divided by the widest level and bands run straight from one level
    to the next (from 0 to the first); above, the widest level's bands are multiplied, so that the curve goes on until
    all rows are covered. With one level it is the ordinary curve.

    Attributes
    ----------
    levels : tuple of float
        Nominal levels, rising.
    intervals : Intervals
        The widest level's.
    """

    __slots__ = ("_levels", "_nested", "levels")
    levels: tuple[float, ...]
    _levels: tuple[Intervals, ...]
    _nested: NestedProfile

    def __init__(self, levels: Mapping[float, Intervals]) -> None:
        checked = _checked(levels)
        super().__init__(checked[-1][1])
        names = tuple(level for level, _ in checked)
        object.__setattr__(self, "levels", names)
        object.__setattr__(self, "_levels", tuple(intervals for _, intervals in checked))
        knots = np.array([0.0, *(level / names[-1] for level in names)])
        object.__setattr__(self, "_nested", NestedProfile.nested(self._levels, knots))

    def at(self, value: float | None = None, *, level: float | None = None, unit: Unit = "raw") -> LevelPoint:
        """Return the operating point at one scale, or at one level: exactly as delivered where it is one of `levels`.

        Examples
        --------
        >>> inner = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 1])
        >>> outer = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[2, 3, 2])
        >>> curve = UCC.from_levels({0.5: inner, 0.9: outer})
        >>> curve.at(level=0.5).bandwidth, round(curve.at(level=0.7).bandwidth, 3), curve.at(1.0).level
        (1.0, 1.667, 0.9)
        """
        scale = self._scale(value, level)
        return self._point(self._nested, scale, unit)

    def find(self, **target: Any) -> LevelPoint:
        """Return the operating point at the least scale that reaches one target; as `UCC.find`, with its level.

        With ``conformal=True`` it is conformal prediction with nested sets: the guarantee of `UCC.find`, for the
        model's own levels.
        """
        return cast(LevelPoint, super().find(**target))

    def cheapest(self, c: float, **options: Any) -> LevelPoint:
        """Return the operating point of least cost, as `UCC.cheapest`, with its level."""
        return cast(LevelPoint, super().cheapest(c, **options))

    def intervals_at(self, value: float | None = None, *, level: float | None = None) -> Intervals:
        """Return the intervals at one scale, or at one level, such as those that `find` or `cheapest` chose.

        Examples
        --------
        >>> inner = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 1])
        >>> outer = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[2, 3, 2])
        >>> UCC.from_levels({0.5: inner, 0.9: outer}).intervals_at(level=0.7).lower_band.round(3).tolist()
        [1.5, 2.0, 1.5]
        """
        scale = self._scale(value, level)
        if scale >= 1:
            return self.intervals.calibrated(scale=scale)
        knots = self._nested.knots
        i = int(np.searchsorted(knots, scale, side="right")) - 1
        if i and scale == knots[i]:
            return self._levels[i - 1]
        outer, share = self._levels[i], (scale - knots[i]) / (knots[i + 1] - knots[i])
        if i == 0:
            return outer.calibrated(scale=float(share))
        inner = self._levels[i - 1]
        bands = [
            a + share * (b - a) for a, b in ((inner.lower_band, outer.lower_band), (inner.upper_band, outer.upper_band))
        ]
        return Intervals.from_bands(outer.y_true, outer.y_pred, *bands, weight=outer._weight)

    def permutation_test(self, other: LevelsUCC, **options: Any) -> PermutationTest:
        """Test whether two models' own levels differ by more than chance, as `uccurve.permutation_test` for one level.

        Both are brought to the same mean half-width all along the curve before rows are swapped, which leaves both
        curves as they are; their levels need not be the same. With one level each it is that very test.

        Parameters
        ----------
        other : LevelsUCC
            Of the same rows.
        **options
            `statistic` (``"area"``, ``"gain"`` or ``"cheapest"``), `axes`, ranges, `c`, `unit`, `n_resamples` (1999),
            `alternative`, `seed`, `block` and `progress`, as in `uccurve.permutation_test`. Whole areas and gains on
            bandwidth/miss_rate, bandwidth/deficit and overshoot/deficit take one matrix product for all swaps, anything
            else a curve a swap.

        Examples
        --------
        >>> y, zero = [1.0, 2.0, 4.0, 0.5, 3.0, 2.5, 5.0, 1.5], [0.0] * 8
        >>> def levels(bands):
        ...     inner, outer = (Intervals.from_bands(y, zero, share * np.array(bands)) for share in (0.5, 1.0))
        ...     return UCC.from_levels({0.5: inner, 0.9: outer})
        >>> sharp = levels([0.9, 2.2, 3.9, 0.6, 2.8, 2.6, 5.2, 1.3])
        >>> sharp.permutation_test(levels([2.4] * 8), axes=("bandwidth", "deficit"))
        PermutationTest(statistic=-0.9977, pvalue=0.01562, two-sided, 256 every swap of 8 units)
        """
        from .significance import permutation_test

        return permutation_test(self, other, **options)

    def bootstrap(self, **options: Any) -> BootstrapInterval:
        """Confidence interval of an answer, as `uccurve.bootstrap` for one level.

        Parameters
        ----------
        **options
            `statistic` (``"gain"``, ``"area"`` or ``"cheapest"``), `axes`, ranges, `c`, `unit`, `confidence_level`,
            `method`, `n_resamples`, `seed`, `block` and `progress`, as in `uccurve.bootstrap`.
        """
        from .significance import bootstrap

        return bootstrap(self, **options)

    def __repr__(self) -> str:
        spans = " to ".join(f"{self.at(level=level).miss_rate:.4g}" for level in (self.levels[0], self.levels[-1]))
        rows = f"{len(self.intervals)} row{'s' if len(self.intervals) > 1 else ''}"
        names = f"{len(self.levels)} levels {self.levels[0]:g} to {self.levels[-1]:g}"
        return f"LevelsUCC({rows}, {names}, miss_rate {spans})"

    def _scale(self, scale: float | None, level: float | None) -> float:
        if level is None and scale is not None:
            return checks.real("scale", scale, 0)
        if level is None or scale is not None:
            raise ValueError("give one scale, or one level by level=.")
        level = checks.real("level", level, 0, self.levels[-1])
        if level in self.levels:
            return float(self._nested.knots[1 + self.levels.index(level)])
        return level / self.levels[-1]

    def _profile(self) -> Profile:
        return self._nested

    def _shares(self, axes: Axes, falling: Metric, other: Metric) -> Array:
        if falling == "miss_rate":
            return super()._shares(axes, falling, other)
        return self._track(axes).shares(other)

    def _track(self, names: tuple[Metric, ...]) -> NestedTrack:
        kinds = frozenset({"fold"}) if "excess" in names else frozenset()
        if kinds not in self._tracks:
            self._tracks[kinds] = NestedTrack(self._nested, folds=bool(kinds))
        return cast(NestedTrack, self._tracks[kinds])

    def _area(self, axes: Axes, part: tuple[Metric, Range] | None, unit: Unit) -> tuple[float, float, float]:
        x_size, y_size = self._sizes(self._nested.size, axes, unit)
        cut = None if part is None else self._piece(self._nested, *part, unit)
        return integral(self._track(axes), self._nested, axes, cut), x_size, y_size

    def _point(self, profile: Profile, t: float, unit: Unit, cost: tuple[float, Axes] | None = None) -> LevelPoint:
        point = super()._point(profile, t, unit, cost)
        places = np.flatnonzero(self._nested.knots[1:] == t)
        level = self.levels[places[0]] if len(places) else t * self.levels[-1] if t < 1 else None
        return LevelPoint(**{name: getattr(point, name) for name in OperatingPoint.__dataclass_fields__}, level=level)


def _checked(levels: Mapping[float, Intervals]) -> list[tuple[float, Intervals]]:
    """Levels in rising order, of the same rows and each inside the next."""
    if not isinstance(levels, Mapping) or not levels:
        raise TypeError("`levels` must be a dict from level to Intervals, such as {0.5: inner, 0.9: outer}.")
    for level, intervals in levels.items():
        if not isinstance(intervals, Intervals):
            raise TypeError(f"`levels` must hold Intervals; level {level!r} holds {type(intervals).__name__}.")
        if not 0 < checks.real("level", level) < 1:
            raise ValueError(f"a level must lie between 0 and 1, both excluded; got {level!r}. Hint: 90 % is 0.9.")
    ordered = sorted((float(level), intervals) for level, intervals in levels.items())
    for (inner_level, inner), (outer_level, outer) in pairwise(ordered):
        _same_rows(inner, outer, f"level {inner_level:g} and level {outer_level:g}")
        _inside(inner, outer, inner_level, outer_level)
    return ordered


def _same_rows(inner: Intervals, outer: Intervals, who: str) -> None:
    for name in ("y_true", "y_pred", "_weight"):
        first, second = getattr(inner, name), getattr(outer, name)
        if (first is None) != (second is None) or not (first is None or np.array_equal(first, second)):
            raise ValueError(
                f"`levels` must share {name.strip('_')}: {who} differ. Hint: build all levels from the same rows."
            )


def _inside(inner: Intervals, outer: Intervals, inner_level: float, outer_level: float) -> None:
    for side in ("lower", "upper"):
        narrow, wide = (getattr(intervals, f"{side}_band") for intervals in (inner, outer))
        bounds = getattr(inner, side), getattr(outer, side)

        def detail(at: Any, bounds: tuple[Array, Array] = bounds) -> str:
            return f"{bounds[0][at]!s} at level {inner_level:g}, {bounds[1][at]!s} at level {outer_level:g}"

        rule = checks.Rule(
            "levels", f"be nested in their {side} bounds", ("is not", "are not"), "sort crossing quantiles first"
        )
        checks.rows(narrow > wide, rule, detail)
