"""How near a float answer must come to the exact one.

A sum of positive terms is held to a relative error of 1e-12. Excess, deficit and overshoot (and, where bands are
shifted, the bandwidth) are differences of two sums, `k * sum(w*a) - sum(w*r)`: where these are nearly equal no float
arithmetic keeps the relative error of the difference, so it is held to 1e-12 of the size of the sums instead, taken
over the rows that take part. An area over such metrics inherits the slack of both. A level that a metric must reach
(`find`, a partial range) is met when the answer is the exact answer for some level within that slack.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np

from oracle import Oracle, Row

TOLERANCE = Fraction(1, 10**12)
LARGEST, SMALLEST = Fraction(10) ** 290, Fraction(1, 10**290)


def near(actual: object, exact: Fraction | float, slack: Fraction = Fraction(0)) -> None:
    """Fail unless the answer is within 1e-12 of the exact one, or within the slack of a difference."""
    assert isinstance(actual, float)
    if exact == inf:
        assert actual == inf
        return
    np.testing.assert_allclose(actual, float(exact), rtol=float(TOLERANCE), atol=float(slack))


def representable(*values: Fraction | float) -> bool:
    """Whether floats hold the values, and the products that lead to them, without running over or under."""
    return all(v == 0 or SMALLEST <= max(v, -v) <= LARGEST for v in values)


def _takes_part(metric: str, row: Row, oracle: Oracle, t: Fraction) -> bool:
    if metric == "bandwidth":
        return True
    return (oracle.critical(row) <= t) == (metric != "deficit")


def size(oracle: Oracle, metric: str, t: Fraction) -> Fraction:
    """Size of the sums whose difference is the metric."""
    total = Fraction(0)
    for row in oracle.rows:
        if not _takes_part(metric, row, oracle, t):
            continue
        band = row.active + (row.other if metric in ("excess", "bandwidth") else 0)
        away = abs(row.y_true - row.y_pred)
        total += row.weight * ((band + abs(t) if oracle.vary == "shift" else band * t) + away)
    return total


def slack(oracle: Oracle, metric: str, t: Fraction) -> Fraction:
    """What a value of the metric at one scale or shift may be off beyond its relative error."""
    sums = oracle.vary == "scale" and not oracle.has_support
    if metric == "miss_rate" or (metric == "bandwidth" and sums):
        return Fraction(0)
    return TOLERANCE * size(oracle, metric, t)


def extent(oracle: Oracle, metric: str) -> Fraction:
    """Largest size of the sums along the curve."""
    if metric == "miss_rate":
        return Fraction(1)
    return max(size(oracle, metric, t) for t in (oracle.start, oracle.end))


# Pairs whose area is a sum of positive terms over scales; all others subtract.
SUMS = {
    ("bandwidth", "miss_rate"),
    ("miss_rate", "bandwidth"),
    ("bandwidth", "deficit"),
    ("bandwidth", "bandwidth"),
}


def area_slack(oracle: Oracle, x: str, y: str) -> Fraction:
    """What an area may be off beyond its relative error."""
    if oracle.vary == "scale" and not oracle.has_support and (x, y) in SUMS:
        return Fraction(0)
    return TOLERANCE * extent(oracle, x) * extent(oracle, y)


def level(oracle: Oracle, metric: str, part: Fraction) -> Fraction:
    """A level somewhere along the metric's way, beyond both ends too."""
    first, last = oracle.value(metric, oracle.start), oracle.value(metric, oracle.end)
    return first + (last - first) * part
