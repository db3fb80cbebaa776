"""Reasons: what lies behind a verdict, one sentence each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple
from math import isfinite
from typing import TYPE_CHECKING

from ._case import LISTED, Case, need, p, skill
from ._formats import alike, coverage, share, short
from .results import fails_as_a_whole

if TYPE_CHECKING:
    from .results import ModelRow, Segment

FEW = 50
"""An area hangs on few rows where half of it lies on one row in so many, or fewer."""


def reasons(case: Case) -> Iterator[str]:
    """Return what lies behind the verdict; what does not apply is empty."""
    yield _contributions(case.best)
    if case.second is not None:
        yield _against(case, case.second)
        yield skill(case.best, f"The bands of {case.name}")
    yield _wrong_scale(case.best)
    yield from _broken_promises(case)
    yield from _failing_segments(case)
    yield from (_few_rows(case, row) for row in (case.best, *case.others[:1]))
    yield from _crossings(case)


def _contributions(row: ModelRow) -> str:
    """Return what predictions and bands save over a single interval for all rows."""
    parts = row.decomposition
    if not all(map(isfinite, astuple(parts))):
        return ""
    climatology, prediction, bands = alike(parts.climatology, abs(parts.prediction), abs(parts.discrimination))
    saves = ["save" if part >= 0 else "cost" for part in (parts.prediction, parts.discrimination)]
    return (
        f"A single interval for all rows would score {climatology}: the predictions of {short(row.name)} "
        f"{saves[0]} {prediction}, its bands {saves[1]} {bands}."
    )


def _against(case: Case, second: ModelRow) -> str:
    """Return what makes the difference in score from the runner-up: predictions or bands."""
    own, other = case.best.decomposition, second.decomposition
    gap, prediction = other.best_score - own.best_score, own.prediction - other.prediction
    if not (gap and isfinite(gap) and isfinite(prediction)):
        return ""
    score, *parts = alike(abs(gap), abs(prediction), abs(gap - prediction))
    predictions, bands = (_more(*part) for part in zip(parts, (prediction, gap - prediction), strict=True))
    return (
        f"At {case.target} the score of {case.name} is {score} {'lower' if gap > 0 else 'higher'} than that of "
        f"{short(second.name)}: its predictions save {predictions}, its bands {bands}."
    )


def _more(text: str, value: float) -> str:
    """Return how much more is saved, as much where what is shown is zero."""
    return f"{text} {'more' if value > 0 else 'less'}" if text.strip("0.") else "as much"


def _wrong_scale(row: ModelRow) -> str:
    """Return what the delivered scale costs, from a hundredth of the score on."""
    parts = row.decomposition
    if not (isfinite(parts.score) and parts.miscalibration > parts.score / 100):
        return ""
    score, cost = alike(parts.score, parts.miscalibration)
    return f"As delivered {short(row.name)} scores {score}, {cost} of it because its bands have the wrong scale."


def _broken_promises(case: Case) -> Iterator[str]:
    broken = [row for row in (case.best, *case.others) if row.promise in ("too narrow", "too wide")]
    for row in broken[:LISTED]:
        covers = share(row.coverage, row.coverage_low, row.coverage_high)
        yield f"{short(row.name)} covers {covers} as delivered: {row.promise} for {case.target}."
    if len(broken) > LISTED:
        yield f"In all, {len(broken)} of {len(case.others) + 1} models break the promise of {case.target}."


def _failing_segments(case: Case) -> Iterator[str]:
    """Return the surest failures of the model to ship, or that its bands are too narrow everywhere."""
    failing, total = case.failing, sum(one.model == case.best.name for one in case.segments)
    if fails_as_a_whole(case.best, case.segments):
        yield f"{case.name} is too narrow as a whole: {len(failing)} of its {total} segments fail for that reason."
        return
    yield from (_failure(case, one) for one in failing[:LISTED])
    if len(failing) > LISTED:
        yield f"In all, {len(failing)} of the {total} segments of {case.name} fail."


def _failure(case: Case, one: Segment) -> str:
    less = "on its other rows" if one.target is None else f"{coverage(one.target)}"
    sure = f"less than {less} (adjusted {p(one.pvalue_holm)})"
    needs = f"; the segment {need(one)}" if need(one) else ""
    return f"On {short(one.title)} {case.name} covers {share(one.coverage)}, {sure}{needs}."


def _few_rows(case: Case, row: ModelRow) -> str:
    """Return that the area of a model hangs on few rows, where it does."""
    if not 0 < row.concentration <= max(1, row.n // FEW):
        return ""
    x, y = (name.replace("_", " ") for name in case.settings.axes)
    carry = "carries" if row.concentration == 1 else "carry"
    return f"{row.concentration:,} of {row.n:,} rows {carry} half the area of {short(row.name)} ({y} vs. {x})."


def _crossings(case: Case) -> Iterator[str]:
    """Return where the curves of the model to ship and of the runner-up cross."""
    for one in case.crossings:
        if case.second is not None and set(one.names) == {case.best.name, case.second.name}:
            yield f"{' vs. '.join(map(short, one.names))}: {one.verdict.rstrip('.')}."
