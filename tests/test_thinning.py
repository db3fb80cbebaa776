"""Few vertices stand for many."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from uccurve.view import knots

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


def off(t: Array, values: Array, kept: Indices) -> float:
    lines = [np.interp(t, t[kept], row[kept]) for row in values]
    return float(np.abs(values - lines).max())


@pytest.mark.parametrize("most", [2, 3, 17, 200])
def test_knots_are_as_many_as_there_is_room_for(most: int) -> None:
    t = np.sort(np.random.default_rng(3).uniform(0, 9, 500))
    values = np.stack([np.sin(t), np.exp(-t), np.floor(t) / 9])
    kept = knots(t, values, most)
    assert len(kept) == most
    assert_array_equal(kept, np.unique(kept))
    assert off(t, values, kept) <= 0.01 or most < 200


def test_knots_are_no_more_than_it_takes() -> None:
    t = np.arange(2000.0)
    values = np.random.default_rng(0).normal(size=(2, 2000)).cumsum(axis=1)
    assert off(t, values, knots(t, values, 2000)) == 0
    bent = np.stack([np.abs(t - 700), np.minimum(t, 1400)])
    assert_array_equal(knots(t, bent, 2000), [0, 700, 1400, 1999])
