"""Motors that change their law after the linkage was evaluated: what follows from the evaluation, one motor at a time.

Where a motor comes to its limit or leaves it, the armature of one joint changes by a and its effort by τ, and nothing
else. With H the joint inertia of the evaluation, y = H⁻¹ e_j the response of the linkage to an effort on that joint,
and m = 1 + a y_j,

    H⁻¹ → H⁻¹ - (a / m) y yᵀ        q̈ → q̈ + y (τ - a q̈_j) / m                                                     (30)

(Sherman and Morrison), which takes one sweep over the joints instead of an evaluation and a matrix of responses.
`responses` subtracts what (30) subtracts from H⁻¹, wherever it responds to impulses.
"""

from linkwork.core.jit import inlined, routine
from linkwork.model.layout import ARMATURE, DOF, V
from linkwork.simulation.constrained.constraints import constraints_of, is_constrained
from linkwork.simulation.constrained.responses import clear_members, mark_paths, respond_all
from linkwork.simulation.contact_step.arrays import (
    EFFECTIVE_ARMATURE,
    FREE_QDD,
    JOINT_EFFORT,
    MOST_SWITCHED,
    contact_arrays_of,
)
from linkwork.simulation.contact_step.responses import take_off_switch
from linkwork.simulation.integrators.euler import speed_up
from linkwork.simulation.loading.accelerate import AT_END, joint_efforts
from linkwork.simulation.moving import moving_of
from linkwork.spatial.memory import add_to6, load6, load9, store6
from linkwork.spatial.vectors import scale6, to_world

LEAST_LEFT = 1e-3  # m of (30), least: where a motor held nearly all of what its joint resists with, digits go


@routine
def note_evaluation(table):
    """Efforts, armatures and accelerations of the last evaluation, before contacts act and laws of motors change."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    for j in range(s.v.shape[0]):
        t.evaluated[JOINT_EFFORT, j] = s.joint_effort[j]
        t.evaluated[EFFECTIVE_ARMATURE, j] = s.effective_armature[j, ARMATURE]
        t.evaluated[FREE_QDD, j] = s.qdd[j]


@routine
def switch_motors(table, h):
    """Accelerations, velocities and twists by forces alone, with motors by their present laws; after `note_evaluation`.

    False where that takes an evaluation: many motors changed, one of them held nearly all of its joint, or joints are
    coupled. Needs the velocities before the step in `v`.
    """
    s = moving_of(table)
    t = contact_arrays_of(table)
    joint_efforts(table, AT_END, h)
    changed = 0
    for j in range(s.v.shape[0]):
        changed += is_changed(s, t, j)
    if is_constrained(table) or t.switches[0] + changed > MOST_SWITCHED:
        return False
    for j in range(s.v.shape[0]):
        s.qdd[j] = t.evaluated[FREE_QDD, j]
    for i in range(s.tree.shape[0]):
        for j in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
            if is_changed(s, t, j) and not switch_motor(table, h, i, j):
                return False
    speed_up(s, h)
    return True


@inlined
def is_changed(s, t, j):
    return (
        s.joint_effort[j] != t.evaluated[JOINT_EFFORT, j]
        or s.effective_armature[j, ARMATURE] != t.evaluated[EFFECTIVE_ARMATURE, j]
    )


@routine
def switch_motor(table, h, i, j):
    """(30) for coordinate j, of the joint of body i; False where digits would go."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    x = constraints_of(table)
    n, place = s.tree.shape[0], t.switches[0]
    respond_to_effort(table, i, j)
    for k in range(place):
        take_off_switch(s, t, x, k, t.switched[k, j], x.change)
    more = s.effective_armature[j, ARMATURE] - t.evaluated[EFFECTIVE_ARMATURE, j]
    left = 1.0 + more * x.change[j]
    if not left > LEAST_LEFT:
        return False
    gain = (s.joint_effort[j] - t.evaluated[JOINT_EFFORT, j] - more * s.qdd[j]) / left
    t.switch_weight[place] = more / left
    t.switches[0] = place + 1
    for k in range(s.v.shape[0]):
        t.switched[place, k] = x.change[k]
        s.qdd[k] += gain * x.change[k]
    for b in range(n):
        a = load6(x.response, b, 0)
        store6(t.switched_response, place * n + b, 0, a)
        add_to6(t.twists, b, 0, scale6(h * gain, to_world(load9(s.world, b, 0), a)))
    return True


@routine
def respond_to_effort(table, i, j):
    """H⁻¹ e_j at the last evaluation: joints into `change`, bodies in their frames into `response`."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    x = constraints_of(table)
    t.switches[1] = i
    count = mark_paths(s, t.switches[1:2], x.mark, x.members)
    clear_members(x, count)
    t.joint_impulse[j] = 1.0
    respond_all(s, x, count, t.joint_impulse, True, x.change)
    t.joint_impulse[j] = 0.0
