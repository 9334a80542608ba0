"""The way back through one node of the assembly tree: accelerations and wrenches from the factors that `nodes` left.

    y = P21 f1 - Φ12ᴮ f2 + β     t = L⁻¹y     q̈ = N⁻¹(Q - sᵀD⁻¹t)     f = L⁻ᵀD⁻¹(t + s q̈)

A branch is a join whose upper side is given: P21 = X, and the carrier's acceleration in the place of f1.
"""

from linkwork.assembly.node_table import INDEX, LEFT, RIGHT
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.dca.nodes import (
    F_N,
    F_S,
    FREEDOM_COLUMNS,
    H_P,
    H_R,
    HANG_L,
    JOIN_L,
    L_BETA,
    L_N,
    L_S,
    load_ldl,
)
from linkwork.model.layout import DOF, HELICAL, KIND, V
from linkwork.spatial.ldl import backward, forward
from linkwork.spatial.memory import load3, load9
from linkwork.spatial.simd import flat6, row_sums
from linkwork.spatial.vectors import add6, sub6, twist_to_child


@inlined
def pass_joint(tree, i, effort_sum, node_data, o, dof_rows, y, qdd):
    """q̈ of joint i and the wrench f through it, from y = P21 f1 - Φ12 f2 + β; o is where the node keeps its L."""
    j = tree[i, V]
    L, d = load_ldl(node_data, o)
    t = forward(L, y)
    if tree[i, KIND] == HELICAL:
        s = flat6(node_data, o + L_S)
        known = s[0] * d[0] * t[0] + s[1] * d[1] * t[1] + s[2] * d[2] * t[2]
        known += s[3] * d[3] * t[3] + s[4] * d[4] * t[4] + s[5] * d[5] * t[5]
        x = node_data[o + L_N] * (effort_sum[j] - known)
        qdd[j] = x
        t = (t[0] + s[0] * x, t[1] + s[1] * x, t[2] + s[2] * x, t[3] + s[3] * x, t[4] + s[4] * x, t[5] + s[5] * x)
    else:
        t = pass_freedoms(tree, i, effort_sum, dof_rows, d, t, qdd)
    return backward(L, (d[0] * t[0], d[1] * t[1], d[2] * t[2], d[3] * t[3], d[4] * t[4], d[5] * t[5]))


@routine
def pass_freedoms(tree, i, effort_sum, dof_rows, d, t, qdd):
    """q̈ of a joint of several freedoms; returns t + s q̈."""
    j = tree[i, V]
    n = tree[i, DOF]
    for a in range(n):
        qdd[j + a] = 0.0
    for b in range(n):
        s = flat6(dof_rows, (j + b) * FREEDOM_COLUMNS + F_S)
        left = effort_sum[j + b]
        for r in range(6):
            left -= s[r] * d[r] * t[r]
        for a in range(n):
            qdd[j + a] += dof_rows[(j + a) * FREEDOM_COLUMNS + F_N + b] * left
    for a in range(n):
        x = qdd[j + a]
        s = flat6(dof_rows, (j + a) * FREEDOM_COLUMNS + F_S)
        t = (t[0] + s[0] * x, t[1] + s[1] * x, t[2] + s[2] * x, t[3] + s[3] * x, t[4] + s[4] * x, t[5] + s[5] * x)
    return t


@inlined
def gap_of_join(nodes, block, node, joint_data, node_data, F1, F2):
    """y of a JOIN between the wrenches F1, F2 on its handles (eight lanes, the last two zero): what `pass_joint` takes."""
    i = nodes[node, INDEX]
    upper = row_sums(node_data, block[nodes[node, LEFT]], F1)
    lower = row_sums(node_data, block[nodes[node, RIGHT]], F2)
    upper = twist_to_child(load9(joint_data, i, H_R), load3(joint_data, i, H_P), upper)
    return add6(sub6(upper, lower), flat6(node_data, block[node] + JOIN_L + L_BETA))


@inlined
def pass_hang(nodes, block, node, tree, joint_data, effort_sum, node_data, dof_rows, a, qdd):
    """q̈ and f of a HANG whose carrier accelerates by a."""
    i = nodes[node, INDEX]
    o = block[node] + HANG_L
    y = add6(twist_to_child(load9(joint_data, i, H_R), load3(joint_data, i, H_P), a), flat6(node_data, o + L_BETA))
    return pass_joint(tree, i, effort_sum, node_data, o, dof_rows, y, qdd)
