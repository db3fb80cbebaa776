"""Folds: predictions of several folds or repeated runs as one set of rows, and which of them are the same row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from uccurve.intervals import Intervals
from uccurve.profile import Indices

from .units import codes


def joined(parts: Sequence[Intervals]) -> Intervals:
    """Intervals of all parts one after the other, weights included.

    >>> one = Intervals.from_bands([1, 2], y_pred=[1, 5], lower_band=[1, 2])
    >>> joined([one, one])
    Intervals(4 rows, miss_rate 0.5, bandwidth 1.5)
    """
    if not parts:
        raise ValueError("a list of folds must hold at least one Intervals; it is empty.")
    for i, part in enumerate(parts):
        if not isinstance(part, Intervals):
            raise TypeError(f"a list of folds must hold Intervals; item {i} is {type(part).__name__}.")
        if part.y_true.shape[1:] != parts[0].y_true.shape[1:]:
            raise ValueError(f"a list of folds must have the same outputs; fold {i} has other ones than fold 0.")
    if len(parts) == 1:
        return parts[0]
    weights = None
    if any(part._weight is not None for part in parts):
        weights = [np.ones(part.y_true.shape) if part._weight is None else part._weight for part in parts]
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("y_true", "y_pred", "lower", "upper", "lower_band")
    }
    symmetric = all(part.lower_band is part.upper_band for part in parts)
    columns["upper_band"] = columns["lower_band"] if symmetric else np.concatenate([part.upper_band for part in parts])
    return Intervals._of(
        None if weights is None else np.concatenate(weights),
        sum(part.raised for part in parts),
        sum(part.dropped for part in parts),
        **columns,
    )


def same_rows(parts: Sequence[Intervals], rows: Sequence[Any] | None) -> Indices | None:
    """Return a number for each row of the joined parts, equal for repetitions of one row; None where none repeats.

    Without `rows`, parts that hold the same y_true in the same order are taken for runs over the same rows.
    """
    lengths = [len(part) for part in parts]
    if rows is not None:
        return _numbered(rows, lengths)
    repeated = len(parts) > 1 and all(np.array_equal(part.y_true, parts[0].y_true) for part in parts[1:])
    return np.tile(np.arange(lengths[0]), len(parts)) if repeated else None


def _numbered(rows: Sequence[Any], lengths: list[int]) -> Indices:
    parts = [np.asarray(part) for part in rows]
    if len(lengths) == 1 and len(parts) != 1:
        parts = [np.asarray(rows)]
    found = [part.shape for part in parts]
    if found != [(length,) for length in lengths]:
        raise ValueError(
            f"`rows` must name each row of each fold: {[shape[0] if shape else 0 for shape in found]} names against "
            f"{lengths} rows."
        )
    return codes("rows", np.concatenate(parts))[0]
