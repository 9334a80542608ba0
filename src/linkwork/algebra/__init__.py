"""Spatial algebra as values with operators, in kernels and in Python alike."""
