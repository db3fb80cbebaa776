"""Units: which rows are independent of each other, and so how sure a statistic of them is.

An influence is what each row adds to the linearised error of a statistic, already multiplied by its weight, so it sums
to 0. Rows that share a shock form a block, and a block is one unit: ``v = q / (q - 1) * sum over q blocks of (sum of
the influence)^2``, with q - 1 degrees of freedom.
"""

from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import nan, sqrt
from numbers import Number
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from uccurve import _refusals as checks
from uccurve._arrays import Flags, Indices
from uccurve._vocabulary import Array
from uccurve.intervals import Intervals
from uccurve.words.formats import counted


class Spread(NamedTuple):
    """Standard error of a statistic, and the degrees of freedom of its t distribution; nan and 0 where unknown."""

    error: float
    degrees: float

    @property
    def is_known(self) -> bool:
        """Whether anything is known about chance."""
        return self.error < np.inf and self.degrees >= 1

    def limited(self, degrees: float) -> "Spread":
        """Return the same with at most so many degrees of freedom."""
        return Spread(self.error, min(self.degrees, degrees))


UNKNOWN_SPREAD = Spread(nan, 0.0)


class Units(Protocol):
    """What intervals and tests ask of the rows: in memory `Blocks`, for streamed rows `SummedUnits`."""

    @property
    def rows(self) -> int:
        """Number of rows that carry weight."""

    @property
    def count(self) -> int:
        """Number of independent units."""

    @property
    def degrees(self) -> float:
        """Degrees of freedom of a statistic that rests on all units."""

    def spread(self, influence: Array) -> Spread:
        """Return the standard error of a statistic with this influence."""


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Which of the flattened rows of positive weight belong together.

    Two-dimensional data have one flattened row for each output of a row; rows of weight 0 have none. Repeated runs over
    the same rows have each row once per run: `of_row` is then the block of the row that is repeated, `run` the run.
    """

    of_row: Indices  # block of each flattened row
    count: int  # number of blocks
    row: Indices  # row of the data that each flattened row comes from
    given: int  # number of rows of the data
    run: Indices | None = None  # run that each flattened row belongs to
    runs: int = 1
    labels: Sequence[Any] = ()  # labels of the blocks, where these were given as labels
    label: Indices | None = None  # which of the labels each block has
    consecutive: bool = False  # whether blocks are stretches of rows that are in order

    @classmethod
    def of(
        cls, intervals: Intervals, block: Any = None, *, repeated: "Repeated | None" = None
    ) -> Self:
        """Blocks of the rows of `intervals`.

        Parameters
        ----------
        intervals : Intervals
        block : int or array_like, optional
            None: every row is a block. An integer: consecutive blocks of that length. An array: one label per row;
            rows with equal labels are a block. Blocks stay what they are.
        repeated : Repeated, optional
            What `repeated_rows` returns: repetitions of a row belong to one block.

        Examples
        --------
        >>> iv = Intervals.from_bands(
        ...     [1, 2, 3, 4, 5], y_pred=[0, 0, 0, 0, 0], lower_band=[1, 1, 1, 1, 1]
        ... )
        >>> (
        ...     Blocks.of(iv, 2).of_row.tolist(),
        ...     Blocks.of(iv, ["b", "a", "b", "a", "a"]).of_row.tolist(),
        ... )
        ([0, 0, 1, 1, 2], [1, 0, 1, 0, 0])
        """
        if isinstance(block, cls):
            return block
        label, names = _label_of_rows(len(intervals), block, repeated)
        row = _flattened_rows(intervals)
        run = None
        runs = 1
        if repeated is not None and repeated.run is not None:
            run = repeated.run[row]
            runs = int(repeated.run.max()) + 1
        if label is None and intervals.y_true.ndim == 1:
            return cls(np.arange(len(row)), len(row), row, len(intervals))
        of_row, numbers = _numbered(row if label is None else label[row])
        count = len(numbers)
        consecutive = isinstance(block, Number)
        return cls(of_row, count, row, len(intervals), run, runs, names, numbers, consecutive)

    @property
    def rows(self) -> int:
        """Number of flattened rows."""
        return len(self.of_row)

    @property
    def independent(self) -> bool:
        """Whether every flattened row is a block of its own."""
        return self.count == len(self.of_row)

    @property
    def degrees(self) -> float:
        """Degrees of freedom of a statistic that rests on all blocks."""
        return float(self.count - 1)

    def sums(self, values: Array) -> Array:
        """Sum of the values of the flattened rows over each block."""
        if self.independent:
            return values
        return sums(self.of_row, values, self.count)

    def spread(self, influence: Array) -> Spread:
        """Return the standard error of a statistic from the influence of the flattened rows.

        Influences whose squares leave float64 are no exception.

        >>> rows = Intervals.from_bands([1, 2, 3, 4], y_pred=[0, 0, 0, 0], lower_band=[1, 1, 1, 1])
        >>> influence = np.array([-1.5, -0.5, 0.5, 1.5]) / 4  # of the mean of 1, 2, 3, 4
        >>> spread = Blocks.of(rows).spread(influence)
        >>> round(spread.error**2, 6), spread.degrees, Blocks.of(rows, 2).spread(influence).error
        (0.416667, 3.0, 1.0)
        """
        if self.count < 2:
            return UNKNOWN_SPREAD
        exponent = int(np.frexp(np.abs(influence).max())[1])
        scaled = np.ldexp(influence, -exponent)
        if self.run is not None:
            variance, degrees = self._two_way(scaled, self.run)
        else:
            totals = self.sums(scaled)
            variance = float(np.sum(totals * totals)) * self.count / (self.count - 1)
            degrees = self.degrees
        return Spread(float(np.ldexp(sqrt(variance), exponent)), degrees)

    def with_any(self, flags: Flags) -> int:
        """Return how many blocks have a flagged row."""
        if self.independent:
            return int(np.count_nonzero(flags))
        has_one = np.zeros(self.count, np.bool_)
        has_one[self.of_row[flags]] = True
        return int(np.count_nonzero(has_one))

    def subset(self, rows: Indices | Flags) -> Self:
        """Blocks of some of the flattened rows, by their numbers in ascending order or by flags.

        Flags of the rows of the data, such as a segment has, are taken to the flattened rows by ``flags[blocks.row]``.

        Examples
        --------
        >>> iv = Intervals.from_bands(
        ...     [1, 2, 3, 4, 5], y_pred=[0, 0, 0, 0, 0], lower_band=[1, 1, 1, 1, 1]
        ... )
        >>> Blocks.of(iv, 2).subset(np.array([0, 2, 3])).of_row.tolist()
        [0, 1, 1]
        """
        of_row, numbers = _numbered(self.of_row[rows])
        run = None if self.run is None else self.run[rows]
        return type(self)(of_row, len(numbers), self.row[rows], self.given, run, self.runs)

    def name(self, block: int) -> str:
        """Name of a block: its label, or its number from 1."""
        if self.label is None or not len(self.labels):
            return f"block {block + 1}"
        return str(self.labels[self.label[block]])

    def require_two(self, what: str) -> None:
        """Refuse `what` ("a standard error") where all rows are one block."""
        if self.count < 2:
            kind = "rows" if self.given < 2 else "blocks of rows"
            hint = (
                "pass more rows" if self.given < 2 else "pass shorter blocks, or labels that differ"
            )
            raise ValueError(f"{what} needs at least two {kind}; there is only one. Hint: {hint}.")

    def _two_way(self, influence: Array, run: Indices) -> tuple[float, float]:
        """Variance and degrees of freedom where both rows and training runs are samples.

        With n blocks of rows and R runs: ``V = V_row + V_run - V_int``, V_int from what is left after the means of both
        are taken out; degrees of freedom by Satterthwaite, and 1 for two runs. Never below `V_row`.
        """
        n = self.count
        runs = self.runs
        cells = sums(self.of_row * runs + run, influence, n * runs).reshape(n, runs)
        of_blocks = cells.sum(axis=1)
        of_runs = cells.sum(axis=0)
        rest = cells - of_blocks[:, None] / runs - of_runs / n
        row_variance = float(np.sum(of_blocks**2)) * n / (n - 1)
        run_variance = float(np.sum(of_runs**2)) * runs / (runs - 1)
        interaction = float(np.sum(rest**2)) * n * runs / ((n - 1) * (runs - 1))
        variance = max(row_variance + run_variance - interaction, row_variance)
        if runs == 2 or variance == 0:
            return variance, float(runs - 1)
        spread_of_variance = (
            row_variance**2 / (n - 1)
            + run_variance**2 / (runs - 1)
            + interaction**2 / ((n - 1) * (runs - 1))
        )
        return variance, variance**2 / spread_of_variance


@dataclass(frozen=True, slots=True)
class SummedUnits:
    """Units whose influence is summed already, because their rows are not at hand.

    An influence has one number per unit. Where units are single rows, too many to be kept, an array of one number
    stands for it: the root of their sum of squares, which is all that standard errors need.
    """

    rows: int
    count: int
    independent: bool  # whether units are rows of equal weight

    @property
    def degrees(self) -> float:
        """Degrees of freedom of a statistic that rests on all units."""
        return float(self.count - 1)

    def spread(self, influence: Array) -> Spread:
        """Return the standard error of a statistic from the influence of the units."""
        if self.count < 2:
            return UNKNOWN_SPREAD
        squares = float(np.dot(influence, influence))
        return Spread(sqrt(squares * self.count / (self.count - 1)), self.degrees)


class Repeated(NamedTuple):
    """Rows that occur more than once: the number of each, and its run where all rows have all runs."""

    row: Indices
    run: Indices | None


def sums(unit: Indices, values: Array | None, count: int) -> Array:
    """Sum of the values of the rows of each of `count` units; how many rows there are without values."""
    return np.bincount(unit, values, count).astype(np.float64, copy=False)


def _label_of_rows(
    rows: int, block: Any, repeated: Repeated | None
) -> tuple[Indices | None, Sequence[Any]]:
    """Block of each row of the data, None where every row is one; and the labels of blocks that have some."""
    if block is None:
        return None if repeated is None else repeated.row, ()
    if isinstance(block, Number):
        return _consecutive(rows, block, repeated), ()
    code, names = codes("block", labels("block", block, rows))
    if repeated is None:
        return code, names
    first = np.full(int(repeated.row.max()) + 1, -1)
    first[repeated.row[::-1]] = code[::-1]
    if np.any(first[repeated.row] != code):
        raise ValueError(
            "`block` must be the same for all repetitions of a row, in every run. "
            "Hint: give one label per row of the first run, repeated for each of the others."
        )
    return code, names


def _consecutive(rows: int, block: Any, repeated: Repeated | None) -> Indices:
    """Blocks of so many consecutive rows, counted in rows that differ."""
    row = np.arange(rows) if repeated is None else repeated.row
    length = positive("block", block)
    different = int(row.max()) + 1
    if length > different:
        raise ValueError(
            f"`block` must not be longer than the data: {checks.shown(length)} for "
            f"{counted(different, 'row')}. Hint: pass a shorter block."
        )
    return row // length


def _flattened_rows(intervals: Intervals) -> Indices:
    """Row of the data that each flattened row of positive weight comes from."""
    row = np.arange(len(intervals))
    if intervals.y_true.ndim == 2:
        row = np.repeat(row, intervals.y_true.shape[1])
    weight = intervals._weight
    if weight is None or weight.all():
        return row
    return row[weight.ravel() > 0]


def _numbered(label: Indices) -> tuple[Indices, Indices]:
    """Blocks numbered from 0, in the order of the rows where each is one; and the label of each block."""
    used, of_row = np.unique(label, return_inverse=True)
    if len(used) == len(label):
        return np.arange(len(label)), label
    return of_row, used


Labels = npt.NDArray[Any]

JOIN = "join several labels of a row into one"


def labels(name: str, value: Any, rows: int) -> Labels:
    """Return one label per row as a one-dimensional array in which numbers stay numbers, or refuse."""
    rule = f"`{name}` must hold one label per row"
    if isinstance(value, np.ma.MaskedArray) and value.ndim:
        _refuse_missing(name, np.ma.getmaskarray(value), value)
    elif isinstance(value, list | tuple):
        _refuse_missing(
            name, np.fromiter((item is np.ma.masked for item in value), np.bool_, len(value)), value
        )
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError):  # numpy's words for a ragged list
        raise ValueError(f"{rule}: its items differ in length. Hint: {JOIN}.") from None
    if array.ndim == 0:
        given = "a single string" if is_text(value) else type(value).__name__
        raise TypeError(f"{rule}; got {given}. Hint: pass a list or an array.")
    if array.shape != (rows,):
        hint = "labels are matched to rows by position; leave out those of rows that were dropped"
        if array.ndim > 1:
            hint = "flatten a single column with .ravel(), and join several into one label per row"
        found = (
            counted(len(array), "label")
            if array.ndim == 1
            else f"{'x'.join(map(str, array.shape))} labels"
        )
        raise ValueError(f"{rule}: {found} for {counted(rows, 'row')}. Hint: {hint}.")
    if (
        array.dtype.kind in "US"
        and isinstance(value, list | tuple)
        and not all(map(is_text, value))
    ):
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


def is_text(item: Any) -> bool:
    """Whether a label is text."""
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
