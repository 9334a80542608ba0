"""A variational integrator: the motion of least discrete action, for long runs of linkages that whip. Order 2, symmetric.

Each body's discrete Lagrangian is that of a body that turns by cay(x) and whose centre of mass moves straight on. Of the
`discrete_equations` (5), the first gives q⁺, by Newton's method, the second v⁺, by `aba` from rest with all momenta as
impulses. Momentum of floating trees is kept as far as the equations are solved; energy swings and does not drift. Steps
that cannot be solved, or whose energy jumps (the crack of a whip), are halved. Theory: docs/integrators.md.

This is the form that waits for two evaluations, at the start of a step for a guess and at its end: loops, contact and
forces from outside take part in these. Trees without any need neither: `variational_tree`.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import P_, R_, S_D, TWIST
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import ARMATURE, DOF, HELICAL, INERTIA, KIND, PARENT, V
from linkwork.simulation import moving as mv
from linkwork.simulation.constrained.constraints import constraints_of
from linkwork.simulation.integrators.chart import EVALUATE, integrate
from linkwork.simulation.integrators.variational import discrete_newton as newton
from linkwork.simulation.integrators.variational.discrete_equations import (
    CARRIED,
    FLOATING_TOLERANCE,
    LARGEST_GAP,
    SOLVE_TOLERANCE,
    SUB_Q,
    external_wrenches,
    has_floating_tree,
    impulses_at_end,
    part_given_back,
    record_efforts,
    solve,
    sum_of_sizes,
    work_after,
    work_before,
)
from linkwork.simulation.integrators.variational.discrete_newton import momenta_at_end
from linkwork.simulation.integrators.variational.step_control import SHORTEST, halve, next_part
from linkwork.simulation.loading.accelerate import FROM_REST, HALF_WAY
from linkwork.simulation.moving import moving_of
from linkwork.simulation.stepping.integrator import Integrator
from linkwork.spatial.inertia import rigid_times_twist
from linkwork.spatial.memory import add_to6, load3, load4, load6, load9, load10, store3, store6, store9
from linkwork.spatial.vectors import ZERO6, add6, dot6, scale6, twist_to_child

AT_START, AT_END = 0, 1  # stages: where the next evaluation is
SUB_V = 3  # row of `stages`: velocities before the substep


@inlined
def begin(table, h):
    s = moving_of(table)
    s.numbers[mv.PASSED] = 0.0
    s.numbers[mv.SUBSTEP] = h
    return begin_substep(table)


@inlined
def begin_substep(table):
    s = moving_of(table)
    s.counts[mv.STAGE] = AT_START
    for k in range(s.q.shape[0]):
        s.stages[SUB_Q, k] = s.q[k]
    for k in range(s.v.shape[0]):
        s.stages[SUB_V, k] = s.v[k]
    return EVALUATE


@routine
def resume(table, h, bad):
    s = moving_of(table)
    if bad != mv.OK:
        return bad if s.counts[mv.STAGE] == AT_START and s.numbers[mv.PASSED] == 0.0 else go_back(table, h, bad)
    span = s.numbers[mv.SUBSTEP]
    if s.counts[mv.STAGE] == AT_START:
        for k in range(s.v.shape[0]):
            s.u[k] = span * (s.v[k] + 0.5 * span * s.qdd[k])
        unsolved = find_end(table, span)
        if unsolved != mv.OK:
            return go_back(table, h, unsolved)
        momenta_at_end(table, span)
        for k in range(s.v.shape[0]):
            s.v[k] = 0.0
        s.counts[mv.STAGE] = AT_END
        return EVALUATE
    status = end_substep(table, h)
    if status == EVALUATE and s.counts[mv.STAGE] == AT_END:
        begin_substep(table)
    return status


@routine
def find_end(table, h):
    """q⁺ from the guess of the displacements in u, and what joints give to the second of (5); OK, or why not.

    Needs poses and twists at the start, as an evaluation leaves them.
    """
    s = moving_of(table)
    keep_start(table, h)
    integrate(s.tree, s.stages[SUB_Q], s.u, 1.0, s.q)
    bad = solve(table, h, FLOATING_TOLERANCE if has_floating_tree(table) else SOLVE_TOLERANCE, False)
    if bad == mv.OK:
        impulses_at_end(table, h)
    return bad


@routine
def end_substep(table, h):
    """Velocities from the evaluation at the end, and the balance of energy: DONE, or EVALUATE where more is to be made."""
    s = moving_of(table)
    span = s.numbers[mv.SUBSTEP]
    for k in range(s.v.shape[0]):
        s.v[k] = 0.5 * span * s.qdd[k]
        s.qdd[k] = (s.v[k] - s.stages[SUB_V, k]) / span
    is_balanced = balances(table, span, span / h)
    if span > h * SHORTEST and not is_balanced:
        return go_back(table, h, mv.NOT_CONVERGED)
    repay_debt(table)
    return next_part(table, h)


@routine
def go_back(table, h, cause):
    """`halve`, with the velocities before the substep; after the shortest part the cause of the failure."""
    s = moving_of(table)
    for k in range(s.v.shape[0]):
        s.v[k] = s.stages[SUB_V, k]
    s.counts[mv.STAGE] = AT_START
    return EVALUATE if halve(table, h) == EVALUATE else cause


# --------------------------------------------------------------------------------------------------- what the ends give


@routine
def keep_start(table, h):
    """Poses, motion subspaces, kinetic energy, and momenta with half the impulses of the step, at the start.

    Forces of loops and couplings do no work. They are in the momenta, and not in the wrenches whose work is counted.
    """
    s = moving_of(table)
    x = constraints_of(table)
    external_wrenches(table)
    kinetic = 0.0
    for i in range(s.tree.shape[0]):
        store9(s.variational_work, i, newton.R_0, load9(s.work, i, R_))
        store3(s.variational_work, i, newton.P_0, load3(s.work, i, P_))
        twist = load6(s.work, i, TWIST)
        momentum = rigid_times_twist(load10(s.body, i, INERTIA), twist)
        kinetic += 0.5 * dot6(twist, momentum)
        store6(
            s.variational_work,
            i,
            newton.GIVEN,
            add6(momentum, scale6(0.5 * h, load6(s.variational_work, i, newton.FORCE))),
        )
    for j in range(s.v.shape[0]):
        s.stages[CARRIED, j] = s.dof[j, ARMATURE] * s.v[j]
        kinetic += 0.5 * s.stages[CARRIED, j] * s.v[j]
        store6(s.variational_dof_work, j, newton.S_0, load6(s.dof_work, j, S_D))
    s.numbers[mv.KINETIC_START] = kinetic
    for m in range(x.constrained_bodies.shape[0]):
        wrench = scale6(0.5 * h, load6(x.wrenches, m, 0))
        add_to6(s.variational_work, x.constrained_bodies[m], newton.GIVEN, wrench)
    for k in range(x.coupling.shape[0]):
        for e in range(x.coupled_first[k], x.coupled_first[k + 1]):
            if x.coupled_body[e] >= 0:
                s.stages[CARRIED, x.coupled_freedom[e]] += 0.5 * h * x.coupling[k] * x.coefficient[e]


@routine
def balances(table, h, part):
    """Whether kinetic energy changed by the work of all forces, but for a small part of it. part: what h is of the step.

    Work is that of the mean wrench along the displacement of each body, and of joint forces along their coordinates.
    """
    s = moving_of(table)
    work = 0.0
    involved = 0.0
    pushes = 0.0  # [N or N·m], whose work is known no better than the displacements are
    for i in range(s.tree.shape[0]):
        share = work_before(s, i, load4(s.variational_work, i, newton.TURN), load3(s.variational_work, i, newton.P_D))
        work += share
        involved += abs(share)
    external_wrenches(table)
    kinetic = 0.0
    for i in range(s.tree.shape[0]):
        share = work_after(s, i)
        work += share
        involved += abs(share)
        pushes += sum_of_sizes(load6(s.variational_work, i, newton.FORCE))
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
        force = s.effort[j] + s.stages[mv.IMPULSE, j] - 2.0 / (h * h) * armature * s.u[j]
        joint = s.u[j] * force
        pushes += abs(force)
        work += joint
        involved += abs(joint)
    before = s.numbers[mv.KINETIC_START]
    gap = kinetic - before - work
    s.numbers[mv.ENERGY_GAP] = gap
    s.numbers[mv.KINETIC_START] = kinetic
    return abs(gap) <= LARGEST_GAP * part * (kinetic + before + involved) + h * s.numbers[mv.ALLOWED] * pushes


@routine
def repay_debt(table):
    """Adds up what steps have made of energy; where that is no longer small, all speeds change by the same small part."""
    s = moving_of(table)
    part = part_given_back(table, s.numbers[mv.ENERGY_DEBT] + s.numbers[mv.ENERGY_GAP], s.numbers[mv.KINETIC_START])
    if part != 0.0:
        scale = math.sqrt(1.0 - part)
        for k in range(s.v.shape[0]):
            s.v[k] *= scale


# ------------------------------------------------------------------------------------------------------------- the driver


@inlined
def where_joints_act(table):
    return HALF_WAY if moving_of(table).counts[mv.STAGE] == AT_START else FROM_REST


VARIATIONAL = Integrator(begin, resume, where_joints_act, record_efforts)
