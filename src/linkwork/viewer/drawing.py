"""A mechanism in viser's scene: instances in batches, of which only those that moved are sent.

A batch is a node of the scene with up to BATCH instances of one prototype, in the order of bodies, so that neighbours in
the tree share it. A batch whose instances all moved as one rigid body is sent as the pose of its node: 7 numbers,
however many instances it has.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.viewer.colors import WORLD, Colors
from linkwork.viewer.frames import quaternions
from linkwork.viewer.pieces import Pieces

BATCH = 512  # instances; fewer make many nodes, more send much that did not move
DIMMED = 0.7  # of a colour: viser's lights together are brighter than one, and would wash colours out
STILL = 1e-5  # of the mechanism's size: what moved less is not sent


class _Batch:
    """Instances `rows` of the pieces, and what of them the page knows."""

    def __init__(self, handle: Any, rows: IntArray, poses: FloatArray):
        self.handle, self.rows = handle, rows
        self.sent = poses  # (k, 4, 4) instances in the node's frame
        self.node = np.eye(4)  # the node in the world


class Drawing:
    """The pieces of a mechanism, drawn below one node of viser's scene.

    sent: numbers that were sent since it was made, by what they are (instances, nodes, colors).
    moves_nodes: whether nodes move where all their instances move as one. A file that plays in a loop sets nodes up anew
    without their poses, so it must not.
    """

    def __init__(self, scene: Any, name: str, pieces: Pieces, T: FloatArray, colors: Colors, size: float):
        self.pieces = pieces
        self._still = STILL * size
        self._batches: list[_Batch] = []
        self._colors = np.zeros((0, 3), dtype=np.uint8)
        self._wanted: Colors = colors
        self.root = scene.add_frame(f"/{name}", show_axes=False)
        self.moves_nodes = True
        self.sent = {"instances": 0, "nodes": 0, "colors": 0}
        X = pieces.world_poses(T)
        tint = self._tints(colors)
        reach = np.array([np.linalg.norm(p.points, axis=1).max() for p in pieces.prototypes])
        self._reach = reach[pieces.kind] * pieces.scale.max(axis=1, initial=0.0) if pieces.kind.size else np.zeros(0)
        for kind, triangles in enumerate(pieces.prototypes):
            of_kind = np.flatnonzero(pieces.kind == kind)
            for first in range(0, of_kind.size, BATCH):
                rows = of_kind[first : first + BATCH]
                handle = scene.add_batched_meshes_simple(
                    f"/{name}/batch_{kind}_{first // BATCH}",
                    triangles.points.astype(np.float32),
                    triangles.faces.astype(np.uint32),
                    quaternions(X[rows, :3, :3]),
                    X[rows, :3, 3],
                    batched_scales=pieces.scale[rows].astype(np.float32),
                    batched_colors=tint[rows],
                    lod="off",
                    cast_shadow=False,  # shadows cost more than all the rest where graphics are software
                    receive_shadow=False,
                    side="double" if len(triangles.points) > 5000 else "front",
                )
                self._batches.append(_Batch(handle, rows, X[rows]))
        self._colors = tint

    @property
    def handles(self) -> list[Any]:
        """Nodes of the scene, for clicks and drags."""
        return [batch.handle for batch in self._batches]

    def body_of(self, handle: Any, instance: int | None) -> int:
        """The body behind an instance of a node (-1: the world)."""
        for batch in self._batches:
            if batch.handle.name == handle.name:
                k = 0 if instance is None else instance
                return int(self.pieces.body[batch.rows[k]]) if 0 <= k < batch.rows.size else -1
        return -1

    def _tints(self, colors: Colors) -> Colors:
        return (DIMMED * np.concatenate([colors, WORLD[None]])[self.pieces.body]).astype(np.uint8)

    def move(self, T: FloatArray) -> int:
        """Draws all bodies at new poses, shape (n, 4, 4); returns how many batches were sent."""
        X = self.pieces.world_poses(T)
        changed = 0
        for batch in self._batches:
            now = X[batch.rows]
            known = batch.node @ batch.sent
            reach = self._reach[batch.rows]
            if _apart(now, known, reach) <= self._still:
                continue
            changed += 1
            motion = now[0] @ _inverse(batch.sent[0])
            if self.moves_nodes and _apart(now, motion @ batch.sent, reach) <= self._still:  # all as one rigid body
                batch.node = motion
                batch.handle.wxyz = quaternions(motion[None, :3, :3])[0]
                batch.handle.position = motion[:3, 3]
                self.sent["nodes"] += 7
                continue
            if not np.array_equal(batch.node, np.eye(4)):
                batch.node = np.eye(4)
                batch.handle.wxyz = (1.0, 0.0, 0.0, 0.0)
                batch.handle.position = (0.0, 0.0, 0.0)
            batch.sent = now
            batch.handle.batched_positions = now[:, :3, 3].astype(np.float32)
            batch.handle.batched_wxyzs = quaternions(now[:, :3, :3]).astype(np.float32)
            self.sent["instances"] += 7 * batch.rows.size
        return changed

    def paint(self, colors: Colors) -> int:
        """Gives all bodies new colours, shape (n, 3); returns how many batches were sent."""
        tint, changed = self._tints(colors), 0
        for batch in self._batches:
            if not np.array_equal(tint[batch.rows], self._colors[batch.rows]):
                batch.handle.batched_colors = tint[batch.rows]
                self.sent["colors"] += 3 * batch.rows.size
                changed += 1
        self._colors = tint
        return changed

    def remove(self) -> None:
        self.root.remove()


def _apart(A: FloatArray, B: FloatArray, reach: FloatArray) -> float:
    """How far points of instances may be apart between two sets of poses [m]. reach: size of each instance, shape (k,)."""
    moved = np.abs(A[:, :3, 3] - B[:, :3, 3]).max(initial=0.0)
    turned = np.abs(A[:, :3, :3] - B[:, :3, :3]).max(axis=(1, 2), initial=0.0)
    return float(moved + (turned * reach).max(initial=0.0))


def _inverse(X: FloatArray) -> FloatArray:
    """The inverse of a pose, shape (4, 4)."""
    Y = np.eye(4)
    Y[:3, :3] = X[:3, :3].T
    Y[:3, 3] = -X[:3, :3].T @ X[:3, 3]
    return Y
