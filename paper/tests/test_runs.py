"""Every experiment end to end in its quick form, and the cheap ones again against the committed results."""

import html
import json
import math
from pathlib import Path
from typing import Any

import pytest
from numpy.testing import assert_allclose

pytest.importorskip("jax")
pytest.importorskip("numpyro")
pytest.importorskip("optax")
pytest.importorskip("sklearn")
pytest.importorskip("polars")
pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

from paper import NAMES, load, run
from paper.experiment import FIRST
from paper.results import as_text

pytestmark = pytest.mark.slow

COMMITTED = Path(__file__).resolve().parents[2] / "docs" / "paper"
CHEAP = ("synthetic", "housing", "gap")
ROBUST = {
    "concepts": ("Both have a gain of 0", "The curves of A and B cross"),
    "synthetic": (
        "GBR ranks best, then the constant band, the weak GBR and the random bands (BM area)",
        "Eps-Perfect is the best achievable curve (ED area)",
    ),
    "gap": ("The GP's gain is positive", "At a miss rate of 5% the GP beats its constant band"),
    "bnn": ("In the gap the curves of HMC and of its constant band cross",),
    "housing": (
        "Constant, Meta, GBR, GBR-Weak is the order of the BM areas",
        "GBR-Weak has the largest ED area",
    ),
    "wine": ("GBR falls behind the constant band on BM (area)",),
    "traffic": ("DOMS loses against its constant band",),
}
"""Claims that hold even with the small data and models of a quick run."""


@pytest.fixture(scope="module")
def quick(
    shared_data: Path, parts: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], Path]:
    """All experiments in their quick form, computed afresh."""
    folder = tmp_path_factory.mktemp("quick")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UCCURVE_DATA", str(shared_data))
        patch.setenv("UCCURVE_CACHE", str(parts))
        return run(["all"], quick=True, out=folder / "paper"), folder / "paper"


@pytest.mark.parametrize("name", NAMES)
def test_a_quick_run_writes_every_table_claim_and_figure(
    name: str, quick: tuple[dict[str, Any], Path]
) -> None:
    results, folder = quick
    found = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    assert found == results[name]
    assert found["quick"] is True
    assert found["seeds"] == list(load(name).seeds(quick=True))
    for row in found["rows"]:
        mean = row["ours"]["mean"]
        assert mean is not None, row
        assert math.isfinite(mean), row
    for figure in found["figures"]:
        assert (folder / f"{figure['name']}.svg").read_bytes().startswith(b"<?xml")
    assert found["title"] in html.unescape((folder / "index.html").read_text(encoding="utf-8"))
    assert found["title"] in as_text(found)


@pytest.mark.parametrize("name", NAMES)
def test_a_quick_run_has_a_cell_for_every_value_of_the_paper(
    name: str, quick: tuple[dict[str, Any], Path]
) -> None:
    rows = quick[0][name]["rows"]
    ours = {(row["table"], row["model"], row["measure"]) for row in rows}
    assert set(load(name).paper) <= ours
    assert {row["reading"] for row in rows} == set(load(name).readings)


@pytest.mark.parametrize("name", NAMES)
def test_the_robust_claims_hold_in_a_quick_run(
    name: str, quick: tuple[dict[str, Any], Path]
) -> None:
    first = [claim for claim in quick[0][name]["claims"] if claim["reading"] == FIRST]
    held = {claim["text"]: claim["holds"] == claim["seeds"] for claim in first}
    assert held
    for text in ROBUST[name]:
        assert held[text], text


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_results_are_those_of_the_full_run(name: str) -> None:
    found = json.loads((COMMITTED / f"{name}.json").read_text(encoding="utf-8"))
    experiment = load(name)
    assert found["quick"] is False
    assert found["seeds"] == list(experiment.seeds())
    assert found["settings"] == json.loads(json.dumps(dict(experiment.settings())))
    assert {(r["table"], r["model"], r["measure"]) for r in found["rows"]} >= set(experiment.paper)


@pytest.mark.parametrize(
    "name", [name if name == "gap" else pytest.param(name, marks=pytest.mark.ci) for name in CHEAP]
)
def test_recomputing_one_seed_gives_the_committed_values(
    name: str, shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within 0.1% or 1e-4 for the same scikit-learn; another release grows other trees, so is not compared."""
    monkeypatch.setenv("UCCURVE_DATA", str(shared_data))
    monkeypatch.setenv("UCCURVE_CACHE", str(tmp_path / "cache"))
    committed = json.loads((COMMITTED / f"{name}.json").read_text(encoding="utf-8"))
    fresh = run([name], seeds=1, out=tmp_path)[name]
    if fresh["versions"]["scikit-learn"] != committed["versions"]["scikit-learn"]:
        pytest.skip(f"committed with scikit-learn {committed['versions']['scikit-learn']}")
    assert len(fresh["rows"]) == len(committed["rows"])
    for new, old in zip(fresh["rows"], committed["rows"], strict=True):
        label, expected = (
            " ".join(row[key] for key in ("reading", "table", "model", "measure"))
            for row in (new, old)
        )
        assert label == expected
        assert_allclose(
            new["ours"]["values"][0], old["ours"]["values"][0], rtol=1e-3, atol=1e-4, err_msg=label
        )
