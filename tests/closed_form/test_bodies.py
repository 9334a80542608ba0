"""Single bodies and mechanisms with exact solutions: free fall, tops, threads, the Cardan joint."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ellipj
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.reference.joint_calculus import joint_pose

G = 9.81
EPS = np.finfo(float).eps


def single(joint, inertia, gravity=(0.0, 0.0, -G)):
    linkage = lw.Linkage("single", gravity=gravity)
    linkage.add_body("body", joint=joint, inertia=inertia)
    return linkage.compile()


def turn(axis, angle):
    return joint_pose(lw.Revolute(axis), [angle]).matrix[:3, :3]


# ------------------------------------------------------------------------------------------------------------- free motion


def test_free_fall_from_rest(algorithm, solve, rng):
    """Wherever it is and however it is turned, a body at rest falls with g and does not turn."""
    model = single(lw.Free(), lw.Inertia.box(2.0, (0.1, 0.2, 0.3)).at(lw.Pose((0.4, -0.1, 0.2), rpy=(1, 2, 3))))
    for _ in range(10):
        state = model.state(lw.Free().random(rng))
        R = lw.body_poses(model, state)[0, :3, :3]
        qdd = solve(model, state, algorithm=algorithm)
        same = rounding(condition=1e2, scale=G)  # a 6x6 is solved
        assert qdd[:3] == pytest.approx([0, 0, 0], abs=same)
        assert R @ qdd[3:] == pytest.approx([0, 0, -G], abs=same)


def test_tumbling_free_fall_carries_the_centre_on_a_parabola(rk4):
    model = single(lw.Free(), lw.Inertia.box(2.0, (0.1, 0.2, 0.3)).at(lw.Pose((0.2, -0.1, 0.1))))
    start = model.state([0, 0, 5, 1, 0, 0, 0], [1.0, -2.0, 0.5, 0.3, 0.4, 2.0])
    x0, p = lw.center_of_mass(model, start), lw.momentum(model, start).linear / model.mass.sum()
    t = 1.2
    end = rk4(model, start, t, 1000)
    # (h ω)⁴ = 5e-11 a step at h = 1.2 ms and 2.3 rad/s, of a circle of 0.25 m
    assert lw.center_of_mass(model, end) == pytest.approx(x0 + p * t + [0, 0, -G * t * t / 2], abs=1e-9)
    before, after = (lw.momentum(model, s, about=lw.center_of_mass(model, s)).angular for s in (start, end))
    assert after == pytest.approx(before, abs=1e-9)


def test_a_push_at_the_centre_does_not_turn(algorithm, solve):
    com = np.array([0.3, -0.2, 0.1])
    model = single(lw.Free(), lw.Inertia(2.0, com=com, moments=(0.1, 0.2, 0.25)), gravity=(0, 0, 0))
    push = np.array([1.0, 2.0, 3.0])
    qdd = solve(model, model.neutral(), None, [[*np.cross(com, push), *push]], algorithm=algorithm)
    assert qdd == pytest.approx([0, 0, 0, *(push / 2.0)], abs=rounding(condition=1e2, scale=3.0))


# -------------------------------------------------------------------------------------------------------------------- tops


@pytest.mark.parametrize("joint", [lw.Spherical(), lw.Free()], ids=["spherical", "free"])
def test_torque_free_symmetric_top(rk4, joint):
    """R(t) = exp(t L/I₁) R₀ exp(t (1 - I₃/I₁) ω₃ e₃): precession about L, spin about the axis."""
    I1, I3 = 0.3, 0.5
    model = single(joint, lw.Inertia(1.0, moments=(I1, I1, I3)), gravity=(0, 0, 0))
    omega = np.array([0.7, 0.0, 2.0])
    q = joint.neutral()
    q[-4:] = np.array([0.8, 0.2, -0.4, 0.4]) / np.linalg.norm([0.8, 0.2, -0.4, 0.4])
    start = model.state(q, np.concatenate([omega, np.zeros(joint.nv - 3)]))
    R0 = lw.body_poses(model, start)[0, :3, :3]
    L = R0 @ ([I1, I1, I3] * omega)
    t = 3.0
    end = rk4(model, start, t, 1500)
    size = np.linalg.norm(L)
    R = turn(tuple(L / size), t * size / I1) @ R0 @ turn((0, 0, 1), t * (1.0 - I3 / I1) * omega[2])
    # (h ω)⁴/120 = 2e-11 a radian at h = 2 ms and 3.4 rad/s, over 10 rad
    assert lw.body_poses(model, end)[0, :3, :3] == pytest.approx(R, abs=1e-10)
    rate = (I3 - I1) / I1 * omega[2]  # the body sees ω circle about its axis
    expected = [0.7 * math.cos(rate * t), 0.7 * math.sin(rate * t), 2.0]
    assert end.v[:3] == pytest.approx(expected, abs=1e-10)


def test_torque_free_asymmetric_top(rk4):
    """Euler's equations by Jacobi functions (Landau and Lifshitz, Mechanics, section 37)."""
    I1, I2, I3 = 0.2, 0.3, 0.45
    E2, M2 = 1.0, 0.36  # 2E and M², with 2E I₂ < M² < 2E I₃
    model = single(lw.Spherical(), lw.Inertia(1.0, moments=(I1, I2, I3)), gravity=(0, 0, 0))
    a = math.sqrt((E2 * I3 - M2) / (I1 * (I3 - I1)))
    b = math.sqrt((E2 * I3 - M2) / (I2 * (I3 - I2)))
    c = math.sqrt((M2 - E2 * I1) / (I3 * (I3 - I1)))
    m = (I2 - I1) * (E2 * I3 - M2) / ((I3 - I2) * (M2 - E2 * I1))
    rate = math.sqrt((I3 - I2) * (M2 - E2 * I1) / (I1 * I2 * I3))
    seen = [model.state(v=[a, 0.0, c])]
    rk4(model, seen[0], 10.0, 2000, watch=seen.append)
    sn, cn, dn, _ = ellipj(rate * np.linspace(0.0, 10.0, 2001), m)
    expected = np.stack([a * cn, b * sn, c * dn], axis=1)
    # (h ω)⁴/120 = 3e-11 a radian at h = 5 ms and 1.5 rad/s, over 15 rad
    assert np.array([s.v for s in seen]) == pytest.approx(expected, abs=1e-9)


def test_heavy_top_in_steady_precession(algorithm, solve):
    """Precession Ω at tilt θ and spin s with m g l = I₃ (s + Ω cos θ) Ω - I₁ Ω² cos θ keeps its tilt."""
    m, length, I1, I3, theta, spin = 1.2, 0.4, 0.5, 0.3, 0.7, 9.0
    a, b, c = (I3 - I1) * math.cos(theta), I3 * spin, -m * G * length
    precession = (-b + math.sqrt(b * b - 4 * a * c)) / (2 * a)  # the slow one
    across = I1 - m * length**2  # moments are given about the centre of mass
    model = single(lw.Spherical(), lw.Inertia(m, com=(0, 0, length), moments=(across, across, I3)))
    q = [math.cos(theta / 2), 0.0, math.sin(theta / 2), 0.0]  # tilted about y
    R = turn((0, 1, 0), theta)
    up = R.T @ [0, 0, 1]  # the vertical in the body
    omega = precession * up + [0, 0, spin]
    qdd = solve(model, model.state(q, omega), algorithm=algorithm)
    # In the body the vertical turns backwards with the spin: d(up)/dt = -s e₃ x up.
    expected = -precession * spin * np.cross([0, 0, 1], up)
    assert qdd == pytest.approx(expected, abs=rounding(condition=1e2, scale=spin**2))  # terms near s² cancel


# --------------------------------------------------------------------------------------------------------------- mechanisms


@pytest.mark.parametrize("pitch", [0.01, -0.2, 1.5])
def test_screw_under_gravity(algorithm, solve, pitch):
    """A nut on a vertical thread: (I + m p²) q'' = -m g p."""
    m, inertia = 1.4, 0.02
    nut = lw.Inertia(m, moments=(0.03, 0.03, inertia))
    model = single(lw.Screw((0, 0, 1), point=(0.1, 0.2, 0.0), pitch=pitch), nut)
    # The thread does not pass through the centre of mass: parallel axes.
    about = inertia + m * (0.1**2 + 0.2**2)
    qdd = solve(model, model.state([0.7]), algorithm=algorithm)
    assert qdd[0] == pytest.approx(-m * G * pitch / (about + m * pitch**2), rel=20 * EPS)


def test_sphere_on_a_planar_joint(algorithm, solve):
    """An inclined plane without friction: g sin α down the slope, no turning."""
    slope = 0.4
    linkage = lw.Linkage("slope")
    place = lw.Pose(rpy=(0, slope, 0))  # x now points down the slope
    linkage.add_body("puck", joint=lw.Planar((0, 0, 1)), placement=place, inertia=lw.Inertia.sphere(0.8, 0.1))
    model = linkage.compile()
    qdd = solve(model, model.state([1.0, 2.0, 0.5]), algorithm=algorithm)
    assert qdd == pytest.approx([G * math.sin(slope), 0.0, 0.0], abs=20 * EPS * G)


def test_cylindrical_joint_turns_and_slides_independently(algorithm, solve):
    m, along = 1.1, 0.05
    model = single(lw.Cylindrical((0, 0, 1)), lw.Inertia(m, moments=(0.04, 0.04, along)))
    qdd = solve(model, model.state([0.3, 0.2], [2.0, 1.0]), [0.6, 0.0], algorithm=algorithm)
    assert qdd == pytest.approx([0.6 / along, -G], rel=20 * EPS)


def test_coriolis_on_a_turntable(algorithm, solve):
    """A bead in a tube that turns: r'' = ω² r when the table is held at constant ω, torque 2 m r r' ω."""
    m, r, speed, w = 0.5, 0.8, 1.5, 3.0
    linkage = lw.Linkage("turntable")
    linkage.add_body("table", joint=lw.Revolute((0, 0, 1)), inertia=lw.Inertia.cylinder(2.0, 0.5, 0.1))
    linkage.add_body("bead", "table", lw.Prismatic((1, 0, 0)), lw.Pose(), lw.Inertia.sphere(m, 1e-3))
    model = linkage.compile()
    state = model.state([0.4, r], [w, speed])
    effort = lw.inverse_dynamics(model, state, [0.0, w * w * r])
    assert effort == pytest.approx([2.0 * m * r * speed * w, 0.0], abs=100 * EPS)  # the second is a difference of 3.6s
    qdd = solve(model, state, effort, algorithm=algorithm)
    assert qdd == pytest.approx([0.0, w * w * r], abs=100 * EPS)


@pytest.mark.parametrize("bend", [0.1, 0.6, 1.2])
def test_cardan_joint_ratio(bend):
    """Two shafts at an angle β through a universal joint: ω₂/ω₁ = cos β / (1 - sin²β sin²θ).

    θ is measured from the position in which the input fork lies across the plane of the shafts, where the ratio is least.
    """
    linkage = lw.Linkage("cardan")
    part = lw.Inertia.cylinder(1.0, 0.1, 0.5)
    linkage.add_body("input", joint=lw.Revolute((0, 0, 1)), inertia=part)
    linkage.add_body("output", "input", lw.Universal((1, 0, 0), (0, 1, 0)), lw.Pose(), part)
    model = linkage.compile()
    shaft = np.array([0.0, math.sin(bend), math.cos(bend)])  # where the output shaft points, in the world
    for angle in np.linspace(0.0, 2.0 * math.pi, 13):
        # Angles of the cross: Rx(a) Ry(b) carries z to (sin b, -sin a cos b, cos a cos b), seen from the input shaft.
        x, y, z = turn((0, 0, 1), angle).T @ shaft
        state = model.state([angle, math.atan2(-y, z), math.asin(x)])
        J = lw.body_jacobian(model, state, "output", frame="world")[:3]
        assert lw.body_poses(model, state)[1, :3, 2] == pytest.approx(shaft, abs=100 * EPS)
        # ω_out = J [1, a', b'] must lie along the shaft: three equations for a', b' and the ratio.
        ratio = np.linalg.solve(np.column_stack([shaft, -J[:, 1:]]), J[:, 0])[0]
        # The fork is the x axis of the input, the shafts span the plane (y, z): θ is the angle itself.
        expected = math.cos(bend) / (1.0 - (math.sin(bend) * math.sin(angle)) ** 2)
        assert ratio == pytest.approx(expected, rel=rounding(condition=1e2))  # a 3x3 system
