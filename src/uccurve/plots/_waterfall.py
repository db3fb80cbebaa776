"""Waterfall: how predictions, bands and calibration lead from one interval for all rows to the score as delivered."""

from collections.abc import Iterable
from math import isfinite
from typing import Literal, NamedTuple

from uccurve.points import Decomposition
from uccurve.words.formats import alike

CUT = 1.5  # bars that end beyond this multiple of the best single interval's score are cut there


class Step(NamedTuple):
    """One bar: its name, start and end, whether it is a total or what something changes, and its name with its size."""

    name: str
    start: float
    end: float
    kind: Literal["total", "saves", "costs"]
    label: str = ""


def waterfall(parts: Decomposition) -> list[Step]:
    """Steps from the best single interval to the score as delivered.

    What a step changes is written with no more decimals than the totals; a step that rounds to zero, or is undefined,
    is left out.

    >>> from uccurve.points import Decomposition
    >>> parts = Decomposition(
    ...     score=9.0,
    ...     best_score=7.0,
    ...     best_scale=1.2,
    ...     miscalibration=2.0,
    ...     discrimination=-1.0,
    ...     uncertainty=6.0,
    ...     prediction=4.0,
    ...     climatology=10.0,
    ... )
    >>> [(step.label, step.start, step.end) for step in waterfall(parts)][1:4]
    [('predictions save 4.00', 10.0, 6.0), ('bands cost 1.00', 6.0, 7.0), ('wrong scale costs 2.00', 7.0, 9.0)]
    """
    steps = (
        Step("one interval for all rows", 0.0, parts.climatology, "total"),
        _change("predictions", parts.climatology, parts.uncertainty),
        _change("bands", parts.uncertainty, parts.best_score),
        Step("wrong scale costs", parts.best_score, parts.score, "costs"),
        Step("score as delivered", 0.0, parts.score, "total"),
    )
    least = min(filter(isfinite, (parts.climatology, parts.score)), default=0.0)
    shown = []
    for step in steps:
        if isfinite(step.start) and isfinite(step.end):
            size, _ = alike(abs(step.end - step.start), 0.0 if step.kind == "total" else least)
            if step.kind == "total" or size.strip("0."):
                shown.append(step._replace(label=f"{step.name} {size}"))
    return shown


def axis_end(models: Iterable[Decomposition]) -> float:
    """Return where the axis of several waterfalls ends: a model of a far too small scale must not squeeze the others.

    >>> from uccurve.points import Decomposition
    >>> axis_end([Decomposition(900.0, 7.0, 9.0, 893.0, 1.0, 8.0, 2.0, 10.0)])
    15.0
    """
    given = list(models)
    ends = [end for parts in given for step in waterfall(parts) for end in (step.start, step.end)]
    limit = CUT * max((parts.climatology for parts in given if parts.climatology > 0), default=0.0)
    last = max(ends, default=1.0)
    return min(last, limit) if limit > 0 else last or 1.0


def _change(what: str, start: float, end: float) -> Step:
    return (
        Step(f"{what} save", start, end, "saves")
        if end <= start
        else Step(f"{what} cost", start, end, "costs")
    )
