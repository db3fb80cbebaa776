"""The page of figures has a place for every benchmark, and says so where a figure breaks its limit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks import bench_compare, bench_core, page
from benchmarks.__main__ import names, write
from pages import DOCS

PAGE = DOCS / "performance.md"
MACHINE = {
    "processor": "Slow 1",
    "cores": 2,
    "system": "Linux 6",
    "python": "3.11",
    "numpy": "2",
    "load": 0.25,
}
EMPTY = "# Page\n\n<!-- bench one -->\n<!-- end one -->\n\nSaid.\n\n<!-- bench two -->\n<!-- end two -->\n"
ROWS: list[dict[str, Any]] = [
    {"job": "held", "N": 10, "unit": "x sort", "cpu": 3.96, "wall": 9.0, "at most": 4.0},
    {"job": "broken", "N": 10, "unit": "x sort", "cpu": 8.04, "wall": 1.0, "at most": 8.0},
    {"job": "peak", "N": 10, "unit": "MB", "memory": 9.0, "at most": None},
    {"job": "against", "cpu": 1.0, "times as fast": 999.0, "at least": 1000},
]


def test_every_benchmark_has_its_place_on_the_page() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md")))
    places = re.findall(r"<!-- bench (\w+) -->", text)
    assert len(places) == len(set(places))
    assert set(names()) == set(places)
    for name in places:
        assert page.section(text, name)


def test_every_table_of_the_page_is_regular() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(page.tables(text)) >= 1
    assert sum(line.startswith("|") for line in text.splitlines()) == sum(
        len(t) + 2 for t in page.tables(text)
    )


def test_the_page_names_every_figure_that_breaks_its_limit() -> None:
    text = PAGE.read_text(encoding="utf-8")
    confessed = text.partition("## What misses its target")[2]
    missing = [job for job in page.misses(text) if job not in confessed]
    assert not missing, f"the last section of {PAGE.name} must name {missing}"


def test_every_job_runs_and_is_held_to_a_limit() -> None:
    sort, *core = bench_core.ratios(1000, 1)
    assert sort["job"] == bench_core.SORT
    assert sort["cpu"] == 1.0
    compare = [bench_compare.assessed(1000, kind) for kind in ("symmetric", "asymmetric")]
    compare += [bench_compare.segmented(2000), bench_compare.resampled(1000, 20)]
    for row in core + compare:
        assert 0 < row["cpu"] < float("inf"), row["job"]
        assert row["aim"] <= row["at most"], row["job"]
    assert len({row["job"] for row in core + compare}) == len(core + compare)


def test_a_second_look_at_a_curve_is_measured_by_its_own_table() -> None:
    rows = {row["job"]: row for row in bench_core.ratios(1000, 1)}
    for kind in ("symmetric", "asymmetric"):
        looks, table = (
            rows[f"{job}, {kind}"]
            for job in ("points(), then points() on deficit vs. excess", "UCC(iv).table()")
        )
        assert looks["unit"] == "x its own table()"
        assert looks["cpu"] == pytest.approx(looks["cpu ms"] / table["cpu ms"])


def test_figures_are_replaced_and_the_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(EMPTY, encoding="utf-8")
    page.write(path, {"one": {"rows": ROWS, "machine": MACHINE}})
    first = path.read_text(encoding="utf-8")
    page.write(path, {"two": {"rows": ROWS[:1], "machine": MACHINE | {"load": None}}})
    both = path.read_text(encoding="utf-8")
    assert page.section(both, "one")[0] == page.section(first, "one")[0]
    assert (
        "Measured on Slow 1, Linux 6, 2 cores, Python 3.11, numpy 2; load 0.25 before the run."
        in first
    )
    assert "load" not in page.section(both, "two")[0]
    page.write(path, {"one": {"rows": ROWS, "machine": MACHINE}})
    assert path.read_text(encoding="utf-8") == both
    assert [len(table) for table in page.tables(first)] == [2, 1, 1]
    assert "| held | 10 | x sort | 3.96 | 9 | 4 |" in first


def test_a_broken_limit_is_found_on_either_side() -> None:
    assert page.misses(page.replaced(EMPTY, "one", ROWS, MACHINE)) == ["broken", "against"]


def test_a_page_without_the_place_is_refused() -> None:
    with pytest.raises(ValueError, match="must have a place between <!-- bench three -->"):
        page.replaced(EMPTY, "three", ROWS, MACHINE)


def test_a_table_with_a_lost_cell_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        page.tables("| a | b |\n|---|--:|\n| 1 | 2 |\n| 3 |\n")


def test_results_of_other_benchmarks_stay_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    write(path, {"one": {"rows": [], "quick": True}})
    write(path, {"two": {"rows": []}})
    write(path, {"one": {"rows": [], "quick": False}})
    assert path.read_text(encoding="utf-8").count('"one"') == 1
    assert '"quick": false' in path.read_text(encoding="utf-8")
    assert '"two"' in path.read_text(encoding="utf-8")
