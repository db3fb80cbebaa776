"""Sums: every statistic as a function of sums over rows, so that resampling and swapping rows need additions only.

Metrics as delivered are one mean. Whole areas over the scale that have a closed form are products of a few means.
Everything else is read off the metrics at the knots of the curve, which are means too. A share that is saved compares
two such statistics, the model's and the constant band's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np

from uccurve._areas import closed_axes
from uccurve._arrays import Indices
from uccurve._checks import FALLING, FLOOR_HINT, Array, Metric
from uccurve._paths import Path, ScalePath

from ._curves import Curves
from ._influence import rounding_of_area
from ._knots import Knots
from ._statistics import Statistic

ROUNDING = 1e-14
"""Share of two equal terms that their difference may be off; less is treated as 0."""


class RowSums(Protocol):
    """A statistic as a function of sums over rows."""

    width: int
    """Number of columns that are summed."""

    def fill(self, out: Array, unit: Indices) -> None:
        """Write the sums over the rows of each unit: (units, columns). `unit` has that of each row."""

    def values(self, sums: Array) -> Array:
        """Return the statistic for sums over several sets of units: (sets, columns)."""


def columns(sums: RowSums, unit: Indices, count: int) -> Array:
    """Sums over the rows of each of `count` units: (units, columns). `unit` has that of each row."""
    out = np.zeros((count, sums.width))
    sums.fill(out, unit)
    return out


def row_sums(path: Path, statistic: Statistic, *, smooth: bool = False) -> RowSums:
    """Return what a statistic of the rows of a path is computed from; where `smooth`, approximately but smoothly."""
    if statistic.relative:
        own = replace(statistic, asked="area" if statistic.asked == "gain" else "crps")
        constant = path.constant()
        mine, theirs = (row_sums(one, own, smooth=smooth) for one in (path, constant))
        nothing = rounding_of_area(constant, own.axes) * own.size(constant, *own.axes) if own.asked == "area" else 0.0
        return Saved(mine, theirs, nothing)
    if statistic.as_delivered:
        return Moments(path, [path.contributions(path.delivered, statistic.prices(path))], lambda mean: mean)
    return _closed_form(path, statistic) or OverKnots(path, statistic, smooth=smooth)


class Moments:
    """A function of the means of some columns: of what each row costs, or of what makes up a closed form of an area."""

    def __init__(self, path: Path, columns: list[Array], function: Callable[..., Array]) -> None:
        self._path, self._columns, self._function = path, columns, function
        self.width = 1 + len(columns)

    def fill(self, out: Array, unit: Indices) -> None:
        """Write the sums over the rows of each unit."""
        _fill(out, self._path, unit, self._columns)

    def values(self, sums: Array) -> Array:
        """Return the statistic."""
        return self._function(*_means(sums).T)


class OverKnots:
    """Any statistic of the curve, from its metrics at knots."""

    def __init__(self, path: Path, statistic: Statistic, *, smooth: bool = False) -> None:
        part, alpha, names = statistic.part, statistic.alpha, _needed(statistic)
        _refuse_uncoverable(path, statistic)
        if "excess" in names and path.above is not None:
            _refuse_unequal_bands(path)
        self._path, self._statistic = path, statistic
        ends = part[1] if part and part[0] == "miss_rate" else (float(alpha),) if alpha else ()
        self._knots = Knots(path, names, ends, smooth=smooth and len(ends) > 0)
        self.width = 1 + self._knots.width

    def fill(self, out: Array, unit: Indices) -> None:
        """Write the sums over the rows of each unit."""
        _fill(out[:, :1], self._path, unit, [])
        self._knots.fill(out[:, 1:], unit)

    def curves(self, sums: Array) -> Curves:
        """Return the curves of several sets of units."""
        return self._knots.curves(_means(sums))

    def values(self, sums: Array) -> Array:
        """Return the statistic."""
        path, statistic, curves = self._path, self._statistic, self.curves(sums)
        if statistic.asked == "area":
            part = statistic.part
            if part is not None:
                size = statistic.size(path, part[0])
                part = part[0], (part[1][0] / size, part[1][1] / size)
            return curves.area(statistic.axes, part) * statistic.size(path, *statistic.axes)
        if statistic.asked == "crps":
            return curves.potential_crps(convex=path.vary == "scale") * statistic.size(path, "deficit")
        if statistic.asked in ("cheapest", "score"):
            return curves.minimum(statistic.prices(path))
        t, width = curves.covering(float(statistic.alpha or 0))
        return t if statistic.asked == "scale" else width * statistic.size(path, "bandwidth")


class Saved:
    """Share of the constant band's area or potential CRPS that is saved."""

    def __init__(self, own: RowSums, reference: RowSums, nothing: float) -> None:
        self._own, self._reference, self._nothing = own, reference, nothing
        self.width = own.width + reference.width

    def fill(self, out: Array, unit: Indices) -> None:
        """Write the sums over the rows of each unit."""
        self._own.fill(out[:, : self._own.width], unit)
        self._reference.fill(out[:, self._own.width :], unit)

    def values(self, sums: Array) -> Array:
        """Return the shares; nan where both are 0, so that there is nothing to compare."""
        mine, theirs = self._own.values(sums[:, : self._own.width]), self._reference.values(sums[:, self._own.width :])
        zero = theirs <= self._nothing
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(zero, np.where(mine <= self._nothing, np.nan, -np.inf), (theirs - mine) / theirs)


def _closed_form(path: Path, statistic: Statistic) -> Moments | None:
    """Whole area over the scale that is a product of means; None where there is none."""
    if statistic.asked != "area" or statistic.part or not isinstance(path, ScalePath) or path.has_uncoverable_rows:
        return None
    asymmetric = set(statistic.axes) == {"excess", "deficit"} and path.above is not None
    names = closed_axes(statistic.axes, crosses_over=asymmetric and len(path.crossovers()[0]) > 0)
    if names is None:
        return None
    falling = path.critical if "miss_rate" in names else path.error * path.critical / 2
    size = statistic.size(path, *statistic.axes)
    if "bandwidth" in names:
        half_width = path.active if path.above is None else (path.active + path.other) / 2
        return Moments(path, [half_width, falling], lambda band, rest: size * band * rest)
    return Moments(path, [path.active, falling, path.error], lambda *means: size * _spread(*means))


def _spread(band: Array, falling: Array, error: Array) -> Array:
    """Area on deficit vs. overshoot: that on the active band and deficit, less half the square of the mean error."""
    area, half_square = band * falling, error**2 / 2
    return np.where(area > half_square * (1 + ROUNDING), area - half_square, 0)


def _needed(statistic: Statistic) -> list[Metric]:
    """Metrics that a statistic of the curve is computed from."""
    if statistic.asked in ("area", "cheapest"):
        names = [*statistic.axes, *([statistic.part[0]] if statistic.part else [])]
        rising = not FALLING.intersection(statistic.axes)
        return [*names, "miss_rate"] if rising and statistic.asked == "area" else names  # it tells where a curve ends
    if statistic.asked == "scale":
        return ["miss_rate"]
    return ["bandwidth", "miss_rate"] if statistic.asked == "half_width" else ["bandwidth", "deficit"]


def _refuse_uncoverable(path: Path, statistic: Statistic) -> None:
    part = statistic.part
    if part and part[0] != "miss_rate" and path.has_uncoverable_rows:
        raise ValueError(
            f"`{part[0]}` as a range needs rows that some {path.vary} covers: {int(np.isinf(path.critical).sum())} of "
            f"{len(path)} rows have an error on the side of a zero band. Hint: {FLOOR_HINT}."
        )


def _refuse_unequal_bands(path: Path) -> None:
    """Refuse bands so wide on one side that their sums hold nothing of the other, which is what the excess grows by."""
    band, excess = path.mean(path.active), path.at(path.end)["excess"]
    if band * path.end * 2.0**-52 > 1e-6 * (excess + path.mean(path.error)):
        raise ValueError(
            f"resampling the excess needs bands of comparable size: their mean on the side of the error is "
            f"{band * path.unit:.3g}, the largest mean excess {excess * path.unit:.3g}, which float64 cannot add. "
            "Hint: cap such bands, or use overshoot or bandwidth instead."
        )


def _fill(out: Array, path: Path, unit: Indices, columns: list[Array]) -> None:
    """Write the weight of each unit, and the weighted sums of some columns over it."""
    out[:, 0] = np.bincount(unit, path.weight, len(out))
    for i, column in enumerate(columns, 1):
        out[:, i] = np.bincount(unit, path.weighted(column), len(out))


def _means(sums: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):  # a resample of rows without weight has no mean
        means: Array = sums[:, 1:] / sums[:, :1]
    return means
