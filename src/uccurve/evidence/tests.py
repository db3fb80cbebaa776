"""Tests: p-values of differences and of shares, and their adjustment for many at once."""

from collections.abc import Sequence
from fractions import Fraction
from math import isfinite, isnan, nan, sqrt

import numpy as np

from uccurve._arrays import Flags, equal_weights
from uccurve._distributions import binomial_tail, hypergeometric_tail, t_tail
from uccurve._vocabulary import Array
from uccurve.evidence.intervals import ROUNDING, effective_rows, share_of
from uccurve.evidence.units import Blocks, Spread


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
    own = weights * segment / weights[segment].sum()
    other = weights * ~segment / weights[~segment].sum()
    rate = float(own[missed].sum())
    other_rate = float(other[missed].sum())
    influence = own * (missed - rate) - other * (missed - other_rate)
    totals = blocks.sums(influence)
    overall = float(np.average(missed, weights=weights))
    dependent = float(np.sum(totals * totals)) * fewer / (fewer - 1)
    independent = overall * (1 - overall) * float(np.sum((own - other) ** 2))
    spread = Spread(sqrt(max(dependent, independent)), fewer - 1)
    return one_sided_t_test(rate - other_rate, spread, size=1.0)


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
