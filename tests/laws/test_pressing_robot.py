"""A robot that presses a table with stiff motors holds its force, at any margin."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.contact import pressing
from tests.helpers.robots import NEEDED, URDFS

import linkwork as lw

pytestmark = pytest.mark.skipif("panda" not in URDFS, reason=NEEDED)


@pytest.mark.parametrize("kind", ["full", "adaptive"])
@pytest.mark.parametrize("margin", pressing.MARGINS)
def test_a_panda_holds_its_force(kind, margin):
    """Within 1 % from 1.5 to 2 s, at margins over three decades; `linkwork bench contact --case pressing` over a minute."""
    found = pressing.outcome(URDFS["panda"], margin, kind, seconds=2.0)
    assert not found.failure
    assert found.force > 10.0
    assert found.apart < pressing.MOST


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
