"""A whole variational step of a tree, without waiting for evaluations from outside.

`variational` asks for two evaluations per step: at its start for a guess, and at its end. Here the guess comes from the
last step, whose mean velocities w and velocities at the ends it knows: with steps of one length

    w½ ≈ w₋³⁄₂ + 2 (v₀ - v₋₁)                                                              (9)  docs/integrators.md

to third order, since w½ + w₋½ = 2 v₀ but for the same error as w₋½ + w₋³⁄₂ = 2 v₋₁ one step before. The evaluation at the
end takes the poses of the displacements that it needs anyway. Lengths of substeps are remembered: where a step was halved,
the next one begins with that length, and grows back within four steps.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import (
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
from linkwork.model.layout import DOF, HELICAL, INERTIA, KIND, PARENT, V
from linkwork.simulation.accelerate import (
    FROM_REST,
    HALF_WAY,
    accelerate,
    apply_loads,
    joint_efforts,
    world_poses_root_to_leaf,
)
from linkwork.simulation.integrators.chart import EVALUATE
from linkwork.simulation.integrators.discrete_newton import displace, momentum_at_end
from linkwork.simulation.integrators.variational import (
    SHORTEST,
    SUB_V,
    begin,
    begin_substep,
    end_substep,
    find_end,
    guess_by_acceleration,
    halve,
)
from linkwork.simulation.moving import EVALUATIONS, LOADS, OK, PASSED, PAST, SUBSTEP, SUBSTEP_WISH, moving_of
from linkwork.spatial.inertia import rigid_as_articulated
from linkwork.spatial.memory import load6, load10, store3, store6, store9
from linkwork.spatial.vectors import ZERO6, add6, scale6, sub6, twist_to_child

# Rows of `stages`, with one more number each: mean velocities of the last substep (its length); their guess for the next
# (one, if a substep was made); velocities at its end.
MEAN_V, NEXT_V, END_V = PAST, PAST + 1, PAST + 2
GROWTH = 2.0**0.25  # of the length wished for, from step to step


@routine
def step_tree(table, h):
    """One step of h [s], in parts where it must be: DONE or a failure."""
    s = moving_of(table)
    begin(table, h)
    s.numbers[SUBSTEP] = first_substep(h, s.numbers[SUBSTEP_WISH])
    status = EVALUATE
    while status == EVALUATE:
        status = one_substep(table, h)
    s.numbers[SUBSTEP_WISH] *= GROWTH
    if s.numbers[SUBSTEP_WISH] >= h:
        s.numbers[SUBSTEP_WISH] = math.inf
    return status


@inlined
def first_substep(h, wish):
    """h, or that by a power of two which is at most `wish`."""
    span = h
    while span > 1.0001 * wish and span > h * SHORTEST:
        span *= 0.5
    return span


@routine
def one_substep(table, h):
    s = moving_of(table)
    begin_substep(table)
    span = s.numbers[SUBSTEP]
    if remembers(table):
        move_root_to_leaf(table)
        for k in range(s.v.shape[0]):
            s.u[k] = span * s.stages[NEXT_V, k]
    else:
        bad = accelerate(table, HALF_WAY, h)
        if bad != OK:
            return bad if s.numbers[PASSED] == 0.0 else halve(table, h)
        guess_by_acceleration(table, span)
    if not find_end(table, span) or accelerate_from_rest(table, span) != OK:
        return halve(table, h)
    before = s.numbers[SUBSTEP_WISH]
    status = end_substep(table, h)
    if s.numbers[SUBSTEP_WISH] == before:  # it was not halved
        remember(table, span)
    return status


# ------------------------------------------------------------------------------------------------ guess from the last step


@inlined
def remembers(table):
    """Whether the last substep had the length of this one and ended where it begins."""
    s = moving_of(table)
    last = s.q.shape[0]
    found = s.stages[NEXT_V, last] != 0.0 and s.stages[MEAN_V, last] == s.numbers[SUBSTEP]
    for k in range(s.v.shape[0]):
        found = found and s.stages[END_V, k] == s.v[k]
    return found


@routine
def remember(table, span):
    """(9), for the substep after the one that was just made."""
    s = moving_of(table)
    n = s.v.shape[0]
    last = s.q.shape[0]
    follows = s.stages[NEXT_V, last] != 0.0 and s.stages[MEAN_V, last] == span
    for k in range(n):
        follows = follows and s.stages[END_V, k] == s.stages[SUB_V, k]
    for k in range(n):
        mean = s.u[k] / span
        s.stages[NEXT_V, k] = 2.0 * s.v[k] - mean
        if follows:
            s.stages[NEXT_V, k] = s.stages[MEAN_V, k] + 2.0 * (s.v[k] - s.stages[SUB_V, k])
        s.stages[MEAN_V, k] = mean
        s.stages[END_V, k] = s.v[k]
    s.stages[MEAN_V, last] = span
    s.stages[NEXT_V, last] = 1.0


@routine
def move_root_to_leaf(table):
    """Poses and twists at (q, v), as an evaluation would leave them."""
    s = moving_of(table)
    S = s.dof_work[:, S_D : S_D + 6]
    for i in range(s.tree.shape[0]):
        R, p, twist, _ = body_motion(s.tree, s.body, s.screws, i, s.q, s.v, S)
        if s.tree[i, PARENT] >= 0:
            twist = add6(twist_to_child(R, p, load6(s.work, s.tree[i, PARENT], TWIST)), twist)
        store9(s.work, i, R_, R)
        store3(s.work, i, P_, p)
        store6(s.work, i, TWIST, twist)
    if s.counts[LOADS] > 0:
        world_poses_root_to_leaf(table)


# ------------------------------------------------------------------------------------------------------------ the end


@routine
def accelerate_from_rest(table, h):
    """`accelerate` from rest by all momenta, with displacements, momenta and poses at the end found on the way."""
    s = moving_of(table)
    s.counts[EVALUATIONS] += 1
    joint_efforts(table, FROM_REST, h)
    S = s.dof_work[:, S_D : S_D + 6]
    for i in range(s.tree.shape[0]):
        R1, p1, E, d = displace(s, i, S)
        store9(s.work, i, R_, R1)
        store3(s.work, i, P_, p1)
        store6(s.work, i, TWIST, ZERO6)
        store6(s.work, i, BIAS, ZERO6)
        A, B, C = rigid_as_articulated(load10(s.body, i, INERTIA))
        store6(s.work, i, IA, A)
        store9(s.work, i, IB, B)
        store6(s.work, i, IC, C)
        p = scale6(-2.0 / h, momentum_at_end(s.body, i, E, d, h))
        if s.wrench.shape[0] > 0:
            p = sub6(p, load6(s.wrench, i, 0))
        store6(s.work, i, PA, p)
        j = s.tree[i, V]
        if s.tree[i, KIND] == HELICAL:
            s.work[i, U_SMALL] = s.drive[j]
        else:
            for k in range(s.tree[i, DOF]):
                s.dof_work[j + k, EFFORT_D] = s.drive[j + k]
    apply_loads(table)
    bad, _ = inertias_leaf_to_root(s.tree, s.body, s.resistance, s.work, s.dof_work)
    if bad < 0:
        accelerations_root_to_leaf(s.tree, s.body, s.gravity, s.work, s.dof_work, s.qdd)
    return bad
