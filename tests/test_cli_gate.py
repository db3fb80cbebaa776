"""`uccurve gate` as continuous integration meets it: files in, an exit code and a comment out."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import uccurve as ucc
from pages import DOCS, Reader, environment, steps
from test_cli import ESCAPE, Run, at_a_terminal, refused, run
from uccurve.gate import gate

__all__ = ["run"]  # the fixture
N = 800


def rows() -> pl.DataFrame:
    """Intervals that keep 90%, with a key, a time and a label."""
    rng = np.random.default_rng(2)
    x = rng.uniform(1, 5, N)
    half = 1.645 * x / 4
    return pl.DataFrame(
        {
            "id": np.arange(N),
            "week": np.arange(N) // 20,
            "site": rng.choice(["north", "south"], N),
            "y": x + rng.normal(size=N) * x / 4,
            "pred": x,
            "lower": x - half,
            "upper": x + half * 1.02,
        }
    )


def scaled(factor: float) -> pl.DataFrame:
    pred = pl.col("pred")
    return rows().with_columns(
        lower=pred - factor * (pred - pl.col("lower")),
        upper=pred + factor * (pl.col("upper") - pred),
    )


def loaded(frame: pl.DataFrame) -> ucc.Intervals:
    return ucc.Intervals.from_frame(frame, y_true="y", y_pred="pred", lower="lower", upper="upper")


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    rows().write_csv(tmp_path / "base.csv")


ASKED = ("--coverage", "90%", "--by", "site")


@pytest.mark.parametrize(("factor", "code"), [(1.0, 0), (0.1, 3), (3.0, 3), (1.01, 0)])
def test_the_exit_code_says_yes_or_no(run: Run, tmp_path: Path, factor: float, code: int) -> None:
    scaled(factor).write_parquet(tmp_path / "new.parquet")
    found = run("gate", "base.csv", "new.parquet", *ASKED, "--json", "g.json", "--markdown", "g.md")
    assert found.returncode == code, found.stderr
    expected = gate(
        loaded(rows()),
        loaded(scaled(factor)),
        coverage=0.9,
        by={"site": rows()["site"].to_list()},
        names=("base", "new"),
    )
    assert found.stdout == expected.to_text() + "\n"
    assert json.loads((tmp_path / "g.json").read_text()) == json.loads(
        json.dumps(expected.to_dict())
    )
    assert (tmp_path / "g.md").read_text() == expected.to_markdown()
    assert len(found.stdout.splitlines()) == 2 + 4  # the outcome, the level, and one line per check
    assert "baseline: base; proposed: new" in found.stderr


def test_clearly_worse_bands_fail_although_they_cover(run: Run, tmp_path: Path) -> None:
    half = float(1.4 * (rows()["upper"] - rows()["pred"]).mean())  # type: ignore[operator, arg-type]  # a float
    flat = rows().with_columns(lower=pl.col("pred") - half, upper=pl.col("pred") + half)
    flat.write_csv(tmp_path / "flat.csv")
    found = run("gate", "base.csv", "flat.csv", *ASKED)
    assert found.returncode == 3
    assert [line.split()[:2] for line in found.stdout.splitlines() if line.startswith("FAIL")] == [
        ["FAIL", "score"]
    ]
    assert run("gate", "base.csv", "flat.csv", *ASKED, "--margin", "100%").returncode == 0


def test_another_order_of_rows_is_refused_unless_keys_match_them(run: Run, tmp_path: Path) -> None:
    shuffled = rows().sample(fraction=1, shuffle=True, seed=1)
    shuffled.write_csv(tmp_path / "new.csv")
    refused(
        run("gate", "base.csv", "new.csv", *ASKED),
        "base.csv must have its rows in the order of .* Hint: --on id",
    )
    shuffled.drop("id").write_csv(tmp_path / "nameless.csv")
    sentence = "must have the same observations: .* or --on KEYS matches them"
    refused(run("gate", "base.csv", "nameless.csv", *ASKED), sentence)
    found = run("gate", "base.csv", "new.csv", *ASKED, "--on", "id")
    assert found.returncode == 0, found.stderr
    assert "score" in found.stdout
    shuffled.head(700).write_csv(tmp_path / "part.csv")
    sentence = r"same rows by id: 100 of 800 rows of base.csv have no match .* Hint: --missing drop compares"
    refused(run("gate", "base.csv", "part.csv", *ASKED, "--on", "id"), sentence)
    fewer = run("gate", "base.csv", "part.csv", *ASKED, "--on", "id", "--missing", "drop")
    assert fewer.returncode == 0, fewer.stderr
    assert "Dropped: 100 of 800 rows (part lacks 100)." in fewer.stdout
    assert "n = 700" in fewer.stdout
    refused(
        run("gate", "base.csv", "new.csv", *ASKED, "--on", "site"),
        "site must name each row once: 800 of 800",
    )


def test_one_file_may_hold_both_models(run: Run, tmp_path: Path) -> None:
    both = rows().rename({"pred": "a_pred", "lower": "a_lower", "upper": "a_upper"})
    both.with_columns(
        b_pred="a_pred", b_lower=pl.col("a_pred") - 0.05, b_upper=pl.col("a_pred") + 0.05
    ).write_csv(tmp_path / "both.csv")
    found = run("gate", "both.csv", *ASKED)
    assert found.returncode == 3, found.stderr
    assert "baseline: a; proposed: b" in found.stderr
    turned = run("gate", "both.csv", *ASKED, "--baseline", "b", "--proposed", "a")
    assert turned.returncode == 0, turned.stderr
    refused(
        run("gate", "both.csv", *ASKED, "--baseline", "c", "--proposed", "a"),
        "no model is called c. There are a, b.",
    )
    refused(
        run("gate", "base.csv", "both.csv", *ASKED),
        "which model is meant. There are a, b. Hint: --proposed NAME",
    )


def test_a_model_that_both_files_have_is_chosen_by_its_name_there(run: Run, tmp_path: Path) -> None:
    both = rows().rename({"pred": "a_pred", "lower": "a_lower", "upper": "a_upper"})
    both = both.with_columns(
        b_pred="a_pred", b_lower=pl.col("a_pred") - 0.05, b_upper=pl.col("a_pred") + 0.05
    )
    for name in ("old.csv", "today.csv"):
        both.write_csv(tmp_path / name)
    found = run("gate", "old.csv", "today.csv", *ASKED, "--baseline", "a", "--proposed", "a")
    assert found.returncode == 0, found.stderr
    assert "baseline: old: a; proposed: today: a" in found.stderr
    refused(
        run("gate", "old.csv", "today.csv", *ASKED, "--baseline", "a"),
        "which model is meant. There are today: a",
    )


def test_a_saved_assessment_is_a_baseline(run: Run, tmp_path: Path) -> None:
    assert run("assess", "base.csv", "--coverage", "90%", "--json", "accepted.json").returncode == 0
    for factor, code in ((1.0, 0), (0.1, 3), (3.0, 3)):
        scaled(factor).write_csv(tmp_path / "new.csv")
        found = run("gate", "accepted.json", "new.csv", *ASKED)
        assert found.returncode == code, found.stderr
        assert "Note: the baseline is a saved assessment" in found.stdout
    refused(
        run("gate", "accepted.json", "new.csv", "--coverage", "80%"),
        "is for a coverage of 0.9, the gate for 0.8",
    )
    assert (
        run("assess", "base.csv", "new.csv", "--coverage", "90%", "--json", "two.json").returncode
        == 0
    )
    refused(
        run("gate", "two.json", "new.csv", *ASKED),
        r"several models \(base, new\).* Hint: pass --baseline NAME",
    )
    assert run("gate", "two.json", "base.csv", *ASKED, "--baseline", "base").returncode == 0
    (tmp_path / "odd.json").write_text('{"a": 1}')
    refused(
        run("gate", "odd.json", "new.csv", *ASKED),
        "odd.json must be intervals, or an assessment that",
    )


@pytest.mark.parametrize(
    "line",
    [
        "uccurve gate <(cat accepted.json) base.csv",
        "cat accepted.json | uccurve gate - base.csv",
        "uccurve gate /dev/stdin base.csv < accepted.json",
        "gzip accepted.json; uccurve gate accepted.json.gz base.csv",
        "uccurve gate accepted.json <(cat base.csv)",
    ],
)
def test_a_saved_assessment_comes_from_anywhere(run: Run, tmp_path: Path, line: str) -> None:
    assert run("assess", "base.csv", "--coverage", "90%", "--json", "accepted.json").returncode == 0
    found = bash(f"{line} --coverage 90%", tmp_path)
    assert found.returncode == 0, found.stderr
    assert (
        "Note: the baseline is a saved assessment: scores are not compared row by row"
        in found.stdout
    )


def test_blocks_make_a_gate_more_careful(run: Run, tmp_path: Path) -> None:
    scaled(0.97).write_csv(tmp_path / "new.csv")
    alone, weeks, twenty = (
        json.loads(run("gate", "base.csv", "new.csv", *ASKED, *block, "--json", "-").stdout)
        for block in ((), ("--block", "week"), ("--block", "20"))
    )
    pvalues = [[one["pvalue"] for one in found["checks"]] for found in (alone, weeks, twenty)]
    assert_allclose(pvalues[1], pvalues[2], rtol=1e-9)
    assert pvalues[0][1] != pvalues[1][1]


def test_the_promise_is_needed_or_told_by_the_columns(run: Run, tmp_path: Path) -> None:
    refused(
        run("gate", "base.csv", "base.csv"),
        "a gate needs to know what is promised. Hint: --coverage 90%",
    )
    told = rows().rename({"lower": "q05", "upper": "q95"})
    told.write_csv(tmp_path / "told.csv")
    found = run("gate", "told.csv", "told.csv")
    assert found.returncode == 0, found.stderr
    assert "coverage 90%, as the column names say" in found.stderr


def test_a_time_column_without_blocks_is_pointed_out(run: Run, tmp_path: Path) -> None:
    dated = rows().with_columns(
        day=pl.date_range(pl.date(2024, 1, 1), pl.date(2026, 3, 10), eager=True).head(N)
    )
    dated.write_csv(tmp_path / "dated.csv")
    dated.write_parquet(tmp_path / "dated.parquet")
    for name in ("dated.csv", "dated.parquet"):
        found = run("gate", name, name, *ASKED)
        assert "follow each other in time (day) are usually dependent" in found.stderr
        assert "usually dependent" not in run("gate", name, name, *ASKED, "--block", "20").stderr
    unsorted = dated.sample(fraction=1, shuffle=True, seed=0)
    unsorted.write_csv(tmp_path / "unsorted.csv")
    assert "usually dependent" not in run("gate", "unsorted.csv", "unsorted.csv", *ASKED).stderr
    unsorted.rename({"day": "DS"}).write_csv(tmp_path / "named.csv")
    assert "in time (DS)" in run("gate", "named.csv", "named.csv", *ASKED).stderr


def test_a_terminal_gets_the_same_lines(run: Run, tmp_path: Path) -> None:
    code, shown = at_a_terminal(tmp_path, "gate", "base.csv", "base.csv", *ASKED, width=160)
    assert code == 0
    lines = [line.rstrip() for line in ESCAPE.sub("", shown).splitlines()]
    for line in run("gate", "base.csv", "base.csv", *ASKED).stdout.splitlines():
        assert line in lines


def test_json_and_markdown_may_go_to_standard_output_one_at_a_time(run: Run) -> None:
    asked = ("gate", "base.csv", "base.csv", *ASKED)
    assert run(*asked, "--markdown", "-").stdout.startswith("### Gate passed: ")
    assert json.loads(run(*asked, "--json", "-").stdout)["passed"] is True
    refused(
        run(*asked, "--json", "-", "--markdown", "-"),
        "--json and --markdown cannot both be standard output",
    )
    refused(
        run(*asked, "--json", "x", "--markdown", "x"),
        "--json and --markdown must be different files",
    )
    refused(
        run(*asked, "--json", "base.csv", "--force"),
        "the input base.csv and --json must be different files",
    )


# The page that tells how to use it


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Blocks of YAML of the page, in a folder where all its other steps have been taken."""
    monkeypatch.chdir(tmp_path)
    Reader(DOCS / "howto-gate.md", tmp_path).follow()
    return [step.text for step in steps(DOCS / "howto-gate.md") if step.kind == "yaml"]


def bash(line: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = ["bash", "-e", "-c", line]
    settings: Any = {
        "cwd": folder,
        "env": environment() | variables,
        "capture_output": True,
        "text": True,
    }
    return subprocess.run(command, check=False, **settings)


def test_the_steps_for_github_actions_and_pre_commit_run(page: list[str], tmp_path: Path) -> None:
    """The action's inputs and the hook's arguments make a gate that passes here, and one that fails."""
    yaml = pytest.importorskip("yaml")
    actions, hooks = map(yaml.safe_load, page)
    action = yaml.safe_load((DOCS.parent / "action.yml").read_text(encoding="utf-8"))
    (given,) = [step["with"] for step in actions["jobs"]["intervals"]["steps"][2:]]
    assert set(given) <= set(action["inputs"])
    options = [f"--coverage={given['coverage']}", *given["arguments"].split()]
    by_action = " ".join(["uccurve gate", *options, given["baseline"], given["proposed"]])
    offered = yaml.safe_load((DOCS.parent / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    (hook,) = hooks["repos"][0]["hooks"]
    (entry,) = [known["entry"] for known in offered if known["id"] == hook["id"]]
    for line in (by_action, " ".join([entry, *hook["args"]])):
        done = bash(line, tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("Gate passed: tuned may replace baseline")
        assert bash(line.replace("tuned.csv", "proposed.csv"), tmp_path).returncode == 3


def test_the_page_names_every_option(run: Run) -> None:
    text = (DOCS / "howto-gate.md").read_text(encoding="utf-8") + (
        DOCS / "howto-your-files.md"
    ).read_text(encoding="utf-8")
    offered = set(re.findall(r"(--[a-z-]+)", run("gate", "-h").stdout))
    assert sorted(option for option in offered if option not in text and option != "--help") == []


@pytest.mark.parametrize(
    ("factor", "n", "codes"),
    [(1.0, N, (0, 0)), (0.6, N, (3, 3)), (3.0, N, (0, 3)), (1.0, 12, (0, 3))],
    ids=["kept", "too narrow", "too wide", "unclear"],
)
def test_an_assessment_fails_on_a_broken_promise_where_that_is_asked(
    run: Run, tmp_path: Path, factor: float, n: int, codes: tuple[int, int]
) -> None:
    scaled(factor).head(n).write_csv(tmp_path / "new.csv")
    asked = ("assess", "new.csv", "--coverage", "90%")
    plain = run(*asked)
    assert plain.returncode == 0
    for check, code in zip(("too-narrow", "promise"), codes, strict=True):
        found = run(*asked, "--fail-on", check)
        assert found.returncode == code, found.stderr
        assert found.stdout == plain.stdout
        assert ("failed: new (" in found.stderr) == (code == 3)


def test_a_failing_model_is_named_among_several(run: Run, tmp_path: Path) -> None:
    for name, factor in (("good", 1.0), ("bad", 0.5)):
        scaled(factor).write_csv(tmp_path / f"{name}.csv")
    files = ("good.csv", "bad.csv", "--coverage", "90%", "--json", "a.json")
    found = run("assess", *files, "--fail-on", "too-narrow")
    assert found.returncode == 3
    assert "failed: bad (too narrow)" in found.stderr
    assert json.loads((tmp_path / "a.json").read_text())["models"]["bad"]["promise"] == "too narrow"


def test_what_was_not_promised_cannot_fail(run: Run) -> None:
    refused(run("assess", "base.csv", "--fail-on", "promise"), "--fail-on .* Hint: --coverage 90%")


def test_a_score_that_nobody_could_test_stops_a_pull_request(run: Run, tmp_path: Path) -> None:
    for name, factor in (("safe", 8.0), ("absurd", 80.0)):
        wide = scaled(factor).with_columns(y=pl.col("pred") + (pl.col("y") - pl.col("pred")) / 4)
        missed = pl.col("id") == (0 if name == "safe" else -1)
        wide = wide.with_columns(upper=pl.when(missed).then("pred").otherwise("upper"))
        wide = wide.with_columns(
            y=pl.when(pl.col("id") == 0).then(pl.col("pred") + 0.1).otherwise("y")
        )
        wide.write_csv(tmp_path / f"{name}.csv")
    found = run("gate", "safe.csv", "absurd.csv", "--coverage", "90%")
    assert found.returncode == 3
    first = "Gate failed: the score could not be tested (fewer than two misses)."
    assert found.stdout.splitlines()[0] == first
    asked = ("gate", "safe.csv", "absurd.csv", "--coverage", "90%", "--allow-unclear")
    allowed = run(*asked)
    assert allowed.returncode == 0
    assert "(2 checks, 1 not tested)" in allowed.stdout.splitlines()[0]


def test_dropped_rows_and_segments_are_told_in_every_output(run: Run, tmp_path: Path) -> None:
    """Also of rows that lack a number in one file, and with a feature that only the other file knows of them."""
    known = rows().with_columns(
        site=pl.when(pl.col("id") < 60).then(pl.lit("east")).otherwise("site")
    )
    known.write_csv(tmp_path / "base.csv")
    lower = pl.when(pl.col("id") < 90).then(None).otherwise("lower")
    known.with_columns(lower=lower).write_csv(tmp_path / "empty.csv")
    known.filter(pl.col("id") >= 90).write_csv(tmp_path / "short.csv")
    for name in ("empty", "short"):
        asked = ("gate", "base.csv", f"{name}.csv", *ASKED, "--on", "id", "--missing", "drop")
        files = ("--json", f"{name}.json", "--markdown", f"{name}.md")
        found = run(*asked, *files)
        assert found.returncode == 0, found.stderr
        told = f"Dropped: 90 of 800 rows ({name} lacks 90). No rows are left of site east."
        assert found.stdout.splitlines()[1] == told
        plain = (tmp_path / f"{name}.md").read_text().replace("\\", "")
        assert plain.splitlines()[2] == told
        missing = json.loads((tmp_path / f"{name}.json").read_text())["missing"]
        lacking = {"base": 0, name: 90}
        assert missing == {
            "dropped": 90,
            "kept": 710,
            "lacking": lacking,
            "vanished": ["site east"],
        }
        assert "n = 710" in found.stdout


def test_a_third_model_costs_a_gate_no_rows(run: Run, tmp_path: Path) -> None:
    columns = ("pred", "lower", "upper")
    three = rows().select(
        "y", *(pl.col(one).alias(f"{name}_{one}") for name in "abc" for one in columns)
    )
    gone = pl.int_range(pl.len()) < 300
    three = three.with_columns(c_lower=pl.when(gone).then(None).otherwise("c_lower"))
    three.write_csv(tmp_path / "three.csv")
    asked = ("gate", "three.csv", "--coverage", "90%", "--missing", "drop", "--baseline", "a")
    found = run(*asked, "--proposed", "b")
    assert "n = 800" in found.stdout
    assert "Dropped" not in found.stdout
    assert "Dropped: 300 of 800 rows (c lacks 300)." in run(*asked, "--proposed", "c").stdout
