"""Steps with contact and the updates of the region between them, by one call.

With contact a region is updated every five to fifteen steps. What Python does around an update takes as long as a step with
forty active joints, and leaves the caches to the next step as it likes. Where an update needs nothing from Python, the
kernels of steps and of updates are called in turns here, by their addresses (`core.calls`): the same kernels with the same
arguments, and so the same bits.
"""

from numba import types

from linkwork.adaptive.dynamics.region.choice import PASSES, STEPPED, TOUCHES
from linkwork.adaptive.dynamics.region.region import UPDATE
from linkwork.contact.contact_list import COUNT
from linkwork.core.calls import TABLE, address_of, caller
from linkwork.core.jit import inlined, kernel
from linkwork.simulation.moving import CONTACTS_CHANGED, OK
from linkwork.simulation.touching.arrays import LIMITS, contacts_of, touch_of
from linkwork.simulation.touching.calling import STEPS

# Entries of `progress`: steps since the region was chosen, or since it is to be chosen anew; steps since it was chosen;
# how often it was; whether that failed; the row of contact forces, see `touching.renew_contact_forces`.
SINCE, MADE, UPDATES, FAILED, FIRST, PROGRESS = range(6)
UPDATING = types.int64(
    TABLE,
    TABLE,
    types.int64,
    types.int64,
    TABLE,
    types.Array(types.uint8, 1, "C"),
    types.Array(types.float64, 1, "C"),
    types.int64,
)

_make_steps, _update = caller(STEPS), caller(UPDATING)


def addresses() -> tuple[int, int]:
    """Of the kernels that make steps and updates."""
    from linkwork.adaptive.dynamics.touching import perform_touching
    from linkwork.simulation.touching.driver import advance_touching

    return address_of(advance_touching, STEPS), address_of(perform_touching, UPDATING)


@inlined
def touches(moving):
    """Whether there are contacts, or joints near their limits, in the last step."""
    return contacts_of(moving).number[COUNT] > 0 or touch_of(moving).counts[LIMITS] > 0


@kernel
def advance_and_update(table, moving, calls, settings, progress, opened, flags, h, n, every):
    """Up to n steps of h [s], with an update after `every` steps and where contacts changed; OK or why it stopped, and the
    number of steps that were made.

    calls: as `addresses` gives them. settings: by which updates choose; what depends on the moment is written here.
    opened, flags: empty.
    """
    status, done = OK, 0
    while done < n and status == OK:
        if progress[SINCE] >= every:
            settings[PASSES] = 1.0 if n - done > every else 0.0
            settings[STEPPED] = 1.0 if progress[MADE] > 0 else 0.0
            settings[TOUCHES] = 1.0 if touches(moving) else 0.0
            progress[SINCE], progress[MADE] = 0, 0
            status = _update(calls[1], (table, moving, UPDATE, -1, opened, flags, settings, progress[FIRST]))
            if status != OK:
                progress[FAILED] = 1
                return status, done
            progress[UPDATES] += 1
        status, made = _make_steps(calls[0], (moving, h, min(every - progress[SINCE], n - done)))
        done += made
        progress[SINCE] += made
        progress[MADE] += made
        if status == CONTACTS_CHANGED:
            progress[SINCE] = every
            status = OK
    return status, done
