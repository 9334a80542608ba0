"""What steps of Euler's rule gain from nothing in flight, and when that is enough.

The energy of Euler's rule swings: by h ω of the kinetic energy of bodies that turn by h ω per step, up for tenths of
a second and down again. Where nothing drives the linkage, what it gained is a difference of two energies, however many
steps lie between them. So it is counted once in EVERY steps, and only where bodies turn fast enough for it to matter:

    Σ gain  ≤  MOST_GAINED max T                                                          (33)  docs/theory/contact.md

is a sum that losses pay for: the energy less its least so far. Parts of steps in which something touches add to it too
(`simulation.touching.balance`). While it is beyond HELD of that bound, steps in flight are variational ones.
"""

from linkwork.core.jit import inlined, routine
from linkwork.simulation.energy import PLACED, energies_where
from linkwork.simulation.moving import COUNTED_ENERGY, COUNTED_STEPS, GAINED, LATE_TOP, LOADS, MOTORS, moving_of

MOST_GAINED = 0.003  # part of the largest kinetic energy lately, of all steps together
HELD = 0.5  # of that: from here on Euler's rule is not used in flight
FADING = 0.999  # of the largest kinetic energy lately, per step
EVERY = 8  # steps between two counts
FADED = FADING**EVERY


@inlined
def is_driven(s):
    """Whether loads, motors or given efforts can bring energy in."""
    driven = s.wrench.shape[0] > 0 or s.counts[LOADS] > 0 or s.counts[MOTORS] > 0
    for j in range(s.v.shape[0]):
        driven = driven or s.effort[j] != 0.0
    return driven


@routine
def count_flight(table, is_fast):
    """After the evaluation at the start of a step in flight. is_fast: whether energy is to be counted from here on."""
    s = moving_of(table)
    if is_driven(s):
        s.numbers[COUNTED_STEPS] = 0.0
        return
    steps = s.numbers[COUNTED_STEPS]
    if 0.0 < steps < EVERY:
        s.numbers[COUNTED_STEPS] = steps + 1.0
        return
    kinetic, potential = energies_where(table, PLACED)
    if steps > 0.0:
        end_flight(s, kinetic + potential)
    s.numbers[LATE_TOP] = max(FADED * s.numbers[LATE_TOP], kinetic)
    s.numbers[COUNTED_ENERGY] = kinetic + potential
    s.numbers[COUNTED_STEPS] = 1.0 if is_fast else 0.0


@inlined
def end_flight(s, energy):
    """Counts what was gained since the last count, up to this energy [J]; from here on nothing is counted."""
    if s.numbers[COUNTED_STEPS] > 0.0:
        s.numbers[GAINED] = max(s.numbers[GAINED] + energy - s.numbers[COUNTED_ENERGY], 0.0)
    s.numbers[COUNTED_STEPS] = 0.0


@inlined
def has_gained(s):
    """Whether steps so far have gained so much that the next flight is not to be made by Euler's rule."""
    return s.numbers[GAINED] > HELD * MOST_GAINED * s.numbers[LATE_TOP]
