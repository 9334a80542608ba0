"""Colours of bodies: what is active, which parts are rigid, how far down the tree a body is, how tight a rod."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.dynamics.quantities.rod_forces import RodForces
from linkwork.model.model import Model

Colors = NDArray[np.uint8]

ACTIVE = np.array([240, 120, 30], dtype=np.uint8)  # bodies that active joints carry
WORLD = np.array([150, 150, 155], dtype=np.uint8)
CHOSEN = np.array([40, 170, 90], dtype=np.uint8)
SECOND = np.array([180, 90, 200], dtype=np.uint8)  # of two recordings
GREYS = (105, 215)  # darkest and lightest of rigid groups
GOLDEN = 0.6180339887498949  # neighbours get greys that differ

# From the root to the tips: dark blue, blue, green, yellow; light enough to show on white, dark enough on black.
DOWN = np.array([[64, 77, 150], [48, 118, 170], [42, 160, 140], [120, 190, 80], [225, 195, 60]], dtype=float)


# From pressed to pulled: blue, grey, orange, red.
TIGHT = np.array([[40, 80, 200], [120, 150, 210], [190, 190, 190], [235, 150, 60], [200, 30, 40]], dtype=float)

# Pages take colours of meshes for amounts of light, screens and legends for what is seen: 2.2 is the exponent between them.
LIGHT_OF = np.round(255.0 * (np.arange(256) / 255.0) ** 2.2).astype(np.uint8)


def as_light(colors: NDArray[np.uint8] | tuple[int, int, int]) -> Colors:
    """Colours as a page needs them to look as they are meant, of the same shape."""
    return np.asarray(LIGHT_OF[np.asarray(colors, dtype=np.uint8)])


def by_depth(model: Model) -> Colors:
    """From the roots to the tips of the trees, shape (n, 3)."""
    depth = np.zeros(model.n_bodies)
    for i, above in enumerate(model.parent.tolist()):
        depth[i] = 0.0 if above < 0 else depth[above] + 1.0
    return _between(DOWN, depth / max(1.0, float(depth.max(initial=0.0))))


def _between(colors: FloatArray, way: FloatArray) -> Colors:
    """Colours along a row of them, way (n,) from 0 to 1."""
    x = way * (len(colors) - 1)
    k = np.minimum(x.astype(int), len(colors) - 2)
    t = (x - k)[:, None]
    return ((1.0 - t) * colors[k] + t * colors[k + 1]).astype(np.uint8)


def by_tension(model: Model, along: list[RodForces], largest: float) -> Colors:
    """Rods from blue where they are pressed over grey to red where they are pulled, by parts of `largest` [N]; (n, 3)."""
    colors = np.repeat(WORLD[None], model.n_bodies, axis=0)
    for forces, rod in zip(along, model.rods, strict=True):
        part = np.clip(forces.tension / max(largest, 1e-300), -1.0, 1.0)
        bodies = np.array([model.body(name) for name in rod.bodies])
        colors[bodies] = _between(TIGHT, 0.5 + 0.5 * part)
        first = model.body(rod.start.body)
        if first >= 0:
            colors[first] = colors[bodies[0]]
    return colors


def rigid_groups(parent: IntArray, active: IntArray) -> IntArray:
    """The first body of the rigid group that each body belongs to, shape (n,); -1: rigid with the world.

    active: bodies that active joints carry.
    """
    moves = np.zeros(len(parent), dtype=bool)
    moves[active] = True
    first = np.where(moves, np.arange(len(parent)), parent)  # the body itself, or the one above that moves as it does
    while True:  # pointers are followed twice as far each time: log n rounds
        further = np.where(first >= 0, first[first], -1)
        if np.array_equal(further, first):
            return first
        first = further


def by_activity(model: Model, active: IntArray) -> Colors:
    """Bodies that active joints carry in one colour, all others in one grey for each rigid group; shape (n, 3)."""
    group = rigid_groups(model.parent, active)
    low, high = GREYS
    grey = low + (high - low) * np.mod((group + 2) * GOLDEN, 1.0)
    colors = np.repeat(grey[:, None], 3, axis=1).astype(np.uint8)
    colors[active] = ACTIVE
    return colors
