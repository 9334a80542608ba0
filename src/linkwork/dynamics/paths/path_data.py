"""What path queries read, and memory for one question at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linkwork.core.bundles import Float1, Float2, Int1, Int2, reader

if TYPE_CHECKING:
    from linkwork.dynamics.dca.solver import DcaSolver

MAX_DEPTH = 512  # nodes on a path; at most 5.1 log2(n) + 6 for any shape, which is 160 for a billion joints


class PathData(NamedTuple):
    """What path queries read: coefficients that are up to date on the paths asked about, and memory for one question."""

    nodes: Int2  # (N, 8)  of the assembly plan
    block: Int1  # (N,)  coefficients of each node in `node_data`
    tree: Int2  # (n, 6)
    joint_data: Float2  # (n, 24)  pose and bias of each joint, wrench on each body
    node_data: Float1
    dof_rows: Float1
    effort_sum: Float1  # (nv,)  efforts with those of springs and dampers
    gravity: Float1  # (3,)
    no_effort: Float1  # (nv,)  zero, but for the effort that is the cause of a response
    joint_response: Float1  # (nv,)  accelerations of the joints on the way down
    descent: Int1  # (512,)  the path down
    path: Int1  # (512,)  the path up, and the change at each of its nodes
    bias_change: Float2  # (512, 12)  of the gap or of b; in a rigid stretch also of b1
    wrench: Float1  # (6,)  the cause of a response


path_data_of = reader(PathData)


def path_data(
    nodes: Int2,
    block: Int1,
    tree: Int2,
    joint_data: Float2,
    node_data: Float1,
    dof_rows: Float1,
    effort_sum: Float1,
    gravity: Float1,
) -> PathData:
    """Coefficients with memory for questions of one thread."""
    descent, path = (np.zeros(MAX_DEPTH, dtype=np.int64) for _ in range(2))
    no_effort, joint_response = np.zeros(effort_sum.size), np.zeros(effort_sum.size)
    bias_change = np.zeros((MAX_DEPTH, 12))
    gravity = np.ascontiguousarray(gravity, dtype=np.float64)
    return PathData(
        nodes,
        block,
        tree,
        joint_data,
        node_data,
        dof_rows,
        effort_sum,
        gravity,
        no_effort,
        joint_response,
        descent,
        path,
        bias_change,
        np.zeros(6),
    )


def solver_paths(solver: DcaSolver) -> PathData:
    """The coefficients of a solver, as last assembled."""
    s = solver
    return path_data(
        s.assembly.nodes, s.block, s.tree, s.joint_data, s.node_data, s.dof_rows, s.effort_sum, s.model.gravity
    )
