"""What a hand feels obeys mechanics: joint reactions, equilibrium, Newton's third law, energy; and it ends gently."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import JOINTS
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.errors import StateError
from linkwork.haptics import layout as at
from linkwork.haptics.ports import feel_by_path

# ε times condition numbers of the mass matrices here (below 1e4) and a few dozen operations: 1e-11 of the largest force;
# 1e-14 is seen.
SAME = 1e-11
# The mass matrices here have conditions up to 1e4, J M⁻¹ Jᵀ of their loops, scaled to a unit diagonal, below 2. Seen over a
# dozen seeds: 2e-14.
CLOSED = rounding(condition=1e4)

SIMULATIONS = {
    "full": lambda model, state: lw.FullDynamics(model, state),
    "adaptive": lambda model, state: lw.AdaptiveDynamics(model, state, tolerance=1e-2),
    "quasi_statics": lambda model, state: lw.QuasiStatics(model, lw.State(state.q, np.zeros(model.nv))),
}
PATIENT = 60.0  # [s]: a busy machine may not let go of what a test holds
FIRM = {
    "watchdog": PATIENT,
    "stiffness": 100.0,
    "damping": 1.5,
    "torque": 3.0,
    "torque_damping": 0.1,
    "force_limit": 1e6,
    "torque_limit": 1e6,
    "passive": False,  # what is felt is what the law says, whatever energy that gives
}


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


def at_point(wrench, R, point):
    """[torque; force] at a point of a body in world axes → at its origin in its frame."""
    f = R.T @ wrench[3:]
    return np.concatenate([R.T @ wrench[:3] + np.cross(point, f), f])


def felt_by_reactions(sim, grasps, others=None):
    """f_ext + Σ joint reactions of the first grasp's body, at the point held, world axes; from all reactions, O(n)."""
    model, state = sim.model, sim.state
    poses = lw.body_poses(model, state)
    wrenches = np.zeros((model.n_bodies, 6)) if others is None else others.copy()
    for grasp in grasps:
        wrenches[grasp.body] += at_point(grasp.wrench, poses[grasp.body, :3, :3], grasp.at)
    if model.loops:  # what the cut joints carry, as external wrenches on the open tree
        wrenches = lw.constrained_dynamics(model, state, wrenches=wrenches).wrenches
        model = model.without_loops
    f = lw.joint_reactions(model, state, wrenches=wrenches)
    held = grasps[0].body
    R = poses[held, :3, :3]
    total = f[held] + wrenches[held] - at_point(grasps[0].wrench, R, grasps[0].at)
    for child in np.flatnonzero(model.parent == held).tolist():
        T = np.linalg.inv(poses[held]) @ poses[child]
        force = T[:3, :3] @ f[child, 3:]
        total -= np.concatenate([T[:3, :3] @ f[child, :3] + np.cross(T[:3, 3], force), force])
    mass, *moment = model.arrays.body[held, 12:16].tolist()
    weight = R.T @ model.gravity
    total += np.concatenate([np.cross(moment, weight), mass * weight])
    return np.concatenate([R @ (total[:3] - np.cross(grasps[0].at, total[3:])), R @ total[3:]])


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
        feel_by_path(session._held.table, session._held.ports_table, grasp.wrench, felt)
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


# ----------------------------------------------------------------------------------------------------------------- energy


def rope(joints=8):
    linkage = lw.Linkage("rope", gravity=(0, 0, 0))
    parent = "world"
    for k in range(joints):
        joint = lw.Revolute((0, 1, 0) if k % 2 else (0, 0, 1), damping=0.01)
        place = lw.Pose(xyz=(0.2 if k else 0.0, 0.0, 0.0))
        body = lw.Inertia.box(0.3, (0.2, 0.05, 0.05)).at(lw.Pose(xyz=(0.1, 0, 0)))
        linkage.add_body(f"link_{k}", parent=parent, joint=joint, inertia=body, placement=place)
        parent = f"link_{k}"
    return linkage.compile()


def tugging(t):
    return (0.0, 0.1 * np.sin(9.0 * t), 0.05 * np.sin(14.0 * t))


def held_rope(**settings):
    model = rope()
    sim = lw.FullDynamics(model, model.neutral())
    hand = lw.haptics.HumanHand(tugging, delay=0.05)
    return lw.haptics.grasp(sim, "link_7", hand, (0.2, 0.0, 0.0), force_limit=100.0, watchdog=PATIENT, **settings)


REGION = [
    (1000.0, 1000.0, 1.0),
    (1000.0, 200.0, 5.0),
    (200.0, 160.0, 1.0),
    (50.0, 50.0, 1.0),
]  # rate, stiffness, damping


@pytest.mark.parametrize("feel", ["spring", "reactions"])
@pytest.mark.parametrize(("rate", "stiffness", "damping"), REGION)
def test_a_port_gives_no_energy_that_it_did_not_get(rate, stiffness, damping, feel):
    """Nothing is stored at first, so a passive port never gives out more than it was given; not by rounding either.

    The region that docs/haptics.md states: stiffness times the time between two snapshots is at most the damping.
    """
    grasp = held_rope(stiffness=stiffness, damping=damping, feel=feel, allowance=0.0)
    trace = grasp.session.run(2.0, h=1.0 / rate, rate=1000.0)
    given, _, most = grasp.energy
    assert np.abs(trace.felt).max() > 0.1
    assert given < -0.1  # the hand worked on the rope, whose joints damp
    assert most == 0.0


@pytest.mark.parametrize(("rate", "stiffness", "damping"), REGION)
def test_joint_reactions_give_no_more_than_their_allowance(rate, stiffness, damping):
    """As a field of forces they need not be conservative; what they may give beyond the coupling is a setting."""
    most = {}
    for passive in (True, False):
        grasp = held_rope(stiffness=stiffness, damping=damping, passive=passive, allowance=5e-3)
        grasp.session.run(2.0, h=1.0 / rate, rate=1000.0)
        most[passive] = grasp.energy[2]
    assert 0.0 < most[True] <= 5e-3
    assert most[False] > 5e-3  # there was something to keep back


def test_a_hand_that_feels_reactions_feels_them_while_the_account_lasts():
    """Passivity control leaves the force as it is until the energy beyond the coupling's is spent."""
    felt = {}
    for passive in (True, False):
        grasp = held_rope(stiffness=200.0, damping=5.0, passive=passive, allowance=1e3)
        felt[passive] = grasp.session.run(0.3, h=1e-3, rate=1000.0).felt
    assert np.array_equal(felt[True], felt[False])
    assert np.abs(felt[True]).max() > 1.0


def test_far_outside_the_region_energy_comes_out():
    """The meter of energy does show a port that is not passive."""
    model = rope()
    sim = lw.FullDynamics(model, model.neutral())
    hand = lw.haptics.HumanHand(tugging, delay=0.05)
    grasp = lw.haptics.grasp(
        sim, "link_7", hand, stiffness=5e3, damping=0.0, feel="spring", force_limit=20.0, watchdog=PATIENT
    )
    grasp.session.run(0.5, h=0.005, rate=1000.0)
    assert grasp.energy[2] > 1e-3


def test_energy_is_the_work_of_the_force_on_the_hand():
    """The meter is the sum of force times way, tick by tick."""
    model = rope()
    sim = lw.FullDynamics(model, model.neutral())
    device = lw.haptics.ScriptedMotion(tugging)
    grasp = lw.haptics.grasp(sim, "link_7", device, stiffness=100.0, damping=0.5, watchdog=PATIENT)
    trace = grasp.session.run(0.5, h=1e-3, rate=1000.0)
    work = np.sum(trace.felt[:-1, 0, 3:] * np.diff(trace.hand[:, 0], axis=0))
    assert abs(work) > 1e-3
    assert grasp.energy[0] == pytest.approx(work, rel=1e-9)  # rounding of 500 sums


def test_scales_of_length_and_force():
    """A hand of metres in a world of nanometres: the same motion, the same stiffness relative to the scales."""
    model = rope()
    felt, wrench = [], []
    for length, force in ((1.0, 1.0), (1e-3, 1.0), (1.0, 20.0)):
        sim = lw.FullDynamics(model, model.neutral())
        device = lw.haptics.Pointer()
        grasp = lw.haptics.grasp(
            sim, "link_7", device, damping=0.0, length_scale=length, force_scale=force, watchdog=PATIENT
        )
        device.move((0.05, 0.0, 0.0))
        grasp.session.tick()
        felt.append(grasp.felt[3])
        wrench.append(grasp.wrench[3])
    assert wrench[0] == pytest.approx(200.0 * 0.05, rel=1e-12)
    assert wrench[1] == pytest.approx(1e-3 * wrench[0], rel=1e-9)
    assert felt[2] == pytest.approx(20.0 * felt[0], rel=1e-12)


def test_force_limit_holds_for_body_and_hand(rng):
    model = lw.library.chain(joints=20).compile()
    sim = lw.FullDynamics(model, model.neutral())
    device = lw.haptics.Pointer()
    grasp = lw.haptics.grasp(
        sim, 10, device, stiffness=1e5, torque=1e4, force_limit=3.0, torque_limit=0.2, watchdog=PATIENT
    )
    for _ in range(20):
        device.move(rng.normal(size=3), rng.normal(size=4))
        grasp.session.tick()
        for wrench in (grasp.wrench, grasp.felt):
            assert np.linalg.norm(wrench[3:]) <= 3.0 * (1 + 1e-12)
            assert np.linalg.norm(wrench[:3]) <= 0.2 * (1 + 1e-12)


# ----------------------------------------------------------------------------------------------------------------- safety


def held_chain(**settings):
    model = lw.library.chain(joints=20).compile()
    sim = lw.FullDynamics(model, model.neutral())
    device = lw.haptics.Pointer()
    grasp = lw.haptics.grasp(sim, 15, device, watchdog=0.1, fade=0.2, damping=0.0, passive=False, **settings)
    device.move((0.1, 0.0, 0.05))
    return grasp


def test_when_the_simulation_dies_the_force_fades_out():
    """No more snapshots: the force stays until the watchdog sees it, then falls steadily to nothing, for good."""
    grasp = held_chain()
    session = grasp.session
    session._virtual = start = session.now()
    session.publish()
    session.tick()
    full = np.linalg.norm(grasp.felt[3:])
    sizes = []
    for millisecond in range(0, 400, 5):
        session._virtual = start + millisecond * 1_000_000
        session.tick()
        sizes.append(np.linalg.norm(grasp.felt[3:]))
        state = "held" if millisecond <= 100 else "fading" if millisecond < 300 else "released"
        assert grasp.state == state
    assert sizes[:21] == pytest.approx([full] * 21, rel=1e-12)
    assert (np.diff(sizes[20:61]) < 0.0).all()
    assert np.abs(np.diff(sizes)).max() <= full * 5e-3 / 0.2 * (1 + 1e-9)  # no jump: 5 ms of the time to fade
    assert sizes[60:] == [0.0] * 20
    session.publish()  # a simulation that comes back does not take hold of the hand by itself
    session.tick()
    assert grasp.state == "released"
    assert not grasp.felt.any()
    assert not grasp.wrench.any()


def test_when_a_device_dies_the_body_is_let_go():
    grasp = held_chain()
    session = grasp.session
    session._virtual = start = session.now()
    session.tick()
    session._virtual = start + 400_000_000
    session.publish()
    from linkwork.haptics.coupling import couple_once

    couple_once(session.memory, session._scratch, session.now())  # a tick without a reading
    assert grasp.state == "released"
    session.take_forces()
    assert not grasp.load.force.any()


def test_when_the_coupling_loop_dies_the_simulation_goes_on_without_it():
    grasp = held_chain()
    session = grasp.session
    session._virtual = start = session.now()
    session.tick()
    session.take_forces()
    assert grasp.load.force.any()
    session._virtual = start + 200_000_000
    session.step(1e-3)
    assert not grasp.load.force.any()
    session._virtual = start + 700_000_000
    session.write_devices()
    assert not grasp.device.force.any()


def test_a_driver_that_writes_nonsense_does_nothing():
    """Not a number in the memory of a driver in another language: the hand is let go."""
    grasp = held_chain()
    session = grasp.session
    session.tick()
    message = session._pumps[grasp.slot]._message
    message[at.D_POSITION] = np.nan
    from linkwork.haptics.coupling import couple_once
    from linkwork.haptics.memory import leave_reading

    leave_reading(session.memory, grasp.slot, message)
    couple_once(session.memory, session._scratch, session.now())
    assert grasp.state == "released"
    assert not grasp.felt.any()
    assert not grasp.wrench.any()


def test_a_release_leaves_nothing_behind(rng):
    model = lw.library.molecule(joints=200, seed=1).compile()
    sim = lw.AdaptiveDynamics(model, model.neutral(), tolerance=1e-2)
    before = sim.checkpoint()
    grasp = lw.haptics.grasp(sim, 100, lw.haptics.Pointer())
    grasp.device.move((0.1, 0.0, 0.0))
    grasp.session.tick()
    grasp.session.take_forces()
    grasp.release()
    assert sim.loads == ()
    assert np.array_equal(sim.checkpoint()["q"], before["q"])
    assert not grasp.device.force.any()
    with pytest.raises(StateError, match="holds nothing"):
        grasp.release()


@pytest.mark.parametrize("simulation", ["full", "adaptive"])
def test_looking_changes_nothing(simulation, rng):
    """A simulation whose snapshots are taken goes the same way, bit for bit, as one that only carries the load."""
    model = lw.library.molecule(joints=150, seed=2).compile()
    state = model.random_state(rng, speed=0.2)
    looked_at, alone = (SIMULATIONS[simulation](model, state) for _ in range(2))
    grasp = lw.haptics.grasp(looked_at, 70, lw.haptics.Pointer(), stiffness=0.0, damping=0.0)
    alone.apply_wrenches([70], np.zeros((1, 6)))
    for _ in range(25):
        grasp.session.step(1e-4)
        grasp.session.tick()
        alone.advance(1e-4)
    assert np.abs(grasp.felt).max() > 0.0
    assert np.array_equal(looked_at.state.q, alone.state.q)
    assert np.array_equal(looked_at.state.v, alone.state.v)
