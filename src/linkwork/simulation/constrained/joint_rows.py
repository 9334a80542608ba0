"""J M⁻¹ Jᵀ of the rows of loops and couplings, from what their forces leave on the joints between them and the world.

A unit force of a row goes up from the bodies or joints that it acts on (`responses`) and leaves y = u on each joint that
it passes. M⁻¹ is the sum of what all joints respond by themselves, D⁻¹ being that of one joint, so

    J M⁻¹ Jᵀ = Σ_joints  y_jᵀ D_j⁻¹ y_j                                                  (7) theory/loops.md

which is positive semi-definite with rounding, and nothing has to come down again. Cost: O(d) per row, d: bodies between its
ends and the world, and p times those rows that pass a joint per joint.
"""

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import D_D, DINV
from linkwork.model.layout import DOF, HELICAL, INERTIA, KIND, PARENT, V
from linkwork.simulation.constrained.constraints import constraints_of
from linkwork.simulation.constrained.coupling_forces import clear_coupling_efforts
from linkwork.simulation.constrained.responses import mark_more_paths, mark_paths, push_up, unmark_members
from linkwork.simulation.moving import moving_of
from linkwork.spatial.inertia import rigid_lower
from linkwork.spatial.ldl import forward, ldl6
from linkwork.spatial.memory import load6, load10
from linkwork.spatial.vectors import ZERO6, add6, scale6


@routine
def row_matrix(table):
    """A and `free` from the articulated inertias in `work`."""
    s = moving_of(table)
    x = constraints_of(table)
    free_loops(s, x)
    mark_more_paths(s, x.coupled_body, x.mark)
    count = mark_paths(s, x.constrained_bodies, x.mark, x.members)
    for e in range(count):
        i = x.members[e]
        for d in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
            x.on_joints[d, :] = 0.0
    for k in range(x.ends.shape[0]):
        if x.ends[k, 0] != x.ends[k, 1]:  # a loop inside one rigid group responds to nothing, rounding left out
            for r in range(x.first_row[k], x.first_row[k + 1]):
                push_loop_row(s, x, k, r)
    clear_coupling_efforts(x)  # those of the last solution
    for k in range(x.offset.shape[0]):
        for e in range(x.coupled_first[k], x.coupled_first[k + 1]):
            if x.coupled_body[e] >= 0:
                push_coupled_joint(s, x, e, x.row.shape[0] + k)
    x.A[:, :] = 0.0
    for e in range(count):
        add_joint(s, x, x.members[e])
    unmark_members(x, count)
    for r in range(x.A.shape[0]):
        for c in range(r):
            x.A[c, r] = x.A[r, c]
    for k in range(x.offset.shape[0]):
        r = x.row.shape[0] + k
        x.free[r] = x.A[r, r] if x.A[r, r] > 0.0 else 1.0  # nothing of it moves: a row that counts as redundant


@inlined
def free_loops(s, x):
    """`free` of the rows of loops."""
    for r in range(x.row.shape[0]):
        x.free[r] = 0.0
    for k in range(x.ends.shape[0]):
        for side in range(2):
            i = x.ends[k, side]
            if i < 0:
                continue
            L, d, _ = ldl6(rigid_lower(load10(s.body, i, INERTIA)))
            for r in range(x.first_row[k], x.first_row[k + 1]):
                t = forward(L, load6(x.row, r, 6 * side))
                for e in range(6):
                    x.free[r] += d[e] * t[e] * t[e]


@routine
def push_loop_row(s, x, k, r):
    """Column r of `on_joints`: row r of J, of loop k. Wrenches on both ends go up until they meet, then together."""
    i, p = x.ends[k, 0], scale6(-1.0, load6(x.row, r, 0))
    j, other = x.ends[k, 1], scale6(-1.0, load6(x.row, r, 6))
    while i >= 0 or j >= 0:
        if i < j:  # numbers fall on the way up
            i, p, j, other = j, other, i, p
        elif i == j:
            j, p = -1, add6(p, other)
        p = push_up(s, i, p, x.push, False, x.effort)
        leave_on_joint(s, x, i, r)
        i = s.tree[i, PARENT]


@routine
def push_coupled_joint(s, x, e, r):
    """Column r of `on_joints` grows by what the coefficient of coupled joint e, as an effort, leaves."""
    i, p = x.coupled_body[e], ZERO6
    x.push[x.coupled_freedom[e]] = x.coefficient[e]
    while i >= 0:
        p = push_up(s, i, p, x.push, i == x.coupled_body[e], x.effort)
        leave_on_joint(s, x, i, r)
        i = s.tree[i, PARENT]
    x.push[x.coupled_freedom[e]] = 0.0


@inlined
def leave_on_joint(s, x, i, r):
    for d in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
        x.on_joints[d, r] += x.effort[d]


@inlined
def add_joint(s, x, i):
    """A += yᵀ D⁻¹ y of joint i, the half below the diagonal."""
    j, n, p = s.tree[i, V], s.tree[i, DOF], x.A.shape[0]
    for d in range(n):
        if s.tree[i, KIND] == HELICAL:
            for c in range(p):
                x.through_joint[0, c] = s.work[i, DINV] * x.on_joints[j, c]
        else:
            for c in range(p):
                x.through_joint[d, c] = 0.0
            for e in range(n):
                for c in range(p):
                    x.through_joint[d, c] += s.dof_work[j + d, D_D + e] * x.on_joints[j + e, c]
        for r in range(p):
            y = x.on_joints[j + d, r]
            if y != 0.0:
                for c in range(r + 1):
                    x.A[r, c] += y * x.through_joint[d, c]
