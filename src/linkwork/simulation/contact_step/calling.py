"""Kernels that steps with contact call by their addresses, each compiled by itself (`core.calls`).

The search and the solver are large, and integrators have kernels of their own: the loop over steps and their parts is
one kernel, whatever the integrator and whether contact or limits alone act, and calls the others. `contact_choice`
finds the addresses.
"""

from numba import types

from linkwork.core.calls import TABLE, caller
from linkwork.core.jit import inlined
from linkwork.simulation.contact_step.arrays import CHECK_PATH, FIND, OWN_STEP, SOLVE, TRY, UPDATE, contact_arrays_of

STEPS = types.UniTuple(types.int64, 2)(TABLE, types.float64, types.int64)
TRIAL = types.int64(TABLE, types.float64)
SEARCH = types.int64(TABLE, types.float64)
PATH_CHECK = types.float64(TABLE, types.float64, types.float64, types.float64)
SOLUTION = types.boolean(TABLE, types.float64, types.int64, types.int64)
UPDATING = types.int64(TABLE, TABLE)

_try_step, _make_steps, _update = caller(TRIAL), caller(STEPS), caller(UPDATING)
_search, _check_path, _solve = caller(SEARCH), caller(PATH_CHECK), caller(SOLUTION)


@inlined
def try_step(table, h):
    """`step.try_euler`, or `by_integrator.try_integrator`."""
    return _try_step(contact_arrays_of(table).calls[TRY], (table, h))


@inlined
def own_step(table, h):
    """One step of h [s] by the integrator in use where nothing touches, or none: OK, or why it failed."""
    status, _ = _make_steps(contact_arrays_of(table).calls[OWN_STEP], (table, h, 1))
    return status


@inlined
def find(table, h):
    """`search.finding.find_contacts`."""
    return _search(contact_arrays_of(table).calls[FIND], (table, h))


@inlined
def shorter_part(table, h, step, push_work):
    """`search.path_check.shorter_part`; zero where nothing is searched for."""
    address = contact_arrays_of(table).calls[CHECK_PATH]
    return _check_path(address, (table, h, step, push_work)) if address != 0 else 0.0


@inlined
def solve_contacts(table, h, limits, what):
    """`sweeps.solve.solve_contacts`."""
    return _solve(contact_arrays_of(table).calls[SOLVE], (table, h, limits, what))


@inlined
def update_region(table):
    """`adaptive.dynamics.updating.update_between_steps`."""
    t = contact_arrays_of(table)
    return _update(t.turns[UPDATE], (t.region, table))
