"""UCC: the curve of one set of intervals, and its answers."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from . import _checks as checks
from ._bands import deviation
from ._checks import FALLING, HEADLINE, Array, Axes, Metric, Range, Unit, Vary
from .area import Piece, closed_form, integral, piece, shares
from .intervals import Intervals
from .points import CurvePoints, OperatingPoint
from .profile import Profile
from .targets import cheapest_of, conformal_t, least
from .track import Track, kinks

if TYPE_CHECKING:
    from .levels.curve import LevelsUCC
    from .plots.display import UCCDisplay


class UCC:
    """Uncertainty Characteristics Curve: the metrics of intervals over every scale or shift of their bands.

    Parameters
    ----------
    intervals : Intervals
    vary : {"scale", "shift"}
        Multiply both bands by a factor, or add an amount to both.

    Notes
    -----
    Nothing is sorted before something that needs order is asked for. `at` and `cost` take O(n); `area` and `gain`
    of a whole curve over the scale take O(n) on bandwidth/miss_rate, bandwidth/deficit, overshoot/deficit, and
    excess/deficit where the bands are symmetric; everything else takes O(n log n) the first time and O(n) after.

    All methods with ``axes`` take any two of ``bandwidth, miss_rate, excess, deficit, overshoot``, first x, then y.
    ``unit="std"`` (the deviation of ``y_true``) or a number divides all of them but the miss rate, in what is returned
    and in targets and ranges that are passed. Ranges name one metric, as in ``miss_rate=(0, 0.5)``.

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

    __slots__ = ("_constant", "_tracks", "intervals", "vary")
    intervals: Intervals
    vary: Vary
    _constant: UCC | None
    _tracks: dict[frozenset[str], Track]

    def __init__(self, intervals: Intervals, *, vary: Vary = "scale") -> None:
        if not isinstance(intervals, Intervals):
            raise TypeError(
                f"`intervals` must be Intervals; got {type(intervals).__name__}. Hint: see Intervals.from_bounds."
            )
        checks.choice("vary", vary, ("scale", "shift"))
        object.__setattr__(self, "intervals", intervals)
        object.__setattr__(self, "vary", vary)
        object.__setattr__(self, "_tracks", {})
        object.__setattr__(self, "_constant", None)

    @classmethod
    def from_levels(cls, levels: Mapping[float, Intervals]) -> LevelsUCC:
        """Curve of a model that delivers nested intervals at several levels: its own levels instead of scaling one.

        Examples
        --------
        >>> inner = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 1])
        >>> outer = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[2, 3, 2])
        >>> UCC.from_levels({0.5: inner, 0.9: outer})
        LevelsUCC(3 rows, 2 levels 0.5 to 0.9, miss_rate 0.6667 to 0.3333)
        """
        from .levels.curve import LevelsUCC

        return LevelsUCC(levels)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a UCC is frozen; `{name}` cannot be set.")

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles carry the data and sort again when asked."""
        slots = (name for kind in type(self).__mro__[:-1] for name in getattr(kind, "__slots__", ()))
        return {name: getattr(self, name) for name in slots} | {"_tracks": {}, "_constant": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def at(self, value: float, *, unit: Unit = "raw") -> OperatingPoint:
        """Return the operating point at one scale (or shift); the model as delivered is scale 1, shift 0. O(n)."""
        value = checks.real(self.vary, value, 0 if self.vary == "scale" else -np.inf)
        profile = self._profile()
        return self._point(profile, value / (profile.size if self.vary == "shift" else 1), unit)

    def find(
        self,
        *,
        miss_rate: float | Fraction | None = None,
        bandwidth: float | None = None,
        excess: float | None = None,
        deficit: float | None = None,
        overshoot: float | None = None,
        conformal: bool = False,
        unit: Unit = "raw",
    ) -> OperatingPoint:
        """Return the operating point at the least scale (or shift) that reaches one target.

        With ``conformal=True`` the miss rate is reached for a new, exchangeable row rather than for these rows: the
        scale is the critical scale of rank ``ceil((n + 1) (1 - miss_rate))``, split conformal prediction with
        normalised residuals. The rank is computed without rounding; 0.07 means 7/100.

        Examples
        --------
        >>> c = UCC(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 1]))
        >>> c.find(miss_rate=0.5).scale, c.find(miss_rate=0.5, conformal=True).scale, c.find(bandwidth=3).scale
        (2.0, 2.0, 3.0)
        """
        given = checks.only(
            "target", miss_rate=miss_rate, bandwidth=bandwidth, excess=excess, deficit=deficit, overshoot=overshoot
        )
        if given is None:
            raise ValueError("give one target to find, such as miss_rate=0.05.")
        name, target = given
        profile = self._profile()
        if conformal:
            if name != "miss_rate":
                raise ValueError(f"`conformal` goes with a target miss_rate, not {name}.")
            return self._point(profile, conformal_t(profile, target), unit)
        target = checks.real(name, target, 0, 1 if name == "miss_rate" else np.inf)
        size = 1.0 if name == "miss_rate" else profile.size / self._unit(unit)
        track = self._track((name,))
        t = least(track, profile, name, target / size, past_end=True)
        if t is None:
            limit = track.values(name)[-1] if name in FALLING else profile.at(2 * profile.end)[name]
            word = "least" if name in FALLING else "greatest"
            raise ValueError(
                f"no {self.vary} reaches {name}={target:g}: the {word} is {limit * size:.4g}. "
                "Hint: raise zero bands by `min_band`."
            )
        return self._point(profile, t, unit)

    def points(self, *, axes: Axes = HEADLINE, unit: Unit = "raw") -> CurvePoints:
        """Vertices of the curve from its start to its last finite critical scale (or shift).

        Between vertices a miss rate keeps its value; every other metric is a straight line.

        Examples
        --------
        >>> p = UCC(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])).points()
        >>> p.x.tolist(), p.y.round(3).tolist(), p.scale.tolist()
        ([0.0, 2.0, 4.0], [1.0, 0.333, 0.0], [0.0, 1.0, 2.0])
        """
        axes = checks.axes(axes)
        columns = self._columns(axes, unit)
        return CurvePoints(axes, columns[axes[0]], columns[axes[1]], columns.get("scale"), columns.get("shift"))

    def table(self, *, unit: Unit = "raw") -> dict[str, Array]:
        """Scale (or shift) and all five metrics at every vertex, in columns ready for a data frame.

        Examples
        --------
        >>> table = UCC(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])).table()
        >>> list(table), table["overshoot"].tolist()
        (['scale', 'bandwidth', 'miss_rate', 'excess', 'deficit', 'overshoot'], [0.0, 0.0, 1.6666666666666665])
        """
        return self._columns(checks.METRICS, unit)

    def area(
        self,
        *,
        axes: Axes = HEADLINE,
        miss_rate: Range | None = None,
        bandwidth: Range | None = None,
        excess: Range | None = None,
        deficit: Range | None = None,
        overshoot: Range | None = None,
        unit: Unit = "raw",
    ) -> float:
        """Area under the curve, or under its part on which one metric lies in a range.

        A range runs from the least scale that reaches its one end to the least scale that reaches the other, so
        adjoining ranges add up to the whole. The area is infinite where an error lies on the side of a zero band.

        Examples
        --------
        >>> c = UCC(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4]))
        >>> c.area(axes=("bandwidth", "deficit")), c.area(bandwidth=(0, 1)), c.area(miss_rate=(0, 0.5))
        (3.0, 1.0, 0.6666666666666666)
        """
        axes = checks.axes(axes)
        part = checks.only(
            "range", miss_rate=miss_rate, bandwidth=bandwidth, excess=excess, deficit=deficit, overshoot=overshoot
        )
        value, x_size, y_size = self._area(axes, part, unit)
        return value * x_size * y_size

    def gain(
        self,
        *,
        axes: Axes = HEADLINE,
        reference: Intervals | UCC | None = None,
        miss_rate: Range | None = None,
        bandwidth: Range | None = None,
        excess: Range | None = None,
        deficit: Range | None = None,
        overshoot: Range | None = None,
        unit: Unit = "raw",
    ) -> float:
        """Share of the reference's area that these intervals save: 0.573 is 57.3 %.

        The reference is by default the constant band around the same predictions. `nan` where both areas are 0 or
        both infinite, so that there is nothing to compare.

        Examples
        --------
        >>> c = UCC(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 2, 4]))
        >>> round(c.gain(axes=("bandwidth", "deficit")), 3), c.gain(axes=("excess", "deficit"))
        (0.222, 1.0)
        """
        axes = checks.axes(axes)
        part = checks.only(
            "range", miss_rate=miss_rate, bandwidth=bandwidth, excess=excess, deficit=deficit, overshoot=overshoot
        )
        other = self._reference(reference)
        mine, *sizes = self._area(axes, part, unit)
        theirs, *other_sizes = other._area(axes, part, unit)
        mine *= (sizes[0] / other_sizes[0]) * (sizes[1] / other_sizes[1])
        if theirs == 0:
            return float("nan") if mine == 0 else -np.inf
        return (theirs - mine) / theirs if np.isfinite(theirs) else (1.0 if np.isfinite(mine) else float("nan"))

    def cost(self, c: float, *, axes: Axes = HEADLINE, at: float | None = None, unit: Unit = "raw") -> float:
        """Return ``c * x + (1 - c) * y`` at one scale (or shift), by default as delivered. O(n).

        Examples
        --------
        >>> UCC(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])).cost(0.1)
        0.5
        """
        c, axes = checks.real("c", c, 0, 1), checks.axes(axes)
        delivered = 1.0 if self.vary == "scale" else 0.0
        point = self.at(delivered if at is None else at, unit=unit)
        return c * float(getattr(point, axes[0])) + (1 - c) * float(getattr(point, axes[1]))

    def cheapest(self, c: float, *, axes: Axes = HEADLINE, unit: Unit = "raw") -> OperatingPoint:
        """Return the operating point of least cost ``c * x + (1 - c) * y``; it lies on a vertex, so it is exact.

        Of scales (or shifts) that cost the same, it is the least.

        Examples
        --------
        >>> c = UCC(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4]))
        >>> c.cheapest(0.1).scale, c.cheapest(0.1).cost
        (2.0, 0.4)
        """
        c, axes = checks.real("c", c, 0, 1), checks.axes(axes)
        columns = self._columns(axes, unit)
        best = cheapest_of(c * columns[axes[0]] + (1 - c) * columns[axes[1]])
        return self._point(self._profile(), float(self._track(axes).t[best]), unit, cost=(c, axes))

    def concentration(self, *, axes: Axes = HEADLINE, share: float = 0.5) -> int:
        """Least number of rows that carry a `share` of the area: how few decide it. O(n log n).

        A row's part of the area is that under its own miss or deficit, so one axis must be one of these.

        Examples
        --------
        >>> UCC(Intervals.from_bands([1, 1, 1, 9], y_pred=[0] * 4, lower_band=[1, 1, 1, 0.01])).concentration()
        1
        """
        axes, share = checks.axes(axes), checks.real("share", share, 0, 1)
        falling = [name for name in (axes[1], axes[0]) if name in FALLING]
        if not falling:
            raise ValueError(f"`axes` must hold miss_rate or deficit to tell rows apart; got {axes!r}.")
        other = axes[0] if falling[0] == axes[1] else axes[1]
        parts = self._shares(axes, falling[0], other)
        running = np.cumsum(-np.sort(-parts))
        return int(np.searchsorted(running, share * running[-1])) + 1 if running[-1] > 0 else 0

    def plot(self, **options: Any) -> UCCDisplay:
        """Draw the curve with matplotlib; see `UCCDisplay.from_ucc` for the options."""
        from .plots.display import UCCDisplay

        return UCCDisplay.from_ucc(self, **options)

    def __repr__(self) -> str:
        profile = self._profile()
        finite = profile.critical[np.isfinite(profile.critical)]
        rows = f"{len(self.intervals)} row{'s' if len(self.intervals) > 1 else ''}"
        if not len(finite):
            return f"UCC({rows}, no {self.vary} covers any)"
        first, last = float(finite.min()), float(finite.max())
        size = profile.size if self.vary == "shift" else 1.0
        miss = " to ".join(f"{profile.mean((profile.critical > t).astype(float)):.4g}" for t in (first, last))
        return f"UCC({rows}, {self.vary} {first * size:.4g} to {last * size:.4g}, miss_rate {miss})"

    def _repr_html_(self) -> str:
        point = self.at(1.0 if self.vary == "scale" else 0.0)
        pairs: list[tuple[str, float]] = [(name, getattr(point, name)) for name in checks.METRICS]
        pairs += [(f"gain on {'/'.join(axes)}", self.gain(axes=axes)) for axes in checks.SUMMARY]
        cells = "".join(f"<tr><th>{name}</th><td>{value:.4g}</td></tr>" for name, value in pairs)
        return f"<table><caption>{self!r}</caption>{cells}</table>"

    def _profile(self) -> Profile:
        return Profile.of(self.intervals, self.vary)

    def _track(self, names: tuple[Metric, ...]) -> Track:
        """Vertices that these metrics need; sorted once."""
        kinds = kinks(self.vary, names)
        if kinds not in self._tracks:
            self._tracks[kinds] = Track(self._profile(), kinds)
            if self._tracks[kinds].plain:
                self._tracks.setdefault(frozenset(), self._tracks[kinds])
        return self._tracks[kinds]

    def _shares(self, axes: Axes, falling: Metric, other: Metric) -> Array:
        return shares(self._track(axes), self._profile(), falling, other)

    def _columns(self, names: tuple[Metric, ...], unit: Unit) -> dict[str, Array]:
        """Scale (or shift) and some metrics at the vertices up to the curve's end."""
        track = self._track(names)
        curve = slice(track.end + 1)
        columns: dict[str, Array] = {self.vary: _times(track.t[curve], track.size if self.vary == "shift" else 1.0)}
        for name in names[::-1]:  # the first ones of METRICS need the least memory beside their result
            track.values(name)
        for name, size in zip(names, self._sizes(track.size, names, unit), strict=True):
            columns[name] = _times(track.values(name)[curve], size)
        return columns

    def _area(self, axes: Axes, part: tuple[Metric, Range] | None, unit: Unit) -> tuple[float, float, float]:
        """Area in the profile's units, and the factors that turn x and y into the caller's."""
        if part is None and (closed := closed_form(self.intervals, self.vary, axes)) is not None:
            x_size, y_size = self._sizes(closed[1], axes, unit)
            return closed[0], x_size, y_size
        profile = self._profile()
        x_size, y_size = self._sizes(profile.size, axes, unit)
        cut = None if part is None else self._piece(profile, *part, unit)
        return integral(self._track(axes), profile, axes, cut), x_size, y_size

    def _piece(self, profile: Profile, name: Metric, span: Range, unit: Unit) -> Piece:
        low, high = checks.span(name, span)
        (size,) = self._sizes(profile.size, (name,), unit)
        return piece(self._track((name,)), profile, name, low / size, high / size)

    def _reference(self, reference: Intervals | UCC | None) -> UCC:
        if reference is None:
            if self._constant is None:
                object.__setattr__(self, "_constant", UCC(self.intervals.constant(), vary=self.vary))
            return cast(UCC, self._constant)
        if not isinstance(reference, Intervals | UCC):
            raise TypeError(f"`reference` must be Intervals or a UCC; got {type(reference).__name__}.")
        other = reference if isinstance(reference, UCC) else UCC(reference, vary=self.vary)
        if not np.array_equal(other.intervals.y_true, self.intervals.y_true):
            raise ValueError("`reference` must have the same y_true: a gain compares intervals of the same rows.")
        return other

    def _unit(self, unit: Unit) -> float:
        if isinstance(unit, str) and unit in ("raw", "std"):
            return 1.0 if unit == "raw" else deviation(self.intervals.y_true, self.intervals.weight)
        try:
            value = checks.real("unit", unit)
        except (TypeError, ValueError):
            value = 0.0
        if value <= 0:
            raise ValueError(f"`unit` must be 'raw', 'std' or a finite number above 0; got {checks.shown(unit)}.")
        return value

    def _sizes(self, size: float, names: tuple[Metric, ...], unit: Unit) -> tuple[float, ...]:
        """Return the factors that turn metrics in units of `size` into the caller's unit."""
        return tuple(1.0 if name == "miss_rate" else size / self._unit(unit) for name in names)

    def _point(self, profile: Profile, t: float, unit: Unit, cost: tuple[float, Axes] | None = None) -> OperatingPoint:
        size = profile.size / self._unit(unit)
        values = {name: value if name == "miss_rate" else value * size for name, value in profile.at(t).items()}
        scale, shift = (t, 0.0) if self.vary == "scale" else (1.0, t * profile.size)
        price = None if cost is None else cost[0] * values[cost[1][0]] + (1 - cost[0]) * values[cost[1][1]]
        return OperatingPoint(scale=scale, shift=shift, cost=price, **values)


def _times(values: Array, size: float) -> Array:
    if size == 1:
        return values
    product = values * size
    product.setflags(write=False)
    return product
