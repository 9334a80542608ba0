"""Small symmetric matrices inside kernels against NumPy's."""

import numpy as np
import pytest

from linkwork.core.jit import kernel
from linkwork.loops.factors import Factors
from linkwork.statics.elimination.constraint_factors import FEW, eigen_scaled, factor_indefinite
from linkwork.statics.elimination.small_symmetric import absolute_value, invert_three

EPS = np.finfo(float).eps


@kernel
def absolute_values(b, out):
    x = absolute_value((b[0], b[1], b[2], b[3], b[4], b[5]))
    for k in range(6):
        out[k] = x[k]


@kernel
def inverses(b, out):
    x, negative = invert_three((b[0], b[1], b[2], b[3], b[4], b[5]))
    for k in range(6):
        out[k] = x[k]
    return negative


def six(A):
    return np.array([A[0, 0], A[0, 1], A[0, 2], A[1, 1], A[1, 2], A[2, 2]])


def whole(b):
    return np.array([[b[0], b[1], b[2]], [b[1], b[3], b[4]], [b[2], b[4], b[5]]])


def turned(rng, values):
    Q = np.linalg.qr(rng.normal(size=(values.size, values.size)))[0]
    A = Q @ np.diag(values) @ Q.T
    return 0.5 * (A + A.T)


@pytest.mark.parametrize(
    "values",
    [
        (1, 2, 3), (-1, -2, -3), (1, 2, -3), (1, -2, -3), (1, 1, -1), (2, 2, 2), (0, 0, 0), (1, 0, 0), (-1, 0, 0),
        (1, 1e-9, -1e-9), (1, -1e-5, 1e-5), (1e-9, 2e-9, -1), (3e8, -2e8, 1e8),
    ],
)  # fmt: skip
def test_the_absolute_value_has_the_absolute_eigenvalues(values, rng):
    for _ in range(20):
        A, out = turned(rng, np.array(values, dtype=float)), np.zeros(6)
        absolute_values(six(A), out)
        found, Q = np.linalg.eigh(A)
        # where two eigenvalues of unlike signs are close, the direction between them is known to √ε of the largest
        assert np.abs(whole(out) - Q @ np.diag(np.abs(found)) @ Q.T).max() <= 1e-7 * np.abs(found).max()


def test_three_pivots_give_the_inverse_and_its_signs(rng):
    for _ in range(100):
        A, out = turned(rng, rng.normal(size=3)), np.zeros(6)
        assert inverses(six(A), out) == (np.linalg.eigvalsh(A) < 0.0).sum()
        error = np.abs(whole(out) @ A - np.eye(3)).max()
        assert error <= 1e3 * EPS * np.linalg.cond(A) * max(1.0, np.abs(whole(out)).max() * np.abs(A).max())
    assert inverses(np.array([1.0, 1.0, 0.0, 1.0, 0.0, 1.0]), np.zeros(6)) == -1


@pytest.mark.parametrize("size", [1, 3, 6, FEW, FEW + 5])
@pytest.mark.parametrize("idle", [0, 1])
def test_constraint_forces_of_few_rows_are_those_of_many(size, idle, rng):
    """Rows that repeat others are left out, whichever way the eigenvalues are found; sizes of rows do not matter."""
    values = rng.uniform(0.5, 2.0, size) * rng.choice([-1.0, 1.0], size)
    if size > 1:
        values[:idle] = 0.0
    A = turned(rng, values)
    scale = 10.0 ** rng.uniform(-3, 3, size)
    if idle == 0:
        A = A * np.outer(scale, scale)
    factors = factor_indefinite(A)
    assert factors.values.size == size - (idle if size > 1 else 0)
    right = A @ rng.normal(size=size)
    assert np.abs(A @ factors.solve(right) - right).max() <= 1e-9 * np.abs(right).max()


def test_rotations_find_the_eigenvalues_of_lapack(rng):
    for p in (2, 5, FEW):
        A = turned(rng, rng.normal(size=p))
        root, values, vectors = np.empty(p), np.empty(p), np.empty((p, p))
        largest = eigen_scaled(A, np.empty((p, p)), root, values, vectors)
        scaled = A / np.outer(root, root)
        np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(scaled), atol=100 * EPS * p * largest)
        np.testing.assert_allclose(vectors * values @ vectors.T, scaled, atol=100 * EPS * p * largest)
        assert largest == np.abs(values).max()


@pytest.mark.parametrize("rows", [1, 2, 5, 12, 40])
def test_forces_of_loops_are_those_of_the_pseudoinverse(rows, rng):
    """Rows that repeat others, or act on what cannot move, share forces so that their norm is the least."""
    for repeats in {0, rows // 3, rows - 1}:
        J = rng.normal(size=(rows - repeats, 2 * rows))
        J = np.concatenate([J, rng.normal(size=(repeats, rows - repeats)) @ J])[rng.permutation(rows)]
        still = rng.random(rows) < 0.2
        J[still] = 0.0
        A = J @ J.T
        factors = Factors(A, np.where(still, 1.0, np.diagonal(A)))
        rank = np.linalg.matrix_rank(A, tol=1e-9 * max(A.max(), 1e-300))
        assert factors.redundant == rows - rank
        right, X = A @ rng.normal(size=rows), A @ rng.normal(size=(rows, 3))
        inverse = np.linalg.pinv(A, rcond=1e-9, hermitian=True)
        values = np.linalg.eigvalsh(A)
        condition = values[-1] / values[values > 1e-9 * values[-1]].min() if rank else 1.0
        close = 1e3 * rows * EPS * condition
        force = factors.solve(right)
        np.testing.assert_allclose(force, inverse @ right, atol=close * max(1.0, np.abs(force).max()))
        half = factors.half(X)
        assert half.shape == (rank, 3)
        np.testing.assert_allclose(
            half.T @ half, X.T @ inverse @ X, atol=close * max(1.0, np.abs(half).max(initial=0.0) ** 2)
        )
