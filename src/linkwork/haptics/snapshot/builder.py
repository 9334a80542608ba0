"""Snapshots of a simulation: of an open tree in compiled code alone, with loops and contacts by way of their forces."""

from __future__ import annotations

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.haptics.snapshot.constraints import Constraints
from linkwork.haptics.snapshot.grasp_set import GraspSet
from linkwork.haptics.snapshot.ports import build_snapshot, find_responses, write_responses
from linkwork.haptics.snapshot.sources import source_of
from linkwork.simulation.base import LinkageSimulation


class SnapshotBuilder:
    """The way from a simulation to the words of a snapshot."""

    def __init__(self, sim: LinkageSimulation):
        self.source = source_of(sim)
        self._constraints = Constraints(sim, self.source)
        self._body = sim.model.arrays.body

    def hold(self, bodies: IntArray, at: FloatArray, message: FloatArray) -> GraspSet:
        """Hands on bodies, shape (k,), at points (k, 3) in their frames; snapshots go into `message`."""
        leaf = self.source.leaf_of(bodies).astype(np.int64)
        return GraspSet(self.source.paths, self._body, bodies, leaf, at, message)

    def build(self, grasps: GraspSet) -> None:
        """Writes a snapshot of the present state, but for what the settings of hands say."""
        ports = grasps.ports
        self.source.refresh()
        self.source.place(ports.bodies, ports.pose, ports.twist)
        if not self._constraints.are_possible:
            build_snapshot(grasps.table, grasps.ports_table)
            return
        find_responses(grasps.table, grasps.ports_table)
        self._constraints.close(grasps)
        write_responses(grasps.table, grasps.ports_table)
