"""M x = r for one more right side, with the factors that `aba` left behind. O(n): one sweep each way.

leaf to root   u = r - Sᵀp,  p_λ += Xᵀ (p + U D⁻¹ u)
root to leaf   a' = X w_λ,  x = D⁻¹ (u - Uᵀ a'),  w = a' + S x

The second sweep is written where its twists w are needed: here are the steps of one joint.
"""

from linkwork.core.jit import inlined, routine
from linkwork.dynamics import aba
from linkwork.dynamics.aba import lifted_efforts, move_one, move_several, push_one, push_several
from linkwork.model.layout import ARMATURE, DOF, HELICAL, KIND, PARENT, V
from linkwork.spatial.memory import load3, load6, load9
from linkwork.spatial.vectors import ZERO6, twist_to_child, wrench_to_parent


@inlined
def bias_to_parent(tree, body, dof, i, right, p, work, dof_work):
    """u = r - Sᵀp, kept for the way back; returns p + U D⁻¹ u, what the parent is to get, in the body's frame.

    right: the right side in the rows of the joint, or the whole vector.
    """
    if tree[i, KIND] == HELICAL:
        work[i, aba.U_SMALL], lifted = push_one(body, work, i, right[tree[i, V]], p)
    else:
        lifted = lifted_general(tree, dof, i, right, p, dof_work)
    return lifted


@routine
def lifted_general(tree, dof, i, right, p, dof_work):
    j = tree[i, V]
    nd = tree[i, DOF]
    passes_efforts_only = nd == 6
    for d in range(nd):
        dof_work[j + d, aba.EFFORT_D] = right[j + d]
        passes_efforts_only = passes_efforts_only and dof[j + d, ARMATURE] == 0.0
    efforts = lifted_efforts(dof_work, j, nd) if passes_efforts_only else ZERO6
    lift = push_several(tree, i, p, dof_work, dof_work[:, aba.EFFORT_D])
    # p + S⁻ᵀ(r - Sᵀp): what does not reach the parent is not added and taken away again
    return efforts if passes_efforts_only else lift


@inlined
def solved_twist(tree, body, i, above, work, dof_work, x):
    """Writes x in the rows of joint i; returns w = a' + S x. above: a' = X w_λ."""
    if tree[i, KIND] == HELICAL:
        x[tree[i, V]], w = move_one(body, work, i, work[i, aba.U_SMALL], above)
    else:
        w = move_several(tree, i, above, dof_work, x)
    return w


@inlined
def from_parent(tree, i, work, rows, column):
    """X times a twist of the parent, kept in a column of `rows`; zero above the base."""
    parent = tree[i, PARENT]
    found = ZERO6
    if parent >= 0:
        found = twist_to_child(load9(work, i, aba.R_), load3(work, i, aba.P_), load6(rows, parent, column))
    return found


@inlined
def to_parent(i, work, F):
    """Xᵀ F"""
    return wrench_to_parent(load9(work, i, aba.R_), load3(work, i, aba.P_), F)
