"""What joints carry, in trees and in linkages with loops."""

from __future__ import annotations

from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.inputs import as_model
from linkwork.dynamics.quantities import reactions
from linkwork.loops.constrained import constrained_dynamics
from linkwork.model.model import Model
from linkwork.model.state import State


def joint_reactions(
    model: Model,
    state: State,
    effort: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    *,
    algorithm: str = "dca",
) -> FloatArray:
    """The wrench each joint passes to the body it carries, constraint and effort together.

    effort, wrenches: as in `forward_dynamics`.
    algorithm: "dca", or "virtual_work", whose unknowns they are.
    Returns wrenches [n; f] [N·m, N] in each body's frame at its origin, shape (n, 6). Sᵀ times it is the joint's effort
    with springs and dampers, less armature q̈. Compile with merge_fixed=False to see the reactions of welds.
    Loops must be closed; what their joints carry is in `lw.constrained_dynamics(...).reactions`, and acts here as a load.
    Cost: O(n), and with p loop constraints O(p² log n + p³) more.
    """
    if not as_model(model, "joint_reactions").is_constrained:
        return reactions.joint_reactions(model, state, effort, wrenches, algorithm=algorithm)
    solution = constrained_dynamics(model, state, effort, wrenches)
    return reactions.joint_reactions(
        model.without_loops, state, solution.effort, solution.wrenches, algorithm=algorithm
    )
