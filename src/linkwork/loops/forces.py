"""The forces λ that keep loops closed: A λ = -(C a - b), A and a from any program that has the bodies at their ends.

C and b are the rows and biases of the constraints, A = C Λ Cᵀ with Λ how the end bodies respond to wrenches on each other,
and a their accelerations under all other loads. Rows that repeat others carry nothing, which is one solution of many.

x is any bundle with the arrays of `LoopRows`: that of Python (`factors`), or all arrays of the constraints of a simulation.
"""

import math
from typing import NamedTuple

from linkwork.core.bundles import Float1, Float2, Int1
from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.linear.semidefinite import factor_semidefinite, solve_semidefinite, span_idle

CONTRADICTION = 1e-3  # part of the accelerations involved that no force can meet, from which on there is no answer


class LoopRows(NamedTuple):
    """p rows, and what their forces are worked out with."""

    A: Float2  # (p, p)
    free: Float1  # (p,) diagonal if bodies were free of their joints
    right: Float1  # (p,) -(C a - b)
    force: Float1  # (p,) λ
    scale: Float1  # (p,) 1/√diagonal, zero where nothing moves
    order: Int1  # (p,) rows as they were eliminated
    left: Float1  # (p,) scratch of that
    L: Float2  # (p, p) factors; from row `rank` on forces that do nothing, where they were asked for
    rank: Int1  # (1,) rows that count


@routine
def factor_rows(x):
    """Factors A."""
    x.rank[0] = factor_semidefinite(x.A, x.free, x.scale, x.order, x.L, x.left)


@routine
def solve_rows(x):
    """force ← A⁺ right"""
    solve_semidefinite(x.scale, x.order, x.L, x.rank[0], x.right, x.force)


@routine
def contradiction(x):
    """Size of what is left of `right` with the forces found, in units of the diagonal, where anything moves."""
    total = 0.0
    for r in range(x.right.shape[0]):
        left = x.right[r]
        for c in range(x.right.shape[0]):
            left -= x.A[r, c] * x.force[c]
        total += (left * x.scale[r]) ** 2
    return math.sqrt(total)


@kernel
def factor_loops(x):
    """`factor_rows` from Python, and the forces that do nothing."""
    factor_rows(x)
    span_idle(x.scale, x.order, x.L, x.rank[0])


@kernel
def solve_loops(x):
    """`solve_rows` from Python: the forces of least norm."""
    solve_rows(x)
    take_out_idle(x)


@inlined
def take_out_idle(x):
    """Forces of least norm, from others that do the same."""
    p = x.force.shape[0]
    for c in range(x.rank[0], p):
        along = 0.0
        for r in range(p):
            along += x.L[c, r] * x.force[r]
        for r in range(p):
            x.force[r] -= along * x.L[c, r]
