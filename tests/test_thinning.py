"""A thinned path draws the same picture."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from uccurve.plots._thinning import RESOLUTION, drawn, knots, staircase

unit = st.floats(0, 1, width=32)


def distance(x: np.ndarray, y: np.ndarray, path_x: np.ndarray, path_y: np.ndarray) -> float:
    """Largest distance from the points to the path, point by point and segment by segment."""
    start = np.column_stack([path_x[:-1], path_y[:-1]])
    step = np.column_stack([np.diff(path_x), np.diff(path_y)])
    squared = np.maximum((step**2).sum(axis=1), 1e-300)
    worst = 0.0
    for point in np.column_stack([x, y]):
        share = np.clip(((point - start) * step).sum(axis=1) / squared, 0, 1)
        worst = max(worst, np.sqrt((((start + share[:, None] * step) - point) ** 2).sum(axis=1)).min())
    return float(worst)


@given(st.integers(2, 60).flatmap(lambda n: arrays(float, (2, n), elements=unit)), st.sampled_from([4, 32, 1000]))
def test_no_point_of_any_path_moves_by_more_than_a_step(path: np.ndarray, resolution: int) -> None:
    x, y = path
    kept = drawn(x, y, resolution=resolution)
    assert kept[0] == 0
    assert kept[-1] == len(x) - 1
    assert distance(x, y, x[kept], y[kept]) <= np.sqrt(2) / resolution


def test_a_long_smooth_curve_keeps_few_vertices_and_a_jagged_one_all() -> None:
    t = np.linspace(0, 1, 300_000, dtype=np.float64)
    assert len(drawn(t, (1 - t) ** 3)) < 1000
    x = np.linspace(0, 1, 1001)
    assert_array_equal(drawn(x, np.arange(1001.0) % 2), np.arange(1001))


def test_equal_vertices_in_a_row_do_not_matter() -> None:
    x, y = np.array([0.0, 0, 0, 1, 1, 1]), np.array([1.0, 1, 1, 0, 0, 0])
    kept = drawn(x, y)
    assert distance(x, y, x[kept], y[kept]) == 0


def test_a_staircase_goes_along_first_and_then_across() -> None:
    x, y = np.array([0.0, 1, 3]), np.array([5.0, 2, 0])
    assert [a.tolist() for a in staircase(x, y, first="x")] == [[0, 1, 1, 3, 3], [5, 5, 2, 2, 0]]
    assert [a.tolist() for a in staircase(x, y, first="y")] == [[0, 0, 1, 1, 3], [5, 2, 2, 0, 0]]


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
    assert drawn(np.zeros(1), np.ones(1)).tolist() == [0]
    assert knots(np.zeros(1), np.ones((3, 1)), tolerance=0.0) == (np.array([0]), 0.0)


def test_the_resolution_is_finer_than_any_screen() -> None:
    assert RESOLUTION >= 8 * 4096 - 1
