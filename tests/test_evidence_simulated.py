"""Intervals, tests and verdicts keep their promises on simulated data whose truth is known.

A smaller version of what the significance page shows, on seeds of its own. A share of m samples may be four binomial
standard errors away from what is promised, and by as much more as is stated here: heavy tails and few rows cost.
"""

import numpy as np
import pytest

import uccurve as ucc
from benchmarks import bench_coverage as bench
from benchmarks import populations
from benchmarks.bench_coverage import LEVEL, Size, standard_error
from benchmarks.measure import Row
from benchmarks.populations import HEAVY, LIGHT, SERIES, Population

SIZE = Size(seed=271_828, samples=400, swaps=199, truth=400_000)
FEW = SIZE._replace(samples=120)
SHORT = {
    ("light tails", 100): {"score": 0.06, "gain d vs. b": 0.03, "gain d vs. e": 0.03},
    ("heavy tails", 300): {
        "score": 0.06,
        "CRPS": 0.02,
        "skill": 0.01,
        "gain d vs. b": 0.19,
        "gain d vs. e": 0.14,
    },
}
"""By how much intervals are known to hold the truth less often than they say."""
CONSERVATIVE = ("coverage", "scale")
"""Intervals by counts, which hold the truth at least as often as they say."""


def slack(share: float, size: Size) -> float:
    """Four standard errors of a share of the samples."""
    return 4 * standard_error(share, size.samples)


def shares(row: Row) -> dict[str, float]:
    """What was counted, without what describes it."""
    first = next(iter(row))
    return {
        k: v
        for k, v in row.items()
        if k not in (first, "N", "samples", "nominal", "standard error")
    }


@pytest.mark.parametrize(("population", "n"), [(LIGHT, 100), (HEAVY, 300)], ids=["light", "heavy"])
def test_intervals_hold_the_truth_as_often_as_they_say(population: Population, n: int) -> None:
    row = bench.coverage(population, n, SIZE)
    for name, share in shares(row).items():
        stated = LEVEL - SHORT[population.name, n].get(name, 0.0)
        assert share >= stated - slack(stated, SIZE), name
        assert name in CONSERVATIVE or share <= LEVEL + slack(LEVEL, SIZE), name


@pytest.mark.slow
def test_intervals_of_a_series_hold_the_truth_by_blocks_and_not_by_rows() -> None:
    by_rows, by_blocks = (bench.series_coverage(2000, blocks, FEW) for blocks in (None, 16))
    for name, share in shares(by_blocks).items():
        assert share >= 0.92 - slack(0.92, FEW), name
        assert by_rows[name] <= 0.7 + slack(0.7, FEW), name


def test_the_true_gains_of_simulated_bands_are_those_of_a_large_sample() -> None:
    rng = np.random.default_rng(SIZE.seed)
    for population, digits in ((LIGHT, 0.004), (HEAVY, 0.02)):
        curve = ucc.UCC(population.draw(rng, 500_000))
        assert abs(curve.gain(axes=("bandwidth", "miss_rate"))) < digits
        assert (
            abs(
                curve.gain(axes=("bandwidth", "deficit")) - (population.gain_bandwidth_deficit or 0)
            )
            < digits
        )


def test_a_simulated_series_remembers_nine_tenths() -> None:
    series = SERIES.draw(np.random.default_rng(SIZE.seed), 200_000)
    for values in (series.y_true / series.lower_band, np.log(series.lower_band)):
        assert abs(np.corrcoef(values[1:], values[:-1])[0, 1] - populations.MEMORY) < 0.01


@pytest.mark.parametrize("name", bench.EQUAL_SCORES)
def test_pairs_of_equal_models_are_equal_in_a_large_sample(name: str) -> None:
    pairs = bench.EQUAL_SCORES[name](np.random.default_rng(SIZE.seed), 300_000)
    for kind, pair in pairs.items():
        models = dict(zip("ab", pair, strict=True))
        test = ucc.assess(
            models, confidence_level=0.9999, axes=bench.UNUSED, **bench.RANKED_BY[kind]
        ).comparisons[0]
        assert test.low <= 0 <= test.high, kind
        assert test.high - test.low < 0.15 * ucc.UCC(pair[0]).interval_score(coverage=0.9), kind


def test_pairs_of_equal_gains_and_skill_are_equal_in_a_large_sample() -> None:
    rng = np.random.default_rng(SIZE.seed)
    for ratio in (1 / 3, 3):
        gains = [
            ucc.UCC(one).gain(axes=("bandwidth", "deficit"))
            for one in populations.same_gain(rng, 500_000, ratio)
        ]
        skills = [ucc.UCC(one).skill() for one in populations.same_skill(rng, 500_000, ratio)]
        assert abs(gains[0] - gains[1]) < 0.02
        assert abs(skills[0] - skills[1]) < 0.003


def test_noise_of_two_values_has_the_area_of_lognormal_noise() -> None:
    assert abs(np.cosh(np.log(populations.TWO_POINTS["area"])) - np.exp(1 / 8)) < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n", "stated"),
    [
        ("same predictions, other shapes", 100, 0.05),
        ("other predictions", 100, 0.08),
        ("errors x 3, light tails", 100, 0.06),
        ("errors x 3, heavy tails", 300, 0.16),
    ],
)
def test_t_tests_of_equal_models_rarely_reject(name: str, n: int, stated: float) -> None:
    for kind, share in shares(bench.t_test_size(name, n, SIZE)).items():
        assert share <= stated + slack(stated, SIZE), kind


def test_swaps_of_equal_areas_rarely_reject() -> None:
    for kind, share in shares(bench.swap_test_size(100, SIZE)).items():
        assert share <= 0.06 + slack(0.06, SIZE), kind


@pytest.mark.parametrize("ratio", [1 / 3, 1, 3])
def test_sign_flips_of_equal_gains_rarely_reject(ratio: float) -> None:
    row = bench.flip_test_size(100, ratio, FEW)
    for kind, stated in {"flips, gain d vs. b": 0.17, "flips, skill": 0.06}.items():
        assert row[kind] <= stated + slack(stated, FEW), kind


@pytest.mark.slow
def test_dependent_rows_raise_false_alarms_unless_they_are_blocks() -> None:
    known, unknown = (bench.size_by_clusters(30, flag, FEW) for flag in (True, False))
    blocks, rows = (bench.size_of_series(count, FEW) for count in (16, None))
    for kind in shares(known):
        assert max(known[kind], blocks[kind]) <= 0.07 + slack(0.07, FEW), kind
        assert min(unknown[kind], rows[kind]) > 0.15, kind


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 5, 12])
def test_a_verdict_among_equal_models_is_rarely_decided(count: int) -> None:
    size = SIZE._replace(samples=600 // count)
    row = bench.verdict_alarms(300, count, size)
    for kind in ("decided by score", "decided by CRPS"):
        assert row[kind] <= 0.05 + slack(0.05, size), kind


@pytest.mark.slow
@pytest.mark.parametrize("promised", [True, False])
def test_twenty_segments_that_are_covered_alike_rarely_fail(promised: bool) -> None:
    assert bench.segment_alarms(1000, promised, FEW)["any fails"] <= 0.05 + slack(0.05, FEW)


def test_a_real_difference_is_found() -> None:
    row = bench.power("oracle vs. noisy bands", 300, FEW)
    assert min(row["t, score"], row["t, CRPS"], row["swaps, d vs. b"]) > 0.9


def test_the_papers_axes_prefer_half_the_variation() -> None:
    row = bench.power("oracle vs. sqrt(sigma)", 300, FEW)
    assert row["m vs. b, wrong way"] > 0.9
    assert min(row["t, score"], row["t, CRPS"]) > 0.3
