"""Bodies near each other along a tree that are drawn into each other: named once, left out, without a cost per step."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw


def fork(gap: float, parent: str = "hub") -> lw.Linkage:
    """Two rods of radius 0.05 m side by side on a hub, their axes `gap` apart."""
    linkage = lw.Linkage("fork")
    linkage.add_body("hub", "world", lw.Free(), lw.Pose(), lw.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    for k, name in enumerate(("left", "right")):
        rod = lw.Capsule(0.05, 0.3, placement=lw.Pose((0, 0, -0.2)))
        place = lw.Pose(((k - 0.5) * gap, 0.0, 0.0))
        part = lw.Inertia.box(1.0, (0.1, 0.1, 0.3)).at(lw.Pose((0, 0, -0.2)))
        linkage.add_body(name, parent, lw.Revolute((0, 1, 0)), place, part, shapes=[rod])
    return linkage


@pytest.mark.parametrize("make", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_siblings_that_overlap_at_zero_coordinates_are_named_and_left_out(make):
    model = fork(0.04).compile()
    with pytest.warns(lw.LinkworkWarning, match="'left' and 'right'") as warned:
        sim = make(model, model.neutral(), contact=lw.Contact())
    assert len(warned) == 1
    sim.step(1e-3, 20)
    assert not sim.contacts
    assert sim.state.q[7:] == pytest.approx([0.0, 0.0], abs=1e-9)  # nothing pushes them apart


def test_siblings_that_are_drawn_apart_touch():
    model = fork(0.2).compile()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim = lw.FullDynamics(model, model.neutral(), contact=lw.Contact())
    sim.set_effort("left", [-5.0])
    sim.set_effort("right", [5.0])
    sim.step(1e-3, 400)
    assert {frozenset((c.body, c.other)) for c in sim.contacts} == {frozenset(("left", "right"))}


def test_bodies_of_the_world_are_no_siblings():
    """Two bodies that begin inside each other in the world are pushed apart, as before."""
    model = fork(0.04, parent="world").compile()
    with pytest.warns(lw.LinkworkWarning, match="inside each other"):
        lw.FullDynamics(model, model.neutral(), contact=lw.Contact())


def test_pairs_that_are_ignored_already_are_not_named():
    linkage = fork(0.04)
    linkage.ignore_contact.append(("left", "right"))
    model = linkage.compile()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.FullDynamics(model, model.neutral(), contact=lw.Contact())


def stack(gap: float) -> lw.Linkage:
    """A torso and a chest of 0.2 m, and between them a small link that joins both; the chest `gap` above the torso."""
    linkage = lw.Linkage("stack")
    box = lw.Inertia.box(1.0, (0.2, 0.2, 0.2))
    linkage.add_body("torso", "world", lw.Free(), lw.Pose(), box, shapes=[lw.Box((0.2, 0.2, 0.2))])
    linkage.add_body("waist", "torso", lw.Revolute((0, 1, 0)), lw.Pose((0, 0, 0.1)), lw.Inertia.sphere(0.1, 0.02))
    chest = [lw.Box((0.2, 0.2, 0.2))]
    linkage.add_body("chest", "waist", lw.Revolute((1, 0, 0)), lw.Pose((0, 0, 0.1 + gap)), box, shapes=chest)
    return linkage


def test_a_body_and_the_one_beyond_its_child_are_left_out_where_they_overlap():
    model = stack(-0.05).compile()
    with pytest.warns(lw.LinkworkWarning, match="'torso' and 'chest'") as warned:
        sim = lw.FullDynamics(model, model.neutral(), contact=lw.Contact())
    assert len(warned) == 1
    sim.step(1e-3, 20)
    assert not sim.contacts


def test_a_body_and_the_one_beyond_its_child_touch_where_they_are_drawn_apart():
    model = stack(0.02).compile()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim = lw.FullDynamics(model, model.neutral(), contact=lw.Contact())
    sim.set_effort("waist", [20.0])
    sim.step(1e-3, 300)
    assert {frozenset((c.body, c.other)) for c in sim.contacts} == {frozenset(("torso", "chest"))}


BOX = "".join(f"v {x} {y} {z}\n" for x in (-0.05, 0.05) for y in (-0.05, 0.05) for z in (-0.2, 0.0))
FACES = "f 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n"


def hulls(gap: float, folder: Path) -> lw.Linkage:
    """A torso with an arm of two links whose forearm, a hull, hangs `gap` beside the torso: three joints apart."""
    linkage = lw.Linkage("hulls")
    box = lw.Inertia.box(1.0, (0.2, 0.2, 0.2))
    file = folder / "forearm.obj"
    file.write_text(BOX + FACES)
    forearm = [lw.Mesh("forearm.obj", (1.0, 1.0, 1.0), str(file))]
    linkage.add_body("torso", "world", lw.Free(), lw.Pose(), box, shapes=[lw.Box((0.2, 0.2, 0.4))])
    above = "torso"
    for name, x, shapes in (("shoulder", 0.15 + gap, []), ("upper", 0.0, []), ("forearm", 0.0, forearm)):
        linkage.add_body(name, above, lw.Revolute((0, 1, 0)), lw.Pose((x, 0, 0)), box, shapes=shapes)
        above = name
    return linkage


@pytest.mark.parametrize("make", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_a_hull_that_begins_inside_another_body_of_its_tree_is_named_and_left_out(make, tmp_path):
    model = hulls(-0.03, tmp_path).compile()
    with pytest.warns(lw.LinkworkWarning, match="'torso' and 'forearm'") as warned:
        sim = make(model, model.neutral(), contact=lw.Contact())
    assert len(warned) == 1
    sim.step(1e-3, 20)
    assert not sim.contacts


def test_a_hull_that_begins_apart_is_not_named(tmp_path):
    model = hulls(0.02, tmp_path).compile()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.FullDynamics(model, model.neutral(), contact=lw.Contact())


def bolted(gap: float) -> lw.Linkage:
    """The same torso, waist and chest with the torso fixed to the world, and a wall that is fixed there beside them."""
    linkage = stack(gap)
    linkage.edit_body("torso", joint=lw.Fixed())
    slab = lw.Box((0.02, 1.0, 1.0))
    linkage.add_body(
        "wall", "world", lw.Fixed(), lw.Pose((0.14, 0.0, 0.3)), lw.Inertia.box(1.0, slab.size), shapes=[slab]
    )
    return linkage


@pytest.mark.parametrize("make", [lw.FullDynamics, lw.AdaptiveDynamics])
@pytest.mark.parametrize("self_contact", [True, False])
def test_a_base_that_is_fixed_to_the_world_is_left_out_as_one_that_floats(make, self_contact):
    """The chest, drawn into the torso, is not pushed out of it; into the wall, fixed to the world too, it does not go."""
    model = bolted(-0.05).compile()
    with pytest.warns(lw.LinkworkWarning, match="'chest' and 'torso'") as warned:
        sim = make(model, model.neutral(), contact=lw.Contact(self_contact=self_contact))
    assert len(warned) == 1
    sim.step(1e-3, 20)
    assert not sim.contacts
    sim.set_motor("waist", position=1.4, stiffness=100.0, damping=10.0)
    sim.step(1e-3, 1000)
    assert {(c.body, c.other) for c in sim.contacts} == {("chest", "world")}
    assert sim.closest("chest", "wall").distance > -1e-3
    assert sim.closest("chest", "torso").distance < 0.0


def test_a_body_touches_a_base_from_which_it_is_drawn_apart():
    """Turned down by its waist, the chest lies on the torso."""
    model = bolted(0.12).compile()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim = lw.FullDynamics(model, model.neutral(), contact=lw.Contact())
    sim.set_motor("waist", position=-2.0, stiffness=100.0, damping=10.0)
    sim.step(1e-3, 1500)
    assert {(c.body, c.other) for c in sim.contacts} == {("chest", "world")}
    assert sim.closest("chest", "torso").distance == pytest.approx(0.0, abs=2e-3)


def test_an_open_mesh_on_a_base_is_its_hull(tmp_path):
    """A robot's file may draw its base with holes. As on bodies that move, the hull of it touches."""
    file = tmp_path / "base.obj"
    file.write_text(BOX + FACES[: FACES.index("f 2 6")])  # without its upper face, at z = 0
    linkage = lw.Linkage("base")
    mesh = lw.Mesh("base.obj", (1.0, 1.0, 1.0), str(file))
    linkage.add_body("base", "world", lw.Fixed(), lw.Pose(), lw.Inertia.box(1.0, (0.1, 0.1, 0.2)), shapes=[mesh])
    ball = lw.Sphere(0.02)
    linkage.add_body("ball", "world", lw.Free(), lw.Pose((0, 0, 0.03)), lw.Inertia.sphere(0.1, 0.02), shapes=[ball])
    model = linkage.compile()
    with pytest.warns(lw.LinkworkWarning, match="'base': mesh 'base.obj' is not closed"):
        sim = lw.FullDynamics(model, model.neutral(), contact=lw.Contact())
    sim.step(1e-3, 500)
    assert sim.closest("ball", "base").distance == pytest.approx(0.0, abs=1e-4)
    (point,) = sim.contacts
    assert point.force[2] == pytest.approx(0.1 * 9.81)
    linkage.remove_body("base")
    linkage.add_obstacle("base", mesh)
    with pytest.raises(lw.ModelError, match="is not closed"):
        lw.FullDynamics(linkage.compile(), linkage.compile().neutral(), contact=lw.Contact())


def test_more_contacts_than_memory_holds_are_an_error_that_says_so(monkeypatch):
    from linkwork.simulation.contact_step import contact_state

    linkage = lw.Linkage("boxes")
    box = lw.Box((0.1, 0.1, 0.1))
    for k in range(20):
        pose = lw.Pose((0.2 * k, 0.0, 0.06))
        linkage.add_body(f"box_{k}", "world", lw.Free(), pose, lw.Inertia.box(1.0, box.size), shapes=[box])
    linkage.add_obstacle("floor", lw.Plane())
    model = linkage.compile()
    sim = lw.FullDynamics(model, model.neutral(), contact=lw.Contact())
    monkeypatch.setattr(contact_state, "has_memory_for", lambda rows: False)
    with pytest.raises(lw.StateError, match="needs 80 contacts, more than memory holds"):
        sim.step(1e-3, 200)
    assert sim.steps_done > 0
    monkeypatch.undo()
    sim.step(1e-3, 200)  # it goes on where it was
    assert len(sim.contacts) == 80


def thick_cable(links, length=0.002, radius=0.0045, curl=0.0):
    """A cable whose links are shorter than thick, hung up at one end; each reaches into five on both sides, not six."""
    linkage = lw.library.chain(joints=links, length=length, radius=radius, mass=1e-3)
    model = linkage.compile()
    return model, lw.State(np.full(model.nq, curl), np.zeros(model.nv))


@pytest.mark.parametrize("links", [12, 2500])
def test_links_of_a_cable_that_are_shorter_than_thick_do_not_touch_those_they_reach_into(links):
    """At any number of links; it was two joints apart alone, and only as many as a list of 4,096 contacts held."""
    model, state = thick_cable(links)
    with pytest.warns(lw.LinkworkWarning, match="along its tree"):
        sim = lw.FullDynamics(model, state, contact=lw.Contact())
    sim.step(1e-3, 3)
    assert not sim.contacts


@pytest.mark.parametrize("seed", range(5))
def test_runs_of_bodies_that_overlap_on_random_trees(seed):
    """Left out are neighbours that overlap, and ends of longer ways whose two next shorter parts are left out already."""
    rng = np.random.default_rng(seed)
    linkage = lw.Linkage("tree")
    for i in range(25):
        parent = f"b{rng.integers(max(0, i - 3), i)}" if i else "world"
        place, radius = lw.Pose(tuple(0.02 * rng.normal(size=3))), float(rng.uniform(0.01, 0.04))
        inertia, shapes = lw.Inertia.sphere(0.1, radius), [lw.Sphere(radius)] if rng.random() < 0.9 else []
        linkage.add_body(f"b{i}", parent, lw.Spherical() if i else lw.Free(), place, inertia, shapes=shapes)
    model = linkage.compile()
    at, parent = lw.body_poses(model, model.neutral())[:, :3, 3], model.parent
    radius = {body: shape.radius for body, shape in model.shapes}
    margin = 1e-3 * np.mean(list(radius.values()))
    up = [[i] for i in range(25)]
    for i in range(1, 25):
        up[i] += up[parent[i]]
    wanted, ways = set(), {}
    for a in range(25):
        for b in range(a):
            top = next(i for i in up[a] if i in up[b])
            ways[b, a] = [*up[b][: up[b].index(top) + 1], *up[a][: up[a].index(top)][::-1]]
    for (b, a), way in sorted(ways.items(), key=lambda each: len(each[1])):
        depth = radius.get(a, -9.0) + radius.get(b, -9.0) - np.linalg.norm(at[a] - at[b])
        inner = [tuple(sorted(pair)) for pair in ((way[0], way[-2]), (way[1], way[-1]))]
        if (len(way) == 3 and depth > margin) or (len(way) > 3 and depth > -margin and wanted.issuperset(inner)):
            wanted.add((b, a))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)
        sim = lw.FullDynamics(model, model.neutral(), contact=lw.Contact())
    assert len(wanted) > 10
    assert {tuple(pair) for pair in sim.view.contact.left_out.tolist()} == wanted


@pytest.mark.parametrize("links", [12, 2000])
def test_links_that_one_just_reaches_do_not_touch_it(links):
    """Where links are four times as thick as long, the fifth touches the first at a distance of zero, to rounding."""
    model, state = thick_cable(links, radius=0.004, curl=1e-4)
    with pytest.warns(lw.LinkworkWarning, match="along its tree"):
        sim = lw.FullDynamics(model, state, contact=lw.Contact())
    sim.step(1e-3, 3)
    assert not sim.contacts


def test_a_cable_still_touches_itself_where_it_curls_up():
    """Ends of a cable that meet at zero coordinates of nothing else between them are not left out."""
    model, state = thick_cable(40, curl=2 * math.pi / 30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)
        sim = lw.FullDynamics(model, state, contact=lw.Contact())
    sim.step(1e-5)
    apart = [abs(int(model.body(c.body)) - int(model.body(c.other))) for c in sim.contacts]
    assert apart
    assert min(apart) > 5


def test_ends_of_a_ring_that_overlap_are_not_a_run():
    """They overlap at zero coordinates, but the bodies between them do not reach them."""
    linkage = lw.Linkage("ring", gravity=(0, 0, 0))
    turn = lw.Pose((0.1, 0, 0), rpy=(0, 0, 2 * math.pi / 6))
    for k in range(7):
        joint, place = (lw.Revolute((0, 0, 1)), turn) if k else (lw.Free(), lw.Pose())
        parent = f"link_{k - 1}" if k else "world"
        shape = lw.Capsule(0.01, 0.06, placement=lw.Pose((0.05, 0, 0), rpy=(0, math.pi / 2, 0)))
        linkage.add_body(f"link_{k}", parent, joint, place, lw.Inertia.sphere(0.1, 0.03), shapes=[shape])
    model = linkage.compile()
    with pytest.warns(lw.LinkworkWarning, match="inside each other"):
        sim = lw.FullDynamics(model, model.neutral(), contact=lw.Contact())
    sim.step(1e-3)
    assert {(c.body, c.other) for c in sim.contacts} <= {("link_0", "link_6"), ("link_6", "link_0")}
    assert sim.contacts
