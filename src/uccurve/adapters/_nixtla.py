"""Nixtla: frames with columns MODEL, MODEL-lo-90 and MODEL-hi-90, of many models and levels at once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Unpack

from uccurve._checks import as_written
from uccurve._frames import columns
from uccurve.intervals import Intervals

from ._levels import Options, bounded, chosen

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

_BOUND = re.compile(r"(?P<model>.+)-(?P<side>lo|hi)-(?P<level>\d+(?:\.\d+)?)")
_Sides = dict[str, str]


def from_nixtla(
    frame: IntoFrame, *, y_true: str = "y", level: float | None = None, **options: Unpack[Options]
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
        `weight`, `min_band` and `missing` as in `Intervals.from_bounds`.

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
    frame: IntoFrame, *, y_true: str = "y", **options: Unpack[Options]
) -> dict[str, dict[float, Intervals]]:
    """Intervals of every model and level, by model and then level; parameters as in `from_nixtla`.

    Examples
    --------
    >>> import pandas as pd
    >>> data = {"y": 1.5, "ETS": 1.0, "ETS-lo-50": 0.5, "ETS-hi-50": 2.0, "ETS-lo-90": 0.0, "ETS-hi-90": 3.0}
    >>> {model: list(levels) for model, levels in levels_from_nixtla(pd.DataFrame([data])).items()}
    {'ETS': [0.5, 0.9]}
    """
    found = _names(frame)
    out = {}
    for model, levels in _bounds(found).items():
        point = next((name for name in (model, f"{model}-median") if name in found), model)
        roles = {"y_true": y_true, "y_pred": point}
        roles |= {f"{side} {level}": column for level, sides in levels.items() for side, column in sides.items()}
        data = columns(frame, roles)
        bounds = {level: (data[f"lo {level}"], data[f"hi {level}"]) for level in levels}
        out[model] = bounded(data["y_true"], data["y_pred"], bounds, options)
    return out


def _names(frame: IntoFrame) -> list[str]:
    import narwhals as nw

    try:
        return nw.from_native(frame).collect_schema().names()
    except TypeError:
        raise TypeError(f"`frame` must be a data frame that narwhals knows; got {type(frame).__name__}.") from None


def _bounds(found: list[str]) -> dict[str, dict[float, _Sides]]:
    """Return, for each model and level, the names of its two columns."""
    models: dict[str, dict[float, _Sides]] = {}
    for column in found:
        if match := _BOUND.fullmatch(column):
            level = float(as_written(float(match["level"])) / 100)
            models.setdefault(match["model"], {}).setdefault(level, {})[match["side"]] = column
    if not models:
        raise ValueError(
            f"`frame` must have columns such as MODEL-lo-90 and MODEL-hi-90: none found. It has {', '.join(found)}."
        )
    for levels in models.values():
        for sides in levels.values():
            if len(sides) == 1:
                ((side, column),) = sides.items()
                other = {"lo": "-hi-", "hi": "-lo-"}[side].join(column.rsplit(f"-{side}-", 1))
                raise ValueError(
                    f"`frame` must have both bounds of a level: {column} has no {other}. It has {', '.join(found)}."
                )
    return models
