"""Vocabulary: the names and types that every module shares."""

from fractions import Fraction
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Metric = Literal["bandwidth", "miss_rate", "excess", "deficit", "overshoot"]
Axes = tuple[Metric, Metric]
METRICS: tuple[Metric, ...] = get_args(Metric)
FALLING: frozenset[Metric] = frozenset({"miss_rate", "deficit"})  # metrics that fall as bands widen
Vary = Literal["scale", "shift", "levels"]
Side = Literal["both", "upper", "lower"]  # which bounds of an interval are judged
Centre = Literal["prediction", "middle", "bound"]  # what bands are measured from
Support = tuple[float, float]  # what observations can be, from -inf to inf
Range = tuple[float, float]
Unit = str | float
Target = float | Fraction | None
HEADLINE: Axes = ("bandwidth", "miss_rate")
# The axes that every summary shows: the paper's headline, deficit vs. bandwidth and deficit vs. excess.
SUMMARY: tuple[Axes, ...] = (HEADLINE, ("bandwidth", "deficit"), ("excess", "deficit"))


class DroppedRowsWarning(UserWarning):
    """Rows with a missing value were dropped because ``missing="drop"`` asked for it."""
