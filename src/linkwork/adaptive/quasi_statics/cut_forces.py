"""Loops in quasi-statics: the forces that keep them closed are loads like any other.

The cut forces f of all loops solve K f = -(a₀ + 2 g / h²), with a₀ the accelerations of the loops' ends along the
constraints under the present loads, K their responses to unit forces, and g the gaps, which the step ½ h² q̈ then closes.
Both come from path queries: O(p² log n + p³) for p constraints. The bound on the error is that of the solve with these
loads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkwork.adaptive.nodes import mark_bodies
from linkwork.errors import StateError
from linkwork.loops.factors import force_loops
from linkwork.loops.system import LoopSystem, loop_plan

if TYPE_CHECKING:
    from linkwork.adaptive.quasi_statics.simulation import QuasiStatics


def clear_cut_forces(sim: QuasiStatics) -> None:
    """Those of the last solve: its bodies have turned since, each with its own end of a loop."""
    run = sim._tree.run
    run.loop_wrench[...] = 0.0
    mark_bodies(sim._tree.table, run.loop_body[run.loop_body >= 0], 0, sim._tree.marks)


def solve_cut_forces(sim: QuasiStatics, h: float) -> None:
    """Adds to the wrenches of all loops what they lack for a step of h [s], or for a solve where h is 0.

    Coefficients must be up to date.
    """
    run, data, leaf = sim._tree.run, sim._tree.paths(), sim._tree.plan.leaf
    loops = loop_plan(sim.model)
    system = LoopSystem(loops, run.q, np.zeros(sim.model.nv))
    closing = 2.0 * system.gap / (h * h) if h > 0.0 else 0.0
    force = force_loops(system, system.matrix(data, leaf), system.accelerations(data, leaf), closing)
    if not np.isfinite(force).all():
        raise StateError(f"the loops of model '{sim.model.name}' cannot be kept closed: their forces overflow.")
    for k, rows in enumerate(loops.rows):
        for side, end in enumerate(loops.end_body[k]):
            run.loop_wrench[2 * k + side] += system.C[rows, 6 * end : 6 * end + 6].T @ force[rows]
    for e, one in enumerate(loops.coupled):
        row = loops.loop_rows + one.coupling
        for side, body in enumerate(one.bodies):
            place = 2 * len(loops.rows) + 2 * e + side
            others = loops.coupled[:e]
            if any(body in other.bodies and other.coupling == one.coupling for other in others):
                continue  # its part of the row is the sum over all joints of the coupling
            end = int(np.searchsorted(loops.bodies, body))
            run.loop_wrench[place] += system.C[row, 6 * end : 6 * end + 6] * force[row]
    mark_bodies(sim._tree.table, run.loop_body[run.loop_body >= 0], 0, sim._tree.marks)
