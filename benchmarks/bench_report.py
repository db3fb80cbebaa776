"""The report of twelve models: what building it takes, its bytes, and seconds until it answers in a browser."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import uccurve as ucc

from .measure import Row, Timing, resident

MODELS = 12
MUST = {"page": 3.0, "times": 1.3, "answers": 2.5}
"""At most: MB of the page, how many times as long as `assess` it takes to write, and seconds from the start of a visit
until a typed scale is answered."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
VISIT = ("verdict and tables are there", "a typed scale is answered", "curves are drawn")
PATIENCE = 120_000
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")


def run(quick: bool = False) -> list[Row]:
    """Build the page in a process of its own, then visit it, each time with an empty cache."""
    n, visits = (10**4, 3) if quick else (10**5, 7)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
            built: list[Row] = alone.submit(build, n, path).result()
        size = {
            "file": "page",
            "N": n,
            "unit": "MB",
            "value": path.stat().st_size / 1e6,
            "at most": MUST["page"],
        }
        return [*built, size, *_visited(path, n, visits)]


def models(n: int) -> dict[str, ucc.Intervals]:
    """Bands around shared predictions that know ever less of the spread; half of them with sides of their own."""
    rng = np.random.default_rng(11)
    spread, y_pred = np.exp(0.5 * rng.normal(size=n)), 10 * rng.normal(size=n)
    y_true = y_pred + spread * rng.standard_t(5, size=n)
    found = {}
    for i in range(MODELS):
        sides = [spread * np.exp(0.1 * (i + 1) * rng.normal(size=n)) for _ in range(1 + i % 2)]
        found[f"model {i}"] = ucc.Intervals.from_bands(y_true, y_pred, *sides)
    return found


def build(n: int, path: Path) -> list[Row]:
    """Assess the models and write their page; seconds of both, and the process's memory before and at the peak."""
    given = models(n)
    before = resident() / 1e3
    start = _now()
    assessment = ucc.assess(given, coverage=0.9)
    assessed = _now()
    path.write_text(assessment.to_html(), encoding="utf-8")
    rows = {"assess": _between(start, assessed), "to_html": _between(assessed, _now())}
    times: list[Row] = [
        {"job": job, "N": n, "unit": "s", "cpu": t.cpu, "wall": t.wall} for job, t in rows.items()
    ]
    times_as_long: Row = {
        "ratio": "to_html to assess",
        "N": n,
        "unit": "CPU time",
        "value": rows["to_html"].cpu / rows["assess"].cpu,
        "at most": MUST["times"],
    }
    memory = {"process with the models": before, "peak of assess and to_html": resident() / 1e3}
    return [
        *times,
        times_as_long,
        *({"memory": what, "N": n, "unit": "GB", "value": value} for what, value in memory.items()),
    ]


def _now() -> Timing:
    return Timing(time.process_time(), time.perf_counter())


def _between(start: Timing, end: Timing) -> Timing:
    return Timing(end.cpu - start.cpu, end.wall - start.wall)


def _visited(path: Path, n: int, visits: int) -> list[Row]:
    with _browser() as browser:
        if browser is None:
            print("no browser: pip install playwright, and chromium on the PATH")
            return []
        seen = [_visit(browser, path.as_uri()) for _ in range(visits)]
    limits: tuple[Row, ...] = ({}, {"at most": MUST["answers"]}, {})
    rows: list[Row] = []
    for kind, times, limit in zip(VISIT, zip(*seen, strict=True), limits, strict=True):
        cpu, wall = (min(column) for column in zip(*times, strict=True))
        middle = median(timing.wall for timing in times)
        rows.append(
            {
                "visit": kind,
                "N": n,
                "unit": "s",
                "cpu": cpu,
                "wall": wall,
                "median wall": middle,
                **limit,
            }
        )
    return rows


@contextmanager
def _browser() -> Iterator[Any]:
    """Yield a browser, or None where there is none."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        found = None
    if found is None:
        yield None
        return
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, args=list(FLAGS))
        yield opened
        opened.close()


def _visit(browser: Any, url: str) -> tuple[Timing, ...]:
    """Seconds from the start of the navigation until the tables are there, a scale is answered, curves are drawn."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    counters = context.new_cdp_session(page)
    counters.send("Performance.enable", {"timeDomain": "threadTicks"})
    start = time.perf_counter()

    def now() -> Timing:
        wall = time.perf_counter() - start
        found = {
            one["name"]: one["value"] for one in counters.send("Performance.getMetrics")["metrics"]
        }
        return Timing(found["TaskDuration"], wall)

    page.goto(url, wait_until="commit", timeout=PATIENCE)
    page.wait_for_selector("html[data-ready]", timeout=PATIENCE)
    ready = now()
    page.locator("#t-number").fill("1.25")
    page.locator("#where", has_text=" 1.25: ").wait_for(timeout=PATIENCE)
    answered = now()
    page.wait_for_selector("html[data-drawn]", timeout=PATIENCE)
    drawn = now()
    context.close()
    return ready, answered, drawn
