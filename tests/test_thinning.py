"""Few vertices stand for many, and say how far they are off."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from uccurve.plots._curves import knots


@pytest.mark.parametrize("most", [2, 3, 17, 200])
def test_knots_report_the_distance_that_is_left(most: int) -> None:
    t = np.sort(np.random.default_rng(3).uniform(0, 9, 500))
    values = np.stack([np.sin(t), np.exp(-t), np.floor(t) / 9])
    kept, off = knots(t, values, tolerance=0.01, most=most)
    lines = np.stack([np.interp(t, t[kept], row[kept]) for row in values])
    assert_allclose(off, np.abs(values - lines).max(), rtol=1e-12)
    assert len(kept) <= most
    assert off <= 0.01 or len(kept) == most
    assert_array_equal(kept, np.unique(kept))


def test_knots_without_a_limit_are_within_the_tolerance() -> None:
    t = np.arange(2000.0)
    values = np.random.default_rng(0).normal(size=(2, 2000)).cumsum(axis=1)
    kept, off = knots(t, values, tolerance=1.0)
    assert off <= 1.0
    assert 2 < len(kept) < 2000
    assert knots(t, values, tolerance=0.0)[1] == 0


def test_one_vertex_is_its_own_thinning() -> None:
    assert knots(np.zeros(1), np.ones((3, 1)), tolerance=0.0) == (np.array([0]), 0.0)
