"""Adapters: what other libraries predict, as Intervals.

``models_from_frame`` finds every model that the columns of a data frame name. For what is no such frame, ``from_X``
gives one interval per row, as `Intervals`, and where X delivers several levels at once ``levels_from_X`` gives all of
them, as a dict from level to Intervals. All of it goes into `assess` as it is. Each only translates: nothing is fitted
or repaired, nothing is sorted unless ``crossing="sort"`` asks for it, rows are matched by position, and none imports
the library it serves.
"""

from ._frame import models_from_frame
from ._levels import SortedQuantilesWarning
from ._libraries import (
    from_crepes,
    from_estimator,
    from_mapie,
    from_skpro,
    from_statsmodels,
    levels_from_mapie,
    levels_from_skpro,
)
from ._quantiles import (
    from_posterior,
    from_quantiles,
    from_scipy,
    levels_from_posterior,
    levels_from_quantiles,
    levels_from_scipy,
)

__all__ = [
    "SortedQuantilesWarning",
    "from_crepes",
    "from_estimator",
    "from_mapie",
    "from_posterior",
    "from_quantiles",
    "from_scipy",
    "from_skpro",
    "from_statsmodels",
    "levels_from_mapie",
    "levels_from_posterior",
    "levels_from_quantiles",
    "levels_from_scipy",
    "levels_from_skpro",
    "models_from_frame",
]
