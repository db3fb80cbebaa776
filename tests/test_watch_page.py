"""The history page: what a monitor has seen, drawn where it happened, readable on a phone, safe with any name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import uccurve as ucc
from uccurve.report.history import HEIGHT, LEFT, WIDTH, page


def watched(days: int = 60, **models: float) -> ucc.Monitor:
    """A monitor of models whose errors are larger by a factor from day 40 on, and of one site that is never wrong."""
    monitor = ucc.Monitor(coverage=0.9)
    for day in range(days):
        rng = np.random.default_rng(day)
        spread = np.exp(0.3 * rng.normal(size=500))
        normal = spread * rng.normal(size=500)
        rows: dict[str, ucc.Intervals] = {}
        for name, growth in models.items():
            error = normal * (growth if day >= 40 else 1.0)
            rows[name] = ucc.Intervals.from_bands(error, np.zeros(500), 1.645 * spread)
        monitor.update(day, rows, by={"site": ["N", "S"] * 250})
    return monitor


def drawings(text: str) -> list[ET.Element]:
    """The drawings of a page."""
    return [
        ET.fromstring(part)  # noqa: S314  our own page
        for part in re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)
    ]


def test_days_that_rang_are_red_and_no_others() -> None:
    monitor = watched(net=1.5)
    rang = [step.status == "ringing" for step in monitor.history("net")]
    room = (WIDTH - LEFT) / 60
    for drawing in drawings(page(monitor))[:4]:
        (alarm,) = [part for part in drawing if part.get("class") == "alarm"]
        x, wide = float(alarm.get("x", "")), float(alarm.get("width", ""))
        middle = LEFT + room * (np.arange(60) + 0.5)
        assert ((x < middle) & (middle < x + wide)).tolist() == rang


def test_coverage_is_drawn_where_it_was() -> None:
    monitor = watched(days=25, net=1.0)
    coverage = drawings(page(monitor))[0]
    (line,) = [part for part in coverage if part.get("class") == "drawn"]
    heights = [float(point.split(",")[1]) for point in line.get("points", "").split()]
    values = [step.coverage for step in monitor.history("net")]
    assert np.corrcoef(heights, values)[0, 1] < -0.9999
    assert len([part for part in coverage if part.get("class") == "bar"]) == 25
    assert all(0 <= height <= HEIGHT for height in heights)


def test_groups_that_need_nobody_are_folded() -> None:
    text = page(watched(net=1.0))
    assert text.count("<details><summary>ok net, site ") == 2
    loud = page(watched(net=1.5))
    assert "<details><summary>ok" not in loud
    assert '<li class="rings"><a href="#part-1">net</a>: ringing</li>' in loud


def test_a_challenger_has_its_own_drawing() -> None:
    monitor = ucc.Monitor(coverage=0.9, challenger="new")
    for day in range(30):
        errors = np.random.default_rng(day).normal(size=200)
        iv = ucc.Intervals.from_bands(errors, np.zeros(200), np.full(200, 1.645))
        monitor.update(day, {"old": iv.calibrated(scale=1.5), "new": iv})
    text = page(monitor)
    assert "Daily score of old minus that of new; dashed: equal" in text
    assert len(drawings(text)) == 2 * 4 + 1


def test_counts_alone_have_coverage_and_evidence_only() -> None:
    monitor = ucc.Monitor(coverage=0.9)
    monitor.update("week 1", (100, 9))
    drawn = drawings(page(monitor))
    assert len(drawn) == 2
    assert "".join(drawn[0].itertext()).split().count("week") == 1


def test_a_name_cannot_become_markup() -> None:
    text = page(watched(days=2, **{"<script>alert(1)</script>": 1.0}))
    assert "<script" not in text
    assert "&lt;script&gt;" in text


@pytest.mark.slow
@pytest.mark.browser
def test_the_page_fits_a_phone_and_a_dark_room(tmp_path: Path, chromium: str) -> None:
    playwright: Any = pytest.importorskip("playwright.sync_api")
    place = tmp_path / "history.html"
    place.write_text(page(watched(net=1.5, other=1.0)), encoding="utf-8")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for width, scheme in ((390, "light"), (1200, "dark")):
            view = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
            failures: list[str] = []
            view.on("console", lambda message, kept=failures: kept.append(message.text))
            view.goto(place.as_uri())
            view.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
            assert view.evaluate("document.documentElement.scrollWidth") == width
            assert failures == []
            small = view.evaluate(
                "[...document.querySelectorAll('svg text')].map(text => text.getBoundingClientRect().height)"
            )
            assert min(small) >= 9  # pixels
        browser.close()
