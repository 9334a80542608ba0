"""M x = r for one more right side, with the factors that `aba` left behind. O(n): one sweep each way.

leaf to root   u = r - Sᵀp,  p_λ += Xᵀ (p + U D⁻¹ u)
root to leaf   a' = X w_λ,  x = D⁻¹ (u - Uᵀ a'),  w = a' + S x

The second sweep is written where its twists w are needed: here are the steps of one joint, and the first sweep for a
linkage at rest, whose second one is the third of `aba`.
"""

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import (
    DINV,
    EFFORT_D,
    P_,
    R_,
    U_,
    U_SMALL,
    factors_of_joints,
    lifted_efforts,
    move_one,
    move_several,
)
from linkwork.dynamics.joint_solve import push_freedom, push_freedoms
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import ARMATURE, DOF, HELICAL, KIND, PARENT, V
from linkwork.spatial.memory import add_to6, load3, load6, load9
from linkwork.spatial.vectors import ZERO6, scale6, twist_to_child, wrench_to_parent


@inlined
def push_leaf_to_root(tree, body, work, dof_work, acting, column, effort):
    """The second sweep of a linkage at rest (c = 0) for efforts (nv,) and wrenches on bodies; the third is as it was.

    acting: wrenches, from `column` on; used up.
    """
    u = dof_work[:, EFFORT_D]
    for i in range(tree.shape[0] - 1, -1, -1):
        p = scale6(-1.0, load6(acting, i, column))
        j = tree[i, V]
        if tree[i, KIND] == HELICAL:
            work[i, U_SMALL], p = push_one(body, work, i, effort[j], p)
        else:
            for d in range(j, j + tree[i, DOF]):
                u[d] = effort[d]
            p = push_several(tree, i, p, dof_work, u)
        parent = tree[i, PARENT]
        if parent >= 0:
            f = wrench_to_parent(load9(work, i, R_), load3(work, i, P_), scale6(-1.0, p))
            add_to6(acting, parent, column, f)


@inlined
def push_one(body, work, i, effort, p):
    """u of joint i, and what body i passes on, in its own axes."""
    return push_freedom(helical_twist(body, i), load6(work, i, U_), work[i, DINV], effort, p)


@routine
def push_several(tree, i, p, dof_work, u):
    """What body i passes on; u (nv,) holds efforts before, u after."""
    S, U, D = factors_of_joints(dof_work)
    return push_freedoms(S, U, D, u, tree[i, V], tree[i, DOF], p)


@inlined
def bias_to_parent(tree, body, dof, i, right, p, work, dof_work):
    """u = r - Sᵀp, kept for the way back; returns p + U D⁻¹ u, what the parent is to get, in the body's frame.

    right: the right side in the rows of the joint, or the whole vector.
    """
    if tree[i, KIND] == HELICAL:
        work[i, U_SMALL], lifted = push_one(body, work, i, right[tree[i, V]], p)
    else:
        lifted = lifted_general(tree, dof, i, right, p, dof_work)
    return lifted


@routine
def lifted_general(tree, dof, i, right, p, dof_work):
    j = tree[i, V]
    nd = tree[i, DOF]
    passes_efforts_only = nd == 6
    for d in range(nd):
        dof_work[j + d, EFFORT_D] = right[j + d]
        passes_efforts_only = passes_efforts_only and dof[j + d, ARMATURE] == 0.0
    efforts = lifted_efforts(dof_work, j, nd).x if passes_efforts_only else ZERO6
    lift = push_several(tree, i, p, dof_work, dof_work[:, EFFORT_D])
    # p + S⁻ᵀ(r - Sᵀp): what does not reach the parent is not added and taken away again
    return efforts if passes_efforts_only else lift


@inlined
def solved_twist(tree, body, i, above, work, dof_work, x):
    """Writes x in the rows of joint i; returns w = a' + S x. above: a' = X w_λ."""
    if tree[i, KIND] == HELICAL:
        x[tree[i, V]], w = move_one(body, work, i, work[i, U_SMALL], above)
    else:
        w = move_several(tree, i, above, dof_work, x)
    return w


@inlined
def from_parent(tree, i, work, rows, column):
    """X times a twist of the parent, kept in a column of `rows`; zero above the base."""
    parent = tree[i, PARENT]
    found = ZERO6
    if parent >= 0:
        found = twist_to_child(load9(work, i, R_), load3(work, i, P_), load6(rows, parent, column))
    return found


@inlined
def to_parent(i, work, F):
    """Xᵀ F"""
    return wrench_to_parent(load9(work, i, R_), load3(work, i, P_), F)
