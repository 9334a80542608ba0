"""Updates of the region between two steps with contact, which the kernel of steps asks for (`contact_step.driver`)."""

from numba import types

from linkwork.adaptive.dynamics.region.choice import ASKED, IN_CONTACT, NOT_READY, PASSES, PENDING, READY, STEPPED
from linkwork.adaptive.dynamics.region.region import FINISH, UPDATE
from linkwork.contact.contact_list import COUNT
from linkwork.core.calls import TABLE, address_of, caller
from linkwork.core.jit import inlined, kernel
from linkwork.simulation.contact_step.arrays import EVERY, LEFT, LIMITS, MADE, PERFORM, contact_arrays_of, contacts_of
from linkwork.simulation.contact_step.calling import UPDATING

PERFORMING = types.int64(TABLE, TABLE, types.int64, types.int64, types.Array(types.float64, 1, "C"))

_perform = caller(PERFORMING)


def addresses() -> tuple[int, int]:
    """Entries UPDATE and PERFORM of `ContactArrays.turns`."""
    from linkwork.adaptive.dynamics.with_contact import perform_with_contact

    return address_of(update_between_steps, UPDATING), address_of(perform_with_contact, PERFORMING)


@inlined
def is_in_contact(moving):
    """Whether there are contacts, or joints near their limits, in the last step."""
    return contacts_of(moving).number[COUNT] > 0 or contact_arrays_of(moving).counts[LIMITS] > 0


@kernel
def update_between_steps(table, moving):
    """Chooses the region by `choice` of the table, of which what depends on the moment is written here: OK or why not."""
    t = contact_arrays_of(moving)
    turns, choice = t.turns, t.choice
    if choice[PENDING] != 0.0:
        _perform(turns[PERFORM], (table, moving, FINISH, -1, choice))
    choice[STEPPED] = 1.0 if turns[MADE] > 0 else 0.0
    choice[IN_CONTACT] = 1.0 if is_in_contact(moving) else 0.0
    is_left_out = choice[ASKED] == 0.0 and choice[IN_CONTACT] != 0.0
    choice[PASSES] = 1.0 if is_left_out or turns[LEFT] > turns[EVERY] else 0.0
    status = _perform(turns[PERFORM], (table, moving, UPDATE, -1, choice))
    choice[READY] = NOT_READY  # what was assembled ahead of the call was so for its first update
    return status
