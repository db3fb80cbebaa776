"""Files that stay where they are: every engine's brackets hold what memory says, and too little memory is told."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import uccurve as ucc
from streamed import agree
from test_cli import Run, intervals, models, refused, run
from uccurve.cli import _assessing as scans
from uccurve.cli import _files as memory
from uccurve.cli._loading import parts
from uccurve.cli._options import Request

__all__ = ["run"]  # the fixture
TWO_THREADS = {"POLARS_MAX_THREADS": "2"}
"""Each thread takes memory of its own."""
SPARK = pytest.param("spark", "parquet", marks=[pytest.mark.spark, pytest.mark.slow])
FILES = [(engine, kind) for engine in ("polars", "duckdb", "dask") for kind in ("csv", "parquet")]


@pytest.mark.parametrize(("engine", "kind"), [*FILES, SPARK])
def test_every_engine_brackets_what_memory_says(
    run: Run, tmp_path: Path, engine: str, kind: str, request: Any
) -> None:
    alone: dict[str, Any] = {}
    if engine == "spark":
        request.getfixturevalue("java")
        alone = {
            "stdin": subprocess.DEVNULL
        }  # a process of its own: a session would stay in that of the tests
    else:
        pytest.importorskip(engine)
    frame = models(200)
    (frame.write_csv if kind == "csv" else frame.write_parquet)(tmp_path / f"m.{kind}")
    options = (
        "--cost",
        "0.2",
        "--partial",
        "0.1:0.4",
        "--by",
        "site",
        "--coverage",
        "80%",
        "--engine",
        engine,
    )
    found = run("assess", f"m.{kind}", *options, "--json", "-", **alone)
    assert found.returncode == 0, found.stderr
    answer = json.loads(found.stdout, parse_constant=pytest.fail)
    assert answer["engine"] == engine
    exact = json.loads(run("assess", f"m.{kind}", *options[:-1], "memory", "--json", "-").stdout)
    assert answer["verdict"]["model"] == exact["verdict"]["model"]
    agree(answer, exact)
    assert [(one["feature"], one["model"], one["label"]) for one in answer["segments"]] == [
        ("site", name, site) for name in "ab" for site in ("north", "south")
    ]


def test_a_streamed_file_is_told_in_tables_and_drawn(run: Run, tmp_path: Path) -> None:
    models(200).write_parquet(tmp_path / "m.parquet")
    found = run(
        "assess",
        "m.parquet",
        "--engine",
        "polars",
        "--by",
        "site",
        "--plot",
        "o.svg",
        "--json",
        "o.json",
        "--report",
        "o.html",
    )
    assert found.returncode == 0, found.stderr
    assert "<html" in (tmp_path / "o.html").read_text()
    row = ucc.assess({name: intervals(models(200), name) for name in "ab"})["a"]
    in_memory = run("assess", "m.parquet").stdout.splitlines()
    streamed = found.stdout.splitlines()
    heads = [re.split(r"  +", lines[2]) for lines in (streamed, in_memory)]
    assert heads[0] == heads[1]
    (line,) = (line for line in streamed if line.startswith("a "))
    assert f"{100 * row.coverage.value:.1f}%" in line
    assert streamed[0].split(" with")[0] == in_memory[0].split(" with")[0]
    assert (tmp_path / "o.svg").read_text().startswith("<?xml")
    assert json.loads((tmp_path / "o.json").read_text())["models"]["a"]["n"] == 200


def test_streaming_refuses_what_memory_refuses(run: Run, tmp_path: Path) -> None:
    models().with_columns(a_lower=pl.col("a_pred") + 1).write_parquet(tmp_path / "bad.parquet")
    refused(
        run("assess", "bad.parquet", "--engine", "polars"), "must lie between `lower` and `upper`"
    )
    models().write_parquet(tmp_path / "m.parquet")
    asked = ("assess", "m.parquet", "--engine", "polars")
    refused(
        run(*asked, "--resamples", "9"),
        "--resamples needs the rows in memory, and polars streams them. Hint: --eng",
    )
    refused(run(*asked, "--sort-crossing"), "--sort-crossing needs the rows in memory")
    refused(run(*asked, "--by", "site", "--bins", "3"), "--bins needs the rows in memory")
    refused(
        run(*asked, "--by", "y"),
        r"`by` must name columns of labels; y holds floats\. Hint: cut them into bins first",
    )
    levels = models().select("y", a="a_pred", b="b_pred")
    for name, level in (("a", 80), ("a", 95), ("b", 50), ("b", 90)):
        ends = {"lo": pl.col(name) - level, "hi": pl.col(name) + level}
        levels = levels.with_columns(**{f"{name}-{end}-{level}": ends[end] for end in ends})
    levels.write_parquet(tmp_path / "levels.parquet")
    refused(
        run("assess", "levels.parquet", *asked[2:]),
        r"models of several levels need .* Hint: pass --coverage 90%\.$",
    )
    refused(
        run("assess", "-", "--engine", "duckdb", input="y,pred,lower,upper\n1,1,0,2\n"),
        "duckdb reads plain files",
    )


def test_an_engine_that_lacks_something_says_what(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("duckdb")
    pyspark = pytest.importorskip("pyspark.sql")
    models().write_parquet(tmp_path / "m.parquet")

    def fails(*_: Any) -> Any:
        raise pyspark.utils.PySparkRuntimeError(
            "[JAVA_GATEWAY_EXITED] Java gateway process exited."
        )

    monkeypatch.setattr(pyspark.SparkSession.builder.__class__, "getOrCreate", fails)
    refused(
        run("assess", "m.parquet", "--engine", "spark"),
        r"--engine spark needs Java 17 or later\. Hint: ",
    )
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    refused(
        run("assess", "m.parquet", "--engine", "duckdb"),
        r'duckdb needs pyarrow: pip install "uccurve\[duckdb\]"',
    )


@pytest.mark.parametrize("engine", ["polars", "duckdb", "dask"])
def test_models_are_compared_on_the_rows_that_all_of_them_have(
    run: Run, tmp_path: Path, engine: str
) -> None:
    pytest.importorskip(engine)
    frame = models(200).with_columns(
        b_lower=pl.when(pl.col("y") > 0.5).then(None).otherwise("b_lower")
    )
    frame.write_parquet(tmp_path / "m.parquet")
    found = run(
        "assess",
        "m.parquet",
        "--missing",
        "drop",
        "--engine",
        engine,
        "--json",
        "-",
        "--coverage",
        "0.8",
    )
    assert found.returncode == 0, found.stderr
    kept = frame.drop_nulls()
    assert f"dropped {200 - len(kept)} of 200 rows" in found.stderr
    for name, row in json.loads(found.stdout)["models"].items():
        iv = intervals(kept, name)
        assert row["n"] == len(kept) < 200
        assert_allclose(row["delivered"]["miss_rate"], ucc.UCC(iv).at(1.0).miss_rate)
        assert_allclose(
            row["decomposition"]["delivered"],
            ucc.interval_score(iv.y_true, iv.lower, iv.upper, coverage=0.8),
        )


def test_rows_of_several_streamed_files_are_not_paired(run: Run, tmp_path: Path) -> None:
    for name in "ab":
        models(50).write_parquet(tmp_path / f"{name}.parquet")
    refused(
        run("assess", "a.parquet", "b.parquet", "--engine", "polars"),
        "rows of several files cannot be paired while they are streamed",
    )


def test_streamed_segments_are_those_of_memory(run: Run, tmp_path: Path) -> None:
    frame = models(60)
    gone = frame.with_columns(y=pl.when(pl.col("site") == "north").then(None).otherwise("y"))
    gone.write_parquet(tmp_path / "gone.parquet")
    options = ("--by", "site", "--engine", "polars")
    found = run("assess", "gone.parquet", *options, "--missing", "drop", "--json", "-")
    assert {one["label"] for one in json.loads(found.stdout)["segments"]} == {"south"}
    frame.with_columns(
        site=pl.when(pl.col("site") == "north").then(None).otherwise("site")
    ).write_parquet(tmp_path / "null.parquet")
    number = int((frame["site"] == "north").sum())
    refused(
        run("assess", "null.parquet", *options),
        f"`by` must hold a label in each row: {number} of 60 rows have none.",
    )
    refused(
        run("assess", "null.parquet", *options[:2]),
        f"a label in each row: {number} of 60 rows have none",
    )


def test_features_combine_and_levels_have_their_own_scores_while_streamed(
    run: Run, tmp_path: Path
) -> None:
    frame = models(200).select(
        "y", "site", "w", a="a_pred", **{"a-lo-80": "a_lower", "a-hi-80": "a_upper"}
    )
    wide = frame.with_columns(
        **{"a-lo-95": pl.col("a-lo-80") - 1, "a-hi-95": pl.col("a-hi-80") + 1}
    )
    wide.write_parquet(tmp_path / "m.parquet")
    asked = (
        "assess",
        "m.parquet",
        "--by",
        "site,w",
        "--by",
        "w",
        "--coverage",
        "90%",
        "--json",
        "-",
    )
    streamed, exact = (
        json.loads(run(*asked, "--engine", engine).stdout) for engine in ("polars", "memory")
    )
    (row,), (same,) = streamed["models"].values(), exact["models"].values()
    agree(streamed, exact)
    y, pred = (wide[name].to_numpy() for name in "ya")
    bounds = [
        np.stack([wide[f"a-{end}-{level}"].to_numpy() for level in (80, 95)], axis=1)
        for end in ("lo", "hi")
    ]
    wis = ucc.wis_score(y, pred, *bounds, levels=[0.8, 0.95])
    assert_allclose([row["wis"]["score"]["value"], same["wis"]["score"]["value"]], wis)
    segments = {(one["feature"], one["label"]) for one in streamed["segments"]}
    assert ("site, w", "north, 1") in segments


def test_blocks_of_a_file_are_a_column_of_labels(run: Run, tmp_path: Path) -> None:
    frame = models(200).with_columns(day=pl.int_range(200) // 20)
    frame.write_parquet(tmp_path / "m.parquet")
    asked = ("assess", "m.parquet", "--coverage", "80%", "--json", "-", "--block")
    streamed, exact = (
        json.loads(run(*asked, "day", "--engine", engine).stdout) for engine in ("duckdb", "memory")
    )
    assert streamed["settings"]["block"] == exact["settings"]["block"] == "10 blocks by day"
    agree(streamed, exact)
    refused(
        run(*asked, "20", "--engine", "polars"),
        "--block 20, unlike --block COLUMN, needs the rows in memory",
    )
    frame.with_columns(day=pl.when(pl.col("y") > 0).then("day")).write_parquet(
        tmp_path / "m.parquet"
    )
    missing = int((frame["y"] <= 0).sum())
    refused(
        run(*asked, "day", "--engine", "polars"),
        f"`block` must hold a label in each row: {missing} of 200 rows",
    )


def test_a_folder_or_a_pattern_of_parquet_files_is_one_table(run: Run, tmp_path: Path) -> None:
    frame = models(90)
    (tmp_path / "lake").mkdir()
    for i in range(3):
        frame[30 * i : 30 * (i + 1)].write_parquet(tmp_path / "lake" / f"part-{i}.parquet")
    frame.write_parquet(tmp_path / "whole.parquet")
    whole = json.loads(run("assess", "whole.parquet", "--json", "-").stdout)
    for path in ("lake", "lake/part-*.parquet"):
        found = run("assess", path, "--json", "-")
        assert found.returncode == 0, found.stderr
        assert json.loads(found.stdout) == whole
        assert f"{path} (3 files): a is a_pred" in found.stderr
        streamed = json.loads(run("assess", path, "--engine", "polars", "--json", "-").stdout)
        assert streamed["models"]["a"]["n"] == 90
    (tmp_path / "empty").mkdir()
    refused(run("assess", "empty"), "empty is a folder without CSV or Parquet files.")
    refused(run("assess", "nothing-*.parquet"), "matches no file.")
    shutil.copy(tmp_path / "whole.parquet", tmp_path / "lake" / "x.parquet")
    (tmp_path / "lake" / "y.parquet").write_text("no Parquet")
    refused(
        run("assess", "lake"), "y.parquet is not a Parquet file|lake holds CSV and Parquet files"
    )


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 320 MB, for a process that may use less."""
    path = tmp_path_factory.mktemp("large") / "large.parquet"
    pred = np.tile(np.random.default_rng(0).normal(size=1_000_000), 10)
    columns = {"y": pred + 0.5, "pred": pred, "lower": pred - 1, "upper": pred + 1}
    pl.DataFrame(columns).write_parquet(path, compression="uncompressed")
    return path


@pytest.mark.slow
def test_a_file_larger_than_the_memory_there_is_is_refused_with_the_reason(
    run: Run, large: Path
) -> None:
    found = run("assess", str(large), limit=f"-v {1900 << 10}", env=os.environ | TWO_THREADS)
    refused(found, r"large.parquet is too large.* free. Hint: raise the limit")


@pytest.mark.slow
def test_a_file_too_large_to_load_is_streamed_and_that_is_said(run: Run, large: Path) -> None:
    found = run("assess", str(large), limit=f"-v {3500 << 10}", env=os.environ | TWO_THREADS)
    assert found.returncode == 0, found.stderr
    assert "are free: streamed by polars" in found.stderr
    assert "90%, for example, needs large with bands × 0.50" in found.stdout


def test_what_fits_is_loaded_and_what_does_not_is_streamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models().write_parquet(tmp_path / "m.parquet")
    request = Request()
    found = parts([str(tmp_path / "m.parquet")], request)
    for free, engine in ((None, "memory"), (10**12, "memory")):
        monkeypatch.setattr(scans, "room", lambda free=free: free)
        assert scans.choose_engine(found, request) == engine
    monkeypatch.setattr(scans, "_rows", lambda _: 10**9)
    monkeypatch.setattr(scans, "room", lambda: 64 * 10**9)
    monkeypatch.setattr(scans, "STREAM", 10**9)
    said: list[str] = []
    monkeypatch.setattr(scans, "say", said.append)
    assert scans.choose_engine(found, request) == "polars"
    assert said[0].startswith("about 432.0 GB would be needed in memory and 64.0 GB are free")
    monkeypatch.setattr(scans, "room", lambda: 10**8)
    with pytest.raises(MemoryError, match="is too large: even streaming takes about"):
        scans.choose_engine(found, request)


def test_the_room_is_the_smallest_of_all_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "/proc/meminfo": "MemTotal: 99 kB\nMemAvailable:    4000 kB\n",
        "/sys/fs/cgroup/memory.max": "3000000\n",
        "/sys/fs/cgroup/memory.current": "1000000\n",
        "/proc/self/status": "VmSize:     500 kB\n",
    }
    monkeypatch.setattr(memory, "_text", lambda path: texts.get(path, ""))
    monkeypatch.setattr(memory, "_address_space", lambda: None)
    assert memory.room() == 2_000_000
    texts["/sys/fs/cgroup/memory.max"] = "max\n"
    assert memory.room() == 4_096_000
    monkeypatch.undo()
    real = memory.room()
    assert real is None or real > 0
