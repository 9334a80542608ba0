"""Anderson acceleration (1965) of sweeps x → g(x).   (11)

The next point is the combination of the last eight whose residuals f = g - x cancel best.
"""

import math

from linkwork.contact.solver.products import dot, dot_with
from linkwork.core.jit import routine

MEMORY = 8
SOFT = 1e-10  # of the trace of the normal equations: keeps them solvable when residuals are alike


@routine
def push_history(system, rows, x, g, depth, used):
    """Adds the differences of this sweep to the last; returns how many are kept. depth: sweeps since the last restart."""
    if depth > 0:
        slot = (depth - 1) % MEMORY
        for i in range(rows):
            f = g[i] - x[i]
            system.history_f[slot, i] = f - system.last_f[i]
            system.history_g[slot, i] = g[i] - system.last_g[i]
        used = min(used + 1, MEMORY)
        for k in range(used):
            product = dot(system.history_f, slot, system.history_f, k, rows)
            system.gram[slot, k] = product
            system.gram[k, slot] = product
    for i in range(rows):
        system.last_f[i] = g[i] - x[i]
        system.last_g[i] = g[i]
    return used


@routine
def combine(system, rows, used, out):
    """out = g - Σ γ Δg, with γ from least squares Σ γ Δf ≈ f; False where the equations fail."""
    A, F = system.small, system.history_f
    trace = 0.0
    for i in range(used):
        for j in range(i + 1):
            A[i, j] = system.gram[i, j]
        trace += A[i, i]
        A[8, i] = dot_with(F, i, system.last_f, rows)
    if not trace > 0.0:
        return False
    for i in range(used):
        A[i, i] += SOFT * trace
        for j in range(i + 1):
            value = A[i, j]
            for k in range(j):
                value -= A[i, k] * A[j, k]
            if i == j:
                if value <= 0.0:
                    return False
                A[i, i] = math.sqrt(value)
            else:
                A[i, j] = value / A[j, j]
        for k in range(i):
            A[8, i] -= A[i, k] * A[8, k]
        A[8, i] /= A[i, i]
    for i in range(used - 1, -1, -1):
        for k in range(i + 1, used):
            A[8, i] -= A[k, i] * A[8, k]
        A[8, i] /= A[i, i]
    for k in range(rows):
        out[k] = system.last_g[k]
    for i in range(used):
        for k in range(rows):
            out[k] -= A[8, i] * system.history_g[i, k]
    return True
