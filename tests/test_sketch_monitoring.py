"""The example of monitoring cries where the bands know nothing any more, and only there."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from pages import DOCS, ROOT

EXAMPLE: dict[str, Any] = runpy.run_path(str(ROOT / "examples" / "monitoring.py"))


def test_the_week_that_lost_sight_of_its_errors_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert EXAMPLE["main"](tmp_path) == [False, False, True]
    shown = capsys.readouterr().out.splitlines()
    assert len(list(tmp_path.glob("day-*.json"))) == len(list(tmp_path.iterdir())) == 28
    assert "miss rate 0.100" in shown[2]  # which does not tell
    page = (DOCS / "guide-monitoring.md").read_text(encoding="utf-8")
    assert "\n".join(shown) in page


def test_a_week_is_the_same_in_whatever_order_its_days_are_merged(tmp_path: Path) -> None:
    EXAMPLE["main"](tmp_path)
    read = EXAMPLE["ucc"].UCCSketch.from_json
    days = [read((tmp_path / f"day-{day:02}.json").read_text(encoding="utf-8")) for day in range(6, -1, -1)]
    backwards = days[0]
    for day in days[1:]:
        backwards = backwards + day
    assert backwards == EXAMPLE["week"](tmp_path, 0)


@pytest.mark.parametrize(("gain", "expected"), [((-0.2, -0.06), True), ((-0.2, -0.04), False), ((0.0, 0.1), False)])
def test_only_a_bracket_that_lies_below_as_a_whole_is_an_alarm(gain: tuple[float, float], expected: bool) -> None:
    assert EXAMPLE["alarm"](gain) is expected
