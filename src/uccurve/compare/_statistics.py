"""Statistics: which number of a curve is asked for, checked once, so that it can be computed many times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Unpack, cast, get_args

import numpy as np

from uccurve import _checks as checks
from uccurve._checks import FLOOR_HINT, HEADLINE, METRICS, Axes, Metric, Range, Ranges, Unit
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


class Options(Ranges, total=False):
    """What goes with a statistic: axes, the weight of a cost, a coverage, a unit, and the part of a curve."""

    axes: Axes
    c: float | None
    coverage: float | None
    unit: Unit


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
    def of(cls, curve: UCC, asked: Asked, **options: Unpack[Options]) -> Statistic:
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
        ranges = {key: value for key, value in options.items() if key not in ("axes", "c", "coverage", "unit")}
        part = checks.only("range", ranges)
        if part is not None and name not in ("area", "gain"):
            raise ValueError(f"`{part[0]}` as a range goes with an area or a gain, not with {name}.")
        c = _owned("c", options.get("c"), name, WITH_C, "c=0.1")
        coverage = _owned("coverage", options.get("coverage"), name, WITH_COVERAGE, "coverage=0.9")
        return cls(
            asked,
            checks.axes(options.get("axes", HEADLINE)),
            part and (part[0], checks.span(*part)),
            None if c is None else checks.real("c", c, 0, 1),
            None if coverage is None else checks.miss_rate_of(coverage),
            curve._unit(options.get("unit", "raw")),
        )

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


def _owned(option: str, value: Any, name: str, owners: tuple[str, ...], example: str) -> Any:
    """Return an option that some statistics need and others must not have."""
    if name in owners and value is None:
        raise ValueError(f"`{option}` must be given for {name}, such as {example}.")
    if name not in owners and value is not None:
        raise ValueError(f"`{option}` goes with {' or '.join(owners)}, not with {name}.")
    return value
