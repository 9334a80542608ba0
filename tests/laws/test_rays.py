"""Rays against distances: a ray ends where the shape begins, for every kind of shape."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.sensing.rays import RayCaster

SHAPES = {
    "box": lw.Box((0.4, 0.6, 0.8)),
    "sphere": lw.Sphere(0.3),
    "capsule": lw.Capsule(0.2, 0.5),
    "cylinder": lw.Cylinder(0.3, 0.5),
    "field": lw.HeightField(((0.0, 0.1, 0.0), (0.2, 0.3, 0.1), (0.0, 0.1, 0.2)), (1.0, 1.0)),
    "plane": lw.Plane(),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("seed", range(8))
def test_a_ray_ends_on_the_surface(name, seed):
    """A small ball at the end of the ray touches the shape, and touches nothing before it."""
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    pose = lw.Pose(rng.normal(scale=0.1, size=3), quaternion=(*rng.normal(size=3), 1.0))
    if name in ("field", "plane"):
        pose = lw.Pose((0.0, 0.0, rng.normal(scale=0.1)))
    linkage = lw.Linkage()
    probe = 1e-3
    linkage.add_body("probe", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, probe), shapes=[lw.Sphere(probe)])
    linkage.add_obstacle("thing", SHAPES[name], pose)
    model = linkage.compile()
    rays = RayCaster(model)
    origin = 2.0 * axis / np.linalg.norm(axis)
    origin[2] = abs(origin[2]) + 0.5
    hits = 0
    for _ in range(12):
        target = np.array(pose.apply(tuple(rng.normal(scale=0.12, size=3))))
        direction = (target - origin) / np.linalg.norm(target - origin)
        poses = np.zeros((1, 12))
        poses[0, :9], poses[0, 9:] = np.eye(3).ravel(), origin
        hit = rays.cast(poses, origin, direction, 10.0, own=0)
        if hit.distance == 10.0:
            continue
        hits += 1
        for part, touches in ((1.0, True), (0.98, False)):
            q = model.neutral().q.copy()
            q[:3] = origin + part * hit.distance * direction
            gap = lw.closest(model, model.state(q), "probe", "thing").distance
            assert (gap <= 1e-6) == touches
    assert hits > 3


def test_a_ray_that_begins_inside_ends_there_and_shapes_for_display_are_not_seen():
    linkage = lw.Linkage()
    linkage.add_body("a", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1), shapes=[lw.Sphere(0.1)])
    linkage.add_obstacle("glass", lw.Box((1, 1, 1), visual_only=True), lw.Pose((2, 0, 0)))
    linkage.add_obstacle("stone", lw.Box((1, 1, 1)), lw.Pose((4, 0, 0)))
    model = linkage.compile()
    rays = RayCaster(model)
    poses = np.zeros((1, 12))
    poses[0, :9] = np.eye(3).ravel()
    x = np.array((1.0, 0.0, 0.0))
    assert rays.cast(poses, np.zeros(3), x, 10.0, own=0) == (3.5, -1)
    assert rays.cast(poses, np.zeros(3), x, 10.0).distance == 0.0  # inside its own ball
    assert rays.cast(poses, np.array((4.1, 0.2, 0.0)), x, 10.0).distance == 0.0
    assert rays.cast(poses, np.zeros(3), -x, 10.0, own=0) == (10.0, -2)
