"""Energy in flight: what Euler's rule gains in parts of steps in which nothing touches.

The energy of Euler's rule swings: by h times forces times speeds, per cents of it where a linkage is fast, up for tenths of
a second and down again. A part that touches is judged by its balance (`balance`); what flights gain is seen where the next
part opens its own, for the price of a difference. It is added to the same sum,

    Σ gain  ≤  MOST_GAINED max T                                                                                   (33)

which losses pay for. Flights that follow are made by the variational integrator from HELD of that bound on, until what was
gained is lost again: its energy does not drift. So few steps pay for it, and none that does not gain.
Theory: docs/theory/contact.md.
"""

from linkwork.core.jit import inlined, routine
from linkwork.simulation.moving import OK, moving_of
from linkwork.simulation.touching.arrays import (
    ENERGY_START,
    GAINED,
    KINETIC_END,
    KINETIC_START,
    TOP_KINETIC,
    WAS_TOUCHING,
    touch_of,
)
from linkwork.simulation.touching.balance import FADING, MOST_GAINED, is_driven, open_balance

FLEW = -1.0  # in KINETIC_END: the last part was a flight that nothing drove, and its gain is not counted yet
HELD = 0.5  # of what may be gained: from here on Euler's rule is not used in flight


@routine
def open_after_flight(table):
    """Opens the balance of a part, and counts what a flight before it gained; see `open_balance`."""
    t = touch_of(table)
    b = t.balance
    before, flew = b[ENERGY_START], b[KINETIC_END] == FLEW
    open_balance(table)
    if flew:
        b[TOP_KINETIC] = max(FADING * b[TOP_KINETIC], b[KINETIC_START])
        b[GAINED] = max(b[GAINED] + b[ENERGY_START] - before, 0.0)
        b[KINETIC_END] = 0.0


@inlined
def note_flight(table, status):
    """After a part that was tried: whether it was a flight whose energy nothing but the integrator has changed.

    Flights before anything has touched do not count: nothing in them depends on whether contact was asked for.
    """
    s = moving_of(table)
    t = touch_of(table)
    if (
        status == OK
        and t.balance[TOP_KINETIC] > 0.0
        and t.balance[WAS_TOUCHING] == 0.0
        and s.wet.shape[0] == 0
        and not is_driven(s)
    ):
        t.balance[KINETIC_END] = FLEW


@inlined
def has_gained_in_flight(table):
    """Whether steps so far have gained so much that the next flight is not to be made by Euler's rule."""
    b = touch_of(table).balance
    return b[GAINED] > HELD * MOST_GAINED * b[TOP_KINETIC]
