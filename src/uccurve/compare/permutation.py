"""Permutation test: whether one model is better than another by more than swapping their rows would give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from uccurve import checks
from uccurve.checks import HEADLINE, Array, Axes
from uccurve.curve import Range, Unit
from uccurve.intervals import Intervals
from uccurve.profile import Profile, Vary
from uccurve.progress import Progress, Tick, watched

from . import subsets
from .moments import Moments
from .pool import pooled, profiles, pull
from .question import CURVE_STATISTICS, Question, Statistic
from .sweep import Ordered
from .units import Units, positive

Alternative = Literal["two-sided", "less", "greater"]
Seed = int | np.random.Generator | None
TIE = 1e-12
"""Share of the statistic's own size below which two of its values are taken for equal."""


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
    _refuse_other_rows(a, b)
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
    swaps = _Swaps(units, positive("n_resamples", n_resamples), np.random.default_rng(seed))
    values = [question.finite_value(intervals, name) for name, intervals in (("a", a), ("b", b))]
    with watched(progress, "permutations") as tick:
        null = _null(a, b, question, swaps, tick)
    null.values.setflags(write=False)
    return PermutationTest(
        statistic=values[0] - values[1],
        pvalue=_pvalue(null, alternative, swaps.exact),
        null_distribution=null.values,
        alternative=alternative,
        exact=swaps.exact,
        units=units.count,
        note=_note(null, question, a, b),
    )


class _Swaps:
    """All ways to swap the units, or random ones."""

    def __init__(self, units: Units, count: int, rng: np.random.Generator) -> None:
        self.units, self._rng = units, rng
        self.exact = units.count < 63 and 2**units.count <= count + 1
        self.count = 2**units.count if self.exact else count

    def sums(self, columns: Array, tick: Tick | None) -> Array:
        """Sum of the rows' columns over the swapped units, for each swap."""
        per_unit = np.column_stack([self.units.sums(column) for column in columns.T])
        subset = (
            subsets.every(self.units.count) if self.exact else subsets.slabs(self._coins, self.units.count, self.count)
        )
        return subsets.sums(per_unit, subset, self.count, tick)

    def _coins(self, length: int) -> subsets.Bytes:
        return subsets.coins(self._rng, length)

    def batches(self, size: int) -> Iterator[npt.NDArray[np.bool_]]:
        """Which rows (lines) are swapped, for at most `size` swaps (columns) at a time."""
        for start in range(0, self.count, size):
            stop = min(start + size, self.count)
            if self.exact:
                units = (np.arange(start, stop) >> np.arange(self.units.count)[:, None] & 1).astype(bool)
            else:
                units = self._rng.integers(0, 2, size=(self.units.count, stop - start), dtype=np.bool_)
            yield units if self.units.each else units[self.units.of_row]


class _Null(NamedTuple):
    """Differences under the swaps, the delivered one by the same arithmetic, and the size of what they are made of."""

    values: Array
    observed: float
    size: float

    @property
    def slack(self) -> float:
        return TIE * self.size


def _null(a: Intervals, b: Intervals, question: Question, swaps: _Swaps, tick: Tick | None) -> _Null:
    if question.statistic not in CURVE_STATISTICS:
        amounts = np.stack([question.per_row(profile) for profile in profiles(a, b, question)])
        return _by_rows(amounts, a, swaps, tick)
    if question.statistic == "gain" and np.array_equal(a.y_pred, b.y_pred):
        # the same reference for both models, whatever is swapped
        area = replace(question, statistic="area")
        null, reference = _null(a, b, area, swaps, tick), area.value(a.constant())
        return _Null(null.values / -reference, null.observed / -reference, null.size / reference)
    pool = pooled(*profiles(a, b, question))
    if question.whole and question.statistic == "area":
        amounts = pull(pool, question.axes).reshape(2, -1)
        amounts *= question.size(pool, *question.axes)
        return _by_rows(amounts, a, swaps, tick)
    moments = Moments.of(pool, question)
    if moments is not None:
        return _by_sums(moments, swaps, tick)
    weight, ordered = _weight(pool)[: len(pool.error) // 2], Ordered(pool, question)
    del pool  # some hundred bytes a row that nothing needs any more
    return _by_order(ordered, weight[:, None], question, swaps, tick)


def _by_rows(amounts: Array, a: Intervals, swaps: _Swaps, tick: Tick | None) -> _Null:
    """Differences that are sums of an amount for each row of each model, which a swap turns around."""
    weight = a.weight.ravel()
    amounts *= weight[weight > 0]
    difference = amounts[0] - amounts[1]
    observed = float(np.sum(difference))
    moved = swaps.sums(difference[:, None], tick)[:, 0]
    return _Null(observed - 2 * moved, observed, float(np.sum(np.abs(amounts))))


def _by_sums(moments: Moments, swaps: _Swaps, tick: Tick | None) -> _Null:
    """Differences of answers that depend on each half of the pool through a few sums."""
    first, second = np.split(np.column_stack(list(moments.columns.values())), 2)
    totals = first.sum(axis=0), second.sum(axis=0)
    moved = swaps.sums(second - first, tick)
    values = moments.from_sums(totals[0] + moved) - moments.from_sums(totals[1] - moved)
    answers = moments.from_sums(np.stack(totals))
    return _Null(values, float(answers[0] - answers[1]), 1 + float(np.abs(answers).sum()))


def _by_order(ordered: Ordered, weight: Array, question: Question, swaps: _Swaps, tick: Tick | None) -> _Null:
    """Differences of answers that need the order of the pool."""
    values = np.empty(swaps.count)

    def halves(swapped: npt.NDArray[np.bool_]) -> tuple[Array, Array]:
        kept, moved = np.where(swapped, 0, weight), np.where(swapped, weight, 0)
        return ordered.answers(np.concatenate([kept, moved])), ordered.answers(np.concatenate([moved, kept]))

    done = 0
    for batch in swaps.batches(ordered.batch):
        one, two = halves(batch)
        values[done : done + len(one)] = one - two
        done += len(one)
        if tick:
            tick(done, swaps.count)
    (one,), (two,) = halves(np.zeros((len(weight), 1), bool))
    return _Null(values, float(one - two), float(abs(one) + abs(two)) + (question.statistic == "gain"))


def _weight(profile: Profile) -> Array:
    """Weights that sum to 1 over one model's rows."""
    rows = len(profile.error)
    return np.full(rows, 1 / rows) if profile.weight is None else profile.weight / profile.weight.sum()


def _pvalue(null: _Null, alternative: Alternative, exact: bool) -> float:
    if alternative == "less":
        extreme = null.values <= null.observed + null.slack
    elif alternative == "greater":
        extreme = null.values >= null.observed - null.slack
    else:
        extreme = np.abs(null.values) >= abs(null.observed) - null.slack
    count = int(extreme.sum())
    return count / len(extreme) if exact else (count + 1) / (len(extreme) + 1)


def _note(null: _Null, question: Question, a: Intervals, b: Intervals) -> str:
    if np.all(np.abs(null.values) <= null.slack):
        return "the statistic is the same however rows are swapped: nothing here tells the models apart"
    if question.statistic in ("area", "cheapest") and not np.array_equal(a.y_pred, b.y_pred):
        return "y_pred differ: an area judges predictions and intervals together; a gain judges the intervals"
    return ""


def _refuse_other_rows(a: Intervals, b: Intervals) -> None:
    for name, intervals in (("a", a), ("b", b)):
        if not isinstance(intervals, Intervals):
            raise TypeError(
                f"`{name}` must be Intervals; got {type(intervals).__name__}. Hint: see Intervals.from_bounds."
            )
    if a.y_true.shape != b.y_true.shape:
        raise ValueError(
            f"`a` and `b` must have the same rows: {len(a)} against {len(b)}"
            f"{'' if len(a) != len(b) else f', shapes {a.y_true.shape} against {b.y_true.shape}'}."
        )
    different = np.flatnonzero((a.y_true != b.y_true).reshape(len(a), -1).any(axis=1))
    if len(different):
        raise ValueError(
            f"`a` and `b` must have the same y_true: {len(different)} of {len(a)} rows differ, "
            f"first row {different[0]}. Hint: put the rows of both models in the same order."
        )
    if not np.array_equal(a.weight, b.weight):
        raise ValueError("`a` and `b` must have the same weights: rows are swapped together with them.")
