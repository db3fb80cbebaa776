"""Every method of a curve against the definitions in exact arithmetic (tests/oracle.py)."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import uccurve as ucc
from closeness import TOLERANCE, extent, near, representable, slack
from oracle import FALLING, METRICS, PAIRS, Oracle, Range, rows, written
from strategies import Data, dyadic, extreme, fractions, mixed, pairs, real, varies

# Pairs whose area is a sum of positive terms over scales; all others subtract.
SUMS = {("bandwidth", "miss_rate"), ("miss_rate", "bandwidth"), ("bandwidth", "deficit"), ("bandwidth", "bandwidth")}


def curve(data: Data, vary: str) -> Any:
    """The package's curve; typed loosely because the tests call it with names from a list."""
    return ucc.UCC(data.intervals(), vary=vary)  # type: ignore[arg-type]


def blur(oracle: Oracle) -> Fraction:
    """What rounding is measured against beside the place itself: a critical shift is a difference."""
    return max(row.error + row.active for row in oracle.rows) if oracle.vary == "shift" else Fraction(0)


def middles(oracle: Oracle) -> list[Fraction]:
    """Places inside each piece of the curve and beyond its end, far from where rounding could move a row."""
    wide = [(a, b) for a, b in pairwise(oracle.breakpoints) if b - a > max(blur(oracle), abs(b)) / 10**9]
    inside = [a + (b - a) * Fraction(3, 8) for a, b in wide]
    return [*inside, oracle.end * 2 if oracle.end > 0 else oracle.end + 1]


def assert_point(point: Any, oracle: Oracle, exact_t: Fraction) -> None:
    exact = oracle.values(exact_t)
    for metric in METRICS:
        if representable(exact[metric], slack(oracle, metric, exact_t)):
            near(getattr(point, metric), exact[metric], slack(oracle, metric, exact_t))


def area_slack(oracle: Oracle, x: str, y: str) -> Fraction:
    if oracle.vary == "scale" and (x, y) in SUMS:
        return Fraction(0)
    return TOLERANCE * extent(oracle, x) * extent(oracle, y)


# ---- the oracle itself


def test_the_oracle_agrees_with_two_rows_worked_by_hand() -> None:
    # errors 2 and -3, active bands 1 and 4, other bands 0 and 2: critical scales 2 and 3/4, bends of excess at 4 and 3
    oracle = Oracle(rows([2.0, 7.0], [0.0, 10.0], [0.0, 4.0], [1.0, 2.0]))
    assert oracle.criticals == [Fraction(3, 4), 2]
    assert oracle.values(Fraction(1)) == {
        "miss_rate": Fraction(1, 2),
        "bandwidth": Fraction(7, 4),
        "excess": Fraction(1, 2),
        "deficit": Fraction(1, 2),
        "overshoot": Fraction(1, 2),
    }
    assert oracle.area("bandwidth", "miss_rate") == Fraction(7, 4) * Fraction(11, 8)
    assert oracle.area("bandwidth", "deficit") == Fraction(7, 4) * (4 + Fraction(9, 4)) / 4
    shifted = Oracle(oracle.rows, "shift")
    assert (float(shifted.start), *map(float, shifted.criticals)) == (-4, -1, 1)
    assert shifted.values(Fraction(-1))["bandwidth"] == Fraction(0 + 0 + 3 + 1, 4)


@given(data=mixed(5, never=True), vary=varies)
def test_every_metric_is_straight_between_the_breakpoints_of_the_oracle(data: Data, vary: str) -> None:
    oracle = data.oracle(vary)
    places = oracle.breakpoints
    for left, right in pairwise(places):
        for part in (Fraction(1, 3), Fraction(9, 10)):
            inside = oracle.values(left + (right - left) * part)
            for metric, value in inside.items():
                ends = oracle.value(metric, left), oracle.value(metric, right)
                assert value == (ends[0] if metric == "miss_rate" else ends[0] + (ends[1] - ends[0]) * part)


# ---- single operating points


@given(data=dyadic(never=True), vary=varies)
def test_at_counts_the_row_that_defines_the_scale_as_covered(data: Data, vary: str) -> None:
    oracle, c = data.oracle(vary), curve(data, vary)
    for t in oracle.breakpoints:
        point = c.at(float(t))
        assert (point.scale, point.shift) == ((float(t), 0.0) if vary == "scale" else (1.0, float(t)))
        last = max((k for k in oracle.criticals if float(k) == float(t)), default=t)
        assert_point(point, oracle, last)


@given(data=mixed(12, never=True), vary=varies)
def test_at_equals_the_definition_between_the_breakpoints_and_beyond_the_curve(data: Data, vary: str) -> None:
    oracle, c = data.oracle(vary), curve(data, vary)
    for t in middles(oracle):
        assert_point(c.at(float(t)), oracle, Fraction(float(t)))


@given(data=extreme())
def test_at_equals_the_definition_for_tiny_and_huge_rows(data: Data) -> None:
    oracle, c = data.oracle(), curve(data, "scale")
    for t in filter(representable, middles(oracle)):
        assert_point(c.at(float(t)), oracle, Fraction(float(t)))


@given(data=dyadic())
def test_all_bands_are_closed_below_the_start_of_a_shift_curve(data: Data) -> None:
    oracle, c = data.oracle("shift"), curve(data, "shift")
    assert_point(c.at(float(oracle.start - 1)), oracle, oracle.start - 1)


# ---- whole curves


def shown(places: Any, drawn: Any, metric: str, t: Fraction, oracle: Oracle) -> float:
    """What the polyline shows at one place; the miss rate as a step that has just dropped there."""
    if metric == "miss_rate":
        return float(drawn[np.searchsorted(places, float(t + TOLERANCE * (abs(t) + blur(oracle))), side="right") - 1])
    return float(np.interp(float(t), places, drawn))


@settings(max_examples=3 * settings().max_examples)
@given(data=mixed(6, never=True), vary=varies, pair=pairs)
def test_points_hold_every_vertex_of_the_curve_and_nothing_off_it(data: Data, vary: str, pair: tuple[str, str]) -> None:
    oracle = data.oracle(vary)
    assume(all(b - a > max(blur(oracle), abs(b)) / 10**9 for a, b in pairwise(oracle.criticals)))  # or floats tie them
    points = curve(data, vary).points(axes=pair)
    places = getattr(points, vary)
    assert np.all(np.diff(places) > 0)
    for t in (oracle.start, *oracle.criticals):
        near(float(places[np.argmin(np.abs(places - float(t)))]), t, TOLERANCE * blur(oracle))
    assert places[0] == oracle.start
    near(float(places[-1]), oracle.end, TOLERANCE * blur(oracle))
    for metric, drawn in zip(pair, (points.x, points.y), strict=True):
        for t in oracle.criticals if metric == "miss_rate" else oracle.breakpoints:
            found = shown(places, drawn, metric, t, oracle)
            near(found, oracle.value(metric, t), TOLERANCE * extent(oracle, metric))


@given(data=mixed(8), vary=varies)
def test_the_area_on_every_pair_of_axes_is_the_exact_integral(data: Data, vary: str) -> None:
    oracle, c = data.oracle(vary), curve(data, vary)
    for x, y in PAIRS:
        near(c.area(axes=(x, y)), oracle.area(x, y), area_slack(oracle, x, y))


@settings(max_examples=3)
@given(data=st.one_of(dyadic(60), real(60)).filter(lambda data: len(data.y_true) > 30), vary=varies)
def test_the_area_of_many_rows_is_the_exact_integral(data: Data, vary: str) -> None:
    oracle, c = data.oracle(vary), curve(data, vary)
    for x, y in PAIRS:
        near(c.area(axes=(x, y)), oracle.area(x, y), area_slack(oracle, x, y))


@given(data=extreme())
def test_the_area_of_tiny_and_huge_rows_is_exact_where_a_float_can_hold_it(data: Data) -> None:
    oracle, c = data.oracle(), curve(data, "scale")
    for x, y in PAIRS:
        exact, off = oracle.area(x, y), area_slack(oracle, x, y)
        if representable(exact, off, extent(oracle, x), extent(oracle, y)):
            near(c.area(axes=(x, y)), exact, off)


@given(data=dyadic(never=True), pair=pairs)
def test_an_area_over_a_row_that_no_scale_covers_is_infinite_unless_both_axes_fall(
    data: Data, pair: tuple[str, str]
) -> None:
    oracle = data.oracle()
    assume(oracle.never)
    near(curve(data, "scale").area(axes=pair), oracle.area(*pair), area_slack(oracle, *pair))


# ---- levels: find and partial ranges


def level(oracle: Oracle, metric: str, part: Fraction) -> Fraction:
    """A level somewhere along the metric's way, beyond both ends too."""
    first, last = oracle.value(metric, oracle.start), oracle.value(metric, oracle.end)
    return first + (last - first) * part


def give(oracle: Oracle, metric: str, exact: float) -> Fraction:
    """How far off a level may be read: an unweighted miss rate, a count over a count, not at all."""
    if metric == "miss_rate":
        return Fraction(0) if len({row.weight for row in oracle.rows}) == 1 else TOLERANCE
    return TOLERANCE * max(extent(oracle, metric), abs(Fraction(exact)))


@given(data=mixed(8, never=True), vary=varies, part=fractions, metric=st.sampled_from(METRICS))
def test_find_gives_the_least_place_that_reaches_a_level(data: Data, vary: str, part: Fraction, metric: str) -> None:
    oracle, c = data.oracle(vary), curve(data, vary)
    goal = float(level(oracle, metric, part))
    off = give(oracle, metric, goal) * (-1 if metric in FALLING else 1)
    early, late = (oracle.reach(metric, max(Fraction(goal) + d, Fraction(0)) if d else goal) for d in (-off, off))
    found = c.find(**{metric: goal})
    t = Fraction(getattr(found, vary))
    assert early is not None
    assert t >= early - TOLERANCE * (abs(early) + blur(oracle))
    assert late is None or t <= late + TOLERANCE * (abs(late) + blur(oracle))


@given(data=mixed(10, weighted=False), vary=varies)
def test_find_reads_a_miss_rate_as_a_count_of_rows(data: Data, vary: str) -> None:
    oracle, c, n = data.oracle(vary), curve(data, vary), len(data.y_true)
    for missed in range(n):
        exact = oracle.reach("miss_rate", missed / n)
        assert exact is not None
        near(getattr(c.find(miss_rate=missed / n), vary), exact, TOLERANCE * blur(oracle))


def ranges(oracle: Oracle, metric: str, parts: tuple[Fraction, Fraction]) -> tuple[float, float]:
    low, high = sorted(max(0.0, float(level(oracle, metric, part))) for part in parts)
    return low, high


@given(
    data=mixed(6), vary=varies, pair=pairs, metric=st.sampled_from(METRICS),
    parts=st.tuples(*[st.integers(-8, 40).map(lambda n: Fraction(n, 32))] * 2),
)  # fmt: skip
@settings(max_examples=4 * settings().max_examples)
def test_a_partial_area_is_the_exact_integral_over_any_metrics_range(
    data: Data, vary: str, pair: tuple[str, str], metric: str, parts: tuple[Fraction, Fraction]
) -> None:
    oracle, c = data.oracle(vary), curve(data, vary)
    low, high = ranges(oracle, metric, parts)
    assume(low < high)
    off = give(oracle, metric, high)
    found = c.area(axes=pair, **{metric: (low, high)})
    least, most = (
        oracle.area(*pair, within_range(metric, low + d, high - d)) if d else oracle.area(*pair, (metric, low, high))
        for d in (off, -off)
    )
    spare = TOLERANCE * (extent(oracle, pair[0]) * extent(oracle, pair[1]) + Fraction(most))
    assert least - spare <= found <= most + spare


def within_range(metric: str, low: Fraction | float, high: Fraction | float) -> Range:
    return metric, max(low, Fraction(0)), max(low, high, Fraction(0))


# ---- gains, costs, ranks


@given(data=mixed(6), vary=varies, pair=pairs)
def test_the_gain_is_the_share_of_the_constant_bands_area_saved(data: Data, vary: str, pair: tuple[str, str]) -> None:
    oracle, c = data.oracle(vary), curve(data, vary)
    theirs, ours = oracle.constant().area(*pair), oracle.area(*pair)
    off = area_slack(oracle, *pair) + area_slack(oracle.constant(), *pair) + TOLERANCE * (theirs + ours)
    assume(theirs > 1000 * off)
    near(c.gain(axes=pair), (theirs - ours) / theirs, Fraction(2 * off * (1 + ours / theirs) / theirs))


@given(data=mixed(6), vary=varies, part=fractions)
def test_the_gain_over_a_reference_compares_the_same_rows_and_range(data: Data, vary: str, part: Fraction) -> None:
    wider = tuple(1.0 + 2 * band for band in reversed(data.lower_band)), tuple(0.5 + band for band in data.upper_band)
    other = Data(data.y_true, data.y_pred, *wider, data.weight)
    mine, theirs = data.oracle(vary), other.oracle(vary)
    top = float(level(theirs, "bandwidth", part))
    within = ("bandwidth", 0.0, top)
    assume(theirs.area("bandwidth", "deficit", within) > Fraction(1, 10**6))
    exact = mine.gain("bandwidth", "deficit", within, reference=theirs)
    for reference in (other.intervals(), curve(other, vary)):
        found = curve(data, vary).gain(axes=("bandwidth", "deficit"), reference=reference, bandwidth=(0.0, top))
        np.testing.assert_allclose(found, float(exact), rtol=1e-9, atol=1e-9)


@given(data=mixed(8, never=True), vary=varies, pair=pairs, c=fractions)
def test_the_cheapest_point_has_the_least_cost_over_all_breakpoints(
    data: Data, vary: str, pair: tuple[str, str], c: Fraction
) -> None:
    oracle, (x, y) = data.oracle(vary), pair
    off = TOLERANCE * (c * extent(oracle, x) + (1 - c) * extent(oracle, y))
    point = curve(data, vary).cheapest(float(c), axes=pair)
    near(point.cost, oracle.cheapest(c, x, y)[0], off)
    near(point.cost, c * Fraction(getattr(point, x)) + (1 - c) * Fraction(getattr(point, y)), off)
    near(curve(data, vary).cost(float(c), axes=pair, at=getattr(point, vary)), oracle.cheapest(c, x, y)[0], off)


@given(data=mixed(8, never=True), vary=varies, pair=pairs, c=fractions)
def test_the_cost_of_the_delivered_intervals_is_the_default(
    data: Data, vary: str, pair: tuple[str, str], c: Fraction
) -> None:
    oracle, t = data.oracle(vary), Fraction(1 if vary == "scale" else 0)
    assume(not any(0 < abs(k - t) < Fraction(1, 10**9) for k in oracle.criticals))  # decided by the rounded bounds
    off = c * slack(oracle, pair[0], t) + (1 - c) * slack(oracle, pair[1], t)
    near(curve(data, vary).cost(float(c), axes=pair), oracle.cost(c, *pair, t), off)


@given(
    data=dyadic(12, weighted=False), vary=varies, alpha=st.sampled_from([0.07, 0.1, 0.3, 1 / 3, 0.5, Fraction(2, 7)])
)
def test_the_conformal_rank_counts_ties_and_refuses_too_few_rows(
    data: Data, vary: str, alpha: float | Fraction
) -> None:
    exact = data.oracle(vary).conformal(written(alpha))
    if exact is None:
        with pytest.raises(ValueError, match="rows"):
            curve(data, vary).find(miss_rate=alpha, conformal=True)
    else:
        near(getattr(curve(data, vary).find(miss_rate=alpha, conformal=True), vary), exact)


@given(data=dyadic(10), y=st.sampled_from(["miss_rate", "deficit"]), share=st.sampled_from([0.25, 0.5, 0.9]))
def test_concentration_is_the_least_number_of_rows_that_carry_the_share(data: Data, y: str, share: float) -> None:
    oracle = data.oracle()
    assume(oracle.area("bandwidth", y))
    near_share = {oracle.concentration(y, Fraction(share) + d) for d in (-TOLERANCE, TOLERANCE)}
    assert curve(data, "scale").concentration(axes=("bandwidth", y), share=share) in near_share


# ---- units and scores


@given(data=dyadic(6), vary=varies, pair=pairs, unit=st.sampled_from(["std", 4.0, 0.3]))
def test_a_unit_divides_all_but_the_miss_rate(data: Data, vary: str, pair: tuple[str, str], unit: str | float) -> None:
    oracle, c = data.oracle(vary), curve(data, vary)
    mean = sum((row.weight * row.y_true for row in oracle.rows), Fraction(0))
    spread = sqrt(sum((row.weight * (row.y_true - mean) ** 2 for row in oracle.rows), Fraction(0)))
    one = Fraction(spread if isinstance(unit, str) else unit)
    assume(one > 0)
    per = {metric: Fraction(1) if metric == "miss_rate" else one for metric in METRICS}
    (x, y), t = pair, oracle.end
    product = per[x] * per[y]
    near(c.area(axes=pair, unit=unit), oracle.area(x, y) / product, area_slack(oracle, x, y) / product)
    point, points = c.at(float(t), unit=unit), c.points(axes=pair, unit=unit)
    for metric in METRICS:
        near(getattr(point, metric), oracle.value(metric, t) / per[metric], slack(oracle, metric, t) / per[metric])
    near(float(points.x[0]), oracle.value(x, oracle.start) / per[x], slack(oracle, x, oracle.start) / per[x])
    off = slack(oracle, x, t) / per[x] + slack(oracle, y, t) / per[y]
    cost = (oracle.value(x, t) / per[x] + oracle.value(y, t) / per[y]) / 2
    near(c.cost(0.5, axes=pair, at=float(t), unit=unit), cost, off)
    cheapest = min((oracle.value(x, k) / per[x] + oracle.value(y, k) / per[y]) / 2 for k in oracle.breakpoints)
    off = TOLERANCE * (extent(oracle, x) / per[x] + extent(oracle, y) / per[y])
    near(c.cheapest(0.5, axes=pair, unit=unit).cost, cheapest, off)


@given(data=dyadic(8), part=fractions, unit=st.sampled_from([4.0, 0.25]))
def test_levels_and_ranges_are_read_in_the_unit(data: Data, part: Fraction, unit: float) -> None:
    oracle, c = data.oracle(), curve(data, "scale")
    top = float(level(oracle, "bandwidth", part))
    assume(top > 0)
    np.testing.assert_allclose(c.find(bandwidth=top / unit, unit=unit).scale, c.find(bandwidth=top).scale, rtol=1e-12)
    whole = c.area(axes=("bandwidth", "miss_rate"), bandwidth=(0, top))
    found = c.area(axes=("bandwidth", "miss_rate"), bandwidth=(0, top / unit), unit=unit)
    np.testing.assert_allclose(found, whole / unit, rtol=1e-12)


@given(data=dyadic(8, never=True), alpha=st.sampled_from([0.05, 0.1, 0.5]))
def test_the_score_functions_are_the_metrics_of_the_delivered_bounds(data: Data, alpha: float) -> None:
    oracle, iv, one = data.oracle(), data.intervals(), Fraction(1)
    bounds: Any = (iv.lower, iv.upper)
    for metric in ("bandwidth", "excess", "deficit"):
        found = getattr(ucc, f"{metric}_score")(data.y_true, data.y_pred, *bounds, sample_weight=data.weight)
        near(found, oracle.value(metric, one), slack(oracle, metric, one))
    near(ucc.miss_rate_score(data.y_true, *bounds, sample_weight=data.weight), oracle.value("miss_rate", one))
    found = ucc.interval_score(data.y_true, *bounds, alpha=alpha, sample_weight=data.weight)
    near(found, oracle.interval_score(Fraction(alpha)))


@given(data=dyadic(8), pair=pairs)
def test_the_score_of_an_area_is_the_area_of_the_delivered_bounds(data: Data, pair: tuple[str, str]) -> None:
    oracle, iv = data.oracle(), data.intervals()
    axes: Any = pair
    columns = (data.y_true, data.y_pred, iv.lower, iv.upper)
    found = ucc.auucc_score(*columns, axes=axes, sample_weight=data.weight)
    near(found, oracle.area(*pair), area_slack(oracle, *pair))
    x, y, scales = ucc.ucc_curve(*columns, axes=axes, sample_weight=data.weight)
    points = curve(data, "scale").points(axes=pair)
    for ours, theirs in ((x, points.x), (y, points.y), (scales, points.scale)):
        np.testing.assert_array_equal(ours, theirs)


@given(data=dyadic(8, weighted=False).filter(lambda data: len(data.y_true) % 2 == 0), vary=varies, pair=pairs)
def test_two_outputs_are_the_flattened_rows(data: Data, vary: Any, pair: tuple[str, str]) -> None:
    columns = [np.reshape(v, (-1, 2)) for v in (data.y_true, data.y_pred, data.lower_band, data.upper_band)]
    weight = np.arange(1.0, len(columns[0]) + 1)
    flat = Data(data.y_true, data.y_pred, data.lower_band, data.upper_band, tuple(np.repeat(weight, 2).tolist()))
    oracle = flat.oracle(vary)
    axes: Any = pair
    found = ucc.UCC(ucc.Intervals.from_bands(*columns, weight=weight), vary=vary).area(axes=axes)
    near(found, oracle.area(*pair), area_slack(oracle, *pair))
