"""The joint calculus inside kernels."""
