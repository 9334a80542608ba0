"""What compiling merges: bodies on fixed joints become frames, massless links become compound joints. Physics stays."""

import numpy as np
import pytest

import linkwork as lw

ROUNDING = 1e-12  # the same mechanism in other numbers: sums in another order, a few hundred roundings


def random_inertia(rng, mass=None) -> lw.Inertia:
    box = lw.Inertia.box(mass or rng.uniform(0.5, 2.0), rng.uniform(0.1, 0.5, 3))
    return box.at(random_pose(rng))


def random_pose(rng) -> lw.Pose:
    return lw.Pose(xyz=rng.uniform(-0.5, 0.5, 3), quaternion=rng.normal(size=4))


def unit_axis(rng) -> tuple[float, ...]:
    return tuple(rng.normal(size=3).tolist())


@pytest.fixture
def welded_tree(rng) -> lw.Linkage:
    """Moving and welded bodies by turns, welds upon welds, a weld on the world and one on a weld on the world."""
    linkage = lw.Linkage("welded")
    linkage.add_body("post", "world", lw.Fixed(), random_pose(rng), random_inertia(rng))
    linkage.add_body("bracket", "post", lw.Fixed(), random_pose(rng), random_inertia(rng))
    joints = {
        "shoulder": ("bracket", lw.Revolute(unit_axis(rng))),
        "plate": ("shoulder", lw.Fixed()),
        "camera": ("plate", lw.Fixed()),
        "elbow": ("plate", lw.Spherical()),
        "wrist": ("elbow", lw.Prismatic(unit_axis(rng))),
        "tool": ("wrist", lw.Fixed()),
        "second_tree": ("world", lw.Free()),
        "badge": ("second_tree", lw.Fixed()),
    }
    for name, (parent, joint) in joints.items():
        linkage.add_body(name, parent, joint, random_pose(rng), random_inertia(rng))
    linkage.add_body("marker", "camera", lw.Fixed(), random_pose(rng))  # massless, always a frame
    return linkage


def test_fixed_merging_changes_names_not_physics(welded_tree, rng):
    merged, kept = welded_tree.compile(), welded_tree.compile(merge_fixed=False)
    assert merged.body_names == ("shoulder", "elbow", "wrist", "second_tree")
    assert kept.n_bodies == 10  # all but the massless marker
    assert (merged.nq, merged.nv) == (kept.nq, kept.nv)
    # what is welded to the world does not move, so it has no part in the energy and is left out when merged
    still = sum(welded_tree[name].inertia.mass for name in ("post", "bracket"))
    assert merged.mass.sum() + still == pytest.approx(kept.mass.sum(), rel=ROUNDING)

    state = merged.random_state(rng)
    a, b = lw.energy(merged, state), lw.energy(kept, state)
    assert a.kinetic == pytest.approx(b.kinetic, rel=ROUNDING)
    poses = lw.body_poses(kept, state)
    standing = 9.81 * sum(
        body.inertia.mass * (poses[kept.body(name)] @ [*body.inertia.com, 1.0])[2]
        for name in ("post", "bracket")
        for body in [welded_tree[name]]
    )
    assert a.potential + standing == pytest.approx(b.potential, rel=ROUNDING)
    np.testing.assert_allclose(lw.forward_dynamics(merged, state), lw.forward_dynamics(kept, state), rtol=1e-9)
    np.testing.assert_allclose(lw.mass_matrix(merged, state), lw.mass_matrix(kept, state), rtol=1e-9, atol=1e-12)


def test_welded_bodies_live_on_as_frames(welded_tree, rng):
    merged, kept = welded_tree.compile(), welded_tree.compile(merge_fixed=False)
    state = merged.random_state(rng)
    in_merged, in_kept = lw.body_poses(merged, state), lw.body_poses(kept, state)
    for body in welded_tree:
        frame = merged.frame(body.name)
        host = np.eye(4) if frame.body < 0 else in_merged[frame.body]
        other = kept.frame(body.name)
        expected = in_kept[other.body] @ other.pose.matrix
        np.testing.assert_allclose(host @ frame.pose.matrix, expected, atol=ROUNDING)
    assert merged.body("post") == merged.body("bracket") == merged.body("world") == -1
    assert merged.body("camera") == merged.body("marker") == merged.body("shoulder")


def test_shapes_move_with_the_weld():
    linkage = lw.Linkage("shapes")
    linkage.add_body("arm", "world", lw.Revolute(), inertia=lw.Inertia.sphere(1.0, 0.1), shapes=[lw.Sphere(0.1)])
    lens = lw.Sphere(0.02, placement=lw.Pose(xyz=(1, 0, 0)))
    linkage.add_body("camera", "arm", placement=lw.Pose(xyz=(0, 2, 0)), shapes=[lens])
    linkage.add_body("ground", "world", placement=lw.Pose(xyz=(0, 0, -1)), shapes=[lw.Box((9, 9, 1))])
    shapes = linkage.compile().shapes
    assert [(body, type(shape), shape.placement.xyz) for body, shape in shapes] == [
        (0, lw.Sphere, (0, 0, 0)),
        (0, lw.Sphere, (1, 2, 0)),
        (-1, lw.Box, (0, 0, -1)),
    ]


def test_a_weld_gives_mass_to_a_massless_body(rng):
    """The usual root of a URDF file: an empty link with the real one welded to it."""
    linkage = lw.Linkage("lent")
    linkage.add_body("empty", "world", lw.Revolute((0, 1, 0)))
    linkage.add_body("full", "empty", lw.Fixed(), lw.Pose(xyz=(0, 0, -1)), lw.Inertia.point_mass(2.0))
    model = linkage.compile()
    assert model.body_names == ("empty",)
    qdd = lw.forward_dynamics(model, model.state(q=[0.5]))
    assert qdd == pytest.approx(-9.81 * np.sin(0.5), rel=ROUNDING)


def massless_arm(rng, massless: float) -> lw.Linkage:
    """Three joints whose two inner links weigh `massless` kg, with every option set, then a link and a tip."""
    linkage = lw.Linkage("massless")
    options = {"damping": 0.3, "stiffness": 2.0, "rest": 0.2, "armature": 0.01}
    joints = [
        lw.Revolute(unit_axis(rng), **options),
        lw.Prismatic(unit_axis(rng), damping=0.1),
        lw.Universal(unit_axis(rng), unit_axis(rng), stiffness=(1.0, 2.0)),
        lw.Revolute(unit_axis(rng)),
    ]
    parent = "world"
    for i, joint in enumerate(joints):
        inertia = lw.Inertia.sphere(massless, 0.1) if i < 2 else random_inertia(rng)
        linkage.add_body(f"link_{i}", parent, joint, random_pose(rng), inertia)
        parent = f"link_{i}"
    return linkage


def test_massless_links_are_the_limit_of_light_ones(rng):
    seed = int(rng.integers(1000))
    model = massless_arm(np.random.default_rng(seed), 0.0).compile()
    assert model.body_names == ("link_2", "link_3")
    assert model.nv == 5
    state = model.random_state(rng)
    limit = lw.forward_dynamics(model, state)
    errors = []
    for mass in (1e-4, 1e-6):
        light = massless_arm(np.random.default_rng(seed), mass).compile()
        errors.append(np.abs(lw.forward_dynamics(light, state) - limit).max() / np.abs(limit).max())
    assert errors[0] < 1e-2  # links of 0.1 g among links of 1 kg: a difference of that order
    assert errors[1] == pytest.approx(errors[0] / 100, rel=0.05)  # which goes to zero linearly with the mass
    np.testing.assert_allclose(lw.forward_dynamics(model, state, algorithm="dense"), limit, rtol=1e-9)


def test_a_merged_body_is_named_with_the_one_to_ask_for(rng):
    linkage = massless_arm(rng, 0.0)
    linkage.add_body("sticker", "link_0", shapes=[lw.Sphere(0.1)])
    model = linkage.compile()
    for name in ("link_0", "link_1", "sticker"):
        with pytest.raises(lw.ModelError, match=f"'{name}' has no mass .* joint of 'link_2'"):
            model.body(name)
    assert model.shapes == ()
    (warning,) = model.warnings
    assert "'sticker'" in warning
    assert "shapes are left out" in warning


def test_several_trees_and_floating_bases(rng):
    linkage = lw.Linkage("forest")
    for tree in range(3):
        linkage.add_body(f"base_{tree}", "world", lw.Free(), random_pose(rng), random_inertia(rng))
        linkage.add_body(f"arm_{tree}", f"base_{tree}", lw.Revolute(), random_pose(rng), random_inertia(rng))
    model = linkage.compile()
    assert (model.parent == -1).sum() == 3
    assert model.nv == 21
    M = lw.mass_matrix(model, model.random_state(rng))
    for tree in range(3):  # trees do not feel each other
        rows = slice(7 * tree, 7 * tree + 7)
        assert not np.delete(M[rows], np.r_[rows], axis=1).any()
