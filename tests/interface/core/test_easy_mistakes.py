"""What is easily given wrongly gets one warning or error that says what to do, and what is right gets none."""

import warnings

import numpy as np
import pytest

import linkwork as lw


@pytest.fixture
def arm():
    linkage = lw.Linkage("arm")
    for k in range(3):
        inertia = lw.Inertia.sphere(1.0, 0.1)
        linkage.add_body(f"b{k}", f"b{k - 1}" if k else "world", lw.Revolute((0, 1, 0)), lw.Pose((1, 0, 0)), inertia)
    return linkage


def said(call) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in found if issubclass(one.category, lw.LinkworkWarning)]


def with_limits(arm, joint) -> None:
    arm.edit_body("b1", joint=joint)
    arm.compile()


@pytest.mark.parametrize("joint", [lw.Revolute, lw.Cylindrical])
def test_limits_in_degrees(arm, joint):
    pairs = [(-170, 170)] * joint.nv
    (words,) = said(lambda: with_limits(arm, joint(limits=pairs if joint.nv > 1 else pairs[0])))
    assert "'b1'" in words
    assert "np.radians(-170) is -2.967" in words


@pytest.mark.parametrize(
    "joint",
    [
        lw.Revolute(limits=np.radians((-170, 170)).tolist()),
        lw.Revolute(limits=(-2 * np.pi, 4 * np.pi)),
        lw.Revolute(limits=(-10, 10)),
        lw.Revolute(limits=(-1e16, 1e16)),  # of files, for none
        lw.Prismatic(limits=(-100, 100)),
        lw.Cylindrical(limits=((-1, 1), (-100, 100))),  # [m]
    ],
)
def test_limits_in_radians_and_metres(arm, joint):
    assert not said(lambda: with_limits(arm, joint))


def test_states_in_degrees(arm):
    model = arm.compile()
    given = lw.State(np.array([0.0, 0.0, 90.0]), np.zeros(3))
    sim = lw.FullDynamics(model, model.neutral())
    for call in (
        lambda: model.state(given.q),
        lambda: lw.FullDynamics(model, given),
        lambda: lw.AdaptiveDynamics(model, given),
        lambda: lw.QuasiStatics(model, given),
        lambda: sim.set_state(given),
    ):
        (words,) = said(call)
        assert "'b2' is 90 rad" in words
    assert not said(lambda: model.state([0.0, 300.5, -3.0], [90.0, 90.0, 90.0]))  # many turns; speeds may be any


def test_places_of_free_and_sliding_bodies_are_no_angles():
    linkage = lw.Linkage("far")
    linkage.add_body("ship", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1))
    linkage.add_body("crane", "ship", lw.Prismatic((1, 0, 0)), inertia=lw.Inertia.sphere(1.0, 0.1))
    model = linkage.compile()
    assert not said(lambda: model.state([90.0, 45.0, 30.0, 1.0, 0.0, 0.0, 0.0, 60.0]))


def test_a_pose_in_degrees_or_by_another_name():
    (words,) = said(lambda: lw.Pose(rpy=(0, 90, 90)))
    assert "np.radians(90) is 1.571" in words
    assert not said(lambda: lw.Pose(rpy=(3, -np.pi, 2 * np.pi)))
    with pytest.raises(lw.ModelError, match=r"no option 'quat'.*quaternion"):
        lw.Pose(quat=(1, 0, 0, 0))


@pytest.mark.parametrize("kind", [lw.FullDynamics, lw.AdaptiveDynamics, lw.QuasiStatics])
def test_options_that_are_elsewhere(arm, kind):
    model = arm.compile()
    with pytest.raises(lw.StateError, match=f"{kind.__name__} has no option 'gravity'; .*linkage.gravity"):
        kind(model, model.neutral(), gravity=(0, 0, 0))
    with pytest.raises(lw.StateError, match="run"):
        kind(model, model.neutral(), timestep=1e-3)
    with pytest.raises(lw.StateError, match=r"no option 'tolerances?'|no option 'integratr'"):
        kind(model, model.neutral(), integratr="rk4")


@pytest.mark.parametrize(
    ("option", "words"),
    [("steps", "there are h, n, record"), ("recrod", "did you mean 'record'"), ("sim", "there are h, n")],
)
def test_options_that_runs_do_not_have(arm, option, words):
    model = arm.compile()
    sim = lw.FullDynamics(model, model.neutral())
    with pytest.raises(lw.StateError, match=f"run has no option '{option}'; {words}"):
        sim.run(1e-3, 2, **{option: 2})
    assert sim.steps_done == 0


@pytest.mark.parametrize("rows", [(3,), (2, 3), (2,)])
def test_an_array_for_a_state(arm, rows):
    """Two rows, and two numbers, look like q and v."""
    model = arm.compile()
    sim = lw.FullDynamics(model, model.neutral())
    for call in (lw.forward_dynamics, lw.FullDynamics, lambda m, x: sim.set_state(x)):
        with pytest.raises(lw.StateError, match=r"state must be a lw.State.*model.state\(q\) one at rest"):
            call(model, np.zeros(rows))


def test_a_simulation_for_a_model(arm):
    model = arm.compile()
    sim = lw.FullDynamics(model, model.neutral())
    for call in (lambda: lw.reroot(sim, "b2"), lambda: lw.body_poses(sim, sim.state)):
        with pytest.raises(lw.ModelError, match=r"sim\.model, sim\.state"):
            call()
    with pytest.raises(lw.StateError, match="body must be the name"):
        lw.reroot(sim.model, sim.state)


def test_no_joint_that_may_move(arm):
    model, floating = arm.compile(), lw.library.snake(4).compile()
    (words,) = said(lambda: lw.AdaptiveDynamics(model, model.neutral(), max_active_joints=0))
    assert "nothing moves" in words
    assert not said(lambda: lw.AdaptiveDynamics(model, model.neutral(), max_active_joints=1))
    assert not said(lambda: lw.AdaptiveDynamics(floating, floating.neutral(), max_active_joints=0))


def test_motors_of_no_joint(arm):
    model = arm.compile()
    sim = lw.FullDynamics(model, model.neutral())
    for nothing in (slice(3, None), slice(1, 1), [], "b7*"):
        with pytest.raises(lw.StateError, match=r"none|chosen|no joint"):
            sim.motors[nothing]
    assert len(sim.motors[1:].joints) == 2


def test_a_rod_that_is_not_told_how_it_twists():
    given = {"EI": 1.0, "mass_per_length": 1.0, "radius": 0.01}
    (words,) = said(lambda: lw.rod(1.0, 4, **given))
    assert "GJ is not given" in words
    assert not said(lambda: lw.rod(1.0, 4, **given, GJ=1.0))
    assert not said(lambda: lw.rod(1.0, 4, **given, joints="hinges"))  # it does not twist
    assert not said(lambda: lw.rod(1.0, 4, material=lw.Material(E=1e9, density=1e3), radius=0.01))


def test_edits_of_a_linkage_that_is_simulated(arm):
    model = arm.compile()
    arm.add_obstacle("floor", lw.Plane())
    assert not said(lambda: arm.remove_body("b2"))  # nothing runs
    model = arm.compile()
    sim = lw.FullDynamics(model, model.neutral())
    for call in (
        lambda: arm.remove_obstacle("floor"),
        lambda: arm.edit_body("b1", inertia=lw.Inertia.sphere(2.0, 0.1)),
        lambda: arm.remove_body("b1"),
    ):
        (words,) = said(call)
        assert "Compile it again" in words
    assert sim.model.n_bodies == 2
    model = arm.compile()
    assert not said(lambda: arm.remove_body("b0"))
