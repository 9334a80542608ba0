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
    return lw.AdaptiveDynamics(model, start, active_joints=model.n_bodies // 2, integrator=integrator, **more)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_floating", [False, True])
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "variational"])
def test_a_whip_with_contact_asked_for_moves_as_without(kind, is_floating, integrator):
    """Chain of 30, nothing touches: states are the same, to the bit by Euler; energy does not grow by 1 % of the kinetic.

    The variational equations are solved by other sweeps beside contact: to their tolerance, 4e-8 after 600 steps.
    """
    model, start = whip(30, is_floating)
    contact = lw.Contact(self_contact=False)
    asked, plain = (make(kind, model, start, each, integrator) for each in (contact, None))
    begin, top, gain = asked.energy.total, asked.energy.kinetic, 0.0
    within = 0.0 if integrator == "semi_implicit_euler" else 1e-6
    for _ in range(STEPS // 20):
        asked.step(H, 20)
        plain.step(H, 20)
        assert np.abs(asked.state.q - plain.state.q).max() <= within
        energy = asked.energy
        top, gain = max(top, energy.kinetic), max(gain, energy.total - begin)
    assert len(asked.contacts) == 0
    assert gain < 0.01 * top
