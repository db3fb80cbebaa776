"""Which differences between two curves are material, on lines that differ by a known share at each level."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from numpy.testing import assert_allclose

from uccurve import UCC, Intervals
from uccurve.compare._leads import Line, Sampled

A, B, EQUAL = -1, 1, 0
NAMES: Any = ("miss_rate", "bandwidth")
T = np.zeros(3)
CURVE = UCC(Intervals.from_bands([1.0], [0.0], [1.0]))
Spans = list[tuple[float, float]]


def lines(spans: Spans) -> tuple[Line, Line]:
    """Two curves, the second higher by the given share up to each level (lower where that is negative)."""
    level = np.linspace(0, 1, 2001)
    share: npt.NDArray[np.float64] = np.zeros(2001)
    for end, more in spans[::-1]:
        share[level < end - 1e-9] = more
    value = 3 - level
    return Line(level, value, NAMES, level, CURVE), Line(level, value * (1 + share), NAMES, level, CURVE)


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([(1.0, 0.009)], [(EQUAL, 1.0)]),
        ([(1.0, 0.02)], [(A, 1.0)]),
        ([(0.005, 0.2), (1.0, 0.0)], [(EQUAL, 1.0)]),
        ([(0.02, 0.2), (1.0, 0.0)], [(A, 0.02), (EQUAL, 1.0)]),
        ([(0.2, 0.05), (1.0, -0.05)], [(A, 0.2), (B, 1.0)]),
        ([(0.2, 0.05), (0.21, -0.05), (1.0, 0.05)], [(A, 1.0)]),
        ([(0.2, 0.05), (0.3, -0.05), (1.0, 0.05)], [(A, 0.2), (B, 0.3), (A, 1.0)]),
        ([(0.2, 0.05), (0.22, 0.0), (1.0, -0.05)], [(A, 0.22), (B, 1.0)]),
        ([(0.2, 0.05), (0.3, 0.0), (1.0, -0.05)], [(A, 0.2), (EQUAL, 0.3), (B, 1.0)]),
        ([(0.3, 0.015), (1.0, 0.0)], [(A, 0.3), (EQUAL, 1.0)]),
        ([(0.3, 0.05), (0.6, 0.0), (0.601, -0.03), (1.0, 0.0)], [(A, 0.3), (EQUAL, 1.0)]),
        ([(0.02, 0.05), (0.5, 0.0), (1.0, 0.05)], [(EQUAL, 0.5), (A, 1.0)]),
    ],
    ids=[
        "a difference of less than 1% is none",
        "a difference of 2% at all levels is one",
        "20% at half of a hundredth of the levels is not material",
        "20% at two hundredths is",
        "leaders change",
        "a short change back is not material",
        "a longer one is",
        "equal levels that are few make no range",
        "equal levels that are many do",
        "a range of equal levels begins where the difference ends",
        "a spike does not end a range of equal levels",
        "what equal levels cut off is measured by itself",
    ],
)
def test_leads_are_what_matters(spans: Spans, expected: list[tuple[int, float]]) -> None:
    found = Sampled(*lines(spans)).leads()
    assert [lead.sign for lead in found] == [sign for sign, _ in expected]
    assert_allclose([lead.high.above for lead in found], [end for _, end in expected], atol=0.0011)
    assert_allclose([lead.low.above for lead in found], [0.0, *(end for _, end in expected[:-1])], atol=0.0011)


def test_a_change_of_the_leader_is_found_to_the_last_bit() -> None:
    found = Sampled(*lines([(0.2345, 0.05), (1.0, -0.05)]))
    step = np.linspace(0, 1, 2001)[469]
    (place,) = found.crossings()
    assert (place.below, place.above) == (np.nextafter(step, 0), step)
    assert [lead.high for lead in found.leads()][:-1] == [place]


def test_small_values_are_held_against_usual_ones() -> None:
    """Half-widths of 0.001 and 0.002 near a miss rate of 1, where half of the levels need more than 1."""
    level = np.array([0.0, 0.9, 1.0])
    one, two = (Line(level, np.array([1.5, value, 0.0]), NAMES, T, CURVE) for value in (0.001, 0.002))
    assert [lead.sign for lead in Sampled(one, two).leads()] == [EQUAL]


def test_a_level_that_one_line_does_not_reach_is_won_by_the_other() -> None:
    one = Line(np.array([0.25, 1.0]), np.array([1.0, 0.0]), NAMES, T, CURVE)
    two = Line(np.array([0.0, 0.25, 1.0]), np.array([5.0, 1.0, 0.0]), NAMES, T, CURVE)
    found = Sampled(one, two).leads()
    assert [(lead.sign, lead.high.above) for lead in found] == [(B, 0.25), (EQUAL, 1.0)]


def test_levels_that_differ_by_rounding_are_one_crossing() -> None:
    """A third, and the next number: both lines step there, and what they share lies between both steps."""
    third = 1 / 3
    one = Line(np.array([0.0, third, 1.0]), np.array([3.0, 2.0, 0.0]), NAMES, T, CURVE)
    two = Line(np.array([0.0, np.nextafter(third, 1), 1.0]), np.array([4.0, 1.0, 0.0]), NAMES, T, CURVE)
    (place,) = Sampled(one, two).crossings()
    assert_allclose((place.above, place.value(one, two)), (third, 2.0))
