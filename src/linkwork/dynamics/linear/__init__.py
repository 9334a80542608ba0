"""Small and dense linear systems inside kernels."""
