"""Files that stay where they are: every engine's brackets hold what memory says, and too little memory is told."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import uccurve as ucc
from test_cli import FAST, Run, intervals, models, refused, run
from uccurve.cli import _memory as memory
from uccurve.cli import _scans as scans
from uccurve.cli._loading import Request, parts

__all__ = ["run"]  # the fixture
TWO_THREADS = {"POLARS_MAX_THREADS": "2"}
"""Each thread takes memory of its own."""
GAINS = {
    "gain_bandwidth_miss_rate": ("bandwidth", "miss_rate"),
    "gain_excess_deficit": ("excess", "deficit"),
    "gain_bandwidth_deficit": ("bandwidth", "deficit"),
}


def holds(row: dict[str, Any], iv: ucc.Intervals) -> None:
    """The exact answers lie within the brackets."""
    c = ucc.UCC(iv)
    assert row["n"] == len(iv)
    assert_allclose([row[name] for name in ("miss_rate", "bandwidth")], [c.at(1.0).miss_rate, c.at(1.0).bandwidth])
    exact = {name: c.gain(axes=axes) for name, axes in GAINS.items()}  # type: ignore[arg-type]  # pairs of metrics
    exact |= {"partial_gain": c.gain(miss_rate=(0.1, 0.4)), "cost": c.cost(0.2)}
    exact["cheapest_cost"] = c.cheapest(0.2).cost or 0.0
    for name, value in exact.items():
        low, high = row[name]
        assert low <= value <= high, name
        assert high - low < 0.4


SPARK = pytest.param("spark", "parquet", marks=[pytest.mark.spark, pytest.mark.slow])
FILES = [(engine, kind) for engine in ("polars", "duckdb", "dask") for kind in ("csv", "parquet")]


@pytest.mark.parametrize(("engine", "kind"), [*FILES, SPARK])
def test_every_engine_brackets_what_memory_says(run: Run, tmp_path: Path, engine: str, kind: str, request: Any) -> None:
    if engine == "spark":
        request.getfixturevalue("java")
    else:
        pytest.importorskip(engine)
    frame = models(200)
    (frame.write_csv if kind == "csv" else frame.write_parquet)(tmp_path / f"m.{kind}")
    options = ("--cost", "0.2", "--miss-rate", "0.1:0.4", "--by", "site", "--engine", engine)
    found = run("assess", f"m.{kind}", *options, "--json", "-")
    assert found.returncode == 0, found.stderr
    answer = json.loads(found.stdout)
    assert answer["engine"] == engine
    for name in "ab":
        holds(answer["models"][name], intervals(frame, name))
    assert [(one["model"], one["label"]) for one in answer["segments"]] == [
        (name, site) for name in "ab" for site in ("north", "south")
    ]
    for one in answer["segments"]:
        holds(one, intervals(frame.filter(pl.col("site") == one["label"]), one["model"]))


def test_a_streamed_file_is_told_in_tables_and_drawn(run: Run, tmp_path: Path) -> None:
    models(200).write_parquet(tmp_path / "m.parquet")
    found = run("assess", "m.parquet", "--engine", "polars", "--by", "site", "--plot", "o.svg", "--json", "o.json")
    assert found.returncode == 0, found.stderr
    gain = 100 * ucc.UCC(intervals(models(200), "a")).gain()
    assert f"{gain:+.2f} [" in found.stdout
    assert "confidence intervals and tests need the rows in memory: --engine memory" in found.stdout
    assert (tmp_path / "o.svg").read_text().startswith("<?xml")
    assert json.loads((tmp_path / "o.json").read_text())["models"]["a"]["n"] == 200


def test_streaming_refuses_what_memory_refuses(run: Run, tmp_path: Path) -> None:
    models().with_columns(a_lower=pl.col("a_pred") + 1).write_parquet(tmp_path / "bad.parquet")
    refused(run("assess", "bad.parquet", "--engine", "polars"), "must lie between `lower` and `upper`")
    models().write_parquet(tmp_path / "m.parquet")
    refused(
        run("assess", "m.parquet", "--engine", "polars", "--report", "o.html"), "a report shows rows, and polars keeps"
    )
    assert not (tmp_path / "o.html").exists()
    refused(run("assess", "-", "--engine", "duckdb", input="y,pred,lower,upper\n1,1,0,2\n"), "duckdb reads files")


@pytest.mark.parametrize("engine", ["polars", "duckdb", "dask"])
def test_models_are_compared_on_the_rows_that_all_of_them_have(run: Run, tmp_path: Path, engine: str) -> None:
    pytest.importorskip(engine)
    frame = models(200).with_columns(b_lower=pl.when(pl.col("y") > 0.5).then(None).otherwise("b_lower"))
    frame.write_parquet(tmp_path / "m.parquet")
    found = run("assess", "m.parquet", "--missing", "drop", "--engine", engine, "--json", "-", "--alpha", "0.2")
    assert found.returncode == 0, found.stderr
    kept = frame.drop_nulls()
    assert f"dropped {200 - len(kept)} of 200 rows" in found.stderr
    for name, row in json.loads(found.stdout)["models"].items():
        iv = intervals(kept, name)
        assert row["n"] == len(kept) < 200
        assert_allclose(row["miss_rate"], ucc.UCC(iv).at(1.0).miss_rate)
        assert_allclose(row["interval_score"], ucc.interval_score(iv.y_true, iv.lower, iv.upper, alpha=0.2))


def test_rows_of_several_streamed_files_are_not_matched(run: Run, tmp_path: Path) -> None:
    frame = models(50)
    for name in "ab":
        frame.select("y", *(pl.col(f"{name}_{role}").alias(role) for role in ("pred", "lower", "upper"))).write_parquet(
            tmp_path / f"{name}.parquet"
        )
    files = ("assess", "a.parquet", "b.parquet", "--engine", "polars")
    assert run(*files).returncode == 0
    two = pl.read_parquet(tmp_path / "b.parquet").with_row_index("i")
    two.with_columns(upper=pl.when(pl.col("i") != 3).then("upper")).drop("i").write_parquet(tmp_path / "b.parquet")
    refused(run(*files, "--missing", "drop"), "several files cannot be matched .* Hint: put all models into one file")
    frame[:40].select("y", pred="b_pred", lower="b_lower", upper="b_upper").write_parquet(tmp_path / "b.parquet")
    refused(run(*files), "files must have the same rows: a 50, b 40.")


def test_streamed_segments_are_those_of_memory(run: Run, tmp_path: Path) -> None:
    frame = models(60)
    gone = frame.with_columns(y=pl.when(pl.col("site") == "north").then(None).otherwise("y"))
    gone.write_parquet(tmp_path / "gone.parquet")
    options = ("--by", "site", "--engine", "polars")
    found = run("assess", "gone.parquet", *options, "--missing", "drop", "--json", "-")
    assert {one["label"] for one in json.loads(found.stdout)["segments"]} == {"south"}
    frame.with_columns(site=pl.when(pl.col("site") == "north").then(None).otherwise("site")).write_parquet(
        tmp_path / "null.parquet"
    )
    number = int((frame["site"] == "north").sum())
    refused(run("assess", "null.parquet", *options), f"`by` must hold a label in each row: {number} of 60 have none.")
    refused(run("assess", "null.parquet", *options[:2], *FAST), f"a label in each row: {number} of 60 have none")


def test_a_folder_or_a_pattern_of_parquet_files_is_one_table(run: Run, tmp_path: Path) -> None:
    frame = models(90)
    (tmp_path / "lake").mkdir()
    for i in range(3):
        frame[30 * i : 30 * (i + 1)].write_parquet(tmp_path / "lake" / f"part-{i}.parquet")
    frame.write_parquet(tmp_path / "whole.parquet")
    whole = json.loads(run("assess", "whole.parquet", *FAST, "--json", "-").stdout)
    for path in ("lake", "lake/part-*.parquet"):
        found = run("assess", path, *FAST, "--json", "-")
        assert found.returncode == 0, found.stderr
        assert json.loads(found.stdout) == whole
        assert f"{path} (3 files): a is a_pred" in found.stderr
        streamed = json.loads(run("assess", path, "--engine", "polars", "--json", "-").stdout)
        assert streamed["models"]["a"]["n"] == 90
    (tmp_path / "empty").mkdir()
    refused(run("assess", "empty"), "empty is a folder without Parquet files.")
    refused(run("assess", "nothing-*.parquet"), "matches no file.")
    shutil.copy(tmp_path / "whole.parquet", tmp_path / "lake" / "x.parquet")
    (tmp_path / "lake" / "y.parquet").write_text("no Parquet")
    refused(run("assess", "lake"), "y.parquet is no Parquet file")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 320 MB, for a process that may use less."""
    path = tmp_path_factory.mktemp("large") / "large.parquet"
    pred = np.tile(np.random.default_rng(0).normal(size=1_000_000), 10)
    columns = {"y": pred + 0.5, "pred": pred, "lower": pred - 1, "upper": pred + 1}
    pl.DataFrame(columns).write_parquet(path, compression="uncompressed")
    return path


@pytest.mark.slow
def test_a_file_larger_than_the_memory_there_is_is_refused_with_the_reason(run: Run, large: Path) -> None:
    found = run("assess", str(large), limit=f"-v {1500 << 10}", env=os.environ | TWO_THREADS)
    refused(found, r"large.parquet is too large.* free. Hint: raise the limit")


@pytest.mark.slow
def test_a_file_too_large_to_load_is_streamed_and_that_is_said(run: Run, large: Path) -> None:
    found = run("assess", str(large), limit=f"-v {3500 << 10}", env=os.environ | TWO_THREADS)
    assert found.returncode == 0, found.stderr
    assert "are free: streamed by polars, with brackets in place of tests" in found.stderr
    assert "10000000" in found.stdout


def test_what_fits_is_loaded_and_what_does_not_is_streamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models().write_parquet(tmp_path / "m.parquet")
    request = Request()
    found = parts([str(tmp_path / "m.parquet")], request)
    for free, engine in ((None, "memory"), (10**12, "memory")):
        monkeypatch.setattr(scans, "room", lambda free=free: free)
        assert scans.fitting(found, request) == (engine, "")
    monkeypatch.setattr(scans, "_rows", lambda _: 10**9)
    monkeypatch.setattr(scans, "room", lambda: 64 * 10**9)
    monkeypatch.setattr(scans, "STREAM", 10**9)
    engine, why = scans.fitting(found, request)
    assert engine == "polars"
    assert why.startswith("about 432.0 GB would be needed in memory and 64.0 GB are free")
    monkeypatch.setattr(scans, "room", lambda: 10**8)
    with pytest.raises(MemoryError, match="is too large: even to stream it takes about"):
        scans.fitting(found, request)


def test_the_room_is_the_least_of_all_limits(monkeypatch: pytest.MonkeyPatch) -> None:
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
