"""Corrections of a variational step by the inertia at its start, and what they leave.

K of the step (`discrete_newton`) is M / h and what bodies turn within the step. Where that is little, M at the start does
as well: symmetric, and eliminated by the sweeps of `aba` in a quarter of the time of K. With R what joints resist,

    (M + h R) δ = h (Jᵀ r + ρ)                                                                     (12)  docs/integrators.md

Each correction shrinks what is missing by a ratio that grows as joints turn per step. What the last one leaves, ρ, goes on
with the momenta of joints: no part of any momentum is lost, however far (5) is solved.
"""

import math

from linkwork.algebra.spatial import ZERO_TWIST, Wrench
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import (
    D_D,
    DINV,
    EFFORT_D,
    U_SMALL,
    accelerations_root_to_leaf,
    begin_body,
    inertias_leaf_to_root,
)
from linkwork.dynamics.one_more_right_side import push_leaf_to_root
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import ARMATURE, DOF, FREE, HELICAL, KIND, PARENT, V
from linkwork.simulation.integrators.variational.discrete_body import back, way_of
from linkwork.simulation.integrators.variational.discrete_newton import MISSING, P_D, ROW, S_0, TURN, pass_missing
from linkwork.simulation.moving import IMPULSE, OK, moving_of
from linkwork.spatial.memory import add_to6, load3, load4, load6
from linkwork.spatial.rotations import ZERO3, add3, cross3, sub3
from linkwork.spatial.vectors import add6, angular, dot6, join, linear, scale6

END_MOMENTUM = ROW  # column of `variational_work`: a body's momentum at the end of the step, once that is solved


@routine
def eliminate_inertia(table, h):
    """(12) for what is missing at q, with poses at the start in `work`: δ into qdd.

    Returns OK, or a body whose joint resists with nothing.
    """
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        begin_body(s.tree, s.body, s.work, i, ZERO_TWIST, Wrench(scale6(-h, load6(s.variational_work, i, MISSING))))
        j = s.tree[i, V]
        for k in range(j, j + s.tree[i, DOF]):
            s.effective_armature[k, ARMATURE] *= h
            s.dof_work[k, EFFORT_D] = h * s.joint_effort[k]
        if s.tree[i, KIND] == HELICAL:
            s.work[i, U_SMALL] = h * s.joint_effort[j]
    bad, _ = inertias_leaf_to_root(s.tree, s.body, s.effective_armature, s.work, s.dof_work)
    if bad >= 0:
        return bad
    accelerations_root_to_leaf(s.tree, s.body, ZERO3, s.work, s.dof_work, s.qdd)
    return OK


@routine
def correct_by_inertia(table, h):
    """The same with what `eliminate_inertia` left in `work`, for what is missing now."""
    s = moving_of(table)
    push_leaf_to_root(s.tree, s.body, s.work, s.dof_work, s.variational_work, MISSING, s.joint_effort)
    accelerations_root_to_leaf(s.tree, s.body, ZERO3, s.work, s.dof_work, s.qdd)
    for j in range(s.qdd.shape[0]):
        s.qdd[j] *= h


# --------------------------------------------------------------------------------------------------------- what is left


@inlined
def in_frame_at_end(turn, d, wrench):
    """A wrench in a body's frame at the start of the step, in that at its end."""
    f = linear(wrench)
    n = sub3(angular(wrench), cross3(d, f))
    other = back(turn)
    return join(add3(n, way_of(other, n)), add3(f, way_of(other, f)))


@routine
def carry_what_is_left(table, h, by_inertia):
    """What is left of the first of (5) goes on with the momenta at the end: of joints, or of a body that floats.

    Needs MISSING of all bodies at q, and `joint_effort` there. Returns about how far q is from the solution, by M.
    """
    s = moving_of(table)
    far = 0.0
    for i in range(s.tree.shape[0] - 1, -1, -1):
        parent = s.tree[i, PARENT]
        r = load6(s.variational_work, i, MISSING)
        j = s.tree[i, V]
        if s.tree[i, KIND] == HELICAL:
            rho = dot6(helical_twist(s.body, i), r) + s.joint_effort[j]
            s.stages[IMPULSE, j] += rho
            if by_inertia:
                far = max(far, abs(rho) * s.work[i, DINV])
        elif s.tree[i, KIND] == FREE and parent < 0:
            rho6 = add6(
                r,
                (
                    s.joint_effort[j],
                    s.joint_effort[j + 1],
                    s.joint_effort[j + 2],
                    s.joint_effort[j + 3],
                    s.joint_effort[j + 4],
                    s.joint_effort[j + 5],
                ),
            )
            turn = load4(s.variational_work, i, TURN)
            add_to6(s.variational_work, i, END_MOMENTUM, in_frame_at_end(turn, load3(s.variational_work, i, P_D), rho6))
        else:
            for d in range(s.tree[i, DOF]):
                rho = dot6(load6(s.variational_dof_work, j + d, S_0), r) + s.joint_effort[j + d]
                s.stages[IMPULSE, j + d] += rho
                if by_inertia:
                    far = max(far, abs(rho) * s.dof_work[j + d, D_D + d])
        if parent >= 0:
            pass_missing(s, i, parent, r)
    return h * far if math.isfinite(far) else math.inf
