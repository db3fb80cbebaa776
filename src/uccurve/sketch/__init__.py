"""Sketch: the curve of rows that do not fit into memory, from bins that any engine can compute."""
