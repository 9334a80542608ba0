"""Newton's method for the discrete equations of motion of a tree, in linear time: the sweeps of `variational`.

Within a step every body has one momentum, constant in space. With Rd, d the body's displacement (its frame at the end, seen
from its frame at the start), c its centre of mass, J its inertia there and x = 2 tan(θ/2) times the axis of Rd,

    f = m (Rd c + d - c) / h,     π = (J x + ½ x x J x + ¼ x (x·J x)) / h,     n = c x f + π        (6)  docs/integrators.md

in the frame at the start. A variation η = [w; v] of the frame at the end changes it by K η,

    h K = [ A B - m c^ Rd c^,  m c^ Rd ;  -m Rd c^,  m Rd ],   A = ∂(h π)/∂x,   B = ∂x/∂w = 1 + ½ x^ + ¼ x xᵀ      (7)

Variations run from root to leaf through the poses at the end, momenta from leaf to root through those at the start. So the
linear system of Newton's method is that of `aba` with K, which is not symmetric, in the place of the inertia:

    D = S₀ᵀ K S₁ + joint,   ρ = S₀ᵀ r + joint,   K_λ += X₀ᵀ (K - K S₁ D⁻¹ S₀ᵀ K) X₁,   r_λ += X₀ᵀ (r - K S₁ D⁻¹ ρ)
    η' = X₁ η_λ,   δ = D⁻¹ (ρ - S₀ᵀ K η'),   η = η' + S₁ δ                                              (8)

A correction takes K S₁, S₀ᵀK and D⁻¹ as the last elimination left them, with what is missing now: half the work of (8).
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.model.joint_kernels import body_motion, helical_twist
from linkwork.model.layout import ARMATURE, AXIS, CENTER, DOF, HELICAL, INERTIA, KIND, PARENT, SLIDE, V
from linkwork.simulation.moving import MOMENTUM, moving_of
from linkwork.spatial.memory import add_to6, add_to9, load3, load6, load9, load10, store3, store6, store9
from linkwork.spatial.rotations import (
    IDENTITY3,
    ZERO3,
    add3,
    cross3,
    dot3,
    matmul3,
    matvec3,
    scale3,
    sub3,
    symvec3,
    tmatvec3,
    transpose3,
)
from linkwork.spatial.vectors import (
    ZERO6,
    add6,
    angular,
    dot6,
    join,
    linear,
    scale6,
    sub6,
    twist_to_child,
    wrench_to_parent,
)

# Columns of `change`, one row per body: poses in the parent at both ends of the step, displacement, momentum that the
# start gives, K, what is missing of the momentum (then η), S₀ᵀK, D⁻¹ and ρ of a joint of one degree of freedom.
R_0, P_0, R_1, P_1, E_D, P_D = 0, 9, 12, 21, 24, 33
GIVEN, K_A, K_B, K_C, K_D, MISSING = 36, 42, 51, 60, 69, MOMENTUM
ROW, D_INVERSE, RHO = 84, 90, 91
FORCE, WEIGHT = 92, 98  # wrench from outside at the start; gravity in the body's frame
COLUMN = K_A  # K S₁ of a joint of one degree of freedom, once its body is eliminated
# CHANGE_COLUMNS of `moving`

# Columns of `change_dof`, one row per degree of freedom of joints that are not helical: S at both ends, K S₁, S₀ᵀK, D⁻¹, ρ.
S_0, S_1, COLUMN_D, ROW_D, D_D, RHO_D = 0, 6, 12, 18, 24, 30

SINGULAR = 1e-14  # part of the momenta met that must be left of D


# ----------------------------------------------------------------------------------------------------------- one body


@inlined
def cayley_vector(E):
    """x with 1 + E = cay(x): 2 tan(θ/2) times the axis."""
    k = 2.0 / (4.0 + E[0] + E[4] + E[8])
    return (k * (E[7] - E[5]), k * (E[2] - E[6]), k * (E[3] - E[1]))


@inlined
def center_and_inertia(body, i):
    """Mass, centre of mass and the inertia about it."""
    m, a, b, c, xx, xy, xz, yy, yz, zz = load10(body, i, INERTIA)
    if m == 0.0:
        return m, ZERO3, (xx, xy, xz, yy, yz, zz)
    x = a / m
    y = b / m
    z = c / m
    about = (xx - b * y - c * z, xy + a * y, xz + a * z, yy - a * x - c * z, yz + b * z, zz - a * x - b * y)
    return m, (x, y, z), about


@inlined
def momentum_at_start(body, i, E, d, h):
    """(6): the momentum of a body that is displaced by 1 + E, d in the step, in its frame at the start."""
    m, c, J = center_and_inertia(body, i)
    x = cayley_vector(E)
    Jx = symvec3(J, x)
    spin = add3(add3(Jx, scale3(0.5, cross3(x, Jx))), scale3(0.25 * dot3(x, Jx), x))
    f = scale3(m / h, add3(matvec3(E, c), d))
    return join(add3(cross3(c, f), scale3(1.0 / h, spin)), f)


@inlined
def momentum_at_end(body, i, E, d, h):
    """The same momentum in the body's frame at the end."""
    m, c, J = center_and_inertia(body, i)
    x = cayley_vector(E)
    Jx = symvec3(J, x)
    spin = add3(sub3(Jx, scale3(0.5, cross3(x, Jx))), scale3(0.25 * dot3(x, Jx), x))  # Rdᵀ π h
    f = scale3(m / h, add3(matvec3(E, c), d))
    f = add3(f, tmatvec3(E, f))
    return join(add3(cross3(c, f), scale3(1.0 / h, spin)), f)


@inlined
def turning_block(J, x, h):
    """A B / h of (7)."""
    Jx = symvec3(J, x)
    e = 0.25 * dot3(x, Jx)
    xx, xy, xz, yy, yz, zz = J
    # A = J + ½ (x^ J - (J x)^) + ¼ (x·Jx + 2 x (Jx)ᵀ)
    A = (
        xx + 0.5 * (x[1] * xz - x[2] * xy) + e + 0.5 * x[0] * Jx[0],
        xy + 0.5 * (x[1] * yz - x[2] * yy + Jx[2]) + 0.5 * x[0] * Jx[1],
        xz + 0.5 * (x[1] * zz - x[2] * yz - Jx[1]) + 0.5 * x[0] * Jx[2],
        xy + 0.5 * (x[2] * xx - x[0] * xz - Jx[2]) + 0.5 * x[1] * Jx[0],
        yy + 0.5 * (x[2] * xy - x[0] * yz) + e + 0.5 * x[1] * Jx[1],
        yz + 0.5 * (x[2] * xz - x[0] * zz + Jx[0]) + 0.5 * x[1] * Jx[2],
        xz + 0.5 * (x[0] * xy - x[1] * xx + Jx[1]) + 0.5 * x[2] * Jx[0],
        yz + 0.5 * (x[0] * yy - x[1] * xy - Jx[0]) + 0.5 * x[2] * Jx[1],
        zz + 0.5 * (x[0] * yz - x[1] * xz) + e + 0.5 * x[2] * Jx[2],
    )
    k = 1.0 / h
    a, b, c = x
    B = (
        k * (1.0 + 0.25 * a * a),
        k * (0.25 * a * b - 0.5 * c),
        k * (0.25 * a * c + 0.5 * b),
        k * (0.25 * a * b + 0.5 * c),
        k * (1.0 + 0.25 * b * b),
        k * (0.25 * b * c - 0.5 * a),
        k * (0.25 * a * c - 0.5 * b),
        k * (0.25 * b * c + 0.5 * a),
        k * (1.0 + 0.25 * c * c),
    )
    return matmul3(A, B)


@inlined
def add9(a, b):
    return (
        a[0] + b[0],
        a[1] + b[1],
        a[2] + b[2],
        a[3] + b[3],
        a[4] + b[4],
        a[5] + b[5],
        a[6] + b[6],
        a[7] + b[7],
        a[8] + b[8],
    )


@inlined
def scale9(s, a):
    return (s * a[0], s * a[1], s * a[2], s * a[3], s * a[4], s * a[5], s * a[6], s * a[7], s * a[8])


@inlined
def times_hat(m, p):
    """m p^: each row crossed with p"""
    a = cross3((m[0], m[1], m[2]), p)
    b = cross3((m[3], m[4], m[5]), p)
    c = cross3((m[6], m[7], m[8]), p)
    return (a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])


@inlined
def hat_times(p, m):
    """p^ m: p crossed with each column"""
    a = cross3(p, (m[0], m[3], m[6]))
    b = cross3(p, (m[1], m[4], m[7]))
    c = cross3(p, (m[2], m[5], m[8]))
    return (a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2])


@inlined
def less_outer(m, d, a, b):
    """m - d a bᵀ"""
    x = d * a[0]
    y = d * a[1]
    z = d * a[2]
    return (
        m[0] - x * b[0],
        m[1] - x * b[1],
        m[2] - x * b[2],
        m[3] - y * b[0],
        m[4] - y * b[1],
        m[5] - y * b[2],
        m[6] - z * b[0],
        m[7] - z * b[1],
        m[8] - z * b[2],
    )


@inlined
def k_times(A, B, C, D, s):
    """K s"""
    w = angular(s)
    v = linear(s)
    return join(add3(matvec3(A, w), matvec3(B, v)), add3(matvec3(C, w), matvec3(D, v)))


@inlined
def times_k(s, A, B, C, D):
    """sᵀ K"""
    n = angular(s)
    f = linear(s)
    return join(add3(tmatvec3(A, n), tmatvec3(C, f)), add3(tmatvec3(B, n), tmatvec3(D, f)))


# ------------------------------------------------------------------------------------------------------------- sweeps


@inlined
def turn_less_one(axis, u):
    """e with 1 + e the rotation by u [rad] about a unit axis, exact where u is small; zero without an axis."""
    s = math.sin(u)
    half = math.sin(0.5 * u)
    k = 2.0 * half * half
    x, y, z = axis
    n = dot3(axis, axis)  # one, or zero for joints that slide
    return (
        k * (x * x - n),
        k * x * y - s * z,
        k * x * z + s * y,
        k * x * y + s * z,
        k * (y * y - n),
        k * y * z - s * x,
        k * x * z - s * y,
        k * y * z + s * x,
        k * (z * z - n),
    )


@inlined
def joint_displacement(s, i, R0, p0, S):
    """How joint i moves body i by u in its frame at the start, as 1 + e, b; and the pose in the parent at q."""
    if s.tree[i, KIND] == HELICAL:
        u = s.u[s.tree[i, V]]
        e = turn_less_one(load3(s.body, i, AXIS), u)
        b = sub3(scale3(u, load3(s.body, i, SLIDE)), matvec3(e, load3(s.body, i, CENTER)))
        return e, b, add9(R0, matmul3(R0, e)), add3(p0, matvec3(R0, b))
    R1, p1, _, _ = body_motion(s.tree, s.body, s.screws, i, s.q, s.start_v, S)
    return matmul3(transpose3(R0), add9(R1, scale9(-1.0, R0))), tmatvec3(R0, sub3(p1, p0)), R1, p1


@inlined
def displace(s, i, S):
    """Pose of body i in its parent at q, and the displacement 1 + E, d of its frame since the start, from its parent's.

    Differences from no displacement, since rounding of whole poses would add up along the tree. Needs u.
    """
    parent = s.tree[i, PARENT]
    R0 = load9(s.change, i, R_0)
    E, d, R1, p1 = joint_displacement(s, i, R0, load3(s.change, i, P_0), S)
    if parent >= 0:
        Ep = load9(s.change, parent, E_D)
        G = matmul3(transpose3(R0), matmul3(Ep, R0))
        E = add9(add9(G, matmul3(G, E)), E)
        d = add3(d, tmatvec3(R0, add3(matvec3(Ep, p1), load3(s.change, parent, P_D))))
    store9(s.change, i, E_D, E)
    store3(s.change, i, P_D, d)
    return R1, p1, E, d


@inlined
def miss(s, i, S, h):
    """Displacement of body i from the start to q, and what is missing of its momentum."""
    R1, p1, E, d = displace(s, i, S)
    store9(s.change, i, R_1, R1)
    store3(s.change, i, P_1, p1)
    store6(s.change, i, MISSING, sub6(load6(s.change, i, GIVEN), momentum_at_start(s.body, i, E, d, h)))
    return E


@routine
def misses_root_to_leaf(table, h):
    """Displacements from the poses at the start to those at q, and what is missing of each momentum, without K."""
    s = moving_of(table)
    S = s.change_dof[:, S_1 : S_1 + 6]
    for i in range(s.tree.shape[0]):
        miss(s, i, S, h)


@routine
def displacements_root_to_leaf(table, h):
    """Displacements from the poses at the start to those at q; K of each body and what is missing of its momentum."""
    s = moving_of(table)
    S = s.change_dof[:, S_1 : S_1 + 6]
    for i in range(s.tree.shape[0]):
        E = miss(s, i, S, h)
        m, c, J = center_and_inertia(s.body, i)
        mR = scale9(m / h, add9(IDENTITY3, E))
        Rc = times_hat(mR, c)
        store9(s.change, i, K_A, add9(turning_block(J, cayley_vector(E), h), scale9(-1.0, hat_times(c, Rc))))
        store9(s.change, i, K_B, hat_times(c, mR))
        store9(s.change, i, K_C, scale9(-1.0, Rc))
        store9(s.change, i, K_D, mR)


@inlined
def pass_on(s, i, parent, A, B, C, D, r):
    """X₀ᵀ K X₁ and X₀ᵀ r to the parent."""
    R0 = load9(s.change, i, R_0)
    p0 = load3(s.change, i, P_0)
    R1t = transpose3(load9(s.change, i, R_1))
    p1 = load3(s.change, i, P_1)
    A = matmul3(matmul3(R0, A), R1t)
    B = matmul3(matmul3(R0, B), R1t)
    C = matmul3(matmul3(R0, C), R1t)
    D = matmul3(matmul3(R0, D), R1t)
    A = add9(A, scale9(-1.0, times_hat(B, p1)))
    C = add9(C, scale9(-1.0, times_hat(D, p1)))
    add_to9(s.change, parent, K_A, add9(A, hat_times(p0, C)))
    add_to9(s.change, parent, K_B, add9(B, hat_times(p0, D)))
    add_to9(s.change, parent, K_C, C)
    add_to9(s.change, parent, K_D, D)
    add_to6(s.change, parent, MISSING, wrench_to_parent(R0, p0, r))


@routine
def eliminate_leaf_to_root(table):
    """(8), first half; False where a joint resists with nothing."""
    s = moving_of(table)
    for i in range(s.tree.shape[0] - 1, -1, -1):
        if s.tree[i, KIND] != HELICAL:
            if not eliminate_general(table, i):
                return False
            continue
        A = load9(s.change, i, K_A)
        B = load9(s.change, i, K_B)
        C = load9(s.change, i, K_C)
        D = load9(s.change, i, K_D)
        r = load6(s.change, i, MISSING)
        t = helical_twist(s.body, i)
        j = s.tree[i, V]
        column = k_times(A, B, C, D, t)
        row = times_k(t, A, B, C, D)
        whole = dot6(t, column) + s.resistance[j, ARMATURE]
        scale = dot3(angular(t), angular(t)) * (abs(A[0]) + abs(A[4]) + abs(A[8]))
        scale += dot3(linear(t), linear(t)) * (abs(D[0]) + abs(D[4]) + abs(D[8]))
        if not whole > SINGULAR * scale:
            return False
        d = 1.0 / whole
        rho = dot6(t, r) + s.drive[j]
        store6(s.change, i, ROW, row)
        store6(s.change, i, COLUMN, column)
        s.change[i, D_INVERSE] = d
        s.change[i, RHO] = rho
        parent = s.tree[i, PARENT]
        if parent >= 0:
            n = angular(column)
            f = linear(column)
            w = angular(row)
            v = linear(row)
            A = less_outer(A, d, n, w)
            B = less_outer(B, d, n, v)
            C = less_outer(C, d, f, w)
            D = less_outer(D, d, f, v)
            pass_on(s, i, parent, A, B, C, D, sub6(r, scale6(d * rho, column)))
    return True


@routine
def eliminate_general(table, i):
    """The same for a joint of any number of freedoms."""
    s = moving_of(table)
    A = load9(s.change, i, K_A)
    B = load9(s.change, i, K_B)
    C = load9(s.change, i, K_C)
    D = load9(s.change, i, K_D)
    r = load6(s.change, i, MISSING)
    j = s.tree[i, V]
    nd = s.tree[i, DOF]
    for d in range(nd):
        store6(s.change_dof, j + d, COLUMN_D, k_times(A, B, C, D, load6(s.change_dof, j + d, S_1)))
        store6(s.change_dof, j + d, ROW_D, times_k(load6(s.change_dof, j + d, S_0), A, B, C, D))
        s.change_dof[j + d, RHO_D] = dot6(load6(s.change_dof, j + d, S_0), r) + s.drive[j + d]
    for d in range(nd):
        for e in range(nd):
            s.change_dof[j + d, D_D + e] = dot6(load6(s.change_dof, j + d, S_0), load6(s.change_dof, j + e, COLUMN_D))
        s.change_dof[j + d, D_D + d] += s.resistance[j + d, ARMATURE]
    if not invert_in_place(s.change_dof, j, nd):
        return False
    parent = s.tree[i, PARENT]
    if parent < 0:
        return True
    for d in range(nd):
        row = ZERO6  # row d of D⁻¹ S₀ᵀK
        x = 0.0
        for e in range(nd):
            row = add6(row, scale6(s.change_dof[j + d, D_D + e], load6(s.change_dof, j + e, ROW_D)))
            x += s.change_dof[j + d, D_D + e] * s.change_dof[j + e, RHO_D]
        column = load6(s.change_dof, j + d, COLUMN_D)
        A = less_outer(A, 1.0, angular(column), angular(row))
        B = less_outer(B, 1.0, angular(column), linear(row))
        C = less_outer(C, 1.0, linear(column), angular(row))
        D = less_outer(D, 1.0, linear(column), linear(row))
        r = sub6(r, scale6(x, column))
    pass_on(s, i, parent, A, B, C, D, r)
    return True


@routine
def gather_leaf_to_root(table):
    """The first half of (8) for what is missing now, with the matrices of the last elimination."""
    s = moving_of(table)
    for i in range(s.tree.shape[0] - 1, -1, -1):
        parent = s.tree[i, PARENT]
        r = load6(s.change, i, MISSING)
        j = s.tree[i, V]
        if s.tree[i, KIND] == HELICAL:
            rho = dot6(helical_twist(s.body, i), r) + s.drive[j]
            s.change[i, RHO] = rho
            r = sub6(r, scale6(s.change[i, D_INVERSE] * rho, load6(s.change, i, COLUMN)))
        else:
            nd = s.tree[i, DOF]
            for d in range(nd):
                s.change_dof[j + d, RHO_D] = dot6(load6(s.change_dof, j + d, S_0), r) + s.drive[j + d]
            for d in range(nd):
                x = 0.0
                for e in range(nd):
                    x += s.change_dof[j + d, D_D + e] * s.change_dof[j + e, RHO_D]
                r = sub6(r, scale6(x, load6(s.change_dof, j + d, COLUMN_D)))
        if parent >= 0:
            add_to6(s.change, parent, MISSING, wrench_to_parent(load9(s.change, i, R_0), load3(s.change, i, P_0), r))


@inlined
def invert_in_place(a, j, n):
    """Replaces the block a[j:j+n, D_D:D_D+n] by its inverse (Gauss and Jordan); False if a pivot is not positive.

    The block is close to a mass matrix over h: its pivots need no order.
    """
    for c in range(n):
        pivot = a[j + c, D_D + c]
        if not pivot > 0.0:
            return False
        x = 1.0 / pivot
        a[j + c, D_D + c] = 1.0
        for e in range(n):
            a[j + c, D_D + e] *= x
        for r in range(n):
            if r != c:
                y = a[j + r, D_D + c]
                a[j + r, D_D + c] = 0.0
                for e in range(n):
                    a[j + r, D_D + e] -= y * a[j + c, D_D + e]
    return True


@routine
def substitute_root_to_leaf(table, out):
    """(8), second half: the changes of all coordinates at the end of the step into `out`."""
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        parent = s.tree[i, PARENT]
        eta = ZERO6
        if parent >= 0:
            eta = twist_to_child(load9(s.change, i, R_1), load3(s.change, i, P_1), load6(s.change, parent, MISSING))
        j = s.tree[i, V]
        if s.tree[i, KIND] == HELICAL:
            x = s.change[i, D_INVERSE] * (s.change[i, RHO] - dot6(load6(s.change, i, ROW), eta))
            out[j] = x
            eta = add6(eta, scale6(x, helical_twist(s.body, i)))
        else:
            nd = s.tree[i, DOF]
            for d in range(nd):
                s.change_dof[j + d, RHO_D] -= dot6(load6(s.change_dof, j + d, ROW_D), eta)
            for d in range(nd):
                x = 0.0
                for e in range(nd):
                    x += s.change_dof[j + d, D_D + e] * s.change_dof[j + e, RHO_D]
                out[j + d] = x
                eta = add6(eta, scale6(x, load6(s.change_dof, j + d, S_1)))
        store6(s.change, i, MISSING, eta)


@routine
def momenta_at_end(table, h):
    """The momentum of each body in the step, in its frame at the end of the step, into MISSING; q there."""
    s = moving_of(table)
    S = s.change_dof[:, S_1 : S_1 + 6]
    for i in range(s.tree.shape[0]):
        _, _, E, d = displace(s, i, S)
        store6(s.change, i, MISSING, momentum_at_end(s.body, i, E, d, h))
