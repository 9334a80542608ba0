"""The joint calculus inside kernels: pose, motion subspace, bias, integrate, difference.

A helical joint (revolute, prismatic, screw) turns by q about a unit axis a through a point c and slides by l q:
R = exp(â q), p = (1 - R) c + l q, S = [a; l + c x a]. A compound joint is a product of such screws.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.model.kernels.ball_spring import ball_spring_pull, inverse_left, is_sprung, three_stiffnesses
from linkwork.model.layout import (
    AXIS,
    CENTER,
    COMPOUND,
    DAMPING,
    DOF,
    FREE,
    HELICAL,
    KIND,
    POSITION,
    ROTATION,
    SCREW,
    SCREW_AXIS,
    SCREW_CENTER,
    SCREW_SLIDE,
    SLIDE,
    SPHERICAL,
    STIFFNESS,
    Q,
    V,
)
from linkwork.spatial.memory import load3, load6, load9, put3, store6, three
from linkwork.spatial.rotations import (
    IDENTITY3,
    ZERO3,
    add3,
    cross3,
    dot3,
    matvec3,
    quaternion_conjugate,
    quaternion_exp,
    quaternion_log,
    quaternion_matrix,
    quaternion_multiply,
    quaternion_normalize,
    rotation_about,
    scale3,
    sub3,
    tmatvec3,
)
from linkwork.spatial.vectors import ZERO6, add6, compose_pose, cross_motion, join, scale6, twist_to_child

SMALL_ANGLE2 = 1e-4  # angle squared, below which three terms of a series are exact to rounding


@inlined
def screw_pose(axis, slide, center, q):
    R = rotation_about(axis, q)
    return R, add3(sub3(center, matvec3(R, center)), scale3(q, slide))


@inlined
def screw_twist(axis, slide, center):
    return join(axis, add3(slide, cross3(center, axis)))


@inlined
def quaternion_at(q, k):
    return (q[k], q[k + 1], q[k + 2], q[k + 3])


@inlined
def set_quaternion(q, k, value):
    q[k] = value[0]
    q[k + 1] = value[1]
    q[k + 2] = value[2]
    q[k + 3] = value[3]


@inlined
def helical_pose(body, i, qi):
    """Pose of body i in its parent when its joint is helical: the hot path, free of branches."""
    Rj, pj = screw_pose(load3(body, i, AXIS), load3(body, i, SLIDE), load3(body, i, CENTER), qi)
    return compose_pose(load9(body, i, ROTATION), load3(body, i, POSITION), Rj, pj)


@inlined
def helical_twist(body, i):
    return screw_twist(load3(body, i, AXIS), load3(body, i, SLIDE), load3(body, i, CENTER))


@routine
def joint_pose(tree, body, screws, i, q):
    """Pose of body i in its joint's zero frame."""
    kind = tree[i, KIND]
    k = tree[i, Q]
    if kind == HELICAL:
        return screw_pose(load3(body, i, AXIS), load3(body, i, SLIDE), load3(body, i, CENTER), q[k])
    if kind == SPHERICAL:
        R = quaternion_matrix(quaternion_at(q, k))
        c = load3(body, i, CENTER)
        return R, sub3(c, matvec3(R, c))
    if kind == FREE:
        return quaternion_matrix(quaternion_at(q, k + 3)), three(q, k)
    R, p = IDENTITY3, ZERO3
    if kind == COMPOUND:
        s = tree[i, SCREW]
        for d in range(tree[i, DOF]):
            Rs, ps = screw_pose(
                load3(screws, s + d, SCREW_AXIS),
                load3(screws, s + d, SCREW_SLIDE),
                load3(screws, s + d, SCREW_CENTER),
                q[k + d],
            )
            R, p = compose_pose(R, p, Rs, ps)
    return R, p


@inlined
def body_pose(tree, body, screws, i, q):
    """Pose of body i in its parent body."""
    Rj, pj = joint_pose(tree, body, screws, i, q)
    return compose_pose(load9(body, i, ROTATION), load3(body, i, POSITION), Rj, pj)


@routine
def joint_motion(tree, body, screws, i, q, v, S):
    """Writes the columns of the motion subspace into the rows S[v_start:]; returns S v and the bias c_J, body frame."""
    kind = tree[i, KIND]
    j = tree[i, V]
    if kind == HELICAL:
        s = helical_twist(body, i)
        store6(S, j, 0, s)
        return scale6(v[j], s), ZERO6
    if kind == SPHERICAL:
        x, y, z = load3(body, i, CENTER)
        store6(S, j, 0, (1.0, 0.0, 0.0, 0.0, z, -y))
        store6(S, j + 1, 0, (0.0, 1.0, 0.0, -z, 0.0, x))
        store6(S, j + 2, 0, (0.0, 0.0, 1.0, y, -x, 0.0))
        w = three(v, j)
        return join(w, cross3((x, y, z), w)), ZERO6
    if kind == FREE:
        for d in range(6):
            for e in range(6):
                S[j + d, e] = 0.0
            S[j + d, d] = 1.0
        return (v[j], v[j + 1], v[j + 2], v[j + 3], v[j + 4], v[j + 5]), ZERO6
    VJ, cJ = ZERO6, ZERO6
    if kind == COMPOUND:
        k = tree[i, Q]
        first = tree[i, SCREW]
        for d in range(tree[i, DOF]):
            a = load3(screws, first + d, SCREW_AXIS)
            slide = load3(screws, first + d, SCREW_SLIDE)
            c = load3(screws, first + d, SCREW_CENTER)
            R, p = screw_pose(a, slide, c, q[k + d])
            for e in range(d):  # the screws before this one, seen behind it
                store6(S, j + e, 0, twist_to_child(R, p, load6(S, j + e, 0)))
            s = screw_twist(a, slide, c)
            store6(S, j + d, 0, s)
            Vs = scale6(v[j + d], s)
            VJ = add6(twist_to_child(R, p, VJ), Vs)
            cJ = add6(twist_to_child(R, p, cJ), cross_motion(VJ, Vs))
    return VJ, cJ


@inlined
def body_motion(tree, body, screws, i, q, v, S):
    """Pose of body i in its parent, S v and c_J. Rows of S are written only for joints of other kinds than helical."""
    if tree[i, KIND] == HELICAL:
        R, p = helical_pose(body, i, q[tree[i, Q]])
        VJ = scale6(v[tree[i, V]], helical_twist(body, i))
        cJ = ZERO6
    else:
        R, p = body_pose(tree, body, screws, i, q)
        VJ, cJ = joint_motion(tree, body, screws, i, q, v, S)
    return R, p, VJ, cJ


@routine
def joint_passive_effort(tree, dof, rest, i, q, v, effort):
    """Adds the spring and damper efforts of joint i to the rows of `effort`."""
    kind = tree[i, KIND]
    j = tree[i, V]
    k = tree[i, Q]
    for d in range(tree[i, DOF]):
        effort[j + d] -= dof[j + d, DAMPING] * v[j + d]
    if kind == HELICAL or kind == COMPOUND:
        for d in range(tree[i, DOF]):
            effort[j + d] -= dof[j + d, STIFFNESS] * (q[k + d] - rest[k + d])
    elif (kind == SPHERICAL and is_sprung(dof, j)) or (
        kind == FREE and (is_sprung(dof, j) or dof[j + 3, STIFFNESS] != 0.0)
    ):
        turn = 0 if kind == SPHERICAL else 3
        q_rest = quaternion_at(rest, k + turn)
        q_now = quaternion_at(q, k + turn)
        r = quaternion_log(quaternion_multiply(quaternion_conjugate(q_rest), q_now))
        pull = ball_spring_pull(dof, j, r)
        effort[j] -= pull[0]
        effort[j + 1] -= pull[1]
        effort[j + 2] -= pull[2]
        if kind == FREE:
            x = tmatvec3(quaternion_matrix(q_now), sub3(three(q, k), three(rest, k)))
            for d in range(3):
                effort[j + 3 + d] -= dof[j + 3 + d, STIFFNESS] * x[d]


@routine
def joint_spring_energy(tree, dof, rest, i, q):
    """Potential energy stored in the springs of joint i [J]."""
    kind = tree[i, KIND]
    j = tree[i, V]
    k = tree[i, Q]
    energy = 0.0
    if kind == HELICAL or kind == COMPOUND:
        for d in range(tree[i, DOF]):
            x = q[k + d] - rest[k + d]
            energy += 0.5 * dof[j + d, STIFFNESS] * x * x
    elif kind == SPHERICAL or kind == FREE:
        turn = 0 if kind == SPHERICAL else 3
        q_rest = quaternion_at(rest, k + turn)
        r = quaternion_log(quaternion_multiply(quaternion_conjugate(q_rest), quaternion_at(q, k + turn)))
        energy += 0.5 * dot3(r, three_stiffnesses(dof, j, r))
        if kind == FREE:
            for d in range(3):
                x = q[k + d] - rest[k + d]
                energy += 0.5 * dof[j + 3, STIFFNESS] * x * x
    return energy


@routine
def joint_integrate(tree, i, q, v, h, out):
    """out ← q ⊕ v h for the coordinates of joint i; `out` may be `q`."""
    kind = tree[i, KIND]
    k = tree[i, Q]
    j = tree[i, V]
    if kind == SPHERICAL or kind == FREE:
        turn = 0 if kind == SPHERICAL else 3
        w = (h * v[j], h * v[j + 1], h * v[j + 2])
        old = quaternion_at(q, k + turn)
        if kind == FREE:
            # The whole pose follows the constant twist: exact for a body that screws through space.
            step = se3_exp_position(w, (h * v[j + 3], h * v[j + 4], h * v[j + 5]))
            x = matvec3(quaternion_matrix(old), step)
            put3(out, k, add3(three(q, k), x))
        set_quaternion(out, k + turn, quaternion_normalize(quaternion_multiply(old, quaternion_exp(w))))
    else:
        for d in range(tree[i, DOF]):
            out[k + d] = q[k + d] + h * v[j + d]


@routine
def joint_difference(tree, i, q0, q1, out):
    """out ← q1 ⊖ q0, the velocity that carries q0 to q1 in unit time, for joint i."""
    kind = tree[i, KIND]
    k = tree[i, Q]
    j = tree[i, V]
    if kind == SPHERICAL or kind == FREE:
        turn = 0 if kind == SPHERICAL else 3
        old = quaternion_at(q0, k + turn)
        w = quaternion_log(quaternion_multiply(quaternion_conjugate(old), quaternion_at(q1, k + turn)))
        put3(out, j, w)
        if kind == FREE:
            x = tmatvec3(quaternion_matrix(old), sub3(three(q1, k), three(q0, k)))
            put3(out, j + 3, inverse_left(w, x))
    else:
        for d in range(tree[i, DOF]):
            out[j + d] = q1[k + d] - q0[k + d]


@routine
def se3_exp_position(w, v):
    """Where a point x carried by the constant twist [w; v] for unit time ends: of exp on SE(3). v = inverse_left(w, x)."""
    angle2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    if angle2 < SMALL_ANGLE2:
        a = 0.5 - angle2 / 24.0 + angle2 * angle2 / 720.0
        b = 1.0 / 6.0 - angle2 / 120.0 + angle2 * angle2 / 5040.0
    else:
        angle = math.sqrt(angle2)
        half = math.sin(0.5 * angle)
        a = 2.0 * half * half / angle2
        b = (angle - math.sin(angle)) / (angle2 * angle)
    wv = cross3(w, v)
    return add3(v, add3(scale3(a, wv), scale3(b, cross3(w, wv))))
