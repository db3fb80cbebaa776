"""What adapters share: levels by name, quantiles in pairs, and the options that go through to `Intervals`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from uccurve import _checks as checks
from uccurve._arrays import Flags, floats, outside
from uccurve._checks import Array, as_written
from uccurve._rowscores import refuse_crossing
from uccurve.intervals import Intervals, Options

Crossing = Literal["raise", "sort"]


class SortedQuantilesWarning(UserWarning):
    """Crossing quantiles were put in ascending order because ``crossing="sort"`` asked for it."""


class QuantileOptions(Options, total=False):
    """Those of `Intervals.from_bounds`, and what happens to quantiles that cross."""

    crossing: Crossing


def level_of(value: Any, name: str = "level") -> float:
    """Return a level as the float a person would write, 0.9 for 0.9 and for the text "0.9"."""
    try:
        level = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"`{name}` must be a number between 0 and 1; got {value!r}.") from None
    return float(as_written(checks.inside_unit(name, level)))


def central(levels: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return levels in rising order, and the quantiles that bound them, with the median in the middle.

    >>> central([0.9, 0.5])
    ([0.5, 0.9], [0.05, 0.25, 0.5, 0.75, 0.95])
    """
    names = sorted(level_of(level, "levels") for level in levels)
    lower = [(1 - as_written(level)) / 2 for level in names]
    return names, [*map(float, reversed(lower)), 0.5, *(float(1 - q) for q in lower)]


def pairs(quantiles: Sequence[float]) -> dict[float, tuple[int, int]]:
    """Return, for each central level in rising order, the places of its two quantiles; the median stands alone.

    >>> pairs([0.05, 0.25, 0.5, 0.75, 0.95])
    {0.5: (1, 3), 0.9: (0, 4)}
    """
    places = {as_written(level_of(q, "quantiles")): i for i, q in enumerate(quantiles)}
    given = ", ".join(f"{q:g}" for q in quantiles)
    if len(places) < len(quantiles):
        raise ValueError(f"quantiles must not repeat; got {given}.")
    alone = next((float(q) for q in places if 1 - q not in places), None)
    if alone is not None:
        raise ValueError(
            f"quantiles must come in pairs q and 1 - q: {alone:g} has no {1 - alone:g}. Given: {given}. "
            "Hint: leave it out, or add the other."
        )
    lower = sorted((q for q in places if 2 * q < 1), reverse=True)
    if not lower:
        raise ValueError("quantiles must hold at least one pair q and 1 - q; there is the median only.")
    return {float(1 - 2 * q): (places[q], places[1 - q]) for q in lower}


def chosen(found: Mapping[float, Intervals], level: float | None) -> Intervals:
    """Return the one level that is there, or the one asked for."""
    names = ", ".join(f"{name:g}" for name in sorted(found))
    if level is None:
        if len(found) > 1:
            raise ValueError(f"`level` must be one of {names}. Hint: level={max(found):g}.")
        return next(iter(found.values()))
    if level_of(level) not in found:
        raise ValueError(f"`level` must be one of {names}; got {level!r}.")
    return found[level_of(level)]


def bounded(
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    bounds: Mapping[float, tuple[Any, Any]],
    options: Options,
    *,
    median: bool = False,
    who: str = "",
) -> dict[float, Intervals]:
    """Intervals of each level, all of the same rows; `median` says that the prediction is one of the quantiles."""
    own: dict[str, Any] = {**options}
    crossing = own.pop("crossing", "raise")
    checks.choice("crossing", crossing, ("raise", "sort"))
    levels, point = sorted(bounds), floats("y_pred", y_pred)
    lower = [floats("lower", bounds[level][0]) for level in levels]
    upper = [floats("upper", bounds[level][1]) for level in levels]
    quantiles = [*reversed(lower), *([point] if median else []), *upper]
    if all(one.shape == point.shape for one in quantiles):  # shapes that differ are refused below, by their names
        if crossing == "sort":
            quantiles = _in_order(quantiles, who)
            lower, upper = quantiles[len(levels) - 1 :: -1], quantiles[-len(levels) :]
            point = quantiles[len(levels)] if median else point
        elif median and own.get("min_band") is None:
            refuse_crossing("quantiles", quantiles, 'pass crossing="sort" to put them in order')
        if own.get("missing") == "drop":  # a row that lacks one level is left out of all
            point = np.where(missing_in(quantiles), np.nan, point)
    ends = zip(levels, lower, upper, strict=True)
    return {level: Intervals.from_bounds(y_true, point, low, high, **own) for level, low, high in ends}


def around_median(
    y_true: npt.ArrayLike, levels: Sequence[float], quantiles: Sequence[Any] | Array, options: Options
) -> dict[float, Intervals]:
    """Intervals of each level around the median, from the quantiles that `central` names."""
    middle = len(levels)
    places = enumerate(levels, start=1)
    bounds = {level: (quantiles[middle - place], quantiles[middle + place]) for place, level in places}
    return bounded(y_true, quantiles[middle], bounds, options)


def missing_in(columns: Sequence[Array]) -> Flags:
    """Whether any of the columns lacks a number, row by row."""
    flags: Flags = np.logical_or.reduce([~np.isfinite(column) for column in columns])
    return flags


def _in_order(quantiles: Sequence[Array], who: str) -> list[Array]:
    """Return quantiles in ascending order within each row, and say in how many rows they were not."""
    given = np.stack(quantiles)
    found = np.sort(given, axis=0)
    crossed = (found != given).any(axis=0) & ~missing_in(quantiles)
    per_row = crossed.reshape(len(crossed), -1).any(axis=1)
    if per_row.any():
        message = f"{who}sorted crossing quantiles in {int(per_row.sum())} of {len(per_row)} rows"
        warnings.warn(message, SortedQuantilesWarning, stacklevel=outside())
    return list(found)
