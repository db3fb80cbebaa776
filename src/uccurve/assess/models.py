"""Models: what comparisons are given, as curves of the same rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from uccurve._arrays import Flags, Indices
from uccurve._refusals import shown
from uccurve._vocabulary import Vary
from uccurve.curve import UCC
from uccurve.evidence.units import row_ids
from uccurve.intervals import Intervals

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
    (first, curve), *others = curves.items()
    for name, other in others:
        refuse_other_rows(curve, other, names=(f"`models` {first!r}", repr(name)))
    most = max(folds.values(), key=len)  # a model whose folds are already joined does not tell what repeats
    return curves, row_ids([fold.intervals for fold in most], rows)


def _name(name: Any) -> str:
    if isinstance(name, bool) or not isinstance(name, str | int | np.integer) or not str(name).strip():
        raise TypeError(f"`models` must have names (str) that can be read; got {shown(name)} ({type(name).__name__}).")
    return str(name)


def _folds(name: Any, given: Any) -> list[UCC]:
    """Return a model as one curve, or as one for each of its folds."""
    parts = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    if not parts:
        raise ValueError(f"a list of folds must hold at least one Intervals; that of {name!r} is empty.")
    own = f"models[{name!r}]"
    return [UCC.from_levels(part) if isinstance(part, Mapping) else curve_of(own, part) for part in parts]


def _joined(name: str, folds: list[UCC]) -> UCC:
    """Return the curve of all rows of the folds."""
    first = folds[0]
    if len(folds) == 1:
        return first
    if len({(fold.vary, fold.levels) for fold in folds}) > 1:
        raise ValueError(f"the folds of a model must be of one kind, with the same levels; those of {name!r} differ.")
    if not first.levels:
        return UCC(Intervals.join([fold.intervals for fold in folds]), vary=first.vary)
    levels = zip(*(fold._levels for fold in folds), strict=True)
    return UCC.from_levels(dict(zip(first.levels, map(Intervals.join, levels), strict=True)))


def curve_of(name: str, data: Any, vary: Vary | None = None) -> UCC:
    """Return the curve of Intervals, or the one that is given; refuse what keeps no rows."""
    if isinstance(data, Intervals):
        return UCC(data, vary="scale" if vary is None else vary)
    if not isinstance(data, UCC):
        raise TypeError(
            f"`{name}` must be Intervals or a UCC, which keep their rows (a sketch keeps none); "
            f"got {type(data).__name__}. Hint: see Intervals.from_bounds."
        )
    if vary not in (None, data.vary):
        raise ValueError(
            f"`vary` is for Intervals: `{name}` is a curve over the {data.vary}; got {shown(vary)}. Hint: leave it out."
        )
    return data


def refuse_other_rows(a: UCC, b: UCC, *, names: tuple[str, str] = ("`a`", "`b`")) -> None:
    """Refuse two models whose rows are not the same: other lengths, shapes, observations or weights.

    `names` are what the sentence calls them, such as ``("`models` 'GBR'", "'Meta'")``.

    Examples
    --------
    >>> one, two = (UCC(Intervals.from_std(y, mean=[1, 5], std=[0.5, 2])) for y in ([1, 2], [1, 3]))
    >>> refuse_other_rows(one, two)
    Traceback (most recent call last):
    ValueError: `a` and `b` must have the same y_true: 1 of 2 rows differ, first row 1. Hint: put the rows of ...
    """
    one, two, pair = a.intervals, b.intervals, " and ".join(names)
    if one.y_true.shape != two.y_true.shape:
        shapes = "" if len(one) != len(two) else f", shapes {one.y_true.shape} against {two.y_true.shape}"
        hint = "give all models the same rows in the same order"
        raise ValueError(f"{pair} must have the same rows: {len(one)} against {len(two)}{shapes}. Hint: {hint}.")
    _refuse(one.y_true != two.y_true, f"{pair} must have the same y_true", "put the rows of both in the same order")
    if one._weight is None and two._weight is None:
        return
    rounding = 1e-12 * one.weight  # weights are divided by their sum
    differ = np.abs(one.weight - two.weight) > rounding
    _refuse(differ, f"{pair} must have the same weights", "pass the same `weight` to both")


def _refuse(differ: Flags, rule: str, hint: str) -> None:
    rows = np.flatnonzero(differ.reshape(len(differ), -1).any(axis=1))
    if len(rows):
        raise ValueError(f"{rule}: {len(rows)} of {len(differ)} rows differ, first row {rows[0]}. Hint: {hint}.")
