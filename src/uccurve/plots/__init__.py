"""Plots: assessments, many curves, intervals before and after calibration, calibration, gains and segments."""

from .charts import calibration, curves, gains, intervals, pit, segments
from .figures import assessment

__all__ = ["assessment", "calibration", "curves", "gains", "intervals", "pit", "segments"]
