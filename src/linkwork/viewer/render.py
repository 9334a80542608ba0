"""Pictures without a browser or graphics hardware: triangles drawn from back to front, with Pillow. The same everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.messages.extras import needed
from linkwork.viewer.frames import FIELD_OF_VIEW, Camera, turn_up
from linkwork.viewer.shapes.colors import Colors
from linkwork.viewer.shapes.instances import Instances

SMOOTH = 2  # pictures are drawn this many times larger and then made smaller, so that edges are smooth
LIGHT = np.array([0.4, -0.45, 0.8]) / np.linalg.norm([0.4, -0.45, 0.8])  # z is up
AMBIENT = 0.45
PAPER, LINE, SHADOW = (255, 255, 255), (222, 224, 230), (226, 228, 233)
GRID_LINES = 24  # on either side of the middle


def pillow() -> tuple[Any, Any]:
    """Pillow's Image and ImageDraw, or an error that says what to install."""
    message = "drawing pictures needs Pillow; install it with: pip install '.[viewer]'"
    return needed("PIL.Image", message), needed("PIL.ImageDraw", message)


class Renderer:
    """Draws the instances of a mechanism on a ground, from one place; nothing is rescaled between frames.

    width, height: of pictures [pixels]. ground: its height along the camera's `up` [m]; None: there is none.
    """

    def __init__(self, instances: Instances, camera: Camera, ground: float | None, width: int = 640, height: int = 480):
        self._image, self._draw = pillow()
        self.instances, self.camera, self.ground = instances, camera, ground
        self.width, self.height = width, height
        self._look_along()
        self._gather()

    def _look_along(self) -> None:
        away = self.camera.position - self.camera.look_at
        near = away / np.linalg.norm(away)
        right = np.cross(self.camera.up, near)
        right /= np.linalg.norm(right)
        self._axes = np.stack([right, np.cross(near, right), near])
        self._focal = 0.5 * SMOOTH * self.height / np.tan(0.5 * np.radians(FIELD_OF_VIEW))
        self._light = turn_up(self.camera.up) @ LIGHT

    def _gather(self) -> None:
        """All corners of all triangles in the frames of their instances, shape (f, 3, 3), and whose they are, (f,)."""
        corners: list[FloatArray] = [np.zeros((0, 3, 3))]
        owner: list[IntArray] = [np.zeros(0, dtype=np.int64)]
        for kind, triangles in enumerate(self.instances.prototypes):
            of_kind = np.flatnonzero(self.instances.kind == kind)
            shape = triangles.points[triangles.faces]
            corners.append((shape[None] * self.instances.scale[of_kind][:, None, None]).reshape(-1, 3, 3))
            owner.append(np.repeat(of_kind, len(shape)))
        self._corners, self._owner = np.concatenate(corners), np.concatenate(owner)

    def draw(self, T: FloatArray, colors: Colors) -> Any:
        """A picture of the mechanism with its bodies at the poses T, shape (n, 4, 4), in `colors`, shape (n, 3)."""
        image = self._image.new("RGB", (SMOOTH * self.width, SMOOTH * self.height), PAPER)
        pen = self._draw.Draw(image)
        X = self.instances.world_poses(T)[self._owner]
        world = np.einsum("fij,fkj->fki", X[:, :3, :3], self._corners) + X[:, None, :3, 3]
        if self.ground is not None:
            self._draw_ground(pen, self.ground)
            self._draw_shadow(pen, world, self.ground)
        tint = self.instances.colors(colors.astype(float))[self._owner]
        self._draw_faces(pen, world, tint)
        return image.resize((self.width, self.height), self._image.Resampling.LANCZOS)

    def on_screen(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Places in the large picture [pixels], shape (..., 2), and distances along the view [m]."""
        view = (points - self.camera.position) @ self._axes.T
        far = np.maximum(-view[..., 2], 1e-3 * self.camera.size)
        middle = 0.5 * SMOOTH * np.array([self.width, self.height])
        flat = self._focal * view[..., :2] / far[..., None] * [1.0, -1.0] + middle
        return flat, -view[..., 2]

    def _draw_ground(self, pen: Any, ground: float) -> None:
        camera, flat = self.camera, turn_up(self.camera.up)[:, :2]
        cell = 10.0 ** np.floor(np.log10(0.3 * camera.size))
        middle = np.round(camera.look_at @ flat / cell) * cell
        reach = cell * np.arange(-GRID_LINES, GRID_LINES + 1)
        ends = np.linspace(
            -GRID_LINES * cell, GRID_LINES * cell, 4 * GRID_LINES + 1
        )  # short, so that none begins behind
        for along in (0, 1):
            for offset in reach:
                local = np.zeros((ends.size, 2))
                local[:, along], local[:, 1 - along] = ends, offset
                points = (local + middle) @ flat.T + ground * camera.up
                places, far = self.on_screen(points)
                for a, b, near in zip(places[:-1], places[1:], np.minimum(far[:-1], far[1:]), strict=True):
                    if near > 0.05 * camera.size:
                        pen.line([tuple(a), tuple(b)], fill=LINE, width=SMOOTH)

    def _draw_shadow(self, pen: Any, world: FloatArray, ground: float) -> None:
        """What lies between the light and the ground, straight on it along the light."""
        up = self.camera.up
        above = (world @ up - ground) / (self._light @ up)
        on_ground, far = self.on_screen(world - above[..., None] * self._light)
        seen = (far.min(axis=1) > 0.05 * self.camera.size) & (above.min(axis=1) >= -1e-9 * self.camera.size)
        for triangle in np.round(on_ground[seen]).reshape(-1, 6).tolist():
            pen.polygon(triangle, fill=SHADOW)

    def _draw_faces(self, pen: Any, world: FloatArray, tint: FloatArray) -> None:
        normal = np.cross(world[:, 1] - world[:, 0], world[:, 2] - world[:, 0])
        length = np.linalg.norm(normal, axis=1, keepdims=True)
        normal = np.divide(normal, length, out=np.zeros_like(normal), where=length > 0.0)
        middle = world.mean(axis=1)
        places, far = self.on_screen(world)
        seen = (np.einsum("fi,fi->f", normal, self.camera.position - middle) > 0.0) & (
            far.min(axis=1) > 1e-3 * self.camera.size
        )
        lit = AMBIENT + (1.0 - AMBIENT) * np.clip(normal @ self._light, 0.0, 1.0)
        shade = np.clip(tint * lit[:, None] + 25.0 * lit[:, None] ** 4, 0.0, 255.0).astype(int)
        depth = np.linalg.norm(middle - self.camera.position, axis=1)
        order = np.flatnonzero(seen)[np.argsort(-depth[seen], kind="stable")]
        for triangle, color in zip(places[order].reshape(-1, 6).tolist(), shade[order].tolist(), strict=True):
            pen.polygon(triangle, fill=tuple(color), outline=tuple(color))
