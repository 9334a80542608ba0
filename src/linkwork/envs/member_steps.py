"""The actions of many members in one call of compiled code: controls, steps, and what becomes of them, member by member."""

from __future__ import annotations

from typing import NamedTuple

from numba import types

from linkwork.core.bundles import Float1, Float2, Int1, Int2, reader
from linkwork.core.calls import TABLE, caller
from linkwork.core.jit import inlined, kernel
from linkwork.simulation.contact_step.calling import STEPS
from linkwork.simulation.loading.following import follow_one
from linkwork.simulation.moving import OK, moving_of

MIDDLE, HALF, LOW, HIGH, GEAR = range(5)  # columns of `scale`
ROW, COLUMN, ACTION = range(3)  # columns of `place`
STATUS, MADE = range(2)  # columns of `ended`

NUMBERS = types.Array(types.float64, 1, "C")
LOOK = types.UniTuple(types.float64, 2)(TABLE, *5 * (NUMBERS,), types.boolean)  # `Task.compiled_look`


class TaskArrays(NamedTuple):
    """What a task has, for `Task.compiled_look`."""

    tree: Int2
    body: Float2
    screws: Float2
    numbers: Float1  # of its own


class MemberArrays(NamedTuple):
    """A member, for the kernel that moves it."""

    table: Int1  # of the arrays of its simulation
    control: Float1  # (m,) of its actuators


class MemberSteps(NamedTuple):
    """What all members of a task have in common, and k members one by one."""

    scale: Float2  # (m, 5) control at the action 0, and how much more at 1; limits and gear of each actuator
    place: Int2  # (m, 3) row and column of its target in the table of motors, which number of an action it follows
    task: Int1  # table of `TaskArrays`
    members: Int2  # (k, 6) tables of `MemberArrays`
    ended: Int2  # (k, 2) status, and steps that were made
    q: Float2  # (k, nq) where they are after their last steps
    v: Float2  # (k, nv)
    memory: Float2  # (k, memories)
    seen: Float2  # (k, observations)
    reward: Float1  # (k,)
    over: Float1  # (k,) 1: the episode ends; 0: it goes on


task_of, member_of, member_steps_of = reader(TaskArrays), reader(MemberArrays), reader(MemberSteps)
make_steps, look = caller(STEPS), caller(LOOK)


@inlined
def ask_for(x, member, s, a, action):
    """Control and target of actuator a for an action between -1 and 1."""
    asked = x.scale[a, MIDDLE] + x.scale[a, HALF] * action
    control, target = follow_one(asked, x.scale[a, LOW], x.scale[a, HIGH], x.scale[a, GEAR])
    member.control[a] = control
    s.motor[x.place[a, ROW], x.place[a, COLUMN]] = target


@kernel
def begin_one(table, k, q, v, looks, still):
    """Member number k has begun anew at (q, v), with its targets in the middle; a first look at it. still: (a,) zeros."""
    x = member_steps_of(table)
    member = member_of(x.members[k])
    s = moving_of(member.table)
    for a in range(x.place.shape[0]):
        ask_for(x, member, s, a, 0.0)
    for c in range(q.shape[0]):
        x.q[k, c] = q[c]
    for c in range(v.shape[0]):
        x.v[k, c] = v[c]
    x.reward[k], x.over[k] = look(looks, (x.task, x.q[k], x.v[k], x.memory[k], still, x.seen[k], True))


@kernel
def is_state(q, v, quaternions, tolerance):
    """Whether all numbers are finite and all quaternions unit. quaternions: where in q each begins.

    tolerance: of the squares of their lengths.
    """
    bad = 0.0
    for c in range(q.shape[0]):
        bad += 0.0 * q[c]
    for c in range(v.shape[0]):
        bad += 0.0 * v[c]
    worst = 0.0
    for k in range(quaternions.shape[0]):
        c = quaternions[k]
        square = q[c] * q[c] + q[c + 1] * q[c + 1] + q[c + 2] * q[c + 2] + q[c + 3] * q[c + 3]
        worst = max(worst, abs(square - 1.0))
    return bad == 0.0 and worst <= tolerance


@kernel
def act(table, who, actions, steps, looks, h, n):
    """n steps of h [s] of the members `who`, towards the targets that their actions ask for, and a look at those that made
    them all. False where an action is not a finite number; then nothing has changed.

    actions: (k, a), cut off at ±1. steps, looks: addresses of the kernels that make steps and look; looks = 0: none does.
    """
    bad = 0.0
    for k in range(actions.shape[0]):
        for a in range(actions.shape[1]):
            bad += 0.0 * actions[k, a]
    if bad != 0.0:
        return False
    x = member_steps_of(table)
    for e in range(who.shape[0]):
        k = who[e]
        member = member_of(x.members[k])
        s = moving_of(member.table)
        for a in range(x.place.shape[0]):
            ask_for(x, member, s, a, min(max(actions[k, x.place[a, ACTION]], -1.0), 1.0))
        x.ended[k, STATUS], x.ended[k, MADE] = make_steps(steps, (member.table, h, n))
        for c in range(s.q.shape[0]):
            x.q[k, c] = s.q[c]
        for c in range(s.v.shape[0]):
            x.v[k, c] = s.v[c]
        if looks != 0 and x.ended[k, STATUS] == OK:
            given = (x.task, x.q[k], x.v[k], x.memory[k], actions[k], x.seen[k], False)
            x.reward[k], x.over[k] = look(looks, given)
    return True
