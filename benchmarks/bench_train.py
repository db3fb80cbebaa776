"""Training bands for the area against gradient boosting of as many trees, by scikit-learn and by LightGBM."""

from __future__ import annotations

from functools import partial
from typing import Any

import lightgbm
import numpy as np
from sklearn.ensemble import GradientBoostingRegressor
from threadpoolctl import threadpool_limits

from uccurve.train import BandRegressor

from .measure import Job, Row, timings

FEATURES, TREES, LEAVES, SMALLEST = 20, 100, 8, 20
MOST = 1.5
"""At most, times the library's own regression."""


def run(quick: bool = False) -> list[Row]:
    """Times of both backends in one thread, each over its yardstick with as many trees of the same size."""
    n, trees = (10**4, 10) if quick else (10**5, TREES)
    X, errors = data(n)
    with threadpool_limits(1):  # threads that wait for each other burn time that is not the code's
        return [
            *_rows("sklearn", _by_scikit_learn(X, errors, trees), n, repetitions=1),
            *_rows("lightgbm", _by_lightgbm(X, errors, trees), n, repetitions=3 if quick else 10),
        ]


def data(n: int) -> tuple[Any, Any]:
    """Features, and absolute errors whose spread depends on two of them."""
    rng = np.random.default_rng(13)
    X = rng.normal(size=(n, FEATURES)).astype(np.float32)
    return X, np.abs(np.exp(0.5 * X[:, 0] + 0.3 * (X[:, 1] > 0)) * rng.normal(size=n))


def _by_scikit_learn(X: Any, errors: Any, trees: int) -> dict[str, Job]:
    theirs = GradientBoostingRegressor(
        n_estimators=trees, max_leaf_nodes=LEAVES, max_depth=None, min_samples_leaf=SMALLEST
    )
    ours = BandRegressor(n_estimators=trees, max_leaf_nodes=LEAVES, min_samples_leaf=SMALLEST)
    return {
        "GradientBoostingRegressor": partial(theirs.fit, X, errors),
        "BandRegressor": partial(ours.fit, X, errors),
    }


def _by_lightgbm(X: Any, errors: Any, trees: int) -> dict[str, Job]:
    theirs = lightgbm.LGBMRegressor(
        n_estimators=trees, num_leaves=LEAVES, min_child_samples=SMALLEST, n_jobs=0, verbosity=-1
    )
    ours = BandRegressor(
        n_estimators=trees, max_leaf_nodes=LEAVES, min_samples_leaf=SMALLEST, backend="lightgbm"
    )
    return {
        "LGBMRegressor": partial(theirs.fit, X, errors),
        "BandRegressor": partial(ours.fit, X, errors),
    }


def _rows(backend: str, jobs: dict[str, Job], n: int, *, repetitions: int) -> list[Row]:
    """Return one row per job; the first one is the yardstick."""
    times = timings(jobs, repetitions=repetitions)
    yardstick = next(iter(jobs))
    rows: list[Row] = []
    for name, time in times.items():
        cpu, wall = time.over(times[yardstick])
        job = name if name == yardstick else f'{name}(backend="{backend}")'
        limits = {"at most": None if name == yardstick else MOST, "cpu s": time.cpu}
        rows.append(
            {"job": job, "N": n, "unit": f"x {yardstick}", "cpu": cpu, "wall": wall, **limits}
        )
    return rows
