"""Statistics: which number of a curve is asked for, checked once, so that it can be computed many times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, cast, get_args

import numpy as np

from uccurve import _checks as checks
from uccurve._checks import FLOOR_HINT, METRICS, Axes, Metric, Range, Ranges, Unit, Vary
from uccurve._paths import Path
from uccurve.curve import UCC
from uccurve.intervals import Intervals

OfCurve = Literal["area", "gain", "crps", "skill", "cheapest", "score", "scale", "half_width"]
AsDelivered = Literal["cost", "interval_score"] | Metric
Asked = OfCurve | AsDelivered | Callable[[Intervals], float]
DELIVERED = ("cost", "interval_score", *METRICS)
NAMES: tuple[str, ...] = (*get_args(OfCurve), *DELIVERED)
WITH_C = ("cost", "cheapest")
WITH_COVERAGE = ("score", "interval_score", "scale", "half_width")


@dataclass(frozen=True, slots=True)
class Statistic:
    """One number of a curve: `part` is a metric and the range it must lie in, `alpha` a miss rate, `unit` a number."""

    asked: Asked
    axes: Axes
    part: tuple[Metric, Range] | None
    c: float | None
    alpha: Fraction | None
    unit: float

    @classmethod
    def of(
        cls,
        curve: UCC,
        asked: Asked,
        *,
        axes: Axes,
        ranges: Ranges | None = None,
        c: float | None = None,
        alpha: float | None = None,
        coverage: float | None = None,
        unit: Unit = "raw",
    ) -> Statistic:
        """Refuse options that do not go together; everything else is as in `UCC`."""
        if not callable(asked):
            checks.choice("statistic", asked, NAMES)
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
        part = checks.only("range", ranges or {})
        if part is not None and name not in ("area", "gain"):
            raise ValueError(f"`{part[0]}` as a range goes with an area or a gain, not with {name}.")
        part = part and (part[0], checks.span(*part))
        return cls(asked, checks.axes(axes), part, _c(c, name), _alpha(alpha, coverage, name), curve._unit(unit))

    @property
    def as_delivered(self) -> bool:
        """Whether it is a mean over rows of the intervals as delivered."""
        return self.asked in DELIVERED

    @property
    def depends_on_scale(self) -> bool:
        """Whether multiplying all bands by one factor changes it."""
        return self.as_delivered or self.asked == "scale" or callable(self.asked)

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
        unit, c, coverage = self.unit, self.c or 0.0, float(1 - (self.alpha or 0))
        options: dict[str, Any] = {"axes": self.axes, "unit": unit}
        part: dict[str, Any] = dict([self.part]) if self.part else {}
        found: dict[str, Callable[[], float | None]] = {
            "area": lambda: curve.area(**options, **part),
            "gain": lambda: curve.gain(**options, **part),
            "crps": lambda: curve.potential_crps(unit=unit),
            "skill": curve.skill,
            "cheapest": lambda: curve.cheapest(c, **options).cost,
            "cost": lambda: curve.cost(c, **options),
            "score": lambda: curve.decompose(coverage=coverage, unit=unit).best_score,
            "interval_score": lambda: curve.interval_score(coverage=coverage, unit=unit),
            "scale": lambda: curve.find(coverage=coverage).scale,
            "half_width": lambda: curve.find(coverage=coverage, unit=unit).bandwidth,
        }
        if self.asked not in found:
            return float(getattr(curve.at(curve._delivered, unit=unit), self.asked))
        return float(found[self.asked]() or 0.0)

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

    def prices(self, path: Path) -> dict[Metric, float]:
        """What one unit of each metric costs, for costs, interval scores and single metrics."""
        if self.c is not None:
            x, y = self.axes
            prices: dict[Metric, float] = {x: self.c, y: (1 - self.c) + (self.c if x == y else 0.0)}
        elif self.alpha is not None:
            prices = {"bandwidth": 2.0, "deficit": 2 / float(self.alpha)}
        else:
            prices = {cast("Metric", self.asked): 1.0}
        return {name: price * self.size(path, name) for name, price in prices.items()}


def curve_of(name: str, data: Any, vary: Vary | None = None) -> UCC:
    """Return the curve of Intervals, or the one that is given; refuse what keeps no rows."""
    if isinstance(data, Intervals):
        return UCC(data, vary="scale" if vary is None else vary)
    if not isinstance(data, UCC):
        raise TypeError(
            f"`{name}` must be Intervals or a UCC, whose rows can be resampled (a sketch keeps none); "
            f"got {type(data).__name__}. Hint: see Intervals.from_bounds."
        )
    if vary not in (None, data.vary):
        raise ValueError(f"`vary` must be that of the UCC, {data.vary!r}, or left out; got {checks.shown(vary)}.")
    return data


def _c(c: Any, name: str) -> float | None:
    if name not in WITH_C:
        _refuse("c", c, name, WITH_C)
        return None
    if c is None:
        raise ValueError(f"`c` must be given for {name}, such as c=0.1.")
    return checks.real("c", c, 0, 1)


def _alpha(alpha: Any, coverage: Any, name: str) -> Fraction | None:
    """Miss rate at which a score or a scale is asked for."""
    if name != "interval_score":
        _refuse("alpha", alpha, name, ("interval_score",))
    if name not in WITH_COVERAGE:
        _refuse("coverage", coverage, name, WITH_COVERAGE)
        return None
    if alpha is not None and coverage is not None:
        raise ValueError("give `coverage` or `alpha`, not both: a coverage of 0.9 is an alpha of 0.1.")
    if alpha is None and coverage is None:
        names = "`coverage` (or `alpha`)" if name == "interval_score" else "`coverage`"
        raise ValueError(f"{names} must be given for {name}, such as coverage=0.9.")
    if alpha is None:
        return checks.miss_rate_of(coverage)
    if checks.real("alpha", alpha, 0, 1) in (0, 1):
        raise ValueError(f"`alpha` must lie between 0 and 1, both excluded; got {checks.shown(alpha)}.")
    return checks.as_written(float(alpha))


def _refuse(option: str, value: Any, name: str, owners: tuple[str, ...]) -> None:
    if value is not None:
        raise ValueError(f"`{option}` goes with {' or '.join(owners)}, not with {name}.")
