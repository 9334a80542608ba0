"""What joints carry, and joints whose motion is given: reactions and hybrid dynamics, by divide and conquer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import dimensions, shown
from linkwork.dynamics.api import checked_or_aba, dca_solver, solve_dca, virtual_work_solver
from linkwork.dynamics.dca.nodes import H_C
from linkwork.dynamics.dca.solver import DcaSolver
from linkwork.dynamics.digits import is_delicate, joint_wrenches, refuse_lost_digits
from linkwork.dynamics.inputs import (
    as_effort,
    as_finite,
    as_model,
    as_state,
    as_wrenches,
    explain_failure,
    refuse_loops,
)
from linkwork.errors import StateError
from linkwork.model import layout
from linkwork.model.kernels.joint_kernels import helical_twist
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
    """`lw.joint_reactions` of a tree: `loops.reactions`, which says more, asks this one. Cost: O(n)."""
    refuse_loops(as_model(model, "joint_reactions"), "joint_reactions")
    q, v = as_state(model, state)
    load, external = as_effort(model, effort), as_wrenches(model, wrenches)
    if not isinstance(algorithm, str) or algorithm not in ("dca", "virtual_work"):
        raise StateError(f"joint_reactions knows no algorithm {shown(algorithm)}; choose dca or virtual_work.")

    def solve() -> FloatArray:
        if algorithm == "dca":
            return solve_dca(dca_solver(model), q, v, load, external)
        return virtual_work_solver(model).accelerations(q, v, load, external)

    if is_delicate(model, merges_welds=True):
        has_passed, qdd = checked_or_aba(model, algorithm, solve, q, v, load, external)
        if not has_passed:
            return joint_wrenches(model, q, v, external, qdd)
    else:
        solve()
    return dca_solver(model).reactions() if algorithm == "dca" else virtual_work_solver(model).reactions()


def hybrid_dynamics(
    model: Model,
    state: State,
    prescribed: Mapping[str, ArrayLike],
    effort: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Some joints follow given accelerations, the others their efforts.

    prescribed: acceleration [rad/s² or m/s²] by joint name, a number or an array of the joint's degrees of freedom.
    effort, wrenches: as in `forward_dynamics`; efforts given for prescribed joints are not used.
    Returns (acceleration, effort), each of shape (nv,): accelerations of all joints, and the efforts that cause them on top
    of springs and dampers, so that `forward_dynamics` with these efforts gives these accelerations.
    Cost: O(n).
    """
    refuse_loops(as_model(model, "hybrid_dynamics"), "hybrid_dynamics")
    q, v = as_state(model, state)
    given = as_effort(model, effort)
    external = as_wrenches(model, wrenches)
    tree = model.arrays.tree.copy()
    qdd = np.zeros(model.nv)
    joints = []
    if not isinstance(prescribed, Mapping):
        raise StateError(f"prescribed must be a mapping from joint names to accelerations, not {shown(prescribed)}.")
    for name, value in prescribed.items():
        i = model.joint(name)
        rows = model.v_slice(i)
        given_value: Any = [value] if dimensions(value) == 0 else value
        qdd[rows] = as_finite(given_value, (rows.stop - rows.start,), f"prescribed['{name}']", model)
        tree[i, layout.KIND], tree[i, layout.DOF] = layout.FIXED, 0
        joints.append(i)
    tree.setflags(write=False)
    solver = dca_solver(model)
    solver.prepare(q, v, given, external, tree)
    for i in joints:
        solver.joint_data[i, H_C : H_C + 6] += subspace(solver, i) @ qdd[model.v_slice(i)]
    bad = solver.assemble()
    solver.substitute(qdd)
    if bad >= 0 or not np.isfinite(qdd.sum()):
        raise explain_failure(model, "dca", bad, {"state.q": q, "state.v": v, "effort": given}, external)
    used = np.zeros(model.nv) if given.size == 0 else given.copy()
    reactions = solver.reactions()
    for i in joints:
        rows = model.v_slice(i)
        passive = solver.effort_sum[rows] - (given[rows] if given.size else 0.0)
        armature = model.arrays.dof[rows, layout.ARMATURE]
        used[rows] = subspace(solver, i).T @ reactions[i] + armature * qdd[rows] - passive
    refuse_lost_digits(model, "hybrid_dynamics", q, v, used, external, qdd)
    return qdd, used


def subspace(solver: DcaSolver, i: int) -> FloatArray:
    """Motion subspace of joint i at the prepared state, shape (6, d)."""
    if solver.model.arrays.tree[i, layout.KIND] == layout.HELICAL:
        return np.array(helical_twist(solver.model.arrays.body, i)).reshape(6, 1)
    return solver.S[solver.model.v_slice(i)].T
