"""What a curve hands out: vertices, tables, units, words. The numbers themselves are in test_oracle and test_laws."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import uccurve as ucc

METRICS: Any = ("bandwidth", "miss_rate", "excess", "deficit", "overshoot")

VARY: list[Any] = ["scale", "shift"]
EXCESSES: list[Any] = ["excess", "overshoot"]


def pickled(curve: ucc.UCC) -> Any:
    """What comes back from a pickle."""
    return pickle.loads(pickle.dumps(curve))  # noqa: S301  # our own


def bands(*columns: Any, **options: Any) -> ucc.Intervals:
    """Intervals around 0 from errors, lower bands and upper bands."""
    errors, *both = columns
    return ucc.Intervals.from_bands(errors, np.zeros(len(errors)), *both, **options)


def symmetric(vary: Any = "scale", **options: Any) -> ucc.UCC:
    """Errors 1, 2, 4, 0 and bands 1, 1, 4, 2: critical scales 1, 2, 1 and 0, so that two rows tie."""
    return ucc.UCC(bands([1.0, -2.0, 4.0, 0.0], [1.0, 1.0, 4.0, 2.0], **options), vary=vary)


def asymmetric(vary: Any = "scale") -> ucc.UCC:
    """Errors 1 and -3, active bands 4 and 1, other bands 1 and 2: critical scales 1/4 and 3, crossover at 2/3."""
    return ucc.UCC(bands([1.0, -3.0], [1.0, 1.0], [4.0, 2.0]), vary=vary)


# ---- vertices


def test_the_curve_starts_at_zero_and_has_one_vertex_for_each_distinct_critical_scale() -> None:
    points = symmetric().points()
    assert points.scale is not None
    assert points.scale.tolist() == [0.0, 1.0, 2.0]
    assert points.x.tolist() == [0.0, 2.0, 4.0]
    assert points.y.tolist() == [
        0.75,
        0.25,
        0.0,
    ]  # the row without error is covered from the start, ties share a step
    assert points.shift is None
    assert (points.axes, len(points)) == (("bandwidth", "miss_rate"), 3)


def test_a_shifted_curve_starts_where_the_last_band_opens() -> None:
    points = symmetric("shift").points()
    assert points.scale is None
    assert points.shift is not None
    # critical shifts 0, 1, 0 and the start -4; bands of 1, 1, 4 and 2 open at -1, -1, -4 and -2
    assert points.shift.tolist() == [-4.0, -2.0, -1.0, 0.0, 1.0]
    assert points.x.tolist() == [0.0, 2 / 4, (3 + 1) / 4, (1 + 1 + 4 + 2) / 4, (2 + 2 + 5 + 3) / 4]
    assert points.y.tolist() == [0.75, 0.75, 0.75, 0.25, 0.0]


def test_a_crossover_is_a_vertex_where_the_excess_is_drawn() -> None:
    bent, straight = (asymmetric().points(axes=(name, "deficit")) for name in EXCESSES)
    assert bent.scale is not None
    assert straight.scale is not None
    np.testing.assert_allclose(bent.scale, [0, 1 / 4, 2 / 3, 3], rtol=1e-15)
    np.testing.assert_allclose(bent.x, [0, 0, 5 / 6, 2], rtol=1e-15)
    np.testing.assert_allclose(straight.scale, [0, 1 / 4, 3], rtol=1e-15)
    assert straight.y.tolist() == [2.0, 1.375, 0.0]


def test_the_table_has_every_metric_at_every_vertex() -> None:
    for vary in VARY:
        for c in (symmetric(vary), asymmetric(vary)):
            table = c.table()
            assert list(table) == [vary, *METRICS]
            for t, *values in zip(*table.values(), strict=True):
                point = c.at(float(t))
                np.testing.assert_allclose(
                    values, [getattr(point, name) for name in METRICS], rtol=1e-14, atol=1e-15
                )
            for array in table.values():
                assert not array.flags.writeable


def test_the_table_holds_the_points_of_every_pair_of_axes() -> None:
    table = asymmetric("shift").table()
    for x in METRICS:
        for y in METRICS:
            points = asymmetric("shift").points(axes=(x, y))
            assert points.shift is not None
            places = np.searchsorted(table["shift"], points.shift)
            np.testing.assert_array_equal(table["shift"][places], points.shift)
            np.testing.assert_allclose(points.x, table[x][places], rtol=1e-14, atol=1e-15)
            np.testing.assert_allclose(points.y, table[y][places], rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("vary", VARY)
def test_long_curves_are_the_same_as_point_by_point(vary: Any) -> None:
    rng = np.random.default_rng(3)
    n = 3000
    errors, lower, upper = (
        rng.standard_t(4, n),
        rng.lognormal(0, 0.5, n),
        rng.lognormal(0.2, 0.7, n),
    )
    errors[::7] = np.round(errors[::7])
    lower[::7] = upper[::7] = 2.0  # ties
    c = ucc.UCC(bands(errors, lower, upper), vary=vary)
    table = c.table()
    assert np.all(np.diff(table[vary]) > 0)
    for place in (0, 1, 2, 40, 1700, len(table[vary]) - 2, len(table[vary]) - 1):
        point = c.at(float(table[vary][place]))
        for name in METRICS:
            np.testing.assert_allclose(
                table[name][place], getattr(point, name), rtol=1e-11, atol=1e-14
            )


# ---- small curves, and uncoverable rows


@pytest.mark.parametrize("vary", VARY)
def test_one_row_has_a_whole_curve(vary: Any) -> None:
    c = ucc.UCC(bands([3.0], [1.0], [2.0]), vary=vary)
    points = c.points()
    assert points.y.tolist() == ([1.0, 0.0] if vary == "scale" else [1.0, 1.0, 0.0])
    assert points.x[-1] == (2.25 if vary == "scale" else 2.5)
    places = getattr(points, vary)
    assert places[-1] == (1.5 if vary == "scale" else 1.0)
    assert c.find(miss_rate=0.5).miss_rate == 0.0
    assert c.find(miss_rate=0.5, conformal=True).miss_rate == 0.0
    assert c.concentration() == 1
    assert c.cheapest(0.01).miss_rate == 0.0
    assert c.gain() == pytest.approx(1 - 2.25 / 3 if vary == "scale" else 1 - 2.5 / 3)
    assert repr(c) == f"UCC(1 row, {vary} {places[-1]:g} to {places[-1]:g}, miss_rate 0 to 0)"


@pytest.mark.parametrize("vary", VARY)
def test_rows_without_error_are_covered_from_the_start(vary: Any) -> None:
    c = ucc.UCC(bands([0.0, 0.0], [1.0, 2.0]), vary=vary)
    assert c.points().y.tolist()[0] == 0.0
    assert c.area() == 0.0
    assert np.isnan(c.gain())
    assert c.concentration() == 0


def test_a_row_that_no_scale_covers_ends_the_curve_at_the_last_finite_one() -> None:
    c = ucc.UCC(bands([1.0, 2.0, 4.0], [1.0, 0.0, 1.0]))
    points = c.points()
    assert points.scale is not None
    assert points.scale.tolist() == [0.0, 1.0, 4.0]
    assert points.y.tolist() == [1.0, 2 / 3, 1 / 3]
    assert c.table()["deficit"].tolist()[-1] == pytest.approx(2 / 3)
    assert c.area() == np.inf
    assert c.gain() == -np.inf
    assert np.isfinite(c.area(miss_rate=(0.4, 1)))
    assert repr(c) == "UCC(3 rows, scale 1 to 4, miss_rate 0.6667 to 0.3333)"


def test_a_curve_on_which_no_row_is_ever_covered_has_one_vertex() -> None:
    c = ucc.UCC(bands([1.0, 2.0], [0.0, 0.0]))
    assert {name: column.tolist() for name, column in c.table().items()} == {
        "scale": [0.0],
        "bandwidth": [0.0],
        "miss_rate": [1.0],
        "excess": [0.0],
        "deficit": [1.5],
        "overshoot": [0.0],
    }
    assert c.area() == np.inf
    assert repr(c) == "UCC(2 rows, no scale covers any)"
    shifted = ucc.UCC(bands([1.0, 2.0], [0.0, 0.0]), vary="shift")
    assert shifted.points().y.tolist() == [1.0, 0.5, 0.0]


def test_several_outputs_make_the_curve_of_the_flattened_rows() -> None:
    errors, lower = np.array([[1.0, 5.0], [2.0, 0.5]]), np.array([[1.0, 4.0], [3.0, 2.0]])
    both = ucc.UCC(ucc.Intervals.from_bands(errors, np.zeros((2, 2)), lower, weight=[1, 3]))
    flat = ucc.UCC(bands(errors.ravel(), lower.ravel(), weight=[1, 1, 3, 3]))
    for name, column in both.table().items():
        np.testing.assert_allclose(column, flat.table()[name], rtol=1e-15)
    assert repr(both).startswith("UCC(2 rows, ")


# ---- units


@pytest.mark.parametrize("vary", VARY)
def test_a_unit_divides_everything_but_the_miss_rate_and_the_shift(vary: Any) -> None:
    c = asymmetric(vary)
    raw, halves = c.table(), c.table(unit=2.0)
    for name in METRICS:
        np.testing.assert_allclose(
            halves[name], raw[name] / (1 if name == "miss_rate" else 2), rtol=1e-15
        )
    np.testing.assert_array_equal(halves[vary], raw[vary])
    assert c.at(1.0, unit=2.0).deficit == c.at(1.0).deficit / 2
    assert c.at(1.0, unit=2.0).shift == c.at(1.0).shift
    assert c.area(axes=("excess", "deficit"), unit=2.0) == pytest.approx(
        c.area(axes=("excess", "deficit")) / 4
    )
    assert c.gain(axes=("excess", "deficit"), unit=2.0) == pytest.approx(
        c.gain(axes=("excess", "deficit"))
    )
    assert c.area(bandwidth=(0.25, 0.5), unit=2.0) == pytest.approx(
        c.area(bandwidth=(0.5, 1.0)) / 2
    )
    assert getattr(c.find(bandwidth=0.5, unit=2.0), vary) == getattr(c.find(bandwidth=1.0), vary)
    assert c.cheapest(0.1, unit=2.0).cost == pytest.approx(
        c.cost(0.1, at=getattr(c.cheapest(0.1, unit=2.0), vary), unit=2.0)
    )


def test_the_unit_std_is_the_weighted_population_standard_deviation() -> None:
    iv = ucc.Intervals.from_bands(
        [1.0, 2.0, 6.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], weight=[2, 1, 1]
    )
    deviation = np.sqrt(np.average((np.array([1, 1, 2, 6]) - 2.5) ** 2))
    np.testing.assert_allclose(ucc.UCC(iv).at(1.0, unit="std").bandwidth, 1 / deviation, rtol=1e-14)
    huge = ucc.Intervals.from_bands([1e99, -1e99], [0.0, 0.0], [1e99, 1e99])
    assert ucc.UCC(huge).at(1.0, unit="std").bandwidth == pytest.approx(1.0)


# ---- frozen, and the same however often it is asked


def test_a_curve_cannot_be_changed() -> None:
    c = symmetric()
    with pytest.raises(AttributeError, match=r"^cannot assign to field 'vary'$"):
        c.vary = "shift"  # type: ignore[misc]
    with pytest.raises(AttributeError, match=r"^cannot assign to field 'other'$"):
        c.other = 1  # type: ignore[attr-defined]
    for array in (c.points().x, c.points().y, c.points().scale, *c.table(unit=3.0).values()):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


@pytest.mark.parametrize("vary", VARY)
def test_earlier_questions_do_not_change_later_answers(vary: Any) -> None:
    fresh: dict[Any, Any] = {}
    asked = asymmetric(vary)
    for x in METRICS:
        for y in METRICS:
            fresh[x, y] = asymmetric(vary).points(axes=(x, y))
            again = asked.points(axes=(x, y))
            np.testing.assert_array_equal(fresh[x, y].x, again.x)
            np.testing.assert_array_equal(fresh[x, y].y, again.y)
            assert asymmetric(vary).area(axes=(x, y)) == asked.area(axes=(x, y))


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled])
def test_copies_and_pickles_answer_alike(again: Callable[[Any], Any]) -> None:
    iv = asymmetric().intervals
    levels = ucc.UCC.from_levels({0.5: iv.calibrated(scale=0.5), 0.9: iv})
    for c in (symmetric("shift", weight=[1, 2, 3, 4]), asymmetric(), levels):
        c.table()
        other = again(c)
        assert (other.vary, other.area(), repr(other)) == (c.vary, c.area(), repr(c))
        assert (other.levels, other.potential_crps()) == (c.levels, c.potential_crps())
        for name, column in c.table().items():
            np.testing.assert_array_equal(other.table()[name], column)


def test_operating_points_are_compared_by_value_and_kept() -> None:
    point = symmetric().at(1.0)
    assert point == symmetric().at(1.0)
    assert point != symmetric().at(2.0)
    with pytest.raises(AttributeError):
        point.scale = 2.0  # type: ignore[misc]
    assert repr(point) == (
        "OperatingPoint(scale=1, shift=0, miss_rate=0.25, bandwidth=2, excess=0.5, deficit=0.25, overshoot=0.5)"
    )
    assert repr(symmetric("shift").cheapest(0.5)).startswith("OperatingPoint(scale=1, shift=")


# ---- words


def test_words_tell_size_and_ranges_not_contents() -> None:
    assert repr(symmetric()) == "UCC(4 rows, scale 0 to 2, miss_rate 0.75 to 0)"
    assert repr(symmetric("shift")) == "UCC(4 rows, shift -4 to 1, miss_rate 0.75 to 0)"
    assert (
        repr(symmetric().points()) == "CurvePoints(3 points, bandwidth 0 to 4, miss_rate 0.75 to 0)"
    )
    assert len(repr(ucc.UCC(bands(np.arange(9999.0), np.ones(9999))))) < 80


@pytest.mark.parametrize("vary", ["scale", "shift", "levels"])
def test_a_curve_that_is_refused_can_still_be_shown(vary: Any) -> None:
    wide = bands([1e60, 1e60], [1e90, 1e-90])
    c = (
        ucc.UCC.from_levels({0.5: wide, 0.9: wide})
        if vary == "levels"
        else ucc.UCC(wide, vary=vary)
    )
    with pytest.raises(ValueError, match="of comparable size"):
        c.at(1.0)
    assert repr(c) == f"UCC(2 rows, {vary} that float64 cannot resolve)"


class Cells(HTMLParser):
    """Tags and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not attrs
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_notebook_view_is_a_table_of_the_delivered_point_three_gains_and_the_skill() -> None:
    c = asymmetric()
    cells = Cells(c._repr_html_())
    assert set(cells.tags) == {"table", "caption", "tr", "th", "td"}
    assert cells.texts[0] == repr(c)
    shown = dict(zip(cells.texts[1::2], cells.texts[2::2], strict=True))
    point = c.at(1.0)
    assert {name: shown[name] for name in METRICS} == {
        name: f"{getattr(point, name):.4g}" for name in METRICS
    }
    gains: list[Any] = [("bandwidth", "miss_rate"), ("bandwidth", "deficit"), ("excess", "deficit")]
    for axes in gains:
        assert shown[f"gain on {axes[1]} vs. {axes[0]}"] == f"{c.gain(axes=axes):.4g}"
    assert shown["skill"] == f"{c.skill():.4g}"
    assert len(shown) == 9


def test_what_shows_itself_also_shows_odd_curves() -> None:
    for c in (
        ucc.UCC(bands([0.0], [0.0])),
        ucc.UCC(bands([1.0], [0.0])),
        ucc.UCC(bands([1.0], [0.0]), vary="shift"),
    ):
        assert "nan" in c._repr_html_() or "inf" in c._repr_html_()
        assert repr(c).startswith("UCC(1 row, ")


# ---- what rounding, weights and shifts must not move


@pytest.mark.parametrize("side", [-1, 1])
def test_the_bounds_decide_where_error_and_band_round_to_the_same_number(side: int) -> None:
    y_pred, bound, beyond = (
        -1000.0 * side,
        1e-14 * side,
        2e-14 * side,
    )  # both lie 1000 from y_pred, as float64 has it
    bounds = (y_pred - 1, bound) if side > 0 else (bound, y_pred + 1)
    missed = ucc.Intervals.from_bounds([beyond], [y_pred], *([one] for one in bounds))
    held = ucc.Intervals.from_bounds([bound], [y_pred], *([one] for one in bounds))
    assert ucc.UCC(missed).at(1.0).miss_rate == 1
    assert ucc.UCC(held).at(1.0).miss_rate == 0


@pytest.mark.parametrize("band", [0.0, 0.1])
def test_the_smallest_share_of_an_area_takes_one_row(band: float) -> None:
    curve = ucc.UCC(ucc.Intervals.from_bands([1.0, 2.0, 3.0], [0.0] * 3, [band, 1.0, 1.0]))
    assert curve.concentration(share=0) == curve.concentration(share=1e-9) == 1


def test_a_conformal_rank_refuses_weights_that_differ_a_little() -> None:
    data = [1, 2, 3], [0, 0, 0], [1, 1, 1]
    with pytest.raises(ValueError, match="needs equal weights"):
        ucc.UCC(ucc.Intervals.from_bands(*data, weight=[1, 1, 1.001])).find(
            miss_rate=0.5, conformal=True
        )
    equal = ucc.UCC(ucc.Intervals.from_bands(*data, weight=[0.5, 0.5, 0.5]))
    assert equal.find(miss_rate=0.5, conformal=True).scale == 2


@pytest.mark.parametrize("seed", range(30))
def test_of_scales_that_cost_the_same_the_smallest_is_cheapest(seed: int) -> None:
    error = np.random.default_rng(seed).random(50)
    c = ucc.UCC(ucc.Intervals.from_bands(error, np.zeros(50), np.ones(50)))
    # Between the 45th and the 46th error, 45 bands grow too wide at 0.1 each while 5 errors shrink at 0.9 each.
    assert c.cheapest(0.1, axes=("excess", "deficit")).scale == np.sort(error)[44]


def test_a_value_that_the_curve_has_for_good_can_be_found() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        upper = rng.uniform(0, 9, 3) * (rng.random(3) < 0.7)
        c = ucc.UCC(ucc.Intervals.from_bands(rng.uniform(0, 2, 3), np.zeros(3), np.zeros(3), upper))
        late = c.at(1e9)
        assert c.find(excess=late.excess).excess == pytest.approx(late.excess, rel=1e-14)
        assert c.find(deficit=late.deficit).deficit == pytest.approx(late.deficit, rel=1e-14)


def test_a_notebook_shows_a_single_bound_that_is_shifted_without_what_it_has_not() -> None:
    quantile = ucc.Intervals.from_quantile([1.0, 5.0, 2.0], [4.0, 4.0, 3.0], level=0.9)
    shown = ucc.UCC(quantile, vary="shift")._repr_html_()
    assert "<th>deficit</th><td>0.3333</td>" in shown
    assert "gain" not in shown
    assert "skill" not in shown
