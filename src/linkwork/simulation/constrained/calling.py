"""Kernels of loops that steps of every integrator call by their addresses, each compiled by itself (`core.calls`)."""

from numba import types

from linkwork.core.calls import TABLE, caller
from linkwork.core.jit import inlined, routine
from linkwork.simulation.constrained.constraints import CLOSE, CLOSE_WAY, FORCE, FORCE_AGAIN, constraints_of
from linkwork.simulation.loading.accelerate import accelerate

OF_TABLE = types.int64(TABLE)
_call = caller(OF_TABLE)


@inlined
def force_loops(table):
    """`loop_forces.force_loops`."""
    return _call(constraints_of(table).calls[FORCE], (table,))


@inlined
def force_loops_again(table):
    """`loop_forces.force_loops_again`."""
    return _call(constraints_of(table).calls[FORCE_AGAIN], (table,))


@inlined
def close_loops(table):
    """`loop_forces.close_loops`."""
    return _call(constraints_of(table).calls[CLOSE], (table,))


@inlined
def close_way(table):
    """`loop_forces.close_way`."""
    return _call(constraints_of(table).calls[CLOSE_WAY], (table,))


@routine
def accelerate_closed(table, where, h):
    """Accelerations at (q, v) with the loops closed; returns OK, a body that failed, or another failure."""
    bad = accelerate(table, where, h)
    return bad if bad >= 0 else force_loops(table)
