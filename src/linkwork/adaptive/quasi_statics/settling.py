"""A quasi-static simulation goes to an equilibrium at once, and from there on as if it had come there by steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwork.adaptive import workspace as ws
from linkwork.adaptive.quasi_statics.limits import free_all
from linkwork.core.arrays import FloatArray
from linkwork.errors import StateError
from linkwork.statics.in_field import FieldReport, FieldRest
from linkwork.statics.settle import Settled, SettleReport, settle

if TYPE_CHECKING:
    from linkwork.adaptive.quasi_statics.simulation import QuasiStatics


def settle_in_place(sim: QuasiStatics, tolerance: float | None, max_sweeps: int) -> SettleReport | FieldReport:
    """See `QuasiStatics.settle`."""
    loads, joints = sim.view.loads, sim.view.joints
    if joints.motor_joints:
        raise StateError("settle does not know motors; clear them, or give the joints springs and rest positions.")
    rest: Settled | FieldRest
    if sim.field is None:
        rest = settle(sim.model, sim.state, loads=sim, tolerance=tolerance, max_sweeps=max_sweeps)
    elif loads.are_any or joints.effort.any():
        raise StateError("settle knows a field or loads and efforts, not both; clear them, or take steps.")
    else:
        rest = settle(sim.model, sim.state, field=sim.field, tolerance=tolerance, max_sweeps=max_sweeps)
    set_coordinates(sim, rest.state.q)
    return rest.report


def set_coordinates(sim: QuasiStatics, q: FloatArray) -> None:
    """Other coordinates of all joints: everything is formed anew, and what was open stays open."""
    run = sim._tree.run
    if run.held.size:
        free_all(sim._tree.table)
    opened = sim._open.opened()
    counts = run.counts.copy()
    run.q[...] = run.saved_q[...] = q
    sim._check(sim._open.form_coefficients(opened["opened"]))
    for array in (run.metric_sums, run.qdd):
        array[...] = 0
    run.metric_sums[ws.UNIT] = 1.0
    run.counts[...] = counts
    sim._open.open_again(opened)
    sim._solved, sim._is_changed = False, True
