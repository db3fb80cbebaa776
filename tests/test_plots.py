"""Plots show the numbers they are given, on the axes they are given."""

from collections.abc import Iterator
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import uccurve as ucc
from uccurve import plots
from uccurve.plots import figures


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture
def iv() -> ucc.Intervals:
    rng = np.random.default_rng(2)
    y_pred = rng.normal(size=500)
    band = rng.uniform(0.2, 2, 500)
    return ucc.Intervals.from_bands(y_pred + band * rng.normal(size=500), y_pred, 0.5 * band, band)


def labels(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_every_plot_draws_on_the_axes_it_is_given_and_returns_them(iv: ucc.Intervals) -> None:
    _, axs = plt.subplots(4)
    opened = plt.get_fignums()
    assert plots.curves({"A": iv}, ax=axs[0]) is axs[0]
    assert plots.intervals(iv, ax=axs[1]) is axs[1]
    assert plots.gains({"A": {"x": (0.1, 0, 0.2)}}, ax=axs[2]) is axs[2]
    assert plots.segments({"A": {"x": 0.1}}, ax=axs[3]) is axs[3]
    assert plt.get_fignums() == opened


def test_crossings_are_marked_where_they_are(iv: ucc.Intervals) -> None:
    ax = plots.curves({"A": iv, "B": iv.constant()}, crossings=[(0.5, 0.6), (1.0, 0.2)], reference=False)
    (marks,) = (line for line in ax.get_lines() if line.get_marker() == "D")
    assert_array_equal(marks.get_xydata(), [[0.5, 0.6], [1.0, 0.2]])
    assert "crossing" in labels(ax)


def bars(ax: Any, number: int) -> np.ndarray:
    """Lower and upper end of each drawn interval, from left to right."""
    return np.array([segment[:, 1] for segment in ax.collections[number].get_segments()])


def test_intervals_are_drawn_before_and_after_calibration(iv: ucc.Intervals) -> None:
    after = iv.calibrated(scale=2.5)
    ax = plots.intervals(iv, after=after, most=50)
    order = np.argsort(iv.y_pred, kind="stable")[np.linspace(0, 499, 50).round().astype(int)]
    assert_allclose(bars(ax, 0), np.column_stack([iv.lower, iv.upper])[order])
    assert_allclose(bars(ax, 1), np.column_stack([after.lower, after.upper])[order])
    drawn: dict[Any, Any] = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
    outside = (iv.y_true < after.lower) | (iv.y_true > after.upper)
    assert_array_equal(drawn["observed, outside"], iv.y_true[order][outside[order]])
    assert_array_equal(drawn["observed, inside"], iv.y_true[order][~outside[order]])
    missed = [100 * ucc.UCC(some).at(1.0).miss_rate for some in (iv, after)]
    assert labels(ax)[:2] == [f"delivered: misses {missed[0]:.1f} %", f"calibrated: misses {missed[1]:.1f} %"]
    assert ax.get_xlabel() == "50 of 500 rows, by prediction"


def test_intervals_stand_along_x_or_time_or_as_they_come(iv: ucc.Intervals) -> None:
    x = np.random.default_rng(0).permutation(500).astype(float)
    ax = plots.intervals(iv, x=x, most=500)
    assert_allclose(bars(ax, 0)[:, 0], iv.lower[np.argsort(x)])
    days = np.datetime64("2024-01-01") + np.arange(500)
    assert plots.intervals(iv, x=days).get_xlabel() == "100 of 500 rows, along x"
    assert_allclose(bars(plots.intervals(iv, order="row", most=500), 0)[:, 1], iv.upper)


def test_intervals_refuse_an_x_of_another_length_and_an_unknown_order(iv: ucc.Intervals) -> None:
    with pytest.raises(ValueError, match=r"`x` must have the shape of the intervals: \(3,\) against \(500,\)"):
        plots.intervals(iv, x=[1, 2, 3])
    with pytest.raises(ValueError, match="`order` must be one of y_pred, row; 'rows' is none of them"):
        plots.intervals(iv, order="rows")  # type: ignore[arg-type]  # what a person may type


def test_a_forest_has_a_whisker_for_every_estimate() -> None:
    ax = plots.gains({"A": {"p": (0.2, 0.1, 0.35), "q": (0.4, 0.3, 0.5)}, "B": {"p": (-0.1, -0.3, 0.05)}})
    ends = sorted(tuple(segment[:, 0].round(9)) for c in ax.collections for segment in c.get_segments())  # type: ignore[attr-defined]
    assert ends == [(-30, 5), (10, 35), (30, 50)]
    assert labels(ax) == ["p", "q"]
    assert [text.get_text() for text in ax.texts] == ["+20.0 %", "-10.0 %", "+40.0 %"]


def test_a_heat_map_shows_every_number_and_what_is_missing() -> None:
    ax = plots.segments({"A": {"n": 0.213, "s": -0.4}, "B": {"s": float("nan")}}, marked=[("B", "s")])
    assert [text.get_text() for text in ax.texts] == ["+21", "-40", "–", "–"]
    (frame,) = ax.patches
    assert frame.get_xy() == (0.5, 0.5)  # type: ignore[attr-defined]  # it is a rectangle


def assessed(iv: ucc.Intervals, **options: Any) -> ucc.Assessment:
    shifted = options.pop("shifted", 0.0)
    other = ucc.Intervals.from_bands(iv.y_true, iv.y_pred + shifted, np.full(500, 0.7))
    return ucc.assess({"A": iv, "B": other}, n_resamples=49, n_permutations=49, **options)


def test_an_assessment_shows_curves_crossings_and_gains(iv: ucc.Intervals) -> None:
    found = assessed(iv)
    left, right = plots.assessment(found).axes
    assert labels(left)[0].startswith("A (gain ")
    marked: Any = next(line for line in left.get_lines() if line.get_marker() == "D")
    points = [(point.x, point.y) for point in found.crossings[0].points]
    assert_allclose(marked.get_xydata(), points[: figures.MARKED])
    assert [text.get_text() for text in right.get_yticklabels()] == ["A", "B"]


def test_curves_of_different_predictions_are_not_drawn_as_if_comparable(iv: ucc.Intervals) -> None:
    found = assessed(iv, shifted=0.1)
    *curves, _ = plots.assessment(found).axes
    assert [len([line for line in ax.get_lines() if line.get_gid() == "uccurve"]) for ax in curves] == [1, 1]


def test_segments_of_an_assessment_are_a_heat_map_with_frames(iv: ucc.Intervals) -> None:
    site = np.where(np.arange(500) % 2, "north", "south")
    found = assessed(iv, by={"site": site}, target=0.1)
    *_, heat = plots.assessment(found).axes
    assert [text.get_text() for text in heat.get_xticklabels()] == ["site: north", "site: south"]
    assert len(heat.patches) == len(found.failing) > 0


def test_a_cell_that_rounds_to_zero_has_no_sign_of_its_own() -> None:
    ax = plots.segments({"A": {"north": -0.001, "south": 0.001, "east": float("nan")}})
    assert [text.get_text() for text in ax.texts] == ["+0", "+0", "–"]


def test_the_number_of_a_gain_stands_beside_its_interval_and_not_on_it() -> None:
    ax = plots.gains({"A": {"x": (0.1, -0.2, 0.4)}})
    (number,) = ax.texts
    assert number.get_text() == "+10.0 %"
    ax.figure.canvas.draw()
    end = ax.transData.transform((40, 0))[0]
    assert end < number.get_window_extent().x0 < number.get_window_extent().x1 < ax.get_window_extent().x1
