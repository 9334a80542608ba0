"""Twists, wrenches and pose transforms as tuples, for use inside kernels.

A twist is `[ω; v]`, a wrench `[n; f]`, both six floats, angular first. A pose is a rotation R (nine floats) and a
position p of a child frame in its parent: x_parent = R x_child + p.
"""

from linkwork.core.jit import inlined
from linkwork.spatial.rotations import add3, cross3, matmul3, matvec3, sub3, tmatvec3

ZERO6 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@inlined
def unit6(k):
    """A six-vector with 1 at place k."""
    return (
        1.0 if k == 0 else 0.0,
        1.0 if k == 1 else 0.0,
        1.0 if k == 2 else 0.0,
        1.0 if k == 3 else 0.0,
        1.0 if k == 4 else 0.0,
        1.0 if k == 5 else 0.0,
    )


@inlined
def add6(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5])


@inlined
def sub6(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3], a[4] - b[4], a[5] - b[5])


@inlined
def scale6(s, a):
    return (s * a[0], s * a[1], s * a[2], s * a[3], s * a[4], s * a[5])


@inlined
def add_scaled(a, k, b):
    """a + k b"""
    return (a[0] + k * b[0], a[1] + k * b[1], a[2] + k * b[2], a[3] + k * b[3], a[4] + k * b[4], a[5] + k * b[5])


@inlined
def dot6(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]


@inlined
def angular(a):
    return (a[0], a[1], a[2])


@inlined
def linear(a):
    return (a[3], a[4], a[5])


@inlined
def join(w, v):
    return (w[0], w[1], w[2], v[0], v[1], v[2])


@inlined
def to_world(R, a):
    """Both halves of a twist or wrench in the axes that R leads to."""
    return join(matvec3(R, (a[0], a[1], a[2])), matvec3(R, (a[3], a[4], a[5])))


@inlined
def to_body(R, a):
    """And back."""
    return join(tmatvec3(R, (a[0], a[1], a[2])), tmatvec3(R, (a[3], a[4], a[5])))


@inlined
def twist_to_child(R, p, V):
    """X_cp V: a twist of the parent frame, seen in the child frame."""
    w = (V[0], V[1], V[2])
    return join(tmatvec3(R, w), tmatvec3(R, add3((V[3], V[4], V[5]), cross3(w, p))))


@inlined
def twist_to_parent(R, p, V):
    """X_pc V: a twist of the child frame, seen in the parent frame."""
    w = matvec3(R, (V[0], V[1], V[2]))
    return join(w, add3(matvec3(R, (V[3], V[4], V[5])), cross3(p, w)))


@inlined
def wrench_to_parent(R, p, F):
    """X_cpᵀ F: a wrench of the child frame, seen in the parent frame."""
    f = matvec3(R, (F[3], F[4], F[5]))
    return join(add3(matvec3(R, (F[0], F[1], F[2])), cross3(p, f)), f)


@inlined
def wrench_to_child(R, p, F):
    """X_pcᵀ F: a wrench of the parent frame, seen in the child frame."""
    f = (F[3], F[4], F[5])
    return join(tmatvec3(R, sub3((F[0], F[1], F[2]), cross3(p, f))), tmatvec3(R, f))


@inlined
def cross_motion(V, S):
    """V x S: rate of change of a twist S fixed in a frame that moves with V."""
    w = (V[0], V[1], V[2])
    s = (S[0], S[1], S[2])
    return join(cross3(w, s), add3(cross3(w, (S[3], S[4], S[5])), cross3((V[3], V[4], V[5]), s)))


@inlined
def cross_force(V, F):
    """V x* F: rate of change of a wrench F fixed in a frame that moves with V."""
    w = (V[0], V[1], V[2])
    f = (F[3], F[4], F[5])
    return join(add3(cross3(w, (F[0], F[1], F[2])), cross3((V[3], V[4], V[5]), f)), cross3(w, f))


@inlined
def compose_pose(Ra, pa, Rb, pb):
    """Pose of c in a from the poses of b in a and of c in b."""
    return matmul3(Ra, Rb), add3(matvec3(Ra, pb), pa)
