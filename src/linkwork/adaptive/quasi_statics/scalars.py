"""Scalars of a quasi-static simulation worth plotting over time, at the cost of what moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkwork.adaptive.nodes import refresh_composite
from linkwork.adaptive.workspace import OPEN_COUNT, P_MOMENT, P_SPRING, coefficients_of, mechanism_of, plan_of, run_of
from linkwork.core.jit import kernel

if TYPE_CHECKING:
    from linkwork.adaptive.quasi_statics.simulation import QuasiStatics


@kernel
def potential_energy(table, opened):
    """Energy of gravity and of joint springs at the present coordinates [J]. Cost: O(open nodes).

    opened: the open nodes, ascending. Their composites are brought up to date, as the next solve would do.
    """
    plan = plan_of(table)
    mechanism = mechanism_of(table)
    c = coefficients_of(table)
    run = run_of(table)
    top = plan.nodes.shape[0] - 1
    if top < 0:
        return 0.0
    for k in range(opened.shape[0]):
        refresh_composite(plan, mechanism, c, run, opened[k], False)
    energy = c.composite[top, P_SPRING]
    for k in range(3):
        energy -= mechanism.gravity[k] * c.composite[top, P_MOMENT + k]
    return energy


def scalars(sim: QuasiStatics) -> dict[str, float]:
    """See `QuasiStatics.scalars`."""
    run = sim._tree.run
    potential = float(potential_energy(sim._tree.table, np.sort(run.opened[: run.counts[OPEN_COUNT]])))
    return {
        "kinetic_energy": 0.0,
        "potential_energy": potential + sim.field_energy,
        "energy": potential + sim.field_energy,
        "n_active": float(sim._tree.computed_bodies().size),
        **sim.view.forces.scalars(0.0, 0),
    }
