"""The joint calculus inside kernels: pose, motion subspace, bias, integrate, difference.

A helical joint (revolute, prismatic, screw) turns by q about a unit axis a through a point c and slides by l q:
R = exp(â q), p = (1 - R) c + l q, S = [a; l + c x a]. A compound joint is a product of such screws.
"""

import math

from linkwork.algebra.rows import Rows
from linkwork.algebra.spatial import IDENTITY, ZERO3, ZERO_TWIST, Pose, Quaternion, Screw, Twist, Vec3
from linkwork.algebra.tracing import formula
from linkwork.core.jit import inlined, routine
from linkwork.model.kernels.ball_spring import ball_spring_pull, inverse_left, is_sprung, three_stiffnesses
from linkwork.model.layout import (
    COMPOUND,
    DAMPING,
    DOF,
    FREE,
    HELICAL,
    KIND,
    SPHERICAL,
    STIFFNESS,
    Q,
    V,
)
from linkwork.model.rows import BODY, TREE
from linkwork.spatial.memory import load6, put3, store6, three
from linkwork.spatial.rotations import (
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
    scale3,
    sub3,
    tmatvec3,
)

SMALL_ANGLE2 = 1e-4  # angle squared, below which three terms of a series are exact to rounding


@inlined
def quaternion_at(q, k):
    return (q[k], q[k + 1], q[k + 2], q[k + 3])


@inlined
def set_quaternion(q, k, value):
    q[k] = value[0]
    q[k + 1] = value[1]
    q[k + 2] = value[2]
    q[k + 3] = value[3]


class Joint(Rows, tree=TREE, body=BODY):
    """A body's joint."""


class OfBody(Rows, body=BODY):
    """A joint whose kind is known."""


class ScrewOf(Rows, screws={"screw": Screw}):
    """A screw of a compound joint."""


@inlined
def turn(screw, q):
    """Pose that a screw gives at q. Sine and cosine come first: what is read before a call is spilled."""
    sine, cosine = math.sin(0.5 * q), math.cos(0.5 * q)
    return screw.pose(q, sine, cosine)


@routine
def joint_at(tree, body, screws, i, q):
    """Pose of body i in its joint's zero frame."""
    joint, X = Joint(tree, body)[i], IDENTITY
    k = joint.q
    if joint.kind == HELICAL:
        X = turn(joint.screw, q[k])
    elif joint.kind == SPHERICAL:
        X = ball(Quaternion(quaternion_at(q, k)), joint.screw.center)
    elif joint.kind == FREE:
        X = Pose(Quaternion(quaternion_at(q, k + 3)).matrix(), Vec3(q[k], q[k + 1], q[k + 2]))
    elif joint.kind == COMPOUND:
        for d in range(joint.freedoms):
            X = X @ turn(ScrewOf(screws)[joint.first_screw + d].screw, q[k + d])
    return X


@formula
def ball(turned, center):
    """Pose of a body that turns about a centre."""
    R = turned.matrix()
    return Pose(R, center - R @ center)


@routine
def joint_moves(tree, body, screws, i, q, v, S):
    """Pose of body i in its joint's zero frame, S q̇ and the bias c_J; writes S, a row for each freedom, from v_start on."""
    joint, X, VJ, cJ = Joint(tree, body)[i], IDENTITY, ZERO_TWIST, ZERO_TWIST
    j, k = joint.v, joint.q
    if joint.kind == COMPOUND:
        for d in range(joint.freedoms):
            screw = ScrewOf(screws)[joint.first_screw + d].screw
            Xd = turn(screw, q[k + d])
            for e in range(d):  # the screws before this one, seen behind it
                seen = Xd @ Twist(load6(S, j + e, 0))
                store6(S, j + e, 0, seen.x)
            store6(S, j + d, 0, screw.twist().x)
            Vd = v[j + d] * screw.twist()
            VJ = Xd @ VJ + Vd
            cJ = Xd @ cJ + VJ.cross(Vd)
            X = X @ Xd
    else:
        X = joint_at(tree, body, screws, i, q)
        for d in range(joint.freedoms):
            S_d = column_of(joint, d)
            store6(S, j + d, 0, S_d.x)
            VJ += v[j + d] * S_d
    return X, VJ, cJ


@inlined
def column_of(joint, d):
    """Column d of a joint whose columns do not change as it moves."""
    S = joint.screw.twist()
    if joint.kind != HELICAL:
        e = Vec3(1.0 if d % 3 == 0 else 0.0, 1.0 if d % 3 == 1 else 0.0, 1.0 if d % 3 == 2 else 0.0)
        if joint.kind == SPHERICAL:
            S = Twist(e, joint.screw.center.cross(e))
        else:
            S = Twist(e, ZERO3) if d < 3 else Twist(ZERO3, e)
    return S


# ------------------------------------------------------------------------------------------------------- the same in tuples


@inlined
def screw_pose(axis, slide, center, q):
    X = turn(Screw(axis, slide, center), q)
    return X.R.x, X.p.x


@inlined
def screw_twist(axis, slide, center):
    return Screw(axis, slide, center).twist().x


@inlined
def helical_pose(body, i, qi):
    """Pose of body i in its parent when its joint is helical: the hot path, free of branches."""
    b = OfBody(body)[i]
    J = turn(b.screw, qi)
    X = b.rest @ J
    return X.R.x, X.p.x


@inlined
def helical_twist(body, i):
    return OfBody(body)[i].screw.twist().x


@inlined
def joint_pose(tree, body, screws, i, q):
    """Pose of body i in its joint's zero frame."""
    X = joint_at(tree, body, screws, i, q)
    return X.R.x, X.p.x


@inlined
def body_pose(tree, body, screws, i, q):
    """Pose of body i in its parent body."""
    J = joint_at(tree, body, screws, i, q)
    X = OfBody(body)[i].rest @ J
    return X.R.x, X.p.x


@inlined
def joint_motion(tree, body, screws, i, q, v, S):
    """Writes the columns of the motion subspace into the rows S[v_start:]; returns S v and the bias c_J, body frame."""
    _, VJ, cJ = joint_moves(tree, body, screws, i, q, v, S)
    return VJ.x, cJ.x


@inlined
def body_motion(tree, body, screws, i, q, v, S):
    """Pose of body i in its parent, S v and c_J. Rows of S are written only for joints of other kinds than helical."""
    b = Joint(tree, body)[i]
    if b.kind == HELICAL:
        J, VJ, cJ = turn(b.screw, q[b.q]), v[b.v] * b.screw.twist(), ZERO_TWIST
    else:
        J, VJ, cJ = joint_moves(tree, body, screws, i, q, v, S)
    X = b.rest @ J
    return X.R.x, X.p.x, VJ.x, cJ.x


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
