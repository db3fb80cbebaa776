"""What one seed says: the paper's numbers and claims, and proper scores of the same intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from uccurve import Intervals, assess
from uccurve.compare.results import Assessment, ModelRow

Floats = np.ndarray[Any, np.dtype[np.float64]]
Cells = dict[tuple[str, str, str], float]
"""Numbers by table, model and measure."""
Claims = Mapping[str, bool]
"""Whether one seed's numbers bear out what the paper says, by what `paper.toml` calls it."""
Models = dict[str, Intervals]

COVERAGE = 0.95
SCORES, DECOMPOSITION = "Proper scores", "Interval score as delivered"
RANKED_BY = {"score": "interval score at 95%", "crps": "potential CRPS"}


def row(table: str, model: str, values: Mapping[str, float]) -> Cells:
    """Return the cells of one model in one table.

    >>> row("Areas", "GBR", {"BM": 0.6})
    {('Areas', 'GBR', 'BM'): 0.6}
    """
    return {(table, model, measure): value for measure, value in values.items()}


@dataclass(frozen=True, slots=True)
class Findings:
    """What one seed says under one reading.

    Attributes
    ----------
    cells : mapping
        A number for each cell.
    claims : mapping
        The paper's claims.
    models : mapping
        The test intervals, for proper scores.
    unit : float
        What these scores are divided by.
    block : array, optional
        One label per row where rows depend on each other.
    orders : tuple of tuples of str
        The paper's rankings of the models, the best first, to be checked by these scores.
    ranks : mapping
        Whether these scores rank the models so, by sentence; empty before `scored`.
    verdict : mapping
        What these scores decide; empty before `scored`.
    """

    cells: Cells
    claims: Claims
    models: Models
    unit: float = 1.0
    block: Floats | None = None
    orders: tuple[tuple[str, ...], ...] = ()
    ranks: Claims = field(default_factory=dict)
    verdict: Mapping[str, Any] = field(default_factory=dict)

    def scored(self) -> "Findings":
        """Return the same with interval score, skill, decomposition and verdict at a coverage of 95%."""
        found = assess(self.models, coverage=COVERAGE, block=self.block, unit=self.unit, progress=False)
        cells = dict(self.cells)
        for name in self.models:
            cells |= row(SCORES, name, scores(found[name])) | row(DECOMPOSITION, name, decomposition(found[name]))
        ranks = {
            f"The {words} ranks {', '.join(order)}": is_order(found, order, score)
            for order in self.orders
            for score, words in RANKED_BY.items()
        }
        verdict = {name: getattr(found.verdict, name) for name in ("model", "runner_up", "decided", "text")}
        return replace(self, cells=cells, ranks=ranks, verdict=verdict)


def scores(model: ModelRow) -> dict[str, float]:
    """Return what the table of the scores shows."""
    return {
        "rank": model.rank,
        "score": model.score,
        "half-width": model.half_width,
        "skill, %": 100 * model.skill,
        "BM gain, %": 100 * model.gain_bandwidth_miss_rate,
        "coverage as delivered, %": 100 * model.coverage,
        "factor": model.scale,
    }


def decomposition(model: ModelRow) -> dict[str, float]:
    """Return what predictions, bands and calibration contribute to the score as delivered."""
    parts = model.decomposition
    return {
        "score": parts.score,
        "climatology": parts.climatology,
        "- prediction": parts.prediction,
        "- discrimination": parts.discrimination,
        "+ miscalibration": parts.miscalibration,
    }


def is_order(found: Assessment, order: Sequence[str], score: str) -> bool:
    """Return whether a score rises in the given order of the models."""
    return all(getattr(found[a], score) < getattr(found[b], score) for a, b in pairwise(order))
