"""Order is that of the values, whatever their bits; running sums keep their digits at any length."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uccurve._arrays import SHORT, blocks, ordered, running_integral, running_sum
from uccurve._vocabulary import Array

SIZES = [1, 2, 3, SHORT - 1, SHORT, SHORT + 1, 2047, 2048, 2049, 4095, 4096, 4097, 2**14 + 1]


def assert_ordered(values: Array) -> None:
    """Fail unless the order is a permutation of the rows that puts the values in ascending order."""
    before = values.copy()
    order, both = ordered(values, first=-1.5)
    out = both[1:]
    assert both[0] == -1.5
    np.testing.assert_array_equal(values, before)
    np.testing.assert_array_equal(np.bincount(order, minlength=len(values)), np.ones(len(values)))
    np.testing.assert_array_equal(values[order], out)
    np.testing.assert_array_equal(out, np.sort(values))


def shuffled(values: Array, seed: int = 0) -> Array:
    return np.random.default_rng(seed).permutation(values)


# ---- order


@pytest.mark.parametrize("size", SIZES)
def test_random_values_are_ordered_at_every_size(size: int) -> None:
    rng = np.random.default_rng(size)
    assert_ordered(rng.random(size))
    assert_ordered(rng.lognormal(0, 20, size))
    assert_ordered(rng.normal(size=size))
    assert_ordered(np.sort(rng.random(size)))
    assert_ordered(np.sort(rng.random(size))[::-1].copy())


@pytest.mark.parametrize("size", SIZES)
def test_neighbouring_floats_are_told_apart(size: int) -> None:
    # all differences are in the bits that the row number overwrites
    steps = np.arange(size).astype(np.uint64)
    for base in (1.0, 1e-300, 1e300):
        near = (np.float64(base).view(np.uint64) + steps).view(np.float64)
        assert_ordered(shuffled(near))
        assert_ordered(near[::-1].copy())


@pytest.mark.parametrize("run", [2, 3, 63, 64, 65, 66, 1000])
def test_runs_of_nearly_equal_values_are_ordered_whatever_their_length(run: int) -> None:
    rng = np.random.default_rng(run)
    size = 8192
    base = np.repeat(rng.random(-(-size // run)), run)[:size]
    near = (base.view(np.uint64) + rng.integers(0, 16, size, dtype=np.uint64)).view(np.float64)
    assert_ordered(near)
    assert_ordered(shuffled(near, run))


@pytest.mark.parametrize("size", [SHORT, 5000])
def test_ties_zeros_and_the_ends_of_float64_are_ordered(size: int) -> None:
    rng = np.random.default_rng(size)
    kinds = np.array(
        [
            0.0,
            5e-324,
            1e-310,
            2.2250738585072014e-308,
            1.0,
            np.nextafter(1.0, 2),
            1.7976931348623157e308,
        ]
    )
    assert_ordered(kinds[rng.integers(0, len(kinds), size)])
    assert_ordered(rng.integers(0, 5, size).astype(np.float64))
    assert_ordered(np.zeros(size))
    assert_ordered(
        np.float64(5e-324) * rng.integers(0, 2 * size, size)
    )  # denormals: the bits are the values
    assert_ordered(np.where(rng.random(size) < 0.5, -0.0, rng.random(size)))


@pytest.mark.parametrize("size", [SHORT, 5000])
def test_negative_values_are_ordered(size: int) -> None:
    rng = np.random.default_rng(size)
    values = rng.normal(size=size)
    values[rng.integers(0, size, 50)] = -0.0
    assert_ordered(values)
    assert_ordered(-np.abs(values))


@given(
    words=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=40),
    bits=st.integers(0, 52),
    size=st.sampled_from([SHORT, 1500, 2048]),
    seed=st.integers(0, 999),
)
def test_adversarial_bits_are_ordered(words: list[int], bits: int, size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    noise = rng.integers(0, 2**bits, size, dtype=np.uint64)
    keys = (rng.choice(np.array(words, np.uint64), size) & ~np.uint64(2**bits - 1)) | noise
    values = (keys & np.uint64(2**63 - 1)).view(np.float64)
    assert_ordered(np.where(np.isfinite(values), values, 1.0))


# ---- running sums


def relative_error(values: Array, places: list[int]) -> float:
    found = running_sum(values.copy())
    exact = [math.fsum(values[: place + 1]) for place in places]
    return float(np.max(np.abs(found[places] - exact) / np.abs(exact)))


@pytest.mark.parametrize("size", [*SIZES, 10_007])
def test_running_sums_agree_with_exact_ones_everywhere(size: int) -> None:
    values = np.random.default_rng(size).lognormal(0, 3, size)
    exact = np.empty(size)
    total = 0
    for i, value in enumerate(values * 2.0**60):  # integers: Python adds them without rounding
        total += int(value)
        exact[i] = float(total)
    np.testing.assert_allclose(
        running_sum(np.floor(values * 2.0**60)), exact, rtol=4 * 2**-52 * (1 + math.isqrt(size))
    )


def test_running_sums_of_a_million_terms_lose_hardly_a_digit() -> None:
    places = [0, 999, 1000, 1001, 12_345, 499_999, 999_998, 999_999]
    tenth = np.full(1_000_000, 0.1)
    assert relative_error(tenth, places) < 5e-14
    plain = np.cumsum(tenth)
    assert abs(plain[-1] - 1e5) / 1e5 > 1e-12  # what the blocks are for
    assert relative_error(np.random.default_rng(0).lognormal(0, 2, 1_000_000), places) < 5e-14
    assert relative_error(1.0 / np.arange(1.0, 1_000_001), places) < 5e-14


def test_running_sums_of_terms_that_are_not_negative_never_fall() -> None:
    values = np.random.default_rng(1).lognormal(0, 5, 100_000)
    values[::3] = 0.0
    assert np.all(np.diff(running_sum(values)) >= 0)


def test_a_running_sum_is_made_in_place() -> None:
    values = np.ones(5000)
    assert running_sum(values) is values
    np.testing.assert_array_equal(values, np.arange(1.0, 5001.0))


# ---- running integrals


def exact_integral(slopes: list[Fraction], t: Array) -> Array:
    """The integral from the first t on of the running sum of slopes, each of which holds from its t on."""
    slope = total = Fraction(0)
    out = []
    for one, left, right in zip(slopes, t[:-1].tolist(), t[1:].tolist(), strict=True):
        slope += one
        total += slope * abs(Fraction(right) - Fraction(left))
        out.append(float(total))
    return np.array(out)


@pytest.mark.parametrize("size", [1, 2, 39, 40, 41, 1000, 4001])
@pytest.mark.parametrize("direction", [1, -1])
def test_running_integrals_agree_with_exact_ones_in_both_directions(
    size: int, direction: int
) -> None:
    rng = np.random.default_rng(size)
    slopes, t = rng.lognormal(0, 3, size), np.sort(rng.normal(size=size + 1))[::direction]
    exact = exact_integral([Fraction(one) for one in slopes], t)
    for rest in (None, np.zeros(size)):  # in float64, and in twice its precision
        out = slopes.copy()
        running_integral(out, rest, t)
        np.testing.assert_allclose(out, exact, rtol=1e-13)


@pytest.mark.parametrize("size", [3, 40, 1001])
def test_what_is_left_where_a_huge_slope_comes_and_goes_is_exact(size: int) -> None:
    rng = np.random.default_rng(size)
    t = np.append(0.0, 1e-18 + np.append(0.0, np.cumsum(rng.random(size - 1))))
    high, low = np.zeros(size), rng.random(size)
    high[:2] = 1e18, -1e18  # for a step of 1e-18
    slopes = [Fraction(a) + Fraction(b) for a, b in zip(high, low, strict=True)]
    plain = np.cumsum(np.cumsum(high + low) * np.diff(t))
    running_integral(high, low, t)
    np.testing.assert_allclose(high, exact_integral(slopes, t), rtol=1e-13)
    assert not np.allclose(
        plain, high, rtol=1e-3
    )  # in float64 alone the low part of the first slopes is lost


@pytest.mark.parametrize("rest", [None, np.zeros(5)])
def test_an_integral_of_slopes_that_end_at_zero_stays_where_it_is(rest: Array | None) -> None:
    slopes = np.array([0.1, 0.2, 1e17, -0.3, -1e17])
    running_integral(slopes, rest, np.arange(6.0))
    assert slopes[-1] == slopes[-2]
    assert np.all(np.diff(slopes) >= 0)


@pytest.mark.parametrize("length", [1, 65_535, 65_536, 65_537, 200_000])
def test_blocks_cover_everything_once(length: int) -> None:
    covered = np.zeros(length, int)
    for block in blocks(length):
        covered[block] += 1
    assert np.all(covered == 1)
