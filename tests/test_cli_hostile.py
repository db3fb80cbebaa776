"""The command line and files that nobody would send on purpose, and disks and folders that refuse."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl
import pytest

from test_cli import Run, at_a_terminal, csv, models, refused, run
from test_cli_files import shell

__all__ = ["csv", "run"]  # the fixtures

HEADER = b"y,pred,lower,upper\n"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "bad.csv is empty."),
        (HEADER, "bad.csv has a header but no rows."),
        (
            HEADER + b"1,2,0,3\n1,2,0,3,9\n",
            "bad.csv has a row with more cells than the header has columns.",
        ),
        (
            HEADER + b"1,2,0,3\n1,2\n",
            r"`lower` must be finite: 1 of 2 rows is not, first row 1 \(nan\)",
        ),
        (HEADER + b"1,2,0,\xe9\n", "bad.csv must be UTF-8: after line 1 comes the byte 0xe9"),
        (
            (HEADER + b"1,2,0,3\n").decode().encode("utf-16"),
            "bad.csv is neither Parquet nor UTF-8 text",
        ),
        (b"x" * 10_000_000, "bad.csv has no line break in its first 1,048,576 bytes"),
        (
            b"y,pred,lower,upper,lower\n1,2,0,3,4\n",
            "`lower`, `lower` could all belong to bad|2 columns named lower",
        ),
        (b"y,pred,lower,upper,y\n1,2,0,3,4\n", "`y`, `y` could all be the observation"),
        (
            HEADER + b'1,2,0,"1,234.5"\n',
            r"column upper of bad.csv must hold numbers: .* first row 0 \(1,234.5\)",
        ),
        (
            HEADER + b"1,2,0,=cmd()\n",
            r"column upper of bad.csv must hold numbers: .* first row 0 \(=cmd\(\)\)",
        ),
        (
            HEADER + b"1,2,0,NaN\n1,2,0,nan\n1,2,0,N/A\n1,2,0,3\n",
            r"`upper` must be finite: 3 of 4 rows are not",
        ),
        (
            HEADER + b"1,2,0,3\n1,2,0,inf\n",
            r"`upper` must be finite, or infinite in every row: 1 of 2 rows is not, first row 1 \(inf\)",
        ),
        (
            HEADER + b"1,2,3,0\n",
            r"`lower` must not exceed `upper`: 1 of 1 row does, first row 0 \(3.0 > 0.0\)",
        ),
        (HEADER + b"1,9,0,3\n1,2,0,3\n", r"`y_pred` must lie between .* Hint: pass --min-band 5%"),
        (
            HEADER + b"1,9,0,3\n",
            r"1 of 1 row .* Hint: check that predictions and bounds belong .*, or pass --min-band 5%",
        ),
        (b"a,b\n1,2\n", "bad.csv has no column for the observation"),
        (
            b"y,b\n1,2\n",
            r"bad.csv has no prediction with its bounds .* it has y, b. Hint: --model NAME=PRED,LOWER,UPPER",
        ),
        (b"\x00\x01\x02" * 1000, "bad.csv is neither Parquet nor UTF-8 text"),
        (b"PAR1" + b"\x00" * 1000, "bad.csv begins like a Parquet file but cannot be read"),
    ],
)
def test_a_hostile_file_is_refused_in_one_sentence(
    run: Run, tmp_path: Path, content: bytes, sentence: str
) -> None:
    (tmp_path / "bad.csv").write_bytes(content)
    refused(run("assess", "bad.csv", "--report", "o.html", "--json", "o.json"), sentence)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.csv"]


def test_markup_formulas_and_control_characters_in_names_are_text(run: Run, tmp_path: Path) -> None:
    script, formula, escape = (
        "<script>alert(1)</script>",
        "=cmd()|' /C calc'!A0",
        "[red]\x1b[31mred\x1b[2J",
    )
    frame = models()
    columns = {"y": frame["y"]}
    for name in (script, formula, escape):
        columns |= {f"{name}_{role}": frame[f"b_{role}"] for role in ("pred", "lower", "upper")}
    pl.DataFrame(columns).write_csv(tmp_path / "names.csv")
    found = run("assess", "names.csv", "--report", "o.html", "--json", "o.json")
    assert found.returncode == 0, found.stderr
    assert "\x1b" not in found.stdout + found.stderr
    assert script in found.stdout
    assert formula in found.stdout
    assert "[red]\ufffd[31mred\ufffd[2J" in found.stdout
    assert list(json.loads((tmp_path / "o.json").read_text())["models"]) == [
        script,
        formula,
        escape,
    ]
    page = (tmp_path / "o.html").read_text()
    assert script not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    code, shown = at_a_terminal(tmp_path, "assess", "names.csv")
    assert code == 0
    assert "\x1b[2J" not in shown
    assert "\x1b[31mred" not in shown


@pytest.mark.parametrize("name", [".", "missing.csv", "/dev/null"])
def test_what_is_no_readable_file_is_refused(run: Run, name: str) -> None:
    refused(run("assess", name), "is a folder|No such file or directory|is empty")


# Root may read anything, so root's child becomes nobody once it has loaded what nobody may not.
AS_NOBODY = """
import os, sys
import encodings.utf_8_sig, polars, uccurve.cli.app, uccurve.cli._assessing
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
uccurve.cli.app.main()
"""


def test_files_and_folders_without_permission_are_refused() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models().write_csv(folder / "models.csv")
        (folder / "models.csv").chmod(0)
        folder.chmod(0o555)

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-c", AS_NOBODY, *arguments]
            return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)

        refused(run("assess", "models.csv"), "models.csv: Permission denied.")
        (folder / "models.csv").chmod(0o444)
        refused(run("assess", "models.csv", "--json", "o.json"), "Permission denied.")
        assert [path.name for path in folder.iterdir()] == ["models.csv"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_refused(run: Run, csv: Path) -> None:
    for option in ("--json", "--report"):
        refused(run("assess", csv.name, option, "/dev/full"), "No space left on device")
    assert Path("/dev/full").is_char_device()


def test_a_disk_that_fills_up_leaves_no_half_file(run: Run, tmp_path: Path, csv: Path) -> None:
    (tmp_path / "o.html").write_text("mine")
    found = run("assess", csv.name, "--report", "o.html", "--force", limit="-f 200")
    refused(found, "File too large")
    assert (tmp_path / "o.html").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["models.csv", "o.html"]


def test_without_its_libraries_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise ImportError('no', name='typer')")
    script = "from uccurve.cli.app import main; main()"
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", script]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert found.stderr == 'uccurve: the command line needs typer: pip install "uccurve[cli]"\n'


# What an attack found


def small(**columns: object) -> pl.DataFrame:
    y = [0.1 * i for i in range(40)]
    data = {"y": y, "pred": [2.0] * 40, "lower": [0.5] * 40, "upper": [3.5] * 40}
    return pl.DataFrame(data | columns)


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (small(y=["1"] * 40), "b.parquet holds y as String, not as Float64"),
        (small().drop("upper"), "b.parquet lacks upper"),
    ],
)
def test_parts_of_a_folder_that_do_not_fit_are_named(
    run: Run, tmp_path: Path, other: pl.DataFrame, sentence: str
) -> None:
    (tmp_path / "parts").mkdir()
    small().write_parquet(tmp_path / "parts" / "a.parquet")
    other.write_parquet(tmp_path / "parts" / "b.parquet")
    for engine in ("memory", "polars"):
        found = run("assess", "parts", "--coverage", "90%", "--engine", engine)
        refused(found, f"files of one table must have the same columns: .*{sentence}")


def test_surplus_cells_are_refused_whichever_columns_are_read(run: Run, tmp_path: Path) -> None:
    text = small(z=["a"] * 40).write_csv().splitlines()
    (tmp_path / "surplus.csv").write_text("\n".join([*text[:3], "1,234.5,2,0,3,x", *text[3:]]))
    for engine in ("memory", "polars"):
        found = run("assess", "surplus.csv", "--coverage", "90%", "--engine", engine)
        refused(found, "surplus.csv has a row with more cells than the header has columns")
    quoted = small(z=['a, "b"'] * 40)
    quoted.write_csv(tmp_path / "quoted.csv")
    assert run("assess", "quoted.csv").returncode == 0


def test_a_last_row_without_values_is_a_row(run: Run, tmp_path: Path) -> None:
    text = small().write_csv(separator="\t") + "\t\t\t\n"
    (tmp_path / "tabs.tsv").write_text(text)
    refused(run("assess", "tabs.tsv"), "1 of 41 rows is not, first row 40")


def test_joined_labels_that_hold_commas_stay_apart(run: Run, tmp_path: Path) -> None:
    small(x=["a, b", "a"] * 20, z=["c", "b, c"] * 20).write_csv(tmp_path / "labels.csv")
    found = run("assess", "labels.csv", "--by", "x,z", "--json", "-")
    labels = {segment["label"] for segment in json.loads(found.stdout)["segments"]}
    assert labels == {'"a, b", c', 'a, "b, c"'}


def test_names_and_streams_that_few_have_seen(run: Run, tmp_path: Path) -> None:
    small().write_csv(tmp_path / "a.csv")
    small().rename({"y": "*"}).write_csv(tmp_path / "star.csv")
    refused(run("assess", "star.csv", "--y", "*"), "a column named \\*, which stands for several")
    refused(run("assess", "a.csv", "--json", ""), "--json must name a file; it is empty")
    (tmp_path / "loop").symlink_to("loop")
    refused(run("assess", "loop"), "loop: Too many levels of symbolic links")
    for line in (
        "uccurve assess a.csv --json /dev/stdout | cat",
        "uccurve assess a.csv --json >(cat)",
    ):
        found = shell(tmp_path, line)
        assert '"verdict": {' in found.stdout, found.stderr
    odd = os.fsencode(tmp_path) + b"/n\xff.csv"
    Path(os.fsdecode(odd)).write_bytes((tmp_path / "a.csv").read_bytes())
    assert shell(tmp_path, "uccurve assess n*.csv").returncode == 0


def test_a_terminal_of_ascii_gets_plain_signs(tmp_path: Path) -> None:
    small().write_csv(tmp_path / "a.csv")
    found = shell(tmp_path, "PYTHONIOENCODING=ascii uccurve assess a.csv --coverage 90%")
    assert found.returncode == 0, found.stderr
    assert re.search(r"bands x \d|unchanged", found.stdout)


def test_fifty_thousand_columns_are_read_in_a_moment(run: Run, tmp_path: Path) -> None:
    wide = small().with_columns(pl.lit(1.5).alias(f"x{i}") for i in range(50_000))
    wide.write_csv(tmp_path / "wide.csv")
    before = os.times()
    assert run("assess", "wide.csv").returncode == 0
    after = os.times()
    spent = after.children_user - before.children_user
    assert spent < 10  # of processor time; 20 s and more before
