"""The influence of each row against finite differences: what a statistic does when one row counts a little more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

import uccurve as ucc
from model_rows import SETTINGS
from uccurve._ramps import Ramps
from uccurve._scoring import conformal_t
from uccurve._vocabulary import SUMMARY, Axes
from uccurve.assess.memory import RowsSource
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
    source = RowsSource("m", curve(kind), settings, Blocks.of(curve(kind).intervals))
    rows = source.path.score_rows(source.best_t, ALPHA)
    value = curve(kind).decompose(coverage=0.8).best
    assert_allclose(source.path.mean(rows), value, rtol=1e-12)
    for row in (3, 21, 55):
        slope = derivative(kind, lambda c: c.decompose(coverage=0.8).best, row)
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
    mine, other = (ucc.assess(one, coverage=0.8).rows[0].half_width for one in (given, resized))
    assert_allclose(np.array([other.low, other.high]) / size, (mine.low, mine.high), rtol=1e-9)


@pytest.mark.parametrize("kind", [asymmetric, symmetric, shifted, levels])
@pytest.mark.parametrize("t", [0.1, 0.7, 2.0])
def test_the_slope_of_a_row_s_score_is_that_of_its_score(kind: Kind, t: float) -> None:
    path = curve(kind).delivered_curve(Fraction(4, 5)).path()
    step = 1e-7
    slopes = path.score_slopes(t, ALPHA)
    expected = (path.score_rows(t + step, ALPHA) - path.score_rows(t, ALPHA)) / step
    crosses = (path.critical > t) & (path.critical <= t + step)
    assert_allclose(slopes[~crosses], expected[~crosses], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", [asymmetric, symmetric, shifted, levels])
def test_the_influence_of_the_score_as_shipped_moves_with_its_factor(kind: Kind) -> None:
    """Its two parts by themselves: that at a fixed factor, and the slope times what a row does to the factor."""
    path = curve(kind).delivered_curve(Fraction(4, 5)).path()
    assert path.weight is not None
    units = Blocks.of(curve(kind).intervals)
    t = conformal_t(path, Fraction(1, 5))
    share = path.weight / path.weight.sum()
    missed = path.critical > t
    slope = float(share @ path.score_slopes(t, ALPHA))
    scores = path.score_rows(t, ALPHA)
    fixed = share * (scores - share @ scores)
    for sparsity in (0.0, 3.0):
        shipped = influence.shipped_score(path, t, ALPHA, sparsity, units)
        assert shipped.influence is not None
        moves = share * slope * sparsity * (missed - share @ missed)
        assert_allclose(shipped.influence, fixed + moves, rtol=1e-9, atol=1e-12)
        assert_allclose(shipped.influence.sum(), 0, atol=1e-12)


def test_blocks_hide_the_fit_of_a_factor_by_their_sums() -> None:
    path = curve(asymmetric).path()
    assert path.weight is not None
    label = np.arange(N) // 5
    units = Blocks.of(curve(asymmetric).intervals, label)
    t = conformal_t(path, Fraction(1, 5))
    share = path.weight / path.weight.sum()
    slopes = path.score_slopes(t, ALPHA)
    missed = (path.critical > t).astype(float)
    hidden = 0.0
    for block in range(N // 5):
        inside = label == block
        slopes_of_block = share[inside] @ (slopes[inside] - share @ slopes)
        misses_of_block = share[inside] @ (missed[inside] - share @ missed)
        hidden -= 2.5 * slopes_of_block * misses_of_block
    found = influence.shipped_score(path, t, ALPHA, 2.5, units)
    assert_allclose(found.offset, hidden, rtol=1e-10)


def test_independent_rows_hide_as_much_as_their_means_say() -> None:
    given = symmetric(np.ones(N))
    path = given.path()
    units = Blocks.of(given.intervals)
    t = conformal_t(path, Fraction(1, 5))
    missed = path.critical > t
    alpha = missed.mean()
    band = path.active
    slopes_share = (1 - alpha) * band[missed].mean() / ALPHA * alpha
    widths_share = alpha * (band[missed].mean() - band.mean())
    expected = 2 * 1.7 / N * (slopes_share - widths_share)
    assert_allclose(influence.shipped_score(path, t, ALPHA, 1.7, units).offset, expected, rtol=1e-9)


def test_the_sparsity_is_read_off_two_order_statistics_on_the_log_scale() -> None:
    rng = np.random.default_rng(9)
    y = rng.lognormal(0, 1, 1000)
    path = ucc.UCC(ucc.Intervals.from_bands(y, 0 * y, np.ones(1000))).path()
    exact = scipy.stats.lognorm(1)
    expected = 1 / exact.pdf(exact.ppf(0.9))
    assert_allclose(influence.sparsity_of(path, 0.9, 1000), expected, rtol=0.2)
    ordered = np.sort(y)
    reach = influence.hall_sheather(0.9, 1000)
    first, last = ceil((0.9 - reach) * 1000), ceil((0.9 + reach) * 1000)
    by_hand = ordered[899] * np.log(ordered[last - 1] / ordered[first - 1])
    by_hand /= (last - first) / 1000
    assert_allclose(influence.sparsity_of(path, 0.9, 1000), by_hand, rtol=1e-12)


@pytest.mark.parametrize("vary", ["scale", "shift"])
def test_the_interval_of_a_half_width_is_by_mover(vary: Any) -> None:
    given = ucc.UCC(symmetric(np.ones(N)).intervals, vary=vary)
    row = ucc.assess(given, coverage=0.8).rows[0]
    low, value, high = row.move.estimate.low, row.move.estimate.value, row.move.estimate.high
    band = given.intervals.lower_band
    half = [np.maximum(band + t, 0) if vary == "shift" else t * band for t in (low, value, high)]
    mean = half[1].mean()
    reach = scipy.stats.t.ppf(0.975, N - 1) * half[1].std(ddof=1) / np.sqrt(N) / mean
    below = np.hypot(reach, np.log(mean / half[0].mean()))
    above = np.hypot(reach, np.log(half[2].mean() / mean))
    assert_allclose(
        (row.half_width.low, row.half_width.high),
        (mean * np.exp(-below), mean * np.exp(above)),
        rtol=1e-9,
    )


@pytest.mark.parametrize("vary", ["scale", "shift"])
@pytest.mark.parametrize("side", ["upper", "lower"])
def test_one_bound_has_the_influence_of_its_quantile_loss(side: str, vary: Any) -> None:
    """The score of one side is the quantile loss over alpha, of the bound at its conformal factor or shift."""
    rng = np.random.default_rng(12)
    n = 400
    sigma = rng.lognormal(0, 0.4, n)
    y = 5 + sigma * rng.normal(size=n)
    y_pred = 5 + 0.2 * rng.normal(size=n)
    sign = 1 if side == "upper" else -1
    bound: dict[str, Any] = {side: y_pred + sign * sigma}
    iv = ucc.Intervals.from_bounds(y, y_pred, **bound)
    row = ucc.assess(ucc.UCC(iv, vary=vary), coverage=0.9).rows[0]
    ahead = sign * (y - y_pred)  # how far the observation lies on the side of the bound
    grows = np.ones(n) if vary == "shift" else sigma
    critical = ahead - sigma if vary == "shift" else np.maximum(ahead, 0) / sigma
    t = np.sort(critical)[ceil(401 * 0.9) - 1]
    reach = sigma + t if vary == "shift" else t * sigma
    missed = critical > t
    scores = reach - ahead + 10 * np.where(missed, ahead - reach, 0)
    slopes = grows * (1 - 10 * missed)
    path = ucc.UCC(iv, vary=vary).path()
    sparsity = influence.sparsity_of(path, 0.9, n)
    parts = scores - scores.mean() + slopes.mean() * sparsity * (missed - missed.mean())
    hidden = -sparsity / n * np.mean((slopes - slopes.mean()) * (missed - missed.mean()))
    mean = scores.mean()
    error = parts.std(ddof=1) / np.sqrt(n) / mean
    length = scipy.stats.t.ppf(0.975, missed.sum() - 1) * error
    assert_allclose(row.move.estimate.value, t, rtol=1e-12)
    assert_allclose(row.score.value, mean, rtol=1e-9)
    assert_allclose(
        (row.score.low, row.score.high),
        (mean + hidden) * np.exp([-length, length]),
        rtol=1e-9,
    )
    assert_allclose(
        row.delivered_score.value,
        ucc.pinball_score(y, y_pred + sign * sigma, quantile=0.9 if side == "upper" else 0.1) / 0.1,
    )
