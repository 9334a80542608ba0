"""Newton's method for the discrete equations of motion of a tree, in linear time: the sweeps of `variational`.

Momenta of bodies and their derivatives K are those of `discrete_body`. Variations run from root to leaf through the poses
at the end, momenta from leaf to root through those at the start. So the linear system of Newton's method is that of `aba`
with K, which is not symmetric, in the place of the inertia:

    D = S₀ᵀ K S₁ + joint,   ρ = S₀ᵀ r + joint,   K_λ += X₀ᵀ (K - K S₁ D⁻¹ S₀ᵀ K) X₁,   r_λ += X₀ᵀ (r - K S₁ D⁻¹ ρ)
    η' = X₁ η_λ,   δ = D⁻¹ (ρ - S₀ᵀ K η'),   η = η' + S₁ δ                                              (8)

A correction takes K S₁, S₀ᵀK, D⁻¹ and X₁ as the last elimination left them: half the work of (8). Only ends of branches in
which a joint just changed by much are eliminated again, and what they pass on of K is left as it was. Any matrices will do,
as long as what is missing is right: they decide how fast corrections shrink, not where they end.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.joint_solve import (
    block_pivot,
    block_pivots,
    largest_pivot,
    less_freedoms,
    move_freedom,
    move_freedoms,
    push_freedom,
    push_freedoms,
)
from linkwork.model.kernels.joint_kernels import body_motion, helical_twist
from linkwork.model.layout import ARMATURE, AXIS, CENTER, DOF, HELICAL, KIND, PARENT, SLIDE, V
from linkwork.simulation.integrators.variational.discrete_body import (
    change_of_momentum,
    hat_times,
    momentum_at_end,
    momentum_at_start,
    one_after_other,
    rows_of,
    stacked,
    times_hat,
    turn_matrix_less_one,
    turn_of_matrix,
    way_of,
)
from linkwork.simulation.moving import MOMENTUM, OK, moving_of
from linkwork.spatial.inertia import block_less_outer
from linkwork.spatial.memory import (
    add_to6,
    add_to_block,
    load3,
    load4,
    load6,
    load9,
    load_block,
    store3,
    store4,
    store6,
    store9,
    store_block,
)
from linkwork.spatial.rotations import add3, add9, dot3, matmul3, matvec3, scale3, scale9, sub3, tmatvec3, transpose3
from linkwork.spatial.vectors import ZERO6, angular, linear, scale6, sub6, twist_to_child, wrench_to_parent

# Columns of `variational_work`, one row per body: poses in the parent at both ends of the step, displacement, momentum
# that the start gives, K, what is missing of the momentum (then η), S₀ᵀK, D⁻¹ and ρ of a joint of one degree of freedom.
R_0, P_0, R_1, P_1, TURN, P_D = 0, 9, 12, 21, 24, 33
GIVEN, K_, MISSING = 36, 42, MOMENTUM
ROW, D_INVERSE, RHO = 84, 90, 91
FORCE, WEIGHT = 92, 98  # wrench from outside at the start; gravity in the body's frame
# 104 to 115: of `variational_tree`
MARKED = 116  # whether the body is eliminated, or stays as the last elimination left it
BEYOND = 117  # bodies in the branch that begins with this one
COLUMN = K_  # K S₁ of a joint of one degree of freedom, once its body is eliminated
# VARIATIONAL_COLUMNS of `moving`

# Columns of `variational_dof_work`, one row per degree of freedom of joints that are not helical: S at both ends, K S₁,
# S₀ᵀK, D⁻¹, ρ.
S_0, S_1, COLUMN_D, ROW_D, D_D, RHO_D = 0, 6, 12, 18, 24, 30

SMALL_HALF_TURN = 0.3  # [rad] up to which five terms of the series of the sine are exact to rounding
SINGULAR = 1e-14  # part of the momenta met that must be left of D
MUCH, LARGEST_END = 0.005, 8.0  # [rad or m] of change, and bodies of a branch, that ask for another elimination there


# ------------------------------------------------------------------------------------------------------------- sweeps


@inlined
def sine_of_half(u):
    """sin(u/2), by its series where that ends soon: most joints turn little in a step."""
    x = 0.5 * u
    if abs(x) > SMALL_HALF_TURN:
        return math.sin(x)
    y = x * x
    return x - x * y / 6.0 * (1.0 - y / 20.0 * (1.0 - y / 42.0 * (1.0 - y / 72.0 * (1.0 - y / 110.0))))


@inlined
def turn_about(axis, u):
    """The quaternion of a turn by u [rad] about a unit axis; none without an axis."""
    half = sine_of_half(u)
    other = math.sqrt(1.0 - half * half) if abs(u) < 3.0 else math.cos(0.5 * u)  # not negative below π
    n = dot3(axis, axis)  # one, or zero for joints that slide
    return (1.0 - n + n * other, half * axis[0], half * axis[1], half * axis[2])


@inlined
def joint_displacement(s, i, R0, p0, S):
    """How joint i moves body i by u in its frame at the start, as a turn and b; and its origin in the parent at q."""
    if s.tree[i, KIND] == HELICAL:
        u = s.u[s.tree[i, V]]
        turn = turn_about(load3(s.body, i, AXIS), u)
        b = sub3(scale3(u, load3(s.body, i, SLIDE)), way_of(turn, load3(s.body, i, CENTER)))
        return turn, b, add3(p0, matvec3(R0, b))
    R1, p1, _, _ = body_motion(s.tree, s.body, s.screws, i, s.q, s.start_v, S)
    turn = turn_of_matrix(matmul3(transpose3(R0), add9(R1, scale9(-1.0, R0))))
    return turn, tmatvec3(R0, sub3(p1, p0)), p1


@inlined
def displace(s, i, S):
    """Displacement of the frame of body i since the start, as a turn and d, from its parent's; its pose there at q.

    The pose comes as origin, pose at the start and turn of the joint: few ask for its matrix (`end_rotation`). Differences
    from no displacement, since rounding of whole poses would add up along the tree. Needs u.
    """
    parent = s.tree[i, PARENT]
    R0 = load9(s.variational_work, i, R_0)
    joint, d, p1 = joint_displacement(s, i, R0, load3(s.variational_work, i, P_0), S)
    turn = joint
    if parent >= 0:
        whole = load4(s.variational_work, parent, TURN)
        axis = tmatvec3(R0, (whole[1], whole[2], whole[3]))
        turn = one_after_other((whole[0], axis[0], axis[1], axis[2]), joint)
        d = add3(d, tmatvec3(R0, add3(way_of(whole, p1), load3(s.variational_work, parent, P_D))))
    store4(s.variational_work, i, TURN, turn)
    store3(s.variational_work, i, P_D, d)
    return turn, d, R0, joint, p1


@inlined
def end_rotation(R0, joint):
    """Orientation in the parent at q, from that at the start and the turn of the joint."""
    return add9(R0, matmul3(R0, turn_matrix_less_one(joint)))


@routine
def misses_root_to_leaf(table, h):
    """Displacements from the poses at the start to those at q, and what is missing of each momentum; K where marked."""
    s = moving_of(table)
    S = s.variational_dof_work[:, S_1 : S_1 + 6]
    for i in range(s.tree.shape[0]):
        turn, d, R0, joint, p1 = displace(s, i, S)
        store6(
            s.variational_work,
            i,
            MISSING,
            sub6(load6(s.variational_work, i, GIVEN), momentum_at_start(s.body, i, turn, d, h)),
        )
        if s.variational_work[i, MARKED] != 0.0:
            store9(s.variational_work, i, R_1, end_rotation(R0, joint))
            store3(s.variational_work, i, P_1, p1)
            store_block(s.variational_work, i, K_, change_of_momentum(s.body, i, turn, h))


@inlined
def pass_on(s, i, parent, K):
    """X₀ᵀ K X₁ to the parent."""
    R0 = load9(s.variational_work, i, R_0)
    p0 = load3(s.variational_work, i, P_0)
    R1t = transpose3(load9(s.variational_work, i, R_1))
    p1 = load3(s.variational_work, i, P_1)
    A = matmul3(matmul3(R0, stacked(angular(K[0]), angular(K[1]), angular(K[2]))), R1t)
    B = matmul3(matmul3(R0, stacked(linear(K[0]), linear(K[1]), linear(K[2]))), R1t)
    C = matmul3(matmul3(R0, stacked(angular(K[3]), angular(K[4]), angular(K[5]))), R1t)
    D = matmul3(matmul3(R0, stacked(linear(K[3]), linear(K[4]), linear(K[5]))), R1t)
    A = add9(A, scale9(-1.0, times_hat(B, p1)))
    C = add9(C, scale9(-1.0, times_hat(D, p1)))
    K = rows_of(add9(A, hat_times(p0, C)), add9(B, hat_times(p0, D)), C, D)
    add_to_block(s.variational_work, parent, K_, K)


@inlined
def pass_missing(s, i, parent, r):
    """X₀ᵀ r to the parent."""
    add_to6(
        s.variational_work,
        parent,
        MISSING,
        wrench_to_parent(load9(s.variational_work, i, R_0), load3(s.variational_work, i, P_0), r),
    )


@inlined
def eliminate_body(table, i, passes):
    """(8) for body i; what is left of K goes to the parent where that is wanted, and what is missing always."""
    s = moving_of(table)
    if s.tree[i, KIND] != HELICAL:
        return eliminate_general(table, i, passes)
    K = load_block(s.variational_work, i, K_)
    t = helical_twist(s.body, i)
    j = s.tree[i, V]
    column, row, whole = block_pivot(K, t, s.effective_armature[j, ARMATURE])
    turning, sliding = abs(K[0][0]) + abs(K[1][1]) + abs(K[2][2]), abs(K[3][3]) + abs(K[4][4]) + abs(K[5][5])
    scale = largest_pivot(t, turning, sliding)
    if not whole > SINGULAR * scale:
        return False
    d = 1.0 / whole
    s.variational_work[i, RHO], p = push_freedom(
        t, column, d, s.joint_effort[j], scale6(-1.0, load6(s.variational_work, i, MISSING))
    )
    store6(s.variational_work, i, ROW, row)
    store6(s.variational_work, i, COLUMN, column)
    s.variational_work[i, D_INVERSE] = d
    parent = s.tree[i, PARENT]
    if parent >= 0:
        if passes:
            pass_on(s, i, parent, block_less_outer(K, scale6(d, column), row))
        pass_missing(s, i, parent, scale6(-1.0, p))
    return True


@routine
def eliminate_general(table, i, passes):
    """The same for a joint of any number of freedoms."""
    s = moving_of(table)
    K = load_block(s.variational_work, i, K_)
    j = s.tree[i, V]
    nd = s.tree[i, DOF]
    step_pivots(s.variational_dof_work, j, nd, K)
    for d in range(nd):
        s.variational_dof_work[j + d, D_D + d] += s.effective_armature[j + d, ARMATURE]
    if not invert_in_place(s.variational_dof_work, j, nd):
        return False
    parent = s.tree[i, PARENT]
    p = push_missing(s, i, scale6(-1.0, load6(s.variational_work, i, MISSING)))
    if parent < 0:
        return True
    if passes:
        pass_on(s, i, parent, less_joint(s.variational_dof_work, j, nd, K))
    pass_missing(s, i, parent, scale6(-1.0, p))
    return True


@routine
def push_missing(s, i, p):
    """What a joint of any number of freedoms passes on of what is missing, with a minus; leaves ρ."""
    j, nd, a = s.tree[i, V], s.tree[i, DOF], s.variational_dof_work
    for d in range(nd):
        a[j + d, RHO_D] = s.joint_effort[j + d]
    S, U, D = a[:, S_0 : S_0 + 6], a[:, COLUMN_D : COLUMN_D + 6], a[:, D_D : D_D + 6]
    return push_freedoms(S, U, D, a[:, RHO_D], j, nd, p)


@routine
def move_by(s, i, eta, out):
    """Changes of the coordinates of such a joint, whose frame moves by eta; how its body moves."""
    a = s.variational_dof_work
    S, Y, D = a[:, S_1 : S_1 + 6], a[:, ROW_D : ROW_D + 6], a[:, D_D : D_D + 6]
    return move_freedoms(S, Y, D, a[:, RHO_D], s.tree[i, V], s.tree[i, DOF], eta, out)


@inlined
def step_pivots(a, j, nd, K):
    """K S₁, S₀ᵀK and S₀ᵀK S₁ of a joint of nd freedoms, into the rows from j on."""
    left, right, U, Y = a[:, S_0 : S_0 + 6], a[:, S_1 : S_1 + 6], a[:, COLUMN_D : COLUMN_D + 6], a[:, ROW_D : ROW_D + 6]
    block_pivots(K, left, right, U, Y, a[:, D_D : D_D + 6], j, nd)


@inlined
def less_joint(a, j, nd, K):
    """K - K S₁ D⁻¹ S₀ᵀK, with D⁻¹ where `step_pivots` left the pivot."""
    return less_freedoms(K, a[:, COLUMN_D : COLUMN_D + 6], a[:, ROW_D : ROW_D + 6], a[:, D_D : D_D + 6], j, nd)


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


@inlined
def mark_all(table, are_marked):
    """Every body is to be eliminated, or none."""
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        s.variational_work[i, MARKED] = 1.0 if are_marked else 0.0


@routine
def mark_fast_ends(table, changes):
    """Marks the ends of branches in which a joint just changed by much, to be eliminated again in the next correction.

    Backbones converge with matrices that are a little old; light ends that turn fast do not, and cost little.
    """
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        s.variational_work[i, BEYOND] = 1.0
    for i in range(s.tree.shape[0] - 1, -1, -1):
        if s.tree[i, PARENT] >= 0:
            s.variational_work[s.tree[i, PARENT], BEYOND] += s.variational_work[i, BEYOND]
    for i in range(s.tree.shape[0]):
        parent = s.tree[i, PARENT]
        marked = parent >= 0 and s.variational_work[parent, MARKED] != 0.0
        if s.variational_work[i, BEYOND] <= LARGEST_END:
            for j in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
                marked = marked or abs(changes[j]) > MUCH
        s.variational_work[i, MARKED] = 1.0 if marked else 0.0


@routine
def eliminate_leaf_to_root(table):
    """The first half of (8) where marked; elsewhere for what is missing now, with the matrices of the last elimination.

    Returns OK, or a body whose joint resists with nothing.
    """
    s = moving_of(table)
    for i in range(s.tree.shape[0] - 1, -1, -1):
        parent = s.tree[i, PARENT]
        if s.variational_work[i, MARKED] != 0.0:
            if not eliminate_body(table, i, parent >= 0 and s.variational_work[parent, MARKED] != 0.0):
                return i
            continue
        p = scale6(-1.0, load6(s.variational_work, i, MISSING))
        j = s.tree[i, V]
        if s.tree[i, KIND] == HELICAL:
            t, column = helical_twist(s.body, i), load6(s.variational_work, i, COLUMN)
            s.variational_work[i, RHO], p = push_freedom(
                t, column, s.variational_work[i, D_INVERSE], s.joint_effort[j], p
            )
        else:
            p = push_missing(s, i, p)
        if parent >= 0:
            pass_missing(s, i, parent, scale6(-1.0, p))
    return OK


@routine
def substitute_root_to_leaf(table, out):
    """(8), second half: the changes of all coordinates at the end of the step into `out`."""
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        parent = s.tree[i, PARENT]
        eta = ZERO6
        if parent >= 0:
            eta = twist_to_child(
                load9(s.variational_work, i, R_1),
                load3(s.variational_work, i, P_1),
                load6(s.variational_work, parent, MISSING),
            )
        j = s.tree[i, V]
        if s.tree[i, KIND] == HELICAL:
            t, row = helical_twist(s.body, i), load6(s.variational_work, i, ROW)
            out[j], eta = move_freedom(t, row, s.variational_work[i, D_INVERSE], s.variational_work[i, RHO], eta)
        else:
            eta = move_by(s, i, eta, out)
        store6(s.variational_work, i, MISSING, eta)


@routine
def momenta_at_end(table, h):
    """The momentum of each body in the step, in its frame at the end of the step, into MISSING; q there."""
    s = moving_of(table)
    S = s.variational_dof_work[:, S_1 : S_1 + 6]
    for i in range(s.tree.shape[0]):
        turn, d, _, _, _ = displace(s, i, S)
        momentum, _ = momentum_at_end(s.body, i, turn, d, h)
        store6(s.variational_work, i, MISSING, momentum)
