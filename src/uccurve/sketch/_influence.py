"""Influence: what rows, or blocks of rows, contribute to the statistics of a streamed model.

A row adds to a minimum over the scale what it costs at the common best scale, and to the score as shipped what it costs
at the factor, with the movement of that factor (`uccurve.evidence.contributions`). So each statistic is a sum over the
rows of a few numbers, times coefficients that the first pass found: a `Form`. An engine sums the numbers over the rows
of each block, or the squares of the forms over independent rows; the bins of sketches give the numbers of a block where
the scales are ends of bins. The potential CRPS averages over many scales; three of them give standard errors that
differ by less than one percent, and by two for its skill.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan, sqrt
from typing import Any, NamedTuple, Self

import numpy as np

from uccurve._arrays import index_of_minimum
from uccurve._vocabulary import Array

from ._binned import Binned
from ._bins import Histogram, SketchState

# Of the scales that are best for some coverage: these three stand for all in the potential CRPS.
QUANTILES = (0.3, 0.7, 0.95)
# Numbers of a row, times its weight. `product` is the error times the critical scale, `square` that of the error.
# Twice the deficit: `outside` as delivered, `late` at the factor, `flat_late` of the constant band as shipped; `short`
# is a share of it at the best scale, `crps` and `flat` averages over scales of these and of constant bands. Whether a
# row is missed: `open` as delivered, `missed` at the factor, `flat_missed` by the constant band as shipped; `beyond`
# is the band on the side of the error of rows that are missed at the factor, `reached` whether a row is missed at the
# plain quantile, on which the number of rows behind the factor rests. `wis` is the weighted interval score.
NUMBERS = (
    "one",
    "width",
    "error",
    "critical",
    "product",
    "square",
    "outside",
    "open",
    "late",
    "missed",
    "beyond",
    "flat_late",
    "flat_missed",
    "reached",
    "short",
    "crps",
    "flat",
    "wis",
)
AT_FACTOR = ("late", "missed", "beyond", "flat_late", "flat_missed")
PLACE = {name: place for place, name in enumerate(NUMBERS)}
Form = Array  # coefficients of the numbers
# Influence of the units on the logarithm of each statistic, by its name; they sum to 0.
Changes = Mapping[str, Array]


def unit_form(name: str) -> Form:
    """Form that is one of the numbers."""
    form: Form = np.zeros(len(NUMBERS))
    form[PLACE[name]] = 1.0
    return form


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

    @classmethod
    def at(cls, t: float) -> Self:
        """Twice the deficit at one scale."""
        return cls(2 * t, [t], [2.0])


class Shipping(NamedTuple):
    """Factor that ships, or the half-width of a constant band, and what is known there from bins.

    `slope` is that of the score in it, `sparsity` its growth with the share of the rows that it covers.
    """

    t: float
    slope: float
    sparsity: float

    @property
    def movement(self) -> float:
        """What one more missed row does to the score through the factor; 0 where nothing is known."""
        movement = self.slope * self.sparsity
        return movement if isfinite(movement) else 0.0


class Scales(NamedTuple):
    """Scales at which rows are looked at: those of the best score and of the CRPS, and the factors that ship.

    `quantile` is the smallest scale at which a share 1 - alpha of the rows is covered.
    """

    alpha: float
    quantile: float
    best: Mix
    crps: Mix
    flat: Mix
    shipping: Shipping
    constant: Shipping

    @property
    def ships(self) -> bool:
        """Whether a finite factor reaches the target."""
        return isfinite(self.shipping.t) and isfinite(self.constant.t)


def best_mix(binned: Binned, alpha: float) -> Mix:
    """Score at the end of a bin where it is smallest."""
    ends = np.append(0.0, binned.active.maximum)
    deficit = binned.values("deficit", ends).middles
    scores = 2 * binned.half_width * ends + 2 / alpha * deficit
    best = float(ends[index_of_minimum(scores)])
    return Mix.of(2 * best, [best], [2 / alpha])


def averaged_mix(binned: Binned) -> Mix:
    """Potential CRPS: the shares of alpha for which each scale is the best, gathered at a few ends of bins.

    A row of error r and active band a adds a times a convex function of its critical scale; a broken line with three
    breakpoints, fitted by least squares, stands for it.
    """
    active = binned.active
    if binned.half_width == 0 or not active.mass.any():  # no scale helps
        return Mix.of(0.0, [0.0], [1.0])
    beyond = np.append(1.0, np.minimum(active.remaining / (binned.half_width * binned.total), 1.0))
    shares = beyond[:-1] - beyond[1:]
    squares = (beyond[:-1] ** 2 - beyond[1:] ** 2) / 2
    scales = np.append(0.0, active.mean)
    count = np.cumsum(shares)
    moment = np.cumsum(shares * scales)
    knots = np.unique(np.append(0.0, active.maximum)[np.searchsorted(count, QUANTILES)])
    knots = knots[knots > 0]
    lines = np.maximum(scales[:, None] - np.append(0.0, knots), 0)
    weight = np.append(0.0, active.mass / np.sqrt(np.maximum(binned.weight.mass, 1e-300)))
    fitted = np.linalg.lstsq(lines * weight[:, None], (scales * count - moment) * weight)[0]
    return Mix.of(float(np.sum(scales * squares)), [0.0, *knots.tolist()], fitted.tolist())


def numbers_of(state: SketchState, scales: Scales) -> Array:
    """Sum each of the numbers over the rows of a sketch; exact where the scales are ends of bins."""
    critical = state.critical
    errors = state.errors
    columns = {
        "one": "weight",
        "width": "width",
        "error": "error",
        "critical": "scale",
        "product": "product",
    }
    sums = {name: critical.total(column) for name, column in columns.items()}
    delivered = Mix.at(1.0)
    sums["open"] = _beyond(critical, 1.0).total("weight")
    sums["outside"] = _deficits(critical, delivered, "active")
    sums["short"] = _deficits(critical, scales.best, "active")
    sums["crps"] = _deficits(critical, scales.crps, "active")
    sums["square"] = errors.total("product")
    sums["flat"] = _deficits(errors, scales.flat, "weight")
    sums["reached"] = _beyond(critical, scales.quantile).total("weight")
    if scales.ships:
        missed = _beyond(critical, scales.shipping.t)
        sums["missed"] = missed.total("weight")
        sums["beyond"] = missed.total("active")
        sums["late"] = _deficits(critical, Mix.at(scales.shipping.t), "active")
        sums["flat_missed"] = _beyond(errors, scales.constant.t).total("weight")
        sums["flat_late"] = _deficits(errors, Mix.at(scales.constant.t), "weight")
    return np.array([sums.get(name, 0.0) for name in NUMBERS])


def _beyond(histogram: Histogram, t: float) -> Histogram:
    return histogram.where(histogram.maximum > t)


def _deficits(histogram: Histogram, mix: Mix, mass: str) -> float:
    """Shares of the deficit at ends of bins."""
    total = 0.0
    for t, share in zip(mix.scales, mix.shares, strict=True):
        rows = _beyond(histogram, t)
        total += share * (rows.total("error") - t * rows.total(mass))
    return total


@dataclass(frozen=True)
class Known:
    """What the first pass knows: means of the numbers, and which statistics have an influence."""

    means: Array
    symmetric: bool
    uncoverable: bool


def forms(scales: Scales, known: Known) -> dict[str, Form]:
    """Return what rows add to the logarithm of each statistic that has one; `wis` as it is."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        every = _forms(scales, known)
    return {name: form for name, form in every.items() if np.isfinite(form).all()}


def _forms(scales: Scales, known: Known) -> dict[str, Form]:
    """The same; a statistic that is 0 has a form that is not finite."""
    means = known.means
    unit = {name: unit_form(name) for name in NUMBERS}

    def log(form: Form) -> Form:
        return form / (form @ means)

    half_width = unit["width"] / 2
    crps = log(half_width * scales.crps.width + unit["crps"])
    forms_found = {
        "delivered_score": log(unit["width"] + unit["outside"] / scales.alpha),
        "best_score": log(half_width * scales.best.width + unit["short"]),
        "crps": crps,
        "crps_skill": crps - log(unit["one"] * scales.flat.width + unit["flat"]),
    }
    if means @ unit["width"] == 0:
        return forms_found
    forms_found["width"] = log(unit["width"])
    if scales.ships:
        forms_found |= _as_shipped(scales, unit, means)
    if not known.uncoverable:
        forms_found |= _areas(unit, means, symmetric=known.symmetric)
    return forms_found


def _as_shipped(scales: Scales, unit: Mapping[str, Form], means: Array) -> dict[str, Form]:
    """Score at the factor that ships and the share of the constant band's that it saves, with both movements."""
    alpha = scales.alpha
    score = unit["width"] * scales.shipping.t + unit["late"] / alpha
    constant = unit["one"] * (2 * scales.constant.t) + unit["flat_late"] / alpha
    if not (score @ means > 0 and constant @ means > 0):
        return {}
    mine = (score + unit["missed"] * scales.shipping.movement) / (score @ means)
    theirs = (constant + unit["flat_missed"] * scales.constant.movement) / (constant @ means)
    as_shipped = {}
    if isfinite(scales.shipping.sparsity):
        as_shipped["score"] = mine
        if isfinite(scales.constant.sparsity):
            as_shipped["skill"] = mine - theirs
    return as_shipped


def _areas(unit: Mapping[str, Form], means: Array, *, symmetric: bool) -> dict[str, Form]:
    """The paper's areas and gains; excess is overshoot where bands are symmetric."""

    def log(form: Form) -> Form:
        return form / (form @ means)

    width = log(unit["width"])
    of_areas = {
        "area_bandwidth_miss_rate": width + log(unit["critical"]),
        "area_bandwidth_deficit": width + log(unit["product"]),
    }
    of_areas["gain_bandwidth_miss_rate"] = of_areas["area_bandwidth_miss_rate"] - log(unit["error"])
    of_areas["gain_bandwidth_deficit"] = of_areas["area_bandwidth_deficit"] - log(unit["square"])
    half_width = unit["width"] / 2
    h = half_width @ means
    q = unit["product"] @ means
    r = unit["error"] @ means
    s = unit["square"] @ means
    if symmetric and min(h * q, s) - r**2 > 1e-12 * r**2:  # the area is (h q - r^2) / 2
        area = (half_width * q + unit["product"] * h - unit["error"] * (2 * r)) / (h * q - r**2)
        constant = (unit["square"] - unit["error"] * (2 * r)) / (s - r**2)
        of_areas["area_excess_deficit"] = area
        of_areas["gain_excess_deficit"] = area - constant
    return of_areas


def changes_of(numbers: Array, forms_of_model: Mapping[str, Form]) -> dict[str, Array]:
    """Influence of blocks on each statistic, from their sums of the numbers."""
    total = float(numbers[0].sum())
    changes = dict[str, Array]()
    for name, form in forms_of_model.items():
        values = form @ numbers
        changes[name] = (values - float(values.sum()) / total * numbers[0]) / total
    return changes


def offset_of_blocks(weights: Array, slopes: Array, missed: Array, shipping: Shipping) -> float:
    """What the fit of a factor hides of a score, from block sums of the slopes and of the missed rows."""
    total = float(weights.sum())
    gradient = slopes - float(slopes.sum()) / total * weights
    outside = missed - float(missed.sum()) / total * weights
    return -shipping.sparsity * float(np.dot(gradient, outside)) / total**2


def joined_label(labels: Iterable[Any]) -> str:
    """Return one label from those of several columns."""
    return ", ".join(map(str, labels))


def root(square: float) -> Array:
    """Return the root of a sum of squares over rows, which rounding may have made negative."""
    return np.array([sqrt(max(float(square), 0.0))])


NOTHING_SHIPS = Shipping(nan, nan, nan)
