"""What path queries read, and memory for one question at a time."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from linkwork.core.bundles import Float1, Float2, Int1, Int2, reader

MAX_DEPTH = 512  # nodes on a path; at most 5.1 log2(n) + 6 for any shape, which is 160 for a billion joints


class PathData(NamedTuple):
    """What path queries read: coefficients that are up to date on the paths asked about, and memory for one question."""

    nodes: Int2  # (N, 8)  of the assembly plan
    block: Int1  # (N,)  coefficients of each node in `coef`
    tree: Int2  # (n, 6)
    hinge: Float2  # (n, 24)  pose and bias of each joint, wrench on each body
    coef: Float1
    freedom: Float1
    total: Float1  # (nv,)  efforts with those of springs and dampers
    gravity: Float1  # (3,)
    quiet: Float1  # (nv,)  zero, but for the effort that is the cause of a response
    answer: Float1  # (nv,)  accelerations of the joints on the way down
    way: Int1  # (512,)  the path down
    path: Int1  # (512,)  the path up, and the change at each of its nodes
    change: Float2  # (512, 12)  of the gap or of b; in a rigid stretch also of b1
    wrench: Float1  # (6,)  the cause of a response


path_data_of = reader(PathData)


def path_data(
    nodes: Int2, block: Int1, tree: Int2, hinge: Float2, coef: Float1, freedom: Float1, total: Float1, gravity: Float1
) -> PathData:
    """Coefficients with memory for questions of one thread."""
    way, path = (np.zeros(MAX_DEPTH, dtype=np.int64) for _ in range(2))
    quiet, answer = np.zeros(total.size), np.zeros(total.size)
    change = np.zeros((MAX_DEPTH, 12))
    gravity = np.ascontiguousarray(gravity, dtype=np.float64)
    return PathData(
        nodes, block, tree, hinge, coef, freedom, total, gravity, quiet, answer, way, path, change, np.zeros(6)
    )


class Nodes(Protocol):
    """A plan of the assembly tree, as far as path queries ask."""

    @property
    def nodes(self) -> NDArray[np.int64]: ...

    @property
    def leaf(self) -> NDArray[np.int64]: ...


class Heavy(Protocol):
    """A model, as far as path queries ask."""

    @property
    def gravity(self) -> NDArray[np.float64]: ...


class Answers(Protocol):
    """Coefficients of the assembly tree, from which path queries read how bodies answer wrenches."""

    @property
    def assembly(self) -> Nodes: ...

    @property
    def block(self) -> NDArray[np.int64]: ...

    @property
    def tree(self) -> NDArray[np.int64]: ...

    @property
    def hinge(self) -> NDArray[np.float64]: ...

    @property
    def coef(self) -> NDArray[np.float64]: ...

    @property
    def freedom(self) -> NDArray[np.float64]: ...

    @property
    def total(self) -> NDArray[np.float64]: ...

    @property
    def model(self) -> Heavy: ...


def solver_paths(solver: Answers) -> PathData:
    """The coefficients of a solver, as last assembled."""
    s = solver
    return path_data(s.assembly.nodes, s.block, s.tree, s.hinge, s.coef, s.freedom, s.total, s.model.gravity)
