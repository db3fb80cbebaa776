"""Levels: the curve of a model that delivers many levels of its own, its areas, gains and tests."""
