"""Sentences: what was found in the features, and what could have been."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite, isnan
from typing import TYPE_CHECKING

from uccurve.estimate import Estimate, Move
from uccurve.words.formats import Cell, amount, counted, coverage, factor, p, share, short

if TYPE_CHECKING:
    from uccurve.pockets.power import PocketPower
    from uccurve.pockets.results import ModelPockets, Pocket, Pockets


def of_all(found: Pockets) -> Iterator[str]:
    """Yield all sentences, those of each model under its name where there are several."""
    for model in found.models:
        lines = of_model(model)
        if len(found.models) == 1:
            yield from lines
        else:
            yield from (f"{short(model.model)}: {line}" for line in lines)
    yield from found.notes


def of_model(model: ModelPockets) -> list[str]:
    """Return what was found in one model: the whole first, then each region, then what remedies it."""
    if isnan(model.pvalue):
        return [f"Pockets were not tested: {model.reason}."]
    if not model.predictable:
        return [nothing(model)]
    lines = [whole(model)]
    lines += [narrow(pocket, model.shipped) for pocket in model.pockets]
    lines += [wide(pocket, model.shipped) for pocket in model.wide]
    return [*lines, *remedy(model)]


def headline(model: ModelPockets) -> str:
    """Return one sentence for a verdict."""
    if isnan(model.pvalue):
        return ""
    if not model.pockets:
        return of_model(model)[0]
    first = model.pockets[0]
    more = len(model.pockets) - 1
    others = f" and {counted(more, 'more pocket')}" if more else ""
    return (
        f"Fails where {first.title}{others}: covers {percent(first.coverage.value)} of {promised(first)} as shipped, "
        f"bands there need {change(first.move)}."
    )


def whole(model: ModelPockets) -> str:
    """Return what the test of the whole says where it is significant."""
    risks = f"between {percent(model.lowest_risk)} and {percent(model.highest_risk)} by region"
    line = f"Misses can be predicted from the features ({adjusted(model.pvalue)}): {risks}."
    if model.pockets or model.wide:
        return line
    return f"{line} No single region is shown to fail."


def nothing(model: ModelPockets) -> str:
    """Return what could have been found, where nothing was."""
    line = f"Nothing in the features predicts a miss ({adjusted(model.pvalue)})"
    return f"{line}; {detectable(model.power)}."


def detectable(power: PocketPower | None) -> str:
    """Return the pocket that would have been found."""
    if power is None:
        return "there are too few rows to find a pocket of a fifth of them or less"
    return (
        f"a pocket of {coverage(power.share)} of the rows that covers less than {coverage(power.coverage)} "
        f"would have been found with {coverage(power.probability)} probability"
    )


def narrow(pocket: Pocket, shipped: Move) -> str:
    """Return what is known of a region that is covered too rarely."""
    return (
        f"{pocket.title}: {counted(pocket.n, 'row')}, covers {interval(pocket.coverage)} of {promised(pocket)} "
        f"as shipped, at most {share(pocket.bound)} ({adjusted(pocket.pvalue)}); bands there need "
        f"{change(pocket.move)}{instead(shipped)}{_confirmed(pocket)}."
    )


def wide(pocket: Pocket, shipped: Move) -> str:
    """Return what is known of a region that is covered too often."""
    return (
        f"{pocket.title}: {counted(pocket.n, 'row')}, covers {interval(pocket.coverage)}, more than the promised "
        f"{promised(pocket)} ({adjusted(pocket.pvalue)}); {change(pocket.move)} would do{instead(shipped)}"
        f"{_confirmed(pocket)}."
    )


def remedy(model: ModelPockets) -> Iterator[str]:
    """Yield what calibration by pocket does, checked on the half that had no part in it."""
    changed = [*model.pockets, *model.wide]
    if not changed:
        return
    first = changed[0]
    outside = ""
    if isfinite(model.elsewhere.value):
        before = percent(model.elsewhere.value)
        outside = f", and elsewhere {percent(model.elsewhere_after.value)} (before: {before})"
    yield (
        f"With a factor for each pocket, learnt on one half and checked on the other, {first.title} is covered "
        f"{percent(first.after.value)} (before: {percent(first.coverage.value)}){outside}."
    )


def change(move: Move) -> str:
    """Return a factor, or what is added."""
    value = move.estimate.value
    if not isfinite(value):
        return "more rows for a factor"
    cell: Cell = amount(value) if move.kind == "shift" else factor(value)
    return str(cell)


def instead(shipped: Move) -> str:
    """Return what ships elsewhere, but for bands that ship unchanged."""
    unchanged = 1.0 if shipped.kind == "scale" else 0.0
    return "" if shipped.estimate.value == unchanged else f" instead of {change(shipped)}"


def interval(estimate: Estimate) -> str:
    """Return a share with its interval."""
    return str(share(estimate.value, estimate.low, estimate.high))


def percent(value: float) -> str:
    """Return a share in whole percent, with a digit more near both ends.

    >>> percent(0.714), percent(0.016), percent(0.996)
    ('71%', '1.6%', '99.6%')
    """
    if isnan(value):
        return str(share(value))
    near_the_end = min(value, 1 - value) < 0.1
    return f"{100 * value:.1f}%" if near_the_end and value not in (0, 1) else f"{100 * value:.0f}%"


def promised(pocket: Pocket) -> str:
    """Return the coverage that was promised."""
    return str(coverage(pocket.target))


def adjusted(pvalue: float) -> str:
    """Return an adjusted p-value."""
    return f"adjusted {p(pvalue)}"


def _confirmed(pocket: Pocket) -> str:
    return "; both halves of the data show it" if pocket.halves > 1 else ""
