"""How a linkage answers impulses on touched bodies and on joints at their limits: the matrix Λ and the changes M⁻¹Jᵀλ.

As in `simulation.responses`, with two additions: impulses are given and answered in world axes at the bodies' origins, and
an impulse may act on a joint coordinate: u = τ - Sᵀp.
"""

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import D_D, DINV, P_, R_, S_D, U_, U_D
from linkwork.model.joint_kernels import helical_twist
from linkwork.model.layout import DOF, HELICAL, KIND, PARENT, V
from linkwork.simulation.constraints import constraints_of
from linkwork.simulation.moving import moving_of
from linkwork.simulation.responses import ABOVE, PUSHED, mark_paths, pull_down, push_up, unit6
from linkwork.simulation.touching.arrays import SLOTS, touch_of
from linkwork.spatial.memory import add_to6, load3, load6, load9, store6
from linkwork.spatial.rotations import matvec3, tmatvec3
from linkwork.spatial.vectors import ZERO6, add6, dot6, join, scale6, wrench_to_parent


@inlined
def to_world(R, a):
    return join(matvec3(R, (a[0], a[1], a[2])), matvec3(R, (a[3], a[4], a[5])))


@inlined
def to_body(R, a):
    return join(tmatvec3(R, (a[0], a[1], a[2])), tmatvec3(R, (a[3], a[4], a[5])))


@routine
def push_up_driven(tree, body, work, dof_work, i, p, drive, effort):
    """`push_up` with an impulse on the joint itself."""
    j = tree[i, V]
    if tree[i, KIND] == HELICAL:
        u = drive[j] - dot6(helical_twist(body, i), p)
        effort[j] = u
        p = add6(p, scale6(work[i, DINV] * u, load6(work, i, U_)))
    else:
        n = tree[i, DOF]
        for d in range(n):
            effort[j + d] = drive[j + d] - dot6(load6(dof_work, j + d, S_D), p)
        for d in range(n):
            x = 0.0
            for e in range(n):
                x += dof_work[j + d, D_D + e] * effort[j + e]
            p = add6(p, scale6(x, load6(dof_work, j + d, U_D)))
    return wrench_to_parent(load9(work, i, R_), load3(work, i, P_), p)


@routine
def answer_matrix(table, limits, out):
    """Λ (6 m + l, 6 m + l): velocities of touched bodies and near limits' coordinates per impulse on each; symmetric.

    Needs what `aba` left behind, and world poses. `drive` is zero before and after.
    Cost: O(n), and O(bodies between touched ones and the world) per column.
    """
    s = moving_of(table)
    x = constraints_of(table)
    t = touch_of(table)
    m = t.counts[SLOTS]
    count = mark_paths(s, t.reached[: m + limits], x.mark, x.members)
    for column in range(6 * m + limits):
        start = t.reached[column // 6] if column < 6 * m else t.reached[m + column - 6 * m]
        p = ZERO6
        if column < 6 * m:
            p = to_body(load9(s.world, start, 0), scale6(-1.0, unit6(column % 6)))
            p = push_up(s.tree, s.body, s.work, s.dof_work, start, p, x.effort)
        else:
            t.drive[t.bound[column - 6 * m, 1]] = 1.0
            p = push_up_driven(s.tree, s.body, s.work, s.dof_work, start, p, t.drive, x.effort)
            t.drive[t.bound[column - 6 * m, 1]] = 0.0
        x.mark[start] = PUSHED
        i = s.tree[start, PARENT]
        while i >= 0:
            x.mark[i] = PUSHED
            p = push_up(s.tree, s.body, s.work, s.dof_work, i, p, x.effort)
            i = s.tree[i, PARENT]
        for e in range(count):
            i = x.members[e]
            parent = s.tree[i, PARENT]
            above = load6(x.answer, parent, 0) if parent >= 0 else ZERO6
            has_effort = x.mark[i] == PUSHED
            a = pull_down(s.tree, s.body, s.work, s.dof_work, i, above, x.effort, has_effort, x.change, True)
            store6(x.answer, i, 0, a)
        write_column(s, x, t, m, limits, column, out)
        i = start
        while i >= 0:
            x.mark[i] = ABOVE
            i = s.tree[i, PARENT]
    for e in range(count):
        x.mark[x.members[e]] = 0


@inlined
def write_column(s, x, t, m, limits, column, out):
    """Answers of the bodies and coordinates up to `column`, and their mirror image."""
    for r in range(min(m, column // 6 + 1)):
        i = t.reached[r]
        a = to_world(load9(s.world, i, 0), load6(x.answer, i, 0))
        for e in range(6):
            out[6 * r + e, column] = a[e]
            out[column, 6 * r + e] = a[e]
    for k in range(min(limits, column - 6 * m + 1)):
        out[6 * m + k, column] = x.change[t.bound[k, 1]]
        out[column, 6 * m + k] = x.change[t.bound[k, 1]]


@routine
def answer(table, limits, impulse, out):
    """M⁻¹Jᵀ of impulses on touched bodies (world axes) and near limits' coordinates (6 m + l,): out (nv,). Cost: O(n)."""
    s = moving_of(table)
    x = constraints_of(table)
    t = touch_of(table)
    m = t.counts[SLOTS]
    count = mark_paths(s, t.reached[: m + limits], x.mark, x.members)
    for e in range(count):
        store6(x.bias_up, x.members[e], 0, ZERO6)
    for r in range(m):
        f = (
            -impulse[6 * r],
            -impulse[6 * r + 1],
            -impulse[6 * r + 2],
            -impulse[6 * r + 3],
            -impulse[6 * r + 4],
            -impulse[6 * r + 5],
        )
        add_to6(x.bias_up, t.reached[r], 0, to_body(load9(s.world, t.reached[r], 0), f))
    for k in range(limits):
        t.drive[t.bound[k, 1]] += impulse[6 * m + k]
    for e in range(count - 1, -1, -1):
        i = x.members[e]
        p = push_up_driven(s.tree, s.body, s.work, s.dof_work, i, load6(x.bias_up, i, 0), t.drive, x.effort)
        if s.tree[i, PARENT] >= 0:
            add_to6(x.bias_up, s.tree[i, PARENT], 0, p)
    for i in range(s.tree.shape[0]):
        parent = s.tree[i, PARENT]
        above = load6(x.answer, parent, 0) if parent >= 0 else ZERO6
        a = pull_down(s.tree, s.body, s.work, s.dof_work, i, above, x.effort, x.mark[i] != 0, out, True)
        store6(x.answer, i, 0, a)
        x.mark[i] = 0
    for k in range(limits):
        t.drive[t.bound[k, 1]] = 0.0
