"""Distances of shapes against Coal, and against what distances must obey: order, motion, differences, supporting planes."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.contact.geometry.distance import distances, make_scratch
from linkwork.contact.geometry.overlapping_boxes import corner_in_face
from linkwork.contact.geometry.solids import BOX, CAPSULE, CYLINDER, HULL, PLANE, SPHERE

from ..helpers.rounding import rounding

PAIRS = 10_000
HULLS, CORNERS = 5, 12
GAP, NORMAL, POINT_A, POINT_B = 0, slice(1, 4), slice(4, 7), slice(7, 10)


def rotations(rng, count):
    q = rng.normal(size=(count, 4))
    w, x, y, z = (q / np.linalg.norm(q, axis=1)[:, None]).T
    return np.stack(
        [
            1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
            2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
            2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
        ], axis=1,
    )  # fmt: skip


class Sample:
    """Random pairs of all convex kinds: sizes 0.1 to 1, centres within 1.2 of the origin, so that a third overlap."""

    def __init__(self, rng, count=PAIRS, kinds=None):
        hulls = 0.4 * rng.normal(size=(HULLS, CORNERS, 3))
        self.vertices = hulls.reshape(-1, 3)
        self.kinds = rng.integers(SPHERE, HULL + 1, size=(count, 2)) if kinds is None else kinds
        self.sizes = rng.uniform(0.1, 1.0, size=(count, 2, 3))
        self.poses = np.empty((count, 2, 12))
        for k in range(2):
            self.poses[:, k, :9] = rotations(rng, count)
            self.poses[:, k, 9:] = rng.uniform(-1.2, 1.2, size=(count, 3))
        chosen = rng.integers(HULLS, size=(count, 2))
        self.spans = np.stack([CORNERS * chosen, np.full_like(chosen, CORNERS)], axis=2)
        is_hull = self.kinds == HULL
        self.sizes[is_hull, 0] = np.linalg.norm(hulls, axis=2).max(axis=1)[chosen[is_hull]]

    def measure(self, poses=None, swap=False):
        out = np.empty((len(self.kinds), 10))
        poses = self.poses if poses is None else poses
        arrays = [self.kinds, poses, self.sizes, self.spans]
        if swap:
            arrays = [np.ascontiguousarray(a[:, ::-1]) for a in arrays]
        distances(self.vertices, *arrays, make_scratch(), out)
        return out

    def support(self, side, direction):
        """Height of each solid along a unit direction (m, 3): independent of the kernels."""
        R = self.poses[:, side, :9].reshape(-1, 3, 3)
        local = np.einsum("mji,mj->mi", R, direction)
        size, kind = self.sizes[:, side], self.kinds[:, side]
        height = np.einsum("mi,mi->m", self.poses[:, side, 9:], direction)
        across = np.hypot(local[:, 0], local[:, 1])
        height += np.where(kind == SPHERE, size[:, 0], 0.0)
        height += np.where(kind == CAPSULE, size[:, 0] + size[:, 1] * np.abs(local[:, 2]), 0.0)
        height += np.where(kind == BOX, (size * np.abs(local)).sum(axis=1), 0.0)
        height += np.where(kind == CYLINDER, size[:, 0] * across + size[:, 1] * np.abs(local[:, 2]), 0.0)
        corners = self.vertices.reshape(HULLS, CORNERS, 3)[self.spans[:, side, 0] // CORNERS]
        return height + np.where(kind == HULL, np.einsum("mci,mi->mc", corners, local).max(axis=1), 0.0)


@pytest.fixture(scope="module")
def sample():
    return Sample(np.random.default_rng(5))


@pytest.fixture(scope="module")
def measured(sample):
    return sample.measure()


def test_distances_agree_with_coal(sample, measured):
    """1e-9 m. Coal's own tolerance is 1e-12; for overlapping cylinders its search gives up now and then and says a depth
    that is far too large (there is a shorter way out): those pairs belong to the tests of widths below."""
    coal = pytest.importorskip("coal")
    scipy_spatial = pytest.importorskip("scipy.spatial")
    hulls = {}

    def geometry(kind, size, span):
        if kind == HULL:
            if span[0] not in hulls:
                points, faces = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
                corners = sample.vertices[span[0] : span[0] + span[1]]
                for corner in corners:
                    points.append(corner)
                for face in scipy_spatial.ConvexHull(corners).simplices.tolist():
                    faces.append(coal.Triangle(*face))
                hulls[span[0]] = coal.Convex(points, faces)
            return hulls[span[0]]
        return {
            SPHERE: lambda: coal.Sphere(size[0]),
            CAPSULE: lambda: coal.Capsule(size[0], 2 * size[1]),
            BOX: lambda: coal.Box(*(2 * size)),
            CYLINDER: lambda: coal.Cylinder(size[0], 2 * size[1]),
        }[kind]()

    request = coal.DistanceRequest(True)
    request.enable_signed_distance = True
    request.gjk_tolerance = request.epa_tolerance = 1e-12
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    theirs = np.empty(PAIRS)
    for i in range(PAIRS):
        solids = [geometry(int(sample.kinds[i, k]), sample.sizes[i, k], sample.spans[i, k].tolist()) for k in range(2)]
        places = [
            coal.Transform3s(sample.poses[i, k, :9].reshape(3, 3).copy(), sample.poses[i, k, 9:].copy())
            for k in range(2)
        ]
        theirs[i] = coal.distance(solids[0], places[0], solids[1], places[1], request, coal.DistanceResult())
    ours = measured[:, GAP]
    with_cylinder = (sample.kinds == CYLINDER).any(axis=1)
    gave_up = with_cylinder & (theirs < ours - 1e-9)  # a depth that our normal, a proven way out, undercuts
    assert gave_up.mean() < 0.03
    assert np.abs(ours - theirs)[~gave_up].max() < 1e-9


def test_the_normal_is_that_of_a_supporting_plane(sample, measured):
    """The width along the normal equals the distance: a proof of it from below when apart, of a way out when overlapping.

    Normals of curved solids are right to the root of rounding (1e-8) times their lever (2 m): 1e-6 with a margin of 50.
    """
    n = measured[:, NORMAL]
    width = -sample.support(0, -n) - sample.support(1, n)
    assert np.abs(np.linalg.norm(n, axis=1) - 1.0).max() < 1e-14
    assert np.abs(width - measured[:, GAP]).max() < 1e-6
    between = np.einsum("mi,mi->m", n, measured[:, POINT_A] - measured[:, POINT_B])
    assert np.abs(between - measured[:, GAP]).max() < 1e-6


def test_no_other_direction_is_less_deep(sample, measured, rng):
    """Overlapping: the depth is the least width over 200 directions near and far, up to rounding of sizes (some 1)."""
    overlap = measured[:, GAP] < 0
    least = np.full(PAIRS, np.inf)
    for k in range(200):
        d = rng.normal(size=(PAIRS, 3))
        if k % 2:
            d = -measured[:, NORMAL] + 0.05 * d
        d /= np.linalg.norm(d, axis=1)[:, None]
        least = np.minimum(least, sample.support(0, d) + sample.support(1, -d))
    assert overlap.sum() > 2000
    assert (-measured[overlap, GAP] <= least[overlap] + 1e-12).all()


def test_order_does_not_matter(sample, measured):
    """Cylinders end their search where rounding stops the gain, at some 1e-9 of the size; the rest of 1e-8 is margin."""
    swapped = sample.measure(swap=True)
    error = np.abs(swapped[:, GAP] - measured[:, GAP])
    assert error.max() < 1e-8
    assert error[~(sample.kinds == CYLINDER).any(axis=1)].max() < 1e-12


def test_rigid_motion_does_not_matter(sample, measured, rng):
    """As above; without cylinders rounding of coordinates near 10 m, with a margin of 100."""
    R = rotations(rng, 1).reshape(3, 3)
    poses = np.empty_like(sample.poses)
    poses[..., :9] = (R @ sample.poses[..., :9].reshape(-1, 2, 3, 3)).reshape(-1, 2, 9)
    poses[..., 9:] = sample.poses[..., 9:] @ R.T + np.array([10.0, -5.0, 3.0])
    moved = sample.measure(poses)
    error = np.abs(moved[:, GAP] - measured[:, GAP])
    assert error.max() < 1e-8
    assert error[~(sample.kinds == CYLINDER).any(axis=1)].max() < 1e-12


def test_normal_is_the_slope_of_the_distance(sample, measured):
    """Central differences of the gap along x, y, z: kinks (nearest features change within the step) may spoil a few."""
    step = 1e-5
    slope = np.empty((PAIRS, 3))
    for axis in range(3):
        for sign in (1, -1):
            poses = sample.poses.copy()
            poses[:, 0, 9 + axis] += sign * step
            slope[:, axis] = (
                sample.measure(poses)[:, GAP] if sign == 1 else slope[:, axis] - sample.measure(poses)[:, GAP]
            )
    error = np.abs(slope / (2 * step) - measured[:, NORMAL]).max(axis=1)
    # O(step / size) at curved sides; 1e-13 / step from the search
    assert np.quantile(error, 0.99) < 2e-4


@pytest.mark.parametrize("kind", [SPHERE, CAPSULE, BOX, CYLINDER, HULL])
def test_planes(rng, kind):
    kinds = np.array([[kind, PLANE]] * 500)
    sample = Sample(rng, 500, kinds)
    n = sample.poses[:, 1, [2, 5, 8]]
    expected = -sample.support(0, -n) - np.einsum("mi,mi->m", n, sample.poses[:, 1, 9:])
    allowed = rounding(scale=float(np.abs(sample.poses[:, :, 9:]).max() + np.abs(sample.sizes).max()))
    assert np.abs(sample.measure()[:, GAP] - expected).max() < allowed
    assert np.abs(sample.measure(swap=True)[:, GAP] - expected).max() < allowed


def test_degenerate_pairs_have_unit_normals(rng):
    """Centres on each other, axes parallel, faces coplanar, touching exactly: finite distances and unit normals."""
    kinds = np.array([[a, b] for a in range(5) for b in range(5)] * 3)
    sample = Sample(rng, len(kinds), kinds)
    sample.poses[:, :, :9] = np.eye(3).ravel()
    sample.poses[:, :, 9:] = 0.0
    sample.poses[25:50, 0, 11] = 1.0
    sample.poses[50:, 0, 9] = sample.sizes[50:, 0, 0] + sample.sizes[50:, 1, 0]
    out = sample.measure()
    assert np.isfinite(out).all()
    assert np.abs(np.linalg.norm(out[:, NORMAL], axis=1) - 1.0).max() < 1e-14
    n = out[:, NORMAL]
    width = -sample.support(0, -n) - sample.support(1, n)
    assert np.abs(width - out[:, GAP]).max() < 1e-6


def boxes_of(sample):
    """Boxes of one side as kernels read them."""

    def boxes(side):
        poses, sizes = sample.poses[:, side].tolist(), sample.sizes[:, side].tolist()
        return [(BOX, tuple(p[:9]), tuple(p[9:]), tuple(size), 0, 0) for p, size in zip(poses, sizes, strict=True)]

    return boxes


def least_distance_from_box(start, end, half):
    """Of segments from boxes in the boxes' frames, (m,): a convex function of the place on the segment, by halving."""
    low, high = np.zeros(len(start)), np.ones(len(start))

    def distance(t):
        x = start + t[:, None] * (end - start)
        return np.linalg.norm(x - np.clip(x, -half, half), axis=1)

    for _ in range(200):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        rises = distance(a) < distance(b)
        low, high = np.where(rises, low, a), np.where(rises, b, high)
    return np.minimum(distance(0.5 * (low + high)), np.minimum(distance(0.0 * low), distance(0.0 * low + 1.0)))


@pytest.mark.parametrize("turned", ["any", "along an edge", "along a face", "across"])
def test_capsules_beside_boxes(rng, turned):
    """The axis outside the box, in any direction and in those that have no single nearest point; sizes up to 2 m.

    Rounding of coordinates of 4 m and of their squares, with a margin of 100: 1e-13 m.
    """
    count = 2000
    sample = Sample(rng, count, np.array([[CAPSULE, BOX]] * count))
    sample.poses[:, 1, :9] = np.eye(3).ravel()
    if turned != "any":
        directions = {"along an edge": (0, 0, 1), "along a face": (1, 0, 1), "across": (1, 0, 0)}
        axis = rng.normal(size=(count, 3)) * directions[turned]
        axis /= np.linalg.norm(axis, axis=1)[:, None]
        other = np.tile([0.0, 1.0, 0.0], (count, 1))
        frame = np.stack([np.cross(other, axis), other, axis], axis=2)  # the capsule's z is its axis
        sample.poses[:, 0, :9] = frame.reshape(count, 9)
    sample.sizes[::10, 0, 1] = 0.0  # an axis without length
    half = sample.sizes[:, 0, 1, None] * sample.poses[:, 0, [2, 5, 8]]
    centre = sample.poses[:, 0, 9:] - sample.poses[:, 1, 9:]
    expected = least_distance_from_box(centre - half, centre + half, sample.sizes[:, 1])
    outside = expected > 1e-6
    assert outside.sum() > 300
    found = sample.measure()[outside]
    gap, n = found[:, GAP], found[:, NORMAL]
    assert np.abs(gap + sample.sizes[outside, 0, 0] - expected[outside]).max() < 1e-13
    assert np.abs(np.linalg.norm(n, axis=1) - 1.0).max() < 1e-14
    between = np.einsum("mi,mi->m", n, found[:, POINT_A] - found[:, POINT_B])
    assert np.abs(between - gap).max() < 1e-13
    on_box = found[:, POINT_B] - sample.poses[outside, 1, 9:]
    assert np.abs(on_box - np.clip(on_box, -sample.sizes[outside, 1], sample.sizes[outside, 1])).max() < 1e-13


@pytest.mark.parametrize("tilt", ["any", 0.0, 1e-8, 1e-3])
def test_overlapping_boxes_are_as_deep_as_hulls_of_their_corners(rng, tilt):
    """Boxes that overlap by little and by much, turned at random or next to parallel; hulls are searched for.

    Rounding of coordinates of 2 m in the planes of a polytope, whose faces may be small: 1e-11 m.
    """
    count = 2000
    sample = Sample(rng, count, np.array([[BOX, BOX]] * count))
    if tilt != "any":
        sample.poses[:, 1, :9] = np.eye(3).ravel()
        sample.poses[:, 0, :9] = (np.eye(3).ravel() + tilt * rng.normal(size=(count, 9))).round(12)
        frames, _ = np.linalg.qr(sample.poses[:, 0, :9].reshape(-1, 3, 3))
        sample.poses[:, 0, :9] = (frames * np.sign(np.einsum("mii->mi", frames))[:, None, :]).reshape(-1, 9)
    sample.poses[:, :, 9:] *= 0.5
    corners = np.array(np.meshgrid((-1, 1), (-1, 1), (-1, 1))).reshape(3, 8).T * sample.sizes[:, :, None, :]
    out, spans = np.empty((count, 10)), np.empty((count, 2, 2), dtype=np.int64)
    spans[:, :, 0], spans[:, :, 1] = 8 * np.arange(2 * count).reshape(count, 2), 8
    sizes = np.linalg.norm(sample.sizes, axis=2)[:, :, None] * [1.0, 0.0, 0.0]
    kinds = np.full((count, 2), HULL)
    distances(corners.reshape(-1, 3), kinds, sample.poses, sizes, spans, make_scratch(), out)
    found = sample.measure()
    inside = out[:, GAP] < -1e-9
    assert inside.sum() > 300
    assert np.abs(found[inside, GAP] - out[inside, GAP]).max() < 1e-11
    between = np.einsum("mi,mi->m", found[:, NORMAL], found[:, POINT_A] - found[:, POINT_B])
    assert np.abs(between - found[:, GAP])[inside].max() < 1e-11
    frames = sample.poses[:, :, :9].reshape(-1, 2, 3, 3)
    by_corner = np.array(
        [corner_in_face(sample.vertices, *solids)[0] for solids in zip(*map(boxes_of(sample), (0, 1)), strict=True)]
    )
    assert (by_corner & inside).sum() > 300
    for side, point in enumerate((POINT_A, POINT_B)):
        local = np.einsum("mji,mj->mi", frames[:, side], found[:, point] - sample.poses[:, side, 9:])
        assert (np.abs(local) - sample.sizes[:, side])[by_corner].max() < 1e-8


def test_points_of_boxes_that_overlap_lie_on_the_boxes():
    """Edges across each other too, whose face of the difference set is two faces of the polytope: either was taken, and one
    of nine points lay beside its box by up to 0.2 m. Rounding may still tear a face off the polytope: one pair of 9,000."""
    boxes = Sample(np.random.default_rng(1), kinds=np.full((PAIRS, 2), BOX))
    boxes.poses[:, :, 9:] *= 0.5
    found = boxes.measure()
    inside = found[:, GAP] < 0.0
    outside = np.zeros(PAIRS, dtype=bool)
    for side, point in enumerate((POINT_A, POINT_B)):
        R = boxes.poses[:, side, :9].reshape(-1, 3, 3)
        local = np.einsum("mji,mj->mi", R, found[:, point] - boxes.poses[:, side, 9:])
        outside |= (np.abs(local) - boxes.sizes[:, side]).max(axis=1) > rounding(scale=2.0, steps=10_000)
    assert inside.sum() > 8000
    assert outside[inside].sum() <= 10
