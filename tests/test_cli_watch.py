"""`uccurve watch`: days of files are taken once, what rings is said, and nothing is lost, whoever kills it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import uccurve as ucc
from test_cli import PROGRAM, Run, refused, run

__all__ = ["run"]  # the fixture

FIRST = date(2026, 1, 1)
BROKEN = 30  # the day from which errors are larger
KILLED = int(os.environ.get("UCCURVE_KILLED", "12"))
"""How often the watch is killed; 200 by ``UCCURVE_KILLED=200 pytest tests/test_cli_watch.py -k killed``."""


def rows(day: int, n: int = 1000, growth: float = 1.3) -> pl.DataFrame:
    """Outcomes of one day: a model whose errors grow on day 30, and one with wider bands."""
    rng = np.random.default_rng([7, day])
    pred = rng.normal(10, 3, n).round(4)
    spread = np.exp(0.4 * rng.normal(size=n))
    error = spread * rng.normal(size=n) * (growth if day >= BROKEN else 1)
    return pl.DataFrame(
        {
            "date": [FIRST + timedelta(day)] * n,
            "site": rng.choice(["N", "S"], n),
            "y": (pred + error).round(4),
            "net": pred,
            "net_lower": pred - 1.645 * spread,
            "net_upper": pred + 1.645 * spread,
        }
    )


def label(day: int) -> str:
    return (FIRST + timedelta(day)).isoformat()


@pytest.fixture
def days(tmp_path: Path) -> Callable[..., list[str]]:
    """A function that writes one file per day and returns their names."""

    def write(first: int, end: int, **options: Any) -> list[str]:
        names = [f"day{day:03}.csv" for day in range(first, end)]
        for day, name in zip(range(first, end), names, strict=True):
            rows(day, **options).write_csv(tmp_path / name)
        return names

    return write


Days = Callable[..., list[str]]


def test_a_broken_promise_rings_with_the_day_and_the_factor(run: Run, days: Days) -> None:
    found = run("watch", "s.json", *days(0, 30), "--coverage", "90%")
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("ok net: ")
    assert "taken: 2026-01-01 to 2026-01-30 (30 days, 30,000 rows)" in found.stderr
    found = run("watch", "s.json", *days(30, 36))
    assert found.returncode == 4
    (line,) = found.stdout.splitlines()
    assert line.startswith("RINGING net: ")
    assert "of 90% since 2026-01-31 (6 days); bands × 1.3" in line
    assert line.endswith(" days by chance")


def test_what_the_command_says_is_what_the_monitor_says(
    run: Run, days: Days, tmp_path: Path
) -> None:
    names = days(0, 34)
    assert run("watch", "s.json", *names, "--coverage", "90%", "--by", "site").returncode == 4
    monitor = ucc.Monitor(coverage=0.9)
    for name in names:
        frame = pl.read_csv(tmp_path / name)
        columns = [frame[column].to_numpy() for column in ("y", "net", "net_lower", "net_upper")]
        intervals = ucc.Intervals.from_bounds(*columns)
        by = {"site": frame["site"].to_list()}
        monitor.update(frame["date"][0], {"net": intervals}, by=by)
    read = ucc.Monitor.from_json((tmp_path / "s.json").read_text())
    assert read.steps == monitor.steps
    assert [step.name for step in read.steps] == ["net", "net, site N", "net, site S"]


def test_the_same_file_twice_changes_nothing(run: Run, days: Days, tmp_path: Path) -> None:
    names = days(0, 5)
    run("watch", "s.json", *names, "--coverage", "90%", "--follow", "-o", "n.json")
    before = (tmp_path / "s.json").read_text()
    found = run("watch", "s.json", *names, "--follow", "-o", "n.json", "--force")
    assert "known already: 5 days" in found.stderr
    assert (tmp_path / "s.json").read_text() == before


def test_one_file_of_many_days_is_as_many_files(run: Run, days: Days, tmp_path: Path) -> None:
    names = days(0, 4)
    pl.concat([rows(day) for day in (2, 0, 3, 1)]).write_parquet(tmp_path / "all.parquet")
    run("watch", "a.json", *names, "--coverage", "90%")
    run("watch", "b.json", "all.parquet", "--coverage", "90%")
    states = [json.loads((tmp_path / f"{name}.json").read_text()) for name in "ab"]
    assert states[0]["series"] == states[1]["series"]


@pytest.mark.parametrize("path", ["rows/day=17/part-0.parquet", "rows/2026-03-01.csv"])
def test_a_day_may_be_told_by_the_path(run: Run, tmp_path: Path, path: str) -> None:
    place = tmp_path / path
    place.parent.mkdir(parents=True)
    frame = rows(0).drop("date")
    if place.suffix == ".csv":
        frame.write_csv(place)
    else:
        frame.write_parquet(place)
    given = "rows" if place.suffix == ".parquet" else path
    found = run("watch", "s.json", given, "--coverage", "90%")
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip().endswith(" on 17" if "17" in path else " on 2026-03-01")


def test_a_nameless_model_has_one_name_whatever_its_files_are_called(
    run: Run, tmp_path: Path
) -> None:
    for day in (0, 1):
        frame = rows(day).rename({"net": "pred", "net_lower": "lower", "net_upper": "upper"})
        frame.write_csv(tmp_path / f"{day}.csv")
    found = run("watch", "s.json", "0.csv", "1.csv", "--coverage", "90%")
    assert found.stdout.startswith("learning model: ")
    assert len(ucc.Monitor.from_json((tmp_path / "s.json").read_text()).steps) == 1


def test_rows_without_an_outcome_wait(run: Run, tmp_path: Path) -> None:
    frame = pl.concat([rows(0), rows(1)]).with_row_index()
    late = pl.when(pl.col("index") < 1000).then("y")
    frame.with_columns(y=late).drop("index").write_csv(tmp_path / "f.csv")
    found = run("watch", "s.json", "f.csv", "--coverage", "90%")
    assert "taken: 2026-01-01 (1 day, 1,000 rows); waiting for outcomes: 1,000 rows" in found.stderr
    frame.drop("index").write_csv(tmp_path / "f.csv")
    found = run("watch", "s.json", "f.csv")
    assert "taken: 2026-01-02 (1 day, 1,000 rows); known already: 1 day" in found.stderr


def test_before_any_outcome_everything_waits(run: Run, tmp_path: Path) -> None:
    rows(0).with_columns(y=pl.lit(None, pl.Float64)).write_csv(tmp_path / "a.csv")
    found = run("watch", "s.json", "a.csv", "--coverage", "90%", "--report", "r.html")
    assert (found.returncode, found.stdout) == (0, "learning: no outcomes yet\n")
    assert "waiting for outcomes: 1,000 rows" in found.stderr
    assert "No outcomes yet." in (tmp_path / "r.html").read_text()
    rows(0).write_csv(tmp_path / "a.csv")
    assert run("watch", "s.json", "a.csv").stdout.startswith("learning net: ")


def test_late_rows_are_refused_or_take_the_day_again(run: Run, days: Days, tmp_path: Path) -> None:
    days(0, 3)
    rows(1).head(600).write_csv(tmp_path / "part.csv")
    run("watch", "s.json", "day000.csv", "part.csv", "day002.csv", "--coverage", "90%")
    found = run("watch", "s.json", "day001.csv")
    refused(found, "2026-01-02 was taken from other rows than the 1,000 of day001.csv.*--replace")
    found = run("watch", "s.json", "day001.csv", "--replace")
    assert found.returncode == 0, found.stderr
    run("watch", "t.json", "day000.csv", "day001.csv", "day002.csv", "--coverage", "90%")
    states = [json.loads((tmp_path / f"{name}.json").read_text()) for name in "st"]
    assert states[0]["series"] == states[1]["series"]


def test_acknowledged_alarms_are_over_and_days_are_learnt_anew(run: Run, days: Days) -> None:
    run("watch", "s.json", *days(0, 36), "--coverage", "90%")
    assert run("watch", "s.json").returncode == 4
    found = run("watch", "s.json", "--acknowledge")
    assert found.returncode == 0
    assert found.stdout.startswith("learning net: ")
    assert found.stderr == "acknowledged: days are learnt from anew\n"


def test_a_followed_factor_is_a_calibration_that_apply_takes(
    run: Run, days: Days, tmp_path: Path
) -> None:
    names = days(0, 40)
    found = run("watch", "s.json", *names, "--coverage", "90%", "--follow", "-o", "next.json")
    assert found.returncode in (0, 4), found.stderr
    follow = ucc.FollowingCalibrator(coverage=0.9)
    for name in names:
        frame = pl.read_csv(tmp_path / name)
        columns = [frame[column].to_numpy() for column in ("y", "net", "net_lower", "net_upper")]
        follow.update(ucc.Intervals.from_bounds(*columns))
    assert f"; next factor × {follow.factor:.3f}" in found.stdout
    days(40, 41)
    assert run("apply", "next.json", "day040.csv", "-o", "out.csv").returncode == 0
    after = pl.read_csv(tmp_path / "out.csv")
    frame = pl.read_csv(tmp_path / "day040.csv")
    lower, upper = follow.apply(*(frame[name] for name in ("net", "net_lower", "net_upper")))
    assert_allclose(after["net_lower"].to_numpy(), lower, rtol=1e-9)
    assert_allclose(after["net_upper"].to_numpy(), upper, rtol=1e-9)


def test_the_followed_factor_ends_where_y_can(run: Run, days: Days, tmp_path: Path) -> None:
    names = days(0, 3)
    asked = ("--coverage", "90%", "--support", "-20:", "--follow", "-o", "next.json")
    assert run("watch", "s.json", *names, *asked).returncode == 0
    frame = pl.read_csv(tmp_path / names[0]).with_columns(net_lower=pl.lit(-1000.0))
    frame.write_csv(tmp_path / "far.csv")
    assert run("apply", "next.json", "far.csv", "-o", "out.csv").returncode == 0
    assert pl.read_csv(tmp_path / "out.csv")["net_lower"].min() == -20


def test_one_bound_of_two_is_watched_where_that_is_asked(
    run: Run, days: Days, tmp_path: Path
) -> None:
    (name,) = days(0, 1)
    found = run("watch", "s.json", name, "--coverage", "95%", "--side", "upper")
    frame = pl.read_csv(tmp_path / name)
    covered = np.mean(frame["y"].to_numpy() <= frame["net_upper"].to_numpy())
    assert f"learning net: {100 * covered:.1f}% " in found.stdout


def test_late_rows_of_the_last_day_move_the_factor_as_if_they_had_been_there(
    run: Run, days: Days, tmp_path: Path
) -> None:
    follow = ("--follow", "-o", "n.json", "--force", "--coverage", "90%")
    names = days(0, 4)
    rows(3).head(500).write_csv(tmp_path / "part.csv")
    run("watch", "s.json", *names[:3], "part.csv", *follow)
    found = run("watch", "s.json", names[3], "--replace", *follow)
    assert found.returncode == 0, found.stderr
    late = json.loads((tmp_path / "n.json").read_text())
    run("watch", "t.json", *names, *follow)
    assert json.loads((tmp_path / "n.json").read_text()) == late
    found = run("watch", "s.json", *days(1, 2, growth=1.0), "--replace", *follow)
    assert "known already: 1 day" in found.stderr
    rows(1).head(900).write_csv(tmp_path / "part.csv")
    found = run("watch", "s.json", "part.csv", "--replace", *follow)
    assert "late rows do not move the factor: 2026-01-02" in found.stderr


def test_a_challenger_rings_when_it_scores_better(run: Run, tmp_path: Path) -> None:
    for day in range(50):
        frame = rows(day, growth=1.0)
        half = pl.col("net_upper") - pl.col("net")
        wide = frame.with_columns(
            new=pl.col("net"),
            new_lower=pl.col("net") - 1.05 * half,
            new_upper=pl.col("net") + 1.05 * half,
        )
        poor = wide.with_columns(net_lower=pl.col("net") - 1.9, net_upper=pl.col("net") + 1.9)
        poor.write_csv(tmp_path / f"{day:02}.csv")
    names = [f"{day:02}.csv" for day in range(50)]
    found = run("watch", "s.json", *names, "--coverage", "90%", "--challenger", "new")
    assert found.returncode == 4
    assert "RINGING new: scores better than net by 0." in found.stdout
    refused(
        run("watch", "t.json", *names, "--coverage", "90%", "--challenger", "nwe"), "'nwe' must be"
    )


def test_outputs_agree(run: Run, days: Days, tmp_path: Path) -> None:
    out = ("--json", "o.json", "--markdown", "o.md", "--report", "o.html")
    found = run("watch", "s.json", *days(0, 34), "--coverage", "90%", "--by", "site", *out)
    data = json.loads((tmp_path / "o.json").read_text())
    assert (data["status"], data["since"]) == ("ringing", "2026-01-31")
    step = data["steps"][0]
    assert f"RINGING net: {100 * step['since_coverage']:.1f}% of 90%" in found.stdout
    line = f"| net | ringing | {100 * step['since_coverage']:.1f}% | 2026-01-31 (4 days) |"
    assert line in (tmp_path / "o.md").read_text()
    page = (tmp_path / "o.html").read_text()
    assert (
        page.count("<svg") == 4 * 3
    )  # coverage, evidence, factor and skill of a model and two sites
    assert 'class="alarm"' in page
    assert "<script" not in page
    found = run("watch", "s.json", "--json", "-")
    assert json.loads(found.stdout)["steps"] == data["steps"]


def test_groups_are_counted_unless_they_need_somebody(run: Run, days: Days) -> None:
    found = run("watch", "s.json", *days(0, 3), "--coverage", "90%", "--by", "site")
    assert found.stdout.splitlines()[1:] == ["2 groups ok or learning"]


def test_the_coverage_is_that_of_the_columns_or_must_be_given(run: Run, tmp_path: Path) -> None:
    names = {"net_lower": "net-lo-80", "net_upper": "net-hi-80"}
    rows(0).rename(names).write_csv(tmp_path / "a.csv")
    assert "of 80% on 2026-01-01" in run("watch", "s.json", "a.csv").stdout
    rows(0).write_csv(tmp_path / "b.csv")
    refused(
        run("watch", "t.json", "b.csv"),
        "the column names do not state a coverage. Hint: --coverage 90%",
    )
    assert not (tmp_path / "t.json").exists()


def test_of_several_levels_the_one_nearest_90_is_watched(run: Run, tmp_path: Path) -> None:
    half = pl.col("net_upper") - pl.col("net")
    frame = rows(0).with_columns(
        **{f"net-lo-{level}": pl.col("net") - level / 60 * half for level in (50, 80, 95)},
        **{f"net-hi-{level}": pl.col("net") + level / 60 * half for level in (50, 80, 95)},
    )
    frame.drop("net_lower", "net_upper").write_csv(tmp_path / "a.csv")
    assert "of 95% on" in run("watch", "s.json", "a.csv").stdout
    assert "of 80% on" in run("watch", "t.json", "a.csv", "--coverage", "80%").stdout
    refused(
        run("watch", "u.json", "a.csv", "--coverage", "90%"),
        "net of a.csv has the levels 50%, 80% and 95%, and 90% is watched",
    )


def test_outcomes_of_another_file_are_taken_as_they_arrive(run: Run, tmp_path: Path) -> None:
    both = pl.concat([rows(0), rows(1)]).with_row_index("id")
    both.drop("y").write_csv(tmp_path / "forecasts.csv")
    both.select("id", "y").head(1000).write_parquet(tmp_path / "truth.parquet")
    asked = ("watch", "s.json", "forecasts.csv", "--truth", "truth.parquet", "--coverage", "90%")
    found = run(*asked)
    assert "taken: 2026-01-01 (1 day, 1,000 rows); waiting for outcomes: 1,000" in found.stderr
    both.select("id", "y").write_parquet(tmp_path / "truth.parquet")
    found = run(*asked)
    assert "taken: 2026-01-02 (1 day, 1,000 rows); known already: 1 day" in found.stderr
    both.write_csv(tmp_path / "whole.csv")
    run("watch", "t.json", "whole.csv", "--coverage", "90%")
    states = [json.loads((tmp_path / f"{name}.json").read_text()) for name in "st"]
    assert states[0]["series"] == states[1]["series"]
    pl.concat([both, both]).select("id", "y").write_csv(tmp_path / "twice.csv")
    found = run("watch", "u.json", "forecasts.csv", "--truth", "twice.csv", "--coverage", "90%")
    assert found.returncode == 0, found.stderr  # the same observation twice is one
    wrong = both.select("id", y=pl.col("y") + 1)
    pl.concat([both.select("id", "y"), wrong]).write_csv(tmp_path / "twice.csv")
    found = run("watch", "v.json", "forecasts.csv", "--truth", "twice.csv", "--coverage", "90%")
    refused(found, "id must name each row once: 4,000 of 4,000 rows of twice.csv share their key")


def test_a_model_that_is_no_longer_there_is_named(run: Run, tmp_path: Path) -> None:
    renamed = {"net": "new", "net_lower": "new_lower", "net_upper": "new_upper"}
    rows(0).write_csv(tmp_path / "a.csv")
    rows(0).rename(renamed).write_csv(tmp_path / "b.csv")
    rows(1).rename(renamed).write_csv(tmp_path / "c.csv")
    run("watch", "s.json", "a.csv", "--coverage", "90%")
    refused(run("watch", "s.json", "b.csv"), "2026-01-01 was taken without new of b.csv: net is")
    found = run("watch", "s.json", "c.csv")
    assert found.returncode == 0, found.stderr
    assert "not in the last day: net" in found.stderr


def test_a_condition_chooses_rows(run: Run, tmp_path: Path) -> None:
    rows(0).write_csv(tmp_path / "a.csv")
    rows(0).filter(pl.col("site") == "N").write_csv(tmp_path / "b.csv")
    run("watch", "s.json", "a.csv", "--coverage", "90%", "--where", "site=N")
    run("watch", "t.json", "b.csv", "--coverage", "90%")
    assert (tmp_path / "s.json").read_text() == (tmp_path / "t.json").read_text()
    found = run("watch", "u.json", "a.csv", "--coverage", "90%", "--where", "shop=N")
    refused(found, "a.csv has no column shop")


def test_a_table_of_a_database_is_watched(run: Run, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    with duckdb.connect(str(tmp_path / "dw.duckdb")) as warehouse:
        warehouse.register("rows", pl.concat([rows(0), rows(1)]).to_arrow())
        warehouse.execute("create table outcomes as from rows")
    found = run("watch", "s.json", "dw.duckdb::outcomes", "--coverage", "90%")
    assert "taken: 2026-01-01 to 2026-01-02 (2 days, 2,000 rows)" in found.stderr


def test_a_bound_without_a_prediction_is_watched_but_no_factor_follows_it(
    run: Run, tmp_path: Path
) -> None:
    for day in range(3):
        rows(day).select("date", "y", q90=pl.col("net_upper")).write_csv(tmp_path / f"{day}.csv")
    found = run("watch", "s.json", "0.csv", "1.csv", "2.csv")
    assert found.returncode == 0, found.stderr
    assert "of 90% on 2026-01-03" in found.stdout
    found = run("watch", "s.json", "--report", "r.html")
    assert "Shift that would have kept" in (tmp_path / "r.html").read_text()
    follow = run("watch", "t.json", "0.csv", "--follow", "-o", "n.json")
    refused(follow, "--follow moves a factor on bands, and .* has no prediction")


# ---- bad input


def edited(path: Path) -> None:
    path.write_text(path.read_text().replace('"rows":[1000', '"rows":[1001', 1))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["day000.csv"],
            "days must come in order: 2026-01-01 is before 2026-01-04.*--replace puts",
        ),
        (["day004.csv", "--coverage", "80%"], "s.json watches with --coverage 90%, not 80%"),
        (["day004.csv", "--period", "7"], "s.json watches with --period its default, not 7"),
        (["day004.csv", "--by", "site"], "s.json watches no groups, not site"),
        (["half.csv"], "half.csv holds 500 rows of 2026-01-05 twice, of 1,500"),
        (["day004.csv", "again.csv"], "hold the same 1,000 rows of 2026-01-05"),
        (["day004.csv", "--day", "site"], "days must be all dates.*; got '2026-01-04' and 'N'"),
        (["day004.csv", "--day", "when"], "day004.csv has no column when"),
        (["undated.csv"], "undated.csv has no column that tells the day"),
        (["unobserved.csv"], "unobserved.csv has no column for the observation"),
        (["empty"], "empty is a folder without CSV or Parquet files"),
        (["hub"], "hub holds a folder for each model, and one table is read here"),
        (["day004.csv", "--ring-for", "wide"], "s.json watches with --ring-for both, not wide"),
        (["s.json"], "is JSON, not a table"),
    ],
)
def test_what_cannot_be_taken_is_refused_and_changes_nothing(
    run: Run, days: Days, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    names = days(0, 5)
    run("watch", "s.json", *names[1:4], "--coverage", "90%")
    pl.concat([rows(4), rows(4).head(500)]).write_csv(tmp_path / "half.csv")
    rows(4).write_csv(tmp_path / "again.csv")
    rows(4).drop("date").write_csv(tmp_path / "undated.csv")
    rows(4).drop("y").write_csv(tmp_path / "unobserved.csv")
    (tmp_path / "empty").mkdir()
    for name in ("net", "old"):
        (tmp_path / "hub" / name).mkdir(parents=True)
        rows(4).write_csv(tmp_path / "hub" / name / "2026-01-05.csv")
    before = (tmp_path / "s.json").read_bytes()
    refused(run("watch", "s.json", *arguments), sentence)
    assert (tmp_path / "s.json").read_bytes() == before


def test_a_state_that_was_edited_or_is_something_else_is_refused(
    run: Run, days: Days, tmp_path: Path
) -> None:
    (name,) = days(0, 1)
    refused(run("watch", "s.json"), "s.json does not exist yet")
    run("watch", "s.json", name, "--coverage", "90%")
    edited(tmp_path / "s.json")
    refused(run("watch", "s.json"), "s.json must be the state of `uccurve watch`: it was edited")
    (tmp_path / "s.json").write_text('{"kind": "uccurve.calibration"}')
    refused(run("watch", "s.json"), "s.json must be the state of `uccurve watch`: it lacks")


def test_follow_and_out_belong_together(run: Run, days: Days) -> None:
    (name,) = days(0, 1)
    found = run("watch", "s.json", name, "--coverage", "90%", "--follow")
    assert found.returncode == 2
    assert "give --follow and --out together" in " ".join(found.stderr.split())


# ---- many processes, killed processes, and a year


def test_two_processes_at_once_lose_nothing(days: Days, tmp_path: Path) -> None:
    names = days(0, 8)
    command = [PROGRAM, "watch", "s.json"]
    subprocess.run([*command, names[0], "--coverage", "90%"], cwd=tmp_path, check=True)
    with ThreadPoolExecutor(4) as pool:
        calls = [[*command, name, "--replace"] for name in names[1:]]
        done = [*pool.map(lambda call: subprocess.run(call, cwd=tmp_path, check=False), calls)]
    assert [one.returncode for one in done] == [0] * 7
    monitor = ucc.Monitor.from_json((tmp_path / "s.json").read_text())
    assert [step.label for step in monitor.history()] == [label(day) for day in range(8)]


def test_a_watch_killed_at_any_moment_leaves_the_old_state_or_the_new(
    days: Days, tmp_path: Path
) -> None:
    names = days(0, 2, n=5000)
    command = [PROGRAM, "watch", "s.json"]
    subprocess.run([*command, names[0], "--coverage", "90%"], cwd=tmp_path, check=True)
    old = (tmp_path / "s.json").read_bytes()
    started = time.perf_counter()
    subprocess.run([*command, names[1]], cwd=tmp_path, check=True)
    whole = time.perf_counter() - started
    new = (tmp_path / "s.json").read_bytes()
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(KILLED):
        (tmp_path / "s.json").write_bytes(old)
        process = subprocess.Popen([*command, names[1]], cwd=tmp_path, stderr=subprocess.DEVNULL)
        time.sleep(float(rng.uniform(0.5, 1.2)) * whole)
        process.send_signal(signal.SIGKILL)
        process.wait()
        state = (tmp_path / "s.json").read_bytes()
        assert state in (old, new)
        seen.add(state == new)
    found = subprocess.run([*command, names[1]], cwd=tmp_path, check=False)  # no lock is left
    assert found.returncode == 0
    assert (tmp_path / "s.json").read_bytes() == new


def test_a_year_of_days_is_a_state_below_50_kilobytes_per_model() -> None:
    monitor = ucc.Monitor(coverage=0.9)
    rng = np.random.default_rng(3)
    for day in range(365):
        error, spread = rng.normal(size=(2, 100))
        iv = ucc.Intervals.from_std(error, np.zeros(100), np.exp(spread / 4))
        monitor.update(label(day), {"a": iv, "b": iv.calibrated(scale=1.1)})
    assert len(monitor.to_json().encode()) < 2 * 50_000


def test_a_late_day_in_the_year_takes_no_longer_than_an_early_one(
    run: Run, days: Days, tmp_path: Path
) -> None:
    names = days(0, 366, n=20, growth=1.0)
    run("watch", "s.json", *names[:365], "--coverage", "90%", "--follow", "-o", "n.json")
    assert (tmp_path / "s.json").stat().st_size < 50_000
    rows(365, n=5000, growth=1.0).write_csv(tmp_path / names[365])
    started = time.process_time()
    found = run("watch", "s.json", names[365], "--follow", "-o", "n.json", "--force")
    assert found.returncode == 0, found.stderr
    assert time.process_time() - started < 1
