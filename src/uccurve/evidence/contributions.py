"""Contributions: what each row adds to a statistic of the curve, from one sort and a few sums.

Where a statistic is the minimum over t of a mean (best score, potential CRPS), the best t drops out of the derivative
(envelope theorem): *a row's contribution is its own cost at the common optimum*. Contributions have the statistic as
their weighted mean, so their differences from it are the influence function. Intervals and tests need nothing else.
"""

from fractions import Fraction
from math import ceil, inf, isfinite, log, nan
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from uccurve._distributions import order_statistic_ranks
from uccurve._paths import Path, ScalePath
from uccurve._ramps import Ramps, closed_area, closed_axes, integral
from uccurve._scoring import quantiles
from uccurve._vocabulary import Array, Axes, Metric
from uccurve.evidence.inference import effective_rows
from uccurve.evidence.units import Blocks

NORMAL = NormalDist()


def weights(path: Path) -> Array | float:
    """Weights of the rows, which sum to 1; one number where they are equal."""
    return 1 / len(path) if path.weight is None else path.weight / path.total


def log_influence(path: Path, contributions: Array, *, degree: int = 1) -> Array | None:
    """Influence on the logarithm of a statistic that is homogeneous in the weights, of this degree.

    The mean of the contributions is the statistic times the degree. None where the statistic is 0 or infinite.
    """
    value = path.mean(contributions) / degree
    if not 0 < value < np.inf:
        return None
    influence = contributions / value
    influence -= degree
    influence *= weights(path)
    return influence


def crps_contributions(path: Path, ramps: Ramps) -> Array:
    """Each row's part of the potential CRPS: alpha h + d at the best t, integrated over alpha.

    Of a single bound that is twice as much, and what no t changes.
    """
    hull = ramps.lower_hull()
    t, corners, moment, length = hull.t, hull.corners, hull.alpha_moment, hull.alpha_length
    del hull  # it takes as much memory as all of these
    place = ramps.places()
    if corners is None:
        place = np.minimum(place, len(t))
    else:  # how many corners lie before
        before = np.zeros(len(ramps.t) + 1, np.intp)
        before[corners + 1] = 1
        place = np.cumsum(before)[place]
    out = path.width_integrals(t, moment)
    out += path.deficit_integrals(t, length, place)
    return out if path.sides == 2 else 2 * out + path.offset


def area_contributions(path: Path, ramps: Ramps, axes: Axes) -> Array | None:
    """Each row's part of a whole area on miss_rate vs. bandwidth, deficit vs. bandwidth or deficit vs. excess.

    An area is a sum over pairs of rows, ``sum_ij w_i w_j K(i, j)`` of the falling metric of i and the rising one of j.
    The contribution of row i is ``sum_j w_j (K(i, j) + K(j, i))``; their mean is twice the area. None where rows
    are uncoverable, and for deficit vs. excess of bands that are not scaled.
    """
    if path.has_uncoverable_rows:
        return None
    closed = closed_axes(path, axes)
    if closed is not None:
        band, other, error = closed_columns(path, closed)
        out: Array = band * path.mean(other) + path.mean(band) * other
        return out if "bandwidth" in closed else out - error * path.mean(error)
    if "excess" in axes:
        return _excess_contributions(path, ramps) if isinstance(path, ScalePath) else None
    t = ramps.t
    place = ramps.places()
    x = ramps.values("bandwidth")
    if "miss_rate" in axes:
        y = ramps.values("miss_rate")[:-1]
        falling: Array = x[place] - x[0]
    else:
        y = (ramps.values("deficit")[:-1] + ramps.values("deficit")[1:]) / 2
        steps = np.diff(x)
        falling = path.deficit_integrals(
            t, (np.append(0.0, steps) + np.append(steps, 0.0)) / 2, place
        )
    width_mass = np.append(0.0, y) - np.append(y, 0.0)  # summation by parts: y dh becomes h dy
    falling += path.width_integrals(t, width_mass)
    return falling


def closed_columns(path: Path, names: frozenset[Metric]) -> tuple[Array, Array, Array]:
    """Columns of an area over the scale that is a product of two means, less half the square of a third."""
    falling = path.critical if "miss_rate" in names else path.error * path.critical / 2
    if "bandwidth" not in names:
        return path.active, falling, path.error
    return path.half_widths, falling, np.zeros(len(path))


def _excess_contributions(path: ScalePath, ramps: Ramps) -> Array:
    """Contributions to the area on deficit vs. excess of bands whose other bound may become the nearer one."""

    def integral_until(name: Metric) -> Array:  # over t, to each vertex
        values = ramps.values(name)
        out = np.zeros(len(ramps.t))
        np.add(values[1:], values[:-1], out=out[1:])
        out[1:] *= np.diff(ramps.t) / 2
        return np.cumsum(out, out=out)

    place = ramps.places()
    rows, position = path.crossovers()
    out = integral_until("excess")[place]
    rest = integral_until("deficit")
    rest -= rest[-1]
    out -= rest[place]
    out *= path.active
    out[rows] += (path.active[rows] - path.other[rows]) * rest[np.searchsorted(ramps.t, position)]
    return out


def constant_area_contributions(path: Path, axes: Axes) -> Array:
    """Contributions of the same rows with a constant band of 1, where its area has a closed form."""
    error = path.error
    falling = error if "miss_rate" in axes else error**2 / 2
    out: Array = falling + path.mean(falling)
    if "bandwidth" not in axes:
        out -= error * path.mean(error)
    return out


def whole_area(path: Path, ramps: Ramps, axes: Axes) -> float:
    """Area of the whole curve, by its closed form where there is one."""
    names = closed_axes(path, axes)
    return integral(ramps, path, axes) if names is None else closed_area(path, names)


class Shipped(NamedTuple):
    """Interval score at a factor (or shift) that was fitted to the rows, and what each row does to it.

    `influence` is that on the score, with the movement of the factor; None where the factor's own error is not known.
    `offset` is what the fit of this very factor hides: the score of new rows is expected at ``score + offset``.
    """

    score: float
    influence: Array | None
    offset: float


def shipped_score(path: Path, t: float, alpha: float, sparsity: float, blocks: Blocks) -> Shipped:
    """Interval score at the conformal t, and its influence.

    Notes
    -----
    With s_i the score of a row, D the weighted mean of its slope in t and g = dt/dq the sparsity, the influence of a
    row is ``w_i (s_i - S + D g (1{t_i > t} - alpha))``. The offset is ``-g sum_b G_b M_b`` over blocks, with G_b and
    M_b the sums of the centred ``w_i s_i'`` and ``w_i 1{t_i > t}``.
    """
    share = weights(path)
    rows = path.score_rows(t, alpha)
    score = float(np.sum(rows * share))
    if not isfinite(sparsity) or not isfinite(score):
        return Shipped(score, None, 0.0)
    slopes = path.score_slopes(t, alpha)
    slope = float(np.sum(slopes * share))
    missed = (path.critical > max(t, path.start)).astype(np.float64)
    missed -= float(np.sum(missed * share))
    rows -= score
    rows += slope * sparsity * missed
    rows *= share
    slopes -= slope
    slopes *= share
    missed *= share
    offset = -sparsity * float(np.dot(blocks.sums(slopes), blocks.sums(missed)))
    return Shipped(score, rows, offset)


def sparsity_of(path: Path, q: float, effective: float) -> float:
    """Growth of the critical t with the share that it covers, ``dt/dq`` at q; nan where nothing can be said.

    From two order statistics at the distance of Hall and Sheather (1988) for this effective number of rows, on the
    logarithm of t where both are positive and 0 means something, as it does not where a single bound is shifted.
    """
    if not effective >= 2:
        return nan
    reach = hall_sheather(q, effective)
    n = len(path)
    first = max(ceil((q - reach) * n), 1)
    last = min(ceil((q + reach) * n), n)
    low, middle, high = quantiles(path.critical, path.weight, first / n, q, last / n)
    if not isfinite(high):
        high = middle
        last = ceil(q * n)
    distance = (last - first) / n
    if distance <= 0 or not isfinite(middle):
        return nan
    if low > 0 and path.has_area:
        return middle * log(high / low) / distance
    return (high - low) / distance


def effective_at(path: Path, q: Fraction, units: Blocks, confidence_level: float) -> float:
    """Return the number of independent rows that the critical t of a share rests on."""
    if units.independent and path.equally_weighted:
        return float(len(path))
    reached = path.critical <= quantiles(path.critical, path.weight, q)[0]
    return effective_rows(reached, path.weight, units, confidence_level)


def factor_ends(
    path: Path, q: Fraction, effective: float, confidence_level: float
) -> tuple[float, float]:
    """Order statistics between which the critical t of a share lies; infinite where the rows are too few.

    Weighted or dependent rows have the ranks of as many independent rows as they are worth.
    """
    if not effective >= 1:
        return nan, nan
    n = len(path)
    count = int(effective)
    first, last = order_statistic_ranks(count, q, confidence_level)
    first = first * n // count
    last = n + 1 if last > count else ceil(last * n / count)
    shares = Fraction(max(first, 1), n), Fraction(min(last, n), n)
    low, high = quantiles(path.critical, path.weight, *shares)
    return low if first > 0 else path.start, high if last <= n else inf


def hall_sheather(q: float, effective: float) -> float:
    """Distance from q to the two shares between which a sparsity is read off (Hall and Sheather 1988).

    >>> round(hall_sheather(0.9, 1000), 4)
    0.0346
    """
    z = NORMAL.inv_cdf(q)
    wide = NORMAL.inv_cdf(0.975)
    ratio = 1.5 * NORMAL.pdf(z) ** 2 / (2 * z**2 + 1)
    return float(effective ** (-1 / 3) * wide ** (2 / 3) * ratio ** (1 / 3))
