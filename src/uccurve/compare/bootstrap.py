"""Bootstrap: how far an answer may be off because these rows are a sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from uccurve._checks import HEADLINE, Axes, Range, Unit, Vary
from uccurve._progress import Progress, Tick, watched
from uccurve.intervals import Intervals
from uccurve.profile import Profile

from .moments import Moments
from .question import Question, Statistic
from .replicates import BootstrapInterval, Method, Replicates, Settings, Sums, swept
from .resamples import Resamples
from .sweep import Ordered
from .units import Units

Seed = int | np.random.Generator | None


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
    answer depends on a few sums, and otherwise from leaving out each of 200 groups of units. More than 4,096 units are
    put into that many groups at random, and groups are drawn; see `compare.resamples.Resamples`. How often the
    intervals hold the truth is measured in the documentation, under significance.

    References
    ----------
    B. Efron (1987), Better Bootstrap Confidence Intervals.
    D. N. Politis and J. P. Romano (1992), A Circular Block-Resampling Procedure for Stationary Data.

    Examples
    --------
    >>> y = [1.0, 2.0, 4.0, 0.5, 3.0, 2.5, 5.0, 1.5]
    >>> sharp = Intervals.from_bands(y, [0.0] * 8, [0.9, 2.2, 3.9, 0.6, 2.8, 2.6, 5.2, 1.3])
    >>> bootstrap(sharp, axes=("bandwidth", "deficit"), seed=0)
    BootstrapInterval(estimate=0.2504, low=0.1262, high=0.4499, 95 % BCa, 1999 resamples)
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

    def resamples() -> Resamples:
        return Resamples(units, settings.n_resamples, rng)

    found = _summed([(question, profiles[question.vary]) for question in questions], resamples, tick)
    for question in questions:
        if question not in found:
            found[question] = _swept(profiles[question.vary], question, resamples(), tick)
    return [
        found[question].interval(estimate, settings) for question, estimate in zip(questions, estimates, strict=True)
    ]


def _summed(
    asked: Sequence[tuple[Question, Profile]], resamples: Callable[[], Resamples], tick: Tick | None
) -> dict[Question, Replicates]:
    """Answer what a few sums answer."""
    moments = {question: Moments.of(profile, question) for question, profile in asked}
    known = {question: one for question, one in moments.items() if one is not None}
    if not known:
        return {}
    sums = Sums(list(known.values()), resamples(), tick)
    return {question: sums.replicates(one) for question, one in known.items()}


def _swept(profile: Profile, question: Question, resamples: Resamples, tick: Tick | None) -> Replicates:
    ordered = Ordered(profile, question)
    weight = np.ones(len(profile.error)) if profile.weight is None else profile.weight
    return swept(ordered.answers, weight, ordered.batch, resamples, tick)
