"""An adaptive simulation that changes its root in mid-run comes to the same configuration as one that does not."""

import numpy as np
import pytest

import linkwork as lw

KINDS = ("revolute", "prismatic", "spherical", "universal")


def loaded(model, state):
    sim = lw.QuasiStatics(model, state, tolerance=0.0)
    bodies, joints = model.body_names, model.joint_names
    sim.apply_wrench(bodies[7], force=(0.3, -0.2, 0.1), frame="world", at=(0.1, 0.0, 0.2))
    sim.apply_wrench(bodies[12], force=(0.1, 0.2, -0.3), torque=(0.05, 0.0, 0.02), frame="body")
    sim.apply_spring(bodies[15], target=(0.5, 0.5, 0.5), stiffness=2.0, at=(0.0, 0.1, 0.0))
    for k in (2, 5, 9):
        width = model.joints[k].nv
        sim.set_effort(joints[k], 0.1 * np.arange(1, width + 1))
    return sim


@pytest.mark.parametrize("seed", range(3))
def test_a_simulation_re_rooted_in_mid_run_ends_where_the_other_does(seed):
    linkage = lw.library.random_tree(18, seed=seed, branching=0.5, kinds=KINDS, floating=True)
    model = linkage.compile()
    stays, goes = (loaded(model, model.random_state(seed, speed=0.0)) for _ in range(2))
    stays.step(1e-2, 3)
    goes.step(1e-2, 3)
    goes = goes.reroot(model.body_names[11])
    assert len(goes.loads) == 3
    stays.step(1e-2, 3)
    goes.step(1e-2, 3)
    now = [goes.model.body(name) for name in model.body_names]
    expected = lw.body_poses(model, stays.state)
    # The free root moves by exp of its twist in one frame or another: paths differ by h⁴ q̈², some 1e-8 here; the rest is
    # rounding.
    assert lw.body_poses(goes.model, goes.state)[now] == pytest.approx(expected, abs=1e-5)


def test_accelerations_are_the_same_from_either_root():
    model = lw.library.random_tree(18, seed=4, branching=0.5, kinds=KINDS, floating=True).compile()
    sim = loaded(model, model.random_state(4, speed=0.0))
    other = sim.reroot(model.body_names[9])
    sim.solve()
    other.solve()
    there = lw.reroot(model, sim.state, model.body_names[9], acceleration=sim.acceleration)
    scale = np.abs(sim.acceleration).max()
    assert other.acceleration == pytest.approx(
        there.acceleration, abs=1e-9 * scale
    )  # 18 joints: rounding of two solves


def test_metric_weights_are_not_carried_silently():
    model = lw.library.chain(4).compile()
    sim = lw.QuasiStatics(model, model.neutral(), weights=np.full(4, 2.0))
    with pytest.raises(lw.StateError, match="weights"):
        sim.reroot(model.body_names[2])
