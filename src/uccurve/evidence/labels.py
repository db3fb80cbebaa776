"""Labels: one label per row, as integers; and the integers and seeds that calls take."""

from collections.abc import Hashable
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from uccurve import _refusals as checks
from uccurve._arrays import Flags, Indices
from uccurve.words.formats import counted

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
