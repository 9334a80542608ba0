"""Still pictures of a model: its shapes as solids, or its bodies as lines. Needs matplotlib, the extra `plots`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import FloatArray
from linkwork.core.messages.extras import needed
from linkwork.dynamics.quantities.motion import body_poses
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.model.shapes import Box, Capsule, Cylinder, Shape, Sphere
from linkwork.model.state import State

SOLIDS_UP_TO = 800  # shapes; more take long, and show less than lines do
DOTS_UP_TO = 400  # bodies; dots on more joints than this hide the lines
SIDES = 14  # of what is round
LIGHT = np.array([0.35, -0.5, 0.8]) / np.linalg.norm([0.35, -0.5, 0.8])
MARGIN = 0.06  # of the picture, on every side


def draw(
    model: Model,
    state: State | None = None,
    axes: Any = None,
    *,
    colors: str = "viridis_r",
    width: float = 2.0,
    view: tuple[float, float] = (18.0, -60.0),
) -> Any:
    """Draws a model at a state (default: neutral) and returns the matplotlib axes.

    axes: 3-D axes to draw into; new ones by default.
    colors: a matplotlib colour map, run through from the root to the tips.
    width: of lines [points], drawn where there are no shapes or too many; view: elevation and azimuth [degrees].
    """
    plt, art3d = _matplotlib()
    if axes is None:
        figure = plt.figure(figsize=(4.8, 3.6))
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0), projection="3d", proj_type="ortho")
    T = body_poses(model, model.neutral() if state is None else state)
    shade = plt.get_cmap(colors)(0.08 + 0.87 * _way_down(model))[:, :3]  # both ends of the map are hard to see
    axes.view_init(*view)
    solids = [(body, shape) for body, shape in model.shapes if body >= 0 and _faces_of(shape).size]
    solid = 0 < len(solids) <= SOLIDS_UP_TO
    # a rod reaches as far beyond its centre of mass as that lies from its joint; a solid shows that by itself
    ends, owner = _lines(model, T, reach=1.0 if solid else 2.0)
    points = ends.reshape(-1, 3)
    if solid:
        faces, tints = _lit(*_solid_faces(solids, T, shade), view)
        axes.add_collection3d(
            art3d.Poly3DCollection(faces, facecolors=tints, edgecolors=tints, linewidths=0.3, clip_on=False)
        )
        points = np.concatenate([points, faces.reshape(-1, 3)])
        width = min(width, 1.5)  # the lines only join what the solids leave apart
    elif model.n_bodies <= DOTS_UP_TO and ends.size:
        axes.scatter(*ends[:, 0].T, s=4.0 * width, c=shade[owner], depthshade=False, clip_on=False)
    if ends.size:
        axes.add_collection3d(
            art3d.Line3DCollection(ends, colors=shade[owner], linewidths=width, capstyle="round", clip_on=False)
        )
    _frame(axes, points, view)
    return axes


def _matplotlib() -> tuple[Any, Any]:
    """pyplot and the 3-D artists, or an error that says what to install."""
    message = "drawing needs matplotlib; install it with: pip install '.[plots]'"
    return needed("matplotlib.pyplot", message), needed("mpl_toolkits.mplot3d.art3d", message)


def _way_down(model: Model) -> FloatArray:
    """How far down the tree each body is, 0 at the root to 1 at the deepest, shape (n,)."""
    depth = np.zeros(model.n_bodies)
    for i, above in enumerate(model.parent.tolist()):
        depth[i] = 0.0 if above < 0 else depth[above] + 1.0
    return depth / max(1.0, float(depth.max(initial=0.0)))


def _lines(model: Model, T: FloatArray, reach: float) -> tuple[FloatArray, NDArray[np.int64]]:
    """Lines from every joint to the next; end points, shape (m, 2, 3), and the body each belongs to, shape (m,).

    From the last joints they go on, `reach` times the way to the centre of mass.
    """
    origin, parent = T[:, :3, 3], model.parent
    hangs = np.flatnonzero(parent >= 0)
    leaves = np.setdiff1d(np.arange(model.n_bodies), parent[hangs])
    mass, moment = model.mass[leaves, None], model.arrays.body[leaves, layout.INERTIA + 1 : layout.INERTIA + 4]
    middle = np.divide(moment, mass, out=np.zeros_like(moment), where=mass > 0)
    tips = origin[leaves] + reach * np.einsum("nij,nj->ni", T[leaves, :3, :3], middle)
    ends = np.stack(
        [np.concatenate([origin[parent[hangs]], origin[leaves]]), np.concatenate([origin[hangs], tips])], axis=1
    )
    return ends, np.concatenate([parent[hangs], leaves])


def _solid_faces(solids: list[tuple[int, Shape]], T: FloatArray, shade: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Quadrilaterals of all shapes in the world, shape (m, 4, 3), and the colour of each, shape (m, 3)."""
    faces, tints = [], []
    for body, shape in solids:
        pose = T[body] @ shape.placement.matrix
        quads = _faces_of(shape)
        faces.append(quads @ pose[:3, :3].T + pose[:3, 3])
        tints.append(np.broadcast_to(shade[body], (len(quads), 3)))
    return np.concatenate(faces), np.concatenate(tints)


def _faces_of(shape: Shape) -> FloatArray:
    """Quadrilaterals that bound a shape in its own frame, seen from outside anticlockwise, shape (m, 4, 3)."""
    if isinstance(shape, Box):
        ring = 0.5 * np.array([[1, -1, 0], [1, 1, 0], [-1, 1, 0], [-1, -1, 0]]) * shape.size
        up = np.array([0.0, 0.0, 0.5 * shape.size[2]])
        walls = [
            np.array([a - up, b - up, b + up, a + up]) for a, b in zip(ring, np.roll(ring, -1, axis=0), strict=True)
        ]
        return np.array([*walls, ring + up, ring[::-1] - up])
    if isinstance(shape, Cylinder):
        h = 0.5 * shape.length
        return _lathe([(0.0, -h), (shape.radius, -h), (shape.radius, h), (0.0, h)])
    if isinstance(shape, Sphere | Capsule):
        h, r = (0.5 * shape.length if isinstance(shape, Capsule) else 0.0), shape.radius
        angles = np.linspace(0.0, 0.5 * math.pi, SIDES // 4 + 1)
        upper = [(r * math.cos(a), h + r * math.sin(a)) for a in angles]
        return _lathe([(x, -z) for x, z in reversed(upper)] + upper)
    return np.zeros((0, 4, 3))  # meshes stay in their files


def _lathe(profile: list[tuple[float, float]]) -> FloatArray:
    """A surface of revolution about z from (radius, height) upwards."""
    turn = np.linspace(0.0, 2.0 * math.pi, SIDES + 1)
    grid = np.array([[(x * math.cos(a), x * math.sin(a), z) for a in turn] for x, z in profile])
    quads = np.stack([grid[:-1, :-1], grid[:-1, 1:], grid[1:, 1:], grid[1:, :-1]], axis=2)
    return quads.reshape(-1, 4, 3)


def _lit(faces: FloatArray, tints: FloatArray, view: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
    """The faces that look at the viewer, and their colours in the light."""
    normal = np.cross(faces[:, 2] - faces[:, 0], faces[:, 3] - faces[:, 1])
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    normal = np.divide(normal, length, out=np.zeros_like(normal), where=length > 0)
    seen = normal @ _screen(view)[2] > 0
    light = 0.55 + 0.45 * np.clip(normal[seen] @ LIGHT, 0.0, 1.0)
    return faces[seen], np.clip(tints[seen] * light[:, None] + 0.12 * light[:, None] ** 6, 0.0, 1.0)


def _screen(view: tuple[float, float]) -> FloatArray:
    """Directions to the right, up and towards the viewer, rows of a (3, 3) matrix."""
    elevation, azimuth = np.radians(view)
    ce, se, ca, sa = math.cos(elevation), math.sin(elevation), math.cos(azimuth), math.sin(azimuth)
    return np.array([[-sa, ca, 0.0], [-se * ca, -se * sa, ce], [ce * ca, ce * sa, se]])


def _frame(axes: Any, points: FloatArray, view: tuple[float, float]) -> None:
    """The model in the middle, as large as the figure allows, with equal scales and nothing else in the picture."""
    from mpl_toolkits.mplot3d import proj3d

    right_up_near = _screen(view)
    seen = points @ right_up_near.T if points.size else np.zeros((1, 3))
    low, high = seen.min(axis=0), seen.max(axis=0)
    center = 0.5 * (low + high) @ right_up_near
    half = 0.5 * max(float((high - low).max()), 1e-9)
    for name, middle in zip("xyz", center, strict=True):
        getattr(axes, f"set_{name}lim")(middle - half, middle + half)
    axes.set_box_aspect((1.0, 1.0, 1.0), zoom=1.0)
    axes.apply_aspect()
    x, y, _ = proj3d.proj_transform(*np.stack([center, center + half * right_up_near[0]], axis=1), axes.get_proj())
    ends = axes.transData.transform(np.stack([x, y], axis=1))
    dots = np.linalg.norm(ends[1] - ends[0]) / half  # of the screen, for each metre
    room = np.array(axes.figure.bbox.size) * (1.0 - 2.0 * MARGIN)
    zoom = float((room / np.maximum(dots * (high - low)[:2], 1e-9)).min())
    axes.set_box_aspect((1.0, 1.0, 1.0), zoom=zoom)
    axes.set_axis_off()
