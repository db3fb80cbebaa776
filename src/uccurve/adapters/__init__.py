"""Adapters: what other libraries predict, as Intervals.

``models_from_frame`` finds every model that the columns of a data frame name, and ``from_estimator`` asks a fitted
estimator. For what is neither, ``levels_from_X`` gives all levels of one model, as a dict from level to Intervals. All
of it goes into `assess` as it is. Each only translates: nothing is fitted or repaired, nothing is sorted unless
``crossing="sort"`` asks for it, rows are matched by position, and none imports the library it serves.
``interval_score``, ``half_width`` and ``factor`` are metrics for Nixtla's ``evaluate``, one number per series.
"""

from ._frame import models_from_frame
from ._libraries import factor, from_estimator, half_width, interval_score
from ._quantiles import SortedQuantilesWarning, levels_from_posterior, levels_from_quantiles

__all__ = [
    "SortedQuantilesWarning",
    "factor",
    "from_estimator",
    "half_width",
    "interval_score",
    "levels_from_posterior",
    "levels_from_quantiles",
    "models_from_frame",
]
