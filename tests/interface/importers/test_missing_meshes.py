"""Meshes that a robot's file names and that are not there: a warning with a remedy, and the three remedies."""

import math
import warnings

import numpy as np
import pytest

import linkwork as lw
from linkwork.importers.missing_meshes import capsule_of

ARM = """<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/><mass value="2"/>
      <inertia ixx="0.20" iyy="0.19" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="package://arm/visual/upper.dae"/></geometry></visual>
    <collision><geometry><mesh filename="package://arm/collision/upper.stl"/></geometry></collision>
  </link>
  <link name="hand"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><sphere radius="0.05"/></geometry></collision></link>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/></joint>
  <joint name="wrist" type="continuous"><parent link="upper"/><child link="hand"/><origin xyz="1 0 0"/></joint>
</robot>"""


@pytest.fixture
def robot(tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM)
    return tmp_path / "arm.urdf"


def shapes_of(linkage, body="upper"):
    return [type(shape).__name__ for shape in linkage[body].shapes]


def test_by_default_contact_warns_and_names_them(robot):
    model = lw.load(robot).compile()
    with pytest.warns(lw.LinkworkWarning, match="body 'upper' \\('package://arm/collision/upper.stl'\\)") as caught:
        sim = lw.FullDynamics(model, model.neutral(), contact=lw.Contact())
    assert any("missing_meshes='capsule'" in str(warning.message) for warning in caught)
    assert {warning.filename for warning in caught} == {__file__}
    sim.step(1e-3)


def test_skip_takes_them_out_and_nothing_warns(robot):
    linkage = lw.load(robot, missing_meshes="skip")
    assert shapes_of(linkage) == []
    assert shapes_of(linkage, "hand") == ["Sphere"]
    assert any("mesh files are absent" in words for words in linkage.warnings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.Collisions(linkage.compile())


def test_a_capsule_where_the_mass_lies(robot):
    linkage = lw.load(robot, missing_meshes="capsule")
    assert shapes_of(linkage) == ["Capsule"]
    (capsule,) = linkage["upper"].shapes
    assert capsule.placement.xyz == pytest.approx((0.1, 0.2, 0.3))
    lw.Collisions(linkage.compile())


def test_an_error_names_all_and_says_what_to_do(robot):
    with pytest.raises(lw.FormatError, match=r"package://arm/collision/upper\.stl.*ROS_PACKAGE_PATH.*'skip'"):
        lw.load(robot, missing_meshes="error")
    for wrong in ("skp", 3, True, ["skip"]):
        with pytest.raises(lw.FormatError, match="missing_meshes must be"):
            lw.load(robot, missing_meshes=wrong)


def test_a_mesh_that_is_there_changes_nothing(robot, tmp_path):
    for name in ("visual/upper.dae", "collision/upper.stl"):
        path = tmp_path / "arm" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    for how in ("skip", "capsule", "error"):
        assert shapes_of(lw.load(robot, missing_meshes=how)) == ["Mesh", "Mesh"]


def test_the_same_of_mjcf(tmp_path):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed (extra `mjcf`)")
    (tmp_path / "m.xml").write_text("""<mujoco><asset><mesh name="m" file="gone.stl"/></asset><worldbody>
      <body name="b"><freejoint/>
      <inertial mass="1" pos="0 0 0" diaginertia="1 1 0.1"/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>""")
    assert shapes_of(lw.load(tmp_path / "m.xml"), "b") == ["Mesh"]
    assert shapes_of(lw.load(tmp_path / "m.xml", missing_meshes="skip"), "b") == []
    assert shapes_of(lw.load(tmp_path / "m.xml", missing_meshes="capsule"), "b") == ["Capsule"]
    with pytest.warns(lw.LinkworkWarning, match=r"gone\.stl"):
        lw.Collisions(lw.load(tmp_path / "m.xml").compile())


def test_a_mesh_of_the_user_that_is_not_there_is_an_error():
    """The name stands in the message as it was written."""
    for file, words in (("package://arm/upper.stl", "package://arm/upper.stl"), ("none.stl", "no such file")):
        linkage = lw.Linkage("one")
        linkage.add_body("b", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 1.0), shapes=[lw.Mesh(file)])
        with pytest.raises(lw.FormatError, match=words):
            lw.Collisions(linkage.compile())


def test_the_viewer_says_what_is_missing(robot):
    from linkwork.viewer.shapes.instances import instances_of

    with pytest.warns(lw.LinkworkWarning, match=r"package://arm/visual/upper\.dae"):
        instances_of(lw.load(robot).compile())


def test_capsules_of_ellipsoids(rng):
    """As long as the ellipsoid of the same inertia, along its longest axis."""
    for _ in range(30):
        a, b, c = np.sort(rng.uniform(0.01, 1.0, 3))[::-1]
        mass = rng.uniform(0.1, 5.0)
        moments = 0.2 * mass * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
        turn = lw.Pose(rng.normal(size=3), rpy=rng.uniform(-math.pi, math.pi, 3))
        capsule = capsule_of(lw.Inertia(mass, moments=tuple(moments)).at(turn))
        assert 0.5 * capsule.length + capsule.radius == pytest.approx(max(a, math.sqrt(b * c) * 1.0005), rel=1e-6)
        assert capsule.radius == pytest.approx(math.sqrt(b * c), rel=1e-6)
        along = np.reshape(capsule.placement.rotation, (3, 3))[:, 2]
        longest = np.reshape(turn.rotation, (3, 3))[:, 0]
        if a > 1.05 * b:
            assert abs(along @ longest) == pytest.approx(1.0, abs=1e-6)
        assert capsule.placement.xyz == pytest.approx(turn.xyz)
    assert capsule_of(lw.Inertia.point_mass(1.0)) is None
    assert capsule_of(lw.Inertia(0.0)) is None
