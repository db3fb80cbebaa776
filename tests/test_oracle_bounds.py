"""One bound, and bounds that end at a support, against the definitions in exact arithmetic (tests/oracle.py)."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import uccurve as ucc
from closeness import TOLERANCE, area_slack, extent, level, near, slack
from level_oracle import Nested, nested
from oracle import FALLING, METRICS, PAIRS, Oracle, rows, written
from strategies import Data, dyadic, fractions, judged, mixed, pairs, varies

ALPHAS = st.sampled_from([0.05, 0.1, 0.3, 0.5])


def blur(oracle: Oracle) -> Fraction:
    """What rounding is measured against beside the place itself: a critical shift is a difference."""
    if oracle.vary != "shift":
        return Fraction(0)
    return max(abs(row.y_true - row.y_pred) + row.active for row in oracle.rows)


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
        near(getattr(point, metric), exact[metric], slack(oracle, metric, exact_t))


# ---- the oracle itself


def test_the_oracle_agrees_with_an_upper_bound_worked_by_hand() -> None:
    # distances 2 and -3 from the prediction, bands 1 and 2: critical scales 2 and 0, critical shifts 1 and -5
    oracle = Oracle(rows([2.0, 7.0], [0.0, 10.0], [9.0, 9.0], [1.0, 2.0], side="upper"))
    assert oracle.criticals == [0, 2]
    assert oracle.values(Fraction(1)) == {
        "miss_rate": Fraction(1, 2),
        "bandwidth": Fraction(3, 2),
        "excess": Fraction(5, 2),
        "deficit": Fraction(1, 2),
        "overshoot": Fraction(1),
    }
    # the bounds 1 and 12: 1 - 2 + 10 * 1 and 12 - 7, on average
    assert oracle.score(Fraction(1, 10), Fraction(1)) == Fraction(14, 2)
    shifted = Oracle(oracle.rows, "shift")
    assert shifted.criticals == [-5, 1]
    assert shifted.values(Fraction(-4))["bandwidth"] == Fraction(-3 - 2, 2)
    assert shifted.values(Fraction(-4))["deficit"] == Fraction(5, 2)


def test_the_oracle_agrees_with_a_support_worked_by_hand() -> None:
    oracle = Oracle(rows([2.0], [1.0], [1.0], [4.0], support=(0.0, 6.0)))
    # three times the bands reach from -2 to 13, which end at 0 and 6: both bounds are 2 and 4 away
    assert oracle.values(Fraction(3)) == {
        "miss_rate": 0,
        "bandwidth": 3,
        "excess": 2,
        "deficit": 0,
        "overshoot": 4,
    }


@given(data=judged(mixed(5, never=True)), vary=varies)
def test_every_metric_is_straight_between_the_breakpoints_of_the_oracle(
    data: Data, vary: str
) -> None:
    oracle = data.oracle(vary)
    for left, right in pairwise(oracle.breakpoints):
        for part in (Fraction(1, 3), Fraction(9, 10)):
            inside = oracle.values(left + (right - left) * part)
            for metric, value in inside.items():
                ends = oracle.value(metric, left), oracle.value(metric, right)
                straight = ends[0] + (ends[1] - ends[0]) * part
                assert value == (ends[0] if metric == "miss_rate" else straight)


# ---- points and curves


@given(data=judged(dyadic(never=True)), vary=varies)
def test_at_counts_the_row_that_defines_the_scale_as_covered(data: Data, vary: str) -> None:
    oracle, c = data.oracle(vary), data.curve(vary)
    for t in oracle.breakpoints[1:] if oracle.unbounded else oracle.breakpoints:
        last = max((k for k in oracle.criticals if float(k) == float(t)), default=t)
        assert_point(c.at(float(t)), oracle, last)


@given(data=judged(mixed(12, never=True)), vary=varies)
def test_at_equals_the_definition_between_the_breakpoints_and_beyond_the_curve(
    data: Data, vary: str
) -> None:
    oracle, c = data.oracle(vary), data.curve(vary)
    for t in middles(oracle):
        assert_point(c.at(float(t)), oracle, Fraction(float(t)))
    if oracle.unbounded:
        before = oracle.start - 1
        assert_point(c.at(float(before)), oracle, Fraction(float(before)))


@settings(max_examples=3 * settings().max_examples)
@given(data=judged(mixed(6, never=True)), vary=varies)
def test_the_table_holds_every_vertex_of_the_curve_and_nothing_off_it(
    data: Data, vary: str
) -> None:
    oracle = data.oracle(vary)
    assume(
        all(b - a > max(blur(oracle), abs(b)) / 10**9 for a, b in pairwise(oracle.criticals))
    )  # or floats tie them
    table = data.curve(vary).table()
    places = table[vary]
    assert np.all(np.diff(places) > 0)
    near(float(places[-1]), oracle.end, TOLERANCE * blur(oracle))
    near(float(places[0]), oracle.start, TOLERANCE * blur(oracle))
    for metric in METRICS:
        for t in oracle.criticals if metric == "miss_rate" else oracle.breakpoints:
            spare = TOLERANCE * (abs(t) + blur(oracle))
            if metric == "miss_rate":
                drawn = table[metric][np.searchsorted(places, float(t + spare), side="right") - 1]
            else:
                drawn = np.interp(float(t), places, table[metric])
            near(float(drawn), oracle.value(metric, t), TOLERANCE * extent(oracle, metric))


@given(data=judged(mixed(8)), vary=varies)
def test_the_area_on_every_pair_of_axes_is_the_exact_integral(data: Data, vary: str) -> None:
    oracle, c = data.oracle(vary), data.curve(vary)
    assume(not oracle.unbounded)
    for x, y in PAIRS:
        near(c.area(axes=(x, y)), oracle.area(x, y), area_slack(oracle, x, y))


@given(data=judged(mixed(6)), pair=pairs, low=fractions, high=fractions)
def test_a_partial_area_over_the_bandwidth_is_exact(
    data: Data, pair: tuple[str, str], low: Fraction, high: Fraction
) -> None:
    oracle, c = data.oracle(), data.curve()
    assume(low < high)
    first, last = (float(level(oracle, "bandwidth", part)) for part in (low, high))
    assume(0 <= first < last)
    off = area_slack(oracle, *pair) + TOLERANCE * extent(oracle, pair[0]) * extent(oracle, pair[1])
    spare = Fraction(last) / 10**9
    found = c.area(axes=pair, bandwidth=(first, last))
    inner = oracle.area(*pair, ("bandwidth", Fraction(first) + spare, Fraction(last) - spare))
    outer = oracle.area(
        *pair, ("bandwidth", max(Fraction(first) - spare, Fraction(0)), Fraction(last) + spare)
    )
    assert inner - off <= found <= outer + off


@given(data=judged(mixed(6)), vary=varies, pair=pairs)
def test_the_gain_is_the_share_of_the_constant_bands_area_saved(
    data: Data, vary: str, pair: tuple[str, str]
) -> None:
    oracle = data.oracle(vary)
    assume(not oracle.unbounded)
    theirs, ours = oracle.constant().area(*pair), oracle.area(*pair)
    off = area_slack(oracle, *pair) + area_slack(oracle.constant(), *pair)
    assume(theirs != inf)
    off += TOLERANCE * Fraction(theirs + ours)
    assume(theirs > 1000 * off)
    spare = Fraction(2 * off * (1 + ours / theirs) / theirs)
    near(data.curve(vary).gain(axes=pair), (theirs - ours) / theirs, spare)


@given(data=judged(mixed(4)))
def test_areas_over_the_shift_of_a_single_bound_are_refused(data: Data) -> None:
    assume(data.side != "both")
    c = data.curve("shift")
    for ask in (c.area, c.gain, c.concentration):
        with pytest.raises(ValueError, match="the shift of a single bound has no area"):
            ask()


# ---- targets, costs and scores


@given(
    data=judged(mixed(8, never=True)), vary=varies, part=fractions, metric=st.sampled_from(METRICS)
)
def test_find_gives_the_smallest_place_that_reaches_a_level(
    data: Data, vary: str, part: Fraction, metric: str
) -> None:
    oracle, c = data.oracle(vary), data.curve(vary)
    goal = float(level(oracle, metric, part))
    assume(goal >= 0)
    equal = len({row.weight for row in oracle.rows}) == 1
    off = TOLERANCE * (extent(oracle, metric) + abs(Fraction(goal)))
    if metric == "miss_rate" and equal:
        off = Fraction(0)
    elif metric in FALLING:
        off = -off
    early = oracle.reach(metric, Fraction(goal) - off if off else goal)
    late = oracle.reach(metric, Fraction(goal) + off if off else goal)
    t = Fraction(getattr(c.find(**{metric: goal}), vary))
    assert early is not None
    assert t >= early - TOLERANCE * (abs(early) + blur(oracle))
    assert late is None or t <= late + TOLERANCE * (abs(late) + blur(oracle))


@given(data=judged(mixed(8, never=True)), vary=varies, pair=pairs, c=fractions)
def test_the_cheapest_point_has_the_smallest_cost_over_all_breakpoints(
    data: Data, vary: str, pair: tuple[str, str], c: Fraction
) -> None:
    oracle, (x, y) = data.oracle(vary), pair
    off = TOLERANCE * (c * extent(oracle, x) + (1 - c) * extent(oracle, y))
    point = data.curve(vary).cheapest(float(c), axes=pair)
    near(point.cost, oracle.cheapest(c, x, y)[0], off)


@given(data=judged(dyadic(12, weighted=False)), vary=varies, alpha=ALPHAS)
def test_the_conformal_rank_counts_ties_and_refuses_too_few_rows(
    data: Data, vary: str, alpha: float
) -> None:
    oracle = data.oracle(vary)
    exact = oracle.conformal(written(alpha))
    if exact is None:
        with pytest.raises(ValueError, match="rows"):
            data.curve(vary).find(miss_rate=alpha, conformal=True)
    elif exact != oracle.start:
        near(getattr(data.curve(vary).find(miss_rate=alpha, conformal=True), vary), exact)


@given(data=judged(mixed(8)), vary=varies, alpha=ALPHAS)
def test_the_interval_score_is_that_of_the_bounds(data: Data, vary: str, alpha: float) -> None:
    oracle, c = data.oracle(vary), data.curve(vary)
    for t in middles(oracle):
        exact = oracle.score(written(alpha), Fraction(float(t)))
        size = extent(oracle, "bandwidth") + extent(oracle, "deficit") / written(alpha)
        spare = 2 * TOLERANCE * (size + 2 * abs(t) * size)
        near(c.interval_score(coverage=1 - alpha, at=float(t)), exact, spare)


@given(data=judged(mixed(8)), vary=varies)
def test_the_potential_crps_is_the_integral_of_the_best_scores(data: Data, vary: str) -> None:
    oracle = data.oracle(vary)
    spare = 4 * TOLERANCE * (extent(oracle, "bandwidth") + extent(oracle, "deficit"))
    near(data.curve(vary).potential_crps(), oracle.potential_crps(), spare)


@given(data=judged(dyadic(10, weighted=False)), vary=varies, alpha=st.sampled_from([0.3, 0.5]))
def test_a_decomposition_has_the_parts_of_the_definition(
    data: Data, vary: str, alpha: float
) -> None:
    oracle = data.oracle(vary)
    share = written(alpha)
    t = oracle.conformal(share)
    assume(t is not None and t not in (inf, oracle.start))
    assert t is not None
    parts = data.curve(vary).decompose(coverage=1 - alpha)
    spare = 4 * TOLERANCE * (extent(oracle, "bandwidth") + extent(oracle, "deficit") / share)
    near(parts.delivered, oracle.interval_score(share), spare)
    near(parts.shipped, oracle.score(share, Fraction(t)), spare)
    near(parts.climatology, oracle.climatology(share), spare)
    best = min(oracle.best_score(share), oracle.interval_score(share))
    near(parts.best, best, spare)
    reference = oracle.constant()
    if oracle.side == "both":  # the constant band is scaled on every path of an interval
        reference = Oracle(reference.rows)
    constant_t = reference.conformal(share)
    assert constant_t is not None
    near(parts.constant, reference.score(share, Fraction(constant_t)), spare)


# ---- levels


@settings(max_examples=2 * settings().max_examples)
@given(case=nested(sided=True))
def test_levels_of_one_bound_or_with_a_support_are_the_definition(case: Nested) -> None:
    oracle = case.oracle()
    assume(not oracle.decided_by_rounding)
    c = case.curve()
    size = {metric: TOLERANCE * extent(oracle, metric) for metric in METRICS}
    for t in middles(oracle):
        exact = oracle.values(Fraction(float(t)))
        for metric in METRICS:
            near(getattr(c.at(float(t)), metric), exact[metric], 4 * size[metric])
    table = c.table()
    for metric in METRICS:
        if metric == "miss_rate":
            continue
        for t in oracle.breakpoints:
            drawn = float(np.interp(float(t), table["scale"], table[metric]))
            near(drawn, oracle.value(metric, t), 8 * size[metric])
    spare = 8 * (size["bandwidth"] + size["deficit"])
    near(c.potential_crps(), oracle.potential_crps(), spare)
    pairs_of_axes: Any = [
        ("bandwidth", "miss_rate"),
        ("bandwidth", "deficit"),
        ("excess", "deficit"),
    ]
    for x, y in pairs_of_axes:
        off = 8 * TOLERANCE * extent(oracle, x) * extent(oracle, y)
        near(c.area(axes=(x, y)), oracle.area(x, y), off)


# ---- units


@given(
    data=judged(dyadic(8, weighted=False), supported=False),
    vary=varies,
    powers=st.lists(st.integers(-3, 3), min_size=8, max_size=8),
)
def test_rows_are_divided_by_their_units_before_anything_is_averaged(
    data: Data, vary: str, powers: list[int]
) -> None:
    unit = [2.0**power for power in powers[: len(data.y_true)]]
    columns = data.y_true, data.y_pred, data.lower_band, data.upper_band
    side: Any = data.side
    iv = ucc.Intervals.from_bands(*columns, side=side, unit=unit)
    divided = [np.divide(column, unit) for column in columns]
    plain = ucc.Intervals.from_bands(*divided, side=side)
    c: Any = ucc.UCC(iv, vary=vary)  # type: ignore[arg-type]  # the name comes from a list
    expected: Any = ucc.UCC(plain, vary=vary)  # type: ignore[arg-type]
    for name, column in c.table().items():
        np.testing.assert_array_equal(column, expected.table()[name])
    assert c.interval_score(coverage=0.5) == expected.interval_score(coverage=0.5)
    assert c.potential_crps() == expected.potential_crps()
    if vary == "shift":
        moved = iv.calibrated(shift=1.5)
        np.testing.assert_array_equal(
            np.clip(moved.upper, -1e9, 1e9),
            np.clip(plain.calibrated(shift=1.5).upper * unit, -1e9, 1e9),
        )
