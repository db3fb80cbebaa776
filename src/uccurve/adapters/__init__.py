"""Adapters: what other libraries predict, as Intervals.

``from_X`` gives one interval per row, as `Intervals` (a frame that names many models: a dict from name to Intervals).
``levels_from_X`` gives all levels that X delivers, as a dict from level to Intervals for `UCC.from_levels`. Both go
into `assess` as they are, and so does what `models_from_frame` finds in any data frame. Each only translates: nothing
is fitted or repaired, nothing is sorted unless ``crossing="sort"`` asks for it, rows are matched by position, and none
imports the library it serves.
"""

from ._conformal import from_crepes, from_mapie, levels_from_crepes, levels_from_mapie
from ._distributions import from_posterior, from_scipy, levels_from_posterior, levels_from_scipy
from ._estimator import from_estimator
from ._frame import from_nixtla, levels_from_nixtla, models_from_frame
from ._levels import SortedQuantilesWarning
from ._quantiles import from_quantile_models, from_quantiles, levels_from_quantile_models, levels_from_quantiles
from ._skpro import from_skpro, levels_from_skpro
from ._statsmodels import from_statsmodels, levels_from_statsmodels

__all__ = [
    "SortedQuantilesWarning",
    "from_crepes",
    "from_estimator",
    "from_mapie",
    "from_nixtla",
    "from_posterior",
    "from_quantile_models",
    "from_quantiles",
    "from_scipy",
    "from_skpro",
    "from_statsmodels",
    "levels_from_crepes",
    "levels_from_mapie",
    "levels_from_nixtla",
    "levels_from_posterior",
    "levels_from_quantile_models",
    "levels_from_quantiles",
    "levels_from_scipy",
    "levels_from_skpro",
    "levels_from_statsmodels",
    "models_from_frame",
]
