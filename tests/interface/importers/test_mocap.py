"""Captured motion: wraps, units, names, and what `linkwork mocap` makes of a walk."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from tests.helpers import captures

import linkwork as lw
from linkwork.cli.program import main
from linkwork.importers.mocap.body_segments import bone_masses, segment_of, side_of
from linkwork.scenarios.motion import analyse_motion, find_feet, smooth_motion
from linkwork.scenarios.motion.efforts import split_wrench

RECORDED = captures.BESIDE / "02_01.bvh"
# Of the time both feet carry: gait laboratories, 20 to 30 %; the walk by rule lifts its feet slowly.
WALKS = {"by rule": (0.15, 0.5)} | ({"recorded": (0.15, 0.35)} if RECORDED.exists() else {})

LEG = """HIERARCHY
ROOT Hips
{{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT LeftUpLeg
  {{
    OFFSET {thigh}
    CHANNELS 3 Zrotation Xrotation Yrotation
    JOINT LeftLeg
    {{
      OFFSET {shank}
      CHANNELS 1 Xrotation
      JOINT LeftFoot
      {{
        OFFSET {foot}
        CHANNELS 2 Xrotation Zrotation
        End Site
        {{
          OFFSET {foot}
        }}
      }}
    }}
  }}
}}
MOTION
Frames: {count}
Frame Time: 0.01
{rows}
"""
STRAIGHT = {"thigh": "0 -90 0", "shank": "0 -45 0", "foot": "0 -40 0"}


def write(tmp_path, rows, **sizes):
    path = tmp_path / "leg.bvh"
    text = "\n".join(" ".join(map(str, row)) for row in rows)
    path.write_text(LEG.format(count=len(rows), rows=text, **{**STRAIGHT, **sizes}))
    return path


def test_hinges_go_on_where_their_file_wraps(tmp_path):
    """One and two rotations: 170, 178, -174 degrees is a steady turn."""
    rows = [[0] * 9 + [a, a, -a] for a in (170, 178, -174, -166)]
    motion = lw.load(write(tmp_path, rows)).motion
    steady = np.radians([170, 178, 186, 194])
    assert motion.joints["LeftLeg"][:, 0] == pytest.approx(steady)
    assert motion.joints["LeftFoot"] == pytest.approx(np.stack([steady, -steady], axis=1))


def test_a_wrap_is_not_a_rest_pose(tmp_path):
    rows = [[0] * 3 + [a] + [0] * 8 for a in (179, -179, -177, -175)]
    assert not [w for w in lw.load(write(tmp_path, rows)).warnings if "rest pose," in w]


@pytest.mark.parametrize(("scale", "name"), [(1.0, "centimetres"), (10.0, "millimetres"), (0.01, "metres")])
def test_the_unit_is_that_of_the_figure_in_motion(scale, name, tmp_path):
    """Bones that all lie along x in the skeleton's own pose stand up in the motion."""
    sizes = {key: " ".join(str(scale * x) for x in (length, 0, 0)) for key, length in
             (("thigh", 80), ("shank", 45), ("foot", 25))}  # fmt: skip
    rows = [[0, 0, 0, -90, 0, 0] + [0] * 6 for _ in range(5)]
    (warning,) = [w for w in lw.load(write(tmp_path, rows, **sizes)).warnings if "lengths" in w]
    assert f"read as {name}; the figure is 1.75 m tall" in warning


def test_poser_names_and_faces():
    assert (segment_of("rShldr"), side_of("rShldr")) == ("upper_arm", "right")
    assert (segment_of("lButtock"), segment_of("rForeArm"), segment_of("lShin")) == ("pelvis", "forearm", "shank")
    body = ["hip", "abdomen", "chest", "head", "rShldr", "rForeArm", "rHand", "rThigh", "rShin", "rFoot",
            "lShldr", "lForeArm", "lHand", "lThigh", "lShin", "lFoot"]  # fmt: skip
    face = [f"{part}{k}" for part in ("Brow", "LipUpper", "Cheek", "EyeLid", "Tongue", "Jaw") for k in range(13)]
    masses, unknown = bone_masses(dict.fromkeys([*body, *face, "gizmo"], 0.1), 75.0)
    assert unknown == ["gizmo"]
    assert sum(masses.values()) == pytest.approx(75.0)
    assert sum(masses[name] for name in face) < 0.11 * masses["head"]
    many, _ = bone_masses(dict.fromkeys([*body, *(f"thing{k}" for k in range(80))], 0.1), 75.0)
    assert sum(mass for name, mass in many.items() if name.startswith("thing")) < 0.06 * 75.0


def test_feet_of_many_skeletons_are_found():
    for left, right in (("Foot_L", "Foot_R"), ("lFoot", "rFoot"), ("LeftFoot", "RightFoot"), ("foot.l", "foot.r")):
        linkage = lw.Linkage("feet")
        linkage.add_body("hip", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1))
        for name in (right, left):
            linkage.add_body(name, "hip", lw.Spherical(), inertia=lw.Inertia.sphere(1.0, 0.1))
        assert find_feet(linkage.compile()) == (left, right)


# ------------------------------------------------------------------------------------------------------- sharing the ground


def test_shares_of_a_wrench_sum_to_it(rng):
    for _ in range(20):
        share = rng.dirichlet((1.0, 1.0))
        place, moment, force = rng.normal(size=(2, 3)), rng.normal(size=3), rng.normal(size=3) + np.array([0, 0, 3.0])
        parts = split_wrench(share, place, moment, force, 3.0)
        assert parts.sum(axis=0) == pytest.approx(np.concatenate([moment, force]), abs=1e-13)


@pytest.fixture(scope="module", params=WALKS)
def walk_file(request, tmp_path_factory):
    if request.param == "recorded":
        return RECORDED, WALKS["recorded"]
    path = tmp_path_factory.mktemp("walk") / "walk.bvh"
    path.write_text(captures.walk())
    return path, WALKS["by rule"]


@pytest.fixture(scope="module")
def walk(walk_file):
    figure = lw.load(walk_file[0])
    model, motion = figure.compile(), figure.motion.cut(1)
    return analyse_motion(model, smooth_motion(model, motion.coordinates(model), motion.frame_time))


def test_a_walk_has_no_jumps(walk, walk_file):
    """Gait laboratories: knee torque below 2 N·m/kg, force near weight.

    When the whole reaction was given to one foot, the knee's torque jumped by up to 90 % of its range in a frame.
    """
    inner, mass = slice(20, -20), float(walk.model.mass.sum())
    low, high = walk_file[1]
    assert low < (walk.shares.min(axis=1) > 0.05).mean() < high
    for knee in ("LeftLeg", "RightLeg"):
        torque = walk.effort(knee)[inner] / mass
        jump = np.abs(np.diff(torque, axis=0)).max(axis=0) / np.ptp(torque, axis=0)
        assert jump.max() < 0.2
        assert 0.4 < np.abs(torque[:, 0]).max() < 2.0  # both bend their knees by some 36° in stance
    assert walk.feet_forces.sum(axis=1) == pytest.approx(walk.reaction, abs=1e-9 * mass)
    assert np.abs(walk.efforts[:, walk.model.v_slice(0)]).max() < 1e-8  # and nothing is left on the hips
    assert walk.powers == pytest.approx(walk.efforts * walk.motion.v)


def test_the_command_writes_what_was_computed(walk, walk_file, tmp_path, capsys):
    recorded = str(walk_file[0])
    out, picture = tmp_path / "torques.csv", tmp_path / "walk.png"
    assert main(["mocap", recorded, "--csv", str(out), "--plot", str(picture)]) == 0
    printed = capsys.readouterr().out
    assert "343 at 120 Hz" in printed
    assert "left knee" in printed
    with open(out, newline="") as file:
        names, *rows = list(csv.reader(file))
    assert len(rows) == 343
    column = np.array([float(row[names.index("force on LeftFoot z [N]")]) for row in rows])
    assert column == pytest.approx(walk.feet_forces[:, 0, 2], rel=1e-7, abs=1e-6)
    assert picture.stat().st_size > 20_000
    assert main(["mocap", recorded, "--csv", str(out)]) == 1  # never over another file unasked


def test_the_command_refuses_what_is_no_motion(walk_file, capsys):
    assert main(["mocap", "humanoid"]) == 1
    assert "no recorded motion" in capsys.readouterr().err
    assert main(["mocap", str(walk_file[0]), "--from", "2", "--to", "1"]) == 1


def test_info_lists_the_motion_and_what_stands_still(tmp_path, capsys):
    rows = [[0] * 12 for _ in range(51)]
    assert main(["info", str(write(tmp_path, rows)), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["motion"] == pytest.approx(
        {"frames": 51, "rate": 100.0, "duration": 0.5}
    )
    path = tmp_path / "table.urdf"
    box = '<inertial><mass value="7"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    path.write_text(f'<robot name="table"><link name="top">{box}</link></robot>')
    assert main(["info", str(path)]) == 0
    assert "besides 7 kg welded to the world" in capsys.readouterr().out
