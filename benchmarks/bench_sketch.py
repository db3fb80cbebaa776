"""A sketch of Parquet files against the engine's own sum of the same four columns, its memory, growth and bracket.

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
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from .measure import Row, Timing, resident

PART = 10**6
"""Rows of one file."""
COLUMNS = ["y_true", "y_pred", "lower", "upper"]
ENGINES = ("polars", "duckdb")
MUST = {"time": (3.0, 2.0), "memory": (2000.0, 1000.0), "width": (1.0, 0.2)}
"""At most, and the aim: times the sum, MB, percent of the area."""


def run(quick: bool = False) -> list[Row]:
    """Ratios at the largest size with memory and bracket, then the growth with the size."""
    sizes, repetitions = ([10**5, 10**6], 2) if quick else ([10**6, 10**7, 10**8], 3)
    engines = [name for name in ENGINES if find_spec(name)]
    found = {n: _measured(n, engines, repetitions) for n in sizes}
    rows = [row for engine in engines for row in _rows(engine, sizes[-1], found[sizes[-1]])]
    rows += [_growth(engine, n, found[n]) for engine in engines for n in sizes]
    if find_spec("pyspark") and find_spec("psutil") and shutil.which("java"):
        rows.append(_throughput(sizes[-2], _measured(sizes[-2], ["spark"], repetitions)))
    return rows


def write(folder: Path, n: int) -> None:
    """Write heavy-tailed errors and lognormal, asymmetric bands that know half of the spread."""
    import polars as pl

    rng = np.random.default_rng(7)
    for i, start in enumerate(range(0, n, PART)):
        rows = min(PART, n - start)
        spread, y_pred = np.exp(0.5 * rng.normal(size=rows)), 10 * rng.normal(size=rows)
        below, above = (spread * np.exp(0.5 * rng.normal(size=rows)) for _ in range(2))
        columns = y_pred + spread * rng.standard_t(5, size=rows), y_pred, y_pred - below, y_pred + above
        pl.DataFrame(dict(zip(COLUMNS, columns, strict=True))).write_parquet(folder / f"{i:04}.parquet")


def _measured(n: int, engines: list[str], repetitions: int) -> dict[tuple[str, str], Row]:
    """Shortest times and smallest memory of each engine's two jobs, which take turns; the files are removed after."""
    best: dict[tuple[str, str], Row] = {}
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), n)
        for _ in range(repetitions):
            for key in ((engine, job) for engine in engines for job in ("sum", "sketch")):
                now = _child(*key, folder)
                before = best.get(key, now)
                best[key] = now | {name: min(now[name], before[name]) for name in ("cpu", "wall", "MB")}
    return best


def _child(engine: str, job: str, folder: str) -> Row:
    command = [sys.executable, "-m", __spec__.name if __spec__ else __name__, engine, job, folder]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    found: Row = json.loads(done.stdout.splitlines()[-1])
    return found


def _rows(engine: str, n: int, found: dict[tuple[str, str], Row]) -> list[Row]:
    job, sketch, own = f"UCCSketch.from_frame, {engine}", found[engine, "sketch"], found[engine, "sum"]
    cpu, wall = Timing(sketch["cpu"], sketch["wall"]).over(Timing(own["cpu"], own["wall"]))
    ratio = {"job": job, "N": n, "unit": "x sum", "cpu": cpu, "wall": wall} | _limits("time")
    return [
        ratio | {"cpu s": sketch["cpu"], "wall s": sketch["wall"], "sum's cpu s": own["cpu"]},
        {"job": f"peak of {job}", "N": n, "unit": "MB", "memory": sketch["MB"]} | _limits("memory"),
        {"job": f"bracket of the area of deficit vs. excess, {engine}", "N": n, "unit": "% of the area"}
        | {"width": sketch["width"]}
        | _limits("width"),
    ]


def _limits(kind: str) -> Row:
    return dict(zip(("at most", "aim"), MUST[kind], strict=True))


def _growth(engine: str, n: int, found: dict[tuple[str, str], Row]) -> Row:
    sketch, own = found[engine, "sketch"], found[engine, "sum"]
    row = {"growth": f"UCCSketch.from_frame, {engine}", "N": n, "unit": "x sum"}
    row |= {"cpu": sketch["cpu"] / own["cpu"], "wall": sketch["wall"] / own["wall"]}
    return row | {
        "cpu ns per row": 1e9 * sketch["cpu"] / n,
        "wall ns per row": 1e9 * sketch["wall"] / n,
        "MB": sketch["MB"],
    }


def _throughput(n: int, found: dict[tuple[str, str], Row]) -> Row:
    """Spark on one core, to estimate what a cluster needs; its time is that of Java."""
    sketch, own = found["spark", "sketch"], found["spark", "sum"]
    row = {"throughput": "UCCSketch.from_frame, spark local[1]", "N": n, "unit": "x sum"}
    row |= {"cpu": sketch["cpu"] / own["cpu"], "wall": sketch["wall"] / own["wall"]}
    return row | {"cpu s": sketch["cpu"], "wall s": sketch["wall"], "rows per cpu second": n / sketch["cpu"]}


# ---- in the process of one job


def _source(engine: str, folder: str) -> tuple[Any, Callable[[], object]]:
    """Return the files as the engine's frame, and the engine's own sum of their columns."""
    files = f"{folder}/*.parquet"
    if engine == "polars":
        import polars as pl

        scan = pl.scan_parquet(files)
        return scan, lambda: scan.select(pl.col(COLUMNS).sum()).collect(engine="streaming")
    if engine == "spark":
        return _spark(folder)
    import duckdb

    relation = duckdb.from_parquet(files)
    return relation, lambda: relation.aggregate(", ".join(f"sum({name})" for name in COLUMNS)).fetchall()


def _spark(folder: str) -> tuple[Any, Callable[[], object]]:
    from pyspark.sql import SparkSession, functions

    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}
    settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    builder: Any = SparkSession.builder
    frame = builder.master("local[1]").config(map=settings).getOrCreate().read.parquet(folder)
    return frame, lambda: frame.agg(*(functions.sum(name) for name in COLUMNS)).collect()


def _cpu(engine: str) -> float:
    """Return the CPU seconds of this process, and of Java beside it."""
    if engine != "spark":
        return time.process_time()
    import psutil  # type: ignore[import-untyped]

    times = [child.cpu_times() for child in psutil.Process().children(recursive=True)]
    return time.process_time() + sum(float(one.user + one.system) for one in times)


def _job(engine: str, job: str, folder: str) -> Row:
    """Run one job and return its times, the peak of the process's memory, and the width of the bracket in percent."""
    from uccurve.sketch.sketch import UCCSketch

    width = None
    frame, own = _source(engine, folder)
    UCCSketch.from_frame(frame.limit(9))  # what is imported on the way is no part of the job
    if engine == "spark":
        UCCSketch.from_frame(frame) if job == "sketch" else own()  # Java compiles what it has run for a while
    cpu, wall = _cpu(engine), time.perf_counter()
    sketch = UCCSketch.from_frame(frame) if job == "sketch" else own()
    took = {"cpu": _cpu(engine) - cpu, "wall": time.perf_counter() - wall}
    peak = resident()
    if isinstance(sketch, UCCSketch):
        low, high = sketch.ucc().bracket("area", axes=("excess", "deficit"))
        width = 100 * (high - low) / low
    return took | {"MB": peak, "width": width}


if __name__ == "__main__":
    print(json.dumps(_job(*sys.argv[1:])))
