"""One JSON Schema holds for everything that is written as JSON, from memory, from a stream and from a gate."""

import json
from dataclasses import fields
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import uccurve as ucc
from test_cli import Run, intervals, models, run
from uccurve.gate import Check, gate
from uccurve.results import AssessmentSettings, Comparison, ModelRow, Segment, Verdict

jsonschema = pytest.importorskip("jsonschema")
__all__ = ["run"]  # the fixture
SCHEMA: dict[str, Any] = json.loads(
    files("uccurve").joinpath("schema.json").read_text(encoding="utf-8")
)
BOTH = {name: intervals(models(80), name) for name in "ab"}


def valid(data: Any, kind: str) -> None:
    """Fail unless the data are of this kind by the schema, and by the schema as a whole."""
    for schema in ({**SCHEMA["$defs"][kind], "$defs": SCHEMA["$defs"]}, SCHEMA):
        errors = [
            f"{one.json_path}: {one.message:.200}"
            for one in jsonschema.Draft202012Validator(schema).iter_errors(data)
        ]
        assert errors == []


def strict(text: str) -> Any:
    return json.loads(text, parse_constant=pytest.fail)


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize(
    ("kind", "made"),
    [
        ("model", ModelRow),
        ("verdict", Verdict),
        ("segment", Segment),
        ("comparison", Comparison),
        ("settings", AssessmentSettings),
        ("check", Check),
    ],
)
def test_every_field_is_described(kind: str, made: Any) -> None:
    named = [field.name for field in fields(made)]
    if "move" in named:  # a factor or a shift, of which one is null
        named = [*named, "scale", "shift"]
        named.remove("move")
    assert set(SCHEMA["$defs"][kind]["properties"]) == {*named}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"coverage": 0.9, "by": {"site": models(80)["site"].to_list()}, "block": 5, "unit": "std"},
        {"coverage": 0.8, "partial": (0.1, 0.5), "c": 0.2, "n_resamples": 19, "unit": 2.5},
    ],
)
def test_an_assessment_fits(options: dict[str, Any]) -> None:
    valid(strict(ucc.assess(BOTH, **options).to_json()), "assessment")


def test_assessments_of_every_path_and_of_what_cannot_be_answered_fit() -> None:
    one = BOTH["a"]
    kinds = {
        "shift": ucc.UCC(one, vary="shift"),
        "levels": {0.5: one.calibrated(scale=0.5), 0.9: one},
        "scale": one,
    }
    valid(strict(ucc.assess(kinds, coverage=0.9).to_json()), "assessment")
    few = ucc.Intervals.from_bands(
        [1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]
    )
    valid(strict(ucc.assess(few, coverage=0.99).to_json()), "assessment")
    single = ucc.Intervals.from_bands([1.0], [0.0], [1.0])
    valid(strict(ucc.assess({"a": single, "b": single}, coverage=0.5).to_json()), "assessment")


def test_what_was_streamed_fits(run: Run, tmp_path: Path) -> None:
    models(80).write_parquet(tmp_path / "m.parquet")
    uncoverable = models(80).with_columns(
        a_lower="a_pred", a_upper="a_pred", b_lower=pl.col("b_pred")
    )
    uncoverable.write_parquet(tmp_path / "zero.parquet")
    asked = ("--by", "site", "--cost", "0.2", "--partial", "0:0.5", "--json", "-")
    for name in ("m.parquet", "zero.parquet"):
        for options in ((), ("--coverage", "90%"), ("--weight", "w")):
            for engine in ("polars", "memory"):
                found = run("assess", name, *asked, *options, "--engine", engine)
                assert found.returncode == 0, found.stderr
                valid(strict(found.stdout), "assessment")


def test_every_engine_s_name_fits() -> None:
    columns = {name: (f"{name}_pred", f"{name}_lower", f"{name}_upper") for name in "ab"}
    for frame in (models(80).to_pandas(), models(80).to_arrow()):
        valid(strict(ucc.assess_frame(frame, columns, y_true="y").to_json()), "assessment")
    days = {
        name: [ucc.UCCSketch().update(iv[:40]), ucc.UCCSketch().update(iv[40:])]
        for name, iv in BOTH.items()
    }
    valid(strict(ucc.assess_sketches(days).to_json()), "assessment")


def test_a_gate_fits() -> None:
    for by in (None, {"site": models(80)["site"].to_list()}):
        for margin in (0.0, "5%"):
            found = gate(BOTH["a"], BOTH["b"], coverage=0.9, by=by, margin=margin)
            valid(strict(json.dumps(found.to_dict())), "gate")
    one = BOTH["a"]
    gone = np.where(np.arange(len(one)) < 3, np.nan, one.lower)
    with pytest.warns(ucc.DroppedRowsWarning):
        fewer = ucc.Intervals.from_bounds(one.y_true, one.y_pred, gone, one.upper, missing="drop")
    found = gate(BOTH["a"], fewer, coverage=0.9, missing="drop")
    assert found.missing is not None
    valid(strict(json.dumps(found.to_dict())), "gate")


def test_something_else_does_not_fit() -> None:
    good = strict(ucc.assess(BOTH).to_json())
    for bad in (
        good | {"extra": 1},
        {name: part for name, part in good.items() if name != "verdict"},
        good | {"models": {"a": {**good["models"]["a"], "coverage": 0.5}}},
        good | {"schema": 1},
    ):
        assert list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(bad))
