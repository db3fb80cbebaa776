"""statsmodels: ``get_prediction().summary_frame()``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Unpack

import numpy as np
import numpy.typing as npt

from uccurve.intervals import Intervals, Options

from ._levels import DECILES, level_of

Bounds = Literal["obs_ci", "pi", "mean_ci"]


def from_statsmodels(
    y_true: npt.ArrayLike, frame: Any, *, bounds: Bounds | None = None, **options: Unpack[Options]
) -> Intervals:
    """Intervals from the frame of ``results.get_prediction(X).summary_frame(alpha=0.1)``.

    Parameters
    ----------
    y_true : array_like of shape (n,)
    frame : pandas.DataFrame
    bounds : {"obs_ci", "pi", "mean_ci"}, optional
        Which columns hold the bounds of the observation; by default ``obs_ci_lower`` and ``obs_ci_upper`` (linear and
        quantile regression), or ``pi_lower`` and ``pi_upper`` (exponential smoothing). Forecasts of state space models
        (ARIMA) name them ``mean_ci``, which elsewhere is the confidence interval of the mean, far too narrow for an
        observation; so it is only taken when asked for.
    **options
        `weight`, `min_band` and `missing` as in `Intervals.from_bounds`.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"mean": [1.0], "obs_ci_lower": [0.0], "obs_ci_upper": [3.0]})
    >>> from_statsmodels([1.5], frame).upper.tolist()
    [3.0]
    """
    found = [str(name) for name in getattr(frame, "columns", [])]
    if not found:
        raise TypeError(
            f"`frame` must be what summary_frame returns; got {type(frame).__name__}. "
            "Hint: call summary_frame(alpha=0.1)."
        )
    kinds = [bounds] if bounds else ["obs_ci", "pi"]
    kind = next((kind for kind in kinds if f"{kind}_lower" in found and f"{kind}_upper" in found), None)
    if kind is None or "mean" not in found:
        hint = ' Hint: for forecasts of state space models pass bounds="mean_ci".' if "mean_ci_lower" in found else ""
        raise ValueError(
            f"`frame` must have mean, {kinds[0]}_lower and {kinds[0]}_upper: not all found. "
            f"It has {', '.join(found)}.{hint}"
        )
    columns = (np.asarray(frame[name]) for name in ("mean", f"{kind}_lower", f"{kind}_upper"))
    return Intervals.from_bounds(y_true, *columns, **options)


def levels_from_statsmodels(
    y_true: npt.ArrayLike,
    prediction: Any,
    *,
    levels: Sequence[float] = DECILES,
    bounds: Bounds | None = None,
    **options: Unpack[Options],
) -> dict[float, Intervals]:
    """Intervals at each of the `levels` from the results of ``get_prediction(X)`` or ``get_forecast(steps)``.

    Its ``summary_frame`` is called once per level; other parameters as in `from_statsmodels`.
    """
    if not hasattr(prediction, "summary_frame"):
        raise TypeError(
            "`prediction` must have summary_frame, as the results of get_prediction have; "
            f"got {type(prediction).__name__}."
        )
    names = sorted(level_of(level, "levels") for level in levels)
    frames = {level: prediction.summary_frame(alpha=1 - level) for level in names}
    return {level: from_statsmodels(y_true, frame, bounds=bounds, **options) for level, frame in frames.items()}
