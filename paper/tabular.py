"""Gradient-boosted intervals as the paper sets them up, cross-validated, in two readings: the housing and wine data."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn._loss import PinballLoss
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.model_selection import KFold, cross_val_predict, train_test_split
from sklearn.utils.parallel import Parallel, delayed

from uccurve._arrays import Indices
from uccurve.train import BandRegressor

from .bands import (
    BM,
    ED,
    OURS,
    banded,
    calibrated_by_fold,
    models_of,
    summary,
    tuned,
    with_constant,
)
from .experiment import (
    FIRST,
    SECOND,
    Arrays,
    Cells,
    Experiment,
    Findings,
    Floats,
    Models,
    Parts,
    Settings,
)
from .figures import Figures, canvas, draw_curves

Data = tuple[Floats, Floats]  # features and targets
Sets = Mapping[str, Data]  # new rows by the name of their set
# Return the claims that models, cells, the unit and the seed bear out; may add cells.
Judge = Callable[[Models, Cells, float, int], Mapping[str, bool]]

MODELS = ("GBR", "GBR-Weak", "Meta")
PERIODS = ("held out", "test")
TIES = ", earlier ties"
FEW_ROWS = 2000  # their folds are done before other processes have started
LOW, HIGH = 0.05, 0.95
PAPER_SEED = 42
QUANTILES = {
    "GBR": "strong",
    "GBR-Weak": "weak",
}  # quantile models, and the settings that say how large they are
TODAY = {"": GradientBoostingRegressor}  # the kind of quantile model by what is added to its name


# ---- models


class EarlierQuantileLoss(PinballLoss):  # type: ignore[misc]  # sklearn is untyped
    """The quantile loss of the scikit-learn of 2021: a row equal to its prediction does not count as above it."""

    def gradient(self, y_true: Floats, raw_prediction: Floats, **options: Any) -> Floats:
        """Return the gradient with ties on the other side: `nextafter` moves a target by less than anything else."""
        return np.asarray(
            super().gradient(np.nextafter(y_true, -np.inf), raw_prediction, **options)
        )


class EarlierBoosting(GradientBoostingRegressor):  # type: ignore[misc]  # sklearn is untyped
    """Quantile boosting with the ties of that time."""

    def _get_loss(self, sample_weight: Floats) -> EarlierQuantileLoss:
        return EarlierQuantileLoss(sample_weight=sample_weight, quantile=self.alpha)


def boosted(
    size: Mapping[str, int],
    *,
    seed: int,
    quantile: float | None = None,
    kind: Any = GradientBoostingRegressor,
) -> Any:
    """Return an unfitted regressor with the paper's rates; seed 0 is the paper's own random state."""
    loss: dict[str, Any] = {} if quantile is None else {"loss": "quantile", "alpha": quantile}
    rates: dict[str, Any] = {
        "subsample": 0.7,
        "learning_rate": 0.1,
        "min_samples_leaf": 9,
        "min_samples_split": 9,
    }
    return kind(**size, **loss, **rates, random_state=PAPER_SEED + seed)


def quantile_models(
    train: Data, new: Sets, settings: Settings, *, seed: int, kinds: Mapping[str, Any] = TODAY
) -> Arrays:
    """Return y_true, y_pred, lower and upper of the strong and the weak model of each kind, around one prediction."""
    target, found = boosted(settings["strong"], seed=seed).fit(*train), {}
    for (name, size), (label, kind) in product(QUANTILES.items(), kinds.items()):
        quantiles = (
            boosted(settings[size], seed=seed, quantile=q, kind=kind).fit(*train)
            for q in (LOW, HIGH)
        )
        models = [target, *quantiles]
        for key, (X, y) in new.items():
            found[f"{key} {name}{label}"] = np.stack([y, *(model.predict(X) for model in models)])
    return found


def meta_bands(
    train: Data, base: Any, band: Any, *, share: float, state: int
) -> Callable[[Floats], Floats]:
    """Return what predicts the paper's Meta bands: `band` learns a quantile of the absolute errors of `base`.

    The base is fitted on a part of the rows, the band model on the errors of the others, a `share` of all, with the
    base's prediction as one more feature. A negative quantile estimate is a band of 0.
    """
    seen, unseen, y_seen, y_unseen = train_test_split(*train, test_size=share, random_state=state)
    base.fit(seen, y_seen)

    def features(X: Floats) -> Floats:
        return np.column_stack([X, base.predict(X)])

    band.fit(features(unseen), np.abs(y_unseen - base.predict(unseen)))
    return lambda X: np.maximum(band.predict(features(X)), 0.0)


def area_bands(
    train: Data, settings: Settings, *, seed: int
) -> dict[str, Callable[[Floats], Floats]]:
    """Return what predicts our own bands, trained for an area on errors of unseen rows."""
    X, y = train
    folds = KFold(settings.get("cross_fits", 5), shuffle=True, random_state=seed)
    errors = np.abs(y - cross_val_predict(boosted(settings["strong"], seed=seed), X, y, cv=folds))
    return {
        name: BandRegressor(axes, random_state=seed).fit(X, errors).predict
        for name, axes in OURS.items()
    }


# ---- folds


def splits(n: int, settings: Settings, *, seed: int) -> Iterator[tuple[Indices, Indices, Indices]]:
    """Yield the training, held-out and test rows of each fold of each repetition."""
    for repetition in range(settings["repetitions"]):
        state = 1000 * seed + repetition
        for rest, test in KFold(settings["folds"], shuffle=True, random_state=state).split(
            np.arange(n)
        ):
            train, held_out = train_test_split(
                rest, test_size=settings["held_out"], random_state=state
            )
            yield train, held_out, test


def intervals(train: Data, new: Sets, settings: Settings, *, seed: int) -> Arrays:
    """Return one fold's intervals of each of the paper's models and of ours, all around one prediction."""
    found = quantile_models(train, new, settings, seed=seed, kinds=TODAY | {TIES: EarlierBoosting})
    base, band = (boosted(settings["strong"], seed=seed, quantile=q) for q in (None, HIGH))
    state = int(np.random.RandomState(seed).randint(2**31 - 1))
    meta = meta_bands(train, base, band, share=settings["meta_share"], state=state)
    for name, predict in {"Meta": meta, **area_bands(train, settings, seed=seed)}.items():
        found |= {
            f"{key} {name}": banded(found[f"{key} GBR"], predict(X)) for key, (X, _) in new.items()
        }
    return found


def pooled(load: Callable[[], Data], seed: int, settings: Settings) -> Arrays:
    """Return the intervals of one fold after the other; a quick run may take only the first rows."""
    X, y = (array[: settings.get("rows")] for array in load())
    chosen = list(splits(len(y), settings, seed=seed))
    sets = [[(X[rows], y[rows]) for rows in split] for split in chosen]
    jobs = Parallel(n_jobs=-1 if len(y) > FEW_ROWS else 1)
    folds = jobs(
        delayed(intervals)(train, dict(zip(PERIODS, new, strict=True)), settings, seed=seed)
        for train, *new in sets
    )
    found = {name: np.concatenate([one[name] for one in folds], axis=-1) for name in folds[0]}
    for place, period in enumerate(PERIODS, start=1):
        found[f"{period} fold"] = np.repeat(
            np.arange(len(chosen)), [len(split[place]) for split in chosen]
        )
    return {
        "unit": np.array(y.std()),
        "test row": np.concatenate([test for *_, test in chosen]),
        **found,
    }


# ---- readings


def read(reading: str, part: Arrays) -> tuple[Models, dict[str, float]]:
    """Return the test intervals of a reading, and the scales at which their costs are taken.

    In the first they are as predicted, with the scales that are cheapest on BM on the held-out rows. In the second they
    are calibrated by fold, and only the constant band still has a scale to be tuned.
    """
    unit = float(part["unit"])
    held_out, test = (models_of(part, (*MODELS, *OURS), period) for period in PERIODS)
    if reading == FIRST:
        return test, tuned(held_out, BM, unit)
    fold, found = {period: part[f"{period} fold"] for period in PERIODS}, {}
    for name in MODELS:
        label = name if name == "Meta" else f"{name}{TIES}"
        found[name] = calibrated_by_fold(
            {period: part[f"{period} {label}"] for period in PERIODS}, fold, unit
        )
    return with_constant(found), dict.fromkeys(MODELS, 1.0) | tuned(
        {"Constant": held_out["Constant"]}, ED, unit
    )


def experiment(
    name: str, load: Callable[[], Data], judge: Judge, order: tuple[str, ...]
) -> Experiment:
    """Return the experiment with a data set; `order` is the paper's ranking by the BM area."""

    def findings(reading: str, parts: Parts, seed: int) -> Findings:
        unit, tested = float(parts["intervals"]["unit"]), parts["intervals"]["test row"]
        test, scales = read(reading, parts["intervals"])
        cells = summary(test, scales, unit)
        claims = judge({name: test[name] for name in order}, cells, unit, seed)
        block = (
            tested if len(np.unique(tested)) < len(tested) else None
        )  # rows that are tested more than once
        return Findings(cells, claims, test, unit, block, (order,))

    def draw(parts: Parts) -> Figures:
        figure, panels = canvas(2, rows=2, sharex="col")
        for place, reading in enumerate((FIRST, SECOND)):
            test, scales = read(reading, parts["intervals"])
            models = {model: test[model] for model in ("Constant", *MODELS)}
            for ax, axes in zip(panels[2 * place :], (ED, BM), strict=False):
                draw_curves(ax, models, axes, unit="std", scales=scales)
                ax.set_title(f"{reading} reading", fontsize="medium")
        return {f"{name}-ucc": figure}

    return Experiment(name, {"intervals": partial(pooled, load)}, findings, draw, (FIRST, SECOND))
