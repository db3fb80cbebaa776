"""How often intervals contain the truth, tests raise false alarms, and shipped intervals cover new rows, simulated."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import product
from math import erf, sqrt
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

import uccurve as ucc
from uccurve.results import Comparison, ModelRow

from . import populations as simulated
from .measure import Row
from .populations import POPULATIONS, Population

LEVEL = 0.95
COVERAGE = 0.9
MISS_RATE: Any = ("bandwidth", "miss_rate")
DEFICIT: Any = ("bandwidth", "deficit")
UNUSED: Any = ("bandwidth", "bandwidth")
"""Axes on which curves are not compared, which saves the time for their crossings."""
STATISTICS = ("score", "half_width", "skill", "crps", "coverage")
SEGMENTS = 20
GATES = 150
Pair = Sequence[Any]


class Size(NamedTuple):
    """How much is simulated. The seeds of the page differ from those that the code was written with."""

    seed: int
    samples: int
    swaps: int
    truth: int


FULL = Size(seed=271_828_182, samples=600, swaps=499, truth=1_000_000)
QUICK = Size(seed=1, samples=10, swaps=99, truth=100_000)


def run(quick: bool = False) -> list[Row]:
    """Rows of all tables; one process for each core that this one may use."""
    jobs = list(_jobs(QUICK if quick else FULL))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    with ProcessPoolExecutor(cores) as pool:
        return list(pool.map(_called, jobs))


def _called(job: Callable[[], Row]) -> Row:
    return job()


def _jobs(size: Size) -> Iterator[Callable[[], Row]]:
    """All rows of all tables, the longest first within a table."""
    half = size._replace(samples=size.samples // 2)
    yield from _interval_jobs(size)
    yield from _pair_jobs(size)
    yield from _choice_jobs(half)
    for n, segments in product((200, 1000), (0, SEGMENTS)):
        yield partial(gate_outcomes, n, segments, size)
    for n in (100, 1000):
        yield partial(swap_test_size, n, half)
    for n in (100, 1000):
        yield partial(segment_alarms, n, half)


def _interval_jobs(size: Size) -> Iterator[Callable[[], Row]]:
    for population in POPULATIONS:
        for n in population.sizes:
            yield partial(interval_coverage, population, n, size)


def _pair_jobs(size: Size) -> Iterator[Callable[[], Row]]:
    for name, n in product(EQUAL_PAIRS, (50, 100, 200, 1000, 2000)):
        yield partial(test_size, name, n, size)
    for worse, n in product((1.1, 1.2), (200, 1000)):
        yield partial(power, worse, n, size)
    for runs in (2, 3, 5, 10):
        yield partial(size_of_runs, runs, size)


def _choice_jobs(size: Size) -> Iterator[Callable[[], Row]]:
    for n, models in product((100, 300, 1000), (1, 2, 5, 20)):
        yield partial(coverage_after_choosing, n, models, size)
    for n, delivered in product((100, 300, 1000), (0.84, 0.86, 0.9)):
        yield partial(coverage_unchanged, n, delivered, size)


# ---- intervals


def interval_coverage(population: Population, n: int, size: Size) -> Row:
    """Share of samples whose intervals contain the true value of the population."""
    rng = _generator(size, population.name, n)
    true = _truth(population, size)
    held = dict.fromkeys(STATISTICS, 0)
    for _ in range(size.samples):
        iv, block = population.draw(rng, n)
        row = ucc.assess(iv, coverage=COVERAGE, block=block, axes=UNUSED).rows[0]
        for name in STATISTICS:
            held[name] += _holds(row, name, true[name])
    return _row("95% interval", population.name, n, size, held)


def _truth(population: Population, size: Size) -> dict[str, float]:
    """True values, from a sample so large that its own error does not show."""
    return _true_values(population.name, size.seed, size.truth)


@cache
def _true_values(name: str, seed: int, rows: int) -> dict[str, float]:
    population = next(item for item in POPULATIONS if item.name == name)
    rng = np.random.default_rng([seed, crc32(name.encode())])
    iv, _ = population.draw(rng, rows)
    row = ucc.assess(iv, coverage=COVERAGE, axes=UNUSED).rows[0]
    return {name: getattr(row, name).value for name in STATISTICS}


def _holds(row: ModelRow, name: str, true: float) -> bool:
    """Whether an interval contains the truth; a value that is exactly so by rounding counts as inside."""
    estimate = getattr(row, name)
    slack = 1e-9 * abs(true)
    return bool(estimate.low - slack <= true <= estimate.high + slack)


# ---- tests of two models


EQUAL_PAIRS: dict[str, Callable[[np.random.Generator, int], Pair]] = {
    "other predictions": simulated.other_predictions,
    "six mis-scaled sites": simulated.sites,
    "normal vs. t(3) errors": simulated.unlike_errors,
    "shapes of bands": partial(simulated.shapes, equal="score"),
}


def test_size(name: str, n: int, size: Size) -> Row:
    """Share of samples in which two models with equal scores as shipped are called different."""
    rng = _generator(size, name, n)
    rejected = 0
    for _ in range(size.samples):
        rejected += _compared(EQUAL_PAIRS[name](rng, n)).pvalue <= 1 - LEVEL
    return _row("size of the paired test", name, n, size, {"rejected": rejected})


def power(worse: float, n: int, size: Size) -> Row:
    """Share of samples in which the worse of two models is found to be worse."""
    rng = _generator(size, "power", n, round(100 * worse))
    found = dict.fromkeys(("found", "wrong way"), 0)
    for _ in range(size.samples):
        test = _compared(simulated.two_models(rng, n, worse))
        found["found"] += test.better == "a"
        found["wrong way"] += test.better == "b"
    what = f"score {100 * (worse - 1):.0f}% worse"
    return _row("power of the paired test", what, n, size, found)


def size_of_runs(runs: int, size: Size, n: int = 200) -> Row:
    """Share of samples in which two equal algorithms of several training runs are called different."""
    rng = _generator(size, "runs", runs)
    found = dict.fromkeys(("rejected", "by rows alone"), 0)
    rows = np.tile(np.arange(n), runs)
    for _ in range(size.samples):
        pair = simulated.training_runs(rng, n, runs)
        joined = [ucc.Intervals.join(parts) for parts in pair]
        found["rejected"] += _compared(pair).pvalue <= 1 - LEVEL
        found["by rows alone"] += _compared(joined, block=rows).pvalue <= 1 - LEVEL
    return _row("equal algorithms", f"{runs} training runs", n, size, found)


def swap_test_size(n: int, size: Size) -> Row:
    """Permutation tests of two models with the same predictions and equal areas."""
    rng = _generator(size, "swaps", n)
    found = dict.fromkeys(("miss rate vs. bandwidth", "deficit vs. bandwidth"), 0)
    for _ in range(size.samples):
        pair = simulated.shapes(rng, n, "area")
        for name, axes in zip(found, (MISS_RATE, DEFICIT), strict=True):
            test = ucc.permutation_test(*pair, axes=axes, n_resamples=size.swaps, seed=rng)
            found[name] += test.pvalue <= 1 - LEVEL
    return _row("size of the permutation test", "shapes of bands", n, size, found)


def flip_test_size(n: int, ratio: float, size: Size) -> Row:
    """Permutation tests of equal skill of models with other predictions and errors of another size."""
    rng = _generator(size, "flips", n, round(60 * ratio))
    rejected = 0
    for _ in range(size.samples):
        pair = simulated.same_skill(rng, n, ratio)
        test = ucc.permutation_test(*pair, statistic="skill", n_resamples=size.swaps, seed=rng)
        rejected += test.pvalue <= 1 - LEVEL
    return _row("size of sign flips", f"errors x {ratio:.2g}", n, size, {"skill": rejected})


def _compared(pair: Pair, **options: Any) -> Comparison:
    models = dict(zip("ab", pair, strict=True))
    return ucc.assess(models, coverage=COVERAGE, axes=UNUSED, **options).comparisons[0]


# ---- what ships


def coverage_after_choosing(n: int, models: int, size: Size) -> Row:
    """Coverage of new rows by the best of several equal models, with the verdict's factor and with its own."""
    rng = _generator(size, "choosing", n, models)
    covered = dict.fromkeys(("verdict's factor", "own factor"), 0.0)
    for _ in range(size.samples):
        given = {
            name: iv.calibrated(scale=0.5)  # so that none may ship unchanged
            for name, iv in simulated.equal_models(rng, n, models).items()
        }
        verdict = ucc.assess(given, coverage=COVERAGE, axes=UNUSED).verdict
        covered["verdict's factor"] += _normal_coverage(0.5 * verdict.scale)
        covered["own factor"] += _normal_coverage(0.5 * verdict.choice.own.value)
    what = "1 model" if models == 1 else f"the best of {models} models"
    return _row("coverage of new rows", what, n, size, covered)


def coverage_unchanged(n: int, delivered: float, size: Size, models: int = 5) -> Row:
    """Coverage of new rows where a model may ship unchanged, by its true coverage as delivered."""
    rng = _generator(size, "unchanged", n, round(100 * delivered))
    factor = simulated.normal_quantile((1 + delivered) / 2)
    covered = dict.fromkeys(("verdict's factor", "shipped unchanged"), 0.0)
    for _ in range(size.samples):
        given = {
            name: iv.calibrated(scale=factor)
            for name, iv in simulated.equal_models(rng, n, models).items()
        }
        verdict = ucc.assess(given, coverage=COVERAGE, axes=UNUSED).verdict
        covered["verdict's factor"] += _normal_coverage(factor * verdict.scale)
        covered["shipped unchanged"] += verdict.unchanged
    what = f"the best of {models} that deliver {100 * delivered:.0f}%"
    return _row("coverage of new rows, as delivered where possible", what, n, size, covered)


def _normal_coverage(factor: float) -> float:
    """Coverage of normal errors by bands of so many standard deviations."""
    return erf(factor / sqrt(2))


def gate_outcomes(n: int, segments: int, size: Size) -> Row:
    """Share of gates that fail: for equally good models, and for one whose score is 10% worse."""
    rng = _generator(size, "gate", n, segments)
    gates = size._replace(samples=min(GATES, size.samples))
    failed = dict.fromkeys(("equally good", "score 10% worse"), 0)
    for _ in range(gates.samples):
        by = rng.integers(0, segments, n).astype(str) if segments else None
        for name, worse in zip(failed, (1.0, 1.1), strict=True):
            pair = simulated.two_models(rng, n, worse)
            delivered = [iv.calibrated(scale=simulated.normal_quantile(0.95)) for iv in pair]
            failed[name] += not ucc.gate(*delivered, coverage=COVERAGE, by=by).passed
    what = f"with {segments} segments" if segments else "without segments"
    return _row("gates that fail", what, n, gates, failed)


def segment_alarms(n: int, size: Size) -> Row:
    """Share of samples in which any of 20 segments fails, though all of them are covered as they should be."""
    rng = _generator(size, "segments", n)
    alarms = dict.fromkeys(("against the promise", "against the other rows"), 0)
    for _ in range(size.samples):
        sigma = rng.uniform(0.5, 1.5, n)
        bands = simulated.normal_quantile(0.95) * sigma
        iv = simulated.around_zero(sigma * rng.normal(size=n), bands)
        by = rng.integers(0, SEGMENTS, n).astype(str)
        for name, coverage in zip(alarms, (COVERAGE, None), strict=True):
            alarms[name] += bool(ucc.assess(iv, coverage=coverage, by=by, axes=UNUSED).failing)
    return _row("false alarms of segments", f"{SEGMENTS} equal segments", n, size, alarms)


# ---- rows of tables


def _row(kind: str, what: str, n: int, size: Size, counts: Mapping[str, float]) -> Row:
    """Shares of the samples."""
    shares = {name: count / size.samples for name, count in counts.items()}
    return {kind: what, "n": n, "samples": size.samples, **shares}


def standard_error(share: float, samples: int) -> float:
    """Return the standard error of a share of independent samples."""
    return sqrt(share * (1 - share) / samples)


def _generator(size: Size, *key: str | int) -> np.random.Generator:
    """Return a generator of its own for each row of a table, so that one can be simulated again alone."""
    words = [part if isinstance(part, int) else crc32(part.encode()) for part in key]
    return np.random.default_rng([size.seed, *words])
