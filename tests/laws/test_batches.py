"""Batches on the CPU: every row has the bits of a call of its own."""

import numpy as np
import pytest
from tests.helpers.kernel_parts.mechanisms import mixed_joints

import linkwork as lw

COUNT = 40  # more than one thread takes

NAMED = {
    "body_poses": {},
    "body_twists": {},
    "mass_matrix": {},
    "center_of_mass": {},
    "energy": {},
    "momentum": {},
    "bias_efforts": {},
    "gravity_efforts": {},
    "com_jacobian": {},
    "centroidal_momentum_matrix": {},
    "centroidal_momentum_bias": {},
}


@pytest.fixture(scope="module")
def model() -> lw.Model:
    return mixed_joints()


@pytest.fixture(scope="module")
def batch(model) -> lw.State:
    states = [model.random_state(seed) for seed in range(COUNT)]
    return lw.State(np.array([s.q for s in states]), np.array([s.v for s in states]))


def single(batch: lw.State, k: int) -> lw.State:
    return lw.State(batch.q[k].copy(), batch.v[k].copy())


def assert_same_bits(many, one, k):
    if isinstance(one, tuple):
        for column, value in zip(many, one, strict=True):
            assert np.array_equal(column[k], value)
    else:
        assert np.array_equal(many[k], one)


@pytest.mark.parametrize("name", NAMED)
def test_quantities(model, batch, name):
    function = getattr(lw, name)
    many = function(model, batch)
    for k in range(COUNT):
        assert_same_bits(many, function(model, single(batch, k)), k)


def test_dynamics(model, batch):
    rng = np.random.default_rng(1)
    effort, wrenches = rng.normal(size=(COUNT, model.nv)), rng.normal(size=(COUNT, model.n_bodies, 6))
    for function in (lw.forward_dynamics, lw.inverse_dynamics):
        many = function(model, batch, effort, wrenches)
        same_for_all = function(model, batch, effort[0], wrenches[0])
        for k in range(COUNT):
            assert np.array_equal(many[k], function(model, single(batch, k), effort[k], wrenches[k]))
            assert np.array_equal(same_for_all[k], function(model, single(batch, k), effort[0], wrenches[0]))
    plain = lw.forward_dynamics(model, batch)
    assert np.array_equal(plain[3], lw.forward_dynamics(model, single(batch, 3)))
    by_dca = lw.forward_dynamics(model, batch, effort, algorithm="dca")
    assert np.array_equal(by_dca[5], lw.forward_dynamics(model, single(batch, 5), effort[5], algorithm="dca"))
    found = lw.body_accelerations(model, batch, effort, frame="world")
    assert np.array_equal(found[7], lw.body_accelerations(model, single(batch, 7), effort[7], frame="world"))
    turned = lw.body_twists(model, batch, frame="world")
    assert np.array_equal(turned[7], lw.body_twists(model, single(batch, 7), frame="world"))


def test_frames(model, batch):
    name = model.body_names[-1]
    for function, args in ((lw.frame_poses, ([name, "world"],)), (lw.frame_jacobian, (name,)),
                           (lw.frame_bias_acceleration, (name,)), (lw.operational_inertia, (name,))):  # fmt: skip
        many = function(model, batch, *args)
        assert np.array_equal(many[4], function(model, single(batch, 4), *args))


def test_a_batch_of_one_and_of_none(model, batch):
    one = lw.State(batch.q[:1], batch.v[:1])
    assert lw.forward_dynamics(model, one).shape == (1, model.nv)
    none = lw.State(batch.q[:0], batch.v[:0])
    assert lw.forward_dynamics(model, none).shape == (0, model.nv)
    assert lw.body_poses(model, none).shape == (0, model.n_bodies, 4, 4)


def test_what_is_refused(model, batch):
    bad = batch.q.copy()
    bad[7, 0] = np.nan
    with pytest.raises(lw.StateError, match=r"state.q\[7, 0\] is nan"):
        lw.forward_dynamics(model, lw.State(bad, batch.v))
    with pytest.raises(lw.StateError, match=r"state\.v has shape"):
        lw.forward_dynamics(model, lw.State(batch.q, batch.v[:3]))
    with pytest.raises(lw.StateError, match="effort has shape"):
        lw.forward_dynamics(model, batch, np.zeros((3, model.nv)))
    with pytest.raises(lw.StateError, match=r"effort\[2\]"):
        lw.forward_dynamics(model, batch, np.where(np.arange(COUNT)[:, None] == 2, np.nan, np.zeros((COUNT, model.nv))))
    bad = batch.q.copy()
    bad[9, model.quaternions[0]] += 0.5
    with pytest.raises(lw.StateError, match="state 9 of the batch"):
        lw.body_poses(model, lw.State(bad, batch.v))
    with pytest.raises(lw.StateError, match="acceleration is missing"):
        lw.inverse_dynamics(model, batch, None)


def test_a_state_that_cannot_be_solved_is_named():
    model = lw.library.chain(4).compile()
    huge = np.zeros((30, 4))
    huge[11] = 1e200
    with pytest.raises(lw.StateError, match="state 11 of the batch"):
        lw.forward_dynamics(model, lw.State(np.zeros((30, 4)), huge))


@pytest.mark.parametrize("algorithm", ["dca", "dense"])
def test_arguments_are_shared_out_by_their_dimensions_not_by_their_length(model, batch, algorithm):
    count = model.n_bodies  # as many states as bodies: wrenches (n, 6) are still those of every state
    few = lw.State(batch.q[:count], batch.v[:count])
    rng = np.random.default_rng(2)
    efforts, wrenches = rng.normal(size=(count, model.nv)), rng.normal(size=(count, 6))
    many = lw.forward_dynamics(model, few, efforts.tolist(), wrenches, algorithm=algorithm)
    one = lw.forward_dynamics(model, single(few, 3), efforts[3], wrenches, algorithm=algorithm)
    assert np.array_equal(many[3], one)
    found = lw.body_accelerations(model, few, efforts.tolist())
    assert np.array_equal(found[3], lw.body_accelerations(model, single(few, 3), efforts[3]))
    points = rng.normal(size=(count, 3))
    found = lw.body_jacobian(model, few, model.body_names[-1], at=points, frame="world")
    own = lw.body_jacobian(model, single(few, 3), model.body_names[-1], at=points[3], frame="world")
    assert np.array_equal(found[3], own)
    with pytest.raises(lw.StateError, match=r"acceleration has shape \(2, \d+\); give one for all"):
        lw.body_accelerations(model, few, efforts[:2])


def test_twists_that_overflow_are_refused():
    model = lw.library.chain(4).compile()
    huge = np.zeros((20, 4))
    huge[11] = 1e308
    with pytest.raises(lw.StateError, match="state 11 of the batch: body_twists overflowed"):
        lw.body_twists(model, lw.State(np.zeros((20, 4)), huge))
