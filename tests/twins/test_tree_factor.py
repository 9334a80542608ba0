"""Elimination of a tree with blocks on its bodies against the plainest form, a dense matrix."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.kernel_parts.mechanisms import mixed_joints
from tests.helpers.rounding import rounding
from tests.helpers.tree_solves import factor_and_solve, factor_coupled

import linkwork as lw
from linkwork.dynamics.tree_factor import make_tree_factor
from linkwork.model import layout


def twists_per_velocity(model, q):
    """Twists of all bodies in world axes at their origins per velocity, (n, 6, nv)."""
    columns = [lw.body_twists(model, lw.State(q, e), frame="world") for e in np.eye(model.nv)]
    return np.stack(columns, axis=2)


def columns_of_joints(model, q, J):
    """What each freedom adds to the twist of its own body, (nv, 6), and the way from the parent, (n, 3)."""
    tree, poses = model.arrays.tree, lw.body_poses(model, lw.State(q, np.zeros(model.nv)))
    S, r = np.zeros((model.nv, 6)), np.zeros((model.n_bodies, 3))
    for i in range(model.n_bodies):
        parent = tree[i, layout.PARENT]
        r[i] = poses[i, :3, 3] - (poses[parent, :3, 3] if parent >= 0 else 0.0)
        own = slice(tree[i, layout.V], tree[i, layout.V] + tree[i, layout.DOF])
        S[own] = J[i, :, own].T  # velocities above it are zero
    return S, r


def rows_of(F):
    """The blocks of a factor, (n, 6, 6): rows of eight in memory."""
    return F.block.reshape(-1, 6, 8)[:, :, :6]


def sample(name, seed):
    rng = np.random.default_rng(seed)
    if name == "mixed":
        model = mixed_joints(floating=bool(seed % 2))
    elif name in ("bodies", "free"):  # each a tree of its own
        linkage = lw.Linkage("bodies")
        for i in range(int(rng.integers(3, 20))):
            linkage.add_body(f"b{i}", joint=lw.Free(), inertia=lw.Inertia(mass=1.0, moments=(1.0, 1.0, 1.0)))
        model = linkage.compile()
    else:
        kinds = ("revolute", "prismatic", "spherical", "free")
        model = lw.library.random_tree(int(rng.integers(1, 40)), seed, kinds=kinds, floating=seed % 2 == 0).compile()
    q = model.random_state(rng).q
    return model, q, rng


@pytest.mark.parametrize("is_symmetric", [True, False])
@pytest.mark.parametrize("name", ["mixed", "random"])
@pytest.mark.parametrize("seed", range(8))
def test_solution_and_own_responses_are_those_of_the_dense_matrix(name, seed, is_symmetric):
    model, q, rng = sample(name, seed)
    n, nv = model.n_bodies, model.nv
    J = twists_per_velocity(model, q)
    F = make_tree_factor(n, nv)
    F.S[:, :6], F.r[:, :3] = columns_of_joints(model, q, J)
    blocks = rng.normal(size=(n, 6, 6))
    if is_symmetric:
        blocks = blocks @ blocks.transpose(0, 2, 1)
    else:  # what is not symmetric is small enough that the matrix stays definite
        blocks = 0.3 * blocks + 6.0 * np.eye(6)
    added_diagonal, wrench, effort = rng.uniform(0.1, 1.0, nv), rng.normal(size=(n, 6)), rng.normal(size=nv)
    H = np.einsum("bia,bij,bjc->ac", J, blocks, J) + np.diag(added_diagonal)
    right = effort - np.einsum("bia,bi->a", J, wrench)
    rows_of(F)[:], F.added_diagonal[:] = blocks, added_diagonal
    F.wrench[:, :6], F.effort[:] = wrench, effort
    assert factor_and_solve(model.arrays.tree, F)
    expected = np.linalg.solve(H, right)
    tolerance = rounding(condition=float(np.linalg.cond(H)), scale=float(np.abs(expected).max()), steps=n)
    assert np.abs(F.x - expected).max() <= tolerance
    assert np.abs(F.twist[:, :6] - J @ expected).max() <= tolerance * max(1.0, float(np.abs(J).max()))
    own = np.einsum("bia,ac,bjc->bij", J, np.linalg.inv(H), J)
    allowed = rounding(condition=float(np.linalg.cond(H)), scale=float(np.abs(own).max()), steps=n)
    assert np.abs(rows_of(F) - own).max() <= allowed


def test_a_freedom_without_resistance_is_refused():
    F = make_tree_factor(1, 1)
    F.S[0, 2] = 1.0
    tree = lw.library.random_tree(joints=1, seed=0).compile().arrays.tree[:1].copy()
    tree[0, [layout.PARENT, layout.V, layout.DOF]] = -1, 0, 1
    assert not factor_and_solve(tree, F)


@pytest.mark.parametrize("is_symmetric", [True, False])
@pytest.mark.parametrize("name", ["mixed", "random", "bodies", "free"])
@pytest.mark.parametrize("seed", range(12))
def test_bodies_that_are_coupled_move_as_the_dense_matrix_says(name, seed, is_symmetric):
    """Couplings of random pairs of bodies, of one tree or of several, of a body with its parent too, some pairs twice.

    free: bodies with the columns of the unit matrix, which are eliminated by rows.
    """
    model, q, rng = sample(name, seed)
    n, nv = model.n_bodies, model.nv
    J = np.eye(nv).reshape(n, 6, nv) if name == "free" else twists_per_velocity(model, q)
    pairs = rng.integers(n, size=(int(rng.integers(1, 2 * n + 1)), 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    F = make_tree_factor(n, nv, n * n)
    F.S[:, :6], F.r[:, :3] = columns_of_joints(model, q, J)
    blocks = np.tile(np.eye(6), (n, 1, 1))
    H, forth, back = np.diag(rng.uniform(0.1, 1.0, nv)), [], []
    if name == "free":
        F.is_unit[:], H[:] = 1, 0.0
    F.added_diagonal[:] = np.diag(H)
    for a, b in pairs:
        Ba, Bb, G = rng.normal(size=(6, 3)), rng.normal(size=(6, 3)), rng.normal(size=(3, 3))
        G = G @ G.T if is_symmetric else 0.5 * G + 5.0 * np.eye(3)
        blocks[a] += Ba @ G @ Ba.T
        blocks[b] += Bb @ G @ Bb.T
        forth.append(Ba @ G @ Bb.T)
        back.append(Bb @ G @ Ba.T)
        H += J[a].T @ forth[-1] @ J[b] + J[b].T @ back[-1] @ J[a]
    H += np.einsum("bia,bij,bjc->ac", J, blocks, J)
    wrench, effort = rng.normal(size=(n, 6)), rng.normal(size=nv)
    rows_of(F)[:], F.wrench[:, :6], F.effort[:] = blocks, wrench, effort
    K = np.concatenate([np.reshape(forth, (-1, 36)), np.reshape(back, (-1, 36))], axis=1)
    assert factor_coupled(model.arrays.tree, F, pairs.astype(np.int64), K)
    expected = np.linalg.solve(H, effort - np.einsum("bia,bi->a", J, wrench))
    tolerance = rounding(condition=float(np.linalg.cond(H)), scale=float(np.abs(expected).max()), steps=n)
    assert np.abs(F.x - expected).max() <= tolerance
    assert np.abs(F.twist[:, :6] - J @ expected).max() <= tolerance * max(1.0, float(np.abs(J).max()))


def test_couplings_without_room_are_refused():
    model, q, _ = sample("bodies", 1)
    n = model.n_bodies
    F = make_tree_factor(n, model.nv, 1)
    F.S[:, :6], F.r[:, :3] = columns_of_joints(model, q, twists_per_velocity(model, q))
    rows_of(F)[:] = np.eye(6)
    pairs = np.array([[0, 1], [0, 2]])
    assert factor_coupled(model.arrays.tree, F, pairs[:1], np.zeros((1, 72)))
    assert not factor_coupled(model.arrays.tree, F, pairs, np.zeros((2, 72)))
