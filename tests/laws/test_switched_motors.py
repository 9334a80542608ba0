"""Motors that change their law while something touches: by one sweep over the joints instead of an evaluation.

The plain form is the step of the same tree beside which two more joints, far away, are coupled: with couplings every change
of a law is evaluated anew.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation.contact_step import arrays as ca

from ..helpers.contact_setups import KINDS, simulate

DRIVEN = ("revolute", "prismatic", "screw", "cylindrical", "universal")
H, STEPS, SEEDS = 2e-3, 12, 40
# Of the largest velocity. A solve over the tree may end at a residual of 1e-5 (1.1e-6 of the velocity seen); where both
# have a matrix, differences are those of rounding in a solve to 1e-8 (4e-8 seen).
OVER_TREE, OVER_MATRIX = 1e-4, 1e-6


def tree(seed, is_plain):
    """A random tree of driven joints and others whose bodies carry spheres, above a floor; its driven joints."""
    rng = np.random.default_rng(seed)
    n, floating = int(rng.integers(3, 12)), bool(rng.integers(2))
    kinds = DRIVEN if seed % 3 else (*DRIVEN, "spherical")
    linkage = lw.library.random_tree(n, seed, branching=0.5, kinds=kinds, floating=floating, options=seed % 2 == 0)
    speed = math.inf if seed % 4 else 2.0
    made, driven = lw.Linkage("tree"), []
    for body in linkage:
        joint = body.joint
        if not isinstance(joint, lw.Free | lw.Spherical):
            joint = dataclasses.replace(joint, effort_limit=10 ** rng.uniform(0.5, 2.5), velocity_limit=speed)
            if isinstance(joint, lw.Revolute) and seed % 4 == 1:
                joint = dataclasses.replace(joint, limits=(-0.2, 0.2))
            driven.append(body.joint_name)
        made.add_body(
            body.name, body.parent, joint, body.placement, body.inertia, shapes=[lw.Sphere(0.08)],
            joint_name=body.joint_name,
        )  # fmt: skip
    lowest = lw.body_poses(made.compile(), made.compile().neutral())[:, 2, 3].min()
    made.add_obstacle("floor", lw.Plane(), lw.Pose((0, 0, lowest - 0.09)))
    if is_plain:
        for k in range(2):
            made.add_body(f"far_{k}", "world", lw.Revolute((0, 0, 1)), lw.Pose((50.0 * (k + 1), 0, 50)), body.inertia)
        made.add_coupling("far", {"far_0": 1.0, "far_1": -1.0})
    return made.compile(), driven


def driven_sim(kind, seed, is_plain):
    model, driven = tree(seed, is_plain)
    sim = simulate(kind, model, model.neutral(), lw.Contact(friction=0.5, self_contact=False))
    if seed % 3 == 1:  # over the tree wherever that can be; beside couplings it cannot
        sim.view.contact.arrays.counts[ca.MIN_BY_SWEEPS] = 1
    rng = np.random.default_rng(seed)
    for name in driven:
        motor = sim.motors[name]
        motor.stiffness, motor.damping = 10 ** rng.uniform(1, 3), 10 ** rng.uniform(0, 1.5)
        motor.friction = 0.0 if seed % 5 else 2.0
        motor.position = rng.uniform(-0.6, 0.6)
    return sim


@pytest.mark.parametrize("kind", KINDS)
def test_steps_are_those_with_every_change_of_a_law_evaluated(kind):
    touched, switched = 0, 0
    for seed in range(SEEDS):
        sim, plain = driven_sim(kind, seed, False), driven_sim(kind, seed, True)
        nq, nv = sim.model.nq, sim.model.nv
        scale = 1e-3
        for _ in range(STEPS):
            sim.advance(H, 4)
            before = sim.state
            sim.set_state(before)
            plain.set_state(lw.State(np.append(before.q, [0.0, 0.0]), np.append(before.v, [0.0, 0.0])))
            sim.advance(H)
            plain.advance(H)
            touched += len(sim.contacts)
            switched += int(sim.view.contact.arrays.switches[0])
            scale = max(scale, np.abs(before.v).max(), np.abs(sim.state.v).max())
            near = OVER_TREE if seed % 3 == 1 else OVER_MATRIX
            assert np.abs(sim.state.v - plain.state.v[:nv]).max() <= near * scale, seed
            assert np.abs(sim.state.q - plain.state.q[:nq]).max() <= near * scale * H, seed
    assert touched > 4 * SEEDS
    assert switched > SEEDS
