"""Nixtla: frames with columns MODEL, MODEL-lo-90 and MODEL-hi-90, of many models and levels at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from uccurve.intervals import Intervals

from ._frame import collected, levels_of
from ._levels import QuantileOptions, chosen
from ._names import model_columns

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame


def from_nixtla(
    frame: IntoFrame, *, y_true: str = "y", level: float | None = None, **options: Unpack[QuantileOptions]
) -> dict[str, Intervals]:
    """Intervals of every model in a StatsForecast, MLForecast, NeuralForecast or TimeGPT frame, by model.

    Parameters
    ----------
    frame : any data frame that narwhals knows
        Such as ``cross_validation(..., level=[90])`` returns, or forecasts joined with what came true.
    y_true : str
        Column of the observations.
    level : float, optional
        Which level to take, 0.9 for the columns ``-lo-90`` and ``-hi-90``; needed where there are several.
    **options
        As in `from_quantiles`.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"y": [1.5], "ETS": [1.0], "ETS-lo-90": [0.0], "ETS-hi-90": [3.0]})
    >>> {model: iv.upper.tolist() for model, iv in from_nixtla(frame).items()}
    {'ETS': [3.0]}
    """
    found = levels_from_nixtla(frame, y_true=y_true, **options)
    return {model: levels[chosen(levels, level)] for model, levels in found.items()}


def levels_from_nixtla(
    frame: IntoFrame, *, y_true: str = "y", **options: Unpack[QuantileOptions]
) -> dict[str, dict[float, Intervals]]:
    """Intervals of every model and level, by model and then level; parameters as in `from_nixtla`.

    Examples
    --------
    >>> import pandas as pd
    >>> data = {"y": 1.5, "ETS": 1.0, "ETS-lo-50": 0.5, "ETS-hi-50": 2.0, "ETS-lo-90": 0.0, "ETS-hi-90": 3.0}
    >>> {model: list(levels) for model, levels in levels_from_nixtla(pd.DataFrame([data])).items()}
    {'ETS': [0.5, 0.9]}
    """
    table = collected(frame, {"y_true": y_true})
    models = model_columns(table.columns, y=y_true)
    told = {name: one for name, one in models.items() if one.bounds and None not in one.levels}
    if not told:
        raise ValueError(
            "`frame` must have columns such as MODEL-lo-90 and MODEL-hi-90: none found. "
            f"It has {', '.join(table.columns)}."
        )
    y = table[y_true].to_numpy()
    return {name: levels_of(y, one, lambda name: table[name].to_numpy(), **options) for name, one in told.items()}
