"""Pendulums and oscillators whose motion has been in books for centuries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import linkwork as lw

G = 9.81
EPS = np.finfo(float).eps


def pendulum(mass=1.3, length=0.7, inertia=0.2):
    """A body on a hinge about y, hanging along -z; returns the model and ω₀² = m g l / I."""
    linkage = lw.Linkage("pendulum")
    body = lw.Inertia(mass, com=(0.0, 0.0, -length), moments=(inertia, inertia, inertia))
    linkage.add_body("bob", joint=lw.Revolute((0, 1, 0)), inertia=body)
    return linkage.compile(), mass * G * length / (inertia + mass * length**2)


@pytest.mark.parametrize("amplitude", [1e-6, 0.1, math.pi / 2, math.radians(170.0)])
def test_pendulum_period_by_elliptic_integral(algorithm, rk4, amplitude):
    model, w2 = pendulum()
    quarter = ellipk(math.sin(amplitude / 2.0) ** 2) / math.sqrt(w2)  # a quarter of T = 4 K(k) / ω₀
    start = model.state([amplitude])
    # At the bottom the angle passes zero with speed 2 ω₀ sin(θ₀/2): an error in the period shows in full.
    bottom = rk4(model, start, quarter, 400, algorithm=algorithm)
    top_speed = 2.0 * math.sqrt(w2) * math.sin(amplitude / 2.0)
    # (h ω₀)⁴/120 a radian of phase: 2e-12 for small swings; the largest takes longer steps and 2e-10 is measured
    assert bottom.q[0] == pytest.approx(0.0, abs=1e-9 * amplitude)
    assert bottom.v[0] == pytest.approx(-top_speed, rel=1e-9)
    end = rk4(model, start, 4.0 * quarter, 1600, algorithm=algorithm)
    assert end.q[0] == pytest.approx(amplitude, rel=1e-9)
    assert end.v[0] == pytest.approx(0.0, abs=1e-9 * top_speed)


def test_pendulum_path_by_jacobi_functions(rk4):
    """sin(θ/2) = k sn(K - ω₀ t): the whole motion, not the period alone."""
    model, w2 = pendulum()
    amplitude = 2.5
    m = math.sin(amplitude / 2.0) ** 2
    h, seen = 0.005, [model.state([amplitude])]
    rk4(model, seen[0], 5.0, 1000, watch=seen.append)
    t = h * np.arange(1001)
    sn, *_ = ellipj(ellipk(m) - math.sqrt(w2) * t, m)
    # (h ω₀)⁴/120 = 1e-9 a radian, over some 15 rad
    assert np.array([s.q[0] for s in seen]) == pytest.approx(2.0 * np.arcsin(math.sqrt(m) * sn), abs=1e-7)


def test_pendulum_acceleration(algorithm, solve):
    model, w2 = pendulum()
    for angle in np.linspace(-4.0, 4.0, 41):
        qdd = solve(model, model.state([angle], [3.0]), algorithm=algorithm)
        assert qdd[0] == pytest.approx(-w2 * math.sin(angle), abs=20 * EPS * w2)  # a handful of roundings


def test_double_pendulum(algorithm, solve, rng):
    """Point masses on rods; angles from the vertical, as in every textbook.

    (m₁+m₂) l₁ θ₁'' + m₂ l₂ θ₂'' cos δ + m₂ l₂ θ₂'² sin δ + (m₁+m₂) g sin θ₁ = 0,   δ = θ₁ - θ₂
    l₂ θ₂'' + l₁ θ₁'' cos δ - l₁ θ₁'² sin δ + g sin θ₂ = 0
    """
    m1, m2, l1, l2 = 1.1, 0.6, 0.8, 0.5
    linkage = lw.Linkage("double pendulum")
    hinge = lw.Revolute((0, 1, 0))
    linkage.add_body("upper", joint=hinge, inertia=lw.Inertia.point_mass(m1, at=(0, 0, -l1)))
    lower = lw.Inertia.point_mass(m2, at=(0, 0, -l2))
    linkage.add_body("lower", "upper", hinge, lw.Pose((0, 0, -l1)), lower)
    model = linkage.compile()
    for _ in range(50):
        a1, a2 = rng.uniform(-math.pi, math.pi, 2)
        w1, w2 = rng.normal(size=2) * 3.0
        s, c = math.sin(a1 - a2), math.cos(a1 - a2)
        A = np.array([[(m1 + m2) * l1, m2 * l2 * c], [l1 * c, l2]])
        b = [-m2 * l2 * w2**2 * s - (m1 + m2) * G * math.sin(a1), l1 * w1**2 * s - G * math.sin(a2)]
        expected = np.linalg.solve(A, b)
        qdd = solve(model, model.state([a1, a2 - a1], [w1, w2 - w1]), algorithm=algorithm)
        ours = [qdd[0], qdd[0] + qdd[1]]
        # 2x2 systems of condition number below 30, terms up to 1e2
        assert ours == pytest.approx(expected, abs=1e-12 * max(1.0, np.abs(expected).max()))


def test_pendulum_on_a_cart(algorithm, solve, rng):
    """(M+m) x'' + m l θ'' cos θ - m l θ'² sin θ = F,  l θ'' + x'' cos θ + g sin θ = 0 (bob swings towards +x)."""
    M, m, length = 2.0, 0.7, 0.9
    linkage = lw.Linkage("cart")
    linkage.add_body("cart", joint=lw.Prismatic((1, 0, 0)), inertia=lw.Inertia.box(M, (0.3, 0.2, 0.1)))
    swing = lw.Revolute((0, -1, 0))  # positive angles carry the hanging bob towards +x
    linkage.add_body("bob", "cart", swing, lw.Pose(), lw.Inertia.point_mass(m, at=(0, 0, -length)))
    model = linkage.compile()
    for _ in range(50):
        x, angle, u, w, F = rng.normal(size=5) * [1, 2, 1, 3, 5]
        A = np.array([[M + m, m * length * math.cos(angle)], [math.cos(angle), length]])
        b = [F + m * length * w**2 * math.sin(angle), -G * math.sin(angle)]
        expected = np.linalg.solve(A, b)
        qdd = solve(model, model.state([x, angle], [u, w]), [F, 0.0], algorithm=algorithm)
        assert qdd == pytest.approx(expected, abs=1e-12 * max(1.0, np.abs(expected).max()))  # as above


def test_conical_pendulum(algorithm, solve):
    """A bob that circles at a constant angle: Ω² = g / (l cos θ), and no coordinate accelerates."""
    length, theta = 0.8, 0.6
    rate = math.sqrt(G / (length * math.cos(theta)))
    linkage = lw.Linkage("conical")
    parts = [lw.Revolute((0, 0, 1)), lw.Revolute((0, 1, 0))]  # azimuth, then tilt
    bob = lw.Inertia.point_mass(1.7, at=(0, 0, -length))
    linkage.add_body("bob", joint=lw.Compound(parts), inertia=bob)
    model = linkage.compile()
    qdd = solve(model, model.state([0.3, theta], [rate, 0.0]), algorithm=algorithm)
    assert qdd == pytest.approx([0.0, 0.0], abs=100 * EPS * rate**2)  # g sin θ and Ω² sin θ cos θ cancel


def test_falling_rod(algorithm, solve):
    """A rod released flat from a hinge at its end: α = 3 g / (2 L), and the free end outruns free fall."""
    L = 1.4
    linkage = lw.Linkage("rod")
    rod = lw.Inertia.cylinder(0.9, 0.0, L).at(lw.Pose((L / 2, 0, 0), rpy=(0, math.pi / 2, 0)))
    linkage.add_body("rod", joint=lw.Revolute((0, 1, 0)), inertia=rod)
    qdd = solve(model := linkage.compile(), model.neutral(), algorithm=algorithm)
    assert qdd[0] == pytest.approx(1.5 * G / L, rel=10 * EPS)
    assert qdd[0] * L > G


@pytest.mark.parametrize("armature", [0.0, 0.4])
def test_spring_and_mass(algorithm, rk4, armature):
    """Period 2π √((m + armature) / k) about the stretched rest."""
    m, k = 1.5, 40.0
    linkage = lw.Linkage("spring")
    slider = lw.Prismatic((0, 0, 1), stiffness=k, rest=0.2, armature=armature)
    linkage.add_body("mass", joint=slider, inertia=lw.Inertia.sphere(m, 0.1))
    model = linkage.compile()
    middle = 0.2 - m * G / k
    w = math.sqrt(k / (m + armature))
    quarter = rk4(model, model.state([middle + 0.1]), 0.5 * math.pi / w, 400, algorithm=algorithm)
    # linear, so the phase error is (h ω)⁴/120 a radian: (0.004)⁴/120 = 2e-12
    assert quarter.q[0] == pytest.approx(middle, abs=1e-11)
    assert quarter.v[0] == pytest.approx(-0.1 * w, rel=1e-10)


def test_damped_oscillator(algorithm, rk4):
    m, k, c = 0.8, 30.0, 1.2
    linkage = lw.Linkage("damped", gravity=(0, 0, 0))
    hinge = lw.Revolute((1, 2, 2), stiffness=k, damping=c)
    linkage.add_body("disc", joint=hinge, inertia=lw.Inertia(1.0, moments=(m, m, m)))
    model = linkage.compile()
    t, decay = 2.0, c / (2 * m)
    w = math.sqrt(k / m - decay**2)
    end = rk4(model, model.state([0.5]), t, 2000, algorithm=algorithm)
    expected = 0.5 * math.exp(-decay * t) * (math.cos(w * t) + decay / w * math.sin(w * t))
    assert end.q[0] == pytest.approx(expected, abs=1e-10)  # (h ω)⁴/120 = 1e-11 a radian, over 12 rad


def test_ball_spring(algorithm, solve, rng):
    """A ball joint's spring turns straight back along the shortest rotation: α = -k r / I, for any size of r below π."""
    linkage = lw.Linkage("ball spring", gravity=(0, 0, 0))
    linkage.add_body("ball", joint=lw.Spherical(stiffness=3.0), inertia=lw.Inertia(1.0, moments=(0.5, 0.5, 0.5)))
    model = linkage.compile()
    for length in (1e-12, 1e-5, 1e-2, 1.0, 3.0):
        r = rng.normal(size=3)
        r *= length / np.linalg.norm(r)
        q = model.integrate(model.neutral().q, r)
        qdd = solve(model, model.state(q), algorithm=algorithm)
        assert qdd == pytest.approx(-6.0 * r, abs=50 * EPS * length)  # relative: tiny turns keep their digits
        assert lw.energy(model, model.state(q)).potential == pytest.approx(1.5 * length**2, rel=50 * EPS)


def test_a_free_body_on_a_spring_that_resists_displacement_alone():
    """The force is the derivative of the energy also where turning meets no spring."""
    linkage = lw.Linkage("ball", gravity=(0, 0, 0))
    linkage.add_body("ball", joint=lw.Free(stiffness=(0, 0, 0, 3, 3, 3)), inertia=lw.Inertia.sphere(2.0, 0.1))
    model = linkage.compile()
    q = model.neutral().q
    q[0] = 0.5
    state = lw.State(q, np.zeros(6))
    expected = [0, 0, 0, -3 * 0.5 / 2.0, 0, 0]
    assert lw.forward_dynamics(model, state) == pytest.approx(expected, abs=50 * EPS)
    assert lw.energy(model, state).potential == pytest.approx(0.5 * 3 * 0.25, rel=1e-12)
