"""Data flows one way: no module imports its own importers, the core needs numpy alone, edges bring their libraries."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "uccurve"

DOORS = {"plot", "to_html"}
"""Functions that hand over to an edge for convenience and may import it inside themselves."""

ROOTS = ["intervals", "curve", "scores", "assess.assemble"]
"""Where the core begins; whatever they import belongs to it."""

FRAME_DOOR = ("_door", {"frame_columns", "opened"})
"""Module of the core that takes data frames, and its functions that know narwhals."""

BRIDGES = {
    "_door": ("narwhals",),
    "_files": ("zstandard",),
    "pockets.features": ("narwhals",),
    "pockets.trees": ("sklearn", "threadpoolctl"),
    "resampling": ("rich",),
    "words.tables": ("narwhals",),
}
"""Modules of the core that bring a library for frames, packed files, boosted trees, progress, `to_frame`."""

EAGER = (
    "calibrate.estimators",
    "train._forest",
    "train._regressor",
)
"""Edges that need an extra as a whole and import its libraries at their top; so does the command line."""

Graph = Mapping[str, set[str]]


class Import(NamedTuple):
    """One imported module as a full name, and the functions around the import statement, the outermost first."""

    name: str
    functions: tuple[str, ...] = ()

    @property
    def top(self) -> str:
        return self.name.partition(".")[0]

    @property
    def on_load(self) -> bool:
        return not self.functions


def imports(source: str, package: str) -> list[Import]:
    """All imports that can run in `source`, a module of `package`; those for type checkers never do."""
    return list(_imports(ast.parse(source), package, ()))


def _imports(node: ast.AST, package: str, functions: tuple[str, ...]) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        yield from (Import(alias.name, functions) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        parents = package.split(".")
        base = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
        module = ".".join(filter(None, [base, node.module]))
        yield from (Import(f"{module}.{alias.name}", functions) for alias in node.names)
    elif isinstance(node, ast.If) and ast.unparse(node.test) in (
        "TYPE_CHECKING",
        "typing.TYPE_CHECKING",
    ):
        for statement in node.orelse:
            yield from _imports(statement, package, functions)
    else:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            functions = (*functions, getattr(node, "name", "lambda"))
        for child in ast.iter_child_nodes(node):
            yield from _imports(child, package, functions)


def modules() -> dict[str, Path]:
    """Every module of the package by its name within it; the front door is ``__init__``, a room's the room's name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)] = path
    return found


MODULES = modules()


@cache
def imports_of(module: str) -> list[Import]:
    path = MODULES[module]
    package = ".".join(["uccurve", *path.relative_to(PACKAGE).parent.parts])
    return imports(path.read_text(encoding="utf-8"), package)


def own(name: str) -> str:
    """The module of the package that a full name belongs to, ``uccurve.curve.UCC`` to ``curve``."""
    parts = name.split(".")[1:]
    while parts and ".".join(parts) not in MODULES:
        parts.pop()
    return ".".join(parts) or "__init__"


def graph(doors: set[str]) -> dict[str, set[str]]:
    """Which modules of the package each one imports, anywhere but inside functions that are doors."""
    return {
        module: {
            own(one.name)
            for one in imports_of(module)
            if one.top == "uccurve" and not doors & {*one.functions}
        }
        - {module}
        for module in MODULES
    }


def reachable(edges: Graph, *starts: str) -> set[str]:
    """Whatever the starts import, and what that imports, and so on."""
    found: set[str] = set()
    ahead = set().union(*(edges[start] for start in starts))
    while ahead:
        found |= ahead
        ahead = set().union(*(edges[module] for module in ahead)) - found
    return found


def cycle(edges: Graph) -> list[str]:
    """One way from a module back to itself; nothing where there is none."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def core_modules() -> list[str]:
    return sorted({*ROOTS} | reachable(graph(DOORS), *ROOTS))


def is_eager(module: str) -> bool:
    return module in EAGER or module.partition(".")[0] == "cli"


def is_standard(name: str) -> bool:
    return name in sys.stdlib_module_names


# ---- one way


def test_no_module_imports_its_own_importers_not_even_inside_a_function() -> None:
    edges = graph(DOORS)
    assert cycle(edges) == []
    assert [module for module in edges if module in reachable(edges, module)] == []


def test_a_door_is_one_line_that_hands_over_to_an_edge() -> None:
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name in DOORS:
                inside = [
                    part for part in ast.walk(node) if isinstance(part, ast.Import | ast.ImportFrom)
                ]
                assert len(inside) <= 1, f"{module}.{node.name}"


def test_a_cycle_through_any_number_of_modules_is_found() -> None:
    edges = {"a": {"b"}, "b": {"c"}, "c": {"d", "a"}, "d": {"e"}, "e": set()}
    assert set(cycle(edges)) == {"a", "b", "c"}
    assert [module for module in edges if module in reachable(edges, module)] == ["a", "b", "c"]
    assert cycle({"a": {"b"}, "b": set(), "c": {"b", "a"}}) == []


# ---- the core


@pytest.mark.parametrize("module", core_modules())
def test_a_core_module_imports_numpy_and_the_standard_library_only(module: str) -> None:
    outside = {
        one for one in imports_of(module) if one.top != "uccurve" and not is_standard(one.top)
    }
    assert {one.top for one in outside if one.on_load} <= {"numpy"}
    assert {one.top for one in outside if not one.on_load} <= {"numpy", *BRIDGES.get(module, ())}


def test_the_core_knows_the_rooms_of_the_assessment_only() -> None:
    rooms = {
        module.partition(".")[0]
        for module in core_modules()
        if "." in module or (PACKAGE / module).is_dir()
    }
    assert rooms == {"assess", "evidence", "pockets", "resampling", "words"}


def test_data_frames_come_in_through_one_door() -> None:
    knows = {
        module for module in MODULES if any(one.top == "narwhals" for one in imports_of(module))
    }
    core = {*core_modules()}
    assert knows & core <= {*BRIDGES}
    ways = {
        (module, own(one.name))
        for module in core
        for one in imports_of(module)
        if one.top == "uccurve" and own(one.name) in knows - core
    }
    assert ways == set()
    module, functions = FRAME_DOOR
    ways_in = {one.functions for one in imports_of(module) if one.top == "narwhals"}
    assert ways_in == {(name,) for name in functions}


# ---- edges


@pytest.mark.parametrize("module", [module for module in MODULES if not is_eager(module)])
def test_an_edge_imports_its_libraries_when_asked_not_on_load(module: str) -> None:
    loaded = [one for one in imports_of(module) if one.on_load]
    assert {one.top for one in loaded if not is_standard(one.top)} <= {
        "uccurve",
        "numpy",
        "narwhals",
    }
    eager = {own(one.name) for one in loaded if one.top == "uccurve" and is_eager(own(one.name))}
    assert not eager or module == "__main__"


def test_importing_uccurve_loads_numpy_and_narwhals_at_the_most() -> None:
    script = """
import json, sys
before = set(sys.modules)
import uccurve
new = [module for name, module in sys.modules.items() if name not in before and getattr(module, "__file__", None)]
print(json.dumps(sorted({module.__name__.partition(".")[0] for module in new})))
"""
    output = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    ).stdout
    loaded = {name for name in json.loads(output) if not is_standard(name)}
    assert {"uccurve", "numpy"} <= loaded <= {"uccurve", "numpy", "narwhals"}


# ---- the scan itself


def test_the_scan_sees_every_way_to_import() -> None:
    source = """
import numpy.typing, polars as pl
from . import _refusals
from ._frames import columns
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
        from .plots.display import draw
        return lambda: __import__
async def later():
    def inner():
        import typer
"""
    found = imports(source, "uccurve")
    names = [
        "numpy.typing",
        "polars",
        "uccurve._refusals",
        "uccurve._frames.columns",
        "uccurve.UCC",
        "pyarrow",
        "dask",
    ]
    assert [one.name for one in found if one.on_load] == [*names, "rich"]
    inside = [
        Import("uccurve.plots.display.draw", ("method",)),
        Import("typer", ("later", "inner")),
    ]
    assert [one for one in found if not one.on_load] == inside
    assert imports("from ..curve import UCC", "uccurve.plots") == [Import("uccurve.curve.UCC")]


def test_a_name_belongs_to_the_module_that_defines_it() -> None:
    assert own("uccurve.curve.UCC") == own("uccurve.curve") == "curve"
    assert own("uccurve.assess.assemble.assess") == "assess.assemble"
    assert own("uccurve.UCC") == own("uccurve") == "__init__"
    assert own("uccurve.adapters") == "adapters"


if __name__ == "__main__":  # `make test-fast` asks for the core's modules
    sys.stdout.write(" ".join(name for name in core_modules() if "." not in name))
