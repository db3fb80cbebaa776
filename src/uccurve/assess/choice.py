"""Choice: how models compare in pairs, which one ships at what factor, and what choosing it on the same rows costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import ceil, expm1, inf, isfinite, isnan, nan
from typing import Literal, NamedTuple, Protocol

import numpy as np

from uccurve._arrays import Indices, equal_weights
from uccurve._paths import Path
from uccurve._scoring import quantiles
from uccurve._vocabulary import Array
from uccurve.assess.source import (
    DELIVERED_SCORE,
    SCORE,
    Evidence,
    Place,
    Source,
    estimate,
    half_width,
)
from uccurve.evidence.inference import ROUNDING, Span, holm, linear_estimate, paired_t_test
from uccurve.evidence.units import UNKNOWN_SPREAD, Blocks, Spread, Units
from uccurve.points import Estimate
from uccurve.results import AssessmentSettings, Choice, Comparison, ModelRow, Verdict

# ---- pairs

Tested = Literal["score", "crps", "wis"]


class Contender(NamedTuple):
    """A model's value on what is compared, and the evidence on it."""

    name: str
    evidence: Evidence

    @property
    def value(self) -> float:
        """What is compared."""
        return self.evidence.span.value

    @property
    def offset(self) -> float:
        """What the fit of a factor hides, in units of the value."""
        return self.value * expm1(self.evidence.offset)

    @property
    def hidden(self) -> float:
        """How far the value may be from the exact one."""
        return (self.evidence.span.high - self.evidence.span.low) / 2


class PairChange(Protocol):
    """What gives the influence of the units on the difference of two models; None where it is unknown."""

    def __call__(self, first: Contender, second: Contender) -> Array | None:
        """Influence on the value of the first minus that of the second."""


def change_of_difference(first: Contender, second: Contender) -> Array | None:
    """Influence on the difference of two values, from that on the logarithm of each."""
    if first.evidence.change is None or second.evidence.change is None:
        return None
    return first.evidence.change * first.value - second.evidence.change * second.value


@dataclass(frozen=True, slots=True)
class PairTest:
    """How two models are compared: on which units and statistic, and with what confidence."""

    units: Units
    statistic: Tested
    confidence_level: float
    change: PairChange = change_of_difference

    def of_all(self, contenders: Sequence[Contender]) -> list[Comparison]:
        """Test all pairs, with p-values that are adjusted for all of them."""
        pairs = [self.of(*pair) for pair in combinations(contenders, 2)]
        return adjusted_comparisons(pairs, self.confidence_level)

    def of(self, first: Contender, second: Contender) -> Comparison:
        """Difference of two models with its interval, and the p-value of the paired t test."""
        largest = max(abs(first.value), abs(second.value))
        difference = first.value - second.value
        if not isfinite(difference):
            return self._told(first, second, Estimate(difference), nan)
        if abs(difference) <= ROUNDING * largest:
            difference = 0.0
        spread = self._spread(first, second)
        centre = difference + first.offset - second.offset
        hidden = first.hidden + second.hidden
        span = Span(centre - hidden, centre, centre + hidden)
        around = linear_estimate(span, spread, self.confidence_level)
        if spread.is_known and spread.error <= ROUNDING * largest and difference == 0:
            around = Estimate(0.0, 0.0, 0.0)
        shown = max(abs(centre) - hidden, 0.0)  # as much of the difference as bins cannot hide
        pvalue = paired_t_test(shown, spread, size=largest)
        return self._told(first, second, Estimate(difference, around.low, around.high), pvalue)

    def _spread(self, first: Contender, second: Contender) -> Spread:
        """Return how sure the difference is."""
        if first.value == second.value == 0:
            return Spread(0.0, self.units.degrees)
        influence = self.change(first, second)
        if influence is None:
            return UNKNOWN_SPREAD
        degrees = min(first.evidence.degrees, second.evidence.degrees)
        return self.units.spread(influence).limited(degrees)

    def _told(
        self, first: Contender, second: Contender, difference: Estimate, pvalue: float
    ) -> Comparison:
        ratio = nan
        if second.value and isfinite(difference.value):
            ratio = first.value / second.value
        return Comparison(first.name, second.name, self.statistic, difference, pvalue, ratio=ratio)


def adjusted_comparisons(pairs: Sequence[Comparison], confidence_level: float) -> list[Comparison]:
    """Adjust the p-values for all pairs, and say which model of each is better."""
    adjusted = holm([pair.pvalue for pair in pairs])
    return [
        _judged(pair, pvalue, confidence_level)
        for pair, pvalue in zip(pairs, adjusted, strict=True)
    ]


def _judged(pair: Comparison, pvalue: float, confidence_level: float) -> Comparison:
    """Return a pair with its adjusted p-value and the better model, where the difference is significant."""
    better = None
    if pvalue <= 1 - confidence_level:
        middle = (pair.difference.low + pair.difference.high) / 2
        better = pair.first if middle < 0 else pair.second
    return replace(pair, pvalue_holm=pvalue, better=better)


def adjusted_pvalue(comparisons: Sequence[Comparison], first: str, second: str) -> float:
    """Return the adjusted p-value of two models; nan where they were not tested."""
    for pair in comparisons:
        if {pair.first, pair.second} == {first, second}:
            return pair.pvalue_holm
    return nan


def with_ranks(
    rows: Sequence[ModelRow], comparisons: Sequence[Comparison], values: Mapping[str, float]
) -> list[ModelRow]:
    """Rank by these values, smallest first, in the order given where only rounding differs.

    Each row also gets the p-value of the pair with the best one.
    """
    finite = [abs(value) for value in values.values() if isfinite(value)]
    size = max(finite, default=1.0) or 1.0

    def place(row: ModelRow) -> float:
        value = values[row.name]
        return inf if isnan(value) else round(value / size, 12)

    ordered = sorted(rows, key=place)
    best = ordered[0].name
    ranks = {row.name: rank for rank, row in enumerate(ordered, 1)}
    return [
        replace(row, rank=ranks[row.name], pvalue=adjusted_pvalue(comparisons, best, row.name))
        for row in rows
    ]


# ---- choosing again without each fold

FOLDS = 10
SEED = 0  # folds are the same in every call


class Fold(NamedTuple):
    """One of ten folds: its rows, and all other rows, on which the choice is made again."""

    rows: Indices
    rest: Indices


class Winner(NamedTuple):
    """The model that is best without one fold, and its factor (or shift) there."""

    path: Path
    t: float


@dataclass(frozen=True, slots=True)
class NestedChoice:
    """What the choice among models does to new rows.

    `multiplier` multiplies the factor of the model that is chosen (is added to its shift), `score`, in units of y, is
    that of rows that neither the choice nor the factor has seen, and `wider` is the ratio of the winners' mean
    half-width there to that on the rows that they were chosen on.
    """

    multiplier: float
    score: float
    wider: float
    folds: int


def fold_of_rows(blocks: Blocks) -> Indices:
    """Fold of each row: whole blocks, dealt at random into folds of equal size."""
    folds = min(FOLDS, blocks.count)
    dealt = np.arange(blocks.count) % folds
    np.random.default_rng(SEED).shuffle(dealt)
    of_row: Indices = dealt[blocks.of_row]
    return of_row


def nested_choice(paths: Sequence[Path], blocks: Blocks, alpha: Fraction) -> NestedChoice | None:
    """Choose again without each fold, and see how the winner does on the fold; None where that is impossible.

    Notes
    -----
    On nine of ten folds the winner and its conformal factor k are found; the rows of the tenth have critical scales
    k_i. The conformal quantile of all ``k_i / k`` multiplies the factor of the model that is chosen on all rows, which
    then covers new rows as promised although it was chosen. On shifts differences take the place of ratios.
    """
    if len({path.vary for path in paths}) > 1 or blocks.count < 2:
        return None
    additive = paths[0].vary == "shift"
    of_row = fold_of_rows(blocks)
    relative = np.empty(len(of_row))
    folds: list[Fold] = []
    winners: list[Winner] = []
    for number in range(int(of_row.max()) + 1):
        fold = Fold(np.flatnonzero(of_row == number), np.flatnonzero(of_row != number))
        winner = _winner(paths, fold, alpha)
        if winner is None or not (additive or winner.t > 0):
            return None
        critical = winner.path.critical[fold.rows]
        relative[fold.rows] = critical - winner.t if additive else critical / winner.t
        folds.append(fold)
        winners.append(winner)
    multiplier = _conformal_quantile(relative, paths[0].weight, 1 - alpha)
    if not isfinite(multiplier):
        return None
    return _held_out(folds, winners, multiplier, float(alpha))


def moved(t: float, multiplier: float, *, additive: bool) -> float:
    """Return a factor times the multiplier; a shift plus it."""
    return t + multiplier if additive else t * multiplier


def _winner(paths: Sequence[Path], fold: Fold, alpha: Fraction) -> Winner | None:
    """Best model on the rows of the other folds, by its score at its own conformal factor there."""
    best: Winner | None = None
    smallest = inf
    for path in paths:
        weight = None if path.weight is None else path.weight[fold.rest]
        t = _conformal_quantile(path.critical[fold.rest], weight, 1 - alpha)
        if not isfinite(t):
            continue
        score = _score_without(path, fold.rows, t, float(alpha))
        if score < smallest:
            smallest = score
            best = Winner(path, t)
    return best


def _score_without(path: Path, rows: Indices, t: float, alpha: float) -> float:
    """Mean score of all but some rows: all of them less these, which takes no copy of the many."""
    part = path.subset(rows)
    total = path.score(t, alpha) * path.total - part.score(t, alpha) * part.total
    return total / (path.total - part.total)


def _conformal_quantile(values: Array, weight: Array | None, q: Fraction) -> float:
    """Conformal quantile of one value per row; with unequal weights the smallest that reaches q."""
    if not equal_weights(weight):
        return quantiles(values, weight, q)[0]
    n = len(values)
    rank = ceil((n + 1) * q)
    return quantiles(values, None, Fraction(rank, n))[0]


def _held_out(
    folds: Sequence[Fold], winners: Sequence[Winner], multiplier: float, alpha: float
) -> NestedChoice:
    """Score and width of all rows, each under the winner of its fold at its factor times the multiplier."""
    score = 0.0
    width_outside = 0.0
    width_inside = 0.0
    for fold, winner in zip(folds, winners, strict=True):
        part = winner.path.subset(fold.rows)
        t = moved(winner.t, multiplier, additive=part.vary == "shift")
        score += part.score(t, alpha) * part.total
        outside = part.mean_half_width_at(t) * part.total
        rest = winner.path.total - part.total
        inside = (winner.path.mean_half_width_at(t) * winner.path.total - outside) / rest
        width_outside += outside
        width_inside += inside * part.total
    wider = width_outside / width_inside if width_inside > 0 else 1.0
    return NestedChoice(multiplier, score / winners[0].path.total, wider, len(folds))


# ---- the decision

# Adjusted p-value of the best model against every other below which nothing is spent by choosing it.
CLEAR = 1e-4


@dataclass(frozen=True, slots=True)
class Decision:
    """Which model ships, and why.

    Attributes
    ----------
    best : ModelRow
        The best model that some factor brings to the coverage; the best of all where none does.
    model : ModelRow
        The one that ships.
    tied : tuple of str
        Models that are not shown to be worse than the best, best first.
    runner_up : str or None
    pvalue : float
        Adjusted p-value of the best against the runner-up.
    unchanged : bool
        Whether the model ships as delivered.
    spends : bool
        Whether choosing it among the others spends some of its coverage.
    """

    best: ModelRow
    model: ModelRow
    tied: tuple[str, ...]
    runner_up: str | None
    pvalue: float
    unchanged: bool
    spends: bool


def decide(
    rows: Sequence[ModelRow], comparisons: Sequence[Comparison], settings: AssessmentSettings
) -> Decision:
    """Decide which model ships.

    The best where no other is tied with it; else the incumbent, if it is the best or tied; else the best of the tied
    ones that may ship unchanged; else the best.
    """
    contenders = [row for row in rows if row.name != settings.reference] or list(rows)
    ordered = sorted(contenders, key=lambda row: (not row.move.is_reachable, row.rank))
    best = ordered[0]
    rivals = [row for row in ordered[1:] if row.move.is_reachable == best.move.is_reachable]
    tied = [row for row in rivals if not _is_worse(row, best, comparisons, settings)]
    model = _chosen([best, *tied], settings)
    runner_up = ordered[1].name if len(ordered) > 1 else None
    pvalue = adjusted_pvalue(comparisons, best.name, runner_up) if runner_up else nan
    unchanged = model.may_ship_unchanged(settings)
    clear = all(adjusted_pvalue(comparisons, best.name, row.name) < CLEAR for row in rivals)
    stays = model.name == settings.incumbent
    chosen_among_others = (
        len(ordered) > 1 and settings.coverage is not None and model.move.is_reachable
    )
    spends = chosen_among_others and not (unchanged or clear or stays)
    return Decision(
        best, model, tuple(row.name for row in tied), runner_up, pvalue, unchanged, spends
    )


def _chosen(candidates: Sequence[ModelRow], settings: AssessmentSettings) -> ModelRow:
    """The model that ships, of the best and those tied with it."""
    best = candidates[0]
    if len(candidates) == 1:
        return best
    for row in candidates:
        if row.name == settings.incumbent:
            return row
    for row in candidates:
        if row.may_ship_unchanged(settings):
            return row
    return best


def _is_worse(
    row: ModelRow, best: ModelRow, comparisons: Sequence[Comparison], settings: AssessmentSettings
) -> bool:
    """Whether a model is shown to be worse than the best one."""
    return adjusted_pvalue(comparisons, best.name, row.name) <= 1 - settings.confidence_level


def ranking_value(row: ModelRow, settings: AssessmentSettings) -> float:
    """What ranks a model: its score as shipped, or its potential CRPS where no coverage was asked for."""
    estimate = row.score if settings.ranked_by == "score" else row.crps
    return inf if isnan(estimate.value) else estimate.value


def ranking_values(rows: Sequence[ModelRow], settings: AssessmentSettings) -> Mapping[str, float]:
    """What ranks each model, by its name."""
    return {row.name: ranking_value(row, settings) for row in rows}


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
        half_width=_half_width(source, nested, t, each, unchanged=decision.unchanged),
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
    factor = decision.model.move.estimate
    if not decision.spends:
        return Choice(models, factor, neutral, corrected=True)
    if nested is None:
        return Choice(models, factor, neutral, corrected=False)
    return Choice(models, factor, nested.multiplier, corrected=True, folds=nested.folds)


def _t_that_ships(row: ModelRow, choice: Choice, *, unchanged: bool, additive: bool) -> float:
    if unchanged:
        return 0.0 if additive else 1.0
    return moved(row.move.estimate.value, choice.multiplier, additive=additive)


def _half_width(
    source: Source,
    nested: NestedChoice | None,
    t: float,
    confidence_level: float,
    *,
    unchanged: bool,
) -> Estimate:
    """Mean half-width of what ships, at the factor of the verdict.

    The model that looked best is likely to have had narrow bands on these rows: where the choice is paid for, they are
    as much wider as those of the winners were on rows that the choice had not seen.
    """
    if not isfinite(t):
        return Estimate(inf if t > 0 else nan)
    if unchanged:
        return source.delivered_half_width(confidence_level)
    estimate_of_row = half_width(source, confidence_level)
    if nested is None or isnan(estimate_of_row.value):  # a bound without a prediction has no width
        return estimate_of_row
    shipped = source.widths(Place(t, t, t)).value
    return _as_held_out(estimate_of_row, shipped * nested.wider)


def _score(
    source: Source, nested: NestedChoice | None, confidence_level: float, *, unchanged: bool
) -> Estimate:
    """Score of what ships; of rows that neither the choice nor the factor has seen, where the choice is paid for."""
    if unchanged:
        return estimate(source, DELIVERED_SCORE, confidence_level=confidence_level)
    estimate_of_row = estimate(source, SCORE, confidence_level=confidence_level)
    if nested is None:
        return estimate_of_row
    return _as_held_out(estimate_of_row, nested.score / source.unit)


def _as_held_out(in_row: Estimate, value: float) -> Estimate:
    """Return a value of rows that were held out, with an interval as wide in ratio as that of the model's row."""
    if not (in_row.has_interval and in_row.value > 0 and value > 0):
        return Estimate(value)
    return in_row.times(value / in_row.value)
