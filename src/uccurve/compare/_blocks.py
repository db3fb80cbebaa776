"""Blocks: which rows are dependent, and so are summed, swapped or resampled together."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt

from uccurve import _checks as checks
from uccurve._checks import Array
from uccurve.intervals import Intervals

from ._formats import counted

Indices = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]
Labels = npt.NDArray[Any]

OWN_LABEL = "give such rows a label of their own"


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Which of the flattened rows of positive weight belong together.

    Two-dimensional data have one flattened row for each output of a row; rows of weight 0 have none.
    """

    of_row: Indices
    """Block of each flattened row."""
    count: int
    """Number of blocks."""
    row: Indices
    """Row of the data that each flattened row comes from."""
    rows: int
    """Number of rows of the data."""
    length: int | None = None
    """Length of the blocks, where they are consecutive rows: a circular block bootstrap needs it."""

    @classmethod
    def of(cls, intervals: Intervals, block: Any = None, *, row_ids: Indices | None = None) -> Blocks:
        """Blocks of the rows of `intervals`.

        Parameters
        ----------
        intervals : Intervals
        block : int or array_like, optional
            None: every row is a block. An integer: consecutive blocks of that length. An array: one label per row;
            rows with equal labels are a block.
        row_ids : array of int, optional
            What `row_ids` returns for repeated rows: repetitions of a row are one block, and consecutive blocks are
            counted in rows that differ.

        Examples
        --------
        >>> iv = Intervals.from_bands([1, 2, 3, 4, 5], y_pred=[0, 0, 0, 0, 0], lower_band=[1, 1, 1, 1, 1])
        >>> Blocks.of(iv, 2).of_row.tolist(), Blocks.of(iv, ["b", "a", "b", "a", "a"]).of_row.tolist()
        ([0, 0, 1, 1, 2], [1, 0, 1, 0, 0])
        """
        rows = len(intervals)
        label, length = _labels_and_length(block, rows, row_ids)
        row = _flattened_rows(intervals)
        if label is None and intervals.y_true.ndim == 1:
            return cls(np.arange(len(row)), len(row), row, rows)
        return cls._of(row if label is None else label[row], row, rows, length)

    @classmethod
    def _of(cls, label: Indices, row: Indices, rows: int, length: int | None = None) -> Blocks:
        found, of_row = np.unique(label, return_inverse=True)
        if len(found) == len(label):
            of_row = np.arange(len(label))
        return cls(of_row, len(found), row, rows, length)

    @property
    def independent(self) -> bool:
        """Whether every flattened row is a block of its own."""
        return self.count == len(self.of_row)

    def sums(self, values: Array) -> Array:
        """Sum of the values of the flattened rows over each block."""
        if self.independent:
            return values
        return np.bincount(self.of_row, weights=values, minlength=self.count).astype(np.float64, copy=False)

    def subset(self, rows: Indices | Flags) -> Blocks:
        """Blocks of some of the flattened rows, by their numbers in ascending order or by flags.

        Flags of the rows of the data, such as a segment has, are taken to the flattened rows by ``flags[blocks.row]``.

        Examples
        --------
        >>> iv = Intervals.from_bands([1, 2, 3, 4, 5], y_pred=[0, 0, 0, 0, 0], lower_band=[1, 1, 1, 1, 1])
        >>> Blocks.of(iv, 2).subset(np.array([0, 2, 3])).of_row.tolist()
        [0, 1, 1]
        """
        row = self.row[rows]
        number = np.cumsum(np.diff(row, prepend=row[:1]) > 0, dtype=np.intp)
        return Blocks._of(self.of_row[rows], number, int(number[-1]) + 1 if len(number) else 0)

    def by_data_row(self) -> Indices:
        """Block of each row of the data; -1 for rows without weight."""
        out = np.full(self.rows, -1)
        out[self.row] = self.of_row
        return out

    def require_two(self, what: str) -> None:
        """Refuse `what` ("a standard error") where all rows are one block."""
        if self.count < 2:
            kind = "rows" if self.rows < 2 else "blocks of rows"
            hint = "pass more rows" if self.rows < 2 else "pass shorter blocks, or labels that differ"
            raise ValueError(f"{what} needs at least two {kind}; there is only one. Hint: {hint}.")


def row_ids(parts: Sequence[Intervals], rows: Any = None) -> Indices | None:
    """Return the number of each row of joined folds, equal for repetitions of a row; None where no row repeats.

    Without `rows`, folds with the same ``y_true`` in the same order are treated as repeated runs over the same rows.
    """
    lengths = [len(part) for part in parts]
    if rows is not None:
        return codes("rows", _labels_of_folds(rows, lengths))[0]
    repeated = len(parts) > 1 and all(np.array_equal(part.y_true, parts[0].y_true) for part in parts[1:])
    return np.tile(np.arange(lengths[0]), len(parts)) if repeated else None


def labels(name: str, value: Any, rows: int) -> Labels:
    """Return one label per row as a one-dimensional array in which numbers stay numbers, or refuse."""
    array = _array(name, value)
    if array.shape == (rows,):
        return array
    hint = "labels are matched to rows by position; leave out those of rows that were dropped"
    if array.ndim > 1:
        hint = "flatten a single column with .ravel(), and join several into one label per row"
    found = counted(len(array), "label") if array.ndim == 1 else f"{'x'.join(map(str, array.shape))} labels"
    raise ValueError(f"`{name}` must hold one label per row: {found} for {counted(rows, 'row')}. Hint: {hint}.")


def codes(name: str, labels: Labels) -> tuple[Indices, list[Any]]:
    """Integers from 0 for labels of any kind, and the labels in that order, which is ascending where they have one.

    >>> code, found = codes("by", np.array(["b", "a", "b"]))
    >>> code.tolist(), found
    ([1, 0, 1], ['a', 'b'])
    """
    if isinstance(labels, np.ma.MaskedArray):
        labels = _array(name, labels)
    kind = labels.dtype.kind
    if kind in "fcmM":
        _refuse_missing(name, np.isnan(labels), labels)
    if kind not in "biufcmM":
        return _hashed_codes(name, labels)  # for text, too, a third of the time of a sort
    found, code = np.unique(labels, return_inverse=True)
    if labels.dtype.str.endswith("[ns]"):  # Python has no type for nanoseconds
        found = found.astype(f"{kind}8[us]")
    return code.astype(np.intp, copy=False), found.tolist()


def positive(name: str, value: Any) -> int:
    """Return an integer of at least 1."""
    if not _is_integer(value) or value < 1:
        raise ValueError(f"`{name}` must be an integer of at least 1; got {checks.shown(value)}.")
    return int(value)


def generator(seed: Any) -> np.random.Generator:
    """Return a random number generator from an integer of at least 0, from None, or the one that is given."""
    if isinstance(seed, np.random.Generator):
        return seed
    if seed is None or (_is_integer(seed) and seed >= 0):
        return np.random.default_rng(seed)
    raise ValueError(
        f"`seed` must be an integer of at least 0, a numpy.random.Generator or None; got {checks.shown(seed)}."
    )


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _flattened_rows(intervals: Intervals) -> Indices:
    """Row of the data for each flattened row of positive weight."""
    row = np.arange(len(intervals))
    if intervals.y_true.ndim == 2:
        row = np.repeat(row, intervals.y_true.shape[1])
    weight = intervals._weight
    return row if weight is None or weight.all() else row[weight.ravel() > 0]


def _labels_and_length(block: Any, rows: int, row_ids: Indices | None) -> tuple[Indices | None, int | None]:
    """Label of each row (None: its own number) and the length of consecutive blocks of rows that never repeat."""
    if block is None:
        return row_ids, None
    if isinstance(block, Number):
        different = rows if row_ids is None else int(row_ids.max()) + 1
        length = _length(block, different)
        return (np.arange(rows) if row_ids is None else row_ids) // length, None if row_ids is not None else length
    if row_ids is not None:
        raise ValueError(
            "give `rows` (or repeated runs over the same rows) or labels in `block`, not both. "
            "Hint: give the repetitions of a row the same label in `block`, and leave `rows` out."
        )
    return codes("block", labels("block", block, rows))[0], None


def _length(block: Any, rows: int) -> int:
    length = positive("block", block)
    if length > rows:
        raise ValueError(
            f"`block` must not be longer than the data: {checks.shown(length)} for {counted(rows, 'row')}. "
            "Hint: pass a shorter block."
        )
    return length


def _labels_of_folds(rows: Any, lengths: list[int]) -> Labels:
    """Labels of the rows of all folds, from one array for each fold or one for all of them."""
    parts = list(rows) if isinstance(rows, np.ndarray) and rows.ndim == 2 else rows
    if not (isinstance(parts, list | tuple) and parts and _is_nested(parts[0])):
        return labels("rows", rows, sum(lengths))
    if len(parts) != len(lengths):
        raise ValueError(
            f"`rows` must hold one array per fold: {counted(len(parts), 'array')} "
            f"for {counted(len(lengths), 'fold')}. Hint: each holds one label per row of its fold."
        )
    return _joined([labels(f"rows[{i}]", part, lengths[i]) for i, part in enumerate(parts)])


def _joined(parts: Sequence[Labels]) -> Labels:
    """Return the arrays one after the other; those of different kinds as objects, so that 1 is not "1"."""
    kinds = {"n" if part.dtype.kind in "iuf" else part.dtype.kind for part in parts}
    return np.concatenate(parts if len(kinds) == 1 else [part.astype(object) for part in parts])


def _is_nested(item: Any) -> bool:
    return isinstance(item, Sized) and not isinstance(item, str | bytes)


def _array(name: str, value: Any) -> Labels:
    """Return labels as an array; text is one label, masked labels are refused."""
    if isinstance(value, str | bytes):
        raise TypeError(f"`{name}` must hold one label per row; got a single string. Hint: pass a list or an array.")
    if isinstance(value, np.ma.MaskedArray) and value.ndim:
        _refuse_missing(name, np.ma.getmaskarray(value), value)
    elif isinstance(value, list | tuple):
        _refuse_missing(name, np.fromiter((item is np.ma.masked for item in value), np.bool_, len(value)), value)
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError):  # numpy's words for a ragged list
        raise ValueError(
            f"`{name}` must hold one label per row: its items differ in length. "
            "Hint: join several labels of a row into one."
        ) from None
    if array.ndim == 0:
        what = type(value).__name__
        raise TypeError(f"`{name}` must hold one label per row; got {what}. Hint: pass a list or an array.")
    if array.dtype.kind in "US" and isinstance(value, list | tuple) and not all(map(_is_text, value)):
        return np.fromiter(value, object, len(value))  # numpy wrote numbers, NaN included, as text
    return array


def _is_text(item: Any) -> bool:
    return isinstance(item, str | bytes)


def _refuse_missing(name: str, missing: Flags, labels: Any) -> None:
    def detail(at: Any) -> str:
        label = labels[at[0]] if len(at) == 1 else np.ma.masked
        return "masked" if label is np.ma.masked else checks.shown(label, str)

    rule = checks.Rule(name, "hold a label in each row", ("has none", "have none"), OWN_LABEL)
    checks.rows(missing, rule, detail)


def _hashed_codes(name: str, labels: Labels) -> tuple[Indices, list[Any]]:
    """Codes of text and of objects; labels of several kinds stay in the order in which they come."""
    items = labels.tolist()
    try:
        found = list(dict.fromkeys(items))
    except TypeError:
        raise _not_a_label(name, items) from None
    if any(map(_is_missing, found)):
        _refuse_missing(name, np.fromiter(map(_is_missing, items), np.bool_, len(items)), labels)
    with suppress(TypeError):
        found = sorted(found)
    number = {label: i for i, label in enumerate(found)}
    return np.fromiter(map(number.__getitem__, items), np.intp, len(items)), found


def _is_missing(item: Any) -> bool:
    """Whether a label is None, NaN, or the missing value of any library."""
    if item is None or type(item).__name__ in ("NAType", "NaTType"):
        return True
    differs = item != item  # noqa: PLR0124  # only NaN does
    return isinstance(differs, bool | np.bool_) and bool(differs)


def _not_a_label(name: str, items: list[Any]) -> TypeError:
    row, kind = next((i, type(item).__name__) for i, item in enumerate(items) if not _is_hashable(item))
    return TypeError(
        f"`{name}` must hold one label per row, such as a number, a date or text: row {row} holds a value of type "
        f"{kind}. Hint: join several labels of a row into one."
    )


def _is_hashable(item: Any) -> bool:
    try:
        hash(item)
    except TypeError:
        return False
    return True
