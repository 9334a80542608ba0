"""The search that looks only where something may have come near, against one that looks everywhere, over long runs."""

from functools import partial

import numpy as np
import pytest

import linkwork as lw
from linkwork.adaptive.dynamics.reduced.reduced import GROUPS
from linkwork.assembly.plan import assemble
from linkwork.contact import contact_list as cl
from linkwork.contact.model_search import find_all_contacts, make_finder
from linkwork.contact.shape_table import shape_table
from linkwork.contact.tables import DISTANCES
from linkwork.contact.volumes import all_open, make_volumes
from linkwork.dynamics.quantities.motion import body_poses

MARGIN = 1e-3
STEPS = 600


def field_of_obstacles(joints, seed):
    """A chain above obstacles of all kinds, in random places below it, and a floor."""
    rng = np.random.default_rng(seed)
    linkage = lw.library.chain(joints=joints, length=1.2 / joints, mass=0.1, radius=0.02)
    shapes = (lw.Sphere(0.15), lw.Box((0.3, 0.2, 0.2)), lw.Cylinder(0.1, 0.4), lw.Capsule(0.08, 0.3))
    for k in range(12):
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        turn *= np.linalg.det(turn)
        place = rng.uniform((-0.3, -0.5, -1.2), (1.5, 0.5, -0.3))
        linkage.add_obstacle(f"stone_{k}", shapes[k % len(shapes)], lw.Pose(place, matrix=turn))
    linkage.add_obstacle("floor", lw.Plane(), lw.Pose((0, 0, -0.9)))
    model = linkage.compile()
    state = model.neutral()
    state.q[0] = -1.5  # from hanging to nearly horizontal, along x
    return model, state


class LookEverywhere:
    """Pairs (body, shape of the world) within the margin, by a descent from the root that knows nothing of before."""

    def __init__(self, model, contact):
        self.model = model
        table = shape_table(model, contact)
        assembly = assemble(model.parent)
        volumes = make_volumes(assembly, table)
        self.finder = make_finder(table, volumes, assembly.depth, 4096)
        self.nodes = all_open(volumes)

    def pairs(self, state):
        T = body_poses(self.model, state)
        poses = np.ascontiguousarray(np.hstack([T[:, :3, :3].reshape(-1, 9), T[:, :3, 3]]))
        still = np.zeros((self.model.n_bodies, 6))
        count = find_all_contacts(self.finder, self.nodes, poses, still, MARGIN, 0.0, False)
        ids = self.finder.contacts.ids[:count]
        return {(int(row[cl.BODY_A]), int(row[cl.SHAPE_B])) for row in ids}


def found(sim):
    contacts = sim.view.contact.contacts
    ids = contacts.ids[: int(contacts.number[cl.COUNT])]
    return {(int(row[cl.BODY_A]), int(row[cl.SHAPE_B])) for row in ids}


@pytest.mark.parametrize("seed", range(3))
def test_full_dynamics_finds_all_that_touches(seed):
    contact = lw.Contact(friction=0.3, restitution=0.3, margin=MARGIN, self_contact=False, continuous=False)
    model, start = field_of_obstacles(12, seed)
    sim = lw.FullDynamics(model, start, contact=contact, integrator="semi_implicit_euler")
    everywhere = LookEverywhere(model, contact)
    touched = 0
    for k in range(STEPS):
        before = sim.state
        if sim.step(2e-3).contact.shortened > 0:
            continue
        pairs = everywhere.pairs(before)
        touched += len(pairs)
        assert found(sim) == pairs, f"step {k}"
    assert touched > STEPS / 4


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("active", [3, 8])
def test_rigid_groups_find_all_that_touches(active, seed):
    """A contact may be left out where both sides stand still, or where one of the same rigid group is at the same place."""
    contact = lw.Contact(friction=0.3, restitution=0.3, margin=MARGIN, self_contact=False, continuous=False)
    model, start = field_of_obstacles(24, seed)
    sim = lw.AdaptiveDynamics(
        model, start, max_active_joints=active, update_every=4, contact=contact, integrator="semi_implicit_euler"
    )
    everywhere = LookEverywhere(model, contact)
    touched = 0
    for k in range(STEPS):
        before = sim.state
        if sim.step(2e-3).contact.shortened > 0:
            continue  # made in parts: the contacts are those of the last one
        # the region in which the step was made: an update, if due, comes with the next one
        starts = sim.view.region.reduced.joint[: int(sim.view.region.reduced.counts[GROUPS])]
        listed = found(sim)
        pairs = everywhere.pairs(before)
        assert listed <= pairs, f"step {k}"
        parts = {(int(np.searchsorted(starts, body, side="right")), shape) for body, shape in listed}
        for body, shape in pairs:
            part = int(np.searchsorted(starts, body, side="right"))
            assert part == 0 or (part, shape) in parts, f"step {k}: body {body}"
            touched += part > 0
    assert touched > STEPS / 8


def test_a_state_that_is_set_is_looked_at_anew():
    """What was far away may be near after `set_state`, and the other way round."""
    contact = lw.Contact(margin=MARGIN, self_contact=False)
    model, start = field_of_obstacles(12, 0)
    everywhere = LookEverywhere(model, contact)
    rng = np.random.default_rng(5)
    for kind, more in ((lw.FullDynamics, {}), (lw.AdaptiveDynamics, {"max_active_joints": 4})):
        sim = kind(model, start, contact=contact, **more)
        seen = 0
        for _ in range(60):
            q = start.q + rng.uniform(-0.05, 0.05, model.nq)
            q[0] += rng.uniform(0.0, 1.5)  # swept through the stones
            state = lw.State(q, np.zeros(model.nv))
            sim.set_state(state)
            sim.advance(1e-6)
            pairs = everywhere.pairs(state)
            seen += len(pairs)
            if kind is lw.FullDynamics:
                assert found(sim) >= pairs  # and what could be reached within the step
        assert seen > 10


def forget(sim):
    """Nothing is known of any distance or plane."""
    volumes = sim.view.contact.finder.volumes
    volumes.clearance_bound[:], volumes.other_bound[:], volumes.planes[:] = -np.inf, -np.inf, np.inf
    volumes.pair_bounds[:], volumes.listing[:] = -1.0, -1


def tree_on_stones(seed):
    """A floating tree with branches, of boxes, capsules and balls, which falls on stones and a floor."""
    rng = np.random.default_rng(seed)
    linkage = lw.Linkage("tree")
    shapes = (lw.Sphere(0.04), lw.Box((0.1, 0.06, 0.08)), lw.Capsule(0.03, 0.08))
    for i in range(24):
        joint = lw.Free() if i == 0 else lw.Revolute(axis=rng.normal(size=3), damping=1e-3)
        parent = "world" if i == 0 else f"body_{rng.integers(max(0, i - 3), i)}"
        at = lw.Pose(0.09 * rng.normal(size=3), rpy=rng.normal(size=3))
        inertia = lw.Inertia.box(0.2, (0.1, 0.08, 0.06))
        linkage.add_body(f"body_{i}", parent, joint, at, inertia, shapes=[shapes[i % 3]])
    for k, x in enumerate((-0.5, 0.0, 0.5)):
        linkage.add_obstacle(f"stone_{k}", lw.Sphere(0.3), lw.Pose((x, 0.2 * k, -1.4)))
    linkage.add_obstacle("floor", lw.Plane(), lw.Pose((0, 0, -1.5)))
    model = linkage.compile()
    return model, model.neutral()


def heap_of_trees(seed):
    """Three floating trees of capsules, which fall on each other: most contacts are between bodies."""
    rng = np.random.default_rng(seed)
    linkage = lw.Linkage("heap")
    shape = lw.Capsule(0.02, 0.08, placement=lw.Pose((0.06, 0, 0), rpy=(0, np.pi / 2, 0)))
    inertia = lw.Inertia.box(0.1, (0.12, 0.03, 0.03)).at(lw.Pose((0.06, 0, 0)))
    for k in range(3):
        for i in range(8):
            joint = lw.Revolute(tuple(rng.normal(size=3)), damping=1e-3, limits=(-1.0, 1.0)) if i else lw.Free()
            parent = f"link_{k}_{rng.integers(max(0, i - 4), i)}" if i else "world"
            place = lw.Pose((0.12, 0, 0), rpy=tuple(0.5 * rng.normal(size=3))) if i else lw.Pose()
            linkage.add_body(f"link_{k}_{i}", parent, joint, place, inertia, shapes=[shape])
    linkage.add_obstacle("floor", lw.Plane())
    model = linkage.compile()
    start = model.neutral()
    for k in range(3):
        start.q[model.q_slice(model.joint_names[8 * k]).start + 2] = 0.3 + 0.25 * k
    return model, start


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("active", [None, 5])
@pytest.mark.parametrize(
    "scene", [partial(field_of_obstacles, 24), tree_on_stones, heap_of_trees], ids=["chain", "tree", "heap"]
)
def test_what_is_known_changes_no_motion(active, seed, scene):
    """With settings as they are by default, bodies followed on their way: the same bits as where all is looked at anew."""
    contact = lw.Contact(friction=0.05, margin=MARGIN)
    model, start = scene(seed)
    kind, more = (lw.FullDynamics, {}) if active is None else (lw.AdaptiveDynamics, {"max_active_joints": active})
    known, anew = (kind(model, start, contact=contact, **more) for _ in range(2))
    touched = 0
    for k in range(STEPS):
        forget(anew)
        for sim in (known, anew):
            sim.advance(2e-3)
        touched += len(known.contacts) > 0
        assert np.array_equal(known.state.q, anew.state.q), f"step {k}"
    assert touched > STEPS / 8
    assert known.view.contact.finder.volumes.listing[0] >= 0  # pairs were listed
    assert known.view.contact.finder.query[DISTANCES] <= anew.view.contact.finder.query[DISTANCES]
