"""Sketch: what the curve needs of any number of rows, in a few mergeable kilobytes, and the curve with its brackets."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias, get_args

import numpy as np
from narwhals.typing import IntoFrame

from uccurve import _refusals as checks
from uccurve._arrays import index_of_minimum
from uccurve._refusals import counted
from uccurve._vocabulary import (
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
from uccurve.curve import UCC
from uccurve.intervals import Intervals, Missing
from uccurve.points import CurvePoints, Decomposition, OperatingPoint

from ._answers import Answers
from ._binned import Bracket
from ._bins import PER_OCTAVE, SketchState, checked, from_json, to_json
from ._engines import states
from ._scan import FrameRequest, IntervalColumns, Scan

if TYPE_CHECKING:
    from uccurve.plots.display import UCCDisplay


class UCCSketch:
    """Curve of any number of rows in constant memory; sketches of parts add up to the sketch of the whole.

    Rows are binned by their critical scale, those with the wider band on the side of the error also by the scale from
    which their other bound is the nearer one, and all by their error, which gives the curve of the constant band. A bin
    keeps its number of rows, minimum, maximum and sums. Bins of one resolution are the same in every sketch.

    Parameters
    ----------
    resolution : {16, 32, 64, 128}
        Number of bins per factor of two. Twice as many make a sketch twice as large, and brackets of scales half and
        those of areas a quarter as wide. Only sketches of one resolution can be merged.

    Attributes
    ----------
    rows : int
        Number of rows that carry weight.
    raised, dropped : int
        Number of bands that `min_band` raised and of rows that ``missing="drop"`` left out.

    Notes
    -----
    Counts, bins and extremes of merged sketches do not depend on the order of merging. Float sums depend on it in
    their last digits; ``==`` ignores these and brackets allow for them. Weights are used as given, so those of
    different sketches must be on one scale.

    Examples
    --------
    >>> iv = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])
    >>> s = UCCSketch().update(iv)
    >>> s
    UCCSketch(3 rows, 2 bins of the scale)
    >>> s == UCCSketch().update(iv[:1]) + UCCSketch().update(iv[1:])
    True
    >>> round(s.ucc().area(), 12)  # bandwidth 2 times the mean critical scale 4/3
    2.666666666667
    """

    __slots__ = ("_state",)
    _state: SketchState
    __hash__ = None  # type: ignore[assignment]  # a sketch can be updated

    def __init__(self, resolution: int = PER_OCTAVE) -> None:
        self._state = SketchState(resolution=checked(resolution))

    @classmethod
    def from_frame(
        cls,
        frame: IntoFrame,
        *,
        y_true: str = "y_true",
        y_pred: str = "y_pred",
        lower: str = "lower",
        upper: str = "upper",
        weight: str | None = None,
        by: str | list[str] | None = None,
        min_band: float | str | None = None,
        missing: Missing = "raise",
        resolution: int = PER_OCTAVE,
    ) -> Any:
        """Sketch of the named columns of any frame that narwhals supports, computed by the engine that holds it.

        Parameters
        ----------
        frame : IntoFrame
            pandas, Polars, PyArrow, DuckDB, Ibis, Dask, PySpark and others. Lazy ones are not collected: one
            pass over the rows, of which only the bins are kept.
        y_true, y_pred, lower, upper, weight : str
            Names of the columns.
        by : str or list of str, optional
            Columns to group by: the answer is a dict with one sketch per group, from the same pass.
        min_band : float or str, optional
            As in `Intervals.from_bounds`; a percentage takes one more pass, for the mean half-width of all rows
            regardless of group. That is a float sum, so the bands raised to it may differ in the last digits between
            engines.
        missing : {"raise", "drop"}
            Refuse rows with NaN, null or infinity, or leave them out with a `DroppedRowsWarning`.
        resolution : {16, 32, 64, 128}
            Number of bins per factor of two.

        Returns
        -------
        UCCSketch, or dict of UCCSketch by group (a tuple of values where `by` is a list)

        Examples
        --------
        >>> import polars as pl
        >>> data = {
        ...     "y_true": [1, 2, 4],
        ...     "y_pred": [0, 0, 0],
        ...     "lower": [-1, -1, -4],
        ...     "upper": [1, 1, 4],
        ... }
        >>> UCCSketch.from_frame(pl.LazyFrame(data))
        UCCSketch(3 rows, 2 bins of the scale)
        >>> UCCSketch.from_frame(pl.LazyFrame(data | {"site": ["N", "S", "S"]}), by="site")["S"]
        UCCSketch(2 rows, 2 bins of the scale)
        """
        keys = [by] if isinstance(by, str) else by or ()
        request = FrameRequest(
            y_true, weight, None, [(key,) for key in keys], min_band, missing, resolution
        )
        scan = Scan.of(frame, [IntervalColumns("", y_pred, lower, upper)], request)
        (states_by_group,) = states(scan)
        sketches = {group: cls._of(state) for group, state in states_by_group.items()}
        if by is None:
            return sketches[()]
        return (
            {group[0]: sketch for group, sketch in sketches.items()}
            if isinstance(by, str)
            else sketches
        )

    @classmethod
    def _of(cls, state: SketchState) -> Self:
        self = cls()
        self._state = state
        return self

    def update(self, intervals: Intervals) -> Self:
        """Add rows, in place; returns the sketch itself.

        Examples
        --------
        >>> UCCSketch().update(Intervals.from_std([1, 2], mean=[1, 5], std=[0.5, 2])).rows
        2
        """
        if not isinstance(intervals, Intervals):
            raise TypeError(f"`intervals` must be Intervals; got {type(intervals).__name__}.")
        self._state = SketchState.union([self._state, SketchState.of(intervals, self.resolution)])
        return self

    def __add__(self, other: UCCSketch) -> Self:
        if not isinstance(other, UCCSketch):
            return NotImplemented
        return self._of(SketchState.union([self._state, other._state]))

    def __radd__(self, other: object) -> Self:
        return (
            self + UCCSketch(self.resolution) if other == 0 else NotImplemented
        )  # sum() starts from 0

    def __eq__(self, other: object) -> bool:
        """Whether both hold the same rows: equal bins, counts and extremes, and sums equal up to rounding."""
        if not isinstance(other, UCCSketch):
            return NotImplemented
        return self._state.agrees(other._state)

    def ucc(self) -> SketchUCC:
        """Curve over the scale, with the answers of a `UCC` and their brackets.

        Examples
        --------
        >>> c = (
        ...     UCCSketch()
        ...     .update(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4]))
        ...     .ucc()
        ... )
        >>> low, high = c.bracket("area", axes=("bandwidth", "deficit"))
        >>> low <= 3 <= high, high - low < 1e-12
        (True, True)
        """
        return SketchUCC(self)

    def to_json(self) -> str:
        """Return the sketch as JSON: arrays of numbers, exact to the last bit.

        Examples
        --------
        >>> s = UCCSketch().update(Intervals.from_std([1, 2], mean=[1, 5], std=[0.5, 2]))
        >>> UCCSketch.from_json(s.to_json()) == s
        True
        """
        return to_json(self._state)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Sketch from `to_json`; text in which anything was changed is refused, by a digest of its numbers."""
        return cls._of(from_json(text))

    @property
    def rows(self) -> int:
        """Number of rows that carry weight."""
        return self._state.rows

    @property
    def raised(self) -> int:
        """Number of bands that `min_band` raised."""
        return self._state.raised

    @property
    def dropped(self) -> int:
        """Number of rows that ``missing="drop"`` left out."""
        return self._state.dropped

    @property
    def resolution(self) -> int:
        """Number of bins per factor of two."""
        return self._state.resolution

    def __repr__(self) -> str:
        notes = [f"{self.raised} bands raised"] * bool(self.raised)
        notes += [f"{self.dropped} rows dropped"] * bool(self.dropped)
        bins = f"{counted(len(self._state.critical.bin), 'bin')} of the scale"
        return f"UCCSketch({', '.join([counted(self.rows, 'row'), bins, *notes])})"


Scores = Literal[
    "interval_score", "shipped", "rescaling", "bands", "constant_shipped", "best_score", "slack"
]
Answer = Literal[
    Metric, "area", "gain", "cost", "cheapest", "find", Scores, "potential_crps", "skill"
]
ANSWERS = get_args(Answer)
Reference: TypeAlias = "Intervals | UCC | UCCSketch | SketchUCC | None"


@dataclass(frozen=True, eq=False, repr=False)
class SketchUCC:
    """Curve of a sketch over the scale: every answer of a `UCC`, and a bracket that contains the exact one.

    Get it from `UCCSketch.ucc`. Methods, parameters and units are those of `UCC`; every answer is the midpoint of a
    bracket unless its method says otherwise. `bracket` gives both ends, `error` half the distance between them.

    Parameters
    ----------
    sketch : UCCSketch
        Later updates of it do not change the curve.

    Notes
    -----
    Exact, that is to the rounding of float64 sums, which brackets allow for:

    - all metrics, costs and interval scores where a bin ends, so also at scale 1, as delivered;
    - areas and gains of miss_rate, deficit or overshoot vs. bandwidth, and of deficit vs. overshoot.

    Bracketed, because rows in the same bin (16 per factor of two) cannot be distinguished: metrics at other scales,
    `find`, other areas, partial areas, `cheapest`, the best score and scale, `potential_crps` and `skill`.

    Brackets hold where errors, bands and their quotients are 0 or between 1e-70 and 1e70, so that their squares stay
    within float64; choose a unit for which they are.

    Examples
    --------
    >>> from uccurve import UCCSketch
    >>> iv = Intervals.from_bands(
    ...     [1, 2, 4, 9], y_pred=[0] * 4, lower_band=[1, 1, 4, 4], upper_band=[1, 3, 4, 5]
    ... )
    >>> c = UCCSketch().update(iv).ucc()
    >>> c
    SketchUCC(4 rows, scale 0.6667 to 1.8)
    >>> c.at(1.0).miss_rate, UCC(iv).at(1.0).miss_rate
    (0.25, 0.25)
    >>> low, high = c.bracket("area", axes=("excess", "deficit"))
    >>> low <= UCC(iv).area(axes=("excess", "deficit")) <= high
    True
    """

    sketch: UCCSketch
    vary: ClassVar[Vary] = "scale"

    def __post_init__(self) -> None:
        if not (isinstance(self.sketch, UCCSketch) and self.sketch.rows):
            raise ValueError(
                "`sketch` must be a UCCSketch that holds at least one row. Hint: update it first."
            )
        object.__setattr__(self, "sketch", copy(self.sketch))
        self._answers.refuse_incomparable()

    @cached_property
    def _answers(self) -> Answers:
        return Answers(self.sketch._state)

    def _within(self, unit: Unit) -> Answers:
        """Answers in a unit."""
        return self._answers if unit == "raw" else Answers(self.sketch._state, unit)

    def bracket(self, answer: Answer, *args: Any, **options: Any) -> tuple[float, float]:
        """Return (low, high) around the exact value of an answer.

        Parameters
        ----------
        answer : str
            A metric, at the scale ``at`` (by default 1), or the method that would give the answer: ``"cheapest"``
            brackets the minimum cost, ``"find"`` the scale, and the fields of `decompose` are answers of their own. A
            scale that reaches a miss rate is a row's critical scale as float64 rounds it.
        args, options
            As that method takes them.

        Examples
        --------
        >>> from uccurve import UCCSketch
        >>> c = (
        ...     UCCSketch()
        ...     .update(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4]))
        ...     .ucc()
        ... )
        >>> low, high = c.bracket("find", miss_rate=0.4)  # up to rounding
        >>> c.bracket("miss_rate", at=1.0), round(low, 9), high
        ((0.3333333333333333, 0.3333333333333333), 1.0, 1.0)
        """
        checks.choice("answer", answer, ANSWERS)
        return self._ask(answer, *args, **options).pair

    def error(self, answer: Answer, *args: Any, **options: Any) -> float:
        """Return how far the answer can be from the exact one: half the width of its bracket."""
        low, high = self.bracket(answer, *args, **options)
        return 0.0 if low == high else (high - low) / 2

    def at(self, value: float, *, unit: Unit = "raw") -> OperatingPoint:
        """Return the operating point at one scale."""
        return self._point(checks.real("scale", value, 0), unit)

    def find(
        self,
        *,
        conformal: bool = False,
        confidence: float | None = None,
        unit: Unit = "raw",
        **targets: Target,
    ) -> OperatingPoint:
        """Return the operating point at a scale that is sure to reach one target: the upper end of its bracket.

        Guarantees of ``conformal=True`` and of its ``confidence`` hold at that scale too.

        Examples
        --------
        >>> from uccurve import UCCSketch
        >>> c = (
        ...     UCCSketch()
        ...     .update(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 1]))
        ...     .ucc()
        ... )
        >>> c.find(coverage=0.5).scale, c.find(miss_rate=0.5, conformal=True).scale
        (2.0, 2.0)
        """
        scale = self._ask("find", conformal=conformal, confidence=confidence, unit=unit, **targets)
        return self._point(float(scale.high), unit)

    def points(self, *, axes: Axes = HEADLINE, unit: Unit = "raw") -> CurvePoints:
        """Points of the curve where its bins begin and end."""
        axes, answers = checks.axes(axes), self._within(unit)
        t = answers.scales()
        x, y = (answers.column(name, t) for name in axes)
        return CurvePoints(axes, x, y, t)

    def table(self, *, unit: Unit = "raw") -> dict[str, Array]:
        """Scale and all five metrics where bins begin and end, in columns ready for a data frame."""
        answers = self._within(unit)
        t = answers.scales()
        return {"scale": t} | {name: answers.column(name, t) for name in METRICS}

    def area(self, *, axes: Axes = HEADLINE, unit: Unit = "raw", **part: Range | None) -> float:
        """Area under the curve, or under its part on which one metric lies in a range, as in `UCC.area`."""
        return self._ask("area", axes=axes, unit=unit, **part).middle

    def gain(
        self,
        *,
        axes: Axes = HEADLINE,
        reference: Reference = None,
        unit: Unit = "raw",
        **part: Range | None,
    ) -> float:
        """Share of the reference's area that these intervals save; the reference may be another sketch."""
        return self._ask("gain", axes=axes, reference=reference, unit=unit, **part).middle

    def cost(
        self, c: float, *, axes: Axes = HEADLINE, at: float | None = None, unit: Unit = "raw"
    ) -> float:
        """Return ``c * x + (1 - c) * y`` at one scale, by default as delivered."""
        return self._ask("cost", c, axes=axes, at=at, unit=unit).middle

    def cheapest(self, c: float, *, axes: Axes = HEADLINE, unit: Unit = "raw") -> OperatingPoint:
        """Return the operating point of minimum cost among those where bins begin and end."""
        c, axes, answers = checks.real("c", c, 0, 1), checks.axes(axes), self._within(unit)
        t = answers.scales()
        best = float(t[index_of_minimum(answers.costs(c, axes, t).high)])
        return self._point(best, unit, cost=self.cost(c, axes=axes, at=best, unit=unit))

    def interval_score(
        self, *, coverage: float | Fraction, at: float | None = None, unit: Unit = "raw"
    ) -> float:
        """Interval score ``2 * bandwidth + (2 / alpha) * deficit`` at one scale, ``alpha = 1 - coverage``.

        Exact as delivered (the default, scale 1) and wherever else a bin ends.

        Examples
        --------
        >>> from uccurve import UCCSketch
        >>> c = (
        ...     UCCSketch()
        ...     .update(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4]))
        ...     .ucc()
        ... )
        >>> round(c.interval_score(coverage=0.5), 12)  # 2 * 2 + 4 * (1 / 3)
        5.333333333333
        """
        return self._ask("interval_score", coverage=coverage, at=at, unit=unit).middle

    def decompose(self, *, coverage: float | Fraction, unit: Unit = "raw") -> Decomposition:
        """Return what bands and calibration contribute to the interval score at one coverage.

        `delivered` is exact. `climatology` and `prediction` are nan: they need quantiles of `y_true`, and a sketch
        keeps its mean and standard deviation only. All other fields have a bracket: `shipped`, `rescaling`, `bands` and
        `slack` under their own name, `constant` and `best` as in ``bracket("constant_shipped", coverage=0.9)`` and
        ``bracket("best_score", coverage=0.9)``. What ``find(coverage=..., conformal=True)`` refuses is refused here.

        Examples
        --------
        >>> from uccurve import UCCSketch
        >>> c = (
        ...     UCCSketch()
        ...     .update(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4]))
        ...     .ucc()
        ... )
        >>> d = c.decompose(coverage=0.5)
        >>> round(d.delivered, 12), round(d.shipped, 12), round(d.rescaling, 12)
        (5.333333333333, 5.333333333333, 0.0)
        """
        ask = self._within(unit)
        conformal = not self.sketch._state.unequal
        ask.find(coverage=coverage, conformal=conformal)
        return ask.decomposition(coverage=coverage)

    def potential_crps(self, *, unit: Unit = "raw") -> float:
        """CRPS of the predictive distributions that the scaled bands describe, each level at its best scale.

        Examples
        --------
        >>> from uccurve import UCCSketch
        >>> c = (
        ...     UCCSketch()
        ...     .update(Intervals.from_bands([1, 3], y_pred=[0, 0], lower_band=[1, 1]))
        ...     .ucc()
        ... )
        >>> round(
        ...     c.potential_crps(), 12
        ... )  # a constant band: E[max(r, r')] / 2 = (1 + 3 + 3 + 3) / 8
        1.25
        """
        return self._ask("potential_crps", unit=unit).middle

    def skill(
        self, *, coverage: float | Fraction | None = None, reference: Reference = None
    ) -> float:
        """Share of the reference's score that these intervals save, as `UCC.skill`; by default the constant band's."""
        return self._ask("skill", coverage=coverage, reference=reference).middle

    def plot(self, **options: Any) -> UCCDisplay:
        """Draw the curve with matplotlib; see `UCCDisplay.from_ucc` for the options."""
        from uccurve.plots.display import UCCDisplay

        return UCCDisplay.from_ucc(self, **options)

    def __repr__(self) -> str:
        scales = self._answers.binned.active.minimum
        what = (
            f"scale {scales[0]:.4g} to {self._answers.binned.end:.4g}"
            if len(scales)
            else "no scale covers any"
        )
        return f"SketchUCC({counted(self.sketch.rows, 'row')}, {what})"

    def _repr_html_(self) -> str:
        pairs: list[tuple[str, tuple[float, float]]] = [
            (name, self.bracket(name)) for name in METRICS
        ]
        pairs += [(f"gain, {y} vs. {x}", self.bracket("gain", axes=(x, y))) for x, y in SUMMARY]
        pairs += [("skill", self.bracket("skill"))]
        cells = "".join(
            f"<tr><th>{name}</th><td>{low:.4g}</td><td>{high:.4g}</td></tr>"
            for name, (low, high) in pairs
        )
        return f"<table><caption>{self!r}</caption><tr><th></th><th>low</th><th>high</th></tr>{cells}</table>"

    def _ask(self, answer: str, *args: Any, unit: Unit = "raw", **options: Any) -> Bracket:
        reference = options.get("reference")
        reference = reference.ucc() if isinstance(reference, UCCSketch) else reference
        if isinstance(reference, SketchUCC):
            options["reference"] = reference._answers
        if answer in METRICS:
            answer, args = "metric", (answer, *args)
        answered: Bracket = getattr(self._within(unit), answer)(*args, **options)
        return answered

    def _point(self, t: float, unit: Unit, cost: float | None = None) -> OperatingPoint:
        answers = self._within(unit)
        values = {name: float(answers.column(name, np.array([t]))[0]) for name in METRICS}
        return OperatingPoint(scale=t, shift=0.0, cost=cost, **values)
