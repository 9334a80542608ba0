"""What an MJCF file may say wrongly, or say that a linkage cannot keep: the message has file, line and name."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from tests.helpers.robots import MJCFS, NEEDED
from tests.helpers.rounding import rounding

import linkwork as lw

BESIDE = {"cassie": 32, "dm_control_rodent_tree": 67, "humanoid": 27, "ms_human_700_tree": 85}
FOUND = [(name, nv) for name, nv in BESIDE.items() if name in MJCFS]


@pytest.fixture
def load(tmp_path):
    """Loads a model whose world holds the given lines, from line 3 on; `extra` follows the world."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed (extra mjcf)")

    def load_world(*lines: str, extra: str = ""):
        path = tmp_path / "arm.xml"
        path.write_text("\n".join(['<mujoco model="arm">', "<worldbody>", *lines, "</worldbody>", extra, "</mujoco>"]))
        return lw.load(path)

    return load_world


BALL = '<geom size="0.1" mass="1"/>'


def test_without_mujoco_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    path = tmp_path / "arm.xml"
    path.write_text("<mujoco/>")
    with pytest.raises(lw.MissingExtraError, match=r"pip install '\.\[mjcf\]'"):
        lw.load(path)


def test_malformed_xml(load):
    with pytest.raises(lw.FormatError, match=r"arm\.xml:4: malformed XML"):
        load("<body>")


def test_a_truncated_file(tmp_path):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed (extra mjcf)")
    path = tmp_path / "cut.xml"
    path.write_text("<mujoco>\n<worldbody>\n")
    with pytest.raises(lw.FormatError, match=r"cut\.xml:3: malformed XML.*inside <worldbody> opened on line 2"):
        lw.load(path)


def test_what_mujoco_refuses(load):
    with pytest.raises(lw.FormatError, match=r"arm\.xml:3: MuJoCo refuses it.*unrecognized attribute: 'sizo'"):
        load('<body name="arm"><joint/><geom sizo="1"/></body>')
    with pytest.raises(lw.FormatError, match=r"arm\.xml:3: MuJoCo refuses it.*mass.*'arm'"):
        load('<body name="arm"><joint/></body>')


def test_another_root_element(tmp_path):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed (extra mjcf)")
    path = tmp_path / "page.xml"
    path.write_text("<html/>")
    with pytest.raises(lw.FormatError, match=r"page\.xml:1: the root element is <html>"):
        lw.load(path)


def test_options_are_refused(tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text("<mujoco/>")
    with pytest.raises(TypeError, match=r"'floating'.*takes missing_meshes="):
        lw.load(path, floating=True)


def test_a_ball_with_other_joints_names_the_body(load):
    with pytest.raises(lw.FormatError, match=r"arm\.xml:4: body 'shoulder' has a ball joint besides"):
        load("", f'<body name="shoulder"><joint type="ball"/><joint type="slide"/>{BALL}</body>')


def test_a_body_that_needs_its_absent_mesh(load):
    with pytest.raises(
        lw.FormatError, match=r"arm\.xml:3: body 'hand' takes its inertia from the mesh file 'hand\.stl'"
    ):
        load(
            '<body name="hand"><joint/><geom type="mesh" mesh="hand"/></body>',
            extra='<asset><mesh name="hand" file="hand.stl"/></asset>',
        )


def test_an_absent_mesh_is_kept_by_name_where_inertia_is_given(load):
    linkage = load(
        '<body name="hand"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><joint/>',
        '<frame pos="0 0 1"><geom type="mesh" mesh="hand" pos="1 0 0"/></frame></body>',
        extra='<asset><mesh name="hand" file="hand.stl" scale="1 -1 1"/></asset>',
    )
    assert linkage["hand"].shapes == (
        lw.Mesh("hand.stl", (1.0, -1.0, 1.0), placement=lw.Pose((1, 0, 1)), friction=1.0, missing=True),
    )
    assert any("arm.xml:6: mesh file 'hand.stl' is absent" in warning for warning in linkage.warnings)


def test_a_mesh_that_is_there_keeps_the_placement_of_its_file(load, tmp_path):
    """MuJoCo moves a mesh to its centre of mass; the file's own frame is what a reader of the mesh needs."""
    corners = ["0 0 0", "1 0 0", "0 1 0", "0 0 1"]
    (tmp_path / "hand.obj").write_text(
        "".join(f"v {corner}\n" for corner in corners) + "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    )
    linkage = load(
        '<body name="hand"><joint/><geom type="mesh" mesh="hand" pos="1 2 3" euler="10 20 30"/></body>',
        extra='<asset><mesh name="hand" file="hand.obj"/></asset>',
    )
    (shape,) = linkage["hand"].shapes
    assert isinstance(shape, lw.Mesh)
    assert shape.file == "hand.obj"
    # MuJoCo reads OBJ files in single precision, so the centre it moves the mesh to is known to 1e-7
    np.testing.assert_allclose(shape.placement.xyz, (1.0, 2.0, 3.0), atol=1e-6)


def test_joints_become_ours(load):
    linkage = load(
        f'<body name="base"><freejoint name="root"/>{BALL}',
        '<body name="upper"><joint name="a" axis="1 0 0" pos="0 0 1" range="-30 60" damping="0.5" ref="10"/>',
        f'<joint name="b" type="slide" axis="0 0 1" stiffness="3" springref="0.2" armature="0.1"/>{BALL}',
        f'<body name="lower"><joint name="c" type="ball" pos="0 1 0"/>{BALL}<body name="tip">{BALL}</body></body>',
        "</body></body>",
    )
    assert [body.joint_name for body in linkage] == ["root", "a+b", "c", "tip"]
    free, upper, ball, tip = (body.joint for body in linkage)
    assert isinstance(free, lw.Free)
    assert isinstance(tip, lw.Fixed)
    assert ball == lw.Spherical((0.0, 1.0, 0.0))
    assert isinstance(upper, lw.Compound)
    assert (upper.parts[0].axis, upper.parts[0].center) == ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    assert upper.parts[1].slide == (0.0, 0.0, 1.0)
    # coordinates count from ref; degrees become radians with one rounding
    np.testing.assert_allclose(upper.limit_pairs()[0], np.radians([-40.0, 50.0]), rtol=rounding())
    assert (upper.damping, upper.stiffness, upper.rest) == ((0.5, 0.0), (0.0, 3.0), (0.0, 0.2))
    assert upper.armature == (0.0, 0.1)
    assert linkage["lower"].source.endswith("arm.xml:6")


def test_shapes_and_gravity(load):
    linkage = load(
        '<geom type="box" size="1 1 1"/>',
        '<body name="arm"><joint/><geom type="capsule" size="0.1 0.2"/><geom type="box" size="1 2 3"/></body>',
        extra='<option gravity="0 0 -1"/>',
    )
    assert linkage.gravity == (0.0, 0.0, -1.0)
    assert linkage["arm"].shapes == (
        lw.Capsule(0.1, 0.4, friction=1.0),
        lw.Box((2.0, 4.0, 6.0), friction=1.0),
    )
    assert linkage["ground"].shapes == (lw.Box((2.0, 2.0, 2.0), friction=1.0),)
    assert linkage.warnings == []
    weightless = load(f"<body><joint/>{BALL}</body>", extra='<option><flag gravity="disable"/></option>')
    assert weightless.gravity == (0.0, 0.0, 0.0)
    assert [body.name for body in weightless] == ["world/0"]


TWO_BODIES = (
    f'<body name="a"><joint name="j" frictionloss="0.1"/>{BALL}<site name="a"/></body>',
    f'<body name="b" pos="1 0 0"><joint name="k"/>{BALL}</body>',
)
NOT_KEPT = {
    "equality": ('<equality><connect body1="a" body2="b" anchor="0 0 0"/></equality>', "1 connect constraint (a–b)"),
    "tendon": ('<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>', "1 tendon (t)"),
    "actuator": (
        '<actuator><motor name="m" site="a"/></actuator>',
        "actuator 'm': not kept; it does not drive a joint",
    ),
    "actuator of a tendon": (
        '<tendon><fixed name="t"><joint joint="j" coef="1"/><joint joint="k" coef="1"/></fixed></tendon>'
        '<actuator><motor name="m" tendon="t"/></actuator>',
        "actuator 'm': not kept; it drives a tendon whose joints move one by one",
    ),
    "sensor": ('<sensor><subtreecom name="p" body="a"/></sensor>', "sensor 'p' (subtreecom): not kept"),
    "sensor of one actuator": (
        '<actuator><motor name="m" joint="k" gear="2"/></actuator><sensor><actuatorfrc name="p" actuator="m"/></sensor>',
        "sensor 'p' (actuatorfrc): reads all that acts on the joint",
    ),
    "cutoff": ('<sensor><jointpos name="p" joint="k" cutoff="1"/></sensor>', "cutoff of sensor 'p': not kept"),
    "keyframe": ('<keyframe><key name="home" qpos="0 0"/></keyframe>', "1 keyframe (home)"),
    "friction": ("", "frictionloss of 1 joint (j)"),
    "site": ("", "site a: not kept; a body or frame has its name"),
    "medium": ('<option density="1.2"/>', "medium of density 1.2"),
}


@pytest.mark.parametrize("case", NOT_KEPT)
def test_what_is_not_kept_is_listed(case, load):
    extra, words = NOT_KEPT[case]
    warnings = load(*TWO_BODIES, extra=extra).warnings
    assert [warning for warning in warnings if "arm.xml: " + words in warning], warnings


def test_an_actuator_of_a_tendon_of_one_joint_drives_that_joint(load):
    tendon = '<tendon><fixed name="t"><joint joint="j" coef="2"/></fixed></tendon>'
    linkage = load(*TWO_BODIES, extra=f'{tendon}<actuator><motor name="m" tendon="t" gear="3"/></actuator>')
    assert [(drive.name, drive.joint, drive.gear) for drive in linkage.actuators] == [("m", "j", 6.0)]
    assert not [warning for warning in linkage.warnings if "actuator" in warning and "'m'" in warning]


def test_geoms_that_cannot_be_kept_are_listed(load):
    linkage = load(
        '<body name="arm"><joint/><geom type="ellipsoid" size="1 1 1"/><geom size="1" contype="0" conaffinity="0"/></body>',
    )
    assert any("arm.xml:3: ellipsoid geom of body 'arm'" in warning for warning in linkage.warnings)
    assert [shape.visual_only for shape in linkage["arm"].shapes] == [True]


def test_planes_and_height_fields_become_obstacles(load):
    """Those of the world and of bodies welded to it; names of the file, or what they are, each once."""
    ground = (
        '<geom type="plane" size="0 0 1" pos="0 0 -1" euler="0 90 0" friction="0.3" contype="4" conaffinity="3"/>',
        '<geom name="hill" type="hfield" hfield="h" pos="1 0 0"/>',
        '<geom name="seen" type="plane" size="1 1 1" contype="0" conaffinity="0"/>',
        '<body name="table" pos="0 0 2"><geom type="plane" size="1 1 1" pos="0 0 1" condim="1"/></body>',
        f'<body name="a"><joint/>{BALL}</body>',
    )
    field = '<asset><hfield name="h" nrow="2" ncol="3" elevation="0 1 2 3 4 5" size="1 2 0.5 0.1"/></asset>'
    linkage = load(*ground, extra=field)
    found = {one.name: one.shape for one in linkage.obstacles}
    assert list(found) == ["plane", "hill", "plane_2"]
    tilted = found["plane"]
    assert (tilted.friction, tilted.group, tilted.mask) == (0.3, 4, 3)
    assert tilted.placement.rotate((0, 0, 1)) == pytest.approx((1, 0, 0))
    assert found["plane_2"].placement == lw.Pose((0, 0, 3))
    assert found["plane_2"].friction == 0.0  # one dimension of contact: the normal alone
    assert found["hill"].size == (2.0, 4.0)
    assert np.array(found["hill"].heights) == pytest.approx(
        0.5 * np.array([[3.0, 4, 5], [0, 1, 2]]) / 5.0
    )  # files begin with the farthest row
    assert any("geometric mean" in warning for warning in linkage.warnings)  # frictions differ
    model = linkage.compile()
    assert lw.clearance(model, model.neutral()) is not None


def test_rolling_friction_is_that_of_a_patch(load, tmp_path):
    """Read with condim 6, and written again."""
    linkage = load('<body name="a"><joint/><geom size="0.1" condim="6" friction="0.7 0.01 0.002"/></body>')
    assert linkage["a"].shapes[0].friction == lw.Friction(0.7, patch=0.002)
    assert any("condim 6" in warning for warning in linkage.warnings)
    linkage.to_mjcf(tmp_path / "again.xml")
    assert lw.load(tmp_path / "again.xml")["a"].shapes[0].friction == lw.Friction(0.7, patch=0.002)


def test_height_fields_lie_as_in_mujoco(load):
    """Rays from above meet the ground at the same heights."""
    mujoco = pytest.importorskip("mujoco")
    field = (
        '<asset><hfield name="h" nrow="3" ncol="4" elevation="0 1 2 3 4 5 0 1 2 9 3 1" size="1.5 1 0.9 0.1"/></asset>'
    )
    body = '<body name="probe"><joint type="slide" axis="1 0 0"/><geom size="1e-3" mass="1"/></body>'
    text = f'<mujoco>{field}<worldbody><geom name="hill" type="hfield" hfield="h"/>{body}</worldbody></mujoco>'
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    model = load('<geom name="hill" type="hfield" hfield="h"/>', body, extra=field).compile()
    (_, hill), *_ = model.obstacles
    heights = np.array(hill.heights)
    near = 1e-6  # from the edge, and from the ridges, where a ray may slip through
    for column, x in enumerate(np.linspace(-1.5, 1.5, 4)[1:-1], start=1):
        for row, y in enumerate((-1.0 + near, near, 1.0 - near)):
            geom = np.zeros(1, dtype=np.int32)
            down = mujoco.mj_ray(theirs, data, np.array([x + near, y, 5.0]), np.array([0, 0, -1.0]), None, 1, -1, geom)
            assert 5.0 - down == pytest.approx(heights[row, column], abs=10 * near)


def test_what_mujoco_warns_of_is_passed_on(load):
    """Deprecated, so it may become an error one day; any other thing MuJoCo warns of will do then."""
    linkage = load(f'<body name="a"><joint/>{BALL}</body>', extra='<compiler settotalmass="3"/>')
    assert any("MuJoCo warns: compiler attribute 'settotalmass'" in warning for warning in linkage.warnings)


@pytest.mark.parametrize(
    ("name", "nv"),
    [
        ("gymnasium_ant", 14),
        ("gymnasium_half_cheetah", 9),
        ("gymnasium_humanoid", 23),
        ("gymnasium_walker2d", 9),
        *FOUND,
    ],
)
def test_real_models_load_and_compile(name, nv):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed (extra mjcf)")
    if name not in MJCFS:
        pytest.skip(reason=NEEDED)
    assert lw.load(MJCFS[name]).compile().nv == nv


# --------------------------------------------------------------------------------------------------- what used to be lost


def test_a_model_without_joints_loads(load):
    linkage = load('<body><geom size=".1"/></body>')
    assert [body.name for body in linkage] == ["world/0"]
    assert linkage.compile().nv == 0


def test_nameless_bodies_are_named_by_their_place(load):
    inner = f'<body><joint/>{BALL}</body><body name="b"><joint/>{BALL}</body><body><joint/>{BALL}</body>'
    linkage = load(f'<body name="a"><joint/>{BALL}{inner}</body><body><joint/>{BALL}</body>')
    assert [body.name for body in linkage] == ["a", "a/0", "b", "a/2", "world/1"]


@pytest.mark.parametrize("flag", ["spring", "damper", "limit", "gravity"])
def test_switches_are_followed_and_reported(flag, load):
    linkage = load(
        f'<body name="a"><joint stiffness="3" damping="2" range="-1 1" limited="true" springref="5"/>{BALL}</body>',
        extra=f'<option><flag {flag}="disable"/></option>',
    )
    joint = linkage["a"].joint
    assert (joint.stiffness is None) == (flag == "spring") == (joint.rest is None)
    assert (joint.damping is None) == (flag == "damper")
    assert (joint.limits is None) == (flag == "limit")
    assert (linkage.gravity == (0.0, 0.0, 0.0)) == (flag == "gravity")
    assert any(f"<flag {flag}>" in warning and "obeyed" in warning for warning in linkage.warnings)


def test_rotors_behind_gears_are_kept(load):
    """MuJoCo's own mass matrix has gear² armature of every motor on a joint."""
    motors = '<actuator><motor joint="j" gear="3" armature="0.2"/><motor joint="j" gear="2" armature="0.1"/></actuator>'
    linkage = load(f'<body name="a"><joint name="j" armature="0.5"/>{BALL}</body>', extra=motors)
    assert linkage["a"].joint.armature == pytest.approx(0.5 + 9 * 0.2 + 4 * 0.1, rel=1e-15)


def test_inertia_of_tendons_is_reported(load):
    tendon = '<tendon><fixed name="t" armature="0.3"><joint joint="j" coef="1"/></fixed></tendon>'
    linkage = load(f'<body name="a"><joint name="j"/>{BALL}</body>', extra=tendon)
    assert any("inertia of 1 tendon (t: 0.3)" in warning for warning in linkage.warnings)


TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def test_a_relative_path_finds_its_meshes(tmp_path, monkeypatch):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed (extra mjcf)")
    (tmp_path / "tip.obj").write_text(TETRAHEDRON)
    text = '<mujoco><asset><mesh name="tip" file="tip.obj"/></asset><worldbody><body name="a"><joint/>'
    (tmp_path / "arm.xml").write_text(text + '<geom type="mesh" mesh="tip"/></body></worldbody></mujoco>')
    monkeypatch.chdir(tmp_path)
    linkage = lw.load("arm.xml")
    (mesh,) = linkage["a"].shapes
    assert mesh.path == str(tmp_path / "tip.obj")
    assert not any("absent" in warning for warning in linkage.warnings)


def test_absent_meshes_that_stand_still_refuse_nothing(load):
    table = '<body name="table"><body name="top"><geom type="mesh" mesh="m"/></body></body>'
    linkage = load(
        f'{table}<body name="arm"><joint/>{BALL}</body>', extra='<asset><mesh name="m" file="m.stl"/></asset>'
    )
    assert linkage["top"].shapes[0].file == "m.stl"
    assert linkage.compile().nv == 1


def test_what_contact_needs_is_kept(load):
    geom = '<geom size="0.1" mass="1" friction="0.7 0.1 0.1" contype="2" conaffinity="5"/>'
    linkage = load(
        f'<body name="a"><joint/>{geom}</body><body name="b"><joint/>{BALL}</body>',
        extra='<contact><exclude body1="a" body2="b"/></contact>',
    )
    (shape,) = linkage["a"].shapes
    assert (shape.friction, shape.group, shape.mask, shape.visual_only) == (0.7, 2, 5, False)
    assert linkage.ignore_contact == [("a", "b")] == list(linkage.compile().ignore_contact)


@pytest.mark.parametrize(
    ("world", "extra", "words"),
    [
        ('<replicate count="1000000000" offset="1 0 0"><geom size="1"/></replicate>', "", "makes 1e"),
        ('<replicate count="1000"><replicate count="1000"><geom size="1"/></replicate></replicate>', "", "makes 1e"),
        ("", '<size nkey="2000000000"/>', "reserves too much"),
        ("", '<size memory="999E"/>', "above 4 GiB"),
    ],
    ids=["replicate", "nested", "keys", "memory"],
)
def test_files_without_end_are_refused_at_once(world, extra, words, load):
    with pytest.raises(lw.FormatError, match=words):
        load(world, extra=extra)
