"""`uccurve calibrate`, `demo` and `reproduce`."""

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import uccurve as ucc
from pages import DOCS, Reader
from test_cli import PROGRAM, Run, intervals, models, refused, run

__all__ = ["run"]  # the fixture


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    """Calibration rows, and new rows without observations, with columns of all kinds."""
    models(200).write_csv(tmp_path / "cal.csv")
    new = (
        models(50, seed=9)
        .drop("y")
        .with_columns(note=pl.lit('a "quoted", note'), when=pl.lit("2024-01-01"), amount=pl.lit("1.50"))
    )
    new.write_csv(tmp_path / "new.csv")


def test_calibrate_writes_new_bounds_and_keeps_all_else(run: Run, tmp_path: Path) -> None:
    found = run("calibrate", "cal.csv", "new.csv", "-o", "out.csv", "--miss-rate", "0.05")
    assert found.returncode == 0, found.stderr
    before, after = (pl.read_csv(tmp_path / name, infer_schema=False) for name in ("new.csv", "out.csv"))
    bounds = ["a_lower", "a_upper", "b_lower", "b_upper"]
    assert before.columns == after.columns
    assert before.drop(bounds).equals(after.drop(bounds))
    numbers = pl.read_csv(tmp_path / "new.csv")
    for name in "ab":
        calibrator = ucc.IntervalCalibrator(miss_rate=0.05).fit(intervals(models(200), name))
        columns = [numbers[f"{name}_{role}"].to_numpy() for role in ("pred", "lower", "upper")]
        lower, upper = calibrator.apply_bounds(*columns)
        assert_array_equal(after[f"{name}_lower"].cast(pl.Float64).to_numpy(), lower)
        assert_array_equal(after[f"{name}_upper"].cast(pl.Float64).to_numpy(), upper)
        assert f"{calibrator.scale_:.6g}" in found.stdout


def test_calibrate_knows_parquet_groups_and_shifts(run: Run, tmp_path: Path) -> None:
    models(200).write_parquet(tmp_path / "cal.parquet")
    models(50, seed=9).write_parquet(tmp_path / "new.parquet")
    options = ("--model", "A=a_pred,a_lower,a_upper", "--by", "site", "--vary", "shift", "--miss-rate", "0.1")
    found = run("calibrate", "cal.parquet", "new.parquet", "-o", "out.parquet", *options)
    assert found.returncode == 0, found.stderr
    before, after = models(50, seed=9), pl.read_parquet(tmp_path / "out.parquet")
    assert before.schema == after.schema
    assert before.drop("a_lower", "a_upper").equals(after.drop("a_lower", "a_upper"))
    calibrator = ucc.IntervalCalibrator(miss_rate=0.1, vary="shift")
    calibrator.fit(intervals(models(200), "a"), groups=models(200)["site"].to_list())
    shifts = {site: learnt.point.shift for site, learnt in calibrator.calibrations_.items()}
    expected = before["a_upper"].to_numpy() + np.array([shifts[site] for site in before["site"]])
    assert_allclose(after["a_upper"].to_numpy(), expected, rtol=1e-12)
    assert "A, north" in found.stdout


@pytest.mark.parametrize(
    ("target", "value"), [(("--bandwidth", "2.5"), {"bandwidth": 2.5}), (("--cost", "0.2"), {"cost": 0.2})]
)
def test_calibrate_reaches_other_targets(
    run: Run, tmp_path: Path, target: tuple[str, str], value: dict[str, float]
) -> None:
    assert run("calibrate", "cal.csv", "new.csv", "-o", "o.csv", *target).returncode == 0
    scale = ucc.IntervalCalibrator(**value).fit(intervals(models(200), "a")).scale_  # type: ignore[arg-type]  # floats
    new, out = pl.read_csv(tmp_path / "new.csv"), pl.read_csv(tmp_path / "o.csv")
    widths = [(frame["a_upper"] - frame["a_lower"]).to_numpy() for frame in (new, out)]
    assert_allclose(widths[1], scale * widths[0], rtol=1e-9)


def test_calibrate_refuses_what_does_not_fit(run: Run, tmp_path: Path) -> None:
    out = ("-o", "out.csv", "--miss-rate")
    models(5).write_csv(tmp_path / "few.csv")
    refused(run("calibrate", "few.csv", "new.csv", *out, "0.05"), "needs at least 19 rows; there are 5")
    pl.read_csv(tmp_path / "new.csv").drop("b_pred").write_csv(tmp_path / "part.csv")
    refused(
        run("calibrate", "cal.csv", "part.csv", *out, "0.1"),
        "both files must hold the same models: a, b in the first, a in",
    )
    refused(run("calibrate", "new.csv", "cal.csv", *out, "0.1"), "new.csv has no column for the observation")
    refused(run("calibrate", "-", "-", *out, "0.1"), "standard input can be read once only")
    (tmp_path / "out.csv").write_text("mine")
    refused(run("calibrate", "cal.csv", "new.csv", *out, "0.1"), "out.csv is already there")
    assert (tmp_path / "out.csv").read_text() == "mine"


def test_the_demo_prints_its_table_and_writes_its_report(run: Run, tmp_path: Path) -> None:
    found = run("demo")
    assert found.returncode == 0, found.stderr
    assert [name for name in ("kNN", "Constant", "kNN-Weak", "Random", "Eps-Perfect") if name not in found.stdout] == []
    assert (tmp_path / "uccurve-demo.html").stat().st_size < 6_000_000
    refused(run("demo"), "uccurve-demo.html is already there")


@pytest.mark.slow
def test_reproduce_writes_values_beside_the_papers(run: Run, tmp_path: Path) -> None:
    found = run("reproduce", "concepts", "--quick", "-o", "out")
    assert found.returncode == 0, found.stderr
    assert json.loads((tmp_path / "out" / "concepts.json").read_text())
    assert (tmp_path / "out" / "index.html").is_file()


def test_the_page_about_the_command_line_does_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Reader(DOCS / "howto-command-line.md", tmp_path).follow()
    page = (DOCS / "howto-command-line.md").read_text(encoding="utf-8")
    offered = re.findall(
        r"(--[a-z-]+)", subprocess.run([PROGRAM, "assess", "-h"], capture_output=True, text=True, check=True).stdout
    )
    assert [option for option in offered if option not in page and option != "--help"] == []
