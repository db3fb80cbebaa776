"""Pairwise: models that lack different rows, each pair of them compared on the rows that both have."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import exp, inf, log

import numpy as np

from uccurve._arrays import Flags
from uccurve.assess.compare import Contender, adjusted_comparisons, compared
from uccurve.assess.memory import RowsSource
from uccurve.assess.missing import kept_rows, missing_rows
from uccurve.assess.models import rows_of
from uccurve.assess.source import CRPS, SCORE
from uccurve.curve import UCC
from uccurve.evidence.units import Blocks
from uccurve.results import AssessmentSettings, Comparison, Missing, ModelRow


def pairwise_missing(curves: Mapping[str, UCC]) -> Missing:
    """Return whose rows are missing; a row is dropped where no model has it."""
    masks = {name: kept_rows(curve) for name, curve in curves.items()}
    known = [mask for mask in masks.values() if mask is not None]
    anywhere: Flags = np.logical_or.reduce(known)
    return missing_rows(masks, anywhere)


def pairwise_comparisons(
    sources: Sequence[RowsSource], settings: AssessmentSettings
) -> list[Comparison]:
    """Compare each pair on the rows that both have; refuse models that share none with any other."""
    pairs = [_pair(first, second, settings) for first, second in combinations(sources, 2)]
    return adjusted_comparisons(pairs, settings.confidence_level)


def pairwise_values(
    comparisons: Sequence[Comparison], rows: Sequence[ModelRow], settings: AssessmentSettings
) -> dict[str, float]:
    """Return what ranks each model: the geometric mean of its scores over those of each other one on shared rows."""
    ratios: dict[str, list[float]] = {row.name: [0.0] for row in rows}
    for pair in comparisons:
        if pair.ratio > 0:
            ratios[pair.first].append(log(pair.ratio))
            ratios[pair.second].append(-log(pair.ratio))
    reach = {row.name: row.move.is_reachable or settings.coverage is None for row in rows}
    return {
        name: exp(sum(logs) / len(rows)) if reach[name] else inf for name, logs in ratios.items()
    }


def _pair(first: RowsSource, second: RowsSource, settings: AssessmentSettings) -> Comparison:
    """Compare two models on the rows that both have."""
    masks = [kept_rows(source.curve) for source in (first, second)]
    if masks[0] is None or masks[1] is None:
        raise ValueError(
            '`missing="pairwise"` needs to know which rows were dropped. Hint: build all models alike.'
        )
    shared = masks[0] & masks[1]
    if not shared.any():
        raise ValueError(
            f"`models` must share rows pair by pair: {first.name!r} and {second.name!r} have none in common. "
            "Hint: leave one of them out."
        )
    left = _restricted(first, shared[masks[0]])
    right = _restricted(second, shared[masks[1]], left.units)
    statistic = SCORE if settings.ranked_by == "score" else CRPS
    contenders = [Contender(source.name, source.evidence(statistic)) for source in (left, right)]
    return compared(contenders, left.units, settings.ranked_by, settings.confidence_level)[0]


def _restricted(source: RowsSource, rows: Flags, units: Blocks | None = None) -> RowsSource:
    """Return a model on some of its rows."""
    own = units or source.units.subset(rows[source.units.row])
    return RowsSource(source.name, rows_of(source.curve, rows), source.settings, own)
