"""How often intervals contain the truth, and how often tests and verdicts raise a false alarm, on simulated data."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

import uccurve as ucc
from uccurve.results import Comparison

from . import populations as simulated
from .measure import Row
from .populations import ASYMMETRIC, HEAVY, LIGHT, SERIES, Population

LEVEL, COVERAGE = 0.95, 0.9
COLUMNS = {
    "coverage": "coverage",
    "scale": "scale",
    "half-width": "half_width",
    "score": "score",
    "CRPS": "crps",
    "skill": "skill",
    "gain m vs. b": "gain_bandwidth_miss_rate",
    "gain d vs. b": "gain_bandwidth_deficit",
    "gain d vs. e": "gain_excess_deficit",
}
"""Headings, and the fields of a model's row that have an interval."""
MISS_RATE: Any = ("bandwidth", "miss_rate")
DEFICIT: Any = ("bandwidth", "deficit")
Pair = Sequence[ucc.Intervals]
SEGMENTS = 20


class Size(NamedTuple):
    """How much is simulated. The seeds of the page differ from those that the code was written with."""

    seed: int
    samples: int
    swaps: int
    truth: int


FULL = Size(seed=141_421, samples=1000, swaps=499, truth=1_000_000)
QUICK = Size(seed=1, samples=12, swaps=99, truth=100_000)


def run(quick: bool = False) -> list[Row]:
    """Rows of all tables; one process for each core that this one may use."""
    jobs = list(_jobs(QUICK if quick else FULL))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    with ProcessPoolExecutor(cores) as pool:
        return list(pool.map(_called, jobs))


def _called(job: Callable[[], Row]) -> Row:
    return job()


def _jobs(size: Size) -> Iterable[Callable[[], Row]]:
    half = size._replace(samples=size.samples // 2)
    for population in (LIGHT, HEAVY, ASYMMETRIC):
        yield from (partial(coverage, population, n, size) for n in (50, 100, 300, 1000))
    for n, blocks in (
        (500, None),
        (500, 8),
        (500, 16),
        (5000, None),
        (5000, 8),
        (5000, 16),
        (5000, 100),
    ):
        yield partial(series_coverage, n, blocks, half)
    for population in (LIGHT, HEAVY):
        yield from (partial(resampled, population, n, half) for n in (50, 100, 300))
    yield from (partial(whole_curves, n, half) for n in (100, 1000))
    for name in EQUAL_SCORES:
        yield from (partial(t_test_size, name, n, size) for n in (50, 100, 300, 1000))
    yield from (partial(swap_test_size, n, size) for n in (50, 100, 300, 1000))
    for n in (100, 1000):
        yield from (partial(flip_test_size, n, ratio, half) for ratio in (1 / 3, 1, 3))
    yield from (
        partial(size_by_clusters, blocks, known, half)
        for blocks in (10, 30, 100)
        for known in (True, False)
    )
    yield from (partial(size_of_series, blocks, half) for blocks in (None, 8, 16))
    for name in ("oracle vs. noisy bands", "oracle vs. constant", "oracle vs. sqrt(sigma)"):
        yield from (partial(power, name, n, half) for n in (100, 300))
    for n in (100, 1000):
        yield from (partial(verdict_alarms, n, count, half) for count in (2, 5, 12))
    yield from (partial(segment_alarms, 1000, promised, half) for promised in (True, False))


# ---- intervals


def coverage(population: Population, n: int, size: Size) -> Row:
    """Share of samples whose intervals hold the true value, for everything that a model's row has an interval of."""
    rng, true = _generator(size, population.name, n), _truth(population, size)
    held = dict.fromkeys(COLUMNS, 0)
    for _ in range(size.samples):
        _count(held, true, ucc.assess(population.draw(rng, n), coverage=COVERAGE).rows[0])
    return _row("95% interval", population.name, n, size, held, nominal=LEVEL)


def series_coverage(n: int, blocks: int | None, size: Size) -> Row:
    """The same of a series, by rows or by that many blocks."""
    rng, true = _generator(size, "series", n, blocks or 0), _truth(SERIES, size)
    held = {name: 0 for name in COLUMNS if "gain" not in name}
    for _ in range(size.samples):
        iv = SERIES.draw(rng, n)
        _count(
            held, true, ucc.assess(iv, coverage=COVERAGE, block=blocks and -(-n // blocks)).rows[0]
        )
    what = "by single rows" if blocks is None else f"by {blocks} blocks"
    return _row("95% interval of a series", what, n, size, held, nominal=LEVEL)


def resampled(population: Population, n: int, size: Size) -> Row:
    """Intervals by influence beside BCa intervals of the same samples."""
    rng, true = _generator(size, "resampled", population.name, n), _truth(population, size)
    asked: dict[str, dict[str, Any]] = {
        "score": {"statistic": "score", "coverage": COVERAGE},
        "skill": {"statistic": "skill"},
        "gain d vs. b": {"statistic": "gain", "axes": DEFICIT},
    }
    held = {f"{name}, {how}": 0 for name in asked for how in ("influence", "BCa")}
    for _ in range(size.samples):
        iv = population.draw(rng, n)
        row = ucc.assess(iv, coverage=COVERAGE).rows[0]
        for name, options in asked.items():
            held[f"{name}, influence"] += _holds(row, COLUMNS[name], true[COLUMNS[name]])
            found = ucc.bootstrap(iv, n_resamples=size.swaps, seed=rng, **options)
            held[f"{name}, BCa"] += found.low <= true[COLUMNS[name]] <= found.high
    return _row("95% interval, two ways", population.name, n, size, held, nominal=LEVEL)


def whole_curves(n: int, size: Size) -> Row:
    """Bands of whole curves on the paper's axes: at all of their places, and without the 5% at either end."""
    rng, kinds = _generator(size, "curves", n), ("pointwise", "simultaneous")
    held = {f"{kind}, {part}": 0 for kind in kinds for part in ("all", "inner 90%")}
    truth = ucc.UCC(LIGHT.draw(_generator(size, "truth"), size.truth)).points()
    for _ in range(size.samples):
        iv = LIGHT.draw(rng, n)
        for kind in kinds:
            band = ucc.confidence_band(iv, kind=kind, n_resamples=size.swaps, seed=rng)  # type: ignore[arg-type]
            true = truth.y[np.searchsorted(truth.x, band.x, side="right") - 1]
            inside, end = (band.low <= true) & (true <= band.high), len(band) // 20
            held[f"{kind}, all"] += bool(inside.all())
            held[f"{kind}, inner 90%"] += bool(inside[end:-end].all())
    return _row("95% band of a whole curve", LIGHT.name, n, size, held, nominal=LEVEL)


def _truth(population: Population, size: Size) -> dict[str, float]:
    """True values: closed forms, else from a sample with 3% of the standard error of 1000 rows."""
    rows = population.draw(_generator(size, population.name, 0), size.truth)
    row = ucc.assess(rows, coverage=COVERAGE).rows[0]
    true = {field: getattr(row, field) for field in COLUMNS.values()}
    if population.gain_bandwidth_deficit is not None:
        true |= {
            "gain_bandwidth_miss_rate": 0.0,
            "gain_bandwidth_deficit": population.gain_bandwidth_deficit,
        }
    return true


def _count(held: dict[str, int], true: dict[str, float], row: Any) -> None:
    for name in held:
        held[name] += _holds(row, COLUMNS[name], true[COLUMNS[name]])


def _holds(row: Any, field: str, true: float) -> bool:
    return bool(getattr(row, f"{field}_low") <= true <= getattr(row, f"{field}_high"))


# ---- tests of equal models


def t_test_size(name: str, n: int, size: Size) -> Row:
    """Paired t tests, as in `assess`, of two models with equal scores, or with equal potential CRPS."""
    rng, found = _generator(size, name, n), dict[str, int]()
    for _ in range(size.samples):
        pairs = EQUAL_SCORES[name](rng, n)
        _alarm(found, {kind: _t_test(pair, **RANKED_BY[kind]) for kind, pair in pairs.items()})
    return _row("t test of equal models", name, n, size, found)


RANKED_BY: dict[str, dict[str, Any]] = {"score": {"coverage": COVERAGE}, "CRPS": {"coverage": None}}


def _shapes(rng: np.random.Generator, n: int) -> dict[str, Pair]:
    return {kind: simulated.shapes(rng, n, kind.lower()) for kind in RANKED_BY}


def _predictions(rng: np.random.Generator, n: int, ratio: float = 1.0) -> dict[str, Pair]:
    return dict.fromkeys(RANKED_BY, simulated.same_score(rng, n, ratio))


def _careless(rng: np.random.Generator, n: int) -> dict[str, Pair]:
    return {"score": simulated.careless(rng, n)}


EQUAL_SCORES: dict[str, Callable[[np.random.Generator, int], dict[str, Pair]]] = {
    "same predictions, other shapes": _shapes,
    "other predictions": _predictions,
    "errors x 3, light tails": _careless,
    "errors x 3, heavy tails": partial(_predictions, ratio=3),
    "errors x 1/3, heavy tails": partial(_predictions, ratio=1 / 3),
}


def swap_test_size(n: int, size: Size) -> Row:
    """Permutation tests of two models with the same predictions and equal areas."""
    rng, found = _generator(size, "swaps", n), dict[str, int]()
    for _ in range(size.samples):
        pair = simulated.shapes(rng, n, "area")
        tests = {
            "swaps, m vs. b": _permutation_test(pair, size, rng, axes=MISS_RATE),
            "swaps, d vs. b": _permutation_test(pair, size, rng, axes=DEFICIT),
        }
        _alarm(found, tests)
    return _row("permutation test of equal areas", "same predictions, other shapes", n, size, found)


def flip_test_size(n: int, ratio: float, size: Size) -> Row:
    """Permutation tests of equal gains or skill of models with different predictions and errors of different size."""
    rng, found = _generator(size, "flips", n, round(60 * ratio)), dict[str, int]()
    for _ in range(size.samples):
        pair, other = simulated.same_gain(rng, n, ratio), simulated.same_skill(rng, n, ratio)
        tests = {
            "flips, gain d vs. b": _permutation_test(
                pair, size, rng, statistic="gain", axes=DEFICIT
            ),
            "flips, skill": _permutation_test(other, size, rng, statistic="skill"),
            "naive swaps, gain d vs. b": _naive_swaps(pair, size, rng),
        }
        _alarm(found, tests)
    what = "other predictions, errors x " + {1 / 3: "1/3"}.get(ratio, f"{ratio:g}")
    return _row("permutation test of equal gains", what, n, size, found)


def _naive_swaps(pair: Pair, size: Size, rng: np.random.Generator) -> float:
    """P-value of swapping rows with different predictions, which `permutation_test` does not do."""
    bands = [iv.upper_band / iv.upper_band.mean() for iv in pair]
    errors = [np.abs(iv.y_true - iv.y_pred) for iv in pair]

    def difference(swapped: Any) -> Any:
        areas = []
        for flag in (swapped, ~swapped):
            band, square = np.where(flag, *bands), np.where(flag, *errors) ** 2
            areas.append(band.mean(-1) * (square / band).mean(-1) / square.mean(-1))
        return np.abs(areas[0] - areas[1])

    swapped = rng.integers(0, 2, (size.swaps, len(errors[0])), dtype=np.bool_)
    extreme = difference(swapped) >= difference(np.ones(len(errors[0]), np.bool_))
    return float((1 + extreme.sum()) / (1 + size.swaps))


def size_by_clusters(count: int, known: bool, size: Size) -> Row:
    """Clusters of 10 rows that share their noise, with and without telling."""
    n = 10 * count
    block = np.repeat(np.arange(count), 10) if known else None
    draw = partial(simulated.clusters, n=n, size=10)
    what = f"{count} clusters of 10, {'as blocks' if known else 'by single rows'}"
    return _size_by_blocks(what, draw, n, block, size)


def size_of_series(count: int | None, size: Size, n: int = 2000) -> Row:
    """Two models of a series, by single rows or by that many blocks."""
    what = "AR(0.9) series, by single rows" if count is None else f"AR(0.9) series, {count} blocks"
    return _size_by_blocks(
        what, partial(simulated.series_pair, n=n), n, count and -(-n // count), size
    )


def _size_by_blocks(what: str, draw: Callable[..., Pair], n: int, block: Any, size: Size) -> Row:
    rng, found = _generator(size, what, n), dict[str, int]()
    for _ in range(size.samples):
        pair = draw(rng)
        tests = {
            "t, score": _t_test(pair, block=block),
            "t, CRPS": _t_test(pair, coverage=None, block=block),
            "swaps, m vs. b": _permutation_test(pair, size, rng, axes=MISS_RATE, block=block),
            "swaps, d vs. b": _permutation_test(pair, size, rng, axes=DEFICIT, block=block),
        }
        _alarm(found, tests)
    return _row("test of equal models, dependent rows", what, n, size, found)


def _t_test(pair: Pair, **options: Any) -> float:
    """P-value of the paired t test; of one pair, so that Holm's method leaves it as it is."""
    return _compared(pair, **options).pvalue


def _compared(pair: Pair, **options: Any) -> Comparison:
    models = dict(zip("ab", pair, strict=True))
    return ucc.assess(models, **{"coverage": COVERAGE, "axes": UNUSED, **options}).comparisons[0]


UNUSED: Any = ("bandwidth", "bandwidth")
"""Axes on which curves are not compared, which saves the time for their crossings."""


def _permutation_test(pair: Pair, size: Size, rng: np.random.Generator, **options: Any) -> float:
    return ucc.permutation_test(*pair, n_resamples=size.swaps, seed=rng, **options).pvalue


def _alarm(found: dict[str, int], pvalues: dict[str, float]) -> None:
    for name, pvalue in pvalues.items():
        found[name] = found.get(name, 0) + (pvalue <= 1 - LEVEL)


# ---- power, verdicts, segments


def power(name: str, n: int, size: Size) -> Row:
    """Share of samples in which the oracle is found to be better, and with the paper's axes to be worse."""
    rng, found = _generator(size, name, n), dict[str, int]()
    for _ in range(size.samples):
        pair = _oracle_and(name, rng, n)
        _alarm(
            found, {f"t, {kind}": _better(pair, **options) for kind, options in RANKED_BY.items()}
        )
        tests = {
            axes[1]: ucc.permutation_test(*pair, n_resamples=size.swaps, seed=rng, axes=axes)
            for axes in SWAPPED
        }
        shown = {
            "swaps, d vs. b": tests["deficit"].pvalue if tests["deficit"].statistic < 0 else 1.0,
            "swaps, m vs. b": tests["miss_rate"].pvalue
            if tests["miss_rate"].statistic < 0
            else 1.0,
            "m vs. b, wrong way": tests["miss_rate"].pvalue
            if tests["miss_rate"].statistic > 0
            else 1.0,
        }
        _alarm(found, shown)
    return _row("power at 0.05", name, n, size, found, nominal=None)


SWAPPED = (DEFICIT, MISS_RATE)


def _oracle_and(name: str, rng: np.random.Generator, n: int) -> Pair:
    sigma = rng.lognormal(0, 0.5, n)
    error, noise = sigma * rng.normal(size=n), rng.lognormal(0, 0.4, n)
    others = {"noisy bands": sigma * noise, "constant": np.ones(n), "sqrt(sigma)": np.sqrt(sigma)}
    return [
        simulated.around_zero(error, band)
        for band in (sigma, others[name.removeprefix("oracle vs. ")])
    ]


def _better(pair: Pair, **options: Any) -> float:
    """P-value of the paired t test where the first model has the lower value, else 1."""
    test = _compared(pair, **options)
    return test.pvalue if test.difference < 0 else 1.0


def verdict_alarms(n: int, count: int, size: Size) -> Row:
    """Share of samples in which one of several equal models is declared better than the runner-up."""
    rng = _generator(size, "verdict", n, count)
    found = dict.fromkeys(("decided by score", "decided by CRPS", "any pair by score"), 0)
    for _ in range(size.samples):
        models = simulated.equal_models(rng, n, count)
        by_score, by_crps = (ucc.assess(models, coverage=asked) for asked in (COVERAGE, None))
        found["decided by score"] += by_score.verdict.decided
        found["decided by CRPS"] += by_crps.verdict.decided
        found["any pair by score"] += any(one.better is not None for one in by_score.comparisons)
    return _row("verdict among equal models", f"{count} models", n, size, found)


def segment_alarms(n: int, promised: bool, size: Size) -> Row:
    """Share of samples in which any of 20 segments fails, though all of them are covered as they should be."""
    rng, found = _generator(size, "segments", n, int(promised)), {"any fails": 0}
    for _ in range(size.samples):
        sigma = rng.uniform(0.5, 1.5, n)
        iv = simulated.around_zero(sigma * rng.normal(size=n), 1.6448536 * sigma)
        by = rng.integers(0, SEGMENTS, n).astype(str)
        found["any fails"] += bool(
            ucc.assess(iv, coverage=COVERAGE if promised else None, by=by).failing
        )
    what = "against the promise" if promised else "against the other rows"
    return _row(f"failure among {SEGMENTS} equal segments", what, n, size, found)


def _row(
    kind: str,
    what: str,
    n: int,
    size: Size,
    found: dict[str, int],
    *,
    nominal: float | None = 1 - LEVEL,
) -> Row:
    """Shares of the samples, their nominal value, and the standard error of a share that has it."""
    row: Row = {kind: what, "N": n, "samples": size.samples}
    row |= {name: count / size.samples for name, count in found.items()}
    if nominal is None:
        return row
    return row | {
        "nominal": round(nominal, 6),
        "standard error": standard_error(nominal, size.samples),
    }


def standard_error(share: float, samples: int) -> float:
    """Return the standard error of a share of independent samples."""
    return float(np.sqrt(share * (1 - share) / samples))


def _generator(size: Size, *key: str | int) -> np.random.Generator:
    """Return a generator of its own for each row of a table, so that one can be simulated again alone."""
    words = [part if isinstance(part, int) else crc32(part.encode()) for part in key]
    return np.random.default_rng([size.seed, *words])
