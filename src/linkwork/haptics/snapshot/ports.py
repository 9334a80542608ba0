"""The simulation's side: how the bodies that hands hold respond, condensed into a few numbers for each hand.

With a the acceleration of a body under everything that acts on it, K the responses of bodies to unit wrenches on each other
(J M⁻¹ Jᵀ, from the paths of the bodies), and w the wrenches of the hands, all in the bodies' frames,

    a(w) = a + Σ_j K_j (w_j - w_j now)                    linear in what the hands do
    f(w) = I a(w) + V x* I V - w = f₀ + I Σ_j K_j w_j - w weight, other loads and joint reactions       (3)  docs/haptics.md

in the axes of the world and about the points held. K is not formed: a tree of segments (`paths.path_segments`) gives
K w in O(k) for k hands, and is made in O(k log(n/k)) once the coefficients are up to date.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import int64

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.bundles import Float1, Float2, Int1, reader
from linkwork.core.jit import inlined, kernel
from linkwork.dynamics.paths.path_data import path_data_of
from linkwork.dynamics.paths.path_segments import JUNCTION_STATE, own_responses, segments_of, write_network
from linkwork.dynamics.paths.path_union import accelerate_together
from linkwork.haptics.sharing import layout
from linkwork.haptics.tick.responses import hand_acceleration, hand_responses, row_of
from linkwork.model.layout import INERTIA
from linkwork.spatial.inertia import gyroscopic_wrench, rigid_times_twist
from linkwork.spatial.memory import load3, load6, load9, load10, store6
from linkwork.spatial.rotations import add3, cross3, matvec3, sub3, tmatvec3
from linkwork.spatial.vectors import ZERO6, add6, angular, dot6, join, linear, scale6, sub6, unit6


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
    message: Float1  # the snapshot, into which records and the tree of segments are written
    state: Float1  # (n,)  scratch of responses: wrenches on the bodies, junctions, rows
    E: Float2  # (12, 13)  scratch
    M: Float2  # (12, 12)  scratch


ports_of = reader(Ports)
AT_WRENCH, AT_STATE = 0, 6 * layout.GRASPS  # in `state`
AT_ROWS = AT_STATE + JUNCTION_STATE * layout.JUNCTIONS


def make_ports(body: FloatArray, bodies: IntArray, leaf: IntArray, at: FloatArray, message: FloatArray) -> Ports:
    """Ports for hands on bodies, shape (k,), at points (k, 3) in their frames. body: the model's table."""
    k = bodies.size
    twist, applied, acceleration = (np.zeros((k, 6)) for _ in range(3))
    return Ports(
        body, bodies, leaf, np.ascontiguousarray(at, dtype=np.float64), np.zeros((k, 12)), twist, applied, acceleration,
        np.zeros((6 * k, 6)), message, np.zeros(AT_ROWS + layout.MOST_ROWS), np.zeros((12, 13)), np.zeros((12, 12)),
    )  # fmt: skip


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
def place_port(p, h):
    """Where the point held is and how it moves, into its record."""
    R = load9(p.pose, h, 0)
    at = load3(p.at, h, 0)
    twist = load6(p.twist, h, 0)
    point = add3(matvec3(R, at), load3(p.pose, h, 9))
    spin = matvec3(R, angular(twist))
    velocity = matvec3(R, add3(linear(twist), cross3(angular(twist), at)))
    o = layout.S_GRASPS + h * layout.RECORD
    for k in range(3):
        p.message[o + layout.R_POINT + k] = point[k]
        p.message[o + layout.R_TWIST + k] = spin[k]
        p.message[o + layout.R_TWIST + 3 + k] = velocity[k]
    for k in range(9):
        p.message[o + layout.R_ROTATION + k] = R[k]


@inlined
def write_frames(p, h):
    """Into the record: what turns a wrench at the point held into the body's frame, and an acceleration into its force."""
    o = layout.S_GRASPS + h * layout.RECORD
    inertia = load10(p.body, p.bodies[h], INERTIA)
    for c in range(6):
        w = to_body(p, h, unit6(c))
        f = to_point(p, h, rigid_times_twist(inertia, unit6(c)))
        for r in range(6):
            p.message[o + layout.R_INTO + 6 * r + c] = w[r]
            p.message[o + layout.R_OUT + 6 * r + c] = f[r]


@kernel
def find_responses(table, ports):
    """How the bodies held move, and respond to wrenches on each other, from coefficients of the present state.

    table: of PathData, PathUnion and Segments. acceleration: with the hands in place, in a world that accelerates by -g.
    """
    p = ports_of(ports)
    s = segments_of(table)
    count = p.bodies.shape[0]
    integers = p.message.view(int64)
    for h in range(count):
        place_port(p, h)
        write_frames(p, h)
        integers[layout.S_GRASPS + h * layout.RECORD + layout.R_JUNCTION] = s.junction[h]
    start = layout.S_GRASPS + count * layout.RECORD
    words = write_network(table, p.message, start)
    own_responses(p.message, start, s.own, p.E, p.M)
    accelerate_together(table, p.acceleration)
    integers[layout.S_COUNT], integers[layout.S_JUNCTIONS], integers[layout.S_ROWS] = count, s.node.shape[0], 0
    integers[layout.S_AT_ROWS] = integers[layout.S_WORDS] = start + words


@kernel
def build_snapshot(table, ports):
    """A snapshot, equation (3), of bodies without constraints."""
    find_responses(table, ports)
    write_responses(table, ports)


@kernel
def write_responses(table, ports):
    """A snapshot, equation (3), from what `find_responses` found; `constraints` may have added rows in between."""
    p = ports_of(ports)
    s = segments_of(table)
    g = path_data_of(table).gravity
    gravity = (g[0], g[1], g[2])
    for h in range(p.bodies.shape[0]):
        fall = tmatvec3(load9(p.pose, h, 0), gravity)
        for k in range(3):
            p.acceleration[h, 3 + k] += fall[k]
        for k in range(6):
            p.state[AT_WRENCH + 6 * h + k] = p.applied[h, k]
    hand_responses(p.message, p.state, AT_WRENCH, AT_STATE, AT_ROWS)
    for h in range(p.bodies.shape[0]):
        o = layout.S_GRASPS + h * layout.RECORD
        by_hands = hand_acceleration(p.message, p.state, h, AT_STATE, AT_ROWS)
        a = sub6(load6(p.acceleration, h, 0), by_hands)
        store6(p.acceleration, h, 0, a)
        twist = load6(p.twist, h, 0)
        inertia = load10(p.body, p.bodies[h], INERTIA)
        f = to_point(p, h, add6(rigid_times_twist(inertia, a), gyroscopic_wrench(inertia, twist)))
        drift = to_point_motion(p, h, a, twist)
        for k in range(6):
            p.message[o + layout.R_FEED + k] = f[k]
            p.message[o + layout.R_DRIFT + k] = drift[k]
        for c in range(6):
            moved = to_point_motion(p, h, own_response(p, s, h, to_body(p, h, unit6(c))), ZERO6)
            for r in range(6):
                p.mobility[6 * h + r, c] = moved[r]


@inlined
def own_response(p, s, h, w):
    """Acceleration of the body that hand h holds for a wrench on it, constraints included."""
    own = s.own[s.junction[h]]
    a = ZERO6
    for c in range(6):
        a = add6(a, scale6(w[c], (own[c], own[6 + c], own[12 + c], own[18 + c], own[24 + c], own[30 + c])))
    integers = p.message.view(int64)
    for r in range(integers[layout.S_ROWS]):
        row = row_of(p.message, r, h)
        a = sub6(a, scale6(dot6(row, w), row))
    return a
