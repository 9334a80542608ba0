"""What can be asked of reach, follow and reach_velocity, and what is refused."""

import numpy as np
import pytest

import linkwork as lw


@pytest.fixture(scope="module")
def model() -> lw.Model:
    linkage = lw.Linkage("arm")
    part = lw.Inertia.sphere(1.0, 0.05)
    for i in range(4):
        hinge = lw.Revolute((0, 1, 0) if i % 2 else (0, 0, 1), limits=(-2.5, 2.5))
        pose = lw.Pose((0.2 if i else 0.0, 0, 0))
        linkage.add_body(f"link{i}", f"link{i - 1}" if i else "world", hinge, pose, part)
    linkage.add_body("gripper", "link3", placement=lw.Pose((0.1, 0, 0), rpy=(0, 0, 0.3)))
    linkage.add_body("post", "world", placement=lw.Pose((1, 0, 0)))
    return linkage.compile()


REFUSED = [
    (None, "nothing to reach"),
    ({}, "nothing to reach"),
    ({"gripper": None}, "must be a lw.Target"),
    ({"gripper": (1.0, 2.0)}, "must be a lw.Target"),
    ({"gripper": (1.0, np.nan, 0.0)}, "finite"),
    ({"gripper": lw.Pose((np.nan, 0, 0))}, "finite"),
    ({"gripper": lw.Target()}, "asks for nothing"),
    ({"gripper": lw.Target(pose=lw.Pose(), point=(1, 2, 3))}, "pose and point"),
    ({"gripper": lw.Target(point=(0, 0, 1), weight=0.0)}, "weight"),
    ({"gripper": lw.Target(point=(0, 0, 1), weight=np.nan)}, "weight"),
    ({"gripper": lw.Target(direction=(0, 0, 0))}, "zero"),
    ({"gripper": lw.Target(direction=(0, 0, 1), axis=(0, 0, 0))}, "zero"),
    ({"gripper": lw.Target(look_at="there")}, "three finite numbers"),
    ({"gripper": lw.Target(pose="there")}, "lw.Pose"),
    ({"gripper": lw.Target(point=(0, 0, 1), at=(np.inf, 0, 0))}, "three finite numbers"),
    ({"griper": (0, 0, 1)}, "did you mean"),
    ({"post": (0, 0, 1)}, "fixed in the world"),
    ({"world": (0, 0, 1)}, "fixed in the world"),
    ([("gripper", (0, 0, 1))], "dictionary"),
]


@pytest.mark.parametrize(("targets", "why"), REFUSED)
def test_what_cannot_be_a_target(model, targets, why):
    with pytest.raises(lw.LinkworkError, match=why):
        lw.reach(model, model.neutral(), targets)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"limits": "yes"}, "limits"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"tolerance": np.nan}, "tolerance"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"restarts": -1}, "restarts"),
        ({"prefer": np.zeros(3)}, "prefer"),
        ({"prefer": np.full(4, np.nan)}, "finite"),
        ({"center_of_mass": (0, 0, np.nan)}, "center_of_mass"),
        ({"avoid": True}, "no obstacles"),
        ({"avoid": ["wall"]}, "no obstacle 'wall'"),
        ({"avoid": 3}, "avoid must be"),
        ({"margin": np.nan}, "margin is nan"),
        ({"avoid": True, "margin": -1.0}, "margin"),
    ],
)
def test_options_that_are_refused(model, options, why):
    with pytest.raises(lw.LinkworkError, match=why):
        lw.reach(model, model.neutral(), {"gripper": (0.3, 0.2, 0.1)}, **options)


def test_states_that_are_refused(model):
    with pytest.raises(lw.StateError, match="finite"):
        lw.reach(model, lw.State(np.full(4, np.nan), np.zeros(4)), {"gripper": (0, 0, 1)})


def test_frames_are_reached_not_their_bodies(model):
    goal = lw.Pose((0.3, 0.2, 0.1))
    point = lw.reach(model, model.neutral(), {"gripper": goal.xyz})
    assert point.reached
    frame = model.frame("gripper")
    T = lw.body_poses(model, point.state)[frame.body] @ frame.pose.matrix
    assert np.abs(T[:3, 3] - goal.xyz).max() <= 1e-8
    assert "reached" in str(point)
    assert point.misses["gripper"].turn == 0.0


def test_a_target_out_of_reach_is_not_an_error(model):
    result = lw.reach(model, model.neutral(), {"gripper": (0, 0, 50)}, restarts=1)
    assert not result.reached
    assert result.reason == "nearest"
    assert 49 < result.error < 50.7
    assert "not reached" in str(result)


def test_one_iteration_is_not_enough(model):
    result = lw.reach(model, model.neutral(), {"gripper": (0.3, 0.2, 0.1)}, max_iterations=1, restarts=0)
    assert result.reason == "iterations"
    assert not result.reached


def test_joints_beyond_their_limits_are_moved_to_them(model):
    start = model.state([3.0, 0.1, 0.1, 0.1])
    result = lw.reach(model, start, {"gripper": (0.3, 0.2, 0.1)})
    assert (np.abs(result.state.q) <= 2.5).all()
    assert lw.reach(model, start, {"link0": (0, 0, 0)}, limits=False).state.q[0] == 3.0


def test_joints_that_move_no_target_stay(model):
    start = model.state([0.1, 0.2, 0.3, 0.4])
    result = lw.reach(model, start, {"link1": lw.Target(direction=(0, 1, 0), axis=(1, 0, 0))})
    assert result.reached
    assert (result.state.q[2:] == start.q[2:]).all()


@pytest.mark.parametrize(
    ("curve", "why"),
    [
        (np.zeros((3, 2)), "shape"),
        (np.zeros((0, 3)), "shape"),
        ("curve", "points"),
        ([[0, 0, np.nan]], "finite"),
        (np.zeros((2, 4, 4)), "not a rotation"),
    ],
)
def test_curves_that_are_refused(model, curve, why):
    with pytest.raises(lw.LinkworkError, match=why):
        lw.follow(model, model.neutral(), curve)


def test_names_of_followers(model):
    with pytest.raises(lw.ModelError, match="did you mean"):
        lw.follow(model, model.neutral(), [[0.5, 0, 0]], body="griper")
    with pytest.raises(lw.ModelError, match="fixed in the world"):
        lw.follow(model, model.neutral(), [[0.5, 0, 0]], body="post")
    assert lw.follow(model, model.neutral(), [[0.5, 0.1, 0]], body="gripper").q.shape == (1, 4)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "nothing to reach"),
        ({"twists": {"gripper": (1, 2, 3)}}, "shape"),
        ({"twists": {"gripper": (1, 2, 3, 4, 5, np.nan)}}, "finite"),
        ({"twists": [1, 2]}, "dictionary"),
        ({"twists": {"post": np.zeros(6)}}, "fixed in the world"),
        ({"twists": {"gripper": np.zeros(6)}, "gain": 0.0}, "gain"),
        ({"twists": {"gripper": np.zeros(6)}, "damping": -1.0}, "damping"),
    ],
)
def test_velocities_that_are_refused(model, options, why):
    with pytest.raises(lw.LinkworkError, match=why):
        lw.reach_velocity(model, model.neutral(), **options)


def test_loops_are_refused_where_they_would_open():
    closed = lw.library.four_bar().compile()
    state = lw.close_loops(closed, closed.neutral())
    with pytest.raises(lw.StateError, match="open trees"):
        lw.reach_velocity(closed, state, twists={"coupler": np.zeros(6)})
    with pytest.raises(lw.StateError, match="open trees"):
        lw.follow(closed, state, [[0, 0, 0]])


def test_obstacles_are_kept_away_from():
    linkage = lw.Linkage("arm")
    rod = lw.Capsule(0.02, 0.2, placement=lw.Pose((0.1, 0, 0), rpy=(0, np.pi / 2, 0)))
    for i in range(6):
        pose = lw.Pose((0.2 if i else 0.0, 0, 0))
        hinge = lw.Revolute((0, 1, 0) if i % 2 else (0, 0, 1))
        linkage.add_body(
            f"link{i}", f"link{i - 1}" if i else "world", hinge, pose, lw.Inertia.sphere(1.0, 0.1), shapes=[rod]
        )
    linkage.add_obstacle("ball", lw.Sphere(0.1), lw.Pose((0.5, 0.12, 0.0)))
    model = linkage.compile()
    target = {"link5": lw.Target(point=(0.85, 0.3, 0.0), at=(0.2, 0, 0))}
    start = model.state([0.0, 0.1, 0.0, 0.1, 0.0, 0.1])
    through = lw.reach(model, start, target)
    assert through.reached
    around = lw.reach(model, start, target, avoid=True, margin=0.03)
    assert around.reached
    assert around.clearance >= 0.03 - 1e-6
    assert around.clearance == pytest.approx(lw.clearance(model, around.state).distance, abs=1e-9)
    inside = lw.reach(model, start, {"link5": lw.Target(point=(0.5, 0.12, 0.0), at=(0.2, 0, 0))}, avoid=["ball"])
    assert not inside.reached, "what is within an obstacle cannot be reached"
    assert inside.clearance >= -0.01
    with pytest.raises(lw.StateError, match="avoid is empty"):
        lw.reach(model, start, target, avoid=[])
