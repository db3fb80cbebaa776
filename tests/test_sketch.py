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
from uccurve.sketch.curve import SketchUCC
from uccurve.sketch.sketch import LIMIT, UCCSketch

IV = ucc.Intervals.from_bands([1, 2, 4, 9], y_pred=[0] * 4, lower_band=[1, 1, 4, 4], upper_band=[1, 3, 4, 5])


PAIRS: list[Any] = [("excess", "deficit"), ("miss_rate", "overshoot"), ("bandwidth", "miss_rate")]


def sketch(iv: ucc.Intervals) -> UCCSketch:
    return UCCSketch().update(iv)


def exactly(s: UCCSketch) -> list[Any]:
    """What does not depend on the order of additions."""
    parts = (s.critical, s.folds, s.errors)
    return [values.tolist() for part in parts for values in (part.bin, part.rows, part.least, part.greatest)]


# ---- adding up


@given(data=mixed(12, never=True), cut=st.integers(0, 12))
def test_sketches_of_parts_add_up_to_the_sketch_of_the_whole(data: Data, cut: int) -> None:
    iv = data.intervals()
    whole, cut = sketch(iv), min(cut, len(iv))
    parts = [iv[rows] for rows in (slice(cut), slice(cut, None)) if len(iv.y_true[rows])]
    parts = [part for part in parts if part._weight is None or part._weight.any()]
    one, other = (sketch(part) for part in parts) if len(parts) == 2 else (sketch(parts[0]), UCCSketch())
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
    refused("`sketch` must hold at least one row: it is empty. Hint: update it first.", UCCSketch().ucc)


def test_update_and_merge_work_in_place_and_addition_does_not() -> None:
    s, other = UCCSketch(), sketch(IV)
    assert s.update(IV[:2]).merge(sketch(IV[2:])) is s
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


def test_a_moved_observation_in_the_same_bins_is_told_apart() -> None:
    moved = ucc.Intervals.from_bands([1, 2, 4, 8.999], y_pred=[0] * 4, lower_band=[1, 1, 4, 4], upper_band=[1, 3, 4, 5])
    assert sketch(moved).critical.bin.tolist() == sketch(IV).critical.bin.tolist()
    assert sketch(moved) != sketch(IV)


def test_rows_of_weight_zero_leave_no_trace() -> None:
    weighted = ucc.Intervals.from_bands([1, 2, 4, 7], [0] * 4, [1, 1, 4, 4], weight=[1, 1, 0, 1])
    assert sketch(weighted) == sketch(weighted[[0, 1, 3]])


@given(data=extreme())
def test_a_sketch_is_made_of_tiny_and_huge_rows_or_refused(data: Data) -> None:
    try:
        s = sketch(data.intervals())
    except ValueError:
        with pytest.raises(ValueError, match="divide all columns by a common unit"):
            sketch(data.intervals())
        return
    low, high = s.ucc().bracket("area")
    assert 0 <= low <= high
    assert s.ucc().at(1.0).miss_rate == pytest.approx(ucc.UCC(data.intervals()).at(1.0).miss_rate, abs=1e-14)


def test_the_size_is_bounded_whatever_the_rows() -> None:
    rng = np.random.default_rng(1)
    error = 10 ** rng.uniform(-140, 140, 40_000)
    iv = ucc.Intervals.from_bands(error, np.zeros(40_000), 10 ** rng.uniform(-5, 5, 40_000), np.ones(40_000))
    s = sketch(iv)
    assert LIMIT / 4 < s.nbytes <= LIMIT == 1_639_000
    assert (s + s).nbytes == s.nbytes


# ---- answers


def test_a_sketch_curve_has_every_answer_of_a_curve() -> None:
    public = {name for name, _ in inspect.getmembers(ucc.UCC) if not name.startswith("_")}
    assert public - {name for name, _ in inspect.getmembers(SketchUCC)} == {"intervals", "from_levels"}


@given(data=mixed(12))
def test_few_rows_that_share_no_bin_are_answered_exactly(data: Data) -> None:
    s, whole = sketch(data.intervals()), ucc.UCC(data.intervals())
    assume(all(np.all(part.least == part.greatest) for part in (s.critical, s.folds, s.errors)))
    c, size = s.ucc(), 1e-11 * (1 + whole.area(axes=("bandwidth", "bandwidth")))
    for pair in PAIRS:
        assert c.area(axes=pair) == pytest.approx(whole.area(axes=pair), rel=1e-10, abs=size)
    np.testing.assert_array_equal(np.asarray(c.points().scale), np.asarray(whole.points().scale))
    np.testing.assert_allclose(c.points().y, whole.points().y, atol=1e-14)
    for name, column in c.table().items():
        exact = whole.table()
        np.testing.assert_allclose(column, np.interp(c.table()["scale"], exact["scale"], exact[name]), atol=size)


def test_what_holds_a_sketch_can_be_copied_and_added_up() -> None:
    s = sketch(IV)
    assert sum([s, s]) == s + s
    c = copy.deepcopy(pickle.loads(pickle.dumps(s.ucc())))  # noqa: S301  # our own bytes
    assert c.sketch == s
    assert c.bracket("gain") == s.ucc().bracket("gain")
    with pytest.raises(TypeError, match=r"`other` must be a UCCSketch; got Intervals\. Hint: update"):
        s.merge(IV)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`reference` must be Intervals, a UCC or a sketch; got str"):
        s.ucc().gain(reference="x")  # type: ignore[arg-type]


def test_observations_whose_squares_leave_float64_are_refused() -> None:
    with pytest.raises(ValueError, match="must stay within float64"):
        sketch(ucc.Intervals.from_bands([1e155], [1e155], [1.0]))


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
    never = ucc.Intervals.from_bands([1.0], [0.0], [0.0])
    assert repr(sketch(never).ucc()) == "SketchUCC(1 row, no scale covers any)"


# ---- refusals


METRICS = "bandwidth, miss_rate, excess, deficit, overshoot"
ANSWERS = f"area, gain, cost, cheapest, find, concentration, {METRICS}"
WRONG: list[tuple[Any, str]] = [
    (lambda c: c.bracket("are"), f"`answer` must be one of {ANSWERS}; 'are' is none of them (area?)."),
    (
        lambda c: c.area(axes=("excess", "defict")),
        f"`axes` must be two of {METRICS}; 'defict' is none of them (deficit?).",
    ),
    (lambda c: c.area(mis_rate=(0, 1)), f"`range` must be one of {METRICS}; 'mis_rate' is none of them (miss_rate?)."),
    (lambda c: c.find(), "give one target to find, such as miss_rate=0.05."),
    (lambda c: c.find(deficit=0.1, conformal=True), "`conformal` goes with a target miss_rate, not deficit."),
    (
        lambda c: c.find(miss_rate=0.05, conformal=True),
        (
            "`conformal` at miss_rate=0.05 needs at least 19 rows; there are 4. "
            "Hint: use more calibration rows or a larger miss_rate."
        ),
    ),
    (lambda c: c.area(unit="sd"), "`unit` must be 'raw', 'std' or a number above 0; got 'sd'."),
    (
        lambda c: c.concentration(axes=("bandwidth", "deficit")),
        "`axes` must hold miss_rate and another metric for a sketch to tell rows apart; got ('bandwidth', 'deficit').",
    ),
]


@pytest.mark.parametrize(("call", "sentence"), WRONG)
def test_wrong_questions_are_refused_in_one_sentence(call: Any, sentence: str) -> None:
    refused(sentence, call, sketch(IV).ucc())


def test_a_target_that_no_scale_reaches_is_refused() -> None:
    c = sketch(ucc.Intervals.from_bands([1.0, 1.0], [0.0, 0.0], [1.0, 0.0])).ucc()
    assert c.area() == np.inf
    with pytest.raises(ValueError, match=r"^no scale reaches miss_rate=0.1: the least is 0.5\. Hint"):
        c.find(miss_rate=0.1)
    flat = sketch(ucc.Intervals.from_bands([1.0, 1.0, 0.0], [0.0] * 3, [0.0, 1.0, 1e-6], [1e8, 1e-8, 1e-6])).ucc()
    with pytest.raises(ValueError, match=r"^no scale is sure to reach excess=33.633: bins leave open .* a little less"):
        flat.find(excess=33.633)


def test_a_deviation_that_rounding_hides_is_refused() -> None:
    c = sketch(ucc.Intervals.from_bands([1e9, 1e9 + 1e-6], [1e9, 1e9], [1.0, 1.0])).ucc()
    with pytest.raises(ValueError, match="needs a y_true that varies by more than the rounding"):
        c.area(unit="std")


def test_only_intervals_and_sketches_come_in() -> None:
    refused("`intervals` must be Intervals; got list.", UCCSketch().update, [1], error=TypeError)
    refused("`sketch` must be a UCCSketch; got int.", SketchUCC, 1, error=TypeError)
    with pytest.raises(TypeError, match="unsupported operand"):
        UCCSketch() + 1  # type: ignore[operator]


def test_sums_beyond_float64_are_refused() -> None:
    iv = ucc.Intervals.from_bands([1e200], [0.0], [1.0])
    refused(
        "the sums of the rows must stay within float64: they do not. Hint: divide all columns by a common unit first.",
        sketch, iv,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(30))
def test_of_scales_that_cost_the_same_the_least_is_cheapest(seed: int) -> None:
    error = np.geomspace(0.1, 10, 50) * np.random.default_rng(seed).uniform(0.99, 1.01, 50)
    iv = ucc.Intervals.from_bands(error, np.zeros(50), np.ones(50))
    assert sketch(iv).ucc().cheapest(0.1, axes=("excess", "deficit")).scale == np.sort(error)[44]
