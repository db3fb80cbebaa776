"""Pockets: how often false ones are named, how often true ones are found: ``python -m benchmarks.pockets``.

``rates`` simulates worlds with and without a pocket, ``power`` the pocket that is said to be findable, ``data FOLDER``
calibrates four data sets by pocket, ``speed`` compares with one fit of boosted trees. All print Markdown tables.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

import uccurve as ucc
from uccurve.pockets.features import ELSEWHERE, read_features
from uccurve.pockets.regions import smallest_found

from .measure import timings

Array = npt.NDArray[np.float64]
Columns = dict[str, npt.NDArray[Any]]
FEATURES = 6
ALPHA = 0.1
FOLDS = 5


@dataclass(frozen=True, slots=True)
class World:
    """Rows of one simulation: intervals, features, blocks and which rows lie in a true pocket."""

    intervals: ucc.Intervals
    features: dict[str, Array]
    pocket: npt.NDArray[np.bool_]
    block: npt.NDArray[np.intp] | None = None

    def found(self, seed: int = 0) -> ucc.Pockets:
        """Return what is found in it."""
        return ucc.find_pockets(
            self.intervals, self.features, coverage=1 - ALPHA, block=self.block, seed=seed
        )


def uniform(rng: np.random.Generator, rows: int) -> dict[str, Array]:
    """Return independent features."""
    return {f"x{number}": rng.uniform(size=rows) for number in range(FEATURES)}


def from_sd(rng: np.random.Generator, sd: Array, bands: Array | float) -> ucc.Intervals:
    """Return normal errors with these standard deviations and bands."""
    rows = len(sd)
    return ucc.Intervals.from_std(
        rng.normal(size=rows) * sd, np.zeros(rows), np.broadcast_to(bands, rows)
    )


def equal(rng: np.random.Generator, rows: int) -> World:
    """Every row has the same risk."""
    iv = from_sd(rng, np.ones(rows), 1.0)
    return World(iv, uniform(rng, rows), np.zeros(rows, np.bool_))


def scaled(rng: np.random.Generator, rows: int) -> World:
    """Errors of unlike sizes, for which the bands are right."""
    features = uniform(rng, rows)
    sd = np.exp(features["x0"] + 2 * features["x1"] * features["x2"])
    return World(from_sd(rng, sd, sd), features, np.zeros(rows, np.bool_))


def blocked(rng: np.random.Generator, rows: int) -> World:
    """Days of 20 rows share half the variance of their errors, and three of the features."""
    day = np.arange(rows) // 20
    days = int(day[-1]) + 1
    y = rng.normal(size=days)[day] * sqrt(0.5) + rng.normal(size=rows) * sqrt(0.5)
    features = uniform(rng, rows)
    for name in ("x0", "x1", "x2"):
        features[name] = rng.uniform(size=days)[day]
    iv = ucc.Intervals.from_std(y, np.zeros(rows), np.ones(rows))
    return World(iv, features, np.zeros(rows, np.bool_), day)


def xor(rng: np.random.Generator, rows: int) -> World:
    """Two features together say whether the standard deviation is .6 or 1.6; neither says anything alone."""
    features = uniform(rng, rows)
    inside = (features["x0"] > 0.5) ^ (features["x1"] > 0.5)
    return World(from_sd(rng, np.where(inside, 1.6, 0.6), 1.0), features, inside)


def box(rng: np.random.Generator, rows: int) -> World:
    """12% of the rows have twice the standard deviation."""
    features = uniform(rng, rows)
    side = sqrt(0.12)
    inside = (features["x0"] < side) & (features["x1"] > 1 - side)
    return World(from_sd(rng, np.where(inside, 2.0, 1.0), 1.0), features, inside)


def trend(rng: np.random.Generator, rows: int) -> World:
    """The standard deviation is .5 + x."""
    features = uniform(rng, rows)
    sd = 0.5 + features["x0"]
    return World(from_sd(rng, sd, 1.0), features, sd > 1)


Maker = Callable[[np.random.Generator, int], World]
FALSE: list[tuple[str, Maker, int]] = [
    ("equal risks", equal, 500),
    ("equal risks", equal, 2_000),
    ("equal risks", equal, 10_000),
    ("bands scaled correctly", scaled, 500),
    ("bands scaled correctly", scaled, 2_000),
    ("bands scaled correctly", scaled, 10_000),
    ("days of 20 rows", blocked, 1_000),
    ("days of 20 rows", blocked, 10_000),
]
TRUE: list[tuple[str, Maker, int]] = [
    ("two features together (XOR), sd .6 and 1.6", xor, 4_000),
    ("a box of 12%, twice the sd", box, 1_000),
    ("a linear trend, sd .5 + x", trend, 1_000),
]


def table(headings: list[str], rows: Iterator[list[Any]]) -> None:
    """Print a Markdown table, each row as soon as it is known."""
    print("| " + " | ".join(headings) + " |")
    print("|" + "---|" * len(headings), flush=True)
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


def rates(runs: int, seed: int) -> None:
    """Print how often pockets are named where there is none, and found where there is one."""
    table(["world without a pocket", "rows", "runs", "any pocket named"], _false(runs, seed))
    print()
    headings = ["world with a pocket", "rows", "runs", "found", "rows named that lie in it"]
    table(headings, _true(runs, seed))


def _false(runs: int, seed: int) -> Iterator[list[Any]]:
    for title, make, rows in FALSE:
        named = 0
        for run in range(runs):
            world = make(np.random.default_rng([seed, rows, run]), rows)
            model = world.found(run).models[0]
            named += bool(model.pockets or model.wide)
        yield [title, f"{rows:,}", runs, f"{named / runs:.1%}"]


def _true(runs: int, seed: int) -> Iterator[list[Any]]:
    for title, make, rows in TRUE:
        found = 0
        right: list[float] = []
        for run in range(runs):
            world = make(np.random.default_rng([seed, rows, run]), rows)
            pockets = world.found(run)
            if not len(pockets):
                continue
            found += 1
            columns = read_features(world.features)
            inside = np.any([pocket.region.holds(columns) for pocket in pockets], axis=0)
            right.append(float(world.pocket[inside].mean()))
        share = f"{np.mean(right):.0%}" if right else ""
        yield [title, f"{rows:,}", runs, f"{found / runs:.1%}", share]


# ---- the pocket that is said to be findable


def power(runs: int, seed: int) -> None:
    """Print how often the smallest pocket that is said to be found with 80% probability is found."""
    headings = ["rows", "pocket of", "that covers", "runs", "found"]
    table(headings, _power(runs, seed))


def _power(runs: int, seed: int) -> Iterator[list[Any]]:
    for rows in (1_000, 4_000, 10_000):
        promised = smallest_found(effective=rows, alpha=ALPHA, confidence_level=0.95)
        if promised is None:
            continue
        found = 0
        for run in range(runs):
            rng = np.random.default_rng([seed, rows, run])
            world = _with_pocket(rng, rows, promised.share, promised.coverage)
            found += bool(len(world.found(run)))
        share = f"{promised.share:.0%}"
        yield [f"{rows:,}", share, f"{promised.coverage:.0%}", runs, f"{found / runs:.0%}"]


def _with_pocket(rng: np.random.Generator, rows: int, share: float, coverage: float) -> World:
    """Return rows of which a share, by one feature, is covered this often and the rest as promised."""
    features = uniform(rng, rows)
    inside = features["x0"] > 1 - share
    normal = NormalDist()
    wider = normal.inv_cdf(1 - ALPHA / 2) / normal.inv_cdf((1 + coverage) / 2)
    return World(from_sd(rng, np.where(inside, wider, 1.0), 1.0), features, inside)


# ---- four data sets


@dataclass(frozen=True, slots=True)
class Data:
    """One data set: its features, also as numbers, its target and which rows depend on each other."""

    features: Columns
    matrix: Array
    y: Array
    block: npt.NDArray[np.intp]

    @classmethod
    def of(cls, features: Columns, y: Array, block: npt.NDArray[np.intp] | None = None) -> Data:
        """Number the labels of all rows: parts of them would number other ones."""
        columns = [feature.values for feature in read_features(features)]
        rows = np.arange(len(y)) if block is None else block
        return cls(features, np.column_stack(columns), y, rows)

    def at(self, rows: npt.NDArray[Any]) -> Data:
        """Return some of the rows."""
        features = {name: column[rows] for name, column in self.features.items()}
        return Data(features, self.matrix[rows], self.y[rows], self.block[rows])


def wine(folder: Path) -> Data:
    """Return the quality of white wines."""
    columns = _read_csv(folder / "winequality-white.csv")
    quality = columns.pop("quality")
    return Data.of(columns, quality.astype(np.float64))


def traffic(folder: Path) -> Data:
    """Return the traffic volume per hour; the hours of a day depend on each other."""
    columns = _read_csv(folder / "Metro_Interstate_Traffic_Volume.csv")
    volume = columns.pop("traffic_volume")
    hour = np.array([text.replace(" ", "T") for text in columns["date_time"]], "datetime64[h]")
    day = hour.astype("datetime64[D]")
    columns["hour"] = (hour - day).astype(np.int64)
    columns["weekday"] = (day.astype(np.int64) + 3) % 7
    columns["date"] = day
    names = ("holiday", "temp", "weather_main", "hour", "weekday", "date")
    features = {name: columns[name] for name in names}
    return Data.of(features, volume.astype(np.float64), np.unique(day, return_inverse=True)[1])


def uci(name: str) -> Callable[[Path], Data]:
    """Return a loader of a set of the usual benchmark, whose target is given."""

    def load(folder: Path) -> Data:
        rows = np.loadtxt(folder / "uci" / f"{name}.txt")
        names = UCI_NAMES.get(name, [f"F{number + 1}" for number in range(rows.shape[1] - 1)])
        features: Columns = dict(zip(names, rows[:, :-1].T, strict=True))
        return Data.of(features, rows[:, -1])

    return load


UCI_NAMES = {"power-plant": ["temperature", "vacuum", "pressure", "humidity"]}
SETS: dict[str, Callable[[Path], Data]] = {
    "wine": wine,
    "traffic": traffic,
    "protein": uci("protein-tertiary-structure"),
    "power-plant": uci("power-plant"),
}


def _read_csv(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return columns as numbers where all cells are, else as text."""
    with path.open(encoding="utf-8") as stream:
        delimiter = ";" if ";" in stream.readline() else ","
    rows = np.genfromtxt(path, delimiter=delimiter, dtype=None, names=True, encoding="utf-8")
    return {name: rows[name] for name in rows.dtype.names or ()}


def data(folder: Path, splits: int, seed: int) -> None:
    """Print what calibration by pocket does on held-out rows, over several splits of each data set."""
    headings = [
        "data",
        "pockets per split",
        "the most significant one of the first split",
        "too narrow: before",
        "after",
        "too wide: before",
        "after",
        "elsewhere: before",
        "after",
        "typical distance of a pocket from 90% after, without sampling error",
    ]
    table(headings, (_on_data(name, SETS[name](folder), splits, seed) for name in SETS))


@dataclass(frozen=True, slots=True)
class Checked:
    """What a pocket covers on held-out rows, before and after it got a factor of its own."""

    kind: str
    title: str
    before: npt.NDArray[np.bool_]
    after: npt.NDArray[np.bool_]
    learnt: int  # rows behind its factor

    @property
    def excess(self) -> float:
        """Squared distance from the promise, less what chance adds."""
        variance = ALPHA * (1 - ALPHA)
        chance = variance / len(self.after) + variance / self.learnt
        return float((self.after.mean() - (1 - ALPHA)) ** 2 - chance)


def _on_data(name: str, rows: Data, splits: int, seed: int) -> list[Any]:
    checked: list[Checked] = []
    for split in range(splits):
        checked += _one_split(rows, np.random.default_rng([seed, split]))
    pockets = [pocket for pocket in checked if pocket.kind != ELSEWHERE]
    titles = [pocket.title for pocket in pockets if pocket.kind == "too narrow"]
    surest = f"`{titles[0]}`" if titles else ""
    shares = [
        share for kind in ("too narrow", "too wide", ELSEWHERE) for share in _shares(checked, kind)
    ]
    excess = np.mean([pocket.excess for pocket in pockets]) if pockets else np.nan
    distance = sqrt(max(float(excess), 0.0))
    return [name, f"{len(pockets) / splits:.1f}", surest, *shares, f"{distance:.1%}"]


def _shares(checked: list[Checked], kind: str) -> list[str]:
    """Return the mean coverage of the regions of a kind, before and after."""
    regions = [region for region in checked if region.kind == kind]
    if not regions:
        return ["", ""]
    before = np.mean([region.before.mean() for region in regions])
    after = np.mean([region.after.mean() for region in regions])
    return [f"{before:.1%}", f"{after:.1%}"]


def _one_split(rows: Data, rng: np.random.Generator) -> list[Checked]:
    """Learn pockets and factors on 70% of the blocks, predicted by models that did not see them; check on the rest."""
    part = rng.choice(2, size=rows.block.max() + 1, p=(0.7, 0.3))[rows.block]
    learnt, held_out = rows.at(part == 0), rows.at(part == 1)
    fold = rng.integers(FOLDS, size=rows.block.max() + 1)[learnt.block]
    predicted = np.empty(len(learnt.y))
    expected = np.zeros(len(held_out.y))
    for number in range(FOLDS):
        model = HistGradientBoostingRegressor(random_state=0)
        model.fit(learnt.matrix[fold != number], learnt.y[fold != number])
        predicted[fold == number] = model.predict(learnt.matrix[fold == number])
        expected += model.predict(held_out.matrix) / FOLDS
    calibration = ucc.Intervals.from_bands(learnt.y, predicted, np.ones(len(predicted)))
    new = ucc.Intervals.from_bands(held_out.y, expected, np.ones(len(expected)))
    found = ucc.find_pockets(calibration, learnt.features, block=learnt.block).models[0]
    groups = np.array(found.labels(learnt.features))
    factors = ucc.IntervalCalibrator(coverage=1 - ALPHA).fit(calibration, groups=groups)
    whole = ucc.IntervalCalibrator(coverage=1 - ALPHA).fit(calibration)
    labels = np.array(found.labels(held_out.features))
    before = _covered(whole.apply(new))
    after = _covered(factors.apply(new, groups=labels))
    kinds = {pocket.title: pocket.kind for pocket in (*found.pockets, *found.wide)}
    return [
        Checked(
            kinds.get(title, ELSEWHERE),
            title,
            before[labels == title],
            after[labels == title],
            int(np.count_nonzero(groups == title)),
        )
        for title in dict.fromkeys(labels.tolist())
    ]


def _covered(intervals: ucc.Intervals) -> npt.NDArray[np.bool_]:
    covered: npt.NDArray[np.bool_] = (intervals.lower <= intervals.y_true) & (
        intervals.y_true <= intervals.upper
    )
    return covered


# ---- speed


def speed(rows: int, columns: int) -> None:
    """Print how long the search takes beside one fit of boosted trees to the same features."""
    rng = np.random.default_rng(0)
    matrix = rng.uniform(size=(rows, columns))
    y = 10 * np.sin(np.pi * matrix[:, 0] * matrix[:, 1]) + rng.normal(size=rows)
    features = {f"x{number}": matrix[:, number] for number in range(columns)}
    sd = np.where(matrix[:, 0] > 0.8, 1.5, 1.0)
    iv = from_sd(rng, sd, 1.0)
    jobs = {
        "find_pockets": lambda: ucc.find_pockets(iv, features),
        "one fit of HistGradientBoosting": lambda: HistGradientBoostingRegressor().fit(matrix, y),
    }
    times = timings(jobs, repetitions=3)
    single = times["one fit of HistGradientBoosting"]
    table(
        ["job", "rows", "features", "CPU seconds", "seconds", "ratio (CPU)"],
        (
            [
                name,
                f"{rows:,}",
                columns,
                f"{t.cpu:.2f}",
                f"{t.wall:.2f}",
                f"{t.over(single).cpu:.1f}",
            ]
            for name, t in times.items()
        ),
    )


def _run(asked: argparse.Namespace) -> None:
    if asked.what == "rates":
        rates(asked.runs, asked.seed)
    elif asked.what == "power":
        power(asked.runs, asked.seed)
    elif asked.what == "data":
        data(asked.folder, min(asked.runs, 10), asked.seed)
    else:
        speed(100_000, 20)


def main() -> None:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pockets")
    parser.add_argument("what", choices=["rates", "power", "data", "speed"])
    parser.add_argument("folder", nargs="?", type=Path, help="of the data sets")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=20261119)
    asked = parser.parse_args()
    started = time.perf_counter()
    with threadpool_limits(limits=1, user_api="openmp"):  # several would wait for other work
        _run(asked)
    print(f"\n{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
