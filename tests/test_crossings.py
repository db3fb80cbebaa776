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
from strategies import Data, dyadic, real, varies
from uccurve import crossings
from uccurve.profile import blocks

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
def test_at_every_level_the_lower_model_is_the_one_named(models: tuple[Data, Data], axes: Any, vary: Any) -> None:
    first, second = (model.oracle(vary) for model in models)
    found = crossings(models[0].intervals(), models[1].intervals(), axes=axes, vary=vary)
    name, compared = level_and_compared(axes)
    levels = sorted({oracle.value(name, t) for oracle in (first, second) for t in oracle.breakpoints})
    ends: list[Fraction] = [oracle.value(compared, t) for oracle in (first, second) for t in (oracle.start, oracle.end)]
    size = max(ends)
    spans: list[tuple[Any, ...]] = [
        (*sorted(stretch.x if name == axes[0] else stretch.y), stretch.lower) for stretch in found.stretches
    ]
    for low, high in pairwise(levels):
        for share in (Fraction(1, 7), Fraction(1, 2), Fraction(6, 7)):
            level = low + (high - low) * share
            if high - low < Fraction(1, 10**9) * levels[-1]:
                continue
            one, two = needed(first, axes, level), needed(second, axes, level)
            inside = [lower for begin, end, lower in spans if begin < level < end]
            both_end = len({name in FALLING, compared in FALLING}) == 1
            if both_end and not inside:
                continue  # beyond the end of one of the curves
            if one == two or abs(float(one - two)) < 1e-9 * float(size):
                continue  # too near a crossing for floats to take sides
            assert inside == ["a" if one < two else "b"]


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
                if name == "miss_rate":  # on the step itself, so between the values before and after
                    before = curve.at(t * (1 - 1e-9) if vary == "scale" else t - 1e-9).miss_rate
                    after = curve.at(t * (1 + 1e-9) if vary == "scale" else t + 1e-9).miss_rate
                    assert after - 1e-9 <= value <= before + 1e-9
                else:
                    assert_allclose(getattr(at, name), value, rtol=1e-7, atol=1e-9)


def test_steps_cross_where_a_drop_of_one_passes_the_level_of_the_other() -> None:
    """The first drops at half-widths 2.5 and 5, two rows each; the constant band at 1, 2, 4 and 8."""
    meta = ucc.Intervals.from_bands([1.0, 4.0, 2.0, 8.0], P, [1.0, 4.0, 1.0, 4.0])
    found = crossings(meta, meta.constant(), names=("Meta", "GBR"))
    assert found.verdict == "Meta needs less bandwidth at every miss rate below 0.25; GBR above"
    assert [(p.x, p.y, p.a, p.b) for p in found.points] == [(5.0, 0.25, 2.0, 2.0)]
    assert [(s.lower, s.x, s.y) for s in found.stretches] == [
        ("GBR", (0.0, 5.0), (1.0, 0.25)),
        ("Meta", (5.0, 8.0), (0.25, 0.0)),
    ]
    assert found.dominant is None
    assert found.shares == (0.25, 0.75)
    turned = crossings(meta, meta.constant(), axes=("miss_rate", "bandwidth"), names=("Meta", "GBR"))
    assert [(p.x, p.y) for p in turned.points] == [(0.25, 5.0)]
    assert turned.verdict == found.verdict


def test_lines_cross_between_their_vertices() -> None:
    """Errors 1, 2, 3 in bands 1, 1, 3: beyond x = 2 three times the deficit is 2 - 0.6 x, the flat band's 3 - x."""
    one = ucc.Intervals.from_bands([1.0, 2.0, 3.0], [0.0] * 3, [1.0, 1.0, 3.0])
    found = crossings(one, one.constant(), axes=("bandwidth", "deficit"), names=("one", "flat"))
    (point,) = found.points
    assert_allclose((point.x, point.y, point.a, point.b), (2.5, 1 / 6, 1.5, 1.5), rtol=1e-14)
    assert found.verdict == "flat needs less bandwidth at every deficit below 0.167; one above"
    assert [stretch.lower for stretch in found.stretches] == [None, "one", "flat"]


def test_a_model_that_is_better_everywhere_dominates() -> None:
    y = [1.0, 2.0, 3.0, 4.0]
    perfect = ucc.Intervals.from_bands(y, P, y)
    noisy = ucc.Intervals.from_bands(y, P, [4.0, 1.0, 1.0, 4.0])
    found = crossings(perfect, noisy, axes=("excess", "deficit"), names=("perfect", "noisy"))
    assert len(found) == 0
    assert found.dominant == "perfect"
    assert repr(found).startswith("Crossings(perfect / noisy, 0 on excess/deficit: perfect needs less excess at every ")
    assert "perfect needs less excess at every deficit" in found.verdict


def test_the_same_curve_at_another_scale_never_crosses() -> None:
    rng = np.random.default_rng(0)
    iv = ucc.Intervals.from_bands(rng.normal(size=500), np.zeros(500), rng.gamma(2, size=500), rng.gamma(2, size=500))
    for axes in AXES:
        found = crossings(iv, iv.calibrated(scale=3.7), axes=axes)
        assert len(found) == 0
        assert found.verdict == "a and b have the same curve"
        assert found.dominant is None


def test_many_crossings_are_summed_up() -> None:
    rng = np.random.default_rng(1)
    y = rng.normal(size=400)
    one, two = (ucc.Intervals.from_bands(y, np.zeros(400), rng.gamma(20, size=400)) for _ in range(2))
    found = crossings(one, two, names=("one", "two"))
    assert len(found) > 2
    best = "one" if found.shares[0] > found.shares[1] else "two"
    assert found.verdict.startswith(
        f"{best} needs less bandwidth at {max(found.shares):.0%} of miss rates; the curves cross"
    )
    assert f"cross {len(found)} times, at miss rate " in found.verdict


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
        "far and near do not differ at any deficit that both have",
        (),
        None,
    )


def test_blocks_of_levels_join_without_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    y = rng.normal(size=400)
    one, two = (ucc.Intervals.from_bands(y, np.zeros(400), rng.gamma(20, size=400)) for _ in range(2))
    at_once = [crossings(one, two, axes=axes) for axes in AXES]
    monkeypatch.setattr("uccurve.compare.lines.blocks", lambda length: blocks(length, 7))
    assert [crossings(one, two, axes=axes) for axes in AXES] == at_once


def test_units_divide_places_but_not_scales() -> None:
    rng = np.random.default_rng(2)
    y = rng.normal(size=50)
    a, b = (ucc.Intervals.from_bands(y, np.zeros(50), rng.gamma(2, size=50)) for _ in range(2))
    raw, tens = crossings(a, b), crossings(a, b, unit=10.0)
    assert_allclose([p.x / 10 for p in raw.points], [p.x for p in tens.points])
    assert_allclose([(p.y, p.a, p.b) for p in raw.points], [(p.y, p.a, p.b) for p in tens.points])


def test_bad_input_is_refused_in_a_sentence() -> None:
    a, b = ucc.Intervals.from_bands([1, 2], [0, 0], [1, 1]), ucc.Intervals.from_bands([1, 3], [0, 0], [1, 1])
    with pytest.raises(ValueError, match=r"`a` and `b` must have the same y_true: 1 of 2 rows differ, first row 1\."):
        crossings(a, b)
    heavy = ucc.Intervals.from_bands([1, 2], [0, 0], [1, 1], weight=[1, 2])
    with pytest.raises(ValueError, match=r"`a` and `b` must have the same weights: a row counts as much for one model"):
        crossings(a, heavy)
    with pytest.raises(ValueError, match=r"`names` must be two different names; both are 'GBR'\."):
        crossings(a, a, names=("GBR", "GBR"))
    with pytest.raises(ValueError, match=r"`axes` must be two different metrics to make a curve; got"):
        crossings(a, a, axes=("excess", "excess"))
    with pytest.raises(ValueError, match=r"'exces' is none of them \(excess\?\)"):
        crossings(a, a, axes=("exces", "deficit"))  # type: ignore[arg-type]
