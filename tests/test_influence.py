"""The influence of each row against finite differences: what a statistic does when one row counts a little more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from uccurve.assess.model import Model

import uccurve as ucc
from model_rows import SETTINGS
from uccurve._ramps import Ramps
from uccurve._vocabulary import SUMMARY, Axes
from uccurve.evidence import contributions as influence
from uccurve.evidence.units import Blocks

N, ALPHA = 60, 0.2
Kind = Callable[[np.ndarray], ucc.UCC]


def asymmetric(weight: np.ndarray) -> ucc.UCC:
    rng = np.random.default_rng(5)
    y, p, bands = rng.normal(size=N), rng.normal(size=N) / 4, rng.gamma(2, size=(2, N))
    return ucc.UCC(ucc.Intervals.from_bands(y, p, *bands, weight=weight))


def symmetric(weight: np.ndarray) -> ucc.UCC:
    rng = np.random.default_rng(6)
    return ucc.UCC(
        ucc.Intervals.from_bands(
            rng.normal(size=N), np.zeros(N), rng.gamma(2, size=N), weight=weight
        )
    )


def shifted(weight: np.ndarray) -> ucc.UCC:
    return ucc.UCC(asymmetric(weight).intervals, vary="shift")


def levels(weight: np.ndarray) -> ucc.UCC:
    iv = asymmetric(weight).intervals
    rng = np.random.default_rng(7)
    grow = rng.uniform(1.2, 2.5, size=(2, N))
    outer = ucc.Intervals.from_bands(
        iv.y_true, iv.y_pred, iv.lower_band * grow[0], iv.upper_band * grow[1], weight=weight
    )
    return ucc.UCC.from_levels({0.5: iv, 0.8: outer, 0.95: outer.calibrated(scale=1.5)})


KINDS: list[Kind] = [asymmetric, symmetric, shifted, levels]


def derivative(kind: Kind, statistic: Callable[[ucc.UCC], float], row: int) -> float:
    """Change of a statistic with the share of one row, the others keeping their proportions."""
    values, step = [], 1e-6
    weight = np.random.default_rng(8).uniform(0.5, 1.5, N)
    weight /= weight.sum()
    for share in (step, -step):
        moved = weight * (1 - share)
        moved[row] += share
        values.append(statistic(kind(moved)))
    return (values[0] - values[1]) / (2 * step)


def curve(kind: Kind) -> ucc.UCC:
    return kind(np.random.default_rng(8).uniform(0.5, 1.5, N))


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_s_part_of_the_potential_crps_is_its_derivative(kind: Kind) -> None:
    path = curve(kind).path()
    ramps = Ramps(path)
    rows = influence.crps_contributions(path, ramps)
    value = curve(kind).potential_crps()
    assert_allclose(path.mean(rows), value, rtol=1e-12)
    for row in (0, 17, 40):
        assert_allclose(
            rows[row] - value,
            derivative(kind, lambda c: c.potential_crps(), row),
            rtol=2e-5,
            atol=1e-7,
        )


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_s_own_score_at_the_common_best_scale_is_its_derivative(kind: Kind) -> None:
    settings = replace(SETTINGS, coverage=0.8, shown_coverage=0.8)
    model = Model("m", curve(kind), settings, Blocks.of(curve(kind).intervals))
    rows, value = model.score_rows(model.best_t), curve(kind).decompose(coverage=0.8).best_score
    assert_allclose(model.path.mean(rows), value, rtol=1e-12)
    for row in (3, 21, 55):
        slope = derivative(kind, lambda c: c.decompose(coverage=0.8).best_score, row)
        assert_allclose(rows[row] - value, slope, rtol=2e-5, atol=1e-7)


@pytest.mark.parametrize("axes", SUMMARY)
@pytest.mark.parametrize("kind", KINDS)
def test_a_row_s_part_of_an_area_is_its_derivative(kind: Kind, axes: Axes) -> None:
    path = curve(kind).path()
    ramps = Ramps(path)
    rows = influence.area_contributions(path, ramps, axes)
    if rows is None:
        assert path.vary != "scale"
        assert "excess" in axes
        return
    value = curve(kind).area(axes=axes)
    assert_allclose(path.mean(rows), 2 * value, rtol=1e-11)
    for row in (5, 30, 59):
        slope = derivative(kind, lambda c: c.area(axes=axes), row)
        assert_allclose(rows[row] - 2 * value, slope, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("axes", SUMMARY)
def test_the_constant_band_s_areas_have_their_own_influence(axes: Axes) -> None:
    path = curve(asymmetric).path()
    rows = influence.constant_area_contributions(path, axes)
    flat = ucc.UCC(curve(asymmetric).intervals.constant()).area(axes=axes)
    unit = curve(asymmetric).at(1.0).bandwidth
    assert_allclose(path.mean(rows), 2 * flat, rtol=1e-11)
    assert unit > 0
    for row in (5, 30):
        slope = derivative(
            asymmetric, lambda c: ucc.UCC(c.intervals.constant()).area(axes=axes), row
        )
        assert_allclose(rows[row] - 2 * flat, slope, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("size", [1e-9, 1e12])
@pytest.mark.parametrize("kind", [asymmetric, shifted])
def test_the_interval_of_a_half_width_moves_with_the_unit_of_y(kind: Kind, size: float) -> None:
    given = kind(np.ones(N))
    iv = given.intervals
    columns = (size * column for column in (iv.y_true, iv.y_pred, iv.lower_band, iv.upper_band))
    resized = ucc.UCC(ucc.Intervals.from_bands(*columns), vary=given.vary)
    mine, other = (ucc.assess(one, coverage=0.8).rows[0] for one in (given, resized))
    ends = [(row.half_width_low, row.half_width_high) for row in (mine, other)]
    assert_allclose(np.array(ends[1]) / size, ends[0], rtol=1e-9)


@pytest.mark.parametrize("kind", [asymmetric, symmetric, shifted])
@pytest.mark.parametrize("t", [-1.3, 0.1, 0.7, 2.0])
def test_a_half_width_moves_with_its_quantile_at_the_slope_of_the_curve(
    kind: Kind, t: float
) -> None:
    path = curve(kind).path()
    t = t if path.vary == "shift" else abs(t)
    width, slope = (
        path.at(t)["bandwidth"],
        (path.at(t + 1e-7)["bandwidth"] - path.at(t)["bandwidth"]) / 1e-7,
    )
    none, some = (influence.half_width_influence(path, t, 0.8, sparsity) for sparsity in (0.0, 1.0))
    assert none is not None
    assert some is not None
    expected = (0.8 - (path.critical <= t)) * slope / width * influence.weights(path)
    assert_allclose(some - none, expected, rtol=1e-6, atol=1e-12)
