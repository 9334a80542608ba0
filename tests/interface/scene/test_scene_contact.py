"""Scenes with [contact] and [[obstacle]]."""

from __future__ import annotations

import pytest

import linkwork as lw
from linkwork.adaptive.dynamics.region.region_memory import count_optional_joints
from linkwork.scene.builtin_scenes import find_scene
from linkwork.scene.scene import Scene

DROP = """
[model]
library = "chain"
parameters = { joints = 4 }
floating = true

[[obstacle]]
name = "floor"
shape = "plane"
xyz = [0, 0, -0.5]
friction = 0.2

[[obstacle]]
name = "post"
shape = "cylinder"
radius = 0.1
length = 1.0
xyz = [2, 0, 0]
copies = 3
spacing = [0, 1, 0]

[contact]
restitution = 0.1

[method]
kind = "full"

[run]
h = 1e-3
steps = 10
"""


def scene(tmp_path, text):
    path = tmp_path / "scene.toml"
    path.write_text(text, encoding="utf-8")
    return Scene.read(path)


GROUND = """
[[obstacle]]
name = "hills"
shape = "height_field"
heights = [[0.0, 0.0, 0.2], [0.1, 0.0, 0.2]]
size = [4.0, 3.0]
xyz = [0, 0, -1]

[[obstacle]]
name = "rock"
shape = "mesh"
file = "rock.obj"

[[obstacle]]
name = "crate"
shape = "box"
size = [0.2, 0.3, 0.4]
"""


def test_every_shape_of_an_obstacle(tmp_path):
    (tmp_path / "rock.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
    found = dict(scene(tmp_path, DROP + GROUND).build().model.obstacles)
    hills = found["hills"]
    assert isinstance(hills, lw.HeightField)
    assert hills.heights == ((0.0, 0.0, 0.2), (0.1, 0.0, 0.2))
    assert hills.size == (4.0, 3.0)
    assert isinstance(found["rock"], lw.Mesh)
    assert found["crate"].size == (0.2, 0.3, 0.4)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("[0.1, 0.0, 0.2]]", "[0.1, 0.0]]", "heights is"),
        ("[[0.0, 0.0, 0.2], [0.1, 0.0, 0.2]]", "[[0.0, 0.0, 0.2]]", "at least two rows"),
        ("[0.1, 0.0, 0.2]]", '[0.1, 0.0, "high"]]', "heights is"),
        ("heights = [[0.0, 0.0, 0.2], [0.1, 0.0, 0.2]]\n", "", "a height_field needs 'heights'"),
        ("size = [4.0, 3.0]", "size = [4.0, 3.0, 1.0]", "the size of a height_field is 2 numbers, not 3"),
        ("size = [0.2, 0.3, 0.4]", "size = [0.2, 0.3]", "the size of a box is 3 numbers, not 2"),
        ("size = [0.2, 0.3, 0.4]", "size = [0.2]", "3 or 2 finite numbers"),
    ],
)
def test_faults_of_shapes_are_reported(tmp_path, old, new, fault):
    (tmp_path / "rock.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
    assert old in GROUND
    with pytest.raises(lw.FormatError, match=fault):
        scene(tmp_path, DROP + GROUND.replace(old, new)).build()


def test_contact_and_obstacles_of_a_scene(tmp_path):
    built = scene(tmp_path, DROP).build()
    assert [name for name, _ in built.model.obstacles] == ["floor", "post_0", "post_1", "post_2"]
    assert built.sim.contact == lw.Contact(restitution=0.1)
    bare = scene(tmp_path, DROP.replace("[contact]\nrestitution = 0.1\n", "")).build()
    assert bare.sim.contact is None
    empty = scene(tmp_path, DROP.replace("restitution = 0.1", "")).build()
    assert empty.sim.contact == lw.Contact()


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("radius = 0.1\n", "", "a cylinder needs 'radius'"),
        ("restitution = 0.1", "restitution = 2", "restitution"),
        ("restitution = 0.1", 'ignore = "floor"', "ignore"),
        ("restitution = 0.1", "bounce = 1", "has no key 'bounce'"),
        ('"plane"', '"donut"', "donut"),
        ('kind = "full"', 'kind = "quasi-statics"', "contact is computed only with"),
    ],
)
def test_faults_of_contact_are_reported(tmp_path, old, new, fault):
    with pytest.raises(lw.FormatError, match=fault):
        scene(tmp_path, DROP.replace(old, new)).build()


@pytest.mark.parametrize(
    ("name", "joints", "active"), [("pendulum_pegs", 200, 40), ("threading", 300, 60), ("bridge", 500, 70)]
)
def test_ready_scenes_of_contact(name, joints, active):
    built = Scene.read(find_scene(name)).build()
    assert built.sim.max_active_joints == active
    assert count_optional_joints(built.sim.model) == joints
    assert built.sim.contact is not None


def test_targets_go_to_the_simulation_that_a_scene_has():
    """A scene whose simulation was replaced by one of another kind moves the motors of that one."""
    scene = Scene.read(find_scene("bridge"))
    built = scene.build()
    other = lw.FullDynamics(scene.model, scene.state)
    built.sim = other
    for acting in built.acting:
        acting.is_on, acting.load = False, None
        acting.set(other, acting.value)
    before = other.checkpoint()["motor"]
    built.set_loads(0.1)
    assert (other.checkpoint()["motor"] != before).any()
