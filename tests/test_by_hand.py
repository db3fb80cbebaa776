"""Curves small enough to work out on paper: cuts, plateaus, ties, and rows that nothing covers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import uccurve as ucc


def test_a_plateau_of_the_miss_rate_at_a_cut_belongs_to_the_lower_range() -> None:
    # constant band 1, errors 1 2 3 4: miss rate 1 until 1, then 3/4 until 2, 1/2 until 3, 1/4 until 4
    c = ucc.UCC(ucc.Intervals.from_bands([1.0, -2.0, 3.0, -4.0], np.zeros(4), np.ones(4)))
    np.testing.assert_allclose(c.area(miss_rate=(0.5, 1.0)), 1 + 0.75, rtol=1e-15)
    np.testing.assert_allclose(c.area(miss_rate=(0.0, 0.5)), 0.5 + 0.25, rtol=1e-15)


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(0.0, 1.0, 2.5), (0.4, 0.6, 0.1 * 2 + 0.1 * 3), (0.3, 0.4, 0.3)]
)
def test_jumps_of_the_miss_rate_on_x_are_cut_at_the_ends_of_the_range(
    low: float, high: float, expected: float
) -> None:
    c = ucc.UCC(ucc.Intervals.from_bands([1.0, -2.0, 3.0, -4.0], np.zeros(4), np.ones(4)))
    np.testing.assert_allclose(
        c.area(axes=("miss_rate", "bandwidth"), miss_rate=(low, high)), expected, rtol=1e-14
    )


def uncoverable() -> Any:
    """Errors 1, 2 and 3 over a band of 1, and one of 4 that has no band: a quarter of the rows cannot be covered."""
    return ucc.UCC(
        ucc.Intervals.from_bands(
            [1.0, 2.0, 3.0, -4.0], np.zeros(4), [1.0, 1.0, 1.0, 0.0], np.ones(4)
        )
    )


def test_a_range_that_ends_before_the_uncoverable_rows_has_a_finite_area() -> None:
    c = (
        uncoverable()
    )  # half width 7/8, miss rate 1, 3/4, 1/2 on the three unit steps, then 1/4 for ever
    np.testing.assert_allclose(c.area(miss_rate=(0.25, 1.0)), 7 / 8 * 2.25, rtol=1e-15)
    np.testing.assert_allclose(c.area(bandwidth=(0.0, 7.0)), 7 / 8 * (2.25 + 5 / 4), rtol=1e-15)
    np.testing.assert_allclose(c.area(deficit=(1.0, 2.5)), 7 / 8 * 2.25, rtol=1e-14)


@pytest.mark.parametrize(
    ("metric", "cut", "top"),
    [("miss_rate", 0.25, 1.0), ("miss_rate", 0.5, 1.0), ("deficit", 1.5, 2.5)],
)
def test_the_part_that_holds_the_uncoverable_rows_is_infinite_as_the_whole_is(
    metric: str, cut: float, top: float
) -> None:
    c = uncoverable()
    assert c.area() == np.inf
    assert np.isfinite(c.area(**{metric: (cut, top)}))
    assert c.area(**{metric: (0.0, cut)}) == np.inf
    assert c.area(**{metric: (0.0, top)}) == np.inf


@pytest.mark.parametrize("goal", [{"miss_rate": 0.2}, {"deficit": 0.9}])
def test_a_level_below_the_uncoverable_rows_is_refused(goal: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"no scale reaches .*: the smallest is"):
        uncoverable().find(**goal)


def test_among_equal_costs_the_smallest_scale_is_cheapest() -> None:
    c = ucc.UCC(ucc.Intervals.from_bands([0.25, -0.5, 0.75, -1.0], np.zeros(4), np.ones(4)))
    assert (
        c.cheapest(0.5).scale == 0.0
    )  # each quarter of bandwidth saves a quarter of the rows: all five places tie
    assert c.cheapest(0.5).cost == 0.5
    assert c.cheapest(0.25).scale == 1.0
    assert c.cheapest(0.75).scale == 0.0
