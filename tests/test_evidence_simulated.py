"""Intervals, tests and verdicts keep their promises on simulated data whose truth is known.

A smaller version of what the significance page shows, on seeds of its own. A share of m samples may be four binomial
standard errors away from what is promised, and by as much more as is stated here: heavy tails and few rows cost.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import uccurve as ucc
from benchmarks import bench_evidence as bench
from benchmarks import populations
from benchmarks.bench_evidence import Size, standard_error
from benchmarks.measure import Row
from benchmarks.populations import POPULATIONS
from uccurve.assess.cautions import CHOSEN_FROM, cost_of_choosing

SIZE = Size(seed=31_415, samples=300, swaps=199, truth=400_000)
FEW = SIZE._replace(samples=100)
NAMED = {population.name: population for population in POPULATIONS}


def slack(share: float, size: Size) -> float:
    """Four standard errors of a share of the samples."""
    return 4 * standard_error(share, size.samples)


def shares(row: Row) -> dict[str, float]:
    """What was counted, without what describes it."""
    first = next(iter(row))
    return {name: value for name, value in row.items() if name not in (first, "n", "samples")}


@pytest.mark.parametrize(
    ("name", "n", "stated"),
    [
        ("light tails", 200, 0.93),
        ("t(3) × lognormal", 200, 0.90),
        ("counts (ties)", 200, 0.92),
        ("weighted rows", 200, 0.92),
        ("AR(0.5), 12 blocks", 1000, 0.92),
    ],
)
def test_intervals_contain_the_truth_as_often_as_they_say(name: str, n: int, stated: float) -> None:
    held = shares(bench.interval_coverage(NAMED[name], n, SIZE))
    assert held.pop("no interval") == 0
    for statistic, share in held.items():
        assert share >= stated - slack(stated, SIZE), statistic


@pytest.mark.slow
@pytest.mark.parametrize("name", ["AR(0.9), 12 blocks", "panel of 20 series, blocks of dates"])
def test_intervals_of_dependent_rows_contain_the_truth_by_blocks_and_not_by_rows(
    name: str,
) -> None:
    population = NAMED[name]
    by_blocks = shares(bench.interval_coverage(population, 1000, FEW))
    alone = population._replace(draw=lambda rng, n: (population.draw(rng, n)[0], None))
    by_rows = shares(bench.interval_coverage(alone, 1000, FEW))
    assert by_blocks.pop("no interval") == 0
    for statistic, share in by_blocks.items():
        assert share >= 0.92 - slack(0.92, FEW), statistic
    assert by_rows["half_width"] <= 0.9
    assert by_rows["score"] <= 0.9


def test_a_simulated_series_remembers_what_it_should() -> None:
    iv, _ = populations.series(np.random.default_rng(SIZE.seed), 200_000, 0.9)
    for values in (iv.y_true / iv.lower_band, np.log(iv.lower_band)):
        assert abs(np.corrcoef(values[1:], values[:-1])[0, 1] - 0.9) < 0.01


@pytest.mark.parametrize("name", bench.EQUAL_PAIRS)
def test_pairs_of_equal_models_are_equal_in_a_large_sample(name: str) -> None:
    pair = bench.EQUAL_PAIRS[name](np.random.default_rng(SIZE.seed), 300_000)
    models = dict(zip("ab", pair, strict=True))
    found = ucc.assess(models, coverage=0.9, confidence_level=0.9999, axes=bench.UNUSED)
    difference = found.comparisons[0].difference
    assert difference.low <= 0 <= difference.high
    assert difference.high - difference.low < 0.05 * found["a"].score.value


def test_noise_of_two_values_has_the_area_of_lognormal_noise() -> None:
    assert abs(np.cosh(np.log(populations.TWO_POINTS["area"])) - np.exp(1 / 8)) < 1e-5


def test_a_score_that_is_10_percent_worse_is_so_in_a_large_sample() -> None:
    good, worse = populations.two_models(np.random.default_rng(SIZE.seed), 300_000, 1.1)
    scores = [ucc.UCC(iv).decompose(coverage=0.9).shipped for iv in (good, worse)]
    assert_allclose(scores[1] / scores[0], 1.1, rtol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("name", bench.EQUAL_PAIRS)
@pytest.mark.parametrize("n", [50, 200])
def test_equal_models_are_seldom_called_different(name: str, n: int) -> None:
    rejected = shares(bench.test_size(name, n, SIZE))["rejected"]
    assert rejected <= 0.05 + slack(0.05, SIZE)


@pytest.mark.slow
@pytest.mark.parametrize("runs", [3, 5])
def test_equal_algorithms_of_several_runs_are_seldom_called_different(runs: int) -> None:
    found = shares(bench.size_of_runs(runs, FEW))
    assert found["rejected"] <= 0.09 + slack(0.09, FEW)
    assert found["by rows alone"] > 2 * found["rejected"]


@pytest.mark.slow
def test_the_best_of_many_covers_new_rows_as_promised() -> None:
    """One standard error of the mean coverage is 0.003."""
    best_of_ten = shares(bench.coverage_after_choosing(100, 10, FEW))
    assert best_of_ten["verdict's factor"] > 0.885
    assert best_of_ten["own factor"] < 0.885
    alone = shares(bench.coverage_after_choosing(100, 1, FEW))
    assert alone["verdict's factor"] == alone["own factor"]


@pytest.mark.slow
def test_swaps_and_sign_flips_keep_their_level() -> None:
    for share in shares(bench.swap_test_size(100, FEW)).values():
        assert share <= 0.06 + slack(0.06, FEW)
    for ratio in (1 / 3, 3):
        flips = shares(bench.flip_test_size(100, ratio, FEW))
        assert flips["skill"] <= 0.06 + slack(0.06, FEW)


@pytest.mark.slow
def test_twenty_segments_that_are_covered_alike_rarely_fail() -> None:
    for name, share in shares(bench.segment_alarms(1000, FEW)).items():
        assert share <= 0.05 + slack(0.05, FEW), name


def test_a_real_difference_is_found_and_never_the_wrong_way() -> None:
    found = shares(bench.power(1.2, 300, FEW))
    assert found["found"] > 0.8
    assert found["wrong way"] < 0.02


@pytest.mark.slow
def test_a_gate_with_segments_finds_a_score_that_is_10_percent_worse() -> None:
    failed = shares(bench.gate_outcomes(300, 20, FEW))
    assert failed["the same, one level for all"] < failed["score 10% worse"]
    assert failed["equally good"] <= 0.05 + slack(0.05, FEW)
    assert failed["score 10% worse"] > 0.5


def test_choosing_costs_no_more_coverage_than_the_note_says() -> None:
    for errors in ("normal", "t(3)"):
        found = bench.cost_of_choosing(errors, 100, FEW)
        for models in CHOSEN_FROM[:3]:
            stated = cost_of_choosing(models, 100)
            assert 0.5 * stated < found[f"best of {models}"] < stated + 0.005


@pytest.mark.slow
def test_the_score_as_shipped_finds_the_best_model_more_often_than_the_smallest_score() -> None:
    found = shares(bench.right_choices(1000, SIZE._replace(samples=600)))
    assert found["as shipped"] > found["at the best scale"]
    assert found["regret as shipped"] < found["regret at the best scale"]


@pytest.mark.slow
def test_small_losses_add_up_against_the_last_accepted_model() -> None:
    found = shares(bench.ratchet(200, FEW._replace(samples=20)))
    assert found["against the last accepted"] > found["against a frozen baseline"] > 0
