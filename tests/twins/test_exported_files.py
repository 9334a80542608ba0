"""Written files mean the same linkage: to Linkwork when read back, to MuJoCo and to Pinocchio."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys

import numpy as np
import pytest

import linkwork as lw
from linkwork.exporters.parts import ENDLESS

PART = 1e-12  # of the largest number


def tree(joints: list[lw.Joint], seed: int = 1) -> lw.Linkage:
    """Bodies one behind the other with a branch, turned and shifted at random."""
    rng = np.random.default_rng(seed)
    linkage = lw.Linkage("tree", gravity=(0.1, -0.2, -9.81))
    for i, joint in enumerate(joints):
        parent = "world" if i == 0 else f"b{i - 1 if i % 3 else max(i - 2, 0)}"
        free = isinstance(joint, lw.Free)
        pose = lw.Pose() if free else lw.Pose(tuple(rng.uniform(-0.3, 0.3, 3)), quaternion=rng.normal(size=4))
        part = lw.Inertia.box(1.0 + i, (0.1, 0.2, 0.3)).at(
            lw.Pose(tuple(rng.uniform(-0.1, 0.1, 3)), rpy=(0.3, 0.2, 0.1))
        )
        shapes = [lw.Sphere(0.05), lw.Box((0.1, 0.2, 0.3), placement=lw.Pose((0.1, 0, 0)), visual_only=True)]
        linkage.add_body(f"b{i}", parent, joint, pose, part, joint_name=f"j{i}", shapes=shapes if i == 1 else ())
    linkage.add_frame("tool", f"b{len(joints) - 1}", lw.Pose((0.1, 0.2, 0.3), rpy=(0.1, 0.2, 0.3)))
    return linkage


PLAIN = [
    lw.Revolute((0, 0, 1), limits=(-2.0, 2.0), damping=0.3, effort_limit=30.0, velocity_limit=2.0),
    lw.Revolute((1, 2, 3)),
    lw.Prismatic((0, 1, 1), limits=(-0.5, 0.7)),
    lw.Universal((1, 0, 0), (0, 1, 0), damping=0.1),
    lw.Fixed(),
    lw.Revolute((0, 1, 0), point=(0.1, 0.2, 0.0)),
    lw.Cylindrical((0, 0, 1)),
]
SPRUNG = [
    lw.Revolute((0, 0, 1), stiffness=2.0, rest=0.3, armature=0.1, damping=0.2),
    lw.Spherical((0.1, 0.2, 0.3)),
    lw.Planar(),
    lw.Compound([lw.Revolute((1, 0, 0)), lw.Prismatic((0, 1, 0)), lw.Revolute((0, 0, 1), point=(0.1, 0, 0))]),
]


def assert_same_dynamics(before: lw.Model, after: lw.Model) -> None:
    assert (after.nq, after.nv, after.n_bodies) == (before.nq, before.nv, before.n_bodies)
    for seed in range(3):
        state = before.random_state(seed)
        # Files give joints in the order of the bodies, which both walks keep.
        M = lw.mass_matrix(before, state)
        assert np.abs(lw.mass_matrix(after, state) - M).max() <= PART * np.abs(M).max()
        h = lw.bias_efforts(before, state)
        assert np.abs(lw.bias_efforts(after, state) - h).max() <= 10 * PART * np.abs(h).max()


def test_urdf_is_read_back(tmp_path):
    linkage = tree(PLAIN)
    lost = linkage.to_urdf(tmp_path / "tree.urdf")
    assert lost == ["gravity (0.1, -0.2, -9.81), which no URDF holds"]
    again = lw.load(tmp_path / "tree.urdf")
    again.gravity = linkage.gravity
    before, after = linkage.compile(), again.compile()
    assert_same_dynamics(before, after)
    for ours, theirs in ((before.lower, after.lower), (before.upper, after.upper)):
        assert np.array_equal(np.clip(ours, -ENDLESS, ENDLESS), np.clip(theirs, -ENDLESS, ENDLESS))
    state = before.random_state(1)
    apart = lw.frame_poses(before, state, "tool") - lw.frame_poses(after, state, "tool")
    assert np.abs(apart).max() <= 1e-14 * 10
    assert len(again["b1"].shapes) == 2


@pytest.mark.parametrize("form", ["urdf", "xml"])
def test_limits_on_one_side_are_kept(tmp_path, form):
    linkage = tree([lw.Revolute((0, 0, 1), limits=(-math.inf, 0.4)), lw.Prismatic((1, 0, 0), limits=(-0.3, math.inf))])
    path = tmp_path / f"tree.{form}"
    (linkage.to_urdf if form == "urdf" else linkage.to_mjcf)(path)
    before, after = linkage.compile(), lw.load(path).compile()
    assert np.array_equal(np.clip(before.lower, -ENDLESS, ENDLESS), after.lower)
    assert np.array_equal(np.clip(before.upper, -ENDLESS, ENDLESS), after.upper)


def test_options_of_balls_and_free_joints(tmp_path):
    """Files hold one number for all freedoms of these: where they differ, that is listed."""
    same = tree([lw.Free(damping=0.3), lw.Spherical(damping=0.2, stiffness=1.5, armature=0.1)])
    assert same.to_mjcf(tmp_path / "same.xml") == []
    assert_same_dynamics(same.compile(), lw.load(tmp_path / "same.xml").compile())
    free = tree([lw.Free(damping=0.3), lw.Revolute((0, 0, 1))])
    free.gravity = (0.0, 0.0, -9.81)
    assert free.to_urdf(tmp_path / "free.urdf") == []
    assert_same_dynamics(free.compile(), lw.load(tmp_path / "free.urdf").compile())
    turned = lw.Spherical(damping=(0.1, 0.2, 0.3), stiffness=1.0, rest=(0.6, 0.8, 0.0, 0.0), effort_limit=3.0)
    lost = " ".join(tree([lw.Free(damping=(1, 1, 1, 2, 2, 2)), turned]).to_mjcf(tmp_path / "other.xml"))
    for what in ("damping of joint 'j0'", "damping of joint 'j1'", "'j1' is slack", "effort limit of joint 'j1'"):
        assert what in lost
    again = lw.load(tmp_path / "other.xml")["b1"].joint
    assert again.per_dof("damping") == pytest.approx(0.2)


def test_pinocchio_reads_the_urdf(tmp_path):
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    linkage = tree([joint for joint in PLAIN if joint.nv == 1])
    linkage.to_urdf(tmp_path / "tree.urdf")
    model = linkage.compile()
    theirs = pin.buildModelFromUrdf(str(tmp_path / "tree.urdf"))
    theirs.gravity = pin.Motion(np.array([*linkage.gravity, 0, 0, 0]))
    data = theirs.createData()
    state = model.random_state(2)
    q, order = pin.neutral(theirs), []
    for name, value in zip(model.joint_names, state.q, strict=True):
        joint = theirs.joints[theirs.getJointId(name)]
        q[joint.idx_q : joint.idx_q + joint.nq] = value if joint.nq == 1 else (np.cos(value), np.sin(value))
        order.append(joint.idx_v)
    gravity = pin.computeGeneralizedGravity(theirs, data, q)[order]
    assert np.abs(lw.gravity_efforts(model, state) - gravity).max() <= PART * 10 * np.abs(gravity).max()


@pytest.mark.parametrize("joints", [PLAIN, SPRUNG, [lw.Free(), *PLAIN]], ids=["plain", "sprung", "floating"])
def test_mjcf_is_read_back(tmp_path, joints):
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed (extra `mjcf`)")
    linkage = tree(joints)
    linkage.add_obstacle("ground", lw.Plane(), lw.Pose((0, 0, -5)))
    lost = linkage.to_mjcf(tmp_path / "tree.xml")
    assert all("velocity limits" in line for line in lost)
    before, after = linkage.compile(), lw.load(tmp_path / "tree.xml").compile()
    assert_same_dynamics(before, after)
    assert np.abs(after.gravity - before.gravity).max() == 0.0
    assert len(after.obstacles) == 1
    theirs = mujoco.MjModel.from_xml_path(str(tmp_path / "tree.xml"))
    assert theirs.nv == before.nv
    assert mujoco.mj_name2id(theirs, mujoco.mjtObj.mjOBJ_SITE, "tool") >= 0


def test_what_files_cannot_hold(tmp_path):
    screw = tree([lw.Screw((0, 0, 1), pitch=0.1), lw.Spherical()])
    with pytest.raises(lw.ModelError, match="Screw") as error:
        screw.to_urdf(tmp_path / "screw.urdf")
    assert "Spherical" in str(error.value)
    with pytest.raises(lw.ModelError, match="turns and slides at once"):
        screw.to_mjcf(tmp_path / "screw.xml")
    closed = lw.library.four_bar()
    for write in (closed.to_urdf, closed.to_mjcf):
        with pytest.raises(lw.ModelError, match="loop 'pin'"):
            write(tmp_path / "closed")
    floating = lw.Linkage("stone")
    floating.add_body("stone", joint=lw.Free(), placement=lw.Pose((1, 0, 0)), inertia=lw.Inertia.sphere(1, 1))
    with pytest.raises(lw.ModelError, match="its place in the state"):
        floating.to_mjcf(tmp_path / "stone.xml")
    assert not list(tmp_path.iterdir()), "nothing is written then"
    with pytest.raises(lw.StateError, match="path"):
        tree(PLAIN).to_urdf(3)
    lost = tree(SPRUNG[:1]).to_urdf(tmp_path / "sprung.urdf")
    assert lost[0] == "springs and armature of joint 'j0'"


def shaped_tree(joints):
    """With every shape that both formats have, and a coupling."""
    linkage = tree(joints)
    linkage.gravity = (0.0, 0.0, -9.81)
    ends = {"placement": lw.Pose((0.1, 0.0, 0.0), rpy=(0.1, 0.2, 0.3))}
    shapes = [lw.Sphere(0.05), lw.Box((0.1, 0.2, 0.3)), lw.Cylinder(0.04, 0.2, visual_only=True)]
    shapes += [lw.Capsule(0.05, 0.3, friction=0.4, **ends), lw.Capsule(0.04, 0.2, visual_only=True)]
    linkage.edit_body("b1", shapes=shapes)
    linkage.add_coupling("tied", {"j1": 1.0, "j2": 2.0}, 0.3)
    return linkage


READERS = {
    "urdfdom": "import subprocess; subprocess.run(['check_urdf', file], check=True, stdout=subprocess.DEVNULL)",
    "pinocchio": "import pinocchio as pin; model = pin.buildModelFromUrdf(file); shapes = [pin.buildGeomFromUrdf(model, "
    "file, kind).ngeoms for kind in (pin.GeometryType.COLLISION, pin.GeometryType.VISUAL)]; assert shapes == [{}, {}]",
    "mujoco": "import mujoco; mujoco.mj_forward(model := mujoco.MjModel.from_xml_path(file), mujoco.MjData(model))",
}


@pytest.mark.parametrize(
    ("form", "reader"), [("urdf", "urdfdom"), ("urdf", "pinocchio"), ("urdf", "mujoco"), ("xml", "mujoco")]
)
@pytest.mark.parametrize("name", ["hinges", "several", "snake"])
def test_others_read_what_is_written_without_a_complaint(tmp_path, form, reader, name):
    """Not a line on stderr, where parsers say what they leave out; every shape arrives."""
    if reader == "urdfdom" and shutil.which("check_urdf") is None:
        pytest.skip(reason="urdfdom is not installed (it comes with Pinocchio)")
    elif reader != "urdfdom":
        pytest.importorskip(reader, reason=f"{reader} is not installed")
    if (name, form, reader) == ("several", "urdf", "mujoco"):
        pytest.skip(reason="MuJoCo refuses links without mass, by which a URDF has joints of several freedoms")
    hinges = [joint for joint in PLAIN if joint.nv < 2]
    makers = {"hinges": lambda: shaped_tree(hinges), "several": lambda: shaped_tree(PLAIN), "snake": lw.library.snake}
    file = tmp_path / f"{name}.{form}"
    linkage = makers[name]()
    (linkage.to_urdf if form == "urdf" else linkage.to_mjcf)(file)
    shapes = [
        shape for body in linkage for shape in body.shapes for _ in range(3 if isinstance(shape, lw.Capsule) else 1)
    ]
    drawn = sum(shape.visual_only for shape in shapes)
    code = READERS[reader].format(len(shapes) - drawn, drawn)
    said = subprocess.run(
        [sys.executable, "-c", f"file = {str(file)!r}; {code}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (said.returncode, said.stderr) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == [file.name], "no log was written"


@pytest.mark.parametrize("form", ["urdf", "mjcf"])
def test_a_file_that_is_there_is_not_replaced_silently(tmp_path, form):
    file = tmp_path / "robot"
    file.write_text("mine")
    write = getattr(tree(PLAIN), f"to_{form}")
    with pytest.raises(lw.StateError, match="exists already; give another path, or overwrite=True"):
        write(file)
    assert file.read_text() == "mine"
    write(file, overwrite=True)
    assert file.read_text() != "mine"
