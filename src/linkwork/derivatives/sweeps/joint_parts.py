"""What the sweeps of derivatives do for each kind of joint: its columns, and the derivatives of its springs."""

from linkwork.core.jit import inlined, routine
from linkwork.model.kernels.ball_spring import (
    ball_spring_change,
    ball_spring_change_transposed,
    inverse_left,
    is_sprung,
    three_stiffnesses,
)
from linkwork.model.kernels.joint_kernels import quaternion_at
from linkwork.model.layout import CENTER, COMPOUND, DOF, FREE, HELICAL, KIND, SPHERICAL, STIFFNESS, Q, V
from linkwork.spatial.memory import load3, put3, three
from linkwork.spatial.rotations import (
    cross3,
    quaternion_conjugate,
    quaternion_log,
    quaternion_matrix,
    quaternion_multiply,
    scale3,
    sub3,
    tmatvec3,
)
from linkwork.spatial.vectors import ZERO6, angular, join, linear


@inlined
def add_three(x, j, value):
    x[j] += value[0]
    x[j + 1] += value[1]
    x[j + 2] += value[2]


@routine
def ball_twist(tree, body, i, x):
    """S x of a ball or a free joint, whose S is fixed in the body; zero for a weld."""
    kind = tree[i, KIND]
    j = tree[i, V]
    if kind == FREE:
        return join(three(x, j), three(x, j + 3))
    if kind == SPHERICAL:
        w = three(x, j)
        return join(w, cross3(load3(body, i, CENTER), w))
    return ZERO6


@routine
def ball_effort(tree, body, i, F, out):
    """out ← SᵀF in the rows of a ball or a free joint."""
    kind = tree[i, KIND]
    j = tree[i, V]
    if kind == FREE:
        put3(out, j, angular(F))
        put3(out, j + 3, linear(F))
    elif kind == SPHERICAL:
        put3(out, j, sub3(angular(F), cross3(load3(body, i, CENTER), linear(F))))


@inlined
def ball_stretch(tree, rest, i, q):
    """Rotation vector and displacement of a ball or free joint from rest, in the body's frame."""
    k = tree[i, Q]
    turn = k + 3 if tree[i, KIND] == FREE else k
    now = quaternion_at(q, turn)
    r = quaternion_log(quaternion_multiply(quaternion_conjugate(quaternion_at(rest, turn)), now))
    x = (0.0, 0.0, 0.0)
    if tree[i, KIND] == FREE:
        x = tmatvec3(quaternion_matrix(now), sub3(three(q, k), three(rest, k)))
    return r, x


@inlined
def has_springs(kind, dof, j):
    return is_sprung(dof, j) or (kind == FREE and dof[j + 3, STIFFNESS] != 0.0)


@routine
def springs_adjoint(tree, dof, rest, i, q, mu, by_q, by_dof):
    """Adds the gradient of μ · k r, the springs of joint i, with respect to q to `by_q`; to k, if asked, in `by_dof`."""
    kind = tree[i, KIND]
    j = tree[i, V]
    asked = by_dof.shape[0] > 0
    if kind == HELICAL or kind == COMPOUND:
        k = tree[i, Q]
        for d in range(tree[i, DOF]):
            by_q[j + d] += dof[j + d, STIFFNESS] * mu[j + d]
            if asked:
                by_dof[j + d, STIFFNESS] = mu[j + d] * (q[k + d] - rest[k + d])
    elif (kind == SPHERICAL or kind == FREE) and (asked or has_springs(kind, dof, j)):
        r, x = ball_stretch(tree, rest, i, q)
        add_three(by_q, j, ball_spring_change_transposed(dof, j, r, three(mu, j)))
        if asked:
            m = inverse_left(scale3(-1.0, r), three(mu, j))  # μ·Jl⁻¹(r) K r = (Jr⁻¹(r) μ)·K r
            by_dof[j, STIFFNESS] = m[0] * r[0]
            by_dof[j + 1, STIFFNESS] = m[1] * r[1]
            by_dof[j + 2, STIFFNESS] = m[2] * r[2]
        if kind == FREE:
            pull = three_stiffnesses(dof, j + 3, three(mu, j + 3))  # dx = δ_v - δ_ω x x
            add_three(by_q, j, cross3(pull, x))
            add_three(by_q, j + 3, pull)
            if asked:
                for d in range(3):
                    by_dof[j + 3 + d, STIFFNESS] = mu[j + 3 + d] * x[d]


@routine
def springs_tangent(tree, dof, rest, i, q, dq, ddof, out):
    """Adds the change of k r, the springs of joint i, to the rows of `out`."""
    kind = tree[i, KIND]
    j = tree[i, V]
    k = tree[i, Q]
    asked = ddof.shape[0] > 0
    if kind == HELICAL or kind == COMPOUND:
        for d in range(tree[i, DOF]):
            out[j + d] += dof[j + d, STIFFNESS] * dq[j + d]
            if asked:
                out[j + d] += ddof[j + d, STIFFNESS] * (q[k + d] - rest[k + d])
    elif (kind == SPHERICAL or kind == FREE) and (asked or has_springs(kind, dof, j)):
        r, x = ball_stretch(tree, rest, i, q)
        turn = three(dq, j)
        add_three(out, j, ball_spring_change(dof, j, r, turn))
        if asked:
            add_three(out, j, inverse_left(r, three_stiffnesses(ddof, j, r)))
        if kind == FREE:
            add_three(out, j + 3, three_stiffnesses(dof, j + 3, sub3(three(dq, j + 3), cross3(turn, x))))
            if asked:
                add_three(out, j + 3, three_stiffnesses(ddof, j + 3, x))
