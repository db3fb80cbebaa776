"""Bounds that stand for none, and bands raised to a minimum, against exact arithmetic: right to nine digits or refused.

A solver writes 1e18, 1e30 or 1e100 where it has no bound. Whatever float64 cannot hold beside such a number is refused
in one sentence that names the side; everything that is answered is right to 1e-9 of its own size, or of the errors'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import uccurve as ucc
from level_oracle import Nested, nested
from oracle import FALLING, METRICS, PAIRS, Oracle
from strategies import Data, mixed, varies

DIGITS = 1e-9
SIZES = [1e9, 1e12, 1e15, 1e18, 1e21, 1e24, 1e30, 1e60, 1e100]
REFUSED = ("bands and errors must be of comparable size", "bands and errors of comparable size")


@st.composite
def with_sentinels(draw: st.DrawFn, max_size: int = 6) -> Data:
    """Ordinary rows, some bands of which are one huge number, on either side or on both."""
    data = draw(mixed(max_size))
    size = draw(st.sampled_from(SIZES))
    count = len(data.y_true)
    lower = draw(st.integers(0, 2**count - 1))
    upper = draw(st.integers(0, 2**count - 1))
    return replace(
        data,
        lower_band=tuple(
            size if lower >> i & 1 else band for i, band in enumerate(data.lower_band)
        ),
        upper_band=tuple(
            size if upper >> i & 1 else band for i, band in enumerate(data.upper_band)
        ),
    )


def answered(ask: Callable[[], Any]) -> Any:
    """What is answered; None where it is refused because of the sizes of bands and errors."""
    try:
        return ask()
    except ValueError as error:
        assert any(words in str(error) for words in REFUSED), error  # noqa: PT017  # others are failures
        return None


def close(found: float | None, exact: Fraction | float | None, size: Fraction | float) -> None:
    """Fail unless an answer is right to nine digits of itself, or of what it is the difference of."""
    if found is None or exact is None:
        return
    if exact == inf:
        assert found == inf
        return
    assert_allclose(found, float(exact), rtol=DIGITS, atol=DIGITS * float(size))


def mean_error(oracle: Oracle) -> Fraction:
    return sum((row.weight * row.error for row in oracle.rows), Fraction(0))


def unit_of(oracle: Oracle, *names: str) -> Fraction:
    """Product of the mean error over metrics that have it as their unit."""
    product = Fraction(1)
    for name in names:
        product *= 1 if name == "miss_rate" else mean_error(oracle)
    return product


# ---- a curve over the scale


@given(data=with_sentinels())
def test_points_beside_a_sentinel_are_right_to_nine_digits_or_refused(data: Data) -> None:
    oracle = data.oracle()
    curve = ucc.UCC(data.intervals())
    for t in (0.0, 0.25, 1.0, 3.0):
        point = answered(lambda t=t: curve.at(t))  # type: ignore[misc]
        for name in METRICS:
            exact = oracle.value(name, Fraction(t))
            close(getattr(point, name, None), exact, unit_of(oracle, name))


@given(data=with_sentinels())
def test_areas_and_gains_beside_a_sentinel_are_right_to_nine_digits_or_refused(data: Data) -> None:
    oracle = data.oracle()
    curve = ucc.UCC(data.intervals())
    reference = oracle.constant()
    for x, y in PAIRS:
        axes: Any = (x, y)
        area, theirs = oracle.area(x, y), reference.area(x, y)
        unit = unit_of(oracle, x, y)
        close(answered(lambda axes=axes: curve.area(axes=axes)), area, unit)  # type: ignore[misc]
        if inf in (area, theirs) or theirs <= unit / 10**6:
            continue
        gain = answered(lambda axes=axes: curve.gain(axes=axes))  # type: ignore[misc]
        close(gain, (theirs - area) / theirs, (area + theirs) / theirs)


@given(data=with_sentinels(), part=st.integers(1, 15).map(lambda n: Fraction(n, 16)))
def test_targets_beside_a_sentinel_are_reached_where_they_are_or_refused(
    data: Data, part: Fraction
) -> None:
    oracle = data.oracle()
    curve: Any = ucc.UCC(data.intervals())
    for name in METRICS:
        first, last = (oracle.value(name, t) for t in (oracle.start, oracle.end))
        goal = float(first + (last - first) * part)
        point = answered(lambda name=name, goal=goal: curve.find(**{name: goal}))  # type: ignore[misc]
        if point is None:
            continue
        slack = Fraction(DIGITS) * (abs(Fraction(goal)) + unit_of(oracle, name))
        reached = oracle.value(name, Fraction(point.scale))
        if name == "miss_rate":
            assert float(oracle.value(name, next_place(oracle, point.scale))) <= goal + DIGITS
        elif name in FALLING:
            assert reached <= Fraction(goal) + slack
        else:
            assert reached >= Fraction(goal) - slack
        before = Fraction(point.scale) * (1 - Fraction(DIGITS))
        if name != "miss_rate" and before > oracle.start:
            sign = -1 if name in FALLING else 1
            assert sign * oracle.value(name, before) <= sign * Fraction(goal) + slack


def next_place(oracle: Oracle, scale: float) -> Fraction:
    """The critical scale that a float stands for: the last one that rounds to it or lies below it."""
    places = [k for k in oracle.criticals if float(k) <= scale * (1 + DIGITS)]
    return max(places, default=oracle.start)


@given(data=with_sentinels(8), coverage=st.sampled_from([0.5, 2 / 3, 0.8]))
def test_decompositions_beside_a_sentinel_are_right_to_nine_digits_or_refused(
    data: Data, coverage: float
) -> None:
    oracle = data.oracle()
    alpha = 1 - Fraction(coverage).limit_denominator(100)
    t = oracle.shipped(alpha)
    assume(t is not None and t != inf)
    assert t is not None
    curve = ucc.UCC(data.intervals())
    parts = answered(lambda: curve.decompose(coverage=coverage))
    if parts is None:
        return
    reference = Oracle(oracle.constant().rows)
    constant_t = reference.shipped(alpha)
    assert constant_t is not None
    unit = mean_error(oracle) / alpha
    delivered = oracle.interval_score(alpha)
    shipped = oracle.score(alpha, Fraction(t))
    best = min(oracle.best_score(alpha), delivered, shipped)
    close(parts.delivered, delivered, unit)
    close(parts.shipped, shipped, unit)
    close(parts.constant, reference.score(alpha, Fraction(constant_t)), unit)
    close(parts.best, best, unit)
    close(parts.slack, shipped - best, unit + shipped)


# ---- raised bands


def raised(data: Data, minimum: float) -> Data:
    """The same rows, whose bands are at least the minimum."""
    return replace(
        data,
        lower_band=tuple(max(band, minimum) for band in data.lower_band),
        upper_band=tuple(max(band, minimum) for band in data.upper_band),
    )


def with_minimum(data: Data, minimum: float) -> ucc.Intervals:
    return ucc.Intervals.from_bands(
        data.y_true,
        data.y_pred,
        data.lower_band,
        data.upper_band,
        weight=data.weight,
        min_band=minimum,
    )


@given(data=mixed(6, never=True), vary=varies, minimum=st.sampled_from([0.25, 1.0, 30.0]))
def test_a_curve_of_raised_bands_is_that_of_the_raised_rows(
    data: Data, vary: Any, minimum: float
) -> None:
    expected = raised(data, minimum)
    oracle = expected.oracle(vary)
    iv = with_minimum(data, minimum)
    both = (*data.lower_band, *data.upper_band)
    assert iv.raised == sum(band < minimum for band in both)
    curve = ucc.UCC(iv, vary=vary)
    for x, y in PAIRS:
        axes: Any = (x, y)
        size = unit_of(oracle, x, y)
        close(answered(lambda axes=axes: curve.area(axes=axes)), oracle.area(x, y), size)  # type: ignore[misc]
    point = answered(lambda: curve.at(0.5))
    for name in METRICS:
        close(getattr(point, name, None), oracle.value(name, Fraction(1, 2)), unit_of(oracle, name))


@given(data=mixed(6, never=True), share=st.integers(1, 60))
def test_a_percentage_raises_bands_to_a_share_of_the_mean_half_width(
    data: Data, share: int
) -> None:
    weight = np.ones(len(data.y_true)) if data.weight is None else np.array(data.weight)
    half_widths = (np.array(data.lower_band) + np.array(data.upper_band)) / 2
    minimum = share / 100 * float(np.average(half_widths, weights=weight))
    iv = ucc.Intervals.from_bands(
        data.y_true,
        data.y_pred,
        data.lower_band,
        data.upper_band,
        weight=data.weight,
        min_band=f"{share}%",
    )
    expected = raised(data, minimum)
    assert_allclose(iv.lower_band, expected.lower_band, rtol=1e-13)
    assert_allclose(iv.upper_band, expected.upper_band, rtol=1e-13)


@given(case=nested(), minimum=st.sampled_from([0.25, 1.0, 30.0]))
def test_levels_of_raised_bands_are_those_of_the_raised_rows(case: Nested, minimum: float) -> None:
    expected = Nested(case.names, tuple(raised(level, minimum) for level in case.levels))
    oracle = expected.oracle()
    assume(not oracle.decided_by_rounding)
    levels = {
        name: with_minimum(level, minimum)
        for name, level in zip(case.names, case.levels, strict=True)
    }
    curve = ucc.UCC.from_levels(levels)
    for x, y in PAIRS:
        axes: Any = (x, y)
        found = answered(lambda axes=axes: curve.area(axes=axes))  # type: ignore[misc]
        close(found, oracle.area(x, y), unit_of(oracle, x, y))
    crps = answered(curve.potential_crps)
    close(crps, oracle.potential_crps(), mean_error(oracle))
