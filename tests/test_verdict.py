"""The verdict says what to ship, how sure that is and why, in words that hold for every situation."""

from dataclasses import replace
from math import inf, isnan, nan
from typing import Any

import numpy as np
import pytest

import uccurve as ucc
from model_rows import OPEN, SETTINGS, decomposition, mean8, pair, row, segment
from uccurve.results import ModelRow, Verdict
from uccurve.words.verdict import verdict

SHIP = "Ship OLS with bands x 0.97 for 90% coverage: half-width 686 [659, 714]."
OUT_OF_REACH: dict[str, Any] = {
    "scale": inf,
    "scale_low": inf,
    "scale_high": inf,
    "half_width": inf,
    "promise": "too narrow",
}


def clear(*names: str) -> Verdict:
    """OLS against models of these names, all of them shown to be worse."""
    others = [
        mean8() if name == "Mean8" else row(name, place) for place, name in enumerate(names, 2)
    ]
    return verdict([row(), *others], SETTINGS, comparisons=[pair("OLS", name) for name in names])


def models(count: int, *promises: str) -> list[ModelRow]:
    """OLS, Mean8, and others with these promises by turns."""
    others = [
        row(f"M{place}", place, promise=promises[place % len(promises)])
        for place in range(3, count + 1)
    ]
    return [row(), mean8(), *others]


def test_the_text_is_the_one_that_the_design_promises() -> None:
    found = verdict(
        [mean8(), row()], SETTINGS, comparisons=[pair("OLS", "Mean8")], segments=[segment("14")]
    )
    assert found.text == (
        f"{SHIP} Next: Mean8 x 1.36, 727, p = 0.03. As delivered OLS covers 90.4% (kept), Mean8 83.9% (too narrow). "
        "Its bands keep the promise without a factor too. "
        "Worst segment: hour 14 (covers 70.0% as shipped, would need x 1.62)."
    )
    assert str(found) == found.text


def test_the_fields_are_those_of_the_best_model_and_the_runner_up() -> None:
    found = clear("Mean8")
    assert (found.model, found.scale, found.coverage, found.half_width) == (
        "OLS",
        0.966,
        0.9,
        686.2,
    )
    assert (found.score, found.runner_up, found.pvalue, found.decided) == (
        1710.0,
        "Mean8",
        0.03,
        True,
    )
    assert isnan(found.shift)
    assert found.level is None


@pytest.mark.parametrize(("pvalue", "decided"), [(0.05, True), (0.0501, False), (nan, False)])
def test_it_is_decided_where_the_adjusted_p_is_at_most_one_minus_the_confidence_level(
    pvalue: float, decided: bool
) -> None:
    assert (
        verdict([row(), mean8()], SETTINGS, comparisons=[pair("Mean8", "OLS", pvalue)]).decided
        is decided
    )


def test_the_confidence_level_moves_the_decision() -> None:
    settings = replace(SETTINGS, confidence_level=0.99)
    assert not verdict([row(), mean8()], settings, comparisons=[pair("OLS", "Mean8", 0.03)]).decided


def test_a_tiny_p_is_written_as_a_bound() -> None:
    found = verdict([row(), mean8()], SETTINGS, comparisons=[pair("OLS", "Mean8", 1e-9)])
    assert "Next: Mean8 x 1.36, 727, p < 0.001." in found.text


def test_where_nothing_is_shown_to_be_better_it_says_so() -> None:
    found = verdict([row(), mean8()], SETTINGS, comparisons=[pair("OLS", "Mean8", 0.41)])
    assert found.text.startswith(
        f"{SHIP} Next: Mean8 x 1.36, 727. The data do not show that OLS is better than Mean8 (p = 0.41)."
    )


def test_several_that_are_not_shown_to_be_worse_are_listed_then_counted() -> None:
    pairs = [pair("OLS", one.name, 0.2 + one.rank / 10) for one in models(7, "kept")[1:]]
    three = verdict(models(3, "kept"), SETTINGS, comparisons=pairs).text
    seven = verdict(models(7, "kept"), SETTINGS, comparisons=pairs).text
    assert "better than Mean8 (p = 0.4) or M3 (p = 0.5)." in three
    four = verdict(models(4, "kept"), SETTINGS, comparisons=pairs).text
    assert "better than Mean8 (p = 0.4), M3 (p = 0.5) or M4 (p = 0.6)." in four
    assert "better than Mean8 (p = 0.4) or 5 others." in seven


def test_a_lower_model_that_is_not_shown_to_be_worse_is_named_though_the_next_is() -> None:
    pairs = [pair("OLS", "Mean8", 0.01), pair("M3", "OLS", 0.3), pair("Mean8", "M3", 0.9)]
    found = verdict(models(3, "kept"), SETTINGS, comparisons=pairs)
    assert (
        "Next: Mean8 x 1.36, 727, p = 0.01. The data do not show that OLS is better than M3 (p = 0.3)."
        in found.text
    )
    assert found.decided


def test_a_pair_that_could_not_be_tested_is_no_proof() -> None:
    found = verdict([row(), mean8()], SETTINGS, comparisons=[pair("OLS", "Mean8", nan)])
    assert "Next: Mean8 x 1.36, 727. Whether OLS is better could not be tested." in found.text


def test_coverage_as_delivered_is_told_of_three_models_and_counted_of_more() -> None:
    assert "covers 90.4% (kept), Mean8 83.9% (too narrow), M3 95.7% (too wide)." in clear_of(
        models(3, "too wide")
    )
    assert "Mean8 83.9% (too narrow); 3 of the 10 others break the promise." in clear_of(
        models(12, "kept", "kept", "too wide")
    )


@pytest.mark.parametrize(
    ("count", "promises", "told"),
    [
        (4, ("kept",), "; none of the 2 others breaks the promise."),
        (4, ("kept", "too wide"), "; 1 of the 2 others breaks the promise."),
        (4, ("too narrow",), "; 2 of the 2 others break the promise."),
        (5, ("kept",), "; none of the 3 others breaks the promise."),
        (5, ("too narrow",), "; 3 of the 3 others break the promise."),
        (6, ("kept", "too narrow"), "; 2 of the 4 others break the promise."),
    ],
)
def test_broken_promises_of_the_rest_are_counted_in_english(
    count: int, promises: tuple[str, ...], told: str
) -> None:
    assert told in clear_of(models(count, *promises))


def clear_of(rows: list[ModelRow]) -> str:
    return verdict(rows, SETTINGS, comparisons=[pair("OLS", one.name) for one in rows[1:]]).text


def test_without_a_coverage_promises_are_not_mentioned_and_90_percent_is_an_example() -> None:
    rows = [
        row(promise=None),
        mean8(promise=None),
        row("M3", 3, promise=None),
        row("M4", 4, promise=None),
    ]
    found = verdict(rows, OPEN, comparisons=[pair("OLS", one.name) for one in rows[1:]])
    assert "promise" not in found.text
    assert "As delivered OLS covers 87.1%, Mean8 87.1%." in found.text
    assert found.text.endswith(
        "No coverage was asked for: models are ranked by potential CRPS, and 90% is an example."
    )
    assert found.coverage == 0.9


def test_criteria_that_disagree_are_named_in_one_sentence() -> None:
    two = verdict(
        [row(), mean8(half_width=640.0, skill=0.142)], SETTINGS, comparisons=[pair("OLS", "Mean8")]
    )
    assert (
        "Criteria disagree: Mean8 is narrower at 90% (640) and has the higher skill (14.2%)."
        in two.text
    )
    three = verdict([row(), mean8(half_width=640.0), row("M3", 3, skill=0.142)], SETTINGS)
    assert (
        "Criteria disagree: Mean8 is narrowest at 90% (640), M3 has the highest skill (14.2%)."
        in three.text
    )
    by_crps = verdict([row(promise=None), mean8(promise=None, score=1700.0)], OPEN)
    assert "Criteria disagree: Mean8 has the lower score at 90% (1,700)." in by_crps.text


def test_criteria_agree_where_the_numbers_that_are_shown_are_the_same() -> None:
    near = verdict([row(), mean8(half_width=686.1, skill=0.12301)], SETTINGS)
    assert "disagree" not in near.text
    assert "disagree" not in verdict([row(), mean8(skill=nan)], SETTINGS).text


def test_a_model_that_no_factor_brings_to_the_target_is_not_shipped_where_another_is() -> None:
    rows = [row("Q", 1, **OUT_OF_REACH), row(rank=2), mean8(), row("Z", 4, **OUT_OF_REACH)]
    rows[2] = replace(rows[2], rank=3)
    found = verdict(
        rows, SETTINGS, comparisons=[pair("Q", "OLS", 0.001), pair("OLS", "Mean8", 0.02)]
    )
    assert (found.model, found.runner_up, found.pvalue) == ("OLS", "Mean8", 0.02)
    assert "No factor brings Q or Z to 90% coverage, although Q has the best score." in found.text


def test_many_models_that_no_factor_brings_to_the_target_are_counted() -> None:
    lost = [row(f"Q{place}", place, **OUT_OF_REACH) for place in range(2, 6)]
    assert (
        "No factor brings 4 other models to 90% coverage." in verdict([row(), *lost], SETTINGS).text
    )
    assert (
        "No factor brings Q2, Q3 or Q4 to 90% coverage."
        in verdict([row(), *lost[:3]], SETTINGS).text
    )


def test_a_runner_up_that_no_factor_brings_to_the_target_is_no_choice() -> None:
    worse = verdict(
        [row(), mean8(**OUT_OF_REACH)], SETTINGS, comparisons=[pair("OLS", "Mean8", 0.6)]
    )
    assert f"{SHIP} No factor brings Mean8 to 90% coverage. As delivered" in worse.text
    better = verdict(
        [row(rank=2), row("Q", 1, **OUT_OF_REACH)], SETTINGS, comparisons=[pair("Q", "OLS", 0.001)]
    )
    assert (
        f"{SHIP} No factor brings Q to 90% coverage, although it has the best score. As delivered"
        in better.text
    )
    assert not better.decided


def test_where_no_model_reaches_the_target_it_says_so_and_offers_no_choice() -> None:
    rows = [row(n=5, **OUT_OF_REACH), mean8(n=5, **OUT_OF_REACH)]
    found = verdict(rows, SETTINGS, comparisons=[pair("OLS", "Mean8", 0.6)])
    assert found.text.startswith(
        "Ship OLS with bands x 1.00 only without the promise: no factor is sure to reach 90% coverage with 5 rows; "
        "at least 9 are needed. Next: Mean8. The data do not show that OLS is better than Mean8 (p = 0.6). "
    )
    assert found.scale == inf
    blind = verdict([row(n=9, **OUT_OF_REACH)], SETTINGS).text
    assert blind.startswith(
        "Ship OLS with bands x 1.00 only without the promise: no factor reaches 90% coverage, because too many errors "
        "lie on the side of a zero band; raise such bands with min_band. "
        "As delivered OLS covers 83.9% (too narrow). "
    )
    kept = verdict([row(n=5, **{**OUT_OF_REACH, "promise": "kept"})], SETTINGS).text
    assert "without a factor" not in kept


def test_kept_is_said_to_be_unsure_where_the_interval_is_too_wide_to_tell() -> None:
    few = row(n=5, coverage=0.6, coverage_low=0.147, coverage_high=0.947)
    told = "(kept, but [14.7, 94.7] is too wide to tell)"
    assert f"As delivered OLS covers 60.0% {told}." in verdict([few], SETTINGS).text
    several = verdict([few, mean8()], SETTINGS).text
    assert f"As delivered OLS covers 60.0% {told}, Mean8 83.9% (too narrow)." in several
    assert "without a factor" not in several
    assert (
        "too wide to tell"
        not in verdict([row(coverage=0.86, coverage_low=0.78, coverage_high=0.92)], SETTINGS).text
    )
    assert few.promise == "kept"


def test_bands_that_keep_the_promise_can_stay_also_where_there_are_several_models() -> None:
    assert "Its bands keep the promise without a factor too." in clear("Mean8").text
    assert "without a factor" not in verdict([row(promise="too wide"), mean8()], SETTINGS).text
    assert "without a factor" not in verdict([row(promise=None), mean8(promise=None)], OPEN).text


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"promise": "kept"},
            "As delivered OLS covers 90.4% (kept). Its bands keep the promise without a factor too.",
        ),
        (
            {"promise": "too narrow"},
            "As delivered OLS covers 83.9% (too narrow). Its bands do better",
        ),
        ({"promise": "too wide"}, "As delivered OLS covers 95.7% (too wide). Its bands do better"),
        (OUT_OF_REACH, "As delivered OLS covers 83.9% (too narrow)."),
        (
            {"skill": 0.1, "skill_low": 0.01},
            "Its bands do better than a constant band: skill 10.0% [1.0, 10.4].",
        ),
        (
            {"skill": 0.0, "skill_low": 0.0, "skill_high": 0.0},
            "Its bands do as well as a constant band: skill 0.0%.",
        ),
        ({"skill": -0.1}, "Its bands do worse than a constant band: skill -10.0% [-10.4, -9.6]."),
        (
            {"skill": 0.004, "skill_low": -0.011, "skill_high": 0.019},
            "Its bands are not shown to do better than a constant band: skill 0.4% [-1.1, 1.9].",
        ),
        (
            {"skill": 0.1, "skill_low": nan, "skill_high": nan},
            "Its bands are not shown to do better than a constant band: skill 10.0%.",
        ),
    ],
)
def test_a_single_model_is_told_what_to_do_and_what_its_bands_know(
    given: dict[str, Any], told: str
) -> None:
    found = verdict([row(**given)], SETTINGS)
    assert told in found.text
    assert (found.runner_up, found.decided) == (None, False)
    assert isnan(found.pvalue)


def test_a_single_model_without_a_skill_or_a_coverage_is_not_given_one() -> None:
    found = verdict([row(promise=None, skill=nan)], OPEN)
    assert found.text == (
        f"{SHIP} As delivered OLS covers 87.1%. No coverage was asked for; 90% is an example."
    )


@pytest.mark.parametrize(
    ("shift", "words"), [(12.35, "widened by 12.3"), (-3.1, "narrowed by 3.10")]
)
def test_a_shift_model_is_widened_or_narrowed(shift: float, words: str) -> None:
    moved: dict[str, Any] = {"scale": nan, "scale_low": nan, "scale_high": nan, "shift": shift}
    found = verdict([row(**moved), mean8(**moved)], SETTINGS, comparisons=[pair("OLS", "Mean8")])
    assert found.text.startswith(
        f"Ship OLS with bands {words} for 90% coverage: half-width 686 [659, 714]. "
    )
    assert f"Next: Mean8 {words}, 727, p = 0.03." in found.text
    assert found.shift == shift


def test_the_other_levels_that_break_their_promise_are_listed() -> None:
    inner = ucc.Intervals.from_bands([1.0, -2.0, 0.5, 3.0], [0.0] * 4, [1.0, 1.0, 1.0, 2.0])
    given = {level: inner.calibrated(scale=level) for level in (0.2, 0.5, 0.8, 0.9)}
    levels = [
        replace(one, promise="too narrow") for one in ucc.assess(given, coverage=0.9).rows[0].levels
    ]
    found = verdict([row(level=0.9, levels=tuple(levels))], SETTINGS)
    assert found.text.endswith("Of its other levels, OLS is too narrow at 20%, 50% and 80%.")


def test_a_shift_that_does_not_exist_is_called_a_shift() -> None:
    moved = {**OUT_OF_REACH, "scale": nan, "shift": inf}
    assert (
        "Ship OLS with bands as delivered only without the promise: no shift is sure"
        in verdict([row(n=5, **moved)], SETTINGS).text
    )
    assert "No shift brings Mean8 to 90%" in verdict([row(), mean8(**moved)], SETTINGS).text


def test_a_model_of_several_levels_says_which_of_its_intervals_is_scaled() -> None:
    inner = ucc.Intervals.from_bands([1.0, -2.0, 0.5, 3.0], [0.0] * 4, [1.0, 1.0, 1.0, 2.0])
    levels = ucc.assess({0.5: inner, 0.8: inner.calibrated(scale=1.9)}, coverage=0.8).rows[0].levels
    found = verdict([row("DeepAR", level=0.8, scale=1.08, levels=levels)], SETTINGS)
    assert found.text.startswith(
        "Ship DeepAR with bands x 1.08 (on its 80% intervals) for 90% coverage: half-width"
    )
    between = verdict([row(level=0.7, levels=levels)], SETTINGS)
    assert between.text.startswith(
        "Ship OLS with bands x 0.97 (on its 70% intervals, interpolated) for 90% coverage"
    )
    assert found.level == 0.8


def test_the_worst_segment_is_the_failing_one_of_the_shipped_model_with_the_lowest_coverage() -> (
    None
):
    segments = [
        segment("9", coverage=0.75, pvalue_holm=1e-6),
        segment("14", coverage=0.71),
        segment("3", coverage=0.55, fails=False),
        segment("4", "Mean8", coverage=0.3),
    ]
    found = verdict([row(), mean8()], SETTINGS, segments=segments)
    assert "Worst segment: hour 14 (" in found.text


def test_a_segment_of_a_feature_without_a_name_goes_by_its_label() -> None:
    found = verdict([row()], SETTINGS, segments=[segment("hour_14", feature="segment", scale=inf)])
    assert found.text.endswith("Worst segment: hour_14 (covers 70.0% as shipped).")


def test_a_segment_of_a_shift_model_needs_a_shift() -> None:
    found = verdict(
        [row(scale=nan, shift=1.0)], SETTINGS, segments=[segment("14", scale=nan, shift=2.5)]
    )
    assert found.text.endswith("(covers 70.0% as shipped, would need bands widened by 2.50).")


def test_where_no_segment_fails_none_is_the_worst() -> None:
    assert "segment" not in verdict([row()], SETTINGS, segments=[segment("14", fails=False)]).text


def test_the_reasons_say_what_predictions_bands_and_scale_contribute() -> None:
    found = verdict([row(), mean8()], SETTINGS, comparisons=[pair("OLS", "Mean8")])
    parts = "its predictions save 120 more, its bands save 20 more"
    assert found.reasons == (
        "A single interval for all rows would score 3,900: the predictions of OLS save 1,900, its bands save 290.",
        f"At 90% the score of OLS is 140 lower than that of Mean8: {parts}.",
        "The bands of OLS do better than a constant band: skill 12.3% [11.8, 12.8].",
    )


def test_the_reasons_say_who_is_worse_at_what() -> None:
    other = mean8(decomposition=decomposition(prediction=1950.0, discrimination=100.0))
    told = " ".join(verdict([row(), other], SETTINGS).reasons)
    assert (
        "140 lower than that of Mean8: its predictions save 50 less, its bands save 190 more."
        in told
    )
    same = mean8(decomposition=decomposition(discrimination=100.0))
    assert "190 lower than that of Mean8: its bands save 190 more." in " ".join(
        verdict([row(), same], SETTINGS).reasons
    )
    better = mean8(decomposition=decomposition(prediction=1000.0))
    assert "900 lower than that of Mean8: its predictions save 900 more." in " ".join(
        verdict([row(), better], SETTINGS).reasons
    )
    ahead = mean8(promise=None, decomposition=decomposition(discrimination=300.0))
    assert "At 90% the score of OLS is 10.0 higher than that of Mean8" in " ".join(
        verdict([row(promise=None), ahead], OPEN).reasons
    )


def test_bands_that_know_less_than_a_constant_band_cost_and_a_wrong_scale_is_named() -> None:
    parts = decomposition(discrimination=-20.0, miscalibration=150.0)
    told = verdict([row(decomposition=parts)], SETTINGS).reasons
    assert told[0].endswith("the predictions of OLS save 1,900, its bands cost 20.")
    assert (
        told[1]
        == "As delivered OLS scores 2,170, 150 of it because its bands have the wrong scale."
    )
    told = verdict([row(scale=nan, shift=2.0, decomposition=parts)], SETTINGS).reasons
    assert told[1].endswith("150 of it because its bands have the wrong width.")


def test_predictions_that_change_nothing_shown_save_nothing() -> None:
    told = verdict([row(decomposition=decomposition(prediction=-0.001))], SETTINGS).reasons
    assert "the predictions of OLS save nothing, its bands save 290." in told[0]


def test_scores_that_differ_by_rounding_alone_are_no_reason() -> None:
    own = decomposition()
    other = mean8(decomposition=replace(own, best_score=own.best_score * (1 + 1e-15)))
    assert not [
        text for text in verdict([row(), other], SETTINGS).reasons if text.startswith("At 90%")
    ]


def test_a_score_that_is_infinite_is_no_reason() -> None:
    broken = replace(
        decomposition(), score=inf, best_score=inf, discrimination=-inf, miscalibration=nan
    )
    assert not [
        text
        for text in verdict([row(decomposition=broken), mean8()], SETTINGS).reasons
        if "score" in text
    ]


def test_a_segment_that_only_narrower_bands_leave_short_is_named() -> None:
    wide = row(promise="too wide", scale=0.7)
    left = segment(
        "3", fails=False, short=True, scale=0.98, shipped_coverage=0.78, shipped_pvalue=1e-5
    )
    found = verdict([wide], SETTINGS, segments=[left])
    assert found.text.endswith(
        "Worst segment: hour 3 (covers 78.0% as shipped, would need x 0.98)."
    )


def test_an_area_that_hangs_on_few_rows_is_a_reason() -> None:
    told = verdict([row(concentration=3, n=500), mean8(concentration=1)], SETTINGS).reasons
    assert "3 of 500 rows carry half the area of OLS (miss rate vs. bandwidth)." in told
    assert "1 of 2,000 rows carries half the area of Mean8 (miss rate vs. bandwidth)." in told
    assert (
        "40 of 2,000 rows carry half the area of OLS (miss rate vs. bandwidth)."
        in verdict([row(concentration=40)], SETTINGS).reasons
    )
    assert not [
        text for text in verdict([row(concentration=41)], SETTINGS).reasons if "carry" in text
    ]


def test_a_long_name_is_shortened_in_words_and_kept_in_the_field() -> None:
    found = verdict([row("m" * 10_000)], SETTINGS)
    assert found.model == "m" * 10_000
    assert len(found.text) < 320


def test_a_model_that_scores_worse_as_shipped_is_not_recommended_without_a_word() -> None:
    rng = np.random.default_rng(0)
    y_pred, noise = rng.normal(size=1000), rng.uniform(0.1, 0.6, 1000)
    y = y_pred + noise * rng.normal(size=1000)
    variance, flat = (
        ucc.Intervals.from_bands(y, y_pred, band) for band in (noise**2, np.full(1000, 0.6))
    )
    found = ucc.assess({"variance": variance, "flat": flat}, coverage=0.9)
    row = found["variance"]
    shipped = variance.calibrated(scale=row.scale)
    assert row.shipped_score == pytest.approx(
        ucc.interval_score(y, shipped.lower, shipped.upper, alpha=0.1)
    )
    assert row.score < found["flat"].score < found["flat"].shipped_score * 1.01 < row.shipped_score
    assert found.verdict.model == "variance"  # by the score at the best scale
    assert "prefer flat, which scores lower as shipped (1.68 vs. 1.90)" in found.verdict.text
    assert (
        "flat is narrower at 90% (0.607) and has the lower score as shipped (1.68)"
        in found.verdict.text
    )


@pytest.mark.parametrize(("needs", "is_named"), [(1.2, True), (0.5, False)])
def test_a_segment_that_the_factor_for_all_rows_mends_is_not_named(
    needs: float, is_named: bool
) -> None:
    rng = np.random.default_rng(4)
    site = np.repeat(["a", "b"], 500)
    spread = np.where(site == "b", needs, 1.0)
    found = ucc.assess(
        ucc.Intervals.from_bands(
            spread * rng.normal(size=1000), np.zeros(1000), 0.4 * np.ones(1000)
        ),
        coverage=0.9,
        by={"site": site},
    )
    assert {one.label for one in found.failing} == {"a", "b"}
    assert ("Worst segment: site b" in found.verdict.text) == is_named
