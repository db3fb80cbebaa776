"""Sketch curve: the answers of a UCC from a sketch, each the middle of a bracket that holds the exact one."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from uccurve import _checks as checks
from uccurve._checks import FALLING, HEADLINE, METRICS, NO_RANK, Array, Axes, Metric, Range, Unit, Vary, as_written
from uccurve.curve import UCC
from uccurve.intervals import Intervals
from uccurve.points import CurvePoints, OperatingPoint
from uccurve.targets import cheapest_of

from ._area import area, partial, reach
from ._binned import Binned
from ._brackets import Bracket, bracket, outward
from .sketch import UCCSketch

if TYPE_CHECKING:
    from uccurve.plots.display import UCCDisplay

Answer = Literal["area", "gain", "cost", "cheapest", "find", "concentration"] | Metric
ANSWERS = ("area", "gain", "cost", "cheapest", "find", "concentration", *METRICS)
Reference = Intervals | UCC | UCCSketch


class SketchUCC:
    """Curve of a sketch over the scale: every answer of a `UCC`, and the bracket that is sure to hold the exact one.

    Get it from `UCCSketch.ucc`. All metrics are exact (to the rounding of float64 sums, which brackets allow for) where
    a bin ends, so also at scale 1; areas on bandwidth with any metric and on overshoot with deficit are exact too.
    Everything else is the middle of its bracket: `bracket` gives both ends, `error` half the distance between them.
    Brackets are sure where errors, bands and their quotients are 0 or between 1e-70 and 1e70, so that no square of them
    leaves float64; choose a unit for which they are.

    Parameters and units are those of `UCC`.

    Examples
    --------
    >>> iv = Intervals.from_bands([1, 2, 4, 9], y_pred=[0] * 4, lower_band=[1, 1, 4, 4], upper_band=[1, 3, 4, 5])
    >>> c = UCCSketch().update(iv).ucc()
    >>> c
    SketchUCC(4 rows, scale 0.6667 to 1.8)
    >>> c.at(1.0).miss_rate, UCC(iv).at(1.0).miss_rate
    (0.25, 0.25)
    >>> low, high = c.bracket("area", axes=("excess", "deficit"))
    >>> low <= UCC(iv).area(axes=("excess", "deficit")) <= high
    True
    """

    __slots__ = ("_binned", "_constant", "sketch")
    vary: Vary = "scale"
    sketch: UCCSketch
    _binned: Binned
    _constant: Binned

    def __init__(self, sketch: UCCSketch) -> None:
        if not isinstance(sketch, UCCSketch):
            raise TypeError(f"`sketch` must be a UCCSketch; got {type(sketch).__name__}.")
        if not sketch.rows:
            raise ValueError("`sketch` must hold at least one row: it is empty. Hint: update it first.")
        frozen = sketch + UCCSketch()
        object.__setattr__(self, "sketch", frozen)
        object.__setattr__(self, "_binned", Binned.of(frozen.critical, frozen.folds, weighted=frozen.weighted))
        object.__setattr__(self, "_constant", Binned.constant(frozen.errors, weighted=frozen.weighted))

    def __reduce__(self) -> tuple[type[SketchUCC], tuple[UCCSketch]]:
        return SketchUCC, (self.sketch,)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a SketchUCC is frozen; `{name}` cannot be set.")

    def bracket(self, answer: Answer, *args: Any, **options: Any) -> tuple[float, float]:
        """Return (low, high) around the exact value of an answer.

        Parameters
        ----------
        answer : {"area", "gain", "cost", "cheapest", "find", "concentration"} or a metric
            The method that would give the answer: ``"cheapest"`` brackets the least cost, ``"find"`` the scale, and a
            metric its value at the scale ``at``, by default 1. A scale that reaches a miss rate is a row's critical
            scale as float64 rounds it.
        args, options
            As that method takes them.

        Examples
        --------
        >>> c = UCCSketch().update(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])).ucc()
        >>> c.bracket("miss_rate", at=1.0), c.bracket("find", miss_rate=0.4)
        ((0.3333333333333333, 0.3333333333333333), (1.0, 1.0))
        """
        checks.choice("answer", answer, ANSWERS)
        if answer in METRICS:
            return self._metric(answer, *args, **options).pair
        found: Bracket = getattr(self, f"_{answer}")(*args, **options)
        return found.pair

    def error(self, answer: Answer, *args: Any, **options: Any) -> float:
        """Return how far the answer can be from the exact one: half the width of its bracket."""
        low, high = self.bracket(answer, *args, **options)
        return 0.0 if low == high else (high - low) / 2

    def at(self, value: float, *, unit: Unit = "raw") -> OperatingPoint:
        """Return the operating point at one scale."""
        return self._point(checks.real("scale", value, 0), unit)

    def find(self, *, unit: Unit = "raw", **target: Any) -> OperatingPoint:
        """Return the operating point at a scale that is sure to reach one target: the upper end of its bracket.

        Targets are those of `UCC.find`, ``conformal=True`` included, whose guarantee holds at that scale too.

        Examples
        --------
        >>> c = UCCSketch().update(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 1])).ucc()
        >>> c.find(miss_rate=0.5).scale, c.find(miss_rate=0.5, conformal=True).scale
        (2.0, 2.0)
        """
        return self._point(float(self._find(unit=unit, **target).high), unit)

    def points(self, *, axes: Axes = HEADLINE, unit: Unit = "raw") -> CurvePoints:
        """Points of the curve where its bins begin and end."""
        axes = checks.axes(axes)
        t = self._places()
        x, y = (self._column(name, t, unit) for name in axes)
        return CurvePoints(axes, x, y, t)

    def table(self, *, unit: Unit = "raw") -> dict[str, Array]:
        """Scale and all five metrics where bins begin and end, in columns ready for a data frame."""
        t = self._places()
        return {"scale": t} | {name: self._column(name, t, unit) for name in METRICS}

    def area(self, *, axes: Axes = HEADLINE, unit: Unit = "raw", **part: Range | None) -> float:
        """Area under the curve, or under its part on which one metric lies in a range, as in `UCC.area`."""
        return self._area(axes=axes, unit=unit, **part).middle

    def gain(
        self, *, axes: Axes = HEADLINE, reference: Reference | SketchUCC | None = None, unit: Unit = "raw", **part: Any
    ) -> float:
        """Share of the reference's area that these intervals save; the reference may be another sketch."""
        return self._gain(axes=axes, reference=reference, unit=unit, **part).middle

    def cost(self, c: float, *, axes: Axes = HEADLINE, at: float | None = None, unit: Unit = "raw") -> float:
        """Return ``c * x + (1 - c) * y`` at one scale, by default as delivered."""
        return self._cost(c, axes=axes, at=at, unit=unit).middle

    def cheapest(self, c: float, *, axes: Axes = HEADLINE, unit: Unit = "raw") -> OperatingPoint:
        """Return the operating point of least cost among those where bins begin and end."""
        c, axes = checks.real("c", c, 0, 1), checks.axes(axes)
        t = self._places()
        best = float(t[cheapest_of(self._costs(c, axes, t, unit).high)])
        return self._point(best, unit, cost=self._cost(c, axes=axes, at=best, unit=unit).middle)

    def concentration(self, *, axes: Axes = HEADLINE, share: float = 0.5) -> int:
        """Return a number of rows that is sure to carry a `share` of the area: the upper end of its bracket.

        One axis must be the miss rate: by deficit a row's part depends on its band too, which bins do not tell.
        """
        return int(self._concentration(axes=axes, share=share).high)

    def plot(self, **options: Any) -> UCCDisplay:
        """Draw the curve with matplotlib; see `UCCDisplay.from_ucc` for the options."""
        from uccurve.plots.display import UCCDisplay

        return UCCDisplay.from_ucc(self, **options)  # type: ignore[arg-type]  # it answers like one

    def __repr__(self) -> str:
        rows = f"{self.sketch.rows} row{'' if self.sketch.rows == 1 else 's'}"
        least = self._binned.active.least
        if not len(least):
            return f"SketchUCC({rows}, no scale covers any)"
        return f"SketchUCC({rows}, scale {least[0]:.4g} to {self._binned.end:.4g})"

    def _repr_html_(self) -> str:
        pairs: list[tuple[str, tuple[float, float]]] = [(name, self.bracket(name)) for name in METRICS]
        pairs += [(f"gain on {'/'.join(axes)}", self.bracket("gain", axes=axes)) for axes in checks.SUMMARY]
        cells = "".join(f"<tr><th>{name}</th><td>{low:.4g}</td><td>{high:.4g}</td></tr>" for name, (low, high) in pairs)
        return f"<table><caption>{self!r}</caption><tr><th></th><th>low</th><th>high</th></tr>{cells}</table>"

    def _places(self) -> Array:
        """Scales at which bins begin and end, from 0 to the end of the curve."""
        t = self._binned.active
        places = np.unique(np.concatenate([[0.0], t.least, t.greatest]))
        places.setflags(write=False)
        return places

    def _column(self, name: Metric, t: Array, unit: Unit) -> Array:
        found = self._binned.rounded(name, t).positive().over(self._size(name, unit))
        column: Array = np.where(found.low == found.high, found.low, found.low + (found.high - found.low) / 2)
        column.setflags(write=False)
        return column

    def _metric(self, name: Metric, at: float = 1.0, *, unit: Unit = "raw") -> Bracket:
        return self._binned.value(name, checks.real("at", at, 0)).over(self._size(name, unit))

    def _point(self, t: float, unit: Unit, cost: float | None = None) -> OperatingPoint:
        values = {name: float(self._column(name, np.array([t]), unit)[0]) for name in METRICS}
        return OperatingPoint(scale=t, shift=0.0, cost=cost, **values)

    def _find(self, *, conformal: bool = False, unit: Unit = "raw", **targets: Any) -> Bracket:
        self._refuse_others(targets, (*METRICS,), "target")
        given = checks.only("target", **targets)
        if given is None:
            raise ValueError("give one target to find, such as miss_rate=0.05.")
        name, target = given
        if conformal:
            if name != "miss_rate":
                raise ValueError(f"`conformal` goes with a target miss_rate, not {name}.")
            return self._conformal(target)
        target = checks.real(name, target, 0, 1 if name == "miss_rate" else np.inf)
        early, late = reach(self._binned, name, self._size(name, unit) * target)
        if early is None or late is None:
            if early is not None:
                raise ValueError(
                    f"no scale is sure to reach {name}={target:g}: bins leave open whether any does. "
                    f"Hint: ask for a little {'more' if name in FALLING else 'less'}, or use a UCC of the rows."
                )
            limit = self._metric(name, at=self._binned.end, unit=unit).middle
            word = "least" if name in FALLING else "greatest"
            raise ValueError(
                f"no scale reaches {name}={target:g}: the {word} is {limit:.4g}. Hint: raise zero bands by `min_band`."
            )
        return Bracket(early, late)

    def _conformal(self, target: float | Fraction) -> Bracket:
        checks.real("miss_rate", target, 0, 1)
        if self.sketch.weighted:
            raise ValueError("`conformal` counts rows, so it needs equal weights. Hint: leave `weight` out.")
        alpha, n, found = as_written(target), self.sketch.rows, self._binned.weight
        rank = ceil((n + 1) * (1 - alpha))
        if rank > n:
            if not alpha:
                raise ValueError(NO_RANK)
            need = f"needs at least {ceil(1 / alpha) - 1} rows; there are {n}"
            hint = "use more calibration rows or a larger miss_rate"
            raise ValueError(f"`conformal` at miss_rate={float(target):g} {need}. Hint: {hint}.")
        if rank == 0:
            return bracket(0.0)
        i = int(np.searchsorted(np.cumsum(found.mass.low), rank))
        if i == len(found.least):
            raise ValueError(
                f"no scale reaches miss_rate={float(target):g} with conformal rank {rank} of {n}: "
                "too many errors lie on the side of a zero band. Hint: raise them by `min_band`."
            )
        return Bracket(found.least[i], found.greatest[i])

    def _area(self, *, axes: Axes = HEADLINE, unit: Unit = "raw", **part: Any) -> Bracket:
        return self._area_of(self._binned, checks.axes(axes), part, unit)

    def _area_of(self, binned: Binned, axes: Axes, part: dict[str, Any], unit: Unit) -> Bracket:
        self._refuse_others(part, (*METRICS,), "range")
        given = checks.only("range", **part)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if given is None:
                found = area(binned, axes)
            else:
                name, span = given
                low, high = checks.span(name, span)
                size = self._size(name, unit)
                found = partial(binned, axes, name, (size * low, size * high))
            for name in axes:
                found = found.over(self._size(name, unit))
        return outward(
            Bracket(0.0 if np.isnan(found.low) else found.low, np.inf if np.isnan(found.high) else found.high)
        )

    def _gain(
        self, *, axes: Axes = HEADLINE, reference: Reference | SketchUCC | None = None, unit: Unit = "raw", **part: Any
    ) -> Bracket:
        mine, theirs = self._area(axes=axes, unit=unit, **part).pair, self._their_area(reference, axes, unit, part).pair
        if theirs[1] == 0:
            return bracket(np.nan if mine[1] == 0 else -np.inf)
        if np.isinf(theirs[0]):
            return bracket(np.nan if np.isinf(mine[0]) else 1.0)
        low = 1 - mine[1] / theirs[0] if theirs[0] > 0 else -np.inf
        high = 1 - mine[0] / theirs[1] if np.isfinite(mine[0]) else -np.inf
        return outward(Bracket(low, high), 1.0)

    def _their_area(self, reference: Any, axes: Axes, unit: Unit, part: dict[str, Any]) -> Bracket:
        if reference is None:
            return self._area_of(self._constant, checks.axes(axes), part, unit)
        if isinstance(reference, Intervals):
            reference = UCC(reference)
        if isinstance(reference, UCCSketch):
            reference = reference.ucc()
        if isinstance(reference, SketchUCC):
            return reference._area(axes=axes, unit=unit, **part)
        if not isinstance(reference, UCC):
            raise TypeError(f"`reference` must be Intervals, a UCC or a sketch; got {type(reference).__name__}.")
        value, points = reference.area(axes=axes, unit=unit, **part), reference.points(axes=axes, unit=unit)
        room = 1e-12 * float(points.x.max() * points.y.max())
        return Bracket(max(value - room, 0.0), value + room)

    def _cost(self, c: float, *, axes: Axes = HEADLINE, at: float | None = None, unit: Unit = "raw") -> Bracket:
        c, axes = checks.real("c", c, 0, 1), checks.axes(axes)
        x, y = (self._metric(name, at=1.0 if at is None else at, unit=unit) for name in axes)
        return outward(x * c + y * (1 - c))

    def _costs(self, c: float, axes: Axes, t: Array, unit: Unit) -> Bracket:
        x, y = (self._binned.values(name, t).positive().over(self._size(name, unit)) for name in axes)
        return x * c + y * (1 - c)

    def _cheapest(self, c: float, *, axes: Axes = HEADLINE, unit: Unit = "raw") -> Bracket:
        c, axes = checks.real("c", c, 0, 1), checks.axes(axes)
        t = self._binned.vertices
        high = self._costs(c, axes, self._places(), unit).high.min()
        ends = []
        for name in axes:
            low = self._binned.values(name, t).positive().over(self._size(name, unit)).low
            # Between vertices bounds are straight lines, so the least cost is at one; a miss rate is a step inside.
            stepped = np.append(low[1:], low[-1]) if "miss_rate" in axes and name in FALLING else low
            ends.append(stepped)
        return outward(Bracket(min((ends[0] * c + ends[1] * (1 - c)).min(), high), high))

    def _concentration(self, *, axes: Axes = HEADLINE, share: float = 0.5) -> Bracket:
        axes, share = checks.axes(axes), checks.real("share", share, 0, 1)
        if "miss_rate" not in axes or axes[0] == axes[1]:
            raise ValueError(
                f"`axes` must hold miss_rate and another metric for a sketch to tell rows apart; got {axes!r}."
            )
        if self.sketch.weighted:
            raise ValueError("`concentration` counts rows, so a sketch needs equal weights. Hint: leave `weight` out.")
        other = axes[0] if axes[1] == "miss_rate" else axes[1]
        return bracket(1.0) if self._binned.endless else self._binned.carriers(other, share)

    def _size(self, name: Metric, unit: Unit) -> Bracket:
        """What one of the caller's units is in units of y_true; 1 for the miss rate."""
        if name == "miss_rate" or unit == "raw":
            return bracket(1.0)
        if unit == "std":
            return self._deviation()
        if isinstance(unit, str) or checks.real("unit", unit, 0) == 0:
            raise ValueError(f"`unit` must be 'raw', 'std' or a number above 0; got {unit!r}.")
        return bracket(float(unit))

    def _deviation(self) -> Bracket:
        s = self.sketch
        squares = s.y_squares / s.total
        variance, slack = squares - (s.y_sum / s.total) ** 2, 8 * s.errors.rounding * squares
        if not 0 < variance - slack < np.inf:
            raise ValueError(
                '`unit="std"` needs a y_true that varies by more than the rounding of its squares. '
                "Hint: pass the deviation as a number."
            )
        return Bracket(np.sqrt(variance - slack), np.sqrt(variance + slack))

    def _refuse_others(self, given: dict[str, Any], known: tuple[str, ...], what: str) -> None:
        for name in given:
            checks.choice(what, name, known)
