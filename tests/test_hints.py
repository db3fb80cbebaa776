"""Every hint works: what an error tells to do is done, word by word, and the error is gone."""

import re
import shlex
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import uccurve as ucc
from test_cli import Run, models, run
from uccurve.adapters import models_from_frame

__all__ = ["run"]  # the fixture
OPTION = re.compile(r"(--[a-z][a-z-]*)((?: (?:'[^']*'|[^\s'();:]+))?)")
PLACEHOLDER = re.compile(r"[A-Z]{3,}.*")
WORDS = (
    "compares",
    "matches",
    "makes",
    "names",
    "is",
    "where",
    "to",
    "to.",
    "or",
    "chooses",
    "streams",
    "uses",
)


@dataclass(frozen=True)
class Case:
    """A command that is refused, how to read its hint, and what a person fills in where the hint says NAME or FILE."""

    command: str
    sentence: str
    fill: Mapping[str, str] = field(default_factory=dict)


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    frame = models(200)
    one = frame.select("id", "y", pred="a_pred", lower="a_lower", upper="a_upper")
    write: dict[str, pl.DataFrame] = {
        "ok": frame,
        "one": one,
        "shuffled": one.sample(fraction=1, shuffle=True, seed=1),
        "longer": pl.concat(
            [one, one.tail(5).with_columns(id=pl.lit("x") + pl.col("id").cast(pl.String))]
        ),
        "gap": one.with_columns(upper=pl.when(pl.col("id") == "007").then(None).otherwise("upper")),
        "flat": one.with_columns(
            lower=pl.when(pl.col("id") < "010").then("pred").otherwise("lower")
        ),
        "outside": one.with_columns(
            pred=pl.when(pl.col("id") == "007").then(pl.col("upper") + 1).otherwise("pred")
        ),
        "swapped": one.with_columns(
            lower=pl.when(pl.col("id") == "007").then("upper").otherwise("lower"),
            upper=pl.when(pl.col("id") == "007").then("lower").otherwise("upper"),
        ),
        "endless": one.with_columns(
            upper=pl.when(pl.col("id") == "007").then(np.inf).otherwise("upper")
        ),
        "dash": one.with_columns(
            y=pl.when(pl.col("id") == "007")
            .then(pl.lit("-"))
            .otherwise(pl.col("y").cast(pl.String))
        ),
        "two_y": one.with_columns(target="y"),
        "few": one.head(12),
        "shop": one.with_columns(
            shop=pl.int_range(pl.len()) % 4,
            y=pl.when(pl.int_range(pl.len()) % 4 == 1).then(1.0).otherwise("y"),
        ),
        "site_ab": one.with_columns(site=pl.Series(["a", "b"] * 100)),
        "site_c": one.head(3).with_columns(site=pl.lit("c")),
        "unnamed": one.rename({"y": "seen", "pred": "c1", "lower": "c2", "upper": "c3"}),
    }
    for name, table in write.items():
        table.write_csv(tmp_path / f"{name}.csv")
    comma = one.with_columns(pl.col("y", "pred", "lower", "upper").round(4)).write_csv(
        separator=";"
    )
    (tmp_path / "comma.csv").write_text(comma.replace(".", ","))
    levels = one.select("id", "y", "pred", lower_80="lower", upper_80="upper")
    levels = levels.with_columns(lower_95=pl.col("lower_80") - 1, upper_95=pl.col("upper_80") + 1)
    levels.write_csv(tmp_path / "levels.csv")
    quantiles = {"0.05": -1.6, "0.5": 0.0, "0.95": 1.6}
    hub = [
        one.select("id", target=pl.lit(target), quantile=pl.lit(q), value=pl.col("pred") + z)
        for q, z in quantiles.items()
        for target in ("cases", "deaths")
    ]
    pl.concat(hub).write_csv(tmp_path / "hub.csv")
    one.select("id", "y").write_csv(tmp_path / "truth.csv")


CASES = {
    "a decimal comma": Case("assess comma.csv", "must hold numbers"),
    "a marker of missing values": Case("assess dash.csv --missing drop", "must hold numbers"),
    "a missing number": Case("assess gap.csv", "must be finite"),
    "a prediction outside": Case("assess outside.csv", "must lie between"),
    "bounds that cross": Case(
        "assess levels.csv --model a=pred,lower_95,lower_80", "must lie between|cross"
    ),
    "an infinite bound": Case("assess endless.csv", "must be finite"),
    "two observations": Case("assess two_y.csv", "could all be the observation", {"--y": "y"}),
    "no observation": Case(
        "assess unnamed.csv --model a=c1,c2,c3", "no column for the observation", {"COLUMN": "seen"}
    ),
    "no model": Case(
        "assess unnamed.csv --y seen", "no prediction", {"NAME=PRED,LOWER,UPPER": "a=c1,c2,c3"}
    ),
    "another order": Case("assess one.csv shuffled.csv", "in the order of"),
    "other rows": Case("assess one.csv longer.csv", "must have the same rows: "),
    "rows without a match": Case("gate one.csv longer.csv --on id --coverage 80%", "no match"),
    "a gate without a promise": Case("gate one.csv one.csv", "what is promised"),
    "a check without a promise": Case("assess one.csv --fail-on promise", "what is promised"),
    "bins while streaming": Case(
        "assess ok.csv --engine polars --bins 3 --by w", "needs the rows in memory"
    ),
    "samples of a few": Case("assess ok.csv --engine duckdb --where id>100", "reads plain files"),
    "still series": Case("assess shop.csv --unit-by shop", "needs a spread"),
    "several targets": Case("assess hub.csv --truth truth.csv", "2 targets"),
    "no truth": Case(
        "assess hub.csv --where target=cases",
        "no column for the observation",
        {"FILE": "truth.csv"},
    ),
    "no horizon": Case("assess one.csv --by horizon", "no column horizon", {"COLUMN": "id"}),
    "an untold coverage": Case("calibrate one.csv --save c.json", "do not state a coverage"),
    "one promise for several levels": Case(
        "calibrate levels.csv --coverage 90% --save c.json",
        "is one promise",
        {"--model": "a=pred,lower_80,upper_80"},
    ),
    "zero bands": Case(
        "calibrate flat.csv --coverage 99% --save c.json",
        "no scale reaches|conformal",
        {"--min-band": "0.5"},
    ),
    "groups never seen": Case(
        "calibrate site_ab.csv site_c.csv --by site --coverage 80% -o o.csv", "must have been seen"
    ),
    "which model is new": Case(
        "gate ok.csv one.csv --coverage 80%", "which model is meant", {"NAME": "a"}
    ),
    "too few rows": Case(
        "calibrate few.csv --coverage 99% --save c.json",
        "needs at least 99 rows",
        {"--miss-rate": "20%"},
    ),
}
# What the hint replaces in the command, where it does not add to it.
INSTEAD = {
    "one promise for several levels": "--coverage 90%",
    "bins while streaming": "--engine polars",
    "samples of a few": "--engine duckdb",
    "no horizon": "--by horizon",
    "too few rows": "--coverage 99%",
}


def told(stderr: str, fill: Mapping[str, str]) -> list[str]:
    """Return the first option of a hint that says what to write, or where a person knows what to fill in."""
    hint = stderr.rpartition("Hint: ")[2].strip()
    for name, rest in OPTION.findall(hint):
        value = rest.strip()
        value = value.rstrip(".,") or value
        value = fill.get(name, fill.get(value, value))
        if PLACEHOLDER.fullmatch(value):
            continue
        return [name] if not value or value in WORDS else [name, *shlex.split(value)]
    raise AssertionError(hint)


@pytest.mark.parametrize("name", CASES)
def test_a_hint_of_the_command_line_removes_the_error(run: Run, name: str) -> None:
    case = CASES[name]
    command = shlex.split(case.command)
    found = run(*command)
    assert found.returncode == 1, found.stdout
    assert re.search(case.sentence, found.stderr), found.stderr
    assert "Hint: " in found.stderr
    mended = shlex.split(case.command.replace(INSTEAD.get(name, "\0"), ""))
    done = run(*mended, *told(found.stderr.splitlines()[-1], case.fill))
    assert not re.search(case.sentence, done.stderr), done.stderr
    if done.returncode == 1 and "Hint: " in done.stderr:  # one thing after the other
        more = told(done.stderr.splitlines()[-1], case.fill)
        done = run(*mended, *told(found.stderr.splitlines()[-1], case.fill), *more)
    assert done.returncode in (0, 3), done.stderr  # a gate or a check may say no


def test_the_hint_at_other_columns_is_a_way_that_works(run: Run) -> None:
    found = run("calibrate", "one.csv", "ok.csv", "--coverage", "80%", "-o", "o.csv")
    assert "ok.csv must have whole models that were calibrated" in found.stderr
    hint = "Hint: --save CAL.json keeps what is learnt, and uccurve apply CAL.json NEW --model NAME"
    assert hint in found.stderr
    assert run("calibrate", "one.csv", "--coverage", "80%", "--save", "CAL.json").returncode == 0
    named = ("--model", "one=a_pred,a_lower,a_upper")
    assert run("apply", "CAL.json", "ok.csv", *named, "-o", "o.csv").returncode == 0


def test_the_hint_at_a_database_names_what_can_be_read(run: Run, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    frame = models(60)
    with duckdb.connect(str(tmp_path / "dw.duckdb")) as connection:
        connection.execute("CREATE TABLE scored AS SELECT * FROM frame")
    found = run("assess", "dw.duckdb")
    hint = found.stderr.rpartition("Hint: ")[2].strip().rstrip(".")
    assert run("assess", hint).returncode == 0
    assert frame.height == 60


def test_the_hint_at_blocks_is_an_option_that_works(run: Run, tmp_path: Path) -> None:
    models(200).with_columns(ds=pl.int_range(pl.len())).write_csv(tmp_path / "series.csv")
    found = run("assess", "series.csv")
    assert found.returncode == 0
    again = run("assess", "series.csv", *told(found.stderr, {}))
    assert again.returncode == 0, again.stderr
    assert "Dependent rows: blocks of 20 rows." in again.stdout


# Python: the hints of main functions name arguments and their values.

NAN = [1.0, np.nan, 2.0, 0.5]
Y = [1.0, 2.0, 0.5, 3.0]
P = [1.2, 1.5, 0.5, 2.0]
LOWER, UPPER = [0.7, 1.1, 0.2, 1.2], [1.5, 2.1, 0.7, 2.5]
LEVELS = {"y": Y, "p": P, "a": LOWER, "b": UPPER, "c": [-9.0] * 4, "d": [9.0] * 4}


def hub_frame(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"y": Y, "pred": P, "lower": LOWER, "upper": UPPER} | columns)


IN_PYTHON: dict[str, tuple[Callable[..., Any], str]] = {
    "a missing value": (
        lambda **fix: ucc.Intervals.from_bounds(NAN, P, LOWER, UPPER, **fix),
        "must be finite",
    ),
    "a prediction outside": (
        lambda **fix: ucc.Intervals.from_bounds(Y, [9.0, 1.5, 0.5, 2.0], LOWER, UPPER, **fix),
        "must lie between",
    ),
    "one infinite bound": (
        lambda **fix: ucc.Intervals.from_bounds(Y, P, LOWER, [np.inf, 2.1, 0.7, 2.5], **fix),
        "must be finite",
    ),
    "a frame with a gap": (
        lambda **fix: models_from_frame(hub_frame(y=NAN), **fix),
        "must be finite",
    ),
    "quantiles that cross": (
        lambda **fix: models_from_frame(
            pl.DataFrame({"y": Y, "q05": UPPER, "q50": P, "q95": LOWER}), **fix
        ),
        "cross|exceed",
    ),
    "levels in a stream": (
        lambda **fix: ucc.assess_frame(
            pl.LazyFrame(LEVELS),
            {"m": ("p", {0.5: ("a", "b"), 0.9: ("c", "d")}), "n": ("p", "a", "b")},
            y_true="y",
            **fix,
        ),
        "need",
    ),
    "models without a common row": (
        lambda **fix: ucc.assess(
            {
                "a": ucc.Intervals.from_bounds(
                    [np.nan, *Y[1:]] * 9, P * 9, LOWER * 9, UPPER * 9, missing="drop"
                ),
                "b": ucc.Intervals.from_bounds(
                    [*Y[:3], np.nan] * 9, P * 9, LOWER * 9, UPPER * 9, missing="drop"
                ),
            },
            **fix,
        ),
        "same|rows",
    ),
}


@pytest.mark.parametrize("name", IN_PYTHON)
def test_a_hint_in_python_removes_the_error(name: str) -> None:
    call, sentence = IN_PYTHON[name]
    with pytest.raises((TypeError, ValueError), match=sentence) as caught:
        call()
    hint = str(caught.value).rpartition("Hint: ")[2]
    named = re.search(r'(\w+)=("[^"]*"|[\d.]+)', hint)
    assert named, hint
    value: Any = named[2].strip('"') if named[2].startswith('"') else float(named[2].rstrip("."))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        call(**{named[1]: value})
