"""Cross-validated intervals on a table of features: the fits behind the housing and the wine data."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, train_test_split
from sklearn.utils.parallel import Parallel, delayed

from .experiment import Floats, Settings
from .store import Arrays
from .trees import EarlierBoosting, area_bands, banded, boosted, bounds, half_widths, rows

Index = np.ndarray[Any, np.dtype[np.intp]]
Split = tuple[Index, Index, Index]
Data = tuple[Floats, Floats]
PERIODS = ("held out", "test")
FEW_ROWS = 2000  # their folds are done before other processes have started


def splits(n: int, settings: Settings, *, seed: int) -> Iterator[Split]:
    """Yield the training, held-out and test rows of each fold of each repetition."""
    for repetition in range(settings["repetitions"]):
        state = 1000 * seed + repetition
        for rest, test in KFold(settings["folds"], shuffle=True, random_state=state).split(np.arange(n)):
            train, held_out = train_test_split(rest, test_size=settings["held_out"], random_state=state)
            yield train, held_out, test


def intervals(data: Data, split: Split, settings: Settings, *, seed: int) -> Arrays:
    """Return one fold's intervals of each of the paper's models, all around one prediction."""
    X, y = data
    train, *others = split
    at = [X[index] for index in others]
    target = boosted(settings["strong"], seed=seed).fit(X[train], y[train])
    strong, weak = (bounds(X[train], y[train], at, settings[size], seed=seed) for size in ("strong", "weak"))
    meta = half_widths(X[train], y[train], at, settings["strong"], share=settings["meta_share"], seed=seed)
    found: Arrays = {}
    for place, (period, index) in enumerate(zip(PERIODS, others, strict=True)):
        y_pred = target.predict(X[index])
        found[f"{period} GBR"] = rows(y[index], y_pred, *strong[place])
        found[f"{period} GBR-Weak"] = rows(y[index], y_pred, *weak[place])
        found[f"{period} Meta"] = banded(y[index], y_pred, meta[place])
    return found


def earlier_bounds(data: Data, split: Split, settings: Settings, *, seed: int) -> Arrays:
    """Return one fold's bounds of the quantile models with the ties of the paper's time."""
    X, y = data
    train, *others = split
    found: Arrays = {}
    for name, size in (("GBR", "strong"), ("GBR-Weak", "weak")):
        at = [X[index] for index in others]
        fitted = bounds(X[train], y[train], at, settings[size], seed=seed, kind=EarlierBoosting)
        found |= {f"{period} {name}": one for period, one in zip(PERIODS, fitted, strict=True)}
    return found


def trained_bands(data: Data, split: Split, settings: Settings, *, seed: int) -> Arrays:
    """Return one fold's bands of our own models."""
    X, y = data
    train, *others = split
    at = [X[index] for index in others]
    fitted = area_bands(X[train], y[train], at, settings["strong"], folds=settings["cross_fits"], seed=seed)
    return {
        f"{period} {name}": band[None]
        for period, bands in zip(PERIODS, fitted, strict=True)
        for name, band in bands.items()
    }


def pooled(load: Callable[[], Data], fold: Callable[..., Arrays], settings: Settings, *, seed: int) -> Arrays:
    """Return what `fold` finds, one fold after the other; `settings["rows"]` takes only the first rows (quick runs)."""
    data = tuple(array[: settings["rows"]] for array in load())
    y = data[1]
    chosen = list(splits(len(y), settings, seed=seed))
    jobs = Parallel(n_jobs=-1 if len(y) > FEW_ROWS else 1)
    folds = jobs(delayed(fold)(data, split, settings, seed=seed) for split in chosen)
    found = {name: np.concatenate([one[name] for one in folds], axis=1) for name in folds[0]}
    for place, period in enumerate(PERIODS, start=1):
        found[f"{period} fold"] = np.repeat(np.arange(len(chosen)), [len(split[place]) for split in chosen])
    return {"unit": np.array(y.std()), "test row": np.concatenate([test for *_, test in chosen]), **found}
