"""Demo: four models of made-up data, with numpy alone.

The data resemble the paper's synthetic example, x sin x with noise; k nearest neighbours stand in for its trees, so
that nothing else has to be installed. ``uccurve reproduce synthetic`` runs the paper's own models.
"""

from __future__ import annotations

import numpy as np

from uccurve._checks import Array
from uccurve.intervals import Intervals

KNOWN, NEW = 5000, 1000
FEW, MANY = 60, 1200  # neighbours from which sharp and blurred bands are made


def example(seed: int = 0) -> tuple[dict[str, Intervals], dict[str, Array]]:
    """Intervals of four models on new rows, and the feature that their segments are made of.

    All predict the mean of the nearest of 5,000 known points. "Neighbours" makes bands from their 5% and 95%
    quantiles, "Blurred" from those of many more points, "Constant" has one width, "Random" any.

    Examples
    --------
    >>> models, by = example()
    >>> list(models), list(by), {len(intervals) for intervals in models.values()}
    (['Neighbours', 'Blurred', 'Constant', 'Random'], ['x'], {1000})
    """
    rng = np.random.default_rng(seed)
    x, new = np.sort(rng.uniform(0, 20, KNOWN)), np.sort(rng.uniform(0, 20, NEW))
    y, observed = (at * np.sin(at) + rng.normal(size=len(at)) * (0.5 + at / 5) for at in (x, new))
    near = _neighbours(x, y, new, FEW)
    y_pred = near.mean(axis=1)
    bands: dict[str, tuple[Array, ...]] = {
        "Neighbours": _quantile_bands(near, y_pred),
        "Blurred": _quantile_bands(_neighbours(x, y, new, MANY), y_pred),
        "Constant": (np.full(NEW, 1.645 * near.std(axis=1).mean()),),
        "Random": (rng.uniform(1, 8, NEW),),
    }
    return {name: Intervals.from_bands(observed, y_pred, *both) for name, both in bands.items()}, {"x": new}


def _neighbours(x: Array, y: Array, new: Array, count: int) -> Array:
    """The y of the `count` points around each new x, one row per new x."""
    first = np.clip(np.searchsorted(x, new) - count // 2, 0, len(x) - count)
    return np.asarray(y[first[:, None] + np.arange(count)])


def _quantile_bands(sample: Array, y_pred: Array) -> tuple[Array, Array]:
    """Distances from the prediction to the 5% and 95% quantiles."""
    low, high = np.quantile(sample, [0.05, 0.95], axis=1)
    return y_pred - np.minimum(low, y_pred), np.maximum(high, y_pred) - y_pred
