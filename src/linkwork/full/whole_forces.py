"""Forces that Python finds between two pieces of the compiled step, on a whole linkage; accelerations that it finds."""

from __future__ import annotations

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.front import ALGORITHMS
from linkwork.simulation import moving as mv
from linkwork.simulation.accelerate import all_efforts, all_wrenches, place_bodies
from linkwork.simulation.base import LinkageSimulation
from linkwork.simulation.fields import OutsideForces
from linkwork.simulation.integrators.names import INTEGRATORS
from linkwork.simulation.loaded import IntArray
from linkwork.simulation.momentum import read_momentum
from linkwork.simulation.stepping.choice import go_on_of
from linkwork.simulation.stepping.from_python import Ended, step_in_parts


class WholeForces(OutsideForces, LinkageSimulation):
    """A field, a thermostat and algorithms other than `aba`, each asked between two pieces of a compiled step."""

    algorithm: str
    integrator: str
    _moving: mv.Moving
    _table: IntArray
    _outside_effort: FloatArray  # (nv,) all that acts on joints, for algorithms other than aba
    _outside_wrenches: FloatArray  # (n, 6) the same on bodies

    def _prepare_outside(self) -> None:
        """Arrays of their own for what acts, where a field or a thermostat adds to it."""
        if self._field is not None:
            self._moving = self._moving._replace(wrench=np.zeros((self.model.n_bodies, 6)))
            self._field_wrenches = np.zeros((self.model.n_bodies, 6))
        if self._thermostat is not None and self._thermostat.has_forces:
            self._moving = self._moving._replace(effort=self._effort.copy())
            self._fixman_efforts = np.zeros(self.model.nv)
        self._refreshed_q = np.full(self.model.nq, np.nan)
        self._is_stepped_outside = self.algorithm != "aba" or self._field is not None or self._thermostat is not None
        self._go_on = go_on_of(INTEGRATORS[self.integrator]) if self._is_stepped_outside else None

    def _refresh(self) -> None:
        """Brings wrenches of the field and efforts of Fixman's potential to the present coordinates."""
        moving = self._moving
        if not self._has_outside_forces:
            return
        if not np.array_equal(moving.q, self._refreshed_q):
            self._refreshed_q[:] = np.nan  # what fails below is not there
            if self._field is not None:
                place_bodies(self._table)
                self._field_energy = float(self._field.wrenches(moving.world, self._field_wrenches))
            if self._thermostat is not None and self._thermostat.has_forces:
                self._fixman_efforts[:] = self._thermostat.efforts(moving, self.model.n_bodies, self.model.nv)
            self._refreshed_q[:] = moving.q
        if self._field is not None:
            np.add(self._loads.wrench, self._field_wrenches, out=moving.wrench)
        if moving.effort is not self._effort:
            np.add(self._effort, self._fixman_efforts, out=moving.effort)

    def _after_step(self, h: float) -> None:
        if self._thermostat is None:
            return
        self._thermostat.relax(self._table, self.model.n_bodies, self.model.nv, h)
        if self._moving.base.size:
            read_momentum(self._table)

    def _step_outside(self, h: float) -> Ended:
        """One step with forces, or accelerations by another algorithm than `aba`, from Python."""
        accelerate = None if self.algorithm == "aba" else self._accelerate_quietly
        return step_in_parts(self._go_on, self._table, h, self._refresh, accelerate)

    def _accelerate_quietly(self) -> None:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # told as StateError
            self._accelerate()

    def _accelerate(self) -> None:
        """Accelerations by another algorithm than `aba`."""
        moving = self._moving
        all_efforts(self._table, self._outside_effort)
        all_wrenches(self._table, self._outside_wrenches)
        solve = ALGORITHMS[self.algorithm]
        moving.qdd[:] = solve(self.model, moving.q, moving.v, self._outside_effort, self._outside_wrenches)
        moving.counts[mv.EVALUATIONS] += 1
