"""The laws of a full simulation: momentum, loads at every stage, closed loops, checkpoints, the same result every way."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.simulation.integrators.names import INTEGRATORS


@pytest.fixture(params=INTEGRATORS)
def integrator(request):
    return request.param


def momenta(model: lw.Model, state: lw.State) -> np.ndarray:
    linear, angular = lw.momentum(model, state)
    return np.concatenate([angular, linear])


# ------------------------------------------------------------------------------------------------------------- momentum


def test_a_floating_tree_keeps_its_momentum_to_rounding(make_tree):
    """Springs, dampers and rotors inside, nothing outside."""
    model = make_tree(seed=5, bodies=12, base=lw.Free(), gravity=(0, 0, 0), stiffness=True, damping=True, armature=True)
    start = model.random_state(2)
    before = momenta(model, start)
    sim = lw.FullDynamics(model, start, integrator="semi_implicit_euler")
    sim.step(1e-3, 2000)
    change = np.abs(momenta(model, sim.state) - before).max()
    assert change < 1e-11 * np.abs(before).max()  # 2,000 steps of a few ε each, in a walk
    assert np.abs(model.difference(start.q, sim.state.q)).max() > 0.5  # it did move
    loose = lw.FullDynamics(model, start, integrator="semi_implicit_euler", keep_momentum=False)
    loose.step(1e-3, 200)
    assert np.abs(momenta(model, loose.state) - before).max() > 1e-4 * np.abs(before).max()


def test_momentum_grows_by_what_acts_from_outside(make_tree):
    """Gravity, a force on a hand, a torque: summed up step by step as they were at the start of each step."""
    model = make_tree(seed=5, bodies=12, base=lw.Free(), stiffness=True, damping=True)
    start = model.random_state(2)
    sim = lw.FullDynamics(model, start, integrator="semi_implicit_euler")
    force, torque, at, h = np.array([1.0, -2.0, 3.0]), np.array([0.3, 0.2, -0.1]), np.array([0.1, 0.2, 0.3]), 1e-3
    sim.apply_wrench("body_7", force, torque, frame="world", at=at)
    expected = momenta(model, start)
    total = model.mass.sum()
    for _ in range(300):
        T = lw.body_poses(model, sim.state)[model.body("body_7")]
        expected[3:] += h * (force + total * model.gravity)
        expected[:3] += h * np.cross(T[:3, :3] @ at + T[:3, 3], force) + h * torque
        expected[:3] += h * total * np.cross(lw.center_of_mass(model, sim.state), model.gravity)
        sim.step(h)
    assert momenta(model, sim.state) == pytest.approx(expected, rel=1e-11, abs=1e-10)


def test_keeping_momentum_does_not_change_the_order(make_tree, rk4):
    model = make_tree(seed=5, bodies=8, base=lw.Free(), stiffness=True, damping=True)
    start = model.random_state(2)
    truth = rk4(model, start, 0.2, 2000)
    errors = []
    for steps in (400, 800):
        sim = lw.FullDynamics(model, start, integrator="semi_implicit_euler")
        sim.step(0.2 / steps, steps)
        errors.append(np.abs(sim.state.v - truth.v).max())
    assert math.log2(errors[0] / errors[1]) == pytest.approx(1.0, abs=0.2)


def test_each_floating_tree_has_its_own_momentum(make_tree, rng, derivative):
    """The rate of every floating tree's momentum is W: gravity, wrenches, the free joint's spring, damper and effort.

    Of three trees one stands on a hinge, and one has armature on its free joint: those two have no account of their own.
    """
    held = lw.Linkage("three", gravity=(0.3, -0.2, -9.0))
    box = lw.Inertia.box(1.3, (0.3, 0.4, 0.5)).at(lw.Pose((0.1, 0.2, 0.3)))
    roots = {
        "hung": lw.Revolute((1, 0, 0)),
        "free": lw.Free(damping=0.4, stiffness=3.0),
        "geared": lw.Free(armature=0.1),
    }
    for name, joint in roots.items():
        held.add_body(name, "world", joint, lw.Pose((1, 2, 3), rpy=(0.1, 0.2, 0.3)), box)
        held.add_body(f"{name}_arm", name, lw.Universal(), lw.Pose((0.5, 0, 0)), box)
    model = held.compile()
    state = model.random_state(rng)
    effort, wrenches = rng.normal(size=model.nv), rng.normal(size=(model.n_bodies, 6))
    sim = lw.FullDynamics(model, state, implicit_joints=False)
    for i, name in enumerate(model.joint_names):
        sim.set_effort(name, effort[model.v_slice(i)])
    sim.apply_wrenches(model.body_names, wrenches, frame="body")
    qdd = lw.forward_dynamics(model, state, effort, wrenches)

    def momentum(t):
        q = model.integrate(state.q, state.v * t + 0.5 * qdd * t * t)
        return tree_momentum(model, lw.State(q, state.v + qdd * t), "free")

    h = 1e-3
    before = tree_momentum(model, state, "free")
    rate = derivative(momentum, 2e-4)
    sim.step(h)
    kept = tree_momentum(model, sim.state, "free")
    largest = np.abs(rate).max()  # of order 100
    exact = rounding(condition=1e3, scale=np.abs(kept).max())
    assert kept - before == pytest.approx(h * rate, abs=1e-8 * h * largest + exact)
    # The other two move as if nobody kept accounts.
    loose = lw.FullDynamics(model, state, implicit_joints=False, keep_momentum=False)
    for i, name in enumerate(model.joint_names):
        loose.set_effort(name, effort[model.v_slice(i)])
    loose.apply_wrenches(model.body_names, wrenches, frame="body")
    loose.step(h)
    for name in ("hung", "geared"):
        assert (sim.state.v[model.v_slice(name)] == loose.state.v[model.v_slice(name)]).all()
    assert (sim.state.v[model.v_slice("free")] != loose.state.v[model.v_slice("free")]).any()


def tree_momentum(model, state, base):
    """Momentum [angular, linear] about the world's origin of one tree: that of the whole with all others at rest."""
    v = np.zeros(model.nv)
    for i, name in enumerate(model.body_names):
        if name.startswith(base):
            v[model.v_slice(i)] = state.v[model.v_slice(i)]
    return momenta(model, lw.State(state.q, v))


@pytest.mark.filterwarnings("error::linkwork.errors.LinkworkWarning")  # energy that a new state brings is not a gain
@pytest.mark.parametrize("seed", range(4))
def test_a_step_evaluates_where_it_begins(make_tree, seed):
    """Euler's rule takes poses from the end of the last step: in a row of steps, after a new state and after a failure."""
    model = make_tree(seed=seed, base=lw.Free(), roots=1 + seed % 2, branching=0.3 * seed)
    sim = lw.FullDynamics(model, model.random_state(seed), integrator="semi_implicit_euler")
    for k in range(9):
        if k == 3:
            sim.set_state(model.random_state(100 + seed))
        if k == 6:
            with pytest.raises(lw.StateError):
                sim.step(1e200)
        before = sim.state
        with sim.view.by_one_rule():
            sim.step(1e-4)
        expected = lw.forward_dynamics(model, before)
        condition = np.linalg.cond(lw.mass_matrix(model, before))
        off = np.abs(sim.view.moving.qdd - expected).max()
        assert off <= rounding(condition=condition, scale=np.abs(expected).max()), k


# ---------------------------------------------------------------------------------------------------------------- loads


def test_loads_are_expressed_anew_at_every_stage(make_tree):
    """With world-fixed forces, springs, body-fixed wrenches, motors and efforts the methods keep their orders.

    Loads frozen at the start of each step would leave order one to all of them. Reference: the finest of them.
    """
    model = make_tree(seed=3, bodies=9, damping=True, armature=True)
    start = model.random_state(8)
    hinge = next(name for name, joint in zip(model.joint_names, model.joints, strict=True) if joint.nv == 1)

    def run(integrator, steps, duration=0.2):
        sim = lw.FullDynamics(model, start, integrator=integrator, rtol=1e-12, atol=1e-12)
        sim.apply_wrench("body_8", force=(30, -20, 10), torque=(1, 2, -1), frame="world", at=(0.3, 0.2, 0.5))
        sim.apply_wrench("body_4", force=(3, 20, 1), torque=(-1, 2, 1), frame="body", at=(0.1, 0.2, 0.5))
        sim.apply_spring("body_6", target=(1.0, 2.0, 3.0), stiffness=40.0, at=(0.1, -0.4, 0.2))
        sim.set_motor(hinge, position=0.3, velocity=-0.5, stiffness=20.0, damping=3.0)
        sim.set_effort(hinge, 2.0)
        sim.step(duration / steps, steps)
        return sim.state

    truth = run("dormand_prince", 4)
    for integrator, order in (("semi_implicit_euler", 1), ("implicit_midpoint", 2), ("rk4", 4)):
        errors = [np.abs(run(integrator, steps).v - truth.v).max() for steps in (40, 80)]
        assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.3), integrator


def test_a_load_is_what_forward_dynamics_gets_for_it(make_tree, rng):
    """Accelerations with all kinds of loads equal those with efforts and wrenches worked out by hand."""
    model = make_tree(seed=3, bodies=10, damping=True, stiffness=True, armature=True)
    state = model.random_state(rng)
    sim = lw.FullDynamics(model, state)
    hand, at, force, torque = (
        "body_8",
        np.array([0.3, 0.2, 0.5]),
        np.array([3.0, -2.0, 1.0]),
        np.array([1.0, 2.0, -1.0]),
    )
    T = lw.body_poses(model, state)[model.body(hand)]
    R, point = T[:3, :3], T[:3, :3] @ at + T[:3, 3]
    wrenches = np.zeros((model.n_bodies, 6))

    def add(f, n):
        wrenches[model.body(hand)] += np.concatenate([n + np.cross(at, f), f])

    sim.apply_wrench(hand, force, torque, frame="body", at=at)
    add(force, torque)
    moved = sim.apply_wrench(hand, (9, 9, 9), frame="world", at=at)
    sim.change_wrench(moved, force=force, torque=torque)
    add(R.T @ force, R.T @ torque)
    spring = sim.apply_spring(hand, target=(9, 9, 9), stiffness=7.0, at=at)
    sim.move_target(spring, (1.0, 2.0, 3.0))
    add(R.T @ (7.0 * (np.array([1.0, 2.0, 3.0]) - point)), np.zeros(3))
    gone = [sim.apply_wrench(hand, force, frame=frame) for frame in ("body", "world")]
    for load in gone:
        sim.clear(load)
    joint = next(
        name for name, joint in zip(model.joint_names, model.joints, strict=True) if isinstance(joint, lw.Compound)
    )
    rows, q = model.v_slice(joint), state.q[model.q_slice(joint)]
    effort = np.zeros(model.nv)
    sim.set_effort(joint, np.arange(4.0))
    sim.set_motor(joint, position=0.5, velocity=(1.0, 2.0, 3.0, 4.0), stiffness=2.0, damping=0.3)
    effort[rows] = np.arange(4.0) + 2.0 * (0.5 - q) + 0.3 * (np.array([1.0, 2.0, 3.0, 4.0]) - state.v[rows])
    expected = lw.forward_dynamics(model, state, effort, wrenches)
    assert sim.acceleration == pytest.approx(expected, abs=1e-11 * np.abs(expected).max())
    assert len(sim.loads) == 3
    sim.clear_loads()
    sim.clear_motor(joint)
    sim.set_effort(joint, np.zeros(4))
    assert (sim.acceleration == lw.forward_dynamics(model, state)).all()


def test_work_of_a_constant_force_is_the_energy_gained(make_tree):
    """A world-fixed force has the potential -f · x: with it, the energy of a conservative linkage stays."""
    model = make_tree(seed=3, bodies=6, stiffness=True)
    sim = lw.FullDynamics(model, model.random_state(8), integrator="dormand_prince", rtol=1e-9, atol=1e-10)
    force, at = np.array([30.0, -20.0, 10.0]), np.array([0.3, 0.2, 0.5])
    sim.apply_wrench("body_5", force, frame="world", at=at)

    def total():
        T = lw.body_poses(model, sim.state)[model.body("body_5")]
        return sim.scalars()["energy"] - force @ (T[:3, :3] @ at + T[:3, 3])

    before, alone = total(), sim.scalars()["energy"]
    sim.step(0.05, 10)
    assert total() == pytest.approx(before, abs=1e-6 * abs(before))
    assert abs(sim.scalars()["energy"] - alone) > 0.1  # the force did work


def test_all_algorithms_make_the_same_motion(make_tree, algorithm):
    model = make_tree(seed=6, bodies=8, stiffness=True, damping=True, armature=True)
    start = model.random_state(4)
    ends = []
    for name in ("aba", algorithm):
        sim = lw.FullDynamics(model, start, algorithm=name, integrator="rk4")
        sim.apply_wrench("body_3", (1, 2, 3), frame="world")
        sim.step(1e-3, 50)
        ends.append(np.concatenate(sim.state))
    assert ends[0] == pytest.approx(ends[1], abs=1e-9)


# ---------------------------------------------------------------------------------------------------------------- loops

GROUND, CRANK, COUPLER, ROCKER = 1.0, 0.35, 0.9, 0.7


def four_bar(floating: bool = False) -> lw.Model:
    def bar(length: float) -> lw.Inertia:
        return lw.Inertia.box(length, (length, 0.04, 0.04)).at(lw.Pose((length / 2, 0, 0)))

    hinge = lw.Revolute((0, 0, 1))
    linkage = lw.Linkage("four_bar", gravity=(0, 0, 0) if floating else (0, -9.81, 0))
    frame = "world"
    if floating:
        frame = "frame"
        linkage.add_body(frame, "world", lw.Free(), inertia=bar(GROUND))
    linkage.add_body("crank", frame, hinge, inertia=bar(CRANK))
    linkage.add_body("coupler", "crank", hinge, lw.Pose((CRANK, 0, 0)), bar(COUPLER))
    linkage.add_body("rocker", frame, hinge, lw.Pose((GROUND, 0, 0)), bar(ROCKER))
    linkage.add_loop(hinge, "coupler", "rocker", (lw.Pose((COUPLER, 0, 0)), lw.Pose((ROCKER, 0, 0))), name="pin")
    return linkage.compile()


def closed_start(model: lw.Model) -> lw.State:
    start = model.neutral()
    for joint, angle in (("crank", 1.0), ("rocker", 1.8)):
        start.q[model.q_slice(joint)] = angle
    start.v[model.v_slice("crank")] = 8.0
    return lw.close_loops(model, start)


def test_a_four_bar_stays_closed_over_a_long_run(integrator):
    """Some turns of the crank: gaps and slips stay at what closing after each step leaves of them."""
    model = four_bar()
    sim = lw.FullDynamics(model, closed_start(model), integrator=integrator)
    before = sim.scalars()["energy"]
    worst = 0.0
    for _ in range(20):
        sim.step(2.5e-3, 60)
        gaps = lw.loop_gaps(model, sim.state)
        worst = max(worst, gaps.worst_gap, gaps.worst_slip)
    assert worst < 1e-9
    assert abs(sim.state.q[0]) > 6.0  # it went round
    # Energies are of order 10 J. Closing the loops costs the midpoint rule its balance, but not its order. The last two
    # swing by h²: 0.4 J are seen at steps of a fiftieth of a turn.
    allowed = {
        "semi_implicit_euler": 10.0,
        "rk4": 1e-4,
        "dormand_prince": 1e-4,
        "implicit_midpoint": 0.05,
        "kick_drift_kick": 2.0,
        "variational": 2.0,
    }[integrator]
    assert abs(sim.scalars()["energy"] - before) < allowed


def test_order_on_a_four_bar():
    model = four_bar()
    start = closed_start(model)

    def path(integrator, steps):
        """Coordinates at four moments: at a single one errors of different signs may happen to cancel."""
        sim = lw.FullDynamics(model, start, integrator=integrator, rtol=1e-10, atol=1e-11)
        seen = []
        for _ in range(4):
            sim.step(0.4 / steps, steps // 4)
            seen.append(sim.state.q)
        return np.array(seen)

    truth = path("dormand_prince", 4)
    # Euler: steps of a quarter of a millisecond and less, in which bars that turn with some 10 rad/s do not whip or swing;
    # those that do are made by the variational rule, and a path by two rules has no order of its own.
    for integrator, order, steps in (("semi_implicit_euler", 1, 1600), ("implicit_midpoint", 2, 40), ("rk4", 4, 40)):
        errors = [np.abs(path(integrator, n) - truth).max() for n in (steps, 2 * steps)]
        assert order - 0.3 < math.log2(errors[0] / errors[1]) < order + 0.8, integrator


def test_a_floating_four_bar_keeps_shape_and_momentum():
    model = four_bar(floating=True)
    start = closed_start(model)
    before = momenta(model, start)
    sim = lw.FullDynamics(model, start)
    sim.step(2e-3, 500)
    gaps = lw.loop_gaps(model, sim.state)
    assert gaps.worst_gap < 1e-9
    assert gaps.worst_slip < 1e-9
    assert momenta(model, sim.state) == pytest.approx(before, abs=1e-10 * np.abs(before).max())


# ----------------------------------------------------------------------------------------------- histories and bookkeeping


def loaded(model: lw.Model, start: lw.State, integrator: str) -> lw.FullDynamics:
    sim = lw.FullDynamics(model, start, integrator=integrator)
    sim.apply_wrench("body_5", (3, -2, 1), frame="world")
    sim.set_motor("joint_0", position=0.1, stiffness=2.0)
    return sim


def test_a_restored_simulation_goes_on_bit_by_bit(make_tree, integrator):
    model = make_tree(seed=7, bodies=8, stiffness=True, damping=True)
    start = model.random_state(4)
    whole, half = loaded(model, start, integrator), loaded(model, start, integrator)
    whole.step(4e-3, 30)
    half.step(4e-3, 11)
    kept = half.checkpoint()
    half.step(4e-3, 3)  # what happens after it leaves the checkpoint alone
    other = loaded(model, model.neutral(), integrator)
    other.restore(kept)
    assert other.steps_done == 11
    other.step(4e-3, 19)
    for a, b in zip(whole.state, other.state, strict=True):
        assert (a == b).all()
    assert (whole.time, whole.steps_done) == (other.time, other.steps_done)
    assert whole.scalars() == other.scalars()


def test_the_same_start_gives_the_same_bits(make_tree, integrator):
    model = make_tree(seed=7, bodies=8, base=lw.Free(), stiffness=True, damping=True)
    ends = []
    for chunks in ((20,), (7, 13)):
        sim = lw.FullDynamics(model, model.random_state(4), integrator=integrator)
        for n in chunks:
            sim.step(2e-3, n)
        ends.append(sim.state)
    for a, b in itertools.pairwise(ends):
        assert (a.q == b.q).all()
        assert (a.v == b.v).all()


def test_reports_count_what_was_done(integrator):
    model = lw.library.chain(joints=4).compile()
    sim = lw.FullDynamics(model, model.state([0.3] * 4), integrator=integrator)
    # Euler: so short that no step whips, which would take more evaluations.
    h = 1e-3 if integrator == "semi_implicit_euler" else 1e-2
    report = sim.step(h, 5)
    if integrator == "dormand_prince":
        assert report.steps_taken >= 5
        assert report.evaluations >= 6 * report.steps_taken + 5
        assert 0.0 < report.error_estimate < 1e-4
    else:
        assert report.steps_taken == 5
        assert math.isnan(report.error_estimate)
        each = {"semi_implicit_euler": 1, "rk4": 4}.get(integrator)
        # variational: one elimination per step, a guess and the balance of energy in the first, velocities in the end
        least = 8 if integrator == "variational" else 15
        assert report.evaluations == 5 * each if each else report.evaluations >= least
    assert report.energy == sim.scalars()["energy"] == lw.energy(model, sim.state).total
    assert set(sim.scalars()) == {"kinetic_energy", "potential_energy", "energy"}
    assert sim.time == pytest.approx(5 * h)


def test_run_takes_all_steps_and_stops_when_asked(integrator):
    model = lw.library.chain(joints=4).compile()
    stepped, ran = (lw.FullDynamics(model, model.state([0.3] * 4), integrator=integrator) for _ in range(2))
    stepped.step(1e-2, 20)
    seen = []
    report = ran.run(1e-2, 20, every=5, callback=lambda sim, report: seen.append((sim.steps_done, report.energy)))
    assert ran.steps_done == 20
    assert (ran.state.q == stepped.state.q).all()
    assert [done for done, _ in seen] == [5, 10, 15, 20]
    assert report.last.energy == seen[-1][1]
    ran.run(1e-2, 20, every=5, callback=lambda sim, report: sim.steps_done >= 30)
    assert ran.steps_done == 30


def test_a_checkpoint_brings_loads_efforts_and_motors():
    """A simulation made anew, with nothing applied, goes on in the same bits."""
    model = lw.library.chain(joints=6).compile()

    def fresh():
        return lw.FullDynamics(model, model.neutral(), integrator="rk4")

    sim = fresh()
    sim.apply_wrench(5, force=(0.1, 0.0, 0.2), frame="world", at=(0.0, 0.1, 0.0))
    sim.apply_wrench(3, force=(0.0, 0.1, 0.0), torque=(0.0, 0.02, 0.0), frame="body")
    sim.apply_spring(4, target=(0.3, 0.0, 0.0), stiffness=2.0)
    sim.set_effort(model.joint_names[2], 0.05)
    sim.set_motor(model.joint_names[1], position=0.3, stiffness=1.0, damping=0.1)
    sim.step(1e-3, 20)
    other = fresh()
    other.restore(sim.checkpoint())
    for one in (sim, other):
        one.step(1e-3, 30)
    assert np.array_equal(sim.state.q, other.state.q)
    assert np.array_equal(sim.state.v, other.state.v)
    assert other.time == sim.time
