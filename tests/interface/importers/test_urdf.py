"""What a URDF file may say wrongly, and that the message has the file, the line and the name; what it says and we keep."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.robots import NEEDED, URDFS
from tests.helpers.rounding import rounding

import linkwork as lw

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
WRIST = f'<link name="wrist">{INERTIAL}</link>'
LIMIT = '<limit lower="-1" upper="1" effort="5" velocity="2"/>'


def arm_lines() -> list[str]:
    """A sound arm of two links on a base, as lines: line n of the file is entry n - 1."""
    return [
        '<robot name="arm">',
        '<link name="base"/>',
        f'<link name="upper">{INERTIAL}</link>',
        WRIST,
        '<joint name="shoulder" type="revolute">',
        '<parent link="base"/><child link="upper"/>',
        '<origin xyz="0 0 1"/>',
        '<axis xyz="0 1 0"/>',
        LIMIT,
        "</joint>",
        '<joint name="elbow" type="revolute">',
        '<parent link="upper"/><child link="wrist"/>',
        '<origin xyz="0 0 1"/>',
        '<axis xyz="0 1 0"/>',
        LIMIT,
        "</joint>",
        "</robot>",
    ]


@pytest.fixture
def load(tmp_path):
    """Loads the sound arm with some of its lines replaced: load({4: "<link .../>"})."""

    def load_changed(changes: dict[int, str] | None = None, **options):
        lines = arm_lines()
        for number, text in (changes or {}).items():
            lines[number - 1] = text
        path = tmp_path / "arm.urdf"
        path.write_text("\n".join(lines))
        return lw.load(path, **options)

    return load_changed


def test_the_sound_arm_loads(load):
    linkage = load()
    assert linkage.warnings == []
    model = linkage.compile()
    assert (model.nv, model.joint_names) == (2, ("shoulder", "elbow"))
    assert linkage["wrist"].source.endswith("arm.urdf:4")


# Each fault: what is changed, then the line and the words that the message must have.
FAULTS = {
    "mass missing": ({4: WRIST.replace('<mass value="1"/>', "")}, 4, "'wrist'", "no <mass>"),
    "inertia missing": ({4: WRIST.split("<inertia ")[0] + "</inertial></link>"}, 4, "'wrist'", "no <inertia>"),
    "moment missing": ({4: WRIST.replace('iyz="0" ', "")}, 4, "'wrist'", "'iyz'"),
    "negative mass": ({4: WRIST.replace('value="1"', 'value="-2"')}, 4, "'wrist'", "-2 kg"),
    "not a number": ({13: '<origin xyz="0 0 one"/>'}, 13, "'elbow'", 'xyz="0 0 one"'),
    "decimal comma": ({13: '<origin xyz="0 0 1,5"/>'}, 13, "'elbow'", 'xyz="0 0 1,5"'),
    "two numbers for three": ({13: '<origin xyz="0 1"/>'}, 13, "'elbow'", "3 numbers"),
    "nan": ({13: '<origin xyz="0 nan 1"/>'}, 13, "'elbow'", "not finite"),
    "nan mass": ({4: WRIST.replace('value="1"', 'value="NaN"')}, 4, "'wrist'", "not finite"),
    "link without name": ({2: "<link/>"}, 2, "link", "no attribute 'name'"),
    "joint without name": ({11: '<joint type="revolute">'}, 11, "joint", "no attribute 'name'"),
    "joint without type": ({11: '<joint name="elbow">'}, 11, "'elbow'", "no attribute 'type'"),
    "unknown joint type": ({11: '<joint name="elbow" type="hinge">'}, 11, "'elbow'", "'hinge'"),
    "no parent": ({12: '<child link="wrist"/>'}, 11, "'elbow'", "no <parent>"),
    "no child": ({12: '<parent link="upper"/>'}, 11, "'elbow'", "no <child>"),
    "child without link": ({12: '<parent link="upper"/><child/>'}, 12, "'elbow'", "no attribute 'link'"),
    "duplicate link": ({2: '<link name="base"/><link name="upper"/>'}, 3, "'upper'", "exists already"),
    "duplicate joint": ({11: '<joint name="shoulder" type="revolute">'}, 11, "'shoulder'", "exists already, on line 5"),
    "unknown parent link": ({12: '<parent link="uper"/><child link="wrist"/>'}, 11, "'uper'", "Did you mean 'upper'?"),
    "unknown child link": ({12: '<parent link="upper"/><child link="hand"/>'}, 11, "'hand'", "does not exist"),
    "several parents": ({12: '<parent link="base"/><child link="upper"/>'}, 11, "'upper'", "several parents"),
    "cycle": ({6: '<parent link="wrist"/><child link="upper"/>'}, 5, "upper → wrist", "cycle of 2"),
    "own parent": ({12: '<parent link="wrist"/><child link="wrist"/>'}, 11, "wrist → wrist", "cycle of 1"),
    "no root": ({2: "", 6: '<parent link="wrist"/><child link="upper"/>'}, 3, "root", "every one hangs from another"),
    "two roots": ({2: '<link name="base"/><link name="stray"/>'}, 2, "'stray'", "hangs from no joint"),
    "zero axis": ({14: '<axis xyz="0 0 0"/>'}, 14, "'elbow'", "axis (0, 0, 0)"),
    "no limit": ({15: ""}, 11, "'elbow'", "no <limit>"),
    "limit without effort": ({15: '<limit lower="-1" upper="1" velocity="2"/>'}, 15, "'elbow'", "'effort'"),
    "limits the wrong way round": ({15: LIMIT.replace('"-1"', '"3"')}, 15, "'elbow'", "lower 3 > upper 1"),
    "negative damping": ({13: '<dynamics damping="-1"/>'}, 13, "'elbow'", "damping -1"),
    "two inertials": ({4: f'<link name="wrist">{INERTIAL}{INERTIAL}</link>'}, 4, "'wrist'", "second <inertial>"),
    "collision without geometry": ({4: f'<link name="wrist">{INERTIAL}<collision/></link>'}, 4, "'wrist'", "no <geometry>"),
    "box without size": (
        {4: f'<link name="wrist">{INERTIAL}<collision><geometry><box/></geometry></collision></link>'},
        4, "'wrist'", "'size'",
    ),
    "xacro": ({2: '<link name="base"/><xacro:include filename="x"/>'}, 2, "xacro:include", "expand the file"),
    "not a robot": ({1: '<arm name="arm">', 17: "</arm>"}, 1, "<arm>", "<robot>"),
    "unknown encoding": ({1: '<?xml version="1.0" encoding="utf-4"?><robot name="arm">'}, 1, "utf-4", "UTF-8"),
    "mismatched tag": ({10: "</link>"}, 10, "<joint>", "malformed XML"),
    "truncated": ({17: ""}, 17, "<robot> opened on line 1", "malformed XML"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_carry_file_line_and_name(fault, load):
    changes, line, name, words = FAULTS[fault]
    with pytest.raises(lw.FormatError) as raised:
        load(changes)
    reported = [text for text in raised.value.faults if f"arm.urdf:{line}: " in text and name in text and words in text]
    assert reported, str(raised.value)


def test_all_faults_are_reported_together(load):
    with pytest.raises(lw.FormatError) as raised:
        load({8: '<axis xyz="0 0 0"/>', 11: '<joint name="elbow" type="hinge">', 13: '<origin xyz="a b c"/>'})
    assert raised.value.headline.endswith("arm.urdf: 3 faults")
    assert [fault.split("arm.urdf:")[1].split(":")[0] for fault in raised.value.faults] == ["8", "11", "13"]


def test_a_robot_without_links(tmp_path):
    path = tmp_path / "none.urdf"
    path.write_text('<robot name="none"/>')
    with pytest.raises(lw.FormatError, match=r"none\.urdf:1: the robot has no <link>"):
        lw.load(path)


@pytest.mark.parametrize(
    ("name", "words"),
    [("absent.urdf", "no such file"), ("arm.step", "suffix '.step'"), ("folder.urdf", "directory"), ("arm", "suffix")],
)
def test_paths_that_are_no_model(name, words, tmp_path):
    (tmp_path / "folder.urdf").mkdir()
    (tmp_path / "arm.step").write_text("")
    with pytest.raises(lw.FormatError, match=words):
        lw.load(tmp_path / name)


def test_unknown_options_are_refused(load):
    with pytest.raises(TypeError, match=r"'flaoting'.*floating="):
        load(flaoting=True)


# ------------------------------------------------------------------------------------------------------- what is kept


def test_joint_kinds_axis_limits_and_damping(load):
    elbow = '<joint name="elbow" type="{}">'
    linkage = load({11: elbow.format("prismatic"), 14: "", 16: '<dynamics damping="0.3"/></joint>'})
    joint = linkage["wrist"].joint
    assert isinstance(joint, lw.Prismatic)
    assert joint.axis == (1.0, 0.0, 0.0)  # URDF's default
    assert (joint.limits, joint.effort_limit, joint.velocity_limit, joint.damping) == ((-1.0, 1.0), 5.0, 2.0, 0.3)
    continuous = load({11: elbow.format("continuous")})["wrist"].joint
    assert isinstance(continuous, lw.Revolute)
    assert continuous.limits is None
    assert isinstance(load({11: elbow.format("floating")})["wrist"].joint, lw.Free)
    assert isinstance(load({11: elbow.format("fixed")})["wrist"].joint, lw.Fixed)
    planar = load({11: elbow.format("planar")})["wrist"].joint
    assert isinstance(planar, lw.Planar)
    assert planar.normal == (0.0, 1.0, 0.0)


def test_the_root_is_fixed_or_floats(load):
    link = {2: f'<link name="base">{INERTIAL}</link>'}
    assert isinstance(load(link)["base"].joint, lw.Fixed)
    floating = load(link, floating=True)
    assert isinstance(floating["base"].joint, lw.Free)
    assert floating.compile().joint_names[0] == "root_joint"


def test_inertial_origin_turns_the_moments(load):
    turned = (
        '<link name="wrist"><inertial><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><mass value="2"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="2.5"/></inertial></link>'
    )
    inertia = load({4: turned})["wrist"].inertia
    assert inertia.com == (1.0, 2.0, 3.0)
    # a quarter turn about z swaps x and y; π/2 is off by 6e-17, which leaves moments off by that
    np.testing.assert_allclose(inertia.matrix, np.diag([2.0, 1.0, 2.5]), atol=rounding(scale=2.5))


def test_collision_shapes_are_kept(load):
    shapes = (
        '<box size="1 2 3"/>', '<sphere radius="1"/>', '<cylinder radius="1" length="2"/>',
        '<capsule radius="1" length="2"/>', '<mesh filename="package://arm/hand.stl" scale="2 2 2"/>',
    )  # fmt: skip
    collisions = "".join(f'<collision><origin xyz="0 0 1"/><geometry>{s}</geometry></collision>' for s in shapes)
    linkage = load({4: f'<link name="wrist">{INERTIAL}{collisions}</link>'})
    here = lw.Pose((0, 0, 1))
    assert linkage["wrist"].shapes == (
        lw.Box((1.0, 2.0, 3.0), placement=here),
        lw.Sphere(1.0, placement=here),
        lw.Cylinder(1.0, 2.0, placement=here),
        lw.Capsule(1.0, 2.0, placement=here),
        lw.Mesh("package://arm/hand.stl", (2.0, 2.0, 2.0), placement=here, missing=True),
    )


def test_a_link_called_world_is_the_ground(load):
    linkage = load({2: '<link name="world"/>', 6: '<parent link="world"/><child link="upper"/>'})
    assert [body.name for body in linkage] == ["upper", "wrist"]
    shape = '<collision><geometry><sphere radius="1"/></geometry></collision>'
    linkage = load({2: f'<link name="world">{shape}</link>', 6: '<parent link="world"/><child link="upper"/>'})
    assert linkage["upper"].parent == "world_link"
    assert "arm.urdf:2: link 'world'" in linkage.warnings[0]


def test_xml_with_a_robot_inside_is_a_urdf(tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text("\n".join(arm_lines()))
    assert lw.load(path).compile().nv == 2


def test_a_chain_of_ten_thousand_links(tmp_path):
    count = 10_000
    links = [f'<link name="link_{i}">{INERTIAL}</link>' for i in range(count)]
    joints = [
        f'<joint name="joint_{i}" type="continuous"><parent link="link_{i - 1}"/><child link="link_{i}"/>'
        '<origin xyz="0 0 -0.1"/><axis xyz="0 1 0"/></joint>'
        for i in range(1, count)
    ]
    path = tmp_path / "chain.urdf"
    path.write_text("\n".join(['<robot name="chain">', *links, *joints, "</robot>"]))
    model = lw.load(path).compile()
    assert (model.nv, model.depth) == (count - 1, count - 1)


# ------------------------------------------------------------------------------------------- what is reported, not kept

REPORTED = {
    "mimic": ({13: '<mimic joint="nobody" multiplier="2"/>'}, 13, "'elbow': <mimic> of joint 'nobody'"),
    "friction": ({13: '<dynamics friction="0.5"/>'}, 13, "'elbow': friction 0.5"),
    "unknown tag": ({13: '<safety_controller k_velocity="1"/>'}, 13, "<safety_controller> in <joint>"),
    "transmission": ({2: '<link name="base"/><transmission name="t"/>'}, 2, "<transmission> 't'"),
    "misspelt attribute": ({13: '<origin xzy="0 0 1"/>'}, 13, "attribute 'xzy' of <origin>"),
    "limits without room": ({15: LIMIT.replace("-1", "0").replace('upper="1"', 'upper="0"')}, 15, "limits (0, 0)"),
    "unknown shape": (
        {2: '<link name="base"><collision><geometry><torus/></geometry></collision></link>'},
        2, "'base': collision shape <torus>",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REPORTED)
def test_what_is_not_kept_is_reported(case, load):
    changes, line, words = REPORTED[case]
    linkage = load(changes)
    assert len(linkage.warnings) == 1
    assert f"arm.urdf:{line}: " in linkage.warnings[0]
    assert words in linkage.warnings[0]
    assert linkage.compile().warnings == tuple(linkage.warnings)


def test_like_reports_are_counted(load):
    linkage = load({1: '<robot name="arm"><gazebo/>', 2: '<link name="base"/><gazebo/>', 17: "<gazebo/></robot>"})
    assert len(linkage.warnings) == 1
    assert "arm.urdf:1: <gazebo> in <robot> and 2 more like it (lines 2, 17): not read" in linkage.warnings[0]


# -------------------------------------------------------------------------------- real files that physics would refuse


def moments(xx: float, yy: float, zz: float, mass: float = 1.0) -> str:
    numbers = f'<inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/>'
    return f'<inertial><mass value="{mass}"/>{numbers}</inertial>'


def test_moments_that_break_the_triangle_inequality(load):
    change = {4: f'<link name="wrist">{moments(1, 1, 3)}</link>'}
    linkage = load(change)
    assert "arm.urdf:4: link 'wrist'" in linkage.warnings[0]
    assert "1 + 1 < 3" in linkage.warnings[0]
    assert linkage["wrist"].inertia.moments == (1.0, 0.0, 0.0, 1.0, 0.0, 3.0)
    linkage.compile()
    with pytest.raises(lw.ModelError, match=r"arm\.urdf:4: body 'wrist': principal moments"):
        load(change, strict=True).compile()


def test_negative_moments_are_accepted_only_inside_a_sound_body(load):
    negative = {4: f'<link name="wrist">{moments(-0.1, 0.1, 0.1)}</link>'}
    with pytest.raises(lw.ModelError, match=r"arm\.urdf:4: body 'wrist': principal moments"):
        load(negative).compile()
    welded = load(negative | {11: '<joint name="elbow" type="fixed">'})
    assert "arm.urdf:4: link 'wrist'" in welded.warnings[0]
    assert "-0.1" in welded.warnings[0]
    welded.compile()


def test_a_joint_with_nothing_to_move_is_welded(load):
    change = {4: '<link name="wrist"/>'}
    linkage = load(change)
    assert "arm.urdf:4: 1 joint with 0 kg behind, 'elbow'" in linkage.warnings[0]
    assert linkage.compile().joint_names == ("shoulder",)
    with pytest.raises(lw.ModelError, match=r"arm\.urdf:4: body 'wrist' has mass 0 kg.*a moving body needs mass > 0"):
        load(change, strict=True).compile()


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize(
    ("name", "nv"),
    [("double_pendulum", 2), ("panda", 9), ("romeo", 31), ("simple_humanoid", 29), ("solo12", 12),
     ("tiago_dual", 101)],
)  # fmt: skip
def test_real_robots_load_and_compile(name, nv, floating):
    if name not in URDFS:
        pytest.skip(reason=NEEDED)
    model = lw.load(URDFS[name], floating=floating, missing_meshes="skip").compile()
    assert model.nv == nv + (6 if floating else 0)


# --------------------------------------------------------------------------------------------- visuals, meshes, rounding

ARM = """<robot name="arm"><link name="base"/>
<link name="tip"><inertial><mass value="{mass}"/><inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="0" ixz="{ixz}" iyz="0"/>
</inertial>{shapes}</link>
<joint name="j" type="continuous"><parent link="base"/><child link="tip"/><origin xyz="0 0 0.3"/><axis xyz="0 0 1"/></joint>
</robot>"""
SOUND = {"mass": 1, "ixx": 1, "iyy": 1, "izz": 1, "ixz": 0, "shapes": ""}


def arm(tmp_path, **changes):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.format(**{**SOUND, **changes}))
    return lw.load(path)


def test_visuals_and_meshes_are_kept(tmp_path):
    (tmp_path / "arm_description" / "meshes").mkdir(parents=True)
    there = tmp_path / "arm_description" / "meshes" / "tip.stl"
    there.write_text("solid\nendsolid\n")
    shapes = """<visual><origin xyz="0 0 1"/><geometry><mesh filename="package://arm_description/meshes/tip.stl"/></geometry>
    <material name="red"/></visual><visual><geometry><mesh filename="gone.dae" scale="2 2 2"/></geometry></visual>
    <collision><geometry><sphere radius="0.1"/></geometry></collision>"""
    linkage = arm(tmp_path, shapes=shapes)
    ball, found, gone = linkage["tip"].shapes
    assert ball == lw.Sphere(0.1)
    assert (found.path, found.visual_only, found.placement) == (str(there), True, lw.Pose((0, 0, 1)))
    assert (gone.file, gone.path, gone.scale) == ("gone.dae", "", (2.0, 2.0, 2.0))
    assert [w for w in linkage.warnings if "mesh file 'gone.dae' is absent" in w]
    assert len(linkage.warnings) == 1


@pytest.mark.parametrize(
    "moments",
    [
        {"ixx": "-5.4e-20", "iyy": 0, "izz": "1e-6"},
        {"ixx": 0, "iyy": 0, "izz": 0, "ixz": "2.4e-35"},
        {"ixx": 0, "iyy": 0, "izz": "3e-6"},
        {"mass": 0, "ixx": 0, "iyy": 0, "izz": 0, "ixz": "2.4e-35"},
    ],
    ids=["negative by rounding", "mixed by rounding", "one tiny moment", "no mass"],
)
def test_moments_that_are_rounding_of_zero_are_accepted(moments, tmp_path):
    linkage = arm(tmp_path, **moments)
    model = linkage.compile()
    if float(moments.get("izz", 0)) > 0:
        assert lw.forward_dynamics(model, model.neutral(), [1e-6])[0] == pytest.approx(1e-6 / float(moments["izz"]))


def test_moments_that_are_not_rounding_stay_refused(tmp_path):
    for moments in ({"ixx": "-1e-3"}, {"ixx": "1e308", "iyy": "1e308", "izz": "1e308"}):
        with pytest.raises((lw.ModelError, lw.FormatError)):
            arm(tmp_path, **moments).compile()


def test_many_mimics_are_one_line(tmp_path):
    follower = (
        '<link name="l{k}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
        '</link><joint name="j{k}" type="continuous"><parent link="tip"/><child link="l{k}"/><mimic joint="j"/></joint>\n'
    )
    path = tmp_path / "hand.urdf"
    path.write_text(
        ARM.format(**SOUND).replace("</robot>", "".join(follower.format(k=k) for k in range(97)) + "</robot>")
    )
    linkage = lw.load(path)
    assert not linkage.warnings
    assert len(linkage.compile().couplings) == 97
    path.write_text(path.read_text().replace('<mimic joint="j"/>', '<mimic joint="k"/>'))
    (warning,) = lw.load(path).warnings
    assert "and 96 more like it" in warning


@pytest.mark.parametrize(("name", "text"), [("a.sdf", "<sdf/>"), ("a.xml", "<sdf/>"), ("a.urdf", "<sdf/>")])
def test_sdf_is_refused_by_name(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(lw.FormatError, match=r"this is SDF.*URDF or MJCF"):
        lw.load(tmp_path / name)
