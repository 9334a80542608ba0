"""With no joint active a linkage is one rigid body: tops, free fall, and a pendulum whose links hold together."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipk
from tests.helpers.rounding import rounding

import linkwork as lw

SPIN = np.array([0.9, 0.3, 2.1])  # [rad/s] of the tops, body frame
EULER, RK4 = "semi_implicit_euler", "rk4"


def box(mass, sides, at=(0.0, 0.0, 0.0)):
    return lw.Inertia.box(mass, sides).at(lw.Pose(at))


def star(symmetric, gravity=(0.0, 0.0, 0.0)):
    """A free hub with four arms of two links each, by all kinds of joints; alike in four directions when symmetric."""
    linkage = lw.Linkage("star", gravity=gravity)
    linkage.add_body("hub", "world", lw.Free(), inertia=box(1.0, (0.4, 0.4, 0.2)))
    joints = (lw.Revolute((0, 1, 0)), lw.Spherical(), lw.Universal(), lw.Prismatic((1, 0, 0)))
    for k, joint in enumerate(joints):
        turn = lw.Pose((0, 0, 0), rpy=(0, 0, k * math.pi / 2))
        place = turn @ lw.Pose((0.3 if symmetric else 0.3 + 0.1 * k, 0, 0 if symmetric else 0.05 * k))
        linkage.add_body(f"arm_{k}", "hub", joint, place, box(0.5, (0.5, 0.1, 0.1), (0.25, 0, 0)))
        linkage.add_body(
            f"hand_{k}", f"arm_{k}", lw.Screw((1, 0, 0), pitch=0.1), lw.Pose((0.5, 0, 0)), box(0.2, (0.1,) * 3)
        )
    return linkage.compile()


def rigid(model, spin, velocity=(0.0, 0.0, 0.0), **options):
    """A simulation in which no joint moves but the base, which turns and shifts as given (body frame)."""
    state = model.neutral()
    state.v[:3], state.v[3:6] = spin, velocity
    return lw.AdaptiveDynamics(model, state, tolerance=math.inf, **options)


def attitude(sim):
    return lw.body_poses(sim.model, sim.state)[0, :3, :3]


def error_at(model, truth, duration, steps, integrator):
    """Largest error of spin and attitude of a rigid run."""
    spin, turn = truth
    sim = rigid(model, SPIN, integrator=integrator)
    report = sim.step(duration / steps, steps)
    assert report.n_active == 0
    assert report.region_changes == 0
    assert (sim.state.v[6:] == 0.0).all()
    return max(np.abs(sim.state.v[:3] - spin).max(), np.abs(attitude(sim) - turn).max())


def symmetric_top(inertia, t):
    """Spin in the body and direction of the axis in the world, of a torque-free top about its centre of mass."""
    across, along = inertia[0, 0], inertia[2, 2]
    rate = (along - across) / across * SPIN[2]  # the spin goes round the axis with this, seen from the body
    c, s = math.cos(rate * t), math.sin(rate * t)
    spin = np.array([c * SPIN[0] - s * SPIN[1], s * SPIN[0] + c * SPIN[1], SPIN[2]])
    L = inertia @ SPIN
    angle, L = np.linalg.norm(L) / across * t, L / np.linalg.norm(L)  # the axis goes round the momentum with |L| / I
    axis = np.array([0.0, 0.0, 1.0])
    turned = axis * math.cos(angle) + np.cross(L, axis) * math.sin(angle) + L * (L @ axis) * (1.0 - math.cos(angle))
    return spin, turned


def test_a_symmetric_top_precesses_as_it_should():
    model = star(symmetric=True)
    M = lw.mass_matrix(model, model.neutral())[:6, :6]
    assert np.abs(M[:3, 3:]).max() < 1e-12  # the centre of mass is in the hub
    assert np.abs(M[:3, :3] - np.diag([M[0, 0], M[0, 0], M[2, 2]])).max() < 1e-12
    t = 1.7
    spin, axis = symmetric_top(M[:3, :3], t)
    assert abs(spin[0] - SPIN[0]) > 0.3  # it did precess
    fine = rigid(model, SPIN, integrator=RK4)
    fine.step(t / 400, 400)
    assert fine.state.v[:3] == pytest.approx(spin, abs=1e-9)  # h⁴ of h = 4e-3, times rates of order one
    assert attitude(fine)[:, 2] == pytest.approx(axis, abs=1e-9)
    errors = []
    for steps in (200, 400):
        sim = rigid(model, SPIN, integrator=EULER)
        sim.step(t / steps, steps)
        errors.append(np.abs(attitude(sim)[:, 2] - axis).max())
    # A rigid body turns by the midpoint rule of its spin: of order two, although Euler's rule is of order one.
    assert math.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.15)


def asymmetric_top(inertia, duration):
    """Spin and attitude by Euler's equations to thirteen digits."""

    def rates(_, y):
        w, R = y[:3], y[3:].reshape(3, 3)
        cross = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        return np.concatenate([np.linalg.solve(inertia, np.cross(inertia @ w, w)), (R @ cross).ravel()])

    start = np.concatenate([SPIN, np.eye(3).ravel()])
    end = solve_ivp(rates, (0.0, duration), start, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    return end[:3], end[3:].reshape(3, 3)


@pytest.mark.parametrize(("integrator", "order", "steps"), [(EULER, 2.0, 400), (RK4, 4.0, 40)])
def test_an_asymmetric_top_follows_eulers_equations_with_the_order_of_the_integrator(integrator, order, steps):
    model = star(symmetric=False)
    M = lw.mass_matrix(model, model.neutral())[:6, :6]
    mass = M[3, 3]
    h = np.array([M[2, 4], M[0, 5], M[1, 3]])  # first moment of mass, from m [c x] in the corner
    assert np.abs(h).max() > 0.1  # the hub is not the centre of mass, so it circles about it
    about_com = M[:3, :3] - (h @ h * np.eye(3) - np.outer(h, h)) / mass
    moments = np.linalg.eigvalsh(about_com)
    assert np.diff(moments).min() > 0.05
    truth = asymmetric_top(about_com, 1.5)
    errors = [error_at(model, truth, 1.5, n, integrator) for n in (steps, 2 * steps)]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.2)
    assert errors[1] < (1e-3 if order == 2 else 1e-5)


def test_a_top_falls_along_a_parabola():
    """Its centre of mass does, however it turns: to rounding where the integrator is of fourth order."""
    gravity, velocity, t = np.array([0.5, -1.0, -9.0]), (0.4, -0.3, 2.0), 0.6
    model = star(symmetric=False, gravity=tuple(gravity))
    sim = rigid(model, SPIN, velocity, integrator=RK4)
    start = lw.center_of_mass(model, sim.state)
    pushed = lw.momentum(model, sim.state).linear / model.mass.sum()
    sim.step(t / 200, 200)
    expected = start + pushed * t + 0.5 * gravity * t * t
    assert lw.center_of_mass(model, sim.state) == pytest.approx(expected, abs=1e-9)
    assert sim.momentum.linear / model.mass.sum() == pytest.approx(pushed + gravity * t, abs=1e-9)


def test_without_spin_semi_implicit_euler_falls_as_its_formula_says():
    """x = v0 n h + g h² n (n + 1) / 2, to rounding: velocities first, then positions."""
    gravity, velocity, h, n = np.array([0.5, -1.0, -9.0]), np.array([0.4, -0.3, 2.0]), 1e-3, 700
    model = star(symmetric=False, gravity=tuple(gravity))
    sim = rigid(model, (0.0, 0.0, 0.0), velocity, integrator="semi_implicit_euler")
    sim.step(h, n)
    expected = velocity * n * h + gravity * h * h * n * (n + 1) / 2
    assert sim.state.q[:3] == pytest.approx(expected, abs=rounding(scale=np.abs(expected).max(), steps=n))
    end = velocity + gravity * n * h
    assert sim.state.v[3:6] == pytest.approx(end, abs=rounding(scale=np.abs(end).max(), steps=n))
    energy = lw.energy(sim.model, sim.state)
    same = rounding(condition=1e2, scale=energy.kinetic + abs(energy.potential))
    assert sim.energy.total == pytest.approx(energy.total, abs=same)


def test_a_chain_that_holds_together_swings_as_a_compound_pendulum():
    """Its first joint is pinned active, all others are left to a tolerance that hides them: period by elliptic integral."""
    linkage = lw.Linkage("chain", gravity=(0, 0, -9.81))
    for k in range(6):
        place = lw.Pose((0, 0, -0.4 if k else 0), rpy=(0, 0.1 * k, 0))
        joint = lw.Revolute((0, 1, 0)) if k % 2 == 0 else lw.Spherical()
        linkage.add_body(
            f"link_{k}", f"link_{k - 1}" if k else "world", joint, place, box(1.0, (0.1, 0.1, 0.4), (0, 0, -0.2))
        )
    model = linkage.compile()
    state = model.neutral()
    state.q[0] = 0.0
    com = lw.center_of_mass(model, state)
    mass, distance = model.mass.sum(), math.hypot(com[0], com[2])
    rest = math.atan2(com[0], -com[2])  # about y a positive angle swings from -z to -x
    amplitude = 1.2
    state.q[0] = rest + amplitude
    inertia = lw.mass_matrix(model, state)[0, 0]
    period = 4.0 * math.sqrt(inertia / (mass * 9.81 * distance)) * ellipk(math.sin(amplitude / 2) ** 2)
    sim = lw.AdaptiveDynamics(model, state, tolerance=math.inf, integrator=RK4)
    sim.pin_active(model.joint_names[0])
    steps = 400
    sim.step(period / steps, steps // 2)
    assert sim.active_joints == [model.joint_names[0]]
    assert sim.state.q[0] == pytest.approx(rest - amplitude, abs=1e-6)  # h⁴ with h = period / 400
    sim.step(period / steps, steps // 2)
    assert sim.state.q[0] == pytest.approx(rest + amplitude, abs=1e-6)
    assert sim.state.v[0] == pytest.approx(0.0, abs=1e-5)
    assert (sim.state.q[1:] == state.q[1:]).all()
    assert (sim.state.v[1:] == 0.0).all()
