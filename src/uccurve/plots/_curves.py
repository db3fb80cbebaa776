"""Curves: what plots and pages need of any curve beyond its own answers."""

from __future__ import annotations

from typing import Any, Literal, Protocol, runtime_checkable

from uccurve._checks import Unit
from uccurve.curve import UCC
from uccurve.points import Curve, OperatingPoint

Knob = Literal["scale", "shift"]
"""What a curve is followed by: levels are scales too."""


@runtime_checkable
class Bracketed(Protocol):
    """A curve that knows two ends around each of its answers: that of a sketch."""

    def bracket(self, answer: Any, *args: Any, **options: Any) -> tuple[float, float]:
        """Return both ends."""


def is_exact(curve: Curve) -> bool:
    """Whether the points of a curve are all of its vertices."""
    return not isinstance(curve, Bracketed)


def knob(curve: Curve) -> Knob:
    """What moves the bands."""
    return "shift" if curve.vary == "shift" else "scale"


def delivered_at(curve: Curve, level: float | None = None) -> float:
    """Scale (or shift) of the intervals as delivered; of several levels, that of one `level`, or of the widest."""
    if level is not None and isinstance(curve, UCC) and curve.levels:
        return level / curve.levels[-1]
    return 0.0 if curve.vary == "shift" else 1.0


def reached(curve: Curve, coverage: float, unit: Unit = "raw") -> OperatingPoint | None:
    """Operating point at a coverage; None where the curve never reaches it."""
    try:
        return curve.find(coverage=coverage, unit=unit)
    except ValueError:
        return None


def position(point: OperatingPoint, curve: Curve) -> float:
    """Scale (or shift) of an operating point."""
    return point.shift if curve.vary == "shift" else point.scale


def constant_curve(curve: Curve) -> UCC | None:
    """Curve of the constant band around the same predictions; None for a sketch, which keeps no rows."""
    return UCC(curve.intervals.constant(), vary=knob(curve)) if isinstance(curve, UCC) else None
