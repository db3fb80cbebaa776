"""Binomial: exact tails and the Clopper-Pearson interval of a share, without scipy and to double precision."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, lgamma, log, pi, sqrt

TINY, EPS = 1e-300, 1e-16
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
"""Coefficients of the error of Stirling's formula in 1/n, 1/n^3, 1/n^5, ..."""


def tail(count: float, total: float, share: float) -> float:
    """Return the probability of at least `count` successes in `total` trials with probability `share` each.

    Both numbers may be fractions, as effective numbers of weighted rows are; the sum then is the incomplete beta
    function I(share; count, total - count + 1).

    >>> round(tail(1, 2, 0.5), 12), tail(0, 2, 0.5)
    (0.75, 1.0)
    """
    if count <= 0:
        return 1.0
    return 0.0 if count > total else _beta(count, total - count + 1, share, 1 - share)


def clopper_pearson(count: float, total: float, confidence_level: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of a share of which `count` in `total` were seen.

    It holds the true share at least as often as it says, for any share and any number of trials.

    References
    ----------
    C. J. Clopper and E. S. Pearson (1934), The Use of Confidence or Fiducial Limits Illustrated in the Case of the
    Binomial. E. L. Korn and B. I. Graubard (1998), for effective numbers of weighted rows.

    Examples
    --------
    >>> [round(end, 6) for end in clopper_pearson(3, 10)]
    [0.06674, 0.652453]
    """
    error, rest = (1 - confidence_level) / 2, total - count
    low, high = 0.0, 1.0
    if count > 0:
        low = _crossing(lambda share: _beta(count, rest + 1, share, 1 - share) - error, count, rest + 1)
    if rest > 0:
        high = _crossing(lambda share: error - _beta(rest, count + 1, 1 - share, share), count + 1, rest)
    return low, high


def _crossing(rising: Callable[[float], float], a: float, b: float) -> float:
    """Return where a function with the slope of I(x; a, b) crosses 0, to the last bits: Newton's steps, or halves."""
    low, high, x = 0.0, 1.0, a / (a + b)
    while low < x < high:
        value = rising(x)
        low, high = (low, x) if value > 0 else (x, high)
        slope = _mass(a, b, x, 1 - x, a - (a + b) * x) * a * b / (a + b) / (x * (1 - x))
        step = value / slope if slope > 0 else 1.0
        if abs(step) <= 2 * EPS * x:
            return x
        x = x - step if low < x - step < high else (low + high) / 2
    return high


def _beta(a: float, b: float, x: float, y: float) -> float:
    """Regularised incomplete beta function I(x; a, b), with y = 1 - x given to keep its digits."""
    if x <= 0 or y <= 0:
        return float(x > 0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _fraction(b, a, y, x)
    return _fraction(a, b, x, y)


def _fraction(a: float, b: float, x: float, y: float) -> float:
    """I(x; a, b) below the mean by a continued fraction in terms of a - (a + b) x (DiDonato and Morris 1992, eq. 9)."""
    more = a - (a + b) * x if x < y else (a + b) * y - b
    above, below = (0.0, 1.0), (1.0, (more + 1) * a / (a + 1))
    value, before, n = below[0] / below[1], 0.0, 0
    while abs(value - before) > EPS * value and n < 100_000:
        n += 1
        w, s = n * (b - n) * x, a + 2 * n - 1
        alpha = (a + n - 1) * (a + b + n - 1) * w * x / (s * s)
        beta = n + w / s + (a + n) * (more + 1 + n * (1 + y)) / (s + 2)
        above, below = below, (alpha * above[0] + beta * below[0], alpha * above[1] + beta * below[1])
        before, value = value, below[0] / below[1]
        above = above[0] / below[1], above[1] / below[1]
        below = value, 1.0
    return value * _mass(a, b, x, y, more) * a * b / (a + b)


def _mass(a: float, b: float, x: float, y: float, more: float) -> float:
    """Probability of a successes and b failures, formed from small differences (Loader 2000)."""
    n = a + b
    exponent = _stirling(n) - _stirling(a) - _stirling(b) - _deviance(a, n * x, more) - _deviance(b, n * y, -more)
    return exp(exponent) * sqrt(n / (2 * pi * a * b))


def _stirling(n: float) -> float:
    """Log of n! less Stirling's formula."""
    if n < 16:
        return lgamma(n + 1) - (n + 0.5) * log(n) + n - log(2 * pi) / 2
    return sum(coefficient / n ** (2 * i + 1) for i, coefficient in enumerate(STIRLING))


def _deviance(x: float, mean: float, more: float) -> float:
    """Return ``x log(x / mean) - more`` without cancellation, with `more` = x - mean."""
    if mean <= TINY:
        return 1e4
    if abs(more) >= 0.1 * (x + mean):
        return x * log(x / mean) - more
    v = more / (x + mean)
    value, term, j = more * v, 2 * x * v, 0
    while True:
        j += 1
        term *= v * v
        following = value + term / (2 * j + 1)
        if following == value:
            return value
        value = following
