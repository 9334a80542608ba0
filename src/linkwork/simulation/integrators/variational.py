"""A variational integrator: the motion of least discrete action, for long runs of linkages that whip. Order 2, symmetric.

Each body's discrete Lagrangian is that of a body that turns by cay(x) and whose centre of mass moves straight on. With
Λ(q, q⁺) the momenta of the bodies within the step (`discrete_newton`), J the Jacobian of their poses, τ forces of the
coordinates alone and τ̄ those of springs, dampers and motors of joints at the middle of the step,

    M(q) v + ½ h (τ(q) + τ̄) = J(q)ᵀ Λ(q, q⁺),      M(q⁺) v⁺ = J(q⁺)ᵀ Λ(q, q⁺) + ½ h (τ(q⁺) + τ̄)            (5)

The first is an equation for q⁺, solved by Newton's method; the second gives v⁺, by `aba` from rest with all momenta as
impulses. Momentum of floating trees is kept as far as the equations are solved; energy swings and does not drift. Steps
that cannot be solved, or whose energy jumps (the crack of a whip), are halved. Theory: docs/integrators.md.
"""

import math

import numpy as np

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import P_, R_, S_D, TWIST
from linkwork.model.joint_kernels import helical_twist, joint_difference, joint_integrate, joint_passive_effort
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
from linkwork.simulation.accelerate import load_wrench
from linkwork.simulation.constraints import constraints_of
from linkwork.simulation.integrators.chart import DONE, EVALUATE, integrate
from linkwork.simulation.integrators.discrete_body import back, cayley_vector, load4, way_of
from linkwork.simulation.integrators.discrete_newton import (
    FORCE,
    GIVEN,
    P_0,
    P_D,
    R_0,
    S_0,
    TURN,
    WEIGHT,
    displacements_root_to_leaf,
    eliminate_leaf_to_root,
    gather_leaf_to_root,
    misses_root_to_leaf,
    momenta_at_end,
    substitute_root_to_leaf,
)
from linkwork.simulation.motors import motor_law
from linkwork.simulation.moving import (
    ALLOWED,
    ENERGY_DEBT,
    ENERGY_GAP,
    ERROR_BEFORE,
    EVALUATIONS,
    HALVINGS,
    IMPULSE,
    ITERATIONS,
    KINETIC_START,
    LOADS,
    MOTORS,
    NOT_CONVERGED,
    OK,
    PASSED,
    PAST,
    RESIDUAL,
    STAGE,
    SUBSTEP,
    SUBSTEP_WISH,
    TOP_KINETIC,
    moving_of,
)
from linkwork.spatial.inertia import rigid_times_twist
from linkwork.spatial.memory import add_to6, load3, load6, load9, load10, store3, store6, store9
from linkwork.spatial.rotations import add3, cross3, scale3, tmatvec3
from linkwork.spatial.vectors import ZERO6, add6, dot6, join, scale6, twist_to_child

EPS = float(np.finfo(float).eps)
SOLVE_TOLERANCE, FLOATING_TOLERANCE = 5e-8, 1e-14  # of the displacements in a step; momentum is kept to the latter
MAX_ITERATIONS = 12
SLOW = 0.1  # a correction that shrinks by less asks for another elimination
FAR = 0.2  # [rad or m] and so does a first change larger than this
ROUNDING_FLOOR = 1e-8  # a change that no longer falls, but lies below this part of the displacements, is rounding
LARGEST_GAP = 2e-3  # part of the energies involved that a step may make or lose before it is halved
LARGEST_DEBT = 2e-3  # part of the largest kinetic energy so far that steps may make or lose before speeds are put right
SHORTEST = 2.0**-10  # part of a step to which it is halved at most

AT_START, AT_END = 0, 1  # stages: where the next evaluation is
MIDDLE, SUB_Q, SUB_V = 0, 2, 3  # rows of `stages` beside IMPULSE: q half way, state before the substep
CARRIED = PAST  # and what rotors and forces of joints give to the first of (5)


@inlined
def begin(table, h):
    s = moving_of(table)
    s.numbers[PASSED] = 0.0
    s.numbers[SUBSTEP] = h
    s.numbers[ERROR_BEFORE] = s.numbers[ENERGY_DEBT]  # to go back to, should the step fail
    return begin_substep(table)


@inlined
def begin_substep(table):
    s = moving_of(table)
    s.counts[STAGE] = AT_START
    for k in range(s.q.shape[0]):
        s.stages[SUB_Q, k] = s.q[k]
    for k in range(s.v.shape[0]):
        s.stages[SUB_V, k] = s.v[k]
    return EVALUATE


@routine
def resume(table, h, bad):
    s = moving_of(table)
    if bad != OK:
        return bad if s.counts[STAGE] == AT_START and s.numbers[PASSED] == 0.0 else halve(table, h)
    span = s.numbers[SUBSTEP]
    if s.counts[STAGE] == AT_START:
        guess_by_acceleration(table, span)
        if not find_end(table, span):
            return halve(table, h)
        momenta_at_end(table, span)
        for k in range(s.v.shape[0]):
            s.v[k] = 0.0
        s.counts[STAGE] = AT_END
        return EVALUATE
    status = end_substep(table, h)
    if status == EVALUATE and s.counts[STAGE] == AT_END:
        begin_substep(table)
    return status


@inlined
def guess_by_acceleration(table, h):
    """Displacements in the step into u, from velocities and accelerations at its start."""
    s = moving_of(table)
    for k in range(s.v.shape[0]):
        s.u[k] = h * (s.v[k] + 0.5 * h * s.qdd[k])


@routine
def find_end(table, h):
    """q⁺ from the guess of the displacements in u, and what joints give to the second of (5); whether it was found.

    Needs poses and twists at the start, as an evaluation leaves them.
    """
    s = moving_of(table)
    keep_start(table, h)
    integrate(s.tree, s.stages[SUB_Q], s.u, 1.0, s.q)
    if not solve(table, h):
        return False
    impulses_at_end(table, h)
    return True


@routine
def end_substep(table, h):
    """Velocities from the evaluation at the end, and the balance of energy: DONE, or EVALUATE where more is to be made."""
    s = moving_of(table)
    span = s.numbers[SUBSTEP]
    for k in range(s.v.shape[0]):
        s.v[k] = 0.5 * span * s.qdd[k]
        s.qdd[k] = (s.v[k] - s.stages[SUB_V, k]) / span
    is_balanced = balances(table, span)
    if span > h * SHORTEST and not is_balanced:
        return halve(table, h)
    settle_debt(table)
    left = h - s.numbers[PASSED]
    if span >= left:
        return DONE
    s.numbers[PASSED] += span
    if h - s.numbers[PASSED] < 1.5 * span:
        s.numbers[SUBSTEP] = h - s.numbers[PASSED]
    return EVALUATE


@routine
def halve(table, h):
    """Back to where the substep began, and on with one of half the length."""
    s = moving_of(table)
    s.counts[HALVINGS] += 1
    if s.numbers[SUBSTEP] <= h * SHORTEST:
        return NOT_CONVERGED
    s.numbers[SUBSTEP] *= 0.5
    s.numbers[SUBSTEP_WISH] = s.numbers[SUBSTEP]
    for k in range(s.q.shape[0]):
        s.q[k] = s.stages[SUB_Q, k]
    for k in range(s.v.shape[0]):
        s.v[k] = s.stages[SUB_V, k]
    s.counts[STAGE] = AT_START
    return EVALUATE


@routine
def solve(table, h):
    """Newton's method for q⁺ from the guess in q; whether it converged.

    The matrix is eliminated once; corrections with it follow, and another elimination where they gain little.
    """
    s = moving_of(table)
    before = math.inf
    largest_q = 0.0
    for k in range(s.q.shape[0]):
        largest_q = max(largest_q, abs(s.q[k]))
    tolerance = FLOATING_TOLERANCE if has_floating_tree(table) else SOLVE_TOLERANCE
    s.counts[ITERATIONS] = 0
    eliminates = True
    while s.counts[ITERATIONS] < MAX_ITERATIONS:
        s.counts[ITERATIONS] += 1
        impulses_at_start(table, h)
        if eliminates:
            s.counts[EVALUATIONS] += 1
            displacements_root_to_leaf(table, h)
            if not eliminate_leaf_to_root(table):
                return False
        else:
            misses_root_to_leaf(table, h)
            gather_leaf_to_root(table)
        substitute_root_to_leaf(table, s.qdd)
        change = 0.0
        size = 0.0
        for k in range(s.v.shape[0]):
            if change == change and not abs(s.qdd[k]) <= change:  # NaN stays NaN
                change = abs(s.qdd[k])
            size = max(size, abs(s.u[k]))
        if not math.isfinite(change):
            return False
        integrate(s.tree, s.q, s.qdd, 1.0, s.q)
        # After an elimination changes shrink as squares: the next one is smaller by the last ratio squared. Corrections
        # with an older matrix shrink by one ratio.
        ratio = change if s.counts[ITERATIONS] == 1 else change / before
        if eliminates and s.counts[ITERATIONS] > 1:
            ratio *= ratio
        after = change * min(1.0, ratio)
        s.numbers[RESIDUAL] = after / h
        allowed = tolerance * size + EPS * (1.0 + largest_q)
        s.numbers[ALLOWED] = allowed / h
        if after <= allowed:
            return True
        if eliminates and change > 0.5 * before:
            return change <= ROUNDING_FLOOR * size
        eliminates = change > SLOW * before if s.counts[ITERATIONS] > 1 else change > FAR
        before = change
    return False


# --------------------------------------------------------------------------------------------------- what the ends give


@routine
def keep_start(table, h):
    """Poses, motion subspaces, kinetic energy, and momenta with half the impulses of the step, at the start."""
    s = moving_of(table)
    x = constraints_of(table)
    outside_wrenches(table)
    for m in range(x.touched.shape[0]):
        add_to6(s.change, x.touched[m], FORCE, load6(x.wrenches, m, 0))
    kinetic = 0.0
    for i in range(s.tree.shape[0]):
        store9(s.change, i, R_0, load9(s.work, i, R_))
        store3(s.change, i, P_0, load3(s.work, i, P_))
        twist = load6(s.work, i, TWIST)
        momentum = rigid_times_twist(load10(s.body, i, INERTIA), twist)
        kinetic += 0.5 * dot6(twist, momentum)
        store6(s.change, i, GIVEN, add6(momentum, scale6(0.5 * h, load6(s.change, i, FORCE))))
    for j in range(s.v.shape[0]):
        s.stages[CARRIED, j] = s.dof[j, ARMATURE] * s.v[j]
        kinetic += 0.5 * s.stages[CARRIED, j] * s.v[j]
        store6(s.change_dof, j, S_0, load6(s.dof_work, j, S_D))
    s.numbers[KINETIC_START] = kinetic


@routine
def outside_wrenches(table):
    """Gravity and loads on each body in its frame into FORCE, at the evaluation that was just made."""
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        parent = s.tree[i, PARENT]
        g = (s.gravity[0], s.gravity[1], s.gravity[2])
        if parent >= 0:
            g = load3(s.change, parent, WEIGHT)
        g = tmatvec3(load9(s.work, i, R_), g)
        store3(s.change, i, WEIGHT, g)
        mass, x, y, z = s.body[i, INERTIA], s.body[i, INERTIA + 1], s.body[i, INERTIA + 2], s.body[i, INERTIA + 3]
        wrench = join(cross3((x, y, z), g), scale3(mass, g))
        if s.wrench.shape[0] > 0:
            wrench = add6(wrench, load6(s.wrench, i, 0))
        store6(s.change, i, FORCE, wrench)
    for k in range(s.counts[LOADS]):
        add_to6(s.change, s.load_body[k], FORCE, load_wrench(s, k))


@routine
def balances(table, h):
    """Whether kinetic energy changed by the work of all forces, but for a small part of it.

    Work is that of the mean wrench along the displacement of each body, and of joint forces along their coordinates.
    """
    s = moving_of(table)
    work = 0.0
    involved = 0.0
    for i in range(s.tree.shape[0]):
        x = cayley_vector(load4(s.change, i, TURN))
        share = 0.5 * dot6(load6(s.change, i, FORCE), join(x, load3(s.change, i, P_D)))
        work += share
        involved += abs(share)
    outside_wrenches(table)
    kinetic = 0.0
    for i in range(s.tree.shape[0]):
        turn = load4(s.change, i, TURN)
        d = load3(s.change, i, P_D)
        d = add3(d, way_of(back(turn), d))
        share = 0.5 * dot6(load6(s.change, i, FORCE), join(cayley_vector(turn), d))
        work += share
        involved += abs(share)
        twist = ZERO6
        if s.tree[i, PARENT] >= 0:
            twist = load6(s.work, s.tree[i, PARENT], TWIST)
            twist = twist_to_child(load9(s.work, i, R_), load3(s.work, i, P_), twist)
        j = s.tree[i, V]
        if s.tree[i, KIND] == HELICAL:
            twist = add6(twist, scale6(s.v[j], helical_twist(s.body, i)))
        else:
            for k in range(s.tree[i, DOF]):
                twist = add6(twist, scale6(s.v[j + k], load6(s.dof_work, j + k, S_D)))
        store6(s.work, i, TWIST, twist)
        kinetic += 0.5 * dot6(twist, rigid_times_twist(load10(s.body, i, INERTIA), twist))
    for j in range(s.v.shape[0]):
        armature = s.dof[j, ARMATURE]
        kinetic += 0.5 * armature * s.v[j] * s.v[j]
        joint = s.u[j] * (s.effort[j] + s.stages[IMPULSE, j] - 2.0 / (h * h) * armature * s.u[j])
        work += joint
        involved += abs(joint)
    before = s.numbers[KINETIC_START]
    gap = kinetic - before - work
    s.numbers[ENERGY_GAP] = gap
    s.numbers[KINETIC_START] = kinetic
    return abs(gap) <= LARGEST_GAP * (kinetic + before + involved)


@routine
def settle_debt(table):
    """Adds up what steps have made of energy; where that is no longer small, all speeds change by the same small part.

    Momentum of floating trees would change with them: there nothing is settled.
    """
    s = moving_of(table)
    s.numbers[ENERGY_DEBT] += s.numbers[ENERGY_GAP]
    kinetic = s.numbers[KINETIC_START]
    debt = s.numbers[ENERGY_DEBT]
    s.numbers[TOP_KINETIC] = max(s.numbers[TOP_KINETIC], kinetic)
    if abs(debt) <= LARGEST_DEBT * s.numbers[TOP_KINETIC] or has_floating_tree(table):
        return
    part = min(max(debt / kinetic, -2.0 * LARGEST_DEBT), 2.0 * LARGEST_DEBT)
    scale = math.sqrt(1.0 - part)
    for k in range(s.v.shape[0]):
        s.v[k] *= scale
    s.numbers[ENERGY_DEBT] -= part * kinetic


@inlined
def has_floating_tree(table):
    s = moving_of(table)
    found = False
    for i in range(s.tree.shape[0]):
        found = found or (s.tree[i, PARENT] < 0 and s.tree[i, KIND] == FREE)
    return found


@inlined
def joint_forces(table, i, h):
    """Springs, dampers and motor of joint i at the middle of the step into `drive`; what they resist into `resistance`."""
    s = moving_of(table)
    start = s.stages[SUB_Q]
    middle = s.stages[MIDDLE]
    kind = s.tree[i, KIND]
    j = s.tree[i, V]
    k = s.tree[i, Q]
    n = s.tree[i, DOF]
    if kind == HELICAL and s.counts[MOTORS] == 0:  # the hot path
        u = s.q[k] - start[k]
        s.u[j] = u
        s.v[j] = u / h
        spring = s.dof[j, STIFFNESS]
        s.drive[j] = -spring * (start[k] + 0.5 * u - s.rest[k]) - s.dof[j, DAMPING] * s.v[j]
        s.resistance[j, ARMATURE] = s.dof[j, ARMATURE] / h + 0.5 * s.dof[j, DAMPING] + 0.25 * h * spring
        return
    joint_difference(s.tree, i, start, s.q, s.u)
    for d in range(n):
        s.drive[j + d] = 0.0
        s.v[j + d] = s.u[j + d] / h
    joint_integrate(s.tree, i, start, s.u, 0.5, middle)
    joint_passive_effort(s.tree, s.dof, s.rest, i, middle, s.v, s.drive)
    for d in range(n):
        stiffness = s.dof[j + d, STIFFNESS]
        damping = s.dof[j + d, DAMPING]
        if s.counts[MOTORS] > 0 and (kind == HELICAL or kind == COMPOUND):
            effort, k_motor, d_motor = motor_law(
                s.motor, s.strength, s.top_speed, j + d, middle[k + d], s.v[j + d], 0.0, s.v[j + d]
            )
            s.drive[j + d] += effort
            stiffness += k_motor
            damping += d_motor
        s.resistance[j + d, ARMATURE] = s.dof[j + d, ARMATURE] / h + 0.5 * damping + 0.25 * h * stiffness


@routine
def impulses_at_start(table, h):
    """What joints miss of the first of (5) into `drive`: rotors, efforts, springs, dampers and motors."""
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        joint_forces(table, i, h)
        for j in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
            rotor = s.dof[j, ARMATURE] * s.v[j]
            s.drive[j] = s.stages[CARRIED, j] - rotor + 0.5 * h * (s.effort[j] + s.drive[j])


@routine
def impulses_at_end(table, h):
    """What joints give to the second of (5), as efforts of the evaluation that follows, without those given."""
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        joint_forces(table, i, h)
        for j in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
            s.stages[IMPULSE, j] = s.drive[j] + 2.0 / h * s.dof[j, ARMATURE] * s.v[j]
