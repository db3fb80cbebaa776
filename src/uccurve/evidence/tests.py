"""Evidence: standard errors, intervals and tests from the influence of the rows, and what a count of rows says.

Influences are already multiplied by the weights of their rows, so they sum to 0 and the linearised error of a statistic
is their sum. Rows are summed within blocks first: ``v = q / (q - 1) * sum over q blocks of (sum of the influence)^2``,
with t quantiles of ``q - 1`` degrees of freedom.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import exp, inf, isfinite, isnan, nan, sqrt

import numpy as np

from uccurve._arrays import Flags, equal_weights
from uccurve._distributions import binomial_tail, clopper_pearson, hypergeometric_tail, t_quantile, t_tail
from uccurve._refusals import proportion
from uccurve._vocabulary import Array
from uccurve.evidence.units import Blocks

ROUNDING = 1e-12  # share of what is compared below which a difference is treated as rounding


def checked_level(level: float, name: str = "confidence_level") -> float:
    """Return a confidence level between 0 and 1."""
    return float(proportion(name, level, "95% is 0.95"))


def standard_error(influence: Array, blocks: Blocks) -> float:
    """Return the standard error of a statistic from the influence of the rows; nan where they are a single block.

    Influences whose squares leave float64 are no exception.

    >>> from uccurve import Intervals
    >>> rows = Intervals.from_bands([1, 2, 3, 4], y_pred=[0, 0, 0, 0], lower_band=[1, 1, 1, 1])
    >>> influence = np.array([-1.5, -0.5, 0.5, 1.5]) / 4  # of the mean of 1, 2, 3, 4
    >>> round(standard_error(influence, Blocks.of(rows)) ** 2, 6), standard_error(influence, Blocks.of(rows, 2))
    (0.416667, 1.0)
    """
    if blocks.count < 2:
        return nan
    exponent = int(np.frexp(np.abs(influence).max())[1])
    sums = blocks.sums(np.ldexp(influence, -exponent))
    variance = float(np.sum(sums * sums)) * blocks.count / (blocks.count - 1)
    return float(np.ldexp(sqrt(variance), exponent))


def interval(
    estimate: float, influence: Array | None, blocks: Blocks, confidence_level: float, *, log: bool = False
) -> tuple[float, float]:
    """Return the ends of the t interval of an estimate; nan where it or its standard error is not finite.

    An influence of None is unknown. With `log` the interval is that of the logarithm, whose influence is given, and its
    ends are those of the estimate: positive, and at the same ratio on both sides.
    """
    quantile = t_quantile((1 + confidence_level) / 2, max(blocks.count - 1, 1))
    reach = nan if influence is None else quantile * standard_error(influence, blocks)
    if not (isfinite(estimate) and isfinite(reach)) or (log and estimate <= 0):
        return nan, nan
    if not log:
        return estimate - reach, estimate + reach
    factor = exp(reach) if reach < 700 else inf
    return estimate / factor, estimate * factor


def paired_t_test(influence: Array, difference: float, blocks: Blocks, *, size: float) -> float:
    """Return the two-sided p-value of a difference between two models on the same rows.

    Parameters
    ----------
    influence : array
        Influence of the first model's rows minus that of the second's.
    difference : float
        Statistic of the first model minus that of the second.
    blocks : Blocks
    size : float
        Size of the two statistics, against which differences are treated as rounding: the larger of them, or 1 for
        differences of logarithms.

    Returns
    -------
    float
        1 where the models differ by rounding only, 0 where they differ by the same amount in every block, nan where
        the difference is not finite.
    """
    error, slack = standard_error(influence, blocks), ROUNDING * abs(size)
    if not (isfinite(difference) and isfinite(error)):
        return nan
    if error <= slack:
        return float(abs(difference) <= slack)
    return t_tail(difference / error, blocks.count - 1)


def one_sided_t_test(difference: float, error: float, degrees: int, *, size: float) -> float:
    """Return the p-value of a difference above 0; `size` is as in `paired_t_test`."""
    if error <= ROUNDING * size:
        return float(difference <= ROUNDING * size)
    half = t_tail(difference / error, degrees) / 2
    return half if difference > 0 else 1 - half


def coverage_interval(
    covered: Flags, weight: Array | None, blocks: Blocks, confidence_level: float
) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a coverage with the effective number of rows of Korn and Graubard.

    Parameters
    ----------
    covered : array of bool
        One flag for each flattened row of positive weight.
    weight : array, optional
        Their weights in any unit; None where they are equal.
    blocks : Blocks
    confidence_level : float

    Notes
    -----
    With n rows in q blocks, p the coverage, v its variance and t the upper quantiles at the confidence level,
    ``n_eff = min(n, p (1 - p) / v * (t_{n-1} / t_{q-1})^2)``. Independent rows of equal weight: n. Where all rows are
    covered, or none is: q. Rows that are a single block say nothing about chance: nan.

    References
    ----------
    E. L. Korn and B. I. Graubard (1998), Confidence Intervals for Proportions with Small Expected Number of Positive
    Counts Estimated from Survey Data.
    """
    share, n_eff = effective_rows(covered, weight, blocks, confidence_level)
    return (nan, nan) if isnan(n_eff) else clopper_pearson(share * n_eff, n_eff, confidence_level)


def coverage_tail(
    covered: Flags, weight: Array | None, blocks: Blocks, confidence_level: float, *, promised: Fraction
) -> float:
    """Return the one-sided p-value of a coverage below the `promised` one, with the effective number of rows."""
    missed, n_eff = effective_rows(~covered, weight, blocks, confidence_level)
    return nan if isnan(n_eff) else binomial_tail(missed * n_eff, n_eff, float(1 - promised))


def segment_test(covered: Flags, weight: Array | None, blocks: Blocks, segment: Flags) -> float:
    """Return the one-sided p-value of a segment that is covered less often than the model's other rows.

    Parameters
    ----------
    covered, weight, blocks
        As in `coverage_interval`, of all rows.
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
    the few of the segment. As in `coverage_interval` dependence never makes the variance smaller than independent
    rows would have it.
    """
    inside, rows = int(np.count_nonzero(segment)), len(segment)
    if inside in (0, rows):
        return nan
    if blocks.independent and equal_weights(weight):
        misses = int(np.count_nonzero(segment & ~covered)), rows - int(np.count_nonzero(covered))
        return hypergeometric_tail(misses[0], inside, misses[1], rows)
    missed, weight, parts = ~covered, np.ones(rows) if weight is None else weight, (segment, ~segment)
    fewer = min(int(np.count_nonzero(np.bincount(blocks.of_row[part]))) for part in parts)
    if fewer < 2:
        return nan
    share = [weight / weight[part].sum() * part for part in parts]
    rates = [float(one[missed].sum()) for one in share]
    influence = share[0] * (missed - rates[0]) - share[1] * (missed - rates[1])
    sums, overall = blocks.sums(influence), float(np.average(missed, weights=weight))
    dependent = float(np.sum(sums * sums)) * fewer / (fewer - 1)
    independent = overall * (1 - overall) * float(np.sum((share[0] - share[1]) ** 2))
    error = sqrt(max(dependent, independent))
    return one_sided_t_test(rates[0] - rates[1], error, fewer - 1, size=1.0)


def holm(pvalues: Sequence[float]) -> list[float]:
    """P-values adjusted so that the chance of any false alarm stays below the level (Holm 1979).

    Those that are nan stay nan, and do not count.

    >>> holm([0.01, 0.04, float("nan"), 0.03])
    [0.03, 0.06, nan, 0.06]
    """
    given = np.asarray(pvalues, np.float64)
    order = np.argsort(given, kind="stable")[: np.count_nonzero(~np.isnan(given))]  # nan comes last
    steps = given[order] * np.arange(len(order), 0, -1)
    given[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return [float(value) for value in given]


def effective_rows(flags: Flags, weight: Array | None, blocks: Blocks, confidence_level: float) -> tuple[float, float]:
    """Share of the flagged rows, and the effective number of rows it is a share of; nan for a single block."""
    n, count, q = len(flags), int(np.count_nonzero(flags)), blocks.count
    if blocks.independent and equal_weights(weight):
        return count / n, float(n)
    if q < 2:
        return count / n, nan
    weights = np.full(n, 1 / n) if weight is None else weight / weight.sum()
    share = count / n if weight is None or count in (0, n) else float(weights[flags].sum())
    sums = blocks.sums(weights * (flags - share))
    return share, effective_count(share, float(np.sum(sums * sums)), n, q, confidence_level)


def effective_count(share: float, squares: float, rows: int, blocks: int, confidence_level: float) -> float:
    """Effective number of rows behind a share, from the squared influences of the blocks on it."""
    if not 0 < share < 1:
        return float(blocks)
    upper, estimated = (1 + confidence_level) / 2, squares * blocks / (blocks - 1)
    ratio = t_quantile(upper, rows - 1) / t_quantile(upper, blocks - 1)
    return min(float(rows), share * (1 - share) * ratio**2 / estimated) if estimated > 0 else float(rows)
