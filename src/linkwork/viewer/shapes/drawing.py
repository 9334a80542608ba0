"""A mechanism in viser's scene: instances in batches, of which only those that moved are sent.

A batch is a node of the scene with up to BATCH instances of one prototype, in the order of bodies, so that neighbours in
the tree share it. A batch whose instances all moved as one rigid body is sent as the pose of its node: 7 numbers,
however many instances it has. With a level of detail, batches are those of sectors (`detail`), and a sector that is small
on every screen is hidden behind a few capsules.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.viewer.frames import quaternions
from linkwork.viewer.shapes import prototypes
from linkwork.viewer.shapes.colors import Colors, as_light
from linkwork.viewer.shapes.detail import FINE, Capsules, Detail, Eye
from linkwork.viewer.shapes.instances import Instances

BATCH = 512  # instances; fewer make many nodes, more send much that did not move
STILL = 1e-5  # of the mechanism's size: what moved less is not sent
OF_WORLD = -1  # sector of what does not move


class _Batch:
    """The instances `rows`, and what of them the page has."""

    def __init__(self, handle: Any, rows: IntArray, poses: FloatArray, sector: int):
        self.handle, self.rows, self.sector = handle, rows, sector
        self.sent = poses  # (k, 4, 4) instances in the node's frame
        self.node = np.eye(4)  # the node in the world


class Drawing:
    """The instances of a mechanism, drawn below one node of viser's scene.

    sent: numbers that were sent since it was made, by what they are (instances, nodes, capsules, colors).
    moves_nodes: whether nodes move where all their instances move as one. A file that plays in a loop sets nodes up anew
    without their poses, so it must not.
    detail: which sectors are drawn finely; None: all. is_frozen: keep that as it is, as while a capsule is held.
    """

    def __init__(
        self, scene: Any, name: str, instances: Instances, T: FloatArray, colors: Colors, size: float,
        detail: Detail | None = None,
    ):  # fmt: skip
        self.instances, self.detail = instances, detail
        self._still = STILL * size
        self.batches: list[_Batch] = []
        self._listener: Callable[[Any], None] | None = None
        self._lock = threading.RLock()
        self._body_colors = colors
        self.root = scene.add_frame(f"/{name}", show_axes=False)
        self.moves_nodes, self.is_frozen = True, False
        self.sent = {"instances": 0, "nodes": 0, "capsules": 0, "colors": 0}
        self._colors = self._tints(colors)
        self.capsules = CapsuleNode(scene, f"/{name}/capsules")  # what is far away is drawn as
        reach = np.array([np.linalg.norm(p.points, axis=1).max() for p in instances.prototypes])
        self._reach = (
            reach[instances.kind] * instances.scale.max(axis=1, initial=0.0) if instances.kind.size else np.zeros(0)
        )
        for k, (kind, sector, rows) in enumerate(self._grouped()):
            self._add_batch(scene, f"/{name}/batch_{k}", kind, sector, rows, instances.world_poses(T, rows))

    def _grouped(self) -> list[tuple[int, int, IntArray]]:
        """Prototype, sector and instances of each batch."""
        body = self.instances.body
        sector = np.full(body.size, OF_WORLD) if self.detail is None else self._sectors()
        found = []
        for kind in range(len(self.instances.prototypes)):
            of_kind = np.flatnonzero(self.instances.kind == kind)
            of_kind = of_kind[np.argsort(sector[of_kind], kind="stable")]
            ends = np.flatnonzero(np.diff(sector[of_kind])) + 1
            for rows in np.split(of_kind, ends):
                found += [
                    (kind, int(sector[rows[0]]), rows[first : first + BATCH]) for first in range(0, rows.size, BATCH)
                ]
        return found

    def _sectors(self) -> IntArray:
        assert self.detail is not None
        return np.append(self.detail.sector_of, OF_WORLD)[self.instances.body]

    def _add_batch(self, scene: Any, name: str, kind: int, sector: int, rows: IntArray, X: FloatArray) -> None:
        triangles = self.instances.prototypes[kind]
        handle = scene.add_batched_meshes_simple(
            name,
            triangles.points.astype(np.float32),
            triangles.faces.astype(np.uint32),
            quaternions(X[:, :3, :3]),
            X[:, :3, 3],
            batched_scales=self.instances.scale[rows].astype(np.float32),
            batched_colors=as_light(self._colors[rows]),
            lod="off",
            cast_shadow=False,  # shadows cost more than all the rest where graphics are software
            receive_shadow=False,
            side="double" if len(triangles.points) > 5000 else "front",
        )
        self.batches.append(_Batch(handle, rows, X, sector))

    # -------------------------------------------------------------------------------------------------------------- events

    def listen(self, listener: Callable[[Any], None]) -> None:
        """Calls `listener` for every node of the scene, those that come later too: it waits for clicks and drags."""
        self._listener = listener
        for handle in (*(batch.handle for batch in self.batches), *self.capsules.handles):
            listener(handle)

    def body_of(self, handle: Any, instance: int | None) -> int:
        """The body behind an instance of a node (-1: the world); of a capsule, the one in its middle."""
        k = 0 if instance is None else instance
        if handle.name == self.capsules.name:
            return self.capsules.body_of(k)
        for batch in self.batches:
            if batch.handle.name == handle.name:
                return int(self.instances.body[batch.rows[k]]) if 0 <= k < batch.rows.size else -1
        return -1

    # -------------------------------------------------------------------------------------------------------------- moving

    def move(self, T: FloatArray, eyes: list[Eye] | None = None) -> int:
        """Draws all bodies at new poses, shape (n, 4, 4); returns how many nodes were sent. eyes: who looks."""
        with self._lock:
            if self.detail is not None and eyes and not self.is_frozen and self.detail.choose(T, eyes):
                self._change_levels()
            changed = 0
            for batch in self.batches:
                if self._is_fine(batch):
                    changed += self._move_batch(batch, self.instances.world_poses(T, batch.rows))
            return changed + self._move_capsules(T)

    @property
    def drawn(self) -> int:
        """Shapes and capsules that are shown."""
        shapes = sum(batch.rows.size for batch in self.batches if self._is_fine(batch))
        return shapes + (0 if self.capsules.last is None else int(self.capsules.last.body.size))

    def _is_fine(self, batch: _Batch) -> bool:
        return self.detail is None or batch.sector == OF_WORLD or self.detail.level[batch.sector] == FINE

    def _change_levels(self) -> None:
        for batch in self.batches:
            batch.handle.visible = self._is_fine(batch)

    def _move_batch(self, batch: _Batch, now: FloatArray) -> int:
        """Sends what changed of one batch: nothing, the pose of its node, or all its instances."""
        reach = self._reach[batch.rows]
        if _apart(now, batch.node @ batch.sent, reach) <= self._still:
            return 0
        motion = now[0] @ _inverse(batch.sent[0])
        if self.moves_nodes and _apart(now, motion @ batch.sent, reach) <= self._still:  # all as one rigid body
            batch.node = motion
            batch.handle.wxyz = quaternions(motion[None, :3, :3])[0]
            batch.handle.position = motion[:3, 3]
            self.sent["nodes"] += 7
            return 1
        if not np.array_equal(batch.node, np.eye(4)):
            batch.node = np.eye(4)
            batch.handle.wxyz = (1.0, 0.0, 0.0, 0.0)
            batch.handle.position = (0.0, 0.0, 0.0)
        batch.sent = now
        batch.handle.batched_positions = now[:, :3, 3].astype(np.float32)
        batch.handle.batched_wxyzs = quaternions(now[:, :3, :3]).astype(np.float32)
        self.sent["instances"] += 7 * batch.rows.size
        return 1

    def _move_capsules(self, T: FloatArray) -> int:
        if self.detail is None or not (self.detail.level != FINE).any():
            return self.capsules.clear()
        made = self.detail.capsules(T)
        if self.capsules.needs_new(made):
            tint = self.detail.mean_colors(self._body_colors).astype(np.uint8)
            handle = self.capsules.replace(made, tint)
            if self._listener is not None:
                self._listener(handle)
            self.sent["capsules"] += 10 * made.body.size
            return 1
        sent = self.capsules.move(made, self._still)
        self.sent["capsules"] += sent
        return int(sent > 0)

    # -------------------------------------------------------------------------------------------------------------- colours

    def _tints(self, colors: Colors) -> Colors:
        return self.instances.colors(colors)

    def paint(self, colors: Colors) -> int:
        """Gives all bodies new colours, shape (n, 3); returns how many nodes were sent."""
        with self._lock:
            if np.array_equal(colors, self._body_colors):
                return 0
            self._body_colors = colors
            tint, changed = self._tints(colors), 0
            for batch in self.batches:
                if not np.array_equal(tint[batch.rows], self._colors[batch.rows]):
                    batch.handle.batched_colors = as_light(tint[batch.rows])
                    self.sent["colors"] += 3 * batch.rows.size
                    changed += 1
            self._colors = tint
            if self.detail is not None and self.capsules.last is not None:
                mean = self.detail.mean_colors(colors).astype(np.uint8)
                changed += self.capsules.paint(mean)
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


SIDES = 6  # of a capsule that is a few pixels long
ASPECT = 4.0  # of the prototype, which is stretched: ends of a pixel need no better shape


class CapsuleNode:
    """All capsules of a drawing; made anew when there are others, moved while they stay the same."""

    def __init__(self, scene: Any, name: str):
        self._scene, self.name = scene, name
        self._handle: Any = None
        self._colors: Colors = np.zeros((0, 3), dtype=np.uint8)
        self.last: Capsules | None = None
        triangles = prototypes.capsule(ASPECT, SIDES)
        self._points = (triangles.points / [1.0, 1.0, ASPECT + 2.0]).astype(np.float32)  # radius 1, length 1
        self._faces = triangles.faces.astype(np.uint32)

    @property
    def handles(self) -> list[Any]:
        return [] if self._handle is None else [self._handle]

    def body_of(self, k: int) -> int:
        return int(self.last.body[k]) if self.last is not None and 0 <= k < self.last.body.size else -1

    def needs_new(self, made: Capsules) -> bool:
        """Whether these are capsules of other clusters than are shown."""
        return self.last is None or not np.array_equal(self.last.body, made.body)

    def replace(self, made: Capsules, colors: Colors) -> Any:
        """Shows other capsules; returns their node."""
        self.clear()
        self._handle = self._scene.add_batched_meshes_simple(
            self.name,
            self._points,
            self._faces,
            made.rotation,
            made.position,
            batched_scales=made.scale.astype(np.float32),
            batched_colors=as_light(colors),
            lod="off",
            cast_shadow=False,
            receive_shadow=False,
        )
        self.last, self._colors = made, colors
        return self._handle

    def move(self, made: Capsules, still: float) -> int:
        """Moves the capsules that are shown; returns how many numbers were sent. still: what is not worth it [m]."""
        assert self.last is not None
        if max(_furthest(made.position, self.last.position), _furthest(made.scale, self.last.scale)) <= still and (
            _furthest(made.rotation * made.scale[:, 2:], self.last.rotation * made.scale[:, 2:]) <= still
        ):
            return 0
        self.last = made
        self._handle.batched_positions = made.position.astype(np.float32)
        self._handle.batched_wxyzs = made.rotation.astype(np.float32)
        self._handle.batched_scales = made.scale.astype(np.float32)
        return 10 * made.body.size

    def paint(self, colors: Colors) -> int:
        if self._handle is None or np.array_equal(colors, self._colors):
            return 0
        self._colors = colors
        self._handle.batched_colors = as_light(colors)
        return 1

    def clear(self) -> int:
        """Shows none; returns how many nodes went."""
        self.last = None
        if self._handle is None:
            return 0
        self._handle.remove()
        self._handle = None
        return 1


def _furthest(a: FloatArray, b: FloatArray) -> float:
    return float(np.abs(a - b).max(initial=0.0))
