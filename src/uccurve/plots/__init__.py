"""Plots: assessments, the curves of several models, and intervals before and after calibration."""

from .figures import assessment, curves, intervals

__all__ = ["assessment", "curves", "intervals"]
