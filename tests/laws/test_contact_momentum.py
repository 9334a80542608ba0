"""What a floating linkage does to itself changes no momentum: limits of its joints, and bodies of it that touch each other.

Coordinates that are corrected meanwhile move no centre of mass.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.contact_setups import KINDS, two_chains

import linkwork as lw

STEPS, H = 400, 1e-3

# An ulp of the momentum at each step, times what a solve of six unknowns loses (1e2).
SAME = STEPS * 2.2e-16 * 1e2


def weightless(linkage):
    linkage.gravity = (0.0, 0.0, 0.0)
    return linkage.compile()


def simulate(kind, model, state, **options):
    """A simulation of all joints, or one that locks and unlocks some while they press."""
    if kind == "full":
        return lw.FullDynamics(model, state, **options)
    return lw.AdaptiveDynamics(model, state, max_active_joints=2 * len(model.joints) // 3, update_every=7, **options)


def both(momentum):
    return np.concatenate([momentum.linear, momentum.angular])


@pytest.mark.parametrize("kind", KINDS)
def test_a_floating_tree_at_the_limits_of_its_joints_keeps_its_momentum(kind):
    model = weightless(lw.library.humanoid())
    sim = simulate(kind, model, model.random_state(1, speed=2.0), limits=True)
    before, pressed = both(sim.momentum), 0
    for _ in range(STEPS // 10):
        sim.step(H, 10)
        pressed += bool(np.abs(sim.efforts.limits).max() > 0.0)
    assert pressed > 3
    assert both(sim.momentum) == pytest.approx(before, rel=0, abs=SAME * np.abs(before).max())


@pytest.mark.parametrize("kind", KINDS)
def test_a_chain_that_hits_itself_keeps_its_momentum(kind):
    """A ring, not closed, that goes on bending until its ends run into each other."""
    linkage = lw.Linkage("ring", gravity=(0, 0, 0))
    for k in range(13):
        joint = lw.Free() if k == 0 else lw.Revolute(axis=(0, 0, 1))
        linkage.add_body(
            f"b{k}",
            parent=f"b{k - 1}" if k else "world",
            joint=joint,
            placement=lw.Pose((0.1 if k else 0.0, 0.0, 0.0)),
            inertia=lw.Inertia.sphere(0.1, 0.03),
            shapes=[lw.Sphere(0.03)],
        )
    model = linkage.compile()
    q, v = model.neutral().q, np.zeros(model.nv)
    q[7:], v[6:], v[:6] = 0.45, 3.0, (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    sim = simulate(kind, model, lw.State(q, v), contact=lw.Contact(friction=0.3, restitution=0.2))
    before, touched = both(sim.momentum), 0
    for _ in range(STEPS):
        sim.step(H)
        touched += bool(sim.contacts)
    assert touched
    assert both(sim.momentum) == pytest.approx(before, rel=0, abs=SAME * np.abs(before).max())


@pytest.mark.parametrize("kind", KINDS)
def test_chains_that_collide_keep_what_they_have_together(kind):
    """Linear momentum; about a point of the world it changes where corrected coordinates move both."""
    model, state = two_chains()
    sim = simulate(kind, model, state, contact=lw.Contact(restitution=0.5, friction=0.3))
    before, touched = sim.momentum.linear, 0
    for _ in range(150):
        sim.step(H)
        touched += bool(sim.contacts)
    assert touched
    assert sim.momentum.linear == pytest.approx(before, rel=0, abs=SAME * np.abs(before).max())
