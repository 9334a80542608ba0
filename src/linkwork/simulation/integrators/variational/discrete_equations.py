"""The discrete equations of motion of a variational step, and their solution: what its two forms share.

With Λ(q, q⁺) the momenta of the bodies within the step (`discrete_body`), J the Jacobian of their poses, τ forces of the
coordinates alone and τ̄ those of springs, dampers and motors of joints at the middle of the step,

    M(q) v + ½ h (τ(q) + τ̄) = J(q)ᵀ Λ(q, q⁺),      M(q⁺) v⁺ = J(q⁺)ᵀ Λ(q, q⁺) + ½ h (τ(q⁺) + τ̄)            (5)

The first is an equation for q⁺, solved by Newton's method (`discrete_newton`). Theory: docs/integrators.md.
"""

import math

import numpy as np

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import R_
from linkwork.model.kernels.joint_kernels import joint_difference, joint_integrate, joint_passive_effort
from linkwork.model.layout import (
    ARMATURE,
    COMPOUND,
    DAMPING,
    DOF,
    FREE,
    HELICAL,
    INERTIA,
    KIND,
    PARENT,
    STIFFNESS,
    Q,
    V,
)
from linkwork.simulation import moving as mv
from linkwork.simulation.integrators.chart import integrate
from linkwork.simulation.integrators.variational.discrete_body import back, cayley_vector, way_of
from linkwork.simulation.integrators.variational.discrete_inertia import correct_by_inertia, eliminate_inertia
from linkwork.simulation.integrators.variational.discrete_newton import (
    FORCE,
    P_D,
    TURN,
    WEIGHT,
    eliminate_leaf_to_root,
    mark_all,
    mark_fast_ends,
    misses_root_to_leaf,
    substitute_root_to_leaf,
)
from linkwork.simulation.loading.accelerate import load_wrench
from linkwork.simulation.loading.applied_efforts import record_joints
from linkwork.simulation.loading.motor_law import motor_law
from linkwork.simulation.moving import moving_of
from linkwork.spatial.memory import add_to6, load3, load4, load6, load9, store3, store6
from linkwork.spatial.rotations import add3, cross3, scale3, tmatvec3
from linkwork.spatial.vectors import add6, dot6, join

EPS = float(np.finfo(float).eps)
# Of the displacements in a step: whole ones, parts (whose energy is judged), floating trees with loops or contact (momentum
# is kept to this).
SOLVE_TOLERANCE, PART_TOLERANCE, FLOATING_TOLERANCE = 1e-12, 1e-9, 1e-14
LOOSER = (
    1e-9  # [1/rad²] of the displacements as well: a small part of what the step itself errs by, where joints turn far
)
MAX_ITERATIONS = 12
SLOW = 0.1  # a correction that shrinks by less asks for another elimination
FAR = 1.0  # [rad or m] and so does a first change larger than this
ROUNDING_FLOOR = 1e-8  # a change that no longer falls, but lies below this part of the displacements, is rounding
LARGEST_GAP = (
    2e-3  # part of the energies involved that a step may make or lose, each part its share, before it is halved
)
LARGEST_DEBT = 1e-3  # part of the largest kinetic energy so far that steps may make or lose before speeds are put right

# Rows of `stages` beside IMPULSE: q half way; q before the substep; what rotors and joint forces give to the first of (5).
MIDDLE, SUB_Q, CARRIED = 0, 2, mv.HISTORY


@routine
def solve(table, h, tolerance, by_inertia):
    """Newton's method for q⁺ from the guess in q: OK, NOT_CONVERGED, or a body whose joint resists with nothing.

    tolerance: of the displacements. The matrix is eliminated once; corrections with it follow, and another elimination
    where they gain little. by_inertia: corrections by M at the start, whose poses are in `work`, while they gain enough.
    """
    s = moving_of(table)
    before = math.inf
    largest_q = 0.0
    for k in range(s.q.shape[0]):
        largest_q = max(largest_q, abs(s.q[k]))
    s.counts[mv.ITERATIONS] = 0
    eliminates = True
    while s.counts[mv.ITERATIONS] < MAX_ITERATIONS:
        s.counts[mv.ITERATIONS] += 1
        s.counts[mv.EVALUATIONS] += eliminates
        bad = correct(table, h, by_inertia, eliminates)
        if bad != mv.OK:
            return bad
        change = 0.0
        size = 0.0
        for k in range(s.v.shape[0]):
            if change == change and not abs(s.qdd[k]) <= change:  # NaN stays NaN
                change = abs(s.qdd[k])
            size = max(size, abs(s.u[k]))
        if not math.isfinite(change):
            s.numbers[mv.RESIDUAL] = change / h
            return mv.NOT_CONVERGED
        integrate(s.tree, s.q, s.qdd, 1.0, s.q)
        # After an elimination of K changes shrink as squares: the next one is smaller by the last ratio squared.
        # Corrections with an older matrix, or by M, shrink by one ratio.
        ratio = change if s.counts[mv.ITERATIONS] == 1 else change / before
        if by_inertia:
            ratio = ratio_by_inertia(table, size, ratio)
        elif eliminates and s.counts[mv.ITERATIONS] > 1:
            ratio *= ratio
        after = change * min(1.0, ratio)
        s.numbers[mv.RESIDUAL] = after / h
        allowed = (tolerance + LOOSER * size * size) * size + EPS * (1.0 + largest_q)
        s.numbers[mv.ALLOWED] = allowed / h
        s.numbers[mv.LAST_CHANGE] = change
        if s.counts[mv.ITERATIONS] == 1:
            s.numbers[mv.FIRST_CHANGE] = change
        if after <= allowed:
            s.counts[mv.BY_INERTIA] = by_inertia
            return mv.OK
        if by_inertia:
            by_inertia = not change > SLOW * before if s.counts[mv.ITERATIONS] > 1 else not change > FAR
            eliminates = not by_inertia
            before = change
            continue
        if eliminates and change > 0.5 * before:
            return mv.OK if change <= ROUNDING_FLOOR * size else mv.NOT_CONVERGED
        eliminates = change > SLOW * before if s.counts[mv.ITERATIONS] > 1 else change > FAR
        before = change
    return mv.NOT_CONVERGED


@inlined
def correct(table, h, by_inertia, eliminates):
    """One correction into qdd: OK, or a body whose joint resists with nothing."""
    s = moving_of(table)
    impulses_at_start(table, h)
    if by_inertia or eliminates:
        mark_all(table, not by_inertia)
    else:
        mark_fast_ends(table, s.qdd)
    misses_root_to_leaf(table, h)
    bad = mv.OK
    if by_inertia and eliminates:
        bad = eliminate_inertia(table, h)
    elif by_inertia:
        correct_by_inertia(table, h)
    else:
        bad = eliminate_leaf_to_root(table)
        if bad == mv.OK:
            substitute_root_to_leaf(table, s.qdd)
    return bad


@inlined
def ratio_by_inertia(table, size, ratio):
    """By how much a correction by M shrinks what is missing: as the last two did, or as in steps before.

    That grows with the largest displacement in the step; what it is per displacement is kept.
    """
    s = moving_of(table)
    if s.counts[mv.ITERATIONS] > 1:
        s.numbers[mv.CONTRACTION] = max(ratio / max(size, EPS), 0.7 * s.numbers[mv.CONTRACTION])
        return ratio
    known = s.numbers[mv.CONTRACTION]
    return 2.0 * known * size if known > 0.0 else 1.0


# ------------------------------------------------------------------------------------------------------------- forces


@routine
def external_wrenches(table):
    """Gravity and loads on each body in its frame into FORCE, at the evaluation that was just made."""
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        parent = s.tree[i, PARENT]
        g = (s.gravity[0], s.gravity[1], s.gravity[2])
        if parent >= 0:
            g = load3(s.variational_work, parent, WEIGHT)
        g = tmatvec3(load9(s.work, i, R_), g)
        store3(s.variational_work, i, WEIGHT, g)
        mass, x, y, z = s.body[i, INERTIA], s.body[i, INERTIA + 1], s.body[i, INERTIA + 2], s.body[i, INERTIA + 3]
        wrench = join(cross3((x, y, z), g), scale3(mass, g))
        if s.wrench.shape[0] > 0:
            wrench = add6(wrench, load6(s.wrench, i, 0))
        store6(s.variational_work, i, FORCE, wrench)
    for k in range(s.counts[mv.LOADS]):
        add_to6(s.variational_work, s.load_body[k], FORCE, load_wrench(s, k))


@inlined
def joint_forces(table, i, h):
    """Springs, dampers and motor of joint i at the middle of a step into `joint_effort`; what they resist into
    `effective_armature`."""
    s = moving_of(table)
    start = s.stages[SUB_Q]
    middle = s.stages[MIDDLE]
    kind = s.tree[i, KIND]
    j = s.tree[i, V]
    k = s.tree[i, Q]
    n = s.tree[i, DOF]
    if kind == HELICAL and s.counts[mv.MOTORS] == 0:  # the hot path
        u = s.q[k] - start[k]
        s.u[j] = u
        s.v[j] = u / h
        spring = s.dof[j, STIFFNESS]
        s.joint_effort[j] = -spring * (start[k] + 0.5 * u - s.rest[k]) - s.dof[j, DAMPING] * s.v[j]
        s.effective_armature[j, ARMATURE] = s.dof[j, ARMATURE] / h + 0.5 * s.dof[j, DAMPING] + 0.25 * h * spring
        return
    joint_difference(s.tree, i, start, s.q, s.u)
    for d in range(n):
        s.joint_effort[j + d] = 0.0
        s.v[j + d] = s.u[j + d] / h
    joint_integrate(s.tree, i, start, s.u, 0.5, middle)
    joint_passive_effort(s.tree, s.dof, s.rest, i, middle, s.v, s.joint_effort)
    for d in range(n):
        stiffness = s.dof[j + d, STIFFNESS]
        damping = s.dof[j + d, DAMPING]
        if s.counts[mv.MOTORS] > 0 and (kind == HELICAL or kind == COMPOUND):
            effort, k_motor, d_motor = motor_law(
                s.motor, s.effort_limit, s.velocity_limit, j + d, middle[k + d], s.v[j + d], 0.0, s.v[j + d]
            )
            s.joint_effort[j + d] += effort
            stiffness += k_motor
            damping += d_motor
        s.effective_armature[j + d, ARMATURE] = s.dof[j + d, ARMATURE] / h + 0.5 * damping + 0.25 * h * stiffness


@routine
def impulses_at_start(table, h):
    """What joints miss of the first of (5) into `joint_effort`: rotors, efforts, springs, dampers and motors."""
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        joint_forces(table, i, h)
        for j in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
            rotor = s.dof[j, ARMATURE] * s.v[j]
            s.joint_effort[j] = s.stages[CARRIED, j] - rotor + 0.5 * h * (s.effort[j] + s.joint_effort[j])


@routine
def impulses_at_end(table, h):
    """What joints give to the second of (5), as efforts of the evaluation that follows, without those given."""
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        joint_forces(table, i, h)
        for j in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
            s.stages[mv.IMPULSE, j] = s.joint_effort[j] + 2.0 / h * s.dof[j, ARMATURE] * s.v[j]


# ------------------------------------------------------------------------------------------------------------- energy


@inlined
def work_before(s, i, turn, d):
    """Work of half of the wrench on body i at the start of the step, along its displacement as seen from there [J]."""
    return 0.5 * dot6(load6(s.variational_work, i, FORCE), join(cayley_vector(turn), d))


@inlined
def work_after(s, i):
    """The same of the wrench at the end, along the displacement as seen from there."""
    turn, d = load4(s.variational_work, i, TURN), load3(s.variational_work, i, P_D)
    return work_before(s, i, turn, add3(d, way_of(back(turn), d)))


@inlined
def part_given_back(table, debt, kinetic):
    """The part of the kinetic energy by which it is to change, where steps have made or lost too much of it; or zero.

    Momentum of floating trees would change with velocities: there nothing is given back.
    """
    s = moving_of(table)
    s.numbers[mv.TOP_KINETIC] = max(s.numbers[mv.TOP_KINETIC], kinetic)
    part = 0.0
    if abs(debt) > LARGEST_DEBT * s.numbers[mv.TOP_KINETIC] and not has_floating_tree(table):
        part = min(max(debt / kinetic, -4.0 * LARGEST_DEBT), 4.0 * LARGEST_DEBT)
    s.numbers[mv.ENERGY_DEBT] = debt - part * kinetic
    return part


@inlined
def sum_of_sizes(w):
    return abs(w[0]) + abs(w[1]) + abs(w[2]) + abs(w[3]) + abs(w[4]) + abs(w[5])


@inlined
def has_floating_tree(table):
    s = moving_of(table)
    found = False
    for i in range(s.tree.shape[0]):
        found = found or (s.tree[i, PARENT] < 0 and s.tree[i, KIND] == FREE)
    return found


# ------------------------------------------------------------------------------------------------------------ efforts


@routine
def record_efforts(table, h):
    """What acted on the joints in the last part of the step of h [s]: as they are at its middle."""
    s = moving_of(table)
    integrate(s.tree, s.stages[SUB_Q], s.u, 0.5, s.stages[MIDDLE])  # u: displacement in that part
    for j in range(s.v.shape[0]):
        s.u[j] /= s.numbers[mv.SUBSTEP]
    record_joints(table, s.stages[MIDDLE], s.u, 0.0, s.u)
