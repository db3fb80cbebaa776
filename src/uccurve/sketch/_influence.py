"""Influence: what rows, or blocks of rows, contribute to the statistics of a streamed model.

A row adds to a minimum over the scale what it costs at the common best scale (`compare._influence`). So each statistic
is a sum over the rows of a few numbers, times coefficients that the first pass found: a `Form`. An engine sums the
numbers over the rows of each block, or the squares of the forms over independent rows; the bins of sketches give the
numbers of a block where the scales are ends of bins. The potential CRPS averages over many scales; three of them
give standard errors that differ by less than one percent, and by two for the skill.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isnan, nan, sqrt
from typing import Any, NamedTuple, Self

import numpy as np

from uccurve._distributions import binomial_tail, clopper_pearson
from uccurve._ramps import index_of_minimum
from uccurve._vocabulary import Array
from uccurve.evidence.inference import effective_count, interval
from uccurve.evidence.units import Blocks

from ._binned import Binned, Bracket
from ._bins import Histogram
from ._state import State

# Of the scales that are best for some coverage: these three stand for all in the potential CRPS.
QUANTILES = (0.3, 0.7, 0.95)
# Numbers of a row, times its weight: `product` is the error times the critical scale, `square` that of the error,
# `short` the deficit at the best scale, `crps` and `flat` its average over scales of these and of constant bands,
# `wis` the weighted interval score of all levels.
SHARES = ("covered", "reached")
NUMBERS = (
    "one",
    "width",
    "error",
    "critical",
    "product",
    "square",
    "short",
    "crps",
    "flat",
    *SHARES,
    "wis",
)
Form = Array  # coefficients of the numbers


class Mix(NamedTuple):
    """Shares of the deficit at some scales, and of the mean half-width, that make up a score; the last share is 2."""

    width: float
    scales: Sequence[float]
    shares: Sequence[float]

    @classmethod
    def of(cls, width: float, scales: Sequence[float], shares: Sequence[float]) -> Self:
        """Bring the last share to 2, which saves engines a product."""
        unit = shares[-1] / 2 or 1.0
        return cls(width / unit, scales, [share / unit for share in shares])


class Look(NamedTuple):
    """Ends of bins at which rows are looked at: the best scale, that for the target, those that make up the CRPS."""

    best: Mix
    target: float
    crps: Mix
    flat: Mix

    @classmethod
    def at(cls, binned: Binned, constant: Binned, alpha: float, target: float) -> Self:
        """Look at the scales that the bins of a model and of its constant band find best."""
        ends = np.append(0.0, binned.active.maximum)
        deficit = binned.values("deficit", ends).middles
        best = float(ends[index_of_minimum(2 * binned.half_width * ends + 2 / alpha * deficit)])
        return cls(
            Mix.of(2 * best, [best], [2 / alpha]), target, _average(binned), _average(constant)
        )


def _average(binned: Binned) -> Mix:
    """Potential CRPS: the shares of alpha for which each scale is the best, gathered at a few ends of bins.

    A row of error r and active band a adds a times a convex function of its critical scale; a broken line with three
    breakpoints, fitted by least squares, stands for it.
    """
    if binned.half_width == 0:
        return Mix.of(0.0, [0.0], [1.0])
    active = binned.active
    beyond = np.append(1.0, np.minimum(active.remaining / (binned.half_width * binned.total), 1.0))
    shares, squares = beyond[:-1] - beyond[1:], (beyond[:-1] ** 2 - beyond[1:] ** 2) / 2
    scales = np.append(0.0, active.mean)
    count, moment = np.cumsum(shares), np.cumsum(shares * scales)
    knots = np.unique(np.append(0.0, active.maximum)[np.searchsorted(count, QUANTILES)])
    lines = np.maximum(scales[:, None] - np.append(0.0, knots[knots > 0]), 0)
    weight = np.append(0.0, active.mass / np.sqrt(np.maximum(binned.weight.mass, 1e-300)))
    fitted = np.linalg.lstsq(lines * weight[:, None], (scales * count - moment) * weight)[0]
    return Mix.of(
        float(np.sum(scales * squares)), [0.0, *knots[knots > 0].tolist()], fitted.tolist()
    )


def numbers_of(state: State, look: Look) -> Array:
    """Sum each of the numbers over the rows of a sketch."""
    critical, errors = state.critical, state.errors
    found = {
        "one": "weight",
        "width": "width",
        "error": "error",
        "critical": "scale",
        "product": "product",
    }
    sums = {name: critical.total(column) for name, column in found.items()}
    for name, end in (("covered", 1.0), ("reached", look.target)):
        sums[name] = critical.where(critical.maximum <= end).total("weight")
    sums |= {
        "short": _deficits(critical, look.best, "active"),
        "crps": _deficits(critical, look.crps, "active"),
    }
    sums |= {"square": errors.total("product"), "flat": _deficits(errors, look.flat, "weight")}
    return np.array([sums.get(name, 0.0) for name in NUMBERS])


def _deficits(histogram: Histogram, mix: Mix, mass: str) -> float:
    """Shares of the deficit at ends of bins."""
    beyond = [histogram.where(histogram.maximum > t) for t in mix.scales]
    short = [
        rows.total("error") - t * rows.total(mass)
        for t, rows in zip(mix.scales, beyond, strict=True)
    ]
    return float(np.dot(short, mix.shares))


def forms(
    look: Look, means: Array, growth: float, *, symmetric: bool, uncoverable: bool
) -> dict[str, Form]:
    """Return what rows add to the logarithm of each statistic that has one, and to the coverages.

    `means` are those of the numbers over all rows, `growth` the relative growth of the scale with the coverage at the
    target, nan where there is no such scale.
    """
    one, width, error, critical, product, square, short, crps, flat, covered, reached, _ = np.eye(
        len(NUMBERS)
    )
    found = {"covered": covered, "reached": reached}
    if means @ error == 0:
        return found

    def log(form: Form) -> Form:
        return form / (form @ means)

    half_width = width / 2
    crps = log(half_width * look.crps.width + crps)
    found |= {"score": log(half_width * look.best.width + short), "crps": crps}
    found["skill"] = crps - log(one * look.flat.width + flat)
    if means @ width == 0:
        return found
    if np.isfinite(growth):
        found["half_width"] = log(width) - reached * growth
    if uncoverable:
        return found
    found["area_bandwidth_miss_rate"] = log(width) + log(critical)
    found["area_bandwidth_deficit"] = log(width) + log(product)
    found["gain_bandwidth_miss_rate"] = found["area_bandwidth_miss_rate"] - log(error)
    found["gain_bandwidth_deficit"] = found["area_bandwidth_deficit"] - log(square)
    # Where bands are symmetric excess is overshoot, and the area (h q - r^2) / 2 of the means h, q and r.
    h, q, r, s = (form @ means for form in (half_width, product, error, square))
    if symmetric and min(h * q, s) - r**2 > 1e-12 * r**2:
        area = (half_width * q + product * h - error * (2 * r)) / (h * q - r**2)
        found |= {
            "area_excess_deficit": area,
            "gain_excess_deficit": area - (square - error * (2 * r)) / (s - r**2),
        }
    return found


def changes_of(numbers: Array, forms: Mapping[str, Form]) -> dict[str, Array]:
    """Influence of blocks on each statistic, from their sums of the numbers."""
    total, found = float(numbers[0].sum()), dict[str, Array]()
    for name, form in forms.items():
        values = form @ numbers
        found[name] = (values - float(values.sum()) / total * numbers[0]) / total
    return found


# ---- chance

Changes = Mapping[
    str, Array
]  # influence of the units on each statistic, by its name; they sum to 0
Pairs = Mapping[
    tuple[int, int], Array
]  # influence on the difference of two models, by their places


@dataclass(frozen=True)
class Units:
    """Number of rows and of independent units among them.

    An influence is an array with one number per unit. Where units are single rows, too many to be kept, an array of
    one number stands for it: the root of their sum of squares, which is all that standard errors need.
    """

    rows: int
    count: int
    equal: bool  # whether units are rows of equal weight

    @property
    def blocks(self) -> Blocks:
        """Units as `compare` takes them; an influence holds their sums already."""
        nothing = np.broadcast_to(np.intp(0), self.count)
        return Blocks(nothing, self.count, nothing, self.count)

    def ends(
        self, value: Bracket, change: Array | None, confidence_level: float
    ) -> tuple[float, float]:
        """Interval of a positive value by its influence on the logarithm, widened by the value's bracket."""
        low, high = (
            interval(end, change, self.blocks, confidence_level, log=True) for end in value.pair
        )
        return low[0], high[1]

    def effective_rows(self, share: float, change: Array | None, confidence_level: float) -> float:
        """Return the number of independent rows that a share says as much about (Korn and Graubard 1998)."""
        if self.equal:
            return float(self.rows)
        squares = nan if change is None else float(np.dot(change, change))
        return effective_count(share, squares, self.rows, self.count, confidence_level)

    def share_ends(
        self, share: float, change: Array | None, confidence_level: float
    ) -> tuple[float, float]:
        """Interval of a share of the rows."""
        if self.count < 2:
            return nan, nan
        effective = self.effective_rows(share, change, confidence_level)
        return clopper_pearson(share * effective, effective, confidence_level)

    def share_tail(
        self, share: float, change: Array | None, alpha: Fraction, confidence_level: float
    ) -> float:
        """One-sided p-value of a share that is too small to leave out only alpha."""
        if self.count < 2 or isnan(share):
            return nan
        effective = self.effective_rows(share, change, confidence_level)
        return binomial_tail((1 - share) * effective, effective, float(alpha))


def joined_label(labels: Iterable[Any]) -> str:
    """Return one label from those of several columns."""
    return ", ".join(map(str, labels))


def root(square: float) -> Array:
    """Return the root of a sum of squares over rows, which rounding may have made negative."""
    return np.array([sqrt(max(float(square), 0.0))])
