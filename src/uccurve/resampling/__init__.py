"""Resampling: bootstrap, permutation tests and confidence bands, for those who ask for them."""
