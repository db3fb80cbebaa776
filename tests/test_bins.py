"""Bins are the same everywhere: narrow, in order, with edges that are exact floats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bin_edges import edges
from uccurve.sketch._bins import PER_OCTAVE, RESOLUTIONS, Histogram, bins, last

LAST = last()
ZERO, INFINITE = -LAST - 1, LAST + 1
EVERY = pytest.mark.parametrize("resolution", RESOLUTIONS)


def test_zero_and_infinity_have_bins_of_their_own() -> None:
    found = bins(np.array([0.0, 1e-300, 1e-90, 1e90, 1e308, np.inf]))
    assert found.tolist() == [ZERO, -LAST, -LAST, LAST, LAST, INFINITE]


@given(st.lists(st.floats(0, allow_nan=False), min_size=2))
def test_a_larger_number_is_in_no_earlier_bin(numbers: list[float]) -> None:
    assert np.all(np.diff(bins(np.sort(numbers))) >= 0)


@EVERY
def test_an_edge_is_the_last_float_of_its_bin(resolution: int) -> None:
    inner = np.arange(-last(resolution), last(resolution))
    ends = edges(inner, resolution)
    np.testing.assert_array_equal(bins(ends, resolution), inner)
    np.testing.assert_array_equal(bins(np.nextafter(ends, np.inf), resolution), inner + 1)


@EVERY
def test_the_scale_as_delivered_is_an_edge(resolution: int) -> None:
    around = np.array([np.nextafter(1, 0), 1.0, np.nextafter(1, 2)])
    assert bins(around, resolution).tolist() == [resolution, resolution, resolution + 1]
    assert edges(np.array([resolution]), resolution).item() == 1.0


@EVERY
def test_bins_are_as_many_per_factor_of_two_as_the_resolution_says(resolution: int) -> None:
    ends = edges(np.arange(-last(resolution), last(resolution)), resolution)
    assert np.max(ends[1:] / ends[:-1] - 1) < 1 / resolution
    np.testing.assert_allclose(ends[resolution:], 2 * ends[:-resolution], rtol=1e-15)


def test_a_sketch_has_sixteen_bins_per_factor_of_two_unless_more_are_asked_for() -> None:
    assert PER_OCTAVE == 16


def test_grouped_rows_keep_their_count_maximum_and_sums() -> None:
    numbers = np.array([1.0, 3.0, 1.001, 0.0, 0.999, np.inf])
    found = Histogram.of_rows(numbers, {"mass": np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])})
    assert found.bin.tolist() == [
        ZERO,
        PER_OCTAVE,
        PER_OCTAVE + 1,
        bins(np.array([3.0])).item(),
        INFINITE,
    ]
    assert found.rows.tolist() == [1, 2, 1, 1, 1]
    assert found.maximum.tolist() == [0.0, 1.0, 1.001, 3.0, np.inf]
    assert found.sums["mass"].tolist() == [8.0, 17.0, 4.0, 2.0, 32.0]


@given(st.lists(st.floats(0, 1e300), max_size=30), st.integers(0, 30))
def test_merged_parts_are_the_whole(numbers: list[float], cut: int) -> None:
    whole = np.array(numbers)
    parts = [
        Histogram.of_rows(part, {"mass": np.ones(len(part))}) for part in (whole[:cut], whole[cut:])
    ]
    for merged in (Histogram.union(parts), Histogram.union(parts[::-1])):
        assert merged.agrees(Histogram.of_rows(whole, {"mass": np.ones(len(whole))}))


@pytest.mark.parametrize("change", ["rows", "maximum", "mass"])
def test_agreement_is_lost_by_one_row_one_digit_or_more_than_rounding(change: str) -> None:
    one = Histogram.of_rows(np.array([1.0, 2.0]), {"mass": np.array([1.0, 1.0])})
    parts = {"bin": one.bin, "rows": one.rows, "maximum": one.maximum, "sums": dict(one.sums)}
    assert one.agrees(Histogram(**parts))  # type: ignore[arg-type]
    if change == "rows":
        parts["rows"] = np.add(one.rows, [0, 1])
    elif change == "maximum":
        parts["maximum"] = np.nextafter(one.maximum, 0)
    else:
        parts["sums"] = {"mass": one.sums["mass"] * (1 + 1e-13)}
    assert not one.agrees(Histogram(**parts))  # type: ignore[arg-type]
