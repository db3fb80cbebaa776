"""Assessments, resamples and swaps against one ``np.sort``, scipy and one ``np.cumsum``, and their memory."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.stats

import uccurve as ucc

from .bench_core import SORT, models
from .measure import Job, Row, peak, timings

CLOSED: dict[str, Any] = {
    "miss_rate vs. bandwidth": ("bandwidth", "miss_rate"),
    "deficit vs. bandwidth": ("bandwidth", "deficit"),
    "deficit vs. overshoot": ("overshoot", "deficit"),
}
EXCESS: Any = ("excess", "deficit")
PART: Any = (0.0, 0.5)
SEGMENTS = 100
BATCH = 100
"""Swaps that scipy holds at a time: more are slower, because they leave the cache."""
MEGABYTES = 256.0


class Limit(NamedTuple):
    """What a job is measured by, how many yardsticks it may take and should take, and in how many rounds."""

    yardstick: str
    most: float
    aim: float
    rounds: int


ASSESS = {
    (10**5, "symmetric"): Limit(SORT, 1000.0, 300.0, 10),
    (10**5, "asymmetric"): Limit(SORT, 1500.0, 300.0, 10),
    (10**6, "symmetric"): Limit(SORT, 200.0, 100.0, 4),
    (10**6, "asymmetric"): Limit(SORT, 400.0, 100.0, 4),
}
"""Limits by rows and bands; other sizes have those of the nearest smaller one."""
BY = Limit("the same without by=", 3.0, 1.5, 6)
LEVELS = Limit("the same with one level", 3.0, 2.0, 6)
CRPS = Limit("np.sort of the samples", 1.6, 1.3, 3)
BOOTSTRAP = Limit(SORT, 150.0, 60.0, 3)
SCIPY = Limit("scipy.stats.permutation_test", 1 / 20, 1 / 50, 2)
CUMSUM = Limit("np.cumsum of 2N floats", 20.0, 8.0, 5)


def run(quick: bool = False) -> list[Row]:
    """Ratios to yardsticks, and the peaks of memory."""
    few, small, large = (10, 10**4, 10**5) if quick else (1, 10**5, 10**6)
    return [
        *(assessed(n, kind) for n in (small, large) for kind in ("symmetric", "asymmetric")),
        resampled(large, 1999 // few),
        segmented(small),
        of_levels(small),
        _crps(small, 100 // few),
        *_against_scipy(small // 10, 10_000 // few),
        _against_cumsum(small, 1000 // few),
        *_memory(large, 99 if quick else 999),
    ]


def three(n: int, kind: str) -> dict[str, ucc.Intervals]:
    """Models of the same predictions: bands that know half of the spread, a third of it, and other rows' bands."""
    first, rng = models(n)[kind], np.random.default_rng(9)
    noise, sides = np.exp(0.5 * rng.normal(size=n)), 1 if kind == "symmetric" else 2
    bands = (first.lower_band, first.upper_band)[:sides]

    def model(*bands: Any) -> ucc.Intervals:
        return ucc.Intervals.from_bands(first.y_true, first.y_pred, *bands)

    other = model(*(np.roll(band, n // 3) for band in bands))
    return {"half": first, "third": model(*(band * noise for band in bands)), "other rows": other}


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


def _sort(n: int) -> Job:
    floats = np.random.default_rng(8).random(n)
    return lambda: np.sort(floats)


def assessed(n: int, kind: str) -> Row:
    """How many sorts an assessment of three models takes."""
    limit = ASSESS[max(10**5, n), kind]
    return _row(
        f"assess of three models, {kind}", n, limit, partial(ucc.assess, three(n, kind)), _sort(n)
    )


def segmented(n: int) -> Row:
    """How many times as long an assessment takes with segments."""
    given = three(n, "symmetric")
    by = np.random.default_rng(10).integers(0, SEGMENTS, n).astype(str)
    ours = partial(ucc.assess, given, by=by)
    return _row(
        f"assess of three models by {SEGMENTS} segments", n, BY, ours, partial(ucc.assess, given)
    )


def of_levels(n: int) -> Row:
    """How many times as long an assessment takes where each model has three levels."""
    given = three(n, "symmetric")
    levels = {
        name: {
            level: one.calibrated(scale=factor)
            for level, factor in ((0.5, 0.4), (0.8, 0.8), (0.95, 1.3))
        }
        for name, one in given.items()
    }
    ours = partial(ucc.assess, levels, coverage=0.9)
    return _row(
        "assess of three models of three levels",
        n,
        LEVELS,
        ours,
        partial(ucc.assess, given, coverage=0.9),
    )


def _crps(n: int, count: int) -> Row:
    """How many sorts of the samples their CRPS takes."""
    rng = np.random.default_rng(11)
    y, samples = rng.normal(size=n), rng.normal(size=(count, n))
    ours, sort = partial(ucc.crps_score, y, samples), partial(np.sort, samples, axis=0)
    return _row(f"crps_score of {count} samples", n, CRPS, ours, sort)


def resampled(n: int, count: int) -> Row:
    """How many sorts a bootstrap of a partial gain takes."""
    intervals = models(n)["symmetric"]
    ours = partial(ucc.bootstrap, intervals, miss_rate=PART, n_resamples=count, seed=0)
    return _row(f"bootstrap of a partial gain, {count} resamples", n, BOOTSTRAP, ours, _sort(n))


def _against_scipy(n: int, count: int) -> list[Row]:
    a, _, b = three(n, "symmetric").values()
    rows = []
    for name, axes in CLOSED.items():
        ours = partial(ucc.permutation_test, a, b, axes=axes, n_resamples=count, seed=0)
        rows.append(
            _row(f"{count} swaps, {name}", n, SCIPY, ours, partial(_scipy, a, b, name, count))
        )
    return rows


def _scipy(a: ucc.Intervals, b: ucc.Intervals, name: str, count: int) -> float:
    """The same test by scipy, with the same closed form of the area for a batch of swaps at once."""
    error = np.abs(a.y_true - a.y_pred)
    power, part = (1, 1.0) if name == "miss_rate vs. bandwidth" else (2, 0.5)
    less = error.mean() ** 2 / 2 if name == "deficit vs. overshoot" else 0.0
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


def _against_cumsum(n: int, count: int) -> Row:
    a, _, b = three(n, "asymmetric").values()
    floats = np.random.default_rng(8).random(2 * n)
    ours = partial(ucc.permutation_test, a, b, axes=EXCESS, n_resamples=count, seed=0)
    job = f"each of {count} swaps, deficit vs. excess, asymmetric"
    return _row(job, n, CUMSUM, ours, lambda: np.cumsum(floats), times=count)


def _memory(n: int, count: int) -> list[Row]:
    """Peaks above the input. The number of resamples is small, because it changes nothing but the list of answers."""
    given = three(n, "asymmetric")
    a, _, b = given.values()
    how: dict[str, Any] = {"n_resamples": count, "seed": 0}
    found: dict[str, Job] = {
        "assess of three models, symmetric": partial(ucc.assess, three(n, "symmetric")),
        "assess of three models, asymmetric": partial(ucc.assess, given),
        "bootstrap of a partial gain": partial(ucc.bootstrap, a, miss_rate=PART, **how),
    }
    for name, axes in (
        ("miss_rate vs. bandwidth", CLOSED["miss_rate vs. bandwidth"]),
        ("deficit vs. excess", EXCESS),
    ):
        found[f"bootstrap, gain of {name}"] = partial(ucc.bootstrap, a, axes=axes, **how)
        found[f"permutation_test, area of {name}"] = partial(
            ucc.permutation_test, a, b, axes=axes, **how
        )
        found[f"crossings of {name}"] = partial(ucc.crossings, a, b, axes=axes)
        found[f"confidence_band of {name}"] = partial(ucc.confidence_band, a, axes=axes, **how)
    return [_peak(job, n, work) for job, work in found.items()]


def _peak(job: str, n: int, work: Job) -> Row:
    memory = peak(work) / 1e6
    return {
        "job": f"peak of {job}",
        "N": n,
        "unit": "MB",
        "memory": memory,
        "at most": MEGABYTES,
        "aim": None,
    }
