"""assess: its numbers are those of its parts, the right model wins, and what it is given is checked."""

from __future__ import annotations

import json
import pickle
import sys
from dataclasses import dataclass, fields
from fractions import Fraction
from math import ceil
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

import uccurve as ucc
from uccurve import assess
from uccurve._arrays import ordered
from uccurve._distributions import binomial_tail, clopper_pearson
from uccurve._paths import Path as CurvePath
from uccurve._ramps import Ramps
from uccurve.evidence.inference import holm

COLUMNS = ("y_true", "y_pred", "lower_band", "upper_band")
AXES: list[Any] = [("bandwidth", "miss_rate"), ("bandwidth", "deficit"), ("excess", "deficit")]


def models(
    n: int = 120, seed: int = 0, *, shared: bool = True, **options: Any
) -> dict[str, ucc.Intervals]:
    """Three models with asymmetric bands: good, worse, noise."""
    rng = np.random.default_rng(seed)
    sigma = rng.lognormal(0, 0.6, n)
    y = sigma * rng.normal(size=n)
    shape = {
        "good": sigma,
        "worse": sigma * rng.lognormal(0, 0.4, n),
        "noise": rng.lognormal(0, 0.6, n),
    }
    tilt = rng.uniform(0.7, 1.3, (3, n))
    predictions = np.zeros((3, n)) if shared else rng.normal(0, 0.1, (3, n))
    return {
        name: ucc.Intervals.from_bands(y, p, 1.5 * band, 1.5 * band * t, **options)
        for (name, band), t, p in zip(shape.items(), tilt, predictions, strict=True)
    }


# ---- the numbers


def test_each_row_holds_the_answers_of_the_curve() -> None:
    given = models()
    found = assess(given, coverage=0.8, c=0.2, partial=(0.05, 0.4), unit=2.0)
    for name, iv in given.items():
        row, curve = found[name], ucc.UCC(iv)
        point = curve.at(1.0, unit=2.0)
        assert row.n == 120
        for metric in ("miss_rate", "bandwidth", "excess", "deficit", "overshoot"):
            assert_allclose(getattr(row.delivered, metric), getattr(point, metric))
        for axes in AXES:
            key = "_".join(axes)
            assert_allclose(row.areas[key].value, curve.area(axes=axes, unit=2.0))
            assert_allclose(row.gains[key].value, curve.gain(axes=axes))
            for estimate in (row.areas[key], row.gains[key]):
                assert estimate.low < estimate.value < estimate.high
        assert row.partial_gain is not None
        assert row.partial_gain.value == pytest.approx(curve.gain(miss_rate=(0.05, 0.4)))
        assert row.cost is not None
        assert row.cost.delivered == pytest.approx(curve.cost(0.2, unit=2.0))
        cheapest = curve.cheapest(0.2, unit=2.0)
        assert row.cost.cheapest == pytest.approx(cheapest.cost)
        assert row.cost.cheapest_at == pytest.approx(cheapest.scale)
        assert row.concentration == curve.concentration()


def test_each_row_holds_scale_half_width_scores_and_skill_of_the_curve() -> None:
    given = models()
    found = assess(given, coverage=0.8, unit="std")
    for name, iv in given.items():
        row, curve = found[name], ucc.UCC(iv)
        target = curve.find(coverage=0.8, conformal=True, unit="std")
        assert_allclose([row.scale.value, row.half_width.value], [target.scale, target.bandwidth])
        parts = curve.decompose(coverage=0.8, unit="std")
        assert_allclose(row.score.value, parts.shipped)
        assert_allclose(row.best_score.value, parts.best)
        assert_allclose(row.delivered_score.value, parts.delivered)
        for field in fields(parts):
            assert_allclose(
                getattr(row.decomposition, field.name), getattr(parts, field.name), atol=1e-12
            )
        assert_allclose(row.skill.value, 1 - parts.shipped / parts.constant)
        assert_allclose(
            [row.crps.value, row.crps_skill.value],
            [curve.potential_crps(unit="std"), curve.skill()],
        )
        covered = (iv.lower <= iv.y_true) & (iv.y_true <= iv.upper)
        assert_allclose(row.coverage.value, covered.mean())
        assert_allclose(
            (row.coverage.low, row.coverage.high), clopper_pearson(int(covered.sum()), 120, 0.95)
        )
        assert_allclose(
            [row.missed_above, row.missed_below],
            [np.mean(iv.y_true > iv.upper), np.mean(iv.y_true < iv.lower)],
        )
        for estimate in (row.scale, row.half_width, row.score, row.crps, row.skill):
            assert estimate.low <= estimate.value <= estimate.high


def test_the_interval_of_the_scale_lies_between_two_order_statistics() -> None:
    iv = models(200)["good"]
    row = assess(iv, coverage=0.9).rows[0]
    critical = np.sort(np.abs(iv.y_true) / np.where(iv.y_true >= 0, iv.upper_band, iv.lower_band))
    low, high = (np.searchsorted(critical, end) + 1 for end in (row.scale.low, row.scale.high))
    held = scipy.stats.binom.cdf(high - 1, 200, 0.9) - scipy.stats.binom.cdf(low - 1, 200, 0.9)
    assert 0.95 <= held < 0.98
    assert row.scale.value == critical[ceil(201 * Fraction(9, 10)) - 1]


@dataclass
class ShippedByHand:
    """Interval score at the conformal factor and what is known of it, in plain numpy."""

    score: float
    influence: npt.NDArray[np.float64]
    offset: float
    degrees: int


def shipped_by_hand(iv: ucc.Intervals, alpha: float) -> ShippedByHand:
    """Score, influence, hidden part and degrees of freedom of rows of equal weight, from the definitions."""
    n = len(iv)
    z = iv.y_true - iv.y_pred
    active = np.where(z >= 0, iv.upper_band, iv.lower_band)
    half = (iv.upper_band + iv.lower_band) / 2
    critical = np.abs(z) / active
    ordered = np.sort(critical)
    k = ordered[ceil((n + 1) * (1 - Fraction(str(alpha)))) - 1]
    missed = critical > k
    scores = 2 * k * half + 2 / alpha * np.where(missed, np.abs(z) - k * active, 0)
    slopes = 2 * half - 2 / alpha * np.where(missed, active, 0)
    normal = scipy.stats.norm
    z_q = normal.ppf(1 - alpha)
    reach = (1.5 * normal.pdf(z_q) ** 2 / (2 * z_q**2 + 1)) ** (1 / 3)
    reach *= normal.ppf(0.975) ** (2 / 3) / n ** (1 / 3)
    first = max(ceil((1 - alpha - reach) * n), 1)
    last = min(ceil((1 - alpha + reach) * n), n)
    middle = ordered[ceil((1 - alpha) * n) - 1]
    sparsity = middle * np.log(ordered[last - 1] / ordered[first - 1]) / ((last - first) / n)
    influence = scores - scores.mean()
    influence += slopes.mean() * sparsity * (missed - missed.mean())
    covariance = np.mean((slopes - slopes.mean()) * (missed - missed.mean()))
    return ShippedByHand(
        scores.mean(), influence / n, -sparsity * covariance / n, int(missed.sum()) - 1
    )


def test_score_intervals_are_of_the_score_as_shipped_with_the_movement_of_its_factor() -> None:
    iv = models(200)["good"]
    row = assess(iv, coverage=0.8).rows[0]
    hand = shipped_by_hand(iv, 0.2)
    error = np.sqrt(np.sum(hand.influence**2) * 200 / 199) / hand.score
    reach = scipy.stats.t.ppf(0.975, hand.degrees) * error
    assert_allclose(row.score.value, hand.score, rtol=1e-12)
    assert_allclose(
        (row.score.low, row.score.high),
        (hand.score + hand.offset) * np.exp([-reach, reach]),
        rtol=1e-9,
    )


def test_pairs_are_paired_t_tests_of_what_ships_adjusted_by_holm() -> None:
    given = models(300, shared=False)
    found = assess(given, coverage=0.8)
    hands = {name: shipped_by_hand(iv, 0.2) for name, iv in given.items()}
    pairs = [("good", "worse"), ("good", "noise"), ("worse", "noise")]
    assert [(pair.first, pair.second) for pair in found.comparisons] == pairs
    expected = []
    for pair in found.comparisons:
        first, second = hands[pair.first], hands[pair.second]
        centre = first.score + first.offset - second.score - second.offset
        influence = first.influence - second.influence
        error = np.sqrt(np.sum(influence**2) * 300 / 299)
        degrees = min(first.degrees, second.degrees)
        expected.append(2 * scipy.stats.t.sf(abs(centre) / error, degrees))
        reach = scipy.stats.t.ppf(0.975, degrees) * error
        assert_allclose(pair.difference.value, first.score - second.score, rtol=1e-9)
        assert_allclose(
            (pair.difference.low, pair.difference.high),
            (centre - reach, centre + reach),
            rtol=1e-9,
        )
        assert_allclose(pair.ratio, first.score / second.score)
    assert_allclose([pair.pvalue for pair in found.comparisons], expected, rtol=1e-6)
    assert_allclose([pair.pvalue_holm for pair in found.comparisons], holm(expected), rtol=1e-6)
    assert {pair.statistic for pair in found.comparisons} == {"score"}
    first_name = found.ranking[0].name
    assert np.isnan(found[first_name].pvalue)
    for row in found.ranking[1:]:
        names = {first_name, row.name}
        (pair,) = [pair for pair in found.comparisons if {pair.first, pair.second} == names]
        assert row.pvalue == pair.pvalue_holm


def test_blocks_are_summed_before_anything_is_said_about_chance() -> None:
    given = models(60)
    repeated = {
        name: ucc.Intervals.from_bands(*(np.repeat(getattr(iv, column), 4) for column in COLUMNS))
        for name, iv in given.items()
    }
    once, blocks = assess(given), assess(repeated, block=4)
    labels = assess(repeated, block=np.repeat(np.arange(60), 4))
    for name in given:
        for field in ("crps", "crps_skill"):
            for other in (blocks, labels):
                estimate, expected = getattr(other[name], field), getattr(once[name], field)
                assert_allclose(
                    (estimate.low, estimate.high), (expected.low, expected.high), rtol=1e-9
                )
        gain = once[name].gains["bandwidth_deficit"]
        assert_allclose(blocks[name].gains["bandwidth_deficit"].low, gain.low, rtol=1e-9)
        assert_allclose(
            blocks[name].coverage.low, once[name].coverage.low, rtol=0.01
        )  # but for t of 59 and of 239
    assert_allclose(
        [one.pvalue for one in blocks.comparisons],
        [one.pvalue for one in once.comparisons],
        rtol=1e-9,
    )
    assert blocks.settings.block == "blocks of 4 rows"
    assert labels.settings.block == "60 blocks"


def test_resampled_intervals_replace_those_by_influence_where_asked_for() -> None:
    iv = models()["good"]
    row = assess(
        iv, coverage=0.8, n_resamples=499, seed=4, confidence_level=0.9, partial=(0, 0.5)
    ).rows[0]
    options: dict[str, Any] = {"n_resamples": 499, "seed": 4, "confidence_level": 0.9}
    skill = ucc.bootstrap(iv, statistic="skill", **options)
    assert_allclose((row.crps_skill.low, row.crps_skill.high), (skill.low, skill.high))
    part = ucc.bootstrap(iv, statistic="gain", miss_rate=(0, 0.5), **options)
    assert row.partial_gain is not None
    assert (row.partial_gain.low, row.partial_gain.high) == pytest.approx((part.low, part.high))
    plain = assess(iv, coverage=0.8, partial=(0, 0.5)).rows[0]
    assert plain.partial_gain is not None
    assert not plain.partial_gain.has_interval


def test_nothing_is_random_unless_resamples_are_asked_for() -> None:
    given = models()
    assert (
        assess(given, coverage=0.9, seed=1).to_dict()["models"]
        == assess(given, coverage=0.9, seed=2).to_dict()["models"]
    )
    one, two = (
        assess(given["good"], n_resamples=99, seed=seed).rows[0].crps_skill.low for seed in (1, 2)
    )
    assert one != two


# ---- who wins


def test_models_are_ranked_by_score_as_shipped_or_else_by_potential_crps() -> None:
    given = models(400, shared=False)
    for coverage, field in ((0.8, "score"), (None, "crps")):
        found = assess(given, coverage=coverage)
        values = [getattr(row, field).value for row in found.ranking]
        assert values == sorted(values)
        assert [row.rank for row in found.ranking] == [1, 2, 3]
        assert found.settings.ranked_by == field
        assert found.verdict.model == found.ranking[0].name == "good"


def test_a_model_that_scores_best_at_another_coverage_than_the_promised_one_is_not_shipped() -> (
    None
):
    """Exaggerated bands miss where they are narrow: their smallest score is taken far below 90% coverage."""
    rng = np.random.default_rng(0)
    sigma = rng.lognormal(0, 0.5, 5000)
    y = sigma * rng.normal(size=5000)
    given = {
        name: ucc.Intervals.from_bands(y, 0 * y, sigma**power)
        for name, power in (("exaggerated", 1.7), ("flat", 0.2))
    }
    found = assess(given, coverage=0.9)
    assert found["exaggerated"].best_score.value < 1.01 * found["flat"].best_score.value
    assert found["exaggerated"].score.value > 1.03 * found["flat"].score.value
    assert found.verdict.model == "flat"
    assert any("miss where they are narrow" in note for note in found.notes)


def test_a_model_with_noisy_predictions_and_bands_widened_to_match_is_last() -> None:
    """The gain over its own constant band put it first."""
    rng = np.random.default_rng(11)
    x = rng.uniform(0, 1, 2000)
    sigma = 0.3 + x
    y = np.sin(6 * x) + sigma * rng.normal(size=2000)
    noise = 3 * rng.exponential(size=2000)
    noisy = ucc.Intervals.from_bands(
        y, np.sin(6 * x) + noise * rng.choice([-1, 1], 2000), 1.645 * sigma + noise
    )
    good = ucc.Intervals.from_bands(y, np.sin(6 * x), 1.645 * sigma)
    found = assess({"noisy": noisy, "flat": good.constant(), "good": good}, coverage=0.9)
    assert [row.name for row in found.ranking] == ["good", "flat", "noisy"]
    key = "bandwidth_deficit"
    assert found["noisy"].gains[key].value > found["good"].gains[key].value
    assert found.verdict.decided
    assert found.verdict.headline.startswith("Ship good ")


def test_the_oracle_beats_the_square_root_of_its_bands_although_the_paper_s_headline_says_otherwise() -> (
    None
):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        sigma = rng.lognormal(0, 0.7, 1500)
        y = sigma * rng.normal(size=1500)
        oracle, root = (
            ucc.Intervals.from_bands(y, np.zeros(1500), band) for band in (sigma, np.sqrt(sigma))
        )
        for coverage in (0.9, None):
            found = assess({"root": root, "oracle": oracle}, coverage=coverage)
            assert found.verdict.model == "oracle"
            assert found.verdict.decided
        key = "bandwidth_miss_rate"
        assert found["root"].gains[key].value > found["oracle"].gains[key].value


def test_bands_times_a_tenth_are_too_narrow_and_the_verdict_says_by_how_much() -> None:
    rng = np.random.default_rng(3)
    iv = ucc.Intervals.from_bands(rng.normal(size=1000), np.zeros(1000), np.full(1000, 0.1645))
    found = assess(iv, coverage=0.9)
    row = found.rows[0]
    assert row.promise == "too narrow"
    assert 9 < row.scale.value < 11
    assert found.verdict.decided
    assert f"× {row.scale.value:.2f}" in found.verdict.headline
    assert assess(iv.calibrated(scale=10), coverage=0.9).rows[0].promise == "kept"
    assert assess(iv.calibrated(scale=30), coverage=0.9).rows[0].promise == "too wide"
    assert assess(iv).rows[0].promise is None


def test_coin_flip_one_sided_bands_show_no_skill() -> None:
    """With heavy tails excess/deficit rewards them."""
    rng = np.random.default_rng(4)
    up = rng.integers(0, 2, 4000)
    y = rng.choice([-1, 1], 4000) * rng.lognormal(0, 1.3, 4000)
    iv = ucc.Intervals.from_bands(y, np.zeros(4000), 0.45 + 1.1 * up, 0.45 + 1.1 * (1 - up))
    row = assess(iv, coverage=0.9).rows[0]
    assert row.crps_skill.high < 0
    assert row.gains["bandwidth_deficit"].high < 0
    assert row.gains["excess_deficit"].value > 0.03
    assert any("asymmetric" in note for note in assess(iv).notes)


def test_models_that_differ_by_their_scale_alone_are_equal_and_keep_their_order() -> None:
    good = models()["good"]
    found = assess(
        {"wide": good.calibrated(scale=3), "good": good, "wider": good.calibrated(scale=7)},
        coverage=0.9,
    )
    assert [row.name for row in found.ranking] == ["wide", "good", "wider"]
    assert {pair.pvalue_holm for pair in found.comparisons} == {1.0}
    assert {pair.difference.value for pair in found.comparisons} == {0.0}
    assert not found.verdict.decided
    assert found.verdict.tied == ("good", "wider")


def test_a_model_that_no_factor_brings_to_the_target_is_passed_over() -> None:
    rng = np.random.default_rng(5)
    y = rng.normal(size=300)
    band = np.abs(y) + 0.01
    blind = band.copy()
    blind[:60] = 0
    given = {
        "blind": ucc.Intervals.from_bands(y, np.zeros(300), blind),
        "flat": ucc.Intervals.from_bands(y, np.zeros(300), np.ones(300)),
    }
    found = assess(given, coverage=0.9)
    assert np.isinf(found["blind"].scale.value)
    assert np.isinf(found["blind"].half_width.value)
    assert found.verdict.model == "flat"
    assert (
        "blind: 60 rows have an error on the side of a zero band, which no factor covers, so no factor reaches 90% "
        "coverage and areas are infinite; raise such bands with min_band"
    ) in found.notes
    assert not [reason for reason in found.verdict.reasons if "half the area of blind" in reason]
    saved = json.loads(found.to_json())["models"]["blind"]
    assert saved["half_width"]["value"] is None


def test_too_few_rows_for_a_conformal_rank_give_an_infinite_scale_and_a_note() -> None:
    found = assess(models(5)["good"], coverage=0.9)
    assert np.isinf(found.rows[0].scale.value)
    assert any("5 rows are too few to promise 90% coverage" in note for note in found.notes)


def test_verdict_and_notes_count_the_rows_that_the_target_is_a_rank_of() -> None:
    y = np.arange(1.0, 21.0)
    unweighted = ucc.Intervals.from_bands(y, 0 * y, y + 1, weight=1.0 * (y <= 5))
    found = assess(unweighted, coverage=0.9)
    assert "With 5 rows no factor is sure to reach it; at least 9 are needed." in found.verdict.text
    assert any(
        note.startswith("5 rows are too few to promise 90% coverage") for note in found.notes
    )
    two = np.arange(1.0, 13.0).reshape(6, 2)
    blind = "Too many errors of model lie on the side of a zero band"
    assert (
        blind
        in assess(
            ucc.Intervals.from_bands(two, 0 * two, two * (two > 3)), coverage=0.9
        ).verdict.text
    )
    uneven = ucc.Intervals.from_bands(y[:5], 0 * y[:5], [0.0, 1, 1, 1, 1], weight=y[:5])
    assert "too few" not in str(assess(uneven, coverage=0.95).notes)
    assert "Too many errors" in assess(uneven, coverage=0.95).verdict.text


def test_models_of_a_shift_have_a_shift_and_no_scale() -> None:
    iv = models()["good"]
    curve = ucc.UCC(iv, vary="shift")
    found = assess({"shift": curve, "scale": iv}, coverage=0.8)
    row, target = found["shift"], curve.find(coverage=0.8, conformal=True)
    assert np.isnan(row.scale.value)
    assert_allclose([row.shift.value, row.half_width.value], [target.shift, target.bandwidth])
    assert row.shift.low < row.shift.value < row.shift.high
    assert np.isnan(found["scale"].shift.value)
    assert_allclose(row.score.value, curve.decompose(coverage=0.8).shipped)


def test_a_model_of_several_levels_is_one_row_judged_by_its_interval_of_that_level() -> None:
    rng = np.random.default_rng(6)
    sigma = rng.lognormal(0, 0.5, 500)
    y = sigma * rng.normal(size=500)
    levels = {
        q: ucc.Intervals.from_bands(y, np.zeros(500), scipy.stats.norm.ppf((1 + q) / 2) * sigma)
        for q in (0.5, 0.8, 0.95)
    }
    flat = levels[0.8].constant()
    found = assess({"levels": levels, "flat": flat}, coverage=0.9)
    assert len(found.rows) == 2
    own = ucc.UCC.from_levels(levels).intervals_at(level=0.9)
    alone = assess(own, coverage=0.9).rows[0]
    for field in ("coverage", "scale", "half_width", "score", "skill"):
        estimate, expected = getattr(found["levels"], field), getattr(alone, field)
        assert_allclose(
            (estimate.value, estimate.low, estimate.high),
            (expected.value, expected.low, expected.high),
            rtol=1e-12,
        )
    assert found["levels"].level == 0.9
    assert_allclose(found["levels"].crps.value, ucc.UCC.from_levels(levels).potential_crps())
    assert (
        assess(levels, coverage=0.8).rows[0].coverage
        == assess(levels[0.8], coverage=0.8).rows[0].coverage
    )
    assert found.verdict.model == "levels"


# ---- segments


def test_a_segment_that_breaks_the_promise_fails_and_others_do_not() -> None:
    rng = np.random.default_rng(3)
    group = np.repeat(["calm", "wild"], 300)
    y = rng.normal(size=600) * np.where(group == "wild", 3, 1)
    iv = ucc.Intervals.from_bands(y, np.zeros(600), np.full(600, 1.645))
    found = assess({"flat": iv}, by=group, coverage=0.9)
    assert [(one.label, one.fails) for one in found.segments] == [("calm", False), ("wild", True)]
    assert [one.label for one in found.failing] == ["wild"]
    for one in found.segments:
        part = iv[group == one.label]
        alone = assess(part, coverage=0.9).rows[0]
        assert one.coverage == alone.coverage
        assert one.n == alone.n
        assert_allclose(one.move.estimate.value, alone.scale.value)
        assert one.target == 0.9
    tails = [
        binomial_tail(int(np.sum(np.abs(y[group == label]) > 1.645)), 300, 0.1)
        for label in ("calm", "wild")
    ]
    assert_allclose([one.pvalue for one in found.segments], holm(tails))
    assert "wild" in found.verdict.text


@pytest.mark.parametrize("vary", ["scale", "shift"])
def test_a_model_that_is_too_narrow_hides_no_segment_that_fails_for_its_own_reason(
    vary: Any,
) -> None:
    rng = np.random.default_rng(4)
    group = rng.choice(["a", "b", "c", "wild"], 2000)
    y = rng.normal(size=2000) * np.where(group == "wild", 2, 1)
    found = assess(
        ucc.UCC(ucc.Intervals.from_bands(y, 0 * y, 0 * y + 0.8), vary=vary), by=group, coverage=0.9
    )
    bands = {"scale": "× 2.57", "shift": "widened by 1.26"}[vary]
    assert found.rows[0].promise == "too narrow"
    assert all(one.fails for one in found.segments)
    assert [one.label for one in found.segments if one.short] == ["wild"]
    assert f"Bands {bands} fix 3 of the 4 failing segments of model." in repr(found)
    assert "Worst segment: wild covers 7" in found.verdict.text
    for one in found.segments:
        covered = np.abs(y[group == one.label]) <= found.rows[0].half_width.value * (1 + 1e-12)
        assert_allclose(one.shipped_coverage.value, covered.mean())
        bound = clopper_pearson(int(covered.sum()), one.n, 1 - 2 * 0.05 / 4)[1]
        assert_allclose(one.at_most, bound)  # holds for all four segments at once


def test_a_factor_that_narrows_bands_shows_the_segment_that_it_leaves_short() -> None:
    rng = np.random.default_rng(4)
    group = rng.choice(["a", "b", "c", "wild"], 2000)
    y = rng.normal(size=2000) * np.where(group == "wild", 2, 1)
    found = assess(ucc.Intervals.from_bands(y, 0 * y, 0 * y + 5), by=group, coverage=0.9)
    assert [one.label for one in found.segments if one.fails] == []
    assert [one.label for one in found.segments if one.short] == ["wild"]
    assert "Worst segment: wild covers 7" in found.verdict.text


def test_segments_that_are_alike_are_not_left_short_by_the_factor_for_all_of_them() -> None:
    """400 samples of 8 segments with bands half as wide as promised; 5% of them may show a segment by chance."""
    rng = np.random.default_rng(12)
    group, alarms = np.arange(400) % 8, 0
    for _ in range(400):
        iv = ucc.Intervals.from_bands(rng.normal(size=400), np.zeros(400), np.full(400, 0.8))
        found = assess(iv, by=group.astype(str), coverage=0.9)
        assert sum(one.fails for one in found.segments) == 8
        alarms += any(one.short for one in found.segments)
    assert alarms / 400 < 0.06


@pytest.mark.parametrize("vary", ["scale", "shift"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_segment_has_the_coverage_and_the_factor_of_its_rows_alone(
    vary: Any, *, weighted: bool
) -> None:
    rng = np.random.default_rng(6)
    y, label = np.round(rng.normal(size=90), 1), rng.integers(0, 3, 90).astype(str)
    bands = np.round(rng.lognormal(size=(2, 90)), 1)
    bands[:, :4] = 0.0  # some rows that no factor covers
    weight = rng.uniform(0.2, 2, 90) if weighted else None
    iv = ucc.Intervals.from_bands(y, np.zeros(90), *bands, weight=weight)
    found = assess(ucc.UCC(iv, vary=vary), by=label, coverage=0.7)
    shipped = found.verdict.scale if vary == "scale" else found.verdict.shift
    for one in found.segments:
        part = ucc.UCC(iv[label == one.label], vary=vary)
        alone = assess(part, coverage=0.7).rows[0]
        assert_allclose(one.coverage.value, alone.coverage.value, rtol=1e-12)
        assert_allclose(one.move.estimate.value, alone.move.estimate.value, rtol=1e-12)
        assert one.n == alone.n
        # as shipped: with the factor (or shift) that the verdict names
        point = part.at(shipped)
        assert_allclose(one.half_width, point.bandwidth, rtol=1e-12)
        assert_allclose(one.shipped_coverage.value, 1 - point.miss_rate, rtol=1e-12)
        assert_allclose(one.score, part.interval_score(coverage=0.7, at=shipped), rtol=1e-12)


def test_without_a_promise_a_segment_is_held_against_the_other_rows() -> None:
    rng = np.random.default_rng(3)
    group = np.repeat(["calm", "wild"], [500, 100])
    y = rng.normal(size=600) * np.where(group == "wild", 2, 1)
    iv = ucc.Intervals.from_bands(y, np.zeros(600), np.full(600, 1.2))
    found = assess(iv, by=group)
    missed = np.abs(y) > 1.2
    exact = scipy.stats.hypergeom.sf(missed[group == "wild"].sum() - 1, 600, missed.sum(), 100)
    wild = found.segments[1]
    assert_allclose(wild.pvalue, 2 * exact, rtol=1e-9)  # the smaller of two
    assert wild.target is None
    assert wild.fails


def test_false_alarms_over_all_segments_stay_below_the_level() -> None:
    """2000 samples of 8 segments of 50 rows that miss 10% as promised; the standard error of 5% is 0.5%."""
    rng = np.random.default_rng(5)
    chances = np.array([binomial_tail(count, 50, 0.1) for count in range(51)])
    alarms = sum(
        min(holm(list(chances[counts]))) <= 0.05 for counts in rng.binomial(50, 0.1, (2000, 8))
    )
    assert 0.01 < alarms / 2000 < 0.06


def test_segments_of_dependent_rows_are_judged_by_blocks() -> None:
    rng = np.random.default_rng(8)
    day = np.repeat(np.arange(40), 25)
    y = np.repeat(rng.normal(size=40), 25) + 0.1 * rng.normal(size=1000)
    iv = ucc.Intervals.from_bands(y, np.zeros(1000), np.full(1000, 1.3))
    group = np.where(day < 20, "a", "b")
    alone, blocks = (
        assess(iv, by=group, coverage=0.9),
        assess(iv, by=group, coverage=0.9, block=day),
    )
    for one, two in zip(alone.segments, blocks.segments, strict=True):
        width, wider = (item.coverage.high - item.coverage.low for item in (one, two))
        assert wider > 2 * width
        assert two.pvalue > one.pvalue or one.pvalue > 0.5


# ---- folds, weights, blocks


def split(iv: ucc.Intervals, order: Any, folds: int) -> list[ucc.Intervals]:
    return [iv[part] for part in np.array_split(order, folds)]


def test_folds_pool_into_their_rows() -> None:
    given = models()
    order = np.random.default_rng(0).permutation(120)
    whole = assess(given)
    pooled = assess({name: split(iv, order, 5) for name, iv in given.items()})
    for one, two in zip(whole.rows, pooled.rows, strict=True):
        assert_allclose(two.areas["excess_deficit"].value, one.areas["excess_deficit"].value)
        assert_allclose([two.crps.value, two.crps_skill.low], [one.crps.value, one.crps_skill.low])
        assert one.n == two.n == 120
    assert_array_equal(pooled.curves["good"].intervals.y_true, given["good"].y_true[order])


@pytest.mark.parametrize("named", [True, False])
def test_runs_that_agree_tell_as_much_as_one_and_have_few_degrees_of_freedom(named: bool) -> None:
    """Three runs with the same outcome: their spread over rows is that of one run, over runs there is none."""
    given = models(60)
    once = assess(given)
    rows = [np.arange(60)] * 3 if named else None
    thrice = assess({name: [iv] * 3 for name, iv in given.items()}, rows=rows)
    for one, three in zip(once.rows, thrice.rows, strict=True):
        assert three.n == 180
        for field in ("crps", "crps_skill"):
            estimate, expected = getattr(three, field), getattr(one, field)
            assert_allclose((estimate.low, estimate.high), (expected.low, expected.high), rtol=1e-9)
        assert_allclose(three.coverage.low, one.coverage.low, rtol=0.01)
    assert_allclose(
        [pair.pvalue for pair in thrice.comparisons], [pair.pvalue for pair in once.comparisons]
    )
    assert thrice.settings.block == "3 runs over the same rows"


def test_repeated_cross_validation_is_given_as_one_item_per_repetition() -> None:
    given = models(60)
    orders = [np.random.default_rng(seed).permutation(60) for seed in range(3)]
    folds = {
        name: [fold for order in orders for fold in split(iv, order, 3)]
        for name, iv in given.items()
    }
    rows = [part for order in orders for part in np.array_split(order, 3)]
    with pytest.raises(ValueError, match=r"`rows` must all differ, or be the same in every run"):
        assess(folds, rows=rows)
    runs = {
        name: [ucc.Intervals.join(split(iv, order, 3)) for order in orders]
        for name, iv in given.items()
    }
    named, unnamed = (assess(runs, rows=given_rows) for given_rows in (orders, None))
    width = [row.crps.high / row.crps.low for row in (named["good"], unnamed["good"])]
    assert width[0] > 1.2 * width[1]
    assert named["good"].coverage.low < unnamed["good"].coverage.low


def test_unequal_weights_count_by_the_effective_number_of_rows() -> None:
    rng = np.random.default_rng(0)
    weight = rng.gamma(1, size=120)
    iv = models(weight=weight)["good"]
    found = assess(iv, coverage=0.8)
    row, share = found.rows[0], weight / weight.sum()
    covered = (iv.lower <= iv.y_true) & (iv.y_true <= iv.upper)
    p = float(share @ covered)
    variance = 120 / 119 * np.sum((share * (covered - p)) ** 2)
    number = min(120, p * (1 - p) / variance)
    assert_allclose(
        (row.coverage.low, row.coverage.high), clopper_pearson(p * number, number, 0.95)
    )
    order = np.argsort(critical := ucc.UCC(iv).path().critical)
    reached = np.searchsorted(np.cumsum(share[order]), 0.8)
    assert row.scale.value == critical[order[reached]]
    assert any("unequal weights" in note for note in found.notes)


def test_one_block_says_nothing_about_chance() -> None:
    found = assess(models(), coverage=0.8, block=np.zeros(120))
    row = found.rows[0]
    assert not any(item.has_interval for item in (row.coverage, row.skill, row.score, row.crps))
    assert np.isnan(found.comparisons[0].pvalue)
    assert any("all rows form one block" in note for note in found.notes)
    assert not found.verdict.decided
    assert found.not_tested == ("the coverage of any model", "3 of 3 pairs")
    assert "Not tested: " in found.verdict.text


# ---- what comes out


def test_what_a_reader_must_know_is_noted() -> None:
    y = np.linspace(0.1, 3, 200)
    bands = np.where(np.arange(200) < 2, 1e-6, 1.0)
    few = ucc.Intervals.from_bands(y, np.zeros(200), bands)
    blind = ucc.Intervals.from_bands(y, np.zeros(200), np.where(np.arange(200) < 3, 0.0, 1.0))
    raised = ucc.Intervals.from_bands(y, np.zeros(200), bands, min_band=0.5)
    found = assess({"few": few, "blind": blind, "raised": raised})
    assert "1 of 200 rows carries half the area of few (miss rate vs. bandwidth)" in found.notes
    assert any(
        note.startswith("blind: 3 rows have an error on the side of a zero band")
        for note in found.notes
    )
    assert "raised: 4 bands were raised by min_band" in found.notes
    assert np.isinf(found["blind"].areas["bandwidth_miss_rate"].value)
    assert not found["blind"].gains["bandwidth_deficit"].has_interval
    assert np.isfinite([found["blind"].score.value, found["blind"].crps.value]).all()


def test_json_holds_everything_and_no_infinity() -> None:
    blind = ucc.Intervals.from_bands([1.0, 2.0, 3.0], [0.0] * 3, [0.0, 1.0, 1.0])
    found = assess({"blind": blind, "flat": blind.constant()}, by=["u", "v", "v"])
    text = json.loads(found.to_json())
    keys = {
        "schema",
        "verdict",
        "models",
        "comparisons",
        "wis_comparisons",
        "crossings",
        "segments",
        "winners",
        "across",
        "pockets",
        "notes",
        "not_tested",
        "missing",
        "settings",
        "engine",
        "brackets",
    }
    assert set(text) == keys
    assert text["schema"] == 2
    assert text["models"]["blind"]["areas"]["bandwidth_miss_rate"]["value"] is None
    assert text["models"]["flat"]["n"] == 3
    assert text["verdict"]["text"] == found.verdict.text
    assert text == found.to_dict()


@pytest.mark.parametrize("backend", [None, "pandas", "polars", "pyarrow"])
def test_frames_have_one_row_per_model_in_rank_order(backend: str | None) -> None:
    if backend:
        pytest.importorskip(backend)
    found = assess(models(), by=np.arange(120) % 2)
    frame = found.to_frame(backend=backend)
    columns = getattr(frame, "column_names", None) or list(frame.columns)
    assert {"name", "rank", "score", "score_low", "score_high", "crps", "promise"} <= set(columns)
    assert len(frame) == 3
    names = frame["name"]
    listed = names.to_pylist() if hasattr(names, "to_pylist") else list(names)
    assert listed == [row.name for row in found.ranking]
    if backend:
        assert type(frame).__module__.partition(".")[0] == backend


def test_an_assessment_is_frozen_and_survives_a_pickle() -> None:
    found = assess(models(), coverage=0.9, by=np.arange(120) % 2)
    again = pickle.loads(pickle.dumps(found))  # noqa: S301  # our own bytes
    assert again.to_json() == found.to_json()
    assert_array_equal(again.curves["good"].points().x, found.curves["good"].points().x)
    with pytest.raises(AttributeError):
        found.rows = ()  # type: ignore[misc]


def test_one_set_of_intervals_is_enough() -> None:
    found = assess(models()["good"])
    assert len(found) == 1
    assert found.rows[0].name == "model"
    assert [*found.comparisons, *found.crossings, *found.segments] == []
    assert found.verdict.headline.startswith("model has a potential CRPS of ")
    shipped = assess(models()["good"], coverage=0.8).verdict.headline
    assert shipped.startswith("Ship model ")


def test_crossings_of_all_pairs_come_with_their_names() -> None:
    found = assess(models(), axes=("excess", "deficit"))
    assert [one.names for one in found.crossings] == [
        ("good", "worse"),
        ("good", "noise"),
        ("worse", "noise"),
    ]
    assert assess(models(shared=False)).crossings == ()


def test_work_is_shared_between_the_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each model is sorted once, and its constant reference once."""
    sorts: list[int] = []
    original = ordered

    def counted(values: Any, *, first: float) -> Any:
        sorts.append(len(values))
        return original(values, first=first)

    monkeypatch.setattr("uccurve._ramps.ordered", counted)
    given = models(shared=False)
    assess(
        {
            name: ucc.Intervals.from_bands(iv.y_true, iv.y_pred, iv.lower_band)
            for name, iv in given.items()
        }
    )
    assert len(sorts) == 2 * len(given)


MODULES = 29  # that the assessment of two models runs through


def test_two_models_are_assessed_in_few_modules() -> None:
    """A reader who follows one call from `assess` to the verdict opens so many files."""
    two = models()
    del two["noise"]
    assess(two, coverage=0.9)  # imports run once
    files: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            files.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        assess(two, coverage=0.9)
    finally:
        sys.setprofile(before)
    package = str(Path(ucc.__file__).parent)
    modules = {file for file in files if file.startswith(package)}
    assert len(modules) <= MODULES, sorted(modules)


def test_progress_runs_from_start_to_end() -> None:
    seen: list[tuple[int, int]] = []
    assess(models(), progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1]
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


# ---- bad input


@pytest.mark.parametrize(
    ("bad", "error", "sentence"),
    [
        ({}, ValueError, r"`models` must hold at least one model; it is empty\."),
        (
            [1],
            TypeError,
            r"`models` must be Intervals, a curve, or a mapping from names to these; got list\. Hint: ",
        ),
        ({"a": 3}, TypeError, r"`models\['a'\]` must be Intervals or a UCC, .*; got int\."),
        (
            {"a": []},
            ValueError,
            r"a list of folds must hold at least one Intervals; that of 'a' is empty\.",
        ),
        (
            {b"a": None},
            TypeError,
            r"`models` must have names \(str\) that can be read; got b'a' \(bytes\)\.",
        ),
        (
            {float("nan"): None},
            TypeError,
            r"`models` must have names \(str\) that can be read; got nan \(float\)\.",
        ),
        (
            {" ": None},
            TypeError,
            r"`models` must have names \(str\) that can be read; got ' ' \(str\)\.",
        ),
        (
            {1: None, "1": None},
            ValueError,
            r"`models` must have different names: two of them read the same\.",
        ),
    ],
)
def test_bad_models_are_refused_in_a_sentence(
    bad: Any, error: type[Exception], sentence: str
) -> None:
    if isinstance(bad, dict):
        bad = {name: models()["good"] if given is None else given for name, given in bad.items()}
        if any(isinstance(name, float) for name in bad):
            bad["good"] = models()["good"]
    with pytest.raises(error, match=sentence):
        assess(bad)


def test_models_of_other_rows_are_refused_in_a_sentence() -> None:
    good = models()["good"]
    with pytest.raises(
        ValueError, match=r"`models` 'a' and 'b' must have the same rows: 120 against 119"
    ):
        assess({"a": good, "b": good[:119]})
    moved = ucc.Intervals.from_bands(
        np.where(np.arange(120) == 7, 9.0, good.y_true), good.y_pred, good.lower_band
    )
    with pytest.raises(
        ValueError, match=r"same y_true: 1 of 120 rows differs?, first row 7.* Hint: put"
    ):
        assess({"a": good, "b": moved})
    heavy = ucc.Intervals.from_bands(
        good.y_true, good.y_pred, good.lower_band, weight=np.arange(120)
    )
    with pytest.raises(ValueError, match=r"`models` 'a' and 'b' must have the same weights"):
        assess({"a": good, "b": heavy})


def test_a_sketch_is_refused_with_the_reason() -> None:
    sketch = ucc.UCCSketch().update(models()["good"]).ucc()
    with pytest.raises(
        TypeError, match=r"`models\['a'\]` must be .* \(a sketch keeps none\); got SketchUCC"
    ):
        assess({"a": sketch})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"coverage": 0},
            r"`coverage` must lie between 0 and 1, both excluded; got 0\. Hint: 90% is 0\.9\.",
        ),
        ({"coverage": 1}, r"`coverage` must lie between 0 and 1, both excluded; got 1\."),
        (
            {"coverage": 90},
            r"`coverage` must lie between 0 and 1, both excluded; got 90\. Hint: 90% is 0\.9\.",
        ),
        (
            {"coverage": "90"},
            r"`coverage` must be a number between 0 and 1; got '90'\. Hint: 90% is 0\.9\.",
        ),
        ({"by": ["x"]}, r"`by` must hold one label per row: 1 label for 120 rows"),
        ({"block": 121}, r"`block` must not be longer than the data: 121 .* 120 rows"),
        ({"block": [1, 2]}, r"`block` must hold one label per row: 2 labels .* 120 rows"),
        ({"incumbent": "goood"}, r"`incumbent` must be one of the models .* Did you mean 'good'\?"),
        ({"reference": "flat"}, r"`reference` must be one of the models \(good, worse, noise\)"),
        (
            {"coverage": 0.9, "tolerance": 0.1},
            r"`tolerance` must be below the miss rate, 0\.1; got 0\.1\. Hint: ",
        ),
        ({"tolerance": -0.01}, r"`tolerance` must be a finite number of at least 0; got -0\.01\."),
        ({"missing": "ignore"}, r"`missing` must be one of raise, drop, pairwise; got 'ignore'\."),
        ({"c": 2}, r"`c` must be a finite number from 0 to 1; got 2\."),
        ({"partial": (0.5, 0)}, r"`partial` must be a range \(low, high\) with 0 <= low <= high"),
        ({"bins": 0}, r"`bins` must be an integer of at least 1; got 0\."),
        ({"axes": ("bandwidth", "mis_rate")}, r"got 'mis_rate'\. Did you mean 'miss_rate'\?"),
        (
            {"confidence_level": 95},
            r"`confidence_level` must lie between 0 and 1, both excluded; got 95\.",
        ),
        ({"n_resamples": 0}, r"`n_resamples` must be an integer of at least 1; got 0\."),
    ],
)
def test_bad_options_are_refused_in_a_sentence(options: dict[str, Any], sentence: str) -> None:
    options = {"by": np.arange(120)} | options if "bins" in options else options
    with pytest.raises((ValueError, TypeError), match=sentence):
        assess(models(), **options)


def test_each_model_is_sorted_once_and_their_constant_reference_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built: list[int] = []
    original = Ramps.__init__

    def counting(self: Ramps, path: CurvePath) -> None:
        built.append(len(path))
        original(self, path)

    monkeypatch.setattr(Ramps, "__init__", counting)
    found = assess(models(), coverage=0.9, c=0.1)
    assert len(found.crossings) == 3
    assert built == [120] * 4


def test_a_promise_is_unclear_where_nothing_is_known_about_chance() -> None:
    found = assess(models(), coverage=0.9, block=len(next(iter(models().values()))))
    assert {row.promise for row in found.rows} == {"unclear"}
    assert not any(row.scale.has_interval for row in found.rows)
    assert "kept" not in found.verdict.text


def test_a_note_on_all_models_is_made_once() -> None:
    weight = np.linspace(1, 2, 40)
    y = np.linspace(-1, 2, 40)
    given = {
        name: ucc.Intervals.from_bands(y, np.zeros(40), np.full(40, band), weight=weight)
        for name, band in (("A", 1.0), ("B", 2.0))
    }
    assert sum("unequal weights" in note for note in assess(given).notes) == 1
    few = {name: one[:5] for name, one in given.items()}
    assert (
        sum("rows are too few to promise 90% coverage" in note for note in assess(few).notes) <= 1
    )
