"""The command line as a person meets it: real processes, pipes and terminals."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import sysconfig
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import uccurve as ucc

PROGRAM = str(Path(sysconfig.get_path("scripts")) / "uccurve")
FAST = ("--resamples", "39")
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A function that runs `uccurve` in an empty folder, under a limit of the shell's `ulimit` if one is given."""

    def call(*arguments: str, limit: str = "", **options: Any) -> subprocess.CompletedProcess[str]:
        settings: Any = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 300, **options}
        if "input" not in settings and "stdin" not in settings:
            settings["stdin"] = subprocess.DEVNULL
        limited = ["sh", "-c", f'ulimit {limit} && exec "$@"', "sh"] if limit else []
        return subprocess.run([*limited, PROGRAM, *arguments], check=False, **settings)

    return call


def models(n: int = 60, seed: int = 0) -> pl.DataFrame:
    """Two models of the same rows, asymmetric and off-centre, with a label and a weight."""
    rng = np.random.default_rng(seed)
    pred = rng.normal(size=n).round(3)
    columns = {
        "id": [f"{i:03}" for i in range(n)],
        "y": (pred + rng.normal(size=n)).round(3),
        "a_pred": pred,
        "a_lower": pred - 1,
        "a_upper": pred + 1.25,
        "b_pred": pred,
        "b_lower": pred - rng.uniform(0.3, 2, n).round(3),
        "b_upper": pred + rng.uniform(0.3, 2, n).round(3),
        "site": rng.choice(["north", "south"], n),
        "w": rng.integers(1, 4, n),
    }
    return pl.DataFrame(columns)


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    path = tmp_path / "models.csv"
    models().write_csv(path)
    return path


def intervals(frame: pl.DataFrame, name: str, **options: Any) -> ucc.Intervals:
    columns = [frame[column].to_numpy() for column in ("y", f"{name}_pred", f"{name}_lower", f"{name}_upper")]
    return ucc.Intervals.from_bounds(*columns, **options)


def refused(found: subprocess.CompletedProcess[str], sentence: str) -> None:
    """Exit code 1, one line on stderr after what was taken, no traceback."""
    assert found.returncode == 1, found.stderr
    assert found.stdout == ""
    assert "Traceback" not in found.stderr
    said = [line for line in found.stderr.splitlines() if not line.startswith("<jemalloc>")]  # no word of ours
    last = said[-1]
    assert last.startswith("uccurve: ")
    assert re.search(sentence, last), last
    assert len(last) < 500


# What it says and writes


def test_json_holds_what_the_library_says(run: Run, csv: Path) -> None:
    frame = models()
    options = ("--cost", "0.3", "--miss-rate", "0.1:0.4", "--alpha", "0.2", "--seed", "5", "--unit", "std")
    found = run("assess", csv.name, *FAST, *options, "--axes", "excess,deficit", "--by", "site", "--json", "-")
    assert found.returncode == 0, found.stderr
    a = ucc.assess(
        {name: intervals(frame, name) for name in "ab"},
        by={"site": frame["site"].to_list()},
        axes=("excess", "deficit"),
        c=0.3,
        miss_rate=(0.1, 0.4),
        alpha=0.2,
        unit="std",
        seed=5,
        n_resamples=39,
        n_permutations=199,
    )
    assert json.loads(found.stdout) == json.loads(a.to_json())


def test_it_says_which_columns_it_took(run: Run, csv: Path) -> None:
    found = run("assess", csv.name, *FAST)
    assert "models.csv: a is a_pred, a_lower, a_upper; observed is y" in found.stderr
    assert "models.csv: b is b_pred, b_lower, b_upper; observed is y" in found.stderr


def test_a_pipe_gets_plain_text_in_aligned_columns(run: Run, csv: Path) -> None:
    found = run("assess", csv.name, *FAST)
    assert found.returncode == 0, found.stderr
    assert ESCAPE.search(found.stdout) is None
    assert "─" not in found.stdout
    frame = models()
    point = ucc.UCC(intervals(frame, "a")).at(1.0)
    (line,) = (line for line in found.stdout.splitlines()[:5] if line.startswith("a "))
    assert f"{100 * point.miss_rate:.1f} %" in line
    assert f"{point.bandwidth:.4g}" in line
    gain = 100 * ucc.UCC(intervals(frame, "b")).gain(axes=("excess", "deficit"))
    assert f"{gain:+.1f} [" in found.stdout


def at_a_terminal(folder: Path, *arguments: str, width: int = 80) -> tuple[int, str]:
    """Exit code and all that a terminal of that width shows."""
    child, screen = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.environ.update(TERM="xterm-256color")
        os.environ.pop("COLUMNS", None)
        os.execv(PROGRAM, [PROGRAM, *arguments])  # noqa: S606  no shell wanted
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    shown = b""
    while True:
        try:
            piece = os.read(screen, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(screen)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown.decode()


def test_a_terminal_of_80_columns_gets_tables_that_fit(csv: Path) -> None:
    code, shown = at_a_terminal(csv.parent, "assess", csv.name, *FAST, "--by", "site", "--alpha", "0.1")
    assert code == 0
    lines = [ESCAPE.sub("", line).rstrip() for line in re.split(r"[\r\n]+", shown)]
    assert max(map(len, lines)) <= 80
    assert any("────" in line for line in lines)
    assert any(line.split()[:2] == ["a", "1"] for line in lines)
    assert "Paired permutation tests of the area on bandwidth/miss_rate" in lines


def test_progress_is_shown_at_a_terminal_only(run: Run, csv: Path) -> None:
    long = ("assess", csv.name, "--resamples", "60000", "--axes", "excess,deficit")
    code, shown = at_a_terminal(csv.parent, *long)
    assert code == 0
    assert "%" in shown.partition("As delivered")[0]
    assert "━" in shown
    found = run(*long)
    assert "━" not in found.stderr + found.stdout


def test_standard_input_is_read_once(run: Run, csv: Path) -> None:
    found = run("assess", "-", *FAST, input=csv.read_text())
    assert found.returncode == 0, found.stderr
    assert "standard input: a is a_pred, a_lower, a_upper" in found.stderr
    refused(run("assess", "-", "-", input=csv.read_text()), "standard input can be read once only")


def test_one_file_a_model_is_compared_like_one_file(run: Run, tmp_path: Path, csv: Path) -> None:
    frame = models()
    for name in "ab":
        renamed = {f"{name}_{role}": role for role in ("pred", "lower", "upper")}
        frame.select("y", *renamed).rename(renamed).write_parquet(tmp_path / f"{name}.parquet")
    apart = run("assess", "a.parquet", "b.parquet", *FAST, "--json", "-")
    together = run("assess", csv.name, *FAST, "--json", "-")
    assert apart.returncode == 0, apart.stderr
    assert json.loads(apart.stdout) == json.loads(together.stdout)
    assert "a.parquet: pred, lower, upper; observed is y" in apart.stderr


def test_files_of_different_rows_are_refused(run: Run, tmp_path: Path) -> None:
    models().select("y", "a_pred", "a_lower", "a_upper").write_csv(tmp_path / "one.csv")
    models(seed=1).select("y", "b_pred", "b_lower", "b_upper").write_csv(tmp_path / "two.csv")
    refused(run("assess", "one.csv", "two.csv"), "`models` must have the same y_true: 'b' differs from 'a' in 60 of 60")


def test_columns_weights_and_bands_can_be_named(run: Run, csv: Path) -> None:
    frame = models()
    named = ("--model", "B=a_pred,b_lower,a_upper", "--y", "y", "--weight", "w", "--min-band", "5%")
    found = run("assess", csv.name, *FAST, *named, "--json", "-")
    assert found.returncode == 0, found.stderr
    columns = [frame[name].to_numpy() for name in ("y", "a_pred", "b_lower", "a_upper")]
    iv = ucc.Intervals.from_bounds(*columns, weight=frame["w"].to_numpy(), min_band="5%")
    assert_allclose(json.loads(found.stdout)["models"]["B"]["bandwidth"], ucc.UCC(iv).at(1.0).bandwidth)


def test_rows_with_a_missing_number_are_dropped_for_all_models_or_refused(run: Run, tmp_path: Path) -> None:
    frame = models().with_columns(b_upper=pl.when(pl.col("id") == "007").then(None).otherwise("b_upper"))
    frame.write_csv(tmp_path / "gap.csv")
    sentence = r"b: `upper` must be finite: 1 of 60 rows is not, first row 7 \(nan\). Hint: --missing drop"
    refused(run("assess", "gap.csv"), sentence)
    found = run("assess", "gap.csv", *FAST, "--missing", "drop", "--json", "-")
    assert "uccurve: dropped 1 of 60 rows: they have a missing or infinite value" in found.stderr
    assert {row["n"] for row in json.loads(found.stdout)["models"].values()} == {59}


def test_a_gain_that_is_not_defined_is_a_dash(run: Run, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("y,pred,lower,upper\n1,2,1,3\n")
    found = run("assess", "one.csv", *FAST)
    assert "nan" not in found.stdout
    assert ["one", "+0.0", "-", "+0.0", "-"] in [line.split() for line in found.stdout.splitlines()]


def test_the_same_seed_gives_the_same_output(run: Run, csv: Path) -> None:
    one, two, other = (run("assess", csv.name, *FAST, "--seed", seed).stdout for seed in ("3", "3", "4"))
    assert one == two != other


def test_all_outputs_are_written(run: Run, tmp_path: Path, csv: Path) -> None:
    found = run("assess", csv.name, *FAST, "--json", "o.json", "--report", "o.html", "--plot", "o.png")
    assert found.returncode == 0, found.stderr
    assert json.loads((tmp_path / "o.json").read_text())["models"]["a"]["n"] == 60
    assert (tmp_path / "o.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "o.png").read_bytes().startswith(b"\x89PNG")
    assert found.stderr.count("written: ") == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["models.csv", "o.html", "o.json", "o.png"]


@pytest.mark.parametrize(("name", "start"), [("o.svg", b"<?xml"), ("o.pdf", b"%PDF")])
def test_a_plot_comes_as_its_name_says(run: Run, tmp_path: Path, csv: Path, name: str, start: bytes) -> None:
    assert run("assess", csv.name, *FAST, "--plot", name).returncode == 0
    assert (tmp_path / name).read_bytes().startswith(start)


def test_no_file_is_replaced_without_force(run: Run, tmp_path: Path, csv: Path) -> None:
    (tmp_path / "o.json").write_text("mine")
    refused(run("assess", csv.name, *FAST, "--json", "o.json"), "o.json is already there. Hint: --force replaces it.")
    assert (tmp_path / "o.json").read_text() == "mine"
    assert run("assess", csv.name, *FAST, "--json", "o.json", "--force").returncode == 0
    assert (tmp_path / "o.json").read_text().startswith("{")


def test_a_reader_that_stops_early_is_no_error_to_see(csv: Path) -> None:
    command = f"{PROGRAM} assess {csv.name} --resamples 39 2>err | head -1; cat err"
    found = subprocess.run(["bash", "-c", command], cwd=csv.parent, capture_output=True, text=True, check=True)
    assert "As delivered" in found.stdout
    assert "Traceback" not in found.stdout + found.stderr
    assert "BrokenPipe" not in found.stdout + found.stderr


# Usage


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["assess"], "Missing argument 'FILE'"),
        (["asess", "x.csv"], "No such command 'asess'"),
        (["assess", "x.csv", "--nope"], "No such option"),
        (["assess", "x.csv", "--axes", "exces,deficit"], "'exces' is none of them"),
        (["assess", "x.csv", "--axes", "deficit"], "`axes` must be two of"),
        (["assess", "x.csv", "--cost", "2"], "--cost"),
        (["assess", "x.csv", "--miss-rate", "0.5"], "a range is written LOW:HIGH"),
        (["assess", "x.csv", "--miss-rate", "0.5:0.1"], "a range is written LOW:HIGH"),
        (["assess", "x.csv", "--unit", "metres"], "a unit is raw, std or a number"),
        (["assess", "x.csv", "--min-band", "few"], "a least band is a number"),
        (["assess", "x.csv", "--model", "A=p,l"], "a model is written NAME=PRED,LOWER,UPPER"),
        (["assess", "x.csv", "--model", "A=p,l,u", "--model", "A=p,l,u"], "'A' is given twice"),
        (["assess", "x.csv", "--missing", "guess"], "--missing"),
        (["calibrate", "x.csv", "y.csv", "-o", "z.csv"], "give one target"),
        (["calibrate", "x.csv", "y.csv", "-o", "z.csv", "--cost", "0.1", "--miss-rate", "0.1"], "give one target"),
        (["calibrate", "x.csv", "y.csv", "--miss-rate", "0.1"], "Missing option '--out'"),
        (["calibrate", "x.csv", "y.csv", "-o", "z", "--miss-rate", "0.1", "--min-band", "5%"], "a percentage depends"),
        (["reproduce", "wein"], "no experiment is called 'wein': there are concepts, synthetic"),
    ],
)
def test_a_command_that_cannot_be_meant_is_exit_code_2(run: Run, arguments: list[str], sentence: str) -> None:
    found = run(*arguments)
    assert found.returncode == 2
    assert found.stdout == ""
    assert "Traceback" not in found.stderr
    assert sentence in re.sub(r"\s*│?\n│?\s*", " ", found.stderr)


def test_help_and_version_are_exit_code_0(run: Run) -> None:
    for arguments in (["--help"], ["assess", "-h"], ["calibrate", "--help"], ["demo", "-h"], ["reproduce", "-h"]):
        found = run(*arguments)
        assert found.returncode == 0
        assert "Usage: uccurve" in found.stdout
    assert run("--version").stdout == f"uccurve {ucc.__version__}\n"


def test_it_runs_as_a_module_too(tmp_path: Path, csv: Path, run: Run) -> None:
    command = [sys.executable, "-m", "uccurve", "assess", str(csv), *FAST]
    found = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
    assert found.stdout == run("assess", str(csv), *FAST).stdout
    wrong = subprocess.run([*command, "--nope"], check=False, capture_output=True, text=True, cwd=tmp_path)
    assert wrong.returncode == 2
    assert "Usage: uccurve assess" in wrong.stderr
