"""Inverse kinematics on robot files beside the loop of Pinocchio's manual: damped steps on log6 of the frame's error."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.robots import NEEDED, URDFS

import linkwork as lw

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")

TIPS = {"panda": "panda_link7", "snake": None, "tiago_dual": "arm_left_7_link", "solo12": None}
POSES = 5


def log6_loop(model, data, q, joint: int, goal, steps: int = 1000):
    """The coordinates after damped steps on log6, and the size of the last error."""
    error = np.inf
    for _ in range(steps):
        pin.forwardKinematics(model, data, q)
        away = data.oMi[joint].actInv(goal)
        e = pin.log(away).vector
        error = float(np.linalg.norm(e))
        if error < 1e-6:
            break
        J = -pin.Jlog6(away.inverse()) @ pin.computeJointJacobian(model, data, q, joint)
        q = pin.integrate(model, q, -J.T @ np.linalg.solve(J @ J.T + 1e-6 * np.eye(6), e) * 0.3)
    return q, error


@pytest.mark.parametrize("name", TIPS)
def test_what_pinocchio_reaches_is_reached(name):
    if name not in URDFS:
        pytest.skip(reason=NEEDED)
    ours = lw.load(URDFS[name], missing_meshes="skip").compile().without_loops
    theirs = pin.buildModelFromUrdf(str(URDFS[name]))
    data = theirs.createData()
    tip = TIPS[name] or ours.body_names[-1]
    joint = theirs.getJointId(ours.joint_names[ours.body(tip)])
    rng = np.random.default_rng(1)
    for _ in range(POSES):
        goal = lw.body_poses(ours, ours.random_state(rng))[ours.body(tip)]
        start = ours.random_state(rng)
        result = lw.reach(ours, start, {tip: lw.Pose(matrix=goal)}, limits=False, restarts=3)
        _, error = log6_loop(theirs, data, pin.neutral(theirs), joint, pin.SE3(goal))
        if error < 1e-6:
            assert result.reached, f"{name}: Pinocchio's loop reaches the pose, reach ends {result}"
        if result.reached:  # and it is the pose that Pinocchio means
            pin.forwardKinematics(theirs, data, _coordinates(ours, theirs, result.state.q))
            assert np.linalg.norm(pin.log(data.oMi[joint].actInv(pin.SE3(goal))).vector) <= 1e-7


def _coordinates(ours: lw.Model, theirs, q: np.ndarray) -> np.ndarray:
    """Ours as Pinocchio has them: an endless hinge is (cos, sin) there."""
    out = pin.neutral(theirs)
    for i, name in enumerate(ours.joint_names):
        joint = theirs.joints[theirs.getJointId(name)]
        value = q[ours.q_slice(i)][0]
        out[joint.idx_q : joint.idx_q + joint.nq] = value if joint.nq == 1 else (np.cos(value), np.sin(value))
    return out
