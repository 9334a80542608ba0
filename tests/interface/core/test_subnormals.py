"""Subnormal numbers: zero inside the long kernels, as before outside of them."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

SMALLEST = np.nextafter(np.zeros(1), 1.0)  # 4.9e-324


def still_counts() -> bool:
    """Whether this thread still computes with subnormal numbers; an array, so that nothing is folded beforehand."""
    return bool((SMALLEST * np.ones(1) > 0.0).all() and (SMALLEST + SMALLEST > SMALLEST).all())


def weightless_chain(joints: int) -> lw.Model:
    linkage = lw.library.chain(joints=joints)
    linkage.gravity = (0.0, 0.0, 0.0)
    return linkage.compile()


def test_kernels_leave_the_mode_of_the_thread_as_it_was():
    model = lw.library.chain(joints=5).compile()
    state = model.random_state(1)
    lw.forward_dynamics(model, state)
    assert still_counts()
    sim = lw.FullDynamics(model, state)
    sim.step(1e-3, 3)
    assert still_counts()
    touching = lw.FullDynamics(model, model.neutral(), contact=lw.Contact())
    touching.step(1e-3)
    assert still_counts()


def test_a_step_that_fails_leaves_the_mode_as_it_was():
    model = lw.library.chain(joints=5).compile()
    sim = lw.FullDynamics(model, model.random_state(1), integrator="rk4")
    sim.set_effort(model.joint_names[0], 1e300)
    with pytest.raises(lw.StateError):
        sim.step(1e6, 100)
    assert still_counts()


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4"])
def test_subnormal_velocities_are_zero_after_a_step(integrator):
    model = weightless_chain(20)
    state = model.neutral()
    state.v[:] = 1e3 * SMALLEST
    sim = lw.FullDynamics(model, state, integrator=integrator)
    sim.step(1e-4)
    assert (sim.state.v == 0.0).all()
