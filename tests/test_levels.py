"""The curve of a model's own levels is exact, meets the delivered levels, and with one level is the ordinary curve."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import uccurve as ucc
from level_oracle import LevelsOracle, Nested, nested
from oracle import METRICS, PAIRS
from strategies import Data, mixed
from uccurve import Intervals

Axes = Any


def size(oracle: LevelsOracle, t: Fraction) -> Fraction:
    """Size of the sums whose differences the metrics are."""
    wide = max(t, Fraction(1))
    return sum(
        (r.weight * (wide * (r.lower_band + r.upper_band) + r.error) for r in oracle.rows),
        Fraction(0),
    )


def near(actual: float, exact: Fraction | float, slack: Fraction | float = 0.0) -> None:
    if exact == inf:
        assert actual == inf
    else:
        assert_allclose(actual, float(exact), rtol=1e-11, atol=1e-12 * float(slack))


# ---- exact


@given(nested(), st.integers(0, 96).map(lambda n: Fraction(n, 32)))
def test_metrics_at_any_scale_are_the_definition_s(data: Nested, t: Fraction) -> None:
    curve, oracle = data.curve(), data.oracle()
    point, exact = curve.at(float(t)), oracle.values(t)
    for metric in METRICS:
        if metric != "miss_rate":
            near(getattr(point, metric), exact[metric], size(oracle, t))


@given(nested())
def test_metrics_at_the_delivered_levels_are_those_of_the_delivered_intervals(data: Nested) -> None:
    curve = data.curve()
    assert curve.levels == data.names
    for name, level in zip(data.names, data.levels, strict=True):
        ours, alone = curve.at(level=name), ucc.UCC(level.intervals()).at(1.0)
        assert ours.level == name
        assert ours.miss_rate == alone.miss_rate
        for metric in METRICS:
            near(getattr(ours, metric), getattr(alone, metric))


@given(nested())
def test_points_are_the_metrics_at_their_scales(data: Nested) -> None:
    curve, oracle = data.curve(), data.oracle()
    table = curve.table()
    assert np.all(np.diff(table["scale"]) > 0)
    near(float(table["scale"][-1]), oracle.end)
    for i, t in enumerate(table["scale"].tolist()):
        point = curve.at(t)
        for metric in METRICS:
            near(float(table[metric][i]), getattr(point, metric), size(oracle, Fraction(t)))


@given(nested(rounded=False))  # errors that differ beyond float64 are ties
def test_the_miss_rate_falls_by_each_row_s_weight_in_the_exact_order(data: Nested) -> None:
    points, oracle = data.curve().points(), data.oracle()
    steps: list[Fraction] = [Fraction(-1), *oracle.criticals]
    left = {
        sum((r.weight for r in oracle.rows if oracle.critical(r) > t), Fraction(0)) for t in steps
    }
    seen = np.unique(points.y)
    if oracle.criticals and oracle.criticals[0] == 0:
        left.discard(Fraction(1))  # the first point lies after the step of rows without error
    assert_allclose(seen, sorted(map(float, left)), atol=1e-12)


@given(nested(), st.sampled_from(PAIRS))
def test_whole_areas_and_gains_are_exact(data: Nested, axes: Axes) -> None:
    curve, oracle = data.curve(), data.oracle()
    exact, slack = oracle.area(*axes), size(oracle, oracle.end) ** 2 + size(oracle, oracle.end)
    near(curve.area(axes=axes), exact, slack)
    constant = ucc.UCC(curve.intervals.constant())
    near(constant.area(axes=axes), oracle.constant().area(*axes), slack)
    if (
        exact != inf and oracle.constant().area(*axes) > slack / 10**9
    ):  # below, an area is zero up to rounding
        near(curve.gain(axes=axes), 1 - curve.area(axes=axes) / constant.area(axes=axes), 1)


@given(
    nested(), st.sampled_from(PAIRS), st.sampled_from(METRICS), st.integers(0, 8), st.integers(0, 8)
)
def test_adjoining_partial_areas_add_up(
    data: Nested, axes: Axes, name: str, i: int, j: int
) -> None:
    curve, oracle = data.curve(), data.oracle()
    if oracle.never:
        return
    top = float(max(oracle.value(name, oracle.start), oracle.value(name, oracle.end)))
    low, high = sorted((top * i / 8, top * j / 8))
    spans: list[dict[str, Any]] = [{name: (0, low)}, {name: (low, high)}, {name: (high, inf)}]
    parts = [curve.area(axes=axes, **span) for span in spans]
    near(sum(parts), oracle.area(*axes), size(oracle, oracle.end) ** 2 + size(oracle, oracle.end))


@given(nested(), st.sampled_from(METRICS), st.integers(0, 16))
def test_targets_are_reached_at_the_smallest_scale(data: Nested, name: str, i: int) -> None:
    curve, oracle = data.curve(), data.oracle()
    levels = sorted((oracle.value(name, oracle.start), oracle.value(name, oracle.end)))
    target = float(levels[0] + (levels[1] - levels[0]) * Fraction(i, 16))
    if name == "miss_rate":
        target = min(
            target + 1e-9, 1.0
        )  # off the steps, whose float level the order of a weighted sum decides
    exact = oracle.reach(name, Fraction(target))
    if exact is None:
        return
    ask: Any = {name: target}
    point = curve.find(**ask)
    if name == "miss_rate":
        near(point.scale, exact, 1)
    else:
        near(getattr(point, name), Fraction(target), size(oracle, exact))
        assert point.scale <= float(exact) * (1 + 1e-9) + 1e-9


@given(nested(), st.sampled_from(["bandwidth", "excess", "overshoot"]))
def test_targets_beyond_the_curve_are_reached_by_scaling_the_widest_level(
    data: Nested, name: str
) -> None:
    curve, oracle = data.curve(), data.oracle()
    far = 3 * max(oracle.end, Fraction(1))
    goal, early = float(oracle.value(name, far)), oracle.value(name, far * Fraction(99, 100))
    assume(goal > float(early) * (1 + 1e-6))  # it still grows there
    ask: Any = {name: goal}
    point = curve.find(**ask)
    near(point.scale, far, 1e3)
    near(getattr(point, name), Fraction(goal), size(oracle, far))
    assert point.level is None


@given(nested(), st.sampled_from(PAIRS), st.integers(0, 8).map(lambda n: n / 8))
def test_the_cheapest_point_has_the_smallest_cost(data: Nested, axes: Axes, c: float) -> None:
    curve, oracle = data.curve(), data.oracle()
    assume(not oracle.decided_by_rounding)
    smallest, _ = oracle.cheapest(c, *axes)
    found = curve.cheapest(c, axes=axes)
    assert found.cost is not None
    near(found.cost, smallest, size(oracle, oracle.end))
    near(curve.cost(c, axes=axes, at=found.scale), found.cost, size(oracle, oracle.end))


@given(nested(weighted=False), st.integers(1, 9).map(lambda n: n / 10))
def test_conformal_targets_count_ranks_along_the_levels(data: Nested, alpha: float) -> None:
    curve, oracle = data.curve(), data.oracle()
    exact = oracle.conformal(Fraction(round(10 * alpha), 10))
    if exact is None or exact == inf:
        with pytest.raises(ValueError, match="conformal"):
            curve.find(miss_rate=alpha, conformal=True)
    else:
        near(curve.find(miss_rate=alpha, conformal=True).scale, exact)


def test_few_rows_that_decide_are_counted() -> None:
    bands = [1.0] * 9 + [0.01]
    levels = {
        p: Intervals.from_bands([1.0] * 10, [0.0] * 10, p * np.array(bands)) for p in (0.5, 0.9)
    }
    assert ucc.UCC.from_levels(levels).concentration(axes=("bandwidth", "miss_rate")) == 1
    assert ucc.UCC.from_levels(levels).concentration(axes=("bandwidth", "deficit")) == 1


# ---- one level is the ordinary curve


@given(mixed(never=True), st.sampled_from(PAIRS))
def test_one_level_gives_the_curve_of_its_intervals(data: Data, axes: Axes) -> None:
    iv = data.intervals()
    ours, ordinary = Nested((0.9,), (data,)).curve(), ucc.UCC(iv)
    slack = 1 + ordinary.at(1.0).bandwidth + ordinary.at(0.0).deficit
    assert_allclose(
        ours.area(axes=axes), ordinary.area(axes=axes), rtol=1e-11, atol=1e-12 * slack**2
    )
    mine, theirs = (
        ours.points(axes=("bandwidth", "miss_rate")),
        ordinary.points(axes=("bandwidth", "miss_rate")),
    )
    assert mine.scale is not None
    assert theirs.scale is not None
    kept = np.isin(mine.scale, theirs.scale)
    assert set(mine.scale[~kept]) <= {1.0}  # the level itself is a vertex too
    assert_array_equal(mine.scale[kept], theirs.scale)
    assert_allclose(mine.x[kept], theirs.x, rtol=1e-14)
    assert_allclose(mine.y[kept], theirs.y, rtol=1e-14)


# ---- meaning


def study() -> tuple[dict[float, Intervals], np.ndarray[Any, Any]]:
    """Errors whose shape depends on the row, Laplace or uniform, and a model that knows the quantiles of both."""
    rng = np.random.default_rng(3)
    n = 4000
    wild = rng.uniform(size=n) < 0.5
    errors = np.where(wild, rng.laplace(size=n), rng.uniform(-2, 2, n))
    zero, names = np.zeros(n), tuple(i / 10 for i in range(1, 10))
    bands = {p: np.where(wild, -np.log(1 - p), 2 * p) for p in names}
    return {p: Intervals.from_bands(errors, zero, band) for p, band in bands.items()}, wild


def test_true_quantiles_beat_every_scaled_level_on_bandwidth_and_deficit() -> None:
    levels, wild = study()
    curve = ucc.UCC.from_levels(levels)
    within = (0.0, curve.at(1.0).bandwidth)
    other = Intervals.from_bands(
        curve.intervals.y_true, curve.intervals.y_pred, np.where(wild, 1.5, 1.0)
    )
    for iv in (*levels.values(), other, other.constant()):
        assert curve.gain(reference=iv, axes=("bandwidth", "deficit"), bandwidth=within) > 0


def test_own_levels_miss_what_they_promise() -> None:
    levels, _ = study()
    curve = ucc.UCC.from_levels(levels)
    for level in curve.levels:
        assert_allclose(
            curve.at(level=level).miss_rate, 1 - level, atol=4 * (level * (1 - level) / 4000) ** 0.5
        )


def test_intervals_at_a_point_have_its_metrics() -> None:
    levels, _ = study()
    curve = ucc.UCC.from_levels(levels)
    for scale in (
        0.1,
        0.37,
        0.9,
        1.0,
        2.5,
        curve.find(miss_rate=0.3).scale,
        curve.find(miss_rate=0.02).scale,
    ):
        got, point = ucc.UCC(curve.intervals_at(scale)).at(1.0), curve.at(scale)
        for metric in METRICS:
            assert_allclose(
                getattr(got, metric),
                getattr(point, metric),
                rtol=1e-9,
                atol=1e-3 * (metric == "miss_rate"),
            )
    assert curve.intervals_at(level=0.5) is levels[0.5]


def test_points_tell_their_level() -> None:
    levels, _ = study()
    curve = ucc.UCC.from_levels(levels)
    assert curve.at(level=0.65).level == pytest.approx(0.65)
    assert curve.find(miss_rate=0.5).level == pytest.approx(0.5, abs=0.05)
    assert curve.at(1.5).level is None
    assert "level=0.9" in repr(curve.at(1.0))
    assert repr(curve).startswith("UCC(4000 rows, 9 levels 0.1 to 0.9, miss_rate 0.9")
    assert "<table>" in curve._repr_html_()


def test_a_curve_of_levels_is_a_curve_as_others_are() -> None:
    levels, _ = study()
    curve = ucc.UCC.from_levels(levels)
    assert (type(curve), curve.vary, curve.intervals) == (ucc.UCC, "levels", levels[0.9])
    assert ucc.UCC(levels[0.9]).levels == ()
    assert ucc.UCC(levels[0.9]).at(1.0).level is None
    assert curve.points().scale is not None
    assert list(curve.table()) == [
        "scale",
        "bandwidth",
        "miss_rate",
        "excess",
        "deficit",
        "overshoot",
    ]
    with pytest.raises(ValueError, match=r"`vary` must be one of scale, shift; got 'levels'"):
        ucc.UCC(levels[0.9], vary="levels")
    with pytest.raises(
        ValueError, match=r"`level` needs a curve of several levels: see UCC\.from_levels"
    ):
        ucc.UCC(levels[0.9]).at(level=0.5)


def test_two_outputs_are_their_flattened_rows() -> None:
    rng = np.random.default_rng(0)
    y, p, band = rng.normal(size=(3, 2)), rng.normal(size=(3, 2)), rng.uniform(0.5, 1, size=(3, 2))
    both = ucc.UCC.from_levels({q: Intervals.from_bands(y, p, q * band, band) for q in (0.5, 0.9)})
    flat = ucc.UCC.from_levels(
        {
            q: Intervals.from_bands(y.ravel(), p.ravel(), q * band.ravel(), band.ravel())
            for q in (0.5, 0.9)
        }
    )
    assert both.area(axes=("excess", "deficit")) == flat.area(axes=("excess", "deficit"))


def test_sizes_from_tiny_to_huge_keep_the_curve() -> None:
    levels, _ = study()
    expected = ucc.UCC.from_levels(levels).gain(axes=("bandwidth", "deficit"))
    for factor in (2.0**-300, 2.0**300):
        scaled = {
            p: Intervals.from_bands(iv.y_true * factor, iv.y_pred, iv.lower_band * factor)
            for p, iv in levels.items()
        }
        assert_allclose(
            ucc.UCC.from_levels(scaled).gain(axes=("bandwidth", "deficit")), expected, rtol=1e-12
        )


# ---- refusals


def test_a_level_that_is_given_twice_is_refused() -> None:
    inner = Intervals.from_bands([1, 2], [0, 0], [1, 1])
    levels: Any = {0.9: inner, np.float32(0.9): inner.calibrated(scale=2)}
    with pytest.raises(ValueError, match=r"^`levels` must differ; level 0\.9 is given twice\.$"):
        ucc.UCC.from_levels(levels)


def test_levels_that_are_none_are_refused() -> None:
    iv = Intervals.from_bands([1, 2], [0, 0], [1, 1])
    with pytest.raises(TypeError, match="`levels` must be a dict from level to Intervals"):
        ucc.UCC.from_levels([iv])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`levels` must be a dict from level to Intervals"):
        ucc.UCC.from_levels({})
    with pytest.raises(TypeError, match=r"level 0\.9 holds list"):
        ucc.UCC.from_levels({0.9: [1, 2]})  # type: ignore[dict-item]
    with pytest.raises(
        ValueError,
        match=r"`level` must lie between 0 and 1, both excluded; got 90\. Hint: 90% is 0\.9",
    ):
        ucc.UCC.from_levels({90: iv})


def test_levels_that_cross_are_counted() -> None:
    inner = Intervals.from_bands([1, 2, 3], [0, 0, 0], [1, 1, 1], [1, 5, 6])
    outer = Intervals.from_bands([1, 2, 3], [0, 0, 0], [1, 1, 1], [2, 4, 4])
    sentence = r"nested in their upper bounds: 2 of 3 rows are not, first row 1 \(5.0 at level 0.5, 4.0 at level 0.9\)"
    with pytest.raises(ValueError, match=sentence):
        ucc.UCC.from_levels({0.9: outer, 0.5: inner})


@pytest.mark.parametrize("name", ["y_true", "y_pred", "weight"])
def test_levels_of_different_rows_are_refused(name: str) -> None:
    data: dict[str, Any] = {
        "y_true": [1, 2],
        "y_pred": [0, 0],
        "lower_band": [1, 1],
        "weight": [1, 1],
    }
    inner, outer = Intervals.from_bands(**data), Intervals.from_bands(**{**data, name: [1, 3]})
    with pytest.raises(
        ValueError, match=f"`levels` must share {name}: level 0.5 and level 0.9 differ"
    ):
        ucc.UCC.from_levels({0.5: inner, 0.9: outer})


def test_a_level_beyond_the_widest_is_refused() -> None:
    curve = ucc.UCC.from_levels({0.5: Intervals.from_bands([1, 2], [0, 0], [1, 1])})
    with pytest.raises(
        ValueError, match=r"`level` must be a finite number from 0 to 0\.5; got 0\.9"
    ):
        curve.at(level=0.9)
    for call in (curve.at, curve.intervals_at):
        with pytest.raises(ValueError, match="give one scale, or one level"):
            call()


def test_levels_in_float32_are_the_decimals_that_they_show() -> None:
    iv = ucc.Intervals.from_bands([1.0, 2.0, 4.0], [0.0] * 3, [1.0, 2.0, 3.0])
    curve = ucc.UCC.from_levels({np.float32(0.5): iv.calibrated(scale=0.5), np.float32(0.8): iv})  # type: ignore[dict-item]
    assert curve.levels == (0.5, 0.8)
