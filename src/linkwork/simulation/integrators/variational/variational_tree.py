"""Variational steps of a tree, one after another without velocities in between.

`variational` asks for two evaluations per step: at its start for a guess, and at its end for the velocities. Neither is
needed to go on: the guess comes from the steps before (`history`), and the momenta with which a step ends are those with
which the next one begins,

    P = Λ(q, q⁺) + ½ h f(q⁺)  of bodies,     p = ½ h τ̄ + rotors  of joints                        (10)  docs/integrators.md

Velocities, M v⁺ = Jᵀ P + p, are found when they are needed: at the end of a call, and every so many steps for the
balance of energy. They change nothing in the steps that follow.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import P_, R_, S_D, TWIST
from linkwork.model.kernels.joint_kernels import body_motion
from linkwork.model.layout import ARMATURE, DOF, HELICAL, INERTIA, KIND, PARENT, V
from linkwork.simulation import moving as mv
from linkwork.simulation.integrators.chart import DONE, EVALUATE, integrate
from linkwork.simulation.integrators.variational import discrete_newton as newton
from linkwork.simulation.integrators.variational.discrete_body import momentum_at_end, momentum_at_start
from linkwork.simulation.integrators.variational.discrete_equations import (
    CARRIED,
    LARGEST_DEBT,
    LARGEST_GAP,
    PART_TOLERANCE,
    SOLVE_TOLERANCE,
    SUB_Q,
    external_wrenches,
    impulses_at_end,
    record_efforts,
    solve,
    sum_of_sizes,
    work_after,
    work_before,
)
from linkwork.simulation.integrators.variational.discrete_inertia import END_MOMENTUM, carry_what_is_left
from linkwork.simulation.integrators.variational.discrete_newton import displace
from linkwork.simulation.integrators.variational.history import (
    MEAN_V,
    REMEMBERED,
    begin_history,
    guess_from_history,
    is_beginning,
    remember_end,
    remember_mean,
    remembers,
)
from linkwork.simulation.integrators.variational.step_control import (
    SHORTEST,
    first_length,
    halve,
    is_cautious,
    lengthen,
    next_part,
)
from linkwork.simulation.integrators.variational.variational_energy import (
    begin_count,
    count_energy,
    kinetic_energy,
    kinetic_energy_now,
    velocities,
)
from linkwork.simulation.loading.accelerate import world_poses_root_to_leaf
from linkwork.simulation.moving import moving_of
from linkwork.simulation.stepping.integrator import Integrator
from linkwork.spatial.inertia import rigid_times_twist
from linkwork.spatial.memory import add_to6, load3, load6, load9, load10, store3, store6, store9
from linkwork.spatial.vectors import add6, dot6, scale6, sub6, twist_to_child

# What a step carries on and keeps, and the same when it began, to go back to should it fail: column of
# `variational_work`, row of `stages`, first row of mean velocities there, first of `numbers`.
NOW = (mv.CARRIED_MOMENTUM, CARRIED, MEAN_V, mv.ENERGY_DEBT)
BEFORE = (
    mv.CARRIED_MOMENTUM + 6,
    mv.HISTORY + mv.HISTORY_ROWS,
    mv.HISTORY + mv.HISTORY_ROWS + 1,
    mv.STEP_HISTORY_BEFORE,
)
NOT_FOUND = -1.0  # in the place of a kinetic energy
FAR_MORE = 30.0  # what corrections by M leave, over what was expected, after which K is eliminated
FORGETTING = 0.99
STEPS_PER_COUNT, STEPS_IN_PARTS_PER_COUNT = 8, 4  # steps from one count of the energy to the next


@routine
def begin_steps(table, h, n):
    """Before the first of some steps: momenta are those that the last step left, or follow from the velocities."""
    s = moving_of(table)
    s.counts[mv.POSES_READY] = 0  # wrenches may be others
    if remembers(table):
        return
    begin_history(table, h)
    S = s.dof_work[:, S_D : S_D + 6]
    kinetic = 0.0
    for i in range(s.tree.shape[0]):
        R, p, twist, _ = body_motion(s.tree, s.body, s.screws, i, s.q, s.v, S)
        if s.tree[i, PARENT] >= 0:
            twist = add6(twist_to_child(R, p, load6(s.work, s.tree[i, PARENT], TWIST)), twist)
        store6(s.work, i, TWIST, twist)
        momentum = rigid_times_twist(load10(s.body, i, INERTIA), twist)
        store6(s.variational_work, i, mv.CARRIED_MOMENTUM, momentum)
        kinetic += 0.5 * dot6(twist, momentum)
    for j in range(s.v.shape[0]):
        s.stages[CARRIED, j] = s.dof[j, ARMATURE] * s.v[j]
        kinetic += 0.5 * s.stages[CARRIED, j] * s.v[j]
    begin_count(table, kinetic)


@routine
def end_steps(table, status, made):
    """After the last of some steps, of which `made` succeeded: velocities, and mean accelerations in the last step."""
    s = moving_of(table)
    if status != mv.OK:
        copy_carried(table, True)
        if made == 0:
            return
    velocities(table, mv.CARRIED_MOMENTUM, CARRIED, s.q)
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
        store6(s.variational_work, i, to[0], load6(s.variational_work, i, source[0]))
    for j in range(s.v.shape[0]):
        s.stages[to[1], j] = s.stages[source[1], j]
    for row in range(REMEMBERED):
        for k in range(s.q.shape[0] + 1):  # rows are as long as the whole linkage needs
            s.stages[to[2] + row, k] = s.stages[source[2] + row, k]
    for k in range(mv.STEP_HISTORY_SIZE):
        s.numbers[to[3] + k] = s.numbers[source[3] + k]


@routine
def step_tree(table, h):
    """One step of h [s], in parts where it must be: DONE or a failure."""
    s = moving_of(table)
    copy_carried(table, False)
    s.numbers[mv.PASSED] = 0.0
    s.numbers[mv.SUBSTEP] = first_length(table, h)
    status = EVALUATE
    while status == EVALUATE:
        status = one_substep(table, h)
    if status == DONE:
        lengthen(table, h)
        s.numbers[mv.UNCOUNTED_STEPS] += 1.0
        in_parts = s.numbers[mv.SUBSTEP] < h
        is_due = s.numbers[mv.UNCOUNTED_STEPS] >= (STEPS_IN_PARTS_PER_COUNT if in_parts else STEPS_PER_COUNT)
        if is_due or abs(s.numbers[mv.UNCOUNTED_GAP]) > 0.5 * LARGEST_DEBT * s.numbers[mv.TOP_KINETIC]:
            count_energy(table)
    return status


@routine
def one_substep(table, h):
    s = moving_of(table)
    span = s.numbers[mv.SUBSTEP]
    is_first = is_beginning(table)
    is_alike = s.stages[MEAN_V, s.q.shape[0]] == span
    guess_from_history(table, span)
    for k in range(s.q.shape[0]):
        s.stages[SUB_Q, k] = s.q[k]
    start_root_to_leaf(table, span)
    integrate(s.tree, s.stages[SUB_Q], s.u, 1.0, s.q)
    tolerance = PART_TOLERANCE if span < h else SOLVE_TOLERANCE
    bad = solve(table, span, tolerance, is_met_by_inertia(table, tolerance))
    if bad != mv.OK:
        status = halve(table, h)
        return bad if bad >= 0 and is_first and status == mv.NOT_CONVERGED else status
    kinetic, before, after, involved, pushes, is_solved = end_of_motion(table, span)
    if not is_solved:
        if solve(table, span, tolerance, False) != mv.OK:
            return halve(table, h)
        kinetic, before, after, involved, pushes, _ = end_of_motion(table, span)
    gap = kinetic - before - s.numbers[mv.ENERGY_WITHIN]
    allowed = LARGEST_GAP * (span / h) * (2.0 * kinetic + involved) + span * s.numbers[mv.ALLOWED] * pushes
    # Energies within two steps compare badly where their lengths differ, and miss losses where joints turn by more than a
    # radian: in steps that are made in parts, or were a short time ago. There those at the ends count.
    at_end = NOT_FOUND
    if not is_alike or is_cautious(table, h) or not abs(gap) <= allowed:
        at_start = kinetic_energy_now(table, s.stages[SUB_Q])
        at_end = kinetic_energy(table, END_MOMENTUM, mv.IMPULSE, s.q)
        gap = at_end - at_start - before - after
    s.numbers[mv.ENERGY_GAP] = gap
    if not abs(gap) <= allowed and span > h * SHORTEST:
        return halve(table, h)
    s.numbers[mv.KINETIC_NOW] = at_end
    s.numbers[mv.ENERGY_WITHIN] = kinetic + after
    s.numbers[mv.WORK] += before + after
    s.numbers[mv.TOP_KINETIC] = max(s.numbers[mv.TOP_KINETIC], kinetic)
    s.numbers[mv.UNCOUNTED_GAP] += gap
    carry_on(table)
    remember_mean(table, span)
    if not math.isfinite(kinetic):
        return mv.NOT_CONVERGED
    s.counts[mv.POSES_READY] = 1
    return next_part(table, h)


@inlined
def is_met_by_inertia(table, tolerance):
    """Whether a few corrections by M are expected to do, with the displacements guessed in u, as well as the last ones."""
    s = moving_of(table)
    size = 0.0
    for k in range(s.v.shape[0]):
        size = max(size, abs(s.u[k]))
    ratio = s.numbers[mv.CONTRACTION] * size
    is_so = ratio * ratio * ratio * s.numbers[mv.FIRST_CHANGE] <= tolerance * size
    if not is_so:
        s.numbers[mv.CONTRACTION] *= FORGETTING  # so that they are tried again
    return is_so


@inlined
def end_of_motion(table, h):
    """`end_root_to_leaf`, with what is left carried on; and whether that is as little as corrections by M should leave."""
    s = moving_of(table)
    impulses_at_end(table, h)
    kinetic, before, after, involved, pushes = end_root_to_leaf(table, h)
    by_inertia = s.counts[mv.BY_INERTIA] != 0
    far = carry_what_is_left(table, h, by_inertia)
    is_solved = True
    if by_inertia and far > FAR_MORE * h * s.numbers[mv.ALLOWED]:
        size = 0.0
        for k in range(s.v.shape[0]):
            size = max(size, abs(s.u[k]))
        s.numbers[mv.CONTRACTION] = max(s.numbers[mv.CONTRACTION], far / (s.numbers[mv.LAST_CHANGE] * size))
        is_solved = False
    return kinetic, before, after, involved, pushes, is_solved


# ------------------------------------------------------------------------------------------------------------ both ends


@inlined
def is_pushed(table):
    """Whether anything acts on bodies from outside."""
    s = moving_of(table)
    g = s.gravity
    return g[0] != 0.0 or g[1] != 0.0 or g[2] != 0.0 or s.counts[mv.LOADS] > 0 or s.wrench.shape[0] > 0


@routine
def push(table):
    """Wrenches from outside into FORCE, poses being those in `work`."""
    if moving_of(table).counts[mv.LOADS] > 0:
        world_poses_root_to_leaf(table)
    external_wrenches(table)


@routine
def start_root_to_leaf(table, h):
    """Poses at q, and what the first of (5) is given: momenta carried, with half the impulses of forces on bodies.

    After another substep poses in `work` and wrenches are those of its end.
    """
    s = moving_of(table)
    if s.counts[mv.POSES_READY] == 0:
        find_poses(table)
        if is_pushed(table):
            push(table)
    s.counts[mv.POSES_READY] = 0
    pushed = is_pushed(table)
    for i in range(s.tree.shape[0]):
        store9(s.variational_work, i, newton.R_0, load9(s.work, i, R_))
        store3(s.variational_work, i, newton.P_0, load3(s.work, i, P_))
        given = load6(s.variational_work, i, mv.CARRIED_MOMENTUM)
        if pushed:
            given = add6(given, scale6(0.5 * h, load6(s.variational_work, i, newton.FORCE)))
        store6(s.variational_work, i, newton.GIVEN, given)
        if s.tree[i, KIND] != HELICAL:
            for j in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
                store6(s.variational_dof_work, j, newton.S_0, load6(s.dof_work, j, S_D))


@routine
def find_poses(table):
    """Poses of bodies in their parents at q, and motion subspaces, into `work` and `dof_work`."""
    s = moving_of(table)
    S = s.dof_work[:, S_D : S_D + 6]
    for i in range(s.tree.shape[0]):
        R, p, _, _ = body_motion(s.tree, s.body, s.screws, i, s.q, s.start_v, S)
        store9(s.work, i, R_, R)
        store3(s.work, i, P_, p)


@routine
def end_root_to_leaf(table, h):
    """(10): momenta of bodies at the end into END_MOMENTUM, of joints into IMPULSE; what (5) misses; poses at the end.

    Returns the kinetic energy of the motion within the step, the work of all forces in its halves, and its size [J]; and
    the sum of the forces [N or N·m], whose work is known no better than the displacements are.
    """
    s = moving_of(table)
    S = s.variational_dof_work[:, newton.S_1 : newton.S_1 + 6]
    at_end = s.dof_work[:, S_D : S_D + 6]
    pushed = is_pushed(table)
    kinetic = 0.0
    before = 0.0
    after = 0.0
    involved = 0.0
    pushes = 0.0
    for i in range(s.tree.shape[0]):
        turn, d, _, _, _ = displace(s, i, S)
        given = momentum_at_start(s.body, i, turn, d, h)
        momentum, energy = momentum_at_end(s.body, i, turn, d, h)
        store6(s.variational_work, i, newton.MISSING, sub6(load6(s.variational_work, i, newton.GIVEN), given))
        store6(s.variational_work, i, END_MOMENTUM, momentum)
        kinetic += energy
        R, p, _, _ = body_motion(s.tree, s.body, s.screws, i, s.q, s.start_v, at_end)
        store9(s.work, i, R_, R)
        store3(s.work, i, P_, p)
        if pushed:
            share = work_before(s, i, turn, d)
            before += share
            involved += abs(share)
    if pushed:
        push(table)
        for i in range(s.tree.shape[0]):
            share = work_after(s, i)
            after += share
            involved += abs(share)
            force6 = load6(s.variational_work, i, newton.FORCE)
            pushes += sum_of_sizes(force6)
            add_to6(s.variational_work, i, END_MOMENTUM, scale6(0.5 * h, force6))
    for j in range(s.v.shape[0]):
        rotor = s.dof[j, ARMATURE] * s.v[j]
        force = s.effort[j] + s.joint_effort[j]  # rotors, and what acts at the middle of the step
        kinetic += 0.5 * rotor * s.v[j]
        share = 0.5 * s.u[j] * force
        before += share
        after += share
        involved += 2.0 * abs(share)
        pushes += abs(force)
        s.stages[mv.IMPULSE, j] = 0.5 * h * force + rotor
        s.joint_effort[j] = s.stages[CARRIED, j] - rotor + 0.5 * h * force  # what joints miss, as in the first of (5)
    return kinetic, before, after, involved, pushes


@routine
def carry_on(table):
    """What the next step begins with."""
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        store6(s.variational_work, i, mv.CARRIED_MOMENTUM, load6(s.variational_work, i, END_MOMENTUM))
    for j in range(s.v.shape[0]):
        s.stages[CARRIED, j] = s.stages[mv.IMPULSE, j]


VARIATIONAL_TREE = Integrator(step_tree, record_efforts=record_efforts, begin_steps=begin_steps, end_steps=end_steps)
