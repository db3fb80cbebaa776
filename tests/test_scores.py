"""The functions in scikit-learn's manner give what the curve gives, output by output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import uccurve as ucc

# Two outputs of four rows: asymmetric, tied, off-centre, one observation on its bound and one on each side outside.
Y = np.array([[1.0, 5.0], [2.0, -3.0], [4.0, 0.5], [9.0, 2.0]])
P = np.array([[0.5, 4.0], [2.5, -1.0], [4.0, 0.0], [6.0, 2.5]])
LOWER = np.array([[-0.5, 2.0], [2.0, -2.0], [3.0, -1.0], [5.0, 1.0]])
UPPER = np.array([[1.0, 4.5], [3.0, 2.0], [4.5, 2.0], [8.0, 2.75]])
WEIGHT = np.array([1.0, 3.0, 0.0, 2.0])

FROM_CURVE: dict[str, tuple[Callable[..., Any], Callable[[ucc.UCC], float]]] = {
    "area": (ucc.auucc_score, lambda c: c.area()),
    "gain": (ucc.auucc_gain_score, lambda c: c.gain()),
    "skill": (ucc.skill_score, lambda c: c.skill()),
    "bandwidth": (ucc.bandwidth_score, lambda c: c.at(1.0).bandwidth),
    "excess": (ucc.excess_score, lambda c: c.at(1.0).excess),
    "deficit": (ucc.deficit_score, lambda c: c.at(1.0).deficit),
    "miss_rate": (
        lambda y, _, lower, upper, **options: ucc.miss_rate_score(y, lower, upper, **options),
        lambda c: c.at(1.0).miss_rate,
    ),
    "coverage": (
        lambda y, _, lower, upper, **options: ucc.coverage_score(y, lower, upper, **options),
        lambda c: 1 - c.at(1.0).miss_rate,
    ),
    "interval_score": (
        lambda y, _, lower, upper, **options: ucc.interval_score(y, lower, upper, alpha=0.2, **options),
        lambda c: c.interval_score(coverage=0.8),
    ),
}


@pytest.fixture(params=FROM_CURVE)
def pair(request: pytest.FixtureRequest) -> tuple[Callable[..., Any], Callable[[ucc.UCC], float]]:
    """A score and the same answer from a curve."""
    return FROM_CURVE[request.param]


def curve(output: int, weight: Any = None) -> ucc.UCC:
    columns = (array[:, output] for array in (Y, P, LOWER, UPPER))
    return ucc.UCC(ucc.Intervals.from_bounds(*columns, weight=weight))


# ---- against the curve


@pytest.mark.parametrize("weight", [None, WEIGHT, [5, 0, 1, 1]])
@pytest.mark.parametrize("output", [0, 1])
def test_a_score_is_the_answer_of_the_curve(pair: Any, output: int, weight: Any) -> None:
    score, answer = pair
    columns = [array[:, output] for array in (Y, P, LOWER, UPPER)]
    found = score(*columns, sample_weight=weight)
    assert type(found) is float
    np.testing.assert_allclose(found, answer(curve(output, weight)), rtol=1e-14)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_outputs_are_scored_one_by_one_and_then_averaged(pair: Any, weight: Any) -> None:
    score, answer = pair
    each = [answer(curve(output, weight)) for output in (0, 1)]
    assert each[0] != each[1]
    raw = score(Y, P, LOWER, UPPER, sample_weight=weight, multioutput="raw_values")
    assert isinstance(raw, np.ndarray)
    np.testing.assert_allclose(raw, each, rtol=1e-14)
    mean = score(Y, P, LOWER, UPPER, sample_weight=weight)
    assert type(mean) is float
    np.testing.assert_allclose(mean, (each[0] + each[1]) / 2, rtol=1e-14)
    weighted = score(Y, P, LOWER, UPPER, sample_weight=weight, multioutput=[3, 1])
    assert type(weighted) is float
    np.testing.assert_allclose(weighted, (3 * each[0] + each[1]) / 4, rtol=1e-14)
    only = score(Y, P, LOWER, UPPER, sample_weight=weight, multioutput=[0, 1])
    np.testing.assert_allclose(only, each[1], rtol=1e-14)


def test_a_single_output_may_ask_for_raw_values(pair: Any) -> None:
    score, _ = pair
    columns = [array[:, 0] for array in (Y, P, LOWER, UPPER)]
    np.testing.assert_array_equal(score(*columns, multioutput="raw_values"), [score(*columns)])
    np.testing.assert_array_equal(score(*(c[:, None] for c in columns), multioutput="raw_values"), [score(*columns)])


def test_an_integer_weight_is_the_row_repeated(pair: Any) -> None:
    score, _ = pair
    times = WEIGHT.astype(int)
    repeated = [np.repeat(array, times, axis=0) for array in (Y, P, LOWER, UPPER)]
    np.testing.assert_allclose(score(Y, P, LOWER, UPPER, sample_weight=WEIGHT), score(*repeated), rtol=1e-14)


def test_the_average_of_outputs_is_not_the_pooled_curve() -> None:
    pooled = ucc.UCC(ucc.Intervals.from_bounds(Y, P, LOWER, UPPER))
    assert abs(pooled.area() - float(ucc.auucc_score(Y, P, LOWER, UPPER))) > 0.01
    np.testing.assert_allclose(pooled.at(1.0).deficit, ucc.deficit_score(Y, P, LOWER, UPPER), rtol=1e-14)


# ---- by hand, first output: errors 0.5, -0.5, 0 and 3, the last missed by 1


def test_single_scores_agree_with_the_first_output_worked_by_hand() -> None:
    y, p, lower, upper = (array[:, 0] for array in (Y, P, LOWER, UPPER))
    assert ucc.miss_rate_score(y, lower, upper) == 0.25
    assert ucc.coverage_score(y, lower, upper) == 0.75
    assert ucc.bandwidth_score(y, p, lower, upper) == (0.75 + 0.5 + 0.75 + 1.5) / 4
    assert ucc.excess_score(y, p, lower, upper) == (0 + 0 + 0.5 + 0) / 4  # two rows lie on a bound
    assert ucc.deficit_score(y, p, lower, upper) == 0.25
    assert ucc.interval_score(y, lower, upper, alpha=0.5) == (1.5 + 1 + 1.5 + 3 + 4 * 1) / 4
    # critical scales 0.5/0.5, 0.5/0.5, 0 and 3/2
    assert ucc.auucc_score(y, p, lower, upper) == 0.875 * (1 + 1 + 0 + 1.5) / 4
    np.testing.assert_allclose(ucc.auucc_gain_score(y, p, lower, upper), (1 - 0.875**2), rtol=1e-15)


def test_skill_agrees_with_potential_scores_worked_by_hand() -> None:
    # Errors 1, 2, 4. Bands that know them score 14/3 at every level: 1/2 * integral of alpha * 14/3 is 7/6. A constant
    # band has half the mean of max(r, r') over all pairs of errors, 3/2.
    found = ucc.skill_score([1, 2, 4], [0, 0, 0], [-1, -2, -4], [1, 2, 4])
    np.testing.assert_allclose(found, 1 - (7 / 6) / (3 / 2), rtol=1e-14)


def test_the_mean_of_large_scores_stays_finite() -> None:
    large = 2.0**1022
    assert ucc.interval_score([0.0] * 8, [0.0] * 8, [large] * 8, alpha=0.5) == large
    assert ucc.interval_score([[0.0] * 8], [[0.0] * 8], [[large] * 8], alpha=0.5) == large
    assert ucc.interval_score([0.0] * 8, [0.0] * 8, [large] * 8, alpha=0.5, sample_weight=range(8)) == large


def test_the_interval_score_counts_both_sides() -> None:
    assert ucc.interval_score([0.0, 10.0], [2.0, 2.0], [4.0, 4.0], alpha=0.25) == 2 + 8 * (2 + 6) / 2


def test_the_interval_score_needs_no_prediction_between_the_bounds() -> None:
    np.testing.assert_allclose(
        ucc.interval_score(Y, LOWER, UPPER, alpha=0.1),
        2 * ucc.bandwidth_score(Y, P, LOWER, UPPER) + 20 * ucc.deficit_score(Y, P, LOWER, UPPER),
        rtol=1e-14,
    )


def test_a_tiny_alpha_gives_a_large_or_infinite_score_and_no_nan() -> None:
    assert ucc.interval_score([0.5], [0.0], [1.0], alpha=1e-320) == 1.0
    assert ucc.interval_score([3.0], [0.0], [1.0], alpha=1e-320) == np.inf
    assert ucc.interval_score([3.0], [0.0], [1.0], alpha=1) == 1.0 + 2 * 2.0


# ---- options


@pytest.mark.parametrize("vary", ["scale", "shift"])
@pytest.mark.parametrize("axes", [("bandwidth", "miss_rate"), ("excess", "deficit"), ("miss_rate", "overshoot")])
def test_axes_range_unit_and_vary_reach_the_curve(vary: Any, axes: Any) -> None:
    columns = [array[:, 1] for array in (Y, P, LOWER, UPPER)]
    c = ucc.UCC(ucc.Intervals.from_bounds(*columns), vary=vary)
    options: dict[str, Any] = {"axes": axes, "miss_rate": (0.1, 0.6)}
    assert ucc.auucc_score(*columns, vary=vary, unit="std", **options) == c.area(unit="std", **options)
    assert ucc.auucc_gain_score(*columns, vary=vary, **options) == c.gain(**options)
    assert ucc.skill_score(*columns, vary=vary) == c.skill()
    x, y, places = ucc.ucc_curve(*columns, axes=axes, vary=vary, unit=2.0)
    points = c.points(axes=axes, unit=2.0)
    for found, expected in ((x, points.x), (y, points.y), (places, getattr(points, vary))):
        np.testing.assert_array_equal(found, expected)
        assert not found.flags.writeable


def test_the_curve_of_several_outputs_is_that_of_the_flattened_rows() -> None:
    several = ucc.ucc_curve(Y, P, LOWER, UPPER, sample_weight=WEIGHT)
    flat = ucc.ucc_curve(Y.ravel(), P.ravel(), LOWER.ravel(), UPPER.ravel(), sample_weight=np.repeat(WEIGHT, 2))
    for found, expected in zip(several, flat, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_raised_bands_reach_every_score_of_a_prediction() -> None:
    outside = P + np.array([0.0, 9.0])
    raised = ucc.Intervals.from_bounds(Y[:, 1], outside[:, 1], LOWER[:, 1], UPPER[:, 1], min_band="5%")
    for name in ("area", "gain", "skill", "bandwidth", "excess", "deficit"):
        score, answer = FROM_CURVE[name]
        found = score(Y, outside, LOWER, UPPER, min_band="5%", multioutput="raw_values")
        np.testing.assert_allclose(found[1], answer(ucc.UCC(raised)), rtol=1e-14)


def test_an_area_that_never_ends_is_infinite_for_its_output_only() -> None:
    lower, upper = LOWER.copy(), UPPER.copy()
    upper[3, 0] = P[3, 0]  # the error of 3 has no band above
    raw = np.asarray(ucc.auucc_score(Y, P, lower, upper, multioutput="raw_values"))
    assert raw[0] == np.inf
    assert np.isfinite(raw[1])
    assert ucc.auucc_score(Y, P, lower, upper) == np.inf
