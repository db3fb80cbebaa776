"""Curves and areas against one ``np.sort`` of as many floats, their memory, and their growth."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import uccurve as ucc

from .measure import Row, Timing, peak, timings

SORT = "np.sort of N floats"
AREAS = {
    "symmetric": ["bandwidth/miss_rate", "bandwidth/deficit", "overshoot/deficit", "excess/deficit"],
    "asymmetric": ["bandwidth/miss_rate", "bandwidth/deficit", "overshoot/deficit"],
}
MUST = {"symmetric": (4.0, 2.5), "asymmetric": (8.0, 5.0), "area": (0.6, 0.3), "memory": (8.0, 6.0)}
"""At most, and the aim: times one sort, or arrays of N floats."""


def run(quick: bool = False) -> list[Row]:
    """Ratios at one size, the peak of memory, and the growth with the size."""
    n, repetitions = (10**5, 3) if quick else (10**6, 60)
    return [*_ratios(n, repetitions), *_memory(n), *_growth([10**4, 10**5] if quick else [10**4, 10**5, 10**6, 10**7])]


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


def _jobs(n: int) -> dict[str, Any]:
    floats = np.random.default_rng(8).random(n)
    jobs: dict[str, Any] = {SORT: lambda: np.sort(floats)}
    for kind, intervals in models(n).items():
        jobs[f"UCC(iv).table(), {kind}"] = partial(_table, intervals)
        for axes in AREAS[kind]:
            jobs[f"UCC(iv).area() on {axes}, {kind}"] = partial(_area, intervals, axes)
    return jobs


def _table(intervals: ucc.Intervals) -> object:
    return ucc.UCC(intervals).table()


def _area(intervals: ucc.Intervals, axes: Any) -> float:
    return ucc.UCC(intervals).area(axes=tuple(axes.split("/")))


def _ratios(n: int, repetitions: int) -> list[Row]:
    times = timings(_jobs(n), repetitions=repetitions)
    return [_row(job, n, timing, times[SORT]) for job, timing in times.items()]


def _row(job: str, n: int, timing: Timing, sort: Timing) -> Row:
    kind = "area" if "area" in job else job.rpartition(" ")[2]
    must, aim = MUST.get(kind, (None, None))
    cpu, wall = timing.over(sort)
    limits = {"at most": must, "aim": aim}
    return {"job": job, "N": n, "unit": "x sort", "cpu": cpu, "wall": wall, **limits, "cpu ms": 1e3 * timing.cpu}


def _memory(n: int) -> list[Row]:
    rows: list[Row] = []
    for kind, intervals in models(n).items():
        must, aim = MUST["memory"] if kind == "symmetric" else (None, None)
        arrays = peak(partial(_table, intervals)) / (8 * n)
        rows.append({"job": f"peak of UCC(iv).table(), {kind}", "N": n, "unit": "arrays of N", "memory": arrays})
        rows[-1] |= {"at most": must, "aim": aim}
    return rows


def _growth(sizes: list[int]) -> list[Row]:
    rows: list[Row] = []
    for n in sizes:
        jobs = {name: job for name, job in _jobs(n).items() if "area" not in name or "miss_rate" in name}
        times = timings(jobs, repetitions=min(200, 5 + 10**7 // n))
        each = (_row(job, n, times[job], times[SORT]) for job in jobs)
        rows += [
            {"growth": row["job"], **{name: row[name] for name in ("N", "unit", "cpu", "wall", "cpu ms")}}
            for row in each
        ]
    return rows
