"""Data of the study: the paper's, scikit-learn's and statsmodels' tables, and synthetic ones, new for each seed."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import sklearn.datasets
from sklearn.model_selection import GroupKFold

from uccurve._arrays import Indices

from . import loaders
from .experiment import Floats

FOLDS = 5
# Up to so many rows a seed tests all folds of its own shuffle; above, each seed tests one fold of the same shuffle.
FEW = 1000
QUICK_ROWS = 300


# Features, target, a label per row that dependent rows share, and which rows no method may train on.
Table = tuple[Floats, Floats, Indices, np.ndarray[Any, np.dtype[np.bool_]]]


class Trial(NamedTuple):
    """A data set as one seed sees it: its columns, the training and test rows of each fold, and all test rows."""

    data: str
    seed: int
    quick: bool
    X: Floats
    y: Floats
    label: Indices
    folds: list[tuple[Indices, Indices]]
    test: Indices


def trial(name: str, seed: int, *, quick: bool) -> Trial:
    """Return a trial; a quick one has few rows and one fold."""
    columns: Any = DATA[name](seed)
    X, y, label, hidden = (column[: QUICK_ROWS if quick else None] for column in columns)
    whole = len(y) <= FEW and not quick
    shuffled = GroupKFold(FOLDS, shuffle=True, random_state=seed if whole else seed // FOLDS)
    folds = [(train[~hidden[train]], test) for train, test in shuffled.split(X, groups=label)]
    folds = folds if whole else [folds[seed % FOLDS]]
    return Trial(name, seed, quick, X, y, label, folds, np.concatenate([test for _, test in folds]))


def table(X: Any, y: Any, label: Indices | None = None, hidden: Any = False) -> Table:
    """Return a table of floats; by default rows are independent and may all be trained on."""
    label = np.arange(len(y)) if label is None else label
    return np.asarray(X, float), np.asarray(y, float), label, np.broadcast_to(hidden, len(y))


def synthetic(
    seed: int, rows: int, noise: str = "normal", *, features: int = 5, gap: float = 0.0
) -> Table:
    """Return rows with uniform features, a bumpy signal, and noise that grows eightfold along two features.

    One of these two is no part of the signal. Rows whose first feature lies in a `gap` of this width are only tested.
    """
    rng = np.random.default_rng([rows, seed])
    X = rng.uniform(size=(rows, features))
    signal = 4 * np.sin(2 * np.pi * X[:, 0]) + 6 * (X[:, 1] - 0.5) ** 2 + 3 * X[:, 2]
    size = 0.4 * np.exp(1.5 * X[:, 0] + 0.6 * X[:, 3])
    if noise == "skewed":
        drawn = rng.exponential(size=rows) - 1
    else:
        drawn = rng.standard_t(3, size=rows) if noise == "heavy tails" else rng.normal(size=rows)
    return table(
        X, signal + size * drawn, seed * rows + np.arange(rows), np.abs(X[:, 0] - 0.6) < gap / 2
    )


def friedman1(seed: int) -> Table:
    """Return Friedman's first function with normal noise of one size: no band should beat a constant one."""
    X, y = sklearn.datasets.make_friedman1(FEW, noise=1.0, random_state=seed)
    return table(X, y, seed * FEW + np.arange(FEW))


def statsmodels_set(name: str, target: str = "") -> Table:
    """Return a data set that comes with statsmodels, with one column as the target and the others as features."""
    frame = import_module(f"statsmodels.datasets.{name}").load_pandas().data
    if name != "star98":
        return table(frame.drop(columns=target), frame[target])
    rows = (
        frame.to_numpy()
    )  # school districts: pupils above and below the median; from column 15 on products of others
    return table(rows[:, 2:14], rows[:, 0] / (rows[:, 0] + rows[:, 1]))


def traffic() -> Table:
    """Return the observed hours; those of a week belong together."""
    grid = loaders.hourly(loaders.traffic())
    weather = grid.select("temp", "rain_1h", "snow_1h", "clouds_all").to_numpy()
    seen = np.flatnonzero(grid["observed"].to_numpy())
    X = np.column_stack([weather, loaders.calendar_columns(grid)])
    return table(X[seen], grid["volume"].to_numpy()[seen], seen // loaders.WEEK)


# What each is, and the package it comes with, is in `study.toml`.
DATA: dict[str, Callable[[int], Table]] = {
    "housing": lambda _: table(*loaders.housing()),
    "wine": lambda _: table(*loaders.wine()),
    "traffic": lambda _: traffic(),
    "diabetes": lambda _: table(*sklearn.datasets.load_diabetes(return_X_y=True)),
    "engel": lambda _: statsmodels_set("engel", "foodexp"),
    "cancer": lambda _: statsmodels_set("cancer", "cancer"),
    "star98": lambda _: statsmodels_set("star98"),
    "fair": lambda _: statsmodels_set("fair", "affairs"),
    "randhie": lambda _: statsmodels_set("randhie", "mdvis"),
    "friedman1": friedman1,
    "noise-300": lambda seed: synthetic(seed, 300),
    "noise": lambda seed: synthetic(seed, 5000),
    "heavy-tails": lambda seed: synthetic(seed, 5000, "heavy tails"),
    "skewed": lambda seed: synthetic(seed, 5000, "skewed"),
    "gap": lambda seed: synthetic(seed, 2000, gap=0.2),
    "large": lambda seed: synthetic(seed, 50_000, "heavy tails", features=10),
}
QUICK = ("diabetes", "engel", "noise-300", "skewed")
