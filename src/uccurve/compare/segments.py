"""Segments: the rows by label or by equal-count bins of a feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .units import codes, positive


class Part(NamedTuple):
    """Rows of one segment."""

    feature: str
    label: str
    rows: npt.NDArray[np.bool_]


def parts(by: Any, rows: int, bins: int = 4) -> list[Part]:
    """Segments by each feature of `by`: an array of labels or numbers, or a mapping of such by name.

    Numbers with more than `bins` different values are cut into `bins` bins that hold as many rows each as ties allow.

    >>> [(part.label, int(part.rows.sum())) for part in parts([5, 1, 2, 9, 7, 3], 6, bins=3)]
    [('1 to 2', 2), ('3 to 5', 2), ('7 to 9', 2)]
    """
    positive("bins", bins)
    features = by if isinstance(by, Mapping) else {str(getattr(by, "name", None) or "segment"): by}
    return [part for name, values in features.items() for part in _feature(str(name), values, rows, bins)]


def holm(pvalues: Sequence[float]) -> list[float]:
    """P-values adjusted so that the chance of any false alarm stays below the level (Holm 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(pvalues, kind="stable")
    steps = np.asarray(pvalues, float)[order] * np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return [float(value) for value in adjusted]


def _feature(name: str, values: Any, rows: int, bins: int) -> list[Part]:
    array = np.asarray(values)
    if array.ndim != 1 or len(array) != rows:
        raise ValueError(
            f"`by` must hold one label a row: {name!r} has {'x'.join(map(str, array.shape))} against {rows} rows."
        )
    code, labels = codes("by", array)
    if array.dtype.kind not in "iuf" or len(labels) <= bins:
        return [Part(name, str(label), code == i) for i, label in enumerate(labels)]
    return _bins(name, array, code, bins)


def _bins(name: str, values: npt.NDArray[Any], code: npt.NDArray[np.intp], bins: int) -> list[Part]:
    """Cut between different values, as near to equal counts as that allows."""
    counts = np.bincount(code)
    middle = np.cumsum(counts) - counts / 2
    bin_of = np.minimum((middle * bins / len(values)).astype(np.intp), bins - 1)[code]
    out = []
    for one in np.unique(bin_of):
        chosen = bin_of == one
        low, high = values[chosen].min(), values[chosen].max()
        out.append(Part(name, f"{low:.4g} to {high:.4g}" if low < high else f"{low:.4g}", chosen))
    return out
