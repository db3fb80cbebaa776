"""What adapters share: levels by name, quantiles in pairs, and the options that go through to `Intervals`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt

from uccurve import _checks as checks
from uccurve._checks import Array, as_written
from uccurve.intervals import Intervals, Missing

DECILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
"""Levels asked of a model that has a whole distribution."""


Crossing = Literal["raise", "sort"]


class SortedQuantilesWarning(UserWarning):
    """Crossing quantiles were put in ascending order because ``crossing="sort"`` asked for it."""


class Options(TypedDict, total=False):
    """As in `Intervals.from_bounds`."""

    weight: npt.ArrayLike | None
    min_band: float | str | None
    missing: Missing


class QuantileOptions(Options, total=False):
    """The same, and what happens to quantiles that cross."""

    crossing: Crossing


def level_of(value: Any, name: str = "level") -> float:
    """Return a level as the float a person would write, 0.9 for 0.9 and for the text "0.9"."""
    try:
        level = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"`{name}` must be a number between 0 and 1; got {value!r}.") from None
    if not 0 < level < 1:
        raise ValueError(f"`{name}` must lie between 0 and 1, both excluded; got {value!r}. Hint: 90% is 0.9.")
    return float(as_written(level))


def tails(level: float) -> tuple[float, float]:
    """Return the two quantile levels of a central interval: 0.05 and 0.95 for 0.9."""
    half = (1 - as_written(level)) / 2
    return float(half), float(1 - half)


def pairs(quantiles: Sequence[float], name: str = "levels") -> dict[float, tuple[int, int]]:
    """Return, for each central level in rising order, the places of its two quantiles; the median stands alone.

    >>> pairs([0.05, 0.25, 0.5, 0.75, 0.95])
    {0.5: (1, 3), 0.9: (0, 4)}
    """
    places = {as_written(level_of(q, name)): i for i, q in enumerate(quantiles)}
    if len(places) < len(quantiles):
        raise ValueError(f"`{name}` must not repeat a level; got {', '.join(f'{q:g}' for q in quantiles)}.")
    alone = [q for q in places if 1 - q not in places]
    if alone:
        raise ValueError(
            f"`{name}` must come in pairs q and 1 - q: {float(alone[0]):g} has no {float(1 - alone[0]):g}. "
            f"Given: {', '.join(f'{float(q):g}' for q in places)}."
        )
    lower = sorted((q for q in places if 2 * q < 1), reverse=True)
    if not lower:
        raise ValueError(f"`{name}` must hold at least one pair q and 1 - q; there is the median only.")
    return {float(1 - 2 * q): (places[q], places[1 - q]) for q in lower}


def chosen(found: Iterable[float], level: float | None) -> float:
    """Return the one level that is there, or the one asked for."""
    names = sorted(found)
    if level is None:
        if len(names) == 1:
            return names[0]
        raise ValueError(f"`level` must say which of the levels {_listed(names)} to take. Hint: level={names[-1]:g}.")
    wanted = level_of(level)
    if wanted not in names:
        raise ValueError(f"`level` must be one of {_listed(names)}; got {level!r}.")
    return wanted


def finite_bounds(lower: Any, upper: Any, library: str) -> None:
    """Refuse the infinite bounds that conformal libraries give where their calibration rows are too few."""
    endless = np.isinf(lower) | np.isinf(upper)
    if endless.any():
        raise ValueError(
            f"{library} gave infinite bounds in {int(endless.sum())} of {endless.size} rows: its calibration rows are "
            "too few for this level. Hint: use more of them or a lower level."
        )


def bounded(
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    bounds: Mapping[float, tuple[Any, Any]],
    options: Options,
    *,
    median: bool = False,
) -> dict[float, Intervals]:
    """Intervals of each level; `median` says that the prediction is one of the quantiles."""
    own: dict[str, Any] = {**options}
    crossing = own.pop("crossing", "raise")
    checks.choice("crossing", crossing, ("raise", "sort"))
    levels = sorted(bounds)
    if crossing == "sort":
        lower, upper = ([bounds[level][side] for level in levels] for side in (0, 1))
        ends = _in_order([*reversed(lower), *([y_pred] if median else []), *upper])
        y_pred = ends[len(levels)] if median else y_pred
        bounds = {level: (ends[len(levels) - 1 - i], ends[i - len(levels)]) for i, level in enumerate(levels)}
    return {level: Intervals.from_bounds(y_true, y_pred, *bounds[level], **own) for level in levels}


def _in_order(quantiles: Sequence[Any]) -> Array:
    """Return quantiles in ascending order within each row, and say in how many rows they were not."""
    given = np.stack([np.asarray(one, dtype=np.float64) for one in quantiles])
    found: Array = np.sort(given, axis=0)
    crossed = (found != given).any(axis=0) & np.isfinite(given).all(axis=0)
    per_row = crossed.reshape(len(crossed), -1).any(axis=1)
    if per_row.any():
        message = f"sorted crossing quantiles in {int(per_row.sum())} of {len(per_row)} rows"
        warnings.warn(message, SortedQuantilesWarning, stacklevel=2)
    return found


def _listed(names: Sequence[float]) -> str:
    return ", ".join(f"{name:g}" for name in names)
