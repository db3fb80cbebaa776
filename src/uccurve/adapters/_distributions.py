"""Whole distributions: posterior draws (ArviZ, xarray, NumPyro, arrays) and frozen distributions of scipy.stats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from uccurve._arrays import first_axis
from uccurve._checks import Array
from uccurve.intervals import Intervals, Options, draw_quantiles

from ._levels import DECILES, bounded, level_of, tails

DRAWS = ("chain", "draw", "sample")
"""Dimensions that number draws."""


def from_posterior(
    y_true: npt.ArrayLike | None,
    draws: Any,
    *,
    name: str | None = None,
    group: str = "posterior_predictive",
    level: float = 0.9,
    **options: Unpack[Options],
) -> Intervals:
    """Central intervals of posterior predictive draws, around their median.

    Parameters
    ----------
    y_true : array_like or None
        None takes the group ``observed_data`` of an ArviZ object.
    draws : InferenceData, DataTree, Dataset, DataArray, mapping or array_like
        An xarray object has its draws along the dimensions ``chain``, ``draw`` or ``sample``, as
        ``series.data_array()`` of darts has them; a mapping (``Predictive(...)`` of NumPyro) and an array
        (``forecast.samples`` of GluonTS) have them on the first axis.
    name : str, optional
        Variable to take; needed where there are several.
    group : str
        Group of an ArviZ object, ``"predictions"`` for out-of-sample draws.
    level : float
        Probability between the two quantiles.
    **options
        `weight`, `min_band` and `missing` as in `Intervals.from_bounds`.

    Notes
    -----
    Between two quantiles of m draws (as numpy defines them) a further draw lies with a probability of about
    ``level * (m - 1) / (m + 1)``: 87% instead of 90% for 60 draws. So few draws make intervals that are too narrow even
    where the distribution is right, and the assessment says so.

    Examples
    --------
    >>> iv = from_posterior([1.0], {"y": [[0.0], [1.0], [2.0], [3.0], [4.0]]}, level=0.5)
    >>> iv.y_pred.tolist(), iv.lower.tolist(), iv.upper.tolist()
    ([2.0], [1.0], [3.0])
    """
    (found,) = levels_from_posterior(y_true, draws, name=name, group=group, levels=[level], **options).values()
    return found


def levels_from_posterior(
    y_true: npt.ArrayLike | None,
    draws: Any,
    *,
    name: str | None = None,
    group: str = "posterior_predictive",
    levels: Sequence[float] = DECILES,
    **options: Unpack[Options],
) -> dict[float, Intervals]:
    """Central intervals of posterior predictive draws at each of the `levels`; parameters as in `from_posterior`."""
    samples, name = _samples(draws, name, group)
    observed = _observed(draws, name) if y_true is None else np.asarray(y_true)
    names = sorted(level_of(level, "levels") for level in levels)
    points = [*((1 - level) / 2 for level in reversed(names)), 0.5, *((1 + level) / 2 for level in names)]
    found = draw_quantiles(first_axis("draws", samples, observed.shape), points, options.get("missing"))
    count = len(names)
    bounds = {level: (found[count - 1 - i], found[count + 1 + i]) for i, level in enumerate(names)}
    return bounded(observed, found[count], bounds, options)


def from_scipy(y_true: npt.ArrayLike, dist: Any, *, level: float = 0.9, **options: Unpack[Options]) -> Intervals:
    """Central intervals of frozen distributions such as ``scipy.stats.norm(loc=mean, scale=std)``, around the median.

    Parameters
    ----------
    y_true : array_like
    dist : frozen distribution
        With ``ppf``, or with ``icdf`` as in scipy's newer ``Normal(mu=..., sigma=...)``; parameters of the shape of
        `y_true`.
    level : float
        Probability between the two quantiles.
    **options
        `weight`, `min_band` and `missing` as in `Intervals.from_bounds`.

    Examples
    --------
    >>> from scipy.stats import uniform
    >>> iv = from_scipy([1.0, 6.0], uniform(loc=[0.0, 5.0], scale=10.0), level=0.5)
    >>> iv.lower.tolist(), iv.y_pred.tolist(), iv.upper.tolist()
    ([2.5, 7.5], [5.0, 10.0], [7.5, 12.5])
    """
    (found,) = levels_from_scipy(y_true, dist, levels=[level], **options).values()
    return found


def levels_from_scipy(
    y_true: npt.ArrayLike, dist: Any, *, levels: Sequence[float] = DECILES, **options: Unpack[Options]
) -> dict[float, Intervals]:
    """Central intervals of frozen distributions at each of the `levels`; parameters as in `from_scipy`."""
    quantile = getattr(dist, "ppf", None) or getattr(dist, "icdf", None)
    if quantile is None:
        raise TypeError(f"`dist` must be a frozen distribution with ppf or icdf; got {type(dist).__name__}.")
    point = np.asarray(quantile(0.5))
    if point.shape != np.shape(y_true):
        raise ValueError(
            f"`dist` must be frozen with one set of parameters per row: {point.shape} against {np.shape(y_true)}. "
            "Hint: norm(loc=mean, scale=std) with arrays."
        )
    names = [level_of(level, "levels") for level in levels]
    bounds = {level: (quantile(tails(level)[0]), quantile(tails(level)[1])) for level in names}
    return bounded(y_true, point, bounds, options)


def _samples(draws: Any, name: str | None, group: str) -> tuple[Any, str | None]:
    """Draws on the first axis, and the name of their variable."""
    groups = _groups(draws)
    if groups:
        if group not in groups:
            raise ValueError(f"`draws` must have the group {group}: not found. It has {', '.join(groups)}.")
        draws = draws[group]
    if isinstance(draws, Mapping) or hasattr(draws, "data_vars"):
        variables = [str(key) for key in getattr(draws, "data_vars", draws)]
        if name is None and len(variables) == 1:
            (name,) = variables
        if name not in variables:
            rule = "say which variable to take" if name is None else f"be one of the variables; {name!r} is none"
            raise ValueError(f"`name` must {rule}. There are {', '.join(variables)}.")
        draws = draws[name]
    if not hasattr(draws, "dims"):
        return draws, name
    numbering = [dim for dim in draws.dims if dim in DRAWS]
    if not numbering:
        raise ValueError(
            f"`draws` must have a dimension {', '.join(DRAWS[:-1])} or {DRAWS[-1]}; "
            f"it has {', '.join(map(str, draws.dims))}."
        )
    array = np.asarray(draws.transpose(*numbering, ...))
    return array.reshape(-1, *array.shape[len(numbering) :]), name


def _observed(draws: Any, name: str | None) -> Array:
    if "observed_data" not in _groups(draws):
        raise ValueError("`y_true` must be given: `draws` have no group observed_data.")
    data = draws["observed_data"]
    if name not in data:
        raise ValueError(
            f"`y_true` must be given: {name!r} is not observed. Observed: {', '.join(map(str, data.data_vars))}."
        )
    return np.asarray(data[name])


def _groups(draws: Any) -> list[str]:
    """Return the groups of ArviZ's InferenceData, or of the DataTree that follows it; none of anything else."""
    if hasattr(draws, "children"):
        return list(draws.children)
    return list(draws.groups()) if hasattr(draws, "groups") and not hasattr(draws, "dims") else []
