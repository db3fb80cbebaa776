"""Units: which rows hang together and so are swapped or drawn together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from uccurve._checks import Array
from uccurve.intervals import Intervals
from uccurve.profile import Indices


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """What each flattened row that carries weight belongs to."""

    of_row: Indices
    """Unit of the row: what is swapped or drawn as a whole."""
    count: int
    each: bool
    """Whether every flattened row is a unit of its own, in order."""
    row: Indices
    """Row of the data, of which two-dimensional data have several flattened ones."""
    rows: int
    length: int | None = None
    """Length of blocks of consecutive rows, where that is what makes the units."""

    @classmethod
    def of(cls, intervals: Intervals, block: Any) -> Units:
        """Rows by themselves (None), consecutive blocks of a length (int), or groups of equal labels."""
        rows, length = len(intervals), None
        row = np.arange(rows)
        if intervals.y_true.ndim == 2:
            row = np.repeat(row, intervals.y_true.shape[1])
        weight = intervals._weight
        if weight is not None and not weight.all():
            row = row[weight.ravel() > 0]
        if block is None:
            labels = row
        elif np.ndim(block) == 0:
            length = block_length(block, rows)
            labels = row // length
        else:
            labels = _labels(block, rows)[row]
        if weight is not None and not weight.all():
            labels = np.unique(labels, return_inverse=True)[1]
        count = int(labels.max()) + 1
        return cls(labels, count, block is None and count == len(labels), row, rows, length)

    def sums(self, values: Array) -> Array:
        """Sum of the rows' values over each unit."""
        if self.each:
            return values
        return np.bincount(self.of_row, weights=values, minlength=self.count).astype(np.float64, copy=False)

    def effective(self, weight: Array | None) -> float:
        """Effective number of units under their weights; of equal ones their number."""
        if weight is None and self.each:
            return float(self.count)
        weights = self.sums(np.ones(len(self.of_row)) if weight is None else weight)
        return float(weights.sum() ** 2 / np.sum(weights**2))


def positive(name: str, value: Any) -> int:
    """Return a whole number of at least 1."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"`{name}` must be a whole number of at least 1; got {value!r}.")
    return int(value)


def block_length(block: Any, rows: int) -> int:
    """Return the length of blocks of consecutive rows."""
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
