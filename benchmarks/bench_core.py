"""Curves, areas and the way into `Intervals` against one ``np.sort`` of as many floats, their memory and growth."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import uccurve as ucc

from .measure import Job, Row, Timing, peak, timings

SORT = "np.sort of N floats"
ALPHA, COST = 0.05, 0.1
AREAS = {
    "symmetric": [
        "miss_rate vs. bandwidth",
        "deficit vs. bandwidth",
        "deficit vs. overshoot",
        "deficit vs. excess",
    ],
    "asymmetric": ["miss_rate vs. bandwidth", "deficit vs. bandwidth", "deficit vs. overshoot"],
}
"""Areas that have a closed form."""
MEMORY = (6.0, 5.0)
"""At most, and the aim: arrays of N floats above the input, for symmetric bands."""


class Timed(NamedTuple):
    """A job, how many yardsticks it may take and should take, and its yardstick."""

    work: Job
    most: float | None = None
    aim: float | None = None
    yardstick: str = SORT


def run(quick: bool = False) -> list[Row]:
    """Ratios at one size, the peak of memory, and the growth with the size."""
    n, repetitions = (10**5, 3) if quick else (10**6, 60)
    sizes = [10**4, 10**5] if quick else [10**4, 10**5, 10**6, 10**7]
    return [*ratios(n, repetitions), *_memory(n), *_growth(sizes), *_imports(repetitions // 3)]


def models(n: int) -> dict[str, ucc.Intervals]:
    """Heavy-tailed errors, lognormal bands that know half of the spread; once for both sides, once for each."""
    rng = np.random.default_rng(7)
    spread = np.exp(0.5 * rng.normal(size=n))
    y_pred = 10 * rng.normal(size=n)
    y_true = y_pred + spread * rng.standard_t(5, size=n)
    lower, upper = (spread * np.exp(0.5 * rng.normal(size=n)) for _ in range(2))
    return {
        "symmetric": ucc.Intervals.from_bands(y_true, y_pred, lower),
        "asymmetric": ucc.Intervals.from_bands(y_true, y_pred, lower, upper),
    }


def jobs(n: int) -> dict[str, Timed]:
    """Everything that is timed at one size; jobs with the same yardstick are one table."""
    floats, given = np.random.default_rng(8).random(n), models(n)
    return {SORT: Timed(lambda: np.sort(floats)), **_against_sort(given), **_against_table(given)}


def _against_sort(given: dict[str, ucc.Intervals]) -> dict[str, Timed]:
    symmetric, asymmetric = given.values()
    found = {
        _table_of("symmetric"): Timed(partial(_table, symmetric), 4.2, 2.5),
        _table_of("asymmetric"): Timed(partial(_table, asymmetric), 8.0, 5.0),
        f"UCC(iv).find(miss_rate={ALPHA}), symmetric": Timed(partial(_find, symmetric), 2.5, 1.5),
        f"UCC(iv).cheapest({COST}), symmetric": Timed(partial(_cheapest, symmetric), 4.5, 3.0),
        **_doors(asymmetric),
    }
    for kind, intervals in given.items():
        for axes in AREAS[kind]:
            found[f"UCC(iv).area(), {axes}, {kind}"] = Timed(
                partial(_area, intervals, axes), 0.6, 0.3
            )
    return found


def _doors(intervals: ucc.Intervals) -> dict[str, Timed]:
    """From float64 arrays to Intervals."""
    y_true, y_pred = intervals.y_true.copy(), intervals.y_pred.copy()
    bands = intervals.lower_band.copy(), intervals.upper_band.copy()
    bounds = intervals.lower.copy(), intervals.upper.copy()
    from_bands = partial(ucc.Intervals.from_bands, y_true, y_pred, *bands)
    from_bounds = partial(ucc.Intervals.from_bounds, y_true, y_pred, *bounds)
    return {
        "Intervals.from_bands": Timed(from_bands, 3.0, 1.5),
        "Intervals.from_bounds": Timed(from_bounds, 2.0, 1.2),
    }


def _against_table(given: dict[str, ucc.Intervals]) -> dict[str, Timed]:
    """Two looks at one curve: the second one must not sort again."""
    return {
        f"points(), then points() on deficit vs. excess, {kind}": Timed(
            partial(_two_looks, intervals), 1.3, 1.0, _table_of(kind)
        )
        for kind, intervals in given.items()
    }


def _table_of(kind: str) -> str:
    return f"UCC(iv).table(), {kind}"


def _table(intervals: ucc.Intervals) -> object:
    return ucc.UCC(intervals).table()


def _two_looks(intervals: ucc.Intervals) -> object:
    curve = ucc.UCC(intervals)
    return curve.points(), curve.points(axes=("excess", "deficit"))


def _find(intervals: ucc.Intervals) -> object:
    return ucc.UCC(intervals).find(miss_rate=ALPHA)


def _cheapest(intervals: ucc.Intervals) -> object:
    return ucc.UCC(intervals).cheapest(COST)


def _area(intervals: ucc.Intervals, axes: Any) -> float:
    y, x = axes.split(" vs. ")
    return ucc.UCC(intervals).area(axes=(x, y))


def ratios(n: int, repetitions: int) -> list[Row]:
    """How many yardsticks each job takes at one size."""
    given = jobs(n)
    times = timings({name: job.work for name, job in given.items()}, repetitions=repetitions)
    return [_row(name, n, given[name], times) for name in given]


def _row(name: str, n: int, job: Timed, times: dict[str, Timing]) -> Row:
    cpu, wall = times[name].over(times[job.yardstick])
    unit = "x sort" if job.yardstick == SORT else "x its own table()"
    limits = {"at most": job.most, "aim": job.aim}
    return {
        "job": name,
        "N": n,
        "unit": unit,
        "cpu": cpu,
        "wall": wall,
        **limits,
        "cpu ms": 1e3 * times[name].cpu,
    }


def _imports(repetitions: int) -> list[Row]:
    """How long a new process needs to import the package, where numpy is the yardstick."""
    seconds = {
        name: min(_import_seconds(name) for _ in range(repetitions))
        for name in ("numpy", "uccurve")
    }
    ratio = seconds["uccurve"] / seconds["numpy"]
    row: Row = {
        "job": "import uccurve",
        "unit": "x import numpy",
        "cpu": ratio,
        "at most": 2.0,
        "aim": None,
    }
    return [row | {"cpu ms": 1e3 * seconds["uccurve"]}]


def _import_seconds(name: str) -> float:
    code = f"import time; start = time.process_time(); import {name}; print(time.process_time() - start)"
    return float(
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True
        ).stdout
    )


def _memory(n: int) -> list[Row]:
    rows: list[Row] = []
    for kind, intervals in models(n).items():
        most, aim = MEMORY if kind == "symmetric" else (None, None)
        arrays = peak(partial(_table, intervals)) / (8 * n)
        row = {"job": f"peak of {_table_of(kind)}", "N": n, "unit": "arrays of N", "memory": arrays}
        rows.append(row | {"at most": most, "aim": aim})
    return rows


def _growth(sizes: list[int]) -> list[Row]:
    """How tables and the first closed form grow, without limits."""
    rows: list[Row] = []
    for n in sizes:
        given = {
            name: job
            for name, job in jobs(n).items()
            if name == SORT or "table" in name or "area(), miss_rate" in name
        }
        times = timings(
            {name: job.work for name, job in given.items()}, repetitions=min(200, 5 + 10**7 // n)
        )
        each = (_row(name, n, job, times) for name, job in given.items())
        rows += [
            {
                "growth": row["job"],
                **{name: row[name] for name in ("N", "unit", "cpu", "wall", "cpu ms")},
            }
            for row in each
        ]
    return rows
