"""Band: how far a whole curve may be off because its rows are a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from uccurve import _checks as checks
from uccurve._checks import FALLING, HEADLINE, Array, Axes, Unit, Vary
from uccurve._progress import Progress, watched
from uccurve.curve import UCC
from uccurve.intervals import Intervals

from ._blocks import Blocks, generator, positive
from ._evidence import checked_level
from ._models import curve_of
from ._resampling import TIE, Resamples, Seed, batches
from ._statistics import Statistic, knots_for, means

Kind = Literal["pointwise", "simultaneous"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ConfidenceBand:
    """Lower and upper ends for y at some places on x, as read-only arrays.

    A pointwise band holds the true curve at any one place with the given confidence; a simultaneous band at all places
    at once.
    """

    axes: Axes
    x: Array
    y: Array
    low: Array
    high: Array
    kind: Kind
    confidence_level: float

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        return (
            f"ConfidenceBand({self.kind}, {self.confidence_level * 100:g}%, {self.axes[1]} vs. {self.axes[0]}, "
            f"{len(self)} places, mean width {np.mean(self.high - self.low):.4g})"
        )


def confidence_band(
    intervals: Intervals | UCC,
    *,
    axes: Axes = HEADLINE,
    vary: Vary | None = None,
    unit: Unit = "raw",
    kind: Kind = "pointwise",
    confidence_level: float = 0.95,
    n_points: int = 201,
    n_resamples: int = 999,
    seed: Seed = None,
    block: int | npt.ArrayLike | None = None,
    progress: Progress = None,
) -> ConfidenceBand:
    """Confidence band of the curve, by resampling the rows with replacement.

    Parameters
    ----------
    intervals : Intervals or UCC
    axes, unit
        As in `UCC`.
    vary, n_resamples, seed, block, progress
        As in `bootstrap`.
    kind : {"pointwise", "simultaneous"}
        For any one place on x: percentiles of the resampled curves. For all at once: as many standard errors as the
        largest deviation of a resampled curve has with the given confidence (the sup-t band of Montiel Olea and
        Plagborg-Møller 2019).
    confidence_level : float
    n_points : int
        The maximum number of places; they are spread evenly over the vertices of the curve.

    Returns
    -------
    ConfidenceBand

    Notes
    -----
    Resampled curves are exact up to 1,024 vertices, and straight lines between knots beyond; see `bootstrap`.

    Examples
    --------
    >>> iv = Intervals.from_bands([1, 2, 4, 3], y_pred=[0] * 4, lower_band=[1, 1, 4, 2])
    >>> band = confidence_band(iv, seed=0)
    >>> band.x.tolist(), band.y.tolist()
    ([0.0, 2.0, 3.0, 4.0], [1.0, 0.5, 0.25, 0.0])
    >>> bool((band.low <= band.y).all() and (band.y <= band.high).all())
    True
    """
    checks.choice("kind", kind, ("pointwise", "simultaneous"))
    level = checked_level(confidence_level)
    if positive("n_resamples", n_resamples) < 2:
        raise ValueError(f"`n_resamples` must be at least 2 for a band; got {n_resamples}.")
    curve = curve_of("intervals", intervals, vary)
    asked = Statistic.of(curve, "area", axes=axes, unit=unit)
    x, y = _places(curve, asked, positive("n_points", n_points))
    rows, path = Blocks.of(curve.intervals, block), curve._path()
    rows.require_two("a confidence band")
    resamples, curves = Resamples(rows, generator(seed)), np.empty((n_resamples, len(x)))
    with watched(progress, "resamples") as tick:
        knots = knots_for(path, asked)
        table, sizes = knots.table(resamples.of_row, resamples.units), [asked.size(path, name) for name in asked.axes]
        for part in batches(n_resamples, tick):
            drawn = knots.curves(means(resamples.counts(part.stop - part.start) @ table))
            xs, ys = (drawn.metrics[name] * size for name, size in zip(asked.axes, sizes, strict=True))
            steps = drawn.is_every_vertex and "miss_rate" in asked.axes
            curves[part] = [_at(*one, x, asked.axes, steps=steps) for one in zip(xs, ys, strict=True)]
    if kind == "pointwise":
        ends = np.quantile(curves, ((1 - level) / 2, (1 + level) / 2), axis=0)
    else:
        error, deviation = curves.std(axis=0, ddof=1), np.abs(curves - y)
        np.divide(deviation, error, out=deviation, where=error > 0)
        reach = np.quantile(np.where(error > 0, deviation, 0).max(axis=1), level)
        ends = np.stack([y - reach * error, y + reach * error])
    limit = 1.0 if asked.axes[1] == "miss_rate" else np.inf
    low, high = (np.clip(end, 0, limit) for end in ends)
    for array in (x, y, low, high):
        array.setflags(write=False)
    return ConfidenceBand(asked.axes, x, y, low, high, kind, level)


def _places(curve: UCC, asked: Statistic, count: int) -> tuple[Array, Array]:
    """Places on x that are spread evenly over the vertices of the curve, and y there."""
    points = curve.points(axes=asked.axes, unit=asked.unit)
    chosen = np.unique(np.linspace(0, len(points) - 1, min(count, len(points))).round().astype(np.intp))
    x, y = (values[chosen][_ascending(asked.axes)] for values in (points.x, points.y))
    keep = np.append(x[1:] > x[:-1], True)
    return x[keep], y[keep]


def _at(x: Array, y: Array, places: Array, axes: Axes, *, steps: bool) -> Array:
    """Return y of one curve at the places; where only rounding keeps x from a place, it is there."""
    x, y, falls = x[_ascending(axes)], y[_ascending(axes)], axes[0] == "deficit"
    places = places + (-TIE if falls else TIE) * x[-1]
    if not steps:
        return np.interp(places, x, y)
    # the miss rate stays until the next row is covered
    place = np.searchsorted(x, places) if falls else np.searchsorted(x, places, side="right") - 1
    return np.asarray(y[np.clip(place, 0, len(y) - 1)])


def _ascending(axes: Axes) -> slice:
    """Return the order in which x rises."""
    return slice(None, None, -1 if axes[0] in FALLING else 1)
