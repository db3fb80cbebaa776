"""Models: what `assess` is given, as curves of the same rows by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from uccurve._checks import shown
from uccurve.curve import UCC
from uccurve.intervals import Intervals

from ._blocks import Indices, row_ids
from ._pairs import refuse_other_rows

HINT = 'Hint: {"GBR": one, "Meta": other}.'


def curves_by_name(models: Any, rows: Any) -> tuple[dict[str, UCC], Indices | None]:
    """Return the curve of each model, folds joined, and a number per row that repetitions of a row share."""
    if isinstance(models, Intervals | UCC):
        models = {"model": models}
    if not isinstance(models, Mapping):
        raise TypeError(
            "`models` must be Intervals, a curve, or a mapping from names to these; "
            f"got {type(models).__name__}. {HINT}"
        )
    if not models:
        raise ValueError(f"`models` must hold at least one model; it is empty. {HINT}")
    if all(isinstance(name, float) and isinstance(one, Intervals) for name, one in models.items()):
        models = {"model": models}  # the levels of one model
    folds = {_name(name): _folds(name, given) for name, given in models.items()}
    if len(folds) < len(models):
        raise ValueError("`models` must have different names: two of them read the same.")
    curves = {name: _joined(name, parts) for name, parts in folds.items()}
    _refuse_other_rows(curves)
    most = max(folds.values(), key=len)  # a model whose folds are already joined does not tell what repeats
    return curves, row_ids([_intervals(part) for part in most], rows)


def _name(name: Any) -> str:
    if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
        raise TypeError(f"`models` must have names of type str; got {shown(name)} ({type(name).__name__}).")
    return str(name)


def _folds(name: Any, given: Any) -> list[Any]:
    """Return the folds of one model: Intervals, curves or mappings from level to Intervals."""
    parts = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    if not parts:
        raise ValueError(f"a list of folds must hold at least one Intervals; that of {name!r} is empty.")
    for part in parts:
        if not isinstance(part, Intervals | Mapping) and (len(parts) > 1 or not isinstance(part, UCC)):
            raise TypeError(f"`models` must hold {_kinds(part)}; {name!r} holds {type(part).__name__}.")
    return parts


def _kinds(part: Any) -> str:
    if type(part).__name__ in ("SketchUCC", "UCCSketch"):
        return "rows, which a sketch does not keep: Intervals, curves, levels, or lists of folds"
    return "Intervals, curves, mappings from level to Intervals, or lists of folds"


def _joined(name: str, parts: list[Any]) -> UCC:
    first = parts[0]
    if isinstance(first, UCC):
        return first
    if isinstance(first, Intervals):
        return UCC(Intervals.join(parts))
    levels = [sorted(part) if isinstance(part, Mapping) else None for part in parts]
    if any(one != levels[0] for one in levels):
        raise ValueError(f"`models` must have the same levels in all folds; those of {name!r} differ.")
    return UCC.from_levels({level: Intervals.join([part[level] for part in parts]) for level in first})


def _intervals(part: Any) -> Intervals:
    if isinstance(part, UCC):
        return part.intervals
    return part if isinstance(part, Intervals) else next(iter(part.values()))


def _refuse_other_rows(curves: Mapping[str, UCC]) -> None:
    (name, first), *others = curves.items()
    for other, curve in others:
        refuse_other_rows(first, curve, names=(f"`models` {name!r}", repr(other)))
