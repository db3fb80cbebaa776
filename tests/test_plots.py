"""Plots show the numbers they are given, on the axes they are given."""

import io
import pickle
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axis import Axis
from matplotlib.text import Text
from numpy.testing import assert_allclose, assert_array_equal

import uccurve as ucc
from model_rows import assessment, decomposition, lost, mean8, row, segment
from uccurve import plots
from uccurve.plots.figures import HIGH, WIDE
from uccurve.points import Decomposition
from uccurve.view import LIGHT, axis_end, waterfall

PANELS = ("half_width", "calibration", "curves", "decomposition", "segments")


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


def words(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


def lines_of(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


def test_every_plot_draws_on_the_axes_it_is_given_and_returns_them(iv: ucc.Intervals) -> None:
    _, axs = plt.subplots(2)
    opened = plt.get_fignums()
    assert plots.curves({"A": iv}, ax=axs[0]) is axs[0]
    assert plots.intervals(iv, ax=axs[1]) is axs[1]
    assert plt.get_fignums() == opened


def test_crossings_are_marked_where_they_are(iv: ucc.Intervals) -> None:
    ax = plots.curves(
        {"A": iv, "B": iv.constant()}, crossings=[(0.5, 0.6), (1.0, 0.2)], reference=False
    )
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
    covered = [100 * (1 - ucc.UCC(some).at(1.0).miss_rate) for some in (iv, after)]
    assert labels(ax)[:2] == [
        f"as delivered: covers {covered[0]:.1f}%",
        f"calibrated: covers {covered[1]:.1f}%",
    ]
    assert ax.get_xlabel() == "50 of 500 rows, by prediction"


def test_intervals_stand_along_x_or_time(iv: ucc.Intervals) -> None:
    x = np.random.default_rng(0).permutation(500).astype(float)
    ax = plots.intervals(iv, x=x, most=500)
    assert_allclose(bars(ax, 0)[:, 0], iv.lower[np.argsort(x)])
    days = np.datetime64("2024-01-01") + np.arange(500)
    assert plots.intervals(iv, x=days).get_xlabel() == "100 of 500 rows, along x"
    assert_allclose(bars(plots.intervals(iv, x=np.arange(500), most=500), 0)[:, 1], iv.upper)


def test_intervals_refuse_an_x_of_another_length(iv: ucc.Intervals) -> None:
    with pytest.raises(
        ValueError, match=r"`x` must have the shape of the intervals, \(500,\); got \(3,\)"
    ):
        plots.intervals(iv, x=[1, 2, 3])


# The waterfall


def test_the_steps_of_a_waterfall_lead_from_climatology_to_the_score_as_shipped() -> None:
    steps = waterfall(decomposition(prediction=1780.0, bands=-30.0, rescaling=150.0))
    assert [step.name for step in steps] == [
        "one interval for all rows",
        "predictions save",
        "bands cost",
        "score as shipped",
        "as delivered",
    ]
    assert [(step.start, step.end) for step in steps] == [
        (0, 3900),
        (3900, 2120),
        (2120, 2150),
        (0, 2150),
        (2150, 2300),
    ]
    assert steps[-1].label == "as delivered 150 more"


def test_a_factor_that_costs_is_told_from_one_that_saves() -> None:
    last = waterfall(decomposition(rescaling=-40.0))[-1]
    assert (last.label, last.kind) == ("as delivered 40 less", "saves")


def test_a_waterfall_without_a_climatology_starts_at_the_constant_band() -> None:
    parts = replace(decomposition(), climatology=float("nan"), prediction=float("nan"))
    assert [step.name for step in waterfall(parts)] == [
        "bands save",
        "score as shipped",
        "as delivered",
    ]
    assert axis_end([parts]) == parts.constant


def test_a_step_has_no_more_decimals_than_the_totals_and_goes_where_it_rounds_to_zero() -> None:
    parts = Decomposition.of(
        delivered=2.317, shipped=2.316721, constant=2.316721, climatology=3.516721, best=2.3
    )
    assert [step.label for step in waterfall(parts)] == [
        "one interval for all rows 3.52",
        "predictions save 1.20",
        "score as shipped 2.32",
    ]


def test_one_hopeless_model_does_not_squeeze_the_waterfalls_of_the_others() -> None:
    hopeless = decomposition(rescaling=1e6)
    assert axis_end([decomposition(), hopeless]) == 1.5 * 3900
    assert axis_end([decomposition()]) == 3900


# The assessment


def assessed(iv: ucc.Intervals, count: int = 2, **options: Any) -> ucc.Assessment:
    rng = np.random.default_rng(5)
    models = {options.get("first", "follows"): iv}
    for i in range(1, count):
        shift = options.get("shifted", 0.0) * rng.normal(size=500)
        name = options.get("named", "model {}").format(i)
        models[name] = ucc.Intervals.from_bands(
            iv.y_true, iv.y_pred + shift, rng.uniform(0.5, 0.5 + min(i, 8), 500)
        )
    by = (
        {"site": np.where(np.arange(500) % 2, "north", "south")}
        if options.get("segments")
        else None
    )
    return ucc.assess(models, coverage=options.get("coverage", 0.9), by=by)


LONG = "gradient_boosting_{}_quantile_regressor_"


@pytest.fixture(scope="module")
def of_many() -> dict[int, ucc.Assessment]:
    """So many models with names of 40 characters."""
    rng = np.random.default_rng(2)
    y_pred = rng.normal(size=500)
    band = rng.uniform(0.2, 2, 500)
    one = ucc.Intervals.from_bands(y_pred + band * rng.normal(size=500), y_pred, 0.5 * band, band)
    named: Any = {"first": f"{LONG.format('x'):x<40}", "named": LONG, "segments": True}
    return {count: assessed(one, count, **named) for count in (1, 2, 5, 12, 50)}


def boxes(figure: Any) -> list[tuple[str, Any]]:
    """Words of a picture that are seen, and where they stand."""
    figure.canvas.draw()
    unseen = set()
    for axis in figure.findobj(Axis):
        low, high = sorted(axis.get_view_interval())
        for tick in axis.get_major_ticks():
            if not axis.axes.get_visible() or not low <= tick.get_loc() <= high:
                unseen |= {tick.label1, tick.label2}
    renderer = figure.canvas.get_renderer()
    return [
        (text.get_text(), text.get_window_extent(renderer))
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text() and text not in unseen
    ]


@pytest.mark.parametrize("count", [1, 2, 5, 12, 50])
@pytest.mark.parametrize("panel", [None, *PANELS])
@pytest.mark.parametrize("size", [(3.4, None), (12.0, 7.0)])
def test_no_label_is_clipped_or_overlaps_another_in_a_column_and_on_a_slide(
    of_many: dict[int, ucc.Assessment], count: int, panel: Any, size: Any
) -> None:
    figure = of_many[count].plot(panel, width=size[0], height=size[1])
    wide, high = figure.bbox.width, figure.bbox.height
    placed = boxes(figure)
    clipped = [
        text
        for text, box in placed
        if box.x0 < -1 or box.y0 < -1 or box.x1 > wide + 1 or box.y1 > high + 1
    ]
    assert clipped == []
    overlapping = [
        (text, other)
        for (text, box), (other, rest) in combinations(placed, 2)
        if min(box.x1, rest.x1) - max(box.x0, rest.x0) > 2
        and min(box.y1, rest.y1) - max(box.y0, rest.y0) > 2
    ]
    assert overlapping == []
    plt.close(figure)


@pytest.mark.parametrize("count", [1, 2, 5, 40])
def test_the_picture_of_any_number_of_models_fits_a_page(iv: ucc.Intervals, count: int) -> None:
    figure = assessed(iv, count, segments=True).plot()
    wide, high = figure.get_size_inches()
    assert wide <= WIDE == 12
    assert high <= HIGH == 8
    assert figure.get_suptitle().replace("\n", " ").startswith(("Ship", "No clear winner"))


@pytest.mark.parametrize("panel", PANELS)
def test_every_panel_stands_alone_and_on_given_axes(iv: ucc.Intervals, panel: Any) -> None:
    found = assessed(iv, 13, segments=True)
    figure = found.plot(panel)
    wide, high = figure.get_size_inches()
    assert wide <= WIDE
    assert high <= HIGH
    _, ax = plt.subplots()
    assert found.plot(panel, ax=ax) is ax.figure
    assert ax.has_data() or ax.texts


def test_without_our_style_the_rc_parameters_of_the_user_hold(iv: ucc.Intervals) -> None:
    found = assessed(iv)
    with plt.rc_context({"font.size": 20.0}):
        theirs = found.plot("half_width", style=None).axes[0].xaxis.label.get_size()
        ours = found.plot("half_width").axes[0].xaxis.label.get_size()
        assert plt.rcParams["font.size"] == 20
    assert theirs == 20
    assert ours < 12
    with pytest.raises(ValueError, match="`style` must be 'uccurve' or None; got 'dark'"):
        found.plot("half_width", style="dark")


@pytest.mark.parametrize("name", ["a_$_b_$", "$10 to $20", r"$\frac{1}{0}$", "50% <b>"])
def test_names_are_text_and_no_formulas(iv: ucc.Intervals, name: str) -> None:
    found = ucc.assess(
        {name: iv, "other": iv.constant()},
        coverage=0.9,
        by={name: np.where(np.arange(500) % 2, name, "b")},
    )
    for panel in (None, *PANELS):
        shown = {text for text, _ in boxes(found.plot(panel))}
        assert any(name in text for text in shown)
    levels = {0.5: iv.calibrated(scale=0.5), 0.9: iv}
    both = ucc.assess({name: levels, "other": levels}, coverage=0.9)
    for panel in ("calibration", "pit"):
        assert any(name in text for text, _ in boxes(both.plot(panel)))
    assert any(name in text for text, _ in boxes(plots.curves({name: iv}).figure))


def test_text_of_a_vector_file_stays_text(iv: ucc.Intervals) -> None:
    file, pdf = io.StringIO(), io.BytesIO()
    assessed(iv).plot("half_width").savefig(file, format="svg")
    assert ">follows<" in file.getvalue().replace("\n", "")
    again = pickle.loads(pickle.dumps(assessed(iv).plot("half_width")))  # noqa: S301  our own
    again.savefig(pdf, format="pdf")
    assert b"/Type3" not in pdf.getvalue()


def test_an_unknown_panel_is_refused_with_the_nearest(iv: ucc.Intervals) -> None:
    with pytest.raises(
        ValueError,
        match=r"`panel` must be one of half_width, .*; got 'curve'\. Did you mean 'curves'",
    ):
        assessed(iv).plot("curve")
    with pytest.raises(ValueError, match="no segments to draw"):
        assessed(iv).plot("segments")


def ends_of(ax: Any) -> list[tuple[float, float]]:
    """The ends of the drawn intervals, from the top."""
    drawn = [line.get_xydata() for line in ax.get_lines() if len(line.get_xydata()) == 2]
    return [(float(one[0, 0]), float(one[1, 0])) for one in drawn if one[0, 1] == one[1, 1]]


def test_half_widths_are_those_that_ship(iv: ucc.Intervals) -> None:
    found = assessed(iv, 3)
    (ax,) = found.plot("half_width").axes
    assert lines_of(ax) == [row.name for row in found.ranking]
    assert found.ranking[0].name == found.verdict.model
    widths = [found.verdict.half_width, *(row.half_width for row in found.ranking[1:])]
    assert_allclose(ends_of(ax), [(width.low, width.high) for width in widths])
    scales = [found.verdict.scale, *(float(row.scale) for row in found.ranking[1:])]
    assert words(ax) == [f"× {scale:.2f}" for scale in scales]


def test_an_axis_that_does_not_start_at_zero_is_marked() -> None:
    (ax,) = plots.assessment(assessment([row(), mean8()]), "half_width").axes
    assert ax.get_xlim()[0] > 600
    assert sum(line.get_gid() == "cut" for line in ax.get_lines()) == 2


def test_a_model_out_of_reach_says_so_instead_of_showing_a_half_width() -> None:
    (ax,) = plots.assessment(assessment([row(), lost("lost", 2)]), "half_width").axes
    assert words(ax) == ["× 0.97", "nothing reaches 90%"]
    assert len(ends_of(ax)) == 1


def test_calibration_shows_the_promise_and_who_breaks_it() -> None:
    (ax,) = plots.assessment(assessment([row(), mean8()]), "calibration").axes
    assert words(ax) == ["90.4% ✓ kept", "83.9% ✗ too narrow"]
    colors = [line.get_color() for line in ax.get_lines() if line.get_marker() == "o"]
    assert len(set(colors)) == 2
    dashed: list[Any] = [line for line in ax.get_lines() if line.get_linestyle() == "--"]
    assert [line.get_xdata()[0] for line in dashed] == [90.0]
    assert ax.get_xlim()[1] <= 101


def test_the_decomposition_draws_the_steps_and_names_them() -> None:
    (ax,) = plots.assessment(assessment([row(), mean8()]), "decomposition").axes
    drawn = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches]  # type: ignore[attr-defined]
    steps = [step for one in (row(), mean8()) for step in waterfall(one.decomposition)]
    assert_allclose(drawn, [sorted((step.start, step.end)) for step in steps])
    assert words(ax)[1] == "predictions save 1,900"


def test_curves_share_axes_that_end_where_the_choice_does(iv: ucc.Intervals) -> None:
    found = assessed(iv, 3, shifted=0.4)
    (ax,) = found.plot("curves").axes
    widest = max(float(row.half_width) for row in found.rows)
    assert ax.get_xlim()[1] <= 1.05 * 2 * widest
    dots = [line for line in ax.get_lines() if len(line.get_xdata()) == 1]
    places: dict[str, list[list[float]]] = {marker: [] for marker in "oD"}
    for line in dots:
        places[str(line.get_marker())].append(line.get_xydata()[0].tolist())
    for ranked in found.ranking:
        curve = found.curves[ranked.name]
        is_best = ranked.name == found.verdict.model
        scale = found.verdict.scale if is_best else float(ranked.scale)
        for marker, t in (("o", 1.0), ("D", scale)):
            point = curve.at(t)
            assert any(
                np.allclose(place, [point.bandwidth, point.miss_rate]) for place in places[marker]
            )
    assert labels(ax) == [*(row.name for row in found.ranking), "its constant band"]


def test_seven_models_have_colours_and_further_ones_are_grey(iv: ucc.Intervals) -> None:
    found = assessed(iv, 12)
    (ax,) = found.plot("curves").axes
    assert [label for label in labels(ax) if label in found.curves] == [
        row.name for row in found.ranking[:7]
    ]
    grey = [line for line in ax.get_lines() if line.get_color() == LIGHT["other"]]
    assert len(grey) == 5


def test_of_many_models_the_best_are_drawn_and_counted(iv: ucc.Intervals) -> None:
    found = assessed(iv, 14)
    (ax,) = found.plot("calibration").axes
    assert lines_of(ax) == [row.name for row in found.ranking[:12]]
    assert "best 12 of 14" in ax.get_title(loc="left").replace("\n", " ")


def test_segments_show_coverage_and_frame_what_fails() -> None:
    found = [
        segment("north"),
        segment("south", fails=False),
        segment("north", "Mean8", fails=False),
    ]
    ax = plots.assessment(assessment([row(), mean8()], segments=found), "segments").axes[0]
    assert words(ax) == ["70", "91", "91", "–"]
    assert lines_of(ax) == ["hour north", "hour south"]
    assert len(ax.patches) == 1


def test_colours_of_segments_are_the_distance_to_what_was_promised() -> None:
    found = [
        segment("north"),
        segment("south", fails=False),
        segment("north", "Mean8", fails=False),
    ]
    ax = plots.assessment(assessment([row(), mean8()], segments=found), "segments").axes[0]
    distances: Any = ax.images[0].get_array()
    assert_allclose(
        distances[:, 0], [100 * (cell.shipped_coverage.value - 0.9) for cell in found[:2]]
    )
    assert np.isnan(np.ma.getdata(distances)[1, 1])
    (frame,) = ax.patches
    assert frame.get_xy() == (-0.5, -0.5)  # type: ignore[attr-defined]  # it is a rectangle


@pytest.fixture
def of_levels() -> ucc.Assessment:
    rng = np.random.default_rng(3)
    y, zero = rng.normal(size=400), np.zeros(400)
    normal = {0.5: 0.674, 0.8: 1.282, 0.95: 1.96}
    factors = {"fits": dict.fromkeys(normal, 1.0), "narrow": {0.5: 0.4, 0.8: 0.8, 0.95: 1.2}}
    models = {
        name: {
            level: ucc.Intervals.from_bands(y, zero, np.full(400, factor[level] * z))
            for level, z in normal.items()
        }
        for name, factor in factors.items()
    }
    return ucc.assess(models, coverage=0.8)


def test_calibration_has_one_line_per_model_with_an_interval_at_each_level(
    of_levels: ucc.Assessment,
) -> None:
    (ax,) = of_levels.plot("calibration").axes
    assert labels(ax) == [row.name for row in of_levels.ranking]
    ends = [segment[:, 1] for c in ax.collections for segment in c.get_segments()]
    levels = [level for row in of_levels.ranking for level in row.levels]
    expected = [
        (level.coverage.low - level.level, level.coverage.high - level.level) for level in levels
    ]
    assert_allclose(ends, 100 * np.array(expected))


def test_a_pit_histogram_marks_the_bins_outside_of_its_band(of_levels: ucc.Assessment) -> None:
    axs = of_levels.plot("pit").axes
    assert [ax.get_title(loc="left") for ax in axs] == [one.name for one in of_levels.ranking]
    for ax, one in zip(axs, of_levels.ranking, strict=True):
        pit: Any = one.pit
        assert_allclose([bar.get_height() for bar in ax.patches], [float(x) for x in pit.density])
        outside = [not x.low <= x.value <= x.high for x in pit.density]
        assert any(outside) == (one.name == "narrow")
        colors = {(out, bar.get_facecolor()) for out, bar in zip(outside, ax.patches, strict=True)}
        assert len(colors) == len(set(outside))
        shade = {
            tuple(vertex)
            for vertex in np.asarray(ax.collections[0].get_paths()[0].vertices).tolist()
        }
        assert {(pit.edges[1], pit.density[0].low), (pit.edges[1], pit.density[1].low)} <= shade


def test_long_names_are_shortened_and_told_apart() -> None:
    names = ["model_" + "x" * 5000 + end for end in ("_1", "_2")]
    rows = [row(names[0]), mean8()]
    rows[1] = replace(rows[1], name=names[1])
    found = [segment("north", name) for name in names]
    figure = plots.assessment(assessment(rows, segments=found), "segments")
    heads = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert len(set(heads)) == 2
    assert max(map(len, heads)) < 30
