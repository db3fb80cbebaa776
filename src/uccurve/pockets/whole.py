"""Whole: one test of whether anything in the features predicts a miss.

Blocks are put in random order. A model of boosted trees learns on the first 40% of the rows and predicts the next
fifth, then learns on 60%, then on 80%. What is tested was never learnt from, and no row serves on both sides: the parts
are a martingale, so the test holds its level. Cross-fitting that lets each fold learn from all others does not: each
pair of rows then counts twice, and equal risks are called predictable in up to 13% of data sets at a level of 5%.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import nan, sqrt
from typing import Any

import numpy as np

from uccurve._arrays import Indices
from uccurve._distributions import t_tail
from uccurve._vocabulary import Array
from uccurve.pockets.features import Feature
from uccurve.pockets.misses import ShippedRows, Surroundings
from uccurve.pockets.trees import binned

PARTS = (0.4, 0.6, 0.8, 1.0)  # shares of the rows at which one part ends and the next begins
FEWEST_ROWS = 100
FEWEST_BLOCKS = 20
NEEDS = 'find_pockets needs scikit-learn: pip install "uccurve[sklearn]"'


@dataclass(frozen=True, slots=True)
class RiskTest:
    """The test of the whole: its t statistic with degrees of freedom, and the one-sided p-value."""

    statistic: float
    degrees: int
    pvalue: float


def savage_scores(values: Array) -> Array:
    """Return ``-log(1 - rank / (n + 1))``, equal for ties: how unusually large a value is, whatever its scale."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    middle = last - (counts - 1) / 2
    scores: Array = -np.log1p(-middle / (len(values) + 1))
    return scores[place]


def shuffled(data: Surroundings, seed: int) -> tuple[Indices, Array]:
    """Return the rows with their blocks in random order, and the share of the rows at the end of each row's block."""
    place = np.random.default_rng(seed).permutation(data.count)[data.of_row]
    order = np.argsort(place, kind="stable")
    last = np.searchsorted(place[order], place[order], side="right")
    return order, last / len(order)


def test_of_risk(model: ShippedRows, data: Surroundings) -> RiskTest:
    """Test whether features predict which rows a model misses."""
    order, reached = shuffled(data, data.asked.seed)
    score = savage_scores(model.critical)
    influence = np.zeros(len(order))
    for start, end in pairwise(PARTS):
        learnt = order[reached <= start]
        tested = order[(reached > start) & (reached <= end)]
        if len(learnt) and len(tested):
            columns = [_column(feature, score, learnt) for feature in data.features]
            risk = predicted(np.column_stack(columns), score, model.weights, (learnt, tested))
            influence[tested] = sqrt(len(learnt)) * _covariance(risk, model.take(tested))
    return _tested(influence, model, data)


def predicted(matrix: Array, score: Array, weights: Array, parts: tuple[Indices, Indices]) -> Array:
    """Return what boosted trees that learnt on some rows predict for others, in mean 0 and variance 1."""
    learnt, tested = parts
    boosting = _boosting(len(learnt))
    boosting.fit(matrix[learnt], score[learnt], sample_weight=weights[learnt])
    risk: Array = boosting.predict(matrix[tested])
    risk = risk - np.average(risk, weights=weights[tested])
    size = float(np.sqrt(np.average(risk**2, weights=weights[tested])))
    return risk / size if size > 1e-9 else np.zeros(len(risk))


def _boosting(rows: int) -> Any:
    """Return a small model of boosted trees."""
    try:
        from sklearn.ensemble import HistGradientBoostingRegressor
    except ModuleNotFoundError as error:
        raise ImportError(NEEDS) from error
    return HistGradientBoostingRegressor(
        max_iter=60,
        learning_rate=0.08,
        max_leaf_nodes=8,
        min_samples_leaf=max(10, rows // 40),
        l2_regularization=5.0,
        early_stopping=False,
        random_state=0,
    )


def _column(feature: Feature, score: Array, learnt: Indices) -> Array:
    """Return a feature as numbers; labels by the order of their score among the rows that are learnt from."""
    if feature.kind != "category":
        return feature.values
    bins = binned(feature.take(learnt), score[learnt])
    return bins.codes(feature).astype(np.float64)


def _covariance(risk: Array, model: ShippedRows) -> Array:
    """Return each row's part of the covariance of predicted risk and misses."""
    missed = ~model.covered
    weights = model.weights
    centred = missed - np.average(missed, weights=weights)
    return weights * risk * centred


def _tested(influence: Array, model: ShippedRows, data: Surroundings) -> RiskTest:
    """Return the t test of a sum over blocks that should be 0 where nothing predicts a miss."""
    sums = np.bincount(data.of_row, influence, data.count)
    missing = np.unique(data.of_row[~model.covered])
    tested = np.unique(data.of_row[influence != 0])
    degrees = min(len(tested), len(np.intersect1d(missing, tested))) - 1
    error = sqrt(float(np.sum(sums**2)))
    if degrees < 1:
        return RiskTest(nan, degrees, nan)
    if error <= 0:
        return RiskTest(0.0, degrees, 1.0)
    statistic = float(sums.sum()) / error
    half = t_tail(statistic, degrees) / 2
    return RiskTest(statistic, degrees, half if statistic > 0 else 1 - half)
