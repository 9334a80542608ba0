"""What a user meets of contact: settings, obstacles, materials, queries, and what each of them refuses."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
from tests.helpers.meshes import FACES, write_obj
from tests.reference.plain_contact import PlainContact

import linkwork as lw
from linkwork.contact.contact_list import FRICTION, RESTITUTION
from linkwork.contact.geometry.mesh_files import closed_faults, read_triangles
from linkwork.contact.shape_table import shape_table


def ball(*obstacles, shape=None, **options):
    linkage = lw.Linkage("ball")
    linkage.add_body("ball", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1), shapes=[shape or lw.Sphere(0.1)])
    for name, thing, *pose in obstacles:
        linkage.add_obstacle(name, thing, *pose)
    for key, value in options.items():
        setattr(linkage, key, value)
    return linkage


def at(model, x, y, z, v=None):
    q = model.neutral().q
    q[:3] = x, y, z
    return lw.State(q, np.zeros(model.nv) if v is None else v)


# --------------------------------------------------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"friction": -0.1}, ["friction", "-0.1"]),
        ({"friction": math.nan}, ["friction", "nan"]),
        ({"friction": math.inf}, ["friction"]),
        ({"restitution": 1.1}, ["restitution", "1.1", "0 to 1"]),
        ({"law": "soft"}, ["'soft'", "'coupled'", "'impacts'"]),
        ({"tolerance": 0.0}, ["tolerance"]),
        ({"max_sweeps": 0}, ["max_sweeps"]),
        ({"max_sweeps": True}, ["max_sweeps"]),
        ({"margin": -1.0}, ["margin"]),
        ({"correction": 2.0}, ["correction"]),
        ({"rest_speed": -1.0}, ["rest_speed"]),
        ({"self_contact": "no"}, ["self_contact"]),
        ({"ignore": ("a",)}, ["ignore", "pairs"]),
    ],
)
def test_bad_settings_are_refused(options, words):
    with pytest.raises(lw.StateError) as error:
        lw.Contact(**options)
    assert all(word in str(error.value) for word in words)


# -------------------------------------------------------------------------------------------------------------- obstacles


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (lw.Box((1, 0, 1)), ["'thing'", "size along y", "0"]),
        (lw.Sphere(-1.0), ["radius", "-1.0"]),
        (lw.Cylinder(1.0, math.nan), ["length", "nan"]),
        (lw.Capsule(math.inf, 1.0), ["radius", "inf"]),
        (lw.HeightField([[0, math.nan], [0, 0]], (1, 1)), ["heights"]),
        (lw.HeightField([[0, 0], [0, 0]], (1, 0)), ["size along y"]),
        (lw.Plane(friction=-1.0), ["friction", "-1.0"]),
        (lw.Plane(restitution=1.5), ["restitution", "1.5"]),
        (lw.Plane(placement=lw.Pose((math.nan, 0, 0))), ["placement", "finite"]),
    ],
)
def test_obstacles_without_volume_or_sense_are_refused(shape, words):
    with pytest.raises(lw.ModelError) as error:
        ball(("thing", shape)).compile()
    assert all(word in str(error.value) for word in words)


def test_names_of_obstacles():
    linkage = ball(("floor", lw.Plane()), ("floor", lw.Plane()), ("ball", lw.Plane()), ("world", lw.Plane()))
    linkage.ignore_contact.append(("ball", "nothing"))
    with pytest.raises(lw.ModelError) as error:
        linkage.compile()
    faults = error.value.faults
    assert len(faults) == 4
    assert any("used 2 times" in fault for fault in faults)
    assert any("'nothing'" in fault for fault in faults)
    with pytest.raises(lw.ModelError, match="no obstacle 'wall'"):
        linkage.remove_obstacle("wall")
    with pytest.raises(lw.ModelError, match="must be a shape"):
        linkage.add_obstacle("x", "cube")
    with pytest.raises(lw.ModelError, match=r"lw\.Pose"):
        linkage.add_obstacle("x", lw.Plane(), (0, 0, 0))
    with pytest.raises(lw.ModelError, match="cannot move"):
        linkage.add_body("y", shapes=[lw.Plane()])


def test_height_fields_need_a_grid():
    for heights in ([[1.0]], [1.0, 2.0], [[1.0, 2.0], [3.0]], "hills"):
        with pytest.raises(lw.ModelError, match="heights"):
            lw.HeightField(heights, (1, 1))


def test_models_keep_obstacles():
    pose = lw.Pose((0, 0, 1))
    model = ball(
        ("box", lw.Box((1, 1, 1), placement=lw.Pose((1, 0, 0))), pose), ignore_contact=[("ball", "box")]
    ).compile()
    (name, shape), *_ = model.obstacles
    assert name == "box"
    assert shape.placement == lw.Pose((1, 0, 1))
    assert model.ignore_contact == (("ball", "box"),)


def test_merging_moves_obstacles():
    linkage = ball(("floor", lw.Plane()))
    other = ball(("wall", lw.Box((1, 1, 1))), ignore_contact=[("ball", "wall")])
    linkage.merge(other, prefix="b_", placement=lw.Pose((2, 0, 0)))
    assert [one.name for one in linkage.obstacles] == ["floor", "b_wall"]
    assert linkage.obstacles[1].pose == lw.Pose((2, 0, 0))
    assert linkage.ignore_contact == [("b_ball", "b_wall")]


# ----------------------------------------------------------------------------------------------------------------- meshes


def test_mesh_files(tmp_path):
    corners = read_triangles(write_obj(tmp_path / "cube.obj"))
    assert corners.shape == (12, 3, 3)
    assert closed_faults(corners) == []
    assert "not closed" in closed_faults(corners[:-1])[0]
    assert "inside out" in closed_faults(corners[:, ::-1])[0]
    flat = np.concatenate([corners[:1], corners[:1, ::-1]])
    assert "no volume" in closed_faults(flat)[0]
    text = "solid cube\n" + "".join(
        "facet normal 0 0 0\nouter loop\n" + "".join(f"vertex {x} {y} {z}\n" for x, y, z in t) + "endloop\nendfacet\n"
        for t in corners
    )
    (tmp_path / "text.stl").write_text(text + "endsolid cube\n")
    record = np.zeros(12, dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    record["corners"] = corners
    (tmp_path / "binary.STL").write_bytes(b" " * 80 + (12).to_bytes(4, "little") + record.tobytes())
    for name in ("text.stl", "binary.STL"):
        assert read_triangles(tmp_path / name, (2, 1, 1)) == pytest.approx(corners * (2, 1, 1))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.dae", b"x", ["a.dae", "cannot be read"]),
        ("a.stl", b"x", ["neither"]),
        ("a.stl", b"solid x\nvertex 1 2\nendsolid", ["three numbers"]),
        ("a.obj", b"v 1 2 3\nf 1 2 9\n", ["a.obj:2"]),
        ("a.obj", b"v 1 2 3\n", ["no triangle"]),
        ("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 nan 0\nf 1 2 3\n", ["not finite"]),
    ],
)
def test_bad_mesh_files(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(lw.FormatError) as error:
        read_triangles(tmp_path / name)
    assert all(word in str(error.value) for word in words)
    with pytest.raises(lw.FormatError, match="no such file"):
        read_triangles(tmp_path / "missing.stl")


def test_meshes_with_holes_are_refused(tmp_path):
    model = ball(("rock", lw.Mesh(write_obj(tmp_path / "open.obj", faces=FACES[:-1])))).compile()
    with pytest.raises(lw.ModelError, match=r"'rock'.*not closed"):
        shape_table(model, lw.Contact())


def test_a_mesh_in_the_world_acts_like_the_box_it_is(tmp_path, rng):
    """Outside, the distance to a cube of triangles is that to a box."""
    mesh = ball(
        ("cube", lw.Mesh(write_obj(tmp_path / "cube.obj")), lw.Pose((0, 0, 0.3), rpy=(0.1, 0.2, 0.3)))
    ).compile()
    box = ball(("cube", lw.Box((1, 1, 1)), lw.Pose((0, 0, 0.3), rpy=(0.1, 0.2, 0.3)))).compile()
    for _ in range(50):
        x = rng.normal(size=3)
        state = at(mesh, *(1.2 * x / np.linalg.norm(x) + (0, 0, 0.3)))
        ours, theirs = lw.closest(mesh, state, "ball", "cube"), lw.closest(box, state, "ball", "cube")
        assert ours.distance == pytest.approx(theirs.distance, abs=1e-12)
        assert ours.point_b == pytest.approx(theirs.point_b, abs=1e-9)


@pytest.mark.parametrize(
    "shape", [lw.Sphere(0.1), lw.Box((0.2, 0.2, 0.2)), lw.Capsule(0.1, 0.1), lw.Cylinder(0.1, 0.2)]
)
@pytest.mark.parametrize("ground", ["field", "mesh", "box"])
def test_things_rest_on_every_ground(tmp_path, ground, shape):
    obstacle = {
        "field": lw.HeightField(np.zeros((5, 4)), (2.0, 2.0)),
        "mesh": lw.Mesh(write_obj(tmp_path / "slab.obj"), scale=(2.0, 2.0, 0.2), placement=lw.Pose((0, 0, -0.1))),
        "box": lw.Box((2.0, 2.0, 0.2), placement=lw.Pose((0, 0, -0.1))),
    }[ground]
    model = ball(("ground", obstacle), shape=shape).compile()
    height = 0.15 if isinstance(shape, lw.Capsule) else 0.1
    sim = PlainContact(model, at(model, 0.03, 0.02, height + 0.01), lw.Contact(friction=0.5))
    sim.step(2e-3, 120)
    assert sim.count >= 1
    assert abs(sim.q[2] - height) < 1e-4
    assert np.abs(sim.v).max() < 1e-3


def test_hull_of_a_moving_mesh(tmp_path):
    pytest.importorskip("coal")
    model = ball(
        ("floor", lw.Plane()), shape=lw.Mesh(write_obj(tmp_path / "cube.obj"), scale=(0.2, 0.2, 0.2))
    ).compile()
    found = lw.closest(model, at(model, 0, 0, 0.5), "ball", "floor")
    assert found.distance == pytest.approx(0.4, abs=1e-12)


# ---------------------------------------------------------------------------------------------------------------- queries


def snake(joints=30):
    linkage = lw.library.chain(joints)
    rng = np.random.default_rng(3)
    for i in range(8):
        linkage.add_obstacle(
            f"post_{i}", lw.Cylinder(0.05, 2.0), lw.Pose(rng.uniform(-2, 2, 3), quaternion=rng.normal(size=4))
        )
    linkage.add_obstacle("floor", lw.Plane(), lw.Pose((0, 0, -5.0)))
    return linkage.compile()


def test_clearance_is_the_least_of_all_pairs(rng):
    """The search on two trees against every pair of names one by one."""
    model = snake()
    tool = lw.Collisions(model)
    names = [*model.body_names, *(name for name, _ in model.obstacles)]
    joined = {
        frozenset((model.body_names[i], model.body_names[p])) for i, p in enumerate(model.parent.tolist()) if p >= 0
    }
    for _ in range(4):
        state = lw.State(0.3 * rng.normal(size=model.nq), np.zeros(model.nv))
        pairs = [
            p
            for p in itertools.combinations(names, 2)
            if frozenset(p) not in joined and not all(n.startswith(("post", "floor")) for n in p)
        ]
        least = min(tool.closest(state, a, b).distance for a, b in pairs)
        found = tool.clearance(state)
        assert found is not None
        assert found.distance == pytest.approx(least, abs=1e-12)
        assert tool.closest(state, *found.names).distance == pytest.approx(least, abs=1e-12)
        assert tool.collide(state.q[None])[0] == (least < 0)
        assert lw.in_collision(model, state) == (least < 0)
        assert tool.clearances(state.q[None])[0] == pytest.approx(least, abs=1e-12)


def test_queries_refuse_what_is_not_there():
    model = ball(("floor", lw.Plane())).compile()
    with pytest.raises(lw.ModelError, match="no body or obstacle 'bell'; did you mean 'ball'"):
        lw.closest(model, model.neutral(), "bell", "floor")
    with pytest.raises(lw.ModelError, match="planes"):
        lw.closest(model, model.neutral(), "floor", "floor")
    with pytest.raises(lw.StateError, match="one row per state"):
        lw.Collisions(model).collide(np.zeros(7))
    with pytest.raises(lw.StateError, match=r"q\[1, 2\] is nan"):
        lw.Collisions(model).collide([[0.0] * 7, [0.0, 0.0, math.nan, 1.0, 0.0, 0.0, 0.0]])
    with pytest.raises(lw.StateError, match="not a unit quaternion"):  # bodies would be scaled by it, without a word
        lw.Collisions(model).clearances([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0]])
    bare = lw.Linkage("bare")
    bare.add_body("b", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1))
    bare_model = bare.compile()
    assert lw.clearance(bare_model, bare_model.neutral()) is None
    with pytest.raises(lw.ModelError, match="no shape"):
        lw.closest(bare_model, bare_model.neutral(), "b", "b")


@pytest.mark.parametrize("simulation", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_simulations_answer_for_their_present_state(simulation):
    """Distances that a model gives for the state of the simulation, with the pairs that its contact ignores."""
    linkage = ball(("floor", lw.Plane()), ("post", lw.Sphere(0.1, placement=lw.Pose((0.25, 0, 0.3)))))
    model = linkage.compile()
    start = at(model, 0, 0, 0.3)
    sim = simulation(model, start, contact=lw.Contact(ignore=(("ball", "post"),)))
    sim.advance(1e-3, 100)
    for other in ("floor", "post"):
        assert sim.closest("ball", other).distance == lw.closest(model, sim.state, "ball", other).distance
    assert sim.closest("ball", "floor").distance < 0.2
    assert sim.clearance().names == ("ball", "floor")
    assert lw.clearance(model, sim.state).names == ("ball", "post")
    assert not sim.in_collision()
    with pytest.raises(lw.StateError, match="named by a text"):
        lw.closest(model, sim.state, sim.state, "ball")
    with pytest.raises(lw.ModelError, match="a clearance"):
        lw.clearance("ball", sim.state)


def test_pairs_can_be_ignored():
    """By name in the model, by name in the settings, by groups, by being drawn only; joined bodies always."""

    def inside(model, **options):
        return bool(lw.Collisions(model, lw.Contact(**options)).collide(model.neutral().q[None])[0])

    box = ("box", lw.Box((1, 1, 1)))
    assert inside(ball(box).compile())
    assert not inside(ball(box, ignore_contact=[("box", "ball")]).compile())
    assert not inside(ball(box).compile(), ignore=(("ball", "box"),))
    assert not inside(ball(box, shape=lw.Sphere(0.1, visual_only=True)).compile())
    assert not inside(ball(box, shape=lw.Sphere(0.1, group=2, mask=2)).compile())
    assert inside(ball(("box", lw.Box((1, 1, 1), group=2, mask=2)), shape=lw.Sphere(0.1, group=2, mask=2)).compile())
    two = ball()
    two.add_body("child", "ball", lw.Revolute((0, 0, 1)), inertia=lw.Inertia.sphere(1.0, 0.1), shapes=[lw.Sphere(0.1)])
    assert not inside(two.compile())
    two.add_body(
        "grandchild", "child", lw.Revolute((0, 0, 1)), inertia=lw.Inertia.sphere(1.0, 0.1), shapes=[lw.Sphere(0.1)]
    )
    assert inside(two.compile())
    assert not inside(two.compile(), self_contact=False)


def test_materials_are_combined_per_pair():
    """Geometric mean of frictions, larger restitution; shapes without a material take that of the settings."""
    model = ball(("floor", lw.Plane(friction=0.9, restitution=0.1)), shape=lw.Sphere(0.1, friction=0.4)).compile()
    sim = PlainContact(model, at(model, 0, 0, 0.1), lw.Contact(friction=0.2, restitution=0.7))
    sim.step(1e-3)
    assert sim.finder.contacts.data[0, FRICTION] == pytest.approx(0.6)
    assert sim.finder.contacts.data[0, RESTITUTION] == 0.7


def test_recordings_keep_obstacles(tmp_path):
    pytest.importorskip("zarr")
    model = ball(("floor", lw.Plane(friction=0.9)), ("hills", lw.HeightField([[0, 1], [1, 0]], (1, 2)))).compile()
    sim = lw.FullDynamics(model, model.neutral())
    sim.run(n=2, h=1e-3, record=tmp_path / "run")
    kept = lw.Recording(tmp_path / "run").model
    assert kept.obstacles == model.obstacles
    assert kept.shapes == model.shapes


@pytest.mark.parametrize("make", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_a_floor_that_nothing_touches_is_warned_of_once(make):
    model = ball(("floor", lw.Plane())).compile()
    with pytest.warns(lw.LinkworkWarning, match="obstacles .floor.*contact= is not given") as warned:
        make(model, model.neutral())
    assert len(warned) == 1
    linkage = lw.Linkage("bare")
    linkage.add_body("bare", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1))
    bare = linkage.compile()
    with pytest.warns(lw.LinkworkWarning, match="no body that moves has a shape") as warned:
        make(bare, bare.neutral(), contact=lw.Contact())
    assert len(warned) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(ball().compile(), ball().compile().neutral())  # shapes alone, as files of robots bring them
        make(model, at(model, 0, 0, 1), contact=lw.Contact())
