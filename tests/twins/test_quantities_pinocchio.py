"""Bias, gravity, centroidal quantities, accelerations and operational inertia, beside Pinocchio's, on its own robots."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.robots import NEEDED, URDFS

import linkwork as lw
from linkwork.model import layout

from .test_robots_pinocchio import _anywhere, pin, robot_counterpart

NAMES = ["double_pendulum", "panda", "simple_humanoid", "solo12", "tiago_dual"]
PART = 1e-12  # of the size of the whole


def assert_same(ours, theirs, what: str, condition: float = 1.0) -> None:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape, what
    assert np.abs(ours - theirs).max() <= PART * condition * max(np.abs(theirs).max(), 1e-300), what


def angular_first(rows: np.ndarray) -> np.ndarray:
    return np.concatenate([rows[3:], rows[:3]])


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("name", NAMES)
def test_quantities(name, floating):
    if name not in URDFS:
        pytest.skip(reason=NEEDED)
    counterpart = robot_counterpart(URDFS[name], floating)
    model, theirs, data, order = counterpart.model, counterpart.theirs, counterpart.data, counterpart.order
    rng = np.random.default_rng(3)
    q = np.concatenate([_anywhere(joint, rng) for joint in model.joints])
    state = lw.State(q, rng.normal(size=model.nv))
    pq, pv = counterpart.q(q), counterpart.v(state.v)
    drag = model.arrays.dof[:, layout.DAMPING] * state.v
    assert_same(lw.bias_efforts(model, state) - drag, pin.nonLinearEffects(theirs, data, pq, pv)[order], "bias")
    gravity = pin.computeGeneralizedGravity(theirs, data, pq)[order]
    assert_same(lw.gravity_efforts(model, state), gravity, "gravity")
    assert_same(lw.com_jacobian(model, state), pin.jacobianCenterOfMass(theirs, data, pq)[:, order], "com")
    A = angular_first(pin.computeCentroidalMap(theirs, data, pq))[:, order]
    assert_same(lw.centroidal_momentum_matrix(model, state), A, "centroidal momentum matrix")
    pin.computeCentroidalMomentumTimeVariation(theirs, data, pq, pv, np.zeros(theirs.nv))
    bias = angular_first(data.dhg.vector)
    assert_same(lw.centroidal_momentum_bias(model, state), bias, "its bias", condition=10.0)
    check_accelerations(counterpart, state, rng)


def check_accelerations(counterpart, state: lw.State, rng: np.random.Generator) -> None:
    model, theirs, data, order = counterpart.model, counterpart.theirs, counterpart.data, counterpart.order
    pq, pv = counterpart.q(state.q), counterpart.v(state.v)
    qdd = rng.normal(size=model.nv)
    pin.forwardKinematics(theirs, data, pq, pv, counterpart.v(qdd))
    joints = [ids[-1] for ids in counterpart.ids]
    classical = [pin.getClassicalAcceleration(theirs, data, j, pin.LOCAL).vector for j in joints]
    expected = np.array([angular_first(a) for a in classical])
    assert_same(lw.body_accelerations(model, state, qdd), expected, "accelerations")
    pin.forwardKinematics(theirs, data, pq, pv, np.zeros(theirs.nv))
    last = model.n_bodies - 1
    axes = pin.LOCAL_WORLD_ALIGNED
    bias = angular_first(pin.getClassicalAcceleration(theirs, data, joints[last], axes).vector)
    found = lw.frame_bias_acceleration(model, state, model.body_names[last], axes="world")
    assert_same(found, bias, "J̇q̇", condition=10.0)
    J = angular_first(pin.computeJointJacobian(theirs, data, pq, joints[last]))[:, order]
    assert_same(lw.frame_jacobian(model, state, model.body_names[last]), J, "jacobian")
