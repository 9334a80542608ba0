"""Velocity Verlet on joint coordinates: order two, back the way it came, energy bounded, one motion in both simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import linkwork as lw


def tree_in_space(seed: int = 3, joints: int = 5, damping: float = 0.0) -> lw.Model:
    """A free base with a random tree of hinges and balls on it, armature in some of them."""
    rng = np.random.default_rng(seed)
    linkage = lw.Linkage("tree", gravity=(0.0, 0.0, -3.0))
    linkage.add_body("b0", joint=lw.Free(), inertia=lw.Inertia.box(2.0, (0.3, 0.4, 0.5)))
    for k in range(1, joints + 1):
        hinge = lw.Revolute(rng.normal(size=3), armature=0.05 * (k % 3), damping=damping)
        linkage.add_body(
            f"b{k}",
            parent=f"b{rng.integers(k)}",
            joint=lw.Spherical() if k == 3 else hinge,
            placement=lw.Pose(rng.normal(size=3), quaternion=rng.normal(size=4)),
            inertia=lw.Inertia(1.0 + rng.random(), rng.normal(size=3), np.diag([0.3, 0.4, 0.5])),
        )
    return linkage.compile()


def moving_state(model: lw.Model, seed: int = 1) -> lw.State:
    rng = np.random.default_rng(seed)
    return lw.State(model.random_state(rng).q, 0.3 * rng.normal(size=model.nv))


def after(model: lw.Model, state: lw.State, h: float, n: int, integrator: str = "kick_drift_kick") -> lw.State:
    sim = lw.FullDynamics(model, state, integrator=integrator)
    sim.advance(h, n)
    return sim.state


def test_a_step_is_the_plain_formula():
    model = tree_in_space()
    start, h = moving_state(model), 0.01

    def acceleration(q, v):
        return lw.forward_dynamics(model, lw.State(q, v))

    half = start.v + 0.5 * h * acceleration(start.q, start.v)
    q, v = model.integrate(start.q, half, h), half
    for _ in range(60):
        v = half + 0.5 * h * acceleration(q, v)
    end = after(model, start, h, 1)
    # one step: rounding of an acceleration times its condition (some 1e3 here), and the equation solved to 1e-12
    assert np.abs(model.difference(q, end.q)).max() <= 1e-12
    assert np.abs(v - end.v).max() <= 1e-10


def test_it_goes_back_the_way_it_came():
    model = tree_in_space()
    start = moving_state(model)
    there = after(model, start, 0.01, 20)
    back = after(model, lw.State(there.q, -there.v), 0.01, 20)
    # 40 equations solved to 1e-12, carried on by a motion that does not diverge in 20 steps
    assert np.abs(model.difference(start.q, back.q)).max() < 1e-9
    assert np.abs(start.v + back.v).max() < 1e-9


def test_it_is_of_order_two_on_balls_and_free_bodies():
    model = tree_in_space()
    start = moving_state(model)
    exact = after(model, start, 0.2 / 400, 400, "rk4")
    errors = [np.abs(model.difference(exact.q, after(model, start, 0.2 / n, n).q)).max() for n in (20, 40)]
    assert 3.6 < errors[0] / errors[1] < 4.4


def test_it_is_of_order_two_on_the_pendulum_by_jacobi_functions():
    """sin(θ/2) = k sn(K - ω₀ t)."""
    model = lw.library.pendulum(length=0.7, mass=1.3).compile()
    m, w = math.sin(1.25) ** 2, math.sqrt(9.81 / 0.7)
    sn, cn, dn, _ = ellipj(ellipk(m) - w, m)
    k = math.sqrt(m)
    angle, speed = 2.0 * math.asin(k * sn), -2.0 * k * w * cn * dn / math.sqrt(1.0 - m * sn * sn)
    ends = [after(model, model.state([2.5]), 1.0 / n, n) for n in (100, 200)]
    errors = [math.hypot(end.q[0] - angle, end.v[0] - speed) for end in ends]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_energy_swings_and_does_not_drift():
    """A pendulum over 300 swings: the energy error stays within (ωh)² of the energy in play, at the end as at the start."""
    model = lw.library.pendulum(length=1.0, mass=1.0).compile()
    sim = lw.FullDynamics(model, model.state([1.0]), integrator="kick_drift_kick")
    h, before = 0.01, sim.energy.total
    errors = []
    for _ in range(300):
        sim.advance(h, 200)
        errors.append(abs(sim.energy.total - before))
    in_play = 9.81 * (1.0 - math.cos(1.0))
    assert max(errors) <= (math.sqrt(9.81) * h) ** 2 * in_play
    assert max(errors[150:]) <= 1.5 * max(errors[:150])


def test_everything_active_moves_as_the_whole():
    model = tree_in_space(joints=8)
    start = moving_state(model)
    whole = lw.FullDynamics(model, start, integrator="kick_drift_kick")
    parts = lw.AdaptiveDynamics(model, start, tolerance=0.0, integrator="kick_drift_kick")
    for sim in (whole, parts):
        sim.apply_wrench("b4", force=(1.0, 2.0, 0.5))
        sim.advance(5e-3, 40)
    # 40 steps of accelerations right to eps times their condition (1e3), on a motion that does not diverge in that time
    assert np.abs(model.difference(whole.state.q, parts.state.q)).max() <= 1e-9
    assert np.abs(whole.state.v - parts.state.v).max() <= 1e-8


def test_a_second_kick_without_solution_is_reported():
    """½ h d / I > 1: the iteration diverges; the simulation stays where it was."""
    linkage = lw.Linkage("wheel")
    joint = lw.Revolute((0, 0, 1), damping=1000.0)
    linkage.add_body("wheel", joint=joint, inertia=lw.Inertia(1.0, moments=(0.3, 0.3, 0.5)))
    model = linkage.compile()
    sim = lw.FullDynamics(model, model.state([0.0], [1.0]), integrator="kick_drift_kick")
    with pytest.raises(lw.StateError, match="kick_drift_kick did not converge"):
        sim.step(0.1)
    assert sim.state.v[0] == 1.0
    assert sim.time == 0.0
