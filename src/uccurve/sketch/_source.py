"""Bins as a source: the numbers of one streamed model for the rows, comparisons and verdict of `assess`."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil, inf, isfinite, log, nan
from typing import Any, NamedTuple

import numpy as np

from uccurve._distributions import order_statistic_ranks
from uccurve._refusals import miss_rate_of, sentence
from uccurve._vocabulary import Side
from uccurve.assess.cautions import RowFacts
from uccurve.assess.levels import pit_density, pit_edges
from uccurve.assess.segments import NOTHING_SHIPS, SegmentFacts, tested_segments
from uccurve.assess.source import Evidence, Place, Statistic, WISParts, spread_of
from uccurve.evidence.inference import Span, WidthsAround, log_estimate, share_estimate
from uccurve.evidence.units import SummedUnits, labelled
from uccurve.points import Decomposition, Estimate, MoveKind, OperatingPoint
from uccurve.results import PIT, LevelRow, Promised, Segment

from ._answers import Answers, saved
from ._binned import Bracket, bracket
from ._bins import SketchState
from ._influence import joined_label
from ._model import StreamedModel
from ._scan import FrameRequest
from ._second_pass import WIS_PARTS, Seen, Sums, effective_rows, of
from .sketch import SketchUCC


def factor_ends(
    answers: Answers, share: Fraction, effective: float, confidence_level: float
) -> tuple[float, float]:
    """Order statistics around a factor, as `contributions.factor_ends` of the rows; at the ends of their bins."""
    if not effective >= 1:
        return nan, nan
    rows = answers.state.rows
    count = int(effective)
    first, last = order_statistic_ranks(count, share, confidence_level)
    first = first * rows // count
    last = rows + 1 if last > count else ceil(last * rows / count)
    low = answers.place(Fraction(first, rows)).low if first > 0 else 0.0
    high = answers.place(Fraction(last, rows)).high if last <= rows else inf
    return low, high


def spanned(ends: Bracket, value: float | None = None) -> Span:
    """Span of a bracket, with a value between its ends."""
    low, high = ends.pair
    middle = ends.middle if value is None else value
    return Span(min(low, middle), middle, max(high, middle))


class BinsSource:
    """One model whose rows are not at hand: its bins, and what the second pass saw."""

    side: Side = "both"
    kind: MoveKind = "scale"

    def __init__(
        self, model: StreamedModel, seen: Seen, units: SummedUnits, levels: "LevelSums | None"
    ) -> None:
        self.name = model.name
        self.settings = model.settings
        self.model = model
        self.seen = seen
        self.units = units
        self._levels = levels

    @property
    def unit(self) -> float:
        """One of the caller's units in units of y."""
        return self.model.size

    @property
    def n(self) -> int:
        """Number of rows that carry weight."""
        return self.model.state.rows

    @property
    def level(self) -> float | None:
        """Nominal coverage of the interval that is moved, for a model of several levels."""
        return self.model.level

    @property
    def curve(self) -> SketchUCC:
        """The whole curve."""
        return self.model.curve

    @property
    def alpha(self) -> Fraction:
        """Miss rate that is asked for."""
        return self.model.alpha

    # ---- statistics

    def evidence(self, statistic: Statistic) -> Evidence:
        """Return a statistic and what is known about chance."""
        name = _flat_name(statistic)
        if name in self.model.unknown:
            return Evidence(Span.exact(nan), None)
        change = self.seen.changes.get(_form_name(statistic))
        if name == "score":
            return self._score(change)
        if name == "skill":
            return self._skill(change)
        if name == "delivered_score":
            span = spanned(self.model.answers.interval_score(coverage=1 - self.alpha))
            return Evidence(span, change, degrees=self._degrees("open"))
        exact = {"wis": self._wis, "width": self.model.answers.binned.half_width}
        if name in exact:
            return Evidence(Span.exact(exact[name]), change)
        degrees = self._degrees("short") if name == "best_score" else inf
        return Evidence(spanned(self.model.brackets[name]), change, degrees=degrees)

    def _degrees(self, name: str) -> float:
        """Degrees of freedom of what rests on the missed rows."""
        return float(min(self.units.count, self.seen.misses[name]) - 1)

    @property
    def _shipped(self) -> Span:
        """Score at the factor that is shown."""
        ends = self.model.brackets["score"]
        if not isfinite(self.model.target.value):
            return spanned(ends)
        return spanned(ends, self.seen.score / self.unit)

    @property
    def _constant(self) -> Span:
        """Score of the constant band at its half-width."""
        ends = self.model.brackets["decomposition_constant"]
        if not isfinite(self.model.target.value):
            return spanned(ends)
        return spanned(ends, self.seen.constant / self.unit)

    def _score(self, change: np.ndarray | None) -> Evidence:
        offset = _log_offset(self.seen.offset, self.seen.score)
        return Evidence(self._shipped, change, offset, self._degrees("missed"))

    def _skill(self, change: np.ndarray | None) -> Evidence:
        value = saved(bracket(self._shipped.value), bracket(self._constant.value)).middle
        if not isfinite(self._shipped.value):
            return Evidence(Span.exact(nan), None)
        offset = _log_offset(self.seen.offset, self.seen.score)
        offset -= _log_offset(self.seen.constant_offset, self.seen.constant)
        degrees = min(self._degrees("missed"), self._degrees("flat_missed"))
        return Evidence(spanned(self.model.brackets["skill"], value), change, offset, degrees)

    # ---- the factor

    def coverage(self) -> Estimate:
        """Coverage as delivered."""
        level = self.settings.confidence_level
        effective = effective_rows(self.units, self.seen.open, level)
        covered = 1 - self.curve.at(1.0).miss_rate
        return share_estimate(covered, effective, level)

    def inside(self) -> Estimate:
        """Coverage as delivered, where a row on a bound counts as missed, as far as that is known."""
        level = self.settings.confidence_level
        effective = effective_rows(self.units, self.seen.open, level)
        on_bounds = self.seen.on_bounds if self.seen.on_bounds >= 0 else 0.0
        return share_estimate(1 - self.curve.at(1.0).miss_rate - on_bounds, effective, level)

    def missed(self) -> tuple[float, float]:
        """Shares of the rows above the upper and below the lower bound, as delivered."""
        above = self.seen.above
        return above, max(self.curve.at(1.0).miss_rate - above, 0.0)

    def target(self, confidence_level: float) -> Place:
        """Scale of the conformal rank, and the order statistics around it; their ends are those of their bins."""
        value = self.model.target.value
        effective = effective_rows(self.units, self.seen.reached, confidence_level)
        low, high = factor_ends(self.model.answers, 1 - self.alpha, effective, confidence_level)
        return Place(min(low, value), value, max(high, value))

    def widths(self, place: Place) -> WidthsAround:
        """Mean half-width at a factor and at the ends of its interval."""
        half_width = self.model.answers.binned.half_width
        return WidthsAround(*(half_width * t if isfinite(t) else t for t in place))

    def delivered_half_width(self, confidence_level: float) -> Estimate:
        """Mean half-width as delivered."""
        evidence = Evidence(
            Span.exact(self.model.answers.binned.half_width), self.seen.changes.get("width")
        )
        return log_estimate(evidence.span, spread_of(self, evidence), confidence_level)

    # ---- what else a row shows

    def decomposition(self) -> Decomposition:
        """What makes up the interval score; without the rows nothing is known of one interval for all of them."""
        answers = self.model.answers
        delivered = answers.interval_score(coverage=1 - self.alpha).middle
        shipped = self._shipped.value
        return Decomposition.of(
            delivered=delivered,
            shipped=shipped,
            constant=self._constant.value,
            climatology=nan,
            best=min(self.model.brackets["best_score"].middle, delivered, shipped),
        )

    def delivered(self) -> OperatingPoint:
        """Metrics as delivered."""
        return self.curve.at(1.0, unit=self.settings.unit)

    def concentration(self) -> int:
        """Smallest number of rows that make up half the area: an upper end of it."""
        return self.model.concentration()

    def facts(self) -> RowFacts:
        """What the notes on the model are about."""
        state = self.model.state
        critical = state.critical
        on_bounds = self.seen.on_bounds
        return RowFacts(
            raised=state.raised,
            dropped=state.dropped,
            uncoverable=int(critical.rows[critical.infinite].sum()),
            weighted=state.unequal,
            asymmetry=self.model.asymmetry,
            on_bounds=on_bounds,
            open_coverage=1 - self.curve.at(1.0).miss_rate - on_bounds,
        )

    # ---- levels

    @property
    def _wis(self) -> float:
        return self._levels.wis if self._levels else nan

    def wis_parts(self) -> WISParts | None:
        """Parts of the weighted interval score; None for a model of one level."""
        if self._levels is None:
            return None
        dispersion, underprediction, overprediction = self._levels.parts
        return WISParts(
            dispersion=dispersion,
            underprediction=underprediction,
            overprediction=overprediction,
            potential=self.model.brackets["wis_potential"].middle,
        )

    def levels(self) -> Sequence[LevelRow]:
        """The model's own levels, narrowest first."""
        return self._levels.rows() if self._levels else ()

    def pit(self) -> PIT | None:
        """Where observations fall among the quantiles of the levels."""
        return self._levels.pit() if self._levels else None


def _flat_name(statistic: Statistic) -> str:
    """Name of a statistic among the brackets."""
    if statistic.axes is None:
        return statistic.name
    return "_".join([f"{statistic.name}s", *statistic.axes])


def _form_name(statistic: Statistic) -> str:
    """Name of a statistic among the forms."""
    return "_".join([statistic.name, *(statistic.axes or ())])


def _log_offset(offset: float, score: float) -> float:
    """What the fit of a factor hides, on the logarithm of the score."""
    return log(1 + offset / score) if score > 0 and offset > -score else 0.0


class LevelSums:
    """What the second pass saw of the levels of a model."""

    def __init__(self, i: int, model: StreamedModel, sums: Sums) -> None:
        self._i = i
        self._model = model
        self._sums = sums

    @property
    def wis(self) -> float:
        """Weighted interval score of the delivered levels (Bracher and others 2021)."""
        return sum(self.parts)

    @property
    def parts(self) -> list[float]:
        """Dispersion, underprediction and overprediction."""
        return [self._mean(name) / self._model.size for name in WIS_PARTS]

    def _mean(self, name: str) -> float:
        return self._sums.mean(of(self._i, name))

    def rows(self) -> list[LevelRow]:
        """One row per level, narrowest first."""
        return [self._row(k, level) for k, level in enumerate(self._model.levels)]

    def _row(self, k: int, level: float) -> LevelRow:
        over = of(self._i, f"over {k}")
        under = of(self._i, f"under {k}")
        sums = self._sums
        share = sums.share({over: 1.0, under: 1.0})
        confidence_level = self._model.settings.confidence_level
        effective = effective_rows(sums.units, share, confidence_level)
        coverage = share_estimate(1 - share.value, effective, confidence_level)
        strictly = 1 - share.value - sums.mean(of(self._i, f"on {k}"))
        inside = share_estimate(strictly, effective, confidence_level)
        answers = self._model.level_answers[level]
        factor = answers.place_for_new_rows(level).value
        behind = sums.share({of(self._i, f"reached {k}"): 1.0})
        rows_behind = effective_rows(sums.units, behind, confidence_level)
        low, high = factor_ends(answers, 1 - miss_rate_of(level), rows_behind, confidence_level)
        return LevelRow(
            model=self._model.name,
            level=level,
            coverage=coverage,
            promise=Promised.of(level).kept_by(coverage, inside),
            missed_above=sums.mean(over),
            missed_below=sums.mean(under),
            scale=Estimate(factor, min(low, factor), max(high, factor)),
            half_width=answers.binned.half_width / self._model.size,
        )

    def pit(self) -> PIT:
        """Count observations between the quantiles of the levels, as memory does."""
        edges = pit_edges(self._model.levels)
        confidence_level = self._model.settings.confidence_level
        each = confidence_level ** (1 / (len(edges) - 1))
        density = []
        for width, flags in zip(np.diff(edges).tolist(), self._bins(), strict=True):
            share = self._sums.share(flags)
            effective = effective_rows(self._sums.units, share, each)
            tied = of(self._i, "on the median")
            half = self._sums.mean(tied) / 2 if tied in flags else 0.0
            density.append(pit_density(share.value - half, effective, width, each))
        return PIT(edges, tuple(density))

    def _bins(self) -> list[Mapping[str, float]]:
        """Flags whose sum says which observations lie between two quantiles, from the lowest bin up."""
        i = self._i
        count = len(self._model.levels)
        sides: list[list[dict[str, float]]] = []
        for outside, inside in (("under", "below the median"), ("over", "above the median")):
            beyond = [of(i, f"{outside} {k}") for k in reversed(range(count))] + [of(i, inside)]
            bins = [{beyond[0]: 1.0}]
            bins += [{inner: 1.0, outer: -1.0} for outer, inner in pairwise(beyond)]
            bins[-1][of(i, "on the median")] = 1.0
            sides.append(bins)
        return [*sides[0], *reversed(sides[1])]


# ---- segments


Parts = Mapping[tuple[Any, ...], SketchState]


class Streamed(NamedTuple):
    """A streamed model with the factor that ships, and its number among the columns of the sums."""

    number: int
    source: BinsSource
    t: float


def streamed_segments(
    streamed: Streamed, parts: Parts, request: FrameRequest, sums: Sums
) -> list[Segment]:
    """One model on the segments of each feature."""
    facts = []
    for feature in request.features:
        places = [request.by.index(name) for name in feature]
        labels = sums.labels(places)
        for label, state in rows_by_label(parts, places).items():
            if not state.rows:
                continue
            inside, rest = sums.split(labels == label, state)
            named = (", ".join(feature), label)
            facts.append(_facts(streamed, named, state, inside, rest))
    return tested_segments(facts, streamed.source)


def rows_by_label(parts: Parts, places: Sequence[int]) -> dict[str, SketchState]:
    """State of the rows with each label of a feature."""
    unlabelled = [state for key, state in parts.items() if None in key]
    if unlabelled:
        missing = sum(state.rows + state.dropped for state in unlabelled)
        total = sum(state.rows + state.dropped for state in parts.values())
        raise ValueError(sentence(labelled("by"), missing, total))
    states: dict[str, list[SketchState]] = {}
    for key, state in parts.items():
        states.setdefault(joined_label(key[place] for place in places), []).append(state)
    return {label: SketchState.union(states[label]) for label in sorted(states)}


def _facts(
    streamed: Streamed, named: tuple[str, str], state: SketchState, inside: Sums, rest: Sums
) -> SegmentFacts:
    """One model on one segment."""
    i, source, t = streamed
    level = source.settings.confidence_level
    model = source.model
    answers = Answers(state)
    coverage = 1 - model.alpha
    constant_t = model.constant_target.value
    ships = isfinite(t) and isfinite(constant_t)
    against_rest = nan
    if source.settings.coverage is None and inside.units.count > 1:
        against_rest = inside.missed_more_often(rest, of(i, "open"))
    half_width = score = constant = nan
    if ships:
        half_width = answers.binned.half_width * t / source.unit
        score = answers.interval_score(coverage=coverage, at=t).middle / source.unit
        constant = answers.constant_score(coverage=coverage, at=constant_t).middle / source.unit
    feature, label = named
    return SegmentFacts(
        feature=feature,
        label=label,
        n=state.rows,
        blocks=inside.units.count,
        delivered=inside.covered(of(i, "open"), level),
        shipped=inside.covered(_flag_at(i, source, t), level) if isfinite(t) else NOTHING_SHIPS,
        t=answers.place_for_new_rows(coverage).value,
        half_width=half_width,
        score=score,
        constant_score=constant,
        against_rest=against_rest,
    )


def _flag_at(i: int, source: BinsSource, t: float) -> str:
    """Column that says which rows are missed with a factor."""
    if t == source.model.target.value:
        return of(i, "missed")
    if t == 1:
        return of(i, "open")
    return of(i, "chosen")
