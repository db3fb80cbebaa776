"""Bands: the distances from predictions to their bounds, bounds that agree with them, and a unit that fits float64."""

from __future__ import annotations

import numpy as np

from . import _arrays as arrays
from ._arrays import blocks
from ._checks import Array


def mean_half_width(below: Array, above: Array, weight: Array | None) -> float:
    """Mean of (below + above) / 2, formed so that huge bands do not overflow."""
    half = below / 2 + above / 2
    exponent = int(np.frexp(np.abs(half).max())[1])
    if exponent > 900:
        return float(np.ldexp(_mean(np.ldexp(half, -exponent), weight), exponent))
    return _mean(half, weight)


def _mean(values: Array, weight: Array | None) -> float:
    return float(np.mean(values) if weight is None else np.sum(values * (weight / weight.sum())))


def standard_deviation(y: Array, weight: Array) -> float:
    """Weighted population standard deviation of y_true, formed so that huge values do not overflow."""
    seen = y[weight > 0]
    if seen.min() == seen.max():
        raise ValueError('`unit="std"` needs a y_true that varies; all values are equal.')
    exponent = int(np.frexp(np.abs(seen).max())[1])
    y = np.ldexp(y, -exponent)
    return float(np.ldexp(np.sqrt(np.sum(weight * (y - np.sum(weight * y)) ** 2)), exponent))


def bounds(side: int, y: Array, p: Array, band: Array) -> Array:
    """Lower (-1) or upper (1) bounds; one step of float64 away where rounding would cover another row than the band."""
    with np.errstate(over="ignore"):
        bound: Array = p + band if side > 0 else p - band
    true, pred, edge, width = (array.reshape(-1) for array in (y, p, bound, band))
    for part in blocks(true.size):
        error = side * (true[part] - pred[part])
        covered = error <= width[part]
        wrong = (covered != (side * true[part] <= side * edge[part])) & (error > 0)
        if wrong.any():
            observed = true[part][wrong]
            edge[part][wrong] = np.where(covered[wrong], observed, np.nextafter(observed, -side * np.inf))
    return bound


def raise_to_minimum(side: int, y: Array, p: Array, bound: Array, band: Array, *, minimum: float) -> int:
    """Raise smaller bands to `minimum`, in place, and their bounds with them; return how many they were."""
    small = band < minimum
    band[small] = minimum
    bound[small] = bounds(side, y[small], p[small], band[small])
    arrays.kept_in_range("min_band", bound)
    return int(np.count_nonzero(small))


def moved(y: Array, p: Array, side: int, band: Array, *, scale: Array | float, shift: Array | float) -> Array:
    """Bands of one side after calibration; those at an observation cover it if and only if its rank says so."""
    error, shifted = side * (y - p), np.any(shift)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        scaled = scale * band
        covered = error - scaled <= shift if shifted else ~(error / band > scale)
        out = np.maximum(scaled + shift, 0)
        arrays.kept_in_range("shift" if shifted else "scale", p + side * out)
    active = error > 0
    out[active & covered] = np.maximum(out, error)[active & covered]
    missed = active & ~covered
    out[missed] = np.minimum(out, np.nextafter(error, 0))[missed]
    return out
