"""Levenberg and Marquardt's method on the sweeps of reaching, with an active set for the limits of joints.

The damping falls with the error, so that it ends quadratically where a target can be reached. A step is taken where it
brings enough of the decrease it promised; else the damping grows. Joints that stand at a limit and are pulled beyond it are
held; joints that a step would carry beyond are moved to the limit and the others are solved for again.

Descents of joints with limits end in dead ends at these limits, about half of them. So they begin with a pull to the middle
of the joints' ranges that fades:

    cost + µ Σ ((q - middle) / half range)²,    µ = pull · cost,  pull ← 0.8 pull after every step                     (1)

It vanishes with the cost and with the steps; where it ends is a minimum of the cost alone.
"""

from linkwork.core.jit import inlined, kernel, routine
from linkwork.core.subnormals import flush_subnormals, restore_mode
from linkwork.model.layout import COMPOUND, DOF, HELICAL, KIND, STIFFNESS, Q, V
from linkwork.reaching import arrays as at
from linkwork.reaching.arrays import reaching_of
from linkwork.reaching.coupled import keep_couplings, project_gradient
from linkwork.reaching.sweeps import (
    eliminate_leaf_to_root,
    gradient_leaf_to_root,
    lift_leaf_to_root,
    move,
    place_root_to_leaf,
    pull_bodies,
    screws_in_world,
    substitute_root_to_leaf,
)
from linkwork.spatial.memory import store6
from linkwork.spatial.vectors import ZERO6

# Why a search ended.
REACHED, NEAREST, STALLED, OUT_OF_ITERATIONS = 0, 1, 2, 3

# Entries of `rules` and of what is counted.
R_TURN, R_WAY, R_GRADIENT, R_ITERATIONS, R_PULL = range(5)
C_ITERATIONS, C_SWEEPS, C_COST, C_GRADIENT, C_UNSEEN, COUNTS = 0, 1, 2, 3, 4, 5

LEAST_DAMPING = 1e-10  # of the second derivative of one target: below it, rounding makes up the pivots of joints
FIRST, LEAST, LARGEST = 1.0, 1e-3, 1e14  # of the factor before the cost in the damping
MORE, LESS = 4.0, 0.25
ENOUGH, GOOD, POOR = 1e-4, 0.75, 0.25  # parts of the decrease that was promised
NOISE = 1e-14  # part of the cost that is rounding: a smaller decrease cannot be seen
UNSEEN = 20  # steps taken on the word of the gradient alone
ROUNDS = 8  # of holding joints at limits within one step
SLACK = 1e-9  # [rad or m] by which a step may leave a coupling open
AT_LIMIT = 1e-12  # [rad or m] a joint nearer to its limit stands at it
FADE, GONE = 0.8, 0.02  # of the pull to the middle of ranges: part that a step leaves, and below which there is none


@kernel
def descend(table, rules, counts):
    """Moves `q` to where the cost is least nearby; returns why it ended."""
    mode = flush_subnormals()
    reason = descend_from_here(table, rules, counts)
    restore_mode(mode)
    return reason


@routine
def descend_from_here(table, rules, counts):
    s = reaching_of(table)
    size = s.path.shape[0]
    freedoms = 0
    for k in range(size):
        freedoms += s.tree[s.path[k], DOF]
    share = 1.0 / max(freedoms, 1)
    here, there = 0, size
    cost = place_root_to_leaf(table, s.q, here)
    factor = FIRST
    pull = rules[R_PULL]
    counts[C_UNSEEN] = 0.0
    reason = OUT_OF_ITERATIONS
    for _ in range(int(rules[R_ITERATIONS])):
        if is_reached(s, rules):
            reason = REACHED
            break
        set_pull(s, pull * cost)
        pull_bodies(table, here)
        screws_in_world(table, s.q, here)
        gradient_leaf_to_root(table, s.q, pull > 0.0)
        pushed = press(table)
        counts[C_GRADIENT] = pushed
        if not pushed > rules[R_GRADIENT] * cost**0.5:
            if pull > 0.0:  # flat with the pull: go on without
                pull = 0.0
                continue
            reason = NEAREST
            break
        counts[C_ITERATIONS] += 1.0
        factor, gained, cost = try_steps(table, counts, here, there, cost, factor, share, pull > 0.0)
        if not gained:
            if pull > 0.0:
                pull, factor = 0.0, FIRST
                continue
            reason = STALLED
            break
        pull = pull * FADE if pull > GONE else 0.0
        here, there = there, here
        keep_trial(s)
    set_pull(s, 0.0)
    cost = place_root_to_leaf(table, s.q, 0)  # misses and poses as they are
    if is_reached(s, rules):
        reason = REACHED
    counts[C_COST] = cost
    return reason


@inlined
def set_pull(s, weight):
    """The pull to the middle of ranges as stiffness of the joints: (1)."""
    for k in range(s.path.shape[0]):
        i = s.path[k]
        for j in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
            s.dof[j, STIFFNESS] = weight * s.dof[j, at.CENTRING]


@inlined
def pulled_cost(s, q):
    """What the pull adds to the cost at q."""
    total = 0.0
    for k in range(s.path.shape[0]):
        i = s.path[k]
        if s.tree[i, KIND] == HELICAL or s.tree[i, KIND] == COMPOUND:
            for d in range(s.tree[i, DOF]):
                away = q[s.tree[i, Q] + d] - s.rest[s.tree[i, Q] + d]
                total += s.dof[s.tree[i, V] + d, STIFFNESS] * away * away
    return total


@inlined
def is_reached(s, rules):
    reached = True
    for t in range(s.target_node.shape[0]):
        near = s.target[t, at.T_MISSED_TURN] <= rules[R_TURN] and s.target[t, at.T_MISSED_WAY] <= rules[R_WAY]
        reached = reached and near
    return reached


@inlined
def keep_trial(s):
    for k in range(s.path.shape[0]):
        i = s.path[k]
        c = s.tree[i, Q]
        kind = s.tree[i, KIND]
        count = s.tree[i, DOF]
        if kind != HELICAL and kind != COMPOUND and count > 0:
            count += 1  # a quaternion has four numbers for three freedoms
        for d in range(count):
            s.q[c + d] = s.trial[c + d]


@routine
def hold_pressed_joints(s):
    """Holds the joints that are pulled beyond the limit they stand at; returns the largest gradient of the others."""
    largest = 0.0
    for k in range(s.path.shape[0]):
        i = s.path[k]
        j, c = s.tree[i, V], s.tree[i, Q]
        limited = s.tree[i, KIND] == HELICAL or s.tree[i, KIND] == COMPOUND
        for d in range(s.tree[i, DOF]):
            pull = s.gradient[j + d]
            blocked = at.FREE_TO_MOVE
            if limited:
                at_lower = s.q[c + d] - s.lower[j + d] <= AT_LIMIT and pull < 0.0
                at_upper = s.upper[j + d] - s.q[c + d] <= AT_LIMIT and pull > 0.0
                if at_lower or at_upper or s.upper[j + d] - s.lower[j + d] <= AT_LIMIT:
                    blocked = at.BLOCKED
            s.blocked[j + d] = blocked
            s.step[j + d] = 0.0
            if blocked == at.FREE_TO_MOVE:
                pull2 = pull * pull / s.dof[j + d, at.METRIC]
                if not pull2 <= largest:
                    largest = pull2
    return largest**0.5


@routine
def press(table):
    """`hold_pressed_joints` with couplings: which joints press depends on what couplings hold, and that on who is held."""
    s = reaching_of(table)
    if s.offset.shape[0] == 0:
        return hold_pressed_joints(s)
    for k in range(s.path.shape[0]):
        for j in range(s.tree[s.path[k], V], s.tree[s.path[k], V] + s.tree[s.path[k], DOF]):
            s.blocked[j] = at.FREE_TO_MOVE
    held, pushed = 0, 0.0
    for _ in range(ROUNDS):
        project_gradient(table)
        pushed = hold_pressed_joints(s)
        now = held_joints(s)
        if now == held:
            break
        held = now
    return pushed


@inlined
def held_joints(s):
    count = 0
    for k in range(s.path.shape[0]):
        i = s.path[k]
        for j in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
            if s.blocked[j] != at.FREE_TO_MOVE:
                count += 1
    return count


@routine
def try_steps(table, counts, here, there, cost, factor, share, is_pulled):
    """Steps of growing damping until one is good enough; returns the next factor, whether there was one, and its cost."""
    s = reaching_of(table)
    pulled = pulled_cost(s, s.q) if is_pulled else 0.0
    while True:
        damping = max(factor * cost * share, LEAST_DAMPING)
        keeps = step_within_limits(table, counts, damping, is_pulled, here) <= SLACK
        move(table, s.q, s.step, s.trial)
        new_cost = place_root_to_leaf(table, s.trial, there)
        promised = promised_decrease(s, damping)
        gained = cost - new_cost
        if is_pulled:
            gained += pulled - pulled_cost(s, s.trial)
        if keeps and promised > 0.0 and gained >= ENOUGH * promised:
            if gained > GOOD * promised:
                factor = max(factor * LESS, least_factor(cost))
            elif gained < POOR * promised:
                factor *= 2.0
            return factor, True, new_cost
        factor = max(factor, LEAST_DAMPING / max(cost * share, 1e-300)) * MORE
        if keeps and 0.0 < promised <= NOISE * cost and abs(gained) <= NOISE * cost and counts[C_UNSEEN] < UNSEEN:
            counts[C_UNSEEN] += 1.0
            return factor, True, new_cost
        if not damping < LARGEST * max(cost, 1.0):
            return factor, False, cost
        hold_pressed_joints(s)  # those that this step held are free again


@inlined
def least_factor(cost):
    """Before the cost in the damping: far from a target that is out of reach damping grows as its distance, not as the
    square of it: it stands for what the turning of a lever adds to the second derivative."""
    return LEAST / max(cost, 1.0) ** 0.5


@kernel
def lean(table, counts):
    """The step that keeps the targets to first order and goes towards the posture; its weight stands as stiffness."""
    s = reaching_of(table)
    place_root_to_leaf(table, s.q, 0)
    pull_bodies(table, 0)
    screws_in_world(table, s.q, 0)
    gradient_leaf_to_root(table, s.q, True)
    press(table)
    step_within_limits(table, counts, 0.0, True, 0)


@kernel
def prepare(table):
    """Poses, screws and the gradient of the targets at `q`; returns Σ w e²."""
    s = reaching_of(table)
    cost = place_root_to_leaf(table, s.q, 0)
    pull_bodies(table, 0)
    screws_in_world(table, s.q, 0)
    gradient_leaf_to_root(table, s.q, False)
    return cost


@kernel
def step_along(table, damping, counts):
    """The step for the gradient as it stands, within limits; after `prepare`."""
    s = reaching_of(table)
    hold_pressed_joints(s)
    step_within_limits(table, counts, damping, False, 0)


@kernel
def move_trial(table, step):
    """trial ← q ⊕ step, no joint beyond its limits."""
    s = reaching_of(table)
    move(table, s.q, step, s.trial)


@inlined
def promised_decrease(s, damping):
    """Twice what the cost should fall by: g·δ + damping δ·Dδ; exact where no limit is met on the way."""
    promised = 0.0
    for k in range(s.path.shape[0]):
        i = s.path[k]
        j = s.tree[i, V]
        for d in range(s.tree[i, DOF]):
            x = s.step[j + d]
            promised += s.gradient[j + d] * x + damping * s.dof[j + d, at.METRIC] * x * x
    return promised


@routine
def step_within_limits(table, counts, damping, with_posture, here):
    """The step, with joints that would leave their limits moved to them; returns by how much it leaves couplings open."""
    s = reaching_of(table)
    left_open = 0.0
    for r in range(ROUNDS):
        pull_bodies(table, here)
        for k in range(s.path.shape[0]):
            store6(s.node, k, at.BIAS, ZERO6)
        eliminate_leaf_to_root(s, damping, with_posture)
        lift_leaf_to_root(s, s.gradient)
        substitute_root_to_leaf(s)
        counts[C_SWEEPS] += 1.0
        if s.offset.shape[0] > 0:
            left_open = keep_couplings(table)
        if r == ROUNDS - 1 or hold_leaving_joints(s) == 0:
            break
    return left_open


@routine
def hold_leaving_joints(s):
    """Holds the joints that the step carries beyond their limits, moved to the limit; returns how many are new."""
    new = 0
    for k in range(s.path.shape[0]):
        i = s.path[k]
        kind = s.tree[i, KIND]
        if kind == HELICAL or kind == COMPOUND:
            j, c = s.tree[i, V], s.tree[i, Q]
            for d in range(s.tree[i, DOF]):
                if s.blocked[j + d] == at.FREE_TO_MOVE:
                    low, high = s.lower[j + d] - s.q[c + d], s.upper[j + d] - s.q[c + d]
                    if s.step[j + d] < low - AT_LIMIT or s.step[j + d] > high + AT_LIMIT:
                        s.blocked[j + d] = at.BLOCKED
                        s.step[j + d] = min(max(s.step[j + d], low), high)
                        new += 1
    return new
