"""Brackets of scores contain the exact value: minima over all critical scales and an exact integral over alpha."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise
from math import ceil, comb, inf, isnan
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import uccurve as ucc
from oracle import Oracle
from refusal import refused
from strategies import Data, mixed
from test_sketch_brackets import ROUNDED, crowded, curve, holds
from uccurve.sketch.sketch import UCCSketch

rows = st.one_of(crowded(), crowded(), mixed(8), mixed(8, never=True))
coverages = st.sampled_from(
    [Fraction(1, 2), Fraction(2, 3), Fraction(4, 5), Fraction(9, 10), Fraction(99, 100)]
)
TIED = Data((1.0, 1.0, -2.0, 2.0), (0.0,) * 4, (0.5, 1.5, 1.0, 1.75), (1.0, 1.0, 0.25, 1.0))
"""Two critical scales, each tied; at a coverage of 1/2 all scales between them have the minimum score."""
ONE_SIDED = Data((1.0, -2.0, 3.0, 0.5), (0.0,) * 4, (9.0, 0.5, 5.0, 9.0), (0.0, 3.0, 0.0, 1.0))
"""Two uncoverable rows; the mean active band is far below the mean half-width."""


# ---- the definitions, slowly


def scores(oracle: Oracle, alpha: Fraction) -> dict[Fraction, Fraction]:
    """Interval score at 0 and at all finite critical scales: it is convex and linear between them."""
    return {
        t: 2 * oracle.value("bandwidth", t) + 2 / alpha * oracle.value("deficit", t)
        for t in sorted({Fraction(0), *oracle.criticals})
    }


def best_score(oracle: Oracle, alpha: Fraction) -> Fraction:
    return min(scores(oracle, alpha).values())


def factor(oracle: Oracle, coverage: Fraction) -> Fraction | float:
    """Factor for new rows: the conformal rank, or with unequal weights the smallest that covers enough."""
    ordered = sorted(oracle.rows, key=oracle.critical)
    if len({row.weight for row in ordered}) == 1:
        rank = ceil((len(ordered) + 1) * coverage)
        return oracle.critical(ordered[rank - 1]) if rank <= len(ordered) else inf
    covered = Fraction(0)
    for row in ordered:
        covered += row.weight
        if covered >= coverage * sum(each.weight for each in ordered):
            return oracle.critical(row)
    return inf


def shipped(oracle: Oracle, coverage: Fraction) -> Fraction | float:
    """Interval score at the factor for new rows; infinite where there is none."""
    t = factor(oracle, coverage)
    if t == inf:
        return inf
    penalty = 2 / (1 - coverage)
    at = Fraction(t)
    return 2 * oracle.value("bandwidth", at) + penalty * oracle.value("deficit", at)


def potential_crps(oracle: Oracle) -> Fraction:
    """Integral of min(alpha * bandwidth + deficit): trapezoids between all places where two of the lines meet."""
    lines = [
        (oracle.value("bandwidth", t), oracle.value("deficit", t))
        for t in {Fraction(0), *oracle.criticals}
    ]
    places = {Fraction(0), Fraction(1)}
    for (slope, height), (other_slope, other_height) in combinations(lines, 2):
        if slope != other_slope:
            places.add((other_height - height) / (slope - other_slope))
    inside = sorted(alpha for alpha in places if 0 <= alpha <= 1)
    lowest = {alpha: min(slope * alpha + height for slope, height in lines) for alpha in inside}
    return sum(((b - a) * (lowest[a] + lowest[b]) / 2 for a, b in pairwise(inside)), Fraction(0))


def rank_with_confidence(n: int, coverage: Fraction, confidence: Fraction) -> int | None:
    """Smallest rank whose order statistic covers enough with this confidence, from the binomial distribution."""
    total = Fraction(0)
    for j in range(1, n + 1):
        total += comb(n, j - 1) * coverage ** (j - 1) * (1 - coverage) ** (n - j + 1)
        if total >= confidence:
            return j
    return None


# ---- interval score and its decomposition


@given(data=rows, coverage=coverages, at=st.sampled_from([0.0, 0.3, 0.505, 1.0, 1.3001]))
@example(data=ROUNDED, coverage=Fraction(1, 2), at=1.0)
def test_the_bracket_of_the_interval_score_holds_at_any_scale(
    data: Data, coverage: Fraction, at: float
) -> None:
    c, oracle, alpha = curve(data), data.oracle(), 1 - coverage
    exact = 2 * oracle.value("bandwidth", Fraction(at)) + 2 / alpha * oracle.value(
        "deficit", Fraction(at)
    )
    holds(c.bracket("interval_score", coverage=coverage, at=at), exact)


@given(data=rows, coverage=coverages)
def test_the_interval_score_as_delivered_is_exact(data: Data, coverage: Fraction) -> None:
    c, oracle, alpha = curve(data), data.oracle(), 1 - coverage
    rounding = 1e-13 * float(
        oracle.interval_score(alpha) + 2 / alpha * oracle.value("deficit", Fraction(0))
    )
    assert c.interval_score(coverage=coverage) == pytest.approx(
        float(oracle.interval_score(alpha)), abs=rounding
    )
    assert c.error("interval_score", coverage=coverage) <= rounding


@given(data=rows, coverage=coverages)
@example(data=ROUNDED, coverage=Fraction(1, 2))
@example(data=TIED, coverage=Fraction(1, 2))
@example(data=ONE_SIDED, coverage=Fraction(1, 2))
def test_the_bracket_of_the_best_score_holds(data: Data, coverage: Fraction) -> None:
    c, oracle, alpha = curve(data), data.oracle(), 1 - coverage
    holds(c.bracket("best_score", coverage=coverage), best_score(oracle, alpha))


@given(data=rows, coverage=coverages)
@example(data=ROUNDED, coverage=Fraction(1, 2))
@example(data=TIED, coverage=Fraction(1, 2))
@example(data=ONE_SIDED, coverage=Fraction(1, 2))
def test_the_brackets_of_what_ships_hold(data: Data, coverage: Fraction) -> None:
    c, oracle = curve(data), data.oracle()
    holds(c.bracket("shipped", coverage=coverage), shipped(oracle, coverage))
    constant = c.bracket("constant_shipped", coverage=coverage)
    holds(constant, shipped(oracle.constant(), coverage))


@given(data=rows, coverage=coverages, unit=st.sampled_from(["raw", 0.5]))
def test_the_decomposition_adds_up_and_each_field_lies_in_its_bracket(
    data: Data, coverage: Fraction, unit: str | float
) -> None:
    c = curve(data)
    oracle = data.oracle()
    assume(max(shipped(oracle, coverage), shipped(oracle.constant(), coverage)) < inf)
    size = 1 if unit == "raw" else Fraction(unit)
    alpha = 1 - coverage
    delivered = oracle.interval_score(alpha) / size
    score, constant, best = (
        exact / size
        for exact in (
            shipped(oracle, coverage),
            shipped(oracle.constant(), coverage),
            best_score(oracle, alpha),
        )
    )
    asked: dict[str, Any] = {"coverage": coverage, "unit": unit}
    holds(c.bracket("rescaling", **asked), delivered - score)
    holds(c.bracket("bands", **asked), constant - score)
    holds(c.bracket("slack", **asked), score - best)
    found = c.decompose(coverage=coverage, unit=unit)
    slack = 1e-12 * float(delivered + constant + score)
    answers: list[Any] = [
        "shipped",
        "rescaling",
        "bands",
        "constant_shipped",
        "best_score",
        "slack",
    ]
    for answer in answers:
        low, high = c.bracket(answer, **asked)
        field = {"constant_shipped": "constant", "best_score": "best"}.get(answer, answer)
        assert low - slack <= getattr(found, field) <= high + slack
    assert found.delivered == pytest.approx(float(delivered), abs=slack)
    assert found.delivered - found.shipped == found.rescaling
    assert found.constant - found.shipped == found.bands
    assert found.shipped - found.best == found.slack >= 0
    assert isnan(found.climatology)
    assert isnan(found.prediction)


def test_where_many_scales_have_the_best_score_it_is_that_of_each() -> None:
    found = curve(TIED).decompose(coverage=0.5)
    every = list(scores(TIED.oracle(), Fraction(1, 2)).values())
    assert every[0] > every[1] == every[2] == pytest.approx(found.best)


# ---- potential CRPS


@given(data=rows)
@example(data=ROUNDED)
@example(data=TIED)
@example(data=ONE_SIDED)
def test_the_bracket_of_the_potential_crps_holds(data: Data) -> None:
    c, exact = curve(data), potential_crps(data.oracle())
    holds(c.bracket("potential_crps"), exact)
    holds(c.bracket("potential_crps", unit=4.0), exact / 4)


@given(data=mixed(8, never=True))
def test_the_potential_crps_is_exact_where_no_two_rows_share_a_bin(data: Data) -> None:
    c, exact = curve(data), potential_crps(data.oracle())
    active = c._answers.binned.active
    assume(np.all(active.minimum == active.maximum))
    assert c.potential_crps() == pytest.approx(float(exact), rel=1e-12, abs=1e-300)
    assert c.error("potential_crps") <= 1e-12 * exact


@given(data=rows)
def test_the_bracket_of_the_skill_holds(data: Data) -> None:
    oracle = data.oracle()
    theirs = potential_crps(oracle.constant())
    assume(theirs > Fraction(1, 10**9))
    holds(curve(data).bracket("skill"), 1 - potential_crps(oracle) / theirs)


@given(data=rows, other=rows)
def test_a_skill_over_another_sketch_is_that_over_its_potential_crps(
    data: Data, other: Data
) -> None:
    theirs = potential_crps(other.oracle())
    assume(theirs > Fraction(1, 10**9))
    exact = 1 - potential_crps(data.oracle()) / theirs
    for reference in (UCCSketch().update(other.intervals()), curve(other), other.intervals()):
        holds(curve(data).bracket("skill", reference=reference), exact)


def heavy(n: int = 20_000, seed: int = 3) -> ucc.Intervals:
    """Heavy tails, bands that know half of the spread, asymmetric and weighted."""
    rng = np.random.default_rng(seed)
    sigma = np.exp(rng.normal(size=n) / 2)
    below, above = (sigma * np.exp(rng.normal(size=n) / 2) for _ in range(2))
    return ucc.Intervals.from_bands(
        sigma * rng.standard_t(3, n), np.zeros(n), below, above, weight=rng.uniform(size=n)
    )


def test_the_potential_crps_agrees_with_numerical_integration_and_its_bracket_is_narrow() -> None:
    iv = heavy()
    c, t = UCCSketch().update(iv).ucc(), np.linspace(0, 60, 6001)
    r, weight = np.abs(iv.y_true - iv.y_pred), iv.weight
    active = np.where(iv.y_true >= iv.y_pred, iv.upper_band, iv.lower_band)
    half_width = float(np.sum(weight * (iv.lower_band + iv.upper_band)) / 2)
    deficit = np.array([np.sum(weight * np.maximum(r - k * active, 0)) for k in t[::3]])
    deficit = np.interp(t, t[::3], deficit)
    alpha = (np.arange(400) + 0.5) / 400
    crps = np.mean([np.min(a * half_width * t + deficit) for a in alpha])
    assert c.potential_crps() == pytest.approx(crps, rel=1e-3)
    assert c.error("potential_crps") < 1e-4 * crps
    assert c.error("skill") < 2e-4
    for coverage in (0.5, 0.9, 0.99):
        assert c.error("best_score", coverage=coverage) < 1e-3 * c.interval_score(coverage=coverage)


def test_half_an_average_over_alpha_of_best_scores_is_the_potential_crps() -> None:
    c = UCCSketch().update(heavy(2000, seed=4)).ucc()
    alpha = (np.arange(200) + 0.5) / 200
    lows, highs = np.transpose([c.bracket("best_score", coverage=Fraction(1 - a)) for a in alpha])
    assert np.mean(alpha * lows) / 2 == pytest.approx(c.bracket("potential_crps")[0], rel=1e-4)
    assert np.mean(alpha * highs) / 2 == pytest.approx(c.bracket("potential_crps")[1], rel=1e-4)


def test_bands_of_zero_leave_the_mean_error() -> None:
    c = UCCSketch().update(ucc.Intervals.from_bands([1.0, -3.0, 0.0], [0.0] * 3, [0.0] * 3)).ucc()
    assert c.potential_crps() == pytest.approx(4 / 3, rel=1e-14)
    assert c.bracket("best_score", coverage=0.9) == pytest.approx((80 / 3, 80 / 3))
    assert c.skill() < 0


def test_a_skill_with_nothing_to_compare_is_nan() -> None:
    assert isnan(
        UCCSketch()
        .update(ucc.Intervals.from_bands([1.0, 1.0], [1.0, 1.0], [1.0, 2.0]))
        .ucc()
        .skill()
    )


# ---- targets


@given(data=rows, coverage=coverages)
def test_a_coverage_is_a_miss_rate_to_the_last_digit(data: Data, coverage: Fraction) -> None:
    c = curve(data)
    try:
        expected = c.find(miss_rate=1 - coverage)
    except ValueError:
        with pytest.raises(ValueError, match=r"^no scale (reaches|is sure to reach) miss_rate="):
            c.find(coverage=float(coverage))
        return
    assert c.find(coverage=float(coverage)) == expected
    assert c.bracket("find", coverage=coverage) == c.bracket("find", miss_rate=1 - coverage)


def test_nine_of_ten_rows_reach_a_coverage_of_nine_tenths() -> None:
    c = (
        UCCSketch()
        .update(ucc.Intervals.from_bands(np.arange(1.0, 11.0), [0.0] * 10, [1.0] * 10))
        .ucc()
    )
    assert c.find(coverage=0.9).scale == 9.0
    assert c.find(coverage=0.9).miss_rate == 0.1


@given(
    data=crowded(30).filter(lambda data: data.weight is None),
    coverage=coverages,
    confidence=st.sampled_from([Fraction(1, 2), Fraction(9, 10), Fraction(99, 100)]),
)
def test_the_scale_with_confidence_is_that_of_its_rank(
    data: Data, coverage: Fraction, confidence: Fraction
) -> None:
    oracle = data.oracle()
    rank = rank_with_confidence(len(oracle.rows), coverage, confidence)
    options: dict[str, Any] = {
        "coverage": coverage,
        "conformal": True,
        "confidence": float(confidence),
    }
    if rank is None:
        with pytest.raises(ValueError, match=r"rows"):
            curve(data).find(**options)
        return
    exact = sorted(map(oracle.critical, oracle.rows))[rank - 1]
    low, high = curve(data).bracket("find", **options)
    assert low * (1 - 1e-14) <= exact <= high * (1 + 1e-14)
    assert curve(data).find(**options).scale == high


IV = ucc.Intervals.from_bands(
    [1, 2, 4, 9], y_pred=[0] * 4, lower_band=[1, 1, 4, 4], upper_band=[1, 3, 4, 5]
)


def test_confidence_without_conformal_and_coverage_with_another_target_are_refused() -> None:
    c = UCCSketch().update(IV).ucc()
    with pytest.raises(ValueError, match=r"^`confidence` needs conformal=True"):
        c.find(coverage=0.9, confidence=0.9)
    with pytest.raises(ValueError, match=r"coverage.*miss_rate|miss_rate.*coverage"):
        c.find(coverage=0.9, miss_rate=0.1)
    with pytest.raises(
        ValueError, match=r"^`conformal` needs a target coverage or miss_rate, not deficit\.$"
    ):
        c.find(deficit=0.1, conformal=True)


@pytest.mark.parametrize("name", ["interval_score", "decompose", "find"])
@pytest.mark.parametrize("coverage", [0, 1, 90, "90"])
def test_a_coverage_that_is_no_share_is_refused(name: str, coverage: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"`coverage`.*"):
        getattr(UCCSketch().update(IV).ucc(), name)(coverage=coverage)


def test_an_empty_reference_is_refused() -> None:
    refused(
        "`sketch` must be a UCCSketch that holds at least one row. Hint: update it first.",
        UCCSketch().update(IV).ucc().skill,
        reference=UCCSketch(),
    )
