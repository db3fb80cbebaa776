"""assess: its numbers are those of its parts, the right model wins, and what it is given is checked."""

from __future__ import annotations

import json
import pickle
from dataclasses import fields
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

import uccurve as ucc
from uccurve import _order, assess
from uccurve._distributions import binomial_tail, clopper_pearson
from uccurve._paths import Path
from uccurve._ramps import Ramps
from uccurve.evidence.inference import holm
from uccurve.results import ModelRow

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
            assert_allclose(getattr(row, metric), getattr(point, metric))
        for axes in AXES:
            key = "_".join(axes)
            assert_allclose(getattr(row, f"area_{key}"), curve.area(axes=axes, unit=2.0))
            assert_allclose(getattr(row, f"gain_{key}"), curve.gain(axes=axes))
            for kind in ("area", "gain"):
                value, low, high = (
                    getattr(row, f"{kind}_{key}{end}") for end in ("", "_low", "_high")
                )
                assert low < value < high
        assert row.partial_gain == pytest.approx(curve.gain(miss_rate=(0.05, 0.4)))
        assert row.cost == pytest.approx(curve.cost(0.2, unit=2.0))
        cheapest = curve.cheapest(0.2, unit=2.0)
        assert (row.cheapest_cost, row.cheapest_scale) == pytest.approx(
            (cheapest.cost, cheapest.scale)
        )
        assert row.concentration == curve.concentration()


def test_each_row_holds_scale_half_width_scores_and_skill_of_the_curve() -> None:
    given = models()
    found = assess(given, coverage=0.8, unit="std")
    for name, iv in given.items():
        row, curve = found[name], ucc.UCC(iv)
        target = curve.find(coverage=0.8, conformal=True, unit="std")
        assert_allclose([row.scale, row.half_width], [target.scale, target.bandwidth])
        parts = curve.decompose(coverage=0.8, unit="std")
        assert_allclose(row.score, parts.best_score)
        for field in fields(parts):
            assert_allclose(
                getattr(row.decomposition, field.name), getattr(parts, field.name), atol=1e-12
            )
        assert_allclose([row.crps, row.skill], [curve.potential_crps(unit="std"), curve.skill()])
        covered = (iv.lower <= iv.y_true) & (iv.y_true <= iv.upper)
        assert_allclose(row.coverage, covered.mean())
        assert_allclose(
            (row.coverage_low, row.coverage_high), clopper_pearson(int(covered.sum()), 120, 0.95)
        )
        assert_allclose(
            [row.missed_above, row.missed_below],
            [np.mean(iv.y_true > iv.upper), np.mean(iv.y_true < iv.lower)],
        )
        for field_name in ("scale", "half_width", "score", "crps", "skill"):
            value, low, high = (getattr(row, f"{field_name}{end}") for end in ("", "_low", "_high"))
            assert low <= value <= high


def test_the_interval_of_the_scale_lies_between_two_order_statistics() -> None:
    iv = models(200)["good"]
    row = assess(iv, coverage=0.9).rows[0]
    critical = np.sort(np.abs(iv.y_true) / np.where(iv.y_true >= 0, iv.upper_band, iv.lower_band))
    low, high = (np.searchsorted(critical, end) + 1 for end in (row.scale_low, row.scale_high))
    held = scipy.stats.binom.cdf(high - 1, 200, 0.9) - scipy.stats.binom.cdf(low - 1, 200, 0.9)
    assert 0.95 <= held < 0.98
    assert row.scale == critical[ceil(201 * Fraction(9, 10)) - 1]


def test_score_intervals_are_t_intervals_of_each_row_s_own_score_on_the_log_scale() -> None:
    iv = models(200)["good"]
    row, curve = assess(iv, coverage=0.8).rows[0], ucc.UCC(iv)
    best = iv.calibrated(scale=curve.decompose(coverage=0.8).best_scale)
    outside = np.maximum(best.lower - iv.y_true, 0) + np.maximum(iv.y_true - best.upper, 0)
    scores = best.upper - best.lower + 2 / 0.2 * outside
    reach = scipy.stats.t.ppf(0.975, 199) * scores.std(ddof=1) / np.sqrt(200) / scores.mean()
    assert_allclose(
        (row.score_low, row.score_high), scores.mean() * np.exp([-reach, reach]), rtol=1e-9
    )


def test_pairs_are_paired_t_tests_of_what_ranks_adjusted_by_holm() -> None:
    given = models(300, shared=False)
    found = assess(given, coverage=0.8)
    scores = {}
    for name, iv in given.items():
        best = iv.calibrated(scale=ucc.UCC(iv).decompose(coverage=0.8).best_scale)
        outside = np.maximum(best.lower - iv.y_true, 0) + np.maximum(iv.y_true - best.upper, 0)
        scores[name] = best.upper - best.lower + 10 * outside
    pairs = [("good", "worse"), ("good", "noise"), ("worse", "noise")]
    assert [(one.first, one.second) for one in found.comparisons] == pairs
    tests = [scipy.stats.ttest_rel(scores[a], scores[b]) for a, b in pairs]
    assert_allclose(
        [one.pvalue for one in found.comparisons], [test.pvalue for test in tests], rtol=1e-6
    )
    ends = [test.confidence_interval() for test in tests]
    assert_allclose(
        [(one.low, one.high) for one in found.comparisons], [tuple(end) for end in ends], rtol=1e-6
    )
    assert_allclose(
        [one.pvalue_holm for one in found.comparisons],
        holm([test.pvalue for test in tests]),
        rtol=1e-6,
    )
    assert {one.statistic for one in found.comparisons} == {"score"}
    first = found.ranking[0].name
    assert np.isnan(found[first].pvalue)
    for row in found.ranking[1:]:
        (pair,) = [one for one in found.comparisons if {one.first, one.second} == {first, row.name}]
        assert row.pvalue == pair.pvalue_holm


def test_blocks_are_summed_before_anything_is_said_about_chance() -> None:
    given = models(60)
    repeated = {
        name: ucc.Intervals.from_bands(*(np.repeat(getattr(iv, column), 4) for column in COLUMNS))
        for name, iv in given.items()
    }
    once, blocks = assess(given, coverage=0.8), assess(repeated, coverage=0.8, block=4)
    labels = assess(repeated, coverage=0.8, block=np.repeat(np.arange(60), 4))
    for name in given:
        for field in ("score_low", "skill_high", "gain_bandwidth_deficit_low", "crps_high"):
            assert_allclose(getattr(blocks[name], field), getattr(once[name], field), rtol=1e-9)
            assert_allclose(getattr(labels[name], field), getattr(once[name], field), rtol=1e-9)
        assert_allclose(
            blocks[name].coverage_low, once[name].coverage_low, rtol=0.01
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
    assert_allclose((row.skill_low, row.skill_high), (skill.low, skill.high))
    part = ucc.bootstrap(iv, statistic="gain", miss_rate=(0, 0.5), **options)
    assert (row.partial_gain_low, row.partial_gain_high) == pytest.approx((part.low, part.high))
    plain = assess(iv, coverage=0.8, partial=(0, 0.5)).rows[0]
    assert np.isnan([plain.partial_gain_low, plain.partial_gain_high]).all()  # type: ignore[arg-type]


def test_nothing_is_random_unless_resamples_are_asked_for() -> None:
    given = models()
    assert (
        assess(given, coverage=0.9, seed=1).to_dict()["models"]
        == assess(given, coverage=0.9, seed=2).to_dict()["models"]
    )
    one, two = (
        assess(given["good"], n_resamples=99, seed=seed).rows[0].skill_low for seed in (1, 2)
    )
    assert one != two


# ---- who wins


def test_models_are_ranked_by_score_at_the_coverage_or_else_by_potential_crps() -> None:
    given = models(400, shared=False)
    for coverage, field in ((0.8, "score"), (None, "crps")):
        found = assess(given, coverage=coverage)
        values = [getattr(row, field) for row in found.ranking]
        assert values == sorted(values)
        assert [row.rank for row in found.ranking] == [1, 2, 3]
        assert found.settings.ranked_by == field
        assert found.verdict.model == found.ranking[0].name == "good"


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
    assert found["noisy"].gain_bandwidth_deficit > found["good"].gain_bandwidth_deficit
    assert found.verdict.decided
    assert found.verdict.text.startswith("Ship good with bands x ")


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
        assert found["root"].gain_bandwidth_miss_rate > found["oracle"].gain_bandwidth_miss_rate


def test_bands_times_a_tenth_are_too_narrow_and_the_verdict_says_by_how_much() -> None:
    rng = np.random.default_rng(3)
    iv = ucc.Intervals.from_bands(rng.normal(size=1000), np.zeros(1000), np.full(1000, 0.1645))
    found = assess(iv, coverage=0.9)
    row = found.rows[0]
    assert row.promise == "too narrow"
    assert 9 < row.scale < 11
    assert not found.verdict.decided
    assert f"x {row.scale:.2f}" in found.verdict.text
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
    assert row.skill_high < 0
    assert row.gain_bandwidth_deficit_high < 0
    assert row.gain_excess_deficit > 0.03
    assert any("asymmetric" in note for note in assess(iv).notes)


def test_models_that_differ_by_their_scale_alone_are_equal_and_keep_their_order() -> None:
    good = models()["good"]
    found = assess(
        {"wide": good.calibrated(scale=3), "good": good, "wider": good.calibrated(scale=7)},
        coverage=0.9,
    )
    assert [row.name for row in found.ranking] == ["wide", "good", "wider"]
    assert {one.pvalue_holm for one in found.comparisons} == {1.0}
    assert {one.difference for one in found.comparisons} == {0.0}
    assert not found.verdict.decided


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
    assert np.isinf(found["blind"].scale)
    assert np.isinf(found["blind"].half_width)
    assert found.verdict.model == "flat"
    (note,) = found.notes
    assert note == (
        "blind: 60 rows have an error on the side of a zero band, which no factor covers, so no factor reaches 90% "
        "coverage and areas are infinite; raise such bands with min_band"
    )
    assert not [reason for reason in found.verdict.reasons if "half the area of blind" in reason]
    assert json.loads(found.to_json())["models"]["blind"]["scale"] is None


def test_too_few_rows_for_a_conformal_rank_give_an_infinite_scale_and_a_note() -> None:
    found = assess(models(5)["good"], coverage=0.9)
    assert np.isinf(found.rows[0].scale)
    assert any("5 rows are too few to promise 90% coverage" in note for note in found.notes)


def test_verdict_and_notes_count_the_rows_that_the_target_is_a_rank_of() -> None:
    y = np.arange(1.0, 21.0)
    unweighted = ucc.Intervals.from_bands(y, 0 * y, y + 1, weight=1.0 * (y <= 5))
    found = assess(unweighted, coverage=0.9)
    assert (
        "no factor is sure to reach 90% coverage with 5 rows; at least 9 are needed"
        in found.verdict.text
    )
    assert any(
        note.startswith("5 rows are too few to promise 90% coverage") for note in found.notes
    )
    two = np.arange(1.0, 13.0).reshape(6, 2)
    blind = "no factor reaches 90% coverage, because too many errors lie on the side of a zero band"
    assert (
        blind
        in assess(
            ucc.Intervals.from_bands(two, 0 * two, two * (two > 3)), coverage=0.9
        ).verdict.text
    )
    uneven = ucc.Intervals.from_bands(y[:5], 0 * y[:5], [0.0, 1, 1, 1, 1], weight=y[:5])
    assert "too few" not in str(assess(uneven, coverage=0.95).notes)
    assert "because too many errors" in assess(uneven, coverage=0.95).verdict.text


def test_models_of_a_shift_have_a_shift_and_no_scale() -> None:
    iv = models()["good"]
    curve = ucc.UCC(iv, vary="shift")
    found = assess({"shift": curve, "scale": iv}, coverage=0.8)
    row, target = found["shift"], curve.find(coverage=0.8, conformal=True)
    assert np.isnan(row.scale)
    assert_allclose([row.shift, row.half_width], [target.shift, target.bandwidth])
    assert np.isnan(found["scale"].shift)
    assert_allclose(row.score, curve.decompose(coverage=0.8).best_score)


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
    for field in (
        "coverage",
        "coverage_low",
        "scale",
        "half_width",
        "half_width_low",
        "score",
        "score_high",
    ):
        assert_allclose(getattr(found["levels"], field), getattr(alone, field), rtol=1e-12)
    assert found["levels"].level == 0.9
    assert_allclose(found["levels"].crps, ucc.UCC.from_levels(levels).potential_crps())
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
        for field in (
            "coverage",
            "coverage_low",
            "coverage_high",
            "scale",
            "half_width",
            "score",
            "skill",
            "n",
        ):
            assert_allclose(getattr(one, field), getattr(alone, field), rtol=1e-9, atol=1e-12)
        missed = int(np.sum((part.y_true < part.lower) | (part.y_true > part.upper)))
        assert_allclose(one.pvalue, binomial_tail(missed, 300, 0.1))
        assert one.target == 0.9
    assert_allclose(
        [one.pvalue_holm for one in found.segments], holm([one.pvalue for one in found.segments])
    )
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
    bands = {"scale": "x 2.57", "shift": "widened by 1.26"}[vary]
    assert found.rows[0].promise == "too narrow"
    assert all(one.fails for one in found.segments)
    assert [one.label for one in found.segments if one.short] == ["wild"]
    assert f"Bands {bands} fix 3 of the 4 failing segments of model." in repr(found)
    assert "Worst segment: wild (covers 7" in found.verdict.text
    assert "1 of 4 segments stays short of 90% as shipped" in repr(found)
    for one in found.segments:
        covered = np.abs(y[group == one.label]) <= found.rows[0].half_width * (1 + 1e-12)
        assert_allclose(one.shipped_coverage, covered.mean())


def test_a_factor_that_narrows_bands_shows_the_segment_that_it_leaves_short() -> None:
    rng = np.random.default_rng(4)
    group = rng.choice(["a", "b", "c", "wild"], 2000)
    y = rng.normal(size=2000) * np.where(group == "wild", 2, 1)
    found = assess(ucc.Intervals.from_bands(y, 0 * y, 0 * y + 5), by=group, coverage=0.9)
    assert [one.label for one in found.segments if one.fails] == []
    assert [one.label for one in found.segments if one.short] == ["wild"]
    assert "Worst segment: wild (covers 7" in found.verdict.text


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
def test_a_segment_has_the_numbers_of_an_assessment_of_its_rows_alone(
    vary: Any, *, weighted: bool
) -> None:
    rng = np.random.default_rng(6)
    y, label = np.round(rng.normal(size=90), 1), rng.integers(0, 3, 90).astype(str)
    bands = np.round(rng.lognormal(size=(2, 90)), 1)
    bands[:, :4] = 0.0  # some rows that no factor covers
    weight = rng.uniform(0.2, 2, 90) if weighted else None
    iv = ucc.Intervals.from_bands(y, np.zeros(90), *bands, weight=weight)
    for one in assess(ucc.UCC(iv, vary=vary), by=label, coverage=0.7).segments:
        alone = assess(ucc.UCC(iv[label == one.label], vary=vary), coverage=0.7).rows[0]
        for field in ("coverage", "scale", "shift", "half_width", "score", "skill", "n"):
            assert_allclose(getattr(one, field), getattr(alone, field), rtol=1e-12, atol=1e-12)


def test_without_a_promise_a_segment_is_held_against_the_other_rows() -> None:
    rng = np.random.default_rng(3)
    group = np.repeat(["calm", "wild"], [500, 100])
    y = rng.normal(size=600) * np.where(group == "wild", 2, 1)
    iv = ucc.Intervals.from_bands(y, np.zeros(600), np.full(600, 1.2))
    found = assess(iv, by=group)
    missed = np.abs(y) > 1.2
    exact = scipy.stats.hypergeom.sf(missed[group == "wild"].sum() - 1, 600, missed.sum(), 100)
    wild = found.segments[1]
    assert_allclose(wild.pvalue, exact, rtol=1e-9)
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
        assert two.coverage_high - two.coverage_low > 2 * (one.coverage_high - one.coverage_low)
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
        assert_allclose(two.area_excess_deficit, one.area_excess_deficit)
        assert_allclose([two.crps, two.skill_low], [one.crps, one.skill_low])
        assert one.n == two.n == 120
    assert_array_equal(pooled.curves["good"].intervals.y_true, given["good"].y_true[order])


@pytest.mark.parametrize("named", [True, False])
def test_repetitions_of_a_row_are_one_block(named: bool) -> None:
    """Three runs with the same outcome tell as much as one."""
    given = models(60)
    once = assess(given, coverage=0.8)
    rows = [np.arange(60)] * 3 if named else None
    thrice = assess({name: [iv] * 3 for name, iv in given.items()}, rows=rows, coverage=0.8)
    for one, three in zip(once.rows, thrice.rows, strict=True):
        assert three.n == 180
        for field in ("score_low", "crps_high", "skill_low", "gain_bandwidth_miss_rate_high"):
            assert_allclose(getattr(three, field), getattr(one, field), rtol=1e-9)
        assert_allclose(three.coverage_low, one.coverage_low, rtol=0.01)
    assert_allclose(
        [one.pvalue for one in thrice.comparisons], [one.pvalue for one in once.comparisons]
    )


def test_repeated_cross_validation_in_any_order_needs_names() -> None:
    given = models(60)
    orders = [np.random.default_rng(seed).permutation(60) for seed in range(2)]
    folds = {
        name: [fold for order in orders for fold in split(iv, order, 3)]
        for name, iv in given.items()
    }
    rows = [part for order in orders for part in np.array_split(order, 3)]
    named, unnamed = (assess(folds, rows=given_rows) for given_rows in (rows, None))
    width = [row.skill_high - row.skill_low for row in (named["good"], unnamed["good"])]
    assert width[0] > 1.2 * width[1]
    assert named["good"].coverage_low < unnamed["good"].coverage_low


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
        (row.coverage_low, row.coverage_high), clopper_pearson(p * number, number, 0.95)
    )
    order = np.argsort(critical := ucc.UCC(iv).path().critical)
    reached = np.searchsorted(np.cumsum(share[order]), 0.8)
    assert row.scale == critical[order[reached]]
    assert any("unequal weights" in note for note in found.notes)


def test_one_block_says_nothing_about_chance() -> None:
    found = assess(models(), coverage=0.8, block=np.zeros(120))
    assert np.isnan(
        [found.rows[0].coverage_low, found.rows[0].skill_low, found.comparisons[0].pvalue]
    ).all()
    assert any("all rows form one block" in note for note in found.notes)
    assert not found.verdict.decided


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
    assert np.isinf(found["blind"].area_bandwidth_miss_rate)
    assert np.isnan(found["blind"].gain_bandwidth_deficit_low)
    assert np.isfinite([found["blind"].score, found["blind"].crps]).all()


def test_json_holds_everything_and_no_infinity() -> None:
    blind = ucc.Intervals.from_bands([1.0, 2.0, 3.0], [0.0] * 3, [0.0, 1.0, 1.0])
    found = assess({"blind": blind, "flat": blind.constant()}, by=["u", "v", "v"])
    text = json.loads(found.to_json())
    keys = {
        "schema",
        "verdict",
        "models",
        "comparisons",
        "crossings",
        "segments",
        "notes",
        "settings",
    }
    assert set(text) == keys
    assert text["schema"] == 1
    assert text["models"]["blind"]["area_bandwidth_miss_rate"] is None
    assert text["models"]["flat"]["n"] == 3
    assert text["verdict"]["text"] == found.verdict.text
    assert text == found.to_dict()


@pytest.mark.parametrize("backend", [None, "pandas", "polars", "pyarrow"])
def test_frames_have_one_row_per_model(backend: str | None) -> None:
    if backend:
        pytest.importorskip(backend)
    frame = assess(models(), by=np.arange(120) % 2).to_frame(backend=backend)
    columns = getattr(frame, "column_names", None) or list(frame.columns)
    assert {field.name for field in fields(ModelRow)} - set(columns) <= {
        "decomposition",
        "levels",
        "pit",
    }
    assert len(frame) == 3
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
    assert found.verdict.text.startswith("Ship model with bands x ")


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
    original = _order.ordered

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
        (
            {"rows": [np.arange(120)], "block": np.arange(120)},
            r"give `rows` .* or labels in `block`, not both\.",
        ),
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

    def counting(self: Ramps, path: Path) -> None:
        built.append(len(path))
        original(self, path)

    monkeypatch.setattr(Ramps, "__init__", counting)
    found = assess(models(), coverage=0.9, c=0.1)
    assert len(found.crossings) == 3
    assert built == [120] * 4


def test_a_promise_is_neither_kept_nor_broken_where_nothing_is_known_about_chance() -> None:
    found = assess(models(), coverage=0.9, block=len(next(iter(models().values()))))
    assert {row.promise for row in found.rows} == {None}
    assert all(np.isnan([row.scale_low, row.scale_high]).all() for row in found.rows)
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
