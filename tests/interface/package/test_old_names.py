"""Old names work for one version, and say at the user's line what they are called now."""

import numpy as np
import pytest

import linkwork as lw


@pytest.fixture(scope="module")
def model():
    return lw.library.chain(4).compile()


def test_options_by_position(model):
    with pytest.warns(DeprecationWarning, match="tolerance=, max_active_joints= by name") as warned:
        sim = lw.AdaptiveDynamics(model, model.neutral(), 1e-3, 2)
    assert warned[0].filename == __file__
    assert (sim.tolerance, sim.max_active_joints) == (1e-3, 2)
    with pytest.warns(DeprecationWarning, match="algorithm= by name"):
        lw.FullDynamics(model, model.neutral(), "aba")
    with pytest.warns(DeprecationWarning, match="tolerance= by name"):
        lw.QuasiStatics(model, model.neutral(), 1e-3)
    with pytest.raises(lw.StateError, match="given twice"), pytest.warns(DeprecationWarning, match="by name"):
        lw.QuasiStatics(model, model.neutral(), 1e-3, tolerance=1e-3)


def test_options_of_functions_by_position(model):
    state = model.random_state(1)
    with pytest.warns(DeprecationWarning, match="forward_dynamics: give algorithm= by name") as warned:
        qdd = lw.forward_dynamics(model, state, None, None, "dense")
    assert warned[0].filename == __file__
    assert np.array_equal(qdd, lw.forward_dynamics(model, state, algorithm="dense"))
    with pytest.warns(DeprecationWarning, match="body_jacobian: give frame=, at= by name"):
        J = lw.body_jacobian(model, state, 2, "world", (0.1, 0.0, 0.0))
    assert np.array_equal(J, lw.body_jacobian(model, state, 2, frame="world", at=(0.1, 0.0, 0.0)))
    with pytest.warns(DeprecationWarning, match="body_twists: give frame= by name"):
        lw.body_twists(model, state, "world")
    with pytest.warns(DeprecationWarning, match="joint_reactions: give algorithm= by name"):
        lw.joint_reactions(model, state, None, None, "virtual_work")


def test_runs_with_gradients_count_steps_as_others_do(model):
    sim = lw.FullDynamics(model, model.neutral())
    with pytest.warns(DeprecationWarning, match="run_with_gradients: steps= is called n= now"):
        run = lw.run_with_gradients(sim, 1e-3, steps=3, progress=False)
    assert run.backward(q=np.ones(model.nq)) is not None
    assert sim.steps_done == 3


@pytest.mark.parametrize(("kind", "old"), [(lw.AdaptiveDynamics, "active_joints"), (lw.QuasiStatics, "max_joints")])
def test_one_word_for_the_joint_budget(model, kind, old):
    with pytest.warns(DeprecationWarning, match=f"{old}= is called max_active_joints= now"):
        sim = kind(model, model.neutral(), **{old: 3})
    assert sim.max_active_joints == 3
    attribute = "max_active" if kind is lw.AdaptiveDynamics else old
    with pytest.warns(DeprecationWarning, match="max_active_joints"):
        assert getattr(sim, attribute) == 3
    with pytest.warns(DeprecationWarning, match="max_active_joints"):
        setattr(sim, attribute, 2)
    assert sim.max_active_joints == 2
    with pytest.raises(lw.StateError, match="given twice"):
        kind(model, model.neutral(), **{old: 3, "max_active_joints": 3})


def test_scenes_know_the_old_key():
    said = {"model": {"library": "chain", "parameters": {"joints": 5}}, "run": {"h": 1e-3, "steps": 2}}
    with pytest.warns(DeprecationWarning, match=r"method\.max_active_joints"):
        sim = lw.Scene(said | {"method": {"kind": "adaptive", "active_joints": 2}}).build()
    assert sim.max_active_joints == 2


def test_applied_effort_steps_of_runs_and_the_last_report(model):
    sim = lw.FullDynamics(model, model.neutral())
    with pytest.warns(DeprecationWarning, match="steps= is called n= now"):
        report = sim.run(1e-3, steps=2, progress=False)
    with pytest.warns(DeprecationWarning, match="applied_effort"):
        assert np.array_equal(sim.effort, sim.applied_effort)
    with pytest.warns(DeprecationWarning, match=r"read sim\.efforts"):
        assert np.array_equal(sim.recorded_efforts().sum(axis=1), sim.applied_effort)
    with pytest.warns(DeprecationWarning, match=r"report\.last\.energy"):
        assert report.energy == report.last.energy


def test_distances_of_simulations():
    linkage = lw.Linkage()
    for name, x in (("a", 0.0), ("b", 1.0)):
        linkage.add_body(name, joint=lw.Free(), placement=lw.Pose((x, 0, 0)), inertia=lw.Inertia.sphere(1.0, 0.1),
                         shapes=[lw.Sphere(0.2)])  # fmt: skip
    model = linkage.compile()
    sim = lw.FullDynamics(model, model.neutral())
    with pytest.warns(DeprecationWarning, match=r"sim\.closest"):
        old = lw.closest(sim, "a", "b")
    assert old.distance == sim.closest("a", "b").distance == pytest.approx(0.6)
    assert sim.clearance().distance == pytest.approx(0.6)
    assert not sim.in_collision()


def test_contact_wrenches_are_the_sum_of_the_contacts():
    linkage = lw.Linkage()
    box = lw.Inertia.box(2.0, (0.2, 0.2, 0.2))
    for k in range(2):
        linkage.add_body(f"box_{k}", joint=lw.Free(), inertia=box, shapes=[lw.Box((0.2, 0.2, 0.2))])
    linkage.add_obstacle("floor", lw.Plane())
    model = linkage.compile()
    q = model.neutral().q.copy()
    q[2], q[9], q[7] = 0.1, 0.3, 0.05
    sim = lw.FullDynamics(model, model.state(q), contact=lw.Contact())
    assert not sim.contact_wrenches().any()
    sim.step(2e-3, 100)
    poses = lw.body_poses(model, sim.state)
    meant = np.zeros((2, 6))
    for point in sim.contacts:
        for name, sign in ((point.body, 1.0), (point.other, -1.0)):
            if name in model.body_names:
                i, force = model.body(name), sign * np.array(point.force)
                meant[i, 3:] += force
                meant[i, :3] += np.cross(np.array(point.point) - poses[i, :3, 3], force)
    np.testing.assert_allclose(sim.contact_wrenches(), meant, atol=1e-12)
    rows = sim.contact_rows()
    assert rows.ids.shape == (len(sim.contacts), 3)
    assert rows.numbers.shape == (len(sim.contacts), 11)
    np.testing.assert_array_equal(rows.numbers[:, :3], [point.point for point in sim.contacts])
    with pytest.warns(DeprecationWarning, match="recorded_contacts is called contact_rows now"):
        assert np.array_equal(sim.recorded_contacts().numbers, rows.numbers)
    np.testing.assert_allclose(meant[:, 5], 2.0 * 9.81, rtol=1e-5)  # either box is at rest


def test_names_are_grouped():
    assert lw.shapes.Box is lw.Box
    assert lw.joints.Revolute is lw.Revolute
    assert lw.errors.StateError is lw.StateError
    assert lw.sensors.Imu.__name__ == "Imu"
