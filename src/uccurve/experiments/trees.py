"""Gradient-boosted intervals as the paper sets them up: quantile bounds, the meta model, and bands of our own."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn._loss import PinballLoss
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.model_selection import KFold, cross_val_predict, train_test_split

from uccurve.train import BandRegressor

from .bands import OURS
from .findings import Floats
from .store import Arrays

Size = Mapping[str, int]
Data = tuple[Floats, Floats]
"""Features and targets."""
Sets = Mapping[str, Data]
"""New rows by the name of their set."""

LOW, HIGH = 0.05, 0.95
PAPER_SEED = 42
QUANTILES = {"GBR": "strong", "GBR-Weak": "weak"}
"""Quantile models, and the settings that say how large they are."""


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
    rates: dict[str, Any] = {"subsample": 0.7, "learning_rate": 0.1, "min_samples_leaf": 9, "min_samples_split": 9}
    return kind(**size, **loss, **rates, random_state=PAPER_SEED + seed)


def bounds(
    train: Data, new: Sets, settings: Mapping[str, Any], *, seed: int, kind: type[Any] = GradientBoostingRegressor
) -> Arrays:
    """Return lower and upper quantile predictions of the strong and the weak model for each set of new rows."""
    found: Arrays = {}
    for name, size in QUANTILES.items():
        models = [boosted(settings[size], seed=seed, quantile=q, kind=kind).fit(*train) for q in (LOW, HIGH)]
        found |= {f"{key} {name}": np.stack([model.predict(X) for model in models]) for key, (X, _) in new.items()}
    return found


def quantile_models(train: Data, new: Sets, settings: Mapping[str, Any], *, seed: int) -> Arrays:
    """Return y_true, y_pred, lower and upper of both quantile models, around one prediction."""
    target = boosted(settings["strong"], seed=seed).fit(*train)
    middle = {key: (y, target.predict(X)) for key, (X, y) in new.items()}
    found = bounds(train, new, settings, seed=seed)
    return {f"{key} {n}": np.stack([*middle[key], *found[f"{key} {n}"]]) for n in QUANTILES for key in new}


def half_widths(train: Data, new: Sets, size: Size, *, share: float, seed: int) -> Arrays:
    """Return the meta model's bands for each set of new rows: the 0.95 quantile of its base's absolute error.

    The base is fitted on a part of the rows, the band model on the errors of the others, a `share` of all, with the
    base's prediction as one more feature. A negative quantile estimate is a band of 0.
    """
    X, y = train
    state = int(np.random.RandomState(seed).randint(2**31 - 1))
    seen, unseen = train_test_split(np.arange(len(y)), test_size=share, random_state=state)
    base = boosted(size, seed=seed).fit(X[seen], y[seen])

    def features(points: Floats) -> Floats:
        return np.column_stack([points, base.predict(points)])

    errors = np.abs(y[unseen] - base.predict(X[unseen]))
    band = boosted(size, seed=seed, quantile=HIGH).fit(features(X[unseen]), errors)
    return {key: np.maximum(band.predict(features(points)), 0.0) for key, (points, _) in new.items()}


def area_bands(train: Data, new: Sets, size: Size, *, folds: int, seed: int) -> Arrays:
    """Return our own bands for each set of new rows, trained for an area on errors of unseen rows."""
    X, y = train
    splits = KFold(folds, shuffle=True, random_state=seed)
    errors = np.abs(y - cross_val_predict(boosted(size, seed=seed), X, y, cv=splits))
    models = {name: BandRegressor(axes, random_state=seed).fit(X, errors) for name, axes in OURS.items()}
    return {
        f"{key} {name}": model.predict(points) for name, model in models.items() for key, (points, _) in new.items()
    }
