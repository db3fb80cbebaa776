"""Break the package in a sample of places, one at a time, and list the breaks that no test notices: `make mutants`.

A break is one operator, number or condition of one line, changed. Only the tests that run that line are asked, those of
the fewest lines first, since these say most about it. What survives is either a test to write or a line to delete.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from coverage import CoverageData

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
WORK = ROOT / "build" / "mutants"
ROOMS = ("evidence", "assess", "words")
TESTS = 40  # at most so many tests are asked about one place
SECONDS = 120.0  # a break that makes a loop endless is noticed

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed expression of one file."""

    path: Path
    line: int
    start: int
    end: int
    before: str
    after: str

    def applied(self, text: str) -> str:
        """The text of the file with the change."""
        return text[: self.start] + self.after + text[self.end :]

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.before}  ->  {self.after}"


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Every change that is tried in a file."""
    text = path.read_text(encoding="utf-8")
    starts = _line_starts(text)
    for node in _expressions(ast.parse(text)):
        after = _changed(node)
        if after is None:
            continue
        start = starts[node.lineno - 1] + _characters(text, starts, node.lineno, node.col_offset)
        last = node.end_lineno or node.lineno
        end = starts[last - 1] + _characters(text, starts, last, node.end_col_offset or 0)
        yield Mutant(path, node.lineno, start, end, text[start:end], f"({after})")


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def _characters(text: str, starts: list[int], line: int, offset: int) -> int:
    """Return how many characters the first `offset` bytes of a line are."""
    row = text[starts[line - 1] : starts[line]]
    return len(row.encode()[:offset].decode())


def _expressions(tree: ast.AST) -> Iterator[ast.expr]:
    """Expressions that are computed: no annotations, no parts of f-strings, no module constants of words."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.JoinedStr):
            continue
        if isinstance(child, ast.arg):
            continue
        if isinstance(child, ast.AnnAssign):
            if child.value is not None:
                yield from _with_parts(child.value)
            continue
        if isinstance(child, ast.FunctionDef):
            for part in child.body:
                yield from _expressions(part)
            continue
        if isinstance(child, ast.expr):
            yield from _with_parts(child)
        else:
            yield from _expressions(child)


def _with_parts(node: ast.expr) -> Iterator[ast.expr]:
    if not isinstance(node, ast.JoinedStr):
        yield node
        yield from _expressions(node)


def _changed(node: ast.expr) -> str | None:
    """Return the expression with one change, or None where there is nothing to change."""
    changed: ast.expr | None = None
    match node:
        case ast.Compare(left, [operator, *others], [right, *more]):
            swapped = [COMPARISONS[type(operator)](), *others]
            changed = ast.Compare(left, swapped, [right, *more])
        case ast.BinOp(left, operator, right) if type(operator) in OPERATORS:
            changed = ast.BinOp(left, OPERATORS[type(operator)](), right)
        case ast.BoolOp(operator, values):
            changed = ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            changed = operand
        case ast.IfExp(test, body, orelse):
            changed = ast.IfExp(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Call(ast.Name(name), arguments, keywords) if name in CALLS:
            changed = ast.Call(ast.Name(CALLS[name]), arguments, keywords)
        case ast.Constant(bool(value)):
            changed = ast.Constant(not value)
        case ast.Constant(int(value) | float(value)):
            changed = ast.Constant(value + 1)
    return None if changed is None else ast.unparse(changed)


def sampled(count: int, seed: int, rooms: tuple[str, ...]) -> list[Mutant]:
    """A seeded sample of the changes in some rooms."""
    places: list[Mutant] = []
    for room in rooms:
        for path in sorted((SOURCE / "uccurve" / room).glob("*.py")):
            places += mutants_of(path)
    return random.Random(seed).sample(places, min(count, len(places)))  # noqa: S311  a sample, no secret


def lines_of_tests(files: list[str]) -> CoverageData:
    """Run the tests once, and note which lines each of them runs."""
    WORK.mkdir(parents=True, exist_ok=True)
    data_file = WORK / "lines"
    if not data_file.exists():
        settings = WORK / "coverage.ini"
        rooms = ",".join(str(SOURCE / "uccurve" / room) for room in ROOMS)
        settings.write_text(
            f"[run]\nsource = {rooms}\ndynamic_context = test_function\ndata_file = {data_file}\n",
            encoding="utf-8",
        )
        command = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}"]
        command += ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow and not ci"]
        done = subprocess.run([*command, *files], cwd=ROOT, check=False, env=_environment(SOURCE))
        if done.returncode:
            data_file.unlink(missing_ok=True)
            sys.exit("the tests must pass before anything is broken")
    data = CoverageData(str(data_file))
    data.read()
    return data


def tests_of(data: CoverageData) -> tuple[dict[tuple[str, int], list[str]], Counter[str]]:
    """The tests that run each line, and how many lines each test runs."""
    by_line: dict[tuple[str, int], list[str]] = {}
    sizes: Counter[str] = Counter()
    for file in data.measured_files():
        for line, contexts in data.contexts_by_lineno(file).items():
            names = [context for context in contexts if context]
            by_line[file, line] = names
            sizes.update(names)
    return by_line, sizes


def survives(mutant: Mutant, tests: list[str], worker: Path) -> bool:
    """Whether no test notices the change."""
    target = worker / mutant.path.relative_to(SOURCE)
    text = mutant.path.read_text(encoding="utf-8")
    target.write_text(mutant.applied(text), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "no:randomly", "-m", "not slow and not ci"]
    try:
        done = subprocess.run(
            [*command, *tests],
            cwd=ROOT,
            check=False,
            capture_output=True,
            timeout=SECONDS,
            env=_environment(worker),
        )
    except subprocess.TimeoutExpired:
        return False
    finally:
        target.write_text(text, encoding="utf-8")
    return done.returncode == 0


def _environment(source: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}


def _node_ids(names: list[str]) -> list[str]:
    """Return what pytest calls the functions that coverage names, such as `test_gate.test_it_fails`."""
    ids = []
    for name in names:
        module, _, function = name.rpartition(".")
        path = ROOT / "tests" / f"{module}.py"
        if path.exists() and function.startswith("test_"):
            ids.append(f"tests/{module}.py::{function}")
    return ids


def main() -> None:
    """Break, ask the tests, and print what survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", default=["tests"], help="tests that may notice")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rooms", nargs="*", default=ROOMS)
    options = parser.parse_args()
    by_line, sizes = tests_of(lines_of_tests(options.files))
    chosen = sampled(options.count, options.seed, tuple(options.rooms))
    workers = []
    for number in range(os.cpu_count() or 1):
        worker = WORK / f"source-{number}"
        shutil.rmtree(worker, ignore_errors=True)
        shutil.copytree(SOURCE, worker, ignore=shutil.ignore_patterns("__pycache__"))
        workers.append(worker)

    def verdict(mutant: Mutant) -> str:
        names = by_line.get((str(mutant.path), mutant.line), [])
        tests = _node_ids(sorted(names, key=lambda name: (sizes[name], name)))[:TESTS]
        if not tests:
            return "not run"
        worker = workers.pop()
        try:
            return "survived" if survives(mutant, tests, worker) else "noticed"
        finally:
            workers.append(worker)

    counts: Counter[str] = Counter()
    with ThreadPoolExecutor(len(workers)) as pool:
        for mutant, outcome in zip(chosen, pool.map(verdict, chosen), strict=True):
            counts[outcome] += 1
            if outcome != "noticed":
                print(f"{outcome}: {mutant}", flush=True)  # noqa: T201  what the command is for
    print(", ".join(f"{number} {outcome}" for outcome, number in counts.most_common()))  # noqa: T201


if __name__ == "__main__":
    main()
