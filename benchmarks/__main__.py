"""Run the benchmarks: ``python -m benchmarks [NAME ...] [--quick] [--json OUT]``; without names, all of them.

Every module ``bench_NAME.py`` beside this file has a function ``run(quick)`` that returns its rows as dictionaries.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from .measure import Row, machine, shown

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Names of all benchmarks, in order."""
    return sorted(path.stem.removeprefix("bench_") for path in FOLDER.glob("bench_*.py"))


def run(name: str, *, quick: bool) -> list[Row]:
    """Print what one benchmark measures and return its rows."""
    module = importlib.import_module(f"{__package__}.bench_{name}")
    print(f"\n== {name}: {(module.__doc__ or name).splitlines()[0]}", flush=True)
    rows: list[Row] = module.run(quick=quick)
    print(shown(rows), flush=True)
    return rows


def write(path: Path, results: dict[str, Any]) -> None:
    """Write the results whole or not at all."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".json", delete=False, encoding="utf-8") as file:
        json.dump(results, file, indent=1)
    Path(file.name).replace(path)


def main() -> None:
    """Read the command line and run what it asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run the benchmarks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(names())}; all of them by default")
    parser.add_argument("--quick", action="store_true", help="fewer rows and repetitions, to see that it runs")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the machine and all rows to this file")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in names()]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]}; there are {', '.join(names())}")
    where = machine()
    print(", ".join(f"{name} {value}" for name, value in where.items()))
    results = {name: run(name, quick=options.quick) for name in options.names or names()}
    if options.json is not None:
        write(options.json, {"machine": where, "quick": options.quick, "results": results})
        print(f"\nwritten to {os.fspath(options.json)}")


if __name__ == "__main__":
    main()
