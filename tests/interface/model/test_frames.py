"""Frames that people name: added, renamed, removed, merged, compiled, and used wherever a name of a body is."""

import numpy as np
import pytest

import linkwork as lw

TOOL = lw.Pose((0.1, 0.2, 0.3), rpy=(0.3, -0.2, 0.5))


@pytest.fixture
def linkage() -> lw.Linkage:
    arm = lw.Linkage("arm")
    part = lw.Inertia.box(1.0, (0.1, 0.2, 0.3))
    arm.add_body("upper", joint=lw.Revolute((0, 0, 1)), inertia=part)
    arm.add_body("lower", "upper", lw.Revolute((0, 1, 0)), lw.Pose((0.3, 0, 0)), part)
    arm.add_body("hand", "lower", placement=lw.Pose((0.2, 0, 0), rpy=(0, 0, 0.4)), inertia=part)
    arm.add_frame("tool", "hand", TOOL)
    arm.add_frame("tip", "tool", lw.Pose((0, 0, 0.1)))
    arm.add_frame("bench", "world", lw.Pose((1, 2, 3)))
    return arm


def test_where_frames_stand(linkage):
    model = linkage.compile()
    state = model.random_state(1)
    body = lw.body_poses(model, state)[model.body("lower")]
    hand = body @ lw.Pose((0.2, 0, 0), rpy=(0, 0, 0.4)).matrix
    tip = hand @ TOOL.matrix @ lw.Pose((0, 0, 0.1)).matrix
    found = lw.frame_poses(model, state, ["lower", "hand", "tip", "bench", "world"])
    expected = [body, hand, tip, lw.Pose((1, 2, 3)).matrix, np.eye(4)]
    assert np.abs(found - expected).max() <= 1e-14
    assert (lw.frame_poses(model, state, "tip") == found[2]).all()
    assert lw.frame_poses(model, state, []).shape == (0, 4, 4)
    assert model.body("tip") == model.body("lower")


def test_jacobians_are_derivatives(linkage):
    model = linkage.compile()
    state = model.random_state(2)
    h = 1e-6
    J = lw.frame_jacobian(model, state, "tip", axes="world")
    R = lw.frame_poses(model, state, "tip")[:3, :3]
    assert np.abs(lw.frame_jacobian(model, state, "tip") - np.kron(np.eye(2), R.T) @ J).max() <= 1e-14
    for k, unit in enumerate(np.eye(model.nv)):
        ends = [lw.frame_poses(model, model.state(model.integrate(state.q, unit, s)), "tip") for s in (h, -h)]
        rate = (ends[0] - ends[1]) / (2 * h)
        spin = rate[:3, :3] @ R.T
        expected = [spin[2, 1], spin[0, 2], spin[1, 0], *rate[:3, 3]]
        assert np.abs(J[:, k] - expected).max() <= 1e-8
    assert (lw.frame_jacobian(model, state, "bench") == 0.0).all()
    assert (lw.frame_bias_acceleration(model, state, "bench") == 0.0).all()


def test_frames_follow_their_bodies(linkage):
    linkage.rename_body("hand", "palm")
    assert linkage.frames[0].body == "palm"
    other = lw.Linkage("two arms")
    other.merge(linkage, "left_", placement=lw.Pose((0, 1, 0)))
    model = other.compile()
    state = model.neutral()
    expected = lw.frame_poses(linkage.compile(), linkage.compile().neutral(), ["tip", "bench"])
    found = lw.frame_poses(model, state, ["left_tip", "left_bench"])
    assert np.abs(found - lw.Pose((0, 1, 0)).matrix @ expected).max() <= 1e-14
    linkage.remove_frame("bench")
    linkage.remove_body("palm")
    assert linkage.frames == ()


def test_frames_are_reached_and_recorded(linkage, tmp_path):
    model = linkage.compile()
    goal = lw.frame_poses(model, model.state([0.3, -0.4]), "tip")[:3, 3]
    result = lw.reach(model, model.state([0.2, -0.2]), {"tip": goal})
    assert result.reached
    assert np.abs(lw.frame_poses(model, result.state, "tip")[:3, 3] - goal).max() <= 1e-8


def test_faults(linkage):
    for arguments, why in (
        (("tool", "hand"), "already"),
        (("hand", "lower"), "already"),
        (("world", "lower"), "already"),
        (("", "lower"), "non-empty"),
        ((3, "lower"), "non-empty"),
        (("eye", 3), "by name"),
        (("eye", "hand", (1, 2, 3)), "lw.Pose"),
    ):
        with pytest.raises(lw.ModelError, match=why):
            linkage.add_frame(*arguments)
    with pytest.raises(lw.ModelError, match="did you mean 'tool'"):
        linkage.remove_frame("tol")
    with pytest.raises(lw.ModelError, match="did you mean"):
        lw.frame_poses(linkage.compile(), linkage.compile().neutral(), "tipp")
    with pytest.raises(lw.StateError, match="sequence of names"):
        lw.frame_poses(linkage.compile(), linkage.compile().neutral(), 3)
    linkage.add_frame("eye", "hnd")
    linkage.add_frame("far", "world", lw.Pose((np.nan, 0, 0)))
    linkage.add_frame("round", "about")
    linkage.add_frame("about", "round")
    linkage.add_body("late", inertia=lw.Inertia.sphere(1, 1), joint=lw.Free())
    with pytest.raises(lw.ModelError) as error:
        linkage.compile()
    for part in (
        "'eye' stands on body 'hnd', which does not exist; did you mean 'hand'?",
        "'far' has a pose",
        "stands on itself",
    ):
        assert part in str(error.value)


def test_a_body_with_the_name_of_a_frame(linkage):
    linkage.add_body("tool", "hand", inertia=lw.Inertia.sphere(1, 1))
    with pytest.raises(lw.ModelError, match="has the name of a body"):
        linkage.compile()


def test_frames_on_massless_bodies_of_compound_joints():
    arm = lw.Linkage("arm")
    arm.add_body("between", joint=lw.Revolute((0, 0, 1)))
    arm.add_body("end", "between", lw.Revolute((0, 1, 0)), inertia=lw.Inertia.sphere(1, 1))
    arm.add_frame("eye", "between")
    with pytest.raises(lw.ModelError, match="part of a compound joint"):
        arm.compile()


def test_bodies_and_loops_hang_from_bodies(linkage):
    """A frame is refused there, with the name that is meant."""
    linkage.add_body("tray", "tool", lw.Revolute((0, 0, 1)), inertia=lw.Inertia.sphere(1.0, 0.1))
    linkage.add_loop(lw.Spherical(), "bench", "tray")
    with pytest.raises(lw.ModelError) as raised:
        linkage.compile()
    assert "its parent 'tool' is a frame; hang it from 'hand'" in str(raised.value)
    assert "loop 'bench-tray': 'bench' is a frame; name 'world'" in str(raised.value)
