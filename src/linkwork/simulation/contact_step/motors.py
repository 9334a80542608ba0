"""Motors at their limits of effort or speed while something touches or a joint is at its limit.

A motor that presses against a contact does not move as it would without it. So the limits of motors, contacts and limits of
joints are solved for together: with the present laws of motors, contacts and limits give the velocities at the end of
the step; the laws at these velocities come next, until no motor changes its law.

    min ½ (u - v)ᵀ M (u - v) / h - rᵀ (u - v) - Σ ∫ τ_j(u_j) du_j     among the u that contacts and limits allow      (29)

Without friction that is what the end of the step makes least, a convex function of it, and each turn is a step of
Newton's method towards it. `search_saturation` goes along it no further than the function falls. Friction is not a part of
the function: where turns do not end, they go half of the way. docs/theory/contact.md
"""

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import P_, R_, S_D
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import COMPOUND, DOF, HELICAL, KIND, PARENT, Q, V
from linkwork.simulation.constrained.calling import accelerate_closed
from linkwork.simulation.constrained.constraints import constraints_of, is_constrained
from linkwork.simulation.contact_step.arrays import CONTACT_BODIES, contact_arrays_of, problem_of
from linkwork.simulation.contact_step.impulses import find_impulses
from linkwork.simulation.contact_step.problem import assemble_problem, free_motion, near_limits, reassemble_problem
from linkwork.simulation.contact_step.switching import note_evaluation, switch_motors
from linkwork.simulation.loading.accelerate import (
    AT_END,
    accelerate,
    changes_law,
    efforts_at_saturation,
    search_saturation,
)
from linkwork.simulation.loading.motor_law import motor_law
from linkwork.simulation.moving import IMPLICIT, LIMITED, MOTORS, OK, moving_of
from linkwork.spatial.memory import add_to6, load3, load6, load9, store6
from linkwork.spatial.simd import flat6
from linkwork.spatial.vectors import ZERO6, dot6, to_body, wrench_to_parent

MOST_TURNS = 25  # solves for the limits of motors; few steps need more than two
FULL_TURNS = 3  # of them that may go all of the way where (29) falls, or does not apply: friction is not a part of it
PART_OF_WAY = 0.5  # that later ones go at most: two laws that lead to each other would take turns without end
NEARLY = 1e-3  # of its effort: what a motor may be off after them; whether contacts stick or slide may leave no less


@inlined
def are_motors_limited(table):
    """Whether motors act implicitly, within limits that must hold where the step ends."""
    counts = moving_of(table).counts
    return counts[MOTORS] > 0 and counts[LIMITED] != 0 and counts[IMPLICIT] != 0


@routine
def solve_with_motors(table, h, count, limits):
    """Impulses of `count` contacts and the near limits, with motors as their laws are at the end of the step.

    Laws of motors are those at the velocities before the step at first: velocities without contact mislead.
    Returns OK or a failure, and how many limits are near.
    """
    s = moving_of(table)
    t = contact_arrays_of(table)
    is_assembled = False
    if is_saturated_elsewhere(s) and any_changes_law(s, h, s.start_v):
        note_evaluation(table)
        for k in range(s.v.shape[0]):
            s.saturation_velocity[k] = s.start_v[k]
        bad = change_laws(table, h)
        if bad != OK:
            return bad, limits
        limits = near_limits(table, h)
    for turn in range(MOST_TURNS):
        status = OK if is_assembled else assemble_problem(table, count, limits)
        if status != OK:
            return status, limits
        known = t.switches[0]
        note_evaluation(table)
        status = find_impulses(table, h, limits)
        if status != OK:
            return status, limits
        if turn == MOST_TURNS - 1 or not any_changes_law(s, h, s.v) or (turn >= FULL_TURNS and laws_nearly_hold(s, h)):
            break
        for k in range(s.v.shape[0]):
            s.v[k] = s.start_v[k]
        efforts_at_saturation(table, h)
        add_impulses_on_joints(table, h, limits)
        search_saturation(table, h, turn == 0, 1.0 if turn < FULL_TURNS else PART_OF_WAY)
        bad = change_laws(table, h)
        if bad != OK:
            return bad, limits
        before, limits = limits, near_limits(table, h)
        is_assembled = before == 0 and limits == 0 and t.switches[0] > known
        if is_assembled:
            reassemble_problem(table, count, known)
    return OK, limits


@inlined
def change_laws(table, h):
    """`switch_motors`, or an evaluation where that cannot be; after `note_evaluation`. OK or a failure."""
    s = moving_of(table)
    for k in range(s.v.shape[0]):
        s.v[k] = s.start_v[k]
    return OK if switch_motors(table, h) else accelerate_again(table, h)


@inlined
def is_saturated_elsewhere(s):
    """Whether the laws of motors are those at other velocities than the ones before the step."""
    elsewhere = False
    for k in range(s.v.shape[0]):
        elsewhere = elsewhere or s.saturation_velocity[k] != s.start_v[k]
    return elsewhere


@inlined
def any_changes_law(s, h, v):
    """Whether any motor has another law at the velocities v than at its saturation velocity."""
    otherwise = False
    for i in range(s.tree.shape[0]):
        for d in range(s.tree[i, DOF]):
            otherwise = otherwise or changes_law(s, i, d, h, v[s.tree[i, V] + d])
    return otherwise


@routine
def laws_nearly_hold(s, h):
    """Whether the efforts of all motors, by their present laws, are nearly those of their laws at v."""
    nearly = True
    for i in range(s.tree.shape[0]):
        kind = s.tree[i, KIND]
        if kind == HELICAL or kind == COMPOUND:
            for d in range(s.tree[i, DOF]):
                j = s.tree[i, V] + d
                q, v, u = s.q[s.tree[i, Q] + d], s.start_v[j], s.v[j]
                effort, k, c = motor_law(
                    s.motor, s.effort_limit, s.velocity_limit, j, q, v, h, s.saturation_velocity[j]
                )
                applied = effort - h * k * u - c * (u - v)
                effort, k, c = motor_law(s.motor, s.effort_limit, s.velocity_limit, j, q, v, h, u)
                wanted = effort - h * k * u - c * (u - v)
                nearly = nearly and abs(applied - wanted) <= NEARLY * max(abs(applied), abs(wanted))
    return nearly


@routine
def accelerate_again(table, h):
    """Accelerations from the start of the step by the present laws of motors, and the velocities by them alone."""
    s = moving_of(table)
    for k in range(s.v.shape[0]):
        s.v[k] = s.start_v[k]
    bad = accelerate_saturated(table, h)
    if bad == OK:
        free_motion(table, h)
    return bad


@inlined
def accelerate_saturated(table, h):
    """Accelerations by the present laws of motors, whether or not they hold where the step ends; OK or a failure."""
    if is_constrained(table):
        return accelerate_closed(table, AT_END, h)
    return accelerate(table, AT_END, h)


@routine
def add_impulses_on_joints(table, h, limits):
    """joint_effort += Jᵀλ / h: what impulses of contacts and limits are on joints, as efforts over the step. Cost: O(n)."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    wrench = constraints_of(table).bias_up
    impulse = problem_of(table).impulse
    m = t.counts[CONTACT_BODIES]
    for i in range(s.tree.shape[0]):
        store6(wrench, i, 0, ZERO6)
    for r in range(m):
        i = t.contact_bodies[r]
        add_to6(wrench, i, 0, to_body(load9(s.world, i, 0), flat6(impulse, 6 * r)))
    for i in range(s.tree.shape[0] - 1, -1, -1):
        j, f = s.tree[i, V], load6(wrench, i, 0)
        if s.tree[i, KIND] == HELICAL:
            s.joint_effort[j] += dot6(helical_twist(s.body, i), f) / h
        else:
            for d in range(j, j + s.tree[i, DOF]):
                s.joint_effort[d] += dot6(load6(s.dof_work, d, S_D), f) / h
        if s.tree[i, PARENT] >= 0:
            up = wrench_to_parent(load9(s.work, i, R_), load3(s.work, i, P_), f)
            add_to6(wrench, s.tree[i, PARENT], 0, up)
    for k in range(limits):
        s.joint_effort[t.bound[k, 1]] += impulse[6 * m + k] / h
