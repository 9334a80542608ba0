"""M x = r for one more right side, with the factors that `aba` left behind. O(n): one sweep each way.

leaf to root   u = r - Sᵀp,  p_λ += Xᵀ (p + U D⁻¹ u)
root to leaf   a' = X w_λ,  x = D⁻¹ (u - Uᵀ a'),  w = a' + S x

The second sweep is written where its twists w are needed: here are the steps of one joint.
"""

from linkwork.core.jit import inlined, routine
from linkwork.dynamics import aba
from linkwork.dynamics.aba import acceleration_general, lifted_efforts, times_dinv
from linkwork.dynamics.joint_solve import move_freedom, push_freedom
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import ARMATURE, DOF, HELICAL, KIND, PARENT, V
from linkwork.spatial.memory import load3, load6, load9
from linkwork.spatial.vectors import add6, dot6, scale6, twist_to_child, wrench_to_parent


@inlined
def bias_to_parent(tree, body, dof, i, right, p, work, dof_work):
    """u = r - Sᵀp, kept for the way back; returns p + U D⁻¹ u, what the parent is to get, in the body's frame.

    right: the right side in the rows of the joint, or the whole vector.
    """
    if tree[i, KIND] == HELICAL:
        s, U = helical_twist(body, i), load6(work, i, aba.U_)
        work[i, aba.U_SMALL], lifted = push_freedom(s, U, work[i, aba.DINV], right[tree[i, V]], p)
    else:
        lifted = lifted_general(tree, dof, i, right, p, dof_work)
    return lifted


@routine
def lifted_general(tree, dof, i, right, p, dof_work):
    j = tree[i, V]
    nd = tree[i, DOF]
    geared = False
    for d in range(nd):
        dof_work[j + d, aba.EFFORT_D] = right[j + d]
        geared = geared or dof[j + d, ARMATURE] != 0.0
    lift = p
    if nd == 6 and not geared:  # p + S⁻ᵀ(r - Sᵀp): what does not reach the parent is not added and taken away again
        lift = lifted_efforts(dof_work, j, nd)
    for d in range(nd):
        dof_work[j + d, aba.EFFORT_D] -= dot6(load6(dof_work, j + d, aba.S_D), p)
    if nd < 6 or geared:
        for d in range(nd):
            lift = add6(lift, scale6(dof_work[j + d, aba.EFFORT_D], times_dinv(dof_work, j, d, nd)))
    return lift


@inlined
def solved_twist(tree, body, i, above, work, dof_work, x):
    """Writes x in the rows of joint i; returns w = a' + S x. above: a' = X w_λ."""
    if tree[i, KIND] == HELICAL:
        j = tree[i, V]
        s, U = helical_twist(body, i), load6(work, i, aba.U_)
        x[j], w = move_freedom(s, U, work[i, aba.DINV], work[i, aba.U_SMALL], above)
    else:
        w = acceleration_general(tree, i, above, dof_work, x)
    return w


@inlined
def from_parent(tree, i, work, rows, column):
    """X times a twist of the parent, kept in a column of `rows`; zero above the base."""
    parent = tree[i, PARENT]
    found = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if parent >= 0:
        found = twist_to_child(load9(work, i, aba.R_), load3(work, i, aba.P_), load6(rows, parent, column))
    return found


@inlined
def to_parent(tree, i, work, F):
    """Xᵀ F"""
    return wrench_to_parent(load9(work, i, aba.R_), load3(work, i, aba.P_), F)
