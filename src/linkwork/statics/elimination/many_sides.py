"""Several right sides of one static elimination at a time: what is known of a joint is read once for all of them.

With S, U and D of `statics/elimination/sweeps.py` and W = U D⁻¹, for efforts r on the joints

    leaf to root   u = r − Sᵀp,            p_λ += Xᵀ(p + W u)
    root to leaf   x = D⁻¹u − WᵀX V_λ,     V = X V_λ + S x

Columns of S, W and D⁻¹ are packed per degree of freedom, whatever the joint: sweeps over large linkages wait for memory.
"""

from linkwork.core.jit import kernel
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import DOF, HELICAL, KIND, PARENT, V
from linkwork.spatial.memory import add_to6, load3, load6, load9, store6
from linkwork.spatial.vectors import ZERO6, add6, dot6, scale6, twist_to_child, wrench_to_parent
from linkwork.statics.elimination.workspace import D_D, D_INVERSE, P_, R_, U_, U_D

S_, W_, INVERSE, PACKED_COLUMNS = 0, 6, 12, 18  # of one row per degree of freedom


@kernel
def pack_factors(arrays, place, work, packed):
    """packed (nv, 18) ← S, W = U D⁻¹ and the row of D⁻¹ of every degree of freedom, from the last elimination."""
    tree = arrays.tree
    for i in range(tree.shape[0]):
        j = tree[i, V]
        if tree[i, KIND] == HELICAL:
            inverse = work.body[i, D_INVERSE]
            store6(packed, j, S_, helical_twist(arrays.body, i))
            store6(packed, j, W_, scale6(inverse, load6(work.body, i, U_)))
            packed[j, INVERSE] = inverse
            continue
        for d in range(tree[i, DOF]):
            w = ZERO6
            for e in range(tree[i, DOF]):
                inverse = work.dof[j + d, D_D + e]
                packed[j + d, INVERSE + e] = inverse
                w = add6(w, scale6(inverse, load6(work.dof, j + e, U_D)))
            store6(packed, j + d, S_, load6(place.S, j + d, 0))
            store6(packed, j + d, W_, w)


@kernel
def solve_many(arrays, place, packed, r, wrenches, twists, x):
    """x (m, nv) for the rows of r (m, nv), which are overwritten by u; leaves the twists (n, 6 m) that bodies have in x.

    wrenches (n, 6 m): scratch.
    """
    tree = arrays.tree
    n, m = tree.shape[0], x.shape[0]
    for i in range(n):
        for k in range(m):
            store6(wrenches, i, 6 * k, ZERO6)
    for i in range(n - 1, -1, -1):
        parent, j, nd = tree[i, PARENT], tree[i, V], tree[i, DOF]
        R, place_in_parent = load9(place.pose, i, R_), load3(place.pose, i, P_)
        for k in range(m):
            p = load6(wrenches, i, 6 * k)
            carried = p
            for d in range(j, j + nd):
                r[k, d] -= dot6(load6(packed, d, S_), p)
                carried = add6(carried, scale6(r[k, d], load6(packed, d, W_)))
            if parent >= 0:
                add_to6(wrenches, parent, 6 * k, wrench_to_parent(R, place_in_parent, carried))
    for i in range(n):
        parent, j, nd = tree[i, PARENT], tree[i, V], tree[i, DOF]
        R, place_in_parent = load9(place.pose, i, R_), load3(place.pose, i, P_)
        for k in range(m):
            V_ = ZERO6
            if parent >= 0:
                V_ = twist_to_child(R, place_in_parent, load6(twists, parent, 6 * k))
            moved = V_
            for d in range(nd):
                y = -dot6(load6(packed, j + d, W_), V_)
                for e in range(nd):
                    y += packed[j + d, INVERSE + e] * r[k, j + e]
                x[k, j + d] = y
                moved = add6(moved, scale6(y, load6(packed, j + d, S_)))
            store6(twists, i, 6 * k, moved)
