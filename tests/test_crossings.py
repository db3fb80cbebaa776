"""Crossings against the definition in exact arithmetic, and on curves whose crossings are known."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import uccurve as ucc
from oracle import FALLING, Oracle
from strategies import Data, dyadic, extreme, real, varies
from uccurve import crossings
from uccurve.crossings import CELLS, Lead, LevelCurve, Pair, _verdict

AXES: list[Any] = [
    ("bandwidth", "miss_rate"),
    ("miss_rate", "bandwidth"),
    ("excess", "deficit"),
    ("deficit", "overshoot"),
    ("excess", "miss_rate"),
    ("bandwidth", "deficit"),
    ("bandwidth", "excess"),
    ("deficit", "miss_rate"),
    ("miss_rate", "deficit"),
]
P = [0.0] * 4


def level_and_compared(axes: Any) -> tuple[str, str]:
    falling = [name for name in axes if name in FALLING]
    level = falling[0] if len(falling) == 1 else "deficit" if falling else axes[0]
    return level, axes[1] if level == axes[0] else axes[0]


def needed(oracle: Oracle, axes: Any, level: Fraction) -> Fraction | float:
    """What the curve has of the compared metric where it first reaches the level."""
    name, compared = level_and_compared(axes)
    t = oracle.reach(name, level)
    return inf if t is None else oracle.value(compared, t)


@st.composite
def two_models(draw: st.DrawFn) -> tuple[Data, Data]:
    """Two models of the same observations and weights."""
    first = draw(st.one_of(dyadic(6), real(6)))
    bands = st.integers(1, 10).map(lambda n: n / 4)
    n = len(first.y_true)
    lower, upper = (tuple(draw(st.lists(bands, min_size=n, max_size=n))) for _ in range(2))
    return first, Data(first.y_true, first.y_pred, lower, upper, first.weight)


@given(two_models(), st.sampled_from(AXES), varies)
def test_a_curve_read_along_its_level_has_what_reaching_the_level_takes(
    models: tuple[Data, Data], axes: Any, vary: Any
) -> None:
    name, compared = level_and_compared(axes)
    for model in models:
        oracle, line = (
            model.oracle(vary),
            LevelCurve.of(ucc.UCC(model.intervals(), vary=vary), axes, "raw"),
        )
        levels = sorted({oracle.value(name, t) for t in oracle.breakpoints})
        size = float(max(oracle.value(compared, t) for t in (oracle.start, oracle.end)))
        for low, high in pairwise(levels):
            for share in (Fraction(1, 7), Fraction(1, 2), Fraction(6, 7)):
                if high - low > Fraction(1, 10**9) * levels[-1]:
                    level = low + (high - low) * share
                    expected = float(needed(oracle, axes, level))
                    assert_allclose(line.at(float(level)), expected, rtol=1e-9, atol=1e-9 * size)


@given(two_models(), st.sampled_from(AXES), varies)
def test_a_crossing_lies_on_both_curves(models: tuple[Data, Data], axes: Any, vary: Any) -> None:
    intervals = [model.intervals() for model in models]
    found = crossings(*intervals, axes=axes, vary=vary)
    leaders = [stretch.lower for stretch in found.stretches if stretch.lower]
    assert len(found) == sum(one != two for one, two in pairwise(leaders))
    for point in found.points:
        for iv, t in zip(intervals, (point.a, point.b), strict=True):
            curve = ucc.UCC(iv, vary=vary)
            for name, value in zip(axes, (point.x, point.y), strict=True):
                at = curve.at(t)
                if (
                    name == "miss_rate"
                ):  # on the step itself, so between the values before and after
                    before = curve.at(t * (1 - 1e-9) if vary == "scale" else t - 1e-9).miss_rate
                    after = curve.at(t * (1 + 1e-9) if vary == "scale" else t + 1e-9).miss_rate
                    assert after - 1e-9 <= value <= before + 1e-9
                else:
                    assert_allclose(getattr(at, name), value, rtol=1e-7, atol=1e-9)


def test_steps_cross_where_a_drop_of_one_passes_the_level_of_the_other() -> None:
    """The first drops at half-widths 2.5 and 5, two rows each; the constant band at 1, 2, 4 and 8."""
    meta = ucc.Intervals.from_bands([1.0, 4.0, 2.0, 8.0], P, [1.0, 4.0, 1.0, 4.0])
    found = crossings(meta, meta.constant(), names=("Meta", "GBR"))
    assert (
        found.verdict
        == "Meta needs a smaller half-width at every miss rate below 0.25, GBR above 0.25"
    )
    assert [(p.x, p.y, p.a, p.b) for p in found.points] == [(5.0, 0.25, 2.0, 2.0)]
    assert [(s.lower, s.x, s.y) for s in found.stretches] == [
        ("GBR", (0.0, 5.0), (1.0, 0.25)),
        ("Meta", (5.0, 8.0), (0.25, 0.0)),
    ]
    assert found.dominant is None
    assert found.shares == (0.25, 0.75)
    turned = crossings(
        meta, meta.constant(), axes=("miss_rate", "bandwidth"), names=("Meta", "GBR")
    )
    assert [(p.x, p.y) for p in turned.points] == [(0.25, 5.0)]
    assert turned.verdict == found.verdict


def test_lines_cross_between_their_vertices() -> None:
    """Errors 1, 2, 3 in bands 1, 1, 3: beyond x = 2 three times the deficit is 2 - 0.6 x, the flat band's 3 - x."""
    one = ucc.Intervals.from_bands([1.0, 2.0, 3.0], [0.0] * 3, [1.0, 1.0, 3.0])
    found = crossings(one, one.constant(), axes=("bandwidth", "deficit"), names=("one", "flat"))
    (point,) = found.points
    assert_allclose((point.x, point.y, point.a, point.b), (2.5, 1 / 6, 1.5, 1.5), rtol=1e-14)
    equal = found.stretches[0]
    assert found.verdict == (
        f"flat needs a smaller half-width at every deficit below 0.167, one from 0.167 to {equal.y[1]:.3g}; "
        "practically equal elsewhere"
    )
    assert [stretch.lower for stretch in found.stretches] == [None, "one", "flat"]


def test_a_model_that_is_better_everywhere_dominates() -> None:
    y = [1.0, 2.0, 3.0, 4.0]
    perfect = ucc.Intervals.from_bands(y, P, y)
    noisy = ucc.Intervals.from_bands(y, P, [4.0, 1.0, 1.0, 4.0])
    found = crossings(perfect, noisy, axes=("excess", "deficit"), names=("perfect", "noisy"))
    assert len(found) == 0
    assert found.dominant == "perfect"
    assert (
        found.verdict
        == "perfect needs less excess at every deficit below 1.87; practically equal elsewhere"
    )
    assert repr(found) == f"Crossings(perfect vs. noisy, deficit vs. excess: {found.verdict})"


def test_the_same_curve_at_another_scale_never_crosses() -> None:
    rng = np.random.default_rng(0)
    iv = ucc.Intervals.from_bands(
        rng.normal(size=500), np.zeros(500), rng.gamma(2, size=500), rng.gamma(2, size=500)
    )
    for axes in AXES:
        found = crossings(iv, iv.calibrated(scale=3.7), axes=axes)
        assert len(found) == 0
        assert found.verdict == "a and b have the same curve"
        assert found.dominant is None


def alike(n: int, shape: float = 20.0) -> list[ucc.Intervals]:
    """Two models whose bands know nothing, so that their curves differ by chance alone."""
    rng = np.random.default_rng(1)
    y = rng.normal(size=n)
    return [ucc.Intervals.from_bands(y, np.zeros(n), rng.gamma(shape, size=n)) for _ in range(2)]


def test_many_material_crossings_are_summed_up() -> None:
    found = crossings(*alike(400, shape=5.0), names=("one", "two"))
    assert len(found.points) > 2
    assert found.shares[1] > found.shares[0]
    assert found.verdict == (
        f"two needs a smaller half-width over {found.shares[1]:.1%} of the miss rate range, "
        f"one over {found.shares[0]:.1%}; practically equal elsewhere"
    )


def test_negligible_crossings_are_no_crossings_for_people() -> None:
    found = crossings(*alike(200_000), names=("one", "two"))
    assert found.verdict == "one and two are practically equal at almost every miss rate"
    assert found.points == ()
    assert [stretch.lower for stretch in found.stretches] == [None]


def test_levels_from_which_on_curves_are_practically_equal_are_told() -> None:
    """The second has wider bands where errors are largest, and so a half-width that is 0.9% larger elsewhere."""
    y = np.random.default_rng(4).normal(size=4000)
    plain, wary = (
        ucc.Intervals.from_bands(y, np.zeros(4000), np.where(np.abs(y) > 2, band, 1.0))
        for band in (1.0, 1.2)
    )
    found = crossings(plain, wary, names=("plain", "wary"))
    wider, narrower = found.stretches
    assert (wider.lower, narrower.lower) == (None, "wary")
    assert np.mean(np.abs(y) > 2) < narrower.y[0] < np.mean(np.abs(y) > 2 / 1.2)
    assert found.verdict == (
        f"wary needs a smaller half-width at every miss rate below {narrower.y[0]:.3g}; practically equal elsewhere"
    )


def test_one_enormous_error_does_not_hide_what_other_rows_tell() -> None:
    """An error of 1e6 makes up nearly all of either area; at half of the other levels each is lower by far."""
    y = np.append(np.linspace(1, 2, 200), 1e6)
    sharp, blunt = (
        ucc.Intervals.from_bands(y, np.zeros(201), np.append(np.linspace(*ends, 200), 1.0))
        for ends in ((1, 2), (2, 1))
    )
    found = crossings(sharp, blunt, names=("sharp", "blunt"))
    assert (
        found.verdict
        == "sharp needs a smaller half-width at almost every miss rate below 0.502, blunt above 0.502"
    )


@given(two_models(), st.sampled_from(AXES), varies)
def test_stretches_cover_all_levels_without_a_gap(
    models: tuple[Data, Data], axes: Any, vary: Any
) -> None:
    curves = [ucc.UCC(model.intervals(), vary=vary) for model in models]
    found = crossings(*curves, axes=axes)
    for one, two in pairwise(found.stretches):
        assert (one.x[1], one.y[1]) == (two.x[0], two.y[0])
        assert one.lower != two.lower
    pair = Pair(*(LevelCurve.of(curve, axes, "raw") for curve in curves))
    if pair.low < pair.high:
        name = level_and_compared(axes)[0]
        ends = [getattr(found.stretches[i], "x" if name == axes[0] else "y")[i] for i in (0, -1)]
        assert sorted(ends) == [pair.low, pair.high]


@given(two_models(), st.sampled_from(AXES), varies, st.integers(0, CELLS - 1))
def test_a_model_called_lower_at_every_level_is_lower_there(
    models: tuple[Data, Data], axes: Any, vary: Any, cell: int
) -> None:
    found = crossings(*(model.intervals() for model in models), axes=axes, vary=vary)
    if " at every " not in found.verdict:
        return
    first, second = (model.oracle(vary) for model in models)
    name, compared = level_and_compared(axes)
    size = max(
        oracle.value(compared, t) for oracle in (first, second) for t in (oracle.start, oracle.end)
    )
    spans = [sorted(stretch.x if name == axes[0] else stretch.y) for stretch in found.stretches]
    lowest, highest = (Fraction(end) for end in (min(spans)[0], max(spans)[1]))
    level = lowest + (highest - lowest) * Fraction(2 * cell + 1, 2 * CELLS)
    for stretch, (low, high) in zip(found.stretches, spans, strict=True):
        one, two = needed(first, axes, level), needed(second, axes, level)
        if low < level < high and stretch.lower and one != two:
            assert (one < two) == (stretch.lower == "a") or abs(float(one - two)) < 1e-9 * float(
                size
            )


A, B, EQUAL = -1, 1, 0
CURVE = ucc.UCC(ucc.Intervals.from_bands([1.0], [0.0], [1.0]))


def said(*spans: tuple[int, float], names: Any) -> str:
    """What is said of leads one after the other, given by who leads and the highest level."""
    ends = [0.0, *(end for _, end in spans)]
    leads = [
        Lead(sign, low, high) for (sign, _), (low, high) in zip(spans, pairwise(ends), strict=True)
    ]
    one, two = (
        LevelCurve(np.array([0.0, 1.0]), np.array([value, 0.0]), names, np.zeros(2), CURVE)
        for value in (1.0, 2.0)
    )
    return _verdict(Pair(one, two), leads, ("A", "B"))


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([(A, 0.21), (B, 1)], "below 0.21, B above 0.21"),
        (
            [(A, 0.21), (B, 0.4), (EQUAL, 1)],
            "below 0.21, B from 0.21 to 0.4; practically equal elsewhere",
        ),
        (
            [(EQUAL, 0.1), (A, 0.3), (B, 1)],
            "from 0.1 to 0.3, B above 0.3; practically equal elsewhere",
        ),
        ([(A, 0.1), (B, 0.5), (A, 1)], "below 0.1 and above 0.5, B from 0.1 to 0.5"),
        ([(A, 0.1), (EQUAL, 0.5), (B, 1)], "below 0.1, B above 0.5; practically equal elsewhere"),
        ([(A, 0.4), (EQUAL, 1)], "below 0.4; practically equal elsewhere"),
        ([(EQUAL, 0.4), (A, 1)], "above 0.4; practically equal elsewhere"),
        ([(EQUAL, 0.1), (A, 0.4), (EQUAL, 1)], "from 0.1 to 0.4; practically equal elsewhere"),
        ([(A, 12345.6), (B, 20000)], "below 12,300, B above 12,300"),
        ([(A, 1)], ""),
    ],
)
def test_few_ranges_of_levels_are_listed(spans: list[tuple[int, float]], expected: str) -> None:
    text = f"A needs a smaller half-width at every miss rate {expected}".strip()
    assert said(*spans, names=("miss_rate", "bandwidth")) == text


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        (
            [
                (A, 0.1),
                (EQUAL, 0.2),
                (A, 0.3),
                (EQUAL, 0.4),
                (A, 0.5),
                (EQUAL, 0.6),
                (A, 0.7),
                (EQUAL, 1),
            ],
            "A needs less excess over 40.0% of the deficit range; practically equal elsewhere",
        ),
        (
            [(A, 0.1), (EQUAL, 0.2), (A, 0.3), (B, 0.5), (EQUAL, 0.6), (B, 1)],
            "B needs less excess over 60.0% of the deficit range, A over 20.0%; practically equal elsewhere",
        ),
        (
            [(A, 0.1), (B, 0.2), (A, 0.3), (B, 0.5)],
            "B needs less excess over 60.0% of the deficit range, A over 40.0%",
        ),
    ],
)
def test_many_ranges_of_levels_are_summed_up(spans: list[tuple[int, float]], expected: str) -> None:
    assert said(*spans, names=("deficit", "excess")) == expected


def test_a_level_that_nothing_reaches_is_won_by_who_reaches_it() -> None:
    y = [1.0, 2.0, 3.0, 4.0]
    whole = ucc.Intervals.from_bands(y, P, [4.0, 3.0, 2.0, 1.0])
    blind = ucc.Intervals.from_bands(y, P, [1.0, 2.0, 3.0, 0.0])
    found = crossings(whole, blind, names=("whole", "blind"))
    assert found.stretches[-1].lower == "whole"
    assert found.stretches[-1].y == (0.25, 0.0)


@pytest.mark.parametrize("vary", ["scale", "shift"])
@pytest.mark.parametrize("axes", AXES)
def test_rows_that_nothing_covers_raise_no_warning(axes: Any, vary: Any) -> None:
    """Two bands of 0, one of them off its observation: neither curve gets to some levels, and inf - inf is nan."""
    zero = ucc.Intervals.from_bands([1.0] * 4, [0.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0])
    assert len(crossings(zero, zero.constant(), axes=axes, vary=vary)) == 0
    assert crossings(zero, zero, axes=axes, vary=vary).verdict == "a and b have the same curve"


def test_curves_without_a_level_in_common_are_not_called_the_same() -> None:
    far = ucc.Intervals.from_bands([10.0, 10.0], [0.0, 0.0], [0.0, 1.0])
    near = ucc.Intervals.from_bands([10.0, 10.0], [9.0, 9.0], [1.0, 1.0])
    found = crossings(far, near, axes=("deficit", "miss_rate"), names=("far", "near"))
    assert (found.verdict, found.stretches, found.dominant) == (
        "far and near have no deficit in common",
        (),
        None,
    )


def test_units_divide_places_but_not_scales() -> None:
    rng = np.random.default_rng(2)
    y = rng.normal(size=50)
    a, b = (ucc.Intervals.from_bands(y, np.zeros(50), rng.gamma(2, size=50)) for _ in range(2))
    raw, tens = crossings(a, b), crossings(a, b, unit=10.0)
    assert_allclose([p.x / 10 for p in raw.points], [p.x for p in tens.points])
    assert_allclose([(p.y, p.a, p.b) for p in raw.points], [(p.y, p.a, p.b) for p in tens.points])


@pytest.mark.parametrize("vary", ["scale", "shift"])
@pytest.mark.parametrize("axes", AXES)
def test_a_point_past_the_end_of_a_curve_lies_on_it_all_the_same(axes: Any, vary: Any) -> None:
    """No band of the first covers its third row, so nothing lowers its miss rate or deficit past its end."""
    y = [1.0, -2.0, 3.0, 4.0]
    stuck = ucc.Intervals.from_bands(y, P, [2.0, 1.0, 3.0, 2.0], [1.0, 2.0, 0.0, 4.0])
    whole = ucc.Intervals.from_bands(y, P, [1.0, 0.5, 1.0, 1.0], [0.5, 1.0, 1.0, 1.0])
    for point in crossings(stuck, whole, axes=axes, vary=vary).points:
        for intervals, t in ((stuck, point.a), (whole, point.b)):
            at = ucc.UCC(intervals, vary=vary).at(t)
            found = {name: getattr(at, name) for name in axes if name != "miss_rate"}
            assert_allclose(
                [*found.values()],
                [getattr(point, "xy"[axes.index(name)]) for name in found],
                atol=1e-12,
            )


def test_a_model_without_bands_gets_to_no_crossing() -> None:
    none = ucc.Intervals.from_bands([2.0, 1.0], [1.0, 1.0], [0.0, 0.0])
    wide = ucc.Intervals.from_bands([2.0, 1.0], [0.0, 0.0], [1.0, 2.0], [1.0, 1.0])
    (point,) = crossings(wide, none, axes=("bandwidth", "deficit")).points
    assert_allclose((point.y, point.a, point.b), (0.5, 1.0, inf))


@given(extreme(), st.sampled_from(AXES), varies)
def test_numbers_near_the_ends_of_float64_raise_no_warning(
    data: Data, axes: Any, vary: Any
) -> None:
    curve, flat = (
        ucc.UCC(one, vary=vary) for one in (data.intervals(), data.intervals().constant())
    )
    try:
        curve.points(axes=axes), flat.points(axes=axes)
    except ValueError:  # bands too unequal for float64
        return
    crossings(curve, flat, axes=axes)
    assert crossings(curve, curve, axes=axes).verdict == "a and b have the same curve"


def test_curves_of_any_path_are_compared() -> None:
    rng = np.random.default_rng(5)
    y = rng.standard_t(4, size=60)
    inner, outer, other = (
        ucc.Intervals.from_bands(y, np.zeros(60), *rng.gamma(3, factor, size=(2, 60)))
        for factor in (0.1, 1.0, 0.5)
    )
    outer = ucc.Intervals.from_bands(
        y, np.zeros(60), inner.lower_band + outer.lower_band, inner.upper_band + 1
    )
    levels = ucc.UCC.from_levels({0.5: inner, 0.9: outer})
    assert crossings(ucc.UCC(other), ucc.UCC(outer)) == crossings(other, outer)
    assert crossings(ucc.UCC(other, vary="shift"), outer, vary="shift") == crossings(
        other, outer, vary="shift"
    )
    assert (
        crossings(ucc.UCC.from_levels({0.9: outer}), other).verdict
        == crossings(outer, other).verdict
    )
    for axes in AXES:
        found = crossings(levels, ucc.UCC(other, vary="shift"), axes=axes)
        assert found.vary == ("levels", "shift")
        for point in found.points:
            for curve, t in ((levels, point.a), (ucc.UCC(other, vary="shift"), point.b)):
                at = curve.at(t)
                for name, value in zip(axes, (point.x, point.y), strict=True):
                    if name != "miss_rate":
                        assert_allclose(getattr(at, name), value, rtol=1e-9, atol=1e-12)


def test_bad_input_is_refused_in_a_sentence() -> None:
    a, b = (
        ucc.Intervals.from_bands([1, 2], [0, 0], [1, 1]),
        ucc.Intervals.from_bands([1, 3], [0, 0], [1, 1]),
    )
    with pytest.raises(
        ValueError,
        match=r"`a` and `b` must have the same y_true: 1 of 2 rows differ, first row 1\.",
    ):
        crossings(a, b)
    heavy = ucc.Intervals.from_bands([1, 2], [0, 0], [1, 1], weight=[1, 2])
    with pytest.raises(
        ValueError,
        match=r"`a` and `b` must have the same weights: 2 of 2 rows differ, first row 0\.",
    ):
        crossings(a, heavy)
    with pytest.raises(ValueError, match=r"`names` must be two different names; both are 'GBR'\."):
        crossings(a, a, names=("GBR", "GBR"))
    with pytest.raises(
        ValueError, match=r"`axes` must be two different metrics to make a curve; got"
    ):
        crossings(a, a, axes=("excess", "excess"))
    with pytest.raises(ValueError, match=r"`axes` must be two of bandwidth, .*excess"):
        crossings(a, a, axes=("exces", "deficit"))  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"`vary` is for Intervals: `b` is a curve over the scale; got 'shift'\."
    ):
        crossings(a, ucc.UCC(a), vary="shift")
    with pytest.raises(
        ValueError, match=r"`vary` is for Intervals: `a` is a curve over the scale; got 'levels'\."
    ):
        crossings(ucc.UCC(a), ucc.UCC(a), vary="levels")
    with pytest.raises(
        TypeError, match=r"`b` must be Intervals or a UCC, which keep their rows \(a sketch"
    ):
        crossings(a, ucc.UCCSketch().update(a).ucc())  # type: ignore[arg-type]


def test_long_names_are_shortened_in_the_verdict_alone() -> None:
    long = "a model with a name that somebody wrote at great length"
    one = ucc.Intervals.from_bands([1.0, 2.0, 3.0, 4.0], [0.0] * 4, [1.0, 2.0, 3.0, 2.0])
    found = ucc.crossings(one, one.constant(), names=(long, "B"))
    assert found.names == (long, "B")
    assert found.verdict.startswith(
        "a model with a name...te at great length needs a smaller half-width"
    )


NAMES: Any = ("miss_rate", "bandwidth")
T = np.zeros(3)
Spans = list[tuple[float, float]]


def lines(spans: Spans) -> tuple[LevelCurve, LevelCurve]:
    """Two curves, the second higher by the given share up to each level (lower where that is negative)."""
    level = np.linspace(0, 1, 2001)
    share: Any = np.zeros(2001)
    for end, more in spans[::-1]:
        share[level < end - 1e-9] = more
    value = 3 - level
    return LevelCurve(level, value, NAMES, level, CURVE), LevelCurve(
        level, value * (1 + share), NAMES, level, CURVE
    )


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
        ([(0.2, 0.05), (0.4, 0.0), (1.0, -0.05)], [(A, 0.2), (EQUAL, 0.4), (B, 1.0)]),
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
    found = Pair(*lines(spans)).leads()
    assert [lead.sign for lead in found] == [sign for sign, _ in expected]
    assert_allclose([lead.high for lead in found], [end for _, end in expected], atol=0.0011)
    assert_allclose(
        [lead.low for lead in found], [0.0, *(end for _, end in expected[:-1])], atol=0.0011
    )


def test_a_change_of_the_leader_is_found_to_the_last_bit() -> None:
    found = Pair(*lines([(0.2345, 0.05), (1.0, -0.05)]))
    step = np.linspace(0, 1, 2001)[469]
    (place,) = found.crossings()
    assert place == step
    assert [lead.high for lead in found.leads()][:-1] == [place]


def test_small_values_are_held_against_usual_ones() -> None:
    """Half-widths of 0.001 and 0.002 near a miss rate of 1, where half of the levels need more than 1."""
    level = np.array([0.0, 0.9, 1.0])
    one, two = (
        LevelCurve(level, np.array([1.5, value, 0.0]), NAMES, T, CURVE) for value in (0.001, 0.002)
    )
    assert [lead.sign for lead in Pair(one, two).leads()] == [EQUAL]


def test_a_level_that_one_line_does_not_reach_is_won_by_the_other() -> None:
    one = LevelCurve(np.array([0.25, 1.0]), np.array([1.0, 0.0]), NAMES, T, CURVE)
    two = LevelCurve(np.array([0.0, 0.25, 1.0]), np.array([5.0, 1.0, 0.0]), NAMES, T, CURVE)
    found = Pair(one, two).leads()
    assert [(lead.sign, lead.high) for lead in found] == [(B, 0.25), (EQUAL, 1.0)]


def test_levels_that_differ_by_rounding_are_one_crossing() -> None:
    """A third, and the next number: both lines step there, and what they share lies between both steps."""
    third = 1 / 3
    one = LevelCurve(np.array([0.0, third, 1.0]), np.array([3.0, 2.0, 0.0]), NAMES, T, CURVE)
    two = LevelCurve(
        np.array([0.0, np.nextafter(third, 1), 1.0]), np.array([4.0, 1.0, 0.0]), NAMES, T, CURVE
    )
    pair = Pair(one, two)
    (place,) = pair.crossings()
    assert_allclose((place, pair.value(place)), (third, 2.0))
