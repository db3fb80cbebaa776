"""Clusters: whether misses come in runs, where the order of the rows is known."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from math import exp, inf, lgamma, nan, sqrt
from typing import Any

import numpy as np

from uccurve._arrays import Flags, Indices
from uccurve._distributions import t_tail
from uccurve._vocabulary import Array
from uccurve.evidence.units import Blocks, sums

FEWEST_PERIODS = 20
COUNTED = 2_000  # misses up to which runs are counted exactly
DATED = re.compile(r"\d{4}(-?\d{2}){1,2}([T ].*)?|\d{4}-?(W\d{2}|Q[1-4])")


@dataclass(frozen=True, slots=True)
class Clustering:
    """How often a miss follows a miss.

    Attributes
    ----------
    after_a_miss, overall : float
        Share of misses among the rows one period after a miss, and among all rows.
    pvalue : float
        Probability of a share as high by chance, where periods are independent: Christoffersen's independence.
    """

    after_a_miss: float
    overall: float
    pvalue: float


def clustering(missed: Flags, blocks: Blocks) -> Clustering | None:
    """Test whether misses follow misses; None where the order is not known, or too little is there.

    Examples
    --------
    >>> from uccurve.intervals import Intervals
    >>> y = np.tile(np.r_[np.zeros(45), np.full(5, 9.0)], 2)
    >>> iv = Intervals.from_bands(y, np.zeros(100), np.ones(100))
    >>> clustering(y > 1, Blocks.of(iv, 5))
    Clustering(after_a_miss=0.8888888888888888, overall=0.1, pvalue=2.134335e-09)
    """
    period = periods(blocks)
    if period is None:
        return None
    count = int(period.max()) + 1
    rows = sums(period, None, count)
    misses = sums(period, missed.astype(np.float64), count)
    if count < FEWEST_PERIODS or not 0 < misses.sum() < rows.sum():
        return None
    if rows.max() == 1:
        pvalue = runs_pvalue(misses > 0)
    else:
        pvalue = neighbours_pvalue((misses - misses.sum() / rows.sum() * rows) / np.sqrt(rows))
    followed = misses[:-1]
    after = float(np.average(misses[1:] / rows[1:], weights=followed)) if followed.any() else nan
    return Clustering(after, float(misses.sum() / rows.sum()), float(f"{pvalue:.7g}"))


def periods(blocks: Blocks) -> Indices | None:
    """Return the period of each row, from 0 and in order; None where no order is known.

    Blocks of a number of consecutive rows say that rows are in order, blocks by dates or numbers that these are.
    """
    if blocks.run is not None:
        return None
    if blocks.consecutive:
        return np.unique(blocks.row, return_inverse=True)[1]
    is_dated = len(blocks.labels) > 0 and all(map(is_ordered, blocks.labels))
    if blocks.label is None or not is_dated:
        return None
    rank = np.argsort(np.argsort(blocks.label, kind="stable"), kind="stable")
    period: Indices = rank[blocks.of_row]
    return period


def is_ordered(label: Any) -> bool:
    """Whether a label is a date, a number, or text that begins with a year and a month.

    >>> [is_ordered(label) for label in ("2024-03-01", "2024-W05", "20240301", "patient 7", 3)]
    [True, True, True, False, True]
    """
    if isinstance(label, str):
        return DATED.fullmatch(label) is not None
    return isinstance(label, int | float | np.number | dt.date | np.datetime64)


def runs_pvalue(missed: Flags) -> float:
    """Return the probability of at most so many runs of misses, given how many there are (exact).

    >>> runs_pvalue(
    ...     np.array([False, True, True, False, False])
    ... )  # 4 of the 10 pairs of rows are neighbours
    0.4
    """
    misses = int(np.count_nonzero(missed))
    others = len(missed) - misses
    if misses > COUNTED:
        return neighbours_pvalue(missed - missed.mean())
    runs = int(np.count_nonzero(missed[1:] & ~missed[:-1])) + int(missed[0])
    total = _log_choose(len(missed), misses)
    logs = [
        _log_choose(misses - 1, number - 1) + _log_choose(others + 1, number) - total
        for number in range(1, runs + 1)
    ]
    return min(float(f"{sum(map(exp, logs)):.12g}"), 1.0)


def neighbours_pvalue(values: Array) -> float:
    """Return the one-sided p-value of Wald and Wolfowitz's test that neighbours are alike; `values` sum to about 0."""
    centred = values - values.mean()
    count = len(centred)
    squares = float(np.sum(centred**2))
    fourths = float(np.sum(centred**4))
    products = float(np.dot(centred, np.roll(centred, 1)))
    mean = -squares / (count - 1)
    variance = (squares**2 - fourths) / (count - 1) - mean**2
    variance += (squares**2 - 2 * fourths) / ((count - 1) * (count - 2))
    if variance <= 0:
        return 1.0
    statistic = (products - mean) / sqrt(variance)
    half = t_tail(statistic, count - 1) / 2
    return half if statistic > 0 else 1 - half


def _log_choose(total: int, chosen: int) -> float:
    """Logarithm of the number of ways to choose; minus infinity where there is none."""
    if not 0 <= chosen <= total:
        return -inf
    return lgamma(total + 1) - lgamma(chosen + 1) - lgamma(total - chosen + 1)
