"""Data flows one way: the core computes with numpy alone, edges bring their libraries when they are asked to."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "uccurve"

ROOTS = ["compare.assess", "compare.band", "curve", "intervals", "levels.curve", "profile", "scores"]
"""Where the core begins; whatever they import belongs to it. All of it imports numpy and the standard library only."""

HAND_OFFS = {
    ("intervals", "_frames"),
    ("curve", "plots.display"),
    ("compare.assessment", "plots.figures"),
    ("compare.assessment", "report._page"),
}
"""Where a method of the core hands over to an edge, inside a function: (core module, edge)."""

BRIDGES = {"compare.tables", "_progress"}
"""Edges that the core calls; like all edges they import their libraries in functions only."""

EAGER = ["calibrate/_band_models", "calibrate/estimators", "cli/app", "experiments"]
"""Edges that are an extra as a whole and may import its libraries at their top."""


class Import(NamedTuple):
    """One imported module as a full name, and whether the import runs with the module or in a function only."""

    name: str
    on_load: bool

    @property
    def top(self) -> str:
        return self.name.partition(".")[0]


def imports(source: str, package: str) -> Iterator[Import]:
    """All imports that can run in `source`, a module of `package`; those for type checkers never do."""
    yield from _imports(ast.parse(source), package, on_load=True)


def _imports(node: ast.AST, package: str, *, on_load: bool) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        yield from (Import(alias.name, on_load) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        parents = package.split(".")
        base = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
        module = ".".join(filter(None, [base, node.module]))
        package_of_ours = PACKAGE.parent.joinpath(*module.split(".")).is_dir()
        names = [f"{module}.{alias.name}" for alias in node.names] if package_of_ours else [module]
        yield from (Import(name, on_load) for name in names)
    elif isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
        for statement in node.orelse:
            yield from _imports(statement, package, on_load=on_load)
    else:
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            yield from _imports(child, package, on_load=on_load and not inside)


def imports_of(path: Path) -> list[Import]:
    package = ".".join(["uccurve", *path.relative_to(PACKAGE).parent.parts])
    return list(imports(path.read_text(encoding="utf-8"), package))


def path_of(module: str) -> Path:
    return PACKAGE / f"{module.replace('.', '/')}.py"


def is_standard(name: str) -> bool:
    return name in sys.stdlib_module_names


def own_imports(module: str) -> set[str]:
    """Modules of the package that `module` imports anywhere, without the hand-offs to an edge inside a function."""
    found = {(one.name.partition(".")[2], one.on_load) for one in imports_of(path_of(module)) if one.top == "uccurve"}
    kept = {name for name, on_load in found if on_load or (module, name) not in HAND_OFFS}
    return {name if path_of(name).exists() else "__init__" for name in kept} - BRIDGES


def core_modules() -> list[str]:
    reached: set[str] = set()
    ahead = set(ROOTS)
    while ahead:
        reached |= ahead
        ahead = set().union(*map(own_imports, ahead)) - reached
    return sorted(reached)


@pytest.mark.parametrize("module", core_modules())
def test_a_core_module_imports_numpy_and_the_core_only(module: str) -> None:
    outside = {one for one in imports_of(path_of(module)) if one.top != "uccurve"}
    assert {one.top for one in outside if not is_standard(one.top)} <= {"numpy"}


@pytest.mark.parametrize("path", [str(path.relative_to(PACKAGE)) for path in sorted(PACKAGE.rglob("*.py"))])
def test_an_edge_imports_its_libraries_when_asked_not_on_load(path: str) -> None:
    if Path(path).with_suffix("").as_posix().startswith(tuple(EAGER)):
        return
    loaded = {found.top for found in imports_of(PACKAGE / path) if found.on_load and not is_standard(found.top)}
    assert loaded <= {"uccurve", "numpy", "narwhals"}


def test_importing_uccurve_loads_numpy_and_narwhals_at_the_most() -> None:
    script = """
import json, sys
before = set(sys.modules)
import uccurve
new = [module for name, module in sys.modules.items() if name not in before and getattr(module, "__file__", None)]
print(json.dumps(sorted({module.__name__.partition(".")[0] for module in new})))
"""
    output = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    loaded = {name for name in json.loads(output) if not is_standard(name)}
    assert {"uccurve", "numpy"} <= loaded <= {"uccurve", "numpy", "narwhals"}


def test_the_scan_sees_every_way_to_import() -> None:
    source = """
import numpy.typing, polars as pl
from . import checks
from .frames import columns
from uccurve import UCC
if TYPE_CHECKING:
    import pandas
else:
    import pyarrow
try:
    import dask
except ImportError:
    pass
class C:
    import rich
    def method(self):
        from .display import draw
        return lambda: __import__
async def later():
    import typer
"""
    found = list(imports(source, "uccurve"))
    on_load = ["numpy.typing", "polars", "uccurve.checks", "uccurve.frames", "uccurve.UCC", "pyarrow", "dask", "rich"]
    assert [one.name for one in found if one.on_load] == on_load
    assert [one.name for one in found if not one.on_load] == ["uccurve.display", "typer"]
    assert list(imports("from ..curve import UCC", "uccurve.experiments")) == [Import("uccurve.curve", on_load=True)]


if __name__ == "__main__":  # `make test-fast` asks for the core's modules
    sys.stdout.write(" ".join(name for name in core_modules() if "." not in name))
