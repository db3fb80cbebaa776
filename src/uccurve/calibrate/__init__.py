"""Calibrate: learn the scale or shift to ship, by itself or inside scikit-learn."""
