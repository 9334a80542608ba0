"""What re-rooting refuses, and how it says so; what it leaves alone."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw


@pytest.fixture
def figure():
    return lw.library.humanoid().compile()


def test_a_hinge_that_cannot_follow_says_what_would_be_lost(figure, rng):
    state = figure.random_state(rng)
    with pytest.raises(
        lw.StateError, match=r"'left_foot' cannot hang from a Revolute joint .* rad and .* m, its velocity"
    ):
        lw.reroot(figure, state, "left_foot", (0.0, 0.0, 0.0), lw.Revolute((0, 1, 0)))
    assert lw.reroot(figure, state, "left_foot", (0, 0, 0), lw.Revolute((0, 1, 0)), project=True).loss.distance > 0.0


def test_a_weld_cannot_accelerate(figure):
    state = figure.neutral()
    with pytest.raises(lw.StateError, match=r"accelerates as a Fixed joint cannot: .* would be lost"):
        lw.reroot(figure, state, "left_foot", joint=lw.Fixed(), acceleration=np.ones(figure.nv))


def test_accelerations_do_not_cross_an_impact(figure, rng):
    with pytest.raises(lw.StateError, match="no meaning across an impact"):
        lw.reroot(
            figure, figure.random_state(rng), "head", joint=lw.Fixed(), acceleration=np.ones(figure.nv), project=True
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"body": "left_fot"}, "did you mean 'left_foot'"),
        ({"body": 99}, "body 99 does not exist"),
        ({"body": -1}, "body -1 does not exist"),
        ({"body": "world"}, "stands on the ground"),
        ({"body": "head", "at": (0, 1)}, "three finite numbers"),
        ({"body": "head", "at": (0, 1, np.nan)}, "three finite numbers"),
        ({"body": "head", "at": "there"}, "three finite numbers"),
        ({"body": "head", "joint": "hinge"}, "must be a joint such as"),
        ({"body": "head", "joint": lw.Revolute((0, 0, 0))}, "axis is zero"),
        ({"body": "head", "acceleration": np.ones(3)}, r"acceleration has shape \(3,\)"),
        ({"body": "head", "near": np.ones(3)}, r"near has shape \(3,\)"),
        ({"body": "head", "joint_name": "left_foot"}, "has a joint 'left_foot' already"),
    ],
)
def test_wrong_arguments_are_refused(figure, arguments, message):
    with pytest.raises(lw.LinkworkError, match=message):
        lw.reroot(figure, figure.neutral(), **arguments)


def test_numbers_that_are_none_are_refused(figure):
    state = figure.neutral()
    state.q[0] = np.nan
    with pytest.raises(lw.LinkworkError, match=r"not finite|is nan"):
        lw.reroot(figure, state, "head")


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        (lw.Spherical(damping=(1.0, 2.0, 3.0)), "its damping .* one damping for all directions"),
        (lw.Spherical(armature=(1.0, 2.0, 3.0)), "its armature .* one armature"),
        (lw.Free(damping=1.0), "leave damping of a Free joint out"),
        (lw.Free(armature=1.0), "leave armature of a Free joint out"),
        (lw.Free(stiffness=1.0), "leave the sliding stiffness"),
    ],
)
def test_what_has_no_mirror_is_refused_by_name(joint, message):
    """A damper between the axes of a ball's child has no equal on the parent's axes, which turn against them."""
    pair = lw.Linkage("pair")
    pair.add_body("upper", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1))
    pair.add_body(
        "lower", "upper", joint, lw.Pose((0.0, 0.0, -1.0)), lw.Inertia.sphere(1.0, 0.1), joint_name="shoulder"
    )
    model = pair.compile()
    with pytest.raises(lw.ModelError, match=f"joint 'shoulder': .*{message}"):
        lw.reroot(model, model.neutral(), "lower")


def test_a_frame_means_the_body_that_carries_it():
    biped = lw.library.compass_biped().compile()
    new, _ = lw.reroot(biped, biped.neutral(), "right_foot")
    assert new.parent[new.body("right_leg")] == -1
    assert new.frame("right_foot").pose == biped.frame("right_foot").pose


def test_the_old_model_is_left_alone(figure, rng):
    state = figure.random_state(rng)
    before = [array.copy() for array in (*figure.arrays, *state)]
    lw.reroot(figure, state, "left_foot")
    assert all((a == b).all() for a, b in zip(before, (*figure.arrays, *state), strict=True))


def test_names_of_joints_follow_the_joints(figure):
    new, _ = lw.reroot(figure, figure.neutral(), "left_foot", joint_name="ground")
    assert new.joint_names[new.body("left_foot")] == "ground"
    assert new.joint_names[new.body("left_shank")] == "left_foot"  # the ankle, named after the foot it carried
    assert set(new.joint_names) == set(figure.joint_names) - {"pelvis"} | {"ground"}


def test_a_simulation_goes_on_from_another_root(rng):
    """Quasi-statics of a chain held at one end and pulled at the other, caught at the other end and let go at the first."""
    model = lw.library.chain(joints=40).compile()
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=1e-6)
    sim.apply_wrench(20, force=(1.0, 0.0, 0.0), frame="world")
    sim.step(1e-2, 20)
    pose = lw.Pose(matrix=lw.body_poses(model, sim.state)[39])
    new, state = lw.reroot(model, sim.state, 39, pose, lw.Spherical())
    going_on = lw.QuasiStatics(new, state, tolerance=1e-6)
    going_on.apply_wrench(model.body_names[20], force=(1.0, 0.0, 0.0), frame="world")
    report = going_on.step(1e-2, 20)
    assert report.reached
    held = lw.body_poses(new, going_on.state)[new.body(model.body_names[39]), :3, 3]
    np.testing.assert_allclose(held, pose.xyz, atol=1e-12)  # the ball holds the point it was given
