"""Bodies that turn fast in a step with contact: forces of inertia are those of the velocities half way through the step.

Euler's rule takes them where the step begins. Then links of a rope that whip, by a tenth of a turn per step, gain
a tenth of their energy in each. With u half way between the velocities before the step and those that forces alone give,

    M (v_free - v) = h (τ - C(q, u) u),   u = ½ (v + v_free)                                                        (12)

the energy given at q is -½ h uᵀṀu, and what M gains on the way to q ⊕ h v_free makes up for it, but for terms of higher
order. Two rounds of (12) come near enough. Slow steps stay as they are.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import accelerations_root_to_leaf, inertias_leaf_to_root, velocities_root_to_leaf
from linkwork.model.layout import FREE, KIND, V
from linkwork.simulation.constrained.calling import force_loops_again
from linkwork.simulation.constrained.constraints import is_constrained
from linkwork.simulation.contact_step.arrays import contact_arrays_of
from linkwork.simulation.contact_step.problem import free_motion
from linkwork.simulation.loading.accelerate import apply_loads, place_and_move
from linkwork.simulation.moving import OK, moving_of
from linkwork.spatial.memory import load3, load9, store6
from linkwork.spatial.rotations import cross3, dot3
from linkwork.spatial.vectors import to_world

FAST = 0.03  # [rad] in a step: what gains less than a thousandth of its energy by Euler's rule
FASTEST = (
    1.0  # [rad] in a step: rounds of (12) lead away from the solution where bodies turn further, and Euler's rule stays
)
ROUNDS = 2  # of (12)


@routine
def turn_half_way(table, h):
    """v_free by (12) where a body turns fast, from the accelerations by Euler's rule; OK or a failure.

    Joint forces stay those of the last evaluation. Motors within limits must not change their laws after it.
    """
    s = moving_of(table)
    if not is_fast(s, contact_arrays_of(table), h):
        return OK
    status = OK
    for _ in range(ROUNDS):
        if status == OK:
            for k in range(s.v.shape[0]):
                s.u[k] = s.start_v[k] + 0.5 * h * s.qdd[k]
                s.v[k] = s.u[k]
            status = accelerate_by_joint_efforts(table)
    for k in range(s.v.shape[0]):
        s.v[k] = s.start_v[k]
    for i in range(s.tree.shape[0]):
        place_and_move(s, i)  # twists at the start, as `free_motion` needs them
    free_motion(table, h)
    turn_axes_half_way(s, h)
    t = contact_arrays_of(table)
    for i in range(s.tree.shape[0]):  # contacts are solved for the velocities that the step is left with
        store6(t.twists, i, 0, to_world(load9(s.world, i, 0), place_and_move(s, i)))
    return status


@inlined
def is_fast(s, t, h):
    """By the velocities before the step: what forces alone would give is nothing that contacts let happen."""
    most = 0.0
    for i in range(s.tree.shape[0]):
        w = load3(t.before, i, 0)
        most = max(most, dot3(w, w))
    return FAST < h * math.sqrt(most) <= FASTEST


@inlined
def turn_axes_half_way(s, h):
    """Axes of free joints turn at u: `speed_up` took that back for the start of the step."""
    for i in range(s.tree.shape[0]):
        if s.tree[i, KIND] == FREE:
            j = s.tree[i, V]
            a = cross3((s.u[j], s.u[j + 1], s.u[j + 2]), (s.u[j + 3], s.u[j + 4], s.u[j + 5]))
            v = s.start_v
            b = cross3((v[j], v[j + 1], v[j + 2]), (v[j + 3], v[j + 4], v[j + 5]))
            for d in range(3):
                s.v[j + 3 + d] += h * (a[d] - b[d])


@routine
def accelerate_by_joint_efforts(table):
    """Accelerations at (q, v) with the joint forces that the last evaluation left at the same q; OK or what failed."""
    s = moving_of(table)
    velocities_root_to_leaf(s, s.effective_armature, s.q, s.v, s.joint_effort, s.wrench, s.work, s.dof_work, True)
    apply_loads(table)
    bad, _ = inertias_leaf_to_root(s.tree, s.body, s.effective_armature, s.work, s.dof_work)
    if bad >= 0:
        return bad
    accelerations_root_to_leaf(s.tree, s.body, s.gravity, s.work, s.dof_work, s.qdd)
    return force_loops_again(table) if is_constrained(table) else OK
