"""The laws of closed chains, for every joint kind that can close a loop."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import JOINTS

import linkwork as lw
from linkwork.reference.joint_calculus import joint_pose, joint_subspace


@pytest.fixture(params=[kind for kind in JOINTS if kind != "free"])  # a free joint closes nothing
def joint(request):
    return JOINTS[request.param]


@pytest.fixture(params=["chain", "world", "floating"])
def closed(request, joint, make_tree, rng):
    """A tree with a loop of the given joint, closed by construction at a state, and the joint's coordinates there.

    B in b is placed where the joint, at random coordinates, puts its child frame: T_ab = A J(z) B⁻¹.
    """
    kinds = ("universal", "spherical", "revolute", "compound", "cylindrical")
    base = lw.Free() if request.param == "floating" else None
    tree = make_tree(
        seed=3, bodies=9, kinds=kinds, branching=0.3, damping=True, stiffness=True, armature=True, base=base
    )
    state = tree.random_state(rng)
    T = lw.body_poses(tree, state)
    a, b = (-1, 8) if request.param == "world" else (2, 8)
    z = joint.random(rng)
    frame_a = lw.Pose((0.1, -0.2, 0.3), quaternion=(0.9, 0.1, -0.3, 0.2))
    A = (T[a] if a >= 0 else np.eye(4)) @ frame_a.matrix
    frame_b = lw.Pose(matrix=np.linalg.inv(T[b]) @ A @ joint_pose(joint, z).matrix)
    linkage = lw.Linkage("closed", gravity=tuple(tree.gravity))
    names = {f"body_{i}": i for i in range(9)}
    placements = [lw.Pose.raw(tuple(row[:9]), tuple(row[9:12])) for row in tree.arrays.body]
    for name in tree.body_names:
        i = tree.body(name)
        parent = tree.parent[i]
        ten = tree.arrays.body[i, 12:22]
        m, h, moments = ten[0], ten[1:4], ten[4:]
        com = h / m
        full = np.array([[moments[0], moments[1], moments[2]], [moments[1], moments[3], moments[4]],
                         [moments[2], moments[4], moments[5]]])  # fmt: skip
        inertia = lw.Inertia(m, com, full - m * (com @ com * np.eye(3) - np.outer(com, com)))
        above = tree.body_names[parent] if parent >= 0 else "world"
        linkage.add_body(name, above, tree.joints[i], placements[i], inertia)
    assert set(names) == set(tree.body_names)
    linkage.add_loop(
        joint, tree.body_names[a] if a >= 0 else "world", tree.body_names[b], (frame_a, frame_b), name="loop"
    )
    return linkage.compile(merge_fixed=False), state, z


def test_a_loop_closed_by_construction_has_no_gap(closed):
    model, state, _ = closed
    assert lw.loop_gaps(model, state).worst_gap < 1e-10  # poses of order one, through nine joints


def test_projection_changes_velocities_only_and_stops_the_slip(closed):
    model, state, _ = closed
    shut = lw.close_loops(model, state)
    assert np.abs(model.difference(state.q, shut.q)).max() < 1e-9
    gaps = lw.loop_gaps(model, shut)
    assert gaps.worst_slip < 1e-10
    # The projection is orthogonal in the metric of the mass matrix: it can only take kinetic energy.
    change = state.v - shut.v
    M = lw.mass_matrix(model, state)
    assert change @ M @ shut.v == pytest.approx(0.0, abs=1e-9 * (state.v @ M @ state.v))


def test_bodies_obey_and_loops_stay_closed(closed, rng):
    model, state, _ = closed
    state = lw.close_loops(model, state)
    effort, wrenches = rng.normal(size=model.nv), rng.normal(size=(model.n_bodies, 6))
    solution = lw.constrained_dynamics(model, state, effort, wrenches)
    assert solution.redundant == 0
    assert solution.message == ""
    scale = max(1.0, float(np.abs(solution.acceleration).max()))
    # Every body's equation of motion, with the loop's reaction as one more wrench on either side.
    tree = model.without_loops
    undone = lw.inverse_dynamics(tree, state, solution.acceleration, solution.wrenches)
    assert undone == pytest.approx(effort, abs=1e-9 * max(1.0, float(np.abs(solution.wrenches).max())))
    # and so joint by joint: reactions of the tree's joints with that wrench
    by_work = lw.joint_reactions(tree, state, effort, solution.wrenches, algorithm="virtual_work")
    by_dca = lw.joint_reactions(tree, state, effort, solution.wrenches)
    assert by_work == pytest.approx(by_dca, abs=1e-9 * np.abs(by_dca).max())

    # The loop's gap along the motion has no second derivative. Its even part is f⁗ h⁴/24, f⁗ of order scale².
    def gap(t):
        q = model.integrate(state.q, state.v * t + 0.5 * solution.acceleration * t * t)
        return lw.loop_gaps(model, lw.State(q, state.v)).gap

    h = 1e-3 / np.sqrt(scale)
    now = 2.0 * gap(0.0)  # up to the tolerance of `close_loops`
    bend = (gap(h) + gap(-h) - now) / h**2
    finer = (gap(h / 2) + gap(-h / 2) - now) / (h / 2) ** 2
    assert (4.0 * finer - bend) / 3.0 == pytest.approx(np.zeros_like(bend), abs=1e-4 * scale)


def test_reactions_do_no_work_and_balance(closed, rng):
    model, state, z = closed
    state = lw.close_loops(model, state)
    solution = lw.constrained_dynamics(model, state, rng.normal(size=model.nv))
    loop = model.loops[0]
    S = joint_subspace(loop.joint, z)
    largest = float(np.abs(solution.reactions).max())
    if loop.joint.nv:
        assert np.abs(S.T @ solution.reactions[0]).max() < 1e-9 * largest * max(1.0, float(np.abs(S).max()))
    power = np.sum(solution.wrenches * lw.body_twists(model, state))
    assert abs(power) < 1e-9 * largest * np.abs(lw.body_twists(model, state)).max()
    # The world's frame sees equal and opposite wrenches on the two bodies.
    T = lw.body_poses(model, state)
    if loop.body_a >= 0:
        total = np.zeros(6)
        for i in range(model.n_bodies):
            n, f = T[i, :3, :3] @ solution.wrenches[i, :3], T[i, :3, :3] @ solution.wrenches[i, 3:]
            total += np.concatenate([n + np.cross(T[i, :3, 3], f), f])
        assert np.abs(total).max() < 1e-9 * largest


def test_reaction_is_that_of_the_tree_where_a_loop_replaces_a_joint(joint, make_tree, rng):
    """A body held by a free joint and a loop moves, and is held, as by that joint in a tree."""
    box = lw.Inertia.box(1.3, (0.3, 0.4, 0.5)).at(lw.Pose((0.1, 0.2, 0.3)))
    place = lw.Pose((0.3, 0.1, -0.2), rpy=(0.3, -0.4, 0.5))

    def linkage(held: bool) -> lw.Model:
        one = lw.Linkage("held" if held else "tied")
        one.add_body("arm", "world", lw.Universal(), inertia=box)
        one.add_body(
            "hand", "arm" if held else "world", joint if held else lw.Free(), place if held else lw.Pose(), box
        )
        if not held:
            one.add_loop(joint, "arm", "hand", (place, lw.Pose()))
        return one.compile(merge_fixed=False)

    held, tied = linkage(True), linkage(False)
    state = held.random_state(rng)
    T, V = lw.body_poses(held, state), lw.body_twists(held, state)
    arm_q, arm_v = state.q[held.q_slice("arm")], state.v[held.v_slice("arm")]
    q, v = tied.neutral()
    q[tied.q_slice("arm")], v[tied.v_slice("arm")] = arm_q, arm_v
    trace = lw.Pose(matrix=T[1])
    R = np.reshape(trace.rotation, (3, 3))
    w = 0.5 * np.sqrt(1.0 + np.trace(R))
    quaternion = np.array([w, *(np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (4.0 * w))])
    q[tied.q_slice("hand")], v[tied.v_slice("hand")] = [*T[1, :3, 3], *quaternion], V[1]
    ours = tied.state(q, v)
    solution = lw.constrained_dynamics(tied, ours)
    expected = lw.forward_dynamics(held, state)
    assert solution.acceleration[tied.v_slice("arm")] == pytest.approx(
        expected[held.v_slice("arm")], abs=1e-9 * max(1.0, np.abs(expected).max())
    )  # quaternions rebuilt from matrices lose a digit or two
    reaction = lw.joint_reactions(held, state)[1]
    assert solution.reactions[0] == pytest.approx(reaction, abs=1e-8 * np.abs(reaction).max())
