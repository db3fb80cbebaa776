"""Demo: the paper's synthetic example in a second, with numpy alone.

The paper fits gradient boosted trees; here k nearest neighbours take their place, so that nothing else has to be
installed. ``uccurve reproduce synthetic`` runs the paper's own models.
"""

from __future__ import annotations

import numpy as np

from uccurve._checks import Array
from uccurve.intervals import Intervals

FEW, MANY = 200, 800
"""Neighbours of the good and of the weak model."""


def example(seed: int = 0) -> dict[str, Intervals]:
    """Five kinds of bands around the same predictions of x sin x.

    The model sees 5,000 noisy points and is asked about 1,000 that carry no noise.

    Examples
    --------
    >>> models = example()
    >>> list(models)
    ['kNN', 'Constant', 'kNN-Weak', 'Random', 'Eps-Perfect']
    >>> {len(intervals) for intervals in models.values()}
    {1000}
    """
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 20, 5000))
    y = x * np.sin(x) + rng.normal(size=5000) * (1.5 + rng.uniform(0, 1, 5000))
    new = np.linspace(0, 20, 1000)
    truth = new * np.sin(new)
    y_pred = _neighbours(x, y, new, FEW).mean(axis=1)
    spread = float(np.std(y_pred))
    bands: dict[str, tuple[Array, ...]] = {
        "kNN": _quantile_bands(_neighbours(x, y, new, FEW), y_pred),
        "Constant": (np.full(1000, spread),),
        "kNN-Weak": _quantile_bands(_neighbours(x, y, new, MANY), y_pred),
        "Random": (rng.uniform(spread / 3, 3 * spread, 1000),),
        "Eps-Perfect": (np.abs(truth - y_pred) + rng.uniform(0, 0.05, 1000),),
    }
    return {name: Intervals.from_bands(truth, y_pred, *both) for name, both in bands.items()}


def _neighbours(x: Array, y: Array, new: Array, count: int) -> Array:
    """The y of the `count` points on either side of each new x, one row a new x."""
    first = np.clip(np.searchsorted(x, new) - count // 2, 0, len(x) - count)
    rows: Array = y[first[:, None] + np.arange(count)]
    return rows


def _quantile_bands(sample: Array, y_pred: Array) -> tuple[Array, Array]:
    """Distances from the prediction to the 5 % and 95 % quantiles."""
    low, high = np.quantile(sample, [0.05, 0.95], axis=1)
    return y_pred - low, high - y_pred
