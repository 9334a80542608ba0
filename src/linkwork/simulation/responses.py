"""How a linkage answers impulses on its bodies: M⁻¹Jᵀ from the articulated inertias that `aba` left behind.

Up from the body that is pushed:   u = -Sᵀp,  p_λ += Xᵀ (p + U D⁻¹ u)
down to the bodies of interest:    a' = X a_λ,  x = D⁻¹ (u - Uᵀ a'),  a = a' + S x

The same numbers are accelerations for wrenches, velocities for impulses and displacements for what closes a gap.
"""

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import D_D, DINV, EFFORT_D, P_, R_, S_D, U_, U_D
from linkwork.model.joint_kernels import helical_twist
from linkwork.model.layout import DOF, HELICAL, KIND, PARENT, V
from linkwork.simulation.constraints import constraints_of
from linkwork.simulation.moving import moving_of
from linkwork.spatial.memory import add_to6, load3, load6, load9, store6
from linkwork.spatial.vectors import ZERO6, add6, dot6, scale6, twist_to_child, wrench_to_parent


@routine
def push_up(tree, body, work, dof_work, i, p, effort):
    """What body i, on which the bias wrench p acts, passes to its parent; leaves u of its joint in `effort`."""
    j = tree[i, V]
    if tree[i, KIND] == HELICAL:
        u = -dot6(helical_twist(body, i), p)
        effort[j] = u
        p = add6(p, scale6(work[i, DINV] * u, load6(work, i, U_)))
    else:
        n = tree[i, DOF]
        for d in range(n):
            effort[j + d] = -dot6(load6(dof_work, j + d, S_D), p)
        for d in range(n):
            x = 0.0
            for e in range(n):
                x += dof_work[j + d, D_D + e] * effort[j + e]
            p = add6(p, scale6(x, load6(dof_work, j + d, U_D)))
    return wrench_to_parent(load9(work, i, R_), load3(work, i, P_), p)


@routine
def push_up_driven(tree, body, work, dof_work, i, p, drive, effort):
    """`push_up` with efforts `drive` (nv,) on the joint itself."""
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
def pull_down(tree, body, work, dof_work, i, above, effort, has_effort, out, writes):
    """Acceleration of body i from that of its parent; `out` gets the joint's where `writes`."""
    a = twist_to_child(load9(work, i, R_), load3(work, i, P_), above)
    j = tree[i, V]
    if tree[i, KIND] == HELICAL:
        u = effort[j] if has_effort else 0.0
        x = work[i, DINV] * (u - dot6(load6(work, i, U_), a))
        if writes:
            out[j] = x
        return add6(a, scale6(x, helical_twist(body, i)))
    n = tree[i, DOF]
    result = a
    for e in range(n):  # what `aba` kept there has served
        dof_work[j + e, EFFORT_D] = (effort[j + e] if has_effort else 0.0) - dot6(load6(dof_work, j + e, U_D), a)
    for d in range(n):
        x = 0.0
        for e in range(n):
            x += dof_work[j + d, D_D + e] * dof_work[j + e, EFFORT_D]
        if writes:
            out[j + d] = x
        result = add6(result, scale6(x, load6(dof_work, j + d, S_D)))
    return result


ABOVE, PUSHED = 1, 2  # marks of bodies between touched ones and the world; of those above the one that is pushed


@inlined
def unit6(k):
    return (
        1.0 if k == 0 else 0.0,
        1.0 if k == 1 else 0.0,
        1.0 if k == 2 else 0.0,
        1.0 if k == 3 else 0.0,
        1.0 if k == 4 else 0.0,
        1.0 if k == 5 else 0.0,
    )


@inlined
def mark_more_paths(s, touched, mark):
    """Marks the bodies between touched ones and the world; -1 is the world."""
    for r in range(touched.shape[0]):
        i = touched[r]
        while i >= 0 and mark[i] == 0:
            mark[i] = ABOVE
            i = s.tree[i, PARENT]


@inlined
def unmark_members(x, count):
    for e in range(count):
        x.mark[x.members[e]] = 0


@inlined
def mark_paths(s, touched, mark, members):
    """Marks the bodies between touched ones and the world, and lists them, parents first; returns how many."""
    mark_more_paths(s, touched, mark)
    count = 0
    for i in range(s.tree.shape[0]):
        if mark[i] != 0:
            members[count] = i
            count += 1
    return count


@routine
def response_matrix(table, touched, out):
    """Acceleration of each touched body for unit wrenches on each other, in their frames: out (6 m, 6 m), symmetric.

    Cost: O(n) and O(bodies between touched ones and the world) per column.
    """
    s = moving_of(table)
    x = constraints_of(table)
    count = mark_paths(s, touched, x.mark, x.members)
    for c in range(touched.shape[0]):
        for k in range(6):
            p = scale6(-1.0, unit6(k))
            i = touched[c]
            while i >= 0:
                x.mark[i] = PUSHED
                p = push_up(s.tree, s.body, s.work, s.dof_work, i, p, x.effort)
                i = s.tree[i, PARENT]
            for e in range(count):
                i = x.members[e]
                parent = s.tree[i, PARENT]
                above = load6(x.answer, parent, 0) if parent >= 0 else ZERO6
                has_effort = x.mark[i] == PUSHED
                a = pull_down(s.tree, s.body, s.work, s.dof_work, i, above, x.effort, has_effort, x.effort, False)
                store6(x.answer, i, 0, a)
            for r in range(c + 1):
                for e in range(6):
                    out[6 * r + e, 6 * c + k] = x.answer[touched[r], e]
                    out[6 * c + k, 6 * r + e] = x.answer[touched[r], e]
            i = touched[c]
            while i >= 0:
                x.mark[i] = ABOVE
                i = s.tree[i, PARENT]
    unmark_members(x, count)


@routine
def respond(table, touched, wrenches, out):
    """M⁻¹Jᵀ of wrenches on touched bodies, in their frames (m, 6), and of the efforts `push` of couplings: out (nv,).

    Cost: O(n).
    """
    s = moving_of(table)
    x = constraints_of(table)
    is_coupled = x.offset.shape[0] > 0
    if is_coupled:
        mark_more_paths(s, x.coupled_body, x.mark)
    count = mark_paths(s, touched, x.mark, x.members)
    for e in range(count):
        store6(x.bias_up, x.members[e], 0, ZERO6)
    for r in range(touched.shape[0]):
        add_to6(x.bias_up, touched[r], 0, scale6(-1.0, load6(wrenches, r, 0)))
    for e in range(count - 1, -1, -1):
        i = x.members[e]
        p = load6(x.bias_up, i, 0)
        if is_coupled:
            p = push_up_driven(s.tree, s.body, s.work, s.dof_work, i, p, x.push, x.effort)
        else:
            p = push_up(s.tree, s.body, s.work, s.dof_work, i, p, x.effort)
        if s.tree[i, PARENT] >= 0:
            add_to6(x.bias_up, s.tree[i, PARENT], 0, p)
    for i in range(s.tree.shape[0]):
        parent = s.tree[i, PARENT]
        above = load6(x.answer, parent, 0) if parent >= 0 else ZERO6
        has_effort = x.mark[i] != 0
        a = pull_down(s.tree, s.body, s.work, s.dof_work, i, above, x.effort, has_effort, out, True)
        store6(x.answer, i, 0, a)
        x.mark[i] = 0
