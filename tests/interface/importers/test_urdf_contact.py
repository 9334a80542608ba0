"""Collision geometry of a URDF touches, its mesh files too, and what is only seen does not; what is not kept is listed."""

from __future__ import annotations

import os

import numpy as np
import pytest

import linkwork as lw

HALF = 0.1  # [m] half the height of the block in every form
GEOMETRIES = {
    "box": '<box size="0.4 0.3 0.2"/>',
    "sphere": '<sphere radius="0.1"/>',
    "capsule": '<capsule radius="0.05" length="0.1"/>',
    "cylinder": '<cylinder radius="0.15" length="0.2"/>',
    "mesh": '<mesh filename="meshes/block.obj" scale="0.2 0.15 0.1"/>',
}
BLOCK = "\n".join(
    [f"v {x} {y} {z}" for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    + ["f " + " ".join(map(str, face)) for face in
       ((1, 2, 4), (1, 4, 3), (5, 7, 8), (5, 8, 6), (1, 5, 6), (1, 6, 2), (3, 4, 8), (3, 8, 7), (1, 3, 7), (1, 7, 5),
        (2, 6, 8), (2, 8, 4))]
)  # fmt: skip


@pytest.fixture
def load(tmp_path):
    """Loads a block that slides up and down, with these lines in its link and its robot."""
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "block.obj").write_text(BLOCK)

    def read(parts: str, more: str = "", **options):
        path = tmp_path / "block.urdf"
        path.write_text(f"""<robot name="block">
  <link name="base"/>
  <link name="block">
    <inertial><mass value="2"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    {parts}
  </link>
  <joint name="lift" type="prismatic"><parent link="base"/><child link="block"/><axis xyz="0 0 1"/>
    <limit lower="-9" upper="9" effort="100" velocity="100"/></joint>
  {more}
</robot>""")
        return lw.load(path, **options)

    return read


def collision(geometry, origin=""):
    return f"<collision>{origin}<geometry>{geometry}</geometry></collision>"


def rests_at(linkage, height=HALF):
    """Height [m] at which the block comes to rest, dropped from a little above this height, and what carries it [N]."""
    linkage.add_obstacle("floor", lw.Plane())
    model = linkage.compile()
    sim = lw.FullDynamics(model, model.state([height + 0.005]), contact=lw.Contact())
    sim.step(1e-3, 400)
    return float(sim.state.q[0]), sum(float(point.force[2]) for point in sim.contacts)


@pytest.mark.parametrize("kind", GEOMETRIES)
def test_a_link_rests_on_its_collision_geometry(load, kind):
    height, force = rests_at(load(collision(GEOMETRIES[kind])))
    assert height == pytest.approx(HALF, abs=1e-4 * 2 * HALF)
    assert abs(force) == pytest.approx(2 * 9.81, rel=1e-6)


def test_the_origin_of_a_collision_counts(load):
    height, _ = rests_at(load(collision(GEOMETRIES["box"], '<origin xyz="0 0 -0.05"/>')), HALF + 0.05)
    assert height == pytest.approx(HALF + 0.05, abs=1e-4 * 2 * HALF)


def test_what_is_only_seen_touches_nothing(load):
    seen = f"<visual><geometry>{GEOMETRIES['box']}</geometry></visual>"
    linkage = load(seen + collision(GEOMETRIES["capsule"]))
    height, _ = rests_at(linkage)
    assert [shape.visual_only for shape in linkage["block"].shapes] == [False, True]
    assert height == pytest.approx(HALF, abs=1e-4 * 2 * HALF)


def test_meshes_lie_beside_the_file_wherever_it_is_read_from(load, tmp_path, monkeypatch):
    load(collision(GEOMETRIES["mesh"]))
    monkeypatch.chdir(tmp_path.parent)
    linkage = lw.load(os.path.join(tmp_path.name, "block.urdf"))
    assert linkage.warnings == []
    assert rests_at(linkage)[0] == pytest.approx(HALF, abs=1e-4 * 2 * HALF)


@pytest.mark.parametrize("kind", ["ply", "dae"])
def test_meshes_of_other_formats_touch_too(load, tmp_path, kind):
    trimesh = pytest.importorskip("trimesh", reason="the extra `viewer` is not installed")
    if kind == "dae":
        pytest.importorskip("collada", reason="the extra `viewer` is not installed")
    data = trimesh.creation.box((0.4, 0.3, 2 * HALF)).export(file_type=kind)
    (tmp_path / "meshes" / f"block.{kind}").write_bytes(data)
    assert rests_at(load(collision(f'<mesh filename="meshes/block.{kind}"/>')))[0] == pytest.approx(HALF, abs=2e-5)


def test_friction_and_other_contact_settings_that_are_not_kept_are_listed(load):
    soft = "<contact><lateral_friction value='0.9'/></contact>"
    linkage = load(collision(GEOMETRIES["box"]) + soft, more="<gazebo reference='block'><mu1>0.9</mu1></gazebo>")
    warnings = "\n".join(linkage.warnings)
    assert "<contact>" in warnings
    assert "<gazebo>" in warnings


def test_neighbours_along_a_joint_overlap_in_peace(load):
    """Links of robots overlap at their joints: they do not push each other apart."""
    tip = f"""<link name="tip">
    <inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    {collision(GEOMETRIES["sphere"])}</link>
  <joint name="turn" type="continuous"><parent link="block"/><child link="tip"/><axis xyz="0 1 0"/></joint>"""
    model = load(collision(GEOMETRIES["box"]), more=tip).compile()
    sim = lw.FullDynamics(model, model.neutral(), contact=lw.Contact())
    sim.step(1e-3, 10)
    assert sim.contacts == ()
    np.testing.assert_allclose(sim.state.v, [-9.81 * 1e-2, 0.0], atol=1e-12)
