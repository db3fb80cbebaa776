"""Gradient-boosted intervals as the paper sets them up: quantile bounds around a shared target, and the meta model."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor

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


class MetaBand:
    """Half-widths learnt as the 0.95 quantile of a base model's absolute error, from the features and the prediction.

    The rows must be ones the base has not seen: its errors on its own training rows are too small. `IntervalRegressor`
    with ``method="meta"`` is the same model around its own base; here all models of a table share one prediction.
    """

    def __init__(self, size: Size, *, seed: int) -> None:
        self.model = boosted(size, seed=seed, quantile=HIGH)

    def fit(self, X: Floats, y: Floats, y_pred: Floats) -> "MetaBand":
        """Learn from unseen rows and the base's predictions there."""
        self.model.fit(np.column_stack([X, y_pred]), np.abs(y - y_pred))
        return self

    def half_width(self, X: Floats, y_pred: Floats) -> Floats:
        """The band at new rows; a negative quantile estimate is a band of 0."""
        return np.asarray(np.maximum(self.model.predict(np.column_stack([X, y_pred])), 0.0))


def rows(y_true: Floats, y_pred: Floats, lower: Floats, upper: Floats) -> Floats:
    """One array of four rows, as parts keep intervals."""
    return np.stack([y_true, y_pred, lower, upper])


def banded(y_true: Floats, y_pred: Floats, half: Floats) -> Floats:
    """The same from symmetric half-widths."""
    return rows(y_true, y_pred, y_pred - half, y_pred + half)
