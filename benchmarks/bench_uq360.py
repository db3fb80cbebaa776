"""Fit and area against UQ360 0.2, the paper's own code, and where the two give different numbers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import uccurve as ucc

from .bench_core import models
from .measure import Row, timings

RELEASE = "uq360==0.2"
NEEDS = ["matplotlib", "numpy", "pandas", "scikit-learn", "scipy"]
"""What UQ360's metrics import; of its own requirements, pinned to releases of 2021, none installs any more."""

WHY = {
    "area": "trapezoids over steps, and nothing before the first critical scale",
    "area over shift": "the same",
    "area of swapped axes": "negative where x falls",
    "area of deficit vs. excess": "its excess is the overshoot, on the error's side only",
    "area of deficit vs. overshoot": "to compare with the line above",
    "partial area": "ends at the nearest vertices",
    "miss rate found for 0.099": "the nearest vertex, also where it misses more than asked",
    "area of one row": "needs two rows",
    "area of two rows": "0 for fewer than three",
    "error of a prediction of 0 beside a zero band": "replaces zeros by the smallest band, predictions too",
}
"""Why UQ360 gives another answer, read from its source."""


def run(quick: bool = False) -> list[Row]:
    """Times of the same job in both, then what each of them answers."""
    intervals = models(1000 if quick else 10_000)["asymmetric"]
    theirs = _uq360(intervals)
    columns = intervals.y_true, intervals.y_pred, intervals.lower_band, intervals.upper_band
    jobs = {"area": lambda: _area(columns), "table": lambda: _table(columns)}
    ours = timings(jobs, repetitions=50)
    times = theirs["timed"]
    job = "fit and area of miss_rate vs. bandwidth"
    rows: list[Row] = [
        {
            "job": f"{job}, UQ360",
            "N": len(intervals),
            "cpu s": times["cpu"],
            "wall s": times["wall"],
        },
        {
            "job": f"{job}, uccurve",
            "N": len(intervals),
            "cpu s": ours["area"].cpu,
            "wall s": ours["area"].wall,
        },
        {
            "job": "all metrics at every vertex, uccurve",
            "N": len(intervals),
            "cpu s": ours["table"].cpu,
            "wall s": ours["table"].wall,
        },
    ]
    for row in rows[1:]:
        row["times as fast"], row["wall times"] = (
            times["cpu"] / row["cpu s"],
            times["wall"] / row["wall s"],
        )
    rows[1] |= {"at least": 1000, "aim": 4000}
    return rows + _differences(intervals, theirs)


def _area(columns: tuple[Any, ...]) -> float:
    return ucc.UCC(ucc.Intervals.from_bands(*columns)).area()


def _table(columns: tuple[Any, ...]) -> dict[str, Any]:
    return dict(ucc.UCC(ucc.Intervals.from_bands(*columns)).table())


def _differences(intervals: ucc.Intervals, theirs: dict[str, Any]) -> list[Row]:
    few = intervals[:400]
    scale, shift = ucc.UCC(few), ucc.UCC(few, vary="shift")
    ours: dict[str, Any] = {
        "area": scale.area(),
        "area over shift": shift.area(),
        "area of swapped axes": scale.area(axes=("miss_rate", "bandwidth")),
        "area of deficit vs. excess": scale.area(axes=("excess", "deficit")),
        "area of deficit vs. overshoot": scale.area(axes=("overshoot", "deficit")),
        "partial area": scale.area(miss_rate=(0.1, 0.3)),
        "miss rate found for 0.099": scale.find(miss_rate=0.099).miss_rate,
        "area of one row": ucc.UCC(few[:1]).area(),
        "area of two rows": ucc.UCC(few[:2]).area(),
        "error of a prediction of 0 beside a zero band": 5.0,
    }
    found = theirs["findings"]
    rows: list[Row] = [
        {"answer": name, "UQ360": found.get(name), "uccurve": value, "why": WHY[name]}
        for name, value in ours.items()
    ]
    lost = {
        "answer": f"vertices of {len(intervals)} that count a row too few",
        "UQ360": theirs["timed"]["lost"],
    }
    return [
        *rows,
        {**lost, "uccurve": 0, "why": "tests error <= scale * band again, and rounding decides"},
    ]


def _uq360(intervals: ucc.Intervals) -> dict[str, Any]:
    """Return what UQ360 answers, from a process in its own environment."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.npz"
        names = ("y_true", "y_pred", "lower_band", "upper_band")
        np.savez(data, **{name: getattr(intervals, name) for name in names})
        worker = Path(__file__).with_name("uq360_worker.py")
        done = subprocess.run([_python(), worker, data], check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _python() -> Path:
    """Return the Python that has UQ360; built once, in the user's cache."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "uccurve" / f"{RELEASE.replace('==', '-')}-py{version}"
    python, ready = folder / "bin" / "python", folder / "ready"
    if not ready.exists():
        print(f"installing {RELEASE} into {folder}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip: list[str | Path] = [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]
        subprocess.run([*pip, *NEEDS], check=True)
        subprocess.run([*pip, "--no-deps", RELEASE], check=True)
        ready.touch()
    return python
