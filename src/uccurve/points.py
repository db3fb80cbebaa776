"""Points: what a curve answers, whatever it is made of, the results it answers with, and results as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from math import isfinite, nan
from typing import Any, Literal, Protocol, Self, runtime_checkable

import numpy as np

from ._vocabulary import HEADLINE, Array, Axes, Range, Target, Unit, Vary


def short_repr(result: Any) -> str:
    """Return the numbers of a dataclass by name, to four digits, without those that are None."""
    values = ((field.name, getattr(result, field.name)) for field in fields(result))
    numbers = ", ".join(f"{name}={value:.4g}" for name, value in values if value is not None)
    return f"{type(result).__name__}({numbers})"


@dataclass(frozen=True, slots=True, repr=False)
class OperatingPoint:
    """The metrics at one scale (or shift); with a `cost` where one was asked for, and a `level` on a curve of levels.

    >>> OperatingPoint(
    ...     scale=1.5,
    ...     shift=0.0,
    ...     miss_rate=0.08,
    ...     bandwidth=2.0,
    ...     excess=1.23456,
    ...     deficit=0.1,
    ...     overshoot=1.3,
    ... )
    OperatingPoint(scale=1.5, shift=0, miss_rate=0.08, bandwidth=2, excess=1.235, deficit=0.1, overshoot=1.3)
    """

    scale: float
    shift: float
    miss_rate: float
    bandwidth: float
    excess: float
    deficit: float
    overshoot: float
    cost: float | None = None
    level: float | None = None

    __repr__ = short_repr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CurvePoints:
    """Vertices of a curve on two axes; `scale` or `shift` says where each lies, the other one is None."""

    axes: Axes
    x: Array
    y: Array
    scale: Array | None = None
    shift: Array | None = None

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        spans = (
            f"{name} {v[0]:.4g} to {v[-1]:.4g}"
            for name, v in zip(self.axes, (self.x, self.y), strict=True)
        )
        return f"CurvePoints({len(self)} points, {', '.join(spans)})"


@dataclass(frozen=True, slots=True, repr=False)
class Decomposition:
    """What predictions, bands and calibration contribute to the interval score at one coverage.

    ``delivered = climatology - prediction - bands + rescaling``, all in units of `y_true`.

    Attributes
    ----------
    delivered : float
        Interval score as delivered.
    shipped : float
        Interval score at the conformal factor (or shift), as it would be shipped.
    rescaling : float
        What the factor saves, ``delivered - shipped``; negative where the intervals as delivered score better.
    bands : float
        What the bands save over the constant band, both as shipped; negative where they know less.
    constant : float
        Score of the constant band around the same predictions, at its own conformal half-width.
    prediction : float
        What the predictions save over one interval for all rows, ``climatology - constant``.
    climatology : float
        Score of the one interval for all rows, between the quantiles alpha/2 and 1 - alpha/2 of `y_true`.
    best : float
        Smallest score over all scales (or shifts).
    slack : float
        What the promise of coverage costs, ``shipped - best``; never negative.
    """

    delivered: float
    shipped: float
    rescaling: float
    bands: float
    constant: float
    prediction: float
    climatology: float
    best: float
    slack: float

    __repr__ = short_repr

    @classmethod
    def of(
        cls, *, delivered: float, shipped: float, constant: float, climatology: float, best: float
    ) -> Self:
        """Return what follows from the scores as delivered, as shipped and at best, and of the two references."""
        return cls(
            delivered=delivered,
            shipped=shipped,
            rescaling=delivered - shipped,
            bands=constant - shipped,
            constant=constant,
            prediction=climatology - constant,
            climatology=climatology,
            best=best,
            slack=shipped - best,
        )


@runtime_checkable
class Curve(Protocol):
    """What `assess`, plots and pages ask of a curve: met by `UCC` over any path and by `SketchUCC`."""

    @property
    def vary(self) -> Vary:
        """What moves the bands."""

    def at(self, value: float, *, unit: Unit = "raw") -> OperatingPoint:
        """Return the operating point at one scale (or shift)."""

    def find(
        self,
        *,
        conformal: bool = False,
        confidence: float | None = None,
        unit: Unit = "raw",
        **targets: Target,
    ) -> OperatingPoint:
        """Return the operating point at the smallest scale (or shift) that reaches one target."""

    def points(self, *, axes: Axes = HEADLINE, unit: Unit = "raw") -> CurvePoints:
        """Points of the curve."""

    def table(self, *, unit: Unit = "raw") -> dict[str, Array]:
        """All metrics at the points of the curve."""

    def area(self, *, axes: Axes = HEADLINE, unit: Unit = "raw", **part: Range | None) -> float:
        """Area under the curve or a part of it."""

    def gain(
        self,
        *,
        axes: Axes = HEADLINE,
        reference: Any = None,
        unit: Unit = "raw",
        **part: Range | None,
    ) -> float:
        """Share of a reference's area that is saved."""

    def cost(
        self, c: float, *, axes: Axes = HEADLINE, at: float | None = None, unit: Unit = "raw"
    ) -> float:
        """Cost at one operating point."""

    def cheapest(self, c: float, *, axes: Axes = HEADLINE, unit: Unit = "raw") -> OperatingPoint:
        """Return the operating point of minimum cost."""

    def interval_score(
        self, *, coverage: float, at: float | None = None, unit: Unit = "raw"
    ) -> float:
        """Interval score at one operating point."""

    def decompose(self, *, coverage: float, unit: Unit = "raw") -> Decomposition:
        """What makes up the interval score."""

    def potential_crps(self, *, unit: Unit = "raw") -> float:
        """Potential CRPS."""

    def skill(self, *, reference: Any = None) -> float:
        """Share of a reference's potential CRPS that is saved."""


# ---- estimates, and results as plain data

MoveKind = Literal["scale", "shift"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with the ends of its confidence interval, which are nan where nothing is known about chance.

    `float()` and `format()` take the value.

    Examples
    --------
    >>> score = Estimate(1.684, 1.52, 1.87)
    >>> float(score), f"{score:.2f}", str(score)
    (1.684, '1.68', '1.684 [1.52, 1.87]')
    """

    value: float
    low: float = nan
    high: float = nan

    def __float__(self) -> float:
        return float(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __str__(self) -> str:
        if not self.has_interval:
            return f"{self.value:.4g}"
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"

    @property
    def has_interval(self) -> bool:
        """Whether both ends are known; an end may be infinite."""
        return self.low <= self.high

    @property
    def is_finite(self) -> bool:
        """Whether the value is a finite number."""
        return isfinite(self.value)

    def times(self, factor: float) -> "Estimate":
        """Return value and ends multiplied by a positive factor."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor)


UNKNOWN = Estimate(nan)


@dataclass(frozen=True, slots=True)
class Move:
    """What calibrates bands: a factor on them (scale), or an amount added to them (shift).

    Examples
    --------
    >>> move = Move("shift", Estimate(0.5, 0.4, 0.7))
    >>> float(move.shift), float(move.scale)
    (0.5, nan)
    """

    kind: MoveKind
    estimate: Estimate

    @property
    def scale(self) -> Estimate:
        """The factor; nan for a shift."""
        return self.estimate if self.kind == "scale" else UNKNOWN

    @property
    def shift(self) -> Estimate:
        """The amount; nan for a factor."""
        return self.estimate if self.kind == "shift" else UNKNOWN

    @property
    def is_reachable(self) -> bool:
        """Whether some finite factor or amount reaches the target."""
        return self.estimate.is_finite


def record(result: Any) -> dict[str, Any]:
    """Return a result as a plain dict; a move is its scale and its shift, of which one is None."""
    out: dict[str, Any] = {}
    for item in fields(result):
        value = getattr(result, item.name)
        if isinstance(value, Move):
            out["scale"] = plain(value.scale)
            out["shift"] = plain(value.shift)
        else:
            out[item.name] = plain(value)
    return out


def plain(value: Any) -> Any:
    """Return what JSON can hold; what is infinite or undefined is None.

    >>> plain({"scale": float("inf"), "axes": ("bandwidth", "miss_rate")})
    {'scale': None, 'axes': ['bandwidth', 'miss_rate']}
    """
    if is_dataclass(value):
        return record(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not isfinite(value):
        return None
    return value
