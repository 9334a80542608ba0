"""Level of detail along the assembly tree: what is small on every screen is drawn as one capsule for many bodies.

Bodies are put in the order of the assembly tree, in which every cluster is one run. Cut where clusters have at most 8, 64
and 512 bodies, the tree gives three coarser pictures of the mechanism. A *sector* is a cluster of the coarsest cut; each
sector is drawn by the coarsest cut whose clusters all reach over a few pixels at most, seen from the nearest camera. Where
that still gives more than a page can take thirty times per second, a few pixels become a few more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.assembly.node_table import BODY, FIRST, INDEX, LEFT, NODE_KIND, RIGHT
from linkwork.assembly.plan import assemble_model
from linkwork.core.arrays import FloatArray, IntArray
from linkwork.model.model import Model
from linkwork.viewer.frames import quaternions
from linkwork.viewer.shapes.colors import Colors
from linkwork.viewer.shapes.instances import Instances

SIZES = (8, 64, 512)  # bodies of a cluster, at most
PIXELS = 4.0  # that a cluster may reach over and still be drawn as one capsule
WORTH_IT = 0.7  # of that, from which on a coarser picture is taken: what moves to and fro at the limit does not flicker
MOST = 15_000  # capsules and bodies drawn, if clusters of COARSEST pixels are enough for that
COARSEST = 32.0  # [pixels]
FINE = 0  # the level at which every shape is drawn


class Eye(NamedTuple):
    """From where somebody looks [m], shape (3,), and how many pixels a metre has at a distance of one metre."""

    position: FloatArray
    focal: float


def eye(position: FloatArray, field_of_view: float, height: float) -> Eye:
    """field_of_view: from top to bottom [rad]; height: of the picture [pixels]."""
    return Eye(np.asarray(position, dtype=float), 0.5 * height / np.tan(0.5 * field_of_view))


class Capsules(NamedTuple):
    """Clusters as capsules: where they are in the world, how large, and the body that stands for each."""

    position: FloatArray  # (k, 3) [m]
    rotation: FloatArray  # (k, 4) quaternions
    scale: FloatArray  # (k, 3) of a capsule with radius 1 and length 1
    body: IntArray  # (k,)


class Detail:
    """The cuts of one model. Cost of `choose`: O(n), a few nanoseconds per body.

    order (n,): bodies in the order of the assembly tree; sector_of (n,): of each body.
    """

    def __init__(self, model: Model, instances: Instances):
        assembly = assemble_model(model)
        nodes = assembly.nodes
        is_body = nodes[:, NODE_KIND] == BODY
        self.order: IntArray = nodes[is_body, INDEX]
        before = np.concatenate([[0], np.cumsum(is_body)])  # bodies in nodes with smaller numbers
        self._starts = [_cut(nodes, before, size) for size in SIZES]
        sectors = self._starts[-1]
        self.count = sectors.size
        self._sector_of_group = [np.searchsorted(sectors, starts, side="right") - 1 for starts in self._starts]
        self.sector_of: IntArray = np.zeros(model.n_bodies, dtype=np.int64)
        self.sector_of[self.order] = np.searchsorted(sectors, np.arange(self.order.size), side="right") - 1
        reach, radius = _body_sizes(model, instances)
        self._reach, self._radius = reach[self.order], radius[self.order]
        bodies = np.diff(np.append(sectors, self.order.size))
        groups = [np.bincount(sector, minlength=self.count) for sector in self._sector_of_group]
        self._counts = np.array([bodies, *groups])  # (levels, sectors) what is drawn of each sector at each level
        self.level = np.zeros(self.count, dtype=np.int64)  # of each sector: FINE, or 1 + the cut

    def choose(self, T: FloatArray, eyes: list[Eye]) -> bool:
        """Takes the level of each sector for bodies at T, shape (n, 4, 4); says whether any changed."""
        if not eyes or not self.count:
            return False
        P = T[self.order, :3, 3]
        low, high = P - self._reach[:, None], P + self._reach[:, None]
        starts_before = np.arange(P.shape[0])
        extents = []
        for starts, sector in zip(self._starts, self._sector_of_group, strict=True):
            rows = np.searchsorted(starts_before, starts)
            low, high = np.minimum.reduceat(low, rows, axis=0), np.maximum.reduceat(high, rows, axis=0)
            size = np.linalg.norm(high - low, axis=1)
            first = np.searchsorted(sector, np.arange(self.count))
            extents.append(np.maximum.reduceat(size, first))  # the largest cluster of each sector
            starts_before = starts
        density = np.zeros(self.count)  # pixels per metre, from the nearest camera
        for one in eyes:
            away = np.maximum(np.maximum(low - one.position, one.position - high), 0.0)
            density = np.maximum(density, one.focal / np.maximum(np.linalg.norm(away, axis=1), 1e-12))
        pixels = PIXELS
        level = self._levels(extents, density, pixels)
        while self._drawn(level) > MOST and pixels < COARSEST:
            pixels *= 2.0
            level = self._levels(extents, density, pixels)
        changed = not np.array_equal(level, self.level)
        self.level = level
        return changed

    def _levels(self, extents: list[FloatArray], density: FloatArray, pixels: float) -> IntArray:
        """The coarsest level of each sector whose clusters reach over at most so many pixels."""
        level = np.zeros(self.count, dtype=np.int64)
        for k, extent in enumerate(extents):
            level[extent * density <= np.where(self.level > k, pixels, WORTH_IT * pixels)] = k + 1
        return level

    def _drawn(self, level: IntArray) -> int:
        """Bodies and capsules that are drawn at these levels."""
        return int(self._counts[level, np.arange(self.count)].sum())

    def capsules(self, T: FloatArray) -> Capsules:
        """The clusters of all sectors that are not drawn finely, for bodies at T, shape (n, 4, 4)."""
        first, last = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for k, (starts, sector) in enumerate(zip(self._starts, self._sector_of_group, strict=True)):
            wanted = self.level[sector] == k + 1
            ends = np.append(starts[1:], self.order.size)
            first.append(starts[wanted])
            last.append(ends[wanted] - 1)
        a, b = np.concatenate(first), np.concatenate(last)
        start, way = T[self.order[a], :3, 3], T[self.order[b], :3, 3] - T[self.order[a], :3, 3]
        length = np.linalg.norm(way, axis=1)
        z = np.divide(way, length[:, None], out=np.tile([0.0, 0.0, 1.0], (a.size, 1)), where=length[:, None] > 0.0)
        whole = length + self._reach[b]  # the last body reaches further than its origin
        scale = np.stack([self._radius[a], self._radius[a], whole], axis=1)
        return Capsules(start + 0.5 * whole[:, None] * z, _turns(z), scale, self.order[(a + b) // 2])

    def mean_colors(self, colors: Colors) -> FloatArray:
        """The mean colour of each cluster that is drawn as a capsule, shape (k, 3), as numbers from 0 to 255."""
        sums = np.concatenate([np.zeros((1, 3)), np.cumsum(colors[self.order], axis=0, dtype=float)])
        means = [np.zeros((0, 3))]
        for k, (starts, sector) in enumerate(zip(self._starts, self._sector_of_group, strict=True)):
            wanted = self.level[sector] == k + 1
            a, b = starts[wanted], np.append(starts[1:], self.order.size)[wanted]
            means.append((sums[b] - sums[a]) / (b - a)[:, None])
        return np.concatenate(means)


def _cut(nodes: IntArray, before: IntArray, most: int) -> IntArray:
    """Starts of the largest clusters of at most `most` bodies, in the order of bodies, shape (k,), ascending.

    A body that carries branches too large for a cluster is one of its own.
    """
    count = before[1:] - before[nodes[:, FIRST]]  # bodies of each node
    is_small = (count <= most) & (count > 0)
    up_is_small = np.zeros(len(nodes), dtype=bool)
    for side in (LEFT, RIGHT):
        child = nodes[:, side]
        has = child >= 0
        up_is_small[child[has]] = is_small[has]
    top = is_small & ~up_is_small
    alone = (nodes[:, NODE_KIND] == BODY) & ~is_small  # its branches are cut off: the body itself is left
    return np.unique(np.concatenate([before[nodes[top, FIRST]], before[:-1][alone]]))


def _body_sizes(model: Model, instances: Instances) -> tuple[FloatArray, FloatArray]:
    """How far the shapes of each body reach from its origin, and the thinnest half of any of them [m], shape (n,) each."""
    reach, radius = np.zeros(model.n_bodies), np.full(model.n_bodies, np.inf)
    if instances.kind.size:
        half = (
            np.array([0.5 * np.ptp(p.points, axis=0) for p in instances.prototypes])[instances.kind] * instances.scale
        )
        far = np.linalg.norm(instances.place[:, :3, 3], axis=1) + np.linalg.norm(half, axis=1)
        moving = instances.body >= 0
        np.maximum.at(reach, instances.body[moving], far[moving])
        np.minimum.at(radius, instances.body[moving], half[moving].min(axis=1))
    return reach, np.where(np.isfinite(radius), radius, 0.0)


def _turns(z: FloatArray) -> FloatArray:
    """Quaternions of rotations that take the z axis to unit vectors, shape (k, 3) → (k, 4)."""
    side = np.eye(3)[np.abs(z).argmin(axis=1)]
    x = np.cross(side, z)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return quaternions(np.stack([x, np.cross(z, x), z], axis=2)) if len(z) else np.zeros((0, 4))
