"""Standard errors, intervals and tests against scipy, loops and seeded simulations."""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf, isnan, nan, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import uccurve as ucc
from uccurve.evidence.inference import (
    Span,
    WidthsAround,
    coverage_estimate,
    coverage_tail,
    effective_rows,
    holm,
    linear_estimate,
    log_estimate,
    mover_estimate,
    paired_t_test,
    segment_test,
)
from uccurve.evidence.units import Blocks, Spread

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
PROMISED = Fraction(9, 10)


def blocks_of(n: int, block: Any = None, **options: Any) -> Blocks:
    return Blocks.of(
        ucc.Intervals.from_bands(np.linspace(-1, 2, n), np.zeros(n), np.ones(n), **options), block
    )


def interval(
    value: float, influence: Array, blocks: Blocks, level: float, *, log: bool = False
) -> tuple[float, float]:
    """Ends of the t interval of a statistic with this influence."""
    estimate = (log_estimate if log else linear_estimate)(
        Span.exact(value), blocks.spread(influence), level
    )
    return estimate.low, estimate.high


def coverage_interval(
    covered: Flags, weight: Array | None, blocks: Blocks, level: float
) -> tuple[float, float]:
    """Ends of the interval of a coverage."""
    estimate = coverage_estimate(covered, weight, blocks, level)
    return estimate.low, estimate.high


def t_test(influence: Array, difference: float, blocks: Blocks, size: float) -> float:
    """P-value of a difference with this influence."""
    return paired_t_test(difference, blocks.spread(influence), size=size)


def skewed(n: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).gamma(0.7, size=n)


def influence_of_mean(values: Array, weight: Array | None = None) -> Array:
    w = np.full(len(values), 1 / len(values)) if weight is None else weight / weight.sum()
    return np.asarray(w * (values - np.sum(w * values)))


# Standard errors and intervals


def test_the_interval_of_a_mean_is_the_t_interval() -> None:
    values = skewed(23)
    expected = scipy.stats.t.interval(0.9, 22, values.mean(), scipy.stats.sem(values))
    assert_allclose(
        interval(values.mean(), influence_of_mean(values), blocks_of(23), 0.9), expected, rtol=1e-12
    )


def test_the_standard_error_sums_the_influence_within_blocks_first() -> None:
    label = np.array([0, 2, 2, 0, 1, 2, 1])
    influence = influence_of_mean(skewed(7), np.array([1, 2, 0.5, 3, 1, 1, 4.0]))
    by_hand = sum(influence[label == one].sum() ** 2 for one in range(3)) * 3 / 2
    assert_allclose(blocks_of(7, label).spread(influence).error, sqrt(by_hand), rtol=1e-13)


def test_an_interval_on_the_log_scale_is_positive_and_even_in_ratio() -> None:
    values = skewed(12, 3)
    influence = influence_of_mean(values) / values.mean()
    low, high = interval(values.mean(), influence, blocks_of(12), 0.95, log=True)
    reach = scipy.stats.t.ppf(0.975, 11) * scipy.stats.sem(values) / values.mean()
    assert_allclose([low, high], values.mean() * np.exp([-reach, reach]), rtol=1e-12)


def test_an_interval_on_the_log_scale_may_reach_infinity() -> None:
    assert interval(2.0, np.array([-1e3, 1e3]), blocks_of(2), 0.95, log=True) == (0, inf)


def test_a_half_width_whose_factor_may_be_infinite_has_no_upper_end() -> None:
    widths = WidthsAround(1.0, 2.0, inf)
    estimate = mover_estimate(widths, Spread(0.1, 20), 0.95, log_scale=True)
    assert estimate.value == 2
    assert 0 < estimate.low < 1
    assert estimate.high == inf


@pytest.mark.parametrize(
    ("estimate", "log"), [(nan, False), (inf, True), (0.0, True), (-1.0, True)]
)
def test_no_interval_is_nan_on_both_sides(estimate: float, log: bool) -> None:
    assert np.isnan(interval(estimate, np.array([-0.1, 0.1]), blocks_of(2), 0.95, log=log)).all()


def test_an_infinite_influence_gives_no_interval() -> None:
    assert np.isnan(interval(3.0, np.array([inf, -0.1]), blocks_of(2), 0.95)).all()


def test_one_block_says_nothing_about_chance() -> None:
    one, influence = blocks_of(3, 3), np.array([-0.1, 0.0, 0.1])
    assert isnan(one.spread(influence).error)
    assert isnan(t_test(influence, 1.0, one, size=1))
    assert np.isnan(interval(1.0, influence, one, 0.95)).all()
    covered = np.array([True, False, True])
    assert np.isnan(coverage_interval(covered, None, one, 0.95)).all()
    assert isnan(coverage_tail(covered, None, one, 0.95, promised=PROMISED))


# Paired t test


def test_the_paired_t_test_of_means_is_that_of_scipy() -> None:
    first, second = skewed(17), skewed(17, 1) + 0.3
    influence = influence_of_mean(first) - influence_of_mean(second)
    expected = scipy.stats.ttest_rel(first, second).pvalue
    assert_allclose(
        t_test(influence, first.mean() - second.mean(), blocks_of(17), size=second.mean()),
        expected,
        rtol=1e-11,
    )


def test_equal_blocks_are_tested_by_their_means() -> None:
    difference = skewed(20, 2) - 0.4
    expected = scipy.stats.ttest_1samp(difference.reshape(5, 4).mean(axis=1), 0).pvalue
    pvalue = t_test(influence_of_mean(difference), difference.mean(), blocks_of(20, 4), size=1)
    assert_allclose(pvalue, expected, rtol=1e-11)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_models_that_differ_by_rounding_have_a_p_value_of_1(size: float) -> None:
    scores = size * skewed(50)
    again = scores * 3 / 3 * (1 + 2**-52)  # the same model in another unit
    assert np.any(scores != again)
    influence, difference = (
        influence_of_mean(scores) - influence_of_mean(again),
        scores.mean() - again.mean(),
    )
    assert t_test(influence, difference, blocks_of(50), size=scores.mean()) == 1
    assert t_test(np.zeros(50), 0.0, blocks_of(50), size=scores.mean()) == 1


def test_the_same_difference_in_every_block_is_certain() -> None:
    rounding = 1e-17 * np.random.default_rng(0).normal(size=9)
    assert t_test(rounding, -0.25, blocks_of(9), size=1) == 0


def test_a_difference_that_is_not_finite_has_no_p_value() -> None:
    assert isnan(t_test(np.array([-1.0, 1.0]), inf, blocks_of(2), size=1))
    assert isnan(t_test(np.array([inf, 1.0]), 0.5, blocks_of(2), size=1))


# Coverage


def flags(n: int, misses: int, seed: int = 5) -> Flags:
    out = np.ones(n, bool)
    out[np.random.default_rng(seed).choice(n, misses, replace=False)] = False
    return out


@pytest.mark.parametrize(("n", "misses"), [(1, 0), (1, 1), (30, 0), (30, 30), (41, 6), (5000, 17)])
def test_independent_rows_of_equal_weight_have_the_exact_binomial_interval(
    n: int, misses: int
) -> None:
    expected = scipy.stats.binomtest(n - misses, n).proportion_ci(0.9, "exact")
    for weight, block in ((None, None), (np.full(n, 0.3), None), (None, np.arange(n)[::-1])):
        given = flags(n, misses), weight, blocks_of(n, block), 0.9
        assert_allclose(coverage_interval(*given), expected, rtol=1e-10)
        assert effective_rows(*given) == n


def korn_graubard(covered: Flags, weight: Array, label: Any, level: float) -> tuple[float, float]:
    """Coverage and effective number of rows by loops over blocks."""
    w, n, q = weight / weight.sum(), len(covered), len(set(label))
    p = sum(one for one, inside in zip(w, covered, strict=True) if inside)
    sums = [sum(w[i] * (covered[i] - p) for i in range(n) if label[i] == one) for one in set(label)]
    v = q / (q - 1) * sum(one**2 for one in sums)
    ratio = scipy.stats.t.ppf((1 + level) / 2, n - 1) / scipy.stats.t.ppf((1 + level) / 2, q - 1)
    return p, min(n, p * (1 - p) / v * ratio**2)


@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_dependent_or_weighted_rows_count_as_korn_and_graubard_say(
    blocked: bool, weighted: bool
) -> None:
    rng = np.random.default_rng(7)
    weight = rng.gamma(0.5, size=60) + 0.01 if weighted else np.ones(60)
    label = np.sort(rng.integers(0, 9, 60)) if blocked else np.arange(60)
    covered = rng.random(60) < np.repeat(rng.beta(4, 1, 12), 5)
    if not blocked and not weighted:
        label[-1] = label[-2]  # otherwise independent
    share, rows = korn_graubard(covered, weight, label.tolist(), 0.9)
    given = covered, weight if weighted else None, blocks_of(60, label), 0.9
    assert_allclose(effective_rows(*given), rows, rtol=1e-11)
    beta, (low, high) = scipy.stats.beta, coverage_interval(*given)
    assert_allclose(low, beta.ppf(0.05, share * rows, (1 - share) * rows + 1), rtol=1e-9)
    assert_allclose(high, beta.ppf(0.95, share * rows + 1, (1 - share) * rows), rtol=1e-9)


def test_the_unit_of_the_weights_does_not_matter() -> None:
    weight, covered = skewed(40) + 0.1, flags(40, 9)
    assert_allclose(
        coverage_interval(covered, weight, blocks_of(40, 5), 0.95),
        coverage_interval(covered, 1e-6 * weight, blocks_of(40, 5), 0.95),
        rtol=1e-9,
    )


@pytest.mark.parametrize("covered", [True, False])
def test_where_all_rows_agree_blocks_are_counted(covered: bool) -> None:
    given = np.full(30, covered), None, blocks_of(30, 4), 0.95
    expected = scipy.stats.binomtest(8 if covered else 0, 8).proportion_ci(0.95, "exact")
    assert_allclose(coverage_interval(*given), expected, rtol=1e-10)
    assert effective_rows(*given) == 8


def test_copies_of_rows_say_no_more_than_the_rows() -> None:
    covered = flags(25, 4)
    low, high = coverage_interval(covered, None, blocks_of(25), 0.95)
    tenfold = np.repeat(covered, 10), None, blocks_of(250, 10), 0.95
    assert effective_rows(*tenfold) < 25
    assert coverage_interval(*tenfold)[0] < low < high < coverage_interval(*tenfold)[1]


def test_blocks_never_make_more_of_the_rows_than_there_are() -> None:
    """Every block misses one row of five: less variable than chance."""
    covered = np.tile([True, True, False, True, True], 12)
    assert effective_rows(covered, None, blocks_of(60, 5), 0.95) == 60


def test_a_broken_promise_is_a_binomial_tail() -> None:
    expected = scipy.stats.binom.sf(9, 50, 0.1)
    assert_allclose(
        coverage_tail(flags(50, 10), None, blocks_of(50), 0.95, promised=PROMISED),
        expected,
        rtol=1e-12,
    )


def test_a_broken_promise_counts_effective_rows() -> None:
    covered = np.random.default_rng(1).random(80) < np.repeat(
        [0.9, 0.4, 0.8, 0.9, 0.95, 0.3, 0.9, 0.9], 10
    )
    share, rows = korn_graubard(covered, np.ones(80), np.repeat(np.arange(8), 10).tolist(), 0.95)
    expected = scipy.stats.beta.cdf(0.1, (1 - share) * rows, share * rows + 1)
    given = coverage_tail(covered, None, blocks_of(80, 10), 0.95, promised=PROMISED)
    assert_allclose(given, expected, rtol=1e-9)
    assert given > 10 * coverage_tail(covered, None, blocks_of(80), 0.95, promised=PROMISED)


# Segments


def test_a_segment_of_independent_rows_is_tested_by_fishers_exact_test() -> None:
    covered, chosen = flags(90, 14), np.arange(90) % 4 == 1
    covered[[1, 5, 9]] = False
    table = [
        [np.sum(chosen & ~covered), np.sum(chosen & covered)],
        [np.sum(~chosen & ~covered), np.sum(~chosen & covered)],
    ]
    expected = scipy.stats.fisher_exact(table, alternative="greater").pvalue
    assert_allclose(segment_test(covered, None, blocks_of(90), chosen), expected, rtol=1e-11)
    assert_allclose(
        segment_test(covered, np.full(90, 2.0), blocks_of(90), chosen), expected, rtol=1e-11
    )


def segment_variances(
    missed: Flags, weight: Array, label: Any, chosen: Flags, fewer: int
) -> tuple[float, ...]:
    """Difference of the miss rates, its variance by blocks, and that of independent rows; by loops."""
    total = {side: sum(weight[chosen == side]) for side in (True, False)}
    rate = {side: sum((weight * missed)[chosen == side]) / total[side] for side in (True, False)}
    overall, sums, independent = sum(weight * missed) / sum(weight), dict.fromkeys(label, 0.0), 0.0
    for i, side in enumerate(chosen.tolist()):
        share = (1 if side else -1) * weight[i] / total[side]
        sums[label[i]] += share * (missed[i] - rate[side])
        independent += share**2 * overall * (1 - overall)
    dependent = fewer / (fewer - 1) * sum(one**2 for one in sums.values())
    return rate[True] - rate[False], dependent, independent


@pytest.mark.parametrize(("spread", "dependent_is_larger"), [(0.02, True), (50.0, False)])
def test_a_dependent_segment_is_tested_by_the_t_test_of_its_blocks(
    spread: float, dependent_is_larger: bool
) -> None:
    """Blocks inside the segment, blocks outside of it, and one of both kinds; the larger variance counts."""
    rng = np.random.default_rng(11)
    label, weight = np.repeat(np.arange(10), 4), rng.gamma(2, size=40)
    missed = rng.random(40) < np.repeat(rng.beta(0.4 * spread, 0.6 * spread, 10), 4)
    chosen = (label < 4) | ((label == 7) & (np.arange(40) % 2 == 0))
    difference, dependent, independent = segment_variances(
        missed, weight, label.tolist(), chosen, fewer=5
    )
    assert (dependent > independent) == dependent_is_larger
    expected = scipy.stats.t.sf(difference / sqrt(max(dependent, independent)), 4)
    assert_allclose(
        segment_test(~missed, weight, blocks_of(40, label), chosen), expected, rtol=1e-10
    )


def test_a_segment_that_is_covered_more_often_does_not_fail() -> None:
    covered = np.arange(40) % 5 > 0
    covered[:8] = True
    for block in (None, 4):
        assert segment_test(covered, None, blocks_of(40, block), np.arange(40) < 8) > 0.5


def test_a_segment_whose_blocks_agree_by_chance_is_not_certain() -> None:
    """Two rows of unequal weight, both missed: their own variance is 0."""
    covered = np.arange(100) > 1
    covered[50] = False
    weight = np.linspace(1, 2, 100)
    assert 0.001 < segment_test(covered, weight, blocks_of(100), np.arange(100) < 2) < 0.2


@pytest.mark.parametrize("block", [None, 5])
def test_without_other_rows_there_is_no_test(block: int | None) -> None:
    covered = flags(20, 3)
    assert isnan(segment_test(covered, None, blocks_of(20, block), np.ones(20, bool)))
    assert isnan(segment_test(covered, None, blocks_of(20, block), np.zeros(20, bool)))


def test_a_segment_of_a_single_block_has_no_test() -> None:
    assert isnan(segment_test(flags(20, 3), None, blocks_of(20, 5), np.arange(20) < 5))
    assert isnan(segment_test(flags(20, 3), None, blocks_of(20, 5), np.arange(20) >= 5))
    assert segment_test(np.ones(20, bool), None, blocks_of(20, 5), np.arange(20) < 10) == 1


def test_the_outputs_of_a_row_are_not_independent_evidence() -> None:
    """Two outputs that always agree say what one says, by a t test instead of Fisher's."""
    covered, chosen = flags(60, 12), np.arange(60) < 25
    both = Blocks.of(
        ucc.Intervals.from_bands(np.ones((60, 2)), np.zeros((60, 2)), np.ones((60, 2)))
    )
    twice = segment_test(covered[both.row], None, both, chosen[both.row])
    assert_allclose(
        twice,
        segment_test(covered, np.append(np.ones(59), 1 + 1e-9), blocks_of(60), chosen),
        rtol=1e-6,
    )


# Holm


def test_holm_is_the_step_down_of_bonferroni() -> None:
    assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    assert_allclose(holm([0.5, 0.9]), [1.0, 1.0])
    assert holm([]) == []


def test_p_values_that_are_nan_stay_nan_and_do_not_count() -> None:
    assert_allclose(holm([nan, 0.01, nan, 0.04, 0.03]), [nan, 0.03, nan, 0.06, 0.06])
    assert isnan(holm([nan])[0])


@given(st.lists(st.floats(0, 1) | st.just(nan), min_size=1, max_size=8), st.floats(0.001, 0.5))
def test_holm_rejects_what_the_step_down_rejects(pvalues: list[float], level: float) -> None:
    """By its definition: in rising order, reject while p <= level / (number left)."""
    rejected, order = (
        set(),
        sorted((i for i, p in enumerate(pvalues) if not isnan(p)), key=lambda i: pvalues[i]),
    )
    for step, i in enumerate(order):
        if pvalues[i] * (len(order) - step) > level:
            break
        rejected.add(i)
    adjusted = holm(pvalues)
    assert {i for i, p in enumerate(adjusted) if p <= level} == rejected
    assert all(not p < q for p, q in zip(adjusted, pvalues, strict=True))


# Simulations, on seeds that were not looked at before


def clustered(rng: np.random.Generator, count: int, q: int, length: int, rho: float) -> Flags:
    """Rows of which 90% are covered, in blocks with their own miss rates and correlation rho within."""
    spread = (1 - rho) / rho
    own = rng.beta(0.1 * spread, 0.9 * spread, (count, q))
    return np.asarray(rng.random((count, q * length)) >= np.repeat(own, length, axis=1))


def test_the_coverage_interval_of_clustered_rows_contains_the_coverage() -> None:
    """95% intervals: 93% or more with blocks; independent rows would promise it and keep about 80%."""
    trials = clustered(np.random.default_rng(20_240), 600, 40, 8, 0.2)
    hits = {
        name: np.mean(
            [
                low <= 0.9 <= high
                for low, high in (coverage_interval(x, None, b, 0.95) for x in trials)
            ]
        )
        for name, b in (("blocks", blocks_of(320, 8)), ("rows", blocks_of(320)))
    }
    assert 0.93 <= hits["blocks"] <= 0.98
    assert hits["rows"] < 0.87


def test_the_paired_t_test_keeps_its_size() -> None:
    """Differences with mean 0 that share a part within 25 blocks; their skewness costs a point or two of the 5%."""
    rng, level = np.random.default_rng(20_241), 0.05
    trials = rng.gamma(2, size=(3000, 25, 1)) - rng.gamma(2, size=(3000, 25, 6))
    rates = {}
    for name, blocks in (("blocks", blocks_of(150, 6)), ("rows", blocks_of(150))):
        rejected = [
            t_test(influence_of_mean(x), float(x.mean()), blocks, size=2) <= level
            for x in trials.reshape(3000, 150)
        ]
        rates[name] = np.mean(rejected)
    assert 0.04 <= rates["blocks"] <= 0.075
    assert rates["rows"] > 0.2


@pytest.mark.parametrize(("inside", "rho"), [(3, 0.01), (5, 0.2), (20, 0.2)])
def test_the_segment_test_keeps_its_size_with_few_blocks(inside: int, rho: float) -> None:
    trials = clustered(np.random.default_rng(20_242), 1500, 40, 10, rho)
    blocks, chosen = blocks_of(400, 10), np.arange(400) < 10 * inside
    pvalues = np.array([segment_test(covered, None, blocks, chosen) for covered in trials])
    assert np.mean(pvalues <= 0.05) < 0.07
    assert np.mean(pvalues <= 0.01) < 0.02


def test_the_segment_test_finds_a_segment_that_fails() -> None:
    rng = np.random.default_rng(20_243)
    chosen = np.arange(400) % 4 == 0
    trials = clustered(rng, 300, 40, 10, 0.2) & ~((rng.random((300, 400)) < 0.25) & chosen)
    pvalues = [segment_test(covered, None, blocks_of(400, 10), chosen) for covered in trials]
    assert np.mean(np.array(pvalues) <= 0.01) > 0.9


def test_a_promise_that_is_kept_is_seldom_called_broken() -> None:
    trials = clustered(np.random.default_rng(20_244), 1500, 30, 8, 0.15)
    broken = {
        name: np.mean([coverage_tail(x, None, b, 0.95, promised=PROMISED) <= 0.05 for x in trials])
        for name, b in (("blocks", blocks_of(240, 8)), ("rows", blocks_of(240)))
    }
    assert broken["blocks"] < 0.06
    assert broken["rows"] > 0.08


def test_the_log_interval_of_a_skewed_mean_keeps_its_confidence() -> None:
    rng, n = np.random.default_rng(20_245), 40
    inside = []
    for values in rng.lognormal(0, 1, (1000, n)):
        low, high = interval(
            values.mean(), influence_of_mean(values) / values.mean(), blocks_of(n), 0.95, log=True
        )
        inside.append(low <= exp(0.5) <= high)
    assert 0.88 <= np.mean(inside) <= 0.97
