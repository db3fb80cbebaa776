"""Promise: whether a delivered coverage is the one that was promised."""

from dataclasses import dataclass
from math import isnan

from uccurve._refusals import miss_rate_of
from uccurve.estimate import Estimate
from uccurve.results import Promise

USUAL_TOLERANCE = (
    0.05  # share of the miss rate by which a coverage may differ from the promised one
)
# A coverage interval that reaches down to this many times the promised odds of a miss tells hardly anything.
TELLING = 3


@dataclass(frozen=True, slots=True)
class Promised:
    """A promised coverage, and how far the delivered one may lie from it and still keep the promise."""

    coverage: float
    tolerance: float

    @classmethod
    def of(cls, coverage: float, tolerance: float | None = None) -> "Promised":
        """Return a promise with the usual tolerance where none is given: 5% of the miss rate."""
        if tolerance is None or isnan(tolerance):
            tolerance = USUAL_TOLERANCE * float(miss_rate_of(coverage))
        return cls(coverage, tolerance)

    @property
    def lowest(self) -> float:
        """Smallest coverage that keeps the promise, with room for rounding."""
        return self.coverage - self.tolerance - 1e-12

    @property
    def highest(self) -> float:
        """Largest coverage that keeps the promise, with room for rounding."""
        return self.coverage + self.tolerance + 1e-12

    def kept_by(self, coverage: Estimate) -> Promise:
        """Whether a coverage keeps it."""
        if not coverage.has_interval:
            return "unclear"
        if coverage.high < self.lowest:
            return "too narrow"
        if coverage.low > self.highest:
            return "too wide"
        odds = (1 - coverage.low) * self.coverage
        if odds > TELLING * (1 - self.coverage) * coverage.low:
            return "unclear"
        return "kept"
