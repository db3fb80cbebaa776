"""The notebooks: stored without outputs, listed where people look, and executed from top to bottom."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pages import DOCS, ROOT

FOLDER = ROOT / "notebooks"
NAMES = ("introduction", "synthetic", "gap", "bnn", "housing", "wine", "traffic")
NEED_DATA = ("housing", "wine", "traffic")


def cells(path: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return found


def test_every_notebook_is_known() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(NAMES)
    index, site = (DOCS / "notebooks" / "index.md").read_text(), (ROOT / "mkdocs.yml").read_text()
    for name in NAMES:
        assert f"({name}.md)" in index
        assert f"notebooks/{name}.md" in site


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_stored_without_outputs(name: str) -> None:
    code = [cell for cell in cells(FOLDER / f"{name}.ipynb") if cell["cell_type"] == "code"]
    assert code
    for cell in code:
        assert cell["outputs"] == []
        assert cell["execution_count"] is None


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_from_top_to_bottom(
    name: str, parts: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    for library in ("nbclient", "ipykernel", "sklearn", "matplotlib", "jax", "numpyro"):
        pytest.importorskip(library)
    environment = {**os.environ, "UCCURVE_CACHE": str(parts)}
    if name in NEED_DATA:
        environment["UCCURVE_DATA"] = str(request.getfixturevalue("shared_data"))
    done = subprocess.run(
        [sys.executable, str(FOLDER / "execute.py"), name, "--quick", "--out", str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "skipped" not in done.stdout, done.stdout
    made = cells(tmp_path / f"{name}.ipynb")
    assert any("image/png" in str(cell.get("outputs")) for cell in made)
    assert all(cell["execution_count"] for cell in made if cell["cell_type"] == "code")


@pytest.mark.slow
def test_a_notebook_without_its_data_is_skipped_with_a_message(tmp_path: Path) -> None:
    for library in ("nbclient", "ipykernel", "sklearn", "matplotlib"):
        pytest.importorskip(library)
    nowhere = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")  # no network
    folders = {"UCCURVE_CACHE": str(tmp_path / "cache"), "UCCURVE_DATA": str(tmp_path)}
    done = subprocess.run(
        [
            sys.executable,
            str(FOLDER / "execute.py"),
            "housing",
            "--quick",
            "--out",
            str(tmp_path / "out"),
        ],
        env={**os.environ, **nowhere, **folders},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith(
        "housing: skipped, its data set is missing: boston_house_prices.csv"
    )
    assert "UCCURVE_DATA" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert not (tmp_path / "out" / "housing.ipynb").exists()
