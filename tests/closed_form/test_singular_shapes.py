"""Four-bars side by side (IFToMM A02) that pass flat shapes, where more than one motion is possible, by their momentum."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import linkwork as lw

GRAVITY = 9.81
# Angles [rad] and parts of the energy at 1 ms after 3 s and four flat shapes; seen were a tenth of these or less.
ANGLES = {
    "variational": 1e-4,
    "semi_implicit_euler": 1e-4,
    "kick_drift_kick": 1e-4,
    "implicit_midpoint": 1e-4,
    "rk4": 1e-8,
    "dormand_prince": 1e-8,
}
ENERGIES = {"variational": 2e-4, "semi_implicit_euler": 2e-2, "kick_drift_kick": 1e-4}


def four_bars(cells):
    """Uprights on pins in the ground, each joined to the next by a bar; all turn at -1 rad/s."""
    linkage = lw.Linkage("four bars", gravity=(0, -GRAVITY, 0))
    rod, hinge, up = lw.Inertia(1.0, (0.5, 0, 0), (1e-4, 1 / 12, 1 / 12)), lw.Revolute((0, 0, 1)), math.pi / 2
    for k in range(cells + 1):
        linkage.add_body(f"V{k}", "world", hinge, lw.Pose((k, 0, 0), rpy=(0, 0, up)), rod)
    for k in range(cells):
        linkage.add_body(f"H{k}", f"V{k}", hinge, lw.Pose((1, 0, 0), rpy=(0, 0, -up)), rod)
        linkage.add_loop(hinge, f"H{k}", f"V{k + 1}", (lw.Pose((1, 0, 0)), lw.Pose((1, 0, 0), rpy=(0, 0, -up))))
    model = linkage.compile()
    v = np.zeros(model.nv)
    for name in model.joint_names:
        v[model.v_slice(name)] = -1.0 if name[0] == "V" else 1.0
    return model, model.state(model.neutral().q, v)


def angle(cells, time):
    """Of the uprights, by the equation of the one coordinate."""
    k = ((cells + 1) / 2 + cells) / ((cells + 1) / 3 + cells)
    rates = lambda _, y: (y[1], -GRAVITY * k * np.cos(y[0]))  # noqa: E731
    return solve_ivp(rates, (0, time), (np.pi / 2, -1.0), "DOP853", rtol=1e-13, atol=1e-13).y[0, -1] - np.pi / 2


@pytest.mark.parametrize("cells", [2, 10])
@pytest.mark.parametrize("integrator", ANGLES)
def test_four_bars_pass_flat_shapes(integrator, cells):
    """At an angle θ from flat a gap g is g / θ of the coordinates and g θ' / θ² of the velocities."""
    model, state = four_bars(cells)
    sim = lw.FullDynamics(model, state, integrator=integrator, rtol=1e-6, atol=1e-9)
    energy = sim.energy.total
    sim.step(1e-3, 3000)
    ends = np.array([sim.state.q[model.q_slice(f"V{k}")][0] for k in range(cells + 1)])
    assert np.abs(ends - angle(cells, 3.0)).max() < ANGLES[integrator]
    assert np.ptp(ends) < 1e-9
    assert sim.energy.total == pytest.approx(energy, rel=ENERGIES.get(integrator, 1e-10))


def slider_crank(size):
    """Links of 0.3 and 0.8 sizes; weight grows with it, so that motions are alike."""
    linkage = lw.Linkage("slider crank", gravity=(0, -GRAVITY * size, 0))
    hinge, bar = lw.Revolute((0, 0, 1)), lw.Inertia.box(1.0, (0.5 * size, 0.1 * size, 0.1 * size))
    linkage.add_body("crank", "world", hinge, inertia=bar.at(lw.Pose((0.15 * size, 0, 0))))
    linkage.add_body("rod", "crank", hinge, lw.Pose((0.3 * size, 0, 0)), bar.at(lw.Pose((0.4 * size, 0, 0))))
    linkage.add_body("slider", "world", lw.Prismatic((1, 0, 0)), inertia=bar)
    linkage.add_loop(hinge, "rod", "slider", (lw.Pose((0.8 * size, 0, 0)), lw.Pose()))
    model = linkage.compile()
    rod = np.arcsin(-0.3 * np.sin(0.7) / 0.8)
    return model, model.state([0.7, rod - 0.7, (0.3 * np.cos(0.7) + 0.8 * np.cos(rod)) * size])


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3])
def test_loops_of_any_size_are_closed_to_a_part_of_it(size):
    """A gap of 1e-10 m was 1e-4 of a linkage of 1 µm."""
    model, state = slider_crank(size)
    sim = lw.FullDynamics(model, state, integrator="rk4")
    sim.step(1e-3, 500)
    gaps = lw.loop_gaps(model, sim.state)
    assert gaps.worst_gap < 1e-13 * size
    assert gaps.worst_slip < 1e-12 * size * np.abs(sim.state.v[:2]).max()
