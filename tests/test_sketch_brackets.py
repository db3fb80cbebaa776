"""Every bracket of a sketch contains the exact value, from the definitions in exact arithmetic (tests/oracle.py)."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isnan
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import uccurve as ucc
from bin_edges import edges
from oracle import FALLING, PAIRS
from strategies import Data, fractions, mixed, pairs
from uccurve._vocabulary import METRICS, Metric
from uccurve.sketch._binned import between
from uccurve.sketch._bins import PER_OCTAVE
from uccurve.sketch.sketch import SketchUCC, UCCSketch

NARROW: list[Any] = [
    ("excess", "deficit"),
    ("deficit", "excess"),
    ("excess", "miss_rate"),
    ("miss_rate", "deficit"),
]
EXACT: list[Any] = [pair for pair in PAIRS if "bandwidth" in pair and "excess" not in pair]
EXACT += [("overshoot", "deficit")]
shares = st.sampled_from([0.0, 0.3, 0.31, 0.8, 1.0 - 2**-53, 1.0, 2.0])
"""Other band over active one; below 1 there is a crossover, if only just."""
ROUNDED = Data((1.0, 1.0), (0.0, 1e-29), (1.0, 1.0), (1.0, 1.0), None)
"""Two errors, and so two critical scales, that are one float."""


@st.composite
def crowded(draw: st.DrawFn, max_size: int = 12) -> Data:
    """Many rows per bin: critical scales and crossovers within a percent of a few values, none of them equal."""
    nudge = st.floats(-0.008, 0.008).map(lambda share: round(share, 12))
    size = draw(st.integers(1, max_size))
    columns: list[list[float]] = [[], [], [], []]
    spread = draw(st.sampled_from([0.0, 1.0]))
    for _ in range(size):
        active = float(np.exp(spread * draw(st.floats(-1, 1))))
        scale = draw(st.sampled_from([0.0, 0.5, 1.0, 1.3])) * (1 + draw(nudge))
        other, side = active * draw(shares) * (1 + draw(nudge)), draw(st.sampled_from([-1, 1]))
        centre = round(draw(st.floats(-3, 3)), 12)
        bands = (other, active) if side > 0 else (active, other)
        for column, value in zip(
            columns, (centre + side * scale * active, centre, *bands), strict=True
        ):
            column.append(value)
    weight = draw(
        st.none()
        | st.lists(st.sampled_from([0.0, 1.0, 2.0, 0.3]), min_size=size, max_size=size).filter(any)
    )
    y, p, lower, upper = map(tuple, columns)
    return Data(y, p, lower, upper, None if weight is None else tuple(weight))


rows = st.one_of(crowded(), crowded(), mixed(10))


def curve(data: Data) -> SketchUCC:
    return UCCSketch().update(data.intervals()).ucc()


def holds(found: tuple[float, float], exact: Fraction | float) -> None:
    """Fail unless the bracket contains the float nearest to the exact value."""
    low, high = found
    assert low <= float(exact) <= high, f"{float(exact)!r} is not in [{low!r}, {high!r}]"


def check_metrics(data: Data, t: float) -> None:
    """Fail unless all brackets hold at a scale; a miss rate jumps, so it goes by rounded critical scales."""
    c, oracle, whole = curve(data), data.oracle(), ucc.UCC(data.intervals())
    for metric in METRICS:
        exact = (
            whole.at(t).miss_rate if metric == "miss_rate" else oracle.value(metric, Fraction(t))
        )
        holds(c.bracket(metric, at=t), exact)


# ---- metrics


@given(data=rows, some=st.floats(0.01, 3))
@example(data=ROUNDED, some=1.0)
def test_the_bracket_of_each_metric_holds_at_any_scale(data: Data, some: float) -> None:
    ends = curve(data)._answers.binned.active.maximum.tolist()
    for t in (some, 2 * some, 0.505, 1.3001, *ends):
        check_metrics(data, t)


@given(data=rows)
@example(data=ROUNDED)
def test_metrics_are_exact_where_bins_end(data: Data) -> None:
    c, errors = curve(data), float(sum(row.weight * row.error for row in data.oracle().rows))
    found = c.sketch._state.critical
    for t in (1.0, *edges(found.bin[~found.infinite]).tolist()):
        check_metrics(data, t)
        for metric in METRICS:
            low, high = c.bracket(metric, at=t)
            assert high - low <= 1e-12 * (
                1 if metric == "miss_rate" else c.at(t).bandwidth + errors
            )


# ---- areas, gains


@given(data=rows)
@example(data=ROUNDED)
def test_the_bracket_of_the_area_holds_on_every_pair_of_axes(data: Data) -> None:
    c, oracle = curve(data), data.oracle()
    for x, y in PAIRS:
        holds(c.bracket("area", axes=(x, y)), oracle.area(x, y))


@given(data=rows, pair=pairs, metric=st.sampled_from(METRICS), ends=st.tuples(fractions, fractions))
@example(
    data=ROUNDED,
    pair=("bandwidth", "miss_rate"),
    metric="miss_rate",
    ends=(Fraction(0), Fraction(1, 2)),
)
@settings(max_examples=4 * settings().max_examples)
def test_the_bracket_of_a_partial_area_holds(
    data: Data, pair: Any, metric: Any, ends: tuple[Fraction, Fraction]
) -> None:
    c, oracle = curve(data), data.oracle()
    top = float(oracle.value(metric, oracle.start if metric in FALLING else oracle.end))
    low, high = sorted(float(end) * (1 if metric == "miss_rate" else top) for end in ends)
    holds(
        c.bracket("area", axes=pair, **{metric: (low, high)}),
        oracle.area(pair[0], pair[1], (metric, low, high)),
    )


@given(data=rows, pair=pairs, ends=st.none() | st.tuples(fractions, fractions))
@settings(max_examples=2 * settings().max_examples)
def test_the_bracket_of_the_gain_holds(
    data: Data, pair: Any, ends: tuple[Fraction, Fraction] | None
) -> None:
    c, oracle = curve(data), data.oracle()
    span = None if ends is None else (float(min(ends)), float(max(ends)))
    within: Any = None if span is None else ("miss_rate", *span)
    if oracle.constant().area(pair[0], pair[1], within) > Fraction(1, 10**9):
        holds(c.bracket("gain", axes=pair, miss_rate=span), oracle.gain(pair[0], pair[1], within))


@given(data=rows, other=rows, pair=pairs)
def test_a_gain_over_another_sketch_is_that_over_its_area(
    data: Data, other: Data, pair: Any
) -> None:
    theirs = other.oracle().area(*pair)
    assume(theirs > Fraction(1, 10**9))
    exact = 1 - data.oracle().area(*pair) / theirs
    for reference in (UCCSketch().update(other.intervals()), curve(other), other.intervals()):
        holds(curve(data).bracket("gain", axes=pair, reference=reference), exact)


@given(
    data=mixed(8, never=True),
    pair=pairs,
    metric=st.sampled_from(METRICS),
    ends=st.tuples(fractions, fractions),
)
@settings(max_examples=2 * settings().max_examples)
def test_uncoverable_rows_count_as_they_do_in_memory(
    data: Data, pair: Any, metric: Any, ends: tuple[Fraction, Fraction]
) -> None:
    c, whole = curve(data), ucc.UCC(data.intervals())
    both: list[dict[str, Any]] = [{}, {metric: tuple(sorted(map(float, ends)))}]
    for options in both:
        low, high = c.bracket("area", axes=pair, **options)
        value = whole.area(axes=pair, **options)
        slack = 1e-11 * whole.at(2.0).bandwidth * (1 + whole.at(2.0).bandwidth)
        assert low - slack <= value <= high + slack or (low == high == value == inf)


# ---- costs, targets


@given(data=rows, pair=pairs, c=fractions, at=st.floats(0.1, 3))
def test_the_brackets_of_costs_hold(data: Data, pair: Any, c: Fraction, at: float) -> None:
    found, oracle = curve(data), data.oracle()
    holds(found.bracket("cheapest", float(c), axes=pair), oracle.cheapest(c, *pair)[0])
    assume(all(abs(at - k) > 1e-12 * at for k in oracle.criticals))
    holds(
        found.bracket("cost", float(c), axes=pair, at=at),
        oracle.cost(c, pair[0], pair[1], Fraction(at)),
    )


@given(data=rows, metric=st.sampled_from(METRICS), part=fractions)
def test_the_bracket_of_a_target_holds_and_its_upper_end_reaches_it(
    data: Data, metric: Any, part: Fraction
) -> None:
    c, oracle = curve(data), data.oracle()
    top = (
        1.0
        if metric == "miss_rate"
        else float(oracle.value(metric, oracle.start if metric in FALLING else oracle.end))
    )
    target = float(part) * top
    options: dict[str, Any] = {metric: target}
    exact = oracle.reach(metric, target)
    assume(exact is not None)
    assert exact is not None
    low, high = c.bracket("find", **options)
    assert low * (1 - 1e-14) <= exact <= high * (1 + 1e-14)
    assert c.find(**options).scale == high
    if metric == "miss_rate":
        assert c.find(miss_rate=target).miss_rate <= target or data.weight is not None


@given(
    data=crowded().filter(lambda data: data.weight is None),
    alpha=st.integers(1, 99).map(lambda n: n / 100),
)
def test_the_conformal_scale_is_never_too_small(data: Data, alpha: float) -> None:
    exact = data.oracle().conformal(Fraction(str(alpha)))
    assume(exact is not None)
    assert exact is not None
    low, high = curve(data).bracket("find", miss_rate=alpha, conformal=True)
    assert low * (1 - 1e-14) <= exact <= high * (1 + 1e-14)


@given(data=rows, unit=st.sampled_from(["std", 3.0]), pair=pairs)
def test_brackets_hold_in_any_unit(data: Data, unit: str | float, pair: Any) -> None:
    y = np.array(data.y_true)[np.array(data.weight or [1.0] * len(data.y_true)) > 0]
    assume(np.ptp(y) > 1e-3)
    c, whole = curve(data), ucc.UCC(data.intervals())
    size = whole.area(axes=("bandwidth", "bandwidth"), unit=unit) + 1
    low, high = c.bracket("area", axes=pair, unit=unit)
    assert low - 1e-11 * size <= whole.area(axes=pair, unit=unit) <= high + 1e-11 * size
    point = c.find(bandwidth=0.7, unit=unit)
    low, high = c.bracket("bandwidth", at=point.scale, unit=unit)
    assert low * (1 - 1e-14) <= 0.7 <= high * (1 + 1e-14)


# ---- how wide they are


def test_brackets_are_narrow_where_many_rows_share_a_bin() -> None:
    rng = np.random.default_rng(5)
    n = 50_000
    sigma = np.exp(rng.normal(size=n) / 2)
    y = sigma * rng.standard_t(4, size=n)
    iv = ucc.Intervals.from_bands(
        y, np.zeros(n), sigma * rng.uniform(0.5, 2, n), sigma * rng.uniform(0.5, 2, n)
    )
    c, whole = UCCSketch().update(iv).ucc(), ucc.UCC(iv)
    for pair in NARROW:
        low, high = c.bracket("area", axes=pair)
        exact = whole.area(axes=pair)
        holds((low, high), exact)
        assert high - low < 1e-3 * exact  # half of what we aim at
    assert (
        c.error("area", axes=("excess", "deficit"))
        == (high_low := c.bracket("area", axes=("excess", "deficit")))[1] / 2 - high_low[0] / 2
    )
    low, high = c.bracket("gain", miss_rate=(0, 0.5))
    holds((low, high), whole.gain(miss_rate=(0, 0.5)))
    assert high - low < 0.08
    low, high = c.bracket("find", miss_rate=0.05)
    assert high / low < 1 + 1 / PER_OCTAVE


def test_exact_areas_carry_rounding_only() -> None:
    rng = np.random.default_rng(6)
    y, lower, upper = rng.normal(size=400), rng.uniform(0.5, 2, 400), rng.uniform(0.5, 2, 400)
    iv = ucc.Intervals.from_bands(y, np.zeros(400), lower, upper)
    c, whole = UCCSketch().update(iv).ucc(), ucc.UCC(iv)
    for pair in EXACT:
        low, high = c.bracket("area", axes=pair)
        assert high - low < 1e-10 * high
        assert c.area(axes=pair) == pytest.approx(whole.area(axes=pair), rel=1e-10)


def test_a_gain_with_nothing_to_compare_is_nan() -> None:
    c = UCCSketch().update(ucc.Intervals.from_bands([1.0, 1.0], [1.0, 1.0], [1.0, 2.0])).ucc()
    assert isnan(c.gain())
    assert c.area() == 0


@pytest.mark.parametrize("error", [0.1, 0.3, 1.0])
@pytest.mark.parametrize("band", [0.1, 0.3, 3.0])
def test_a_gain_where_both_areas_are_zero_is_nan_whatever_rounding_does(
    error: float, band: float
) -> None:
    c = UCCSketch().update(ucc.Intervals.from_bands([error] * 10, [0.0] * 10, [band] * 10)).ucc()
    assert isnan(c.gain(axes=("excess", "deficit")))
    assert isnan(c.gain(axes=("overshoot", "deficit")))


def test_a_metric_that_bins_do_not_know_is_not_answered_as_another() -> None:
    binned, unknown = curve(ROUNDED)._answers.binned, cast("Metric", "coverage")
    with pytest.raises(KeyError):
        binned.values(unknown, np.array([1.0]))
    with pytest.raises(KeyError):
        between(binned, (unknown, "deficit"), 0.0, 1.0)
