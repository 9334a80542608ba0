"""Variational steps of a tree, one after another without velocities in between.

`variational` asks for two evaluations per step: at its start for a guess, and at its end for the velocities. Neither is
needed to go on: the guess comes from the steps before (`past`), and the momenta with which a step ends are those with which
the next one begins,

    P = Λ(q, q⁺) + ½ h f(q⁺)  of bodies,     p = ½ h τ̄ + rotors  of joints                        (10)  docs/integrators.md

Velocities, M v⁺ = Jᵀ P + p, are found when somebody wants them: at the end of a call, and every so many steps for the
balance of energy. They change nothing in the steps that follow.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import (
    ACCELERATION,
    BIAS,
    EFFORT_D,
    IA,
    IB,
    IC,
    P_,
    PA,
    R_,
    S_D,
    TWIST,
    U_SMALL,
    accelerations_root_to_leaf,
    inertias_leaf_to_root,
)
from linkwork.model.joint_kernels import body_motion
from linkwork.model.layout import ARMATURE, DOF, HELICAL, INERTIA, KIND, PARENT, V
from linkwork.simulation.accelerate import world_poses_root_to_leaf
from linkwork.simulation.integrators.chart import DONE, EVALUATE, integrate
from linkwork.simulation.integrators.discrete_body import back, cayley_vector, momentum_at_end, way_of
from linkwork.simulation.integrators.discrete_equations import (
    CARRIED,
    LARGEST_DEBT,
    LARGEST_GAP,
    PART_TOLERANCE,
    SOLVE_TOLERANCE,
    SUB_Q,
    impulses_at_end,
    note_efforts,
    outside_wrenches,
    part_given_back,
    solve,
)
from linkwork.simulation.integrators.discrete_newton import (
    FORCE,
    GIVEN,
    MISSING,
    P_0,
    P_D,
    R_0,
    S_0,
    S_1,
    TURN,
    displace,
    end_rotation,
)
from linkwork.simulation.integrators.lengths import SHORTEST, first_length, halve, is_in_doubt, lengthen, next_part
from linkwork.simulation.integrators.past import (
    MEAN_V,
    REMEMBERED,
    begin_past,
    guess_from_past,
    is_beginning,
    remember_end,
    remember_mean,
    remembers,
)
from linkwork.simulation.moving import (
    CARRIED_MOMENTUM,
    COUNTED_KINETIC,
    ENERGY_DEBT,
    ENERGY_GAP,
    ENERGY_WITHIN,
    EVALUATIONS,
    IMPULSE,
    KINETIC_NOW,
    LOADS,
    NOT_CONVERGED,
    OK,
    PASSED,
    PAST,
    PAST_ROWS,
    STEP_PAST_BEFORE,
    STEP_PAST_SIZE,
    SUBSTEP,
    TOP_KINETIC,
    UNCOUNTED_GAP,
    UNCOUNTED_STEPS,
    WORK,
    moving_of,
)
from linkwork.simulation.stepping.integrator import Integrator
from linkwork.spatial.inertia import rigid_as_articulated, rigid_times_twist
from linkwork.spatial.memory import load3, load4, load6, load10, store3, store6, store9
from linkwork.spatial.rotations import ZERO3, add3
from linkwork.spatial.vectors import ZERO6, add6, dot6, join, scale6, twist_to_child

# What a step carries on and remembers, and the same when it began, to go back to should it fail: column of `change`, row of
# `stages`, first row of mean velocities there, first of `numbers`.
NOW = (CARRIED_MOMENTUM, CARRIED, MEAN_V, ENERGY_DEBT)
BEFORE = (CARRIED_MOMENTUM + 6, PAST + PAST_ROWS, PAST + PAST_ROWS + 1, STEP_PAST_BEFORE)
NOT_FOUND = -1.0  # in the place of a kinetic energy
STEPS_PER_COUNT, STEPS_IN_PARTS_PER_COUNT = 8, 4  # steps from one count of the energy to the next


@routine
def begin_steps(table, h):
    """Before the first of some steps: momenta are those that the last step left, or follow from the velocities."""
    s = moving_of(table)
    if remembers(table):
        return
    begin_past(table, h)
    S = s.dof_work[:, S_D : S_D + 6]
    kinetic = 0.0
    for i in range(s.tree.shape[0]):
        R, p, twist, _ = body_motion(s.tree, s.body, s.screws, i, s.q, s.v, S)
        if s.tree[i, PARENT] >= 0:
            twist = add6(twist_to_child(R, p, load6(s.work, s.tree[i, PARENT], TWIST)), twist)
        store6(s.work, i, TWIST, twist)
        momentum = rigid_times_twist(load10(s.body, i, INERTIA), twist)
        store6(s.change, i, CARRIED_MOMENTUM, momentum)
        kinetic += 0.5 * dot6(twist, momentum)
    for j in range(s.v.shape[0]):
        s.stages[CARRIED, j] = s.dof[j, ARMATURE] * s.v[j]
        kinetic += 0.5 * s.stages[CARRIED, j] * s.v[j]
    begin_count(table, kinetic)


@routine
def end_steps(table, status, made):
    """After the last of some steps, of which `made` succeeded: velocities, and mean accelerations in the last step."""
    s = moving_of(table)
    if status != OK:
        copy_carried(table, True)
        if made == 0:
            return
    velocities(table, CARRIED_MOMENTUM, CARRIED, s.q)
    span = s.stages[MEAN_V, s.q.shape[0]]
    for j in range(s.v.shape[0]):
        s.qdd[j] = 2.0 * (s.v[j] - s.stages[MEAN_V, j]) / span
    remember_end(table)


@routine
def copy_carried(table, back):
    """Copies all that a step changes of what is carried and remembered, from NOW to BEFORE or back."""
    s = moving_of(table)
    to, source = BEFORE, NOW
    if back:
        to, source = NOW, BEFORE
    for i in range(s.tree.shape[0]):
        store6(s.change, i, to[0], load6(s.change, i, source[0]))
    for j in range(s.v.shape[0]):
        s.stages[to[1], j] = s.stages[source[1], j]
    for row in range(REMEMBERED):
        for k in range(s.stages.shape[1]):
            s.stages[to[2] + row, k] = s.stages[source[2] + row, k]
    for k in range(STEP_PAST_SIZE):
        s.numbers[to[3] + k] = s.numbers[source[3] + k]


@routine
def step_tree(table, h):
    """One step of h [s], in parts where it must be: DONE or a failure."""
    s = moving_of(table)
    copy_carried(table, False)
    s.numbers[PASSED] = 0.0
    s.numbers[SUBSTEP] = first_length(table, h)
    status = EVALUATE
    while status == EVALUATE:
        status = one_substep(table, h)
    if status == DONE:
        lengthen(table, h)
        s.numbers[UNCOUNTED_STEPS] += 1.0
        in_parts = s.numbers[SUBSTEP] < h
        is_due = s.numbers[UNCOUNTED_STEPS] >= (STEPS_IN_PARTS_PER_COUNT if in_parts else STEPS_PER_COUNT)
        if is_due or abs(s.numbers[UNCOUNTED_GAP]) > 0.5 * LARGEST_DEBT * s.numbers[TOP_KINETIC]:
            count_energy(table)
    return status


@routine
def one_substep(table, h):
    s = moving_of(table)
    span = s.numbers[SUBSTEP]
    is_first = is_beginning(table)
    is_alike = s.stages[MEAN_V, s.q.shape[0]] == span
    guess_from_past(table, span)
    for k in range(s.q.shape[0]):
        s.stages[SUB_Q, k] = s.q[k]
    start_root_to_leaf(table, span)
    integrate(s.tree, s.stages[SUB_Q], s.u, 1.0, s.q)
    bad = solve(table, span, PART_TOLERANCE if span < h else SOLVE_TOLERANCE)
    if bad != OK:
        return bad if bad >= 0 and is_first else halve(table, h)
    impulses_at_end(table, span)
    kinetic, before, after, involved = end_root_to_leaf(table, span)
    gap = kinetic - before - s.numbers[ENERGY_WITHIN]
    allowed = LARGEST_GAP * (2.0 * kinetic + involved)
    # Energies within two steps compare badly where their lengths differ, and miss losses where joints turn by more than a
    # radian: in steps that are made in parts, or were a short time ago. There those at the ends count.
    at_end = NOT_FOUND
    if not is_alike or is_in_doubt(table, h) or not abs(gap) <= allowed:
        at_start = kinetic_energy_now(table, s.stages[SUB_Q])
        at_end = kinetic_energy(table, MISSING, IMPULSE, s.q)
        gap = at_end - at_start - before - after
    s.numbers[ENERGY_GAP] = gap
    if not abs(gap) <= allowed and span > h * SHORTEST:
        return halve(table, h)
    s.numbers[KINETIC_NOW] = at_end
    s.numbers[ENERGY_WITHIN] = kinetic + after
    s.numbers[WORK] += before + after
    s.numbers[TOP_KINETIC] = max(s.numbers[TOP_KINETIC], kinetic)
    s.numbers[UNCOUNTED_GAP] += gap
    carry_on(table)
    remember_mean(table, span)
    if not math.isfinite(kinetic):
        return NOT_CONVERGED
    return next_part(table, h)


# ------------------------------------------------------------------------------------------------------------ both ends


@inlined
def is_pushed(table):
    """Whether anything acts on bodies from outside."""
    s = moving_of(table)
    g = s.gravity
    return g[0] != 0.0 or g[1] != 0.0 or g[2] != 0.0 or s.counts[LOADS] > 0 or s.wrench.shape[0] > 0


@routine
def push(table):
    """Wrenches from outside into FORCE, poses being those in `work`."""
    if moving_of(table).counts[LOADS] > 0:
        world_poses_root_to_leaf(table)
    outside_wrenches(table)


@routine
def start_root_to_leaf(table, h):
    """Poses at q, and what the first of (5) is given: momenta carried, with half the impulses of forces on bodies."""
    s = moving_of(table)
    S = s.change_dof[:, S_0 : S_0 + 6]
    for i in range(s.tree.shape[0]):
        R, p, _, _ = body_motion(s.tree, s.body, s.screws, i, s.q, s.start_v, S)
        store9(s.change, i, R_0, R)
        store3(s.change, i, P_0, p)
        store9(s.work, i, R_, R)
        store3(s.work, i, P_, p)
        store6(s.change, i, GIVEN, load6(s.change, i, CARRIED_MOMENTUM))
    if is_pushed(table):
        push(table)
        for i in range(s.tree.shape[0]):
            store6(s.change, i, GIVEN, add6(load6(s.change, i, GIVEN), scale6(0.5 * h, load6(s.change, i, FORCE))))


@routine
def end_root_to_leaf(table, h):
    """(10): momenta of bodies at the end into MISSING, those of joints into IMPULSE.

    Returns the kinetic energy of the motion within the step, the work of all forces in its halves, and its size [J].
    """
    s = moving_of(table)
    S = s.change_dof[:, S_1 : S_1 + 6]
    pushed = is_pushed(table)
    kinetic = 0.0
    before = 0.0
    after = 0.0
    involved = 0.0
    for i in range(s.tree.shape[0]):
        turn, d, R0, joint, p1 = displace(s, i, S)
        momentum, energy = momentum_at_end(s.body, i, turn, d, h)
        store6(s.change, i, MISSING, momentum)
        kinetic += energy
        if pushed:
            store9(s.work, i, R_, end_rotation(R0, joint))
            store3(s.work, i, P_, p1)
            share = 0.5 * dot6(load6(s.change, i, FORCE), join(cayley_vector(turn), d))
            before += share
            involved += abs(share)
    if pushed:
        push(table)
        for i in range(s.tree.shape[0]):
            turn = load4(s.change, i, TURN)
            d = load3(s.change, i, P_D)
            d = add3(d, way_of(back(turn), d))
            share = 0.5 * dot6(load6(s.change, i, FORCE), join(cayley_vector(turn), d))
            after += share
            involved += abs(share)
            momentum = add6(load6(s.change, i, MISSING), scale6(0.5 * h, load6(s.change, i, FORCE)))
            store6(s.change, i, MISSING, momentum)
    for j in range(s.v.shape[0]):
        rotor = s.dof[j, ARMATURE] * s.u[j] / (h * h)
        kinetic += 0.5 * rotor * s.u[j]
        share = 0.5 * s.u[j] * (s.effort[j] + s.stages[IMPULSE, j] - 2.0 * rotor)
        before += share
        after += share
        involved += 2.0 * abs(share)
        s.stages[IMPULSE, j] = 0.5 * h * (s.effort[j] + s.stages[IMPULSE, j])
    return kinetic, before, after, involved


@routine
def carry_on(table):
    """What the next step begins with."""
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        store6(s.change, i, CARRIED_MOMENTUM, load6(s.change, i, MISSING))
    for j in range(s.v.shape[0]):
        s.stages[CARRIED, j] = s.stages[IMPULSE, j]


# ----------------------------------------------------------------------------------------------------------- velocities


@routine
def velocities(table, column, row, q):
    """v of the momenta in a column of `change` and a row of `stages`, at q: `aba` from rest; returns as that."""
    s = moving_of(table)
    s.counts[EVALUATIONS] += 1
    S = s.dof_work[:, S_D : S_D + 6]
    for i in range(s.tree.shape[0]):
        R, p, _, _ = body_motion(s.tree, s.body, s.screws, i, q, s.start_v, S)
        store9(s.work, i, R_, R)
        store3(s.work, i, P_, p)
        store6(s.work, i, BIAS, ZERO6)
        A, B, C = rigid_as_articulated(load10(s.body, i, INERTIA))
        store6(s.work, i, IA, A)
        store9(s.work, i, IB, B)
        store6(s.work, i, IC, C)
        store6(s.work, i, PA, scale6(-1.0, load6(s.change, i, column)))
        j = s.tree[i, V]
        for k in range(s.tree[i, DOF]):
            s.resistance[j + k, ARMATURE] = s.dof[j + k, ARMATURE]
            s.dof_work[j + k, EFFORT_D] = s.stages[row, j + k]
        if s.tree[i, KIND] == HELICAL:
            s.work[i, U_SMALL] = s.stages[row, j]
    bad, _ = inertias_leaf_to_root(s.tree, s.body, s.resistance, s.work, s.dof_work)
    if bad < 0:
        accelerations_root_to_leaf(s.tree, s.body, ZERO3, s.work, s.dof_work, s.v)
    return bad


@routine
def kinetic_energy(table, column, row, q):
    """½ v·p of the same [J], by `velocities`."""
    s = moving_of(table)
    velocities(table, column, row, q)
    energy = 0.0
    for i in range(s.tree.shape[0]):
        energy += 0.5 * dot6(load6(s.change, i, column), load6(s.work, i, ACCELERATION))  # from rest: its twist
    for j in range(s.v.shape[0]):
        energy += 0.5 * s.stages[row, j] * s.v[j]
    return energy


@inlined
def kinetic_energy_now(table, q):
    """That of the momenta that are carried on, at q, where they are [J]; found once."""
    s = moving_of(table)
    if s.numbers[KINETIC_NOW] < 0.0:
        s.numbers[KINETIC_NOW] = kinetic_energy(table, CARRIED_MOMENTUM, CARRIED, q)
    return s.numbers[KINETIC_NOW]


@routine
def count_energy(table):
    """Adds up what steps have made of energy; where that is no longer small, all speeds change by the same small part."""
    s = moving_of(table)
    kinetic = kinetic_energy_now(table, s.q)
    debt = s.numbers[ENERGY_DEBT] + kinetic - s.numbers[COUNTED_KINETIC] - s.numbers[WORK]
    part = part_given_back(table, debt, kinetic)
    if part != 0.0:
        scale = math.sqrt(1.0 - part)
        for i in range(s.tree.shape[0]):
            store6(s.change, i, CARRIED_MOMENTUM, scale6(scale, load6(s.change, i, CARRIED_MOMENTUM)))
        for j in range(s.v.shape[0]):
            s.stages[CARRIED, j] *= scale
        s.numbers[ENERGY_WITHIN] -= part * kinetic
    begin_count(table, kinetic - part * kinetic)


@inlined
def begin_count(table, kinetic):
    """What steps make of energy is counted from here on."""
    s = moving_of(table)
    s.numbers[COUNTED_KINETIC] = kinetic
    s.numbers[KINETIC_NOW] = kinetic
    s.numbers[WORK] = 0.0
    s.numbers[UNCOUNTED_STEPS] = 0.0
    s.numbers[UNCOUNTED_GAP] = 0.0


VARIATIONAL_TREE = Integrator(step_tree, note_efforts=note_efforts, begin_steps=begin_steps, end_steps=end_steps)
