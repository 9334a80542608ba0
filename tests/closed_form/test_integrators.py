"""Motions that books give in closed form, and how fast each integrator converges to them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ellipj, ellipk
from tests.helpers.stepping import end_after

import linkwork as lw
from linkwork.simulation.integrators.names import INTEGRATORS

G = 9.81
ORDERS = {
    "semi_implicit_euler": 1,
    "rk4": 4,
    "dormand_prince": 5,
    "implicit_midpoint": 2,
    "kick_drift_kick": 2,
    "variational": 2,
}
BAND = 0.3  # the next order is one away; what is measured lies within 0.2


@pytest.fixture(params=ORDERS)
def integrator(request):
    return request.param


def measured_order(errors: list[float]) -> float:
    return math.log2(errors[-2] / errors[-1])


def test_every_integrator_has_its_order_here():
    assert set(ORDERS) == set(INTEGRATORS)


def test_order_on_the_pendulum_by_jacobi_functions(integrator):
    """sin(θ/2) = k sn(K - ω₀ t)."""
    model = lw.library.pendulum(length=0.7, mass=1.3).compile()
    amplitude, duration = 2.5, 1.0
    m, w = math.sin(1.25) ** 2, math.sqrt(G / 0.7)
    sn, cn, dn, _ = ellipj(ellipk(m) - w * duration, m)
    k = math.sqrt(m)
    angle = 2.0 * math.asin(k * sn)
    speed = -2.0 * k * w * cn * dn / math.sqrt(1.0 - m * sn * sn)
    errors = []
    for steps in (50, 100, 200):
        end = end_after(model, model.state([amplitude]), duration, steps, integrator)
        errors.append(math.hypot(end.q[0] - angle, end.v[0] - speed))
    assert measured_order(errors) == pytest.approx(ORDERS[integrator], abs=BAND)


def test_order_on_a_free_symmetric_body(integrator):
    """Torque-free: the body precesses about its angular momentum; both its rates are constants, and it falls besides.

    With moments (A, A, C), momentum L and Ω = (A - C) ω_z / A the attitude is exp(L t / A) in the world times exp(Ω t e_z)
    in the body. The centre of mass falls on a parabola.
    """
    A, C, mass = 0.5, 0.9, 1.7
    com = np.array([0.1, -0.2, 0.3])
    linkage = lw.Linkage("free")
    linkage.add_body("body", joint=lw.Free(), inertia=lw.Inertia(mass, com=tuple(com), moments=(A, A, C)))
    model = linkage.compile()
    spin, push, duration = np.array([1.0, 0.5, 3.0]), np.array([0.4, -0.3, 0.2]), 1.0
    start = model.state(None, np.concatenate([spin, push]))
    omega = (A - C) / A * spin[2]
    R = turn(np.array([A * spin[0], A * spin[1], C * spin[2]]) / A * duration) @ turn(
        np.array([0, 0, omega * duration])
    )
    center = com + (push + np.cross(spin, com)) * duration + 0.5 * model.gravity * duration**2
    errors = []
    for steps in (40, 80, 160):
        end = end_after(model, start, duration, steps, integrator)
        T = lw.body_poses(model, end)[0]
        errors.append(max(np.abs(T[:3, :3] - R).max(), np.abs(T[:3, :3] @ com + T[:3, 3] - center).max()))
    assert measured_order(errors) == pytest.approx(ORDERS[integrator], abs=BAND)


def turn(r: np.ndarray) -> np.ndarray:
    """exp(r ×) by Rodrigues."""
    angle = float(np.linalg.norm(r))
    x, y, z = r / angle
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * K @ K


def test_a_body_that_does_not_turn_falls_on_a_parabola(integrator):
    """Exact to rounding but for Euler, whose mean velocity is off by ½ h g: the parabola of t (t + h)."""
    linkage = lw.Linkage("stone")
    linkage.add_body("stone", joint=lw.Free(), inertia=lw.Inertia.box(2.0, (0.1, 0.2, 0.3)))
    model = linkage.compile()
    start = model.state([1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.5, -0.4, 0.3])
    steps, h = 100, 0.01
    sim = lw.FullDynamics(model, start, integrator=integrator)
    sim.step(h, steps)
    t = steps * h
    late = h if integrator == "semi_implicit_euler" else 0.0
    expected = start.q[:3] + start.v[3:] * t + 0.5 * model.gravity * t * (t + late)
    # a hundred additions to numbers of order ten
    assert sim.state.q[:3] == pytest.approx(expected, abs=1e-11)
    # and to angular momenta of order a hundred, over moments of 0.008 kg·m²: so much it turns, and its axes with it
    assert sim.state.v[3:] == pytest.approx(start.v[3:] + model.gravity * t, abs=3e-10)
    assert sim.time == pytest.approx(t)
    assert sim.steps_done == steps


def wheel(damping: float = 0.0, stiffness: float = 0.0, rest: float = 0.0) -> lw.Model:
    linkage = lw.Linkage("wheel")
    joint = lw.Revolute((0, 0, 1), damping=damping, stiffness=stiffness, rest=rest)
    linkage.add_body("wheel", joint=joint, inertia=lw.Inertia(1.0, moments=(0.3, 0.3, 0.5)))
    return linkage.compile()


def test_order_on_a_damper(integrator):
    """v = v₀ exp(-d t / I), q = v₀ I/d (1 - exp(-d t / I))."""
    model = wheel(damping=0.8)
    errors = []
    # In coarser variational steps the damper's work is off by more than the thousandth from which on energy is given back.
    for steps in (40, 80, 160) if integrator == "variational" else (10, 20, 40):
        end = end_after(model, model.state([0.0], [2.0]), 1.0, steps, integrator)
        decay = math.exp(-0.8 / 0.5)
        errors.append(max(abs(end.v[0] - 2.0 * decay), abs(end.q[0] - 2.0 * 0.5 / 0.8 * (1.0 - decay))))
    assert measured_order(errors) == pytest.approx(ORDERS[integrator], abs=BAND)


def test_a_motor_moves_as_the_damped_oscillator(integrator):
    """I q'' = k (p - q) - d q': q - p = exp(-d t / 2I) (a cos ωt + b sin ωt)."""
    k, d, inertia, goal, start, duration = 20.0, 1.5, 0.5, 0.7, -0.2, 1.3
    model = wheel()
    rate = d / (2.0 * inertia)
    w = math.sqrt(k / inertia - rate * rate)
    a = start - goal
    expected = goal + math.exp(-rate * duration) * a * (math.cos(w * duration) + rate / w * math.sin(w * duration))
    errors = []
    for steps in (130, 260, 520):
        sim = lw.FullDynamics(model, model.state([start]), integrator=integrator, rtol=1e9, atol=1e9)
        sim.set_motor("wheel", position=goal, stiffness=k, damping=d)
        sim.step(duration / steps, steps)
        errors.append(abs(sim.state.q[0] - expected))
    if integrator == "dormand_prince":  # its first substep is a cautious one, so halving says little; its error does
        assert errors[-1] < 1e-10
    else:
        assert measured_order(errors) == pytest.approx(ORDERS[integrator], abs=BAND)


def test_a_motor_settles_where_it_balances_the_load(integrator):
    """k (p - q) = m g l sin q at rest, under gravity and a motor that pulls."""
    model = lw.library.pendulum(length=0.5, mass=1.0).compile()
    sim = lw.FullDynamics(model, model.state([0.1]), integrator=integrator)
    sim.set_motor("bob", position=1.2, stiffness=6.0, damping=2.5)
    sim.step(5e-3, 4000)
    q = sim.state.q[0]
    assert abs(sim.state.v[0]) < 1e-6  # decays like exp(-5 t) for 20 s; dormand_prince's atol of 1e-9 feeds it
    assert 6.0 * (1.2 - q) == pytest.approx(1.0 * G * 0.5 * math.sin(q), rel=1e-6)
    assert 0.3 < q < 1.2


def test_a_motor_that_asks_for_a_velocity_reaches_it(integrator):
    """I q'' = d (u - q'): the velocity closes in on u like exp(-d t / I)."""
    model = wheel()
    sim = lw.FullDynamics(model, model.neutral(), integrator=integrator)
    sim.set_motor("wheel", velocity=3.0, damping=2.0)
    sim.step(1e-3, 1000)
    error = 5e-3 if integrator == "semi_implicit_euler" else 1e-5  # h d / I of the exponent, or h² of it
    assert sim.state.v[0] == pytest.approx(3.0 * (1.0 - math.exp(-2.0 / 0.5)), rel=error)
    sim.clear_motor("wheel")
    before = sim.state.v[0]
    sim.step(1e-3, 100)
    assert sim.state.v[0] == pytest.approx(before, rel=1e-12)


def test_a_spring_to_the_world_swings_a_slider(integrator):
    """m x'' = k (c - x): a cosine about c."""
    linkage = lw.Linkage("slider", gravity=(0, 0, 0))
    linkage.add_body("box", joint=lw.Prismatic((1, 0, 0)), inertia=lw.Inertia.box(2.0, (0.1, 0.1, 0.1)))
    model = linkage.compile()
    w, duration, steps = math.sqrt(8.0 / 2.0), 1.0, 2000
    sim = lw.FullDynamics(model, model.state([0.3]), integrator=integrator)
    sim.apply_spring("box", target=(0.5, 0.7, 0.0), stiffness=8.0)  # across the rail it pulls in vain
    sim.step(duration / steps, steps)
    error = 1e-3 if integrator == "semi_implicit_euler" else 1e-6  # ½ h ω t, or (h ω)² t / 24
    assert sim.state.q[0] == pytest.approx(0.5 - 0.2 * math.cos(w * duration), abs=error)
