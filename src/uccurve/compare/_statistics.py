"""Statistics: which number of a curve is asked for, checked once, so that it can be computed many times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np

from uccurve import _checks as checks
from uccurve._checks import FLOOR_HINT, HEADLINE, Axes, Metric, Range, Unit
from uccurve._paths import Path
from uccurve.curve import UCC
from uccurve.intervals import Intervals

Name = Literal["area", "gain", "crps", "skill", "score", "scale", "half_width"]
Asked = Name | Callable[[Intervals], float]
WITH_COVERAGE = ("score", "scale", "half_width")


@dataclass(frozen=True, slots=True)
class Statistic:
    """One number of a curve: `span` is the range of the miss rate, `alpha` a miss rate, `unit` a number."""

    asked: Asked
    axes: Axes
    span: Range | None
    alpha: Fraction | None
    unit: float

    @classmethod
    def of(
        cls,
        curve: UCC,
        asked: Asked,
        *,
        axes: Axes = HEADLINE,
        miss_rate: Range | None = None,
        coverage: float | None = None,
        unit: Unit = "raw",
    ) -> Statistic:
        """Refuse options that do not go together; everything else is as in `UCC`."""
        if not callable(asked):
            checks.choice("statistic", asked, get_args(Name))
        name = asked if isinstance(asked, str) else "a callable"
        if name == "scale" and curve.vary == "shift":
            raise ValueError(
                '`statistic="scale"` needs bands that are scaled, not shifted. Hint: ask for "half_width".'
            )
        if name == "a callable" and curve.vary == "levels":
            raise ValueError(
                "`statistic` as a callable takes Intervals; a curve of levels has several. "
                "Hint: pass the Intervals of one level."
            )
        if miss_rate is not None and name not in ("area", "gain"):
            raise ValueError(f"`miss_rate` as a range goes with an area or a gain, not with {name}.")
        if name in WITH_COVERAGE and coverage is None:
            raise ValueError(f"`coverage` must be given for {name}, such as coverage=0.9.")
        if name not in WITH_COVERAGE and coverage is not None:
            raise ValueError(f"`coverage` goes with {' or '.join(WITH_COVERAGE)}, not with {name}.")
        return cls(
            asked,
            checks.axes(axes),
            None if miss_rate is None else checks.span("miss_rate", miss_rate),
            None if coverage is None else checks.miss_rate_of(coverage),
            curve._unit(unit),
        )

    @property
    def depends_on_scale(self) -> bool:
        """Whether multiplying all bands by one factor changes it."""
        return self.asked == "scale" or callable(self.asked)

    @property
    def relative(self) -> bool:
        """Whether it is a share that is saved of what the constant band has."""
        return self.asked in ("gain", "skill")

    def curve(self, curve: UCC) -> UCC:
        """Return the curve it is a number of: for levels and a coverage, that of the interval of that level, scaled."""
        return curve if self.alpha is None else curve._delivered_curve(1 - self.alpha)

    def value(self, curve: UCC) -> float:
        """Statistic of one curve."""
        if callable(self.asked):
            return float(self.asked(curve.intervals))
        unit, coverage = self.unit, float(1 - (self.alpha or 0))
        part: dict[str, Any] = {} if self.span is None else {"miss_rate": self.span}
        found: dict[Name, Callable[[], float]] = {
            "area": lambda: curve.area(axes=self.axes, unit=unit, **part),
            "gain": lambda: curve.gain(axes=self.axes, unit=unit, **part),
            "crps": lambda: curve.potential_crps(unit=unit),
            "skill": curve.skill,
            "score": lambda: curve.decompose(coverage=coverage, unit=unit).best_score,
            "scale": lambda: curve.find(coverage=coverage).scale,
            "half_width": lambda: curve.find(coverage=coverage, unit=unit).bandwidth,
        }
        return float(found[self.asked]())

    def finite_value(self, curve: UCC, name: str) -> float:
        """Statistic of the argument `name`; refuse one that is infinite or undefined, which resampling cannot judge."""
        value = self.value(curve)
        if np.isfinite(value):
            return value
        if callable(self.asked):
            raise ValueError(f"`statistic` must return a finite number; it returned {value} for `{name}`.")
        critical = curve._path().critical
        uncoverable = int(np.isinf(critical).sum())
        if uncoverable:
            raise ValueError(
                f"`{name}` must have a finite {self.asked}: {uncoverable} of {len(critical)} rows have an error on the "
                f"side of a zero band. Hint: {FLOOR_HINT}."
            )
        raise ValueError(
            f"`{name}` must have a defined {self.asked}; it is {value} on {'/'.join(self.axes)}: "
            "the constant band leaves nothing to save."
        )

    def size(self, path: Path, *names: Metric) -> float:
        """What turns a product of these metrics in the path's unit into the caller's unit."""
        return float((path.unit / self.unit) ** sum(name != "miss_rate" for name in names))
