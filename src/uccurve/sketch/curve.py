"""Sketch curve: the answers of a UCC from a sketch, each the midpoint of a bracket that contains the exact one."""

from __future__ import annotations

from copy import copy
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from uccurve import _checks as checks
from uccurve._checks import HEADLINE, METRICS, Array, Axes, Metric, Range, Target, Unit, Vary
from uccurve._ramps import index_of_minimum
from uccurve.curve import UCC
from uccurve.intervals import Intervals
from uccurve.points import CurvePoints, Decomposition, OperatingPoint

from ._answers import Answers
from ._brackets import Bracket
from ._state import Sketched

if TYPE_CHECKING:
    from uccurve.plots.display import UCCDisplay

Scores = Literal["interval_score", "best_score", "best_scale", "uncertainty", "miscalibration", "discrimination"]
Answer = Literal[Metric, "area", "gain", "cost", "cheapest", "find", "concentration", Scores, "potential_crps", "skill"]
ANSWERS = get_args(Answer)


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

    __slots__ = ("_answers", "sketch")
    vary: Vary = "scale"
    sketch: Sketched
    _answers: Answers

    def __init__(self, sketch: Sketched) -> None:
        if not isinstance(sketch, Sketched):
            raise TypeError(f"`sketch` must be a UCCSketch; got {type(sketch).__name__}.")
        if not sketch.rows:
            raise ValueError("`sketch` must hold at least one row: it is empty. Hint: update it first.")
        object.__setattr__(self, "sketch", copy(sketch))
        object.__setattr__(self, "_answers", Answers(sketch._state))

    def __reduce__(self) -> tuple[type[SketchUCC], tuple[Sketched]]:
        return SketchUCC, (self.sketch,)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a SketchUCC is frozen; `{name}` cannot be set.")

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
        >>> c = UCCSketch().update(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])).ucc()
        >>> low, high = c.bracket("find", miss_rate=0.4)  # up to rounding
        >>> c.bracket("miss_rate", at=1.0), round(low, 9), high
        ((0.3333333333333333, 0.3333333333333333), 1.0, 1.0)
        """
        checks.choice("answer", answer, ANSWERS)
        if answer in METRICS:
            return self._answers.metric(answer, *args, **options).pair
        return self._ask(answer, *args, **options).pair

    def error(self, answer: Answer, *args: Any, **options: Any) -> float:
        """Return how far the answer can be from the exact one: half the width of its bracket."""
        low, high = self.bracket(answer, *args, **options)
        return 0.0 if low == high else (high - low) / 2

    def at(self, value: float, *, unit: Unit = "raw") -> OperatingPoint:
        """Return the operating point at one scale."""
        return self._point(checks.real("scale", value, 0), unit)

    def find(
        self, *, conformal: bool = False, confidence: float | None = None, unit: Unit = "raw", **targets: Target
    ) -> OperatingPoint:
        """Return the operating point at a scale that is sure to reach one target: the upper end of its bracket.

        Guarantees of ``conformal=True`` and of its ``confidence`` hold at that scale too.

        Examples
        --------
        >>> from uccurve import UCCSketch
        >>> c = UCCSketch().update(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 1])).ucc()
        >>> c.find(coverage=0.5).scale, c.find(miss_rate=0.5, conformal=True).scale
        (2.0, 2.0)
        """
        found = self._answers.find(conformal=conformal, confidence=confidence, unit=unit, **targets)
        return self._point(float(found.high), unit)

    def points(self, *, axes: Axes = HEADLINE, unit: Unit = "raw") -> CurvePoints:
        """Points of the curve where its bins begin and end."""
        axes = checks.axes(axes)
        t = self._answers.scales()
        x, y = (self._answers.column(name, t, unit) for name in axes)
        return CurvePoints(axes, x, y, t)

    def bounds(self, *, axes: Axes = HEADLINE, unit: Unit = "raw") -> tuple[CurvePoints, CurvePoints]:
        """Curves below and above which the exact one does not run, for the shade of a plot.

        They meet where bins begin and end, at `points`; in between the exact curve is known to lie between them.

        Examples
        --------
        >>> from uccurve import UCCSketch
        >>> c = UCCSketch().update(Intervals.from_bands([1, 1.01, 1.04], y_pred=[0] * 3, lower_band=[1] * 3)).ucc()
        >>> low, high = c.bounds()
        >>> bool((low.y <= high.y).all()), low.axes
        (True, ('bandwidth', 'miss_rate'))
        """
        axes = checks.axes(axes)
        t = self._answers.binned.breakpoints
        x, y = self._answers.column(axes[0], t, unit), self._answers.metrics(axes[1], t, unit)
        return CurvePoints(axes, x, y.low, t), CurvePoints(axes, x, y.high, t)

    def table(self, *, unit: Unit = "raw") -> dict[str, Array]:
        """Scale and all five metrics where bins begin and end, in columns ready for a data frame."""
        t = self._answers.scales()
        return {"scale": t} | {name: self._answers.column(name, t, unit) for name in METRICS}

    def area(self, *, axes: Axes = HEADLINE, unit: Unit = "raw", **part: Range | None) -> float:
        """Area under the curve, or under its part on which one metric lies in a range, as in `UCC.area`."""
        return self._ask("area", axes=axes, unit=unit, **part).middle

    def gain(
        self,
        *,
        axes: Axes = HEADLINE,
        reference: Intervals | UCC | Sketched | SketchUCC | None = None,
        unit: Unit = "raw",
        **part: Range | None,
    ) -> float:
        """Share of the reference's area that these intervals save; the reference may be another sketch."""
        return self._ask("gain", axes=axes, reference=reference, unit=unit, **part).middle

    def cost(self, c: float, *, axes: Axes = HEADLINE, at: float | None = None, unit: Unit = "raw") -> float:
        """Return ``c * x + (1 - c) * y`` at one scale, by default as delivered."""
        return self._ask("cost", c, axes=axes, at=at, unit=unit).middle

    def cheapest(self, c: float, *, axes: Axes = HEADLINE, unit: Unit = "raw") -> OperatingPoint:
        """Return the operating point of minimum cost among those where bins begin and end."""
        c, axes = checks.real("c", c, 0, 1), checks.axes(axes)
        t = self._answers.scales()
        best = float(t[index_of_minimum(self._answers.costs(c, axes, t, unit).high)])
        return self._point(best, unit, cost=self.cost(c, axes=axes, at=best, unit=unit))

    def concentration(self, *, axes: Axes = HEADLINE, share: float = 0.5) -> int:
        """Return a number of rows that is sure to carry a `share` of the area: the upper end of its bracket.

        One axis must be the miss rate: a row's part of other areas depends on its band too, which bins do not keep.
        """
        return int(self._ask("concentration", axes=axes, share=share).high)

    def interval_score(self, *, coverage: float | Fraction, at: float | None = None, unit: Unit = "raw") -> float:
        """Interval score ``2 * bandwidth + (2 / alpha) * deficit`` at one scale, ``alpha = 1 - coverage``.

        Exact as delivered (the default, scale 1) and wherever else a bin ends.

        Examples
        --------
        >>> from uccurve import UCCSketch
        >>> c = UCCSketch().update(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])).ucc()
        >>> round(c.interval_score(coverage=0.5), 12)  # 2 * 2 + 4 * (1 / 3)
        5.333333333333
        """
        return self._ask("interval_score", coverage=coverage, at=at, unit=unit).middle

    def decompose(self, *, coverage: float | Fraction, unit: Unit = "raw") -> Decomposition:
        """Return what bands and calibration contribute to the interval score at one coverage.

        `score` is exact. `climatology` and `prediction` are nan: they need quantiles of `y_true`, and a sketch keeps
        its mean and standard deviation only. All other fields have a bracket, as in ``bracket("best_score",
        coverage=0.9)``.

        Examples
        --------
        >>> from uccurve import UCCSketch
        >>> c = UCCSketch().update(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])).ucc()
        >>> d = c.decompose(coverage=0.5)
        >>> round(d.score, 12), round(d.best_score, 12), round(d.miscalibration, 12)
        (5.333333333333, 5.333333333333, 0.0)
        """
        score = self.interval_score(coverage=coverage, unit=unit)
        best = min(self._ask("best_score", coverage=coverage, unit=unit).middle, score)
        uncertainty = self._ask("uncertainty", coverage=coverage, unit=unit).middle
        return Decomposition(
            score=score,
            best_score=best,
            best_scale=self._ask("best_scale", coverage=coverage).middle,
            miscalibration=score - best,
            discrimination=uncertainty - best,
            uncertainty=uncertainty,
            prediction=np.nan,
            climatology=np.nan,
        )

    def potential_crps(self, *, unit: Unit = "raw") -> float:
        """CRPS of the predictive distributions that the scaled bands describe, each level at its best scale.

        Examples
        --------
        >>> from uccurve import UCCSketch
        >>> c = UCCSketch().update(Intervals.from_bands([1, 3], y_pred=[0, 0], lower_band=[1, 1])).ucc()
        >>> round(c.potential_crps(), 12)  # a constant band: E[max(r, r')] / 2 = (1 + 3 + 3 + 3) / 8
        1.25
        """
        return self._ask("potential_crps", unit=unit).middle

    def skill(self, *, reference: Intervals | UCC | Sketched | SketchUCC | None = None) -> float:
        """Share of the reference's potential CRPS that these intervals save; by default that of the constant band."""
        return self._ask("skill", reference=reference).middle

    def plot(self, **options: Any) -> UCCDisplay:
        """Draw the curve with matplotlib; see `UCCDisplay.from_ucc` for the options."""
        from uccurve.plots.display import UCCDisplay

        return UCCDisplay.from_ucc(self, **options)

    def __repr__(self) -> str:
        rows = f"{self.sketch.rows} row{'' if self.sketch.rows == 1 else 's'}"
        scales = self._answers.binned.active.minimum
        if not len(scales):
            return f"SketchUCC({rows}, no scale covers any)"
        return f"SketchUCC({rows}, scale {scales[0]:.4g} to {self._answers.binned.end:.4g})"

    def _repr_html_(self) -> str:
        pairs: list[tuple[str, tuple[float, float]]] = [(name, self.bracket(name)) for name in METRICS]
        pairs += [(f"gain, {y} vs. {x}", self.bracket("gain", axes=(x, y))) for x, y in checks.SUMMARY]
        pairs += [("skill", self.bracket("skill"))]
        cells = "".join(f"<tr><th>{name}</th><td>{low:.4g}</td><td>{high:.4g}</td></tr>" for name, (low, high) in pairs)
        return f"<table><caption>{self!r}</caption><tr><th></th><th>low</th><th>high</th></tr>{cells}</table>"

    def _ask(self, answer: str, *args: Any, **options: Any) -> Bracket:
        reference = options.get("reference")
        if isinstance(reference, SketchUCC):
            options["reference"] = reference.sketch
        found: Bracket = getattr(self._answers, answer)(*args, **options)
        return found

    def _point(self, t: float, unit: Unit, cost: float | None = None) -> OperatingPoint:
        values = {name: float(self._answers.column(name, np.array([t]), unit)[0]) for name in METRICS}
        return OperatingPoint(scale=t, shift=0.0, cost=cost, **values)
