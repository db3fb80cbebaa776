"""Resampling and swapping rows of curves over a model's levels: with one level it is the ordinary thing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from level_oracle import Nested, nested
from uccurve import UCC, Intervals, bootstrap, permutation_test
from uccurve.resampling import DrawnUnits
from uccurve.resampling.statistics import CurveStatistic, summed

CLOSED: list[Any] = [("bandwidth", "miss_rate"), ("deficit", "bandwidth"), ("overshoot", "deficit")]
OPEN: list[Any] = [("excess", "deficit"), ("miss_rate", "excess"), ("overshoot", "miss_rate")]


def two_models(n: int = 60, seed: int = 0, *, alike: bool = False) -> tuple[UCC, UCC]:
    """One model that knows the spread of the errors and one that does not, at different levels and sizes."""
    rng = np.random.default_rng(seed)
    size, other = np.exp(rng.normal(size=(2, n)) / 2)
    y, p = size * rng.laplace(size=n), np.zeros(n)
    skew = rng.uniform(0.8, 1.2, n)
    good = {
        q: Intervals.from_bands(y, p, -np.log(1 - q) * size, -np.log(1 - q) * size * skew)
        for q in (0.2, 0.5, 0.9)
    }
    guess = size if alike else other
    rest = {
        q: Intervals.from_bands(y, p, 4 * q * guess * skew[::-1], 4 * q**2 * guess)
        for q in (0.3, 0.8)
    }
    return UCC.from_levels(good), UCC.from_levels(rest)


def of_rows(curve: UCC, rows: Any) -> UCC:
    return UCC.from_levels(
        {level: iv[rows] for level, iv in zip(curve.levels, curve._levels, strict=True)}
    )


# ---- sums and curves say the same


OPTIONS: list[dict[str, Any]] = [
    *({"asked": name, "axes": axes} for name in ("area", "gain") for axes in CLOSED + OPEN),
    {"asked": "area", "axes": CLOSED[0], "miss_rate": (0.1, 0.5)},
    {"asked": "gain", "axes": OPEN[0], "miss_rate": (0.2, 0.7)},
    {"asked": "crps", "axes": CLOSED[0]},
    {"asked": "skill", "axes": CLOSED[0]},
]


def from_sums(curve: UCC, statistic: CurveStatistic, counts: Any) -> Any:
    """The statistic of rows that are drawn as often as a line of `counts` says, from sums over single rows."""
    table, values = summed(curve.path(), statistic, np.arange(counts.shape[1]), counts.shape[1])
    return values(counts @ table)


@given(nested(), st.sampled_from(CLOSED + OPEN), st.sampled_from(["area", "crps"]))
def test_sums_over_rows_give_the_curve_of_rows_drawn_several_times(
    data: Nested, axes: Any, asked: Any
) -> None:
    curve = data.curve()
    path = curve.path()
    if path.has_uncoverable_rows and asked == "area":
        return
    statistic = CurveStatistic.of(curve, asked, axes=axes)
    kept = np.flatnonzero(curve.intervals.weight)
    counts = np.random.default_rng(0).integers(0, 3, size=(4, len(kept))).astype(float)
    counts[:, 0] += 1.0
    expected = [
        statistic.value(of_rows(curve, np.repeat(kept, line.astype(int)))) for line in counts
    ]
    size = (
        1
        + path.error.max() ** 2
        + curve.intervals.upper_band.max() ** 2
        + curve.intervals.lower_band.max() ** 2
    )
    found = from_sums(curve, statistic, counts)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-11 * size * (1 + path.end))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_each_resample_is_the_statistic_of_rows_drawn_with_replacement(
    options: dict[str, Any],
) -> None:
    curve, _ = two_models(n=25)
    given = {name: value for name, value in options.items() if name != "asked"}
    found = bootstrap(curve, statistic=options["asked"], seed=3, n_resamples=20, **given)
    statistic = CurveStatistic.of(curve, options["asked"], **given)
    counts = DrawnUnits(curve.intervals, None, 3).counts(20)
    expected = [
        statistic.value(of_rows(curve, np.repeat(np.arange(25), line.astype(int))))
        for line in counts
    ]
    assert_allclose(found.distribution, expected, rtol=1e-9, atol=1e-11)
    assert_allclose(found.estimate, statistic.value(curve), rtol=1e-12)


@pytest.mark.parametrize("statistic", ["score", "half_width", "scale"])
def test_a_coverage_asks_for_the_interval_of_that_level(statistic: Any) -> None:
    """As in `UCC.decompose`: at 0.6 it lies between the levels 0.5 and 0.9, and above the widest it is the widest."""
    curve, _ = two_models(n=30)
    for coverage in (0.6, 0.95):
        level = curve.intervals_at(level=min(coverage, 0.9))
        options: dict[str, Any] = {
            "statistic": statistic,
            "coverage": coverage,
            "n_resamples": 50,
            "seed": 2,
        }
        assert_array_equal(
            bootstrap(curve, **options).distribution, bootstrap(level, **options).distribution
        )
    assert_allclose(
        bootstrap(curve, statistic="score", coverage=0.6, n_resamples=9, seed=0).estimate,
        curve.decompose(coverage=0.6).best,
    )


# ---- permutation test


def one_level(seed: int, n: int) -> tuple[Intervals, Intervals]:
    rng = np.random.default_rng(seed)
    y, p = rng.laplace(size=n), np.zeros(n)
    bands = rng.uniform(0.5, 2, size=(3, n))
    return Intervals.from_bands(y, p, bands[0], bands[1]), Intervals.from_bands(
        y, p, 3 * bands[2], bands[1]
    )


@pytest.mark.parametrize("axes", CLOSED + OPEN)
@pytest.mark.parametrize("statistic", ["area", "gain", "skill"])
def test_with_one_level_it_is_the_ordinary_test(axes: Any, statistic: Any) -> None:
    a, b = one_level(0, 7)
    ordinary = permutation_test(a, b, statistic=statistic, axes=axes)
    both = permutation_test(
        UCC.from_levels({0.9: a}), UCC.from_levels({0.5: b}), statistic=statistic, axes=axes
    )
    mixed = permutation_test(a, UCC.from_levels({0.5: b}), statistic=statistic, axes=axes)
    for ours in (both, mixed):
        assert ours.every_swap
        assert_allclose(ours.statistic, ordinary.statistic, rtol=1e-10)
        assert_allclose(ours.null_distribution, ordinary.null_distribution, rtol=1e-8, atol=1e-11)
        assert ours.pvalue == ordinary.pvalue


@pytest.mark.parametrize("statistic", ["half_width", "scale", "score"])
def test_a_scaled_interval_and_a_model_with_levels_are_compared_at_a_coverage(
    statistic: Any,
) -> None:
    a, b = two_models(n=7)
    for coverage in (0.25, 0.6):
        options: dict[str, Any] = {"statistic": statistic, "coverage": coverage}
        mixed = permutation_test(a.intervals, b, **options)
        ordinary = permutation_test(a.intervals, b.intervals_at(level=coverage), **options)
        assert_array_equal(mixed.null_distribution, ordinary.null_distribution)


@pytest.mark.parametrize("axes", [CLOSED[1], OPEN[0]])
def test_every_swap_counts_once_and_turning_the_models_turns_the_sign(axes: Any) -> None:
    a, b = two_models(n=6)
    test, turned = (permutation_test(one, two, axes=axes) for one, two in ((a, b), (b, a)))
    assert len(test.null_distribution) == 64
    assert_allclose(np.sort(test.null_distribution), np.sort(-test.null_distribution), atol=1e-12)
    assert_allclose(test.statistic, a.area(axes=axes) - b.area(axes=axes), rtol=1e-12)
    assert (turned.statistic, turned.pvalue) == (-test.statistic, test.pvalue)
    assert_allclose(test.null_distribution[0], test.statistic, rtol=1e-9)


def test_bands_that_move_in_different_ways_are_compared_by_flipping_signs() -> None:
    a, b = one_level(2, 7)
    levels, other = two_models(n=7)
    pairs = (
        (UCC(a), UCC(b, vary="shift")),
        (levels, UCC(other.intervals)),
        (UCC(other.intervals, vary="shift"), levels),
    )
    for one, two in pairs:
        test = permutation_test(one, two, axes=("bandwidth", "deficit"))
        areas = [curve.area(axes=("bandwidth", "deficit")) for curve in (one, two)]
        assert_allclose((test.statistic, test.null_distribution[0]), areas[0] - areas[1], rtol=1e-9)
        assert_allclose(
            np.sort(test.null_distribution), np.sort(-test.null_distribution), atol=1e-12
        )
        assert (len(test.null_distribution), test.note) == (128, "")


def test_a_better_model_is_found_and_equal_ones_are_not_called_different() -> None:
    axes: Any = ("bandwidth", "deficit")
    a, b = two_models(n=200)
    assert permutation_test(a, b, axes=axes, seed=0, n_resamples=1999).pvalue < 0.01
    gain = permutation_test(
        a, b, axes=axes, statistic="gain", alternative="greater", seed=0, n_resamples=1999
    )
    assert gain.pvalue < 0.01
    assert (
        permutation_test(a, b, axes=axes, alternative="greater", seed=0, n_resamples=1999).pvalue
        > 0.9
    )
    assert permutation_test(a, a, axes=axes, seed=0, n_resamples=99).note.startswith(
        "the statistic is the same"
    )


def test_models_that_are_equally_good_are_called_different_as_often_as_promised() -> None:
    pvalues = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        y, p = rng.laplace(size=40), np.zeros(40)
        models = []
        for _ in range(2):  # each guesses the widths at random
            guess = rng.uniform(0.5, 2, 40)
            models.append(
                UCC.from_levels(
                    {q: Intervals.from_bands(y, p, -np.log(1 - q) * guess) for q in (0.5, 0.9)}
                )
            )
        pvalues.append(permutation_test(*models, n_resamples=199, seed=seed).pvalue)
    assert 0.02 <= np.mean(np.array(pvalues) <= 0.1) <= 0.18  # 0.1, 4 standard errors


# ---- bootstrap


@pytest.mark.parametrize("axes", [CLOSED[0], OPEN[0]])
@pytest.mark.parametrize("method", ["BCa", "percentile"])
def test_with_one_level_it_is_the_ordinary_bootstrap(axes: Any, method: Any) -> None:
    iv, _ = one_level(1, 30)
    options: dict[str, Any] = {"axes": axes, "method": method, "n_resamples": 199, "seed": 5}
    ours, ordinary = bootstrap(UCC.from_levels({0.9: iv}), **options), bootstrap(iv, **options)
    assert_allclose(ours.estimate, ordinary.estimate, rtol=1e-10)
    assert_allclose(ours.distribution, ordinary.distribution, rtol=1e-8, atol=1e-10)
    assert_allclose((ours.low, ours.high), (ordinary.low, ordinary.high), rtol=1e-6, atol=1e-9)


def test_weights_and_blocks_go_with_their_rows() -> None:
    a, b = two_models(n=20)
    block = np.repeat(np.arange(5), 4)
    test = permutation_test(a, b, block=block, axes=("bandwidth", "deficit"))
    assert (test.units, len(test.null_distribution)) == (5, 32)
    doubled = []
    for curve in (a, b):
        weight = np.tile([2.0, 1.0], 10)
        levels = {
            level: Intervals.from_bands(
                iv.y_true, iv.y_pred, iv.lower_band, iv.upper_band, weight=weight
            )
            for level, iv in zip(curve.levels, curve._levels, strict=True)
        }
        doubled.append(UCC.from_levels(levels))
    repeated = [of_rows(curve, np.repeat(np.arange(20), np.tile([2, 1], 10))) for curve in (a, b)]
    for axes in (CLOSED[1], OPEN[0]):
        weighted = permutation_test(*doubled, block=block, axes=axes)
        twice = permutation_test(*repeated, block=np.repeat(np.arange(5), 6), axes=axes)
        assert_allclose(weighted.null_distribution, twice.null_distribution, rtol=1e-9, atol=1e-12)
        options: dict[str, Any] = {"axes": axes, "n_resamples": 99, "seed": 0}
        assert_allclose(
            bootstrap(doubled[0], block=block, **options).distribution,
            bootstrap(repeated[0], block=np.repeat(np.arange(5), 6), **options).distribution,
            rtol=1e-9,
        )


def test_partial_areas_are_tested_too() -> None:
    a, b = two_models(n=6)
    axes: Any = ("bandwidth", "deficit")
    partial = permutation_test(a, b, axes=axes, miss_rate=(0.1, 1.0))
    areas = [curve.area(axes=axes, miss_rate=(0.1, 1.0)) for curve in (a, b)]
    assert_allclose(partial.statistic, areas[0] - areas[1], rtol=1e-12)
    assert_allclose(partial.null_distribution[0], partial.statistic, rtol=1e-9)


def test_many_rows_are_resampled_over_knots(monkeypatch: pytest.MonkeyPatch) -> None:
    curve, _ = two_models(n=1500)
    for statistic in ("gain", "skill"):
        few = bootstrap(curve, statistic=statistic, seed=0, n_resamples=40)
        with monkeypatch.context() as patch:
            patch.setattr("uccurve.resampling.knots.MOST_VERTICES", 10**9)
            every = bootstrap(curve, statistic=statistic, seed=0, n_resamples=40)
        assert np.max(np.abs(few.distribution - every.distribution)) < 0.1 * every.standard_error


# ---- refusals


def test_what_cannot_be_compared_is_refused() -> None:
    a, b = two_models(n=8)
    with pytest.raises(ValueError, match="must have the same rows: 8 against 9"):
        permutation_test(a, two_models(n=9)[0])
    with pytest.raises(ValueError, match="needs bands that are scaled, not shifted"):
        permutation_test(a, UCC(b.intervals, vary="shift"), statistic="scale", coverage=0.8)
    with pytest.raises(
        ValueError, match="`statistic` as a callable takes Intervals; a curve of levels has several"
    ):
        permutation_test(a.intervals, b, statistic=lambda _: 0.0)
    with pytest.raises(ValueError, match="`coverage` must be given for score"):
        bootstrap(a, statistic="score")
    with pytest.raises(ValueError, match="at least two rows"):
        bootstrap(two_models(n=1)[0])
    with pytest.raises(
        ValueError, match="`statistic` as a callable takes Intervals; a curve of levels has several"
    ):
        bootstrap(a, statistic=lambda _: 0.0)
    zero = UCC.from_levels({0.9: Intervals.from_bands([1.0, 2.0], [0.0, 0.0], [1.0, 0.0])})
    with pytest.raises(
        ValueError,
        match="`a` must have a finite area: 1 of 2 rows have an error on the side of a zero",
    ):
        permutation_test(zero, zero)
