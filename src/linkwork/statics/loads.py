"""Loads on the bodies of a linkage at rest: the same functions as in a simulation, without one."""

from __future__ import annotations

import copy

import numpy as np

from linkwork.core.arrays import IntArray
from linkwork.core.messages.describe import described
from linkwork.dynamics.inputs import as_effort, as_wrenches
from linkwork.errors import StateError
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.simulation.loading.load_columns import LOAD_COLUMNS, LOAD_TORQUE
from linkwork.simulation.loading.loaded import Loaded
from linkwork.simulation.loading.motor_view import Motors
from linkwork.statics.elimination.workspace import Acting

NO_MOTORS = "motors belong to simulations; at rest give the joint a spring, or an effort with set_effort."


@described
class Loads(Loaded):
    """Forces, torques and springs on the bodies of a model, and efforts on its joints.

    loads = lw.Loads(model)
    loads.apply_wrench("tip", force=(3, 0, 0), at=(0.1, 0, 0))
    loads.apply_spring("middle", target=(1, 0, 0), stiffness=200.0)
    rest = lw.settle(model, state, loads=loads)
    """

    def __copy__(self) -> Loads:
        """Nothing is shared: a copy has loads of its own."""
        return copy.deepcopy(self)

    def _loads_changed(self, bodies: IntArray, world: int) -> None:
        """They are read when something settles."""

    def _load_table_grew(self) -> None:
        """It is read when something settles."""

    def _joints_changed(self, joints: IntArray) -> None:
        """Efforts are read when something settles."""

    def set_motor(self, joint: str, *args: object, **options: object) -> None:
        raise StateError(NO_MOTORS)

    @property
    def motors(self) -> Motors:
        raise StateError(NO_MOTORS)


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
        if not isinstance(loads, Loaded):
            raise StateError(f"loads must be lw.Loads(model) or a simulation of the model, not {type(loads).__name__}.")
        if loads.model.n_bodies != model.n_bodies or loads.model.body_names != model.body_names:
            raise StateError(f"loads belong to model '{loads.model.name}', not to '{model.name}'.")
        table = loads.view.loads
        rows, bodies = table.table[: table.count].copy(), table.body[: table.count].copy()
        fixed += table.wrench
        total_effort += loads.view.joints.effort
    return Acting(total_effort, fixed, rows, bodies)


def has_potential(model: Model, acting: Acting) -> bool:
    """Whether what acts has an energy: no torques, no wrenches fixed in bodies, no efforts on ball and free joints."""
    if acting.wrenches.any() or acting.rows[:, LOAD_TORQUE : LOAD_TORQUE + 3].any():
        return False
    if not acting.effort.any():
        return True
    tree = model.arrays.tree
    for i in np.flatnonzero((tree[:, layout.KIND] == layout.SPHERICAL) | (tree[:, layout.KIND] == layout.FREE)):
        first = int(tree[i, layout.V])
        if acting.effort[first : first + int(tree[i, layout.DOF])].any():
            return False
    return True
