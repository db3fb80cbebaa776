"""Choice: which model ships, whether it may ship unchanged, and what was spent by choosing it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isnan, nan

from uccurve.assess.compare import adjusted_pvalue
from uccurve.assess.promise import Promised
from uccurve.results import AssessmentSettings, Comparison, ModelRow

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
    unchanged = may_ship_unchanged(model, settings)
    clear = all(adjusted_pvalue(comparisons, best.name, row.name) < CLEAR for row in rivals)
    stays = model.name == settings.incumbent
    chosen_among_others = (
        len(ordered) > 1 and settings.coverage is not None and model.move.is_reachable
    )
    spends = chosen_among_others and not (unchanged or clear or stays)
    return Decision(
        best, model, tuple(row.name for row in tied), runner_up, pvalue, unchanged, spends
    )


def may_ship_unchanged(row: ModelRow, settings: AssessmentSettings) -> bool:
    """Whether a model keeps its promise as delivered, and is seen to."""
    if settings.coverage is None or row.promise != "kept":
        return False
    return row.coverage.value >= Promised.of(settings.coverage, settings.tolerance).lowest


def _chosen(candidates: Sequence[ModelRow], settings: AssessmentSettings) -> ModelRow:
    """The model that ships, of the best and those tied with it."""
    best = candidates[0]
    if len(candidates) == 1:
        return best
    for row in candidates:
        if row.name == settings.incumbent:
            return row
    for row in candidates:
        if may_ship_unchanged(row, settings):
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
