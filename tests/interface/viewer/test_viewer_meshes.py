"""Robots with mesh files: STL, OBJ and COLLADA of URDF and MJCF are read, kept as shapes and drawn where they belong."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import LinkworkWarning

pytest.importorskip("viser", reason="the extra `viewer` is not installed")
trimesh = pytest.importorskip("trimesh", reason="the extra `viewer` is not installed")

SIZE = (0.4, 0.2, 0.1)  # [m] of the box in all files
KINDS = ("stl", "obj", "dae")


def write_box(folder, kind, unit=1.0, name="box"):
    """A box of SIZE about its middle, written in the file's unit."""
    path = folder / f"{name}.{kind}"
    box = trimesh.creation.box(np.array(SIZE) / unit)
    data = box.export(file_type=kind)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    if kind == "dae" and unit != 1.0:
        text = path.read_text()
        assert text.count("<asset>") == 1
        path.write_text(text.replace("<asset>", f'<asset><unit name="millimetre" meter="{unit}"/>'))
    return path


def urdf(folder, file, collision="", scale="1 1 1"):
    text = f"""<robot name="r">
  <link name="base"/>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
  <link name="arm">
    <inertial><mass value="1"/><inertia ixx="1e-2" iyy="1e-2" izz="1e-2" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0.3 0 0" rpy="0 0 0"/><geometry><mesh filename="{file}" scale="{scale}"/></geometry></visual>
    {collision}
  </link>
</robot>"""
    path = folder / "r.urdf"
    path.write_text(text)
    return path


def extent(model, body=0):
    """Middle and size of the box about all that is drawn of a model at rest [m]."""
    from linkwork.viewer.shapes.instances import instances_of

    corners = instances_of(model).corners(lw.body_poses(model, model.neutral()))
    return 0.5 * (corners.min(axis=0) + corners.max(axis=0)), np.ptp(corners, axis=0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_urdf_is_drawn_with_its_meshes(tmp_path, kind):
    file = write_box(tmp_path, kind)
    linkage = lw.load(urdf(tmp_path, file.name, scale="1 2 1"))
    (shape,) = linkage["arm"].shapes
    assert isinstance(shape, lw.Mesh)
    assert (shape.file, shape.scale, shape.visual_only) == (file.name, (1.0, 2.0, 1.0), True)
    middle, size = extent(linkage.compile())
    assert middle == pytest.approx((0.3, 0, 0), abs=1e-6)  # files hold single precision
    assert size == pytest.approx((SIZE[0], 2 * SIZE[1], SIZE[2]), rel=1e-6)


def test_a_collada_file_in_millimetres_is_drawn_in_metres(tmp_path):
    file = write_box(tmp_path, "dae", unit=0.001)
    _, size = extent(lw.load(urdf(tmp_path, file.name)).compile())
    assert size == pytest.approx(SIZE, rel=1e-6)


@pytest.mark.parametrize("kind", ["stl", "obj"])
def test_an_mjcf_is_drawn_with_its_meshes(tmp_path, kind):
    pytest.importorskip("mujoco", reason="the extra `mjcf` is not installed")
    file = write_box(tmp_path, kind)
    path = tmp_path / "m.xml"
    path.write_text(f"""<mujoco><asset><mesh name="box" file="{file.name}" scale="1 1 3"/></asset><worldbody>
      <body name="arm"><joint type="hinge" axis="0 1 0"/><geom type="mesh" mesh="box" pos="0.1 0.2 0"/></body>
    </worldbody></mujoco>""")
    middle, size = extent(lw.load(path).compile())
    assert middle == pytest.approx((0.1, 0.2, 0), abs=1e-6)
    assert size == pytest.approx((SIZE[0], SIZE[1], 3 * SIZE[2]), rel=1e-5)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"<COLLADA/>"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_mesh_that_cannot_be_read_is_said_once_and_other_shapes_are_drawn(tmp_path, kind, content):
    file = tmp_path / f"bad.{kind}"
    file.write_bytes(content)
    collision = '<collision><geometry><sphere radius="0.25"/></geometry></collision>'
    model = lw.load(urdf(tmp_path, file.name, collision)).compile()
    with pytest.warns(LinkworkWarning, match="not drawn") as said:
        middle, size = extent(model)
    assert len([w for w in said if "not drawn" in str(w.message)]) == 1
    assert size == pytest.approx([0.5] * 3, rel=1e-2)  # the sphere has 20 sides
    assert middle == pytest.approx((0, 0, 0), abs=1e-9)


def test_a_mesh_robot_becomes_a_picture(tmp_path):
    """The renderer that animations use draws it; so the gif and mp4 of a robot with meshes show it."""
    from linkwork.viewer.frames import framing, up_of
    from linkwork.viewer.render import Renderer
    from linkwork.viewer.shapes.instances import instances_of

    model = lw.load(urdf(tmp_path, write_box(tmp_path, "stl").name)).compile()
    instances, T = instances_of(model), lw.body_poses(model, model.neutral())
    camera = framing(instances.corners(T), up_of(model))
    colors = np.full((instances.kind.size, 3), (200, 40, 40), dtype=np.uint8)
    image = np.asarray(Renderer(instances, camera, 0.0, 160, 120).draw(T, colors)).astype(int)
    red = (image[..., 0] > image[..., 1] + 40).mean()
    assert 0.02 < red < 0.9


def test_an_sdf_is_refused_by_its_name(tmp_path):
    path = tmp_path / "world.sdf"
    path.write_text("<sdf version='1.7'><model name='m'/></sdf>")
    with pytest.raises(lw.LinkworkError, match=r"(?i)sdf"):
        lw.load(path)


def test_a_picture_shows_meshes_and_the_floor(tmp_path):
    """The mesh covers as much of the picture as a box of its size; lines and a shadow lie around it."""
    from linkwork.viewer.animation import picture

    write_box(tmp_path, "stl")
    plain = lw.Linkage("plain")
    for body in (robot := lw.load(urdf(tmp_path, "box.stl"))):
        shapes = (lw.Box(SIZE, placement=lw.Pose((0.3, 0, 0))),) if body.shapes else ()
        plain.add_body(body.name, body.parent, body.joint, body.placement, body.inertia, shapes=shapes)
    pictures = []
    for linkage in (robot, plain):
        linkage.add_obstacle("floor", lw.Plane(), lw.Pose((0, 0, -0.3)))
        model = linkage.compile()
        state = model.state(np.full(model.nq, 0.4))
        pictures.append(np.asarray(picture(model, state, width=160, height=120)).astype(int))
    seen = [np.ptp(x, axis=2) > 40 for x in pictures]  # colours: the body
    assert seen[0].sum() > 300
    assert (seen[0] != seen[1]).sum() < 0.02 * seen[0].sum()
    assert (pictures[0][~seen[0]] < 250).any(axis=1).sum() > 300  # lines of the floor, and a shadow
