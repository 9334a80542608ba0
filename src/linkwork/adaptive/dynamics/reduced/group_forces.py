"""Forces that Python finds between two parts of the compiled step, on the rigid groups of the linkage that moves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.adaptive_tree import AdaptiveTree
from linkwork.adaptive.dynamics.reduced.group_field import GroupField
from linkwork.adaptive.dynamics.reduced.group_fluid import GroupFluid
from linkwork.adaptive.dynamics.reduced.reduced import COORDINATES, GROUPS, VELOCITIES, Reduced
from linkwork.adaptive.nodes import mark_bodies
from linkwork.core.arrays import IntArray
from linkwork.errors import LinkworkError
from linkwork.model.model import Model
from linkwork.simulation.integrators.names import INTEGRATORS
from linkwork.simulation.loading.fields import Field
from linkwork.simulation.loading.loads import LoadTable
from linkwork.simulation.momentum.momentum import read_momentum
from linkwork.simulation.parts.moving_linkage import MovingLinkage
from linkwork.simulation.parts.python_forces import PythonForces
from linkwork.simulation.stepping.choice import advance_stage_of
from linkwork.simulation.stepping.from_python import Ended, advance_in_python, record_efforts, step_in_parts
from linkwork.simulation.thermal.langevin import Langevin


class GroupForces(PythonForces):
    """A field and a thermostat on the linkage that moves; the field also loads the metric."""

    def __init__(self, model: Model, field: Field | None, thermostat: Langevin | None, integrator: str):
        super().__init__(model, field, thermostat)
        self.fluid: GroupFluid | None = None
        self._method = INTEGRATORS[integrator]

    def act_on(self, tree: AdaptiveTree, reduced: Reduced, moving: MovingLinkage, loads: LoadTable) -> None:
        self._tree, self._reduced, self._moving, self._loads = tree, reduced, moving, loads
        self._prepare()

    def _prepare(self) -> None:
        """Arrays of their own for what a field or Fixman's potential adds to."""
        self._groups = None if self.field is None else GroupField(self.field, self.model)
        if self._on_all is not None:
            self._tree.replace(wrench=self._loads.wrench.copy())
            self._all_bodies = np.arange(self.model.n_bodies)
        self._given_effort = np.zeros(0)  # efforts on the linkage that moves, without Fixman's
        self._refreshed_q = b""

    def reset(self) -> None:
        super().reset()
        self._prepare()

    @property
    def _on_all(self) -> GroupField | GroupFluid | None:
        """What loads all bodies for the metric: a field, or a fluid."""
        return self._groups if self.fluid is None else self.fluid

    def leave_metric(self) -> None:
        """Field and fluid do not load the metric until they are asked again."""
        if self._on_all is not None:
            self._on_all.metric_wrenches[...] = 0.0
            self._tree.run.wrench[...] = self._loads.wrench

    def load_bodies(self, bodies: IntArray) -> None:
        """Loads fixed in these bodies are others; what the field adds to them for the metric stays."""
        if self._on_all is not None:
            self._tree.run.wrench[bodies] = self._loads.wrench[bodies] + self._on_all.metric_wrenches[bodies]

    def load_metric(self) -> None:
        """Wrenches of field or fluid at the present state become loads on all bodies, for the metric."""
        if self._on_all is None:
            return
        self._on_all.find_metric_wrenches(self._moving.table)
        self._load_all_bodies(self._on_all)

    def load_present(self) -> None:
        """The same where coefficients are read between two updates."""
        if self.fluid is not None:
            self.load_metric()
        if self._groups is None:
            return
        self.refresh()
        self._groups.find_present_wrenches(self._moving.table)
        self._load_all_bodies(self._groups)

    def _load_all_bodies(self, groups: GroupField | GroupFluid) -> None:
        np.add(self._loads.wrench, groups.metric_wrenches, out=self._tree.run.wrench)
        mark_bodies(self._tree.table, self._all_bodies, 0, self._tree.marks)

    def follow_groups(self) -> None:
        """The linkage that moves was gathered anew."""
        if self.fluid is not None:
            self.fluid.follow(self._tree.table)
        if not self.act:
            return
        counts, moving = self._reduced.counts, self._moving
        self._refreshed_q = b""
        self._given_effort = moving.arrays.effort[: counts[VELOCITIES]].copy()
        if self._groups is not None:
            tables = self._tree.table, moving.table
            self._groups.follow(*tables, moving.arrays, int(counts[GROUPS]), self._loads.wrench)

    def refresh(self) -> None:
        if not self.act:
            return
        moving, counts = self._moving.arrays, self._reduced.counts
        here = moving.q[: counts[COORDINATES]].tobytes()  # compared in a tenth of the time that arrays take
        if here == self._refreshed_q:
            return
        self._refreshed_q = b""  # what fails below is not there
        if self._groups is not None:
            self._groups.evaluate(self._moving.table, moving, self._loads.wrench)
            self.energy = self._groups.energy
        if self.thermostat is not None and self.thermostat.has_forces:
            velocities = int(counts[VELOCITIES])
            more = self.thermostat.efforts(moving, int(counts[GROUPS]), velocities)
            np.add(self._given_effort, more, out=moving.effort[:velocities])
        self._refreshed_q = here

    def advance(self, h: float, n: int) -> tuple[int, int, LinkworkError | None]:
        """Up to n steps of h [s]: OK or why it stopped, the steps made, an error on the way."""
        advance_stage, moving = advance_stage_of(self._method), self._moving

        def step(h: float) -> Ended:
            return step_in_parts(advance_stage, moving.table, h, self.refresh)

        found = advance_in_python(step, h, n, self.after_step)
        record_efforts(advance_stage, moving.table, h)
        return found

    def after_step(self, h: float) -> None:
        if self.thermostat is None:
            return
        counts, table = self._reduced.counts, self._moving.table
        self.thermostat.relax(table, int(counts[GROUPS]), int(counts[VELOCITIES]), h)
        if self._moving.bases.size:
            read_momentum(table)

    def _saved_arrays(self) -> dict[str, NDArray[Any]]:
        metric = {} if self._on_all is None else {"metric_wrenches": self._on_all.metric_wrenches}
        return {**metric, **super()._saved_arrays()}
