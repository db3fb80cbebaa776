"""Sketches add up, answer like a curve in memory, and stay small."""

from __future__ import annotations

import copy
import inspect
import pickle
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import uccurve as ucc
from refusal import refused
from strategies import Data, extreme, mixed
from uccurve.sketch.sketch import SketchUCC, UCCSketch

IV = ucc.Intervals.from_bands(
    [1, 2, 4, 9], y_pred=[0] * 4, lower_band=[1, 1, 4, 4], upper_band=[1, 3, 4, 5]
)


PAIRS: list[Any] = [("excess", "deficit"), ("miss_rate", "overshoot"), ("bandwidth", "miss_rate")]


def sketch(iv: ucc.Intervals) -> UCCSketch:
    return UCCSketch().update(iv)


def exactly(s: UCCSketch) -> list[Any]:
    """What does not depend on the order of additions."""
    parts = s._state.histograms.values()
    return [values.tolist() for part in parts for values in (part.bin, part.rows, part.maximum)]


# ---- adding up


@given(data=mixed(12, never=True), cut=st.integers(0, 12))
def test_sketches_of_parts_add_up_to_the_sketch_of_the_whole(data: Data, cut: int) -> None:
    iv = data.intervals()
    whole, cut = sketch(iv), min(cut, len(iv))
    parts = [iv[rows] for rows in (slice(cut), slice(cut, None)) if np.any(iv.weight[rows])]
    parts = [part for part in parts if part._weight is None or part._weight.any()]
    one, other = (
        (sketch(part) for part in parts) if len(parts) == 2 else (sketch(parts[0]), UCCSketch())
    )
    assert one + other == whole
    assert other + one == whole
    assert exactly(one + other) == exactly(other + one) == exactly(whole)


@given(data=st.lists(mixed(6, weighted=False), min_size=3, max_size=3))
def test_merging_is_commutative_and_associative_to_the_last_count(data: list[Data]) -> None:
    parts = [sketch(one.intervals()) for one in data]
    found = []
    for a, b, c in permutations(parts):
        found += [a + b + c, a + (b + c)]
    assert all(one == found[0] for one in found)
    assert all(exactly(one) == exactly(found[0]) for one in found)


def test_an_empty_sketch_changes_nothing_and_answers_nothing() -> None:
    s = sketch(IV)
    assert s + UCCSketch() == s == UCCSketch() + s
    refused(
        "`sketch` must be a UCCSketch that holds at least one row. Hint: update it first.",
        UCCSketch().ucc,
    )


def test_update_works_in_place_and_addition_does_not() -> None:
    s, other = UCCSketch(), sketch(IV)
    assert s.update(IV[:2]).update(IV[2:]) is s
    assert s == other
    assert s + other != other
    assert other == sketch(IV)


def test_a_curve_does_not_change_when_its_sketch_is_updated() -> None:
    s = sketch(IV)
    c = s.ucc()
    before = c.area()
    s.update(IV)
    assert c.area() == before
    assert s.rows == 2 * c.sketch.rows


@pytest.mark.parametrize("change", [{"weight": [1.0, 1, 1, 1]}, {"min_band": 1.5}])
def test_sketches_of_other_rows_differ(change: dict[str, Any]) -> None:
    other = ucc.Intervals.from_bands([1, 2, 4, 9], [0] * 4, [1, 1, 4, 4], [1, 3, 4, 5], **change)
    assert sketch(other) != sketch(IV)
    assert sketch(IV) != "a sketch"


def test_an_observation_that_moves_within_its_bins_changes_the_sketch() -> None:
    moved = ucc.Intervals.from_bands(
        [1, 2, 4, 8.999], y_pred=[0] * 4, lower_band=[1, 1, 4, 4], upper_band=[1, 3, 4, 5]
    )
    assert sketch(moved)._state.critical.bin.tolist() == sketch(IV)._state.critical.bin.tolist()
    assert sketch(moved) != sketch(IV)


def test_rows_of_weight_zero_leave_no_trace() -> None:
    weighted = ucc.Intervals.from_bands([1, 2, 4, 7], [0] * 4, [1, 1, 4, 4], weight=[1, 1, 0, 1])
    assert sketch(weighted) == sketch(weighted[[0, 1, 3]])


@given(data=extreme())
def test_a_sketch_is_made_of_tiny_and_huge_rows_or_refused(data: Data) -> None:
    try:
        s = sketch(data.intervals())
    except ValueError:
        with pytest.raises(
            ValueError, match=r"divide all columns by a common unit|of comparable size"
        ):
            sketch(data.intervals())
        return
    low, high = s.ucc().bracket("area")
    assert 0 <= low <= high
    assert s.ucc().at(1.0).miss_rate == pytest.approx(
        ucc.UCC(data.intervals()).at(1.0).miss_rate, abs=1e-14
    )


def size(s: UCCSketch) -> int:
    """Bytes of all bins."""
    return sum(
        values.nbytes for part in s._state.histograms.values() for values in part.arrays.values()
    )


def test_the_size_is_bounded_whatever_the_rows() -> None:
    rng = np.random.default_rng(1)
    error = 10 ** rng.uniform(-99, 99, 40_000)
    iv = ucc.Intervals.from_bands(
        error, np.zeros(40_000), 10 ** rng.uniform(-5, 5, 40_000), np.ones(40_000)
    )
    s = sketch(iv)
    limit = 1_639_000  # 8,195 bins in each of three histograms, of 8 to 10 numbers each
    assert limit / 4 < size(s) <= limit
    assert size(s + s) == size(s)


# ---- answers


NEED_ROWS = {
    "concentration",
    "from_levels",
    "intervals",
    "intervals_at",
    "intervals_by_level",
    "levels",
}
NEED_ROWS |= {"delivered_curve", "forget_order", "path", "point_at", "ramps", "unit_size"}


def test_a_sketch_curve_has_every_answer_of_a_curve() -> None:
    public = {name for name, _ in inspect.getmembers(ucc.UCC) if not name.startswith("_")}
    assert public - {name for name, _ in inspect.getmembers(SketchUCC)} <= NEED_ROWS


def test_a_sketch_curve_takes_every_option_of_a_curve() -> None:
    for name, method in inspect.getmembers(SketchUCC, inspect.isfunction):
        if not name.startswith("_") and name not in ("bracket", "error"):
            theirs = inspect.signature(getattr(ucc.UCC, name)).parameters
            assert theirs.keys() - inspect.signature(method).parameters.keys() <= {"level"}, name


@given(data=mixed(12))
def test_few_rows_that_share_no_bin_are_answered_exactly(data: Data) -> None:
    s, whole = sketch(data.intervals()), ucc.UCC(data.intervals())
    assume(all(np.all(part.rows == 1) for part in s._state.histograms.values()))
    c, size = s.ucc(), 1e-11 * (1 + whole.area(axes=("bandwidth", "bandwidth")))
    for pair in PAIRS:
        assert c.area(axes=pair) == pytest.approx(whole.area(axes=pair), rel=1e-10, abs=size)
    np.testing.assert_array_equal(np.asarray(c.points().scale), np.asarray(whole.points().scale))
    np.testing.assert_allclose(c.points().y, whole.points().y, atol=1e-14)
    for name, column in c.table().items():
        exact = whole.table()
        np.testing.assert_allclose(
            column, np.interp(c.table()["scale"], exact["scale"], exact[name]), atol=size
        )


def test_what_holds_a_sketch_can_be_copied_and_added_up() -> None:
    s = sketch(IV)
    assert sum([s, s]) == s + s
    c = copy.deepcopy(pickle.loads(pickle.dumps(s.ucc())))  # noqa: S301  # our own bytes
    assert c.sketch == s
    assert c.bracket("gain") == s.ucc().bracket("gain")
    with pytest.raises(
        TypeError, match="`reference` must be Intervals, a UCC or a sketch; got str"
    ):
        s.ucc().gain(reference="x")  # type: ignore[arg-type]


def test_points_are_frozen_and_have_the_curve_s_ends() -> None:
    points = sketch(IV).ucc().points(axes=("excess", "deficit"))
    assert (points.x[0], points.y[-1]) == (0.0, 0.0)
    assert not points.x.flags.writeable


def test_a_sketch_curve_is_drawn_like_a_curve() -> None:
    pytest.importorskip("matplotlib")
    display = sketch(IV).ucc().plot(reference=False, cost=0.2)
    assert np.size(display.line_.get_xdata()) >= 4


def test_a_sketch_curve_says_what_it_is() -> None:
    c = sketch(IV).ucc()
    assert repr(c) == "SketchUCC(4 rows, scale 0.6667 to 1.8)"
    assert repr(sketch(IV[:1])) == "UCCSketch(1 row, 1 bin of the scale)"
    assert "<th>miss_rate</th><td>0.25</td><td>0.25</td>" in c._repr_html_()
    uncoverable = ucc.Intervals.from_bands([1.0], [0.0], [0.0])
    assert repr(sketch(uncoverable).ucc()) == "SketchUCC(1 row, no scale covers any)"


# ---- refusals


METRICS = "bandwidth, miss_rate, excess, deficit, overshoot"
ANSWERS = (
    f"{METRICS}, area, gain, cost, cheapest, find, interval_score, shipped, rescaling, bands, constant_shipped, "
    "best_score, slack, potential_crps, skill"
)
WRONG: list[tuple[Any, str]] = [
    (
        lambda c: c.bracket("are"),
        f"`answer` must be one of {ANSWERS}; got 'are'. Did you mean 'area'?",
    ),
    (
        lambda c: c.area(axes=("excess", "defict")),
        f"`axes` must be two of {METRICS}; got 'defict'. Did you mean 'deficit'?",
    ),
    (lambda c: c.find(), "give one target to find, such as coverage=0.9."),
    (
        lambda c: c.find(miss_rate=0.05, conformal=True),
        (
            "`conformal` at miss_rate=0.05 needs at least 19 rows; there are 4. "
            "Hint: use more calibration rows or a larger `miss_rate`."
        ),
    ),
    (
        lambda c: c.area(unit="sd"),
        "`unit` must be 'raw', 'std' or a finite number above 0; got 'sd'.",
    ),
    (
        lambda c: c.potential_crps(unit=-1),
        "`unit` must be 'raw', 'std' or a finite number above 0; got -1.",
    ),
]


@pytest.mark.parametrize(("call", "sentence"), WRONG)
def test_wrong_questions_are_refused_in_one_sentence(call: Any, sentence: str) -> None:
    refused(sentence, call, sketch(IV).ucc())


def test_a_target_that_no_scale_reaches_is_refused() -> None:
    c = sketch(ucc.Intervals.from_bands([1.0, 1.0], [0.0, 0.0], [1.0, 0.0])).ucc()
    assert c.area() == np.inf
    with pytest.raises(
        ValueError, match=r"^no scale reaches miss_rate=0.1: the minimum is 0.5\. Hint"
    ):
        c.find(miss_rate=0.1)
    flat = sketch(
        ucc.Intervals.from_bands([1.0, 1.0, 0.0], [0.0] * 3, [0.0, 1.0, 1e-6], [1e8, 1e-8, 1e-6])
    ).ucc()
    with pytest.raises(
        ValueError,
        match=r"^no scale is sure to reach excess=33.633: the bins leave open .* slightly less",
    ):
        flat.find(excess=33.633)


def test_a_standard_deviation_lost_in_rounding_is_refused() -> None:
    c = sketch(ucc.Intervals.from_bands([1e9, 1e9 + 1e-6], [1e9, 1e9], [1.0, 1.0])).ucc()
    with pytest.raises(ValueError, match="needs a y_true that varies by more than the rounding"):
        c.area(unit="std")


def test_only_intervals_and_sketches_come_in() -> None:
    refused("`intervals` must be Intervals; got list.", UCCSketch().update, [1], error=TypeError)
    refused(
        "`sketch` must be a UCCSketch that holds at least one row. Hint: update it first.",
        SketchUCC,
        1,
    )
    with pytest.raises(TypeError, match="unsupported operand"):
        UCCSketch() + 1  # type: ignore[operator]


def test_sums_beyond_float64_are_refused() -> None:
    polars = pytest.importorskip("polars")
    row = {"y_true": [1e100], "y_pred": [0.0], "lower": [-1e-100], "upper": [1e-100], "w": [1e100]}
    refused(
        "the sums of the rows must stay within float64: they do not. Hint: divide all columns by a common unit first.",
        UCCSketch.from_frame, polars.LazyFrame(row), weight="w",
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(30))
def test_of_scales_that_cost_the_same_the_smallest_is_cheapest(seed: int) -> None:
    error = np.geomspace(0.1, 10, 50) * np.random.default_rng(seed).uniform(0.99, 1.01, 50)
    iv = ucc.Intervals.from_bands(error, np.zeros(50), np.ones(50))
    assert sketch(iv).ucc().cheapest(0.1, axes=("excess", "deficit")).scale == np.sort(error)[44]


def test_what_sums_of_bins_would_say_wrongly_is_refused() -> None:
    upper = ucc.Intervals.from_bounds([1.0, 2.0], [0.0, 0.0], upper=[1.0, 3.0])
    refused(
        "a sketch judges both bounds, and these intervals judge the upper one alone. "
        "Hint: use a UCC of the rows, or assess.",
        sketch,
        upper,
    )
    ending = ucc.Intervals.from_bounds(
        [1.0, 2.0], [1.0, 1.0], [0.0, 0.0], [3.0, 3.0], support=(0, 3)
    )
    refused(
        "a sketch knows no `support` at which bounds end. Hint: use a UCC of the rows, or assess.",
        sketch,
        ending,
    )


def test_rows_in_units_of_their_own_are_sketched_in_these() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=50)
    iv = ucc.Intervals.from_bounds(y, 0 * y, 0 * y - 1, 0 * y + 1, unit=np.abs(y) + 1)
    c = sketch(iv).ucc()
    for unit in ("raw", "std"):
        assert c.area(unit=unit) == pytest.approx(ucc.UCC(iv).area(unit=unit), rel=1e-12)
