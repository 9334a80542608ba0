"""Another state in the middle of a run: from there on a simulation is a new one that begins there, to the bit."""

import copy
import pickle

import numpy as np
import pytest

import linkwork as lw

H = 2e-3


def arm(loops=False, limits=(-0.6, 0.6)):
    linkage = (
        lw.library.four_bar()
        if loops
        else lw.library.chain(8, joint=lw.Revolute((0, 1, 0), limits=limits, damping=0.01))
    )
    if not loops:
        linkage.add_obstacle("floor", lw.Plane(), lw.Pose((0, 0, -0.82)))
    return linkage.compile()


def full(model, state):
    return lw.FullDynamics(model, state, contact=lw.Contact() if model.obstacles else None)


def adaptive(model, state):
    contact = lw.Contact() if model.obstacles else None
    return lw.AdaptiveDynamics(model, state, tolerance=0.05, update_every=3, contact=contact)


def dormand_prince(model, state):
    return lw.FullDynamics(model, state, integrator="dormand_prince", limits=False)


def adaptive_number(model, state):
    return lw.AdaptiveDynamics(model, state, max_active_joints=4, update_every=2, integrator="implicit_midpoint")


def quasi_statics(model, state):
    return lw.QuasiStatics(model, state, tolerance=1e-2)


KINDS = {f.__name__: f for f in (full, adaptive, dormand_prince, adaptive_number, quasi_statics)}


def act(sim):
    """Loads of each sort, an effort and a motor."""
    names = sim.model.body_names
    sim.apply_wrench(names[-1], force=(0.4, 0.0, 0.1))
    sim.apply_wrench(names[1], torque=(0.0, 0.02, 0.0), frame="body")
    sim.apply_spring(names[2], target=(0.1, 0.0, -0.2), stiffness=3.0)
    sim.set_effort(sim.model.joint_names[0], 0.05)
    if not sim.model.loops:
        sim.set_motor(sim.model.joint_names[4], position=0.4, stiffness=2.0, damping=0.05)
        if isinstance(sim, lw.AdaptiveDynamics):
            sim.pin_active(sim.model.joint_names[5])
            sim.pin_inactive(sim.model.joint_names[6])


def course(sim, steps=12):
    found = []
    for _ in range(steps):
        sim.advance(H)
        found.append(np.concatenate([*sim.state, sim.applied_effort]))
    return np.array(found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loops", [False, True], ids=["tree", "loop"])
def test_set_state_and_reset_begin_anew(kind, loops):
    model = arm(loops)
    rng = np.random.default_rng(1)
    speed = 0.0 if kind == "quasi_statics" else 1.0
    start = model.neutral() if loops else model.state(rng.uniform(-0.5, 0.5, 8), speed * rng.normal(size=8))
    other = model.neutral() if loops else model.state(rng.uniform(-0.5, 0.5, 8), speed * rng.normal(size=8))

    sim = KINDS[kind](model, start)
    act(sim)
    first = course(sim)
    checkpoint = sim.checkpoint()

    new = KINDS[kind](model, other)
    act(new)
    expected = course(new)
    sim.set_state(other)
    assert sim.steps_done == 12
    assert np.array_equal(sim.state.q, other.q)
    assert np.array_equal(course(sim), expected)
    assert sim.time == pytest.approx(24 * H)

    sim.reset()
    assert (sim.time, sim.steps_done) == (0.0, 0)
    assert np.array_equal(course(sim), first)
    again = sim.checkpoint()
    assert again.keys() == checkpoint.keys()
    sim.set_state(other)
    sim.restore(checkpoint)  # and a checkpoint leads on from where it was made
    rest = course(sim, 5)
    sim.restore(checkpoint)
    assert np.array_equal(course(sim, 5), rest)

    sim.reset(clear=True)
    assert not sim.loads
    assert np.array_equal(course(sim), course(KINDS[kind](model, start)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda sim: pickle.loads(pickle.dumps(sim))], ids=["copy", "pickle"])
def test_copies_are_reset_to_where_their_original_began(kind, copied):
    model = arm()
    start = model.state(np.linspace(-0.4, 0.5, 8))
    sim = KINDS[kind](model, start)
    act(sim)
    first = course(sim)
    other = copied(sim)
    other.reset()
    assert np.array_equal(other.state.q, start.q)
    assert np.array_equal(course(other), first)


def test_a_checkpoint_keeps_the_order_of_pins():
    """Joints that are pinned inactive are stopped one after the other, which rounds by their order."""
    model = lw.library.random_tree(12, seed=3).compile()
    start = model.random_state(1)
    names = model.joint_names
    sim = lw.AdaptiveDynamics(model, start, max_active_joints=12)
    for joint in (9, 2, 7, 4):
        sim.pin_inactive(names[joint])
    sim.reset()
    first = sim.state.v.copy()
    other = lw.AdaptiveDynamics(model, start, max_active_joints=12)
    other.restore(sim.checkpoint())
    other.reset()
    assert np.array_equal(other.state.v, first)


def test_reset_begins_the_random_numbers_anew():
    model = lw.library.chain(5).compile()
    for make in (lw.FullDynamics, lw.AdaptiveDynamics):
        sim = make(model, model.random_state(0), thermostat=lw.Langevin(300.0, seed=3, boltzmann=1e-3))
        first = course(sim)
        sim.reset()
        assert np.array_equal(course(sim), first)


def test_a_state_that_is_refused_changes_nothing():
    model = arm()
    for make in (full, adaptive, quasi_statics):
        sim = make(model, model.neutral())
        for bad in (lw.State(np.zeros(3), np.zeros(8)), lw.State(np.full(8, np.nan), np.zeros(8)), None):
            with pytest.raises(lw.LinkworkError):
                sim.set_state(bad)
        assert np.array_equal(sim.state.q, np.zeros(8))
    with pytest.raises(lw.StateError, match="at rest"):
        quasi_statics(model, model.neutral()).set_state(lw.State(np.zeros(8), np.ones(8)))
    closed = arm(loops=True)
    sim = full(closed, closed.neutral())
    broken = closed.neutral().copy()
    broken.q[0] += 0.3
    with pytest.raises(lw.LinkworkError):
        sim.set_state(broken)
    assert np.array_equal(sim.state.q, closed.neutral().q)


@pytest.mark.parametrize("kind", ["full", "adaptive", "quasi_statics"])
def test_the_state_in_the_hand_is_read_only(kind):
    model = arm()
    sim = KINDS[kind](model, model.neutral())
    state = sim.state
    for write in (
        lambda: state.q.__setitem__(0, 1.0),
        lambda: state.q[2:4].__setitem__(slice(None), 1.0),
        lambda: state.v.__iadd__(1.0),
    ):
        with pytest.raises(lw.StateError, match="set_state"):
            write()
    with pytest.raises(ValueError, match="read-only"):
        np.add(state.q, 1.0, out=state.q)
    assert type(state.q + 1.0) is np.ndarray
    assert type(state.copy().q) is np.ndarray
    mine = state.copy()
    mine.q[0] = 0.1
    sim.set_state(mine)
    assert sim.state.q[0] == 0.1
    assert lw.forward_dynamics(model, state).shape == (8,)
    assert state.q[0] == 0.0
