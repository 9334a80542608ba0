"""One node of the scene with a capsule for each cluster of bodies that is too small on the screen for more."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.viewer.shapes import prototypes
from linkwork.viewer.shapes.colors import Colors, as_light
from linkwork.viewer.shapes.detail import Capsules

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
