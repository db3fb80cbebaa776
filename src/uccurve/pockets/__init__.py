"""Pockets: regions of the features where shipped intervals fail, found without being told where to look."""
