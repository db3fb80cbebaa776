"""Confidence bands of curves: made of resampled curves, and as wide as they promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import uccurve as ucc
from uccurve import confidence_band
from uccurve.resampling import DrawnUnits

KINDS: tuple[Any, ...] = ("pointwise", "simultaneous")


def sample(rng: np.random.Generator, n: int) -> ucc.Intervals:
    sigma = rng.uniform(0.5, 1.5, n)
    return ucc.Intervals.from_bands(
        sigma * rng.normal(size=n), np.zeros(n), sigma, sigma * rng.uniform(0.7, 1.3, n)
    )


@pytest.mark.parametrize("vary", ["scale", "shift"])
@pytest.mark.parametrize(
    "axes",
    [
        ("bandwidth", "miss_rate"),
        ("miss_rate", "bandwidth"),
        ("excess", "deficit"),
        ("deficit", "excess"),
        ("deficit", "miss_rate"),
    ],
)
def test_a_pointwise_band_is_made_of_percentiles_of_resampled_curves(axes: Any, vary: Any) -> None:
    iv = sample(np.random.default_rng(0), 20)
    band = confidence_band(iv, axes=axes, vary=vary, n_resamples=50, seed=1, confidence_level=0.8)
    counts = DrawnUnits(iv, None, 1).counts(50)
    curves = np.array([height(iv, count, axes, vary, band.x) for count in counts])
    inner = slice(1, -1)  # at the very ends a level may be reached by rounding alone
    low, high = np.quantile(curves, (0.1, 0.9), axis=0)
    assert_allclose(band.low[inner], low[inner], atol=1e-9)
    assert_allclose(band.high[inner], high[inner], atol=1e-9)


def height(iv: ucc.Intervals, counts: Any, axes: Any, vary: Any, places: Any) -> list[float]:
    """Return y of the curve of drawn rows at each place: where x reaches it, or between the vertices around it."""
    rows = np.repeat(np.arange(len(iv)), counts.astype(int))
    curve = ucc.UCC(iv[rows], vary=vary)
    if "miss_rate" not in axes:
        points = curve.points(axes=axes)
        order = -1 if axes[0] == "deficit" else 1
        return list(np.interp(places + order * 1e-12, points.x[::order], points.y[::order]))
    out = []
    for place in places:
        near = {"miss_rate": min(place + 1e-12, 1.0), "deficit": max(place - 1e-12, 0)}.get(
            axes[0], place + 1e-12
        )
        out.append(getattr(curve.find(**{axes[0]: near}), axes[1]))
    return out


def test_the_middle_of_the_band_is_the_curve() -> None:
    iv = sample(np.random.default_rng(0), 500)
    band = confidence_band(iv, seed=0, n_points=40)
    points = ucc.UCC(iv).points()
    assert len(band) == 40
    for x, y in zip(band.x, band.y, strict=True):
        assert y == points.y[np.searchsorted(points.x, x)]
    assert np.all(band.low <= band.y)
    assert np.all(band.y <= band.high)
    assert repr(band).startswith(
        "ConfidenceBand(pointwise, 95%, miss_rate vs. bandwidth, 40 places, mean width 0.0"
    )


@pytest.mark.slow
def test_a_simultaneous_band_holds_the_whole_curve_as_often_as_it_says() -> None:
    """300 samples of 400 rows against the curve of a million, at all places.

    The share of samples that a band of 0.9 holds has a standard error of sqrt(0.9 * 0.1 / 300) = 0.017; 3.3 of them
    leave out one run in a thousand. A quantile of 299 resamples is off by up to 1 / 300 on average. Nothing else is
    allowed for.
    """
    rng = np.random.default_rng(2026)
    truth = ucc.UCC(sample(rng, 1_000_000)).points()
    held = dict.fromkeys(KINDS, 0)
    for _ in range(300):
        iv = sample(rng, 400)
        for kind in held:
            band = confidence_band(iv, kind=kind, confidence_level=0.9, n_resamples=299, seed=rng)
            true = truth.y[np.searchsorted(truth.x, band.x, side="right") - 1]
            held[kind] += bool(np.all((band.low <= true) & (true <= band.high)))
    assert abs(held["simultaneous"] / 300 - 0.9) < 3.3 * np.sqrt(0.9 * 0.1 / 300) + 1 / 300
    assert held["pointwise"] / 300 < 0.5


def test_a_curve_of_levels_has_a_band_too() -> None:
    rng = np.random.default_rng(3)
    size = rng.lognormal(0, 0.5, 40)
    y = size * rng.laplace(size=40)
    levels = {
        q: ucc.Intervals.from_bands(y, 0 * y, -np.log(1 - q) * size) for q in (0.5, 0.8, 0.95)
    }
    curve = ucc.UCC.from_levels(levels)
    band = confidence_band(
        curve, axes=("bandwidth", "deficit"), seed=1, n_resamples=50, confidence_level=0.8
    )
    counts = DrawnUnits(curve.intervals, None, 1).counts(50)
    curves = []
    for count in counts:
        rows = np.repeat(np.arange(40), count.astype(int))
        points = ucc.UCC.from_levels({q: iv[rows] for q, iv in levels.items()}).points(
            axes=("bandwidth", "deficit")
        )
        curves.append(np.interp(band.x, points.x, points.y))
    low, high = np.quantile(curves, (0.1, 0.9), axis=0)
    assert_allclose(band.low, low, atol=1e-9)
    assert_allclose(band.high, high, atol=1e-9)


def test_the_band_of_a_large_sample_is_that_of_all_vertices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    iv = sample(np.random.default_rng(4), 3000)
    pairs: tuple[Any, ...] = (
        ("bandwidth", "miss_rate"),
        ("miss_rate", "bandwidth"),
        ("excess", "deficit"),
    )
    for axes in pairs:
        few = confidence_band(iv, axes=axes, seed=0, n_resamples=99)
        with monkeypatch.context() as patch:
            patch.setattr("uccurve.resampling.knots.MOST_VERTICES", 10**9)
            every = confidence_band(iv, axes=axes, seed=0, n_resamples=99)
        width = every.high - every.low
        inner = slice(2, -2)  # the last rows alone make the ends
        assert np.max(np.abs(few.low - every.low)[inner] / width[inner]) < 0.25
        assert np.mean(np.abs(few.high - every.high)[inner] / width[inner]) < 0.05


def test_a_simultaneous_band_is_wider() -> None:
    iv = sample(np.random.default_rng(0), 300)
    one, all_at_once = (confidence_band(iv, kind=kind, seed=0) for kind in KINDS)
    assert np.mean(all_at_once.high - all_at_once.low) > 1.2 * np.mean(one.high - one.low)
    assert all_at_once.low.min() >= 0
    assert all_at_once.high.max() <= 1


def test_a_band_repeats_with_its_seed_and_is_read_only() -> None:
    iv = sample(np.random.default_rng(0), 60)
    first, again = (confidence_band(iv, seed=4, n_resamples=50, block=3) for _ in range(2))
    assert_array_equal(first.low, again.low)
    with pytest.raises(ValueError, match="read-only"):
        first.low[0] = 0


def test_bad_options_are_refused_in_a_sentence() -> None:
    iv = sample(np.random.default_rng(0), 20)
    with pytest.raises(
        ValueError,
        match=r"`kind` must be one of pointwise, simultaneous; got 'pointwize'\. Did you mean 'pointwise'\?",
    ):
        confidence_band(iv, kind="pointwize")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"`n_resamples` must be at least 2 for a band; got 1\."):
        confidence_band(iv, n_resamples=1)
    with pytest.raises(ValueError, match=r"`n_points` must be an integer of at least 1; got 0\."):
        confidence_band(iv, n_points=0)
    with pytest.raises(
        ValueError,
        match=r"a confidence band needs at least two blocks of rows; there is only one\.",
    ):
        confidence_band(iv, block=["x"] * len(iv))
