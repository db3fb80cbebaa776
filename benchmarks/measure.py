"""Measure: the shortest time of jobs that take turns, the peak of their memory, and the machine they ran on.

Jobs are compared in one run, turn by turn, so that a busy moment meets all of them; the shortest time of each is what
the code needs when nothing else disturbs it. CPU time is the process's own, wall time is what a person waits.
"""

from __future__ import annotations

import os
import platform
import resource
import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Job = Callable[[], object]
Row = dict[str, Any]


class Timing(NamedTuple):
    """Shortest times of one job in seconds: CPU time and wall time."""

    cpu: float
    wall: float

    def over(self, other: Timing) -> Timing:
        """How many times as long as another job."""
        return Timing(self.cpu / other.cpu, self.wall / other.wall)


def timings(jobs: Mapping[str, Job], *, repetitions: int) -> dict[str, Timing]:
    """Return the shortest times of all jobs, each run once per round."""
    shortest = dict.fromkeys(jobs, Timing(np.inf, np.inf))
    for _ in range(repetitions):
        for name, job in jobs.items():
            now = _once(job)
            shortest[name] = Timing(
                min(shortest[name].cpu, now.cpu), min(shortest[name].wall, now.wall)
            )
    return shortest


def _once(job: Job) -> Timing:
    cpu, wall = time.process_time(), time.perf_counter()
    job()
    return Timing(time.process_time() - cpu, time.perf_counter() - wall)


def peak(job: Job) -> int:
    """Return the most bytes that Python and numpy held at once for the job, beyond what was there before."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        job()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def resident() -> float:
    """Return the most megabytes of memory that this process has held since its program started."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage tells there includes the process that started this one
        lines = status.read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1e6 if sys.platform == "darwin" else 1e3
    )


def machine() -> dict[str, Any]:
    """What the figures were measured on, and how busy it was."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def _processor() -> str:
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        names = [
            line
            for line in listing.read_text(encoding="utf-8").splitlines()
            if line.startswith("model name")
        ]
        if names:
            return names[0].partition(":")[2].strip()
    return platform.processor() or platform.machine()


def shown(rows: list[Row]) -> str:
    """Return rows as tables of aligned columns, one per kind of row; numbers to three digits."""
    return "\n\n".join(_table(list(group)) for _, group in groupby(rows, key=kind))


def kind(row: Row) -> tuple[str, str | None]:
    """Return what rows of one table have in common."""
    return next(iter(row)), row.get("unit")


def _table(rows: list[Row]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [names, *([cell(row.get(name)) for name in names] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    numeric = [all(not isinstance(row.get(name), str) for row in rows) for name in names]
    columns = list(zip(widths, numeric, strict=True))
    aligned = [
        [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, (width, right) in zip(line, columns, strict=True)
        ]
        for line in cells
    ]
    return "\n".join("  ".join(line).rstrip() for line in aligned)


def cell(value: Any) -> str:
    """Return a value as a table shows it."""
    if value is None:
        return ""
    return f"{float(f'{value:.3g}'):g}" if isinstance(value, float) else str(value)
