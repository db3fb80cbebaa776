"""Rows: all numbers of one model as a row of the assessment, assembled once for rows in memory and for bins."""

from math import inf, isfinite, nan

from uccurve._vocabulary import Axes
from uccurve.assess.source import (
    AREAS,
    BEST_SCORE,
    CRPS,
    CRPS_SKILL,
    DELIVERED_SCORE,
    GAINS,
    SCORE,
    SKILL,
    WIDTH,
    WIS_SCORE,
    Place,
    Source,
    estimate,
    estimate_of,
    spread_of,
)
from uccurve.evidence.inference import mover_estimate
from uccurve.points import Curve, Estimate, Move
from uccurve.results import WIS, AssessmentSettings, Cost, ModelRow, Promise


def model_row(source: Source) -> ModelRow:
    """All numbers of a model; its rank and p-value depend on the others."""
    settings = source.settings
    place = source.target(settings.confidence_level)
    coverage = source.coverage()
    evidence = source.evidence(DELIVERED_SCORE)
    above, below = source.missed()
    return ModelRow(
        name=source.name,
        n=source.n,
        side=source.side,
        level=source.level,
        coverage=coverage,
        promise=_promise(coverage, settings),
        missed_above=above,
        missed_below=below,
        degrees=max(min(source.units.degrees, evidence.degrees), 0.0),
        move=Move(source.kind, _estimate_of(place)),
        half_width=half_width(source, settings.confidence_level),
        score=estimate(source, SCORE),
        skill=estimate(source, SKILL),
        crps=estimate(source, CRPS),
        crps_skill=estimate(source, CRPS_SKILL),
        delivered_score=estimate_of(source, DELIVERED_SCORE, evidence),
        best_score=estimate(source, BEST_SCORE),
        decomposition=source.decomposition(),
        delivered=source.delivered(),
        areas={axes_name(area.axes): estimate(source, area) for area in AREAS if area.axes},
        gains={axes_name(gain.axes): estimate(source, gain) for gain in GAINS if gain.axes},
        concentration=source.concentration(),
        partial_gain=_partial_gain(source.curve, settings),
        cost=_cost(source.curve, settings),
        wis=_wis(source),
        levels=tuple(source.levels()),
        pit=source.pit(),
    )


def axes_name(axes: Axes) -> str:
    """Name under which an area or a gain is found, such as ``bandwidth_miss_rate``."""
    return "_".join(axes)


def half_width(source: Source, confidence_level: float) -> Estimate:
    """Mean half-width as shipped."""
    place = source.target(confidence_level)
    if not isfinite(place.value):
        return Estimate(inf if place.value > 0 else nan)
    spread = spread_of(source, source.evidence(WIDTH))
    log_scale = source.kind == "scale" or source.side == "both"
    return mover_estimate(source.widths(place), spread, confidence_level, log_scale=log_scale)


def _estimate_of(place: Place) -> Estimate:
    return Estimate(place.value, place.low, place.high)


def _promise(coverage: Estimate, settings: AssessmentSettings) -> Promise | None:
    if settings.coverage is None:
        return None
    return settings.promised.kept_by(coverage)


def _partial_gain(curve: Curve, settings: AssessmentSettings) -> Estimate | None:
    if settings.partial is None:
        return None
    return Estimate(curve.gain(axes=settings.axes, unit=settings.unit, miss_rate=settings.partial))


def _cost(curve: Curve, settings: AssessmentSettings) -> Cost | None:
    if settings.c is None:
        return None
    best = curve.cheapest(settings.c, axes=settings.axes, unit=settings.unit)
    delivered = curve.cost(settings.c, axes=settings.axes, unit=settings.unit)
    return Cost(
        delivered,
        nan if best.cost is None else best.cost,
        best.shift if curve.vary == "shift" else best.scale,
    )


def _wis(source: Source) -> WIS | None:
    parts = source.wis_parts()
    if parts is None:
        return None
    return WIS(
        score=estimate(source, WIS_SCORE),
        dispersion=parts.dispersion,
        underprediction=parts.underprediction,
        overprediction=parts.overprediction,
        potential=parts.potential,
    )
