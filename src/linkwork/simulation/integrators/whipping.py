"""Where semi-implicit Euler makes energy: bodies that turn fast on bodies that turn.

Euler's rule takes forces of inertia where the step begins. Per step it errs by some (h ω)² of the energy of bodies that
turn by h ω, and these errors add up: a tree of joints that whips gains without end, whatever else the step does right. Such
steps are made by the variational integrator, whose energy swings and does not drift; all others keep the one evaluation.
Where bodies turn less, but not slowly, energy is counted (`gaining`), and steps are variational while too much was gained.
Which those are is seen from the twists that the evaluation leaves: no forces of inertia change where a joint turns on
a body that does not, such as a wheel or a pendulum.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import D_D, DINV, TWIST
from linkwork.model.layout import ARMATURE, DOF, FIXED, FREE, HELICAL, KIND, PARENT, V
from linkwork.simulation.integrators.gaining import count_flight, has_gained
from linkwork.simulation.moving import COUNTED_STEPS, IMPLICIT, MOTORS, NEVER_WHIPS, moving_of
from linkwork.spatial.memory import load3
from linkwork.spatial.rotations import dot3

FAST = 0.01  # [rad] in a step: what turns less gains less than 1e-4 of its energy in it
SWINGING = 0.004  # [rad] in a step: below, the energy swings by less than 0.4 % of the kinetic, and is not counted
SOFT = 0.95  # of the inertia that a joint meets: what springs and dampers are of it; stiffer ones would ring


@routine
def whips(table, h):
    """After an evaluation at the start of a step of h [s] in flight: whether it is one for the variational integrator."""
    s = moving_of(table)
    if s.counts[NEVER_WHIPS] != 0 or s.counts[MOTORS] > 0 or s.counts[IMPLICIT] == 0 or s.wet.shape[0] > 0:
        s.numbers[COUNTED_STEPS] = 0.0  # laws of motors within limits, and of water, are taken at the end of the step
        return False
    turn = turning(s, h)
    swings = turn > SWINGING * SWINGING
    if swings or s.numbers[COUNTED_STEPS] > 0.0:
        count_flight(table, swings)
    return (turn > FAST * FAST or (swings and has_gained(s))) and is_soft(s)


@inlined
def turning(s, h):
    """The largest product of the turns of two bodies in a step [rad²], one on the other, or about axes that change."""
    most = 0.0
    for i in range(s.tree.shape[0]):
        parent, kind = s.tree[i, PARENT], s.tree[i, KIND]
        w = load3(s.work, i, TWIST)
        own = dot3(w, w)
        if kind == HELICAL or kind == FIXED:
            if parent >= 0:
                w = load3(s.work, parent, TWIST)
                most = max(most, own * dot3(w, w))
        elif kind != FREE or (i + 1 < s.tree.shape[0] and s.tree[i + 1, PARENT] == i):
            most = max(most, own * own)  # free bodies without joints turn by a rule of their own: `free_spin`
    return h * h * math.sqrt(most)


@inlined
def is_soft(s):
    """Whether what springs and dampers add to the inertia of joints, as they are taken at the end, is not much."""
    soft = True
    for i in range(s.tree.shape[0]):
        j = s.tree[i, V]
        for d in range(s.tree[i, DOF]):
            added = s.resistance[j + d, ARMATURE] - s.dof[j + d, ARMATURE]
            if added > 0.0:
                inverse = s.work[i, DINV] if s.tree[i, KIND] == HELICAL else s.dof_work[j + d, D_D + d]
                soft = soft and added * inverse <= SOFT
    return soft
