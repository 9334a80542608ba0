"""A robot that presses a table with stiff motors holds its force, at any margin."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.robots import NEEDED, URDFS

import linkwork as lw

READY = (0.0, 0.3, 0.0, -1.9, 0.0, 2.2, 0.8, 0.02, 0.02)  # [rad, m] the hand above a table
H, LEAN = 1e-3, 0.1  # [s]; [rad] by which the shoulder would lean forward, into the table
RADIUS, TIP = 0.03, 0.2  # [m] of the ball at its end, and along the axis of the last link

pytestmark = pytest.mark.skipif("panda" not in URDFS, reason=NEEDED)


def pressing(margin: float, kind: str = "full"):
    """A Panda with a ball as its tip right above a table, whose motors (400 N·m/rad, 40 N·m·s/rad) want it deeper."""
    linkage = lw.load(URDFS["panda"], missing_meshes="skip")
    linkage.couplings.clear()  # the fingers move one by one
    linkage.edit_body("panda_link7", shapes=(lw.Sphere(RADIUS, placement=lw.Pose((0.0, 0.0, TIP))),))
    alone = linkage.compile()
    tip = tip_of(alone, np.array(READY))
    linkage.add_obstacle("table", lw.Box((1.0, 1.0, 0.1)), lw.Pose((tip[0], tip[1], tip[2] - RADIUS - 1e-3 - 0.05)))
    model = linkage.compile()
    state = lw.State(np.array(READY), np.zeros(model.nv))
    contact = lw.Contact(margin=margin, friction=0.5)
    make = lw.FullDynamics if kind == "full" else lw.AdaptiveDynamics
    sim = make(model, state, contact=contact, **({} if kind == "full" else {"tolerance": 0.0}))
    sim.motors.stiffness, sim.motors.damping = 400.0, 40.0
    wanted = np.array(READY)
    wanted[1] += LEAN
    sim.motors.position = wanted
    return sim


def tip_of(model, q):
    pose = lw.body_poses(model, lw.State(q, np.zeros(model.nv)))[model.body_names.index("panda_link7")]
    return pose[:3, 3] + TIP * pose[:3, 2]


def force(sim):
    """Sum of the contact forces on the table, upward [N]."""
    return sum(contact.force[2] for contact in sim.contacts)


@pytest.mark.parametrize("kind", ["full", "adaptive"])
@pytest.mark.parametrize("margin", [1e-5, 1e-4, 1e-3, 5e-3])
def test_a_panda_holds_its_force(kind, margin):
    """Within 1 % from 1.5 to 2 s, at margins over three decades."""
    sim = pressing(margin, kind)
    sim.step(H, 1500)
    felt = []
    for _ in range(500):
        sim.step(H)
        felt.append(force(sim))
    mean = np.mean(felt)
    assert mean > 10.0
    assert np.abs(np.array(felt) / mean - 1.0).max() < 0.01


def test_a_link_does_not_touch_the_base_that_carries_it():
    """As bodies along a tree: also where the base is fixed to the world. Obstacles and other links are touched."""
    linkage = lw.Linkage("arm", gravity=(0, 0, -9.81))
    linkage.add_body("base", joint=lw.Fixed(), inertia=lw.Inertia.sphere(1.0, 0.1), shapes=[lw.Box((0.4, 0.4, 0.4))])
    rod = {"inertia": lw.Inertia.sphere(1.0, 0.1), "shapes": [lw.Sphere(0.1)]}
    linkage.add_body("upper", "base", lw.Revolute((0, 1, 0)), lw.Pose((0.1, 0, 0)), **rod)
    linkage.add_body("lower", "upper", lw.Prismatic((1, 0, 0)), lw.Pose((0.6, 0, 0)), **rod)
    linkage.add_body("ball", joint=lw.Free(), placement=lw.Pose((0, 0, 1.0)), **rod)
    model = linkage.compile()
    sim = lw.FullDynamics(model, model.neutral(), contact=lw.Contact())
    sim.step(1e-3)
    assert not sim.contacts
    q = model.neutral().q
    q[model.q_slice("lower")] = -0.45
    q[model.q_slice("ball")][2] = -0.71
    sim = lw.FullDynamics(model, lw.State(q, np.zeros(model.nv)), contact=lw.Contact())
    sim.step(1e-3)
    assert {contact.body for contact in sim.contacts if contact.other == "world"} == {"lower", "ball"}
