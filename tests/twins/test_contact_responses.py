"""Responses of touched bodies and joints at their limits against the plainest form, J M⁻¹ Jᵀ with dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.adaptive.dynamics.reduced.reduced import VELOCITIES
from linkwork.contact.contact_list import COUNT
from linkwork.model.library.random_trees import JOINT_KINDS
from linkwork.simulation.contact_step import arrays as ca

FLOOR = -0.9  # [m] only bodies near it are touched: between them and the world there are others


def bush(seed, floating):
    """A tree of balls on hinges with random axes and parents; every third hinge stands at its lower limit."""
    rng = np.random.default_rng(seed)
    linkage = lw.Linkage("bush")
    for i in range(16):
        limits = (-5e-4, 1.0) if i % 3 == 2 else None
        joint = lw.Free() if i == 0 and floating else lw.Revolute(tuple(rng.normal(size=3)), limits=limits)
        parent = "world" if i == 0 else f"ball_{rng.integers(max(0, i - 4), i)}"
        place = lw.Pose((*rng.normal(size=2), -0.2), rpy=tuple(rng.normal(size=3) * 0.3))
        linkage.add_body(
            f"ball_{i}", parent, joint, place, lw.Inertia.sphere(0.3 + rng.random(), 0.1), shapes=[lw.Sphere(0.1)]
        )
    linkage.add_obstacle("floor", lw.Plane(), lw.Pose((0, 0, FLOOR)))
    return linkage.compile()


def advance_by_matrix(sim):
    """One short step whose contacts are solved by their matrix of responses, however many they are."""
    sim.view.contact.arrays.counts[ca.MIN_BY_SWEEPS] = 10**9
    sim.advance(1e-9)


@pytest.mark.filterwarnings("ignore:model .bush. begins with bodies inside")
@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_responses_are_those_of_the_dense_form(seed, floating):
    model = bush(seed, floating)
    state = model.neutral()
    sim = lw.FullDynamics(
        model,
        state,
        contact=lw.Contact(margin=0.5, self_contact=False, continuous=False),
        integrator="semi_implicit_euler",
    )
    advance_by_matrix(sim)
    touching = sim.view.contact
    m, limits = int(touching.arrays.counts[ca.CONTACT_BODIES]), int(touching.arrays.counts[ca.LIMITS])
    assert limits > 0
    touched = touching.arrays.contact_bodies[:m]
    assert len({point.body for point in sim.contacts}) > 0
    assert (np.diff(touched) > 0).all()
    s = 6 * m + limits
    found = touching.problem.Lambda.ravel()[: s * s].reshape(s, s)
    columns = [lw.body_twists(model, lw.State(state.q, e), frame="world") for e in np.eye(model.nv)]
    J = np.stack([twists[touched].ravel() for twists in columns], axis=1)
    J = np.vstack([J, np.eye(model.nv)[touching.arrays.bound[:limits, 1]]])
    M = lw.mass_matrix(model, state)
    expected = J @ np.linalg.solve(M, J.T)
    tolerance = rounding(condition=float(np.linalg.cond(M)), scale=float(np.abs(expected).max()), steps=model.n_bodies)
    assert np.abs(found - expected).max() <= tolerance


TREES = 50  # per test; 20 tests make a thousand
MOVING = [kind for kind in JOINT_KINDS if kind not in ("free", "fixed")]


def tree_on_floor(seed):
    """A random tree with branches, of every kind of joint, and balls of which many are within reach of a floor below."""
    rng = np.random.default_rng(seed)
    kinds = ["revolute"] if seed % 2 else MOVING
    linkage = lw.library.random_tree(
        int(rng.integers(1, 31)), seed=seed, branching=rng.uniform(), kinds=kinds, floating=bool(rng.integers(2))
    )
    heights = lw.body_poses(linkage.compile(), linkage.compile().neutral())[:, 2, 3]
    for body in list(linkage):
        linkage.edit_body(body.name, shapes=(lw.Sphere(0.05),))
    linkage.add_obstacle("floor", lw.Plane(), lw.Pose((0, 0, float(heights.min()) - 0.1)))
    return linkage.compile()


def responses_of_contacts(sim):
    """Λ of the bodies that carry contacts, the bodies of the model that touch, and the points that responses are of."""
    touching = sim.view.contact
    touch = touching.arrays
    m, limits = int(touch.counts[ca.CONTACT_BODIES]), int(touch.counts[ca.LIMITS])
    s = 6 * m + limits
    found = touching.problem.Lambda.ravel()[: s * s].reshape(s, s)
    body_numbers = {int(body): k for k, body in enumerate(touch.contact_bodies[:m])}
    carried = {}
    for c in range(int(touching.contacts.number[COUNT])):
        carried[body_numbers[int(touch.moving_body[c, 0])]] = int(touching.contacts.ids[c, 0])
    rows = np.concatenate([np.arange(6 * k, 6 * k + 6) for k in carried]) if carried else np.zeros(0, dtype=int)
    origins = touching.problem.origin.ravel()[: 3 * m].reshape(m, 3)[list(carried)]
    return found[np.ix_(rows, rows)], list(carried.values()), origins


def moving_velocities(sim):
    """Places in the model of the velocities that move: all, or those of active joints and of floating bases."""
    if isinstance(sim, lw.FullDynamics):
        return np.arange(sim.model.nv)
    return sim.view.contact.arrays.model_dof[: sim.view.region.reduced.counts[VELOCITIES]]


def dense_responses(model, state, bodies, origins, moving):
    """J M⁻¹ Jᵀ over the velocities that move, of twists in world axes at the given points; and the condition of M."""
    M = lw.mass_matrix(model, state)[np.ix_(moving, moving)]
    poses = lw.body_poses(model, state)
    columns = []
    for j in moving:
        twists = lw.body_twists(model, lw.State(state.q, np.eye(model.nv)[j]), frame="world")[bodies]
        away = origins - poses[bodies, :3, 3]
        columns.append(np.hstack([twists[:, :3], twists[:, 3:] + np.cross(twists[:, :3], away)]).ravel())
    J = np.stack(columns, axis=1)
    return J @ np.linalg.solve(M, J.T), float(np.linalg.cond(M))


@pytest.mark.filterwarnings("ignore:model .random_tree. begins with bodies inside")
@pytest.mark.parametrize("kind", ["full", "all active", "few active", "two active"])
@pytest.mark.parametrize("part", range(5))
def test_responses_of_random_trees_are_those_of_the_dense_form(part, kind):
    touched = branched = 0
    for seed in range(TREES * part, TREES * (part + 1)):
        model = tree_on_floor(seed)
        state = model.neutral()
        contact = lw.Contact(margin=2.0, self_contact=False, continuous=False)
        options = {"contact": contact, "integrator": "semi_implicit_euler"}
        if kind == "full":
            sim = lw.FullDynamics(model, state, **options)
        else:
            most = {"all active": model.n_bodies, "few active": max(1, model.n_bodies // 3), "two active": 2}[kind]
            sim = lw.AdaptiveDynamics(model, state, max_active_joints=most, **options)
        advance_by_matrix(sim)
        found, bodies, origins = responses_of_contacts(sim)
        if not bodies:
            continue
        expected, condition = dense_responses(model, state, bodies, origins, moving_velocities(sim))
        scale = float(np.abs(expected).max())
        tolerance = rounding(condition=condition, scale=scale, steps=model.n_bodies)
        # 1e-7: points that responses are of have moved with the step of 1e-9 s, by speeds of up to 10 m/s, and a margin
        assert np.abs(found - expected).max() <= tolerance + 1e-7 * scale, (seed, kind)
        touched += 1
        branched += len(bodies) > 1
    assert touched > TREES // 2
    assert branched > TREES // 4
