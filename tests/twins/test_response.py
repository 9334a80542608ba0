"""Path queries against the dense matrix: everything `Response` says is some block of J M⁻¹ Jᵀ."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw

# The promise: 1e-9 of the largest block. Mass matrices here have condition numbers up to 1e4, so the dense matrix itself is
# good to 1e-12; measured differences are below 1e-12.
SAME = 1e-9


class Dense:
    """The reference: Jacobians of all bodies and the inverse of the mass matrix."""

    def __init__(self, model, state):
        self.model = model
        self.J = np.array([lw.body_jacobian(model, state, i) for i in range(model.n_bodies)])
        self.M_inv = np.linalg.inv(lw.mass_matrix(model, state))
        self.per_wrench = self.M_inv @ self.J.transpose(0, 2, 1)  # (n, nv, 6) joint accelerations for wrenches
        # What differences are measured by: the largest response of each kind, anywhere in the linkage.
        self.body_body = np.abs([self.J @ column for column in self.per_wrench]).max(initial=1e-300)
        self.body_joint = np.abs(self.per_wrench).max(initial=1e-300)
        self.joint_joint = np.abs(self.M_inv).max(initial=1e-300)

    def block(self, of, on):
        return self.J[of] @ self.per_wrench[on]


@pytest.fixture(params=["chain", "tree", "bush", "forest", "welded", "mixed"])
def case(request, make_tree, rng):
    """A model with every joint kind and option, a state, and a response with loads on it."""
    options = {
        "chain": {"branching": 0.0, "seed": 31, "bodies": 25},
        "tree": {"branching": 0.5, "seed": 32, "bodies": 30, "base": lw.Free()},
        "bush": {"branching": 1.0, "seed": 33, "bodies": 30},
        "forest": {"branching": 0.7, "seed": 34, "bodies": 30, "roots": 5},
        "welded": {"branching": 0.5, "seed": 35, "bodies": 20, "kinds": ("revolute", "fixed", "fixed")},
        "mixed": {"branching": 0.3, "seed": 36, "bodies": 30, "merge_fixed": True},
    }[request.param]
    model = make_tree(damping=True, stiffness=True, armature=request.param != "chain", **options)
    return model, model.random_state(rng)


def differ(ours, theirs):
    return float(np.abs(np.asarray(ours) - theirs).max(initial=0.0))


# ------------------------------------------------------------------------------------------------------- causes and effects


def test_blocks_between_any_two_bodies(case):
    model, state = case
    response, dense = lw.Response(model, state), Dense(model, state)
    for of in range(model.n_bodies):
        for on in range(model.n_bodies):
            ours = response.block(of, model.body_names[on])
            assert differ(ours, dense.block(of, on)) <= SAME * dense.body_body
            if of > on:  # Maxwell and Betti: cause and effect change places
                assert differ(ours, response.block(on, of).T) <= SAME * dense.body_body


def test_body_response_to_wrenches_and_efforts(case, rng):
    model, state = case
    response, dense = lw.Response(model, state), Dense(model, state)
    for of in range(model.n_bodies):
        on, joint = (int(k) for k in rng.integers(model.n_bodies, size=2))
        wrench, effort = rng.normal(size=6), rng.normal(size=model.joints[joint].nv)
        ours = response.body_response(of, wrench_on=on, wrench=wrench)
        assert differ(ours, dense.block(of, on) @ wrench) <= SAME * dense.body_body * np.abs(wrench).sum()
        ours = response.body_response(of, effort_on=model.joint_names[joint], effort=effort)
        expected = dense.per_wrench[of].T[:, model.v_slice(joint)] @ effort
        assert differ(ours, expected) <= SAME * dense.body_joint * max(1.0, np.abs(effort).sum())


def test_joint_response_to_wrenches_and_efforts(case, rng):
    model, state = case
    response, dense = lw.Response(model, state), Dense(model, state)
    for of, name in enumerate(model.joint_names):
        rows = model.v_slice(of)
        on = int(rng.integers(model.n_bodies))
        wrench = rng.normal(size=6)
        ours = response.joint_response(name, wrench_on=model.body_names[on], wrench=wrench)
        assert ours.shape == (model.joints[of].nv,)
        assert differ(ours, dense.per_wrench[on][rows] @ wrench) <= SAME * dense.body_joint * np.abs(wrench).sum()
        for joint, cause in enumerate(model.joint_names):  # every pair, itself included
            effort = rng.normal(size=model.joints[joint].nv)
            ours = response.joint_response(name, effort_on=cause, effort=effort)
            expected = dense.M_inv[rows, model.v_slice(joint)] @ effort
            assert differ(ours, expected) <= SAME * dense.joint_joint * max(1.0, np.abs(effort).sum())


def test_blocks_at_points_and_in_world_axes(case, rng):
    model, state = case
    response, dense = lw.Response(model, state), Dense(model, state)
    T = lw.body_poses(model, state)
    for _ in range(20):
        of, on = (int(k) for k in rng.integers(model.n_bodies, size=2))
        p, r = rng.uniform(-0.5, 0.5, size=(2, 3))
        for frame in ("body", "world"):
            Jp = lw.body_jacobian(model, state, of, frame=frame, at=p)
            Jr = lw.body_jacobian(model, state, on, frame=frame, at=r)
            ours = response.block(of, on, at_of=p, at_on=r, frame=frame)
            assert ours.shape == (3, 3)
            assert differ(ours, Jp[3:] @ dense.M_inv @ Jr[3:].T) <= SAME * dense.body_body
        turn = [np.kron(np.eye(2), T[k][:3, :3]) for k in (of, on)]
        ours = response.block(of, on, frame="world")
        assert differ(ours, turn[0] @ dense.block(of, on) @ turn[1].T) <= SAME * dense.body_body


def test_a_query_changes_no_response(case, rng):
    """Queries read only: whatever was asked in between, the same query has the same response, bit for bit."""
    model, state = case
    response = lw.Response(model, state, rng.normal(size=model.nv), rng.normal(size=(model.n_bodies, 6)))
    first = response.block(0, model.n_bodies - 1), response.acceleration(0)
    moving = [name for i, name in enumerate(model.joint_names) if model.joints[i].nv]
    for name in moving[:5]:
        response.joint_response(name, effort_on=moving[-1], effort=np.ones(model.joints[model.joint(moving[-1])].nv))
        response.body_response(0, wrench_on=0, wrench=np.ones(6))
        response.joint_acceleration(name)
    again = response.block(0, model.n_bodies - 1), response.acceleration(0)
    assert all((a == b).all() for a, b in zip(first, again, strict=True))


# ------------------------------------------------------------------------------------------------------------------ places


def test_poses_and_twists_are_those_of_the_sweeps(case):
    model, state = case
    response = lw.Response(model, state)
    T, V = lw.body_poses(model, state), lw.body_twists(model, state)
    for i, name in enumerate(model.body_names):
        # The same product of at most 30 poses in another order; twists grow with the lengths they are carried along.
        length, speed = max(1.0, np.abs(T).max()), max(1.0, np.abs(V).max())
        assert differ(response.pose(name), T[i]) <= rounding(scale=length, steps=30)
        assert differ(response.pose(i), T[i]) <= rounding(scale=length, steps=30)
        assert differ(response.twist(i), V[i]) <= rounding(scale=length * speed, steps=30)


def test_welded_bodies_have_poses_of_their_own(make_tree, rng):
    model = make_tree(seed=36, bodies=20, merge_fixed=True)
    state = model.random_state(rng)
    response = lw.Response(model, state)
    T = lw.body_poses(model, state)
    assert model.frames
    for name, (carrier, pose) in model.frames.items():
        expected = (T[carrier] if carrier >= 0 else np.eye(4)) @ pose.matrix
        assert differ(response.pose(name), expected) <= 1e-12  # as above
    assert (response.pose("world") == np.eye(4)).all()


# --------------------------------------------------------------------------------------------------------- actual motion


def test_actual_accelerations(case, rng, derivative):
    """Joints accelerate as forward dynamics says, bodies as their twists change."""
    model, state = case
    effort, wrenches = rng.normal(size=model.nv), rng.normal(size=(model.n_bodies, 6))
    response = lw.Response(model, state, effort, wrenches)
    qdd = lw.forward_dynamics(model, state, effort, wrenches)
    for i, name in enumerate(model.joint_names):
        assert differ(response.joint_acceleration(name), qdd[model.v_slice(i)]) <= SAME * np.abs(qdd).max()

    def twists(t):
        return lw.body_twists(model, lw.State(model.integrate(state.q, state.v, t), state.v + t * qdd))

    expected = derivative(twists, h=1e-4)
    for i in range(model.n_bodies):
        # Rounding ε/h = 2e-12 of twists, truncation (h ω)⁴ of accelerations, with rates ω up to some 30 rad/s: 1e-10.
        assert differ(response.acceleration(i), expected[i]) <= 1e-8 * max(1.0, np.abs(expected).max())


def test_many_changes_of_load_equal_a_fresh_assembly(case, rng):
    model, state = case
    effort, wrenches = rng.normal(size=model.nv), rng.normal(size=(model.n_bodies, 6))
    response = lw.Response(model, state, effort, wrenches)
    for step in range(200):
        k = int(rng.integers(model.n_bodies))
        if step % 2:
            wrenches[k] = rng.normal(size=6)
            response.set_wrench(model.body_names[k], wrenches[k])
        else:
            rows = model.v_slice(k)
            effort[rows] = rng.normal(size=rows.stop - rows.start)
            response.set_effort(model.joint_names[k], effort[rows])
        if step % 40 not in (0, 39):
            continue
        fresh = lw.Response(model, state, effort, wrenches)
        qdd = lw.forward_dynamics(model, state, effort, wrenches, algorithm="dca")
        a = np.array([fresh.acceleration(i) for i in range(model.n_bodies)])
        for i, name in enumerate(model.joint_names):
            # 200 updates add their roundings: 200 ε of the largest, times the condition.
            assert differ(response.joint_acceleration(name), qdd[model.v_slice(i)]) <= SAME * np.abs(qdd).max()
            assert differ(response.acceleration(i), a[i]) <= SAME * np.abs(a).max()


def test_loads_begin_at_zero(case, rng):
    model, state = case
    response = lw.Response(model, state)
    wrench = rng.normal(size=6)
    response.set_wrench(0, wrench)
    wrenches = np.zeros((model.n_bodies, 6))
    wrenches[0] = wrench
    qdd = lw.forward_dynamics(model, state, None, wrenches)
    ours = np.concatenate([response.joint_acceleration(name) for name in model.joint_names])
    assert differ(ours, qdd) <= SAME * np.abs(qdd).max()
    response.set_wrench(0, np.zeros(6))
    bare = lw.forward_dynamics(model, state)
    ours = np.concatenate([response.joint_acceleration(name) for name in model.joint_names])
    assert differ(ours, bare) <= SAME * np.abs(bare).max()


def test_the_state_is_copied(case):
    """A response belongs to the state it was made with, whatever becomes of the arrays."""
    model, state = case
    mine = state.copy()
    effort, wrenches = np.ones(model.nv), np.ones((model.n_bodies, 6))
    response = lw.Response(model, mine, effort, wrenches)
    expected = response.pose(model.n_bodies - 1), response.acceleration(model.n_bodies - 1)
    for array in (mine.q, mine.v, effort, wrenches):
        array += 0.5
    again = response.pose(model.n_bodies - 1), response.acceleration(model.n_bodies - 1)
    assert all((a == b).all() for a, b in zip(expected, again, strict=True))


# ------------------------------------------------------------------------------------------------------------- large ones


@pytest.mark.parametrize("name", ["chain", "molecule"])
def test_response_of_a_large_linkage_is_a_difference_of_two_sweeps(name, rng):
    """20,000 joints, too many for a dense matrix: the response is what one load changes in a solve by `aba`."""
    model = lw.library.MODELS[name](joints=20_000).compile()
    state = model.random_state(rng)
    response = lw.Response(model, state)
    bare = lw.forward_dynamics(model, state)
    for _ in range(3):
        on, of = (int(k) for k in rng.integers(model.n_bodies, size=2))
        near = max(0, on - 3)
        wrenches = np.zeros((model.n_bodies, 6))
        wrenches[on] = rng.normal(size=6)
        change = lw.forward_dynamics(model, state, None, wrenches) - bare
        for joint in (on, near, of):
            ours = response.joint_response(model.joint_names[joint], wrench_on=on, wrench=wrenches[on])
            # The difference of two sweeps keeps ε of the accelerations themselves, times a thousand for their errors.
            assert (
                differ(ours, change[model.v_slice(joint)]) <= 1e-12 * np.abs(bare).max() + SAME * np.abs(change).max()
            )
