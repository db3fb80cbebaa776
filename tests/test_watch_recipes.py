"""The recipes of the page on watching do what the page says, with the shells, servers and schedulers they name."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pages import DOCS, environment, steps

yaml = pytest.importorskip("yaml")
PAGE = DOCS / "howto-watch.md"
TODAY = date.today()  # noqa: DTZ011  what SQL calls current_date
FIELD = re.compile(r"(\*|\d+)(-\d+)?(/\d+)?")  # of a cron line: *, 7, 1-5 or */10
HOST = "127.0.0.1"


def recipe(kind: str, word: str = "") -> str:
    """The block of the page of a language, which holds a word."""
    (block,) = [step.text for step in steps(PAGE) if step.kind == kind and word in step.text]
    return block


def day(number: int, *, growth: float = 1.0, rows: int = 500) -> pl.DataFrame:
    """Outcomes of a day, counted from today."""
    rng = np.random.default_rng(number + 1000)
    pred = rng.uniform(10, 30, rows)
    error = growth * rng.normal(size=rows)
    columns = {"y": pred + error, "pred": pred, "lower": pred - 1.645, "upper": pred + 1.645}
    return pl.DataFrame({"date": [TODAY + timedelta(number)] * rows, **columns})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with thirty ordinary days, and one of much larger errors."""
    (tmp_path / "days").mkdir()
    for number in range(-31, 0):
        table = day(number, growth=3.0 if number == -1 else 1.0)
        table.write_csv(tmp_path / "days" / f"{TODAY + timedelta(number)}.csv")
    return tmp_path


def run(
    command: str, folder: Path, *, program: str = "bash", **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, "-c", command],
        cwd=folder,
        env=environment() | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_cron_line_is_silent_until_it_rings(folder: Path) -> None:
    *fields, command = recipe("crontab").strip().split(maxsplit=5)
    assert len(fields) == 5
    assert all(FIELD.fullmatch(field) for field in fields)
    assert "%" not in command  # which cron takes for the end of the line
    home = folder / "home"
    (home / "forecasts").mkdir(parents=True)
    (folder / "days").rename(home / "forecasts" / "days")
    rings = home / "forecasts" / "days" / f"{TODAY - timedelta(1)}.csv"
    rings.rename(folder / rings.name)
    found = run(command, folder, program="sh", HOME=str(home))
    assert (found.stdout, found.stderr) == ("", "")
    (folder / rings.name).rename(rings)
    found = run(command, folder, program="sh", HOME=str(home))
    assert found.stdout.startswith("RINGING model: ")
    rings.write_text("damaged")
    assert run(command, folder, program="sh", HOME=str(home)).stdout.startswith("uccurve: ")


def test_the_workflow_is_valid_and_keeps_its_state(folder: Path) -> None:
    workflow = folder / "watch.yml"
    workflow.write_text(recipe("yaml"), encoding="utf-8")
    checker = Path(sys.executable).with_name("check-jsonschema")
    if checker.exists():
        schema = [str(checker), "--builtin-schema", "vendor.github-workflows", str(workflow)]
        subprocess.run(schema, check=True, capture_output=True)
    job = yaml.safe_load(recipe("yaml"))["jobs"]["watch"]
    install, watch, keep = [step for step in job["steps"] if "run" in step]
    assert install["run"] == 'pip install "uccurve[cli]"'  # test_packaging installs it
    git = "git -c user.name=tests -c user.email=tests@localhost"
    begin = (
        f"git init -q --bare ../origin && {git} init -q && git add days && {git} commit -qm days"
    )
    assert run(f"{begin} && git remote add origin ../origin", folder).returncode == 0
    assert run("git push -q -u origin HEAD", folder).returncode == 0
    summary = folder.parent / "summary.md"
    found = run(f"set -e\n{watch['run']}", folder, GITHUB_STEP_SUMMARY=str(summary))
    assert found.returncode == 4, found.stderr  # which fails the job
    assert "**Ringing**" in summary.read_text(encoding="utf-8")
    assert keep["if"] == "always()"
    found = run(f"set -e\n{keep['run']}", folder)
    assert found.returncode == 0, found.stderr
    shown = run("git --git-dir ../origin show --stat HEAD", folder)
    assert "state.json" in shown.stdout
    shutil.rmtree(folder.parent / "origin")


def test_the_container_runs_the_command_in_the_folder_that_is_mounted(folder: Path) -> None:
    lines = dict(line.split(" ", 1) for line in recipe("dockerfile").splitlines())
    assert lines["FROM"].startswith("python:3.")
    assert 'pip install --no-cache-dir "uccurve[cli]"' in lines["RUN"]
    entry = yaml.safe_load(lines["ENTRYPOINT"])
    page = PAGE.read_text(encoding="utf-8")
    (call,) = re.findall(r"`(docker run [^`]*)`", page)
    mount, arguments = re.findall(r'-v "\$PWD:(\S+)" watch (.*)', call)[0]
    assert mount == lines["WORKDIR"]
    (folder / "days" / f"{TODAY - timedelta(31)}.csv").rename(folder / "days" / "2026-04-09.csv")
    found = run(" ".join([*entry, arguments]), folder)  # as the container would in its folder
    assert found.returncode == 0, found.stderr
    assert (folder / "state.json").exists()


def test_the_loop_stops_at_the_day_that_rings(folder: Path) -> None:
    day(0).write_csv(folder / "days" / f"{TODAY}.csv")
    found = run(recipe("bash", "for day in"), folder)
    lines = found.stdout.splitlines()
    assert len(lines) == 31  # and not the day after it
    assert [line.startswith("RINGING") for line in lines] == [False] * 30 + [True]


def late(table: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Yesterday's rows as they are at first, and all of them."""
    return table.head(300), table


def test_a_duckdb_table_is_watched_and_late_rows_are_taken(folder: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    command = recipe("bash", "duckdb")
    early, whole = late(day(-1))
    ordinary = pl.concat([day(number) for number in range(-7, -1)])
    for yesterday, new in ((early, "taken: "), (whole, f"taken: {TODAY - timedelta(1)} (1 day")):
        outcomes = pl.concat([ordinary, yesterday])
        with duckdb.connect(str(folder / "warehouse.duckdb")) as warehouse:
            warehouse.register("rows", outcomes.to_arrow())
            warehouse.execute("create or replace table outcomes as from rows")
        found = run(command, folder)
        assert found.returncode == 0, found.stderr
        assert new in found.stderr
    assert "known already: 6 days" in found.stderr


@pytest.fixture
def postgres() -> Iterator[str]:
    """The address of a server of its own, which ends with the test."""
    programs = [shutil.which(name) for name in ("initdb", "pg_ctl", "psql")]
    if None in programs:
        pytest.skip("needs a Postgres server: initdb, pg_ctl and psql")
    initdb, control, _ = map(str, programs)
    user = "postgres" if os.geteuid() == 0 else None  # as root it refuses to run
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        if user is not None:
            shutil.chown(place, user)
        data = ["-D", str(place / "data")]
        port = free_port()
        options = f"-p {port} -h {HOST} -k {place}"

        def call(*command: str) -> None:
            subprocess.run(command, user=user, cwd=place, check=True, stdout=subprocess.DEVNULL)

        call(initdb, *data, "-U", "watch", "-A", "trust")
        call(control, *data, "-o", options, "-l", str(place / "log"), "-w", "start")
        try:
            yield f"postgresql://watch@{HOST}:{port}/postgres"
        finally:
            call(control, *data, "-m", "immediate", "-w", "stop")


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as place:
        place.bind((HOST, 0))
        return int(place.getsockname()[1])


def test_a_postgres_table_is_watched_and_late_rows_are_taken(folder: Path, postgres: str) -> None:
    command = recipe("bash", "psql")
    columns = "date date, y float8, pred float8, lower float8, upper float8"
    early, whole = late(day(-1))
    rest = whole.slice(len(early))
    ordinary = pl.concat([day(number) for number in range(-7, -1)])
    assert run(f'psql -q "{postgres}" -c "create table outcomes ({columns})"', folder).stderr == ""
    for rows, new in (
        (pl.concat([ordinary, early]), f"taken: {TODAY - timedelta(7)} to {TODAY - timedelta(1)}"),
        (rest, f"taken: {TODAY - timedelta(1)} (1 day, 500 rows); known already: 6 days"),
    ):
        rows.write_csv(folder / "rows.csv")
        copy = f'psql -q "{postgres}" -c "\\copy outcomes from rows.csv csv header"'
        assert run(copy, folder).returncode == 0
        found = run(command, folder, DATABASE_URL=postgres)
        assert found.returncode == 0, found.stderr
        assert new in found.stderr
