"""Limits of joints in quasi-statics: which coordinates they hold, and when the solution is that of the whole linkage.

A step q ← q ⊕ ½ h² q̈ ends within the limits. Its accelerations are those of least ½ q̈ᵀM q̈ - τᵀq̈ among

    -(q - lower) ≤ ½ h² q̈ ≤ upper - q    0 for the distance of a coordinate that is beyond its limit     (5)

One solution exists. In it a coordinate is free, or held: it has the acceleration with which the step ends at the limit, and
the effort of the limit pushes back. All that are wrong change at once while there are ever fewer of them (block pivoting,
Júdice and Pires 1994); else one at a time, by the primal method of active sets, which lowers the sum in (5) with each turn.

A held freedom is eliminated with a rotor of inertia HELD, beside which nothing moves it, and its acceleration is a bias of
the joint. So tree, `aba` and path queries know it without knowing of limits. It holds its path open.

Closed nodes keep the least weight · distance² to a limit among their joints, `room`. Since A(C) is at least the square of
each acceleration in it, no joint in C comes to a limit where ½ h² √A(C) ≤ √room; where that is not so the node is opened,
whatever the tolerance and the budget. So the bound on the error is that of the solution of the whole linkage.
Theory: docs/theory/adaptive_quasi_statics.md.
"""

import math

from linkwork.adaptive import workspace as ws
from linkwork.adaptive.metric.rounding_floor import UNIT_ROUNDOFF, joint_floor
from linkwork.adaptive.nodes import carries_joint, mark_path
from linkwork.adaptive.workspace import HELD, coefficients_of, mechanism_of, plan_of, run_of
from linkwork.assembly.node_table import INDEX, LEFT, RIGHT
from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.dca.nodes import H_C
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import ARMATURE, COMPOUND, DOF, HELICAL, KIND, Q, V
from linkwork.spatial.memory import load6, store6
from linkwork.spatial.vectors import ZERO6, add6, scale6

FREE, AT_LOWER, AT_UPPER = range(3)  # entries of `held`
# Roundings of an acceleration, beyond which a joint is said to break a limit or to be pulled: as the rounding floor of a
# tree of depth 32, four times over.
DEPTH, MARGIN = 32.0, 4.0
PATIENCE = 3  # turns without progress in which all that is wrong changes at once
MOST_TURNS, MOST_PER_FREEDOM = 200, 5  # cables of 200 joints that a step presses on all their limits take 1.7 per joint


@inlined
def is_limited(mechanism):
    """Whether any joint has limits."""
    return mechanism.lower.shape[0] > 0


@inlined
def looks_at_limits(mechanism, run):
    """Whether a solve asks which of them hold."""
    return is_limited(mechanism) and run.step_part[0] >= 0.0


@inlined
def has_coordinates(tree, i):
    """Whether joint i is of a kind whose coordinates can have limits."""
    return tree[i, KIND] == HELICAL or tree[i, KIND] == COMPOUND


@inlined
def least_qdd(mechanism, run, j, k):
    """The lower bound of (5) on the acceleration of freedom j, coordinate k."""
    return -over_part(run.q[k] - mechanism.lower[j], run.step_part[0])


@inlined
def most_qdd(mechanism, run, j, k):
    return over_part(mechanism.upper[j] - run.q[k], run.step_part[0])


@inlined
def over_part(distance, part):
    """The acceleration that ends at a limit so far away."""
    if not distance > 0.0:
        return 0.0
    return distance / part if part > 0.0 else math.inf


# -------------------------------------------------------------------------------------------------- held joints in a solve


@inlined
def take_held(mechanism, run, i, qdd):
    """After joint i was solved: its held freedoms move as they must, and the efforts of their limits are what is left."""
    if is_limited(mechanism):
        for j in range(mechanism.tree[i, V], mechanism.tree[i, V] + mechanism.tree[i, DOF]):
            if run.held[j] != FREE:
                run.limit_effort[j] = mechanism.armature[j] * run.held_qdd[j] - HELD * qdd[j]
                qdd[j] = run.held_qdd[j]


@routine
def store_bias(mechanism, c, run, i):
    """The bias of joint i: what its held freedoms are to do."""
    bias = ZERO6
    j = mechanism.tree[i, V]
    if mechanism.tree[i, KIND] == HELICAL:
        bias = scale6(run.held_qdd[j], helical_twist(mechanism.body, i))
    else:
        for d in range(j, j + mechanism.tree[i, DOF]):
            bias = add6(bias, scale6(run.held_qdd[d], load6(c.S, d, 0)))
    store6(c.joint_data, i, H_C, bias)


@routine
def hold(table, node, j, side):
    """Freedom j of a node's joint is held at a limit from now on, or FREE."""
    plan = plan_of(table)
    mechanism = mechanism_of(table)
    run = run_of(table)
    change = (1 if side != FREE else 0) - (1 if run.held[j] != FREE else 0)
    run.held[j] = side
    run.held_qdd[j] = 0.0
    run.limit_effort[j] = 0.0
    mechanism.dof[j, ARMATURE] = mechanism.armature[j] if side == FREE else HELD
    run.counts[ws.HELD_COUNT] += change
    run.counts[ws.HELD_CHANGES] += 1
    mark_path(plan, run, node, change, ws.DIRTY)
    store_bias(mechanism, coefficients_of(table), run, plan.nodes[node, INDEX])


@routine
def renew_held(table):
    """Before a solve: the accelerations of held freedoms end at their limits, for the present step and coordinates.

    Where no step is asked for those that are not at their limit are free.
    """
    plan = plan_of(table)
    mechanism = mechanism_of(table)
    c = coefficients_of(table)
    run = run_of(table)
    tree = mechanism.tree
    for o in range(run.counts[ws.OPEN_COUNT]):
        node = run.opened[o]
        if not carries_joint(plan, node) or not has_coordinates(tree, plan.nodes[node, INDEX]):
            continue
        i = plan.nodes[node, INDEX]
        is_held = False
        for d in range(tree[i, DOF]):
            j = tree[i, V] + d
            if run.held[j] == FREE:
                continue
            is_held = True
            k = tree[i, Q] + d
            at = least_qdd(mechanism, run, j, k) if run.held[j] == AT_LOWER else most_qdd(mechanism, run, j, k)
            if run.step_part[0] < 0.0:
                at = run.held_qdd[j]
            if not abs(at) < math.inf:
                hold(table, node, j, FREE)
            elif at != run.held_qdd[j]:
                run.held_qdd[j] = at
                mark_path(plan, run, node, 0, ws.DIRTY)
        if is_held:
            store_bias(mechanism, c, run, i)


# ------------------------------------------------------------------------------------------------------------- what holds


@inlined
def side_wanted(mechanism, run, i, d, noise):
    """Where freedom d of joint i ought to be after a solve: held or FREE; `noise`: rounding of its acceleration."""
    j = mechanism.tree[i, V] + d
    k = mechanism.tree[i, Q] + d
    side = run.held[j]
    if side == AT_LOWER:
        return FREE if run.limit_effort[j] < -HELD * noise else side
    if side == AT_UPPER:
        return FREE if run.limit_effort[j] > HELD * noise else side
    if run.qdd[j] < least_qdd(mechanism, run, j, k) - noise:
        return AT_LOWER
    if run.qdd[j] > most_qdd(mechanism, run, j, k) + noise:
        return AT_UPPER
    return FREE


@routine
def is_wrong(table, node, d):
    """Whether freedom d of a node's joint breaks a limit, or is held by one that would have to pull, beyond rounding."""
    plan = plan_of(table)
    mechanism = mechanism_of(table)
    run = run_of(table)
    i = plan.nodes[node, INDEX]
    j = mechanism.tree[i, V] + d
    if side_wanted(mechanism, run, i, d, 0.0) == run.held[j]:
        return False
    noise = joint_floor(plan, mechanism, coefficients_of(table), run, node, run.inputs, 2.0 / DEPTH, d)
    noise *= MARGIN * 2.0 * DEPTH * UNIT_ROUNDOFF / (math.sqrt(mechanism.weight[j]) * run.metric_sums[ws.UNIT])
    return side_wanted(mechanism, run, i, d, noise) != run.held[j]


@routine
def change_held(table, takes_all):
    """After a solve: holds and frees freedoms that are wrong; returns how many were.

    takes_all: all of them; else one, by the primal method: `feasible` goes towards the solution up to the first limit.
    """
    plan = plan_of(table)
    mechanism = mechanism_of(table)
    run = run_of(table)
    tree = mechanism.tree
    wrong = 0
    part, pull = 1.0, 0.0
    first, most_pulled = -1, -1
    for turn in range(2):
        for o in range(run.counts[ws.OPEN_COUNT]):
            node = run.opened[o]
            if not carries_joint(plan, node) or not has_coordinates(tree, plan.nodes[node, INDEX]):
                continue
            i = plan.nodes[node, INDEX]
            for d in range(tree[i, DOF]):
                j = tree[i, V] + d
                least, most = least_qdd(mechanism, run, j, tree[i, Q] + d), most_qdd(mechanism, run, j, tree[i, Q] + d)
                if turn == 0:
                    run.feasible[j] = min(max(run.qdd[j] if takes_all else run.feasible[j], least), most)
                    if not is_wrong(table, node, d):
                        continue
                    wrong += 1
                    way = abs(run.qdd[j] - run.feasible[j])
                    left = most - run.feasible[j] if run.qdd[j] > most else run.feasible[j] - least
                    if run.held[j] != FREE:
                        if abs(run.limit_effort[j]) > pull:
                            pull, most_pulled = abs(run.limit_effort[j]), j
                    elif first < 0 or left < part * way:
                        part, first = max(0.0, min(1.0, left / way)), j
                elif takes_all:
                    if is_wrong(table, node, d):
                        hold(table, node, j, side_wanted(mechanism, run, i, d, 0.0))
                else:
                    run.feasible[j] += part * (run.qdd[j] - run.feasible[j])
                    if j == first or (first < 0 and j == most_pulled):
                        hold(table, node, j, side_wanted(mechanism, run, i, d, 0.0))
        if wrong == 0:
            break
    return wrong


@kernel
def change_held_once(table, takes_all):
    """`change_held`, for solves that are driven from Python."""
    return change_held(table, takes_all)


@kernel
def free_all(table):
    """No coordinate is held."""
    plan = plan_of(table)
    mechanism = mechanism_of(table)
    run = run_of(table)
    for i in range(mechanism.tree.shape[0]):
        for d in range(mechanism.tree[i, DOF]):
            j = mechanism.tree[i, V] + d
            if run.held[j] != FREE:
                hold(table, plan.joint[i], j, FREE)


@routine
def breaks_limits(table):
    """Whether any joint of the whole linkage comes to a limit in the step, every acceleration being known, none held."""
    mechanism = mechanism_of(table)
    run = run_of(table)
    tree = mechanism.tree
    for i in range(tree.shape[0]):
        if has_coordinates(tree, i):
            for d in range(tree[i, DOF]):
                if side_wanted(mechanism, run, i, d, 0.0) != FREE:
                    return True
    return False


# ------------------------------------------------------------------------------------------------------ inside closed nodes


@inlined
def room_of(plan, mechanism, run, node):
    """Least weight · distance² to a limit among the joints of a node, from its children."""
    room = math.inf
    for side in (LEFT, RIGHT):
        child = plan.nodes[node, side]
        if child >= 0:
            room = min(room, run.room[child])
    if carries_joint(plan, node) and has_coordinates(mechanism.tree, plan.nodes[node, INDEX]):
        i = plan.nodes[node, INDEX]
        for d in range(mechanism.tree[i, DOF]):
            j = mechanism.tree[i, V] + d
            q = run.q[mechanism.tree[i, Q] + d]
            distance = max(0.0, min(q - mechanism.lower[j], mechanism.upper[j] - q))
            if distance < math.inf:
                room = min(room, mechanism.weight[j] * distance * distance)
    return room


@inlined
def may_come_to_limits(run, node, value, part):
    """Whether a joint inside a node may come to a limit in a step, A(C) of it being so much; part: ½ h²."""
    unit2 = run.metric_sums[ws.UNIT] * run.metric_sums[ws.UNIT]
    return value > 0.0 and not value * part * part < unit2 * run.room[node]


# ---------------------------------------------------------------------------------------------------------------- a step


@inlined
def stop_at_limits(mechanism, run, i):
    """After joint i moved: held coordinates stand at their limits, others not beyond them by rounding."""
    if is_limited(mechanism) and has_coordinates(mechanism.tree, i):
        for d in range(mechanism.tree[i, DOF]):
            j = mechanism.tree[i, V] + d
            k = mechanism.tree[i, Q] + d
            least = min(mechanism.lower[j], run.saved_q[k])
            most = max(mechanism.upper[j], run.saved_q[k])
            if run.held[j] == AT_LOWER:
                run.q[k] = least
            elif run.held[j] == AT_UPPER:
                run.q[k] = most
            elif run.q[k] < least:
                run.q[k] = least
            elif run.q[k] > most:
                run.q[k] = most
