"""scipy.stats: frozen distributions, one set of parameters a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Unpack

import numpy as np
import numpy.typing as npt

from uccurve.intervals import Intervals

from ._levels import DECILES, Options, bounded, level_of, tails


def from_scipy(
    y_true: npt.ArrayLike,
    dist: Any,
    *,
    level: float = 0.9,
    y_pred: Literal["median", "mean"] = "median",
    **options: Unpack[Options],
) -> Intervals:
    """Central intervals of frozen distributions such as ``scipy.stats.norm(loc=mean, scale=std)``.

    Parameters
    ----------
    y_true : array_like
    dist : frozen distribution
        With ``ppf``, or with ``icdf`` as in scipy's newer ``Normal(mu=..., sigma=...)``; parameters of the shape of
        `y_true`.
    level : float
        Probability between the two quantiles.
    y_pred : {"median", "mean"}
        The mean of a skewed distribution may lie outside a narrow interval.
    **options
        `weight`, `min_band` and `missing` as in `Intervals.from_bounds`.

    Examples
    --------
    >>> from scipy.stats import uniform
    >>> iv = from_scipy([1.0, 6.0], uniform(loc=[0.0, 5.0], scale=10.0), level=0.5)
    >>> iv.lower.tolist(), iv.y_pred.tolist(), iv.upper.tolist()
    ([2.5, 7.5], [5.0, 10.0], [7.5, 12.5])
    """
    return levels_from_scipy(y_true, dist, levels=[level], y_pred=y_pred, **options)[level_of(level)]


def levels_from_scipy(
    y_true: npt.ArrayLike,
    dist: Any,
    *,
    levels: Sequence[float] = DECILES,
    y_pred: Literal["median", "mean"] = "median",
    **options: Unpack[Options],
) -> dict[float, Intervals]:
    """Central intervals of frozen distributions at each of the `levels`; parameters as in `from_scipy`."""
    quantile = getattr(dist, "ppf", None) or getattr(dist, "icdf", None)
    if quantile is None or y_pred not in ("median", "mean"):
        if quantile is None:
            raise TypeError(f"`dist` must be a frozen distribution with ppf or icdf; got {type(dist).__name__}.")
        raise ValueError(f"`y_pred` must be 'median' or 'mean'; got {y_pred!r}.")
    point = np.asarray(dist.mean() if y_pred == "mean" else quantile(0.5))
    if point.shape != np.shape(y_true):
        raise ValueError(
            f"`dist` must be frozen with one set of parameters a row: {point.shape} against {np.shape(y_true)}. "
            "Hint: norm(loc=mean, scale=std) with arrays."
        )
    names = [level_of(level, "levels") for level in levels]
    bounds = {level: (quantile(tails(level)[0]), quantile(tails(level)[1])) for level in names}
    return bounded(y_true, point, bounds, options)
