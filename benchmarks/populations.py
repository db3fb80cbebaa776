"""Populations: rows of models whose true scores are known, and pairs of models of which neither is better.

Where bands are the noise's standard deviation sigma, every score of ``y = y_pred + sigma * eps`` is the mean of sigma
times a number that only the distribution of eps decides. That is how pairs with different errors have equal scores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.signal

from uccurve import Intervals
from uccurve._vocabulary import Array

Generator = np.random.Generator
MEMORY = 0.9
"""Correlation of neighbouring rows of a series."""
TWO_POINTS = {"area": 1.666089, "crps": 1.668578, "score": 1.606431}
"""Factor c for which noise of c or 1/c in the bands costs as much as lognormal(0.5) noise, where errors are normal.

``cosh(log c) = exp(1/8)`` for areas of miss_rate or deficit vs. bandwidth; potential CRPS and score (at a coverage of
0.9) by quadrature.
"""
NARROW = 0.715715
"""Share of bands of 0.01 among bands of 1 that triples the score (at 0.9) of normal errors; by the same quadrature."""


class Population(NamedTuple):
    """A population: one model whose rows can be drawn as often as needed."""

    name: str
    draw: Callable[[Generator, int], Intervals]
    gain_bandwidth_deficit: float | None = None
    """Where bands are the noise: ``var(sigma) / E[sigma^2]``, and the gain of miss_rate vs. bandwidth is 0."""


def light(rng: Generator, n: int) -> Intervals:
    """Normal errors, bands between 0.5 and 1.5 that are their standard deviation."""
    sigma = rng.uniform(0.5, 1.5, n)
    return around_zero(sigma * rng.normal(size=n), sigma)


def heavy(rng: Generator, n: int) -> Intervals:
    """Errors of Student's t with 5 degrees of freedom, times lognormal(0.7) bands."""
    sigma = rng.lognormal(0, 0.7, n)
    return around_zero(sigma * rng.standard_t(5, size=n), sigma)


def asymmetric(rng: Generator, n: int) -> Intervals:
    """Skewed errors (gamma of shape 4), lognormal bands that differ between the sides and know the noise roughly."""
    sigma = rng.lognormal(0, 0.5, n)
    lower, upper = (sigma * rng.lognormal(0, 0.3, n) for _ in range(2))
    return Intervals.from_bands(
        sigma * (rng.gamma(4, size=n) - 4) / 2, np.zeros(n), lower, 1.5 * upper
    )


def series(rng: Generator, n: int) -> Intervals:
    """A series whose errors, and the logarithms of whose bands, have an autocorrelation of 0.9."""
    sigma = np.exp(0.5 * autoregressive(rng, n))
    return around_zero(sigma * autoregressive(rng, n), sigma)


LIGHT = Population("light tails", light, 1 / 13)
HEAVY = Population("heavy tails", heavy, 1 - float(np.exp(-0.49)))
ASYMMETRIC = Population("asymmetric bands", asymmetric)
SERIES = Population("AR(0.9) series", series)


# ---- pairs of equal models


def shapes(rng: Generator, n: int, equal: str) -> list[Intervals]:
    """Same predictions; noise of two values in one model's bands, lognormal noise in the other's."""
    sigma = rng.lognormal(0, 0.5, n)
    error, factor = sigma * rng.normal(size=n), TWO_POINTS[equal]
    either = np.where(rng.random(n) < 0.5, factor, 1 / factor)
    return [around_zero(error, sigma * noise) for noise in (rng.lognormal(0, 0.5, n), either)]


def same_gain(rng: Generator, n: int, ratio: float) -> list[Intervals]:
    """Different predictions, one with errors `ratio` times as large: equal gains of deficit vs. bandwidth.

    Both models know their noise, whose ``var(sigma) / E[sigma^2]`` is the same: two values in one, lognormal(0.7) in
    the other.
    """
    both, spread = _common(rng, n), float(np.sqrt(np.exp(0.49) - 1))
    sigma = np.where(rng.random(n) < 0.5, 1 - spread, 1 + spread)
    eps = _own(rng, both.eps)
    return [
        Intervals.from_bands(np.zeros(n), -sigma * eps, sigma),
        _own_errors(rng, both, 0.7, ratio),
    ]


def same_skill(rng: Generator, n: int, ratio: float) -> list[Intervals]:
    """Different predictions of one kind, one with errors `ratio` times as large: equal skill."""
    both = _common(rng, n)
    return [_own_errors(rng, both, 0.5, size) for size in (1.0, ratio)]


def same_score(rng: Generator, n: int, ratio: float) -> list[Intervals]:
    """Different predictions whose root mean square errors have this ratio: equal scores and potential CRPS.

    Both models know their noise, whose mean is the same. With larger errors it varies more: lognormal(1.48) for a
    ratio of 3, because equal potential CRPS with such different errors is only possible with heavy tails.
    """
    both = _common(rng, n)
    if ratio == 1:
        return [_own_errors(rng, both, 0.5) for _ in range(2)]
    spread = float(np.sqrt(2 * abs(np.log(ratio))))
    pair = [_own_errors(rng, both, 0.0), _own_errors(rng, both, spread)]
    return pair if ratio > 1 else pair[::-1]


def careless(rng: Generator, n: int) -> list[Intervals]:
    """Different predictions, light tails: small errors, careless bands; errors x 3, the right bands; equal scores."""
    both = _common(rng, n)
    good, bad = _own_errors(rng, both, 0.0), _own_errors(rng, both, 0.0, 3.0)
    bands = np.where(rng.random(n) < NARROW, 0.01, 1.0)
    return [Intervals.from_bands(good.y_true, good.y_pred, bands), bad]


def clusters(rng: Generator, n: int, size: int) -> list[Intervals]:
    """Same predictions; clusters of rows share their noise, of which either model knows one factor, and half of eps."""
    first, second, common = (np.repeat(rng.normal(size=n // size), size) for _ in range(3))
    return _halves(first, second, np.sqrt(0.5) * (common + rng.normal(size=n)))


def series_pair(rng: Generator, n: int) -> list[Intervals]:
    """Same predictions of a series; either model knows one factor of its noise."""
    return _halves(*(autoregressive(rng, n) for _ in range(3)))


def equal_models(rng: Generator, n: int, count: int) -> dict[str, Intervals]:
    """Models with predictions and bands of their own, of the same quality."""
    both = _common(rng, n)
    return {f"model {i}": _own_errors(rng, both, 0.5) for i in range(count)}


def around_zero(error: Array, band: Array) -> Intervals:
    """Rows with a prediction of 0."""
    return Intervals.from_bands(error, np.zeros(len(error)), band)


def autoregressive(rng: Generator, n: int) -> Array:
    """Return a stationary normal series of variance 1."""
    steps = rng.normal(size=n)
    steps[1:] *= np.sqrt(1 - MEMORY**2)
    out: Array = scipy.signal.lfilter([1.0], [1.0, -MEMORY], steps)
    return out


class _Common(NamedTuple):
    """What the models of a row share: its difficulty, and a part of their errors."""

    noise: Array
    eps: Array


def _common(rng: Generator, n: int) -> _Common:
    return _Common(rng.normal(size=n), rng.normal(size=n))


def _own(rng: Generator, shared: Array) -> Array:
    """Return normal numbers of variance 1, half of which is shared."""
    own: Array = np.sqrt(0.5) * (shared + rng.normal(size=len(shared)))
    return own


def _own_errors(rng: Generator, both: _Common, spread: float, size: float = 1.0) -> Intervals:
    """Rows of y_true 0 with predictions of a model's own, and bands that are the size of its errors."""
    noise, eps = (_own(rng, shared) for shared in both)
    sigma = size * np.exp(spread * noise - spread**2 / 2)
    return Intervals.from_bands(np.zeros(len(eps)), -sigma * eps, sigma)


def _halves(first: Array, second: Array, eps: Array) -> list[Intervals]:
    error = np.exp(0.4 * (first + second)) * eps
    return [around_zero(error, np.exp(0.4 * known)) for known in (first, second)]
