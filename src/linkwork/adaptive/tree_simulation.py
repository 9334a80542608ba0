"""A simulation on the assembly tree: each change of what acts on it opens paths of the tree, O(log n) each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.adaptive.nodes import touch_bodies, touch_joints
from linkwork.adaptive.workspace import DIRTY, LOAD_COUNT, OPEN_COUNT, Bundles
from linkwork.assembly.node_table import HANG, INDEX, JOIN, NODE_KIND
from linkwork.core.bundles import describe
from linkwork.dynamics.inputs import as_array
from linkwork.errors import StateError
from linkwork.model.layout import V
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.acting import JointForces, present_efforts
from linkwork.simulation.base import LinkageSimulation
from linkwork.simulation.moving import EFFORT_PARTS

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class TreeSimulation(LinkageSimulation):
    """What both adaptive simulations have: the bundles of the assembly tree, and the table that kernels read them from."""

    _marks = DIRTY  # flags of a node in which something changed
    _joint_marks = DIRTY  # in which only efforts changed

    def __init__(self, model: Model, bundles: Bundles, *more: Any):
        """more: bundles that stand behind those of the tree in the table."""
        super().__init__(model, State(bundles.run.q, bundles.run.v))
        self._plan, self._mechanism, self._coefficients, run = bundles
        self._run = run._replace(effort=self._effort, motor=self._motor, wrench=self._loads.wrench)
        self._more = more
        self._load_table_grew()

    def _load_table_grew(self) -> None:
        self._run = self._run._replace(load=self._loads.table, load_body=self._loads.body)
        self._table = describe(self._plan, self._mechanism, self._coefficients, self._run, *self._more)

    def _apply_again(self) -> None:
        """All loads, efforts and motors act on a tree that has just begun."""
        self._run.counts[LOAD_COUNT] = self._loads.count
        for load in self._loads.all:
            touch_bodies(self._table, load.bodies, 0 if load.is_fixed else 1, self._marks)
        driven = np.flatnonzero((self._effort != 0.0) | self._motor.any(axis=1))
        starts = self._mechanism.whole_tree[:, V]
        self._joints_changed(np.unique(np.searchsorted(starts, driven, side="right") - 1))

    def _hold_loops_open(self) -> None:
        """The paths of the bodies at the ends of loops stay open: there the loops' forces act."""
        ends = self._run.loop_body[self._run.loop_body >= 0]
        touch_bodies(self._table, ends, 1, self._marks)

    def _loads_changed(self, bodies: IntArray, world: int) -> None:
        self._run.counts[LOAD_COUNT] = self._loads.count
        touch_bodies(self._table, bodies, world, self._load_marks)

    @property
    def _load_marks(self) -> int:
        """Flags of a node in which loads changed."""
        return self._marks

    def _joint_changed(self, joint: int) -> None:
        self._joints_changed(np.array([joint], dtype=np.int64))

    def _joints_changed(self, joints: IntArray) -> None:
        touch_joints(self._table, joints, self._joint_marks)

    def _coordinates_of_joints(self) -> FloatArray:
        return self._run.q

    def _present_efforts(self) -> FloatArray:
        """Efforts on all joints as they are at the present state, by source, shape (nv, 5)."""
        m, run, nv = self._mechanism, self._run, self.model.nv
        acting = (run.effort, run.motor, m.strength, m.top_speed, run.q, run.v, run.qdd)
        return present_efforts(
            JointForces(m.whole_tree, m.dof, m.rest, *acting, np.zeros(nv), np.zeros((nv, EFFORT_PARTS)))
        )

    def _bring_up_to_date(self) -> None:
        """Coefficients at the present state on the paths of all loads."""
        raise NotImplementedError

    def _computed_bodies(self) -> IntArray:
        """Bodies whose joints are open, in order."""
        return self._bodies_of(self._run.opened[: self._run.counts[OPEN_COUNT]])

    def _bodies_of(self, nodes: IntArray) -> IntArray:
        """Bodies whose joints some nodes carry, ascending."""
        rows = self._plan.nodes[nodes]
        return np.sort(rows[np.isin(rows[:, NODE_KIND], (JOIN, HANG)), INDEX])


def metric_weights(model: Model, weights: ArrayLike | None, what: str) -> FloatArray:
    """Weights of squared accelerations or velocities, finite and > 0, shape (nv,); ones by default."""
    metric = np.ones(model.nv) if weights is None else as_array(weights, (model.nv,), what, model).copy()
    bad = np.flatnonzero(~((metric > 0.0) & np.isfinite(metric)))
    if bad.size:
        k = int(bad[0])
        raise StateError(f"{what}[{k}] is {metric[k]}; metric weights must be finite and > 0.")
    return metric
