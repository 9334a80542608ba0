"""From the solver's impulses to the end of a step.

v⁺ = v_free + M⁻¹Jᵀ λ        q⁺ = q ⊕ h (v⁺ + M⁻¹Jᵀ λ_push)
"""

import math

from linkwork.contact.contact_list import COUNT
from linkwork.contact.solver.problem import (
    CONVERGED,
    ENERGY,
    LIMIT_GAP,
    PENETRATION,
    RESIDUAL,
    SWEEPS,
)
from linkwork.core.jit import inlined, routine
from linkwork.simulation.constrained.constraints import constraints_of
from linkwork.simulation.contact_step import arrays as ca
from linkwork.simulation.contact_step.arrays import contact_arrays_of, contacts_of, problem_of, system_of
from linkwork.simulation.contact_step.balance import note_push
from linkwork.simulation.contact_step.calling import solve_contacts
from linkwork.simulation.contact_step.checking import check_impulses
from linkwork.simulation.contact_step.problem import clear_body_numbers, number_contact_bodies
from linkwork.simulation.contact_step.responses import apply_impulses, response_matrix
from linkwork.simulation.integrators.euler import go_straight
from linkwork.simulation.momentum.momentum import add_efforts_of_bases, aim_centres
from linkwork.simulation.moving import KEEPS_MOMENTUM, OK, moving_of
from linkwork.spatial.memory import add_to6, load3, store3
from linkwork.spatial.rotations import add3, cross3, dot3, scale3
from linkwork.spatial.vectors import join

PUSHED_TURN = 0.1  # [rad] by which a body may turn in a step to take back penetration
MOST_BY_MATRIX = 1000  # rows of a problem whose matrix is made where sweeps do not converge


@routine
def find_impulses(table, h, limits):
    """Solves the problem: velocities after it into `v`, accelerations that lead there into `qdd`; OK or CONTACT_UNSOLVED.

    Where sweeps over the tree do not converge, the matrix of responses is made too: contacts one by one need it. Impulses
    that fail their check are sought once more, from nothing.
    """
    s = moving_of(table)
    t = contact_arrays_of(table)
    x = constraints_of(table)
    problem = problem_of(table)
    status = solve_and_check(table, h, limits)
    if status == OK and is_for_matrix(table, limits):
        made = system_of(table).report[SWEEPS]
        make_response_matrix(table, limits)
        status = solve_and_check(table, h, limits)
        system_of(table).report[SWEEPS] += made
    if status != OK:
        clear_impulses(contacts_of(table), problem)
        status = solve_and_check(table, h, limits)
    if status != OK:
        clear_impulses(contacts_of(table), problem)
        return status
    for k in range(s.v.shape[0]):
        s.v[k] += x.change[k]
        s.qdd[k] += x.change[k] / h  # what joint forces that are taken at the end of the step followed
    for k in range(limits):
        t.limit_impulse[t.model_dof[t.bound[k, 1]], t.bound[k, 2]] = problem.limit_impulse[k]
    return OK


@inlined
def is_for_matrix(table, limits):
    """Whether a solve over the tree did not converge, and the matrix is not too large."""
    t = contact_arrays_of(table)
    rows = 3 * contacts_of(table).number[COUNT] + limits
    return t.counts[ca.BY_SWEEPS] == ca.BY_TREE and rows <= MOST_BY_MATRIX and system_of(table).report[CONVERGED] == 0.0


@routine
def make_response_matrix(table, limits):
    """Λ of a problem that was posed for sweeps, which go on."""
    t = contact_arrays_of(table)
    clear_body_numbers(table, number_contact_bodies(table, contacts_of(table).number[COUNT], limits))
    t.counts[ca.BY_SWEEPS] = ca.BY_BOTH
    response_matrix(table, limits, problem_of(table).Lambda)


@routine
def solve_and_check(table, h, limits):
    """Impulses by the law in use, and what the linkage does under them into `change`; OK or CONTACT_UNSOLVED."""
    solve_contacts(table, h, limits, ca.IMPULSES)
    apply_impulses(table, limits, problem_of(table).impulse, constraints_of(table).change)
    return check_impulses(table, limits)


@inlined
def clear_impulses(contacts, problem):
    """The next solve begins from nothing."""
    for c in range(contacts.number[COUNT]):
        store3(contacts.impulse, c, 0, (0.0, 0.0, 0.0))
    for k in range(problem.limit_impulse.shape[0]):
        problem.limit_impulse[k] = 0.0
    for k in range(problem.loop_impulse.shape[0]):
        problem.loop_impulse[k] = 0.0


@routine
def integrate_positions(table, h, limits):
    """After the solve: coordinates, what is kept of momentum, and the numbers of the report."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    x = constraints_of(table)
    problem = problem_of(table)
    solve_contacts(table, h, limits, ca.PUSH)
    deepest = system_of(table).report[PENETRATION]
    for k in range(s.v.shape[0]):
        s.u[k] = s.v[k]
    if is_pushing(problem.push):
        apply_impulses(table, limits, problem.push, x.change)
        share = shorten_push(s, x.response, problem, deepest, h)
        for k in range(s.v.shape[0]):
            s.u[k] += share * x.change[k]
        note_push(s, t, x.response, share * h, deepest <= t.settings[ca.MARGIN])
    note_momentum(table, h)
    go_straight(s, s.u, h)
    note_report(t, system_of(table).report)


@inlined
def is_pushing(push):
    pushing = False
    for k in range(push.shape[0]):
        pushing = pushing or push[k] != 0.0
    return pushing


@routine
def shorten_push(s, moved, problem, deepest, h):
    """Shortens pseudo impulses that would move bodies farther than they are to be pushed apart; returns the share left.

    Bodies whose joints let them part only by a long way round would jump there. moved: (n, 6) velocities by the push.
    """
    for k in range(problem.limit_at.shape[0]):
        deepest = max(deepest, -problem.limit[k, LIMIT_GAP])
    way, turn = 0.0, 0.0
    for i in range(s.tree.shape[0]):
        w, v = load3(moved, i, 0), load3(moved, i, 3)
        way, turn = max(way, dot3(v, v)), max(turn, dot3(w, w))
    share = 1.0
    if h * math.sqrt(way) > deepest:
        share = deepest / (h * math.sqrt(way))
    if share * h * math.sqrt(turn) > PUSHED_TURN:
        share = PUSHED_TURN / (h * math.sqrt(turn))
    if share < 1.0:
        for k in range(problem.push.shape[0]):
            problem.push[k] *= share
    return share


@inlined
def note_momentum(table, h):
    """Impulses change the momentum that floating trees are to have.

    To correct coordinates takes no impulse, but moves the centre of mass by h Σf / m past the world's origin: the momentum
    about that point changes with it. What a tree does to itself, by limits or by touching itself, moves no centre of mass.
    """
    s = moving_of(table)
    if s.counts[KEEPS_MOMENTUM] == 0:
        return
    t = contact_arrays_of(table)
    problem = problem_of(table)
    for r in range(t.counts[ca.CONTACT_BODIES]):
        tree = s.tree_of[t.contact_bodies[r]]
        if tree >= 0:
            f = (problem.impulse[6 * r + 3], problem.impulse[6 * r + 4], problem.impulse[6 * r + 5])
            n = (problem.impulse[6 * r], problem.impulse[6 * r + 1], problem.impulse[6 * r + 2])
            add_to6(s.target_momentum, tree, 0, join(add3(n, cross3(load3(problem.origin, r, 0), f)), f))
    add_efforts_of_bases(table, h)
    aim_centres(table, h)
    for r in range(t.counts[ca.CONTACT_BODIES]):
        tree = s.tree_of[t.contact_bodies[r]]
        if tree >= 0 and s.base[tree] >= 0:
            f = (problem.push[6 * r + 3], problem.push[6 * r + 4], problem.push[6 * r + 5])
            moved = scale3(h / s.composite[s.base[tree], 0], f)
            store3(s.centre, tree, 0, add3(load3(s.centre, tree, 0), moved))
            n = cross3(moved, load3(s.target_momentum, tree, 3))
            add_to6(s.target_momentum, tree, 0, join(n, (0.0, 0.0, 0.0)))


@inlined
def note_report(t, report):
    totals = t.totals
    totals[ca.WORST_RESIDUAL] = max(totals[ca.WORST_RESIDUAL], report[RESIDUAL])
    totals[ca.ALL_SWEEPS] += report[SWEEPS]
    totals[ca.DEEPEST] = max(totals[ca.DEEPEST], report[PENETRATION])
    totals[ca.ENERGY_LOST] -= report[ENERGY]
    totals[ca.ALL_ENERGY_LOST] -= report[ENERGY]
    totals[ca.NOT_CONVERGED] += 1.0 - report[CONVERGED]
