"""What a user installs: one version, typed, documented, and nothing that belongs to its makers."""

import inspect
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest

import uccurve

ROOT = Path(__file__).resolve().parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as it would be published."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def shipped(wheel: Path) -> set[str]:
    """The names of the files in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_version_is_the_same_everywhere(wheel: Path) -> None:
    assert uccurve.__version__ == PROJECT["version"]
    assert wheel.name == f"uccurve-{uccurve.__version__}-py3-none-any.whl"


def test_the_core_installs_with_numpy_and_narwhals_alone() -> None:
    needed = [line for line in requires("uccurve") or [] if "extra ==" not in line]
    assert sorted(line.partition(">=")[0] for line in needed) == ["narwhals", "numpy"]


@pytest.mark.parametrize("extra", ["all", "cli", "dask", "experiments", "plot", "spark"])
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
    assert not [name for name in shipped if "test" in Path(name).name]


def test_the_wheel_carries_the_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"uccurve-{uccurve.__version__}.dist-info/licenses/LICENSE").decode()
    assert text == (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_each_public_name_is_said_once() -> None:
    assert len(set(uccurve.__all__)) == len(uccurve.__all__) > 0


@pytest.mark.parametrize("name", [name for name in uccurve.__all__ if not name.startswith("__")])
def test_a_public_name_exists_and_is_documented(name: str) -> None:
    public = getattr(uccurve, name)
    assert inspect.getdoc(public)
    if inspect.isclass(public):
        bare = [key for key, value in vars(public).items() if _is_public_call(key, value) and not inspect.getdoc(value)]
        assert bare == []


def _is_public_call(name: str, value: object) -> bool:
    if name.startswith("_"):
        return False
    return inspect.isfunction(value) or isinstance(value, property | classmethod | staticmethod)
