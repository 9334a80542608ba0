"""The error bound of a region counts the contact forces at the update, and contact wakes the joints that yield to it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwork as lw

from ..helpers.rounding import rounding
from .test_regions import joint_parts

H = 1e-3


def over_pegs():
    """A chain that falls, level at first, on three pegs."""
    linkage = lw.library.chain(24, radius=0.01)
    for k, x in enumerate((0.5, 1.2, 2.0)):
        linkage.add_obstacle(f"peg_{k}", lw.Cylinder(0.05, 1.0), lw.Pose((x, 0, -0.1), rpy=(math.pi / 2, 0, 0)))
    model = linkage.compile()
    start = model.neutral()
    start.q[0] = -math.pi / 2
    return model, start


def contact_wrenches(model, q, contacts):
    """Forces of contacts on bodies at the coordinates q, in the frames of the bodies, (n, 6)."""
    poses = lw.body_poses(model, lw.State(q, np.zeros(model.nv)))
    out = np.zeros((model.n_bodies, 6))
    for point in contacts:
        for name, sign in ((point.body, 1.0), (point.other, -1.0)):
            if name in model.body_names:
                i = model.body_names.index(name)
                force = sign * np.array(point.force)
                torque = np.cross(np.array(point.point) - poses[i, :3, 3], force)
                R = poses[i, :3, :3]
                out[i] += np.concatenate([R.T @ torque, R.T @ force])
    return out


@pytest.mark.parametrize("active", [2, 5, 9])
def test_the_bound_holds_for_the_contact_forces_at_the_update(active):
    """What the inactive joints would do, with contact forces as loads, by `forward_dynamics` on the whole linkage."""
    model, start = over_pegs()
    sim = lw.AdaptiveDynamics(
        model, start, max_active_joints=active, measure="absolute_linkage", contact=lw.Contact(friction=0.3)
    )
    pressed = 0
    for _ in range(12):
        sim.advance(H, 31)
        wrenches = contact_wrenches(model, sim.state.q, sim.contacts)
        report = sim.update_region(1e-2)
        qdd = lw.forward_dynamics(model, sim.state, None, wrenches)
        parts = joint_parts(sim, qdd)
        parts[sim.active_bodies] = 0.0
        hidden = math.sqrt(parts.sum())
        # accelerations of a chain of 24 links: the condition of its mass matrix, squared and summed
        allowed = 1e-6 * hidden + rounding(condition=1e6, scale=float(np.abs(qdd).max()))
        assert report.error_bound == pytest.approx(hidden, abs=allowed)
        without = lw.forward_dynamics(model, sim.state)
        if np.abs(wrenches).max() > 0.0:
            pressed += 1
            assert np.abs(qdd - without).max() > 1e3 * allowed  # the forces matter
    assert pressed >= 6


@pytest.mark.parametrize("measure", ["absolute_linkage", "absolute_joint"])
def test_after_advance_the_bound_is_that_of_the_present_state(measure):
    """Updates of `advance` measure none; whoever asks later gets what is hidden then, and changes nothing that follows."""
    model, start = over_pegs()
    asked, silent = (
        lw.AdaptiveDynamics(model, start, max_active_joints=5, measure=measure, contact=lw.Contact(friction=0.3))
        for _ in range(2)
    )
    compared, touching = 0, 0  # touching: steps since nothing was touched
    for _ in range(400):
        for sim in (asked, silent):
            sim.advance(H)
        touching = touching + 1 if asked.contacts else 0
        if touching <= asked.update_every:  # its update may have been made without touch, and then has measured it
            continue
        compared += 1
        wrenches = contact_wrenches(model, asked.state.q, asked.contacts)
        qdd = lw.forward_dynamics(model, asked.state, None, wrenches)
        parts = joint_parts(asked, qdd)
        parts[asked.active_bodies] = 0.0
        hidden = math.sqrt(parts.sum() if measure == "absolute_linkage" else parts.max())
        # both by `aba`; accelerations of a chain of 24 links: the condition of its mass matrix
        allowed = rounding(condition=1e6, scale=float(np.abs(qdd).max()))
        assert asked.report.error_bound == pytest.approx(hidden, rel=1e-6, abs=allowed)
    assert compared > 100
    np.testing.assert_array_equal(asked.state.q, silent.state.q)
    np.testing.assert_array_equal(asked.state.v, silent.state.v)


def test_contact_wakes_the_joints_that_yield_to_it():
    """Without gravity nothing moves but a ball that is pushed. It meets a chain at rest, and pushes that along."""
    linkage = lw.library.chain(40, radius=0.01)
    linkage.gravity = (0.0, 0.0, 0.0)
    linkage.add_body("ball", joint=lw.Free(), inertia=lw.Inertia.sphere(0.3, 0.05), shapes=[lw.Sphere(0.05)])
    model = linkage.compile()
    start = model.neutral()
    start.q[model.q_slice("ball")][:3] = (0.1, 0.0, -2.05)
    sim = lw.AdaptiveDynamics(model, start, max_active_joints=6, contact=lw.Contact())
    sim.apply_wrench("ball", force=(-1.0, 0.0, 0.0))
    chain = slice(0, 40)
    sim.advance(H, 100)
    assert not sim.contacts
    assert not np.abs(sim.state.q[chain]).any()  # it has not come yet
    assert not any(name.startswith("link") for name in sim.active_joints)
    sim.advance(H, 300)
    awake = [name for name in sim.active_joints if name.startswith("link")]
    assert awake
    assert len(awake) <= 6
    assert np.abs(sim.state.v[chain]).max() > 0.1
    assert sim.state.q[model.q_slice("ball")][0] < 0.03  # they met at 0.06
