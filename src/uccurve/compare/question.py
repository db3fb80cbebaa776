"""Question: which number of the curve is asked for, checked once, so that tests and intervals can ask it many times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from uccurve import _checks as checks
from uccurve._checks import FALLING, Array, Axes, Metric, Range, Unit, Vary
from uccurve.curve import UCC
from uccurve.intervals import Intervals
from uccurve.profile import Profile

Statistic = Literal[
    "area",
    "gain",
    "cost",
    "cheapest",
    "interval_score",
    "bandwidth",
    "miss_rate",
    "excess",
    "deficit",
    "overshoot",
]
STATISTICS: tuple[Statistic, ...] = get_args(Statistic)
CURVE_STATISTICS = ("area", "gain", "cheapest")
"""Answers of the curve, which do not depend on the scale as delivered; the others are means over rows as delivered."""


@dataclass(frozen=True, slots=True)
class Question:
    """One number of a curve: `part` is a metric and the range it must lie in, `unit` a number."""

    statistic: Statistic
    axes: Axes
    vary: Vary
    part: tuple[Metric, Range] | None = None
    c: float | None = None
    alpha: float | None = None
    unit: float = 1.0

    @classmethod
    def of(
        cls,
        intervals: Intervals,
        *,
        statistic: Statistic,
        axes: Axes,
        vary: Vary,
        c: float | None,
        alpha: float | None,
        unit: Unit,
        **ranges: Range | None,
    ) -> Question:
        """Refuse options that do not go together; everything else is as in `UCC`."""
        checks.choice("statistic", statistic, STATISTICS)
        curve = UCC(intervals, vary=vary)
        part = checks.only("range", **ranges)
        if part is not None and statistic not in ("area", "gain"):
            raise ValueError(f"`{part[0]}` as a range goes with an area or a gain, not with {statistic}.")
        part = part and (part[0], checks.span(*part))
        c = _needed("c", c, statistic, ("cost", "cheapest"))
        alpha = _needed("alpha", alpha, statistic, ("interval_score",))
        alpha = alpha if alpha is None else meant_to_miss(alpha)
        return cls(statistic, checks.axes(axes), vary, part, c, alpha, curve._unit(unit))

    def value(self, intervals: Intervals) -> float:
        """Answer for one set of intervals."""
        curve = UCC(intervals, vary=self.vary)
        options: dict[str, Any] = {"axes": self.axes, "unit": self.unit}
        if self.statistic in ("area", "gain"):
            return float(getattr(curve, self.statistic)(**options, **dict([self.part] if self.part else [])))
        if self.c is not None:
            return curve.cost(self.c, **options) if self.statistic == "cost" else curve.cheapest(self.c, **options).cost  # type: ignore[return-value]  # cheapest always has a cost
        point = curve.at(self.delivered, unit=self.unit)
        if self.alpha is not None:
            return 2 * point.bandwidth + 2 / self.alpha * point.deficit
        return float(getattr(point, self.statistic))

    def finite_value(self, intervals: Intervals, name: str) -> float:
        """Answer for the argument `name`; refuse one that is infinite or undefined, which nothing can be said about."""
        value = self.value(intervals)
        if np.isfinite(value):
            return value
        profile = Profile.of(intervals, self.vary)
        if profile.endless:
            never = np.isinf(profile.critical)
            raise ValueError(
                f"`{name}` must have a finite {self.statistic}: {int(never.sum())} of {len(never)} rows have an error "
                f"on the side of a zero band. Hint: {checks.FLOOR_HINT}."
            )
        raise ValueError(
            f"`{name}` must have a defined {self.statistic}; it is {value} on {'/'.join(self.axes)}: "
            "the constant band's area is 0."
        )

    @property
    def delivered(self) -> float:
        """Scale or shift of the intervals as they came."""
        return 1.0 if self.vary == "scale" else 0.0

    @property
    def whole(self) -> bool:
        """Whether it is an area (or gain) of the whole curve with one rising and one falling axis.

        Only then do rows enter by pairs alone: each row's miss or deficit times each row's width or excess.
        """
        falling = FALLING.intersection(self.axes)
        return (
            self.statistic in ("area", "gain") and self.part is None and len(falling) == 1 and len(set(self.axes)) == 2
        )

    def size(self, profile: Profile, *names: Metric) -> float:
        """What turns a product of these metrics in the profile's units into the question's unit."""
        return float((profile.size / self.unit) ** sum(name != "miss_rate" for name in names))

    def per_row(self, profile: Profile) -> Array:
        """What each row adds to the mean, for statistics of the intervals as delivered."""
        row = _metrics(profile, self.delivered)
        row = {name: values * self.size(profile, name) for name, values in row.items()}
        if self.alpha is not None:
            return 2 * row["bandwidth"] + 2 / self.alpha * row["deficit"]
        if self.c is not None:
            return self.c * row[self.axes[0]] + (1 - self.c) * row[self.axes[1]]
        return row[self.statistic]  # type: ignore[index]  # the rest of the statistics are metrics


def meant_to_miss(alpha: float) -> float:
    """Return the share of observations that intervals are meant to miss, above 0."""
    if checks.real("alpha", alpha, 0, 1) == 0:
        raise ValueError("`alpha` must be above 0: it is the share of observations that the intervals may miss.")
    return float(alpha)


def _needed(name: str, value: float | None, statistic: str, owners: tuple[str, ...]) -> float | None:
    if statistic not in owners:
        if value is not None:
            raise ValueError(f"`{name}` goes with {' or '.join(owners)}, not with {statistic}.")
        return None
    if value is None:
        raise ValueError(f"`{name}` must be given for {statistic}, such as {name}=0.1.")
    return checks.real(name, value, 0, 1)


def _metrics(profile: Profile, t: float) -> dict[Metric, Array]:
    """Each row's own share of the metrics at one scale or shift."""
    bands = profile.active, profile.other
    active, other = (t * band if profile.vary == "scale" else np.maximum(band + t, 0) for band in bands)
    covered = profile.critical <= t
    over, under = np.maximum(active - profile.error, 0), np.maximum(profile.error - active, 0)
    return {
        "bandwidth": active / 2 + other / 2,
        "miss_rate": (~covered).astype(np.float64),
        "excess": np.where(covered, np.minimum(over, other + profile.error), 0),
        "deficit": np.where(covered, 0, under),
        "overshoot": np.where(covered, over, 0),
    }
