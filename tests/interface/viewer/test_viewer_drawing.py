"""What a viewer draws and sends to its page: shapes, places, colours; far away capsules, and the tree of bodies."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw

pytest.importorskip("viser", reason="the extra `viewer` is not installed")

from linkwork.viewer.frames import quaternions, turn_up
from linkwork.viewer.server import open_server
from linkwork.viewer.shapes import prototypes
from linkwork.viewer.shapes.bodies import tree_html, tree_lines
from linkwork.viewer.shapes.colors import ACTIVE, by_activity, rigid_groups
from linkwork.viewer.shapes.detail import Detail, eye
from linkwork.viewer.shapes.drawing import BATCH, Drawing
from linkwork.viewer.shapes.instances import instances_of


@pytest.fixture(scope="module")
def server():
    made = open_server(port=0)
    yield made
    made.stop()


# ------------------------------------------------------------------------------------------------------------ what is drawn


@pytest.mark.parametrize("sides", [8, 20])
@pytest.mark.parametrize(
    ("kind", "volume"),
    [("box", 1.0), ("sphere", 4 / 3 * np.pi), ("cylinder", np.pi), ("capsule", 4 / 3 * np.pi + 3 * np.pi)],
)
def test_prototypes_are_closed_and_turned_outward(kind, volume, sides):
    """The divergence theorem gives the volume, which polygons inscribed in circles only come near to from below."""
    made = {
        "box": prototypes.box,
        "sphere": lambda: prototypes.sphere(sides),
        "cylinder": lambda: prototypes.cylinder(sides),
        "capsule": lambda: prototypes.capsule(3.0, sides),
    }[kind]()
    a, b, c = np.moveaxis(made.points[made.faces], 1, 0)
    found = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0
    loss = 1.0 - np.sinc(2.0 / sides)  # of the area of a circle
    assert volume * (1.0 - 4.0 * loss) <= found <= volume * (1.0 + rounding(steps=len(made.faces)))
    assert np.linalg.norm(np.cross(b - a, c - a).sum(axis=0)) < rounding(scale=volume, steps=len(made.faces))


def test_every_shape_is_drawn_where_it_is(tmp_path):
    mesh = tmp_path / "corner.obj"
    mesh.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    linkage = lw.Linkage("shapes")
    here = lw.Pose(xyz=(0.0, 0.0, 2.0))
    shapes = [
        lw.Box((1.0, 2.0, 3.0), placement=here),
        lw.Sphere(0.5, placement=here),
        lw.Cylinder(0.5, 2.0, placement=here),
        lw.Capsule(0.5, 2.0, placement=here),
        lw.Mesh("corner.obj", (2.0, 2.0, 2.0), str(mesh), placement=here),
    ]
    half = [(0.5, 1.0, 1.5), (0.5,) * 3, (0.5, 0.5, 1.0), (0.5, 0.5, 1.5), None]
    for k, shape in enumerate(shapes):
        linkage.add_body(
            f"b{k}", joint=lw.Revolute((0, 0, 1)), inertia=lw.Inertia(1.0, (0, 0, 0), (1, 1, 1)), shapes=[shape]
        )
    model = linkage.compile()
    instances = instances_of(model)
    assert instances.kind.size == 5
    corners = instances.corners(lw.body_poses(model, model.neutral())).reshape(5, 8, 3)
    for row, body in enumerate(instances.body.tolist()):
        size = half[int(model.body_names[body][1:])]
        low, high = (-np.array(size), np.array(size)) if size else (np.zeros(3), np.full(3, 2.0))
        np.testing.assert_allclose(corners[row].min(axis=0), low + here.xyz, atol=1e-12)
        np.testing.assert_allclose(corners[row].max(axis=0), high + here.xyz, atol=1e-12)


def test_bodies_without_shapes_get_bones():
    linkage = lw.Linkage("bare")
    rod = lw.Inertia(1.0, (0, 0, -0.5), (0.1, 0.1, 0.01))
    linkage.add_body("upper", joint=lw.Revolute((0, 1, 0)), inertia=rod)
    linkage.add_body("lower", "upper", lw.Revolute((0, 1, 0)), lw.Pose(xyz=(0, 0, -1)), rod)
    model = linkage.compile()
    corners = instances_of(model).corners(lw.body_poses(model, model.neutral()))
    assert sorted(instances_of(model).body.tolist()) == [0, 1]
    assert -2.1 < corners[:, 2].min() < -1.9
    assert abs(corners[:, 2].max()) < 0.1


def test_a_mesh_that_cannot_be_read_is_reported_and_replaced(tmp_path):
    broken = tmp_path / "broken.stl"
    broken.write_bytes(b"not a mesh")
    linkage = lw.Linkage("broken")
    shape = lw.Mesh("broken.stl", path=str(broken))
    linkage.add_body("b", joint=lw.Revolute((0, 1, 0)), inertia=lw.Inertia(1, (0, 0, 1), (1, 1, 1)), shapes=[shape])
    with pytest.warns(UserWarning, match=r"broken\.stl.*not drawn"):
        assert instances_of(linkage.compile()).kind.size == 1  # a bone


def test_quaternions_turn_as_matrices_do():
    rng = np.random.default_rng(0)
    q = rng.normal(size=(50, 4))
    q[:4] = np.eye(4)  # half turns, where the naive formula divides by zero
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    R = np.array([lw.Pose(quaternion=tuple(x)).matrix[:3, :3] for x in q])
    np.testing.assert_allclose(np.abs(np.einsum("ij,ij->i", quaternions(R), q)), 1.0, atol=rounding(steps=10))


@pytest.mark.parametrize("up", [(0, 0, 1), (0, 1, 0), (0, 0, -1), (0.6, 0, 0.8)])
def test_the_ground_is_turned_up(up):
    R = turn_up(np.array(up, dtype=float))
    np.testing.assert_allclose(R @ [0, 0, 1], up, atol=rounding(steps=10))
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=rounding(steps=10))


# ------------------------------------------------------------------------------------------------------------- what is sent


def known_to_page(drawing: Drawing) -> np.ndarray:
    """Poses of all instances as the page has them, from the properties of its nodes."""
    X = np.zeros((drawing.instances.kind.size, 4, 4))
    for batch in drawing.batches:
        node = lw.Pose(xyz=tuple(batch.handle.position), quaternion=tuple(batch.handle.wxyz)).matrix
        places, turns = batch.handle.batched_positions.astype(float), batch.handle.batched_wxyzs.astype(float)
        for k, row in enumerate(batch.rows):
            X[row] = node @ lw.Pose(xyz=tuple(places[k]), quaternion=tuple(turns[k])).matrix
    return X


def test_only_what_moved_is_sent_and_the_page_has_it_right(server):
    n = 3 * BATCH
    model = lw.library.chain(n).compile()
    instances = instances_of(model)
    q = model.neutral().q.copy()
    T = lw.body_poses(model, model.state(q))
    size = float(np.ptp(T[:, :3, 3], axis=0).max())
    drawing = Drawing(server.scene, "sent", instances, T, np.zeros((n, 3), dtype=np.uint8), size)
    assert drawing.move(T) == 0
    q[model.q_slice(2 * BATCH + 10)] = 0.3  # bends within the third batch: only that one moves
    bent = lw.body_poses(model, model.state(q))
    assert drawing.move(bent) == 1
    assert drawing.sent["nodes"] == 0
    q[model.q_slice(0)] = 0.2  # all as one rigid body
    turned = lw.body_poses(model, model.state(q))
    before = dict(drawing.sent)
    assert drawing.move(turned) == len(drawing.batches)
    assert drawing.sent["instances"] == before["instances"]
    assert drawing.sent["nodes"] == 7 * len(drawing.batches)
    single = 1e-6 * size  # the page has single precision: 6e-8, through a node and a quaternion
    np.testing.assert_allclose(
        known_to_page(drawing)[:, :3, 3], instances.world_poses(turned)[:, :3, 3], atol=20 * single
    )
    drawing.remove()


def test_colours_are_sent_where_they_changed(server):
    n = 2 * BATCH
    model = lw.library.chain(n).compile()
    colors = np.full((n, 3), 100, dtype=np.uint8)
    T = lw.body_poses(model, model.neutral())
    drawing = Drawing(server.scene, "painted", instances_of(model), T, colors, 1.0)
    assert drawing.paint(colors) == 0
    colors = colors.copy()
    colors[5] = ACTIVE
    assert drawing.paint(colors) == 1
    drawing.remove()


@pytest.mark.parametrize("shape", ["chain", "tree"])
def test_what_is_far_away_is_drawn_as_capsules(server, shape):
    """Near: every body. Far: a capsule for each cluster, which hides its bodies; each body is shown once."""
    n = 2000
    model = (lw.library.chain(n) if shape == "chain" else lw.library.random_tree(n, seed=1)).compile()
    instances = instances_of(model)
    T = lw.body_poses(model, model.neutral())
    size = float(np.ptp(T[:, :3, 3], axis=0).max())
    detail = Detail(model, instances)
    assert sorted(detail.order.tolist()) == list(range(n))
    drawing = Drawing(server.scene, f"far {shape}", instances, T, np.full((n, 3), 200, dtype=np.uint8), size, detail)
    listened = []
    drawing.listen(lambda handle: listened.append(handle.name))
    near, far = (eye(np.array([0.0, -away * size, 0.0]), 0.7, 1000.0) for away in (1e-6, 1e4))
    drawing.move(T, [near])
    shown = drawing.drawn
    drawing.move(T, [far])
    assert drawing.drawn < shown / 50
    hidden = [batch for batch in drawing.batches if not batch.handle.visible]
    assert len(hidden) == len(drawing.batches)
    capsules = drawing.capsules
    assert capsules.name in listened
    assert drawing.body_of(capsules.handles[0], 0) in range(n)
    assert drawing.move(T, [far]) == 0  # nothing moved: nothing is sent
    moved = T.copy()
    moved[:, 0, 3] += size
    assert drawing.move(moved, [far]) == 1
    assert drawing.paint(np.full((n, 3), 100, dtype=np.uint8)) > 0
    assert (
        capsules.handles[0].batched_colors == 33
    ).all()  # 255 (100/255)^2.2: a page takes colours for amounts of light
    drawing.move(moved, [near, far])  # the nearest decides
    assert not capsules.handles or drawing.drawn > shown / 4
    drawing.remove()


def test_rigid_groups_are_those_between_active_joints():
    model = lw.library.random_tree(60, seed=3).compile()
    active = np.array([4, 17, 30, 41])
    group = rigid_groups(model.parent, active)
    for i, above in enumerate(model.parent.tolist()):
        assert group[i] == (i if i in active else group[above] if above >= 0 else -1)
    colors = by_activity(model, active)
    assert (colors[active] == ACTIVE).all()
    rest = np.setdiff1d(np.arange(60), active)
    assert (colors[rest] == colors[rest][:, :1]).all()  # grey
    for first in set(group[rest].tolist()):
        assert len({tuple(c) for c in colors[rest][group[rest] == first].tolist()}) == 1


def test_the_tree_is_searched_and_its_names_are_text():
    linkage = lw.Linkage("names")
    inertia = lw.Inertia(1.0, (0, 0, 0), (1, 1, 1))
    linkage.add_body("<b>hip</b>", joint=lw.Revolute((0, 0, 1)), inertia=inertia)
    linkage.add_body("Knee", "<b>hip</b>", lw.Revolute((0, 0, 1)), inertia=inertia)
    model = linkage.compile()
    assert tree_lines(model) == ([(0, "<b>hip</b>"), (0, "Knee")], 0)
    assert tree_lines(model, "knee") == ([(0, "Knee")], 0)
    assert tree_lines(model, most=1) == ([(0, "<b>hip</b>")], 1)
    assert "<b>" not in tree_html(model)
    assert {depth for depth, _ in tree_lines(lw.library.chain(50).compile())[0]} == {0}  # one column for a chain
    assert max(depth for depth, _ in tree_lines(lw.library.binary_tree(7).compile())[0]) >= 2
    assert "no body" in tree_html(model, "elbow")


def test_speeds_of_a_page():
    from linkwork.viewer.controls.player import SPEEDS, speed_of

    assert [speed_of(word, 3.0) for word in SPEEDS] == [float(word) for word in SPEEDS]
    assert {speed_of(odd, 3.0) for odd in ("-1", "nan", None, 7, [])} == {3.0}  # a page may send anything
