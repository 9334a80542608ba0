"""A variational integrator: the motion of least discrete action, for long runs of linkages that whip. Order 2, symmetric.

Each body's discrete Lagrangian is that of a body that turns by cay(x) and whose centre of mass moves straight on. With Λ(q, q⁺)
the momenta of the bodies within the step (`discrete_newton`), J the Jacobian of their poses, τ forces of the coordinates alone
and τ̄ those of springs, dampers and motors of joints at the middle of the step,

    M(q) v + ½ h (τ(q) + τ̄) = J(q)ᵀ Λ(q, q⁺),      M(q⁺) v⁺ = J(q⁺)ᵀ Λ(q, q⁺) + ½ h (τ(q⁺) + τ̄)            (5)  docs/integrators.md

The first is an equation for q⁺, solved by Newton's method; the second gives v⁺, by `aba` from rest with all momenta as impulses.
Momentum of floating trees is kept to rounding, energy swings and does not drift. Steps that cannot be solved are halved.
"""

import math

import numpy as np

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import P_, R_, S_D, TWIST
from linkwork.model.joint_kernels import joint_difference, joint_integrate, joint_passive_effort
from linkwork.model.layout import (
    ARMATURE,
    COMPOUND,
    DAMPING,
    DOF,
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
from linkwork.simulation.integrators.discrete_newton import (
    GIVEN,
    MISSING,
    P_0,
    R_0,
    S_0,
    displacements_root_to_leaf,
    eliminate_leaf_to_root,
    momenta_at_end,
    substitute_root_to_leaf,
)
from linkwork.simulation.motors import motor_law
from linkwork.simulation.moving import (
    ALLOWED,
    EVALUATIONS,
    HALVINGS,
    IMPULSE,
    ITERATIONS,
    LOADS,
    MOTORS,
    NOT_CONVERGED,
    OK,
    PASSED,
    RESIDUAL,
    STAGE,
    SUBSTEP,
    moving_of,
)
from linkwork.spatial.inertia import rigid_times_twist
from linkwork.spatial.memory import add_to6, load3, load6, load9, load10, store3, store6, store9
from linkwork.spatial.rotations import cross3, scale3, tmatvec3
from linkwork.spatial.vectors import add6, join, scale6

EPS = float(np.finfo(float).eps)
SOLVE_TOLERANCE = 1e-12  # of the displacements in a step
MAX_ITERATIONS = 12
ROUNDING_FLOOR = 1e-9  # a change that no longer falls, but lies below this part of the displacements, is rounding
MOST_HALVINGS = 12  # of a step that cannot be solved

AT_START, AT_END = 0, 1  # stages: where the next evaluation is
MIDDLE, SUB_Q, SUB_V = 0, 2, 3  # rows of `stages` beside IMPULSE: q half way, state before the substep


@inlined
def begin(table, h):
    s = moving_of(table)
    s.numbers[PASSED] = 0.0
    s.numbers[SUBSTEP] = h
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
    n = s.v.shape[0]
    span = s.numbers[SUBSTEP]
    if s.counts[STAGE] == AT_START:
        keep_start(table, span)
        for k in range(n):
            s.u[k] = span * (s.v[k] + 0.5 * span * s.qdd[k])
        integrate(s.tree, s.stages[SUB_Q], s.u, 1.0, s.q)
        if not solve(table, span):
            return halve(table, h)
        momenta_at_end(table, span)
        impulses_at_end(table, span)
        for k in range(n):
            s.v[k] = 0.0
        s.counts[STAGE] = AT_END
        return EVALUATE
    for k in range(n):
        s.v[k] = 0.5 * span * s.qdd[k]
        s.qdd[k] = (s.v[k] - s.stages[SUB_V, k]) / span
    left = h - s.numbers[PASSED]
    if span >= left:
        return DONE
    s.numbers[PASSED] += span
    if h - s.numbers[PASSED] < 1.5 * span:
        s.numbers[SUBSTEP] = h - s.numbers[PASSED]
    return begin_substep(table)


@routine
def halve(table, h):
    """Back to where the substep began, and on with one of half the length."""
    s = moving_of(table)
    s.counts[HALVINGS] += 1
    if s.numbers[SUBSTEP] < h * 0.5**MOST_HALVINGS:
        return NOT_CONVERGED
    s.numbers[SUBSTEP] *= 0.5
    for k in range(s.q.shape[0]):
        s.q[k] = s.stages[SUB_Q, k]
    for k in range(s.v.shape[0]):
        s.v[k] = s.stages[SUB_V, k]
    s.counts[STAGE] = AT_START
    return EVALUATE


@routine
def solve(table, h):
    """Newton's method for q⁺ from the guess in q; whether it converged."""
    s = moving_of(table)
    before = 1.0
    largest_q = 0.0
    for k in range(s.q.shape[0]):
        largest_q = max(largest_q, abs(s.q[k]))
    s.counts[ITERATIONS] = 0
    while s.counts[ITERATIONS] < MAX_ITERATIONS:
        s.counts[ITERATIONS] += 1
        s.counts[EVALUATIONS] += 1
        impulses_at_start(table, h)
        displacements_root_to_leaf(table, h)
        if not eliminate_leaf_to_root(table):
            return False
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
        # Newton's steps shrink faster and faster: the next one would be smaller than this by at least the last ratio.
        after = change * min(1.0, change / before)
        s.numbers[RESIDUAL] = after / h
        allowed = SOLVE_TOLERANCE * size + EPS * (1.0 + largest_q)
        s.numbers[ALLOWED] = allowed / h
        if after <= allowed:
            return True
        if change > 0.5 * before:
            return change <= ROUNDING_FLOOR * (size + EPS * (1.0 + largest_q) / SOLVE_TOLERANCE)
        before = change
    return False


# --------------------------------------------------------------------------------------------------- what the ends give


@routine
def keep_start(table, h):
    """Poses, motion subspaces, and momenta with half the impulses of the step, at the start."""
    s = moving_of(table)
    x = constraints_of(table)
    for i in range(s.tree.shape[0]):
        R = load9(s.work, i, R_)
        parent = s.tree[i, PARENT]
        g = (s.gravity[0], s.gravity[1], s.gravity[2])
        if parent >= 0:
            g = load3(s.change, parent, MISSING)
        g = tmatvec3(R, g)
        store3(s.change, i, MISSING, g)
        store9(s.change, i, R_0, R)
        store3(s.change, i, P_0, load3(s.work, i, P_))
        inertia = load10(s.body, i, INERTIA)
        momentum = rigid_times_twist(inertia, load6(s.work, i, TWIST))
        weight = join(cross3((inertia[1], inertia[2], inertia[3]), g), scale3(inertia[0], g))
        momentum = add6(momentum, scale6(0.5 * h, weight))
        if s.wrench.shape[0] > 0:
            momentum = add6(momentum, scale6(0.5 * h, load6(s.wrench, i, 0)))
        store6(s.change, i, GIVEN, momentum)
    for k in range(s.counts[LOADS]):
        add_to6(s.change, s.load_body[k], GIVEN, scale6(0.5 * h, load_wrench(s, k)))
    for m in range(x.touched.shape[0]):
        add_to6(s.change, x.touched[m], GIVEN, scale6(0.5 * h, load6(x.wrenches, m, 0)))
    for j in range(s.v.shape[0]):
        store6(s.change_dof, j, S_0, load6(s.dof_work, j, S_D))


@routine
def joint_forces(table, i, h):
    """Springs, dampers and motor of joint i at the middle of the step into `drive`, and what they resist into `resistance`."""
    s = moving_of(table)
    start = s.stages[SUB_Q]
    middle = s.stages[MIDDLE]
    kind = s.tree[i, KIND]
    j = s.tree[i, V]
    k = s.tree[i, Q]
    n = s.tree[i, DOF]
    joint_difference(s.tree, i, start, s.q, s.u)
    for d in range(n):
        s.drive[j + d] = 0.0
        s.v[j + d] = s.u[j + d] / h
    if kind == HELICAL:
        middle[k] = start[k] + 0.5 * s.u[j]
    else:
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
            rotor = s.dof[j, ARMATURE] * (s.stages[SUB_V, j] - s.v[j])
            s.drive[j] = rotor + 0.5 * h * (s.effort[j] + s.drive[j])


@routine
def impulses_at_end(table, h):
    """What joints give to the second of (5), as efforts of the evaluation that follows, without those given."""
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        joint_forces(table, i, h)
        for j in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
            s.stages[IMPULSE, j] = s.drive[j] + 2.0 / h * s.dof[j, ARMATURE] * s.v[j]
