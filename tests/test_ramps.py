"""Ramps: vertices in order, the metrics there, targets, minima and the lower hull, against the path itself."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import uccurve as ucc
from closeness import TOLERANCE, near
from level_oracle import LevelsOracle, Nested, nested
from oracle import FALLING, METRICS, PAIRS
from test_paths import Case, cases, extent
from uccurve._arrays import index_of_minimum, sum_error
from uccurve._paths import Path
from uccurve._ramps import Ramps, hull_corners, row_shares

metrics = st.sampled_from(METRICS)


def off(case: Case) -> float:
    """What a value may be off by rounding."""
    path, oracle = case
    return float(100 * TOLERANCE * extent(oracle, max(abs(path.end), 1.0)))


def sum_size(oracle: LevelsOracle) -> Fraction:
    """Size of the sums whose differences the metrics are at the end of a curve of levels."""
    wide = max(oracle.end, Fraction(1))
    sizes = [wide * (row.lower_band + row.upper_band) + row.error for row in oracle.rows]
    weights = [row.weight for row in oracle.rows]
    return sum((w * size for w, size in zip(weights, sizes, strict=True)), Fraction(0))


def metric(path: Path, name: Any, t: float) -> float:
    """A metric by its definition."""
    return path.at(t)[name]


# ---- vertices


@given(cases)
def test_vertices_rise_from_the_start_through_every_critical_t(case: Case) -> None:
    path, _ = case
    ramps = Ramps(path)
    assert np.all(np.diff(ramps.t) > 0)
    assert ramps.t[0] == path.start
    assert ramps.t[ramps.end] == path.end
    assert set(path.critical[np.isfinite(path.critical)]) <= set(ramps.t)
    assert path.has_uncoverable_rows or path.vary == "shift" or ramps.end == len(ramps.t) - 1


@given(cases)
def test_the_values_at_the_vertices_are_those_of_the_path(case: Case) -> None:
    path, _ = case
    ramps = Ramps(path)
    for name in METRICS:
        values: Any = ramps.values(name)  # type: ignore[arg-type]
        exact = [metric(path, name, t) for t in ramps.t.tolist()]
        assert_allclose(values, exact, rtol=1e-11, atol=1e-12 if name == "miss_rate" else off(case))


@given(cases, st.integers(0, 15).map(lambda n: n / 16))
def test_between_vertices_the_miss_rate_waits_and_the_rest_is_straight(
    case: Case, part: float
) -> None:
    path, _ = case
    ramps = Ramps(path)
    for left, right in zip(ramps.t[:-1].tolist(), ramps.t[1:].tolist(), strict=True):
        t = left + part * (right - left)
        if not left <= t < right:
            continue
        for name in METRICS:
            found = ramps.value(name, t)  # type: ignore[arg-type]
            spare = 1e-12 if name == "miss_rate" else off(case)
            assert_allclose(found, metric(path, name, t), rtol=1e-9, atol=spare)


@given(cases, st.sampled_from([*combinations(METRICS, 1), *combinations(METRICS, 2)]))
def test_a_vertex_that_a_metric_does_not_have_lies_on_its_line(case: Case, names: Any) -> None:
    ramps = Ramps(case[0])
    kept = np.arange(len(ramps.t))[ramps.vertices(names)]
    curve = slice(ramps.end + 1)
    assert {0, ramps.end} <= set(kept.tolist())
    for name in names:
        values = ramps.values(name)
        if name == "miss_rate":
            shown = values[kept][np.searchsorted(kept, np.arange(ramps.end + 1), side="right") - 1]
        else:
            shown = np.interp(ramps.t[curve], ramps.t[kept], values[kept])
        assert_allclose(shown, values[curve], rtol=1e-9, atol=off(case))


@given(cases)
def test_each_row_has_its_place_among_the_vertices(case: Case) -> None:
    path, _ = case
    ramps = Ramps(path)
    places, coverable = ramps.places(), np.isfinite(path.critical)
    assert_array_equal(ramps.t[places[coverable]], path.critical[coverable])
    assert set(places[~coverable]) <= {len(ramps.t)}


# ---- targets and minima


@given(cases, metrics, st.integers(0, 20).map(lambda n: n / 20))
def test_the_smallest_t_that_reaches_a_value_reaches_it_and_none_before_does(
    case: Case, name: Any, part: float
) -> None:
    path, _ = case
    ramps = Ramps(path)
    values, sign = ramps.values(name), -1 if name in FALLING else 1
    target = float(values.min() + part * np.ptp(values))
    t = ramps.smallest_t_reaching(name, target)
    assert t is not None
    slack = off(case) if name != "miss_rate" else sum_error(len(path))
    assert sign * ramps.value(name, t) >= sign * target - slack
    before = ramps.t[ramps.t < t]
    assert np.all(sign * values[: len(before)] < sign * target)


@given(cases, metrics)
def test_a_value_beyond_the_curve_is_reached_by_no_t(case: Case, name: Any) -> None:
    ramps = Ramps(case[0])
    values = ramps.values(name)
    beyond = float(values.min()) - 1 if name in FALLING else 2 * float(values.max()) + 1
    assert ramps.smallest_t_reaching(name, beyond) == np.inf
    first = float(values.max()) + 1 if name in FALLING else -1.0
    assert ramps.smallest_t_reaching(name, first) == ramps.t[0]


@given(cases, st.sampled_from(PAIRS), st.integers(0, 10).map(lambda n: n / 10))
def test_a_minimum_is_the_first_vertex_that_has_it(case: Case, pair: Any, c: float) -> None:
    ramps = Ramps(case[0])
    curve = slice(ramps.end + 1)
    costs = c * ramps.values(pair[0])[curve] + (1 - c) * ramps.values(pair[1])[curve]
    t = ramps.minimum(pair[0], pair[1], (c, 1 - c))
    place = int(np.searchsorted(ramps.t, t))
    assert ramps.t[place] == t
    assert costs[place] <= costs.min() * (1 + 1e-12)
    assert np.all(costs[:place] > costs.min())


def test_of_costs_that_differ_by_rounding_the_first_is_the_minimum() -> None:
    assert index_of_minimum(np.array([2.0, 1.0 + 1e-16, 1.0, 3.0])) == 1
    assert index_of_minimum(np.array([2.0, 1.0 + 4e-15, 1.0, 3.0])) == 2
    assert index_of_minimum(np.array([inf, 0.0, 0.0])) == 1
    assert sum_error(10**6) == pytest.approx(4 * 2.0**-52 * 1001)


# ---- the lower hull


@given(cases)
def test_the_hull_has_the_best_t_of_every_alpha(case: Case) -> None:
    path, _ = case
    ramps = Ramps(path)
    hull = ramps.lower_hull()
    curve = slice(ramps.end + 1)
    x, y = ramps.values("bandwidth")[curve], ramps.values("deficit")[curve]
    assert hull.high[0] == 1.0
    assert_array_equal(hull.low[:-1], hull.high[1:])
    assert hull.low[-1] <= 1e-9
    assert np.all(hull.low <= hull.high + 1e-9)
    for t, low, high in zip(hull.t.tolist(), hull.low.tolist(), hull.high.tolist(), strict=True):
        if high - low < 1e-9:  # the best of no alpha
            continue
        alpha = (low + high) / 2
        found = alpha * ramps.value("bandwidth", t) + ramps.value("deficit", t)
        assert found <= np.min(alpha * x + y) * (1 + 1e-9) + off(case)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=40),
    st.sampled_from([1, 7]),
)
def test_the_corners_of_a_hull_are_the_points_below_which_there_is_none(
    steps: list[tuple[int, int]], power: int
) -> None:
    x = np.cumsum([float(step) for step, _ in steps])
    y = 1e3 - np.cumsum([float(step) ** power for _, step in steps])
    corners = hull_corners(x, y)
    slopes = np.diff(y[corners]) / np.diff(x[corners])
    assert np.all(np.diff(slopes) > 0)
    assert (x[corners[0]], x[corners[-1]]) == (x[0], x[-1])
    assert np.all(np.interp(x, x[corners], y[corners]) <= y + 1e-12 * np.abs(y).max())
    assert {*corners.tolist()} <= {*range(len(x))}


@pytest.mark.parametrize("bumps", [0.0, 1e-6, 1e-3])
def test_the_hull_of_many_points_is_found_whether_it_has_few_corners_or_all(bumps: float) -> None:
    rng = np.random.default_rng(3)
    x = np.sort(rng.random(20_000))
    y = np.minimum.accumulate(np.exp(-3 * x) + bumps * rng.random(20_000))
    corners = hull_corners(x, y)
    assert np.all(np.diff(np.diff(y[corners]) / np.diff(x[corners])) > 0)
    assert np.all(np.interp(x, x[corners], y[corners]) <= y * (1 + 1e-15))
    assert (len(corners) > 10_000) == (bumps == 0)


def test_each_rows_part_of_the_area_over_the_shift_adds_up_to_it() -> None:
    iv = ucc.Intervals.from_bands(
        [1, 2, 0, -4], [0, 0, 0, 0], [1, 3, 2, 0.5], [0.25, 1, 1.5, 2], weight=[1, 2, 1, 3]
    )
    path = ucc.UCC(iv, vary="shift").path()
    parts = row_shares(Ramps(path), path, "deficit", "bandwidth")
    assert parts[2] == 0  # no error, no deficit
    area = ucc.UCC(iv, vary="shift").area(axes=("bandwidth", "deficit"))
    np.testing.assert_allclose(parts.sum() / 7, area, rtol=1e-13)


@given(
    nested(), st.sampled_from(["miss_rate", "deficit"]), st.sampled_from(["bandwidth", "overshoot"])
)
def test_each_row_s_part_of_the_area_adds_up_to_it(data: Nested, falling: Any, rising: Any) -> None:
    oracle = data.oracle()
    if oracle.never:
        return
    path = data.curve().path()
    parts = (
        row_shares(Ramps(path), path, falling, rising) / path.total
    )  # in units of the weights as given
    near(
        float(parts.sum()),
        oracle.area(rising, falling),
        sum_size(oracle) ** 2 + sum_size(oracle),
    )
