"""Joints that hold something between bodies: their effort moves nothing, since contact balances it, and must go on acting.

A joint that is inactive is held as by a lock, and the lock takes the effort that contact has taken before. Fingers so
locked press no more on what they hold: how hard rigid groups press on each other from several sides nothing determines, and
friction has nothing left to hold with. So an active joint stays active while contacts of two bodies that can both move
hold against its own effort, of springs, motors or given:

    τ ⋅ Sᵀ f < 0,   |Sᵀ f| > NEGLIGIBLE_PART |τ|,   |τ| > NEGLIGIBLE_PART |Sᵀ f|

with f the sum of these contacts' wrenches on all that hangs behind the joint. Weight that rests on something is not an
effort of a joint, and what presses on obstacles counts as before: a rope or a robot that stands comes to rest. Weight that
motors hold up on a body that can move counts as squeezing: the motors' efforts act against it.
"""

import math

from linkwork.adaptive.dynamics.reduced.reduced import GROUPS, PRESSED
from linkwork.adaptive.dynamics.region.turns import is_counted
from linkwork.core.jit import inlined, routine
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import DAMPING, DOF, FIXED, HELICAL, KIND, PARENT, V
from linkwork.spatial.memory import add_to6, load3, load6, load9, store6
from linkwork.spatial.rotations import cross3, sub3, tmatvec3
from linkwork.spatial.vectors import ZERO6, dot6, join, scale6

NEGLIGIBLE_PART = 0.01  # of an effort: less is what solves leave, and decides about nothing
ROUNDING = 1e-12  # of a damper's effort, taken off the effort of a joint that has no other


@inlined
def press(reduced, a, b, point, f):
    """A contact gives the force f at a point, in the world, to group a and takes it from b; WORLD: nothing moves there."""
    if a != b:
        for r in range(reduced.counts[GROUPS] if reduced.counts[PRESSED] == 0 else 0):
            store6(reduced.pressed, r, 0, ZERO6)
        reduced.counts[PRESSED] = 1
        wrench = join(cross3(point, f), f)
        if a >= 0:
            add_to6(reduced.pressed, a, 0, wrench)
        if b >= 0:
            add_to6(reduced.pressed, b, 0, scale6(-1.0, wrench))


@inlined
def is_welded(tree, body):
    """Whether nothing moves a body, which is an obstacle then."""
    while body >= 0 and tree[body, KIND] == FIXED:
        body = tree[body, PARENT]
    return body < 0


@routine
def sum_pressed(s, reduced):
    """Wrenches of contacts on groups, about the world's origin → on all that hangs from a joint, in the frame of its group.

    Cost: O(active joints), where there are such contacts.
    """
    if reduced.counts[PRESSED] == 0:
        return
    for r in range(reduced.counts[GROUPS] - 1, -1, -1):
        wrench = load6(reduced.pressed, r, 0)
        if s.tree[r, PARENT] >= 0:
            add_to6(reduced.pressed, s.tree[r, PARENT], 0, wrench)
        n, f = (wrench[0], wrench[1], wrench[2]), (wrench[3], wrench[4], wrench[5])
        R, p = load9(s.world, r, 0), load3(s.world, r, 9)
        store6(reduced.pressed, r, 0, join(tmatvec3(R, sub3(n, cross3(p, f))), tmatvec3(R, f)))


@routine
def keep_squeezing(plan, mechanism, c, run, reduced):
    """After `find_speeds`: joints that hold something between bodies are chosen, as if nothing were faster.

    Returns how many count. Where a number of joints is given they come on top of it, as bases of floating trees do: nothing
    else could move where there are as many of them.
    """
    tree, count = mechanism.tree, 0
    for r in range(reduced.counts[GROUPS] if reduced.counts[PRESSED] != 0 else 0):
        i, squeezes = reduced.joint[r], False
        for d in range(tree[i, DOF]):
            j = tree[i, V] + d
            axis = helical_twist(mechanism.body, i) if tree[i, KIND] == HELICAL else load6(c.S, j, 0)
            contact_effort = dot6(axis, load6(reduced.pressed, r, 0))
            own = c.effort_sum[j] + mechanism.dof[j, DAMPING] * run.v[j]  # a damper holds nothing
            if abs(own) <= ROUNDING * abs(c.effort_sum[j]):
                continue
            if (
                contact_effort * own < 0.0
                and abs(contact_effort) > NEGLIGIBLE_PART * abs(own)
                and abs(own) > NEGLIGIBLE_PART * abs(contact_effort)
            ):
                squeezes = True
        if squeezes:
            run.speed[plan.joint[i]] = math.inf
            count += is_counted(plan, mechanism, plan.joint[i])
    return count
