"""What other projects plug in: the GitHub Action, the pre-commit hook, metrics for evaluate(), experiment trackers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import uccurve as ucc
from pages import DOCS, ROOT, Reader, environment
from uccurve import adapters

yaml = pytest.importorskip("yaml")


def intervals(factor: float, seed: int = 0) -> ucc.Intervals:
    """Normal errors with 90% intervals, multiplied by a factor."""
    rng = np.random.default_rng(seed)
    y_pred = rng.uniform(1, 5, 600)
    y_true = y_pred + rng.normal(size=600)
    return ucc.Intervals.from_bands(y_true, y_pred, np.full(600, 1.645 * factor))


def written(folder: Path, **models: ucc.Intervals) -> None:
    """Write a file per model, with the columns that the command line recognises."""
    for name, iv in models.items():
        rows = np.column_stack([iv.y_true, iv.y_pred, iv.lower, iv.upper])
        np.savetxt(
            folder / f"{name}.csv", rows, delimiter=",", header="y,pred,lower,upper", comments=""
        )


# ---- the GitHub Action

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def act(folder: Path, **inputs: str) -> tuple[int, str, str]:
    """Run the action's gate as a runner would: exit code, job summary and outputs."""
    (step,) = [step for step in ACTION["runs"]["steps"] if step.get("id") == "gate"]
    given = {name: about.get("default", "") for name, about in ACTION["inputs"].items()} | inputs
    values = {
        name: given[source.removeprefix("${{ inputs.").removesuffix(" }}")]
        for name, source in step["env"].items()
    }
    files = {"GITHUB_STEP_SUMMARY": folder / "summary.md", "GITHUB_OUTPUT": folder / "output"}
    for path in files.values():
        path.touch()
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        cwd=folder,
        env={**environment(), **values, **{name: str(path) for name, path in files.items()}},
        capture_output=True,
        text=True,
        check=False,
    )
    summary, output = (path.read_text(encoding="utf-8") for path in files.values())
    return done.returncode, summary, output


@pytest.mark.slow
def test_the_action_fails_with_the_reason_in_the_job_summary(tmp_path: Path) -> None:
    pytest.importorskip("typer")
    written(tmp_path, old=intervals(1.0), new=intervals(0.7), same=intervals(0.99))
    options = {"baseline": "old.csv", "coverage": "90%", "arguments": "--level=1%"}
    code, summary, output = act(tmp_path, proposed="new.csv", **options)
    assert (code, output) == (3, "passed=false\n")
    assert "Gate failed" in summary
    assert "| coverage |" in summary
    code, summary, output = act(tmp_path, proposed="same.csv", **options)
    assert (code, output.splitlines()[-1]) == (0, "passed=true")
    assert "Gate passed" in summary


@pytest.mark.slow
def test_the_action_runs_nothing_that_an_input_holds(tmp_path: Path) -> None:
    pytest.importorskip("typer")
    code, _, output = act(tmp_path, baseline="$(touch owned).csv; touch owned", coverage="90%")
    assert code == 1
    assert output == ""
    assert not (tmp_path / "owned").exists()
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]


def test_the_action_installs_the_version_it_was_asked_for() -> None:
    install = ACTION["runs"]["steps"][0]
    assert install["env"] == {"SOURCE": "${{ github.action_path }}"}
    assert '"$SOURCE[cli]"' in install["run"]


# ---- pre-commit


def test_the_hook_runs_a_command_that_exists() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert hook["entry"] == "uccurve gate"
    assert hook["additional_dependencies"] == [".[cli]"]
    assert {"id", "name", "language"} <= set(hook)


# ---- utilsforecast


def panel(kind: str) -> Any:
    """Two models of three series in Nixtla's layout, series out of order."""
    rng = np.random.default_rng(1)
    columns: dict[str, Any] = {
        "unique_id": np.repeat(["b", "a", "c"], 40),
        "ds": np.tile(np.arange(40), 3),
        "y": rng.normal(size=120),
    }
    for model, width in (("net", 1.2), ("flat", 1.6)):
        columns[model] = np.zeros(120)
        columns[f"{model}-lo-90"] = -width - rng.uniform(size=120)
        columns[f"{model}-hi-90"] = np.full(120, width)
    return pytest.importorskip(kind).DataFrame(columns)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_evaluate_takes_our_metrics_and_agrees_with_its_own_winkler_score(kind: str) -> None:
    evaluation = pytest.importorskip("utilsforecast.evaluation")
    losses = pytest.importorskip("utilsforecast.losses")
    metrics = [losses.winkler_score, adapters.interval_score, adapters.half_width, adapters.factor]
    found = evaluation.evaluate(panel(kind), metrics=metrics, level=[90])
    by_metric = {
        name: found[found["metric"] == name] if kind == "pandas" else found.filter(metric=name)
        for name in dict.fromkeys(found["metric"])
    }
    assert list(by_metric) == [f"{metric.__name__}_level90" for metric in metrics]
    for model in ("net", "flat"):
        theirs, ours = (
            by_metric[f"{name}_level90"] for name in ("winkler_score", "interval_score")
        )
        assert list(theirs["unique_id"]) == list(ours["unique_id"])
        np.testing.assert_allclose(list(ours[model]), list(theirs[model]), rtol=1e-12)


def test_a_factor_per_series_and_origin_is_nan_where_nothing_can_be_promised() -> None:
    frame = panel("pandas")
    frame["cutoff"] = np.where(frame["ds"] < 35, 0, 1)  # five rows are too few for 90%
    found = adapters.factor(frame, ["net"], level=90)
    assert list(found.columns) == ["cutoff", "unique_id", "net"]
    assert found["net"].isna().tolist() == [False] * 3 + [True] * 3
    rows = frame[(frame["cutoff"] == 0) & (frame["unique_id"] == "a")]
    iv = ucc.Intervals.from_bounds(rows["y"], rows["net"], rows["net-lo-90"], rows["net-hi-90"])
    assert found["net"][0] == ucc.UCC(iv).find(coverage=0.9, conformal=True).scale


# ---- experiment trackers: the group `trackers` (make trackers); nothing else needs them


def needs(library: str) -> pytest.MarkDecorator:
    """Skip without a library that is not among those of the tests."""
    reason = f"{library} is in the group trackers: make trackers"
    return pytest.mark.skipif(find_spec(library) is None, reason=reason)


@pytest.fixture
def assessment() -> ucc.Assessment:
    return ucc.assess({"net": intervals(0.8), "flat": intervals(1.1)}, coverage=0.9)


def recipe(name: str) -> str:
    """The block of the page that uses a library."""
    page = (DOCS / "howto-track.md").read_text(encoding="utf-8")
    (block,) = [part for part in page.split("```python\n") if part.startswith(f"import {name}\n")]
    return block.partition("```")[0]


@needs("mlflow")
def test_the_recipe_for_mlflow_logs_what_metrics_returns(
    assessment: ucc.Assessment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow")

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(tmp_path.as_uri())
    names: dict[str, Any] = {"a": assessment}
    exec(recipe("mlflow"), names)  # noqa: S102  the page's own code
    (run,) = mlflow.search_runs(output_format="list")
    assert run.data.metrics == pytest.approx(assessment.metrics())
    assert run.data.tags["verdict"] == assessment.verdict.headline


@needs("wandb")
def test_the_recipe_for_wandb_logs_what_metrics_returns(
    assessment: ucc.Assessment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = pytest.importorskip("wandb")

    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    leave = wandb.Run.__exit__
    logged: dict[str, Any] = {}

    def noting(run: Any, *error: Any) -> Any:
        logged.update(dict(run.summary))  # which a finished run no longer tells
        return leave(run, *error)

    monkeypatch.setattr(wandb.Run, "__exit__", noting)
    exec(recipe("wandb"), {"a": assessment})  # noqa: S102  the page's own code
    assert assessment.metrics().items() <= logged.items()
    assert logged["verdict"] == assessment.verdict.headline


@needs("dvc")
def test_dvc_shows_what_changed_between_two_commits(
    assessment: ucc.Assessment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"a": assessment}
    exec(recipe("json"), names)  # noqa: S102  the page's own code
    first = json.loads(Path("metrics.json").read_text(encoding="utf-8"))
    assert first == assessment.metrics()
    Path("dvc.yaml").write_text("metrics:\n  - metrics.json\n", encoding="utf-8")
    quiet = {**os.environ, "DVC_NO_ANALYTICS": "1"}

    def run(*command: str) -> str:
        done = subprocess.run(command, env=quiet, check=True, capture_output=True, text=True)
        return done.stdout

    dvc = str(Path(sys.executable).with_name("dvc"))
    run("git", "init", "--quiet")
    run(dvc, "init", "--quiet")
    run("git", "add", "--all")
    author = ("-c", "user.name=tests", "-c", "user.email=tests@localhost")
    run("git", *author, "commit", "--quiet", "--message", "first")
    names["a"] = ucc.assess({"net": intervals(0.8, seed=1)}, coverage=0.9)
    exec(recipe("json"), names)  # noqa: S102  the page's own code
    changed = json.loads(run(dvc, "metrics", "diff", "--json"))["metrics.json"]
    assert changed["net/score"]["old"] == first["net/score"]
    assert changed["net/score"]["new"] == names["a"].metrics()["net/score"]


def test_the_page_of_recipes_has_one_for_each_tracker(tmp_path: Path) -> None:
    for name in ("mlflow", "wandb", "json"):
        assert recipe(name)
    Reader(DOCS / "howto-track.md", tmp_path, whole=False).follow()
