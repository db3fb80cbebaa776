"""Tails, quantiles and ranks against exact fractions and scipy."""

from __future__ import annotations

from fractions import Fraction
from math import comb, inf, pi, sqrt, tan

import numpy as np
import pytest
import scipy.special
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from uccurve._distributions import (
    binomial_tail,
    clopper_pearson,
    conformal_rank,
    hypergeometric_tail,
    order_statistic_ranks,
    t_quantile,
    t_tail,
)

CASES = [(1, 1), (0, 5), (5, 5), (3, 10), (1, 200), (60, 200), (199, 200), (2, 3000), (1500, 3000)]
DOFS = [1, 2, 3.5, 9, 60, 1e4, 1e6, 1e9]


def exact_tail(count: int, total: int, share: float) -> Fraction:
    p = Fraction(share)
    return sum(
        (comb(total, i) * p**i * (1 - p) ** (total - i) for i in range(count, total + 1)),
        Fraction(0),
    )


@pytest.mark.parametrize(("count", "total"), [case for case in CASES if case[1] <= 200])
@pytest.mark.parametrize("share", [1e-9, 0.01, 0.3, 0.5, 0.97])
def test_a_binomial_tail_is_the_sum_of_its_probabilities(
    count: int, total: int, share: float
) -> None:
    assert_allclose(
        binomial_tail(count, total, share), float(exact_tail(count, total, share)), rtol=2e-13
    )


@given(st.floats(0.01, 5000), st.floats(0, 1), st.floats(0.001, 0.999))
def test_fractional_counts_give_the_incomplete_beta_function(
    total: float, part: float, share: float
) -> None:
    count = part * total
    expected = scipy.special.betainc(count, total - count + 1, share) if count > 0 else 1
    assert_allclose(binomial_tail(count, total, share), expected, rtol=1e-11, atol=1e-290)


@pytest.mark.parametrize("count", [1e-15, 1e-12, 1e-6, 9e-4])
def test_a_tiny_count_is_almost_surely_exceeded(count: float) -> None:
    for total, share in ((1.0, 0.25), (30.0, 0.01), (2000.0, 1e-5)):
        expected = scipy.special.betainc(count, total - count + 1, share)
        assert_allclose(binomial_tail(count, total, share), expected, rtol=1e-13)


@pytest.mark.parametrize("z", [-2.0, 0.0, 0.5, 3.0])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.999])
def test_a_billion_trials_keep_ten_digits(z: float, share: float) -> None:
    n = 10**9
    count = round(n * share + z * sqrt(n * share * (1 - share)))
    assert_allclose(
        binomial_tail(count, n, share), scipy.stats.binom.sf(count - 1, n, share), rtol=1e-10
    )


@pytest.mark.parametrize(("count", "total"), [case for case in CASES if case[1] <= 200])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_the_ends_cut_the_tails_they_promise_to_the_last_bits(
    count: int, total: int, level: float
) -> None:
    low, high = clopper_pearson(count, total, level)
    error, slack = (1 - level) / 2, 1e-14
    if count:
        assert (
            exact_tail(count, total, low * (1 - slack))
            < error
            < exact_tail(count, total, low * (1 + slack))
        )
    else:
        assert low == 0
    if count < total:
        below, above = (
            1 - exact_tail(count + 1, total, high * (1 + side)) for side in (-slack, slack)
        )
        assert above < error < below
    else:
        assert high == 1


@pytest.mark.parametrize(
    ("count", "total"),
    [
        *CASES,
        (7, 1_000_000),
        (123_456, 1_000_000),
        (2.5, 10.25),
        (0.02, 0.05),
        (9e8, 1e9),
        (1e3 - 1e-10, 1e3),
    ],
)
def test_the_ends_are_the_quantiles_of_the_beta_distribution(count: float, total: float) -> None:
    """To the accuracy of scipy's quantiles, 1e-11."""
    low, high = clopper_pearson(count, total, 0.9)
    assert_allclose(
        low, scipy.stats.beta.ppf(0.05, count, total - count + 1) if count else 0, rtol=2e-11
    )
    assert_allclose(
        high,
        scipy.stats.beta.isf(0.05, count + 1, total - count) if count < total else 1,
        rtol=2e-11,
    )


@pytest.mark.parametrize("count", [1e-300, 1e-15, 1e-9, 1e-6])
@pytest.mark.parametrize("total", [1.5, 1e3, 1e9])
def test_next_to_nothing_has_an_interval_from_zero_at_once(count: float, total: float) -> None:
    low, high = clopper_pearson(count, total, 0.9)
    assert low < 1e-300
    assert_allclose(high, scipy.stats.beta.isf(0.05, count + 1, total - count), rtol=2e-11)
    high, low = (1 - end for end in clopper_pearson(total - count, total, 0.9))
    assert_allclose(
        [low, high],
        [0, scipy.stats.beta.isf(0.05, count + 1, total - count)],
        rtol=1e-6,
        atol=1e-15,
    )


def test_the_interval_contains_the_share_at_least_as_often_as_it_says() -> None:
    """Summed over all counts, not simulated."""
    for total in (5, 30):
        ends = np.array([clopper_pearson(count, total, 0.9) for count in range(total + 1)])
        for share in np.linspace(0.01, 0.99, 60):
            chances = scipy.stats.binom.pmf(np.arange(total + 1), total, share)
            assert chances[(ends[:, 0] <= share) & (share <= ends[:, 1])].sum() >= 0.9


@pytest.mark.parametrize("dof", DOFS)
@pytest.mark.parametrize("t", [0.0, 0.1, 0.99, 1.0, -1.7, 4.0, 35.0])
def test_a_t_tail_has_twelve_digits(t: float, dof: float) -> None:
    assert_allclose(t_tail(t, dof), 2 * scipy.stats.t.sf(abs(t), dof), rtol=1e-12)


def test_an_infinite_t_statistic_has_no_tail() -> None:
    assert t_tail(inf, 3) == t_tail(-1e200, 1) == 0


@pytest.mark.parametrize("dof", DOFS)
@pytest.mark.parametrize("p", [1e-12, 0.005, 0.3, 0.49, 0.6, 0.76, 0.9, 0.975, 0.9995])
def test_a_t_quantile_has_twelve_digits(p: float, dof: float) -> None:
    assert_allclose(t_quantile(p, dof), scipy.stats.t.ppf(p, dof), rtol=1e-12)


@pytest.mark.parametrize("p", [1e-90, 1e-3, 0.25, 0.5 - 1e-10])
def test_the_quantiles_of_one_degree_of_freedom_are_tangents(p: float) -> None:
    """Where scipy keeps six digits near the median."""
    expected = -1 / tan(pi * p) if p < 0.4 else -tan(pi * (0.5 - p))
    assert_allclose(t_quantile(p, 1), expected, rtol=1e-12)


@given(st.floats(1e-200, 0.5, exclude_max=True), st.sampled_from(DOFS))
def test_the_tails_beyond_a_quantile_are_those_asked_for(p: float, dof: float) -> None:
    if t_quantile(p, dof) > -inf:
        assert_allclose(t_tail(t_quantile(p, dof), dof), 2 * p, rtol=1e-11)
    assert t_quantile(1 - p, dof) == -t_quantile(1 - (1 - p), dof)


def test_the_quantiles_at_the_ends_are_infinite_and_the_median_is_0() -> None:
    assert [t_quantile(p, 5) for p in (0.0, 0.5, 1.0)] == [-inf, 0, inf]


@pytest.mark.parametrize("n", [1, 7, 50, 150])
@pytest.mark.parametrize("coverage", [Fraction(1, 2), Fraction(9, 10), Fraction(1, 3)])
@pytest.mark.parametrize("confidence", [0.05, 0.5, 0.9, 0.999])
def test_a_conformal_rank_is_the_first_that_keeps_the_confidence(
    n: int, coverage: Fraction, confidence: float
) -> None:
    """By rational arithmetic: P(Beta(j, n + 1 - j) >= c) = P(at most j - 1 of n below c)."""
    below = [comb(n, i) * coverage**i * (1 - coverage) ** (n - i) for i in range(n + 1)]
    wanted = Fraction(str(confidence))
    expected = next((j for j in range(1, n + 1) if sum(below[:j], Fraction(0)) >= wanted), None)
    if expected is None:
        with pytest.raises(ValueError, match="needs at least"):
            conformal_rank(n, 1 - coverage, confidence)
    else:
        assert conformal_rank(n, 1 - coverage, confidence) == expected


def test_an_even_chance_that_is_met_exactly_is_met() -> None:
    """P(Beta(j, j) >= 1/2) is 1/2, whatever rounding makes of it."""
    assert [conformal_rank(2 * j - 1, Fraction(1, 2), 0.5) for j in (1, 2, 10, 5000)] == [
        1,
        2,
        10,
        5000,
    ]


@pytest.mark.parametrize("n", [10**6, 10**9])
def test_ranks_of_many_rows_agree_with_the_beta_distribution(n: int) -> None:
    rank = conformal_rank(n, Fraction(5, 100), 0.99)
    assert (
        scipy.stats.beta.sf(0.95, rank - 1, n + 2 - rank)
        < 0.99
        <= scipy.stats.beta.sf(0.95, rank, n + 1 - rank)
    )


@pytest.mark.parametrize(
    ("n", "q"), [(1, 0.5), (20, 0.9), (100, 0.9), (37, 0.25), (5000, 0.99), (10**8, 0.9)]
)
def test_order_statistic_ranks_cut_at_most_half_of_the_error_on_either_side(
    n: int, q: float
) -> None:
    low, high = order_statistic_ranks(n, q, 0.95)
    count = scipy.stats.binom(n, q)  # of rows at or below the quantile
    assert count.cdf(low - 1) <= 0.025 < count.cdf(low)
    assert count.sf(high - 1) <= 0.025 < count.sf(high - 2)


def test_ranks_beyond_the_rows_say_that_no_row_is_an_end() -> None:
    assert order_statistic_ranks(5, 0.9, 0.95) == (3, 6)
    assert order_statistic_ranks(5, 0.1, 0.95) == (0, 3)
    assert order_statistic_ranks(1, Fraction(1, 2), 0.95) == (0, 2)


def exact_hypergeometric(count: int, segment: int, successes: int, total: int) -> Fraction:
    ways = sum(
        comb(successes, i) * comb(total - successes, segment - i)
        for i in range(max(count, 0), segment + 1)
    )
    return Fraction(ways, comb(total, segment))


@given(st.integers(1, 60), st.data())
def test_a_hypergeometric_tail_is_its_sum(total: int, data: st.DataObject) -> None:
    segment, successes = data.draw(st.integers(0, total)), data.draw(st.integers(0, total))
    count = data.draw(st.integers(-1, segment + 1))
    expected = float(exact_hypergeometric(count, segment, successes, total))
    assert_allclose(hypergeometric_tail(count, segment, successes, total), expected, rtol=1e-12)


@pytest.mark.parametrize("z", [-6.0, -1.0, 0.0, 2.5, 9.0])
@pytest.mark.parametrize(
    ("segment", "successes", "total"), [(2419, 6808, 10**4), (10**5, 10**6, 10**7)]
)
def test_hypergeometric_tails_of_many_rows_keep_eleven_digits(
    z: float, segment: int, successes: int, total: int
) -> None:
    """Against the ratios of neighbouring probabilities, which sum to 1; scipy keeps nine digits here."""
    mean = segment * successes / total
    spread = sqrt(mean * (1 - successes / total) * (1 - segment / total))
    count, low = round(mean + z * spread), int(mean - 20 * spread)
    i = np.arange(low, int(mean + 20 * spread), dtype=np.longdouble)
    ratio = (successes - i) * (segment - i) / ((i + 1) * (total - successes - segment + i + 1))
    log = np.concatenate([[0], np.cumsum(np.log(ratio))])
    chance = np.exp(log - log.max())
    expected = float(chance[count - low :].sum() / chance.sum())
    assert_allclose(hypergeometric_tail(count, segment, successes, total), expected, rtol=1e-11)
