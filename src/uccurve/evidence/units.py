"""Blocks: which rows are dependent, and so are summed, swapped or resampled together."""

from collections.abc import Hashable, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass
from numbers import Number
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from uccurve import _refusals as checks
from uccurve._arrays import Flags, Indices
from uccurve._vocabulary import Array
from uccurve.intervals import Intervals
from uccurve.words.formats import counted

Labels = npt.NDArray[Any]

JOIN = "join several labels of a row into one"


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Which of the flattened rows of positive weight belong together.

    Two-dimensional data have one flattened row for each output of a row; rows of weight 0 have none.
    """

    of_row: Indices  # block of each flattened row
    count: int  # number of blocks
    row: Indices  # row of the data that each flattened row comes from
    rows: int  # number of rows of the data

    @classmethod
    def of(cls, intervals: Intervals, block: Any = None, *, row_ids: Indices | None = None) -> Self:
        """Blocks of the rows of `intervals`.

        Parameters
        ----------
        intervals : Intervals
        block : int or array_like, optional
            None: every row is a block. An integer: consecutive blocks of that length. An array: one label per row;
            rows with equal labels are a block. Blocks stay what they are.
        row_ids : array of int, optional
            What `row_ids` returns for repeated rows: repetitions of a row are one block, and consecutive blocks are
            counted in rows that differ.

        Examples
        --------
        >>> iv = Intervals.from_bands([1, 2, 3, 4, 5], y_pred=[0, 0, 0, 0, 0], lower_band=[1, 1, 1, 1, 1])
        >>> Blocks.of(iv, 2).of_row.tolist(), Blocks.of(iv, ["b", "a", "b", "a", "a"]).of_row.tolist()
        ([0, 0, 1, 1, 2], [1, 0, 1, 0, 0])
        """
        if isinstance(block, cls):
            return block
        rows, two_dimensional, weight = len(intervals), intervals.y_true.ndim == 2, intervals._weight
        label = row_ids
        if isinstance(block, Number):
            label, length = np.arange(rows) if row_ids is None else row_ids, positive("block", block)
            different = int(label.max()) + 1
            if length > different:
                raise ValueError(
                    f"`block` must not be longer than the data: {checks.shown(length)} for "
                    f"{counted(different, 'row')}. Hint: pass a shorter block."
                )
            label = label // length
        elif block is not None:
            if row_ids is not None:
                raise ValueError(
                    "give `rows` (or repeated runs over the same rows) or labels in `block`, not both. "
                    "Hint: give the repetitions of a row the same label in `block`, and leave `rows` out."
                )
            label = codes("block", labels("block", block, rows))[0]
        row = np.repeat(np.arange(rows), intervals.y_true.shape[1]) if two_dimensional else np.arange(rows)
        if weight is not None and not weight.all():
            row = row[weight.ravel() > 0]
        if label is None and not two_dimensional:
            return cls(np.arange(len(row)), len(row), row, rows)
        return cls._of(row if label is None else label[row], row, rows)

    @classmethod
    def _of(cls, label: Indices, row: Indices, rows: int) -> Self:
        found, of_row = np.unique(label, return_inverse=True)
        if len(found) == len(label):
            of_row = np.arange(len(label))
        return cls(of_row, len(found), row, rows)

    @property
    def independent(self) -> bool:
        """Whether every flattened row is a block of its own."""
        return self.count == len(self.of_row)

    def sums(self, values: Array) -> Array:
        """Sum of the values of the flattened rows over each block."""
        if self.independent:
            return values
        return sums(self.of_row, values, self.count)

    def subset(self, rows: Indices | Flags) -> Self:
        """Blocks of some of the flattened rows, by their numbers in ascending order or by flags.

        Flags of the rows of the data, such as a segment has, are taken to the flattened rows by ``flags[blocks.row]``.

        Examples
        --------
        >>> iv = Intervals.from_bands([1, 2, 3, 4, 5], y_pred=[0, 0, 0, 0, 0], lower_band=[1, 1, 1, 1, 1])
        >>> Blocks.of(iv, 2).subset(np.array([0, 2, 3])).of_row.tolist()
        [0, 1, 1]
        """
        return self._of(self.of_row[rows], self.row[rows], self.rows)

    def require_two(self, what: str) -> None:
        """Refuse `what` ("a standard error") where all rows are one block."""
        if self.count < 2:
            kind = "rows" if self.rows < 2 else "blocks of rows"
            hint = "pass more rows" if self.rows < 2 else "pass shorter blocks, or labels that differ"
            raise ValueError(f"{what} needs at least two {kind}; there is only one. Hint: {hint}.")


def sums(unit: Indices, values: Array | None, count: int) -> Array:
    """Sum of the values of the rows of each of `count` units; how many rows there are without values."""
    return np.bincount(unit, values, count).astype(np.float64, copy=False)


def row_ids(parts: Sequence[Intervals], rows: Any = None) -> Indices | None:
    """Return the number of each row of joined folds, equal for repetitions of a row; None where no row repeats.

    Without `rows`, folds with the same ``y_true`` in the same order are treated as repeated runs over the same rows.
    """
    lengths = [len(part) for part in parts]
    if rows is None:
        repeated = len(parts) > 1 and all(np.array_equal(part.y_true, parts[0].y_true) for part in parts[1:])
        return np.tile(np.arange(lengths[0]), len(parts)) if repeated else None
    folds = list(rows) if isinstance(rows, np.ndarray) and rows.ndim == 2 else rows
    nested = isinstance(folds, list | tuple) and folds and isinstance(folds[0], Sized) and not _is_text(folds[0])
    if not nested:
        return codes("rows", labels("rows", rows, sum(lengths)))[0]
    if len(folds) != len(lengths):
        raise ValueError(
            f"`rows` must hold one array per fold: {counted(len(folds), 'array')} "
            f"for {counted(len(lengths), 'fold')}. Hint: each holds one label per row of its fold."
        )
    found = [labels(f"rows[{i}]", fold, lengths[i]) for i, fold in enumerate(folds)]
    if len({fold.dtype.kind for fold in found}) > 1:  # so that 1 is not "1"
        found = [fold.astype(object) for fold in found]
    return codes("rows", np.concatenate(found))[0]


def labels(name: str, value: Any, rows: int) -> Labels:
    """Return one label per row as a one-dimensional array in which numbers stay numbers, or refuse."""
    rule = f"`{name}` must hold one label per row"
    if isinstance(value, np.ma.MaskedArray) and value.ndim:
        _refuse_missing(name, np.ma.getmaskarray(value), value)
    elif isinstance(value, list | tuple):
        _refuse_missing(name, np.fromiter((item is np.ma.masked for item in value), np.bool_, len(value)), value)
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError):  # numpy's words for a ragged list
        raise ValueError(f"{rule}: its items differ in length. Hint: {JOIN}.") from None
    if array.ndim == 0:
        given = "a single string" if _is_text(value) else type(value).__name__
        raise TypeError(f"{rule}; got {given}. Hint: pass a list or an array.")
    if array.shape != (rows,):
        hint = "labels are matched to rows by position; leave out those of rows that were dropped"
        if array.ndim > 1:
            hint = "flatten a single column with .ravel(), and join several into one label per row"
        found = counted(len(array), "label") if array.ndim == 1 else f"{'x'.join(map(str, array.shape))} labels"
        raise ValueError(f"{rule}: {found} for {counted(rows, 'row')}. Hint: {hint}.")
    if array.dtype.kind in "US" and isinstance(value, list | tuple) and not all(map(_is_text, value)):
        return np.fromiter(value, object, len(value))  # numpy wrote numbers, NaN included, as text
    return array


def codes(name: str, labels: Labels) -> tuple[Indices, list[Any]]:
    """Integers from 0 for labels of any kind, and the labels in that order, which is ascending where they have one.

    >>> code, found = codes("by", np.array(["b", "a", "b"]))
    >>> code.tolist(), found
    ([1, 0, 1], ['a', 'b'])
    """
    kind = labels.dtype.kind
    if kind in "fcmM":
        _refuse_missing(name, np.isnan(labels), labels)
    if kind in "biufcmM":
        numbers, code = np.unique(labels, return_inverse=True)
        if labels.dtype.str.endswith("[ns]"):  # Python has no type for nanoseconds
            numbers = numbers.astype(f"{kind}8[us]")
        return code.astype(np.intp, copy=False), numbers.tolist()
    items = labels.tolist()
    try:
        found = list(dict.fromkeys(items))  # for text, too, a third of the time of a sort
    except TypeError:
        row = next((i for i, item in enumerate(items) if not isinstance(item, Hashable)), 0)
        raise TypeError(
            f"`{name}` must hold one label per row, such as a number, a date or text: row {row} holds a value of type "
            f"{type(items[row]).__name__}. Hint: {JOIN}."
        ) from None
    if any(map(_is_missing, found)):
        _refuse_missing(name, np.fromiter(map(_is_missing, items), np.bool_, len(items)), labels)
    with suppress(TypeError):  # labels of several kinds stay in the order in which they come
        found = sorted(found)
    number = {label: i for i, label in enumerate(found)}
    return np.fromiter(map(number.__getitem__, items), np.intp, len(items)), found


def positive(name: str, value: Any) -> int:
    """Return an integer of at least 1."""
    if not _is_integer(value) or value < 1:
        raise ValueError(f"`{name}` must be an integer of at least 1; got {checks.shown(value)}.")
    return int(value)


def generator(seed: Any) -> np.random.Generator:
    """Return a random number generator from an integer of at least 0, from None, or the one that is given."""
    if seed is None or isinstance(seed, np.random.Generator) or (_is_integer(seed) and seed >= 0):
        return np.random.default_rng(seed)
    raise ValueError(
        f"`seed` must be an integer of at least 0, a numpy.random.Generator or None; got {checks.shown(seed)}."
    )


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_text(item: Any) -> bool:
    return isinstance(item, str | bytes)


def labelled(name: str) -> checks.Rule:
    """Every row must have a label."""
    hint = "give such rows a label of their own"
    return checks.Rule(name, "hold a label in each row", ("has none", "have none"), hint)


def _refuse_missing(name: str, missing: Flags, labels: Any) -> None:
    def detail(at: Any) -> str:
        label = labels[at[0]] if len(at) == 1 else np.ma.masked
        return "masked" if label is np.ma.masked else checks.shown(label, str)

    checks.rows(missing, labelled(name), detail)


def _is_missing(item: Any) -> bool:
    """Whether a label is None, NaN, or the missing value of any library."""
    if item is None or type(item).__name__ in ("NAType", "NaTType"):
        return True
    differs = item != item  # noqa: PLR0124  # only NaN does
    return isinstance(differs, bool | np.bool_) and bool(differs)
