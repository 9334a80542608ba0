"""Where coefficients, poses and twists of a simulation come from, for the bodies that hands hold."""

from __future__ import annotations

import numpy as np

from linkwork.adaptive.dynamics.simulation import AdaptiveDynamics
from linkwork.adaptive.quasi_statics.simulation import QuasiStatics
from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.bundles import describe
from linkwork.dynamics.aba import TWIST
from linkwork.dynamics.dca.nodes import H_P, H_R
from linkwork.dynamics.dca.solver import DcaSolver
from linkwork.dynamics.inputs import explain_failure
from linkwork.dynamics.kinematics import world_poses
from linkwork.dynamics.paths.path_data import PathData, solver_paths
from linkwork.dynamics.paths.path_queries import actual_acceleration
from linkwork.errors import StateError
from linkwork.full.simulation import FullDynamics
from linkwork.haptics.snapshot.contact_rows import write_subspace
from linkwork.loops.system import constrained_bodies
from linkwork.model.layout import DOF, V
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.base import LinkageSimulation
from linkwork.simulation.loading.accelerate import all_efforts, all_wrenches


class Source:
    """Where coefficients, poses and twists of a simulation come from: path queries, whichever simulation keeps them."""

    paths: PathData

    def __init__(self, model: Model, paths: PathData):
        self._model, self.paths = model, paths
        self._table = describe(paths)
        self._S, self._still = np.zeros((model.nv, 6)), np.zeros(model.nv)

    def state(self) -> State:
        """Of the coefficients."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Brings the coefficients on the paths of all loads up to date with the simulation's state."""
        raise NotImplementedError

    def leaf_of(self, bodies: IntArray) -> IntArray:
        """Nodes of bodies in the assembly tree."""
        raise NotImplementedError

    def place(self, bodies: IntArray, pose: FloatArray, twist: FloatArray) -> None:
        """Poses (k, 12) and twists (k, 6) of bodies that carry loads."""
        raise NotImplementedError

    def acceleration(self, body: int) -> FloatArray:
        """Of a body that carries loads, in a world that accelerates by -g, shape (6,)."""
        return np.array(actual_acceleration(self._table, int(self.leaf_of(np.array([body]))[0])))

    def joint_pose(self, body: int) -> tuple[FloatArray, FloatArray]:
        """Rotation (3, 3) and place (3,) [m] of a body in its parent."""
        row = self.paths.joint_data[body]
        return row[H_R : H_R + 9].reshape(3, 3), row[H_P : H_P + 3]

    def subspace(self, body: int) -> FloatArray:
        """Motion subspace of the joint of a body, in its frame, shape (freedoms, 6)."""
        tree, table, screws, *_ = self._model.arrays
        first = int(tree[body, V])
        write_subspace(tree, table, screws, body, self.state().q, self._still, self._S)
        return self._S[first : first + int(tree[body, DOF])]

    def contained_forces(self) -> tuple[IntArray, FloatArray]:
        """Forces of contacts that the coefficients contain: bodies (l,) and wrenches in their frames (l, 6)."""
        return np.zeros(0, dtype=np.int64), np.zeros((0, 6))


class TreeSource(Source):
    """An adaptive simulation: it keeps the coefficients of the fully articulated linkage, and the paths of loads open.

    Hands feel every joint, also those that the simulation holds still. Cost of `refresh`: O(open joints).
    """

    def __init__(self, sim: AdaptiveDynamics | QuasiStatics):
        self._sim = sim
        super().__init__(sim.model, sim.view.tree.paths())

    def state(self) -> State:
        return self._sim.state

    def refresh(self) -> None:
        self._sim.view.refresh()

    def leaf_of(self, bodies: IntArray) -> IntArray:
        return np.asarray(self._sim.view.tree.plan.leaf[bodies])

    def place(self, bodies: IntArray, pose: FloatArray, twist: FloatArray) -> None:
        tree = self._sim.view.tree
        leaf, run = tree.plan.leaf[bodies], tree.run
        pose[:] = run.world[leaf]
        twist[:] = run.twist[leaf] if run.twist.size else 0.0

    def contained_forces(self) -> tuple[IntArray, FloatArray]:
        run, first = self._sim.view.tree.run, constrained_bodies(self._sim.model).size
        used = first + np.flatnonzero(run.loop_body[first:] >= 0)
        return run.loop_body[used], run.loop_wrench[used]


class FullSource(Source):
    """A simulation of all joints: coefficients by divide and conquer on the CPU, O(n), as a step of it."""

    def __init__(self, sim: FullDynamics):
        self._sim = sim
        self._solver = DcaSolver(sim.model, threads=1)
        super().__init__(sim.model, solver_paths(self._solver))
        self._effort, self._wrenches = np.zeros(sim.model.nv), np.zeros((sim.model.n_bodies, 6))

    def state(self) -> State:
        return self._sim.state

    def refresh(self) -> None:
        sim, view = self._sim, self._sim.view
        view.refresh()  # a field acts where the bodies are now
        moving = view.moving
        all_wrenches(view.table, self._wrenches)
        all_efforts(view.table, self._effort)
        self._solver.prepare(moving.q, moving.v, self._effort, self._wrenches)
        bad = self._solver.assemble()
        if bad >= 0:
            raise explain_failure(sim.model, "dca", bad, {"state.q": moving.q}, self._wrenches)

    def leaf_of(self, bodies: IntArray) -> IntArray:
        return self._solver.assembly.leaf[bodies]

    def place(self, bodies: IntArray, pose: FloatArray, twist: FloatArray) -> None:
        moving = self._sim.view.moving
        if self._sim.algorithm == "aba":
            pose[:] = moving.world[bodies]
            twist[:] = moving.work[bodies, TWIST : TWIST + 6]
        else:  # other algorithms, on the GPU too, keep neither
            tree, body, screws, *_ = self._sim.model.arrays
            pose[:] = world_poses(tree, body, screws, moving.q)[bodies]
            twist[:] = self._solver.twist[bodies]


def source_of(sim: LinkageSimulation) -> Source:
    """What hands need of a simulation; refuses kinds that have no answer to them."""
    if isinstance(sim, (AdaptiveDynamics, QuasiStatics)):
        return TreeSource(sim)
    if isinstance(sim, FullDynamics):
        return FullSource(sim)
    raise StateError(
        f"hands hold bodies of AdaptiveDynamics, QuasiStatics or FullDynamics, not of {type(sim).__name__}."
    )
