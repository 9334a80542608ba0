"""Quasi-statics at its equilibrium: where forces balance, from wherever it stood, and ready to go on from there."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw

G = 9.81
LENGTH, MASS = 0.1, 0.1  # of a link of the library's chain [m, kg]
SETTLED = 1e-9  # relative; settling ends at 1e-10 of the loads, and stiffnesses here are within a factor of ten of them


def test_a_chain_pulled_aside_becomes_the_force_polygon():
    """Every link points along the force that it passes on: tan θ = F / (weight below, and half its own)."""
    n, pull = 8, 1.0
    model = lw.library.chain(joints=n, axes="same").compile()
    sim = lw.QuasiStatics(model, model.neutral())
    sim.apply_wrench(n - 1, force=(pull, 0.0, 0.0), at=(0.0, 0.0, -LENGTH))
    report = sim.settle()
    assert report.stable
    assert report.unbalanced_part <= 1e-10
    angle = np.cumsum(sim.state.q)  # about y: a positive turn moves what hangs down towards -x
    below = MASS * G * (n - np.arange(n) - 0.5)
    assert np.tan(-angle) == pytest.approx(pull / below, rel=10 * SETTLED)


def test_springs_efforts_and_loads_of_the_simulation_count():
    """A slider between a spring, its weight and an effort; then a load is changed, and it settles again from there."""
    linkage = lw.Linkage("slider")
    joint = lw.Prismatic((0, 0, 1), stiffness=50.0, rest=0.2)
    linkage.add_body("box", joint=joint, inertia=lw.Inertia.box(2.0, (0.1, 0.1, 0.1)))
    model = linkage.compile()
    sim = lw.QuasiStatics(model, model.neutral())
    sim.set_effort("box", 3.0)
    pull = sim.apply_wrench("box", force=(0.0, 0.0, 5.0))
    for force in (5.0, -7.0):
        sim.change_wrench(pull, force=(9.0, 0.0, force))  # across the rail it pulls in vain
        sim.settle()
        assert 50.0 * (sim.state.q[0] - 0.2) == pytest.approx(3.0 + force - 2.0 * G, rel=SETTLED)


def test_after_settling_nothing_accelerates_and_steps_go_on(make_tree, rng):
    """What was open stays open, every coefficient fits the new coordinates, and the solution is that of a new one."""
    model = make_tree(seed=4, bodies=20, stiffness=True, kinds=("revolute", "universal", "spherical"))
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=0.0)
    load = sim.apply_wrench(15, force=(0.3, -0.2, 0.1))
    sim.step(1e-3, 3)
    sim.settle()
    report = sim.solve()
    scale = np.abs(lw.forward_dynamics(model, model.neutral())).max()
    assert report.max_acceleration < 1e-6 * scale  # 1e-10 of the loads over the smallest articulated inertia
    sim.change_wrench(load, force=(0.0, 4.0, 0.0))
    sim.solve()
    fresh = lw.QuasiStatics(model, sim.state, tolerance=0.0)
    fresh.apply_wrench(15, force=(0.0, 4.0, 0.0))
    fresh.solve()
    same = rounding(condition=1e6, scale=np.abs(fresh.acceleration).max())
    assert sim.acceleration == pytest.approx(fresh.acceleration, rel=0, abs=same)


def test_a_cable_between_two_anchors_settles_into_the_catenary():
    """Both ends held by loops: the horizontal pull of all links is one and the same; half the weight hangs from each."""
    n, span = 30, 0.8
    linkage = lw.Linkage("cable")
    bar = lw.Inertia.box(1.0 / n, (1.0 / n, 0.004, 0.004)).at(lw.Pose((0.5 / n, 0, 0)))
    for k in range(n):
        parent, where = ("world", lw.Pose()) if k == 0 else (f"link_{k - 1}", lw.Pose((1.0 / n, 0, 0)))
        linkage.add_body(f"link_{k}", parent, lw.Revolute((0, 1, 0)), where, bar)
    ends = lw.Pose((span, 0, 0)), lw.Pose((1.0 / n, 0, 0))
    linkage.add_loop(lw.Revolute((0, 1, 0)), "world", f"link_{n - 1}", ends, name="end")
    model = linkage.compile()
    start = model.neutral()
    start.q[0], start.q[n // 2] = 0.6, -1.2
    sim = lw.QuasiStatics(model, lw.close_loops(model, start))
    report = sim.settle()
    assert report.gap < 1e-9
    slope = np.tan(np.cumsum(sim.state.q))  # of each link: pull H, weight of what hangs to its right less half of all
    weight = G / n * (np.arange(n) + 0.5) - G / 2.0
    pull = weight / -slope
    assert pull == pytest.approx(np.full(n, pull.mean()), rel=1e-6)
    sim.step(1e-3, 5)
    assert lw.loop_gaps(model, sim.state).worst_gap < 1e-9


def test_motors_are_refused():
    model = lw.library.chain(joints=3).compile()
    sim = lw.QuasiStatics(model, model.neutral())
    sim.set_motor(model.joint_names[0], position=0.1, stiffness=1.0)
    with pytest.raises(lw.StateError, match="does not know motors"):
        sim.settle()
