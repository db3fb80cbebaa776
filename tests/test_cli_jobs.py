"""`uccurve calibrate`, `apply` and `demo`."""

import gzip
import html
import io
import json
import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import uccurve as ucc
from pages import DOCS, Reader
from test_cli import PROGRAM, Run, intervals, models, refused, run
from uccurve._files import unpacked
from uccurve.cli._assessing import example
from uccurve.words.formats import number

__all__ = ["run"]  # the fixture


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    """Calibration rows, and new rows without observations, with columns of all kinds."""
    models(200).write_csv(tmp_path / "cal.csv")
    new = (
        models(50, seed=9)
        .drop("y")
        .with_columns(
            note=pl.lit('a "quoted", note'), when=pl.lit("2024-01-01"), amount=pl.lit("1.50")
        )
    )
    new.write_csv(tmp_path / "new.csv")


def test_calibrate_writes_new_bounds_and_keeps_all_else(run: Run, tmp_path: Path) -> None:
    found = run("calibrate", "cal.csv", "new.csv", "-o", "out.csv", "--coverage", "95%")
    assert found.returncode == 0, found.stderr
    before, after = (
        pl.read_csv(tmp_path / name, infer_schema=False) for name in ("new.csv", "out.csv")
    )
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
        low, high = calibrator.coverage_range(200)
        (line,) = (
            line.split() for line in found.stdout.splitlines() if line.startswith(f"{name} ")
        )
        assert line[1:4] == ["200", "×", f"{calibrator.scale_:.2f}"]
        assert line[-3:] == [f"{100 * low:.1f}%", "to", f"{100 * high:.1f}%"]
    assert (
        "Promise: 95% of new rows like these will be covered, on average, by a model"
        in found.stdout
    )


def test_calibrate_knows_parquet_groups_and_shifts(run: Run, tmp_path: Path) -> None:
    models(200).write_parquet(tmp_path / "cal.parquet")
    models(50, seed=9).write_parquet(tmp_path / "new.parquet")
    options = (
        "--model",
        "A=a_pred,a_lower,a_upper",
        "--by",
        "site",
        "--vary",
        "shift",
        "--miss-rate",
        "10%",
    )
    found = run("calibrate", "cal.parquet", "new.parquet", "-o", "out.parquet", *options)
    assert found.returncode == 0, found.stderr
    before, after = models(50, seed=9), pl.read_parquet(tmp_path / "out.parquet")
    assert before.schema == after.schema
    assert before.drop("a_lower", "a_upper").equals(after.drop("a_lower", "a_upper"))
    calibrator = ucc.IntervalCalibrator(miss_rate=0.1, vary="shift")
    calibrator.fit(intervals(models(200), "a"), groups=models(200)["site"].to_list())
    shifts = {site: learnt.upper for site, learnt in calibrator.calibrations_.items()}
    expected = before["a_upper"].to_numpy() + np.array([shifts[site] for site in before["site"]])
    assert_allclose(after["a_upper"].to_numpy(), expected, rtol=1e-12)
    assert "A, north" in found.stdout


def test_calibrate_refuses_what_does_not_fit(run: Run, tmp_path: Path) -> None:
    out = ("-o", "out.csv", "--coverage")
    models(5).write_csv(tmp_path / "few.csv")
    sentence = (
        "a miss rate of 5%{} needs at least {} rows; there are 5. Hint: .* or a larger --miss-rate"
    )
    refused(run("calibrate", "few.csv", "new.csv", *out, "0.95"), sentence.format("", 19))
    refused(
        run("calibrate", "few.csv", "new.csv", *out, "0.95", "--confidence", "90%"),
        sentence.format(" with confidence 0.9", 45),
    )
    models(200).with_columns(a_lower="a_pred", a_upper="a_pred").write_csv(tmp_path / "flat.csv")
    refused(
        run("calibrate", "flat.csv", "new.csv", *out, "0.9"),
        "no scale reaches a miss rate of 10% with conformal rank 181 of 200: the smallest is 1. "
        "Hint: raise zero bands with --min-band",
    )
    pl.read_csv(tmp_path / "new.csv").drop("b_pred").write_csv(tmp_path / "part.csv")
    refused(
        run("calibrate", "cal.csv", "part.csv", *out, "0.9"),
        "part.csv must have whole models that were calibrated: it has a, the calibration has a, b",
    )
    refused(
        run("calibrate", "cal.csv", "new.csv", "-o", "out.csv"),
        "do not state a coverage.* Hint: --coverage 90%",
    )
    refused(
        run("calibrate", "new.csv", "cal.csv", *out, "0.9"),
        "new.csv has no column for the observation",
    )
    refused(run("calibrate", "-", "-", *out, "0.9"), "standard input can be read once only")
    (tmp_path / "out.csv").write_text("mine")
    refused(run("calibrate", "cal.csv", "new.csv", *out, "0.9"), "out.csv exists already")
    assert (tmp_path / "out.csv").read_text() == "mine"


def test_the_winner_alone_is_calibrated_by_what_was_learnt_for_all(
    run: Run, tmp_path: Path
) -> None:
    assert run("calibrate", "cal.csv", "--save", "cal.json", "--coverage", "90%").returncode == 0
    assert run("apply", "cal.json", "new.csv", "-o", "both.csv").returncode == 0
    pl.read_csv(tmp_path / "new.csv").drop("b_pred", "b_lower", "b_upper").write_csv(
        tmp_path / "winner.csv"
    )
    found = run("apply", "cal.json", "winner.csv", "-o", "one.csv")
    assert found.returncode == 0, found.stderr
    assert "not in winner.csv, so left out: b" in found.stderr
    both, one = (pl.read_csv(tmp_path / name) for name in ("both.csv", "one.csv"))
    assert one.equals(both.select(one.columns))


def test_what_was_saved_is_applied_later_as_it_was_at_once(run: Run, tmp_path: Path) -> None:
    options = ("--coverage", "90%", "--by", "site,w", "--tails", "separate", "--min-band", "0.1")
    found = run(
        "calibrate", "cal.csv", "new.csv", "-o", "at_once.csv", "--save", "cal.json", *options
    )
    assert found.returncode == 0, found.stderr
    later = run("apply", "cal.json", "new.csv", "-o", "later.csv")
    assert later.returncode == 0, later.stderr
    assert (tmp_path / "later.csv").read_bytes() == (tmp_path / "at_once.csv").read_bytes()
    assert "later.csv, 50 rows with calibrated bounds" in later.stderr
    frame = models(200)
    calibrator = ucc.IntervalCalibrator(coverage=0.9, tails="separate")
    groups = {"site": frame["site"].to_list(), "w": frame["w"].cast(pl.String).to_list()}
    calibrator.fit(intervals(frame, "b", min_band=0.1), groups=groups)
    new = models(50, seed=9)
    labels = {"site": new["site"].to_list(), "w": new["w"].cast(pl.String).to_list()}
    bounds = calibrator.apply_bounds(
        *(new[f"b_{role}"].to_numpy() for role in ("pred", "lower", "upper")),
        groups=labels,
        min_band=0.1,
    )
    for role, bound in zip(("lower", "upper"), bounds, strict=True):
        assert_array_equal(pl.read_csv(tmp_path / "later.csv")[f"b_{role}"].to_numpy(), bound)
    assert "b, south, 3" in found.stdout
    assert " below, × " in found.stdout
    refused(run("apply", "cal.json", "new.csv", "-o", "later.csv"), "later.csv exists already")


def test_a_percentage_as_floor_becomes_the_number_of_the_calibration_rows(
    run: Run, tmp_path: Path
) -> None:
    for name, rows, seed in (("odd.csv", 200, 0), ("later.csv", 50, 9)):
        outside = models(rows, seed=seed).with_columns(
            b_pred=pl.when(pl.int_range(pl.len()) % 10 == 0)
            .then(pl.col("b_upper") + 1)
            .otherwise("b_pred")
        )
        outside.write_csv(tmp_path / name)
    frame = pl.read_csv(tmp_path / "odd.csv")
    half = [float((frame[f"{m}_upper"] - frame[f"{m}_lower"]).mean()) / 2 for m in ("a", "b")]  # type: ignore[arg-type]  # a mean of floats
    asked = ("calibrate", "odd.csv", "later.csv", "--coverage", "90%")
    refused(run(*asked, "-o", "never.csv"), "Hint: pass --min-band 5%")
    found = run(*asked, "--min-band", "5%", "-o", "one.csv", "--save", "odd.json")
    assert found.returncode == 0, found.stderr
    learnt = json.loads((tmp_path / "odd.json").read_text())["min_band"]
    assert learnt == pytest.approx(0.05 * min(half), rel=1e-12)
    least = "a" if half[0] < half[1] else "b"
    assert f"--min-band 5% is {number(learnt)}, that share of the mean half-width of {least}" in (
        found.stderr
    )
    models(200).write_csv(tmp_path / "plain.csv")
    run("calibrate", "plain.csv", "--coverage", "90%", "--save", "plain.json")
    again = "Hint: calibrate again with --min-band 5% to raise such bands"
    refused(run("apply", "plain.json", "later.csv", "-o", "never.csv"), again)
    by_number = run(*asked, "--min-band", repr(learnt), "-o", "two.csv")
    assert by_number.returncode == 0, by_number.stderr
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


def test_a_saved_calibration_comes_from_a_pipe_or_packed(run: Run, tmp_path: Path) -> None:
    assert (
        run(
            "calibrate",
            "cal.csv",
            "new.csv",
            "-o",
            "o.csv",
            "--save",
            "c.json",
            "--coverage",
            "90%",
        ).returncode
        == 0
    )
    text = (tmp_path / "c.json").read_bytes()
    (tmp_path / "c.json.gz").write_bytes(gzip.compress(text))
    packed = run("apply", "c.json.gz", "new.csv", "-o", "-")
    piped = run("apply", "-", "new.csv", "-o", "-", input=text.decode())
    assert packed.stdout == piped.stdout == (tmp_path / "o.csv").read_text()
    refused(run("apply", "-", "-", "-o", "x.csv", input=""), "standard input can be read once only")


def test_a_calibration_can_be_learnt_without_new_rows_and_applied_to_other_columns(
    run: Run, tmp_path: Path
) -> None:
    one = ("--model", "A=a_pred,a_lower,a_upper")
    found = run(
        "calibrate",
        "cal.csv",
        "--save",
        "cal.json",
        "--coverage",
        "0.9",
        "--confidence",
        "80%",
        *one,
    )
    assert found.returncode == 0, found.stderr
    assert (
        "at least 90% of new rows like these will be covered, with 80% confidence" in found.stdout
    )
    models(50, seed=9).select(p="a_pred", l="a_lower", u="a_upper").write_parquet(
        tmp_path / "other.parquet"
    )
    assert (
        run(
            "apply", "cal.json", "other.parquet", "-o", "o.parquet", "--model", "x=p,l,u"
        ).returncode
        == 0
    )
    calibrator = ucc.IntervalCalibrator(coverage=0.9, confidence=0.8).fit(
        intervals(models(200), "a")
    )
    new = models(50, seed=9)
    lower, _ = calibrator.apply_bounds(
        *(new[f"a_{role}"].to_numpy() for role in ("pred", "lower", "upper"))
    )
    assert_array_equal(pl.read_parquet(tmp_path / "o.parquet")["l"].to_numpy(), lower)


def test_groups_never_seen_are_refused_unless_they_may_fall_back(run: Run, tmp_path: Path) -> None:
    learn = (
        "calibrate",
        "cal.csv",
        "--save",
        "cal.json",
        "--coverage",
        "0.9",
        "--by",
        "site",
        "--force",
    )
    models(50, seed=9).with_columns(site=pl.lit("west")).write_csv(tmp_path / "west.csv")
    assert run(*learn).returncode == 0
    refused(
        run("apply", "cal.json", "west.csv", "-o", "o.csv"),
        "must have been seen at fit: 1 of 1 were not, first 'west'",
    )
    found = run(*learn, "--fallback", "pooled")
    assert "a, any other" in found.stdout
    assert run("apply", "cal.json", "west.csv", "-o", "o.csv").returncode == 0
    pooled = ucc.IntervalCalibrator(coverage=0.9).fit(intervals(models(200), "a")).scale_
    new, out = models(50, seed=9), pl.read_csv(tmp_path / "o.csv")
    widths = [(frame["a_upper"] - frame["a_lower"]).to_numpy() for frame in (new, out)]
    assert_allclose(widths[1], pooled * widths[0], rtol=1e-9)


def test_each_level_is_calibrated_to_its_own_promise(run: Run, tmp_path: Path) -> None:
    def levels(frame: pl.DataFrame) -> pl.DataFrame:
        names = {"m": "a_pred", "m-lo-80": "a_lower", "m-hi-80": "a_upper"}
        wide = {"m-lo-95": pl.col("a_lower") - 0.5, "m-hi-95": pl.col("a_upper") + 0.75}
        return frame.select("y", **names, **wide)

    levels(models(200)).write_csv(tmp_path / "levels.csv")
    levels(models(50, seed=9)).drop("y").write_csv(tmp_path / "fresh.csv")
    found = run("calibrate", "levels.csv", "fresh.csv", "-o", "o.csv")
    assert found.returncode == 0, found.stderr
    assert "levels.csv: m is m, m-lo-80, m-hi-80, m-lo-95, m-hi-95 (80%, 95%)" in found.stderr
    before, after = (pl.read_csv(tmp_path / name) for name in ("fresh.csv", "o.csv"))
    held_out = levels(models(200))
    for level in (80, 95):
        columns = [
            held_out[name].to_numpy() for name in ("y", "m", f"m-lo-{level}", f"m-hi-{level}")
        ]
        scale = (
            ucc.IntervalCalibrator(coverage=level / 100)
            .fit(ucc.Intervals.from_bounds(*columns))
            .scale_
        )
        widths = [
            (one[f"m-hi-{level}"] - one[f"m-lo-{level}"]).to_numpy() for one in (before, after)
        ]
        assert_allclose(widths[1], scale * widths[0], rtol=1e-9)
        assert f"m {level}%" in found.stdout
    sentence = "--coverage is one promise, and m has 2 levels. Hint: leave it out"
    refused(
        run("calibrate", "levels.csv", "fresh.csv", "-o", "o2.csv", "--coverage", "90%"), sentence
    )
    mixed = pl.read_csv(tmp_path / "levels.csv").with_columns(
        pl.col("m").alias("flat_pred"),
        (pl.col("m") - 1).alias("flat_lower"),
        (pl.col("m") + 1).alias("flat_upper"),
    )
    mixed.write_csv(tmp_path / "mixed.csv")
    both = run("calibrate", "mixed.csv", "--save", "mixed.json", "--coverage", "90%")
    assert both.returncode == 0, both.stderr
    assert {"m 80%", "m 95%"} <= {line[:5] for line in both.stdout.splitlines()}
    assert "Promise: 90% of new rows" in both.stdout  # of flat, whose names tell no coverage
    chosen = ("--coverage", "90%", "--model", "m=m,m-lo-95,m-hi-95")
    assert run("calibrate", "levels.csv", "fresh.csv", "-o", "o2.csv", *chosen).returncode == 0


def test_files_with_decimal_commas_are_written_with_decimal_commas(
    run: Run, tmp_path: Path
) -> None:
    for name in ("cal.csv", "new.csv"):
        text = (
            pl.read_csv(tmp_path / name, infer_schema=False)
            .drop("note", strict=False)
            .write_csv(separator=";")
        )
        (tmp_path / f"de_{name}").write_text(text.replace(".", ","))
    asked = (
        "calibrate",
        "de_cal.csv",
        "de_new.csv",
        "-o",
        "de_out.csv",
        "--coverage",
        "0.9",
        "--decimal",
        ",",
    )
    assert run(*asked).returncode == 0
    assert (
        run("calibrate", "cal.csv", "new.csv", "-o", "out.csv", "--coverage", "0.9").returncode == 0
    )
    german = pl.read_csv(tmp_path / "de_out.csv", separator=";", infer_schema=False)
    plain = pl.read_csv(tmp_path / "out.csv", infer_schema=False).drop("note")
    assert german["a_lower"].to_list() == [cell.replace(".", ",") for cell in plain["a_lower"]]
    assert german["amount"].to_list() == ["1,50"] * 50


def test_new_rows_that_lack_a_number_are_refused_or_left_as_they_are(
    run: Run, tmp_path: Path
) -> None:
    new = pl.read_csv(tmp_path / "new.csv", infer_schema=False).with_row_index("i")
    gap = new.with_columns(
        a_lower=pl.when(pl.col("i") == 7).then(pl.lit("NA")).otherwise("a_lower")
    ).drop("i")
    gap.write_csv(tmp_path / "gap.csv")
    asked = (
        "calibrate",
        "cal.csv",
        "gap.csv",
        "-o",
        "out.csv",
        "--save",
        "cal.json",
        "--coverage",
        "0.9",
    )
    sentence = "gap.csv, a: `lower` must be finite: 1 of 50 rows is not, first row 7 .* Hint: pass --missing drop"
    refused(run(*asked), sentence)
    assert not (tmp_path / "cal.json").exists()
    found = run(*asked, "--missing", "drop")
    assert found.returncode == 0, found.stderr
    assert "did not calibrate 1 of 50 rows: they have a missing or infinite value" in found.stderr
    refused(run("apply", "cal.json", "gap.csv", "-o", "later.csv"), sentence)
    assert (
        run("apply", "cal.json", "gap.csv", "-o", "later.csv", "--missing", "drop").returncode == 0
    )
    assert (
        run("calibrate", "cal.csv", "new.csv", "-o", "whole.csv", "--coverage", "0.9").returncode
        == 0
    )
    out, later, whole = (
        pl.read_csv(tmp_path / name, infer_schema=False)
        for name in ("out.csv", "later.csv", "whole.csv")
    )
    assert out.equals(later)
    assert out.row(7, named=True)["a_upper"] == gap.row(7, named=True)["a_upper"]
    others = [i for i in range(50) if i != 7]
    assert out[others].equals(whole[others])


def test_formulas_in_other_columns_are_left_as_they_are(run: Run, tmp_path: Path) -> None:
    new = pl.read_csv(tmp_path / "new.csv", infer_schema=False).with_columns(
        note=pl.lit("=cmd()|' /C calc'!A0")
    )
    new.write_csv(tmp_path / "formula.csv")
    assert (
        run("calibrate", "cal.csv", "formula.csv", "-o", "out.csv", "--coverage", "0.9").returncode
        == 0
    )
    assert (
        pl.read_csv(tmp_path / "out.csv", infer_schema=False)["note"].to_list()
        == new["note"].to_list()
    )


def test_calibrated_rows_can_be_piped_and_packed(run: Run, tmp_path: Path) -> None:
    asked = ("calibrate", "cal.csv", "-", "--coverage", "0.9", "-o")
    new = (tmp_path / "new.csv").read_text()
    piped = run(*asked, "-", input=new)
    assert piped.returncode == 0, piped.stderr
    assert "Promise: 90%" in piped.stderr
    assert run(*asked, "plain.csv", input=new).returncode == 0
    plain = (tmp_path / "plain.csv").read_bytes()
    assert piped.stdout.encode() == plain
    for name in ("packed.csv.gz", "packed.csv.zst"):
        assert run(*asked, name, input=new).returncode == 0
        packed = (tmp_path / name).read_bytes()
        assert len(packed) < len(plain)
        assert unpacked(packed, name=name) == plain


SAVED = '{"kind": "uccurve.calibration", "version": 5, "sort_crossing": false, "support": null'
LEVEL = '{"lower": "a", "upper": "b", "level": 0.9, "calibrator": null, "pockets": null}'
MODEL = f'{{"name": "a", "pred": "p", "median": false, "levels": [{LEVEL}]}}'


def saved(by: str = "[]", min_band: str = "null", models: str = f"[{MODEL}]") -> str:
    return f'{SAVED}, "by": {by}, "min_band": {min_band}, "models": {models}}}'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "it is not JSON"),
        ("[]", "it is not JSON"),
        ('{"kind": 1}', "it lacks `by`, `min_band`, `models`, `sort_crossing`, `support`"),
        (saved().replace('n"', 'x"', 1), "`kind` must be 'uccurve.calibration'; got"),
        (saved().replace("5", "2"), "`version` must be 5; got 2"),
        (saved().replace('t": null', 't": [0]'), "`support` must be two numbers or nulls, or null"),
        (saved(models="[]"), "`models` must be a list that is not empty"),
        (saved(models="[1]"), r"`models\[0\]` must be an object; got 1"),
        (
            saved(models=f"[{MODEL.replace(LEVEL, '1')}]"),
            r"in `models\[0\]`, `levels\[0\]` must be an object",
        ),
        (
            saved(models=f"[{MODEL.replace(LEVEL, LEVEL.replace('0.9', 'true'))}]"),
            "`level` must be a finite number",
        ),
        (saved(), "in a `calibrator`, it must be an object; got None"),
        (saved(by="[1]"), "`by` must be a list of names"),
        (saved(min_band="-1"), "`min_band` must be a finite number of at least 0, or null"),
        (saved(by='[], "by": []'), "a name is repeated"),
        ("{" * 100_000, "it is not JSON"),
    ],
)
def test_only_saved_calibrations_are_applied(
    run: Run, tmp_path: Path, text: str, sentence: str
) -> None:
    (tmp_path / "cal.json").write_text(text)
    refused(
        run("apply", "cal.json", "new.csv", "-o", "o.csv"),
        f"cal.json must be a calibration .*{sentence}",
    )
    assert not (tmp_path / "o.csv").exists()


def test_no_output_is_an_input_or_another_output_even_by_force(run: Run, tmp_path: Path) -> None:
    before = (tmp_path / "cal.csv").read_bytes()
    asked = ("calibrate", "cal.csv", "new.csv", "--coverage", "0.9", "--force")
    refused(run(*asked, "-o", "cal.csv"), "the input cal.csv and --out must be different files")
    refused(run(*asked, "-o", "./new.csv"), "the input new.csv and --out must be different files")
    refused(run(*asked, "-o", "x", "--save", "x"), "--out and --save must be different files")
    assert (tmp_path / "cal.csv").read_bytes() == before


AS_READ = {
    "named columns": (
        models(200).rename({"a_pred": "p", "a_lower": "low, 5%", "y": "seen"}).drop("^b_.*$"),
        ("--model", 'A=p,"low, 5%",a_upper', "--y", "seen", "--min-band", "1.5"),
    ),
    "missing": (
        models(200).with_columns(
            a_lower=pl.when(pl.col("id") != "007").then("a_lower").otherwise(pl.lit(None))
        ),
        ("--missing", "drop", "--na", "-", "--na", "?"),
    ),
    "crossing": (
        models(200).rename({"a_lower": "a_upper", "a_upper": "a_lower"}),
        ("--sort-crossing",),
    ),
    "bands": (models(200).with_columns(b_lower="b_pred"), ("--min-band", "50%")),
}


@pytest.mark.parametrize("name", AS_READ)
def test_the_command_of_a_report_reads_the_file_as_it_was_read(
    run: Run, tmp_path: Path, name: str
) -> None:
    frame, options = AS_READ[name]
    frame.write_csv(tmp_path / "my file.csv")
    found = run(
        "assess",
        "my file.csv",
        *options,
        "--coverage",
        "80%",
        "--report",
        "o.html",
        "--json",
        "ASSESSMENT.json",
    )
    assert found.returncode == 0, found.stderr
    verdict = json.loads((tmp_path / "ASSESSMENT.json").read_text())["verdict"]
    (line,) = re.findall(
        r"<code[^>]*>(uccurve calibrate .*)</code>", (tmp_path / "o.html").read_text()
    )
    frame.write_csv(tmp_path / "new.csv")
    done = run(*shlex.split(html.unescape(line))[1:])
    assert done.returncode == 0, done.stderr
    assert re.search(
        rf"^{verdict['model']} +\d+ +× {verdict['scale']:.2f} ", done.stdout, re.MULTILINE
    )
    assert (tmp_path / "calibrated.csv").is_file()


def test_the_command_of_a_report_ships_the_verdict_also_of_weights_and_several_files(
    run: Run, tmp_path: Path
) -> None:
    models(200).drop("y").write_csv(tmp_path / "forecast.csv")
    models(200).select("id", "y").write_csv(tmp_path / "seen.csv")
    outputs = ("--report", "o.html", "--json", "ASSESSMENT.json", "--force")
    for options in (["cal.csv", "--weight", "w"], ["forecast.csv", "seen.csv", "--on", "id"]):
        asked = (*options, "--coverage", "99%")
        assert run("assess", *asked, *outputs).returncode == 0
        page = (tmp_path / "o.html").read_text()
        (line,) = re.findall(r"<code[^>]*>(uccurve calibrate .*)</code>", page)
        done = run(*shlex.split(html.unescape(line))[1:], "--force")
        assert done.returncode == 0, done.stderr
        verdict = json.loads((tmp_path / "ASSESSMENT.json").read_text())["verdict"]
        shipped = pl.read_csv(tmp_path / "calibrated.csv")
        given = pl.read_csv(tmp_path / "new.csv")
        name = verdict["model"]
        bands = [(frame[f"{name}_upper"] - frame[f"{name}_pred"]) for frame in (shipped, given)]
        assert_allclose(bands[0], bands[1] * verdict["scale"], rtol=1e-9)


def test_what_is_no_assessment_ships_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"schema": 2}')
    out = ("new.csv", "-o", "o.csv")
    sentence = "a.json must be an assessment that `uccurve assess --json` wrote: it lacks `models`"
    refused(run("calibrate", "--from", "a.json", *out), sentence)
    refused(run("calibrate", "--from", "new.csv", *out), "new.csv must be an assessment that")
    assert (
        run("assess", "cal.csv", "--coverage", "90%", "--json", "a.json", "--force").returncode == 0
    )
    models(50).select(
        "id",
        c_pred="a_pred",
        c_lower="a_lower",
        c_upper="a_upper",
        d_pred="b_pred",
        d_lower="b_lower",
        d_upper="b_upper",
    ).write_csv(tmp_path / "cd.csv")
    refused(
        run("calibrate", "--from", "a.json", "cd.csv", "-o", "o.csv"),
        r"cd.csv must have the model of the verdict, [ab]; it has c, d. Hint: --model",
    )
    assert not (tmp_path / "o.csv").exists()
    assert run("calibrate", "--from", "a.json", "cal.csv", "new.csv", "-o", "o.csv").returncode == 2


def test_the_demo_prints_its_table_and_writes_its_report(run: Run, tmp_path: Path) -> None:
    found = run("demo")
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("Ship ")
    assert [name for name in example()[0] if name not in found.stdout] == []
    assert (tmp_path / "uccurve-demo.html").stat().st_size < 6_000_000
    refused(run("demo"), "uccurve-demo.html exists already")


def test_the_page_about_the_command_line_does_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Reader(DOCS / "howto-your-files.md", tmp_path).follow()
    page = (DOCS / "howto-your-files.md").read_text(encoding="utf-8")
    for command in ("assess", "calibrate", "apply"):
        said = subprocess.run(
            [PROGRAM, command, "-h"], capture_output=True, text=True, check=True
        ).stdout
        offered = set(re.findall(r"(--[a-z-]+)", said)) - {"--help", "--out", "--no-progress"}
        assert sorted(option for option in offered if option not in page) == []


# ---- pockets


def season(seed: int) -> str:
    """Rows whose errors are large where it is cold on weekends."""
    rng = np.random.default_rng(seed)
    temp, kind = rng.uniform(-10, 30, 3000).round(1), rng.choice(["weekend", "workday"], 3000)
    spread = np.where((temp < 0) & (kind == "weekend"), 2.5, 1.0)
    y = rng.normal(size=3000) * spread
    lines = [f"{a:.4f},0,-1,1,{b},{c}" for a, b, c in zip(y, temp, kind, strict=True)]
    return "\n".join(["y,pred,lower,upper,temp,kind", *lines]) + "\n"


def test_pockets_are_calibrated_apart_kept_and_applied_by_rule(run: Run, tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text(season(0))
    (tmp_path / "later.csv").write_text(season(1))
    given = ("--coverage", "90%", "--pockets", "--features", "temp,kind")
    learnt = run("calibrate", "old.csv", "later.csv", *given, "-o", "o.csv", "--save", "cal.json")
    assert learnt.returncode == 0, learnt.stderr
    assert "old: Misses can be predicted from the features" in learnt.stderr
    assert re.search(r"old, .*temp ≤ -0\.\d.* × 4\.", learnt.stdout)
    assert run("apply", "cal.json", "later.csv", "-o", "again.csv").returncode == 0
    assert (tmp_path / "again.csv").read_text() == (tmp_path / "o.csv").read_text()
    rows = pl.read_csv(tmp_path / "o.csv")
    covered = rows["y"].is_between(rows["lower"], rows["upper"])
    cold = (rows["temp"] < 0) & (rows["kind"] == "weekend")
    for part in (cold, ~cold):
        assert abs(np.mean(covered.filter(part).to_numpy()) - 0.9) < 0.03
    lacking = rows.drop("kind")
    lacking.write_csv(tmp_path / "lacking.csv")
    refused(run("apply", "cal.json", "lacking.csv", "-o", "x.csv"), "kind")


def test_where_there_is_no_pocket_one_factor_is_learnt(run: Run, tmp_path: Path) -> None:
    rows = pl.read_csv(io.StringIO(season(2))).with_columns(
        y=pl.Series(np.random.default_rng(3).normal(size=3000))
    )
    rows.write_csv(tmp_path / "old.csv")
    learnt = run("calibrate", "old.csv", "--coverage", "90%", "--pockets", "--save", "cal.json")
    assert "Nothing in the features predicts a miss" in learnt.stderr
    saved = json.loads((tmp_path / "cal.json").read_text())
    assert saved["models"][0]["levels"][0]["pockets"] is None


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--pockets", "--by", "kind"), "give --by or --pockets, not both"),
        (("--features", "temp"), "--features is for --pockets: give both"),
    ],
)
def test_pockets_are_groups_themselves(
    run: Run, tmp_path: Path, options: tuple[str, ...], sentence: str
) -> None:
    (tmp_path / "old.csv").write_text(season(0))
    found = run("calibrate", "old.csv", "--coverage", "90%", "--save", "cal.json", *options)
    assert found.returncode == 2
    assert sentence in " ".join(found.stderr.replace("│", " ").split())
