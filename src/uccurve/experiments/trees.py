"""Gradient-boosted intervals as the paper sets them up: quantile bounds around a shared target, and the meta model."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor

from uccurve.calibrate.estimators import IntervalRegressor

Floats = np.ndarray[Any, np.dtype[np.float64]]
Size = Mapping[str, int]

LOW, HIGH = 0.05, 0.95
PAPER_SEED = 42


def boosted(size: Size, *, seed: int, quantile: float | None = None) -> GradientBoostingRegressor:
    """An unfitted regressor with the paper's rates; seed 0 is the paper's own random state."""
    loss: dict[str, Any] = {} if quantile is None else {"loss": "quantile", "alpha": quantile}
    return GradientBoostingRegressor(
        **size, **loss, subsample=0.7, learning_rate=0.1, min_samples_leaf=9, min_samples_split=9,
        random_state=PAPER_SEED + seed,
    )  # fmt: skip


def bounds(X: Floats, y: Floats, at: tuple[Floats, ...], size: Size, *, seed: int) -> list[tuple[Floats, Floats]]:
    """Lower and upper quantile predictions at each of the given points."""
    low, high = (boosted(size, seed=seed, quantile=q).fit(X, y) for q in (LOW, HIGH))
    return [(low.predict(points), high.predict(points)) for points in at]


def half_widths(X: Floats, y: Floats, at: tuple[Floats, ...], size: Size, *, share: float, seed: int) -> list[Floats]:
    """The meta model's bands at each of the given points: the 0.95 quantile of its base's absolute error.

    It is `IntervalRegressor`, left uncalibrated; a negative quantile estimate is a band of 0.
    """
    model = IntervalRegressor(
        boosted(size, seed=seed),
        method="meta",
        band_estimator=boosted(size, seed=seed, quantile=HIGH),
        band_size=share,
        miss_rate=None,
        min_band=0.0,
        random_state=seed,
    ).fit(X, y)
    pairs = (model.predict_interval(points) for points in at)
    return [(upper - lower) / 2 for lower, upper in pairs]


def rows(y_true: Floats, y_pred: Floats, lower: Floats, upper: Floats) -> Floats:
    """One array of four rows, as parts keep intervals."""
    return np.stack([y_true, y_pred, lower, upper])


def banded(y_true: Floats, y_pred: Floats, half: Floats) -> Floats:
    """The same from symmetric half-widths."""
    return rows(y_true, y_pred, y_pred - half, y_pred + half)
