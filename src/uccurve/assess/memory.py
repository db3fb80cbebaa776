"""Memory: the numbers of one model whose rows are at hand, from one path, one order and one constant reference."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from math import inf, isfinite, log, nan
from typing import Literal

from uccurve._arrays import Flags
from uccurve._paths import Path
from uccurve._ramps import Ramps, rounding_of_area, row_shares
from uccurve._refusals import miss_rate_of
from uccurve._scoring import WISRows, climatology, conformal_t, rows_carrying, saved_share
from uccurve._vocabulary import FALLING, HEADLINE, SUMMARY, Array, Axes, Range, Side
from uccurve.assess import levels as level_rows
from uccurve.assess.source import (
    BEST_SCORE,
    CRPS,
    CRPS_SKILL,
    DELIVERED_SCORE,
    SCORE,
    SKILL,
    WIDTH,
    WIS_SCORE,
    Evidence,
    Place,
    Statistic,
    WISParts,
    axes_name,
    spread_of,
)
from uccurve.curve import UCC
from uccurve.evidence import contributions
from uccurve.evidence.inference import (
    Span,
    WidthsAround,
    coverage_estimate,
    effective_rows,
    log_estimate,
    missed_on_sides,
    on_bounds_of,
    share_estimate,
)
from uccurve.evidence.units import Blocks
from uccurve.intervals import Intervals
from uccurve.points import Decomposition, Estimate, Move, MoveKind, OperatingPoint
from uccurve.resampling.bootstrap import bootstrap
from uccurve.results import PIT, AssessmentSettings, LevelRow, ModelRow


class ConstantBand:
    """The constant band around a model's predictions, on the same rows."""

    def __init__(
        self, model: Path, settings: AssessmentSettings, alpha: Fraction, units: Blocks, unit: float
    ) -> None:
        self._model = model
        self._settings = settings
        self._alpha = alpha
        self._units = units
        self._unit = unit

    @cached_property
    def path(self) -> Path:
        """Its rows."""
        return self._model.constant()

    @cached_property
    def t(self) -> float:
        """Half-width of the conformal rank."""
        return conformal_t(self.path, self._alpha)

    @cached_property
    def shipped(self) -> Evidence:
        """Its score at that half-width."""
        effective = contributions.effective_at(
            self.path, 1 - self._alpha, self._units, self._settings.confidence_level
        )
        return shipped_evidence(
            self.path, self.t, effective, self._units, alpha=self._alpha, unit=self._unit
        )

    @cached_property
    def crps(self) -> Evidence:
        """Its potential CRPS."""
        rows = contributions.crps_contributions(self.path, Ramps(self.path))
        return evidence_of_rows(self.path, rows, self._unit)


class RowsSource:
    """One model: its curve as given, and the delivered intervals at the asked coverage, which are what is moved.

    The two are the same path but for a model of several levels.
    """

    def __init__(self, name: str, curve: UCC, settings: AssessmentSettings, units: Blocks) -> None:
        self.name = name
        self.curve = curve
        self.settings = settings
        self.units = units
        self.alpha = miss_rate_of(settings.shown_coverage)
        self.unit = curve.unit_size(settings.unit)  # what numbers are divided by
        self.moved_curve = curve.delivered_curve(1 - self.alpha)
        self.delivered_intervals = self.moved_curve.intervals
        self._targets: dict[float, Place] = {}
        self._areas: dict[Axes, Evidence] = {}
        self._crps_rows: Array | None = None
        self.level = min(float(1 - self.alpha), curve.levels[-1]) if curve.levels else None

    # ---- rows

    @cached_property
    def path(self) -> Path:
        """Rows of the delivered intervals."""
        return self.moved_curve.path()

    @cached_property
    def constant(self) -> ConstantBand:
        """The constant band around the same predictions."""
        return ConstantBand(self.path, self.settings, self.alpha, self.units, self.unit)

    @cached_property
    def whole_path(self) -> Path:
        """Rows of the curve as given."""
        return self.curve.path() if self.curve.levels else self.path

    @property
    def whole_ramps(self) -> Ramps:
        """Vertices of the curve as given."""
        return self.curve.ramps(self.whole_path)

    @property
    def n(self) -> int:
        """Number of rows that carry weight."""
        return len(self.path)

    @property
    def side(self) -> Side:
        """Which bounds are judged."""
        return self.delivered_intervals.side

    @property
    def _has_bands(self) -> bool:
        """Whether there is a prediction that a constant band could be put around."""
        return self.delivered_intervals.has_prediction

    @property
    def kind(self) -> MoveKind:
        """Whether bands are calibrated by a factor or by a shift."""
        return "shift" if self.path.vary == "shift" else "scale"

    @cached_property
    def covered(self) -> Flags:
        """Which rows lie inside their delivered interval."""
        return self.path.critical <= self.path.delivered

    def covered_at(self, t: float) -> Flags:
        """Which rows lie inside their interval at a factor (or shift)."""
        return self.path.critical <= max(t, self.path.start)

    def forget(self) -> None:
        """Free what only the model's own row needed."""
        self._crps_rows = None
        self._areas.clear()

    def share_constant(self, other: "RowsSource") -> None:
        """Take over what another model with the same predictions knows of the constant band around them."""
        if (other.side, other.kind) == (self.side, self.kind):
            self.constant = other.constant

    # ---- the factor

    @cached_property
    def t(self) -> float:
        """Scale (or shift) of the conformal rank."""
        return conformal_t(self.path, self.alpha)

    @cached_property
    def effective(self) -> float:
        """Number of independent rows that the factor rests on."""
        return contributions.effective_at(
            self.path, 1 - self.alpha, self.units, self.settings.confidence_level
        )

    def target(self, confidence_level: float) -> Place:
        """Scale (or shift) of the conformal rank, and the order statistics around it."""
        if confidence_level not in self._targets:
            self._targets[confidence_level] = self._target(confidence_level)
        return self._targets[confidence_level]

    def _target(self, confidence_level: float) -> Place:
        low, high = contributions.factor_ends(
            self.path, 1 - self.alpha, self.effective, confidence_level
        )
        return Place(low, self.t, high)

    def widths(self, place: Place) -> WidthsAround:
        """Mean half-width at a factor (or shift) and at the ends of its interval."""
        widths = [self._width_at(t) for t in place]
        return WidthsAround(*widths)

    def delivered_half_width(self, confidence_level: float) -> Estimate:
        """Mean half-width as delivered."""
        if not self._has_bands:
            return Estimate(nan)
        evidence = self._of_rows(self.path.half_widths_at(self.path.delivered))
        return log_estimate(evidence.span, spread_of(self, evidence), confidence_level)

    def _width_at(self, t: float) -> float:
        if not self._has_bands:
            return nan
        if not isfinite(t):
            return t
        return self.path.mean_half_width_at(t) / self.unit

    # ---- statistics

    def evidence(self, statistic: Statistic) -> Evidence:
        """Return a statistic and what is known about chance."""
        if statistic.axes is not None:
            return self._gain(statistic.axes) if statistic.saved else self._area(statistic.axes)
        bodies = {
            SCORE: self._score,
            DELIVERED_SCORE: self._delivered_score,
            BEST_SCORE: self._best_score,
            CRPS: self._crps,
            WIS_SCORE: self._wis,
            WIDTH: self._width,
            SKILL: self._skill,
            CRPS_SKILL: self._crps_skill,
        }
        return bodies[statistic]()

    @cached_property
    def best_t(self) -> float:
        """The t with the smallest interval score."""
        return self.moved_curve.ramps(self.path).lower_hull().best_t(float(self.alpha))

    @property
    def crps_rows(self) -> Array:
        """Each row's part of the potential CRPS; their mean is the potential CRPS."""
        if self._crps_rows is None:
            path = self.whole_path
            self._crps_rows = contributions.crps_contributions(path, self.whole_ramps)
        return self._crps_rows

    def crps_rows_of_multiples(self) -> Array:
        """The same of multiples of the delivered interval, which for a model of several levels is another path."""
        return contributions.crps_contributions(self.path, self.moved_curve.ramps(self.path))

    @cached_property
    def wis_rows(self) -> WISRows:
        """Each row's weighted interval score of the delivered levels."""
        return level_rows.wis_rows(self.intervals_by_level)

    @property
    def intervals_by_level(self) -> dict[float, Intervals]:
        """The model's own intervals of each level, narrowest first."""
        return self.curve.intervals_by_level()

    def _of_rows(self, rows: Array) -> Evidence:
        return evidence_of_rows(self.path, rows, self.unit)

    @cached_property
    def _shipped(self) -> Evidence:
        return shipped_evidence(
            self.path, self.t, self.effective, self.units, alpha=self.alpha, unit=self.unit
        )

    def weighted_score_rows(self) -> Array:
        """Each row's weighted part of the score as shipped, or as delivered where nothing can ship."""
        t = self.t if isfinite(self.t) else self.path.delivered
        rows: Array = self.path.score_rows(t, float(self.alpha)) * contributions.weights(self.path)
        return rows

    def _score(self) -> Evidence:
        return self._shipped

    def _delivered_score(self) -> Evidence:
        rows = self.path.score_rows(self.path.delivered, float(self.alpha))
        return self._of_rows(rows)._replace(
            degrees=score_degrees(self.path, self.path.delivered, self.units)
        )

    def _best_score(self) -> Evidence:
        rows = self.path.score_rows(self.best_t, float(self.alpha))
        return self._of_rows(rows)._replace(
            degrees=score_degrees(self.path, self.best_t, self.units)
        )

    def _crps(self) -> Evidence:
        return self._of_rows(self.crps_rows)

    def _wis(self) -> Evidence:
        return self._of_rows(self.wis_rows.score)

    def _width(self) -> Evidence:
        if not isfinite(self.t):
            return Evidence(Span.exact(inf), None)
        return self._of_rows(self.path.half_widths_at(self.t))

    def _skill(self) -> Evidence:
        if not isfinite(self._shipped.span.value) or not self._has_bands:
            return Evidence(Span.exact(nan), None)
        return saved_of(self._shipped, self.constant.shipped)

    def _crps_skill(self) -> Evidence:
        if not self._has_bands:
            return Evidence(Span.exact(nan), None)
        return saved_of(self._crps(), self.constant.crps)

    def _area(self, axes: Axes) -> Evidence:
        """One of the paper's areas."""
        if axes not in self._areas:
            # the gain on the same axes is asked for next, the other areas are not: each holds a number per row
            self._areas = {axes: self._area_anew(axes)}
        return self._areas[axes]

    def _area_anew(self, axes: Axes) -> Evidence:
        path = self.whole_path
        if not path.has_area:
            return Evidence(Span.exact(nan), None)
        ramps = self.whole_ramps
        size = self.unit ** -sum(metric != "miss_rate" for metric in axes)
        area = contributions.whole_area(path, ramps, axes)
        rows = contributions.area_contributions(path, ramps, axes)
        change = None if rows is None else contributions.log_influence(path, rows, degree=2)
        return Evidence(Span.exact(area * size), change)

    def _gain(self, axes: Axes) -> Evidence:
        """One of the paper's areas against that of the constant band."""
        if not self.whole_path.has_area:
            return Evidence(Span.exact(nan), None)
        rows = contributions.constant_area_contributions(self.whole_path, axes)
        size = self.unit ** -sum(metric != "miss_rate" for metric in axes)
        constant = Span.exact(self.path.mean(rows) / 2 * size)
        change = contributions.log_influence(self.path, rows, degree=2)
        negligible = rounding_of_area(self.whole_path, axes) * size
        return saved_of(self._area(axes), Evidence(constant, change), negligible)

    # ---- what else a row shows

    def coverage(self) -> Estimate:
        """Coverage as delivered."""
        return coverage_estimate(
            self.covered, self.path.weight, self.units, self.settings.confidence_level
        )

    @cached_property
    def on_bounds(self) -> Flags:
        """Which rows lie exactly on a bound, as delivered."""
        return on_bounds_of(self.path)

    def inside(self) -> Estimate:
        """Coverage as delivered, where a row on a bound counts as missed."""
        level = self.settings.confidence_level
        effective = effective_rows(self.covered, self.path.weight, self.units, level)
        share = self.path.mean(self.covered & ~self.on_bounds)
        return share_estimate(share, effective, level)

    def missed(self) -> tuple[float, float]:
        """Shares of the rows above the upper and below the lower bound, as delivered."""
        return missed_on_sides(self.delivered_intervals)

    def decomposition(self) -> Decomposition:
        """What makes up the interval score."""
        alpha = float(self.alpha)
        delivered = self.path.score(self.path.delivered, alpha) / self.unit
        shipped = self._shipped.span.value
        best = self.path.score(self.best_t, alpha) / self.unit
        return Decomposition.of(
            delivered=delivered,
            shipped=shipped,
            constant=self.constant.shipped.span.value,
            climatology=climatology(self.delivered_intervals, self.alpha) / self.unit,
            best=min(best, delivered, shipped),
        )

    def delivered(self) -> OperatingPoint:
        """Metrics as delivered."""
        return self.moved_curve.point_at(self.path, self.path.delivered, self.settings.unit)

    def concentration(self) -> int:
        """Smallest number of rows that make up half the area on the assessment's axes; 0 where there is none."""
        if not self.whole_path.has_area:
            return 0
        axes = self.settings.axes if FALLING.intersection(self.settings.axes) else HEADLINE
        rising, falling = axes if axes[1] in FALLING else axes[::-1]
        return rows_carrying(0.5, row_shares(self.whole_ramps, self.whole_path, falling, rising))

    @property
    def has_central_levels(self) -> bool:
        """Whether there are several levels, each with two bounds."""
        return bool(self.curve.levels) and self.side == "both"

    def wis_parts(self) -> WISParts | None:
        """Parts of the weighted interval score; None for a model of one level, or of one side."""
        if not self.has_central_levels:
            return None
        rows = self.wis_rows

        def mean(part: Array) -> float:
            return self.path.mean(part) / self.unit

        return WISParts(
            dispersion=mean(rows.dispersion),
            underprediction=mean(rows.underprediction),
            overprediction=mean(rows.overprediction),
            potential=level_rows.potential_wis(self.intervals_by_level) / self.unit,
        )

    def levels(self) -> Sequence[LevelRow]:
        """The model's own levels, narrowest first."""
        if not self.curve.levels:
            return ()
        return level_rows.level_rows(
            self.name, self.intervals_by_level, self.units, self.settings, self.unit
        )

    def pit(self) -> PIT | None:
        """Where observations fall among the quantiles of the levels."""
        if not self.has_central_levels:
            return None
        return level_rows.pit(self.intervals_by_level, self.units, self.settings.confidence_level)


def evidence_of_rows(path: Path, rows: Array, unit: float) -> Evidence:
    """Return the evidence on the mean of what each row adds."""
    return Evidence(Span.exact(path.mean(rows) / unit), contributions.log_influence(path, rows))


def score_degrees(path: Path, t: float, units: Blocks) -> float:
    """Degrees of freedom of what rests on the missed rows: one less than there are units with a miss."""
    missed = path.critical > max(t, path.start)
    return float(min(units.count, units.with_any(missed)) - 1)


def shipped_evidence(
    path: Path, t: float, effective: float, units: Blocks, *, alpha: Fraction, unit: float
) -> Evidence:
    """Return the evidence on the interval score of a path at its conformal t."""
    if not isfinite(t):
        return Evidence(Span.exact(inf), None)
    sparsity = contributions.sparsity_of(path, float(1 - alpha), effective)
    shipped = contributions.shipped_score(path, t, float(alpha), sparsity, units)
    score = shipped.score
    if shipped.influence is None or not 0 < score < inf:
        return Evidence(Span.exact(score / unit), None)
    offset = log(1 + shipped.offset / score) if shipped.offset > -score else 0.0
    degrees = score_degrees(path, t, units)
    return Evidence(Span.exact(score / unit), shipped.influence / score, offset, degrees)


def saved_of(mine: Evidence, constant: Evidence, negligible: float = 0.0) -> Evidence:
    """Share of what the constant band has that is saved."""
    saved = saved_share(constant.span.value, mine.span.value, negligible)
    change = None
    if mine.change is not None and constant.change is not None and isfinite(saved):
        change = mine.change - constant.change
    degrees = min(mine.degrees, constant.degrees)
    return Evidence(Span.exact(saved), change, mine.offset - constant.offset, degrees)


# ---- bootstrap intervals, for those who ask


def resampled_row(row: ModelRow, source: RowsSource) -> ModelRow:
    """Return the row with bootstrap intervals in place of those by influence."""
    settings = source.settings
    asked = settings.shown_coverage
    gains = dict(row.gains)
    for axes in SUMMARY:
        name = axes_name(axes)
        gains[name] = _resampled(gains[name], source, "gain", axes=axes)
    partial = row.partial_gain
    if partial is not None:
        partial = _resampled(
            partial, source, "gain", axes=settings.axes, miss_rate=settings.partial
        )
    move = row.move
    if move.kind == "scale":
        factor = _resampled(move.estimate, source, "scale", coverage=asked)
        move = Move(move.kind, factor)
    return replace(
        row,
        move=move,
        half_width=_resampled(row.half_width, source, "half_width", coverage=asked),
        crps_skill=_resampled(row.crps_skill, source, "skill"),
        gains=gains,
        partial_gain=partial,
    )


def _resampled(
    estimate: Estimate,
    source: RowsSource,
    statistic: Literal["gain", "skill", "scale", "half_width"],
    *,
    axes: Axes = HEADLINE,
    miss_rate: Range | None = None,
    coverage: float | None = None,
) -> Estimate:
    """Return an estimate with its bootstrap interval; as it is where it is not finite."""
    settings = source.settings
    if not isfinite(estimate.value) or settings.n_resamples is None:
        return estimate
    interval = bootstrap(
        source.curve,
        statistic=statistic,
        axes=axes,
        miss_rate=miss_rate,
        coverage=coverage,
        unit=settings.unit,
        confidence_level=settings.confidence_level,
        n_resamples=settings.n_resamples,
        seed=settings.seed,
        block=source.units,
        progress=False,
    )
    return Estimate(estimate.value, interval.low, interval.high)
