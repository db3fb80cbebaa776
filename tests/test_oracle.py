"""Every method of a curve against the definitions in exact arithmetic (tests/oracle.py)."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import uccurve as ucc
from closeness import TOLERANCE, area_slack, extent, level, near, representable, slack
from oracle import FALLING, METRICS, PAIRS, Oracle, Range, rows, written
from strategies import Data, dyadic, extreme, fractions, mixed, pairs, varies


def blur(oracle: Oracle) -> Fraction:
    """What rounding is measured against beside the place itself: a critical shift is a difference."""
    return (
        max(row.error + row.active for row in oracle.rows)
        if oracle.vary == "shift"
        else Fraction(0)
    )


def middles(oracle: Oracle) -> list[Fraction]:
    """Places inside each piece of the curve and beyond its end, far from where rounding could move a row."""
    wide = [
        (a, b) for a, b in pairwise(oracle.breakpoints) if b - a > max(blur(oracle), abs(b)) / 10**9
    ]
    inside = [a + (b - a) * Fraction(3, 8) for a, b in wide]
    return [*inside, oracle.end * 2 if oracle.end > 0 else oracle.end + 1]


def assert_point(point: Any, oracle: Oracle, exact_t: Fraction) -> None:
    exact = oracle.values(exact_t)
    for metric in METRICS:
        if representable(exact[metric], slack(oracle, metric, exact_t)):
            near(getattr(point, metric), exact[metric], slack(oracle, metric, exact_t))


# ---- the oracle itself


def test_the_oracle_agrees_with_two_rows_worked_by_hand() -> None:
    # errors 2 and -3, active bands 1 and 4, other bands 0 and 2: critical scales 2 and 3/4, crossovers at 4 and 3
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
def test_every_metric_is_straight_between_the_breakpoints_of_the_oracle(
    data: Data, vary: str
) -> None:
    oracle = data.oracle(vary)
    places = oracle.breakpoints
    for left, right in pairwise(places):
        for part in (Fraction(1, 3), Fraction(9, 10)):
            inside = oracle.values(left + (right - left) * part)
            for metric, value in inside.items():
                ends = oracle.value(metric, left), oracle.value(metric, right)
                assert value == (
                    ends[0] if metric == "miss_rate" else ends[0] + (ends[1] - ends[0]) * part
                )


# ---- single operating points


@given(data=dyadic(never=True), vary=varies)
def test_at_counts_the_row_that_defines_the_scale_as_covered(data: Data, vary: str) -> None:
    oracle, c = data.oracle(vary), data.curve(vary)
    for t in oracle.breakpoints:
        point = c.at(float(t))
        assert (point.scale, point.shift) == (
            (float(t), 0.0) if vary == "scale" else (1.0, float(t))
        )
        last = max((k for k in oracle.criticals if float(k) == float(t)), default=t)
        assert_point(point, oracle, last)


@given(data=mixed(12, never=True), vary=varies)
def test_at_equals_the_definition_between_the_breakpoints_and_beyond_the_curve(
    data: Data, vary: str
) -> None:
    oracle, c = data.oracle(vary), data.curve(vary)
    for t in middles(oracle):
        assert_point(c.at(float(t)), oracle, Fraction(float(t)))


@given(data=extreme())
def test_at_equals_the_definition_for_tiny_and_huge_rows(data: Data) -> None:
    oracle, c = data.oracle(), data.curve("scale")
    for t in filter(representable, middles(oracle)):
        assert_point(c.at(float(t)), oracle, Fraction(float(t)))


@given(data=dyadic())
def test_all_bands_are_closed_below_the_start_of_a_shift_curve(data: Data) -> None:
    oracle, c = data.oracle("shift"), data.curve("shift")
    assert_point(c.at(float(oracle.start - 1)), oracle, oracle.start - 1)


# ---- whole curves


def shown(places: Any, drawn: Any, metric: str, t: Fraction, oracle: Oracle) -> float:
    """What the polyline shows at one place; the miss rate as a step that has just dropped there."""
    if metric == "miss_rate":
        return float(
            drawn[
                np.searchsorted(
                    places, float(t + TOLERANCE * (abs(t) + blur(oracle))), side="right"
                )
                - 1
            ]
        )
    return float(np.interp(float(t), places, drawn))


@settings(max_examples=3 * settings().max_examples)
@given(data=mixed(6, never=True), vary=varies, pair=pairs)
def test_points_hold_every_vertex_of_the_curve_and_nothing_off_it(
    data: Data, vary: str, pair: tuple[str, str]
) -> None:
    oracle = data.oracle(vary)
    assume(
        all(b - a > max(blur(oracle), abs(b)) / 10**9 for a, b in pairwise(oracle.criticals))
    )  # or floats tie them
    points = data.curve(vary).points(axes=pair)
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
    oracle, c = data.oracle(vary), data.curve(vary)
    for x, y in PAIRS:
        near(c.area(axes=(x, y)), oracle.area(x, y), area_slack(oracle, x, y))


@settings(max_examples=3)
@given(data=mixed(60), vary=varies)
def test_the_area_of_many_rows_is_the_exact_integral(data: Data, vary: str) -> None:
    oracle, c = data.oracle(vary), data.curve(vary)
    for x, y in PAIRS:
        near(c.area(axes=(x, y)), oracle.area(x, y), area_slack(oracle, x, y))


@given(data=extreme())
def test_the_area_of_tiny_and_huge_rows_is_exact_where_a_float_can_hold_it(data: Data) -> None:
    oracle, c = data.oracle(), data.curve("scale")
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
    near(data.curve("scale").area(axes=pair), oracle.area(*pair), area_slack(oracle, *pair))


# ---- levels: find and partial ranges


def give(oracle: Oracle, metric: str, exact: float) -> Fraction:
    """How far off a level may be read: an unweighted miss rate, a count over a count, not at all."""
    if metric == "miss_rate":
        return Fraction(0) if len({row.weight for row in oracle.rows}) == 1 else TOLERANCE
    return TOLERANCE * max(extent(oracle, metric), abs(Fraction(exact)))


@given(data=mixed(8, never=True), vary=varies, part=fractions, metric=st.sampled_from(METRICS))
def test_find_gives_the_smallest_place_that_reaches_a_level(
    data: Data, vary: str, part: Fraction, metric: str
) -> None:
    oracle, c = data.oracle(vary), data.curve(vary)
    goal = float(level(oracle, metric, part))
    off = give(oracle, metric, goal) * (-1 if metric in FALLING else 1)
    early, late = (
        oracle.reach(metric, max(Fraction(goal) + d, Fraction(0)) if d else goal)
        for d in (-off, off)
    )
    found = c.find(**{metric: goal})
    t = Fraction(getattr(found, vary))
    assert early is not None
    assert t >= early - TOLERANCE * (abs(early) + blur(oracle))
    assert late is None or t <= late + TOLERANCE * (abs(late) + blur(oracle))


@given(data=mixed(10, weighted=False), vary=varies)
def test_find_reads_a_miss_rate_as_a_count_of_rows(data: Data, vary: str) -> None:
    oracle, c, n = data.oracle(vary), data.curve(vary), len(data.y_true)
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
    oracle, c = data.oracle(vary), data.curve(vary)
    low, high = ranges(oracle, metric, parts)
    assume(low < high)
    off = give(oracle, metric, high)
    found = c.area(axes=pair, **{metric: (low, high)})
    low_area, high_area = (
        oracle.area(*pair, within_range(metric, low + d, high - d))
        if d
        else oracle.area(*pair, (metric, low, high))
        for d in (off, -off)
    )
    spare = TOLERANCE * (extent(oracle, pair[0]) * extent(oracle, pair[1]) + Fraction(high_area))
    assert low_area - spare <= found <= high_area + spare


def within_range(metric: str, low: Fraction | float, high: Fraction | float) -> Range:
    return metric, max(low, Fraction(0)), max(low, high, Fraction(0))


# ---- gains, costs, ranks


@given(data=mixed(6), vary=varies, pair=pairs)
def test_the_gain_is_the_share_of_the_constant_bands_area_saved(
    data: Data, vary: str, pair: tuple[str, str]
) -> None:
    oracle, c = data.oracle(vary), data.curve(vary)
    theirs, ours = oracle.constant().area(*pair), oracle.area(*pair)
    off = (
        area_slack(oracle, *pair)
        + area_slack(oracle.constant(), *pair)
        + TOLERANCE * (theirs + ours)
    )
    assume(theirs > 1000 * off)
    near(
        c.gain(axes=pair),
        (theirs - ours) / theirs,
        Fraction(2 * off * (1 + ours / theirs) / theirs),
    )


@given(data=mixed(6), vary=varies, part=fractions)
def test_the_gain_over_a_reference_compares_the_same_rows_and_range(
    data: Data, vary: str, part: Fraction
) -> None:
    wider = (
        tuple(1.0 + 2 * band for band in reversed(data.lower_band)),
        tuple(0.5 + band for band in data.upper_band),
    )
    other = Data(data.y_true, data.y_pred, *wider, data.weight)
    mine, theirs = data.oracle(vary), other.oracle(vary)
    top = float(level(theirs, "bandwidth", part))
    within = ("bandwidth", 0.0, top)
    assume(theirs.area("bandwidth", "deficit", within) > Fraction(1, 10**6))
    exact = mine.gain("bandwidth", "deficit", within, reference=theirs)
    for reference in (other.intervals(), other.curve(vary)):
        found = data.curve(vary).gain(
            axes=("bandwidth", "deficit"), reference=reference, bandwidth=(0.0, top)
        )
        np.testing.assert_allclose(found, float(exact), rtol=1e-9, atol=1e-9)


@given(data=mixed(8, never=True), vary=varies, pair=pairs, c=fractions)
def test_the_cheapest_point_has_the_smallest_cost_over_all_breakpoints(
    data: Data, vary: str, pair: tuple[str, str], c: Fraction
) -> None:
    oracle, (x, y) = data.oracle(vary), pair
    off = TOLERANCE * (c * extent(oracle, x) + (1 - c) * extent(oracle, y))
    point = data.curve(vary).cheapest(float(c), axes=pair)
    near(point.cost, oracle.cheapest(c, x, y)[0], off)
    near(point.cost, c * Fraction(getattr(point, x)) + (1 - c) * Fraction(getattr(point, y)), off)
    near(
        data.curve(vary).cost(float(c), axes=pair, at=getattr(point, vary)),
        oracle.cheapest(c, x, y)[0],
        off,
    )


@given(data=mixed(8, never=True), vary=varies, pair=pairs, c=fractions)
def test_the_cost_of_the_delivered_intervals_is_the_default(
    data: Data, vary: str, pair: tuple[str, str], c: Fraction
) -> None:
    oracle, t = data.oracle(vary), Fraction(1 if vary == "scale" else 0)
    assume(
        not any(0 < abs(k - t) < Fraction(1, 10**9) for k in oracle.criticals)
    )  # decided by the rounded bounds
    off = c * slack(oracle, pair[0], t) + (1 - c) * slack(oracle, pair[1], t)
    near(data.curve(vary).cost(float(c), axes=pair), oracle.cost(c, *pair, t), off)


@given(
    data=dyadic(12, weighted=False),
    vary=varies,
    alpha=st.sampled_from([0.07, 0.1, 0.3, 1 / 3, 0.5, Fraction(2, 7)]),
)
def test_the_conformal_rank_counts_ties_and_refuses_too_few_rows(
    data: Data, vary: str, alpha: float | Fraction
) -> None:
    exact = data.oracle(vary).conformal(written(alpha))
    if exact is None:
        with pytest.raises(ValueError, match="rows"):
            data.curve(vary).find(miss_rate=alpha, conformal=True)
    else:
        near(getattr(data.curve(vary).find(miss_rate=alpha, conformal=True), vary), exact)


@pytest.mark.parametrize("weight", [[1.0, 1.0, 1.0, 1.5], [0.5, 0.5, 0.5, 0.25]])
def test_the_conformal_rank_counts_rows_and_so_refuses_unequal_weights(weight: list[float]) -> None:
    iv = ucc.Intervals.from_bands([1.0, -2.0, 3.0, -4.0], [0.0] * 4, [1.0] * 4, weight=weight)
    with pytest.raises(ValueError, match="equal weights"):
        ucc.UCC(iv).find(miss_rate=0.5, conformal=True)
    equal = ucc.Intervals.from_bands([1.0, -2.0, 3.0, -4.0], [0.0] * 4, [1.0] * 4, weight=[0.3] * 4)
    assert ucc.UCC(equal).find(miss_rate=0.5, conformal=True).scale == 3.0


@given(
    data=dyadic(6), vary=varies, share=st.sampled_from([0.25, 0.5, 0.9]),
    pair=pairs.filter(lambda pair: pair[1] in FALLING and pair[0] != pair[1]),
)  # fmt: skip
def test_concentration_is_the_smallest_number_of_rows_that_carry_the_share(
    data: Data, vary: str, pair: tuple[str, str], share: float
) -> None:
    oracle = data.oracle(vary)
    assume(oracle.area(*pair))
    allowed = {oracle.concentration(*pair, Fraction(share) + d) for d in (-TOLERANCE, TOLERANCE)}
    assert data.curve(vary).concentration(axes=pair, share=share) in allowed
