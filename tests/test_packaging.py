"""What a user installs: one version, typed, documented, and nothing that belongs to its makers."""

import inspect
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import requires
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import uccurve

ROOT = Path(__file__).resolve().parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the wheel and the sdist as they would be published."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    """The wheel as it would be published."""
    (built,) = dist.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def shipped(wheel: Path) -> set[str]:
    """The names of the files in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_version_is_the_same_everywhere(wheel: Path) -> None:
    assert uccurve.__version__ == PROJECT["version"]
    assert f"\nversion: {uccurve.__version__}\n" in (ROOT / "CITATION.cff").read_text(
        encoding="utf-8"
    )
    assert f"## [{uccurve.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert wheel.name == f"uccurve-{uccurve.__version__}-py3-none-any.whl"


def test_the_core_installs_with_numpy_and_narwhals_alone() -> None:
    needed = [line for line in requires("uccurve") or [] if "extra ==" not in line]
    assert sorted(line.partition(">=")[0] for line in needed) == ["narwhals", "numpy"]


@pytest.mark.parametrize("extra", ["all", "cli", "dask", "plot", "spark"])
def test_the_design_s_extras_exist(extra: str) -> None:
    assert PROJECT["optional-dependencies"][extra]


def test_the_wheel_holds_every_module_and_its_types(shipped: set[str]) -> None:
    source = ROOT / "src"
    modules = {path.relative_to(source).as_posix() for path in source.rglob("*.py")}
    assert "uccurve/__init__.py" in modules
    assert modules | {"uccurve/py.typed"} <= shipped


def test_the_wheel_holds_nothing_else(shipped: set[str]) -> None:
    tops = {name.partition("/")[0] for name in shipped}
    assert tops == {"uccurve", f"uccurve-{uccurve.__version__}.dist-info"}
    assert not [name for name in shipped if Path(name).name.startswith(("test_", "conftest"))]


def test_the_wheel_and_the_extras_hold_nothing_of_the_paper(shipped: set[str]) -> None:
    assert not [
        name for name in shipped if "experiment" in name or "study" in name or "paper" in name
    ]
    asked = " ".join(chain.from_iterable(PROJECT["optional-dependencies"].values()))
    assert not [
        name
        for name in ("crepes", "jax", "mapie", "numpyro", "optax", "statsmodels")
        if name in asked
    ]


def test_the_wheel_carries_the_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"uccurve-{uccurve.__version__}.dist-info/licenses/LICENSE").decode()
    assert text == (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_the_registry_would_take_the_wheel_and_the_sdist(dist: Path) -> None:
    files = [str(path) for path in dist.iterdir()]
    assert len(files) == 2
    done = _run(sys.executable, "-m", "twine", "check", "--strict", *files)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_sdist_can_be_tested_and_holds_no_data(dist: Path) -> None:
    (built,) = dist.glob("*.tar.gz")
    with tarfile.open(built) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tested = {
        "conftest.py",
        "paper/paper.toml",
        "paper/tests/test_study.py",
        "src/uccurve/py.typed",
    }
    assert tested | {"Makefile", "constraints.txt", "pyproject.toml"} <= names
    assert not [name for name in names if name.endswith((".csv", ".gz", ".parquet", ".data"))]


@pytest.mark.ci
@pytest.mark.slow
def test_the_wheel_answers_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    python = str(tmp_path / "bin" / "python")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path)], check=True)
    done = _run(python, "-m", "pip", "install", str(wheel))
    if (
        "Failed to establish a new connection" in done.stderr
        or "NameResolutionError" in done.stderr
    ):
        pytest.skip("no package registry can be reached")
    assert done.returncode == 0, done.stderr
    code = (
        "import uccurve; iv = uccurve.Intervals.from_std([1.0, 2, 4, 0, 3, 9], mean=[0.0] * 6, std=[1, 2, 3, 1, 2, 5]);"
        "print(uccurve.assess(iv, coverage=0.5).verdict.text)"
    )
    done = _run(python, "-c", code, cwd=tmp_path)
    assert done.stdout.startswith("Ship model with bands × "), done.stderr


def test_the_constraints_pin_every_direct_dependency_and_hold_no_address() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines)
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "dependency-groups"
    ]
    del groups["trackers"]  # newest releases, in an environment of their own
    asked = chain(
        PROJECT["dependencies"], *PROJECT["optional-dependencies"].values(), *groups.values()
    )
    names = {
        re.split(r"[\[><=;]", one)[0]
        for one in asked
        if isinstance(one, str) and "!= 'linux'" not in one
    }
    assert {_normal(name) for name in names} - {_normal(name) for name in pins} == {"uccurve"}


def _run(*command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_each_public_name_is_said_once() -> None:
    assert len(set(uccurve.__all__)) == len(uccurve.__all__) > 0


@pytest.mark.parametrize("name", [name for name in uccurve.__all__ if not name.startswith("__")])
def test_a_public_name_exists_and_is_documented(name: str) -> None:
    public = getattr(uccurve, name)
    assert inspect.getdoc(public)
    if inspect.isclass(public):
        bare = [
            key
            for key, value in vars(public).items()
            if _is_public_call(key, value) and not inspect.getdoc(value)
        ]
        assert bare == []


def _is_public_call(name: str, value: object) -> bool:
    if name.startswith("_"):
        return False
    return inspect.isfunction(value) or isinstance(value, property | classmethod | staticmethod)
