"""Copies of simulations, models, loads and recordings have memory of their own, or are refused with advice."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import linkwork as lw

MODEL = lw.library.chain(12).compile()
START = MODEL.random_state(3, speed=0.2)


def through_pickle(thing):
    return pickle.loads(pickle.dumps(thing))


WAYS = pytest.mark.parametrize("copied", [copy.deepcopy, through_pickle], ids=["deep", "pickle"])
SIMULATIONS = {
    "full": lambda: lw.FullDynamics(MODEL, START, integrator="semi_implicit_euler"),
    "adaptive": lambda: lw.AdaptiveDynamics(MODEL, START, max_active_joints=5, update_every=4),
    "quasi-statics": lambda: lw.QuasiStatics(MODEL, MODEL.neutral(), tolerance=1e-3),
}


def begun(name):
    """A simulation in the middle of its course, and a load of each kind."""
    sim = SIMULATIONS[name]()
    held = sim.apply_wrench(5, force=(0.0, 0.3, 0.1), frame="body")
    pulled = sim.apply_wrench(MODEL.body_names[-1], force=(0.0, 0.0, -2.0))
    spring = sim.apply_spring(7, target=(0.1, 0.0, -0.5), stiffness=2.0)
    sim.set_motor(MODEL.joint_names[2], position=0.2, stiffness=1.0)
    sim.step(1e-3, 7)
    sim.clear(held)
    sim.tolerance = 1e-2  # users may change their minds; FullDynamics has none, and does not look at it
    return sim, pulled, spring


def course(sim):
    sim.step(1e-3, 9)
    return b"".join(x.tobytes() for x in sim.state)


@WAYS
@pytest.mark.parametrize("name", SIMULATIONS)
def test_a_copy_goes_on_in_the_same_bits_and_in_memory_of_its_own(name, copied):
    sim, pulled, _ = begun(name)
    other, its_load = copied((sim, pulled))
    assert other.model is sim.model or copied is through_pickle
    before = b"".join(x.tobytes() for x in sim.state)
    end = course(other)
    assert b"".join(x.tobytes() for x in sim.state) == before
    assert course(sim) == end
    assert (sim.time, sim.steps_done) == (other.time, other.steps_done)
    other.change_wrench(its_load, force=(1.0, 0.0, 0.0))
    other.move_target(other.loads[1], (0.2, 0.0, -0.4))
    assert course(other) != course(sim)
    other.clear(its_load)
    assert len(other.loads) == 1
    assert len(sim.loads) == 2
    with pytest.raises(lw.StateError, match="not, or no longer"):
        other.clear(pulled)


@pytest.mark.parametrize("name", SIMULATIONS)
def test_a_shallow_copy_of_a_simulation_is_refused(name):
    sim = SIMULATIONS[name]()
    with pytest.raises(lw.StateError, match=r"copy\.deepcopy"):
        copy.copy(sim)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, through_pickle], ids=["shallow", "deep", "pickle"])
def test_models_keep_their_protection_and_states_and_loads_their_numbers(copied):
    model = copied(MODEL)
    for array in (*model.arrays, model.lower, model.upper):
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    assert (lw.forward_dynamics(model, START) == lw.forward_dynamics(MODEL, START)).all()
    state = copied(START)
    assert (state.q == START.q).all()
    loads = lw.Loads(MODEL)
    load = loads.apply_wrench(3, force=(0.0, 0.0, 1.0))
    other = copied(loads)
    other.clear(other.loads[0])
    assert len(loads.loads) == 1
    loads.clear(load)


def test_copies_of_recordings_open_them_again_and_writers_are_refused(tmp_path):
    pytest.importorskip("zarr", reason="recordings need the extra record")
    with lw.Recorder(tmp_path / "run") as recorder:
        recorder.begin(MODEL)
        recorder.append(0.0, 0, START)
        with pytest.raises(lw.LinkworkError, match="one writer"):
            copy.deepcopy(recorder)
    recording = lw.Recording(tmp_path / "run")
    for copied in (copy.copy, copy.deepcopy, through_pickle):
        assert (copied(recording).state(0).q == START.q).all()
    with pytest.raises(lw.LinkworkError, match="make another one"):
        copy.copy(lw.Response(MODEL, START))


def test_a_matrix_too_large_is_refused_before_it_is_allocated():
    model = lw.library.chain(200_000).compile()
    state = model.neutral()
    for ask in (
        lambda: lw.mass_matrix(model, state),
        lambda: lw.forward_dynamics(model, state, algorithm="dense"),
        lambda: lw.forward_dynamics(model, state, algorithm="unit_vector"),
    ):
        with pytest.raises(lw.StateError, match=r"needs [\d,]+ bytes; [\d,]+ are available"):
            ask()


def test_the_dense_solution_is_that_of_any_other_library():
    """Sizes around the number of rows that are taken together."""
    from tests.helpers.rounding import rounding

    from linkwork.dynamics.linear.cholesky import solve_positive_definite

    rng = np.random.default_rng(0)
    for n in (0, 1, 3, 4, 5, 8, 17, 60):
        A = rng.normal(size=(n, n))
        M, b = A @ A.T + n * np.eye(n), rng.normal(size=n)
        U, x = M.copy(), b.copy()
        assert solve_positive_definite(U, x) == -1
        condition = float(np.linalg.cond(M)) if n else 1.0
        assert np.allclose(x, np.linalg.solve(M, b), rtol=0, atol=rounding(condition=condition, scale=1.0, steps=n + 1))
    broken = np.eye(9)
    broken[6, 6] = -1.0
    assert solve_positive_definite(broken, np.ones(9)) == 6
