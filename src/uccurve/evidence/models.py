"""Models: what comparisons are given, as curves of the same rows."""

from collections.abc import Callable, Mapping, Sequence, Sized
from typing import Any, NamedTuple

import numpy as np

from uccurve._arrays import Flags, Indices
from uccurve._refusals import shown
from uccurve._vocabulary import Vary
from uccurve.curve import UCC
from uccurve.evidence.units import Repeated, codes, is_text, labels
from uccurve.intervals import Intervals
from uccurve.words.formats import counted

HINT = 'Hint: {"GBR": one, "Meta": other}.'


class Given(NamedTuple):
    """The curve of each model, folds joined, and which rows are repetitions of each other."""

    curves: dict[str, UCC]
    repeated: Repeated | None


def given_models(models: Any, rows: Any = None) -> Given:
    """Return the curves that `models` name, and their repetitions; the curves may still have different rows."""
    named = _named(models)
    folds = {_name(name): _folds(name, given) for name, given in named.items()}
    if len(folds) < len(named):
        raise ValueError("`models` must have different names: two of them read the same.")
    curves = {name: _joined(name, parts) for name, parts in folds.items()}
    # a model whose folds are already joined does not tell what repeats
    most = max(folds.values(), key=len)
    return Given(curves, repeated_rows([fold.intervals for fold in most], rows))


def curves_by_name(models: Any, rows: Any = None) -> Given:
    """Return the curves of models that have the same rows, and are all one-sided in the same way or not at all."""
    given = given_models(models, rows)
    refuse_different(given.curves)
    return given


def refuse_different(curves: Mapping[str, UCC]) -> None:
    """Refuse models that cannot be compared: of other rows, or that judge other bounds."""
    (first, curve), *others = curves.items()
    for name, other in others:
        refuse_other_side(curve, other, names=(repr(first), repr(name)))
        _refuse_other_level(curve, other, names=(repr(first), repr(name)))
        refuse_other_rows(curve, other, names=(f"`models` {first!r}", repr(name)))


def refuse_other_side(a: UCC, b: UCC, *, names: tuple[str, str]) -> None:
    """Refuse to compare a bound on one side with an interval, or with a bound on the other side."""
    first = a.intervals.side
    second = b.intervals.side
    if first == second:
        return
    words = {"both": "two-sided", "upper": "an upper bound", "lower": "a lower bound"}
    raise ValueError(
        f"`models` must all judge the same side: {names[0]} is {words[first]}, {names[1]} is {words[second]}. "
        "Hint: assess them in two calls."
    )


def _refuse_other_level(a: UCC, b: UCC, *, names: tuple[str, str]) -> None:
    """Refuse to compare quantiles of different probabilities."""
    levels = (a.intervals.level, b.intervals.level)
    if a.levels or b.levels or None in levels or levels[0] == levels[1]:
        return
    raise ValueError(
        f"`models` must be quantiles of the same level: {names[0]} has {levels[0]:g}, {names[1]} has {levels[1]:g}. "
        "Hint: assess each level in a call of its own."
    )


def curve_of(name: str, data: Any, vary: Vary | None = None) -> UCC:
    """Return the curve of Intervals, or the one that is given; refuse what keeps no rows."""
    if isinstance(data, Intervals):
        return UCC(data) if vary is None else UCC(data, vary=vary)
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
    """Refuse two models whose rows are not the same: other lengths, shapes, observations, weights or units.

    `names` are what the sentence calls them, such as ``("`models` 'GBR'", "'Meta'")``.

    Examples
    --------
    >>> a = UCC(Intervals.from_std([1, 2], mean=[1, 5], std=[0.5, 2]))
    >>> b = UCC(Intervals.from_std([1, 3], mean=[1, 5], std=[0.5, 2]))
    >>> refuse_other_rows(a, b)
    Traceback (most recent call last):
    ValueError: `a` and `b` must have the same y_true: 1 of 2 rows differ, first row 1. Hint: put the rows of ...
    """
    left = a.intervals
    right = b.intervals
    pair = " and ".join(names)
    if left.y_true.shape != right.y_true.shape:
        shapes = (
            ""
            if len(left) != len(right)
            else f", shapes {left.y_true.shape} against {right.y_true.shape}"
        )
        raise ValueError(
            f"{pair} must have the same rows: {len(left)} against {len(right)}{shapes}. Hint: give all models the same "
            'rows in the same order, or pass missing="drop" if some were dropped.'
        )
    _refuse(
        left.y_true != right.y_true,
        f"{pair} must have the same y_true",
        "put the rows of both in the same order",
    )
    if left._weight is None and right._weight is None:
        return
    rounding = 1e-12 * left.weight  # weights are divided by their sum
    differ = np.abs(left.weight - right.weight) > rounding
    _refuse(differ, f"{pair} must have the same weights", "pass the same `weight` to both")


def _refuse(differ: Flags, rule: str, hint: str) -> None:
    rows = np.flatnonzero(differ.reshape(len(differ), -1).any(axis=1))
    if len(rows):
        raise ValueError(
            f"{rule}: {len(rows)} of {len(differ)} rows differ, first row {rows[0]}. Hint: {hint}."
        )


def _named(models: Any) -> Mapping[Any, Any]:
    """Return what is given as a mapping from names to models."""
    if isinstance(models, Intervals | UCC):
        return {"model": models}
    if not isinstance(models, Mapping):
        raise TypeError(
            "`models` must be Intervals, a curve, or a mapping from names to these; "
            f"got {type(models).__name__}. {HINT}"
        )
    if not models:
        raise ValueError(f"`models` must hold at least one model; it is empty. {HINT}")
    names_are_levels = all(isinstance(name, float) for name in models)
    if names_are_levels and all(isinstance(given, Intervals) for given in models.values()):
        return {"model": models}
    return models


def _name(name: Any) -> str:
    if (
        isinstance(name, bool)
        or not isinstance(name, str | int | np.integer)
        or not str(name).strip()
    ):
        raise TypeError(
            f"`models` must have names (str) that can be read; got {shown(name)} ({type(name).__name__})."
        )
    return str(name)


def _folds(name: Any, given: Any) -> list[UCC]:
    """Return a model as one curve, or as one for each of its folds."""
    parts = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    if not parts:
        raise ValueError(
            f"a list of folds must hold at least one Intervals; that of {name!r} is empty."
        )
    return [_fold(name, part) for part in parts]


def _fold(name: Any, part: Any) -> UCC:
    """Return one fold as a curve."""
    if isinstance(part, Mapping):
        return UCC.from_levels(part)
    return curve_of(f"models[{name!r}]", part)


def _joined(name: str, folds: list[UCC]) -> UCC:
    """Return the curve of all rows of the folds."""
    first = folds[0]
    if len(folds) == 1:
        return first
    if len({(fold.vary, fold.levels) for fold in folds}) > 1:
        raise ValueError(
            f"the folds of a model must be of one kind, with the same levels; those of {name!r} differ."
        )
    if not first.levels:
        return UCC(Intervals.join([fold.intervals for fold in folds]), vary=first.vary)
    by_level = [fold.intervals_by_level() for fold in folds]
    joined = {}
    for level in first.levels:
        joined[level] = Intervals.join([intervals[level] for intervals in by_level])
    return UCC.from_levels(joined)


def rows_of(curve: UCC, rows: Flags) -> UCC:
    """Return the curve of some of the rows."""
    return _changed(curve, lambda intervals: intervals[rows])


def measured_in(curve: UCC, unit: Any) -> UCC:
    """Return the curve with each row divided by its unit before anything is averaged."""
    return _changed(curve, lambda intervals: intervals.measured_in(unit))


def _changed(curve: UCC, change: Callable[[Intervals], Intervals]) -> UCC:
    """Return the curve of intervals that are changed alike, at each level."""
    if not curve.levels:
        return UCC(change(curve.intervals), vary=curve.vary)
    levels = curve.intervals_by_level()
    return UCC.from_levels({level: change(intervals) for level, intervals in levels.items()})


def repeated_rows(parts: Sequence[Intervals], rows: Any = None) -> Repeated | None:
    """Return which rows of joined folds are repetitions; None where no row repeats.

    Without `rows`, folds with the same ``y_true`` in the same order are treated as training runs over the same rows.
    With `rows`, folds in which every row occurs once in each are runs too, and rows that overlap only partly are
    refused: no variance could be computed from them.
    """
    lengths = [len(part) for part in parts]
    if rows is None:
        same = len(parts) > 1 and all(
            np.array_equal(part.y_true, parts[0].y_true) for part in parts[1:]
        )
        if not same:
            return None
        row = np.tile(np.arange(lengths[0]), len(parts))
        return Repeated(row, np.repeat(np.arange(len(parts)), lengths))
    row = _row_numbers(lengths, rows)
    times = np.bincount(row)
    if times.max() == 1:
        return None
    run = np.repeat(np.arange(len(lengths)), lengths)
    distinct = np.unique(np.stack([row, run]), axis=1).shape[1]
    if times.min() == times.max() == len(lengths) == distinct // len(times):
        return Repeated(row, run)
    if len(lengths) > 1:
        repeats = int(np.count_nonzero(times > 1))
        raise ValueError(
            f"`rows` must all differ, or be the same in every run: {counted(repeats, 'row')} of {len(times)} "
            "occur in some folds only. "
            "Hint: join the folds of each repetition by Intervals.join, so that each item has all rows."
        )
    return Repeated(row, None)


def _row_numbers(lengths: Sequence[int], rows: Any) -> Indices:
    """Number of the row that each row of joined folds is."""
    folds = list(rows) if isinstance(rows, np.ndarray) and rows.ndim == 2 else rows
    nested = (
        isinstance(folds, list | tuple)
        and folds
        and isinstance(folds[0], Sized)
        and not is_text(folds[0])
    )
    if not nested:
        return codes("rows", labels("rows", rows, sum(lengths)))[0]
    if len(folds) != len(lengths):
        raise ValueError(
            f"`rows` must hold one array per fold: {counted(len(folds), 'array')} "
            f"for {counted(len(lengths), 'fold')}. Hint: each holds one label per row of its fold."
        )
    names = [labels(f"rows[{i}]", fold, lengths[i]) for i, fold in enumerate(folds)]
    if len({array.dtype.kind for array in names}) > 1:  # so that 1 is not "1"
        names = [array.astype(object) for array in names]
    return codes("rows", np.concatenate(names))[0]
