"""A frame that is fixed in a body has quantities of its own, at its origin and in its own axes, wherever it is named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.model.model import Frame

SAME = rounding(condition=1e4, scale=10.0)  # of mass matrices here; levers of frames


@pytest.fixture
def case(make_tree, rng):
    """A tree of all joints with a frame at a random pose on its last body and one that stands in the world; a state."""
    model = make_tree(branching=0.5, seed=8, bodies=14, base=lw.Free())
    turn = lw.Pose(xyz=(0.3, -0.4, 0.7), rpy=(0.4, -1.1, 2.0))
    frames = {"camera": Frame(model.n_bodies - 1, turn), "mark": Frame(-1, turn)}
    model = replace(model, frames={**model.frames, **frames})
    return model, model.random_state(rng)


def pose_of_camera(model, state):
    frame = model.frame("camera")
    return lw.body_poses(model, state)[frame.body] @ frame.pose.matrix


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=SAME * (1.0 + np.abs(expected).max()))


def test_jacobian_is_the_derivative_of_the_pose(case, rng):
    """T⁻¹ dT/dt along the motion is [ω; v] of the frame, in its own axes at its own origin."""
    model, state = case
    T = pose_of_camera(model, state)
    h = 1e-6
    ahead, back = (
        pose_of_camera(model, model.state(model.integrate(state.q, state.v, s * h), state.v)) for s in (1, -1)
    )
    W = np.linalg.inv(T) @ (ahead - back) / (2 * h)
    twist = lw.body_jacobian(model, state, "camera") @ state.v
    expected = np.array([W[2, 1], W[0, 2], W[1, 0], *W[:3, 3]])
    np.testing.assert_allclose(twist, expected, rtol=0, atol=1e-7 * (1 + np.abs(expected).max()))  # differences: h²


@pytest.mark.parametrize("axes", ["body", "world"])
def test_jacobian_at_a_point_of_a_frame_is_that_of_the_point(case, axes):
    model, state = case
    index, pose = model.frame("camera")
    at = np.array([0.2, 0.5, -0.3])
    found = lw.body_jacobian(model, state, "camera", frame=axes, at=at)
    expected = lw.body_jacobian(model, state, index, frame=axes, at=pose.apply(at))
    if axes == "body":
        R = pose.matrix[:3, :3].T
        expected = np.concatenate([R @ expected[:3], R @ expected[3:]])
    assert_close(found, expected)


def test_jacobian_of_a_frame_in_the_world_is_zero(case):
    model, state = case
    assert not lw.body_jacobian(model, state, "mark", frame="world").any()


def test_twist_and_acceleration_are_those_of_the_jacobian(case):
    """a = J q̈ + (dJ/dt) v, where the second part is that of the body, moved to the frame."""
    model, state = case
    response = lw.Response(model, state)
    index, pose = model.frame("camera")
    assert_close(response.twist("camera"), lw.body_jacobian(model, state, "camera") @ state.v)
    R, p = pose.matrix[:3, :3], pose.matrix[:3, 3]
    a = response.acceleration(index)
    assert_close(response.acceleration("camera"), np.concatenate([R.T @ a[:3], R.T @ (a[3:] + np.cross(a[:3], p))]))


@pytest.mark.parametrize("axes", ["body", "world"])
def test_blocks_are_those_of_the_jacobians(case, axes):
    model, state = case
    response = lw.Response(model, state)
    M = lw.mass_matrix(model, state)
    for of, on in [("camera", "camera"), ("camera", 3), (3, "camera")]:
        A, B = (lw.body_jacobian(model, state, x, frame=axes) for x in (of, on))
        assert_close(response.block(of, on, frame=axes), A @ np.linalg.solve(M, B.T))


def test_points_of_blocks_are_in_the_frame(case):
    model, state = case
    response = lw.Response(model, state)
    a, b = np.array([0.1, 0.2, 0.3]), np.array([-0.3, 0.1, 0.4])
    A = lw.body_jacobian(model, state, "camera", at=a)[3:]
    B = lw.body_jacobian(model, state, 2, at=b)[3:]
    expected = A @ np.linalg.solve(lw.mass_matrix(model, state), B.T)
    assert_close(response.block("camera", 2, at_of=a, at_on=b), expected)


def test_a_wrench_on_a_frame_acts_through_it(case, rng):
    model, state = case
    response = lw.Response(model, state)
    J = lw.body_jacobian(model, state, "camera")
    wrench = rng.normal(size=6)
    qdd = np.linalg.solve(lw.mass_matrix(model, state), J.T @ wrench)
    caused = response.body_response("camera", wrench_on="camera", wrench=wrench)
    assert_close(caused, J @ qdd)
    joint = model.joint_names[4]
    assert_close(response.joint_response(joint, wrench_on="camera", wrench=wrench), qdd[model.v_slice(4)])


def test_a_frame_has_a_wrench_of_its_own(case, rng):
    """Set twice it is replaced, and the wrench on the body stays."""
    model, state = case
    index = model.frame("camera").body
    on_body, on_frame = rng.normal(size=6), rng.normal(size=6)
    response = lw.Response(model, state)
    response.set_wrench(index, on_body)
    response.set_wrench("camera", rng.normal(size=6))
    response.set_wrench("camera", on_frame)
    effort = lw.body_jacobian(model, state, "camera").T @ on_frame + lw.body_jacobian(model, state, index).T @ on_body
    qdd = lw.forward_dynamics(model, state, effort)
    found = np.concatenate([response.joint_acceleration(name) for name in model.joint_names])
    assert_close(found, qdd)


def test_frames_in_the_world_have_no_response(case):
    model, state = case
    with pytest.raises(lw.StateError, match="'mark' is the world"):
        lw.Response(model, state).twist("mark")
