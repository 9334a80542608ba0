"""Response of a linkage to impulses on its bodies: M⁻¹Jᵀ from the articulated inertias that `aba` left behind.

Up from the body that is pushed, down to the bodies of interest; `one_more_right_side` has the step of one joint. Six
impulses on one body go up a path at once, side by side. The same numbers are accelerations for wrenches, velocities for
impulses and displacements for what closes a gap.
"""

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import (
    D_D,
    DINV,
    EFFORT_D,
    P_,
    R_,
    S_D,
    U_,
    U_D,
    move_one,
    move_several,
)
from linkwork.dynamics.joint_lanes import mix_lanes, push_lanes
from linkwork.dynamics.one_more_right_side import push_one, push_several
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import DOF, HELICAL, KIND, PARENT, V
from linkwork.simulation.constrained.constraints import constraints_of
from linkwork.simulation.moving import moving_of
from linkwork.spatial.memory import add_to6, load3, load6, load9, store6
from linkwork.spatial.simd import (
    LANES,
    add_outer,
    combine,
    lane_vector,
    load_rows,
    negate6,
    no_rows,
    six_lanes,
    splat,
    store_rows,
    vload,
    vstore,
    wrench_rows_to_parent,
)
from linkwork.spatial.vectors import ZERO6, scale6, twist_to_child, wrench_to_parent

LEFT_ON_JOINT = 6 * LANES  # where in `columns` begins what wrenches leave on a joint


@inlined
def push_up(s, i, p, efforts, has_efforts, effort):
    """What body i, on which the bias wrench p acts, passes to its parent; leaves u of its joint in `effort`.

    efforts (nv,): on the joints themselves, where there are some.
    """
    if s.tree[i, KIND] == HELICAL:
        j = s.tree[i, V]
        given = efforts[j] if has_efforts else 0.0
        effort[j], p = push_one(s.body, s.work, i, given, p)
    else:
        p = push_through_joint(s, i, p, efforts, has_efforts, effort)
    return wrench_to_parent(load9(s.work, i, R_), load3(s.work, i, P_), p)


@routine
def push_through_joint(s, i, p, efforts, has_efforts, effort):
    """The same for a joint of several freedoms, in the axes of its body."""
    j = s.tree[i, V]
    for d in range(s.tree[i, DOF]):
        effort[j + d] = efforts[j + d] if has_efforts else 0.0
    return push_several(s.tree, i, p, s.dof_work, effort)


@routine
def pull_down(tree, body, work, dof_work, i, above, effort, has_effort, out):
    """Acceleration of body i from that of its parent; the joint's goes into `out`."""
    if tree[i, KIND] == HELICAL:
        return pull_down_hinge(tree, body, work, i, above, effort, has_effort, out)
    a = twist_to_child(load9(work, i, R_), load3(work, i, P_), above)
    j = tree[i, V]
    for d in range(tree[i, DOF]):  # what `aba` kept there has served
        dof_work[j + d, EFFORT_D] = effort[j + d] if has_effort else 0.0
    return move_several(tree, i, a, dof_work, out)


@inlined
def pull_down_hinge(tree, body, work, i, above, effort, has_effort, out):
    """The same for a joint of one freedom."""
    a = twist_to_child(load9(work, i, R_), load3(work, i, P_), above)
    j = tree[i, V]
    u = effort[j] if has_effort else 0.0
    out[j], a = move_one(body, work, i, u, a)
    return a


ABOVE = 1  # mark of bodies from those that are pushed to the world


@inlined
def mark_more_paths(s, pushed, mark):
    """Marks the bodies from those that are pushed to the world; -1 is the world."""
    for r in range(pushed.shape[0]):
        i = pushed[r]
        while i >= 0 and mark[i] == 0:
            mark[i] = ABOVE
            i = s.tree[i, PARENT]


@inlined
def unmark_members(x, count):
    for e in range(count):
        x.mark[x.members[e]] = 0


@inlined
def mark_paths(s, pushed, mark, members):
    """Marks the bodies from those that are pushed to the world, and lists them, parents first; returns how many."""
    mark_more_paths(s, pushed, mark)
    count = 0
    for i in range(s.tree.shape[0]):
        if mark[i] != 0:
            members[count] = i
            count += 1
    return count


@inlined
def push_members(s, x, count, efforts, has_efforts):
    """The wrenches in `bias_up` of so many `members` go up to the world; u of their joints stays in `effort`."""
    for e in range(count - 1, -1, -1):
        i = x.members[e]
        p = push_up(s, i, load6(x.bias_up, i, 0), efforts, has_efforts, x.effort)
        if s.tree[i, PARENT] >= 0:
            add_to6(x.bias_up, s.tree[i, PARENT], 0, p)


@inlined
def clear_members(x, count):
    for e in range(count):
        store6(x.bias_up, x.members[e], 0, ZERO6)


@inlined
def move_body(s, x, i, has_effort, out):
    """`response` of body i, whose parent has it; of its joint into `out`."""
    parent = s.tree[i, PARENT]
    above = load6(x.response, parent, 0) if parent >= 0 else ZERO6
    if s.tree[i, KIND] == HELICAL:  # the hot path: a call would take as long
        a = pull_down_hinge(s.tree, s.body, s.work, i, above, x.effort, has_effort, out)
    else:
        a = pull_down(s.tree, s.body, s.work, s.dof_work, i, above, x.effort, has_effort, out)
    store6(x.response, i, 0, a)


@routine
def respond_members(s, x, count, efforts, out):
    """`response` of so many `members` to wrenches in `bias_up` and `efforts` on joints; of their joints into `out`."""
    push_members(s, x, count, efforts, True)
    for e in range(count):
        move_body(s, x, x.members[e], True, out)


@routine
def respond_all(s, x, count, efforts, has_efforts, out):
    """The same for all bodies, `members` being those that are marked; takes the marks away."""
    push_members(s, x, count, efforts, has_efforts)
    for i in range(s.tree.shape[0]):
        move_body(s, x, i, x.mark[i] != 0, out)
        x.mark[i] = 0


@routine
def respond(table, pushed, wrenches, out):
    """M⁻¹Jᵀ of wrenches on bodies (m,), in their frames (m, 6), and of the efforts `push` of couplings: out (nv,).

    Cost: O(n).
    """
    s = moving_of(table)
    x = constraints_of(table)
    is_coupled = x.offset.shape[0] > 0
    if is_coupled:
        mark_more_paths(s, x.coupled_body, x.mark)
    count = mark_paths(s, pushed, x.mark, x.members)
    clear_members(x, count)
    for r in range(pushed.shape[0]):
        add_to6(x.bias_up, pushed[r], 0, scale6(-1.0, load6(wrenches, r, 0)))
    respond_all(s, x, count, x.push, is_coupled, out)


@routine
def response_along_path(s, members, path, b, base, carry, own_rows, columns):
    """Six unit impulses on body b, in world axes, go up to body `base` at once.   (16)  docs/theory/contact.md

    What arrives there, Pᵀ, in `carry`; what b does while `base` stands still, Σ, in `own_rows`: rows of eight.

    members: the `path` bodies from b to right below `base`, -1: the world. columns: scratch, 12 rows.
    """
    X = turned_units(load9(s.world, b, 0))
    own = no_rows()
    for e in range(path):
        i = members[e]
        if s.tree[i, KIND] == HELICAL:
            X, own = pass_hinge(s, i, X, own)
        else:
            store_rows(columns, 0, X)
            store_rows(own_rows, 0, own)
            pass_joint(s, columns, own_rows, i)
            X = load_rows(columns, 0)
            own = load_rows(own_rows, 0)
        if s.tree[i, PARENT] >= 0:  # the world does not move
            X = wrench_rows_to_parent(load9(s.work, i, R_), load3(s.work, i, P_), X)
    store_rows(own_rows, 0, own)
    if base >= 0:
        store_rows(carry, 0, rows_to_world(load9(s.world, base, 0), X))


@inlined
def turned_units(R):
    """Six unit impulses in world axes as bias wrenches in axes R: columns of six rows."""
    return (
        lane_vector((-R[0], -R[3], -R[6], 0.0, 0.0, 0.0), 0.0),
        lane_vector((-R[1], -R[4], -R[7], 0.0, 0.0, 0.0), 0.0),
        lane_vector((-R[2], -R[5], -R[8], 0.0, 0.0, 0.0), 0.0),
        lane_vector((0.0, 0.0, 0.0, -R[0], -R[3], -R[6]), 0.0),
        lane_vector((0.0, 0.0, 0.0, -R[1], -R[4], -R[7]), 0.0),
        lane_vector((0.0, 0.0, 0.0, -R[2], -R[5], -R[8]), 0.0),
    )


@inlined
def rows_to_world(R, X):
    """Columns of X, bias wrenches in axes R, as impulses in world axes."""
    return (
        -R[0] * X[0] - R[1] * X[1] - R[2] * X[2],
        -R[3] * X[0] - R[4] * X[1] - R[5] * X[2],
        -R[6] * X[0] - R[7] * X[1] - R[8] * X[2],
        -R[0] * X[3] - R[1] * X[4] - R[2] * X[5],
        -R[3] * X[3] - R[4] * X[4] - R[5] * X[5],
        -R[6] * X[3] - R[7] * X[4] - R[8] * X[5],
    )


@inlined
def pass_hinge(s, i, X, own):
    """Columns of bias wrenches X on body i → what they are above its joint of one coordinate; Σ grows by u D⁻¹ uᵀ."""
    d = s.work[i, DINV]
    u, X = push_lanes(helical_twist(s.body, i), load6(s.work, i, U_), d, splat(0.0), X, X)
    return X, add_outer(own, six_lanes(u), d * u)


@routine
def pass_joint(s, columns, own_rows, i):
    """The same for any joint, in memory: X in `columns`, Σ in `own_rows`."""
    j, n = s.tree[i, V], s.tree[i, DOF]
    D = s.dof_work[:, D_D : D_D + 6]
    X = load_rows(columns, 0)
    own = load_rows(own_rows, 0)
    for d in range(n):
        vstore(columns, LEFT_ON_JOINT + LANES * d, combine(negate6(load6(s.dof_work, j + d, S_D)), X))
    for d in range(n):
        x = mix_lanes(D, j, d, n, columns, LEFT_ON_JOINT, LANES)
        X = add_outer(X, load6(s.dof_work, j + d, U_D), x)
        own = add_outer(own, six_lanes(vload(columns, LEFT_ON_JOINT + LANES * d)), x)
    store_rows(columns, 0, X)
    store_rows(own_rows, 0, own)
