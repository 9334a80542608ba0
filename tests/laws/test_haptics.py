"""What a hand feels obeys mechanics: joint reactions, equilibrium, Newton's third law."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.reference.felt_by_path import feel_by_path
from tests.conftest import JOINTS
from tests.helpers.hands import FIRM, PATIENT, SIMULATIONS, felt_by_reactions
from tests.helpers.rounding import rounding

import linkwork as lw

# ε times condition numbers of the mass matrices here (below 1e4) and a few dozen operations: 1e-11 of the largest force;
# 1e-14 is seen.
SAME = 1e-11
# The mass matrices here have conditions up to 1e4, J M⁻¹ Jᵀ of their loops, scaled to a unit diagonal, below 2. Seen over a
# dozen seeds: 2e-14.
CLOSED = rounding(condition=1e4)


def inertia(scale=1.0):
    return lw.Inertia.box(scale, (0.4, 0.3, 0.2)).at(lw.Pose(xyz=(0.05, -0.1, 0.08)))


def chain_with(joint, kind):
    """A body between two joints of one kind, a branch on it, below a hinge; a floating body where the joint is free."""
    linkage = lw.Linkage(f"hand on {kind}")
    linkage.add_body("base", inertia=inertia(2.0), joint=lw.Revolute((1, 1, 0)))
    linkage.add_body("held", parent="base", joint=joint, inertia=inertia(), placement=lw.Pose(xyz=(0.3, 0.1, 0.0)))
    linkage.add_body("below", parent="held", joint=joint, inertia=inertia(0.7), placement=lw.Pose(xyz=(0.0, 0.2, 0.3)))
    hinge = lw.Revolute((0, 1, 2), stiffness=2.0, damping=0.3, armature=0.1)
    linkage.add_body("branch", parent="held", joint=hinge, inertia=inertia(0.4), placement=lw.Pose(xyz=(0.1, 0.0, 0.1)))
    return linkage.compile(merge_fixed=False)


@pytest.mark.parametrize("simulation", SIMULATIONS)
@pytest.mark.parametrize("kind", JOINTS)
def test_feedback_is_the_sum_of_joint_reactions(kind, simulation, rng):
    """At the same state, for every joint kind, with another load and another hand present."""
    model = chain_with(JOINTS[kind], kind)
    sim = SIMULATIONS[simulation](model, model.random_state(rng))
    devices = [lw.haptics.Pointer(), lw.haptics.Pointer()]
    sim.apply_wrench("held", force=(0.3, 0.2, 0.1), torque=(0.1, 0.0, 0.3), frame="body")
    others = np.zeros((model.n_bodies, 6))
    others[model.body("held")] = (0.1, 0.0, 0.3, 0.3, 0.2, 0.1)
    grasps = [
        lw.haptics.grasp(sim, "held", devices[0], (0.1, 0.2, -0.1), **FIRM),
        lw.haptics.grasp(sim, "below", devices[1], (0.0, 0.1, 0.0), **FIRM),
    ]
    session = grasps[0].session
    devices[0].move((0.1, -0.05, 0.2), (0.9, 0.1, 0.2, -0.1))
    devices[1].move((-0.1, 0.15, 0.1), (0.9, -0.2, 0.1, 0.1))
    session.tick()
    for _ in range(3):  # the state moves on under the hands' forces; what the coefficients contain of them changes
        expected = felt_by_reactions(sim, grasps, others)
        assert grasps[0].state == "held"
        assert np.abs(grasps[0].wrench).max() > 1.0
        assert np.abs(grasps[0].felt - expected).max() <= SAME * max(1.0, np.abs(expected).max())
        session.step(1e-3)
        session.tick()


def closed_chain(links=12):
    """A ring of hinged links that hangs from two points, and a tail on it: redundant nowhere, closed once."""
    linkage = lw.Linkage("ring")
    parent = "world"
    for k in range(links):
        joint = lw.Revolute((0, 1, 0), damping=0.05)
        place = lw.Pose(xyz=(0.3 if k else 0.0, 0.0, 0.0))
        body = lw.Inertia.box(0.4, (0.3, 0.05, 0.05)).at(lw.Pose(xyz=(0.15, 0, 0)))
        linkage.add_body(f"link_{k}", parent=parent, joint=joint, inertia=body, placement=place)
        parent = f"link_{k}"
    linkage.add_body("tail", "link_5", lw.Spherical(), lw.Pose(xyz=(0.1, 0, 0)), inertia(0.5))
    ends = (lw.Pose(xyz=(1.0, 0, 0)), lw.Pose(xyz=(0.3, 0, 0)))
    linkage.add_loop(lw.Revolute((0, 1, 0)), "world", parent, ends)
    return linkage.compile()


@pytest.mark.parametrize("simulation", ["full", "adaptive"])
def test_hands_feel_the_forces_of_loops(simulation, rng):
    """A closed chain held at two bodies, one of them at a loop's end: as the reactions of the closed linkage say."""
    model = closed_chain()
    state = lw.close_loops(model, model.random_state(rng, speed=0.2))
    sim = SIMULATIONS[simulation](model, state)
    devices = [lw.haptics.Pointer(), lw.haptics.Pointer()]
    grasps = [
        lw.haptics.grasp(sim, "link_11", devices[0], (0.1, 0.0, 0.1), **FIRM),
        lw.haptics.grasp(sim, "tail", devices[1], (0.0, 0.1, 0.0), **FIRM),
    ]
    devices[0].move((0.1, -0.05, 0.2), (0.9, 0.1, 0.2, -0.1))
    devices[1].move((-0.1, 0.15, 0.1))
    grasps[0].session.tick()
    for _ in range(3):
        for order in (grasps, grasps[::-1]):
            expected = felt_by_reactions(sim, order)
            assert np.abs(order[0].wrench).max() > 1.0
            assert np.abs(order[0].felt - expected).max() <= CLOSED * max(1.0, np.abs(expected).max())
        grasps[0].session.step(1e-3)
        grasps[0].session.tick()


def test_a_hand_feels_the_loop_that_holds_it():
    """A rod pinned to the world at both ends cannot move: whatever a hand does, it feels the same back."""
    linkage = lw.Linkage("pinned", gravity=(0, 0, 0))
    rod = lw.Inertia.box(1.0, (1.0, 0.1, 0.1)).at(lw.Pose(xyz=(0.5, 0, 0)))
    linkage.add_body("rod", joint=lw.Revolute((0, 1, 0)), inertia=rod)
    end = lw.Pose(xyz=(1.0, 0.0, 0.0))
    linkage.add_loop(lw.Revolute((0, 1, 0)), "world", "rod", (end, end))
    model = linkage.compile()
    sim = lw.FullDynamics(model, model.neutral())
    device = lw.haptics.Pointer()
    grasp = lw.haptics.grasp(sim, "rod", device, (0.5, 0.0, 0.0), **FIRM)
    device.move((0.0, 0.1, 0.2))
    grasp.session.tick()
    assert np.abs(grasp.wrench).max() > 10.0
    assert np.abs(grasp.felt + grasp.wrench).max() <= CLOSED * np.abs(grasp.wrench).max()


@pytest.mark.parametrize("algorithm", ["dca", "dense"])
def test_other_algorithms_feel_the_same(algorithm, rng):
    """Simulations that keep no poses and twists of their own, as those on a GPU: the same force."""
    model = lw.library.random_tree(30, seed=4).compile()
    state = model.random_state(rng, speed=0.5)
    felt = []
    for name in ("aba", algorithm):
        sim = lw.FullDynamics(model, state, algorithm=name, integrator="semi_implicit_euler")
        sim.advance(1e-4)
        device = lw.haptics.Pointer()
        grasp = lw.haptics.grasp(sim, 17, device, (0.1, 0.0, 0.2), **FIRM)
        device.move((0.1, 0.2, -0.1))
        grasp.session.rest()  # in virtual time: no velocity of the device
        felt.append(grasp.felt)
    # implicit joints of one step of 1e-4 s, which only "aba" takes: no damping here, so rounding is left
    assert np.abs(felt[0] - felt[1]).max() <= 1e3 * SAME * np.abs(felt[0]).max()
    assert np.abs(felt[0]).max() > 1.0


def test_one_climb_and_one_descent_give_the_same(rng):
    """The 6x6 blocks of a snapshot are what the paper's two passes would give, whatever the hand does."""
    model = lw.library.random_tree(300, seed=2).compile()
    sim = lw.AdaptiveDynamics(model, model.random_state(rng, speed=0.5), tolerance=1e-2)
    device = lw.haptics.Pointer()
    grasp = lw.haptics.grasp(sim, 150, device, (0.1, 0.0, 0.2), **FIRM)
    session = grasp.session
    for _ in range(5):
        device.move(rng.normal(size=3), rng.normal(size=4))
        session.tick()
        felt = np.zeros(6)
        feel_by_path(session.grasp_set.table, session.grasp_set.ports_table, grasp.wrench, felt)
        assert np.abs(felt - grasp.felt).max() <= SAME * np.abs(felt).max()
        session.step(1e-3)


@pytest.mark.parametrize("simulation", SIMULATIONS)
def test_at_rest_the_hand_feels_minus_its_own_force(simulation):
    """A pendulum held up by a hand: in equilibrium joint reactions and weight balance the hand."""
    linkage = lw.Linkage("held up")
    joint = lw.Revolute((0, 1, 0), damping=2.0)
    linkage.add_body("rod", inertia=lw.Inertia.box(2.0, (1.0, 0.1, 0.1)).at(lw.Pose(xyz=(0.5, 0, 0))), joint=joint)
    model = linkage.compile()
    sim = SIMULATIONS[simulation](model, model.neutral())
    device = lw.haptics.Pointer()
    grasp = lw.haptics.grasp(
        sim, "rod", device, (1.0, 0.0, 0.0), stiffness=2e3, damping=5.0, force_limit=1e3, watchdog=PATIENT
    )
    for _ in range(4000):
        grasp.session.step(2e-3)
        device.move((0.0, 0.0, 0.0))
        grasp.session.tick()
    held_up = 0.5 * 2.0 * 9.81  # half of the weight: the hinge carries the other half
    assert np.abs(sim.state.v).max() <= 1e-9
    # The arm of the force is cos(q) < 1 by the sag of 5 mm; along the rod the hinge pulls at will.
    assert grasp.wrench[5] == pytest.approx(held_up, rel=2e-3)
    # At rest up to the motion that is left: below 1e-9 m/s, times stiffness and mass over the time it takes to settle.
    assert np.abs(grasp.felt + grasp.wrench).max() <= 1e-6 * held_up


def test_two_hands_on_one_free_body_feel_each_other():
    """Newton's third law: each feels the force of the other, and nothing else."""
    linkage = lw.Linkage("free body", gravity=(0, 0, 0))
    linkage.add_body("body", inertia=inertia(), joint=lw.Free())
    model = linkage.compile()
    sim = lw.FullDynamics(model, model.neutral())
    left, right = lw.haptics.Pointer(), lw.haptics.Pointer()
    a = lw.haptics.grasp(sim, "body", left, **FIRM)
    b = lw.haptics.grasp(sim, "body", right, **FIRM)
    left.move((0.1, 0.2, 0.3), (0.9, 0.1, 0.0, 0.2))
    right.move((-0.2, 0.1, 0.0), (0.9, 0.0, 0.3, 0.2))
    a.session.tick()
    assert np.abs(a.wrench).max() > 1.0
    assert np.abs(a.felt - b.wrench).max() <= SAME * np.abs(b.wrench).max()
    assert np.abs(b.felt - a.wrench).max() <= SAME * np.abs(a.wrench).max()


def test_hands_on_far_bodies_feel_each_other(rng):
    """What one hand does changes what the other feels, as all joint reactions say."""
    model = lw.library.chain(joints=40).compile()
    sim = lw.AdaptiveDynamics(model, model.random_state(rng, speed=0.1), tolerance=0.0)
    devices = [lw.haptics.Pointer() for _ in range(3)]
    grasps = [lw.haptics.grasp(sim, body, d, **FIRM) for body, d in zip((35, 10, 22), devices, strict=True)]
    for device in devices:
        device.move(rng.normal(size=3))
    grasps[0].session.tick()
    for first in range(3):
        order = grasps[first:] + grasps[:first]
        expected = felt_by_reactions(sim, order)
        assert np.abs(order[0].felt - expected).max() <= SAME * np.abs(expected).max()
