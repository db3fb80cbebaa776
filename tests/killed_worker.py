"""Make a sketch on a cluster of local processes, one of which is killed while it works; say what came of it.

Run as ``python killed_worker.py dask|spark FOLDER`` by test_engines_killed.py. It writes rows to the folder and prints
JSON: the id of the killed process, how much of the job was done by then, and whether the answer was the same.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from uccurve.sketch.assess import assess_frame
from uccurve.sketch.sketch import UCCSketch

PARTS = 12
ROWS = 20_000
Found = dict[str, Any]


def write(folder: Path) -> None:
    """Write the rows, one file a part."""
    rng = np.random.default_rng(3)
    for i in range(PARTS):
        p, sigma = rng.normal(size=ROWS), np.exp(rng.normal(size=ROWS))
        bands = sigma * rng.uniform(0.5, 2, size=(2, ROWS))
        data = {
            "y_true": p + sigma * rng.normal(size=ROWS),
            "y_pred": p,
            "lower": p - bands[0],
            "upper": p + bands[1],
        }
        pl.DataFrame(data).write_parquet(folder / f"{i:02}.parquet")


def ends(frame: Any) -> list[float]:
    """Ends of intervals, which take both passes."""
    row = assess_frame(frame, {"m": ("y_pred", "lower", "upper")}, coverage=0.9)["m"]
    gain = row.gains["bandwidth_deficit"]
    return [row.coverage.low, row.score.low, row.skill.high, gain.low]


def answer(frame: Any, expected: tuple[UCCSketch, list[float]], found: Found) -> None:
    """Note whether sketch and intervals are the expected ones, others, or an error."""
    try:
        same = UCCSketch.from_frame(frame) == expected[0] and np.allclose(
            ends(frame), expected[1], rtol=1e-9
        )
        found["outcome"] = "same" if same else "wrong"
    except Exception as error:  # noqa: BLE001  # any error will do, a wrong number will not
        found["outcome"] = f"error: {type(error).__name__}"


def watched(done: Callable[[], int], worker: Callable[[], int], found: Found) -> None:
    """Kill a worker as soon as some parts, and not all, are done."""

    def watch() -> None:
        while not 1 <= done() < PARTS:
            time.sleep(0.02)
        found["done"], found["killed"] = done(), worker()
        os.kill(found["killed"], signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def dask(folder: Path, expected: tuple[UCCSketch, list[float]], found: Found) -> None:
    """Read parts slowly, each leaving a mark with the id of the process that read it."""
    dd: Any = import_module("dask.dataframe")
    distributed: Any = import_module("distributed")

    def part(path: str) -> Any:
        import os
        import time
        from pathlib import Path

        import pandas as pd

        time.sleep(0.25)
        Path(f"{path}.{os.getpid()}.read").touch()
        return pd.read_parquet(path)

    def marks() -> list[str]:
        return [path.name for path in folder.glob("*.read")]

    options: Any = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": None,
    }
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        frame = dd.from_map(
            part, sorted(map(str, folder.glob("*.parquet"))), meta=part(str(folder / "00.parquet"))
        )
        for path in folder.glob("*.read"):
            path.unlink()
        watched(lambda: len(marks()), lambda: int(marks()[0].split(".")[-2]), found)
        answer(frame, expected, found)
        found["outcome"] += (
            ""
            if len(marks()) > PARTS or "error" in found["outcome"]
            else ", but nothing was done again"
        )


def spark(folder: Path, expected: tuple[UCCSketch, list[float]], found: Found) -> None:
    """Run two executors, each a process of its own, and kill one."""
    import psutil  # type: ignore[import-untyped]
    import pyspark
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.files.maxPartitionBytes": str((folder / "00.parquet").stat().st_size),
        "spark.sql.files.openCostInBytes": "0",
        "spark.sql.adaptive.enabled": "false",
    }
    builder: Any = SparkSession.builder
    session = builder.master("local-cluster[2,1,1024]").config(map=settings).getOrCreate()
    tracker = session.sparkContext.statusTracker()

    def done() -> int:
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        return max(
            (stage.numCompletedTasks for stage in stages if stage and stage.numTasks >= PARTS),
            default=0,
        )

    def is_executor(child: Any) -> bool:
        try:
            return "CoarseGrainedExecutorBackend" in " ".join(child.cmdline())
        except psutil.Error:  # it ended while we looked
            return False

    def worker() -> int:
        return int(
            next(
                child.pid
                for child in psutil.Process().children(recursive=True)
                if is_executor(child)
            )
        )

    watched(done, worker, found)
    answer(session.read.parquet(str(folder)), expected, found)
    work = (
        Path(pyspark.__file__).parent / "work"
    )  # where a local cluster keeps the logs of its executors
    application = session.sparkContext.applicationId
    session.stop()
    shutil.rmtree(work / application, ignore_errors=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    place, what = Path(sys.argv[2]), {"dask": dask, "spark": spark}[sys.argv[1]]
    write(place)
    outcome: Found = {"killed": None}
    rows = pl.scan_parquet(place / "*.parquet")
    what(place, (UCCSketch.from_frame(rows), ends(rows)), outcome)
    print(json.dumps(outcome))  # noqa: T201  # for the test that started this process
