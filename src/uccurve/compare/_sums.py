"""Sums: every statistic as a function of sums over rows, so that resampling and swapping rows need additions only.

Whole areas over the scale that have a closed form are products of a few means. Everything else is read off the metrics
at the knots of the curve, which are means too. A share that is saved compares two such statistics, the model's and the
constant band's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from uccurve._areas import closed_axes
from uccurve._arrays import Indices
from uccurve._checks import FALLING, Array, Metric
from uccurve._paths import Path, ScalePath

from ._curves import Curves
from ._influence import rounding_of_area
from ._knots import Knots
from ._statistics import Statistic

ROUNDING = 1e-14
"""Share of two equal terms that their difference may be off; less is treated as 0."""


class Summed(NamedTuple):
    """Sums over the rows of each unit, (units, columns), and the statistic of sums over sets of units, (sets, columns).

    The first column is the weight.
    """

    table: Array
    values: Callable[[Array], Array]


def summed(path: Path, statistic: Statistic, unit: Indices, count: int, *, smooth: bool = False) -> Summed:
    """Sum up the rows of each of `count` units; `unit` has that of each row. Where `smooth`, values are approximate."""
    if statistic.relative:
        return _saved(path, statistic, unit, count, smooth=smooth)
    closed = _closed_form(path, statistic)
    if closed is not None:
        columns = [path.weight, *(path.weighted(column) for column in closed[0])]
        table = np.stack([np.bincount(unit, column, count) for column in columns], axis=1).astype(np.float64)
        return Summed(table, lambda sums: closed[1](*means(sums).T))
    knots = knots_for(path, statistic, smooth=smooth)
    return Summed(knots.table(unit, count), lambda sums: _of_curves(knots.curves(means(sums)), path, statistic))


def means(sums: Array) -> Array:
    """Means from sums of which the first is the weight."""
    with np.errstate(divide="ignore", invalid="ignore"):  # a resample of rows without weight has no mean
        return np.asarray(sums[:, 1:] / sums[:, :1])


def knots_for(path: Path, statistic: Statistic, *, smooth: bool = False) -> Knots:
    """Knots for the metrics that a statistic of the curve is computed from."""
    names, alpha = _needed(statistic), statistic.alpha
    if "excess" in names and not path.symmetric:
        _refuse_unequal_bands(path)
    ends = statistic.span or ((float(alpha),) if alpha else ())
    return Knots(path, names, ends, smooth=smooth and len(ends) > 0)


def _saved(path: Path, statistic: Statistic, unit: Indices, count: int, *, smooth: bool) -> Summed:
    """Share of the constant band's area or potential CRPS that is saved; nan where both are 0."""
    own, constant = replace(statistic, asked="area" if statistic.asked == "gain" else "crps"), path.constant()
    mine, theirs = (summed(one, own, unit, count, smooth=smooth) for one in (path, constant))
    nothing = rounding_of_area(constant, own.axes) * own.size(constant, *own.axes) if own.asked == "area" else 0.0
    width = mine.table.shape[1]

    def values(sums: Array) -> Array:
        area, reference = mine.values(sums[:, :width]), theirs.values(sums[:, width:])
        undefined = np.where(area <= nothing, np.nan, -np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(reference <= nothing, undefined, (reference - area) / reference)

    return Summed(np.hstack([mine.table, theirs.table]), values)


def _closed_form(path: Path, statistic: Statistic) -> tuple[list[Array], Callable[..., Array]] | None:
    """Columns whose means make up a whole area over the scale, and how; None where there is no closed form."""
    if statistic.asked != "area" or statistic.span or not isinstance(path, ScalePath) or path.has_uncoverable_rows:
        return None
    asymmetric = set(statistic.axes) == {"excess", "deficit"} and not path.symmetric
    names = closed_axes(statistic.axes, crosses_over=asymmetric and len(path.crossovers()[0]) > 0)
    if names is None:
        return None
    falling = path.critical if "miss_rate" in names else path.error * path.critical / 2
    size = statistic.size(path, *statistic.axes)
    if "bandwidth" in names:
        half_width = path.half_widths
        return [half_width, falling], lambda band, rest: size * band * rest
    return [path.active, falling, path.error], lambda *columns: size * _spread(*columns)


def _spread(band: Array, falling: Array, error: Array) -> Array:
    """Area on deficit vs. overshoot: that on the active band and deficit, less half the square of the mean error."""
    area, half_square = band * falling, error**2 / 2
    return np.where(area > half_square * (1 + ROUNDING), area - half_square, 0)


def _of_curves(curves: Curves, path: Path, statistic: Statistic) -> Array:
    """Return the statistic of several curves."""
    size, alpha = statistic.size(path, "bandwidth"), float(statistic.alpha or 0)
    if statistic.asked == "area":
        return curves.area(statistic.axes, statistic.span) * statistic.size(path, *statistic.axes)
    if statistic.asked == "crps":
        return curves.potential_crps(convex=path.vary == "scale") * size
    if statistic.asked == "score":
        return curves.best_score(alpha) * size
    t, width = curves.covering(alpha)
    return t if statistic.asked == "scale" else width * size


def _needed(statistic: Statistic) -> list[Metric]:
    """Metrics that a statistic of the curve is computed from."""
    if statistic.asked == "area":
        names = list(statistic.axes)
        if statistic.span or not FALLING.intersection(names):
            names.append("miss_rate")  # it tells where a part, or a curve, ends
        return names
    if statistic.asked in ("scale", "half_width"):
        return ["bandwidth", "miss_rate"]
    return ["bandwidth", "deficit"]


def _refuse_unequal_bands(path: Path) -> None:
    """Refuse bands so wide on one side that their sums hold nothing of the other, which is what the excess grows by."""
    band, excess = path.mean(path.active), path.at(path.end)["excess"]
    if band * path.end * 2.0**-52 > 1e-6 * (excess + path.mean(path.error)):
        raise ValueError(
            f"resampling the excess needs bands of comparable size: their mean on the side of the error is "
            f"{band * path.unit:.3g}, the largest mean excess {excess * path.unit:.3g}, which float64 cannot add. "
            "Hint: cap such bands, or use overshoot or bandwidth instead."
        )
