"""Inference: confidence intervals of estimates, p-values of differences and shares, and their adjustment for many."""

from collections.abc import Sequence
from fractions import Fraction
from math import exp, hypot, inf, isfinite, isnan, log, nan, sqrt
from typing import NamedTuple

import numpy as np

from uccurve._arrays import Flags, equal_weights
from uccurve._distributions import (
    binomial_tail,
    clopper_pearson,
    hypergeometric_tail,
    t_quantile,
    t_tail,
)
from uccurve._paths import Path
from uccurve._refusals import proportion
from uccurve._vocabulary import Array
from uccurve.evidence.units import Blocks, Spread, Units
from uccurve.intervals import Intervals
from uccurve.points import Estimate

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
    factor = _exp(reach)
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
    low = widths.value * _exp(-hypot(reach, below))
    high = widths.value * _exp(hypot(reach, above))
    return Estimate(widths.value, low, high)


def _exp(power: float) -> float:
    """Exponential function, infinite beyond the largest float."""
    return exp(power) if power < LARGEST_LOG else inf


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


def missed_on_sides(intervals: Intervals) -> tuple[float, float]:
    """Shares of the rows above the upper and below the lower bound."""
    y = intervals.y_true
    above = np.average(y > intervals.upper, weights=intervals._weight)
    below = np.average(y < intervals.lower, weights=intervals._weight)
    return float(above), float(below)


def on_bounds_of(path: Path) -> Flags:
    """Which rows lie exactly on a bound, as delivered."""
    touching: Flags = path.critical == path.delivered
    if path.vary == "scale":
        touching |= (path.active == 0) & (path.error == 0)
    return touching


def paired_t_test(difference: float, spread: Spread, *, size: float) -> float:
    """Return the two-sided p-value of a difference between two models on the same rows.

    Parameters
    ----------
    difference : float
        Statistic of the first model minus that of the second.
    spread : Spread
        Of the difference.
    size : float
        Size of the two statistics, against which differences are treated as rounding: the larger of them.

    Returns
    -------
    float
        1 where the models differ by rounding only, 0 where they differ by the same amount in every block, nan where
        the difference or its spread is not known.
    """
    slack = ROUNDING * abs(size)
    if not (isfinite(difference) and spread.is_known):
        return nan
    if spread.error <= slack:
        return float(abs(difference) <= slack)
    return t_tail(difference / spread.error, spread.degrees)


def one_sided_t_test(difference: float, spread: Spread, *, size: float) -> float:
    """Return the p-value of a difference above 0; `size` is as in `paired_t_test`."""
    if not (isfinite(difference) and spread.is_known):
        return nan
    if spread.error <= ROUNDING * size:
        return float(difference <= ROUNDING * size)
    half = t_tail(difference / spread.error, spread.degrees) / 2
    return half if difference > 0 else 1 - half


def share_tail(share: float, effective: float, promised: Fraction) -> float:
    """Return the one-sided p-value of a coverage below the promised one, for an effective number of rows."""
    if isnan(effective) or isnan(share):
        return nan
    return binomial_tail((1 - share) * effective, effective, float(1 - promised))


def coverage_tail(
    covered: Flags,
    weight: Array | None,
    blocks: Blocks,
    confidence_level: float,
    *,
    promised: Fraction,
) -> float:
    """Return the one-sided p-value of a coverage below the `promised` one, with the effective number of rows."""
    effective = effective_rows(covered, weight, blocks, confidence_level)
    return share_tail(share_of(covered, weight), effective, promised)


def segment_test(covered: Flags, weight: Array | None, blocks: Blocks, segment: Flags) -> float:
    """Return the one-sided p-value of a segment that is covered less often than the model's other rows.

    Parameters
    ----------
    covered, weight, blocks
        Of all rows.
    segment : array of bool
        Which of the flattened rows are the segment.

    Returns
    -------
    float
        nan where there are no other rows, or where the segment or they are a single block.

    Notes
    -----
    Independent rows of equal weight: the hypergeometric tail. Otherwise the t test of the two miss rates by their
    influence. With m blocks in the segment or in the rest, whichever has fewer, the variance is multiplied by
    ``m / (m - 1)`` and t has ``m - 1`` degrees of freedom; all blocks would count the many of the rest as evidence on
    the few of the segment. As in `effective_rows` dependence never makes the variance smaller than independent
    rows would have it.
    """
    inside = int(np.count_nonzero(segment))
    rows = len(segment)
    if inside in (0, rows):
        return nan
    missed = ~covered
    if blocks.independent and equal_weights(weight):
        in_segment = int(np.count_nonzero(segment & missed))
        return hypergeometric_tail(in_segment, inside, int(np.count_nonzero(missed)), rows)
    fewer = min(blocks.with_any(segment), blocks.with_any(~segment))
    if fewer < 2:
        return nan
    weights = np.ones(rows) if weight is None else weight
    inner = weights * segment / weights[segment].sum()
    outer = weights * ~segment / weights[~segment].sum()
    rate = float(inner[missed].sum())
    outer_rate = float(outer[missed].sum())
    influence = inner * (missed - rate) - outer * (missed - outer_rate)
    totals = blocks.sums(influence)
    overall = float(np.average(missed, weights=weights))
    dependent = float(np.sum(totals * totals)) * fewer / (fewer - 1)
    independent = overall * (1 - overall) * float(np.sum((inner - outer) ** 2))
    spread = Spread(sqrt(max(dependent, independent)), fewer - 1)
    return one_sided_t_test(rate - outer_rate, spread, size=1.0)


def holm(pvalues: Sequence[float]) -> list[float]:
    """P-values adjusted so that the chance of any false alarm stays below the level (Holm 1979).

    Those that are nan stay nan, and do not count.

    >>> holm([0.01, 0.04, float("nan"), 0.03])
    [0.03, 0.06, nan, 0.06]
    """
    given = np.asarray(pvalues, np.float64)
    tested = int(np.count_nonzero(~np.isnan(given)))
    order = np.argsort(given, kind="stable")[:tested]  # nan comes last
    steps = given[order] * np.arange(tested, 0, -1)
    given[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return [float(value) for value in given]
