"""Populations: rows of models whose true scores are known, and pairs of models of which neither is better.

Where bands are the noise's standard deviation sigma, every score of ``y = y_pred + sigma * eps`` is the mean of sigma
times a number that only the distribution of eps decides. That is how pairs with different errors have equal scores.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import scipy.signal
import scipy.stats

from uccurve import Intervals
from uccurve._arrays import Indices
from uccurve._vocabulary import Array

Generator = np.random.Generator
Drawn = tuple[Intervals, Any]  # rows, and the block of each where they are dependent
TWO_POINTS = {"area": 1.666089, "crps": 1.668578, "score": 1.606431}
"""Factor c for which noise of c or 1/c in the bands costs as much as lognormal(0.5) noise, where errors are normal.

``cosh(log c) = exp(1/8)`` for areas of miss_rate or deficit vs. bandwidth; potential CRPS by quadrature. The score is
that at the best scale; see `shapes`.
"""
SERIES_BLOCKS = 12
PANEL_SERIES = 20


class Population(NamedTuple):
    """A population: one model whose rows can be drawn as often as needed."""

    name: str
    draw: Callable[[Generator, int], Drawn]


def normal_quantile(share: float) -> float:
    """Return a quantile of the standard normal distribution."""
    return NormalDist().inv_cdf(share)


def light(rng: Generator, n: int) -> Drawn:
    """Normal errors, bands between 0.5 and 1.5 that are their standard deviation."""
    sigma = rng.uniform(0.5, 1.5, n)
    return around_zero(sigma * rng.normal(size=n), sigma), None


def heavy(rng: Generator, n: int) -> Drawn:
    """Errors of Student's t with 3 degrees of freedom, times lognormal(0.5) bands."""
    sigma = rng.lognormal(0, 0.5, n)
    return around_zero(sigma * rng.standard_t(3, size=n), sigma), None


def asymmetric(rng: Generator, n: int) -> Drawn:
    """Skewed errors (gamma of shape 4), lognormal bands that differ between the sides and know the noise roughly."""
    sigma = rng.lognormal(0, 0.5, n)
    lower = sigma * rng.lognormal(0, 0.3, n)
    upper = 1.5 * sigma * rng.lognormal(0, 0.3, n)
    error = sigma * (rng.gamma(4, size=n) - 4) / 2
    return Intervals.from_bands(error, np.zeros(n), lower, upper), None


def counts(rng: Generator, n: int) -> Drawn:
    """Poisson counts around whole predictions, bands in steps of a quarter: many rows are tied."""
    rate = rng.choice([2.0, 5.0, 10.0, 20.0], n)
    bands = np.ceil(4 * np.sqrt(rate)) / 4
    return Intervals.from_bands(rng.poisson(rate).astype(float), rate, bands), None


def weighted(rng: Generator, n: int) -> Drawn:
    """Light tails, rows of gamma(1) weight."""
    sigma = rng.uniform(0.5, 1.5, n)
    error = sigma * rng.normal(size=n)
    weight = rng.gamma(1, size=n) + 1e-3
    return Intervals.from_bands(error, np.zeros(n), sigma, weight=weight), None


def series(rng: Generator, n: int, memory: float) -> Drawn:
    """A series whose errors, and the logarithms of whose bands, remember their past; 12 blocks."""
    sigma = np.exp(0.3 * autoregressive(rng, n, memory))
    return around_zero(sigma * autoregressive(rng, n, memory), sigma), _long_blocks(n)


def panel(rng: Generator, n: int) -> Drawn:
    """Twenty series over the same dates, whose errors share a shock on each date; blocks are dates."""
    date = np.arange(n) // PANEL_SERIES
    dates = int(date[-1]) + 1
    size = np.exp(0.5 * np.linspace(-1.5, 1.5, PANEL_SERIES))[np.arange(n) % PANEL_SERIES]
    bands = size * np.exp(0.2 * rng.normal(size=dates))[date]
    shock = rng.normal(size=dates)[date]
    error = bands * (np.sqrt(0.5) * shock + np.sqrt(0.5) * rng.normal(size=n))
    return around_zero(error, bands), date


def _long_blocks(n: int) -> Indices:
    return np.arange(n) * SERIES_BLOCKS // n


def _ar_half(rng: Generator, n: int) -> Drawn:
    return series(rng, n, 0.5)


def _ar_nine(rng: Generator, n: int) -> Drawn:
    return series(rng, n, 0.9)


POPULATIONS = (
    Population("light tails", light),
    Population("t(3) × lognormal", heavy),
    Population("asymmetric bands", asymmetric),
    Population("counts (ties)", counts),
    Population("weighted rows", weighted),
    Population("AR(0.5), 12 blocks", _ar_half),
    Population("AR(0.9), 12 blocks", _ar_nine),
    Population("panel of 20 series, blocks of dates", panel),
)


# ---- pairs of equal models


def other_predictions(rng: Generator, n: int) -> list[Intervals]:
    """Predictions and bands of their own, of the same quality."""
    return list(equal_models(rng, n, 2, shared=0.5).values())


def sites(rng: Generator, n: int) -> list[Intervals]:
    """Six equal sites for which bands are too wide or too narrow; the sites change places in the other model."""
    site = rng.integers(0, 6, n)
    factor = np.exp(np.linspace(-0.75, 0.75, 6))
    error = rng.normal(size=n)
    return [around_zero(error, factor[order][site]) for order in (np.arange(6), np.arange(6)[::-1])]


def unlike_errors(rng: Generator, n: int) -> list[Intervals]:
    """Constant bands around predictions with normal errors, and with errors of t(3) whose size makes scores equal."""
    size = _shipped_score(scipy.stats.norm) / _shipped_score(scipy.stats.t(3))
    errors = rng.normal(size=n), size * rng.standard_t(3, size=n)
    return [Intervals.from_bands(np.zeros(n), -error, np.ones(n)) for error in errors]


def _shipped_score(errors: Any, alpha: float = 0.1) -> float:
    """Interval score of a constant band of symmetric errors at its quantile."""
    k = float(errors.ppf(1 - alpha / 2))
    outside = float(errors.expect(lambda r: r - k, lb=k))
    return 2 * k + 2 / alpha * 2 * outside


def shapes(rng: Generator, n: int, equal: str) -> list[Intervals]:
    """Same predictions; noise of two values in one model's bands, lognormal noise in the other's.

    Areas and potential CRPS are equal. Scores as shipped are equal where both models have the same noise in other rows.
    """
    sigma = rng.lognormal(0, 0.5, n)
    error = sigma * rng.normal(size=n)
    if equal == "score":
        return [around_zero(error, sigma * rng.lognormal(0, 0.5, n)) for _ in range(2)]
    factor = TWO_POINTS[equal]
    either = np.where(rng.random(n) < 0.5, factor, 1 / factor)
    return [around_zero(error, sigma * noise) for noise in (rng.lognormal(0, 0.5, n), either)]


def same_skill(rng: Generator, n: int, ratio: float) -> list[Intervals]:
    """Different predictions of one kind, one with errors `ratio` times as large: equal skill."""
    both = _common(rng, n)
    return [_own_errors(rng, both, size=size) for size in (1.0, ratio)]


def revisions(rng: Generator, n: int, *ratios: float) -> list[Intervals]:
    """Versions of one model that cover 90%: their errors are correlated by 0.93, and so many times as large."""
    size = np.exp(0.5 * rng.normal(size=n))
    common = rng.normal(size=n)
    out = []
    for ratio in ratios:
        error = ratio * size * _own(rng, common, 0.93)
        out.append(Intervals.from_bands(np.zeros(n), -error, normal_quantile(0.95) * ratio * size))
    return out


def two_models(rng: Generator, n: int, worse: float) -> list[Intervals]:
    """Predictions with errors of their own, the second one's `worse` times as large; both know their size."""
    size = np.exp(0.5 * rng.normal(size=n))
    error = rng.normal(size=n)
    out = []
    for ratio in (1.0, worse):
        total = ratio * np.sqrt(1.09)
        own = np.sqrt(total**2 - 1) * rng.normal(size=n)
        out.append(Intervals.from_bands(size * error, size * own, size * total))
    return out


def training_runs(rng: Generator, n: int, runs: int) -> list[list[Intervals]]:
    """Two algorithms of equal quality, each trained several times; a run is lucky or not on all of its rows."""
    y = rng.normal(size=n)
    out = []
    for _ in range(2):
        luck = np.exp(0.15 * rng.normal(size=runs))
        own = rng.normal(size=(runs, n))
        out.append(
            [Intervals.from_bands(y, luck[r] * own[r], np.full(n, 1.5)) for r in range(runs)]
        )
    return out


def equal_models(
    rng: Generator, n: int, count: int, *, shared: float = 0.0
) -> dict[str, Intervals]:
    """Models with predictions and bands of their own, of the same quality; normal errors in units of the bands."""
    both = _common(rng, n)
    return {f"model {i}": _own_errors(rng, both, shared=shared) for i in range(count)}


class Family(NamedTuple):
    """How the bands of a model follow the size of its errors, with one number that is drawn from a range."""

    bands: Callable[[Generator, Array, float], Array]
    low: float
    high: float


def _noisy(rng: Generator, size: Array, sd: float) -> Array:
    return size * np.exp(sd * rng.normal(size=len(size)))


def _outliers(rng: Generator, size: Array, share: float) -> Array:
    return np.where(rng.random(len(size)) < share, 0.3, 1.0) * size


def _power(_: Generator, size: Array, power: float) -> Array:
    return size**power


FAMILIES = (
    Family(lambda _, size, __: size, 0.0, 1.0),  # right
    Family(_power, 1.2, 1.8),  # exaggerated
    Family(_power, 0.3, 0.8),  # timid
    Family(_noisy, 0.1, 0.4),
    Family(_noisy, 0.4, 0.7),
    Family(lambda _, size, least: np.maximum(size, least), 0.7, 1.3),
    Family(_outliers, 0.02, 0.15),  # far too narrow in a few rows
    Family(lambda _, size, __: np.ones(len(size)), 0.0, 1.0),  # constant
)


class Candidate(NamedTuple):
    """A model of some family, whose errors are so many times as large as they need be."""

    family: Family
    number: float
    size: float

    def draw(self, rng: Generator, difficulty: Array, eps: Array) -> Intervals:
        """Rows of y_true 0."""
        error = self.size * difficulty * eps
        bands = self.family.bands(rng, difficulty, self.number)
        return Intervals.from_bands(np.zeros(len(eps)), -error, bands)


def candidates(rng: Generator, count: int = 4) -> list[Candidate]:
    """Return models of different families and of nearly the same quality."""
    chosen = rng.choice(len(FAMILIES), count, replace=False)
    out = []
    for place in chosen:
        family = FAMILIES[place]
        number = rng.uniform(family.low, family.high)
        out.append(Candidate(family, number, size=rng.uniform(0.9, 1.1)))
    return out


def rows_of_candidates(rng: Generator, models: list[Candidate], n: int) -> list[Intervals]:
    """Rows of several models: the same difficulties, half of the variance of the errors in common."""
    difficulty = np.exp(0.5 * rng.normal(size=n))
    common = rng.normal(size=n)
    return [model.draw(rng, difficulty, _own(rng, common, 0.5)) for model in models]


def around_zero(error: Array, band: Array) -> Intervals:
    """Rows with a prediction of 0."""
    return Intervals.from_bands(error, np.zeros(len(error)), band)


def autoregressive(rng: Generator, n: int, memory: float) -> Array:
    """Return a stationary normal series of variance 1."""
    steps = rng.normal(size=n)
    steps[1:] *= np.sqrt(1 - memory**2)
    out: Array = scipy.signal.lfilter([1.0], [1.0, -memory], steps)
    return out


class _Common(NamedTuple):
    """What the models of a row share: its difficulty, and a part of their errors."""

    noise: Array
    eps: Array


def _common(rng: Generator, n: int) -> _Common:
    return _Common(rng.normal(size=n), rng.normal(size=n))


def _own(rng: Generator, common: Array, shared: float) -> Array:
    """Return normal numbers of variance 1, of which this share is common to all models."""
    own: Array = np.sqrt(shared) * common + np.sqrt(1 - shared) * rng.normal(size=len(common))
    return own


def _own_errors(
    rng: Generator, both: _Common, *, size: float = 1.0, shared: float = 0.5
) -> Intervals:
    """Rows of y_true 0 with predictions of a model's own, and bands that are the size of its errors."""
    noise, eps = (_own(rng, common, shared) for common in both)
    sigma = size * np.exp(0.5 * noise - 0.125)
    return Intervals.from_bands(np.zeros(len(eps)), -sigma * eps, sigma)
