"""Gradient-boosted intervals as the paper sets them up: quantile bounds, the meta model, and bands of our own."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sklearn._loss import PinballLoss
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.model_selection import KFold, cross_val_predict, train_test_split

from uccurve._checks import Axes
from uccurve.train import BandRegressor

from .experiment import Floats

Size = Mapping[str, int]

LOW, HIGH = 0.05, 0.95
PAPER_SEED = 42
OURS: dict[str, Axes] = {"Ours (BM)": ("bandwidth", "miss_rate"), "Ours (ED)": ("bandwidth", "deficit")}
"""Our models and the axes whose area they minimise; for symmetric bands the second area also decides the ED area."""


class EarlierQuantileLoss(PinballLoss):  # type: ignore[misc]  # sklearn is untyped
    """The quantile loss of the scikit-learn of 2021: a row equal to its prediction does not count as above it."""

    def gradient(self, y_true: Floats, raw_prediction: Floats, **options: Any) -> Floats:
        """Return the gradient with ties on the other side: `nextafter` moves a target by less than anything else."""
        gradient: Floats = super().gradient(np.nextafter(y_true, -np.inf), raw_prediction, **options)
        return gradient


class EarlierBoosting(GradientBoostingRegressor):  # type: ignore[misc]  # sklearn is untyped
    """Quantile boosting with the ties of that time."""

    def _get_loss(self, sample_weight: Floats) -> EarlierQuantileLoss:
        return EarlierQuantileLoss(sample_weight=sample_weight, quantile=self.alpha)


def boosted(
    size: Size, *, seed: int, quantile: float | None = None, kind: type[Any] = GradientBoostingRegressor
) -> Any:
    """Return an unfitted regressor with the paper's rates; seed 0 is the paper's own random state."""
    loss: dict[str, Any] = {} if quantile is None else {"loss": "quantile", "alpha": quantile}
    return kind(
        **size, **loss, subsample=0.7, learning_rate=0.1, min_samples_leaf=9, min_samples_split=9,
        random_state=PAPER_SEED + seed,
    )  # fmt: skip


def bounds(
    X: Floats, y: Floats, at: Iterable[Floats], size: Size, *, seed: int, kind: type[Any] = GradientBoostingRegressor
) -> list[Floats]:
    """Return lower and upper quantile predictions at each of the given sets of points."""
    models = [boosted(size, seed=seed, quantile=q, kind=kind).fit(X, y) for q in (LOW, HIGH)]
    return [np.stack([model.predict(points) for model in models]) for points in at]


def half_widths(X: Floats, y: Floats, at: Iterable[Floats], size: Size, *, share: float, seed: int) -> list[Floats]:
    """Return the meta model's bands at each set of points: the 0.95 quantile of its base's absolute error.

    The base is fitted on a part of the rows, the band model on the errors of the others, a `share` of all, with the
    base's prediction as one more feature. A negative quantile estimate is a band of 0.
    """
    state = int(np.random.RandomState(seed).randint(2**31 - 1))
    seen, unseen = train_test_split(np.arange(len(y)), test_size=share, random_state=state)
    base = boosted(size, seed=seed).fit(X[seen], y[seen])

    def features(points: Floats) -> Floats:
        return np.column_stack([points, base.predict(points)])

    errors = np.abs(y[unseen] - base.predict(X[unseen]))
    band = boosted(size, seed=seed, quantile=HIGH).fit(features(X[unseen]), errors)
    return [np.maximum(band.predict(features(points)), 0.0) for points in at]


def area_bands(
    X: Floats, y: Floats, at: Iterable[Floats], size: Size, *, folds: int, seed: int
) -> list[dict[str, Floats]]:
    """Return our own bands at each of the given sets of points, trained for an area on errors of unseen rows."""
    splits = KFold(folds, shuffle=True, random_state=seed)
    errors = np.abs(y - cross_val_predict(boosted(size, seed=seed), X, y, cv=splits))
    models = {name: BandRegressor(axes, random_state=seed).fit(X, errors) for name, axes in OURS.items()}
    return [{name: model.predict(points) for name, model in models.items()} for points in at]


def rows(y_true: Floats, y_pred: Floats, lower: Floats, upper: Floats) -> Floats:
    """Return one array of four rows, as parts keep intervals."""
    return np.stack([y_true, y_pred, lower, upper])


def banded(y_true: Floats, y_pred: Floats, half: Floats) -> Floats:
    """Return the same from symmetric half-widths."""
    return rows(y_true, y_pred, y_pred - half, y_pred + half)
