"""Bootstrap: how far an answer may be off because these rows are a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from uccurve import checks
from uccurve.checks import HEADLINE, Array, Axes
from uccurve.curve import Range, Unit
from uccurve.intervals import Intervals
from uccurve.profile import Profile, Vary
from uccurve.progress import Progress, Tick, watched

from .moments import Moments
from .question import Question, Statistic
from .resamples import Resamples
from .sweep import Ordered
from .units import Units, positive

Method = Literal["BCa", "percentile"]
Seed = int | np.random.Generator | None
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


def bootstrap(
    intervals: Intervals,
    *,
    statistic: Statistic = "gain",
    axes: Axes = HEADLINE,
    vary: Vary = "scale",
    miss_rate: Range | None = None,
    bandwidth: Range | None = None,
    excess: Range | None = None,
    deficit: Range | None = None,
    overshoot: Range | None = None,
    c: float | None = None,
    alpha: float | None = None,
    unit: Unit = "raw",
    confidence_level: float = 0.95,
    method: Method = "BCa",
    n_resamples: int = 1999,
    seed: Seed = None,
    block: int | npt.ArrayLike | None = None,
    progress: Progress = None,
) -> BootstrapInterval:
    """Confidence interval of an answer, from drawing the rows again with replacement.

    Parameters
    ----------
    intervals : Intervals
    statistic, axes, vary, miss_rate, bandwidth, excess, deficit, overshoot, c, alpha, unit
        As in `permutation_test`.
    confidence_level : float
    method : {"BCa", "percentile"}
        ``"percentile"`` reads the interval off the resamples; ``"BCa"`` corrects it for bias and skewness
        (Efron 1987).
    n_resamples : int
    seed : int or numpy.random.Generator, optional
    block : int or array_like, optional
        Rows that hang together are drawn together: a number of consecutive rows (circular blocks, for time series), or
        one label a row (groups, repeated measures).
    progress : bool or callable, optional
        As in `permutation_test`.

    Returns
    -------
    BootstrapInterval

    Notes
    -----
    Weights go with their rows. The acceleration of a BCa interval comes from leaving out each unit in turn where the
    answer depends on a few sums, and otherwise from leaving out each of 200 groups of units. From 10,000 units on,
    rows get one of two random weights in place of counts; see `compare.resamples.Resamples`. How often the intervals
    hold the truth is measured in the documentation, under significance.

    References
    ----------
    B. Efron (1987), Better Bootstrap Confidence Intervals.
    D. N. Politis and J. P. Romano (1992), A Circular Block-Resampling Procedure for Stationary Data.

    Examples
    --------
    >>> y = [1.0, 2.0, 4.0, 0.5, 3.0, 2.5, 5.0, 1.5]
    >>> sharp = Intervals.from_bands(y, [0.0] * 8, [0.9, 2.2, 3.9, 0.6, 2.8, 2.6, 5.2, 1.3])
    >>> bootstrap(sharp, axes=("bandwidth", "deficit"), seed=0)
    BootstrapInterval(...)
    """
    ranges = {
        "miss_rate": miss_rate,
        "bandwidth": bandwidth,
        "excess": excess,
        "deficit": deficit,
        "overshoot": overshoot,
    }
    question = Question.of(intervals, statistic=statistic, axes=axes, vary=vary, c=c, alpha=alpha, unit=unit, **ranges)
    units = Units.of(intervals, block)
    settings = Settings(confidence_level, method, n_resamples)
    with watched(progress, "resamples") as tick:
        (answer,) = interval_estimates(
            intervals, [question], units, settings, rng=np.random.default_rng(seed), tick=tick
        )
    return answer


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


def interval_estimates(
    intervals: Intervals,
    questions: Sequence[Question],
    units: Units,
    settings: Settings,
    *,
    rng: np.random.Generator,
    tick: Tick | None = None,
) -> list[BootstrapInterval]:
    """Answer several questions at once; those that a few sums answer share their resamples."""
    if units.count < 2:
        raise ValueError("a bootstrap needs at least two rows (or blocks) to draw from; there is 1.")
    estimates = [question.finite_value(intervals, "intervals") for question in questions]
    profiles = {question.vary: Profile.of(intervals, question.vary) for question in questions}
    moments = [Moments.of(profiles[question.vary], question) for question in questions]
    sums = _Sums([one for one in moments if one], units, settings, rng, tick)
    out = []
    for question, estimate, moment in zip(questions, estimates, moments, strict=True):
        if moment is None:
            replicates = _swept(profiles[question.vary], question, Resamples(units, settings.n_resamples, rng), tick)
        else:
            replicates = sums.replicates(moment)
        out.append(_interval(estimate, replicates, settings))
    return out


class _Replicates(NamedTuple):
    """Answers under resampling, with each unit (or group) left out, and for all rows, all by the same arithmetic."""

    values: Array
    left_out: Array
    whole: float


class _Sums:
    """Sums of all columns that some questions need, resampled together."""

    def __init__(
        self, moments: list[Moments], units: Units, settings: Settings, rng: np.random.Generator, tick: Tick | None
    ) -> None:
        self._names = list(dict.fromkeys(name for one in moments for name in one.columns))
        if not moments:
            return
        columns = {name: column for one in moments for name, column in one.columns.items()}
        table = np.column_stack([columns[name] for name in self._names])
        self._units = np.column_stack([units.sums(column) for column in table.T])
        self._total = self._units.sum(axis=0)
        self._resampled = Resamples(units, settings.n_resamples, rng).sums(table, tick)

    def replicates(self, moments: Moments) -> _Replicates:
        own = [self._names.index(name) for name in moments.columns]
        left_out = moments.from_sums(self._total[own] - self._units[:, own])
        whole = float(moments.from_sums(self._total[own]))
        return _Replicates(moments.from_sums(self._resampled[:, own]), left_out, whole)


def _swept(profile: Profile, question: Question, resamples: Resamples, tick: Tick | None) -> _Replicates:
    ordered = Ordered(profile, question)
    weight = np.ones(len(profile.error)) if profile.weight is None else profile.weight
    values, done = np.empty(resamples.count), 0
    for batch in resamples.batches(ordered.batch):
        values[done : done + batch.shape[1]] = ordered.answers(batch * weight[:, None])
        done += batch.shape[1]
        if tick:
            tick(done, resamples.count)
    group, count = resamples.units.of_row[:, None] % GROUPS, min(resamples.units.count, GROUPS)
    left_out = [
        ordered.answers(np.where(group == np.arange(first, min(first + ordered.batch, count)), 0.0, weight[:, None]))
        for first in range(0, count, ordered.batch)
    ]
    return _Replicates(values, np.concatenate(left_out), float(ordered.answers(weight[:, None])[0]))


def _interval(estimate: float, replicates: _Replicates, settings: Settings) -> BootstrapInterval:
    values = replicates.values
    defined = values[~np.isnan(values)]
    notes = []
    if len(defined) < len(values):
        notes.append(f"{len(values) - len(defined)} of {len(values)} resamples have no answer and are left out")
    tail = (1 - settings.confidence_level) / 2
    levels = tail, 1 - tail
    slack = TIE * max(abs(replicates.whole), 1e-300)
    if not len(defined) or np.all(np.abs(defined - replicates.whole) <= slack):
        notes.append("the answer is the same in every resample")
        defined = np.array([estimate])
    elif settings.method == "BCa":
        corrected = _corrected(defined, replicates, slack, levels)
        if corrected is None:
            notes.append("all resamples lie on one side of the estimate, so percentiles stand in for BCa")
        levels = corrected or levels
    low, high = _quantiles(defined, levels)
    values.setflags(write=False)
    finite = defined[np.isfinite(defined)]
    error = float(np.std(finite, ddof=1)) if len(finite) > 1 else 0.0
    return BootstrapInterval(
        estimate, low, high, error, settings.confidence_level, settings.method, values, "; ".join(notes)
    )


def _corrected(
    values: Array, replicates: _Replicates, slack: float, levels: tuple[float, float]
) -> tuple[float, float] | None:
    """Levels of the quantiles after correcting for bias and acceleration; None where the bias has no bound."""
    normal = NormalDist()
    below = np.sum(values < replicates.whole - slack) + np.sum(np.abs(values - replicates.whole) <= slack) / 2
    share = float(below) / len(values)
    if share in (0, 1):
        return None
    bias = normal.inv_cdf(share)
    left_out = replicates.left_out[np.isfinite(replicates.left_out)]
    change = left_out.mean() - left_out
    spread = float(np.sum(change**2)) ** 1.5
    acceleration = float(np.sum(change**3)) / (6 * spread) if spread > 0 else 0.0

    def level(tail: float) -> float:
        z = bias + normal.inv_cdf(tail)
        return normal.cdf(bias + z / (1 - acceleration * z)) if acceleration * z < 1 else float(z > 0)

    return level(levels[0]), level(levels[1])


def _quantiles(values: Array, levels: tuple[float, float]) -> tuple[float, float]:
    """Quantiles between resamples; where some are infinite, the resamples that enclose them."""
    if np.isfinite(values).all():
        low, high = np.quantile(values, levels)
    else:
        low, high = np.quantile(values, levels[0], method="lower"), np.quantile(values, levels[1], method="higher")
    return float(low), float(high)
