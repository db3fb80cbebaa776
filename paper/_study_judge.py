"""What the study says of its methods: regrets, ranks and their tests, and what both owe to the choice of data."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range
from sklearn.tree import DecisionTreeRegressor

from uccurve import coverage_score

from ._study_bench import LEVELS, middle_and_half, score_of
from .experiment import Floats
from .results import finite

MAIN = LEVELS.index(0.9)
SMALL = 500  # training rows below which a data set counts as small
PRACTICAL = 0.01  # relative difference of scores that nobody would change a method for
SAMPLES = 20_000  # of the Bayesian test
RESAMPLES = 10_000  # of the origins
SURE = 0.95
POCKETS = 8  # most parts in which the worst pocket is looked for
SMALLEST_POCKET = 20
HALVES = 5  # times that test rows are divided into those that name the worst pocket and those that measure it
DIGITS = 12


# ---- one method on one data set


@dataclass(frozen=True, slots=True)
class Measured:
    """Score, coverage and mean width by level; coverage of the worst pocket at 90%."""

    score: list[float]
    coverage: list[float]
    width: list[float]
    worst_pocket: float


def measured(X: Floats, y: Floats, forecast: Floats) -> Measured:
    """Return what the tables show of a method's test rows."""
    coverage, width = [], []
    for place in range(len(LEVELS)):
        _, half = middle_and_half(forecast, place)
        coverage.append(float(coverage_score(y, forecast[1 + place], forecast[4 + place])))
        width.append(float(2 * half.mean()))
    missed = (y < forecast[1 + MAIN]) | (y > forecast[4 + MAIN])
    return Measured(
        rounded(score_of(y, forecast)),
        rounded(coverage),
        rounded(width),
        round(worst_pocket(X, missed), DIGITS),
    )


def rounded(values: Sequence[float]) -> list[float]:
    """Return values to the digits that machines agree on."""
    return [float(f"{value:.{DIGITS}g}") for value in values]


def worst_pocket(X: Floats, missed: Any) -> float:
    """Return the coverage of the worst pocket, honestly: half of the rows name it, the other half measures it.

    A pocket is a leaf of a small tree of the misses. The average over both halves and several divisions.
    """
    target = missed.astype(float)
    rng = np.random.default_rng(len(target))
    covered = []
    for _ in range(HALVES):
        order = rng.permutation(len(target))
        halves = np.array_split(order, 2)
        for named, other in (halves, halves[::-1]):
            leaf = max(SMALLEST_POCKET, len(named) // POCKETS // 2)
            tree = DecisionTreeRegressor(
                max_leaf_nodes=POCKETS, min_samples_leaf=leaf, random_state=0
            ).fit(X[named], target[named])
            inside = tree.predict(X[other]) == tree.tree_.value[:, 0, 0][leaves(tree)].max()
            if inside.any():
                covered.append(1 - target[other][inside].mean())
    return float(np.mean(covered))


def leaves(tree: Any) -> Any:
    """Return which nodes of a tree are leaves."""
    return tree.tree_.children_left < 0


# ---- all methods on some data sets

Scores = Mapping[str, Mapping[str, float]]  # by data set and method; small is good


@dataclass(frozen=True, slots=True)
class Ranking:
    """Methods from the best mean rank to the worst, over the data sets on which all of them ran."""

    data: list[str]
    mean_rank: dict[str, float]
    regret: dict[str, float]  # median over data sets, against the best method of each
    critical_difference: float | None
    friedman_pvalue: float | None

    @property
    def leader(self) -> str:
        """Return the method with the best mean rank."""
        return next(iter(self.mean_rank))


def ranking(scores: Scores) -> Ranking:
    """Return mean ranks and median regrets, with Friedman's p and Nemenyi's critical difference at 5%."""
    methods, table = matrix(scores)
    n, k = table.shape
    ranks = rankdata(table, axis=1).mean(axis=0)
    best = table.min(axis=1, keepdims=True)
    regrets = np.median(table / best - 1, axis=0)
    order = np.argsort(ranks, kind="stable")
    critical = studentized_range.ppf(0.95, k, np.inf) * np.sqrt(k * (k + 1) / (12 * n))
    pvalue = friedmanchisquare(*table.T).pvalue if k > 2 and n > 1 else np.nan
    return Ranking(
        list(scores),
        {methods[place]: float(f"{ranks[place]:.8g}") for place in order},
        {methods[place]: float(f"{regrets[place]:.8g}") for place in order},
        finite(float(critical)) if k > 1 else None,
        finite(float(pvalue)),
    )


def matrix(scores: Scores) -> tuple[list[str], Floats]:
    """Return the methods that ran on all data sets, and a row of scores per data set."""
    rows = list(scores.values())
    methods = [name for name in rows[0] if all(name in row for row in rows)]
    return methods, np.array([[row[name] for name in methods] for row in rows])


@dataclass(frozen=True, slots=True)
class Comparison:
    """How sure it is that the first method is better, as good for all practical purposes, or worse."""

    better: float
    same: float
    worse: float


def signed_rank(scores: Scores, first: str, other: str) -> Comparison:
    """Return the Bayesian signed-rank test of relative differences, with a region of practical equivalence.

    Benavoli, Corani, Demsar and Zaffalon (2017): a Dirichlet process with one pseudo data set of no difference at
    strength 1/2. Each sample of weights is a vote for where most of the pairwise means lie.
    """
    both = [row for row in scores.values() if first in row and other in row]
    relative = np.array([0.0] + [np.log(row[first] / row[other]) for row in both])
    border = np.log1p(PRACTICAL)
    sums = (relative[:, None] + relative) / 2
    rng = np.random.default_rng(len(relative))
    strength = np.array([0.5] + [1.0] * len(both))
    weights = rng.dirichlet(strength, SAMPLES)
    zones = [sums < -border, np.abs(sums) <= border, sums > border]
    mass = np.stack([np.einsum("si,ij,sj->s", weights, zone, weights) for zone in zones])
    votes = np.bincount(mass.argmax(axis=0), minlength=3) / SAMPLES
    return Comparison(*map(float, votes))


@dataclass(frozen=True, slots=True)
class Origins:
    """How often each method leads when origins are drawn with replacement, and who leads when one is left out."""

    lead: dict[str, float]
    rank_low: dict[str, float]
    rank_high: dict[str, float]
    without: dict[str, str]


def origins(scores: Scores, origin: Mapping[str, str]) -> Origins:
    """Return what the leader owes to the choice of data sets."""
    methods, table = matrix(scores)
    ranks = rankdata(table, axis=1)
    labels = np.array([origin[name] for name in scores])
    names = np.unique(labels)
    sums = np.array([ranks[labels == name].sum(axis=0) for name in names])
    sizes = np.array([(labels == name).sum() for name in names])
    rng = np.random.default_rng(len(names))
    drawn = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), RESAMPLES)
    means = drawn @ sums / (drawn @ sizes)[:, None]
    first = np.bincount(means.argmin(axis=1), minlength=len(methods)) / RESAMPLES
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    without = {}
    for place, name in enumerate(names if len(names) > 1 else []):
        rest = (sums.sum(axis=0) - sums[place]) / (sizes.sum() - sizes[place])
        without[str(name)] = methods[int(rest.argmin())]
    return Origins(
        {name: float(value) for name, value in zip(methods, first, strict=True)},
        {name: finite(value) or 0.0 for name, value in zip(methods, low, strict=True)},
        {name: finite(value) or 0.0 for name, value in zip(methods, high, strict=True)},
        without,
    )


@dataclass(frozen=True, slots=True)
class Group:
    """What is said of one group of data sets at one level."""

    ranking: Ranking
    against: dict[str, Comparison]  # the leader against each other method
    origins: Origins


def group(scores: Scores, origin: Mapping[str, str]) -> Group:
    """Return the ranking of a group, its leader against each other method, and what it owes to the origins."""
    ranked = ranking(scores)
    others = list(ranked.mean_rank)[1:]
    against = {name: signed_rank(scores, ranked.leader, name) for name in others}
    return Group(ranked, against, origins(scores, origin))


def as_json(found: Group) -> dict[str, Any]:
    """Return a group for the JSON file."""
    return asdict(found) | {"leader": found.ranking.leader}
