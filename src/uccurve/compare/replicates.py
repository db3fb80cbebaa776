"""Replicates: answers under resampling, and the confidence interval that they make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from uccurve import _checks as checks
from uccurve._checks import Array
from uccurve._progress import Tick
from uccurve.profile import blocks

from .resamples import Resamples
from .swaps import AnswersFromSums
from .units import positive

Method = Literal["BCa", "percentile"]
TIE = 1e-12
"""Share of an answer below which two of its values are taken for equal."""
GROUPS = 200
"""Groups that are left out in turn where leaving out each row would take a sweep each."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BootstrapInterval:
    """Confidence interval of one answer.

    Attributes
    ----------
    estimate : float
        The answer for the rows as they are.
    low, high : float
        Ends of the interval.
    standard_error : float
    confidence_level : float
    method : {"BCa", "percentile"}
    distribution : read-only array
        The answer for each resample.
    note : str
        What a reader must know before trusting the interval; empty where there is nothing.
    """

    estimate: float
    low: float
    high: float
    standard_error: float
    confidence_level: float
    method: Method
    distribution: Array
    note: str = ""

    def __repr__(self) -> str:
        note = f", note={self.note!r}" if self.note else ""
        return (
            f"BootstrapInterval(estimate={self.estimate:.4g}, low={self.low:.4g}, high={self.high:.4g}, "
            f"{self.confidence_level * 100:g} % {self.method}, {len(self.distribution)} resamples{note})"
        )


@dataclass(frozen=True, slots=True)
class Settings:
    """How intervals are made, checked."""

    confidence_level: float
    method: Method
    n_resamples: int

    def __post_init__(self) -> None:
        checks.choice("method", self.method, ("BCa", "percentile"))
        positive("n_resamples", self.n_resamples)
        level = checks.real("confidence_level", self.confidence_level, 0, 1)
        if level in (0, 1):
            raise ValueError(f"`confidence_level` must lie between 0 and 1; got {self.confidence_level!r}.")


class Replicates(NamedTuple):
    """Answers under resampling, with each unit (or group) left out, and for all rows, all by the same arithmetic."""

    values: Array
    left_out: Array
    whole: float

    def interval(self, estimate: float, settings: Settings) -> BootstrapInterval:
        """Confidence interval around an estimate."""
        defined = self.values[~np.isnan(self.values)]
        notes = []
        if len(defined) < len(self.values):
            missing = len(self.values) - len(defined)
            notes.append(f"{missing} of {len(self.values)} resamples have no answer and are left out")
        tail = (1 - settings.confidence_level) / 2
        levels, slack = (tail, 1 - tail), TIE * max(abs(self.whole), 1e-300)
        if not len(defined) or np.all(np.abs(defined - self.whole) <= slack):
            notes.append("the answer is the same in every resample")
            defined = np.array([estimate])
        elif settings.method == "BCa":
            corrected = self._corrected(defined, slack, levels)
            if corrected is None:
                notes.append("all resamples lie on one side of the estimate, so percentiles stand in for BCa")
            levels = corrected or levels
        low, high = _quantiles(defined, levels)
        self.values.setflags(write=False)
        finite = defined[np.isfinite(defined)]
        error = float(np.std(finite, ddof=1)) if len(finite) > 1 else 0.0
        how = settings.confidence_level, settings.method
        return BootstrapInterval(estimate, low, high, error, *how, self.values, "; ".join(notes))

    def _corrected(self, values: Array, slack: float, levels: tuple[float, float]) -> tuple[float, float] | None:
        """Levels of the quantiles after correcting for bias and acceleration; None where the bias has no bound."""
        normal = NormalDist()
        below = np.sum(values < self.whole - slack) + np.sum(np.abs(values - self.whole) <= slack) / 2
        share = float(below) / len(values)
        if share in (0, 1):
            return None
        bias = normal.inv_cdf(share)
        left_out = self.left_out[np.isfinite(self.left_out)]
        change = left_out.mean() - left_out
        spread = float(np.sum(change**2)) ** 1.5
        acceleration = float(np.sum(change**3)) / (6 * spread) if spread > 0 else 0.0

        def level(tail: float) -> float:
            z = bias + normal.inv_cdf(tail)
            return normal.cdf(bias + z / (1 - acceleration * z)) if acceleration * z < 1 else float(z > 0)

        return level(levels[0]), level(levels[1])


class Sums:
    """Sums of all columns that some questions need, resampled together."""

    def __init__(self, moments: Sequence[AnswersFromSums], resamples: Resamples, tick: Tick | None) -> None:
        self._columns = {name: column for one in moments for name, column in one.columns.items()}
        resampled = resamples.sums(list(self._columns.values()), tick)
        self._resampled = dict(zip(self._columns, resampled.T, strict=True))
        self._units = resamples.units

    def replicates(self, moments: AnswersFromSums) -> Replicates:
        """Answers to one of the questions."""
        units = [self._units.sums(self._columns[name]) for name in moments.columns]
        total = np.array([column.sum() for column in units])
        left_out = np.empty(self._units.count)
        for part in blocks(self._units.count):
            left_out[part] = moments.from_sums(total - np.stack([column[part] for column in units], axis=-1))
        resampled = np.stack([self._resampled[name] for name in moments.columns], axis=-1)
        return Replicates(moments.from_sums(resampled), left_out, float(moments.from_sums(total)))


def swept(
    answers: Callable[[Array], Array], weight: Array, batch: int, resamples: Resamples, tick: Tick | None
) -> Replicates:
    """Answers that need the order of the rows, for weights of them at a time."""
    values, done = np.empty(resamples.count), 0
    for counts in resamples.batches(batch):
        values[done : done + counts.shape[1]] = answers(counts * weight[:, None])
        done += counts.shape[1]
        if tick:
            tick(done, resamples.count)
    group, count = resamples.units.of_row[:, None] % GROUPS, min(resamples.units.count, GROUPS)
    left_out = [
        answers(np.where(group == np.arange(first, min(first + batch, count)), 0.0, weight[:, None]))
        for first in range(0, count, batch)
    ]
    return Replicates(values, np.concatenate(left_out), float(answers(weight[:, None])[0]))


def _quantiles(values: Array, levels: tuple[float, float]) -> tuple[float, float]:
    """Quantiles between resamples; where some are infinite, the resamples that enclose them."""
    if np.isfinite(values).all():
        low, high = np.quantile(values, levels)
    else:
        low, high = np.quantile(values, levels[0], method="lower"), np.quantile(values, levels[1], method="higher")
    return float(low), float(high)
