"""Exact tails and Clopper-Pearson ends against exact fractions and scipy."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

from uccurve.compare.binomial import clopper_pearson, tail

CASES = [(1, 1), (0, 5), (5, 5), (3, 10), (1, 200), (60, 200), (199, 200), (2, 3000), (1500, 3000)]


def exact_tail(count: int, total: int, share: float) -> Fraction:
    p = Fraction(share)
    return sum((comb(total, i) * p**i * (1 - p) ** (total - i) for i in range(count, total + 1)), Fraction(0))


@pytest.mark.parametrize(("count", "total"), [case for case in CASES if case[1] <= 200])
@pytest.mark.parametrize("share", [1e-9, 0.01, 0.3, 0.5, 0.97])
def test_a_tail_is_the_sum_of_its_probabilities(count: int, total: int, share: float) -> None:
    assert_allclose(tail(count, total, share), float(exact_tail(count, total, share)), rtol=2e-13)


@pytest.mark.parametrize(("count", "total"), [case for case in CASES if case[1] <= 200])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_the_ends_cut_the_tails_they_promise_to_the_last_bits(count: int, total: int, level: float) -> None:
    low, high = clopper_pearson(count, total, level)
    error, slack = (1 - level) / 2, 1e-14
    if count:
        assert exact_tail(count, total, low * (1 - slack)) < error < exact_tail(count, total, low * (1 + slack))
    else:
        assert low == 0
    if count < total:
        below, above = (1 - exact_tail(count + 1, total, high * (1 + side)) for side in (-slack, slack))
        assert above < error < below
    else:
        assert high == 1


@pytest.mark.parametrize(("count", "total"), [*CASES, (7, 1_000_000), (123_456, 1_000_000), (2.5, 10.25)])
def test_the_ends_are_the_quantiles_of_the_beta_distribution(count: float, total: float) -> None:
    """To the accuracy of scipy's quantiles, 1e-11."""
    low, high = clopper_pearson(count, total, 0.9)
    assert_allclose(low, scipy.stats.beta.ppf(0.05, count, total - count + 1) if count else 0, rtol=2e-11)
    assert_allclose(high, scipy.stats.beta.isf(0.05, count + 1, total - count) if count < total else 1, rtol=2e-11)


def test_the_interval_holds_the_share_at_least_as_often_as_it_says() -> None:
    """Summed over all counts, not simulated."""
    for total in (5, 30):
        ends = np.array([clopper_pearson(count, total, 0.9) for count in range(total + 1)])
        for share in np.linspace(0.01, 0.99, 60):
            chances = scipy.stats.binom.pmf(np.arange(total + 1), total, share)
            assert chances[(ends[:, 0] <= share) & (share <= ends[:, 1])].sum() >= 0.9
