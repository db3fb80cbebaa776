"""Protocol: what a curve answers, whatever it is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Unpack

from ._checks import HEADLINE, Array, Axes, Ranges, Targets, Unit, Vary
from .points import CurvePoints, Decomposition, OperatingPoint

if TYPE_CHECKING:
    from .plots.display import UCCDisplay


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
        **targets: Unpack[Targets],
    ) -> OperatingPoint:
        """Return the operating point at the smallest scale (or shift) that reaches one target."""

    def points(self, *, axes: Axes = HEADLINE, unit: Unit = "raw") -> CurvePoints:
        """Points of the curve."""

    def table(self, *, unit: Unit = "raw") -> dict[str, Array]:
        """All metrics at the points of the curve."""

    def area(self, *, axes: Axes = HEADLINE, unit: Unit = "raw", **part: Unpack[Ranges]) -> float:
        """Area under the curve or a part of it."""

    def gain(
        self, *, axes: Axes = HEADLINE, reference: Any = None, unit: Unit = "raw", **part: Unpack[Ranges]
    ) -> float:
        """Share of a reference's area that is saved."""

    def cost(self, c: float, *, axes: Axes = HEADLINE, at: float | None = None, unit: Unit = "raw") -> float:
        """Cost at one operating point."""

    def cheapest(self, c: float, *, axes: Axes = HEADLINE, unit: Unit = "raw") -> OperatingPoint:
        """Return the operating point of minimum cost."""

    def interval_score(self, *, coverage: float, at: float | None = None, unit: Unit = "raw") -> float:
        """Interval score at one operating point."""

    def decompose(self, *, coverage: float, unit: Unit = "raw") -> Decomposition:
        """What makes up the interval score."""

    def potential_crps(self, *, unit: Unit = "raw") -> float:
        """Potential CRPS."""

    def skill(self, *, reference: Any = None) -> float:
        """Share of a reference's potential CRPS that is saved."""

    def concentration(self, *, axes: Axes = HEADLINE, share: float = 0.5) -> int:
        """How few rows carry a share of the area."""

    def plot(self, **options: Any) -> UCCDisplay:
        """Draw the curve."""
