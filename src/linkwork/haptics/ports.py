"""The simulation's side: how the bodies that hands hold answer, condensed into a few numbers for each hand.

With a the acceleration of a body under everything that acts on it, K the answers of bodies to unit wrenches on each other
(J M⁻¹ Jᵀ, from the paths of the bodies), and w the wrenches of the hands, all in the bodies' frames,

    a(w) = a + Σ_j K_j (w_j - w_j now)                    linear in what the hands do
    f(w) = I a(w) + V x* I V - w = f₀ + Σ_j F_j w_j - w   weight, other loads and joint reactions       (3)  docs/haptics.md

in the axes of the world and about the points held. Cost: O(k² log n) for k hands once the coefficients are up to date.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.core.bundles import Float1, Float2, Int1, reader
from linkwork.core.jit import inlined, kernel
from linkwork.dynamics.path_queries import (
    acceleration_at,
    answer_all,
    climb,
    descend,
    given_wrench,
    path_data_of,
    times_block,
    unit6,
)
from linkwork.dynamics.path_union import respond_together
from linkwork.haptics.layout import BLOCK, R_DRIFT, R_FEED, R_POINT, R_ROTATION, R_TWIST, RECORD, S_HANDS
from linkwork.model.layout import INERTIA
from linkwork.spatial.inertia import gyroscopic_wrench, rigid_times_twist
from linkwork.spatial.memory import load3, load6, load9, load10, store6
from linkwork.spatial.rotations import add3, cross3, matvec3, sub3, tmatvec3
from linkwork.spatial.vectors import ZERO6, add6, angular, join, linear, scale6, sub6

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Ports(NamedTuple):
    """k points of bodies that hands hold."""

    body: Float2  # (n, 32)  the model's table
    bodies: Int1  # (k,)
    leaf: Int1  # (k,)  their nodes in the assembly tree
    at: Float2  # (k, 3)  points held, in the frames of the bodies [m]
    pose: Float2  # (k, 12)  of the bodies in the world
    twist: Float2  # (k, 6)  of the bodies, in their frames
    applied: Float2  # (k, 6)  wrenches of the hands that the coefficients contain: at the points, axes of the world
    acceleration: Float2  # (k, 6)  of the bodies without the hands, gravity's pull included
    mobility: Float2  # (6 k, 6)  acceleration of each point, and its body, for unit wrenches at it: axes of the world
    answers: Float2  # (6 k, 6 k)
    message: Float1  # the snapshot, into which records and matrix are written


ports_of = reader(Ports)


@inlined
def to_body(p, h, w):
    """A wrench at the point held, in the axes of the world → about the body's origin, in its frame."""
    R = load9(p.pose, h, 0)
    f = tmatvec3(R, linear(w))
    return join(add3(tmatvec3(R, angular(w)), cross3(load3(p.at, h, 0), f)), f)


@inlined
def to_point(p, h, w):
    """The way back: a wrench of the body → at the point held, in the axes of the world."""
    R = load9(p.pose, h, 0)
    f = linear(w)
    return join(matvec3(R, sub3(angular(w), cross3(load3(p.at, h, 0), f))), matvec3(R, f))


@inlined
def to_point_motion(p, h, a, V):
    """Spatial acceleration of a body with twist V → of the body and of the point held, in the axes of the world."""
    R = load9(p.pose, h, 0)
    at = load3(p.at, h, 0)
    w = angular(V)
    at_point = add3(linear(a), cross3(angular(a), at))
    turning = cross3(w, add3(linear(V), cross3(w, at)))
    return join(matvec3(R, angular(a)), matvec3(R, add3(at_point, turning)))


@inlined
def answer(p, h, j, w):
    """Acceleration of body h for a wrench on body j."""
    a = ZERO6
    for c in range(6):
        o = 6 * j + c
        r = 6 * h
        x = w[c]
        column = (
            p.answers[r, o], p.answers[r + 1, o], p.answers[r + 2, o],
            p.answers[r + 3, o], p.answers[r + 4, o], p.answers[r + 5, o],
        )  # fmt: skip
        a = add6(a, scale6(x, column))
    return a


@inlined
def place_port(p, h):
    """Where the point held is and how it moves, into its record."""
    R = load9(p.pose, h, 0)
    at = load3(p.at, h, 0)
    twist = load6(p.twist, h, 0)
    point = add3(matvec3(R, at), load3(p.pose, h, 9))
    spin = matvec3(R, angular(twist))
    velocity = matvec3(R, add3(linear(twist), cross3(angular(twist), at)))
    o = S_HANDS + h * RECORD
    for k in range(3):
        p.message[o + R_POINT + k] = point[k]
        p.message[o + R_TWIST + k] = spin[k]
        p.message[o + R_TWIST + 3 + k] = velocity[k]
    for k in range(9):
        p.message[o + R_ROTATION + k] = R[k]


@kernel
def find_answers(paths, ports):
    """How the bodies held move, and answer unit wrenches on each other, from coefficients of the present state.

    acceleration: with the hands in place, in a world that accelerates by -g.
    """
    p = ports_of(ports)
    answer_all(paths, p.leaf, p.answers)
    for h in range(p.bodies.shape[0]):
        a = acceleration_at(paths, p.leaf[h])
        for k in range(6):
            p.acceleration[h, k] = a[k]


@kernel
def condense(paths, ports):
    """Records and matrix of a snapshot, equation (3), of bodies without loops."""
    find_answers(paths, ports)
    write_answers(paths, ports)


@kernel
def write_answers(paths, ports):
    """Records and matrix of a snapshot, equation (3), from what `find_answers` found."""
    p = ports_of(ports)
    g = path_data_of(paths).gravity
    gravity = (g[0], g[1], g[2])
    count = p.bodies.shape[0]
    for h in range(count):
        fall = tmatvec3(load9(p.pose, h, 0), gravity)
        for k in range(3):
            p.acceleration[h, 3 + k] += fall[k]
    for h in range(count):
        for j in range(count):  # without the hands
            w = to_body(p, j, load6(p.applied, j, 0))
            for r in range(6):
                for c in range(6):
                    p.acceleration[h, r] -= p.answers[6 * h + r, 6 * j + c] * w[c]
    for h in range(count):
        place_port(p, h)
        inertia = load10(p.body, p.bodies[h], INERTIA)
        f = rigid_times_twist(inertia, load6(p.acceleration, h, 0))
        f = to_point(p, h, add6(f, gyroscopic_wrench(inertia, load6(p.twist, h, 0))))
        for k in range(6):
            p.message[S_HANDS + h * RECORD + R_FEED + k] = f[k]
        drift = to_point_motion(p, h, load6(p.acceleration, h, 0), load6(p.twist, h, 0))
        for k in range(6):
            p.message[S_HANDS + h * RECORD + R_DRIFT + k] = drift[k]
        for c in range(6):
            moved = to_point_motion(p, h, answer(p, h, h, to_body(p, h, unit6(c))), ZERO6)
            for r in range(6):
                p.mobility[6 * h + r, c] = moved[r]
        for j in range(count):
            block = S_HANDS + count * RECORD + (h * count + j) * BLOCK
            for c in range(6):
                f = to_point(p, h, rigid_times_twist(inertia, answer(p, h, j, to_body(p, j, unit6(c)))))
                for r in range(6):
                    p.message[block + 6 * r + c] = f[r]


@kernel
def feel_by_path(paths, ports, wrench, felt):
    """The same force by one climb and one descent with the hand's wrench in place: the paper's tick, for one hand.

    wrench, felt: (6,), at the point held, axes of the world. What `condense` hands over for all wrenches at once.
    """
    p = ports_of(ports)
    d = path_data_of(paths)
    w = to_body(p, 0, given_wrench(wrench))
    more = sub6(w, to_body(p, 0, load6(p.applied, 0, 0)))
    count = climb(paths, p.leaf[0], times_block(d.coef, d.block[p.leaf[0]], more))
    a = add6(descend(paths, ZERO6, False, p.leaf[0], count), acceleration_at(paths, p.leaf[0]))
    a = add6(a, join((0.0, 0.0, 0.0), tmatvec3(load9(p.pose, 0, 0), (d.gravity[0], d.gravity[1], d.gravity[2]))))
    inertia = load10(p.body, p.bodies[0], INERTIA)
    f = add6(rigid_times_twist(inertia, a), gyroscopic_wrench(inertia, load6(p.twist, 0, 0)))
    f = to_point(p, 0, sub6(f, w))
    for k in range(6):
        felt[k] = f[k]


@kernel
def feel_together(table, ports, wrench, moved, felt):
    """What all hands feel, by one climb and one descent over the union of their paths: the paper's tick for k hands.

    table: of PathData and PathUnion. wrench, felt: (k, 6), at the points held, axes of the world. moved: (k, 6), memory.
    `condense` or `write_answers` came before: `acceleration` is that without hands. Cost: O(k log(n/k)).
    """
    p = ports_of(ports)
    count = p.bodies.shape[0]
    for h in range(count):
        store6(felt, h, 0, to_body(p, h, load6(wrench, h, 0)))
    respond_together(table, felt, moved)
    for h in range(count):
        inertia = load10(p.body, p.bodies[h], INERTIA)
        a = add6(load6(p.acceleration, h, 0), load6(moved, h, 0))
        f = add6(rigid_times_twist(inertia, a), gyroscopic_wrench(inertia, load6(p.twist, h, 0)))
        store6(felt, h, 0, to_point(p, h, sub6(f, load6(felt, h, 0))))
