"""From the contacts, near limits and loops of a step to the solver's problem: v_free = v + h q̈, Λ by `responses`.

The velocity of a free joint is in axes that turn with its body. Contact is solved in the axes of the start of the step, so
the turning is taken out before and put back after it (`impulses`). Theory: docs/theory/contact.md.
"""

from linkwork.contact.contact_list import DIRECTED, ISOTROPIC, POINT
from linkwork.contact.solver.problem import (
    LIMIT_GAP,
    LIMIT_RESTITUTION,
    SIGN,
)
from linkwork.contact.solver.rows import aim_friction
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import TWIST
from linkwork.model.layout import COMPOUND, DOF, HELICAL, KIND, PARENT, Q, V
from linkwork.simulation.constrained.constraints import constraints_of
from linkwork.simulation.contact_step import arrays as ca
from linkwork.simulation.contact_step.arrays import contact_arrays_of, contacts_of, problem_of, size_problem
from linkwork.simulation.contact_step.responses import response_matrix, switch_responses, unmark_paths
from linkwork.simulation.integrators.euler import speed_up
from linkwork.simulation.loading.accelerate import move_placed
from linkwork.simulation.moving import CONTACTS_GROW, OK, moving_of
from linkwork.spatial.memory import load3, load6, load9, store3, store6
from linkwork.spatial.rotations import add3, cross3, scale3, sub3
from linkwork.spatial.vectors import to_world

# For sweeps over all bodies to take less time than a matrix of responses, made and eliminated:
BODIES_PER_CONTACT = 6  # at most
CUBE_PER_BODY = 300  # cube of the contacts, at least
NEAR = 1e-3  # [rad or m] distance to a limit from which on it is part of the problem, beside what a step may travel


@routine
def free_motion(table, h):
    """v ← v_free, as seen from the axes at the start of the step; world poses, and twists with it, follow."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    for i in range(s.tree.shape[0]):
        store6(t.before, i, 0, load6(s.work, i, TWIST))
    t.switches[0] = 0
    speed_up(s, h)
    for i in range(s.tree.shape[0]):
        twist = move_placed(s, i)  # before its rotation is read
        store6(t.twists, i, 0, to_world(load9(s.world, i, 0), twist))


@routine
def near_limits(table, h):
    """Lists the coordinates that could reach a limit in this step; returns how many, more than there is room for if so."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    count = 0
    if t.counts[ca.ANY_LIMITS] == 0:
        return 0
    for i in range(s.tree.shape[0]):
        kind = s.tree[i, KIND]
        if kind != HELICAL and kind != COMPOUND:
            continue
        for d in range(s.tree[i, DOF]):
            j = s.tree[i, V] + d
            q = s.q[s.tree[i, Q] + d]
            for side in range(2):
                gap = q - t.lower[t.model_dof[j]] if side == 0 else t.upper[t.model_dof[j]] - q
                speed = s.v[j] if side == 0 else -s.v[j]
                if gap + min(0.0, 2.0 * h * speed) < NEAR:
                    if count < t.bound.shape[0]:
                        t.bound[count, 0], t.bound[count, 1], t.bound[count, 2] = i, j, side
                    count += 1
                else:
                    t.limit_impulse[t.model_dof[j], side] = 0.0
    return count


@inlined
def mark_contact_body(t, mark, tree, body):
    """Marks a contact body and its path to the world; where two paths meet is a contact body as well."""
    if body < 0:
        return
    t.contact_body_number[body] = 0
    if mark[body] != 0:
        return
    mark[body] = 1
    i = tree[body, PARENT]
    while i >= 0 and mark[i] == 0:
        mark[i] = 1
        i = tree[i, PARENT]
    if i >= 0:
        t.contact_body_number[i] = 0


@routine
def number_contact_bodies(table, count, limits):
    """Numbers the contact bodies, parents first; returns how many. A body beyond the capacity is only counted.

    Bodies on joints at their limits, and their parents, count as contact bodies. Leaves in `mark` of the bodies between
    them and the world FIRST_MARK + the number of the next one at or above, FIRST_MARK - 1 where there is none.
    """
    s = moving_of(table)
    t = contact_arrays_of(table)
    x = constraints_of(table)
    for c in range(count):
        for side in range(2):
            mark_contact_body(t, x.mark, s.tree, t.moving_body[c, side])
    for k in range(x.ends.shape[0]):
        for side in range(2):
            mark_contact_body(t, x.mark, s.tree, x.ends[k, side])
    for k in range(min(limits, t.bound.shape[0])):
        mark_contact_body(t, x.mark, s.tree, t.bound[k, 0])
        mark_contact_body(t, x.mark, s.tree, s.tree[t.bound[k, 0], PARENT])
    bodies = 0
    for i in range(s.tree.shape[0]):
        if x.mark[i] == 0:
            continue
        if t.contact_body_number[i] >= 0:
            t.contact_body_number[i] = bodies
            if bodies < t.counts[ca.BODY_CAPACITY]:
                t.contact_bodies[bodies] = i
            x.mark[i] = ca.FIRST_MARK + bodies
            bodies += 1
        else:
            parent = s.tree[i, PARENT]
            x.mark[i] = x.mark[parent] if parent >= 0 else ca.FIRST_MARK - 1
    return bodies


@routine
def clear_body_numbers(table, bodies):
    """Empties `contact_body_number` again."""
    t = contact_arrays_of(table)
    for k in range(bodies):
        t.contact_body_number[t.contact_bodies[k]] = -1


@routine
def clear_all_body_numbers(table):
    """The same where there were more contact bodies than `contact_bodies` has room for; paths are unmarked too."""
    t = contact_arrays_of(table)
    x = constraints_of(table)
    for i in range(moving_of(table).tree.shape[0]):
        t.contact_body_number[i] = -1
        x.mark[i] = 0


@routine
def assemble_problem(table, count, limits):
    """Fills the problem of `count` contacts (their moving bodies are known) and the near limits; OK or CONTACTS_GROW."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    x = constraints_of(table)
    bodies = number_contact_bodies(table, count, limits)
    t.counts[ca.NEEDED_BODIES], t.counts[ca.NEEDED_LIMITS] = bodies, limits
    if bodies > t.counts[ca.BODY_CAPACITY] or limits > t.bound.shape[0]:
        clear_all_body_numbers(table)
        return CONTACTS_GROW
    t.counts[ca.CONTACT_BODIES], t.counts[ca.LIMITS] = bodies, limits
    size_problem(table, bodies, count, limits, x.row.shape[0])
    problem = problem_of(table)
    for k in range(limits):
        t.contact_bodies[bodies + k] = t.bound[k, 0]
    for m in range(bodies):
        i = t.contact_bodies[m]
        store3(problem.origin, m, 0, load3(s.world, i, 9))
        before = to_world(load9(s.world, i, 0), load6(t.before, i, 0))
        for e in range(6):
            problem.v_before[6 * m + e] = before[e]
    for c in range(count):
        for side in range(2):
            body = t.moving_body[c, side]
            problem.body_number[c, side] = t.contact_body_number[body] if body >= 0 else -1
    assemble_velocities(table, count)
    assemble_limits(s, t, problem, bodies, limits)
    assemble_loops(s, t, x, problem)
    clear_body_numbers(table, bodies)
    t.counts[ca.BY_SWEEPS] = ca.BY_TREE if is_for_sweeps(s, t, x, count, limits) else ca.BY_MATRIX
    if t.counts[ca.BY_SWEEPS] != ca.BY_MATRIX:
        unmark_paths(table)
    else:
        response_matrix(table, limits, problem.Lambda)
    return OK


@inlined
def assemble_velocities(table, count):
    """Of contact bodies, by forces alone; what has a direction of friction is aimed by them."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    v_free, data = problem_of(table).v_free, contacts_of(table).data
    for m in range(t.counts[ca.CONTACT_BODIES]):
        for e in range(6):
            v_free[6 * m + e] = t.twists[t.contact_bodies[m], e]
    for c in range(count):
        if data[c, DIRECTED] != ISOTROPIC:
            aim_friction(data, c, sliding_of(s, t, data, c))


@routine
def reassemble_problem(table, count, known):
    """The same problem, without limits, with other velocities by forces alone, and other responses where motors changed
    their law, of which `known` were counted in (`switching`)."""
    t = contact_arrays_of(table)
    assemble_velocities(table, count)
    if t.counts[ca.BY_SWEEPS] == ca.BY_MATRIX:
        switch_responses(table, 0, known, problem_of(table).Lambda)
    else:
        t.counts[ca.BY_SWEEPS] = ca.BY_TREE


@inlined
def sliding_of(s, t, data, c):
    """Velocity of a against b at a contact, as forces alone would give it."""
    v = (0.0, 0.0, 0.0)
    for side in range(2):
        i = t.moving_body[c, side]
        if i >= 0:
            arm = sub3(load3(data, c, POINT), load3(s.world, i, 9))
            one = add3(load3(t.twists, i, 3), cross3(load3(t.twists, i, 0), arm))
            v = add3(v, one if side == 0 else scale3(-1.0, one))
    return v


@inlined
def is_for_sweeps(s, t, x, count, limits):
    """Whether the solve is made by sweeps over the tree: where contacts, limits and loops are many for its size. Couplings
    of joints are known to the matrix only. A threshold of one asks for sweeps wherever they can be made."""
    fewest, many = t.counts[ca.MIN_BY_SWEEPS], count + limits + x.row.shape[0] // 3
    if t.counts[ca.LAW] != ca.COUPLED or many < fewest or x.offset.shape[0] > 0:
        return False
    n = s.tree.shape[0]
    return fewest <= 1 or (BODIES_PER_CONTACT * many >= n and many**3 >= CUBE_PER_BODY * n)


@inlined
def assemble_limits(s, t, problem, bodies, limits):
    for k in range(limits):
        i, j, side = t.bound[k, 0], t.bound[k, 1], t.bound[k, 2]
        q = s.q[s.tree[i, Q] + j - s.tree[i, V]]
        problem.limit_at[k] = 6 * bodies + k
        problem.limit[k, SIGN] = 1.0 if side == 0 else -1.0
        problem.limit[k, LIMIT_GAP] = q - t.lower[t.model_dof[j]] if side == 0 else t.upper[t.model_dof[j]] - q
        problem.limit[k, LIMIT_RESTITUTION] = t.settings[ca.LIMIT_BOUNCE]
        problem.limit_impulse[k] = t.limit_impulse[t.model_dof[j], side]
        problem.v_free[6 * bodies + k] = s.v[j]
        problem.v_before[6 * bodies + k] = s.start_v[j]


@inlined
def assemble_loops(s, t, x, problem):
    """Loops keep the velocities that the closed linkage would have without contact."""
    for k in range(x.ends.shape[0]):
        for r in range(x.first_row[k], x.first_row[k + 1]):
            problem.loop_rate[r] = 0.0
            for side in range(2):
                i = x.ends[k, side]
                problem.loop_body_number[r, side] = t.contact_body_number[i] if i >= 0 else -1
                if i >= 0:
                    row = to_world(load9(s.world, i, 0), load6(x.row, r, 6 * side))
                    store6(problem.loop_row, r, 6 * side, row)
                    for e in range(6):
                        problem.loop_rate[r] += row[e] * t.twists[i, e]
