"""Paths: the critical t of each row, its metrics at any t, and the events that add up to them, against the oracle."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import uccurve as ucc
from closeness import TOLERANCE, near
from level_oracle import LevelsOracle, Nested, nested
from oracle import METRICS, Oracle
from strategies import LIMIT, Data, mixed, varies
from uccurve._levels import LevelsPath
from uccurve._paths import Path, ScalePath, ShiftPath
from uccurve._vocabulary import Array, Metric

KINDS: dict[str, Any] = {"scale": ScalePath, "shift": ShiftPath}
Case = tuple[Path, Oracle]


def path_of(data: Data, vary: str) -> Path:
    data.curve(vary)  # draws again what must be refused
    path: Path = KINDS[vary].of(data.intervals())
    return path


def levels_path_of(data: Nested) -> LevelsPath:
    data.curve()
    knots = np.array([0.0, *(name / data.names[-1] for name in data.names)])
    return LevelsPath.of([level.intervals() for level in data.levels], knots)


cases: st.SearchStrategy[Case] = st.one_of(
    st.tuples(mixed(7, never=True), varies).map(
        lambda case: (path_of(*case), case[0].oracle(case[1]))
    ),
    nested().map(lambda data: (levels_path_of(data), data.oracle())),
)


def extent(oracle: Oracle, t: Fraction | float = 1.0) -> Fraction:
    """What rounding at t is measured against: errors, and bands there."""
    widest = max(row.lower_band + row.upper_band for row in oracle.rows)
    return max(row.error for row in oracle.rows) + widest * max(
        Fraction(1), abs(Fraction(t)) * (oracle.vary == "scale")
    )


def places_between(oracle: Oracle) -> list[Fraction]:
    """A place inside each piece of the curve that is long enough, and one beyond its end."""
    wide = [
        (a, b)
        for a, b in pairwise(oracle.breakpoints)
        if b - a > max(extent(oracle), abs(b)) / 10**6
    ]
    return [*(a + (b - a) * Fraction(3, 8) for a, b in wide), oracle.end + 1]


# ---- rows


@given(cases)
def test_the_critical_t_of_a_row_is_the_smallest_that_covers_it(case: Case) -> None:
    path, oracle = case
    assume(not (isinstance(oracle, LevelsOracle) and oracle.decided_by_rounding))
    for found, row in zip(path.critical.tolist(), oracle.rows, strict=True):
        off = (
            TOLERANCE * (row.error + row.active)
            if path.vary == "shift"
            else TOLERANCE * (path.vary == "levels")
        )
        near(found, oracle.critical(row), off)
    assert path.start == oracle.start
    near(path.end, oracle.end, TOLERANCE * extent(oracle))
    assert path.has_uncoverable_rows == bool(oracle.never) == (path.largest == inf)


@given(cases)
def test_each_row_s_metrics_are_read_off_its_bounds(case: Case) -> None:
    path, oracle = case
    for t in places_between(oracle):
        rows = path.per_row(float(t))
        active, other = path.bands(float(t))
        for i, row in enumerate(oracle.rows):
            bounds = row.bounds(oracle.vary, Fraction(float(t)))
            for name, exact in row.shares(*bounds).items():
                near(float(rows[name][i]), exact, TOLERANCE * extent(oracle, t))  # type: ignore[index]
            near(float(active[i] + other[i]), bounds[1] - bounds[0], TOLERANCE * extent(oracle, t))


@given(cases, st.integers(0, 12).map(lambda n: n / 4))
def test_the_metrics_of_a_path_are_the_weighted_means_of_its_rows(case: Case, t: float) -> None:
    path, _ = case
    rows, point = path.per_row(t), path.at(t)
    weight = np.ones(len(path)) if path.weight is None else path.weight
    for name in METRICS:
        assert_allclose(point[name], np.average(rows[name], weights=weight), rtol=1e-12)  # type: ignore[index]
    assert_array_equal(path.half_widths_at(t), rows["bandwidth"])
    assert_allclose(path.mean_half_width_at(t), point["bandwidth"], rtol=1e-12)
    expected = 2 * rows["bandwidth"] + 20 * rows["deficit"]
    assert_allclose(path.score_rows(t, 0.1), expected, rtol=1e-14)
    assert_allclose(path.score(t, 0.1), np.average(expected, weights=weight), rtol=1e-12)


@pytest.mark.parametrize("kind", ["scale", "shift", "levels"])
def test_a_long_path_is_the_same_in_blocks(kind: str) -> None:
    rng = np.random.default_rng(2)
    n = 70_001
    iv = ucc.Intervals.from_bands(
        rng.normal(size=n), np.zeros(n), rng.lognormal(size=n), rng.lognormal(size=n)
    )
    path = LevelsPath.of([iv], np.array([0.0, 1.0])) if kind == "levels" else KINDS[kind].of(iv)
    rows = path.per_row(0.6)
    for name, value in path.at(0.6).items():
        assert_allclose(value, rows[name].mean(), rtol=1e-12)
    assert_array_equal(path.half_widths_at(0.6), rows["bandwidth"])
    assert_array_equal(path.score_rows(0.6, 0.5), 2 * rows["bandwidth"] + 4 * rows["deficit"])


# ---- events


def summed(path: Path, name: Metric, t: float) -> float | None:
    """Sum of the ramps that the events of a metric describe; None for a metric that has no events."""
    total, seen = 0.0, False
    for group in path.events():
        change: Any = group.changes.get(name)
        if change is not None:
            seen = True
            sizes: Array = change[0] + change[1] if isinstance(change, tuple) else change
            ahead = group.position - t if name == "deficit" else t - group.position
            total += float(np.sum(sizes * np.maximum(ahead, 0)))
    return total / path.total if seen else None


@given(cases)
def test_events_add_up_to_the_metrics(case: Case) -> None:
    path, oracle = case
    lost = sum(
        (row.weight * row.error for row in oracle.rows if oracle.critical(row) == inf), Fraction(0)
    )
    inside = [t for t in places_between(oracle) if t < oracle.end]
    for t in inside:
        for name in ("bandwidth", "excess", "deficit", "overshoot"):
            found = summed(path, name, float(t))
            if name == "bandwidth" and isinstance(path, LevelsPath):
                found = float(
                    path.half_width(np.array(float(t)))
                )  # lines between levels, without events
            if found is None:
                assert (path.vary, name) == ("scale", "bandwidth")  # linear: its slope is known
            else:
                exact = oracle.value(name, Fraction(float(t))) - (lost if name == "deficit" else 0)
                near(found, exact, TOLERANCE * 10 * extent(oracle, t))


def test_a_huge_band_does_not_drown_the_slope_that_is_left_after_its_crossover() -> None:
    path = ScalePath.of(ucc.Intervals.from_bands([1.0, 2.0], [0.0, 0.0], [0.25, 1.0], [1e18, 1.0]))
    _, crossover = path.events()
    (huge,), (rest,) = crossover.changes["excess"]
    assert (float(huge), float(rest)) == (
        -1e18,
        0.25,
    )  # their sum in float64 would be the first alone


@given(
    cases,
    st.lists(
        st.tuples(st.integers(0, 40), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6
    ),
)
def test_integrals_of_rows_are_sums_over_the_masses(
    case: Case, drawn: list[tuple[int, int, int]]
) -> None:
    path, oracle = case
    span = path.end - path.start + 1
    t, width_mass, deficit_mass = (
        np.array(column, float) for column in zip(*sorted(drawn), strict=True)
    )
    t = path.start + t / 32 * span
    place = np.searchsorted(t, path.critical)
    widths, short = (
        path.width_integrals(t, width_mass),
        path.deficit_integrals(t, deficit_mass, place),
    )
    rows = [path.per_row(float(one)) for one in t]
    off = (
        1e-12 * float(extent(oracle, max(t.tolist()))) * (1 + width_mass.sum() + deficit_mass.sum())
    )
    assert_allclose(
        widths,
        sum(m * r["bandwidth"] for m, r in zip(width_mass, rows, strict=True)),
        rtol=1e-11,
        atol=off,
    )
    assert_allclose(
        short,
        sum(m * r["deficit"] for m, r in zip(deficit_mass, rows, strict=True)),
        rtol=1e-11,
        atol=off,
    )


# ---- widths, ranks, subsets


@given(nested(), st.integers(1, 16).map(lambda n: n / 8))
def test_half_widths_are_straight_lines_between_the_levels(data: Nested, t: float) -> None:
    path = levels_path_of(data)
    (width,) = path.half_width(np.array([t]))
    assert_allclose(width, path.at(t)["bandwidth"], rtol=1e-12)


@given(cases)
def test_a_rank_is_that_of_the_ordered_critical_values(case: Case) -> None:
    path, _ = case
    ordered = np.sort(path.critical)
    assert path.critical_of_rank(0) == path.start
    for rank in range(1, len(path) + 1):
        assert path.critical_of_rank(rank) == ordered[rank - 1]


@given(mixed(8, never=True), varies, st.integers(1, 200))
def test_some_rows_of_a_path_are_the_path_of_these_rows(data: Data, vary: str, bits: int) -> None:
    data = Data(data.y_true, data.y_pred, data.lower_band, data.upper_band)
    rows = [i for i in range(len(data.y_true)) if bits >> i & 1] or [0]
    path = path_of(data, vary)
    names = ("y_true", "y_pred", "lower_band", "upper_band")
    columns: Any = [tuple(getattr(data, name)[i] for i in rows) for name in names]
    path_of(Data(*columns), vary)
    alone, subset = KINDS[vary].of(data.intervals()[rows]), path.subset(np.array(rows))
    moved = (
        subset.error > 0
    )  # a row without error is covered from the start, which for shifts is that of all rows
    assert_array_equal(subset.critical[moved], alone.critical[moved])
    for name, values in subset.per_row(0.5).items():
        assert_array_equal(values, alone.per_row(0.5)[name])


def test_the_constant_reference_has_bands_of_one() -> None:
    iv = ucc.Intervals.from_bands(
        [1.0, -3.0, 0.0], [0.0] * 3, [1.0, 2.0, 0.0], [0.5, 4.0, 1.0], weight=[1, 2, 3]
    )
    for path in (ScalePath.of(iv), ShiftPath.of(iv), LevelsPath.of([iv], np.array([0.0, 1.0]))):
        constant = path.constant()
        assert_array_equal(constant.critical, [1.0, 3.0, 0.0])
        assert constant.at(2.0)["bandwidth"] == 2.0
        assert constant.total == 6.0


def test_rows_without_weight_are_left_out_of_the_path() -> None:
    iv = ucc.Intervals.from_bands([1.0, 5.0, 2.0], [0.0] * 3, [1.0, 0.0, 1.0], weight=[2, 0, 2])
    path = ScalePath.of(iv)
    assert (len(path), path.has_uncoverable_rows, path.equally_weighted) == (2, False, True)
    assert path.critical.tolist() == [1.0, 2.0]


# ---- what cannot be resolved


@pytest.mark.parametrize("unit", [1.0, 2.0**-300, 2.0**300])
def test_the_widest_band_over_the_shift_is_nine_million_mean_errors(unit: float) -> None:
    def path(band: float) -> Path:
        bands = [unit, band * unit, unit]
        return ShiftPath.of(
            ucc.Intervals.from_bands([unit, 0.0, 2 * unit], [0.0] * 3, bands, weight=[2, 0.5, 0.5])
        )

    assert path(LIMIT * (1 - 1e-12)).at(0.0)["miss_rate"] == pytest.approx(1 / 6)
    with pytest.raises(
        ValueError,
        match='`vary="shift"` needs bands and errors of comparable size: the largest band',
    ):
        path(LIMIT * (1 + 1e-12))


def test_rows_without_error_have_a_path_over_the_shift_whatever_their_bands() -> None:
    path = ShiftPath.of(ucc.Intervals.from_bands([0.0, 1.0], [0.0, 1.0], [1e18, 1.0]))
    assert path.at(0.0)["miss_rate"] == 0
    assert path.critical.tolist() == [-1e18, -1e18]


def test_a_path_whose_scales_leave_float64_is_refused() -> None:
    assert ScalePath.of(
        ucc.Intervals.from_bands([1e99, 1.0], [0.0] * 2, [1e-99, 1.0])
    ).end == pytest.approx(1e198)
    with pytest.raises(
        ValueError,
        match=r"scaling a band of 1e-99 up to an error of 1e\+99 leaves the range of float64",
    ):
        ScalePath.of(ucc.Intervals.from_bands([1e99, 1.0], [0.0] * 2, [1e-99, 1e99]))
    assert ScalePath.of(
        ucc.Intervals.from_bands([1.0, 1.0], [0.0] * 2, [0.0, 1.0])
    ).has_uncoverable_rows
