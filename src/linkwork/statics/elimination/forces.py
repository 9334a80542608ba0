"""Where bodies are, and the efforts that nothing balances: r = −∂U/∂q, by one sweep to the leaves and one back.

root to leaf   poses
leaf to root   F = own loads + Σ Xᵀ F_child,   r = Sᵀ F + efforts and springs of the joint          (1) theory/statics.md
"""

import math

from linkwork.core.jit import inlined, kernel
from linkwork.loops.frames import L_P, constrained_direction
from linkwork.model.kernels.joint_kernels import (
    body_pose,
    helical_pose,
    helical_twist,
    joint_integrate,
    joint_motion,
    joint_passive_effort,
)
from linkwork.model.layout import DOF, HELICAL, INERTIA, KIND, PARENT, STIFFNESS, Q, V
from linkwork.simulation.loading.load_columns import LOAD_AT, LOAD_FORCE, LOAD_TORQUE, force_of_load
from linkwork.spatial.memory import add_to6, load3, load6, load9, store3, store6, store9
from linkwork.spatial.rotations import add3, cross3, dot3, matmul3, matvec3, norm3, scale3, tmatvec3
from linkwork.spatial.vectors import (
    ZERO6,
    add6,
    angular,
    compose_pose,
    dot6,
    join,
    linear,
    scale6,
    twist_to_child,
    wrench_to_parent,
)
from linkwork.statics.elimination.workspace import MOMENT, P_, PULL, R_, WRENCH


@kernel
def place_bodies(arrays, q, still, place):
    """Fills `place` with what depends on the coordinates q."""
    tree, body, screws = arrays.tree, arrays.body, arrays.screws
    for k in range(q.shape[0]):
        place.q[k] = q[k]
    for i in range(tree.shape[0]):
        if tree[i, KIND] == HELICAL:
            R, p = helical_pose(body, i, q[tree[i, Q]])
        else:
            R, p = body_pose(tree, body, screws, i, q)
            joint_motion(tree, body, screws, i, q, still, place.S)
        store9(place.pose, i, R_, R)
        store3(place.pose, i, P_, p)
        parent = tree[i, PARENT]
        if parent >= 0:
            R, p = compose_pose(load9(place.world, parent, R_), load3(place.world, parent, P_), R, p)
        store9(place.world, i, R_, R)
        store3(place.world, i, P_, p)


@kernel
def move_coordinates(tree, q, x, scale, out):
    """out ← q ⊕ scale x."""
    for i in range(tree.shape[0]):
        joint_integrate(tree, i, q, x, scale, out)


@kernel
def step_extent(arrays, place, x, twist):
    """Largest rotation [rad] and displacement [m] of a body when joints go on by x (nv,); twist (n, 6) is scratch."""
    tree = arrays.tree
    turn, way = 0.0, 0.0
    for i in range(tree.shape[0]):
        j, parent = tree[i, V], tree[i, PARENT]
        w = ZERO6
        if parent >= 0:
            w = twist_to_child(load9(place.pose, i, R_), load3(place.pose, i, P_), load6(twist, parent, 0))
        if tree[i, KIND] == HELICAL:
            w = add6(w, scale6(x[j], helical_twist(arrays.body, i)))
        else:
            for d in range(tree[i, DOF]):
                w = add6(w, scale6(x[j + d], load6(place.S, j + d, 0)))
        store6(twist, i, 0, w)
        turn = max(turn, dot3(angular(w), angular(w)))
        way = max(way, dot3(linear(w), linear(w)))
    return math.sqrt(turn), math.sqrt(way)


@inlined
def row_force(acting, place, k):
    """Force of a load held by the world, in the axes of the world: as given, and what its spring pulls."""
    i = acting.row_body[k]
    return force_of_load(acting.rows, k, load9(place.world, i, R_), load3(place.world, i, P_))


@kernel
def unbalanced_efforts(arrays, acting, place, work, r):
    """Writes r (nv,) and the wrenches F of all subtrees; returns the largest sums of magnitudes: force [N], moment [N·m].

    The sums count every load with the length of the path from the joint to it: what loads could amount to at most.
    """
    tree, body, gravity = arrays.tree, arrays.body, arrays.gravity
    n = tree.shape[0]
    g = (gravity[0], gravity[1], gravity[2])
    for i in range(n):
        own_wrench(body, acting, place, work, i, g)
    for k in range(acting.row_body.shape[0]):
        i = acting.row_body[k]
        if i >= 0:
            add_row_wrench(acting, place, work, k, i)
    largest_pull = 0.0
    largest_moment = 0.0
    for i in range(n - 1, -1, -1):
        F = load6(work.body, i, WRENCH)
        j = tree[i, V]
        if tree[i, KIND] == HELICAL:
            k = tree[i, Q]
            spring = arrays.dof[j, STIFFNESS] * (place.q[k] - arrays.rest[k])
            r[j] = dot6(helical_twist(body, i), F) + acting.effort[j] - spring
        else:
            for d in range(tree[i, DOF]):
                r[j + d] = dot6(load6(place.S, j + d, 0), F) + acting.effort[j + d]
            joint_passive_effort(tree, arrays.dof, arrays.rest, i, place.q, work.still, r)
        pull = work.body[i, PULL]
        moment = work.body[i, MOMENT]
        largest_pull = max(largest_pull, pull)
        largest_moment = max(largest_moment, moment)
        parent = tree[i, PARENT]
        if parent >= 0:
            p = load3(place.pose, i, P_)
            add_to6(work.body, parent, WRENCH, wrench_to_parent(load9(place.pose, i, R_), p, F))
            work.body[parent, PULL] += pull
            work.body[parent, MOMENT] += moment + pull * norm3(p)
    return largest_pull, largest_moment


@inlined
def own_wrench(body, acting, place, work, i, g):
    m = body[i, INERTIA]
    h = load3(body, i, INERTIA + 1)
    down = tmatvec3(load9(place.world, i, R_), g)
    F = join(cross3(h, down), scale3(m, down))
    fixed = load6(acting.wrenches, i, 0)
    force = (fixed[3], fixed[4], fixed[5])
    torque = (fixed[0], fixed[1], fixed[2])
    store6(
        work.body,
        i,
        WRENCH,
        (F[0] + fixed[0], F[1] + fixed[1], F[2] + fixed[2], F[3] + fixed[3], F[4] + fixed[4], F[5] + fixed[5]),
    )
    weight = norm3(g)
    work.body[i, PULL] = abs(m) * weight + norm3(force)
    work.body[i, MOMENT] = norm3(h) * weight + norm3(torque)


@inlined
def add_row_wrench(acting, place, work, k, i):
    R = load9(place.world, i, R_)
    f = row_force(acting, place, k)
    at = load3(acting.rows, k, LOAD_AT)
    torque = load3(acting.rows, k, LOAD_TORQUE)
    local = tmatvec3(R, f)
    add_to6(work.body, i, WRENCH, join(add3(tmatvec3(R, torque), cross3(at, local)), local))
    size = norm3(f)
    work.body[i, PULL] += size
    work.body[i, MOMENT] += size * norm3(at) + norm3(torque)


@kernel
def cut_forces(loop, frames, basis, starts, ends, force, world, rows, first):
    """Forces λ (p,) of cut joints as loads held by the world, two of `rows` per loop from `first` on: on bodies a and b.

    `loop`, `frames`, `basis`, `starts` and `ends` are those of `loops.system`; world (n, 12): poses of bodies.
    """
    for k in range(ends.shape[0]):
        wrench = ZERO6
        for r in range(starts[k], starts[k + 1]):
            wrench = add6(wrench, scale6(force[r], constrained_direction(basis, k, r - starts[k])))
        b = ends[k, 1]
        R = load9(frames, k, 12)
        if b >= 0:
            R = matmul3(load9(world, b, R_), R)
        torque, push = matvec3(R, angular(wrench)), matvec3(R, linear(wrench))
        on_a, on_b = first + 2 * k, first + 2 * k + 1
        store3(rows, on_a, LOAD_AT, add3(matvec3(load9(frames, k, 0), load3(loop, k, L_P)), load3(frames, k, 9)))
        store3(rows, on_a, LOAD_FORCE, scale3(-1.0, push))
        store3(rows, on_a, LOAD_TORQUE, scale3(-1.0, torque))
        store3(rows, on_b, LOAD_AT, load3(frames, k, 21))
        store3(rows, on_b, LOAD_FORCE, push)
        store3(rows, on_b, LOAD_TORQUE, torque)
