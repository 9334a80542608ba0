"""Potential energy, and its change along a step: what settling must never gain.

Loads without a potential (wrenches that turn with their body, torques, efforts of ball joints) count with the work they
would do if they kept their direction during the step. The change is summed body by body from displacements, so that a small
one keeps its digits.
"""

from linkwork.core.jit import inlined, kernel
from linkwork.model.kernels.joint_kernels import joint_spring_energy
from linkwork.model.layout import COMPOUND, DOF, HELICAL, INERTIA, KIND, STIFFNESS, Q, V
from linkwork.simulation.loading.load_columns import LOAD_AT, LOAD_FORCE, LOAD_STIFFNESS, LOAD_TARGET, LOAD_TORQUE
from linkwork.spatial.memory import load3, load6, load9
from linkwork.spatial.rotations import (
    add3,
    dot3,
    matmul3,
    matrix_quaternion,
    matvec3,
    quaternion_log,
    scale3,
    sub3,
    transpose3,
)
from linkwork.statics.elimination.workspace import P_, R_

EPSILON = 2.220446049250313e-16


@inlined
def point_in_world(place, i, at):
    """A point of body i in the world."""
    return add3(matvec3(load9(place.world, i, R_), at), load3(place.world, i, P_))


@inlined
def turn_between(old, new, i):
    """Rotation vector from the old to the new orientation of body i, in the world."""
    turn = matmul3(load9(new.world, i, R_), transpose3(load9(old.world, i, R_)))
    return quaternion_log(matrix_quaternion(turn))


@inlined
def magnitude(a):
    return abs(a[0]) + abs(a[1]) + abs(a[2])


@kernel
def energy_change(arrays, acting, old, new, x, scale):
    """Energy at `new` = old ⊕ scale x less that at `old` [J], and the rounding to expect in it."""
    tree, body, dof, rest, gravity = arrays.tree, arrays.body, arrays.dof, arrays.rest, arrays.gravity
    g = (gravity[0], gravity[1], gravity[2])
    change = 0.0
    involved = 0.0
    for i in range(tree.shape[0]):
        m = body[i, INERTIA]
        h = load3(body, i, INERTIA + 1)
        p = load3(new.world, i, P_)
        rise = scale3(m, sub3(p, load3(old.world, i, P_)))
        rise = add3(rise, matvec3(load9(new.world, i, R_), h))
        rise = sub3(rise, matvec3(load9(old.world, i, R_), h))
        change -= dot3(g, rise)
        involved += magnitude(g) * (m * magnitude(p) + magnitude(h))
        fixed = load6(acting.wrenches, i, 0)
        if (
            fixed[0] != 0.0
            or fixed[1] != 0.0
            or fixed[2] != 0.0
            or fixed[3] != 0.0
            or fixed[4] != 0.0
            or fixed[5] != 0.0
        ):
            R = load9(old.world, i, R_)
            f = matvec3(R, (fixed[3], fixed[4], fixed[5]))
            change -= dot3(f, sub3(p, load3(old.world, i, P_)))
            change -= dot3(matvec3(R, (fixed[0], fixed[1], fixed[2])), turn_between(old, new, i))
            involved += magnitude(f) * magnitude(p) + abs(fixed[0]) + abs(fixed[1]) + abs(fixed[2])
        j = tree[i, V]
        if tree[i, KIND] == HELICAL:
            k = tree[i, Q]
            middle = 0.5 * (new.q[k] + old.q[k]) - rest[k]
            change += dof[j, STIFFNESS] * (new.q[k] - old.q[k]) * middle - acting.effort[j] * scale * x[j]
            involved += dof[j, STIFFNESS] * (abs(new.q[k]) + abs(rest[k])) * abs(middle) + abs(
                acting.effort[j] * new.q[k]
            )
        else:
            stored = joint_spring_energy(tree, dof, rest, i, new.q)
            gain = stored - joint_spring_energy(tree, dof, rest, i, old.q)
            involved += stored
            for d in range(tree[i, DOF]):
                gain -= acting.effort[j + d] * scale * x[j + d]
            change += gain
    for k in range(acting.row_body.shape[0]):
        i = acting.row_body[k]
        if i >= 0:
            before = point_in_world(old, i, load3(acting.rows, k, LOAD_AT))
            after = point_in_world(new, i, load3(acting.rows, k, LOAD_AT))
            step = sub3(after, before)
            middle = sub3(scale3(0.5, add3(after, before)), load3(acting.rows, k, LOAD_TARGET))
            f = load3(acting.rows, k, LOAD_FORCE)
            stiffness = acting.rows[k, LOAD_STIFFNESS]
            change += stiffness * dot3(step, middle) - dot3(f, step)
            torque = load3(acting.rows, k, LOAD_TORQUE)
            if torque[0] != 0.0 or torque[1] != 0.0 or torque[2] != 0.0:
                change -= dot3(torque, turn_between(old, new, i))
                involved += magnitude(torque)
            involved += (magnitude(f) + stiffness * magnitude(middle)) * magnitude(after)
    return change, 8.0 * EPSILON * involved


@kernel
def potential_energy(arrays, acting, place):
    """Energy of gravity (zero at the world's origin), joint springs, world-fixed forces, springs to world points, and
    constant efforts of joints whose coordinates are angles or lengths [J]."""
    tree, body, gravity = arrays.tree, arrays.body, arrays.gravity
    g = (gravity[0], gravity[1], gravity[2])
    energy = 0.0
    for i in range(tree.shape[0]):
        h = load3(body, i, INERTIA + 1)
        moment = add3(scale3(body[i, INERTIA], load3(place.world, i, P_)), matvec3(load9(place.world, i, R_), h))
        energy += joint_spring_energy(tree, arrays.dof, arrays.rest, i, place.q) - dot3(g, moment)
        if tree[i, KIND] == HELICAL or tree[i, KIND] == COMPOUND:
            for d in range(tree[i, DOF]):
                energy -= acting.effort[tree[i, V] + d] * place.q[tree[i, Q] + d]
    for k in range(acting.row_body.shape[0]):
        if acting.row_body[k] >= 0:
            point = point_in_world(place, acting.row_body[k], load3(acting.rows, k, LOAD_AT))
            gap = sub3(load3(acting.rows, k, LOAD_TARGET), point)
            energy += 0.5 * acting.rows[k, LOAD_STIFFNESS] * dot3(gap, gap)
            energy -= dot3(load3(acting.rows, k, LOAD_FORCE), point)
    return energy
