"""Divide and conquer in plain form: the node equations walked over an assembly tree. Slow on purpose; a judge for tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.assembly.node_table import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT
from linkwork.assembly.plan import Assembly, assemble_model
from linkwork.dynamics.dca.nodes import H_C, H_F, H_P, H_R
from linkwork.dynamics.dca.solver import DcaSolver
from linkwork.dynamics.inputs import as_effort, as_state, as_wrenches
from linkwork.model import layout
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.reference import node_equations as eq
from linkwork.spatial.matrices import motion_matrix, rigid_matrix

Array = NDArray[np.floating]


class PlainDca:
    """Coefficients of every node by `node_equations`; `nodes[k]` is a Cluster or a Branch."""

    def __init__(
        self,
        model: Model,
        state: State,
        effort: Array | None = None,
        wrenches: Array | None = None,
        assembly: Assembly | None = None,
    ):
        self.model = model
        self.assembly = assemble_model(model) if assembly is None else assembly
        solver = DcaSolver(model, threads=1)  # only for poses, velocity terms and efforts, which are not on trial here
        solver.prepare(*as_state(model, state), as_effort(model, effort), as_wrenches(model, wrenches))
        self.joints = [joint_data(solver, i) for i in range(model.n_bodies)]
        self.forces = solver.joint_data[:, H_F : H_F + 6].copy()
        self.nodes: list[eq.Cluster | eq.Branch] = []
        for row in self.assembly.nodes:
            self.nodes.append(self._node(row))

    def _node(self, row: NDArray[np.int64]) -> eq.Cluster | eq.Branch:
        left, right, i = self._at(row[LEFT]), self._at(row[RIGHT]), row[INDEX]
        kind = row[NODE_KIND]
        if kind == JOIN:
            return eq.join(left, right, self.joints[i])  # type: ignore[arg-type]
        if kind == HANG:
            return eq.hang(left, self.joints[i])  # type: ignore[arg-type]
        if kind == BODY and left is None:
            return eq.body(body_inertia(self.model, i), self.forces[i])
        if kind == BODY:
            return eq.body_with_branch(body_inertia(self.model, i), self.forces[i], left)  # type: ignore[arg-type]
        return eq.add(left, right)  # type: ignore[arg-type]

    def _at(self, node: int) -> eq.Cluster | eq.Branch | None:
        return self.nodes[node] if node >= 0 else None

    def accelerations(self) -> Array:
        """Joint accelerations, shape (nv,)."""
        qdd = np.zeros(self.model.nv)
        root = self.assembly.root
        inputs: dict[int, tuple[Array, Array]] = {}
        if root >= 0:
            inputs[root] = (np.concatenate([np.zeros(3), -self.model.gravity]), np.zeros(6))
        for node in range(root, -1, -1):
            kind, left, right, i = self.assembly.nodes[node, [NODE_KIND, LEFT, RIGHT, INDEX]]
            first, second = inputs.pop(node)
            if kind == JOIN:
                joint = self.joints[i]
                x, f = eq.pass_join(self.nodes[left], self.nodes[right], joint, first, second)
                inputs[left], inputs[right] = (first, -joint.X.T @ f), (f, second)
                qdd[self.model.v_slice(int(i))] = x
            elif kind == HANG:
                x, f = eq.pass_hang(self.nodes[left], self.joints[i], first)
                inputs[left] = (f, np.zeros(6))
                qdd[self.model.v_slice(int(i))] = x
            elif kind == BODY and left >= 0:
                cluster = self.nodes[node]
                inputs[left] = (cluster.phi11 @ (first + second) + cluster.b1, second)  # type: ignore[union-attr]
            elif kind != BODY:
                inputs[left] = inputs[right] = (first, second)
        return qdd


def joint_data(solver: DcaSolver, i: int) -> eq.Joint:
    arrays = solver.model.arrays
    R = solver.joint_data[i, H_R : H_R + 9]
    X = motion_matrix(R, solver.joint_data[i, H_P : H_P + 3])
    rows = solver.model.v_slice(i)
    if arrays.tree[i, layout.KIND] == layout.HELICAL:
        S = np.array(helical_twist(arrays.body, i)).reshape(6, 1)
    else:
        S = solver.S[rows].T
    return eq.Joint(
        X, S, solver.joint_data[i, H_C : H_C + 6], solver.effort_sum[rows], arrays.dof[rows, layout.ARMATURE]
    )


def body_inertia(model: Model, i: int) -> Array:
    """Spatial inertia of a body about its origin, shape (6, 6)."""
    return rigid_matrix(model.arrays.body[i, layout.INERTIA : layout.INERTIA + 10])
