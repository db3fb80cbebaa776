"""Distributions: tails and quantiles of t, binomial, beta and hypergeometric, to double precision and without scipy."""

from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, inf, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist

from ._refusals import Hint, Refusal, proportion

TINY, EPS = 1e-300, 1e-16
LARGE = 1e120  # A t statistic that is treated as infinite
LARGEST_LOG_ODDS = 700.0  # whose exponential fits float64
MOST_TERMS = 100_000  # of a continued fraction, which converges long before
TIE = 1e-12  # share of a probability below which a difference is treated as rounding
# Coefficients of the error of Stirling's formula in 1/n, 1/n^3, 1/n^5, ...
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)


def binomial_tail(count: float, total: float, share: float) -> float:
    """Return the probability of at least `count` successes in `total` trials with probability `share` each.

    Both numbers may be fractions, as effective numbers of rows are; the sum then is the incomplete beta
    function I(share; count, total - count + 1).

    >>> round(binomial_tail(1, 2, 0.5), 12), binomial_tail(0, 2, 0.5)
    (0.75, 1.0)
    """
    if count <= 0:
        return 1.0
    return 0.0 if count > total else _beta(count, total - count + 1, share, 1 - share)


def clopper_pearson(
    count: float, total: float, confidence_level: float = 0.95
) -> tuple[float, float]:
    """Return the exact interval of a share of which `count` in `total` were observed; both may be fractions.

    It contains the true share at least as often as it says, for any share and any number of trials.

    References
    ----------
    C. J. Clopper and E. S. Pearson (1934), The Use of Confidence or Fiducial Limits Illustrated in the Case of the
    Binomial. E. L. Korn and B. I. Graubard (1998), for effective numbers of rows.

    Examples
    --------
    >>> [round(end, 6) for end in clopper_pearson(3, 10)]
    [0.06674, 0.652453]
    """
    error = (1 - confidence_level) / 2
    rest = total - count
    low = 0.0
    if count > 0:
        low, _ = _beta_quantile(count, rest + 1, error)
    high = 1.0
    if rest > 0:
        _, high = _beta_quantile(rest, count + 1, error)
    return low, high


def t_tail(t: float, dof: float) -> float:
    """Return the two-sided p-value of a t statistic, P(|T| >= |t|).

    >>> round(t_tail(-12.706204736, dof=1), 10)
    0.05
    """
    if abs(t) > LARGE:
        return 0.0
    square = float(t) ** 2
    return _beta(dof / 2, 0.5, dof / (dof + square), square / (dof + square))


@lru_cache(maxsize=4096)
def t_quantile(p: float, dof: float) -> float:
    """Return the value that a t variable with `dof` degrees of freedom does not exceed with probability `p`.

    >>> round(t_quantile(0.975, dof=1), 6), round(t_quantile(0.975, dof=1e9), 6)
    (12.706205, 1.959964)
    """
    tails = 2 * min(p, 1 - p)
    sign = 1 if p > 0.5 else -1
    if tails >= 1:
        return 0.0
    if tails <= 0:
        return sign * inf
    if tails < 0.5:  # solved for the smaller tail of x = dof / (dof + t^2)
        x, y = _beta_quantile(dof / 2, 0.5, tails)
    else:
        y, x = _beta_quantile(0.5, dof / 2, abs(2 * p - 1))
    t = sqrt(dof * y / x)
    return sign * (t if t < LARGE else inf)


def conformal_rank(
    n: int, alpha: Fraction, confidence: float | None = None, *, name: str = "conformal"
) -> int:
    """Return the rank of split conformal prediction among n rows, or the one that holds with a confidence.

    With a confidence it is the smallest j with ``P(Beta(j, n + 1 - j) >= 1 - alpha) >= confidence``.

    >>> conformal_rank(200, Fraction(1, 10)), conformal_rank(200, Fraction(1, 10), confidence=0.9)
    (181, 186)
    """
    if not alpha:
        raise ValueError(
            "`conformal` needs a miss_rate above 0: no number of rows covers every new one for sure."
        )
    how = ""
    if confidence is None:
        rank = ceil((n + 1) * (1 - alpha))
        needed = ceil(1 / alpha) - 1
    else:
        how = f" with confidence {float(proportion('confidence', confidence)):g}"
        rank = _rank(n, float(1 - alpha), 1 - confidence)
        needed = ceil(log1p(-confidence) / log(float(1 - alpha))) if alpha < 1 else 1
    if rank > n:
        what = f"{{{name}}} at {{miss_rate}}{how} needs at least {needed} rows; there are {n}."
        asked = {name: None, "miss_rate": float(alpha)}
        larger = Hint("use more calibration rows or a larger {miss_rate}", {"miss_rate": None})
        raise Refusal(Hint(what, asked), larger)
    return rank


def order_statistic_ranks(n: int, q: Fraction | float, confidence_level: float) -> tuple[int, int]:
    """Return the ranks of the order statistics of `n` independent rows that bound the quantile `q`.

    For any distribution the interval from the first to the second contains the quantile with at least this
    confidence, each end missing it with at most half of the error. Rank 0 means that no row is low enough: the end is
    the lower limit of the values (0 for scales). Rank n + 1 means that no row is high enough: the end is infinite.

    >>> order_statistic_ranks(100, 0.9, 0.95), order_statistic_ranks(20, 0.9, 0.95)
    ((84, 96), (15, 21))
    """
    error = (1 - confidence_level) / 2
    return n + 1 - _rank(n, float(1 - q), error), _rank(n, float(q), error)


def hypergeometric_tail(count: int, segment: int, successes: int, total: int) -> float:
    """Return the probability of at least `count` successes in a random `segment` of `total` rows with `successes`.

    >>> round(hypergeometric_tail(2, 3, 4, 10), 12)  # (C(4,2) C(6,1) + C(4,3)) / C(10,3) = 40 / 120
    0.333333333333
    """
    smallest = max(0, segment + successes - total)
    largest = min(segment, successes)
    if count <= smallest:
        return 1.0
    if count > largest:
        return 0.0
    rest = total - segment
    if count * total <= segment * successes:
        # few in the segment are many in the rest, which has the other successes
        return 1 - hypergeometric_tail(successes - count + 1, rest, successes, total)
    # the probability of `count`, from binomial ones (Loader 2000), and of more, which fall from there on
    x = segment / total
    y = rest / total
    failures = rest - successes
    more = (count * total - segment * successes) / total
    among_successes = _mass(count, successes - count, x, y, more)
    among_failures = _mass(segment - count, failures + count, x, y, -more)
    in_segment = _mass(segment, rest, x, y, 0.0)
    term = 1.0
    terms = 1.0
    for i in range(count, largest):
        term *= (successes - i) * (segment - i) / ((i + 1) * (failures + i + 1))
        terms += term
        if term < EPS * terms:
            break
    return terms * (among_successes * among_failures) / in_segment


@lru_cache(maxsize=256)
def _rank(n: int, share: float, error: float) -> int:
    """Smallest j with P(at least j successes in n) <= error, at most n + 1."""
    limit = error * (1 + TIE)
    ranks = range(n + 1)
    return bisect_left(ranks, True, key=lambda rank: binomial_tail(rank, n, share) <= limit)


def _beta_quantile(a: float, b: float, p: float) -> tuple[float, float]:
    """Return x with I(x; a, b) = p, for p below 1/2, and 1 - x, to the last bits.

    Halley's method, or halves, for the logarithm of I as a function of the log-odds of x, which is concave.
    """
    low = -LARGEST_LOG_ODDS
    high = LARGEST_LOG_ODDS
    odds = _first_log_odds(a, b, p)
    left = inf
    while left > 1e-15 and low < (middle := (low + high) / 2) < high:
        if not low < odds < high:
            odds = middle
        x, y = _from_log_odds(odds)
        value = _beta(a, b, x, y)
        more = a - (a + b) * x
        if value < p:
            low = odds
        else:
            high = odds
        growth = 0.0
        if value > 0:
            growth = _mass(a, b, x, y, more) * a * b / (a + b) / value
        step = log(p / value) / growth if growth > 0 else inf
        bend = (more - growth) * step  # by how much the growth changes over the step
        curvature = (abs(more) + growth) ** 2 + a + b
        left = abs(step * step * step) * curvature  # more than is left to go after it
        odds += step / (1 + bend / 2) if abs(bend) < 1 else step
    return _from_log_odds(min(max(odds, low), high))


def _first_log_odds(a: float, b: float, p: float) -> float:
    """Log-odds of the quantile to a few digits (Abramowitz and Stegun 26.5.22)."""
    z = NormalDist().inv_cdf(p)
    if min(a, b) < 1:
        return log(a) - log(b) + z * sqrt(1 / a + 1 / b)
    u = 1 / (2 * a - 1)
    v = 1 / (2 * b - 1)
    h = 2 / (u + v)
    skew = (z * z - 3) / 6
    spread = 2 * z * sqrt(h + skew) / h
    return log(a / b) + spread - 2 * (u - v) * (skew + 5 / 6 - 2 / (3 * h))


def _from_log_odds(odds: float) -> tuple[float, float]:
    """Return a probability and its complement."""
    return 1 / (1 + exp(-odds)), 1 / (1 + exp(odds))


def _beta(a: float, b: float, x: float, y: float) -> float:
    """Regularised incomplete beta function I(x; a, b), with y = 1 - x given to keep its digits."""
    if x <= 0 or y <= 0:
        return float(x > 0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _fraction(b, a, y, x)
    if a < 1e-3:  # the fraction would lose digits
        return _fraction(a + 1, b, x, y) + _mass(a, b, x, y, a - (a + b) * x) * b / (a + b)
    return _fraction(a, b, x, y)


def _fraction(a: float, b: float, x: float, y: float) -> float:
    """I(x; a, b) below the mean by a continued fraction in terms of a - (a + b) x (DiDonato and Morris 1992, eq. 9)."""
    more = a - (a + b) * x if x < y else (a + b) * y - b
    last = (a + 1) / ((more + 1) * a)
    value = last
    above = 0.0
    before = 0.0
    n = 0
    while abs(value - before) > EPS * value and n < MOST_TERMS:
        n += 1
        w = n * (b - n) * x
        s = a + 2 * n - 1
        alpha = (a + n - 1) * (a + b + n - 1) * w * x / (s * s)
        beta = n + w / s + (a + n) * (more + 1 + n * (1 + y)) / (s + 2)
        denominator = alpha * last + beta
        before = value
        value = (alpha * above + beta * before) / denominator
        above = before / denominator
        last = 1 / denominator
    return value * _mass(a, b, x, y, more) * a * b / (a + b)


def _mass(a: float, b: float, x: float, y: float, more: float) -> float:
    """Probability of a successes and b failures, formed from small differences (Loader 2000); `more` = a - n x."""
    n = a + b
    if a == 0:
        return _power(y, x, n)
    if b == 0:
        return _power(x, y, n)
    exponent = _stirling(n) - _stirling(a) - _stirling(b)
    exponent -= _deviance(a, n * x, more) + _deviance(b, n * y, -more)
    return exp(exponent) * sqrt(n / (2 * pi * a * b))


def _power(share: float, rest: float, n: float) -> float:
    """Return ``share ** n``, with rest = 1 - share given to keep its digits."""
    logarithm = log1p(-rest) if rest < 0.5 else log(share)
    return exp(n * logarithm)


def _stirling(n: float) -> float:
    """Log of n! less Stirling's formula."""
    if n < 16:
        return lgamma(n + 1) - (n + 0.5) * log(n) + n - log(2 * pi) / 2
    value = 0.0
    for coefficient in STIRLING[::-1]:
        value = value / (n * n) + coefficient
    return value / n


def _deviance(x: float, mean: float, more: float) -> float:
    """Return ``x log(x / mean) - more`` without cancellation, with `more` = x - mean."""
    if mean <= TINY:
        return 1e4
    if abs(more) >= 0.1 * (x + mean):
        return x * log(x / mean) - more
    v = more / (x + mean)
    value = more * v
    term = 2 * x * v
    for j in range(3, 43, 2):
        term *= v * v
        value += term / j
        if abs(term) <= EPS * value:
            break
    return value
