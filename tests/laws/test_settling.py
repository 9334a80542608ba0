"""Settling goes downhill only, ends where nothing accelerates, and says so when it cannot."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.adaptive.quasi_statics import settle as settling
from linkwork.adaptive.quasi_statics import solve as stepping

G = 9.81
LENGTH, MASS = 0.1, 0.1  # of a link of the library's chain [m, kg]


def point(model, state, body, at):
    return (lw.body_poses(model, state)[body] @ [*at, 1.0])[:3]


@pytest.fixture
def watch(monkeypatch):
    """Calls a function after every step that settling keeps: where it would move its progress bar."""

    def start(look):
        @contextmanager
        def bar(total, label, show=None):
            yield lambda done, note: look()

        monkeypatch.setattr("linkwork.adaptive.quasi_statics.settle.progress_bar", bar)

    return start


def downhill(energies):
    """Never up, but for rounding: sums over up to a thousand bodies, here in another order than in the code."""
    return (np.diff(energies) <= rounding(scale=np.abs(energies).max(), operations=10_000)).all()


def test_a_chain_pulled_aside_becomes_the_force_polygon():
    """Every link points along the force that it passes on: tan θ = F / (weight below, and half its own)."""
    n, pull = 8, 1.0
    model = lw.library.chain(joints=n, axes="same").compile()
    sim = lw.QuasiStatics(model, model.neutral())
    sim.apply_wrench(n - 1, force=(pull, 0.0, 0.0), frame="world", at=(0.0, 0.0, -LENGTH))
    report = sim.settle(1e-8)
    assert report.max_acceleration <= 1e-8
    angle = np.cumsum(sim.state.q)  # about y: a positive turn moves what hangs down towards -x
    below = MASS * G * (n - np.arange(n) - 0.5)
    # 1e-8 rad/s² times an inertia below 1 kg m² over a stiffness (weight times length) above 0.05 N m: 2e-7 rad
    assert np.tan(-angle) == pytest.approx(pull / below, rel=1e-6)


def test_a_pendulum_with_a_spring_balances_gravity_and_the_spring():
    stiffness = 2.0
    model = lw.library.chain(joints=1, joint=lw.Revolute((0.0, 1.0, 0.0), stiffness=stiffness, rest=2.0)).compile()
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=2.0**-11)
    sim.settle(1e-8)
    angle = float(sim.state.q[0])
    moment = MASS * G * LENGTH / 2.0 * np.sin(angle)
    assert stiffness * (2.0 - angle) == pytest.approx(moment, abs=1e-8)  # 1e-8 rad/s² of an inertia below 1 kg m²


def test_a_slider_between_spring_and_effort_rests_where_they_balance():
    model = lw.library.chain(joints=1, joint=lw.Prismatic((0.0, 0.0, 1.0))).compile()
    sim = lw.QuasiStatics(model, model.neutral())
    sim.apply_spring(0, target=(0.0, 0.0, 1.0), stiffness=50.0)
    sim.set_effort(model.joint_names[0], 3.0)
    sim.settle(1e-8)
    # 1e-8 m/s² times 0.1 kg over 50 N/m is 2e-11 m
    assert float(sim.state.q[0]) == pytest.approx(1.0 + (3.0 - MASS * G) / 50.0, abs=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_settling_never_gains_energy_and_ends_at_rest(make_tree, watch, seed):
    """All joint kinds with springs, a force fixed in the world and a spring to a world point."""
    model = make_tree(seed=seed, bodies=12, stiffness=True, armature=True, gravity=(0.0, 0.0, -1.0))
    sim = lw.QuasiStatics(model, model.random_state(seed, speed=0.0))
    force, at, goal = np.array([0.5, -0.2, 0.1]), np.array([0.1, 0.0, 0.2]), np.array([0.3, 0.2, 0.1])
    sim.apply_wrench(11, force=force, frame="world", at=at)
    sim.apply_spring(5, target=goal, stiffness=3.0, at=at)

    def potential():
        gap = goal - point(model, sim.state, 5, at)
        return lw.energy(model, sim.state).potential + 1.5 * gap @ gap - force @ point(model, sim.state, 11, at)

    energies = [potential()]
    watch(lambda: energies.append(potential()))
    report = sim.settle(1e-3)
    assert len(energies) > 20
    assert downhill(energies)
    state = sim.state
    T = lw.body_poses(model, state)
    wrenches = np.zeros((12, 6))
    for body, f in ((11, force), (5, 3.0 * (goal - point(model, state, 5, at)))):
        local = T[body, :3, :3].T @ f
        wrenches[body] += np.concatenate([np.cross(at, local), local])
    truth = lw.forward_dynamics(model, state, wrenches=wrenches)
    assert np.abs(truth).max() <= report.max_acceleration + rounding(condition=1e4, scale=9.81)  # aba rounds too
    assert report.max_acceleration <= 1e-3


def test_an_undone_step_puts_back_what_it_moved_and_nothing_else():
    """Also where the trial opened joints that had moved long before, in another step, and had closed since."""
    model = lw.library.molecule(joints=500, seed=3).compile()
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=2.0**-3)
    first = sim.apply_wrench(400, force=(0.0, 0.0, 1.0), frame="world")
    with pytest.raises(lw.StateError, match="not settled"):
        sim.settle(1e-9, max_steps=20)
    sim.step(2e-2, 50)
    sim.clear(first)
    sim.apply_wrench(30, force=(0.0, 0.0, 1.0), frame="world")
    sim.step(2e-2, 100)
    sim.solve()
    before = sim.state.q
    closed = ~np.isin(np.arange(model.nq), [model.q_slice(name).start for name in sim.computed_joints])
    assert np.count_nonzero(before[closed]) > 5  # moved by the first load, not by the second
    remembered = sim._run.glide[closed].copy()  # q and v have the same places here
    stepping.keep_coordinates(sim._table)
    settling.glide(sim._table, 1e-2, 0.0)
    sim.solve(0.0)  # opens the rest
    stepping.restore_coordinates(sim._table)
    assert (sim.state.q == before).all()
    assert not remembered.any()  # a closed joint has no momentum for the next settling


def test_settling_says_when_it_is_not_done():
    model = lw.library.chain(joints=30).compile()
    start = model.random_state(1, speed=0.0)
    sim = lw.QuasiStatics(model, start)
    with pytest.raises(lw.StateError, match=r"not settled after 3 steps: accelerations are below .*, not 1\.00e-09"):
        sim.settle(1e-9, max_steps=3)
    moved = sim.state.q
    assert (moved != start.q).any()  # what was reached is kept, and can be gone on from
    assert lw.energy(model, sim.state).potential < lw.energy(model, start).potential


def test_settling_under_a_load_without_potential_says_so():
    """A wrench fixed in a body can push a linkage uphill for ever: no energy says when to stop."""
    model = lw.library.chain(joints=1, axes="same").compile()
    sim = lw.QuasiStatics(model, model.neutral())
    sim.apply_wrench(0, force=(0.1, 0.0, 0.0), at=(0.0, 0.0, -LENGTH), frame="body")
    with pytest.raises(lw.StateError, match=r"no potential .* may never settle: use run\(\)"):
        sim.settle(1e-9, max_steps=1000)


def test_what_rests_is_settled_at_once():
    model = lw.library.chain(joints=50).compile()  # hangs straight down
    sim = lw.QuasiStatics(model, model.neutral())
    assert sim.settle(1e-9).max_acceleration <= 1e-9
    assert (sim.state.q == 0.0).all()


def test_settling_shows_no_bar_where_nobody_watches(capfd):
    model = lw.library.chain(joints=5, axes="same").compile()
    sim = lw.QuasiStatics(model, model.random_state(0, speed=0.0))
    sim.settle(1e-3)
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")
