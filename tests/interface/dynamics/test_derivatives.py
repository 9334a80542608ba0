"""What `lw.vjp` and `lw.jvp` refuse, and what they say."""

import gc

import numpy as np
import pytest

import linkwork as lw


@pytest.fixture
def arm():
    return lw.library.random_tree(joints=5, seed=3).compile()


@pytest.mark.parametrize("wrong", [lw.mass_matrix, np.sin, None, "forward_dynamics", []])
def test_functions_without_derivatives(arm, wrong):
    with pytest.raises(lw.StateError, match=r"no derivatives of .*lw\.forward_dynamics"):
        lw.vjp(wrong, arm, arm.neutral())
    with pytest.raises(lw.StateError, match="no derivatives of"):
        lw.jvp(wrong, arm, arm.neutral(), dq=np.zeros(5))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.zeros(4), r"weights has shape \(4,\)"),
        (np.array([0, 1, np.nan, 0, 0]), r"weights\[2\] is nan"),
        (np.array([0, 1, 0, 0, np.inf]), r"weights\[4\] is inf"),
        ("heavy", "must be an array of numbers"),
        (None, "weights is missing"),
    ],
)
@pytest.mark.parametrize("function", [lw.forward_dynamics, lw.inverse_dynamics])
def test_bad_weights(arm, function, weights, message):
    _, pull = lw.vjp(function, arm, arm.neutral(), np.zeros(5))
    with pytest.raises(lw.StateError, match=message):
        pull(weights)


def test_bad_directions(arm):
    state = arm.neutral()
    with pytest.raises(lw.StateError, match="no direction is given; give one or several of dq, dv, deffort"):
        lw.jvp(lw.forward_dynamics, arm, state)
    with pytest.raises(lw.StateError, match=r"dq has shape \(3,\)"):
        lw.jvp(lw.forward_dynamics, arm, state, dq=np.zeros(3))
    with pytest.raises(lw.StateError, match=r"dv\[0\] is nan"):
        lw.jvp(lw.inverse_dynamics, arm, state, np.zeros(5), dv=[np.nan, 0, 0, 0, 0])
    with pytest.raises(lw.StateError, match="does not depend on effort"):
        lw.jvp(lw.inverse_dynamics, arm, state, np.zeros(5), deffort=np.zeros(5))
    with pytest.raises(lw.StateError, match="no option 'size'"):
        lw.jvp(lw.body_poses, arm, state, dq=np.zeros(5), size=3)


def test_bad_names_of_gradients(arm):
    with pytest.raises(lw.StateError, match=r"'efort'.*did you mean 'effort'"):
        lw.vjp(lw.forward_dynamics, arm, arm.neutral(), wrt=("q", "efort"))
    with pytest.raises(lw.StateError, match="wrt must be names"):
        lw.vjp(lw.forward_dynamics, arm, arm.neutral(), wrt=3)


def test_only_what_is_asked_for(arm):
    _, pull = lw.vjp(lw.forward_dynamics, arm, arm.neutral(), wrt="damping")
    found = pull(np.ones(5))
    assert found.damping.shape == (5,)
    assert found.q is None
    assert found.inertias is None


def test_inputs_are_checked_as_by_the_function_itself(arm):
    bad = arm.neutral()
    bad.q[2] = np.nan
    with pytest.raises(lw.StateError, match=r"state\.q\[2\] is nan"):
        lw.vjp(lw.forward_dynamics, arm, bad)
    with pytest.raises(lw.StateError, match="effort has shape"):
        lw.vjp(lw.forward_dynamics, arm, arm.neutral(), effort=np.zeros(3))
    with pytest.raises(lw.StateError, match="acceleration is missing"):
        lw.vjp(lw.inverse_dynamics, arm, arm.neutral(), None)
    with pytest.raises(lw.StateError, match="go through algorithm 'aba', not 'dca'"):
        lw.vjp(lw.forward_dynamics, arm, arm.neutral(), algorithm="dca")
    with pytest.raises(lw.ModelError, match=r"compile it first"):
        lw.vjp(lw.forward_dynamics, lw.library.random_tree(joints=2), arm.neutral())
    loop = lw.library.four_bar().compile()
    with pytest.raises(lw.StateError, match="is for open trees"):
        lw.vjp(lw.forward_dynamics, loop, loop.neutral())


def test_a_state_changed_afterwards_does_not_matter(arm, rng):
    state, effort, wrenches = arm.random_state(rng), rng.normal(size=5), rng.normal(size=(arm.n_bodies, 6))
    _, pull = lw.vjp(lw.forward_dynamics, arm, state, effort, wrenches)
    expected = pull(np.ones(5)).q
    for array in (*state, effort, wrenches):
        array[:] = np.nan
    assert np.array_equal(pull(np.ones(5)).q, expected)


def test_gradients_that_overflow_are_refused(arm):
    state = arm.neutral()
    state.v[:] = 1e150
    _, pull = lw.vjp(lw.inverse_dynamics, arm, state, np.zeros(5))
    with pytest.raises(lw.StateError, match="overflowed"):
        pull(np.full(5, 1e200))


def test_memory_is_used_again(arm):
    """The workspace of a pull that is gone serves the next one."""
    _, pull = lw.vjp(lw.forward_dynamics, arm, arm.neutral())
    work = pull.work
    del pull
    gc.collect()
    _, pull = lw.vjp(lw.forward_dynamics, arm, arm.neutral())
    assert pull.work is work
    _, other = lw.vjp(lw.forward_dynamics, arm, arm.neutral())
    assert other.work is not work


def test_full_matrices_refuse_what_they_cannot_give(arm, monkeypatch):
    with pytest.raises(lw.StateError, match="no full Jacobians of"):
        lw.jacobians(lw.body_poses, arm, arm.neutral())
    with pytest.raises(lw.ModelError, match=r"needs a lw\.Model"):
        lw.jacobians(lw.forward_dynamics, "arm", arm.neutral())
    with pytest.raises(lw.StateError, match="go through algorithm 'aba'"):
        lw.jacobians(lw.forward_dynamics, arm, arm.neutral(), algorithm="dense")
    with pytest.raises(lw.StateError, match="acceleration is missing"):
        lw.jacobians(lw.inverse_dynamics, arm, arm.neutral())
    monkeypatch.setattr("linkwork.core.checks.available_memory", lambda: 10_000)
    chain = lw.library.chain(1100).compile()
    with pytest.raises(lw.StateError, match=r"jacobians of 1,100 .* lw.vjp and lw.jvp need no matrix"):
        lw.jacobians(lw.forward_dynamics, chain, chain.neutral())
