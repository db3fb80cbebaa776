"""Permutations and resamples against scipy, one ``np.sort`` and one ``np.cumsum``, and the memory of comparisons."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.stats

import uccurve as ucc
from uccurve.compare.bootstrap import interval_estimates
from uccurve.compare.question import Question
from uccurve.compare.replicates import Settings
from uccurve.compare.units import Units

from .bench_core import models
from .measure import Job, Row, peak, timings

FACTS: dict[str, Any] = {
    "bandwidth/miss_rate": ("bandwidth", "miss_rate"),
    "bandwidth/deficit": ("bandwidth", "deficit"),
    "overshoot/deficit": ("overshoot", "deficit"),
}
FOLDED: Any = ("excess", "deficit")
BATCH = 100
"""Swaps that scipy holds at a time: more are slower, for they leave the cache."""
MEGABYTES = 256.0


def run(quick: bool = False) -> list[Row]:
    """Ratios of three jobs to their yardsticks, and the peaks of memory."""
    small, large = (10**3, 10**4) if quick else (10**4, 10**5)
    few = 10 if quick else 1
    return [
        *_against_scipy(small, 10_000 // few),
        _against_sort(large, 2000 // few),
        _against_cumsum(large, 1000 // few),
        *_memory(10**5 if quick else 10**6, 99 if quick else 999),
    ]


def pair(n: int, kind: str) -> tuple[ucc.Intervals, ucc.Intervals]:
    """Two models of the same rows: bands that know half of the spread, and those bands in other rows' places."""
    first = models(n)[kind]
    lower, upper = (np.roll(band, n // 3) for band in (first.lower_band, first.upper_band))
    return first, ucc.Intervals.from_bands(first.y_true, first.y_pred, lower, None if kind == "symmetric" else upper)


class Limit(NamedTuple):
    """What a job is measured by, how many yardsticks it may take and should take, and in how many rounds."""

    yardstick: str
    most: float
    aim: float
    rounds: int


SCIPY = Limit("scipy.stats.permutation_test", 1 / 20, 1 / 50, 2)
SORT = Limit("np.sort of N floats", 300.0, 100.0, 15)
CUMSUM = Limit("np.cumsum of 2N floats", 20.0, 8.0, 5)


def _row(job: str, n: int, limit: Limit, ours: Job, theirs: Job, *, times: int = 1) -> Row:
    """How many yardsticks a job takes; where it makes many passes, how many each of them takes."""
    mine, yardstick = timings({"ours": ours, "theirs": theirs}, repetitions=limit.rounds).values()
    cpu, wall = (ratio / times for ratio in mine.over(yardstick))
    row: Row = {"job": job, "N": n, "unit": f"x {limit.yardstick}", "cpu": cpu, "wall": wall}
    return row | {
        "at most": limit.most,
        "aim": limit.aim,
        "cpu ms": 1e3 * mine.cpu,
        "yardstick ms": 1e3 * yardstick.cpu,
    }


def _against_scipy(n: int, count: int) -> list[Row]:
    a, b = pair(n, "symmetric")
    rows = []
    for name, axes in FACTS.items():
        ours = partial(ucc.permutation_test, a, b, axes=axes, n_resamples=count, seed=0)
        theirs = partial(_scipy, a, b, name, count)
        rows.append(_row(f"{count} permutations on {name}", n, SCIPY, ours, theirs))
    return rows


def _scipy(a: ucc.Intervals, b: ucc.Intervals, name: str, count: int) -> float:
    """The same test by scipy, with the same closed form of the area for a batch of swaps at once."""
    error = np.abs(a.y_true - a.y_pred)
    power, part = (1, 1.0) if name == "bandwidth/miss_rate" else (2, 0.5)
    less = error.mean() ** 2 / 2 if name == "overshoot/deficit" else 0.0
    amount = part * error**power

    def area(band: Any) -> Any:
        return band.mean(axis=-1) * (amount / band).mean(axis=-1) - less

    test = scipy.stats.permutation_test(
        [intervals.upper_band / intervals.upper_band.mean() for intervals in (a, b)],
        lambda x, y, axis: area(x) - area(y),  # noqa: ARG005  # scipy names the axis, which always is the last
        permutation_type="samples",
        n_resamples=count,
        batch=BATCH,
        vectorized=True,
        rng=np.random.default_rng(0),
    )
    return float(test.pvalue)


def _against_sort(n: int, count: int) -> Row:
    """Resample all three gains of a symmetric model together, as `assess` does."""
    intervals, floats = models(n)["symmetric"], np.random.default_rng(8).random(n)
    questions = [Question("gain", axes, "scale") for axes in [*list(FACTS.values())[:2], FOLDED]]
    settings = Settings(0.95, "BCa", count)

    def ours() -> object:
        units = Units.of(intervals, None)
        return interval_estimates(intervals, questions, units, settings, rng=np.random.default_rng(0))

    return _row(f"{count} resamples of three gains, symmetric", n, SORT, ours, lambda: np.sort(floats))


def _against_cumsum(n: int, count: int) -> Row:
    a, b = pair(n, "asymmetric")
    floats = np.random.default_rng(8).random(2 * n)
    ours = partial(ucc.permutation_test, a, b, axes=FOLDED, n_resamples=count, seed=0)
    job = f"each of {count} permutations on excess/deficit, asymmetric"
    return _row(job, n, CUMSUM, ours, lambda: np.cumsum(floats), times=count)


def _memory(n: int, count: int) -> list[Row]:
    """Peaks above the input. The number of resamples is small, for it changes nothing but the list of answers."""
    a, b = pair(n, "asymmetric")
    how: dict[str, Any] = {"n_resamples": count, "seed": 0}
    jobs: dict[str, Job] = {}
    for axes in (FACTS["bandwidth/miss_rate"], FOLDED):
        name = "/".join(axes)
        jobs[f"permutation_test, area on {name}"] = partial(ucc.permutation_test, a, b, axes=axes, **how)
        jobs[f"bootstrap, gain on {name}"] = partial(ucc.bootstrap, a, axes=axes, **_few(how, axes))
        jobs[f"crossings on {name}"] = partial(ucc.crossings, a, b, axes=axes)
        jobs[f"confidence_band on {name}"] = partial(ucc.confidence_band, a, axes=axes, **_few(how, FOLDED))
    partial_area = {"axes": FOLDED, "miss_rate": (0.0, 0.5)}
    jobs["permutation_test, partial area on excess/deficit"] = partial(
        ucc.permutation_test, a, b, **partial_area, **_few(how, FOLDED)
    )
    jobs["assess of two models"] = partial(ucc.assess, {"a": a, "b": b}, n_resamples=5, n_permutations=count)
    return [_peak(job, n, work) for job, work in jobs.items()]


def _few(how: dict[str, Any], axes: Any) -> dict[str, Any]:
    """What walks along all rows again for each resample gets few of them."""
    return how | {"n_resamples": 5} if axes == FOLDED else how


def _peak(job: str, n: int, work: Job) -> Row:
    memory = peak(work) / 1e6
    return {"job": f"peak of {job}", "N": n, "unit": "MB", "memory": memory, "at most": MEGABYTES, "aim": None}
