"""Posterior draws: ArviZ and xarray objects, NumPyro's dict of samples, or an array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from uccurve._checks import Array
from uccurve.intervals import Intervals

from ._levels import DECILES, Options, level_of

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
        An xarray object has its draws along the dimensions ``chain``, ``draw`` or ``sample``; a mapping
        (``Predictive(...)`` of NumPyro) and an array have them on the first axis.
    name : str, optional
        Variable to take; needed where there are several.
    group : str
        Group of an ArviZ object, ``"predictions"`` for out-of-sample draws.
    level : float
        Probability between the two quantiles.
    **options
        `weight`, `min_band` and `missing` as in `Intervals.from_bounds`.

    Examples
    --------
    >>> iv = from_posterior([1.0], {"y": [[0.0], [1.0], [2.0], [3.0], [4.0]]}, level=0.5)
    >>> iv.y_pred.tolist(), iv.lower.tolist(), iv.upper.tolist()
    ([2.0], [1.0], [3.0])
    """
    return levels_from_posterior(y_true, draws, name=name, group=group, levels=[level], **options)[level_of(level)]


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
    return {level: Intervals.from_samples(observed, samples, level=level, **options) for level in names}


def _samples(draws: Any, name: str | None, group: str) -> tuple[Array, str | None]:
    """Draws on the first axis, and the name of their variable."""
    if _is_tree(draws):
        found = _groups(draws)
        if group not in found:
            raise ValueError(f"`draws` must have the group {group}: not found. It has {', '.join(found)}.")
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
        return np.asarray(draws), name
    numbering = [dim for dim in draws.dims if dim in DRAWS]
    if not numbering:
        raise ValueError(
            f"`draws` must have a dimension {', '.join(DRAWS[:-1])} or {DRAWS[-1]}; "
            f"it has {', '.join(map(str, draws.dims))}."
        )
    array = np.asarray(draws.transpose(*numbering, ...))
    return array.reshape(-1, *array.shape[len(numbering) :]), name


def _observed(draws: Any, name: str | None) -> Array:
    if not _is_tree(draws) or "observed_data" not in _groups(draws):
        raise ValueError("`y_true` must be given: `draws` have no group observed_data.")
    data = draws["observed_data"]
    if name not in data:
        raise ValueError(
            f"`y_true` must be given: {name!r} is not observed. Observed: {', '.join(map(str, data.data_vars))}."
        )
    return np.asarray(data[name])


def _is_tree(draws: Any) -> bool:
    """Whether it is ArviZ's InferenceData, or the DataTree that follows it."""
    return hasattr(draws, "children") or (hasattr(draws, "groups") and not hasattr(draws, "dims"))


def _groups(draws: Any) -> list[str]:
    return list(draws.children) if hasattr(draws, "children") else list(draws.groups())
