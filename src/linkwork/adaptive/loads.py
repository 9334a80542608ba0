"""Loads of an adaptive simulation: each change opens one path of the assembly tree, O(log n)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.quasi_statics.update import set_fixed_wrench, set_joint_effort, touch_path
from linkwork.adaptive.quasi_statics.workspace import LOAD_COUNT, OPEN_COUNT, Coefficients, Live, Mechanism, Plan
from linkwork.assembly.plan import HANG, INDEX, JOIN, NODE_KIND
from linkwork.model.model import Model
from linkwork.simulation.loads import Load, LoadVerbs

FloatArray = NDArray[np.float64]


class Loads(LoadVerbs):
    """What acts on the bodies and joints of a simulation on the assembly tree."""

    def __init__(self, model: Model, plan: Plan, mechanism: Mechanism, coefficients: Coefficients, live: Live):
        super().__init__(model)
        self._plan, self._mechanism, self._coefficients, self._live = plan, mechanism, coefficients, live
        self._joint_node = np.full(model.n_bodies, -1, dtype=np.int64)
        kinds = plan.nodes[:, NODE_KIND]
        joined = np.flatnonzero((kinds == JOIN) | (kinds == HANG))
        self._joint_node[plan.nodes[joined, INDEX]] = joined
        self._loads_changed = True

    @property
    def _bundles(self) -> tuple[Plan, Mechanism, Coefficients, Live]:
        return self._plan, self._mechanism, self._coefficients, self._live

    @property
    def _some_bundles(self) -> tuple[Plan, Mechanism, Live]:
        return self._plan, self._mechanism, self._live

    def _touch(self, node: int, pin: int) -> None:
        """Something changed at a node; `pin` is 1 when a world load begins to act there, -1 when one ends."""
        touch_path(self._plan, self._live, node, pin)
        self._loads_changed = True

    @property
    def _load_table(self) -> tuple[FloatArray, NDArray[np.int64]]:
        return self._live.load, self._live.load_body

    def _grow_load_table(self) -> None:
        live = self._live
        columns = [name for name in live._fields if name.startswith("load")]
        self._live = live._replace(**{name: np.concatenate([getattr(live, name)] * 2) for name in columns})

    def _fixed_wrench_changed(self, body: int, total: FloatArray) -> None:
        set_fixed_wrench(self._coefficients, self._live, body, total)
        self._touch(self._live.leaf[body], 0)

    def _write_effort(self, joint: int, first: int, effort: FloatArray) -> None:
        set_joint_effort(self._mechanism, self._coefficients, self._live, joint, first, effort)
        self._touch(self._joint_node[joint], 0)

    def _world_load_added(self, load: Load) -> None:
        self._live.tally[LOAD_COUNT] = len(self._rows)
        self._touch(self._live.leaf[load.body], 1)

    def _world_load_changed(self, load: Load) -> None:
        self._touch(self._live.leaf[load.body], 0)

    def _world_load_left(self, load: Load) -> None:
        self._live.tally[LOAD_COUNT] = len(self._rows)
        set_fixed_wrench(self._coefficients, self._live, load.body, self._live.wrench[load.body].copy())
        self._touch(self._live.leaf[load.body], -1)

    def _computed_bodies(self) -> NDArray[np.int64]:
        """Bodies whose joints are open, in order."""
        opened = self._live.opened[: self._live.tally[OPEN_COUNT]]
        kinds = self._plan.nodes[opened, NODE_KIND]
        return np.sort(self._plan.nodes[opened[(kinds == JOIN) | (kinds == HANG)], INDEX])
