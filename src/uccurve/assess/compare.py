"""Compare: paired tests of models on the same rows, and the ranks that follow from their scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import expm1, inf, isfinite, isnan, nan
from typing import Literal, NamedTuple, Protocol

from uccurve._vocabulary import Array
from uccurve.assess.source import Evidence
from uccurve.evidence.inference import ROUNDING, Span, holm, linear_estimate, paired_t_test
from uccurve.evidence.units import UNKNOWN_SPREAD, Spread, Units
from uccurve.points import Estimate
from uccurve.results import Comparison, ModelRow

Tested = Literal["score", "crps", "wis"]


class Contender(NamedTuple):
    """A model's value on what is compared, and the evidence on it."""

    name: str
    evidence: Evidence

    @property
    def value(self) -> float:
        """What is compared."""
        return self.evidence.span.value

    @property
    def offset(self) -> float:
        """What the fit of a factor hides, in units of the value."""
        return self.value * expm1(self.evidence.offset)

    @property
    def hidden(self) -> float:
        """How far the value may be from the exact one."""
        return (self.evidence.span.high - self.evidence.span.low) / 2


class PairChange(Protocol):
    """What gives the influence of the units on the difference of two models; None where it is unknown."""

    def __call__(self, first: Contender, second: Contender) -> Array | None:
        """Influence on the value of the first minus that of the second."""


def change_of_difference(first: Contender, second: Contender) -> Array | None:
    """Influence on the difference of two values, from that on the logarithm of each."""
    if first.evidence.change is None or second.evidence.change is None:
        return None
    return first.evidence.change * first.value - second.evidence.change * second.value


@dataclass(frozen=True, slots=True)
class PairTest:
    """How two models are compared: on which units and statistic, and with what confidence."""

    units: Units
    statistic: Tested
    confidence_level: float
    change: PairChange = change_of_difference

    def of_all(self, contenders: Sequence[Contender]) -> list[Comparison]:
        """Test all pairs, with p-values that are adjusted for all of them."""
        pairs = [self.of(*pair) for pair in combinations(contenders, 2)]
        return adjusted_comparisons(pairs, self.confidence_level)

    def of(self, first: Contender, second: Contender) -> Comparison:
        """Difference of two models with its interval, and the p-value of the paired t test."""
        largest = max(abs(first.value), abs(second.value))
        difference = first.value - second.value
        if not isfinite(difference):
            return self._told(first, second, Estimate(difference), nan)
        if abs(difference) <= ROUNDING * largest:
            difference = 0.0
        spread = self._spread(first, second)
        centre = difference + first.offset - second.offset
        hidden = first.hidden + second.hidden
        span = Span(centre - hidden, centre, centre + hidden)
        around = linear_estimate(span, spread, self.confidence_level)
        if spread.is_known and spread.error <= ROUNDING * largest and difference == 0:
            around = Estimate(0.0, 0.0, 0.0)
        shown = max(abs(centre) - hidden, 0.0)  # as much of the difference as bins cannot hide
        pvalue = paired_t_test(shown, spread, size=largest)
        return self._told(first, second, Estimate(difference, around.low, around.high), pvalue)

    def _spread(self, first: Contender, second: Contender) -> Spread:
        """Return how sure the difference is."""
        if first.value == second.value == 0:
            return Spread(0.0, self.units.degrees)
        influence = self.change(first, second)
        if influence is None:
            return UNKNOWN_SPREAD
        degrees = min(first.evidence.degrees, second.evidence.degrees)
        return self.units.spread(influence).limited(degrees)

    def _told(
        self, first: Contender, second: Contender, difference: Estimate, pvalue: float
    ) -> Comparison:
        ratio = nan
        if second.value and isfinite(difference.value):
            ratio = first.value / second.value
        return Comparison(first.name, second.name, self.statistic, difference, pvalue, ratio=ratio)


def adjusted_comparisons(pairs: Sequence[Comparison], confidence_level: float) -> list[Comparison]:
    """Adjust the p-values for all pairs, and say which model of each is better."""
    adjusted = holm([pair.pvalue for pair in pairs])
    return [
        _judged(pair, pvalue, confidence_level)
        for pair, pvalue in zip(pairs, adjusted, strict=True)
    ]


def _judged(pair: Comparison, pvalue: float, confidence_level: float) -> Comparison:
    """Return a pair with its adjusted p-value and the better model, where the difference is significant."""
    better = None
    if pvalue <= 1 - confidence_level:
        middle = (pair.difference.low + pair.difference.high) / 2
        better = pair.first if middle < 0 else pair.second
    return replace(pair, pvalue_holm=pvalue, better=better)


def adjusted_pvalue(comparisons: Sequence[Comparison], first: str, second: str) -> float:
    """Return the adjusted p-value of two models; nan where they were not tested."""
    for pair in comparisons:
        if {pair.first, pair.second} == {first, second}:
            return pair.pvalue_holm
    return nan


def with_ranks(
    rows: Sequence[ModelRow], comparisons: Sequence[Comparison], values: Mapping[str, float]
) -> list[ModelRow]:
    """Rank by these values, smallest first, in the order given where only rounding differs.

    Each row also gets the p-value of the pair with the best one.
    """
    finite = [abs(value) for value in values.values() if isfinite(value)]
    size = max(finite, default=1.0) or 1.0

    def place(row: ModelRow) -> float:
        value = values[row.name]
        return inf if isnan(value) else round(value / size, 12)

    ordered = sorted(rows, key=place)
    best = ordered[0].name
    ranks = {row.name: rank for rank, row in enumerate(ordered, 1)}
    return [
        replace(row, rank=ranks[row.name], pvalue=adjusted_pvalue(comparisons, best, row.name))
        for row in rows
    ]
