"""UCC: the curve of one set of intervals, and its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from math import floor, nan
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from . import _refusals as checks
from ._bounds import BoundPath
from ._distributions import conformal_rank
from ._door import standard_deviation
from ._levels import LevelsPath, checked_levels
from ._paths import Path, ScalePath, ShiftPath
from ._ramps import (
    Ramps,
    closed_area,
    closed_axes,
    integral,
    piece,
    rounding_of_area,
    row_shares,
    t_reaching,
)
from ._scoring import (
    ROUNDING,
    conformal_t,
    decomposition,
    rows_carrying,
    saved_share,
    shipped_score,
)
from ._vocabulary import (
    FALLING,
    HEADLINE,
    METRICS,
    SUMMARY,
    Array,
    Axes,
    Metric,
    Range,
    Target,
    Unit,
    Vary,
)
from .intervals import NO_PREDICTION, Intervals
from .points import Curve, CurvePoints, Decomposition, OperatingPoint

if TYPE_CHECKING:
    from .plots.display import UCCDisplay


class _Made:
    """What a curve has made of its intervals and keeps: its vertices in order, and the constant band's curve."""

    ramps: Ramps | None = None
    constant: UCC | None = None


@dataclass(frozen=True, eq=False)
class UCC:
    """Uncertainty Characteristics Curve: the metrics of intervals over every scale or shift of their bands.

    Parameters
    ----------
    intervals : Intervals
    vary : {"scale", "shift"}, optional
        Multiply both bands by a factor, or add an amount to both. By default a factor; a bound without a prediction can
        only be shifted.

    Notes
    -----
    Nothing is sorted before something that needs order is asked for. `at` and `cost` take O(n); `area` and `gain` of a
    whole curve over the scale take O(n) on miss_rate vs. bandwidth, deficit vs. bandwidth, deficit vs. overshoot, and
    deficit vs. excess where the bands are symmetric; everything else takes O(n log n) the first time and O(n) after.

    All methods with ``axes`` take any two of ``bandwidth, miss_rate, excess, deficit, overshoot``, first x, then y.
    ``unit="std"`` (the standard deviation of ``y_true``) or a number divides all of them but the miss rate, in what is
    returned and in targets and ranges that are passed. Ranges name one metric, as in ``miss_rate=(0, 0.5)``.

    Examples
    --------
    >>> iv = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])
    >>> c = UCC(iv)
    >>> c
    UCC(3 rows, scale 1 to 2, miss_rate 0.3333 to 0)
    >>> c.area()  # bandwidth 2 times the mean critical scale 4/3
    2.6666666666666665
    >>> c.find(miss_rate=0.4).scale
    1.0
    """

    intervals: Intervals
    vary: Vary = field(default=cast("Vary", None), kw_only=True)  # settled below
    levels: tuple[float, ...] = field(default=(), init=False)
    _levels: tuple[Intervals, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.intervals, Intervals):
            raise TypeError(
                f"`intervals` must be Intervals; got {type(self.intervals).__name__}. Hint: see Intervals.from_bounds."
            )
        if self.vary is None:
            usual: Vary = "scale" if self.intervals.has_prediction else "shift"
            object.__setattr__(self, "vary", usual)
        checks.choice("vary", self.vary, ("scale", "shift"))
        if self.vary == "scale" and not self.intervals.has_prediction:
            raise ValueError(NO_PREDICTION.format('`vary="scale"`'))

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles carry the data and sort again when asked."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    def forget_order(self) -> None:
        """Free the memory of the sorted vertices; they are sorted again when asked for."""
        self._made.ramps = None
        self._made.constant = None

    @classmethod
    def from_levels(cls, levels: Mapping[float, Intervals]) -> UCC:
        """Curve of a model that delivers nested intervals at several levels: its own levels instead of scaling one.

        A scale of 1 is the widest level as delivered (``curve.intervals``). Below, a level p lies at the scale p
        divided by the widest level and bands run straight from one level to the next (from 0 to the first); above, the
        widest level's bands are multiplied, so that the curve goes on until all rows are covered. Operating points
        have a `level`, None above the widest. With one level it is the ordinary curve.

        Examples
        --------
        >>> inner = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 1])
        >>> outer = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[2, 3, 2])
        >>> curve = UCC.from_levels({0.5: inner, 0.9: outer})
        >>> curve
        UCC(3 rows, 2 levels 0.5 to 0.9, miss_rate 0.6667 to 0.3333)
        >>> (
        ...     curve.at(level=0.5).bandwidth,
        ...     round(curve.at(level=0.7).bandwidth, 3),
        ...     curve.at(1.0).level,
        ... )
        (1.0, 1.667, 0.9)
        """
        names, intervals = zip(*checked_levels(levels), strict=True)
        self = object.__new__(cls)
        values = {
            "intervals": intervals[-1],
            "vary": "levels",
            "levels": names,
            "_levels": intervals,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        return self

    def at(
        self, value: float | None = None, *, level: float | None = None, unit: Unit = "raw"
    ) -> OperatingPoint:
        """Return the operating point at one scale (or shift); the model as delivered is scale 1, shift 0. O(n).

        A curve of several levels also takes a `level`: exactly as delivered where it is one of them.
        """
        path = self.path()
        return self.point_at(path, self._asked(value, level), unit)

    def find(
        self,
        *,
        conformal: bool = False,
        confidence: float | None = None,
        unit: Unit = "raw",
        **targets: Target,
    ) -> OperatingPoint:
        """Return the operating point at the smallest scale (or shift) that reaches one target.

        Parameters
        ----------
        conformal : bool
            Reach it for a new, exchangeable row rather than for these rows: the scale is the critical scale of rank
            ``ceil((n + 1) * coverage)``, split conformal prediction with normalised residuals. Ranks are computed
            without rounding; 0.07 means 7/100. The coverage holds on average over calibration sets.
        confidence : float, optional
            With `conformal`: reach at least the coverage in this share of all calibration sets, by a higher rank.
        unit : {"raw", "std"} or float
        **targets
            One of ``coverage``, ``miss_rate``, ``bandwidth``, ``excess``, ``deficit``, ``overshoot``.
            ``coverage=0.9`` is ``miss_rate=0.1``, exactly.

        Examples
        --------
        >>> c = UCC(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 1]))
        >>> (
        ...     c.find(miss_rate=0.5).scale,
        ...     c.find(coverage=0.5, conformal=True).scale,
        ...     c.find(bandwidth=3).scale,
        ... )
        (2.0, 2.0, 3.0)
        """
        name, target = checks.target(targets, conformal=conformal, confidence=confidence)
        path = self.path()
        how = ""
        if conformal:
            if not path.equally_weighted:
                raise ValueError(
                    "`conformal` counts rows, so it needs equal weights. Hint: leave `weight` out."
                )
            rank = conformal_rank(len(path), checks.as_written(target), confidence)
            t = path.critical_of_rank(rank)
            how = f" with conformal rank {rank} of {len(path)}"
        elif name == "miss_rate" and path.equally_weighted:
            t = path.critical_of_rank(rank_leaving(len(path), target))
        else:
            size = self._sizes(unit)[name]
            ramps = self.ramps(path)
            t = t_reaching(ramps, path, name, float(target) / size, beyond_the_curve=True)
        if np.isinf(t):
            raise self._out_of_reach(path, name, target, unit, how)
        return self.point_at(path, t, unit)

    def points(self, *, axes: Axes = HEADLINE, unit: Unit = "raw") -> CurvePoints:
        """Vertices of the curve from its start to its last finite critical scale (or shift).

        Between vertices a miss rate keeps its value; every other metric is a straight line.

        Examples
        --------
        >>> p = UCC(
        ...     Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])
        ... ).points()
        >>> p.x.tolist(), p.y.round(3).tolist(), p.scale.tolist()
        ([0.0, 2.0, 4.0], [1.0, 0.333, 0.0], [0.0, 1.0, 2.0])
        """
        axes = checks.axes(axes)
        columns = self._columns(axes, unit)
        return CurvePoints(
            axes=axes,
            x=columns[axes[0]],
            y=columns[axes[1]],
            scale=columns.get("scale"),
            shift=columns.get("shift"),
        )

    def table(self, *, unit: Unit = "raw") -> dict[str, Array]:
        """Scale (or shift) and all five metrics at every vertex, in columns ready for a data frame.

        Examples
        --------
        >>> table = UCC(
        ...     Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])
        ... ).table()
        >>> list(table), table["overshoot"].round(4).tolist()
        (['scale', 'bandwidth', 'miss_rate', 'excess', 'deficit', 'overshoot'], [0.0, 0.0, 1.6667])
        """
        return self._columns(METRICS, unit)

    def area(self, *, axes: Axes = HEADLINE, unit: Unit = "raw", **part: Range | None) -> float:
        """Area under the curve, or under its part on which one metric lies in a range.

        A range runs from the smallest scale that reaches its one end to the smallest that reaches the other, so
        adjoining ranges add up to the whole. The area is infinite where an error lies on the side of a zero band.

        Examples
        --------
        >>> c = UCC(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4]))
        >>> (
        ...     c.area(axes=("bandwidth", "deficit")),
        ...     c.area(bandwidth=(0, 1)),
        ...     c.area(miss_rate=(0, 0.5)),
        ... )
        (3.0, 1.0, 0.6666666666666666)
        """
        axes = checks.axes(axes)
        value, _, sizes = self._area(axes, checks.only("range", part), unit)
        return value * sizes[axes[0]] * sizes[axes[1]]

    def gain(
        self,
        *,
        axes: Axes = HEADLINE,
        reference: Intervals | Curve | None = None,
        unit: Unit = "raw",
        **part: Range | None,
    ) -> float:
        """Share of the reference's area that these intervals save: 0.573 is 57.3%.

        The reference is by default the constant band around the same predictions; give ``iv.constant(symmetric=False)``
        for a constant band with two sides of different width, or any other model's intervals or curve of the same
        rows. `nan` where both areas are 0 (up to rounding) or both infinite, so that there is nothing to compare.

        Examples
        --------
        >>> c = UCC(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 2, 4]))
        >>> round(c.gain(axes=("bandwidth", "deficit")), 3), c.gain(axes=("excess", "deficit"))
        (0.222, 1.0)
        """
        axes = checks.axes(axes)
        given = checks.only("range", part)
        other = self._reference(reference)
        mine, _, sizes = self._area(axes, given, unit)
        size = sizes[axes[0]] * sizes[axes[1]]
        if not isinstance(other, UCC):
            return saved_share(other.area(axes=axes, unit=unit, **part), mine * size)
        theirs, path, other_sizes = other._area(axes, given, unit)
        other_size = other_sizes[axes[0]] * other_sizes[axes[1]]
        return saved_share(theirs, mine * (size / other_size), rounding_of_area(path, axes))

    def cost(
        self, c: float, *, axes: Axes = HEADLINE, at: float | None = None, unit: Unit = "raw"
    ) -> float:
        """Return ``c * x + (1 - c) * y`` at one scale (or shift), by default as delivered. O(n).

        Examples
        --------
        >>> UCC(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])).cost(0.1)
        0.5
        """
        c = checks.real("c", c, 0, 1)
        axes = checks.axes(axes)
        point = self.at(self._delivered if at is None else at, unit=unit)
        return _cost(point, c, axes)

    def cheapest(self, c: float, *, axes: Axes = HEADLINE, unit: Unit = "raw") -> OperatingPoint:
        """Return the operating point of minimum cost ``c * x + (1 - c) * y``; it lies on a vertex, so it is exact.

        Of scales (or shifts) that cost the same, it is the smallest.

        Examples
        --------
        >>> c = UCC(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4]))
        >>> c.cheapest(0.1).scale, c.cheapest(0.1).cost
        (2.0, 0.4)
        """
        c = checks.real("c", c, 0, 1)
        axes = checks.axes(axes)
        path = self.path()
        weights = {axes[0]: 1.0}
        if axes[0] != axes[1]:
            weights = {axes[0]: c, axes[1]: 1 - c}
        if isinstance(path, BoundPath) and path.falls_without_end(weights):
            raise ValueError(
                "the cost has no minimum: the further a single bound is moved inwards, the smaller it is. "
                'Hint: weigh the deficit more than the bandwidth, as in cheapest(0.1, axes=("bandwidth", "deficit")).'
            )
        sizes = self._sizes(unit)
        per_metric = c * sizes[axes[0]], (1 - c) * sizes[axes[1]]
        t = self.ramps(path).minimum(*axes, per_metric)
        point = self.point_at(path, t, unit)
        return replace(point, cost=_cost(point, c, axes))

    def interval_score(
        self, *, coverage: float, at: float | None = None, unit: Unit = "raw"
    ) -> float:
        """Interval score at a coverage, ``2 * bandwidth + (2 / alpha) * deficit`` with alpha = 1 - coverage. O(n).

        By default of the intervals as delivered: scale 1, shift 0, or a levels model's own interval of that level.
        It is the cost on bandwidth and deficit with ``c = alpha / (1 + alpha)``, times ``2 (1 + alpha) / alpha``.

        Examples
        --------
        >>> UCC(Intervals.from_bands([1, 5], y_pred=[0, 0], lower_band=[2, 4])).interval_score(
        ...     coverage=0.5
        ... )
        8.0
        """
        alpha = checks.miss_rate_of(coverage)
        curve = self.delivered_curve(1 - alpha) if at is None else self
        t = curve._asked(curve._delivered if at is None else at, None)
        return curve.path().score(t, float(alpha)) / curve.unit_size(unit)

    def decompose(self, *, coverage: float, unit: Unit = "raw") -> Decomposition:
        """Split the interval score at a coverage into predictions, bands and rescaling. O(n log n).

        ``delivered = climatology - prediction - bands + rescaling``; see `Decomposition`. Shipped is what the conformal
        factor makes of the intervals, so whatever ``find(coverage=..., conformal=True)`` refuses is refused here; with
        unequal weights it is the smallest factor that reaches the coverage. On a curve of levels the model's own
        interval of that level is what is delivered and scaled.

        Examples
        --------
        >>> iv = Intervals.from_bands([1, 2, 4, 9], y_pred=[0, 2, 5, 8], lower_band=[2, 1, 2, 2])
        >>> UCC(iv).decompose(coverage=0.5)
        Decomposition(delivered=3.5, shipped=1.75, rescaling=1.75, bands=0.25, constant=2, prediction=6, climatology=8,
            best=1.75, slack=0)
        """
        alpha = checks.miss_rate_of(coverage)
        curve = self.delivered_curve(1 - alpha)
        path = curve.path()
        curve._shipped_t(path, alpha)
        return decomposition(path, curve.ramps(path), self.intervals, alpha, self.unit_size(unit))

    def potential_crps(self, *, unit: Unit = "raw") -> float:
        """Potential CRPS: the interval score at its best scale, averaged over all coverages. O(n log n).

        Notes
        -----
        With alpha = 1 - coverage and S its interval score this is ``1/2 * integral of alpha * min_t S_alpha(t)`` over
        alpha from 0 to 1, the CRPS of the predictive distributions that the curve describes with each level at its
        best scale (Hersbach 2000). Exact: the minimum lies on the lower convex hull of (bandwidth, deficit).

        Examples
        --------
        >>> UCC(
        ...     Intervals.from_bands([1, 2], y_pred=[0, 0], lower_band=[1, 1])
        ... ).potential_crps()  # E[max(r, r')] / 2
        0.875
        """
        path = self.path()
        return self.ramps(path).potential_crps() * self._sizes(unit)["bandwidth"]

    def skill(
        self, *, coverage: float | None = None, reference: Intervals | Curve | None = None
    ) -> float:
        """Share of the reference's score that these intervals save; by default of the constant band's.

        With a `coverage` it compares interval scores as shipped, each at its own conformal factor; without one
        potential CRPS. 0 says that the bands know no more than one width for all rows, 1 that no uncertainty is left;
        a bound without a prediction has no bands, and its skill is nan.

        Examples
        --------
        >>> curve = UCC(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 2, 4]))
        >>> round(curve.skill(), 4), round(curve.skill(coverage=0.7), 4)
        (0.2222, 0.4167)
        """
        if reference is None and not self.intervals.has_prediction:
            return nan
        if coverage is not None:
            return self._skill_as_shipped(checks.miss_rate_of(coverage), reference)
        other = self._reference(reference)
        path = self.path()
        return saved_share(other.potential_crps(), self.ramps(path).potential_crps())

    def _skill_as_shipped(self, alpha: Fraction, reference: Intervals | Curve | None) -> float:
        """Share of a reference's interval score that is saved, both as shipped."""
        curve = self.delivered_curve(1 - alpha)
        path = curve.path()
        curve._shipped_t(path, alpha)
        mine = shipped_score(path, alpha)
        if reference is None:
            theirs = shipped_score(path.constant(), alpha)
            alike = abs(theirs - mine) <= ROUNDING * theirs
            return 0.0 if alike else saved_share(theirs, mine)
        other = self._reference(reference).decompose(coverage=float(1 - alpha))
        return saved_share(other.shipped, mine)

    def _shipped_t(self, path: Path, alpha: Fraction) -> float:
        """Return the scale (or shift) that ships; refuse too few rows, and a coverage that none reaches."""
        if path.equally_weighted:
            conformal_rank(len(path), alpha, name="coverage")
        t = conformal_t(path, alpha)
        if np.isinf(t):
            raise self._out_of_reach(path, "miss_rate", alpha, "raw")
        return t

    def intervals_at(self, value: float | None = None, *, level: float | None = None) -> Intervals:
        """Return the intervals at one scale (or shift), such as those that `find` or `cheapest` chose, or at a level.

        Examples
        --------
        >>> inner = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 1])
        >>> outer = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[2, 3, 2])
        >>> UCC.from_levels({0.5: inner, 0.9: outer}).intervals_at(level=0.7).lower_band.round(
        ...     3
        ... ).tolist()
        [1.5, 2.0, 1.5]
        """
        scale = self._asked(value, level)
        if scale >= 1 or not self.levels:
            return self.intervals.calibrated(**{self._t_name: scale})
        knots = self._knots()
        i = int(np.searchsorted(knots, scale, side="right")) - 1
        if i and scale == knots[i]:
            return self._levels[i - 1]
        outer = self._levels[i]
        share = float((scale - knots[i]) / (knots[i + 1] - knots[i]))
        return self._levels[i - 1].towards(outer, share) if i else outer.calibrated(scale=share)

    def concentration(self, *, axes: Axes = HEADLINE, share: float = 0.5) -> int:
        """Smallest number of rows that carry a `share` of the area: how few decide it. O(n log n).

        A row's part of the area is that under its own miss or deficit, so one axis must be one of these.

        Examples
        --------
        >>> UCC(
        ...     Intervals.from_bands([1, 1, 1, 9], y_pred=[0] * 4, lower_band=[1, 1, 1, 0.01])
        ... ).concentration()
        1
        """
        axes = checks.axes(axes)
        share = checks.real("share", share, 0, 1)
        other, falling = axes if axes[1] in FALLING else axes[::-1]
        if falling not in FALLING:
            raise ValueError(
                f"`axes` must include miss_rate or deficit, which belong to single rows; got {axes!r}."
            )
        path = self._path_of_area()
        return rows_carrying(share, row_shares(self.ramps(path), path, falling, other))

    def plot(self, **options: Any) -> UCCDisplay:
        """Draw the curve with matplotlib; see `UCCDisplay.from_ucc` for the options."""
        from .plots.display import UCCDisplay

        return UCCDisplay.from_ucc(self, **options)

    def __repr__(self) -> str:
        rows = checks.counted(len(self.intervals), "row")
        try:
            path = self.path()
        except ValueError:
            return f"UCC({rows}, {self.vary} that float64 cannot resolve)"
        first = float(path.critical.min())
        last = path.end
        if first == np.inf and not self.levels:
            return f"UCC({rows}, no {self.vary} covers any)"
        words = f"{self.vary} {first:.4g} to {last:.4g}"
        if self.levels:
            first, last = self._knots()[[1, -1]].tolist()
            levels = checks.counted(len(self.levels), "level")
            words = f"{levels} {self.levels[0]:g} to {self.levels[-1]:g}"
        missed_first = path.mean((path.critical > first).astype(float))
        missed_last = path.mean((path.critical > last).astype(float))
        return f"UCC({rows}, {words}, miss_rate {missed_first:.4g} to {missed_last:.4g})"

    def _repr_html_(self) -> str:
        point = self.at(self._delivered)
        pairs: list[tuple[str, float]] = [(name, getattr(point, name)) for name in METRICS]
        if not isinstance(self.path(), BoundPath):  # whose areas are not defined
            for x, y in SUMMARY:
                pairs.append((f"gain on {y} vs. {x}", self.gain(axes=(x, y))))
            pairs.append(("skill", self.skill()))
        cells = "".join(f"<tr><th>{name}</th><td>{value:.4g}</td></tr>" for name, value in pairs)
        return f"<table><caption>{self!r}</caption>{cells}</table>"

    @property
    def _t_name(self) -> Literal["scale", "shift"]:
        return "shift" if self.vary == "shift" else "scale"

    @property
    def _delivered(self) -> float:
        return 0.0 if self.vary == "shift" else 1.0

    def delivered_curve(self, coverage: Fraction) -> UCC:
        """The curve of what is delivered at a coverage: of a model with levels, its interval of that level, scaled."""
        if not self.levels:
            return self
        return UCC(self.intervals_at(level=min(float(coverage), self.levels[-1])))

    def intervals_by_level(self) -> dict[float, Intervals]:
        """Return the intervals of each level, narrowest first; of a model of one level nothing."""
        return dict(zip(self.levels, self._levels, strict=True))

    def _knots(self) -> Array:
        return np.array([0.0, *self.levels]) / self.levels[-1]

    def _asked(self, value: float | None, level: float | None) -> float:
        """Scale (or shift) that was given, or the scale of a level."""
        if level is not None and not self.levels:
            raise ValueError("`level` needs a curve of several levels: see UCC.from_levels.")
        if self.levels and (level is None) == (value is None):
            raise ValueError("give one scale, or one level by level=.")
        if level is not None:
            return checks.real("level", level, 0, self.levels[-1]) / self.levels[-1]
        return checks.real(self._t_name, value, -np.inf if self.vary == "shift" else 0)

    def path(self) -> Path:
        """Rows of this curve; made anew each time, because keeping them would double the memory of a table."""
        if self.vary == "scale":
            return ScalePath.of(self.intervals)
        if self.vary == "levels":
            return LevelsPath.of(self._levels, self._knots())
        if self.intervals.side == "both":
            return ShiftPath.of(self.intervals)
        return BoundPath.of(self.intervals)

    def _path_of_area(self) -> Path:
        """Rows of a curve that has areas; that over the shift of a single bound starts nowhere."""
        path = self.path()
        if not path.has_area:
            raise ValueError(
                "the shift of a single bound has no area: its curve starts nowhere. "
                'Hint: pass vary="scale", which needs `y_pred`.'
            )
        return path

    def ramps(self, path: Path | None = None) -> Ramps:
        """Vertices of the curve; sorted once for all axes."""
        if self._made.ramps is None:
            self._made.ramps = Ramps(self.path() if path is None else path)
        return self._made.ramps

    def _columns(self, names: tuple[Metric, ...], unit: Unit) -> dict[str, Array]:
        """Scale (or shift) and some metrics at the vertices up to the curve's end."""
        ramps = self.ramps()
        sizes = self._sizes(unit)
        kept = ramps.vertices(names)
        # those first that need the most memory beside their result
        for name in sorted(names, key=lambda name: name in ("bandwidth", "miss_rate")):
            ramps.values(name)
        columns: dict[str, Array] = {self._t_name: _times(ramps.t[kept], 1.0)}
        for name in names:
            columns[name] = _times(ramps.values(name)[kept], sizes[name])
        return columns

    def _area(
        self, axes: Axes, part: tuple[Metric, Range] | None, unit: Unit
    ) -> tuple[float, Path, dict[Metric, float]]:
        """Area in the unit of the path, that path, and the factors that turn its metrics into the caller's unit."""
        path = self._path_of_area()
        sizes = self._sizes(unit)
        closed = closed_axes(path, axes)
        if part is not None:
            name, _ = part
            low, high = checks.span(*part)
            cut = piece(self.ramps(path), path, name, low / sizes[name], high / sizes[name])
            area = integral(self.ramps(path), path, axes, cut)
        elif closed is not None:
            area = closed_area(path, closed)
        else:
            area = integral(self.ramps(path), path, axes)
        return area, path, sizes

    @cached_property
    def _made(self) -> _Made:
        return _Made()

    @property
    def _constant(self) -> UCC:
        if self._made.constant is None:
            self._made.constant = UCC(self.intervals.constant(), vary=self._t_name)
        return self._made.constant

    def _reference(self, reference: Intervals | Curve | None) -> Curve:
        if reference is None:
            return self._constant
        if isinstance(reference, Intervals):
            reference = UCC(reference, vary=self._t_name)
        if not isinstance(reference, Curve):
            raise TypeError(
                f"`reference` must be Intervals or a curve; got {type(reference).__name__}."
            )
        if isinstance(reference, UCC) and not np.array_equal(
            reference.intervals.y_true, self.intervals.y_true
        ):
            raise ValueError(
                "`reference` must have the same y_true: a gain compares intervals of the same rows."
            )
        return reference

    def unit_size(self, unit: Unit) -> float:
        """Size of the caller's unit in units of y_true."""
        intervals = self.intervals
        observed = intervals.in_units(intervals.y_true)
        return checks.unit(unit) or standard_deviation(observed, intervals.weight)

    def _sizes(self, unit: Unit) -> dict[Metric, float]:
        """Return the factors that turn metrics into the caller's unit."""
        return dict.fromkeys(METRICS, 1 / self.unit_size(unit)) | {"miss_rate": 1.0}

    def point_at(self, path: Path, t: float, unit: Unit) -> OperatingPoint:
        """Return the operating point of this curve's `path` at t."""
        sizes = self._sizes(unit)
        values = {name: value * sizes[name] for name, value in path.at(t).items()}
        scale, shift = t, 0.0
        if self.vary == "shift":
            scale, shift = 1.0, t
        return OperatingPoint(scale=scale, shift=shift, level=self._level_of(t), **values)

    def _level_of(self, t: float) -> float | None:
        if not self.levels:
            return None
        for level in self.levels:
            if level / self.levels[-1] == t:
                return level
        return t * self.levels[-1] if t < 1 else None

    def _out_of_reach(
        self, path: Path, name: Metric, target: Any, unit: Unit, how: str = ""
    ) -> checks.Refusal:
        if name in FALLING:
            word = "smallest"
            limit = float(self.ramps(path).values(name)[-1])
        else:
            word = "largest"
            limit = path.at(2 * max(path.end, path.delivered))[name]
        size = limit * self._sizes(unit)[name]
        what = f"no {self._t_name} reaches {{{name}}}{how}: the {word} is {size:.4g}."
        asked: dict[str, Any] = {name: float(target)}
        raised = checks.Hint("raise zero bands with {min_band}", {"min_band": None})
        return checks.Refusal(checks.Hint(what, asked), raised)


def _cost(point: OperatingPoint, c: float, axes: Axes) -> float:
    x, y = (float(getattr(point, name)) for name in axes)
    return c * x + (1 - c) * y


def rank_leaving(n: int, share: float | Fraction) -> int:
    """Return the smallest rank above which at most a share of n rows lies, without rounding.

    >>> rank_leaving(10, 0.3), rank_leaving(3, 1 / 3), rank_leaving(3_000_001, 1 / 3_000_001)
    (7, 2, 3000000)
    """
    missed = floor(n * checks.as_written(share))
    if (missed + 1) / n == share:
        missed += 1  # the share itself was divided out of these counts
    return n - missed


@np.errstate(over="ignore")
def _times(values: Array, size: float) -> Array:
    product = values if size == 1 else values * size
    product.setflags(write=False)
    return product
