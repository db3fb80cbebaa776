"""Sketches and assessments of Parquet files against the engine's own sum of the same columns; memory, growth, bracket.

Files are what ``polars.DataFrame.write_parquet`` writes by default: compressed with zstd, a million rows each, as such
files usually are in a data lake. Without compression a sum is hardly more than a copy, and every ratio is larger. Each
job runs in a process of its own, whose peak of memory is that of the job and the libraries it needs.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from .measure import Row, Timing, resident

PART = 10**6
"""Rows of one file."""
MODELS = {name: tuple(f"{role}_{name}" for role in ("y_pred", "lower", "upper")) for name in "abc"}
ENGINES = ("polars", "duckdb")
JOBS = {
    "sketch": "a",
    "assess": "a",
    "assess by day": "a",
    "assess three": "abc",
    "assess three by day": "abc",
}
"""What is timed, and for which models."""
GROWING = ("sketch", "assess", "assess three")
"""What is shown at all sizes."""
MUST = {
    "sketch": (3.0, 2.0),
    "assess": (5.0, 3.5),
    "assess three": (4.5, 3.0),
    "memory": (1000.0, 500.0),
    "width": (1.0, 0.2),
}
"""At most, and the aim: times the sum of the same columns, MB, percent of the area."""


def run(quick: bool = False) -> list[Row]:
    """Ratios at the largest size with memory and bracket, then the growth with the size."""
    repetitions = {10**5: 2, 10**6: 2} if quick else {10**6: 5, 10**7: 3, 10**8: 2}
    sizes, engines = list(repetitions), [name for name in ENGINES if find_spec(name)]
    found = {n: _measured(n, engines, count) for n, count in repetitions.items()}
    rows = [row for engine in engines for row in _rows(engine, sizes[-1], found[sizes[-1]])]
    rows += [
        _growth(job, engine, n, found[n]) for engine in engines for job in GROWING for n in sizes
    ]
    if find_spec("pyspark") and find_spec("psutil") and shutil.which("java"):
        found_by_spark = _measured(sizes[-2], ["spark"], 1)
        rows += [_throughput(job, sizes[-2], found_by_spark) for job in JOBS]
    return rows


def write(folder: Path, n: int) -> None:
    """Write heavy-tailed errors, and three models with lognormal, asymmetric bands that know half of the spread."""
    import polars as pl

    rng = np.random.default_rng(7)
    for i, start in enumerate(range(0, n, PART)):
        rows = min(PART, n - start)
        spread, center = np.exp(0.5 * rng.normal(size=rows)), 10 * rng.normal(size=rows)
        columns: dict[str, Any] = {"y_true": center + spread * rng.standard_t(5, size=rows)}
        for names in MODELS.values():
            y_pred = center + 0.1 * rng.normal(size=rows)
            below, above = (spread * np.exp(0.5 * rng.normal(size=rows)) for _ in range(2))
            columns |= dict(zip(names, (y_pred, y_pred - below, y_pred + above), strict=True))
        columns["day"] = (start + np.arange(rows)) // max(n // 365, 1)
        pl.DataFrame(columns).write_parquet(folder / f"{i:04}.parquet")


def _columns(models: str) -> list[str]:
    return ["y_true", *(column for name in models for column in MODELS[name])]


def _measured(n: int, engines: list[str], repetitions: int) -> dict[tuple[str, str], Row]:
    """Shortest times and smallest memory of each engine's jobs, which take turns; the files are removed after."""
    best: dict[tuple[str, str], Row] = {}
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), n)
        for _ in range(repetitions):
            for key in ((engine, job) for engine in engines for job in ("sum a", "sum abc", *JOBS)):
                now = _child(*key, folder)
                before = best.get(key, now)
                best[key] = now | {
                    name: min(now[name], before[name]) for name in ("cpu", "wall", "MB")
                }
    return best


def _child(engine: str, job: str, folder: str) -> Row:
    command = [sys.executable, "-m", __spec__.name if __spec__ else __name__, engine, job, folder]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1]
    )
    found: Row = json.loads(done.stdout.splitlines()[-1])
    return found


def _rows(engine: str, n: int, found: dict[tuple[str, str], Row]) -> list[Row]:
    rows = [_ratio("job", job, engine, n, found) | _limits(job) for job in JOBS]
    for job in ("sketch", "assess three by day"):
        peak = {
            "job": f"peak of {job}, {engine}",
            "N": n,
            "unit": "MB",
            "memory": found[engine, job]["MB"],
        }
        rows.append(peak | _limits("memory"))
    width = {
        "job": f"bracket of the area of deficit vs. excess, {engine}",
        "N": n,
        "unit": "% of the area",
    }
    return [*rows, width | {"width": found[engine, "sketch"]["width"]} | _limits("width")]


def _ratio(kind: str, job: str, engine: str, n: int, found: dict[tuple[str, str], Row]) -> Row:
    """Times of one job over those of the sum of the same columns."""
    mine, own = found[engine, job], found[engine, f"sum {JOBS[job]}"]
    cpu, wall = Timing(mine["cpu"], mine["wall"]).over(Timing(own["cpu"], own["wall"]))
    row = {kind: f"{job}, {engine}", "N": n, "unit": "x sum", "cpu": cpu, "wall": wall}
    return row | {"cpu s": mine["cpu"], "wall s": mine["wall"], "sum's cpu s": own["cpu"]}


def _limits(kind: str) -> Row:
    limits = MUST.get(kind.removesuffix(" by day"))
    return {} if limits is None else dict(zip(("at most", "aim"), limits, strict=True))


def _growth(job: str, engine: str, n: int, found: dict[tuple[str, str], Row]) -> Row:
    mine = found[engine, job]
    each = {
        "cpu ns per row": 1e9 * mine["cpu"] / n,
        "wall ns per row": 1e9 * mine["wall"] / n,
        "MB": mine["MB"],
    }
    return _ratio("growth", job, engine, n, found) | each


def _throughput(job: str, n: int, found: dict[tuple[str, str], Row]) -> Row:
    """Spark on one core, to estimate what a cluster needs; its time is that of Java."""
    row = _ratio("throughput", job, "spark", n, found)
    return row | {"rows per cpu second": n / found["spark", job]["cpu"]}


# ---- in the process of one job


def _source(engine: str, folder: str) -> Any:
    """Return the files as the engine's frame."""
    files = f"{folder}/*.parquet"
    if engine == "polars":
        import polars as pl

        return pl.scan_parquet(files)
    if engine == "duckdb":
        import duckdb

        return duckdb.from_parquet(files)
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
    }
    settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    builder: Any = SparkSession.builder
    return builder.master("local[1]").config(map=settings).getOrCreate().read.parquet(folder)


def _sum(engine: str, frame: Any, columns: list[str]) -> object:
    """Return the engine's own sum of some columns."""
    if engine == "polars":
        return frame.select(*columns).sum().collect(engine="streaming")
    if engine == "duckdb":
        return frame.aggregate(", ".join(f"sum({name})" for name in columns)).fetchall()
    from pyspark.sql import functions

    return frame.agg(*(functions.sum(name) for name in columns)).collect()


def _cpu(engine: str) -> float:
    """Return the CPU seconds of this process, and of Java beside it."""
    if engine != "spark":
        return time.process_time()
    import psutil  # type: ignore[import-untyped]

    times = [child.cpu_times() for child in psutil.Process().children(recursive=True)]
    return time.process_time() + sum(float(one.user + one.system) for one in times)


def _done(engine: str, job: str, frame: Any) -> Any:
    from uccurve.sketch.assess import assess_frame
    from uccurve.sketch.sketch import UCCSketch

    if job.startswith("sum"):
        return _sum(engine, frame, _columns(job.removeprefix("sum ")))
    if job == "sketch":
        y_pred, lower, upper = MODELS["a"]
        return UCCSketch.from_frame(frame, y_pred=y_pred, lower=lower, upper=upper)
    models = {name: MODELS[name] for name in JOBS[job]}
    return assess_frame(frame, models, coverage=0.9, block="day" if job.endswith("day") else None)


def _job(engine: str, job: str, folder: str) -> Row:
    """Run one job and return its times, the peak of the process's memory, and the width of the bracket in percent."""
    frame = _source(engine, folder)
    _done(engine, job, frame.limit(99))  # what is imported on the way is no part of the job
    if engine == "spark":
        _done(engine, job, frame)  # Java compiles what it has run for a while
    cpu, wall = _cpu(engine), time.perf_counter()
    found = _done(engine, job, frame)
    took = {
        "cpu": _cpu(engine) - cpu,
        "wall": time.perf_counter() - wall,
        "MB": resident(),
        "width": None,
    }
    if job == "sketch":
        low, high = found.ucc().bracket("area", axes=("excess", "deficit"))
        took["width"] = 100 * (high - low) / low
    return took


if __name__ == "__main__":
    print(json.dumps(_job(*sys.argv[1:])))
