"""From the contacts, near limits and loops of a step to the solver's problem, and from its answer to the end of the step.

    v_free = v + h q̈        Λ by answers        v⁺ = v_free + M⁻¹Jᵀ λ        q⁺ = q ⊕ h (v⁺ + M⁻¹Jᵀ λ_push)

The velocity of a free joint is in axes that turn with its body. Contact is solved in the axes of the start of the step, so
the turning is taken out before and put back after it. Theory: docs/theory/contact.md.
"""

import math

from linkwork.contact.contact_list import COUNT, DIRECTED, ISOTROPIC, POINT
from linkwork.contact.solver.problem import (
    CONVERGED,
    ENERGY,
    LIMIT_GAP,
    LIMIT_RESTITUTION,
    PENETRATION,
    RESIDUAL,
    SIGN,
    SWEEPS,
)
from linkwork.contact.solver.rows import aim_friction
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import TWIST
from linkwork.model.layout import COMPOUND, DOF, HELICAL, KIND, PARENT, Q, V
from linkwork.simulation.constrained.constraints import constraints_of
from linkwork.simulation.integrators.straight import go_straight, speed_up
from linkwork.simulation.loading.accelerate import move_placed
from linkwork.simulation.momentum.momentum import add_efforts_of_bases, aim_centres
from linkwork.simulation.moving import CONTACTS_GROW, KEEPS_MOMENTUM, OK, moving_of
from linkwork.simulation.touching.answers import answer, answer_matrix, to_world, unmark_paths
from linkwork.simulation.touching.arrays import (
    ALL_ENERGY_LOST,
    ALL_SWEEPS,
    ANY_LIMITS,
    BY_BOTH,
    BY_MATRIX,
    BY_SWEEPS,
    BY_TREE,
    COUPLED,
    DEEPEST,
    ENERGY_LOST,
    FEWEST_BY_SWEEPS,
    FIRST_MARK,
    IMPULSES,
    LAW,
    LIMIT_BOUNCE,
    LIMITS,
    MARGIN,
    NEEDED_LIMITS,
    NEEDED_SLOTS,
    NOT_CONVERGED,
    PUSH,
    SLOT_CAPACITY,
    SLOTS,
    WORST_RESIDUAL,
    contacts_of,
    problem_of,
    size_problem,
    system_of,
    touch_of,
)
from linkwork.simulation.touching.balance import note_push
from linkwork.simulation.touching.calling import solve_contacts
from linkwork.simulation.touching.judging import judge_impulses
from linkwork.spatial.memory import add_to6, load3, load6, load9, store3, store6
from linkwork.spatial.rotations import add3, cross3, dot3, scale3, sub3
from linkwork.spatial.vectors import join

PUSHED_TURN = 0.1  # [rad] by which a body may turn in a step to take back penetration
BODIES_PER_CONTACT = 6  # at most, for sweeps over all bodies to take less time than a matrix of responses
MOST_BY_MATRIX = 1000  # rows of a problem whose matrix is made where sweeps do not converge
NEAR = 1e-3  # [rad or m] distance to a limit from which on it is part of the problem, beside what a step may travel


# ------------------------------------------------------------------------------------------------------- before the solve


@routine
def free_motion(table, h):
    """v ← v_free, as seen from the axes at the start of the step; world poses, and twists with it, follow."""
    s = moving_of(table)
    t = touch_of(table)
    for i in range(s.tree.shape[0]):
        store6(t.before, i, 0, load6(s.work, i, TWIST))
    speed_up(s, h)
    for i in range(s.tree.shape[0]):
        twist = move_placed(s, i)  # before its rotation is read
        store6(t.twists, i, 0, to_world(load9(s.world, i, 0), twist))


@routine
def near_limits(table, h):
    """Lists the coordinates that could reach a limit in this step; returns how many, more than there is room for if so."""
    s = moving_of(table)
    t = touch_of(table)
    count = 0
    if t.counts[ANY_LIMITS] == 0:
        return 0
    for i in range(s.tree.shape[0]):
        kind = s.tree[i, KIND]
        if kind != HELICAL and kind != COMPOUND:
            continue
        for d in range(s.tree[i, DOF]):
            j = s.tree[i, V] + d
            q = s.q[s.tree[i, Q] + d]
            for side in range(2):
                gap = q - t.lower[t.whole[j]] if side == 0 else t.upper[t.whole[j]] - q
                speed = s.v[j] if side == 0 else -s.v[j]
                if gap + min(0.0, 2.0 * h * speed) < NEAR:
                    if count < t.bound.shape[0]:
                        t.bound[count, 0], t.bound[count, 1], t.bound[count, 2] = i, j, side
                    count += 1
                else:
                    t.held[t.whole[j], side] = 0.0
    return count


@inlined
def touch_body(t, mark, tree, body):
    """Notes a touched body; the paths of touched bodies to the world are marked, and where two meet is touched as well."""
    if body < 0:
        return
    t.slot_of[body] = 0
    if mark[body] != 0:
        return
    mark[body] = 1
    i = tree[body, PARENT]
    while i >= 0 and mark[i] == 0:
        mark[i] = 1
        i = tree[i, PARENT]
    if i >= 0:
        t.slot_of[i] = 0


@routine
def number_touched(table, count, limits):
    """Numbers the touched bodies, parents first; returns how many. A body beyond the capacity is only counted.

    Bodies on joints at their limits, and their parents, count as touched. Leaves in `mark` of the bodies between touched
    ones and the world FIRST_MARK + the number of the next touched one at or above, FIRST_MARK - 1 where there is none.
    """
    s = moving_of(table)
    t = touch_of(table)
    x = constraints_of(table)
    for c in range(count):
        for side in range(2):
            touch_body(t, x.mark, s.tree, t.carrier[c, side])
    for k in range(x.ends.shape[0]):
        for side in range(2):
            touch_body(t, x.mark, s.tree, x.ends[k, side])
    for k in range(min(limits, t.bound.shape[0])):
        touch_body(t, x.mark, s.tree, t.bound[k, 0])
        touch_body(t, x.mark, s.tree, s.tree[t.bound[k, 0], PARENT])
    slots = 0
    for i in range(s.tree.shape[0]):
        if x.mark[i] == 0:
            continue
        if t.slot_of[i] >= 0:
            t.slot_of[i] = slots
            if slots < t.counts[SLOT_CAPACITY]:
                t.reached[slots] = i
            x.mark[i] = FIRST_MARK + slots
            slots += 1
        else:
            parent = s.tree[i, PARENT]
            x.mark[i] = x.mark[parent] if parent >= 0 else FIRST_MARK - 1
    return slots


@routine
def forget_slots(table, slots):
    """Empties `slot_of` again."""
    t = touch_of(table)
    for k in range(slots):
        t.slot_of[t.reached[k]] = -1


@routine
def forget_all_slots(table):
    """The same where there were more touched bodies than `reached` has room for; paths are unmarked too."""
    t = touch_of(table)
    x = constraints_of(table)
    for i in range(moving_of(table).tree.shape[0]):
        t.slot_of[i] = -1
        x.mark[i] = 0


@routine
def pose_problem(table, count, limits):
    """Fills the problem of `count` contacts (their carriers are known) and the near limits; OK or CONTACTS_GROW."""
    s = moving_of(table)
    t = touch_of(table)
    x = constraints_of(table)
    slots = number_touched(table, count, limits)
    t.counts[NEEDED_SLOTS], t.counts[NEEDED_LIMITS] = slots, limits
    if slots > t.counts[SLOT_CAPACITY] or limits > t.bound.shape[0]:
        forget_all_slots(table)
        return CONTACTS_GROW
    t.counts[SLOTS], t.counts[LIMITS] = slots, limits
    size_problem(table, slots, count, limits, x.row.shape[0])
    problem = problem_of(table)
    for k in range(limits):
        t.reached[slots + k] = t.bound[k, 0]
    for m in range(slots):
        i = t.reached[m]
        store3(problem.origin, m, 0, load3(s.world, i, 9))
        before = to_world(load9(s.world, i, 0), load6(t.before, i, 0))
        for e in range(6):
            problem.v_free[6 * m + e] = t.twists[i, e]
            problem.v_before[6 * m + e] = before[e]
    data = contacts_of(table).data
    for c in range(count):
        for side in range(2):
            body = t.carrier[c, side]
            problem.slot[c, side] = t.slot_of[body] if body >= 0 else -1
        if data[c, DIRECTED] != ISOTROPIC:
            aim_friction(data, c, sliding_of(s, t, data, c))
    pose_limits(s, t, problem, slots, limits)
    pose_loops(s, t, x, problem)
    forget_slots(table, slots)
    t.counts[BY_SWEEPS] = BY_TREE if is_for_sweeps(s, t, x, count, limits) else BY_MATRIX
    if t.counts[BY_SWEEPS] != BY_MATRIX:
        unmark_paths(table)
    else:
        answer_matrix(table, limits, problem.Lambda)
    return OK


@inlined
def sliding_of(s, t, data, c):
    """Velocity of a against b at a contact, as forces alone would give it."""
    v = (0.0, 0.0, 0.0)
    for side in range(2):
        i = t.carrier[c, side]
        if i >= 0:
            arm = sub3(load3(data, c, POINT), load3(s.world, i, 9))
            one = add3(load3(t.twists, i, 3), cross3(load3(t.twists, i, 0), arm))
            v = add3(v, one if side == 0 else scale3(-1.0, one))
    return v


@inlined
def is_for_sweeps(s, t, x, count, limits):
    """Whether the solve is made by sweeps over the tree: where contacts, limits and loops are many for its size. Couplings
    of joints are known to the matrix only. A threshold of one asks for sweeps wherever they can be made."""
    fewest, many = t.counts[FEWEST_BY_SWEEPS], count + limits + x.row.shape[0] // 3
    if t.counts[LAW] != COUPLED or many < fewest or x.offset.shape[0] > 0:
        return False
    return fewest <= 1 or BODIES_PER_CONTACT * many >= s.tree.shape[0]


@inlined
def pose_limits(s, t, problem, slots, limits):
    for k in range(limits):
        i, j, side = t.bound[k, 0], t.bound[k, 1], t.bound[k, 2]
        q = s.q[s.tree[i, Q] + j - s.tree[i, V]]
        problem.limit_at[k] = 6 * slots + k
        problem.limit[k, SIGN] = 1.0 if side == 0 else -1.0
        problem.limit[k, LIMIT_GAP] = q - t.lower[t.whole[j]] if side == 0 else t.upper[t.whole[j]] - q
        problem.limit[k, LIMIT_RESTITUTION] = t.settings[LIMIT_BOUNCE]
        problem.limit_impulse[k] = t.held[t.whole[j], side]
        problem.v_free[6 * slots + k] = s.v[j]
        problem.v_before[6 * slots + k] = s.start_v[j]


@inlined
def pose_loops(s, t, x, problem):
    """Loops keep the velocities that the closed linkage would have without contact."""
    for k in range(x.ends.shape[0]):
        for r in range(x.first_row[k], x.first_row[k + 1]):
            problem.loop_rate[r] = 0.0
            for side in range(2):
                i = x.ends[k, side]
                problem.loop_slot[r, side] = t.slot_of[i] if i >= 0 else -1
                if i >= 0:
                    row = to_world(load9(s.world, i, 0), load6(x.row, r, 6 * side))
                    store6(problem.loop_row, r, 6 * side, row)
                    for e in range(6):
                        problem.loop_rate[r] += row[e] * t.twists[i, e]


# -------------------------------------------------------------------------------------------------------- after the solve


@routine
def find_impulses(table, h, limits):
    """Solves the problem: velocities after it into `v`, accelerations that lead there into `qdd`; OK or CONTACT_UNSOLVED.

    Where sweeps over the tree do not converge, the matrix of responses is made too: contacts one by one need it. An answer
    that is none is sought once more, from nothing.
    """
    s = moving_of(table)
    t = touch_of(table)
    x = constraints_of(table)
    problem = problem_of(table)
    status = solve_and_judge(table, h, limits)
    if status == OK and is_for_matrix(table, limits):
        made = system_of(table).report[SWEEPS]
        answer_by_matrix(table, limits)
        status = solve_and_judge(table, h, limits)
        system_of(table).report[SWEEPS] += made
    if status != OK:
        forget_impulses(contacts_of(table), problem)
        status = solve_and_judge(table, h, limits)
    if status != OK:
        forget_impulses(contacts_of(table), problem)
        return status
    for k in range(s.v.shape[0]):
        s.v[k] += x.change[k]
        s.qdd[k] += x.change[k] / h  # what joint forces that are taken at the end of the step followed
    for k in range(limits):
        t.held[t.whole[t.bound[k, 1]], t.bound[k, 2]] = problem.limit_impulse[k]
    return OK


@inlined
def is_for_matrix(table, limits):
    """Whether a solve over the tree did not converge, and the matrix is not too large."""
    t = touch_of(table)
    rows = 3 * contacts_of(table).number[COUNT] + limits
    return t.counts[BY_SWEEPS] == BY_TREE and rows <= MOST_BY_MATRIX and system_of(table).report[CONVERGED] == 0.0


@routine
def answer_by_matrix(table, limits):
    """Λ of a problem that was posed for sweeps, which go on."""
    t = touch_of(table)
    forget_slots(table, number_touched(table, contacts_of(table).number[COUNT], limits))
    t.counts[BY_SWEEPS] = BY_BOTH
    answer_matrix(table, limits, problem_of(table).Lambda)


@routine
def solve_and_judge(table, h, limits):
    """Impulses by the law in use, and what the linkage does under them into `change`; OK or CONTACT_UNSOLVED."""
    solve_contacts(table, h, limits, IMPULSES)
    answer(table, limits, problem_of(table).impulse, constraints_of(table).change)
    return judge_impulses(table, limits)


@inlined
def forget_impulses(contacts, problem):
    """The next solve begins from nothing."""
    for c in range(contacts.number[COUNT]):
        store3(contacts.impulse, c, 0, (0.0, 0.0, 0.0))
    for k in range(problem.limit_impulse.shape[0]):
        problem.limit_impulse[k] = 0.0
    for k in range(problem.loop_impulse.shape[0]):
        problem.loop_impulse[k] = 0.0


@routine
def move_on(table, h, limits):
    """After the solve: coordinates, what is kept of momentum, and the numbers of the report."""
    s = moving_of(table)
    t = touch_of(table)
    x = constraints_of(table)
    problem = problem_of(table)
    solve_contacts(table, h, limits, PUSH)
    deepest = system_of(table).report[PENETRATION]
    for k in range(s.v.shape[0]):
        s.u[k] = s.v[k]
    if is_pushing(problem.push):
        answer(table, limits, problem.push, x.change)
        share = shorten_push(s, x.answer, problem, deepest, h)
        for k in range(s.v.shape[0]):
            s.u[k] += share * x.change[k]
        note_push(s, t, x.answer, share * h, deepest <= t.settings[MARGIN])
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
    t = touch_of(table)
    problem = problem_of(table)
    for r in range(t.counts[SLOTS]):
        tree = s.tree_of[t.reached[r]]
        if tree >= 0:
            f = (problem.impulse[6 * r + 3], problem.impulse[6 * r + 4], problem.impulse[6 * r + 5])
            n = (problem.impulse[6 * r], problem.impulse[6 * r + 1], problem.impulse[6 * r + 2])
            add_to6(s.kept, tree, 0, join(add3(n, cross3(load3(problem.origin, r, 0), f)), f))
    add_efforts_of_bases(table, h)
    aim_centres(table, h)
    for r in range(t.counts[SLOTS]):
        tree = s.tree_of[t.reached[r]]
        if tree >= 0 and s.base[tree] >= 0:
            f = (problem.push[6 * r + 3], problem.push[6 * r + 4], problem.push[6 * r + 5])
            moved = scale3(h / s.composite[s.base[tree], 0], f)
            store3(s.centre, tree, 0, add3(load3(s.centre, tree, 0), moved))
            n = cross3(moved, load3(s.kept, tree, 3))
            add_to6(s.kept, tree, 0, join(n, (0.0, 0.0, 0.0)))


@inlined
def note_report(t, report):
    totals = t.totals
    totals[WORST_RESIDUAL] = max(totals[WORST_RESIDUAL], report[RESIDUAL])
    totals[ALL_SWEEPS] += report[SWEEPS]
    totals[DEEPEST] = max(totals[DEEPEST], report[PENETRATION])
    totals[ENERGY_LOST] -= report[ENERGY]
    totals[ALL_ENERGY_LOST] -= report[ENERGY]
    totals[NOT_CONVERGED] += 1.0 - report[CONVERGED]
