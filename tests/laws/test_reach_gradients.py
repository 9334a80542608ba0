"""Gradients through inverse kinematics agree with differences of the search itself, where coordinates follow uniquely."""

import numpy as np
import pytest

import linkwork as lw


@pytest.fixture(scope="module")
def arm():
    """Six hinges: as many as a pose needs."""
    linkage = lw.Linkage("arm")
    axes = [(0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0)]
    part = lw.Inertia.box(1.0, (0.1, 0.1, 0.1))
    for i, axis in enumerate(axes):
        place = lw.Pose((0.3 if i else 0.0, 0.0, 0.1))
        linkage.add_body(f"b{i}", f"b{i - 1}" if i else "world", lw.Revolute(axis), place, part)
    return linkage.compile()


START = np.array([0.2, -0.4, 0.7, 0.3, 0.6, -0.2])


def turned(pose, turn, way):
    """A pose moved by a small rotation vector about the axes of the world, and by a way."""
    angle = np.linalg.norm(turn)
    k = turn / angle if angle else turn
    K = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    T = pose.copy()
    T[:3, :3] = (np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K) @ pose[:3, :3]
    T[:3, 3] += way
    return T


def reached(model, targets, start=START):
    found = lw.reach(model, model.state(start), targets, tolerance=1e-12, restarts=0)
    assert found.reached
    return found


def test_a_pose(arm, rng):
    goal = lw.body_poses(arm, arm.state(START + 0.05))[5]
    targets = {"b5": goal}
    found, weights = reached(arm, targets), rng.normal(size=6)
    (ours,) = lw.reach_gradients(arm, found, targets, weights)["b5"]
    for name, turn, way in (("turn", 1.0, 0.0), ("origin", 0.0, 1.0)):
        step = rng.normal(size=3)
        ends = [
            reached(arm, {"b5": turned(goal, d * turn * step, d * way * step)}, found.state.q).state.q
            for d in (1e-5, -1e-5)
        ]
        slope = weights @ (ends[0] - ends[1]) / 2e-5
        assert ours[name] @ step == pytest.approx(slope, rel=1e-6, abs=1e-6), name


def test_a_point_and_a_direction(arm, rng):
    """Two hinges are held by limits of the weights: a point with a direction leaves one motion, which is not looked at."""
    T = lw.body_poses(arm, arm.state(START))[5]
    point, direction = T[:3, 3], T[:3, 2]
    target = lw.Target(point=point, direction=direction)
    found = reached(arm, {"b5": target})
    # rows of the targets themselves are numbers that the coordinates must follow: weights on where the point goes
    weights = rng.normal(size=3) @ lw.body_jacobian(arm, found.state, "b5", frame="world")[3:]
    (ours,) = lw.reach_gradients(arm, found, {"b5": target}, weights)["b5"]
    assert ours["direction"] == pytest.approx(np.zeros(3), abs=1e-8)  # the point does not move with the direction
    wanted = np.linalg.lstsq(lw.body_jacobian(arm, found.state, "b5", frame="world")[3:].T, weights, rcond=None)[0]
    assert ours["point"] == pytest.approx(wanted, rel=1e-8)  # and follows its own goal


def test_what_is_refused(arm):
    far = {"b5": (9.0, 0.0, 0.0)}
    missed = lw.reach(arm, arm.state(START), far, restarts=0)
    with pytest.raises(lw.StateError, match="that reached its targets; it ended with"):
        lw.reach_gradients(arm, missed, far, np.ones(6))
    with pytest.raises(lw.StateError, match="not a result of"):
        lw.reach_gradients(arm, None, far, np.ones(6))
    near = {"b5": lw.body_poses(arm, arm.state(START))[5, :3, 3]}
    with pytest.raises(lw.StateError, match=r"q\[1\] is nan"):
        lw.reach_gradients(arm, reached(arm, near), near, [0, np.nan, 0, 0, 0, 0])
