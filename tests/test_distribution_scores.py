"""Pinball, CRPS and weighted interval score agree with their definitions, with peers and with each other."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from refusal import HUGE, UNIT, refused
from uccurve import _scoring as rowscores
from uccurve.scores import crps_score, interval_score, pinball_score, wis_score

# Four rows, five draws each: tied, skewed, off-centre, observations within and outside the draws and on one of them.
Y = np.array([1.0, 5.0, -3.0, 0.5])
DRAWS = np.array(
    [
        [0.5, 4.0, -2.0, 0.25],
        [2.5, 7.5, -1.0, 0.0],
        [0.5, 4.0, 3.0, 9.0],
        [6.0, 2.5, -8.0, 0.5],
        [1.0, 4.5, -1.0, -1.5],
    ]
)
WEIGHT = np.array([1.0, 3.0, 2.0, 0.0])
MEDIAN = np.array([0.75, 4.0, -1.0, 0.25])
LOWER = np.array([[0.25, -1.0], [4.0, 2.0], [-2.0, -8.0], [0.25, -1.0]])
UPPER = np.array([[1.5, 6.0], [4.5, 4.75], [0.0, 3.0], [0.5, 0.75]])
LEVELS = [0.5, 0.9]
LEAVE = "Hint: leave such rows out first."


def two_outputs(array: Any, axis: int = -1) -> Any:
    """The array beside another one: ten times its negative."""
    return np.stack([array, -10 * array], axis=axis)


# ---- definitions in exact loops


def exact_pinball(y: float, quantile: float, level: Fraction) -> Fraction:
    error = Fraction(y) - Fraction(quantile)
    return level * error if error > 0 else (1 - level) * -error


def exact_crps(y: float, draws: list[float]) -> Fraction:
    """The integral of (F(x) - 1{x >= y})^2, step by step."""
    points = sorted(Fraction(x) for x in [*draws, y])
    total = Fraction(0)
    for left, right in pairwise(points):
        below = Fraction(sum(Fraction(x) <= left for x in draws), len(draws))
        total += (right - left) * (below - (Fraction(y) <= left)) ** 2
    return total


def exact_wis(row: int) -> tuple[Fraction, Fraction, Fraction]:
    """Dispersion, under- and overprediction as Bracher and others define them: interval scores times alpha / 2."""
    y, median = Fraction(Y[row]), Fraction(MEDIAN[row])
    dispersion, under, over = (
        Fraction(0),
        max(y - median, Fraction(0)) / 2,
        max(median - y, Fraction(0)) / 2,
    )
    for column, alpha in enumerate((Fraction(1, 2), Fraction(1, 10))):
        low, high = Fraction(LOWER[row, column]), Fraction(UPPER[row, column])
        dispersion += alpha / 2 * (high - low)
        if y < low:
            over += alpha / 2 * (2 / alpha) * (low - y)
        if y > high:
            under += alpha / 2 * (2 / alpha) * (y - high)
    return dispersion / Fraction(5, 2), under / Fraction(5, 2), over / Fraction(5, 2)


numbers = st.one_of(
    st.integers(-4, 4).map(float), st.floats(-1e6, 1e6).map(lambda x: float(np.float32(x)))
)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=6), st.integers(1, 99))
def test_the_pinball_loss_is_its_definition(rows: list[tuple[float, float]], percent: int) -> None:
    y, quantile = zip(*rows, strict=True)
    exact = sum(exact_pinball(a, b, Fraction(percent, 100)) for a, b in rows) / len(rows)
    assert_allclose(pinball_score(y, quantile, quantile=percent / 100), float(exact), rtol=1e-12)


@given(numbers, st.lists(numbers, min_size=1, max_size=9))
def test_the_crps_of_draws_is_the_integral_of_the_squared_difference(
    y: float, draws: list[float]
) -> None:
    found = crps_score([y], np.array(draws)[:, None])
    assert_allclose(found, float(exact_crps(y, draws)), rtol=1e-12)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_the_weighted_interval_score_is_its_definition(weight: Any) -> None:
    parts = np.array([[float(part) for part in exact_wis(row)] for row in range(4)])
    expected = np.average(parts, axis=0, weights=weight)
    assert (expected > 0).all()
    assert_allclose(
        wis_score(Y, MEDIAN, LOWER, UPPER, levels=LEVELS, sample_weight=weight),
        expected.sum(),
        rtol=1e-14,
    )
    split = rowscores.wis(Y, MEDIAN, list(LOWER.T), list(UPPER.T), [0.5, 0.1])
    assert_allclose([np.average(part, weights=weight) for part in split], expected, rtol=1e-14)
    assert_allclose(split.score, parts.sum(axis=1), rtol=1e-14)


# ---- peers, with the numbers they gave


def test_the_crps_of_draws_is_that_of_two_peers() -> None:
    # properscoring 0.1, crps_ensemble; scoringrules 0.10.0, crps_ensemble(estimator="qd")
    peer = np.array([0.46, 0.66, 1.36, 0.53])
    assert_allclose(rowscores.crps_of_samples(Y, DRAWS), peer, rtol=1e-14)
    assert_allclose(
        crps_score(Y, DRAWS, sample_weight=WEIGHT), np.average(peer, weights=WEIGHT), rtol=1e-14
    )


def test_the_weighted_interval_score_is_that_of_a_peer() -> None:
    # scoringrules 0.10.0, weighted_interval_score(backend="numba"). Its numpy backend adds half the median instead of
    # half the distance to it: 0.415, 1.205, 0.62, 0.11.
    parts = rowscores.wis(Y, MEDIAN, list(LOWER.T), list(UPPER.T), [0.5, 0.1])
    assert_allclose(parts.score, [0.315, 0.605, 1.22, 0.11], rtol=1e-14)


def test_scores_agree_with_the_peers_that_are_installed() -> None:
    scoringrules, properscoring = (
        pytest.importorskip("scoringrules"),
        pytest.importorskip("properscoring"),
    )
    rng = np.random.default_rng(4)
    y, draws = rng.gamma(1.3, 4.0, 60) - 2, rng.lognormal(1.0, 0.9, (37, 60)).round(1)
    crps = rowscores.crps_of_samples(y, draws)
    assert_allclose(crps, scoringrules.crps_ensemble(y, draws.T, estimator="qd"), rtol=1e-12)
    assert_allclose(crps, properscoring.crps_ensemble(y, draws.T), rtol=1e-12)
    middles = (np.arange(37) + 0.5) / 37
    assert_allclose(
        crps, scoringrules.crps_quantile(y, np.sort(draws, axis=0).T, middles), rtol=1e-12
    )
    for quantile in (0.1, 0.5, 0.85):
        predicted = np.quantile(draws, quantile, axis=0)
        peer = scoringrules.quantile_score(y, predicted, quantile).mean()
        assert_allclose(pinball_score(y, predicted, quantile=quantile), peer, rtol=1e-12)


def test_the_weighted_interval_score_is_made_of_a_peer_s_interval_scores_and_not_of_its_own_sum() -> (
    None
):
    peer = pytest.importorskip("scoringrules")
    rng = np.random.default_rng(5)
    y, median, alpha = rng.gamma(1.3, 4.0, 60) - 2, rng.normal(3, 1, 60), np.array([0.5, 0.2, 0.05])
    low, high = (
        median[:, None] + sign * np.cumsum(rng.exponential(1, (60, 3)), axis=1) for sign in (-1, 1)
    )
    scores = sum(
        a / 2 * peer.interval_score(y, low[:, i], high[:, i], a)
        for i, a in enumerate(alpha.tolist())
    )
    found = rowscores.wis(y, median, list(low.T), list(high.T), alpha.tolist()).score
    assert_allclose(found, (np.abs(y - median) / 2 + scores) / 3.5, rtol=1e-12)
    if (
        peer.__version__ == "0.10.0"
    ):  # its numpy backend takes the median itself for the distance to it
        wrong = peer.weighted_interval_score(y, median, low, high, alpha, backend="numpy")
        assert_allclose(wrong, (np.abs(median) / 2 + scores) / 3.5, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_crps_is_half_the_squared_energy_distance_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y, draws = rng.gamma(1.3, 4.0, 50) - 2, rng.lognormal(1.0, 0.9, (37, 50)).round(1)
    expected = [stats.energy_distance(draws[:, row], [y[row]]) ** 2 / 2 for row in range(50)]
    assert_allclose(rowscores.crps_of_samples(y, draws), expected, rtol=1e-12)


def test_the_pinball_loss_is_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    y, quantile = two_outputs(Y), two_outputs(MEDIAN)
    found = pinball_score(y, quantile, quantile=0.8, sample_weight=WEIGHT)
    peer = metrics.mean_pinball_loss(y, quantile, alpha=0.8, sample_weight=WEIGHT)
    assert_allclose(found, peer, rtol=1e-14)


# ---- against each other


def test_sorted_draws_as_quantiles_score_as_draws() -> None:
    levels = (np.arange(5) + 0.5) / 5
    found = crps_score(Y, np.sort(DRAWS, axis=0), quantile_levels=levels, sample_weight=WEIGHT)
    assert_allclose(found, crps_score(Y, DRAWS, sample_weight=WEIGHT), rtol=1e-14)


def test_quantile_levels_may_be_given_in_any_order() -> None:
    levels, quantiles, order = (
        np.array([0.1, 0.3, 0.5, 0.7, 0.9]),
        np.sort(DRAWS, axis=0),
        [3, 0, 4, 1, 2],
    )
    found = crps_score(Y, quantiles[order], quantile_levels=levels[order])
    assert found == crps_score(Y, quantiles, quantile_levels=levels)


def test_quantiles_are_weighted_by_the_distances_between_their_levels() -> None:
    quantiles = [[0.0], [1.0], [4.0]]  # cells from 0 to 0.15, to 0.55, to 1
    losses = [
        exact_pinball(3.0, x, level)
        for x, level in zip((0, 1, 4), map(Fraction, ("0.1", "0.2", "0.9")), strict=True)
    ]
    expected = 2 * (
        Fraction("0.15") * losses[0] + Fraction("0.4") * losses[1] + Fraction("0.45") * losses[2]
    )
    assert_allclose(
        crps_score([3.0], quantiles, quantile_levels=[0.1, 0.2, 0.9]), float(expected), rtol=1e-14
    )


@pytest.mark.parametrize("y", [-0.4, 1.0, 2.5])
def test_quantiles_of_a_normal_distribution_tend_to_its_crps(y: float) -> None:
    exact = y * (2 * stats.norm.cdf(y) - 1) + 2 * stats.norm.pdf(y) - 1 / np.sqrt(np.pi)
    inner = np.array([0.01, 0.025, *np.arange(0.05, 0.5, 0.05)])
    uneven = np.concatenate([inner, [0.5], 1 - inner[::-1]])
    found = crps_score([y], stats.norm.ppf(uneven)[:, None], quantile_levels=uneven)
    assert_allclose(found, exact, rtol=0.01)  # equal weights of the 23 quantiles are 9 to 11% off
    fine = stats.norm.cdf(np.linspace(-6, 6, 4001))
    found = crps_score([y], stats.norm.ppf(fine)[:, None], quantile_levels=fine)
    assert_allclose(found, exact, rtol=1e-6)


def test_the_weighted_interval_score_is_twice_the_mean_pinball_loss_of_all_quantiles() -> None:
    quantiles = [
        (0.05, LOWER[:, 1]),
        (0.25, LOWER[:, 0]),
        (0.5, MEDIAN),
        (0.75, UPPER[:, 0]),
        (0.95, UPPER[:, 1]),
    ]
    losses = [
        float(pinball_score(Y, values, quantile=level, sample_weight=WEIGHT))
        for level, values in quantiles
    ]
    found = wis_score(Y, MEDIAN, LOWER, UPPER, levels=LEVELS, sample_weight=WEIGHT)
    assert_allclose(found, 2 * np.mean(losses), rtol=1e-14)


def test_a_level_adds_half_its_alpha_times_its_interval_score() -> None:
    rest = 1.5 * float(wis_score(Y, MEDIAN, LOWER[:, :1], UPPER[:, :1], levels=[0.5]))
    both = 2.5 * float(wis_score(Y, MEDIAN, LOWER, UPPER, levels=LEVELS))
    assert_allclose(
        both - rest, 0.05 * interval_score(Y, LOWER[:, 1], UPPER[:, 1], coverage=0.9), rtol=1e-13
    )


@pytest.mark.parametrize(("count", "off"), [(4, 0.02), (40, 2e-3), (400, 2e-4), (4000, 2e-5)])
def test_the_weighted_interval_score_of_many_quantiles_tends_to_the_crps(
    count: int, off: float
) -> None:
    rng = np.random.default_rng(11)
    y, draws = rng.gamma(2.0, 2.0, 40), rng.lognormal(1.0, 0.7, (201, 40))
    levels = np.arange(1, count + 1) / (count + 0.5)
    tails = (
        np.quantile(draws, (1 + side * levels) / 2, axis=0, method="inverted_cdf").T
        for side in (-1, 1)
    )
    assert_allclose(
        wis_score(y, np.median(draws, axis=0), *tails, levels=levels),
        crps_score(y, draws),
        rtol=off,
    )


def test_the_weighted_interval_score_of_all_order_statistics_is_the_crps() -> None:
    rng = np.random.default_rng(12)
    y, draws = rng.gamma(2.0, 2.0, 30), np.sort(rng.lognormal(1.0, 0.7, (101, 30)), axis=0)
    lower, median, upper = draws[49::-1].T, draws[50], draws[51:].T
    levels = 2 * np.arange(1, 51) / 101  # draw i is the quantile (i - 1/2) / 101
    assert_allclose(
        wis_score(y, median, lower, upper, levels=levels), crps_score(y, draws), rtol=1e-12
    )


def test_mirrored_data_swap_under_and_overprediction() -> None:
    split = rowscores.wis(Y, MEDIAN, list(LOWER.T), list(UPPER.T), [0.5, 0.1])
    mirrored = rowscores.wis(-Y, -MEDIAN, list(-UPPER.T), list(-LOWER.T), [0.5, 0.1])
    assert split.underprediction.sum() != split.overprediction.sum()
    assert_allclose(
        (mirrored.score, mirrored.dispersion, mirrored.overprediction, mirrored.underprediction),
        (split.score, split.dispersion, split.underprediction, split.overprediction),
        rtol=1e-14,
    )


def test_levels_may_come_in_any_order() -> None:
    found = wis_score(Y, MEDIAN, LOWER[:, ::-1], UPPER[:, ::-1], levels=[0.9, 0.5])
    assert found == wis_score(Y, MEDIAN, LOWER, UPPER, levels=LEVELS)


# ---- outputs, weights, layout

SCORES = {
    "pinball": lambda y, m, _, **options: pinball_score(y, m, quantile=0.8, **options),
    "crps": lambda y, _, d, **options: crps_score(y, d, **options),
    "quantiles": lambda y, _, d, **options: crps_score(
        y, np.sort(d, axis=0), quantile_levels=[0.1, 0.2, 0.4, 0.8, 0.9], **options
    ),
    "wis": lambda y, _, d, **options: wis_score(y, *nested(d), levels=LEVELS, **options),
}


def nested(draws: Any) -> tuple[Any, Any, Any]:
    ordered = np.moveaxis(np.sort(draws, axis=0), 0, -1)
    return ordered[..., 2], ordered[..., [1, 0]], ordered[..., [3, 4]]


@pytest.fixture(params=SCORES)
def score(request: pytest.FixtureRequest) -> Any:
    """A score of observations, one prediction per row, and draws."""
    return SCORES[request.param]


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_the_score_of_several_outputs_is_their_average(score: Any, weight: Any) -> None:
    data = (two_outputs(Y), two_outputs(MEDIAN), two_outputs(DRAWS))
    each = [
        score(*(array[..., output] for array in data), sample_weight=weight) for output in (0, 1)
    ]
    assert all(type(value) is float for value in each)
    mean = score(*data, sample_weight=weight)
    assert type(mean) is float
    assert_allclose(mean, (each[0] + each[1]) / 2, rtol=1e-14)
    weights = np.ones((4, 1)) if weight is None else weight[:, None]
    found = score(*data, sample_weight=weights * [3, 1])
    assert_allclose(found, (3 * each[0] + each[1]) / 4, rtol=1e-14)


def test_an_integer_weight_is_the_row_repeated(score: Any) -> None:
    times = WEIGHT.astype(int)
    repeated = (np.repeat(Y, times), np.repeat(MEDIAN, times), np.repeat(DRAWS, times, axis=1))
    assert_allclose(score(Y, MEDIAN, DRAWS, sample_weight=WEIGHT), score(*repeated), rtol=1e-14)


def test_a_score_is_in_units_of_the_data_and_does_not_depend_on_their_origin(score: Any) -> None:
    found = score(8 * Y + 64, 8 * MEDIAN + 64, 8 * DRAWS + 64)
    assert_allclose(found, 8 * score(Y, MEDIAN, DRAWS), rtol=1e-14)


@pytest.mark.parametrize("scale", [2.0**1019, 2.0**-900])
def test_scores_keep_their_digits_near_the_ends_of_float64(score: Any, scale: float) -> None:
    y, median, draws = (np.repeat(array, 2, axis=-1) for array in (Y, MEDIAN, DRAWS))
    assert_allclose(
        score(y * scale, median * scale, draws * scale) / scale, score(Y, MEDIAN, DRAWS), rtol=1e-14
    )


@pytest.mark.parametrize("block", [1, 12, 2**15])
def test_blocks_do_not_change_the_crps(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    rng = np.random.default_rng(5)
    y, draws = rng.gamma(1.0, 1.0, (7, 3)), rng.lognormal(0, 1, (5, 7, 3))
    expected = [
        [float(exact_crps(y[i, j], draws[:, i, j].tolist())) for j in range(3)] for i in range(7)
    ]
    monkeypatch.setattr(rowscores, "BLOCK", block)
    assert_allclose(rowscores.crps_of_samples(y, draws), expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, ">f8", np.int64, object])
def test_draws_of_any_type_and_order_are_the_same_draws(dtype: Any) -> None:
    draws = (4 * DRAWS).astype(dtype)
    expected = crps_score(4 * Y, 4 * DRAWS)
    assert_allclose(crps_score(4 * Y, draws), expected, rtol=1e-14)
    assert_allclose(crps_score(4 * Y, np.asfortranarray(draws)), expected, rtol=1e-14)
    assert_allclose(crps_score(4 * Y, np.repeat(draws, 2, axis=0)[::2]), expected, rtol=1e-14)
    assert_allclose(crps_score(4 * Y, draws.tolist()), expected, rtol=1e-14)


def test_draws_are_left_as_they_were() -> None:
    draws = DRAWS.copy()
    draws.setflags(write=False)
    crps_score(Y, draws)
    crps_score(Y, np.sort(draws, axis=0), quantile_levels=[0.1, 0.2, 0.3, 0.4, 0.5])
    assert_array_equal(draws, DRAWS)


def test_the_crps_needs_little_memory_beside_the_draws() -> None:
    rng = np.random.default_rng(6)
    y, draws = rng.normal(size=20_000), rng.normal(size=(100, 20_000))
    tracemalloc.start()
    try:
        crps_score(y, draws)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < draws.nbytes / 8


# ---- refusals


@pytest.mark.parametrize("quantile", [0, 1, 95, -0.1])
def test_a_quantile_of_0_or_1_or_beyond_is_refused(quantile: float) -> None:
    sentence = (
        f"`quantile` must lie between 0 and 1, both excluded; got {quantile:g}. Hint: 90% is 0.9."
    )
    refused(sentence, pinball_score, Y, MEDIAN, quantile=quantile)


def test_a_quantile_is_a_number() -> None:
    sentence = "`quantile` must be a number between 0 and 1; got '95'. Hint: 90% is 0.9."
    refused(sentence, pinball_score, Y, MEDIAN, quantile="95", error=TypeError)


@pytest.mark.parametrize("level", [0, 1, 90, float("nan")])
def test_levels_of_0_or_1_or_beyond_are_refused(level: float) -> None:
    error: type[Exception] = TypeError if np.isnan(level) else ValueError
    rule = (
        "must be a number between 0 and 1"
        if np.isnan(level)
        else "must lie between 0 and 1, both excluded"
    )
    sentence = f"{rule}; got {float(level)}. Hint: 90% is 0.9."
    refused(
        f"`levels` {sentence}", wis_score, Y, MEDIAN, LOWER, UPPER, levels=[0.5, level], error=error
    )
    options = {"quantile_levels": [0.5, level]}
    refused(f"`quantile_levels` {sentence}", crps_score, Y, DRAWS[:2], **options, error=error)


@pytest.mark.parametrize("levels", [0.9, [], [[0.5, 0.9]]])
def test_levels_are_a_list(levels: Any) -> None:
    sentence = f"`levels` must be a list of numbers between 0 and 1; got {levels!r}."
    refused(sentence, wis_score, Y, MEDIAN, LOWER, UPPER, levels=levels)


def test_levels_differ() -> None:
    sentence = "`levels` must differ from each other; 0.9 is given twice."
    refused(sentence, wis_score, Y, MEDIAN, LOWER, UPPER, levels=[0.9, 0.9])


def test_every_level_has_one_column() -> None:
    rule = "must have the shape of `y_true`, then one column per level"
    refused(
        f"`lower` {rule}: (4, 2) against (4, 3).",
        wis_score,
        Y,
        MEDIAN,
        LOWER,
        UPPER,
        levels=[0.2, 0.5, 0.9],
    )
    refused(
        f"`upper` {rule}: (4, 1) against (4, 2).",
        wis_score,
        Y,
        MEDIAN,
        LOWER,
        UPPER[:, :1],
        levels=LEVELS,
    )
    refused(
        f"`lower` {rule}: (4,) against (4, 1).",
        wis_score,
        Y,
        MEDIAN,
        LOWER[:, 0],
        UPPER,
        levels=[0.5],
    )


def test_bounds_and_median_do_not_cross() -> None:
    lower, upper, median = LOWER.copy(), UPPER.copy(), MEDIAN.copy()
    rule = "`lower`, `median` and `upper` must not cross from one level to the next"
    hint = "Hint: sort the quantiles of each row first."
    lower[[1, 3], 1] = 4.125, 0.5
    refused(
        f"{rule}: 2 of 4 rows do, first row 1 (4.125 > 4.0). {hint}",
        wis_score,
        Y,
        MEDIAN,
        lower,
        UPPER,
        levels=LEVELS,
    )
    upper[2, 0] = 3.5
    refused(
        f"{rule}: 1 of 4 rows does, first row 2 (3.5 > 3.0). {hint}",
        wis_score,
        Y,
        MEDIAN,
        LOWER,
        upper,
        levels=LEVELS,
    )
    median[3] = 0.625
    refused(
        f"{rule}: 1 of 4 rows does, first row 3 (0.625 > 0.5). {hint}",
        wis_score,
        Y,
        median,
        LOWER,
        UPPER,
        levels=LEVELS,
    )


def test_quantiles_do_not_cross() -> None:
    sentence = (
        "`samples` must not cross from one level to the next: 3 of 4 rows do, first row 0 (2.5 > 0.5). "
        "Hint: sort the quantiles of each row first."
    )
    refused(sentence, crps_score, Y, DRAWS[:3], quantile_levels=[0.1, 0.5, 0.9])


def test_one_quantile_is_no_distribution() -> None:
    sentence = (
        "`quantile_levels` must hold at least two levels: one quantile is no distribution. "
        "Hint: `pinball_score` scores a single quantile."
    )
    refused(sentence, crps_score, Y, DRAWS[:1], quantile_levels=[0.5])


def test_quantile_levels_differ() -> None:
    sentence = "`quantile_levels` must differ from each other; 0.9 is given twice."
    refused(sentence, crps_score, Y, DRAWS[:3], quantile_levels=[0.9, 0.1, 0.9])


def test_draws_have_the_shape_of_the_observations_behind_them() -> None:
    rule = "`samples` must have draws on the first axis, then the shape of `y_true`"
    turn = "Hint: move the last axis to the front."
    refused(f"{rule}: (4, 5) against (draws, 4). {turn}", crps_score, Y, DRAWS.T)
    refused(f"{rule}: (5, 3) against (draws, 4).", crps_score, Y, DRAWS[:, :3])
    refused(f"{rule}: (4,) against (draws, 4).", crps_score, Y, Y)
    refused(f"{rule}: (0, 4) against (draws, 4).", crps_score, Y, DRAWS[:0])
    refused(f"{rule}: () against (draws, 4).", crps_score, Y, 3.0)
    refused(f"{rule}: (5, 4) against (draws, 4, 2).", crps_score, two_outputs(Y), DRAWS)
    rule = rule.replace("draws", "one quantile per level")
    refused(
        f"{rule}: (5, 4) against (3, 4).", crps_score, Y, DRAWS, quantile_levels=[0.1, 0.5, 0.9]
    )


def test_rows_of_draws_have_one_length() -> None:
    sentence = (
        "`samples` must be a regular array of numbers: its rows differ in length. "
        "Hint: give every row as many outputs as the others."
    )
    refused(sentence, crps_score, [1.0, 2.0], [[1.0, 2.0], [1.0]])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_missing_and_infinite_values_are_refused(value: float) -> None:
    draws, lower, y = np.sort(DRAWS, axis=0), LOWER.copy(), Y.copy()
    draws[2, [1, 3]] = lower[3, 1] = y[2] = value
    many = f"2 of 4 rows have a draw that is not, first row 1 ({value})"
    refused(f"`samples` must be finite: {many}. {LEAVE}", crps_score, Y, draws)
    refused(
        f"`samples` must be finite: {many}. {LEAVE}",
        crps_score,
        Y,
        np.ma.masked_invalid(draws).filled(value),
    )
    levels = [0.1, 0.2, 0.3, 0.4, 0.5]
    many = f"2 of 4 rows are not, first row 1 ({value})"
    refused(
        f"`samples` must be finite: {many}. {LEAVE}", crps_score, Y, draws, quantile_levels=levels
    )
    one = f"1 of 4 rows is not, first row 3 ({value})"
    refused(
        f"`lower` must be finite: {one}. {LEAVE}", wis_score, Y, MEDIAN, lower, UPPER, levels=LEVELS
    )
    one = one.replace("row 3", "row 2")
    refused(f"`y_true` must be finite: {one}. {LEAVE}", crps_score, y, DRAWS)
    refused(
        f"`y_true` must be finite: {one}. {LEAVE}",
        wis_score,
        y,
        MEDIAN,
        LOWER,
        UPPER,
        levels=LEVELS,
    )
    refused(f"`y_quantile` must be finite: {one}. {LEAVE}", pinball_score, Y, y, quantile=0.5)


def test_a_missing_draw_names_its_output() -> None:
    draws = two_outputs(DRAWS)
    draws[3, 2, 1] = np.nan
    sentence = (
        "`samples` must be finite: 1 of 4 rows has a draw that is not, first row 2, output 1 (nan)."
    )
    refused(f"{sentence} {LEAVE}", crps_score, two_outputs(Y), draws)


def test_distances_that_float64_cannot_hold_are_refused() -> None:
    rule = "must lie within float64 range of"
    counted = f"1 of 1 row does not, first row 0 ({-HUGE} against {HUGE})"
    refused(f"`samples` {rule} `y_true`: {counted}. {UNIT}", crps_score, [HUGE], [[0.0], [-HUGE]])
    refused(
        f"`samples` {rule} `y_true`: {counted}. {UNIT}",
        crps_score,
        [HUGE],
        [[-HUGE], [0.0]],
        quantile_levels=[0.1, 0.9],
    )
    refused(
        f"`y_true` {rule} `y_quantile`: {counted}. {UNIT}",
        pinball_score,
        [-HUGE],
        [HUGE],
        quantile=0.5,
    )
    refused(
        f"`y_true` {rule} `median`: {counted}. {UNIT}",
        wis_score,
        [-HUGE],
        [HUGE],
        [[HUGE]],
        [[HUGE]],
        levels=[0.5],
    )
