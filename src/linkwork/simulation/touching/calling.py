"""Kernels that steps with contact call by their addresses, each compiled by itself (`core.calls`).

The search and the solver are large, and integrators have kernels of their own: a step with contact is one kernel, whatever
the integrator and whether contact or limits alone act, and calls the others. `simulation.contact_options` finds addresses.
"""

from numba import types

from linkwork.core.calls import TABLE, caller
from linkwork.core.jit import inlined
from linkwork.simulation.touching.arrays import FIND, OWN_STEP, SOLVE, UPDATE, WAY, touch_of

STEPS = types.UniTuple(types.int64, 2)(TABLE, types.float64, types.int64)
SEARCH = types.int64(TABLE, types.float64)
LOOK = types.float64(TABLE, types.float64, types.float64, types.float64)
SOLUTION = types.boolean(TABLE, types.float64, types.int64, types.int64)
UPDATING = types.int64(TABLE, TABLE)

_make_steps, _search, _look, _solve = caller(STEPS), caller(SEARCH), caller(LOOK), caller(SOLUTION)
_update = caller(UPDATING)


@inlined
def own_step(table, h):
    """One step of h [s] by the integrator in use where nothing touches, or none: OK, or why it failed."""
    status, _ = _make_steps(touch_of(table).calls[OWN_STEP], (table, h, 1))
    return status


@inlined
def find(table, h):
    """`search.finding.find_contacts`."""
    return _search(touch_of(table).calls[FIND], (table, h))


@inlined
def shorter_part(table, h, whole, push_work):
    """`search.way.shorter_part`; zero where nothing is searched for."""
    address = touch_of(table).calls[WAY]
    return _look(address, (table, h, whole, push_work)) if address != 0 else 0.0


@inlined
def solve_contacts(table, h, limits, what):
    """`sweeps.solve.solve_contacts`."""
    return _solve(touch_of(table).calls[SOLVE], (table, h, limits, what))


@inlined
def update_region(table):
    """`adaptive.dynamics.updating.update_between_steps`."""
    t = touch_of(table)
    return _update(t.turns[UPDATE], (t.region, table))
