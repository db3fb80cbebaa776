"""Coverage of cross-fitted intervals on simulated data, and which band model scores best on real data."""

from __future__ import annotations

from collections.abc import Callable
from math import erf
from typing import Any
from zlib import crc32

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

import uccurve as ucc
from paper import loaders
from uccurve.adapters import from_estimator

from .measure import Row

COVERAGE = 0.9
SEED = 271_828
"""Differs from the seeds that the code was written with."""
BASES: dict[str, Callable[[], Any]] = {
    "nearest neighbours": KNeighborsRegressor,
    "gradient boosting": GradientBoostingRegressor,
    "one deep tree": DecisionTreeRegressor,
}
SAMPLES = {100: 100, 200: 60, 500: 40}
"""Number of training sets by their number of rows."""
BANDS: dict[str, Any] = {"constant": DummyRegressor(), "quantile": "quantile", "area": "area"}
MOST_ROWS, SPLITS = 1500, 4


def run(quick: bool = False) -> list[Row]:
    """Rows of both tables."""
    samples = dict.fromkeys((100,), 3) if quick else SAMPLES
    sets = {"diabetes": diabetes} if quick else DATA
    coverages = [coverage(base, n, count) for base in BASES for n, count in samples.items()]
    return coverages + [bands(name, load(), 1 if quick else SPLITS) for name, load in sets.items()]


# ---- coverage


def coverage(base: str, n: int, samples: int, *, seed: int = SEED, band: Any = "area") -> Row:
    """Mean and standard deviation, over training sets, of the coverage of new rows."""
    rng = np.random.default_rng([seed, crc32(base.encode()), n])
    found = [true_coverage(BASES[base](), band, n, rng) for _ in range(samples)]
    row: Row = {"IntervalRegressor around": base, "N": n, "samples": samples}
    return row | {
        "coverage": float(np.mean(found)),
        "sd": float(np.std(found, ddof=1)),
        "nominal": COVERAGE,
    }


def true_coverage(base: Any, band: Any, n: int, rng: np.random.Generator) -> float:
    """Return the exact coverage at new features, whose noise has a known distribution, of a model from n rows."""
    X, mean, sigma = population(rng, n)
    y = mean + sigma * rng.normal(size=n)
    model = ucc.IntervalRegressor(
        base, band=band, coverage=COVERAGE, random_state=int(rng.integers(2**31))
    ).fit(X, y)
    X, mean, sigma = population(rng, 2000)
    below, above = ((bound - mean) / sigma for bound in model.predict_interval(X))
    return float(np.mean(_normal(above) - _normal(below)))


def population(rng: np.random.Generator, n: int) -> tuple[Any, Any, Any]:
    """Five features, the mean of y, and the standard deviation of its normal noise."""
    X = rng.uniform(-1, 1, (n, 5))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2], 0.3 * np.exp(X[:, 3])


_normal = np.vectorize(lambda z: (1 + erf(z / 2**0.5)) / 2)


# ---- bands


def bands(name: str, data: tuple[Any, Any], splits: int) -> Row:
    """What band models save of the constant band's interval score, and their skill, on the third of rows left out."""
    rng = np.random.default_rng([SEED, crc32(name.encode())])
    found: dict[str, list[tuple[float, float]]] = {band: [] for band in BANDS}
    for split in range(splits):
        rows = rng.permutation(len(data[1]))[:MOST_ROWS]
        new, seen = np.split(rows, [len(rows) // 3])
        for band, model in BANDS.items():
            found[band].append(_scores(model, data, seen, new, split))
    mean = {band: np.mean(scores, axis=0) for band, scores in found.items()}
    row: Row = {"data": name, "N": len(seen), "splits": splits}
    row |= {
        f"score saved, {band}": float(1 - mean[band][0] / mean["constant"][0])
        for band in ("quantile", "area")
    }
    return row | {f"skill, {band}": float(mean[band][1]) for band in ("quantile", "area")}


def _scores(
    band: Any, data: tuple[Any, Any], seen: Any, new: Any, seed: int
) -> tuple[float, float]:
    X, y = data
    model = ucc.IntervalRegressor(band=band, coverage=COVERAGE, random_state=seed).fit(
        X[seen], y[seen]
    )
    curve = ucc.UCC(from_estimator(model, X[new], y[new]))
    return curve.interval_score(coverage=COVERAGE), curve.skill()


def diabetes() -> tuple[Any, Any]:
    """Return scikit-learn's diabetes data."""
    X, y = load_diabetes(return_X_y=True)
    return X, y


def traffic() -> tuple[Any, Any]:
    """Return hourly traffic by calendar and weather."""
    frame = loaders.traffic()
    time = frame["date_time"].str.to_datetime()
    columns = [
        time.dt.hour(),
        time.dt.weekday(),
        time.dt.month(),
        frame["temp"],
        frame["clouds_all"],
    ]
    return np.column_stack(columns).astype(np.float64), frame["traffic_volume"].to_numpy().astype(
        np.float64
    )


def made_up() -> tuple[Any, Any]:
    """Return rows of the simulated population."""
    rng = np.random.default_rng(SEED)
    X, mean, sigma = population(rng, MOST_ROWS)
    return X, mean + sigma * rng.normal(size=len(X))


DATA: dict[str, Callable[[], tuple[Any, Any]]] = {
    "diabetes": diabetes,
    "housing": loaders.housing,
    "wine": loaders.wine,
    "traffic": traffic,
    "simulated": made_up,
}
