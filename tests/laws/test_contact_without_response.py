"""Contacts whose sides cannot part do nothing: a ball around its own joint that overlaps what carries the joint."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import linkwork as lw

from ..helpers.contact_setups import LAWS
from ..helpers.rounding import rounding

H, STEPS = 1e-3, 300


def wrist(joint):
    """A hinge that carries a hand on a ball joint, a ball around that joint, and a plate in which the ball sticks."""
    linkage = lw.Linkage("wrist")
    box = lw.Inertia.box(1.0, (0.1, 0.1, 0.1))
    linkage.add_body("base", joint=lw.Revolute((0, 1, 0)), inertia=box)
    hand = box.at(lw.Pose((0.1, 0, 0)))
    linkage.add_body("hand", "base", lw.Spherical(), lw.Pose((0.2, 0, 0)), hand, shapes=[lw.Sphere(0.05)])
    plate = lw.Box((0.05, 0.1, 0.1))
    linkage.add_body("bracket", "base", joint, lw.Pose((0.2, 0, 0.2)), box)  # siblings that overlap would be left out
    linkage.add_body("plate", "bracket", joint, lw.Pose((0.06, 0, -0.17)), box, shapes=[plate])
    return linkage


def welded(contact):
    model = wrist(lw.Fixed()).compile(merge_fixed=False)
    return lw.FullDynamics(model, model.neutral(), integrator="semi_implicit_euler", contact=contact)


def pinned(contact):
    model = wrist(lw.Revolute((0, 1, 0))).compile()
    sim = lw.AdaptiveDynamics(model, model.neutral(), tolerance=0.0, integrator="semi_implicit_euler", contact=contact)
    sim.pin_inactive("bracket")
    sim.pin_inactive("plate")
    return sim


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("make", [welded, pinned])
def test_contacts_that_cannot_part_change_nothing(make, law):
    """The motion is that without contact; the responses of such contacts are rounding, and gave 2 J and more."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)  # that they overlap
        touching = make(lw.Contact(friction=0.4, law=law))
    free = make(None)
    for _ in range(STEPS // 20):
        report = touching.step(H, 20)
        free.step(H, 20)
        assert report.contact.not_converged == 0
        assert {(point.body, point.other) for point in touching.contacts} == {("hand", "plate")}
    scale = float(np.abs(free.state.v).max())
    assert scale > 1.0
    allowed = rounding(condition=1e2, scale=scale, steps=STEPS)
    assert np.abs(touching.state.v - free.state.v).max() < allowed
    assert np.abs(touching.model.difference(free.state.q, touching.state.q)).max() < allowed
