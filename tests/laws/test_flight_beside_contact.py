"""What flies by an integrator does not depend on whether contact was asked for, and gains no energy from nothing."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

from ..helpers.contact_setups import KINDS

H, STEPS = 1e-3, 600
FAR = 100.0  # [m] below: nothing ever touches


def whip(links: int, is_floating: bool) -> tuple[lw.Model, lw.State]:
    """A chain of rods in the air, let go from the horizontal while it bends: it whips. A floor is far below it."""
    linkage = lw.Linkage("whip")
    rod = lw.Inertia.box(0.05, (0.1, 0.01, 0.01)).at(lw.Pose((0.05, 0, 0)))
    shape = lw.Capsule(0.005, 0.08, placement=lw.Pose((0.05, 0, 0), rpy=(0, np.pi / 2, 0)))
    for i in range(links):
        joint = lw.Free() if i == 0 and is_floating else lw.Revolute((0, 1, 0) if i % 3 else (0, 0, 1))
        above, place = ("world", lw.Pose()) if i == 0 else (f"link_{i - 1}", lw.Pose((0.1, 0, 0)))
        linkage.add_body(f"link_{i}", above, joint, place, rod, shapes=[shape])
    linkage.add_obstacle("floor", lw.Plane(), lw.Pose((0, 0, -FAR)))
    model = linkage.compile()
    v = np.random.default_rng(5).normal(scale=1.0, size=model.nv)
    return model, lw.State(model.neutral().q, v)


def make(kind, model, start, contact, integrator):
    more = {} if contact is None else {"contact": contact}
    if kind == "full":
        return lw.FullDynamics(model, start, integrator=integrator, **more)
    return lw.AdaptiveDynamics(model, start, max_active_joints=model.n_bodies // 2, integrator=integrator, **more)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_floating", [False, True])
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "auto"])
def test_a_whip_with_contact_asked_for_moves_as_without(kind, is_floating, integrator):
    """Chain of 30, nothing touches: the same integrator, the same bits; energy does not grow by 1 % of the kinetic.

    Regions of few joints by the variational integrator are the same to the tolerance of its equations, 1e-9 per step.
    """
    model, start = whip(30, is_floating)
    contact = lw.Contact(self_contact=False)
    asked, plain = (make(kind, model, start, each, integrator) for each in (contact, None))
    assert asked.integrator == plain.integrator
    begin, top, gain = asked.energy.total, asked.energy.kinetic, 0.0
    for _ in range(STEPS // 20):
        asked.step(H, 20)
        plain.step(H, 20)
        within = 1e-6 if kind == "adaptive" and integrator == "auto" else 0.0
        assert np.abs(asked.state.q - plain.state.q).max() <= within
        assert np.abs(asked.state.v - plain.state.v).max() <= 1e3 * within
        energy = asked.energy
        top, gain = max(top, energy.kinetic), max(gain, energy.total - begin)
    assert len(asked.contacts) == 0
    assert gain < 0.01 * top


def tumbling(seed: int) -> tuple[lw.Model, lw.State]:
    """A tree of 2 to 20 bodies on joints of all kinds, some with springs and dampers, that tumbles fast."""
    rng = np.random.default_rng([27, seed])
    linkage = lw.Linkage("tree")
    joints = int(rng.integers(2, 21))
    for i in range(joints):
        axis = tuple(rng.normal(size=3))
        more = {"damping": 0.05 * rng.random(), "stiffness": rng.random()} if rng.random() < 0.2 else {}
        kind = rng.integers(4)
        joint = (
            lw.Spherical(**more)
            if kind == 0
            else lw.Prismatic(axis, **more)
            if kind == 1
            else lw.Revolute(axis, **more)
        )
        joint = lw.Free() if i == 0 and seed % 2 else joint
        parent = "world" if i == 0 else f"body_{rng.integers(max(0, i - 4), i)}"
        size = rng.uniform(0.05, 0.2, 3)
        place = lw.Pose(tuple(0.2 * rng.normal(size=3)), rpy=tuple(rng.normal(size=3)))
        linkage.add_body(f"body_{i}", parent, joint, place, lw.Inertia.box(1000.0 * float(np.prod(size)), tuple(size)))
    model = linkage.compile()
    return model, model.random_state(seed, speed=4.0)


@pytest.mark.parametrize("kind", KINDS)
def test_trees_that_tumble_gain_no_energy_by_euler(kind):
    """20 random trees for a second at 2 ms. By Euler's rule alone 7 of them gained more than 1 %, some without end."""
    gains = []
    for seed in range(20):
        model, start = tumbling(seed)
        sim = make(kind, model, start, None, "semi_implicit_euler")
        least, top, gain = sim.energy.total, sim.energy.kinetic, 0.0
        for _ in range(50):
            sim.step(2e-3, 10)
            energy = sim.energy
            top, gain = max(top, energy.kinetic), max(gain, energy.total - least)
            least = min(least, energy.total)
        gains.append(gain / top)
    assert max(gains) < 0.01


def test_slow_steps_by_euler_take_one_evaluation():
    model, start = whip(10, False)
    sim = lw.FullDynamics(model, lw.State(start.q, 0.01 * start.v), integrator="semi_implicit_euler")
    assert sim.step(1e-3, 10).evaluations == 10
