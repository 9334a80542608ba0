"""Loads of an adaptive simulation: each change opens one path of the assembly tree, O(log n)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.nodes import touch_path
from linkwork.adaptive.quasi_statics.update import set_fixed_wrench, set_joint_effort
from linkwork.adaptive.workspace import DIRTY, LOAD_COUNT, OPEN_COUNT, Coefficients, Mechanism, Plan, Run
from linkwork.assembly.plan import HANG, INDEX, JOIN, NODE_KIND
from linkwork.model.model import Model
from linkwork.simulation.loads import Load, LoadVerbs

FloatArray = NDArray[np.float64]


class Loads(LoadVerbs):
    """What acts on the bodies and joints of a simulation on the assembly tree."""

    def __init__(self, model: Model, plan: Plan, mechanism: Mechanism, coefficients: Coefficients, run: Run):
        super().__init__(model)
        self._plan, self._mechanism, self._coefficients, self._run = plan, mechanism, coefficients, run
        self._loads_changed = True

    @property
    def _bundles(self) -> tuple[Plan, Mechanism, Coefficients, Run]:
        return self._plan, self._mechanism, self._coefficients, self._run

    @property
    def _some_bundles(self) -> tuple[Plan, Mechanism, Run]:
        return self._plan, self._mechanism, self._run

    _marks = DIRTY  # flags of a node in which something changed

    def _touch(self, node: int, loads: int) -> None:
        """Something changed at a node; loads: 1 when a world load begins to act there, -1 when one ends."""
        touch_path(self._plan, self._run, node, loads, self._marks)
        self._loads_changed = True

    @property
    def _load_table(self) -> tuple[FloatArray, NDArray[np.int64]]:
        return self._run.load, self._run.load_body

    def _grow_load_table(self) -> None:
        run = self._run
        columns = [name for name in run._fields if name.startswith("load") and getattr(run, name) is not None]
        self._run = run._replace(**{name: np.concatenate([getattr(run, name)] * 2) for name in columns})

    def _fixed_wrench_changed(self, body: int, total: FloatArray) -> None:
        set_fixed_wrench(self._coefficients, self._run, body, total)
        self._touch(self._plan.leaf[body], 0)

    def _write_effort(self, joint: int, first: int, effort: FloatArray) -> None:
        set_joint_effort(self._mechanism, self._coefficients, self._run, joint, first, effort)
        self._touch(self._plan.joint[joint], 0)

    def _world_load_added(self, load: Load) -> None:
        self._run.counts[LOAD_COUNT] = len(self._rows)
        self._touch(self._plan.leaf[load.body], 1)

    def _world_load_changed(self, load: Load) -> None:
        self._touch(self._plan.leaf[load.body], 0)

    def _world_load_left(self, load: Load) -> None:
        self._run.counts[LOAD_COUNT] = len(self._rows)
        set_fixed_wrench(self._coefficients, self._run, load.body, self._run.wrench[load.body].copy())
        self._touch(self._plan.leaf[load.body], -1)

    def _computed_bodies(self) -> NDArray[np.int64]:
        """Bodies whose joints are open, in order."""
        return self._bodies_of(self._run.opened[: self._run.counts[OPEN_COUNT]])

    def _bodies_of(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Bodies whose joints some nodes carry, ascending."""
        rows = self._plan.nodes[nodes]
        return np.sort(rows[np.isin(rows[:, NODE_KIND], (JOIN, HANG)), INDEX])
