"""Momentum of floating trees, kept through every step.

Semi-implicit Euler in joint coordinates lets momentum drift by O(h²) per step. A tree on a free joint has six velocities
to put that right, one on a planar joint three: after the step its base twist is corrected so that momentum changed by the
impulse of the external wrenches and by nothing else. Its centre of mass c has moved by h times its velocity before that:
with c⁺ x p⁺ = c x p⁺ nothing of the momentum about the world's origin goes over into spin. Theory: docs/integrators.md.
"""

from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.aba import P_, R_
from linkwork.model.layout import ARMATURE, FREE, INERTIA, KIND, PARENT, ROTATION, Q, V
from linkwork.simulation.loading.accelerate import load_wrench, place_and_move, world_poses_root_to_leaf
from linkwork.simulation.momentum.free_spin import inertia_about_centre, mean_turn
from linkwork.simulation.momentum.planar_base import planar_change, planar_way, planar_wrench
from linkwork.simulation.moving import COMPOSITES_READY, LOADS, moving_of
from linkwork.spatial.inertia import rigid_lower, rigid_times_twist, rigid_to_parent
from linkwork.spatial.ldl import backward, forward, ldl6
from linkwork.spatial.memory import add_to6, load3, load6, load9, load10, put3, store3, store6, store10, three
from linkwork.spatial.rotations import (
    add3,
    cross3,
    dot3,
    matvec3,
    quaternion_exp,
    quaternion_log,
    quaternion_matrix,
    quaternion_multiply,
    scale3,
    sub3,
    tmatvec3,
)
from linkwork.spatial.vectors import add6, join, scale6, sub6, wrench_to_child, wrench_to_parent

MOMENTUM = 10  # column of `composite` behind the inertia


@routine
def momentum_leaf_to_root(table):
    """Inertia and momentum of each body with all below it, as one rigid body, in its own frame: `composite`."""
    s = moving_of(table)
    n = s.tree.shape[0]
    for i in range(n):
        twist = place_and_move(s, i)
        inertia = load10(s.body, i, INERTIA)
        store10(s.composite, i, 0, inertia)
        store6(s.composite, i, MOMENTUM, rigid_times_twist(inertia, twist))
    for i in range(n - 1, -1, -1):
        parent = s.tree[i, PARENT]
        if parent >= 0:
            R = load9(s.work, i, R_)
            p = load3(s.work, i, P_)
            moved = rigid_to_parent(R, p, load10(s.composite, i, 0))
            for k in range(10):
                s.composite[parent, k] += moved[k]
            add_to6(s.composite, parent, MOMENTUM, wrench_to_parent(R, p, load6(s.composite, i, MOMENTUM)))
    s.counts[COMPOSITES_READY] = 1


@kernel
def read_momentum(table):
    """Takes the present momentum of every floating tree as what is to be kept."""
    keep_present_momentum(table)


@routine
def keep_present_momentum(table):
    """The same in compiled code; and centres of mass stay where they are."""
    s = moving_of(table)
    momentum_leaf_to_root(table)
    for t in range(s.base.shape[0]):
        b = s.base[t]
        if b < 0:  # a tree that is held
            continue
        store6(
            s.target_momentum,
            t,
            0,
            wrench_to_parent(load9(s.work, b, R_), load3(s.work, b, P_), load6(s.composite, b, MOMENTUM)),
        )
        store3(s.centre, t, 0, centre_of_mass(s, b))


@kernel
def total_momentum(table):
    """Momentum [n; f] of everything about the origin of the world."""
    s = moving_of(table)
    total = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    momentum_leaf_to_root(table)
    for i in range(s.tree.shape[0]):
        if s.tree[i, PARENT] < 0:
            own = wrench_to_parent(load9(s.work, i, R_), load3(s.work, i, P_), load6(s.composite, i, MOMENTUM))
            total = add6(total, own)
    return total


@inlined
def add_external(s, i, wrench, h):
    """Adds h times a wrench on body i, in its frame, to the momentum its tree is to have."""
    t = s.tree_of[i]
    if t >= 0:
        moved = wrench_to_parent(load9(s.world, i, 0), load3(s.world, i, 9), wrench)
        add_to6(s.target_momentum, t, 0, scale6(h, moved))


@routine
def add_impulses(table, h):
    """Adds h times the external wrenches at the last evaluation: loads and gravity.

    Needs the composites of the start of the step and what `aba` left behind.
    """
    s = moving_of(table)
    if s.wrench.shape[0] > 0 or s.counts[LOADS] > 0:
        if s.counts[LOADS] == 0:  # with loads, the accelerations needed the world poses already
            world_poses_root_to_leaf(table)
        for i in range(s.wrench.shape[0]):
            add_external(s, i, load6(s.wrench, i, 0), h)
        for k in range(s.counts[LOADS]):
            add_external(s, s.load_body[k], load_wrench(s, k), h)
    g = (s.gravity[0], s.gravity[1], s.gravity[2])
    for t in range(s.base.shape[0]):
        b = s.base[t]
        if b < 0:  # a tree that is held
            continue
        R = load9(s.work, b, R_)
        p = load3(s.work, b, P_)
        moment = matvec3(R, (s.composite[b, 1], s.composite[b, 2], s.composite[b, 3]))
        moment = add3(moment, scale3(s.composite[b, 0], p))
        add_to6(s.target_momentum, t, 0, scale6(h, join(cross3(moment, g), scale3(s.composite[b, 0], g))))


@routine
def add_efforts_of_bases(table, h):
    """Adds h times what the joints between the world and the bases do, as it follows from the accelerations in `qdd`."""
    s = moving_of(table)
    for t in range(s.base.shape[0]):
        b = s.base[t]
        if b < 0:  # a tree that is held
            continue
        j = s.tree[b, V]
        if s.tree[b, KIND] == FREE:
            own = (
                joint_effort(s, j),
                joint_effort(s, j + 1),
                joint_effort(s, j + 2),
                joint_effort(s, j + 3),
                joint_effort(s, j + 4),
                joint_effort(s, j + 5),
            )
        else:
            own = planar_wrench(s, j, (joint_effort(s, j), joint_effort(s, j + 1), joint_effort(s, j + 2)))
        add_to6(s.target_momentum, t, 0, scale6(h, wrench_to_parent(load9(s.work, b, R_), load3(s.work, b, P_), own)))


@inlined
def joint_effort(s, j):
    """Effort of a joint without armature of its own: what `effective_armature` holds is what implicit springs give back."""
    return s.joint_effort[j] - (s.effective_armature[j, ARMATURE] - s.dof[j, ARMATURE]) * s.qdd[j]


@routine
def aim_centres(table, h):
    """Where the centres of mass of floating trees are at the end of the step, by the momenta they have then.

    Trees of one body turn by their spin: `u`, the velocities by which coordinates move, is changed for them. Where `u` is
    not `v`, the body is turned by the difference first, and its spin with it: it keeps its energy. Needs the composites and
    the poses of the start of the step.
    """
    s = moving_of(table)
    for t in range(s.base.shape[0]):
        b = s.base[t]
        if b < 0:  # a tree that is held
            continue
        c = centre_of_mass(s, b)
        p = load3(s.target_momentum, t, 3)
        store3(s.centre, t, 0, add3(c, scale3(h / s.composite[b, 0], p)))
        if s.tree[b, KIND] == FREE and (b + 1 == s.tree.shape[0] or s.tree_of[b + 1] != t):
            R, j = load9(s.work, b, R_), s.tree[b, V]
            spin = tmatvec3(R, sub3(load3(s.target_momentum, t, 0), cross3(c, p)))
            w = three(s.v, j)
            turn = mean_turn(inertia_about_centre(load10(s.composite, b, 0)), w, spin, h)
            push = scale3(h, sub3(three(s.u, j), w))
            if dot3(push, push) > 0.0:
                first = quaternion_exp(push)
                turned = sub3(matvec3(quaternion_matrix(first), spin), spin)
                add_to6(s.target_momentum, t, 0, join(matvec3(R, turned), (0.0, 0.0, 0.0)))
                turn = quaternion_log(quaternion_multiply(first, quaternion_exp(turn)))
            put3(s.u, j, scale3(1.0 / h, turn))


@inlined
def centre_of_mass(s, b):
    """Of the tree of base b, in the world, from its composite and the pose in `work` [m]."""
    c = scale3(1.0 / s.composite[b, 0], (s.composite[b, 1], s.composite[b, 2], s.composite[b, 3]))
    return add3(matvec3(load9(s.work, b, R_), c), load3(s.work, b, P_))


@routine
def correct_bases(table):
    """Puts the centre of mass of each floating tree where it is to be, and gives its base the twist with which the tree has
    the momentum it is to have."""
    s = moving_of(table)
    momentum_leaf_to_root(table)
    for t in range(s.base.shape[0]):
        b = s.base[t]
        if b < 0:  # a tree that is held
            continue
        move_base(s, t, b)
        wanted = wrench_to_child(load9(s.work, b, R_), load3(s.work, b, P_), load6(s.target_momentum, t, 0))
        missing = sub6(wanted, load6(s.composite, b, MOMENTUM))
        j = s.tree[b, V]
        if s.tree[b, KIND] == FREE:
            L, d, _ = ldl6(rigid_lower(load10(s.composite, b, 0)))
            x = forward(L, missing)
            x = backward(L, (d[0] * x[0], d[1] * x[1], d[2] * x[2], d[3] * x[3], d[4] * x[4], d[5] * x[5]))
            for k in range(6):
                s.v[j + k] += x[k]
        else:
            y = planar_change(s, b, j, missing)
            for k in range(3):
                s.v[j + k] += y[k]


@inlined
def move_base(s, t, b):
    """Moves a tree, as it is turned and bent now, so that its centre of mass is at `centre`; a planar one in its plane."""
    way = sub3(load3(s.centre, t, 0), centre_of_mass(s, b))
    k = s.tree[b, Q]
    if s.tree[b, KIND] == FREE:
        x = tmatvec3(load9(s.body, b, ROTATION), way)
        for d in range(3):
            s.q[k + d] += x[d]
    else:
        x, y, way = planar_way(s, b, way)
        s.q[k] += x
        s.q[k + 1] += y
    store3(s.work, b, P_, add3(load3(s.work, b, P_), way))
    i = b
    while i < s.tree.shape[0] and s.tree_of[i] == t:  # the bodies of a tree stand in a row
        store3(s.world, i, 9, add3(load3(s.world, i, 9), way))
        i += 1
