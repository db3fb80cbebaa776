"""How often confidence intervals and bands hold the truth, and how often tests of equal models cry wolf."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

import uccurve as ucc
from uccurve._checks import Array
from uccurve.compare.bootstrap import interval_estimates
from uccurve.compare.question import Question
from uccurve.compare.replicates import Settings
from uccurve.compare.units import Units

from .measure import Row

LEVEL = 0.95
HEADLINE: Any = ("bandwidth", "miss_rate")
PROPER: Any = ("bandwidth", "deficit")
KINDS: tuple[Any, ...] = ("pointwise", "simultaneous")


class Truth(NamedTuple):
    """Deviations of the errors, which the bands are, and the true gain on bandwidth/deficit: var / mean square."""

    name: str
    gain: float

    def sample(self, rng: np.random.Generator, n: int) -> ucc.Intervals:
        """Rows of a model whose bands are the true deviations."""
        sigma = rng.uniform(0.5, 1.5, n) if self.name == "uniform" else rng.lognormal(0, 0.5, n)
        return ucc.Intervals.from_bands(sigma * rng.normal(size=n), np.zeros(n), sigma)


TRUTHS = (Truth("uniform", 1 / 13), Truth("lognormal", 1 - np.exp(-0.25)))


def run(quick: bool = False) -> list[Row]:
    """Shares of simulated samples."""
    samples, sizes = (40, [100]) if quick else (1000, [100, 300, 1000, 3000])
    return [
        *(_gains(truth, n, samples) for truth in TRUTHS for n in sizes),
        *(_series(block, samples) for block in (None, 20, 100)),
        *(_bands(n, samples // 2) for n in sizes[:3]),
        *(_alarms(statistic, samples) for statistic in ("area", "gain", "partial area", "interval score")),
    ]


def _row(kind: str, what: str, n: int, samples: int, held: dict[str, int], *, nominal: float = LEVEL) -> Row:
    """Shares of the samples, their nominal value, and the standard error of a share that has it."""
    shares = {name: count / samples for name, count in held.items()}
    error = float(np.sqrt(nominal * (1 - nominal) / samples))
    return {kind: what, "N": n, "samples": samples, **shares, "nominal": nominal, "standard error": error}


def _gains(truth: Truth, n: int, samples: int) -> Row:
    """Gains on the paper's axes, where the truth is 0, and on bandwidth/deficit."""
    rng, settings = np.random.default_rng(n), Settings(LEVEL, "BCa", 999)
    questions = [Question("gain", axes, "scale") for axes in (HEADLINE, PROPER)]
    held = dict.fromkeys([f"{kind} {axes}" for kind in ("BCa", "percentile") for axes in ("b/m", "b/d")], 0)
    for _ in range(samples):
        iv = truth.sample(rng, n)
        found = interval_estimates(iv, questions, Units.of(iv, None), settings, rng=rng)
        for axes, one, true in zip(("b/m", "b/d"), found, (0.0, truth.gain), strict=True):
            low, high = np.quantile(one.distribution, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
            held[f"BCa {axes}"] += one.low <= true <= one.high
            held[f"percentile {axes}"] += bool(low <= true <= high)
    return _row("interval of a gain", f"{truth.name} deviations", n, samples, held)


def _series(block: int | None, samples: int, n: int = 2000, memory: float = 0.9) -> Row:
    """Deficit of a band as wide as the errors' deviation, for errors that remember nine tenths of the last one."""
    normal, rng = NormalDist(), np.random.default_rng(1)
    truth, held = 2 * (normal.pdf(1) - normal.cdf(-1)), 0
    for _ in range(samples):
        iv = ucc.Intervals.from_bands(_remembering(rng, n, memory), np.zeros(n), np.ones(n))
        found = ucc.bootstrap(iv, statistic="deficit", block=block, n_resamples=499, seed=rng)
        held += found.low <= truth <= found.high
    what = "single rows" if block is None else f"blocks of {block}"
    return _row("interval of the deficit of a series", what, n, samples, {"BCa": held})


def _remembering(rng: np.random.Generator, n: int, memory: float) -> Array:
    """Errors of deviation 1 in which each keeps a share of the one before."""
    steps = rng.normal(size=n)
    steps[1:] *= np.sqrt(1 - memory**2)
    out = steps.tolist()
    for i in range(1, n):
        out[i] += memory * out[i - 1]
    return np.array(out)


def _bands(n: int, samples: int) -> Row:
    """Whole curves on the paper's axes: at all of the band's places, and without the 5 % of them at either end."""
    rng, held = np.random.default_rng(n), {f"{kind}, {part}": 0 for kind in KINDS for part in ("all", "inner 90 %")}
    truth = ucc.UCC(TRUTHS[0].sample(rng, 1_000_000)).points()
    for _ in range(samples):
        iv = TRUTHS[0].sample(rng, n)
        for kind in KINDS:
            band = ucc.confidence_band(iv, kind=kind, n_resamples=299, seed=rng)
            true = truth.y[np.searchsorted(truth.x, band.x, side="right") - 1]
            inside, end = (band.low <= true) & (true <= band.high), len(band) // 20
            held[f"{kind}, all"] += bool(inside.all())
            held[f"{kind}, inner 90 %"] += bool(inside[end:-end].all())
    return _row("band of a whole curve", "uniform deviations", n, samples, held)


def _alarms(name: str, samples: int, n: int = 100) -> Row:
    """Tests at 5 % of two models that know equally little, one five times as wide (as wide, for interval scores)."""
    options: dict[str, Any] = {
        "area": {"axes": PROPER},
        "gain": {"statistic": "gain", "axes": PROPER},
        "partial area": {"miss_rate": (0.0, 0.3)},
        "interval score": {"statistic": "interval_score", "alpha": 0.1},
    }[name]
    rng, alarms = np.random.default_rng(2), 0
    for _ in range(samples):
        y, bands = rng.normal(size=n), rng.gamma(4, size=(2, n))
        bands[1] *= 1 if name == "interval score" else 5
        a, b = (ucc.Intervals.from_bands(y, np.zeros(n), band) for band in bands)
        alarms += ucc.permutation_test(a, b, n_resamples=199, seed=rng, **options).pvalue <= 0.05
    return _row("test of equal models", name, n, samples, {"p <= 0.05": alarms}, nominal=0.05)
