"""UCCDisplay draws what the curve says, lightly."""

import io
import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal

import uccurve as ucc
from uccurve._vocabulary import Axes
from uccurve.plots._drawing import mark, view
from uccurve.plots.display import UCCDisplay


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def intervals(n: int = 300, seed: int = 0, width: float = 1.0) -> ucc.Intervals:
    rng = np.random.default_rng(seed)
    sigma = rng.uniform(0.2, 3, n)
    y_pred = rng.normal(size=n)
    return ucc.Intervals.from_bands(
        y_pred + sigma * rng.normal(size=n), y_pred, width * sigma, 1.3 * width * sigma
    )


def pixels(figure: Figure) -> np.ndarray:
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba()).astype(int)  # type: ignore[attr-defined]  # the Agg canvas has one


def data(display: UCCDisplay) -> Any:
    """Drawn x and y; matplotlib types them as anything."""
    return display.line_.get_data()


def labels(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def steps(axes: Axes, x: np.ndarray, y: np.ndarray) -> Any:
    """Corners of the exact curve: along the other metric first, then across to the next miss rate."""
    if "miss_rate" not in axes:
        return x, y
    early, late = np.repeat(x, 2), np.repeat(y, 2)
    return (early[1:], late[:-1]) if axes[1] == "miss_rate" else (early[:-1], late[1:])


@pytest.mark.parametrize("axes", [("bandwidth", "miss_rate"), ("bandwidth", "deficit")])
def test_a_hundred_thousand_points_make_a_small_file(axes: Any) -> None:
    display = UCCDisplay.from_ucc(ucc.UCC(intervals(100_000)), axes=axes, shade=True)
    assert len(data(display)[0]) > 100_000
    file = io.BytesIO()
    display.figure_.savefig(file, format="svg")
    assert len(file.getvalue()) < 300_000  # 2 MB for each hundred thousand vertices


def test_zooming_in_brings_the_vertices_back() -> None:
    c = ucc.UCC(intervals(100_000))
    display = UCCDisplay.from_ucc(c, reference=False, delivered=False)
    here = c.find(miss_rate=0.1)
    near = np.abs(display.x - here.bandwidth) < 1e-3
    display.ax_.set_xlim(here.bandwidth - 1e-3, here.bandwidth + 1e-3)
    display.ax_.set_ylim(here.miss_rate - 1e-3, here.miss_rate + 1e-3)
    drawn = set(zip(*data(display), strict=True))
    assert 5 < near.sum() < 500
    assert set(zip(display.x[near], display.y[near], strict=True)) <= drawn


def test_the_miss_rate_steps_and_other_metrics_run_straight() -> None:
    small = ucc.UCC(ucc.Intervals.from_bands([1, 2, 4], [0, 0, 0], [1, 1, 4]))
    options: Any = {"reference": False, "delivered": False}
    corners: Any = UCCDisplay.from_ucc(small, **options).line_.get_path().vertices
    assert corners.T.tolist() == [[0, 2, 2, 4, 4], [1, 1, 1 / 3, 1 / 3, 0]]
    turned: Any = (
        UCCDisplay.from_ucc(small, axes=("miss_rate", "bandwidth"), **options)
        .line_.get_path()
        .vertices
    )
    assert turned.T.tolist() == [[1, 1, 1 / 3, 1 / 3, 0], [0, 2, 2, 4, 4]]
    straight = UCCDisplay.from_ucc(small, axes=("bandwidth", "deficit"), **options)
    assert_array_equal(data(straight)[0], straight.x)


def test_operating_points_lie_where_the_curve_says() -> None:
    c = ucc.UCC(intervals())
    axes: Axes = ("excess", "deficit")
    display = UCCDisplay.from_ucc(c, axes=axes, unit="std", cost=0.2)
    marks: dict[Any, Any] = {
        line.get_marker(): line.get_data()
        for line in display.ax_.get_lines()
        if line.get_marker() != "None"
    }
    at, best = c.at(1.0, unit="std"), c.cheapest(0.2, axes=axes, unit="std")
    assert_allclose(np.ravel(marks["o"]), [at.excess, at.deficit])
    assert_allclose(np.ravel(marks["*"]), [best.excess, best.deficit])
    isocost: Any = next(line for line in display.ax_.get_lines() if type(line).__name__ == "AxLine")
    assert_allclose(isocost.get_slope(), -0.25)
    assert f"cheapest at c = 0.2: cost {best.cost:.4g}, scale {best.scale:.3g}" in labels(
        display.ax_
    )


def test_a_mark_on_an_axis_is_seen_whole_and_one_outside_of_the_view_not_at_all() -> None:
    figure = plt.figure(figsize=(4, 4), dpi=100)
    ax = figure.add_axes(
        (0.25, 0.25, 0.5, 0.5), frameon=False, xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[]
    )
    mark(ax, [0.5], [0], marker="s", color="black", markersize=14.4)

    def dark_rows() -> int:
        return int((pixels(figure)[..., 0] < 100).any(axis=1).sum())

    assert abs(dark_rows() - 20) <= 2  # 14.4 points: as many pixels below the axis as above
    ax.set_ylim(0.2, 1)
    assert dark_rows() == 0


@pytest.mark.parametrize("vary", ["scale", "shift"])
@pytest.mark.parametrize(
    "axes", [("bandwidth", "miss_rate"), ("miss_rate", "bandwidth"), ("deficit", "overshoot")]
)
def test_what_is_shaded_is_the_area_that_is_named(vary: Any, axes: Any) -> None:
    c = ucc.UCC(intervals(100), vary=vary)
    display = UCCDisplay.from_ucc(c, axes=axes, shade=True, reference=False)
    display.ax_.set(xlim=(0, display.x.max()), ylim=(0, display.y.max()))
    (shaded,) = display.ax_.collections
    vertices: Any = shaded.get_paths()[0].vertices
    x, y = vertices[:, 0], vertices[:, 1]
    shoelace = abs(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)) / 2
    area = c.area(axes=axes)
    assert_allclose(shoelace, area, rtol=1e-3)  # to a ninth of a pixel
    assert any(label.endswith(f"{area:.4g}") for label in labels(display.ax_))
    assert f"{100 * c.gain(axes=axes):.1f}%" in str(display.line_.get_label())


def test_models_on_the_same_axes_get_their_own_colours_and_share_one_reference() -> None:
    first = UCCDisplay.from_ucc(ucc.UCC(intervals()), name="A")
    second = UCCDisplay.from_ucc(ucc.UCC(intervals(width=3.0)), name="B", ax=first.ax_)
    assert second.ax_ is first.ax_
    assert second.figure_ is first.figure_
    assert first.line_.get_color() != second.line_.get_color()
    assert [label.split(" (")[0] for label in labels(first.ax_)] == [
        "A",
        "B",
        "constant band",
        "as delivered",
    ]


def test_other_predictions_bring_their_own_reference() -> None:
    first = UCCDisplay.from_ucc(ucc.UCC(intervals()), name="A")
    UCCDisplay.from_ucc(ucc.UCC(intervals(seed=1)), name="B", ax=first.ax_)
    assert "constant band of B" in labels(first.ax_)


def test_a_few_huge_critical_scales_do_not_squeeze_the_rest() -> None:
    bands = np.linspace(1, 2, 200)
    bands[7] = 1e-4
    y = np.random.default_rng(0).normal(size=200)
    display = UCCDisplay.from_ucc(
        ucc.UCC(ucc.Intervals.from_bands(y, np.zeros(200), bands)), name="M"
    )
    assert display.ax_.get_xlim()[1] < 10 < display.x[-1]
    points = display.ucc.points(axes=display.axes)
    corner = view(points)[0]
    assert view(points, (1.4 * corner, 0.2))[0] == 1.4 * corner
    assert view(points, (50.0, 0.2))[0] == corner


def test_a_point_far_beyond_the_curve_is_an_arrow_at_the_edge_until_the_view_reaches_it() -> None:
    c = ucc.UCC(intervals().calibrated(scale=40))
    display = UCCDisplay.from_ucc(c, name="far too wide")
    (point,) = (line for line in display.ax_.get_lines() if len(line.get_xdata()) == 1)  # type: ignore[arg-type]
    at = c.at(1.0)

    def place() -> Any:
        return point.get_xdata()

    assert display.ax_.get_xlim()[1] < at.bandwidth
    assert point.get_marker() == ">"
    assert_allclose(place(), [display.ax_.get_xlim()[1]])
    display.ax_.set_xlim(0, 2 * at.bandwidth)
    assert point.get_marker() == "o"
    assert_allclose(place(), [at.bandwidth])


def test_the_curve_of_a_sketch_is_drawn_without_a_constant_band() -> None:
    sketch = ucc.UCCSketch().update(intervals()).ucc()
    display = UCCDisplay.from_ucc(sketch, name="sketched")
    assert_allclose(display.x, sketch.points().x)
    names = [label.split(" (")[0] for label in labels(display.ax_)]
    assert names == ["sketched", "as delivered", "bracket of the exact curve"]


@pytest.mark.parametrize(
    "axes", [("bandwidth", "miss_rate"), ("miss_rate", "bandwidth"), ("excess", "deficit")]
)
def test_a_sketch_runs_straight_between_known_points_in_a_shade_that_holds_the_exact_curve(
    axes: Any,
) -> None:
    iv = intervals(60)
    display = UCCDisplay.from_ucc(ucc.UCCSketch().update(iv).ucc(), axes=axes, delivered=False)
    x, y = data(display)
    assert set(zip(x, y, strict=True)) <= set(
        zip(display.x, display.y, strict=True)
    )  # no corner of a staircase
    (shade,) = display.ax_.collections
    corners = np.array([box.vertices for box in shade.get_paths()])
    low, high = corners.min(axis=1) - 1e-9, corners.max(axis=1) + 1e-9
    exact = ucc.UCC(iv).points(axes=axes)
    corner = np.column_stack(steps(axes, exact.x, exact.y))[:, None]
    assert ((low <= corner) & (corner <= high)).all(axis=2).any(axis=1).all()
    assert np.median(high - low, axis=0)[0] < 0.1 * display.x.max()
    assert display.ax_.get_xlim()[1] <= 1.1 * display.x.max()


def test_a_curve_of_levels_is_drawn_by_its_scale() -> None:
    outer = intervals()
    c = ucc.UCC.from_levels({0.5: outer.calibrated(scale=0.4), 0.9: outer})
    display = UCCDisplay.from_ucc(c, name="levels", cost=0.3)
    best = c.cheapest(0.3)
    assert f"levels: cheapest at c = 0.3: cost {best.cost:.4g}, scale {best.scale:.3g}" in labels(
        display.ax_
    )
    assert_allclose(display.x, c.points().x)


def test_a_confidence_band_is_drawn_on_its_own_axes() -> None:
    iv = intervals(80)
    made = ucc.confidence_band(iv, axes=("bandwidth", "deficit"), seed=0, confidence_level=0.9)
    display = UCCDisplay.from_ucc(ucc.UCC(iv), axes=("bandwidth", "deficit"), band=made)
    (patch,) = display.ax_.collections
    corners = {tuple(vertex) for vertex in np.asarray(patch.get_paths()[0].vertices).tolist()}
    assert {*zip(made.x.tolist(), made.low.tolist(), strict=True)} <= corners
    assert {*zip(made.x.tolist(), made.high.tolist(), strict=True)} <= corners
    assert "90% pointwise band" in labels(display.ax_)
    with pytest.raises(
        ValueError,
        match="`band` must be on the axes bandwidth and miss_rate; got bandwidth and deficit",
    ):
        UCCDisplay.from_ucc(ucc.UCC(iv), band=made)


def test_line_options_are_passed_on() -> None:
    display = UCCDisplay.from_ucc(ucc.UCC(intervals()), color="red", linewidth=3, legend=False)
    assert display.line_.get_color() == "red"
    assert display.line_.get_linewidth() == 3
    assert display.ax_.get_legend() is None


def test_arrays_and_a_fitted_estimator_are_drawn_as_their_curve() -> None:
    iv = intervals()
    by_hand = ucc.UCC(
        ucc.Intervals.from_bounds(iv.y_true, iv.y_pred, iv.lower, iv.upper), vary="shift"
    ).points()
    arrays = iv.y_true, iv.y_pred, iv.lower, iv.upper
    display = UCCDisplay.from_predictions(*arrays, vary="shift", name="M", legend=False)
    assert_array_equal(display.x, by_hand.x)
    assert_array_equal(display.y, by_hand.y)

    class Std:
        def predict(self, X: Any, return_std: bool = False) -> Any:
            return (X[:, 0], X[:, 1]) if return_std else X[:, 0]

    X, weight = np.column_stack([iv.y_pred, iv.lower_band]), np.arange(1.0, len(iv) + 1)
    weighted = UCCDisplay.from_estimator(Std(), X, iv.y_true, sample_weight=weight)
    expected = ucc.Intervals.from_std(iv.y_true, iv.y_pred, iv.lower_band, weight=weight)
    assert_allclose(weighted.y, ucc.UCC(expected).points().y, rtol=1e-12)
    assert (display.name, weighted.name) == ("M", "Std")


def test_a_model_of_an_assessment_is_drawn_as_its_curve() -> None:
    one = intervals()
    found = ucc.assess(
        {"one": one, "flat": one.constant()}, coverage=0.9, axes=("excess", "deficit")
    )
    drawn = ucc.UCCDisplay.from_assessment(found)
    assert drawn.name == found.verdict.model
    points = found.curves[found.verdict.model].points(axes=("excess", "deficit"))
    assert_allclose(drawn.x, points.x)
    assert drawn.ax_.get_xlabel() == "excess"
    other = ucc.UCCDisplay.from_assessment(found, "flat", axes=("bandwidth", "miss_rate"))
    assert other.axes == ("bandwidth", "miss_rate")
    with pytest.raises(KeyError, match="nobody"):
        ucc.UCCDisplay.from_assessment(found, "nobody")


def test_a_figure_survives_pickling() -> None:
    display = UCCDisplay.from_ucc(ucc.UCC(intervals()))
    again = pickle.loads(pickle.dumps(display.figure_))  # noqa: S301  our own bytes
    assert_array_equal(pixels(again), pixels(display.figure_))


def test_without_matplotlib_one_sentence_says_what_to_install() -> None:
    script = """
import sys
sys.modules["matplotlib"] = None
import uccurve as ucc
try:
    ucc.UCC(ucc.Intervals.from_bands([1], [0], [1])).plot()
except ImportError as error:
    print(error)
"""
    output = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    ).stdout
    assert output == 'plots need matplotlib: pip install "uccurve[plot]"\n'
