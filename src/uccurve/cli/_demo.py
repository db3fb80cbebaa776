"""Demo: four models of made-up data, with numpy alone.

The data resemble the paper's synthetic example, x sin x with noise; k nearest neighbours stand in for its trees, so
that nothing else has to be installed. ``make paper`` of a checkout runs the paper's own models.
"""

import numpy as np

from uccurve._vocabulary import Array
from uccurve.intervals import Intervals

KNOWN, NEW = 5000, 1000
FEW, MANY = 60, 1200  # neighbours from which sharp and blurred bands are made


def example(seed: int = 0) -> tuple[dict[str, Intervals], dict[str, Array]]:
    """Intervals of four models on new rows, and the feature that their segments are made of.

    All predict the median of the nearest of 5,000 known points. "Neighbours" makes bands from their 5% and 95%
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
    near, far = (
        Intervals.from_samples(observed, _around(x, y, new, count), level=0.9)
        for count in (FEW, MANY)
    )
    others = {
        "Blurred": (far.lower_band, far.upper_band),
        "Constant": (np.full(NEW, near.upper_band.mean()),),
        "Random": (rng.uniform(1, 8, NEW),),
    }
    models = {
        name: Intervals.from_bands(observed, near.y_pred, *bands) for name, bands in others.items()
    }
    return {"Neighbours": near, **models}, {"x": new}


def _around(x: Array, y: Array, new: Array, count: int) -> Array:
    """The y of the `count` points around each new x, one column per new x."""
    first = np.clip(np.searchsorted(x, new) - count // 2, 0, len(x) - count)
    return np.asarray(y[np.arange(count)[:, None] + first])
