"""Sketch: the curve of rows that no memory holds, from bins that any engine can sum up."""
