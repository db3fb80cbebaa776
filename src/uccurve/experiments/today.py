"""Scores of today on the experiments of then: interval score, skill, decomposition, verdict, the paper's ranking."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from uccurve import Intervals, assess
from uccurve.compare.results import Assessment, ModelRow

COVERAGE = 0.95
SCORES = "Scores of today"
DECOMPOSITION = "Interval score as delivered"
RANKED_BY = {"score": "interval score at 95%", "crps": "potential CRPS"}


class Today(NamedTuple):
    """Numbers by table, model and measure, whether the paper's rankings survive, and the verdict as plain data."""

    cells: dict[tuple[str, str, str], float]
    claims: dict[str, dict[str, bool]]
    verdict: dict[str, Any]


def today(models: Mapping[str, Intervals], orders: Sequence[Sequence[str]], *, unit: float, block: Any) -> Today:
    """Assess the models at a coverage of 95%; `orders` are the paper's rankings, the best first."""
    found = assess(models, coverage=COVERAGE, block=block, unit=unit, progress=False)
    cells: dict[tuple[str, str, str], float] = {}
    for name in models:
        cells |= {(SCORES, name, measure): value for measure, value in scores(found[name]).items()}
        cells |= {(DECOMPOSITION, name, measure): value for measure, value in decomposition(found[name]).items()}
    claims = {
        f"The {words} ranks {', '.join(order)}": is_order(found, order, field)
        for order in orders
        for field, words in RANKED_BY.items()
    }
    one = found.verdict
    verdict = {"model": one.model, "runner_up": one.runner_up, "decided": one.decided, "text": one.text}
    return Today(cells, {SCORES: claims} if claims else {}, verdict)


def scores(row: ModelRow) -> dict[str, float]:
    """Return what the table of the scores shows."""
    return {
        "rank": row.rank,
        "score": row.score,
        "half-width": row.half_width,
        "skill, %": 100 * row.skill,
        "BM gain, %": 100 * row.gain_bandwidth_miss_rate,
        "coverage as delivered, %": 100 * row.coverage,
        "factor": row.scale,
    }


def decomposition(row: ModelRow) -> dict[str, float]:
    """Return what predictions, bands and calibration contribute to the score as delivered."""
    parts = row.decomposition
    return {
        "score": parts.score,
        "climatology": parts.climatology,
        "- prediction": parts.prediction,
        "- discrimination": parts.discrimination,
        "+ miscalibration": parts.miscalibration,
    }


def is_order(found: Assessment, order: Sequence[str], field: str) -> bool:
    """Return whether a score rises in the given order of the models."""
    return all(getattr(found[a], field) < getattr(found[b], field) for a, b in pairwise(order))
