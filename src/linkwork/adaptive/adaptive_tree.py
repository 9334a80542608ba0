"""The assembly tree of an adaptive simulation: each change of what acts on it opens paths of the tree, O(log n) each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.adaptive.nodes import mark_bodies, mark_joints
from linkwork.adaptive.workspace import LOAD_COUNT, OPEN_COUNT, Bundles
from linkwork.assembly.node_table import HANG, INDEX, JOIN, NODE_KIND
from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.bundles import describe
from linkwork.dynamics.inputs import as_array
from linkwork.dynamics.paths.path_data import PathData, path_data
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.simulation.loading.applied_efforts import JointForces, present_efforts
from linkwork.simulation.loading.loads import LoadTable
from linkwork.simulation.moving import EFFORT_PARTS
from linkwork.simulation.parts.joint_inputs import JointInputs
from linkwork.simulation.parts.part import Entry, Saved


class AdaptiveTree:
    """What both adaptive simulations have: the bundles of the assembly tree, and the table that kernels read them from.

    marks: flags of a node in which something changed; joint_marks: in which only efforts changed.
    more: bundles that stand behind those of the tree in the table.
    """

    def __init__(
        self, bundles: Bundles, loads: LoadTable, joints: JointInputs, marks: int, joint_marks: int, *more: Any
    ):
        self._loads, self._joints = loads, joints
        self.marks, self.joint_marks = marks, joint_marks
        self.plan, self.mechanism, self.coefficients, run = bundles
        self.run = run._replace(effort=joints.effort, motor=joints.motor, wrench=loads.wrench)
        self._more = more
        self.table = describe(self.plan, self.mechanism, self.coefficients, self.run, *more)

    def paths(self) -> PathData:
        """What path queries read, wherever paths are open and up to date, with memory for one question at a time."""
        plan, mechanism, c = self.plan, self.mechanism, self.coefficients
        coefficients = c.joint_data, c.node_data, c.dof_rows, c.effort_sum
        return path_data(plan.nodes, plan.block, mechanism.tree, *coefficients, mechanism.gravity)

    # ------------------------------------------------------------------------------------------------------- what changes

    def replace(self, **arrays: NDArray[Any]) -> None:
        """Other arrays in place of some of `run`."""
        self.run = self.run._replace(**arrays)
        self.table = describe(self.plan, self.mechanism, self.coefficients, self.run, *self._more)

    def follow_load_table(self) -> None:
        """The table of the world's loads is another array."""
        self.replace(load=self._loads.table, load_body=self._loads.body)

    def loads_changed(self, bodies: IntArray, world: int, marks: int | None = None) -> None:
        """world: 1 where loads that the world holds began to act on these bodies, -1 where they ended."""
        self.run.counts[LOAD_COUNT] = self._loads.count
        mark_bodies(self.table, bodies, world, self.marks if marks is None else marks)

    def joints_changed(self, joints: IntArray) -> None:
        mark_joints(self.table, joints, self.joint_marks)

    def apply_again(self) -> None:
        """All loads act on a tree that has just begun."""
        self.run.counts[LOAD_COUNT] = self._loads.count
        for load in self._loads.all:
            mark_bodies(self.table, load.bodies, 0 if load.is_fixed else 1, self.marks)

    def hold_loops_open(self) -> None:
        """The paths of the bodies at the ends of loops stay open: there the loops' forces act."""
        mark_bodies(self.table, self.run.loop_body[self.run.loop_body >= 0], 1, self.marks)

    # ------------------------------------------------------------------------------------------------------------ results

    def present_efforts(self) -> FloatArray:
        """Efforts on all joints as they are at the present state, by source, shape (nv, 5)."""
        return self.efforts_at(self.run.q, self.run.v, self.run.qdd)

    def efforts_at(self, q: FloatArray, v: FloatArray, qdd: FloatArray) -> FloatArray:
        """The same at another state."""
        m, run, nv = self.mechanism, self.run, self.run.v.size
        acting = (run.effort, run.motor, m.effort_limit, m.velocity_limit, q, v, qdd)
        return present_efforts(
            JointForces(m.model_tree, m.dof, m.rest, *acting, np.zeros(nv), np.zeros((nv, EFFORT_PARTS)))
        )

    def computed_bodies(self) -> IntArray:
        """Bodies whose joints are open, in order."""
        return self.bodies_of(self.run.opened[: self.run.counts[OPEN_COUNT]])

    def bodies_of(self, nodes: IntArray) -> IntArray:
        """Bodies whose joints some nodes carry, ascending."""
        rows = self.plan.nodes[nodes]
        return np.sort(rows[np.isin(rows[:, NODE_KIND], (JOIN, HANG)), INDEX])

    # ---------------------------------------------------------------------------------------------------------- checkpoints

    def schema_of_nodes(self) -> tuple[Entry, ...]:
        """Of `saved_nodes`."""
        last = self.plan.nodes.shape[0] - 1
        return (
            Entry("opened", ("opened",), "i", 0, last),
            Entry("flag", ("opened",), "iu", 0, 255),
            Entry("held", ("held",), "i", 0, last),
            Entry("held_open", ("held",), "iu", 0),
        )

    def saved_nodes(self, opened: IntArray) -> dict[str, NDArray[Any]]:
        """Which nodes are open, their flags (closed nodes have none) and what holds nodes open."""
        held = np.flatnonzero(self.run.required_open)
        return {
            "opened": opened,
            "flag": self.run.flag[opened],
            "held": held,
            "held_open": self.run.required_open[held],
        }

    def holds_again(self, saved: Saved) -> None:
        """What holds nodes open is as it was saved."""
        self.run.required_open[...] = 0
        self.run.required_open[saved["held"]] = saved["held_open"]


def metric_weights(model: Model, weights: ArrayLike | None, what: str) -> FloatArray:
    """Weights of squared accelerations or velocities, finite and > 0, shape (nv,); ones by default."""
    metric = np.ones(model.nv) if weights is None else as_array(weights, (model.nv,), what, model).copy()
    bad = np.flatnonzero(~((metric > 0.0) & np.isfinite(metric)))
    if bad.size:
        k = int(bad[0])
        raise StateError(f"{what}[{k}] is {metric[k]}; metric weights must be finite and > 0.")
    return metric
