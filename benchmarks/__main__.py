"""Run the benchmarks: ``python -m benchmarks [NAME ...] [--quick] [--json OUT] [--write PAGE]``; all without a name.

Every module ``bench_NAME.py`` beside this file has a function ``run(quick)`` that returns its rows as dictionaries.
"""

from __future__ import annotations

import argparse
import importlib
import json
import tempfile
from pathlib import Path
from typing import Any

from . import page
from .measure import Row, machine, shown

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Names of all benchmarks, in order."""
    return sorted(path.stem.removeprefix("bench_") for path in FOLDER.glob("bench_*.py"))


def run(name: str, *, quick: bool) -> dict[str, Any]:
    """Print what one benchmark measures and return its rows, with the machine as it was before."""
    where = machine()
    module = importlib.import_module(f"{__package__}.bench_{name}")
    print(f"\n== {name}: {(module.__doc__ or name).splitlines()[0]}", flush=True)
    rows: list[Row] = module.run(quick=quick)
    print(shown(rows), flush=True)
    return {"machine": where, "quick": quick, "rows": rows}


def write(path: Path, results: dict[str, Any]) -> None:
    """Write the results whole or not at all; those of other benchmarks in the file stay."""
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, suffix=".json", delete=False, encoding="utf-8"
    ) as file:
        json.dump(before | results, file, indent=1)
    Path(file.name).replace(path)


def main() -> None:
    """Read the command line and run what it asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run the benchmarks.")
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"any of {', '.join(names())}; all of them by default",
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer rows and repetitions, to see that it runs"
    )
    parser.add_argument(
        "--json", type=Path, metavar="OUT", help="write the machine and all rows to this file"
    )
    parser.add_argument(
        "--write",
        type=Path,
        metavar="PAGE",
        help="put the tables on this page, docs/performance.md",
    )
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in names()]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]}; there are {', '.join(names())}")
    if options.quick and options.write:
        parser.error("figures of --quick do not belong on a page")
    print(", ".join(f"{name} {value}" for name, value in machine().items()))
    for name in options.names or names():
        result = {name: run(name, quick=options.quick)}
        if options.json is not None:
            write(options.json, result)
        if options.write is not None:
            page.write(options.write, result)


if __name__ == "__main__":
    main()
