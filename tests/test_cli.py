"""The command line as a person meets it: what it says and writes, and how it ends."""

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

import program
import uccurve as ucc

PROGRAM = str(Path(sysconfig.get_path("scripts")) / "uccurve")
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A function that runs `uccurve` in an empty folder.

    It has a process of its own under a limit of the shell's `ulimit` or with any option of `subprocess.run`, and
    shares that of the tests otherwise, which tells the same in a tenth of the time.
    """

    def call(*arguments: str, limit: str = "", **options: Any) -> subprocess.CompletedProcess[str]:
        if not limit and not options:
            return program.call(arguments, tmp_path)
        settings: Any = {
            "cwd": tmp_path,
            "capture_output": True,
            "text": True,
            "timeout": 300,
            **options,
        }
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
    columns = [
        frame[column].to_numpy()
        for column in ("y", f"{name}_pred", f"{name}_lower", f"{name}_upper")
    ]
    return ucc.Intervals.from_bounds(*columns, **options)


def refused(found: subprocess.CompletedProcess[str], sentence: str) -> None:
    """Exit code 1, one line on stderr after what was recognised, no traceback."""
    assert found.returncode == 1, found.stderr
    assert found.stdout == ""
    assert "Traceback" not in found.stderr
    said = [
        line for line in found.stderr.splitlines() if not line.startswith("<jemalloc>")
    ]  # no word of ours
    last = said[-1]
    assert last.startswith("uccurve: ")
    assert re.search(sentence, last), last
    assert len(last) < 500


# What it says and writes


def test_json_holds_what_the_library_says(run: Run, csv: Path) -> None:
    frame = models()
    options = (
        "--cost",
        "0.3",
        "--partial",
        "0.1:0.4",
        "--coverage",
        "80%",
        "--unit",
        "std",
        "--confidence-level",
        "90%",
    )
    found = run(
        "assess",
        csv.name,
        *options,
        "--axes",
        "excess,deficit",
        "--by",
        "site",
        "--block",
        "5",
        "--json",
        "-",
    )
    assert found.returncode == 0, found.stderr
    a = ucc.assess(
        {name: intervals(frame, name) for name in "ab"},
        by={"site": frame["site"].to_list()},
        block=5,
        axes=("excess", "deficit"),
        c=0.3,
        partial=(0.1, 0.4),
        coverage=0.8,
        unit="std",
        confidence_level=0.9,
    )
    assert json.loads(found.stdout) == json.loads(a.to_json())


def test_a_pipe_gets_what_print_shows_in_python(run: Run, csv: Path) -> None:
    a = ucc.assess({name: intervals(models(), name) for name in "ab"}, coverage=0.9)
    for option, full in (((), False), (("--full",), True)):
        found = run("assess", csv.name, "--coverage", "0.9", *option)
        assert found.returncode == 0, found.stderr
        assert found.stdout == a.to_text(full=full) + "\n"
        assert ESCAPE.search(found.stdout) is None
    assert found.stdout.startswith(a.verdict.headline)
    assert "Gains over the constant band" in found.stdout


def test_full_tells_where_all_curves_cross(run: Run, tmp_path: Path) -> None:
    frame = models().with_columns(
        c_pred="a_pred", c_lower=pl.col("a_pred") - 2, c_upper=pl.col("b_upper")
    )
    frame.write_csv(tmp_path / "three.csv")
    found = run("assess", "three.csv", "--full").stdout
    a = ucc.assess({name: intervals(frame, name) for name in "abc"})
    assert len(a.crossings) == 3
    for one in a.crossings:
        assert found.count(f"{' vs. '.join(one.names)}: {one.verdict}.") == 1
    assert found == a.to_text(full=True) + "\n"


def test_bootstrap_intervals_come_after_what_is_known_at_once(run: Run, csv: Path) -> None:
    asked = ("assess", csv.name, "--coverage", "0.8")
    slow = run(*asked, "--resamples", "19", "--seed", "3")
    assert f"without resampling: {run(*asked).stdout.splitlines()[0]}" in slow.stderr
    a = ucc.assess(
        {name: intervals(models(), name) for name in "ab"}, coverage=0.8, n_resamples=19, seed=3
    )
    assert slow.stdout == a.to_text() + "\n"
    assert slow.stdout != run(*asked, "--resamples", "19", "--seed", "4").stdout


def test_it_says_which_columns_it_took(run: Run, csv: Path) -> None:
    found = run("assess", csv.name)
    assert "models.csv: a is a_pred, a_lower, a_upper; observed is y" in found.stderr
    assert "models.csv: b is b_pred, b_lower, b_upper; observed is y" in found.stderr


def test_of_many_models_it_says_the_names_in_one_line(run: Run, tmp_path: Path) -> None:
    frame = models()
    for i in range(7):
        frame = frame.with_columns(
            frame[f"a_{role}"].alias(f"m{i}_{role}") for role in ("pred", "lower", "upper")
        )
    frame.drop("^[ab]_.*$").write_csv(tmp_path / "many.csv")
    found = run("assess", "many.csv")
    assert found.returncode == 0, found.stderr
    assert found.stderr == "many.csv: 7 models, m0, m1, m2, m3, m4, m5, m6; observed is y\n"


def test_a_misspelt_column_is_answered_with_the_nearest(run: Run, csv: Path) -> None:
    refused(
        run("assess", csv.name, "--by", "sit"),
        r"has no column sit; it has .* Did you mean 'site'\?",
    )


def at_a_terminal(
    folder: Path, *arguments: str, width: int = 80, command: tuple[str, ...] = (PROGRAM,)
) -> tuple[int, str]:
    """Exit code and all that a terminal of that width shows."""
    screen, inside = pty.openpty()
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    environment = {
        name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")
    }
    streams: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), inside)
    with subprocess.Popen(
        [*command, *arguments],
        cwd=folder,
        env=environment | {"TERM": "xterm-256color"},
        start_new_session=True,
        **streams,
    ) as child:
        os.close(inside)
        shown = b""
        while True:
            try:
                piece = os.read(screen, 65536)
            except OSError:  # nobody writes to it any more
                break
            if not piece:
                break
            shown += piece
    os.close(screen)
    return child.returncode, shown.decode()


def test_a_terminal_of_80_columns_gets_tables_that_fit(csv: Path) -> None:
    code, shown = at_a_terminal(
        csv.parent, "assess", csv.name, "--by", "site", "--coverage", "0.9", "--full"
    )
    assert code == 0
    lines = [ESCAPE.sub("", line).rstrip() for line in re.split(r"[\r\n]+", shown)]
    assert max(map(len, lines)) <= 80
    assert any("────" in line for line in lines)
    a = ucc.assess(
        {name: intervals(models(), name) for name in "ab"},
        coverage=0.9,
        by=models()["site"].to_list(),
    )
    verdict = next(i for i, line in enumerate(lines) if line.startswith(a.verdict.headline[:30]))
    assert a.verdict.headline in " ".join(lines[verdict : verdict + 8])
    values = [set(line.split()) for line in lines]
    for row in a.ranking:
        numbers = {f"{float(row.scale):.2f}", f"{100 * float(row.coverage):.1f}%"}
        numbers |= {f"{100 * float(row.skill):.1f}%"}  # the last column
        assert any(numbers <= line for line in values)
    said = " ".join(" ".join(lines).split())
    assert said.count(a.verdict.headline) == 2  # once more at the end of 40 lines and more
    for heading in ("As delivered, in units of y", "Gains over the constant band"):
        assert heading in lines


@pytest.mark.parametrize("command", [("assess",), ("gate",)])
def test_a_terminal_shows_the_answer_before_all_else(csv: Path, command: tuple[str, ...]) -> None:
    dated = models().with_columns(ds=pl.col("id"), y=pl.when(pl.col("id") != "007").then("y"))
    dated.write_csv(csv.parent / "gap.csv")
    code, shown = at_a_terminal(
        csv.parent, *command, "gap.csv", "--coverage", "0.5", "--missing", "drop"
    )
    assert code in (0, 3)
    lines = [line for line in ESCAPE.sub("", shown).splitlines() if line.strip()]
    assert lines[0].startswith(("Ship ", "Gate "))
    rest = " ".join(lines[1:])
    for aside in (
        "gap.csv: a is a_pred",
        "ropped: 1 of 60 rows",
        "in time (ds) are usually dependent",
    ):
        assert aside in rest


def test_progress_is_shown_at_a_terminal_or_on_request(run: Run, csv: Path) -> None:
    asked = ("assess", csv.name, "--resamples")
    hurried = "import uccurve.resampling as bar; bar.PATIENCE = 0; from uccurve.cli.app import main; main()"
    code, shown = at_a_terminal(csv.parent, *asked, "999", command=(sys.executable, "-c", hurried))
    assert code == 0
    assert "━" in shown
    assert "━" not in run(*asked, "99").stderr
    assert (
        "1 of 2 done\n2 of 2 done\n" in run(*asked, "99", "--progress").stderr
    )  # lines, for a log


def test_standard_input_is_read_once(run: Run, csv: Path) -> None:
    found = run("assess", "-", input=csv.read_text())
    assert found.returncode == 0, found.stderr
    assert "standard input: a is a_pred, a_lower, a_upper" in found.stderr
    refused(run("assess", "-", "-", input=csv.read_text()), "standard input can be read once only")


def test_one_file_per_model_is_compared_like_one_file(run: Run, tmp_path: Path, csv: Path) -> None:
    frame = models()
    for name in "ab":
        renamed = {f"{name}_{role}": role for role in ("pred", "lower", "upper")}
        frame.select("y", *renamed).rename(renamed).write_parquet(tmp_path / f"{name}.parquet")
    apart = run("assess", "a.parquet", "b.parquet", "--json", "-")
    together = run("assess", csv.name, "--json", "-")
    assert apart.returncode == 0, apart.stderr
    assert json.loads(apart.stdout) == json.loads(together.stdout)
    assert "a.parquet: pred, lower, upper; observed is y" in apart.stderr


def test_files_of_different_rows_are_refused(run: Run, tmp_path: Path) -> None:
    models().select("y", "a_pred", "a_lower", "a_upper").write_csv(tmp_path / "one.csv")
    models(seed=1).select("y", "b_pred", "b_lower", "b_upper").write_csv(tmp_path / "two.csv")
    refused(
        run("assess", "one.csv", "two.csv"),
        "one.csv and two.csv must have the same observations: 60 of 60 rows differ",
    )


def test_columns_weights_and_bands_can_be_named(run: Run, csv: Path) -> None:
    frame = models()
    named = ("--model", "B=a_pred,b_lower,a_upper", "--y", "y", "--weight", "w", "--min-band", "5%")
    found = run("assess", csv.name, *named, "--json", "-")
    assert found.returncode == 0, found.stderr
    columns = [frame[name].to_numpy() for name in ("y", "a_pred", "b_lower", "a_upper")]
    iv = ucc.Intervals.from_bounds(*columns, weight=frame["w"].to_numpy(), min_band="5%")
    assert_allclose(
        json.loads(found.stdout)["models"]["B"]["delivered"]["bandwidth"],
        ucc.UCC(iv).at(1.0).bandwidth,
    )


def test_a_named_model_settles_which_of_two_columns_is_meant(run: Run, tmp_path: Path) -> None:
    frame = models().select("y", pred="a_pred", lower="a_lower", lo="b_lower", upper="a_upper")
    frame.write_csv(tmp_path / "two.csv")
    refused(
        run("assess", "two.csv"),
        "`lower`, `lo` could all belong to two. Hint: choose with --model two=PRED,LOWER,UPPER",
    )
    found = run("assess", "two.csv", "--model", "two=pred,lower,upper", "--json", "-")
    assert found.returncode == 0, found.stderr
    assert (
        json.loads(found.stdout)["models"]["two"]["delivered"]["bandwidth"]
        == ucc.UCC(intervals(models(), "a")).at(1.0).bandwidth
    )
    frame.with_columns(target="y").write_csv(tmp_path / "two.csv")
    refused(
        run("assess", "two.csv"),
        "`y`, `target` could all be the observation. Hint: choose one with --y",
    )


def test_rows_with_a_missing_number_are_dropped_for_all_models_or_refused(
    run: Run, tmp_path: Path
) -> None:
    frame = models().with_columns(
        b_upper=pl.when(pl.col("id") == "007").then(None).otherwise("b_upper")
    )
    frame.write_csv(tmp_path / "gap.csv")
    sentence = r"b: `upper` must be finite: 1 of 60 rows is not, first row 7 \(nan\). Hint: pass --missing drop"
    refused(run("assess", "gap.csv"), sentence)
    found = run("assess", "gap.csv", "--missing", "drop", "--json", "-")
    data = json.loads(found.stdout)
    assert "Dropped: 1 of 60 rows (b lacks 1)." in data["verdict"]["text"]
    assert data["missing"] == {
        "dropped": 1,
        "kept": 59,
        "lacking": {"a": 0, "b": 1},
        "vanished": [],
    }
    assert {row["n"] for row in data["models"].values()} == {59}


def test_what_is_not_defined_is_a_dash_and_null(run: Run, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("y,pred,lower,upper\n1,2,1,3\n")
    found = run("assess", "one.csv", "--full", "--json", "one.json")
    assert found.returncode == 0, found.stderr
    assert "nan" not in found.stdout
    assert "all rows form one block" in found.stdout
    numbers = json.loads((tmp_path / "one.json").read_text(), parse_constant=pytest.fail)
    assert numbers["models"]["one"]["scale"]["value"] is None
    assert numbers["models"]["one"]["score"]["low"] is None


def test_the_same_command_gives_the_same_output(run: Run, csv: Path) -> None:
    one, two = (
        run("assess", csv.name, "--resamples", "19", "--by", "site").stdout for _ in range(2)
    )
    assert one == two


def test_all_outputs_are_written(run: Run, tmp_path: Path, csv: Path) -> None:
    found = run("assess", csv.name, "--json", "o.json", "--report", "o.html", "--plot", "o.png")
    assert found.returncode == 0, found.stderr
    assert json.loads((tmp_path / "o.json").read_text())["models"]["a"]["n"] == 60
    assert (tmp_path / "o.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "o.png").read_bytes().startswith(b"\x89PNG")
    assert found.stderr.count("written: ") == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "models.csv",
        "o.html",
        "o.json",
        "o.png",
    ]


@pytest.mark.parametrize(("name", "start"), [("o.svg", b"<?xml"), ("o.pdf", b"%PDF")])
def test_a_plot_comes_as_its_name_says(
    run: Run, tmp_path: Path, csv: Path, name: str, start: bytes
) -> None:
    assert run("assess", csv.name, "--plot", name).returncode == 0
    assert (tmp_path / name).read_bytes().startswith(start)


def test_no_file_is_replaced_without_force(run: Run, tmp_path: Path, csv: Path) -> None:
    (tmp_path / "o.json").write_text("mine")
    refused(
        run("assess", csv.name, "--json", "o.json"),
        "o.json exists already. Hint: --force replaces it.",
    )
    assert (tmp_path / "o.json").read_text() == "mine"
    assert run("assess", csv.name, "--json", "o.json", "--force").returncode == 0
    assert (tmp_path / "o.json").read_text().startswith("{")


def test_a_reader_that_stops_early_is_no_error_to_see(csv: Path) -> None:
    command = f"{PROGRAM} assess {csv.name} --coverage 90% 2>err | head -1; cat err"
    found = subprocess.run(
        ["bash", "-c", command], cwd=csv.parent, capture_output=True, text=True, check=True
    )
    assert "for 90% coverage" in found.stdout.partition("\n")[0]
    assert "Traceback" not in found.stdout + found.stderr
    assert "BrokenPipe" not in found.stdout + found.stderr


# Usage


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["assess"], "Missing argument 'FILE'"),
        (["asess", "x.csv"], "No such command 'asess'"),
        (["assess", "x.csv", "--nope"], "No such option"),
        (["assess", "x.csv", "--axes", "exces,deficit"], "Did you mean 'excess'?"),
        (["assess", "x.csv", "--axes", "deficit"], "`axes` must be two of"),
        (["assess", "x.csv", "--cost", "2"], "--cost"),
        (["assess", "x.csv", "--partial", "0.5"], "write a range as LOW:HIGH"),
        (["assess", "x.csv", "--partial", "0.5:0.1"], "write a range as LOW:HIGH"),
        (["assess", "x.csv", "--coverage", "90"], "Did you mean 90%?"),
        (["assess", "x.csv", "--coverage", "100%"], "between 0 and 1, both excluded"),
        (["assess", "x.csv", "--coverage", "most"], "write a share of the rows as 0.9 or 90%"),
        (["assess", "x.csv", "--by", "site,,w"], "separate columns by single commas"),
        (["assess", "x.csv", "--decimal", ";"], "--decimal"),
        (["assess", "x.csv", "--min-band", "few"], "write a number in units of y, or a percentage"),
        (["assess", "x.csv", "--model", "A=p,l"], "a model is written NAME=PRED,LOWER,UPPER"),
        (["assess", "x.csv", "--model", "A=p,l,u", "--model", "A=p,l,u"], "'A' is given twice"),
        (["assess", "x.csv", "--missing", "guess"], "--missing"),
        (
            ["calibrate", "x.csv", "y.csv", "--coverage", "0.9"],
            "give NEW and --out, or --save, or all three",
        ),
        (
            ["calibrate", "x.csv", "-o", "z.csv", "--coverage", "0.9"],
            "give NEW and --out, or --save, or all three",
        ),
        (
            ["calibrate", "x.csv", "--save", "c.json", "--coverage", "90%", "--miss-rate", "10%"],
            "not both",
        ),
        (
            ["calibrate", "x.csv", "--coverage", "90%"],
            "give NEW and --out, or --save, or all three",
        ),
        (["apply", "c.json", "y.csv"], "Missing option '--out'"),
        (
            ["gate", "x.csv", "y.csv", "--margin", "-1"],
            "write a number in units of y, or a percentage",
        ),
        (["gate", "x.csv", "y.csv", "--level", "5"], "Did you mean 5%?"),
        (["reproduce", "wine"], "No such command 'reproduce'"),
    ],
)
def test_a_usage_error_is_exit_code_2(run: Run, arguments: list[str], sentence: str) -> None:
    found = run(*arguments)
    assert found.returncode == 2
    assert found.stdout == ""
    assert "Traceback" not in found.stderr
    assert sentence in re.sub(r"\s*│?\n│?\s*", " ", found.stderr)


def test_help_and_version_are_exit_code_0(run: Run) -> None:
    for arguments in (
        ["--help"],
        ["assess", "-h"],
        ["calibrate", "--help"],
        ["gate", "-h"],
        ["apply", "-h"],
        ["demo", "-h"],
    ):
        found = run(*arguments)
        assert found.returncode == 0
        assert "Usage: uccurve" in found.stdout
    assert run("--version").stdout == f"uccurve {ucc.__version__}\n"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("assess models.csv --json - --coverage 90%", 0),
        ("assess missing.csv", 1),
        ("assess models.csv --nope", 2),
        ("calibrate models.csv models.csv -o - --coverage 90%", 0),
        ("gate models.csv --coverage 10%", 3),
    ],
)
@pytest.mark.usefixtures("csv")
def test_a_process_of_its_own_says_what_the_tests_see(run: Run, line: str, code: int) -> None:
    here, alone = run(*line.split()), run(*line.split(), stdin=subprocess.DEVNULL)
    assert here.returncode == code
    assert (here.returncode, here.stdout, here.stderr) == (
        alone.returncode,
        alone.stdout,
        alone.stderr,
    )


def test_it_runs_as_a_module_too(tmp_path: Path, csv: Path, run: Run) -> None:
    command = [sys.executable, "-m", "uccurve", "assess", str(csv)]
    found = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
    assert found.stdout == run("assess", str(csv)).stdout
    wrong = subprocess.run(
        [*command, "--nope"], check=False, capture_output=True, text=True, cwd=tmp_path
    )
    assert wrong.returncode == 2
    assert "Usage: uccurve assess" in wrong.stderr
