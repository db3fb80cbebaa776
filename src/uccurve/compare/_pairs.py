"""Pairs: whether two models were given the same rows."""

from __future__ import annotations

import numpy as np

from uccurve._arrays import Flags
from uccurve.curve import UCC
from uccurve.intervals import Intervals


def rows_of(model: Intervals | UCC, *, name: str) -> Intervals:
    """Return the intervals of a model; refuse what keeps no rows."""
    intervals = model.intervals if isinstance(model, UCC) else model
    if not isinstance(intervals, Intervals):
        raise TypeError(
            f"{name} must be Intervals or a UCC, whose rows can be compared (a sketch keeps none); "
            f"got {type(model).__name__}. Hint: see Intervals.from_bounds."
        )
    return intervals


def refuse_other_rows(a: Intervals | UCC, b: Intervals | UCC, *, names: tuple[str, str] = ("`a`", "`b`")) -> None:
    """Refuse two models whose rows are not the same: other lengths, shapes, observations or weights.

    `names` are what the sentence calls them, such as ``("`models` 'GBR'", "'Meta'")``.

    Examples
    --------
    >>> one, two = (Intervals.from_std(y, mean=[1, 5], std=[0.5, 2]) for y in ([1, 2], [1, 3]))
    >>> refuse_other_rows(one, two)
    Traceback (most recent call last):
    ValueError: `a` and `b` must have the same y_true: 1 of 2 rows differ, first row 1. Hint: put the rows of ...
    """
    one, two = (rows_of(model, name=name) for model, name in zip((a, b), names, strict=True))
    pair = " and ".join(names)
    if one.y_true.shape != two.y_true.shape:
        shapes = "" if len(one) != len(two) else f", shapes {one.y_true.shape} against {two.y_true.shape}"
        raise ValueError(f"{pair} must have the same rows: {len(one)} against {len(two)}{shapes}.")
    _refuse(one.y_true != two.y_true, f"{pair} must have the same y_true", "put the rows of both in the same order")
    rounding = 1e-12 * one.weight  # weights are divided by their sum
    differ = np.abs(one.weight - two.weight) > rounding
    _refuse(differ, f"{pair} must have the same weights", "pass the same `weight` to both")


def _refuse(differ: Flags, rule: str, hint: str) -> None:
    rows = np.flatnonzero(differ.reshape(len(differ), -1).any(axis=1))
    if len(rows):
        raise ValueError(f"{rule}: {len(rows)} of {len(differ)} rows differ, first row {rows[0]}. Hint: {hint}.")
