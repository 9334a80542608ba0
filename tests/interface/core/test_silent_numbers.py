"""Numbers too large for their squares, and coordinates that are none: an error in words, never NaN without one."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.adaptive.quasi_statics.floor import form_floor
from linkwork.dynamics.inputs import can_be_solved


@pytest.fixture(scope="module")
def model():
    linkage = lw.Linkage("two")
    linkage.add_body("base", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 1.0))
    linkage.add_body("arm", "base", lw.Revolute((0, 0, 1)), lw.Pose((1, 0, 0)), lw.Inertia.sphere(1.0, 1.0))
    return linkage.compile()


def test_differences_of_orientations_that_are_none(model):
    q = model.neutral().q
    zero = q.copy()
    zero[3:7] = 0.0
    for pair, name in (((q, zero), "q1"), ((zero, q), "q0")):
        with pytest.raises(lw.StateError, match=rf"{name}\[3:7\] of joint 'base' is zero"):
            model.difference(*pair)
    far = q.copy()
    far[7] = 1.7e308
    with pytest.raises(lw.StateError, match="beyond all numbers"):
        model.difference(-far * (np.arange(8) == 7) + q * (np.arange(8) != 7), far)


@pytest.mark.parametrize("frame", ["body", "world"])
def test_twists_that_overflow(model, frame):
    with pytest.raises(lw.StateError, match="body_twists overflowed"):
        lw.body_twists(model, lw.State(model.neutral().q, np.full(7, 1e308)), frame=frame)


@pytest.mark.parametrize("joint", [None, lw.Spherical(), lw.Revolute((0, 0, 1))])
@pytest.mark.parametrize("far", [1e12, 1e20, 1e155, 1e308])
def test_roots_beyond_all_places(model, joint, far):
    """Positions behind such a joint would have no digits left."""
    state = model.random_state(1, speed=1.0)
    with pytest.raises(lw.StateError, match="lost"):
        lw.reroot(model, state, "arm", at=(far, 0.0, 0.0), joint=joint, project=joint is not None)
    moved = lw.reroot(model, state, "arm", at=(1e3, 0.0, 0.0))
    assert lw.body_poses(*moved)[0] == pytest.approx(lw.body_poses(model, state)[1], abs=1e-9)


def test_a_response_that_overflows(model):
    response = lw.Response(model, model.neutral())
    huge = np.full(6, 1e308)
    with pytest.raises(lw.StateError, match="Response overflowed"):
        response.body_response("arm", wrench_on="base", wrench=huge)
    with pytest.raises(lw.StateError, match="Response overflowed"):
        response.block("arm", "base", at_of=(1e308, 1e308, 1e308), at_on=(1e308, 1e308, 1e308))
    response.set_wrench("arm", huge)
    with pytest.raises(lw.StateError, match="Response overflowed"):
        response.acceleration("arm")
    with pytest.raises(lw.StateError, match="Response overflowed"):
        response.joint_acceleration("arm")


def test_too_long_steps_are_not_blamed_on_inertia():
    """The message says overflow and names the fastest joint; a body without inertia is still named as such."""
    model = lw.library.random_tree(10, seed=4).compile()
    sim = lw.FullDynamics(model, model.random_state(1, speed=500.0), integrator="variational")
    with pytest.raises(lw.StateError, match=r"overflowed.*fastest joint, '") as found:
        sim.step(10.0, 50)
    assert "inertia" not in str(found.value)
    assert can_be_solved(model, None)
    linkage = lw.Linkage("needle")
    linkage.add_body("needle", joint=lw.Revolute((0, 0, 1)), inertia=lw.Inertia(1.0, moments=(1.0, 1.0, 0.0)))
    needle = linkage.compile()
    assert not can_be_solved(needle, None)
    with pytest.raises(lw.StateError, match="with no inertia"):
        lw.forward_dynamics(needle, needle.neutral())


def test_bounds_of_what_nothing_moves(monkeypatch):
    """All digits lost of nothing are nothing: the bound is a number."""
    model = lw.library.chain(6).compile()
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=1e-3)
    floor = "linkwork.adaptive.quasi_statics.floor.rounding_floor"
    monkeypatch.setattr(floor, lambda table, depth: (0.0, 0.0, np.inf, np.inf))
    assert form_floor(sim, 1e-3) == (0.0, 0.0)
