"""`sim.efforts.contact`: contact forces on bodies, as efforts along the joints."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.quantities.wrench_efforts import efforts_of_wrenches


def pressed_arm():
    """An arm of three hinges whose last link lies on a floor."""
    arm = lw.library.chain(3, joint=lw.Revolute((0, 1, 0), damping=0.05), length=0.3, mass=1.0, radius=0.02)
    arm.add_obstacle("floor", lw.Plane(friction=0.5), lw.Pose((0.0, 0.0, -0.5)))
    model = arm.compile()
    return model, model.state(q=[-0.9, 0.4, 0.2])


@pytest.mark.parametrize("make", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_at_rest_contact_carries_what_joints_do_not(make, tmp_path):
    pytest.importorskip("zarr", reason="the extra `record` is not installed")
    model, start = pressed_arm()
    sim = make(model, start, contact=lw.Contact())
    sim.run(1e-3, 4000, record=tmp_path / "run", every=2000, progress=False)
    assert len(sim.contacts) > 0
    acted, weight = sim.efforts, lw.gravity_efforts(model, sim.state)
    assert np.abs(weight).max() > 1.0
    # The linkage creeps by some mm/s under its dampers when it lies: a hundredth of its weight is a margin of ten.
    assert acted.total + acted.contact == pytest.approx(weight, abs=1e-2 * np.abs(weight).max())
    kept = lw.Recording(tmp_path / "run").efforts(-1)
    assert kept.contact == pytest.approx(acted.contact, rel=1e-12, abs=1e-12)


def test_without_contact_there_is_none():
    model, start = pressed_arm()
    sim = lw.FullDynamics(model, start)
    sim.step(1e-3, 10)
    np.testing.assert_array_equal(sim.efforts.contact, 0.0)


def test_they_do_the_work_of_the_wrenches(make_tree, rng):
    """Jᵀw · v is the power of the wrenches, for all joint kinds."""
    model = make_tree(seed=3, bodies=12, base=lw.Free())
    state = model.random_state(rng)
    wrenches = rng.normal(size=(model.n_bodies, 6))
    power = efforts_of_wrenches(model, state.q, wrenches) @ state.v
    expected = float((lw.body_twists(model, state, frame="world") * wrenches).sum())
    assert power == pytest.approx(expected, rel=1e-9, abs=1e-9)
