"""Permutation test: whether one model is better than another by more than swapping their rows would give."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from uccurve import _refusals as checks
from uccurve._arrays import Flags
from uccurve._paths import Path
from uccurve._ramps import size_of_area
from uccurve._vocabulary import HEADLINE, Array, Axes, Range, Unit, Vary
from uccurve.curve import UCC
from uccurve.evidence.models import curve_of, refuse_other_rows
from uccurve.evidence.units import positive
from uccurve.intervals import Intervals
from uccurve.resampling import TIE, DrawnUnits, Progress, Seed, batches, watched
from uccurve.resampling.statistics import Asked, CurveStatistic, Summed, called, summed

Alternative = Literal["two-sided", "less", "greater"]
MOST_BITS = 63  # units whose swaps are numbered in an integer


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PermutationTest:
    """Outcome of a paired permutation test.

    Attributes
    ----------
    statistic : float
        The first model's statistic minus the second's.
    pvalue : float
    null_distribution : read-only array
        The difference for each swap that was tried.
    alternative : {"two-sided", "less", "greater"}
    every_swap : bool
        Whether every way to swap the units was tried once, rather than random ones.
    units : int
        How many rows (or blocks) are swapped independently.
    note : str
        What a reader must know before trusting the p-value; empty where there is nothing.
    """

    statistic: float
    pvalue: float
    null_distribution: Array
    alternative: Alternative
    every_swap: bool
    units: int
    note: str = ""

    def __repr__(self) -> str:
        count = len(self.null_distribution)
        swaps = (
            f"all {count} swaps"
            if self.every_swap
            else f"{count} random swap{'s' if count > 1 else ''}"
        )
        note = f", note={self.note!r}" if self.note else ""
        return (
            f"PermutationTest(statistic={self.statistic:.4g}, pvalue={self.pvalue:.4g}, {self.alternative}, "
            f"{swaps} of {self.units} unit{'s' if self.units > 1 else ''}{note})"
        )


def permutation_test(
    a: Intervals | UCC,
    b: Intervals | UCC,
    *,
    statistic: Asked = "area",
    axes: Axes = HEADLINE,
    miss_rate: Range | None = None,
    coverage: float | None = None,
    unit: Unit = "raw",
    vary: Vary | None = None,
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
    a, b : Intervals or UCC
        Two models for the same rows: same ``y_true``, same weights. A UCC says how its bands move: by a factor, by an
        amount, or through a model's levels.
    statistic : str or callable
        ``"area"`` or ``"gain"`` over the constant band, partial with a range such as ``miss_rate=(0, 0.5)``;
        ``"crps"``, the potential CRPS, or ``"skill"``; ``"score"``, the best interval score, and ``"scale"`` and
        ``"half_width"``, the smallest that reach a coverage on these rows (need `coverage`). Or any function that takes
        Intervals and returns a number; it is called for each swap.
    axes, unit, miss_rate
        As in `UCC.area` and `UCC.gain`.
    vary : {"scale", "shift"}, optional
        How the bands of Intervals move, by default by a factor; a UCC knows.
    coverage : float, optional
        The coverage that is asked for. For a model with levels it is the interval of that level that is scored and
        scaled, as in `UCC.decompose`.
    n_resamples : int
        How many random swaps. Where all ``2**units`` swaps are at most one more, each is tried once; otherwise the
        delivered order counts as one more swap, so that no p-value is 0.
    alternative : {"two-sided", "less", "greater"}
        Whether a's statistic differs from b's, is less, or is greater. The null distribution is symmetric by
        construction, so the two-sided p-value is the share of swaps with at least the same absolute difference.
    seed : int or numpy.random.Generator, optional
    block : int or array_like, optional
        Dependent rows are swapped together: blocks of this many consecutive rows (time series), or one label per row
        (groups, repeated measures). The outputs of a row of two-dimensional data always are.
    progress : bool or callable, optional
        A progress bar on the terminal; by default where somebody watches one. A callable gets how much is done and how
        much there is.

    Returns
    -------
    PermutationTest

    Notes
    -----
    Curves do not depend on the scale of a model's bands but a mixture of two models does, so for statistics of the
    curve both are brought to one mean half-width before rows are swapped (over the shift, by an offset). ``"scale"``
    and callables do depend on it and are compared as they are.

    Swapping is not exact even where every swap is tried, because the common half-width itself depends on which rows are
    whose; it is valid for equal population values in large samples. Where ``y_pred`` differ it would mix two sizes of
    errors, which makes tests of a ``"gain"`` or ``"skill"`` reject a true null far too often. For these, for curves of
    several levels and for bands that move in different ways, the sign of what each row contributes to the difference
    (its influence) is flipped instead of its intervals.

    How statistics follow from sums over rows, and when they are exact, is explained in `bootstrap`. More than 4,096
    rows (or blocks) are put into that many groups at random, and groups are swapped.

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
    PermutationTest(statistic=-0.9977, pvalue=0.01562, two-sided, all 256 swaps of 8 units)
    """
    first_curve = curve_of("a", a, vary)
    second_curve = curve_of("b", b, vary)
    refuse_other_rows(first_curve, second_curve)
    checks.choice("alternative", alternative, ("two-sided", "less", "greater"))
    options: Any = {"axes": axes, "miss_rate": miss_rate, "coverage": coverage, "unit": unit}
    asked = CurveStatistic.of(first_curve, statistic, **options)
    CurveStatistic.of(second_curve, statistic, **options)  # which may refuse its curve
    random = positive("n_resamples", n_resamples)
    units = DrawnUnits(first_curve.intervals, block, seed, what="a permutation test")
    every_swap = units.count < MOST_BITS and 2**units.count <= random + 1
    same_predictions = np.array_equal(first_curve.intervals.y_pred, second_curve.intervals.y_pred)
    with watched(progress, "permutations") as tick:
        first_curve = _curve_to_compare(first_curve, asked)
        second_curve = _curve_to_compare(second_curve, asked)
        swappable = first_curve.vary == second_curve.vary != "levels" and (
            same_predictions or not asked.relative
        )
        first = asked.finite_value(first_curve, "a")
        second = asked.finite_value(second_curve, "b")
        if callable(asked.asked):
            differences = _called(
                asked.asked, (first_curve.intervals, second_curve.intervals), units
            )
        elif swappable:
            pool = _pooled(first_curve, second_curve, same_pace=not asked.depends_on_scale)
            differences = _swapped(pool, asked, units)
        else:
            differences = _flipped((first_curve, second_curve), asked, (first, second), units)
        swaps = units.swaps(None if every_swap else random, tick)
        null = np.concatenate([differences(flags) for flags in swaps])
    null.setflags(write=False)
    delivered = float(differences(np.zeros((1, units.count)))[0])  # by the same arithmetic
    slack = TIE * _size_of_values(first_curve, asked, first, second)
    count = int(np.sum(_at_least_as_extreme(null, delivered, slack, alternative)))
    note = ""
    if np.all(np.abs(null) <= slack):
        note = (
            "the statistic is the same however rows are swapped: the models cannot be distinguished"
        )
    elif swappable and not (same_predictions or asked.depends_on_scale):
        note = (
            f"y_pred differ: the {asked.asked} judges predictions and intervals together, and swapping mixes errors of "
            "different size; a gain or skill judges the intervals"
        )
    return PermutationTest(
        statistic=first - second,
        pvalue=count / len(null) if every_swap else (count + 1) / (len(null) + 1),
        null_distribution=null,
        alternative=alternative,
        every_swap=every_swap,
        units=units.blocks.count,
        note=note,
    )


def _curve_to_compare(curve: UCC, asked: CurveStatistic) -> UCC:
    """The curve that the statistic is a number of; a single level is the curve of one interval that is scaled."""
    curve = asked.curve(curve)
    return UCC(curve.intervals) if len(curve.levels) == 1 else curve


def _size_of_values(curve: UCC, asked: CurveStatistic, first: float, second: float) -> float:
    """Order of magnitude of what is subtracted, of which rounding takes a share."""
    size = abs(first) + abs(second)
    if asked.relative:
        size += 1.0
    if asked.asked == "area":
        size += size_of_area(curve.path(), asked.axes) * asked.size(*asked.axes)
    return size


def _at_least_as_extreme(
    null: Array, delivered: float, slack: float, alternative: Alternative
) -> Flags:
    """Which differences are at least as extreme as the one delivered."""
    if alternative == "less":
        extreme = null <= delivered + slack
    elif alternative == "greater":
        extreme = null >= delivered - slack
    else:
        extreme = np.abs(null) >= abs(delivered) - slack
    return np.asarray(extreme)


def _pooled(a: UCC, b: UCC, *, same_pace: bool) -> Path:
    """Rows of the first, then rows of the second, in one unit and, if so asked, at one mean half-width.

    A curve depends on which intervals a model passes through, not on how fast. A mixture of two models' rows does
    depend on it, and one mean half-width for both leaves each of the two curves as it is.
    """
    first_rows = a.intervals
    second_rows = b.intervals
    if same_pace:
        first = first_rows.half_width
        second = second_rows.half_width
        if a.vary == "shift":
            first_rows = first_rows.calibrated(shift=max(second - first, 0))
            second_rows = second_rows.calibrated(shift=max(first - second, 0))
        elif min(first, second) > 0:
            second_rows = second_rows.calibrated(scale=first / second)
    return UCC(Intervals.join([first_rows, second_rows]), vary=a.vary).path()


def _swapped(pool: Path, asked: CurveStatistic, units: DrawnUnits) -> Callable[[Array], Array]:
    """Differences of the two halves into which swaps split the rows of both models."""
    unit = np.concatenate([units.of_row, units.of_row + units.count])
    table, value = summed(pool, asked, unit, 2 * units.count)
    of_first, of_second = np.split(table, 2)
    first_total = of_first.sum(axis=0)
    second_total = of_second.sum(axis=0)
    change = of_second - of_first

    def differences(flags: Array) -> Array:
        moved = flags @ change
        return value(first_total + moved) - value(second_total - moved)

    return differences


def _flipped(
    curves: tuple[UCC, UCC],
    asked: CurveStatistic,
    statistics: tuple[float, float],
    units: DrawnUnits,
) -> Callable[[Array], Array]:
    """Sums of what each unit contributes to the difference, with the signs of some flipped."""
    of_first, of_second = (
        _contributions(summed(curve.path(), asked, units.of_row, units.count, smooth=True), value)
        for curve, value in zip(curves, statistics, strict=True)
    )
    difference = of_first - of_second
    return lambda flags: difference.sum() - 2 * (flags @ difference)


def _contributions(sums: Summed, value: float) -> Array:
    """What each unit contributes to a statistic, whose `value` they add up to: its share of it, and its influence.

    The influence is what leaving the unit out takes away (Tukey's pseudo-values). That is closer to what new rows would
    change than the derivative is, where single rows matter much.
    """
    total = sums.table.sum(axis=0)
    share = sums.table[:, 0] / total[0]
    whole = sums.values(total[None])[0]
    influence = np.empty(len(share))
    for part in batches(len(share)):
        influence[part] = whole - sums.values(total - sums.table[part])
    influence = np.where(np.isfinite(influence), (1 - share) * influence, 0)
    return np.asarray(share * (value - influence.sum()) + influence)


def _called(
    function: Callable[[Intervals], float], data: tuple[Intervals, Intervals], units: DrawnUnits
) -> Callable[[Array], Array]:
    """Differences of a callable's values for Intervals whose rows are swapped; they stay in their order."""
    row, unit = units.of_data()
    rows_of_both = np.column_stack([row, row + len(data[0])]).ravel()
    units_of_both = np.column_stack([unit, unit + units.count]).ravel()
    value = called(function, Intervals.join(data), rows_of_both, units_of_both)
    return lambda flags: value(np.hstack([1 - flags, flags])) - value(np.hstack([flags, 1 - flags]))
