"""The joints that an adaptive run moves at some time, and the rigid groups between them: a linkage of its own.

All other joints stand still during the run. So whatever is active in a step, that step is one of this linkage in which some
joints are locked (`locked`), and costs what has moved, not what there is. Given all joints it is the whole linkage.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.jit import kernel
from linkwork.derivatives.stepping.world_loads import LOAD_AT
from linkwork.model.kernels.joint_kernels import body_pose
from linkwork.model.layout import DOF, INERTIA, PARENT, POSITION, ROTATION, Q, V
from linkwork.model.model import Model
from linkwork.simulation.backward.contact import Found
from linkwork.spatial.inertia import rigid_to_parent
from linkwork.spatial.memory import load3, load9, load10, store3, store9
from linkwork.spatial.rotations import IDENTITY3, ZERO3
from linkwork.spatial.vectors import compose_pose


@kernel
def unite(tree, body, screws, q, number, group, pose, new_tree, new_body):
    """Groups behind the joints with a number, as a linkage: who hangs from whom and where, and inertias.

    number (n,): of the group that hangs from a joint; -1: it does not move. group (n,), pose (n, 12): where each body
    stands; -1: in the world. Cost: O(n).
    """
    for i in range(tree.shape[0]):
        parent, R, p = -1, IDENTITY3, ZERO3
        if tree[i, PARENT] >= 0:
            parent = group[tree[i, PARENT]]
            R, p = load9(pose, tree[i, PARENT], 0), load3(pose, tree[i, PARENT], 9)
        r = number[i]
        if r >= 0:
            R0, p0 = compose_pose(R, p, load9(body, i, ROTATION), load3(body, i, POSITION))
            new_tree[r, PARENT] = parent
            store9(new_body, r, ROTATION, R0)
            store3(new_body, r, POSITION, p0)
            R, p = IDENTITY3, ZERO3
        else:
            r = parent
            Ri, pi = body_pose(tree, body, screws, i, q)
            R, p = compose_pose(R, p, Ri, pi)
        group[i] = r
        store9(pose, i, 0, R)
        store3(pose, i, 9, p)
        if r >= 0:
            moved = rigid_to_parent(R, p, load10(body, i, INERTIA))
            for e in range(10):
                new_body[r, INERTIA + e] += moved[e]


def places(tree: IntArray, bodies: IntArray, column: int, size: int) -> IntArray:
    """Where coordinates (column Q) or freedoms (V) of the joints of some bodies stand among `size` of the whole model."""
    first = tree[bodies, column]
    after = np.append(tree[1:, column], size)[bodies]
    widths = after - first
    begins = np.cumsum(widths) - widths
    return np.repeat(first - begins, widths) + np.arange(int(widths.sum()))


class Acting:
    """Loads and motors of a simulation as they are now, whatever it is given later."""

    def __init__(self, sim: Any):
        self.motor, self.table = sim.view.joints.motor.copy(), sim.view.loads.table.copy()
        self.loads = [
            SimpleNamespace(
                is_fixed=load.is_fixed,
                bodies=load.bodies.copy(),
                rows=load.rows.copy(),
                wrenches=load.wrenches.copy() if load.is_fixed else None,
            )
            for load in sim.loads
        ]


class United:
    """Some joints of a model, given by the bodies they carry, ascending; all others stand where q has them.

    model: the linkage. start: its own of q. freedoms, coordinates: their places in the whole model. loads, saved: what acts
    on it, as a simulation lists and saves it. group (n,), pose (n, 12): where the bodies of the whole model stand in it.
    """

    def __init__(self, model: Model, acting: Acting, joints: IntArray, q: FloatArray):
        arrays = model.arrays
        self.joints, self.has_all_joints = joints, joints.size == model.n_bodies
        self.freedoms = places(arrays.tree, joints, V, model.nv)
        self.coordinates = places(arrays.tree, joints, Q, model.nq)
        tree, body = arrays.tree[joints].copy(), arrays.body[joints].copy()
        tree[:, V] = np.cumsum(tree[:, DOF]) - tree[:, DOF]
        tree[:, Q] = np.searchsorted(self.coordinates, arrays.tree[joints, Q])
        body[:, INERTIA : INERTIA + 10] = 0.0
        number = np.full(model.n_bodies, -1)
        number[joints] = np.arange(joints.size)
        self.group, self.pose = np.empty(model.n_bodies, dtype=np.int64), np.empty((model.n_bodies, 12))
        unite(arrays.tree, arrays.body, arrays.screws, q, number, self.group, self.pose, tree, body)
        f, c = self.freedoms, self.coordinates
        self.start = q[c]
        self.model = replace(
            model,
            arrays=type(arrays)(tree, body, arrays.screws, arrays.dof[f], arrays.rest[c], arrays.gravity),
            body_names=tuple(model.body_names[i] for i in joints),
            joint_names=tuple(model.joint_names[i] for i in joints),
            loops=(),
            couplings=(),
            lower=model.lower[f],
            upper=model.upper[f],
            effort_limit=model.effort_limit[f],
            velocity_limit=model.velocity_limit[f],
        )
        self.saved = {"motor": acting.motor[f], "load_table": acting.table.copy()}
        self.loads = [found for load in acting.loads if (found := self._moved(load)) is not None]

    def _moved(self, load: Any) -> Any:
        """A load on bodies as one on their groups; of those welded to the world nothing is left."""
        carried = self.group[load.bodies] >= 0
        bodies = load.bodies[carried]
        if not bodies.size:
            return None
        R, p = self.pose[bodies, :9].reshape(-1, 3, 3), self.pose[bodies, 9:]
        if load.is_fixed:
            torque, force = (np.einsum("nij,nj->ni", R, load.wrenches[carried, k : k + 3]) for k in (0, 3))
            wrenches = np.hstack([torque + np.cross(p, force), force])
            return SimpleNamespace(is_fixed=True, bodies=self.group[bodies], wrenches=wrenches)
        rows, at = load.rows[carried], slice(LOAD_AT, LOAD_AT + 3)
        table = self.saved["load_table"]
        table[rows, at] = np.einsum("nij,nj->ni", R, table[rows, at]) + p
        return SimpleNamespace(is_fixed=False, bodies=self.group[bodies], rows=rows)

    def carry(self, found: Found) -> Found:
        """Contacts on bodies as ones on their groups, and limits of joints of the model as ones of this linkage's."""
        bodies, pose = found.bodies, found.shapes.pose.copy()
        on = bodies >= 0
        frames = self.pose[bodies[on]]
        R, p = frames[:, :9].reshape(-1, 3, 3), frames[:, 9:]
        if pose.size:
            turned = R @ pose[on, :9].reshape(-1, 3, 3)
            moved = np.einsum("nij,nj->ni", R, pose[on, 9:]) + p
            pose[on] = np.hstack([turned.reshape(-1, 9), moved])
        return found._replace(
            bodies=np.where(on, self.group[bodies], -1),
            shapes=found.shapes._replace(pose=pose),
            limits=np.searchsorted(self.freedoms, found.limits),
        )
