"""Quantiles and draws: central intervals by level, and what becomes of quantiles that cross."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Literal, Unpack

import numpy as np
import numpy.typing as npt

from uccurve import _refusals as checks
from uccurve._arrays import Flags
from uccurve._door import SWAP, draw_quantiles, first_axis, floats, outside
from uccurve._refusals import Hint, Rule, as_written
from uccurve._scoring import refuse_crossing
from uccurve._vocabulary import Array, Side
from uccurve.intervals import Intervals, Options

from ._names import told_quantile

Crossing = Literal["raise", "sort"]
OneSide = Literal["upper", "lower"]
# Levels asked of a model that has a whole distribution.
DECILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
DRAWS = ("chain", "draw", "sample")  # dimensions of xarray that number draws


class SortedQuantilesWarning(UserWarning):
    """Crossing quantiles were put in ascending order because ``crossing="sort"`` asked for it."""


SORT = Hint("pass {crossing} to put them in order", {"crossing": "sort"})
CROSSED = Rule("lower", "not exceed `upper`", ("does", "do"), SORT, SWAP)


class QuantileOptions(Options, total=False):
    """Those of `Intervals.from_bounds`, and what happens to quantiles that cross."""

    crossing: Crossing


def levels_from_quantiles(
    y_true: npt.ArrayLike,
    quantiles: Any,
    *,
    y_pred: npt.ArrayLike | None = None,
    **options: Unpack[QuantileOptions],
) -> dict[float, Intervals]:
    """Central intervals of every pair of quantiles, by level.

    Parameters
    ----------
    y_true : array_like
    quantiles : mapping from quantile level to array_like
        Levels are numbers, or names as libraries write them, such as ``"0.05"`` or ``"sales_q0.05"``. Fitted quantile
        models are ``{q: model.predict(X) for q, model in models.items()}``; an array with one column per quantile
        is ``dict(zip([0.05, 0.5, 0.95], array.T))``. Many forecasts of GluonTS, of quantiles or of samples, are
        ``{q: np.concatenate([f.quantile(q) for f in forecasts]) for q in (0.05, 0.5, 0.95)}``.
    y_pred : array_like, optional
        By default the median, which then must be among the quantiles.
    **options
        `weight`, `min_band`, `missing` and `side` as in `Intervals.from_bounds`. Quantiles that cross are refused, or
        put in ascending order with ``crossing="sort"`` and a warning that counts the rows.

    Returns
    -------
    dict from float to Intervals
        As `assess` takes it. The level 0.9 lies between the quantiles 0.05 and 0.95; with ``side="upper"`` each
        quantile above the median is a level.

    Examples
    --------
    >>> quantiles = {0.05: [0.0], 0.25: [1.0], 0.5: [2.0], 0.75: [4.0], 0.95: [9.0]}
    >>> {level: iv.upper.tolist() for level, iv in levels_from_quantiles([3.0], quantiles).items()}
    {0.5: [4.0], 0.9: [9.0]}
    """
    if not hasattr(quantiles, "keys"):
        raise TypeError(
            f"`quantiles` must map each quantile level to its values; got {type(quantiles).__name__}. "
            "Hint: dict(zip([0.05, 0.5, 0.95], array)), or array.T where each column is a quantile."
        )
    given = dict(quantiles)
    values = {_named_level(name): column for name, column in given.items()}
    if len(values) < len(given):
        raise ValueError(f"quantiles must not repeat; got {', '.join(map(str, given))}.")
    side = options.get("side")
    if side is not None and side != "both":
        return _of_one_side(y_true, values, side, y_pred, options)
    bounds = {level: (values[low], values[high]) for level, (low, high) in pairs(values).items()}
    if y_pred is None and 0.5 not in values:
        raise ValueError(
            "`y_pred` must be given: there is no median (level 0.5) among the quantiles."
        )
    return bounded(
        y_true, values[0.5] if y_pred is None else y_pred, bounds, median=y_pred is None, **options
    )


def _of_one_side(
    y_true: npt.ArrayLike,
    values: Mapping[float, Any],
    side: Side,
    y_pred: npt.ArrayLike | None,
    options: QuantileOptions,
) -> dict[float, Intervals]:
    """Bounds of one side by the coverage that each promises: 0.95 for the quantile 0.95 above, or 0.05 below."""
    bounds: dict[float, tuple[Any, Any]] = {}
    for quantile, column in values.items():
        if quantile > 0.5 and side == "upper":
            bounds[quantile] = (None, column)
        elif quantile < 0.5 and side == "lower":
            bounds[float(1 - as_written(quantile))] = (column, None)
    if not bounds:
        where = "above" if side == "upper" else "below"
        listed = ", ".join(f"{quantile:g}" for quantile in values)
        raise ValueError(
            f'`side="{side}"` needs a quantile {where} the median; got {listed}. Hint: leave `side` out.'
        )
    centre = values.get(0.5) if y_pred is None else y_pred
    if centre is None and len(bounds) > 1:
        raise ValueError(
            "`y_pred` must be given: several quantiles of one side are measured from it, and there is no median."
        )
    return bounded(y_true, centre, bounds, median=y_pred is None and centre is not None, **options)


def levels_from_posterior(
    y_true: npt.ArrayLike,
    draws: Any,
    *,
    levels: Sequence[float] = DECILES,
    **options: Unpack[Options],
) -> dict[float, Intervals]:
    """Central intervals of posterior predictive draws, around their median, by level.

    Parameters
    ----------
    y_true : array_like
    draws : DataArray or array_like
        One variable, such as ``data.posterior_predictive["y"]`` of ArviZ, whose observations are
        ``data.observed_data["y"]``, or ``Predictive(...)(key, x)["y"]`` of NumPyro. An xarray object has its draws
        along the dimensions ``chain``, ``draw`` or ``sample``, as ``series.data_array()`` of darts has them; an array
        (``forecast.samples`` of GluonTS) has them on the first axis.
    levels : sequence of float
        Probabilities between two quantiles.
    **options
        `weight`, `min_band` and `missing` as in `Intervals.from_bounds`.

    Notes
    -----
    Between two quantiles of m draws (as numpy defines them) a further draw lies with a probability of about
    ``level * (m - 1) / (m + 1)``: 87% instead of 90% for 60 draws. So few draws make intervals that are too narrow even
    where the distribution is right, and the assessment says so.

    Examples
    --------
    >>> levels = levels_from_posterior(
    ...     [1.0], [[0.0], [1.0], [2.0], [3.0], [4.0]], levels=[0.5, 0.75]
    ... )
    >>> {level: (iv.lower.tolist(), iv.upper.tolist()) for level, iv in levels.items()}
    {0.5: ([1.0], [3.0]), 0.75: ([0.5], [3.5])}
    """
    if isinstance(draws, Mapping):  # also Dataset, DataTree and InferenceData
        raise TypeError(
            f"`draws` must be an array; got {type(draws).__name__}. Hint: choose the variable, such as "
            'data.posterior_predictive["y"].'
        )
    if hasattr(draws, "dims"):
        numbering = [dim for dim in draws.dims if dim in DRAWS]
        if not numbering:
            has = ", ".join(map(str, draws.dims))
            raise ValueError(f"`draws` must have a dimension chain, draw or sample; it has {has}.")
        array = np.asarray(draws.transpose(*numbering, ...))
        draws = array.reshape(-1, *array.shape[len(numbering) :])
    below = [(1 - as_written(level_of(level, "levels"))) / 2 for level in levels]
    points = sorted({0.5, *(float(q) for lower in below for q in (lower, 1 - lower))})
    samples = first_axis("draws", draws, np.shape(y_true))
    quantiles = draw_quantiles(samples, points, options.get("missing"))
    return levels_from_quantiles(y_true, dict(zip(points, quantiles, strict=True)), **options)


def level_of(value: Any, name: str = "level") -> float:
    """Return a level as the float a person would write, 0.9 for 0.9 and for the text "0.9"."""
    if isinstance(value, str):
        with suppress(ValueError):  # which is refused as what it is
            value = float(value)
    return float(checks.proportion(name, value))


def _named_level(key: Any) -> float:
    """Return the level behind a number or a name such as "0.05", "p5" or "sales_q0.05"."""
    level = told_quantile(key) if isinstance(key, str) else key
    if level is None:
        raise ValueError(
            f"`quantiles` must have levels such as 0.05, '0.05' or 'sales_q0.05'; {key!r} is none. "
            "Hint: leave a mean out, or pass it as y_pred."
        )
    return level_of(level, "quantiles")


def pairs(quantiles: Collection[float]) -> dict[float, tuple[float, float]]:
    """Return the two quantiles of each central level in rising order; the median stands alone.

    >>> pairs([0.05, 0.25, 0.5, 0.75, 0.95])
    {0.5: (0.25, 0.75), 0.9: (0.05, 0.95)}
    """
    partner = {q: float(1 - as_written(q)) for q in sorted(quantiles, reverse=True)}
    alone = next((q for q in quantiles if partner[q] not in partner), None)
    if alone is not None:
        raise ValueError(
            f"quantiles must come in pairs q and 1 - q: {alone:g} has no {partner[alone]:g}. "
            f"Given: {', '.join(f'{q:g}' for q in quantiles)}. "
            'Hint: leave it out, add the other, or judge one side by side="upper" or side="lower".'
        )
    lower = [q for q in partner if q < 0.5]
    if not lower:
        raise ValueError(
            "quantiles must hold at least one pair q and 1 - q; there is the median only."
        )
    return {float(1 - 2 * as_written(q)): (q, partner[q]) for q in lower}


def bounded(
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike | None,
    bounds: Mapping[float, tuple[Any, Any]],
    *,
    median: bool = False,
    who: str = "",
    crossing: Crossing = "raise",
    **options: Unpack[Options],
) -> dict[float, Intervals]:
    """Intervals of each level, all of the same rows; `median` says that the prediction is one of the quantiles.

    Where there is one side only, the other bounds are None.
    """
    checks.choice("crossing", crossing, ("raise", "sort"))
    levels = sorted(bounds)
    below = [floats("lower", bounds[level][0]) for level in levels if bounds[level][0] is not None]
    above = [floats("upper", bounds[level][1]) for level in levels if bounds[level][1] is not None]
    centre = None if y_pred is None else floats("y_pred", y_pred)
    middle = [centre] if median and centre is not None else []
    quantiles = [*reversed(below), *middle, *above]
    # Shapes that differ are refused below, by their names.
    if len({column.shape for column in quantiles}) == 1:
        if crossing == "sort":
            quantiles = _in_order(quantiles, who)
            below = quantiles[: len(below)][::-1]
            above = quantiles[len(quantiles) - len(above) :]
            centre = quantiles[len(below)] if middle else centre
        elif middle and options.get("min_band") is None:
            refuse_crossing("quantiles", quantiles, SORT)
        elif below and above:
            _refuse_swapped(below, above)
        if options.get("missing") == "drop":  # a row that lacks one level is left out of all
            y_true = np.where(missing_in(quantiles), np.nan, floats("y_true", y_true))
    none = [None] * len(levels)
    rest: Any = {name: value for name, value in options.items() if name != "side"}
    intervals: dict[float, Intervals] = {}
    for level, low, high in zip(levels, below or none, above or none, strict=True):
        is_quantile = (low is None or high is None) and level >= 0.5
        if not is_quantile:
            intervals[level] = Intervals.from_bounds(y_true, centre, low, high, **options)
            continue
        side: OneSide = "upper" if low is None else "lower"
        bound: Any = high if low is None else low
        intervals[level] = Intervals.from_quantile(
            y_true, bound, level=level, y_pred=centre, side=side, **rest
        )
    return intervals


def _refuse_swapped(lower: Sequence[Array], upper: Sequence[Array]) -> None:
    """Refuse bounds in the wrong order, level by level."""
    for low, high in zip(lower, upper, strict=True):
        if low.shape == high.shape:
            first = partial(_both, low, high)
            checks.rows(low > high, CROSSED, first)


def _both(low: Array, high: Array, at: Any) -> str:
    return f"{low[at]!s} > {high[at]!s}"


def missing_in(columns: Sequence[Array]) -> Flags:
    """Whether any of the columns lacks a number, row by row."""
    flags: Flags = np.logical_or.reduce([~np.isfinite(column) for column in columns])
    return flags


def _in_order(quantiles: Sequence[Array], who: str) -> list[Array]:
    """Return quantiles in ascending order within each row, and say in how many rows they were not."""
    given = np.stack(quantiles)
    found = np.sort(given, axis=0)
    crossed = (found != given).any(axis=0) & ~missing_in(quantiles)
    per_row = crossed.reshape(len(crossed), -1).any(axis=1)
    if per_row.any():
        message = f"{who}sorted crossing quantiles in {int(per_row.sum())} of {len(per_row)} rows"
        warnings.warn(message, SortedQuantilesWarning, stacklevel=outside())
    return list(found)
