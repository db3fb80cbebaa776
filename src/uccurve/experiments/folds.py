"""Cross-validated intervals on a table of features: the shared recipe of the housing and the wine data."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, train_test_split
from sklearn.utils.parallel import Parallel, delayed

from .experiment import Settings
from .store import Arrays
from .trees import Floats, banded, boosted, bounds, half_widths, rows

Index = np.ndarray[Any, np.dtype[np.intp]]
FEW_ROWS = 2000  # their folds are done before other processes have started


def splits(n: int, settings: Settings, *, seed: int) -> Iterator[tuple[Index, Index, Index]]:
    """Training, held-out and test rows of each fold of each repetition."""
    for repetition in range(settings["repetitions"]):
        state = 1000 * seed + repetition
        for rest, test in KFold(settings["folds"], shuffle=True, random_state=state).split(np.arange(n)):
            train, held_out = train_test_split(rest, test_size=settings["held_out"], random_state=state)
            yield train, held_out, test


def fold(X: Floats, y: Floats, split: tuple[Index, Index, Index], settings: Settings, *, seed: int) -> Arrays:
    """One fold's intervals at its held-out and test rows, for each model, all around the same prediction."""
    train, held_out, test = split
    at = X[held_out], X[test]
    target = boosted(settings["strong"], seed=seed).fit(X[train], y[train])
    quantiles = {
        "GBR": bounds(X[train], y[train], at, settings["strong"], seed=seed),
        "GBR-Weak": bounds(X[train], y[train], at, settings["weak"], seed=seed),
    }
    meta = half_widths(X[train], y[train], at, settings["strong"], share=settings["meta_share"], seed=seed)
    found: Arrays = {}
    for place, (period, index) in enumerate({"held out": held_out, "test": test}.items()):
        y_pred = target.predict(X[index])
        for name, fitted in quantiles.items():
            found[f"{period} {name}"] = rows(y[index], y_pred, *fitted[place])
        found[f"{period} Meta"] = banded(y[index], y_pred, meta[place])
    return found


def pooled(load: Callable[[], tuple[Floats, Floats]], settings: Settings, *, seed: int) -> Arrays:
    """The intervals of all folds, one after the other; `settings["rows"]` takes only the first rows (quick runs)."""
    X, y = load()
    X, y = X[: settings["rows"]], y[: settings["rows"]]
    jobs = -1 if len(y) > FEW_ROWS else 1
    tasks = (delayed(fold)(X, y, split, settings, seed=seed) for split in splits(len(y), settings, seed=seed))
    folds = Parallel(n_jobs=jobs)(tasks)
    return {"unit": np.array(y.std()), **{name: np.concatenate([f[name] for f in folds], axis=1) for name in folds[0]}}
