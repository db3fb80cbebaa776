"""How often intervals contain the truth, tests raise false alarms, and shipped intervals cover new rows, simulated."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import product
from math import ceil, erf, exp, pi, sqrt
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import scipy.stats

import uccurve as ucc
from uccurve.assess.cautions import CHOSEN_FROM
from uccurve.evidence.inference import holm
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
SETS = 60
SIZES = (50, 200, 1000, 5000)
PULL_REQUESTS = 10
Pair = Sequence[Any]


class Size(NamedTuple):
    """How much is simulated. The seeds of the page differ from those that the code was written with."""

    seed: int
    samples: int
    swaps: int
    truth: int


FULL = Size(seed=577_215_664, samples=400, swaps=499, truth=1_000_000)
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
    half = size._replace(samples=max(size.samples // 2, 1))
    yield from _interval_jobs(size)
    yield from _pair_jobs(size)
    yield from _choice_jobs(size._replace(samples=size.samples * 2 // 3))
    for errors, n in COSTS:
        yield partial(cost_of_choosing, errors, n, size)
    for n in (100, 300, 1000):
        yield partial(right_choices, n, size)
    for n, segments in product((200, 1000), (0, SEGMENTS)):
        yield partial(gate_outcomes, n, segments, size)
    for n in (200, 1000):
        yield partial(ratchet, n, size._replace(samples=size.samples // 10))
    for n in (100, 1000):
        yield partial(swap_test_size, n, half)
    for n in (100, 1000):
        yield partial(segment_alarms, n, half)


def _interval_jobs(size: Size) -> Iterator[Callable[[], Row]]:
    for population in POPULATIONS:
        for n in SIZES:
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
    """Share of the intervals that contain the true value, and how many samples have no interval of the score."""
    rng = _generator(size, population.name, n)
    true = _truth(population, size)
    given = dict.fromkeys(STATISTICS, 0)
    held = dict.fromkeys(STATISTICS, 0)
    for _ in range(size.samples):
        iv, block = population.draw(rng, n)
        row = ucc.assess(iv, coverage=COVERAGE, block=block, axes=UNUSED).rows[0]
        for name in STATISTICS:
            given[name] += getattr(row, name).has_interval
            held[name] += _holds(row, name, true[name])
    shares = {name: held[name] / max(given[name], 1) for name in STATISTICS}
    row_of_table = {"95% interval": population.name, "n": n, "samples": size.samples, **shares}
    return row_of_table | {"no interval": 1 - given["score"] / size.samples}


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
    """Coverage of new rows by the best of several equal models, with the verdict's factor and with its own.

    The half-width and the score that are reported are divided by what they really are.
    """
    rng = _generator(size, "choosing", n, models)
    names = ("verdict's factor", "own factor", "half-width", "score", "own score")
    sums = dict.fromkeys(names, 0.0)
    for _ in range(size.samples):
        given = {
            name: iv.calibrated(scale=0.5)  # so that none may ship unchanged
            for name, iv in simulated.equal_models(rng, n, models).items()
        }
        found = ucc.assess(given, coverage=COVERAGE, axes=UNUSED)
        verdict = found.verdict
        shipped = 0.5 * verdict.scale
        own = 0.5 * verdict.choice.own.value
        sums["verdict's factor"] += _normal_coverage(shipped)
        sums["own factor"] += _normal_coverage(own)
        sums["half-width"] += verdict.half_width.value / shipped
        sums["score"] += verdict.score.value / _normal_score(shipped)
        sums["own score"] += found[verdict.model].score.value / _normal_score(own)
    what = "1 model" if models == 1 else f"the best of {models} models"
    return _row("coverage of new rows", what, n, size, sums)


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


def _normal_score(factor: float) -> float:
    """Interval score of normal errors with bands of so many standard deviations, which are 1 on average."""
    density = exp(-(factor**2) / 2) / sqrt(2 * pi)
    outside = density - factor * (1 - _normal_coverage(factor)) / 2
    return 2 * factor + 2 / (1 - COVERAGE) * 2 * outside


def right_choices(n: int, size: Size) -> Row:
    """How often the truly best of four models of eight families is found, by two scores, and what is lost."""
    rng = _generator(size, "families", n)
    repetitions = max(size.samples // SETS, 1)
    sums = dict.fromkeys(("as shipped", "at the best scale"), 0.0)
    regrets = dict.fromkeys(("regret as shipped", "regret at the best scale"), 0.0)
    for _ in range(SETS):
        models = simulated.candidates(rng)
        true = _scores(simulated.rows_of_candidates(rng, models, size.truth // 5)).shipped
        for _ in range(repetitions):
            found = _scores(simulated.rows_of_candidates(rng, models, n))
            for score, right, regret in zip(found, sums, regrets, strict=True):
                chosen = int(np.argmin(score))
                sums[right] += chosen == int(np.argmin(true))
                regrets[regret] += float(true[chosen] / true.min()) - 1
    counted = size._replace(samples=SETS * repetitions)
    return _row("best of 4 models found", f"{SETS} sets", n, counted, sums | regrets)


class _Scores(NamedTuple):
    """Scores of several models at 90% coverage: as shipped, and at the best scale."""

    shipped: Any
    best: Any


def _scores(models: Sequence[ucc.Intervals]) -> _Scores:
    parts = [ucc.UCC(iv).decompose(coverage=COVERAGE) for iv in models]
    shipped = np.array([part.shipped for part in parts])
    return _Scores(shipped, np.array([part.best for part in parts]))


def ratchet(n: int, size: Size, step: float = 1.03) -> Row:
    """How much worse the score is after ten pull requests, each 3% worse than the last accepted one.

    The gate compares with the last accepted model, or with a baseline that is frozen.
    """
    rng = _generator(size, "ratchet", n)
    growth = dict.fromkeys(("against the last accepted", "against a frozen baseline"), 0.0)
    for _ in range(size.samples):
        for name in growth:
            present = 1.0
            for _ in range(PULL_REQUESTS):
                baseline = 1.0 if name == "against a frozen baseline" else present
                pair = simulated.revisions(rng, n, baseline, step * present)
                if ucc.gate(*pair, coverage=COVERAGE).passed:
                    present *= step
            growth[name] += present - 1
    what = f"{PULL_REQUESTS} pull requests, each {100 * (step - 1):.0f}% worse"
    return _row("score is worse by", what, n, size, growth)


def gate_outcomes(n: int, segments: int, size: Size) -> Row:
    """Share of gates that fail: for equally good models, and for one whose score is 10% worse.

    Beside it how many would find that if all checks shared one level.
    """
    rng = _generator(size, "gate", n, segments)
    names = ("equally good", "score 10% worse", "the same, one level for all")
    failed = dict.fromkeys(names, 0)
    for _ in range(size.samples):
        by = rng.integers(0, segments, n).astype(str) if segments else None
        equal = ucc.gate(*simulated.revisions(rng, n, 1.0, 1.0), coverage=COVERAGE, by=by)
        worse = ucc.gate(*simulated.revisions(rng, n, 1.0, 1.1), coverage=COVERAGE, by=by)
        failed["equally good"] += not equal.passed
        failed["score 10% worse"] += not worse.passed
        together = min(holm([check.pvalue for check in worse.checks]))
        failed["the same, one level for all"] += together <= 1 - LEVEL
    what = f"with {segments} segments" if segments else "without segments"
    return _row("gates that fail", what, n, size, failed)


COSTS = tuple(product(("normal", "t(3)"), (30, 100, 300, 1000, 3000)))


def cost_of_choosing(errors: str, n: int, size: Size) -> Row:
    """How much less than a model that was not chosen the best of several equal ones covers, at its own factor."""
    rng = _generator(size, "cost", errors, n)
    law: Any = scipy.stats.norm if errors == "normal" else scipy.stats.t(3)
    rank = ceil((n + 1) * COVERAGE) - 1
    costs: dict[str, float] = {}
    for models in CHOSEN_FROM:
        samples = max(min(2 * size.samples, 100_000_000 // (n * models)), 50)
        lost = 0.0
        for _ in range(samples):
            residual = np.abs(law.rvs(size=(models, n), random_state=rng))
            sigma = np.exp(0.5 * rng.normal(size=(models, n)))
            factor = np.partition(residual, rank, axis=1)[:, rank]
            outside = np.maximum(residual - factor[:, None], 0)
            score = np.mean(sigma * (factor[:, None] + outside / (1 - COVERAGE)), axis=1)
            tails = 2 * law.sf(factor)
            lost += tails[np.argmin(score)] - tails.mean()
        costs[f"best of {models}"] = lost / samples
    return {"coverage that choosing costs": f"{errors} errors", "n": n, **costs}


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
