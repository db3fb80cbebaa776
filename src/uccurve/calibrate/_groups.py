"""Groups: which rows belong together by their labels, of one key or of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from uccurve.compare._blocks import labels as one_per_row

Label = str | int | tuple[str | int, ...]
"""What names a group; a tuple where there are several keys."""


class Groups(NamedTuple):
    """Row numbers of each group, in order of appearance, and the names of the keys (None: one key without a name)."""

    keys: tuple[str, ...] | None
    rows: dict[Label, npt.NDArray[np.intp]]

    @classmethod
    def of(cls, groups: Any, n: int) -> Groups:
        """Groups of n rows from one label per row, or from a mapping of several keys, each with one label per row.

        >>> Groups.of({"site": ["N", "S", "N"], "hour": [1, 1, 1]}, 3).rows
        {('N', 1): array([0, 2]), ('S', 1): array([1])}
        """
        if not isinstance(groups, Mapping):
            return cls(None, _rows(_checked("groups", groups, n)))
        if not groups:
            raise ValueError("`groups` must have at least one key; it is empty.")
        columns = [_checked(f"groups[{key!r}]", column, n) for key, column in groups.items()]
        labels: list[Any] = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
        return cls(tuple(map(str, groups)), _rows(labels))


def listed(labels: Sequence[Any], most: int = 10) -> str:
    """Labels as a short list.

    >>> listed(["a", ("b", 1), "c"], most=2)
    "'a', ('b', 1) and 1 more"
    """
    names = [repr(label) for label in labels]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _checked(name: str, column: Any, n: int) -> list[Any]:
    """Return one label per row, all str or int."""
    found: list[Any] = one_per_row(name, column, n).tolist()
    for row, label in enumerate(found):
        if not isinstance(label, str | int):
            raise TypeError(
                f"`{name}` must hold str or int labels; row {row} holds {label!r}. "
                "Hint: convert labels to str first, and name the rows without a group."
            )
    return found


def _rows(labels: Sequence[Any]) -> dict[Label, npt.NDArray[np.intp]]:
    rows: dict[Any, list[int]] = {}
    for row, label in enumerate(labels):
        rows.setdefault(label, []).append(row)
    return {label: np.array(found) for label, found in rows.items()}
