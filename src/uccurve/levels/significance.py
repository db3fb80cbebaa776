"""Level significance: permutation test and bootstrap for curves of a model's own levels."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from uccurve import _checks as checks
from uccurve._checks import HEADLINE, Axes, Unit
from uccurve._progress import Progress, Tick, watched
from uccurve.compare.bootstrap import Seed
from uccurve.compare.permutation import PermutationTest, note
from uccurve.compare.pool import refuse_other_rows, shares
from uccurve.compare.question import CURVE_STATISTICS, Question
from uccurve.compare.replicates import BootstrapInterval, Method, Replicates, Settings, Sums, swept
from uccurve.compare.resamples import Resamples
from uccurve.compare.swaps import Alternative, Null, Swaps, by_order, by_sums
from uccurve.compare.units import Units, positive

from .answers import Answers, LevelMoments, pooled, same_pace
from .curve import LevelsUCC

Statistic = Literal["area", "gain", "cheapest"]
BATCH = 64
"""Swaps or resamples that are held at a time."""


def permutation_test(
    a: LevelsUCC,
    b: LevelsUCC,
    *,
    statistic: Statistic = "area",
    axes: Axes = HEADLINE,
    c: float | None = None,
    unit: Unit = "raw",
    n_resamples: int = 1999,
    alternative: Alternative = "two-sided",
    seed: Seed = None,
    block: int | npt.ArrayLike | None = None,
    progress: Progress = None,
    **ranges: Any,
) -> PermutationTest:
    """Test whether two models' levels differ by more than chance; see `LevelsUCC.permutation_test`."""
    if not isinstance(b, LevelsUCC):
        raise TypeError(f"`other` must come from UCC.from_levels too; got {type(b).__name__}.")
    refuse_other_rows(a.intervals, b.intervals)
    checks.choice("alternative", alternative, ("two-sided", "less", "greater"))
    question = _question(a, ranges, statistic=statistic, axes=axes, c=c, unit=unit)
    values = [_answer(curve, question, name) for curve, name in ((a, "a"), (b, "b"))]
    units = Units.of(a.intervals, block)
    swaps = Swaps(units, positive("n_resamples", n_resamples), np.random.default_rng(seed))
    with watched(progress, "permutations") as tick:
        null = _swapped(a, b, question, swaps, tick)
    null.values.setflags(write=False)
    return PermutationTest(
        statistic=values[0] - values[1],
        pvalue=null.pvalue(alternative, exact=swaps.exact),
        null_distribution=null.values,
        alternative=alternative,
        exact=swaps.exact,
        units=units.count,
        note=note(null, question, a.intervals, b.intervals),
    )


def bootstrap(
    curve: LevelsUCC,
    *,
    statistic: Statistic = "gain",
    axes: Axes = HEADLINE,
    c: float | None = None,
    unit: Unit = "raw",
    confidence_level: float = 0.95,
    method: Method = "BCa",
    n_resamples: int = 1999,
    seed: Seed = None,
    block: int | npt.ArrayLike | None = None,
    progress: Progress = None,
    **ranges: Any,
) -> BootstrapInterval:
    """Confidence interval of an answer of a levels curve; see `LevelsUCC.bootstrap`."""
    question = _question(curve, ranges, statistic=statistic, axes=axes, c=c, unit=unit)
    settings, units = Settings(confidence_level, method, n_resamples), Units.of(curve.intervals, block)
    if units.count < 2:
        raise ValueError("a bootstrap needs at least two rows (or blocks) to draw from; there is 1.")
    estimate = _answer(curve, question, "intervals")
    with watched(progress, "resamples") as tick:
        resamples = Resamples(units, settings.n_resamples, np.random.default_rng(seed))
        replicates = _resampled(curve, question, resamples, tick)
    return replicates.interval(estimate, settings)


def _question(curve: LevelsUCC, ranges: dict[str, Any], *, statistic: Statistic, **options: Any) -> Question:
    checks.choice("statistic", statistic, CURVE_STATISTICS)
    unknown = [name for name in ranges if name not in checks.METRICS]
    if unknown:
        raise TypeError(f"`{unknown[0]}` is no option of a test of levels{checks.nearest(unknown[0], checks.METRICS)}.")
    return Question.of(curve.intervals, statistic=statistic, vary="scale", alpha=None, **options, **ranges)


def _answer(curve: LevelsUCC, question: Question, name: str) -> float:
    options: dict[str, Any] = {"axes": question.axes, "unit": question.unit}
    if question.c is not None:
        return float(curve.cheapest(question.c, **options).cost or 0.0)
    value = float(getattr(curve, question.statistic)(**options, **dict([question.part] if question.part else [])))
    if not np.isfinite(value):
        raise ValueError(
            f"`{name}` must have a finite {question.statistic}; it is {value}: an error lies on the side of a zero "
            "band, or the constant band's area is 0."
        )
    return value


def _swapped(a: LevelsUCC, b: LevelsUCC, question: Question, swaps: Swaps, tick: Tick | None) -> Null:
    """Differences of the two models' answers when rows are swapped between them."""
    pool = pooled(*same_pace(a._nested, b._nested))
    moments = LevelMoments.of(pool, question)
    if moments is not None:
        return by_sums(moments, swaps, tick)
    unit = float(question.statistic == "gain")
    return by_order(Answers(pool, question).of, shares(a.intervals), BATCH, swaps, tick, unit=unit)


def _resampled(curve: LevelsUCC, question: Question, resamples: Resamples, tick: Tick | None) -> Replicates:
    """Answers when rows are drawn again."""
    moments = LevelMoments.of(curve._nested, question)
    if moments is not None:
        return Sums([moments], resamples, tick).replicates(moments)
    return swept(Answers(curve._nested, question).of, shares(curve.intervals), BATCH, resamples, tick)
