"""Plots: assessments, the curves of several models, and intervals before and after calibration."""

from .charts import curves, intervals
from .figures import assessment

__all__ = ["assessment", "curves", "intervals"]
