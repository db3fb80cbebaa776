"""Permutation test: whether one model is better than another by more than swapping their rows would give."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from uccurve import _checks as checks
from uccurve._checks import HEADLINE, Array, Axes, Range, Unit, Vary
from uccurve._progress import Progress, Tick, watched
from uccurve.intervals import Intervals

from .moments import Moments
from .pool import pooled, profiles, pull, refuse_other_rows, shares
from .question import CURVE_STATISTICS, Question, Statistic
from .swaps import Alternative, Null, Swaps, by_order, by_rows, by_sums
from .sweep import Ordered
from .units import Units, positive

Seed = int | np.random.Generator | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PermutationTest:
    """Outcome of a paired permutation test.

    Attributes
    ----------
    statistic : float
        The first model's statistic minus the second's.
    pvalue : float
    null_distribution : read-only array
        The difference for each way to swap that was tried; for all of them where `exact`.
    alternative : {"two-sided", "less", "greater"}
    exact : bool
        Whether every swap was tried once, rather than random ones.
    units : int
        How many rows (or blocks) are swapped independently.
    note : str
        What a reader must know before trusting the p-value; empty where there is nothing.
    """

    statistic: float
    pvalue: float
    null_distribution: Array
    alternative: Alternative
    exact: bool
    units: int
    note: str = ""

    def __repr__(self) -> str:
        how = "every swap" if self.exact else "random swaps"
        note = f", note={self.note!r}" if self.note else ""
        return (
            f"PermutationTest(statistic={self.statistic:.4g}, pvalue={self.pvalue:.4g}, {self.alternative}, "
            f"{len(self.null_distribution)} {how} of {self.units} units{note})"
        )


def permutation_test(
    a: Intervals,
    b: Intervals,
    *,
    statistic: Statistic = "area",
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
    n_resamples: int = 9999,
    alternative: Alternative = "two-sided",
    seed: Seed = None,
    block: int | npt.ArrayLike | None = None,
    progress: Progress = None,
) -> PermutationTest:
    """Test whether two models' intervals for the same rows differ by more than chance.

    If the models are equally good, it does not matter which of a row's two intervals is called a's: the difference is
    compared with what it becomes when rows are swapped between the models at random (Dwass 1957).

    Parameters
    ----------
    a, b : Intervals
        Intervals of two models for the same rows: same ``y_true``, same weights.
    statistic : str
        ``"area"`` or ``"gain"`` over the constant band, partial with a range such as ``miss_rate=(0, 0.5)``;
        ``"cheapest"``, the least cost on the curve (needs `c`); and of the intervals as delivered: ``"cost"`` (needs
        `c`), ``"interval_score"`` (needs `alpha`), or one of the five metrics by name.
    axes, vary, unit, c, miss_rate, bandwidth, excess, deficit, overshoot
        As in `UCC.area`, `UCC.gain`, `UCC.cost` and `UCC.cheapest`; ranges and costs are in `unit`.
    alpha : float, optional
        Share of observations that the intervals are meant to miss, for the interval score.
    n_resamples : int
        How many random swaps. Where all ``2**units`` swaps are at most one more, each is tried once and the p-value is
        exact; otherwise the delivered order counts as one more swap, so that no p-value is 0.
    alternative : {"two-sided", "less", "greater"}
        Whether a's statistic differs from b's, is less, or is greater. The null distribution is symmetric by
        construction, so the two-sided p-value is the share of swaps with at least the same absolute difference.
    seed : int or numpy.random.Generator, optional
    block : int or array_like, optional
        Rows that hang together are swapped together: a number of consecutive rows (time series), or one label a row
        (groups, repeated measures). The outputs of a row of two-dimensional data always are.
    progress : bool or callable, optional
        A bar on the terminal; by default where one watches. A callable gets how much is done and how much there is.

    Returns
    -------
    PermutationTest

    Notes
    -----
    Areas, gains and cheapest costs do not depend on the scale of a model's bands but a mixture of two models does, so
    both are brought to one mean half-width before rows are swapped. Costs as delivered, interval scores and metrics do
    depend on it and are compared as they are.

    The whole area on one falling and one rising axis is a sum over pairs of rows. A swap splits the pool of both
    models' rows in two, and the difference of the two halves' areas is then a sum over single rows: every row has a
    fixed amount which a swap turns around. So nothing is sorted after the first time, and a swap costs one addition for
    eight rows.

    References
    ----------
    M. Dwass (1957), Modified Randomization Tests for Nonparametric Hypotheses.
    B. Phipson and G. K. Smyth (2010), Permutation P-values Should Never Be Zero.

    Examples
    --------
    >>> y = [1.0, 2.0, 4.0, 0.5, 3.0, 2.5, 5.0, 1.5]
    >>> sharp = Intervals.from_bands(y, [0.0] * 8, [0.9, 2.2, 3.9, 0.6, 2.8, 2.6, 5.2, 1.3])
    >>> test = permutation_test(sharp, sharp.constant(), axes=("bandwidth", "deficit"))
    >>> test
    PermutationTest(statistic=-0.9977, pvalue=0.01562, two-sided, 256 every swap of 8 units)
    """
    refuse_other_rows(a, b)
    checks.choice("alternative", alternative, ("two-sided", "less", "greater"))
    ranges = {
        "miss_rate": miss_rate,
        "bandwidth": bandwidth,
        "excess": excess,
        "deficit": deficit,
        "overshoot": overshoot,
    }
    question = Question.of(a, statistic=statistic, axes=axes, vary=vary, c=c, alpha=alpha, unit=unit, **ranges)
    units = Units.of(a, block)
    swaps = Swaps(units, positive("n_resamples", n_resamples), np.random.default_rng(seed))
    values = [question.finite_value(intervals, name) for name, intervals in (("a", a), ("b", b))]
    with watched(progress, "permutations") as tick:
        null = _null(a, b, question, swaps, tick)
    null.values.setflags(write=False)
    return PermutationTest(
        statistic=values[0] - values[1],
        pvalue=null.pvalue(alternative, exact=swaps.exact),
        null_distribution=null.values,
        alternative=alternative,
        exact=swaps.exact,
        units=units.count,
        note=note(null, question, a, b),
    )


def _null(a: Intervals, b: Intervals, question: Question, swaps: Swaps, tick: Tick | None) -> Null:
    if question.statistic not in CURVE_STATISTICS:
        amounts = np.stack([question.per_row(profile) for profile in profiles(a, b, question)])
        amounts *= shares(a)
        return by_rows(amounts, swaps, tick)
    if question.statistic == "gain" and np.array_equal(a.y_pred, b.y_pred):
        # the same reference for both models, whatever is swapped
        area = replace(question, statistic="area")
        null, reference = _null(a, b, area, swaps, tick), area.value(a.constant())
        return Null(null.values / -reference, null.observed / -reference, null.size / reference)
    pool = pooled(*profiles(a, b, question))
    if question.whole and question.statistic == "area":
        amounts = pull(pool, question.axes).reshape(2, -1)
        amounts *= question.size(pool, *question.axes)
        del pool
        amounts *= shares(a)
        return by_rows(amounts, swaps, tick)
    moments = Moments.of(pool, question)
    if moments is not None:
        return by_sums(moments, swaps, tick)
    pool = replace(pool, weight=None)  # the halves come with their weights
    ordered = Ordered(pool, question)
    del pool  # some hundred bytes a row that nothing needs any more
    unit = float(question.statistic == "gain")
    return by_order(ordered.answers, shares(a), ordered.batch, swaps, tick, unit=unit)


def note(null: Null, question: Question, a: Intervals, b: Intervals) -> str:
    """What a reader must know before trusting the p-value."""
    if null.constant:
        return "the statistic is the same however rows are swapped: nothing here tells the models apart"
    if question.statistic in ("area", "cheapest") and not np.array_equal(a.y_pred, b.y_pred):
        return "y_pred differ: an area judges predictions and intervals together; a gain judges the intervals"
    return ""
