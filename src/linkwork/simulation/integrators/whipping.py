"""Where semi-implicit Euler makes energy: bodies that turn fast on bodies that turn.

Euler's rule takes forces of inertia where the step begins. Per step it errs by some (h ω)² of the energy of bodies that
turn by h ω, and these errors add up: a tree of joints that whips gains without end, whatever else the step does right. Such
steps are made by the variational integrator, whose energy swings and does not drift; all others keep the one evaluation.
Which those are is seen from the twists that the evaluation leaves: no forces of inertia change where a joint turns on
a body that does not, such as a wheel or a pendulum.

Where bodies turn less, but not slowly, energy is counted, and steps are variational while too much was gained. The energy
of Euler's rule swings: by h ω of the kinetic energy of bodies that turn by h ω per step, up for tenths of a second and down
again. Where nothing drives the linkage, what it gained is a difference of two energies, however many steps lie between
them. So it is counted once in EVERY steps, and only where bodies turn fast enough for it to matter:

    Σ gain  ≤  MOST_GAINED max T                                                          (35)  docs/theory/contact.md

is a sum that losses pay for: the energy less its least so far. Parts of steps in which something touches add to it too
(`simulation.contact_step.balance`). While it is beyond ENOUGH_GAINED of that bound, steps in flight are variational ones.

Linkages with loops or couplings are stepped by Euler's rule alone. Velocities of the one rule are not those of the other,
and what each change between them costs adds up: errors of closed chains grew as steps became shorter and changes more.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import D_D, DINV, TWIST
from linkwork.model.layout import ARMATURE, DOF, FIXED, FREE, HELICAL, KIND, PARENT, V
from linkwork.simulation import moving as mv
from linkwork.simulation.constrained.constraints import is_constrained
from linkwork.simulation.energy import PLACED, energies_where
from linkwork.simulation.moving import moving_of
from linkwork.spatial.memory import load3
from linkwork.spatial.rotations import dot3

FAST = 0.01  # [rad] in a step: what turns less gains less than 1e-4 of its energy in it
SWINGING = 0.004  # [rad] in a step: below, the energy swings by less than 0.4 % of the kinetic, and is not counted
SOFT = 0.95  # of the inertia that a joint meets: what springs and dampers are of it; stiffer ones would ring


@routine
def whips(table, h):
    """After an evaluation at the start of a step of h [s] in flight: whether it is one for the variational integrator."""
    s = moving_of(table)
    is_tree = s.counts[mv.NEVER_WHIPS] == 0 and not is_constrained(table)
    # Laws of motors within limits, and of water, are taken at the end of the step.
    if not is_tree or s.counts[mv.MOTORS] > 0 or s.counts[mv.IMPLICIT] == 0 or s.wet.shape[0] > 0:
        s.numbers[mv.COUNTED_STEPS] = 0.0
        return False
    turn = turning(s, h)
    swings = turn > SWINGING * SWINGING
    if swings or s.numbers[mv.COUNTED_STEPS] > 0.0:
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
            added = s.effective_armature[j + d, ARMATURE] - s.dof[j + d, ARMATURE]
            if added > 0.0:
                inverse = s.work[i, DINV] if s.tree[i, KIND] == HELICAL else s.dof_work[j + d, D_D + d]
                soft = soft and added * inverse <= SOFT
    return soft


MOST_GAINED = 0.003  # part of the largest kinetic energy lately, of all steps together
ENOUGH_GAINED = 0.5  # of that: from here on Euler's rule is not used in flight
FADING = 0.999  # of the largest kinetic energy lately, per step
EVERY = 8  # steps between two counts
FADED = FADING**EVERY


@inlined
def has_energy_source(s):
    """Whether loads, motors or given efforts can bring energy in."""
    has_source = s.wrench.shape[0] > 0 or s.counts[mv.LOADS] > 0 or s.counts[mv.MOTORS] > 0
    for j in range(s.v.shape[0]):
        has_source = has_source or s.effort[j] != 0.0
    return has_source


@routine
def count_flight(table, is_fast):
    """After the evaluation at the start of a step in flight. is_fast: whether energy is to be counted from here on."""
    s = moving_of(table)
    if has_energy_source(s):
        s.numbers[mv.COUNTED_STEPS] = 0.0
        return
    steps = s.numbers[mv.COUNTED_STEPS]
    if 0.0 < steps < EVERY:
        s.numbers[mv.COUNTED_STEPS] = steps + 1.0
        return
    kinetic, potential = energies_where(table, PLACED)
    if steps > 0.0:
        end_flight(s, kinetic + potential)
    s.numbers[mv.LATE_TOP] = max(FADED * s.numbers[mv.LATE_TOP], kinetic)
    s.numbers[mv.COUNTED_ENERGY] = kinetic + potential
    s.numbers[mv.COUNTED_STEPS] = 1.0 if is_fast else 0.0


@inlined
def end_flight(s, energy):
    """Counts what was gained since the last count, up to this energy [J]; from here on nothing is counted."""
    if s.numbers[mv.COUNTED_STEPS] > 0.0:
        s.numbers[mv.GAINED] = max(s.numbers[mv.GAINED] + energy - s.numbers[mv.COUNTED_ENERGY], 0.0)
    s.numbers[mv.COUNTED_STEPS] = 0.0


@inlined
def has_gained(s):
    """Whether steps so far have gained so much that the next flight is not to be made by Euler's rule."""
    return s.numbers[mv.GAINED] > ENOUGH_GAINED * MOST_GAINED * s.numbers[mv.LATE_TOP]
