"""Fingers that squeeze something go on pressing: contact balances their effort, and nothing of them accelerates."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

H, CHUNK = 1e-3, 10  # [s]; steps per call


def gripper(shake, chain=0):
    """A hand on a slide that is shaken, two fingers on slides that press with 20 N each, and a cube between them: the
    model, and what makes so many steps of a simulation and gives the height of the cube below the hand after every call.

    chain: links of a chain far away, which begins to fall.
    """
    linkage = lw.Linkage("gripper")
    at, plate, cube = lw.Pose((0, 0, 0.3)), lw.Box((0.01, 0.02, 0.06)), lw.Box((0.05, 0.05, 0.05))
    linkage.add_body("hand", joint=lw.Prismatic((0, 0, 1)), placement=at, inertia=lw.Inertia.sphere(0.5, 0.05))
    for name, side in (("left", -1), ("right", 1)):
        linkage.add_body(name, "hand", lw.Prismatic((1, 0, 0)), lw.Pose((0.0301 * side, 0, 0)),
                         lw.Inertia.box(0.05, plate.size), shapes=[plate])  # fmt: skip
    linkage.add_body("cube", joint=lw.Free(), placement=at, inertia=lw.Inertia.box(0.3, cube.size), shapes=[cube])
    for k in range(chain):
        parent, place = (f"link_{k - 1}", lw.Pose((0.3, 0, 0))) if k else ("world", lw.Pose((2, 0, 1)))
        linkage.add_body(
            f"link_{k}", parent, lw.Revolute((0, 1, 0)), place, lw.Inertia.sphere(1.0, 0.1).at(lw.Pose((0.3, 0, 0)))
        )
    model = linkage.compile()

    def run(sim, steps):
        fingers, hand = sim.motors[["left", "right"]], sim.motors["hand"]
        fingers.stiffness, fingers.damping, fingers.position = 2000.0, 20.0, np.array([0.01, -0.01])
        hand.stiffness, hand.damping = 2000.0, 60.0
        heights = []
        for _ in range(steps // CHUNK):
            hand.position = shake * np.sin(40.0 * sim.time)
            sim.step(H, CHUNK)
            poses = lw.body_poses(model, sim.state)
            heights.append(poses[3, 2, 3] - poses[0, 2, 3])
        return np.array(heights)

    return model, run


@pytest.mark.parametrize("more", [{}, {"max_active_joints": 3}])
def test_a_shaken_gripper_holds_what_it_squeezes(more):
    """Up to 16 m/s² on 0.3 kg, where friction holds 32 N. Before, the cube fell out after a second; it slips by 4e-11 m."""
    model, run = gripper(shake=0.01)
    contact = lw.Contact(friction=0.8)
    sim = lw.AdaptiveDynamics(model, model.neutral(), contact=contact, **more)
    heights = run(sim, 5000)
    assert np.abs(heights - heights[20]).max() < 1e-8
    assert {"left", "right"} <= set(sim.active_joints)
    full = lw.FullDynamics(model, model.neutral(), contact=contact)
    assert heights == pytest.approx(run(full, 5000), abs=1e-8)
    forces = [np.linalg.norm(point.force) for point in sim.contacts]
    assert sum(forces) == pytest.approx(sum(np.linalg.norm(point.force) for point in full.contacts), rel=1e-6)


def test_a_gripper_at_rest_holds_for_a_minute():
    model, run = gripper(shake=0.0)
    sim = lw.AdaptiveDynamics(model, model.neutral(), contact=lw.Contact(friction=0.8))
    heights = run(sim, 60_000)
    assert np.abs(heights - heights[50]).max() < 1e-8
    pressing = [abs(point.force[0]) for point in sim.contacts]
    assert sum(pressing) == pytest.approx(2.0 * 2000.0 * (0.01 - sim.state.q[1]), rel=1e-6)


def test_fingers_that_let_go_come_to_rest():
    """Open, nothing holds against their motors: they are inactive again."""
    model, run = gripper(shake=0.0)
    sim = lw.AdaptiveDynamics(model, model.neutral(), contact=lw.Contact(friction=0.8))
    run(sim, 200)
    fingers = sim.motors[["left", "right"]]
    fingers.position = np.array([-0.01, 0.01])
    sim.step(H, 1500)
    assert not {"left", "right"} & set(sim.active_joints)


def test_what_squeezes_takes_no_place_of_what_falls():
    """Three joints squeeze and three fall: squeezing ones come on top of the number. Before, the chain hung in the air."""
    model, run = gripper(shake=0.0, chain=3)
    contact = lw.Contact(friction=0.8)
    sim = lw.AdaptiveDynamics(model, model.neutral(), contact=contact, max_active_joints=3)
    full = lw.FullDynamics(model, model.neutral(), contact=contact)
    heights, links = run(sim, 300), slice(model.q_slice("link_0").start, model.q_slice("link_2").stop)
    assert heights == pytest.approx(run(full, 300), abs=1e-3)
    assert {"left", "right"} <= set(sim.active_joints)
    assert full.state.q[links][0] > 0.5
    assert sim.state.q[links] == pytest.approx(full.state.q[links], abs=0.02)
