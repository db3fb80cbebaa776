"""Units: which rows hang together and so are swapped or drawn together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .checks import Array
from .intervals import Intervals
from .profile import Indices


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Unit of each flattened row that carries weight; `each` where every row is its own."""

    of_row: Indices
    count: int
    each: bool
    length: int | None
    """Length of blocks of consecutive rows, where that is what makes the units."""

    @classmethod
    def of(cls, intervals: Intervals, block: Any) -> Units:
        """Rows by themselves (None), consecutive blocks of a length (int), or groups of equal labels."""
        rows = len(intervals)
        length = None
        if block is None:
            labels = np.arange(rows)
        elif np.ndim(block) == 0:
            length = _length(block, rows)
            labels = np.arange(rows) // length
        else:
            labels = _labels(block, rows)
        weight = intervals._weight
        if intervals.y_true.ndim == 2:
            labels = np.repeat(labels, intervals.y_true.shape[1])
        if weight is not None and not weight.all():
            labels = labels[weight.ravel() > 0]
            labels = np.unique(labels, return_inverse=True)[1]
        count = int(labels.max()) + 1
        return cls(labels, count, count == len(labels), length)

    def sums(self, values: Array) -> Array:
        """Sum of the rows' values over each unit."""
        if self.each:
            return values
        return np.bincount(self.of_row, weights=values, minlength=self.count).astype(np.float64, copy=False)


def positive(name: str, value: Any) -> int:
    """Return a whole number of at least 1."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"`{name}` must be a whole number of at least 1; got {value!r}.")
    return int(value)


def _length(block: Any, rows: int) -> int:
    if positive("block", block) > rows:
        raise ValueError(f"`block` must not be longer than the data: {block} against {rows} rows.")
    return int(block)


def _labels(block: Any, rows: int) -> Indices:
    labels = np.asarray(block)
    if labels.ndim != 1 or len(labels) != rows:
        raise ValueError(
            f"`block` must hold one label a row: {'x'.join(map(str, labels.shape))} labels against {rows} rows."
        )
    return codes("block", labels)[0]


def codes(name: str, labels: npt.NDArray[Any]) -> tuple[Indices, list[Any]]:
    """Whole numbers from 0 for labels of any kind, and the labels in that order; missing labels are refused."""
    missing = np.array([item is None or item != item for item in labels.tolist()])  # noqa: PLR0124  # NaN of any kind
    if missing.any():
        raise ValueError(
            f"`{name}` must hold a label in each row: {int(missing.sum())} of {len(labels)} have none, "
            f"first row {int(np.argmax(missing))}. Hint: give such rows a label of their own."
        )
    if labels.dtype.kind == "O":
        known = {label: i for i, label in enumerate(dict.fromkeys(labels.tolist()))}
        return np.array([known[label] for label in labels.tolist()], np.intp), list(known)
    found, inverse = np.unique(labels, return_inverse=True)
    return inverse.astype(np.intp, copy=False), found.tolist()
