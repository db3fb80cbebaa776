"""The example of monitoring cries where the bands know nothing any more, and only there."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pages import DOCS, ROOT
from uccurve.points import Estimate
from uccurve.results import Promise

EXAMPLE: dict[str, Any] = runpy.run_path(str(ROOT / "examples" / "monitoring.py"))


def test_the_week_that_lost_sight_of_its_errors_is_noticed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert EXAMPLE["main"](tmp_path) == [False, False, True]
    shown = capsys.readouterr().out.splitlines()
    assert len(list(tmp_path.glob("day-*.json"))) == len(list(tmp_path.iterdir())) == 28
    assert "coverage 0.900" in shown[2]  # which does not tell
    page = (DOCS / "howto-watch.md").read_text(encoding="utf-8")
    assert "\n".join(shown) in page


def test_a_week_is_the_same_in_whatever_order_its_days_come(tmp_path: Path) -> None:
    EXAMPLE["main"](tmp_path)
    days = EXAMPLE["week"](tmp_path, 0)
    one, two = EXAMPLE["assessed"](days), EXAMPLE["assessed"](days[::-1])
    assert (one.n, one.coverage) == (two.n, two.coverage)
    assert (one.skill.low, one.score.high) == pytest.approx((two.skill.low, two.score.high))


@pytest.mark.parametrize(
    ("highest", "promise", "expected"),
    [(0.05, "kept", True), (0.07, "kept", False), (0.07, "too narrow", True)],
)
def test_only_a_broken_promise_or_a_skill_that_lies_below_as_a_whole_is_an_alarm(
    tmp_path: Path, highest: float, promise: Promise, expected: bool
) -> None:
    EXAMPLE["main"](tmp_path)
    row = EXAMPLE["assessed"](EXAMPLE["week"](tmp_path, 0))
    reference = replace(row, skill=Estimate(0.08, 0.06, 0.1))
    now = replace(row, promise=promise, skill=Estimate(0.04, 0.02, highest))
    assert EXAMPLE["alarm"](now, reference) is expected
