"""Streamed model: what the bins of the first pass say of one model, and where the second pass looks at its rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, isfinite, isnan, log, nan, sqrt
from typing import Self

import numpy as np

from uccurve import _refusals as checks
from uccurve._vocabulary import HEADLINE, METRICS, SUMMARY, Array
from uccurve.evidence.contributions import hall_sheather
from uccurve.results import AssessmentSettings

from ._answers import Answers, QuantilePlace, place_of
from ._binned import Binned, Bracket, bracket
from ._bins import SketchState
from ._influence import (
    AT_FACTOR,
    NOTHING_SHIPS,
    PLACE,
    Form,
    Known,
    Scales,
    Shipping,
    averaged_mix,
    best_mix,
    forms,
    numbers_of,
    unit_form,
)
from .sketch import SketchUCC, UCCSketch

# Share of the rows by which an interpolated factor may miss the coverage; or a quarter of its standard error.
SHORTFALL = 0.0005
OF_ALL_LEVELS = (
    "crps",
    "crps_skill",
    *(f"areas_{'_'.join(axes)}" for axes in SUMMARY),
    *(f"gains_{'_'.join(axes)}" for axes in SUMMARY),
    "partial_gain",
    "cost_cheapest",
)
# Relative width below which a bracket is rounding, and not shown.
NEGLIGIBLE = 1e-9
SYMMETRIC = 1e-9  # share of the width by which bands may differ on the two sides


@dataclass(frozen=True, eq=False)
class StreamedModel:
    """One model of an assessment, as its bins know it.

    Attributes
    ----------
    y_pred : str or None
        Column of its predictions.
    place : int
        Which of the intervals of a scan are the delivered ones.
    levels : mapping of float to int
        Which ones are those of each level, narrowest first; empty for a model of one level.
    level_answers : mapping of float to Answers
        What the bins of each level answer.
    to_the_end : bool
        Whether the factor to ship is the end of its bin: bins of sketches are known there only, and rows may have
        shown that one inside covers too few of them.
    multiplier : float
        What the factor is multiplied by where the model is chosen among others.
    """

    name: str
    state: SketchState
    settings: AssessmentSettings
    y_pred: str | None = None
    place: int = 0
    levels: Mapping[float, int] = field(default_factory=dict)
    level_answers: Mapping[float, Answers] = field(default_factory=dict)
    to_the_end: bool = False
    multiplier: float = 1.0

    @cached_property
    def curve(self) -> SketchUCC:
        """The model as a curve."""
        return SketchUCC(UCCSketch._of(self.state))

    @cached_property
    def answers(self) -> Answers:
        """What the curve answers, with brackets, in the caller's unit."""
        return self.curve._within(self.settings.unit)

    @cached_property
    def size(self) -> float:
        """One of the caller's units in units of y_true."""
        return self.answers.size.middle

    @cached_property
    def raw(self) -> Answers:
        """The same in units of y_true."""
        return self.curve._answers

    @cached_property
    def alpha(self) -> Fraction:
        """Miss rate that is asked for."""
        return checks.miss_rate_of(self.settings.shown_coverage)

    @property
    def level(self) -> float | None:
        """Nominal coverage of the delivered intervals, of a model of several levels."""
        return min(float(1 - self.alpha), max(self.levels)) if self.levels else None

    @cached_property
    def target(self) -> QuantilePlace:
        """Scale of the conformal rank; of unequal weights the smallest whose coverage reaches the target."""
        low, value, high = self.answers.place_for_new_rows(1 - self.alpha)
        return QuantilePlace(low, high if self.to_the_end else value, high)

    @cached_property
    def constant_target(self) -> QuantilePlace:
        """Half-width of the constant band as shipped."""
        low, value, high = self.answers.constant_place(1 - self.alpha)
        return QuantilePlace(low, high if self.to_the_end else value, high)

    @property
    def chosen_t(self) -> float:
        """Factor with which the model ships if it is chosen among others."""
        return self.target.value * self.multiplier

    @cached_property
    def level_quantiles(self) -> dict[float, float]:
        """Smallest scale of each level at which its own share of the rows is covered."""
        return {
            level: answers.place(1 - checks.miss_rate_of(level)).value
            for level, answers in self.level_answers.items()
        }

    def covers_too_few(self, missed: float) -> bool:
        """Whether the interpolated factor misses too many rows, given the share that it misses."""
        alpha = float(self.alpha)
        room = max(SHORTFALL, sqrt(alpha * (1 - alpha) / self.state.rows) / 4)
        return isfinite(self.target.value) and missed > alpha + room

    def at_the_end(self) -> Self:
        """Return the model with the end of the bin as its factor."""
        return replace(self, to_the_end=True)

    # ---- influence

    def scales_for(self, effective: float) -> Scales:
        """Scales at which the second pass looks at the rows, worth so many independent ones."""
        alpha = float(self.alpha)
        plain = self.raw.plain
        constant = self.raw.constant
        shipping = self._shipping(plain, self.target.value, effective)
        flat = self._shipping(constant, self.constant_target.value, effective)
        quantile = self.answers.place(1 - self.alpha)
        return Scales(
            alpha,
            quantile.high if self.to_the_end else quantile.value,
            best_mix(plain, alpha),
            averaged_mix(plain),
            averaged_mix(constant),
            shipping,
            flat,
        )

    @cached_property
    def first_scales(self) -> Scales:
        """The same for the rows as they are, before anything is known of their dependence."""
        return self.scales_for(self.state.effective)

    def _shipping(self, binned: Binned, t: float, effective: float) -> Shipping:
        """What bins say of the score around a factor."""
        if not isfinite(t):
            return NOTHING_SHIPS
        at = np.array([t])
        beyond = float(binned.active.beyond(at, exact=True).middles[0]) / binned.total
        slope = 2 * (binned.half_width - beyond / float(self.alpha))
        return Shipping(t, slope, self._sparsity(binned, effective))

    def _sparsity(self, binned: Binned, effective: float) -> float:
        """Growth of the factor with the share that it covers, as `contributions.sparsity_of` of the rows."""
        if not effective >= 2:
            return nan
        share = 1 - self.alpha
        rows = self.state.rows
        reach = hall_sheather(float(share), effective)
        first = max(ceil((float(share) - reach) * rows), 1)
        last = min(ceil((float(share) + reach) * rows), rows)
        shares = (Fraction(first, rows), share, Fraction(last, rows))
        low, middle, high = (place_of(binned, self.state, part).value for part in shares)
        if not isfinite(high):
            high = middle
            last = ceil(share * rows)
        distance = (last - first) / rows
        if distance <= 0 or not isfinite(middle):
            return nan
        if low > 0:
            return middle * log(high / low) / distance
        return (high - low) / distance

    @cached_property
    def means(self) -> Array:
        """Means of the numbers over all rows, as far as the bins know them."""
        scales = self.first_scales
        means: Array = numbers_of(self.state, scales) / self.state.total
        if scales.ships and not self.to_the_end:
            at_factor = self._means_at_factor(scales)
            for name in AT_FACTOR:
                means[PLACE[name]] = at_factor[name]
        return means

    def _means_at_factor(self, scales: Scales) -> dict[str, float]:
        """Means of the numbers at a factor inside its bin, nearly."""
        plain = self.raw.plain
        constant = self.raw.constant.restated(1.0, rounding=0.0)
        t = np.array([scales.shipping.t])
        flat_t = np.array([scales.constant.t])
        return {
            "late": 2 * float(plain.values("deficit", t).middles[0]),
            "missed": float(plain.values("miss_rate", t).middles[0]),
            "beyond": float(plain.active.beyond(t, exact=True).middles[0]) / plain.total,
            "flat_late": 2 * float(constant.values("deficit", flat_t).middles[0]),
            "flat_missed": float(constant.values("miss_rate", flat_t).middles[0]),
        }

    def forms(self, scales: Scales) -> dict[str, Form]:
        """What the rows add to each statistic."""
        width = self.state.critical.total("width")
        known = Known(
            means=self.means,
            symmetric=self.state.crossover.total("gap") <= SYMMETRIC * width,
            uncoverable=self.answers.binned.has_uncoverable_rows,
        )
        of_model = forms(scales, known)
        return of_model | ({"wis": unit_form("wis")} if self.levels else {})

    @cached_property
    def row_forms(self) -> dict[str, Form]:
        """The same for independent rows."""
        return self.forms(self.first_scales)

    # ---- brackets

    @cached_property
    def brackets(self) -> dict[str, Bracket]:
        """Both ends around each number of the row that bins do not tell exactly, by its name in a data frame."""
        ask = self.answers
        asked = {"coverage": 1 - self.alpha}
        best = ask.best_score(**asked)
        brackets = {
            "score": ask.shipped(**asked),
            "skill": ask.shipped_skill(**asked),
            "best_score": best,
            "crps": ask.potential_crps(),
            "crps_skill": ask.skill(),
            "decomposition_shipped": ask.shipped(**asked),
            "decomposition_constant": ask.constant_shipped(**asked),
            "decomposition_rescaling": ask.rescaling(**asked),
            "decomposition_bands": ask.bands(**asked),
            "decomposition_best": best,
            "decomposition_slack": ask.slack(**asked),
        }
        for axes in SUMMARY:
            brackets[f"areas_{'_'.join(axes)}"] = ask.area(axes=axes)
            brackets[f"gains_{'_'.join(axes)}"] = ask.gain(axes=axes)
        for name in METRICS:
            at_one = ask.metric(name)
            if at_one.width > NEGLIGIBLE * at_one.high:
                brackets[f"delivered_{name}"] = at_one
        if isfinite(self.target.value):
            width = ask.binned.half_width
            brackets["scale"] = Bracket(self.target.low, self.target.high)
            brackets["half_width"] = brackets["scale"] * width
        settings = self.settings
        if settings.partial is not None:
            brackets["partial_gain"] = ask.gain(axes=settings.axes, miss_rate=settings.partial)
        if settings.c is not None:
            brackets["cost_cheapest"] = ask.cheapest(settings.c, axes=settings.axes)
        if self.levels:
            brackets["wis_potential"] = self._potential_wis()
        return {name: ends for name, ends in brackets.items() if name not in self.unknown}

    @property
    def unknown(self) -> Sequence[str]:
        """What only the rows tell: all that the curve through several levels is needed for."""
        if len(self.levels) > 1:
            return OF_ALL_LEVELS
        return () if self.level is None or self.level in self.levels else ("cost_cheapest",)

    def _potential_wis(self) -> Bracket:
        total = bracket(float(self.means[PLACE["error"]]) / 2)
        for level, answers in self.level_answers.items():
            total += answers.best_score(coverage=level) * float(checks.miss_rate_of(level) / 2)
        return total * (1 / (len(self.levels) + 0.5) / self.size)

    def known_brackets(self) -> dict[str, tuple[float, float]]:
        """Brackets of what is open: those that are known have two ends."""
        pairs = {name: ends.pair for name, ends in self.brackets.items()}
        return {
            name: pair for name, pair in pairs.items() if not (isnan(pair[0]) or isnan(pair[1]))
        }

    def concentration(self) -> int:
        """Rows of the last bins that carry half the area of miss_rate vs. bandwidth, an upper end; 0 for other axes."""
        critical = self.state.critical
        if self.unknown or self.settings.axes != HEADLINE or not critical.total("scale"):
            return 0
        if critical.infinite.any():
            return 1
        carried = np.cumsum(critical.sums["scale"][::-1])  # each row adds its critical scale
        bins = int(np.searchsorted(carried, carried[-1] / 2)) + 1
        return int(critical.rows[::-1][:bins].sum())

    def rows_beyond(self, t: float) -> int:
        """Number of rows that the end of a bin does not cover."""
        critical = self.state.critical
        return int(critical.rows[critical.maximum > t].sum())

    @property
    def asymmetry(self) -> float:
        """How far the two bands differ, as a share of the mean width."""
        critical = self.state.critical
        width = critical.total("width")
        if not width > 0:
            return 0.0
        wider = self.state.crossover.total("gap")
        return (2 * wider - (2 * critical.total("active") - width)) / width
