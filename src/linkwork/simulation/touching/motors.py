"""Motors at their limits of effort or speed while something touches or a joint is at its limit.

A motor that presses against a contact does not move as it would without it. So the limits of motors, contacts and limits of
joints are solved for together: with motors as judged, contacts and limits give the velocities at the end of the step; at
these motors are judged again, until none acts otherwise.

    min ½ (u - v)ᵀ M (u - v) / h - rᵀ (u - v) - Σ ∫ τ_j(u_j) du_j     among the u that contacts and limits allow      (23)

Without friction that is what the end of the step makes least, a convex function of it, and each turn is a step of
Newton's method towards it. `judge_along_way` goes along it no further than the function falls. docs/theory/contact.md
"""

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import P_, R_, S_D
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import DOF, HELICAL, KIND, PARENT, V
from linkwork.simulation.constrained.calling import accelerate_closed
from linkwork.simulation.constrained.constraints import constraints_of, is_constrained
from linkwork.simulation.loading.accelerate import (
    AT_END,
    accelerate,
    acts_otherwise,
    efforts_as_judged,
    judge_along_way,
)
from linkwork.simulation.moving import IMPLICIT, LIMITED, MOTORS, OK, moving_of
from linkwork.simulation.touching.answers import to_body
from linkwork.simulation.touching.arrays import SLOTS, problem_of, touch_of
from linkwork.simulation.touching.impulses import find_impulses
from linkwork.simulation.touching.problem import free_motion, near_limits, pose_problem
from linkwork.spatial.memory import add_to6, load3, load6, load9, store6
from linkwork.spatial.vectors import ZERO6, dot6, wrench_to_parent

MOST_TURNS = 25  # solves for the limits of motors; few steps need more than two


@inlined
def are_motors_limited(table):
    """Whether motors act implicitly, within limits that must hold where the step ends."""
    counts = moving_of(table).counts
    return counts[MOTORS] > 0 and counts[LIMITED] != 0 and counts[IMPLICIT] != 0


@routine
def meet_with_motors(table, h, count, limits):
    """Impulses of `count` contacts and the near limits, with motors as their laws are at the end of the step.

    Motors are judged at the velocities before the step at first: those without contact mislead.
    Returns OK or a failure, and how many limits are near.
    """
    s = moving_of(table)
    if is_judged_elsewhere(s) and act_otherwise(s, h, s.start_v):
        for k in range(s.v.shape[0]):
            s.judged[k] = s.start_v[k]
        bad = accelerate_again(table, h)
        if bad != OK:
            return bad, limits
        limits = near_limits(table, h)
    for turn in range(MOST_TURNS):
        status = pose_problem(table, count, limits)
        if status != OK:
            return status, limits
        status = find_impulses(table, h, limits)
        if status != OK:
            return status, limits
        if turn == MOST_TURNS - 1 or not act_otherwise(s, h, s.v):
            break
        for k in range(s.v.shape[0]):
            s.v[k] = s.start_v[k]
        efforts_as_judged(table, h)
        add_impulses_on_joints(table, h, limits)
        judge_along_way(table, h, turn == 0)
        bad = accelerate_again(table, h)
        if bad != OK:
            return bad, limits
        limits = near_limits(table, h)
    return OK, limits


@inlined
def is_judged_elsewhere(s):
    """Whether motors are judged at other velocities than those before the step."""
    elsewhere = False
    for k in range(s.v.shape[0]):
        elsewhere = elsewhere or s.judged[k] != s.start_v[k]
    return elsewhere


@inlined
def act_otherwise(s, h, v):
    """Whether any motor, judged at the velocities v, acts otherwise than judged as it is."""
    otherwise = False
    for i in range(s.tree.shape[0]):
        for d in range(s.tree[i, DOF]):
            otherwise = otherwise or acts_otherwise(s, i, d, h, v[s.tree[i, V] + d])
    return otherwise


@routine
def accelerate_again(table, h):
    """Accelerations from the start of the step with motors as judged, and the velocities that they alone would give."""
    s = moving_of(table)
    for k in range(s.v.shape[0]):
        s.v[k] = s.start_v[k]
    bad = accelerate_as_judged(table, h)
    if bad == OK:
        free_motion(table, h)
    return bad


@inlined
def accelerate_as_judged(table, h):
    """Accelerations with motors as they are judged, whether or not that holds where the step ends; OK or a failure."""
    if is_constrained(table):
        return accelerate_closed(table, AT_END, h)
    return accelerate(table, AT_END, h)


@routine
def add_impulses_on_joints(table, h, limits):
    """drive += Jᵀλ / h: what impulses of contacts and limits are on joints, as efforts over the step. Cost: O(n)."""
    s = moving_of(table)
    t = touch_of(table)
    wrench = constraints_of(table).bias_up
    impulse = problem_of(table).impulse
    m = t.counts[SLOTS]
    for i in range(s.tree.shape[0]):
        store6(wrench, i, 0, ZERO6)
    for r in range(m):
        i = t.reached[r]
        add_to6(wrench, i, 0, to_body(load9(s.world, i, 0), load6_of(impulse, 6 * r)))
    for i in range(s.tree.shape[0] - 1, -1, -1):
        j, f = s.tree[i, V], load6(wrench, i, 0)
        if s.tree[i, KIND] == HELICAL:
            s.drive[j] += dot6(helical_twist(s.body, i), f) / h
        else:
            for d in range(j, j + s.tree[i, DOF]):
                s.drive[d] += dot6(load6(s.dof_work, d, S_D), f) / h
        if s.tree[i, PARENT] >= 0:
            up = wrench_to_parent(load9(s.work, i, R_), load3(s.work, i, P_), f)
            add_to6(wrench, s.tree[i, PARENT], 0, up)
    for k in range(limits):
        s.drive[t.bound[k, 1]] += impulse[6 * m + k] / h


@inlined
def load6_of(x, first):
    """Six numbers of a vector."""
    return (x[first], x[first + 1], x[first + 2], x[first + 3], x[first + 4], x[first + 5])
