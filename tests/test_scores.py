"""The functions in scikit-learn's manner give what the curve gives, of one output or of several."""

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
        lambda y, _, lower, upper, **options: ucc.interval_score(
            y, lower, upper, coverage=0.8, **options
        ),
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
def test_the_score_of_several_outputs_is_that_of_the_flattened_rows(pair: Any, weight: Any) -> None:
    score, answer = pair
    found = score(Y, P, LOWER, UPPER, sample_weight=weight)
    assert type(found) is float
    np.testing.assert_allclose(
        found,
        answer(ucc.UCC(ucc.Intervals.from_bounds(Y, P, LOWER, UPPER, weight=weight))),
        rtol=1e-14,
    )
    flat = (array.ravel() for array in (Y, P, LOWER, UPPER))
    np.testing.assert_allclose(
        found,
        score(*flat, sample_weight=None if weight is None else np.repeat(weight, 2)),
        rtol=1e-14,
    )


@pytest.mark.parametrize(
    "name", ["bandwidth", "excess", "deficit", "miss_rate", "coverage", "interval_score"]
)
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_a_metric_of_several_outputs_is_their_average(name: str, weight: Any) -> None:
    score, answer = FROM_CURVE[name]
    each = [answer(curve(output, weight)) for output in (0, 1)]
    assert each[0] != each[1]
    np.testing.assert_allclose(
        score(Y, P, LOWER, UPPER, sample_weight=weight), sum(each) / 2, rtol=1e-14
    )


@pytest.mark.parametrize("name", FROM_CURVE)
def test_a_column_is_scored_like_a_list(name: str) -> None:
    score, _ = FROM_CURVE[name]
    columns = [array[:, 0] for array in (Y, P, LOWER, UPPER)]
    assert score(*(column[:, None] for column in columns)) == score(*columns)


def test_outputs_may_have_weights_of_their_own() -> None:
    only_first = np.repeat([[1.0, 0.0]], 4, axis=0)
    for score, answer in FROM_CURVE.values():
        found = score(Y, P, LOWER, UPPER, sample_weight=only_first)
        np.testing.assert_allclose(found, answer(curve(0)), rtol=1e-14)


def test_an_integer_weight_is_the_row_repeated(pair: Any) -> None:
    score, _ = pair
    times = WEIGHT.astype(int)
    repeated = [np.repeat(array, times, axis=0) for array in (Y, P, LOWER, UPPER)]
    np.testing.assert_allclose(
        score(Y, P, LOWER, UPPER, sample_weight=WEIGHT), score(*repeated), rtol=1e-14
    )


# ---- options


@pytest.mark.parametrize("vary", ["scale", "shift"])
@pytest.mark.parametrize(
    "axes", [("bandwidth", "miss_rate"), ("excess", "deficit"), ("miss_rate", "overshoot")]
)
def test_axes_range_unit_and_vary_reach_the_curve(vary: Any, axes: Any) -> None:
    columns = [array[:, 1] for array in (Y, P, LOWER, UPPER)]
    c = ucc.UCC(ucc.Intervals.from_bounds(*columns), vary=vary)
    options: dict[str, Any] = {"axes": axes, "miss_rate": (0.1, 0.6)}
    assert ucc.auucc_score(*columns, vary=vary, unit="std", **options) == c.area(
        unit="std", **options
    )
    assert ucc.auucc_gain_score(*columns, vary=vary, **options) == c.gain(**options)
    assert ucc.skill_score(*columns, vary=vary) == c.skill()
    x, y, places = ucc.ucc_curve(*columns, axes=axes, vary=vary, unit=2.0)
    points = c.points(axes=axes, unit=2.0)
    for found, expected in ((x, points.x), (y, points.y), (places, getattr(points, vary))):
        np.testing.assert_array_equal(found, expected)
        assert not found.flags.writeable


def test_the_curve_of_several_outputs_is_that_of_the_flattened_rows() -> None:
    several = ucc.ucc_curve(Y, P, LOWER, UPPER, sample_weight=WEIGHT)
    flat = ucc.ucc_curve(
        Y.ravel(), P.ravel(), LOWER.ravel(), UPPER.ravel(), sample_weight=np.repeat(WEIGHT, 2)
    )
    for found, expected in zip(several, flat, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_raised_bands_reach_every_score_of_a_prediction() -> None:
    outside = P + np.array([0.0, 9.0])
    raised = ucc.Intervals.from_bounds(Y, outside, LOWER, UPPER, min_band="5%")
    for name in ("area", "gain", "skill", "bandwidth", "excess", "deficit"):
        score, answer = FROM_CURVE[name]
        found = score(Y, outside, LOWER, UPPER, min_band="5%")
        np.testing.assert_allclose(found, answer(ucc.UCC(raised)), rtol=1e-14)


def test_an_area_that_never_ends_in_one_output_is_infinite() -> None:
    upper = UPPER.copy()
    upper[3, 0] = P[3, 0]  # the error of 3 has no band above
    assert ucc.auucc_score(Y[:, 1], P[:, 1], LOWER[:, 1], upper[:, 1]) < np.inf
    assert ucc.auucc_score(Y, P, LOWER, upper) == np.inf


def test_large_weights_do_not_take_a_large_score_out_of_float64() -> None:
    y, lower, upper = [1e250, 0], [0, 0], [3e250, 1e250]
    found = [
        ucc.interval_score(y, lower, upper, coverage=0.9, sample_weight=weight)
        for weight in ([2, 2], [1e100, 1e100])
    ]
    np.testing.assert_allclose(found, 2e250, rtol=1e-14)
