"""Loads on the bodies of a linkage at rest: the same functions as in a simulation, without one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.dynamics.inputs import as_effort, as_wrenches
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.simulation.loads import LOAD_COLUMNS, LoadVerbs
from linkwork.statics.workspace import Acting

FloatArray = NDArray[np.float64]


class Loads(LoadVerbs):
    """Forces, torques and springs on the bodies of a model, and efforts on its joints.

    loads = lw.Loads(model)
    loads.apply_wrench("tip", force=(3, 0, 0), frame="world", at=(0.1, 0, 0))
    loads.attach("middle", to=(1, 0, 0), stiffness=200.0)
    rest = lw.settle(model, state, loads=loads)
    """

    def __init__(self, model: Model):
        super().__init__(model)
        self.effort = np.zeros(model.nv)
        self._table = np.zeros((4, LOAD_COLUMNS))
        self._bodies = np.zeros(4, dtype=np.int64)

    @property
    def _load_table(self) -> tuple[FloatArray, NDArray[np.int64]]:
        return self._table, self._bodies

    def _grow_load_table(self) -> None:
        self._table = np.concatenate([self._table] * 2)
        self._bodies = np.concatenate([self._bodies] * 2)

    def _fixed_wrench_changed(self, body: int, total: FloatArray) -> None:
        """Sums are formed when they are asked for."""

    def _write_effort(self, joint: int, first: int, effort: FloatArray) -> None:
        self.effort[first : first + effort.size] = effort


def gather(model: Model, effort: object, wrenches: object, loads: object) -> Acting:
    """Everything that acts on a model, checked, in arrays that settling may extend."""
    total_effort = np.array(as_effort(model, effort)) if effort is not None else np.zeros(model.nv)  # type: ignore[arg-type]
    fixed = np.array(as_wrenches(model, wrenches)) if wrenches is not None else np.zeros((model.n_bodies, 6))  # type: ignore[arg-type]
    for what, values in (("effort", total_effort), ("wrenches", fixed)):
        if not np.isfinite(values).all():
            place = tuple(int(k) for k in np.argwhere(~np.isfinite(values))[0])
            raise StateError(f"{what}{list(place)} is {values[place]}; give finite numbers.")
    rows, bodies = np.zeros((0, LOAD_COLUMNS)), np.zeros(0, dtype=np.int64)
    if loads is not None:
        if not isinstance(loads, LoadVerbs):
            raise StateError(f"loads must be lw.Loads(model) or a simulation of the model, not {type(loads).__name__}.")
        if loads.model.n_bodies != model.n_bodies or loads.model.body_names != model.body_names:
            raise StateError(f"loads belong to model '{loads.model.name}', not to '{model.name}'.")
        count = sum(1 for load in loads.loads if load.row >= 0)
        table, table_bodies = loads._load_table
        rows, bodies = table[:count].copy(), table_bodies[:count].copy()
        for load in loads.loads:
            if load.row < 0:
                fixed[load.body] += load.wrench
        if isinstance(loads, Loads):
            total_effort += loads.effort
    return Acting(total_effort, fixed, rows, bodies)
