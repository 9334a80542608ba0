"""Springs of balls with unequal stiffnesses: ½ φᵀKφ of the rotation vector, its gradient and second derivative."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.reference import complex_steps

import linkwork as lw
from linkwork.derivatives.stepping.rest_positions import rest_gradient
from linkwork.statics.balance import Balance
from linkwork.statics.loads import gather

STEP = 1e-5  # of central differences: errors of 1e-10 of the third derivative, rounding of 1e-11


def sprung_tree(seed=1, bodies=7):
    """Balls and a free body with unequal springs, slack at random orientations, with hinges between them."""
    rng = np.random.default_rng(seed)
    tree = lw.Linkage("sprung")
    for i in range(bodies):
        rest = rng.normal(size=4)
        rest /= np.linalg.norm(rest)
        stiffness = tuple(rng.uniform(0.5, 5.0, 3))
        joint = lw.Revolute((0, 1, 0), stiffness=1.0)
        if i == 0:
            joint = lw.Free(stiffness=(*stiffness, 2.0, 2.0, 2.0), rest=(0.1, 0.2, 0.3, *rest))
        elif i % 3:
            joint = lw.Spherical(stiffness=stiffness, rest=tuple(rest))
        parent = f"b{rng.integers(i)}" if i else "world"
        inertia = lw.Inertia(1.0, (0.1, 0.2, 0.3), (1.0, 1.2, 1.4))
        tree.add_body(f"b{i}", parent, joint, lw.Pose(xyz=tuple(rng.normal(size=3))), inertia)
    return tree.compile()


def along(model, q, k, function):
    """Central difference of a function of coordinates along joint velocity k."""
    unit = np.eye(model.nv)[k]
    return (function(model.integrate(q, unit, STEP)) - function(model.integrate(q, unit, -STEP))) / (2.0 * STEP)


def test_efforts_are_the_gradient_of_the_energy():
    model = sprung_tree()
    state = model.random_state(3, speed=0.0)
    slope = [
        along(model, state.q, k, lambda q: lw.energy(model, lw.State(q, state.v)).potential) for k in range(model.nv)
    ]
    assert lw.inverse_dynamics(model, state, np.zeros(model.nv)) == pytest.approx(slope, abs=1e-7)
    gradient = lw.vjp(lw.energy, model, state)[1]((0.0, 1.0)).q
    assert gradient == pytest.approx(slope, abs=1e-7)


def test_the_static_sweep_solves_with_the_second_derivative():
    model = sprung_tree(2)
    q = model.random_state(5, speed=0.0).q
    acting = gather(model, None, None, None)
    columns = [along(model, q, k, lambda x: -Balance(model, acting, x).r) for k in range(model.nv)]
    H = 0.5 * (np.array(columns) + np.array(columns).T)
    balance = Balance(model, acting, q)
    pivots = balance.eliminate_exactly(0.0)
    assert pivots.negative == int((np.linalg.eigvalsh(H) < 0.0).sum())
    x = np.zeros(model.nv)
    right = np.random.default_rng(0).normal(size=model.nv)
    balance.solve(right, x)
    assert H @ x == pytest.approx(right, abs=1e-6 * np.linalg.cond(H))


@pytest.mark.parametrize("name", ["q", "stiffness"])
def test_derivatives_of_dynamics_are_those_of_complex_steps(name):
    model = sprung_tree(3)
    state = model.random_state(7)
    rng = np.random.default_rng(11)
    effort, direction, weights = rng.normal(size=(3, model.nv))
    at = complex_steps.variables(model, state, effort)
    expected = complex_steps.derivative(lambda x: complex_steps.inverse_dynamics(model, state, x), at, name, direction)
    found = lw.jvp(lw.inverse_dynamics, model, state, effort, **{f"d{name}": direction})
    found = found[1] if isinstance(found, tuple) else found
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    _, pull = lw.vjp(lw.inverse_dynamics, model, state, effort)
    assert getattr(pull(weights), name) @ direction == pytest.approx(weights @ expected, rel=1e-9)


def test_energy_is_kept_by_a_swinging_ball_with_unequal_springs():
    chain = lw.library.chain(3, joint=lw.Spherical(stiffness=(0.3, 0.5, 3.0))).compile()
    state = chain.state(v=20.0 * np.random.default_rng(1).normal(size=9))
    sim = lw.FullDynamics(chain, state, integrator="rk4")
    before = sum(lw.energy(chain, state)[:2])
    sim.step(2e-4, 2000)
    assert sum(lw.energy(chain, sim.state)[:2]) == pytest.approx(before, rel=1e-6)


def test_a_reversed_ball_keeps_its_spring_where_it_is_slack_in_the_zero_frame():
    chain = lw.library.chain(3, joint=lw.Spherical(stiffness=(1.0, 2.0, 3.0))).compile()
    assert chain.joints[0].stiffness == (1.0, 2.0, 3.0)
    turned = lw.Spherical(stiffness=(1.0, 2.0, 3.0), rest=(0.8, 0.6, 0.0, 0.0))
    from linkwork.model.rerooting.reversal import reversal_faults

    assert reversal_faults(chain.joints[0], lw.Pose()) == []
    assert "placement" in reversal_faults(turned, lw.Pose())[0]


def test_gradients_of_where_springs_are_slack():
    model = sprung_tree(4)
    rng = np.random.default_rng(2)
    q, mu, turn = model.random_state(rng).q, rng.normal(size=model.nv), rng.normal(size=model.nv)

    def pushed(step):
        """μ · what springs push with, their rest moved along the tangent."""
        rest = model.integrate(model.arrays.rest, turn, step)
        arrays = model.arrays._replace(rest=rest)
        moved = replace(model, arrays=arrays)
        still = lw.State(q, np.zeros(model.nv))
        return mu @ lw.inverse_dynamics(moved, still, np.zeros(model.nv))

    expected = (pushed(STEP) - pushed(-STEP)) / (2.0 * STEP)
    assert rest_gradient(model, q, mu) @ turn == pytest.approx(expected, rel=1e-6)
