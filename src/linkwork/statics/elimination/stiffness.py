"""Stiffness of loads, body by body, and of joint springs: the leaves of the static elimination.

Exact part of a world-fixed force f at the point r of a body, for a twist [ω; v] of the body in its own frame (4):

    ωᵀ[(r·f) 1 − ½(r fᵀ + f rᵀ)]ω + ω·(f x v)

The same forces seen from the body's own rotation (3): B = Σ_c [(r_c·t_c) 1 − ½(r_c t_cᵀ + t_c r_cᵀ)] over its loads and the
points where its children hang, t_c the force of all that lies beyond, r_c from the centre of the body's own joint.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.model import layout
from linkwork.model.kernels.ball_spring import is_sprung
from linkwork.simulation.loading.load_columns import LOAD_AT, LOAD_STIFFNESS
from linkwork.spatial.inertia import rigid_as_articulated
from linkwork.spatial.memory import add_to6, add_to9, load3, load6, load9, load10, store6, store9
from linkwork.spatial.rotations import ZERO3, add3, dot3, matvec3, scale3, sub3, tmatvec3
from linkwork.spatial.vectors import ZERO6, cross_motion, dot6
from linkwork.statics.elimination.forces import row_force
from linkwork.statics.elimination.joint_springs import add_free_spring, add_symmetric, ball_curvature
from linkwork.statics.elimination.small_symmetric import absolute_value
from linkwork.statics.elimination.workspace import GUARD, IA, IB, IC, INVERSE, OWN, P_, R_, WRENCH

# A force across its lever has a moment and no stiffness. The energy −r f cos φ then falls until φ = 0, a quarter turn away:
# with this part of r f for stiffness the step r f / (GUARDED r f) is that quarter turn.
GUARDED = 2.0 / math.pi


@inlined
def lever_block(r, f):
    """(r·f) 1 − ½(r fᵀ + f rᵀ), symmetric."""
    d = dot3(r, f)
    return (
        d - r[0] * f[0],
        -0.5 * (r[0] * f[1] + r[1] * f[0]),
        -0.5 * (r[0] * f[2] + r[2] * f[0]),
        d - r[1] * f[1],
        -0.5 * (r[1] * f[2] + r[2] * f[1]),
        d - r[2] * f[2],
    )


@inlined
def add_own(work, i, r, f, is_guarded):
    """Adds a force f at r from the joint's centre to B, and to what guards it where f stands across r."""
    add_to6(work.body, i, OWN, lever_block(r, f))
    if not is_guarded:
        return
    size2 = dot3(r, r)
    across = math.sqrt(size2 * dot3(f, f)) - abs(dot3(r, f))
    if across > 0.0 and size2 > 0.0:
        add_to6(work.body, i, GUARD, lever_block(r, scale3(across / size2, r)))


@inlined
def half_skew(k, f):
    """½ k f̂, nine numbers."""
    x, y, z = 0.5 * k * f[0], 0.5 * k * f[1], 0.5 * k * f[2]
    return (0.0, -z, y, z, 0.0, -x, -y, x, 0.0)


@inlined
def scaled_sum6(a, x, b, y):
    return (
        a * x[0] + b * y[0],
        a * x[1] + b * y[1],
        a * x[2] + b * y[2],
        a * x[3] + b * y[3],
        a * x[4] + b * y[4],
        a * x[5] + b * y[5],
    )


@inlined
def joint_center(tree, body, i):
    """A point that the joint leaves where it is, in the body's frame; the body's origin where there is none."""
    c = ZERO3
    if tree[i, layout.KIND] == layout.HELICAL or tree[i, layout.KIND] == layout.SPHERICAL:
        c = load3(body, i, layout.CENTER)
    return c


@inlined
def own_stiffness(arrays, acting, place, work, i, exact, inverse_time2, is_mixed):
    """Stores the exact part of the weight, times `exact`, and inertia / s²; begins B where it is mixed in."""
    ten = load10(arrays.body, i, layout.INERTIA)
    gravity = arrays.gravity
    down = tmatvec3(load9(place.world, i, R_), (gravity[0], gravity[1], gravity[2]))
    h = (ten[1], ten[2], ten[3])
    A, B, _ = rigid_as_articulated(ten)
    store6(work.body, i, IA, scaled_sum6(exact, lever_block(h, down), inverse_time2, A))
    skew = half_skew(exact * ten[0], down)
    store9(
        work.body,
        i,
        IB,
        (
            inverse_time2 * B[0],
            inverse_time2 * B[1] + skew[1],
            inverse_time2 * B[2] + skew[2],
            inverse_time2 * B[3] + skew[3],
            inverse_time2 * B[4],
            inverse_time2 * B[5] + skew[5],
            inverse_time2 * B[6] + skew[6],
            inverse_time2 * B[7] + skew[7],
            inverse_time2 * B[8],
        ),
    )
    m = inverse_time2 * ten[0]
    store6(work.body, i, IC, (m, 0.0, 0.0, m, 0.0, m))
    if work.added.shape[0] > 0:
        for k in range(work.added.shape[1]):
            work.body[i, IA + k] += inverse_time2 * work.added[i, k]
    if is_mixed:
        c = joint_center(arrays.tree, arrays.body, i)
        store6(work.body, i, OWN, ZERO6)
        store6(work.body, i, GUARD, ZERO6)
        add_own(work, i, sub3(h, scale3(ten[0], c)), down, exact < 1.0)
        add_own(work, i, scale3(-1.0, c), load3(acting.wrenches, i, 3), exact < 1.0)


@inlined
def row_stiffness(arrays, acting, place, work, k, exact, is_mixed):
    """Adds what a load held by the world resists with: its force as for weights, its spring like a mass at the point."""
    i = acting.row_body[k]
    at = load3(acting.rows, k, LOAD_AT)
    f = tmatvec3(load9(place.world, i, R_), row_force(acting, place, k))
    stiffness = acting.rows[k, LOAD_STIFFNESS]
    h = scale3(stiffness, at)
    s = scale3(stiffness, at)
    block = lever_block(at, f)
    inertia = lever_block(at, s)  # (r·r) 1 − r rᵀ, times the stiffness
    add_to6(work.body, i, IA, scaled_sum6(exact, block, 1.0, inertia))
    add_to9(
        work.body,
        i,
        IB,
        half_skew(1.0, (exact * f[0] + 2.0 * h[0], exact * f[1] + 2.0 * h[1], exact * f[2] + 2.0 * h[2])),
    )
    add_to6(work.body, i, IC, (stiffness, 0.0, 0.0, stiffness, 0.0, stiffness))
    if is_mixed:
        add_own(work, i, sub3(at, joint_center(arrays.tree, arrays.body, i)), f, exact < 1.0)


@inlined
def child_on_own(arrays, place, work, i, parent, is_guarded):
    """Adds to the parent's B the force of all that hangs from joint i, at the centre of that joint."""
    R = load9(place.pose, i, R_)
    c = add3(matvec3(R, joint_center(arrays.tree, arrays.body, i)), load3(place.pose, i, P_))
    lever = sub3(c, joint_center(arrays.tree, arrays.body, parent))
    add_own(work, parent, lever, matvec3(R, load3(work.body, i, WRENCH + 3)), is_guarded)


@inlined
def finish_own(work, i, blend, soften):
    """Adds blend |B| and a little of its size on all axes: rotations that nothing resists must not run away."""
    own = load6(work.body, i, OWN)
    size = math.sqrt(
        own[0] * own[0]
        + own[3] * own[3]
        + own[5] * own[5]
        + 2.0 * (own[1] * own[1] + own[2] * own[2] + own[4] * own[4])
    )
    if blend > 0.0 and size > 0.0:
        add_to6(work.body, i, IA, scaled_sum6(blend, absolute_value(own), blend * GUARDED, load6(work.body, i, GUARD)))
    little = soften * size
    add_to6(work.body, i, IA, (little, 0.0, 0.0, little, 0.0, little))


@routine
def add_joint_stiffness(arrays, place, work, i, exact, inverse_time2, diagonal):
    """Adds springs, rotors and the joint's own curvature to D of a joint with several degrees of freedom."""
    tree, dof, rest = arrays.tree, arrays.dof, arrays.rest
    kind = tree[i, layout.KIND]
    j = tree[i, layout.V]
    nd = tree[i, layout.DOF]
    D = work.factors[:, INVERSE : INVERSE + 6]
    for d in range(nd):
        D[j + d, d] += inverse_time2 * dof[j + d, layout.ARMATURE]
        if diagonal.shape[0] > 0:
            D[j + d, d] += diagonal[j + d]
    if kind == layout.COMPOUND:
        F = load6(work.body, i, WRENCH)
        for d in range(nd):
            D[j + d, d] += dof[j + d, layout.STIFFNESS]
            for e in range(d):  # the bias c_J of a compound joint: later screws ride on earlier ones
                s = cross_motion(load6(place.S, j + e, 0), load6(place.S, j + d, 0))
                half = 0.5 * exact * dot6(F, s)
                D[j + d, e] -= half
                D[j + e, d] -= half
    elif kind == layout.SPHERICAL:
        add_symmetric(D, j, ball_curvature(dof, rest, place.q, tree, i, exact))
    elif kind == layout.FREE and (is_sprung(dof, j) or dof[j + nd - 1, layout.STIFFNESS] != 0.0):
        add_free_spring(dof, rest, place.q, tree[i, layout.Q], j, exact, D)
