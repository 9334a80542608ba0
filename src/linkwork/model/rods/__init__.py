"""Rods and cables: their section and material, natural shape, ends, and the linkage that stands for them."""
