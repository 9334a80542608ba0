"""One more right side with the factors that `aba` left behind, against the dense mass matrix."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.kernel_parts.mechanisms import mixed_joints
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.dynamics.aba import BODY_WORK, DOF_WORK, aba, accelerations_root_to_leaf
from linkwork.dynamics.one_more_right_side import (
    bias_to_parent,
    from_parent,
    push_leaf_to_root,
    solved_twist,
    to_parent,
)
from linkwork.model import layout
from linkwork.model.library.random_trees import JOINT_KINDS


def sample(seed):
    """A tree of any joints, with rotors in every other, and its factors at rest."""
    rng = np.random.default_rng(seed)
    if seed % 4 == 0:
        model = mixed_joints(floating=seed % 8 == 0)
    else:
        options = {"branching": 0.5, "floating": seed % 3 == 0, "options": seed % 2 == 1}
        model = lw.library.random_tree(int(rng.integers(1, 40)), seed, kinds=JOINT_KINDS, **options).compile()
    q = model.random_state(rng).q
    work, dof_work = np.zeros((model.n_bodies, BODY_WORK)), np.zeros((model.nv, DOF_WORK))
    tree, body, screws, dof, rest, _ = model.arrays
    nothing, at_rest = np.zeros((0, 6)), np.zeros(model.nv)
    aba(tree, body, screws, dof, rest, np.zeros(3), q, at_rest, at_rest, nothing, work, dof_work, np.empty(model.nv))
    return model, lw.State(q, at_rest), work, dof_work, rng


def assert_solves(model, state, x, right):
    """M x = right, to what the condition of M and as many sums as there are bodies make of rounding."""
    M = lw.mass_matrix(model, state)
    expected = np.linalg.solve(M, right)
    scale = np.abs(expected).max(initial=0.0)
    tolerance = rounding(condition=np.linalg.cond(M), scale=scale, operations=10 * model.n_bodies)
    np.testing.assert_allclose(x, expected, rtol=0.0, atol=tolerance)


@pytest.mark.parametrize("seed", range(24))
def test_sweeps_of_the_whole_tree(seed):
    """As corrections of a variational step use them."""
    model, state, work, dof_work, rng = sample(seed)
    effort, wrenches = rng.normal(size=model.nv), rng.normal(size=(model.n_bodies, 6))
    columns = [np.sum(lw.body_twists(model, lw.State(state.q, e)) * wrenches) for e in np.eye(model.nv)]
    acting, x = np.hstack([np.full((model.n_bodies, 2), np.nan), wrenches]), np.empty(model.nv)
    push_leaf_to_root(model.arrays.tree, model.arrays.body, work, dof_work, acting, 2, effort)
    accelerations_root_to_leaf(model.arrays.tree, model.arrays.body, np.zeros(3), work, dof_work, x)
    assert_solves(model, state, x, effort + np.array(columns))


@pytest.mark.parametrize("seed", range(24))
def test_joint_by_joint(seed):
    """As derivatives of forward dynamics use them."""
    model, state, work, dof_work, rng = sample(seed)
    tree, body, _, dof, *_ = model.arrays
    right, x, n = rng.normal(size=model.nv), np.empty(model.nv), model.n_bodies
    bias, twists = np.zeros((n, 6)), np.zeros((n, 6))
    for i in range(n - 1, -1, -1):
        p = bias_to_parent(tree, body, dof, i, right, bias[i], work, dof_work)
        if tree[i, layout.PARENT] >= 0:
            bias[tree[i, layout.PARENT]] += to_parent(i, work, p)
    for i in range(n):
        twists[i] = solved_twist(tree, body, i, from_parent(tree, i, work, twists, 0), work, dof_work, x)
    assert_solves(model, state, x, right)
