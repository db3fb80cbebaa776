"""The command line and files as they are: pipes, packed files, decimal commas, several levels, closed streams."""

import gzip
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import uccurve as ucc
from test_cli import PROGRAM, Run, csv, intervals, models, refused, run

__all__ = ["csv", "run"]  # the fixtures


def shell(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash, in which `uccurve` is the program."""
    environment = os.environ | {"PATH": f"{Path(PROGRAM).parent}{os.pathsep}{os.environ['PATH']}"}
    settings: dict[str, object] = {
        "cwd": folder,
        "capture_output": True,
        "text": True,
        "timeout": 120,
    }
    return subprocess.run(["bash", "-c", line], env=environment, check=False, **settings)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize(
    "line",
    [
        "uccurve assess <(cat models.csv)",
        "cat models.csv | uccurve assess /dev/stdin",
        "uccurve assess /dev/stdin < models.csv",
        "uccurve assess - < models.csv",
        "mkfifo pipe; cat models.csv > pipe & uccurve assess pipe",
        "gzip -c models.csv | uccurve assess -",
        "gzip -k models.csv; uccurve assess models.csv.gz",
        "zstd -q models.csv; uccurve assess models.csv.zst",
        "uccurve assess <(zstd -q -c models.csv)",
        "gzip -c models.csv > a.gz; gzip -c b.csv >> a.gz; uccurve assess a.gz",
    ],
)
def test_rows_come_from_anywhere(csv: Path, run: Run, line: str) -> None:
    head, _, body = csv.read_text().partition("\n")
    if "b.csv" in line:  # two members of one packed file
        lines = body.splitlines(keepends=True)
        csv.write_text(head + "\n" + "".join(lines[:30]))
        (csv.parent / "b.csv").write_text("".join(lines[30:]))
    if "zstd" in line:
        pytest.importorskip("zstandard")
    found = shell(csv.parent, line)
    assert found.returncode == 0, found.stderr
    models().write_csv(csv)
    assert found.stdout == run("assess", csv.name).stdout


def test_two_pipes_are_two_models(csv: Path) -> None:
    pipes = "<(cut -d, -f2-5 models.csv | sed s/a_//g) <(cut -d, -f2,6-8 models.csv | sed s/b_//g)"
    line = f"uccurve assess {pipes} --json -"
    found = shell(csv.parent, line)
    assert found.returncode == 0, found.stderr
    numbers = json.loads(found.stdout)["models"]
    assert list(numbers) == ["model 1", "model 2"]
    assert_allclose(
        numbers["model 2"]["delivered"]["bandwidth"],
        ucc.UCC(intervals(models(), "b")).at(1.0).bandwidth,
    )


@pytest.mark.parametrize("source", ["- < models.csv", "<(cat models.csv)"])
def test_the_command_of_a_report_on_a_pipe_asks_for_a_file(csv: Path, source: str) -> None:
    found = shell(csv.parent, f"uccurve assess {source} --coverage 80% --report o.html")
    assert found.returncode == 0, found.stderr
    page = (csv.parent / "o.html").read_text()
    assert "uccurve calibrate --from ASSESSMENT.json new.csv -o calibrated.csv" in page


def test_files_of_one_name_in_two_folders_are_two_models(run: Run, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        columns = {role: f"{name}_{role}" for role in ("pred", "lower", "upper")}
        models().select("y", **columns).write_csv(tmp_path / name / "night.csv")
    found = run("assess", "a/night.csv", "b/night.csv", "--json", "-")
    assert found.returncode == 0, found.stderr
    assert list(json.loads(found.stdout)["models"]) == ["a", "b"]


def test_standard_input_under_two_names_is_refused(csv: Path) -> None:
    found = shell(csv.parent, "uccurve assess - /dev/stdin < models.csv")
    assert found.returncode == 1
    assert "standard input can be read once only" in found.stderr


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("uccurve assess models.csv >&-", "standard output is closed"),
        ("uccurve assess models.csv --json - >&-", "standard output is closed"),
        ("uccurve gate models.csv --coverage 90% >&-", "standard output is closed"),
        ("uccurve assess - <&-", "standard input is closed"),
        ("uccurve calibrate - models.csv -o o.csv --coverage 90% <&-", "standard input is closed"),
    ],
)
def test_a_closed_stream_is_a_sentence(csv: Path, line: str, sentence: str) -> None:
    found = shell(csv.parent, line)
    assert found.returncode == 1
    assert f"uccurve: {sentence}" in found.stderr
    assert "Traceback" not in found.stderr
    assert "Exception" not in found.stderr


def test_a_closed_error_stream_does_not_stop_the_work(csv: Path, run: Run) -> None:
    found = shell(csv.parent, "uccurve assess models.csv --missing drop 2>&-")
    assert found.returncode == 0
    assert found.stdout == run("assess", csv.name).stdout
    assert shell(csv.parent, "uccurve assess nothing.csv 2>&-").returncode == 1
    assert shell(csv.parent, "uccurve assess --nope 2>&-").returncode == 2


def test_decimal_commas_and_other_signs_of_missing_numbers(run: Run, tmp_path: Path) -> None:
    frame = models()
    text = frame.write_csv(separator=";").replace(".", ",")
    lines = text.splitlines()
    lines[3] = ";".join([*lines[3].split(";")[:4], "-", *lines[3].split(";")[5:]])
    (tmp_path / "de.csv").write_text("\n".join(lines) + "\n")
    refused(
        run("assess", "de.csv"),
        "column y of de.csv must hold numbers: .* Hint: --decimal , where a comma",
    )
    refused(
        run("assess", "de.csv", "--decimal", ","),
        r"column a_upper .* first row 2 \(-\). Hint: --na '-'",
    )
    asked = ("assess", "de.csv", "--decimal", ",", "--na", "-")
    refused(run(*asked), r"a: `upper` must be finite: 1 of 60 rows is not, first row 2")
    found = run(*asked, "--missing", "drop", "--json", "-")
    assert found.returncode == 0, found.stderr
    kept = frame.with_row_index("i").filter(pl.col("i") != 2)
    expected = json.loads(ucc.assess({name: intervals(kept, name) for name in "ab"}).to_json())
    data = json.loads(found.stdout)
    assert data["models"] == expected["models"]
    assert data["missing"]["lacking"] == {"a": 1, "b": 0}
    streamed = json.loads(
        run(*asked, "--missing", "drop", "--engine", "polars", "--json", "-").stdout
    )
    assert_allclose(
        streamed["models"]["a"]["delivered"]["bandwidth"],
        expected["models"]["a"]["delivered"]["bandwidth"],
    )
    refused(run(*asked, "--engine", "duckdb"), "duckdb reads CSV with commas, decimal points")


def test_levels_in_the_columns_are_one_model(run: Run, tmp_path: Path) -> None:
    frame = models()
    wide = {"ETS-lo-95": pl.col("a_lower") - 1, "ETS-hi-95": pl.col("a_upper") + 1}
    frame.select(
        "y", ETS="a_pred", **{"ETS-lo-80": "a_lower", "ETS-hi-80": "a_upper"}, **wide
    ).write_csv(tmp_path / "m.csv")
    found = run("assess", "m.csv", "--json", "-")
    assert found.returncode == 0, found.stderr
    assert (
        "m.csv: ETS is ETS, ETS-lo-80, ETS-hi-80, ETS-lo-95, ETS-hi-95 (80%, 95%); observed is y"
        in found.stderr
    )
    inner = intervals(frame, "a")
    outer = ucc.Intervals.from_bounds(inner.y_true, inner.y_pred, inner.lower - 1, inner.upper + 1)
    expected = ucc.assess({"ETS": {0.8: inner, 0.95: outer}})
    assert_allclose(
        json.loads(found.stdout)["models"]["ETS"]["crps"]["value"], expected["ETS"].crps.value
    )


def test_the_coverage_is_read_from_the_names_and_said(run: Run, tmp_path: Path) -> None:
    models().select("y", yhat="a_pred", q10="a_lower", q90="a_upper").write_csv(tmp_path / "m.csv")
    found = run("assess", "m.csv")
    assert "coverage 80%, as the column names say" in found.stderr
    assert found.stdout.startswith("Ship m with bands × ")
    assert "for 80% coverage" in found.stdout.splitlines()[0]
    assert "for 95% coverage" in run("assess", "m.csv", "--coverage", "95%").stdout.splitlines()[0]


def test_crossing_bounds_are_sorted_on_request_only(run: Run, tmp_path: Path) -> None:
    swapped = pl.col("id").is_in(["003", "010"])
    frame = models().with_columns(
        a_lower=pl.when(swapped).then("a_upper").otherwise("a_lower"),
        a_upper=pl.when(swapped).then("a_lower").otherwise("a_upper"),
    )
    frame.write_csv(tmp_path / "m.csv")
    refused(
        run("assess", "m.csv"),
        "`lower` must not exceed `upper`: 2 of 60 rows do.* Hint: pass --sort-crossing",
    )
    sentence = "`lower` must not exceed `upper`: 60 of 60 rows do.* Hint: swap LOWER and UPPER in --model NAME=PRED"
    models().rename({"a_lower": "a_upper", "a_upper": "a_lower"}).write_csv(
        tmp_path / "swapped.csv"
    )
    for engine in ("memory", "polars"):
        refused(run("assess", "swapped.csv", "--engine", engine), sentence)
    models().write_csv(tmp_path / "whole.csv")
    assert run("assess", "m.csv", "--sort-crossing").stdout == run("assess", "whole.csv").stdout


def test_features_repeat_and_combine(run: Run, csv: Path) -> None:
    found = run(
        "assess",
        csv.name,
        "--by",
        "site",
        "--by",
        "site,w",
        "--by",
        "y",
        "--bins",
        "3",
        "--json",
        "-",
    )
    assert found.returncode == 0, found.stderr
    frame = models()
    pairs = [f"{site}, {w}" for site, w in frame.select("site", "w").rows()]
    by = {"site": frame["site"].to_list(), "site, w": pairs, "y": frame["y"].to_numpy()}
    expected = ucc.assess({name: intervals(frame, name) for name in "ab"}, by=by, bins=3)
    assert json.loads(found.stdout) == json.loads(expected.to_json())
    refused(
        run("assess", csv.name, "--by", "place"),
        "models.csv has no column place; it has id, y, a_pred",
    )


def test_integers_with_few_values_are_labels_in_order(run: Run, tmp_path: Path) -> None:
    frame = models(240).with_columns(hour=pl.Series(np.tile(np.arange(12), 20)))
    frame.write_csv(tmp_path / "m.csv")
    frame.write_parquet(tmp_path / "m.parquet")
    for name in ("m.csv", "m.parquet"):
        numbers = json.loads(run("assess", name, "--by", "hour", "--json", "-").stdout)
        labels = [one["label"] for one in numbers["segments"] if one["model"] == "a"]
        assert labels == [str(hour) for hour in range(12)]


def test_blocks_are_a_column_or_a_number_of_rows(run: Run, tmp_path: Path) -> None:
    frame = models(100).with_columns(day=pl.Series(np.arange(100) // 10))
    frame.write_csv(tmp_path / "m.csv")
    one = {name: intervals(frame, name) for name in "ab"}
    for option, block in (("day", frame["day"].to_list()), ("10", 10), ("4", 4)):
        found = json.loads(
            run("assess", "m.csv", "--block", option, "--coverage", "0.8", "--json", "-").stdout
        )
        expected = json.loads(ucc.assess(one, coverage=0.8, block=block).to_json())
        assert found["models"] == expected["models"]
    assert found["settings"]["block"] == "blocks of 4 rows"
    refused(run("assess", "m.csv", "--block", "week"), "m.csv has no column week")
    refused(
        run("assess", "m.csv", "--block", "1000"),
        "`block` must not be longer than the data: 1000 for 100 rows",
    )


def test_a_bomb_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bomb.csv.gz").write_bytes(
        gzip.compress(b"y,pred,lower,upper\n" + b"0,0,0,0\n" * 30_000_000, 6)
    )
    refused(
        run("assess", "bomb.csv.gz", limit=f"-v {3000 << 10}"),
        "bomb.csv.gz would unpack to more than",
    )


def test_no_output_is_an_input_or_another_output_even_by_force(run: Run, csv: Path) -> None:
    before = csv.read_bytes()
    asked = ("assess", csv.name, "--force")
    refused(
        run(*asked, "--json", "x", "--report", "./x"), "--json and --report must be different files"
    )
    refused(
        run(*asked, "--json", csv.name), "the input models.csv and --json must be different files"
    )
    os.link(csv, csv.parent / "link.html")
    refused(
        run(*asked, "--report", "link.html"),
        "the input models.csv and --report must be different files",
    )
    assert csv.read_bytes() == before


def test_what_a_killed_run_left_is_gone_after_the_next(run: Run, csv: Path) -> None:
    os.mkfifo(csv.parent / "slow")
    process = subprocess.Popen(
        [PROGRAM, "assess", str(csv), "--json", "o.json", "--resamples", "500000"], cwd=csv.parent
    )
    time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    left = csv.parent / ".o.json.uccurve-unfinished-abc123.json"
    left.touch()
    assert run("assess", csv.name, "--json", "o.json").returncode == 0
    assert sorted(path.name for path in csv.parent.iterdir()) == ["models.csv", "o.json", "slow"]
