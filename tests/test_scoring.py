"""Interval scores, their decomposition, potential CRPS and skill: against the definitions, and what they reward."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from math import inf, pi, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import uccurve as ucc
from closeness import TOLERANCE, near, representable, size
from level_oracle import Nested, nested
from oracle import Oracle, written
from strategies import Data, dyadic, extreme, mixed, varies

Floats = NDArray[np.float64]
DEFICIT: Any = ("bandwidth", "deficit")
coverages = st.sampled_from([0.07, 0.5, 2 / 3, 0.8, 0.9, 0.95, 0.999])


def alpha_of(coverage: float) -> Fraction:
    return 1 - written(coverage)


def slack(oracle: Oracle) -> Fraction:
    """What a mean deficit may be off: 1e-12 of the errors, and over the shift of the bands that are added to."""
    return TOLERANCE * max(size(oracle, name, oracle.start) for name in ("bandwidth", "deficit"))


# ---- potential CRPS


@given(data=mixed(8, never=True), vary=varies)
def test_the_potential_crps_is_the_exact_integral_of_the_smallest_score(
    data: Data, vary: str
) -> None:
    oracle = data.oracle(vary)
    near(
        data.curve(vary).potential_crps(),
        oracle.potential_crps(),
        slack(oracle) * (vary == "shift"),
    )


@given(data=nested())
def test_the_potential_crps_of_levels_is_the_exact_integral_of_the_smallest_score(
    data: Nested,
) -> None:
    oracle = data.oracle()
    near(
        data.curve().potential_crps(),
        oracle.potential_crps(),
        TOLERANCE * oracle.value("deficit", Fraction(0)),
    )


@given(data=extreme())
def test_the_potential_crps_of_tiny_and_huge_rows_is_exact(data: Data) -> None:
    oracle = data.oracle()
    exact = oracle.potential_crps()
    assume(representable(exact, oracle.end, oracle.value("bandwidth", oracle.end)))
    near(data.curve().potential_crps(), exact)


def best_score(curve: ucc.UCC, coverage: float) -> float:
    """The smallest interval score over all scales or shifts, which is a cost (fact 7)."""
    alpha = 1 - coverage
    point = curve.cheapest(alpha / (1 + alpha), axes=DEFICIT)
    return curve.interval_score(coverage=coverage, at=getattr(point, curve.vary))


def rows_of_every_kind(n: int = 40, seed: int = 4) -> ucc.Intervals:
    """Asymmetric, weighted and tied rows, some without error, some with a zero band, one of them uncoverable."""
    rng = np.random.default_rng(seed)
    error = np.round(4 * rng.standard_t(4, n)) / 4
    lower, upper = (
        np.round(4 * rng.lognormal(0, 0.6, n)) / 4,
        np.round(4 * rng.lognormal(0.3, 0.6, n)) / 4,
    )
    error[:3], lower[:3], upper[:3] = (0.0, 2.0, 1.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.5)
    return ucc.Intervals.from_bands(error, np.zeros(n), lower, upper, weight=rng.integers(1, 5, n))


@pytest.mark.parametrize("vary", ["scale", "shift"])
def test_the_potential_crps_is_half_the_mean_of_alpha_times_the_best_score(vary: Any) -> None:
    curve, steps = ucc.UCC(rows_of_every_kind(), vary=vary), 400
    alphas = (np.arange(steps) + 0.5) / steps
    scores = [alpha / 2 * best_score(curve, 1 - alpha) for alpha in alphas]
    assert_allclose(curve.potential_crps(), np.mean(scores), rtol=1e-5)


def test_the_potential_crps_of_levels_is_the_mean_of_the_cheapest_costs_over_all_alpha() -> None:
    outer = rows_of_every_kind()
    curve, steps = (
        ucc.UCC.from_levels({0.5: outer.calibrated(scale=0.25, shift=0.0), 0.9: outer}),
        2000,
    )
    costs = [
        (1 + alpha) * (curve.cheapest(alpha / (1 + alpha), axes=DEFICIT).cost or 0.0)
        for alpha in (np.arange(steps) + 0.5) / steps
    ]
    assert_allclose(curve.potential_crps(), np.mean(costs), rtol=1e-5)


def fact_10(oracle: Oracle) -> Fraction:
    """The sum over the critical scales, in the words of the documentation."""
    rows = oracle.rows
    b = sum((row.weight * (row.lower_band + row.upper_band) / 2 for row in rows), Fraction(0))
    total, high = Fraction(0), Fraction(1)
    for k in [Fraction(0), *oracle.criticals]:
        above = sum(
            (row.weight * row.active for row in rows if oracle.critical(row) > k), Fraction(0)
        )
        low = min(Fraction(1), above / b)
        total += (high - low) * oracle.value("deficit", k) + b * k * (high**2 - low**2) / 2
        high = low
    return total


@given(data=mixed(10, never=True))
def test_fact_10_one_sum_over_the_critical_scales_is_the_potential_crps(data: Data) -> None:
    oracle = data.oracle()
    assume(oracle.value("bandwidth", Fraction(1)))
    assert fact_10(oracle) == oracle.potential_crps()


@given(data=mixed(12, never=True))
def test_fact_10_symmetric_bands_have_the_mean_of_the_larger_cross_product(data: Data) -> None:
    band = np.maximum(data.lower_band, data.upper_band)
    weight = np.ones(len(band)) if data.weight is None else np.asarray(data.weight)
    iv = ucc.Intervals.from_bands(data.y_true, data.y_pred, band, weight=weight)
    b, r = float(np.average(band, weights=weight)), np.abs(np.subtract(data.y_true, data.y_pred))
    pairs = np.outer(weight, weight) / weight.sum() ** 2
    assume(b > 0)
    closed = float(np.sum(pairs * np.maximum(np.outer(r, band), np.outer(band, r)))) / (2 * b)
    assert_allclose(ucc.UCC(iv).potential_crps(), closed, rtol=1e-12)


@given(data=mixed(12, never=True), vary=varies)
def test_fact_10_a_constant_band_has_half_the_mean_of_the_larger_of_two_errors(
    data: Data, vary: Any
) -> None:
    iv = data.intervals()
    r = np.abs(np.subtract(data.y_true, data.y_pred))
    pairs = np.outer(iv.weight, iv.weight)
    closed = float(np.sum(pairs * np.maximum.outer(r, r))) / 2
    assume(vary == "scale" or float(np.sum(iv.weight * r)) > 1e-6 * iv.constant().upper_band[0])
    found = ucc.UCC(iv.constant(), vary=vary).potential_crps()
    assert_allclose(
        found, closed, rtol=1e-12, atol=1e-12 * iv.constant().upper_band[0] * (vary == "shift")
    )


@given(data=mixed(8), vary=varies)
def test_fact_10_bands_of_zero_leave_the_mean_error(data: Data, vary: str) -> None:
    flat = Data(
        data.y_true, data.y_pred, (0.0,) * len(data.y_true), (0.0,) * len(data.y_true), data.weight
    )
    error = flat.oracle().value("deficit", Fraction(0))
    found = flat.curve(vary).potential_crps()
    if vary == "scale":
        near(found, error)
    else:  # a shift makes them a constant band
        near(found, flat.oracle("shift").potential_crps())


@given(data=mixed(8, never=True), vary=varies)
def test_the_potential_crps_is_at_most_the_mean_error(data: Data, vary: str) -> None:
    error = float(np.average(np.abs(np.subtract(data.y_true, data.y_pred)), weights=data.weight))
    assert 0 <= data.curve(vary).potential_crps() <= error * (1 + 1e-9)


def test_a_model_that_knows_the_standard_deviation_has_the_crps_of_the_true_normal() -> None:
    rng = np.random.default_rng(8)
    sigma = rng.lognormal(0, 0.5, 100_000)
    curve = ucc.UCC(
        ucc.Intervals.from_std(sigma * rng.normal(size=len(sigma)), np.zeros(len(sigma)), sigma)
    )
    assert_allclose(
        curve.potential_crps(), np.mean(sigma) / sqrt(pi), rtol=0.01
    )  # Gneiting and Raftery 2007, sec. 4.2


@given(data=mixed(8, never=True), factor=st.sampled_from([0.25, 3.0]))
def test_a_common_factor_on_the_bands_changes_no_potential_crps(data: Data, factor: float) -> None:
    curve, scaled = data.curve(), ucc.UCC(data.intervals().calibrated(scale=factor))
    assert_allclose(scaled.potential_crps(), curve.potential_crps(), rtol=1e-12)
    assert_allclose(curve.potential_crps(unit=4.0), curve.potential_crps() / 4, rtol=1e-15)


@given(data=mixed(8, never=True))
def test_one_level_has_the_potential_crps_of_its_intervals(data: Data) -> None:
    one = Nested((0.9,), (data,)).curve()
    assert_allclose(one.potential_crps(), data.curve().potential_crps(), rtol=1e-11)


# ---- levels: as delivered, and at best


@given(data=nested())
def test_levels_at_their_best_never_score_worse_than_as_delivered(data: Nested) -> None:
    curve, oracle = data.curve(), data.oracle()
    exact = oracle.delivered_crps(Fraction(data.names[-1]))
    assert oracle.potential_crps() <= exact
    assert curve.potential_crps() <= float(exact) * (1 + 1e-9)
    for level in data.names:
        alpha = float(alpha_of(level))
        best = (1 + alpha) * (curve.cheapest(alpha / (1 + alpha), axes=DEFICIT).cost or 0.0)
        assert best <= alpha / 2 * curve.interval_score(coverage=level) * (1 + 1e-9) + 1e-12


def true_levels(levels: Floats, n: int, seed: int) -> ucc.UCC:
    """Laplace or uniform errors, and a model that knows which of the two and all their quantiles."""
    rng = np.random.default_rng(seed)
    wild = rng.random(n) < 0.5
    error = np.where(wild, rng.laplace(size=n), rng.uniform(-2, 2, n))
    bands = {float(p): np.where(wild, -np.log1p(-p), 2 * p) for p in levels}
    return ucc.UCC.from_levels(
        {p: ucc.Intervals.from_bands(error, np.zeros(n), band) for p, band in bands.items()}
    )


def test_a_model_that_knows_the_truth_delivers_its_potential_crps() -> None:
    levels = np.append(np.arange(1, 50) / 50, 0.995)
    curve = true_levels(levels, n=20_000, seed=12)
    alphas = np.append(1 - levels[::-1], 1.0)
    costs = [alpha / 2 * curve.interval_score(coverage=1 - alpha) for alpha in alphas[:-1]]
    delivered = np.trapezoid([*costs, curve.at(0.0).deficit], alphas) + alphas[0] * costs[0]
    assert_allclose(curve.potential_crps(), delivered, rtol=0.003)
    assert_allclose(
        delivered, (3 / 4 + 2 / 3) / 2, rtol=0.02
    )  # half of E|X - X'|, of both kinds of rows
    assert (
        curve.skill() > ucc.UCC(curve.intervals).skill() + 0.01
    )  # no scaling of one level knows both shapes


@given(data=nested(), coverage=coverages)
def test_as_delivered_at_a_coverage_is_the_own_interval_of_that_level(
    data: Nested, coverage: float
) -> None:
    curve, own, alpha = data.curve(), data.delivered(coverage), alpha_of(coverage)
    off = (
        2
        / alpha
        * TOLERANCE
        * (own.value("deficit", Fraction(0)) + own.value("bandwidth", Fraction(1)))
    )
    near(curve.interval_score(coverage=coverage), own.score(alpha, Fraction(1)), off)
    assert_parts(curve, own, coverage, off)


def test_a_delivered_level_is_scored_as_its_intervals_are() -> None:
    outer = rows_of_every_kind()
    inner = outer.calibrated(scale=0.25)
    curve = ucc.UCC.from_levels({0.5: inner, 0.9: outer})
    for coverage, iv in ((0.5, inner), (0.9, outer), (0.99, outer)):
        expected = ucc.interval_score(
            iv.y_true, iv.lower, iv.upper, coverage=coverage, sample_weight=iv.weight
        )
        assert_allclose(curve.interval_score(coverage=coverage), expected, rtol=1e-13)
        if coverage == 0.99:  # which one row of the outer level does not let any factor reach
            for model in (curve, ucc.UCC(iv)):
                with pytest.raises(ValueError, match=r"no scale reaches miss_rate=0\.01"):
                    model.decompose(coverage=coverage)
            continue
        assert curve.decompose(coverage=coverage) == ucc.UCC(iv).decompose(coverage=coverage)
    between = ucc.UCC(curve.intervals_at(level=0.7))
    assert curve.interval_score(coverage=0.7) == between.interval_score(coverage=0.7)
    assert_allclose(
        between.at(1.0).bandwidth,
        (ucc.UCC(inner).at(1.0).bandwidth + ucc.UCC(outer).at(1.0).bandwidth) / 2,
    )


# ---- interval scores


@given(
    data=mixed(10, never=True),
    vary=varies,
    coverage=coverages,
    t=st.integers(-8, 24).map(lambda n: n / 8),
)
def test_fact_7_the_interval_score_is_a_cost_on_bandwidth_and_deficit(
    data: Data, vary: str, coverage: float, t: float
) -> None:
    c, alpha = data.curve(vary), float(alpha_of(coverage))
    for at in (None, t if vary == "shift" else abs(t)):
        score = c.interval_score(coverage=coverage, at=at)
        cost = c.cost(alpha / (1 + alpha), axes=DEFICIT, at=at)
        assert_allclose(score, 2 * (1 + alpha) / alpha * cost, rtol=1e-12)
    best = c.cheapest(alpha / (1 + alpha), axes=DEFICIT)
    score = c.interval_score(coverage=coverage, at=getattr(best, vary))
    assert_allclose(score, 2 * (1 + alpha) / alpha * best.cost, rtol=1e-9)


@given(data=mixed(8, never=True), vary=varies, coverage=coverages)
def test_the_interval_score_of_a_curve_is_that_of_its_bounds(
    data: Data, vary: str, coverage: float
) -> None:
    c, oracle, alpha = data.curve(vary), data.oracle(vary), alpha_of(coverage)
    near(
        c.interval_score(coverage=coverage), oracle.interval_score(alpha), 2 / alpha * slack(oracle)
    )
    shipped = c.intervals_at(0.75)
    expected = ucc.interval_score(
        shipped.y_true, shipped.lower, shipped.upper, coverage=coverage, sample_weight=data.weight
    )
    found = c.interval_score(coverage=coverage, at=0.75)
    assert_allclose(
        found, expected, rtol=1e-9, atol=2 / float(alpha) * 1e-12 * (1 + np.abs(data.y_pred).max())
    )


# ---- decomposition


def assert_parts(c: Any, oracle: Oracle, coverage: float, off: Fraction) -> None:
    """Fail unless each part is the oracle's and they add up, or no scale (or shift) ships and that is said."""
    alpha = alpha_of(coverage)
    t = oracle.shipped(alpha)
    if t is None or t == inf:
        with pytest.raises(ValueError, match=r"at least|no (scale|shift) reaches"):
            c.decompose(coverage=coverage)
        return
    d = c.decompose(coverage=coverage)
    reference = Oracle(oracle.constant().rows)  # the constant band is scaled on every path
    constant_t = reference.shipped(alpha)
    assert constant_t is not None
    delivered = oracle.score(alpha, Fraction(0 if oracle.vary == "shift" else 1))
    shipped = oracle.score(alpha, Fraction(t))
    near(d.delivered, delivered, off)
    near(d.shipped, shipped, off)
    near(d.constant, reference.score(alpha, Fraction(constant_t)), off)
    near(d.best, min(oracle.best_score(alpha), delivered, shipped), off)
    reach = max(abs(row.y_true) for row in oracle.rows)
    near(d.climatology, oracle.climatology(alpha), 2 / alpha * TOLERANCE * reach)
    assert d.rescaling == d.delivered - d.shipped
    assert d.bands == d.constant - d.shipped
    assert d.prediction == d.climatology - d.constant
    assert d.slack == d.shipped - d.best >= 0
    parts = d.climatology, -d.prediction, -d.bands, d.rescaling
    assert_allclose(sum(parts), d.delivered, rtol=1e-12, atol=1e-12 * max(map(abs, parts)))


@given(data=mixed(7, never=True), vary=varies, coverage=coverages)
def test_a_decomposition_has_the_parts_of_the_definition_and_adds_up(
    data: Data, vary: str, coverage: float
) -> None:
    c, oracle = data.curve(vary), data.oracle(vary)
    assert_parts(c, oracle, coverage, 2 / alpha_of(coverage) * slack(oracle))


@given(data=dyadic(8), vary=varies)
def test_the_best_scale_has_the_best_score(data: Data, vary: str) -> None:
    c, oracle = data.curve(vary), data.oracle(vary)
    t = oracle.shipped(Fraction(1, 2))
    assume(t is not None and t != inf)
    d = c.decompose(coverage=0.5)
    best = min(best_score(c, 0.5), d.delivered, d.shipped)
    assert_allclose(d.best, best, rtol=1e-12, atol=float(4 * slack(oracle)))


@given(data=dyadic(8, weighted=False), coverage=st.sampled_from([0.5, 2 / 3, 0.8]))
def test_scaled_to_its_conformal_factor_a_model_has_no_rescaling_and_keeps_the_rest(
    data: Data, coverage: float
) -> None:
    t = data.oracle().conformal(alpha_of(coverage))
    assume(t is not None and 0 < t < inf)
    curve = data.curve()
    before = curve.decompose(coverage=coverage)
    factor = curve.find(coverage=coverage, conformal=True).scale
    after = ucc.UCC(data.intervals().calibrated(scale=factor)).decompose(coverage=coverage)
    assert_allclose(after.rescaling, 0, atol=1e-12 * before.delivered)
    for part in ("shipped", "best", "slack", "bands", "constant", "prediction", "climatology"):
        spare = 1e-12 * (before.delivered + before.climatology)
        assert_allclose(getattr(after, part), getattr(before, part), rtol=1e-11, atol=spare)


@pytest.mark.parametrize("vary", ["scale", "shift"])
def test_a_unit_divides_every_part(vary: Any) -> None:
    c = ucc.UCC(rows_of_every_kind(), vary=vary)
    raw, halves = c.decompose(coverage=0.8), c.decompose(coverage=0.8, unit=2.0)
    for part in fields(raw):
        values = getattr(halves, part.name), getattr(raw, part.name) / 2
        assert_allclose(*values, rtol=1e-14, atol=1e-14)
    assert_allclose(c.interval_score(coverage=0.8, unit=2.0), raw.delivered / 2, rtol=1e-14)


def test_a_decomposition_worked_by_hand() -> None:
    # errors 1, 0, -1, 1 in bands of 2, 1, 2, 2; alpha 1/2, so a unit of deficit costs 4 times its share
    iv = ucc.Intervals.from_bands([1, 2, 4, 9], [0, 2, 5, 8], [2, 1, 2, 2])
    d = ucc.UCC(iv).decompose(coverage=0.5)
    assert (d.delivered, d.shipped, d.best) == (2 * 7 / 4, 2 * 7 / 8, 2 * 7 / 8)  # factor 1/2
    assert d.constant == 2.0  # a half-width of 1, the third of the errors 0, 1, 1, 1, covers all
    # from 1 to 4, the first and the third of four
    assert d.climatology == 3.0 + 4 * (0 + 0 + 0 + 5) / 4 == 8.0
    assert repr(d) == (
        "Decomposition(delivered=3.5, shipped=1.75, rescaling=1.75, bands=0.25, constant=2, prediction=6, "
        "climatology=8, best=1.75, slack=0)"
    )


# ---- skill


@given(data=mixed(8, never=True), vary=varies)
def test_the_skill_is_the_share_of_the_constant_band_s_potential_crps_saved(
    data: Data, vary: str
) -> None:
    c, oracle = data.curve(vary), data.oracle(vary)
    mine, theirs = oracle.potential_crps(), oracle.constant().potential_crps()
    assume(theirs)
    near(
        c.skill(),
        1 - mine / theirs,
        Fraction(2 * (slack(oracle) + TOLERANCE * theirs) / theirs * (1 + mine / theirs)),
    )
    assert ucc.UCC(data.intervals().constant(), vary=vary).skill() == pytest.approx(0, abs=1e-9)  # type: ignore[arg-type]


def test_the_skill_over_a_reference_compares_the_same_rows() -> None:
    mine, levels = rows_of_every_kind(), ucc.UCC.from_levels({0.5: rows_of_every_kind()})
    other = ucc.Intervals.from_bands(
        mine.y_true, mine.y_pred, np.full(40, 1.0), np.full(40, 2.0), weight=mine.weight
    )
    shifted = ucc.UCC(other, vary="shift")
    for reference, theirs in (
        (other, ucc.UCC(other)),
        (ucc.UCC(other), ucc.UCC(other)),
        (shifted, shifted),
    ):
        expected = 1 - ucc.UCC(mine).potential_crps() / theirs.potential_crps()
        assert_allclose(ucc.UCC(mine).skill(reference=reference), expected, rtol=1e-12)
        assert_allclose(levels.skill(reference=reference), expected, rtol=1e-12)
    with pytest.raises(TypeError, match="`reference` must be Intervals or a curve; got int"):
        levels.skill(reference=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="`reference` must have the same y_true"):
        levels.skill(reference=other[:20])


def test_the_skill_of_rows_without_error_is_nan_and_of_uncoverable_ones_finite() -> None:
    exact = ucc.Intervals.from_bands([1.0, 2.0], [1.0, 2.0], [0.5, 0.25])
    assert np.isnan(ucc.UCC(exact).skill())
    assert np.isnan(ucc.UCC(exact, vary="shift").skill())
    lost = ucc.UCC(ucc.Intervals.from_bands([1.0, 2.0], [0.0, 0.0], [1.0, 0.0]))
    assert lost.area() == inf
    assert lost.potential_crps() == 1.25  # scale 1 is the best for every alpha: alpha / 2 + 1
    assert lost.skill() == pytest.approx(
        1 - 1.25 / (7 / 8), rel=1e-15
    )  # constant: the larger of two errors is 7/4


SPREAD = 0.7


def simulated(seed: int, n: int = 2000) -> tuple[Floats, Floats]:
    rng = np.random.default_rng([seed, 15])
    sigma = rng.lognormal(0, SPREAD, n)
    return sigma, sigma * rng.standard_t(6, n)


def skill(error: Floats, *bands: Floats) -> float:
    return ucc.UCC(ucc.Intervals.from_bands(error, np.zeros(len(error)), *bands)).skill()


def test_of_all_powers_of_sigma_the_first_has_the_largest_skill() -> None:
    powers = np.array([0.0, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0])
    skills = np.array(
        [[skill(error, sigma**p) for p in powers] for sigma, error in map(simulated, range(12))]
    )
    mean = skills.mean(axis=0)
    assert powers[np.argmax(mean)] == 1.0
    assert np.all(np.diff(mean)[:5] > 0)
    assert np.all(np.diff(mean)[5:] < 0)
    np.testing.assert_allclose(mean[0], 0, atol=1e-12)


def test_the_root_of_sigma_is_below_the_oracle_in_every_run_where_the_headline_area_prefers_it() -> (
    None
):
    for sigma, error in map(simulated, range(20)):
        assert skill(error, np.sqrt(sigma)) < skill(error, sigma)
        oracle, root = (
            ucc.UCC(ucc.Intervals.from_std(error, 0 * error, band))
            for band in (sigma, np.sqrt(sigma))
        )
        assert root.gain() > oracle.gain()


@pytest.mark.parametrize("narrow", [0.0, 0.1, 0.5])
def test_one_sided_bands_by_the_flip_of_a_coin_show_no_skill(narrow: float) -> None:
    for seed in range(10):
        sigma, error = simulated(seed)
        heads = np.random.default_rng([seed, 16]).random(len(error)) < 0.5
        lower, upper = np.where(heads, narrow, 2 - narrow), np.where(heads, 2 - narrow, narrow)
        assert skill(error, lower, upper) < 0
        assert skill(error, sigma * lower, sigma * upper) < skill(error, sigma)
    if narrow:
        curve: Any = ucc.UCC(ucc.Intervals.from_bands(error, 0 * error, lower, upper))
        assert curve.gain(axes=("excess", "deficit")) > 0.03  # the area that can be gamed


# ---- the coverage that was promised


def ladder(n: int, vary: Any = "scale", weight: Any = None) -> ucc.UCC:
    """Errors 1 to n over a band of 1: the critical scale is its own rank."""
    return ucc.UCC(
        ucc.Intervals.from_bands(np.arange(1.0, n + 1), np.zeros(n), np.ones(n), weight=weight),
        vary=vary,
    )


WRITTEN = [
    (0.9, Fraction(1, 10)),
    (0.95, Fraction(1, 20)),
    (0.7, Fraction(3, 10)),
    (0.99, Fraction(1, 100)),
]


@pytest.mark.parametrize(("coverage", "miss_rate"), WRITTEN)
@pytest.mark.parametrize("conformal", [False, True])
def test_a_coverage_is_its_miss_rate_without_rounding(
    coverage: float, miss_rate: Fraction, conformal: bool
) -> None:
    rounded = 0
    for n in [*range(1, 130), 200, 1000]:
        curve, missed = ladder(n), n * miss_rate
        if conformal and (n + 1) * miss_rate < 1:
            continue
        found = curve.find(coverage=coverage, conformal=conformal)
        assert found == curve.find(miss_rate=miss_rate, conformal=conformal)
        assert found == curve.find(coverage=Fraction(1 - miss_rate), conformal=conformal)
        assert found == curve.find(miss_rate=float(miss_rate), conformal=conformal)
        rank = -((n + 1) * (miss_rate - 1) // 1) if conformal else n - missed // 1
        assert found.scale == rank
        rounded += not conformal and curve.find(miss_rate=1 - coverage).scale != rank
    assert (
        conformal or rounded > 0 or 1 - coverage >= miss_rate
    )  # where floats would have been off by a row


@pytest.mark.parametrize("weight", [None, 0.3])
def test_what_was_asked_before_does_not_change_what_is_found(weight: float | None) -> None:
    for n in (3, 10, 30, 49):
        weights = None if weight is None else np.full(n, weight)
        for share in (
            0.0,
            0.1,
            1 - 0.9,
            1 / 3,
            0.3,
            np.nextafter(0.3, 0),
            np.nextafter(0.3, 1),
            1.0,
        ):
            fresh, asked = ladder(n, weight=weights), ladder(n, weight=weights)
            asked.table()
            assert fresh.find(miss_rate=share) == asked.find(miss_rate=share)


def test_a_share_of_more_than_a_million_rows_is_found_to_the_row() -> None:
    n = 1_000_003
    curve = ladder(n)
    for missed in (1, 650_461, 333_334, n - 2):  # no fraction with a denominator below a million
        assert curve.find(miss_rate=missed / n).scale == n - missed


def test_a_confident_rank_is_that_of_the_beta_distribution() -> None:
    stats = pytest.importorskip("scipy.stats")
    for n in (1, 2, 10, 22, 45, 59, 200, 1000):
        curve, ranks = ladder(n), np.arange(1, n + 1)
        for coverage in (0.5, 0.8, 0.9, 0.95, 0.99):
            for confidence in (0.05, 0.5, 0.9, 0.95, 0.99):
                covers = stats.beta.sf(coverage, ranks, n + 1 - ranks) >= confidence
                ask: dict[str, Any] = {"conformal": True, "confidence": confidence}
                if covers.any():
                    found = curve.find(coverage=coverage, **ask)
                    assert found.scale == ranks[np.argmax(covers)]
                    assert found == curve.find(miss_rate=alpha_of(coverage), **ask)
                else:
                    needed = int(np.ceil(np.log1p(-confidence) / np.log(coverage)))
                    with pytest.raises(
                        ValueError, match=f"needs at least {needed} rows; there are {n}"
                    ):
                        curve.find(coverage=coverage, **ask)


def test_a_confident_rank_keeps_its_coverage_in_that_share_of_all_calibrations() -> None:
    rng = np.random.default_rng(66)
    n, coverage, confidence, repeats = 100, 0.9, 0.9, 2000
    rank = int(ladder(n).find(coverage=coverage, conformal=True, confidence=confidence).scale)
    plain = int(ladder(n).find(coverage=coverage, conformal=True).scale)
    covered = np.sort(
        rng.random((repeats, n)), axis=1
    )  # a uniform error is covered with the probability of its size
    kept = np.mean(covered[:, rank - 1] >= coverage)
    assert confidence - 4 * sqrt(confidence * (1 - confidence) / repeats) <= kept
    assert np.mean(covered[:, rank - 2] >= coverage) < confidence
    assert (
        np.mean(covered[:, plain - 1] >= coverage) < 0.6
    )  # on average over calibrations is not in most of them
