"""Where semi-implicit Euler makes energy: bodies that turn fast on bodies that turn.

Euler's rule takes forces of inertia where the step begins. Per step it errs by some (h ω)² of the energy of bodies that
turn by h ω, and these errors add up: a tree of joints that whips gains without end, whatever else the step does right. Such
steps are made by the variational integrator, whose energy swings and does not drift; all others keep the one evaluation.
Which those are is seen from the twists that the evaluation leaves: no forces of inertia change where a joint turns on
a body that does not, such as a wheel or a pendulum.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import D_D, DINV, TWIST
from linkwork.model.layout import ARMATURE, DOF, FIXED, FREE, HELICAL, KIND, PARENT, V
from linkwork.simulation.moving import IMPLICIT, MOTORS, NEVER_WHIPS, moving_of
from linkwork.spatial.memory import load3
from linkwork.spatial.rotations import dot3

FAST = 0.01  # [rad] in a step: what turns less gains less than 1e-4 of its energy in it
SOFT = 0.95  # of the inertia that a joint meets: what springs and dampers are of it; stiffer ones would ring


@routine
def whips(table, h, has_gained):
    """After an evaluation at the start of a step of h [s]: whether it is one for the variational integrator.

    has_gained: steps before this one are known to have gained energy, whatever turns how fast.
    """
    s = moving_of(table)
    if s.counts[NEVER_WHIPS] != 0:
        return False
    if s.counts[MOTORS] > 0 or s.counts[IMPLICIT] == 0 or s.wet.shape[0] > 0:
        return False  # laws of motors within limits, and of water, are taken at the end of the step
    return ((has_gained and has_joints(s)) or turns_fast(s, h)) and is_soft(s)


@inlined
def has_joints(s):
    """Whether there is more than free bodies: those gain nothing in flight, they turn by a rule of their own."""
    found = False
    for i in range(s.tree.shape[0]):
        found = found or s.tree[i, KIND] != FREE
    return found


@inlined
def turns_fast(s, h):
    """Whether a body turns fast on one that does, or about axes that change."""
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
    return h * h * math.sqrt(most) > FAST * FAST


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
