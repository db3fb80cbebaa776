"""Reasons: what lies behind a verdict, one sentence each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple
from math import isfinite, isnan
from typing import TYPE_CHECKING

from ._case import LISTED, Case, covered, few_rows, fixed, need, p, skill
from ._formats import alike, axes_in_words, coverage, share, short
from .results import hangs_on_few_rows

ROUNDING = 1e-9
"""Share of a score below which a difference between two of them is not worth a sentence."""

if TYPE_CHECKING:
    from .results import ModelRow, Segment


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
    climatology, *texts = alike(parts.climatology, abs(parts.prediction), abs(parts.discrimination))
    predictions, bands = (
        f"{'save' if value >= 0 else 'cost'} {text}" if _is_shown(text) else "save nothing"
        for text, value in zip(texts, (parts.prediction, parts.discrimination), strict=True)
    )
    return (
        f"A single interval for all rows would score {climatology}: the predictions of {short(row.name)} "
        f"{predictions}, its bands {bands}."
    )


def _against(case: Case, second: ModelRow) -> str:
    """Return what makes the difference in score from the runner-up: predictions or bands."""
    own, other = case.best.decomposition, second.decomposition
    gap, prediction = other.best_score - own.best_score, own.prediction - other.prediction
    if not (isfinite(gap) and isfinite(prediction) and abs(gap) > ROUNDING * own.best_score):
        return ""
    score, *texts = alike(abs(gap), abs(prediction), abs(gap - prediction))
    higher = f"At {case.target} the score of {case.name} is {score} {'lower' if gap > 0 else 'higher'} than that of"
    if not all(map(_is_shown, texts)):
        cause = "predictions" if _is_shown(texts[0]) else "bands"
        return f"{higher} {short(second.name)}, all of it because of its {cause}."
    predictions, bands = (
        f"{text} {'more' if value > 0 else 'less'}"
        for text, value in zip(texts, (prediction, gap - prediction), strict=True)
    )
    return f"{higher} {short(second.name)}: its predictions save {predictions}, its bands {bands}."


def _is_shown(text: str) -> bool:
    """Whether a number as written is not 0."""
    return bool(text.strip("0."))


def _wrong_scale(row: ModelRow) -> str:
    """Return what the delivered scale costs, from a hundredth of the score on."""
    parts = row.decomposition
    if not (isfinite(parts.score) and parts.miscalibration > parts.score / 100):
        return ""
    score, cost = alike(parts.score, parts.miscalibration)
    wrong = "scale" if isnan(row.shift) else "width"
    return f"As delivered {short(row.name)} scores {score}, {cost} of it because its bands have the wrong {wrong}."


def _broken_promises(case: Case) -> Iterator[str]:
    broken = [row for row in (case.best, *case.others) if row.promise in ("too narrow", "too wide")]
    for row in broken[:LISTED]:
        covers = share(row.coverage, row.coverage_low, row.coverage_high)
        yield f"{short(row.name)} covers {covers} as delivered: {row.promise} for {case.target}."
    if len(broken) > LISTED:
        yield f"In all, {len(broken)} of {len(case.others) + 1} models break the promise of {case.target}."


def _failing_segments(case: Case) -> Iterator[str]:
    """Return which segments the model to ship leaves short, surest first, and how many its factor fixes."""
    found, total = case.short, sum(one.model == case.best.name for one in case.segments)
    yield from (_failure(case, one) for one in found[:LISTED])
    if len(found) > LISTED:
        yield f"In all, {case.name} leaves {len(found)} of its {total} segments short."
    yield fixed(case.best, case.segments)


def _failure(case: Case, one: Segment) -> str:
    less = "on its other rows" if one.target is None else f"{coverage(one.target)}"
    needs = f"; the segment {need(one)}" if need(one) else ""
    covers = f"{case.name} covers {covered(one)}, less than {less} (adjusted {p(one.short_pvalue)})"
    return f"In segment {short(one.title)}, {covers}{needs}."


def _few_rows(case: Case, row: ModelRow) -> str:
    """Return that the area of a model hangs on few rows, where it does."""
    if not hangs_on_few_rows(row):
        return ""
    return f"{few_rows(row)} half the area of {short(row.name)} ({axes_in_words(case.settings.axes)})."


def _crossings(case: Case) -> Iterator[str]:
    """Return where the curves of the model to ship and of the runner-up cross."""
    for one in case.crossings:
        if case.second is not None and set(one.names) == {case.best.name, case.second.name}:
            yield f"{' vs. '.join(map(short, one.names))}: {one.verdict.rstrip('.')}."
