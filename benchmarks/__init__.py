"""How fast uccurve is, as ratios measured in one run: ``python -m benchmarks``."""
