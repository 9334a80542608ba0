"""Rods of other joints, nets of rods, rods in air: against weights and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.layout import INERTIA


@pytest.mark.parametrize("joints", ["hinges", "plane", "ball"])
def test_a_heavy_cantilever_of_any_joints_sags_as_it_should(joints):
    """q L³/EI = 5: drop 0.495905. Every second joint of a rod of hinges bends the way of gravity."""
    errors = []
    for n in (50, 100, 200):
        rod = lw.rod(1.0, n, EI=1.0, GJ=1.0, mass_per_length=1.0, radius=1e-3, gravity=(0, 0, -5.0), joints=joints)
        rod.attach_world("start", lw.Clamped())
        model = rod.compile()
        rest = lw.settle(model, model.neutral())
        T = lw.body_poses(model, rest.state)[model.body(rod.on.end.body)] @ rod.on.end.frame.matrix
        errors.append(-T[2, 3] - 0.495905)
        assert rest.stable
    assert abs(errors[-1]) < (1e-3 if joints == "hinges" else 1e-4)
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.2)  # order 2


def test_a_rod_of_hinges_bends_into_a_circle_and_gives_its_curvature():
    rod = lw.rod(1.0, 40, EI=1.0, GJ=1.0, mass_per_length=1.0, radius=1e-3, gravity=(0, 0, 0), joints="hinges")
    rod.attach_world("start", lw.Clamped())
    model = rod.compile()
    loads = lw.Loads(model)
    loads.apply_wrench(rod.on.end.body, torque=(0, 2.0 * math.pi, 0), at=rod.on.end.frame.xyz)
    rest = lw.settle(model, model.neutral(), loads=loads)
    T = lw.body_poses(model, rest.state)[model.body(rod.on.end.body)]
    assert T[:3, 0] == pytest.approx((1.0, 0.0, 0.0), abs=1e-8)
    assert rest.curvature[::2, 0] == pytest.approx(2.0 * math.pi, rel=1e-8)  # every second hinge bends the way of y


def test_a_net_hangs_with_its_loops_closed_and_its_weight_on_its_columns():
    columns, rows = 3, 2
    model = lw.library.net(rows=rows, columns=columns, segments=2).compile()
    rest = lw.settle(model, model.neutral())
    assert rest.stable
    assert rest.report.gap < 1e-9
    poses = lw.body_poses(model, rest.state)
    held = [i for i in range(model.n_bodies) if model.parent[i] < 0]
    assert len(held) == columns
    force = sum(poses[i][:3, :3] @ rest.wrenches[i, 3:] for i in held)
    weight = 9.81 * float(model.arrays.body[:, INERTIA].sum())
    assert force == pytest.approx((0.0, 0.0, weight), abs=1e-8 * weight)


def test_a_rod_falls_through_air_at_its_terminal_velocity():
    """m g = ½ ρ Cₙ d L v² across the axis, less what air carries; wind adds to it."""
    length, radius, mass = 0.5, 2e-3, 4e-3
    rod = lw.Linkage("stick")
    stick = lw.Capsule(radius, length, placement=lw.Pose(rpy=(0.0, 0.5 * math.pi, 0.0)))
    rod.add_body("stick", joint=lw.Prismatic((0, 0, 1)), inertia=lw.Inertia(mass, (0, 0, 0), (1, 1, 1)), shapes=[stick])
    model = rod.compile()
    for wind in (0.0, 1.5):
        sim = lw.FullDynamics(model, model.neutral(), water=lw.air(wind=(0.0, 0.0, wind)))
        sim.step(5e-3, 2000)
        weight = (mass - 1.225 * math.pi * radius**2 * length) * 9.81
        top = math.sqrt(weight / (0.5 * 1.225 * 1.2 * 2.0 * radius * length))
        assert sim.state.v[0] == pytest.approx(wind - top, rel=1e-6)


@pytest.mark.parametrize("simulation", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_damping_by_mass_takes_a_mode_away_at_its_rate(simulation):
    """−α M v by a thermostat without temperature: a mode of ratio ζ falls as exp(−ζ ω t), at ω √(1 − ζ²)."""
    rod = lw.rod(1.0, 12, EI=1.0, GJ=1.0, mass_per_length=1.0, radius=1e-3, gravity=(0, 0, 0), joints="plane")
    rod.attach_world("start", lw.Clamped())
    model = rod.compile()
    mode = lw.modes(model, model.neutral(), 1)
    rate, ratio = math.sqrt(float(mode.rates2[0])), 0.05
    friction = 4.0 * math.pi * ratio * float(mode.frequencies[0])
    start = lw.State(1e-4 * mode.shapes[0], np.zeros(model.nv))
    sim = simulation(model, start, thermostat=lw.Langevin(temperature=0.0, friction=friction))
    period = 2.0 * math.pi / (rate * math.sqrt(1.0 - ratio**2))
    sim.step(period / 2000, 2000)
    left = float(sim.state.q @ start.q) / float(start.q @ start.q)
    assert left == pytest.approx(
        math.exp(-ratio * rate * period), rel=1e-3
    )  # steps of order 1 leave π ratio h / period
