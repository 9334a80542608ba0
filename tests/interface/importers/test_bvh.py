"""Motion-capture files: what they say becomes bodies, masses and coordinates, or a message with the line."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import captures
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.importers.mocap.body_segments import FRACTIONS, bone_masses, segment_of, side_of
from linkwork.scenarios.motion import analyse_motion, find_feet, smooth_motion

SMALL = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT LeftUpLeg
  {
    OFFSET 10 -5 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    JOINT LeftLeg
    {
      OFFSET 0 -45 0
      CHANNELS 1 Xrotation
      JOINT LeftFoot
      {
        OFFSET 0 -45 0
        CHANNELS 2 Xrotation Zrotation
        End Site
        {
          OFFSET 0 -5 15
        }
      }
    }
  }
  JOINT Spine
  {
    OFFSET 0 10 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 0 60 0
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.01
0 95 0  0 0 0   0 0 0   0   0 0   0 0 0
1 95 2  10 20 30   5 6 7   8   9 11   12 13 14
"""


def write(tmp_path, text, name="walk.bvh"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def turn(axis, degrees):
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    i = "xyz".index(axis)
    R = np.eye(3)
    j, k = (i + 1) % 3, (i + 2) % 3
    R[j, j], R[j, k], R[k, j], R[k, k] = c, -s, s, c
    return R


def test_joints_and_pose_are_as_written(tmp_path):
    """Forward kinematics by hand: channels multiply in their order, offsets add, y becomes z."""
    figure = lw.load(write(tmp_path, SMALL))
    model = figure.compile()
    kinds = {name: type(joint).__name__ for name, joint in zip(model.body_names, model.joints, strict=True)}
    expected = {
        "Hips": "Free",
        "LeftUpLeg": "Spherical",
        "LeftLeg": "Revolute",
        "LeftFoot": "Compound",
        "Spine": "Spherical",
    }
    assert kinds == expected
    T = lw.body_poses(model, model.state(figure.motion.coordinates(model)[1]))
    up = turn("x", 90)
    hips = turn("z", 10) @ turn("x", 20) @ turn("y", 30)
    thigh = hips @ turn("z", 5) @ turn("x", 6) @ turn("y", 7)
    shank = thigh @ turn("x", 8)
    foot = shank @ turn("x", 9) @ turn("z", 11)
    places = {"Hips": (hips, np.array([1.0, 95.0, 2.0]))}
    places["LeftUpLeg"] = (thigh, places["Hips"][1] + hips @ [10, -5, 0])
    places["LeftLeg"] = (shank, places["LeftUpLeg"][1] + thigh @ [0, -45, 0])
    places["LeftFoot"] = (foot, places["LeftLeg"][1] + shank @ [0, -45, 0])
    for name, (R, x) in places.items():
        i = model.body(name)
        np.testing.assert_allclose(T[i, :3, :3], up @ R, atol=rounding())
        np.testing.assert_allclose(T[i, :3, 3], up @ (0.01 * x), atol=rounding())  # about a metre
    assert figure.motion.times.tolist() == [0.0, 0.01]
    assert any("centimetres" in warning for warning in figure.warnings)
    assert any("rest pose" in warning for warning in figure.warnings)


def test_masses_are_the_table_or_the_callers(tmp_path):
    path = write(tmp_path, SMALL)
    model = lw.load(path, mass=80.0).compile()
    assert model.mass.sum() == pytest.approx(80.0, rel=1e-12)
    thigh, shank = (model.mass[model.body(name)] for name in ("LeftUpLeg", "LeftLeg"))
    assert thigh / shank == pytest.approx(FRACTIONS["thigh"] / FRACTIONS["shank"], rel=1e-12)
    given = lw.load(path, mass=80.0, masses={"Spine": 50.0}).compile()
    assert given.mass[given.body("Spine")] == pytest.approx(50.0, rel=1e-12)
    assert given.mass.sum() == pytest.approx(80.0, rel=1e-12)
    with pytest.raises(lw.ModelError, match="not bones"):
        lw.load(path, masses={"Tail": 1.0})
    with pytest.raises(lw.ModelError, match="sum to less"):
        lw.load(path, mass=10.0, masses={"Spine": 50.0})


def test_names_of_many_skeletons_are_known():
    for name, segment in {
        "LeftUpLeg": "thigh", "lfemur": "thigh", "LeftHip": "thigh", "Hips": "pelvis", "LHipJoint": "pelvis",
        "RightLeg": "shank", "rtibia": "shank", "LeftKnee": "shank", "ltoes": "foot", "LeftAnkle": "foot",
        "LeftArm": "upper_arm", "rhumerus": "upper_arm", "RightForeArm": "forearm", "LeftElbow": "forearm",
        "lradius": "forearm", "mixamorig:LeftHand": "hand", "LThumb": "hand", "Neck1": "head", "Spine": "abdomen",
        "Spine1": "chest", "thorax": "chest", "lclavicle": "chest", "Tail": None,
    }.items():  # fmt: skip
        assert segment_of(name) == segment, name
    sides = {"LeftArm": "left", "rfemur": "right", "LThumb": "left", "arm_r": "right", "root": "", "lowerback": ""}
    assert {name: side_of(name) for name in sides} == sides


def test_skeletons_that_name_joints_get_arms():
    masses, unknown = bone_masses({"Chest": 0.4, "LeftShoulder": 0.3, "LeftElbow": 0.25, "Horn": 0.1}, 50.0)
    assert masses["LeftShoulder"] / masses["LeftElbow"] == pytest.approx(FRACTIONS["upper_arm"] / FRACTIONS["forearm"])
    assert unknown == ["Horn"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("HIERARCHY", "HIRARCHY"), r":1: the file does not begin with HIERARCHY"),
        (("OFFSET 10 -5 0", "OFFSET 10 up 0"), r":8: 'up' is not a number"),
        (("CHANNELS 1 Xrotation", "CHANNELS 1 Wrotation"), r":13: there is no channel 'wrotation'"),
        (("CHANNELS 1 Xrotation", "CHANNELS one"), r":13: CHANNELS is followed by 'one'"),
        (("CHANNELS 2 Xrotation Zrotation", "WHEELS 2"), r":17: 'WHEELS' in joint 'LeftFoot'"),
        (("MOTION", "NOTHING"), "there is no MOTION section"),
        (("Frames: 2", "Pictures: 2"), r"expected 'Frames: number', found 'Pictures: 2'"),
        (("Frame Time: 0.01", "Frame Time: 0"), "must be > 0"),
        (("12 13 14", "12 13"), r":39: a frame has 14 numbers; the hierarchy has 15 channels"),
        (("12 13 14", "12 13 nan"), r":39: a frame has a number that is not finite"),
        (("12 13 14", "12 13 x"), r":39: a frame has a word that is not a number"),
        (("OFFSET 0 60 0", "OFFSET 0 600000 0"), "say how many metres"),
    ],
)
def test_faults_are_reported_with_their_line(tmp_path, change, message):
    with pytest.raises(lw.FormatError, match=message):
        lw.load(write(tmp_path, SMALL.replace(*change, 1)))


def test_options_are_checked(tmp_path):
    path = write(tmp_path, SMALL)
    with pytest.raises(lw.FormatError, match="'y' or 'z'"):
        lw.load(path, up="x")
    with pytest.raises(TypeError, match="BVH file takes"):
        lw.load(path, floating=True)
    assert lw.load(path, unit=0.02).compile().nq == lw.load(path).compile().nq


# ------------------------------------------------------------------------------------------------------------- recordings


MADE = "by rule"
WALKS = [MADE, *(name for name in ("02_01.bvh", "16_55.bvh") if (captures.BESIDE / name).exists())]
ACCLAIM = [MADE, *(["pirouette"] if (captures.BESIDE / "pirouette.asf").exists() else [])]


def walk_file(name, tmp_path):
    return write(tmp_path, captures.walk()) if name == MADE else captures.BESIDE / name


@pytest.mark.parametrize("name", WALKS)
def test_people_on_their_feet(name, tmp_path):
    figure = lw.load(walk_file(name, tmp_path))
    model = figure.compile()
    assert model.n_bodies == (19 if name == MADE else 31)
    assert model.mass.sum() == pytest.approx(75.0)
    q = figure.motion.coordinates(model)[1:]
    heads = np.array([lw.body_poses(model, model.state(row))[model.body("Head"), 2, 3] for row in q[::20]])
    assert ((heads > 1.0) & (heads < 1.9)).all()  # a person on their feet


@pytest.mark.parametrize("name", ACCLAIM)
def test_acclaim_files_stand_as_the_usual_recipe_says(name, tmp_path, rng):
    """Positions by the recipe every reader of these files uses: R = R_parent C M C⁻¹, bones end to end."""
    from scipy.spatial.transform import Rotation

    from linkwork.importers.mocap.asf_text import read_amc, read_asf
    from linkwork.importers.report import Report

    skeleton, moves = captures.BESIDE / "pirouette.asf", captures.BESIDE / "pirouette.amc"
    if name == MADE:
        text = captures.acclaim(rng)
        skeleton, moves = write(tmp_path, text[0], "a.asf"), write(tmp_path, text[1], "a.amc")
    figure = lw.load(skeleton, motion=moves)
    model = figure.compile()
    text = read_asf(skeleton, Report("asf"))
    frames = read_amc(moves, text, Report("amc"))
    q = figure.motion.coordinates(model)
    assert figure.motion.frames == len(q) > 100

    def matrix(angles):
        return Rotation.from_euler("xyz", angles, degrees=True).as_matrix()

    up = turn("x", 90)
    for k in (0, 100, 400):
        T = lw.body_poses(model, model.state(q[k]))
        root = frames["root"][k]
        R, end = {"root": matrix(root[3:])}, {"root": root[:3] * 0.0254 / 0.45}
        for bone in text.bones:
            C, given = matrix(bone.axis), dict(zip(bone.dof, frames[bone.name][k] if bone.dof else (), strict=True))
            M = matrix([given.get(d, 0.0) for d in ("rx", "ry", "rz")])
            R[bone.name] = R[bone.parent] @ C @ M @ C.T
            frame = model.frame(bone.name)
            pose = T[frame.body] @ frame.pose.matrix
            np.testing.assert_allclose(pose[:3, 3], up @ end[bone.parent], atol=1e-12)
            np.testing.assert_allclose(pose[:3, :3], up @ R[bone.name], atol=1e-12)
            end[bone.name] = end[bone.parent] + R[bone.name] @ np.array(bone.direction) * bone.length * 0.0254 / 0.45


ASF = ":units\n length 0.45\n angle deg\n:root\n order TX TY TZ RX RY RZ\n:bonedata\n begin\n"
ASF += " name lfemur\n direction 0 -1 0\n length 7\n axis 0 0 20 XYZ\n dof rx\n"
ASF += " limits (-10 20)\n end\n:hierarchy\n begin\n root lfemur\n end\n"


def test_acclaim_faults_are_reported(tmp_path):
    assert lw.load(write(tmp_path, ASF, "a.asf")).compile().upper[-1] == pytest.approx(np.radians(20.0))
    for change, message in (
        (("direction 0 -1 0", "direction 0 -1"), r":9: expected 3 numbers"),
        (("dof rx", "dof spin"), "unknown degrees of freedom"),
        (("root lfemur", "root rfemur"), "not in :bonedata"),
        (("order TX", "order QX"), "must name TX TY TZ"),
        ((":bonedata", ":nothing"), "no :bonedata"),
    ):
        with pytest.raises(lw.FormatError, match=message):
            lw.load(write(tmp_path, ASF.replace(*change), "b.asf"))
    skeleton = write(tmp_path, ASF, "c.asf")
    for text, message in (
        ("1\nroot 0 0 0 0 0 0\n", "does not give each bone once"),
        ("1\ntail 3\n", "not in the skeleton"),
    ):
        with pytest.raises(lw.FormatError, match=message):
            lw.load(skeleton, motion=write(tmp_path, text, "c.amc"))


# ------------------------------------------------------------------------------------------------------ inverse dynamics


def test_smoothing_is_exact_for_the_polynomials_it_fits(rng):
    """A cubic in time, in coordinates that are vectors: values and derivatives to rounding."""
    model = lw.library.chain(joints=4).compile()
    c = rng.normal(size=(4, 4))
    t = 0.01 * np.arange(80)[:, None]
    q = c[0] + c[1] * t + c[2] * t**2 + c[3] * t**3
    found = smooth_motion(model, q, 0.01, window=0.2)
    np.testing.assert_allclose(found.q, q, atol=1e-12)
    np.testing.assert_allclose(found.v, c[1] + 2 * c[2] * t + 3 * c[3] * t**2, atol=1e-9)
    np.testing.assert_allclose(found.acceleration, 2 * c[2] + 6 * c[3] * t, atol=1e-7)  # rounding / frame_time²


def test_smoothing_of_a_steady_spin_is_exact():
    """A ball that turns at constant speed: the increment from any frame is linear in time."""
    linkage = lw.Linkage("top")
    linkage.add_body("top", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1))
    model = linkage.compile()
    twist = np.array([1.0, 2.0, -0.5, 0.3, 0.1, 0.2])
    q = np.array([model.integrate(model.neutral().q, twist, 0.01 * k) for k in range(60)])
    found = smooth_motion(model, q, 0.01)
    np.testing.assert_allclose(found.v, np.tile(twist, (60, 1)), atol=1e-10)
    np.testing.assert_allclose(found.acceleration, 0.0, atol=1e-8)


def stepping(model):
    """A humanoid that shifts and steps a little, 1.5 s at 60 frames a second."""
    q = np.tile(model.neutral().q, (90, 1))
    t = np.arange(90) / 60.0
    q[:, model.q_slice("pelvis").start + 1] = 0.05 * np.sin(2.0 * t)
    q[:, model.q_slice("pelvis").start + 2] = 0.03 * np.sin(4.0 * t) ** 2
    for side, sign in (("left", 1.0), ("right", -1.0)):
        q[:, model.q_slice(f"{side}_shank")] = (0.3 * np.maximum(0.0, sign * np.sin(4.0 * t)) ** 2)[:, None]
    return q


def test_ground_reaction_is_the_rate_of_momentum_less_weight():
    """Exactly, for the smoothed state of each frame: force = d(momentum)/dt - m g, torque likewise about the foot."""
    model = lw.library.humanoid().compile()
    motion = smooth_motion(model, stepping(model), 1.0 / 60.0)
    analysis = analyse_motion(model, motion)
    assert analysis.support.feet == ("left_foot", "right_foot")
    assert set(analysis.support.which) == {0, 1}
    mass, h = model.mass.sum(), 1e-4
    for k in range(0, 90, 10):
        (q, v), a = motion.state(k), motion.acceleration[k]
        origin = lw.body_poses(model, motion.state(k))[model.body(analysis.support.name(k)), :3, 3]

        def momentum(t, q=q, v=v, a=a, origin=origin):
            state = lw.State(model.integrate(model.integrate(q, v, t), a, 0.5 * t * t), v + t * a)
            return np.concatenate(lw.momentum(model, state, origin))

        rate = (momentum(h) - momentum(-h)) / (2.0 * h)
        weight = mass * model.gravity
        center = lw.center_of_mass(model, motion.state(k))
        # centred differences: h² of the third derivative and ε m/h leave some 1e-6 N
        np.testing.assert_allclose(analysis.reaction[k], rate[:3] - weight, atol=1e-4)
        R = lw.body_poses(model, motion.state(k))[model.body(analysis.support.name(k)), :3, :3]
        torque = R @ analysis.reaction_wrench[k, :3]
        np.testing.assert_allclose(torque, rate[3:] - np.cross(center - origin, weight), atol=1e-4)


def test_nothing_is_left_on_the_hips():
    """With the ground's wrench on the foot, the root of the recording needs no force: seen 1e-11 N of some 700 N."""
    model = lw.library.humanoid().compile()
    analysis = analyse_motion(model, smooth_motion(model, stepping(model), 1.0 / 60.0))
    assert np.abs(analysis.effort("pelvis")).max() < 1e-8
    standing = np.linalg.norm(analysis.reaction, axis=1)
    assert (standing > 0.5 * 75.0 * 9.81).all()


@pytest.mark.parametrize("name", WALKS[:2])
def test_a_walk_carries_the_weight(name, tmp_path):
    """Smoothing joints and smoothing the centre of mass are two filters: they agree to a tenth of the weight, and the mean
    vertical reaction of a walk is the weight."""
    figure = lw.load(walk_file(name, tmp_path))
    model = figure.compile()
    motion = smooth_motion(model, figure.motion.cut(1, 200).coordinates(model), figure.motion.frame_time)
    analysis = analyse_motion(model, motion)
    weight = 75.0 * 9.81
    inner = slice(15, -15)
    difference = np.abs(analysis.reaction - analysis.weight_and_push)[inner]
    assert difference.max() < 0.1 * weight
    assert analysis.reaction[inner, 2].mean() == pytest.approx(weight, rel=0.1)
    assert np.abs(analysis.effort("Hips")).max() < 1e-8
    on_ground = analysis.pressure[inner]
    foot = np.array(
        [lw.body_poses(model, motion.state(k))[model.body(analysis.support.name(k)), :3, 3] for k in range(199)]
    )
    assert np.median(np.linalg.norm((on_ground - foot[inner])[:, :2], axis=1)) < 0.3  # under the foot that stands


def test_feet_are_found_or_asked_for():
    assert find_feet(lw.library.humanoid().compile()) == ("left_foot", "right_foot")
    with pytest.raises(lw.ModelError, match="name both with feet="):
        find_feet(lw.library.chain(joints=3).compile())
    with pytest.raises(lw.StateError, match="cannot be fitted"):
        smooth_motion(lw.library.chain(joints=3).compile(), np.zeros((3, 3)), 0.01)
    with pytest.raises(lw.StateError, match="has shape"):
        smooth_motion(lw.library.chain(joints=3).compile(), np.zeros((9, 4)), 0.01)
