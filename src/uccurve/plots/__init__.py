"""Plots: assessments, many curves, intervals before and after calibration, gains with their intervals, segments."""

from .charts import curves, gains, intervals, segments
from .figures import assessment

__all__ = ["assessment", "curves", "gains", "intervals", "segments"]
