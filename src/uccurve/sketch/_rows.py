"""Sketch rows: what a sketch keeps, and how rows in memory come into it."""

from __future__ import annotations

from typing import Any

import numpy as np

from uccurve._checks import Array
from uccurve.intervals import Intervals
from uccurve.profile import Profile

from ._bins import NEVER, Histogram

SUMS = {
    "critical": ("weight", "active", "width", "error", "scale", "product"),
    "folds": ("active", "width", "error", "product"),
    "errors": ("weight", "error", "product"),
}
"""What each histogram sums, times the weights: `product` is the error times the number that is binned."""
TOTALS = ("y_sum", "y_squares")
COUNTS = ("raised", "dropped")
OVERFLOW = (
    "the sums of the rows must stay within float64: they do not. Hint: divide all columns by a common unit first."
)


def state_of(intervals: Intervals) -> dict[str, Any]:
    """Histograms and totals of rows in memory."""
    profile = Profile.of(intervals, "scale")
    error, above, lower, upper = intervals.sides()
    given = None if intervals._weight is None else intervals._weight.ravel()
    active, width = lower if above is None else np.where(above, upper, lower), lower + upper
    y, weight = intervals.y_true.ravel(), np.ones(len(error)) if given is None else given
    if given is not None and not given.all():
        keep = np.flatnonzero(given)
        y, error, active, width, weight = (column[keep] for column in (y, error, active, width, weight))
    columns = {"weight": weight, "active": active, "width": width, "error": error}
    with np.errstate(over="ignore"):
        histograms = _histograms(columns, profile.critical)
        totals = {"y_sum": float(np.sum(weight * y)), "y_squares": float(np.sum(weight * y * y))}
    counts = {"raised": intervals.raised, "dropped": intervals.dropped}
    return histograms | totals | counts | {"weighted": given is not None}


def _histograms(columns: dict[str, Array], critical: Array) -> dict[str, Any]:
    gap, twice = 2 * columns["active"] - columns["width"], 2 * columns["error"]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        fold = twice / gap
    rows = np.flatnonzero((gap > 0) & np.isfinite(fold))
    numbers = {"critical": critical, "folds": fold[rows], "errors": columns["error"]}
    found: dict[str, Any] = {}
    for name, values in numbers.items():
        part = columns if name != "folds" else {key: column[rows] for key, column in columns.items()}
        sums = {key: part["weight"] * _factor(key, part, values) for key in SUMS[name]}
        found[name] = tidy(Histogram.of_rows(values, sums))
    return found


def _factor(key: str, columns: dict[str, Array], values: Array) -> Array | float:
    if key == "product":
        return columns["error"] * values
    return values if key == "scale" else 1.0 if key == "weight" else columns[key]


def tidy(found: Histogram) -> Histogram:
    """The same with no infinite sums: the bin of infinity keeps none that multiply by it."""
    never = found.bin == NEVER
    sums = {
        name: np.where(never, 0.0, values) if name in ("scale", "product") else values
        for name, values in found.sums.items()
    }
    return Histogram(found.bin, found.rows, found.least, found.greatest, sums)
