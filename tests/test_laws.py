"""Laws that hold between answers, whatever the rows: symmetry, invariance, addition, order, and coherence."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise
from math import isqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import uccurve as ucc
from oracle import METRICS, PAIRS
from strategies import Data, curve, dyadic, mixed, pairs, real, varies

Floats = NDArray[np.float64]
CONTINUOUS = [metric for metric in METRICS if metric != "miss_rate"]


def bands(data: Data, **changes: Any) -> ucc.Intervals:
    """The intervals of the data with some columns replaced."""
    columns: dict[str, Any] = {
        field.name: getattr(data, field.name) for field in fields(data)
    } | changes
    return ucc.Intervals.from_bands(**columns)


def assert_same(found: Any, expected: Any, scale: float = 1.0) -> None:
    """Equal up to the rounding of sums taken in another order."""
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11 * scale)


def values(point: Any) -> Floats:
    return np.array([getattr(point, metric) for metric in METRICS])


def assert_same_rate(found: Any, expected: Any, data: Data) -> None:
    """Equal as counts are; sums of weights with decimals may differ by the order they are added in."""
    whole = data.weight is None or all(weight.is_integer() for weight in data.weight)
    eps = float(np.finfo(float).eps)
    np.testing.assert_allclose(
        found, expected, rtol=0, atol=0 if whole else 4 * eps * (1 + isqrt(len(data.y_true)))
    )


def span(data: Data) -> float:
    """The size of errors, bands, and bands stretched to the end of the curve: what rounding is measured against."""
    sizes = (
        np.abs(np.subtract(data.y_true, data.y_pred)),
        np.asarray(data.lower_band),
        np.asarray(data.upper_band),
    )
    last = curve(data.intervals()).points().scale[-1]
    return 1.0 + float(max(np.max(sizes[0]), (1 + last) * max(np.max(sizes[1]), np.max(sizes[2]))))


def area_span(data: Data, pair: tuple[str, str]) -> float:
    return span(data) ** sum(metric != "miss_rate" for metric in pair)


# ---- what must not matter, and what must matter in a known way


@given(data=mixed(10), vary=varies, pair=pairs, seed=st.integers(0, 99))
def test_the_order_of_the_rows_does_not_matter(
    data: Data, vary: str, pair: tuple[str, str], seed: int
) -> None:
    order = np.random.default_rng(seed).permutation(len(data.y_true))
    columns = {field.name: getattr(data, field.name) for field in fields(data)[:5]}
    moved = {name: column and np.take(column, order) for name, column in columns.items()}
    mine, theirs = curve(data.intervals(), vary), curve(bands(data, **moved), vary)
    assert_same(mine.area(axes=pair), theirs.area(axes=pair), area_span(data, pair))
    t = float(getattr(mine.points(), vary)[len(data.y_true) // 2 % len(mine.points().x)])
    assert_same(values(mine.at(t)), values(theirs.at(t)), span(data))
    np.testing.assert_array_equal(getattr(mine.points(), vary), getattr(theirs.points(), vary))


@given(
    data=dyadic(6, weighted=False),
    vary=varies,
    pair=pairs,
    counts=st.tuples(*[st.integers(0, 3)] * 6),
)
def test_a_whole_weight_is_the_row_repeated(
    data: Data, vary: str, pair: tuple[str, str], counts: tuple[int, ...]
) -> None:
    times = np.array(counts[: len(data.y_true)])
    assume(times.any())
    repeated = {
        field.name: np.repeat(getattr(data, field.name), times) for field in fields(data)[:4]
    }
    weighted, longer = curve(bands(data, weight=times), vary), curve(bands(data, **repeated), vary)
    assert_same(weighted.area(axes=pair), longer.area(axes=pair), area_span(data, pair))
    for ours, theirs in zip(weighted.points(axes=pair).x, longer.points(axes=pair).x, strict=True):
        assert_same(ours, theirs, span(data))
    assert_same(weighted.find(miss_rate=0.37).scale, longer.find(miss_rate=0.37).scale)


@given(data=mixed(8), vary=varies, pair=pairs, factor=st.sampled_from([3.0, 0.125, 1e6]))
def test_a_change_of_the_unit_of_y_scales_all_but_the_miss_rate(
    data: Data, vary: str, pair: tuple[str, str], factor: float
) -> None:
    times = {
        field.name: np.multiply(getattr(data, field.name), factor) for field in fields(data)[:4]
    }
    mine, theirs = curve(data.intervals(), vary), curve(bands(data, **times), vary)
    powers = sum(metric != "miss_rate" for metric in pair)
    assert_same(
        theirs.area(axes=pair) / factor**powers, mine.area(axes=pair), area_span(data, pair)
    )
    assert_same(
        mine.area(axes=pair, unit=1 / factor) / factor**powers,
        mine.area(axes=pair),
        area_span(data, pair),
    )
    assert_same(theirs.area(axes=pair, unit=factor), mine.area(axes=pair), area_span(data, pair))


@given(
    data=dyadic(8),
    vary=varies,
    pair=pairs,
    power=st.sampled_from([-320, -200, 200, 320]),
    named=st.booleans(),
)
def test_a_unit_brings_tiny_and_huge_data_back_to_size(
    data: Data, vary: str, pair: tuple[str, str], power: int, named: bool
) -> None:
    factor = 2.0**power  # no rounding: the answers are those of the data before
    times = {
        field.name: np.multiply(getattr(data, field.name), factor) for field in fields(data)[:4]
    }
    mine, theirs = curve(data.intervals(), vary), curve(bands(data, **times), vary)
    assume(
        not named or np.ptp(np.extract(data.weight or np.ones(len(data.y_true)), data.y_true)) > 0
    )
    found, expected = (
        c.area(axes=pair, unit="std" if named else one)
        for c, one in ((theirs, factor), (mine, 1.0))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@given(data=mixed(8), vary=varies, pair=pairs)
def test_mirrored_data_with_swapped_bands_gives_the_same_curve(
    data: Data, vary: str, pair: tuple[str, str]
) -> None:
    y = np.where(
        np.equal(data.y_true, data.y_pred), np.add(data.y_pred, 0.25), data.y_true
    )  # no error has no side
    mirror = bands(
        data,
        y_true=-y,
        y_pred=np.negative(data.y_pred),
        lower_band=data.upper_band,
        upper_band=data.lower_band,
    )
    mine, theirs = (
        curve(bands(data, y_true=y), vary).points(axes=pair),
        curve(mirror, vary).points(axes=pair),
    )
    for ours, other in (
        (mine.x, theirs.x),
        (mine.y, theirs.y),
        (getattr(mine, vary), getattr(theirs, vary)),
    ):
        np.testing.assert_array_equal(ours, other)


@given(data=mixed(8), pair=pairs, factor=st.sampled_from([0.5, 3.0, 10.0]))
def test_rescaled_bands_move_the_operating_point_but_no_area(
    data: Data, pair: tuple[str, str], factor: float
) -> None:
    iv = data.intervals()
    mine, theirs = curve(iv), curve(iv.calibrated(scale=factor))
    assert_same(theirs.area(axes=pair), mine.area(axes=pair), area_span(data, pair))
    assert_same(theirs.at(1.0).bandwidth, factor * mine.at(1.0).bandwidth)
    assert_same(theirs.points().scale * factor, mine.points().scale)
    assume(any(data.upper_band) and mine.at(1.0).bandwidth > 0)
    assert theirs.at(1.0).bandwidth != mine.at(1.0).bandwidth


@given(data=dyadic(8), pair=pairs, by=st.sampled_from([0.25, 3.0]))
def test_bands_shifted_outward_move_the_operating_point_but_no_area_of_the_shift_curve(
    data: Data, pair: tuple[str, str], by: float
) -> None:
    iv = data.intervals()
    mine, theirs = curve(iv, "shift"), curve(iv.calibrated(shift=by), "shift")
    assert_same(theirs.area(axes=pair), mine.area(axes=pair), area_span(data, pair))
    assert_same(values(theirs.at(0.0)), values(mine.at(by)), span(data))
    assert_same(theirs.points().shift + by, mine.points().shift, span(data))


@given(data=mixed(8), vary=varies)
def test_a_row_without_weight_takes_no_part(data: Data, vary: str) -> None:
    weight = data.weight or (1.0,) * len(data.y_true)
    extra = {"y_true": 1e9, "y_pred": 0.0, "lower_band": 1e8, "upper_band": 0.0}
    more = bands(
        data,
        **{name: (*getattr(data, name), value) for name, value in extra.items()},
        weight=(*weight, 0.0),
    )
    np.testing.assert_array_equal(
        curve(more, vary).points().x, curve(bands(data, weight=weight), vary).points().x
    )
    with_it, without = curve(more, vary), curve(data.intervals(), vary)
    for pair in PAIRS:
        assert_same(with_it.area(axes=pair), without.area(axes=pair), area_span(data, pair))


# ---- addition and order


def attained(c: Any, metric: str) -> Floats:
    """Levels the metric takes at the vertices of the curve."""
    return np.unique(np.asarray(c.points(axes=(metric, "miss_rate")).x))


@given(
    data=mixed(8), vary=varies, pair=pairs, metric=st.sampled_from(METRICS),
    cuts=st.lists(st.tuples(st.integers(0, 30), st.sampled_from([0.0, 0.0, 0.4])), min_size=1, max_size=3),
)  # fmt: skip
@settings(max_examples=4 * settings().max_examples)
def test_partial_areas_add_up_to_the_whole(
    data: Data, vary: str, pair: tuple[str, str], metric: str, cuts: list[tuple[int, float]]
) -> None:
    c = curve(data.intervals(), vary)
    levels = attained(c, metric)
    gaps = [*np.diff(levels), 0.0]
    inner = {float(levels[i % len(levels)] + part * gaps[i % len(levels)]) for i, part in cuts}
    ends = [0.0, *sorted(inner - {0.0}), 2.0 * max(1.0, float(levels[-1]))]
    parts = [c.area(axes=pair, **{metric: (low, high)}) for low, high in pairwise(ends)]
    assert min(parts) >= 0
    assert_same(sum(parts), c.area(axes=pair), area_span(data, pair))


@given(data=mixed(8, never=True), vary=varies, pair=pairs)
def test_every_metric_is_monotone_and_never_negative(
    data: Data, vary: str, pair: tuple[str, str]
) -> None:
    points = curve(data.intervals(), vary).points(axes=pair)
    for metric, drawn in zip(pair, (points.x, points.y), strict=True):
        assert np.all(drawn >= 0)
        slack = 1e-12 * span(data) if metric != "miss_rate" else 0.0
        steps = np.diff(drawn) * (-1 if metric in ("miss_rate", "deficit") else 1)
        assert np.all(steps >= -slack)


@given(data=mixed(10), vary=varies)
def test_everything_is_covered_at_the_end_of_the_curve(data: Data, vary: str) -> None:
    c = curve(data.intervals(), vary)
    last = c.at(float(getattr(c.points(), vary)[-1]))
    assert last.miss_rate == 0.0
    assert last.deficit == 0.0


@given(data=mixed(8), vary=varies)
def test_every_pair_of_axes_gives_a_positive_area_where_both_axes_move(
    data: Data, vary: str
) -> None:
    c = curve(data.intervals(), vary)
    for x, y in PAIRS:
        points = c.points(axes=(x, y))
        assert c.area(axes=(x, y)) >= 0.0
        counted = (
            points.y[1:] if x == "miss_rate" else points.y[:-1]
        )  # a jump counts what follows it
        if np.ptp(points.x) > 1e-9 and np.min(counted, initial=np.inf) > 1e-9:
            assert c.area(axes=(x, y)) > 0.0


@given(data=mixed(8), vary=varies)
def test_swapped_axes_complete_the_rectangle(data: Data, vary: str) -> None:
    c = curve(data.intervals(), vary)
    first, last = (c.at(float(getattr(c.points(), vary)[i])) for i in (0, -1))
    for x, y in PAIRS:
        if x == y:
            continue
        signs = [-1 if axis in ("miss_rate", "deficit") else 1 for axis in (x, y)]
        both = signs[0] * c.area(axes=(x, y)) + signs[1] * c.area(axes=(y, x))
        corner = getattr(last, x) * getattr(last, y) - getattr(first, x) * getattr(first, y)
        assert_same(both, corner, area_span(data, (x, y)))


# ---- find and at


@given(data=mixed(8), vary=varies)
def test_find_returns_to_every_attained_miss_rate(data: Data, vary: str) -> None:
    c = curve(data.intervals(), vary)
    points = c.points()
    for miss_rate in set(points.y.tolist()):
        found = c.find(miss_rate=miss_rate)
        assert_same_rate(found.miss_rate, miss_rate, data)
        assert getattr(found, vary) == np.min(getattr(points, vary)[points.y == miss_rate])
        assert c.at(getattr(found, vary)) == found


@given(data=mixed(8), vary=varies, metric=st.sampled_from(CONTINUOUS), part=st.floats(0.01, 0.99))
def test_find_then_at_returns_the_level_asked_for(
    data: Data, vary: str, metric: str, part: float
) -> None:
    c = curve(data.intervals(), vary)
    levels = attained(c, metric)
    goal = float(levels[0] + part * (levels[-1] - levels[0]))
    found = c.find(**{metric: goal})
    assert_same(getattr(found, metric), goal, span(data))
    assert c.at(getattr(found, vary)) == found


@given(data=real(8), vary=varies, metric=st.sampled_from(CONTINUOUS))
def test_find_reaches_every_level_the_curve_itself_reports(
    data: Data, vary: str, metric: str
) -> None:
    c = curve(data.intervals(), vary)
    points = c.points(axes=(metric, "miss_rate"))
    for t, goal in zip(getattr(points, vary), points.x, strict=True):
        found = c.find(**{metric: float(goal)})
        assert getattr(found, vary) <= t
        assert_same(getattr(found, metric), goal, span(data))


@pytest.mark.parametrize("vary", ["scale", "shift"])
@pytest.mark.parametrize("metric", CONTINUOUS)
def test_find_returns_exactly_to_every_vertex_whose_level_is_new(vary: str, metric: str) -> None:
    rng = np.random.default_rng(7)
    for _ in range(60):  # many small sets: an interpolated place is off by an ulp in a few only
        error, below, above = (
            rng.integers(-12, 13, 5) / 4,
            rng.integers(1, 11, 5) / 4,
            rng.integers(1, 11, 5) / 4,
        )
        c = curve(ucc.Intervals.from_bands(error, np.zeros(5), below, above), vary)
        points = c.points(axes=(metric, "miss_rate"))
        for i in np.flatnonzero(np.abs(np.diff(points.x)) > 1e-9) + 1:
            found = c.find(**{metric: float(points.x[i])})
            assert getattr(found, vary) == getattr(points, vary)[i]
            assert found.miss_rate == points.y[i]


@given(
    data=mixed(8),
    vary=varies,
    metric=st.sampled_from(["bandwidth", "overshoot"]),
    by=st.floats(0.01, 100.0),
)
def test_find_goes_on_beyond_the_end_of_the_curve(
    data: Data, vary: str, metric: str, by: float
) -> None:
    c = curve(data.intervals(), vary)
    last = float(getattr(c.points(), vary)[-1])
    assume(data.weight is None and c.at(last + 1.0).overshoot > c.at(last).overshoot)
    goal = getattr(c.at(last), metric) + by
    found = c.find(**{metric: goal})
    assert getattr(found, vary) > last
    assert_same(getattr(found, metric), goal, span(data))


@given(data=mixed(8), by=st.floats(0.01, 100.0))
def test_find_goes_on_to_every_excess_beyond_the_end_of_a_shift_curve(
    data: Data, by: float
) -> None:
    c = curve(data.intervals(), "shift")
    goal = c.at(float(c.points().shift[-1])).excess + by
    found = c.find(excess=goal)
    assert_same(found.excess, goal, span(data))
    assert c.at(found.shift - 1e-6 * span(data)).excess < goal


def test_find_waits_where_the_excess_does() -> None:
    # from shift -2 on the lower bound is the nearer one, but it stays at the prediction until shift -1
    c = curve(ucc.Intervals.from_bands([1.0], [0.0], [1.0], [4.0]), "shift")
    goals = [0.5, 1.0, 1.5, 1.75, 2.5]
    np.testing.assert_allclose(
        [c.find(excess=goal).shift for goal in goals], [-2.5, -2.0, -0.5, -0.25, 0.5], rtol=1e-15
    )
    np.testing.assert_allclose([c.find(excess=goal).excess for goal in goals], goals, rtol=1e-15)


# ---- coherence with the delivered bounds


@given(data=real(10, never=True))
def test_the_miss_rate_at_scale_one_is_exactly_that_of_the_delivered_bounds(data: Data) -> None:
    iv = data.intervals()
    delivered = ucc.miss_rate_score(iv.y_true, iv.lower, iv.upper, sample_weight=data.weight)
    assert_same_rate(curve(iv).at(1.0).miss_rate, delivered, data)
    assert_same_rate(curve(iv, "shift").at(0.0).miss_rate, delivered, data)


@given(data=real(10), goal=st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.8]), vary=varies)
def test_calibrated_bounds_keep_exactly_the_miss_rate_that_was_found(
    data: Data, goal: float, vary: str
) -> None:
    iv = data.intervals()
    found = curve(iv, vary).find(miss_rate=goal)
    shipped = iv.calibrated(scale=found.scale, shift=found.shift)
    delivered = ucc.miss_rate_score(
        shipped.y_true, shipped.lower, shipped.upper, sample_weight=data.weight
    )
    assert_same_rate(curve(shipped).at(1.0).miss_rate, delivered, data)
    assert_same_rate(delivered, found.miss_rate, data)


@given(data=real(10, weighted=False))
def test_an_observation_on_its_bound_is_covered_however_the_bound_was_rounded(data: Data) -> None:
    lower, upper = data.intervals().lower, data.intervals().upper
    for y_true in (lower, upper):
        iv = ucc.Intervals.from_bounds(y_true, data.y_pred, lower, upper)
        assert curve(iv).at(1.0).miss_rate == 0.0
        assert curve(iv).find(miss_rate=0.0).scale <= 1.0
    # the next number, or beside 0 the smallest that is taken
    outside = np.where(upper == 0, 1e-100, np.nextafter(upper, np.inf))
    assert (
        curve(ucc.Intervals.from_bounds(outside, data.y_pred, lower, upper)).at(1.0).miss_rate
        == 1.0
    )


# ---- constant bands


@given(data=dyadic(10), pair=pairs)
def test_scale_and_shift_draw_the_same_curve_for_a_constant_band(
    data: Data, pair: tuple[str, str]
) -> None:
    flat = bands(data, lower_band=np.full(len(data.y_true), 2.0), upper_band=None)
    by_scale, by_shift = curve(flat), curve(flat, "shift")
    for within in ({}, {"bandwidth": (0.3, 1.7)}):
        found = by_shift.area(axes=pair, **within), by_scale.area(axes=pair, **within)
        assert_same(*found, area_span(data, pair))
    ours, theirs = by_scale.points(axes=pair), by_shift.points(axes=pair)
    assert_same(theirs.x, ours.x, span(data))
    assert_same(theirs.shift, 2 * ours.scale - 2, span(data))


@given(data=mixed(12))
def test_the_regression_error_characteristic_is_the_curve_of_a_constant_band(data: Data) -> None:
    # Bi and Bennett (2003): the share of rows whose absolute error is within a tolerance, against the tolerance.
    flat = curve(bands(data, lower_band=np.ones(len(data.y_true)), upper_band=None))
    error = np.abs(np.subtract(data.y_true, data.y_pred))
    weight = np.ones_like(error) if data.weight is None else np.asarray(data.weight)
    points = flat.points(axes=("bandwidth", "miss_rate"))
    tolerances = np.unique(np.append(error[weight > 0], 0.0))
    np.testing.assert_array_equal(points.x, tolerances)
    accuracy = [np.sum(weight[error <= tolerance]) / np.sum(weight) for tolerance in tolerances]
    assert_same(1 - points.y, accuracy)
    assert_same(flat.area(), np.average(error, weights=weight))


@given(data=mixed(8), vary=varies, pair=pairs)
def test_a_constant_band_gains_nothing_over_itself(
    data: Data, vary: str, pair: tuple[str, str]
) -> None:
    flat = curve(data.intervals().constant(), vary)
    assume(flat.area(axes=pair) > 1e-6 * area_span(data, pair))
    assert_same(flat.gain(axes=pair), 0.0)
    assert_same(flat.gain(axes=pair, reference=data.intervals().constant()), 0.0)
