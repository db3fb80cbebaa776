"""Intervals of estimates: t intervals from a spread, half-widths by MOVER, coverages by Clopper and Pearson."""

from math import exp, hypot, inf, isfinite, isnan, log, nan
from typing import NamedTuple

import numpy as np

from uccurve._arrays import Flags, equal_weights
from uccurve._distributions import clopper_pearson, t_quantile
from uccurve._refusals import proportion
from uccurve._vocabulary import Array
from uccurve.estimate import Estimate
from uccurve.evidence.units import Blocks, Spread, Units

ROUNDING = 1e-12  # share of what is compared below which a difference is treated as rounding
LARGEST_LOG = 700.0  # logarithm of about the largest float


class Span(NamedTuple):
    """What is known of a number: itself, between two ends. From rows at hand the three are one."""

    low: float
    value: float
    high: float

    @classmethod
    def exact(cls, value: float) -> "Span":
        """Return the span of a number that is known exactly."""
        return cls(value, value, value)

    def times(self, factor: float) -> "Span":
        """Return the span multiplied by a positive factor."""
        return Span(self.low * factor, self.value * factor, self.high * factor)


def checked_level(level: float, name: str = "confidence_level") -> float:
    """Return a confidence level between 0 and 1."""
    return float(proportion(name, level, "95% is 0.95"))


def reach_of(spread: Spread, confidence_level: float) -> float:
    """Return how far a t interval reaches to either side; nan where nothing is known about chance."""
    if not spread.is_known:
        return nan
    return t_quantile((1 + confidence_level) / 2, spread.degrees) * spread.error


def linear_estimate(span: Span, spread: Spread, confidence_level: float) -> Estimate:
    """Estimate with its t interval."""
    reach = reach_of(spread, confidence_level)
    if not isfinite(span.value) or isnan(reach):
        return Estimate(span.value)
    return Estimate(span.value, span.low - reach, span.high + reach)


def log_estimate(
    span: Span, spread: Spread, confidence_level: float, *, offset: float = 0.0
) -> Estimate:
    """Estimate of a positive number with the t interval of its logarithm, whose spread is given.

    The interval is around the number plus `offset`, such as what the fit of a factor hides.
    """
    reach = reach_of(spread, confidence_level)
    if not isfinite(span.value) or isnan(reach) or span.low + offset <= 0:
        return Estimate(span.value)
    factor = exp(reach) if reach < LARGEST_LOG else inf
    return Estimate(span.value, (span.low + offset) / factor, (span.high + offset) * factor)


def saved_estimate(
    span: Span, spread: Spread, confidence_level: float, *, offset: float = 0.0
) -> Estimate:
    """Estimate of a share that is saved; the spread and the offset are those of the logarithm of what is left of it."""
    left = Span(1 - span.high, 1 - span.value, 1 - span.low)
    moved = left.times(exp(offset)) if isfinite(offset) else left
    estimate = log_estimate(moved, spread, confidence_level)
    if not isfinite(span.value):
        return Estimate(span.value)
    return Estimate(span.value, 1 - estimate.high, 1 - estimate.low)


class WidthsAround(NamedTuple):
    """Mean half-width at the lower end, the value and the upper end of the interval of a factor or shift."""

    low: float
    value: float
    high: float


def mover_estimate(
    widths: WidthsAround, spread: Spread, confidence_level: float, *, log_scale: bool
) -> Estimate:
    """Estimate of the mean half-width at a factor that is itself estimated, from the intervals of its two parts.

    `spread` is that of the half-width (of its logarithm with `log_scale`) at the factor as it is.

    Notes
    -----
    Method of variance estimates recovery (Zou and Donner 2008): with w the half-width and s the reach at a fixed
    factor, the interval runs from ``w - hypot(s, w - w(low))`` to ``w + hypot(s, w(high) - w)``, on logarithms where
    widths are positive.
    """
    reach = reach_of(spread, confidence_level)
    if isnan(reach) or isnan(widths.low) or not isfinite(widths.value):
        return Estimate(widths.value)
    if not log_scale:
        low = widths.value - hypot(reach, widths.value - widths.low)
        high = widths.value + hypot(reach, widths.high - widths.value)
        return Estimate(widths.value, low, high)
    if widths.value <= 0:
        return Estimate(widths.value)
    below = log(widths.value / widths.low) if widths.low > 0 else inf
    above = log(widths.high / widths.value)
    low = widths.value * exp(-min(hypot(reach, below), LARGEST_LOG))
    return Estimate(widths.value, low, widths.value * exp(min(hypot(reach, above), LARGEST_LOG)))


def effective_rows(
    flags: Flags, weight: Array | None, blocks: Blocks, confidence_level: float
) -> float:
    """Return the effective number of rows that the share of the flagged ones rests on; nan for a single block.

    Notes
    -----
    With n rows in q blocks, p the share, v its variance and t the upper quantiles at the confidence level,
    ``n_eff = min(n, p (1 - p) / v * (t_{n-1} / t_{q-1})^2)`` (Korn and Graubard 1998). Independent rows of equal
    weight: n. Where all rows are flagged, or none is: q.
    """
    rows = len(flags)
    if blocks.independent and equal_weights(weight):
        return float(rows)
    if blocks.count < 2:
        return nan
    weights = np.full(rows, 1 / rows) if weight is None else weight / weight.sum()
    share = share_of(flags, weight)
    spread = blocks.spread(weights * (flags - share))
    return effective_count(share, spread, blocks, confidence_level)


def effective_count(share: float, spread: Spread, units: Units, confidence_level: float) -> float:
    """Effective number of rows behind a share, from its spread over the units."""
    if not spread.is_known:
        return nan
    if not 0 < share < 1:
        return float(units.count)
    if spread.error == 0:
        return float(units.rows)
    upper = (1 + confidence_level) / 2
    ratio = t_quantile(upper, units.rows - 1) / t_quantile(upper, spread.degrees)
    return min(float(units.rows), share * (1 - share) * (ratio / spread.error) ** 2)


def share_of(flags: Flags, weight: Array | None) -> float:
    """Weighted share of the flagged rows."""
    count = int(np.count_nonzero(flags))
    if weight is None or count in (0, len(flags)):
        return count / len(flags)
    return float(np.sum(weight[flags]) / np.sum(weight))


def share_estimate(share: float, effective: float, confidence_level: float) -> Estimate:
    """Estimate of a share with its Clopper-Pearson interval for an effective number of rows."""
    if isnan(effective):
        return Estimate(share)
    low, high = clopper_pearson(share * effective, effective, confidence_level)
    return Estimate(share, low, high)


def coverage_estimate(
    covered: Flags, weight: Array | None, blocks: Blocks, confidence_level: float
) -> Estimate:
    """Estimate of a coverage, from one flag for each flattened row of positive weight."""
    effective = effective_rows(covered, weight, blocks, confidence_level)
    return share_estimate(share_of(covered, weight), effective, confidence_level)
