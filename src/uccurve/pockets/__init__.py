"""Pockets: regions of the features where shipped intervals fail, found without being told where to look."""

from uccurve.pockets.find import pockets_of_sources

__all__ = ["pockets_of_sources"]
