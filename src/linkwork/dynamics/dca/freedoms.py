"""Joining clusters by joints of several (or no) degrees of freedom: the same elimination, freedoms in rows of their own.

N = sᵀD⁻¹s + armature is a small matrix here, and Y = T - s N⁻¹k. With armature YᵀD⁻¹Y alone would take away too much: the
part (N⁻¹k)ᵀ armature (N⁻¹k) of W stays along the freedoms and is added for each of them.
"""

from linkwork.assembly.node_table import INDEX, LOWER, ROLE, TOP
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.dca.nodes import (
    F_N,
    F_S,
    FREEDOM_COLUMNS,
    K1,
    K2,
    PHI11,
    PHI22,
    eliminate_hang,
    eliminate_join,
    store_branch,
    store_cluster,
)
from linkwork.dynamics.linear.small import invert_small
from linkwork.model.layout import ARMATURE, DOF, FREE, KIND, V
from linkwork.spatial.ldl import forward
from linkwork.spatial.memory import load6
from linkwork.spatial.simd import (
    combine,
    flat6,
    lane,
    load_rows,
    negate6,
    six_lanes,
    splat,
    store_rows,
    sub_outer,
    vload,
    vstore,
    with_lane,
)


@routine
def several_freedoms(tree, dof, i, S, m, L, d, dof_rows):
    """s = L⁻¹S and N⁻¹ into `dof_rows`; for a free joint without armature N⁻¹ is M itself."""
    j = tree[i, V]
    n = tree[i, DOF]
    rows = dof_rows.reshape((-1, FREEDOM_COLUMNS))
    geared = False
    for a in range(n):
        s = forward(L, load6(S, j + a, 0))
        for r in range(6):
            rows[j + a, F_S + r] = s[r]
        geared = geared or dof[j + a, ARMATURE] != 0.0
    N = rows[:, F_N : F_N + 6]
    if tree[i, KIND] == FREE and not geared:
        for a in range(6):
            for b in range(a + 1):
                N[j + a, b] = m[a * (a + 1) // 2 + b]
                N[j + b, a] = m[a * (a + 1) // 2 + b]
        return True
    for a in range(n):
        for b in range(n):
            x = 0.0
            for r in range(6):
                x += rows[j + a, F_S + r] * d[r] * rows[j + b, F_S + r]
            N[j + a, b] = x
        N[j + a, a] += dof[j + a, ARMATURE]
    return invert_small(N, j, n)


@inlined
def project(tree, i, dof_rows, d, T, scratch, at):
    """Writes the rows of N⁻¹k for the right-hand sides behind T to scratch[at:]; returns T less s N⁻¹k."""
    j = tree[i, V]
    n = tree[i, DOF]
    for a in range(n):
        vstore(scratch, at + 8 * a, splat(0.0))
    for b in range(n):
        s = flat6(dof_rows, (j + b) * FREEDOM_COLUMNS + F_S)
        k = combine((d[0] * s[0], d[1] * s[1], d[2] * s[2], d[3] * s[3], d[4] * s[4], d[5] * s[5]), T)
        for a in range(n):
            row = vload(scratch, at + 8 * a) + dof_rows[(j + a) * FREEDOM_COLUMNS + F_N + b] * k
            vstore(scratch, at + 8 * a, row)
    Y = T
    for a in range(n):
        Y = sub_outer(Y, flat6(dof_rows, (j + a) * FREEDOM_COLUMNS + F_S), vload(scratch, at + 8 * a))
    return Y


@inlined
def effort_lift(tree, i, effort_sum, scratch, at):
    """kᵀN⁻¹Q: what the efforts of a joint add to a bias."""
    lift = splat(0.0)
    for a in range(tree[i, DOF]):
        lift = lift + effort_sum[tree[i, V] + a] * vload(scratch, at + 8 * a)
    return six_lanes(lift)


@routine
def join_general(x, node):
    """Joins two clusters by a joint of any number of degrees of freedom."""
    i = x.nodes[node, INDEX]
    tree, dof, scratch = x.tree, x.dof, x.scratch
    m, L, d, ok, T, U = eliminate_join(x, node)
    ok = several_freedoms(tree, dof, i, x.S, m, L, d, x.dof_rows) and ok
    Y = project(tree, i, x.dof_rows, d, T, scratch, K1)
    Z = project(tree, i, x.dof_rows, d, U, scratch, K2)
    lift1 = effort_lift(tree, i, x.effort_sum, scratch, K1)
    lift2 = effort_lift(tree, i, x.effort_sum, scratch, K2)
    store_cluster(x, node, Y, Z, d, lift1, lift2)
    for a in range(tree[i, DOF]):
        # Armature leaves a part of W along the freedoms: (N⁻¹k)ᵀ armature (N⁻¹k).
        armature = dof[tree[i, V] + a, ARMATURE]
        if armature != 0.0:
            g1 = vload(scratch, K1 + 8 * a)
            g2 = vload(scratch, K2 + 8 * a)
            add_armature(x.nodes[node, ROLE], armature, g1, g2, x.node_data, x.block[node], x.phi, x.slot[node])
    return ok


@routine
def add_armature(role, armature, g1, g2, node_data, o, phi, at):
    x1 = six_lanes(armature * g1)
    store_rows(phi, at + PHI11, sub_outer(load_rows(phi, at + PHI11), x1, g1))
    if role == TOP:
        return
    if role == LOWER:
        store_rows(node_data, o, sub_outer(load_rows(node_data, o), negate6(x1), g2))
    else:
        store_rows(node_data, o, sub_outer(load_rows(node_data, o), negate6(six_lanes(armature * g2)), g1))
    g2 = with_lane(g2, 6, -lane(g1, 6))
    store_rows(phi, at + PHI22, sub_outer(load_rows(phi, at + PHI22), six_lanes(armature * g2), g2))


@routine
def hang_general(x, node):
    """Hangs a finished path from its carrier by a joint of any number of degrees of freedom."""
    i = x.nodes[node, INDEX]
    at = x.slot[node]
    tree, dof, scratch, phi = x.tree, x.dof, x.scratch, x.phi
    m, L, d, ok, T = eliminate_hang(x, node)
    ok = several_freedoms(tree, dof, i, x.S, m, L, d, x.dof_rows) and ok
    Y = project(tree, i, x.dof_rows, d, T, scratch, K1)
    store_branch(phi, at, Y, d, effort_lift(tree, i, x.effort_sum, scratch, K1), scratch)
    for a in range(tree[i, DOF]):
        armature = dof[tree[i, V] + a, ARMATURE]
        if armature != 0.0:
            g = vload(scratch, K1 + 8 * a)
            store_rows(phi, at, sub_outer(load_rows(phi, at), negate6(six_lanes(armature * g)), g))
    return ok
