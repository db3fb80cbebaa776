"""The verdict says what to ship, how sure that is and why, in words that hold for every situation."""

from dataclasses import replace
from math import inf, isnan, nan
from typing import Any

import numpy as np
import pytest

import uccurve as ucc
from model_rows import (
    OPEN,
    SETTINGS,
    decomposition,
    estimate,
    lost,
    mean8,
    pair,
    row,
    scaled,
    segment,
    shifted,
    verdict,
)
from uccurve.points import Decomposition, Estimate
from uccurve.results import WIS, LevelRow, Missing, ModelRow

NARROW: dict[str, Any] = {"promise": "too narrow"}
SHIP = "Ship OLS with bands × 0.97 for 90% coverage. Half-width 686 [659, 714]."


def models(count: int, *promises: str) -> list[ModelRow]:
    """OLS, Mean8, and others with these promises by turns."""
    others = [
        row(f"M{place}", place, promise=promises[place % len(promises)])
        for place in range(3, count + 1)
    ]
    return [row(), mean8(), *others]


def level(nominal: float, promise: Any = "kept") -> LevelRow:
    """One level of OLS."""
    return LevelRow("OLS", nominal, estimate(nominal), promise, 0.1, 0.1, estimate(1.0), 2.0)


# The headline and the first sentence


def test_the_text_is_the_one_that_the_design_promises() -> None:
    found = verdict([mean8(), row()], segments=[segment("14")])
    assert found.text == (
        f"{SHIP} Runner-up: Mean8 × 1.36, half-width 727 (adjusted p = 0.03). "
        "As delivered, OLS covers 90.4% (kept), Mean8 83.9% (too narrow). "
        "Worst segment: hour 14 covers 70.0% (83.0% at most) as shipped; it would need bands × 1.62."
    )
    assert str(found) == found.text
    assert found.text.startswith(found.headline)
    assert found.headline == "Ship OLS with bands × 0.97 for 90% coverage."


@pytest.mark.parametrize(
    ("rows", "options", "headline"),
    [
        ([row()], {}, "Ship OLS with bands × 0.97 for 90% coverage."),
        ([row()], {"unchanged": True}, "Ship OLS unchanged for 90% coverage."),
        ([row(move=shifted(12.35))], {}, "Ship OLS with bands widened by 12.3 for 90% coverage."),
        ([row(move=shifted(-3.1))], {}, "Ship OLS with bands narrowed by 3.10 for 90% coverage."),
        ([row(side="upper")], {}, "Ship OLS's upper bound × 0.97 for 90% coverage."),
        (
            [row(side="lower", move=shifted(2.0))],
            {},
            "Ship OLS's lower bound lowered by 2.00 for 90% coverage.",
        ),
        ([row(level=0.8)], {}, "Ship OLS with its 80% bands × 0.97 for 90% coverage."),
        ([row(level=0.9)], {}, "Ship OLS with bands × 0.97 for 90% coverage."),
        (
            [row(), mean8(promise="too narrow")],
            {"tied": ["Mean8"]},
            "No clear winner: ship OLS with bands × 0.97 for 90% coverage; Mean8 × 1.36 scores alike.",
        ),
        (
            [mean8(rank=1), row(rank=2)],
            {"model": "OLS", "tied": ["OLS"], "unchanged": True},
            "No clear winner: ship OLS unchanged for 90% coverage; Mean8 × 1.36 scores alike.",
        ),
        (
            models(4, "kept"),
            {"tied": ["Mean8", "M3", "M4"]},
            (
                "No clear winner: ship OLS with bands × 0.97 for 90% coverage; Mean8 × 1.36, M3 unchanged and "
                "M4 unchanged score alike."
            ),
        ),
        (
            models(7, "too wide"),
            {"tied": ["Mean8", "M3", "M4", "M5", "M6", "M7"]},
            "No clear winner: ship OLS with bands × 0.97 for 90% coverage; Mean8 × 1.36 and 5 others score alike.",
        ),
        ([lost("Q", 1)], {}, "No factor brings Q to 90% coverage."),
        ([lost("Q", 1), lost("R", 2)], {}, "No factor brings any model to 90% coverage."),
        (
            [lost("Q", 1, move=shifted(inf)), lost("R", 2)],
            {},
            "No factor or shift brings any model to 90% coverage.",
        ),
    ],
)
def test_the_headline_is_one_sentence_for_every_decision(
    rows: list[ModelRow], options: dict[str, Any], headline: str
) -> None:
    found = verdict(rows, **options)
    assert found.headline == headline
    assert found.text.split("\n")[0].startswith(headline)


def test_an_incumbent_stays_where_nothing_is_shown_to_be_better() -> None:
    settings = replace(SETTINGS, incumbent="Mean8")
    found = verdict([row(), mean8()], settings, model="Mean8", tied=["Mean8"])
    assert found.text.startswith(
        "Keep Mean8 (incumbent): nothing is shown to be better. "
        "Ship Mean8 with bands × 1.36 for 90% coverage: half-width 727 [698, 756]. "
        "The data do not show that OLS (p = 0.41) is better than Mean8. "
    )


def test_a_pair_that_could_not_be_tested_is_no_proof() -> None:
    found = verdict([row(), mean8()], tied=["Mean8"], comparisons=[pair("OLS", "Mean8", nan)])
    assert found.headline == (
        "No clear winner (not tested): ship OLS with bands × 0.97 for 90% coverage; Mean8 × 1.36 may score alike."
    )
    assert "Whether OLS is better could not be tested." in found.text


def test_without_a_coverage_the_potential_crps_decides_and_90_percent_is_an_example() -> None:
    rows = [row(promise=None), mean8(promise=None)]
    found = verdict(rows, OPEN)
    assert found.text.startswith(
        "OLS scores best over all levels (potential CRPS). No coverage was asked for; 90%, for example, needs OLS with "
        "bands × 0.97: half-width 686 [659, 714]. "
    )
    assert "promise" not in found.text
    assert "As delivered, OLS covers 87.1%, Mean8 87.1%." in found.text
    tied = verdict(rows, OPEN, tied=["Mean8"]).headline
    assert tied == "No clear winner: OLS and Mean8 score alike over all levels (potential CRPS)."
    assert verdict([row(promise=None)], OPEN).headline == "OLS has a potential CRPS of 201."
    kept = replace(OPEN, incumbent="OLS")
    assert verdict(rows, kept).headline.startswith("Keep OLS (incumbent)")


def test_the_fields_are_those_of_the_model_to_ship_and_the_runner_up() -> None:
    found = verdict([row(), mean8()])
    assert (found.model, found.scale, found.coverage) == ("OLS", 0.966, 0.9)
    assert (found.runner_up, found.pvalue, found.decided) == ("Mean8", 0.03, True)
    assert isnan(found.shift)
    assert found.level is None


def test_what_the_choice_among_models_costs_is_part_of_the_first_sentence() -> None:
    own = "own factor × 0.97, and {} because it was chosen from 2 models on these rows."
    more = verdict([row(), mean8()], multiplier=1.0213)
    assert f"Half-width 686 [659, 714]; {own.format('2.1% more')}" in more.text
    assert more.headline == "Ship OLS with bands × 0.99 for 90% coverage."
    assert own.format("1.2% less") in verdict([row(), mean8()], multiplier=0.988).text
    assert SHIP in verdict([row(), mean8()], multiplier=1.0001).text
    assert "because" not in verdict([row(), mean8()], multiplier=1.004).text  # × 0.97 both
    shift = verdict([row(move=shifted(2.0)), mean8()], multiplier=0.25).text
    assert "; widened by 2.00 by its own shift, and 0.250 more because it was chosen" in shift
    spent = verdict([row(), mean8()], corrected=False).text
    assert "[659, 714]; not corrected for choosing from 2 models on these rows." in spent


def test_a_model_that_meets_the_target_ships_unchanged_and_says_so() -> None:
    meets = verdict([row(), mean8()], unchanged=True).text
    assert "It already meets the target, so you can ship it unchanged: half-width 686" in meets
    above = row(coverage=Estimate(0.912, 0.899, 0.923))
    assert "Slightly above target; no rescaling needed: half-width 686" in (
        verdict([above, mean8()], unchanged=True).text
    )


def test_too_few_rows_and_zero_bands_are_told_apart() -> None:
    few = verdict([lost("OLS", 1, n=5), lost("Mean8", 2, n=5)]).text
    assert few.startswith(
        "No factor brings any model to 90% coverage. With 5 rows no factor is sure to reach it; at least 9 are needed. "
        "OLS scores best of 2 models as delivered. "
    )
    zero = verdict([lost("OLS", 1, n=2000)]).text
    assert zero.startswith(
        "No factor brings OLS to 90% coverage. Too many errors of OLS lie on the side of a zero band; raise such bands "
        "with min_band. As delivered, OLS covers 83.9% (too narrow)."
    )
    shift = verdict([lost("OLS", 1, n=5, move=shifted(inf))]).text
    assert "No shift brings OLS to 90% coverage. With 5 rows no shift is sure" in shift


# The other models


def test_a_tiny_p_is_written_as_a_bound() -> None:
    found = verdict([row(), mean8()], comparisons=[pair("OLS", "Mean8", 1e-9)])
    assert "Runner-up: Mean8 × 1.36, half-width 727 (adjusted p < 0.001)." in found.text


def test_a_runner_up_that_meets_the_target_is_named_unchanged_with_its_own_half_width() -> None:
    found = verdict([row(), row("cqr", 2)])
    assert "Runner-up: cqr, unchanged, half-width 710 (adjusted p = 0.03)." in found.text


def test_models_that_are_not_shown_to_be_worse_are_named_with_their_p() -> None:
    pairs = [pair("OLS", other.name, 0.2 + other.rank / 10) for other in models(5, "kept")[1:]]
    two = verdict(models(2), tied=["Mean8"], comparisons=pairs).text
    assert "The data do not show that OLS is better than Mean8 (p = 0.4)." in two
    three = verdict(models(3, "kept"), tied=["Mean8", "M3"], comparisons=pairs).text
    assert "better than Mean8 (p = 0.4) or M3 (p = 0.5)." in three
    names = ["Mean8", "M3", "M4", "M5"]
    five = verdict(models(5, "kept"), tied=names, comparisons=pairs).text
    assert "Not shown to be worse than the best: Mean8, M3, M4 and M5." in five


def test_models_that_no_factor_brings_to_the_target_are_no_choice() -> None:
    worse = verdict([row(), lost("Q", 2)]).text
    assert f"{SHIP} No factor brings Q to 90% coverage. As delivered" in worse
    better = verdict([row(rank=2), lost("Q", 1)]).text
    assert "No factor brings Q to 90% coverage, although Q has the best score." in better
    many = verdict([row(), *(lost(f"Q{place}", place) for place in range(2, 6))]).text
    assert "No factor brings the other 4 models to 90% coverage." in many
    three = verdict([row(), *(lost(f"Q{place}", place) for place in range(2, 5))]).text
    assert "No factor brings Q2, Q3 or Q4 to 90% coverage." in three


def test_a_model_that_no_factor_brings_to_the_target_is_not_shipped_where_another_is() -> None:
    rows = [lost("Q", 1), row(rank=2), mean8(rank=3)]
    found = verdict(rows)
    assert (found.model, found.runner_up) == ("OLS", "Mean8")


def test_coverage_as_delivered_is_told_of_three_models() -> None:
    assert "OLS covers 90.4% (kept), Mean8 83.9% (too narrow), M3 95.7% (too wide)." in (
        verdict(models(3, "too wide")).text
    )


@pytest.mark.parametrize(
    ("count", "promises", "told"),
    [
        (4, ("kept",), "The other two models do not miss the target."),
        (4, ("kept", "too wide"), "Of the other two models, one misses it."),
        (4, ("too narrow",), "The other two models miss the target."),
        (5, ("too narrow",), "The other three models miss the target."),
        (6, ("kept", "too narrow"), "Of the other four models, two miss it."),
        (14, ("kept",), "The other 12 models do not miss the target."),
        (4, ("kept", "unclear"), "Of the other two models, one keeps it and one is unclear."),
        (4, ("unclear",), "Whether the other two models keep the target is unclear."),
        (
            5,
            ("kept", "unclear", "too wide"),
            "Of the other three models, one keeps it, one misses it and one is unclear.",
        ),
        (
            6,
            ("too narrow", "unclear"),
            "Of the other four models, two miss it and two are unclear.",
        ),
    ],
)
def test_broken_promises_of_the_rest_are_counted_in_english(
    count: int, promises: tuple[str, ...], told: str
) -> None:
    assert f"As delivered, OLS covers 90.4% (kept), Mean8 83.9% (too narrow). {told}" in (
        verdict(models(count, *promises)).text
    )


def test_the_rest_misses_the_target_as_well_only_where_the_named_ones_do() -> None:
    rows = [row(**NARROW), *models(4, "too wide")[1:]]
    assert "The other two models miss the target as well." in verdict(rows).text


def test_an_unclear_promise_is_shown_with_its_interval() -> None:
    few = row(promise="unclear", coverage=Estimate(0.6, 0.147, 0.947))
    told = "As delivered, OLS covers 60.0% [14.7, 94.7] (unclear)"
    assert f"{told}." in verdict([few]).text
    assert f"{told}, Mean8 83.9% (too narrow)." in verdict([few, mean8()]).text


# What disagrees, and the worst segment


def test_criteria_that_disagree_are_named_in_one_sentence() -> None:
    two = verdict([row(), mean8(half_width=estimate(640.0))])
    assert "Criteria disagree: Mean8 is narrower at 90% (half-width 640)." in two.text
    three = verdict([row(), mean8(half_width=estimate(640.0)), row("M3", 3)])
    assert "Criteria disagree: Mean8 is narrowest at 90% (half-width 640)." in three.text
    near = verdict([row(), mean8(half_width=estimate(686.1))])
    assert "disagree" not in near.text
    chosen = verdict([row(), mean8(half_width=estimate(690.0))], multiplier=1.05)
    assert "disagree" not in chosen.text  # wider, but for what choosing costs the other one
    by_wis = verdict(
        [
            row(wis=WIS(estimate(4.0), 1.0, 1.0, 2.0, 3.0)),
            mean8(wis=WIS(estimate(3.0), 1.0, 1.0, 1.0, 2.0)),
        ]
    )
    assert "Criteria disagree: Mean8 has the lower WIS (3.00 vs. 4.00)." in by_wis.text


def test_the_other_levels_that_break_their_promise_are_listed() -> None:
    levels = (level(0.5, "too narrow"), level(0.8, "too narrow"), level(0.9, "too wide"))
    found = verdict([row(level=0.9, levels=levels)])
    assert found.text.endswith(
        "Of its levels as delivered, OLS is too narrow at 50% and 80% and too wide at 90%."
    )


def test_the_worst_segment_is_the_short_one_of_the_shipped_model_with_the_lowest_coverage() -> None:
    segments = [
        segment("9", shipped_coverage=Estimate(0.75), shipped_pvalue=1e-6),
        segment("14", shipped_coverage=Estimate(0.71)),
        segment("3", shipped_coverage=Estimate(0.55), fails=False),
        segment("4", "Mean8", shipped_coverage=Estimate(0.3)),
    ]
    assert "Worst segment: hour 14 covers" in verdict([row(), mean8()], segments=segments).text
    assert "segment" not in verdict([row()], segments=[segment("14", fails=False)]).text
    of_others = verdict([row(), mean8()], segments=[segment("4", "Mean8")]).text
    assert "segment" not in of_others


def test_a_segment_of_a_feature_without_a_name_goes_by_its_label() -> None:
    unnamed = segment("hour_14", feature="segment", move=scaled(inf), at_most=nan)
    found = verdict([row()], segments=[unnamed])
    assert found.text.endswith("Worst segment: hour_14 covers 70.0% as shipped.")


def test_a_segment_of_a_shift_model_needs_a_shift() -> None:
    found = verdict(
        [row(move=shifted(1.0))], segments=[segment("14", move=shifted(2.5), at_most=nan)]
    )
    assert found.text.endswith("as shipped; it would need bands widened by 2.50.")


# What is never counted out


def test_dropped_rows_and_what_was_not_tested_are_lines_of_their_own_whatever_is_shortened() -> (
    None
):
    missing = Missing(20, 80, {"OLS": 0, "Mean8": 20}, ("cases",))
    found = verdict(
        models(12, "too narrow"),
        segments=[segment("14")],
        missing=missing,
        not_tested=["2 of 12 segments, each a single block (site A and site B)"],
    )
    _, dropped, untested = found.text.split("\n")
    assert dropped == "Dropped: 20 of 100 rows (Mean8 lacks 20). No rows are left of cases."
    assert untested == "Not tested: 2 of 12 segments, each a single block (site A and site B)."


def test_no_more_than_four_sentences_follow_the_headline() -> None:
    found = verdict(models(12, "too narrow"), segments=[segment("14")], multiplier=1.05)
    body = found.text.removeprefix(found.headline)
    starts = ["Half-width", "Runner-up", "As delivered", "Worst segment"]
    places = [body.index(start) for start in starts]
    assert places == sorted(places)
    assert "Criteria disagree" not in body


def test_many_models_that_lack_rows_are_counted() -> None:
    lacking = {f"M{place}": place for place in range(1, 7)}
    found = verdict([row()], missing=Missing(10, 90, lacking)).text
    assert "(M1 lacks 1, M2 lacks 2, M3 lacks 3, 3 others more)" in found


# A single model


@pytest.mark.parametrize(
    ("skill", "told"),
    [
        ((0.1, 0.01, 0.104), "Its bands do better than a constant band: skill 10.0% [1.0, 10.4]."),
        ((0.0, 0.0, 0.0), "Its bands do as well as a constant band: skill 0.0%."),
        (
            (-0.1, -0.104, -0.096),
            "Its bands do worse than a constant band: skill -10.0% [-10.4, -9.6].",
        ),
        (
            (0.004, -0.011, 0.019),
            "Its bands are not shown to do better than a constant band: skill 0.4% [-1.1, 1.9].",
        ),
        (
            (0.1, nan, nan),
            "Its bands are not shown to do better than a constant band: skill 10.0%.",
        ),
    ],
)
def test_a_single_model_is_told_what_its_bands_know(
    skill: tuple[float, float, float], told: str
) -> None:
    found = verdict([row(skill=Estimate(*skill))])
    assert f"{SHIP} {told} As delivered, OLS covers 90.4% (kept)." in found.text
    assert found.runner_up is None
    assert found.decided
    assert isnan(found.pvalue)


def test_a_single_model_without_a_skill_is_not_given_one() -> None:
    assert "constant band" not in verdict([row(skill=Estimate(nan))]).text


# Reasons


def test_the_reasons_say_what_predictions_bands_and_factor_contribute() -> None:
    found = verdict([row(), mean8()])
    parts = "its predictions save 120 more, its bands save 20 more"
    assert found.reasons == (
        "One interval for all rows would score 3,900: the predictions of OLS save 1,900, its bands save 290.",
        f"As shipped, the score of OLS is 140 lower than that of Mean8: {parts}.",
        "The bands of OLS do better than a constant band: skill 14.5% [13.9, 15.1].",
    )


def test_the_reasons_say_who_is_worse_at_what() -> None:
    other = mean8(decomposition=decomposition(prediction=1950.0, bands=100.0))
    told = " ".join(verdict([row(), other]).reasons)
    assert (
        "140 lower than that of Mean8: its predictions save 50 less, its bands save 190 more."
        in told
    )
    same = mean8(decomposition=decomposition(bands=100.0))
    assert "190 lower than that of Mean8: its bands save 190 more." in " ".join(
        verdict([row(), same]).reasons
    )
    ahead = mean8(promise=None, decomposition=decomposition(bands=300.0))
    assert "As shipped, the score of OLS is 10.0 higher than that of Mean8" in " ".join(
        verdict([row(promise=None), ahead], OPEN).reasons
    )


def test_bands_that_know_less_than_a_constant_band_cost_and_what_the_factor_saves_is_named() -> (
    None
):
    parts = decomposition(bands=-20.0, rescaling=150.0)
    told = verdict([row(decomposition=parts)]).reasons
    assert told[0].endswith("the predictions of OLS save 1,900, its bands cost 20.")
    assert told[1] == "As delivered, OLS scores 2,170; the factor saves 150."
    told = verdict([row(move=shifted(2.0), decomposition=parts)]).reasons
    assert told[1].endswith("the shift saves 150.")


def test_predictions_that_change_nothing_shown_save_nothing() -> None:
    told = verdict([row(decomposition=decomposition(prediction=-0.001))]).reasons
    assert "the predictions of OLS save nothing, its bands save 290." in told[0]


def test_scores_that_differ_by_rounding_alone_are_no_reason() -> None:
    shipped = decomposition().shipped
    other = mean8(decomposition=replace(decomposition(), shipped=shipped * (1 + 1e-15)))
    assert not [text for text in verdict([row(), other]).reasons if text.startswith("As shipped")]


def test_a_score_that_is_infinite_is_no_reason() -> None:
    broken = Decomposition.of(
        delivered=inf, shipped=inf, constant=2000.0, climatology=3900.0, best=inf
    )
    told = verdict([row(decomposition=broken), mean8()]).reasons
    assert not [text for text in told if "score" in text]


def test_a_long_name_is_shortened_in_words_and_kept_in_the_field() -> None:
    found = verdict([row("m" * 10_000)])
    assert found.model == "m" * 10_000
    assert len(found.text) < 320


# From data


def test_what_is_ranked_is_what_ships() -> None:
    rng = np.random.default_rng(0)
    y_pred, noise = rng.normal(size=1000), rng.uniform(0.1, 0.6, 1000)
    y = y_pred + noise * rng.normal(size=1000)
    variance, flat = (
        ucc.Intervals.from_bands(y, y_pred, band) for band in (noise**2, np.full(1000, 0.6))
    )
    found = ucc.assess({"variance": variance, "flat": flat}, coverage=0.9)
    row = found["variance"]
    shipped = variance.calibrated(scale=float(row.scale))
    short = np.maximum(shipped.lower - y, 0) + np.maximum(y - shipped.upper, 0)
    score = np.mean(shipped.upper - shipped.lower + 2 / 0.1 * short)
    assert float(row.score) == pytest.approx(score)
    assert float(row.best_score) < float(row.score)
    assert found.ranking[0].name == "flat"
    assert found.verdict.model == "flat"


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
    assert {segment.label for segment in found.failing} == {"a", "b"}
    assert ("Worst segment: site b" in found.verdict.text) == is_named
