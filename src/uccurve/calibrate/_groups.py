"""Groups: which rows belong together by their labels, of one key or of several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from uccurve.compare._blocks import labels as one_per_row

Label = str | int | tuple[str | int, ...]
"""What names a group; a tuple where there are several keys."""
Keys = tuple[str, ...] | None
"""Names of the keys; None for one key without a name."""


def grouped(groups: Any, n: int) -> tuple[Keys, dict[Label, npt.NDArray[np.intp]]]:
    """Return the keys and the row numbers of each group, from one label per row, or from a mapping of several keys.

    >>> grouped({"site": ["N", "S", "N"], "hour": [1, 1, 1]}, 3)
    (('site', 'hour'), {('N', 1): array([0, 2]), ('S', 1): array([1])})
    """
    if isinstance(groups, Mapping) and not groups:
        raise ValueError("`groups` must have at least one key; it is empty.")
    named = {f"groups[{key!r}]": column for key, column in groups.items()} if isinstance(groups, Mapping) else None
    columns = []
    for name, column in (named or {"groups": groups}).items():
        columns.append(one_per_row(name, column, n).tolist())
        for row, label in enumerate(columns[-1]):
            if not isinstance(label, str | int):
                raise TypeError(
                    f"`{name}` must hold str or int labels; row {row} holds {label!r}. "
                    "Hint: convert labels to str first, and name the rows without a group."
                )
    rows: dict[Any, list[int]] = {}
    for row, label in enumerate(columns[0] if len(columns) == 1 else zip(*columns, strict=True)):
        rows.setdefault(label, []).append(row)
    keys = tuple(map(str, groups)) if isinstance(groups, Mapping) else None
    return keys, {label: np.array(found) for label, found in rows.items()}
