"""What the documentation states as facts: closed forms, what a gain rewards, ranks and guarantees, identities."""

from __future__ import annotations

from functools import cache
from math import ceil, exp, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import uccurve as ucc
from oracle import written
from strategies import Data, dyadic, mixed

Floats = NDArray[np.float64]
MISS: Any = ("bandwidth", "miss_rate")
DEFICIT: Any = ("bandwidth", "deficit")
SHEAR: Any = ("overshoot", "deficit")
SYMMETRIC_SHEAR: Any = ("excess", "deficit")


class Sums:
    """Weighted means of the rows in numpy, for the closed forms."""

    def __init__(self, data: Data) -> None:
        z = np.subtract(data.y_true, data.y_pred)
        lower, upper = np.asarray(data.lower_band), np.asarray(data.upper_band)
        self.weight = np.ones(len(z)) if data.weight is None else np.asarray(data.weight)
        self.a, self.r = np.where(z >= 0, upper, lower), np.abs(z)
        self.b = self.mean((lower + upper) / 2)
        self.k = np.divide(self.r, self.a, out=np.zeros(len(z)), where=self.r > 0)

    def mean(self, values: Any) -> float:
        return float(np.average(values, weights=self.weight))


def curve(data: Data) -> ucc.UCC:
    return ucc.UCC(data.intervals())


# ---- facts 1 to 4: closed forms


@given(data=mixed(20))
def test_fact_1_bandwidth_and_miss_rate_enclose_the_mean_critical_scale_times_the_bandwidth(
    data: Data,
) -> None:
    s = Sums(data)
    np.testing.assert_allclose(curve(data).area(axes=MISS), s.b * s.mean(s.k), rtol=1e-12)


@given(data=mixed(20))
def test_fact_2_bandwidth_and_deficit_enclose_half_the_mean_of_r_squared_over_a(data: Data) -> None:
    s = Sums(data)
    np.testing.assert_allclose(
        curve(data).area(axes=DEFICIT), s.b * s.mean(s.r * s.k) / 2, rtol=1e-12
    )


@given(data=mixed(20), scale=st.floats(0, 50))
def test_fact_3_overshoot_less_deficit_is_linear_in_the_scale_for_any_bands(
    data: Data, scale: float
) -> None:
    s, c = Sums(data), curve(data)
    point = c.at(scale)
    slack = 1e-12 * (scale * s.mean(s.a) + s.mean(s.r))
    np.testing.assert_allclose(
        point.overshoot - point.deficit, scale * s.mean(s.a) - s.mean(s.r), rtol=0, atol=slack
    )
    whole = s.mean(s.a) * s.mean(s.r * s.k) / 2
    np.testing.assert_allclose(
        c.area(axes=SHEAR), whole - s.mean(s.r) ** 2 / 2, rtol=1e-12, atol=1e-12 * whole
    )


@given(data=mixed(12))
def test_fact_3_overshoot_is_excess_where_bands_are_symmetric(data: Data) -> None:
    band = np.maximum(data.lower_band, data.upper_band)
    c: Any = ucc.UCC(ucc.Intervals.from_bands(data.y_true, data.y_pred, band, weight=data.weight))
    points = c.points(axes=("overshoot", "excess"))
    np.testing.assert_allclose(points.y, points.x, rtol=1e-12, atol=1e-12 * (1 + points.x[-1]))
    np.testing.assert_allclose(c.area(axes=SYMMETRIC_SHEAR), c.area(axes=SHEAR), rtol=1e-12)


def test_fact_3_fails_for_the_papers_excess_where_bands_are_asymmetric() -> None:
    c = ucc.UCC(ucc.Intervals.from_bands([1.0, 5.0], [0.0, 0.0], [0.5, 0.5], [4.0, 1.0]))
    point = c.at(2.0)
    np.testing.assert_allclose(point.overshoot - point.deficit, 2 * 2.5 - 3)
    np.testing.assert_allclose(point.excess, 2 / 2)  # the first row: min(1 + 2 * 0.5, 2 * 4 - 1)
    assert point.overshoot == 3.5


@given(data=mixed(20))
def test_fact_4_a_constant_band_has_the_mean_the_square_and_the_variance_of_the_errors(
    data: Data,
) -> None:
    s, c = Sums(data), ucc.UCC(data.intervals().constant())
    variance = s.mean(s.r**2) - s.mean(s.r) ** 2
    np.testing.assert_allclose(c.area(axes=MISS), s.mean(s.r), rtol=1e-12)
    np.testing.assert_allclose(c.area(axes=DEFICIT), s.mean(s.r**2) / 2, rtol=1e-12)
    for axes in (SHEAR, SYMMETRIC_SHEAR):
        np.testing.assert_allclose(
            c.area(axes=axes), variance / 2, rtol=1e-12, atol=1e-12 * s.mean(s.r**2)
        )


# ---- fact 5: what a gain rewards, on 200 000 seeded rows with y = sigma * eps and log sigma ~ N(0, SPREAD^2).
# With heavy tails a gain then has a standard error of 0.0015 on bandwidth/miss_rate and 0.005 on bandwidth/deficit (200
# repetitions), so the tolerances of 0.01 and 0.02 are six and four of them.

SPREAD, ROWS, WITHIN = 0.68, 200_000, 0.01


@cache
def truth(heavy: bool = False) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(20240131)
    sigma = rng.lognormal(0.0, SPREAD, ROWS)
    eps = rng.standard_t(6, ROWS) if heavy else rng.normal(size=ROWS)
    return sigma, sigma * eps


@cache
def gain_of_power(power: float, y: str, heavy: bool = False) -> float:
    """Gain of the band sigma**power over the constant band."""
    sigma, observed = truth(heavy)
    c: Any = ucc.UCC(ucc.Intervals.from_std(observed, np.zeros(ROWS), sigma**power))
    return float(
        c.gain(axes=(("excess" if y == "shear" else "bandwidth"), "deficit" if y == "shear" else y))
    )


@pytest.mark.parametrize("heavy", [False, True])
def test_fact_5_the_oracle_band_gains_nothing_on_bandwidth_and_miss_rate(heavy: bool) -> None:
    np.testing.assert_allclose(gain_of_power(1.0, "miss_rate", heavy), 0.0, atol=WITHIN)


@pytest.mark.parametrize("heavy", [False, True])
def test_fact_5_the_root_of_sigma_beats_the_oracle_on_bandwidth_and_miss_rate_by_eleven_percent(
    heavy: bool,
) -> None:
    root = gain_of_power(0.5, "miss_rate", heavy)
    np.testing.assert_allclose(root, 1 - exp(-(SPREAD**2) / 4), atol=WITHIN)
    np.testing.assert_allclose(root, 0.11, atol=WITHIN)
    assert all(root > gain_of_power(power, "miss_rate", heavy) for power in (0.0, 0.25, 0.75, 1.0))


@pytest.mark.parametrize("y", ["deficit", "shear"])
@pytest.mark.parametrize("heavy", [False, True])
def test_fact_5_no_power_of_sigma_beats_the_oracle_where_the_deficit_is_an_axis(
    y: str, heavy: bool
) -> None:
    best = gain_of_power(1.0, y, heavy)
    assert all(best > gain_of_power(power, y, heavy) for power in (0.0, 0.5, 0.9, 1.1, 1.5))


@pytest.mark.parametrize("heavy", [False, True])
def test_fact_5_the_oracles_gain_on_bandwidth_and_deficit_is_the_share_of_heteroscedasticity(
    heavy: bool,
) -> None:
    sigma, _ = truth(heavy)
    found = gain_of_power(1.0, "deficit", heavy)
    np.testing.assert_allclose(found, np.var(sigma) / np.mean(sigma**2), atol=2 * WITHIN)
    np.testing.assert_allclose(found, 1 - exp(-(SPREAD**2)), atol=2 * WITHIN)


def test_fact_5_the_shear_gains_nothing_for_a_constant_band_and_all_for_a_perfect_one() -> None:
    rng = np.random.default_rng(5)
    error = rng.normal(size=2000)
    perfect: Any = ucc.UCC(ucc.Intervals.from_std(error, np.zeros(2000), np.abs(error)))
    np.testing.assert_allclose(perfect.gain(axes=SYMMETRIC_SHEAR), 1.0, rtol=1e-12)
    flat: Any = ucc.UCC(ucc.Intervals.from_std(error, np.zeros(2000), np.ones(2000)))
    np.testing.assert_allclose(flat.gain(axes=SYMMETRIC_SHEAR), 0.0, atol=1e-12)


# ---- fact 6: conformal ranks

ALPHAS = [round(0.01 * i, 2) for i in range(1, 51)] + [
    1 / 3,
    2 / 7,
    1 / 6,
    1 / 9,
    0.025,
    0.001,
    0.0005,
]


MEANT = {alpha: written(alpha) for alpha in ALPHAS}


def rank(n: int, alpha: float) -> int:
    """Rounded up without leaving the integers."""
    p, q = MEANT[alpha].as_integer_ratio()
    return -((n + 1) * (p - q) // q)


def wrong_in_floats() -> list[tuple[int, float]]:
    """The pairs whose rank in floats is another one."""
    return [
        (n, alpha)
        for n in range(1, 2001)
        for alpha in ALPHAS
        if ceil((n + 1) * (1 - alpha)) != rank(n, alpha)
    ]


def ladder(n: int) -> Any:
    """Errors 1 to n over a band of 1: the critical scale is its own rank."""
    error = np.arange(1.0, n + 1)
    return ucc.UCC(ucc.Intervals.from_bands(error, np.zeros(n), np.ones(n)))


def test_fact_6_the_conformal_rank_is_right_where_floats_are_wrong() -> None:
    wrong = wrong_in_floats()
    assert len(wrong) > 500
    ladders = {n: ladder(n) for n, alpha in wrong if rank(n, alpha) <= n}
    for n, alpha in wrong:
        if n in ladders and rank(n, alpha) <= n:
            assert ladders[n].find(miss_rate=alpha, conformal=True).scale == rank(n, alpha)


@pytest.mark.parametrize("n", [1, 2, 3, 9, 10, 19, 20, 99, 100, 299, 999, 1000])
def test_fact_6_the_conformal_rank_is_the_same_for_a_float_and_its_fraction(n: int) -> None:
    c = ladder(n)
    for alpha in ALPHAS:
        for given_as in (alpha, MEANT[alpha]):
            if rank(n, alpha) <= n:
                assert c.find(miss_rate=given_as, conformal=True).scale == rank(n, alpha)
            else:
                with pytest.raises(ValueError, match="rows"):
                    c.find(miss_rate=given_as, conformal=True)


@given(data=dyadic(12, weighted=False))
def test_fact_6_a_found_miss_rate_is_an_order_statistic_of_the_critical_scales(data: Data) -> None:
    s, c = Sums(data), curve(data)
    ordered, n = np.sort(s.k), len(s.k)
    for missed in range(n):
        assert c.find(miss_rate=missed / n).scale == ordered[n - missed - 1]


def missed_after(n: int, alpha: float, conformal: bool, repeats: int, seed: int) -> Floats:
    """Share of fresh observations missed after each of many calibrations on n rows."""
    rng = np.random.default_rng(seed)
    missed = np.empty(repeats)
    for i in range(repeats):
        sigma, fresh_sigma = rng.lognormal(0, 0.5, n), rng.lognormal(0, 0.5, 50)
        band, fresh_band = (
            sigma**0.5,
            fresh_sigma**0.5,
        )  # a wrong shape: the guarantee does not ask for a right one
        c: Any = ucc.UCC(ucc.Intervals.from_std(sigma * rng.standard_t(4, n), np.zeros(n), band))
        scale = c.find(miss_rate=alpha, conformal=conformal).scale
        missed[i] = np.mean(np.abs(fresh_sigma * rng.standard_t(4, 50)) > scale * fresh_band)
    return missed


@pytest.mark.parametrize(("n", "alpha"), [(20, 0.1), (10, 0.2), (24, 0.3)])
def test_fact_6_the_conformal_scale_keeps_its_finite_sample_guarantee(n: int, alpha: float) -> None:
    missed = missed_after(n, alpha, conformal=True, repeats=1000, seed=6)
    four_errors = 4 * float(np.std(missed)) / sqrt(len(missed))
    np.testing.assert_allclose(np.mean(missed), 1 - rank(n, alpha) / (n + 1), atol=four_errors)
    assert alpha - 1 / (n + 1) - four_errors <= np.mean(missed) <= alpha + four_errors
    plain = missed_after(n, alpha, conformal=False, repeats=1000, seed=6)
    assert (
        np.mean(plain) > alpha + four_errors
    )  # the plain order statistic misses too often: the rank does the work


def test_fact_6_with_200_rows_a_target_of_5_percent_ships_between_2_4_and_8_4_percent() -> None:
    rank = int(ladder(200).find(miss_rate=0.05, conformal=True).scale)
    sizes = np.random.default_rng(61).random(
        (20_000, 200)
    )  # an error of the uniform distribution: its size is covered
    missed = 1 - np.partition(sizes, rank - 1, axis=1)[:, rank - 1]
    np.testing.assert_allclose(np.quantile(missed, [0.025, 0.975]), [0.024, 0.084], atol=0.001)
    np.testing.assert_allclose(np.mean(missed), 10 / 201, atol=0.0005)


# ---- fact 7: costs


@given(data=mixed(12), scale=st.floats(0, 20))
def test_fact_7_the_even_cost_on_excess_and_deficit_is_half_the_mean_distance_to_the_bound(
    data: Data, scale: float
) -> None:
    band = np.maximum(data.lower_band, data.upper_band)
    c = ucc.UCC(ucc.Intervals.from_bands(data.y_true, data.y_pred, band, weight=data.weight))
    r = np.abs(np.subtract(data.y_true, data.y_pred))
    half = float(np.average(np.abs(r - scale * band), weights=data.weight)) / 2
    slack = 1e-12 * float(np.average(r + scale * band, weights=data.weight))
    np.testing.assert_allclose(
        c.cost(0.5, axes=SYMMETRIC_SHEAR, at=scale), half, rtol=1e-12, atol=slack
    )


@given(data=dyadic(12, never=True), alpha=st.sampled_from([0.01, 0.05, 0.1, 0.3, 0.5]))
def test_fact_7_the_interval_score_is_a_cost_on_bandwidth_and_deficit(
    data: Data, alpha: float
) -> None:
    iv, c = data.intervals(), curve(data)
    score = ucc.interval_score(
        iv.y_true, iv.lower, iv.upper, coverage=1 - alpha, sample_weight=data.weight
    )
    point = c.at(1.0)
    np.testing.assert_allclose(score, 2 * point.bandwidth + 2 / alpha * point.deficit, rtol=1e-12)
    cost = c.cost(alpha / (1 + alpha), axes=DEFICIT)
    np.testing.assert_allclose(score, 2 * (1 + alpha) / alpha * cost, rtol=1e-12)


def test_fact_7_the_papers_printed_c_is_not_the_interval_score() -> None:
    y_true, lower, upper, alpha = [1.0, 5.0, -2.0], [0.0, 3.0, 0.0], [2.0, 4.0, 4.0], 0.1
    c = ucc.UCC(ucc.Intervals.from_bounds(y_true, [0.5, 3.5, 1.0], lower, upper))
    score = ucc.interval_score(y_true, lower, upper, coverage=1 - alpha)
    np.testing.assert_allclose(
        score, (2 + (1 + 20 * 1) + (4 + 20 * 2)) / 3
    )  # Gneiting and Raftery (2007), eq. 43
    printed = 1 / (1 + alpha)
    assert not np.isclose(2 * (1 + alpha) / alpha * c.cost(printed, axes=DEFICIT), score, rtol=0.01)


# ---- fact 9: a near-zero band


def near_zero(band: float) -> Any:
    rng = np.random.default_rng(9)
    error, bands = rng.normal(size=500), rng.uniform(0.5, 1.5, 500)
    error[0], bands[0] = 1.0, band
    return ucc.UCC(ucc.Intervals.from_std(error, np.zeros(500), bands))


@pytest.mark.parametrize("axes", [MISS, DEFICIT])
def test_fact_9_one_near_zero_band_moves_the_area_much_and_the_cheapest_cost_hardly(
    axes: Any,
) -> None:
    usual, odd = near_zero(1.0), near_zero(1e-5)
    assert odd.area(axes=axes) > 100 * usual.area(axes=axes)
    np.testing.assert_allclose(
        odd.cheapest(0.2, axes=axes).cost, usual.cheapest(0.2, axes=axes).cost, rtol=0.02
    )


@pytest.mark.parametrize("axes", [MISS, DEFICIT])
def test_fact_9_concentration_shows_that_one_row_decides(axes: Any) -> None:
    assert near_zero(1e-5).concentration(axes=axes) == 1
    assert near_zero(1.0).concentration(axes=axes) > 50
