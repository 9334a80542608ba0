"""The joint-space inertia matrix by composite rigid bodies (Walker and Orin 1982, method 3): O(n depth).

leaf to root   I_λ += Xᵀ I X                  (ten numbers per body)
each joint     F = I S,  M_jj = SᵀF,  then up the path: F ← Xᵀ F,  M_kj = S_kᵀ F
"""

from linkwork.core.jit import inlined, kernel
from linkwork.model.kernels.joint_kernels import body_pose, joint_motion
from linkwork.model.layout import ARMATURE, DOF, INERTIA, PARENT, V
from linkwork.spatial.inertia import rigid_times_twist, rigid_to_parent
from linkwork.spatial.memory import load3, load6, load9, load10, store3, store9, store10
from linkwork.spatial.vectors import dot6, wrench_to_parent

R_, P_, COMPOSITE = 0, 9, 12
BODY_WORK = 22


@inlined
def composites_leaf_to_root(tree, body, screws, q, v, work, S):
    n = tree.shape[0]
    for i in range(n):
        R, p = body_pose(tree, body, screws, i, q)
        joint_motion(tree, body, screws, i, q, v, S)
        store9(work, i, R_, R)
        store3(work, i, P_, p)
        store10(work, i, COMPOSITE, load10(body, i, INERTIA))
    for i in range(n - 1, -1, -1):
        parent = tree[i, PARENT]
        if parent >= 0:
            moved = rigid_to_parent(load9(work, i, R_), load3(work, i, P_), load10(work, i, COMPOSITE))
            for c in range(10):
                work[parent, COMPOSITE + c] += moved[c]


@kernel
def composite_rigid_bodies(tree, body, screws, dof, q, v, work, S, M):
    """Writes the symmetric mass matrix into M (nv, nv)."""
    composites_leaf_to_root(tree, body, screws, q, v, work, S)
    n = tree.shape[0]
    M[:] = 0.0
    for i in range(n):
        j = tree[i, V]
        for d in range(tree[i, DOF]):
            F = rigid_times_twist(load10(work, i, COMPOSITE), load6(S, j + d, 0))
            M[j + d, j + d] += dof[j + d, ARMATURE]
            k = i
            while k >= 0:
                m = tree[k, V]
                for e in range(tree[k, DOF]):
                    x = dot6(load6(S, m + e, 0), F)
                    if k == i:
                        M[j + d, m + e] += x
                    else:
                        M[j + d, m + e] = x
                        M[m + e, j + d] = x
                F = wrench_to_parent(load9(work, k, R_), load3(work, k, P_), F)
                k = tree[k, PARENT]


@kernel
def composite_sizes(tree, body, screws, q, v, work, S, size):
    """Writes |ω|² tr I + |v|² m of what hangs from each joint into `size` (nv,): M_jj before anything cancels in it."""
    composites_leaf_to_root(tree, body, screws, q, v, work, S)
    for i in range(tree.shape[0]):
        j = tree[i, V]
        m, _, _, _, xx, _, _, yy, _, zz = load10(work, i, COMPOSITE)
        for d in range(tree[i, DOF]):
            s = load6(S, j + d, 0)
            turning = s[0] * s[0] + s[1] * s[1] + s[2] * s[2]
            size[j + d] = turning * (xx + yy + zz) + (s[3] * s[3] + s[4] * s[4] + s[5] * s[5]) * m
