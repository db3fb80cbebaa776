"""Which model ships, when it ships unchanged, and what choosing among models costs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, inf, isnan, nan
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from numpy.testing import assert_allclose

import uccurve as ucc
from model_rows import OPEN, SETTINGS, estimate, pair, row, scaled
from uccurve.assess.cautions import cost_of_choosing
from uccurve.assess.choice import FOLDS, SEED, decide, fold_of_rows, nested_choice
from uccurve.evidence.units import Blocks
from uccurve.points import Estimate
from uccurve.results import ModelRow

KEPT = Estimate(0.902, 0.89, 0.915)
LOW_BUT_KEPT = Estimate(0.885, 0.86, 0.905)


def models(*coverages: Estimate) -> list[ModelRow]:
    """Models by rank, all of which keep their promise as far as a test can tell."""
    return [
        row(f"model {rank}", rank, coverage=coverage, promise="kept")
        for rank, coverage in enumerate(coverages, 1)
    ]


def pairs(rows: list[ModelRow], pvalue: float) -> list[Any]:
    """Pairs of the first model with each other one."""
    return [pair(rows[0].name, other.name, pvalue) for other in rows[1:]]


# ---- the model


def test_the_best_ships_where_no_other_is_tied_with_it() -> None:
    rows = models(LOW_BUT_KEPT, KEPT)
    decision = decide(rows, pairs(rows, 0.01), SETTINGS)
    assert (decision.model.name, decision.tied, decision.unchanged) == ("model 1", (), False)


def test_of_tied_models_the_best_that_may_ship_unchanged_does() -> None:
    rows = models(LOW_BUT_KEPT, LOW_BUT_KEPT, KEPT, KEPT)
    decision = decide(rows, pairs(rows, 0.4), SETTINGS)
    assert (decision.model.name, decision.unchanged) == ("model 3", True)
    assert decision.best.name == "model 1"
    assert decision.tied == ("model 2", "model 3", "model 4")
    assert not decision.spends


def test_kept_alone_is_not_enough_to_ship_unchanged() -> None:
    """A coverage of 88.5% is not shown to break a promise of 90%, and lies below 89.5%."""
    rows = models(LOW_BUT_KEPT)
    assert not decide(rows, [], SETTINGS).unchanged
    assert decide(rows, [], replace(SETTINGS, tolerance=0.02)).unchanged
    unclear = [replace(rows[0], promise="unclear", coverage=KEPT)]
    assert not decide(unclear, [], SETTINGS).unchanged


def test_the_usual_tolerance_is_5_percent_of_the_miss_rate_everywhere() -> None:
    """89.7% of a promised 90% will do, unless less is tolerated."""
    y = np.random.default_rng(3).normal(size=1000)
    iv = ucc.Intervals.from_bands(y, 0 * y, np.full(1000, 1.0))
    factor = np.sort(np.abs(y))[896] * (1 + 1e-9)
    two = {"one": iv.calibrated(scale=factor), "two": iv.calibrated(scale=2 * factor)}
    found = ucc.assess(two, coverage=0.9, incumbent="two")
    assert found.settings.tolerance == pytest.approx(0.005)
    assert found["one"].coverage.value == 0.897
    assert found["one"].may_ship_unchanged(found.settings)
    assert not found["two"].may_ship_unchanged(found.settings)
    alone = ucc.assess({"one": two["one"]}, coverage=0.9)
    assert alone.verdict.unchanged
    strict = ucc.assess({"one": two["one"]}, coverage=0.9, tolerance=0.001)
    assert not strict.verdict.unchanged


def test_an_incumbent_stays_unless_another_is_shown_to_be_better() -> None:
    rows = models(KEPT, LOW_BUT_KEPT)
    in_use = replace(SETTINGS, incumbent="model 2")
    tied = decide(rows, pairs(rows, 0.2), in_use)
    assert tied.model.name == "model 2"
    assert not tied.spends
    assert decide(rows, pairs(rows, 0.01), in_use).model.name == "model 1"


def test_a_pair_that_was_not_tested_is_tied() -> None:
    rows = models(LOW_BUT_KEPT, LOW_BUT_KEPT)
    decision = decide(rows, pairs(rows, nan), SETTINGS)
    assert decision.tied == ("model 2",)
    assert decision.spends


def test_a_model_that_no_factor_brings_to_the_target_is_chosen_only_where_none_is() -> None:
    first, second = models(KEPT, KEPT)
    blind = replace(first, move=scaled(inf))
    assert decide([blind, second], [], SETTINGS).model.name == "model 2"
    other = replace(second, move=scaled(inf))
    assert decide([blind, other], [], SETTINGS).model.name == "model 1"


def test_a_reference_is_compared_and_never_chosen() -> None:
    rows = models(KEPT, LOW_BUT_KEPT, LOW_BUT_KEPT)
    decision = decide(rows, pairs(rows, 0.4), replace(SETTINGS, reference="model 1"))
    assert decision.model.name == "model 2"
    assert "model 1" not in decision.tied


@pytest.mark.parametrize(
    ("pvalue", "coverage", "settings", "spends"),
    [
        (0.01, LOW_BUT_KEPT, SETTINGS, True),
        (1e-5, LOW_BUT_KEPT, SETTINGS, False),  # beyond doubt
        (0.01, KEPT, SETTINGS, False),  # ships unchanged
        (0.4, LOW_BUT_KEPT, replace(SETTINGS, incumbent="model 1"), False),
        (0.01, LOW_BUT_KEPT, OPEN, False),  # nothing is promised
    ],
)
def test_choosing_spends_coverage_only_where_it_matters(
    pvalue: float, coverage: Estimate, settings: Any, spends: bool
) -> None:
    rows = models(coverage, LOW_BUT_KEPT)
    assert decide(rows, pairs(rows, pvalue), settings).spends == spends


def test_one_model_spends_nothing() -> None:
    (only,) = models(LOW_BUT_KEPT)
    assert not decide([only], [], SETTINGS).spends


# ---- what choosing costs


def equal_models(n: int, count: int, seed: int = 0) -> dict[str, ucc.Intervals]:
    """Models of equal quality, half as wide as promised."""
    rng = np.random.default_rng(seed)
    given = {}
    for number in range(count):
        band = rng.lognormal(0, 0.4, n)
        given[f"m{number}"] = ucc.Intervals.from_bands(
            np.zeros(n), band * rng.normal(size=n), 0.8 * band
        )
    return given


def by_hand(
    given: dict[str, ucc.Intervals], fold: npt.NDArray[np.intp], alpha: Fraction
) -> tuple[float, float, float]:
    """Multiplier, fold score and how much wider held-out bands are: choose on the other folds, look at this one."""
    a = float(alpha)
    error = {name: np.abs(iv.y_pred) for name, iv in given.items()}
    band = {name: iv.lower_band for name, iv in given.items()}

    def scores(name: str, k: float, rows: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
        width = k * band[name][rows]
        out: npt.NDArray[np.float64] = 2 * width + 2 / a * np.maximum(error[name][rows] - width, 0)
        return out

    ratios = []
    winners = []
    for number in range(fold.max() + 1):
        rest = fold != number
        best = ("", nan, inf)
        for name in given:
            critical = np.sort(error[name][rest] / band[name][rest])
            k = critical[ceil((len(critical) + 1) * (1 - alpha)) - 1]
            score = scores(name, k, rest).mean()
            if score < best[2]:
                best = (name, k, score)
        name, k, _ = best
        ratios.append(error[name][~rest] / band[name][~rest] / k)
        winners.append((name, k, ~rest))
    together = np.sort(np.concatenate(ratios))
    multiplier = together[ceil((len(together) + 1) * (1 - alpha)) - 1]
    held_out = np.concatenate([scores(name, k * multiplier, part) for name, k, part in winners])
    outside = sum(k * band[name][part].sum() for name, k, part in winners)
    inside = sum(k * band[name][~part].mean() * part.sum() for name, k, part in winners)
    return float(multiplier), float(held_out.mean()), float(outside / inside)


def test_the_multiplier_is_the_conformal_quantile_of_ratios_on_folds_that_did_not_choose() -> None:
    given = equal_models(200, 6)
    found = ucc.assess(given, coverage=0.9)
    blocks = Blocks.of(given["m0"])
    multiplier, score, wider = by_hand(given, fold_of_rows(blocks), Fraction(1, 10))
    verdict = found.verdict
    assert verdict.choice.corrected
    assert verdict.choice.folds == FOLDS
    assert_allclose(verdict.choice.multiplier, multiplier, rtol=1e-12)
    own = found[verdict.model].scale.value
    assert verdict.choice.own == found[verdict.model].scale
    assert_allclose(verdict.scale, own * multiplier, rtol=1e-12)
    assert_allclose(verdict.score.value, score, rtol=1e-12)
    band = given[verdict.model].lower_band.mean()
    assert_allclose(verdict.half_width.value, own * multiplier * band * wider, rtol=1e-12)
    assert 1 < wider < 1.1
    alone = found[verdict.model]
    for shipped, single in ((verdict.score, alone.score), (verdict.half_width, alone.half_width)):
        # wider, for six models, and about what is held out as the row's is about its own value
        assert shipped.low / shipped.value < single.low / single.value
        assert shipped.high / shipped.value > single.high / single.value


def around_zero(error: npt.NDArray[np.float64]) -> ucc.Intervals:
    return ucc.Intervals.from_bands(np.zeros(len(error)), error, np.full(len(error), 0.5))


def test_the_half_width_is_that_of_the_model_that_ships_whoever_wins_the_folds() -> None:
    rng = np.random.default_rng(0)
    light = rng.normal(size=150)
    heavy = rng.standard_t(2, 150)
    scores = [
        ucc.assess(around_zero(error), coverage=0.9).verdict.score for error in (light, heavy)
    ]
    heavy *= float(scores[0]) / float(scores[1])  # scores alike, with bands of another width
    given = {"light": around_zero(light), "heavy": around_zero(heavy)}
    assessed = ucc.assess(given, coverage=0.9)
    verdict = assessed.verdict
    assert verdict.tied
    assert verdict.choice.folds == FOLDS
    assert assessed["light"].half_width.value > 1.2 * assessed["heavy"].half_width.value
    assert_allclose(verdict.half_width.value, 0.5 * verdict.scale)


def test_folds_are_of_whole_blocks_the_same_in_every_call() -> None:
    label = np.repeat(np.arange(25), 8)
    blocks = Blocks.of(next(iter(equal_models(200, 1).values())), label)
    fold = fold_of_rows(blocks)
    assert [len(set(fold[label == block])) for block in range(25)] == [1] * 25
    assert sorted(np.bincount(fold) // 8) == [2] * 5 + [3] * 5
    dealt = np.arange(25) % FOLDS
    np.random.default_rng(SEED).shuffle(dealt)
    assert fold.tolist() == dealt[label].tolist()


def test_fewer_blocks_than_folds_are_a_fold_each() -> None:
    given = equal_models(60, 3)
    found = ucc.assess(given, coverage=0.8, block=np.repeat(np.arange(4), 15))
    assert found.verdict.choice.folds in (0, 4)
    nested = nested_choice(
        [ucc.UCC(iv).path() for iv in given.values()],
        Blocks.of(given["m0"], np.repeat(np.arange(4), 15)),
        Fraction(1, 5),
    )
    assert nested is not None
    assert nested.folds == 4


def test_shifts_are_added_where_factors_are_multiplied() -> None:
    given = {name: ucc.UCC(iv, vary="shift") for name, iv in equal_models(150, 5).items()}
    found = ucc.assess(given, coverage=0.9)
    verdict = found.verdict
    assert isnan(verdict.scale)
    assert verdict.choice.corrected
    own = found[verdict.model].shift.value
    assert_allclose(verdict.shift, own + verdict.choice.multiplier, rtol=1e-12)
    assert abs(verdict.choice.multiplier) < 0.5


def test_factors_and_shifts_together_are_not_corrected_and_that_is_said() -> None:
    given: dict[str, Any] = dict(equal_models(150, 4))
    given["m0"] = ucc.UCC(given["m0"], vary="shift")
    found = ucc.assess(given, coverage=0.9)
    assert not found.verdict.choice.corrected
    assert found.verdict.choice.multiplier in (0.0, 1.0)
    (note,) = [note for note in found.notes if "was not corrected" in note]
    most = 100 * cost_of_choosing(4, 150)
    assert f"it costs at most {most:.2g} points of coverage on new rows" in note
    assert "not corrected" in found.verdict.text


def test_choosing_among_more_models_on_fewer_rows_costs_more() -> None:
    costs = [[cost_of_choosing(m, n) for m in (2, 5, 20, 100)] for n in (30, 100, 300, 1000, 3000)]
    for line in costs:
        assert line == sorted(line)
    assert [line[2] for line in costs] == sorted((line[2] for line in costs), reverse=True)
    assert cost_of_choosing(2, 10**6) == 0.002
    assert isnan(cost_of_choosing(101, 300))
    assert isnan(cost_of_choosing(2, 29))


def test_the_verdict_s_intervals_hold_for_whichever_of_the_models_was_chosen() -> None:
    """Of m models each interval has the level 1 - (1 - level) / m."""
    given = equal_models(300, 8)
    found = ucc.assess(given, coverage=0.9)
    own = found[found.verdict.model]
    alone = ucc.assess(given[found.verdict.model], coverage=0.9, confidence_level=1 - 0.05 / 8)
    for field in ("half_width", "score"):
        shipped, expected = getattr(found.verdict, field), getattr(alone.rows[0], field)
        assert_allclose(shipped.high / shipped.low, expected.high / expected.low, rtol=1e-9)
        wider = getattr(own, field)
        assert shipped.high / shipped.low > wider.high / wider.low


def test_segments_of_the_chosen_model_are_judged_at_the_verdict_s_factor() -> None:
    given = equal_models(300, 6)
    by = np.arange(300) % 3
    found = ucc.assess(given, coverage=0.9, by=by)
    verdict = found.verdict
    assert verdict.choice.multiplier != 1
    for segment in found.segments:
        iv = given[segment.model][by == int(segment.label)]
        factor = verdict.scale if segment.model == verdict.model else found[segment.model].scale
        covered = np.abs(iv.y_pred) <= float(factor) * iv.lower_band * (1 + 1e-12)
        assert_allclose(segment.shipped_coverage.value, covered.mean())


def test_what_ships_unchanged_has_its_numbers_as_delivered() -> None:
    given = {name: iv.calibrated(scale=2.2) for name, iv in equal_models(400, 3).items()}
    found = ucc.assess(given, coverage=0.9)
    verdict = found.verdict
    assert verdict.unchanged
    assert (verdict.scale, verdict.choice.multiplier) == (1.0, 1.0)
    iv = given[verdict.model]
    assert_allclose(verdict.half_width.value, iv.lower_band.mean())
    assert_allclose(
        verdict.score.value,
        ucc.interval_score(iv.y_true, iv.lower, iv.upper, coverage=0.9),
    )


def test_estimates_of_hand_made_rows_are_what_they_say() -> None:
    assert estimate(2.0) == Estimate(2.0, 1.92, 2.08)
