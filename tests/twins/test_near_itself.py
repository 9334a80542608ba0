"""Bodies of one linkage that touch in motion: found by what is known of rigid groups, against distances of all pairs."""

import warnings

import numpy as np
import pytest

import linkwork as lw
from linkwork.adaptive.dynamics.reduced.reduced import GROUPS
from linkwork.contact import contact_list as cl

MARGIN = 2e-3
SURE = 1e-6  # [m] nearer to the margin than this a pair may count or not
STEPS = 250
SEEDS = [(3, 0), (3, 3), (3, 4), (3, 6), (8, 0), (8, 2), (8, 3), (8, 4)]  # active joints; in which bodies meet often
KINDS = (lw.Revolute, lw.Revolute, lw.Prismatic, lw.Spherical)


def tree_of_solids(seed, bodies=14):
    """A tree with branches, fixed or floating, of joints and solids of all kinds, that flies and folds."""
    rng = np.random.default_rng(seed)
    linkage = lw.Linkage("solids", gravity=(0.0, 0.0, -3.0))
    for i in range(bodies):
        kind, axis = KINDS[rng.integers(len(KINDS))], tuple(rng.normal(size=3))
        joint = kind() if kind is lw.Spherical else kind(axis, stiffness=2.0 if kind is lw.Prismatic else 0.0)
        if i == 0 and seed % 2:
            joint = lw.Free()
        way = rng.normal(size=3)
        at = lw.Pose(tuple(0.16 * way / np.linalg.norm(way)), rpy=tuple(rng.normal(size=3)))
        size = rng.uniform(0.05, 0.12, 3)
        shape = (lw.Sphere(0.5 * size[0]), lw.Capsule(0.3 * size[0], size[1]), lw.Box(tuple(size)))[rng.integers(3)]
        parent = f"body_{rng.integers(max(0, i - 4), i)}" if i else "world"
        inertia = lw.Inertia.box(0.2, (0.08, 0.07, 0.06))
        linkage.add_body(f"body_{i}", parent, joint, at, inertia, shapes=[shape])
    linkage.add_obstacle("floor", lw.Plane(), lw.Pose((0, 0, -0.6)))
    model = linkage.compile()
    return model, model.random_state(seed, speed=4.0)


def distances(sim, state):
    """Of all pairs of bodies that may touch, one by one; not of those that a joint connects or that overlap by design."""
    model, names = sim.model, sim.model.body_names
    overlap = {(int(a), int(b)) for a, b in sim.view.contact.left_out}
    found = {}
    for b in range(model.n_bodies):
        for a in range(b):
            joined = model.parent[a] == b or model.parent[b] == a
            if not joined and (a, b) not in overlap:
                found[a, b] = lw.closest(model, state, names[a], names[b]).distance
    return found


def listed(sim):
    contacts = sim.view.contact.contacts
    ids = contacts.ids[: int(contacts.number[cl.COUNT])]
    return {(int(row[cl.BODY_A]), int(row[cl.BODY_B])) for row in ids if row[cl.BODY_B] >= 0}


def runs_of(sim):
    """States before steps that were made in one part, with the pairs that each listed."""
    for _ in range(STEPS):
        before = sim.state
        if sim.step(1e-3).contact.shortened == 0:
            yield before, listed(sim)


def make(kind, model, state, **options):
    contact = lw.Contact(friction=0.3, restitution=0.3, margin=MARGIN, continuous=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # bodies that begin inside each other are as good as any
        return kind(model, state, contact=contact, integrator="semi_implicit_euler", **options)


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_full_dynamics_finds_all_bodies_that_touch_each_other(seed):
    model, state = tree_of_solids(seed)
    sim = make(lw.FullDynamics, model, state)
    touched = 0
    for before, pairs in runs_of(sim):
        away = distances(sim, before)
        touched += len(pairs)
        assert {pair for pair, d in away.items() if d < MARGIN - SURE} <= pairs
        assert pairs <= {pair for pair, d in away.items() if d < MARGIN + SURE}
    assert touched > 20


@pytest.mark.parametrize(("active", "seed"), SEEDS)
def test_rigid_groups_find_all_bodies_that_touch_each_other(active, seed):
    """Of two parts that touch one pair at least is listed; a pair may be left out where another says the same."""
    model, state = tree_of_solids(seed, bodies=20)
    sim = make(lw.AdaptiveDynamics, model, state, max_active_joints=active, update_every=5)
    touched = 0
    for before, pairs in runs_of(sim):
        away = distances(sim, before)
        assert pairs <= {pair for pair, d in away.items() if d < MARGIN + SURE}
        part = parts_of(sim)
        found = {frozenset((part[a], part[b])) for a, b in pairs}
        for (a, b), d in away.items():
            if d < MARGIN - SURE and part[a] != part[b]:
                touched += 1
                assert frozenset((part[a], part[b])) in found
    assert touched > 20


def parts_of(sim):
    """Number of the rigid group that each body was in when the last step was made; -1: fixed to the world."""
    model, reduced = sim.model, sim.view.region.reduced
    moving = set(reduced.joint[: int(reduced.counts[GROUPS])].tolist())
    part = []
    for i in range(model.n_bodies):
        up = int(model.parent[i])
        part.append(i if i in moving else (part[up] if up >= 0 else -1))
    return part
