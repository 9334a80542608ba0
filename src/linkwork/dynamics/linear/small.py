"""Small dense systems inside kernels: Cholesky factors of at most 6x6, in rows of a workspace."""

import math

from linkwork.core.jit import routine

# A pivot below this part of its diagonal entry is rounding: some ten ulp of the sums that made it, not an inertia.
SINGULAR = 1e-14


@routine
def invert_small(D, j, d):
    """Replaces the symmetric positive definite block D[j:j+d, 0:d] by its inverse; False if it is not definite."""
    for c in range(d):  # Cholesky, lower triangle in place
        whole = D[j + c, c]
        pivot = whole
        for k in range(c):
            pivot -= D[j + c, k] * D[j + c, k]
        if not pivot > SINGULAR * whole:
            return False
        inverse = 1.0 / math.sqrt(pivot)
        D[j + c, c] = inverse  # of the factor: nothing is divided by it
        for r in range(c + 1, d):
            x = D[j + r, c]
            for k in range(c):
                x -= D[j + r, k] * D[j + c, k]
            D[j + r, c] = x * inverse
    for c in range(d):  # inverse of the factor, in place
        for r in range(c + 1, d):
            x = 0.0
            for k in range(c, r):
                x -= D[j + r, k] * D[j + k, c]
            D[j + r, c] = x * D[j + r, r]
    for r in range(d):  # L⁻ᵀ L⁻¹, upper triangle first, then mirrored
        for c in range(r, d):
            x = 0.0
            for k in range(c, d):
                x += D[j + k, r] * D[j + k, c]
            D[j + r, c] = x
    for r in range(d):
        for c in range(r):
            D[j + r, c] = D[j + c, r]
    return True
