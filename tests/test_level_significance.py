"""Tests of levels curves: with one level they are the ordinary ones, and they answer for what the curve answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import uccurve as ucc
from level_oracle import Nested, nested
from uccurve import Intervals
from uccurve.compare.question import Question
from uccurve.levels.answers import Answers, LevelMoments, same_pace

CLOSED: list[Any] = [("bandwidth", "miss_rate"), ("deficit", "bandwidth"), ("overshoot", "deficit")]
OPEN: list[Any] = [("excess", "deficit"), ("miss_rate", "excess"), ("overshoot", "miss_rate")]


def question(statistic: Any, axes: Any, **options: Any) -> Question:
    return Question(statistic, axes, "scale", **options)


def two_models(n: int = 60, seed: int = 0, *, alike: bool = False) -> tuple[ucc.LevelsUCC, ucc.LevelsUCC]:
    """One model that knows the spread of the errors and one that does not, at different levels and sizes."""
    rng = np.random.default_rng(seed)
    size, other = np.exp(rng.normal(size=(2, n)) / 2)
    y, p = size * rng.laplace(size=n), np.zeros(n)
    skew = rng.uniform(0.8, 1.2, n)
    good = {q: Intervals.from_bands(y, p, -np.log(1 - q) * size, -np.log(1 - q) * size * skew) for q in (0.2, 0.5, 0.9)}
    guess = size if alike else other
    rest = {q: Intervals.from_bands(y, p, 4 * q * guess * skew[::-1], 4 * q**2 * guess) for q in (0.3, 0.8)}
    return ucc.UCC.from_levels(good), ucc.UCC.from_levels(rest)


# ---- sums and curves say the same


@given(nested(), st.sampled_from(CLOSED), st.sampled_from(["area", "gain"]))
def test_sums_give_the_area_of_the_curve(data: Nested, axes: Any, statistic: Any) -> None:
    curve = data.curve()
    profile = curve._nested
    if profile.endless or not profile.error.any():
        return
    asked = question(statistic, axes)
    moments = LevelMoments.of(profile, asked)
    assert moments is not None
    weights = np.random.default_rng(0).integers(0, 3, size=(len(profile.error), 4)).astype(float)
    weights[:, 0] = 1.0
    weights[0] += 1.0
    sums = np.stack([column @ weights for column in moments.columns.values()], axis=-1)
    own = 1.0 if profile.weight is None else profile.weight[:, None]
    slow = Answers(profile, asked).of(weights * own)
    scale = 1 + profile.error.max() ** 2 + profile.actives.max() ** 2
    if statistic == "area":
        assert_allclose(moments.from_sums(sums), slow, rtol=1e-9, atol=1e-11 * scale * (1 + profile.end))
    else:
        constant = Answers(profile, question("area", axes))
        reference = np.array([constant._area(part) for part in _constants(constant, weights * own)])
        firm = reference > 1e-6 * scale  # elsewhere a gain is a quotient of rounding errors
        assert_allclose(moments.from_sums(sums)[firm], slow[firm], rtol=1e-6, atol=1e-6)


def _constants(answers: Answers, weights: Any) -> list[Any]:
    from uccurve.levels.answers import _taken

    return [_taken(answers._constant, np.flatnonzero(weight), weight[weight > 0]) for weight in weights.T]


@pytest.mark.parametrize("axes", CLOSED + OPEN)
@pytest.mark.parametrize("statistic", ["area", "gain", "cheapest"])
def test_answers_for_equal_weights_are_the_curve_s(axes: Any, statistic: Any) -> None:
    curve, _ = two_models()
    c = 0.3 if statistic == "cheapest" else None
    asked = question(statistic, axes, c=c)
    expected = curve.cheapest(0.3, axes=axes).cost or 0.0 if c else float(getattr(curve, statistic)(axes=axes))
    assert_allclose(Answers(curve._nested, asked).of(np.full((60, 1), 1 / 60)), expected, rtol=1e-12)
    if statistic != "cheapest":
        part = question(statistic, axes, part=("miss_rate", (0.1, 0.5)))
        expected = getattr(curve, statistic)(axes=axes, miss_rate=(0.1, 0.5))
        assert_allclose(Answers(curve._nested, part).of(np.full((60, 1), 1 / 60)), expected, rtol=1e-12)


@pytest.mark.parametrize("axes", CLOSED + OPEN)
def test_the_common_pace_leaves_both_curves_as_they_are(axes: Any) -> None:
    a, b = two_models()
    first, second = same_pace(a._nested, b._nested)
    assert_array_equal(first.knots, second.knots)
    assert len(first.knots) == 1 + 5
    for curve, paced in ((a, first), (b, second)):
        area = Answers(paced, question("area", axes)).of(np.full((60, 1), 1 / 60))
        assert_allclose(area, curve.area(axes=axes), rtol=1e-11)
        widths = [float(np.mean(x + o)) / 2 for x, o in zip(paced.actives, paced.others, strict=True)]
        assert_allclose(widths, np.array(widths[-1]) * paced.knots, rtol=1e-12)


@given(nested(weighted=False))
def test_excess_is_a_sum_where_it_is_overshoot(data: Nested) -> None:
    levels = {
        name: Intervals.from_bands(level.y_true, level.y_pred, level.upper_band)
        for name, level in zip(data.names, data.levels, strict=True)
    }
    for curve in (ucc.UCC.from_levels(levels), data.curve()):
        profile, asked = curve._nested, question("area", ("excess", "deficit"))
        moments = LevelMoments.of(profile, asked)
        assert profile.endless or moments is not None or curve.intervals.symmetric is False
        if moments is not None:
            sums = np.array([column.sum() for column in moments.columns.values()])
            scale = 1 + profile.error.max() ** 2 + profile.actives.max() ** 2
            assert_allclose(moments.from_sums(sums), curve.area(axes=asked.axes), rtol=1e-9, atol=1e-11 * scale)


def test_a_bound_that_becomes_the_nearer_one_just_at_the_widest_level_is_seen() -> None:
    levels = {q: Intervals.from_bands([0.5, 0.25], [0.0, 0.0], [0.25, 0.0], [0.25, 0.5]) for q in (0.5, 0.9)}
    assert LevelMoments.of(ucc.UCC.from_levels(levels)._nested, question("area", ("excess", "deficit"))) is None


# ---- permutation test


def one_level(seed: int, n: int) -> tuple[Intervals, Intervals]:
    rng = np.random.default_rng(seed)
    y, p = rng.laplace(size=n), np.zeros(n)
    bands = rng.uniform(0.5, 2, size=(3, n))
    return Intervals.from_bands(y, p, bands[0], bands[1]), Intervals.from_bands(y, p, 3 * bands[2], bands[1])


@pytest.mark.parametrize("axes", CLOSED + OPEN)
@pytest.mark.parametrize("statistic", ["area", "gain"])
def test_with_one_level_it_is_the_ordinary_test(axes: Any, statistic: Any) -> None:
    a, b = one_level(0, 7)
    ours = ucc.UCC.from_levels({0.9: a}).permutation_test(ucc.UCC.from_levels({0.5: b}), statistic=statistic, axes=axes)
    ordinary = ucc.permutation_test(a, b, statistic=statistic, axes=axes)
    assert ours.exact
    assert ordinary.exact
    assert_allclose(ours.statistic, ordinary.statistic, rtol=1e-10)
    assert_allclose(ours.null_distribution, ordinary.null_distribution, rtol=1e-8, atol=1e-11)
    assert ours.pvalue == ordinary.pvalue


@pytest.mark.parametrize("axes", [CLOSED[1], OPEN[0]])
def test_every_swap_counts_once_and_turning_the_models_turns_the_sign(axes: Any) -> None:
    a, b = two_models(n=6)
    test, turned = (one.permutation_test(two, axes=axes) for one, two in ((a, b), (b, a)))
    assert len(test.null_distribution) == 64
    assert_allclose(np.sort(test.null_distribution), np.sort(-test.null_distribution), atol=1e-12)
    assert_allclose(test.statistic, a.area(axes=axes) - b.area(axes=axes), rtol=1e-12)
    assert (turned.statistic, turned.pvalue) == (-test.statistic, test.pvalue)
    assert np.isclose(test.null_distribution, test.statistic, rtol=1e-9).any()


def test_a_better_model_is_told_from_a_worse_one_and_equal_ones_are_not() -> None:
    axes: Any = ("bandwidth", "deficit")
    a, b = two_models(n=200)
    assert a.permutation_test(b, axes=axes, seed=0).pvalue < 0.01
    assert a.permutation_test(b, axes=axes, statistic="gain", alternative="greater", seed=0).pvalue < 0.01
    assert a.permutation_test(b, axes=axes, alternative="greater", seed=0).pvalue > 0.9
    assert a.permutation_test(a, axes=axes, seed=0).note.startswith("the statistic is the same")


def test_models_that_are_equally_good_are_called_different_as_often_as_promised() -> None:
    pvalues = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        y, p = rng.laplace(size=40), np.zeros(40)
        models = []
        for _ in range(2):  # each guesses the widths at random
            guess = rng.uniform(0.5, 2, 40)
            models.append(
                ucc.UCC.from_levels({q: Intervals.from_bands(y, p, -np.log(1 - q) * guess) for q in (0.5, 0.9)})
            )
        pvalues.append(models[0].permutation_test(models[1], n_resamples=199, seed=seed).pvalue)
    assert 0.02 <= np.mean(np.array(pvalues) <= 0.1) <= 0.18  # 0.1, 4 standard errors


# ---- bootstrap


@pytest.mark.parametrize("axes", [CLOSED[0], OPEN[0]])
@pytest.mark.parametrize("method", ["BCa", "percentile"])
def test_with_one_level_it_is_the_ordinary_bootstrap(axes: Any, method: Any) -> None:
    iv, _ = one_level(1, 30)
    options: dict[str, Any] = {"axes": axes, "method": method, "n_resamples": 199, "seed": 5}
    ours, ordinary = ucc.UCC.from_levels({0.9: iv}).bootstrap(**options), ucc.bootstrap(iv, **options)
    assert_allclose(ours.estimate, ordinary.estimate, rtol=1e-10)
    assert_allclose(ours.distribution, ordinary.distribution, rtol=1e-8, atol=1e-10)
    assert_allclose((ours.low, ours.high), (ordinary.low, ordinary.high), rtol=1e-6, atol=1e-9)


def test_weights_and_blocks_go_with_their_rows() -> None:
    a, b = two_models(n=20)
    block = np.repeat(np.arange(5), 4)
    test = a.permutation_test(b, block=block, axes=("bandwidth", "deficit"))
    assert (test.units, len(test.null_distribution)) == (5, 32)
    doubled = {}
    for name, curve in (("a", a), ("b", b)):
        weight = np.tile([2.0, 1.0], 10)
        doubled[name] = ucc.UCC.from_levels(
            {
                level: Intervals.from_bands(iv.y_true, iv.y_pred, iv.lower_band, iv.upper_band, weight=weight)
                for level, iv in zip(curve.levels, curve._levels, strict=True)
            }
        )
    for axes in (CLOSED[1], OPEN[0]):
        test = doubled["a"].permutation_test(doubled["b"], block=block, axes=axes)
        expected = doubled["a"].area(axes=axes) - doubled["b"].area(axes=axes)
        assert np.isclose(test.null_distribution, expected, rtol=1e-9).any()
        low = doubled["a"].bootstrap(axes=axes, block=block, n_resamples=99, seed=0)
        assert low.low <= low.high


def test_partial_areas_and_costs_are_tested_too() -> None:
    a, b = two_models(n=6)
    partial = a.permutation_test(b, axes=("bandwidth", "deficit"), miss_rate=(0.1, 1.0))
    assert_allclose(
        partial.statistic,
        a.area(axes=("bandwidth", "deficit"), miss_rate=(0.1, 1.0))
        - b.area(axes=("bandwidth", "deficit"), miss_rate=(0.1, 1.0)),
        rtol=1e-12,
    )
    assert np.isclose(partial.null_distribution, partial.statistic, rtol=1e-9).any()
    cost = a.permutation_test(b, statistic="cheapest", c=0.1)
    assert cost.exact
    assert a.bootstrap(statistic="cheapest", c=0.1, n_resamples=50, seed=0).low > 0


# ---- refusals


def test_what_cannot_be_compared_is_refused() -> None:
    a, b = two_models(n=8)
    with pytest.raises(TypeError, match=r"`other` must come from UCC\.from_levels too; got Intervals"):
        a.permutation_test(b.intervals)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must have the same rows: 8 against 9"):
        a.permutation_test(two_models(n=9)[0])
    with pytest.raises(ValueError, match="`statistic` must be one of area, gain, cheapest"):
        a.permutation_test(b, statistic="miss_rate")
    with pytest.raises(TypeError, match=r"`mis_rate` is no option of a test of levels \(miss_rate\?\)"):
        a.permutation_test(b, mis_rate=(0, 1))
    with pytest.raises(ValueError, match="`c` must be given for cheapest"):
        a.bootstrap(statistic="cheapest")
    with pytest.raises(ValueError, match="at least two rows"):
        two_models(n=1)[0].bootstrap()
    zero = ucc.UCC.from_levels({0.9: Intervals.from_bands([1.0, 2.0], [0.0, 0.0], [1.0, 0.0])})
    with pytest.raises(ValueError, match="must have a finite area; it is inf"):
        zero.permutation_test(zero)
