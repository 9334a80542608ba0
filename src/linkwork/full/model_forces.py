"""Forces that Python finds between two parts of the compiled step, on a whole linkage; accelerations that it finds."""

from __future__ import annotations

import numpy as np

from linkwork.dynamics.api import ALGORITHMS
from linkwork.model.model import Model
from linkwork.simulation import moving as mv
from linkwork.simulation.integrators.names import INTEGRATORS
from linkwork.simulation.loading.accelerate import all_efforts, all_wrenches, place_bodies
from linkwork.simulation.loading.fields import Field
from linkwork.simulation.loading.loads import LoadTable
from linkwork.simulation.momentum.momentum import read_momentum
from linkwork.simulation.parts.joint_inputs import JointInputs
from linkwork.simulation.parts.moving_linkage import MovingLinkage
from linkwork.simulation.parts.python_forces import PythonForces
from linkwork.simulation.stepping.choice import advance_stage_of
from linkwork.simulation.stepping.from_python import Ended, record_efforts, step_in_parts
from linkwork.simulation.thermal.langevin import Langevin


class ModelForces(PythonForces):
    """A field, a thermostat and algorithms other than `aba`, each asked between two parts of a compiled step.

    are_asked: whether there are any, so that steps are made in parts.
    """

    def __init__(self, model: Model, field: Field | None, thermostat: Langevin | None, algorithm: str, integrator: str):
        super().__init__(model, field, thermostat)
        self.algorithm = algorithm
        self.are_asked = algorithm != "aba" or self.are_any
        self._advance_stage = advance_stage_of(INTEGRATORS[integrator]) if self.are_asked else None
        self._refreshed_q = b""
        n, nv = model.n_bodies, model.nv
        self._field_wrenches = np.zeros((n if field is not None else 0, 6))
        self._fixman_efforts = np.zeros(nv)
        self._all_efforts, self._all_wrenches = np.zeros(nv), np.zeros((n, 6))  # for algorithms other than aba

    def act_on(self, moving: MovingLinkage, loads: LoadTable, joints: JointInputs) -> None:
        """Arrays of their own for what acts, where a field or a thermostat adds to it."""
        self._moving, self._loads, self._joints = moving, loads, joints
        if self.field is not None:
            moving.replace(wrench=np.zeros((self.model.n_bodies, 6)))
        if self.thermostat is not None and self.thermostat.has_forces:
            moving.replace(effort=joints.effort.copy())

    def refresh(self) -> None:
        moving = self._moving.arrays
        if not self.act:
            return
        here = moving.q.tobytes()  # compared in a tenth of the time that arrays take
        if here != self._refreshed_q:
            self._refreshed_q = b""  # what fails below is not there
            if self.field is not None:
                place_bodies(self._moving.table)
                self.energy = float(self.field.wrenches(moving.world, self._field_wrenches))
            if self.thermostat is not None and self.thermostat.has_forces:
                self._fixman_efforts[:] = self.thermostat.efforts(moving, self.model.n_bodies, self.model.nv)
            self._refreshed_q = here
        if self.field is not None:
            np.add(self._loads.wrench, self._field_wrenches, out=moving.wrench)
        if moving.effort is not self._joints.effort:
            np.add(self._joints.effort, self._fixman_efforts, out=moving.effort)

    def forget(self) -> None:
        """Coordinates are others, or what acts there was not found yet."""
        self._refreshed_q = b""

    def after_step(self, h: float) -> None:
        if self.thermostat is None:
            return
        table = self._moving.table
        self.thermostat.relax(table, self.model.n_bodies, self.model.nv, h)
        if self._moving.bases.size:
            read_momentum(table)

    def step(self, h: float) -> Ended:
        """One step with forces, or accelerations by another algorithm than `aba`, from Python."""
        accelerate = None if self.algorithm == "aba" else self._accelerate_quietly
        return step_in_parts(self._advance_stage, self._moving.table, h, self.refresh, accelerate)

    def record_efforts(self, h: float) -> None:
        """What acted on the joints in the last of some steps."""
        record_efforts(self._advance_stage, self._moving.table, h)

    def _accelerate_quietly(self) -> None:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # reported as StateError
            self.accelerate()

    def accelerate(self) -> None:
        """Accelerations by another algorithm than `aba`."""
        moving = self._moving.arrays
        all_efforts(self._moving.table, self._all_efforts)
        all_wrenches(self._moving.table, self._all_wrenches)
        solve = ALGORITHMS[self.algorithm]
        moving.qdd[:] = solve(self.model, moving.q, moving.v, self._all_efforts, self._all_wrenches)
        moving.counts[mv.EVALUATIONS] += 1
