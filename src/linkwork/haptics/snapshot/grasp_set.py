"""The bodies that hands hold now: their ports, the union of their paths, and the tables that kernels read."""

from __future__ import annotations

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.bundles import describe
from linkwork.dynamics.paths.path_data import PathData
from linkwork.dynamics.paths.path_segments import segments
from linkwork.dynamics.paths.path_union import path_union
from linkwork.haptics.snapshot.ports import make_ports


class GraspSet:
    """One or more hands on bodies, shape (k,), whose nodes are `leaf`, at points (k, 3) in their frames [m].

    body: the model's table. message: the words of the snapshot. Cost: O(k log n), once for each change of the hands.
    """

    def __init__(
        self, paths: PathData, body: FloatArray, bodies: IntArray, leaf: IntArray, at: FloatArray, message: FloatArray
    ):
        self.ports = make_ports(body, bodies, leaf, at, message)
        self.ports_table = describe(self.ports)
        self.union = path_union(paths.nodes, leaf)
        self.segments = segments(paths.nodes, self.union)
        self.table = describe(paths, self.union, self.segments)
