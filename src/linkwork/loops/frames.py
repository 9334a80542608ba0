"""How far apart the two frames of each loop are, and how fast: coordinates of cut joints, gaps, slips, biases.

A loop's joint is cut: its child frame B belongs to one body, its zero frame A to another. The coordinates z that bring the
joint closest to the pose of B in A come from Gauss-Newton steps δz = Eᵀe, with e the twist that carries the joint's own
pose to the actual one; what is left of e lies in the constrained directions T (TᵀS = 0, constraint_basis): the gap.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.virtual_work.constraint_basis import joint_basis
from linkwork.model.kernels.ball_spring import inverse_left
from linkwork.model.kernels.joint_kernels import joint_integrate, joint_motion, joint_pose
from linkwork.model.layout import AXIS, DOF, HELICAL, KIND, SLIDE, SPHERICAL, Q, V
from linkwork.spatial.memory import load3, load6, load9, store3, store6, store9
from linkwork.spatial.rotations import (
    IDENTITY3,
    ZERO3,
    dot3,
    matmul3,
    matrix_quaternion,
    quaternion_log,
    sub3,
    tmatvec3,
    transpose3,
)
from linkwork.spatial.vectors import (
    ZERO6,
    add6,
    compose_pose,
    cross_motion,
    dot6,
    join,
    scale6,
    sub6,
    twist_to_child,
    wrench_to_parent,
)

# Columns of `loop`, one row per loop: pose of B in A; then, all in B: gap e, relative twist, bias of relative acceleration
L_R, L_P, L_GAP, L_TWIST, L_BIAS, LOOP_COLUMNS = 0, 9, 12, 18, 24, 30

STEPS = 60  # of Gauss-Newton; five do when the loop is nearly closed
REFINED = 1e-13  # of the last step [rad or m]: rounding of what it is made of
OPEN = 1e-6  # what is left of e from which on other starts are tried
TURNS = 3  # starts per coordinate, a third of a turn apart


@inlined
def frame_in_world(poses, i, frames, k, o):
    """World pose of a loop's frame; body -1 is the world."""
    R, p = IDENTITY3, ZERO3
    if i >= 0:
        R = load9(poses, i, 0)
        p = load3(poses, i, 9)
    return compose_pose(R, p, load9(frames, k, o), load3(frames, k, o + 9))


@inlined
def frame_twist(twists, i, frames, k, o):
    V_ = ZERO6
    if i >= 0:
        V_ = load6(twists, i, 0)
    return twist_to_child(load9(frames, k, o), load3(frames, k, o + 9), V_)


class CutJoints(NamedTuple):
    """Cut joints of k loops as a small linkage of their own, and what they are related by; `Constraints` has the same."""

    tree: IntArray  # (k, 6)
    body: FloatArray  # (k, 32)
    screws: FloatArray
    dof: FloatArray
    ends: IntArray  # (k, 2)  bodies a and b; -1 is the world
    frames: FloatArray  # (k, 24)  their frames A and B
    z: FloatArray  # (nq,)  coordinates
    rate: FloatArray  # (nv,)
    S: FloatArray  # (nv, 6)
    E: FloatArray  # (nv, 6)
    B: FloatArray  # (48 k,)
    matrix: FloatArray  # (6, 14)  scratch
    trial: FloatArray  # (nq,)  scratch
    loop: FloatArray  # (k, 30)


@kernel
def relate_frames(cut, poses, twists):
    """`relate_all_frames`, from Python."""
    return relate_all_frames(cut, poses, twists)


@routine
def relate_all_frames(cut, poses, twists):
    """Fills z (coordinates of cut joints, starting from what is there), B (48 per loop) and `loop`.

    cut: a bundle with the fields of `CutJoints`; poses (n, 12), twists (n, 6): of all bodies.
    Returns the loop whose joint is singular there (gimbal lock), or -1.
    """
    tree, frames, ends, loop, rate = cut.tree, cut.frames, cut.ends, cut.loop, cut.rate
    for k in range(ends.shape[0]):
        Ra, pa = frame_in_world(poses, ends[k, 0], frames, k, 0)
        Rb, pb = frame_in_world(poses, ends[k, 1], frames, k, 12)
        R = matmul3(transpose3(Ra), Rb)
        p = tmatvec3(Ra, sub3(pb, pa))
        e, ok = best_coordinates(cut, k, R, p)
        if not ok:
            return k
        store9(loop, k, L_R, R)
        store3(loop, k, L_P, p)
        store6(loop, k, L_GAP, e)
        above = frame_twist(twists, ends[k, 0], frames, k, 0)
        own = frame_twist(twists, ends[k, 1], frames, k, 12)
        relative = sub6(own, twist_to_child(R, p, above))
        j = tree[k, V]
        for d in range(tree[k, DOF]):
            rate[j + d] = dot6(load6(cut.E, j + d, 0), relative)
        VJ, cJ = joint_motion(tree, cut.body, cut.screws, k, cut.z, rate, cut.S)
        store6(loop, k, L_TWIST, relative)
        store6(loop, k, L_BIAS, add6(cJ, cross_motion(own, VJ)))
    return -1


@routine
def best_coordinates(cut, k, R, p):
    """The best z of several starts: where it was; then, if the loop stays open, turned by thirds from there."""
    tree, z, trial, rate = cut.tree, cut.z, cut.trial, cut.rate
    first = tree[k, Q]
    start_at_thread(tree, cut.body, k, p, z)
    e, ok = refine_coordinates(cut, k, R, p, z)
    left = dot6(e, e)
    moves = 1
    if tree[k, KIND] != HELICAL and tree[k, KIND] != SPHERICAL:  # a ball turns to any pose: what is left are places
        for _ in range(tree[k, DOF]):
            moves *= TURNS
    if (ok and left < OPEN * OPEN) or moves == 1:
        return e, ok
    for number in range(1, moves):
        for d in range(trial.shape[0]):
            trial[d] = z[d]
        digits = number
        for d in range(tree[k, DOF]):
            rate[tree[k, V] + d] = (digits % TURNS) * (2.0 * math.pi / TURNS)
            digits //= TURNS
        joint_integrate(tree, k, z, rate, 1.0, trial)
        other, other_ok = refine_coordinates(cut, k, R, p, trial)
        if other_ok and (not ok or dot6(other, other) < 0.99 * left):
            left = dot6(other, other)
            ok = True
            for d in range(first, trial.shape[0]):
                z[d] = trial[d]
            if left < OPEN * OPEN:
                break
    return refine_coordinates(cut, k, R, p, z)


@inlined
def start_at_thread(tree, body, k, p, z):
    """A screw shows by its advance how many turns it has made, which no rotation matrix can."""
    if tree[k, KIND] == HELICAL:
        axis = load3(body, k, AXIS)
        slide = load3(body, k, SLIDE)
        if dot3(axis, axis) > 0.0 and dot3(slide, slide) > 0.0:
            z[tree[k, Q]] = dot3(slide, p) / dot3(slide, slide)


@routine
def refine_coordinates(cut, k, R, p, z):
    """Gauss-Newton from z; leaves S, E and B there. Returns what is left of e, and whether the joint is regular."""
    tree, body, screws, rate, S, E = cut.tree, cut.body, cut.screws, cut.rate, cut.S, cut.E
    j = tree[k, V]
    e = ZERO6
    for _ in range(STEPS):
        Rj, pj = joint_pose(tree, body, screws, k, z)
        w = quaternion_log(matrix_quaternion(matmul3(transpose3(Rj), R)))
        e = join(w, inverse_left(w, tmatvec3(Rj, sub3(p, pj))))
        for d in range(tree[k, DOF]):
            rate[j + d] = 0.0
        joint_motion(tree, body, screws, k, z, rate, S)
        if not joint_basis(tree, body, cut.dof, k, S, cut.B, 48 * k, E, cut.matrix):
            return e, False
        largest = 0.0
        for d in range(tree[k, DOF]):
            step = dot6(load6(E, j + d, 0), e)
            step = min(max(step, -1.0), 1.0)  # [rad or m]: the next e is better than a long leap on this one
            rate[j + d] = step
            largest = max(largest, abs(step))
        if not largest > REFINED:
            break
        joint_integrate(tree, k, z, rate, 1.0, z)
    return e, True


@inlined
def constrained_direction(B, k, c):
    """Column c of T of loop k, whose six rows of eight numbers stand in B."""
    o = 48 * k + c
    return (B[o], B[o + 8], B[o + 16], B[o + 24], B[o + 32], B[o + 40])


@inlined
def constraint_row(loop, frames, B, k, c):
    """Constrained direction c of loop k: its row on the twists of a and b in their frames, gap, slip and bias."""
    T = constrained_direction(B, k, c)  # a wrench on body b in its frame B that the joint can pass on
    on_a = wrench_to_parent(load9(loop, k, L_R), load3(loop, k, L_P), scale6(-1.0, T))
    a = wrench_to_parent(load9(frames, k, 0), load3(frames, k, 9), on_a)
    b = wrench_to_parent(load9(frames, k, 12), load3(frames, k, 21), T)
    return a, b, dot6(T, load6(loop, k, L_GAP)), dot6(T, load6(loop, k, L_TWIST)), dot6(T, load6(loop, k, L_BIAS))


@kernel
def constraint_gaps(loop, frames, B, starts, gap, slip, bias):
    """Fills gap, slip and bias (p,) of all loops. starts (k + 1,): first row of each loop."""
    for k in range(starts.shape[0] - 1):
        for r in range(starts[k], starts[k + 1]):
            _, _, gap[r], slip[r], bias[r] = constraint_row(loop, frames, B, k, r - starts[k])


@kernel
def constraint_rows(loop, frames, B, starts, where, C):
    """Adds the rows of all loops to C (p, 6 m). where (k, 2): places of their bodies a and b among the m of C."""
    for k in range(where.shape[0]):
        for r in range(starts[k], starts[k + 1]):
            a, b, _, _, _ = constraint_row(loop, frames, B, k, r - starts[k])
            for d in range(6):
                C[r, 6 * where[k, 0] + d] += a[d]
                C[r, 6 * where[k, 1] + d] += b[d]
