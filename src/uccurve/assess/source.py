"""Source: what gives the numbers of a model, from rows at hand or from their bins, and the row made of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import expm1, inf, isfinite, nan
from typing import NamedTuple, Protocol

from uccurve._vocabulary import SUMMARY, Array, Axes, Side
from uccurve.evidence.inference import (
    Span,
    WidthsAround,
    log_estimate,
    mover_estimate,
    saved_estimate,
)
from uccurve.evidence.units import Spread, Units
from uccurve.points import Curve, Decomposition, Estimate, Move, MoveKind, OperatingPoint
from uccurve.results import PIT, WIS, AssessmentSettings, Cost, LevelRow, ModelRow, Promise


@dataclass(frozen=True, slots=True)
class Statistic:
    """One number of a model that has a confidence interval.

    A share that is `saved` has the influence on the logarithm of what is left of it, any other one, which is positive,
    that on its own logarithm. Areas and gains have `axes`.
    """

    name: str
    saved: bool = False
    axes: Axes | None = None


SCORE = Statistic("score")  # as shipped
DELIVERED_SCORE = Statistic("delivered_score")
BEST_SCORE = Statistic("best_score")
CRPS = Statistic("crps")
WIS_SCORE = Statistic("wis")
WIDTH = Statistic("width")  # mean half-width at the factor that ships, as if that were known
SKILL = Statistic("skill", saved=True)
CRPS_SKILL = Statistic("crps_skill", saved=True)
AREAS = tuple(Statistic("area", axes=axes) for axes in SUMMARY)
GAINS = tuple(Statistic("gain", saved=True, axes=axes) for axes in SUMMARY)


class Evidence(NamedTuple):
    """A statistic and what is known about chance.

    Attributes
    ----------
    span : Span
        Its value, in the caller's unit.
    change : array or None
        Influence of the units on its logarithm (of what is left, for a share that is saved); None where unknown.
    offset : float
        What the fit of a factor hides, on the same logarithm.
    degrees : float
        Most degrees of freedom; fewer than there are units where only some of them say anything.
    """

    span: Span
    change: Array | None
    offset: float = 0.0
    degrees: float = inf


class Place(NamedTuple):
    """Factor (or shift) that reaches the target, with the ends of its confidence interval."""

    low: float
    value: float
    high: float


class Source(Protocol):
    """One model on some rows."""

    name: str
    settings: AssessmentSettings

    @property
    def units(self) -> Units:
        """What is independent of each other."""

    @property
    def unit(self) -> float:
        """One of the caller's units in units of y."""

    @property
    def n(self) -> int:
        """Number of rows that carry weight."""

    @property
    def side(self) -> Side:
        """Which bounds are judged."""

    @property
    def kind(self) -> MoveKind:
        """Whether bands are calibrated by a factor or by a shift."""

    @property
    def level(self) -> float | None:
        """Nominal coverage of the interval that is moved, for a model of several levels."""

    @property
    def curve(self) -> Curve:
        """The whole curve."""

    def evidence(self, statistic: Statistic) -> Evidence:
        """Return a statistic and what is known about chance."""

    def coverage(self) -> Estimate:
        """Coverage as delivered."""

    def inside(self) -> Estimate:
        """Coverage as delivered, where a row on a bound counts as missed."""

    def missed(self) -> tuple[float, float]:
        """Shares of the rows above the upper and below the lower bound, as delivered."""

    def target(self, confidence_level: float) -> Place:
        """Factor (or shift) that reaches the coverage that is asked for."""

    def widths(self, place: Place) -> WidthsAround:
        """Mean half-width at a factor (or shift) and at the ends of its interval, in the caller's unit."""

    def delivered_half_width(self, confidence_level: float) -> Estimate:
        """Mean half-width as delivered."""

    def decomposition(self) -> Decomposition:
        """What makes up the interval score."""

    def delivered(self) -> OperatingPoint:
        """Metrics as delivered, in the caller's unit."""

    def concentration(self) -> int:
        """Smallest number of rows that make up half the area."""

    def wis_parts(self) -> "WISParts | None":
        """Parts of the weighted interval score; None for a model of one level."""

    def levels(self) -> Sequence[LevelRow]:
        """The model's own levels, narrowest first."""

    def pit(self) -> PIT | None:
        """Where observations fall among the quantiles of the levels."""


class WISParts(NamedTuple):
    """What makes up a weighted interval score, and the score with each level at its best factor."""

    dispersion: float
    underprediction: float
    overprediction: float
    potential: float


def spread_of(source: Source, evidence: Evidence) -> Spread:
    """Return how sure a statistic is."""
    if evidence.change is None:
        return Spread(nan, 0.0)
    return source.units.spread(evidence.change).limited(evidence.degrees)


def estimate(
    source: Source, statistic: Statistic, *, confidence_level: float | None = None
) -> Estimate:
    """Return a statistic with its confidence interval."""
    return estimate_of(
        source, statistic, source.evidence(statistic), confidence_level=confidence_level
    )


def estimate_of(
    source: Source,
    statistic: Statistic,
    evidence: Evidence,
    *,
    confidence_level: float | None = None,
) -> Estimate:
    """Return a statistic with its confidence interval, from the evidence on it."""
    spread = spread_of(source, evidence)
    level = confidence_level or source.settings.confidence_level
    if statistic.saved:
        return saved_estimate(evidence.span, spread, level, offset=evidence.offset)
    shifted = evidence.span.value * expm1(evidence.offset)
    return log_estimate(evidence.span, spread, level, offset=shifted)


def exact(value: float, change: Array | None = None) -> Evidence:
    """Return the evidence on a number that is known exactly."""
    return Evidence(Span.exact(value), change)


# ---- the row of a model


def model_row(source: Source) -> ModelRow:
    """All numbers of a model; its rank and p-value depend on the others."""
    settings = source.settings
    place = source.target(settings.confidence_level)
    coverage = source.coverage()
    degrees, delivered_score = _delivered_score(source)
    areas, gains = _areas_and_gains(source)
    above, below = source.missed()
    return ModelRow(
        name=source.name,
        n=source.n,
        side=source.side,
        level=source.level,
        coverage=coverage,
        promise=_promise(coverage, source.inside(), settings),
        missed_above=above,
        missed_below=below,
        degrees=degrees,
        move=Move(source.kind, _estimate_of(place)),
        half_width=half_width(source, settings.confidence_level),
        score=estimate(source, SCORE),
        skill=estimate(source, SKILL),
        crps=estimate(source, CRPS),
        crps_skill=estimate(source, CRPS_SKILL),
        delivered_score=delivered_score,
        best_score=estimate(source, BEST_SCORE),
        decomposition=source.decomposition(),
        delivered=source.delivered(),
        areas=areas,
        gains=gains,
        concentration=source.concentration(),
        partial_gain=_partial_gain(source.curve, settings),
        cost=_cost(source.curve, settings),
        wis=_wis(source),
        levels=tuple(source.levels()),
        pit=source.pit(),
    )


def _delivered_score(source: Source) -> tuple[float, Estimate]:
    """Degrees of freedom of the score as delivered, and that score."""
    evidence = source.evidence(DELIVERED_SCORE)
    degrees = max(min(source.units.degrees, evidence.degrees), 0.0)
    return degrees, estimate_of(source, DELIVERED_SCORE, evidence)


def _areas_and_gains(source: Source) -> tuple[dict[str, Estimate], dict[str, Estimate]]:
    """Areas and gains by the names of their axes: one after the other, as a gain needs the area on its axes."""
    areas: dict[str, Estimate] = {}
    gains: dict[str, Estimate] = {}
    for area, gain in zip(AREAS, GAINS, strict=True):
        if area.axes is None:
            continue
        name = axes_name(area.axes)
        areas[name] = estimate(source, area)
        gains[name] = estimate(source, gain)
    return areas, gains


def axes_name(axes: Axes) -> str:
    """Name under which an area or a gain is found, such as ``bandwidth_miss_rate``."""
    return "_".join(axes)


def half_width(source: Source, confidence_level: float) -> Estimate:
    """Mean half-width as shipped."""
    place = source.target(confidence_level)
    if not isfinite(place.value):
        width = source.widths(place).value
        return Estimate(width if width > 0 else nan)
    spread = spread_of(source, source.evidence(WIDTH))
    log_scale = source.kind == "scale" or source.side == "both"
    return mover_estimate(source.widths(place), spread, confidence_level, log_scale=log_scale)


def _estimate_of(place: Place) -> Estimate:
    return Estimate(place.value, place.low, place.high)


def _promise(coverage: Estimate, inside: Estimate, settings: AssessmentSettings) -> Promise | None:
    if settings.coverage is None:
        return None
    return settings.promised.kept_by(coverage, inside)


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
