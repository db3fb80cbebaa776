"""Decided: the verdict's numbers, at the factor that ships."""

from math import inf, isfinite, nan

from uccurve.assess.choice import Decision
from uccurve.assess.folds import NestedChoice, moved
from uccurve.assess.rows import half_width
from uccurve.assess.source import DELIVERED_SCORE, SCORE, Source, estimate
from uccurve.estimate import Estimate
from uccurve.results import AssessmentSettings, Choice, ModelRow, Verdict


def verdict_of(
    decision: Decision,
    source: Source,
    settings: AssessmentSettings,
    *,
    models: int,
    nested: NestedChoice | None,
) -> Verdict:
    """Return the verdict without its words.

    Parameters
    ----------
    decision : Decision
    source : Source
        Of the model that ships.
    settings : AssessmentSettings
    models : int
        How many there were to choose from.
    nested : NestedChoice or None
        What the choice does to new rows; None where nothing is spent, or it could not be found out.
    """
    row = decision.model
    additive = row.move.kind == "shift"
    choice = _choice(decision, nested, models, additive=additive)
    t = _t_that_ships(row, choice, unchanged=decision.unchanged, additive=additive)
    each = 1 - (1 - settings.confidence_level) / models
    return Verdict(
        headline="",
        text="",
        reasons=(),
        model=row.name,
        scale=nan if additive else t,
        shift=t if additive else nan,
        level=row.level,
        coverage=settings.shown_coverage,
        half_width=_half_width(source, t, each, unchanged=decision.unchanged),
        score=_score(source, nested, each, unchanged=decision.unchanged),
        tied=decision.tied,
        runner_up=decision.runner_up,
        pvalue=decision.pvalue,
        decided=not decision.tied,
        reachable=row.move.is_reachable,
        unchanged=decision.unchanged,
        choice=choice,
    )


def t_of(verdict: Verdict) -> float:
    """Factor, or shift, that a verdict names."""
    return verdict.scale if verdict.scale >= 0 else verdict.shift


def _choice(
    decision: Decision, nested: NestedChoice | None, models: int, *, additive: bool
) -> Choice:
    """Return what choosing costs."""
    neutral = 0.0 if additive else 1.0
    own = decision.model.move.estimate
    if not decision.spends:
        return Choice(models, own, neutral, corrected=True)
    if nested is None:
        return Choice(models, own, neutral, corrected=False)
    return Choice(models, own, nested.multiplier, corrected=True, folds=nested.folds)


def _t_that_ships(row: ModelRow, choice: Choice, *, unchanged: bool, additive: bool) -> float:
    if unchanged:
        return 0.0 if additive else 1.0
    return moved(row.move.estimate.value, choice.multiplier, additive=additive)


def _half_width(source: Source, t: float, confidence_level: float, *, unchanged: bool) -> Estimate:
    """Mean half-width at the factor that ships; its interval is as wide as that at the model's own factor."""
    if not isfinite(t):
        return Estimate(inf if t > 0 else nan)
    place = source.target(confidence_level)
    width = source.widths(place._replace(value=t)).value
    own = half_width(source, confidence_level)
    if unchanged or not (own.has_interval and own.value > 0):
        return Estimate(width) if not unchanged else source.delivered_half_width(confidence_level)
    return own.times(width / own.value)


def _score(
    source: Source, nested: NestedChoice | None, confidence_level: float, *, unchanged: bool
) -> Estimate:
    """Score of what ships; of rows that neither the choice nor the factor has seen, where the choice is paid for."""
    if unchanged:
        return estimate(source, DELIVERED_SCORE, confidence_level=confidence_level)
    own = estimate(source, SCORE, confidence_level=confidence_level)
    if nested is None or not own.value > 0:
        return own
    held_out = nested.score / source.unit
    if not own.has_interval:
        return Estimate(held_out)
    middle = (own.low * own.high) ** 0.5
    return Estimate(held_out, own.low * held_out / middle, own.high * held_out / middle)
