"""Where coefficients, poses and twists of a simulation come from, for the bodies that hands hold."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.dynamics.simulation import AdaptiveDynamics
from linkwork.adaptive.quasi_statics.simulation import QuasiStatics
from linkwork.core.bundles import describe
from linkwork.dynamics.aba import TWIST
from linkwork.dynamics.dca.solver import DcaSolver
from linkwork.dynamics.inputs import explain_failure
from linkwork.dynamics.kinematics import world_poses
from linkwork.dynamics.path_queries import PathData, path_data, solver_paths
from linkwork.errors import StateError
from linkwork.full.simulation import FullDynamics
from linkwork.haptics.closed import ClosedAnswers
from linkwork.haptics.ports import Ports, condense, find_answers, write_answers
from linkwork.model.state import State
from linkwork.simulation.accelerate import all_efforts, all_wrenches
from linkwork.simulation.base import LinkageSimulation

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Condenser:
    """Makes snapshots of a simulation: of an open tree in compiled code alone, with loops by way of their forces."""

    def __init__(self, sim: LinkageSimulation):
        self.source = source_of(sim)
        self.paths_table = describe(self.source.paths)
        self._closed = ClosedAnswers(sim.model, self.source.leaf_of) if sim.model.loops else None

    def condense(self, ports: Ports, ports_table: IntArray) -> None:
        """Writes records and matrix of a snapshot for the hands of `ports`."""
        self.source.refresh()
        self.source.place(ports.bodies, ports.pose, ports.twist)
        if self._closed is None:
            condense(self.paths_table, ports_table)
            return
        find_answers(self.paths_table, ports_table)
        self._closed.close(self.paths_table, self.source.state(), ports)
        write_answers(self.paths_table, ports_table)


class Source(Protocol):
    """Where coefficients, poses and twists of a simulation come from."""

    paths: PathData

    def state(self) -> State:
        """Of the coefficients."""

    def refresh(self) -> None:
        """Brings the coefficients on the paths of all loads up to date with the simulation's state."""

    def leaf_of(self, bodies: IntArray) -> IntArray:
        """Nodes of bodies in the assembly tree."""

    def place(self, bodies: IntArray, pose: FloatArray, twist: FloatArray) -> None:
        """Poses (k, 12) and twists (k, 6) of bodies that carry loads."""


class TreeSource:
    """An adaptive simulation: it keeps the coefficients of the fully articulated linkage, and the paths of loads open.

    Hands feel every joint, also those that the simulation holds still. Cost of `refresh`: O(open joints).
    """

    def __init__(self, sim: AdaptiveDynamics | QuasiStatics):
        self._sim = sim
        plan, mechanism, c = sim._plan, sim._mechanism, sim._coefficients
        self.paths = path_data(
            plan.nodes, plan.block, mechanism.tree, c.joint_data, c.kept, c.dof_rows, c.effort_sum, mechanism.gravity
        )

    def state(self) -> State:
        return self._sim.state

    def refresh(self) -> None:
        self._sim._bring_up_to_date()

    def leaf_of(self, bodies: IntArray) -> IntArray:
        return self._sim._plan.leaf[bodies]

    def place(self, bodies: IntArray, pose: FloatArray, twist: FloatArray) -> None:
        leaf, run = self._sim._plan.leaf[bodies], self._sim._run
        pose[:] = run.world[leaf]
        twist[:] = run.twist[leaf] if run.twist.size else 0.0


class FullSource:
    """A simulation of all joints: coefficients by divide and conquer on the CPU, O(n), as a step of it."""

    def __init__(self, sim: FullDynamics):
        self._sim = sim
        self._solver = DcaSolver(sim.model, threads=1)
        self.paths = solver_paths(self._solver)
        self._effort, self._wrenches = np.zeros(sim.model.nv), np.zeros((sim.model.n_bodies, 6))

    def state(self) -> State:
        return self._sim.state

    def refresh(self) -> None:
        sim, moving = self._sim, self._sim._moving
        sim._refresh()  # a field acts where the bodies are now
        all_wrenches(sim._table, self._wrenches)
        all_efforts(sim._table, self._effort)
        self._solver.prepare(moving.q, moving.v, self._effort, self._wrenches)
        bad = self._solver.assemble()
        if bad >= 0:
            raise explain_failure(sim.model, "dca", bad, {"state.q": moving.q}, self._wrenches)

    def leaf_of(self, bodies: IntArray) -> IntArray:
        return self._solver.assembly.leaf[bodies]

    def place(self, bodies: IntArray, pose: FloatArray, twist: FloatArray) -> None:
        moving = self._sim._moving
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
