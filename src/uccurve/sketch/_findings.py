"""Findings: what the passes over one frame, or kept sketches, say about its models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from uccurve._checks import Array
from uccurve.compare.results import Segment

from ._model import StreamedModel
from ._units import Changes, Evidence


@dataclass(frozen=True, eq=False)
class Findings:
    """Models on the same rows, with what is known about chance."""

    models: Sequence[StreamedModel]
    evidence: Evidence
    segments: Sequence[Segment] = ()
    levels: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What the levels of models that have several add to their rows."""
    engine: str | None = None


def pairs_of(models: Sequence[StreamedModel], changes: Sequence[Changes]) -> dict[tuple[int, int], Array]:
    """Influence of the blocks on the difference of what ranks two models."""
    name = models[0].settings.ranked_by
    return {
        (i, j): changes[i][name] * models[i].ranked_value - changes[j][name] * models[j].ranked_value
        for i, j in combinations(range(len(models)), 2)
        if name in changes[i] and name in changes[j]
    }
