"""Plots: many curves, intervals before and after calibration, gains with their intervals, segments."""

from .figures import assessment, curves, gains, intervals, segments

__all__ = ["assessment", "curves", "gains", "intervals", "segments"]
