"""Re-rooting changes how a mechanism is described, and nothing else.

A1: the way back restores model and state. A2: every body stays where it is. A3: every body moves as it did, with the same
energy and momentum; with free roots the same forces make the same accelerations. (Stępień et al. 2012, section 3.)
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.helpers.robots import MJCFS, NEEDED, PACKAGED, URDFS, packaged_robots
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.dynamics.quantities.reroot import NOTHING_LOST
from linkwork.model import layout
from linkwork.model.rerooting.path_motion import path_motion
from linkwork.model.rerooting.reroot import chain_of_inversion
from linkwork.model.rerooting.root_joint import nearest_coordinates
from linkwork.reference.joint_calculus import joint_pose

# Rounding of some dozens of rotations and sums of numbers of order one to ten, along paths of up to a hundred joints; a
# wrong formula shows at order one. Relative to the largest number compared.
ROUNDING = 1e-11

SMALL = {
    "pendulum": {},
    "double_pendulum": {},
    "chain": {"joints": 30},
    "coil": {"joints": 30},
    "bicycle_chain": {"links": 20},
    "snake": {"joints": 20},
    "star": {"arms": 6, "joints_per_arm": 2},
    "broom": {"handle": 6, "bristles": 6},
    "caterpillar": {"spine": 6},
    "binary_tree": {"joints": 31},
    "random_tree": {"joints": 40, "kinds": lw.library.JOINT_KINDS},
    "millipede": {"segments": 3},
    "molecule": {"joints": 60},
    "humanoid": {},
    "compass_biped": {},
}


def close(a, b, scale=None):
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    size = max(1.0, np.abs(b).max(initial=0.0)) if scale is None else scale
    np.testing.assert_allclose(a, b, rtol=0.0, atol=ROUNDING * size)


def placement(model, i):
    numbers = model.arrays.body[i, :12].tolist()
    return lw.Pose.raw(tuple(numbers[:9]), tuple(numbers[9:]))


def root_of(model, i):
    while model.parent[i] >= 0:
        i = model.parent[i]
    return int(i)


def without_armature_on(model, i):
    """The model with nothing on the joint to the world: what hangs there goes when the joint is replaced."""
    joint = model.joints[i]
    return not model.arrays.dof[model.v_slice(i)].any() and joint.nv >= 0


def bodies_to_try(model, rng, most=5):
    moving = [i for i in range(model.n_bodies) if model.parent[i] >= 0]
    far = [model.n_bodies - 1] if model.n_bodies > 1 else [0]
    return sorted({*rng.permutation(moving)[:most].tolist(), *far}) if moving else [0]


def check_laws(model, rng, bodies=None, most=5):
    """A1, A2, A3 at a random state, for some bodies."""
    state = model.random_state(rng)
    a = rng.normal(size=model.nv)
    T, V, h = lw.body_poses(model, state), lw.body_twists(model, state), lw.momentum(model, state)
    some = np.unique(rng.integers(model.n_bodies, size=12))
    accelerations = body_accelerations(model, state, a, some)
    for i in bodies_to_try(model, rng, most) if bodies is None else bodies:
        there = lw.reroot(model, state, i, acceleration=a)
        new, at, order = there.model, there.state, there.old_index
        assert new.parent[new.body(model.body_names[i])] == -1
        close(lw.body_poses(new, at), T[order])  # A2
        close(lw.body_twists(new, at), V[order])  # A3
        close(np.concatenate(lw.momentum(new, at)), np.concatenate(h))
        place = np.argsort(order)[some]
        close(body_accelerations(new, at, there.acceleration, place), accelerations)
        old_root = root_of(model, i)
        if without_armature_on(model, old_root):
            energy, before = lw.energy(new, at), lw.energy(model, state)
            close(energy, before)
        back = lw.reroot(  # A1
            new, at, model.body_names[old_root], placement(model, old_root), model.joints[old_root],
            acceleration=there.acceleration, near=state.q[model.q_slice(old_root)],
        )  # fmt: skip
        check_same_model(back.model, model)
        close(model.difference(state.q, back.state.q), 0.0)
        close(back.state.v, state.v)
        close(back.acceleration, a)


def check_same_model(one, other):
    assert one.body_names == other.body_names
    assert one.joint_names == other.joint_names
    assert one.shapes == other.shapes
    assert one.frames == other.frames
    assert one.joint_parts == other.joint_parts
    for what in ("couplings", "actuators", "sensors", "rods"):
        assert getattr(one, what) == getattr(other, what)
    for a, b in zip(one.arrays, other.arrays, strict=True):
        assert a.dtype == b.dtype
        close(a, b)
        assert not a.flags.writeable
    for name in ("lower", "upper", "effort_limit", "velocity_limit"):
        mine, its = getattr(one, name), getattr(other, name)
        assert (np.isinf(mine) == np.isinf(its)).all()
        close(mine[np.isfinite(mine)], its[np.isfinite(its)])
    for a, b in zip(one.joints, other.joints, strict=True):
        assert (a.kind, a.nq, a.nv) == (b.kind, b.nq, b.nv)


def spatial_acceleration(model, state, a, i):
    """Of one body in its own frame, shape (6,)."""
    tree, body, screws, *_ = model.arrays
    return path_motion(tree, body, screws, *state, a, chain_of_inversion(model, i)[::-1].copy())[3]


def body_accelerations(model, state, a, bodies):
    return np.array([spatial_acceleration(model, state, a, i) for i in bodies])


def test_acceleration_is_the_rate_of_the_twist(make_tree, rng, derivative):
    """What the laws below compare accelerations with, from the twists a little earlier and later."""
    model = make_tree(3, 12)
    state, a = model.random_state(rng), rng.normal(size=model.nv)

    def twists(t):
        q = model.integrate(model.integrate(state.q, state.v, t), a, 0.5 * t * t)
        return lw.body_twists(model, lw.State(q, state.v + t * a))

    rate = derivative(twists)
    # For balls q ⊕ v t ⊕ a t²/2 has the rate v + a t up to t² v x a/2, which a centred difference does not see. The rest
    # is h⁴ at h = 1e-3 times fifth derivatives of up to 1e5.
    assert body_accelerations(model, state, a, range(12)) == pytest.approx(rate, abs=1e-6 * np.abs(rate).max())


@pytest.mark.parametrize("name", SMALL)
def test_library_models(name, rng):
    check_laws(lw.library.MODELS[name](**SMALL[name]).compile(), rng)


@pytest.mark.parametrize("shape", [{"branching": 0.0}, {"branching": 0.5}, {"branching": 1.0}, {"roots": 4}])
def test_trees_of_every_joint_kind(make_tree, rng, shape):
    for seed in range(3):
        check_laws(make_tree(seed, 12, base=lw.Free(), **shape), rng, most=4)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10_000),
    joints=st.integers(1, 25),
    branching=st.floats(0.0, 1.0),
    kinds=st.lists(st.sampled_from(lw.library.JOINT_KINDS), min_size=1, max_size=4, unique=True),
    floating=st.booleans(),
    data=st.data(),
)
def test_random_trees(seed, joints, branching, kinds, floating, data):
    model = lw.library.random_tree(joints, seed, branching, kinds=kinds, floating=floating).compile(merge_fixed=False)
    body = data.draw(st.integers(0, joints - 1))
    check_laws(model, np.random.default_rng(seed), bodies=[body])


@pytest.mark.parametrize("file", [*URDFS.values(), *MJCFS.values()], ids=lambda path: path.name)
def test_robots(file, rng):
    if file.suffix == ".xml":
        pytest.importorskip("mujoco", reason="reads MJCF")
    try:
        options = {"missing_meshes": "skip"} if file.suffix == ".urdf" else {}
        model = without_drives_on_the_world(lw.load(file, **options)).without_loops
    except lw.LinkworkError as error:
        pytest.skip(reason=f"{file.name} is not for this reader: {str(error)[:80]}")
    check_laws(model, rng, most=3)


def without_drives_on_the_world(linkage):
    """Compiled, without actuators and sensors of joints on the world, which re-rooting replaces."""
    model = linkage.compile()
    bases = {model.joint_names[i] for i in np.flatnonzero(model.parent < 0)}
    bases |= {name for name, (i, _, _) in model.joint_parts.items() if model.parent[i] < 0}
    linkage.actuators = [x for x in linkage.actuators if x.joint not in bases]
    linkage.sensors = [x for x in linkage.sensors if x.on not in bases]
    linkage.couplings = [x for x in linkage.couplings if not bases & {joint for joint, _ in x.joints}]
    return linkage.compile()


def test_robots_are_there():
    if packaged_robots() is None:
        pytest.skip(reason=NEEDED)
    assert set(URDFS) >= set(PACKAGED)


def test_one_joint_of_every_kind_is_reversed(joint, rng):
    """Two bodies and the joint between them, with springs, rotors and limits where the kind has a mirror for them."""
    pair = lw.Linkage("pair")
    plain = isinstance(joint, lw.Spherical | lw.Free | lw.Fixed)
    options = {"stiffness": 2.0} if isinstance(joint, lw.Spherical) else {}
    if isinstance(joint, lw.Spherical):
        options |= {"damping": 0.3, "armature": 0.2, "rest": tuple(joint.random(rng))}
    if not plain:
        numbers = np.arange(1.0, joint.nv + 1.0)
        options = {
            "damping": tuple(0.1 * numbers), "stiffness": tuple(numbers), "armature": tuple(0.02 * numbers),
            "rest": tuple(0.2 * numbers), "limits": tuple((-4.0 * x, 5.0 * x) for x in numbers), "effort_limit": 7.0,
        }  # fmt: skip
    loaded = lw.Compound(joint.parts, **options) if isinstance(joint, lw.Compound) else replace(joint, **options)
    inertia = lw.Inertia.box(2.0, (0.3, 0.2, 0.1)).at(lw.Pose((0.1, 0.2, 0.3), rpy=(0.3, 0.1, 0.2)))
    pair.add_body("upper", joint=lw.Free(), inertia=inertia, placement=lw.Pose((1.0, 0.0, 0.0), rpy=(0.1, 0.4, 0.2)))
    pair.add_body("lower", "upper", loaded, lw.Pose((0.3, -0.2, 0.5), rpy=(1.0, -0.4, 2.0)), inertia)
    model = pair.compile(merge_fixed=False)
    check_laws(model, rng, bodies=[1])
    state = model.random_state(rng)
    other, there = lw.reroot(model, state, "lower")
    assert lw.energy(other, there).potential == pytest.approx(
        lw.energy(model, state).potential, rel=rounding(condition=1e4)
    )
    # springs, dampers, rotors and weight act as they did: the bodies accelerate alike
    qdd = lw.forward_dynamics(model, state)
    expected = lw.reroot(model, state, "lower", acceleration=qdd).acceleration
    close(lw.forward_dynamics(other, there), expected, scale=np.abs(expected).max() * 10.0)


@pytest.mark.parametrize("algorithm", ["aba", "dense", "dca"])
def test_forces_make_the_same_accelerations_from_any_free_root(make_tree, rng, algorithm):
    """With a free root the description has no constraint of its own; wrenches keep their frames."""
    kinds = ("revolute", "universal", "screw", "spherical", "planar", "prismatic", "compound", "cylindrical")
    for seed in range(4):
        model = make_tree(seed, 10, base=lw.Free(), kinds=kinds)
        state, wrenches = model.random_state(rng), rng.normal(size=(model.n_bodies, 6))
        qdd = lw.forward_dynamics(model, state, wrenches=wrenches, algorithm=algorithm)
        for i in bodies_to_try(model, rng, 3):
            there = lw.reroot(model, state, i, acceleration=qdd)
            again = lw.forward_dynamics(there.model, there.state, None, wrenches[there.old_index], algorithm=algorithm)
            # the condition of these mass matrices, up to 1e4, multiplies rounding
            close(again, there.acceleration, scale=1e3 * np.abs(qdd).max())


def test_the_way_does_not_matter(make_tree, rng):
    """To b and then to c is the same as to c at once: numbers, tables, coordinates."""
    for seed in range(4):
        model = make_tree(seed, 14, base=lw.Free(), kinds=("revolute", "universal", "screw", "spherical", "prismatic"))
        state = model.random_state(rng)
        b, c = (model.body_names[i] for i in rng.permutation(model.n_bodies)[:2])
        place = lw.Pose((0.3, 0.2, 0.1), rpy=(0.5, 0.1, -0.4))
        once = lw.reroot(model, state, c, place, lw.Free())
        twice = lw.reroot(*lw.reroot(model, state, b), c, place, lw.Free())
        check_same_model(twice.model, once.model)
        close(once.model.difference(once.state.q, twice.state.q), 0.0)
        close(twice.state.v, once.state.v)


def test_the_same_numbers_whatever_the_order_of_children(rng):
    """Going back restores the numbering, also where the new child stood between its siblings."""
    model = lw.library.star(arms=5, joints_per_arm=2).compile()
    state = model.random_state(rng)
    for name in model.body_names:
        back = lw.reroot(*lw.reroot(model, state, name), model.body_names[0], placement(model, 0), model.joints[0])
        assert back.model.body_names == model.body_names
        assert (back.model.parent == model.parent).all()


def test_bodies_are_numbered_depth_first(make_tree, rng):
    model = make_tree(5, 20, base=lw.Free())
    for i in range(1, 20, 3):
        new = lw.reroot(model, model.random_state(rng), i).model
        last = np.arange(20)
        for k in range(19, -1, -1):
            assert new.parent[k] < k
            if new.parent[k] >= 0:
                last[new.parent[k]] = max(last[new.parent[k]], last[k])
        sizes = np.ones(20, dtype=int)
        for k in range(19, 0, -1):
            if new.parent[k] >= 0:
                sizes[new.parent[k]] += sizes[k]
        assert (last - np.arange(20) + 1 == sizes).all()  # every subtree is one run


# ------------------------------------------------------------------------------------------------------------ projection


def caught(rng, joint, body="left_hand"):
    model = lw.library.humanoid().compile()
    state = model.random_state(rng)
    pose = lw.body_poses(model, state)[model.body(body)]
    return model, state, lw.reroot(model, state, body, lw.Pose(matrix=pose), joint, project=True)


@pytest.mark.parametrize("joint", [lw.Revolute((0, 1, 0)), lw.Spherical(), lw.Fixed(), lw.Planar((0, 0, 1))])
def test_a_catch_loses_energy_and_keeps_the_momentum_of_what_is_free(rng, joint):
    model, state, result = caught(rng, joint)
    new, after = result
    loss = result.loss
    i = new.body("left_hand")
    assert loss.kinetic_energy > 0.0
    assert lw.energy(new, after).kinetic + loss.kinetic_energy == pytest.approx(
        lw.energy(model, state).kinetic, rel=1e-12
    )
    # Momentum along every freedom left: M v⁺ = what the free motion had there.
    free = lw.reroot(model, state, "left_hand", lw.Pose(matrix=lw.body_poses(model, state)[model.body("left_hand")]))
    p = lw.mass_matrix(*free) @ free.state.v
    rows = free.model.v_slice(i)
    S = lw.body_jacobian(new, after, i)[:, new.v_slice(i)]
    expected = np.concatenate([p[: rows.start], S.T @ p[rows], p[rows.stop :]])
    close(lw.mass_matrix(new, after) @ after.v, expected)
    # Carnot: the energy lost is that of the velocities lost.
    kept = np.concatenate([after.v[: rows.start], S @ after.v[new.v_slice(i)], after.v[new.v_slice(i).stop :]])
    lost = free.state.v - kept
    assert loss.kinetic_energy == pytest.approx(0.5 * lost @ lw.mass_matrix(*free) @ lost, rel=1e-9)


def test_catching_what_the_joint_can_follow_loses_nothing(rng):
    model = lw.library.chain(joints=5).compile()
    state = model.random_state(rng)
    result = lw.reroot(model, state, 3, joint=lw.Free(), project=True)
    assert result.loss is NOTHING_LOST


def test_a_second_catch_changes_nothing(rng):
    _, _, result = caught(rng, lw.Spherical())
    new, after = result
    i = new.body("left_hand")
    again = lw.reroot(new, after, "left_hand", placement(new, i), lw.Spherical(), project=True)
    close(again.state.v, after.v)
    assert again.loss.kinetic_energy == pytest.approx(0.0, abs=1e-9)


def test_projection_takes_the_nearest_pose():
    """A body turned by (0.3 about y, 0.1 about x) on a hinge about y: the nearest angle is near 0.3, 0.1 rad are lost."""
    body = lw.Linkage("plate")
    body.add_body("plate", joint=lw.Free(), inertia=lw.Inertia.box(1.0, (1.0, 1.0, 0.1)))
    model = body.compile()
    turn = lw.Pose(rpy=(0.0, 0.3, 0.0)) @ lw.Pose(rpy=(0.1, 0.0, 0.0))
    state = model.state([0.0, 0.0, 0.0, *turn.quaternion])
    result = lw.reroot(model, state, "plate", (0.0, 0.0, 0.0), lw.Revolute((0, 1, 0)), project=True)
    same = rounding(condition=1e2)  # an angle of 0.1 from a rotation matrix
    assert result.state.q[0] == pytest.approx(0.3, abs=same)
    assert result.loss.angle == pytest.approx(0.1, abs=same)


def test_world_point_and_hinge_give_the_absolute_angle():
    """At a point, the joint takes the axes the body has in the neutral configuration."""
    model = lw.library.compass_biped().compile()
    state = model.state([-0.3, 0.5], [-1.0, -2.0])
    tip = lw.body_poses(model, state)[1] @ [0.0, 0.0, -1.0, 1.0]
    hinge = lw.Revolute((0.0, -1.0, 0.0))
    with pytest.raises(lw.StateError, match=r"velocity by .* rad/s and [1-9.]+ m/s"):
        lw.reroot(model, state, "right_foot", tip[:3], hinge)
    new, after = lw.reroot(model, state, "right_foot", tip[:3], hinge, project=True)
    assert after.q[0] == pytest.approx(0.2, abs=rounding())  # -0.3 + 0.5
    assert after.q[1] == pytest.approx(-0.5, abs=rounding())  # the hip, seen from the other side
    foot = new.frame("right_foot")
    close(lw.body_poses(new, after)[foot.body] @ [*foot.pose.xyz, 1.0], tip)


def test_joint_kinds_on_the_world_are_found_again(joint, rng, make_tree):
    """From a state that the joint made, back to the same coordinates: what `nearest_coordinates` is for."""
    for _ in range(20):
        target = joint_pose(joint, joint.random(rng))
        found = nearest_coordinates(joint, target)
        assert found.angular < 1e-9
        assert found.linear < 1e-9
        close(joint_pose(joint, found.value).matrix, target.matrix, scale=100.0)


def test_shifted_inertia_is_not_needed(rng):
    """Bodies keep their rows of inertia to the last bit."""
    model = lw.library.humanoid().compile()
    there = lw.reroot(model, model.random_state(rng), "left_foot")
    rows = slice(layout.INERTIA, layout.INERTIA + 10)
    assert (there.model.arrays.body[:, rows] == model.arrays.body[there.old_index, rows]).all()


def test_loops_stay_closed(rng):
    """Joints beside the tree keep their bodies and frames, whatever numbers the bodies get."""
    four_bar = lw.library.chain(joints=6)
    four_bar.add_loop(lw.Spherical(), "link_5", "link_1", (lw.Pose((0.0, 0.0, -0.1)), lw.Pose((0.1, 0.0, 0.0))))
    four_bar.add_loop(lw.Spherical(), "link_4", "world", (lw.Pose(), lw.Pose((0.3, 0.0, 0.0))), name="ground")
    model = four_bar.compile()
    state = model.random_state(rng)
    new, after = lw.reroot(model, state, "link_3")
    T, T_new = lw.body_poses(model, state), lw.body_poses(new, after)
    for old, now in zip(model.loops, new.loops, strict=True):
        for a, b in ((old.body_a, now.body_a), (old.body_b, now.body_b)):
            if a < 0:
                assert b < 0
            else:
                close(T_new[b], T[a])
                assert new.body_names[b] == model.body_names[a]
    with pytest.raises(lw.StateError, match="has closed loops"):
        lw.reroot(model, state, "link_3", joint=lw.Fixed(), project=True)


# ------------------------------------------------------------------------------ couplings, actuators, sensors and rods

EQUIPPED_KINDS = ("revolute", "prismatic", "screw", "spherical", "universal", "planar", "cylindrical")


def equipped_tree(seed, rod_joints="ball", bodies=7):
    """A floating tree with a rod between its bodies, couplings and actuators on joints of one freedom, and sensors."""
    rng = np.random.default_rng(seed)
    tree = lw.library.random_tree(bodies, seed=seed, branching=0.5, kinds=EQUIPPED_KINDS, floating=True)
    host = list(tree)[int(rng.integers(bodies))].name
    rod = lw.rod(0.5, 4, EI=(3.0, 5.0), GJ=2.0, mass_per_length=2.0, radius=0.02, joints=rod_joints)
    rod.attach_to(tree, "cable_", start=(host, lw.Pinned(), lw.Pose((0.1, 0.2, 0.3), rpy=rng.normal(size=3))))
    place, axis = lw.Pose((0.1, 0.0, 0.1), rpy=(0.3, 0.2, 0.1)), (0.0, 0.6, 0.8)
    parent = tree.rods[0].end.body
    for name in ("wrist", "tool"):
        tree.add_body(name, parent, lw.Revolute(axis), place, lw.Inertia.box(1.0, (0.2, 0.3, 0.1)))
        parent = name
    tree.add_frame("on_tool", "tool", lw.Pose((0.1, 0.2, -0.3), rpy=(0.4, 0.5, 0.6)))
    moving = [body for body in tree if body.parent != "world"]
    single = [body.joint_name for body in moving if body.joint.nv == 1]
    drives = tree.actuators
    for k, joint in enumerate(single):
        drives.append(lw.Actuator(f"motor_{k}", joint, gear=float(rng.choice([-3.0, 2.0])), armature=0.02))
        servo = {"stiffness": 3.0, "damping": 0.2, "armature": 0.01, "effort_limit": 2.0}
        drives.append(lw.Actuator(f"servo_{k}", joint, "position", -2.0, **servo))
    for joint in (body.joint_name for body in moving):
        tree.sensors += [lw.sensors.Encoder(f"encoder_{joint}", joint), lw.sensors.Effort(f"effort_{joint}", joint)]
        tree.sensors.append(lw.sensors.ForceTorque(f"wrench_{joint}", joint))
    tree.sensors.append(lw.sensors.ForceTorque("wrench_at", "tool", at="on_tool"))
    tree.sensors += [lw.sensors.Position("place", "on_tool"), lw.sensors.Orientation("turn", "on_tool")]
    model = tree.compile()
    q = model.integrate(model.neutral().q, 0.5 * rng.normal(size=model.nv))
    values = {joint: q[model.q_slice(joint)][0] for joint in single}
    for k in range(2):
        chosen = dict(zip(rng.choice(single, 2, replace=False).tolist(), rng.normal(size=2).tolist(), strict=True))
        tree.add_coupling(f"coupling_{k}", chosen, sum(c * values[joint] for joint, c in chosen.items()))
    return tree.compile(), lw.State(q, np.zeros(model.nv))


def coupled(model, state):
    """Σ c q - offset and Σ c v of all couplings."""
    return [
        [sum(c * x[rows(joint).start] for joint, c in coupling.joints) - offset for coupling, offset in kept]
        for x, rows, kept in (
            (state.q, model.q_slice, [(x, x.offset) for x in model.couplings]),
            (state.v, model.v_slice, [(x, 0.0) for x in model.couplings]),
        )
    ]


def same(now, before, condition=1.0):
    """To 1e-12 of the largest number, times how much a solve magnifies rounding."""
    now, before = np.asarray(now, dtype=float), np.asarray(before, dtype=float)
    np.testing.assert_allclose(
        now, before, rtol=0.0, atol=1e-12 * condition * max(1.0, np.abs(before).max(initial=0.0))
    )


@pytest.mark.parametrize("rod_joints", ["ball", "hinges", "plane"])
@pytest.mark.parametrize("seed", range(3))
def test_what_names_joints_follows_them(seed, rod_joints):
    """A1 to A3 with couplings, actuators, sensors and a rod: what each says of the mechanism stays what it was."""
    model, closed = equipped_tree(seed, rod_joints)
    rng = np.random.default_rng(seed)
    state = lw.State(closed.q, 0.3 * rng.normal(size=model.nv))
    wrenches = rng.normal(size=(model.n_bodies, 6))
    qdd = lw.constrained_dynamics(model, state, wrenches=wrenches).acceleration
    reactions = lw.joint_reactions(model, state, wrenches=wrenches)
    along = lw.rod_forces(model, state, reactions)
    inner = model.body(model.rods[0].bodies[1])
    for i in (model.body("tool"), inner, int(rng.integers(1, model.n_bodies))):
        there = lw.reroot(model, state, i, acceleration=qdd)
        new, order = there.model, there.old_index
        same(lw.body_poses(new, there.state), lw.body_poses(model, state)[order])
        same(lw.body_twists(new, there.state), lw.body_twists(model, state)[order])
        same(coupled(new, there.state), coupled(model, state))
        again = lw.constrained_dynamics(new, there.state, wrenches=wrenches[order]).acceleration
        same(again, there.acceleration, condition=1e3)
        now = lw.rod_forces(new, there.state, lw.joint_reactions(new, there.state, wrenches=wrenches[order]))
        for name, a, b in zip(along._fields[1:], now[1:], along[1:], strict=True):
            np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-10 * np.abs(reactions).max(), err_msg=name)
        back = lw.reroot(new, there.state, model.body_names[0], placement(model, 0), model.joints[0])
        check_same_model(back.model, model)


@pytest.mark.parametrize("seed", range(3))
def test_drives_and_sensors_go_on(seed):
    """Under the same controls joints move alike, and every sensor on them reads what it read."""
    equipped, closed = equipped_tree(seed)
    model, rng, h = equipped.without_loops, np.random.default_rng(seed), 1e-8
    state = lw.State(closed.q, 0.3 * rng.normal(size=equipped.nv))
    control = {actuator.name: float(rng.normal()) for actuator in model.actuators}
    before = {}
    for i in (0, model.body("tool"), int(rng.integers(1, model.n_bodies))):
        new, start = (model, state) if i == 0 else lw.reroot(model, state, i)
        sim = lw.FullDynamics(new, start, integrator="semi_implicit_euler", implicit_joints=False, keep_momentum=False)
        drives, sensors = lw.Actuators(sim), lw.Sensors(sim)
        for name, value in control.items():
            drives[name] = value
        sensors.step(h)
        now = {x.name: sensors[x.name] for x in model.sensors}
        before = before or now
        scale = max(np.abs(reading).max() for reading in before.values())
        for name, reading in now.items():
            # Steps differ by how the free body moves, whichever it is: by h times rates of up to 1e4. A wrong sign, body or
            # frame shows at order one.
            np.testing.assert_allclose(reading, before[name], rtol=0.0, atol=1e-4 * scale, err_msg=name)


@pytest.mark.parametrize(
    ("what", "named"),
    [
        ("coupling", "coupling 'pair' is on joint 'slide'"),
        ("actuator", "actuator 'drive' is on joint 'slide'"),
        ("sensor", "sensor 'scale' is on joint 'slide'"),
    ],
)
def test_what_is_on_the_replaced_joint_is_refused(what, named):
    linkage = lw.library.chain(joints=3)
    other = list(linkage)[1].joint_name
    linkage.edit_body(next(iter(linkage)).name, joint_name="slide")
    if what == "coupling":
        linkage.add_coupling("pair", {"slide": 1.0, other: 2.0})
    elif what == "actuator":
        linkage.actuators.append(lw.Actuator("drive", "slide"))
    else:
        linkage.sensors.append(lw.sensors.Encoder("scale", "slide"))
    model = linkage.compile()
    with pytest.raises(lw.ModelError, match=named):
        lw.reroot(model, model.neutral(), 2)


def test_a_rod_clamped_in_the_world_is_refused():
    rod = lw.rod(1.0, 5, EI=1.0, GJ=1.0, mass_per_length=1.0, radius=0.01)
    rod.attach_world("start", lw.Clamped(), at=(0.0, 0.0, 0.0))
    model = rod.compile()
    with pytest.raises(lw.ModelError, match="rod 'rod' is clamped in the world"):
        lw.reroot(model, model.neutral(), "rod_5")
    kept = rod.compile(merge_fixed=False)
    assert lw.reroot(kept, kept.neutral(), "rod_5").model.n_bodies == kept.n_bodies


def test_an_uneven_spring_of_a_ball_turns_with_its_axes_or_is_refused():
    def pair(placement):
        linkage = lw.Linkage("pair")
        linkage.add_body("upper", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1))
        ball = lw.Spherical(stiffness=(1.0, 2.0, 3.0))
        linkage.add_body("lower", "upper", ball, placement, lw.Inertia.sphere(1.0, 0.1), joint_name="hip")
        return linkage.compile()

    model = pair(lw.Pose((0.0, 0.0, -1.0), rpy=(0.0, np.pi / 2, 0.0)))
    state = model.random_state(1)
    assert lw.energy(*lw.reroot(model, state, "lower")).potential == pytest.approx(
        lw.energy(model, state).potential, rel=rounding(condition=1e2)
    )
    model = pair(lw.Pose((0.0, 0.0, -1.0), rpy=(0.3, 0.4, 0.5)))
    with pytest.raises(lw.ModelError, match=r"joint 'hip': its stiffness .* differs between axes"):
        lw.reroot(model, model.neutral(), "lower")
