"""Reactions of joints obey Newton and Euler; hybrid dynamics agrees with forward and with inverse dynamics."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.model import layout
from linkwork.reference.plain_dca import PlainDca, body_inertia

# Trees of these tests have mass matrices with condition numbers up to 1e4, so ε cond = 2e-12; measured differences are
# below 1e-13 of the largest entry.
SAME = 1e-10
BOUNDED = settings(max_examples=40, deadline=None, derandomize=True)  # the same cases every time


def close(ours, theirs, rel=SAME):
    return pytest.approx(theirs, rel=0, abs=rel * max(1.0, float(np.abs(theirs).max(initial=0.0)))) == ours


# -------------------------------------------------------------------------------------------------------------- reactions


def body_accelerations(model, joints, qdd):
    """Root to leaf, with the world accelerating by -g: a = X a_parent + S q̈ + c."""
    a = np.zeros((model.n_bodies + 1, 6))
    a[-1, 3:] = -model.gravity
    for i, (joint, p) in enumerate(zip(joints, model.parent, strict=True)):
        a[i] = joint.X @ a[p] + joint.S @ qdd[model.v_slice(i)] + joint.c
    return a[:-1]


def cross_force(V, F):
    (w, v), (n, f) = np.split(V, 2), np.split(F, 2)
    return np.concatenate([np.cross(w, n) + np.cross(v, f), np.cross(w, f)])


def test_every_body_obeys_newton_and_euler(tree, rng, make_loads):
    """External wrenches and joint reactions together are the rate of momentum, body by body."""
    state, loads = tree.random_state(rng), make_loads(tree)
    arguments = (tree, state, loads.effort, loads.wrenches)
    f = lw.joint_reactions(*arguments)
    joints = PlainDca(tree, state).joints
    a = body_accelerations(tree, joints, lw.forward_dynamics(*arguments))
    V = lw.body_twists(tree, state)
    total = f + loads.wrenches
    for i, p in enumerate(tree.parent):
        if p >= 0:
            total[p] -= joints[i].X.T @ f[i]
    for i in range(tree.n_bodies):
        inertia = body_inertia(tree, i)
        # Reactions of order 1e3 cancel to forces of order ten: relative to the largest reaction.
        error = total[i] - inertia @ a[i] - cross_force(V[i], inertia @ V[i])
        assert np.abs(error).max() <= SAME * np.abs(f).max()


def test_reactions_do_no_work_along_freedoms(tree, rng, make_loads):
    """Sᵀ f is what motors, springs, dampers and rotors put in, and nothing of the constraint."""
    state, loads = tree.random_state(rng), make_loads(tree)
    arguments = (tree, state, loads.effort, loads.wrenches)
    f, qdd = lw.joint_reactions(*arguments), lw.forward_dynamics(*arguments)
    dof = tree.arrays.dof
    stretch = tree.difference(tree.arrays.rest, state.q)
    for i in (i for i, joint in enumerate(tree.joints) if isinstance(joint, lw.Free)):
        place, rows = tree.q_slice(i).start, tree.v_slice(i)  # the position's spring pulls straight to its rest
        R = lw.Pose(quaternion=state.q[place + 3 : place + 7]).matrix[:3, :3]
        stretch[rows][3:] = R.T @ (state.q - tree.arrays.rest)[place : place + 3]
    passive = -dof[:, layout.DAMPING] * state.v - dof[:, layout.STIFFNESS] * stretch
    active = loads.effort + passive - dof[:, layout.ARMATURE] * qdd
    for i, joint in enumerate(PlainDca(tree, state).joints):
        assert np.abs(joint.S.T @ f[i] - active[tree.v_slice(i)]).max(initial=0.0) <= SAME * np.abs(f).max()


def test_the_world_carries_the_weight(make_tree):
    """A linkage of welds at rest: every joint carries the weight of what is behind it."""
    model = make_tree(seed=23, bodies=9, kinds=("fixed",))
    assert model.nv == 0
    f = lw.joint_reactions(model, model.neutral())
    R = lw.body_poses(model, model.neutral())[:, :3, :3]
    behind = model.mass.copy()
    for i in range(model.n_bodies - 1, -1, -1):
        if model.parent[i] >= 0:
            behind[model.parent[i]] += behind[i]
    for i in range(model.n_bodies):
        assert close(R[i] @ f[i, 3:], -behind[i] * model.gravity, rel=1e-11)  # nine welds, well conditioned


def test_a_free_body_feels_no_joint(make_tree, rng):
    model = make_tree(seed=24, bodies=1, base=lw.Free())
    state = model.random_state(rng)
    f = lw.joint_reactions(model, state)
    weight = model.mass[0] * np.linalg.norm(model.gravity)
    assert np.abs(f).max() <= 1e-12 * weight * 10.0  # a difference of forces as large as the weight, at arms below 1 m


# ------------------------------------------------------------------------------------------------------------------ hybrid


@BOUNDED
@given(
    seed=st.integers(0, 10_000),
    shape=st.tuples(st.integers(1, 30), st.sampled_from([0.0, 0.3, 1.0]), st.integers(1, 3)),
    options=st.fixed_dictionaries(
        {name: st.booleans() for name in ("damping", "stiffness", "armature", "merge_fixed")}
    ),
    part=st.sampled_from([0.0, 0.3, 0.7, 1.0]),
)
def test_hybrid_dynamics_is_forward_dynamics_with_the_efforts_it_returns(make_tree, seed, shape, options, part):
    bodies, branching, roots = shape
    model = make_tree(seed=seed, bodies=bodies, branching=branching, roots=roots, **options)
    rng = np.random.default_rng(seed)
    state, effort = model.random_state(rng), rng.normal(size=model.nv)
    wrenches = rng.normal(size=(model.n_bodies, 6))
    chosen = {}
    for i, name in enumerate(model.joint_names):
        if rng.uniform() < part:
            chosen[name] = rng.normal(size=model.joints[i].nv)
    qdd, used = lw.hybrid_dynamics(model, state, chosen, effort, wrenches)
    for i, name in enumerate(model.joint_names):
        rows = model.v_slice(i)
        if name in chosen:
            assert (qdd[rows] == chosen[name]).all()
        else:
            assert (used[rows] == effort[rows]).all()
    # Efforts that hold a heavy tree may be large: ε of them, times the condition of M.
    assert close(
        lw.forward_dynamics(model, state, used, wrenches), qdd, rel=SAME * max(1.0, np.abs(used).max(initial=0.0))
    )
    assert close(lw.inverse_dynamics(model, state, qdd, wrenches), used)


def test_all_accelerations_given_is_inverse_dynamics(tree, rng, make_loads):
    state, loads, qdd = tree.random_state(rng), make_loads(tree), rng.normal(size=tree.nv)
    chosen = {name: qdd[tree.v_slice(i)] for i, name in enumerate(tree.joint_names)}
    accelerations, efforts = lw.hybrid_dynamics(tree, state, chosen, loads.effort, loads.wrenches)
    assert (accelerations == qdd).all()
    assert close(efforts, lw.inverse_dynamics(tree, state, qdd, loads.wrenches))


def test_no_acceleration_given_is_forward_dynamics(tree, rng, make_loads):
    state, loads = tree.random_state(rng), make_loads(tree)
    accelerations, efforts = lw.hybrid_dynamics(tree, state, {}, loads.effort, loads.wrenches)
    expected = lw.forward_dynamics(tree, state, loads.effort, loads.wrenches, algorithm="dca")
    assert (accelerations == expected).all()
    assert (efforts == loads.effort).all()


def test_a_given_acceleration_leaves_no_trace(tree, rng):
    """The solver is kept with the model: an acceleration given in one call is forgotten in the next."""
    state = tree.random_state(rng)
    before = lw.forward_dynamics(tree, state, algorithm="dca")
    lw.hybrid_dynamics(tree, state, {name: 1.0 for i, name in enumerate(tree.joint_names) if tree.joints[i].nv == 1})
    assert (lw.forward_dynamics(tree, state, algorithm="dca") == before).all()


def test_accelerations_of_joints_of_one_kind_can_be_given():
    """All hinges: the solver keeps no tables for joints of several freedoms, and needs none."""
    model = lw.library.chain(joints=5).compile()
    state = model.random_state(3)
    qdd, effort = lw.hybrid_dynamics(model, state, {model.joint_names[2]: 0.7})
    assert qdd[2] == 0.7
    assert close(lw.forward_dynamics(model, state, effort), qdd)
