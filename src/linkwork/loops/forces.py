"""The forces λ that keep loops closed: A λ = -(C a - b), A and a whatever programs know of the bodies at their ends.

C and b are the rows and biases of a `LoopSystem`, A = C Λ Cᵀ with Λ how the end bodies answer wrenches on each other,
and a their accelerations under all other loads. Rows that repeat others carry nothing (`minimal_norm`).
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.core.arrays import FloatArray
from linkwork.loops.minimal_norm import Factors, factor
from linkwork.loops.system import LoopSystem


class LoopForces(NamedTuple):
    """λ, and what it was solved from."""

    force: FloatArray  # (p,) λ
    unmet: FloatArray  # (p,) accelerations that λ takes away
    factors: Factors


def solve_loops(
    system: LoopSystem, A: FloatArray, accelerations: FloatArray, wanted: FloatArray | float = 0.0
) -> LoopForces:
    """A: (p, p), symmetric. accelerations: (6 m,), of the joined bodies. wanted: (p,), what C a - b is to be, negative."""
    factors = factor(A, system.free_answers())
    unmet = system.C @ accelerations - system.bias + wanted
    return LoopForces(-factors.solve(unmet), unmet, factors)
