"""One side: the coverage of its factor on new rows, and how often misses are said to come in runs.

``python -m benchmarks.one_side [--runs 2000] [--seed 20261119]`` prints Markdown tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import ceil

import numpy as np
import numpy.typing as npt

import uccurve as ucc
from uccurve.evidence.clusters import neighbours_pvalue, runs_pvalue

Generator = np.random.Generator
LEVEL = 0.05


def table(headings: list[str], rows: Iterator[list[str]]) -> None:
    """Print a Markdown table, each row as soon as it is known."""
    print("| " + " | ".join(headings) + " |")
    print("|" + "---|" * len(headings), flush=True)
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    print()


def coverages(runs: int, seed: int) -> Iterator[list[str]]:
    """Yield the coverage of new rows by the conformal factor of an upper bound, beside what theory says."""
    for rows in (20, 50, 200):
        covered = 0
        rng = np.random.default_rng([seed, rows])
        for _ in range(runs):
            size = rng.lognormal(size=rows + 1)
            y = size * rng.standard_t(4, size=rows + 1)
            iv = ucc.Intervals.from_bounds(y, np.zeros(rows + 1), upper=size)
            factor = ucc.UCC(iv[:rows]).find(coverage=0.9, conformal=True).scale
            covered += bool(y[-1] <= factor * size[-1])
        exact = Fraction(ceil((rows + 1) * Fraction(9, 10)), rows + 1)
        yield [str(rows), str(runs), f"{covered / runs:.3f}", f"{float(exact):.3f}"]


def single(rng: Generator, rows: int, miss_rate: float) -> float:
    """Return the p-value of independent misses of one row per period."""
    missed = rng.uniform(size=rows) < miss_rate
    return runs_pvalue(missed) if missed.any() else 1.0


def panel(rng: Generator, periods: int, rows: int) -> float:
    """Return the p-value of misses of many rows per period, which share an effect of their period."""
    rate = np.clip(0.1 + 0.03 * rng.normal(size=periods), 0.001, 0.9)
    counts = rng.binomial(rows, rate)
    return neighbours_pvalue((counts - counts.mean()) / np.sqrt(rows)) if counts.any() else 1.0


def volatile(rng: Generator, rows: int) -> float:
    """Return the p-value of a constant bound of losses whose spread comes and goes."""
    losses: npt.NDArray[np.float64] = np.zeros(rows)
    variance = 1.0
    for day in range(1, rows):
        variance = 0.05 + 0.25 * losses[day - 1] ** 2 + 0.7 * variance
        losses[day] = np.sqrt(variance) * rng.normal()
    return runs_pvalue(losses > np.quantile(losses, 0.95))


WORLDS: list[tuple[str, Callable[[Generator], float]]] = [
    ("independent, 50 rows, 10% missed", lambda rng: single(rng, 50, 0.1)),
    ("independent, 250 rows, 5% missed", lambda rng: single(rng, 250, 0.05)),
    ("independent, 1,000 rows, 5% missed", lambda rng: single(rng, 1000, 0.05)),
    ("25 independent days of 50 rows", lambda rng: panel(rng, 25, 50)),
    ("60 independent days of 5 rows", lambda rng: panel(rng, 60, 5)),
    ("250 independent days of 50 rows", lambda rng: panel(rng, 250, 50)),
    ("volatile, 250 rows, 5% missed", lambda rng: volatile(rng, 250)),
    ("volatile, 1,000 rows, 5% missed", lambda rng: volatile(rng, 1000)),
]


def clusters(runs: int, seed: int) -> Iterator[list[str]]:
    """Yield how often misses are shown to come in runs."""
    for number, (title, pvalue) in enumerate(WORLDS):
        rng = np.random.default_rng([seed, number])
        noted = sum(pvalue(rng) <= LEVEL for _ in range(runs))
        yield [title, str(runs), f"{noted / runs:.1%}"]


def main() -> None:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.one_side")
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=20261119)
    asked = parser.parse_args()
    headings = ["rows", "runs", "new rows covered, 90% asked for", "expected"]
    table(headings, coverages(asked.runs, asked.seed))
    table(["misses", "runs", "in runs (p ≤ .05)"], clusters(asked.runs, asked.seed))


if __name__ == "__main__":
    main()
