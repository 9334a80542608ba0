"""Quantities by name agree with those they are made of, on trees of every joint."""

import numpy as np
import pytest
from tests.helpers.kernel_parts.mechanisms import mixed_joints

import linkwork as lw

from ..helpers.rounding import rounding


@pytest.fixture(params=[0, 1, 2, 3])
def tree(request) -> lw.Model:
    if request.param == 0:
        return mixed_joints()
    return lw.library.random_tree(15, seed=request.param, floating=bool(request.param % 2)).compile()


@pytest.fixture
def state(tree) -> lw.State:
    return tree.random_state(4)


def close(a, b, condition: float = 1.0) -> bool:
    scale = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    return bool(
        np.abs(np.asarray(a) - b).max(initial=0.0) <= rounding(condition=condition, scale=scale, operations=1000)
    )


def test_equation_of_motion(tree, state):
    qdd = np.random.default_rng(1).normal(size=tree.nv)
    expected = lw.mass_matrix(tree, state) @ qdd + lw.bias_efforts(tree, state)
    assert close(lw.inverse_dynamics(tree, state, qdd), expected)


def test_gravity_is_the_derivative_of_its_energy(tree, state):
    still = lw.State(state.q, np.zeros(tree.nv))
    efforts = lw.gravity_efforts(tree, still)
    h = 1e-6
    weight, g = tree.mass.sum(), tree.gravity

    def height(q):
        return -weight * g @ lw.center_of_mass(tree, tree.state(q))

    slopes = [(height(tree.integrate(state.q, unit, h)) - height(tree.integrate(state.q, unit, -h))) / (2 * h)
              for unit in np.eye(tree.nv)]  # fmt: skip
    # Central differences: ε/h of the energy, h² of its third derivative.
    assert np.abs(efforts - slopes).max() <= 1e-7 * max(np.abs(efforts).max(), 1.0)


def test_momentum_is_linear_in_velocities(tree, state):
    center = lw.center_of_mass(tree, state)
    momentum = lw.momentum(tree, state, about=center)
    found = lw.centroidal_momentum_matrix(tree, state) @ state.v
    assert close(found, np.concatenate([momentum.angular, momentum.linear]))
    assert close(lw.com_jacobian(tree, state) @ state.v, momentum.linear / tree.mass.sum())


def test_biases_are_derivatives_along_the_motion(tree, state):
    """A(q) q̇ and J(q) q̇ with q̇ held, a little later and earlier. Compound joints and ball joints hold their v."""
    h = 1e-5
    name = tree.body_names[-1]
    later, earlier = (lw.State(tree.integrate(state.q, state.v, s), state.v) for s in (h, -h))
    scale = max(1.0, float(np.abs(state.v).max())) ** 3
    for quantity, bias in (
        (lambda s: lw.centroidal_momentum_matrix(tree, s) @ s.v, lw.centroidal_momentum_bias(tree, state)),
        (
            lambda s: lw.frame_jacobian(tree, s, name, axes="world") @ s.v,
            lw.frame_bias_acceleration(tree, state, name, axes="world"),
        ),
    ):
        slope = (quantity(later) - quantity(earlier)) / (2 * h)
        # h² of the third derivative and ε/h of the quantity
        assert np.abs(slope - bias).max() <= 1e-7 * scale * max(1.0, np.abs(bias).max())


def test_accelerations_of_bodies_are_those_of_frames(tree, state):
    qdd = np.random.default_rng(2).normal(size=tree.nv)
    for axes, frame in (("frame", "body"), ("world", "world")):
        found = lw.body_accelerations(tree, state, qdd, frame=frame)
        for i, name in enumerate(tree.body_names):
            J = lw.frame_jacobian(tree, state, name, axes=axes)
            expected = J @ qdd + lw.frame_bias_acceleration(tree, state, name, axes=axes)
            assert close(found[i], expected, condition=10.0)


def test_operational_inertia_is_the_inverse_of_the_mobility():
    model = lw.library.humanoid().compile()
    state = model.random_state(2)
    names = ["left_foot", "right_hand"]
    for axes in ("frame", "world"):
        J = np.vstack([lw.frame_jacobian(model, state, name, axes=axes) for name in names])
        mobility = J @ np.linalg.solve(lw.mass_matrix(model, state), J.T)
        expected = np.linalg.inv(mobility)
        found = lw.operational_inertia(model, state, names, axes=axes)
        assert close(found, expected, condition=np.linalg.cond(mobility))
        assert close(found[:6, :6] @ np.linalg.inv(found)[:6, :6], found[:6, :6] @ mobility[:6, :6], condition=1e6)
    arm = lw.library.chain(3).compile()
    with pytest.raises(lw.StateError, match="cannot move in all directions"):
        lw.operational_inertia(arm, arm.neutral(), arm.body_names[-1])


@pytest.mark.parametrize("seed", [1, 2, 530])  # 530: rounding leaves 4e-13 of a blocked direction
def test_operational_inertia_is_refused_where_a_direction_is_blocked(seed):
    rng = np.random.default_rng(seed)
    linkage = lw.library.random_tree(25, seed, branching=0.2, kinds=("revolute", "screw", "prismatic", "spherical"))
    model = linkage.compile()
    state = model.random_state(rng)
    for name in model.body_names:
        rank = np.linalg.matrix_rank(lw.frame_jacobian(model, state, name))
        for axes in ("frame", "world"):
            if rank < 6:
                with pytest.raises(lw.StateError, match="cannot move in all directions"):
                    lw.operational_inertia(model, state, name, axes=axes)
            else:
                assert np.isfinite(lw.operational_inertia(model, state, name, axes=axes)).all()
